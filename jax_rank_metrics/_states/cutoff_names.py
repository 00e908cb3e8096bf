"""The names of the values that a metric has at several cutoffs."""

import re

from jax_rank_metrics import _trec

# Cutoffs, as text, of metrics whose names may leave them out: standard recall levels.
DEFAULT_CUTOFFS: dict[str, tuple[str, ...]] = {}


def cutoff_names(name: str, count: int) -> list[str]:
    """Names the cutoffs of a metric of this name, which are numbered if it tells nothing.

    >>> cutoff_names("recall@1,5", 2), cutoff_names("P.1,5", 2), cutoff_names("mine", 2)
    (['recall@1', 'recall@5'], ['P_1', 'P_5'], ['mine[0]', 'mine[1]'])
    """
    if len(of_family := _trec.value_names(name)) == count:
        return of_family
    head, at, tail = name.rpartition("@")
    if not at and name.lower() in DEFAULT_CUTOFFS:
        head, at = name, "@"
        tail = ",".join(DEFAULT_CUTOFFS[name.lower()])
    ks = [k.strip() for k in tail.split(",")]
    if at and len(ks) == count:
        return [f"{head}@{k}" for k in ks]
    return [f"{name}[{index}]" for index in range(count)]


def cutoff_of(name: str) -> tuple[str, int] | None:
    """Returns the metric of the name of a value, and its cutoff, if it has one in ranks.

    >>> cutoff_of("recall@5"), cutoff_of("ndcg_cut_10"), cutoff_of("map")
    (('recall', 5), ('ndcg_cut', 10), None)
    """
    metric, at, k = name.rpartition("@")
    if at and k.isdecimal():
        return metric, int(k)
    return _trec.cutoff_of(name)


def without_cutoff(name: str) -> str:
    """The name of a metric without its cutoff, as in "recall@5" or "mine[0]".

    >>> without_cutoff("recall(rel=2)@5"), without_cutoff("mine[0]")
    ('recall(rel=2)', 'mine')
    """
    return re.sub(r"@[^@()]*$|\[\d+\]$", "", name)


def cutoff_text(name: str) -> int | str | None:
    """Returns the cutoff in the name of a value: an int, or text where it is none.

    >>> cutoff_text("recall@5"), cutoff_text("ndcg@1%"), cutoff_text("mine[2]")
    (5, '1%', 2)
    """
    if ranks := cutoff_of(name):
        return ranks[1]
    _, at, cutoff = name.rpartition("@")
    if at and ")" not in cutoff:
        return cutoff
    number = name.rpartition("[")[2].removesuffix("]")
    return int(number) if name.endswith("]") and number.isdecimal() else None
