"""Intervals of a mean: their quantiles, what they refuse, and how often they cover."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._states import intervals


def state_of(values, weights=None):
    """A state of plain arrays, all defined."""
    values = jnp.asarray(values, jnp.float32)
    weights = jnp.ones(len(values)) if weights is None else jnp.asarray(weights)
    defined = jnp.ones(len(values), bool)
    return jrm.PerList(values, weights.astype(jnp.float32), defined).mean()


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_quantiles_of_t(level):
    """For every number of lists, those of scipy; the table and the series meet."""
    stdtrit = pytest.importorskip("scipy.special").stdtrit
    n = np.concatenate([np.arange(2, 200), np.geomspace(200, 1e6, 40).astype(int)])
    found = jax.jit(intervals.t_quantile)(
        jnp.asarray(n - 1, jnp.float32),
        jnp.float32(intervals.normal_quantile(level)),
        jnp.asarray(intervals.t_quantiles(level), jnp.float32),
    )
    np.testing.assert_allclose(found, stdtrit(n - 1.0, (1 + level) / 2), rtol=1e-6)


def test_t_of_a_few_lists():
    """By hand: the mean of 0, 1 and 1 is 2/3 ± 4.3027 · 1/3, under jit too."""
    state = state_of([0.0, 1.0, 1.0])
    for call in (
        lambda s: s.confidence_interval(method="t"),
        jax.jit(lambda s: s.confidence_interval(method="t")),
    ):
        low, high = call(state)
        np.testing.assert_allclose(
            [low, high], 2 / 3 + 4.302653 / 3 * np.r_[-1, 1], 1e-5
        )
    assert state_of([0.5]).confidence_interval(method="t") == (-np.inf, np.inf)
    stacked = jax.tree.map(lambda *x: jnp.stack(x), state, state_of([0.5, 0.7]))
    assert stacked.confidence_interval(method="t")[0].shape == (2,)


def test_wilson_by_hand():
    """Of 12 hits in 12 lists low is 12/(12 + z²), high is 1; without lists it is [0, 1]."""
    z2 = 1.959964**2
    found = state_of(np.ones(12)).confidence_interval(method="wilson")
    np.testing.assert_allclose(found, (12 / (12 + z2), 1), rtol=1e-5)
    found = state_of(np.zeros(12), np.full(12, 7.0)).confidence_interval(
        method="wilson"
    )
    np.testing.assert_allclose(found, (0, z2 / (12 + z2)), rtol=1e-5, atol=1e-7)
    assert jrm.Mean.empty().confidence_interval(method="wilson") == (0, 1)
    hits = jrm.Mean.of(
        jnp.asarray([[1.0, 0.0], [0.0, 1.0]]), jnp.ones(2), jnp.ones(2, bool)
    )
    low, high = hits.confidence_interval(method="wilson")
    assert low.shape == (2,) and bool(jnp.all((0 < low) & (high < 1)))


@jax.jit
def wilson(state):
    """Where it cannot raise."""
    return state.confidence_interval(method="wilson")


@pytest.mark.parametrize(
    "values, weights",
    [
        ([0.0, 1.0, 0.5], [1, 1, 1]),
        ([0.0, 1.0, 0.99], [1, 1, 1]),
        ([0.0, 2.0, 1.0], [1, 1, 1]),
        ([0.0, 1.0, 1.0], [1, 1, 1.1]),
        ([0.5] + [1.0] * 9999, [1] * 10_000),
    ],
    ids=str,
)
def test_wilson_is_for_hits(values, weights):
    """Of other values or unequal weights it raises, and is NaN where it cannot."""
    state = state_of(values, weights)
    with pytest.raises(ValueError, match="not all 0 or 1.*pass 't'"):
        state.confidence_interval(method="wilson")
    assert np.isnan(wilson(state)).all()
    with pytest.raises(ValueError, match="pass one of normal, t, wilson"):
        state.confidence_interval(method="z")


def coverage(draw, mean, lists, methods):
    """The share of 4000 simulated data sets that each method covers at 0.95."""

    @jax.jit
    @jax.vmap
    def covers(key):
        state = state_of(draw(key, (lists,)))
        bounds = [state.confidence_interval(method=method) for method in methods]
        return jnp.stack([(low <= mean) & (mean <= high) for low, high in bounds])

    return np.mean(covers(jax.random.split(jax.random.key(lists), 4000)), axis=0)


def hits(key, shape):
    """Ninety of a hundred."""
    return jax.random.bernoulli(key, 0.9, shape).astype(jnp.float32)


@pytest.mark.parametrize(
    "draw, mean, lists",
    [
        (jax.random.uniform, 0.5, 30),
        (jax.random.exponential, 1.0, 200),
    ],
    ids=["symmetric", "skewed"],
)
def test_intervals_cover(draw, mean, lists):
    """What they say, from 30 lists of symmetric values and 200 of skewed ones."""
    for share in coverage(draw, mean, lists, ("normal", "t")):
        assert 0.93 < share < 0.97


@pytest.mark.parametrize(
    "draw, mean, lists, method",
    [
        (jax.random.exponential, 1.0, 10, "t"),
        (hits, 0.9, 12, "wilson"),
    ],
    ids=["skewed", "hits"],
)
def test_the_method_for_few_lists(draw, mean, lists, method):
    """Below that, what the documentation advises covers more often than the normal one."""
    normal, advised = coverage(draw, mean, lists, ("normal", method))
    assert normal < 0.90 and normal + 0.02 < advised < 0.99
    if method == "wilson":
        assert advised > 0.93
