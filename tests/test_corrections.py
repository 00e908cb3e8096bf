"""Corrections of p, influences and random signs, against their definitions."""

import functools

import jax.numpy as jnp
import numpy as np
from jax import random

from jax_rank_metrics._verdicts.inference import p_values, randomised, resample
from jax_rank_metrics._verdicts.inference.randomised import swap_test
from jax_rank_metrics._verdicts.inference.studentised import (
    resampled_p,
    resampled_reach,
)
from jax_rank_metrics._verdicts.inference.weighted_means import Ratios, pseudo_values
from jax_rank_metrics._verdicts.systems.seeds import share_of_wins


def test_corrections_by_loops(rng):
    """Each p is multiplied by its rank, and is in order with all others."""
    for p in (rng.random(9), rng.integers(1, 5, 6) / 20, np.array([0.9])):
        n, order = len(p), np.sort(p)
        steps = [(q, min(1, (n - rank) * q)) for rank, q in enumerate(order)]
        expected = [max(x for q, x in steps if q <= limit) for limit in p]
        np.testing.assert_allclose(p_values.holm(p), expected)
        steps = [(q, n * q / rank) for rank, q in enumerate(order, 1)]
        expected = [min(x for q, x in steps if q >= limit) for limit in p]
        np.testing.assert_allclose(p_values.false_discovery_rate(p), expected)


def test_pseudo_values_are_derivatives(rng):
    """They move as the difference of two ratios does when a list weighs a little more."""
    values, weights = rng.random((2, 5)), rng.gamma(2, size=(2, 5))

    def difference(factors):
        a, b = (
            np.average(x, weights=w * factors)
            for x, w in zip(values, weights, strict=True)
        )
        return b - a

    step = 1e-6
    nudges = 1 + step * np.eye(5)
    slopes = [(difference(x) - difference(np.ones(5))) / step for x in nudges]
    actual, counts = pseudo_values(Ratios(values, weights, 1e-6))
    np.testing.assert_allclose(
        actual, difference(np.ones(5)) + 5 * np.array(slopes), 1e-4
    )
    np.testing.assert_array_equal(counts, 1)


def test_chunks_have_signs_of_their_own():
    """Two lists in two chunks have the same sign in half of all patterns."""
    ones, key = jnp.ones((2, 1, 1)), random.key(0)
    sums = randomised.random_sums(ones, key, 64, randomised.flipped_sums)
    assert {*np.asarray(sums).ravel().tolist()} == {-2, 0, 2}


def test_random_patterns_differ():
    """Each bit of a word is of another pattern, as is each block; the last block is cut."""
    swaps = np.asarray(resample.random_swaps(random.key(0), 64, 40))
    assert len(np.unique(swaps, axis=0)) == 64
    coin = functools.partial(random.bernoulli, shape=(1,))
    assert 30 < resample.count_reached(coin, random.key(0), 100) < 70
    assert resample.count_reached(lambda key: jnp.ones(4, bool), random.key(0), 7) == 7


def test_resampled_t_by_hand():
    """The data are a resample of their own, and the interval ends at the larger t."""
    t = np.array([[-0.5], [3], [1]], np.float32)
    resamples = t, np.array([2.0]), np.array([0.5])
    p = resampled_p(resamples, 0.0, "two-sided")
    reach = resampled_reach(resamples, 0.6, "two-sided")
    assert (p.item(), reach.item()) == (0.25, 1.5)
    assert resampled_p(resamples, -1.0, "greater") == 0.5


def test_wins_of_runs_by_hand():
    """In four pairs of runs, b wins three, and half of the pair that ties."""
    once = np.ones((1, 2))
    wins = share_of_wins(np.array([1.0, 2.0]), np.array([2.0, 3.0]), once, once)
    assert wins.tolist() == [3.5 / 4]


def test_swaps_count_the_data(rng):
    """No p of random swaps is 0, however far apart two ratios are."""
    values = np.array([[0.1], [0.9]]) + 0.01 * rng.random((2, 16))
    ratios = Ratios(values, rng.gamma(2, size=(2, 16)), 1e-6)
    p, samples, *_ = swap_test([ratios], random.key(0), 99)
    assert (p.item(), samples) == (0.01, 99)
