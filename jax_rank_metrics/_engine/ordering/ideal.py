"""The values of a pool in descending order, which is the order of the ideal ranking."""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.ordering import keys, top_k
from jax_rank_metrics._ground import arithmetic, meshes, types

# Most labels are small whole numbers. If all numbers are whole and at most this one, they
# are counted, not sorted.
_MAX_COUNTED = 16


def largest(
    x: jax.Array,
    exists: jax.Array,
    depth: int,
    items_axis: types.AxisNames | None = None,
) -> jax.Array:
    """Returns the `depth` largest floats of each list; floats are not negative.

    The values descend, and are 0 beyond the items of a list.

    Args:
        x: `[*lists, items]`.
        exists: Bools of the same shape, true for the items to include.
        depth: How many floats to return, at most the number of items.
        items_axis: Mesh axes over which the items of every list are sharded.
    """
    return _descending(depth, items_axis, jnp.where(exists, x, -1))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _descending(
    depth: int, items_axis: types.AxisNames | None, x: jax.Array
) -> jax.Array:
    if items_axis is not None:
        part = _largest(x, min(depth, x.shape[-1]))
        x = meshes.concatenate_over(part, items_axis, x.ndim - 1)
    else:
        num_parts = top_k.num_parts(x, depth)
        if num_parts > 1:
            parts = x.reshape((*x.shape[:-1], num_parts, x.shape[-1] // num_parts))
            x = arithmetic.merge_last_axes(_largest(parts, depth))
    return jnp.maximum(_largest(x, min(depth, x.shape[-1])), 0)


@_descending.defjvp
def _descending_jvp(
    depth: int,
    items_axis: types.AxisNames | None,
    primals: tuple[jax.Array],
    tangents: tuple[jax.Array],
) -> tuple[jax.Array, jax.Array]:
    # Differentiate a sort of floats, because bits and counts have no derivatives.
    def by_sort(x: jax.Array) -> jax.Array:
        if items_axis is not None:
            x = meshes.concatenate_over(x, items_axis, x.ndim - 1)
        values = -jnp.sort(-x, axis=-1)[..., :depth]
        return jnp.where(values < 0, 0, values)

    return jax.jvp(by_sort, primals, tangents)


def _largest(x: jax.Array, depth: int) -> jax.Array:
    if x.shape[-1] == 1:
        return x[..., :depth]
    use_top_k = x.dtype == jnp.float32 and top_k.is_faster(x, depth)

    def by_top_k(x: jax.Array) -> jax.Array:
        return top_k.top_k(x, depth)[0]

    def by_sort(x: jax.Array) -> jax.Array:
        # Every backend is fastest at sorting one integer operand.
        bits = lax.sort(keys.descending_bits(x), dimension=-1)
        return keys.floats_of_bits(bits, x.dtype)[..., :depth]

    def by_counts(x: jax.Array) -> jax.Array:
        # The largest number of each list; inf if a number is not whole.
        maxima = jnp.max(jnp.where(x == jnp.floor(x), x, jnp.inf), axis=-1, initial=0)
        counted = functools.partial(
            _counted, maximum=jnp.max(maxima, initial=0), depth=depth
        )
        must_sort = meshes.unvmap_any(maxima > _MAX_COUNTED)
        return lax.cond(must_sort, by_top_k if use_top_k else by_sort, counted, x)

    default = by_top_k if use_top_k else by_sort
    if arithmetic.is_small(x):
        return default(x)
    if not meshes.is_device_local(x) or (use_top_k and x.shape[-1] > top_k.SHORT):
        return default(x)
    return lax.platform_dependent(x, cpu=by_counts, default=default)


def _counted(x: jax.Array, maximum: jax.Array, depth: int) -> jax.Array:
    """Returns the `depth` largest whole numbers from 1 to `maximum`, descending.

    The number at rank r is the number of thresholds 1, 2, … that at least r items reach. In
    [1, 3, 1], three items reach 1, one item reaches 2 and one item reaches 3, so the result
    is [3, 1, 1]. Numbers below 1 become 0.
    """
    shape = x[..., :depth].shape
    rank = lax.broadcasted_iota(jnp.int32, shape, x.ndim - 1) + 1

    def add(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        threshold, sums = state
        reached = rank <= arithmetic.count(x >= threshold)[..., None]
        return threshold + 1, sums + reached.astype(x.dtype)

    state = (jnp.ones_like(maximum), jnp.zeros(shape, x.dtype))
    state = meshes.match_varying(state, x)
    return lax.while_loop(lambda state: state[0] <= maximum, add, state)[1]
