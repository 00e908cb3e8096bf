"""Intervals of a mean, from the mean, its standard error and the number of lists."""

from statistics import NormalDist
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

# Degrees of freedom up to which quantiles of Student's t are tabulated.
TABULATED = 40


def checked_level(level: Any) -> float:
    """A static number between 0 and 1."""
    fix = "pass a number between 0 and 1, such as 0.95"
    if isinstance(level, Tracer):
        raise TypeError(f"level is traced; {fix}, that is no argument of jax.jit")
    if isinstance(level, str) or not hasattr(level, "__float__") or jnp.ndim(level):
        raise TypeError(f"level is {level!r}; {fix}")
    number = float(level)
    if not 0 < number < 1:
        raise ValueError(f"level is {level!r}; {fix}")
    return number


def normal_quantile(level: float) -> float:
    """How many standard errors to each side a normal interval reaches."""
    # Of the lower tail: near 1 the upper one has too few digits.
    return -NormalDist().inv_cdf((1 - level) / 2)


def t_quantiles(level: float) -> np.ndarray:
    """The same for Student's t with 1, 2, …, `TABULATED` degrees of freedom."""
    from scipy.special import stdtrit  # a quarter of a second to import

    return -stdtrit(np.arange(1.0, TABULATED + 1), (1 - level) / 2)


def t_quantile(freedom: jax.Array, z: jax.Array, table: jax.Array) -> jax.Array:
    """The quantile for any number of degrees of freedom, to 1e-6 up to a level of 0.999.

    From the table of `t_quantiles`, and beyond it the first terms of a series around the
    normal quantile `z`: Abramowitz & Stegun, Handbook of Mathematical Functions, 1964,
    26.7.5.
    """
    few = jnp.clip(freedom, 1, TABULATED).astype(jnp.int32) - 1
    x = 1 / jnp.maximum(freedom, TABULATED)
    s = z * z
    terms = (
        (s + 1) / 4,
        ((5 * s + 16) * s + 3) / 96,
        (((3 * s + 19) * s + 17) * s - 15) / 384,
        ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    series = jnp.ones_like(x)
    for power, term in enumerate(terms, 1):
        series = series + term * x**power
    return jnp.where(freedom > TABULATED, z * series, table[few])


def around(mean: jax.Array, margin: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`mean ± margin`; everything where the margin is infinite."""
    some = jnp.isfinite(margin)  # an infinite mean less an infinite margin is NaN
    low, high = mean - margin, mean + margin
    return jnp.where(some, low, -jnp.inf), jnp.where(some, high, jnp.inf)


def wilson(
    mean: jax.Array, lists: jax.Array, z: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The score interval of a share of `lists`; [0, 1] where there are none."""
    total = lists + z * z
    middle = (mean * lists + z * z / 2) / total
    spread = jnp.maximum(mean * (1 - mean), 0) * lists + z * z / 4
    margin = z * jnp.sqrt(spread) / total
    return jnp.maximum(middle - margin, 0), jnp.minimum(middle + margin, 1)
