"""Catalogues in blocks, and on devices that share them: every item counts once."""

import dataclasses
import functools

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from marks import long_rows
from sources import (
    ITEMS,
    LISTS,
    catalog,
    check_same,
    draw,
    from_table,
    make_mesh,
    padded,
)

import jax_rank_metrics as jrm

# They depend on the order of relevant items, on the numbers of all, and on their groups.
OF_IDS = ("fall_out@1,{0}", "attention_weighted_rank_fairness@{0}")
# The last one stops at the first relevant item, which streaming has to find.
OF_LABELS = ("ndcg@1,{0}", "fall_out@1,{0}", "mrr")

QUERY = np.ones((1, 1), np.float32)  # the score of an item is its only number


def labelled(problem, then, devices, **how):
    """Ranks a catalogue that devices share, whose items a function labels."""

    @jax.jit
    @jax.shard_map(
        mesh=make_mesh((devices,), ("items",)), in_specs=P("items"), out_specs=P()
    )
    def run(items, labels, mask):
        attributes = {"labels": labels, "mask": mask}
        relevant = jrm.by_attributes(from_table, np.arange(LISTS), attributes)
        options = how | {"list_weights": problem.list_weights, "items_axis": "items"}
        one_hot = np.eye(LISTS, dtype=np.float32)
        return then(jrm.rank_catalog(one_hot, items, relevant, **options))

    return run(problem.scores.T, problem.labels.T > 0, problem.mask.T)


@pytest.mark.parametrize(
    "names, devices, block_size, k",
    [(OF_IDS, 8, 4, 10), *long_rows((OF_LABELS, 2, 16, 4))],
    ids=["ids", "labels"],
)
def test_devices_that_share_a_catalogue(names, devices, block_size, k, rng):
    """Its lists are those of all its items, also where a device has fewer than ranks."""
    problem = dataclasses.replace(draw(rng), columns=("groups",))
    then = functools.partial(jrm.measure, tuple(name.format(k) for name in names))
    if names is OF_IDS:
        actual = catalog(problem, then, block_size, (1, devices), k=k)
    else:
        # Many items tie for the first ranks.
        labels = rng.binomial(1, 0.15, problem.labels.shape)
        problem = dataclasses.replace(
            problem,
            labels=labels.astype(np.float32),
            scores=np.minimum(problem.scores, 1),
        )
        actual = labelled(problem, then, devices, block_size=block_size, k=k)
        k = None  # rows are read beyond k, as far as the first relevant item
    check_same(actual, jax.jit(lambda: padded(problem, then, k=k))())


def test_random_ties_of_global_arrays(rng):
    """Each list draws the ties that it has on one device, wherever its parts are."""
    mesh = make_mesh((2, 2), ("lists", "items"), AxisType.Explicit)
    scores = rng.integers(0, 3, (LISTS, ITEMS)).astype(np.float32)
    mask, ids = rng.random(scores.shape) < 0.8, rng.permutation(ITEMS)[:LISTS, None]

    def order(scores, mask):
        key = jax.random.key(1)
        return jrm.rank_scores(scores, ids, item_mask=mask, k=9, key=key).items

    cut = jax.device_put((scores, mask), NamedSharding(mesh, P("lists", "items")))
    np.testing.assert_array_equal(order(*cut), order(scores, mask))


def test_nan_of_any_block():
    """NaN stops an evaluation, whichever of the blocks 0 1, 2 3 and 4 the item is in."""
    query = np.ones((1, 2), np.float32)
    for item in (0, 3, 4):
        items = np.ones((5, 2), np.float32)
        items[item] = np.nan
        with pytest.raises(ValueError, match=f"1 of 5 items, such as item {item}"):
            jrm.evaluate_embeddings("mrr@2", query, items, [[1]], block_size=2)


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
    """Items that tie for two ranks share them, also those that their device drops."""

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
