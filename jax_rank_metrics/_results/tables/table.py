"""Tables of means, comparisons and leaderboards."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from jax_rank_metrics import _inputs
from jax_rank_metrics._inputs import kind_of
from jax_rank_metrics._results.comparisons.comparison import Comparison
from jax_rank_metrics._results.comparisons.comparisons import (
    Comparisons,
)
from jax_rank_metrics._results.leaderboards.standings import Leaderboard
from jax_rank_metrics._results.sheets.export import csv_of_records, json_of
from jax_rank_metrics._results.sheets.latex import as_latex
from jax_rank_metrics._results.sheets.layouts import as_html, as_markdown, as_text
from jax_rank_metrics._results.systems.direction import Lower
from jax_rank_metrics._results.systems.systems import Values
from jax_rank_metrics._results.tables.mean_table import sheet_of_means
from jax_rank_metrics._types import IntervalMethod, Number

Format = Literal["text", "markdown", "latex", "html", "csv", "json"]
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
    results: Values | Leaderboard | Comparisons | Comparison,
    *,
    compare: str
    | Sequence[str]
    | Comparisons
    | Mapping[Any, Comparisons]
    | None = None,
    format: Format = "text",
    level: Number = 0.95,
    method: IntervalMethod = "auto",
    digits: int = 3,
    lower: Lower = (),
    rows: Rows | None = None,
    caption: str | None = None,
    label: str | None = None,
) -> Table:
    r"""Writes means, comparisons or a leaderboard as a table, for people or for programs.

    Of runs and metrics, a cell is the mean and its interval, `0.725 [0.284, 1.166]`, which
    is not cut where it reaches beyond the values that a metric can have. The
    best mean of a metric is bold, or has a `*` in text: the highest, or the lowest of
    metrics such as `arp` and `fall_out` that say so; counts such as `num_retrieved`, and
    popularity, have no best, and neither have runs whose ids say that their lists differ,
    or states of different numbers of lists, as those of groups.
    Runs that print the same number share the mark. The mark does not say that a
    difference is more than chance, and neither do two intervals: the runs saw the same
    lists, so test the difference of each list. `compare` does, and marks what it finds
    with `†`; the note says what was tested, and how. Below the means, the note has the
    numbers of lists, and the effective number where their weights differ.

    Of comparisons, a row is the difference and its interval, p, Cohen's d, wins, ties and
    losses; with `Seeds`, also the probability that a run of b is better than one of a. A p
    that random samples cannot make smaller is printed as `≤ 1e-05`. Of a leaderboard, a
    row is a system, the group of those that it cannot be told apart from, its rank and its
    mean with their intervals, and the probability that it is first.

    Args:
        results: A dict of runs to the results of `evaluate`, `measure` or
            `evaluate_users`, or the result of one run. Values of a metric are a state, a
            `PerList`, an array `[lists]` or `[lists, cutoffs]`, a pandas Series, a dict of
            list ids to numbers, `Seeds`, or what `prediction_powered` returns; a run may
            be a pandas DataFrame with a column for each metric. Each cutoff of a metric
            has its own mean in the table, under the name that `compute(…, flat=True)` gives
            it. Several collections, `{collection: {run: {metric: …}}}`, stand side by side.
            Or `Systems`, whose tasks are collections; or what `compare` or `leaderboard`
            returns.
        compare: The name of the run with which the others are compared, by the defaults
            of `compare`; runs must then hold the values of every list, as `measure` gives
            them. Or a list of several such baselines, each of which gets a capital, which
            marks the means that differ from its own. Or the result of `jrm.compare` for
            the runs of this table, whichever its options; of all pairs, each run gets a
            capital. Of several collections, a dict of such results by collection. It has
            to be of the values of this table, by its means and numbers of lists.
        format: "text", "markdown", "latex" (with the rules of the LaTeX package booktabs
            and numbers aligned at the point; the note is as wide as the table), "html",
            "csv" or "json". Names are escaped as the format requires. CSV has a line for
            each mean, comparison or system, with all fields and digits; JSON the same
            records, with null for numbers that are not finite, or the dict of a
            leaderboard.
        level: The probability with which the intervals should cover the mean, in (0, 1).
            Comparisons and leaderboards have a level of their own.
        method: How intervals are made, see `Mean.confidence_interval`.
        digits: Number of digits of means and differences after the point.
        lower: Names of further metrics of which lower values are better, as the table
            writes them or without their cutoff; or True for all.
        rows: "runs" for a row per run, "metrics" for a row per metric. None is "runs" for
            a dict of runs, and "metrics" for the result of a single run.
        caption: LaTeX of a caption; the table is then a float, a `table`.
        label: The name by which the LaTeX of a paper refers to the table; a float, too.

    Returns:
        A string, which notebooks show as a table.

    Raises:
        TypeError: if results hold anything but these, or if runs are to be compared that
            hold states instead of values of lists.
        ValueError: if a state is stacked, an option is unknown, or `lower` names no
            metric; if the method is "wilson" and a metric is not 0 or 1 in every list; if
            `compare` names no run, or is of other runs, metrics or values; if there is a
            caption or a label, and the format is not "latex".

    >>> bm25 = {"q1": 0.1, "q2": 0.9, "q3": 0.2, "q4": 0.3, "q5": 0.2, "q6": 0.1}
    >>> mine = {"q1": 0.6, "q2": 1.0, "q3": 0.5, "q4": 0.9, "q5": 0.5, "q6": 0.2}
    >>> runs = {"bm25": {"mrr": bm25}, "mine": {"mrr": mine}}
    >>> print(table(runs, compare="bm25").replace("; ", "\n"))
    run   mrr
    ----  -----------------------
    bm25  0.300   [-0.018, 0.618]
    mine  0.617*† [0.310, 0.924]
    <BLANKLINE>
    Mean and 95 % interval
    6 lists, 0 undefined
    best is *
    † differs from bm25 (permutation test, Holm-corrected, p ≤ 0.05)
    >>> print(table(runs, format="csv", level=0.5).splitlines()[0])
    run,metric,mean,std_error,low,high,lists,undefined,n_eff
    """
    _inputs.option("format", format, Format)
    if rows is not None:
        _inputs.option("rows", rows, Rows)
    if isinstance(digits, bool) or not isinstance(digits, int) or digits < 0:
        raise ValueError(f"digits is {digits!r}; pass an int of at least 0")
    if format != "latex" and (caption is not None or label is not None):
        raise ValueError(f"caption and label are for LaTeX, and format is {format!r}")
    if isinstance(results, Comparison):
        results = Comparisons([results])
    is_of_means = not isinstance(results, Leaderboard | Comparisons)
    if compare is not None and not is_of_means:
        raise ValueError(
            f"compare is for the results of runs, and these are a {kind_of(results)}"
        )
    if isinstance(results, Leaderboard):
        sheet = results._sheet(digits)
    elif isinstance(results, Comparisons):
        sheet = results.sheet(digits)
    else:
        sheet = sheet_of_means(
            results,
            compare=compare,
            level=level,
            method=method,
            digits=digits,
            lower=lower,
            by_run=None if rows is None else rows == "runs",
        )
    # Names may hold line breaks, which would break rows.
    sheet = sheet.on_one_line()
    if format == "latex":
        return Table(as_latex(sheet, caption, label))
    # A notebook shows HTML, whichever format the text has.
    text = Table(_WRITERS[format](sheet))
    # CSV and JSON are asked for to be saved.
    text._html = None if format in ("csv", "json") else as_html(sheet)
    return text


_WRITERS = {
    "text": as_text,
    "markdown": as_markdown,
    "html": as_html,
    "csv": lambda sheet: csv_of_records(sheet.records),
    "json": lambda sheet: json_of(sheet.document or sheet.records),
}
