"""Items in rank order whose ties are runs of equal keys."""

import dataclasses
from collections.abc import Hashable

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._places import few_ranks, first_stop, tie_groups
from jax_rank_metrics._places.first_stop import FirstStop
from jax_rank_metrics._places.place import FEW_RANKS, PlaceSum
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking.held import (
    DefiniteRanks,
    FindGroup,
    PlaceReader,
    Summands,
    SumOverPlaces,
    line_of,
)
from jax_rank_metrics._ranking.memo import Memo
from jax_rank_metrics._ranking.straddle import Straddle, StraddlingGroup


@pytree("ranks")
class TieRuns:
    """Items in rank order, with the keys that ranked them.

    Shapes for lists as rows:
        items: `[*lists, held]`, those that exist before those that do not.
        layout: The layout of `items`.
        index: `[*lists, held]` int32, which item is at each rank; −1 where none is.
        keys: `[*lists, held]`, integers; items tie where they are equal.
        straddle: The lists whose last tie group may reach across the cut; None where no
            rank is missing.
        ranks: The number of ranks there can be, static.
    """

    items: ItemArrays
    layout: RankedLayout
    index: jax.Array
    keys: jax.Array
    straddle: Straddle | None
    ranks: int

    @property
    def reads_prefix_sums(self) -> bool:
        """Whether there are too many items to compare all pairs."""
        return not self._compares_pairs

    @property
    def _compares_pairs(self) -> bool:
        # Pairs need lists as rows; packed lists are read as runs, however short.
        return self.keys.shape[-1] <= FEW_RANKS and self.layout.is_rectangular

    def item_indices(self) -> jax.Array:
        """Returns which item is at each rank."""
        return self.index

    def in_one_order(self) -> DefiniteRanks:
        """Returns the same ranks without their ties."""
        # Without `above`: items that exist come first, so that their slots count it.
        return DefiniteRanks(self.items, self.layout, self.index, None, self.ranks)

    def straddling_group(self, find: FindGroup) -> StraddlingGroup | None:
        """Returns the group of the last key; None where no rank is missing."""
        if self.straddle is None:
            return None
        # In a list with fewer items than ranks this is the key of no item; nothing
        # straddles there, and `straddle.lists` is false.
        return find(self.straddle, self.keys[..., -1])

    @property
    def _continues(self) -> jax.Array:
        """Whether each item ties with the one before it, `[*lists, held]`."""
        return tie_groups.continues_run(self.layout, self.items.exists, self.keys)

    def place_reader(self, memo: Memo, counting: Hashable) -> PlaceReader:
        """Prepares places by comparing all pairs of items, or from runs."""
        del memo, counting
        return self._read_pairs if self._compares_pairs else self._read_runs

    def _read_runs(self, summands: Summands, sum_over: SumOverPlaces) -> jax.Array:
        line = line_of(self, summands)

        def read(
            groups: tie_groups.TieGroups, place_sum: PlaceSum, values: jax.Array
        ) -> jax.Array:
            if summands.straddling is not None:
                groups, values = self._with_straddling(
                    groups, values, summands.straddling
                )
            return sum_over(groups.place(line.dtype, place_sum), values)

        return tie_groups.read_runs(
            line, self._continues, summands.values, summands.combine or jnp.add, read
        )

    def _read_pairs(self, summands: Summands, sum_over: SumOverPlaces) -> jax.Array:
        pairs = few_ranks.Pairs(self.keys, self.items.exists)
        groups, values = pairs.groups(summands.amounts), summands.values
        if summands.straddling is not None:
            groups, values = self._with_straddling(groups, values, summands.straddling)
        return sum_over(pairs.place(groups, values.dtype), values)

    def _with_straddling(
        self,
        groups: tie_groups.TieGroups,
        values: jax.Array,
        straddling: StraddlingGroup,
    ) -> tuple[tie_groups.TieGroups, jax.Array]:
        """Lets the last item held stand for its whole group.

        All items of the group have the same place, so that the last one with the sum of
        their values contributes as much as all of them. With the keys 9 7 7 held and a
        third 7 beyond the cut, the values a b c become a 0 b+c+d, and the last group has
        three items.
        """
        assert self.straddle is not None
        lists = self.straddle.lists[..., None]
        in_group = lists & self.items.exists & (self.keys == self.keys[..., -1:])
        is_last_slot = np.arange(1 - self.keys.shape[-1], 1) == 0
        is_last = lists & jnp.expand_dims(is_last_slot, range(self.keys.ndim - 1))
        total, *amounts = straddling.totals
        total = jnp.expand_dims(total.astype(values.dtype), self.keys.ndim - 1)
        values = jnp.where(_arithmetic.widen(in_group, values), 0, values)
        values = jnp.where(_arithmetic.widen(is_last, values), total, values)
        groups = tie_groups.with_last(groups, is_last, straddling.tied, amounts)
        return groups, values

    def first_stop(
        self, stop: jax.Array, straddling: StraddlingGroup | None
    ) -> FirstStop:
        """Returns the tie group of the best item that stops."""
        keys, exists, layout = self.keys, self.items.exists, self.layout
        if straddling is None:
            return first_stop.from_keys(keys, exists, stop, layout)
        assert self.straddle is not None
        # Where no item above the last group stops, one of that group may do so.
        last_key = keys[..., -1]
        key = jnp.maximum(first_stop.best_key(keys, stop, layout), last_key)
        first = first_stop.group_of_key(keys, exists, stop, key, layout)
        is_last = self.straddle.lists & (key == last_key)
        (stops,) = straddling.totals
        return dataclasses.replace(
            first,
            tied=jnp.where(is_last, straddling.tied, first.tied),
            stops=jnp.where(is_last, stops, first.stops),
        )

    def tie_bounds(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Returns the first and last slot of each item's run."""
        return memo.once("bounds", lambda: tie_groups.bounds_of_runs(self._continues))

    def above_and_tied(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Returns the number of items above each item's run, and the run's length."""
        start, end = self.tie_bounds(memo)
        above = tie_groups.above_first_of_run(self.layout, self.items.exists, start)
        return above, end - start + 1
