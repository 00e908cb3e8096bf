"""Items that have places, whichever way these are known."""

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
    """Raised where a metric asks for places that a ranking does not know.

    Rank all items instead.
    """


# What to do where a metric reads items that a ranking of the listed ones does not hold.
RANK_MORE = (
    "rank all items with jrm.rank or jrm.evaluate, or, for a metric with a cutoff k, the "
    "first k of them with rank_scores(k=…) or rank_catalog(k=…)"
)

NO_FIRST_STOP = (
    "this metric looks for the first item that stops a user, but soft places have no "
    "first item; leave relax out"
)
NO_ORDER = (
    "this metric needs an order or the ties of items, and soft places have neither; leave "
    "relax out"
)


@pytrees.pytree("ranks")
class Ranked:
    """Items that have places, in the arrays of a ranked layout.

    The fields that are filled say how places are known:

    - `keys`: items stand in rank order, those that exist first, and tie in runs of equal
      keys. Where a cut may part the last tie group, `straddles` tells.
    - `above`, `tied` and `rank_above`: the places of a few items were counted, and no
      other item is ordered. The scores 9 7 7 7 4 with the relevant items 2 and 4 have
      `above` 1 4, `tied` 3 1 and, if ties are in index order, `rank_above` 2 4.
    - `rank_above` alone: one order with gaps, in slots where no item exists.
    - `soft`: places are real numbers, and items stand in any order.
    - none of these: one order, in which items follow each other without gaps.

    Shapes for lists as rows:
        items: `[*lists, held]`, in rank order unless places are soft.
        layout: The layout of `items`.
        ranks: The number of ranks there can be, static.
        index: `[*lists, held]` int32, which item is at each rank; −1 where none is. None
            where there is no order, or not every rank is held.
        keys: `[*lists, held]`, integers; items tie where they are equal.
        straddles: `[*lists]` bool, whether the last tie group may reach across the cut;
            None where no rank is missing. With the scores 9 7 7 7 and two ranks held, two
            of the three tied items are missing; with 9 7 5 5, none is.
        group: The whole of these tie groups; None where the scores of the pool find them,
            or where no rank is missing. A list without one may have any items there.
        rank_above: `[*lists, held]` int32, how many items precede each in the definite
            order of the tie policy.
        above: `[*lists, held]` int32, how many items score higher.
        tied: `[*lists, held]` int32, how many score the same, the item itself included.
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
        """Which item is at each rank, `[*lists, held]` int32; −1 where none is.

        Raises:
            ValueError: if these items have no order.
        """
        if self.soft is not None:
            raise ValueError("items: soft places have no order; rank without relax")
        if self.index is None:
            raise UnknownPlaceError(
                "items: this ranking counted places and has no order; rank with a k, or by "
                "rank_ids"
            )
        return self.index

    def in_one_order(self) -> "Ranked":
        """Returns the same items in the definite order of the tie policy."""
        if self.soft is not None:
            raise ValueError(NO_ORDER)
        # Of runs, the slots count the items above: those that exist come first.
        return dataclasses.replace(
            self, keys=None, straddles=None, group=None, above=None, tied=None
        )

    def has_ties(self, by_label: bool = False) -> jax.Array:
        """Whether items of a list tie, one beyond a cut included, `[*lists]` bool.

        Args:
            by_label: Whether those that are known to have the same label do not count.
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
        """Integers that are equal where items tie; None where none does."""
        # Of items whose places were counted, those tie that have as many above them.
        return self.above if self.keys is None else self.keys

    @property
    def in_groups(self) -> bool:
        """Whether tie groups are known, which may have several items."""
        return self._tie_keys is not None

    @property
    def _compares_pairs(self) -> bool:
        # Pairs need lists as rows; packed lists are read as runs, however short.
        return self.items.exists.shape[-1] <= FEW_RANKS and self.layout.is_rectangular

    @property
    def reads_prefix_sums(self) -> bool:
        """Whether places are read off prefix sums along the items."""
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
        """Returns the places of the items, and what each place is worth.

        Of items that tie, one may stand for all of them, and the others are worth 0. Only
        the place of an item that is worth something is to be read.

        Args:
            values: What each item is worth; may have trailing axes.
            amounts: What places count, without trailing axes.
            group_size: `[*lists]`, the size of the tie group across the cut; None where
                every group is complete.
            rank_sums: The sums over the ranks of places that are going to be read; any
                other takes one loop more.
            combine: What the values of a tie group combine to, such as their sum.
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
            # Groups may hold items that are not held here: three items may stand at the
            # ranks 5, 900 and 70,000, also in groups of that size.
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
        """Returns the places of items that tie among those held, as `places` does."""
        if self._compares_pairs:
            assert self._tie_keys is not None
            of_items = [amount.of_items for amount in amounts]
            exists, dtype = self.items.exists, worth.dtype
            return tie_groups.of_pairs(self._tie_keys, exists, of_items, dtype), worth
        return tie_groups.of_runs(
            self.layout, self.continues, worth, amounts, rank_sums, combine
        )

    @property
    def continues(self) -> jax.Array:
        """Whether each item ties with the one before it, `[*lists, held]`."""
        assert self._tie_keys is not None
        return tie_groups.continues_run(self.layout, self.items.exists, self._tie_keys)

    def group_totals(
        self, pool: pools.Pool, item_fns: Sequence[ItemFn], dtype: DTypeLike
    ) -> tuple[jax.Array, list[jax.Array]]:
        """Adds up the tie group across the cut by one pass, skipped if no list needs it.

        Args:
            pool: The pool, with its scores where these find the group.
            item_fns: As of `Pool.totals`.
            dtype: As of `Pool.totals`.

        Returns:
            `Pool.totals` of the group, items without a held rank included. Only entries
            where `straddles` is true are to be read.
        """
        totals = self._read_group(pool, lambda group: group.totals(item_fns, dtype))
        return pool.layout.over_devices(totals)

    def group_stops(
        self, pool: pools.Pool, item_fns: Sequence[ItemFn], dtype: DTypeLike
    ) -> tuple[jax.Array, jax.Array]:
        """Finds how the tie group across the cut stops a user; see `group_totals`.

        Args:
            pool: As of `group_totals`.
            item_fns: The probability that an item stops a user; and, if items have
                values, what each is worth.
            dtype: As of `Pool.totals`.

        Returns:
            `cascade.of_group` through as many ranks as are held, and which items held are
            in the group.
        """
        assert self.keys is not None and self.straddles is not None
        lists, layout = self.straddles[..., None], (self.group or pool).layout
        add_up = partial(cascade.of_group, layout, self.keys.shape[-1])

        def read(group: pools.Pool) -> Any:
            items = group.items.retrieved_items()
            stop, *values = (item_values(f, items, dtype) for f in item_fns)
            # In a list that needs no group, nothing is added.
            group_items = items.exists, jnp.where(lists, stop, 0), *values
            return add_up(*group_items) if layout.has_whole_lists else group_items

        stopped = self._read_group(pool, read)
        if not layout.has_whole_lists:
            stopped = add_up(*stopped)
        last_key = arithmetic.at_slot(self.keys, -1)[..., None]
        in_group = lists & self.items.exists & (self.keys == last_key)
        return stopped, in_group

    def _read_group(self, pool: pools.Pool, read: Callable[[pools.Pool], T]) -> T:
        """Reads what this device holds of the group across the cut; 0 if no list needs it.

        What is read travels between devices outside of the branch, since they may take
        different branches.
        """
        if self.group is not None:
            return read(self.group)
        assert isinstance(pool, pools.ScoredPool) and self.keys is not None
        # In a list with fewer items than ranks, the last key is that of no item; nothing
        # straddles there.
        last_key = arithmetic.at_slot(self.keys, -1)

        def look() -> T:
            return read(pool.of_key(last_key))

        def skip() -> T:
            shapes = jax.eval_shape(look)
            zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
            # Both branches must vary over the same devices, whatever columns they read.
            items = dataclasses.replace(pool.items, columns={})
            return meshes.match_varying(zeros, (last_key, items, pool.scores))

        # Of few numbers, a branch would cost more.
        if arithmetic.is_small(pool.scores) and all(
            map(arithmetic.is_small, pool.items.columns.values())
        ):
            return look()
        return lax.cond(meshes.unvmap_any(self.straddles), look, skip)

    def _across_cut(
        self,
        place: Place,
        worth: jax.Array,
        values: tie_groups.Amount,
        amounts: Sequence[tie_groups.Amount],
        group_size: jax.Array,
    ) -> tuple[Place, jax.Array]:
        """Lets the last item held stand for its whole group.

        All items of the group have the same place, so that the last one with the sum of
        their values contributes as much as all of them. With the keys 9 7 7 held and a
        third 7 beyond the cut, the values a b c become a 0 b+c+d, and `tied` 1 2 2
        becomes 1 2 3. Sums over ranks stay: none of a rank beyond the cut is read.
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

        of_groups = [amount.of_group for amount in amounts]
        counted_tied = tuple(map(with_group, place.counted_tied, of_groups))
        tied = with_group(place.tied, group_size)
        return dataclasses.replace(place, tied=tied, counted_tied=counted_tied), worth

    def first_stop(
        self,
        stop: jax.Array,
        group_size: jax.Array | None,
        stops_of_group: jax.Array | None,
    ) -> FirstStop:
        """Returns the tie group of the first item that stops a user.

        Where no item of a list stops, the `stops` of its group are 0.

        Args:
            stop: `[*lists, held]` bool, which items stop.
            group_size: `[*lists]`, the size of the tie group across the cut; None where
                every group is complete.
            stops_of_group: `[*lists]`, how many items of that group stop.
        """
        keys, exists, layout = self.keys, self.items.exists, self.layout
        dtype = self.items.labels.dtype
        if self.soft is not None:
            raise ValueError(NO_FIRST_STOP)
        if self.above is not None and self.tied is not None:
            return first_stop.from_places(self.above, self.tied, stop, self.ranks)
        if keys is None:
            # Layouts have no minimum: negate the maximum of the negated numbers. Where no
            # item stops, the result is not read.
            above = self._slots_above()
            above = -layout.max(jnp.where(stop, -above, -(2**31) + 1))
            return first_stop.at_known_rank(above, layout.sum(stop) > 0)
        if group_size is None or stops_of_group is None:
            return first_stop.from_keys(keys, exists, stop, layout, dtype)
        assert self.straddles is not None
        # Where no item above the last group stops, one of that group may do so. In a list
        # with fewer items than ranks, the last key is that of no item.
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
        """Returns what averages functions of ranks over the ranks of each slot."""
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
        """Returns how many items rank above each item's tie group, and how many it holds.

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
        """Returns how many items precede each in one order."""
        if self.rank_above is not None:
            return self.rank_above
        return self.layout.offset_in_list(self.items.exists)


def _with_unlisted(place: Place, amounts: Sequence[tie_groups.Amount]) -> Place:
    """Adds the amounts of unlisted items above each place, and of those in its group."""

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
