"""Intervals of a mean: their quantiles, the values they refuse, and their coverage."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marks import long
from per_lists import exact, lists_of, stacked, state_of

import jax_rank_metrics as jrm
from jax_rank_metrics._values import intervals
from jax_rank_metrics._values.on_host import HostSums

shares_of = functools.partial(state_of, is_share=True)


def quantiles(level, freedom):
    """The quantiles of Student's t as intervals read them, in JAX's default floats."""
    dtype = jax.dtypes.canonicalize_dtype(float)
    return jax.jit(intervals.t_quantile)(
        jnp.asarray(freedom, dtype),
        jnp.asarray(intervals.normal_quantile(level), dtype),
        jnp.asarray(intervals.t_coefficients(level), dtype),
    )


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_quantiles_of_t(level):
    """They agree with scipy for every number of equal lists, and of unequal lists.

    Unequal lists have degrees of freedom below 1 and between integers; near 0, the
    quantiles are infinite.
    """
    stdtrit = pytest.importorskip("scipy.special").stdtrit
    lists = np.concatenate([np.arange(2, 200), np.geomspace(200, 1e6, 40).astype(int)])
    real = np.concatenate([np.geomspace(0.1, 1, 50), np.linspace(1, 60, 500)])
    for freedom, rtol in ((lists - 1.0, 1e-6), (real, 2e-5)):
        expected = stdtrit(freedom, (1 + level) / 2)
        np.testing.assert_allclose(quantiles(level, freedom), expected, rtol=rtol)
    assert np.isinf(quantiles(level, [0.0, 1e-6, 0.03])).all()


def test_t_of_a_few_lists():
    """The mean of 0, 1 and 1 is 2/3 ± 4.3027 · 1/3, by hand."""
    result = state_of([0.0, 1.0, 1.0]).confidence_interval(method="t")
    np.testing.assert_allclose(result, 2 / 3 + 4.302653 / 3 * np.r_[-1, 1], 1e-5)
    assert state_of([0.5]).confidence_interval(method="t") == (-np.inf, np.inf)


def test_wilson_by_hand():
    """For 12 hits in 12 lists it is [12/(12 + z²), 1], and without lists [0, 1]."""
    z2 = 1.959964**2
    result = shares_of(np.ones(12)).confidence_interval(method="wilson")
    np.testing.assert_allclose(result, (12 / (12 + z2), 1), rtol=1e-5)
    result = shares_of(np.zeros(12), np.full(12, 7.0)).confidence_interval(
        method="wilson"
    )
    np.testing.assert_allclose(result, (0, z2 / (12 + z2)), rtol=1e-5, atol=1e-7)
    assert jrm.Mean.empty().confidence_interval(method="wilson") == (0, 1)
    hits = shares_of([[1.0, 0.0], [0.0, 1.0]])
    low, high = map(np.asarray, hits.confidence_interval(method="wilson"))
    assert low.shape == (2,) and np.all((0 < low) & (high < 1))


@jax.jit
def wilson(state):
    """Returns Wilson's interval inside `jax.jit`, which cannot raise."""
    return state.confidence_interval(method="wilson")


@pytest.mark.parametrize(
    "values, weights",
    [
        ([0.0, 1.0, 0.5], [1, 1, 1]),
        ([0.0, 1.0, 0.99], [1, 1, 1]),
        ([0.0, 2.0, 1.0], [1, 1, 1]),
        ([0.5, 0.5, 0.5, 1.5], [1, 1, 1, 1]),  # as Σ v and Σ v² of three hits of four
        ([0.0, 1.0, 1 - 1e-5], [1, 1, 1]),
        ([0.5] + [1.0] * 9999, [1] * 10_000),
    ],
    ids=str,
)
def test_wilson_is_for_hits(values, weights):
    """For other values it raises, or is NaN inside `jax.jit`."""
    state = shares_of(values, weights)
    with pytest.raises(ValueError, match="not all 0 or 1.* 't', or 'auto'"):
        state.confidence_interval(method="wilson")
    assert np.isnan(wilson(state)).all()


def test_unequal_weights():
    """The weights 2, 1 and 1 make 16/6 lists, for every method."""
    values, weights = np.array([0.2, 0.9, 0.4]), np.array([2.0, 1.0, 1.0])
    state = state_of(values, weights)
    mean, error, size = exact(values, weights)
    assert (mean, size) == pytest.approx((1.7 / 4, 16 / 6))
    np.testing.assert_allclose(state.n_eff, size, rtol=1e-6)
    np.testing.assert_allclose(state.std_error(), error, rtol=1e-5)
    student = pytest.importorskip("scipy.stats").t
    margin = student.ppf(0.975, size - 1) * error
    for method in ("auto", "t"):
        result = state.confidence_interval(method=method)
        np.testing.assert_allclose(result, (mean - margin, mean + margin), rtol=1e-4)
    hits = shares_of([1.0, 1.0, 1.0], weights)
    z2 = 1.959964**2
    for method in ("auto", "wilson"):
        result = hits.confidence_interval(method=method)
        np.testing.assert_allclose(result, (size / (size + z2), 1), rtol=1e-5)
    assert ", n_eff 2.67," in repr(hits) and "n_eff" not in repr(state_of(values))


def test_one_list_with_nearly_all_weight():
    """Its mean is one value, and nothing is known about its error."""
    for small_weight, known in ((0.1, True), (1e-3, False), (1e-9, False)):
        state = state_of([0.3, 0.4], [1.0, small_weight])
        low, high = state.confidence_interval(method="t")
        assert np.isfinite(low) == np.isfinite(high) == known
        assert not np.isnan(state.std_error()) and state.std_error() > 0


def test_auto_decides_for_each_cutoff():
    """Hits take Wilson's, other cutoffs t; also if merged, jitted and stacked."""
    values = np.array([[1.0, 1.0], [0.0, 0.5], [1.0, 1.0]])
    state = shares_of(values)
    states = [state, state.merge(state)]
    in_jit = jax.jit(lambda s: s.confidence_interval())(stacked(states))
    for i, (state, copies) in enumerate(zip(states, (1, 2), strict=True)):
        auto = np.array(state.confidence_interval())
        hits, others = (shares_of(np.tile(x, copies)) for x in values.T)
        wilson = hits.confidence_interval(method="wilson")
        np.testing.assert_allclose(auto[:, 0], wilson, rtol=1e-6)
        t = others.confidence_interval(method="t")
        np.testing.assert_allclose(auto[:, 1], t, rtol=1e-6)
        np.testing.assert_allclose(np.array(in_jit)[:, i], auto, rtol=1e-6)
    assert jrm.Mean.empty().confidence_interval() == (-np.inf, np.inf)


def test_a_geometric_mean_takes_t():
    """Its sums are of logarithms, and a logarithm that is 0 or 1 is no hit."""
    state = lists_of([1.0, np.e, 1.0], is_share=True).geometric_mean()
    assert state.sum_w_fractional.round() == 0
    for bounds in zip(
        state.confidence_interval(), state.confidence_interval(method="t"), strict=True
    ):
        assert bounds[0] == bounds[1]


def hits(share):
    """Values that are 1 in this share of lists, and 0 in the others."""
    return lambda rng, shape: rng.random(shape) < share


def lognormal(rng, shape):
    """Weights that differ by orders of magnitude."""
    return np.exp(2 * rng.normal(size=shape))


uniform = np.random.Generator.random
exponential = np.random.Generator.standard_exponential
EQUAL = lambda rng, shape: np.ones(shape)  # noqa: E731


@functools.partial(jax.jit, static_argnums=2)
def intervals_of(values, weights, methods):
    """The intervals of many data sets, by each method."""
    states = jax.vmap(lambda x, w: lists_of(x, w, is_share=True).mean())(
        values, weights
    )
    return [states.confidence_interval(method=method) for method in methods]


def coverage(draw, mean, lists, methods, weigh=EQUAL):
    """The share of 4000 simulated data sets that each method covers at 0.95."""
    rng, shape = np.random.default_rng(lists), (4000, lists)
    arrays = [x.astype(np.float32) for x in (draw(rng, shape), weigh(rng, shape))]
    bounds = intervals_of(*arrays, methods)
    return [
        np.mean((np.asarray(low) <= mean) & (mean <= np.asarray(high)))
        for low, high in bounds
    ]


@pytest.mark.parametrize("lists", [*long(10, 100, 500), 30])
@pytest.mark.parametrize(
    "draw, mean, weigh, lowest, highest",
    [
        (uniform, 0.5, EQUAL, 0.93, 0.97),
        (exponential, 1.0, EQUAL, 0.885, 0.97),
        (hits(0.02), 0.02, EQUAL, 0.90, 1),
        (hits(0.95), 0.95, EQUAL, 0.90, 1),
        (uniform, 0.5, lognormal, 0.91, 1),
        (hits(0.3), 0.3, lognormal, 0.91, 1),
    ],
    ids=[
        *("uniform", "exponential", "rare hits", "rare misses"),
        *("unequal weights", "hits of unequal weights"),
    ],
)
def test_the_default_covers(draw, mean, weigh, lowest, highest, lists):
    """It covers the mean as often as docs/intervals.md says to a percent, from ten lists on."""
    (share,) = coverage(draw, mean, lists, ("auto",), weigh)
    assert lowest < share <= highest


@pytest.mark.long
@pytest.mark.parametrize(
    "draw, mean, lists",
    [(uniform, 0.5, 30), (exponential, 1.0, 200)],
    ids=["symmetric", "skewed"],
)
def test_intervals_cover(draw, mean, lists):
    """Normal and t intervals do from 30 symmetric and from 200 skewed values on."""
    for share in coverage(draw, mean, lists, ("normal", "t")):
        assert 0.93 < share < 0.97


@pytest.mark.long
@pytest.mark.parametrize(
    "draw, mean, lists, method",
    [(exponential, 1.0, 10, "t"), (hits(0.9), 0.9, 12, "wilson")],
    ids=["skewed", "hits"],
)
def test_the_default_is_better_for_few_lists(draw, mean, lists, method):
    """It is the method named here, and covers more often than the normal interval."""
    normal, advised, auto = coverage(draw, mean, lists, ("normal", method, "auto"))
    assert normal < 0.90 and normal + 0.02 < advised < 0.99 and auto == advised
    if method == "wilson":
        assert advised > 0.93


@pytest.mark.parametrize("kind", [jrm.Mean, *long(jrm.GeometricMean)])
@pytest.mark.parametrize("undefined", ["skip", *long("zero", "one")])
def test_numbers_on_the_host_are_those_of_states(kind, undefined):
    """NumPy computes what states do, from the values of lists and from a state."""
    rng = np.random.default_rng(2)
    defined = np.array([1, 1, 0, 1, 1, 1, 0, 1], bool)
    columns = [rng.random(8), rng.random(8) > 0.5, np.full(8, 0.3), 1e3 * rng.random(8)]
    columns.append(np.where(np.arange(8) == 1, np.nan, columns[0]))
    # Squares or sums of the following values are beyond float32.
    columns += [1e25 * rng.random(8), 1e-25 * rng.random(8)]
    columns += [np.full(8, 3e38)] * (kind is jrm.Mean)
    values = np.where(defined[:, None], np.stack(columns, 1), 0).astype(np.float32)
    weights = np.array([1, 2, 1, 0, 0.5, 3, 0, 1], np.float32)
    lists = jrm.PerList(values, weights, defined, undefined, is_share=True)
    lists = jax.tree.map(jnp.asarray, lists)
    state = lists.mean() if kind is jrm.Mean else lists.geometric_mean()
    for sums in (HostSums.of_lists(lists, kind), HostSums.of_state(state)):
        for method in ("auto", "t", "normal"):
            bounds = state.confidence_interval(0.9, method)
            expected = [state.compute(), *bounds, state.std_error()]
            numbers = sums.estimates(0.9, method)
            np.testing.assert_allclose(
                np.transpose([estimate[:4] for estimate in numbers]),
                expected,
                # The exponential of a logarithm of 80 has an error of 80 roundings.
                rtol=2e-6 if kind is jrm.Mean else 1e-5,
                atol=1e-6,
            )
            for estimate in numbers:
                assert estimate.lists == state.lists
                assert estimate.undefined == state.undefined
                assert estimate.n_eff == pytest.approx(float(state.n_eff[0]), rel=1e-6)
    hits = jrm.PerList(values[:, 1], weights, np.ones(8, bool), is_share=True)
    (estimate,) = HostSums.of_lists(hits, jrm.Mean).estimates(0.9, "wilson")
    bounds = jax.tree.map(jnp.asarray, hits).mean().confidence_interval(0.9, "wilson")
    np.testing.assert_allclose(estimate[1:3], bounds, rtol=1e-6)
