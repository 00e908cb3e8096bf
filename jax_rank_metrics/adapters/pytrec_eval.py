"""The interface of pytrec_eval, which MTEB, BEIR and others call; needs no C build.

A program that calls `pytrec_eval.RelevanceEvaluator` can call this class instead:

    from jax_rank_metrics.adapters import pytrec_eval

It evaluates dicts of dicts by the rules of trec_eval: scores are compared as float32, and
among equal scores the document with the last id ranks first. Values are float32, converted
to Python floats. Two things differ: interpolated precision follows version 10 of trec_eval,
while pytrec_eval contains version 9; and `supported_measures` lacks a few measures.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from jax_rank_metrics._command import request
from jax_rank_metrics._ground import inputs, optional
from jax_rank_metrics._names.trec import FAMILIES, NOT_MEASURED, RUN_LINES, SETS
from jax_rank_metrics._runs.files.join import join_dicts
from jax_rank_metrics._values import on_host, per_list
from jax_rank_metrics._values.mean import FLOOR, GeometricMean, Mean

optional.import_optional("polars", __name__, "trec")

# The available measures of each set. Version 9 of trec_eval lacks the three named here.
_AVAILABLE = {
    name: {*members} - {*NOT_MEASURED, "unj", "rbp", "rbp_resid"}
    for name, members in SETS.items()
}

# The measures of trec_eval that are available, and its sets of available measures.
supported_measures = set[str]().union(*_AVAILABLE.values())
supported_nicknames = {name: frozenset(members) for name, members in _AVAILABLE.items()}

# The values that pytrec_eval returns for lines about a whole run.
_OF_RUN_LINES = dict(zip(RUN_LINES, (0.0, 1.0), strict=True))

# A family with cutoffs, which pytrec_eval also accepts after an underscore.
_FAMILY = re.compile(rf"({'|'.join(FAMILIES)})[._](\d+(?:\.\d+)?(?:,\d+(?:\.\d+)?)*)")


class RelevanceEvaluator:
    """Evaluates runs with trec_eval's measures, like pytrec_eval's class of the same name.

    Besides the dict that `evaluate` returns, it keeps the values of the last run, for
    intervals and comparisons:

    Attributes:
        lists: A dict from names, such as "ndcg_cut_10", to a `PerList` with the values of
            the queries in the result, in the same order, for `compare` and `plots`.

    >>> qrels = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}}
    >>> run = {"q2": {"x": 0.2, "a": 0.1}, "q1": {"a": 0.5, "b": 0.9}}
    >>> evaluator = RelevanceEvaluator(qrels, {"map", "recall.1,5"})
    >>> evaluator.evaluate(run)["q2"] == {"map": 0.5, "recall_1": 0.0, "recall_5": 1.0}
    True
    >>> evaluator.states["map"]
    Mean(0.375 ± 0.125, 2 lists, 0 undefined)
    """

    lists: dict[str, per_list.PerList]

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        """Creates an evaluator of measures from judgements.

        Args:
            query_relevance: `{query: {document: relevance}}`. A relevance below 0 means
                that the document was not judged. A query without documents is ignored.
            measures: Names of `supported_measures`, such as "map" or "ndcg_cut", with the
                default cutoffs of trec_eval; families with cutoffs, such as
                "ndcg_cut.1,3,5" or "P_10"; and names of `supported_nicknames`.
            relevance_level: The lowest relevance that counts as relevant, at least 1.
            judged_docs_only_flag: If True, documents that were not judged leave the runs.

        Raises:
            ValueError: if a measure is unknown or not available, or a cutoff is not a rank;
                if `relevance_level` is below 1.
            TypeError: if `relevance_level` is not an integer.
        """
        inputs.positive_integer("relevance_level", relevance_level)
        words = _words(measures)
        self._run_lines = {
            name: value for name, value in _OF_RUN_LINES.items() if name in words
        }
        words = [word for word in words if word not in _OF_RUN_LINES]
        level = None if relevance_level == 1 else relevance_level
        self._metrics = request.metrics_of(words, True, level) if words else []
        self._qrels = {query: dict(docs) for query, docs in query_relevance.items()}
        self._is_judged_only = judged_docs_only_flag
        self.lists = {}

    def evaluate(
        self, scores: Mapping[str, Mapping[str, float]]
    ) -> dict[str, dict[str, float]]:
        """Returns the value of every measure for every judged query of the run.

        Args:
            scores: The run, `{query: {document: score}}`. Queries that were not judged
                are left out; for a query without documents, nothing was retrieved.

        Returns:
            `{query: {measure: value}}`, with queries in the order of the run. Values of
            "gm_map" and "gm_bpref" are logarithms; `compute_aggregated_measure` takes the
            exponential of their mean.

        Raises:
            ValueError: if a score is NaN, or a relevance exceeds float32.
            TypeError: if scores are not a dict of dicts.
        """
        qrels = {
            query: self._qrels[query] for query in scores if self._qrels.get(query)
        }
        run = {query: scores[query] for query in qrels}
        self.lists = {}
        if not qrels:
            return {}
        bounds = [metric.bound for metric in self._metrics]
        joined = join_dicts(qrels, run, condensed=self._is_judged_only, ties="trec")
        measured = joined.measure(bounds) if bounds else {}
        columns = {
            name: np.full(len(qrels), number)
            for name, number in self._run_lines.items()
        }
        for metric in self._metrics:
            for label, lists in metric.columns(measured[metric.bound.name]):
                self.lists[label], columns[label] = lists, np.asarray(lists.values)
                if metric.bound.state is GeometricMean:
                    columns[label] = np.log(np.maximum(columns[label], FLOOR))
        values_by_name = {name: column.tolist() for name, column in columns.items()}
        return {
            query: {name: values[row] for name, values in values_by_name.items()}
            for row, query in enumerate(qrels)
        }

    @property
    def states(self) -> dict[str, Mean]:
        """A dict from the name of each value to its state, over the last queries."""
        kinds = {
            label: metric.bound.state
            for metric in self._metrics
            for label in metric.labels
        }
        return {
            name: on_host.HostSums.of_lists(lists, kinds[name]).state()
            for name, lists in self.lists.items()
        }


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Returns the value over all queries as trec_eval computes it.

    Args:
        measure: The name of a value, such as "ndcg_cut_10".
        values: The value of each query, as `evaluate` returns it.

    Returns:
        The sum for counts, such as "num_ret"; the geometric mean for logarithms, such as
        "gm_map"; and the mean for other values.

    >>> compute_aggregated_measure("map", [0.5, 0.25])
    0.375
    >>> compute_aggregated_measure("num_ret", [10.0, 5.0])
    15.0
    """
    if measure.startswith("num_"):
        return float(np.sum(values))
    mean = float(np.mean(values))
    return math.exp(mean) if measure.startswith("gm_") else mean


def _words(measures: Iterable[str]) -> list[str]:
    """Returns the measures, with sets replaced by their members, and families joined.

    >>> _words(["P_5", "map", "P.1"])
    ['P.1,5', 'map']

    Raises:
        ValueError: if a measure is unknown or not available, or a cutoff is not a rank.
    """
    cutoffs: dict[str, set[float]] = {}
    for measure in sorted(measures):  # because the order of a set differs by process
        match = _FAMILY.fullmatch(measure)
        if match is None and measure not in {*supported_measures, *supported_nicknames}:
            is_known = measure in NOT_MEASURED
            reason = "not available here" if is_known else "unknown"
            raise ValueError(
                f"measures: {measure!r} is {reason}; pass names of supported_measures, "
                "such as 'map' or 'ndcg_cut.1,10'"
            )
        ks = set(map(float, match[2].split(","))) if match else set[float]()
        members = [match[1]] if match else supported_nicknames.get(measure, [measure])
        reads_ranks = match is not None and FAMILIES[match[1]].suffix == "_{:g}"
        if reads_ranks and any(k < 1 or k % 1 for k in ks):
            raise ValueError(
                f"measures: {measure!r} has a cutoff that is not a rank; pass integers of "
                "at least 1"
            )
        for name in sorted(members):
            cutoffs.setdefault(name, set()).update(ks)
    return [
        f"{name}.{','.join(f'{k:g}' for k in sorted(ks))}" if ks else name
        for name, ks in cutoffs.items()
    ]
