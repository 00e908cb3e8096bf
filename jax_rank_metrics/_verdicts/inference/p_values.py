"""P values in closed form, and their corrections for the number of comparisons.

NumPy computes them on the host, for all comparisons at once: `[comparisons]`.
"""

from typing import NamedTuple

import numpy as np

from jax_rank_metrics._ground.choices import Alternative
from jax_rank_metrics._values.intervals import student_quantiles, symmetric


class Outcome(NamedTuple):
    """The p values of a test, `[comparisons]` each."""

    p: np.ndarray
    samples: int | np.ndarray = 0  # random permutations or resamples; 0 without
    p_max: np.ndarray | None = None  # p corrected by the largest t of the family
    # The distance from the mean to the bounds of its interval, `[comparisons]`, or
    # `[2, comparisons]` if the two distances differ; None for Student's interval.
    reach: np.ndarray | None = None


def student_p(
    mean: np.ndarray,
    error: np.ndarray,
    freedom: np.ndarray,
    alternative: Alternative = "two-sided",
) -> np.ndarray:
    """Returns p values of means with these standard errors, by Student's t.

    p is 1 if there are no degrees of freedom, and if both the mean and its error are 0.
    If only the error is 0, p is 0 or 1.
    """
    from scipy.special import stdtr

    # Use the tail below −|t|, which is as large as the tail above |t|.
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
    """Returns the distance from a mean to the bounds of its Student's t interval.

    A one-sided interval has one bound, which is nearer. The distance is inf if there
    are no degrees of freedom, or hardly any.
    """
    if alternative != "two-sided":
        # Each bound of a two-sided interval at the new level is exceeded with
        # probability 1 − level, of the old level.
        level = 2 * level - 1
    return symmetric(0, error, student_quantiles(freedom, level), np)[1]


def mcnemar_test(
    differences: np.ndarray, alternative: Alternative = "two-sided", mid_p: bool = False
) -> np.ndarray:
    """Returns p values of wins against losses, `[comparisons]`.

    If both systems were equally good, each list in which they differ would be a win with
    probability ½. p is therefore a tail of the binomial distribution, and for "two-sided"
    twice the smaller tail, but never above 1. `sign_flip_test` over all sign patterns gives
    the same p.

    Args:
        differences: `[lists, comparisons]` of −1, 0 and 1.
        alternative: "greater" takes the tail with many wins, "less" the tail with few
            wins.
        mid_p: If True, the observed outcome, and outcomes just as extreme, count half.

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
    # Many wins mean few losses, because wins and losses add up to `changed`. Both tails
    # are therefore lower tails of the binomial distribution.
    tail = bdtr(extreme, changed, 0.5)
    # The tail without the observed outcome, because mid-p counts that outcome half.
    below = np.where(extreme > 0, bdtr(np.maximum(extreme - 1, 0), changed, 0.5), 0)
    sides = 2 if alternative == "two-sided" else 1
    p = np.minimum(sides * tail, 1)
    if mid_p:
        # If wins equal losses, both tails hold the observed outcome.
        counted_twice = (sides == 2) & (wins == losses)
        p = p - (tail - below) * np.where(counted_twice, 0.5, sides / 2)
    return np.where(changed > 0, p, 1.0)


def holm(p: np.ndarray) -> np.ndarray:
    """Returns p corrected to bound the probability of any false alarm (Holm's method).

    The smallest of n values is multiplied by n, the next by n − 1, and so on. Corrected
    values never exceed 1, and a larger p never gets a smaller corrected value.
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    # Four sorted p are multiplied by 4, 3, 2, 1; the running maximum keeps them in order.
    multiplied = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(multiplied), 1)
    return corrected


def false_discovery_rate(p: np.ndarray) -> np.ndarray:
    """Returns p corrected to bound the expected share of false alarms among all alarms.

    The method of Benjamini & Hochberg multiplies the largest of n values by n / n, the
    next by n / (n − 1), and so on; a smaller p never gets a larger corrected value.
    """
    order = sorted(range(len(p)), key=lambda index: -p[index])
    multiplied = p[order] * len(p) / np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum.accumulate(multiplied)
    return corrected
