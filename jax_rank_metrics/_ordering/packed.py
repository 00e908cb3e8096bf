"""The order of flat arrays that hold lists one after the other."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering import keys as _keys
from jax_rank_metrics._ordering.candidates import Candidates, Given, Policy
from jax_rank_metrics._ordering.ideal import falling, risen
from jax_rank_metrics._ordering.sort import sort_by


def order_packed(
    given: Given, ids: jax.Array, starts: jax.Array, policy: Policy
) -> tuple[Candidates, jax.Array, jax.Array]:
    """Every item of flat arrays, list after list and each in rank order.

    Args:
        given: `[items]`.
        ids: `[items]` int32, the list of every item; the number of lists where none.
        starts: `[lists + 1]` int32, where each begins once ids are in order.
        policy: How to compare the items of a list.

    Returns:
        The items, the places they came from, and the ids in their order.
    """
    every = given.read()
    if policy.ties is None:  # a hash of where an item stands in its list
        hashed = every._replace(ids=_place_in_list(ids)).breaks(policy)
        breaks = list(hashed)
    else:
        breaks = list(every.breaks(policy))
    levels = [every.keys, *breaks]
    if _keys.shares_least_key(policy.dtype):
        levels.insert(1, every.items.exists.astype(jnp.int32))
    places = order_by(ids, levels, starts)
    return every.at(places), places, _arithmetic.take(ids, places)


def largest_packed(x: jax.Array, exists: jax.Array, ids: jax.Array) -> jax.Array:
    """Non-negative floats `[items]` in falling order within each list of `ids`."""
    bits = falling(jnp.where(exists, x, -1))
    if bits.dtype != jnp.int32:
        return risen(lax.sort((ids, bits), num_keys=2)[1], x.dtype)
    ranked = lax.platform_dependent(
        ids,
        bits,
        cpu=_sort_pair,
        default=lambda ids, bits: lax.sort((ids, bits), num_keys=2)[1],
    )
    return risen(ranked, x.dtype)


def _sort_pair(first: jax.Array, second: jax.Array) -> jax.Array:
    """The second of two keys, in the order of both."""
    with jax.enable_x64(True):
        wide = (first.astype(jnp.int64) << 32) | _unsigned(second)
        return _signed(lax.sort(wide))


def order_by(ids: jax.Array, levels: list[jax.Array], starts: jax.Array) -> jax.Array:
    """Places in rising order of ids and falling order of levels."""

    def one_by_one(ids: jax.Array, *levels: jax.Array) -> jax.Array:
        return sort_by([~ids, *levels])[1]

    if len(levels) > 1 or levels[0].dtype != jnp.int32:
        return one_by_one(ids, *levels)
    in_order = _in_order(starts)
    if in_order is None:
        return one_by_one(ids, *levels)
    return lax.platform_dependent(ids, *levels, cpu=in_order, default=one_by_one)


def _in_order(starts: jax.Array) -> Any:
    """A sort on CPU by ids and one key.

    Where ids are in order as they come, as they mostly are, and no list is too long, all
    of it is one sort, and a quick one, since most of it has been done.
    """
    bits = 31 - starts.shape[0].bit_length()  # what is left for places
    if bits <= 0:
        return None

    def together(ids: jax.Array, key: jax.Array) -> jax.Array:
        start = jnp.take(starts, ids, mode="clip")
        with jax.enable_x64(True):
            place = lax.iota(jnp.int64, ids.shape[0]) - start.astype(jnp.int64)
            wide = (ids.astype(jnp.int64) << 32) | _unsigned(~key)
            wide = lax.sort((wide << bits) | place)
            place = (wide & ((1 << bits) - 1)).astype(jnp.int32)
        return start + place

    def sort(ids: jax.Array, key: jax.Array) -> jax.Array:
        place = lax.iota(jnp.int32, ids.shape[0]) - jnp.take(starts, ids, mode="clip")
        other = (place < 0) | (place >> bits > 0)
        other = _mesh.unvmap_any(other, ids[1:] < ids[:-1])
        by_each = lambda ids, key: sort_by([~ids, key])[1]  # noqa: E731
        return lax.cond(other, by_each, together, ids, key)

    return sort


def _unsigned(key: jax.Array) -> jax.Array:
    # The same order from 0 on, as 64 bits.
    return key.astype(jnp.int64) - jnp.iinfo(jnp.int32).min


def _signed(wide: jax.Array) -> jax.Array:
    # The key again, from the low half.
    return ((wide & 0xFFFFFFFF) + jnp.iinfo(jnp.int32).min).astype(jnp.int32)


def _place_in_list(ids: jax.Array) -> jax.Array:
    place = lax.iota(jnp.int32, ids.shape[0])
    ids, origin = lax.sort((ids, place), num_keys=2)
    first = jnp.concatenate([jnp.ones((1,), bool), ids[1:] != ids[:-1]])
    start = lax.cummax(jnp.where(first, place, 0))
    return lax.sort((origin, place - start), num_keys=1)[1]
