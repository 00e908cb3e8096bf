"""Items that have places, ordered or counted."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics._engine.items import ItemArrays
from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.places import cascade, first_stop, soft_places, tie_groups
from jax_rank_metrics._engine.places.first_stop import FirstStop
from jax_rank_metrics._engine.places.place import FEW_RANKS, Place, sum_of_many
from jax_rank_metrics._engine.ranking import pools
from jax_rank_metrics._engine.ranking.cache import Cache
from jax_rank_metrics._engine.ranking.item_fns import ItemFn, item_values
from jax_rank_metrics._ground import arithmetic, meshes, pytrees

T = TypeVar("T")


class UnknownPlaceError(ValueError):
    """Raised if a metric asks for places that a ranking does not know.

    A ranking of all items knows every place.
    """


# The advice for a metric that reads unlisted items, whose places the ranking lacks.
RANK_MORE = (
    "rank all items with jrm.rank or jrm.evaluate, or, if the metric has a cutoff k, rank "
    "the first k items with rank_scores(k=…) or rank_catalog(k=…)"
)

NO_FIRST_STOP = (
    "this metric looks for the first item that stops a user, but soft places have no "
    "first item; leave relax out"
)
NO_ORDER = (
    "this metric needs an order or the ties of items, but soft places have neither; leave "
    "relax out"
)


@pytrees.pytree("ranks")
class Ranked:
    """Items that have places, in the arrays of a ranked layout.

    In shapes, `held` is the number of these items, which a ranking keeps in memory. The
    fields that are not None say how their places are known:

    - `keys`: items stand in rank order, before all empty slots, and each run of equal keys
      is a tie group. `straddles` tells if the cut may split the last tie group.
    - `above`, `tied` and `rank_above`: the places of a few items were counted, and no other
      item is ordered. If the scores are 9 7 7 7 4, and the relevant items have the indices
      2 and 4, then `above` is 1 4, `tied` is 3 1 and, if ties are in index order,
      `rank_above` is 2 4.
    - `rank_above` alone: one definite order; empty slots may lie between items.
    - `soft`: places are real numbers, and items stand in any order.
    - all are None: one definite order, in which items follow each other without gaps.

    Shapes for lists as rows:
        items: `[*lists, held]`, in rank order unless places are soft.
        layout: The layout of `items`.
        ranks: The largest number of ranks that a list can have, static.
        index: `[*lists, held]` int32, the item at each rank; −1 at ranks without an item.
            None if there is no order, or if some rank up to the cut is missing.
        keys: `[*lists, held]`, integers; items with equal keys tie.
        straddles: `[*lists]` bool, true if the last tie group may reach across the cut;
            None if no rank is missing. With the scores 9 7 7 7 and two ranks kept, two of
            the three tied items are missing; with 9 7 5 5, no tied item is missing.
        group: All items of the tie groups across the cut; None if the scores of the pool
            tell them, or if no rank is missing. If `straddles` is false for a list, its
            items here are arbitrary and not read.
        rank_above: `[*lists, held]` int32, the number of items before each item in the
            definite order of the tie policy.
        above: `[*lists, held]` int32, the number of items with a higher score.
        tied: `[*lists, held]` int32, the number of items with the same score, the item
            itself included.
        soft: The scores from which soft places are computed.
    """

    items: ItemArrays
    layout: base.RankedLayout
    ranks: int
    index: jax.Array | None = None
    keys: jax.Array | None = None
    straddles: jax.Array | None = None
    group: pools.Pool | None = None
    rank_above: jax.Array | None = None
    above: jax.Array | None = None
    tied: jax.Array | None = None
    soft: soft_places.SoftScores | None = None

    @property
    def item_indices(self) -> jax.Array:
        """The item at each rank, `[*lists, held]` int32; −1 at ranks without an item.

        Raises:
            ValueError: if these items have no order.
        """
        if self.soft is not None:
            raise ValueError("items: soft places have no order; leave relax out")
        if self.index is None:
            raise UnknownPlaceError(
                "items: this ranking counted places, so it has no order; rank with a k, or "
                "with rank_ids"
            )
        return self.index

    def in_one_order(self) -> "Ranked":
        """Returns the same items in the definite order of the tie policy."""
        if self.soft is not None:
            raise ValueError(NO_ORDER)
        # Without keys, the slot of an item counts the items above it, because all items
        # precede empty slots.
        return dataclasses.replace(
            self, keys=None, straddles=None, group=None, above=None, tied=None
        )

    def has_ties(self, by_label: bool = False) -> jax.Array:
        """True for lists with tied items, including ties across the cut, `[*lists]` bool.

        Args:
            by_label: True to ignore ties of items that are known to have the same label.
        """
        exists, labels = self.items.exists, self.items.labels
        is_tied = self.continues if self.in_groups else jnp.zeros_like(exists)
        if self.tied is not None:
            is_tied = exists & (self.tied > 1)
        elif by_label:
            is_tied = is_tied & (labels != arithmetic.shifted(labels, 1))
        ties = jnp.any(is_tied, axis=-1)
        return ties if self.straddles is None else ties | self.straddles

    @property
    def _tie_keys(self) -> jax.Array | None:
        """Integers, equal for items that tie; None if items are in one definite order."""
        # Counted items tie if the same number of items is above each of them.
        return self.above if self.keys is None else self.keys

    @property
    def in_groups(self) -> bool:
        """True if items form tie groups, rather than one definite order."""
        return self._tie_keys is not None

    @property
    def _compares_pairs(self) -> bool:
        # Pairs need lists as rows; packed lists are read as runs, however short.
        return self.items.exists.shape[-1] <= FEW_RANKS and self.layout.is_rectangular

    @property
    def reads_prefix_sums(self) -> bool:
        """True if `places` needs the sums over the items before each item."""
        if self.soft is not None:
            return False
        return self._tie_keys is None or not self._compares_pairs

    def places(
        self,
        values: tie_groups.Amount,
        amounts: Sequence[tie_groups.Amount],
        group_size: jax.Array | None,
        rank_sums: Sequence[tie_groups.RankSum],
        combine: arithmetic.Combine = jnp.add,
    ) -> tuple[Place, jax.Array]:
        """Returns the places of the items, and the value of each item.

        One item of a tie group may stand for the whole group; the other items then have
        the value 0. The place of an item with the value 0 may be wrong: do not read it.

        Args:
            values: The value of each item; may have trailing axes.
            amounts: The amounts that places sum, without trailing axes.
            group_size: `[*lists]`, the size of the tie group across the cut; None if
                every group is complete.
            rank_sums: The sums over ranks that will be read from the places; any other sum
                takes one more loop.
            combine: How to combine the values of a tie group, such as by addition.
        """
        worth, dtype = values.of_items, values.of_items.dtype
        if self._tie_keys is None:
            place = tie_groups.definite_place(
                self.layout, self.items.exists, amounts, self.rank_above, dtype
            )
        elif self.above is not None and self.tied is not None:
            counted = (), ()
            if amounts:
                place, worth = self._places(worth, amounts, (), combine)
                counted = place.counted_above, place.counted_tied
            counts = self.above, self.tied, *counted
            # Read sums from tables by rank, because tie groups include items that are not
            # kept: three kept items may be at the ranks 5, 900 and 70,000.
            place_sum = sum_of_many(self.above, self.tied, self.ranks, dtype)
            place = Place.of_counts(counts, place_sum, dtype)
        else:
            place, worth = self._places(worth, amounts, rank_sums, combine)
            if group_size is not None:
                place, worth = self._across_cut(
                    place, worth, values, amounts, group_size
                )
        place = _with_unlisted(place, amounts)
        return dataclasses.replace(
            place, worth=worth if self.in_groups else None
        ), worth

    def _places(
        self,
        worth: jax.Array,
        amounts: Sequence[tie_groups.Amount],
        rank_sums: Sequence[tie_groups.RankSum],
        combine: arithmetic.Combine,
    ) -> tuple[Place, jax.Array]:
        """Computes `places` from the ties among the kept items."""
        if self._compares_pairs:
            assert self._tie_keys is not None
            held_amounts = [amount.of_items for amount in amounts]
            exists, dtype = self.items.exists, worth.dtype
            return tie_groups.of_pairs(
                self._tie_keys, exists, held_amounts, dtype
            ), worth
        return tie_groups.of_runs(
            self.layout, self.continues, worth, amounts, rank_sums, combine
        )

    @property
    def continues(self) -> jax.Array:
        """True for each item that ties with the one before it, `[*lists, held]`."""
        assert self._tie_keys is not None
        return tie_groups.continues_run(self.layout, self.items.exists, self._tie_keys)

    def group_totals(
        self, pool: pools.Pool, item_fns: Sequence[ItemFn], dtype: DTypeLike
    ) -> tuple[jax.Array, list[jax.Array]]:
        """Sums functions over the tie group across the cut, if any list needs the sums.

        Args:
            pool: The pool; a `ScoredPool` if `group` is None.
            item_fns: As for `Pool.totals`.
            dtype: As for `Pool.totals`.

        Returns:
            `Pool.totals` of the group, including its items beyond the cut. If `straddles`
            is false for a list, its entries mean nothing.
        """
        totals = self._read_group(
            pool, lambda group: group.totals(item_fns, dtype), adds_up=True
        )
        return pool.layout.over_devices(totals)

    def group_stops(
        self, pool: pools.Pool, item_fns: Sequence[ItemFn], dtype: DTypeLike
    ) -> tuple[jax.Array, jax.Array]:
        """Finds how the tie group across the cut stops a user; see `group_totals`.

        Args:
            pool: As for `group_totals`.
            item_fns: The probability that an item stops a user; and, if items have values,
                the value of an item.
            dtype: As for `Pool.totals`.

        Returns:
            The result of `cascade.of_group` for the number of kept ranks; and bools, true
            for the kept items that are in the group.
        """
        assert self.keys is not None and self.straddles is not None
        lists, layout = self.straddles[..., None], (self.group or pool).layout
        add_up = partial(cascade.of_group, layout, self.keys.shape[-1])

        def read(group: pools.Pool) -> Any:
            items = group.items.retrieved_items()
            stop, *values = (item_values(item_fn, items, dtype) for item_fn in item_fns)
            # Let no item stop in a list that needs no group, so that nothing is added.
            group_items = items.exists, jnp.where(lists, stop, 0), *values
            return add_up(*group_items) if layout.has_whole_lists else group_items

        stopped = self._read_group(pool, read)
        if not layout.has_whole_lists:
            stopped = add_up(*stopped)
        last_key = arithmetic.at_slot(self.keys, -1)[..., None]
        in_group = lists & self.items.exists & (self.keys == last_key)
        return stopped, in_group

    def _read_group(
        self, pool: pools.Pool, read: Callable[[pools.Pool], T], adds_up: bool = False
    ) -> T:
        """Reads this device's part of the group across the cut; 0 if no list needs it.

        Devices may take different branches, so callers must combine results over devices
        outside the branch.

        Args:
            pool: As for `group_totals`.
            read: What to read.
            adds_up: Whether `read` only adds up items.
        """
        if self.group is not None:
            return read(self.group)
        assert isinstance(pool, pools.ScoredPool) and self.keys is not None
        # If a list has fewer items than ranks, its last key is padding, and no tie group
        # straddles the cut.
        last_key = arithmetic.at_slot(self.keys, -1)

        def look() -> T:
            return read(pool.of_key(last_key))

        def skip() -> T:
            shapes = jax.eval_shape(look)
            zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
            # The results of both branches must vary over the same mesh axes, whatever
            # columns are read.
            items = dataclasses.replace(pool.items, columns={})
            return meshes.match_varying(zeros, (last_key, items, pool.scores))

        # If there are few numbers, a branch costs more than it saves.
        if arithmetic.is_small(pool.scores) and all(
            map(arithmetic.is_small, pool.items.columns.values())
        ):
            return look()
        is_needed = meshes.unvmap_any(self.straddles)
        if adds_up and not pool.items.columns:
            # XLA:GPU turns a branch of sums into a selection, and so reads the group in any
            # case. A condition would only add kernels, four of the 13 of ndcg@10.
            is_needed = lax.platform_dependent(
                is_needed,
                cuda=lambda needed: needed | True,
                default=lambda needed: needed,
            )
        return lax.cond(is_needed, look, skip)

    def _across_cut(
        self,
        place: Place,
        worth: jax.Array,
        values: tie_groups.Amount,
        amounts: Sequence[tie_groups.Amount],
        group_size: jax.Array,
    ) -> tuple[Place, jax.Array]:
        """Lets the last kept item stand for its whole group.

        All items of the group have the same place, so one item with the sum of their values
        contributes as much as all of them. Say that the keys 9 7 7 with the values a b c
        are kept, and a third 7, of value d, is beyond the cut. The values become a 0 b+c+d,
        and `tied` 1 2 2 becomes 1 2 3. Sums over ranks need no change: no rank beyond the
        cut is read.
        """
        assert self.keys is not None and self.straddles is not None
        assert values.of_group is not None
        lists = self.straddles[..., None]
        last_key = arithmetic.at_slot(self.keys, -1)[..., None]
        in_group = lists & self.items.exists & (self.keys == last_key)
        is_last_slot = np.arange(1 - self.keys.shape[-1], 1) == 0
        is_last = lists & jnp.expand_dims(is_last_slot, range(self.keys.ndim - 1))
        total = jnp.expand_dims(values.of_group.astype(worth.dtype), self.keys.ndim - 1)
        worth = jnp.where(arithmetic.widen(in_group, worth), 0, worth)
        worth = jnp.where(arithmetic.widen(is_last, worth), total, worth)

        def with_group(x: jax.Array, of_group: jax.Array | None) -> jax.Array:
            assert of_group is not None
            return jnp.where(is_last, of_group[..., None].astype(x.dtype), x)

        group_totals = [amount.of_group for amount in amounts]
        counted_tied = tuple(map(with_group, place.counted_tied, group_totals))
        tied = with_group(place.tied, group_size)
        return dataclasses.replace(place, tied=tied, counted_tied=counted_tied), worth

    def first_stop(
        self,
        stop: jax.Array,
        group_size: jax.Array | None,
        stops_of_group: jax.Array | None,
    ) -> FirstStop:
        """Returns the tie group of the first item that stops a user.

        If no item of a list stops, its `stops` are 0.

        Args:
            stop: `[*lists, held]` bool, true for items that stop the user.
            group_size: `[*lists]`, the size of the tie group across the cut; None if
                every group is complete.
            stops_of_group: `[*lists]`, the number of items of that group that stop the
                user.
        """
        keys, exists, layout = self.keys, self.items.exists, self.layout
        dtype = self.items.labels.dtype
        if self.soft is not None:
            raise ValueError(NO_FIRST_STOP)
        if self.above is not None and self.tied is not None:
            return first_stop.from_places(self.above, self.tied, stop, self.ranks)
        if keys is None:
            # Layouts have no minimum, so negate the maximum of the negated numbers. If no
            # item stops, the result is not read.
            above = self._slots_above()
            above = -layout.max(jnp.where(stop, -above, -(2**31) + 1))
            return first_stop.at_known_rank(above, layout.sum(stop) > 0)
        if group_size is None or stops_of_group is None:
            return first_stop.from_keys(keys, exists, stop, layout, dtype)
        assert self.straddles is not None
        # If no item above the last group stops the user, an item of that group may, even an
        # item beyond the cut. If a list has fewer items than ranks, the last key is
        # padding.
        last_key = arithmetic.at_slot(keys, -1)
        key = jnp.maximum(first_stop.best_key(keys, stop, layout), last_key)
        first = first_stop.group_of_key(keys, exists, stop, key, layout, dtype)
        is_last = self.straddles & (key == last_key)
        return dataclasses.replace(
            first,
            tied=jnp.where(is_last, group_size, first.tied),
            stops=jnp.where(is_last, stops_of_group, first.stops),
        )

    def rank_means(self, cache: Cache, dtype: DTypeLike) -> cascade.RankMeans:
        """Returns the function that averages functions of ranks for each slot."""
        if self.above is not None and self.tied is not None:
            places = self.above.astype(dtype), self.tied.astype(dtype)
            return cascade.in_turn(*places, self.tie_bounds(cache))
        return cascade.at_rank(self._slots_above().astype(dtype) + 1)

    def tie_bounds(self, cache: Cache) -> tuple[jax.Array, jax.Array]:
        """Returns the first and last slot of each item's tie group.

        Both are `[*lists, held]` int32, slots along the last axis: the scores 9 7 7 have
        the bounds 0 1 1 and 0 2 2.
        """
        if self.soft is not None:
            raise ValueError(
                "this metric compares pairs of items, but soft places have no order to "
                "compare; leave relax out"
            )
        if self._tie_keys is None:
            exists = self.items.exists
            slots = jnp.broadcast_to(arithmetic.iota(exists), exists.shape)
            return slots, slots
        return cache.get_or_compute(
            "bounds", lambda: tie_groups.bounds_of_runs(self.continues)
        )

    def above_and_tied(self, cache: Cache) -> tuple[jax.Array, jax.Array]:
        """Counts the items above each item's tie group, and the items in the group.

        Both are `[*lists, held]` int32: the scores 9 7 7 have 0 1 1 and 1 2 2. Entries
        of slots without an item mean nothing.
        """
        if self.above is not None and self.tied is not None:
            return self.above, self.tied
        exists = self.items.exists
        if self._tie_keys is None and self.soft is None:
            above = jnp.broadcast_to(self._slots_above(), exists.shape)
            return above, jnp.ones_like(above)
        start, end = self.tie_bounds(cache)
        above = tie_groups.above_first_of_run(self.layout, exists, start)
        return above, end - start + 1

    def _slots_above(self) -> jax.Array:
        """Counts the items before each item in one definite order."""
        if self.rank_above is not None:
            return self.rank_above
        return self.layout.offset_in_list(self.items.exists)


def _with_unlisted(place: Place, amounts: Sequence[tie_groups.Amount]) -> Place:
    """Adds the amounts of unlisted items to the sums above and within each tie group."""

    def add(counted: tuple[jax.Array, ...], items: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(
            listed
            if amount.of_unlisted is None
            else listed + amount.of_unlisted.astype(listed.dtype) * items
            for listed, amount in zip(counted, amounts, strict=True)
        )

    return dataclasses.replace(
        place,
        counted_above=add(place.counted_above, place.above),
        counted_tied=add(place.counted_tied, place.tied),
    )
