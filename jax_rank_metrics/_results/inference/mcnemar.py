"""McNemar's exact test of systems whose values are 0 and 1."""

import numpy as np

from jax_rank_metrics._choices import Alternative


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
    below = np.where(extreme > 0, bdtr(np.maximum(extreme - 1, 0), changed, 0.5), 0)
    sides = 2 if alternative == "two-sided" else 1
    p = np.minimum(sides * tail, 1)
    if mid_p:
        # Where wins equal losses, both tails hold the outcome observed.
        counted_twice = (sides == 2) & (wins == losses)
        p = p - (tail - below) * np.where(counted_twice, 0.5, sides / 2)
    return np.where(changed > 0, p, 1.0)
