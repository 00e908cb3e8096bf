"""Two rankings: overlaps and correlations, against loops from their definitions."""

import functools
import itertools
import re

import chex
import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest

import jax_rank_metrics as jrm

KS = (1, 3, None, 50)


@jax.jit
def all_functions(first, second):
    """Returns the results of all functions of two rankings."""
    return {
        "rbo": jrm.rank_biased_overlap(first, second),
        "overlap": jrm.overlap(first, second, KS),
        "jaccard": jrm.jaccard(first, second, k=KS),
        "tau": jrm.kendall_tau(first, second),
        "rho": jrm.spearman_rho(first, second),
    }


def extrapolated(a, b, p):
    """Computes equation 32 of Webber et al., depth by depth."""
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)
    x = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    total = sum(x[d] / d * p**d for d in range(1, n + 1))
    total += sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * total + ((x[n] - x[s]) / n + x[s] / s) * p**n


def by_loops(first, second):
    """Computes each function by loops; None if it is undefined."""
    a, b = (
        list(dict.fromkeys(i for i in x.tolist() if i >= 0)) for x in (first, second)
    )
    results = dict.fromkeys(("rbo", "overlap", "jaccard", "tau", "rho"))
    if a and b:
        results["rbo"] = extrapolated(a, b, 0.9)
        cut = [(set(a[:k]), set(b[:k])) for k in KS]
        results["overlap"] = [len(x & y) / min(len(x), len(y)) for x, y in cut]
    if a or b:
        results["jaccard"] = [
            len(x & y) / len(x | y) for x, y in ((set(a[:k]), set(b[:k])) for k in KS)
        ]
    positions = [b.index(i) for i in a if i in b]
    if (n := len(positions)) > 1:
        pairs = [
            np.sign(positions[j] - positions[i]) for j in range(n) for i in range(j)
        ]
        results["tau"] = np.mean(pairs)
        ranks = np.argsort(np.argsort(positions))
        results["rho"] = np.corrcoef(ranks, np.arange(n))[0, 1]
    return results


def lists_of_ids(rng, lists=24, firsts=12, seconds=9):
    """Draws lists with repeats and padding, some empty, with ids from all over int32."""
    ids = np.r_[-(2**31), -5, 0, 2**31 - 1, 2**30 + 1, rng.integers(1, 10**6, 9)]
    first = rng.choice(ids, (lists, firsts)).astype(np.int32)
    second = rng.choice(ids, (lists, seconds)).astype(np.int32)
    first[:2], second[1:3], second[3] = -1, -1, first[3, :seconds]
    first[4, 1:] = -7
    return first, second


def test_values_are_those_of_loops(rng):
    """Lists with padding and repeats, of any length, and empty ones."""
    first, second = lists_of_ids(rng)
    # As wide as the first, so that one program serves both orders.
    second = np.pad(second, ((0, 0), (0, 3)), constant_values=-1)
    results = jax.device_get(all_functions(first, second))
    for i in range(len(first)):
        for name, value in by_loops(first[i], second[i]).items():
            lists = results[name][i]
            assert bool(lists.defined) == (value is not None), (name, i)
            value = 0.0 if value is None else np.asarray(value)
            np.testing.assert_allclose(lists.values, value, atol=1e-6, err_msg=name)
    for lists in results.values():
        np.testing.assert_array_equal(lists.weights, np.ones(len(first)))
        assert lists.values.dtype == jnp.float32
    turned = all_functions(second, first)
    for name, lists in turned.items():
        chex.assert_trees_all_close(lists, results[name], atol=1e-6)


@pytest.mark.long
def test_long_lists(rng):
    """100,000 ranks stay within 1e-5 of sums in float64, and need memory of a few lists."""
    size = 100_000
    first = rng.permutation(10 * size)[:size].astype(np.int32)
    second = first[np.argsort(np.arange(size) + 0.1 * size * rng.random(size))]
    second = np.where(rng.random(size) < 0.1, -1 - second, second)
    second = np.r_[second[second >= 0], 20 * size + np.arange(50)].astype(np.int32)
    rank_in_second = np.full(21 * size, -1)
    rank_in_second[second] = np.arange(len(second))
    common = rank_in_second[first] >= 0
    ranks = np.stack([np.arange(size)[common], rank_in_second[first][common]])
    depth = np.arange(1, size + 1)
    shared = np.cumsum(np.bincount(ranks.max(0), minlength=size))
    p, s = 0.9999, len(second)
    assumed = np.where(depth > s, shared[s - 1] * (depth - s) / (s * depth), 0)
    expected = (1 - p) / p * ((shared / depth + assumed) * p**depth).sum()
    expected += ((shared[-1] - shared[s - 1]) / size + shared[s - 1] / s) * p**size
    values = jrm.rank_biased_overlap(first, second, p).values
    np.testing.assert_allclose(values, expected, atol=1e-6)
    dense = np.argsort(np.argsort(ranks[1]))
    values = jrm.spearman_rho(first, second).values
    expected = np.corrcoef(np.arange(len(dense)), dense)[0, 1]
    np.testing.assert_allclose(values, expected, atol=1e-5)
    stats = pytest.importorskip("scipy.stats")
    values = jrm.kendall_tau(first, second).values
    expected = stats.kendalltau(np.arange(len(dense)), dense).statistic
    np.testing.assert_allclose(values, expected, atol=1e-5)
    for fn in (jrm.rank_biased_overlap, jrm.kendall_tau):
        program = jax.jit(fn).lower(first, second).compile()
        memory = program.memory_analysis()
        assert memory is None or memory.temp_size_in_bytes < 100 * first.nbytes


@pytest.mark.long
def test_double_precision(rng):
    """Ids may exceed int32; values are float64 if the labels of a ranking are."""
    first, second = lists_of_ids(rng, lists=6)
    expected = jrm.overlap(first, second, KS)
    with jax.enable_x64(True):
        first, second = first.astype(np.int64), second.astype(np.int64)
        large_ids = [np.where(x < 0, x, x + 2**40) for x in (first, second)]
        results = jrm.overlap(*large_ids, KS)
        chex.assert_trees_all_close(results, expected, atol=1e-6)
        assert not jrm.overlap(large_ids[0], second.astype(np.int32)).values.any()
        ranked = [jrm.rank_retrieved(np.ones((2, 5))) for _ in range(2)]
        tau = jrm.kendall_tau(*ranked)
        assert tau.values.dtype == jnp.float64
        np.testing.assert_allclose(tau.values, 1, rtol=1e-15)


def test_no_ranks():
    """Lists without ranks hold no id."""
    no_ids, ids = np.zeros((2, 0), np.int32), np.array([[1, 2], [3, 3]])
    for name, lists in all_functions(no_ids, ids).items():
        assert lists.defined.tolist() == [name == "jaccard"] * 2
        assert not lists.values.any()
    assert not jrm.overlap(no_ids, no_ids).defined.any()


def test_ties_are_means_over_all_orders(rng):
    """It holds for whole lists, and for a list that is cut within a tie group."""
    scores = rng.integers(0, 3, (2, 6, 5)).astype(np.float32)
    scores[:, 0] = [3, 0, 0, 0, 0]  # five that tie have 14,400 pairs of orders
    mask = rng.random(scores.shape) < 0.9
    labels = np.ones_like(scores[0])
    orders = [
        [np.array(x.all_orders) for x in oracle.lists(labels, *lists)]
        for lists in zip(scores, mask, strict=True)
    ]
    for depth in (None, 3):
        pair = [
            jrm.rank(labels, *x, k=k)
            for *x, k in zip(scores, mask, (depth, None), strict=True)
        ]
        results = {
            "rbo": jrm.rank_biased_overlap,
            "overlap": functools.partial(jrm.overlap, k=KS[:2]),
        }
        if depth is None:
            results = {"tau": jrm.kendall_tau, "rho": jrm.spearman_rho}
        results = {name: function(*pair) for name, function in results.items()}
        for i, lists in enumerate(zip(*orders, strict=True)):
            values = [by_loops(a[:depth], b) for a, b in itertools.product(*lists)]
            for name, result in results.items():
                mean = np.mean([np.asarray(x[name] or 0) for x in values], axis=0)
                mean = mean[:2] if name == "overlap" else mean
                np.testing.assert_allclose(result.values[i], mean, atol=1e-6)


@pytest.mark.long
def test_a_tied_ranking_and_itself(rng):
    """It agrees with itself by tau-b alone, which is undefined if all items tie."""
    scores = rng.integers(0, 3, (6, 5)).astype(np.float32)
    scores[0] = 0
    same = jrm.rank(np.ones_like(scores), scores)
    np.testing.assert_allclose(
        jrm.kendall_tau(same, same, "b").values[1:], 1, rtol=1e-6
    )
    assert not jrm.kendall_tau(same, same, "b").defined[0]
    with pytest.warns(UserWarning, match="first: items of the ranking tie"):
        jrm.jaccard(same, jnp.zeros((6, 1), int))


def test_ties_of_published_code():
    """The a-variant, by the code of Corsi and Urbano's paper."""
    known = [
        ("3(157)9", "(19)734", 0.930093081332594, 0.678580739450433),
        ("253(14)", "582(39)", 0.968922741966306, 0.580994268838527),
        ("(1568)4327", "(18)6543(27)0", 0.959906916802432, 0.939211367148046),
    ]
    for *lists, p, value in known:
        scores = np.zeros((2, 10), np.float32)
        for row, text in zip(scores, lists, strict=True):
            for rank, group in enumerate(re.findall(r"\(\d+\)|\d", text), 1):
                row[[int(x) for x in group.strip("()")]] = 1 / rank
        pair = [jrm.rank(np.ones(10), x, x > 0) for x in scores]
        result = jrm.rank_biased_overlap(*pair, p)
        np.testing.assert_allclose(result.values, value, rtol=1e-6)


def test_ties_across_a_cut_without_scores():
    """They are refused, or NaN if they are not known."""
    scores = np.float32([[3, 2, 2, 1], [2, 2, 1, 1]])

    def overlap(scores):
        ranking = jrm.rank_scores(scores, jnp.zeros((2, 1), int), k=2)
        return jrm.overlap(ranking, jnp.array([[0, 1]] * 2), 2).values

    with pytest.raises(ValueError, match="first: items tie across the last rank of"):
        overlap(scores)
    np.testing.assert_array_equal(jax.jit(overlap)(scores), [np.nan, 1])
