"""Means and intervals of several runs, as numbers on this host."""

import itertools
from collections.abc import Hashable, Iterable

import numpy as np

from jax_rank_metrics._ground import inputs
from jax_rank_metrics._ground.inputs import kind_of
from jax_rank_metrics._ground.types import IntervalMethod, Number, Undefined
from jax_rank_metrics._names.cutoff_names import cutoff_names
from jax_rank_metrics._values import intervals, on_host, per_list, state
from jax_rank_metrics._values.mean import GeometricMean, Mean, kind_of_mean
from jax_rank_metrics._verdicts.inference import judges, weighted_means
from jax_rank_metrics._verdicts.inference.p_values import student_reach
from jax_rank_metrics._verdicts.systems import list_values
from jax_rank_metrics._verdicts.systems.reading import FIX_RUNS, Record, Values, read

# A dict from runs to dicts from names, such as "recall@5", to estimates; a single run
# is "".
Estimates = dict[Hashable, dict[str, on_host.Estimate]]
# These have already applied their choice of `undefined`.
_MEANS = (*list_values.SUMMARIES, on_host.Estimate)


def read_collections(
    results: Values, name: str = "results", undefined: Undefined | None = None
) -> dict[Hashable, list[Record]]:
    """Reads the records of each collection; the only key is None without collections.

    Args:
        results: As for `table`.
        name: The name of the argument, for messages.
        undefined: As for `table`.

    Raises:
        TypeError: if results are a dict of numbers.
        ValueError: if `undefined` is passed, but results hold means.
    """
    if list_values.is_by_list(results):
        key, value = next(iter(results.items()))
        raise TypeError(f"{name}: {key!r} is {kind_of(value)}; {FIX_RUNS}")
    collections: dict[Hashable, list[Record]] = {}
    for record in read(results, name, undefined=undefined):
        if undefined is not None and isinstance(record.source, _MEANS):
            raise ValueError(
                f"{record.name} is {kind_of(record.source)}, for which undefined lists "
                "have been counted already; leave undefined out, or pass values of lists"
            )
        collections.setdefault(record.task, []).append(record)
    return collections


def run_of(record: Record) -> Hashable:
    """Returns the name of the run, which is "" if results hold a single run."""
    return "" if record.system is None else record.system


def estimates(
    results: Values, level: Number, method: IntervalMethod = "auto"
) -> Estimates:
    """Reads the means of every run and metric, with a separate name for each cutoff.

    Args:
        results: As for `table`, of a single collection.
        level: See `Mean.confidence_interval`.
        method: See `Mean.confidence_interval`.

    Raises:
        TypeError: if results hold anything else, such as several collections.
        ValueError: if results are empty, a state is stacked, or two cutoffs have the
            same name; if the method does not apply to the values of a metric.
    """
    collections = read_collections(results)
    if len(collections) > 1:
        raise TypeError(f"results hold several collections; {FIX_RUNS}")
    (records,) = collections.values()
    return estimates_of(records, level, method)


def estimates_of(
    records: Iterable[Record], level: Number, method: IntervalMethod = "auto"
) -> Estimates:
    """Returns the estimates of the records of one collection, as `estimates` does."""
    inputs.option("method", method, IntervalMethod)
    level = intervals.checked_level(level)
    results: Estimates = {}
    # The metric that each cutoff belongs to: {("new", "recall@5"): "recall@1,5"}.
    owners: dict[tuple[Hashable, str], str] = {}
    for record in records:
        # Values without a name have the column "".
        run, name = run_of(record), record.metric or ""
        at_cutoffs, has_cutoffs = _at_cutoffs(name, record, level, method)
        labels = cutoff_names(name, len(at_cutoffs)) if has_cutoffs else [name]
        for label, estimate in zip(labels, at_cutoffs, strict=True):
            if label in results.setdefault(run, {}):
                raise ValueError(
                    f"results: {owners[run, label]!r} and {name!r} both hold {label!r}; "
                    "name one of them differently"
                )
            owners[run, label], results[run][label] = name, estimate
    return results


def have_other_lists(records: Iterable[Record]) -> bool:
    """True if ids or counts show that a metric has different lists in two runs.

    Only lists that count are compared, so lists that "skip" leaves out are ignored.
    """
    # Ids are compared only between runs that have them; other runs may share their lists.
    first: dict[str | None, list[Hashable]] = {}
    counts: dict[str | None, int] = {}
    for record in records:
        # Groups have no ids, but their numbers of lists may show that their lists
        # differ.
        count, ids = None, record.ids
        if record.is_on_this_host and not record.lists.is_ratio:
            lists = record.lists
            # Skip ratios: they weigh lists by the items that each system retrieved, so
            # a list may count for one system and not for another.
            is_counted = np.any((lists.weights > 0) & lists.is_known(), axis=1)
            count = int(is_counted.sum())
            if ids is not None:
                ids = list(itertools.compress(lists.ids or (), is_counted.tolist()))
        elif isinstance(record.source, Mean) and not state.stacked_shape(record.source):
            count = int(record.source.lists)
        if count is not None and count != counts.setdefault(record.metric, count):
            return True
        if ids is not None:
            ids = np.asarray(ids, object).tolist()
            expected = first.setdefault(record.metric, ids)
            if ids != expected and set(ids) != set(expected):
                return True
    return False


def _at_cutoffs(
    name: str, record: Record, level: float, method: IntervalMethod
) -> tuple[list[on_host.Estimate], bool]:
    """Returns the estimate at each cutoff, and True if the metric has cutoffs."""
    # An evaluation holds this process's lists, but its state covers all processes.
    source = record.source if record.state is None else record.state
    kind = kind_of_mean(name)
    if isinstance(source, on_host.Estimate):
        return [source], False
    if isinstance(source, judges.PredictionPowered):
        return _of_judge(name, source, level, method), source.has_cutoffs
    if isinstance(source, per_list.PerList) and not inputs.is_readable(source.values):
        # Other hosts hold some of the lists, and take part in computing this mean.
        choice = record.undefined
        if kind is GeometricMean:
            source = source.geometric_mean(undefined=choice)
        else:
            source = source.mean(choice)
    if isinstance(source, state.State):
        if not isinstance(source, Mean):
            raise TypeError(f"results: {name!r} is {kind_of(source)}; {FIX_RUNS}")
        if stacked := state.stacked_shape(source):
            raise ValueError(
                f"results: {name!r} is stacked along axes of shape {stacked}, so it holds "
                "several means; pass jrm.reduce of the states"
            )
        sums = on_host.HostSums.of_state(source)
    elif record.lists.has_seeds:
        return _of_seeds(name, record.lists, level, method), record.lists.has_cutoffs
    else:
        sums = on_host.HostSums.of_lists(record.lists.per_list(), kind)
        sums = sums._replace(has_cutoffs=record.lists.has_cutoffs)
    try:
        return sums.estimates(level, method), sums.has_cutoffs
    except ValueError as error:
        raise ValueError(f"results: {name!r}: {error}") from error


def _check_student(name: str, method: IntervalMethod, subject: str) -> None:
    """Raises ValueError unless the interval is Student's t, as others ignore `subject`."""
    if method not in ("auto", "t"):
        raise ValueError(
            f"results: {name!r}: method is {method!r}, which knows no {subject}; pass "
            "method='t'"
        )


def _of_judge(
    name: str, means: judges.PredictionPowered, level: float, method: IntervalMethod
) -> list[on_host.Estimate]:
    """Returns the mean from people's and a judge's labels at each cutoff."""
    _check_student(name, method, "judge")
    results = []
    for point in means.at_cutoffs():
        numbers = (point.mean, *point.confidence_interval(level), point.std_error)
        counts = (point.lists, point.undefined, point.n_eff, None, point.other_lists)
        results.append(on_host.Estimate._make([*numbers, *counts]))
    return results


def _of_seeds(
    name: str, lists: list_values.ListValues, level: float, method: IntervalMethod
) -> list[on_host.Estimate]:
    """Returns the mean over seeds and lists at each cutoff, with its two-way interval."""
    _check_student(name, method, "seeds")
    if kind_of_mean(name) is not Mean:
        raise ValueError(
            f"results: {name!r} is a geometric mean, which has no interval over seeds; "
            "pass the values under another name, for their arithmetic mean"
        )
    results = []
    seeds, weights = lists.filled()
    is_undefined = ~lists.defined.all(0) & (lists.weights > 0)
    # Compute the error over lists from means over seeds, as for any other run.
    for cutoff, w in enumerate(weights.T):
        seed_values = seeds[..., cutoff]
        means = per_list.PerList(seed_values.mean(0), w, w > 0)  # type: ignore[arg-type]
        (list_estimate,) = on_host.HostSums.of_lists(means, Mean).estimates(level, "t")
        mean, error = float(list_estimate.mean), float(list_estimate.std_error)
        freedom = list_estimate.n_eff - 1 if np.isfinite(error) else 0.0
        error, freedom = weighted_means.error_with_seeds(
            error, freedom, [seed_values], weighted_means.shares_of(w)
        )
        # A single seed does not show how far seeds vary.
        freedom = freedom if len(seeds) > 1 else 0.0
        margin = float(student_reach(np.array(error), np.array(freedom), level))
        numbers = (mean, mean - margin, mean + margin, error)
        undefined = int(is_undefined[:, cutoff].sum())
        counts = (list_estimate.lists, undefined, list_estimate.n_eff, len(seeds))
        results.append(on_host.Estimate(*numbers, *counts))
    return results
