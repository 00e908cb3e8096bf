"""The randomisation test of two ratios over the same lists, which weigh these differently.

Where denominators differ between systems, lists have no differences whose signs could be
flipped. What can be swapped is both: in each list, the value and the weight of one system
might as well have been those of the other.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._results.inference.resample import (
    BITS,
    all_swaps,
    count_reached,
    random_swaps,
)
from jax_rank_metrics._results.inference.weighted_means import Ratios
from jax_rank_metrics._states.weights import ROUNDING

SWAPS = 2**20  # random swaps that exist at once: 4 MiB of floats
# t of single floats is that of doubles to this share of 1 + |t|, and a larger t than this
# may come from an error that is rounding alone.
SLACK, LARGEST = 1e-5, 1e5
Numbers = np.ndarray | jax.Array
# Numerators and weights, `[systems, lists]` each, of every task.
Terms = Sequence[tuple[Any, Any]]


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


def _terms(tasks: Sequence[Ratios], shift: float = 0.0) -> Terms:
    """Numerators less the common ratio of all systems, and weights, both near 1.

    The test does not depend on what all ratios have in common, nor on units; single floats
    do.
    """
    terms, largest = [], 0.0
    for values, weights, rounding in tasks:
        # The first system is the baseline, which no margin shifts.
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
        count = min(int(differs.sum()), 64)  # of more lists, there are always too many
        plain = np.zeros((1, len(differs)), bool)
        difference, error, _ = _swapped(np, sides, plain)
        t = (difference / np.maximum(error, np.finfo(np.float64).tiny))[0]
        t = float(np.clip(abs(t) if two_sided else t, -LARGEST, LARGEST))
        thresholds[index] = t - SLACK * (1 + abs(t))
        if 2**count > samples:
            drawn[index] = samples
        else:
            p[index] = _share_of_all(sides, differs, thresholds[index], two_sided)
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


def _share_of_all(
    sides: Terms, differs: np.ndarray, threshold: float, two_sided: bool
) -> float:
    """The share of all swaps of the lists in which sides differ that reach a threshold."""
    # A few patterns at a time, so that memory does not grow with the lists.
    count, width = int(differs.sum()), max(SWAPS // max(len(differs), 1), 1)
    # Lists in which nothing differs stay as they are in all patterns.
    reached = 0
    for start in range(0, 2**count, width):
        chosen = all_swaps(count, start, min(start + width, 2**count))
        swaps = np.zeros((len(chosen), len(differs)), bool)
        swaps[:, differs] = chosen
        reached += int(_reached(np, sides, swaps, threshold, two_sided).sum())
    return reached / 2**count


def _swapped(
    xp: ModuleType, sides: Terms, swaps: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """The differences of two ratios whose lists are swapped, `[patterns]` each.

    Args:
        xp: `numpy` or `jax.numpy`.
        sides: Numerators and weights of a and b, `[2, lists]`, of each task.
        swaps: `[patterns, all lists]` bool, the lists in which a and b are swapped.

    Returns:
        The mean difference over tasks, its error, both times the number of tasks, and
        whether a system is left without weight.
    """
    differences = squares = xp.zeros(len(swaps), sides[0][0].dtype)
    empty, start = xp.zeros(len(swaps), bool), 0
    for numerators, weights in sides:
        lists = numerators.shape[1]
        # Each task has lists of its own, side by side in a pattern.
        of_task = swaps[:, start : start + lists]
        start += lists
        columns = xp.concatenate([numerators, weights]).T
        swapped = of_task.astype(columns.dtype)
        # Sums of weights add no numbers of two signs, so that small ones are exact.
        moved, kept = _matmul(xp, swapped, columns), _matmul(xp, 1 - swapped, columns)
        # `change` becomes that of b less that of a.
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


def _matmul(xp: ModuleType, x: Numbers, y: Numbers) -> Numbers:
    if xp is np:
        return x @ y
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _reached(
    xp: ModuleType,
    sides: Terms,
    swaps: Numbers,
    threshold: Numbers | float,
    two_sided: bool,
) -> Numbers:
    """Whether t of swapped lists is at least the threshold, `[patterns]`."""
    difference, error, empty = _swapped(xp, sides, swaps)
    difference = xp.abs(difference) if two_sided else difference
    return empty | (difference >= threshold * error)


def _count_random(
    tasks: Terms,
    pairs: jax.Array,
    thresholds: jax.Array,
    key: jax.Array,
    samples: int,
    two_sided: bool,
) -> jax.Array:
    """Number of random patterns that reach the threshold of each pair, `[pairs]`."""
    lists = sum(x.shape[1] for x, _ in tasks)
    # As many patterns at a time as fit, in whole words of bits.
    patterns = BITS * max(min(SWAPS // max(lists, 1), samples) // BITS, 1)

    def reached_by_block(key: jax.Array) -> jax.Array:
        swaps = random_swaps(key, patterns, lists)

        def reached_by_pair(pair: tuple[jax.Array, jax.Array]) -> jax.Array:
            systems, threshold = pair
            sides = [tuple(x[systems] for x in task) for task in tasks]
            return jnp.asarray(_reached(jnp, sides, swaps, threshold, two_sided))

        return lax.map(reached_by_pair, (pairs, thresholds)).T

    return count_reached(reached_by_block, key, samples)


_count = one_off_jit(_count_random, ("samples", "two_sided"), level=2)
