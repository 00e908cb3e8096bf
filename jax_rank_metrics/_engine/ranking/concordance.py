"""Compares the order of items by score with their order by a value."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.places.by_value import (
    PlacesByValue,
    count_smaller,
    places_by_value,
)
from jax_rank_metrics._engine.ranking import item_fns, ranked_items, ranking_data
from jax_rank_metrics._engine.ranking.unlisted import check_unlisted
from jax_rank_metrics._ground import arithmetic


class PairCounts(NamedTuple):
    """Counts of the pairs of items that differ in value, `[*lists]` floats each."""

    in_order: jax.Array  # the larger value has the better score
    tied: jax.Array  # their scores tie
    total: jax.Array  # all pairs that differ in value
    opposed: jax.Array  # the larger value has the worse score


def pairs(data: ranking_data.RankingData, value_fn: item_fns.ItemFn) -> PairCounts:
    """Computes `Ranking.pairs`.

    Each pair is counted once, for its item of the larger value. The item of the smaller
    value ranks above the tie group of this item (opposed), in the group (tied), or below
    the group (in order).
    """
    items_held, values, by_value = _held_by_value(data, value_fn)
    layout = items_held.layout
    start, end = items_held.tie_bounds(data.cache)
    # For each item, count the smaller values above its tie group, and within it.
    list_start = arithmetic.iota(start) - layout.offset_in_list(start)
    list_start = jnp.broadcast_to(list_start, start.shape)
    above, through = count_smaller(by_value.level, list_start, start, end + 1)
    tied = through - above
    if data.omits_unlisted:
        # Items that the ranking does not keep have the value 0, which is smaller than every
        # value that counts. So also count these items, both above the tie group and in it.
        all_above, all_tied = items_held.above_and_tied(data.cache)
        above = above + all_above - (start - list_start)
        tied = tied + all_tied - (end - start + 1)
    smaller = layout.broadcast_to_items(data.length) - by_value.above - by_value.tied

    def add_up(x: jax.Array) -> jax.Array:
        return layout.sum(jnp.where(values > 0, x, 0).astype(data.dtype))

    in_order = add_up(smaller - above - tied)
    return PairCounts(in_order, add_up(tied), add_up(smaller), add_up(above))


class Products(NamedTuple):
    """Sums of products of the ranks of items, `[*lists]` floats each.

    Every item has a rank by score and a rank by value. A tied item has the mean rank of its
    tie group. The mean rank of the list is subtracted from each rank first.
    """

    by_both: jax.Array  # the rank by score times the rank by value
    by_score: jax.Array  # the square of the rank by score
    by_value: jax.Array  # the square of the rank by value


def _exists(items: item_fns.Items) -> jax.Array:
    return items.exists


def products(data: ranking_data.RankingData, value_fn: item_fns.ItemFn) -> Products:
    """Sums products of the mean ranks of items by score and by value.

    Args:
        data: The lists.
        value_fn: Maps `Items` to the value of each item, not negative.

    Raises:
        ValueError: if the ranking was cut, or holds only relevant items.
    """
    check_unlisted(data, _exists)
    items_held, _, by_value = _held_by_value(data, value_fn)
    layout, dtype, exists = items_held.layout, data.dtype, items_held.items.exists
    length = data.length.astype(dtype)
    mean_rank = layout.broadcast_to_items((length + 1) / 2)

    def centred(above: jax.Array, tied: jax.Array) -> jax.Array:
        rank = above.astype(dtype) + (tied.astype(dtype) + 1) / 2
        return jnp.where(exists, rank - mean_rank, 0)

    score_rank = centred(*items_held.above_and_tied(data.cache))
    value_rank = centred(by_value.above, by_value.tied)
    return Products(
        layout.sum(score_rank * value_rank),
        layout.sum(score_rank * score_rank),
        layout.sum(value_rank * value_rank),
    )


def _held_by_value(
    data: ranking_data.RankingData, value_fn: item_fns.ItemFn
) -> tuple[ranked_items.Ranked, jax.Array, PlacesByValue]:
    """Returns the kept items, their values, and their places when ranked by value."""
    items_held = data.held_through((None,))
    check_unlisted(data, value_fn)
    layout, items, exists = items_held.layout, items_held.items, items_held.items.exists
    if items.integer_labels is not None:
        # Only the order of values matters. Read integer labels as integers, because large
        # integers would tie as floats.
        items = items._replace(labels=items.integer_labels)
    values = item_fns.item_order_values(value_fn, items, data.dtype)

    def find() -> PlacesByValue:
        return places_by_value(layout, values, exists)

    return items_held, values, data.cache.get_or_compute(("by value", value_fn), find)
