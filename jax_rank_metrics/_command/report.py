"""Measures runs, compares them, and formats the results."""

import dataclasses
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jax_rank_metrics._command import request
from jax_rank_metrics._engine.calls.signatures import Signature
from jax_rank_metrics._ground import choices, optional
from jax_rank_metrics._ground.types import Number
from jax_rank_metrics._names.cutoff_names import by_label, cutoff_of
from jax_rank_metrics._runs.evaluation import Evaluation
from jax_rank_metrics._runs.files import join
from jax_rank_metrics._runs.files.joined import Digests, digests_of
from jax_rank_metrics._values import per_list
from jax_rank_metrics._values.mean import Mean
from jax_rank_metrics._values.on_host import Estimate, HostSums
from jax_rank_metrics._verdicts import sheets
from jax_rank_metrics._verdicts.comparisons.compare import compare as compare_runs
from jax_rank_metrics._verdicts.comparisons.comparisons import Comparisons
from jax_rank_metrics._verdicts.plots import verdict_plots
from jax_rank_metrics._verdicts.tables.table import Format, table

# Evaluations of the queries that count, by the names of runs. Their keys are labels: names
# of metrics with one cutoff each.
Runs = Mapping[str, Evaluation]


def measure(
    metrics: Sequence[request.RequestedMetric],
    joined: join.Joined,
    weights: Mapping[str, float] | None = None,
) -> Evaluation:
    """Measures every metric on every query that counts.

    The metric "recall@1,2" gives the run two labels, "recall@1" and "recall@2".

    Args:
        metrics: The metrics.
        joined: The judgements and the run.
        weights: A dict from the id of each query, as text, to its weight; None for equal
            weights.

    Raises:
        ValueError: if a query has no weight.
    """
    is_counted, list_weights = joined.list_weights > 0, None
    if weights is not None:
        names = list(map(str, joined.query_ids))
        if missing := [i for i, name in enumerate(names) if name not in weights]:
            raise ValueError(
                f"{len(missing)} of {len(names)} queries, such as "
                f"{joined.query_ids[missing[0]]!r}, have no weight; pass a weight for each "
                "query of the judgements"
            )
        list_weights = np.array([weights[name] for name in names])
        is_counted &= list_weights > 0
    states: dict[str, Mean] = {}
    lists: dict[str, per_list.PerList] = {}
    remarks, signature = joined.remarks_at(0), dict[str, Signature]()
    if metrics:  # otherwise, only lines about the whole run were requested
        bounds = [metric.bound for metric in metrics]
        measured = joined.evaluation(bounds, list_weights=list_weights)
        remarks, signature = measured.remarks, by_label(measured.signature)
        for metric in metrics:
            values = measured.lists[metric.bound.name]
            values = jax.tree.map(lambda array: array[is_counted], values)
            for label, column in metric.columns(values):
                sums = HostSums.of_lists(column, metric.bound.state)
                lists[label], states[label] = column, sums.state()
    ids = joined.query_ids.to_numpy()[is_counted]
    return Evaluation(
        states,
        lists,
        np.zeros((len(ids), 0), np.int32),
        "zero",
        remarks=remarks,
        query_ids=ids,
        signature=signature,
    )


def estimates(run: Evaluation, level: Number) -> dict[str, Estimate]:
    """Returns a dict from labels to means with intervals at a confidence level."""
    return {
        label: HostSums.of_lists(lists, type(run[label])).estimates(level, "auto")[0]
        for label, lists in run.lists.items()
    }


def of_values(run: Evaluation) -> Evaluation:
    """Returns a run without geometric means, because these have no value per query."""
    states = {label: state for label, state in run.items() if type(state) is Mean}
    lists = {label: run.lists[label] for label in states}
    return dataclasses.replace(run, states=states, lists=lists)


def cover_same_queries(runs: Runs) -> bool:
    """True if the means of all runs are over the same queries."""
    first, *following = map(_query_ids, runs.values())
    return all(query_ids == first for query_ids in following)


def _query_ids(run: Evaluation) -> list[str | int]:
    return np.asarray(run.query_ids).tolist()


def check_values_per_query(runs: Runs, option: str) -> None:
    """Raises ValueError if an option cannot compare these runs query by query."""
    if not of_values(next(iter(runs.values()))):
        raise ValueError(
            f"{option}: a geometric mean has no value per query; add -m map"
        )
    if len(runs) > 1 and not cover_same_queries(runs):
        raise ValueError(
            f"{option}: the runs cover different queries and cannot be compared; pass "
            "--missing zero to count missing queries as 0"
        )


def _signatures(runs: Runs) -> dict[str, str]:
    """Returns a dict from labels to signatures; different signatures of runs are joined."""
    parts = [run.signature for run in runs.values()]
    return {
        label: " and ".join(dict.fromkeys(part[label] for part in parts))
        for label in parts[0]
    }


def compare(
    runs: Runs, baseline: str, test: choices.ComparisonTest, level: Number
) -> Comparisons:
    """Compares each other run with the baseline, label by label."""
    check_values_per_query(runs, "--compare")
    systems = {name: of_values(runs[name]) for name in (baseline, *runs)}
    # Count undefined queries as the means do. A note says if 0 is a metric's best value.
    return compare_runs(systems, test=test, level=level, undefined="zero")


def _means(runs: Runs, level: Number) -> dict[str, dict[str, Estimate]]:
    return {name: estimates(run, level) for name, run in runs.items()}


def _queries(run: Evaluation) -> Iterator[tuple[str | int, dict[str, float]]]:
    """Yields the id of each query, and a dict from labels to the query's values."""
    lists = of_values(run).lists
    values = {label: column.values.tolist() for label, column in lists.items()}
    for index, query in enumerate(_query_ids(run)):
        yield query, {label: column[index] for label, column in values.items()}


def as_csv(runs: Runs, tests: Comparisons, per_query: bool, level: Number) -> str:
    """Returns one CSV table: queries if asked; else comparisons, if any; else means."""
    texts = _signatures(runs)
    if per_query:
        rows = (
            (name, query, label, value)
            for name, run in runs.items()
            for query, values in _queries(run)
            for label, value in values.items()
        )
        return sheets.csv_of(("run", "query", "metric", "value"), rows)
    if tests:
        return table(tests, format="csv", signatures=texts)
    return table(_means(runs, level), format="csv", level=level, signatures=texts)


def as_json(
    runs: Runs,
    tests: Comparisons,
    per_query: bool,
    level: Number,
    documents: Mapping[str, join.Joined],
) -> str:
    """Returns means, comparisons and values per query as a JSON object.

    A statistic that is not finite is null. With both signatures and values of queries, the
    object also holds digests of the documents of each run, so that it can be the baseline
    of `gate`.
    """
    document: dict[str, Any] = {"runs": _means(runs, level)}
    if tests:
        document["comparisons"] = {
            name: {test.metric: test.to_dict() for test in tests.select(system=name)}
            for name in dict.fromkeys(test.system for test in tests)
        }
    if per_query:
        document["queries"] = {name: dict(_queries(run)) for name, run in runs.items()}
    if texts := _signatures(runs):
        document["signatures"] = texts
    if texts and per_query:
        document["digests"] = {
            name: digests_of(run)._asdict() for name, run in documents.items()
        }
    return f"{json.dumps(sheets.plain(document), indent=1, ensure_ascii=False)}\n"


def is_saved(path: Path) -> bool:
    """True if a file begins like an object of `as_json`, and so is taken for no run."""
    if not path.is_file():  # a pipe can be read only once
        return False
    with path.open("rb") as file:
        return re.match(rb'\s*\{\s*"runs"\s*:', file.read(80)) is not None


def saved_values(
    path: Path, run: Evaluation, judgements: str
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Reads a saved run from an object of `as_json`, for comparison with another run.

    Args:
        path: The file.
        run: The other run. The file must have the same queries, metrics and signatures.
        judgements: The digest of the judgements of the other run.

    Returns:
        A dict from labels to values `[queries]`, and a dict from queries to digests of
        their rankings.

    Raises:
        ValueError: if the file lacks a metric, or holds it under another signature; if its
            queries or judgements differ from the other run's; if the file holds several
            runs, or a value that the metric cannot have; or if it cannot be read.
    """
    cure = "save the baseline anew"
    try:
        document = json.loads(path.read_text("utf-8"))
        (values,), signatures = document["queries"].values(), document["signatures"]
        (digests,) = (Digests(**fields) for fields in document["digests"].values())
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error!r}; {cure}") from error
    queries = list(map(str, _query_ids(run)))
    if differing := sorted({*queries} ^ {*values}):
        raise ValueError(
            f"{path} and the candidate differ in {len(differing)} queries, such as "
            f"{differing[0]!r}, which only one of them has; {cure}"
        )
    results: dict[str, np.ndarray] = {}
    for label, lists in of_values(run).lists.items():
        saved, text = signatures.get(label, f"no {label}"), run.signature[label]
        if saved != text:
            raise ValueError(
                f"{path} holds {saved}, and the candidate is measured as {text}; pass the "
                f"options that the file was saved with, or {cure}"
            )
        query_values = [values[query][label] for query in queries]
        # The quotient of two equal sums may be rounded to more than 1.
        largest = 1 + 1e-6 if lists.has_shares else math.inf
        for query, number in zip(queries, query_values, strict=True):
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            if not (is_number and math.isfinite(number) and abs(number) <= largest):
                raise ValueError(
                    f"{path} holds {number!r} as {label} of query {query}, which the "
                    f"metric cannot have; {cure}"
                )
        results[label] = np.array(query_values, lists.values.dtype)
    if digests.judgements != judgements:
        raise ValueError(
            f"{path} was saved with other judgements than the candidate has; {cure}"
        )
    return results, digests.rankings


def as_text(
    runs: Runs, tests: Comparisons, per_query: bool, level: Number, format: Format
) -> str:
    """Returns tables of queries, tables of means, and comparisons, in this order.

    If runs cover different queries, each gets its own table of means, so that no mean is
    marked as the best.
    """
    parts, texts = [], _signatures(runs)
    for name, run in runs.items() if per_query else ():
        queries = dict(_queries(run))
        headings = [("", label) for label in of_values(run)]
        cells = [
            [sheets.Cell(f"{value:.4f}") for value in row.values()]
            for row in queries.values()
        ]
        names = [[str(query)] for query in queries]
        contents = sheets.Sheet([name], headings, names, cells, "", "", [])
        parts.append(sheets.as_text(contents))
    rows = "metrics" if len(runs) < 4 else "runs"
    tables = [_means(runs, level)]
    if not cover_same_queries(runs):
        tables = [{name: means} for name, means in tables[0].items()]
    for means in tables:
        options = {"format": format, "level": level, "rows": rows, "signatures": texts}
        parts.append(str(table(means, compare=tests or None, **options)))
    if tests:
        parts.append(str(table(tests, format=format, signatures=texts)))
    return "\n\n".join(parts) + "\n"


def as_trec(
    runs: Runs,
    metrics: Sequence[request.RequestedMetric],
    per_query: bool,
    run_lines: Sequence[str],
    tags: Mapping[str, str | None],
) -> str:
    """Returns lines of measure, query and value, as trec_eval prints them.

    Args:
        runs: The values.
        metrics: The metrics that were measured. Counts are summed, not averaged.
        per_query: Whether to include the values of every query.
        run_lines: The lines about a whole run to include, out of "runid" and "num_q".
        tags: The tag of each run; None for files of other formats than TREC.
    """
    counts = {label for metric in metrics if metric.is_count for label in metric.labels}
    lines: list[str] = []

    def line(label: str, query: object, text: str) -> None:
        lines.append(f"{label:<22}\t{query}\t{text}\n")

    def formatted(label: str, value: float) -> str:
        return f"{value:.0f}" if label in counts else f"{value:6.4f}"

    def decimal(value: float) -> float:
        # Return the short decimal number that the float32 approximates. trec_eval sums
        # doubles and rounds the sum, so a float32 might be rounded in the other direction.
        return float(f"{value:.7g}")

    for run_name, run in runs.items():
        queries = dict(_queries(run))
        if "runid" in run_lines or len(runs) > 1:
            # If runs share a tag, or a run has no tag, print names instead.
            tag = tags[run_name]
            is_shared = tag is None or list(tags.values()).count(tag) > 1
            line("runid", "all", run_name if is_shared else str(tag))
        for query in sorted(queries, key=str) if per_query else ():
            for label, value in queries[query].items():
                line(label, query, formatted(label, decimal(value)))
        if "num_q" in run_lines:
            line("num_q", "all", str(len(queries)))
        for label, mean in estimates(run, 0.95).items():
            values = [
                decimal(by_label[label])
                for by_label in queries.values()
                if label in by_label
            ]
            if label in counts:
                summary = sum(values)
            else:
                summary = sum(values) / len(values) if values else mean.mean
            line(label, "all", formatted(label, summary))
    return "".join(lines)


def draw(
    runs: Runs, tests: Comparisons, baseline: str, path: Path, level: Number
) -> None:
    """Writes a figure of the first metric, with panels below each other.

    The panels show the distribution of the metric's values over queries; with two runs, the
    differences from the baseline, query by query; with tests, or with three runs or more,
    a forest plot of the differences; and, if the metric has several cutoffs, a line over
    the cutoffs.
    """
    library = optional.import_optional("matplotlib.figure", "--plot", "plots")
    labels = [*of_values(runs[baseline])]
    label = labels[0]
    lists = {name: run.lists[label] for name, run in runs.items()}
    metric, _ = cutoff_of(label) or ("", 0)
    metrics_at_cutoffs = [name for name, _ in filter(None, map(cutoff_of, labels))]
    contenders = [name for name in runs if name != baseline]
    from jax_rank_metrics import plots

    if len(contenders) > 1 and not tests:
        label_runs = {
            name: dataclasses.replace(
                run, states={label: run[label]}, lists={label: lists[name]}
            )
            for name, run in runs.items()
        }
        tests = compare(label_runs, baseline, "permutation", level)
    panels: list[tuple[float, Callable[[Any], Any]]] = [
        (3.6, lambda ax: plots.distribution(lists, ax=ax).set_title(label))
    ]
    if len(contenders) == 1:
        (name,) = contenders
        pair, names = (lists[baseline], lists[name]), (baseline, name)
        options = {"names": names, "metric": label, "level": level}
        panels.append((3.6, lambda ax: plots.differences(*pair, **options, ax=ax)))
    if tests:
        height = 1.2 + verdict_plots.ROW * (len(tests) + len(contenders))
        names = baseline, contenders[0] if len(contenders) == 1 else "run"
        panels.append((height, lambda ax: plots.forest(tests, names=names, ax=ax)))
    if metrics_at_cutoffs.count(metric) > 1:
        means = _means(runs, level)
        panels.append(
            (3.6, lambda ax: plots.at_cutoffs(means, metric, level=level, ax=ax))
        )
    heights = [height for height, _ in panels]
    figure = library.Figure(figsize=(4, sum(heights)), layout="constrained")
    # Give each panel a subfigure, so that its labels take no room from other panels.
    parts = figure.subfigures(len(panels), height_ratios=heights, squeeze=False)[:, 0]
    for part, (_, panel) in zip(parts, panels, strict=True):
        panel(part.subplots())
    # Write to a draft and rename it, so that an old figure survives if the new one fails.
    draft = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        figure.savefig(draft, dpi=120)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
