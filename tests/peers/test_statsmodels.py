"""Against statsmodels: robust errors, clusters, equivalence, McNemar's test, corrections for many comparisons."""

import functools

import numpy as np
import pytest
from late_imports import LateImport

import jax_rank_metrics as jrm
from jax_rank_metrics._results.inference.p_values import (
    false_discovery_rate,
    holm,
    mcnemar_test,
)

stats = LateImport("scipy.stats")


def fit_of(options, values, weights):
    """Returns the mean of values by statsmodels, and its error."""
    from statsmodels.api import WLS

    fit = WLS(values, np.ones(len(values)), weights).fit(**options)
    return [fit.params[0], fit.bse[0]]


HC3 = functools.partial(fit_of, {"cov_type": "HC3"})


def corrected(method, p):
    """Returns corrected p values by statsmodels."""
    from statsmodels.stats.multitest import multipletests

    return multipletests(p, method=method)[1]


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


@pytest.mark.parametrize("method", ["holm", "fdr_bh"])
def test_corrections(method, recorded):
    """Corrections agree, also where p values are equal, 0 or 1."""
    rng = np.random.default_rng(2)
    correction = {"holm": holm, "fdr_bh": false_discovery_rate}[method]
    for count in (1, 2, 7, 40):
        p = np.round(rng.random(count) ** 3, 2)
        theirs = recorded(method, functools.partial(corrected, method), p)
        np.testing.assert_allclose(correction(p), theirs)


def test_holm_of_comparisons(recorded):
    """The family of a comparison is all of its systems, also where systems are equal."""
    rng = np.random.default_rng(2)
    a = rng.random(40)
    systems = {str(i): a + 0.02 * i + 0.2 * rng.normal(size=40) for i in range(8)}
    lists = jrm.compare(a, {**systems, "same": a, "again": systems["7"]}, test="t")
    p = [comparison.p for comparison in lists]
    theirs = recorded("holm", functools.partial(corrected, "holm"), p)
    ours = [comparison.p_corrected for comparison in lists]
    np.testing.assert_allclose(ours, theirs)


def test_mcnemar(recorded):
    """The exact p of two-by-two tables agrees."""
    rng = np.random.default_rng(6)
    hits = rng.random((2, 40, 9)) < rng.random(9)
    hits[1, :, :2] = hits[0, :, :2]  # no difference, and only wins
    hits[1, :5, 1] = True
    p = mcnemar_test(hits[1].astype(int) - hits[0])

    def by_statsmodels(hits):
        from statsmodels.stats.contingency_tables import mcnemar

        for a, b in hits.T.astype(bool).transpose(0, 2, 1):
            table = [[np.sum(x & y) for y in (b, ~b)] for x in (a, ~a)]
            yield mcnemar(table, exact=True).pvalue

    theirs = recorded("mcnemar", lambda hits: [*by_statsmodels(hits)], hits)
    assert p == pytest.approx(theirs)


def test_equivalence(recorded):
    """p of two one-sided t tests agrees, and so does the better half of each."""

    def by_statsmodels(a, b):
        from statsmodels.stats.weightstats import ttost_paired

        p, (_, p_above, _), (_, p_below, _) = ttost_paired(b, a, -0.05, 0.05)
        return [p, p_above, p_below]

    rng = np.random.default_rng(0)
    a = rng.random(50)
    for shift in (0.0, 0.03, -0.06):
        b = a + rng.normal(shift, 0.1, 50)
        p, p_above, p_below = recorded("tost", by_statsmodels, a, b)
        options = {"margin": 0.05, "test": "t"}
        assert jrm.compare(a, b, **options).only.p == pytest.approx(p)
        greater = jrm.compare(a, b, alternative="greater", **options).only
        less = jrm.compare(a, b, alternative="less", **options).only
        assert (greater.p, less.p) == pytest.approx((p_above, p_below))
        # By permutation it is nearly the same.
        assert jrm.compare(a, b, margin=0.05).only.p == pytest.approx(p, abs=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_cluster_robust_errors(weighted, recorded):
    """Those of means are those of `cov_type="cluster"`, but for the small-sample factor.

    That is G/(G − 1) there, for G clusters, and n/(n − 1) here, for their effective number
    n, which is G where clusters weigh the same.
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


def test_clusters_of_comparisons(recorded):
    """The error of clustered lists is near the sandwich, and HC3 of joined clusters."""
    rng = np.random.default_rng(3)
    users = rng.integers(0, 40, 400)
    difference = rng.normal(size=40)[users] + rng.normal(0.2, 1, 400)
    zeros = np.zeros(400)
    ours = jrm.compare(zeros, difference, clusters=users, test="t").only
    options = {"cov_type": "cluster", "cov_kwds": {"groups": users}}
    of_lists = functools.partial(fit_of, options)
    sandwich = recorded("sandwich", of_lists, difference, np.ones(400))
    sizes = np.bincount(users, minlength=40)
    means = np.bincount(users, difference, 40) / sizes
    joined = recorded("joined", HC3, means, sizes)
    assert ours.difference == pytest.approx(sandwich[0])
    assert ours.difference == pytest.approx(joined[0])
    freedom = ours.n_eff - 1
    error = (ours.high - ours.low) / 2 / stats.t.ppf(0.975, freedom)
    assert error == pytest.approx(joined[1] * np.sqrt(freedom / ours.n_eff))
    assert error == pytest.approx(sandwich[1], rel=0.05)
