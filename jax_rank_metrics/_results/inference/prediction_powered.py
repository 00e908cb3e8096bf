"""The result of `jrm.prediction_powered`: a mean from labels of people and of a judge."""

import dataclasses
from typing import Any

import numpy as np

from jax_rank_metrics._results.inference.p_values import student_reach
from jax_rank_metrics._results.sheets.export import count_text
from jax_rank_metrics._states.intervals import checked_level
from jax_rank_metrics._states.show import numbers_text
from jax_rank_metrics._types import Number


@dataclasses.dataclass(frozen=True, repr=False)
class PredictionPowered:
    """A mean over lists that people have labelled, and over more that a judge has.

    Numbers are floats, or arrays `[cutoffs]` of a metric at several cutoffs.

    Attributes:
        mean: The estimate of the mean of people's values over all lists.
        std_error: Its standard error; inf for two labelled lists or fewer.
        judge_mean: The mean of the judge's values, over all of its lists.
        judge_bias: How far the judge is above people, on average over labelled lists.
        judge_bias_error: The standard error of `judge_bias`.
        tuning: λ in [0, 1], how much the judge's values count. 0 leaves people alone.
        worth: How many lists labelled by people alone would have this standard error. It
            is a little below their number where the judge is of no help. Of clusters, where
            there are any.
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
        """Returns the ends of an interval of the mean: Student's t with n_eff − 2 freedom.

        Args:
            level: The probability with which it should cover the mean, in (0, 1).
        """
        return _interval(self.mean, self.std_error, self.n_eff - 2, level)

    def judge_bias_interval(self, level: Number = 0.95) -> tuple[Any, Any]:
        """Returns the ends of an interval of the judge's bias: Student's paired t.

        Args:
            level: The probability with which it should cover the bias, in (0, 1).
        """
        freedom = self.n_eff - 1
        return _interval(self.judge_bias, self.judge_bias_error, freedom, level)

    @property
    def has_cutoffs(self) -> bool:
        """Whether numbers are arrays of several cutoffs."""
        return np.ndim(self.mean) > 0

    def at(self, index: int) -> "PredictionPowered":
        """Returns the estimate at one of several cutoffs, in Python numbers."""
        fields = {name: x[index].item() for name, x in vars(self).items() if np.ndim(x)}
        return dataclasses.replace(self, **fields)

    def at_cutoffs(self) -> list["PredictionPowered"]:
        """Returns the estimate at each cutoff; the only one of a metric without cutoffs."""
        count = len(self.mean) if self.has_cutoffs else 1
        return [self.at(index) for index in range(count)]

    def __float__(self) -> float:
        """The mean; TypeError of several cutoffs."""
        return float(self.mean)

    def __format__(self, spec: str) -> str:
        """The mean as a float; the repr without a format."""
        return format(float(self), spec) if spec else repr(self)

    def __repr__(self) -> str:
        """The mean and its error, the numbers of lists, and what they are worth."""
        mean, error = (numbers_text(np.asarray(x)) for x in (self.mean, self.std_error))
        worth = ", ".join(f"{x:.3g}" for x in np.atleast_1d(self.worth))
        return (
            f"PredictionPowered({mean} ± {error}, {count_text(self.lists, 'list')}, "
            f"{self.other_lists} of the judge alone, worth {worth})"
        )


def _interval(mean: Any, error: Any, freedom: Any, level: Number) -> tuple[Any, Any]:
    freedom = np.maximum(np.asarray(freedom, float), 0)
    reach = student_reach(np.asarray(error), freedom, checked_level(level))
    ends = np.stack([mean - reach, mean + reach])
    low, high = ends if np.ndim(mean) else ends.tolist()
    return low, high
