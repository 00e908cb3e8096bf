"""What the command `jax-rank-metrics evaluate` measures, and how it writes it down."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import jax_rank_metrics as jrm
from jax_rank_metrics._command.request import Metric
from jax_rank_metrics._files.join import Joined
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.estimates import estimates
from jax_rank_metrics._results.export import csv_of, json_number
from jax_rank_metrics._states.per_list import means_of
from jax_rank_metrics._types import ComparisonTest, Number


class Run(NamedTuple):
    """The values of a run, by label: the name of a metric, or of one of its cutoffs."""

    lists: dict[str, jrm.PerList]  # without geometric means, which have none of queries
    states: dict[str, jrm.Mean]
    query_ids: list[Any]
    counted: np.ndarray  # [queries], whether a query counts

    @property
    def num_skipped(self) -> int:
        """How many judged queries do not count, since the run lacks them."""
        return int((~self.counted).sum())


Runs = Mapping[str, Run]
Tests = Mapping[str, Mapping[str, jrm.Comparison]]  # by run and label


def measured(metrics: Sequence[Metric], joined: Joined) -> Run:
    """Measures every metric on every query, from one ranking."""
    names = tuple(dict.fromkeys(metric.name for metric in metrics))
    lists = jrm.measure(names, jrm.rank(**joined.arguments())) if names else {}
    values: dict[str, jrm.PerList] = {}
    for metric in metrics:
        of_metric = jax.device_get(lists[metric.name])
        columns = (
            of_metric.values[..., None]
            if of_metric.values.ndim == 1
            else of_metric.values
        )
        for label, column in zip(
            metric.labels, np.moveaxis(columns, -1, 0), strict=True
        ):
            values[label] = dataclasses.replace(of_metric, values=column)
    kinds = {label: metric.state for metric in metrics for label in metric.labels}
    states = []
    if metrics:
        states = means_of(tuple(values.values()), "zero", tuple(kinds.values()))
    return Run(
        {
            label: lists
            for label, lists in values.items()
            if kinds[label] is not jrm.GeometricMean
        },
        dict(zip(values, jax.device_get(states), strict=True)),
        joined.query_ids.to_list(),
        joined.list_weights > 0,
    )


def cover_the_same(runs: Runs) -> bool:
    """Returns whether the same queries count in every run."""
    first, *others = runs.values()
    return all((run.counted == first.counted).all() for run in others)


def _with_values(runs: Runs, option: str) -> None:
    """Raises where there is nothing that an option could show query by query."""
    if not next(iter(runs.values())).lists:
        raise ValueError(
            f"{option}: a geometric mean has no values of queries; add -m map"
        )
    if len(runs) > 1 and not cover_the_same(runs):
        raise ValueError(
            f"{option}: the runs cover different queries and cannot be compared; pass "
            "--missing zero"
        )


def compared(runs: Runs, baseline: str, test: ComparisonTest, level: Number) -> Tests:
    """Compares each run with the baseline, at every cutoff."""
    _with_values(runs, "--compare")
    names = [name for name in runs if name != baseline]
    # By index, since a run may have the name of a metric, such as "arp", which would say
    # that lower values are better.
    by_index = {index: runs[name].lists for index, name in enumerate(names)}
    tests = jrm.compare(runs[baseline].lists, by_index, test=test, level=level)
    return {name: tests[index] for index, name in enumerate(names)}


def _states(runs: Runs) -> dict[str, dict[str, jrm.Mean]]:
    return {name: run.states for name, run in runs.items()}


def _queries(run: Run) -> Iterator[tuple[Any, dict[str, float]]]:
    """Yields the queries that count, with their values."""
    values = {label: lists.values.tolist() for label, lists in run.lists.items()}
    for index in np.flatnonzero(run.counted):
        yield (
            run.query_ids[index],
            {label: column[index] for label, column in values.items()},
        )


def as_csv(runs: Runs, tests: Tests, per_query: bool, level: Number) -> str:
    """Writes one table: of queries, of comparisons, or of means."""
    if per_query:
        rows = (
            (name, query, label, value)
            for name, run in runs.items()
            for query, values in _queries(run)
            for label, value in values.items()
        )
        return csv_of(("run", "query", "metric", "value"), rows)
    if tests:
        records = [
            {"run": name, "metric": label, **comparison.to_dict()}
            for name, comparisons in tests.items()
            for label, comparison in comparisons.items()
        ]
        return csv_of([*records[0]], (list(record.values()) for record in records))
    return jrm.table(_states(runs), format="csv", level=level)


def as_json(runs: Runs, tests: Tests, per_query: bool, level: Number) -> str:
    """Writes everything, with null for what is not finite."""
    document: dict[str, Any] = {
        "runs": {
            run: {
                label: {
                    field: json_number(np.asarray(number).item())
                    for field, number in estimate._asdict().items()
                }
                for label, estimate in of_run.items()
            }
            for run, of_run in estimates(_states(runs), level).items()
        }
    }
    if tests:
        document["comparisons"] = {
            run: {label: comparison.to_dict() for label, comparison in of_run.items()}
            for run, of_run in tests.items()
        }
    if per_query:
        document["queries"] = {
            name: {str(query): values for query, values in _queries(run)}
            for name, run in runs.items()
        }
    return f"{json.dumps(document, indent=1, ensure_ascii=False)}\n"


def as_text(
    runs: Runs, tests: Tests, per_query: bool, level: Number, format: Any, baseline: str
) -> str:
    """Writes tables, and comparisons below.

    Runs over different queries get a table each, so that none is marked as the best.
    """
    parts = []
    for name, run in runs.items() if per_query else ():
        body = [[query, *values.values()] for query, values in _queries(run)]
        tabulate = import_optional("tabulate", "--per-query", "trec").tabulate
        head = [name, *run.lists]
        parts.append(tabulate(body, head, floatfmt=".4f", disable_numparse=[0]))
    states, rows = _states(runs), "metrics" if len(runs) < 4 else "runs"
    of_tables = [states]
    if not cover_the_same(runs):
        of_tables = [{name: of_run} for name, of_run in states.items()]
    for of_table in of_tables:
        parts.append(str(jrm.table(of_table, format=format, level=level, rows=rows)))
    for name, comparisons in tests.items():
        width = max(map(len, comparisons))
        lines = [f"{label:{width}} {one}" for label, one in comparisons.items()]
        parts.append("\n".join([f"{name} against {baseline}", *lines]))
    return "\n\n".join(parts) + "\n"


def as_trec(
    runs: Runs, metrics: Sequence[Metric], per_query: bool, run_lines: Sequence[str]
) -> str:
    """Writes lines of measure, query and value, as trec_eval prints them.

    Args:
        runs: The values.
        metrics: What they are values of.
        per_query: Whether to write the values of every query too.
        run_lines: "runid" and "num_q", or one of them, where they were asked for.
    """
    counts = {label for metric in metrics if metric.is_count for label in metric.labels}
    lines: list[str] = []

    def line(label: str, query: Any, value: float | str) -> None:
        text = value if isinstance(value, str) else f"{value:6.4f}"
        lines.append(f"{label:<22}\t{query}\t{text}\n")

    def decimal(value: float) -> float:
        # The decimal number that the float32 was rounded from: trec_eval adds up doubles
        # and rounds at the end.
        return float(f"{value:.7g}")

    for run_name, run in runs.items():
        queries = dict(_queries(run))
        if "runid" in run_lines or len(runs) > 1:
            line("runid", "all", run_name)
        for query in sorted(queries, key=str) if per_query else ():
            for label, value in queries[query].items():
                line(
                    label, query, f"{value:.0f}" if label in counts else decimal(value)
                )
        if "num_q" in run_lines:
            line("num_q", "all", str(len(queries)))
        for label, state in run.states.items():
            values = [
                decimal(of_query[label])
                for of_query in queries.values()
                if label in of_query
            ]
            if label in counts:
                line(label, "all", f"{sum(values):.0f}")
            else:
                mean = sum(values) / len(values) if values else state.compute().item()
                line(label, "all", mean)
    return "".join(lines)


def drawn(runs: Runs, baseline: str, path: Path, level: Number) -> None:
    """Writes a figure of the first metric: its distribution, differences and cutoffs."""
    library = import_optional("matplotlib.figure", "--plot", "plots")
    label, lists = next(iter(runs[baseline].lists.items()))
    of_runs = {name: run.lists[label] for name, run in runs.items()}
    head, at, _ = label.rpartition("@")
    has_cutoffs = (
        bool(at) and sum(x.startswith(f"{head}@") for x in runs[baseline].lists) > 1
    )
    others = [name for name in runs if name != baseline]
    panels = 1 + len(others) + has_cutoffs
    figure = library.Figure(figsize=(4 * panels, 3.6), layout="constrained")
    axes = iter(figure.subplots(1, panels, squeeze=False)[0])
    jrm.plots.distribution(of_runs, ax=next(axes)).set_title(label)
    for name in others:
        names = (baseline, name)
        jrm.plots.differences(lists, of_runs[name], names=names, ax=next(axes))
    if has_cutoffs:
        jrm.plots.at_cutoffs(_states(runs), head, level=level, ax=next(axes))
    figure.savefig(path, dpi=120)
