"""Items keep their identity on every layout, retrieved or not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import POLICIES, policy
from jax.sharding import PartitionSpec as P
from sources import check_same, make_mesh

import jax_rank_metrics as jrm

LISTS, ITEMS = 4, 24
ALL = (
    *("ndcg@5", "dcg@5", "precision@5", "recall@5"),
    *("hit_rate@5", "map@5", "mrr@5"),
)


def draw(rng, *, tied):
    """Draws lists with both kinds of padding, one of them all masked."""
    labels = rng.integers(-1, 3, (LISTS, ITEMS)).astype(np.float32)
    scores = rng.permuted(np.tile(np.arange(ITEMS), (LISTS, 1)), axis=-1)
    scores = (scores // (4 if tied else 1)).astype(np.float32)
    mask = rng.random(labels.shape) > 0.15
    mask[1] = False
    return labels, scores, mask


def stable(labels, scores, mask):
    """Returns items by score, then by index; −1 beyond the last."""
    results = np.full(labels.shape, -1)
    for row in range(len(labels)):
        exists = [i for i in range(ITEMS) if mask[row, i] and labels[row, i] >= 0]
        results[row, : len(exists)] = sorted(exists, key=lambda i: -scores[row, i])
    return results


def pack(*arrays, order=None):
    """Returns arrays packed flat, and the arguments that say so."""
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), ITEMS)
    order = np.arange(ids.size) if order is None else order
    flat = [x.reshape(-1, *x.shape[2:])[order] for x in arrays]
    return flat, {"segment_ids": ids[order], "num_segments": LISTS}


def over_devices(run, *arrays):
    """Maps `run` over devices, by which items are sharded."""
    mesh = make_mesh((4,), ("model",))
    spec = P(None, "model")
    return jax.jit(jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=P()))(*arrays)


@pytest.mark.long
def test_items_of_rows_and_devices(rng):
    """Ties go by index, or by a hash that is independent of labels and of the batch."""
    labels, scores, mask = draw(rng, tied=True)
    order = stable(labels, scores, mask)
    items = jrm.rank(labels, scores, mask, ties="stable").items
    assert items.dtype == jnp.int32
    np.testing.assert_array_equal(items, order)
    cut = jrm.rank(labels, scores, mask, ties="stable", k=6).items
    np.testing.assert_array_equal(cut, order[:, :6])

    hashed = np.asarray(jrm.rank(labels, scores, mask).items)
    for row in range(LISTS):
        listed = hashed[row][hashed[row] >= 0]
        assert sorted(listed) == sorted(order[row][order[row] >= 0])
        assert (np.diff(scores[row, listed]) <= 0).all()
    assert (hashed != order).any()
    cut = jrm.rank(labels, scores, mask, k=6).items
    np.testing.assert_array_equal(cut, hashed[:, :6])
    others = np.where(labels >= 0, 2 - labels, labels), scores, mask & (labels >= 0)
    backwards = jrm.rank(*(x[::-1] for x in others)).items
    np.testing.assert_array_equal(backwards[::-1], hashed)

    values = over_devices(
        lambda *x: [
            jrm.rank(*x, k=6, ties=ties, items_axis="model").items
            for ties in ("stable", None)
        ],
        *(labels, scores, mask),
    )
    np.testing.assert_array_equal(values[0], order[:, :6])
    np.testing.assert_array_equal(values[1], hashed[:, :6])

    flat, options = pack(labels, scores, mask)
    ranking = jrm.rank(*flat, **options)
    items, lists = np.asarray(ranking.items), np.asarray(ranking.segment_ids)
    for row in range(LISTS):
        mine = items[(lists == row) & (items >= 0)] - row * ITEMS
        np.testing.assert_array_equal(mine, hashed[row][hashed[row] >= 0])


def test_items_of_expected_ties_are_blind():
    """Tied items stand in the order of a hash, as they do without a policy."""
    labels = np.arange(12)[::-1]
    expected, by_hash = (
        jrm.rank(labels, np.zeros(12), ties=ties).items for ties in ("expected", None)
    )
    np.testing.assert_array_equal(expected, by_hash)
    assert expected.tolist() != sorted(expected.tolist())


def test_items_of_packed_lists(rng):
    """Items are indices of the flat array, list after list; items of no list come last."""
    labels, scores, mask = draw(rng, tied=True)
    shuffled = rng.permutation(LISTS * ITEMS)
    flat, options = pack(labels, scores, mask, order=shuffled)
    nowhere = rng.random(flat[0].shape) < 0.1
    options["segment_ids"] = np.where(nowhere, -3, options["segment_ids"])
    ranking = jrm.rank(*flat, **options, ties="stable")
    items, lists = np.asarray(ranking.items), np.asarray(ranking.segment_ids)
    assert (np.diff(lists) >= 0).all() and (lists == LISTS).sum() == nowhere.sum()
    assert (items[lists == LISTS] == -1).all()
    labels, scores, mask = flat
    for row in range(LISTS):
        exists = np.flatnonzero(mask & (labels >= 0) & (options["segment_ids"] == row))
        expected = sorted(exists, key=lambda i: (-scores[i], i))
        mine = items[lists == row]
        assert mine[: len(expected)].tolist() == expected
        assert (mine[len(expected) :] == -1).all()


def test_items_of_what_was_retrieved():
    """Items are indices of the retrieved list; later ones move up."""
    ranking = jrm.rank_retrieved(
        np.array([[1, -1, 1, 0], [0, 1, 2, 3]]),
        np.array([[True, True, True, True], [False, True, False, True]]),
    )
    assert ranking.items.tolist() == [[0, 2, 3, -1], [1, 3, -1, -1]]


def test_items_of_ids():
    """Items are ids; padding leaves and later ids move up, repeated ids stay."""
    ranking = jrm.rank_ids(
        np.array([[9, -1, 4, 9], [-5, -1, 2, 0]]), np.array([[4], [2]])
    )
    assert ranking.items.tolist() == [[9, 4, 9, -1], [2, 0, -1, -1]]


def test_items_of_catalogues(rng):
    """Items are ids where items were ranked."""
    labels, scores, mask = draw(rng, tied=True)
    mask[1], labels = mask[0], np.zeros_like(labels)
    order = stable(labels, scores, mask)
    ids, exclude = np.array([[3], [4], [5], [-1]]), np.where(mask, -1, np.arange(ITEMS))
    options = {"exclude_ids": exclude, "ties": "stable"}
    # Deeper than the list is long: −1 beyond its end.
    ranking = jrm.rank_scores(scores, ids, k=40, **options)
    np.testing.assert_array_equal(ranking.items, order)
    queries = np.eye(LISTS, dtype=np.float32)
    ranking = jrm.rank_catalog(queries, scores.T, ids, k=7, block_size=5, **options)
    np.testing.assert_array_equal(ranking.items, order[:, :7])


@pytest.mark.long
@pytest.mark.parametrize("ties", [x for x in POLICIES if x != "expected"])
def test_ties_across_blocks_of_a_catalogue(rng, ties):
    """Items that tie, −inf and NaN are ranked over all blocks as they are in rows."""
    items, k, lowest = 300, 4, np.finfo(np.float32).min
    scores = rng.integers(-9, 1, (LISTS, items)).astype(np.float32)
    scores[1:] = rng.choice(
        [np.nan, -np.inf, lowest, -1], (3, items), p=[0.3, 0.6, 0.09, 0.01]
    )
    scores[2:] = rng.choice([np.nan, -np.inf], (2, items), p=[0.99, 0.01])
    scores[3] = np.nan
    ids = rng.permuted(np.tile(np.arange(items), (LISTS, 1)), axis=-1)[:, :40]
    labels = np.zeros_like(scores)
    np.put_along_axis(labels, ids, 1, axis=-1)
    mask = rng.random(items) > 0.2
    how = {"k": k} | policy(ties)
    expected = jrm.rank(labels, scores, np.tile(mask, (LISTS, 1)), **how)
    ranking = jrm.rank_catalog(
        np.eye(LISTS, dtype=np.float32),
        np.arange(items)[:, None],
        ids,
        similarity=lambda queries, rows: jnp.take(scores, rows[:, 0], axis=1),
        block_size=128,
        item_mask=mask,
        **how,
    )
    np.testing.assert_array_equal(ranking.items, expected.items)
    names = ("ndcg@4", "mrr@4")
    actual, wanted = (jrm.measure(names, x) for x in (ranking, expected))
    for name in names:
        np.testing.assert_allclose(actual[name].values, wanted[name].values, atol=1e-6)


@pytest.mark.long
def test_not_retrieved(rng):
    """Items not retrieved are in the pool without a rank, and their scores are not read."""
    labels, scores, mask = draw(rng, tied=False)
    retrieved = rng.random(labels.shape) > 0.4
    retrieved[2] = False
    scores[~retrieved] = np.nan
    order = stable(labels, scores, mask & retrieved)
    taken = np.where(order >= 0, np.take_along_axis(labels, order % ITEMS, -1), -1)
    in_order = jrm.rank_retrieved(taken, pool_labels=labels, pool_mask=mask)
    expected = jrm.measure((*ALL, "rprec"), in_order)
    assert expected["ndcg@5"].defined.tolist() == [True, False, True, True]

    def check(results):
        check_same(results, {name: expected[name] for name in results})

    ranking = jrm.rank(labels, scores, mask, k=9, retrieved=retrieved)
    check(jrm.measure(("recall@5", "hit_rate@5"), ranking))
    flat, options = pack(
        labels, scores, mask, retrieved, order=rng.permutation(LISTS * ITEMS)
    )
    *flat, options["retrieved"] = flat
    check(jrm.measure((*ALL, "rprec"), jrm.rank(*flat, **options)))

    def sharded(*arrays):
        *arrays, retrieved = arrays
        options = {"k": 5, "items_axis": "model", "retrieved": retrieved}
        mrr = jrm.reciprocal_rank.per_list(*arrays, **options)
        return jrm.measure("recall@5", jrm.rank(*arrays, **options)), {"mrr@5": mrr}

    for results in over_devices(sharded, labels, scores, mask, retrieved):
        check(results)
