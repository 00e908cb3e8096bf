"""Beyond accuracy: exposure over all lists. For values of lists see test_profiles.py."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm

ITEMS, K = 12, 4


def recommended(rng, lists=16):
    """Draws lists of distinct ids; one item is in all lists, and some are in none."""
    ids = [rng.permutation(ITEMS - 3)[:K] for _ in range(lists)]
    ids = np.stack(ids).astype(np.int32)
    ids[:, 0] = 10
    return ids


def by_loops(ids, num_items, discount=lambda rank: 1):
    """Computes coverage, Gini index and entropy as RecBole does, and personalization."""
    counts = {}
    for row in ids:
        for rank, item in enumerate(row, 1):
            counts[item] = counts.get(item, 0) + discount(rank)
    ordered, total = sorted(counts.values()), sum(counts.values())
    first = num_items - len(ordered) + 1
    gini = sum((2 * i - num_items - 1) * c for i, c in enumerate(ordered, first)) / (
        num_items * total
    )
    entropy = -sum(c / total * np.log(c / total) for c in ordered)
    pairs = list(itertools.combinations(map(set, ids), 2))
    shared = sum(len(a & b) for a, b in pairs)
    lengths = sum((len(a) + len(b)) / 2 for a, b in pairs)
    return len(counts) / num_items, gini, entropy, 1 - shared / lengths


@jax.jit
def numbers(state):
    """Stacks all numbers that an `Exposure` computes."""
    names = "coverage", "gini", "entropy", "personalization"
    return jnp.stack([getattr(state, name)() for name in names], -1)


def test_exposure_is_that_of_loops(rng):
    """Empty lists and ids outside the catalogue change nothing."""
    ids = recommended(rng)
    state = jrm.exposure(ids, ITEMS)
    expected = by_loops(ids, ITEMS)
    np.testing.assert_allclose(numbers(state), expected, atol=1e-6)
    np.testing.assert_array_equal(
        state.counts, np.bincount(ids.ravel(), minlength=ITEMS)
    )
    none = np.array([[-1, ITEMS, -(2**31), 2**31 - 1]] * 3, np.int32)
    with_padding = jrm.exposure(np.concatenate([ids, none]), ITEMS)
    np.testing.assert_allclose(numbers(with_padding), expected, atol=1e-6)
    assert with_padding.non_empty == 16
    text = f"Exposure(coverage {expected[0]:.3f}, gini {expected[1]:.3f}, "
    assert str(with_padding) == text + "19 lists, 3 undefined)"
    nothing = numbers(jrm.Exposure.empty(ITEMS, K))
    np.testing.assert_array_equal(nothing, np.zeros(4))
    assert not np.signbit(nothing).any()


def test_lists_of_many_lengths(rng):
    """Ranks are discounted without gaps, and pairs of lists counted by their lengths."""
    ids = recommended(rng)
    ids[rng.random(ids.shape) < 0.4] = -1
    ids[:3], ids[3, 1:] = -1, ITEMS
    kept = [[i for i in row if 0 <= i < ITEMS] for row in ids.tolist()]
    expected = by_loops([row for row in kept if row], ITEMS)
    np.testing.assert_allclose(numbers(jrm.exposure(ids, ITEMS)), expected, atol=1e-6)
    discounted = by_loops(kept, ITEMS, lambda rank: 1 / rank)
    actual = numbers(jrm.exposure(ids, ITEMS, jrm.reciprocal_discount))
    np.testing.assert_allclose(actual[:3], discounted[:3], atol=1e-6)
    np.testing.assert_allclose(actual[3], expected[3], atol=1e-6)


@pytest.mark.long
def test_discounts_do_not_drift(rng):
    """Sums of discounts stay exact over many merges and lists."""
    ids = np.zeros((10**6, K), np.int32)
    state = jrm.exposure(ids, ITEMS, jrm.log2_discount)
    exact = 10**6 * (1 / np.log2(np.arange(2, K + 2))).sum()
    np.testing.assert_allclose(state.sums.high[0], exact, rtol=3e-7)
    stacked = jax.tree.map(lambda x: jnp.stack([x] * 999), state)
    pair = stacked.reduce().sums
    np.testing.assert_allclose(
        float(pair.high[0]) + float(pair.low[0]), 999 * float(state.sums.high[0])
    )
    ids = recommended(rng)
    with jax.enable_x64(True):
        state = jrm.exposure(ids, ITEMS, jrm.reciprocal_discount)
        expected = by_loops(ids, ITEMS, lambda rank: 1 / rank)[:3]
        np.testing.assert_allclose(numbers(state)[:3], expected, rtol=1e-12)
    np.testing.assert_allclose(numbers(state)[:3], expected, rtol=1e-6)


def test_counts_end_at_the_largest_integer():
    """Counts of merged states stop there, and do not wrap."""
    counts = np.full(3, 2**31 - 2, np.int32)
    full = jrm.Exposure(K, counts, np.array([5, 0], np.int32))
    assert (full.merge(full).counts == 2**31 - 1).all()
    shown = jrm.compute({"shown": full}, host=True)
    assert shown == {"shown": float(full.coverage())}


def test_large_exposure(rng):
    """For a million items in ten million lists, float32 agrees with float64."""
    counts = np.minimum(rng.zipf(1.3, 10**6), 10**7).astype(np.int32)
    k, lists = 100, 10**7
    c, total = np.sort(counts).astype(np.float64), counts.sum(dtype=np.float64)
    n = len(c)
    gini = ((2 * np.arange(1, n + 1) - n - 1) * c).sum() / (n * total)
    entropy = -(c / total * np.log(c / total)).sum()
    personal = 1 - (c * (c - 1)).sum() / (total * (lists - 1))
    state = jrm.Exposure(k, jnp.asarray(counts), jnp.array([lists, 0], jnp.int32))
    np.testing.assert_allclose(numbers(state), [1, gini, entropy, personal], rtol=1e-5)


def test_ties_are_read_in_one_order(rng):
    """Exposure warns if items tie, and refuses a ranking without an order."""
    scores = rng.integers(0, 3, (6, 5)).astype(np.float32)
    scores[0] = 0
    labels = np.ones_like(scores)
    ranking = jrm.rank(labels, scores, k=3)
    with pytest.warns(UserWarning, match="the same in every list; pass a key to rank"):
        jrm.exposure(ranking, ITEMS)
    expected = jrm.rank(labels, scores, ties="expected")
    with pytest.raises(ValueError, match="ids: ties is 'expected', but this metric"):
        jrm.exposure(expected, ITEMS)


def test_double_precision(rng):
    """With x64 on, ids may exceed int32, and numbers keep the precision of float64."""
    with jax.enable_x64(True):
        ids = recommended(rng).astype(np.int64)
        state = jrm.exposure(ids + 2**33 * (ids == 0), ITEMS)
        assert state.counts.dtype == jnp.int32 and state.counts[0] == 0
        computed = numbers(jrm.exposure(ids, ITEMS))
        np.testing.assert_allclose(computed, by_loops(ids, ITEMS), rtol=1e-12)
