"""The weighted mean of lists, and how sure it is: one summary for all functions."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


def shares_of(weights: np.ndarray) -> np.ndarray:
    """Returns the share of each list in the weight of all, `[lists, …]`; 0 without any."""
    return weights / np.maximum(weights.sum(0), np.finfo(np.float64).tiny)


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
        share = shares_of(weights)
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
        # The factor n/(n − 1) of a sample, with the effective number of lists for n.
        spread = np.sqrt(variance * self.n_eff / np.where(has_freedom, self.freedom, 1))
        return np.where(has_freedom, spread, np.inf)

    @property
    def influence(self) -> np.ndarray:
        """The weighted residuals, which each list adds to the mean, `[lists, …]`."""
        return self.share * self.residuals

    @property
    def changes(self) -> np.ndarray:
        """The falls of the mean as single lists are left out, `[lists, …]` (the jackknife).

        A list with a share h of the weight pulls the mean towards its own value, and its
        residual is smaller by a factor 1 − h than from the mean of the others. A list
        that has all the weight changes nothing.
        """
        return self.influence / np.where(self.share < 1, 1 - self.share, 1)


def deviations(
    changes: np.ndarray, n_eff: np.ndarray | float, freedom: np.ndarray | float
) -> np.ndarray:
    """Computes what each list adds to the error of a mean, or of a difference.

    Their products over lists sum to the covariance of means. With the factor (n − 1)/n it
    is Student's where weights are equal; where they differ, it is HC3.

    Args:
        changes: `[lists, …]`, as of `WeightedMean.changes`, or their difference.
        n_eff: `[…]`, the effective number of lists.
        freedom: `[…]`, degrees of freedom.

    References:
        MacKinnon & White, Some heteroskedasticity-consistent covariance matrix estimators
        with improved finite sample properties, Journal of Econometrics 1985.
    """
    return np.sqrt(freedom / np.maximum(n_eff, 1)) * changes


class Ratios(NamedTuple):
    """Ratios of systems over the same lists: two that are compared, a before b, or more.

    A ratio of sums, Σ numerator / Σ denominator, is the mean of the ratios of lists,
    weighted by their denominators. Where these differ between systems, lists have no
    differences: the ratios are compared as two means with weights of their own.

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
        return [*map(WeightedMean.of, self.values, self.weights, noise)]


def pseudo_values(ratios: Ratios) -> tuple[np.ndarray, np.ndarray]:
    """Values of equal weight whose mean and spread are those of b − a, for the bootstrap.

    To the difference they add n times what a list contributes to it, n being the number of
    lists with a weight on either side (the infinitesimal jackknife).

    Returns:
        Values and weights, `[lists]` each; all weights are 0 where a side has none.

    References:
        Efron & Tibshirani, An introduction to the bootstrap, 1993, chapter 21.
    """
    # The influence of a list, n times over, is its pseudo-value less the mean.
    a, b = ratios.means()
    counts = (ratios.weights > 0).any(0)
    values = b.mean - a.mean + counts.sum() * (b.influence - a.influence)
    return np.where(counts, values, 0), np.asarray(counts, np.float64)


class Summary(NamedTuple):
    """Means, and how sure they are; `[columns]` each.

    Attributes:
        mean: The weighted mean over lists.
        error: Its standard error: HC3, which is Student's where weights are equal.
        freedom: The degrees of freedom of the error; 0 for fewer than two lists.
        effect: Cohen's d, the mean over the standard deviation; NaN for fewer than two.
        n_eff: The effective number of lists.
    """

    mean: np.ndarray
    error: np.ndarray
    freedom: np.ndarray
    effect: np.ndarray
    n_eff: np.ndarray

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        weights: np.ndarray,
        noise: np.ndarray | float = 0.0,
        sides: Sequence[Sequence[np.ndarray]] = (),
        ratios: Mapping[int, Ratios] = MappingProxyType({}),
    ) -> "Summary":
        """Summarises values of lists, or of clusters as if they were lists.

        Args:
            values: `[lists, columns]`; means over the seeds of each side.
            weights: `[lists, columns]`; lists without a weight above 0 do not count.
            noise: See `WeightedMean.of`.
            sides: The values of each side of a column, `[seeds, lists]`, or none; their
                errors are joined with that of lists.
            ratios: The two ratios that a column compares instead, by its index.
        """
        means = WeightedMean.of(values, weights, noise)
        mean, n_eff, freedom = means.mean, means.n_eff, means.freedom
        error = _root_of_squares(deviations(means.changes, n_eff, freedom))
        effect = _effect(mean, means.spread)
        effect = np.where((weights > 0).sum(0) > 1, effect, np.nan)
        summary = cls(mean, error, freedom, effect, n_eff)
        for column, of_sides in enumerate(sides):
            if of_sides:
                share = means.share[:, column]
                error[column], freedom[column] = error_with_seeds(
                    error[column], freedom[column], of_sides, share
                )
        for column, of_systems in ratios.items():
            difference = cls.of_ratios(of_systems)
            for row, number in zip(summary, difference, strict=True):
                row[column] = number
        return summary

    @classmethod
    def of_ratios(cls, ratios: Ratios) -> "Summary":
        """Summarises the difference b − a of two ratios, `[]`.

        The effective number of lists is that of the system which has fewer. Cohen's d is
        the difference over its standard error and √n_eff.

        References:
            Efron & Tibshirani, An introduction to the bootstrap, 1993, chapter 11.
        """
        a, b = ratios.means()
        # The smaller effective size of the two.
        n_eff = np.minimum(a.n_eff, b.n_eff)
        freedom = np.minimum(a.freedom, b.freedom)
        error = _root_of_squares(deviations(b.changes - a.changes, n_eff, freedom))
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = (
                n_eff / np.sqrt(freedom) * _root_of_squares(b.influence - a.influence)
            )
        effect = _effect(b.mean - a.mean, spread)
        effect = np.where(freedom > 0, effect, np.nan)
        return cls(b.mean - a.mean, error, freedom, effect, n_eff)


def _root_of_squares(x: np.ndarray) -> np.ndarray:
    return np.sqrt((x**2).sum(0))


def _effect(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0, mean / spread)


def error_with_seeds(
    error: float, freedom: float, sides: Sequence[np.ndarray], share: np.ndarray
) -> tuple[float, float]:
    """The standard error of a mean over lists and seeds, and its degrees of freedom.

    Lists and training seeds are both drawn from many. All sides have the same lists, and
    the seeds of each are draws of their own; a side of a single seed is fixed. The squared
    error is that of lists plus that of the seeds of each side. Both hold the variance of
    the list–seed interaction, which is therefore taken off once; the rest is never less
    than either of them.

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
    """The variance of a mean over lists and seeds that is due to the seeds of a side."""

    total: float
    of_pairs: float  # the part that is the variance of the list–seed interaction
    freedom: int

    @classmethod
    def of(cls, values: np.ndarray, share: np.ndarray) -> "SeedVariance":
        """Estimates it from values `[seeds, lists]`, and the share of each list."""
        # [seeds] scores, whose variance holds that of the interaction, too.
        total = float(seed_variance(values @ share))
        return cls(total, _pair_variance(values, share), len(values) - 1)

    def over(self, lists: float) -> "SeedVariance":
        """Returns that of a mean over `lists` times as many lists.

        They average the interaction out, and leave what a seed has in common in all lists.
        """
        of_pairs = self.of_pairs / lists
        common = max(self.total - self.of_pairs, 0)
        return self._replace(total=common + of_pairs, of_pairs=of_pairs)


def total_error(
    error: float, freedom: float, sources: Sequence[SeedVariance]
) -> tuple[float, float]:
    """Joins the error over lists with that of seeds, as `error_with_seeds` does."""
    of_lists = error**2
    of_seeds, of_pairs = (sum(source[i] for source in sources) for i in range(2))
    # An estimate of the interaction may be too large, and the rest never negative.
    total = max(of_lists + of_seeds - of_pairs, of_lists, of_seeds)
    # Satterthwaite: variances v with f degrees of freedom have (Σ v)² / Σ (v²/f) in sum.
    spread = of_lists**2 / freedom
    spread += sum(source.total**2 / source.freedom for source in sources)
    return float(np.sqrt(total)), total**2 / spread if spread > 0 else freedom


def seed_variance(scores: np.ndarray) -> np.ndarray:
    """The variance of the mean of scores `[…, seeds]`; 0 for a single seed."""
    seeds = scores.shape[-1]
    squares = (scores - scores.mean(-1, keepdims=True)) ** 2
    return squares.sum(-1) / max(seeds * (seeds - 1), 1)


def _pair_variance(values: np.ndarray, share: np.ndarray) -> float:
    """The variance of the list–seed interaction, in a mean over both.

    The mean of S seeds varies over lists less than a single seed does, by (1 − 1/S) times
    that variance.
    """

    def of_lists(x: np.ndarray) -> np.ndarray:
        residuals = x - (x @ share)[..., None]
        return (share**2 * residuals**2).sum(-1)

    n_eff = 1 / max((share**2).sum(), np.finfo(np.float64).tiny)
    if n_eff <= 1:
        return 0.0
    # Single seeds vary over lists by the interaction more than their mean does.
    excess = of_lists(values).mean() - of_lists(values.mean(0))
    # The excess is (S − 1)/S of the interaction of one seed, of which the mean has 1/S.
    return float(max(excess, 0) * n_eff / (n_eff - 1) / (len(values) - 1))
