"""Student's t on the host, for any real number of degrees of freedom.

SciPy has the same functions, and takes a fifth of a second to import.
"""

import math
from functools import lru_cache
from statistics import NormalDist

_PRECISION = 1e-15

# From here on, Student's t is a normal distribution to eight digits.
_MAX_FREEDOM = 1e8


def normal_quantile(level: float) -> float:
    """Returns half the width of a two-sided normal interval: 1.96 for a level of 0.95."""
    # Read off the lower tail, since a probability near 1 has too few digits.
    return -NormalDist().inv_cdf((1 - level) / 2)


@lru_cache(maxsize=1024)
def t_quantile(freedom: float, level: float) -> float:
    """Returns half the width of a two-sided interval at a level; inf beyond floats.

    >>> f"{t_quantile(2.0, 0.95):.4f}"
    '4.3027'
    """
    # Newton's method for log p as a function of log t. The function is concave, so that
    # no step after the first one crosses the root.
    freedom = min(freedom, _MAX_FREEDOM)
    log_t, log_p = math.log(normal_quantile(level)), math.log1p(-level)
    for _ in range(50):
        density = _log_density(log_t, freedom)
        tail = log_two_sided_p(math.exp(log_t), freedom)
        step = (tail - log_p) * math.exp(tail - density - log_t) / 2
        log_t += step
        if log_t > 700:
            return math.inf
        if abs(step) < 1e-13:
            break
    return math.exp(log_t)


def log_two_sided_p(t: float, freedom: float) -> float:
    """Returns the logarithm of the probability of values beyond −t or t; t is above 0.

    >>> f"{math.exp(log_two_sided_p(4.302653, 2.0)):.4f}"
    '0.0500'
    """
    if t == math.inf:
        return -math.inf
    freedom = min(freedom, _MAX_FREEDOM)
    # The probability is the incomplete beta function of freedom/2, 1/2 and 1/(1 + ratio).
    a, ratio = freedom / 2, t / freedom * t
    x = 1 / (1 + ratio)
    log_factor = _log_density(math.log(t), freedom) + math.log(t)
    if x < (a + 1) / (a + 2.5):
        return log_factor - math.log(a) + math.log(_beta_fraction(a, 0.5, x))
    y = ratio / (1 + ratio)
    return math.log1p(-2 * math.exp(log_factor) * _beta_fraction(0.5, a, y))


def _log_density(log_t: float, freedom: float) -> float:
    """Returns the logarithm of the density at t."""
    a = freedom / 2
    if a > 1e4:  # the difference of two large numbers has too few digits
        log_scale = -1 / (8 * a)
    else:
        log_scale = math.lgamma(a + 0.5) - math.lgamma(a) - math.log(a) / 2
    square = math.exp(2 * log_t) / freedom if log_t < 300 else math.inf
    log_power = (
        math.log1p(square) if square < math.inf else 2 * log_t - math.log(freedom)
    )
    return log_scale - math.log(2 * math.pi) / 2 - (a + 0.5) * log_power


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Returns the continued fraction of the incomplete beta function, by Lentz's method.

    References:
        Press, Teukolsky, Vetterling & Flannery, Numerical Recipes, section 6.4.
    """
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction, factor, m = d, 0.0, 0
    while abs(factor - 1) > _PRECISION:
        m += 1
        n = a + 2 * m
        for term in (
            m * (b - m) * x / ((n - 1) * n),
            -(a + m) * (a + b + m) * x / (n * (n + 1)),
        ):
            d, c = 1 / (1 + term * d), 1 + term / c
            factor = c * d
            fraction *= factor
    return fraction
