"""Computes `Ranking.expected_first`, and the rank of the best item of each list."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.places import cascade, first_stop, place
from jax_rank_metrics._engine.ranking import ranked_items, unlisted
from jax_rank_metrics._engine.ranking.item_fns import (
    ItemFn,
    Items,
    item_predicate,
    item_values,
)
from jax_rank_metrics._engine.ranking.ranking_data import RankingData
from jax_rank_metrics._ground.types import Cut, PositionFn


def expected(
    data: RankingData, position_fn: PositionFn, ks: Sequence[Cut], *item_fns: ItemFn
) -> tuple[jax.Array, jax.Array]:
    """Computes `Ranking.expected_first`.

    Args:
        data: The lists.
        position_fn: A function of ranks.
        ks: Cutoffs.
        item_fns: The `stop_fn`, and the `value_fn` if there is one.
    """
    stop_fn = item_fns[0]
    part = data.items_held or data.judged_pool()
    # If `stop_fn` returns bools, the first stop is found by counting. Chances need the
    # items one by one.
    dtype = jax.eval_shape(lambda: stop_fn(Items.of(part.items.read()))).dtype
    if dtype != jnp.bool_ or len(item_fns) > 1:
        return _by_chance(data, position_fn, ks, *item_fns)
    if not data.in_groups:
        return at_mean_rank(data, stop_fn, position_fn, ks)
    first = _first_stop(data, stop_fn, ks)
    return first_stop.expected(first, position_fn, ks, data.dtype)


def at_mean_rank(
    data: RankingData, stop_fn: ItemFn, position_fn: PositionFn, ks: Sequence[Cut]
) -> tuple[jax.Array, jax.Array]:
    """Reads `position_fn` at the mean rank of the first stop's tie group.

    Takes the arguments of `Ranking.expected_first` with bools, and raises the same errors.
    If nothing ties, the results are the same too. A mean rank may be a fraction; it is
    beyond k if it is larger than k.
    """
    first = _first_stop(data, stop_fn, ks)
    return first_stop.at_mean_rank(first, position_fn, ks, data.dtype)


def _first_stop(
    data: RankingData, stop_fn: ItemFn, ks: Sequence[Cut]
) -> first_stop.FirstStop:
    """Finds the first stop among the kept ranks, or from scores if `ks` reach deeper."""
    data.of_places()
    key = ("first stop", stop_fn, tuple(ks), data.reading)
    return data.cache.get_or_compute(key, lambda: _find_first_stop(data, stop_fn, ks))


def _find_first_stop(
    data: RankingData, stop_fn: ItemFn, ks: Sequence[Cut]
) -> first_stop.FirstStop:
    pool, is_held = data.pool, data.items_held is not None and data.reaches(ks)
    if pool is not None and pool.finds_stops and not is_held:
        in_groups = data.in_groups
        return data.cache.get_or_compute(
            # The key has no cutoffs, because the pool finds the stop at any rank.
            ("first stop", stop_fn, in_groups),
            lambda: pool.first_stop(stop_fn, in_groups),
        )
    items_held = data.held_through(ks)
    group_size, (stops_of_group,) = data.group_across_cut(items_held, (stop_fn,))
    unlisted.check_unlisted(data, stop_fn)
    stop = item_predicate(stop_fn, items_held.items)
    return items_held.first_stop(stop, group_size, stops_of_group)


def _by_chance(
    data: RankingData, position_fn: PositionFn, ks: Sequence[Cut], *item_fns: ItemFn
) -> tuple[jax.Array, jax.Array]:
    """Follows a user whom each item stops with some probability."""
    if data.is_soft:
        raise ValueError(ranked_items.NO_FIRST_STOP)
    ranks = data.held_through(ks)

    def find(*item_fns: ItemFn) -> jax.Array:
        stop, *values = (
            item_values(item_fn, ranks.items, data.dtype) for item_fn in item_fns
        )
        continues = ranks.continues if ranks.in_groups else None
        group = None
        if ranks.straddles is not None and ranks.keys is not None:
            group = ranks.group_stops(data.judged_pool(), item_fns, data.dtype)
        return cascade.stop_chances(ranks.layout, stop, continues, group, *values)

    def at_ranks(*item_fns: ItemFn) -> jax.Array:
        unlisted.check_unlisted(data, item_fns[-1])
        key = ("stop chances", *item_fns, data.reading)
        return data.cache.get_or_compute(key, partial(find, *item_fns))

    # The mean chance of several items does not tell the chance that none of them stops the
    # user, so unlisted items must all have the same chance.
    unlisted.check_alike(data, item_fns[0])
    chances, worth = at_ranks(item_fns[0]), at_ranks(*item_fns)
    rank_means = ranks.rank_means(data.cache, data.dtype)
    return cascade.expected(worth, chances, rank_means, position_fn, ks, ranks.layout)


def best_ranks(
    data: RankingData, hit_fn: ItemFn, item_fn: ItemFn, ks: Sequence[Cut]
) -> jax.Array:
    """Returns the rank of the first hit with the largest value, in one definite order.

    If hits have the values 0 1 2 2 in this order, the best rank is 2 at k = 2, and 3 for
    any larger k.

    Args:
        data: The lists.
        hit_fn: Maps `Items` to bools, true for hits.
        item_fn: Maps `Items` to the value of each item, not negative.
        ks: Cutoffs: ints, None, or arrays `[*lists]`.

    Returns:
        `[*lists, len(ks)]` floats; 0 if no hit has a rank up to k.

    Raises:
        ValueError: as for `Ranking.expected_sum`.
    """
    ranks = data.held_through(ks).in_one_order()
    unlisted.check_unlisted(data, hit_fn)
    items, layout = ranks.items, ranks.layout
    is_hit = item_predicate(hit_fn, items)
    values = item_values(item_fn, items, data.dtype)
    rank = ranks.above_and_tied(data.cache)[0] + 1
    best = []
    for cutoff in map(layout.cut_of_items, ks):
        is_candidate = is_hit & place.is_within(rank, cutoff)
        largest = layout.max(jnp.where(is_candidate, values, jnp.zeros_like(values)))
        is_best = is_candidate & (values == layout.broadcast_to_items(largest))
        # Layouts have no minimum, so negate the maximum of the negated ranks.
        first = -layout.max(jnp.where(is_best, -rank, -(2**31) + 1))
        best.append(jnp.where(layout.sum(is_best) > 0, first, 0))
    return jnp.stack(best, axis=-1).astype(data.dtype)
