"""Interprets the names of metrics, with the options of the whole call."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from jax_rank_metrics import _trec
from jax_rank_metrics._calls.names import parse
from jax_rank_metrics._command.words import metric_names
from jax_rank_metrics._files import subtopics
from jax_rank_metrics._files.measure import COLUMNS
from jax_rank_metrics._states.cutoff_names import cutoff_names
from jax_rank_metrics._states.mean import Mean

COUNTS = (
    *("num_retrieved", "num_relevant", "num_relevant_retrieved"),
    "num_nonrelevant_retrieved",
)

# The options that metrics have under the rules of trec_eval, unless a name sets them.
_TREC_OPTIONS = {
    "ndcg": ("gain_fn", "linear_gain"),
    "precision": ("denominator", '"k"'),
    "rank_biased_precision": ("p", "0.9"),
}


class RequestedMetric(NamedTuple):
    """A metric to measure, hashable."""

    word: str  # after -m, or the member of a set
    name: str  # for `jrm.measure`, with the options of the whole call
    labels: tuple[str, ...]  # the name of each value in the results
    state: type[Mean]
    is_count: bool  # trec_eval sums counts over queries


def metrics_of(
    words: Sequence[str], trec: bool, level: float | None
) -> list[RequestedMetric]:
    """Returns the metrics with the options that `--trec` and `--level` give them.

    Args:
        words: The names after `-m` of metrics, families and sets; empty for the default.
        trec: Whether names and options have the meaning of trec_eval.
        level: The lowest relevance that is relevant; None keeps that of each metric.

    Raises:
        ValueError: if a name is unknown, or its metric reads more than files hold; if two
            metrics have the same label.
        TypeError: if a metric has no such option.
    """
    metrics = dict.fromkeys(
        _metric(name, is_trec, level) for name, is_trec in metric_names(words, trec)
    )
    owners: dict[str, str] = {}
    for metric in metrics:
        for label in metric.labels:
            if label in owners:
                raise ValueError(
                    f"-m: {owners[label]!r} and {metric.word!r} both hold {label!r}; "
                    "leave one of them out"
                )
            owners[label] = metric.word
    return [*metrics]


def _metric(word: str, trec: bool, level: float | None) -> RequestedMetric:
    """Returns the metric of a word that is not a set; see `metrics_of`."""
    in_full = _trec.in_full(word) if trec else word
    name = _with_options(in_full, trec, level)
    bound = parse(name)
    for column in bound.spec.columns:
        if column not in (*COLUMNS, subtopics.COLUMN):
            raise ValueError(
                f"-m {word} reads the column {column!r}, which files of judgements and "
                "runs do not hold; measure it from Python"
            )
    labels = _trec.value_names(in_full) or [word]
    if bound.num_values is not None:
        labels = cutoff_names(in_full, bound.num_values)
    return RequestedMetric(
        word, name, (*labels,), bound.state, bound.spec.name in COUNTS
    )


def _with_options(name: str, trec: bool, level: float | None) -> str:
    """Returns the name with the options of the whole call that it does not set itself.

    >>> _with_options("map@5", trec=False, level=2), _with_options("map(rel=3)", False, 2)
    ('map(rel=2)@5', 'map(rel=3)')
    """
    bound, options = parse(name), []
    metric, (head, *ks) = bound.spec.name, name.split("@")
    if metric == "residual":  # what the call sets are options of its metric
        values = dict(bound.options)
        of = "@".join((getattr(values["of"], "name", values["of"]), *ks))
        of = _with_options(of, trec, level).split("@")[0]
        return "@".join((f"residual(of={of}, max_label={values['max_label']!r})", *ks))
    if (
        trec
        and metric in _TREC_OPTIONS
        and (metric != "precision" or bound.k is not None)
    ):
        option, value = _TREC_OPTIONS[metric]
        is_default = dict(bound.options)[option] == bound.spec.options[option]
        if is_default and not re.search(rf"\b{option}\s*=", name):
            options.append(f"{option}={value}")
    if level is not None and "relevance_threshold" in bound.spec.options:
        if not re.search(r"\b(rel|relevance_threshold)\s*=", name):
            options.append(f"rel={level:.17g}")
    head = head.rstrip()
    if options and head.endswith(")"):
        head = f"{head[:-1]}, {', '.join(options)})"
    elif options:
        head += f"({', '.join(options)})"
    return "@".join((head, *ks))
