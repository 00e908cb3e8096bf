"""Long lists with few relevant items, whose places a CPU counts instead of sorting."""

import dataclasses

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.items import RawItems
from jax_rank_metrics._engine.ordering import outranking, top_k
from jax_rank_metrics._engine.ordering.policies import Policy
from jax_rank_metrics._engine.ranking import ranking_data
from jax_rank_metrics._engine.sources import blocks, list_arguments, streams
from jax_rank_metrics._engine.sources.lists import Relevant
from jax_rank_metrics._ground import arithmetic, inputs

# Below this length, sorting a list takes no longer than counting.
_LONG = 4096


def is_faster(lists: list_arguments.ScoredLists) -> bool:
    """True if counting the places of relevant items is faster than sorting all items.

    It is false inside `jax.jit`, because the labels must be known, and on accelerators,
    which sort as quickly as they count. The caller must ask for whole lists, and read tie
    groups rather than one order; and items that are not relevant must be interchangeable.
    Metrics may still need more than the places of relevant items: `read_lists` tries, and
    sorts if they raise.
    """
    items, size = lists.raw_items, lists.scores.shape[-1]
    if lists.ranks is not None or not lists.policy.forbids_order or size < _LONG:
        return False
    unequal = (items.weights, items.retrieved, lists.segment_ids, lists.relax)
    if items.columns or any(part is not None for part in (*unequal, lists.items_axis)):
        return False
    for array in jax.tree.leaves(lists):
        if not inputs.is_readable(array):
            return False
        if [device.platform for device in array.devices()] != ["cpu"]:
            return False
    # Test this last, because only this test waits for arrays.
    return bool(_most_relevant(items) <= outranking.MAX_COUNTED)


@jax.jit
def _most_relevant(raw_items: RawItems) -> jax.Array:
    """Returns the largest number of relevant items in a list."""
    is_relevant = raw_items.read().labels > 0
    return jnp.max(arithmetic.count(is_relevant), initial=0)


def rank_few(lists: list_arguments.ScoredLists) -> ranking_data.RankingData:
    """Ranks rows by counting the places of relevant items; see `is_faster`."""
    items, size = lists.raw_items.read(), lists.scores.shape[-1]
    ids = top_k.first_true(items.labels > 0, min(outranking.MAX_COUNTED, size))
    # Labels stay as passed, because `Relevant` converts them. Padding gets the label of
    # item 0; that label is never read, because the id of padding is −1.
    labels = arithmetic.take(lists.raw_items.labels, jnp.maximum(ids, 0))
    catalog = dataclasses.replace(
        blocks.Catalog.of_scores(lists.scores),
        relevant=Relevant(ids, labels, {}),
        # Labels below 0 remove items too, but the catalogue gets only relevant labels.
        item_mask=items.exists,
        list_weights=lists.list_weights,
        judges_unlisted=True,
        policy=Policy("tied"),  # metrics read tie groups, and no order within them
    )
    return streams.rank_listed(catalog)
