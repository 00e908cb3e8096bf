"""The pool of judged items, and the tie group that straddles the cut of a ranking."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._items import ItemArrays, RawItems
from jax_rank_metrics._layouts.base import PoolLayout
from jax_rank_metrics._ordering.candidates import ItemOrder, RawCandidates
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._places import first_stop
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking.item_fns import ItemFn, item_amounts, item_predicate
from jax_rank_metrics._types import AxisNames


@pytree()
class Pool:
    """All judged items, in any order, and their layout."""

    items: ItemArrays | RawItems
    layout: PoolLayout

    @property
    def finds_stops(self) -> bool:
        """Whether the first item that stops a user is found at any rank, held or not."""
        return False

    @property
    def order_error(self) -> str:
        """The message for a metric that reads ranks, where none is held."""
        raise NotImplementedError

    def first_stop(self, stop_fn: ItemFn, in_groups: bool) -> first_stop.FirstStop:
        """Finds the first item that stops a user, by counting the items above it.

        Args:
            stop_fn: From `Items`, which items stop, bool.
            in_groups: Whether tied items form groups rather than a definite order.
        """
        raise NotImplementedError


@pytree("ties", "items_axis")
class ScoredPool(Pool):
    """A pool with its scores, by which places can be counted without an order.

    Shapes for lists as rows:
        scores: `[*lists, items]`, as they were passed.
        seeds: `[*lists, 2]` uint32, or None.
        ties: The tie policy, static.
        items_axis: The mesh axes over which items are cut, static.
    """

    items: RawItems
    scores: jax.Array
    seeds: jax.Array | None
    ties: str | None
    items_axis: AxisNames | None

    @property
    def finds_stops(self) -> bool:
        """True: items are counted by their scores."""
        return True

    @property
    def order_error(self) -> str:
        """The message for a metric that reads ranks, where nothing was ordered."""
        return (
            "this metric reads ranks, but it was made with order_free=True, so that "
            "nothing was ordered; leave order_free out"
        )

    @property
    def order(self) -> ItemOrder:
        """The order in which the items compare."""
        return ItemOrder(Policy(self.ties), self.scores.dtype, self.seeds)

    @property
    def candidates(self) -> RawCandidates:
        """The items on their way to a rank."""
        start = 0
        if self.items_axis is not None:
            # Indices count through all devices: the order of what ties in all else.
            start = lax.axis_index(self.items_axis) * self.scores.shape[-1]
        return RawCandidates(self.scores, self.items, start)

    def first_stop(self, stop_fn: ItemFn, in_groups: bool) -> first_stop.FirstStop:
        """Finds the first item that stops; see `Pool.first_stop`."""
        items, layout = self.candidates.read(), self.layout
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
        for level in (*items.tie_breaks(self.order), -items.ids):
            best = best_stop(level, undecided)
            earlier = earlier + layout.sum(undecided & (level > best))
            undecided = undecided & (level == best)
        return first_stop.at_known_rank(first.above + earlier, first.stops > 0)


@pytree()
class Straddle:
    """Which lists have a tie group that may reach beyond the last rank held.

    With the scores 9 7 7 7 and two ranks held, two of the three tied items are missing
    and must be looked up in the pool; with the scores 9 7 5 5, none is missing.

    Shapes:
        lists: `[*lists]` bool, where the group may reach beyond.
        tied: `[*lists, pool]` bool, the items of the pool that tie with the last one
            held; None where scores find them.
        layout: The layout of the pool.
        items: The items of the pool, where a slot holds a mean of those that tie and not
            of all; None where the pool has them.
    """

    lists: jax.Array
    tied: jax.Array | None
    layout: PoolLayout
    items: ItemArrays | None = None

    def group(
        self,
        last_key: jax.Array,
        pool: Pool,
        item_fns: Sequence[ItemFn],
        dtype: DTypeLike,
    ) -> tuple[jax.Array, list[jax.Array]]:
        """Adds up the group by one pass over the pool, skipped if no list needs it.

        Args:
            last_key: `[*lists]`, the key of the last rank held.
            pool: The items, with their scores where `tied` is None.
            item_fns: Functions of items, to be summed over the group; bools are counted.
            dtype: The float dtype of sums; counts are int32.

        Returns:
            How many items the group holds, `[*lists]` int32, those without a held rank
            included, and the sums over them, `[*lists, …]` each. Only entries where
            `lists` is true are to be read.
        """
        # Each device adds up its own items; totals travel outside of the branch, since
        # devices may take different branches.
        layout = self.layout.on_device
        # A stream of blocks cannot look up a key; its straddle knows what ties.
        scored = pool if isinstance(pool, ScoredPool) else None

        def look() -> tuple[jax.Array, list[jax.Array]]:
            source = pool.items if self.items is None else self.items
            items = source.retrieved_items()
            tied = self.tied
            if tied is None:
                assert scored is not None
                candidates = scored.candidates.read()
                is_equal = candidates.keys == last_key[..., None]
                tied = candidates.items.exists & is_equal
            items = items.only(tied)
            totals = []
            for item_fn in item_fns:
                amounts = item_amounts(item_fn, items, dtype)
                totals.append(layout.sum(amounts, amounts.ndim - items.exists.ndim))
            return layout.sum(tied), totals

        def skip() -> tuple[jax.Array, list[jax.Array]]:
            zeros = jax.tree.map(
                lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(look)
            )
            # Both branches must vary over the same devices, whatever columns they read.
            items = pool.items
            if isinstance(items, RawItems):
                items = dataclasses.replace(items, columns={})
            raw_scores = None if scored is None else scored.scores
            return _mesh.match_varying(zeros, (last_key, items, raw_scores, self.tied))

        is_short = scored is None or _arithmetic.is_small(scored.scores)
        if self.tied is not None or is_short:  # a branch would cost more
            local = look()
        else:
            local = lax.cond(_mesh.unvmap_any(self.lists), look, skip)
        return self.layout.over_devices(local)
