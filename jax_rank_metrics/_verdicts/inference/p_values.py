"""P values in closed form, and their corrections for the number of comparisons.

All of them are computed in NumPy on the host, `[comparisons]` at once.
"""

from typing import NamedTuple

import numpy as np

from jax_rank_metrics._ground.choices import Alternative
from jax_rank_metrics._values.intervals import student_quantiles, symmetric


class Outcome(NamedTuple):
    """The p values of a test, `[comparisons]` each."""

    p: np.ndarray
    samples: int | np.ndarray = 0  # random permutations or resamples; 0 without
    p_max: np.ndarray | None = None  # corrected by the largest of the family
    # The distance from the mean to the ends of its interval, `[comparisons]`, or `[2, …]`
    # where they differ; None for Student's.
    reach: np.ndarray | None = None


def student_p(
    mean: np.ndarray,
    error: np.ndarray,
    freedom: np.ndarray,
    alternative: Alternative = "two-sided",
) -> np.ndarray:
    """P values of means with these standard errors, by Student's t.

    p is 1 where there are no degrees of freedom, and where both the mean and its error
    are 0. An error of 0 makes it 0 or 1 for any other mean.
    """
    from scipy.special import stdtr

    # The tail below −|t| is as large as that above |t|.
    distance = {"greater": -mean, "less": mean}.get(alternative, -np.abs(mean))
    tails = 2 if alternative == "two-sided" else 1
    with np.errstate(divide="ignore", invalid="ignore"):
        p = tails * stdtr(freedom, distance / error)
    return np.where(((mean == 0) & (error == 0)) | ~(freedom > 0), 1, p)


def student_reach(
    error: np.ndarray,
    freedom: np.ndarray,
    level: float,
    alternative: Alternative = "two-sided",
) -> np.ndarray:
    """Distance from a mean to the ends of its interval of Student's t.

    A one-sided interval has one end, which is nearer. The distance is inf for no degrees
    of freedom, or hardly any.
    """
    if alternative != "two-sided":
        level = 2 * level - 1  # each end of this one is exceeded with 1 − level
    return symmetric(0, error, student_quantiles(freedom, level), np)[1]


def mcnemar_test(
    differences: np.ndarray, alternative: Alternative = "two-sided", mid_p: bool = False
) -> np.ndarray:
    """P values of wins against losses, `[comparisons]`.

    If both systems were equally good, each list in which they differ would be a win with
    probability ½: p is a tail of the binomial distribution, and for "two-sided" twice the
    smaller tail, but never above 1. It is that of `sign_flip_test` for all sign patterns.

    Args:
        differences: `[lists, comparisons]` of −1, 0 and 1.
        alternative: "greater" asks for the tail of many wins, "less" for that of few.
        mid_p: Whether an outcome as far out as the observed one counts half.

    References:
        McNemar, Note on the sampling error of the difference between correlated
        proportions or percentages, Psychometrika 1947.
        Fagerland, Lydersen & Laake, The McNemar test for binary matched-pairs data:
        mid-p and asymptotic are better than exact conditional, BMC Medical Research
        Methodology 2013.
    """
    from scipy.special import bdtr

    wins, losses = np.sum(differences > 0, axis=0), np.sum(differences < 0, axis=0)
    changed = wins + losses
    extreme = {"greater": losses, "less": wins}.get(
        alternative, np.minimum(wins, losses)
    )
    # By symmetry, P(at least as many wins) is P(at most as many losses).
    tail = bdtr(extreme, changed, 0.5)
    # The tail without the outcome itself, which mid-p counts half.
    below = np.where(extreme > 0, bdtr(np.maximum(extreme - 1, 0), changed, 0.5), 0)
    sides = 2 if alternative == "two-sided" else 1
    p = np.minimum(sides * tail, 1)
    if mid_p:
        # Where wins equal losses, both tails hold the outcome observed.
        counted_twice = (sides == 2) & (wins == losses)
        p = p - (tail - below) * np.where(counted_twice, 0.5, sides / 2)
    return np.where(changed > 0, p, 1.0)


def holm(p: np.ndarray) -> np.ndarray:
    """Holds the probability of any false alarm, by Holm's method.

    The smallest of n is multiplied by n, the next by n − 1, and so on; no corrected value
    is below that of a smaller p, and none exceeds 1.
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    # Sorted p of four are multiplied by 4, 3, 2, 1, and may not fall after that.
    multiplied = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(multiplied), 1)
    return corrected


def false_discovery_rate(p: np.ndarray) -> np.ndarray:
    """Holds the expected share of false alarms among all alarms (Benjamini & Hochberg).

    The largest of n is multiplied by n / n, the next by n / (n − 1), and so on; no
    corrected value is above that of a larger p.
    """
    order = sorted(range(len(p)), key=lambda index: -p[index])
    multiplied = p[order] * len(p) / np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum.accumulate(multiplied)
    return corrected
