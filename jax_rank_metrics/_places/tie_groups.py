"""The tie groups of items in rank order, from runs of equal keys.

Throughout, five items with the keys 9 7 7 7 4 serve as the example: they form three runs,
so `above` is 0 1 1 1 4 and `tied` is 1 3 3 3 1.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._places.place import (
    FEW_RANKS,
    Place,
    PlaceSum,
    at_ranks,
    sum_of_first,
    sum_of_many,
    sum_of_one,
)
from jax_rank_metrics._types import Cut, PositionFn


class TieGroups(NamedTuple):
    """The tie group of each item; all arrays broadcast with `[*lists, items]`."""

    above: jax.Array  # int32
    tied: jax.Array  # int32
    counted_above: tuple[jax.Array, ...]  # int32 counts, or sums in floats
    counted_tied: tuple[jax.Array, ...]

    def place(self, dtype: DTypeLike, place_sum: PlaceSum) -> Place:
        """Returns the groups as a formula sees them, in floats."""
        floats = jax.tree.map(lambda x: x.astype(dtype), self)
        # Slots without an item have no group; 1 keeps formulas from dividing by 0.
        tied = jnp.maximum(floats.tied, 1)
        return Place(
            floats.above, tied, floats.counted_above, floats.counted_tied, place_sum
        )

    def place_of_any_size(self, dtype: DTypeLike, ranks: int) -> Place:
        """Returns `place` for groups of any size, on ranks up to `ranks`."""
        return self.place(dtype, sum_of_many(self.above, self.tied, ranks, dtype))


class Line(NamedTuple):
    """Items in rank order, and the amounts to add up above them and in their groups."""

    layout: RankedLayout
    exists: jax.Array  # [*lists, items] bool
    amounts: Sequence[jax.Array]  # [*lists, items]; floats, bools or small integers
    # From `sum_before`, of each amount; empty where nothing reads them.
    sums_before: Sequence[jax.Array]
    dtype: DTypeLike  # of places


def sum_before(layout: RankedLayout, amounts: jax.Array) -> jax.Array:
    """Sums `amounts`, `[*lists, items]`, over the items of the list before each item.

    The amounts 1 0 1 1 0 give 0 1 1 2 3.
    """
    if not jnp.issubdtype(amounts.dtype, jnp.floating):
        return layout.cumulative_count(amounts) - amounts.astype(jnp.int32)
    # Subtracting the item again would round: shift the sums by one instead.
    before = _arithmetic.shifted(layout.cumulative_sum(amounts), 1)
    return jnp.where(layout.continues_list(amounts), before, jnp.zeros_like(before))


def continues_run(
    layout: RankedLayout, exists: jax.Array, keys: jax.Array
) -> jax.Array:
    """Whether each item ties with the one before it, `[*lists, items]` bool.

    In the example, this is F F T T F. A slot without an item is a run of length 1.
    """
    equals_previous = exists & (keys == _arithmetic.shifted(keys, 1))
    return layout.continues_list(keys) & equals_previous


def bounds_of_runs(continues: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the first and the last slot of each item's run, `[*lists, items]` int32.

    In the example, these are 0 1 1 1 4 and 0 3 3 3 4.
    """
    continued = _arithmetic.shifted(continues, -1)
    num_before, _ = _arithmetic.along_runs(continues)
    num_after, _ = _arithmetic.along_runs(jnp.flip(continued, -1))
    slots = _arithmetic.iota(continues)
    return slots - num_before, slots + jnp.flip(num_after, -1)


def above_first_of_run(
    layout: RankedLayout, exists: jax.Array, start: jax.Array
) -> jax.Array:
    """Counts the items of the same list above each item's run, `[*lists, items]` int32.

    With the keys 9 7 7 7 4 and the starts 0 1 1 1 4, the counts are 0 1 1 1 4. In packed
    arrays, where starts count from the first list, the two differ.
    """
    # The number of items of the list before this one, less those of its run.
    return layout.offset_in_list(exists) - (_arithmetic.iota(start) - start)


def definite_place(line: Line, above: jax.Array | None) -> Place:
    """Returns places of one rank each, above + 1.

    Args:
        line: The items.
        above: `[*lists, items]` int32, the number of items before each; None where items
            follow each other without gaps, from the first slot of their list.
    """
    layout, is_gapless = line.layout, above is None
    if above is None:
        above = layout.offset_in_list(line.exists)
    counted_tied = tuple(map(_as_addends, line.amounts))
    ones = jnp.ones_like(above)
    groups = TieGroups(above, ones, tuple(line.sums_before), counted_tied)
    place_sum = sum_of_one(above.astype(line.dtype))
    if is_gapless:
        place_sum = sum_of_slots(layout, line.exists, line.dtype)
    return groups.place(line.dtype, place_sum)


def sum_of_slots(layout: RankedLayout, like: jax.Array, dtype: DTypeLike) -> PlaceSum:
    """Makes the sum over places of one rank each, for items that follow without gaps.

    Args:
        layout: The layout of the items.
        like: `[*lists, items]`.
        dtype: The dtype of the sums.
    """
    if layout.is_rectangular and like.shape[-1] <= FEW_RANKS:
        return sum_of_first(like.shape[-1], dtype, like.ndim)
    return sum_of_one(layout.offset_in_list(like).astype(dtype))


# Reduces tie groups, sums over their ranks, and the values of items to a small result.
ReadGroups = Callable[[TieGroups, PlaceSum, jax.Array], jax.Array]


def read_runs(
    line: Line,
    continues: jax.Array,
    values: jax.Array,
    combine: _arithmetic.Combine,
    read: ReadGroups,
) -> jax.Array:
    """Returns `read(groups, place_sum, values)` for items that tie in runs.

    The last item of each run stands for all of it: the value of that item is what the
    values of the run combine to, and other items have the value 0. Only the groups of
    these last items are complete; those of other items are finite and mean nothing.

    Args:
        line: The items.
        continues: `[*lists, items]` bool, from `continues_run`.
        values: `[*lists, items, …]`, what items are worth.
        combine: What the values of a run combine to, such as their sum.
        read: What to do with the groups. It is traced several times.
    """
    num_above = line.layout.offset_in_list(line.exists)
    rank = (num_above + 1).astype(line.dtype)
    amounts = tuple(map(_as_addends, line.amounts))
    # The count above a run is that through its last item, less that of the run. Sums of
    # floats are carried along the run from its first item instead: a difference would
    # lose amounts far smaller than they.
    float_sums = [x for x in line.sums_before if jnp.issubdtype(x.dtype, jnp.floating)]
    requests = _requested_sums(line, values, read)
    at_rank = [at_ranks(position_fn, rank, k) for position_fn, k in requests]
    # Everything that is scanned along runs is scanned in one loop.
    arrays = [values, *amounts, *at_rank, *float_sums]
    added = len(amounts) + len(requests)
    combines = [combine, *[jnp.add] * added, *[_keep_first] * len(float_sums)]

    scan = functools.partial(_arithmetic.along_runs, continues)
    offset, (values, *scanned) = scan(arrays, combines)
    counted_tied = scanned[: len(amounts)]
    sums = dict(zip(requests, scanned[len(amounts) : added], strict=True))
    float_sums_above = iter(scanned[added:])
    counted_above = [
        next(float_sums_above)
        if jnp.issubdtype(x.dtype, jnp.floating)
        else before + x - tied
        for before, x, tied in zip(line.sums_before, amounts, counted_tied, strict=True)
    ]

    def place_sum(position_fn: PositionFn, k: Cut) -> jax.Array:
        if isinstance(k, jax.Array):
            return scan([at_ranks(position_fn, rank, k)], [jnp.add])[1][0]
        return sums[position_fn, k]

    groups = TieGroups(
        num_above - offset, offset + 1, tuple(counted_above), tuple(counted_tied)
    )
    is_last = _arithmetic.widen(~_arithmetic.shifted(continues, -1), values)
    return read(groups, place_sum, jnp.where(is_last, values, 0))


def _requested_sums(
    line: Line, values: jax.Array, read: ReadGroups
) -> dict[tuple[PositionFn, int | None], None]:
    """Traces `read` to see which sums over the ranks of places it requests.

    Sums up to cutoffs that are arrays are left out.
    """
    requests: dict[tuple[PositionFn, int | None], None] = {}

    def place_sum(position_fn: PositionFn, k: Cut) -> jax.Array:
        if not isinstance(k, jax.Array):
            requests[position_fn, k] = None
        return jnp.zeros(line.exists.shape, line.dtype)

    zeros = jnp.zeros(line.exists.shape, jnp.int32)
    amounts = tuple(map(_as_addends, line.amounts))
    groups = TieGroups(zeros, zeros, amounts, amounts)
    jax.eval_shape(lambda: read(groups, place_sum, values))
    return requests


def _keep_first(_: jax.Array, before: jax.Array) -> jax.Array:
    return before


def _as_addends(amounts: jax.Array) -> jax.Array:
    """Casts bools to int32; returns numbers as they are."""
    return amounts.astype(jnp.int32) if amounts.dtype == jnp.bool_ else amounts


def with_last(
    groups: TieGroups, is_last: jax.Array, tied: jax.Array, counted: Sequence[jax.Array]
) -> TieGroups:
    """Returns groups in which the last item has the numbers of its complete group.

    A cut may keep only a part of a tie group. With the keys 9 7 7 before the cut and two
    more 7s beyond it, `tied` is 1 2 2 and becomes 1 2 4.

    Args:
        groups: The groups of the items before the cut, `[*lists, items]`.
        is_last: `[*lists, items]` bool, the last item of each list that is cut within a
            tie group.
        tied: `[*lists]`, the size of the complete group.
        counted: `[*lists]` each, the sum of each amount over the complete group.
    """

    def replace_last(x: jax.Array, per_list: jax.Array) -> jax.Array:
        return jnp.where(is_last, per_list[..., None], x)

    return groups._replace(
        tied=replace_last(groups.tied, tied),
        counted_tied=tuple(map(replace_last, groups.counted_tied, counted)),
    )
