"""Totals over the pool of a `Ranking`."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._places import first
from jax_rank_metrics._places.place import at_ranks
from jax_rank_metrics._ranking.items import MOST, WEIGHED_SCALE, ItemFn, item_values
from jax_rank_metrics._ranking.parts import Parts
from jax_rank_metrics._types import Number, PositionFn


class Totals(Parts):
    """What a formula may know of every judged item."""

    _known_relevant: jax.Array | None

    def pool_sum(self, item_fn: ItemFn) -> jax.Array:
        """`Σ item_fn(items)` over the pool, `[*lists]` floats; bools are counted."""
        pool = self._judged_pool()
        items = pool.items.read()
        values = item_values(item_fn, items, self._dtype)
        return pool.axis.sum(values, values.ndim - items.exists.ndim)

    def pool_max(self, item_fn: ItemFn) -> jax.Array:
        """The largest of non-negative `item_fn(items)` of the pool, `[*lists]`."""
        pool = self._judged_pool()
        return pool.axis.max(item_values(item_fn, pool.items.read(), self._dtype))

    def num_relevant(self, relevance_threshold: Number) -> jax.Array:
        """Relevant items of the pool, `[*lists]` floats."""

        def count() -> jax.Array:
            if self._known_relevant is not None:
                # Never fewer than were retrieved, so that no recall exceeds 1.
                assert self._held is not None
                retrieved = self._held.items.relevant(relevance_threshold)
                counted = _arithmetic.count(retrieved)
                return jnp.maximum(self._known_relevant, counted).astype(self._dtype)
            pool = self._judged_pool()
            relevant = pool.items.read().relevant(relevance_threshold)
            return pool.axis.sum(relevant).astype(self._dtype)

        return self._once(("relevant", relevance_threshold), count)

    def ideal_sum(
        self,
        item_fn: ItemFn,
        position_fn: PositionFn,
        ks: Sequence[int | None],
        *,
        monotone: bool = False,
    ) -> jax.Array:
        """`Σ item_fn·position_fn(rank)` of the best order of the pool, to each k.

        Args:
            item_fn: From `Items`, what each is worth; not negative.
            position_fn: What ranks 1, 2, … are worth.
            ks: Cutoffs.
            monotone: Whether `item_fn` reads labels alone, never falls as they rise and
                is 0 for 0, so that the best labels are worth most.

        Returns:
            `[*lists, len(ks)]`.
        """
        values, axis = self._best(None if monotone else item_fn, _inputs.deepest(ks))
        if self._held is not None and isinstance(axis, Rows):
            # As wide as the ranks held, so that a list in its best order adds up equal
            # terms in an equal order, and is worth exactly as much as its ideal.
            missing = self._held.items.exists.shape[-1] - values.shape[-1]
            values = _arithmetic.pad_items(values, after=max(missing, 0))
        if monotone:
            values = item_values(item_fn, ItemArrays(values, values > 0), self._dtype)
        rank = (axis.offset_in_list(values) + 1).astype(self._dtype)
        found = []
        for k in ks:
            terms = values * at_ranks(position_fn, rank, k)
            found.append(axis.sum(jnp.where(values > 0, terms, 0)))
        return jnp.stack(found, axis=-1)

    def ideal_first(
        self, stop_fn: ItemFn, position_fn: PositionFn, ks: Sequence[int | None]
    ) -> jax.Array:
        """The mean of `position_fn` at the first stop in the best order of the pool.

        Args:
            stop_fn: From `Items`, the chance of each to stop a user, as for
                `expected_first`; it reads labels alone and never falls as they rise.
            position_fn: What a stop at rank 1, 2, … is worth; it never rises.
            ks: Cutoffs.

        Returns:
            `[*lists, len(ks)]`.
        """
        labels, axis = self._best(None, _inputs.deepest(ks))
        exists = labels > 0
        stop = item_values(stop_fn, ItemArrays(labels, exists), self._dtype)
        return first.by_chance(stop, exists, None, position_fn, ks, axis)[0]

    @property
    def _has_item_weights(self) -> bool:
        """Whether items have weights."""
        return self._pool is not None and self._pool.items.weights is not None

    def _mean_item_weight(self, item_fn: ItemFn) -> jax.Array | None:
        """w̄: the mean item weight of every list, each item counted `item_fn` times.

        Where that is zero for every item, the plain mean. None without item weights.
        """
        if not self._has_item_weights:
            return None
        items, axis = self._judged_pool().items.read(), self._judged_pool().axis
        assert items.weights is not None
        times = item_values(item_fn, items, self._dtype)
        # Scaled by a power of two, which rounds nothing, so that sums stay finite.
        times = jnp.minimum(times, jnp.finfo(self._dtype).max) * WEIGHED_SCALE
        some = axis.broadcast_to_items(axis.max(times) > 0)
        times = jnp.where(some, times, items.exists.astype(self._dtype))
        weighed = jnp.minimum(items.weights * times, MOST)
        return _arithmetic.ratio(axis.sum(weighed), axis.sum(times))

    def _best(
        self, item_fn: ItemFn | None, depth: int | None
    ) -> tuple[jax.Array, RankedLayout]:
        """So many of what the pool is worth, in falling order; None is its labels."""

        def make() -> tuple[int | None, jax.Array, RankedLayout]:
            pool = self._judged_pool()
            items = pool.items.read()
            values = items.labels
            if item_fn is not None:
                values = item_values(item_fn, items, self._dtype)
            return depth, *pool.axis.largest(values, items.exists, depth)

        if self._memo is None:
            return make()[1:]
        _, values, axis = self._memo.better(
            ("best", item_fn),
            lambda known: known[0] is None or (depth is not None and depth <= known[0]),
            make,
        )
        return values if isinstance(axis, Packed) else values[..., :depth], axis
