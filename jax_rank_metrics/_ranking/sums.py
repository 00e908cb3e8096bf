"""Computes `Ranking.expected_sum` and `Ranking.expected_max`."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._places import tie_groups
from jax_rank_metrics._places.place import Place
from jax_rank_metrics._ranking.held import Summands
from jax_rank_metrics._ranking.items import ItemFn, item_amounts, item_values
from jax_rank_metrics._ranking.unlisted import check_unlisted, unlisted_value
from jax_rank_metrics._ranking.view import View
from jax_rank_metrics._types import Cut

T = TypeVar("T")


def expected(
    view: View,
    item_fn: ItemFn,
    place_fn: Callable[..., jax.Array],
    ks: Sequence[Cut],
    counting: Sequence[ItemFn],
    per_list: Sequence[jax.Array],
    take_max: bool = False,
) -> jax.Array:
    """Computes `Ranking.expected_sum`, or `Ranking.expected_max` with `take_max`.

    The summands are what each item is worth, the amounts that places count, and the tie
    group across the cut. From them, the items held compute their places. Each cutoff then
    sums the values of items times what their places are worth.
    """
    held, dtype = view.held_through(ks), view.data.dtype
    layout, items = held.layout, held.items
    check_unlisted(view, item_fn)
    cutoffs = list(map(layout.cut_of_items, ks))
    per_item = [layout.broadcast_to_items(x) for x in per_list]
    straddling = view.straddling_group(held, (item_fn, *counting))
    if take_max and straddling is not None:
        raise ValueError(
            "expected_max needs all items of a tie group, but this ranking is cut and "
            "may lack items that tie with the last one; pass k=None to the call that "
            "made it"
        )
    # The places of unlisted items are not held, and each of these items counts `baseline`,
    # the value of the label 0. So the items held count by their difference from the
    # baseline, and a place adds the baseline of all items above (or tied). With amounts of
    # 5 and 2 held, two unlisted items between them and a baseline of 1, the second item has
    # 3 items above it, and their sum is (5 − 1) + 3·1 = 7.
    baselines = [unlisted_value(view, fn) for fn in counting]
    amounts = [
        _less_baseline(item_amounts(fn, items, dtype), baseline, items.exists)
        for fn, baseline in zip(counting, baselines, strict=True)
    ]
    sums_before: tuple[jax.Array, ...] = ()
    if held.reads_prefix_sums:
        sums_before = tuple(
            view.memo.once(("sums before", fn), partial(_sum_before, layout, items, x))
            for fn, x in zip(counting, amounts, strict=True)
        )
    values = item_values(item_fn, items, dtype)
    summands = Summands(values, tuple(amounts), sums_before, straddling)
    read_places = held.place_reader(view.memo, tuple(counting))
    num_list_axes, num_item_axes = view.data.list_exists.ndim, items.exists.ndim

    def sum_values(
        summands: Summands, baselines: Sequence[jax.Array | np.ndarray | None]
    ) -> jax.Array:
        # `values` is [*lists, items, …]; the result is [*lists, len(ks), …].
        def sum_over(place: Place, values: jax.Array) -> jax.Array:
            place = _with_baselines(place, baselines)
            terms = []
            for k in cutoffs:
                weights = _arithmetic.widen(place_fn(place, k, *per_item), values)
                terms.append(values * weights.astype(values.dtype))
            if take_max:
                return jnp.stack(list(map(layout.max, terms)), axis=num_list_axes)
            trailing = values.ndim - num_item_axes
            return view.sums_to_cutoffs(layout, terms, trailing)

        combine = jnp.maximum if take_max else None
        return read_places(summands._replace(combine=combine), sum_over)

    # `place_fn` sees amounts with trailing axes one entry at a time. Each pass of this
    # loop maps over one trailing axis of all arrays that have it; keys, runs and other
    # arrays without it are shared.
    sum_all: Callable[..., jax.Array] = sum_values
    num_trailing = max((x.ndim - num_item_axes for x in amounts), default=0)
    for number in range(num_trailing, 0, -1):
        summand_axes = _mapped_axes(summands, num_item_axes, number)._replace(
            straddling=_mapped_axes(straddling, num_list_axes, number)
        )
        in_axes = (summand_axes, _mapped_axes(baselines, 0, number))
        sum_all = jax.vmap(sum_all, in_axes=in_axes, out_axes=num_list_axes + 1)
    return sum_all(summands, baselines)


def _mapped_axes(arrays: T, first: int, number: int) -> T:
    """Returns the `in_axes` with which `vmap` maps over the axis `first`.

    That is `first` for arrays with at least `number` axes from there on, and None for
    all other arrays, which are shared.
    """
    return jax.tree.map(lambda x: first if x.ndim - first >= number else None, arrays)


def _sum_before(
    layout: RankedLayout, items: ItemArrays, amounts: jax.Array
) -> jax.Array:
    """Returns `sum_before` along the items, for each entry of the trailing axes."""
    add, num_item_axes = partial(tie_groups.sum_before, layout), items.exists.ndim
    for _ in range(amounts.ndim - num_item_axes):
        add = jax.vmap(add, in_axes=num_item_axes, out_axes=num_item_axes)
    return add(amounts)


def _less_baseline(
    amounts: jax.Array, baseline: jax.Array | np.ndarray | None, exists: jax.Array
) -> jax.Array:
    """Subtracts the value of unlisted items from the amounts of the items held."""
    if baseline is None:
        return amounts
    if amounts.dtype == jnp.bool_:
        amounts, baseline = amounts.astype(jnp.int32), baseline.astype(jnp.int32)
    amounts = amounts - jnp.broadcast_to(baseline, amounts.shape)
    return jnp.where(_arithmetic.widen(exists, amounts), amounts, 0)


def _with_baselines(
    place: Place, baselines: Sequence[jax.Array | np.ndarray | None]
) -> Place:
    """Adds the baselines of the items above each place, and of those in its group."""

    def add(counted: tuple[jax.Array, ...], items: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(
            x if baseline is None else x + baseline.astype(x.dtype) * items
            for x, baseline in zip(counted, baselines, strict=True)
        )

    return dataclasses.replace(
        place,
        counted_above=add(place.counted_above, place.above),
        counted_tied=add(place.counted_tied, place.tied),
    )
