"""The difference of two ratios over the same lists, which weigh these differently.

A ratio of sums, Σ numerator / Σ denominator, is the mean of the ratios of lists, weighted
by their denominators. Where denominators differ between systems, lists have no differences
whose signs could be flipped. What can be swapped is both: in each list, the value and the
weight of one system might as well have been those of the other.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._results.inference.sign_flips import ROUNDING, SIGNS
from jax_rank_metrics._results.inference.weighted_mean import (
    WeightedMean,
    jackknife_error,
)

# t of single floats is that of doubles to this share of 1 + |t|, and a larger t than this
# may come from an error that is rounding alone.
SLACK, LARGEST = 1e-5, 1e5


class Ratios(NamedTuple):
    """Ratios of systems over the same lists: two that are compared, a before b, or more.

    Attributes:
        values: `[systems, lists]`, the ratio in each list.
        weights: `[systems, lists]`, the denominators; 0 where a list does not count.
        rounding: Relative error below which two values are equal.
    """

    values: np.ndarray
    weights: np.ndarray
    rounding: float

    def means(self) -> list[WeightedMean]:
        """Computes the ratio of each system."""
        noise = self.rounding * np.abs(self.values)
        return [
            WeightedMean.of(*x)
            for x in zip(self.values, self.weights, noise, strict=True)
        ]


class RatioDifference(NamedTuple):
    """The difference b − a of two ratios, and how sure it is."""

    mean: float
    error: float
    freedom: float
    effect: float
    n_eff: float

    @classmethod
    def of(cls, ratios: Ratios) -> "RatioDifference":
        """Computes the difference, whose error is that of the delete-one jackknife.

        The effective number of lists is that of the system which has fewer. Cohen's d is
        the difference over its standard error and √n_eff.

        References:
            Efron & Tibshirani, An introduction to the bootstrap, 1993, chapter 11.
        """
        a, b = ratios.means()
        mean = b.mean - a.mean
        n_eff, freedom = min(a.n_eff, b.n_eff), min(a.freedom, b.freedom)
        error = jackknife_error(b.changes - a.changes, n_eff, freedom)
        influence = b.share * b.residuals - a.share * a.residuals
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = n_eff * np.sqrt((influence**2).sum() / freedom)
            effect = 0.0 if mean == 0 else mean / spread
        effect = effect if freedom > 0 else np.nan
        return cls(*map(float, (mean, error, freedom, effect, n_eff)))


def pseudo_values(ratios: Ratios) -> tuple[np.ndarray, np.ndarray]:
    """Values of equal weight whose mean and spread are those of b − a, for the bootstrap.

    To the difference they add n times what a list contributes to it, n being the number of
    lists with a weight on either side (the infinitesimal jackknife).

    Returns:
        Values and weights, `[lists]` each; all weights are 0 where a side has none.

    References:
        Efron & Tibshirani, An introduction to the bootstrap, 1993, chapter 21.
    """
    a, b = ratios.means()
    counts = (ratios.weights > 0).any(0)
    influence = b.share * b.residuals - a.share * a.residuals
    values = np.where(counts, b.mean - a.mean + counts.sum() * influence, 0)
    return np.asarray(values), np.asarray(counts, np.float64)


def swap_test(
    comparisons: Sequence[Ratios],
    key: jax.Array,
    samples: int,
    alternative: Alternative = "two-sided",
    shift: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """P values of differences of ratios; see `pair_swap_test`.

    Args:
        comparisons: The two ratios of each comparison, over lists that all share.
        key: A typed PRNG key.
        samples: Number of patterns to draw.
        alternative: On which side of 0 differences are far from it.
        shift: What to add to the values of b.

    Returns:
        p, and the number of random patterns, `[comparisons]` each.
    """
    numerators, weights = (
        np.concatenate(x)
        for x in zip(*(_terms([x], shift)[0] for x in comparisons), strict=True)
    )
    pairs = np.arange(2 * len(comparisons)).reshape(-1, 2)
    return _p_of_swaps([(numerators, weights)], pairs, key, samples, alternative)


def pair_swap_test(tasks: Sequence[Ratios], key: jax.Array, samples: int) -> np.ndarray:
    """P values of the differences of all pairs of systems, in the mean over tasks.

    If it made no difference which of two systems is which, each list's values and weights
    might as well have been swapped. p is the share of patterns of swaps under which t, the
    difference of the ratios over its standard error, is at least as far from 0 as the
    observed one. All 2ⁿ patterns are used where they are no more than the samples, n being
    the number of lists in which anything differs.

    Divided by its error, the difference keeps its level where one system weighs lists many
    times as much as the other. (Undivided, equal ratios differ in 20 to 50 % of data sets
    whose denominators differ by a factor of ten or thirty.) The error is that of the
    delete-one jackknife, over tasks the root of the sum of squares. A pattern that leaves
    a system without any weight counts as extreme.

    Time grows with the number of pairs: about 10⁻⁹ seconds for each pattern, list and
    pair, so that 100,000 patterns of 1,000 lists take a tenth of a second for each.

    Args:
        tasks: The ratios of all systems in each task.
        key: A typed PRNG key.
        samples: Number of patterns to draw.

    Returns:
        `[systems, systems]`, symmetric; 1 on the diagonal.

    References:
        Janssen, Studentized permutation tests for non-i.i.d. hypotheses and the generalized
        Behrens–Fisher problem, Statistics & Probability Letters 1997.
    """
    systems = len(tasks[0].values)
    pairs = np.argwhere(np.triu(np.ones((systems, systems), bool), 1))
    p = np.ones((systems, systems))
    p[tuple(pairs.T)] = _p_of_swaps(_terms(tasks), pairs, key, samples)[0]
    return np.minimum(p, p.T)


Terms = Sequence[tuple[Any, Any]]  # numerators and weights, `[systems, lists]`, by task


def _terms(tasks: Sequence[Ratios], shift: float = 0.0) -> Terms:
    """Numerators less the common ratio of all systems, and weights, both near 1.

    The test does not depend on what all ratios have in common, nor on units; single floats
    do.
    """
    terms, largest = [], 0.0
    for values, weights, rounding in tasks:
        values = values + shift * (np.arange(len(values)) > 0)[:, None]
        weights = weights / max(weights.max(initial=0), np.finfo(np.float64).tiny)
        common = (weights * values).sum() / max(weights.sum(), 1)
        distances = values - common
        distances[np.abs(distances) <= rounding * np.abs(values)] = 0
        terms.append((weights * distances, weights))
        largest = max(largest, np.abs(terms[-1][0]).max(initial=0))
    return [(x / (largest or 1.0), weights) for x, weights in terms]


def _p_of_swaps(
    tasks: Terms,
    pairs: np.ndarray,
    key: jax.Array,
    samples: int,
    alternative: Alternative = "two-sided",
) -> tuple[np.ndarray, np.ndarray]:
    """P of pairs of systems, and the numbers of random patterns; `[pairs]` each."""
    sign = -1 if alternative == "less" else 1
    tasks = [(sign * x, weights) for x, weights in tasks]
    two_sided = alternative == "two-sided"
    p, drawn = np.ones(len(pairs)), np.zeros(len(pairs), int)
    thresholds = np.zeros(len(pairs))
    for index, (a, b) in enumerate(pairs):
        sides = [tuple(x[[a, b]] for x in task) for task in tasks]
        differs = np.concatenate(
            [np.any([x[0] != x[1] for x in task], axis=0) for task in sides]
        )
        count = int(differs.sum())
        plain = np.zeros((1, len(differs)), bool)
        difference, error, _ = _swapped(np, sides, plain)
        t = (difference / np.maximum(error, np.finfo(np.float64).tiny))[0]
        t = float(np.clip(abs(t) if two_sided else t, -LARGEST, LARGEST))
        thresholds[index] = t - SLACK * (1 + abs(t))
        if 2**count > samples:
            drawn[index] = samples
            continue
        # A few patterns at a time, so that memory does not grow with the lists.
        width = max(SIGNS // max(len(differs), 1), 1)
        reached = 0
        for start in range(0, 2**count, width):
            patterns = np.arange(start, min(start + width, 2**count))
            swaps = np.zeros((len(patterns), len(differs)), bool)
            swaps[:, differs] = patterns[:, None] >> np.arange(count) & 1
            reached += int(
                _reached(np, sides, swaps, thresholds[index], two_sided).sum()
            )
        p[index] = reached / 2**count
    chosen = np.flatnonzero(drawn)
    if chosen.size:
        counts = _count()(
            [tuple(np.float32(x) for x in task) for task in tasks],
            pairs[chosen],
            np.float32(thresholds[chosen]),
            key,
            samples,
            two_sided,
        )
        p[chosen] = (1 + np.asarray(counts)) / (1 + samples)
    return p, drawn


def _swapped(xp: ModuleType, sides: Terms, swaps: Any) -> tuple[Any, Any, Any]:
    """The differences of two ratios whose lists are swapped, `[patterns]` each.

    Args:
        xp: `numpy` or `jax.numpy`.
        sides: Numerators and weights of a and b, `[2, lists]`, of each task.
        swaps: `[patterns, all lists]` bool, the lists in which a and b are swapped.

    Returns:
        The mean difference over tasks, its error, both times the number of tasks, and
        whether a system is left without weight.
    """
    differences, squares, empty, start = 0.0, 0.0, False, 0
    for numerators, weights in sides:
        lists = numerators.shape[1]
        of_task = swaps[:, start : start + lists]
        start += lists
        columns = xp.concatenate([numerators, weights]).T
        swapped = of_task.astype(columns.dtype)
        # Sums of weights add no numbers of two signs, so that small ones are exact.
        moved, kept = _matmul(xp, swapped, columns), _matmul(xp, 1 - swapped, columns)
        change, means = 0.0, []
        for system, opponent in ((0, 1), (1, 0)):
            total = kept[:, 2 + system] + moved[:, 2 + opponent]
            empty = empty | (total <= 0)
            total = xp.where(total > 0, total, 1)
            means.append((kept[:, system] + moved[:, opponent]) / total)
            x, w = (
                xp.where(of_task, of_systems[opponent][None], of_systems[system][None])
                for of_systems in (numerators, weights)
            )
            # A list that has all the weight keeps it: without it there is no ratio.
            remaining = total[:, None] - w
            bound = ROUNDING * total[:, None]
            remaining = xp.where(remaining > bound, remaining, total[:, None])
            change = (x - means[-1][:, None] * w) / remaining - change
        differences = differences + means[1] - means[0]
        squares = squares + _matmul(xp, change * change, xp.ones_like(columns[:, 0]))
    return differences, xp.sqrt(squares), empty


def _matmul(xp: ModuleType, x: Any, y: Any) -> Any:
    if xp is np:
        return x @ y
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _reached(
    xp: ModuleType, sides: Terms, swaps: Any, threshold: Any, two_sided: bool
) -> Any:
    """Whether t of swapped lists is at least the threshold, `[patterns]`."""
    difference, error, empty = _swapped(xp, sides, swaps)
    difference = xp.abs(difference) if two_sided else difference
    return empty | (difference >= threshold * error)


def _count_reached(
    tasks: Terms,
    pairs: jax.Array,
    thresholds: jax.Array,
    key: jax.Array,
    samples: int,
    two_sided: bool,
) -> jax.Array:
    """Number of random patterns that reach the threshold of each pair, `[pairs]`."""
    lists = sum(x.shape[1] for x, _ in tasks)
    patterns = 32 * max(min(SIGNS // max(lists, 1), samples) // 32, 1)
    bit = jnp.arange(32, dtype=jnp.uint32)[:, None, None]

    def add_block(counts: jax.Array, block: jax.Array) -> tuple[jax.Array, None]:
        shape = (patterns // 32, lists)
        words = random.bits(random.fold_in(key, block), shape, jnp.uint32)
        swaps = (words[None] >> bit & 1).astype(bool).reshape(patterns, lists)
        is_sample = block * patterns + jnp.arange(patterns) < samples

        def count_of_pair(pair: tuple[jax.Array, jax.Array]) -> jax.Array:
            systems, threshold = pair
            sides = [tuple(x[systems] for x in task) for task in tasks]
            reached = _reached(jnp, sides, swaps, threshold, two_sided)
            return jnp.sum(reached & is_sample, dtype=jnp.int32)

        return counts + lax.map(count_of_pair, (pairs, thresholds)), None

    # Only counts are carried, so that memory does not grow with the samples.
    start = jnp.zeros(len(pairs), jnp.int32)
    return lax.scan(add_block, start, jnp.arange(-(-samples // patterns)))[0]


_count = one_off_jit(_count_reached, ("samples", "two_sided"), level=2)
