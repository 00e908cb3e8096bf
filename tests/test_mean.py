"""The state: merge laws, precision over millions of merges, errors and intervals."""

import functools
import pickle

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import jax_rank_metrics as jrm

FLOAT = jax.dtypes.canonicalize_dtype(float)


def state_of(values, weights=None, defined=None, undefined="zero"):
    """A state from plain arrays."""
    values = jnp.asarray(values, jnp.float32)
    weights = jnp.ones(values.shape[:1]) if weights is None else jnp.asarray(weights)
    defined = (
        jnp.ones(values.shape[:1], bool) if defined is None else jnp.asarray(defined)
    )
    lists = jrm.PerList(values, weights.astype(jnp.float32), defined)
    return lists.mean(undefined)


def exact(values, weights):
    """Mean and standard error in float64."""
    values, weights = (np.asarray(x, np.float64) for x in (values, weights))
    entered = weights > 0
    values, weights, n = values[entered], weights[entered], entered.sum()
    mean = (weights * values).sum() / weights.sum()
    spread = (weights**2 * (values - mean) ** 2).sum() * n / (n - 1)
    return mean, np.sqrt(spread) / weights.sum()


def same_bits(one, two):
    """Every leaf equal bit for bit, in dtype and shape too."""
    chex.assert_trees_all_equal_shapes_and_dtypes(one, two)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


floats = st.floats(-1000, 1000, width=32, allow_subnormal=False)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(floats, min_size=3, max_size=3), min_size=3, max_size=3))
def test_merge_laws(batches):
    """Commutative bit for bit, associative to a pair's precision, empty its identity."""
    a, b, c = (state_of(batch) for batch in batches)
    same_bits(a.merge(b), b.merge(a))
    same_bits(jrm.Mean.empty().merge(a), a)
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    for name in ("weighted", "weight", "weight2", "weighted1", "weighted2"):
        one, two = (
            np.float64(getattr(s, name).high) + np.float64(getattr(s, name).low)
            for s in (left, right)
        )
        size = 1 + sum(float(s.weighted2.high) for s in (a, b, c))
        assert abs(one - two) <= 1e-13 * size
    assert left.lists == right.lists == 9


def test_many_merges_do_not_drift():
    """10⁷ merges keep a relative error below 1e-6, where a float32 sum drifts."""
    number = 10_000_000
    one = state_of([0.1])

    def step(carry, _):
        state, naive = carry
        return (jrm.merge(state, one), naive + jnp.float32(0.1)), None

    @jax.jit
    def run():
        start = (jax.tree.map(jnp.zeros_like, one), jnp.float32(0))
        return lax.scan(step, start, length=number)[0]

    state, naive = run()
    truth = float(np.float32(0.1))
    assert int(state.lists) == number
    assert abs(float(state.compute()) / truth - 1) < 1e-6
    total = np.float64(state.weighted.high) + np.float64(state.weighted.low)
    assert abs(total / (number * truth) - 1) < 1e-12
    assert abs(float(naive) / (number * truth) - 1) > 1e-2


@pytest.mark.parametrize(
    "kind", ["random", "constant", "near-1000", "weighted", "tiny"]
)
def test_mean_and_error_equal_float64(rng, kind):
    """In one batch, in a thousand, and merged in a tree."""
    values, weights = rng.random(1000), np.ones(1000)
    if kind == "constant":
        values = np.full(1000, 0.7)
    if kind == "near-1000":
        values = 1000 + rng.normal(size=1000) * 0.01
    if kind == "weighted":
        weights = rng.gamma(0.5, size=1000)
        weights[::7] = 0
    if kind == "tiny":
        values = values * 1e-12
    values, weights = values.astype(np.float32), weights.astype(np.float32)
    mean, error = exact(values, weights)
    whole = state_of(values, weights)
    steps = functools.reduce(
        jrm.merge,
        [
            state_of(v[None], w[None])
            for v, w in zip(values[:100], weights, strict=False)
        ],
    )
    stacked = jax.vmap(lambda v, w: state_of(v, w))(
        values.reshape(50, 20), weights.reshape(50, 20)
    )
    for state in (whole, stacked.reduce(), jrm.reduce(stacked)):
        np.testing.assert_allclose(state.compute(), mean, rtol=2e-7)
        slack = 1e-4 * error + 1e-9 * abs(mean)
        assert abs(float(state.std_error()) - error) <= slack
    few = exact(values[:100], weights[:100])
    np.testing.assert_allclose(steps.compute(), few[0], rtol=2e-7)
    assert abs(float(steps.std_error()) - few[1]) <= 1e-4 * few[1] + 1e-9 * abs(few[0])


def test_intervals_cover(rng):
    """95 % intervals of means of 200 weighted lists cover the truth 95 % of the time."""
    trials, lists = 2000, 200
    values = rng.random((trials, lists)) ** 2  # mean 1/3
    weights = rng.gamma(4, size=(trials, lists))
    states = jax.vmap(lambda v, w: state_of(v, w))(
        values.astype(np.float32), weights.astype(np.float32)
    )
    low, high = states.confidence_interval(0.95)
    covered = float(jnp.mean((low <= 1 / 3) & (1 / 3 <= high)))
    # Four standard errors of the share itself.
    assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / trials)
    narrow = states.confidence_interval(0.5)
    assert bool(jnp.all(narrow[0] > low)) and bool(jnp.all(narrow[1] < high))


def test_few_lists():
    """Nothing counted is 0 ± inf; one list has no error yet; constant values have 0."""
    assert jrm.Mean.empty().compute() == 0
    assert jrm.Mean.empty().std_error() == np.inf
    assert state_of([0.5]).std_error() == np.inf
    low, high = state_of([0.5]).confidence_interval()
    assert low == -np.inf and high == np.inf
    assert state_of([0.5, 0.5]).std_error() == 0


def test_undefined_lists():
    """Counted as 0, as 1 or not at all, and their number kept in each case."""
    values, weights = [1.0, 0.5, 0.0, 0.0], [1.0, 2.0, 3.0, 0.0]
    defined = [True, True, False, False]
    expected = {"zero": (2 / 6, 3), "one": (5 / 6, 3), "skip": (2 / 3, 2)}
    for undefined, (mean, lists) in expected.items():
        state = state_of(values, weights, defined, undefined)
        np.testing.assert_allclose(state.compute(), mean, rtol=1e-6)
        assert int(state.lists) == lists and int(state.undefined) == 1


def test_empty_has_one_structure():
    """The identity has the structure, shapes and dtypes of what it meets."""
    metrics = ("ndcg@10", "recall@1,5", "map", "rprec")
    for dtype in (jnp.bfloat16, jnp.float32, jnp.int32, FLOAT):
        labels = jnp.asarray([[1, 0, 1]]).astype(dtype)
        states = jrm.evaluate(metrics, labels, labels)
        empty = jrm.empty(metrics)
        chex.assert_trees_all_equal_shapes_and_dtypes(empty, states)
        same_bits(jrm.merge(empty, states), states)

        def step(carry, labels):
            return jrm.merge(carry, jrm.evaluate(metrics, labels, labels)), None

        scanned, _ = lax.scan(step, empty, jnp.stack([labels, labels]))
        same_bits(scanned, jrm.merge(states, states))


def test_batches_of_any_size_give_one_number(rng):
    """The same lists, cut in any way and merged in any order."""
    labels = rng.integers(0, 3, (60, 20)).astype(np.float32)
    scores = rng.normal(size=(60, 20)).astype(np.float32)
    weights = rng.gamma(2, size=(60, 20)).astype(np.float32)
    metrics = ("ndcg@10", "map", "recall@1,5")
    whole = jrm.evaluate(metrics, labels, scores, None, weights)
    for size in (1, 7, 25):
        states = [
            jrm.evaluate(
                metrics,
                *(x[i : i + size] for x in (labels, scores)),
                None,
                weights[i : i + size],
            )
            for i in range(0, 60, size)
        ]
        for order in (states, states[::-1]):
            merged = jrm.merge(*order)
            for name in whole:
                for one, two in ((merged[name], whole[name]),):
                    np.testing.assert_allclose(one.compute(), two.compute(), rtol=1e-6)
                    np.testing.assert_allclose(
                        one.std_error(), two.std_error(), rtol=1e-5
                    )
                    assert one.lists == two.lists


def test_states_pickle_and_compare(rng):
    """States, rankings, per-list values, metrics and partials survive pickling."""
    labels = rng.integers(0, 2, (3, 8)).astype(np.float32)
    states = jrm.evaluate(("ndcg@3", "p@1,2"), labels, labels)
    same_bits(pickle.loads(pickle.dumps(states)), states)
    ranking = jrm.rank(labels, labels)
    again = pickle.loads(pickle.dumps(ranking))
    same_bits(jrm.measure(("map",), again), jrm.measure(("map",), ranking))
    assert pickle.loads(pickle.dumps(jrm.ndcg)) is jrm.ndcg
    bound = functools.partial(jrm.ndcg, discount_fn=jrm.log_discount(3))
    again = pickle.loads(pickle.dumps(bound))
    assert again.func is jrm.ndcg and again.keywords == bound.keywords


def test_states_are_pytrees(rng):
    """They pass through jit, vmap, tree maps and donation."""
    state = state_of(rng.random(5))
    same_bits(jax.jit(lambda s: s)(state), state)
    doubled = jax.vmap(lambda s: s.merge(s))(jax.tree.map(lambda x: x[None], state))
    same_bits(jax.tree.map(lambda x: x[0], doubled), state.merge(state))
    merge = jax.jit(lambda a, b: a.merge(b), donate_argnums=0)
    assert merge(jrm.Mean.empty(), state).lists == 5


def test_duck_types_clu():
    """A clu-style loop: empty, merge, reduce, compute."""
    total = jrm.Mean.empty()
    for values in ([0.0, 1.0], [1.0, 1.0]):
        total = total.merge(state_of(values))
    assert total.compute() == 0.75
    stacked = jax.tree.map(lambda x: jnp.stack([x, x]), total)
    assert stacked.reduce().compute() == 0.75 and stacked.reduce().lists == 8
