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
    Place,
    PlaceSum,
    sum_of_many,
    sum_of_one,
    sum_of_two,
)

T = TypeVar("T")

# Up to this many ranks, comparing all pairs of items is faster than finding runs.
_MAX_PAIRED_RANKS = 32


class TieGroups(NamedTuple):
    """The tie group of each item; all arrays broadcast with `[*lists, items]`."""

    above: jax.Array  # int32
    tied: jax.Array  # int32
    counted_above: tuple[jax.Array, ...]  # int32 counts, or sums in floats
    counted_tied: tuple[jax.Array, ...]

    def place(self, dtype: DTypeLike, place_sum: PlaceSum) -> Place:
        """The groups as a formula sees them, in floats."""
        floats = jax.tree.map(lambda x: x.astype(dtype), self)
        # Slots without an item have no group; 1 keeps formulas from dividing by 0.
        tied = jnp.maximum(floats.tied, 1)
        return Place(
            floats.above, tied, floats.counted_above, floats.counted_tied, place_sum
        )

    def place_of_any_size(self, dtype: DTypeLike, ranks: int) -> Place:
        """`place`, where groups may be of any size up to `ranks`."""
        return self.place(dtype, sum_of_many(self.above, self.tied, ranks, dtype))


class PrefixSums(NamedTuple):
    """Sums along the items of each list, `[*lists, items]` each.

    For the amounts 1 0 1 1 0, `before` is 0 1 1 2 3 and `through` is 1 1 2 3 3.
    """

    before: jax.Array  # over the items before each one
    through: jax.Array  # over these and the item itself


class Line(NamedTuple):
    """Items in rank order, and the amounts to add up above them and in their groups."""

    layout: RankedLayout
    exists: jax.Array  # [*lists, items] bool
    amounts: Sequence[jax.Array]  # [*lists, items]; bools or integers count, floats add
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
        """Whether any run of any list is longer than two."""
        return _mesh.unvmap_any(self.continues & self.continued)


def prefix_sums(layout: RankedLayout, amounts: jax.Array) -> PrefixSums:
    """Sums of `amounts` `[*lists, items]` along the items of each list."""
    if not jnp.issubdtype(amounts.dtype, jnp.floating):
        through = layout.cumulative_count(amounts)
        return PrefixSums(through - amounts.astype(jnp.int32), through)
    through = layout.cumulative_sum(amounts)
    # Subtracting the item again would round: shift the sums by one instead.
    is_first = layout.offset_in_list(amounts) == 0
    before = _arithmetic.shifted(through, 1)
    return PrefixSums(jnp.where(is_first, jnp.zeros_like(before), before), through)


def runs_of(layout: RankedLayout, exists: jax.Array, keys: jax.Array) -> Runs:
    """Finds the runs of neighbouring items with equal keys.

    Every item first points to its neighbours in the run; then pointers jump to where
    their targets point, until none moves, which takes log2(longest run) steps. Random
    floats tie in pairs at most, and then no step is needed.
    """
    equals_previous = (keys[..., 1:] == keys[..., :-1]) & exists[..., 1:]
    continues = layout.continues_run(equals_previous)
    # The padded result has one entry too many where lists have no items at all.
    continues = continues[..., : keys.shape[-1]]
    continued = _arithmetic.shifted(continues, -1)
    slots = jnp.broadcast_to(_arithmetic.iota(continues), continues.shape)
    pointers = (
        slots - continues.astype(jnp.int32),
        slots + continued.astype(jnp.int32),
    )

    def jump(state: tuple[jax.Array, tuple[jax.Array, jax.Array]]):
        _, (start, end) = state
        jumped = _arithmetic.take(start, start), _arithmetic.take(end, end)
        moved = _mesh.unvmap_any((jumped[0] != start) | (jumped[1] != end))
        return moved, jumped

    state = (_mesh.unvmap_any(continues & continued), pointers)
    _, (start, end) = lax.while_loop(lambda state: state[0], jump, state)
    return Runs(continues, continued, start, end)


def above_first_of_run(layout: RankedLayout, exists: jax.Array, start: jax.Array):
    """The number of items above each item's run, int32.

    An item `i - start` slots into its run has that many fewer items above the run than
    before itself. In the example, slot 3 has three items before it, one above its run.
    """
    return layout.offset_in_list(exists) - (_arithmetic.iota(start) - start)


def definite_place(line: Line, above: jax.Array | None) -> Place:
    """Places of one rank each; `above` is int32, or None where ranks have no gaps."""
    if above is None:
        above = line.layout.offset_in_list(line.exists)
    counted_above = tuple(sums.before for sums in line.prefix_sums)
    counted_tied = tuple(_as_addends(x) for x in line.amounts)
    groups = TieGroups(above, jnp.ones_like(above), counted_above, counted_tied)
    return groups.place(line.dtype, sum_of_one(above.astype(line.dtype)))


def with_place_of_runs(
    line: Line, runs: Runs, ranks: int, read: Callable[[Place], T]
) -> T:
    """Returns `read(place)` for items in runs.

    Where no run is longer than two, places come from the two neighbours of each item,
    which is cheaper than gathers and a table.

    Args:
        line: The items.
        runs: Which of them tie.
        ranks: The number of ranks there can be, static.
        read: Reduces a place to something small; it is compiled once for each branch.
    """
    return lax.cond(
        runs.any_long,
        lambda: read(groups_of_runs(line, runs).place_of_any_size(line.dtype, ranks)),
        lambda: read(_place_of_short_runs(line, runs)),
    )


def groups_of_pairs(line: Line, keys: jax.Array) -> TieGroups:
    """The groups of a few items in rank order, by comparing all pairs."""

    # Items move to the front, [items, items, *lists], so that compilers vectorise over
    # lists: axis 0 is the item whose group is sought, axis 1 the one compared with it.
    def rows(x: jax.Array) -> jax.Array:
        return jnp.moveaxis(x, -1, 0)[:, None]

    def columns(x: jax.Array) -> jax.Array:
        return jnp.moveaxis(x, -1, 0)[None, :]

    def add_up(pairs: jax.Array, amounts: jax.Array | None = None) -> jax.Array:
        if amounts is None:
            terms = pairs
        elif amounts.dtype == jnp.bool_:
            terms = pairs & columns(amounts)
        else:
            terms = jnp.where(pairs, columns(amounts), 0)
        is_float = jnp.issubdtype(terms.dtype, jnp.floating)
        sums = jnp.sum(terms, axis=1, dtype=terms.dtype if is_float else jnp.int32)
        return jnp.moveaxis(sums, 0, -1)

    same = (rows(keys) == columns(keys)) & rows(line.exists) & columns(line.exists)
    slots = jnp.broadcast_to(_arithmetic.iota(keys), keys.shape)
    above = columns(line.exists) & (columns(slots) < rows(slots)) & ~same
    return TieGroups(
        add_up(above),
        add_up(same),
        tuple(add_up(above, x) for x in line.amounts),
        tuple(add_up(same, x) for x in line.amounts),
    )


def groups_of_runs(line: Line, runs: Runs) -> TieGroups:
    """The groups of items in rank order, whatever the length of their runs."""
    above = above_first_of_run(line.layout, line.exists, runs.start)
    counted_above, counted_tied = [], []
    for amounts, sums in zip(line.amounts, line.prefix_sums, strict=True):
        before = _arithmetic.take(sums.before, runs.start)
        if jnp.issubdtype(amounts.dtype, jnp.floating):
            # The difference of two prefix sums would lose what is small beside them.
            within = _arithmetic.restarting_sum(amounts, ~runs.continues)
            tied = _arithmetic.take(within, runs.end)
        else:
            tied = _arithmetic.take(sums.through, runs.end) - before
        counted_above.append(before)
        counted_tied.append(tied)
    tied = runs.end - runs.start + 1
    return TieGroups(above, tied, tuple(counted_above), tuple(counted_tied))


def groups_of_counted(line: Line, above: jax.Array, tied: jax.Array) -> TieGroups:
    """The groups of a few items in rank order whose places were counted."""
    return groups_of_pairs(line, above)._replace(above=above, tied=tied)


def compares_pairs(items: int) -> bool:
    """Whether `groups_of_pairs` is the faster way for this many items."""
    return items <= _MAX_PAIRED_RANKS


def _place_of_short_runs(line: Line, runs: Runs) -> Place:
    """Places where no run is longer than two."""
    is_second, is_first = runs.continues, runs.continued
    offset = line.layout.offset_in_list(line.exists)
    counted_above, counted_tied = [], []
    for amounts, (before, _) in zip(line.amounts, line.prefix_sums, strict=True):
        amounts = _as_addends(amounts)
        previous = _arithmetic.shifted(amounts, 1)
        following = _arithmetic.shifted(amounts, -1)
        # Above the second of a pair stands what stands before the first.
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
    """Bools as int32; numbers as they are."""
    return amounts.astype(jnp.int32) if amounts.dtype == jnp.bool_ else amounts


def with_last(
    groups: TieGroups, is_last: jax.Array, tied: jax.Array, counted: Sequence[jax.Array]
) -> TieGroups:
    """Groups in which the last item stands for all items that tie with it.

    Args:
        groups: `[*lists, items]`.
        is_last: The same shape, bool, the items that stand for their group.
        tied: `[*lists]`, how many items that group holds.
        counted: `[*lists]` each, the sum of each amount over that group.
    """

    def put(x: jax.Array, per_list: jax.Array) -> jax.Array:
        return jnp.where(is_last, per_list[..., None], x)

    return groups._replace(
        tied=put(groups.tied, tied),
        counted_tied=tuple(map(put, groups.counted_tied, counted)),
    )
