"""`jax-rank-metrics evaluate`: reads files, joins and measures them."""

import dataclasses
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from jax_rank_metrics._command import arguments, report, request
from jax_rank_metrics._command.arguments import note
from jax_rank_metrics._names import directions, trec
from jax_rank_metrics._runs import evaluation
from jax_rank_metrics._runs.files import frames, join, sources, tables
from jax_rank_metrics._runs.files.frames import pl
from jax_rank_metrics._runs.files.judged_run import find_judged
from jax_rank_metrics._runs.files.read import format_of, read
from jax_rank_metrics._runs.files.text import read_weights
from jax_rank_metrics._verdicts.comparisons import comparisons
from jax_rank_metrics._verdicts.systems import reading

T = TypeVar("T")


def evaluate(options: arguments.CommandOptions) -> None:
    """Reads judgements and runs, measures the runs, and prints the results.

    Args:
        options: The options, which `arguments.check` accepts.

    Raises:
        ValueError: with the option to change, if a metric is unknown; or with the file and
            the line, if a file cannot be read.
        OSError: if a file cannot be opened.
    """
    metrics = request.metrics_of(options.words, options.trec, options.level)
    names = arguments.members(options.words, options.trec)
    if absent := [name for name in names if name in trec.NOT_MEASURED]:
        note(f"{', '.join(absent)} of trec_eval are not available and left out")
    baseline = options.baseline_run
    runs: dict[str, evaluation.Evaluation] = {}
    tags: dict[str, str | None] = {}
    skipped: list[str] = []
    documents: dict[str, join.Joined] = {}  # their digests are saved
    for name, run, joined, tag in measured(options, metrics):
        # Signatures are written only on request.
        signature = run.signature if options.signature else {}
        runs[name] = dataclasses.replace(run, signature=signature)
        tags[name] = tag
        skipped += skipped_queries(name, joined)
        if options.per_query and options.signature and options.format == "json":
            documents[name] = joined
    note_all(runs, skipped)
    tests = comparisons.Comparisons(())
    if options.compare:
        tests = report.compare(runs, baseline, options.compare, options.confidence)
    if options.plot is not None:
        report.check_values_per_query(runs, "--plot")
    per_query, level = options.per_query, options.confidence
    if options.format == "trec":
        run_lines = [name for name in trec.RUN_LINES if name in names]
        text = report.as_trec(runs, metrics, per_query, run_lines, tags)
    elif options.format == "csv":
        text = report.as_csv(runs, tests, per_query, level)
    elif options.format == "json":
        text = report.as_json(runs, tests, per_query, level, documents)
    else:
        text = report.as_text(runs, tests, per_query, level, options.format)
    arguments.write_out(
        text
    )  # before the figure, so that numbers are printed even if it fails
    if options.plot is not None:
        report.draw(runs, tests, baseline, options.plot, level)


def measured(
    options: arguments.CommandOptions,
    metrics: list[request.RequestedMetric],
    first: int = 0,
) -> Iterator[tuple[str, evaluation.Evaluation, join.Joined, str | None]]:
    """Reads, joins and measures runs, with a progress bar on a terminal.

    The runs before the index `first` are skipped. Yields the name, the values and the
    documents of each run, and its tag; the tag is None if the run's file has no tag.
    """
    judged, first_judged = None, None
    if not options.scored:
        judged, _ = _read(options, options.qrels, "relevance")
    if options.trec and judged is not None:
        judged = _with_whole_grades(judged)
    if options.level is not None and frames.SUBTOPIC in getattr(judged, "columns", ()):
        raise ValueError(
            f"--level {options.level}: a document of {_source(options.qrels)} is "
            "relevant if it is relevant to any subtopic, so no level applies; leave "
            "--level out"
        )
    weights = None
    if options.weights is not None:
        weights = read_weights(_source(options.weights))
    default, ties = ("skip", "trec") if options.trec else ("error", "expected")
    for name, path in _with_progress(list(options.paths.items())[first:]):
        if options.scored:
            judged, rows, tag = *_scored(options, path, first_judged), None
            first_judged = judged if first_judged is None else first_judged
        else:
            rows, tag = _read(options, path, "score")
        assert judged is not None
        try:
            if options.document is not None:
                rows = frames.by_documents(rows, options.document_of)
            judged_run = find_judged(
                judged, rows, ties, options.repeats, options.exclude_self
            )
            choices = dict(judged_run.choices) | {"rows": options.duplicates}
            choices |= {"document": "custom"} if options.document else {}
            joined = join.joined_of(
                judged_run._replace(choices=choices),
                missing="zero" if options.complete else options.missing or default,
                unjudged=options.unjudged or default,
                depth=options.depth,
                ties=ties,
                condensed=options.judged_only,
            )
        except ValueError as error:
            raise ValueError(f"{_source(path)}: {error}") from error
        yield name, report.measure(metrics, joined, weights), joined, tag


def _with_whole_grades(judged: "pl.DataFrame") -> "pl.DataFrame":
    """Returns judgements with whole grades, and prints a note if grades had fractions.

    trec_eval reads 1.9 as 1, and −0.5 as 0.
    """
    grades = judged["relevance"]
    whole_grades = grades.sign() * grades.abs().floor()
    is_cut = grades != whole_grades
    if not is_cut.any():
        return judged
    note(
        f"{is_cut.sum()} of {len(grades)} judgements are fractions, such as "
        f"{grades.filter(is_cut)[0]:g}, and --trec cuts off their decimals, as trec_eval "
        "does"
    )
    return judged.with_columns(whole_grades)


def _with_progress(items: list[T]) -> Iterable[T]:
    """Returns the items, with a progress bar on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, "measuring", console=Console(stderr=True), transient=True)


def _read(
    options: arguments.CommandOptions, path: Path, value: frames.ValueColumn
) -> "tuple[pl.DataFrame, str | None]":
    """Reads judgements with their options, or a run with its options; see `read`."""
    format: str | None = options.qrels_format
    columns, duplicates = options.qrels_columns, options.duplicates
    side = "qrels"
    if value == "score":
        judgements = format or format_of(options.qrels)
        format, columns, side = options.run_format, options.run_columns, "run"
        if format is None and judgements == "svmlight" and format_of(path) is None:
            format = "scores"  # runs for judgements of svmlight are plain scores
        if duplicates in ("error", "max"):  # a chunk that repeats keeps its best score
            duplicates = "error" if options.document is None else "max"
    names = None
    if columns is not None:
        names = tuple(name.strip() for name in columns.split(","))
    try:
        return read(_source(path), format, names, duplicates, value)
    except ValueError as error:
        side_options = {name: f"--{side}-{name}" for name in ("format", "columns")}
        raise ValueError(arguments.in_options(str(error), **side_options)) from error


def _scored(
    options: arguments.CommandOptions, path: Path, of_first: "pl.DataFrame | None"
) -> "tuple[pl.DataFrame, pl.DataFrame]":
    """Reads a table of scored items as judgements and a run.

    Raises:
        ValueError: if the table cannot be read; if an item has another label than in the
            first table.
    """
    roles = options.columns
    if options.item is None:
        del roles["item"]
    table = pl.concat(tables.parts(path, roles, True), how="vertical_relaxed")
    table = table.drop_nulls("label").rename({"list": "query_id", "label": "relevance"})
    if options.item is None:  # number the rows of each list
        table = table.with_columns(item=pl.int_range(pl.len()).over("query_id"))
    table = table.rename({"item": "doc_id"})
    if of_first is not None and options.item is not None:
        pairs = table.join(of_first, [*frames.IDS])
        row = frames.first_true(pairs["relevance"] != pairs["relevance_right"])
        if row is not None:
            query, item = pairs.select(frames.IDS).row(row)
            raise ValueError(
                f"{path}: item {item!r} of list {query!r} has the label "
                f"{pairs['relevance'][row]}, and {pairs['relevance_right'][row]} in the "
                "first table; leave --item out if labels differ between runs"
            )
    return table.select(*frames.IDS, "relevance"), table.select(*frames.IDS, "score")


def skipped_queries(name: str, joined: join.Joined) -> list[str]:
    """Returns a note if means leave out judged queries, else an empty list."""
    number = int((joined.list_weights == 0).sum())
    text = (
        f"{name} lacks {number} of {joined.num_segments} judged queries, which its means "
        "leave out; --missing zero counts them as 0"
    )
    return [text] if number else []


def note_all(runs: report.Runs, skipped: Iterable[str]) -> None:
    """Prints notes on stderr about probable mistakes, and about queries in the means.

    Each remark of `join` is noted once, with the first run that has it. There is also a
    note on the judged queries that the means of a run leave out; a note if means cannot be
    compared, because runs cover different queries; and a note if undefined queries count as
    0 in a metric that is better when lower.

    Args:
        runs: The values of runs.
        skipped: The notes of `skipped_queries` on all runs.
    """
    first_runs: dict[str, str] = {}
    for name, run in runs.items():
        for remark in run.remarks:
            first_runs.setdefault(remark, name)
    for remark, name in first_runs.items():
        note(f"{name}: {remark}")
    for text in skipped:
        note(text)
    if not report.cover_same_queries(runs):
        note("the runs cover different queries: their means cannot be compared")
    zeros = dict.fromkeys(
        f"{label}: lower is better, but the metric is undefined for {undefined} of "
        f"{queries} queries, which count as 0, as if they were best"
        for run in runs.values()
        for label, lists in report.of_values(run).lists.items()
        if directions.is_lower_better((label,))
        for undefined, queries in [reading.Record(label, (), lists).lists.zero_counts()]
        if undefined
    )
    for text in zeros:
        note(text)


def _source(path: Path) -> sources.Source:
    """Returns the file at a path, or stdin for a dash."""
    if path == arguments.STDIN:
        if sys.stdin is None:
            raise ValueError("- is stdin, which is closed; pass a file")
        return sources.Source("stdin", lambda: io.BytesIO(sys.stdin.buffer.read()))
    return sources.Source.of(path)
