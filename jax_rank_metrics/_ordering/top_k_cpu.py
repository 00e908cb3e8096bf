"""A top-k of int32 keys on CPU, where no digits are needed.

`lax.top_k` compares the bits of floats there, those of NaN included, as integers that are
stored as sign and magnitude. For short lists, it takes several times as long per item as
for long ones; there, one maximum is found after the other.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh

# The longest list for which this is faster. Older versions of XLA compute maxima item by
# item, which takes longer than their top-k.
SHORT = 128 if jax.__version_info__ >= (0, 10) else 0


def largest_keys(keys: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """Finds the largest int32 of each list, lower indices first where they are equal.

    Args:
        keys: `[*lists, items]` int32.
        depth: How many to find, at most the number of items.

    Returns:
        The keys in descending order, and their indices: `[*lists, depth]` each.
    """
    if keys.shape[-1] <= SHORT:
        indices = indices_by_maxima(keys, depth)
        return _arithmetic.take(keys, indices), indices
    floats = lax.bitcast_convert_type(_flipped(keys), jnp.float32)
    floats, indices = plain_top_k(lax.optimization_barrier(floats), depth)
    return _flipped(lax.bitcast_convert_type(floats, jnp.int32)), indices


def plain_top_k(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """Calls `lax.top_k`; x is `[*lists, items]` float32."""
    # XLA recognises its top-k as a sort whose result is sliced. A further slice of the
    # result would be merged into that slice and hide it, and the whole list would be
    # sorted. There are two barriers because XLA's partitioner aborts where one barrier
    # takes both results of a top-k.
    values, indices = lax.top_k(x, depth)
    return lax.optimization_barrier(values), lax.optimization_barrier(indices)


def _flipped(x: jax.Array) -> jax.Array:
    """Converts integers to and from sign and magnitude: −1, −2, … are −0, −1, …"""
    return jnp.where(x < 0, x ^ jnp.iinfo(x.dtype).max, x)


def indices_by_maxima(keys: jax.Array, depth: int) -> jax.Array:
    """Returns the indices of `largest_keys`.

    A key and an index are packed into one whole number, key · width − index, as a
    float64: XLA:CPU vectorises maxima of floats, and those of integers it does not. Each
    step finds the largest number below the one before.
    """
    width = (
        1 << keys.shape[-1].bit_length()
    )  # a power of two, so that nothing is rounded
    with jax.enable_x64(True):
        index = lax.broadcasted_iota(jnp.float64, keys.shape, keys.ndim - 1)
        packed = keys.astype(jnp.float64) * width - index

        def step(previous: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            below = jnp.where(packed < previous[..., None], packed, -jnp.inf)
            largest = jnp.max(below, axis=-1)
            return largest, largest

        start = _mesh.match_varying(jnp.full(keys.shape[:-1], jnp.inf), keys)
        largest = lax.scan(step, start, None, length=depth)[1]  # [depth, *lists]
        index = jnp.ceil(largest / width) * width - largest
        return jnp.moveaxis(index, 0, -1).astype(jnp.int32)
