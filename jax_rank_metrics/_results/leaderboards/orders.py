"""Resampled means of systems, and the orders that they give; in NumPy, float64."""

import numpy as np

from jax_rank_metrics._results.inference.resampling import counts_of_draws
from jax_rank_metrics._results.leaderboards.standings import Stability

DRAWS = 2**21  # draws of lists that exist at once: 16 MiB
# Relative difference below which two means are equal, as they are in many resamples.
ROUNDING = 1e-6


def resampled_means(
    values: np.ndarray, weights: np.ndarray, samples: int, rng: np.random.Generator
) -> np.ndarray:
    """Weighted means of as many lists as there are, drawn with replacement.

    Args:
        values: `[lists, systems]`.
        weights: `[lists, systems]`, or `[lists, 1]` for all systems.
        samples: Number of resamples.
        rng: The source of the draws, which all systems share.

    Returns:
        `[samples, systems]`; a mean of no weight is that of all lists.
    """
    lists, weight_columns = weights.shape
    columns = np.concatenate([weights, weights * values], axis=1)
    sums = np.empty((samples, columns.shape[1]))
    rows = max(DRAWS // lists, 1)
    for start in range(0, samples, rows):
        stop = min(start + rows, samples)
        draws = rng.integers(lists, size=(stop - start, lists), dtype=np.int32)
        sums[start:stop] = counts_of_draws(draws).astype(np.float64) @ columns
    sums = np.split(np.concatenate([columns.sum(0)[None], sums]), [weight_columns], 1)
    has_weight = sums[0] > 0
    means = sums[1] / np.where(has_weight, sums[0], 1)
    return np.where(has_weight, means, means[0])[1:]


def ranks_and_wins(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rank of every system in every resample, and how often it beats each of them.

    Args:
        means: `[samples, systems]`, of which higher ones are better.

    Returns:
        Ranks `[samples, systems]` from 1, where equal means share the middle of their
        ranks; and shares `[systems, systems]` of the samples in which the mean of the row
        is better than that of the column, a tie counting ½.
    """
    ranks = np.empty_like(means)
    wins = np.empty((means.shape[1],) * 2)
    for system in range(means.shape[1]):
        points = _points(means, system)
        wins[system] = points.mean(0)
        # A system ties with itself: ½ of a point that it never wins.
        ranks[:, system] = means.shape[1] + 0.5 - points.sum(1)
    return ranks, wins


def first_shares(ranks: np.ndarray) -> np.ndarray:
    """The share of samples in which each system is first, `[systems]`; they sum to 1."""
    is_first = ranks == ranks.min(1, keepdims=True)
    return (is_first / is_first.sum(1, keepdims=True)).mean(0)


def stability_of(means: np.ndarray, level: float) -> Stability:
    """The agreement of resampled orders with the order of the columns.

    Args:
        means: `[samples, systems]`, of which higher ones are better, the columns in the
            observed order.
        level: Coverage of the intervals.
    """
    samples, systems = means.shape
    disagreements, shares = np.zeros(samples), np.zeros(samples)
    for system in range(systems):
        points = _points(means, system)
        # A tie keeps the observed order.
        above = np.concatenate(
            [points[:, :system] < 1, points[:, system + 1 :] == 0], axis=1
        )
        from_before = above[:, :system].sum(1)
        count = above.sum(1)
        disagreements += count - from_before
        shares += np.where(count > 0, from_before / np.maximum(count, 1), 0)
    tau = 1 - 4 * disagreements / (systems * (systems - 1))
    tau_ap = 2 * shares / (systems - 1) - 1
    tails = ((1 - level) / 2, (1 + level) / 2)
    return Stability(
        *(
            float(x)
            for agreement in (tau, tau_ap)
            for x in (agreement.mean(), *np.quantile(agreement, tails))
        )
    )


def _points(means: np.ndarray, system: int) -> np.ndarray:
    """Points of a system against each system: 1 if it is better, ½ for a tie, else 0."""
    difference = means[:, [system]] - means
    size = np.maximum(np.abs(means[:, [system]]), np.abs(means))
    return np.where(np.abs(difference) <= ROUNDING * size, 0.5, difference > 0)
