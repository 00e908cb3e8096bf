"""The direction in which values of a metric are better, and remarks on zeros."""

import re
import warnings
from collections.abc import Hashable, Iterable, Sequence

from jax_rank_metrics._names import facts, grammar
from jax_rank_metrics._names.cutoff_names import without_cutoff

# Names of metrics whose lower values are better; True for all metrics, False for none.
Lower = bool | str | Sequence[str]


def is_lower_better(path: Sequence[Hashable], lower: Lower = ()) -> bool | None:
    """True if lower values of a metric are better, by itself or because `lower` names it.

    Args:
        path: The keys that lead to the values, such as ("web", "arp", "new"). The last key
            that is known to this package or in `lower` names the metric. If no key is
            known, higher values are better.
        lower: Names of metrics, with or without cutoffs, or True for all.

    Returns:
        A bool, or None for a metric that has no better direction.

    >>> is_lower_better(("fall_out(rel=2)@10",)), is_lower_better(("mine", 3), "mine")
    (True, True)
    """
    for name in reversed(path):
        if isinstance(name, str):
            direction = _is_lower_better(name, lower)
            if direction is not False or facts.is_metric_name(name):
                return direction
    return lower is True


def _is_lower_better(name: str, lower: Lower) -> bool | None:
    # `lower` may name "recall" for all cutoffs, or "recall@5" for one.
    if lower is True or {name, without_cutoff(name)} & set(_names_in(lower)):
        return True
    known = facts.facts_of(name)
    if not callable(known.lower_is_better):
        return known.lower_is_better
    _, options = grammar.read(re.sub(r"\[[^\[\]]*\]$", "", name))
    return known.lower_is_better({**known.options, **dict(options)})


def warn_of_zeros(
    counts: Iterable[tuple[Sequence[Hashable], tuple[int, int]]],
    lower: Lower = (),
    of_states: bool = False,
    stacklevel: int = 3,
) -> None:
    """Warns of metrics that are better when lower, and count undefined lists as 0.

    Args:
        counts: See `remark_on_zeros`.
        lower: See `remark_on_zeros`.
        of_states: See `remark_on_zeros`.
        stacklevel: The `stacklevel` of `warnings.warn`, which this function calls.
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
        of_states: True if some of the numbers come from states.
    """
    # Keys of a dict drop repeats, so a metric of many systems is named once.
    texts = {
        f"{path[-1] if path else 'the metric'} ({undefined} of {lists} lists)": None
        for path, (undefined, lists) in counts
        if undefined and is_lower_better(path, lower)
    }
    if not texts:
        return []
    return [
        "lower is better, but lists in which the metric is undefined count as 0, as if "
        f"they were the best: {', '.join(texts)}; evaluate with undefined='skip' to leave "
        "these lists out, or with undefined='one' to count them as 1"
        + (" (a state does not tell if that was done)" if of_states else "")
    ]


def check_lower(lower: Lower, names: Iterable[Hashable]) -> None:
    """Raises ValueError if `lower` names a metric that is not among `names`.

    A metric may be named without its cutoff: "mine" names "mine@5" and "mine[0]". A bool
    names no metric.
    """
    # Keys that are no text, such as numbers of systems, do not name metrics.
    known = {name: None for name in names if isinstance(name, str)}
    for name in _names_in(lower):
        if name not in known and name not in map(without_cutoff, known):
            metrics = (
                ", ".join(known) or "one metric without a name, so pass True or False"
            )
            raise ValueError(
                f"lower names {name!r}, which is not a metric of the results; name only "
                f"metrics that they hold: {metrics}"
            )


def _names_in(lower: Lower) -> Sequence[str]:
    if isinstance(lower, bool):
        return ()
    return (lower,) if isinstance(lower, str) else lower
