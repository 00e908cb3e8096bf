"""The command `jax-rank-metrics`: evaluates runs in files, and shows a demo."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import jax

import jax_rank_metrics as jrm
from jax_rank_metrics._command import report, request
from jax_rank_metrics._files.join import Joined, Missing, Unjudged
from jax_rank_metrics._files.read import Duplicates, QrelsFormat, format_of
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._types import ComparisonTest

Format = Literal["text", "json", "csv", "latex", "markdown", "html", "trec"]

# Which formats can hold what, beside means.
_PER_QUERY = ("text", "json", "csv", "trec")
_COMPARED = ("text", "json", "csv", "markdown")


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Errors of users as one line on stderr, and exit code 1."""
    try:
        yield
    except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
        print(f"jax-rank-metrics: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(","))


def _measured(
    runs: dict[str, Path],
    read: Callable[[Path], Any],
    join: Callable[[Any], Joined],
    metrics: list[request.Metric],
) -> dict[str, report.Run]:
    """Reads, joins and measures every run, behind a bar where there is a terminal."""
    from rich.console import Console
    from rich.progress import track

    terminal = Console(stderr=True)
    hidden = not terminal.is_terminal
    found = {}
    for name, path in track(
        runs.items(), "measuring", console=terminal, transient=True, disable=hidden
    ):
        run = read(path)
        try:
            joined = join(run)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        found[name] = report.measured(metrics, joined)
    return found


def app() -> Any:
    """The commands, for typer, which is imported here."""
    import typer

    commands = typer.Typer(add_completion=False, no_args_is_help=True)

    @commands.callback()
    def about() -> None:
        """Ranking metrics for JAX."""

    @commands.command()
    def evaluate(
        qrels: Annotated[Path, typer.Argument(help="Judgements.")],
        runs: Annotated[list[Path], typer.Argument(help="Runs, one or several.")],
        metric: Annotated[
            list[str] | None,
            typer.Option("--metric", "-m", help="Such as ndcg@10; may be repeated."),
        ] = None,
        trec: Annotated[
            bool,
            typer.Option(
                "--trec",
                help="As trec_eval: its ties, gains and denominators; only queries that "
                "both files have; its official measures by default.",
            ),
        ] = False,
        complete: Annotated[
            bool,
            typer.Option("--complete", "-c", help="The same as --missing zero."),
        ] = False,
        level: Annotated[
            float | None,
            typer.Option(
                "--level", "-l", help="The relevance from which on is relevant."
            ),
        ] = None,
        depth: Annotated[
            int | None,
            typer.Option("--depth", "-M", min=1, help="Documents of a query to keep."),
        ] = None,
        missing: Annotated[
            Missing | None, typer.Option(help="Judged queries that a run lacks.")
        ] = None,
        unjudged: Annotated[
            Unjudged | None, typer.Option(help="Queries of a run without judgements.")
        ] = None,
        duplicates: Annotated[
            Duplicates, typer.Option(help="Repeated documents of a query.")
        ] = "error",
        format: Annotated[Format, typer.Option(help="How to write results.")] = "text",
        input_format: Annotated[
            QrelsFormat | None,
            typer.Option(help="What files are, where extensions do not tell."),
        ] = None,
        qrels_columns: Annotated[
            str | None, typer.Option(help="Names of query, document, relevance: a,b,c.")
        ] = None,
        run_columns: Annotated[
            str | None, typer.Option(help="Names of query, document, score: a,b,c.")
        ] = None,
        per_query: Annotated[
            bool,
            typer.Option("--per-query", "-q", help="The values of every query too."),
        ] = False,
        compare: Annotated[
            ComparisonTest | None,
            typer.Option(help="Test each run against the baseline."),
        ] = None,
        baseline: Annotated[
            str | None, typer.Option(help="The name of a run; by default the first.")
        ] = None,
        confidence: Annotated[
            float, typer.Option(help="What intervals cover, between 0 and 1.")
        ] = 0.95,
        plot: Annotated[
            Path | None,
            typer.Option(help="A figure of the first metric, to this file."),
        ] = None,
    ) -> None:
        """Measure runs against judgements."""
        with _told():
            for asked, option, able in (
                (per_query, "--per-query", _PER_QUERY),
                (compare is not None, "--compare", _COMPARED),
            ):
                if asked and format not in able:
                    raise ValueError(
                        f"{option} goes with --format {', '.join(able)}, not {format}"
                    )
            if per_query and compare and format == "csv":
                raise ValueError(
                    "--format csv is one table; pass --per-query or --compare"
                )
            if complete and missing not in (None, "zero"):
                raise ValueError(
                    f"--complete and --missing {missing}; pass one of them"
                )
            if plot is not None:
                import_optional("matplotlib", "--plot", "plots")
                if not plot.parent.is_dir():
                    raise ValueError(f"--plot {plot}: there is no folder {plot.parent}")
            paths = dict(zip(request.run_names(runs), runs, strict=True))
            first = baseline or next(iter(paths))
            if first not in paths:
                raise ValueError(f"--baseline {first} is none of {', '.join(paths)}")
            if compare and len(paths) < 2:
                raise ValueError("--compare needs two runs or more")
            otherwise = "skip" if trec else "error"
            metrics = request.metrics_of(metric or (), trec, level)
            judged = jrm.read_qrels(
                qrels,
                format=input_format,
                columns=_names(qrels_columns),
                duplicates=duplicates,
            )
            # Beside items in a file of svmlight stand plain scores.
            scores = (input_format or format_of(qrels)) == "svmlight"

            def read(path: Path) -> Any:
                told: Any = input_format
                if scores:
                    told = None if format_of(path) else "scores"
                return jrm.read_run(
                    path,
                    format=told,
                    columns=_names(run_columns),
                    duplicates=duplicates,
                )

            join = partial(
                jrm.join,
                judged,
                missing="zero" if complete else missing or otherwise,
                unjudged=unjudged or otherwise,
                depth=depth,
                ties="trec" if trec else "expected",
            )
            found = _measured(paths, read, join, metrics)
            tested = (
                report.compared(found, first, compare, confidence) if compare else {}
            )
            if format == "trec":
                official = not metric or "official" in metric
                text = report.as_trec(found, metrics, per_query, official)
            elif format in ("csv", "json"):
                write = report.as_csv if format == "csv" else report.as_json
                text = write(found, tested, per_query, confidence)
            else:
                text = report.as_text(
                    found, tested, per_query, confidence, format, first
                )
            sys.stdout.write(text)
            if plot is not None:
                report.drawn(found, first, plot, confidence)

    @commands.command()
    def demo(
        steps: Annotated[int, typer.Option(min=1, help="Steps to train.")] = 300,
        seed: Annotated[int, typer.Option(min=0, help="Seed of all chance.")] = 0,
        devices: Annotated[
            int | None,
            typer.Option(min=1, help="Run on that many virtual CPU devices."),
        ] = None,
        save: Annotated[
            Path | None,
            typer.Option(help="A folder for the table and plots; needs matplotlib."),
        ] = None,
    ) -> None:
        """Train image retrieval on digits, then measure it on all devices."""
        _need("the demo", "demo", "optax", "rich", "sklearn", "tabulate")
        if devices is not None:
            # Only possible as long as nothing has been computed. The threads are for
            # devices that wait for each other, of which there may be more than cores.
            os.environ.setdefault("PJRT_NPROC", str(4 * devices))
            jax.config.update("jax_platforms", "cpu")
            jax.config.update("jax_num_cpu_devices", devices)
        from jax_rank_metrics.demo import run

        run(steps, seed, save)

    return commands


def _need(what: str, extra: str, *libraries: str) -> None:
    """Leaves with one line where a library is missing."""
    for library in libraries:
        try:
            import_optional(library, what, extra)
        except ModuleNotFoundError as missing:
            sys.exit(str(missing))


def main() -> None:
    """Runs the command line."""
    extra = "demo" if sys.argv[1:2] == ["demo"] else "trec"
    _need("the demo" if extra == "demo" else "the command line", extra, "typer")
    app()()


if __name__ == "__main__":
    main()
