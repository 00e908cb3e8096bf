"""Items that have places, and items in one definite order.

Four classes hold items: `DefiniteRanks`, `TieRuns`, `CountedPlaces` and `SoftPlaces`.
Each implements the protocol `Held`: it tells the places of its items, the first of them
to stop a user, and the items that tie across the cut.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._places import first_stop, tie_groups
from jax_rank_metrics._places.first_stop import FirstStop
from jax_rank_metrics._places.place import Place
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking.memo import Memo
from jax_rank_metrics._ranking.straddle import Straddle, StraddlingGroup


class UnknownPlaceError(ValueError):
    """Raised where a metric asks for places that a ranking does not know.

    Rank all items instead.
    """


# What to do where a metric reads items that a ranking of the listed ones does not hold.
RANK_MORE = (
    "rank all items with jrm.rank or jrm.evaluate, or the first k of them with "
    "rank_scores(k=…) or rank_catalog(k=…)"
)


class Summands(NamedTuple):
    """The arrays that one sum over places reads; see `Ranking.expected_sum`."""

    values: jax.Array  # [*lists, items, …]: what each item is worth
    amounts: tuple[jax.Array, ...]  # [*lists, items] each: what places count
    sums_before: tuple[jax.Array, ...]  # of the amounts; empty if nothing reads them
    straddling: StraddlingGroup | None  # with totals of the values and of each amount
    # What the values of a tie group combine to; None: their sum.
    combine: _arithmetic.Combine | None = None


# Looks up the group of a key `[*lists]` in the pool.
FindGroup = Callable[[Straddle, jax.Array], StraddlingGroup]

# Sums over items, from their places and what the items are worth.
SumOverPlaces = Callable[[Place, jax.Array], jax.Array]

# Computes the places of the items held, and hands them to a sum.
PlaceReader = Callable[[Summands, SumOverPlaces], jax.Array]


@runtime_checkable
class Held(Protocol):
    """Items that have places, in the arrays of a ranked layout.

    Shapes for lists as rows:
        items: `[*lists, held]`.
        layout: The layout of `items`.
        ranks: The number of ranks there can be, static.
    """

    @property
    def items(self) -> ItemArrays: ...

    @property
    def layout(self) -> RankedLayout: ...

    @property
    def ranks(self) -> int: ...

    @property
    def reads_prefix_sums(self) -> bool:
        """Whether places are read off prefix sums along the items."""
        ...

    def item_indices(self) -> jax.Array:
        """Returns which item is at each rank, `[*lists, held]` int32; −1 where none is.

        Raises:
            ValueError: if these items have no order.
        """
        ...

    def in_one_order(self) -> "DefiniteRanks":
        """Returns the same items in the definite order of the tie policy."""
        ...

    def straddling_group(self, find: FindGroup) -> StraddlingGroup | None:
        """Returns the tie group across the cut; None where all groups are complete."""
        ...

    def place_reader(self, memo: Memo, counting: Hashable) -> PlaceReader:
        """Prepares what the places of all summands share.

        The reader hands places to a sum instead of returning them: it first traces the sum
        to see which sums over ranks it wants, and then scans everything in one loop.

        Args:
            memo: The results that metrics share.
            counting: The functions that give the amounts, as a key of the memo.
        """
        ...

    def first_stop(
        self, stop: jax.Array, straddling: StraddlingGroup | None
    ) -> FirstStop:
        """Returns the tie group of the first item that stops a user.

        Where no item of a list stops, the `stops` of its group are 0.

        Args:
            stop: `[*lists, held]` bool, which items stop.
            straddling: The group across the cut, whose only total is the number of its
                items that stop; None where every group is complete.
        """
        ...

    def tie_bounds(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Returns the first and last slot of each item's tie group.

        Both are `[*lists, held]` int32, slots along the last axis: the scores 9 7 7 have
        the bounds 0 1 1 and 0 2 2.
        """
        ...

    def above_and_tied(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Returns how many items rank above each item's tie group, and how many it holds.

        Both are `[*lists, held]` int32: the scores 9 7 7 have 0 1 1 and 1 2 2. Entries
        of slots without an item mean nothing.
        """
        ...


def line_of(held: Held, summands: Summands) -> tie_groups.Line:
    """Returns the items held, with the amounts to add up."""
    dtype = summands.values.dtype
    exists = held.items.exists
    return tie_groups.Line(
        held.layout, exists, summands.amounts, summands.sums_before, dtype
    )


@pytree("ranks")
class DefiniteRanks:
    """Items that have one rank each.

    Shapes for lists as rows:
        items: `[*lists, held]`, in rank order, perhaps with gaps where no item exists.
        layout: The layout of `items`.
        index: `[*lists, held]` int32, which item is at each rank, −1 where none is; None
            where places were counted, so that not every rank is held.
        above: `[*lists, held]` int32, how many items precede each; None where items
            follow each other without gaps.
        ranks: The number of ranks there can be, static.
    """

    items: ItemArrays
    layout: RankedLayout
    index: jax.Array | None
    above: jax.Array | None
    ranks: int

    @property
    def reads_prefix_sums(self) -> bool:
        """True: what is counted above an item is the sum over the slots before it."""
        return True

    def item_indices(self) -> jax.Array:
        """Returns which item is at each rank."""
        assert self.index is not None
        return self.index

    def in_one_order(self) -> "DefiniteRanks":
        """Returns `self`."""
        return self

    def straddling_group(self, find: FindGroup) -> None:
        """Returns None: nothing ties."""
        del find

    def place_reader(self, memo: Memo, counting: Hashable) -> PlaceReader:
        """Prepares places of one rank each."""
        del memo, counting

        def read(summands: Summands, sum_over: SumOverPlaces) -> jax.Array:
            line = line_of(self, summands)
            return sum_over(
                tie_groups.definite_place(line, self.above), summands.values
            )

        return read

    def first_stop(
        self, stop: jax.Array, straddling: StraddlingGroup | None
    ) -> FirstStop:
        """Returns the item that stops with the fewest items above it."""
        del straddling
        above, layout = self._above(), self.layout
        # Layouts have no minimum: negate the maximum of the negated numbers. Where no
        # item stops, the result is not read.
        above = -layout.max(jnp.where(stop, -above, -(2**31) + 1))
        return first_stop.at_known_rank(above, layout.sum(stop) > 0)

    def tie_bounds(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Returns the slot of each item as both bounds."""
        del memo
        exists = self.items.exists
        slots = jnp.broadcast_to(_arithmetic.iota(exists), exists.shape)
        return slots, slots

    def above_and_tied(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Returns the number of items before each, and 1."""
        del memo
        above = jnp.broadcast_to(self._above(), self.items.exists.shape)
        return above, jnp.ones_like(above)

    def _above(self) -> jax.Array:
        if self.above is not None:
            return self.above
        return self.layout.offset_in_list(self.items.exists)
