"""Gains and discounts of the cumulated-gain metrics.

A gain maps labels to how much a relevant item is worth; it must not be negative. A
discount maps ranks 1, 2, … to *multipliers*, each for itself: it may be asked for ranks
beyond the end of a list. Any callable on arrays will do; these are the ones with names.
They are static under `jax.jit`: pass a named function rather than a fresh lambda, or
every call compiles again.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._types import Gain, Number


def exponential_gain(labels: jax.Array) -> jax.Array:
    """`2^label − 1`, exact where the label is a whole number, and accurate near 0.

    Finite in float32 for labels below 128; to 5e-6 for the largest that are not whole.

    >>> [f"{gain:.1f}" for gain in exponential_gain(jnp.array([0.0, 1.0, 2.0, 5.0]))]
    ['0.0', '1.0', '3.0', '31.0']

    References:
        Burges et al., Learning to rank using gradient descent, ICML 2005.
    """
    if labels.dtype != jnp.float64:
        labels = labels.astype(jnp.float32)
    info = jnp.finfo(labels.dtype)
    whole = jnp.clip(jnp.floor(labels), 0, info.maxexp)
    integer = _arithmetic.integer_like(labels.dtype)
    biased = (whole.astype(integer) - (info.minexp - 1)) << info.nmant
    power = lax.bitcast_convert_type(biased, labels.dtype)  # inf for 2^128 and beyond
    return jnp.where(labels == whole, power - 1, jnp.expm1(labels * math.log(2)))


def linear_gain(labels: jax.Array) -> jax.Array:
    """The label itself.

    >>> [f"{gain:.1f}" for gain in linear_gain(jnp.array([0.0, 1.0, 2.5]))]
    ['0.0', '1.0', '2.5']

    References:
        Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques,
        ACM TOIS 20(4), 2002.
    """
    return labels


def gains_of(gain_fn: Gain, labels: jax.Array) -> jax.Array:
    """One gain per label, in their dtype, from any function: it may be a constant.

    Raises:
        ValueError: if the function gives another number of gains.
    """
    gains = jnp.asarray(gain_fn(labels)).astype(labels.dtype)
    if gains.shape not in ((), labels.shape):
        raise ValueError(
            f"gain_fn gave gains of shape {gains.shape} for labels of shape "
            f"{labels.shape}; return one gain per label"
        )
    return jnp.broadcast_to(gains, labels.shape)


# Monotone in the label, with a gain of 0 for 0: the best order of the labels is the best
# order of what they gain.
MONOTONE_GAINS = (exponential_gain, linear_gain)


def log2_discount(ranks: jax.Array) -> jax.Array:
    """`1 / log2(1 + rank)`: 1, 0.63, 0.5, …

    >>> [f"{weight:.5f}" for weight in log2_discount(jnp.array([1.0, 2.0, 3.0]))]
    ['1.00000', '0.63093', '0.50000']
    """
    return math.log(2) / jnp.log1p(ranks)


@dataclasses.dataclass(frozen=True)
class log_discount:
    """`1 / log_base(1 + rank)`; `log_discount(2)` is `log2_discount`.

    Two of the same base are equal, so they share one compilation.

    >>> [f"{weight:.5f}" for weight in log_discount(10)(jnp.array([9.0, 99.0]))]
    ['1.00000', '0.50000']

    Args:
        base: Base of the logarithm, above 1.

    Raises:
        ValueError: if the base is not above 1, or infinite.
        TypeError: if it is no Python number.
    """

    base: Number

    def __post_init__(self) -> None:
        if isinstance(self.base, bool) or not isinstance(
            self.base, (int, float, np.integer, np.floating)
        ):
            raise TypeError(
                f"log_discount: base is {self.base!r}; pass a Python number above 1"
            )
        if not 1 < self.base < float("inf"):
            raise ValueError(f"log_discount: base is {self.base}; pass a base above 1")

    def __call__(self, ranks: jax.Array) -> jax.Array:
        """Multipliers of ranks 1, 2, …"""
        return math.log(self.base) / jnp.log1p(ranks)


def reciprocal_discount(ranks: jax.Array) -> jax.Array:
    """`1 / rank`: 1, 0.5, 0.33, …

    >>> [f"{weight:.5f}" for weight in reciprocal_discount(jnp.array([1.0, 2.0, 3.0]))]
    ['1.00000', '0.50000', '0.33333']
    """
    return 1 / ranks
