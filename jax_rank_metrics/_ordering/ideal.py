"""The values of a pool in falling order."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering import top_k

# Whole numbers up to this one are counted rather than sorted.
_FEW = 16


def largest(
    x: jax.Array, exists: jax.Array, depth: int, items_axis: Any = None
) -> jax.Array:
    """The `depth` largest of non-negative floats in each list, falling, 0 where none."""
    x = jnp.where(exists, x, -1)
    if items_axis is not None:
        part = _largest(x, min(depth, x.shape[-1]))
        x = _mesh.concatenate_over(part, items_axis, x.ndim - 1)
    else:
        shards = _mesh.auto_shards(x)
        pays = depth * shards <= top_k.TOP_K_SHARE * x.shape[-1]
        if shards > 1 and pays and x.shape[-1] % shards == 0:
            parts = x.reshape((*x.shape[:-1], shards, x.shape[-1] // shards))
            x = _arithmetic.merge_last_axes(_largest(parts, depth))
    return jnp.maximum(_largest(x, min(depth, x.shape[-1])), 0)


def _largest(x: jax.Array, depth: int) -> jax.Array:
    use_top_k = x.dtype == jnp.float32 and top_k.pays(x, depth)

    def by_top_k(x: jax.Array) -> jax.Array:
        return top_k.top_k(x, depth)[0]

    def by_sort(x: jax.Array) -> jax.Array:
        # One integer operand is what every backend sorts best.
        return risen(lax.sort(falling(x), dimension=-1), x.dtype)[..., :depth]

    def by_counts(x: jax.Array) -> jax.Array:
        most = jnp.max(jnp.where(x == jnp.floor(x), x, jnp.inf), axis=-1, initial=0)
        counted = functools.partial(
            _counted, most=jnp.max(most, initial=0), depth=depth
        )
        many = _mesh.unvmap_any(most > _FEW)
        return lax.cond(many, by_top_k if use_top_k else by_sort, counted, x)

    default = by_top_k if use_top_k else by_sort
    if not _mesh.is_device_local(x) or (use_top_k and x.shape[-1] > top_k.SHORT):
        return default(x)
    return lax.platform_dependent(x, cpu=by_counts, default=default)


def _counted(x: jax.Array, most: jax.Array, depth: int) -> jax.Array:
    """The `depth` largest of whole numbers up to `most`, falling, 0 for those below.

    The number at a rank is how many of 1, 2, … are reached by at least as many items.
    """
    first = x[..., :depth]
    rank = lax.broadcasted_iota(jnp.int32, first.shape, x.ndim - 1) + 1

    def add(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        number, sums = state
        reached = rank <= _arithmetic.count(x >= number)[..., None]
        return number + 1, sums + reached.astype(x.dtype)

    # Zeros and one, typed as the numbers are, which may differ between devices.
    state = (jnp.minimum(most, 0) + 1, jnp.minimum(jnp.abs(first), 0))
    return lax.while_loop(lambda state: state[0] <= most, add, state)[1]


def falling(x: jax.Array) -> jax.Array:
    """Integers that rise as non-negative floats fall; the greatest for all below 0."""
    bits = lax.bitcast_convert_type(x, _arithmetic.integer_like(x.dtype))
    return jnp.where(x < 0, -1, ~jnp.maximum(bits, 0))


def risen(bits: jax.Array, dtype: Any) -> jax.Array:
    """The floats of `falling`."""
    return lax.bitcast_convert_type(~bits, dtype)
