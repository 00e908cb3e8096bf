"""The pool of judged items, and its scores."""

from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._items import ItemArrays, RawItems
from jax_rank_metrics._layouts.base import PoolLayout
from jax_rank_metrics._ordering.candidates import Candidates, RawCandidates
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._places import first_stop
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking.items import ItemFn, item_predicate
from jax_rank_metrics._types import AxisNames


@pytree()
class Pool:
    """All judged items, in any order, and their layout."""

    items: ItemArrays | RawItems
    layout: PoolLayout


@runtime_checkable
class StopFinder(Protocol):
    """Finds the first item that stops a user, at any rank, where no ranks are held."""

    @property
    def order_error(self) -> str:
        """The message for a metric that reads ranks, of which none is held."""
        ...

    def first_stop(
        self, pool: Pool, stop_fn: ItemFn, in_groups: bool
    ) -> first_stop.FirstStop:
        """Finds the first item that stops, by counting the items above it.

        Args:
            pool: All judged items.
            stop_fn: From `Items`, which items stop, bool.
            in_groups: Whether tied items form groups rather than a definite order.
        """
        ...


@pytree("ties", "items_axis")
class PoolScores:
    """The scores of a pool, by which places can be counted without an order.

    Shapes for lists as rows:
        scores: `[*lists, items]`, as they were passed.
        seeds: `[*lists, 2]` uint32, or None.
        ties: The tie policy, static.
        items_axis: The mesh axes over which items are cut, static.
    """

    scores: jax.Array
    seeds: jax.Array | None
    ties: str | None
    items_axis: AxisNames | None

    @property
    def order_error(self) -> str:
        """The message for a metric that reads ranks, where nothing was ordered."""
        return (
            "this metric reads ranks, but it was made with order_free=True, so that "
            "nothing was ordered; leave order_free out"
        )

    def candidates(self, pool: Pool) -> Candidates:
        """Returns the items of the pool that have a rank, with keys that compare them."""
        start = 0
        if self.items_axis is not None:
            # Indices count through all devices: the order of what ties in all else.
            start = lax.axis_index(self.items_axis) * self.scores.shape[-1]
        return RawCandidates(self.scores, pool.items, start, self.seeds).read()

    def first_stop(
        self, pool: Pool, stop_fn: ItemFn, in_groups: bool
    ) -> first_stop.FirstStop:
        """Finds the first item that stops; see `StopFinder`."""
        items, layout = self.candidates(pool), pool.layout
        exists = items.items.exists
        stop = item_predicate(stop_fn, items.items)
        first = first_stop.from_keys(items.keys, exists, stop, layout)
        if in_groups:
            return first

        def best_stop(level: jax.Array, among: jax.Array) -> jax.Array:
            key = first_stop.best_key(level, among & stop, layout)
            return layout.broadcast_to_items(key)

        # Within the tie group of the first stop, compare items by one tie-break after
        # the other, at last by index. `undecided` are the items that equal the first
        # stop so far; those that beat it on a level stand before it.
        undecided = exists & (items.keys == best_stop(items.keys, exists))
        earlier = jnp.zeros_like(first.above)
        for level in (*items.tie_breaks(Policy(self.ties)), -items.ids):
            best = best_stop(level, undecided)
            earlier = earlier + layout.sum(undecided & (level > best))
            undecided = undecided & (level == best)
        return first_stop.at_known_rank(first.above + earlier, first.stops > 0)
