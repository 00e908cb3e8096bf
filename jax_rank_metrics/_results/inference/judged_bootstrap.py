"""The studentised bootstrap of prediction-powered means, which tunes λ in each resample."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._results.inference.draws import (
    RESAMPLES,
    draws_of_lists,
    in_blocks,
    seeds_of,
    sums_of_resamples,
)
from jax_rank_metrics._results.inference.judged_lists import JudgedLists
from jax_rank_metrics._results.inference.means import shares_of
from jax_rank_metrics._results.inference.studentised import SUMS, p_and_reach
from jax_rank_metrics._states.weights import ROUNDING


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
    share = shares_of(v)
    u = v / np.where(share < 1, 1 - share, 1)
    terms = np.stack([y, f, w, g, v, u], axis=-1).astype(np.float32)
    is_labelled = (lists.weights > 0).any(1)
    is_other = ~is_labelled & (lists.other_weights > 0).any(1)
    change, error = (
        np.asarray(x)
        for x in _resampled(
            terms[is_labelled], terms[is_other], seeds_of(key, samples + 1)
        )
    )
    sign = -1 if alternative == "less" else 1
    t, mean = np.full(change.shape, np.inf, np.float32), sign * (means.mean + shift)
    np.divide(sign * change, error, out=t, where=error > 0)
    return p_and_reach(t, mean, means.std_error, level, alternative)


@jax.jit
def _resampled(
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
    width = max(min(samples, RESAMPLES, SUMS // (max(rows, 8) * columns)), 1)

    def sums_of_judge(x: jax.Array) -> jax.Array:
        """Terms of the sums that are needed of the judge alone, `[…, columns, 7]`."""
        _, _, _, g, v, u = jnp.moveaxis(x, -1, 0)
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
        has_error = (n > 2) & (squares > ROUNDING**2)
        error = jnp.sqrt(jnp.where(has_error, squares, 0))
        return (mean_y + tuning * (mean_g - mean_f))[0], error[0]

    def of_block(block: jax.Array) -> tuple[jax.Array, jax.Array]:
        draws = draws_of_lists(rows, seeds[0], block).T.astype(labelled.dtype)
        sums = jnp.zeros((width, columns, 7), labelled.dtype)
        if len(unlabelled):
            terms = sums_of_judge(unlabelled).reshape(len(unlabelled), -1)
            sums = sums_of_resamples(terms, seeds[1], block).reshape(sums.shape)
        return jax.vmap(estimate)(draws, sums)

    change, error = lax.map(of_block, in_blocks(seeds[2:], width))
    return change.reshape(-1, columns)[:samples], error.reshape(-1, columns)[:samples]
