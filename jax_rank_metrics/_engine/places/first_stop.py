"""The first item that stops a user who reads down the list."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.places.place import (
    FEW_RANKS,
    at_ranks,
    is_within,
    sum_of_many,
)
from jax_rank_metrics._ground import arithmetic, meshes, pytrees
from jax_rank_metrics._ground.types import Cut, PositionFn


@pytrees.pytree("max_rank")
class FirstStop:
    """The tie group of the first item that stops, `[*lists]` each, int32 or floats.

    If no item of a list stops, `stops` is 0, and `above` and `tied` mean nothing.
    """

    above: jax.Array  # how many items rank strictly before the group
    tied: jax.Array  # how many items the group holds
    stops: jax.Array  # how many items of the group stop the user
    # If at most one item of each list can stop the user: the largest rank of this item,
    # static.
    max_rank: int | None = None

    @property
    def counts(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        """The three arrays."""
        return self.above, self.tied, self.stops


def from_keys(
    keys: jax.Array,
    exists: jax.Array,
    stop: jax.Array,
    layout: base.PoolLayout,
    dtype: DTypeLike,
) -> FirstStop:
    """Finds the first stop by counting, for items in any order.

    With the keys 5 9 7 7 3 and stops at the third and fifth item, the best key that stops
    is 7: `above` is 1, `tied` is 2 and `stops` is 1.

    Args:
        keys: `[*lists, items]`, integers that compare as scores rank.
        exists: `[*lists, items]` bool.
        stop: `[*lists, items]` bool, true for items that stop; false where no item exists.
        layout: The layout of the items.
        dtype: The float dtype of the counts.
    """
    key = best_key(keys, stop, layout)
    return group_of_key(keys, exists, stop, key, layout, dtype)


def group_of_key(
    keys: jax.Array,
    exists: jax.Array,
    stop: jax.Array,
    key: jax.Array,
    layout: base.PoolLayout,
    dtype: DTypeLike,
) -> FirstStop:
    """Returns the tie group of each list's `key`, `[*lists]`; see `from_keys`."""
    key = layout.broadcast_to_items(key)
    is_tied = exists & (keys == key)
    above, tied, stops = (
        layout.amount(is_counted, dtype)
        for is_counted in (exists & (keys > key), is_tied, is_tied & stop)
    )
    return FirstStop(above, tied, stops)


def best_key(keys: jax.Array, stop: jax.Array, layout: base.PoolLayout) -> jax.Array:
    """Returns the largest key of the items that stop, `[*lists]`.

    If no item of a list stops, its key is the minimum of the dtype.
    """
    return layout.max(jnp.where(stop, keys, jnp.iinfo(keys.dtype).min))


def from_places(
    above: jax.Array, tied: jax.Array, stop: jax.Array, max_rank: int
) -> FirstStop:
    """Finds the first stop of items whose places are known.

    Args:
        above: `[*lists, items]` int32, as in `Place`.
        tied: `[*lists, items]` int32, as in `Place`.
        stop: `[*lists, items]` bool, true for items that stop.
        max_rank: The largest rank there can be.
    """
    if stop.shape[-1] == 1:
        stops = stop.astype(jnp.int32)
        above, tied, stops = (jnp.squeeze(array, -1) for array in (above, tied, stops))
        return FirstStop(above, tied, stops, max_rank)
    no_stop = jnp.iinfo(jnp.int32).max
    min_above = jnp.min(jnp.where(stop, above, no_stop), axis=-1, initial=no_stop)
    is_first = stop & (above == min_above[..., None])
    group_size = jnp.max(jnp.where(is_first, tied, 0), axis=-1, initial=0)
    stops = arithmetic.count(is_first)
    return FirstStop(jnp.where(stops > 0, min_above, 0), group_size, stops)


def at_known_rank(above: jax.Array, has_stop: jax.Array) -> FirstStop:
    """Returns first stops at the rank above + 1, without ties.

    Args:
        above: `[*lists]`, the number of items before the stop.
        has_stop: `[*lists]` bool, true if any item of the list stops.
    """
    count = has_stop.astype(above.dtype)
    return FirstStop(jnp.where(has_stop, above, 0), count, count)


# Up to this cutoff, all ranks are computed at once; beyond it, one after the other.
_FEW = 64


def expected(
    first: FirstStop, position_fn: PositionFn, ks: Sequence[Cut], dtype: DTypeLike
) -> tuple[jax.Array, jax.Array]:
    """Averages `position_fn` at the first stop over all orders of its tie group.

    If r of n tied items stop, the user passes the first j tied items with probability
    ∏ (n − r − i)/(n − i) over i < j.

    With n = 3 and r = 1 below two items, the first stop is at rank 3, 4 or 5 with
    probability 1/3 each.

    Returns:
        The mean, with 0 for a stop beyond k and for no stop; and the probability that
        nothing stops the user at the ranks up to k. Both are `[*lists, len(ks)]`.
    """
    if first.max_rank is not None:
        return _expected_of_one(first, position_fn, ks, first.max_rank, dtype)
    max_rank = max((k if isinstance(k, int) else _FEW + 1 for k in ks), default=1)
    if max_rank <= FEW_RANKS:
        return _expected_rank_by_rank(first, position_fn, ks, dtype, max_rank)
    if max_rank <= _FEW:
        return _expected_to_few(first, position_fn, ks, dtype, max_rank)
    return _expected_by_ranks(first, position_fn, ks, dtype)


def _expected_of_one(
    first: FirstStop,
    position_fn: PositionFn,
    ks: Sequence[Cut],
    max_rank: int,
    dtype: DTypeLike,
) -> tuple[jax.Array, jax.Array]:
    """Computes `expected` if one item stops, which may have any rank of its place."""
    above, tied, stops = first.counts
    place_sum = sum_of_many(above, tied, max_rank, dtype)
    # If no item stops, `tied` may be 0.
    chance = stops.astype(dtype) / jnp.maximum(tied, 1).astype(dtype)
    sums, chances = [], []
    for k in ks:
        within = tied if k is None else jnp.clip(k - above, 0, tied)
        sums.append(place_sum(position_fn, k) * chance)
        chances.append(1 - within.astype(dtype) * chance)
    return jnp.stack(sums, axis=-1), jnp.stack(chances, axis=-1)


def _expected_rank_by_rank(
    first: FirstStop,
    position_fn: PositionFn,
    ks: Sequence[Cut],
    dtype: DTypeLike,
    max_rank: int,
) -> tuple[jax.Array, jax.Array]:
    """Computes `expected` as `_expected_to_few` does, with every rank written out.

    An accelerator runs this as one kernel; a product in steps takes one kernel a step.
    """
    above, tied, stops = (count.astype(dtype) for count in first.counts)
    passing = jnp.ones_like(above)
    sums, chances = [jnp.zeros_like(above)] * len(ks), [passing] * len(ks)
    for offset in range(max_rank):
        remaining, rank = jnp.maximum(tied - offset, 1), above + (offset + 1)
        stopping = jnp.where(offset < tied, jnp.minimum(stops, remaining), 0)
        hazard = stopping / remaining
        at_rank = passing * hazard
        passing = passing * ((remaining - stopping) / remaining)
        sums = [
            total + at_rank * at_ranks(position_fn, rank, k)
            for k, total in zip(ks, sums, strict=True)
        ]
        chances = [
            jnp.where(is_within(rank, k), passing, chance)
            for k, chance in zip(ks, chances, strict=True)
        ]
    return jnp.stack(sums, axis=-1), jnp.stack(chances, axis=-1)


def _expected_to_few(
    first: FirstStop,
    position_fn: PositionFn,
    ks: Sequence[Cut],
    dtype: DTypeLike,
    max_rank: int,
) -> tuple[jax.Array, jax.Array]:
    """Computes `expected` for cutoffs up to `max_rank`, from that many ranks at once."""
    above, tied, stops = (count[..., None].astype(dtype) for count in first.counts)
    offset = jnp.arange(max_rank, dtype=dtype).reshape((1,) * first.above.ndim + (-1,))
    remaining = jnp.maximum(tied - offset, 1)
    stopping = jnp.where(offset < tied, jnp.minimum(stops, remaining), 0)
    hazard, passing = stopping / remaining, (remaining - stopping) / remaining
    # The product up to each rank, in steps that double its length.
    passed_through, length = passing, 1
    while length < max_rank:
        previous = arithmetic.shifted(passed_through, length, edge=1)
        passed_through, length = passed_through * previous, 2 * length
    passed = arithmetic.shifted(passed_through, 1, edge=1)
    rank = above + offset + 1
    sums, chances = [], []
    for k in ks:
        sums.append(jnp.sum(passed * hazard * at_ranks(position_fn, rank, k), axis=-1))
        within = jnp.where(is_within(rank, k), passed_through, 1)
        chances.append(jnp.min(within, axis=-1))
    return jnp.stack(sums, axis=-1), jnp.stack(chances, axis=-1)


def _expected_by_ranks(
    first: FirstStop, position_fn: PositionFn, ks: Sequence[Cut], dtype: DTypeLike
) -> tuple[jax.Array, jax.Array]:
    """Computes `expected` for any cutoffs, rank after rank.

    The chance to read on is carried as a float pair, and the chance to stop at each rank is
    subtracted from it, so that it does not drift. The sums are float pairs too.
    """
    above, tied, stops = (count.astype(dtype) for count in first.counts)
    finite = [k for k in ks if k is not None]

    def add_rank(offset: jax.Array, state: _Reader) -> _Reader:
        remaining = jnp.maximum(jnp.maximum(tied - offset, stops), 1)
        hazard, rank = stops / remaining, above + (offset + 1)
        stopping = sum(state.passing) * hazard
        sums = [
            arithmetic.plus(total, stopping * at_ranks(position_fn, rank, k))
            for k, total in zip(ks, state.sums, strict=True)
        ]
        # After a certain stop, the chance to read on is exactly 0, without rounding.
        passing = arithmetic.plus(state.passing, -stopping)
        high, low = (jnp.where(hazard < 1, part, 0) for part in passing)
        chances = [
            jnp.where(is_within(rank, k), high + low, chance)
            for k, chance in zip(finite, state.chances, strict=True)
        ]
        return _Reader((high, low), sums, chances)

    # The carry must vary over the same mesh axes as the sums (inside shard_map).
    zeros = meshes.match_varying(jnp.zeros(above.shape, dtype), first.counts)
    reader = _Reader(
        (zeros + 1, zeros), [(zeros, zeros)] * len(ks), [zeros + 1] * len(finite)
    )
    # At the latest, the first stop follows all items of the group that do not stop.
    num_ranks = jnp.where(first.stops > 0, first.tied - first.stops + 1, 0)
    # Convert to integers, because XLA:CPU does not vectorise a maximum of floats.
    num_ranks = jnp.max(num_ranks.astype(jnp.int32), initial=0)
    limits = [k for k in ks if isinstance(k, int)]
    if len(limits) == len(ks):
        num_ranks = jnp.minimum(num_ranks, max(limits))

    def add_two(state: tuple[jax.Array, _Reader]) -> tuple[jax.Array, _Reader]:
        offset, reader = state
        for number in range(2):
            reader = add_rank((offset + number).astype(dtype), reader)
        return offset + 2, reader

    start = (jnp.zeros_like(num_ranks), reader)
    reader = lax.while_loop(lambda state: state[0] < num_ranks, add_two, start)[1]
    # A user who reads the whole list meets a stop if there is one.
    never = jnp.where(first.stops > 0, zeros, 1)
    chance = iter(reader.chances)
    chances = [never if k is None else next(chance) for k in ks]
    sums = [sum(total) for total in reader.sums]
    return jnp.stack(sums, axis=-1), jnp.stack(chances, axis=-1)


class _Reader(NamedTuple):
    """A user who has read the ranks so far, `[*lists]` each."""

    passing: arithmetic.Pair  # the chance to read on
    sums: list[arithmetic.Pair]  # of position_fn at the first stop, up to each k
    chances: list[jax.Array]  # of no stop up to each k that is not None


def at_mean_rank(
    first: FirstStop, position_fn: PositionFn, ks: Sequence[Cut], dtype: DTypeLike
) -> tuple[jax.Array, jax.Array]:
    """Returns `position_fn` at the mean rank of the tie group of the first stop.

    If the stop has one rank, as in a definite order, `expected` has the same results. For a
    group at the ranks 3 and 4, the mean rank is 3.5, which a cutoff at 3 leaves out.

    Returns:
        The value, which is 0 if the rank is beyond k or no item stops; and the probability
        of no stop, which is 1 in these cases and else 0. Both are `[*lists, len(ks)]`.
    """
    sums, chances = [], []
    # Add whole numbers first, which is exact, and halve their sum.
    rank = (2 * first.above + first.tied + 1).astype(dtype) / 2
    has_stop = first.stops > 0
    for k in ks:
        values = at_ranks(position_fn, rank, k)
        sums.append(jnp.where(has_stop, values, jnp.zeros_like(values)))
        chances.append(1 - (has_stop & is_within(rank, k)).astype(dtype))
    return jnp.stack(sums, axis=-1), jnp.stack(chances, axis=-1)
