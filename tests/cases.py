"""The table of all metrics and options that the tests of laws and layouts walk through."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, get_args

import oracle
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._types import Ties

POLICIES = (None, *get_args(Ties))
# The policies that put tied items in one definite order, and those that need no key to.
ORDERS = tuple(ties for ties in get_args(Ties) if ties != "expected")
KEYLESS_ORDERS = tuple(ties for ties in ORDERS if ties != "random")


@dataclasses.dataclass(frozen=True)
class Case:
    """One metric with its options, beside its oracle and its properties."""

    metric: Any
    oracle: Callable[..., float]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    oracle_options: dict[str, Any] | None = None
    relevance: Callable[[float], float] = lambda y: float(y >= 1)
    closed_form: bool = True  # has a value for ties="expected"
    bounded: bool = True  # lies in [0, 1] without item weights
    # Of a list's labels and scores; None: where something is relevant.
    defined: Callable[[list[float], list[float]], bool] | None = None
    ordered: bool = True  # best >= expected >= worst
    needs_pool: bool = False  # reads labels of what was not retrieved
    weighted: bool = False  # its values read item weights
    # Of a list's labels and a cutoff: what it multiplies the weight of the list by.
    factor: Callable[[list[float], int | None], float] = lambda labels, k: 1.0
    is_mean: bool = True  # under ties, the mean over their orders

    def is_defined(self, labels: list[float], scores: list[float]) -> bool:
        """Whether a list of these items has a value."""
        if self.defined is not None:
            return self.defined(labels, scores)
        return any(self.relevance(label) > 0 for label in labels)

    @property
    def has_k(self) -> bool:
        """Whether the metric takes cutoffs."""
        return "k" in self.metric.spec.options

    def partial(self, ks: Any) -> Any:
        """Binds the metric to its options and to cutoffs."""
        k = {"k": ks} if self.has_k else {}
        return functools.partial(self.metric, **self.options, **k)

    def expect(self, *args: Any, ks: Any) -> Any:
        """Returns the oracle's values, `[lists, ks]`, or `[lists]` without cutoffs."""
        options = self.options if self.oracle_options is None else self.oracle_options
        options = {
            {"relevance_threshold": "threshold"}.get(name, name): value
            for name, value in options.items()
        }
        values = oracle.values(
            self.oracle, *args, ks if self.has_k else (None,), **options
        )
        return values if self.has_k else values[:, 0]


def _gain(
    metric, function, gain, gain_oracle, discount=None, discount_oracle=None, **fields
):
    options = {"gain_fn": gain}
    oracle_options = {"gain": gain_oracle}
    if discount is not None:
        options["discount_fn"] = discount
        oracle_options["discount"] = discount_oracle
    return Case(
        metric, function, options, oracle_options, gain_oracle, weighted=True, **fields
    )


def always(labels, scores):
    """Defined for every list that exists."""
    return True


def gained(labels, scores):
    """Defined where a label is above 0."""
    return any(label > 0 for label in labels)


def has_two_classes(labels, scores):
    """Defined where something is relevant, and something is not."""
    return len({label >= 1 for label in labels}) == 2


def items_of_two_classes(labels, k):
    """Counts the items, where something is relevant and something is not."""
    return float(len(labels) * has_two_classes(labels, labels))


def differ(labels, scores):
    """Defined where two labels differ."""
    return len(set(labels)) > 1


def differ_twice(labels, scores):
    """Defined where two labels differ, and two scores."""
    return len(set(labels)) > 1 and len(set(scores)) > 1


# The label of the only item that some metrics accept as relevant. Lists drawn for all
# metrics hold it once at most.
TOP = 4.0


def _of_target(metric, function, options=(), **fields):
    options = dict(options) | {"relevance_threshold": TOP}
    return Case(
        metric,
        function,
        options,
        {"threshold": TOP},
        relevance=lambda y: float(y >= TOP),
        is_mean=False,
        **fields,
    )


def _hits_by_chance(number, k):
    return 1.0 if k is None else min(k / max(number, 1), 1.0)


def _reciprocal_rank_by_chance(number, k):
    number = max(number, 1)
    return sum(1 / rank for rank in range(1, min(number, k or number) + 1)) / number


def halved(labels):
    """A gain that is not defined by the package, and not 0 for the label 0."""
    return 0.5 * labels + 0.25


CASES: dict[str, Case] = {
    "cg": _gain(
        jrm.cg, oracle.cg, jrm.linear_gain, oracle.linear, bounded=False, defined=always
    ),
    "cg-exponential": _gain(
        jrm.cg,
        oracle.cg,
        jrm.exponential_gain,
        oracle.exponential,
        bounded=False,
        defined=always,
    ),
    "dcg": _gain(
        jrm.dcg,
        oracle.dcg,
        jrm.exponential_gain,
        oracle.exponential,
        bounded=False,
        defined=always,
    ),
    "dcg-linear-reciprocal": _gain(
        jrm.dcg,
        oracle.dcg,
        jrm.linear_gain,
        oracle.linear,
        jrm.reciprocal_discount,
        oracle.reciprocal,
        bounded=False,
        defined=always,
    ),
    "ndcg": _gain(
        jrm.ndcg, oracle.ndcg, jrm.exponential_gain, oracle.exponential, needs_pool=True
    ),
    "ndcg-linear": _gain(
        jrm.ndcg, oracle.ndcg, jrm.linear_gain, oracle.linear, needs_pool=True
    ),
    "ndcg-own-functions": _gain(
        jrm.ndcg,
        oracle.ndcg,
        halved,
        lambda y: 0.5 * y + 0.25,
        jrm.log_discount(3),
        lambda r: oracle.log2(r) * 1.584962500721156,
        needs_pool=True,
    ),
    "precision": Case(jrm.precision, oracle.precision),
    "precision-k": Case(jrm.precision, oracle.precision, {"denominator": "k"}),
    "precision-graded": Case(
        jrm.precision,
        oracle.precision,
        {"relevance_threshold": 2},
        relevance=lambda y: float(y >= 2),
    ),
    "recall": Case(jrm.recall, oracle.recall),
    "recall-attainable": Case(jrm.recall, oracle.recall, {"denominator": "attainable"}),
    "f_score": Case(jrm.f_score, oracle.f_score),
    "f_score-2": Case(jrm.f_score, oracle.f_score, {"beta": 2.0}),
    "hit_rate": Case(jrm.hit_rate, oracle.hit_rate),
    "average_precision": Case(
        jrm.average_precision, oracle.average_precision, weighted=True
    ),
    "average_precision-attainable": Case(
        jrm.average_precision,
        oracle.average_precision,
        {"denominator": "attainable"},
        weighted=True,
    ),
    "average_precision-k": Case(
        jrm.average_precision,
        oracle.average_precision,
        {"denominator": "k"},
        weighted=True,
    ),
    "average_precision-hits": Case(
        jrm.average_precision,
        oracle.average_precision,
        {"denominator": "hits"},
        closed_form=False,
        ordered=False,
        weighted=True,
    ),
    "reciprocal_rank": Case(jrm.reciprocal_rank, oracle.reciprocal_rank),
    "reciprocal_rank-graded": Case(
        jrm.reciprocal_rank,
        oracle.reciprocal_rank,
        {"relevance_threshold": 2.0},
        relevance=lambda y: float(y >= 2),
    ),
    "r_precision": Case(jrm.r_precision, oracle.r_precision),
    "map_at_r": Case(jrm.map_at_r, oracle.map_at_r, weighted=True),
    "inverse_negative_penalty": Case(
        jrm.inverse_negative_penalty, oracle.inverse_negative_penalty
    ),
    "rank_biased_precision": Case(
        jrm.rank_biased_precision, oracle.rank_biased_precision
    ),
    "rank_biased_precision-graded": Case(
        jrm.rank_biased_precision,
        oracle.rank_biased_precision,
        {"p": 0.5, "max_label": 2},
        defined=gained,
    ),
    "expected_reciprocal_rank": Case(
        jrm.expected_reciprocal_rank,
        oracle.expected_reciprocal_rank,
        closed_form=False,
        ordered=False,
        defined=gained,
    ),
    "expected_reciprocal_rank-normalized": Case(
        jrm.expected_reciprocal_rank,
        oracle.expected_reciprocal_rank,
        {"normalized": True, "max_label": 2},
        closed_form=False,
        ordered=False,
        defined=gained,
        needs_pool=True,
    ),
    "average_relevance_position": Case(
        jrm.average_relevance_position,
        oracle.average_relevance_position,
        bounded=False,
        ordered=False,
        defined=gained,
    ),
    "ordered_pair_accuracy": Case(
        jrm.ordered_pair_accuracy, oracle.ordered_pair_accuracy, defined=differ
    ),
    "roc_auc": Case(jrm.roc_auc, oracle.roc_auc, defined=has_two_classes),
    "gauc": Case(
        jrm.gauc,
        oracle.roc_auc,
        defined=has_two_classes,
        factor=items_of_two_classes,
    ),
    "fall_out": Case(
        jrm.fall_out,
        oracle.fall_out,
        ordered=False,
        defined=lambda labels, scores: any(label < 1 for label in labels),
        needs_pool=True,
    ),
    "interpolated_precision": Case(
        jrm.interpolated_precision,
        oracle.interpolated_precision,
        {"recall_levels": 0.3},
        {"level": 0.3},
        closed_form=False,
        ordered=False,
    ),
    "eleven_point_precision": Case(
        jrm.eleven_point_precision,
        oracle.eleven_point_precision,
        closed_form=False,
        ordered=False,
    ),
    "label_ranking_average_precision": Case(
        jrm.label_ranking_average_precision, oracle.label_ranking_average_precision
    ),
    "coverage_error": Case(jrm.coverage_error, oracle.coverage_error, bounded=False),
    "label_ranking_loss": Case(
        jrm.label_ranking_loss, oracle.label_ranking_loss, defined=has_two_classes
    ),
    "bpref": Case(jrm.bpref, oracle.bpref, needs_pool=True),
    "inferred_average_precision": Case(
        jrm.inferred_average_precision,
        oracle.inferred_average_precision,
        closed_form=False,
        ordered=False,
    ),
    "judged": Case(jrm.judged, oracle.judged, defined=always),
    "num_relevant_retrieved": Case(
        jrm.num_relevant_retrieved,
        oracle.num_relevant_retrieved,
        bounded=False,
        defined=always,
    ),
    "num_retrieved": Case(
        jrm.num_retrieved, oracle.num_retrieved, bounded=False, defined=always
    ),
    "num_relevant": Case(
        jrm.num_relevant, oracle.num_relevant, bounded=False, defined=always
    ),
    "hit_rate-realistic": _of_target(
        jrm.hit_rate, oracle.realistic_hit_rate, {"rank": "realistic"}
    ),
    "reciprocal_rank-realistic": _of_target(
        jrm.reciprocal_rank, oracle.realistic_reciprocal_rank, {"rank": "realistic"}
    ),
    "adjusted_mean_rank_index": _of_target(
        jrm.adjusted_mean_rank_index,
        oracle.adjusted_mean_rank_index,
        bounded=False,
        needs_pool=True,
        factor=lambda labels, k: max(len(labels) - 1, 0) / 2,
    ),
    "adjusted_hit_rate": _of_target(
        jrm.adjusted_hit_rate,
        oracle.adjusted_hit_rate,
        bounded=False,
        needs_pool=True,
        factor=lambda labels, k: 1 - _hits_by_chance(len(labels), k),
    ),
    "adjusted_reciprocal_rank": _of_target(
        jrm.adjusted_reciprocal_rank,
        oracle.adjusted_reciprocal_rank,
        bounded=False,
        needs_pool=True,
        factor=lambda labels, k: 1 - _reciprocal_rank_by_chance(len(labels), k),
    ),
    "tau": Case(jrm.tau, oracle.tau, bounded=False, defined=differ_twice),
    "rho": Case(jrm.rho, oracle.rho, bounded=False, defined=differ_twice),
}

CLOSED = {name: case for name, case in CASES.items() if case.closed_form}

# The metrics that most tests walk through, each with its most demanding options. Every
# test compiles its cases again; the values of all options are tested against loops. Tests
# of laws and layouts add MORE and WHOLE, which together cover every metric.
CORE = {
    name: CASES[name]
    for name in (
        "ndcg",
        "precision-k",
        "recall-attainable",
        "f_score-2",
        "hit_rate",
        "average_precision",
        "average_precision-hits",
        "reciprocal_rank",
        "r_precision",
    )
}

# All other metrics: those with a cutoff, and those that read whole lists.
MORE = {
    name: CASES[name]
    for name in (
        "rank_biased_precision-graded",
        "expected_reciprocal_rank-normalized",
        "fall_out",
        "judged",
        "num_relevant_retrieved",
        "num_retrieved",
        "adjusted_hit_rate",
        "adjusted_reciprocal_rank",
    )
}
WHOLE = {
    name: case
    for name, case in CASES.items()
    if not case.has_k and name not in (*CORE, "eleven_point_precision")
}

# Metrics that raise where only the relevant items are held.
ALL_HELD = ("tau", "rho")

# Metrics of CORE that between them take every path through the package: a sum over the top
# ranks with an ideal order, counts above each item, no closed form, a first stop.
FEW = {
    name: CORE[name]
    for name in (
        "ndcg",
        "average_precision",
        "average_precision-hits",
        "reciprocal_rank",
    )
}


def keep_only(chosen: dict[str, Case]) -> None:
    """Reduces all tables in place to these cases, for `pytest --metric`."""
    cut = {name: case for name, case in chosen.items() if case.has_k}
    whole = {name: case for name, case in chosen.items() if not case.has_k}
    closed = {name: case for name, case in chosen.items() if case.closed_form}
    tables = (CASES, CLOSED, CORE, MORE, WHOLE, FEW)
    contents = (chosen, closed, cut, {}, whole, cut)
    for table, content in zip(tables, contents, strict=True):
        table.clear()
        table.update(content)


def metrics(ks: Any, ties: str | None = None, cases: dict[str, Case] | None = None):
    """Returns a table as `evaluate` and `measure` take it, for one tie policy."""
    cases = CORE if cases is None else cases
    if ties == "expected":
        cases = {name: case for name, case in cases.items() if case.closed_form}
    if not cases:
        pytest.skip("the metric of --metric has no case here")
    return {name: case.partial(ks) for name, case in cases.items()}
