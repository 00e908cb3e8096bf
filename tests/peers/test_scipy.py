"""Against SciPy and statsmodels: rank correlations, tests and intervals, Holm's method."""

import numpy as np
import pytest

import jax_rank_metrics as jrm

stats = pytest.importorskip("scipy.stats")


@pytest.fixture(params=[8, 60], ids=["exact", "sampled"])
def pair(request):
    """Two systems with values in tenths, so that sums are either equal or far apart."""
    rng = np.random.default_rng(request.param)
    a = rng.integers(0, 11, request.param)
    return a / 10, np.clip(a + rng.integers(-2, 5, request.param), 0, 10) / 10


def test_permutation(pair):
    """SciPy doubles the smaller tail, which is the same for signs, by symmetry."""
    a, b = pair
    theirs = stats.permutation_test(
        (b, a),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    )
    ours = jrm.compare(a, b)
    assert ours.difference == pytest.approx(theirs.statistic)
    slack = 5 * np.sqrt(theirs.pvalue / 20_000) if len(a) > 10 else 1e-12
    assert abs(ours.p - theirs.pvalue) <= slack


def test_t(pair):
    """p, interval and effect size agree."""
    a, b = pair
    theirs = stats.ttest_rel(b, a)
    ours = jrm.compare(a, b, test="t", level=0.9)
    ends = theirs.confidence_interval(0.9)
    assert ours.p == pytest.approx(theirs.pvalue)
    np.testing.assert_allclose((ours.low, ours.high), ends)
    assert ours.effect_size == pytest.approx(theirs.statistic / np.sqrt(len(a)))


def test_unequal_weights():
    """The error of a weighted mean is statsmodels' HC3, but for (n − 1)/n, n = n_eff."""
    models = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(4)
    difference, weights = rng.normal(0.3, 1, 25), rng.lognormal(0, 1.5, 25)
    lists = [
        jrm.PerList(values, weights, np.ones(25, bool))
        for values in (np.zeros(25), difference)
    ]
    ours = jrm.compare(*lists, test="t", level=0.9)
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


def test_bootstrap():
    """On many lists, the studentised interval is near SciPy's percentile interval."""
    rng = np.random.default_rng(1)
    a, b = rng.random(200), rng.random(200) + 0.1
    settings = {"method": "percentile", "n_resamples": 20_000, "rng": rng}
    theirs = stats.bootstrap((b - a,), np.mean, **settings)
    ours = jrm.compare(a, b, test="bootstrap")
    slack = 0.05 * theirs.standard_error
    ends = theirs.confidence_interval
    np.testing.assert_allclose((ours.low, ours.high), (ends.low, ends.high), atol=slack)


def test_wilson():
    """The score interval of a proportion agrees."""
    hits = np.float32([1] * 7 + [0] * 2)
    state = jrm.PerList(hits, np.ones_like(hits), hits == hits).mean()
    theirs = stats.binomtest(7, 9).proportion_ci(0.9, method="wilson")
    ours = state.confidence_interval(0.9, method="wilson")
    np.testing.assert_allclose(ours, (theirs.low, theirs.high), rtol=1e-5)


def test_holm():
    """Holm corrections agree with statsmodels, also where some systems are equal."""
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(2)
    a = rng.random(40)
    systems = {str(i): a + 0.02 * i + 0.2 * rng.normal(size=40) for i in range(8)}
    lists = jrm.compare(a, {**systems, "same": a, "again": systems["7"]}, test="t")
    p = [comparison.p for comparison in lists.values()]
    _, theirs, _, _ = multitest.multipletests(p, method="holm")
    np.testing.assert_allclose(
        [comparison.p_holm for comparison in lists.values()], theirs
    )


@pytest.mark.filterwarnings("ignore:An input array is constant")
@pytest.mark.parametrize("items, levels", [(8, 4), (1000, 40)])
def test_rank_correlations(items, levels):
    """Correlations agree with ties in scores and labels, and where all scores tie."""
    rng = np.random.default_rng(items + levels)
    labels, noise = rng.integers(0, levels, (2, 5, items))
    scores = (labels - noise) // 2
    scores[0] = 0
    ours = jrm.measure(("tau", "rho"), jrm.rank(labels, scores))
    for name, theirs in {"tau": stats.kendalltau, "rho": stats.spearmanr}.items():
        expected = [
            theirs(*pair).statistic for pair in zip(labels, scores, strict=True)
        ]
        assert [*ours[name].defined] == [*np.isfinite(expected)]
        values = np.where(ours[name].defined, ours[name].values, np.nan)
        np.testing.assert_allclose(values, expected, rtol=2e-6, atol=1e-6)
