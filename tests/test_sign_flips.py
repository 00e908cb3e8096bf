"""Sign flips against all patterns in float64: one side, mid-p, and the largest t."""

import itertools

import jax
import numpy as np
import pytest
from marks import long_rows_but

from jax_rank_metrics._verdicts.inference.p_values import mcnemar_test
from jax_rank_metrics._verdicts.inference.randomised import flipped_sums, sign_flip_test

SIDES = ("two-sided", "greater", "less")
KEY = jax.random.key(3)
COMPILED = (("two-sided", False), ("less", True))


def shares(statistics, mid_p):
    """The share of statistics that reach the first; equal ones count half under `mid_p`."""
    near = np.isclose(statistics, statistics[0], rtol=1e-9, atol=1e-9)
    above = (statistics > statistics[0]) & ~near
    return np.mean(above + near * (0.5 if mid_p else 1.0))


def all_flips(terms):
    """The terms under all sign patterns, `[patterns, lists, comparisons]`."""
    patterns = np.array(list(itertools.product((1, -1), repeat=len(terms))))
    return patterns[:, :, None] * terms


def directed(statistics, alternative):
    """Statistics that are larger the farther they are from 0."""
    return {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[
        alternative
    ](statistics)


def terms_of(rng, lists=8):
    """Comparisons of all kinds: similar, sparse, scaled, in tenths, and not different."""
    terms = rng.normal(0.4, 1, (lists, 7))
    terms[:, 1] = terms[:, 0] + 0.2 * rng.normal(size=lists)
    terms[:, 2] = np.where(np.arange(lists) < 3, terms[:, 2], 0)
    terms[:, 3] *= 1000
    terms[:, 4] = rng.integers(-2, 5, lists) / 10
    terms[:, 5] = -2 * terms[:, 4]
    terms[:, 6] = 0
    return terms


@pytest.mark.parametrize("mid_p", [False, True])
@pytest.mark.parametrize("alternative", SIDES)
def test_p_by_brute_force(rng, alternative, mid_p):
    """p is the share of all patterns; equal sums count half with mid-p.

    p_max steps down through the largest t of all patterns, from the largest t on.
    """
    terms = terms_of(rng)
    flipped = all_flips(terms)
    sums = directed(flipped.sum(1), alternative)
    p = [shares(column, mid_p) for column in sums.T]
    p[6] = 1
    result = sign_flip_test(terms, KEY, 256, alternative, mid_p)
    np.testing.assert_allclose(result.p, p)
    assert result.samples == 0 and result.p_max is None
    terms, flipped = terms[:, :6], flipped[..., :6]
    t = flipped.mean(1) / flipped.std(1, ddof=1) * np.sqrt(len(terms))
    t = directed(t, alternative)
    order = sorted(range(6), key=lambda column: -t[0, column])
    p_max, bound = np.empty(6), 0
    for place, column in enumerate(order):
        largest = t[:, order[place:]].max(1)
        assert largest[0] == t[0, column]
        bound = max(bound, shares(largest, mid_p))
        p_max[column] = bound
    result = sign_flip_test(terms, KEY, 256, alternative, mid_p, with_max=True)
    np.testing.assert_allclose(result.p_max, p_max)
    np.testing.assert_allclose(result.p, p[:6])


@pytest.mark.parametrize(
    "alternative, mid_p",
    long_rows_but(COMPILED, itertools.product(SIDES, (False, True))),
)
def test_random_patterns(rng, alternative, mid_p):
    """Random patterns of 14 lists give nearly the p and p_max of all of them."""
    terms, samples = terms_of(rng, 14), 2**14
    exact = sign_flip_test(terms, KEY, samples, alternative, mid_p, with_max=True)
    drawn = sign_flip_test(terms, KEY, samples - 1, alternative, mid_p, with_max=True)
    assert (exact.samples, drawn.samples) == (0, samples - 1)
    for p, of_samples in ((exact.p, drawn.p), (exact.p_max, drawn.p_max)):
        slack = 5 * np.sqrt(p * (1 - p) / samples) + 1 / samples
        assert (np.abs(of_samples - p) <= slack).all()
        assert drawn.p[6] == drawn.p_max[6] == 1
    # Every sample counts once, or half.
    counts = drawn.p * samples * (2 if mid_p else 1)
    np.testing.assert_allclose(counts, counts.round())


def test_a_largest_t_of_one_is_p(rng):
    """One comparison needs no correction, and copies of one need none either."""
    terms = np.repeat(rng.normal(0.3, 1, (40, 1)), 4, axis=1) * [1, 3, 1e-6, 1e6]
    result = sign_flip_test(terms, KEY, 2000, with_max=True)
    assert len({*result.p, *result.p_max}) == 1 and 0 < result.p[0] < 1


def test_no_two_patterns_are_alike():
    """Sums of powers of 2 tell them apart."""
    sums = flipped_sums(2.0 ** np.arange(23, dtype=np.float32)[:, None], KEY, 64)
    assert len(np.unique(sums)) == 64


@pytest.mark.parametrize("lists", [0, 1])
def test_no_evidence(lists):
    """No list and one list say nothing, nor do differences of 0."""
    for terms in (np.ones((lists, 2)), np.zeros((5, 2))):
        for mid_p in (False, True) if not terms.any() else (False,):
            result = sign_flip_test(terms, KEY, 100, mid_p=mid_p, with_max=True)
            assert (result.p == 1).all() and (result.p_max == 1).all()
    for alternative in SIDES:
        assert mcnemar_test(np.zeros((lists, 1)), alternative) == 1
