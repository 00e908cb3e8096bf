"""Scores as integers that compare as they rank, and what breaks their ties."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic

# Policies under which index order is the last word on ties.
INDEX_ORDER = ("stable", "expected")

# Policies under which formulas are given tie groups, and no definite order.
GROUPED = (None, "expected")

# How many bits a break has. With two more for the kind they are exact in a float32 digit.
BREAK_BITS = 22

# Multiplier of the xor-shift-multiply hash of 32-bit integers, which is bijective:
# positions never collide.
_MIX = 0x45D9F3B


def score_key(scores: jax.Array, exists: jax.Array) -> jax.Array:
    """Integers that compare as scores rank: finite and ±inf, then NaN, then no item.

    Works on the bits of floats, because compilers fold `x + 0.0` and flush subnormals.
    Integers of 32 bits and more may share the least key with what does not exist.
    """
    dtype = scores.dtype
    if dtype == jnp.bfloat16:
        bits = lax.bitcast_convert_type(scores, jnp.uint16).astype(jnp.uint32) << 16
        key = float_key(lax.bitcast_convert_type(bits, jnp.float32))
    elif jnp.issubdtype(dtype, jnp.floating):
        key = float_key(scores if dtype.itemsize >= 4 else scores.astype(jnp.float32))
    elif dtype in (jnp.uint32, jnp.uint64):
        signed = jnp.dtype(f"int{8 * dtype.itemsize}")
        key = lax.bitcast_convert_type(scores, signed) ^ jnp.iinfo(signed).min
    else:
        key = scores.astype(jnp.int64 if dtype == jnp.int64 else jnp.int32)
    return jnp.where(exists, key, jnp.iinfo(key.dtype).min)


def float_key(x: jax.Array) -> jax.Array:
    """Integers that compare like floats; −0.0 is 0.0 and NaN is below −inf."""
    integer = _arithmetic.integer_like(x.dtype)
    info = jnp.iinfo(integer)
    bits = lax.bitcast_convert_type(x, integer)
    magnitude = bits & info.max
    infinity = (jnp.finfo(x.dtype).maxexp * 2 - 1) << jnp.finfo(x.dtype).nmant
    key = jnp.where(bits < 0, -magnitude, magnitude)
    return jnp.where(magnitude > infinity, info.min + 1, key)


def shares_least_key(dtype: Any) -> bool:
    """Whether a score may have the key of what does not exist."""
    return not jnp.issubdtype(dtype, jnp.floating) and jnp.dtype(dtype).itemsize > 2


def has_digit(dtype: Any) -> bool:
    """Whether the keys of such scores are exact as float32 digits."""
    dtype = jnp.dtype(dtype)
    return dtype.itemsize <= (4 if jnp.issubdtype(dtype, jnp.floating) else 2)


# The digit of the least finite score, and of −inf and NaN.
LOWEST = float(jnp.finfo(jnp.float32).min)


def digit(key: jax.Array, dtype: Any) -> jax.Array:
    """Keys of scores of a dtype as float32; −inf for what does not exist."""
    least, infinity = jnp.iinfo(jnp.int32).min, 0x7F800000
    if jnp.issubdtype(dtype, jnp.floating):
        finite = jnp.maximum(key, 1 - infinity)
        bits = jnp.where(finite < 0, least - finite, finite)
        number = lax.bitcast_convert_type(bits, jnp.float32)
    else:
        number = key.astype(jnp.float32)
    return jnp.where(key == least, -jnp.inf, number)


def second_digit(key: jax.Array, tie_breaks: tuple[jax.Array, ...]) -> jax.Array:
    """What parts items of equal digits: finite, −inf, NaN or none, and then a break."""
    least, infinity = jnp.iinfo(key.dtype).min, 0x7F800000
    kind = (key > least).astype(jnp.int32)
    for bound in (least + 1, -infinity):
        kind = kind + (key > bound).astype(jnp.int32)
    if tie_breaks:
        (hashed,) = tie_breaks
        kind = (kind << BREAK_BITS) | hashed
    return kind.astype(jnp.float32)


def breaks(
    ties: str | None,
    index: jax.Array,
    labels: jax.Array,
    weights: jax.Array | None,
    seeds: jax.Array | None,
) -> tuple[jax.Array, ...]:
    """Integers that part items of equal keys, larger first; none where the index does.

    Args:
        ties: The policy.
        index: `[*lists, items]` int32, where an item stands in its list.
        labels: The same shape.
        weights: The same shape, or None.
        seeds: `[*lists, 2]` uint32, for "random".
    """
    if ties in INDEX_ORDER:
        return ()
    if ties in ("best", "worst"):
        keys = [float_key(x) for x in (labels, weights) if x is not None]
        return tuple(key if ties == "best" else ~key for key in keys)
    bits = index.astype(jnp.uint32)
    if ties == "random":
        assert seeds is not None
        bits = mix(bits ^ seeds[..., :1]) + seeds[..., 1:]
    return ((mix(bits) >> (32 - BREAK_BITS)).astype(jnp.int32),)


def mix(x: jax.Array) -> jax.Array:
    """A hash of uint32, bijective: what differs stays different."""
    for _ in range(2):
        x = (x ^ (x >> 16)) * jnp.uint32(_MIX)
    return x ^ (x >> 16)
