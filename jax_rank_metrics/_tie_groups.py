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
        size: `[*lists, depth]` int32, items of the group, beyond the last rank too.
        first, last: `[*lists, depth]` bool, where a group begins and ends.
        crosses: `[*lists, depth]` bool, ranks of the group that holds the last rank;
            None where every item is ranked.
        crossing: `[*lists, items]` bool, pool items of that same group; None as above.
    """

    start: jax.Array
    size: jax.Array
    first: jax.Array
    last: jax.Array
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
            return cls(start, end - start, first, last, None, None)
        crosses = end == depth
        crossing = (pool == ranked[..., -1:]) & pool_exist
        size = jnp.sum(crossing, -1, keepdims=True, dtype=jnp.int32)
        size = jnp.where(crosses, size, end - start)
        return cls(start, size, first, last, crosses, crossing)

    def count(self, ranked: jax.Array, pool: jax.Array) -> Counts:
        """Sums of non-negative integers over groups; `pool` holds them for every item."""
        axis = ranked.ndim - 1
        total = jnp.cumsum(ranked, axis=axis, dtype=ranked.dtype)
        # Running totals never fall, so the one at the end of a group is the least of
        # those to come, and the one before its start the greatest of those passed.
        before = jnp.where(self.first, total - ranked, 0)
        before = lax.cummax(before, axis=axis)
        until = jnp.where(self.last, total, jnp.iinfo(total.dtype).max)
        inside = lax.cummin(until, axis=axis, reverse=True) - before
        if self.crosses is not None:
            across = jnp.where(self.crossing, pool, 0)
            across = jnp.sum(across, -1, keepdims=True, dtype=pool.dtype)
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
        axis = ranked.ndim - 1
        integer = integer_like(ranked.dtype)
        # Numbering the groups makes a running maximum start anew in each.
        info = jnp.finfo(ranked.dtype)
        span = info.maxexp - info.minexp + 3
        number = jnp.cumsum(self.first, axis=axis, dtype=integer) * span
        least = info.minexp - 1
        numbered = number + (exponent(ranked) - least)
        running = lax.cummax(numbered, axis=axis)
        at_end = jnp.where(self.last, running, jnp.iinfo(integer).max)
        largest = lax.cummin(at_end, axis=axis, reverse=True) - number + least
        if self.crosses is not None:
            across = jnp.where(self.crossing, exponent(pool), least)
            across = jnp.max(across, -1, keepdims=True, initial=least)
            largest = jnp.where(self.crosses, across, largest)
        return largest
