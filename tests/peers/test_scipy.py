"""Against SciPy: rank correlations, tests of one side and of two, and intervals."""

import numpy as np
import pytest
from scipy import optimize, stats

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.inference import p_values


@pytest.fixture(params=[8, 60], ids=["exact", "sampled"])
def pair(request):
    """Two systems with values in tenths, so that sums are either equal or far apart."""
    rng = np.random.default_rng(request.param)
    a = rng.integers(0, 11, request.param)
    return a / 10, np.clip(a + rng.integers(-2, 5, request.param), 0, 10) / 10


def test_t(pair):
    """p, interval and effect size agree."""
    a, b = pair
    theirs = stats.ttest_rel(b, a)
    ours = jrm.compare(a, b, test="t", level=0.9).only
    ends = theirs.confidence_interval(0.9)
    assert ours.p == pytest.approx(theirs.pvalue)
    np.testing.assert_allclose((ours.low, ours.high), ends)
    assert ours.effect_size == pytest.approx(theirs.statistic / np.sqrt(len(a)))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_t_of_one_side(alternative):
    """p and the ends of intervals agree."""
    rng = np.random.default_rng(3)
    differences = rng.normal([0.5, -0.2, 0], 1, (12, 3))
    theirs = stats.ttest_1samp(differences, 0, alternative=alternative)
    ends = theirs.confidence_interval(0.9)
    mean, freedom = differences.mean(0), np.full(3, 11.0)
    error = differences.std(0, ddof=1) / np.sqrt(12)
    p = p_values.student_p(mean, error, freedom, alternative)
    np.testing.assert_allclose(p, theirs.pvalue, rtol=1e-9)
    margin = p_values.student_reach(error, freedom, 0.9, alternative)
    if alternative != "less":
        np.testing.assert_allclose(mean - margin, ends.low)
    if alternative != "greater":
        np.testing.assert_allclose(mean + margin, ends.high)


@pytest.mark.filterwarnings("ignore:An input array is constant")
@pytest.mark.parametrize("items, levels", [(8, 4), (1000, 40)])
def test_rank_correlations(items, levels):
    """Correlations agree with ties in scores and labels, and if all scores tie."""
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


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_power(pair, alternative, recorded):
    """The detectable difference and the number of lists equal statsmodels'."""
    differences = pair[1] - pair[0]
    spread = differences.std(ddof=1)

    def by_statsmodels(lists):
        from statsmodels.stats.power import TTestPower

        side = "two-sided" if alternative == "two-sided" else "larger"
        options = {"alpha": 0.1, "alternative": side}
        # Its own search for the size ends after six digits.
        size = optimize.brentq(
            lambda size: TTestPower().power(size, lists, **options) - 0.9,
            0,
            5 / np.sqrt(lists),  # beyond which it returns NaN
        )
        return [size, TTestPower().solve_power(1.01 * size, power=0.9, **options)]

    ours = {"power": 0.9, "level": 0.9, "alternative": alternative}
    for lists in (5, len(differences), 1000):
        size, needed = recorded(alternative, by_statsmodels, lists)
        found = jrm.minimum_detectable(differences, lists=lists, **ours)
        assert found == pytest.approx(size * spread, rel=1e-9)
        difference = -1.01 * found if alternative == "less" else 1.01 * found
        count = jrm.lists_needed(differences, difference, **ours)
        assert count == np.ceil(needed)
