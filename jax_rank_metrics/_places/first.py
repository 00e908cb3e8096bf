"""The first item that stops a user who goes down the list."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._places.place import at_ranks
from jax_rank_metrics._types import Cut, PositionFn


class First(NamedTuple):
    """The tie group of the best item that stops, `[*lists]` int32 each.

    `stops` is how many of the `tied` items do; 0 where none is in the list.
    """

    above: jax.Array
    tied: jax.Array
    stops: jax.Array


def by_keys(keys: jax.Array, exists: jax.Array, stop: jax.Array, axis: Any) -> First:
    """By three counts over items in any order, of a layout `axis`."""
    return around(keys, exists, stop, best_key(keys, stop, axis), axis)


def around(
    keys: jax.Array, exists: jax.Array, stop: jax.Array, key: jax.Array, axis: Any
) -> First:
    """The tie group of a key `[*lists]`."""
    key = axis.broadcast_to_items(key)
    tied = exists & (keys == key)
    counted = (exists & (keys > key), tied, tied & stop)
    return First(*map(axis.sum, counted))


def best_key(keys: jax.Array, stop: jax.Array, axis: Any) -> jax.Array:
    """The largest key of those that stop, `[*lists]`."""
    return axis.max(jnp.where(stop, keys, jnp.iinfo(keys.dtype).min))


def by_places(above: jax.Array, tied: jax.Array, stop: jax.Array) -> First:
    """From places that are known, int32 `[*lists, items]`."""
    most = jnp.iinfo(jnp.int32).max
    best = jnp.min(jnp.where(stop, above, most), axis=-1, initial=most)
    here = stop & (above == best[..., None])
    size = jnp.max(jnp.where(here, tied, 0), axis=-1, initial=0)
    stops = _arithmetic.count(here)
    return First(jnp.where(stops > 0, best, 0), size, stops)


def alone(above: jax.Array, some: jax.Array) -> First:
    """A first item whose rank is known, where there is `some`."""
    one = some.astype(jnp.int32)
    return First(jnp.where(some, above, 0), one, one)


# How many ranks of a group to look at in one step.
_STEP = 64


def expected(
    first: First, position_fn: PositionFn, ks: Sequence[Cut], dtype: Any
) -> tuple[jax.Array, jax.Array]:
    """The mean of `position_fn` at the first stop, 0 beyond k, and the chance of none.

    Each `[*lists, len(ks)]`. With r of n tied items that stop, the chance that the user
    passes the first j of them is ∏ (n − r − i)/(n − i) over i < j. Its logarithm is
    carried from step to step in two floats, so that it does not drift.
    """
    above, tied, stops = first
    chances = [jnp.ones(above.shape, dtype) for _ in ks]
    if not ks:
        return jnp.stack(chances, -1), jnp.stack(chances, -1)
    steps = jnp.arange(_STEP, dtype=jnp.int32).reshape((1,) * above.ndim + (_STEP,))
    # The first stop is at the latest after all that do not.
    longest = jnp.max(jnp.where(stops > 0, tied - stops + 1, 0), initial=0)
    above, tied, stops = (x[..., None] for x in first)
    triangle = jnp.triu(jnp.ones((_STEP, _STEP), dtype), 1)
    cuts = [k[..., None] if isinstance(k, jax.Array) else k for k in ks]

    def add(state: Any) -> Any:
        done, (high, low), sums, least = state
        offset = done + steps
        left = jnp.maximum(tied - offset, 1).astype(dtype)
        here = (offset < tied) & (stops > 0)
        hazard = jnp.where(here, jnp.minimum(stops.astype(dtype) / left, 1), 0)
        # A sure stop: e^-200 is 0.
        passes = jnp.maximum(jnp.log1p(-jnp.minimum(hazard, 0.999999)), -20.0)
        passes = jnp.where(hazard < 1, passes, -200.0)
        before = _arithmetic.dot(passes, triangle)
        passed = jnp.exp(jnp.minimum(high + (low + before), 0))
        after = jnp.exp(jnp.minimum(high + (low + before + passes), 0))
        rank = (above + offset + 1).astype(dtype)
        found, missed = [], []
        for k, total, less in zip(cuts, sums, least, strict=True):
            terms = passed * hazard * at_ranks(position_fn, rank, k)
            within = here & (at_ranks(jnp.ones_like, rank, k) > 0)
            found.append(total + jnp.sum(terms, axis=-1))
            rest = jnp.min(jnp.where(within, after, 1), axis=-1)
            missed.append(jnp.minimum(less, rest))
        more = jnp.sum(passes, axis=-1, keepdims=True)
        new = high + more
        error = (high - (new - (new - high))) + (more - (new - high))
        return done + _STEP, (new, low + error), found, missed

    # Typed as varying as what ends the loop.
    zeros = (first.above - first.above).astype(dtype)
    column = zeros[..., None]
    state = (
        jnp.zeros_like(longest),
        (column, column),
        [zeros] * len(ks),
        [zeros + 1] * len(ks),
    )
    _, _, sums, least = lax.while_loop(lambda state: state[0] < longest, add, state)
    return jnp.stack(sums, axis=-1), jnp.stack(least, axis=-1)


def definite(
    first: First, position_fn: PositionFn, ks: Sequence[Cut], dtype: Any
) -> tuple[jax.Array, jax.Array]:
    """`expected` where the first stop has one rank."""
    found, missed = [], []
    rank = (first.above + 1).astype(dtype)
    for k in ks:
        some = first.stops > 0
        values = at_ranks(position_fn, rank, k)
        found.append(jnp.where(some, values, jnp.zeros_like(values)))
        within = some if k is None else some & (rank <= jnp.asarray(k, dtype))
        missed.append(1 - within.astype(dtype))
    return jnp.stack(found, axis=-1), jnp.stack(missed, axis=-1)


def by_chance(
    stop: jax.Array,
    exists: jax.Array,
    above: jax.Array | None,
    position_fn: PositionFn,
    ks: Sequence[Cut],
    axis: Any,
) -> tuple[jax.Array, jax.Array]:
    """What `expected` gives where items in order stop a user by chance.

    Args:
        stop: `[*lists, items]`, the chance that a user who comes to an item stops.
        exists: Bool.
        above: int32, how many items come before each; None where items follow each other.
        position_fn: What a stop at rank 1, 2, … is worth.
        ks: Cutoffs.
        axis: How the items lie.
    """
    # The chance to pass all so far, by logarithms; that of a sure stop: e^-200 is 0.
    logs = jnp.log1p(-jnp.minimum(stop, 1 - jnp.finfo(stop.dtype).epsneg))
    logs = jnp.where(stop < 1, logs, -200)
    passed = axis.cumulative_sum(logs)
    here = jnp.exp(passed - logs) * stop
    passed = jnp.exp(passed)
    rank = (axis.offset_in_list(exists) if above is None else above).astype(
        stop.dtype
    ) + 1
    found, missed = [], []
    for k in ks:
        k = axis.broadcast_to_items(k) if isinstance(k, jax.Array) else k
        found.append(axis.sum(here * at_ranks(position_fn, rank, k)))
        within = exists & (at_ranks(jnp.ones_like, rank, k) > 0)
        missed.append(1 - axis.max(jnp.where(within, 1 - passed, 0)))
    return jnp.stack(found, axis=-1), jnp.stack(missed, axis=-1)
