"""`jax-rank-metrics evaluate`: reads files, joins and measures them."""

import contextlib
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jax_rank_metrics._calls.names import direction_of
from jax_rank_metrics._command import report, request, words
from jax_rank_metrics._command.arguments import STDIN, Options, note, write_out
from jax_rank_metrics._files.frames import SUBTOPIC
from jax_rank_metrics._files.join import Joined, join_frames
from jax_rank_metrics._files.read import format_of, read, read_tagged
from jax_rank_metrics._files.source import Source
from jax_rank_metrics._files.text import read_weights
from jax_rank_metrics._results.comparisons.comparisons import Comparisons
from jax_rank_metrics._results.systems.list_values import read_lists

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


def evaluate(options: Options) -> None:
    """Reads judgements and runs, measures the runs, and prints the results.

    Args:
        options: The options, which `options.check` accepts.

    Raises:
        ValueError: with the option to change, if a metric is unknown; or with the file and
            the line, if a file cannot be read.
        OSError: if a file cannot be opened.
    """
    metrics = request.metrics_of(options.words, options.trec, options.level)
    if absent := words.not_measured(options.words, options.trec):
        note(f"{', '.join(absent)} of trec_eval are not available and left out")
    paths = options.paths
    baseline = options.baseline_run
    runs = _measure(options, paths, metrics)
    _note_remarks(runs)
    _note_skipped_queries(runs)
    _note_zeros(runs)
    tests = Comparisons(())
    if options.compare:
        tests = report.compare(runs, baseline, options.compare, options.confidence)
    if options.plot is not None:
        report.check_values_per_query(runs, "--plot")
    per_query, level = options.per_query, options.confidence
    if options.format == "trec":
        run_lines = words.run_lines(options.words, options.trec)
        text = report.as_trec(runs, metrics, per_query, run_lines)
    elif options.format == "csv":
        text = report.as_csv(runs, tests, per_query, level)
    elif options.format == "json":
        text = report.as_json(runs, tests, per_query)
    else:
        text = report.as_text(runs, tests, per_query, level, options.format)
    write_out(text)  # first, so that a figure that fails takes no number with it
    if options.plot is not None:
        report.draw(runs, tests, baseline, options.plot, level)


def _measure(
    options: Options, paths: Mapping[str, Path], metrics: list[request.RequestedMetric]
) -> dict[str, report.Run]:
    """Reads, joins and measures every run, with a progress bar on a terminal."""
    judged = _read_qrels(options)
    weights = None
    if options.weights is not None:
        weights = read_weights(_source(options.weights))
    runs = {}
    for name, path in _with_progress(list(paths.items())):
        run, tag = _read_run(options, path)
        try:
            joined = _join(options, judged, run)
        except ValueError as error:
            raise ValueError(f"{_source(path)}: {error}") from error
        with in_options(format="--qrels-format"):
            measured = report.measure(metrics, joined, options.confidence, weights)
        runs[name] = measured._replace(tag=tag)
    return runs


def _with_progress(items: list[T]) -> Iterable[T]:
    """Returns the items, with a progress bar on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, "measuring", console=Console(stderr=True), transient=True)


def _read_qrels(options: Options) -> "pl.DataFrame":
    with in_options(format="--qrels-format", columns="--qrels-columns"):
        judged = read(
            _source(options.qrels),
            options.qrels_format,
            _columns(options.qrels_columns),
            options.duplicates,
            "relevance",
        )
    if options.level is not None and SUBTOPIC in judged.columns:
        raise ValueError(
            f"--level {options.level}: a document of {_source(options.qrels)} is "
            "relevant if it is to any subtopic; leave --level out"
        )
    return judged


def _read_run(options: Options, path: Path) -> "tuple[pl.DataFrame, str | None]":
    format: str | None = options.run_format
    judgements = options.qrels_format or format_of(options.qrels)
    if format is None and judgements == "svmlight" and format_of(path) is None:
        format = "scores"  # the runs of an svmlight file are plain scores
    with in_options(format="--run-format", columns="--run-columns"):
        return read_tagged(
            _source(path),
            format,
            _columns(options.run_columns),
            "error" if options.duplicates == "max" else options.duplicates,
            "score",
        )


def _join(options: Options, judged: "pl.DataFrame", run: "pl.DataFrame") -> Joined:
    default = "skip" if options.trec else "error"
    with in_options():
        return join_frames(
            judged,
            run,
            missing="zero" if options.complete else options.missing or default,
            unjudged=options.unjudged or default,
            depth=options.depth,
            ties="trec" if options.trec else "expected",
            condensed=options.judged_only,
            repeats=options.repeats,
        )


def _note_remarks(runs: report.Runs) -> None:
    """Notes what `join` warns of: once, with the first run of which it is true."""
    first_runs: dict[str, str] = {}
    for name, run in runs.items():
        for remark in run.remarks:
            first_runs.setdefault(remark, name)
    for remark, name in first_runs.items():
        note(f"{name}: {remark}")


def _note_skipped_queries(runs: report.Runs) -> None:
    """Notes the runs whose means leave out judged queries, and how many of them.

    Another note says that means cannot be compared, if runs leave out different queries.
    Both go to stderr. There are none if nothing is left out.
    """
    for name, run in runs.items():
        if run.num_skipped:
            note(
                f"{name} lacks {run.num_skipped} of {len(run.is_counted)} judged queries, "
                "which its means leave out; --missing zero counts them as 0"
            )
    if not report.cover_same_queries(runs):
        note("the runs cover different queries: their means cannot be compared")


def _note_zeros(runs: report.Runs) -> None:
    """Notes metrics that are better when lower, and count undefined queries as 0."""
    notes = {
        f"{label}: lower is better, and {undefined} of {queries} queries in which it is "
        "undefined count as 0, as if they were best": None
        for run in runs.values()
        for label, lists in run.lists.items()
        if direction_of((label,))
        for undefined, queries in [read_lists(label, lists).zero_counts()]
        if undefined
    }
    for text in notes:
        note(text)


def _source(path: Path) -> Source:
    """Returns the file at a path, or stdin for a dash."""
    if path == STDIN:
        if sys.stdin is None:
            raise ValueError("- is stdin, which is closed; pass a file")
        return Source("stdin", lambda: io.BytesIO(sys.stdin.buffer.read()))
    return Source.of(path)


def _columns(names: str | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(name.strip() for name in names.split(","))


@contextlib.contextmanager
def in_options(**options: str) -> Iterator[None]:
    """Raises a ValueError of its block again, with options in place of Python arguments.

    `missing='zero'` becomes `--missing zero`.

    Args:
        options: The options for arguments that judgements and runs have each, such as
            `format="--run-format"`. Others have the name of the argument.
    """
    options = {
        name: f"--{name}" for name in ("missing", "unjudged", "duplicates", "repeats")
    } | options
    names = "|".join(options)

    def option(match: re.Match[str]) -> str:
        return options[match[1]] + (f" {match[2]}" if match[2] else "")

    try:
        yield
    except ValueError as error:
        message = re.sub(rf"\b({names})='(\w+)'", option, str(error))
        message = re.sub(rf"\b({names})()(?:=(?!\{{)|(?= is ))", option, message)
        raise ValueError(message) from error
