"""Metrics of all items at once: their counts, values, bounds, and how they merge."""

import math
import struct

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P
from sources import make_mesh

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.ordering.keys import score_bin
from jax_rank_metrics._engine.states import pooled as kernel

ITEMS, BITS = 24, 8  # in most tests, so that they share compiled programs
TINY, ULP = float(np.float32(1e-45)), float(np.nextafter(np.float32(1), np.float32(2)))
SPECIAL = (0.0, -0.0, TINY, -TINY, 1.0, ULP, -ULP, 3e38, math.inf, -math.inf)


def bin_key(score, bits):
    """Returns what a bin keeps of a score: the leading bits of its ordered pattern."""
    pattern = struct.unpack("<i", struct.pack("<f", score + 0.0))[0]
    key = pattern if pattern >= 0 else -(pattern & 0x7FFFFFFF)
    return key >> (32 - bits)


def auc_of_pairs(labels, keys, weights):
    """Compares all pairs; None if a class is missing."""
    y, keys, weights = np.array(labels, bool), np.array(keys), np.array(weights)
    pairs = np.outer(weights * y, weights * ~y)
    above = (keys[:, None] > keys) + (keys[:, None] == keys) / 2
    return (pairs * above).sum() / pairs.sum() if pairs.any() else None


def precision_of_loops(labels, keys):
    """Returns expected average precision over orders of ties; None without positives."""
    total = 0.0
    for key in set(keys):
        tied = [y for y, x in zip(labels, keys, strict=True) if x == key]
        above = [y for y, x in zip(labels, keys, strict=True) if x > key]
        hits, size = sum(tied), len(tied)
        rest = (hits - 1) / (size - 1) if size > 1 else 0
        for j in range(size):
            precision = (sum(above) + 1 + j * rest) / (len(above) + j + 1)
            total += hits / size * precision
    return total / sum(labels) if any(labels) else None


def check(state, exact, binned):
    """Checks a state against loops over the scores, and over their bins."""
    low, high = map(float, state.bounds())
    has_items = float(state.positives) + float(state.negatives) > 0
    counts = has_items, has_items and exact is None
    assert (int(state.lists), int(state.undefined)) == counts
    if exact is None:
        assert (float(state), low, high) == (0, 0, 0)
        return
    assert 0 <= low <= exact <= high <= 1
    assert low <= float(state) <= high
    np.testing.assert_allclose(float(state), binned, atol=2e-6)


@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from(SPECIAL) | st.floats(width=32, allow_nan=False),
            st.sampled_from([1, 1, 1, 0.1, 1e-6, 1e6, 0, -1, math.nan]),
        ),
        max_size=ITEMS,
    )
)
@example([(True, ULP, 1), (False, 1.0, 1)])  # in order, in one bin
@settings(deadline=None, max_examples=20)
def test_values_and_bounds_are_those_of_loops(items):
    """All scores there are, with ties, padding and weights that remove items."""
    padded = [*items, *[(1, math.nan, 1)] * (ITEMS - len(items))]
    labels, scores, weights = (
        np.array(x, np.float32) for x in zip(*padded, strict=True)
    )
    mask = np.arange(ITEMS) < len(items)
    y, exact = [bool(item[0]) for item in items], [item[1] for item in items]
    binned = [bin_key(x, BITS) for x in exact]

    state = jrm.pooled_roc_auc(labels, scores, mask, bits=BITS)
    ones = [1.0] * len(y)
    check(state, auc_of_pairs(y, exact, ones), auc_of_pairs(y, binned, ones))
    positive = sum(y)
    assert (float(state.positives), float(state.negatives)) == (
        positive,
        len(y) - positive,
    )
    state = jrm.pooled_average_precision(labels, scores, mask, bits=BITS)
    check(state, precision_of_loops(y, exact), precision_of_loops(y, binned))

    state = jrm.pooled_roc_auc(labels, scores, mask, weights, bits=BITS)
    kept = [i for i, item in enumerate(items) if item[2] > 0]
    y, exact, binned = ([x[i] for i in kept] for x in (y, exact, binned))
    w = [float(weights[i]) for i in kept]
    check(state, auc_of_pairs(y, exact, w), auc_of_pairs(y, binned, w))


def test_counts_are_exact_however_many(rng):
    """Merged with itself, a state of 24 items counts 10¹¹ of them, and loses none."""
    labels, scores = rng.random(ITEMS) < 0.4, rng.normal(size=ITEMS).astype("f")
    state = first = jrm.pooled_roc_auc(labels, scores, bits=BITS)
    total = np.asarray(first.sums.high, np.float64)
    for _ in range(20):
        state, total = jrm.merge(state, state, state), 3 * total
    assert total.sum() > 8e10
    counts = np.asarray(state.sums.high, np.float64) + np.asarray(state.sums.low)
    np.testing.assert_array_equal(counts, total)
    np.testing.assert_allclose(float(state), float(first), rtol=1e-6)
    average = jrm.PooledAveragePrecision(state.sums)
    # Expected over the orders of many copies, which are ties: the limit of one bin's mean.
    low, high = average.bounds()
    assert low <= average.compute() <= high


def test_average_precision_of_many_items_in_few_bins():
    """Sums of reciprocals over millions of tied ranks equal the sums in float64."""
    counts = np.array([[3, 10**7, 0, 12_345, 7], [0, 10**9, 5, 678, 10**6]], np.float64)
    sums = np.zeros((2, 256))
    sums[:, 100:105] = counts
    state = jrm.PooledAveragePrecision.empty(8)
    pair = jax.tree.map(lambda x: x.astype(np.float32), state.sums)
    high = sums.astype(np.float32)
    pair = type(pair)(jnp.asarray(high), jnp.asarray((sums - high).astype(np.float32)))
    value, above = 0.0, np.zeros(2)
    for hits, others in counts.T:
        items, start = hits + others, above.sum()
        rest = (hits - 1) / (items - 1) if items > 1 else 0
        ends = start + 0.5 + np.array([0, items])
        reciprocals = np.log(ends[1] / ends[0]) - np.diff(1 / 24 / ends**2)[0] * -1
        if start + items < 100:
            reciprocals = sum(1 / (start + j) for j in range(1, int(items) + 1))
        slope = above[0] + 1 - rest * (start + 1)
        value += hits / items * (slope * reciprocals + rest * items)
        above += hits, others
    state = jrm.PooledAveragePrecision(pair)
    np.testing.assert_allclose(float(state), value / counts[0].sum(), rtol=3e-5)


def test_weights_lose_nothing_in_one_bin(rng):
    """Long sums of weights of all sizes are exact to 2⁻²², while floats drift."""
    size = 3 * kernel.CHUNK // 2
    for weights in (np.full(size, 0.1), rng.gamma(0.05, size=size) ** 4 * 1e6):
        weights = weights.astype(np.float32)
        where = np.zeros(size, np.int32)
        where[size // 2 :] = 3
        sums = jax.jit(kernel.weights_by_bin, static_argnums=3)(
            where, weights, where > 1, 4
        )
        exact = np.clip(weights, 2.0**-64, 2.0**64).astype(np.float64)
        expected = np.bincount(where, exact, minlength=4)
        actual = np.asarray(sums.high, np.float64) + np.asarray(sums.low)
        np.testing.assert_allclose(actual, expected, rtol=2.0**-22)


def test_products_count_as_scatters_do(rng):
    """The products that TPUs run instead of scatters give the same counts and sums."""
    where = rng.integers(-3, 40, 500).astype(np.int32)
    columns = rng.integers(0, 256, (500, 2)).astype(np.float32)
    sums = jax.jit(kernel._product_sums, static_argnums=2)(where, columns, 32)
    is_counted = (where >= 0) & (where < 32)
    for column, actual in zip(columns.T, sums.T, strict=True):
        expected = np.bincount(where[is_counted], column[is_counted], minlength=32)
        np.testing.assert_array_equal(actual, expected)

    def lowered(platform, *arrays):
        traced = jax.jit(jrm.pooled_roc_auc).trace(*arrays)
        return traced.lower(lowering_platforms=(platform,)).as_text()

    y, s = jnp.zeros(500), jnp.zeros(500)
    for arrays in ((y, s), (y, s, None, s)):
        of_tpu = lowered("tpu", *arrays)
        assert "stablehlo.scatter" not in of_tpu and "stablehlo.dot_general" in of_tpu
        assert "stablehlo.scatter" in lowered("cuda", *arrays)


REAL = np.sort(
    [*SPECIAL[:-1], *10.0 ** np.arange(-45, 38), *-(10.0 ** np.arange(-45, 38))]
)
WHOLE = np.sort(
    [0, *(2 ** np.arange(31)), *-(2 ** np.arange(32)), 2**31 - 1, 2**24 + 1]
)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "uint8", "bool"])
def test_scores_of_every_dtype(dtype):
    """A higher score is never in a later bin, and no bin is beyond the last."""
    scores = WHOLE if dtype == "int32" else np.abs(WHOLE) % 200
    if "float" in dtype:
        scores = REAL
    with np.errstate(over="ignore"):
        scores = np.sort(np.asarray(scores).astype(jnp.dtype(dtype)), kind="stable")
    found = jax.jit(score_bin, static_argnums=1)(scores, 16)
    assert (np.diff(found) <= 0).all() and len(set(found.tolist())) > 1
    assert ((found >= 0) & (found < 2**16)).all()


@pytest.mark.long
def test_double_precision(rng):
    """Scores of 64 bits are binned as float32; states are wide, and outlive the setting."""
    with jax.enable_x64(True):
        found = np.asarray(score_bin(jnp.asarray(REAL * 1e30), 20))
        assert (np.diff(found) <= 0).all()
        scores, labels = rng.normal(size=200), rng.random(200) < 0.3
        state = jrm.pooled_roc_auc(labels, scores, None, np.full(200, 0.1))
        low, high = state.bounds()
        assert low <= auc_of_pairs(labels, scores, [1.0] * 200) <= high
        assert state.compute().dtype == jnp.float64
    assert state.compute().dtype == jnp.float32


@pytest.mark.long
def test_devices(rng):
    """Six devices add their counts, in states of different numbers of bins."""
    arrays = rng.random((24, 64)) < 0.3, rng.normal(size=(24, 64))
    labels, scores = (x.astype("f") for x in arrays)

    def reduce(y, s):
        states = jrm.pooled_roc_auc(y, s), jrm.pooled_average_precision(y, s, bits=8)
        return jrm.all_reduce(states, ("a", "b"))

    mesh = make_mesh((3, 2), ("a", "b"))
    over = jax.shard_map(reduce, mesh=mesh, in_specs=P("a", "b"), out_specs=P())
    auc, average = jax.jit(over)(labels, scores)
    chex.assert_trees_all_equal(auc, jrm.pooled_roc_auc(labels, scores))
    expected = jrm.pooled_average_precision(labels, scores, bits=8)
    chex.assert_trees_all_equal(average, expected)


def test_what_has_no_value():
    """One class, and nothing at all."""
    assert repr(jrm.PooledRocAuc.empty(8)) == (
        "PooledRocAuc(0.000, 0.000 to 0.000, 0 lists, 0 undefined)"
    )

    def few(labels):
        """Makes some items with rising scores, and masks the others."""
        mask = np.arange(ITEMS) < len(labels)
        labels = np.pad(np.array(labels, np.float32), (0, ITEMS - len(labels)))
        return labels, np.arange(ITEMS, dtype=np.float32), mask

    for labels in ([1, 1], [0, 0]):
        state = jrm.pooled_roc_auc(*few(labels), bits=BITS)
        assert (float(state), int(state.lists), int(state.undefined)) == (0, 1, 1)
    assert float(jrm.pooled_average_precision(*few([1, 1]), bits=BITS)) == 1
    nothing = jrm.pooled_roc_auc(np.zeros((2, 0)), np.zeros((2, 0)), None, np.zeros(2))
    assert int(nothing.lists) == 0
    padding = jrm.pooled_roc_auc(*few([0, -1, np.nan, 1]), bits=BITS)
    assert (float(padding), float(padding.positives)) == (1, 1)
    two = jrm.pooled_roc_auc(*few([3, 1]), relevance_threshold=2, bits=BITS)
    assert float(two) == 0
    assert jrm.compute({"auc": two}, flat=True, host=True) == {"auc": 0.0}
