"""Measures runs, compares them, and formats the results."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._calls.signatures import Signature
from jax_rank_metrics._check.check import lists_of_joined
from jax_rank_metrics._choices import ComparisonTest
from jax_rank_metrics._command.request import RequestedMetric
from jax_rank_metrics._files.join import Joined
from jax_rank_metrics._names.cutoff_names import by_label, cutoff_of
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results import sheet
from jax_rank_metrics._results.comparisons.compare import compare as compare_runs
from jax_rank_metrics._results.comparisons.comparisons import Comparisons
from jax_rank_metrics._results.plots.verdict_plots import ROW
from jax_rank_metrics._results.tables.table import Format, table
from jax_rank_metrics._states.mean import GeometricMean
from jax_rank_metrics._states.on_host import Estimate, HostSums
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._states.remarks import remark_on_ties
from jax_rank_metrics._types import Number


class Run(NamedTuple):
    """The values of a run, by label: the name of a metric or of one of its cutoffs.

    Geometric means are in `means` only, since they have no value per query.
    """

    lists: dict[str, PerList]  # each with values [queries]
    means: dict[str, Estimate]
    query_ids: list[str | int]  # of judged queries
    is_counted: np.ndarray  # [queries] bool, False for queries that the means leave out
    num_skipped: int  # judged queries that the run lacks and the means leave out
    remarks: tuple[str, ...]  # on what was probably not intended
    signatures: dict[str, Signature]  # to write, by label
    tag: str | None = None  # of a file of TREC


Runs = Mapping[str, Run]


def measure(
    metrics: Sequence[RequestedMetric],
    joined: Joined,
    level: Number,
    weights: Mapping[str, float] | None = None,
) -> Run:
    """Measures every metric on every query, and takes the means over queries.

    The metric "recall@1,2" gives the run two labels, "recall@1" and "recall@2".

    Args:
        metrics: The metrics.
        joined: The judgements and the run.
        level: The confidence level of the intervals of the means.
        weights: What each query weighs, by its id as text; None if all weigh the same.

    Raises:
        ValueError: if a query has no weight.
    """
    query_ids, list_weights = joined.query_ids.to_list(), None
    is_counted = joined.list_weights > 0
    if weights is not None:
        if missing := [query for query in query_ids if str(query) not in weights]:
            raise ValueError(
                f"query {missing[0]!r} has no weight, and so have {len(missing)} of "
                f"{len(query_ids)} queries; pass one for each query of the judgements"
            )
        list_weights = np.array([weights[str(query)] for query in query_ids])
        is_counted &= list_weights > 0
    bounds = [metric.bound for metric in metrics]
    measured = joined.measure(bounds, list_weights) if metrics else {}
    lists: dict[str, PerList] = {}
    means: dict[str, Estimate] = {}
    for metric in metrics:
        per_list, state = measured[metric.bound.name], metric.bound.state
        sums = HostSums.of_lists(per_list, state)
        means |= zip(metric.labels, sums.estimates(level, "auto"), strict=True)
        if state is not GeometricMean:
            lists |= metric.columns(per_list)
    # Of no metric with a threshold, 0: nothing lies below it.
    options = [dict(metric.bound.options) for metric in metrics]
    threshold = max((x.get("relevance_threshold") or 0 for x in options), default=0)
    remarks = joined.remarks_at(threshold)
    if any(map(joined.reads_hash, bounds)):
        documents: Any = lists_of_joined(joined, threshold, bounds)
        remarks += (*remark_on_ties(documents, documents.scores),)
    return Run(
        lists,
        means,
        query_ids,
        is_counted,
        int((joined.list_weights == 0).sum()),
        remarks,
        by_label(joined.signature(bounds)) if metrics else {},
    )


def cover_same_queries(runs: Runs) -> bool:
    """Returns whether the means of all runs are over the same queries."""
    masks = [run.is_counted for run in runs.values()]
    return all((masks[0] == mask).all() for mask in masks)


def check_values_per_query(runs: Runs, option: str) -> None:
    """Raises ValueError if an option cannot compare these runs query by query."""
    if not next(iter(runs.values())).lists:
        raise ValueError(
            f"{option}: a geometric mean has no value per query; add -m map"
        )
    if len(runs) > 1 and not cover_same_queries(runs):
        raise ValueError(
            f"{option}: the runs cover different queries and cannot be compared; pass "
            "--missing zero"
        )


def _signatures(runs: Runs) -> dict[str, str]:
    """Returns the signature of each label; runs of tables and of lists may differ."""
    parts = [run.signatures for run in runs.values()]
    return {x: " and ".join(dict.fromkeys(y[x] for y in parts)) for x in parts[0]}


def compare(
    runs: Runs, baseline: str, test: ComparisonTest, level: Number
) -> Comparisons:
    """Compares each other run with the baseline, label by label."""
    check_values_per_query(runs, "--compare")
    systems = {name: runs[name].lists for name in dict.fromkeys((baseline, *runs))}
    # As in the means; a note says where 0 is the best value of a metric.
    return compare_runs(systems, test=test, level=level, undefined="zero")


def _means(runs: Runs) -> dict[str, dict[str, Estimate]]:
    return {name: run.means for name, run in runs.items()}


def _queries(run: Run) -> Iterator[tuple[str | int, dict[str, float]]]:
    """Yields the id of each query that counts, and its values by label."""
    values = {label: lists.values.tolist() for label, lists in run.lists.items()}
    for index in np.flatnonzero(run.is_counted):
        yield (
            run.query_ids[index],
            {label: column[index] for label, column in values.items()},
        )


def as_csv(runs: Runs, tests: Comparisons, per_query: bool, level: Number) -> str:
    """Returns one table as CSV: of queries, else of comparisons, else of means."""
    texts = _signatures(runs)
    if per_query:
        rows = (
            (name, query, label, value)
            for name, run in runs.items()
            for query, values in _queries(run)
            for label, value in values.items()
        )
        return sheet.csv_of(("run", "query", "metric", "value"), rows)
    if tests:
        return table(tests, format="csv", signatures=texts)
    return table(_means(runs), format="csv", level=level, signatures=texts)


def as_json(runs: Runs, tests: Comparisons, per_query: bool) -> str:
    """Returns means, comparisons and values per query as a JSON object.

    A statistic that is not finite is null.
    """
    document: dict[str, Any] = {"runs": _means(runs)}
    if tests:
        document["comparisons"] = {
            name: {x.metric: x.to_dict() for x in tests.select(system=name)}
            for name in dict.fromkeys(x.system for x in tests)
        }
    if per_query:
        document["queries"] = {name: dict(_queries(run)) for name, run in runs.items()}
    if texts := _signatures(runs):
        document["signatures"] = texts
    return f"{json.dumps(sheet.plain(document), indent=1, ensure_ascii=False)}\n"


def is_saved(path: Path) -> bool:
    """Whether a file is such an object and no run, as its first letters tell."""
    if not path.is_file():  # a pipe can be read only once
        return False
    with path.open("rb") as file:
        return re.match(rb'\s*\{\s*"runs"\s*:', file.read(80)) is not None


def saved_values(path: Path, run: Run) -> dict[str, np.ndarray]:
    """Reads the values `[queries]` of a run from such an object, for those of another run.

    Raises:
        ValueError: if the file lacks a metric, or holds it under another signature; if it
            is of other queries, of several runs, or cannot be read.
    """
    cure = "save the baseline anew"
    try:
        document = json.loads(path.read_text("utf-8"))
        (values,), signatures = document["queries"].values(), document["signatures"]
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error!r}; {cure}") from error
    queries = [str(query) for query, _ in _queries(run)]
    if differing := sorted({*queries} ^ {*values}):
        raise ValueError(
            f"{path} and the candidate differ in {len(differing)} queries, such as "
            f"{differing[0]!r}, which only one of them has; {cure}"
        )
    results: dict[str, np.ndarray] = {}
    for label, lists in run.lists.items():
        saved, text = signatures.get(label, f"no {label}"), run.signatures[label]
        if saved != text:
            raise ValueError(
                f"{path} holds {saved}, and the candidate is measured as {text}; pass the "
                f"options of then, or {cure}"
            )
        results[label] = np.zeros_like(lists.values)
        results[label][run.is_counted] = [values[query][label] for query in queries]
    return results


def as_text(
    runs: Runs, tests: Comparisons, per_query: bool, level: Number, format: Format
) -> str:
    """Returns tables of queries, tables of means, and comparisons, in this order.

    If runs cover different queries, each has a table of its own, so that no mean is marked
    as the best.
    """
    parts, texts = [], _signatures(runs)
    for name, run in runs.items() if per_query else ():
        queries = dict(_queries(run))
        headings = [("", label) for label in run.lists]
        cells = [
            [sheet.Cell(f"{x:.4f}") for x in row.values()] for row in queries.values()
        ]
        names = [[str(query)] for query in queries]
        contents = sheet.Sheet([name], headings, names, cells, "", "", [])
        parts.append(sheet.as_text(contents))
    rows = "metrics" if len(runs) < 4 else "runs"
    tables = [_means(runs)]
    if not cover_same_queries(runs):
        tables = [{name: run.means} for name, run in runs.items()]
    for means in tables:
        options = {"format": format, "level": level, "rows": rows, "signatures": texts}
        parts.append(str(table(means, compare=tests or None, **options)))
    if tests:
        parts.append(str(table(tests, format=format, signatures=texts)))
    return "\n\n".join(parts) + "\n"


def as_trec(
    runs: Runs,
    metrics: Sequence[RequestedMetric],
    per_query: bool,
    run_lines: Sequence[str],
) -> str:
    """Returns lines of measure, query and value, as trec_eval prints them.

    Args:
        runs: The values.
        metrics: The metrics that were measured. Counts among them are summed, not averaged.
        per_query: Whether to include the values of every query.
        run_lines: The lines about a whole run to include, among "runid" and "num_q".
    """
    counts = {label for metric in metrics if metric.is_count for label in metric.labels}
    lines: list[str] = []

    def line(label: str, query: object, text: str) -> None:
        lines.append(f"{label:<22}\t{query}\t{text}\n")

    def formatted(label: str, value: float) -> str:
        return f"{value:.0f}" if label in counts else f"{value:6.4f}"

    def decimal(value: float) -> float:
        # The decimal number that the float32 stands for: trec_eval sums doubles and rounds
        # at the end, when the float32 itself may lie on the other side of a half.
        return float(f"{value:.7g}")

    tags = [run.tag for run in runs.values()]
    for run_name, run in runs.items():
        queries = dict(_queries(run))
        if "runid" in run_lines or len(runs) > 1:
            # Runs that share a tag are told apart by their names.
            is_shared = run.tag is None or tags.count(run.tag) > 1
            line("runid", "all", run_name if is_shared else str(run.tag))
        for query in sorted(queries, key=str) if per_query else ():
            for label, value in queries[query].items():
                line(label, query, formatted(label, decimal(value)))
        if "num_q" in run_lines:
            line("num_q", "all", str(len(queries)))
        for label, mean in run.means.items():
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
    """Writes a figure of the first metric, whose panels stand in a column.

    The panels show the distribution of its values over queries; the differences of a
    single other run from the baseline, query by query; a forest plot of the tests, or of
    the differences of several other runs; and a line over the cutoffs of the metric, if it
    has several.
    """
    library = import_optional("matplotlib.figure", "--plot", "plots")
    labels = [*runs[baseline].lists]
    label = labels[0]
    lists = {name: run.lists[label] for name, run in runs.items()}
    metric, _ = cutoff_of(label) or ("", 0)
    metrics_at_cutoffs = [name for name, _ in filter(None, map(cutoff_of, labels))]
    contenders = [name for name in runs if name != baseline]
    from jax_rank_metrics import plots

    if len(contenders) > 1 and not tests:
        of_label = {x: y._replace(lists={label: lists[x]}) for x, y in runs.items()}
        tests = compare(of_label, baseline, "permutation", level)
    panels: list[tuple[float, Callable[[Any], Any]]] = [
        (3.6, lambda ax: plots.distribution(lists, ax=ax).set_title(label))
    ]
    if len(contenders) == 1:
        (name,) = contenders
        pair, names = (lists[baseline], lists[name]), (baseline, name)
        options = {"names": names, "metric": label, "level": level}
        panels.append((3.6, lambda ax: plots.differences(*pair, **options, ax=ax)))
    if tests:
        height = 1.2 + ROW * (len(tests) + len(contenders))
        names = baseline, contenders[0] if len(contenders) == 1 else "run"
        panels.append((height, lambda ax: plots.forest(tests, names=names, ax=ax)))
    if metrics_at_cutoffs.count(metric) > 1:
        panels.append(
            (3.6, lambda ax: plots.at_cutoffs(_means(runs), metric, level=level, ax=ax))
        )
    heights = [height for height, _ in panels]
    figure = library.Figure(figsize=(4, sum(heights)), layout="constrained")
    # Figures of their own: what stands beside one panel takes no room from the others.
    parts = figure.subfigures(len(panels), height_ratios=heights, squeeze=False)[:, 0]
    for part, (_, panel) in zip(parts, panels, strict=True):
        panel(part.subplots())
    # Beside the file, and renamed: an old figure stays where the new one fails.
    draft = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        figure.savefig(draft, dpi=120)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
