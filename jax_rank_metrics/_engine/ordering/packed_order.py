"""The order of flat arrays that hold lists one after the other."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.ordering.keys import descending_bits, floats_of_bits
from jax_rank_metrics._engine.ordering.sort import sort_by
from jax_rank_metrics._ground import meshes


def index_in_list(segment_ids: jax.Array) -> jax.Array:
    """Returns the index of every item in its own list, in the order of the arrays."""
    iota = lax.iota(jnp.int32, segment_ids.shape[0])
    segment_ids, indices = lax.sort((segment_ids, iota), num_keys=2, is_stable=False)
    changes = segment_ids[1:] != segment_ids[:-1]
    starts_list = jnp.concatenate([jnp.ones((1,), bool), changes])
    start = lax.cummax(jnp.where(starts_list, iota, 0))
    return lax.sort((indices, iota - start), num_keys=1, is_stable=False)[1]


def largest_packed(
    x: jax.Array, exists: jax.Array, segment_ids: jax.Array
) -> jax.Array:
    """Sorts non-negative floats `[items]`, descending per list; missing items give 0."""
    return _descending(jnp.where(exists, x, -1), segment_ids)


@jax.custom_jvp
def _descending(x: jax.Array, segment_ids: jax.Array) -> jax.Array:
    bits = descending_bits(x)

    def by_two_operands(segment_ids: jax.Array, bits: jax.Array) -> jax.Array:
        # Equal pairs are interchangeable, and a stable sort would carry indices as well.
        return lax.sort((segment_ids, bits), num_keys=2, is_stable=False)[1]

    if bits.dtype != jnp.int32:
        values = floats_of_bits(by_two_operands(segment_ids, bits), x.dtype)
        return jnp.maximum(values, 0)
    ranked = lax.platform_dependent(
        segment_ids, bits, cpu=_by_one_operand, default=by_two_operands
    )
    return jnp.maximum(floats_of_bits(ranked, x.dtype), 0)


@_descending.defjvp
def _descending_jvp(
    primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    # Differentiate a sort of floats, because their bits have no derivatives.
    def by_sort(x: jax.Array) -> jax.Array:
        values = -lax.sort((primals[1], -x), num_keys=2)[1]
        return jnp.where(values < 0, 0, values)

    return jax.jvp(by_sort, primals[:1], tangents[:1])


def _by_one_operand(first: jax.Array, second: jax.Array) -> jax.Array:
    """Sorts pairs of int32, packed into one int64 each; returns their second halves."""
    with jax.enable_x64(True):
        packed = (first.astype(jnp.int64) << 32) | _to_unsigned(second)
        return _from_unsigned(lax.sort(packed))


def order_by(
    segment_ids: jax.Array, keys: Sequence[jax.Array], starts: jax.Array
) -> jax.Array:
    """Returns indices in ascending order of segment ids, and descending order of keys."""
    if len(keys) != 1 or keys[0].dtype != jnp.int32:
        return _by_each_key(segment_ids, *keys)
    by_one_sort = _one_sort_on_cpu(starts)
    if by_one_sort is None:
        return _by_each_key(segment_ids, *keys)
    return lax.platform_dependent(
        segment_ids, *keys, cpu=by_one_sort, default=_by_each_key
    )


def _by_each_key(segment_ids: jax.Array, *keys: jax.Array) -> jax.Array:
    return sort_by([~segment_ids, *keys])[1]


def _one_sort_on_cpu(
    starts: jax.Array,
) -> Callable[[jax.Array, jax.Array], jax.Array] | None:
    """Returns a sort by segment ids and one key; None if no bits are left for indices.

    Segment ids mostly ascend already. If they do and no list is too long, a segment id, a
    key and an index in the list fit into one int64. This sort is quick, because the lists
    are in order.
    """
    bits = 31 - starts.shape[0].bit_length()  # bits left for an index in a list
    if bits <= 0:
        return None

    def offset_in_list(segment_ids: jax.Array) -> jax.Array:
        iota = lax.iota(jnp.int32, segment_ids.shape[0])
        return iota - jnp.take(starts, segment_ids, mode="clip")

    def by_one_operand(segment_ids: jax.Array, key: jax.Array) -> jax.Array:
        start = jnp.take(starts, segment_ids, mode="clip")
        with jax.enable_x64(True):
            index = offset_in_list(segment_ids).astype(jnp.int64)
            packed = (segment_ids.astype(jnp.int64) << 32) | _to_unsigned(~key)
            packed = lax.sort((packed << bits) | index)
            index = (packed & ((1 << bits) - 1)).astype(jnp.int32)
        return start + index

    def sort(segment_ids: jax.Array, key: jax.Array) -> jax.Array:
        index = offset_in_list(segment_ids)
        does_not_fit = meshes.unvmap_any(
            (index < 0) | (index >> bits > 0), segment_ids[1:] < segment_ids[:-1]
        )
        return lax.cond(does_not_fit, _by_each_key, by_one_operand, segment_ids, key)

    return sort


def _to_unsigned(key: jax.Array) -> jax.Array:
    """Returns int32 as int64 from 0 on, in the same order."""
    return key.astype(jnp.int64) - jnp.iinfo(jnp.int32).min


def _from_unsigned(packed: jax.Array) -> jax.Array:
    """Returns the int32 whose `_to_unsigned` is the lower half of `packed`."""
    return ((packed & 0xFFFFFFFF) + jnp.iinfo(jnp.int32).min).astype(jnp.int32)
