"""Runs the command `jax-rank-metrics evaluate`, from its options to its output."""

import contextlib
import io
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from jax_rank_metrics._command import report, request
from jax_rank_metrics._command.trec_measures import RUN_LINES, SETS
from jax_rank_metrics._files.join import Joined, Missing, Unjudged, join
from jax_rank_metrics._files.read import (
    Duplicates,
    QrelsFormat,
    RunFormat,
    format_of,
    read,
)
from jax_rank_metrics._files.text import Source
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._types import ComparisonTest

if TYPE_CHECKING:
    import polars as pl

Format = Literal["text", "json", "csv", "latex", "markdown", "html", "trec"]

# The formats that can hold the values of every query, and comparisons.
_PER_QUERY_FORMATS: tuple[Format, ...] = ("text", "json", "csv", "trec")
_COMPARISON_FORMATS: tuple[Format, ...] = ("text", "json", "csv", "markdown")

STDIN = Path("-")


class Options(NamedTuple):
    """The arguments and options of the command, as `cli` declares them."""

    qrels: Path
    runs: list[Path]
    metric: list[str] | None
    trec: bool
    complete: bool
    level: float | None
    depth: int | None
    missing: Missing | None
    unjudged: Unjudged | None
    duplicates: Duplicates
    format: Format
    qrels_format: QrelsFormat | None
    run_format: RunFormat | None
    qrels_columns: str | None
    run_columns: str | None
    per_query: bool
    compare: ComparisonTest | None
    baseline: str | None
    confidence: float
    plot: Path | None


def evaluate(options: Options) -> None:
    """Reads judgements and runs, measures the runs, and prints the results.

    Raises:
        ValueError: with the option to change, if options contradict each other; or with
            the file and the line, if a file cannot be read.
        OSError: if a file cannot be opened.
    """
    _check(options)
    names = request.run_names(
        [Path("stdin") if path == STDIN else path for path in options.runs]
    )
    paths = dict(zip(names, options.runs, strict=True))
    baseline = options.baseline or next(iter(paths))
    if baseline not in paths:
        raise ValueError(f"--baseline {baseline} is none of {', '.join(paths)}")
    metrics = request.metrics_of(options.metric or (), options.trec, options.level)
    run_lines = _run_lines(options)
    runs = _measure(options, paths, metrics)
    _note_skipped_queries(runs)
    tests = {}
    if options.compare:
        tests = report.compare(runs, baseline, options.compare, options.confidence)
    per_query, level = options.per_query, options.confidence
    if options.format == "trec":
        text = report.as_trec(runs, metrics, per_query, run_lines)
    elif options.format == "csv":
        text = report.as_csv(runs, tests, per_query, level)
    elif options.format == "json":
        text = report.as_json(runs, tests, per_query, level)
    else:
        text = report.as_text(runs, tests, per_query, level, options.format, baseline)
    if options.plot is not None:
        report.draw(runs, baseline, options.plot, level)
    sys.stdout.write(text)
    sys.stdout.flush()  # so that a closed pipe raises here


def note(text: str) -> None:
    """Prints a message on stderr as one line, after the name of the command.

    Line breaks and other white space in the message become single spaces.
    """
    print(f"jax-rank-metrics: {' '.join(text.split())}", file=sys.stderr)


def _check(options: Options) -> None:
    """Raises ValueError if options contradict each other, before any file is read."""
    format, plot = options.format, options.plot
    for is_set, option, formats in (
        (options.per_query, "--per-query", _PER_QUERY_FORMATS),
        (options.compare is not None, "--compare", _COMPARISON_FORMATS),
    ):
        if is_set and format not in formats:
            raise ValueError(
                f"{option} goes with --format {', '.join(formats)}, not {format}"
            )
    if options.per_query and options.compare and format == "csv":
        raise ValueError("--format csv is one table; pass --per-query or --compare")
    if options.compare and len(options.runs) < 2:
        raise ValueError("--compare needs two runs or more")
    if options.complete and options.missing not in (None, "zero"):
        raise ValueError(
            f"--complete and --missing {options.missing}; pass one of them"
        )
    if not 0 < options.confidence < 1:
        raise ValueError(
            f"--confidence is {options.confidence}; pass a number between 0 and 1"
        )
    if [options.qrels, *options.runs].count(STDIN) > 1:
        raise ValueError("- is given twice; only one file can be read from stdin")
    if plot is not None:
        import_optional("matplotlib", "--plot", "plots")
        if not plot.parent.is_dir():
            raise ValueError(f"--plot {plot}: there is no folder {plot.parent}")
        backends = import_optional("matplotlib.backend_bases", "--plot", "plots")
        endings = backends.FigureCanvasBase.get_supported_filetypes()
        if plot.suffix[1:].lower() not in endings:
            raise ValueError(
                f"--plot {plot}: figures are not written as {plot.suffix!r}; pass a file "
                f"with one of the extensions {', '.join(sorted(endings))}"
            )


def _run_lines(options: Options) -> list[str]:
    """Returns the requested lines about a whole run, among "runid" and "num_q".

    Measures of a set that are not available are noted on stderr.
    """
    words = request.words_or_default(options.metric or (), options.trec)
    for name in RUN_LINES:
        if name in words and options.format != "trec":
            raise ValueError(f"-m {name} is a line of --format trec, not a metric")
    not_measured = request.not_measured(options.metric or (), options.trec)
    if not_measured:
        note(f"{', '.join(not_measured)} of trec_eval are not available and left out")
    members = [name for word in words for name in SETS.get(word, (word,))]
    return [name for name in RUN_LINES if name in members]


def _measure(
    options: Options, paths: Mapping[str, Path], metrics: list[request.Metric]
) -> dict[str, report.Run]:
    """Reads, joins and measures every run, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import track

    judged = _read_qrels(options)
    terminal = Console(stderr=True)
    runs = {}
    for name, path in track(
        paths.items(),
        "measuring",
        console=terminal,
        transient=True,
        disable=not terminal.is_terminal,
    ):
        run = _read_run(options, path)
        try:
            joined = _join(options, judged, run)
        except ValueError as error:
            raise ValueError(f"{_source(path)}: {error}") from error
        runs[name] = report.measure(metrics, joined)
    return runs


def _read_qrels(options: Options) -> "pl.DataFrame":
    with in_options(format="--qrels-format", columns="--qrels-columns"):
        return read(
            _source(options.qrels),
            options.qrels_format,
            _columns(options.qrels_columns),
            options.duplicates,
            "relevance",
        )


def _read_run(options: Options, path: Path) -> "pl.DataFrame":
    format: str | None = options.run_format
    judgements = options.qrels_format or format_of(options.qrels)
    if format is None and judgements == "svmlight" and format_of(path) is None:
        format = "scores"  # the runs of an svmlight file are plain scores
    with in_options(format="--run-format", columns="--run-columns"):
        return read(
            _source(path),
            format,
            _columns(options.run_columns),
            options.duplicates,
            "score",
        )


def _join(options: Options, judged: "pl.DataFrame", run: "pl.DataFrame") -> Joined:
    default = "skip" if options.trec else "error"
    with in_options():
        return join(
            judged,
            run,
            missing="zero" if options.complete else options.missing or default,
            unjudged=options.unjudged or default,
            depth=options.depth,
            ties="trec" if options.trec else "expected",
        )


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


def _source(path: Path) -> Source:
    """Returns the file at a path, or stdin for a dash."""
    if path == STDIN:
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
        name: f"--{name}" for name in ("missing", "unjudged", "duplicates")
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
