"""Sorts on CPU: one operand of 64 bits, several times as fast as several operands."""

import itertools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering.keys import BREAK_BITS

# From this many items on, a sort is worth sharing between cores. It is cut into more
# parts than there are cores, since XLA does not share them out evenly.
MANY = 2**18
_PARTS = 16

# What 64 bits leave for a place beside a key and a hash.
_PLACE_BITS = 32 - BREAK_BITS


def order(
    keys: Sequence[jax.Array], hashed: bool = False
) -> tuple[jax.Array, jax.Array]:
    """The order of int32 keys, rising, stable: the first key in it, and places.

    By one key after the other, the last first: a key and a place are one integer. A key,
    a hash and a place of a short list are one too.
    """
    places = along = lax.broadcasted_iota(jnp.int32, keys[0].shape, keys[0].ndim - 1)
    first, size = keys[0], keys[0].shape[-1]
    short = isinstance(size, int) and 0 < size <= 2**_PLACE_BITS
    if hashed and len(keys) == 2 and short:
        with jax.enable_x64(True):
            key, broken = (x.astype(jnp.int64) for x in keys)
            broken = broken & (2**BREAK_BITS - 1)
            low = (broken << _PLACE_BITS) | along.astype(jnp.int64)
            wide = in_parts((key << 32) | low, keys)
            places = (wide & (2**_PLACE_BITS - 1)).astype(jnp.int32)
            return (wide >> 32).astype(jnp.int32), places
    for key in reversed(keys):
        key = key if places is along else _arithmetic.take(key, places)
        with jax.enable_x64(True):
            wide = (key.astype(jnp.int64) << 32) | along.astype(jnp.int64)
            wide = in_parts(wide, keys)
            moved = wide.astype(jnp.int32)
            first = (wide >> 32).astype(jnp.int32)
        places = moved if places is along else _arithmetic.take(places, moved)
    return first, places


def in_parts(x: jax.Array, made_of: Sequence[jax.Array]) -> jax.Array:
    """A sort of one operand, of some lists beside others.

    XLA sorts all lists of an operand on one core.
    """
    known = all(isinstance(size, int) for size in x.shape)
    if not known or x.size < MANY or not all(map(_mesh.is_device_local, made_of)):
        return lax.sort(x)
    flat = x.reshape(-1, x.shape[-1])
    parts = min(_PARTS, flat.shape[0])
    ends = [flat.shape[0] * part // parts for part in range(parts + 1)]
    ranked = [lax.sort(flat[a:b]) for a, b in itertools.pairwise(ends)]
    return jnp.concatenate(ranked).reshape(x.shape)
