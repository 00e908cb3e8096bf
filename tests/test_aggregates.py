"""States other than the mean: geometric means, also by name, and distributions."""

import functools
import json

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P
from marks import long
from per_lists import MANY, drawn, lists_of, mean_of, padded, stacked
from sources import put

import jax_rank_metrics as jrm

BINS = 10
EDGES = tuple(np.linspace(0, 1, BINS + 1).tolist())
HISTOGRAM = functools.partial(jrm.PerList.quantiles, bins=BINS)
KS = {"one": (), "cutoffs": (2,)}
shapes = pytest.mark.parametrize("k", [*long("one"), "cutoffs"])


def same(first, second):
    """Checks that counts are equal, and geometric means up to rounding."""
    chex.assert_trees_all_equal_shapes_and_dtypes(first, second)
    if isinstance(first, jrm.Histogram):
        chex.assert_trees_all_equal(first, second)
    else:
        np.testing.assert_array_equal(first.counts, second.counts)
        np.testing.assert_allclose(first.compute(), second.compute(), rtol=1e-6)
        np.testing.assert_allclose(first.std_error(), second.std_error(), rtol=1e-4)


@shapes
@pytest.mark.parametrize("undefined", ["skip", *long("zero", "one")])
def test_geometric_mean_by_definition(rng, k, undefined):
    """It is exp of the mean logarithm of floored values, with its error by the delta method."""
    lists = drawn(rng, KS[k])
    values, weights, defined = (np.asarray(x) for x in jax.tree.leaves(lists))
    values = values.astype(np.float64)
    if undefined == "one":
        values[~defined] = 1
    used = weights * defined if undefined == "skip" else weights
    for floor in (1e-5, 0.25):
        logs = np.log(np.maximum(values, floor))
        mean = np.average(logs, axis=0, weights=used)
        state = lists.geometric_mean(floor, undefined)
        np.testing.assert_allclose(state.compute(), np.exp(mean), rtol=2e-6)
        n = used.sum() ** 2 / (used**2).sum()
        squares = np.tensordot(used**2, (logs - mean) ** 2, 1) * n / (n - 1)
        error = np.sqrt(squares) / used.sum()
        np.testing.assert_allclose(state.std_error(), np.exp(mean) * error, rtol=1e-4)
        low, high = state.confidence_interval(0.95, "normal")
        z = 1.959964
        np.testing.assert_allclose(low, np.exp(mean - z * error), rtol=1e-4)
        np.testing.assert_allclose(high, np.exp(mean + z * error), rtol=1e-4)
        np.testing.assert_array_equal(state.counts, lists.mean(undefined).counts)


def test_geometric_means_of_little(rng):
    """No lists give 0, one list gives its value, and values of 0 give the floor."""
    with jax.debug_nans(True):
        none = jrm.GeometricMean.empty()
        assert none.compute() == 0 and none.std_error() == np.inf
        assert none.confidence_interval() == (0, np.inf)
        single = lists_of(np.eye(1, MANY)[0] / 4, np.eye(1, MANY)[0])
        np.testing.assert_allclose(single.geometric_mean().compute(), 0.25)
        zeros = lists_of(np.zeros(MANY)).geometric_mean()
        np.testing.assert_allclose(zeros.compute(), 1e-5, rtol=2e-6)
        assert zeros.std_error() < 1e-8
    of = jrm.GeometricMean.of(*jax.tree.leaves(lists := drawn(rng)))
    same(of, lists.geometric_mean())
    # The least floors that floats do not round to 0; 0 has no logarithm.
    assert (
        zeros.compute() > lists_of(np.zeros(MANY)).geometric_mean(2e-38).compute() > 0
    )


@pytest.mark.parametrize("kind", ["even", "steps", "beyond", "halves"])
def test_quantiles_are_within_a_bin(rng, kind):
    """They differ from exact quantiles by at most a bin; the extremes are exact."""
    values = {
        "even": rng.random(MANY),
        "steps": rng.integers(0, 8, MANY) / 7,
        "beyond": rng.normal(0.5, 1, MANY),
        "halves": np.repeat([0.0, 1.0], MANY // 2),
    }[kind].astype(np.float32)
    width = max(1 / BINS, -values.min(), values.max() - 1) + 1e-6
    state = lists_of(values).quantiles(bins=BINS)
    assert float(state.min) == values.min() and float(state.max) == values.max()
    for q in (0, 0.1, 0.25, 0.5, 0.9, 0.99, 1):
        actual, exact = float(state.quantile(q)), np.quantile(values, q)
        assert abs(actual - exact) <= (1e-6 if kind == "halves" else width)
        assert kind != "steps" or exact not in (0, 1) or actual == exact
    quantiles = jax.vmap(state.quantile)(jnp.array([0.1, 0.5, 2.0]))
    np.testing.assert_allclose(quantiles[1], state.compute(), rtol=1e-6)
    assert float(quantiles[1]) == 0.5 or kind != "halves"
    assert np.isnan(quantiles[2]) and not np.isnan(quantiles[0])


@shapes
@pytest.mark.parametrize("undefined", [*long("zero"), "one", "skip"])
def test_counts_of_bins(rng, k, undefined):
    """Each list of weight > 0 counts once; a value on an edge is in the bin that starts there."""
    lists = drawn(rng, KS[k])
    values, weights, defined = (np.asarray(x) for x in jax.tree.leaves(lists))
    values = values.copy()
    values[: BINS + 1] = np.float32(EDGES).reshape(-1, *(1,) * len(KS[k]))
    lists = lists_of(values, weights, defined)
    if undefined == "one":
        values[~defined] = 1
    used = (weights > 0) & (defined | (undefined != "skip"))
    state = lists.quantiles(bins=BINS, undefined=undefined)
    assert int(state.lists) == used.sum()
    assert int(state.undefined) == ((weights > 0) & ~defined).sum()
    outer = np.nextafter(np.float32(0), np.float32(1))
    edges = np.float32([-np.inf, outer, *EDGES[1:], np.inf])
    for place in np.ndindex(KS[k]):
        column = values[(used, *place)]
        expected = [
            ((column >= a) & (column < b)).sum()
            for a, b in zip(edges[:-1], edges[1:], strict=True)
        ]
        np.testing.assert_array_equal(state.counts[(slice(None), *place)], expected)
        exact = np.quantile(column, 0.3)
        assert abs(float(state.quantile(0.3)[place]) - exact) <= 1 / BINS


def test_distributions_of_little():
    """No lists give 0, one list gives its value, and NaN and infinities show."""
    with jax.debug_nans(True):
        none = jrm.Histogram.empty(bins=BINS)
        assert none.compute() == none.min == none.max == 0
        for lists in (lists_of([0.75]), lists_of([0.75])[0], padded([0.75])):
            state = lists.quantiles(bins=BINS)
            assert state.quantile(0.3) == state.min == state.max == 0.75
        wide = padded([-np.inf, 0.25, np.inf]).quantiles(bins=BINS)
        assert wide.min == -np.inf and wide.max == np.inf
        assert abs(wide.compute() - 0.25) <= 1 / BINS
    unknown = padded([np.nan, 0.5, 0.5]).quantiles(bins=BINS)
    for merged in (unknown, unknown.merge(none), none.merge(unknown)):
        assert np.isnan([merged.compute(), merged.min, merged.max]).all()
        assert merged.counts.sum() == 3


@pytest.mark.parametrize(
    "make", [jrm.PerList.geometric_mean, lambda x: x.over(x).mean(), HISTOGRAM]
)
def test_zeros_of_either_sign_merge_alike(make):
    first, second = (make(lists_of([zero] * MANY)) for zero in (0.0, -0.0))
    merged = map(jax.tree.leaves, (first.merge(second), second.merge(first)))
    for x, y in zip(*merged, strict=True):
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
    assert not np.signbit(first.compute())


@pytest.mark.parametrize("sign", [1, -1])
def test_infinite_values_are_values(sign):
    """Infinite values count as values, also if no value is finite."""
    state = padded([sign * np.inf] * 3).quantiles(bins=BINS)
    for number in (state.min, state.max, state.compute(), state.quantile(0.9)):
        assert number == sign * np.inf
    assert "median inf" in repr(state) or "median -inf" in repr(state)
    mixed = state.merge(lists_of([0.5] * 4).quantiles(bins=BINS))
    assert np.isfinite(mixed.compute()) and sign * np.inf in (mixed.min, mixed.max)
    assert stacked([state, mixed]).max.tolist() == [state.max, mixed.max]


def test_counts_are_one_sum_over_devices():
    """All counts of a state are one sum of integers, which saturates."""
    top = np.iinfo(np.int32).max
    per_device = np.array([[top, top // 8, 2**28, 1, 0]] * 8, np.int32)
    per_device[0, 3], per_device[0, 1] = 2**30, top - 7 * (top // 8)
    mesh = jax.make_mesh((8,), ("data",))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=P("data"), out_specs=P())
    def total(counts):
        state = jrm.Histogram.empty(edges=(0, 1, 2, 3, 4))
        state = jrm.Histogram(state.edges, counts[0], state.extremes, state.tally)
        return jrm.all_reduce(state, "data").counts

    counts = put(mesh, per_device, "data")
    np.testing.assert_array_equal(total(counts), [top, top, top, 2**30 + 7, 0])
    lines = str(jax.make_jaxpr(total)(counts)).splitlines()
    sums = [line for line in lines if "psum" in line]
    assert len(sums) == 3 and sum("i32[2,5]" in line for line in sums) == 1, sums


@pytest.mark.long
def test_how_they_are_shown():
    """They show numbers and counts as a mean does, and convert to a float."""
    lists = lists_of([0.25, 1.0, 0.0], defined=[True, True, False])
    state, mean = lists.quantiles(), lists[:2].geometric_mean()
    assert (
        repr(state) == "Histogram(median 0.255, 0.000 to 1.000, 3 lists, 1 undefined)"
    )
    assert repr(mean) == "GeometricMean(0.500 ± 0.347, 2 lists, 0 undefined)"
    assert f"{mean:.2f}" == "0.50" and abs(float(state) - 0.25) < 0.01
    assert "median <b>0.255</b>, 0.000 to" in state._repr_html_()
    text = []
    jax.jit(lambda state: text.append(repr(state)))(state)
    dtype = state.extremes.dtype
    stacked = jax.tree.map(lambda x: jnp.stack([x, x]), (state, mean))
    text += [repr(state) for state in stacked]
    assert text[0] == f"Histogram(traced, {dtype}[])"
    assert text[1] == f"Histogram(stacked [2], {dtype}[2])"
    assert text[2] == f"GeometricMean(stacked [2], {dtype}[2])"
    with pytest.raises(TypeError, match="stacked along"):
        float(stacked[0])
    boot = jrm.bootstrap(lists, jnp.arange(3), samples=20)
    assert repr(boot).startswith("Bootstrap(0.417, 3 lists")


def test_numbers_under_names(rng):
    """`compute` reads every kind of state for JSON, with cutoffs and without."""
    first, second = drawn(rng), drawn(rng, KS["cutoffs"])
    states = {
        "map": first.geometric_mean(),
        "p@1,5": second.geometric_mean(),
        "mrr": first.quantiles(bins=BINS),
        "r@1,5": second.quantiles(bins=BINS),
        "b@1,5": jrm.bootstrap(second, jnp.arange(MANY), samples=20),
        "hits@1,5": mean_of(second),
        "ndcg": mean_of(first),
    }
    flat = jrm.compute(states, flat=True, host=True)
    assert [*flat] == "map p@1 p@5 mrr r@1 r@5 b@1 b@5 hits@1 hits@5 ndcg".split()
    assert {type(value) for value in flat.values()} == {float}
    assert flat["mrr"] == float(states["mrr"])
    runs = jrm.compute({"b": states, "a": states}, host=True)
    assert json.loads(json.dumps(runs)) == runs
    assert [*runs] == ["b", "a"] and [*runs["a"]] == [*states]
    assert runs["a"]["r@1,5"] == [flat["r@1"], flat["r@5"]]
    cuts = jrm.compute({"p@1,5": stacked([states["hits@1,5"]] * 3)}, flat=True)
    assert cuts["p@5"].tolist() == [flat["hits@5"]] * 3
    stack = {"x": stacked([states["ndcg"], jrm.Mean.empty()])}
    assert jrm.compute([states["ndcg"], stack], host=True)[1]["x"] == [flat["ndcg"], 0]


RUN = {
    "labels": np.array([[1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 0, 0]]),
    "scores": np.array([[4, 3, 2, 1]] * 4),
}
AP = np.array([5 / 6, 1 / 4, 0, 1])


@pytest.mark.long
def test_gm_map_by_name():
    """A geometric mean stands beside the means of a call, and reads the values of map."""
    metrics = ("gm_map", "map", "gm_map(rel=2)", "gm_map@1,4")
    states = jrm.evaluate(metrics, **RUN)
    kinds = [type(state).__name__ for state in states.values()]
    assert kinds == ["GeometricMean", "Mean", "GeometricMean", "GeometricMean"]
    expected = np.exp(np.log(np.maximum(AP, 1e-5)).mean())
    np.testing.assert_allclose(states["gm_map"].compute(), expected, rtol=2e-6)
    np.testing.assert_allclose(states["gm_map(rel=2)"].compute(), 1e-5, rtol=2e-6)
    np.testing.assert_allclose(states["gm_map@1,4"].compute()[1], expected, rtol=2e-6)
    np.testing.assert_allclose(states["map"].compute(), AP.mean(), rtol=1e-6)
    lists = jrm.measure(metrics, jrm.rank(**RUN))
    np.testing.assert_allclose(lists["gm_map"].values, AP, rtol=1e-6)
    chex.assert_trees_all_equal(lists["gm_map"], lists["map"])
    same(lists["gm_map"].geometric_mean(), states["gm_map"])
    skipped = jrm.evaluate("gm_map", **RUN, undefined="skip")["gm_map"]
    np.testing.assert_allclose(
        skipped.compute(), np.exp(np.log(AP[AP > 0]).mean()), rtol=2e-6
    )
    table = jrm.table({"run": states})
    assert "gm_map@4" in table and f"{expected:.3f}" in table
    assert jrm.table({"run": lists}) == table


def test_one_reduction_for_means_of_both_kinds():
    """A geometric mean adds columns to the sums of a call, but no reduction."""

    def reductions(*metrics):
        jaxpr = jax.make_jaxpr(lambda run: jrm.evaluate(metrics, **run))(RUN)
        return str(jaxpr).count(" reduce[")

    assert reductions("map", "mrr", "gm_map") == reductions("map", "mrr") > 0
