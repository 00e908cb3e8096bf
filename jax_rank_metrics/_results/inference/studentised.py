"""The studentised bootstrap, over lists and over training seeds where there are any.

Each resample has its own standard error. Under the null hypothesis the statistic
t* = (mean* − mean) / error* of a resample is distributed as t = mean / error is: p is the
share of resamples with |t*| ≥ |t|, and the interval is mean ± q·error with q the quantile
of |t*|, so that it excludes 0 where p is below 1 − level. Dividing by error* is what makes
this hold for few lists, whose error is hardly known itself.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._results.inference.draws import (
    FEW,
    RESAMPLES,
    draws_of_seeds,
    in_blocks,
    seeds_of,
    sums_of_resamples,
)
from jax_rank_metrics._results.inference.means import seed_variance
from jax_rank_metrics._states.weights import ROUNDING

SUMS = 2**22  # sums over lists that exist at once: 16 MiB of floats
INFINITE = np.float32(
    1e30
)  # stands for an infinite t*, since NumPy's quantiles subtract


def studentised_bootstrap(
    sides: Sequence[Sequence[np.ndarray]],
    weights: np.ndarray,
    shift: float,
    key: jax.Array,
    samples: int,
    level: float,
    alternative: Alternative = "two-sided",
) -> tuple[np.ndarray, np.ndarray]:
    """P values of weighted means of differences, and how far their intervals reach.

    One-sided tests compare t* itself with t, or −t* with −t: the interval of "greater"
    starts at mean − q·error, with q the quantile of t*, and that of "less" ends at
    mean + q·error, with q the quantile of −t*.

    Each resample draws lists, which both sides share, and the seeds of each side (the
    pigeonhole bootstrap), and has its own two-way standard error. Undivided by it, means
    of few seeds would vary too little: five seeds have 4/5 of the variance that they
    should, and three 2/3.

    A resample of fewer than two different lists, and of one seed, has no error, and its t*
    is infinite: it never speaks against the null hypothesis.

    Args:
        sides: For each comparison, the values of a and b, `[seeds, lists]`, or a single
            side of differences, `[1, lists]`; all comparisons have as many seeds. They
            vary in each comparison.
        weights: `[lists, comparisons]`, above 0 in at least two lists of each comparison.
            Lists of weight 0 are not drawn. Comparisons of at most `FEW` lists that count
            have equally many of them.
        shift: What to add to the differences.
        key: A typed PRNG key. Comparisons share their draws.
        samples: Number of resamples.
        level: Coverage of the intervals.
        alternative: The differences to look for: any, above 0 or below 0.

    Returns:
        p, and the distance from the mean to both ends of the interval, or to its only
        end; `[comparisons]` each.

    References:
        Efron & Tibshirani, An introduction to the bootstrap, 1993, algorithm 16.2.
        Hall, On symmetric bootstrap confidence intervals, JRSS B 1988.
        Owen, The pigeonhole bootstrap, Annals of Applied Statistics 2007.
    """
    sides, weights = _counted_first(sides, weights)
    sizes = tuple(map(len, sides[0]))
    # b − a below 0, which "less" asks for, is a − b above 0.
    sign = -1 if alternative == "less" else 1
    of_sides = [sign * np.stack(side) for side in zip(*sides, strict=True)]
    if len(of_sides) == 2:
        # What all seeds have in common in a list cancels.
        common = np.concatenate(of_sides, axis=1).mean(1, keepdims=True)
        of_sides = [common - of_sides[0], of_sides[1] - common]
    # At most 1, so that their squares stay within float32.
    weights = weights.T / weights.max(0)[:, None]
    share = weights / weights.sum(1, keepdims=True)
    factor = 1 / (1 - (share**2).sum(1))  # n_eff / (n_eff − 1)
    scores = [np.einsum("csl,cl->cs", x, share) for x in of_sides]
    residuals = [
        np.where(weights[:, None] > 0, x - means[..., None], 0)
        for x, means in zip(of_sides, scores, strict=True)
    ]
    of_lists = sum(x.mean(1) for x in residuals)
    of_seeds = sum(seed_variance(x) for x in scores)
    errors = np.sqrt(of_seeds + factor * (share**2 * of_lists**2).sum(1))
    means = np.sum([x.mean(1) for x in scores], axis=0) + sign * shift
    # Centred and scaled, so that squares hardly cancel in float32, and none vanishes.
    centred = np.concatenate([x - x.mean(1, keepdims=True) for x in scores], axis=1)
    all_residuals = np.concatenate(residuals, axis=1)
    scales = np.maximum(np.abs(all_residuals).max((1, 2)), np.abs(centred).max(1))
    # Lists are drawn as by `bootstrap` of this key, and the seeds of each side apart.
    counts = [
        draws_of_seeds(size, samples, side_key)
        for size, side_key in zip(sizes, random.split(key, len(sizes)), strict=True)
    ]
    arrays = (
        np.moveaxis(all_residuals / scales[:, None, None], 2, 0),
        weights.T,
        centred / scales[:, None],
        factor,
        np.concatenate(counts, axis=1),
    )
    arrays = [x.astype(np.float32) for x in arrays]
    t = np.asarray(_resampled_t(*arrays, seeds_of(key, samples), sizes))
    return p_and_reach(t, means, errors, level, alternative)


def _counted_first(
    sides: Sequence[Sequence[np.ndarray]], weights: np.ndarray
) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """Puts the lists that count first in each comparison; arguments as of the bootstrap.

    Few of them are left alone, since a resample draws as many lists as there are. Among
    many, each list has draws of its own by its position, and others behind them add zeros.
    """
    counts = weights.T > 0
    order = np.array([np.append(np.nonzero(x), np.nonzero(~x)) for x in counts]).T
    counted = np.sum(weights > 0, axis=0).max()
    order = order[:counted] if counted <= FEW else order
    weights = np.take_along_axis(weights, order, 0)
    return [
        [x[:, of_side] for x in side]
        for side, of_side in zip(sides, order.T, strict=True)
    ], weights


def p_and_reach(
    t: np.ndarray,
    means: np.ndarray,
    errors: np.ndarray,
    level: float,
    alternative: Alternative,
) -> tuple[np.ndarray, np.ndarray]:
    """P values of means by resampled statistics, and how far their intervals reach.

    Args:
        t: `[samples, comparisons]` float32, t* of every resample; −t* for "less".
        means: `[comparisons]`, with the sign of t*.
        errors: `[comparisons]`, the standard errors.
        level: Coverage of the intervals.
        alternative: As of `studentised_bootstrap`.
    """
    if alternative == "two-sided":
        t, means = np.abs(t), np.abs(means)
    # A little nearer to 0 than t: t* that equal it up to float32 rounding reach it.
    threshold = np.float32((1 - np.sign(means) * ROUNDING) * means / errors)
    # The data are one more resample, so that p is never 0.
    p = (1 + np.sum(t >= threshold, axis=0)) / (1 + len(t))
    # One column at a time needs no second copy of all columns.
    quantile = np.array(
        [np.quantile(np.minimum(x, INFINITE), level, method="higher") for x in t.T]
    )
    return p, np.where(quantile < INFINITE, quantile * errors, np.inf)


@partial(jax.jit, static_argnums=6)
def _resampled_t(
    residuals: jax.Array,
    weights: jax.Array,
    scores: jax.Array,
    factor: jax.Array,
    seed_counts: jax.Array,
    seeds: jax.Array,
    sizes: tuple[int, ...],
) -> jax.Array:
    """t* of every resample, `[samples, comparisons]`.

    Args:
        residuals: `[lists, comparisons, seeds]`, of the mean of each seed.
        weights: `[lists, comparisons]`.
        scores: `[comparisons, seeds]`, the mean of each seed less that of its side.
        factor: `[comparisons]`, n_eff / (n_eff − 1).
        seed_counts: `[samples, seeds]`, how often each seed is drawn.
        seeds: As of `seeds_of`.
        sizes: Number of seeds of each side.
    """
    lists, comparisons, seed_count = residuals.shape
    # Of sums over lists, those of squares of mixtures need each pair of seeds.
    first, second = np.triu_indices(seed_count)
    multiplicity = np.where(first == second, 1, 2).astype(np.float32)
    w = weights[..., None]
    products = w * w * residuals[..., first] * residuals[..., second]
    columns = [w, w * w, w * residuals, w * w * residuals, products]
    columns = jnp.concatenate(columns, axis=2)
    # Σ w and Σ w², then Σ wr and Σ w²r of each seed; Σ w²rr of pairs is what remains.
    ends = np.cumsum([1, 1, seed_count, seed_count])
    samples = len(seed_counts)
    width = max(min(samples, RESAMPLES, SUMS // (comparisons * columns.shape[2])), 1)
    shares = np.repeat([1 / size for size in sizes], sizes).astype(np.float32)
    of_sides = np.split(np.arange(seed_count), np.cumsum(sizes)[:-1])
    varied = [side for side in of_sides if len(side) > 1]  # the others are fixed

    def t_of_block(block: tuple[jax.Array, jax.Array]) -> jax.Array:
        block_seeds, counts = block
        sums = sums_of_resamples(columns.reshape(lists, -1), seeds[0], block_seeds)
        sums = sums.reshape(width, comparisons, -1)
        w, w2, wr, w2r, w2rr = jnp.split(sums, ends, axis=2)
        w, w2 = w[..., 0], w2[..., 0]
        total = jnp.where(w > 0, w, 1)
        mixture = (counts * shares[None])[:, None, :]  # how much of each seed is drawn
        shift = (mixture * wr).sum(2) / total  # of lists: their mean* − mean
        pairs = mixture[..., first] * mixture[..., second] * multiplicity[None, None]
        squares = (pairs * w2rr).sum(2)
        centred = squares - 2 * shift * (mixture * w2r).sum(2) + shift * shift * w2
        # The squares of a single list cancel, up to rounding.
        has_error = centred > ROUNDING * (squares + shift * shift * w2)
        variance = jnp.where(has_error, factor[None] * centred / total**2, 0)
        drawn_scores = scores[None] + wr / total[..., None]
        for side in varied:
            drawn, x = counts[:, None, side], drawn_scores[..., side]
            mean = (drawn * x).sum(2, keepdims=True) / len(side)
            spread = (drawn * (x - mean) ** 2).sum(2)
            variance += spread / (len(side) * (len(side) - 1))
        change = (mixture * scores[None]).sum(2) + shift
        return jnp.where(variance > 0, change / jnp.sqrt(variance), jnp.inf)

    blocks = in_blocks(seeds[1:], width), in_blocks(seed_counts, width)
    return lax.map(t_of_block, blocks).reshape(-1, comparisons)[:samples]


def probability_of_one_list(lists: np.ndarray) -> np.ndarray:
    """Probability that n draws of n lists, with replacement, all draw the same list.

    That is n · (1 / n)ⁿ: 1 for no list or one, 1/2 for two, 1/9 for three.
    """
    lists = np.maximum(lists, 1).astype(np.float64)
    return lists ** (1 - lists)
