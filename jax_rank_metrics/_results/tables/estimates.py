"""Means and intervals of several runs, as numbers on this host."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._calls.names import STATES
from jax_rank_metrics._inputs import kind_of
from jax_rank_metrics._results.inference.means import error_with_seeds
from jax_rank_metrics._results.inference.p_values import student_reach
from jax_rank_metrics._results.systems.differences import defined_lists
from jax_rank_metrics._results.systems.direction import (
    Lower,
    warn_of_zeros,
    zero_counts,
)
from jax_rank_metrics._results.systems.seeds import filled_seeds
from jax_rank_metrics._results.systems.values import (
    ListValues,
    SeedValues,
    as_per_list,
    is_by_list,
    is_frame,
    is_series,
)
from jax_rank_metrics._states.by_name import StatesByName
from jax_rank_metrics._states.cutoff_names import cutoff_names
from jax_rank_metrics._states.geometric import GeometricMean
from jax_rank_metrics._states.intervals import checked_level
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.on_host import Estimate, HostSums
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._states.state import stacked_shape
from jax_rank_metrics._trec import metric_part
from jax_rank_metrics._types import IntervalMethod, Number

# All metrics of one run by name, or those of several runs by the names of the runs.
Results = Mapping[str, Any]

_FIX = (
    "pass a dict of metrics to states, as evaluate gives it, or a dict of runs to such "
    "dicts"
)


def estimates(
    results: Results, level: Number, method: IntervalMethod = "auto"
) -> dict[str, dict[str, Estimate]]:
    """Reads the means of every run and metric, with a separate name for each cutoff.

    Args:
        results: A dict of runs to dicts of metrics to states, per-list values or
            estimates; or such a dict of metrics, which becomes the run "". A pandas
            DataFrame with a column for each metric, the result of `evaluate_users` and
            `Seeds` of any of these are read like a dict.
        level: See `Mean.confidence_interval`.
        method: See there, too.

    Raises:
        TypeError: if it holds anything else.
        ValueError: if it is empty, a state is stacked, or two cutoffs have one name; if
            the method does not apply to the values of a metric.
    """
    _inputs.option("method", method, IntervalMethod)
    level = checked_level(level)
    # Numbers at the top are no metrics, and each gets an error of its own below.
    metrics = results if is_by_list(results) else _metrics_of(results)
    if metrics is None:
        raise TypeError(f"results: got {kind_of(results)}; {_FIX}")
    runs = dict(metrics) if _holds_runs(metrics) else {"": metrics}
    return {name: _of_run(name, run, level, method) for name, run in runs.items()}


def collections_of(results: Results) -> Mapping[str, Results]:
    """The results of each collection, or those of "" where there is only one."""
    is_by_collection = isinstance(results, Mapping) and any(
        _holds_runs(_metrics_of(runs)) for runs in results.values()
    )
    return results if is_by_collection else {"": results}


def warn_of_zeros_in(runs: Mapping[str, Any], lower: Lower) -> None:
    """Warns as `warn_of_zeros`, of values that say what undefined ones count as.

    States and plain numbers do not.
    """
    counts = []
    for metrics in runs.values():
        for name, values in _values_of_metrics(metrics).items():
            is_per_list = isinstance(values, PerList) and _inputs.is_readable(
                values.weights
            )
            if is_per_list or isinstance(values, ListValues):
                counts.append(((name,), zero_counts(values)))
    warn_of_zeros(counts, lower, stacklevel=5)


def have_other_lists(runs: Mapping[str, Any]) -> bool:
    """Whether the ids of lists say that the values of a metric are of different lists."""
    first: dict[str, list[Any]] = {}
    for metrics in runs.values():
        for name, values in _values_of_metrics(metrics).items():
            ids = metrics.list_ids if isinstance(metrics, StatesByName) else None
            if isinstance(values, ListValues):
                ids = values.ids
            elif is_series(values):
                ids = values.index
            elif is_by_list(values):
                ids = list(values)
            if ids is None:
                continue
            ids = ids if isinstance(ids, list) else np.asarray(ids).tolist()
            expected = first.setdefault(name, ids)
            if ids != expected and set(ids) != set(expected):
                return True
    return False


def _values_of_metrics(run: Any) -> dict[str, Any]:
    """The values of each metric of a run, those of `Seeds` as `ListValues`."""
    metrics = run.lists if isinstance(run, StatesByName) else _metrics_of(run) or {}
    return {
        str(name): next(iter(x.values_of_seeds.values()))
        if isinstance(x, SeedValues)
        else x
        for name, x in metrics.items()
    }


def _holds_runs(results: Mapping[str, Any] | None) -> bool:
    """Whether results are of runs, each with metrics of its own."""
    return results is not None and any(
        _metrics_of(run) is not None for run in results.values()
    )


def _metrics_of(run: Any) -> Mapping[str, Any] | None:
    """The metrics of a run by name; None for the values of a single metric."""
    if isinstance(run, SeedValues):
        metrics = {str(path[-1]): x for path, x in run.values_of_seeds.items() if path}
        return metrics or None
    if isinstance(run, StatesByName):
        return run.states
    if is_frame(run):
        return {name: run[name] for name in run.columns}
    return run if isinstance(run, Mapping) and not is_by_list(run) else None


def _of_run(
    run: str, metrics: Any, level: float, method: IntervalMethod
) -> dict[str, Estimate]:
    """Returns the estimates of a run by the names of metrics and their cutoffs."""
    by_name = _metrics_of(metrics) if run else metrics
    if by_name is None:
        raise TypeError(f"results: run {run!r} is {kind_of(metrics)}; {_FIX}")
    if not by_name:
        raise ValueError(f"results: run {run!r} is empty; pass at least one metric")
    results: dict[str, Estimate] = {}
    owners: dict[str, str] = {}  # the name of a cutoff -> the name of its metric
    for name, values in by_name.items():
        labels, at_cutoffs = [str(name)], [values]
        if isinstance(values, SeedValues):
            (values,) = values.values_of_seeds.values()
        if isinstance(values, ListValues):
            at_cutoffs = _of_seeds(str(name), values, level, method)
            if values.has_cutoffs:
                labels = cutoff_names(str(name), len(at_cutoffs))
        elif not isinstance(values, Estimate):
            sums = _sums_of(name, values)
            try:
                at_cutoffs = sums.estimates(level, method)
            except ValueError as error:
                raise ValueError(f"results: {name!r}: {error}") from error
            if sums.has_cutoffs:
                labels = cutoff_names(str(name), len(at_cutoffs))
        for label, estimate in zip(labels, at_cutoffs, strict=True):
            if label in owners:
                raise ValueError(
                    f"results: {owners[label]!r} and {name!r} both hold {label!r}; name "
                    "one of them differently"
                )
            owners[label], results[label] = name, estimate
    return results


def _of_seeds(
    name: str, values: ListValues, level: float, method: IntervalMethod
) -> list[Estimate]:
    """Returns the mean over seeds and lists at each cutoff, with its two-way interval."""
    if method not in ("auto", "t"):
        raise ValueError(
            f"results: {name!r}: method is {method!r}, which knows no seeds; pass 't'"
        )
    if metric_part(name) in STATES:
        raise ValueError(
            f"results: {name!r} is a geometric mean, which has no interval over seeds; "
            "pass the values under another name for their mean"
        )
    results = []
    seeds, weights = filled_seeds(values)
    is_undefined = ~defined_lists(values) & (np.asarray(values.lists.weights) > 0)
    # Over lists, the error of means over seeds is that of a state, as for any other run.
    for cutoff, w in enumerate(weights.T):
        of_seeds = seeds[..., cutoff]
        lists = PerList(of_seeds.mean(0), w, w > 0)  # type: ignore[arg-type]
        (of_lists,) = HostSums.of_lists(lists, Mean).estimates(level, "t")
        mean, error = float(of_lists.mean), float(of_lists.std_error)
        freedom = of_lists.n_eff - 1 if np.isfinite(error) else 0.0
        share = w / max(w.sum(), np.finfo(np.float64).tiny)
        error, freedom = error_with_seeds(error, freedom, [of_seeds], share)
        # A single seed says nothing of how far seeds vary.
        freedom = freedom if len(seeds) > 1 else 0.0
        margin = float(student_reach(np.array(error), np.array(freedom), level))
        numbers = (mean, mean - margin, mean + margin, error)
        undefined = int(is_undefined[:, cutoff].sum())
        counts = (of_lists.lists, undefined, of_lists.n_eff, len(seeds))
        results.append(Estimate(*numbers, *counts))
    return results


def _sums_of(name: str, values: Any) -> HostSums:
    """Returns the sums of a metric from its state, or from its values of lists."""
    kind = STATES.get(metric_part(str(name)), Mean)
    lists = as_per_list(values, f"results[{name!r}]")
    lists = values if lists is None else lists
    if isinstance(lists, PerList):
        if _inputs.is_readable(lists.values):
            return HostSums.of_lists(lists, kind)
        # The other hosts take part in it.
        is_geometric = kind is GeometricMean
        lists = lists.geometric_mean() if is_geometric else lists.mean()
    if not isinstance(lists, Mean):
        raise TypeError(f"results: {name!r} is {kind_of(lists)}; {_FIX}")
    if stacked := stacked_shape(lists):
        raise ValueError(
            f"results: {name!r} is stacked along axes of shape {stacked}; pass reduce of it"
        )
    return HostSums.of_state(lists)
