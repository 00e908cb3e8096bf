"""Means over lists and training seeds, which are both drawn from many: two-way errors.

The values of a system are `[seeds, lists]`. All systems have the same lists, and the seeds
of each are draws of their own. A system without seeds is fixed, with values `[1, lists]`.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._results.inference.chance import p_and_reach, sums_of_resamples
from jax_rank_metrics._results.inference.resampling import (
    RESAMPLES,
    counts_of_draws,
    seeds_of,
)
from jax_rank_metrics._results.inference.sign_flips import ROUNDING

SUMS = 2**22  # sums over lists that exist at once: 16 MiB of floats


def error_with_seeds(
    error: float, freedom: float, sides: Sequence[np.ndarray], share: np.ndarray
) -> tuple[float, float]:
    """The standard error of a mean over lists and seeds, and its degrees of freedom.

    Its square is that of lists plus that of the seeds of each side. Both hold what is due
    to single pairs of a list and a seed, which is therefore taken off once; the rest is
    never less than either of them.

    Args:
        error: The standard error over lists, of values that are means over seeds.
        freedom: Its degrees of freedom.
        sides: The values of each side, `[seeds, lists]`.
        share: `[lists]`, the share of each list in the weight of all.

    References:
        Satterthwaite, An approximate distribution of estimates of variance components,
        Biometrics Bulletin 1946.
        Owen, The pigeonhole bootstrap, Annals of Applied Statistics 2007.
    """
    if not freedom > 0:
        return error, 0.0
    sources = [SeedVariance.of(values, share) for values in sides if len(values) > 1]
    return total_error(error, freedom, sources)


class SeedVariance(NamedTuple):
    """The variance of a mean over lists and seeds that is due to the seeds of a system."""

    total: float
    of_pairs: float  # the part that is due to single pairs of a list and a seed
    freedom: int

    @classmethod
    def of(cls, values: np.ndarray, share: np.ndarray) -> "SeedVariance":
        """Estimates it from values `[seeds, lists]`, and the share of each list."""
        total = seed_variance(values @ share)
        return cls(total, _pair_variance(values, share), len(values) - 1)

    def over(self, lists: float) -> "SeedVariance":
        """Returns that of a mean over `lists` times as many lists.

        They average the pairs out, and leave what a seed has in common in all lists.
        """
        of_pairs = self.of_pairs / lists
        common = max(self.total - self.of_pairs, 0)
        return self._replace(total=common + of_pairs, of_pairs=of_pairs)


def total_error(
    error: float, freedom: float, sources: Sequence[SeedVariance]
) -> tuple[float, float]:
    """Joins the error over lists with that of seeds, as `error_with_seeds` does."""
    of_lists = error**2
    of_seeds, of_pairs = (sum(x[i] for x in sources) for i in range(2))
    total = max(of_lists + of_seeds - of_pairs, of_lists, of_seeds)
    spread = of_lists**2 / freedom + sum(x.total**2 / x.freedom for x in sources)
    return float(np.sqrt(total)), total**2 / spread if spread > 0 else freedom


def seed_variance(scores: np.ndarray) -> float:
    """The variance of the mean of these scores of seeds, `[seeds]`."""
    return float(np.var(scores, ddof=1) / len(scores)) if len(scores) > 1 else 0.0


def _pair_variance(values: np.ndarray, share: np.ndarray) -> float:
    """The variance of a mean over both that is due to single pairs of a list and a seed.

    The mean of S seeds varies over lists less than a single seed does, by (1 − 1/S) times
    the variance that is due to pairs.
    """

    def of_lists(x: np.ndarray) -> np.ndarray:
        residuals = x - (x @ share)[..., None]
        return (share**2 * residuals**2).sum(-1)

    n_eff = 1 / max((share**2).sum(), np.finfo(np.float64).tiny)
    if n_eff <= 1:
        return 0.0
    excess = of_lists(values).mean() - of_lists(values.mean(0))
    return float(max(excess, 0) * n_eff / (n_eff - 1) / (len(values) - 1))


def draws_of_seeds(seed_count: int, samples: int, key: jax.Array) -> np.ndarray:
    """Counts how often each seed is drawn, in draws of all seeds, `[samples, seeds]`."""
    draws = random.randint(key, (samples, seed_count), 0, seed_count)
    return counts_of_draws(np.asarray(draws))


def studentised_two_way(
    sides: Sequence[Sequence[np.ndarray]],
    weights: np.ndarray,
    shift: float,
    key: jax.Array,
    samples: int,
    level: float,
    alternative: Alternative = "two-sided",
) -> tuple[np.ndarray, np.ndarray]:
    """P values of differences over lists and seeds, and how far their intervals reach.

    Each resample draws lists, which both sides share, and the seeds of each side (the
    pigeonhole bootstrap), and has its own two-way standard error. Undivided by it, means
    of few seeds would vary too little: five seeds have 4/5 of the variance that they
    should, and three 2/3. All else is as in `studentised_bootstrap`.

    Args:
        sides: For each comparison, the values of a and b, `[seeds, lists]`; all
            comparisons have as many seeds.
        weights: `[lists, comparisons]`, above 0 in at least two lists of each comparison.
        shift: What to add to the differences.
        key: A typed PRNG key.
        samples: Number of resamples.
        level: Coverage of the intervals.
        alternative: The differences to look for: any, above 0 or below 0.

    Returns:
        p, and the distance from the mean to both ends of the interval, or to its only
        end; `[comparisons]` each.

    References:
        Owen, The pigeonhole bootstrap, Annals of Applied Statistics 2007.
    """
    sizes = tuple(map(len, sides[0]))
    sign = -1 if alternative == "less" else 1
    a, b = (sign * np.stack(side) for side in zip(*sides, strict=True))
    # What all seeds have in common in a list cancels.
    common = np.concatenate([a, b], axis=1).mean(1, keepdims=True)
    values = np.concatenate([common - a, b - common], axis=1)
    weights = weights.T / weights.max(0)[:, None]
    share = weights / weights.sum(1, keepdims=True)
    factor = 1 / (1 - (share**2).sum(1))  # n_eff / (n_eff − 1)
    seed_means = np.einsum("csl,cl->cs", values, share)
    residuals = np.where(weights[:, None] > 0, values - seed_means[..., None], 0)
    of_sides = [np.split(x, [sizes[0]], axis=1) for x in (seed_means, residuals)]
    means, mixed = (np.sum([x.mean(1) for x in side], axis=0) for side in of_sides)
    of_seeds = np.sum(
        [[seed_variance(x) for x in side] for side in of_sides[0]], axis=0
    )
    errors = np.sqrt(of_seeds + factor * (share**2 * mixed**2).sum(1))
    # Scaled, so that no square vanishes in float32.
    scales = np.maximum(np.abs(values).max((1, 2)), np.finfo(np.float64).tiny)
    list_key, *side_keys = random.split(key, 3)
    counts = [
        draws_of_seeds(size, samples, side_key)
        for size, side_key in zip(sizes, side_keys, strict=True)
    ]
    arrays = (
        np.moveaxis(residuals / scales[:, None, None], 2, 0),
        weights.T,
        seed_means / scales[:, None],
        factor,
        np.concatenate(counts, axis=1),
    )
    t = np.asarray(
        _resampled_t(
            *(x.astype(np.float32) for x in arrays), seeds_of(list_key, samples), sizes
        )
    )
    means = means + sign * shift
    if alternative == "two-sided":
        t, means = np.abs(t), np.abs(means)
    return p_and_reach(t, means, errors, level)


@partial(jax.jit, static_argnums=6)
def _resampled_t(
    residuals: jax.Array,
    weights: jax.Array,
    seed_means: jax.Array,
    factor: jax.Array,
    seed_counts: jax.Array,
    seeds: jax.Array,
    sizes: tuple[int, ...],
) -> jax.Array:
    """t* of every resample, `[samples, comparisons]`.

    Args:
        residuals: `[lists, comparisons, seeds]`, of the mean of each seed.
        weights: `[lists, comparisons]`.
        seed_means: `[comparisons, seeds]`.
        factor: `[comparisons]`, n_eff / (n_eff − 1).
        seed_counts: `[samples, seeds]`, how often each seed is drawn.
        seeds: As of `seeds_of`.
        sizes: Number of seeds of each side.
    """
    lists, comparisons, seed_count = residuals.shape
    first, second = np.triu_indices(seed_count)
    multiplicity = np.where(first == second, 1, 2).astype(np.float32)
    w = weights[..., None]
    products = w * w * residuals[..., first] * residuals[..., second]
    columns = [w, w * w, w * residuals, w * w * residuals, products]
    columns = jnp.concatenate(columns, axis=2)
    ends = np.cumsum([1, 1, seed_count, seed_count])
    samples = len(seed_counts)
    width = max(min(samples, RESAMPLES, SUMS // (comparisons * columns.shape[2])), 1)
    padding = -samples % width
    blocks = (
        jnp.pad(seeds[1:], (0, padding)).reshape(-1, width),
        jnp.pad(seed_counts, ((0, padding), (0, 0))).reshape(-1, width, seed_count),
    )
    shares = np.repeat([1 / size for size in sizes], sizes).astype(np.float32)

    def t_of_block(block: tuple[jax.Array, jax.Array]) -> jax.Array:
        block_seeds, counts = block
        sums = sums_of_resamples(columns.reshape(lists, -1), seeds[:1], block_seeds)
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
        scores = seed_means[None] + wr / total[..., None]
        plain = (shares[None] * seed_means).sum(1)
        change = (mixture * seed_means[None]).sum(2) - plain[None] + shift
        start = 0
        for size in sizes:
            drawn, side = (
                counts[:, None, start : start + size],
                slice(start, start + size),
            )
            mean = (drawn * scores[..., side]).sum(2, keepdims=True) / size
            spread = (drawn * (scores[..., side] - mean) ** 2).sum(2)
            variance += spread / max(size * (size - 1), 1)
            start += size
        return jnp.where(variance > 0, change / jnp.sqrt(variance), jnp.inf)

    t = lax.map(t_of_block, blocks)
    return t.reshape(-1, comparisons)[:samples]
