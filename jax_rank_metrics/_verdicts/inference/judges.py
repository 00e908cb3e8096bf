"""Means from few lists labelled by people and many labelled by a judge."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._ground.types import Number
from jax_rank_metrics._values import clusters, intervals
from jax_rank_metrics._values.state import numbers_text
from jax_rank_metrics._verdicts import sheets
from jax_rank_metrics._verdicts.inference.p_values import student_reach
from jax_rank_metrics._verdicts.inference.weighted_means import (
    Summary,
    WeightedMean,
    deviations,
)


@dataclasses.dataclass(frozen=True, repr=False)
class PredictionPowered:
    """A mean over few lists that people labelled and more lists that a judge labelled.

    Numbers are floats, or arrays `[cutoffs]` for a metric at several cutoffs.

    Attributes:
        mean: The estimate of the mean of people's values over all lists.
        std_error: The standard error of `mean`; inf for two labelled lists or fewer. A
            labelled list is one that people labelled.
        judge_mean: The mean of the judge's values, over all lists that the judge
            labelled.
        judge_bias: The mean of the judge's values minus people's values, over labelled
            lists.
        judge_bias_error: The standard error of `judge_bias`.
        tuning: λ in [0, 1]: how much the judge's values count. With 0, only people's
            values count.
        worth: The number of lists that people would have to label to reach this
            standard error without a judge. If the judge does not help, it is a little
            below the number of labelled lists. With clusters, it is a number of
            clusters.
        n_eff: Effective number of labelled lists or clusters, (Σ weight)² / Σ weight².
        lists: Number of labelled lists that counted.
        other_lists: Number of lists that only the judge has labelled.
        undefined: Number of labelled lists in which the metric is undefined.
    """

    mean: Any
    std_error: Any
    judge_mean: Any
    judge_bias: Any
    judge_bias_error: Any
    tuning: Any
    worth: Any
    n_eff: Any
    lists: Any
    other_lists: Any
    undefined: int = 0

    def confidence_interval(self, level: Number = 0.95) -> tuple[Any, Any]:
        """Returns the bounds of an interval of the mean, by Student's t.

        t has n_eff − 2 degrees of freedom.

        Args:
            level: The probability with which the interval should cover the mean, in
                (0, 1).
        """
        return _interval(self.mean, self.std_error, self.n_eff - 2, level)

    def judge_bias_interval(self, level: Number = 0.95) -> tuple[Any, Any]:
        """Returns the bounds of an interval of the judge's bias, by Student's paired t.

        Args:
            level: The probability with which the interval should cover the bias, in
                (0, 1).
        """
        freedom = self.n_eff - 1
        return _interval(self.judge_bias, self.judge_bias_error, freedom, level)

    @property
    def has_cutoffs(self) -> bool:
        """True if numbers are arrays with an entry for each cutoff."""
        return np.ndim(self.mean) > 0

    def at(self, index: int) -> "PredictionPowered":
        """Returns the estimate at one of several cutoffs, as Python numbers."""
        fields = {
            name: array[index].item()
            for name, array in vars(self).items()
            if np.ndim(array)
        }
        return dataclasses.replace(self, **fields)

    def at_cutoffs(self) -> list["PredictionPowered"]:
        """Returns the estimate at each cutoff, or the only one without cutoffs."""
        count = len(self.mean) if self.has_cutoffs else 1
        return [self.at(index) for index in range(count)]

    def __float__(self) -> float:
        """Returns the mean; raises TypeError for several cutoffs."""
        return float(self.mean)

    def __format__(self, spec: str) -> str:
        """Formats the mean as a float; without a format, returns the repr."""
        return format(float(self), spec) if spec else repr(self)

    def __repr__(self) -> str:
        """Shows the mean and its standard error, the numbers of lists, and `worth`."""
        mean, error = (
            numbers_text(np.asarray(number)) for number in (self.mean, self.std_error)
        )
        worth = ", ".join(f"{number:.3g}" for number in np.atleast_1d(self.worth))
        undefined = f"{self.undefined} undefined, " * bool(self.undefined)
        return (
            f"PredictionPowered({mean} ± {error}, {sheets.count_text(self.lists, 'list')}, "
            f"{undefined}{self.other_lists} of the judge alone, worth {worth})"
        )


def _interval(mean: Any, error: Any, freedom: Any, level: Number) -> tuple[Any, Any]:
    degrees = np.asarray(freedom, float)
    reach = student_reach(np.asarray(error), degrees, intervals.checked_level(level))
    low, high = mean - reach, mean + reach
    return (low, high) if np.ndim(mean) else (float(low), float(high))


class JudgedLists(NamedTuple):
    """Values of people and of a judge; a row is a list or a cluster of lists.

    Lists that people labelled are called labelled here; the other lists have only
    values of the judge. A row is one list of either kind. If rows are clusters, a row
    holds the mean of its labelled lists and the mean of its other lists. The weight is
    0 for the kind of lists that a row lacks.

    Shapes:
        human: `[rows, columns]`, the values of people.
        judge: `[rows, columns]`, the values of the judge in the labelled lists.
        weights: `[rows, columns]`, the weights of the labelled lists.
        other_judge: `[rows, columns]`, the values of the judge in the other lists.
        other_weights: `[rows, columns]`, the weights of the other lists.
        noise: `[columns]`, how far rounding may move a value.
        counts: `[columns]`, the number of labelled lists that count.
        other_counts: `[columns]`, the number of other lists that count.
    """

    human: np.ndarray
    judge: np.ndarray
    weights: np.ndarray
    other_judge: np.ndarray
    other_weights: np.ndarray
    noise: np.ndarray
    counts: np.ndarray
    other_counts: np.ndarray

    @classmethod
    def of(
        cls,
        human: tuple[np.ndarray, np.ndarray],
        judge: tuple[np.ndarray, np.ndarray],
        noise: np.ndarray,
        indices: np.ndarray,
        cluster_indices: np.ndarray | None = None,
        is_labelled: np.ndarray | bool = True,
    ) -> "JudgedLists":
        """Makes the rows from all lists of the judge.

        Args:
            human: Values and weights, `[labelled, columns]` each.
            judge: Values and weights, `[lists, columns]` each; a labelled list counts if
                both of its weights are above 0.
            noise: `[columns]`.
            indices: `[labelled]`, the index of each labelled list among the judge's
                lists.
            cluster_indices: `[lists]`, the cluster of each list; None without clusters.
            is_labelled: `[labelled, columns]`, True if people have labelled the list.
        """
        judge_values, judge_weights = judge
        values, weights = np.zeros(judge_values.shape), np.zeros(judge_values.shape)
        values[indices] = human[0]
        weights[indices] = np.where(judge_weights[indices] > 0, human[1], 0)
        # A list that people have labelled is not one of the other lists, even if it
        # does not count.
        other_weights = judge_weights.copy()
        other_weights[indices] = np.where(is_labelled, 0, judge_weights[indices])
        parts = [
            (values, weights),
            (judge_values, weights),
            (judge_values, other_weights),
        ]
        counts = [(w > 0).sum(0) for w in (weights, other_weights)]
        if cluster_indices is not None:
            clustering = cluster_indices, int(cluster_indices.max(initial=-1)) + 1
            parts = [clusters.join_clusters(*part, *clustering) for part in parts]
        (values, _), labelled, unlabelled = parts
        return cls._make([values, *labelled, *unlabelled, noise, *counts])

    def at(self, columns: np.ndarray) -> "JudgedLists":
        """Selects columns, by their indices."""
        return self._make(array[..., columns] for array in self)

    def moments(self) -> "JudgedMoments":
        """Computes the moments that λ and errors need."""
        human = WeightedMean.of(self.human, self.weights, self.noise)
        judge = WeightedMean.of(self.judge, self.weights, self.noise)
        all_lists = WeightedMean.of(
            np.concatenate([self.judge, self.other_judge]),
            np.concatenate([self.weights, self.other_weights]),
            self.noise,
        )
        # Divide by n − 1, with effective numbers of lists.
        share = (
            human.share * human.n_eff / np.where(human.freedom > 0, human.freedom, 1)
        )
        return JudgedMoments(
            (share * human.residuals**2).sum(0),
            (share * human.residuals * judge.residuals).sum(0),
            (share * judge.residuals**2).sum(0),
            np.where(all_lists.freedom > 0, all_lists.spread**2, 0),
            all_lists.mean,
            human.n_eff,
        )

    def means(self) -> PredictionPowered:
        """Computes the means of all columns; arrays are `[columns]`."""
        moments = self.moments()
        others_mean = WeightedMean.of(self.other_judge, self.other_weights, self.noise)
        tuning = moments.tuning(moments.n_eff, others_mean.n_eff)
        values = self.human - tuning * self.judge
        residual = WeightedMean.of(values, self.weights, self.noise)
        # Estimating λ costs another degree of freedom: n − 2 are left instead of n − 1.
        freedom = np.maximum(residual.freedom - 1, 0)
        scale = np.sqrt(residual.freedom / np.where(freedom > 0, freedom, 1))
        pulls, other_pulls = (
            deviations(mean.changes, mean.n_eff, mean.freedom)
            for mean in (residual, others_mean)
        )
        # Add deviations before squaring, because a cluster may have lists of both
        # kinds, and then its two deviations are correlated.
        error = np.sqrt(((scale * pulls + tuning * other_pulls) ** 2).sum(0))
        error = np.where(freedom > 0, error, np.inf)
        alone = Summary.of(self.human, self.weights, self.noise).error
        bias = Summary.of(self.judge - self.human, self.weights, self.noise)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(alone == error, 1, alone / error)
        return PredictionPowered(
            mean=residual.mean + tuning * others_mean.mean,
            std_error=error,
            judge_mean=moments.mean_of_all,
            judge_bias=bias.mean,
            judge_bias_error=bias.error,
            tuning=tuning,
            worth=np.where(freedom > 0, (self.weights > 0).sum(0) * ratio**2, 0),
            n_eff=moments.n_eff,
            lists=self.counts,
            other_lists=self.other_counts,
        )

    def summary(self) -> Summary:
        """Summarises the means; the unit of the effect is people's standard deviation."""
        means, variance = self.means(), self.moments().human_variance
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(means.mean == 0, 0, means.mean / np.sqrt(variance))
        effect = np.where(self.counts > 1, effect, np.nan)
        freedom = np.maximum(means.n_eff - 2, 0)
        return Summary(means.mean, means.std_error, freedom, effect, means.n_eff)


class JudgedMoments(NamedTuple):
    """Weighted moments of people's values and the judge's values, `[columns]` each.

    Attributes:
        human_variance: The variance of people's values.
        covariance: The covariance of people's and the judge's values, over labelled
            lists.
        judge_variance: The variance of the judge's values, over labelled lists.
        variance_of_all: The variance of the judge's values, over all of its lists.
        mean_of_all: The mean of the judge's values, over all of its lists.
        n_eff: The effective number of labelled lists.
    """

    human_variance: np.ndarray
    covariance: np.ndarray
    judge_variance: np.ndarray
    variance_of_all: np.ndarray
    mean_of_all: np.ndarray
    n_eff: np.ndarray

    def tuning(
        self, labelled: np.ndarray | float, unlabelled: np.ndarray | float
    ) -> np.ndarray:
        """Computes λ, the factor of the judge's values, for effective numbers of lists.

        This λ minimises the error. It is 0 if the judge gives no information: if the
        judge labelled no other lists, has equal values in all lists, or disagrees with
        people.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            tuning = (
                self.covariance / (1 + labelled / unlabelled) / self.variance_of_all
            )
        return np.clip(np.nan_to_num(tuning, posinf=0, neginf=0), 0, 1)
