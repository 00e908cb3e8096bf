"""Bad calls of states, of values of lists, and of functions that make states of them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from error_rows import rows_of, traced
from per_lists import lists_of, ratio_of, state_of

import jax_rank_metrics as jrm
from jax_rank_metrics._values.on_host import HostSums

SCALAR, COLUMN, THREE = (state_of(np.ones((4, *x))) for x in ((), (1,), (3,)))
TWO = state_of(np.ones((4, 2)))
STACKED = jax.tree.map(lambda x: np.stack([x, x, x]), SCALAR)
LISTS, IDS = lists_of(np.linspace(0, 1, 4)), np.arange(4)
HITS = jrm.PerList(np.array([True, False]), np.ones(2), np.ones(2, bool))
CUTOFFS = lists_of(np.ones((4, 2)))
GEOMETRIC = HostSums.of_lists(LISTS, jrm.GeometricMean).state()
P, S = np.full(3, 0.5, np.float32), np.arange(3, dtype=np.float32)
KEY = jax.random.key(0)
DRAWN = functools.partial(jrm.sampled_labels, "mrr", P, S)


def HISTOGRAM(*shape, **options):
    """Returns the shapes of a `Histogram`."""
    empty = functools.partial(jrm.Histogram.empty, *shape, **({"bins": 10} | options))
    return jax.eval_shape(empty)


def BOOT(ids=IDS, samples=20):
    """Returns the shapes of a `Bootstrap`, which are enough for its errors."""
    return jax.eval_shape(lambda: jrm.bootstrap(LISTS, ids, samples=samples))


def reduced_over(axes, state_of_lists):
    """Traces a reduction of states inside shard_map, with lists over axes of a mesh."""
    kinds = (
        jax.sharding.AxisType.Auto,
    ) * 2  # newer versions of JAX make Explicit axes
    mesh = jax.sharding.AbstractMesh((1, 1), ("data", "model"), axis_types=kinds)
    specs = {"in_specs": jax.sharding.PartitionSpec(axes), "out_specs": jax.sharding.PartitionSpec()}  # fmt: skip
    reduce = jax.shard_map(lambda lists: jrm.all_reduce(state_of_lists(lists), axes), mesh=mesh, **specs)  # fmt: skip
    return jax.eval_shape(reduce, LISTS)


def per_list(values, weights, defined=None, cutoff_weights=False):
    """Makes a `PerList` of ones from shapes."""
    arrays = np.ones(values), np.ones(weights), np.ones(defined or weights, bool)
    return jrm.PerList(*arrays, cutoff_weights=cutoff_weights)


def mean_of(values, weights, defined=None):
    """Makes a `Mean` of ones from shapes."""
    return jrm.Mean.of(
        np.ones(values), np.ones(weights), np.ones(defined or weights, bool)
    )


# Shapes of values, of weights, and of `defined`.
SHAPES = [((3, 2), (3, 4)), ((3,), (3, 2)), ((3, 2), (3, 2), (3,)), ((3, 2), (2,)), ((3, 2, 2), (3,))]  # fmt: skip

# fmt: off
CASES = {
    # states that do not match
    **rows_of("states of other cutoffs", ValueError, "states differ in shape.*same cutoffs", lambda x: x.merge(THREE), SCALAR, COLUMN, follow=lambda: THREE.merge(THREE)),
    "a state without cutoffs into one of them": (ValueError, "states differ in shape.*same cutoffs", lambda: THREE.merge(SCALAR), lambda: SCALAR.merge(SCALAR)),
    **rows_of("merge other cutoffs", ValueError, "states differ in shape.*same cutoffs", lambda x: jrm.merge(*x), (SCALAR, THREE), (THREE, SCALAR), (COLUMN, THREE), follow=lambda: jrm.merge(THREE, THREE)),
    "a stack with a state of cutoffs": (ValueError, "stacked along axes of shape", lambda: STACKED.merge(THREE), lambda: STACKED.reduce().merge(SCALAR)),
    "a number for a state": (TypeError, "float; pass a Mean", lambda: SCALAR.merge(3.0), lambda: SCALAR.merge(state_of([3.0]))),
    "a dict for a state": (TypeError, "dict; pass a Mean", lambda: SCALAR.merge({"x": SCALAR}), lambda: (SCALAR.merge(SCALAR), jrm.merge({"x": SCALAR}, {"x": SCALAR}))),
    "a list for a state": (TypeError, "list; pass a Mean", lambda: SCALAR.merge([SCALAR]), lambda: (SCALAR.merge(SCALAR), jrm.merge([SCALAR], [SCALAR]))),
    "nothing for a state": (TypeError, "NoneType; pass a Mean", lambda: SCALAR.merge(None), lambda: SCALAR.merge(SCALAR)),
    **rows_of("merge a list", TypeError, "merge(a, b)", jrm.merge, [SCALAR, SCALAR], (SCALAR, SCALAR), [SCALAR], follow=lambda: jrm.merge(SCALAR, SCALAR).lists == jrm.merge(*[SCALAR, SCALAR]).lists),
    "a state without an axis": (ValueError, "without a leading axis", SCALAR.reduce, lambda: STACKED.reduce().lists == 12),
    "a distribution with a mean": (TypeError, "pass a Histogram", lambda: HISTOGRAM().merge(SCALAR), lambda: jax.eval_shape(jrm.Histogram.merge, HISTOGRAM(), HISTOGRAM())),
    "means of both kinds": (TypeError, "pass a Mean", lambda: SCALAR.merge(GEOMETRIC), lambda: (SCALAR.merge(SCALAR), jrm.merge([SCALAR, GEOMETRIC], [SCALAR, GEOMETRIC]))),
    "merge a distribution with a mean": (ValueError, "differ in structure", lambda: jrm.merge(HISTOGRAM(), SCALAR), lambda: jrm.merge(SCALAR, SCALAR)),
    "merge means of both kinds": (ValueError, "differ in structure", lambda: jrm.merge(SCALAR, GEOMETRIC), lambda: jrm.merge(GEOMETRIC, GEOMETRIC)),
    **rows_of("other edges", ValueError, "same cutoffs and edges", lambda x: HISTOGRAM().merge(HISTOGRAM(**x)), {"bins": 5}, {"edges": (0, 1)}, follow=lambda: jax.eval_shape(jrm.merge, HISTOGRAM(bins=5), HISTOGRAM(bins=5))),
    **rows_of("merge other edges", ValueError, "pass states of the same cutoffs and edges", lambda x: jrm.merge(HISTOGRAM(), HISTOGRAM(**x)), {"bins": 5}, {"edges": (0, 1)}, follow=lambda: jax.eval_shape(jrm.merge, HISTOGRAM(edges=(0, 1)), HISTOGRAM(edges=(0, 1)))),
    "a distribution of cutoffs": (ValueError, "differ in shape.*same cutoffs and edges", lambda: HISTOGRAM().merge(HISTOGRAM((2,))), lambda: jax.eval_shape(jrm.merge, HISTOGRAM((2,)), HISTOGRAM((2,)))),
    "fewer resamples": (ValueError, "cutoffs and samples", lambda: BOOT().merge(BOOT(samples=9)), lambda: jax.eval_shape(jrm.merge, BOOT(samples=9), BOOT(samples=9))),
    "resamples with a mean": (TypeError, "got a Mean; pass a Bootstrap", lambda: BOOT().merge(SCALAR), lambda: jax.eval_shape(jrm.merge, BOOT(), BOOT())),
    "merge resamples with a mean": (ValueError, "differ in structure", lambda: jrm.merge(BOOT(), SCALAR), lambda: jax.eval_shape(jrm.merge, BOOT(), BOOT())),
    "pooled states of other bits": (ValueError, "the same bits", lambda: jrm.PooledRocAuc.empty(8).merge(jrm.PooledRocAuc.empty(9)), lambda: jax.eval_shape(jrm.merge, jrm.PooledRocAuc.empty(8), jrm.PooledRocAuc.empty(8))),
    "pooled states of both kinds": (TypeError, "pass a PooledRocAuc", lambda: jrm.PooledRocAuc.empty(8).merge(jrm.PooledAveragePrecision.empty(8)), lambda: jax.eval_shape(jrm.merge, [jrm.PooledRocAuc.empty(8), jrm.PooledAveragePrecision.empty(8)], [jrm.PooledRocAuc.empty(8), jrm.PooledAveragePrecision.empty(8)])),
    # numbers of states
    "cutoffs of one name": (ValueError, "'p@1' and 'p@1,5' both hold 'p@1'", lambda: jrm.compute({"p@1": SCALAR, "p@1,5": TWO}, flat=True), lambda: ([*jrm.compute({"p@1": SCALAR, "of five": TWO}, flat=True)] == ["p@1", "of five@1", "of five@2"], jrm.compute({"p@1": SCALAR, "p@1,5": TWO}))),
    **rows_of("level", TypeError, "level is .*pass a number", SCALAR.confidence_interval, "95%", "0.95", None, [0.9, 0.95], follow=traced(lambda: SCALAR.confidence_interval(0.95))),
    "level traced": (TypeError, "level is traced", lambda: jax.jit(SCALAR.confidence_interval)(0.9), traced(lambda: SCALAR.confidence_interval(0.9))),
    **rows_of("level of a share", ValueError, "level is .*between 0 and 1", SCALAR.confidence_interval, 0, 1, 95, np.nan, follow=traced(lambda: SCALAR.confidence_interval(0.95))),
    "unknown interval": (ValueError, "pass one of auto, t, normal, wilson", lambda: SCALAR.confidence_interval(method="z"), traced(lambda: [HITS.mean().confidence_interval(method=word) for word in ("auto", "t", "normal", "wilson")])),
    "Wilson's interval of a geometric mean": (ValueError, "wilson.*pass 't'", lambda: GEOMETRIC.confidence_interval(method="wilson"), traced(lambda: GEOMETRIC.confidence_interval(method="t"))),
    "Wilson's interval of lists that are no hits": (ValueError, "method is 'wilson'", lambda: HostSums.of_lists(LISTS, jrm.Mean).estimates(0.9, "wilson"), lambda: [HostSums.of_lists(lists, jrm.Mean).estimates(0.9, word) for lists, word in ((HITS, "wilson"), (LISTS, "t"), (LISTS, "auto"))]),
    **rows_of("number of two cutoffs", TypeError, "2 cutoffs", lambda f: f(TWO), float, "{:.3f}".format, follow=lambda: (float(TWO.compute()[0]), f"{TWO.compute()[0]:.3f}") == (1, "1.000")),
    **rows_of("number of a stack", TypeError, "stacked along", lambda f: f(STACKED), float, "{:.3f}".format, follow=lambda: (float(STACKED.reduce()), f"{STACKED.reduce():.3f}") == (1, "1.000")),
    **rows_of("q", TypeError, "q is .*vmap", lambda q: HISTOGRAM().quantile(q), "0.5", None, [0.5], follow=lambda: jax.eval_shape(lambda state, many: (state.quantile(0.5), jax.vmap(state.quantile)(many)), HISTOGRAM(), P)),
    **rows_of("q of a share", ValueError, "q is .*between 0 and 1", lambda q: HISTOGRAM().quantile(q), -0.1, 1.1, np.nan, follow=lambda: jax.eval_shape(lambda state: state.quantile(1), HISTOGRAM())),
    # axes of a mesh
    **rows_of("reduce over no axis", ValueError, "axis_name is .*not a mesh axis", functools.partial(jrm.all_reduce, SCALAR), "data", ("data", "model"), follow=lambda: [reduced_over(axes, jrm.mean) for axes in ("data", ("data", "model"))]),
    "empty over no axis": (ValueError, "axis_name is 'data'.*not a mesh axis", traced(lambda: jrm.empty("ndcg", "data")), lambda: reduced_over("data", lambda lists: jrm.empty("ndcg", "data"))),
    "reduce over None": (TypeError, "axis_name is None", lambda: jrm.all_reduce(SCALAR, None), lambda: [reduced_over(axes, jrm.mean) for axes in ("data", ("data", "model"))]),
    # what makes states
    **rows_of("floor", ValueError, "floor is", LISTS.geometric_mean, 0, -1.0, follow=traced(lambda: LISTS.geometric_mean(1e-5))),
    "floor as text": (TypeError, "floor is '1'", lambda: LISTS.geometric_mean("1"), traced(lambda: LISTS.geometric_mean(1))),
    "floor that floats round to 0": (ValueError, "floor is 1e-320, which float.* arithmetic", lambda: LISTS.geometric_mean(1e-320), traced(lambda: LISTS.geometric_mean(1.2e-38))),
    **rows_of("undefined lists", ValueError, "undefined is 'none'", lambda f: f(undefined="none"), LISTS.geometric_mean, LISTS.quantiles, functools.partial(LISTS.by, IDS, 4), functools.partial(LISTS.cluster, IDS), follow=traced(lambda: [[call(undefined=word) for call in (LISTS.geometric_mean, LISTS.quantiles, functools.partial(LISTS.by, IDS, 4))] for word in ("zero", "one", "skip")])),
    "undefined lists as values have it": (ValueError, "undefined is 'none'", lambda: jrm.PerList(LISTS.values, LISTS.weights, LISTS.defined, "none").mean(), traced(lambda: [jrm.PerList(LISTS.values, LISTS.weights, LISTS.defined, word).mean() for word in ("zero", "one", "skip")])),
    **rows_of("edges", ValueError, "edges are .*rising numbers", LISTS.quantiles, [0], (0, 0.5, 0.5), (1, 0), (0, np.nan, 1), follow=lambda: LISTS.quantiles((0, 0.25, 0.5, 1))),
    **rows_of("edges of a kind", TypeError, "edges are .*rising numbers", LISTS.quantiles, 3, ("a", "b"), np.zeros((2, 2)), follow=lambda: LISTS.quantiles((0, 0.25, 0.5, 1))),
    "edges traced": (TypeError, "edges are traced", lambda: jax.jit(LISTS.quantiles)(S), lambda: jax.eval_shape(lambda lists: lists.quantiles((0, 0.25, 0.5, 1)), LISTS)),
    "no bins": (ValueError, "bins is 0", lambda: LISTS.quantiles(bins=0), traced(lambda: LISTS.quantiles(bins=1))),
    "half a bin": (TypeError, "bins is 2.5", lambda: LISTS.quantiles(bins=2.5), traced(lambda: LISTS.quantiles(bins=2))),
    "groups of floats": (TypeError, "groups: dtype is float", lambda: LISTS.by(np.zeros(4, np.float32), 2), traced(lambda: LISTS.by(np.zeros(4, np.float32).astype(int), 2))),
    "groups of other lists": (ValueError, "groups has shape", lambda: LISTS.by(np.zeros(2, int), 2), traced(lambda: LISTS.by(np.zeros(4, int), 2))),
    "no cluster of a list": (ValueError, "ids is None at 1; pass an id there", lambda: LISTS.cluster([1, None, 2, 1]), lambda: LISTS.cluster([1, "missing", 2, 1])),
    "a list as a cluster": (TypeError, "ids holds [1] at 0, which cannot be the", lambda: LISTS.cluster([[1]] * 4), lambda: LISTS.cluster(["1", "1", "2", "2"])),
    "an index with a gap": (TypeError, "index holds object, or lacks a value; pass a bool for each list", lambda: LISTS[[True, None, False, True]], lambda: LISTS[[True, False, False, True]]),
    "no cutoffs": (ValueError, "values have shape (4, 0), without a cutoff; pass at least one", lambda: jrm.PerList(np.zeros((4, 0)), LISTS.weights, LISTS.defined), lambda: jrm.PerList(np.zeros((4, 1)), LISTS.weights, LISTS.defined)),
    "no groups": (ValueError, "num_groups is 0", lambda: LISTS.by(IDS, 0), traced(lambda: LISTS.by(np.zeros(4, int), 1))),
    "groups of a number on a device": (TypeError, "num_groups is a JAX array", lambda: LISTS.by(IDS, jnp.array(2)), lambda: jax.eval_shape(functools.partial(LISTS.by, num_groups=int(jnp.array(4))), IDS)),
    # clusters
    "clusters of other lists": (ValueError, "ids have shape (5,), but the lists have shape (4,)", lambda: LISTS.cluster(np.arange(5)), lambda: LISTS.cluster(np.arange(4))),
    "clusters of cutoffs": (ValueError, "ids have shape (4, 2)", lambda: LISTS.cluster(np.zeros((4, 2))), lambda: LISTS.cluster(np.zeros((4, 2))[:, 0])),
    "one cluster of several lists": (ValueError, "ids have shape ()", lambda: LISTS.cluster(7), lambda: LISTS.cluster([7] * 4)),
    "traced lists of clusters": (TypeError, "lists are traced, but .*; call cluster outside of jax.jit", lambda: jax.jit(lambda x: x.cluster(IDS))(LISTS), lambda: (LISTS.cluster(IDS), jax.eval_shape(lambda lists: jrm.bootstrap(lists, IDS), LISTS))),
    "traced ids of clusters": (TypeError, "ids are traced", lambda: jax.jit(LISTS.cluster)(IDS), lambda: LISTS.cluster(IDS)),
    # resamples
    "ids of fewer lists": (ValueError, "ids has shape", lambda: BOOT(IDS[:3]), lambda: BOOT(IDS)),
    "ids of floats": (TypeError, "integers", lambda: BOOT(IDS * 1.0), lambda: (BOOT((IDS * 1.0).astype(int)), BOOT((IDS * 1.0).astype(str)))),
    "resamples of an array": (TypeError, "pytree of PerList", lambda: jrm.bootstrap(np.ones(4), IDS), traced(lambda: jrm.bootstrap({"mrr": LISTS}, IDS))),
    "no resamples": (ValueError, "samples", lambda: BOOT(IDS, samples=0), lambda: BOOT(IDS, samples=1)),
    "ids beyond 64 bits": (ValueError, "ids: .* has more than 64 bits; pass it as a", lambda: BOOT([2**64, 1, 2, 3]), lambda: BOOT([str(2**64), 1, 2, 3])),
    **rows_of("an id of no kind", TypeError, "ids: got .*; pass integers or strings", lambda x: BOOT([x, "1", "2", "3"]), None, np.nan, True, follow=lambda: [BOOT([str(x) for x in (first, "1", "2", "3")]) for first in (None, np.nan, True)]),
    "ids hashed inside a trace": (TypeError, "call hash_ids outside jax.jit", lambda: jax.jit(jrm.hash_ids)(IDS), lambda: jrm.hash_ids(IDS)),
    # ratios
    "a denominator below 0": (ValueError, "the denominator is -1 in list 3; pass values of at least 0", lambda: CUTOFFS.over(lists_of([[1, 1]] * 3 + [[1, -1]])), lambda: CUTOFFS.over(lists_of([[1, 1]] * 3 + [[1, 0]]))),
    "a denominator of NaN": (ValueError, "the denominator is nan in list 3", lambda: CUTOFFS.over(lists_of([[1, 1]] * 3 + [[1, np.nan]])), lambda: CUTOFFS.over(lists_of([[1, 1]] * 3 + [[1, 0]]))),
    "a denominator of other weights": (ValueError, "list 0 has weight 1 in the numerator and 2 in the denominator", lambda: CUTOFFS.over(lists_of(np.ones((4, 2)), [2] * 4)), lambda: CUTOFFS.over(lists_of(np.ones((4, 2))))),
    "a denominator of fewer lists": (ValueError, "numerator has lists of shape (4,)", lambda: CUTOFFS.over(CUTOFFS[:3]), lambda: CUTOFFS[:3].over(CUTOFFS[:3])),
    "a denominator of fewer cutoffs": (ValueError, "values of the same cutoffs", lambda: CUTOFFS.over(lists_of(np.ones((4, 1)))), lambda: CUTOFFS.over(CUTOFFS)),
    "a ratio of ratios of other cutoffs": (ValueError, "values of the same cutoffs", lambda: ratio_of(np.ones((4, 2)), np.ones((4, 2))).over(ratio_of(np.ones((4, 3)), np.ones((4, 3)))), lambda: ratio_of(np.ones((4, 2)), np.ones((4, 2))).over(ratio_of(np.ones((4, 2)), np.ones((4, 2))))),
    "differences of ratios of other denominators": (ValueError, "list 0 has weight 1 in a and 2 in b", lambda: jrm.paired(ratio_of(np.ones((4, 2)), np.ones((4, 2))), ratio_of(np.ones((4, 2)), np.full((4, 2), 2))), lambda: jrm.paired(ratio_of(np.zeros((4, 2)), np.ones((4, 2))), ratio_of(np.ones((4, 2)), np.ones((4, 2))))),
    **rows_of("weights that do not fit", ValueError, "weights", lambda x: per_list(*x), *SHAPES, follow=lambda: (per_list((3, 2), (3,)), per_list((3,), (3,), (3,)), CUTOFFS.over(CUTOFFS))),
    "floats for what is defined": (TypeError, "defined: dtype is float32; pass defined != 0", lambda: jrm.Mean.of([1.0], [1.0], np.float32([1])), lambda: jrm.Mean.of([1.0], [1.0], np.float32([1]) != 0).compute() == 1),
    "floats for what counts": (TypeError, "counts: dtype is float32; pass counts != 0", lambda: jrm.Mean.of([1.0], [1.0], [True], np.float32([1])), lambda: jrm.Mean.of([1.0], [1.0], [True], np.float32([1]) != 0).compute() == 1),
    "lists of numbers that do not fit": (ValueError, "weights have shape (2,) and values (1,)", lambda: jrm.Mean.of([1.0], [1.0, 1.0], [True]), lambda: jrm.Mean.of([1.0], [1.0], [True]).compute() == 1),
    **rows_of("weights of a mean that do not fit", ValueError, "weights", lambda x: mean_of(*x), *SHAPES, follow=traced(lambda: (mean_of((3, 2), (3,)), mean_of((3,), (3,), (3,)), CUTOFFS.over(CUTOFFS).mean()))),
    **rows_of("weights of cutoffs", ValueError, "weights", lambda x: per_list(*x, cutoff_weights=True), ((3, 2), (3, 4)), ((3, 2), (3,)), ((3, 2), (3, 2), (3,)), follow=lambda: (per_list((3, 2), (3, 2), (3, 2), cutoff_weights=True), CUTOFFS.over(CUTOFFS))),
    # metrics of all items at once
    **rows_of("bits", ValueError, "bits is", lambda x: jrm.pooled_roc_auc([1, 0], [1.0, 2.0], bits=x), 7, 21, follow=lambda: [jax.eval_shape(lambda bits=bits: jrm.pooled_roc_auc([1, 0], [1.0, 2.0], bits=bits)) for bits in (8, 20)]),
    "bits of a float": (TypeError, "bits is 8.0", lambda: jrm.pooled_roc_auc([1, 0], [1.0, 2.0], bits=8.0), traced(lambda: jrm.pooled_roc_auc([1, 0], [1.0, 2.0], bits=8))),
    "pooled scores of fewer items": (ValueError, "scores has shape", lambda: jrm.pooled_roc_auc([1, 0], [1.0]), traced(lambda: jrm.pooled_roc_auc([1, 0], [1.0, 2.0]))),
    "pooled weights of other lists": (ValueError, "weights has shape", lambda: jrm.pooled_roc_auc([[1, 0]], [[1.0, 2.0]], None, [1.0, 2.0]), lambda: [jax.eval_shape(lambda weights=weights: jrm.pooled_roc_auc([[1, 0]], [[1.0, 2.0]], None, weights)) for weights in (2.0, [1.0], [[1.0, 2.0]])]),
    # labels that are drawn
    "one draw": (ValueError, "draws is 1, but a variance needs two", lambda: DRAWN(KEY, 1), traced(lambda: DRAWN(KEY, 2))),
    "undefined lists of draws": (ValueError, "undefined is 'none'", lambda: DRAWN(KEY, undefined="none"), lambda: [jax.eval_shape(lambda word=word: DRAWN(KEY, undefined=word)) for word in ("zero", "one", "skip")]),
    "draws of subtopics": (ValueError, "column 'subtopics', but only labels are drawn", lambda: jrm.sampled_labels("alpha_ndcg", P, S, KEY), traced(lambda: jrm.sampled_labels("ndcg@10", P, S, KEY))),
    "draws of a set of metrics": (ValueError, "set of metrics", lambda: jrm.sampled_labels("official", P, S, KEY), traced(lambda: jrm.sampled_labels("map", P, S, KEY))),
    "draws of a number": (TypeError, "is 3; pass a metric", lambda: jrm.sampled_labels(3, P, S, KEY), lambda: (jax.eval_shape(lambda: jrm.sampled_labels(jrm.ndcg, P, S, KEY)), jax.eval_shape(lambda: jrm.sampled_labels(functools.partial(jrm.ndcg, k=10), P, S, KEY)))),
    "draws of several relevant items": (ValueError, "several are relevant", lambda: jrm.sampled_labels("mrr(rank=realistic)", P, S, KEY), lambda: jrm.sampled_labels("mrr(rank=realistic)", [0.5, 0, 0], S, KEY)),
    "draws of a seed": (TypeError, "key: got int", lambda: DRAWN(0), traced(lambda: DRAWN(jax.random.key(0)))),
}

# Rows that compile before they raise: the values of labels are read.
LATE = {
    "draws of impossible labels": (ValueError, "holds 1.5 at (1,)", lambda: jrm.sampled_labels("mrr", [0.5, 1.5, 0], S, KEY), lambda: jrm.sampled_labels("mrr", np.float32([0.5, 1.5, 0]) / 1.5, S, KEY)),
}
# fmt: on
