"""The weighted mean of lists and its error, as one summary for all functions."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


def shares_of(weights: np.ndarray) -> np.ndarray:
    """Returns each list's share of the total weight, `[lists, …]`; 0 without any weight."""
    return weights / np.maximum(weights.sum(0), np.finfo(np.float64).tiny)


class WeightedMean(NamedTuple):
    """The weighted means of columns of values, and the numbers that give their errors.

    Shapes:
        mean: `[…]`, the mean of each column; 0 if no list counts.
        share: `[lists, …]`, each list's share of the total weight.
        residuals: `[lists, …]`, values minus their mean; 0 for lists that do not count.
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
            noise: `[lists, …]`, or one number: how much rounding may change a value.
        """
        counts = weights > 0
        lists = counts.sum(0)
        share = shares_of(weights)
        mean = (share * values).sum(0)
        # A residual that may be rounding alone becomes 0, so that equal values have the
        # error 0.
        residuals = np.where(counts, values - mean, 0)
        residuals = np.where(np.abs(residuals) <= noise, 0, residuals)
        # Divide by the largest weight, because squares of small weights would
        # underflow. Equal weights then also give exactly the number of lists.
        relative = weights / np.where(lists > 0, weights.max(0, initial=0), 1)
        squares = np.where(lists > 0, (relative**2).sum(0), 1)
        n_eff = relative.sum(0) ** 2 / squares
        freedom = np.where(lists > 1, np.maximum(n_eff - 1, 0), 0)
        return cls(mean, share, residuals, n_eff, freedom)

    @property
    def spread(self) -> np.ndarray:
        """The weighted standard deviation, `[…]`; inf for fewer than two lists."""
        variance = (self.share * self.residuals**2).sum(0)
        has_freedom = self.freedom > 0
        # The variance of a sample has the factor n/(n − 1); n is the effective number here.
        spread = np.sqrt(variance * self.n_eff / np.where(has_freedom, self.freedom, 1))
        return np.where(has_freedom, spread, np.inf)

    @property
    def influence(self) -> np.ndarray:
        """The weighted residual that each list contributes to the mean, `[lists, …]`."""
        return self.share * self.residuals

    @property
    def changes(self) -> np.ndarray:
        """How much the mean falls if each list is left out, `[lists, …]` (the jackknife).

        A list with a share h of the weight pulls the mean towards its own value, so its
        residual is 1 − h times its distance from the mean of the other lists. For a
        list that has all the weight, the change is 0.
        """
        return self.influence / np.where(self.share < 1, 1 - self.share, 1)


def deviations(
    changes: np.ndarray, n_eff: np.ndarray | float, freedom: np.ndarray | float
) -> np.ndarray:
    """Returns the contribution of each list to the error of a mean, or of a difference.

    The products of two means' contributions, summed over lists, are the covariance of
    the means. Because of the factor (n − 1)/n, the sum of squares is Student's squared
    error if weights are equal, and HC3 if they differ.

    Args:
        changes: `[lists, …]`: `WeightedMean.changes`, or the difference of two of them.
        n_eff: `[…]`, the effective number of lists.
        freedom: `[…]`, degrees of freedom.

    References:
        MacKinnon & White, Some heteroskedasticity-consistent covariance matrix estimators
        with improved finite sample properties, Journal of Econometrics 1985.
    """
    return np.sqrt(freedom / np.maximum(n_eff, 1)) * changes


class Ratios(NamedTuple):
    """Ratios of systems over the same lists: of two that are compared, a first, or of more.

    A ratio of sums, Σ numerator / Σ denominator, is the mean of the lists' ratios, weighted
    by their denominators. If denominators differ between systems, lists have no
    differences: the ratios are compared as two means, each with its own weights.

    Attributes:
        values: `[systems, lists]`, the ratio in each list.
        weights: `[systems, lists]`, the denominators; 0 if a list does not count.
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
    """Returns values of equal weight with the mean and spread of b − a, for the bootstrap.

    The value of a list is the difference plus n times the list's contribution to the
    difference (the infinitesimal jackknife); n is the number of lists with a weight in
    a or b.

    Returns:
        Values and weights, `[lists]` each; the weight is 1 for lists with a weight in a
        or b, and 0 for other lists.

    References:
        Efron & Tibshirani, An introduction to the bootstrap, 1993, chapter 21.
    """
    # n times the influence of a list is its pseudo-value minus the mean.
    a, b = ratios.means()
    counts = (ratios.weights > 0).any(0)
    values = b.mean - a.mean + counts.sum() * (b.influence - a.influence)
    return np.where(counts, values, 0), np.asarray(counts, np.float64)


class Summary(NamedTuple):
    """Means, their errors and effect sizes, `[columns]` each.

    Attributes:
        mean: The weighted mean over lists.
        error: The standard error of the mean: HC3, which is Student's error if weights
            are equal.
        freedom: The degrees of freedom of the error; 0 for fewer than two lists.
        effect: Cohen's d, the mean over the standard deviation; NaN for fewer than two
            lists.
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
            values: `[lists, columns]`; with seeds, means over the seeds of each side.
            weights: `[lists, columns]`; lists without a weight above 0 do not count.
            noise: See `WeightedMean.of`.
            sides: For each column, the values of its sides, `[seeds, lists]` each, or
                no sides. With sides, the error over lists is combined with the errors
                due to seeds.
            ratios: A dict from the indices of columns that compare two ratios to these
                ratios.
        """
        means = WeightedMean.of(values, weights, noise)
        mean, n_eff, freedom = means.mean, means.n_eff, means.freedom
        error = _root_of_squares(deviations(means.changes, n_eff, freedom))
        effect = _effect(mean, means.spread)
        effect = np.where((weights > 0).sum(0) > 1, effect, np.nan)
        summary = cls(mean, error, freedom, effect, n_eff)
        for column, column_sides in enumerate(sides):
            if column_sides:
                share = means.share[:, column]
                error[column], freedom[column] = error_with_seeds(
                    error[column], freedom[column], column_sides, share
                )
        for column, column_ratios in ratios.items():
            difference = cls.of_ratios(column_ratios)
            for row, number in zip(summary, difference, strict=True):
                row[column] = number
        return summary

    @classmethod
    def of_ratios(cls, ratios: Ratios) -> "Summary":
        """Summarises the difference b − a of two ratios, `[]`.

        The effective number of lists is the smaller number of the two systems. Cohen's d is
        the difference over its standard deviation, which is √n_eff times the standard error
        without the factor for heavy lists.

        References:
            Efron & Tibshirani, An introduction to the bootstrap, 1993, chapter 11.
        """
        a, b = ratios.means()
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
    """Returns the standard error of a mean over lists and seeds, and its freedom.

    Lists and training seeds are both samples of many. All sides, that is, systems, have
    the same lists, and each side has its own seeds; a side with a single seed is fixed.
    The squared error is the squared error over lists plus the squared errors due to the
    seeds of each side. Both contain the variance of the list–seed interaction, which is
    therefore subtracted once. But the result is at least the squared error over lists,
    and at least the squared error due to seeds.

    Args:
        error: The standard error over lists, with the means over seeds as values.
        freedom: The degrees of freedom of `error`.
        sides: The values of each side, `[seeds, lists]`.
        share: `[lists]`, each list's share of the total weight.

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
    """The part of the variance of a mean that is due to the training seeds of a side."""

    total: float
    of_pairs: float  # the part of `total` that is due to the list–seed interaction
    freedom: int

    @classmethod
    def of(cls, values: np.ndarray, share: np.ndarray) -> "SeedVariance":
        """Estimates the variance from values `[seeds, lists]` and shares of the weight."""
        # The variance of the [seeds] scores contains the variance of the interaction.
        total = float(seed_variance(values @ share))
        return cls(total, _pair_variance(values, share), len(values) - 1)

    def over(self, lists: float) -> "SeedVariance":
        """Returns the variance of a mean over `lists` times as many lists.

        More lists average out the interaction, but not the effect of a seed on all
        lists.
        """
        of_pairs = self.of_pairs / lists
        common = max(self.total - self.of_pairs, 0)
        return self._replace(total=common + of_pairs, of_pairs=of_pairs)


def total_error(
    error: float, freedom: float, sources: Sequence[SeedVariance]
) -> tuple[float, float]:
    """Combines the error over lists with errors due to seeds; see `error_with_seeds`."""
    list_part = error**2
    seed_part, pair_part = (sum(source[i] for source in sources) for i in range(2))
    # The estimate of the interaction may be too large, so keep at least the larger
    # variance.
    total = max(list_part + seed_part - pair_part, list_part, seed_part)
    # Satterthwaite: a sum of variances v with f degrees of freedom each has (Σ v)²
    # / Σ (v²/f) degrees of freedom.
    spread = list_part**2 / freedom
    spread += sum(source.total**2 / source.freedom for source in sources)
    return float(np.sqrt(total)), total**2 / spread if spread > 0 else freedom


def seed_variance(scores: np.ndarray) -> np.ndarray:
    """Returns the variance of the mean of scores `[…, seeds]`; 0 for a single seed."""
    seeds = scores.shape[-1]
    squares = (scores - scores.mean(-1, keepdims=True)) ** 2
    return squares.sum(-1) / max(seeds * (seeds - 1), 1)


def _pair_variance(values: np.ndarray, share: np.ndarray) -> float:
    """Returns the variance of a mean that is due to the interaction of lists and seeds.

    The mean of S seeds varies less over lists than a single seed does: the difference
    is (1 − 1/S) times the variance of a single seed's interaction.
    """

    def squares_of_lists(x: np.ndarray) -> np.ndarray:
        residuals = x - (x @ share)[..., None]
        return (share**2 * residuals**2).sum(-1)

    n_eff = 1 / max((share**2).sum(), np.finfo(np.float64).tiny)
    if n_eff <= 1:
        return 0.0
    # The excess of single seeds over their mean is (S − 1)/S of the interaction's variance.
    excess = squares_of_lists(values).mean() - squares_of_lists(values.mean(0))
    # The mean of seeds has 1/S of that variance, so divide the excess by S − 1.
    return float(max(excess, 0) * n_eff / (n_eff - 1) / (len(values) - 1))
