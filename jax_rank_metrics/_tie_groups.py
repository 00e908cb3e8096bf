"""Groups of tied items, and what is known of a group whatever the order inside it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._sums import Digits, exponent, integer_like
from jax_rank_metrics._types import pytree


class Counts(NamedTuple):
    """Of something counted over items, at every rank: integer arrays like the ranks."""

    inside: jax.Array  # in the tie group of this rank
    before: jax.Array  # in the groups ranked before that one


@pytree()
class TieGroups:
    """The tie group at every rank, for rankings that stand for all orders of tied items.

    Only one group of a list can reach beyond the last rank. What it holds there is
    counted over the pool.

    Shapes, with `depth` ranks and `items` in the pool:
        start: `[*lists, depth]` int32, items ranked before the group.
        end: `[*lists, depth]` int32, the same plus its items among these ranks.
        size: `[*lists, depth]` int32, items of the group, beyond the last rank too.
        crosses: `[*lists, depth]` bool, ranks of the group that holds the last rank;
            None where every item is ranked.
        crossing: `[*lists, items]` bool, pool items of that same group; None as above.
    """

    start: jax.Array
    end: jax.Array
    size: jax.Array
    crosses: jax.Array | None
    crossing: jax.Array | None

    @classmethod
    def of(
        cls,
        ranked: jax.Array,
        ranked_exist: jax.Array,
        pool: jax.Array,
        pool_exist: jax.Array,
    ) -> "TieGroups":
        """Groups of equal keys; `ranked` are the largest of the `pool`, in order."""
        depth, axis = ranked.shape[-1], ranked.ndim - 1
        same = ranked[..., 1:] == ranked[..., :-1]
        same = same & (ranked_exist[..., 1:] == ranked_exist[..., :-1])
        no_pad = [(0, 0, 0)] * axis
        first = lax.pad(~same, True, [*no_pad, (1, 0, 0)])
        last = lax.pad(~same, True, [*no_pad, (0, 1, 0)])
        place = lax.broadcasted_iota(jnp.int32, ranked.shape, axis)
        start = lax.cummax(jnp.where(first, place, 0), axis=axis)
        end = lax.cummin(jnp.where(last, place + 1, depth), axis=axis, reverse=True)
        if depth == pool.shape[-1]:
            return cls(start, end, end - start, None, None)
        crosses = end == depth
        crossing = (pool == ranked[..., -1:]) & pool_exist
        size = jnp.sum(crossing, -1, keepdims=True, dtype=jnp.int32)
        size = jnp.where(crosses, size, end - start)
        return cls(start, end, size, crosses, crossing)

    def count(self, ranked: jax.Array, pool: jax.Array) -> Counts:
        """Sums of non-negative integers over groups; `pool` holds them for every item."""
        total = jnp.cumsum(ranked, axis=-1, dtype=ranked.dtype)
        # Integers, so that a difference of running totals is exact.
        before = self._at_start(total - ranked)
        inside = self._at_end(total) - before
        if self.crosses is not None:
            across = jnp.sum(self._across(pool), -1, keepdims=True, dtype=pool.dtype)
            inside = jnp.where(self.crosses, across, inside)
        return Counts(inside, before)

    def mean(self, ranked: jax.Array, pool: jax.Array) -> jax.Array:
        """Means of non-negative floats over groups, the same however ranks are cut."""
        digits = Digits.for_items(pool.shape[-1], pool.dtype)
        scale = self._exponent(ranked, pool)
        across = scale[..., -1:]  # the last rank's group is the one that crosses
        splits = zip(
            digits.split(ranked, scale), digits.split(pool, across), strict=True
        )
        sums = [self.count(*split).inside for split in splits]
        mean = digits.join(sums, self.size.astype(pool.dtype), scale)
        finite = scale < jnp.finfo(pool.dtype).maxexp
        return jnp.where(finite, mean, jnp.asarray(jnp.inf, pool.dtype))

    def _exponent(self, ranked: jax.Array, pool: jax.Array) -> jax.Array:
        """Of the largest float of each group."""
        integer = integer_like(ranked.dtype)
        info = jnp.finfo(ranked.dtype)
        least, span = info.minexp - 1, info.maxexp - info.minexp + 2
        # Raising each group above those before makes a running maximum start anew.
        floor = self.start.astype(integer) * span - least
        running = lax.cummax(exponent(ranked) + floor, axis=ranked.ndim - 1)
        largest = self._at_end(running) - floor
        if self.crosses is not None:
            across = self._across(exponent(pool) - least)
            across = jnp.max(across, -1, keepdims=True, initial=0) + least
            largest = jnp.where(self.crosses, across, largest)
        return largest

    def _across(self, pool: jax.Array) -> jax.Array:
        assert self.crossing is not None
        return jnp.where(self.crossing, pool, 0)

    def _at_start(self, x: jax.Array) -> jax.Array:
        return _take(x, self.start)

    def _at_end(self, x: jax.Array) -> jax.Array:
        return _take(x, self.end - 1)


def _take(x: jax.Array, places: jax.Array) -> jax.Array:
    return jnp.take_along_axis(x, places, axis=-1, mode="promise_in_bounds")
