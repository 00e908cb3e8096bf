"""The parts of a `Ranking`, and what is known of them."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp

from jax_rank_metrics._items import RawItems
from jax_rank_metrics._layouts.base import PoolLayout
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._ranking.held import RANK_MORE, Held, UnknownPlaceError
from jax_rank_metrics._ranking.items import ItemFn, Items
from jax_rank_metrics._ranking.memo import Memo
from jax_rank_metrics._ranking.pool import Pool, PoolScores, StopFinder
from jax_rank_metrics._ranking.soft_places import SoftPlaces
from jax_rank_metrics._ranking.straddle import Straddle, StraddlingGroup
from jax_rank_metrics._types import Cut

T = TypeVar("T")

# Up to this many listed items, sums over a list are plain reductions.
_FEW_LISTED = 128


class Parts:
    """The parts of every `Ranking`, whose docstring describes the attributes."""

    _held: Held | None
    _pool: Pool | None
    _pool_scores: StopFinder | None
    _length: jax.Array
    _list_exists: jax.Array
    _cut: int | None
    _in_groups: bool
    _partial_columns: tuple[str, ...]

    @property
    def items(self) -> jax.Array:
        """Which item is at each rank, `[*lists, ranks]` int32; −1 where none is.

        An item is identified by its index in the row, which counts through all devices
        where items are cut over them; by its index in the retrieved list; or by its id.
        Packed lists are flat, `[items]`, list after list, beside `segment_ids`. Tied
        items stand in the order of the policy.

        Raises:
            ValueError: if items were counted instead of ordered, or have soft places.
        """
        if self._held is None:
            raise ValueError(
                "items: this ranking counted places and has no order; rank with a k"
            )
        return self._held.item_indices()

    @property
    def segment_ids(self) -> jax.Array:
        """The list of each of `items` of packed lists, `[items]` int32.

        Lists are numbered along all of their axes; an item of no list has the number of
        lists.

        Raises:
            ValueError: if lists are not packed.
        """
        layout = None if self._held is None else self._held.layout
        if not isinstance(layout, Packed):
            raise ValueError("segment_ids: these lists are not packed")
        return layout.ids

    def depth(self, ks: Sequence[Cut], *, nominal: bool = False) -> jax.Array:
        """Counts the items at the ranks up to each k, `[*lists, len(ks)]` floats.

        A list of 3 items has the depths 2 3 3 at k = 2, 5 and None. With `nominal`, the
        depth is k itself, even beyond the end of the list: 2 5 3.
        """
        length = self._length.astype(self._dtype)
        depth_at = jnp.full_like if nominal else jnp.minimum
        depths = [
            length if k is None else depth_at(length, jnp.asarray(k, length.dtype))
            for k in ks
        ]
        return jnp.stack(depths, axis=-1)

    @property
    def _dtype(self) -> jnp.dtype:
        """The float dtype of values."""
        if self._held is not None:
            return self._held.items.labels.dtype
        items = self._judged_pool().items
        if isinstance(items, RawItems):
            return jnp.dtype(items.dtype)
        return items.labels.dtype

    @property
    def _column_names(self) -> list[str]:
        """The names of the columns that items have."""
        part = self._held or self._pool
        return [] if part is None else list(part.items.columns)

    @property
    def _omits_unlisted(self) -> bool:
        """Whether unlisted items (label 0) rank, but their places are not held."""
        return self._pool is not None and self._pool.layout.omits_unlisted

    @property
    def _averaged_columns(self) -> tuple[str, ...]:
        """The columns of which a slot of the pool holds a mean of many items."""
        return () if self._pool is None else self._pool.layout.averaged_columns

    @property
    def _max_items(self) -> int | None:
        """The largest number of items a list can have, static; None if unknown."""
        if self._pool is None:
            return None
        ranks = 0 if self._held is None else self._held.ranks
        return max(ranks, self._pool.items.labels.shape[-1])

    @property
    def _is_soft(self) -> bool:
        """Whether places are soft, as `relax` makes them."""
        return isinstance(self._held, SoftPlaces)

    def _judged_pool(self) -> Pool:
        """Returns the pool; raises where the labels of judged items are not known."""
        if self._pool is None:
            raise ValueError(
                "pool_labels is None, but this metric reads the labels of every judged "
                "item; pass pool_labels"
            )
        return self._pool

    def _check_complete(self, column: str) -> None:
        """Raises unless a column is known of every item, and every item has a place.

        For formulas that read the column of all items, relevant or not.
        """
        if self._omits_unlisted:
            raise UnknownPlaceError(
                f"the column {column!r} is read at every rank, but this ranking holds only "
                f"the places of listed items; {RANK_MORE}"
            )
        if column in self._partial_columns:
            raise UnknownPlaceError(
                f"the column {column!r} is known of the listed items alone, and would be 0 "
                "for all others; rank all items"
            )

    def _sample_items(self) -> Items:
        """Returns items on which a function of items is traced for its dtype."""
        if self._held is None:
            return Items.of(self._judged_pool().items.read())
        return Items.of(self._held.items)

    def _reaches(self, ks: Sequence[Cut]) -> bool:
        """Whether enough ranks are held for every cutoff.

        A cut ranking reaches only integers: None needs all ranks, and so may arrays.
        """
        cut = self._cut
        return cut is None or all(isinstance(k, int) and k <= cut for k in ks)

    def _held_through(self, ks: Sequence[Cut]) -> Held:
        """Returns the items that have places, in tie groups or in one definite order.

        Raises:
            ValueError: if nothing was ordered, or a cutoff is beyond the cut.
        """
        for k in ks:
            if not self._reaches((k,)):
                problem = f"k is {k}"
                if isinstance(k, jax.Array):
                    problem, k = "k differs from list to list", None
                raise ValueError(
                    f"{problem}, but the ranking was cut at k={self._cut}; rank with k={k}"
                    + ("" if k is None else " or deeper")
                )
        if self._held is None:
            assert self._pool_scores is not None
            raise UnknownPlaceError(self._pool_scores.order_error)
        return self._held if self._in_groups else self._held.in_one_order()

    def _straddling_group(
        self, held: Held, item_fns: Sequence[ItemFn]
    ) -> StraddlingGroup | None:
        """Returns the tie group across the cut, with totals of functions of its items.

        The pool is read once for all metrics of a call that ask for the same functions.
        Returns None where every group is complete.

        Args:
            held: From `_held_through`.
            item_fns: Functions of items, to be summed; bools are counted.
        """
        distinct = tuple(dict.fromkeys(item_fns))

        def look(straddle: Straddle, last_key: jax.Array) -> StraddlingGroup:
            find = partial(straddle.group, last_key, self._judged_pool())
            scores = self._pool_scores
            scores = scores if isinstance(scores, PoolScores) else None
            find = partial(find, scores, distinct, self._dtype)
            return self._memo.once(("straddling", distinct), find)

        group = held.straddling_group(look)
        if group is None:
            return None
        totals = dict(zip(distinct, group.totals, strict=True))
        return group._replace(totals=tuple(totals[item_fn] for item_fn in item_fns))

    def _sums_to_cutoffs(
        self, layout: PoolLayout, terms: Sequence[jax.Array], trailing: int = 0
    ) -> jax.Array:
        """Sums the terms of each cutoff, `[*lists, items, …]`, over the items of a list.

        Returns `[*lists, len(terms), …]`.
        """
        axis = self._list_exists.ndim
        if self._omits_unlisted and terms[0].shape[axis] <= _FEW_LISTED:
            # Reductions fuse with what they add up, so that they compile faster than
            # products with ones. Over many items they would drift.
            sums = [jnp.sum(x, axis=axis) for x in terms]
        else:
            sums = [layout.sum(x, trailing) for x in terms]
        return jnp.stack(sums, axis=axis)

    @property
    def _memo(self) -> Memo:
        """The memo that metrics share; a new one where a metric is traced by itself."""
        return getattr(self, "_shared_memo", None) or Memo()

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Returns `make()`, or its earlier result for another metric."""
        return self._memo.once(key, make)

    def _refuse(self, lists: jax.Array, reason: str) -> None:
        """Makes the call of a metric raise ValueError where it cannot read a list.

        Where values are known only inside `jax.jit`, nothing is raised, so that the
        metric has to document what it returns.

        Args:
            lists: `[*lists]` bool, those that the metric refuses.
            reason: The message, in which `{}` stands for the first of these lists.
        """
        refused = self._memo.refused
        refused[reason] = refused.get(reason, False) | lists
