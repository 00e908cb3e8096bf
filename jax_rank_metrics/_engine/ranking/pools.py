"""Pools: all judged items, or the tie group that straddles the cut of a ranking."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics._engine.items import ItemArrays, RawItems
from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.ordering import policies
from jax_rank_metrics._engine.ordering.candidates import RawCandidates
from jax_rank_metrics._engine.places import first_stop
from jax_rank_metrics._engine.ranking.item_fns import (
    ItemFn,
    item_amounts,
    item_predicate,
    item_values,
    reads_of,
)
from jax_rank_metrics._ground import arithmetic, pytrees, types


@pytrees.pytree()
class Pool:
    """Items that may be added up in any order, and their layout.

    They are either all judged items, or the tie group across the cut of a ranking.
    """

    items: ItemArrays | RawItems
    layout: base.PoolLayout

    @property
    def indices(self) -> jax.Array:
        """The index of each item; items passed later have larger indices."""
        return arithmetic.iota(self.items.read().exists)

    @property
    def finds_stops(self) -> bool:
        """True if `first_stop` finds the first stop even at ranks that were not kept."""
        return False

    @property
    def order_error(self) -> str:
        """The error message for a metric that reads ranks, if no ranks are known."""
        raise NotImplementedError

    def first_stop(self, stop_fn: ItemFn, in_groups: bool) -> first_stop.FirstStop:
        """Finds the first item that stops a user, by counting the items above it.

        Args:
            stop_fn: Maps `Items` to bools, true for items that stop the user.
            in_groups: True if tied items form groups, False if they have a definite order.
        """
        raise NotImplementedError

    def totals(
        self, item_fns: Sequence[ItemFn], dtype: DTypeLike
    ) -> tuple[jax.Array, list[jax.Array]]:
        """Sums functions over the items on this device that have a rank.

        Args:
            item_fns: Functions of items, to be summed; bools are counted.
            dtype: The float dtype of sums and counts.

        Returns:
            The number of items, `[*lists]`, and the sums, `[*lists, …]` each.
        """
        items, layout = self.items.retrieved_items(), self.layout.on_device
        sums = []
        for item_fn in item_fns:
            amounts = item_amounts(item_fn, items, dtype)
            trailing = amounts.ndim - items.exists.ndim
            sums.append(layout.amount(amounts, dtype, trailing))
        return layout.amount(items.exists, dtype), sums


@pytrees.pytree()
class AveragedGroup(Pool):
    """A tie group in a catalogue, with columns that are known only by their totals.

    Attributes:
        average: `[*lists, 1]`, one item whose only columns are the means of these columns.
        number: `[*lists]` int32, the number of items in the group.
    """

    average: ItemArrays
    number: jax.Array

    def totals(
        self, item_fns: Sequence[ItemFn], dtype: DTypeLike
    ) -> tuple[jax.Array, list[jax.Array]]:
        """Adds up the items; see `Pool.totals`.

        A function that reads only the averaged columns is linear in them, so its total is
        `number` times its value for the average item. Listed items, which may have many
        columns, are read only for other functions, such as functions of labels.
        """
        known = self.average.columns
        columns = {
            name: jnp.zeros((1, *column.shape[self.number.ndim + 1 :]), column.dtype)
            for name, column in self.items.columns.items()
        }
        is_averaged = [reads_of(fn, columns, dtype) <= known.keys() for fn in item_fns]
        listed = [
            fn for fn, is_so in zip(item_fns, is_averaged, strict=True) if not is_so
        ]
        sums = iter(super().totals(listed, dtype)[1])
        number = self.number.astype(dtype)
        totals = []
        for item_fn, is_so in zip(item_fns, is_averaged, strict=True):
            if not is_so:
                totals.append(next(sums))
                continue
            amounts = item_values(item_fn, self.average, dtype)
            amounts = jnp.squeeze(amounts, self.number.ndim)
            totals.append(amounts * arithmetic.widen(number, amounts))
        return number, totals


@pytrees.pytree()
class SortedPool(Pool):
    """A pool in rank order, such as the pool of packed lists, with each item's index."""

    index: jax.Array

    @property
    def indices(self) -> jax.Array:
        """The index of each item; items passed later have larger indices."""
        return self.index


@pytrees.pytree("items_axis")
class ScoredPool(Pool):
    """A pool with its scores, so that places can be counted without a sort.

    Shapes for lists as rows:
        scores: `[*lists, items]`, as passed.
        policy: The tie policy, with the seeds of its lists.
        items_axis: The mesh axes over which items are sharded, static.
    """

    items: RawItems
    scores: jax.Array
    policy: policies.Policy
    items_axis: types.AxisNames | None

    @property
    def finds_stops(self) -> bool:
        """True, because the scores tell which items are above the first stop."""
        return True

    @property
    def order_error(self) -> str:
        """The error message for a metric that reads ranks, if nothing was ordered."""
        return (
            "this metric reads ranks, but it was made with order_free=True, so no items "
            "were ordered; make the metric without order_free"
        )

    @property
    def candidates(self) -> RawCandidates:
        """The items and their scores, in the form that functions of `ordering` take."""
        start = 0
        if self.items_axis is not None:
            # Number the items of all devices in one sequence, because indices order items
            # that tie otherwise.
            start = lax.axis_index(self.items_axis) * self.scores.shape[-1]
        return RawCandidates(self.scores, self.items, start)

    def of_key(self, key: jax.Array) -> Pool:
        """Returns the ranked items whose key equals the `key` of their list, `[*lists]`."""
        candidates = self.candidates.read()
        is_equal = candidates.keys == key[..., None]
        return Pool(candidates.items.only(is_equal), self.layout)

    def first_stop(self, stop_fn: ItemFn, in_groups: bool) -> first_stop.FirstStop:
        """Finds the first item that stops; see `Pool.first_stop`."""
        items, layout = self.candidates.read(), self.layout
        exists = items.items.exists
        stop = item_predicate(stop_fn, items.items)
        dtype = items.items.labels.dtype
        first = first_stop.from_keys(items.keys, exists, stop, layout, dtype)
        if in_groups:
            return first

        def best_stop(level: jax.Array, among: jax.Array) -> jax.Array:
            key = first_stop.best_key(level, among & stop, layout)
            return layout.broadcast_to_items(key)

        # Within the tie group of the first stop, compare items by one tie-break after
        # the other, and finally by index. `undecided` marks the items that equal the first
        # stop on all levels so far; items that beat it on the next level stand before it.
        undecided = exists & (items.keys == best_stop(items.keys, exists))
        earlier = jnp.zeros_like(first.above)
        for level in (*items.tie_breaks(self.policy), -items.ids):
            best = best_stop(level, undecided)
            earlier = earlier + layout.amount(undecided & (level > best), dtype)
            undecided = undecided & (level == best)
        return first_stop.at_known_rank(first.above + earlier, first.stops > 0)
