"""The AP rank correlation of two orders of systems."""

from collections.abc import Hashable, Iterable

from jax_rank_metrics._results.systems.values import listing


def tau_ap(order: Iterable[Hashable], reference: Iterable[Hashable]) -> float:
    """The AP rank correlation of an order of systems with a reference order.

    .. math:: τ_{ap} = 2 / (n − 1) · Σ_{i=2}^n C_i / (i − 1) − 1

    C_i is the number of systems above rank i of `order` that the reference, too, has above
    the system at rank i. It is 1 for the same order and −1 for the reversed one, as
    Kendall's tau is, and 0 on average for a random order. But an error at the top costs
    more than one at the bottom: at rank 2, a single pair decides a term.

    Like average precision it is asymmetric: the ranks are those of `order`, and `reference`
    says what is right. There are no ties: decide which of two equal systems comes first.

    Args:
        order: Names or ids of systems, best first.
        reference: The same systems, in the order that is taken to be right.

    Raises:
        ValueError: if either repeats a system, or if they hold different systems or fewer
            than two.

    References:
        Yilmaz, Aslam & Robertson, A new rank correlation coefficient for information
        retrieval, SIGIR 2008.

    >>> f"{tau_ap('bacd', 'abcd'):.3f}", f"{tau_ap('abdc', 'abcd'):.3f}"
    ('0.333', '0.778')
    """
    systems, reference = list(order), list(reference)
    rank_of = {system: rank for rank, system in enumerate(reference)}
    for name, ids in (("order", systems), ("reference", reference)):
        if len(set(ids)) < len(ids):
            repeated = [x for x in dict.fromkeys(ids) if ids.count(x) > 1]
            raise ValueError(
                f"{name} holds {listing(repeated)} more than once; pass each system once"
            )
    known = set(systems)
    unmatched = [x for x in systems if x not in rank_of]
    unmatched += [x for x in reference if x not in known]
    if unmatched:
        raise ValueError(
            f"order and reference differ: only one of them holds {listing(unmatched)}; "
            "pass two orders of the same systems"
        )
    if len(systems) < 2:
        raise ValueError("order holds fewer than two systems, which have no order")
    ranks = [rank_of[system] for system in systems]
    # The first system has none above it, and no term.
    shares = [
        sum(above < rank for above in ranks[:index]) / index
        for index, rank in enumerate(ranks)
        if index
    ]
    return 2 * sum(shares) / len(shares) - 1
