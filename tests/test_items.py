"""Items keep their identity on every layout."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import POLICIES, policy
from jax.sharding import PartitionSpec as P
from marks import long_but
from sources import make_mesh

import jax_rank_metrics as jrm

LISTS, ITEMS = 4, 24


def draw(rng):
    """Draws tied lists with both kinds of padding, one of them all masked."""
    labels = rng.integers(-1, 3, (LISTS, ITEMS)).astype(np.float32)
    scores = rng.permuted(np.tile(np.arange(ITEMS), (LISTS, 1)), axis=-1)
    scores = (scores // 4).astype(np.float32)
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


@pytest.mark.long
def test_items_of_rows_and_devices(rng):
    """Ties go by index, or by a hash that is independent of labels and of the batch."""
    labels, scores, mask = draw(rng)
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

    mesh, spec = make_mesh((4,), ("model",)), P(None, "model")

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=spec, out_specs=P())
    def of_devices(*arrays):
        how = {"k": 6, "items_axis": "model"}
        return [jrm.rank(*arrays, ties=x, **how).items for x in ("stable", None)]

    values = of_devices(labels, scores, mask)
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
    labels, scores, mask = draw(rng)
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


ORDERED = [x for x in POLICIES if x != "expected"]


@pytest.mark.parametrize("ties", long_but(("stable",), ORDERED))
def test_items_of_catalogues(rng, ties):
    """Items are ids; ties, −inf and NaN are ranked as in rows."""
    items, lowest = 300, np.finfo(np.float32).min
    scores = rng.integers(-9, 1, (LISTS, items)).astype(np.float32)
    scores[1:] = rng.choice(
        [np.nan, -np.inf, lowest, -1], (3, items), p=[0.3, 0.6, 0.09, 0.01]
    )
    scores[2:] = rng.choice([np.nan, -np.inf], (2, items), p=[0.99, 0.01])
    scores[3] = np.nan
    ids = rng.permuted(np.tile(np.arange(items), (LISTS, 1)), axis=-1)[:, :40]
    mask, labels = rng.random(items) > 0.2, np.zeros_like(scores)
    np.put_along_axis(labels, ids, 1, axis=-1)
    how = {"k": 4, "item_mask": mask, "exclude_ids": ids[:, :2]} | policy(ties)
    exists = np.tile(mask, (LISTS, 1))
    np.put_along_axis(exists, ids[:, :2], False, axis=-1)
    expected = jrm.rank(labels, scores, exists, k=4, **policy(ties)).items
    by_scores = jrm.rank_scores(scores, ids, **how)
    in_blocks = jrm.rank_catalog(
        np.eye(LISTS, dtype=np.float32),
        np.arange(items)[:, None],
        ids,
        similarity=lambda queries, rows: jnp.take(scores, rows[:, 0], axis=1),
        block_size=128,
        **how,
    )
    for ranking in (by_scores, in_blocks):
        np.testing.assert_array_equal(ranking.items, expected)
    # Deeper than the list is long: −1 beyond its end.
    deep = jrm.rank_scores([[1.0, 3.0, 2.0]], [[0]], k=4, exclude_ids=[[1]])
    assert deep.items.tolist() == [[2, 0, -1]]
