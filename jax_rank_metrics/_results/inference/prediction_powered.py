"""The result of `jrm.prediction_powered`: a mean from labels of people and of a judge."""

import dataclasses
from typing import TypeAlias

import numpy as np

from jax_rank_metrics._results.inference.p_values import student_reach
from jax_rank_metrics._results.sheets.export import count_text
from jax_rank_metrics._states.intervals import checked_level
from jax_rank_metrics._states.show import numbers_text
from jax_rank_metrics._types import Number

# A number, or one for each cutoff.
Numbers: TypeAlias = float | np.ndarray


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

    mean: Numbers
    std_error: Numbers
    judge_mean: Numbers
    judge_bias: Numbers
    judge_bias_error: Numbers
    tuning: Numbers
    worth: Numbers
    n_eff: Numbers
    lists: int
    other_lists: int
    undefined: int

    def confidence_interval(self, level: Number = 0.95) -> tuple[Numbers, Numbers]:
        """Returns the ends of an interval of the mean: Student's t with n_eff − 2 freedom.

        Args:
            level: The probability with which it should cover the mean, in (0, 1).
        """
        return _interval(self.mean, self.std_error, self.n_eff - 2, level)

    def judge_bias_interval(self, level: Number = 0.95) -> tuple[Numbers, Numbers]:
        """Returns the ends of an interval of the judge's bias: Student's paired t.

        Args:
            level: The probability with which it should cover the bias, in (0, 1).
        """
        freedom = self.n_eff - 1
        return _interval(self.judge_bias, self.judge_bias_error, freedom, level)

    def at_cutoffs(self) -> list["PredictionPowered"]:
        """Returns the estimate at each cutoff; the only one of a metric without cutoffs."""
        if isinstance(self.mean, float):
            return [dataclasses.replace(self)]
        fields = {name: getattr(self, name) for name in _NUMBERS}
        return [
            dataclasses.replace(
                self, **{name: float(x[i]) for name, x in fields.items()}
            )
            for i in range(np.size(self.mean))
        ]

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


# The fields that a metric has at each cutoff.
_NUMBERS = [field.name for field in dataclasses.fields(PredictionPowered)][:8]


def _interval(
    mean: Numbers, error: Numbers, freedom: Numbers, level: Number
) -> tuple[Numbers, Numbers]:
    freedom = np.maximum(np.asarray(freedom, float), 0)
    reach = student_reach(np.asarray(error), freedom, checked_level(level))
    if isinstance(mean, float):
        return float(mean - reach), float(mean + reach)
    return mean - reach, mean + reach
