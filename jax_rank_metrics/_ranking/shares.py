"""Cutoffs that are shares of a list."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._share import share

# Digits of 16 bits: a float64 from 2^−43 on has none of its 53 bits beyond six of them.
# Smaller ones are so small that every list, of at most 2^31 items, has the cutoff 1.
_BITS, _DIGITS = 16, 6


def cutoff_of(fraction: share, lengths: jax.Array) -> jax.Array:
    """Returns ceil(float64(fraction·length)) of each length, int32.

    The product is computed exactly, in integers of 32 bits, since not every device has
    float64. With q its integer part, float64 rounds it to q where it exceeds q by no more
    than half of the distance to the next float64: 2^(b − 53) for 2^b ≤ q < 2^(b + 1). (A
    product half-way between the two is rounded to the even one, which is q.) So the
    cutoff is q where the fractional part is at most that, and q + 1 elsewhere.

    Args:
        fraction: The share.
        lengths: `[*lists]` int32, not negative.
    """
    is_all = fraction.fraction == 1
    scaled = 0 if is_all else int(fraction.fraction * 2.0 ** (_BITS * _DIGITS))
    low, high = lengths.astype(jnp.uint32) & 0xFFFF, lengths.astype(jnp.uint32) >> _BITS
    carry, digits = jnp.zeros_like(low), []
    for index in range(_DIGITS):  # the least significant digit first
        digit = np.uint32(scaled >> (_BITS * index) & 0xFFFF)
        partial = digit * low + (carry & 0xFFFF)
        digits.append(partial & 0xFFFF)
        carry = digit * high + (carry >> _BITS) + (partial >> _BITS)
    quotient = lengths.astype(jnp.uint32) if is_all else carry
    # The bit of the fractional part that is worth 2^(b − 53).
    half = _BITS * _DIGITS - 53 + 31 - lax.clz(jnp.maximum(quotient, 1))
    exceeds = jnp.zeros(lengths.shape, bool)
    for index, digit in enumerate(digits):
        bit = jnp.where(half // _BITS == index, 1 << half % _BITS, 0)
        exceeds = (digit > bit) | ((digit == bit) & exceeds)
    cutoffs = (quotient + exceeds.astype(jnp.uint32)).astype(jnp.int32)
    return jnp.maximum(cutoffs, jnp.minimum(lengths, 1))
