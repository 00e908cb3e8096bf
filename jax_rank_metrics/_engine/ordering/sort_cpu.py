"""Sorts on CPU: one operand of 64 bits, several times as fast as several operands."""

import itertools
import os
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.ordering.policies import HASH_BITS
from jax_rank_metrics._ground import arithmetic, meshes

# From this many items on, a sort is split into chunks that cores share. There are more
# chunks than cores, because XLA does not distribute chunks evenly; but there are at most
# `_MAX_CHUNKS`, because each chunk is one more sort to compile.
CHUNKED_FROM = 2**18
_MAX_CHUNKS = 16

# A key of 32 bits and a hash leave this many of 64 bits for an index.
_INDEX_BITS = 32 - HASH_BITS


def order(
    keys: Sequence[jax.Array], last_is_hash: bool = False
) -> tuple[jax.Array, jax.Array]:
    """Sorts int32 keys `[*lists, items]`, ascending and stable.

    Packs a key and an index into one int64, and sorts by one key after the other, the
    least significant first. If lists are short, a key, a hash and an index fit into one
    int64, so one sort is enough.

    Returns:
        The first key in sorted order, and the indices from which items came.
    """
    iota = lax.broadcasted_iota(jnp.int32, keys[0].shape, keys[0].ndim - 1)
    first, size = keys[0], keys[0].shape[-1]
    is_short = isinstance(size, int) and 0 < size <= 2**_INDEX_BITS
    if last_is_hash and len(keys) == 2 and is_short:
        with jax.enable_x64(True):
            key, hashes = (array.astype(jnp.int64) for array in keys)
            hashes = hashes & (2**HASH_BITS - 1)  # complements are negative
            low = (hashes << _INDEX_BITS) | iota.astype(jnp.int64)
            packed = sort_in_chunks((key << 32) | low, keys)
            indices = (packed & (2**_INDEX_BITS - 1)).astype(jnp.int32)
            return (packed >> 32).astype(jnp.int32), indices
    indices = iota
    for key in reversed(keys):
        key = key if indices is iota else arithmetic.take(key, indices)
        with jax.enable_x64(True):
            packed = (key.astype(jnp.int64) << 32) | iota.astype(jnp.int64)
            packed = sort_in_chunks(packed, keys)
            moved = packed.astype(jnp.int32)
            first = (packed >> 32).astype(jnp.int32)
        indices = moved if indices is iota else arithmetic.take(indices, moved)
    return first, indices


def _num_cores() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def sort_in_chunks(x: jax.Array, sources: Sequence[jax.Array]) -> jax.Array:
    """Sorts lists in chunks, two for each core: XLA:CPU runs one sort on one core.

    Args:
        x: `[*lists, items]`.
        sources: The arrays from which `x` was computed. Their types tell if `x` is
            device-local; reshaping a sharded array would move its data between devices.
    """
    is_static = all(isinstance(size, int) for size in x.shape)
    if (
        not is_static
        or x.size < CHUNKED_FROM
        or not all(map(meshes.is_device_local, sources))
    ):
        return lax.sort(x)
    rows = x.reshape(-1, x.shape[-1])
    chunks = min(_MAX_CHUNKS, 2 * _num_cores(), rows.shape[0])
    ends = [rows.shape[0] * chunk // chunks for chunk in range(chunks + 1)]
    ranked = [lax.sort(rows[start:end]) for start, end in itertools.pairwise(ends)]
    return jnp.concatenate(ranked).reshape(x.shape)
