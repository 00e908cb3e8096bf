"""The contents of a table of means: runs and metrics, in one or several collections."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jax_rank_metrics._results.comparisons.comparisons import Comparisons
from jax_rank_metrics._results.sheets.export import fixed_point
from jax_rank_metrics._results.sheets.sheet import Cell, Sheet, number_with_interval
from jax_rank_metrics._results.systems.direction import (
    Lower,
    check_lower,
    is_lower_better,
    warn_of_zeros,
)
from jax_rank_metrics._results.systems.systems import Record, Values
from jax_rank_metrics._results.systems.values import listing
from jax_rank_metrics._results.tables.estimates import (
    Estimates,
    estimates_of,
    have_other_lists,
    read_collections,
)
from jax_rank_metrics._results.tables.significance import (
    Marks,
    is_of_names,
    marks_of,
)
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.state import stacked_shape
from jax_rank_metrics._types import IntervalMethod, Number

# The fields of an `Estimate`, in the order of the columns of CSV.
_FIELDS = ("mean", "std_error", "low", "high", "lists", "undefined", "n_eff")


class _Collection(NamedTuple):
    """The means of a collection of lists; its name is "" where there is only one."""

    name: str
    runs: Estimates
    metrics: list[str]
    best: dict[str, str]  # the best mean of each metric, as it is printed
    marks: Marks
    is_mixed: bool  # whether runs are of different lists, so that none is the best

    def cell(self, run: Hashable, metric: str, digits: int) -> Cell | None:
        """The cell of a run and a metric; None if the run lacks the metric."""
        if metric not in self.runs.get(run, {}):
            return None
        cell = number_with_interval(*self.runs[run][metric][:3], digits)
        return cell._replace(
            is_best=cell.number == self.best.get(metric),
            marks=self.marks.of_cells.get((run, metric), ""),
        )


def sheet_of_means(
    results: Values,
    *,
    compare: str | Sequence[str] | Comparisons | Mapping[Any, Comparisons] | None,
    level: Number,
    method: IntervalMethod,
    digits: int,
    lower: Lower,
    by_run: bool | None,
) -> Sheet:
    """Returns the contents of a table of means; `table` documents the arguments.

    Args:
        results: The results of runs, of one run, or of several collections.
        compare: One baseline or several, or comparisons of runs, also by collection.
        level: The level of the intervals.
        method: How intervals are made.
        digits: Number of digits after the point.
        lower: Names of further metrics of which lower values are better.
        by_run: Whether rows are runs; None decides by the number of runs.
    """
    by_collection = read_collections(results)
    # Of one collection, the key is None.
    is_by_collection = None not in by_collection
    baselines: Mapping[Any, object] = dict.fromkeys(by_collection, compare)
    if is_by_collection and isinstance(compare, Comparisons):
        tasks = dict.fromkeys(x.task for x in compare)
        compare = {task: compare.select(task=task) for task in tasks}
    if is_by_collection and isinstance(compare, Mapping):
        baselines = compare
    if baselines.keys() - by_collection:
        raise ValueError(
            f"compare holds {listing(list(baselines))}; pass the comparisons of each "
            f"collection: {listing(list(by_collection))}"
        )
    of_pairs = any(
        is_of_names(x) or (isinstance(x, Comparisons) and x.are_of_pairs)
        for x in baselines.values()
    )
    means = {x: estimates_of(y, level, method) for x, y in by_collection.items()}
    runs = list(dict.fromkeys(run for of_runs in means.values() for run in of_runs))
    collections, zeros = [], []
    for name, records in by_collection.items():
        of_runs = means[name]
        metrics = list(dict.fromkeys(metric for x in of_runs.values() for metric in x))
        marks = marks_of(records, of_runs, baselines.get(name), runs, of_pairs)
        # Means over other lists are no contest, and neither is the best.
        is_mixed = have_other_lists(records)
        best = {} if is_mixed else _best(of_runs, metrics, lower, digits)
        title = "" if name is None else str(name)
        collections.append(_Collection(title, of_runs, metrics, best, marks, is_mixed))
        zeros += [((x.metric,), _zero_counts(x)) for x in records]
    of_states = any(
        isinstance(x.source, Mean) for y in by_collection.values() for x in y
    )
    warn_of_zeros(zeros, lower, of_states, stacklevel=4)
    check_lower(lower, [metric for x in collections for metric in x.metrics])
    # A run has the same letter in all collections.
    letters = {run: mark for x in collections for run, mark in x.marks.letters.items()}
    titles = {
        run: f"{run} ({letters[run]})" if run in letters else str(run) for run in runs
    }
    if "" not in runs if by_run is None else by_run:
        name_headings = ["run"]
        headings = [(x.name, metric) for x in collections for metric in x.metrics]
        names = [[titles[run]] for run in runs]
        cells = [
            [x.cell(run, metric, digits) for x in collections for metric in x.metrics]
            for run in runs
        ]
    else:
        name_headings = ["collection", "metric"] if is_by_collection else ["metric"]
        headings = [("", titles[run]) for run in runs]
        rows = [(x, metric) for x in collections for metric in x.metrics]
        # A single collection has no name, so that rows have that of the metric alone.
        names = [[x.name, metric][not is_by_collection :] for x, metric in rows]
        cells = [[x.cell(run, metric, digits) for run in runs] for x, metric in rows]
    return Sheet(
        name_headings,
        [(group, name or "mean") for group, name in headings],
        names,
        cells,
        _note(collections, level),
        "; ".join(dict.fromkeys(x.marks.legend for x in collections if x.marks.legend)),
        _records(collections, is_by_collection),
    )


def _zero_counts(record: Record) -> tuple[int, int]:
    """Numbers of lists that are undefined and count as 0, and of all that count.

    Those of a state are the most there can be: it does not say whether it left them out.
    """
    if record.is_on_this_host:
        return record.lists.zero_counts()
    if not isinstance(record.source, Mean) or stacked_shape(record.source):
        return 0, 0
    return int(record.source.undefined), int(record.source.lists)


def _best(
    runs: Estimates,
    metrics: Iterable[str],
    lower: Lower,
    digits: int,
) -> dict[str, str]:
    """The best mean of each metric, as it is printed; empty for a single run."""
    best = {}
    for metric in metrics:
        means = [run[metric].mean for run in runs.values() if metric in run]
        lower_is_better = is_lower_better(metric, lower)
        # Beside a mean that is not known, none is known to be the best.
        is_known = bool(means) and not any(map(math.isnan, means))
        if len(runs) > 1 and is_known and lower_is_better is not None:
            # Printed, so that all that print alike share the mark.
            extreme = min(means) if lower_is_better else max(means)
            best[metric] = fixed_point(extreme, digits)
    return best


def _note(collections: Iterable[_Collection], level: Number) -> str:
    """The level, and how many lists each collection has."""

    def span(numbers: Iterable[float], digits: int = 0) -> str:
        texts = dict.fromkeys(f"{x:.{digits}f}" for x in sorted(set(numbers)))
        # Numbers that print alike are one: "9.0", not "9.0 to 9.0".
        smallest, *larger = texts
        return f"{smallest} to {larger[-1]}" if larger else smallest

    parts = [f"Mean and {100 * level:g} % interval"]
    for collection in collections:
        means = [mean for run in collection.runs.values() for mean in run.values()]
        lists = [mean.lists for mean in means]
        counts = [f"{span(lists)} list{'' if set(lists) == {1} else 's'}"]
        # Equal weights give the number of lists but for rounding.
        if any(mean.n_eff < 0.995 * mean.lists for mean in means):
            counts.append(f"n_eff {span((mean.n_eff for mean in means), 1)}")
        if seeds := [mean.seeds for mean in means if mean.seeds is not None]:
            counts.append(f"{span(seeds)} training seed{'s' * (set(seeds) != {1})}")
        if judged := [x.other_lists for x in means if x.other_lists is not None]:
            counts.append(f"{span(judged)} of the judge alone")
        counts.append(f"{span(mean.undefined for mean in means)} undefined")
        name = f"{collection.name}: " if collection.name else ""
        parts.append(f"{name}{', '.join(counts)}")
        if collection.is_mixed:
            parts.append(f"{name}runs have different lists, so no mean is the best")
    return "; ".join(parts)


def _records(
    collections: Sequence[_Collection], is_by_collection: bool
) -> list[dict[str, Any]]:
    has_marks = any(collection.marks.legend for collection in collections)
    estimates = [
        mean
        for collection in collections
        for run in collection.runs.values()
        for mean in run.values()
    ]
    # Columns that would be empty in all rows are left out.
    fields = [*_FIELDS]
    for field in ("seeds", "other_lists"):
        if any(getattr(mean, field) is not None for mean in estimates):
            fields.append(field)
    return [
        {
            **({"collection": collection.name} if is_by_collection else {}),
            "run": run,
            "metric": metric,
            **{field: getattr(estimate, field) for field in fields},
            **(
                {"marks": collection.marks.of_cells.get((run, metric), "")}
                if has_marks
                else {}
            ),
        }
        for collection in collections
        for run, means in collection.runs.items()
        for metric, estimate in means.items()
    ]
