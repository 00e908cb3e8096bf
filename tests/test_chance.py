"""p values and intervals of `compare`: simulated errors, and edge cases."""

import warnings

import jax
import numpy as np
import pytest
from marks import long
from per_lists import lists_of

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.inference import p_values, resample
from jax_rank_metrics._verdicts.inference.studentised import (
    resampled_p,
    resampled_reach,
    studentised_bootstrap,
)

SIMULATIONS = 2000
pytestmark = pytest.mark.filterwarnings("ignore:p is never below")


def rejected(comparisons):
    """The share of comparisons with p below 0.05, and of intervals without 0."""
    p = np.array([comparison.p for comparison in comparisons])
    covered = np.array(
        [comparison.low <= 0 <= comparison.high for comparison in comparisons]
    )
    return np.mean(p < 0.05), np.mean(~covered)


@pytest.mark.parametrize("test", ["t", "permutation"])
@pytest.mark.parametrize("lists", [10, *long(30, 100)])
def test_unequal_weights(rng, test, lists):
    """If weights differ by orders of magnitude, errors stay near 5 %."""
    errors = []
    for _ in range(20):
        weights = rng.lognormal(0, 2, lists)
        noise = lists_of(rng.random((lists, 100)) - 0.5, weights)
        zeros = lists_of(np.zeros((lists, 100)), weights)
        errors.append(rejected(jrm.compare(zeros, noise, test=test, samples=999)))
    of_p, of_interval = np.mean(errors, axis=0)
    assert of_p < 0.09 and of_interval < 0.09


@pytest.mark.parametrize("lists", [3, 10, *long(2, 5, 100)])
def test_bootstrap_of_few_lists(rng, lists):
    """Type-1 errors of the studentised bootstrap are at most about 5 %.

    Its interval excludes 0 if p is at most 0.05.
    """
    noise = rng.normal(size=(lists, SIMULATIONS))
    result = jrm.compare(np.zeros_like(noise), noise, test="bootstrap", samples=999)
    assert all((x.p <= 0.05) == (x.low > 0 or x.high < 0) for x in result)
    of_p, of_interval = rejected(result)
    assert of_p <= 0.07 and of_interval <= 0.07
    if lists > 5:
        assert of_p > 0.02


@pytest.mark.parametrize("lists", [8, *long(80)])
def test_bootstrap_of_one_side(rng, lists):
    """One-sided intervals exclude 0 if p is small; the other side is the mirror image."""
    values = rng.exponential(size=(lists, 500)) - 1

    def bootstrap_of(values, alternative):
        sides, weights = [(x[None],) for x in values.T], np.ones_like(values)
        resamples = studentised_bootstrap(sides, weights, jax.random.key(2), 999)
        reach = resampled_reach(resamples, 0.95, alternative)
        return resampled_p(resamples, 0.0, alternative), reach

    mean = values.mean(0)
    p, margin = bootstrap_of(values, "greater")
    assert np.array_equal(p <= 0.05, mean - margin > 0) and np.mean(p <= 0.05) < 0.07
    mirrored = bootstrap_of(-values, "less")
    np.testing.assert_array_equal(mirrored, (p, margin))
    p_below, margin_below = bootstrap_of(values, "less")
    assert np.array_equal(p_below <= 0.05, mean + margin_below < 0)
    # Only resamples of a single list are on both sides of any mean.
    np.testing.assert_allclose(p + p_below, 1, atol=0.01)


def test_student_of_one_side():
    """Without an error, or any freedom, p tells only the side of the mean, or nothing.

    tests/peers/test_scipy.py has all others.
    """
    mean, error = np.array([0, 0.2, 0.2]), np.array([0, 0, 0.1])
    for alternative, expected in (("two-sided", 0), ("greater", 0), ("less", 1)):
        p = p_values.student_p(mean, error, np.array([7.0, 7, 0]), alternative)
        assert p.tolist() == [1, expected, 1]


def test_two_lists_say_nothing():
    """A bootstrap of two lists is never significant, and has no interval."""
    for b in ([0.5, 0.5], [0.5, 0.6]):
        result = jrm.compare([0.1, 0.2], b, test="bootstrap").only
        assert result.p >= 0.5 and (result.low, result.high) == (-np.inf, np.inf)


@pytest.mark.long
def test_multinomial_draws():
    """The number of draws is the number of lists, and each list is equally likely."""
    seeds = resample.seeds_of(None, 20_000)
    counts = np.asarray(resample.multinomial_draws(6, seeds[0], seeds[1:]))
    assert (counts.sum(0) == 6).all() and abs(counts.mean(1) - 1).max() < 0.03
    np.testing.assert_allclose(counts.var(1), 5 / 6, rtol=0.05)


def test_effective_lists_are_shown(rng):
    """One heavy list of many leaves little evidence, and the repr says so."""
    weights = np.ones(50)
    weights[0] = 1000
    a, b = (lists_of(x, weights) for x in rng.random((2, 50)))
    for test in ("t", "permutation"):
        result = jrm.compare(a, b, test=test, samples=999).only
        assert result.n_eff == pytest.approx(1049**2 / (1000**2 + 49))
        assert "50 lists, n_eff 1.1)" in repr(result) and result.p > 0.05


def test_heavy_lists_are_not_resampled(rng):
    """Below three effective lists a bootstrap of seeds warns, unless lists are three."""
    weights = [100.0] + [1] * 5
    seeds = [jrm.Seeds([lists_of(x, weights)] * 5) for x in rng.random((2, 6))]
    with pytest.warns(UserWarning, match="1.1 .*pass test='t'$") as record:
        jrm.compare(*seeds, samples=99)
    assert [warning.filename for warning in record] == [__file__]
    jrm.compare([0.1, 0.2], [0.3, 0.5], test="bootstrap", samples=99)


def test_resampling_of_heavy_lists_warns(rng):
    """Below 50 effective lists, and nine tenths of them, equal systems differ too often."""
    for lists, heaviest, warns in ((40, 8, True), (40, 2, False), (200, 14, False)):
        weights = np.append(np.ones(lists - 1), heaviest)
        a, b = (lists_of(x, weights) for x in rng.random((2, lists)))
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            jrm.compare(a, b, test="bootstrap", samples=99)
        assert any("n_eff" in str(x.message) for x in record) == warns


def test_equal_weights_count_exactly():
    """The effective number of equal weights is a whole number, without rounding."""
    for lists in (49, 120, 1_000):
        values = lists_of(np.arange(lists) % 7, np.full(lists, 0.1))
        zeros = lists_of(np.zeros(lists), np.full(lists, 0.1))
        assert jrm.compare(zeros, values, test="t").only.n_eff == lists


def test_the_least_p_is_a_bound():
    """The least p is printed as a bound; a warning says if it cannot be small enough."""
    a, b = np.zeros((30, 60)), np.ones((30, 60))
    with pytest.warns(
        UserWarning,
        match=r"samples cannot resolve smaller p values; pass samples=12000",
    ):
        result = jrm.compare(a, b, samples=1000)
    assert "p≤0.001 (Holm ≤0.06)" in repr(result[0]) and result[0].samples == 1000
    with pytest.warns(UserWarning, match=r"never below 0.05: 10 samples") as record:
        jrm.compare(a[:, 0], a[:, 0] + np.arange(30) % 3 - 1, samples=10)
    assert "comparisons" not in str(record[0].message)
    exact = jrm.compare(a[:8, 0], b[:8, 0]).only
    assert "p=0.0078" in repr(exact) and exact.samples == 0


def test_repr_of_one():
    """Nouns agree in number, and a difference of 0 has no sign."""
    assert "1 win 0 ties 0 losses, 1 list)" in repr(jrm.compare([0.5], [1.0]).only)
    assert "Comparison(+0 [0, 0]" in repr(jrm.compare([0.5, 0.2], [0.5, 0.2]).only)


def test_hardly_any_freedom_leaves_no_interval(rng):
    """A list of nearly all the weight gives infinite ends, and no number of 150 digits."""
    weights = [1000.0, 1, 1]
    systems = {x: lists_of(rng.random(3), weights) for x in "ab"}
    comparison = jrm.compare(systems, test="t")["b"]
    assert (comparison.low, comparison.high) == (-np.inf, np.inf)
    board = jrm.leaderboard(systems, samples=50)
    assert np.isinf(board.highs).all() and "[-inf, inf]" in repr(board)
