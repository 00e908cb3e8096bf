"""Beyond accuracy: exposure over all lists, popularity, novelty and diversity."""

import itertools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

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
    computed = (
        state.coverage(),
        state.gini(),
        state.entropy(),
        state.personalization(),
    )
    return jnp.stack(computed, -1)


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
    assert (with_padding.lists, with_padding.undefined, with_padding.non_empty) == (
        19,
        3,
        16,
    )
    assert (
        str(with_padding)
        == f"Exposure(coverage {expected[0]:.3f}, gini {expected[1]:.3f}, 19 lists, 3 undefined)"
    )
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
    discount_fn = jrm.reciprocal_discount
    state = jrm.exposure(ids, ITEMS, discount_fn)
    discounted = by_loops(kept, ITEMS, lambda rank: 1 / rank)
    actual = numbers(state)
    np.testing.assert_allclose(actual[:3], discounted[:3], atol=1e-6)
    np.testing.assert_allclose(actual[3], expected[3], atol=1e-6)

    parts = [jrm.exposure(part, ITEMS, discount_fn) for part in np.split(ids, 2)]
    merged = jrm.merge(jrm.Exposure.empty(ITEMS, K, discounted=True), *parts)
    np.testing.assert_array_equal(merged.counts, state.counts)
    np.testing.assert_allclose(numbers(merged), actual, atol=1e-6)


@pytest.mark.long
def test_discounts_do_not_drift(rng):
    """Sums of discounts stay exact over many merges and lists, and over devices."""
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
    mesh = jax.make_mesh((8,), ("data",), (AxisType.Explicit,))
    over_devices = jax.shard_map(
        lambda x: jrm.all_reduce(jrm.exposure(x, ITEMS, jrm.log2_discount), "data"),
        mesh=mesh, in_specs=P("data"), out_specs=P(),
    )  # fmt: skip
    cut = jax.device_put(ids, NamedSharding(mesh, P("data")))
    chex.assert_trees_all_close(
        numbers(jax.device_get(jax.jit(over_devices)(cut))),
        numbers(jrm.exposure(ids, ITEMS, jrm.log2_discount)),
        atol=1e-6,
    )
    with jax.enable_x64(True):
        state = jrm.exposure(ids, ITEMS, jrm.reciprocal_discount)
        expected = by_loops(ids, ITEMS, lambda rank: 1 / rank)[:3]
        np.testing.assert_allclose(numbers(state)[:3], expected, rtol=1e-12)
    np.testing.assert_allclose(numbers(state)[:3], expected, rtol=1e-6)


def test_exposure_merges(rng):
    """Parts merge to the state of all lists in any order; `empty` adds nothing."""
    ids = recommended(rng)
    unsplit = jrm.exposure(ids, ITEMS)
    stacked = jax.vmap(lambda part: jrm.exposure(part, ITEMS))(ids.reshape(4, 4, K))
    chex.assert_trees_all_equal(stacked.reduce(), unsplit)
    parts = [jax.tree.map(lambda x, i=i: np.asarray(x)[i], stacked) for i in range(4)]
    chex.assert_trees_all_equal(jrm.merge(*parts), unsplit)
    chex.assert_trees_all_equal(jrm.merge(*parts[::-1]), unsplit)
    chex.assert_trees_all_equal(jrm.Exposure.empty(ITEMS, K).merge(unsplit), unsplit)
    np.testing.assert_allclose(numbers(stacked)[2], numbers(parts[2]), atol=1e-6)
    assert jrm.compute({"shown": unsplit}, host=True) == {
        "shown": float(unsplit.coverage())
    }
    full = jrm.Exposure(
        K, jnp.full(3, 2**31 - 2, jnp.int32), jnp.array([5, 0], jnp.int32)
    )
    assert (full.merge(full).counts == 2**31 - 1).all()


def test_exposure_over_devices(rng):
    """Every device gets the counts of all, and their type says so."""
    ids = recommended(rng)
    mesh = jax.make_mesh((8,), ("data",), (AxisType.Explicit,))
    cut = jax.device_put(ids, NamedSharding(mesh, P("data")))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=P("data"), out_specs=P())
    def everywhere(ids):
        return jrm.all_reduce({"shown": jrm.exposure(ids, ITEMS)}, "data")

    chex.assert_trees_all_equal(
        jax.device_get(everywhere(cut)["shown"]), jrm.exposure(ids, ITEMS)
    )
    chex.assert_trees_all_equal(
        jax.device_get(jrm.exposure(cut, ITEMS)), jrm.exposure(ids, ITEMS)
    )


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


TRAINING = np.array([4, 0, 12, 1, 7, 0, 3, 90, 2, 1, 30, 8])
KS = (1, 3, None)


@jax.jit
def of_lists(ids, counts, embeddings):
    """Computes the metrics that read each list by itself."""
    return {
        "log": jrm.popularity(ids, counts, KS),
        "plain": jrm.popularity(ids, counts, k=KS, log=False),
        "novelty": jrm.novelty(ids, counts, KS),
        "diversity": jrm.intra_list_diversity(ids, embeddings, k=(2, 3, None)),
    }


def lists_of_ids(rng):
    """Makes lists with gaps and repeats, one with a single item and one without items."""
    ids = rng.integers(-3, ITEMS + 2, (8, 6)).astype(np.int32)
    ids[0], ids[1, 1:] = -1, 99
    ids[1, 0] = 3
    vectors = rng.normal(size=(ITEMS, 5)).astype(np.float32)
    vectors[4], vectors[7] = 0, vectors[6] * 1e25
    return ids, vectors


def test_lists_are_those_of_loops(rng):
    """They equal loops over the definitions, pair by pair for diversity."""
    ids, vectors = lists_of_ids(rng)
    actual = of_lists(ids, TRAINING, vectors)
    seen, total = np.maximum(TRAINING, 1), TRAINING.sum()
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    unit = wide / np.where(lengths > 0, lengths, 1)
    for i, row in enumerate(ids):
        kept = [int(j) for j in row if 0 <= j < ITEMS]
        for name, lists in actual.items():
            has_pairs = len(kept) > (name == "diversity")
            assert bool(lists.defined[i]) == has_pairs and lists.weights[i] == 1
        for at, k in enumerate(KS):
            top = kept[:k]
            expected = {
                "log": np.mean(np.log(seen[top])) if top else 0,
                "plain": np.mean(TRAINING[top]) if top else 0,
                "novelty": np.mean(-np.log2(seen[top] / total)) if top else 0,
            }
            for name, value in expected.items():
                np.testing.assert_allclose(actual[name].values[i, at], value, rtol=2e-6)
            top = kept[: (2, 3, None)[at]]
            pairs = [unit[a] @ unit[b] for a, b in itertools.combinations(top, 2)]
            value = 1 - np.mean(pairs) if pairs else 0
            np.testing.assert_allclose(
                actual["diversity"].values[i, at], value, atol=1e-6
            )


@pytest.mark.long
def test_eager_mapped_and_sharded_are_the_same(rng):
    """They also read lists with several leading axes, and rankings by their items."""
    ids, vectors = lists_of_ids(rng)
    actual = of_lists(ids, TRAINING, vectors)
    mesh = jax.make_mesh((8,), ("data",), (AxisType.Explicit,))
    cut = jax.device_put(ids, NamedSharding(mesh, P("data")))
    replicated = [
        jax.device_put(x, NamedSharding(mesh, P())) for x in (TRAINING, vectors)
    ]
    mapped = jax.vmap(of_lists, (0, None, None))(ids, TRAINING, vectors)
    for values in (mapped, jax.device_get(of_lists(cut, *replicated))):
        chex.assert_trees_all_close(values, actual, atol=1e-5)
    eager = jrm.novelty(ids, TRAINING, KS)
    chex.assert_trees_all_close(eager, actual["novelty"], atol=1e-6)
    ranking = jrm.rank_ids(ids % ITEMS, ids[:, :1])
    chex.assert_trees_all_equal(
        jrm.novelty(ranking, TRAINING), jrm.novelty(ids % ITEMS, TRAINING)
    )
    chex.assert_trees_all_equal(
        jrm.exposure(ranking, ITEMS), jrm.exposure(ids % ITEMS, ITEMS)
    )


def test_double_precision(rng):
    """With x64 on, tables of float64 keep their precision, and so does `Exposure`."""
    ids, vectors = lists_of_ids(rng)
    with jax.enable_x64(True):
        lists = jrm.intra_list_diversity(
            ids.astype(np.int64), vectors.astype(np.float64)
        )
        assert lists.values.dtype == jnp.float64
        ids = recommended(rng).astype(np.int64)
        state = jrm.exposure(ids + 2**33 * (ids == 0), ITEMS)
        assert state.counts.dtype == jnp.int32 and state.counts[0] == 0
        computed = numbers(jrm.exposure(ids, ITEMS))
        np.testing.assert_allclose(computed, by_loops(ids, ITEMS), rtol=1e-12)
