"""Gains and discounts of the cumulated-gain metrics.

A gain maps labels to the values of items, which must not be negative. A discount maps ranks
1, 2, … to *multipliers*, elementwise; it may be called with ranks beyond the end of a list.
Any callable on arrays will do; this module defines the functions that metric names can
spell. Gains and discounts are static under `jax.jit`: pass a named function, since a fresh
lambda makes every call compile again.
"""

import dataclasses
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._ground import arithmetic, types


def exponential_gain(labels: jax.Array) -> jax.Array:
    """Returns `2^label − 1`, exact for whole numbers, and accurate near 0.

    It is finite in float32 for labels below 128. For labels that are not whole, the
    relative error grows with them, to 5e-6.

    >>> [f"{gain:.1f}" for gain in exponential_gain(jnp.array([0.0, 1.0, 2.0, 5.0]))]
    ['0.0', '1.0', '3.0', '31.0']

    References:
        Burges et al., Learning to rank using gradient descent, ICML 2005.
    """
    return _exponential(
        labels if labels.dtype == jnp.float64 else labels.astype(jnp.float32)
    )


@jax.custom_jvp
def _exponential(labels: jax.Array) -> jax.Array:
    info = jnp.finfo(labels.dtype)
    # The bits of 2^exponent: the biased exponent, and a mantissa of zeros.
    exponent = jnp.clip(jnp.floor(labels), 0, info.maxexp)
    integer = arithmetic.integer_like(labels.dtype)
    biased = (exponent.astype(integer) - (info.minexp - 1)) << info.nmant
    power = lax.bitcast_convert_type(biased, labels.dtype)  # inf for 2^128 and beyond
    return jnp.where(labels == exponent, power - 1, jnp.expm1(labels * math.log(2)))


@_exponential.defjvp
def _exponential_jvp(
    primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    # Autodiff would take the powers of whole labels for constants, because they are made
    # from bits.
    gains = _exponential(*primals)
    return gains, (gains + 1) * math.log(2) * tangents[0]


def linear_gain(labels: jax.Array) -> jax.Array:
    """Returns the label itself.

    >>> [f"{gain:.1f}" for gain in linear_gain(jnp.array([0.0, 1.0, 2.5]))]
    ['0.0', '1.0', '2.5']

    References:
        Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques,
        ACM TOIS 20(4), 2002.
    """
    return labels


def gains_of(gain_fn: types.Gain, labels: jax.Array) -> jax.Array:
    """Returns one gain per label, in the dtype of the labels.

    A `gain_fn` that returns a scalar gives this gain to every label.

    Raises:
        ValueError: if `gain_fn` returns neither one gain per label nor a scalar.
    """
    return _elementwise(gain_fn, labels, ("gain_fn", "gain", "label"))


def overflow_message(name: str) -> str:
    """Returns the message for a list with a gain that is not finite."""
    return (
        f"{name} has a gain that overflows: 2^label − 1, the gain by default, is beyond "
        "float32 from the label 128 on; pass another gain to the metrics that read gains, "
        "such as linear_gain, as in 'ndcg(gain_fn=linear_gain)@10', or one that grows as a "
        "logarithm does, such as jnp.log1p"
    )


# Gains that are monotone in the label and 0 for 0: sorting the labels sorts the gains.
MONOTONE_GAINS = (exponential_gain, linear_gain)


def log2_discount(ranks: jax.Array) -> jax.Array:
    """Returns `1 / log2(1 + rank)`: 1, 0.63, 0.5, …

    >>> [f"{weight:.5f}" for weight in log2_discount(jnp.array([1.0, 2.0, 3.0]))]
    ['1.00000', '0.63093', '0.50000']
    """
    return math.log(2) / jnp.log1p(ranks)


def log2_rank_discount(ranks: jax.Array) -> jax.Array:
    """Returns `1 / log2(max(rank, 2))`: 1, 1, 0.63, 0.5, …

    The first two ranks have the same weight. DCG was first defined with this discount, and
    the Fair Ranking track of TREC models attention by it.

    >>> [f"{weight:.5f}" for weight in log2_rank_discount(jnp.array([1.0, 2.0, 4.0]))]
    ['1.00000', '1.00000', '0.50000']

    References:
        Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques,
        ACM TOIS 20(4), 2002.
    """
    return math.log(2) / jnp.log(jnp.maximum(ranks, 2))


# Discounts that are never below 0 and start at 1. If items are in descending order of their
# gains and a gain is above 0, the sum of gains times discounts is above 0 too.
POSITIVE_DISCOUNTS = (log2_discount, log2_rank_discount)


@dataclasses.dataclass(frozen=True)
class log_discount:
    """Discount `1 / log_base(1 + rank)`; `log_discount(2)` is `log2_discount`.

    Discounts of the same base are equal, and so share one compilation.

    >>> [f"{weight:.5f}" for weight in log_discount(10)(jnp.array([9.0, 99.0]))]
    ['1.00000', '0.50000']

    Args:
        base: Base of the logarithm, above 1.

    Raises:
        ValueError: if the base is not above 1, or if it is infinite.
        TypeError: if the base is not a Python number.
    """

    base: types.Number

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
        """Returns the multipliers of ranks 1, 2, …"""
        return math.log(self.base) / jnp.log1p(ranks)


def discounts_of(discount_fn: types.Discount, ranks: jax.Array) -> jax.Array:
    """Returns one multiplier per rank, in the dtype of the ranks.

    A `discount_fn` that returns a scalar gives this multiplier to every rank.

    Raises:
        ValueError: if `discount_fn` returns neither one multiplier per rank nor a scalar.
    """
    return _elementwise(discount_fn, ranks, ("discount_fn", "multiplier", "rank"))


def _elementwise(
    function: types.Gain | types.Discount, x: jax.Array, names: tuple[str, str, str]
) -> jax.Array:
    """Applies a user's function; `names` are for the function, a result, an argument."""
    results, (name, result, argument) = arithmetic.as_real(function(x), x.dtype), names
    if results.shape not in ((), x.shape):
        raise ValueError(
            f"{name} gave {result}s of shape {results.shape} for {argument}s of shape "
            f"{x.shape}; return one {result} per {argument}"
        )
    return jnp.broadcast_to(results, x.shape)


def reciprocal_discount(ranks: jax.Array) -> jax.Array:
    """Returns `1 / rank`: 1, 0.5, 0.33, …

    >>> [f"{weight:.5f}" for weight in reciprocal_discount(jnp.array([1.0, 2.0, 3.0]))]
    ['1.00000', '0.50000', '0.33333']
    """
    return 1 / ranks


# The gains and discounts that names of metrics can spell.
FUNCTIONS: dict[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        exponential_gain,
        linear_gain,
        log2_discount,
        log2_rank_discount,
        log_discount,
        reciprocal_discount,
    )
}
