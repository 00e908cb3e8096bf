"""Means and intervals of several runs, as numbers on this host."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics._inputs import kind_of
from jax_rank_metrics._results.values import (
    as_per_list,
    is_by_list,
    is_by_user,
    is_frame,
)
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import cutoffs
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import IntervalMethod, Number

# All metrics of one run by name, or those of several runs by the names of the runs.
Results = Mapping[str, Any]

_FIX = (
    "pass a dict of metrics to states, as evaluate gives it, or a dict of runs to such "
    "dicts"
)


class Estimate(NamedTuple):
    """A mean with its interval, and the number of lists it is from."""

    mean: float
    low: float
    high: float
    std_error: float
    lists: int
    undefined: int
    n_eff: float


def estimates(
    results: Results, level: Number, method: IntervalMethod = "auto"
) -> dict[str, dict[str, Estimate]]:
    """Reads the means of every run and metric, with a separate name for each cutoff.

    Args:
        results: A dict of runs to dicts of metrics to states or per-list values; or such
            a dict of metrics, which becomes the run "". A pandas DataFrame with a column
            for each metric and the result of `evaluate_users` are read like a dict.
        level: See `Mean.confidence_interval`.
        method: See there, too.

    Raises:
        TypeError: if it holds anything else.
        ValueError: if it is empty, a state is stacked, or two cutoffs have one name; if
            the method does not apply to the values of a metric.
    """
    # Numbers at the top are no metrics, and each gets an error of its own below.
    metrics = results if is_by_list(results) else _metrics_of(results)
    if metrics is None:
        raise TypeError(f"results: got {kind_of(results)}; {_FIX}")
    holds_runs = any(_metrics_of(value) is not None for value in metrics.values())
    runs = dict(metrics) if holds_runs else {"": metrics}
    states = {name: _states(name, run) for name, run in runs.items()}
    numbers = {
        run: {
            name: _read(name, state, level, method) for name, state in by_name.items()
        }
        for run, by_name in states.items()
    }
    # One transfer from the device for all of them.
    numbers = jax.device_get(numbers)
    return {
        run: {
            metric: _estimate(numbers[run][name], index)
            for metric, name, index in cutoffs(by_name)
        }
        for run, by_name in states.items()
    }


def _metrics_of(run: Any) -> Mapping[str, Any] | None:
    """The metrics of a run by name; None for the values of a single metric."""
    if is_by_user(run):
        return run.states
    if is_frame(run):
        return {name: run[name] for name in run.columns}
    return run if isinstance(run, Mapping) and not is_by_list(run) else None


def _states(run: str, metrics: Any) -> dict[str, Mean]:
    by_name = _metrics_of(metrics) if run else metrics
    if by_name is None:
        raise TypeError(f"results: run {run!r} is {kind_of(metrics)}; {_FIX}")
    if not by_name:
        raise ValueError(f"results: run {run!r} is empty; pass at least one metric")
    states = {}
    for name, values in by_name.items():
        lists = as_per_list(values, f"results[{name!r}]")
        lists = values if lists is None else lists
        state = lists.mean() if isinstance(lists, PerList) else lists
        if not isinstance(state, Mean):
            raise TypeError(f"results: {name!r} is {kind_of(state)}; {_FIX}")
        if jnp.ndim(state.counts) > 1:
            raise ValueError(
                f"results: {name!r} is stacked along axes of shape "
                f"{state.counts.shape[:-1]}; pass reduce of it"
            )
        states[str(name)] = state
    return states


def _read(
    name: str, state: Mean, level: Number, method: IntervalMethod
) -> tuple[jax.Array, ...]:
    try:
        interval = state.confidence_interval(level, method)
    except ValueError as error:
        if method != "wilson":
            raise
        raise ValueError(f"results: {name!r}: {error}") from error
    return state.compute(), *interval, state.std_error(), state.counts, state.n_eff


def _estimate(numbers: tuple[Any, ...], index: Any) -> Estimate:
    """The estimate at a single cutoff, from NumPy arrays as `_read` returns them."""
    *columns, counts, n_eff = numbers
    # Indexing with () makes NumPy scalars, which print the digits of their dtype.
    lists, undefined = counts.tolist()
    mean, low, high, std_error = [x[index][()] for x in columns]
    return Estimate(mean, low, high, std_error, lists, undefined, n_eff.item())
