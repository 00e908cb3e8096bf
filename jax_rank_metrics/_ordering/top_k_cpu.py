"""A top-k of int32 keys on CPU, where no digits are needed.

`lax.top_k` compares the bits of floats there, those of NaN included, as integers that are
stored as sign and magnitude. All else must compare such floats as integers too: a
comparison of floats would flush subnormals, and knows no order of NaN. For short lists,
`lax.top_k` takes several times as long per item as for long ones; there, one maximum is
found after the other.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _mesh

# The longest list for which this is faster. Older versions of XLA compute maxima item by
# item, which takes longer than their top-k.
SHORT = 128 if jax.__version_info__ >= (0, 10) else 0


def floats_of(key: jax.Array) -> jax.Array:
    """Returns float32 that a top-k on CPU orders as these int32."""
    return lax.bitcast_convert_type(_flipped(key), jnp.float32)


def integers_of(x: jax.Array) -> jax.Array:
    """Inverts `floats_of`."""
    return _flipped(lax.bitcast_convert_type(x, jnp.int32))


def _flipped(x: jax.Array) -> jax.Array:
    """Converts integers to and from sign and magnitude: −1, −2, … are −0, −1, …"""
    return jnp.where(x < 0, x ^ jnp.iinfo(x.dtype).max, x)


def maxima(x: jax.Array) -> jax.Array:
    """Returns the first of a top-k along the last axis of float32."""
    return floats_of(jnp.max(integers_of(x), axis=-1))


def indices_by_maxima(x: jax.Array, depth: int) -> jax.Array:
    """Returns the indices of a top-k of float32, lower indices first where they are equal.

    An integer and an index are packed into one whole number, integer · width − index, as
    a float64. Each step finds the largest number below the one before.
    """
    # A power of two, so that nothing is rounded.
    width = 1 << x.shape[-1].bit_length()
    with jax.enable_x64(True):
        index = lax.broadcasted_iota(jnp.float64, x.shape, x.ndim - 1)
        packed = integers_of(x).astype(jnp.float64) * width - index

        def step(previous: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            below = jnp.where(packed < previous[..., None], packed, -jnp.inf)
            largest = jnp.max(below, axis=-1)
            return largest, largest

        start = _mesh.match_varying(jnp.full(x.shape[:-1], jnp.inf), x)
        largest = lax.scan(step, start, None, length=depth)[1]  # [depth, *lists]
        index = jnp.ceil(largest / width) * width - largest
        return jnp.moveaxis(index, 0, -1).astype(jnp.int32)
