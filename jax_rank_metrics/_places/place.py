"""What a formula sees of a place, and sums over its ranks."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._types import Cut, PositionFn

# Sums over the ranks of a place are read from a table this long at most, and beyond it
# added up so many ranks at a time.
_TABLE = 2**20
_STEP = 64

# Up to so many ranks, each is looked at.
_FEW = 32


@dataclasses.dataclass(frozen=True)
class Place:
    """The ranks an item may hold: above + 1 … above + tied, each equally likely.

    All are floats that broadcast with the items.

    Attributes:
        above: How many items rank strictly before its tie group.
        tied: How many items the group holds, this one included.
        counted_above: For each predicate of `counting`, how many items above hold it.
        counted_tied: For each predicate, how many of the group hold it.
    """

    above: jax.Array
    tied: jax.Array
    counted_above: tuple[jax.Array, ...]
    counted_tied: tuple[jax.Array, ...]
    _sum: Callable[[PositionFn, Cut], jax.Array]

    def sum(self, position_fn: PositionFn, k: Cut) -> jax.Array:
        """The sum of `position_fn` over those of its ranks that are at most k."""
        return self._sum(position_fn, k)

    def within(self, k: Cut) -> jax.Array:
        """How many of its ranks are at most k."""
        if k is None:
            return self.tied
        if not isinstance(k, int):
            k = k.astype(self.above.dtype)
        return jnp.clip(k - self.above, 0, self.tied)


def positions(position_fn: PositionFn | None = None) -> Callable[..., jax.Array]:
    """What a place is worth: the mean of `position_fn` over its ranks, 0 beyond k.

    For `Ranking.expected_sum`. None is 1 at every rank: the chance of a rank up to k.
    """
    if position_fn is None:
        return _chance
    return _mean_of(position_fn)


def _chance(place: Place, k: Cut) -> jax.Array:
    return place.within(k) / place.tied


@functools.lru_cache(maxsize=256)
def _mean_of(position_fn: PositionFn) -> Callable[[Place, Cut], jax.Array]:
    return lambda place, k: place.sum(position_fn, k) / place.tied


def at_ranks(position_fn: PositionFn, ranks: jax.Array, k: Cut) -> jax.Array:
    """`position_fn(ranks)`, 0 beyond k."""
    values = jnp.broadcast_to(jnp.asarray(position_fn(ranks), ranks.dtype), ranks.shape)
    if k is None:
        return values
    if not isinstance(k, int):
        k = k.astype(ranks.dtype)
    within = ranks <= k
    return jnp.where(within, values, jnp.zeros_like(values))


def sum_of_one(above: jax.Array) -> Callable[[PositionFn, Cut], jax.Array]:
    """Sums over places of one rank each."""
    return lambda position_fn, k: at_ranks(position_fn, above + 1, k)


def sum_of_two(
    rank: jax.Array, second: jax.Array, pair: jax.Array
) -> Callable[[PositionFn, Cut], jax.Array]:
    """Sums over places of at most two ranks, of items that stand at a `rank`.

    Args:
        rank: The rank of each in the order at hand, float.
        second: Whether it is the second of a pair.
        pair: Whether it is one of a pair.
    """

    def add(position_fn: PositionFn, k: Cut) -> jax.Array:
        # Where ranks are the same in every list, so are these three.
        before, here, after = (
            at_ranks(position_fn, jnp.maximum(rank + step, 1), k) for step in (-1, 0, 1)
        )
        other = jnp.where(second, before, after)
        return here + jnp.where(pair, other, jnp.zeros_like(other))

    return add


def sum_of_many(
    above: jax.Array, tied: jax.Array, ranks: int, dtype: Any
) -> Callable[[PositionFn, Cut], jax.Array]:
    """Sums over places of any number of ranks, of which there are `ranks` at most.

    Args:
        above: int32.
        tied: int32.
        ranks: Static.
        dtype: Of the sums.
    """

    def add(position_fn: PositionFn, k: Cut) -> jax.Array:
        most = min(ranks, k) if isinstance(k, int) else ranks
        if most <= _FEW:
            return _sum_of_few(position_fn, above, above + tied, most, k, dtype)
        table = min(most, _TABLE)
        end = above + tied
        cut = most if k is None or isinstance(k, int) else k.astype(jnp.int32)
        end = jnp.minimum(end, cut)
        parts = [jnp.asarray(x) for x in _prefix(position_fn, table, jnp.dtype(dtype))]

        def read(x: jax.Array, place: jax.Array) -> jax.Array:
            return x.at[jnp.minimum(place, table)].get(mode="promise_in_bounds")

        start = jnp.minimum(above, end)
        high, low = (read(x, end) - read(x, start) for x in parts)
        sums = high + low
        if most > table:
            sums = sums + _beyond(position_fn, jnp.maximum(start, table), end, dtype)
        return sums

    return add


def _sum_of_few(
    position_fn: PositionFn,
    above: jax.Array,
    end: jax.Array,
    ranks: int,
    k: Cut,
    dtype: Any,
) -> jax.Array:
    rank = jnp.arange(1, ranks + 1, dtype=jnp.int32)
    values = at_ranks(position_fn, rank.astype(dtype), None)
    if isinstance(k, jax.Array):
        end = jnp.minimum(end, k.astype(jnp.int32))
    rank = rank.reshape((1,) * above.ndim + rank.shape)
    held = (rank > above[..., None]) & (rank <= end[..., None])
    return _arithmetic.dot(held.astype(dtype), values)


@functools.lru_cache(maxsize=64)
def _prefix(
    position_fn: PositionFn, ranks: int, dtype: jnp.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of `position_fn` over the first 0, 1, 2, … ranks, as two floats each."""
    # A few lengths only, since each compiles.
    length = 64
    while length < ranks:
        length *= 4
    with jax.ensure_compile_time_eval():
        values = np.asarray(_values(position_fn, length, dtype))[:ranks]
    sums = np.concatenate([[0.0], np.cumsum(values.astype(np.float64))])
    high = sums.astype(dtype)
    return high, (sums - high.astype(np.float64)).astype(dtype)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _values(position_fn: PositionFn, length: int, dtype: jnp.dtype) -> jax.Array:
    return at_ranks(position_fn, jnp.arange(1, length + 1, dtype=dtype), None)


def _beyond(
    position_fn: PositionFn, start: jax.Array, end: jax.Array, dtype: Any
) -> jax.Array:
    """The sum over ranks start + 1 … end, a few at a time."""
    steps = jnp.arange(_STEP, dtype=jnp.int32).reshape((1,) * start.ndim + (_STEP,))
    longest = jnp.max(end - start, initial=0)

    def add(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        done, sums = state
        rank = start[..., None] + done + steps + 1
        values = at_ranks(position_fn, rank.astype(dtype), None)
        values = jnp.where(rank <= end[..., None], values, jnp.zeros_like(values))
        return done + _STEP, sums + jnp.sum(values, axis=-1)

    # Typed as varying as what ends the loop.
    zeros = (end - end).astype(dtype)
    return lax.while_loop(
        lambda state: state[0] < longest, add, (jnp.zeros_like(longest), zeros)
    )[1]
