"""The tie groups of items in rank order, from runs of equal keys or pairs of items.

Throughout, five items with the keys 9 7 7 7 4 serve as the example: they form three runs,
so `above` is 0 1 1 1 4 and `tied` is 1 3 3 3 1.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics._engine.layouts.base import RankedLayout
from jax_rank_metrics._engine.places import few_ranks_cpu
from jax_rank_metrics._engine.places.place import (
    FEW_RANKS,
    Place,
    PlaceSum,
    at_first_ranks,
    at_ranks,
    sum_of_first,
    sum_of_many,
    sum_of_one,
)
from jax_rank_metrics._ground import arithmetic, types


class Amount(NamedTuple):
    """A number for each item, which places sum; see `counting` of `Ranking.expected_sum`.

    If a ranking holds only listed items, each unlisted item has the amount `of_unlisted`,
    which is subtracted from the amounts in `of_items`. Say that two listed items have the
    amounts 5 and 2, two unlisted items rank between them, and `of_unlisted` is 1. Then 3
    items are above the second item, and the sum of their amounts is (5 − 1) + 3·1 = 7.
    """

    of_items: jax.Array  # [*lists, items, …]: floats, bools or small integers
    # The result of `sum_before`; None if nothing reads it.
    before: jax.Array | None = None
    # [*lists, …], the sum over the tie group across the cut; None if there is no such
    # group.
    of_group: jax.Array | None = None
    of_unlisted: jax.Array | np.ndarray | None = None  # […]; None is 0

    @property
    def addends(self) -> jax.Array:
        """The terms of sums over items: bools as int32, and numbers unchanged."""
        amounts = self.of_items
        return amounts.astype(jnp.int32) if amounts.dtype == jnp.bool_ else amounts


def sum_before(layout: RankedLayout, amounts: jax.Array) -> jax.Array:
    """Sums, for each item, the `amounts` of the items before it in its list.

    Both are `[*lists, items]`. The amounts 1 0 1 1 0 give 0 1 1 2 3.
    """
    if not jnp.issubdtype(amounts.dtype, jnp.floating):
        return layout.cumulative_count(amounts) - amounts.astype(jnp.int32)
    # Subtracting an item from a sum that includes it would round, so shift the sums by one
    # instead.
    before = arithmetic.shifted(layout.cumulative_sum(amounts), 1)
    return jnp.where(layout.continues_list(amounts), before, jnp.zeros_like(before))


def continues_run(
    layout: RankedLayout, exists: jax.Array, keys: jax.Array
) -> jax.Array:
    """True for each item that ties with the item before it, `[*lists, items]` bool.

    In the example, this is F F T T F. A slot without an item is a run of length 1.
    """
    equals_previous = exists & (keys == arithmetic.shifted(keys, 1))
    return layout.continues_list(keys) & equals_previous


def bounds_of_runs(continues: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the first and the last slot of each item's run, `[*lists, items]` int32.

    In the example, these are 0 1 1 1 4 and 0 3 3 3 4.
    """
    continued = arithmetic.shifted(continues, -1)
    num_before, _ = arithmetic.along_runs(continues)
    num_after, _ = arithmetic.along_runs(jnp.flip(continued, -1))
    slots = arithmetic.iota(continues)
    return slots - num_before, slots + jnp.flip(num_after, -1)


def above_first_of_run(
    layout: RankedLayout, exists: jax.Array, start: jax.Array
) -> jax.Array:
    """Counts the items of the same list above each item's run, `[*lists, items]` int32.

    With the keys 9 7 7 7 4 and the starts 0 1 1 1 4, the counts are 0 1 1 1 4. In packed
    arrays, counts and starts differ, because starts are slots of the whole array.
    """
    # The slots before an item in its list, less the slots before the item in its run.
    return layout.offset_in_list(exists) - (arithmetic.iota(start) - start)


def definite_place(
    layout: RankedLayout,
    exists: jax.Array,
    amounts: Sequence[Amount],
    above: jax.Array | None,
    dtype: DTypeLike,
) -> Place:
    """Returns places of one rank each, above + 1.

    Args:
        layout: The layout of the items.
        exists: `[*lists, items]` bool.
        amounts: The amounts that places sum.
        above: `[*lists, items]` int32, the number of items before each item; None if items
            follow each other without gaps, from the first slot of their list.
        dtype: The dtype of places.
    """
    if above is None:
        above = layout.offset_in_list(exists)
        place_sum = sum_of_slots(layout, exists, dtype)
    else:
        place_sum = sum_of_one(above.astype(dtype))
    before = tuple(amount.before for amount in amounts if amount.before is not None)
    counted_tied = tuple(amount.addends for amount in amounts)
    counts = above, jnp.ones_like(above), before, counted_tied
    return Place.of_counts(counts, place_sum, dtype)


def sum_of_slots(layout: RankedLayout, like: jax.Array, dtype: DTypeLike) -> PlaceSum:
    """Returns a `PlaceSum` for places of one rank each, of items without gaps between.

    Args:
        layout: The layout of the items.
        like: An array of the items, `[*lists, items]`.
        dtype: The dtype of the sums.
    """
    if layout.is_rectangular and like.shape[-1] <= FEW_RANKS:
        return sum_of_first(like.shape[-1], dtype, like.ndim)
    return sum_of_one(layout.offset_in_list(like).astype(dtype))


# A function of ranks, and k: the function is summed over the ranks of a place up to k.
RankSum = tuple[types.PositionFn, types.Cut]


def of_runs(
    layout: RankedLayout,
    continues: jax.Array,
    values: jax.Array,
    amounts: Sequence[Amount],
    rank_sums: Sequence[RankSum],
    combine: arithmetic.Combine,
) -> tuple[Place, jax.Array]:
    """Returns the places and the values of items that tie in runs.

    The last item of each run stands for the whole run: it gets the combined value of the
    run, and the other items get the value 0. Only the places of last items are complete;
    the places of other items are finite and mean nothing.

    Args:
        layout: The layout of the items.
        continues: `[*lists, items]` bool, from `continues_run`.
        values: `[*lists, items, …]`, the values of items, in the dtype of places.
        amounts: The amounts that places sum.
        rank_sums: The sums over ranks that will be read.
        combine: How to combine the values of a run, such as by addition.
    """
    num_above = layout.offset_in_list(continues)
    rank = (num_above + 1).astype(values.dtype)
    # The count above a run is the count through its last item, less the count of the run.
    # Sums of floats are carried along the run from its first item instead, because a
    # difference would lose amounts that are far smaller than the sums.
    befores = [amount.before for amount in amounts if amount.before is not None]
    float_sums = [sums for sums in befores if jnp.issubdtype(sums.dtype, jnp.floating)]
    addends = [amount.addends for amount in amounts]
    at_rank = [at_ranks(position_fn, rank, k) for position_fn, k in rank_sums]
    # Everything that is scanned along runs is scanned in one loop.
    arrays = [values, *addends, *at_rank, *float_sums]
    added = len(addends) + len(at_rank)
    combines = [combine, *[jnp.add] * added, *[_keep_first] * len(float_sums)]
    offset, (values, *scanned) = arithmetic.along_runs(continues, arrays, combines)
    counted_tied, sums = scanned[: len(addends)], scanned[len(addends) : added]
    float_sums_above = iter(scanned[added:])
    counted_above = [
        next(float_sums_above)
        if jnp.issubdtype(before.dtype, jnp.floating)
        else before + addend - tied
        for before, addend, tied in zip(befores, addends, counted_tied, strict=True)
    ]

    def place_sum(position_fn: types.PositionFn, k: types.Cut) -> jax.Array:
        for (function, cutoff), rank_sum in zip(rank_sums, sums, strict=True):
            if function == position_fn and cutoff is k:
                return rank_sum
        values = at_ranks(position_fn, rank, k)
        return arithmetic.along_runs(continues, [values], [jnp.add])[1][0]

    counts = num_above - offset, offset + 1, tuple(counted_above), tuple(counted_tied)
    place = Place.of_counts(counts, place_sum, values.dtype)
    # Find the ends of runs by `offset`, not `continues`, which XLA may compute again from
    # the keys: the keys would then stay in memory while runs are scanned.
    is_last = arithmetic.widen(arithmetic.shifted(offset, -1) == 0, values)
    return place, jnp.where(is_last, values, 0)


def _keep_first(_: jax.Array, before: jax.Array) -> jax.Array:
    return before


def of_pairs(
    keys: jax.Array, exists: jax.Array, amounts: Sequence[jax.Array], dtype: DTypeLike
) -> Place:
    """Returns the places of items that have the first ranks, by comparing all pairs.

    The ranks of a place are then the ranks of the items in its tie group, so the same
    comparisons also sum a function of ranks over the place. In the example, each of the
    items 2 to 4 sums over the ranks 2, 3 and 4. On CPU, the bits of integers are compared.

    Args:
        keys: `[*lists, items]`, for few items; items with equal keys tie.
        exists: `[*lists, items]` bool.
        amounts: `[*lists, items]` each, the amounts that places sum.
        dtype: The dtype of places.
    """
    size, axes = keys.shape[-1], keys.ndim
    is_small, find = arithmetic.is_small(keys, size), _by_comparisons
    if not is_small:
        on_cpu = few_ranks_cpu.groups_of
        find = partial(lax.platform_dependent, cpu=on_cpu, default=_by_comparisons)
    counts = find(keys, exists, tuple(amounts))
    sum_on_cpu = sum_of_many(counts[0], counts[1], size, dtype)

    def place_sum(position_fn: types.PositionFn, k: types.Cut) -> jax.Array:
        def sum_of_tied() -> jax.Array:
            values = at_first_ranks(position_fn, size, k, dtype, axes)
            return _add_up(_tied(keys, exists), values)

        if is_small:
            return sum_of_tied()
        return lax.platform_dependent(
            cpu=lambda: sum_on_cpu(position_fn, k), default=sum_of_tied
        )

    return Place.of_counts(counts, place_sum, dtype)


def _by_comparisons(
    keys: jax.Array, exists: jax.Array, amounts: Sequence[jax.Array]
) -> tuple[Any, ...]:
    tied = _tied(keys, exists)
    slots = jnp.broadcast_to(arithmetic.iota(keys), keys.shape)
    both_exist = _compared(exists) & _sought(exists)
    above = (_compared(slots) < _sought(slots)) & both_exist & ~tied
    return (
        _add_up(above),
        _add_up(tied),
        tuple(_add_up(above, amount) for amount in amounts),
        tuple(_add_up(tied, amount) for amount in amounts),
    )


def _tied(keys: jax.Array, exists: jax.Array) -> jax.Array:
    """True for each pair of items that tie, `[items, items, *lists]`.

    The axes of items come first, so that compilers vectorise over lists. Axis 0 is the item
    whose group is sought, axis 1 the item compared with it.
    """
    both_exist = _compared(exists) & _sought(exists)
    return (_compared(keys) == _sought(keys)) & both_exist


def _sought(x: jax.Array) -> jax.Array:
    return jnp.moveaxis(x, -1, 0)[:, None]


def _compared(x: jax.Array) -> jax.Array:
    return jnp.moveaxis(x, -1, 0)[None, :]


def _add_up(pairs: jax.Array, amounts: jax.Array | None = None) -> jax.Array:
    """Sums the amounts of the compared items, or counts these items, `[*lists, items]`."""
    if amounts is None:
        terms = pairs
    elif amounts.dtype == jnp.bool_:
        terms = pairs & _compared(amounts)
    else:
        terms = jnp.where(pairs, _compared(amounts), 0)
    is_counted = terms.dtype == jnp.bool_
    # Count in floats, so that counts and sums of floats share one loop.
    sums = jnp.sum(terms.astype(jnp.float32) if is_counted else terms, axis=1)
    return jnp.moveaxis(sums.astype(jnp.int32) if is_counted else sums, 0, -1)
