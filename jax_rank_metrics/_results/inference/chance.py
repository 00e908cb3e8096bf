"""Student's t and the studentised bootstrap, for many comparisons at once.

In every function, `[lists, comparisons]` arrays are float64 on the host, and all
comparisons share their random draws.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._ordering.keys import mix
from jax_rank_metrics._results.inference.resampling import (
    RESAMPLES,
    resampled,
    seeds_of,
)
from jax_rank_metrics._results.inference.sign_flips import ROUNDING
from jax_rank_metrics._states.intervals import student_quantiles

FEW = 64  # lists up to which resamples have exactly as many draws as there are lists


def studentised_bootstrap(
    values: np.ndarray,
    weights: np.ndarray,
    key: jax.Array,
    samples: int,
    level: float,
    alternative: Alternative = "two-sided",
) -> tuple[np.ndarray, np.ndarray]:
    """P values of weighted means, and how far their intervals reach from them.

    Each resample has its own standard error. Under the null hypothesis the statistic
    t* = (mean* − mean) / error* of a resample is distributed as t = mean / error is: p is
    the share of resamples with |t*| ≥ |t|, and the interval is mean ± q·error with q the
    quantile of |t*|, so that it excludes 0 where p is below 1 − level. Dividing by error*
    is what makes this hold for few lists, whose error is hardly known itself.

    One-sided tests compare t* itself with t, or −t* with −t: the interval of "greater"
    starts at mean − q·error, with q the quantile of t*, and that of "less" ends at
    mean + q·error, with q the quantile of −t*.

    A resample of fewer than two different lists has no error, and its t* is infinite:
    it never speaks against the null hypothesis.

    Args:
        values: `[lists, comparisons]`, not all equal in any comparison.
        weights: `[lists, comparisons]`, above 0 in at least two lists of each comparison.
        key: A typed PRNG key.
        samples: Number of resamples.
        level: Coverage of the intervals.
        alternative: The means to look for: any, above 0 or below 0.

    Returns:
        p, and the distance from the mean to both ends of the interval, or to its only
        end; `[comparisons]` each.

    References:
        Efron & Tibshirani, An introduction to the bootstrap, 1993, algorithm 16.2.
        Hall, On symmetric bootstrap confidence intervals, JRSS B 1988.
    """
    two_sided = alternative == "two-sided"
    values = -values if alternative == "less" else values
    weights = weights / weights.max(0)
    means = (weights * values).sum(0) / weights.sum(0)
    # Centred and scaled, so that the squares below hardly cancel in float32.
    residuals = np.where(weights > 0, values - means, 0)
    scales = np.abs(residuals).max(0)
    residuals = residuals / scales
    w, wr = weights, weights * residuals
    errors = scales * np.sqrt((wr * wr).sum(0)) / w.sum(0)
    columns = np.concatenate([w, wr, w * w, w * wr, wr * wr], axis=1)
    seeds = seeds_of(key, samples)
    t = _resampled_t(columns.astype(np.float32), seeds, samples, two_sided)
    return p_and_reach(
        np.asarray(t), np.abs(means) if two_sided else means, errors, level
    )


def p_and_reach(
    t: np.ndarray, means: np.ndarray, errors: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """P values of means by resampled statistics, and how far their intervals reach.

    Args:
        t: `[samples, comparisons]` float32, t* of every resample, or |t*| for two sides.
        means: `[comparisons]`, or their distance from 0 for two sides.
        errors: `[comparisons]`, the standard errors.
        level: Coverage of the intervals.
    """
    samples = len(t)
    threshold = np.float32((1 - np.sign(means) * ROUNDING) * means / errors)
    p = (1 + np.sum(t >= threshold, axis=0)) / (1 + samples)
    # NumPy interpolates even where there is nothing to interpolate, which would be NaN
    # between infinities. One column at a time needs no second copy of all columns.
    limit = np.float32(1e30)  # stands for infinity
    quantile = np.array(
        [np.quantile(np.minimum(x, limit), level, method="higher") for x in t.T]
    )
    return p, np.where(quantile < 1e30, quantile * errors, np.inf)


@partial(jax.jit, static_argnums=(2, 3))
def _resampled_t(
    columns: jax.Array, seeds: jax.Array, samples: int, two_sided: bool
) -> jax.Array:
    """t* of every resample, or |t*| for two sides, `[samples, comparisons]`.

    Args:
        columns: `[lists, 5 · comparisons]`: w, w·r, w², w²·r and w²·r² of the weights and
            the residuals.
        seeds: As of `seeds_of`.
        samples: Number of resamples.
        two_sided: Whether to forget the signs.
    """
    width = min(samples, RESAMPLES)
    blocks = -(-samples // width)
    padded = jnp.pad(seeds[1:], (0, blocks * width - samples)).reshape(blocks, width)

    def t_of_block(seeds_of_block: jax.Array) -> jax.Array:
        sums = sums_of_resamples(columns, seeds[:1], seeds_of_block)
        w, wr, w2, w2r, w2r2 = jnp.split(sums, 5, axis=1)
        shift = wr / jnp.where(w > 0, w, 1)  # mean* − mean
        squares = w2r2 - 2 * shift * w2r + shift * shift * w2
        # The squares of a single list cancel, up to rounding.
        has_error = squares > ROUNDING * (w2r2 + shift * shift * w2)
        error = jnp.sqrt(jnp.where(has_error, squares, 1)) / jnp.where(w > 0, w, 1)
        distance = jnp.abs(shift) if two_sided else shift
        return jnp.where(has_error, distance / error, jnp.inf)

    return lax.map(t_of_block, padded).reshape(blocks * width, -1)[:samples]


def sums_of_resamples(
    columns: jax.Array, shared_seed: jax.Array, seeds: jax.Array
) -> jax.Array:
    """Sums over the lists that each resample draws, `[samples, columns]`.

    Args:
        columns: `[lists, columns]`.
        shared_seed: `[1]`, the first of `seeds_of`.
        seeds: `[samples]`, those of these resamples.
    """
    lists = len(columns)
    if lists <= FEW:
        # Poisson draws, whose number varies, would leave out too many lists.
        counts = multinomial_counts(lists, shared_seed, seeds).astype(columns.dtype)
        return jnp.matmul(counts, columns, precision=lax.Precision.HIGHEST)
    ids = jnp.arange(lists, dtype=jnp.int32)
    return resampled(columns, ids, jnp.concatenate([shared_seed, seeds])).round()[1:]


def multinomial_counts(
    lists: int, shared_seed: jax.Array, seeds: jax.Array
) -> jax.Array:
    """Number of times that each list is drawn in n draws of n lists, `[samples, lists]`."""
    ids = jnp.arange(lists, dtype=jnp.uint32)
    words = mix(mix(ids ^ shared_seed)[None, :] + seeds[:, None])  # [samples, draws]
    draws = words % jnp.uint32(lists)
    return jnp.sum(draws[:, :, None] == ids[None, None, :], axis=1, dtype=jnp.int32)


def probability_of_one_list(lists: np.ndarray) -> np.ndarray:
    """Probability that n draws of n lists, with replacement, all draw the same list.

    That is n · (1 / n)ⁿ: 1 for no list or one, 1/2 for two, 1/9 for three.
    """
    lists = np.maximum(lists, 1).astype(np.float64)
    return lists ** (1 - lists)


def student_p(
    mean: np.ndarray,
    error: np.ndarray,
    freedom: np.ndarray,
    alternative: Alternative = "two-sided",
) -> np.ndarray:
    """P values of means with these standard errors, by Student's t.

    p is 1 where there are no degrees of freedom, and where both the mean and its error
    are 0. An error of 0 makes it 0 or 1 for any other mean.
    """
    from scipy.special import stdtr

    distance = {"greater": -mean, "less": mean}.get(alternative, -np.abs(mean))
    tails = 2 if alternative == "two-sided" else 1
    with np.errstate(divide="ignore", invalid="ignore"):
        p = tails * stdtr(freedom, distance / error)
    return np.where(((mean == 0) & (error == 0)) | ~(freedom > 0), 1, p)


def student_reach(
    error: np.ndarray,
    freedom: np.ndarray,
    level: float,
    alternative: Alternative = "two-sided",
) -> np.ndarray:
    """Distance from a mean to the ends of its interval of Student's t.

    A one-sided interval has one end, which is nearer. The distance is inf for no degrees
    of freedom, or hardly any.
    """
    if alternative != "two-sided":
        level = 2 * level - 1  # each end of this one is exceeded with 1 − level
    quantile = student_quantiles(freedom, level)
    is_finite = np.isfinite(quantile) & np.isfinite(error)
    margin = np.where(is_finite, quantile, 0) * np.where(is_finite, error, 0)
    return np.where(is_finite, margin, np.inf)
