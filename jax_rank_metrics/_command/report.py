"""What the command `jax-rank-metrics evaluate` measures, and how it writes it down."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import jax_rank_metrics as jrm
from jax_rank_metrics._calls.names import parse
from jax_rank_metrics._command.request import Metric
from jax_rank_metrics._files.join import Joined
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.estimates import estimates
from jax_rank_metrics._results.export import csv_of, json_number
from jax_rank_metrics._states.merging import cutoffs
from jax_rank_metrics._states.per_list import means_of
from jax_rank_metrics._types import Number


class Run(NamedTuple):
    """The values of a run, by the names of metrics as they were typed."""

    lists: dict[str, jrm.PerList]
    states: dict[str, jrm.Mean]
    query_ids: list[Any]


Runs = Mapping[str, Run]
Tests = Mapping[str, Mapping[str, jrm.Comparison]]  # by run and metric


def measured(metrics: Sequence[Metric], joined: Joined) -> Run:
    """Every metric of every list, from one ranking."""
    names = {metric.typed: metric.name for metric in metrics}
    distinct = tuple(dict.fromkeys(names.values()))
    lists = jrm.measure(distinct, jrm.rank(**joined.arguments()))
    of_metrics = tuple(lists[name] for name in names.values())
    kinds = tuple(parse(name).state for name in names.values())
    states = means_of(of_metrics, "zero", kinds)
    of_metrics, states = jax.device_get((of_metrics, states))
    return Run(
        dict(zip(names, of_metrics, strict=True)),
        dict(zip(names, states, strict=True)),
        joined.query_ids.to_list(),
    )


def compared(runs: Runs, baseline: str, test: Any, level: Number) -> Tests:
    """Each run against the baseline, at every cutoff."""
    weights = [next(iter(run.lists.values())).weights for run in runs.values()]
    if any((one != weights[0]).any() for one in weights):
        raise ValueError(
            "runs lack different queries, and cannot be compared by them; pass "
            "--missing zero"
        )
    of = {
        name: {metric: values for metric, values in _flat(run)}
        for name, run in runs.items()
    }
    a = of.pop(baseline)
    if not a:
        raise ValueError(
            "--compare: a geometric mean has no values of queries; add -m map"
        )
    return jrm.compare(a, of, test=test, level=level)


def _states(runs: Runs) -> dict[str, dict[str, jrm.Mean]]:
    return {name: run.states for name, run in runs.items()}


def _flat(run: Run) -> Iterator[tuple[str, Any]]:
    """Every cutoff, with its values of all lists; of means that are of these."""
    for name, of, place in cutoffs(run.states):
        if isinstance(run.states[of], jrm.GeometricMean):
            continue
        lists = run.lists[of]
        yield name, dataclasses.replace(lists, values=lists.values[place])


def _queries(run: Run) -> Iterator[tuple[Any, dict[str, float]]]:
    """The queries that count, with their values."""
    values = {name: lists.values.tolist() for name, lists in _flat(run)}
    weights = next(iter(run.lists.values())).weights
    for place in np.flatnonzero(weights > 0):
        yield (
            run.query_ids[place],
            {name: column[place] for name, column in values.items()},
        )


def as_csv(runs: Runs, tests: Tests, per_query: bool, level: Number) -> str:
    """One table: of queries, of comparisons, or of means."""
    if per_query:
        rows = (
            (name, query, metric, value)
            for name, run in runs.items()
            for query, values in _queries(run)
            for metric, value in values.items()
        )
        return csv_of(("run", "query", "metric", "value"), rows)
    if tests:
        found = [
            {"run": name, "metric": metric, **one.to_dict()}
            for name, of_run in tests.items()
            for metric, one in of_run.items()
        ]
        return csv_of([*found[0]], (list(one.values()) for one in found))
    return jrm.table(_states(runs), format="csv", level=level)


def as_json(runs: Runs, tests: Tests, per_query: bool, level: Number) -> str:
    """All there is, with null for what is not finite."""
    found: dict[str, Any] = {
        "runs": {
            run: {
                name: {
                    what: json_number(np.asarray(x).item())
                    for what, x in one._asdict().items()
                }
                for name, one in metrics.items()
            }
            for run, metrics in estimates(_states(runs), level).items()
        }
    }
    if tests:
        found["comparisons"] = {
            run: {name: one.to_dict() for name, one in metrics.items()}
            for run, metrics in tests.items()
        }
    if per_query:
        found["queries"] = {
            name: {str(query): values for query, values in _queries(run)}
            for name, run in runs.items()
        }
    return f"{json.dumps(found, indent=1, ensure_ascii=False)}\n"


def as_text(
    runs: Runs, tests: Tests, per_query: bool, level: Number, format: Any, baseline: str
) -> str:
    """Tables, and comparisons below."""
    parts = []
    for name, run in runs.items() if per_query else ():
        body = [[query, *values.values()] for query, values in _queries(run)]
        head = [name, *(metric for metric, _ in _flat(run))]
        tabulate = import_optional("tabulate", "--per-query", "trec").tabulate
        parts.append(tabulate(body, head, floatfmt=".4f", disable_numparse=[0]))
    rows = "metrics" if len(runs) < 4 else "runs"
    parts.append(str(jrm.table(_states(runs), format=format, level=level, rows=rows)))
    for name, of_run in tests.items():
        width = max(map(len, of_run))
        lines = [f"{metric:{width}} {one}" for metric, one in of_run.items()]
        parts.append("\n".join([f"{name} against {baseline}", *lines]))
    return "\n\n".join(parts) + "\n"


def as_trec(
    runs: Runs, metrics: Sequence[Metric], per_query: bool, official: bool
) -> str:
    """Lines of measure, query and value, as trec_eval prints them."""
    counts = {metric.typed for metric in metrics if metric.counts}
    lines: list[str] = []

    def line(name: str, query: Any, value: Any) -> None:
        shown = value if isinstance(value, str) else f"{value:6.4f}"
        lines.append(f"{_trec_name(name):<22}\t{query}\t{shown}\n")

    def decimal(value: float) -> float:
        # What the float32 stands for: trec_eval adds up doubles, and rounds at the end.
        return float(f"{value:.7g}")

    for run_name, run in runs.items():
        queries = dict(_queries(run))
        if len(runs) > 1:
            line("runid", "all", run_name)
        for query in sorted(queries, key=str) if per_query else ():
            for name, value in queries[query].items():
                line(name, query, f"{value:.0f}" if name in counts else decimal(value))
        if official:
            if len(runs) == 1:
                line("runid", "all", run_name)
            line("num_q", "all", str(len(queries)))
        for name, value in jrm.compute(run.states, flat=True, host=True).items():
            found = [decimal(of[name]) for of in queries.values() if name in of]
            if name in counts:
                value = f"{sum(found):.0f}"
            elif found:
                value = sum(found) / len(found)
            line(name, "all", value)
    return "".join(lines)


def _trec_name(name: str) -> str:
    """A name with a cutoff of ours, as trec_eval writes it."""
    head, *cutoff = name.split("@")
    if cutoff and head == "iprec":
        return f"iprec_at_recall_{float(cutoff[0]):.2f}"
    return f"P_{cutoff[0]}" if cutoff and head == "P" else name


def drawn(runs: Runs, baseline: str, path: Path, level: Number) -> None:
    """Writes a figure of the first metric: its distribution, differences and cutoffs."""
    library = import_optional("matplotlib.figure", "--plot", "plots")
    found = next(_flat(runs[baseline]), None)
    if found is None:
        raise ValueError(
            "--plot: a geometric mean has no values of queries; add -m map"
        )
    metric, lists = found
    first = {name: dict(_flat(run))[metric] for name, run in runs.items()}
    head, at, _ = metric.rpartition("@")
    cut = at and sum(name.startswith(f"{head}@") for name, _ in _flat(runs[baseline]))
    others = [name for name in runs if name != baseline]
    panels = 1 + len(others) + bool(cut and cut > 1)
    figure = library.Figure(figsize=(4 * panels, 3.6), layout="constrained")
    axes = iter(figure.subplots(1, panels, squeeze=False)[0])
    jrm.plots.distribution(first, ax=next(axes)).set_title(metric)
    for name in others:
        names = (baseline, name)
        jrm.plots.differences(lists, first[name], names=names, ax=next(axes))
    if cut and cut > 1:
        jrm.plots.at_cutoffs(_states(runs), head, level=level, ax=next(axes))
    figure.savefig(path, dpi=120)
