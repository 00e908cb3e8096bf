"""The studentised bootstrap: over lists and training seeds, and of judged lists.

Each resample has its own standard error. Under the null hypothesis the statistic
t* = (mean* − mean) / error* of a resample is distributed as t = mean / error is: p is the
share of resamples with |t*| ≥ |t|, and the interval is mean ± q·error with q the quantile
of |t*|, so that it excludes 0 where p is below 1 − level. Dividing by error* is what makes
this hold for few lists, whose error is hardly known itself.

t* does not depend on what is asked: the same resamples answer questions of either side, of
any level, and of means that are shifted.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._ground import choices
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._values import list_arrays
from jax_rank_metrics._verdicts.inference import resample, weighted_means
from jax_rank_metrics._verdicts.inference.judges import JudgedLists

SUMS = 2**22  # sums over lists that exist at once: 16 MiB of floats
# Stands for an infinite t*, since NumPy's quantiles subtract.
INFINITE = np.float32(1e30)
# t* of every resample, `[samples, columns]` float32, with the mean of each column and its
# standard error, `[columns]` each.
Resamples = tuple[np.ndarray, np.ndarray, np.ndarray]


def studentised_bootstrap(
    sides: Sequence[Sequence[np.ndarray]],
    weights: np.ndarray,
    key: jax.Array,
    samples: int,
) -> Resamples:
    """Resamples weighted means of differences.

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
        key: A typed PRNG key. Comparisons share their draws.
        samples: Number of resamples.

    References:
        Efron & Tibshirani, An introduction to the bootstrap, 1993, algorithm 16.2.
        Hall, On symmetric bootstrap confidence intervals, JRSS B 1988.
        Owen, The pigeonhole bootstrap, Annals of Applied Statistics 2007.
    """
    sides, weights = _counted_first(sides, weights)
    sizes = tuple(map(len, sides[0]))
    of_sides = [np.stack(side) for side in zip(*sides, strict=True)]
    if len(of_sides) == 2:
        # What all seeds have in common in a list cancels.
        common = np.concatenate(of_sides, axis=1).mean(1, keepdims=True)
        of_sides = [common - of_sides[0], of_sides[1] - common]
    # At most 1, so that their squares stay within float32.
    weights = weights.T / weights.max(0)[:, None]
    share = weights / weights.sum(1, keepdims=True)
    factor = 1 / (1 - (share**2).sum(1))  # n_eff / (n_eff − 1)
    scores = [np.einsum("csl,cl->cs", side, share) for side in of_sides]
    residuals = [
        np.where(weights[:, None] > 0, side - means[..., None], 0)
        for side, means in zip(of_sides, scores, strict=True)
    ]
    of_lists = sum(side.mean(1) for side in residuals)
    of_seeds = sum(weighted_means.seed_variance(side) for side in scores)
    errors = np.sqrt(of_seeds + factor * (share**2 * of_lists**2).sum(1))
    means = np.sum([side.mean(1) for side in scores], axis=0)
    # Centred and scaled, so that squares hardly cancel in float32, and none vanishes.
    centred = [side - side.mean(1, keepdims=True) for side in scores]
    centred = np.concatenate(centred, axis=1)
    all_residuals = np.concatenate(residuals, axis=1)
    scales = np.maximum(np.abs(all_residuals).max((1, 2)), np.abs(centred).max(1))
    # Lists are drawn as by `bootstrap` of this key, and the seeds of each side apart.
    counts = [
        resample.draws_of_seeds(size, samples, side_key)
        for size, side_key in zip(sizes, random.split(key, len(sizes)), strict=True)
    ]
    arrays = (
        np.moveaxis(all_residuals / scales[:, None, None], 2, 0),
        weights.T,
        centred / scales[:, None],
        factor,
        np.concatenate(counts, axis=1),
    )
    arrays = [array.astype(np.float32) for array in arrays]
    t = np.asarray(_resampled_t(*arrays, resample.seeds_of(key, samples), sizes))
    return t, means, errors


def _counted_first(
    sides: Sequence[Sequence[np.ndarray]], weights: np.ndarray
) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """Puts the lists that count first in each comparison; arguments as of the bootstrap.

    Few of them are left alone, since a resample draws as many lists as there are. Among
    many, each list has draws of its own by its position, and others behind them add zeros.
    """
    counts = weights.T > 0
    order = np.array([np.append(np.nonzero(row), np.nonzero(~row)) for row in counts]).T
    counted = np.sum(weights > 0, axis=0).max()
    order = order[:counted] if counted <= resample.FEW else order
    weights = np.take_along_axis(weights, order, 0)
    return [
        [values[:, of_side] for values in side]
        for side, of_side in zip(sides, order.T, strict=True)
    ], weights


def resampled_p(
    resamples: Resamples, shift: float, alternative: choices.Alternative
) -> np.ndarray:
    """P values of shifted means by their resamples.

    One-sided tests compare t* itself with t, or −t* with −t.

    Args:
        resamples: The resamples.
        shift: What to add to the means.
        alternative: The means to look for: any, above 0 or below 0.
    """
    t, means, errors = resamples
    means = _TURNS[alternative](means + shift)
    # A little nearer to 0 than t: t* that equal it up to float32 rounding reach it.
    nearer = (1 - np.sign(means) * list_arrays.ROUNDING) * means
    thresholds = (nearer / errors).astype(np.float32)
    columns = zip(t.T, thresholds, strict=True)
    reached = [np.sum(_turned(drawn, alternative) >= limit) for drawn, limit in columns]
    # The data are one more resample, so that p is never 0.
    return (1 + np.array(reached)) / (1 + len(t))


def resampled_reach(
    resamples: Resamples, level: float, alternative: choices.Alternative
) -> np.ndarray:
    """Distance from a mean to both ends of its interval, or to its only end.

    The interval of "greater" starts at mean − q·error, with q the quantile of t*, and that
    of "less" ends at mean + q·error, with q the quantile of −t*.
    """
    t, _, errors = resamples
    # One column at a time needs no second copy of all columns.
    draws = (np.minimum(_turned(draw, alternative), INFINITE) for draw in t.T)
    quantile = np.array([np.quantile(draw, level, method="higher") for draw in draws])
    return np.where(quantile < INFINITE, quantile * errors, np.inf)


# A mean below 0, which "less" asks for, is its negative above 0.
_TURNS = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}


def _turned(t: np.ndarray, alternative: choices.Alternative) -> np.ndarray:
    """Turns t* to the side of the alternative; where it is infinite, it stays so."""
    return np.where(np.isinf(t), t, _TURNS[alternative](t))


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
    width = max(
        min(samples, resample.RESAMPLES, SUMS // (comparisons * columns.shape[2])), 1
    )
    shares = np.repeat([1 / size for size in sizes], sizes).astype(np.float32)
    of_sides = np.split(np.arange(seed_count), np.cumsum(sizes)[:-1])
    varied = [side for side in of_sides if len(side) > 1]  # the others are fixed

    def t_of_block(block: tuple[jax.Array, jax.Array]) -> jax.Array:
        block_seeds, counts = block
        sums = resample.sums_of_resamples(
            columns.reshape(lists, -1), seeds[0], block_seeds
        )
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
        has_error = centred > list_arrays.ROUNDING * (squares + shift * shift * w2)
        variance = jnp.where(has_error, factor[None] * centred / total**2, 0)
        drawn_scores = scores[None] + wr / total[..., None]
        for side in varied:
            drawn, x = counts[:, None, side], drawn_scores[..., side]
            mean = (drawn * x).sum(2, keepdims=True) / len(side)
            spread = (drawn * (x - mean) ** 2).sum(2)
            variance += spread / (len(side) * (len(side) - 1))
        change = (mixture * scores[None]).sum(2) + shift
        return jnp.where(variance > 0, change / jnp.sqrt(variance), jnp.inf)

    blocks = (
        resample.in_blocks(seeds[1:], width),
        resample.in_blocks(seed_counts, width),
    )
    return lax.map(t_of_block, blocks).reshape(-1, comparisons)[:samples]


def probability_of_one_list(lists: np.ndarray) -> np.ndarray:
    """Probability that n draws of n lists, with replacement, all draw the same list.

    That is n · (1 / n)ⁿ: 1 for no list or one, 1/2 for two, 1/9 for three.
    """
    lists = np.maximum(lists, 1).astype(np.float64)
    return lists ** (1 - lists)


def judged_bootstrap(lists: JudgedLists, key: jax.Array, samples: int) -> Resamples:
    """Resamples prediction-powered means.

    Each resample draws as many labelled lists as there are, and as many others, finds λ
    anew, and has its own standard error; see `studentised_bootstrap`. A cluster of both
    parts is drawn with the labelled ones, and takes all of its lists along.

    Args:
        lists: The values; more than two labelled rows of each column count, and its error
            is above 0.
        key: A typed PRNG key. Columns share their draws.
        samples: Number of resamples.
    """
    means = lists.means()
    # Centred, and of size 1: squares must neither cancel nor vanish in float32.
    y, f, g = (
        np.where(weights > 0, x - centre, 0)
        for x, centre, weights in (
            (lists.human, means.mean, lists.weights),
            (lists.judge, means.judge_mean, lists.weights),
            (lists.other_judge, means.judge_mean, lists.other_weights),
        )
    )
    y, f, g = np.stack([y, f, g]) / np.abs([y, f, g]).max((0, 1))
    largest = np.maximum(lists.weights.max(0), lists.other_weights.max(0))
    w, v = lists.weights / largest, lists.other_weights / largest
    # Heavy lists of the judge pull more than their weight, as in `deviations` (HC3).
    share = weighted_means.shares_of(v)
    u = v / np.where(share < 1, 1 - share, 1)
    terms = np.stack([y, f, w, g, v, u], axis=-1).astype(np.float32)
    is_labelled = (lists.weights > 0).any(1)
    is_other = ~is_labelled & (lists.other_weights > 0).any(1)
    change, error = (
        np.asarray(array)
        for array in _resampled_estimates(
            terms[is_labelled], terms[is_other], resample.seeds_of(key, samples + 1)
        )
    )
    t = np.full(change.shape, np.inf, np.float32)
    np.divide(change, error, out=t, where=error > 0)
    return t, means.mean, means.std_error


@jax.jit
def _resampled_estimates(
    labelled: jax.Array, unlabelled: jax.Array, seeds: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Changes of the estimates by resampling, and their errors, `[samples, columns]`.

    Args:
        labelled: Rows with a labelled list, `[rows, columns, 6]`: the values y of people
            and f of the judge, with the weights w, and the values g of the judge in other
            lists, with the weights v, and u by which these pull.
        unlabelled: The other rows, of which only g, v and u are read.
        seeds: `[2 + samples]`, of the labelled rows, of the others, and of resamples.
    """
    rows, columns, _ = labelled.shape
    samples = len(seeds) - 2
    width = max(min(samples, resample.RESAMPLES, SUMS // (max(rows, 8) * columns)), 1)

    def sums_of_judge(terms: jax.Array) -> jax.Array:
        """Terms of the sums that are needed of the judge alone, `[…, columns, 7]`."""
        _, _, _, g, v, u = jnp.moveaxis(terms, -1, 0)
        return jnp.stack(
            [v, v * g, v * g * g, v * v, u * u, u * u * g, (u * g) ** 2], -1
        )

    def total(x: jax.Array) -> jax.Array:
        return x.sum(0, keepdims=True)  # [1, columns]

    def estimate(draws: jax.Array, sums: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Computes what `JudgedLists.means` does, of rows that are drawn so often.

        Args:
            draws: `[rows]`, of the labelled rows.
            sums: `[columns, 7]`, over the draws of the others.
        """
        m = draws[:, None]
        y, f, w, g, _, u = jnp.moveaxis(labelled, -1, 0)
        in_clusters = (m[..., None] * sums_of_judge(labelled)).sum(0)
        v, vg, vgg, vv, *_ = jnp.moveaxis(sums + in_clusters, -1, 0)[:, None]
        uu, uug, uugg = jnp.moveaxis(sums[:, 4:], -1, 0)[:, None]
        all_w, ww = total(m * w), total(m * w * w)
        n, n_judge, n_all = (
            ratio(x * x, z) for x, z in ((all_w, ww), (v, vv), (all_w + v, ww + vv))
        )
        mean_y, mean_f = ratio(total(m * w * y), all_w), ratio(total(m * w * f), all_w)
        mean_g = ratio(vg, v)
        centre = ratio(total(m * w * f) + vg, all_w + v)
        spread = (
            total(m * w * (f - centre) ** 2) + vgg - 2 * centre * vg + centre**2 * v
        )
        y, f = y - mean_y, f - mean_f
        covariance = ratio(total(m * w * y * f), all_w) * ratio(n, n - 1)
        variance = ratio(spread, all_w + v) * ratio(n_all, n_all - 1)
        tuning = ratio(covariance, variance) * ratio(n_judge, n + n_judge)
        tuning = jnp.clip(tuning, 0, 1)
        # HC3, as of `deviations`: residuals from the mean of all other lists.
        pulls = ratio(w * (y - tuning * f), all_w - w) * (n - 1)
        pulls *= jnp.sqrt(ratio(jnp.ones_like(n), n * (n - 2)))
        scale = ratio(tuning * jnp.sqrt(ratio(n_judge - 1, n_judge)), v)
        pulls += scale * u * (g - mean_g)
        squares = total(m * pulls**2)
        squares += scale**2 * (uugg - 2 * mean_g * uug + mean_g**2 * uu)
        # Two lists have no error, and one list that is drawn again and again none either.
        has_error = (n > 2) & (squares > list_arrays.ROUNDING**2)
        error = jnp.sqrt(jnp.where(has_error, squares, 0))
        return (mean_y + tuning * (mean_g - mean_f))[0], error[0]

    def of_block(block: jax.Array) -> tuple[jax.Array, jax.Array]:
        draws = resample.draws_of_lists(rows, seeds[0], block).T.astype(labelled.dtype)
        sums = jnp.zeros((width, columns, 7), labelled.dtype)
        if len(unlabelled):
            terms = sums_of_judge(unlabelled).reshape(len(unlabelled), -1)
            sums = resample.sums_of_resamples(terms, seeds[1], block).reshape(
                sums.shape
            )
        return jax.vmap(estimate)(draws, sums)

    change, error = lax.map(of_block, resample.in_blocks(seeds[2:], width))
    return change.reshape(-1, columns)[:samples], error.reshape(-1, columns)[:samples]
