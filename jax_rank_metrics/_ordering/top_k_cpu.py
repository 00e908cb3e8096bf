"""A top-k of short lists on CPU: one maximum after the other.

`lax.top_k` takes several times as long per item for a short list as for a long one.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering.keys import float_key

# The longest list for which this is faster. Older versions of XLA compute maxima item by
# item, which takes longer than their top-k.
SHORT = 128 if jax.__version_info__ >= (0, 10) else 0


def top_k_by_maxima(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """Does what `lax.top_k` does, for float32 without NaN.

    An item's key and index are packed into one whole number, key · width − index, as a
    float64: XLA:CPU vectorises maxima of floats, and those of integers it does not. Each
    step finds the largest number below the one before.
    """
    width = 1 << x.shape[-1].bit_length()  # a power of two, so that nothing is rounded
    with jax.enable_x64(True):
        index = lax.broadcasted_iota(jnp.float64, x.shape, x.ndim - 1)
        packed = float_key(x).astype(jnp.float64) * width - index

        def step(previous: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            below = jnp.where(packed < previous[..., None], packed, -jnp.inf)
            largest = jnp.max(below, axis=-1)
            return largest, largest

        start = _mesh.match_varying(jnp.full(x.shape[:-1], jnp.inf), x)
        largest = lax.scan(step, start, None, length=depth)[1]  # [depth, *lists]
        index = jnp.ceil(largest / width) * width - largest
        indices = jnp.moveaxis(index, 0, -1).astype(jnp.int32)
    return _arithmetic.take(x, indices), indices
