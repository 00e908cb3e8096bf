"""The randomised Tukey test against all permutations, and its permutations themselves."""

import itertools

import jax
import numpy as np
import pytest

from jax_rank_metrics._verdicts.inference.randomised import (
    ROWS,
    permuted_sums,
    sign_flip_test,
    tukey_test,
)

KEY = jax.random.key(5)


def near(p, expected, samples):
    """True if random permutations may give this p."""
    slack = 5 * np.sqrt(expected * (1 - expected) / samples) + 1 / samples
    return (np.abs(p - expected) <= slack).all()


def test_p_by_brute_force(rng):
    """p agrees with all 6⁴ permutations of three systems, with weights and ties."""
    values = rng.integers(0, 4, (3, 6)) / 10 + [[0], [0.2], [0.6]]
    values[:, 2] = 0.3
    weights = np.array([1, 2, 1, 0.5, 0, 3])
    orders = list(itertools.permutations(range(3)))
    ranges = []
    for rows in itertools.product(orders, repeat=4):
        columns = values[np.array(rows).T, [0, 1, 3, 5]]
        sums = columns @ weights[[0, 1, 3, 5]]
        ranges.append(sums.max() - sums.min())
    sums = values @ weights
    distances = np.abs(sums[:, None] - sums[None, :])
    expected = np.mean(np.array(ranges)[:, None, None] >= distances - 1e-9, axis=0)
    p, samples = tukey_test(values, weights, KEY, 6**4)
    assert samples == 0 and p.min() < 0.2
    np.testing.assert_allclose(p, expected)
    p, samples = tukey_test(values, weights, KEY, 6**4 - 1)
    assert samples == 6**4 - 1 and near(p, expected, samples)
    assert (np.diag(p) == 1).all() and (p == p.T).all()
    np.testing.assert_allclose(p * 6**4, np.round(p * 6**4))


def test_two_systems(rng):
    """The test of two systems equals the sign-flip test, over more lists than one chunk."""
    lists, samples = 3 * ROWS // 2, 4000
    values = rng.random((2, lists))
    difference = values[1] - values[0]
    values[1] -= difference.mean() - difference.std() / np.sqrt(lists)
    flips = sign_flip_test((values[1] - values[0])[:, None], KEY, samples)
    p, _ = tukey_test(values, np.ones(lists), KEY, samples)
    assert 0.25 < p[0, 1] < 0.4 and p[0, 1] == flips.p[0]


def test_permutations_are_uniform():
    """Each of the 24 orders of four systems is equally likely."""
    sums = jax.jit(permuted_sums, static_argnums=2)(np.arange(4.0)[None], KEY, 24_000)
    orders, counts = np.unique(np.asarray(sums), axis=0, return_counts=True)
    assert orders.shape == (24, 4) and (np.sum(orders, axis=1) == 6).all()
    assert abs(counts - 1000).max() < 5 * np.sqrt(1000)


@pytest.mark.long
def test_lists_are_permuted_apart(rng):
    """Sums over many lists vary like sums of independent permutations."""
    terms = rng.normal(size=(200, 5)).astype(np.float32)
    terms -= terms.mean(1, keepdims=True)
    sums = np.asarray(jax.jit(permuted_sums, static_argnums=2)(terms, KEY, 2000))
    variance = terms.var(1).sum()
    covariance = np.cov(sums.T) / variance
    expected = np.where(np.eye(5) > 0, 1, -1 / 4)
    assert abs(covariance - expected).max() < 5 * np.sqrt(2 / 2000)
    assert abs(sums.mean(0)).max() < 5 * np.sqrt(variance / 2000)


def test_no_difference():
    """Equal systems, and lists that do not count, say nothing."""
    equal = np.full((4, 4), 0.1) * np.arange(4)
    p, _ = tukey_test(equal, np.ones(4), KEY, 100)
    assert (p == 1).all()
    p, _ = tukey_test(np.eye(4), np.zeros(4), KEY, 100)
    assert (p == 1).all()
