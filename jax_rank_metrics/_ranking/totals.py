"""Totals over the pool of a `Ranking`, and the best order of its items."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._places import first_stop
from jax_rank_metrics._places.tie_groups import sum_of_slots
from jax_rank_metrics._ranking.functions import check_position_fn
from jax_rank_metrics._ranking.items import (
    MAX_WEIGHTED_GAIN,
    WEIGHTED_SCALE,
    ItemFn,
    Items,
    item_values,
)
from jax_rank_metrics._ranking.parts import Parts
from jax_rank_metrics._ranking.shares import cutoff_of
from jax_rank_metrics._ranking.unlisted import check_alike, check_known, check_linear
from jax_rank_metrics._share import share
from jax_rank_metrics._types import Cut, Cutoffs, Number, PositionFn


class Totals(Parts):
    """The part of a `Ranking` that reads every judged item."""

    _known_relevant: jax.Array | None

    def pool_sum(self, item_fn: ItemFn) -> jax.Array:
        """Sums `item_fn(items)` over the pool, `[*lists, …]` floats; bools are counted."""
        pool = self._judged_pool()
        check_known(self, item_fn)
        check_linear(self, item_fn)
        items = pool.items.read()
        values = item_values(item_fn, items, self._dtype)
        return pool.layout.sum(values, values.ndim - items.exists.ndim)

    def pool_max(self, item_fn: ItemFn) -> jax.Array:
        """Returns the largest of non-negative `item_fn(items)` of the pool, `[*lists]`."""
        pool = self._judged_pool()
        check_known(self, item_fn)
        check_alike(self, item_fn)
        return pool.layout.max(item_values(item_fn, pool.items.read(), self._dtype))

    def cutoffs(self, k: Cutoffs) -> tuple[Cut, ...]:
        """Checks the cutoffs `k` of a metric, and returns them as `ks` for the verbs.

        Shares of a list become arrays `[*lists]` int32, the cutoff of each list.
        """

        def resolve(fraction: share) -> jax.Array:
            pool = self._judged_pool()
            return cutoff_of(fraction, pool.layout.sum(pool.items.read().exists))

        return tuple(
            self._once(("share", x), partial(resolve, x)) if isinstance(x, share) else x
            for x in _inputs.cutoffs(k)
        )

    def num_relevant(self, relevance_threshold: Number) -> jax.Array:
        """Counts the relevant items of the pool, `[*lists]` floats."""

        def count() -> jax.Array:
            if self._known_relevant is not None:
                # Never fewer than were retrieved, so that no recall exceeds 1.
                assert self._held is not None
                retrieved = Items.of(self._held.items)
                counted = _arithmetic.count(retrieved.relevant(relevance_threshold))
                return jnp.maximum(self._known_relevant, counted).astype(self._dtype)
            pool = self._judged_pool()
            relevant = Items.of(pool.items.read()).relevant(relevance_threshold)
            return pool.layout.sum(relevant).astype(self._dtype)

        return self._once(("relevant", relevance_threshold), count)

    def ideal_sum(
        self,
        item_fn: ItemFn,
        position_fn: PositionFn,
        ks: Sequence[Cut],
        *,
        monotone: bool = False,
    ) -> jax.Array:
        """Returns `Σ item_fn·position_fn(rank)` of the pool's best order, to each k.

        Args:
            item_fn: From `Items`, the value of each, not negative.
            position_fn: What ranks 1, 2, … are worth.
            ks: Cutoffs.
            monotone: Whether `item_fn` reads labels alone, never falls as they rise and
                is 0 for 0, so that the order of labels is the order of values.

        Returns:
            `[*lists, len(ks)]`.
        """
        check_position_fn("ideal_sum", position_fn)
        values, layout = self._best_values(item_fn, ks, monotone)
        if self._held is not None and layout.is_rectangular:
            # Pad to the number of ranks held, so that a list in its best order adds up
            # the same terms in the same order as its ideal, and has exactly its value.
            num_missing = self._held.items.exists.shape[-1] - values.shape[-1]
            values = _arithmetic.pad_items(values, after=max(num_missing, 0))
        place_sum = sum_of_slots(layout, values, self._dtype)
        cutoffs = map(layout.cut_of_items, ks)
        terms = [
            jnp.where(values > 0, values * place_sum(position_fn, k), 0)
            for k in cutoffs
        ]
        return self._sums_to_cutoffs(layout, terms)

    def ideal_first(
        self, stop_fn: ItemFn, position_fn: PositionFn, ks: Sequence[Cut]
    ) -> jax.Array:
        """Returns the mean of `position_fn` at the first stop in the pool's best order.

        Args:
            stop_fn: From `Items`, the probability that each stops a user, as for
                `expected_first`; it reads labels alone and never falls as they rise.
            position_fn: What a stop at rank 1, 2, … is worth; it never rises.
            ks: Cutoffs.

        Returns:
            `[*lists, len(ks)]`.
        """
        check_position_fn("ideal_first", position_fn)
        labels, layout = self._sorted_values(None, ks)
        exists = labels > 0
        stop = item_values(stop_fn, ItemArrays(labels, exists), self._dtype)
        return first_stop.cascade(stop, exists, None, position_fn, ks, layout)[0]

    def _ideal_gained(
        self, gain_fn: ItemFn, ks: Sequence[Cut], *, monotone: bool = False
    ) -> jax.Array:
        """Sums the gains of the pool's best order up to the rank of each item.

        The items are those held, in one definite order. A pool with the gains 3 2 0 has
        3 5 5 at the ranks 1, 2 and 3, whatever stands there.

        Args:
            gain_fn: From `Items`, the gain of each, not negative.
            ks: Cutoffs; beyond the deepest, entries mean nothing.
            monotone: As for `ideal_sum`.

        Returns:
            `[*lists, held]`, along the items.
        """
        ranks = self._held_through(ks).in_one_order()
        above, _ = ranks.above_and_tied(self._memo)
        gains, layout = self._best_values(gain_fn, ks, monotone)
        return layout.at_ranks(layout.cumulative_sum(gains), above + 1, ranks.layout)

    @property
    def _has_item_weights(self) -> bool:
        """Whether items have weights."""
        return self._pool is not None and self._pool.items.weights is not None

    def _mean_item_weight(self, item_fn: ItemFn) -> jax.Array | None:
        """Returns w̄: the mean item weight of every list, each item counted `item_fn` times.

        A list in which `item_fn` is 0 everywhere has the plain mean. None if items have
        no weights.
        """
        if not self._has_item_weights:
            return None
        pool = self._judged_pool()
        items, layout = pool.items.read(), pool.layout
        assert items.weights is not None
        times = item_values(item_fn, items, self._dtype)
        # Scaled by a power of two, which rounds nothing, so that sums stay finite.
        times = jnp.minimum(times, jnp.finfo(self._dtype).max) * WEIGHTED_SCALE
        any_counts = layout.broadcast_to_items(layout.max(times) > 0)
        times = jnp.where(any_counts, times, items.exists.astype(self._dtype))
        weighted = jnp.minimum(items.weights * times, MAX_WEIGHTED_GAIN)
        return _arithmetic.ratio(layout.sum(weighted), layout.sum(times))

    def _best_values(
        self, item_fn: ItemFn, ks: Sequence[Cut], monotone: bool
    ) -> tuple[jax.Array, RankedLayout]:
        """Returns the values of `ideal_sum` in the best order, as `_sorted_values` does.

        Functions that rise with labels share the order of labels.
        """
        if not monotone:
            return self._sorted_values(item_fn, ks)
        labels, layout = self._sorted_values(None, ks)
        sorted_items = ItemArrays(labels, labels > 0)
        return item_values(item_fn, sorted_items, self._dtype), layout

    def _sorted_values(
        self, item_fn: ItemFn | None, ks: Sequence[Cut]
    ) -> tuple[jax.Array, RankedLayout]:
        """Returns the largest values of the pool, descending, as deep as the cutoffs.

        The values are labels where `item_fn` is None. A deeper result that another metric
        asked for is truncated. Layouts without rows return all values.
        """
        depth = _inputs.deepest(ks)

        def make() -> tuple[int | None, jax.Array, RankedLayout]:
            pool = self._judged_pool()
            items = pool.items.read()
            values = items.labels
            if item_fn is not None:
                check_known(self, item_fn)
                check_alike(self, item_fn)
                values = item_values(item_fn, items, self._dtype)
            return depth, *pool.layout.largest(values, items.exists, depth)

        def serves(known: tuple[int | None, jax.Array, RankedLayout]) -> bool:
            return known[0] is None or (depth is not None and depth <= known[0])

        _, values, layout = self._memo.best(("sorted", item_fn), serves, make)
        return layout.first_ranks(values, depth), layout
