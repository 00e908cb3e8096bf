"""The direction in which a metric is better, by its name in results."""

import warnings
from collections.abc import Hashable, Iterable, Sequence

from jax_rank_metrics._calls.names import is_metric_name, lower_is_better
from jax_rank_metrics._states.cutoff_names import without_cutoff

Lower = bool | str | Sequence[str]


def is_lower_better(name: str, lower: Lower = ()) -> bool | None:
    """Whether lower values are better, by the metric itself or because `lower` names it.

    Args:
        name: A name in results, such as "ndcg@10".
        lower: Names of metrics, with or without cutoffs, or True for all.

    Returns:
        None for a metric of which neither direction is better.
    """
    # `lower` may name "recall" for "recall@5", or that cutoff alone.
    if lower is True or {name, without_cutoff(name)} & set(_names(lower)):
        return True
    return lower_is_better(name)


def direction_of(path: Sequence[Hashable], lower: Lower = ()) -> bool | None:
    """Whether lower values are better, by the keys that lead to them, as `is_lower_better`.

    The metric is named by the last key that this package or `lower` knows. If it knows
    none, higher values are better unless `lower` is True.
    """
    # ("web", "arp", "new") has the direction of "arp".
    names = [key for key in reversed(path) if isinstance(key, str)]
    for name in names:
        direction = is_lower_better(name, lower)
        if direction is not False or is_metric_name(name):
            return direction
    return lower is True


def warn_of_zeros(
    counts: Iterable[tuple[Sequence[Hashable], tuple[int, int]]],
    lower: Lower = (),
    of_states: bool = False,
    stacklevel: int = 3,
) -> None:
    """Warns of metrics that are better when lower, and count undefined lists as 0.

    Args:
        counts: As for `remark_on_zeros`, as the next two.
        lower: See there.
        of_states: See there.
        stacklevel: That of the warning, seen from this function.
    """
    for remark in remark_on_zeros(counts, lower, of_states):
        warnings.warn(remark, stacklevel=stacklevel)


def remark_on_zeros(
    counts: Iterable[tuple[Sequence[Hashable], tuple[int, int]]],
    lower: Lower = (),
    of_states: bool = False,
) -> list[str]:
    """Remarks on metrics that are better when lower, and count undefined lists as 0.

    Args:
        counts: The keys that lead to each metric, with the number of lists in which it is
            undefined and counts as 0, and the number of all lists.
        lower: As for `is_lower_better`.
        of_states: Whether some of the numbers are those of states.
    """
    # Keys of a dict, so that a metric of many systems is named once.
    texts = {
        f"{path[-1] if path else 'the metric'} ({undefined} of {lists} lists)": None
        for path, (undefined, lists) in counts
        if undefined and direction_of(path, lower)
    }
    if not texts:
        return []
    return [
        "lower is better, and lists in which the metric is undefined count as 0, as if "
        f"they were best: {', '.join(texts)}; evaluate with undefined='skip' to leave "
        "them out, or with 'one'"
        + (" (a state does not say whether that was done)" if of_states else "")
    ]


def check_lower(lower: Lower, names: Iterable[Hashable]) -> None:
    """Raises ValueError if `lower` names a metric that is not among `names`.

    A metric may be named without its cutoff: "mine" names "mine@5" and "mine[0]". A bool
    names none.
    """
    # Keys that are no text, such as numbers of systems, are no names of metrics.
    known = {name: None for name in names if isinstance(name, str)}
    for name in _names(lower):
        if name not in known and name not in map(without_cutoff, known):
            metrics = (
                ", ".join(known) or "one metric without a name: pass True or False"
            )
            raise ValueError(
                f"lower names {name!r}, which is not a metric of the results; they hold "
                f"{metrics}"
            )


def _names(lower: Lower) -> Sequence[str]:
    if isinstance(lower, bool):
        return ()
    return (lower,) if isinstance(lower, str) else lower
