"""The command `jax-rank-metrics`: evaluates and judges runs in files, shows a demo."""

import contextlib
import gc
import inspect
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from jax_rank_metrics._command import arguments
from jax_rank_metrics._command.arguments import CommandOptions, Format, note, write_out
from jax_rank_metrics._ground import choices, optional
from jax_rank_metrics._names.trec import FAMILIES, SETS

if TYPE_CHECKING:
    import typer

# Import JAX, and modules that import JAX, only inside functions, so that `--help` and
# errors in the options do not have to wait for JAX.


@contextlib.contextmanager
def _errors_as_lines(code: int = 1) -> Iterator[None]:
    """Prints an error as one line on stderr, and exits with this code.

    Errors of unexpected types keep their traceback. If the code is not 1, they also
    exit with this code, because 1 is then a verdict. A warning is also printed as one
    line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_: note(str(message))
            yield
    except Exception as error:
        is_known = isinstance(error, ValueError | TypeError | OSError | ImportError)
        # A broken pipe means that the reader of stdout has stopped, as `head` does.
        # Raise the error, because typer then exits silently.
        if code == 1 and (isinstance(error, BrokenPipeError) or not is_known):
            raise
        if not is_known:
            traceback.print_exc()
        with contextlib.suppress(OSError):  # stderr may be full, too
            note(str(error))
        if isinstance(error, OSError) and sys.stdout is not None:
            # Text that stdout did not accept is still buffered, and writing it would
            # fail again at exit.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(code)


def _metric_names(incomplete: str) -> list[str]:
    """Returns the names of metrics that begin with a prefix, for shell completion."""
    from jax_rank_metrics._engine import formulas as formulas  # registers the metrics
    from jax_rank_metrics._names.facts import metric_names

    names = [*metric_names(), *FAMILIES, *SETS]
    return sorted(name for name in names if name.startswith(incomplete))


def app() -> "typer.Typer":
    """Returns the commands as a typer application; typer is imported only here."""
    import typer
    import typer.core

    # Without rich markup, errors have the same four lines in every terminal.
    commands = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

    def print_version(is_set: bool) -> None:
        if is_set:
            from jax_rank_metrics import __version__

            write_out(f"jax-rank-metrics {__version__}\n")
            raise typer.Exit

    def column(content: str) -> object:
        return typer.Option(help=f"With --scored: the column of {content}.")

    class Command(typer.core.TyperCommand):
        """A command that lists the choices of an option without a valid value."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            for param in self.params:
                if param.name == "runs":  # a single scored table suffices
                    param.required = "--scored" not in args
            try:
                return super().parse_args(ctx, [*args])
            except Exception as error:
                if "option_name" in vars(error):
                    super().parse_args(ctx, [*args, ""])  # raises if "" is no choice
                raise

    @commands.callback()
    def about(
        version: Annotated[
            bool,
            typer.Option(
                "--version",
                callback=print_version,
                is_eager=True,
                help="Print the version and exit.",
            ),
        ] = False,
    ) -> None:
        """Ranking metrics for JAX."""

    @commands.command(cls=Command)
    def evaluate(
        qrels: Annotated[Path, typer.Argument(help="Judgements; - is stdin.")],
        runs: Annotated[
            list[Path],
            typer.Argument(
                help="One or several runs; - is stdin.",
                default_factory=list,
                show_default=False,
            ),
        ],
        metric: Annotated[
            list[str] | None,
            typer.Option(
                "--metric",
                "-m",
                help="A metric, such as ndcg@10; may be repeated.",
                autocompletion=_metric_names,
            ),
        ] = None,
        trec: Annotated[
            bool,
            typer.Option(
                "--trec",
                help="Follow trec_eval: its ties, gains and denominators; only queries "
                "that both files have; its official measures by default.",
            ),
        ] = False,
        complete: Annotated[
            bool,
            typer.Option("--complete", "-c", help="The same as --missing zero."),
        ] = False,
        level: Annotated[
            float | None,
            typer.Option(
                "--level", "-l", help="The lowest relevance that counts as relevant."
            ),
        ] = None,
        depth: Annotated[
            int | None,
            typer.Option(
                "--depth", "-M", min=1, help="Documents to keep for each query."
            ),
        ] = None,
        judged_only: Annotated[
            bool,
            typer.Option(
                "--judged-only",
                "-J",
                help="Leave out documents of the run that were not judged.",
            ),
        ] = False,
        missing: Annotated[
            choices.Missing | None,
            typer.Option(
                help="What to do with judged queries that a run lacks: raise an error, "
                "count them as 0, or leave them out."
            ),
        ] = None,
        unjudged: Annotated[
            choices.Unjudged | None,
            typer.Option(
                help="What to do with queries of a run that have no judgements."
            ),
        ] = None,
        duplicates: Annotated[
            choices.DuplicatesOfQrels,
            typer.Option(
                help="What to do with documents that repeat in a query; max keeps the "
                "best judgement."
            ),
        ] = "error",
        repeats: Annotated[
            choices.Repeats,
            typer.Option(
                help="What to do with documents that repeat in a ranked list: keep their "
                "ranks, or remove them."
            ),
        ] = "keep",
        exclude_self: Annotated[
            bool,
            typer.Option(
                "--exclude-self",
                help="Leave out documents that have the id of their query.",
            ),
        ] = False,
        document: Annotated[
            str | None,
            typer.Option(
                metavar="REGEX",
                help="For runs of chunks: group 1 of the match in a chunk's id is its "
                "document. Only the best chunk of a document stays.",
            ),
        ] = None,
        format: Annotated[
            Format, typer.Option(help="The format of the results.")
        ] = "text",
        qrels_format: Annotated[
            choices.QrelsFormat | None,
            typer.Option(
                help="The format of the judgements; by default, from the extension."
            ),
        ] = None,
        run_format: Annotated[
            choices.RunFormat | None,
            typer.Option(
                help="The format of the runs; by default, from the extension."
            ),
        ] = None,
        qrels_columns: Annotated[
            str | None,
            typer.Option(
                help="The columns of query, document, relevance and perhaps subtopic: "
                "a,b,c."
            ),
        ] = None,
        run_columns: Annotated[
            str | None,
            typer.Option(help="The columns of query, document and score: a,b,c."),
        ] = None,
        weights: Annotated[
            Path | None,
            typer.Option(
                help="A file of query weights for the means: each line holds a query and "
                "its weight, separated by blanks, a tab or a comma."
            ),
        ] = None,
        signature: Annotated[
            bool,
            typer.Option("--signature", help="Write the signature of each metric."),
        ] = False,
        scored: Annotated[
            bool,
            typer.Option(
                "--scored",
                help="QRELS and RUNS are tables of scored items, each a run with its own "
                "labels; a single table suffices.",
            ),
        ] = False,
        list: Annotated[str | None, column("lists")] = None,
        label: Annotated[str | None, column("labels")] = None,
        score: Annotated[str | None, column("scores")] = None,
        item: Annotated[str | None, column("ids of items, if there are any")] = None,
        per_query: Annotated[
            bool,
            typer.Option(
                "--per-query", "-q", help="Write the values of every query too."
            ),
        ] = False,
        compare: Annotated[
            choices.ComparisonTest | None,
            typer.Option(help="Test each run against the baseline."),
        ] = None,
        baseline: Annotated[
            str | None,
            typer.Option(help="A run, by name or file; by default, the first."),
        ] = None,
        confidence: Annotated[
            float,
            typer.Option(help="The confidence level of intervals, between 0 and 1."),
        ] = 0.95,
        plot: Annotated[
            Path | None,
            typer.Option(
                help="Draw the first metric, and write the figure to this file."
            ),
        ] = None,
    ) -> None:
        """Measure runs against judgements."""
        # The locals are exactly the parameters, and each is a field of `CommandOptions`.
        options = CommandOptions(**locals())
        with _errors_as_lines():
            arguments.check(options)
            from jax_rank_metrics._command import measuring

            measuring.evaluate(options)

    def gate(
        margin: float | None = typer.Option(None, min=0, help="A loss that may pass."),
        at_least: float | None = typer.Option(
            None, help="The mean to reach if there is no baseline."
        ),
        alpha: float = typer.Option(0.05, help="How often a verdict may be false."),
        undecided: Literal["fail", "pass", "estimate"] = typer.Option(
            "fail",
            help="If there are too few queries to tell: exit with 3 (fail), with 0 (pass), "
            "or with 0 or 1 by the difference, which may be chance (estimate).",
        ),
        format: Literal["text", "json", "markdown"] = typer.Option(
            "text", help="The format of the report."
        ),
        save: Annotated[
            Path | None,
            typer.Option(help="Write the values of the candidate to a file."),
        ] = None,
        **words: Any,
    ) -> None:
        """Judge a run against a baseline, by the exit code.

        RUNS are a baseline, or the file that --save wrote for it, and a candidate. Exits
        with 0 if the candidate is not worse by the margin, 1 if it is, 2 if the call is
        wrong, and 3 if these queries cannot tell.
        """
        limits = locals()
        with _errors_as_lines(2):
            options = CommandOptions(**limits.pop("words"), **limits)
            arguments.check_gate(options)
            from jax_rank_metrics._command import gate as judging

            sys.exit(judging.gate(options))

    # The options of files and metrics are declared once, above.
    declared = inspect.signature(evaluate).parameters.values()
    shared = [arg for arg in declared if arg.name not in CommandOptions._field_defaults]
    *limits, _ = inspect.signature(gate).parameters.values()
    gate.__signature__ = inspect.Signature([*shared, *limits])  # type: ignore[attr-defined]
    commands.command(cls=Command)(gate)

    @commands.command()
    def demo(
        steps: Annotated[
            int, typer.Option(min=1, help="Number of training steps.")
        ] = 300,
        seed: Annotated[
            int, typer.Option(min=0, help="Seed of all random numbers.")
        ] = 0,
        devices: Annotated[
            int | None,
            typer.Option(min=1, help="Run on this number of virtual CPU devices."),
        ] = None,
        save: Annotated[
            Path | None,
            typer.Option(
                help="Write the table and plots to this folder; needs matplotlib."
            ),
        ] = None,
    ) -> None:
        """Train image retrieval on digits, then measure it on all devices."""
        for library in ("optax", "rich", "sklearn"):
            optional.import_optional(library, "the demo", "demo")
        if devices is not None:
            # JAX allows this only before its first computation. Devices that wait for
            # each other need one thread each, and there may be more devices than cores.
            os.environ.setdefault("PJRT_NPROC", str(4 * devices))
            import jax

            jax.config.update("jax_platforms", "cpu")
            jax.config.update("jax_num_cpu_devices", devices)
        from jax_rank_metrics.demo import run

        run(steps, seed, save)

    return commands


def main() -> None:
    """Runs the command line."""
    is_demo, is_gate = (sys.argv[1:2] == [word] for word in ("demo", "gate"))
    needed_by = ("the demo", "demo") if is_demo else ("the command line", "trec")
    if not is_demo:
        # Garbage collection of JAX's objects, during the run and at exit, would take a
        # quarter of the time, so skip it: the process ends soon anyway.
        gc.disable()
    try:
        with _errors_as_lines(2 if is_gate else 1):
            optional.import_optional("typer", *needed_by)
            app()()
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
