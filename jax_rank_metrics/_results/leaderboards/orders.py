"""Drawn means of systems, and the orders that they give; in NumPy, float64."""

import numpy as np

from jax_rank_metrics._results.leaderboards.standings import Stability
from jax_rank_metrics._states.weights import ROUNDING

SPLITS = 1000  # random splits of the lists in halves
BLOCK = 2**21  # lists of splits that exist at once: 16 MiB


def drawn_errors(
    deviations: np.ndarray, freedom: float, samples: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws the errors of means from a multivariate t distribution, `[samples, systems]`.

    How far the lists spread is known no better than `freedom` says. It is drawn once for
    all systems, which see the same lists.

    Args:
        deviations: `[rows, systems]`, whose products over the rows sum to the covariance
            of the means, as of `deviations`.
        freedom: Degrees of freedom, above 0.
        samples: Number of draws.
        rng: The source of the draws.
    """
    # RᵀR is the covariance of the means, which would lose half of the digits.
    root = np.linalg.qr(deviations, mode="r")
    spread = np.maximum(rng.chisquare(freedom, samples), np.finfo(np.float64).tiny)
    normal = rng.standard_normal((samples, len(root)))
    return normal @ root * np.sqrt(freedom / spread)[:, None]


def means_of_halves(
    values: np.ndarray, weights: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Weighted means of two random halves of the lists, without a list in common.

    Of an odd number of lists, one is left out.

    Args:
        values: `[lists, systems]`.
        weights: `[lists, systems]`, or `[lists, 1]` for all systems.
        rng: The source of the splits.

    Returns:
        `[splits, 2, systems]`; NaN where a half has no weight.
    """
    lists, weight_columns = weights.shape
    columns = np.concatenate([weights, weights * values], axis=1)
    sums = np.zeros((SPLITS, 2, columns.shape[1]))
    rows = max(BLOCK // lists, 1)
    for start in range(0, SPLITS, rows):
        count = min(rows, SPLITS - start)
        # The first half of a random order and its last one have no list in common.
        order = rng.permuted(np.tile(np.arange(lists), (count, 1)), axis=1)
        for side, is_in in enumerate((order < lists // 2, order >= -(-lists // 2))):
            sums[start : start + count, side] = is_in.astype(np.float64) @ columns
    totals, sums = np.split(sums, [weight_columns], axis=2)
    return np.where(totals > 0, sums / np.where(totals > 0, totals, 1), np.nan)


def ranks_and_wins(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rank of every system in every draw, and how often it beats each of them.

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
        difference = means[:, [system]] - means
        size = np.maximum(np.abs(means[:, [system]]), np.abs(means))
        points = np.where(np.abs(difference) <= ROUNDING * size, 0.5, difference > 0)
        wins[system] = points.mean(0)
        # A system ties with itself: ½ of a point that it never wins.
        ranks[:, system] = means.shape[1] + 0.5 - points.sum(1)
    return ranks, wins


def first_shares(ranks: np.ndarray) -> np.ndarray:
    """The share of samples in which each system is first, `[systems]`; they sum to 1."""
    is_first = ranks == ranks.min(1, keepdims=True)
    return (is_first / is_first.sum(1, keepdims=True)).mean(0)


def stability_of(halves: np.ndarray, rng: np.random.Generator) -> Stability:
    """The mean agreement of the orders that two halves of the lists give.

    Args:
        halves: `[splits, 2, systems]`, means of which higher ones are better. Splits that
            hold NaN are left out.
        rng: Puts systems that tie in a half in random order.
    """
    halves = halves[np.isfinite(halves).all((1, 2))]
    if not len(halves):
        return Stability(np.nan, np.nan)
    unit = ROUNDING * max(np.abs(halves).max(), np.finfo(np.float64).tiny)
    points, noise = np.round(halves / unit), rng.random(halves.shape)
    splits, _, systems = halves.shape
    disagreements, shares = np.zeros(splits), np.zeros(splits)
    for system in range(systems):
        score, tie_break = points[..., [system]], noise[..., [system]]
        above = (points > score) | ((points == score) & (noise > tie_break))
        counts, of_both = above.sum(2), above.all(1).sum(1)
        disagreements += counts[:, 0] - of_both
        # The share of what an order has above the system that the other one has, too.
        share = np.where(counts > 0, of_both[:, None] / np.maximum(counts, 1), 0)
        shares += share.mean(1)
    tau = 1 - 4 * disagreements / (systems * (systems - 1))
    tau_ap = 2 * shares / (systems - 1) - 1
    return Stability(float(tau.mean()), float(tau_ap.mean()))
