"""Plans experiments: the difference that a test detects, and the lists that it needs."""

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from jax_rank_metrics._ground import inputs, messages
from jax_rank_metrics._ground.choices import Alternative
from jax_rank_metrics._ground.types import Number
from jax_rank_metrics._values import intervals
from jax_rank_metrics._verdicts.inference import (
    judges,
    margin_bounds,
    weighted_means,
)
from jax_rank_metrics._verdicts.systems import list_values, reading
from jax_rank_metrics._verdicts.systems.prediction_powered import (
    judged_lists,
    judged_records,
)
from jax_rank_metrics._verdicts.systems.reading import read
from jax_rank_metrics._verdicts.systems.seeds import check_seed_counts

N = TypeVar("N", bound=int | float)
# A plan is inf if it needs a larger quantile of t, which at a level of 0.95 takes less
# than 0.65 degrees of freedom, or more lists than this.
MAX_QUANTILE, MAX_LISTS = 50.0, 2**40
# A missing difference cannot count as 0, because 0 would say that systems are equal.
FIX_MISSING = (
    "pass the lists that have a difference, which .dropna() of a Series or frame keeps"
)


def minimum_detectable(
    differences: reading.Values,
    power: Number = 0.8,
    *,
    level: Number = 0.95,
    lists: int | None = None,
    alternative: Alternative = "two-sided",
) -> reading.Nested[float | np.ndarray]:
    """Returns the smallest true difference that a test detects with some probability.

    If a test had no chance to detect a difference, its failure to detect one says
    nothing. This function takes the spread of differences from a pilot, and returns how
    large the mean difference over all possible lists must be, so that Student's t test
    reaches a p below 1 − level in a share `power` of experiments. The permutation test
    reaches nearly the same power, except for values that are 0 in nearly all lists.
    With 100 lists, the bootstrap reaches it, too. With ten lists, or with 30 lists
    whose values are mostly 0, the bootstrap detected the difference half as often as
    planned.

    With `Seeds`, the planned experiment has the number of seeds of the pilot. A seed shifts
    all lists together, and more lists do not average this out.

    Use only the spread of the differences. Never ask for the power to detect the very
    difference that the pilot shows: that power says no more than the pilot's p.

    Args:
        differences: b − a of each list of the pilot, as `paired` returns them: a
            `PerList`, or anything else that `compare` takes as the values of a system.
        power: The probability of detection, above 1 − level and below 1.
        level: The level of the test, as in `compare`.
        lists: Number of lists of the planned experiment; None is the number of lists in
            the pilot. If weights differ, only n_eff lists count, and the plan assumes
            the same share n_eff / lists; the standard error is computed as in `compare`
            (HC3).
        alternative: "two-sided", or "greater" or "less" for one side; see `compare`.

    Returns:
        The size of the difference, above 0: a float, an array of floats for several
        cutoffs, or dicts of these for several metrics. The size is inf for fewer than
        two lists, and for so few lists that t would have to exceed 50, such as two
        lists at a level of 0.99. It is also inf if all differences of the pilot are
        equal, because they do not show how far other lists would vary.

    Raises:
        ValueError: if an option is out of its range, if a value is not finite, or if
            `Seeds` have fewer than three seeds.
        TypeError: if the differences are traced, are a pair of systems, or hold no per-list
            values.

    References:
        Sakai, Statistical significance, power, and sample sizes: a systematic review of
        SIGIR and TOIS, 2006-2015, SIGIR 2016; Topic set size design, Information Retrieval
        Journal 2016.

    >>> pilot = [0.1, -0.05, 0.2, 0.0, 0.15, -0.1, 0.05, 0.1]
    >>> f"{minimum_detectable(pilot):.3f}, {minimum_detectable(pilot, lists=50):.3f}"
    '0.117, 0.041'
    """
    _refuse_pair("differences", differences)
    test = _Test.of(power, level, alternative)
    planned = None if lists is None else inputs.positive_integer("lists", lists)

    def smallest(pilot: _Pilot) -> float:
        return test.detectable(*pilot.over(planned or pilot.lists))

    return _for_each(_pilots_of(differences), smallest)


def lists_needed(
    differences: reading.Values,
    difference: Number,
    power: Number = 0.8,
    *,
    level: Number = 0.95,
    alternative: Alternative = "two-sided",
    judge: reading.Values | None = None,
    others: int | None = None,
) -> reading.Nested[int | float | np.ndarray]:
    """Returns how many lists a test needs to detect a true difference of this size.

    With a judge, it returns the number of lists that people have to label, in addition
    to `others` lists that only the judge labels. The planned test is then
    `compare(…, judge=…)`.

    Args:
        differences: See `minimum_detectable`, also for `power`, `level` and `alternative`.
        difference: The mean difference, over all possible lists, that the test should
            detect. Pass the smallest difference that would matter, not the mean of the
            pilot. The sign counts unless the alternative is "two-sided".
        judge: The same differences computed from a judge's labels, for the lists of the
            pilot and any further lists. Both arguments need list ids, as for
            `prediction_powered`.
        others: Number of lists that only the judge will label.

    Returns:
        The number of lists: an int, or inf if no number is enough. That happens for a
        difference of 0, a pilot of fewer than two lists, differences that are all
        equal, or seeds that vary too much. It is an array of numbers for several
        cutoffs, or dicts of these for several metrics.

    Raises:
        ValueError: if an option is out of its range, if a value is not finite, or if
            `Seeds` have fewer than three seeds; if only one of `judge` and `others` is
            passed; with a judge, also as `prediction_powered` raises.
        TypeError: if the differences are traced, are a pair of systems, or hold no per-list
            values.

    >>> pilot = [0.1, -0.05, 0.2, 0.0, 0.15, -0.1, 0.05, 0.1]
    >>> lists_needed(pilot, 0.05), lists_needed(pilot, 0.05, alternative="greater")
    (35, 27)
    """
    _refuse_pair("differences", differences)
    _refuse_pair("judge", judge)
    test = _Test.of(power, level, alternative)
    size = _finite(difference)
    size = abs(size) if test.is_two_sided else size
    size = -size if alternative == "less" else size
    if (judge is None) != (others is None):
        raise ValueError(
            "only one of judge and others is given, but they belong together; pass both, "
            "or leave both out"
        )

    def smallest(pilot: _Pilot) -> float | int:
        if not size > 0:
            return math.inf

        return _fewest(lambda lists: test.detectable(*pilot.over(lists)) <= size)

    if others is None:
        return _for_each(_pilots_of(differences), smallest)
    other_lists = inputs.positive_integer("others", others)
    judged = [
        (
            human,
            _judged_pilots(judged_lists(human.lists, judge_record.lists), other_lists),
        )
        for human, judge_record in judged_records(differences, judge, None, FIX_MISSING)
    ]
    return _for_each(judged, smallest)


class MarginPlan(NamedTuple):
    """The chance that an equal run passes a margin, and the lists it needs for that.

    Attributes:
        bounds: The bounds of the pilot, in one column.
        power: The probability with which a system equal to its baseline should pass.
        alpha: The probability with which a bound is wrong.
    """

    bounds: margin_bounds.MarginBounds
    power: float
    alpha: float

    def detectable(self, ratio: float = 1.0) -> float:
        """Returns the margin at which equal systems pass with the probability `power`.

        Args:
            ratio: The number of lists divided by the number of lists of the pilot.
        """
        error, freedom, loss = self._over(ratio)
        return self._test.detectable(error, freedom) + loss

    def lists_needed(self, margin: float, lists: int) -> float | int:
        """Returns how many lists are needed for a margin, if the pilot has `lists`."""
        return _fewest(lambda count: self.detectable(count / max(lists, 1)) <= margin)

    def power_at(self, margin: float) -> float:
        """Returns the probability with which equal systems pass; NaN for one list."""
        error, freedom, loss = self._over(1.0)
        quantile = self._test.quantile(freedom)
        return self._test.power_at((margin - loss) / error, quantile, freedom)

    @property
    def _test(self) -> "_Test":
        return _Test(self.power, self.alpha, False)

    def _over(self, ratio: float) -> tuple[float, float, float]:
        """Returns the error, its degrees of freedom, and the reach due to skew."""
        bounds = self.bounds.over(ratio)
        error, freedom = bounds.error.item(), bounds.freedom.item()
        return error, freedom, bounds.skew(1 - self.alpha)[0].item()


class _Pilot(NamedTuple):
    """The errors that a pilot predicts for a metric at one cutoff.

    Attributes:
        lists: Number of lists of the pilot; with a judge, the number of lists that
            people labelled.
        over: A function from a number of lists to the standard error of their mean and
            its degrees of freedom; it returns inf and 0 if the pilot does not show how
            far lists would vary.
    """

    lists: int
    over: Callable[[int], tuple[float, float]]


class _Test(NamedTuple):
    """A t test: its power, and the probability of a false alarm on each of its sides."""

    power: float
    tail: float
    is_two_sided: bool

    @classmethod
    def of(cls, power: Number, level: Number, alternative: Alternative) -> "_Test":
        inputs.option("alternative", alternative, Alternative)
        is_two_sided, level = alternative == "two-sided", intervals.checked_level(level)
        power = inputs.open_fraction("power", power)
        if power <= 1 - level:
            raise ValueError(
                f"power is {power}, which a test reaches by false alarms alone; pass more "
                f"than {1 - level:.2g}, the share of false alarms"
            )
        return cls(power, (1 - level) / (1 + is_two_sided), is_two_sided)

    def detectable(self, error: float, freedom: float) -> float:
        """Returns the least mean that the test detects with probability `power`."""
        quantile = self.quantile(freedom)
        if not quantile < MAX_QUANTILE:
            return math.inf
        # The power rises with the shift, and is too low at 0. So double the shift until
        # the power is enough, then halve the interval until its bounds are neighbouring
        # floats.
        low, high = 0.0, quantile + 1
        while self.power_at(high, quantile, freedom) < self.power:
            low, high = high, 2 * high
        while low < (middle := (low + high) / 2) < high:
            is_enough = self.power_at(middle, quantile, freedom) >= self.power
            low, high = (low, middle) if is_enough else (middle, high)
        return high * error

    def quantile(self, freedom: float) -> float:
        """Returns the smallest t at which a mean is significant."""
        from scipy.special import stdtrit  # takes a fifth of a second to import

        return float(stdtrit(freedom, 1 - self.tail)) if freedom > 0 else math.inf

    def power_at(self, shift: float, quantile: float, freedom: float) -> float:
        """Returns the power if the mean is `shift` standard errors from 0."""
        # `scipy.stats.nct` wraps the same function, but takes seconds to import.
        from scipy.special import nctdtr

        # If there is a difference, t follows the noncentral t distribution.
        power = 1 - float(nctdtr(freedom, shift, quantile))
        if self.is_two_sided:
            # SciPy returns NaN for a tail that is too small for a float.
            power += float(np.nan_to_num(nctdtr(freedom, shift, -quantile)))
        return power


def _fewest(is_enough: Callable[[int], bool]) -> float | int:
    """Returns the least number of lists that is enough; inf if `MAX_LISTS` are not.

    If a number is enough, all larger numbers are enough, so double, then bisect.
    """
    enough = 2
    while not is_enough(enough):
        enough *= 2
        if enough > MAX_LISTS:
            return math.inf
    candidates = range(enough // 2 + 1, enough)
    return candidates.start + bisect.bisect_left(candidates, True, key=is_enough)


@messages.short_errors()
def _finite(difference: object) -> float:
    if not inputs.is_scalar_number(difference) or not math.isfinite(difference):
        raise ValueError(f"difference is {difference!r}; pass a finite number")
    return float(difference)


def _refuse_pair(name: str, values: reading.Values) -> None:
    """Raises TypeError for two systems, which would be read as two lists with cutoffs."""
    if not isinstance(values, list | tuple) or len(values) != 2:
        return
    if not any(map(list_values.is_number, values)):
        raise TypeError(
            f"{name} is a {type(values).__name__} of two systems; pass the difference of "
            "each list: paired(a, b) of PerList, or b - a of arrays"
        )


def _pilots_of(
    differences: reading.Values,
) -> list[tuple[reading.Record, list[_Pilot]]]:
    """Returns the pilot of every metric at every cutoff."""
    records = read(differences, "differences", ("metric",), fix_missing=FIX_MISSING)
    # Warnings show the line that called the public function.
    check_seed_counts((record.lists for record in records), stacklevel=4)
    return [(record, _pilots(record.lists)) for record in records]


def _for_each(
    pilots: Iterable[tuple[reading.Record, Sequence[_Pilot]]],
    result_of: Callable[[_Pilot], N],
) -> reading.Nested[N | np.ndarray]:
    """Returns `result_of` of every metric and cutoff."""
    results: dict[reading.Path, N | np.ndarray] = {}
    for record, cutoff_pilots in pilots:
        at_cutoffs = list(map(result_of, cutoff_pilots))
        has_cutoffs = record.lists.has_cutoffs
        results[record.keys] = np.array(at_cutoffs) if has_cutoffs else at_cutoffs[0]
    return reading.nested(results)


def _judged_pilots(lists: judges.JudgedLists, other_lists: int) -> list[_Pilot]:
    """Returns the pilot of a plan with people and a judge, for every cutoff."""
    errors, all_moments = lists.means().std_error, lists.moments()

    def pilot(column: int) -> _Pilot:
        moments = judges.JudgedMoments(*(moment[column] for moment in all_moments))
        count = int(lists.counts[column])
        share = float(moments.n_eff) / max(count, 1)  # effective lists per list

        def over(num_lists: int) -> tuple[float, float]:
            n, n_judge = share * num_lists, share * other_lists
            # If the pilot has no error, it does not show how far other lists would vary.
            if n <= 2 or not 0 < errors[column] < math.inf:
                return math.inf, 0.0
            tuning = moments.tuning(n, n_judge)
            labelled_variance = moments.human_variance - 2 * tuning * moments.covariance
            labelled_variance = labelled_variance + tuning**2 * moments.judge_variance
            # Estimating λ has cost the pilot a degree of freedom, so divide by n − 2.
            labelled_variance *= (moments.n_eff - 1) / (moments.n_eff - 2)
            variance = (
                labelled_variance / n + tuning**2 * moments.variance_of_all / n_judge
            )
            return float(np.sqrt(np.maximum(variance, 0))), n - 2

        return _Pilot(count, over)

    return list(map(pilot, range(len(errors))))


def _pilots(lists: list_values.ListValues) -> list[_Pilot]:
    """Returns the pilot at every cutoff."""
    seed_values, weights = lists.filled(must_be_finite=True)
    # [lists, cutoffs], means over seeds; `SeedVariance` below adds the error due to
    # seeds.
    means = seed_values.mean(0)
    summary = weighted_means.Summary.of(means, weights, lists.rounding * np.abs(means))
    # Neither equal differences nor a single one show how far other lists would vary.
    is_known = (summary.error > 0) & (summary.freedom > 0)

    def pilot(column: int) -> _Pilot:
        w, seeds = weights[:, column], []
        if len(seed_values) > 1:
            seeds = [
                weighted_means.SeedVariance.of(
                    seed_values[..., column], weighted_means.shares_of(w)
                )
            ]
        count = int((w > 0).sum())

        def over(num_lists: int) -> tuple[float, float]:
            ratio = num_lists / max(count, 1)
            size = ratio * float(summary.n_eff[column])
            if not (size > 1 and is_known[column]):
                return math.inf, 0.0
            error = float(summary.error[column]) / math.sqrt(ratio)
            return weighted_means.total_error(
                error, size - 1, [variance.over(ratio) for variance in seeds]
            )

        return _Pilot(count, over)

    return list(map(pilot, range(weights.shape[1])))
