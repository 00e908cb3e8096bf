"""Against statsmodels: robust errors, clusters, and equivalence."""

import functools

import numpy as np
import pytest
from late_imports import LateImport

import jax_rank_metrics as jrm

stats = LateImport("scipy.stats")


def fit_of(options, values, weights):
    """Returns the mean of values by statsmodels, and its error."""
    from statsmodels.api import WLS

    fit = WLS(values, np.ones(len(values)), weights).fit(**options)
    return [fit.params[0], fit.bse[0]]


HC3 = functools.partial(fit_of, {"cov_type": "HC3"})


def test_unequal_weights(recorded):
    """The error of a weighted mean is statsmodels' HC3, but for (n − 1)/n, n = n_eff."""
    rng = np.random.default_rng(4)
    difference, weights = rng.normal(0.3, 1, 25), rng.lognormal(0, 1.5, 25)
    lists = [
        jrm.PerList(values, weights, np.ones(25, bool))
        for values in (np.zeros(25), difference)
    ]
    ours = jrm.compare(*lists, test="t", level=0.9).only
    mean, error = recorded("HC3", HC3, difference, weights)
    freedom = ours.n_eff - 1
    error = error * np.sqrt(freedom / ours.n_eff)
    margin = stats.t.ppf(0.95, freedom) * error
    assert ours.difference == pytest.approx(mean)
    assert ours.high - ours.difference == pytest.approx(margin)
    assert ours.p == pytest.approx(
        2 * stats.t.sf(abs(ours.difference) / error, freedom)
    )
    spread = np.sqrt(np.cov(difference, aweights=weights))
    assert ours.effect_size == pytest.approx(ours.difference / spread)


def test_equivalence(recorded):
    """One-sided t tests agree; p of a margin nears two of them as lists grow many.

    The bound of a margin allows for skew and for losses that no list shows, which both
    weigh less among 5,000 lists.
    """

    def by_statsmodels(a, b):
        from statsmodels.stats.weightstats import ttost_paired

        p, (_, p_above, _), (_, p_below, _) = ttost_paired(b, a, -0.05, 0.05)
        return [p, p_above, p_below]

    rng = np.random.default_rng(0)
    a = rng.random(5_000)
    for shift in (0.0, 0.03, -0.06):
        b = a + rng.normal(shift, 1, 5_000)
        p, p_above, p_below = recorded("tost", by_statsmodels, a, b)
        options = {"margin": 0.05, "test": "t"}
        assert jrm.compare(a, b, **options).only.p == pytest.approx(p, rel=0.02)
        greater = jrm.compare(a, b, alternative="greater", **options).only
        less = jrm.compare(a, b, alternative="less", **options).only
        assert (greater.p, less.p) == pytest.approx(
            (p_above, p_below), rel=0.02, abs=1e-6
        )
        # The p of a permutation test is nearly the same.
        assert jrm.compare(a, b, margin=0.05).only.p == pytest.approx(p, abs=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_cluster_robust_errors(weighted, recorded):
    """Errors of means equal `cov_type="cluster"`, but for the small-sample factor.

    The factor is G/(G − 1) there, for G clusters, and n/(n − 1) here, for their effective
    number n, which is G if clusters weigh the same.
    """
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(30), 6) if not weighted else rng.integers(0, 30, 180)
    values = rng.normal(size=180) + rng.normal(size=30)[ids]
    weights = rng.gamma(2, size=180) if weighted else np.ones(180)
    options = {"cov_type": "cluster", "cov_kwds": {"groups": ids}}
    of_lists = functools.partial(fit_of, options)
    mean, robust_error = recorded("clusters", of_lists, values, weights)
    lists = jrm.PerList(values, weights, np.ones(180, bool)).cluster(ids)
    state = lists.mean()
    n, clusters = float(state.n_eff), len(lists)
    assert clusters == len(np.unique(ids)) and (weighted or n == pytest.approx(30))
    factor = n / (n - 1) * (clusters - 1) / clusters
    assert float(state.compute()) == pytest.approx(mean, rel=1e-5)
    error = float(state.std_error())
    assert error == pytest.approx(robust_error * np.sqrt(factor), rel=1e-5)
