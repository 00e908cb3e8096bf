"""The table of all metrics and options that the tests of laws and layouts walk through."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.ranking import data_of
from jax_rank_metrics._ground.types import Ties

POLICIES = (None, *get_args(Ties))
# The policies that put tied items in one definite order, and the ones that need no key for
# it.
ORDERS = tuple(ties for ties in get_args(Ties) if ties != "expected")
KEYLESS_ORDERS = tuple(ties for ties in ORDERS if ties != "random")


def policy(ties):
    """The arguments of `rank` that choose a tie policy."""
    return {"ties": ties, "key": jax.random.key(11) if ties == "random" else None}


def relevant(label):
    """Returns 1 for a relevant item, else 0."""
    return float(label >= 1)


def halved(labels):
    """A gain that is not defined by the package, and not 0 for the label 0."""
    return 0.5 * labels + 0.25


def above_one(labels):
    """A gain that gives relevant items of the label 1 nothing."""
    return jnp.maximum(labels - 1, 0)


def one_more(labels):
    """A gain of 1 for the label 0."""
    return labels + 1


# How the oracle calls options, and its counterparts of functions.
OPTIONS = {
    "relevance_threshold": "threshold",
    "gain_fn": "gain",
    "discount_fn": "discount",
    "recall_levels": "level",
}
LOG3 = jrm.log_discount(3)
COUNTERPARTS = {
    jrm.linear_gain: oracle.linear,
    jrm.exponential_gain: oracle.exponential,
    halved: halved,
    above_one: lambda label: max(label - 1, 0),
    jrm.reciprocal_discount: oracle.reciprocal,
    LOG3: lambda rank: oracle.log2(rank) * 1.584962500721156,
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One metric with its options, beside its oracle and its properties.

    The key of a case in `CASES` is the name of the metric, perhaps with a remark behind a
    hyphen. The oracle is the function of this name, unless another is given.
    """

    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    metric: Any = None
    loops: Any = None  # its oracle
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the loops
    columns: tuple[str, ...] = ()  # the columns that it needs
    closed_form: bool = True  # has a value for ties="expected"
    bounded: bool = True  # lies in [0, 1] without item weights
    # Tells if an `oracle.List` has a value; None: if a relevant item exists.
    defined: Callable[[oracle.List], bool] | None = None
    # Sources that raise: "places" knows the places of listed items alone, "catalog" streams
    # items, and "sharded" cuts lists over devices.
    refused: tuple[str, ...] = ()
    weighted: bool = False  # its values read item weights
    # The factor by which it multiplies a list's weight, from the `oracle.List` and the
    # cutoff.
    factor: Callable[[oracle.List, int | None], float] = lambda case, k: 1.0
    rtol: float = 1e-6  # of values in two layouts
    weighable: bool = True  # accepts item weights
    is_mean: bool = True  # under ties, the mean over their orders

    def relevance(self, label: float) -> float:
        """Returns what item weights imply list weights by."""
        if self.weighted and "gain_fn" in self.options:
            return COUNTERPARTS[self.options["gain_fn"]](label)
        return float(label >= self.options.get("relevance_threshold", 1))

    def is_defined(self, case: oracle.List) -> bool:
        """True if a list has a value."""
        if self.defined is not None:
            return self.defined(case)
        return any(self.relevance(case.labels[i]) > 0 for i in case.pool)

    def implied_weight(self, case: oracle.List) -> float:
        """Returns the list weight that item weights imply."""
        if self.metric is jrm.residual:  # unjudged items are worth nothing
            case = case.without_unjudged()
        return case.implied_weight(self.relevance)

    @property
    def has_k(self) -> bool:
        """True if the metric takes cutoffs."""
        return "k" in inspect.signature(self.metric).parameters

    def partial(self, ks: Any) -> Any:
        """Binds the metric to its options and to cutoffs."""
        k = {"k": ks} if self.has_k else {}
        return functools.partial(self.metric, **self.options, **k)

    def expect(self, lists: list[oracle.List], ties: str | None, ks: Any) -> Any:
        """Returns the oracle's values, `[lists, ks]`, or `[lists]` without cutoffs.

        Under None, a metric without a closed form reads the order that a ranking took.
        """
        options = {
            OPTIONS.get(name, name): COUNTERPARTS[x] if callable(x) else x
            for name, x in self.options.items()
            if name not in self.extra
        }
        if ties is None:
            ties = "expected" if self.closed_form else "taken"
        ks = ks if self.has_k else (None,)
        values = oracle.values(self.loops, lists, ties, ks, **options, **self.extra)
        return values if self.has_k else values[:, 0]


def compare(
    actual: jrm.PerList,
    case: Case,
    lists: list[oracle.List],
    ties: str | None,
    ks: Any,
    atol: float = 1e-6,
) -> None:
    """Asserts that defined values equal the oracle's, and that undefined values are 0."""
    expected = case.expect(lists, ties, ks)
    exists = np.array([bool(x.pool) for x in lists])
    defined = exists & [case.is_defined(x) for x in lists]
    # A list that weighs nothing in a ratio of sums is undefined, perhaps at a cutoff.
    by_cutoff = ks if actual.cutoff_weights else (None,)
    factor = np.array([[case.factor(x, k) for k in by_cutoff] for x in lists])
    defined = defined[:, None] & (factor > 0)
    defined = defined if actual.cutoff_weights else defined[:, 0]
    np.testing.assert_array_equal(actual.defined, defined, case.metric.__name__)
    values = np.asarray(actual.values)
    assert (values[~defined] == 0).all() and (expected[~defined] == 0).all()
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(
        values[defined] / scale, expected[defined] / scale, rtol=0, atol=atol
    )


def as_if_stable(ranking: jrm.Ranking) -> jrm.Ranking:
    """Calls a ranking's policy "stable", so one program serves all policies."""
    return jrm.Ranking(dataclasses.replace(data_of(ranking), ties="stable"))


def always(case):
    """Defined for every list that exists."""
    return bool(case.pool)


def gained(case):
    """Defined if a label is above 0."""
    return any(case.labels[i] > 0 for i in case.pool)


def ranked_labels(case):
    """Returns the labels of the items that have a rank."""
    return [case.labels[i] for i in case.ranked]


def has_ranked(case, threshold=1.0):
    """Defined if a relevant item has a rank."""
    return any(label >= threshold for label in ranked_labels(case))


def has_ranked_all(case):
    """Defined if there are relevant items, and all of them have a rank."""
    hits = sum(label >= 1 for label in ranked_labels(case))
    return hits > 0 and hits == sum(case.labels[i] >= 1 for i in case.pool)


def has_two_classes(case):
    """Defined if a relevant item and another item have ranks."""
    return len({label >= 1 for label in ranked_labels(case)}) == 2


def pool_has_two_classes(case):
    """Defined if the pool has relevant and other items."""
    return len({case.labels[i] >= 1 for i in case.pool}) == 2


def items_of_two_classes(case, k):
    """Counts the ranked items if relevant and other items are among them, else 0."""
    return float(len(case.ranked) * has_two_classes(case))


def differ(case):
    """Defined if two labels differ."""
    return len(set(ranked_labels(case))) > 1


def differ_twice(case):
    """Defined if two labels differ, and two scores."""
    return differ(case) and len({case.scores[i] for i in case.ranked}) > 1


def has_topics(case):
    """Defined if an item has a topic."""
    return bool(case.pool_topics)


def has_groups(case):
    """Defined if an item belongs to a group."""
    return case.group_totals().sum() > 0


def has_several_groups(case, worth=lambda label: 1.0):
    """Defined if two groups have items that are worth something."""
    return (case.group_totals(worth) > 0).sum() > 1


# The label of the only item that some metrics accept as relevant. Lists drawn for all
# metrics hold it once at most.
TOP = 4.0


def _of_target(options=(), **fields):
    options = dict(options) | {"relevance_threshold": TOP}
    return Case(options, is_mean=False, **fields)


def _beyond_chance(position):
    return lambda case, k: 1 - oracle.mean_over_ranks(case, position, k)


def _browsing(options, value="utility", **fields):
    """A metric of C/W/L: a user who browses."""
    shared = {"value": value, "max_rank": 12, "max_label": 4}
    fields = {"closed_form": False, "refused": ("places",)} | fields
    bounded = value == "utility"
    return Case(options | shared, bounded=bounded, defined=gained, **fields)


INSQ = functools.partial(_browsing, {"target": 2}, closed_form=True, refused=())
FORAGING = functools.partial(
    _browsing,
    {"target": 1.2, "rate": 0.3, "target_rationality": 3.0, "rate_rationality": 3.0},
)
BEJEWELED = {
    "target": 2,
    "budget": 6,
    "target_step": 0.5,
    "budget_step": 3,
    "median_gain": 0.25,
}


def _of_topics(options=(), **fields):
    fields = {"defined": has_topics} | fields
    return Case(dict(options), columns=("subtopics",), **fields)


def _mean_over_topics(metric, **options):
    extra = {"metric": metric} | options
    return _of_topics(options, loops=oracle.over_topics, extra=extra)


SHARES = (0.5, 0.2, 0.3)  # a target of three groups


def _of_groups(options=(), **fields):
    """A metric of mean exposures, which is not the mean of the metric."""
    shared = {"defined": has_groups, "is_mean": False}
    shared |= {"columns": ("groups",), "refused": ("places",)}
    return Case(dict(options), **shared | fields)


def _by_propensity(measure, threshold=1.0):
    def possible(case, k):
        return oracle.best_propensity_scored(case, k, measure, threshold)

    return Case(
        {"relevance_threshold": threshold},
        loops=oracle.propensity_scored,
        extra={"measure": measure},
        columns=("propensities",),
        factor=possible,
    )


def _residual(metric, worth, **fields):
    return Case(
        {"of": metric, "max_label": 3.0},
        extra={"of": metric, "worth": worth},
        columns=("judged",),
        bounded=False,
        defined=always,
        refused=("places",),
        **fields,
    )


def _named(table):
    """Fills in the metric and the oracle of every case, by its name."""
    for name, case in table.items():
        base = name.partition("-")[0]
        function = case.loops or getattr(oracle, base, oracle.browsing)
        extra = case.extra
        if "max_rank" in case.options:
            function, extra = oracle.browsing, {"chance": getattr(oracle, base)}
        yield (
            name,
            dataclasses.replace(
                case, metric=getattr(jrm, base), loops=function, extra=extra
            ),
        )


_GAINS = {"bounded": False, "defined": always, "weighted": True}
_LINEAR, _EXPONENTIAL = {"gain_fn": jrm.linear_gain}, {"gain_fn": jrm.exponential_gain}
_GRADED = {"relevance_threshold": 2}
_HELD_WHOLE = {"bounded": False, "defined": differ_twice, "refused": ("places",)}

# fmt: off
CASES: dict[str, Case] = dict(_named({
    # Gains.
    "cg": Case(_LINEAR, **_GAINS),
    "cg-exponential": Case(_EXPONENTIAL, **_GAINS),
    "dcg": Case(_EXPONENTIAL, **_GAINS),
    "dcg-linear-reciprocal": Case(_LINEAR | {"discount_fn": jrm.reciprocal_discount}, **_GAINS),
    "ndcg": Case(_EXPONENTIAL, weighted=True),
    "ndcg-linear": Case(_LINEAR, weighted=True),
    "ndcg-own-functions": Case({"gain_fn": halved, "discount_fn": LOG3}, weighted=True),
    # Relevant items among the first ranks.
    "precision": Case(),
    "precision-k": Case({"denominator": "k"}),
    "precision-graded": Case(_GRADED),
    "recall": Case(),
    "recall-attainable": Case({"denominator": "attainable"}),
    "f_score": Case(),
    "f_score-2": Case({"beta": 2.0}),
    "full_recall": Case(),
    "hit_rate": Case(),
    "hit_rate-two": Case({"at_least": 2}),
    "fall_out": Case(defined=lambda case: any(case.labels[i] < 1 for i in case.pool)),
    "r_precision": Case(),
    "set_average_precision": Case(_GRADED),
    "utility": Case({"worth": 2, "cost": 0.5}, bounded=False, defined=always),
    "precision_at_multiples": Case({"multiples": 1.6}),
    "precision_at_multiples-0.5": Case({"multiples": 0.5}),
    # The places of relevant items.
    "average_precision": Case(weighted=True),
    "average_precision-attainable": Case({"denominator": "attainable"}, weighted=True),
    "average_precision-k": Case({"denominator": "k"}, weighted=True),
    "average_precision-hits": Case({"denominator": "hits"}, closed_form=False, weighted=True),
    "map_at_r": Case(weighted=True),
    "reciprocal_rank": Case(),
    "reciprocal_rank-graded": Case(_GRADED),
    "inverse_negative_penalty": Case(defined=has_ranked_all),
    "average_relevance_position": Case(bounded=False, defined=functools.partial(has_ranked, threshold=1e-9)),
    "interpolated_precision": Case({"recall_levels": 0.3}, closed_form=False),
    "eleven_point_precision": Case(closed_form=False),
    # Users who read on by chance.
    "rank_biased_precision-graded": Case({"p": 0.5, "max_label": 2}, defined=gained),
    "rank_biased_precision": Case(),
    "expected_reciprocal_rank-normalized": Case({"normalized": True, "max_label": 2}, defined=gained),
    "expected_reciprocal_rank": Case(defined=gained),
    "inst": _browsing({}),
    "insq": INSQ(),
    "insq-total_utility": INSQ("total_utility"),
    "insq-total_cost": INSQ("total_cost"),
    "bejeweled_player_model": _browsing(BEJEWELED),
    "time_biased_gain": _browsing({"half_life": 5}, refused=()),
    "information_foraging": FORAGING(),
    "information_foraging-total_utility": FORAGING("total_utility"),
    "information_foraging-cost": FORAGING("cost"),
    "information_foraging-total_cost": FORAGING("total_cost"),
    "information_foraging-items": FORAGING("items"),
    # Pairs of items, and many labels.
    "ordered_pair_accuracy": Case(defined=differ),
    "roc_auc": Case(defined=has_two_classes, weighted=True),
    "gauc": Case(loops=oracle.roc_auc, defined=has_two_classes, weighted=True, factor=items_of_two_classes),
    "tau": Case(**_HELD_WHOLE),
    "rho": Case(**_HELD_WHOLE),
    "label_ranking_average_precision": Case(),
    "coverage_error": Case(bounded=False, defined=has_ranked),
    "label_ranking_loss": Case(defined=has_two_classes),
    # Pools in which not every item was judged.
    "bpref": Case(),
    "inferred_average_precision": Case(closed_form=False),
    "judged": Case(defined=always),
    "num_nonrelevant_retrieved": Case(bounded=False, defined=always),
    "num_relevant_retrieved": Case(bounded=False, defined=always),
    "num_retrieved": Case(bounded=False, defined=always),
    "num_relevant": Case(bounded=False, defined=always),
    "residual": _residual(functools.partial(jrm.rank_biased_precision, p=0.6, max_label=4), lambda label, rank, depth: 0.4 * 0.6 ** (rank - 1) * label / 4),
    "residual-dcg": _residual("dcg", lambda label, rank, depth: oracle.exponential(label) * oracle.log2(rank), weighable=False),
    "residual-unit": _residual(functools.partial(jrm.cg, gain_fn=one_more), lambda label, rank, depth: label + 1, weighable=False),
    "residual-precision": _residual("precision", lambda label, rank, depth: (label >= 1) / depth),
    # One item to be found.
    "hit_rate-realistic": _of_target({"rank": "realistic"}, loops=oracle.realistic_hit_rate),
    "reciprocal_rank-realistic": _of_target({"rank": "realistic"}, loops=oracle.realistic_reciprocal_rank),
    "adjusted_mean_rank_index": _of_target(bounded=False, defined=functools.partial(has_ranked, threshold=TOP), factor=lambda case, k: max(len(case.pool) - 1, 0) / 2),
    "adjusted_hit_rate": _of_target(bounded=False, factor=_beyond_chance(lambda rank: 1.0)),
    "adjusted_reciprocal_rank": _of_target(bounded=False, factor=_beyond_chance(oracle.reciprocal)),
    # Early recognition.
    "enrichment_factor": Case(bounded=False),
    "rie": Case({"alpha": 3.5}, bounded=False),
    "bedroc": Case({"alpha": 3.5}, bounded=False),  # below 0 if none is ranked
    "bedroc-graded": Case({"alpha": 3.5} | _GRADED, bounded=False),
    "log_auc": Case({"min_fpr": 0.4}, defined=pool_has_two_classes),
    "log_auc-adjusted": Case({"min_fpr": 0.4, "adjusted": True}, bounded=False, defined=pool_has_two_classes),
    # Measures of NTCIR.
    "q_measure": Case({"beta": 2}, closed_form=False),
    "q_measure-attainable": Case({"denominator": "attainable"} | _GRADED, closed_form=False),
    "p_plus": Case({"gain_fn": above_one}, closed_form=False),
    "p_plus-binary": Case({"beta": 0} | _GRADED, closed_form=False),
    "o_measure": Case(_EXPONENTIAL, closed_form=False),
    # Subtopics.
    "alpha_dcg": _of_topics({"alpha": 0.3}, bounded=False),
    "alpha_ndcg": _of_topics({"alpha": 0.3}, bounded=False, refused=("places", "catalog", "sharded")),  # the greedy order may not be the best
    "err_ia": _of_topics({"alpha": 0.3}),
    "nrbp": _of_topics({"p": 0.8, "alpha": 0.3}),
    "subtopic_recall": _of_topics(),
    "precision_ia": _mean_over_topics(oracle.precision, denominator="k"),
    "precision_ia-retrieved": _mean_over_topics(oracle.precision),
    "average_precision_ia": _mean_over_topics(oracle.average_precision),
    # Groups of items, and propensities of labels.
    "group_recall": Case({"group": 1}, columns=("groups",), defined=lambda case: case.group_totals(relevant)[1] > 0),
    "attention_weighted_rank_fairness": _of_groups({"target": "relevant"}, defined=lambda case: case.group_totals(relevant).sum() > 0),
    "attention_weighted_rank_fairness-pool": _of_groups(),
    "attention_weighted_rank_fairness-shares": _of_groups({"target": SHARES, "discount_fn": jrm.reciprocal_discount}),
    "expected_exposure": _of_groups({"target": "relevant"}, bounded=False, rtol=1e-5),  # squares the difference of large sums
    "expected_exposure-pool": _of_groups(bounded=False),
    "expected_exposure-disparity": _of_groups({"part": "disparity"}, bounded=False),
    "expected_exposure-relevance": _of_groups({"part": "relevance", "target": SHARES}, bounded=False),
    "exposure_parity": _of_groups(bounded=False, defined=has_several_groups),
    "exposure_parity-ratio": _of_groups({"comparison": "ratio"}, defined=has_several_groups),
    "disparate_treatment_ratio": _of_groups(defined=functools.partial(has_several_groups, worth=oracle.linear)),
    "disparate_impact_ratio": _of_groups(_EXPONENTIAL, defined=functools.partial(has_several_groups, worth=oracle.exponential), refused=()),  # the clicks of items of the label 0 are 0
    "ndkl": _of_groups(closed_form=False, bounded=False),
    "ndkl-shares": _of_groups({"target": SHARES}, closed_form=False, bounded=False),
    "propensity_scored_precision": _by_propensity("precision"),
    "propensity_scored_ndcg": _by_propensity("ndcg"),
    "propensity_scored_recall": _by_propensity("recall", 2.0),
}))
# fmt: on

CLOSED = {name: case for name, case in CASES.items() if case.closed_form}

# The metrics that tests of other subjects walk through. Every test compiles its cases again;
# the values of all options are tested against loops, and laws and layouts take EVERY.
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

# One case of each metric, which has its most demanding options.
EVERY = dict(CORE)
for _name, _case in CASES.items():
    if all(_case.metric is not case.metric for case in EVERY.values()):
        EVERY[_name] = _case

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
    closed = {name: case for name, case in chosen.items() if case.closed_form}
    tables = (CASES, CLOSED, EVERY, CORE, FEW)
    contents = (chosen, closed, chosen, cut, cut)
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
