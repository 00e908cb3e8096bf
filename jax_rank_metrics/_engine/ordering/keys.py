"""Scores as integer keys in the order of the scores, and keys as float32 digits."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics._ground import arithmetic

_FLOAT32_INFINITY = 0x7F800000  # the bits of inf


def score_key(scores: jax.Array, exists: jax.Array) -> jax.Array:
    """Returns integers in the order of the scores; larger integers rank first.

    NaN has the largest key, so that the first key of a ranked list tells if there is a NaN.
    Then come inf, finite scores and −inf. Missing items come last: their key is the least
    integer, which may also be the key of an integer score of 32 bits or more.

    Keys must fit float32 digits, and NaN and missing items need digits besides all floats.
    So each float32 takes the key of its neighbour towards 0, which leaves the outermost
    keys to NaN and missing items. 0 and the two floats next to 0 keep their keys, so the
    two least floats above 0 share a key and tie, and so do the two greatest floats below 0.
    """
    key, dtype = _exact_key(scores), jnp.dtype(scores.dtype)
    if _has_float32_key(dtype):
        key = jnp.where(jnp.abs(key) > 1, key - jnp.sign(key), key)
    return jnp.where(exists, key, jnp.iinfo(key.dtype).min)


def _exact_key(scores: jax.Array) -> jax.Array:
    """Returns integers in the order of the scores, equal only for equal scores and NaN.

    Works on the bits of floats, because compilers fold `x + 0.0` and flush subnormals.
    """
    dtype = scores.dtype
    if dtype == jnp.bfloat16:
        bits = lax.bitcast_convert_type(scores, jnp.uint16).astype(jnp.uint32) << 16
        return float_key(lax.bitcast_convert_type(bits, jnp.float32))
    if jnp.issubdtype(dtype, jnp.floating):
        return float_key(scores if dtype.itemsize >= 4 else scores.astype(jnp.float32))
    if dtype in (jnp.uint32, jnp.uint64):
        signed = jnp.dtype(f"int{8 * dtype.itemsize}")
        return lax.bitcast_convert_type(scores, signed) ^ jnp.iinfo(signed).min
    return scores.astype(jnp.int64 if dtype == jnp.int64 else jnp.int32)


def _has_float32_key(dtype: DTypeLike) -> bool:
    """True if scores of this dtype have the keys of float32."""
    return jnp.issubdtype(dtype, jnp.floating) and jnp.dtype(dtype) != jnp.float64


def float_key(x: jax.Array) -> jax.Array:
    """Returns integers that compare like floats; −0.0 equals 0.0, and NaN is above inf.

    Floats are stored as sign and magnitude, and the magnitudes compare as integers do.
    """
    integer = arithmetic.integer_like(x.dtype)
    info = jnp.iinfo(integer)
    bits = lax.bitcast_convert_type(x, integer)
    magnitude, nan = bits & info.max, _nan_key(x.dtype)
    key = jnp.where(bits < 0, -magnitude, magnitude)
    return jnp.where(magnitude >= nan, nan, key)


def _nan_key(dtype: DTypeLike) -> int:
    """Returns the key of NaN among floats of 32 or 64 bits: one above the key of inf."""
    info = jnp.finfo(dtype)
    return ((info.maxexp * 2 - 1) << info.nmant) + 1


def is_nan(key: jax.Array, dtype: DTypeLike) -> jax.Array | None:
    """True for keys of NaN among scores of a float dtype; None for integer scores."""
    if not jnp.issubdtype(dtype, jnp.floating):
        return None
    if _has_float32_key(dtype):
        return key == _FLOAT32_INFINITY
    return key == _nan_key(dtype)


def score_bin(scores: jax.Array, bits: int) -> jax.Array:
    """Returns the bin of each score, from the leading bits of its key as float32.

    Bins count from 0 in rank order: the first bins hold NaN and inf, and the last bins, all
    below `2**bits`, hold −inf. A bin holds scores of one sign and of nearly one size, so
    bins are narrow whatever the scale of the scores is. Rounding to float32 swaps no two
    scores, so a higher score is never in a later bin.
    """
    dtype = scores.dtype
    if not jnp.issubdtype(dtype, jnp.floating) or dtype.itemsize > 4:
        scores = scores.astype(jnp.float32)
    return 2 ** (bits - 1) - 1 - (_exact_key(scores) >> (32 - bits))


def shares_least_key(dtype: DTypeLike) -> bool:
    """True if a score of this dtype may have the key of missing items."""
    return not jnp.issubdtype(dtype, jnp.floating) and jnp.dtype(dtype).itemsize > 2


def exists(key: jax.Array) -> jax.Array:
    """True for keys of items that exist, if scores of this dtype have digits."""
    return key > jnp.iinfo(key.dtype).min


def has_digit(dtype: DTypeLike) -> bool:
    """True if the keys of scores of this dtype are exact as float32 digits."""
    dtype = jnp.dtype(dtype)
    return dtype.itemsize <= (4 if jnp.issubdtype(dtype, jnp.floating) else 2)


def digit(key: jax.Array, dtype: DTypeLike) -> jax.Array:
    """Returns keys as float32 digits in the same order, never NaN.

    `dtype` is the dtype of the scores. The digit of a NaN is inf, and the digit of a
    missing item is −inf.
    """
    if not jnp.issubdtype(dtype, jnp.floating):
        return jnp.where(exists(key), key.astype(jnp.float32), -jnp.inf)
    key = jnp.maximum(key, -_FLOAT32_INFINITY)
    bits = jnp.where(key < 0, jnp.iinfo(key.dtype).min - key, key)
    return lax.bitcast_convert_type(bits, jnp.float32)


def key_of_digit(digits: jax.Array, dtype: DTypeLike) -> jax.Array:
    """Inverts `digit`."""
    missing = jnp.iinfo(jnp.int32).min
    if not jnp.issubdtype(dtype, jnp.floating):
        is_missing = digits == -jnp.inf
        return jnp.where(
            is_missing, missing, jnp.maximum(digits, -(2**15)).astype(jnp.int32)
        )
    key = float_key(digits)
    return jnp.where(key == -_FLOAT32_INFINITY, missing, key)


def descending_bits(x: jax.Array) -> jax.Array:
    """Returns integers that sort non-negative floats in descending order.

    They are the complements of the bits of the floats, as integers of the same width. Bits
    ascend with floats, so the complements descend, from −1 for 0 to the complement of inf.
    Floats below 0 count as 0, and give −1 too.
    """
    bits = lax.bitcast_convert_type(x, arithmetic.integer_like(x.dtype))
    return jnp.where(x < 0, -1, ~jnp.maximum(bits, 0))


def floats_of_bits(bits: jax.Array, dtype: DTypeLike) -> jax.Array:
    """Inverts `descending_bits`, except that floats below 0 come back as 0."""
    return lax.bitcast_convert_type(~bits, dtype)


def seeds_of(ids: jax.Array) -> jax.Array:
    """Returns seeds `[*lists, 2]` uint32 of list ids, which make hashes of lists differ."""
    ids = ids.astype(jnp.uint32)
    return jnp.stack([arithmetic.mix(ids), arithmetic.mix(~ids)], axis=-1)
