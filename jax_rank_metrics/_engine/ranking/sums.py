"""Computes `Ranking.expected_sum` and `Ranking.expected_max`."""

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.by_options import EqualPartial
from jax_rank_metrics._engine.items import ItemArrays
from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.places import tie_groups
from jax_rank_metrics._engine.places.place import Place
from jax_rank_metrics._engine.places.tie_groups import Amount
from jax_rank_metrics._engine.ranking import ranking_data, unlisted
from jax_rank_metrics._engine.ranking.item_fns import ItemFn, item_amounts, item_values
from jax_rank_metrics._ground import arithmetic, types


def expected(
    data: ranking_data.RankingData,
    item_fn: ItemFn,
    place_fn: Callable[..., jax.Array],
    ks: Sequence[types.Cut],
    counted_fns: tuple[ItemFn, ...],
    per_list: Sequence[jax.Array],
    take_max: bool = False,
) -> jax.Array:
    """Computes `Ranking.expected_sum`, or `Ranking.expected_max` with `take_max`.

    First finds the places of the kept items, from their values, the counted amounts, and
    the tie group across the cut. Then, for each cutoff, multiplies the value of each item
    by the value of its place, and sums the products.
    """
    items_held, dtype = data.held_through(ks), data.dtype
    layout, items = items_held.layout, items_held.items
    num_list_axes, num_item_axes = data.list_exists.ndim, items.exists.ndim
    unlisted.check_unlisted(data, item_fn)
    cutoffs = list(map(layout.cut_of_items, ks))
    per_item = [layout.broadcast_to_items(array) for array in per_list]
    group_size, totals = data.group_across_cut(items_held, (item_fn, *counted_fns))
    if take_max and group_size is not None:
        raise ValueError(
            "expected_max needs all items of a tie group, but this ranking was cut at a "
            "k and may lack items that tie with the last item; pass k=None to the call "
            "that made the ranking"
        )

    def amount_of(item_fn: ItemFn, of_group: jax.Array | None) -> Amount:
        of_unlisted = unlisted.unlisted_value(data, item_fn)
        of_items = _less(item_amounts(item_fn, items, dtype), of_unlisted, items.exists)
        before = None
        if items_held.reads_prefix_sums:
            find = partial(_sum_before, layout, items, of_items)
            before = data.cache.get_or_compute(
                ("sums before", item_fn, data.renamed), find
            )
        return Amount(of_items, before, of_group, of_unlisted)

    values = Amount(item_values(item_fn, items, dtype), of_group=totals[0])
    amounts = tuple(map(amount_of, counted_fns, totals[1:]))
    position_fn = place_fn.position_fn if isinstance(place_fn, EqualPartial) else None
    rank_sums = [] if position_fn is None else [(position_fn, k) for k in cutoffs]
    combine = jnp.maximum if take_max else jnp.add

    def find_places(
        values: Amount, amounts: Sequence[Amount], group_size: jax.Array | None
    ) -> tuple[Place, jax.Array]:
        if items_held.soft is None:
            return items_held.places(values, amounts, group_size, rank_sums, combine)
        # The functions in the key identify the amounts, so metrics that count by the same
        # functions share one comparison of all pairs.
        held_amounts = [amount.of_items for amount in amounts]
        find = partial(items_held.soft.place, layout, items.exists, held_amounts)
        return data.cache.get_or_compute(("soft", counted_fns), find), values.of_items

    def sum_values(
        values: Amount, amounts: Sequence[Amount], group_size: jax.Array | None
    ) -> jax.Array:
        # Values are [*lists, items, …]; the result is [*lists, len(ks), …].
        place, worth = find_places(values, amounts, group_size)
        terms = []
        for k in cutoffs:
            weights = arithmetic.widen(place_fn(place, k, *per_item), worth)
            terms.append(worth * weights.astype(worth.dtype))
        if take_max:
            return jnp.stack(list(map(layout.max, terms)), axis=num_list_axes)
        return data.sums_to_cutoffs(layout, terms, worth.ndim - num_item_axes)

    # `place_fn` gets one entry of the trailing axes at a time. Each pass of this loop maps
    # over one trailing axis of all arrays that have this axis. Keys, runs and other arrays
    # that lack the axis are shared.
    sum_all: Callable[..., jax.Array] = sum_values
    num_axes = (amount.of_items.ndim for amount in amounts)
    num_trailing = max(num_axes, default=num_item_axes) - num_item_axes
    for number in range(num_trailing, 0, -1):
        mapped = partial(_mapped_axes, num_item_axes, num_list_axes, number)
        in_axes = (mapped(values), tuple(map(mapped, amounts)), None)
        sum_all = jax.vmap(sum_all, in_axes=in_axes, out_axes=num_list_axes + 1)
    return sum_all(values, amounts, group_size)


def _mapped_axes(
    num_item_axes: int, num_list_axes: int, number: int, amount: Amount
) -> Amount:
    """Returns the `in_axes` with which `vmap` maps over the first trailing axis.

    Arrays with fewer than `number` trailing axes have the entry None: they are shared.
    """
    first = Amount(num_item_axes, num_item_axes, num_list_axes, 0)  # type: ignore
    axes = zip(amount, first, strict=True)
    return Amount(
        *(None if array is None or array.ndim - i < number else i for array, i in axes)  # type: ignore
    )


def _sum_before(
    layout: base.RankedLayout, items: ItemArrays, amounts: jax.Array
) -> jax.Array:
    """Returns `sum_before` along the items, for each entry of the trailing axes."""
    add, num_item_axes = partial(tie_groups.sum_before, layout), items.exists.ndim
    for _ in range(amounts.ndim - num_item_axes):
        add = jax.vmap(add, in_axes=num_item_axes, out_axes=num_item_axes)
    return add(amounts)


def _less(
    amounts: jax.Array, of_unlisted: jax.Array | np.ndarray | None, exists: jax.Array
) -> jax.Array:
    """Subtracts the amount of an unlisted item from the amounts of all listed items."""
    if of_unlisted is None:
        return amounts
    if amounts.dtype == jnp.bool_:
        amounts, of_unlisted = amounts.astype(jnp.int32), of_unlisted.astype(jnp.int32)
    amounts = amounts - jnp.broadcast_to(of_unlisted, amounts.shape)
    return jnp.where(arithmetic.widen(exists, amounts), amounts, 0)
