"""The ideal order of items whose worth depends on those before them."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _inputs, _mesh
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._places.place import at_ranks
from jax_rank_metrics._ranking.items import ItemFn, item_predicate
from jax_rank_metrics._ranking.parts import Parts
from jax_rank_metrics._types import PositionFn

# Gains that differ by less, relatively, are equal but for rounding.
_EQUAL = 1e-6


def ideal_sum(
    ranking: Parts,
    topics_fn: ItemFn,
    kept: float,
    position_fn: PositionFn,
    ks: Sequence[int | None],
) -> jax.Array:
    """`Σ gain·position_fn(rank)` of the greedy order of the pool, to each k.

    At every rank stands the item that gains most there, of several the one of the lowest
    index: the sum over its topics of `kept` to the power of how many items before it
    have the topic. In time of ranks·items·topics, up to the rank where nothing is left.

    Args:
        ranking: Whose pool is at hand.
        topics_fn: From `Items`, which topics each has, `[*lists, items, topics]` bool.
        kept: The share of a topic's worth that every item with it leaves.
        position_fn: What ranks 1, 2, … are worth.
        ks: Cutoffs.

    Returns:
        `[*lists, len(ks)]`.

    Raises:
        ValueError: if items are cut over devices, or not all of them are held.
    """
    pool, dtype = ranking._judged_pool(), ranking._dtype
    axis: Any = pool.axis
    if not isinstance(axis, (Rows, Packed)):
        raise ValueError(
            "the greedy ideal is made of whole lists, but this ranking's items are cut "
            "over devices, or are ids of which only the relevant ones are held; rank "
            "whole lists by rank, rank_retrieved or rank_ids"
        )
    items = pool.items.read()
    has, place = item_predicate(topics_fn, items), _arithmetic.iota(items.exists)
    spread_topics = jax.vmap(axis.broadcast_to_items, in_axes=-1, out_axes=-1)
    depth, most_items = _inputs.deepest(ks), ranking._max_items
    assert most_items is not None
    depth = most_items if depth is None else min(depth, most_items)

    def step(state: Any) -> Any:
        rank, _, left, seen, sums = state
        worth = spread_topics(_arithmetic.power(kept, seen))
        gain = jnp.sum(jnp.where(has & left[..., None], worth, 0), axis=-1)
        most = axis.max(gain)
        best = (gain > 0) & (gain >= axis.broadcast_to_items(most) * (1 - _EQUAL))
        lowest = axis.max(jnp.where(best, -place, jnp.iinfo(place.dtype).min))
        chosen = best & (-place == axis.broadcast_to_items(lowest))
        seen = seen + axis.sum(has & chosen[..., None], 1).astype(dtype)
        terms = [most * at_ranks(position_fn, rank, k) for k in ks]
        sums = sums + jnp.stack(terms, axis=-1)
        return rank + 1, _mesh.unvmap_any(most > 0), left & ~chosen, seen, sums

    lists = ranking._list_exists.shape
    zeros = [jnp.zeros((*lists, n), dtype) for n in (has.shape[-1], len(ks))]
    start = _mesh.match_varying((items.exists, *zeros), (has, items.exists))
    return lax.while_loop(
        lambda state: state[1] & (state[0] <= depth),
        step,
        (jnp.ones((), dtype), _mesh.unvmap_any(has), *start),
    )[-1]
