"""The weighted mean of lists, and how sure it is: what tests and plans have in common."""

from typing import NamedTuple

import numpy as np


class WeightedMean(NamedTuple):
    """The weighted means of columns of values, and what their errors are made of.

    Shapes:
        mean: `[…]`, one for each column; 0 where no list counts.
        share: `[lists, …]`, of each list in the weight of all.
        residuals: `[lists, …]`, values less their mean; 0 for lists that do not count.
        n_eff: `[…]`, the effective number of lists, (Σ weight)² / Σ weight².
        freedom: `[…]`, degrees of freedom; 0 for fewer than two lists.
    """

    mean: np.ndarray
    share: np.ndarray
    residuals: np.ndarray
    n_eff: np.ndarray
    freedom: np.ndarray

    @classmethod
    def of(
        cls, values: np.ndarray, weights: np.ndarray, noise: np.ndarray | float
    ) -> "WeightedMean":
        """Computes the mean of lists, or of clusters as if they were lists.

        Args:
            values: `[lists, …]`.
            weights: `[lists, …]`; lists without a weight above 0 do not count.
            noise: `[lists, …]`, or one number: how far rounding may move a value.
        """
        counts = weights > 0
        lists = counts.sum(0)
        total = np.where(lists > 0, weights.sum(0), 1)
        share = weights / total
        mean = (share * values).sum(0)
        # A residual that may be rounding alone is 0: equal values have no error.
        residuals = np.where(counts, values - mean, 0)
        residuals = np.where(np.abs(residuals) <= noise, 0, residuals)
        # Relative to the largest, since squares of small weights vanish; equal weights
        # then give the number of lists without rounding.
        relative = weights / np.where(lists > 0, weights.max(0, initial=0), 1)
        squares = np.where(lists > 0, (relative**2).sum(0), 1)
        n_eff = relative.sum(0) ** 2 / squares
        freedom = np.where(lists > 1, np.maximum(n_eff - 1, 0), 0)
        return cls(mean, share, residuals, n_eff, freedom)

    @property
    def spread(self) -> np.ndarray:
        """The weighted standard deviation of values, `[…]`; inf for fewer than two."""
        variance = (self.share * self.residuals**2).sum(0)
        has_freedom = self.freedom > 0
        spread = np.sqrt(variance * self.n_eff / np.where(has_freedom, self.freedom, 1))
        return np.where(has_freedom, spread, np.inf)

    @property
    def changes(self) -> np.ndarray:
        """The falls of the mean as single lists are left out, `[lists, …]` (the jackknife).

        A list with a share h of the weight pulls the mean towards its own value, and its
        residual is smaller by a factor 1 − h than from the mean of the others. A list
        that has all the weight changes nothing.
        """
        return self.share * self.residuals / np.where(self.share < 1, 1 - self.share, 1)


def jackknife_error(
    changes: np.ndarray, n_eff: np.ndarray, freedom: np.ndarray
) -> np.ndarray:
    """The standard error of a mean, or of a difference of means, `[…]`.

    With the factor (n − 1)/n it is Student's where weights are equal; where they differ,
    it is HC3.

    Args:
        changes: `[lists, …]`, as of `WeightedMean.changes`, or their difference.
        n_eff: `[…]`, the effective number of lists.
        freedom: `[…]`, degrees of freedom.

    References:
        MacKinnon & White, Some heteroskedasticity-consistent covariance matrix estimators
        with improved finite sample properties, Journal of Econometrics 1985.
    """
    return np.sqrt((changes**2).sum(0) * freedom / np.maximum(n_eff, 1))
