"""Values of conventions that the vectors have no choice for, by `option: choice`."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import definitions


def _of_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a convention of one list one of the mean of several."""

    def value(group: Any, metric: str, at: Any, choices: Any, usual: Any) -> Any:
        if "queries" not in group:
            return function(group, metric, at, choices, usual)
        values = [value(x, metric, at, choices, usual) for x in group["queries"]]
        values = [x for x in values if x is not definitions.NULL]
        if not values:
            return definitions.NULL
        return definitions.over(definitions.total(values), Fraction(len(values)))

    return value


@_of_lists
def thresholds(group: Any, metric: str, at: Any, choices: Any, usual: Any) -> Any:
    """Average precision that retrieves all documents of one score at once."""
    as_usual = usual(group, metric, at, choices | {"ties": "worst"})
    if isinstance(as_usual, str):
        return as_usual
    run = [(doc, definitions.number(score)) for doc, score in group["run"]]
    tied = definitions.tie_groups(run, choices)
    is_hit = definitions.hit_fn(at, choices)
    num_relevant = sum(map(is_hit, group["qrels"].values()))
    if not num_relevant:
        return as_usual
    rank, found, value = 0, 0, Fraction(0)
    for docs in tied:
        hits = sum(is_hit(group["qrels"].get(doc)) for doc in docs)
        rank, found = rank + len(docs), found + hits
        value += Fraction(hits * found, rank)
    return value / num_relevant


def pooled(group: Any, metric: str, at: Any, choices: Any, usual: Any) -> Any:
    """The sum of hits over the sum of the lesser of k and the relevant documents."""
    changed = {"denominator": "attainable", "mean": "pooled"}
    queries = group.get("queries", [group])
    return usual({"queries": queries}, "recall", at, choices | changed)


@_of_lists
def fewer(group: Any, metric: str, at: Any, choices: Any, usual: Any) -> Any:
    """Average precision over min(documents returned up to k, relevant documents)."""
    size = len(group["run"])
    k = size if at["k"] is None else min(at["k"], size)
    changed = {"denominator": "attainable"}
    return usual(group, metric, {**at, "k": k}, choices | changed)


def cut_at_32(group: Any, metric: str, at: Any, choices: Any, usual: Any) -> Any:
    """A metric that reads 32 ranks if no cutoff is named."""
    return usual(group, metric, {**at, "k": at["k"] or 32}, choices)


CONVENTIONS: dict[str, Callable[..., Any]] = {
    "ties: thresholds": thresholds,
    "denominator: pooled": pooled,
    "denominator: fewer": fewer,
    "cutoff: 32": cut_at_32,
}


def value_of(
    group: Any, metric: str, at: Any, choices: Mapping[str, str], usual: Any
) -> Any:
    """The value of a test under choices; at most one of them is a convention of this file.

    Args:
        group: Data of one list or of several.
        metric: The name.
        at: A value of each parameter.
        choices: A choice of each option.
        usual: The function that gives the value if no convention is chosen.
    """
    for option, choice in choices.items():
        if convention := CONVENTIONS.get(f"{option}: {choice}"):
            return convention(group, metric, at, choices, usual)
    return usual(group, metric, at, choices)
