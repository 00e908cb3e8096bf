"""Scores as integers that compare as they rank, and these as float32 digits."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic

# The number of bits of a hash that breaks ties. With two more for the kind of a score, a
# float32 digit holds it exactly.
HASH_BITS = 22

# Multiplier of the xor-shift-multiply hash of 32-bit integers, which is bijective:
# hashes of different indices differ.
_MULTIPLIER = 0x45D9F3B

_FLOAT32_INFINITY = 0x7F800000  # the bits of inf, and its key

# The digit of the least finite score, and also of −inf and NaN.
LOWEST_DIGIT = float(jnp.finfo(jnp.float32).min)


def score_key(scores: jax.Array, exists: jax.Array) -> jax.Array:
    """Returns integers that compare as scores rank, larger first.

    Finite scores and ±inf come first, then NaN, then missing items, which have the least
    integer. Integer scores of 32 bits and more may have that one too.

    Works on the bits of floats, because compilers fold `x + 0.0` and flush subnormals.
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
    """Returns integers that compare like floats; −0.0 is 0.0 and NaN is below −inf.

    Floats are stored as sign and magnitude, and the magnitudes compare as integers do.
    """
    integer = _arithmetic.integer_like(x.dtype)
    info = jnp.iinfo(integer)
    bits = lax.bitcast_convert_type(x, integer)
    magnitude = bits & info.max
    infinity = (jnp.finfo(x.dtype).maxexp * 2 - 1) << jnp.finfo(x.dtype).nmant
    key = jnp.where(bits < 0, -magnitude, magnitude)
    return jnp.where(magnitude > infinity, info.min + 1, key)


def shares_least_key(dtype: DTypeLike) -> bool:
    """Whether a score of this dtype may have the key of missing items."""
    return not jnp.issubdtype(dtype, jnp.floating) and jnp.dtype(dtype).itemsize > 2


def has_digit(dtype: DTypeLike) -> bool:
    """Whether the keys of scores of this dtype are exact as float32 digits."""
    dtype = jnp.dtype(dtype)
    return dtype.itemsize <= (4 if jnp.issubdtype(dtype, jnp.floating) else 2)


def digit(key: jax.Array, dtype: DTypeLike) -> jax.Array:
    """Returns keys of scores of a dtype as float32; −inf for missing items."""
    missing_key = jnp.iinfo(jnp.int32).min
    if jnp.issubdtype(dtype, jnp.floating):
        finite_key = jnp.maximum(key, 1 - _FLOAT32_INFINITY)
        bits = jnp.where(finite_key < 0, missing_key - finite_key, finite_key)
        number = lax.bitcast_convert_type(bits, jnp.float32)
    else:
        number = key.astype(jnp.float32)
    return jnp.where(key == missing_key, -jnp.inf, number)


def second_digit(key: jax.Array, tie_breaks: tuple[jax.Array, ...]) -> jax.Array:
    """Returns float32 that order items of equal digits, larger first.

    The kind of the score decides, from 3 to 0: finite or inf, −inf, NaN, missing; then a
    hash, if `tie_breaks` holds one.
    """
    missing_key = jnp.iinfo(key.dtype).min
    kind = (key > missing_key).astype(jnp.int32)
    for bound in (missing_key + 1, -_FLOAT32_INFINITY):
        kind = kind + (key > bound).astype(jnp.int32)
    if tie_breaks:
        (hashes,) = tie_breaks
        kind = (kind << HASH_BITS) | hashes
    return kind.astype(jnp.float32)


def mix(x: jax.Array) -> jax.Array:
    """Hashes uint32 bijectively: different values have different hashes."""
    for _ in range(2):
        x = (x ^ (x >> 16)) * jnp.uint32(_MULTIPLIER)
    return x ^ (x >> 16)
