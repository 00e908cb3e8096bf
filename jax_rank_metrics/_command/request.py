"""Interprets the names of metrics, with the options of the whole call."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jax_rank_metrics._command.arguments import metric_names
from jax_rank_metrics._engine.metrics.metric import parse
from jax_rank_metrics._engine.metrics.spec import Bound
from jax_rank_metrics._ground import gains
from jax_rank_metrics._names import grammar
from jax_rank_metrics._names import trec as _trec
from jax_rank_metrics._names.cutoff_names import cutoff_names
from jax_rank_metrics._runs.files import joined, judged_run
from jax_rank_metrics._values.per_list import PerList

COUNTS = (
    *("num_retrieved", "num_relevant", "num_relevant_retrieved"),
    "num_nonrelevant_retrieved",
)

# The options of metrics under the rules of trec_eval, unless a name sets them.
_TREC_OPTIONS: dict[str, dict[str, object]] = {
    "ndcg": {"gain_fn": gains.linear_gain},
    "precision": {"denominator": "k"},
    "rank_biased_precision": {"p": 0.9},
}


class RequestedMetric(NamedTuple):
    """A metric to measure, hashable."""

    word: str  # the word after -m, or a member of a set
    bound: Bound  # with the options of the whole call
    labels: tuple[str, ...]  # the name of each value in the results

    @property
    def is_count(self) -> bool:
        """True if trec_eval sums the values over queries instead of averaging them."""
        return self.bound.spec.name in COUNTS

    def columns(self, lists: PerList) -> Iterator[tuple[str, PerList]]:
        """Yields each label and its values, `[lists]`, from the values of all labels."""
        values = np.reshape(lists.values, (len(lists.weights), -1))
        for label, column in zip(self.labels, values.T, strict=True):
            yield label, dataclasses.replace(lists, values=column)


def metrics_of(
    words: Sequence[str], trec: bool, level: float | None
) -> list[RequestedMetric]:
    """Returns the metrics with the options that `--trec` and `--level` give them.

    Args:
        words: The names after `-m` of metrics, families and sets; empty for the default.
        trec: If True, names and options have the meaning of trec_eval.
        level: The lowest relevance that counts as relevant; None keeps the threshold of
            each metric.

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
    parsed = parse(in_full)
    bound = _with_options(parsed, trec, level, parsed.k is not None)
    for column in bound.spec.columns:
        if column not in (*joined.COLUMNS, judged_run.TOPICS):
            raise ValueError(
                f"-m {word} reads the column {column!r}, which files of judgements and "
                "runs do not hold; measure it from Python"
            )
    labels = _trec.value_names(in_full) or [word]
    if bound.num_values is not None:
        labels = cutoff_names(in_full, bound.num_values)
    return RequestedMetric(word, bound, (*labels,))


def _with_options(
    bound: Bound, trec: bool, level: float | None, has_cutoff: bool
) -> Bound:
    """Returns the metric with the options of the whole call that its name leaves open.

    Args:
        bound: The metric, as parsed.
        trec: See `metrics_of`.
        level: See `metrics_of`.
        has_cutoff: True if the metric is measured at a cutoff.

    >>> dict(_with_options(parse("map@5"), False, 2, True).options)["relevance_threshold"]
    2
    >>> _with_options(parse("map(rel=1)"), False, 2, False) == parse("map(rel=1)")
    True
    """
    spec, options = bound.spec, dict(bound.options)
    _, typed = grammar.name_and_options(bound.name)
    if spec.name == "residual":  # the options of the call apply to its metric
        of = options["of"] if isinstance(options["of"], Bound) else parse(options["of"])
        options["of"] = _with_options(of, trec, level, has_cutoff)
        # An unjudged document may be relevant, so the largest label must reach the level.
        if level is not None and "max_label" not in typed:
            options["max_label"] = max(level, options["max_label"])
    # trec_eval divides by k only at a cutoff; set_P divides by the number retrieved.
    if trec and (spec.name != "precision" or has_cutoff):
        for option, value in _TREC_OPTIONS.get(spec.name, {}).items():
            # Keep options that a name of trec_eval such as P_5 has set.
            if option not in typed and options[option] == spec.options[option]:
                options[option] = value
    if level is not None and "relevance_threshold" in options.keys() - typed:
        options["relevance_threshold"] = level
    return bound._replace(options=tuple(sorted(options.items())))
