"""Tests of differences against chance, for many comparisons at once.

In every function, `[lists, comparisons]` arrays are float64 on the host, and all
comparisons share their random draws.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._ordering.keys import mix
from jax_rank_metrics._results.resampling import RESAMPLES, resampled, seeds_of
from jax_rank_metrics._states.intervals import student_quantiles

SIGNS = 2**20  # random signs that exist at once: 4 MiB of floats
FEW = 64  # lists up to which resamples have exactly as many draws as there are lists
# Sums that differ by less than this share of Σ|x| are equal: adding single floats in
# another order may change a sum by as much.
ROUNDING = 1e-6


def sign_flip_test(
    terms: np.ndarray, key: jax.Array, samples: int
) -> tuple[np.ndarray, int]:
    """P values of the sums of `terms` under random changes of their signs.

    If it made no difference which system is which, each list's term might as well have
    had the other sign. p is the share of sign patterns under which the sum is at least as
    far from 0 as the observed sum.

    Args:
        terms: `[lists, comparisons]`, the weighted difference of each list.
        key: A typed PRNG key.
        samples: Number of sign patterns to draw. All 2ⁿ of them are used instead where
            they are no more than this, n being the lists with a term other than 0.

    Returns:
        The p values, and the number of random patterns: 0 where all were used. The
        pattern that changes no sign counts as one more sample, so that p is at least
        1 / (1 + samples).
    """
    largest = np.abs(terms).max(0, initial=0)
    terms = terms / np.maximum(largest, np.finfo(np.float64).tiny)
    terms = terms[(terms != 0).any(1)]  # the sign of a zero changes nothing
    threshold = np.abs(terms.sum(0)) - ROUNDING * np.abs(terms).sum(0)
    lists, comparisons = terms.shape
    if 2**lists <= samples:
        p = [
            np.mean(np.abs(_all_flipped_sums(column)) >= bound)
            for column, bound in zip(terms.T, threshold, strict=True)
        ]
        return np.array(p), 0
    rows = min(1 << (lists - 1).bit_length(), 1024)
    padded = np.pad(terms.astype(np.float32), ((0, -lists % rows), (0, 0)))
    chunks = padded.reshape(-1, rows, comparisons)
    counts = _count_extreme_sums(chunks, threshold.astype(np.float32), key, samples)
    return (1 + np.asarray(counts)) / (1 + samples), samples


def _all_flipped_sums(terms: np.ndarray) -> np.ndarray:
    """Sums of n terms, `[lists]`, under all 2ⁿ sign patterns, the unchanged one first."""
    sums = np.zeros(1)
    for term in terms:
        sums = np.concatenate([sums + term, sums - term])
    return sums


@partial(jax.jit, static_argnums=3)
def _count_extreme_sums(
    chunks: jax.Array, threshold: jax.Array, key: jax.Array, samples: int
) -> jax.Array:
    """Number of sign patterns whose |sum| reaches the threshold, `[comparisons]`."""
    patterns = _patterns_per_block(chunks)

    def add_block(counts: jax.Array, block: jax.Array) -> tuple[jax.Array, None]:
        sums = _flipped_sums(chunks, random.fold_in(key, block))
        # The last block is cut to the number of samples.
        is_sample = block * patterns + jnp.arange(patterns) < samples
        is_extreme = (jnp.abs(sums) >= threshold[None, :]) & is_sample[:, None]
        return counts + jnp.sum(is_extreme, axis=0, dtype=jnp.int32), None

    # Only counts are carried, so that memory does not grow with the samples.
    start = jnp.zeros(chunks.shape[2], jnp.int32)
    blocks = jnp.arange(-(-samples // patterns))
    return lax.scan(add_block, start, blocks)[0]


def _patterns_per_block(chunks: jax.Array) -> int:
    # Neither signs, `[patterns, rows]`, nor sums, `[patterns, comparisons]`, become large.
    _, rows, comparisons = chunks.shape
    return 32 * max(SIGNS // max(rows, comparisons) // 32, 1)


def _flipped_sums(chunks: jax.Array, key: jax.Array) -> jax.Array:
    """Sums over all lists under a block of random sign patterns.

    Args:
        chunks: `[chunks, rows, comparisons]` float32, the terms of all lists.
        key: The key of the block.

    Returns:
        `[patterns, comparisons]`.
    """
    chunk_count, rows, comparisons = chunks.shape
    patterns = _patterns_per_block(chunks)
    bit = jnp.arange(32, dtype=jnp.uint32)[:, None, None]
    sign_bit, plus_one = (
        lax.bitcast_convert_type(jnp.float32(x), jnp.uint32) for x in (-0.0, 1.0)
    )

    def add_chunk(
        sums: jax.Array, chunk: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, None]:
        index, terms = chunk
        # Each of the 32 bits of a word is the sign of one list in another pattern:
        # shifted to the sign bit of a float, it turns 1.0 into ±1.0.
        shape = (patterns // 32, rows)
        words = random.bits(random.fold_in(key, index), shape, jnp.uint32)
        signs = (words[None] << bit) & sign_bit | plus_one  # [32, words, rows]
        signs = lax.bitcast_convert_type(signs, jnp.float32).reshape(patterns, rows)
        # Random signs keep the sums small, so that plain float32 sums lose nothing.
        return sums + jnp.matmul(signs, terms, precision=lax.Precision.HIGHEST), None

    start = jnp.zeros((patterns, comparisons), chunks.dtype)
    indices = jnp.arange(chunk_count, dtype=jnp.uint32)
    return lax.scan(add_chunk, start, (indices, chunks))[0]


def studentised_bootstrap(
    values: np.ndarray, weights: np.ndarray, key: jax.Array, samples: int, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """P values of weighted means, and half the widths of their intervals.

    Each resample has its own standard error. Under the null hypothesis the statistic
    t* = (mean* − mean) / error* of a resample is distributed as t = mean / error is: p is
    the share of resamples with |t*| ≥ |t|, and the interval is mean ± q·error with q the
    quantile of |t*|, so that it excludes 0 where p is below 1 − level. Dividing by error*
    is what makes this hold for few lists, whose error is hardly known itself.

    A resample of fewer than two different lists has no error, and its |t*| is infinite:
    it never speaks against the null hypothesis.

    Args:
        values: `[lists, comparisons]`, not all equal in any comparison.
        weights: `[lists, comparisons]`, above 0 in at least two lists of each comparison.
        key: A typed PRNG key.
        samples: Number of resamples.
        level: Coverage of the intervals.

    References:
        Efron & Tibshirani, An introduction to the bootstrap, 1993, algorithm 16.2.
        Hall, On symmetric bootstrap confidence intervals, JRSS B 1988.
    """
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
    t = np.asarray(_resampled_t(columns.astype(np.float32), seeds, samples))
    threshold = np.float32((1 - ROUNDING) * np.abs(means) / errors)
    p = (1 + np.sum(t >= threshold, axis=0)) / (1 + samples)
    # NumPy interpolates even where there is nothing to interpolate, which would be NaN
    # between infinities. One column at a time needs no second copy of all columns.
    limit = np.float32(1e30)  # stands for infinity
    quantile = np.array(
        [np.quantile(np.minimum(x, limit), level, method="higher") for x in t.T]
    )
    return p, np.where(quantile < 1e30, quantile * errors, np.inf)


@partial(jax.jit, static_argnums=2)
def _resampled_t(columns: jax.Array, seeds: jax.Array, samples: int) -> jax.Array:
    """|t*| of every resample, `[samples, comparisons]`.

    Args:
        columns: `[lists, 5 · comparisons]`: w, w·r, w², w²·r and w²·r² of the weights and
            the residuals.
        seeds: As of `seeds_of`.
        samples: Number of resamples.
    """
    lists = columns.shape[0]
    ids = jnp.arange(lists, dtype=jnp.int32)
    width = min(samples, RESAMPLES)
    blocks = -(-samples // width)
    padded = jnp.pad(seeds[1:], (0, blocks * width - samples)).reshape(blocks, width)

    def t_of_block(seeds_of_block: jax.Array) -> jax.Array:
        if lists <= FEW:
            # Poisson draws, whose number varies, would leave out too many lists.
            counts = _multinomial_counts(lists, seeds[0], seeds_of_block)
            counts = counts.astype(columns.dtype)
            sums = jnp.matmul(counts, columns, precision=lax.Precision.HIGHEST)
        else:
            block_seeds = jnp.concatenate([seeds[:1], seeds_of_block])
            sums = resampled(columns, ids, block_seeds).round()[1:]
        w, wr, w2, w2r, w2r2 = jnp.split(sums, 5, axis=1)
        shift = wr / jnp.where(w > 0, w, 1)  # mean* − mean
        squares = w2r2 - 2 * shift * w2r + shift * shift * w2
        # The squares of a single list cancel, up to rounding.
        has_error = squares > ROUNDING * (w2r2 + shift * shift * w2)
        error = jnp.sqrt(jnp.where(has_error, squares, 1)) / jnp.where(w > 0, w, 1)
        return jnp.where(has_error, jnp.abs(shift) / error, jnp.inf)

    return lax.map(t_of_block, padded).reshape(blocks * width, -1)[:samples]


def _multinomial_counts(
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


def student_p(mean: np.ndarray, error: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """P values of means with these standard errors, by Student's t.

    p is 1 where the mean is 0 or there are no degrees of freedom; elsewhere, an error of
    0 makes it 0.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(freedom, -np.abs(mean) / error)
    return np.where((mean == 0) | ~(freedom > 0), 1, p)


def student_margin(error: np.ndarray, freedom: np.ndarray, level: float) -> np.ndarray:
    """Half the width of an interval of Student's t; inf for no degrees of freedom."""
    quantile = student_quantiles(freedom, level)
    is_finite = np.isfinite(quantile) & np.isfinite(error)
    margin = np.where(is_finite, quantile, 0) * np.where(is_finite, error, 0)
    return np.where(is_finite, margin, np.inf)


def holm(p: np.ndarray) -> np.ndarray:
    """Corrects p values `[comparisons]` for their number.

    The smallest of n is multiplied by n, the next by n − 1, and so on; no corrected value
    is below that of a smaller p, and none exceeds 1.
    """
    remaining = np.sum(p[None, :] >= p[:, None], axis=1)
    is_before = p[None, :] <= p[:, None]
    corrected = np.max(np.where(is_before, p * remaining, 0), axis=1, initial=0)
    return np.minimum(corrected, 1)
