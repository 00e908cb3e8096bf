"""Tables of several runs and metrics."""

import html
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from jax_rank_metrics import _inputs
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.direction import Lower, check_lower, is_lower_better
from jax_rank_metrics._results.estimates import Results, estimates
from jax_rank_metrics._results.export import csv_of, fixed_point
from jax_rank_metrics._states.on_host import Estimate
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
    method: IntervalMethod = "auto",
    digits: int = 3,
    lower: Lower = (),
    rows: Rows | None = None,
) -> Table:
    """Runs and metrics as a table: means with their intervals, the best of each in bold.

    A cell is the mean and its interval, `0.725 [0.284, 1.166]`. The best mean of a metric
    is bold, or has a `*` in text: the highest, or the lowest of metrics such as `arp` and
    `fall_out` that say so; counts such as `num_retrieved` have no best. Runs that print
    the same number share the mark. The mark does not say that a difference is more than
    chance, and neither do two intervals: the runs saw the same lists, so test the
    difference of each list, with `compare`.

    Text, Markdown and HTML are made by the library tabulate, of the extra "tables". CSV
    has a line for each run and metric, with all digits: mean, std_error, low, high, lists,
    undefined and n_eff. Below the other tables, a note has the numbers of lists, and the
    effective number where their weights differ.

    Args:
        results: A dict of runs to the results of `evaluate`, `measure` or
            `evaluate_users`, or the result of one run. Values of a metric are a state, a
            `PerList`, a pandas Series, or a dict of list ids to numbers; a run may be a
            pandas DataFrame with a column for each metric. Each cutoff of a metric has its
            own mean in the table, under the name that `compute(…, flat=True)` gives it.
        format: "text", "markdown", "latex" (a `tabular` with the rules of the LaTeX
            package booktabs, and the note below it), "html" or "csv". Names are escaped
            as the format requires.
        level: The probability with which the intervals should cover the mean, in (0, 1).
        method: How intervals are made, see `Mean.confidence_interval`.
        digits: Number of digits after the point.
        lower: Names of further metrics of which lower values are better, as the table
            writes them or without their cutoff; or True for all.
        rows: "runs" for a row per run, "metrics" for a row per metric. None is "runs" for
            a dict of runs, and "metrics" for the result of a single run.

    Returns:
        A string, which notebooks show as a table.

    Raises:
        TypeError: if results hold anything but these.
        ValueError: if a state is stacked, an option is unknown, or `lower` names no
            metric; if the method is "wilson" and a metric is not 0 or 1 in every list.
        ModuleNotFoundError: if tabulate is not installed; CSV and LaTeX do without.

    >>> import jax
    >>> from jax_rank_metrics import Mean
    >>> ones, known = jax.numpy.ones(2), jax.numpy.ones(2, bool)
    >>> runs = {"bm25": {"mrr": Mean.of(jax.numpy.array([0.1, 0.9]), ones, known)},
    ...         "mine": {"mrr": Mean.of(jax.numpy.array([0.6, 0.7]), ones, known)}}
    >>> table(runs)
    run    mrr
    -----  ----------------------
    bm25   0.500  [-4.582, 5.582]
    mine   0.650* [0.015, 1.285]
    <BLANKLINE>
    Mean and 95 % interval; 2 lists, 0 undefined; best is *
    >>> print(table(runs, format="csv", level=0.5).splitlines()[0])
    run,metric,mean,std_error,low,high,lists,undefined,n_eff
    """
    _inputs.option("format", format, Format)
    if rows is not None:
        _inputs.option("rows", rows, Rows)
    if isinstance(digits, bool) or not isinstance(digits, int) or digits < 0:
        raise ValueError(f"digits is {digits!r}; pass an int of at least 0")
    runs = estimates(results, level, method)
    metrics = list(dict.fromkeys(name for run in runs.values() for name in run))
    check_lower(lower, metrics)
    best = _best(runs, metrics, lower, digits)
    if format == "csv":
        return Table(_csv(runs))
    by_run = rows == "runs" or (rows is None and "" not in runs)
    column_names, row_names = (metrics, list(runs)) if by_run else (list(runs), metrics)

    def write(style: _Style) -> str:
        def cell(run: str, metric: str) -> str:
            if metric not in runs[run]:
                return "–"
            mean, *interval = (fixed_point(x, digits) for x in runs[run][metric][:3])
            marks = style.best if mean == best.get(metric) else style.not_best
            before, after = marks if best else ("", "")
            return f"{before}{mean}{after} [{', '.join(interval)}]"

        def name(text: str) -> str:
            return style.escape(" ".join(text.split()))

        header = ["run" if by_run else "metric"]
        header += [name(x) or "mean" for x in column_names]
        body = [
            [
                name(row),
                *(cell(*((row, x) if by_run else (x, row))) for x in column_names),
            ]
            for row in row_names
        ]
        note = _note(runs, level, style.legend if best else "")
        return style.with_note(style.layout(header, body), note)

    text = Table(write(_STYLES[format]))
    text._html = None if format == "latex" else write(_STYLES["html"])
    return text


def _best(
    runs: dict[str, dict[str, Estimate]],
    metrics: Sequence[str],
    lower: Lower,
    digits: int,
) -> dict[str, str]:
    """The best mean of each metric, as it is printed; empty for a single run."""
    best = {}
    for metric in metrics:
        means = [run[metric].mean for run in runs.values() if metric in run]
        means = [mean for mean in means if not math.isnan(mean)]
        lower_is_better = is_lower_better(metric, lower)
        if len(runs) > 1 and means and lower_is_better is not None:
            extreme = min(means) if lower_is_better else max(means)
            best[metric] = fixed_point(extreme, digits)
    return best


def _note(runs: dict[str, dict[str, Estimate]], level: Number, legend: str) -> str:
    def span(numbers: Iterable[float], digits: int = 0) -> str:
        texts = dict.fromkeys(f"{x:.{digits}f}" for x in sorted(set(numbers)))
        smallest, *larger = texts
        return f"{smallest} to {larger[-1]}" if larger else smallest

    all_estimates = [estimate for run in runs.values() for estimate in run.values()]
    lists = [estimate.lists for estimate in all_estimates]
    parts = [f"{span(lists)} list{'' if set(lists) == {1} else 's'}"]
    # Equal weights give the number of lists but for rounding.
    if any(estimate.n_eff < 0.995 * estimate.lists for estimate in all_estimates):
        parts.append(f"n_eff {span((estimate.n_eff for estimate in all_estimates), 1)}")
    parts.append(f"{span(estimate.undefined for estimate in all_estimates)} undefined")
    return f"Mean and {100 * level:g} % interval; {', '.join(parts)}{legend}"


def _csv(runs: dict[str, dict[str, Estimate]]) -> str:
    columns = ("mean", "std_error", "low", "high", "lists", "undefined", "n_eff")
    rows = (
        [run, metric, *(str(getattr(estimate, column)) for column in columns)]
        for run, metrics in runs.items()
        for metric, estimate in metrics.items()
    )
    return csv_of(["run", "metric", *columns], rows)


# Returns the text of a header and rows.
Layout = Callable[[Sequence[str], Sequence[Sequence[str]]], str]


class _Style(NamedTuple):
    """The marks and the layout by which a format writes a table."""

    layout: Layout
    best: tuple[str, str]  # before and after the best mean
    not_best: tuple[str, str]
    legend: str  # what the note says of the best mean
    escape: Callable[[str], str]
    with_note: Callable[[str, str], str]


def _tabulated(name: str) -> Layout:
    """The layout of this name in the library tabulate."""

    def layout(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        tabulate = import_optional("tabulate", "jrm.table", "tables").tabulate
        return tabulate(rows, headers=header, tablefmt=name, disable_numparse=True)

    return layout


def _tabular(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A `tabular` of LaTeX with the rules of booktabs; numbers are aligned to the right."""
    lines = [" & ".join(row) + r" \\" for row in (header, *rows)]
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}} % needs \usepackage{{booktabs}}",
            *(r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"),
            r"\end{tabular}",
        ]
    )


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
        layout=_tabulated("simple"),
        best=("", "*"),
        not_best=("", " "),
        legend="; best is *",
        escape=lambda text: text,
        with_note=lambda table, note: f"{table}\n\n{note}",
    ),
    "markdown": _Style(
        layout=_tabulated("github"),
        best=("**", "**"),
        not_best=("", ""),
        legend=_BOLD,
        escape=_markdown,
        with_note=lambda table, note: f"{table}\n\n{note}",
    ),
    "latex": _Style(
        layout=_tabular,
        best=(r"\textbf{", "}"),
        not_best=("", ""),
        legend=_BOLD,
        escape=_latex,
        with_note=lambda table, note: (
            f"{table}\n\n\\smallskip\n{{\\footnotesize {_latex(note)}}}"
        ),
    ),
    "html": _Style(
        layout=_tabulated("unsafehtml"),
        best=("<b>", "</b>"),
        not_best=("", ""),
        legend=_BOLD,
        escape=html.escape,
        with_note=lambda table, note: table.replace(
            "<table>", f"<table>\n<caption>{note}</caption>", 1
        ),
    ),
}
