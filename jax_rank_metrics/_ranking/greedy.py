"""The ideal order of items whose gain depends on the items above them."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _inputs, _mesh
from jax_rank_metrics._places.place import at_ranks
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._ranking.items import ItemFn, item_predicate
from jax_rank_metrics._ranking.ranked import UnknownPlaceError
from jax_rank_metrics._types import Cut, PositionFn

# Gains that differ by less than this share of the larger differ by rounding alone.
_EQUAL = 1e-6


def ideal_sum(
    data: RankingData,
    topics_fn: ItemFn,
    kept_share: float,
    position_fn: PositionFn,
    ks: Sequence[Cut],
) -> jax.Array:
    """Returns `Σ gain·position_fn(rank)` of the greedy order of the pool, to each k.

    An item gains, for each of its topics, `kept_share` to the power of the number of items
    above it that have the topic. Every rank holds the item that gains most there; of
    several, the one with the lowest index. Takes time of ranks·items·topics, up to the
    rank where no item gains anything.

    Args:
        data: The lists, whose pool is at hand.
        topics_fn: From `Items`, which topics each has, `[*lists, items, topics]` bool.
        kept_share: The share of a topic's gain that remains after each item with the topic.
        position_fn: What ranks 1, 2, … are worth.
        ks: Cutoffs.

    Returns:
        `[*lists, len(ks)]`.

    Raises:
        ValueError: if items are cut over devices, or only relevant ones are held.
    """
    pool, dtype = data.judged_pool(), data.dtype
    layout = pool.layout
    if not layout.has_whole_lists:
        raise UnknownPlaceError(
            "the greedy ideal needs every item of a list, but the items of this ranking "
            "are cut over devices, or only the relevant ones are held; rank whole lists "
            "with rank, rank_retrieved or rank_ids"
        )
    items = pool.items.read()
    has_topic = item_predicate(topics_fn, items)  # [*lists, items, topics]
    slots = _arithmetic.iota(items.exists)
    topics_to_items = jax.vmap(layout.broadcast_to_items, in_axes=-1, out_axes=-1)
    depth, max_items = _inputs.deepest(ks), data.max_items
    assert max_items is not None
    depth = max_items if depth is None else min(depth, max_items)

    def choose_next(state):
        rank, _, remaining, topic_counts, sums = state
        # `topic_counts` is [*lists, topics]: how many chosen items have each topic.
        topic_gain = topics_to_items(_arithmetic.power(kept_share, topic_counts))
        is_gained = has_topic & remaining[..., None]
        gain = jnp.sum(jnp.where(is_gained, topic_gain, 0), axis=-1)
        best_gain = layout.max(gain)
        threshold = layout.broadcast_to_items(best_gain) * (1 - _EQUAL)
        is_best = (gain > 0) & (gain >= threshold)
        first = layout.max(jnp.where(is_best, -slots, jnp.iinfo(slots.dtype).min))
        chosen = is_best & (-slots == layout.broadcast_to_items(first))
        chosen_topics = layout.sum(has_topic & chosen[..., None], 1)
        topic_counts = topic_counts + chosen_topics.astype(dtype)
        terms = [best_gain * at_ranks(position_fn, rank, k) for k in ks]
        sums = sums + jnp.stack(terms, axis=-1)
        # Once no item of any list gains, further ranks would add 0.
        any_gain = _mesh.unvmap_any(best_gain > 0)
        return rank + 1, any_gain, remaining & ~chosen, topic_counts, sums

    lists = data.list_exists.shape
    zeros = [jnp.zeros((*lists, n), dtype) for n in (has_topic.shape[-1], len(ks))]
    start = _mesh.match_varying((items.exists, *zeros), (has_topic, items.exists))
    return lax.while_loop(
        lambda state: state[1] & (state[0] <= depth),
        choose_next,
        (jnp.ones((), dtype), _mesh.unvmap_any(has_topic), *start),
    )[-1]
