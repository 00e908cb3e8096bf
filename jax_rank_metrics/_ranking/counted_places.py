"""A few items of each list whose places were counted."""

from collections.abc import Hashable

import jax
import jax.numpy as jnp

from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._places import few_ranks, first_stop, tie_groups
from jax_rank_metrics._places.first_stop import FirstStop
from jax_rank_metrics._places.place import FEW_RANKS
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking.held import (
    DefiniteRanks,
    FindGroup,
    PlaceReader,
    Summands,
    SumOverPlaces,
    UnknownPlaceError,
    line_of,
)
from jax_rank_metrics._ranking.memo import Memo
from jax_rank_metrics._ranking.straddle import StraddlingGroup


@pytree("ranks")
class CountedPlaces:
    """A few items of each list whose places were counted; no other item is ordered.

    For the scores 9 7 7 7 4 and the relevant items 2 and 4, `above` is 1 4, `tied` is 3 1
    and, if ties are in index order, `rank_above` is 2 4.

    Shapes:
        items: `[*lists, held]`, in rank order.
        layout: The layout of `items`.
        rank_above: `[*lists, held]` int32, how many items precede each in the definite
            order of the tie policy.
        above: `[*lists, held]` int32, how many items score higher.
        tied: `[*lists, held]` int32, how many score the same, the item itself included.
        ranks: The number of ranks there can be, static.
    """

    items: ItemArrays
    layout: RankedLayout
    rank_above: jax.Array
    above: jax.Array
    tied: jax.Array
    ranks: int

    @property
    def reads_prefix_sums(self) -> bool:
        """Whether there are too many items to compare all pairs of them."""
        return self.items.exists.shape[-1] > FEW_RANKS

    def item_indices(self) -> jax.Array:
        """Raises ValueError: the ranks between these items are not held."""
        raise UnknownPlaceError(
            "items: this ranking counted places and has no order; rank with a k, or by "
            "rank_ids"
        )

    def in_one_order(self) -> DefiniteRanks:
        """Returns the same items with their ranks in the definite order."""
        return DefiniteRanks(self.items, self.layout, None, self.rank_above, self.ranks)

    def straddling_group(self, find: FindGroup) -> None:
        """Returns None: every item was counted."""
        del find

    def place_reader(self, memo: Memo, counting: Hashable) -> PlaceReader:
        """Prepares places as they were counted; amounts are added up by pairs or runs."""
        del memo, counting

        def read(summands: Summands, sum_over: SumOverPlaces) -> jax.Array:
            line, values = line_of(self, summands), summands.values

            def read_groups(groups: tie_groups.TieGroups, values: jax.Array):
                # Groups may hold items that are not held here.
                groups = groups._replace(above=self.above, tied=self.tied)
                # Three items may stand at the ranks 5, 900 and 70,000, also in groups of
                # that size.
                place = groups.place_of_any_size(line.dtype, self.ranks)
                return sum_over(place, values)

            if not line.amounts and summands.combine is None:
                # Nothing is added up in a group, so that each item counts by itself.
                return read_groups(
                    tie_groups.TieGroups(self.above, self.tied, (), ()), values
                )
            if not self.reads_prefix_sums:
                # Items tie where equally many score higher, so that `above` is their key.
                pairs = few_ranks.Pairs(self.above, line.exists)
                return read_groups(pairs.groups(line.amounts), values)
            return tie_groups.read_runs(
                line,
                self._continues,
                values,
                summands.combine or jnp.add,
                lambda groups, _, values: read_groups(groups, values),
            )

        return read

    def first_stop(
        self, stop: jax.Array, straddling: StraddlingGroup | None
    ) -> FirstStop:
        """Returns the tie group of the item that stops with the fewest items above."""
        del straddling
        return first_stop.from_places(self.above, self.tied, stop, self.ranks)

    def tie_bounds(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Returns the bounds of each run of items with equally many items above them."""
        return memo.once("bounds", lambda: tie_groups.bounds_of_runs(self._continues))

    def above_and_tied(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Returns `above` and `tied` as they were counted."""
        del memo
        return self.above, self.tied

    @property
    def _continues(self) -> jax.Array:
        """Whether each item has as many items above it as the one before it."""
        return tie_groups.continues_run(self.layout, self.items.exists, self.above)
