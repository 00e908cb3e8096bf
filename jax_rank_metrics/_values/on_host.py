"""Means and their intervals on the host, in NumPy.

The results are the same as from `Mean.compute`, `std_error` and `confidence_interval`.
But nothing is compiled, because compiling would take longer than the rest of a small
evaluation.
"""

from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from jax_rank_metrics._ground import types
from jax_rank_metrics._values import clusters, double_floats, intervals, per_list
from jax_rank_metrics._values.list_arrays import columns_of, counted_weights, filled
from jax_rank_metrics._values.mean import FLOOR, GeometricMean, Mean, interval_method
from jax_rank_metrics._values.moments import Moments


class Estimate(NamedTuple):
    """A mean with its interval, and the numbers of lists."""

    mean: float
    low: float
    high: float
    std_error: float
    lists: int
    undefined: int
    n_eff: float
    seeds: int | None = None  # number of training seeds; None for a single model
    other_lists: int | None = None  # lists of a judge only; None without a judge


class HostSums(NamedTuple):
    """The sums from which a mean is computed."""

    sums: np.ndarray  # [6, cutoffs] float64, in the order of `Moments`
    lists: int
    undefined: int
    kind: type[Mean]
    dtype: np.dtype  # of the state
    has_cutoffs: bool

    @classmethod
    def of_state(cls, state: Mean) -> "HostSums":
        """Reads the sums of a state."""
        high, low, counts = jax.device_get(
            (state.sums.high, state.sums.low, state.counts)
        )
        sums = (high.astype(np.float64) + low).reshape(len(high), -1)
        lists, undefined = counts.tolist()
        has_cutoffs = high.ndim > 1
        return cls(sums, lists, undefined, type(state), high.dtype, has_cutoffs)

    @classmethod
    def of_lists(cls, lists: per_list.PerList, kind: type[Mean]) -> "HostSums":
        """Computes the sums of the values of lists, as `moments` does for a state.

        Args:
            lists: The values.
            kind: `Mean` or `GeometricMean`.
        """
        terms, counts = _terms(lists, kind)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.stack([term.sum(0) for term in terms])
        # Sums that do not fit the floats of a state become infinite or 0, as they would
        # in a state.
        size, limits = np.abs(sums), np.finfo(_dtype())
        sums = np.where(size > limits.max, np.copysign(np.inf, sums), sums)
        sums = np.where(size < limits.tiny, 0, sums)
        number, num_undefined = (int(count.sum()) for count in counts)
        return cls(sums, number, num_undefined, kind, _dtype(), lists.has_cutoffs)

    def state(self) -> Mean:
        """Returns the state with these sums."""
        sums = self.sums if self.has_cutoffs else self.sums[:, 0]
        counts = np.array([self.lists, self.undefined], np.int32)
        high, low, counts = jax.device_put((*_pair(sums, self.dtype), counts))
        return self.kind(double_floats.FloatPair(high, low), counts)

    def estimates(self, level: float, method: types.IntervalMethod) -> list[Estimate]:
        """Returns the mean and its interval at each cutoff.

        Args:
            level: See `Mean.confidence_interval`.
            method: See `Mean.confidence_interval`.

        Raises:
            ValueError: if the method does not suit the values or the kind of mean.
        """
        method = interval_method(self.kind, method)
        moments, lists = Moments(*self.sums), np.asarray(self.lists)
        z = intervals.normal_quantile(level)
        t_quantile = partial(intervals.student_quantiles, level=level)
        with np.errstate(all="ignore"):
            mean, error = moments.mean(), moments.std_error(lists, self.dtype)
            size, _ = moments.sample_size(lists, self.dtype)
            interval = moments.interval(lists, self.dtype, method, z, t_quantile)
            low, high, is_valid = interval
            if not is_valid.all():
                raise ValueError(intervals.NOT_PROPORTIONS)
            if self.kind is GeometricMean:
                mean = np.where(self.sums[0] > 0, np.exp(mean), 0)
                error = np.where(np.isinf(error), np.inf, mean * error)
                low, high = np.exp(low), np.exp(high)
            # Use the dtype of a state, so that numbers are printed with the same
            # digits.
            numbers = [
                array.astype(self.dtype) for array in (mean, low, high, error, size)
            ]
        return [
            Estimate(*row, self.lists, self.undefined, n_eff.item())  # type: ignore[arg-type]
            for *row, n_eff in zip(*numbers, strict=True)
        ]


def states_of_groups(
    lists: per_list.PerList, kind: type[Mean], group_ids: np.ndarray, num_groups: int
) -> list[Mean]:
    """Returns the state of each group of lists.

    Leaves are NumPy arrays, because a device would take seconds for thousands of
    groups.

    Args:
        lists: The values.
        kind: `Mean` or `GeometricMean`.
        group_ids: `[lists]`, the group of each list, from 0.
        num_groups: Number of groups.
    """
    terms, flags = _terms(lists, kind)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [clusters.sums_by_number(term, group_ids, num_groups) for term in terms]
    sums = np.stack(sums, axis=1)  # [groups, 6, cutoffs]
    leaves = _pair(sums if lists.has_cutoffs else sums[:, :, 0], _dtype())
    counts = clusters.sums_by_number(np.stack(flags, axis=1), group_ids, num_groups)
    states: list[Mean] = []
    for high, low, group_counts in zip(*leaves, counts.astype(np.int32), strict=True):
        states.append(kind(double_floats.FloatPair(high, low), group_counts))
    return states


def _terms(
    lists: per_list.PerList, kind: type[Mean]
) -> tuple[Moments, tuple[np.ndarray, np.ndarray]]:
    """Returns the terms that each list adds to the sums and counts of a state.

    Returns:
        The terms of the sums, `[lists, cutoffs]` each; and two `[lists]` bools: True for
        lists that enter, and True for undefined lists.
    """
    values, all_weights, defined = columns_of(lists)
    v = filled(values.astype(np.float64), defined, lists.undefined)
    w = counted_weights(all_weights.astype(np.float64), defined, lists.undefined)
    w = np.minimum(w, np.finfo(_dtype()).max)
    entered = w > 0
    if kind is GeometricMean:
        v = np.log(np.maximum(v, FLOOR))
    w, v = np.where(entered, w, 0), np.where(entered, v, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = Moments.terms(v, w, lists.has_shares)
    is_undefined = (all_weights > 0) & ~defined
    return terms, (np.any(entered, axis=1), np.any(is_undefined, axis=1))


def _dtype() -> np.dtype:
    """Returns the dtype of the sums of a state."""
    return np.dtype(jax.dtypes.canonicalize_dtype(float))


def _pair(sums: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Returns sums as pairs of floats."""
    with np.errstate(over="ignore", invalid="ignore"):
        high = sums.astype(dtype)
        return high, np.where(np.isfinite(high), sums - high, 0).astype(dtype)
