"""Ratios of means: `PerList.over`, and weights that differ between cutoffs."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marks import long
from per_lists import MANY, at, drawn, exact, mean_of, padded

import jax_rank_metrics as jrm
from jax_rank_metrics._values.on_host import HostSums

FLOAT = jax.dtypes.canonicalize_dtype(float)


def two(rng, a_shape=(), b_shape=()):
    """Draws a and b of equal weights, in the default floats of JAX."""
    a, b = (drawn(rng, shape, FLOAT) for shape in (a_shape, b_shape))
    return jax.tree.map(jnp.asarray, (a, dataclasses.replace(b, weights=a.weights)))


def exact_ratio(a, b, column):
    """Computes Σwa/Σwb, its error by the delta method and n_eff, and counts its lists."""
    x, y = (
        np.asarray(c.values, np.float64).reshape(MANY, -1)[:, column % c.values[0].size]
        for c in (a, b)
    )
    weights = np.asarray(a.weights, np.float64) * y
    counted = weights > 0
    ratios = x[counted] / y[counted]
    return *exact(ratios, weights[counted]), counted.sum()


SHAPES = {
    "plain": ((), ()),
    "both": ((3,), (3,)),
    "above": ((3,), ()),
    "below": ((), (3,)),
}


@pytest.mark.parametrize("shapes", [*long("plain", "above"), "both", "below"])
def test_mean_and_error_equal_float64(rng, shapes):
    """They agree to seven digits, with cutoffs of numerator, denominator or both."""
    a, b = two(rng, *SHAPES[shapes])
    lists = a.over(b)
    assert lists.cutoff_weights == (b.values.ndim > 1)
    assert lists.weights.shape == lists.defined.shape == b.values.shape
    state = lists.mean()
    rtol = 3e-7 if FLOAT == "float32" else 1e-9
    for column, estimate in enumerate(HostSums.of_state(state).estimates(0.9, "auto")):
        mean, error, n, _ = exact_ratio(a, b, column)
        np.testing.assert_allclose(estimate.mean, mean, rtol=rtol)
        np.testing.assert_allclose(estimate.std_error, error, rtol=2 * rtol)
        np.testing.assert_allclose(estimate.n_eff, n, rtol=2 * rtol)
    counts = [exact_ratio(a, b, column)[-1] for column in range(3)]
    assert max(counts) <= state.lists and state.undefined == 0
    assert lists.has_cutoffs or state.lists == counts[0]


GROUPS, IDS = np.arange(MANY) % 3, np.arange(MANY)
STATES = {
    "groups": lambda x: x.by(GROUPS, 3),
    "host": lambda x: HostSums.of_lists(x, jrm.Mean).state(),
}
MORE_STATES = {
    "quantiles": lambda x: x.quantiles((0, 0.5, 1, 2)),
    "skip": lambda x: x.mean("skip"),
    "one": lambda x: x.mean("one"),
    "geometric": lambda x: x.geometric_mean(0.1),
    "bootstrap": lambda x: jrm.bootstrap(x, IDS, samples=20),
}


@pytest.mark.parametrize("name", [*STATES, *long(*MORE_STATES)])
def test_states_are_those_of_each_cutoff(rng, name):
    """Every state of a ratio is, at each cutoff, the state of its column by itself."""
    lists = jrm.PerList.over(*two(rng, (2,), (2,)))
    state = (STATES | MORE_STATES)[name](lists)

    def numbers_of(state):
        """The values, and the errors if there are some, without a program for means."""
        if not isinstance(state, jrm.Mean):
            errors = [state.std_error()] if name == "bootstrap" else []
            return [state.compute(), *errors]
        states = [at(state, i) for i in range(3)] if name == "groups" else [state]
        estimates = [HostSums.of_state(x).estimates(0.9, "auto") for x in states]
        fields = ("mean", "std_error")
        return [[[getattr(x, f) for x in y] for y in estimates] for f in fields]

    for column in range(2):
        arrays = (x[:, column] for x in (lists.values, lists.weights, lists.defined))
        expected = (STATES | MORE_STATES)[name](jrm.PerList(*arrays))
        pairs = zip(numbers_of(state), numbers_of(expected), (2e-6, 1e-5), strict=False)
        for x, y, rtol in pairs:
            actual = np.asarray(x)[..., column]
            np.testing.assert_allclose(actual, np.reshape(y, actual.shape), rtol=rtol)
    # A list counts once, whether it enters at one cutoff or at several.
    assert state.lists.sum() == (lists.weights > 0).any(-1).sum()
    assert state.undefined.sum() == 0


@pytest.mark.long
def test_cutoffs_of_few_lists():
    """A cutoff of one list has an infinite error; one of none, a mean of 0.

    Neither resamples nor quantiles are NaN there, or look certain.
    """
    values = [[2, 3, 0], [1, 0, 0], [0, 0, 0]]
    ones, values = padded(np.ones((3, 3)), size=MANY), padded(values, size=MANY)
    lists = jax.tree.map(jnp.asarray, ones).over(values)
    state = lists.mean()
    assert state.lists == 2 and "n_eff 0 to 1.8" in repr(state)
    np.testing.assert_allclose(state.compute(), [2 / 3, 1 / 3, 0], rtol=1e-6)
    np.testing.assert_allclose(state.n_eff, [9 / 5, 1, 0], rtol=1e-6)
    estimates = HostSums.of_lists(lists, jrm.Mean).estimates(0.95, "auto")
    assert [estimate.std_error for estimate in estimates][1:] == [np.inf, np.inf]
    with jax.debug_nans(True):
        for x in (state, jrm.bootstrap(lists, jnp.arange(MANY), samples=50)):
            errors, (low, high) = x.std_error().tolist(), x.confidence_interval()
            assert np.isfinite(errors[0]) and errors[1:] == [np.inf] * 2
            assert low[1:].tolist() == [-np.inf] * 2 == (-high[1:]).tolist()
        assert lists[1:].quantiles().compute().tolist()[1:] == [0, 0]
    assert "n_eff 0.0 to 1.8" in jrm.table({"run": {"r@1,2,3": lists}})


@pytest.mark.long
def test_lists_of_a_ratio(rng):
    """Lists are selected and counted as those without weights of cutoffs."""
    a, b = two(rng, (2,), (2,))
    lists = a.over(b)
    assert len(lists) == MANY and lists.has_cutoffs and len(lists[2:5]) == 3
    for part in (lists[jnp.array([3, 1])], lists[[3, 1]]):
        chex.assert_trees_all_equal(part, a[[3, 1]].over(b[[3, 1]]))
    for index, part in enumerate(lists):
        chex.assert_trees_all_equal(part, lists[index])
    with pytest.raises(TypeError, match="a single list has no length"):
        len(lists[0])
    with pytest.raises(IndexError):
        lists[:, 1]
    assert repr(lists).startswith(f"PerList([{MANY}, 2], mean [")
    # A ratio can be divided by a ratio: (a/b)/(a/b) is 1 if a is above 0.
    ones = lists.over(lists)
    np.testing.assert_allclose(ones.mean().compute(), [1, 1], rtol=1e-6)


def test_differences_of_ratios(rng):
    """They pair if denominators are the same, and weights are told apart by cutoff."""
    a, b = two(rng, (2,), (2,))
    other = jrm.PerList(2 * a.values, a.weights, a.defined)
    difference = jrm.paired(a.over(b), other.over(b))
    assert difference.cutoff_weights
    mean = mean_of(difference).compute()
    chex.assert_trees_all_close(mean, mean_of(a.over(b)).compute())
    comparisons = jrm.compare(a.over(b), other.over(b), test="t")
    for column, comparison in enumerate(comparisons):
        assert comparison.lists == (a.over(b).weights[:, column] > 0).sum()
        assert comparison.difference == pytest.approx(float(mean[column]), rel=1e-5)


def test_denominators_inside_a_trace(rng):
    """Nothing is checked there: a list is undefined if its denominator is below 0."""
    a, b = two(rng, (2,), (2,))
    weights, known = b.weights, jnp.ones(MANY, bool)
    negative = jrm.PerList(b.values.at[3, 1].set(-1.0), weights, known)
    ratio = a.over(b)
    # Also if weights alone are traced.
    traced = jax.jit(
        lambda w: jrm.PerList(a.values, w, a.defined).over(
            jrm.PerList(b.values, w, b.defined)
        )
    )(weights)
    chex.assert_trees_all_close(traced, ratio)
    traced = jax.jit(jrm.PerList.over)(a, negative)
    assert not traced.defined[3, 1] and traced.weights[3, 1] == 0
