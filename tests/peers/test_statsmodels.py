"""Against statsmodels: robust errors, clusters, equivalence, McNemar's test, corrections for many comparisons."""

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
models = pytest.importorskip("statsmodels.api")


def test_unequal_weights():
    """The error of a weighted mean is statsmodels' HC3, but for (n − 1)/n, n = n_eff."""
    rng = np.random.default_rng(4)
    difference, weights = rng.normal(0.3, 1, 25), rng.lognormal(0, 1.5, 25)
    lists = [
        jrm.PerList(values, weights, np.ones(25, bool))
        for values in (np.zeros(25), difference)
    ]
    ours = jrm.compare(*lists, test="t", level=0.9).only
    fit = models.WLS(difference, np.ones(25), weights).fit(cov_type="HC3")
    freedom = ours.n_eff - 1
    error = fit.bse[0] * np.sqrt(freedom / ours.n_eff)
    margin = stats.t.ppf(0.95, freedom) * error
    assert ours.difference == pytest.approx(fit.params[0])
    assert ours.high - ours.difference == pytest.approx(margin)
    assert ours.p == pytest.approx(
        2 * stats.t.sf(abs(ours.difference) / error, freedom)
    )
    spread = np.sqrt(np.cov(difference, aweights=weights))
    assert ours.effect_size == pytest.approx(ours.difference / spread)


@pytest.mark.parametrize("method", ["holm", "fdr_bh"])
def test_corrections(method):
    """Corrections agree, also where p values are equal, 0 or 1."""
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(2)
    correction = {"holm": holm, "fdr_bh": false_discovery_rate}[method]
    for count in (1, 2, 7, 40):
        p = np.round(rng.random(count) ** 3, 2)
        _, theirs, _, _ = multitest.multipletests(p, method=method)
        np.testing.assert_allclose(correction(p), theirs)


def test_holm_of_comparisons():
    """The family of a comparison is all of its systems, also where systems are equal."""
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(2)
    a = rng.random(40)
    systems = {str(i): a + 0.02 * i + 0.2 * rng.normal(size=40) for i in range(8)}
    lists = jrm.compare(a, {**systems, "same": a, "again": systems["7"]}, test="t")
    p = [comparison.p for comparison in lists]
    _, theirs, _, _ = multitest.multipletests(p, method="holm")
    corrected = [comparison.p_corrected for comparison in lists]
    np.testing.assert_allclose(corrected, theirs)


def test_mcnemar():
    """The exact p of two-by-two tables agrees."""
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    rng = np.random.default_rng(6)
    hits = rng.random((2, 40, 9)) < rng.random(9)
    hits[1, :, :2] = hits[0, :, :2]  # no difference, and only wins
    hits[1, :5, 1] = True
    p = mcnemar_test(hits[1].astype(int) - hits[0])
    for column in range(9):
        a, b = hits[:, :, column]
        counts = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
        theirs = tables.mcnemar(counts, exact=True).pvalue
        assert p[column] == pytest.approx(theirs)


def test_equivalence():
    """p of two one-sided t tests agrees, and so does the better half of each."""
    from statsmodels.stats.weightstats import ttost_paired

    rng = np.random.default_rng(0)
    a = rng.random(50)
    for shift in (0.0, 0.03, -0.06):
        b = a + rng.normal(shift, 0.1, 50)
        p, (above, p_above, _), (below, p_below, _) = ttost_paired(b, a, -0.05, 0.05)
        options = {"margin": 0.05, "test": "t"}
        assert jrm.compare(a, b, **options).only.p == pytest.approx(p)
        greater = jrm.compare(a, b, alternative="greater", **options).only
        less = jrm.compare(a, b, alternative="less", **options).only
        assert (greater.p, less.p) == pytest.approx((p_above, p_below))
        # By permutation it is nearly the same.
        assert jrm.compare(a, b, margin=0.05).only.p == pytest.approx(p, abs=0.02)


def test_clusters():
    """The error of clustered lists is near the sandwich, and HC3 of joined clusters."""
    rng = np.random.default_rng(3)
    users = rng.integers(0, 40, 400)
    difference = rng.normal(size=40)[users] + rng.normal(0.2, 1, 400)
    zeros = np.zeros(400)
    ours = jrm.compare(zeros, difference, clusters=users, test="t").only
    ones = np.ones(400)
    sandwich = models.OLS(difference, ones).fit(
        cov_type="cluster", cov_kwds={"groups": users}
    )
    sizes = np.bincount(users, minlength=40)
    means = np.bincount(users, difference, 40) / sizes
    joined = models.WLS(means, np.ones(40), sizes).fit(cov_type="HC3")
    assert ours.difference == pytest.approx(sandwich.params[0])
    assert ours.difference == pytest.approx(joined.params[0])
    freedom = ours.n_eff - 1
    error = (ours.high - ours.low) / 2 / stats.t.ppf(0.975, freedom)
    assert error == pytest.approx(joined.bse[0] * np.sqrt(freedom / ours.n_eff))
    assert error == pytest.approx(sandwich.bse[0], rel=0.05)
