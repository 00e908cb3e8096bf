"""Catalogues in blocks, and on devices that share them: every item counts once."""

import dataclasses
import functools

import jax
import numpy as np
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from sources import ITEMS, LISTS, catalog, check_same, draw, make_mesh, padded, put

import jax_rank_metrics as jrm

# They depend on the order of relevant items, on the numbers of all, and on their groups.
OF_IDS = ("fall_out@1,10", "attention_weighted_rank_fairness@10")

QUERY = np.ones((1, 1), np.float32)  # the score of an item is its only number


def test_devices_that_share_a_catalogue(rng):
    """Its lists rank all its items, also if a device has fewer items than ranks."""
    problem = dataclasses.replace(draw(rng), columns=("groups",))
    then = functools.partial(jrm.measure, OF_IDS)
    actual = catalog(problem, then, 4, (1, 8), k=10)
    check_same(actual, jax.jit(lambda: padded(problem, then, k=10))())


def test_random_ties_of_global_arrays(rng):
    """Each list draws the ties that it has on one device, wherever its parts are."""
    mesh = make_mesh((2, 2), ("lists", "items"), AxisType.Explicit)
    scores = rng.integers(0, 3, (LISTS, ITEMS)).astype(np.float32)
    mask, ids = rng.random(scores.shape) < 0.8, rng.permutation(ITEMS)[:LISTS, None]

    def order(scores, mask):
        key = jax.random.key(1)
        return jrm.rank_scores(scores, ids, item_mask=mask, k=9, key=key).items

    cut = put(mesh, (scores, mask), "lists", "items")
    np.testing.assert_array_equal(order(*cut), order(scores, mask))


def test_an_item_of_two_blocks():
    """The last block begins with an item of the one before it, which ties there, too."""
    items = np.array([[2], [1], [1]], np.float32)
    ranked = functools.partial(jrm.rank_catalog, QUERY, items, block_size=2)
    places = ranked([[1]], k=None, ties="worst")
    assert jrm.reciprocal_rank.of(places).values == np.float32(1 / 3)
    first_ranks = ranked([[1]], k=3, item_mask=np.array([True, False, True]))
    assert first_ranks.items.tolist() == [[0, 2, -1]]


def test_a_tie_of_two_blocks():
    """An item that ties with the last rank, but came too late for it, has half of it."""
    items = np.array([2, 1, *[0] * 6, 1, *[0] * 7], np.float32)[:, None]
    ranking = jrm.rank_catalog(QUERY, items, [[8]], k=2, block_size=8)
    assert jrm.recall.of(ranking, k=2).values == 0.5


def test_ties_that_devices_cut():
    """Items that tie for two ranks share them, also items that their device drops."""

    @jax.jit
    @jax.shard_map(mesh=make_mesh((2,), ("items",)), in_specs=P("items"), out_specs=P())
    def recall(labels, scores, items):
        ranked = functools.partial(jrm.rank_catalog, QUERY, items, items_axis="items")
        rankings = (
            jrm.rank(labels[None], scores[None], k=2, items_axis="items"),
            ranked([[2]], k=2),
        )
        return [jrm.recall.of(ranking, k=2).values for ranking in rankings]

    scores, ones = np.array([1, 1, 1, 0, 0, 0], np.float32), np.ones((6, 1), np.float32)
    values = recall(np.eye(6, dtype=np.float32)[2], scores, ones)
    np.testing.assert_allclose(values, [[2 / 3], [2 / 6]], rtol=1e-6)
