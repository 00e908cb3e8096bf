"""The studentised bootstrap of prediction-powered means, which tunes λ in each resample."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._results.inference.draws import (
    draws_of_lists,
    in_blocks,
    seeds_of,
)
from jax_rank_metrics._results.inference.judged_lists import JudgedLists
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
    values = [lists.human - means.mean]
    values += [x - means.judge_mean for x in (lists.judge, lists.other_judge)]
    # Centred, and of size 1: squares must neither cancel nor vanish in float32.
    counts = [lists.weights > 0, lists.weights > 0, lists.other_weights > 0]
    values = [np.where(w, x, 0) for x, w in zip(values, counts, strict=True)]
    size = np.abs(values).max((0, 1))
    largest = np.maximum(lists.weights.max(0), lists.other_weights.max(0))
    arrays = [x / size for x in values]
    arrays += [x / largest for x in (lists.weights, lists.other_weights)]
    is_labelled = (lists.weights > 0).any(1)
    order = np.argsort(~is_labelled, kind="stable")
    terms = np.stack(arrays)[:, order].astype(np.float32)
    labelled = int(is_labelled.sum())
    change, error = _resampled(jnp.asarray(terms), labelled, seeds_of(key, samples + 1))
    sign = -1 if alternative == "less" else 1
    t, mean = sign * np.asarray(ratio(change, error)), sign * (means.mean + shift)
    t = np.where(np.asarray(error) > 0, t, np.inf)
    if alternative == "two-sided":
        t, mean = np.abs(t), np.abs(mean)
    return p_and_reach(t, mean, means.std_error, level)


@partial(jax.jit, static_argnums=1)
def _resampled(
    terms: jax.Array, labelled: int, seeds: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Changes of the estimates by resampling, and their errors, `[samples, columns]`.

    Args:
        terms: `[5, rows, columns]`: values of people and of the judge, values of the judge
            in other lists, and the weights of both; labelled rows come first.
        labelled: How many rows have a labelled list.
        seeds: `[2 + samples]`, of the labelled rows, of the others, and of resamples.
    """
    human, judge, other_judge, weights, other_weights = terms
    rows, columns = human.shape
    width = max(min(len(seeds) - 2, SUMS // (rows * columns)), 1)

    def total(x: jax.Array) -> jax.Array:
        return x.sum(0, keepdims=True)

    def estimate(draws: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Computes what `JudgedLists.means` does of rows that are drawn so often."""
        w, v = draws[:, None] * weights, draws[:, None] * other_weights
        all_w, all_v = total(w), total(v)
        means = [
            ratio(total(x * y), z)
            for x, y, z in (
                (w, human, all_w),
                (w, judge, all_w),
                (v, other_judge, all_v),
            )
        ]
        y, f, g = human - means[0], judge - means[1], other_judge - means[2]
        squares = total(w * weights), total(v * other_weights)
        n, n_judge = ratio(all_w**2, squares[0]), ratio(all_v**2, squares[1])
        n_all = ratio((all_w + all_v) ** 2, squares[0] + squares[1])
        centre = ratio(total(w * judge + v * other_judge), all_w + all_v)
        spread = total(w * (judge - centre) ** 2 + v * (other_judge - centre) ** 2)
        covariance = ratio(total(w * y * f), all_w) * ratio(n, n - 1)
        variance = ratio(spread, all_w + all_v) * ratio(n_all, n_all - 1)
        tuning = ratio(covariance, variance) * ratio(n_judge, n + n_judge)
        tuning = jnp.clip(tuning, 0, 1)
        # HC3, as of `deviations`: the residual from the mean of all other lists.
        residual = y - tuning * f
        pulls = ratio(weights * residual, all_w - weights) * (n - 1)
        pulls *= jnp.sqrt(ratio(jnp.ones_like(n), n * (n - 2)))
        of_judge = ratio(other_weights * g, all_v - other_weights)
        pulls += tuning * jnp.sqrt(ratio(n_judge - 1, n_judge)) * of_judge
        squared_error = (draws[:, None] * pulls**2).sum(0)
        # Two lists have no error, and one list that is drawn again and again none either.
        has_error = (n[0] > 2) & (squared_error > ROUNDING**2)
        error = jnp.sqrt(jnp.where(has_error, squared_error, 0))
        return (means[0] + tuning * (means[2] - means[1]))[0], error

    def of_block(block: jax.Array) -> tuple[jax.Array, jax.Array]:
        parts = zip((labelled, rows - labelled), seeds[:2], strict=True)
        draws = [draws_of_lists(count, seed, block) for count, seed in parts if count]
        return jax.vmap(estimate, in_axes=1)(jnp.concatenate(draws).astype(terms.dtype))

    change, error = lax.map(of_block, in_blocks(seeds[2:], width))
    samples = len(seeds) - 2
    return change.reshape(-1, columns)[:samples], error.reshape(-1, columns)[:samples]
