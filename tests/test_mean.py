"""The state: merge laws, precision over millions of merges, errors and intervals."""

import functools
import itertools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax.sharding import PartitionSpec as P
from per_lists import exact, lists_of, padded, stacked, state_of
from sources import put

import jax_rank_metrics as jrm

SUMS = ("sum_wv", "sum_w", "sum_w2", "sum_w2v", "sum_w2v2", "sum_w_fractional")
FLOAT = jax.dtypes.canonicalize_dtype(float)


def device_state(values, weights=None, defined=None, undefined="zero"):
    """Makes a state from plain arrays, by the program of `PerList.mean`."""
    return lists_of(values, weights, defined).mean(undefined)


same_bits = functools.partial(chex.assert_trees_all_equal, strict=True)
floats = st.floats(-1000, 1000, width=32, allow_subnormal=False)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(floats, min_size=3, max_size=3), min_size=3, max_size=3))
def test_merge_laws(batches):
    """Merging commutes bit for bit, is associative up to rounding, and has an identity."""
    a, b, c = (device_state(batch) for batch in batches)
    same_bits(a.merge(b), b.merge(a))
    same_bits(jrm.Mean.empty().merge(a), a)
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    for name in SUMS:
        first, second = (
            np.float64(getattr(s, name).high) + np.float64(getattr(s, name).low)
            for s in (left, right)
        )
        size = 1 + sum(float(s.sum_w2v2.high) for s in (a, b, c))
        assert abs(first - second) <= 1e-13 * size
    assert left.lists == right.lists == 9


def test_many_merges_do_not_drift():
    """10⁷ merges keep a relative error below 1e-6, while a float32 sum drifts."""
    number = 10_000_000
    one_list = device_state([0.1])

    def step(carry, _):
        state, naive = carry
        return (jrm.merge(state, one_list), naive + jnp.float32(0.1)), None

    @jax.jit
    def run():
        start = (jax.tree.map(jnp.zeros_like, one_list), jnp.float32(0))
        return lax.scan(step, start, length=number)[0]

    state, naive = run()
    truth = float(np.float32(0.1))
    assert int(state.lists) == number
    assert abs(float(state.compute()) / truth - 1) < 1e-6
    total = np.float64(state.sum_wv.high) + np.float64(state.sum_wv.low)
    assert abs(total / (number * truth) - 1) < 1e-12
    assert abs(float(naive) / (number * truth) - 1) > 1e-2


@pytest.mark.parametrize(
    "kind", ["random", "constant", "near-1000", "weighted", "tiny"]
)
def test_mean_and_error_equal_float64(rng, kind):
    """They do in a single batch, merged list by list, and reduced from a stack."""
    values, weights = rng.random(1000), np.ones(1000)
    if kind == "constant":
        values = np.full(1000, 0.7)
    if kind == "near-1000":
        values = 1000 + rng.normal(size=1000) * 0.1
    if kind == "weighted":
        weights = rng.gamma(0.5, size=1000)
        weights[::7] = 0
    if kind == "tiny":
        values = values * 1e-12
    values, weights = values.astype(np.float32), weights.astype(np.float32)
    mean, error, _ = exact(values, weights)
    unsplit = device_state(values, weights)
    pairs = zip(values[:100, None], weights[:100, None], strict=True)
    steps = functools.reduce(jrm.merge, itertools.starmap(device_state, pairs))
    batches = values.reshape(50, 20), weights.reshape(50, 20)
    stacked = jax.vmap(device_state)(*batches)
    for state in (unsplit, stacked.reduce(), jrm.reduce(stacked)):
        np.testing.assert_allclose(state.compute(), mean, rtol=2e-7)
        slack = 1e-4 * error + 1e-9 * abs(mean)
        assert abs(float(state.std_error()) - error) <= slack
    few = exact(values[:100], weights[:100])
    np.testing.assert_allclose(steps.compute(), few[0], rtol=2e-7)
    assert abs(float(steps.std_error()) - few[1]) <= 1e-4 * few[1] + 1e-9 * abs(few[0])


def test_few_lists():
    """No lists give 0 ± inf, one list has an infinite error, and equal values have 0."""
    assert jrm.Mean.empty().compute() == 0
    assert jrm.Mean.empty().std_error() == np.inf
    assert device_state([0.5]).std_error() == np.inf
    low, high = device_state([0.5]).confidence_interval()
    assert low == -np.inf and high == np.inf
    equal = device_state([0.5, 0.5])
    assert equal.std_error() == 0
    levels = (equal.confidence_interval(level) for level in (np.float32(0.5), 0.5))
    same_bits(*levels)


def test_undefined_lists():
    """They count as 0, as 1 or not at all, and are counted as undefined in each case."""
    values, weights = [1.0, 0.5, 0.0, 0.0], [1.0, 2.0, 3.0, 0.0]
    defined = [True, True, False, False]
    expected = {"zero": (2 / 6, 3), "one": (5 / 6, 3), "skip": (2 / 3, 2)}
    for undefined, (mean, lists) in expected.items():
        state = device_state(values, weights, defined, undefined)
        np.testing.assert_allclose(state.compute(), mean, rtol=1e-6)
        assert int(state.lists) == lists and int(state.undefined) == 1


def test_empty_has_one_structure():
    """It is the carry of a scan, whatever the dtype of labels and scores."""
    metrics = ("ndcg@10", "recall@1,5", "map", "rprec")
    empty = jax.eval_shape(lambda: jrm.empty(metrics))

    def step(carry, labels):
        states = jrm.evaluate(metrics, labels, labels)
        return jrm.merge(carry, states), states

    for dtype in (jnp.bfloat16, jnp.float32, jnp.int32, FLOAT):
        labels = np.array([[[1, 0, 1]]] * 2, dtype)
        # Only traced: a carry of another type raises.
        carry, _ = jax.eval_shape(lambda *x: lax.scan(step, *x), empty, labels)
        chex.assert_trees_all_equal_shapes_and_dtypes(empty, carry)


def test_states_are_donated_and_merged_in_lists():
    """A merge may take the memory of a state; states may stand in any pytree."""
    state = state_of([0.5, 1.0])
    same_bits(jrm.merge([state], [state]), [state.merge(state)])
    merge = jax.jit(lambda a, b: a.merge(b), donate_argnums=0)
    assert merge(jrm.Mean.empty(), state).lists == 2


@pytest.mark.skipif(jax.config.jax_enable_x64, reason="nothing is converted")
def test_states_outlive_double_precision(rng):
    """States and values made with x64 on are read, merged and reduced with it off."""
    values, weights = 1000 + rng.normal(size=200), rng.gamma(2, size=200)
    with jax.enable_x64(True):
        arrays = jnp.asarray(values), jnp.asarray(weights), jnp.ones(200, bool)
        state, lists = jrm.Mean.of(*arrays), jrm.PerList(*arrays)
        assert state.sum_wv.high.dtype == jnp.float64
        stacked = jax.tree.map(lambda x: jnp.stack([x, x]), state)
    mean, error, _ = exact(values, weights)
    copies = jax.tree.map(np.asarray, state)
    for actual in (
        state,
        lists.mean(),
        jrm.mean(lists),
        copies,
        jrm.Mean.empty().merge(state),
        jrm.merge(state, jrm.Mean.empty()),
        jax.jit(lambda s: s)(jrm.merge(state)),
    ):
        np.testing.assert_allclose(actual.compute(), mean, rtol=1e-6)
        np.testing.assert_allclose(actual.std_error(), error, rtol=1e-3)
        low, high = actual.confidence_interval()
        assert low < mean < high
    for actual in (stacked.reduce(), jrm.reduce(stacked)):
        assert actual.sum_wv.high.dtype == jnp.float32 and actual.lists == 400
        np.testing.assert_allclose(actual.compute(), mean, rtol=1e-6)


def test_counts_saturate():
    """Counts stay at the largest int32 however states merge, and errors stay right."""
    top = np.iinfo(np.int32).max
    state = two_lists = state_of([0.0, 1.0])
    for _ in range(31):
        state = state.merge(state)
    assert state.lists == top and state.undefined == 0
    # A mean of n ones and n zeros has an error of 0.5/√(2n), nearly.
    np.testing.assert_allclose(state.std_error(), 0.5 / np.sqrt(2.0**32), rtol=1e-3)
    assert stacked([state] * 8).reduce().lists == top
    mesh = jax.make_mesh((8,), ("data",))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=P("data"), out_specs=P())
    def merged(states):
        return jrm.all_reduce(states.reduce(), "data")

    for per_device, lists in ((state, top), (two_lists, 16)):
        assert merged(put(mesh, stacked([per_device] * 8), "data")).lists == lists


SCALES = [1e-30, 1e-20, 1e-19, 1e-18, 1e-12, 1e-6, 1, 1e6, 1e12, 1e18, 1e19, 1e30]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("scaled", ["weights", "values"])
def test_no_scale_gives_a_wrong_error(scaled, scale):
    """Errors are right within the documented range, and right or infinite beyond it."""
    values, weights = [0.0, 1.0, 1.0, 0.5], [1.0, 2.0, 3.0, 4.0]
    mean, error, _ = exact(values, weights)
    if scaled == "weights":
        weights = np.multiply(weights, scale)
    else:
        values = np.multiply(values, scale)
        mean, error = mean * scale, error * scale
    state = device_state(values, weights)
    np.testing.assert_allclose(state.compute(), mean, rtol=1e-6)
    documented = 1e-12 <= scale <= (1e12 if scaled == "weights" else 1e18)
    if documented or np.isfinite(state.std_error()):
        np.testing.assert_allclose(state.std_error(), error, rtol=1e-3)
    low, high = state.confidence_interval()
    assert low < mean < high
    assert documented or state.merge(state).std_error() > 0


@pytest.mark.skipif(jax.config.jax_enable_x64, reason="there they are not")
@pytest.mark.parametrize("weight", [np.inf, 3e38, 1e30])
def test_weights_too_large_for_a_sum(weight):
    """Their mean is right or infinite, and nothing is NaN."""
    with jax.debug_nans(True):
        state = padded([0.0, 1.0], [weight, weight]).mean()
        merged = state.merge(state_of([0.5]))
        for large in (state, merged, state.merge(state)):
            assert large.compute() in (0.5, np.inf) and large.std_error() == np.inf
            assert large.confidence_interval() == (-np.inf, np.inf)
