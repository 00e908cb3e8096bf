"""Arithmetic along the items of lists: sums, counts, ratios.

Sums inside a list are plain floats. What must not drift over many merges is in the states.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def total(x: jax.Array) -> jax.Array:
    """The sum of floats along the last axis, of very long ones in two steps.

    As a product with ones: what is summed is then worked out by vectors, which compilers
    for CPU do not do inside a reduction.
    """
    size = x.shape[-1]
    if not isinstance(size, int) or size <= 64:
        return jnp.sum(x, axis=-1)
    width = _width(size)
    if size > 4096 and size % width == 0:
        x = x.reshape((*x.shape[:-1], size // width, width))
        return total(_dot_ones(x))
    return _dot_ones(x)


def _dot_ones(x: jax.Array) -> jax.Array:
    return dot(x, jnp.ones(x.shape[-1:], x.dtype))


def dot(x: jax.Array, y: jax.Array) -> jax.Array:
    """A product of matrices; accelerators do not round what is multiplied."""
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _width(size: int) -> int:
    """Into parts of how many to cut so many, evenly if that can be."""
    return next((w for w in range(64, 15, -1) if size % w == 0), 32)


def count(x: jax.Array) -> jax.Array:
    """How many along the last axis, int32. Quicker in floats, which add up by vectors."""
    if x.shape[-1] >= 2**24:
        return jnp.sum(x, axis=-1, dtype=jnp.int32)
    return jnp.sum(x.astype(jnp.float32), axis=-1).astype(jnp.int32)


def cumulative_count(x: jax.Array) -> jax.Array:
    """How many of each item and those before it, along the last axis, int32.

    By products with a triangle of ones, which take a fifth of the time of a scan.
    """
    if x.shape[-1] >= 2**24:
        return jnp.cumsum(x, axis=-1, dtype=jnp.int32)
    return cumulative_sum(x.astype(jnp.float32)).astype(jnp.int32)


def cumulative_sum(x: jax.Array) -> jax.Array:
    """The sum of floats of each item and those before it, along the last axis."""
    size = x.shape[-1]
    if size <= 64:
        ones = jnp.triu(jnp.ones((size, size), x.dtype))
        return dot(x, ones)
    width = _width(size)
    rows = -(-size // width)
    more = rows * width - size
    if more:
        padding = [*[(0, 0, 0)] * (x.ndim - 1), (0, more, 0)]
        x = lax.pad(x, jnp.zeros((), x.dtype), padding)
    inside = cumulative_sum(x.reshape((*x.shape[:-1], rows, width)))
    totals = inside[..., -1]
    before = cumulative_sum(totals) - totals
    flat = (inside + before[..., None]).reshape((*x.shape[:-1], rows * width))
    return flat[..., :size]


def take(x: jax.Array, indices: jax.Array) -> jax.Array:
    """Items of the last axis by their indices, which must be in bounds."""
    return jnp.take_along_axis(x, indices, axis=-1, mode="promise_in_bounds")


def take_items(x: jax.Array, indices: jax.Array) -> jax.Array:
    """`take`, of arrays that may have axes beyond the items."""
    wide, axis = widen(indices, x), indices.ndim - 1
    return jnp.take_along_axis(x, wide, axis=axis, mode="promise_in_bounds")


def shifted(x: jax.Array, by: int, edge: int = 0) -> jax.Array:
    """Every item's neighbour before it (1) or after it (-1); `edge` beyond the ends."""
    widths = [*[(0, 0, 0)] * (x.ndim - 1), (by, -by, 0)]
    return lax.pad(x, jnp.asarray(edge, x.dtype), widths)


def iota(like: jax.Array, dtype: Any = jnp.int32) -> jax.Array:
    """0, 1, … along the last axis, of a shape that broadcasts with `like`."""
    shape = (1,) * (like.ndim - 1) + like.shape[-1:]
    return lax.broadcasted_iota(dtype, shape, like.ndim - 1)


def widen(x: jax.Array, like: jax.Array) -> jax.Array:
    """`x` with axes of one at its end, so that it broadcasts with `like`."""
    return x.reshape((*x.shape, *(1,) * (like.ndim - x.ndim)))


def ratio(x: jax.Array, y: jax.Array) -> jax.Array:
    """`x / y`, and 0 where `y` is not above 0; `y` broadcasts to `x`.

    The divisor is guarded before it divides: of a `where` around a quotient, autodiff
    and debuggers would see the NaN of the branch not taken.
    """
    some = y > 0
    quotient = x / jnp.where(some, y, jnp.ones_like(y))
    return jnp.where(some, quotient, jnp.zeros_like(quotient))


def below_all(dtype: Any) -> int:
    """What a maximum begins with: the least integer; 0 of floats, none of them negative."""
    return jnp.iinfo(dtype).min if jnp.issubdtype(dtype, jnp.integer) else 0


def integer_like(dtype: Any) -> jnp.dtype:
    """The signed integer as wide as a float."""
    return jnp.dtype({4: jnp.int32, 8: jnp.int64}[jnp.dtype(dtype).itemsize])
