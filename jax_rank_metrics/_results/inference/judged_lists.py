"""Lists that people and a judge have labelled: their prediction-powered means."""

from typing import NamedTuple

import numpy as np

from jax_rank_metrics._results.inference.means import Summary, WeightedMean, deviations
from jax_rank_metrics._results.inference.prediction_powered import PredictionPowered
from jax_rank_metrics._states.clusters import join_clusters


class JudgedLists(NamedTuple):
    """Values of people and of a judge, in rows that are lists or clusters of lists.

    A row holds a labelled list, another one, or, of a cluster, the means of both. What a
    row lacks has the weight 0.

    Shapes:
        human: `[rows, columns]`, the values of people.
        judge: `[rows, columns]`, those of the judge in the labelled lists.
        weights: `[rows, columns]`, of the labelled lists.
        other_judge: `[rows, columns]`, the values of the judge in the other lists.
        other_weights: `[rows, columns]`, of these.
        noise: `[columns]`, how far rounding may move a value.
        counts: `[columns]`, the number of labelled lists that count.
        other_counts: `[columns]`, that of the other lists.
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
        human: np.ndarray,
        human_weights: np.ndarray,
        judge: np.ndarray,
        judge_weights: np.ndarray,
        noise: np.ndarray,
        indices: np.ndarray,
        cluster_indices: np.ndarray | None = None,
    ) -> "JudgedLists":
        """Makes rows of all lists of the judge.

        Args:
            human: `[labelled, columns]`.
            human_weights: `[labelled, columns]`; 0 where a list does not count.
            judge: `[lists, columns]`.
            judge_weights: `[lists, columns]`; a labelled list counts if both are above 0.
            noise: `[columns]`, how far rounding may move a value.
            indices: `[labelled]`, the number of each labelled list among the judge's.
            cluster_indices: `[lists]`, the cluster of each list; None for none.
        """
        values, weights = np.zeros(judge.shape), np.zeros(judge.shape)
        values[indices] = human
        weights[indices] = np.where(judge_weights[indices] > 0, human_weights, 0)
        # A list that people have looked at is no other list, even if it does not count.
        other_weights = judge_weights.copy()
        other_weights[indices] = 0
        ends = noise, (weights > 0).sum(0), (other_weights > 0).sum(0)
        if cluster_indices is None:
            return cls(values, judge, weights, judge, other_weights, *ends)
        count = int(cluster_indices.max(initial=-1)) + 1

        def joined(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return join_clusters(x, w, cluster_indices, count)

        means, total = joined(values, weights)
        judge_means, _ = joined(judge, weights)
        return cls(means, judge_means, total, *joined(judge, other_weights), *ends)

    def at(self, columns: np.ndarray) -> "JudgedLists":
        """Selects columns, by their indices."""
        return self._make(x[..., columns] for x in self)

    def moments(self) -> "Moments":
        """Computes the moments from which λ and errors are made."""
        human = WeightedMean.of(self.human, self.weights, self.noise)
        judge = WeightedMean.of(self.judge, self.weights, self.noise)
        all_lists = WeightedMean.of(
            np.concatenate([self.judge, self.other_judge]),
            np.concatenate([self.weights, self.other_weights]),
            self.noise,
        )
        freedom = np.where(human.freedom > 0, human.freedom, 1)
        factor = np.where(human.freedom > 0, human.n_eff / freedom, 0)
        share = factor * human.share
        return Moments(
            human_variance=(share * human.residuals**2).sum(0),
            covariance=(share * human.residuals * judge.residuals).sum(0),
            judge_variance=(share * judge.residuals**2).sum(0),
            variance_of_all=np.where(all_lists.freedom > 0, all_lists.spread**2, 0),
            mean_of_all=all_lists.mean,
            n_eff=human.n_eff,
        )


class Moments(NamedTuple):
    """Weighted moments of the values of people and judge, `[columns]` each.

    Attributes:
        human_variance: Of people.
        covariance: Of people and judge in the labelled lists.
        judge_variance: Of the judge in the labelled lists.
        variance_of_all: Of the judge in all of its lists.
        mean_of_all: The mean of the judge in all of its lists.
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
        """Computes λ, the share of the judge, for effective numbers of lists.

        It is that of the smallest error, and 0 where the judge says nothing: it has no
        other list, or equal values in all, or goes against people.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            tuning = (
                self.covariance / (1 + labelled / unlabelled) / self.variance_of_all
            )
        return np.clip(np.nan_to_num(tuning, posinf=0, neginf=0), 0, 1)


class PoweredMean(NamedTuple):
    """Means from people and a judge, and how sure they are; `[columns]` each.

    Attributes:
        mean: λ · mean of the judge in other lists + mean of (people − λ · judge).
        error: Its standard error; inf for two labelled lists or fewer.
        freedom: The degrees of freedom of the error, n_eff − 2.
        tuning: λ.
        judge_mean: The mean of the judge in all of its lists.
        bias: The mean of (judge − people) in the labelled lists, as a `Summary`.
        human: The mean of people alone, as a `Summary`.
        spread: The standard deviation of people's values.
        worth: How many lists labelled by people alone would say as much.
        counts: The numbers of labelled lists and of others.
    """

    mean: np.ndarray
    error: np.ndarray
    freedom: np.ndarray
    tuning: np.ndarray
    judge_mean: np.ndarray
    bias: Summary
    human: Summary
    spread: np.ndarray
    worth: np.ndarray
    counts: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, lists: JudgedLists) -> "PoweredMean":
        """Computes the means of all columns."""
        moments = lists.moments()
        of_judge = WeightedMean.of(lists.other_judge, lists.other_weights, lists.noise)
        tuning = moments.tuning(moments.n_eff, of_judge.n_eff)
        values = lists.human - tuning * lists.judge
        residual = WeightedMean.of(values, lists.weights, lists.noise)
        freedom = np.maximum(residual.freedom - 1, 0)
        # λ costs the residual a degree of freedom more: n − 2 in place of n − 1.
        scale = residual.freedom / np.where(freedom > 0, freedom, 1)
        parts = [
            np.sqrt(scale)
            * deviations(residual.changes, residual.n_eff, residual.freedom),
            tuning * deviations(of_judge.changes, of_judge.n_eff, of_judge.freedom),
        ]
        # A cluster may be in both parts, whose deviations then rise and fall together.
        error = np.sqrt(((parts[0] + parts[1]) ** 2).sum(0))
        error = np.where(freedom > 0, error, np.inf)
        human = Summary.of(lists.human, lists.weights, lists.noise)
        bias = Summary.of(lists.judge - lists.human, lists.weights, lists.noise)
        labelled = (lists.weights > 0).sum(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(human.error == error, 1, human.error / error)
        worth = np.where(freedom > 0, labelled * ratio**2, 0)
        mean = residual.mean + tuning * of_judge.mean
        return cls(
            *(mean, error, freedom, tuning, moments.mean_of_all, bias, human),
            spread=np.sqrt(moments.human_variance),
            worth=worth,
            counts=(lists.counts, lists.other_counts),
        )

    def summary(self) -> Summary:
        """The mean as a `Summary`, whose effect is in deviations of people."""
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(self.mean == 0, 0, self.mean / self.spread)
        effect = np.where(self.human.freedom > 0, effect, np.nan)
        return Summary(self.mean, self.error, self.freedom, effect, self.human.n_eff)

    def at(self, index: int | slice, undefined: int = 0) -> PredictionPowered:
        """Returns the mean of a column as numbers, or those of a slice as arrays."""
        columns = (
            *(self.mean, self.error, self.judge_mean, self.bias.mean, self.bias.error),
            *(self.tuning, self.worth, self.human.n_eff),
        )
        numbers = [
            x[index] if isinstance(index, slice) else float(x[index]) for x in columns
        ]
        labelled, other_lists = (int(np.max(x[index])) for x in self.counts)
        return PredictionPowered(
            *numbers, lists=labelled, other_lists=other_lists, undefined=undefined
        )
