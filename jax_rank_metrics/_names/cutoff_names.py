"""The names of the values that a metric has at several cutoffs."""

import re
from collections.abc import Mapping
from typing import TypeVar

from jax_rank_metrics._names import facts, trec

T = TypeVar("T", bound=str)


def cutoff_names(name: str, count: int) -> list[str]:
    """Returns the names of a metric's `count` values; numbers them if cutoffs are unknown.

    >>> cutoff_names("recall@1,5", 2), cutoff_names("P.1,5", 2), cutoff_names("mine", 2)
    (['recall@1', 'recall@5'], ['P_1', 'P_5'], ['mine[0]', 'mine[1]'])
    """
    if len(family_names := trec.value_names(name)) == count:
        return family_names
    head, at, tail = name.rpartition("@")
    ks = [k.strip() for k in tail.split(",")]
    if not at:
        head, ks = name, facts.FACTS.get(name.lower(), facts.Facts()).cutoffs
    if len(ks) == count:
        return [f"{head}@{k}" for k in ks]
    return [f"{name}[{index}]" for index in range(count)]


def cutoff_of(name: str) -> tuple[str, int] | None:
    """Splits a value's name into metric and cutoff; None unless the cutoff is a rank.

    >>> cutoff_of("recall@5"), cutoff_of("ndcg_cut_10"), cutoff_of("map")
    (('recall', 5), ('ndcg_cut', 10), None)
    """
    metric, at, k = name.rpartition("@")
    if at and k.isdecimal():
        return metric, int(k)
    return trec.cutoff_of(name)


def without_cutoff(name: str) -> str:
    """Returns the name of a metric without a cutoff such as "@5" or an index such as "[0]".

    >>> without_cutoff("recall(rel=2)@5"), without_cutoff("mine[0]")
    ('recall(rel=2)', 'mine')
    """
    return re.sub(r"@[^@()]*$|\[\d+\]$", "", name)


def cutoff_text(name: str) -> int | str | None:
    """Returns the cutoff in the name of a value: an int, other text, or None without one.

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


def by_label(signatures: Mapping[str, T]) -> dict[str, T]:
    """Returns a dict from the label of each value to the signature at its cutoff.

    The text of a signature sorts its cutoffs; its attribute `cutoffs`, if it has one, lists
    them in the order of the values.

    >>> signatures = by_label({"recall@1,5": "recall@1,5|rel:2|def:1", "mine": "ap|def:1"})
    >>> for label, text in signatures.items():
    ...     print(label, text)
    recall@1 recall@1|rel:2|def:1
    recall@5 recall@5|rel:2|def:1
    mine ap|def:1
    """
    results: dict[str, T] = {}
    for name, text in signatures.items():
        head, bar, choices = text.partition("|")
        metric, at, cutoffs = head.partition("@")
        ks = getattr(text, "cutoffs", None) or cutoffs.split(",")
        labels = cutoff_names(name, len(ks)) if len(ks) > 1 else trec.value_names(name)
        texts = [type(text)(f"{metric}{at}{k}{bar}{choices}") for k in ks]
        results |= zip(labels or [name], texts, strict=True)
    return results
