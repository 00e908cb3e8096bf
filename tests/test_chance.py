"""What p values and intervals of `compare` hold: simulated errors, and edge cases."""

import numpy as np
import pytest
from per_lists import lists_of

import jax_rank_metrics as jrm
from jax_rank_metrics._results import chance

SIMULATIONS = 2000
pytestmark = pytest.mark.filterwarnings("ignore:p is at most")


def rejected(comparisons):
    """The share of comparisons with p below 0.05, and of intervals without 0."""
    p = np.array([found.p for found in comparisons])
    covered = np.array([found.low <= 0 <= found.high for found in comparisons])
    return np.mean(p < 0.05), np.mean(~covered)


@pytest.mark.parametrize("test", ["t", "permutation"])
@pytest.mark.parametrize("lists", [10, 30, 100])
def test_unequal_weights(rng, test, lists):
    """Where weights differ by orders of magnitude, errors stay near 5 %."""
    errors = []
    for _ in range(20):
        weights = rng.lognormal(0, 2, lists)
        noise = lists_of(rng.random((lists, 100)) - 0.5, weights)
        zeros = lists_of(np.zeros((lists, 100)), weights)
        errors.append(rejected(jrm.compare(zeros, noise, test=test, samples=999)))
    of_p, of_interval = np.mean(errors, axis=0)
    assert of_p < 0.09 and of_interval < 0.09


@pytest.mark.parametrize("lists", [2, 3, 5, 10, 100])
def test_bootstrap_of_few_lists(rng, lists):
    """Type-1 errors of the studentised bootstrap are at most about 5 %."""
    noise = rng.normal(size=(lists, SIMULATIONS))
    found = jrm.compare(np.zeros_like(noise), noise, test="bootstrap", samples=999)
    of_p, of_interval = rejected(found)
    assert of_p <= 0.07 and of_interval <= 0.07
    if lists > 5:
        assert of_p > 0.02


def test_two_lists_say_nothing():
    """However sure the bootstrap once was of them."""
    for b in ([0.5, 0.5], [0.5, 0.6]):
        found = jrm.compare([0.1, 0.2], b, test="bootstrap")
        assert found.p >= 0.5 and (found.low, found.high) == (-np.inf, np.inf)


def test_multinomial_draws():
    """As many draws as lists, each list as likely as any other."""
    seeds = chance.seeds_of(None, 20_000)
    counts = np.asarray(chance._multinomial_counts(6, seeds[0], seeds[1:]))
    assert (counts.sum(1) == 6).all() and abs(counts.mean(0) - 1).max() < 0.03
    np.testing.assert_allclose(counts.var(0), 5 / 6, rtol=0.05)


def test_intervals_and_p_agree(rng):
    """The interval of the bootstrap excludes 0 where p is below 0.05."""
    a = rng.random((12, 200))
    b = a + rng.normal(0.03, 0.05, size=a.shape)
    for found in jrm.compare(a, b, test="bootstrap", samples=9999):
        assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


def test_equal_weights_are_students(rng):
    """Neither the unit of weights nor a list without one changes anything."""
    a, b = rng.random((2, 9))
    weights = np.where(np.arange(9) == 4, 0, 7.0)
    found = jrm.compare(lists_of(a, weights), lists_of(b, weights), test="t")
    kept = np.arange(9) != 4
    expected = jrm.compare(a[kept], b[kept], test="t")
    np.testing.assert_allclose(
        (found.p, found.low, found.effect_size),
        (expected.p, expected.low, expected.effect_size),
        rtol=1e-5,
    )
    assert found.n_eff == pytest.approx(8) and "n_eff" not in repr(found)


def test_effective_lists_are_shown(rng):
    """One heavy list of many leaves little evidence, and the repr says so."""
    weights = np.ones(50)
    weights[0] = 1000
    a, b = (lists_of(x, weights) for x in rng.random((2, 50)))
    for test in ("t", "permutation"):
        found = jrm.compare(a, b, test=test, samples=999)
        assert found.n_eff == pytest.approx(1049**2 / (1000**2 + 49))
        assert "50 lists, n_eff 1.1)" in repr(found) and found.p > 0.05
    one = lists_of(np.array([0.2, 0.3]), [1, 1e-20])
    found = jrm.compare(one, lists_of(np.array([0.5, 0.4]), [1, 1e-20]), test="t")
    assert found.p > 0.9 and (found.low, found.high) == (-np.inf, np.inf)


def test_constant_differences(rng):
    """What varies by rounding alone has no spread."""
    a = rng.random(20)
    found = jrm.compare(a, a + 0.1, test="t")
    assert found.p == 0 and found.effect_size == np.inf
    assert found.low == pytest.approx(0.1) == found.high


def test_the_least_p_is_a_bound():
    """It is printed as such; where it cannot be small enough, a warning says so."""
    a, b = np.zeros((30, 60)), np.ones((30, 60))
    with pytest.warns(
        UserWarning, match=r"samples cannot tell more; pass samples=12000"
    ):
        found = jrm.compare(a, b, samples=1000)
    assert "p≤0.001 (Holm ≤0.06)" in repr(found[0]) and found[0].samples == 1000
    exact = jrm.compare(a[:8, 0], b[:8, 0])
    assert "p=0.0078" in repr(exact) and exact.samples == 0


def test_repr_of_one():
    """One list is no lists, and a difference of nothing has no sign."""
    assert "1 win 0 ties 0 losses, 1 list)" in repr(jrm.compare([0.5], [1.0]))
    assert "Comparison(+0 [0, 0]" in repr(jrm.compare([0.5, 0.2], [0.5, 0.2]))
