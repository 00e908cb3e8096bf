"""A provider for ir_measures, which computes its measures with this package.

    >>> from ir_measures import AP, nDCG
    >>> from jax_rank_metrics.adapters.ir_measures import provider
    >>> qrels = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}}
    >>> run = {"q1": {"a": 0.5, "b": 0.9}, "q2": {"x": 0.2, "a": 0.1}}
    >>> measures = provider.calc_aggregate([AP, nDCG @ 10], qrels, run)
    >>> {str(measure): round(value, 4) for measure, value in measures.items()}
    {'AP': 0.375, 'nDCG@10': 0.4354}

It needs no C build and no Perl. ir_measures leaves nDCG with exponential gains and ERR to a
Perl script; here, these measures and RR with a cutoff come from the same ranking as all
other measures. IPrec is computed as in version 10 of trec_eval; the library's own provider
contains version 9, which rounds the number of relevant documents at a level of recall
differently.

Measures of subtopics read the subtopic from the field or column `iteration`. If no scores
tie, these measures, the measures of C/W/L, and Judged agree with the providers pyndeval,
cwl_eval and judged. If scores tie, these providers rank the first id or line first.
Two more things differ: this provider also divides ERR_IA@1, which pyndeval does not, and
documents with a relevance below 0 are not judged.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jax_rank_metrics._engine.metrics.metric import NAMES
from jax_rank_metrics._ground import inputs
from jax_rank_metrics._ground.choices import TiesOfFiles
from jax_rank_metrics._runs.files import frames, judged_run
from jax_rank_metrics._runs.files.join import join_dicts
from jax_rank_metrics.adapters._shared import framework

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # because ir_measures imports cwl-eval, which warns
    _irm = framework("ir_measures", __name__)
_base = framework("ir_measures.providers.base", __name__)
_measures = framework("ir_measures.measures", __name__)

_ANY, _NONE = _base.Any(), _base.Choices(_base.NOT_PROVIDED)
_REQUIRED, _ZERO = _base.Any(required=True), _base.Choices(0)

# Measures have the names of metrics. If a name means something else for a measure,
# `_name_of` sets options. This dict maps parameters of measures to options of metrics.
_OPTIONS = dict(p="p", alpha="alpha", T="target", max_rel="max_label", rel="rel")
_GAINS = {"log2": "linear_gain", "exp-log2": "exponential_gain"}

Dicts = Mapping[str, Mapping[str, Any]]


class Provider(_irm.Provider):
    """Computes measures of ir_measures from one ranking for all of them.

    Queries that a run lacks count as 0, as with every provider.
    """

    NAME = "jax_rank_metrics"
    SUPPORTED_MEASURES = [
        _measures._AP(cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _measures._AP_IA(rel=_ANY, judged_only=_ANY),
        _measures._BPM(cutoff=_ANY, T=_ANY, min_rel=_ZERO, max_rel=_REQUIRED),
        _measures._Bpref(rel=_ANY),
        _measures._ERR(cutoff=_ANY),
        _measures._ERR_IA(cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _measures._INSQ(T=_ANY, min_rel=_ZERO, max_rel=_REQUIRED),
        _measures._INST(T=_ANY, min_rel=_ZERO, max_rel=_REQUIRED),
        _measures._IPrec(recall=_ANY, rel=_ANY, judged_only=_ANY),
        _measures._Judged(cutoff=_ANY),
        _measures._NRBP(alpha=_ANY, beta=_ANY, rel=_ANY),
        _measures._NumQ(),
        _measures._NumRel(rel=_ANY),
        _measures._NumRet(rel=_ANY),
        _measures._P(cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _measures._P_IA(cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _measures._R(cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _measures._RBP(cutoff=_NONE, p=_ANY, rel=_REQUIRED),
        _measures._RR(cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _measures._Rprec(rel=_ANY, judged_only=_ANY),
        _measures._SDCG(cutoff=_ANY, dcg=_ANY, min_rel=_ZERO, max_rel=_REQUIRED),
        _measures._SetF(rel=_ANY, beta=_ANY, judged_only=_ANY),
        _measures._SetAP(rel=_ANY, judged_only=_ANY),
        _measures._SetP(rel=_ANY, relative=_ANY, judged_only=_ANY),
        _measures._SetR(rel=_ANY),
        _measures._StRecall(cutoff=_ANY, rel=_ANY),
        _measures._Success(cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _measures._alpha_nDCG(cutoff=_ANY, alpha=_ANY, rel=_ANY, judged_only=_ANY),
        _measures._infAP(rel=_ANY),
        _measures._nDCG(cutoff=_ANY, dcg=_ANY, gains=_ANY, judged_only=_ANY),
    ]

    def __init__(self, ties: TiesOfFiles = "trec") -> None:
        """Creates a provider with a rule for equal scores.

        Args:
            ties: "trec" for the numbers of the provider pytrec_eval, except for IPrec:
                scores are compared as float32, and among equal scores the document with
                the last id ranks first. Or "expected" for the mean over all orders of tied
                documents; if a metric has no such mean, its value is of one order.

        Raises:
            ValueError: if `ties` is neither "trec" nor "expected".
        """
        super().__init__()
        inputs.option("ties", ties, TiesOfFiles)
        self.ties: TiesOfFiles = ties

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> "Evaluator":
        return Evaluator([*measures], qrels, self.ties)


class Evaluator(_irm.Evaluator):
    """Computes measures of runs; made by `provider.evaluator(measures, qrels)`."""

    def __init__(self, measures: list[Any], qrels: Any, ties: TiesOfFiles) -> None:
        """Keeps the arguments, and judgements as a frame if a measure reads subtopics."""
        if any(map(_reads_subtopics, measures)):
            qrels = self._frame = _irm.util.QrelsConverter(qrels).as_pd_dataframe()
        self._qrels: Dicts = _irm.util.QrelsConverter(qrels).as_dict_of_dict()
        super().__init__(measures, {*self._qrels})
        self._ties: TiesOfFiles = ties
        # Measures that change judgements or the run in the same way share their lists.
        self._names: dict[tuple[Any, ...], dict[Any, str | None]] = {}
        for measure in measures:
            gains = _param(measure, "gains")
            pairs = tuple(gains.items()) if isinstance(gains, Mapping) else ()
            level = measure["rel"] if _reads_subtopics(measure) else None
            key = bool(_param(measure, "judged_only")), pairs, level
            self._names.setdefault(key, {})[measure] = _name_of(measure)

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        run = _irm.util.RunConverter(run).as_dict_of_dict()
        qrels = {
            query: docs for query, docs in self._qrels.items() if docs and query in run
        }
        if not qrels:
            return
        for (judged_only, gains, level), names in self._names.items():
            worth, levels = dict(gains), qrels
            if gains:
                levels = {
                    query: {doc: worth.get(grade, grade) for doc, grade in docs.items()}
                    for query, docs in qrels.items()
                }
            elif level is not None:
                rows = self._frame[self._frame["query_id"].isin(qrels)]
                topics = {frames.SUBTOPIC: rows.get("iteration", "0")}
                levels = rows.assign(
                    relevance=1 * (rows["relevance"] >= level), **topics
                )
            joined = join_dicts(levels, run, condensed=judged_only, ties=self._ties)
            metrics = tuple(dict.fromkeys(name for name in names.values() if name))
            lists = joined.measure(metrics) if metrics else {}
            for measure, name in names.items():
                values = lists[name].values.tolist() if name else [1.0] * len(qrels)
                for query, value in zip(qrels, values, strict=True):
                    value /= _divisor(measure)
                    yield _irm.Metric(query_id=query, measure=measure, value=value)


provider = Provider()


def register() -> Provider:
    """Lets ir_measures use `provider` for all measures that it supports.

    The provider is registered as "jax_rank_metrics", and put first in
    `ir_measures.DefaultPipeline`. The library's `calc_aggregate`, `iter_calc` and
    `evaluator` are methods of this pipeline, which PyTerrier also calls.

    Returns:
        `provider`.
    """
    _base.register(provider)
    providers = _irm.DefaultPipeline.providers
    providers[:] = [provider, *(known for known in providers if known is not provider)]
    return provider


def _name_of(measure: Any) -> str | None:
    """Returns the name of the metric that computes a measure; None for `NumQ`.

    >>> _name_of(_irm.P(rel=2) @ 5), _name_of(_irm.nDCG), _name_of(_irm.NumRet)
    ('P(denominator=k,rel=2)@5', 'nDCG(gain_fn=linear_gain)', 'NumRet')

    Raises:
        ValueError: if no metric computes the measure.
    """
    metric, cutoff = measure.NAME, _param(measure, measure.AT_PARAM)
    if metric == "NumQ":
        return None
    if not any(metric == known.NAME for known in Provider.SUPPORTED_MEASURES):
        raise ValueError(
            f"measures: {measure} is not supported by {Provider.NAME}; leave it out"
        )
    values = {option: _param(measure, name) for name, option in _OPTIONS.items()}
    values["gain_fn"] = _GAINS.get(str(_param(measure, "dcg")))
    if _reads_subtopics(measure):  # judgements of subtopics are 0 or 1 already
        values["rel"] = None
    if metric == "P":
        values = {"denominator": "k"} | values
    elif metric == "SetP" and measure["relative"]:
        metric = "set_relative_P"
    elif metric == "NumRet" and values["rel"] is not None:
        metric = "num_relevant_retrieved"
    elif metric == "SetF":  # beta of SetF is the square of β in other libraries
        values["beta"] = math.sqrt(measure["beta"])
    elif metric == "NRBP":
        values["p"] = measure["beta"]
    elif metric == "SDCG":
        metric, values["max_label"] = "dcg", None
    elif metric == "BPM":
        values["budget"], cutoff = cutoff, None
    options = ",".join(
        f"{key}={value}" for key, value in values.items() if value is not None
    )
    name = f"{metric}({options})" if options else metric
    return name if cutoff is None else f"{name}@{cutoff!r}"


def _reads_subtopics(measure: Any) -> bool:
    """True if a measure reads judgements of subtopics.

    >>> _reads_subtopics(_irm.StRecall @ 5), _reads_subtopics(_irm.P @ 5)
    (True, False)
    """
    metric = NAMES.get(measure.NAME.lower())
    return metric is not None and judged_run.TOPICS in metric.spec.columns


def _divisor(measure: Any) -> float:
    """Returns the divisor that turns a metric into its measure: for SDCG, the largest DCG.

    >>> _divisor(_irm.SDCG(max_rel=2) @ 2) == 2 * (1 + 1 / math.log2(3)), _divisor(_irm.AP)
    (True, 1.0)
    """
    if measure.NAME != "SDCG":
        return 1.0
    ranks = range(1, measure["cutoff"] + 1)
    return measure["max_rel"] * sum(1 / math.log2(1 + rank) for rank in ranks)


def _param(measure: Any, name: str) -> object:
    """Returns a parameter of a measure; None if it has no such parameter, or no value."""
    value = measure[name] if name in measure.SUPPORTED_PARAMS else None
    return None if value is _base.NOT_PROVIDED else value
