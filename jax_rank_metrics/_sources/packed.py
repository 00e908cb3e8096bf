"""Lists packed one after the other."""

import dataclasses
import math

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._ordering.candidates import RawCandidates
from jax_rank_metrics._ordering.packed import order_packed
from jax_rank_metrics._ranking import Pool, PoolScores, Ranking, TieRuns
from jax_rank_metrics._sources.lists import (
    Depth,
    ScoredLists,
    clean_weights,
)


def rank_packed(lists: ScoredLists, depth: Depth) -> Ranking:
    """Ranks packed lists, always to their end."""
    given, ids, number = lists.given, lists.segment_ids, lists.num_segments
    assert ids is not None and number is not None
    _inputs.unsharded("segment_ids", ids, "with lists that are whole on a device")
    _inputs.unsharded("scores", lists.scores, "with lists that are whole on a device")
    rows = ids.shape[:-1]
    shape = (*rows, number)
    valid = (ids >= 0) & (ids < number)
    first = jnp.arange(math.prod(rows), dtype=jnp.int32) * number
    ids = jnp.where(valid, ids, 0).astype(jnp.int32) + first.reshape(*rows, 1)
    ids = jnp.where(valid, ids, math.prod(shape))

    mask = valid if given.mask is None else valid & given.mask
    flat, scores, ids = jax.tree.map(
        lambda x: x.reshape(-1, *x.shape[len(shape) :]),
        (dataclasses.replace(given, mask=mask), lists.scores, ids),
    )
    policy, seed = lists.policy, lists.policy.seeds(lists.key, ())
    axis = Packed.of(ids, shape)
    held, pool = None, Pool(flat, axis)
    pool_scores = PoolScores(scores, seed, policy.name, None)
    ranked = flat.retrieved_items()
    if depth.ordered:
        every = RawCandidates(scores, flat, 0, seed)
        best, places, ids = order_packed(
            every, ids, axis.starts, depth.item_order(policy, scores.dtype)
        )
        axis, pool_scores, ranked = axis.sorted(ids), None, best.items
        in_row = best.ids % max(lists.scores.shape[-1], 1)
        index = jnp.where(ranked.exists, in_row, -1)
        held = TieRuns(ranked, axis, index, best.keys, None, scores.shape[0])
        items = ranked if given.retrieved is None else flat.at(places).read()
        pool = Pool(items, axis)
    return Ranking._of(
        held=held,
        pool=pool,
        pool_scores=pool_scores,
        length=axis.sum(ranked.exists),
        list_exists=axis.sum(pool.items.read().exists) > 0,
        list_weights=clean_weights(lists.list_weights, shape, given.dtype),
        ties=policy.name,
    )
