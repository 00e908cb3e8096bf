"""Tables of several runs and metrics."""

import html
import math
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from jax_rank_metrics import _inputs
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.estimates import Estimate, Results, estimates
from jax_rank_metrics._results.export import csv_of
from jax_rank_metrics._types import IntervalMethod, Number

Format = Literal["text", "markdown", "latex", "html", "csv"]
Rows = Literal["runs", "metrics"]


class Table(str):
    """The text of a table, which notebooks show as one."""

    _html: str | None = None

    def __repr__(self) -> str:
        """The text itself: what a session shows without `print`."""
        return str(self)

    def _repr_html_(self) -> str | None:
        return self._html


def table(
    results: Results,
    *,
    format: Format = "text",
    level: Number = 0.95,
    method: IntervalMethod = "normal",
    digits: int = 3,
    lower: Sequence[str] = (),
    rows: Rows | None = None,
) -> Table:
    """Runs and metrics as a table: means with their intervals, the best of each in bold.

    A cell is the mean and its interval, `0.725 [0.284, 1.166]`. The best mean of a metric
    is bold, or has a `*` in text; runs that print the same number share it. That says
    nothing of whether a difference is more than chance, and neither do two intervals: the
    runs saw the same lists, so test the difference of each list.

    Text, Markdown, LaTeX and HTML are made by the library tabulate, of the extra "tables".
    CSV has a line for each run and metric, with all digits: mean, std_error, low, high,
    lists and undefined.

    Args:
        results: A dict of runs to what `evaluate` or `measure` gave, or that of one run.
            The `mean` of a `PerList` counts undefined lists as zero. Metrics with several
            cutoffs are several, under the names of `compute(…, flat=True)`.
        format: "text", "markdown", "latex" (a `tabular`), "html" or "csv". Names are
            escaped as each demands.
        level: What the intervals cover, in (0, 1).
        method: How they are made, see `Mean.confidence_interval`; "t" for few lists.
        digits: After the point.
        lower: Names of metrics of which less is better, as the table has them or without
            their cutoff.
        rows: What a row is: "runs" or "metrics". None is runs, and metrics of one run.

    Returns:
        A string, which notebooks show as a table.

    Raises:
        TypeError: if results hold anything but a state or a `PerList`.
        ValueError: if a state is stacked, an option is unknown, or `lower` names no metric.
        ModuleNotFoundError: if tabulate is not installed; CSV does without.

    >>> import jax
    >>> from jax_rank_metrics import Mean
    >>> ones, known = jax.numpy.ones(2), jax.numpy.ones(2, bool)
    >>> runs = {"bm25": {"mrr": Mean.of(jax.numpy.array([0.0, 1.0]), ones, known)},
    ...         "mine": {"mrr": Mean.of(ones, ones, known)}}
    >>> table(runs)
    run    mrr
    -----  ----------------------
    bm25   0.500  [-0.480, 1.480]
    mine   1.000* [1.000, 1.000]
    <BLANKLINE>
    Mean and 95 % interval; 2 lists, 0 undefined; best is *
    >>> print(table(runs, format="csv").splitlines()[2])
    mine,mrr,1.0,0.0,1.0,1.0,2,0
    """
    _inputs.option("format", format, Format)
    if rows is not None:
        _inputs.option("rows", rows, Rows)
    if isinstance(digits, bool) or not isinstance(digits, int) or digits < 0:
        raise ValueError(f"digits is {digits!r}; pass an int of at least 0")
    runs = estimates(results, level, method)
    metrics = list(dict.fromkeys(name for run in runs.values() for name in run))
    best = _best(runs, metrics, lower, digits)
    if format == "csv":
        return Table(_csv(runs))
    by_run = rows == "runs" or (rows is None and "" not in runs)
    across, down = (metrics, list(runs)) if by_run else (list(runs), metrics)

    def written(style: _Style) -> str:
        def cell(run: str, metric: str) -> str:
            if metric not in runs[run]:
                return "–"
            found = runs[run][metric]
            mean, low, high = (f"{x:.{digits}f}" for x in found[:3])
            marks = style.best if mean == best.get(metric) else style.other
            before, after = marks if best else ("", "")
            return f"{before}{mean}{after} [{low}, {high}]"

        def name(text: str) -> str:
            return style.escape(" ".join(text.split()))

        body = [
            [name(one), *(cell(*((one, x) if by_run else (x, one))) for x in across)]
            for one in down
        ]
        made = import_optional("tabulate", "jrm.table", "tables").tabulate(
            body,
            headers=[
                "run" if by_run else "metric",
                *(name(x) or "mean" for x in across),
            ],
            tablefmt=style.tabulate,
            disable_numparse=True,
        )
        return style.noted(made, _note(runs, level, style.called if best else ""))

    shown = Table(written(_STYLES[format]))
    shown._html = None if format == "latex" else written(_STYLES["html"])
    return shown


def _best(
    runs: dict[str, dict[str, Estimate]],
    metrics: Sequence[str],
    lower: Sequence[str],
    digits: int,
) -> dict[str, str]:
    """The best mean of each metric, as it is printed; none where there is one run."""
    heads = {name: re.sub(r"@\d+$|\[\d+\]$", "", name) for name in metrics}
    lower = (lower,) if isinstance(lower, str) else lower
    for name in lower:
        if name not in {*heads, *heads.values()}:
            raise ValueError(
                f"lower names {name!r}, which is no metric of results; they have "
                f"{', '.join(metrics)}"
            )
    best = {}
    for metric, head in heads.items():
        means = [run[metric].mean for run in runs.values() if metric in run]
        means = [mean for mean in means if not math.isnan(mean)]
        if len(runs) > 1 and means:
            least = metric in lower or head in lower
            best[metric] = f"{min(means) if least else max(means):.{digits}f}"
    return best


def _note(runs: dict[str, dict[str, Estimate]], level: Number, best: str) -> str:
    def span(counts: set[int]) -> str:
        least, most = min(counts), max(counts)
        return f"{least}" if least == most else f"{least} to {most}"

    found = [one for run in runs.values() for one in run.values()]
    lists, undefined = ({x.lists for x in found}, {x.undefined for x in found})
    told = (
        f"{span(lists)} list{'' if lists == {1} else 's'}, {span(undefined)} undefined"
    )
    return f"Mean and {100 * level:g} % interval; {told}" + best


def _csv(runs: dict[str, dict[str, Estimate]]) -> str:
    columns = ("mean", "std_error", "low", "high", "lists", "undefined")
    rows = (
        [run, metric, *(str(getattr(found, column)) for column in columns)]
        for run, metrics in runs.items()
        for metric, found in metrics.items()
    )
    return csv_of(["run", "metric", *columns], rows)


class _Style(NamedTuple):
    """How a format writes a table."""

    tabulate: str  # its name there
    best: tuple[str, str]  # before and after the best mean
    other: tuple[str, str]
    called: str  # what a note says of the best
    escape: Callable[[str], str]
    noted: Callable[[str, str], str]


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", text)


_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


_BOLD = "; best is bold"
_STYLES = {
    "text": _Style(
        "simple",
        ("", "*"),
        ("", " "),
        "; best is *",
        lambda text: text,
        lambda table, note: f"{table}\n\n{note}",
    ),
    "markdown": _Style(
        "github",
        ("**", "**"),
        ("", ""),
        _BOLD,
        _markdown,
        lambda table, note: f"{table}\n\n{note}",
    ),
    "latex": _Style(
        "latex_raw",
        (r"\textbf{", "}"),
        ("", ""),
        _BOLD,
        _latex,
        lambda table, note: f"% {note}\n{table}",
    ),
    "html": _Style(
        "unsafehtml",
        ("<b>", "</b>"),
        ("", ""),
        _BOLD,
        html.escape,
        lambda table, note: table.replace(
            "<table>", f"<table>\n<caption>{note}</caption>", 1
        ),
    ),
}
