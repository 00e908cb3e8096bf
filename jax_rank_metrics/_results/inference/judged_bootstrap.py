"""The studentised bootstrap of prediction-powered means, which tunes λ in each resample."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._results.inference.draws import (
    RESAMPLES,
    in_blocks,
    seeds_of,
    sums_of_resamples,
)
from jax_rank_metrics._results.inference.judged_lists import JudgedLists, PoweredMean
from jax_rank_metrics._results.inference.studentised import SUMS, p_and_reach
from jax_rank_metrics._states.weights import ROUNDING

SUM_COUNT = 23  # sums over lists that an estimate and its error are made of


def judged_bootstrap(
    lists: JudgedLists,
    shift: float,
    key: jax.Array,
    samples: int,
    level: float,
    alternative: Alternative = "two-sided",
) -> tuple[np.ndarray, np.ndarray]:
    """P values of prediction-powered means, and how far their intervals reach.

    Each resample draws as many labelled lists as there are, and as many others, finds λ
    anew, and has its own standard error; see `studentised_bootstrap`. A cluster of both
    parts is drawn with the labelled ones, and takes all of its lists along.

    Args:
        lists: The values; more than two labelled rows of each column count, and its error
            is above 0.
        shift: What to add to the means.
        key: A typed PRNG key. Columns share their draws.
        samples: Number of resamples.
        level: Coverage of the intervals.
        alternative: The means to look for: any, above 0 or below 0.

    Returns:
        As of `studentised_bootstrap`, `[columns]` each.
    """
    sign = -1 if alternative == "less" else 1
    estimate = PoweredMean.of(lists)
    # Residuals and values of the judge, centred and of size 1: their squares must neither
    # cancel nor vanish in float32.
    residuals = lists.human - estimate.tuning * lists.judge
    shares = lists.weights / lists.weights.sum(0)
    residuals = residuals - (shares * residuals).sum(0)
    residuals = np.where(np.abs(residuals) <= lists.noise, 0, residuals)
    judge, other_judge = (
        x - estimate.judge_mean for x in (lists.judge, lists.other_judge)
    )
    parts = [(residuals, lists.weights), (judge, lists.weights)]
    parts.append((other_judge, lists.other_weights))
    (e, size), (g, size_g), (h, size_h) = (_scaled(x, w) for x, w in parts)
    unit = np.maximum(size_g, size_h)
    g, h = g * (size_g / unit), h * (size_h / unit)
    heaviest = np.maximum(lists.weights.max(0), lists.other_weights.max(0))
    w, v = (x / heaviest for x in (lists.weights, lists.other_weights))
    # In the order in which `_resampled` names their sums; [rows, columns, SUM_COUNT].
    products = np.stack(
        [w, w * e, w * g, w * e * g, w * g * g]
        + [w * w, w * w * e, w * w * g, w * w * e * e, w * w * e * g, w * w * g * g]
        + [v, v * h, v * h * h, v * v, v * v * h, v * v * h * h]
        + [w * v, w * v * e, w * v * g, w * v * h, w * v * e * h, w * v * g * h],
        axis=-1,
    )
    # In units of residuals, λ·judge is the tuning times as much as `unit` is of `size`.
    largest = unit / size
    is_labelled = (lists.weights > 0).any(1)
    constants = np.stack([estimate.tuning * largest, largest])
    arrays = [x.astype(np.float32) for x in (products, constants)]
    changes, errors, observed = (
        np.asarray(x, np.float64)
        for x in _resampled(
            arrays[0][is_labelled],
            arrays[0][~is_labelled],
            arrays[1],
            seeds_of(key, samples + 1),
        )
    )
    with np.errstate(divide="ignore"):
        t = sign * np.where(errors > 0, changes / errors, np.inf * sign)
    means = sign * (estimate.mean + shift)
    if alternative == "two-sided":
        t, means = np.abs(t), np.abs(means)
    return p_and_reach(t.astype(np.float32), means, observed * size, level)


def _scaled(x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divides columns by their largest size, and returns that, too; 1 without any."""
    x = np.where(weights > 0, x, 0)
    size = np.abs(x).max(0)
    size = np.where(size > 0, size, 1)
    return x / size, size


@jax.jit
def _resampled(
    labelled: jax.Array, unlabelled: jax.Array, constants: jax.Array, seeds: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Changes of the estimates and their errors, `[samples, columns]`; and the errors now.

    Args:
        labelled: Terms of rows with a labelled list, `[rows, columns, SUM_COUNT]`.
        unlabelled: Those of the other rows.
        constants: λ and its largest value, `[2, columns]`, in units of residuals.
        seeds: `[2 + samples]`, of the labelled rows, of the others, and of resamples.
    """
    columns, samples = labelled.shape[1], len(seeds) - 2
    tuning, largest = constants[:, None]  # [1, columns], of all samples
    width = max(min(samples, RESAMPLES, SUMS // (columns * SUM_COUNT)), 1)

    def quotient(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(y > 0, x / jnp.where(y > 0, y, 1), 0)

    observed = (labelled.sum(0) + unlabelled.sum(0))[None]
    # n/(n − 2) of the residual, and n/(n − 1) of the judge in the other lists.
    n, m = (
        quotient(observed[..., i] ** 2, observed[..., j]) for i, j in ((0, 5), (11, 14))
    )
    factor, factor_of_others = quotient(n, n - 2), quotient(m, m - 1)

    def estimates(sums: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Estimates, up to what all have in common, and their errors, `[samples, columns]`.

        Args:
            sums: `[samples, columns, SUM_COUNT]`.
        """
        w, we, wg, weg, wgg, ww, wwe, wwg, wwee, wweg, wwgg, *ends = jnp.moveaxis(
            sums, -1, 0
        )
        v, vh, vhh, vv, vvh, vvhh, wv, wve, wvg, wvh, wveh, wvgh = ends
        e, g, h = quotient(we, w), quotient(wg, w), quotient(vh, v)
        # People are the residual and the judge's share, y = e + λ·g.
        covariance = quotient(weg, w) - e * g + tuning * (quotient(wgg, w) - g * g)
        spread = quotient(wgg + vhh, w + v) - quotient(wg + vh, w + v) ** 2
        n, m = quotient(w * w, ww), quotient(v * v, vv)
        total = quotient((w + v) ** 2, ww + vv)
        # The divisors n − 1 of the covariance and of the variance.
        ratio = quotient(n, n - 1) * quotient(total - 1, total)
        ratio *= quotient(covariance, spread) * quotient(m, m + n)
        drawn = jnp.clip(ratio, 0, largest)
        # y − λ*·f is e + (λ − λ*)·g, of mean `residual`.
        less = tuning - drawn
        residual = e + less * g
        positive = wwee + less**2 * wwgg + residual**2 * ww
        negative = less * wweg - residual * wwe - residual * less * wwg
        squares = positive + 2 * negative
        squares_of_others = jnp.maximum(vvhh - 2 * h * vvh + h * h * vv, 0)
        products = wveh + less * wvgh - residual * wvh
        products -= h * (wve + less * wvg - residual * wv)
        share = quotient(drawn, v)
        variance = factor * quotient(squares, w * w)
        variance += factor_of_others * share**2 * squares_of_others
        variance += (
            2 * jnp.sqrt(factor * factor_of_others) * share * quotient(products, w)
        )
        # The squares of a single list cancel, up to rounding. A judge that says what
        # people say leaves no residual, and an error of the other lists alone.
        has_error = (squares > ROUNDING * positive) | (positive == 0)
        has_error &= variance > 0
        error = jnp.sqrt(jnp.where(has_error, variance, 0))
        return residual + drawn * h, error

    def of_block(block: jax.Array) -> tuple[jax.Array, jax.Array]:
        sums = [
            sums_of_resamples(x.reshape(len(x), -1), seed, block)
            for x, seed in ((labelled, seeds[0]), (unlabelled, seeds[1]))
            if len(x)
        ]
        return estimates(sum(sums[1:], sums[0]).reshape(width, columns, SUM_COUNT))

    change, error = lax.map(of_block, in_blocks(seeds[2:], width))
    mean_observed, error_observed = estimates(observed)
    change = change.reshape(-1, columns)[:samples] - mean_observed
    return change, error.reshape(-1, columns)[:samples], error_observed[0]
