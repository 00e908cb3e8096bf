"""The studentised bootstrap, over lists and training seeds, and with a judge.

Each resample has its own standard error. Under the null hypothesis the statistic
t* = (mean* − mean) / error* of a resample has the distribution of t = mean / error. p is
therefore the share of resamples with |t*| ≥ |t|. The interval is mean ± q·error with q the
quantile of |t*|, so it excludes 0 if p is below 1 − level. The division by error* makes
this hold even for few lists, because it allows for the uncertainty of their error.

t* does not depend on the alternative, the level or a shift of the mean, so the same
resamples serve every question.
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

SUMS = 2**22  # the most sums over lists that exist at once: 16 MiB of floats
# Replaces an infinite t*, because NumPy's quantiles subtract, and inf − inf is NaN.
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

    Each resample draws lists, which both sides (systems) share, and the seeds of each
    side (the pigeonhole bootstrap), and has its own two-way standard error. Without the
    division by this error, means of few seeds would vary too little: five seeds have
    4/5 of the variance that they should have, and three seeds have 2/3.

    A resample with fewer than two different lists and without different seeds has no
    error. Its t* is infinite, so it never counts against the null hypothesis.

    Args:
        sides: For each comparison, the values of a and b, `[seeds, lists]`, or a single
            side of differences, `[1, lists]`. All comparisons have the same numbers of
            seeds. The error of every comparison is above 0.
        weights: `[lists, comparisons]`, above 0 in at least two lists of each comparison.
            Lists of weight 0 are not drawn. If at most `FEW` lists count in a
            comparison, the same number counts in every comparison.
        key: A typed PRNG key. Comparisons share their draws.
        samples: Number of resamples.

    References:
        Efron & Tibshirani, An introduction to the bootstrap, 1993, algorithm 16.2.
        Hall, On symmetric bootstrap confidence intervals, JRSS B 1988.
        Owen, The pigeonhole bootstrap, Annals of Applied Statistics 2007.
    """
    sides, weights = _counted_first(sides, weights)
    sizes = tuple(map(len, sides[0]))
    side_values = [np.stack(side) for side in zip(*sides, strict=True)]
    if len(side_values) == 2:
        # Subtract the mean over all seeds from each list: it cancels in the difference.
        common = np.concatenate(side_values, axis=1).mean(1, keepdims=True)
        side_values = [common - side_values[0], side_values[1] - common]
    # Scale weights to at most 1, so that their squares stay within float32.
    weights = weights.T / weights.max(0)[:, None]
    share = weights / weights.sum(1, keepdims=True)
    factor = 1 / (1 - (share**2).sum(1))  # n_eff / (n_eff − 1)
    scores = [np.einsum("csl,cl->cs", side, share) for side in side_values]
    residuals = [
        np.where(weights[:, None] > 0, side - means[..., None], 0)
        for side, means in zip(side_values, scores, strict=True)
    ]
    list_residuals = sum(side.mean(1) for side in residuals)
    seed_variances = sum(weighted_means.seed_variance(side) for side in scores)
    errors = np.sqrt(seed_variances + factor * (share**2 * list_residuals**2).sum(1))
    means = np.sum([side.mean(1) for side in scores], axis=0)
    # Centre and scale scores and residuals, so that their squares in float32 hardly
    # cancel and do not underflow.
    centred = [side - side.mean(1, keepdims=True) for side in scores]
    centred = np.concatenate(centred, axis=1)
    all_residuals = np.concatenate(residuals, axis=1)
    scales = np.maximum(np.abs(all_residuals).max((1, 2)), np.abs(centred).max(1))
    # Lists are drawn as in `bootstrap` with this key; each side draws its seeds with
    # its own key.
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
    """Moves the lists that count to the front of each comparison.

    If few lists count, all other lists are dropped, because a resample of few lists
    draws exactly that number of lists. If many lists count, the draws of a list depend
    only on its position, so lists of weight 0 can stay at the end.
    """
    counts = weights.T > 0
    order = np.array([np.append(np.nonzero(row), np.nonzero(~row)) for row in counts]).T
    counted = np.sum(weights > 0, axis=0).max()
    order = order[:counted] if counted <= resample.FEW else order
    weights = np.take_along_axis(weights, order, 0)
    return [
        [values[:, list_order] for values in side]
        for side, list_order in zip(sides, order.T, strict=True)
    ], weights


def resampled_p(
    resamples: Resamples, shift: float, alternative: choices.Alternative
) -> np.ndarray:
    """Returns p values of shifted means, computed from their resamples.

    One-sided tests compare t* itself with t, or −t* with −t.

    Args:
        resamples: The resamples.
        shift: The number to add to the means.
        alternative: The means to look for: other than 0, above 0 or below 0.
    """
    t, means, errors = resamples
    means = _TURNS[alternative](means + shift)
    # Lower the thresholds a little, so that a t* that equals t up to rounding reaches
    # them.
    nearer = (1 - np.sign(means) * list_arrays.ROUNDING) * means
    thresholds = (nearer / errors).astype(np.float32)
    columns = zip(t.T, thresholds, strict=True)
    reached = [np.sum(_turned(drawn, alternative) >= limit) for drawn, limit in columns]
    # The observed data count as one more resample, so that p is never 0.
    return (1 + np.array(reached)) / (1 + len(t))


def resampled_reach(
    resamples: Resamples, level: float, alternative: choices.Alternative
) -> np.ndarray:
    """Returns the distance from a mean to the bounds of its interval, or to its only bound.

    For "greater" the interval starts at mean − q·error, with q the quantile of t*; for
    "less" it ends at mean + q·error, with q the quantile of −t*.
    """
    t, _, errors = resamples
    # Process one column at a time, to avoid a second copy of all columns.
    draws = (np.minimum(_turned(draw, alternative), INFINITE) for draw in t.T)
    quantile = np.array([np.quantile(draw, level, method="higher") for draw in draws])
    return np.where(quantile < INFINITE, quantile * errors, np.inf)


# "less" asks for means below 0, so change their signs, and ask for means above 0.
_TURNS = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}


def _turned(t: np.ndarray, alternative: choices.Alternative) -> np.ndarray:
    """Changes signs of t* so that large values support the alternative; inf stays inf."""
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
    """Returns t* of every resample, `[samples, comparisons]`.

    Args:
        residuals: `[lists, comparisons, seeds]`, values minus the mean of their seed.
        weights: `[lists, comparisons]`.
        scores: `[comparisons, seeds]`, the mean of each seed minus the mean of its
            side.
        factor: `[comparisons]`, n_eff / (n_eff − 1).
        seed_counts: `[samples, seeds]`, how often each training seed is drawn.
        seeds: Words from `seeds_of`.
        sizes: Number of training seeds of each side.
    """
    lists, comparisons, seed_count = residuals.shape
    # A resample mixes seeds, and the square of a mixture needs sums for each pair of seeds.
    first, second = np.triu_indices(seed_count)
    multiplicity = np.where(first == second, 1, 2).astype(np.float32)
    w = weights[..., None]
    products = w * w * residuals[..., first] * residuals[..., second]
    columns = [w, w * w, w * residuals, w * w * residuals, products]
    columns = jnp.concatenate(columns, axis=2)
    # Columns are Σ w, Σ w², Σ wr and Σ w²r of each seed, and then Σ w²rr of each pair.
    ends = np.cumsum([1, 1, seed_count, seed_count])
    samples = len(seed_counts)
    width = max(
        min(samples, resample.RESAMPLES, SUMS // (comparisons * columns.shape[2])), 1
    )
    shares = np.repeat([1 / size for size in sizes], sizes).astype(np.float32)
    side_seeds = np.split(np.arange(seed_count), np.cumsum(sizes)[:-1])
    varied = [side for side in side_seeds if len(side) > 1]  # a single seed is fixed

    def t_of_block(block: tuple[jax.Array, jax.Array]) -> jax.Array:
        block_seeds, counts = block
        sums = resample.sums_of_resamples(
            columns.reshape(lists, -1), seeds[0], block_seeds
        )
        sums = sums.reshape(width, comparisons, -1)
        w, w2, wr, w2r, w2rr = jnp.split(sums, ends, axis=2)
        w, w2 = w[..., 0], w2[..., 0]
        total = jnp.where(w > 0, w, 1)
        mixture = (counts * shares[None])[:, None, :]  # each seed's share
        shift = (mixture * wr).sum(2) / total  # mean* − mean by the draws of lists
        pairs = mixture[..., first] * mixture[..., second] * multiplicity[None, None]
        squares = (pairs * w2rr).sum(2)
        centred = squares - 2 * shift * (mixture * w2r).sum(2) + shift * shift * w2
        # If only one list was drawn, squares cancel up to rounding, so lists add no
        # error.
        has_error = centred > list_arrays.ROUNDING * (squares + shift * shift * w2)
        variance = jnp.where(has_error, factor[None] * centred / total**2, 0)
        drawn_scores = scores[None] + wr / total[..., None]
        for side in varied:
            drawn, side_scores = counts[:, None, side], drawn_scores[..., side]
            mean = (drawn * side_scores).sum(2, keepdims=True) / len(side)
            spread = (drawn * (side_scores - mean) ** 2).sum(2)
            variance += spread / (len(side) * (len(side) - 1))
        change = (mixture * scores[None]).sum(2) + shift
        return jnp.where(variance > 0, change / jnp.sqrt(variance), jnp.inf)

    blocks = (
        resample.in_blocks(seeds[1:], width),
        resample.in_blocks(seed_counts, width),
    )
    return lax.map(t_of_block, blocks).reshape(-1, comparisons)[:samples]


def probability_of_one_list(lists: np.ndarray) -> np.ndarray:
    """Returns the probability that n draws of n lists all draw the same list.

    With replacement, it is n · (1 / n)ⁿ: 1 for no list or one, 1/2 for two, 1/9 for three.
    """
    lists = np.maximum(lists, 1).astype(np.float64)
    return lists ** (1 - lists)


def judged_bootstrap(lists: JudgedLists, key: jax.Array, samples: int) -> Resamples:
    """Resamples prediction-powered means.

    Each resample draws n labelled rows from n labelled rows and N other rows from N
    other rows, with replacement. It estimates λ anew, and has its own standard error;
    see `studentised_bootstrap`. A cluster with labelled and other lists is drawn as a
    labelled row, together with all of its lists.

    Args:
        lists: The values. In each column, more than two labelled rows count, and the
            error is above 0.
        key: A typed PRNG key. Columns share their draws.
        samples: Number of resamples.
    """
    means = lists.means()
    # Centre the values and scale them to 1, because squares in float32 must neither
    # cancel nor underflow.
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
    # Heavy lists of the judge count more than their weight, as in `deviations` (HC3).
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
    """Returns the changes of resampled estimates, and errors, `[samples, columns]` each.

    Args:
        labelled: Rows with a labelled list, `[rows, columns, 6]`: the values y of
            people and f of the judge, with the list's weight w; and the values g of the
            judge in other lists, with the weights v and their HC3 form u.
        unlabelled: The other rows, in the same form; only their g, v and u are read.
        seeds: `[2 + samples]`: the seed of the labelled rows, the seed of the other
            rows, and the seed of each resample.
    """
    rows, columns, _ = labelled.shape
    samples = len(seeds) - 2
    width = max(min(samples, resample.RESAMPLES, SUMS // (max(rows, 8) * columns)), 1)

    def sums_of_judge(terms: jax.Array) -> jax.Array:
        """Returns the terms of the sums over other lists, `[…, columns, 7]`."""
        _, _, _, g, v, u = jnp.moveaxis(terms, -1, 0)
        return jnp.stack(
            [v, v * g, v * g * g, v * v, u * u, u * u * g, (u * g) ** 2], -1
        )

    def total(x: jax.Array) -> jax.Array:
        return x.sum(0, keepdims=True)  # [1, columns]

    def estimate(draws: jax.Array, sums: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Computes the mean and error as `JudgedLists.means` does, from resampled rows.

        Args:
            draws: `[rows]`, how often each labelled row is drawn.
            sums: `[columns, 7]`, the sums over the draws of the other rows.
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
        # HC3, as in `deviations`: each residual is the distance from the mean of all
        # other lists.
        pulls = ratio(w * (y - tuning * f), all_w - w) * (n - 1)
        pulls *= jnp.sqrt(ratio(jnp.ones_like(n), n * (n - 2)))
        scale = ratio(tuning * jnp.sqrt(ratio(n_judge - 1, n_judge)), v)
        pulls += scale * u * (g - mean_g)
        squares = total(m * pulls**2)
        squares += scale**2 * (uugg - 2 * mean_g * uug + mean_g**2 * uu)
        # There is no error if only two lists count, or if one list is drawn again and
        # again.
        has_error = (n > 2) & (squares > list_arrays.ROUNDING**2)
        error = jnp.sqrt(jnp.where(has_error, squares, 0))
        return (mean_y + tuning * (mean_g - mean_f))[0], error[0]

    def estimates_of_block(block: jax.Array) -> tuple[jax.Array, jax.Array]:
        draws = resample.draws_of_lists(rows, seeds[0], block).T.astype(labelled.dtype)
        sums = jnp.zeros((width, columns, 7), labelled.dtype)
        if len(unlabelled):
            terms = sums_of_judge(unlabelled).reshape(len(unlabelled), -1)
            sums = resample.sums_of_resamples(terms, seeds[1], block).reshape(
                sums.shape
            )
        return jax.vmap(estimate)(draws, sums)

    change, error = lax.map(estimates_of_block, resample.in_blocks(seeds[2:], width))
    return change.reshape(-1, columns)[:samples], error.reshape(-1, columns)[:samples]
