"""The randomised Tukey test against all permutations, and its permutations themselves."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_rank_metrics._results.inference import tukey
from jax_rank_metrics._results.inference.sign_flips import sign_flip_test

KEY = jax.random.key(5)
SAMPLES = 20_000


def near(p, expected):
    """Whether random permutations may give this p."""
    slack = 5 * np.sqrt(expected * (1 - expected) / SAMPLES) + 1 / SAMPLES
    return (np.abs(p - expected) <= slack).all()


def test_p_by_brute_force(rng):
    """p is that of all 6⁴ permutations of three systems, with weights and ties."""
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
    p, samples = tukey.tukey_test(values, weights, KEY, SAMPLES)
    assert samples == SAMPLES and near(p, expected)
    assert (np.diag(p) == 1).all() and (p == p.T).all() and p.min() < 0.2
    np.testing.assert_allclose(p * (1 + SAMPLES), np.round(p * (1 + SAMPLES)))


def test_two_systems(rng):
    """The test of two systems is that of sign flips, over more lists than one chunk."""
    lists, samples = 3 * tukey.ROWS // 2, 4000
    values = rng.random((2, lists))
    difference = values[1] - values[0]
    values[1] -= difference.mean() - difference.std() / np.sqrt(lists)
    flips = sign_flip_test((values[1] - values[0])[:, None], KEY, samples)
    p, _ = tukey.tukey_test(values, np.ones(lists), KEY, samples)
    assert 0.25 < p[0, 1] < 0.4 and abs(p[0, 1] - flips.p[0]) < 0.05


def test_permutations_are_uniform():
    """Each of the 24 orders of four systems is equally likely."""
    words = jax.random.bits(KEY, (24_000, 1), jnp.uint32)
    sums = tukey._permuted_sums(jnp.arange(4.0)[:, None], words)
    orders, counts = np.unique(np.asarray(sums), axis=1, return_counts=True)
    assert orders.shape == (4, 24) and (np.sum(orders, axis=0) == 6).all()
    assert abs(counts - 1000).max() < 5 * np.sqrt(1000)


@pytest.mark.long
def test_lists_are_permuted_apart(rng):
    """Sums over many lists vary as those of independent permutations do."""
    terms = rng.normal(size=(5, 200)).astype(np.float32)
    terms -= terms.mean(0)
    words = jax.random.bits(KEY, (2000, 200), jnp.uint32)
    sums = np.asarray(tukey._permuted_sums(terms, words))
    variance = terms.var(0).sum()
    covariance = np.cov(sums) / variance
    expected = np.where(np.eye(5) > 0, 1, -1 / 4)
    assert abs(covariance - expected).max() < 5 * np.sqrt(2 / 2000)
    assert abs(sums.mean(1)).max() < 5 * np.sqrt(variance / 2000)


def test_no_difference():
    """Equal systems, and lists that do not count, say nothing."""
    equal = np.full((4, 4), 0.1) * np.arange(4)
    p, _ = tukey.tukey_test(equal, np.ones(4), KEY, 100)
    assert (p == 1).all()
    p, _ = tukey.tukey_test(np.eye(4), np.zeros(4), KEY, 100)
    assert (p == 1).all()
