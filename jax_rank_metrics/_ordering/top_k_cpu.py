"""A top-k of short lists on CPU: one maximum after the other.

`lax.top_k` takes several times as long there for an item of a short list as for one of a
long one.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering.keys import float_key

# Up to this length. Older versions of XLA find maxima item by item, which takes longer
# still.
SHORT = 128 if jax.__version_info__ >= (0, 10) else 0


def by_maxima(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """`lax.top_k` of what holds no NaN.

    An item's key and place are one whole number, as a float64: unlike maxima of integers,
    those of floats are found by vectors.
    """
    width = 1 << x.shape[-1].bit_length()  # a power of two, so that nothing is rounded
    with jax.enable_x64(True):
        place = lax.broadcasted_iota(jnp.float64, x.shape, x.ndim - 1)
        number = float_key(x).astype(jnp.float64) * width - place

        def step(above: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            below = jnp.where(number < above[..., None], number, -jnp.inf)
            best = jnp.max(below, axis=-1)
            return best, best

        above = _mesh.match_varying(jnp.full(x.shape[:-1], jnp.inf), x)
        best = lax.scan(step, above, None, length=depth)[1]
        place = jnp.ceil(best / width) * width - best
        indices = jnp.moveaxis(place, 0, -1).astype(jnp.int32)
    return _arithmetic.take(x, indices), indices
