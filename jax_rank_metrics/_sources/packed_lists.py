"""Lists packed one after the other."""

import dataclasses
import math

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._ordering.candidates import RawCandidates
from jax_rank_metrics._ordering.keys import is_nan
from jax_rank_metrics._ordering.packed_order import order_by, order_packed
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._ranking.pool import Pool, ScoredPool
from jax_rank_metrics._ranking.ranked import Ranked
from jax_rank_metrics._sources.list_arguments import ScoredLists
from jax_rank_metrics._sources.lists import (
    Depth,
    check_unsharded,
    clean_weights,
    columns_by_name,
    has_nan,
    rank_softly,
)


def rank_packed(lists: ScoredLists, depth: Depth) -> RankingData:
    """Ranks packed lists, always to their end."""
    raw_items, segment_ids = lists.raw_items, lists.segment_ids
    num_segments = lists.num_segments
    assert segment_ids is not None and num_segments is not None
    check_unsharded(
        "with lists that are whole on a device",
        segment_ids=segment_ids,
        scores=lists.scores,
        labels=raw_items.labels,
        mask=raw_items.mask,
        weights=raw_items.weights,
        retrieved=raw_items.retrieved,
        **columns_by_name(raw_items.columns),
    )
    # All axes become one: `[*rows, items]` is `[items]`, and `[*rows, num_segments]` of
    # lists are numbered along all axes. The number of lists marks items of no list.
    rows = segment_ids.shape[:-1]
    shape = (*rows, num_segments)
    valid = (segment_ids >= 0) & (segment_ids < num_segments)
    # In two rows of three lists, the ids 0 2 and 1 −1 become 0 2 and 4 6.
    first_list = jnp.arange(math.prod(rows), dtype=jnp.int32) * num_segments
    list_ids = jnp.where(valid, segment_ids, 0).astype(jnp.int32)
    list_ids = jnp.where(
        valid, list_ids + first_list.reshape(*rows, 1), math.prod(shape)
    )
    mask = valid if raw_items.mask is None else valid & raw_items.mask
    flat_items, scores, list_ids = jax.tree.map(
        lambda x: x.reshape(-1, *x.shape[len(shape) :]),
        (dataclasses.replace(raw_items, mask=mask), lists.scores, list_ids),
    )
    # One pair of seeds for all lists: items differ by their index along the flat axis.
    policy, seeds = lists.policy, lists.policy.seeds(lists.key, ())
    layout = Packed.of(list_ids, shape)
    list_weights = clean_weights(lists.list_weights, shape, raw_items.dtype)
    if lists.relax is not None:
        slots = order_by(list_ids, [], layout.starts)
        return rank_softly(
            flat_items.at(slots),
            _arithmetic.take(scores, slots),
            layout.sorted(_arithmetic.take(list_ids, slots)),
            list_weights,
            lists.relax,
        )
    held = None
    pool = ScoredPool(flat_items, layout, scores, seeds, policy.name, None)
    ranked = flat_items.retrieved_items()
    if not depth.ordered:
        nan_found = has_nan(scores, ranked.exists, layout)
    else:
        candidates = RawCandidates(scores, flat_items, 0, seeds)
        best, indices, list_ids = order_packed(
            candidates,
            list_ids,
            layout.starts,
            depth.item_order(policy, scores.dtype),
        )
        layout, ranked = layout.sorted(list_ids), best.items
        nan_found = is_nan(layout.first(best.keys), scores.dtype)
        # Callers know items by their index in a row; a row may be empty.
        index_in_row = best.ids % max(lists.scores.shape[-1], 1)
        index = jnp.where(ranked.exists, index_in_row, -1)
        held = Ranked(ranked, layout, scores.shape[0], index, best.keys)
        pool_items = ranked
        if raw_items.retrieved is not None:
            # Judged items without a rank do not exist in `best`, but do in the pool.
            pool_items = flat_items.at(indices).read()
        pool = Pool(pool_items, layout)
    return RankingData(
        held=held,
        pool=pool,
        length=layout.sum(ranked.exists),
        list_exists=layout.sum(pool.items.read().exists) > 0,
        list_weights=list_weights,
        ties=policy.name,
        has_nan=nan_found,
        label_dtype=raw_items.label_dtype,
    )
