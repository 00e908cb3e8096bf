"""The best order of the items of the pool, and sums over the ranks of this order."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.items import ItemArrays
from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.places import cascade, place, tie_groups
from jax_rank_metrics._engine.ranking import cache, ranked_items, unlisted
from jax_rank_metrics._engine.ranking.item_fns import (
    ItemFn,
    item_predicate,
    item_values,
)
from jax_rank_metrics._engine.ranking.ranking_data import RankingData
from jax_rank_metrics._ground import arithmetic, inputs, meshes
from jax_rank_metrics._ground.types import Cut, PositionFn

# Gains count as equal if they differ by at most this share of the larger one: rounding
# alone may cause such a difference.
_EQUAL = 1e-6

# The values of the items of the pool, largest first, and the layout of these values.
_BestOrder = tuple[jax.Array, base.RankedLayout]


def ideal_sum(
    data: RankingData,
    item_fn: ItemFn,
    position_fn: PositionFn,
    ks: Sequence[Cut],
    monotone: bool,
) -> jax.Array:
    """Computes `Ranking.ideal_sum`."""
    values, layout = _best_values(data, item_fn, ks, monotone)
    items_held, dtype = data.items_held, data.dtype
    if items_held is not None and layout.is_rectangular:
        # Pad to the number of ranks that the ranking keeps. If a list is in its best order,
        # its own sum and its ideal sum then have the same terms in the same order, so both
        # are exactly equal.
        num_missing = items_held.items.exists.shape[-1] - values.shape[-1]
        values = arithmetic.pad_items(values, after=max(num_missing, 0))
    place_sum = tie_groups.sum_of_slots(layout, values, dtype)
    cutoffs = map(layout.cut_of_items, ks)
    terms = [_terms(values, place_sum(position_fn, k)) for k in cutoffs]
    return data.sums_to_cutoffs(layout, terms)


@jax.custom_jvp
def _terms(values: jax.Array, of_ranks: jax.Array) -> jax.Array:
    # Empty slots add 0, even if the value of their rank is not finite.
    return jnp.where(values > 0, values * of_ranks, 0)


# Items of value 0 have a derivative, which `jnp.where` would drop. Empty slots have the
# tangent 0, so they add nothing.
_terms.defjvps(
    lambda tangent, _, values, of_ranks: (
        tangent * jnp.where(jnp.isfinite(of_ranks), of_ranks, 0)
    ),
    None,
)


def ideal_first(
    data: RankingData, stop_fn: ItemFn, position_fn: PositionFn, ks: Sequence[Cut]
) -> jax.Array:
    """Computes `Ranking.ideal_first`."""
    labels, layout = _sorted_values(data, None, ks)
    exists = labels > 0
    stop = item_values(stop_fn, ItemArrays(labels, exists), data.dtype)
    rank = layout.offset_in_list(exists).astype(stop.dtype) + 1
    chances = cascade.stop_chances(layout, stop, None)
    rank_means = cascade.at_rank(rank)
    return cascade.expected(chances, chances, rank_means, position_fn, ks, layout)[0]


def ideal_gained(
    data: RankingData, gain_fn: ItemFn, ks: Sequence[Cut], *, monotone: bool = False
) -> jax.Array:
    """Sums, for each kept item, the gains of the pool's best order up to the item's rank.

    The items are read in one definite order. If the pool has the gains 3 2 0, the items at
    the ranks 1, 2 and 3 get the sums 3 5 5, whatever their own gains are.

    Args:
        data: The lists.
        gain_fn: Maps `Items` to the gain of each item, not negative.
        ks: Cutoffs; results for items beyond the deepest cutoff mean nothing.
        monotone: As for `Ranking.ideal_sum`.

    Returns:
        `[*lists, held]`, one sum for each item that the ranking keeps.
    """
    ranks = data.held_through(ks).in_one_order()
    above, _ = ranks.above_and_tied(data.cache)
    gains, layout = _best_values(data, gain_fn, ks, monotone)
    return layout.at_ranks(layout.cumulative_sum(gains), above + 1, ranks.layout)


def _best_values(
    data: RankingData, item_fn: ItemFn, ks: Sequence[Cut], monotone: bool
) -> _BestOrder:
    """Returns the values that `ideal_sum` adds up; see `_sorted_values`.

    Functions that rise with labels share one sort, because their best order is the order of
    the labels.
    """
    if not monotone:
        return _sorted_values(data, item_fn, ks)
    labels, layout = _sorted_values(data, None, ks)
    sorted_items = ItemArrays(labels, labels > 0)
    return item_values(item_fn, sorted_items, data.dtype), layout


def _sorted_values(
    data: RankingData, item_fn: ItemFn | None, ks: Sequence[Cut]
) -> _BestOrder:
    """Returns the largest values of the pool in descending order, to the deepest cutoff.

    The values are labels if `item_fn` is None. If another metric has asked for more values,
    its result in the cache is truncated. For packed lists, all values are returned.
    """
    depth = inputs.deepest(ks)

    def find() -> tuple[int | None, jax.Array, base.RankedLayout]:
        pool = data.judged_pool()
        items = pool.items.read()
        values = items.labels
        if item_fn is not None:
            unlisted.check_unlisted(data, item_fn)
            unlisted.check_alike(data, item_fn)
            values = item_values(item_fn, items, data.dtype)
        return depth, *pool.layout.largest(values, items.exists, depth)

    def serves(known: tuple[int | None, jax.Array, base.RankedLayout]) -> bool:
        # A result of depth None reaches the end of the lists, so it serves every depth.
        return known[0] is None or (depth is not None and depth <= known[0])

    key = cache.SORTED_LABELS if item_fn is None else ("sorted", item_fn)
    _, values, layout = data.cache.get_or_compute(key, find, serves)
    return layout.first_ranks(values, depth), layout


def greedy_sum(
    data: RankingData,
    topics_fn: ItemFn,
    kept_share: float,
    position_fn: PositionFn,
    ks: Sequence[Cut],
) -> jax.Array:
    """Returns `Σ gain·position_fn(rank)` of the greedy order of the pool, to each k.

    For each of its topics, an item gains `kept_share` to the power of the number of items
    above it that have this topic. The greedy order puts at every rank the item that gains
    most there; among items of equal gain, the item with the lowest index. The time is
    proportional to ranks·items·topics, but the loop ends at the first rank at which no item
    of any list gains.

    Args:
        data: The lists; their pool must be known.
        topics_fn: Maps `Items` to the topics of each item, `[*lists, items, topics]` bool.
        kept_share: The share of a topic's gain that remains after each item with the topic.
        position_fn: The value of ranks 1, 2, …
        ks: Cutoffs.

    Returns:
        `[*lists, len(ks)]`.

    Raises:
        ValueError: if items are sharded over devices, or if the ranking holds only relevant
            items.
    """
    pool, dtype = data.judged_pool(), data.dtype
    layout = pool.layout
    if not layout.has_whole_lists:
        raise ranked_items.UnknownPlaceError(
            "the greedy ideal needs every item of a list, but the items of this ranking "
            "are sharded over devices, or the ranking holds only relevant items; rank "
            "whole lists with rank, rank_retrieved or rank_ids"
        )
    items = pool.items.read()
    has_topic = item_predicate(topics_fn, items)  # [*lists, items, topics]
    slots = pool.indices
    topics_to_items = jax.vmap(layout.broadcast_to_items, in_axes=-1, out_axes=-1)
    depth, max_items = inputs.deepest(ks), data.max_items
    assert max_items is not None
    depth = max_items if depth is None else min(depth, max_items)

    def choose_next(state):
        rank, _, remaining, topic_counts, sums = state
        # `topic_counts` is [*lists, topics]: how many chosen items have each topic.
        topic_gain = topics_to_items(arithmetic.power(kept_share, topic_counts))
        is_gained = has_topic & remaining[..., None]
        gain = jnp.sum(jnp.where(is_gained, topic_gain, 0), axis=-1)
        best_gain = layout.max(gain)
        threshold = layout.broadcast_to_items(best_gain) * (1 - _EQUAL)
        is_best = (gain > 0) & (gain >= threshold)
        first = layout.max(jnp.where(is_best, -slots, jnp.iinfo(slots.dtype).min))
        chosen = is_best & (-slots == layout.broadcast_to_items(first))
        chosen_topics = layout.sum(has_topic & chosen[..., None], 1)
        topic_counts = topic_counts + chosen_topics.astype(dtype)
        terms = [best_gain * place.at_ranks(position_fn, rank, k) for k in ks]
        sums = sums + jnp.stack(terms, axis=-1)
        # Once no item of any list gains, further ranks would add 0.
        any_gain = meshes.unvmap_any(best_gain > 0)
        return rank + 1, any_gain, remaining & ~chosen, topic_counts, sums

    lists = data.list_exists.shape
    zeros = [
        jnp.zeros((*lists, size), dtype) for size in (has_topic.shape[-1], len(ks))
    ]
    start = meshes.match_varying((items.exists, *zeros), (has_topic, items.exists))
    return lax.while_loop(
        lambda state: state[1] & (state[0] <= depth),
        choose_next,
        (jnp.ones((), dtype), meshes.unvmap_any(has_topic), *start),
    )[-1]
