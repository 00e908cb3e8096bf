"""The first item that stops a user who reads down the list."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._layouts.base import PoolLayout, RankedLayout
from jax_rank_metrics._places.place import at_ranks
from jax_rank_metrics._types import Cut, PositionFn


class FirstStop(NamedTuple):
    """The tie group of the best item that stops, `[*lists]` int32 each."""

    above: jax.Array
    tied: jax.Array
    stops: (
        jax.Array
    )  # how many of the `tied` items stop; 0 where no item of the list does


def from_keys(
    keys: jax.Array, exists: jax.Array, stop: jax.Array, layout: PoolLayout
) -> FirstStop:
    """Finds the first stop by three counts over items in any order.

    Args:
        keys: `[*lists, items]`, integers that compare as scores rank.
        exists: Bool.
        stop: Bool, which items stop.
        layout: How the items lie.
    """
    return group_of_key(keys, exists, stop, best_key(keys, stop, layout), layout)


def group_of_key(
    keys: jax.Array,
    exists: jax.Array,
    stop: jax.Array,
    key: jax.Array,
    layout: PoolLayout,
) -> FirstStop:
    """The tie group of a key `[*lists]`; see `from_keys`."""
    key = layout.broadcast_to_items(key)
    is_tied = exists & (keys == key)
    counted = (exists & (keys > key), is_tied, is_tied & stop)
    return FirstStop(*map(layout.sum, counted))


def best_key(keys: jax.Array, stop: jax.Array, layout: PoolLayout) -> jax.Array:
    """The largest key of the items that stop, `[*lists]`."""
    return layout.max(jnp.where(stop, keys, jnp.iinfo(keys.dtype).min))


def from_places(above: jax.Array, tied: jax.Array, stop: jax.Array) -> FirstStop:
    """The first stop of items whose places are known, `[*lists, items]` int32."""
    beyond_all = jnp.iinfo(jnp.int32).max
    best = jnp.min(jnp.where(stop, above, beyond_all), axis=-1, initial=beyond_all)
    is_best = stop & (above == best[..., None])
    size = jnp.max(jnp.where(is_best, tied, 0), axis=-1, initial=0)
    stops = _arithmetic.count(is_best)
    return FirstStop(jnp.where(stops > 0, best, 0), size, stops)


def at_known_rank(above: jax.Array, is_found: jax.Array) -> FirstStop:
    """A first stop that ties with nothing; lists where `is_found` is false have none."""
    count = is_found.astype(jnp.int32)
    return FirstStop(jnp.where(is_found, above, 0), count, count)


# The number of ranks of a group that one step of the loop looks at.
_STEP = 64


def expected(
    first: FirstStop, position_fn: PositionFn, ks: Sequence[Cut], dtype: DTypeLike
) -> tuple[jax.Array, jax.Array]:
    """The mean of `position_fn` at the first stop, 0 beyond k, and the chance of none.

    Each `[*lists, len(ks)]`. Where r of n tied items stop, the user passes the first j of
    them with probability ∏ (n − r − i)/(n − i) over i < j. The logarithm of that product
    is carried from step to step as a float pair, so that it does not drift.

    With n = 3 and r = 1 below two items, the first stop is at rank 3, 4 or 5 with
    probability 1/3 each.
    """
    above, tied, stops = first
    steps = jnp.arange(_STEP, dtype=jnp.int32).reshape((1,) * above.ndim + (_STEP,))
    # At the latest, the first stop follows all items of the group that do not stop.
    longest = jnp.max(jnp.where(stops > 0, tied - stops + 1, 0), initial=0)
    above, tied, stops = (x[..., None] for x in first)
    triangle = jnp.triu(jnp.ones((_STEP, _STEP), dtype), 1)
    cutoffs = [k[..., None] if isinstance(k, jax.Array) else k for k in ks]

    def add_step(state):
        start, (high, low), sums, chances = state
        # [*lists, _STEP]: the ranks of the group that this step looks at.
        offset = start + steps
        remaining = jnp.maximum(tied - offset, 1).astype(dtype)
        in_group = (offset < tied) & (stops > 0)
        hazard = jnp.where(in_group, jnp.minimum(stops.astype(dtype) / remaining, 1), 0)
        # The logarithm of a certain stop is −∞; e^−200 is 0 as well, and adds up.
        log_pass = jnp.maximum(jnp.log1p(-jnp.minimum(hazard, 0.999999)), -20.0)
        log_pass = jnp.where(hazard < 1, log_pass, -200.0)
        log_passed = _arithmetic.dot(log_pass, triangle)
        passed = jnp.exp(jnp.minimum(high + (low + log_passed), 0))
        passed_also = jnp.exp(jnp.minimum(high + (low + log_passed + log_pass), 0))
        rank = (above + offset + 1).astype(dtype)
        new_sums, new_chances = [], []
        for k, total, chance in zip(cutoffs, sums, chances, strict=True):
            terms = passed * hazard * at_ranks(position_fn, rank, k)
            new_sums.append(total + jnp.sum(terms, axis=-1))
            # The chance of no stop by k is that of passing the last rank within it.
            within = in_group & (at_ranks(jnp.ones_like, rank, k) > 0)
            step_chance = jnp.min(jnp.where(within, passed_also, 1), axis=-1)
            new_chances.append(jnp.minimum(chance, step_chance))
        # Two-sum: `error` is what rounding took from `high`.
        addend = jnp.sum(log_pass, axis=-1, keepdims=True)
        new = high + addend
        error = (high - (new - (new - high))) + (addend - (new - high))
        return start + _STEP, (new, low + error), new_sums, new_chances

    # The carry must vary over the same mesh axes as the sums (inside shard_map).
    zeros = _mesh.match_varying(jnp.zeros(first.above.shape, dtype), first)
    column = zeros[..., None]
    state = (
        jnp.zeros_like(longest),
        (column, column),
        [zeros] * len(ks),
        [zeros + 1] * len(ks),
    )
    _, _, sums, chances = lax.while_loop(
        lambda state: state[0] < longest, add_step, state
    )
    return jnp.stack(sums, axis=-1), jnp.stack(chances, axis=-1)


def definite(
    first: FirstStop, position_fn: PositionFn, ks: Sequence[Cut], dtype: DTypeLike
) -> tuple[jax.Array, jax.Array]:
    """`expected` where the first stop has one rank."""
    sums, chances = [], []
    rank = (first.above + 1).astype(dtype)
    is_found = first.stops > 0
    for k in ks:
        values = at_ranks(position_fn, rank, k)
        sums.append(jnp.where(is_found, values, jnp.zeros_like(values)))
        within = is_found
        if k is not None:
            within = is_found & (rank <= jnp.asarray(k, dtype))
        chances.append(1 - within.astype(dtype))
    return jnp.stack(sums, axis=-1), jnp.stack(chances, axis=-1)


def cascade(
    stop: jax.Array,
    exists: jax.Array,
    above: jax.Array | None,
    position_fn: PositionFn,
    ks: Sequence[Cut],
    layout: RankedLayout,
) -> tuple[jax.Array, jax.Array]:
    """`expected` where items in one definite order each stop a user by chance.

    Args:
        stop: `[*lists, items]`, the probability that a user who reads an item stops.
        exists: Bool.
        above: int32, the number of items before each; None where ranks have no gaps.
        position_fn: What a stop at rank 1, 2, … is worth.
        ks: Cutoffs.
        layout: How the items lie.
    """
    # Logarithms of passing each item; that of a certain stop is −200, and e^−200 is 0.
    log_pass = jnp.log1p(-jnp.minimum(stop, 1 - jnp.finfo(stop.dtype).epsneg))
    log_pass = jnp.where(stop < 1, log_pass, -200)
    log_passed = layout.cumulative_sum(log_pass)
    stops_at = jnp.exp(log_passed - log_pass) * stop
    passed = jnp.exp(log_passed)
    offset = layout.offset_in_list(exists) if above is None else above
    rank = offset.astype(stop.dtype) + 1
    sums, chances = [], []
    for k in ks:
        k = layout.broadcast_to_items(k) if isinstance(k, jax.Array) else k
        sums.append(layout.sum(stops_at * at_ranks(position_fn, rank, k)))
        within = exists & (at_ranks(jnp.ones_like, rank, k) > 0)
        chances.append(1 - layout.max(jnp.where(within, 1 - passed, 0)))
    return jnp.stack(sums, axis=-1), jnp.stack(chances, axis=-1)
