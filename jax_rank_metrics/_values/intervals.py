"""Confidence intervals of a mean, from its standard error and effective sample size."""

from functools import lru_cache
from statistics import NormalDist
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jax_rank_metrics._ground import inputs, messages

# Below this many degrees of freedom, quantiles of Student's t count as infinite: at a
# level of 0.95, the quantile for 1/32 is already 10⁵¹.
MIN_FREEDOM = 1 / 32
DEGREE = 20  # of the polynomial that approximates these quantiles

# The messages of errors for the method "wilson".
NOT_PROPORTIONS = (
    "method is 'wilson', but the values are not all 0 or 1, or may lie outside [0, 1]; "
    "pass hits and misses as bools, or 't', or 'auto', which decides for each cutoff"
)
NOT_FOR_GEOMETRIC_MEANS = (
    "method is 'wilson', which is for proportions and not for a geometric mean; "
    "pass 't'"
)


@messages.short_errors()
def checked_level(level: Any) -> float:
    """Returns the level as a float.

    Raises:
        TypeError: if the level is not a single number, or is traced.
        ValueError: if the level is not in the open interval (0, 1).
    """
    fix = "pass a number between 0 and 1, such as 0.95"
    if isinstance(level, Tracer):
        raise TypeError(f"level is traced; {fix}, that is not an argument of jax.jit")
    if not inputs.is_scalar_number(level):
        raise TypeError(f"level is {level!r}; {fix}")
    number = float(level)
    if not 0 < number < 1:
        raise ValueError(f"level is {level!r}; {fix}")
    return number


def normal_quantile(level: float) -> float:
    """Returns half the width of a two-sided normal interval: 1.96 for a level of 0.95."""
    # Use the lower tail, because a float near 1 has too few digits for the upper tail.
    return -NormalDist().inv_cdf((1 - level) / 2)


def student_quantiles(freedom: np.ndarray, level: float) -> np.ndarray:
    """Returns half the widths of two-sided Student's t intervals, on the host.

    A half width is inf for fewer than `MIN_FREEDOM` degrees of freedom, and if it
    overflows.
    """
    from scipy.special import stdtrit  # takes a fifth of a second to import

    quantiles = -stdtrit(np.where(freedom > 0, freedom, 1), (1 - level) / 2)
    is_known = (freedom >= MIN_FREEDOM) & np.isfinite(quantiles)
    return np.where(is_known, quantiles, np.inf)


@lru_cache(maxsize=64)
def t_coefficients(level: float) -> np.ndarray:
    """Returns Chebyshev coefficients of the quantiles of Student's t at a level.

    With ν degrees of freedom and y = 1/(ν + 1), the function

        φ(y) = (1 − y) · log(t_ν / (z·√(1 − y)))

    is smooth from the normal quantile z (ν = ∞, y = 0) down to ν = `MIN_FREEDOM`:
    as ν approaches 0, log t_ν grows as 1/ν, that is as 1/(1 − y), and the square root
    removes a term log(ν)/2. It is interpolated at the Chebyshev nodes of that range.
    """
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    y = (nodes + 1) / (2 * (1 + MIN_FREEDOM))
    quantiles = student_quantiles(1 / y - 1, level)
    phi = (1 - y) * np.log(quantiles / (normal_quantile(level) * np.sqrt(1 - y)))
    return np.polynomial.chebyshev.chebfit(nodes, phi, DEGREE)


def t_quantile(freedom: jax.Array, z: jax.Array, coefficients: jax.Array) -> jax.Array:
    """Returns the quantile of Student's t for any real number of degrees of freedom.

    For levels up to 0.999, its error is within 1e-6 for at least 1 degree of freedom,
    and within 2e-5 for fewer. The quantile is infinite for fewer degrees of freedom
    than `MIN_FREEDOM`.

    Args:
        freedom: Degrees of freedom, above 0.
        z: The `normal_quantile` of the level.
        coefficients: The `t_coefficients` of the level.
    """
    finite = freedom >= MIN_FREEDOM
    freedom = jnp.where(finite, freedom, 1)
    y = 1 / (freedom + 1)
    node = 2 * (1 + MIN_FREEDOM) * y - 1
    # Clenshaw's recurrence for Σ coefficients[i]·T_i(node).
    last = previous = jnp.zeros_like(node)
    for i in range(DEGREE, 0, -1):
        last, previous = 2 * node * last - previous + coefficients[i], last
    phi = node * last - previous + coefficients[0]
    complement = freedom * y  # 1 − y, without cancellation
    quantile = z * jnp.sqrt(complement) * jnp.exp(phi / complement)
    return jnp.where(finite, quantile, jnp.inf)


def symmetric(
    mean: Any, error: Any, quantile: Any, xp: ModuleType = jnp
) -> tuple[Any, Any]:
    """Returns `mean ± quantile·error`; −inf to inf if either factor is infinite.

    `xp` is the library of the arrays: `jax.numpy`, or `numpy` on the host.
    """
    finite = xp.isfinite(error) & xp.isfinite(quantile)
    # Neither 0·inf nor inf − inf is ever computed.
    margin = xp.where(finite, error, 0) * xp.where(finite, quantile, 0)
    low, high = mean - margin, mean + margin
    return xp.where(finite, low, -xp.inf), xp.where(finite, high, xp.inf)


def wilson(mean: Any, size: Any, z: Any, xp: ModuleType = jnp) -> tuple[Any, Any]:
    """Returns the score interval of a proportion; 0 to 1 for a sample of size 0.

    `xp` is the library of the arrays, as for `symmetric`.
    """
    mean = xp.where(size > 0, mean, 0)
    total = size + z * z
    centre = (mean * size + z * z / 2) / total
    spread = xp.maximum(mean * (1 - mean), 0) * size + z * z / 4
    margin = z * xp.sqrt(spread) / total
    return xp.maximum(centre - margin, 0), xp.minimum(centre + margin, 1)
