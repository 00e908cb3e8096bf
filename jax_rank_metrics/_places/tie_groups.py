"""The tie groups of items in rank order, from runs of equal keys.

Throughout, five items with the keys 9 7 7 7 4 serve as the example: they form three runs,
so `above` is 0 1 1 1 4 and `tied` is 1 3 3 3 1.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._places.place import (
    FEW_RANKS,
    Place,
    PlaceSum,
    sum_of_first,
    sum_of_many,
    sum_of_one,
    sum_of_two,
)

T = TypeVar("T")


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


class PrefixSums(NamedTuple):
    """Sums along the items of each list, `[*lists, items]` each.

    For the amounts 1 0 1 1 0, `before` is 0 1 1 2 3 and `through` is 1 1 2 3 3.
    """

    before: jax.Array  # over the items before each item
    through: jax.Array  # the same, and the item itself


class Line(NamedTuple):
    """Items in rank order, and the amounts to add up above them and in their groups."""

    layout: RankedLayout
    exists: jax.Array  # [*lists, items] bool
    amounts: Sequence[jax.Array]  # [*lists, items]; floats, bools or small integers
    prefix_sums: Sequence[PrefixSums]  # of each amount; empty where nothing reads them
    dtype: DTypeLike  # of places


class Runs(NamedTuple):
    """Runs of neighbours with equal keys, `[*lists, items]` each.

    In the example the slots 1, 2 and 3 form a run: `continues` is F F T T F, `continued`
    is F T T F F, `start` is 0 1 1 1 4 and `end` is 0 3 3 3 4.
    """

    continues: jax.Array  # whether an item ties with the one before it
    continued: jax.Array  # whether an item ties with the one after it
    start: jax.Array  # int32, the first slot of its run
    end: jax.Array  # int32, the last slot of its run

    @property
    def any_long(self) -> jax.Array:
        """Whether any run of any list is longer than two, a bool scalar."""
        return _mesh.unvmap_any(self.continues & self.continued)


def prefix_sums(layout: RankedLayout, amounts: jax.Array) -> PrefixSums:
    """Sums `amounts`, `[*lists, items]`, along the items of each list."""
    if not jnp.issubdtype(amounts.dtype, jnp.floating):
        through = layout.cumulative_count(amounts)
        return PrefixSums(through - amounts.astype(jnp.int32), through)
    through = layout.cumulative_sum(amounts)
    # Subtracting the item again would round: shift the sums by one instead.
    is_first = layout.offset_in_list(amounts) == 0
    before = _arithmetic.shifted(through, 1)
    return PrefixSums(jnp.where(is_first, jnp.zeros_like(before), before), through)


def runs_of(layout: RankedLayout, exists: jax.Array, keys: jax.Array) -> Runs:
    """Finds the runs of neighbouring items with equal keys, `[*lists, items]`.

    Every item first points to its neighbours in the run; then pointers jump to where
    their targets point, until none moves, which takes log2(longest run) steps. Runs of at
    most two, as random floats form, need no step. A slot without an item is a run of
    length 1.
    """
    equals_previous = (keys[..., 1:] == keys[..., :-1]) & exists[..., 1:]
    continues = layout.continues_run(equals_previous)
    # Where lists have no slots at all, the layout returns one entry too many.
    continues = continues[..., : keys.shape[-1]]
    continued = _arithmetic.shifted(continues, -1)
    slots = jnp.broadcast_to(_arithmetic.iota(continues), continues.shape)
    pointers = (
        slots - continues.astype(jnp.int32),
        slots + continued.astype(jnp.int32),
    )

    def jump(state: tuple[jax.Array, tuple[jax.Array, jax.Array]]):
        _, (start, end) = state
        new_start, new_end = _arithmetic.take(start, start), _arithmetic.take(end, end)
        any_moved = _mesh.unvmap_any((new_start != start) | (new_end != end))
        return any_moved, (new_start, new_end)

    state = (_mesh.unvmap_any(continues & continued), pointers)
    _, (start, end) = lax.while_loop(lambda state: state[0], jump, state)
    return Runs(continues, continued, start, end)


def above_first_of_run(
    layout: RankedLayout, exists: jax.Array, start: jax.Array
) -> jax.Array:
    """Counts the items of the same list above each item's run, `[*lists, items]` int32.

    With the keys 9 7 7 7 4 and `start` 0 1 1 1 4 of `Runs`, the counts are 0 1 1 1 4. In
    packed arrays, where `start` counts from the first list, the two differ.
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
    counted_above = tuple(sums.before for sums in line.prefix_sums)
    counted_tied = tuple(_as_addends(x) for x in line.amounts)
    groups = TieGroups(above, jnp.ones_like(above), counted_above, counted_tied)
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


def with_place_of_runs(
    line: Line, runs: Runs, ranks: int, read: Callable[[Place], T]
) -> T:
    """Returns `read(place)`, where `place` holds the places of all items.

    Where no run is longer than two, places come from the two neighbours of each item,
    which is cheaper than gathers and a table. The lengths are known only at run time, so
    `read` is compiled into both branches of a `lax.cond`.

    Args:
        line: The items.
        runs: The runs of items that tie.
        ranks: The number of ranks there can be, static.
        read: Reduces places to a small result, such as one sum per list.
    """
    return lax.cond(
        runs.any_long,
        lambda: read(groups_of_runs(line, runs).place_of_any_size(line.dtype, ranks)),
        lambda: read(_place_of_short_runs(line, runs)),
    )


def groups_of_runs(line: Line, runs: Runs) -> TieGroups:
    """Finds the groups of items in rank order, whatever the length of their runs."""
    above = above_first_of_run(line.layout, line.exists, runs.start)
    counted_above, counted_tied = [], []
    for amounts, sums in zip(line.amounts, line.prefix_sums, strict=True):
        before = _arithmetic.take(sums.before, runs.start)
        if jnp.issubdtype(amounts.dtype, jnp.floating):
            # The difference of two prefix sums would lose amounts far smaller than they.
            within = _arithmetic.restarting_sum(amounts, ~runs.continues)
            tied = _arithmetic.take(within, runs.end)
        else:
            tied = _arithmetic.take(sums.through, runs.end) - before
        counted_above.append(before)
        counted_tied.append(tied)
    tied = runs.end - runs.start + 1
    return TieGroups(above, tied, tuple(counted_above), tuple(counted_tied))


def _place_of_short_runs(line: Line, runs: Runs) -> Place:
    """Returns the places of items of which no run is longer than two."""
    is_second, is_first = runs.continues, runs.continued
    offset = line.layout.offset_in_list(line.exists)
    counted_above, counted_tied = [], []
    for amounts, (before, _) in zip(line.amounts, line.prefix_sums, strict=True):
        amounts = _as_addends(amounts)
        previous = _arithmetic.shifted(amounts, 1)
        following = _arithmetic.shifted(amounts, -1)
        # The items above the second of a pair are those before the first.
        before = jnp.where(is_second, _arithmetic.shifted(before, 1), before)
        partner = jnp.where(is_second, previous, 0) + jnp.where(is_first, following, 0)
        counted_above.append(before)
        counted_tied.append(amounts + partner)
    groups = TieGroups(
        offset - is_second.astype(jnp.int32),
        1 + is_second.astype(jnp.int32) + is_first.astype(jnp.int32),
        tuple(counted_above),
        tuple(counted_tied),
    )
    rank = offset.astype(line.dtype) + 1
    return groups.place(line.dtype, sum_of_two(rank, is_second, is_second | is_first))


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
