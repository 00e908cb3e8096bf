"""Tables of means, comparisons and leaderboards.

`table` chooses the contents and the format, `sheet_of_means` fills in means, and
`marks_of` marks the means that differ significantly from a baseline.
"""

import itertools
import math
import re
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np

from jax_rank_metrics._ground import inputs, messages, types
from jax_rank_metrics._ground.inputs import kind_of
from jax_rank_metrics._names import cutoff_names, directions
from jax_rank_metrics._values import remarks, state
from jax_rank_metrics._values.mean import Mean, kind_of_mean
from jax_rank_metrics._verdicts import sheets
from jax_rank_metrics._verdicts.comparisons import standings
from jax_rank_metrics._verdicts.comparisons.compare import compare as compare_runs
from jax_rank_metrics._verdicts.comparisons.comparisons import (
    Comparison,
    Comparisons,
    is_significant,
    method_of,
)
from jax_rank_metrics._verdicts.inference import judges
from jax_rank_metrics._verdicts.systems import reading
from jax_rank_metrics._verdicts.systems.list_values import listing
from jax_rank_metrics._verdicts.tables import estimates

Format = Literal["text", "markdown", "latex", "html", "csv", "json"]
Rows = Literal["runs", "metrics"]
# One baseline or several; or comparisons of runs, or a dict of them keyed by
# collection.
Baselines = str | Sequence[str] | Comparisons | Mapping[Any, Comparisons] | None
# The fields of an `Estimate`, in the order of the columns of CSV.
_FIELDS = (
    *("mean", "std_error", "low", "high", "lists", "undefined", "n_eff"),
    *("seeds", "other_lists"),
)
DAGGER = "†"
_SAME_VALUES = "pass the result of compare for the values in this table"


class Table(str):
    """The text of a table, which notebooks show as HTML."""

    _html: str | None = None

    def __repr__(self) -> str:
        """The text itself, so that a Python session shows the table without `print`."""
        return str(self)

    def _repr_html_(self) -> str | None:
        return self._html


def table(
    results: reading.Values | standings.Leaderboard | Comparisons | Comparison,
    *,
    compare: Baselines = None,
    format: Format = "text",
    level: types.Number = 0.95,
    method: types.IntervalMethod = "auto",
    digits: int = 3,
    lower: directions.Lower = (),
    rows: Rows | None = None,
    caption: str | None = None,
    label: str | None = None,
    signatures: Mapping[str, str] | None = None,
    undefined: types.Undefined | None = None,
    intervals: bool = True,
    stars: types.Number | Sequence[types.Number] = (),
    names: Mapping[str, str] | None = None,
) -> Table:
    r"""Writes means, comparisons or a leaderboard as a table, for people or for programs.

    For runs and metrics, a cell is the mean and its interval, `0.725 [0.284, 1.166]`. The
    interval may reach beyond the values that a metric can have. The best mean of a metric
    is bold, or has a `*` in text: the highest, or the lowest if lower values are better, as
    for `arp` and `fall_out`. No mean is marked for popularity and for counts such as
    `num_retrieved`, if ids show that the lists of runs differ, or if states have
    different numbers of lists, as groups do. Runs that print the same number share the
    mark. Neither the mark nor two intervals show that a difference is more than chance:
    the runs saw the same lists, so the differences in each list have to be tested. Pass
    `compare` to test them: means that differ significantly get a `†`, and the note
    names the test. The note below the means has the numbers of lists, and the effective
    number if their weights differ.

    For comparisons, a row is the difference and its interval, p, Cohen's d, wins, ties and
    losses; with `Seeds`, also the probability that a run of b is better than a run of
    a. The smallest p that random samples can give is printed as `≤ 1e-05`. For a
    leaderboard, a row holds a system, the groups of systems that cannot be told apart,
    the rank and the mean with their intervals, and the probability that the system is
    first.

    Args:
        results: A dict from runs to the results of `evaluate`, `measure` or
            `evaluate_users`, or the result of one run. Values of a metric are a state,
            a `PerList`, an array `[lists]` or `[lists, cutoffs]`, a pandas Series, a
            dict from list ids to numbers, `Seeds`, or a result of `prediction_powered`;
            a run may be a pandas DataFrame with a column for each metric. Each cutoff
            of a metric has its own mean in the table, under the name that it has in
            `compute(…, flat=True)`. Several collections,
            `{collection: {run: {metric: …}}}`, are shown side by side. Or pass
            `Systems`, whose tasks are collections; or the result of `compare` or
            `leaderboard`.
        compare: The name of the baseline, with which the other runs are compared by the
            defaults of `jrm.compare`; runs must then hold the values of every list, as
            `measure` returns them. Or a list of several baselines: each gets a capital
            letter, which marks the means that differ from the baseline's mean. Or the
            result of `jrm.compare` for the runs of this table, with any options; if it
            compares all pairs, each run gets a capital letter. For several collections,
            a dict from collections to such results. The means and numbers of lists of
            the comparisons must agree with the table.
        format: "text", "markdown", "latex" (with the rules of the LaTeX package booktabs
            and numbers aligned at the point; the note is as wide as the table), "html",
            "csv" or "json". Names are escaped as the format requires. CSV has a line
            for each mean, comparison or system, with all fields and digits. JSON has
            the same records, with null for numbers that are not finite; for a
            leaderboard it has the dict of `to_dict`.
        level: The probability with which the intervals should cover the mean, in (0, 1).
            Comparisons and leaderboards have a level of their own.
        method: The method of the intervals, see `Mean.confidence_interval`.
        digits: Number of digits of means and differences after the point.
        lower: Names of further metrics for which lower is better, as in the table or
            without their cutoff; or True for all.
        rows: "runs" for a row per run, "metrics" for a row per metric. None is "runs" for
            a dict of runs, and "metrics" for the result of a single run.
        caption: The caption, in LaTeX; with it, the table becomes a float, in a `table`
            environment.
        label: The label by which LaTeX refers to the table; it also makes the table a
            float.
        signatures: The signature of each metric by its name, such as `evaluation.signature`
            or the result of `joined.signature(metrics)`. Signatures are written below
            the table, and in the records of CSV and JSON. None leaves them out.
        undefined: How a list counts if its value is missing (NaN, None, NA, null) or
            its metric is undefined: "zero", "one", or "skip", which leaves it out. None is
            the choice that values were measured with, or else "zero"; missing values are
            then an error.
        intervals: If True, intervals are shown beside the means of runs; CSV and JSON
            have them in any case.
        stars: A level, or levels such as `(0.05, 0.01)`: a mean that differs from the
            baseline gets a `†` for each level that is at least its corrected p. Empty is
            a single level, 1 − the level of the comparison.
        names: A dict from names of metrics in the table to headings, as in
            `{"ndcg@10": "nDCG@10"}`; CSV and JSON keep the original names.

    Returns:
        A string; notebooks show it as a table.

    Raises:
        TypeError: if results hold anything else, or if `compare` needs per-list values and
            runs hold states.
        ValueError: if values are missing and `undefined` is None, or if `undefined` is
            passed for means; if a state is stacked, an option is unknown, or `lower`
            names no metric; if the method is "wilson" and a metric is not 0 or 1 in
            every list; if `compare` names no run, or holds comparisons of other runs,
            metrics or values; if there is a caption or a label, but the format is not
            "latex"; if no metric of the table has a signature, or signatures have
            another `undefined`; if `names` holds an unknown metric; if `stars` is
            passed without a single baseline.

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
    inputs.option("format", format, Format)
    if rows is not None:
        inputs.option("rows", rows, Rows)
    if isinstance(digits, bool) or not isinstance(digits, int) or digits < 0:
        raise ValueError(f"digits is {digits!r}; pass an int of at least 0")
    if format != "latex" and (caption is not None or label is not None):
        raise ValueError(
            f"caption and label are for LaTeX, but format is {format!r}; pass "
            "format='latex', or leave them out"
        )
    if isinstance(results, Comparison):
        results = Comparisons([results])
    is_of_means = not isinstance(results, standings.Leaderboard | Comparisons)
    inputs.check_undefined(undefined)
    for option, value in {
        "compare": compare,
        "undefined": undefined,
        "intervals=False": None if intervals else False,
        "stars": np.size(stars) or None,
    }.items():
        if value is not None and not is_of_means:
            raise ValueError(
                f"{option} is for the results of runs, but results is {kind_of(results)}; "
                "leave that option out"
            )
    if isinstance(results, standings.Leaderboard):
        sheet = results._sheet(digits)
    elif isinstance(results, Comparisons):
        sheet = results.sheet(digits)
    else:
        sheet = sheet_of_means(
            results,
            undefined=undefined,
            intervals=intervals,
            compare=compare,
            level=level,
            method=method,
            digits=digits,
            lower=lower,
            by_run=None if rows is None else rows == "runs",
            stars=stars,
        )
    sheet = sheet.with_names(names or {})
    if signatures and undefined is not None:
        first = re.compile(r"\|undefined:(\w+)")
        said = {
            first.findall(f"{signature}|undefined:zero")[0]
            for signature in signatures.values()
        }
        if said != {undefined}:
            raise ValueError(
                f"undefined is {undefined!r}, but signatures say {' and '.join(said)}; "
                "leave undefined or signatures out"
            )
    if signatures:
        sheet = sheet.with_signatures(cutoff_names.by_label(signatures))
    # Names may hold line breaks, which would break rows.
    sheet = sheet.on_one_line()
    if format == "latex":
        return Table(sheets.as_latex(sheet, caption, label))
    # A notebook shows HTML, even for text in Markdown.
    text = Table(_WRITERS[format](sheet))
    # A notebook shows CSV and JSON as text, because they are for files.
    text._html = None if format in ("csv", "json") else sheets.as_html(sheet)
    return text


_WRITERS = {
    "text": sheets.as_text,
    "markdown": sheets.as_markdown,
    "html": sheets.as_html,
    "csv": lambda sheet: sheets.csv_of_records(sheet.records),
    "json": lambda sheet: sheets.json_of(sheet.document or sheet.records),
}


class Marks(NamedTuple):
    """The marks of cells, and their legend.

    Attributes:
        of_cells: A dict from run and metric to marks, for cells that have marks.
        letters: The letter of each run with which other runs are compared, if there are
            several baselines or all pairs.
        legend: The meaning of the marks; "" if nothing is compared.
    """

    of_cells: Mapping[tuple[Any, str], str]
    letters: Mapping[Hashable, str]
    legend: str


NO_MARKS = Marks({}, {}, "")


class _Collection(NamedTuple):
    """The means of a collection of lists; `name` is "" without collections."""

    name: str
    runs: estimates.Estimates
    metrics: list[str]
    best: dict[str, str]  # the best mean of each metric, as it is printed
    marks: Marks
    is_mixed: bool  # True if runs have different lists, so that no mean is the best

    def cell(self, run: Hashable, metric: str, digits: int) -> sheets.Cell | None:
        """Returns the cell of a run and a metric; None if the run lacks the metric."""
        if metric not in self.runs.get(run, {}):
            return None
        cell = sheets.number_with_interval(*self.runs[run][metric][:3], digits)
        return cell._replace(
            is_best=cell.number == self.best.get(metric),
            marks=self.marks.of_cells.get((run, metric), ""),
        )


def sheet_of_means(
    results: reading.Values,
    *,
    compare: Baselines = None,
    level: types.Number = 0.95,
    method: types.IntervalMethod = "auto",
    digits: int = 3,
    lower: directions.Lower = (),
    by_run: bool | None = None,
    undefined: types.Undefined | None = None,
    intervals: bool = True,
    stars: types.Number | Sequence[types.Number] = (),
) -> sheets.Sheet:
    """Returns the contents of a table of means; `table` documents the arguments.

    Args:
        results: The results of runs, of one run, or of several collections.
        compare: One baseline or several; or comparisons of runs, or a dict of them
            keyed by collection.
        level: The level of the intervals.
        method: The method of the intervals.
        digits: Number of digits after the point.
        lower: Names of further metrics whose lower values are better.
        by_run: True for a row per run, False for a row per metric; None is True for a dict
            of runs.
        undefined: The choice for undefined and missing values.
        intervals: True if intervals are shown beside means.
        stars: A level of marks, or several.
    """
    given: list[Any] = np.ravel(stars).tolist()
    levels = sorted(
        (inputs.open_fraction("stars", star) for star in given), reverse=True
    )
    by_collection = estimates.read_collections(results, undefined=undefined)
    # Without collections, the only key is None.
    is_by_collection = None not in by_collection
    baselines: Mapping[Any, object] = dict.fromkeys(by_collection, compare)
    if is_by_collection and isinstance(compare, Comparisons):
        tasks = dict.fromkeys(row.task for row in compare)
        compare = {task: compare.select(task=task) for task in tasks}
    if is_by_collection and isinstance(compare, Mapping):
        baselines = compare
    if baselines.keys() - by_collection:
        raise ValueError(
            f"compare holds {listing(list(baselines))}, but these are not the collections "
            "of results; pass a dict with the comparisons of each collection: "
            f"{listing(list(by_collection))}"
        )
    are_of_pairs = any(
        is_of_names(side) or (isinstance(side, Comparisons) and side.are_of_pairs)
        for side in baselines.values()
    )
    if levels and (compare is None or are_of_pairs):
        raise ValueError(
            "stars are for one baseline; pass the name of the baseline as compare"
        )
    means = {
        name: estimates.estimates_of(records, level, method)
        for name, records in by_collection.items()
    }
    runs = list(dict.fromkeys(run for run_means in means.values() for run in run_means))
    collections, zeros = [], []
    for name, records in by_collection.items():
        run_means = means[name]
        metrics = list(dict.fromkeys(itertools.chain(*run_means.values())))
        marks = marks_of(
            records, run_means, baselines.get(name), runs, are_of_pairs, levels
        )
        # Means over different lists cannot be compared, so there is no best mean.
        is_mixed = estimates.have_other_lists(records)
        best = {} if is_mixed else _best(run_means, metrics, lower, digits)
        title = "" if name is None else str(name)
        collections.append(
            _Collection(title, run_means, metrics, best, marks, is_mixed)
        )
        zeros += [((record.metric,), _zero_counts(record)) for record in records]
    all_records = [*itertools.chain(*by_collection.values())]
    holds_states = any(isinstance(record.source, Mean) for record in all_records)
    directions.warn_of_zeros(zeros, lower, holds_states, stacklevel=4)
    keys = [(part, metric) for part in collections for metric in part.metrics]
    directions.check_lower(lower, [metric for _, metric in keys])
    tie_remarks = dict.fromkeys(
        f"{record.system}: {remark}" if record.system else remark
        for record in all_records
        for remark in record.remarks
        if remark.startswith(remarks.TIED)
    )
    # A run has the same letter in all collections.
    all_marks = [part.marks for part in collections]
    letters = {run: mark for marks in all_marks for run, mark in marks.letters.items()}
    titles = {
        run: f"{run} ({letters[run]})" if run in letters else str(run) for run in runs
    }
    rows = [[part.cell(run, metric, digits) for part, metric in keys] for run in runs]
    if not intervals:
        rows = [[cell and cell._replace(interval=None) for cell in row] for row in rows]
    if "" not in runs if by_run is None else by_run:
        name_headings = ["run"]
        headings = [(part.name, metric) for part, metric in keys]
        names = [[titles[run]] for run in runs]
    else:
        name_headings = ["collection", "metric"] if is_by_collection else ["metric"]
        headings = [("", titles[run]) for run in runs]
        # Without collections, rows have the name of the metric alone.
        names = [[part.name, metric][not is_by_collection :] for part, metric in keys]
        rows = [list(row) for row in zip(*rows, strict=True)]
    return sheets.Sheet(
        name_headings,
        [(group, name or "mean") for group, name in headings],
        names,
        rows,
        "; ".join([_note(collections, level if intervals else None), *tie_remarks]),
        "; ".join(dict.fromkeys(marks.legend for marks in all_marks if marks.legend)),
        _records(collections, is_by_collection),
    )


def _zero_counts(record: reading.Record) -> tuple[int, int]:
    """Returns how many lists are undefined and count as 0, and how many lists count.

    For a state, the first number is an upper bound, because a state does not tell
    whether undefined lists count.
    """
    if record.is_on_this_host:
        return record.lists.zero_counts()
    if not isinstance(record.source, Mean) or state.stacked_shape(record.source):
        return 0, 0
    return int(record.source.undefined), int(record.source.lists)


def _best(
    runs: estimates.Estimates,
    metrics: Iterable[str],
    lower: directions.Lower,
    digits: int,
) -> dict[str, str]:
    """Returns the best mean of each metric, as it is printed; empty for a single run."""
    best = {}
    for metric in metrics:
        means = [run[metric].mean for run in runs.values() if metric in run]
        lower_is_better = directions.is_lower_better((metric,), lower)
        # If any mean is NaN or infinite, the best mean is not known.
        is_known = bool(means) and all(map(math.isfinite, means))
        if len(runs) > 1 and is_known and lower_is_better is not None:
            # Compare printed numbers, so that runs with the same number share the mark.
            extreme = min(means) if lower_is_better else max(means)
            best[metric] = sheets.fixed_point(extreme, digits)
    return best


def _note(collections: Iterable[_Collection], level: types.Number | None) -> str:
    """Returns the note: the level of intervals, if any, and the numbers of lists."""

    def span(numbers: Iterable[float], digits: int = 0) -> str:
        texts = dict.fromkeys(f"{number:.{digits}f}" for number in sorted(set(numbers)))
        # Numbers that are printed the same are written once: "9.0", not "9.0 to 9.0".
        smallest, *larger = texts
        return f"{smallest} to {larger[-1]}" if larger else smallest

    parts = ["Mean" if level is None else f"Mean and {100 * level:g} % interval"]
    for collection in collections:
        means = [mean for run in collection.runs.values() for mean in run.values()]
        lists = [mean.lists for mean in means]
        counts = [f"{span(lists)} list{'' if set(lists) == {1} else 's'}"]
        # For equal weights, n_eff is the number of lists up to rounding.
        if any(mean.n_eff < 0.995 * mean.lists for mean in means):
            counts.append(f"n_eff {span((mean.n_eff for mean in means), 1)}")
        if seeds := [mean.seeds for mean in means if mean.seeds is not None]:
            counts.append(f"{span(seeds)} training seed{'s' * (set(seeds) != {1})}")
        judge_counts = [mean.other_lists for mean in means]
        if judged := [number for number in judge_counts if number is not None]:
            counts.append(f"{span(judged)} of the judge alone")
        counts.append(f"{span(mean.undefined for mean in means)} undefined")
        name = f"{collection.name}: " if collection.name else ""
        parts.append(f"{name}{', '.join(counts)}")
        if collection.is_mixed:
            parts.append(f"{name}runs have different lists, so no mean is the best")
    return "; ".join(parts)


def _records(
    collections: Sequence[_Collection], is_by_collection: bool
) -> list[dict[str, Any]]:
    records = [
        {
            "collection": collection.name,
            "run": run,
            "metric": metric,
            **{field: getattr(mean, field) for field in _FIELDS},
            "marks": collection.marks.of_cells.get((run, metric), ""),
        }
        for collection in collections
        for run, means in collection.runs.items()
        for metric, mean in means.items()
    ]
    # Leave out columns that would be empty in all rows.
    columns = {
        "collection": is_by_collection,
        "marks": any(part.marks.legend for part in collections),
        **{
            field: any(record[field] is not None for record in records)
            for field in ("seeds", "other_lists")
        },
    }
    return [{key: row[key] for key in row if columns.get(key, True)} for row in records]


def marks_of(
    records: Sequence[reading.Record],
    means: estimates.Estimates,
    comparisons: object,
    names: Sequence[Hashable],
    of_pairs: bool,
    stars: Sequence[float] = (),
) -> Marks:
    """Returns the marks of the runs of a collection.

    Args:
        records: The values of all runs.
        means: A dict from runs to dicts from names, such as "recall@5", to means.
        comparisons: The name of the baseline, a list of such names, or the result of
            `compare`; None for no marks.
        names: The names of the runs of all collections. Each run gets a letter, unless
            only some runs are baselines; then only the baselines get letters.
        of_pairs: True if, in any collection, runs are compared with several others.
        stars: The levels, with one mark for each level; empty for the level of the
            comparisons.

    Raises:
        ValueError: if there is no such baseline, or if the comparisons hold other runs,
            metrics or values.
        TypeError: if `comparisons` is anything else, or if runs that have to be compared
            hold states.
    """
    if comparisons is None:
        return NO_MARKS
    baseline = comparisons if isinstance(comparisons, str) else None
    if baseline is not None:
        comparisons = _with_baselines(records, [baseline])
    elif is_of_names(comparisons):
        names = comparisons
        comparisons = _with_baselines(records, names)
    if not isinstance(comparisons, Comparisons):
        raise TypeError(
            f"compare is {kind_of(comparisons)}; pass the name of the baseline, a list of "
            "several names, or the result of jrm.compare with a dict of runs"
        )
    # Keys are (("old", "new"), "mrr") for pairs, and ("new", "mrr") for a single
    # baseline.
    in_table: dict[tuple[Any, str], Comparison] = {}
    for row in comparisons:
        sides: list[Any] = [row.baseline, row.system] if of_pairs else [row.system]
        metric = row.metric or ""
        if all(metric in means.get(run, ()) for run in sides):
            in_table[tuple(sides) if of_pairs else row.system, metric] = row
    if not in_table:
        cells = listing([(row.system, row.metric) for row in comparisons])
        raise ValueError(
            f"compare holds comparisons of {cells}, and none of them is a run and a metric "
            "of the results; pass comparisons of these runs"
        )
    if of_pairs:
        for ((a, b), metric), comparison in in_table.items():
            _check_values(comparison, metric, a, b, means)
        pairs = {pair for pair, _ in in_table}
        count = len({run for pair in pairs for run in pair})
        if len(pairs) < count * (count - 1) // 2:  # only some runs are baselines
            names = list(dict.fromkeys(a for (a, _), _ in in_table))
        return _marks_of_pairs(names, in_table)
    if baseline is None:
        baseline = _baseline_of(means, in_table)
        for (run, metric), comparison in in_table.items():
            _check_values(comparison, metric, baseline, run, means)
    # The baseline of the comparisons may be absent from the table.
    baseline = baseline or "the baseline"
    differing = {
        cell: DAGGER
        * sum(row.p_corrected <= level for level in stars or [1 - row.level])
        for cell, row in in_table.items()
    }
    marks = ", ".join(DAGGER * i for i, _ in enumerate(stars or [0], 1))
    levels = ", ".join(f"{level:g}" for level in stars)
    legend = f"{marks} {_relation(in_table, baseline)}"
    return Marks(differing, {}, f"{legend} {_how(in_table, levels)}")


def _baseline_of(
    means: estimates.Estimates, comparisons: Mapping[tuple[Any, str], Comparison]
) -> Hashable:
    """Returns the run with which all others are compared; None if the table lacks it.

    It is the only run without a comparison.
    """
    # If two runs have no comparison, either of them may be the baseline.
    compared = {run for run, _ in comparisons}
    baseline, *further = [run for run in means if run not in compared] or [None]
    if baseline is None or further:
        return None
    has_all = all(metric in means[baseline] for _, metric in comparisons)
    return baseline if has_all else None


def _check_values(
    comparison: Comparison,
    metric: str,
    a: Hashable,
    b: Hashable,
    means: estimates.Estimates,
) -> None:
    """Raises ValueError if a comparison and the table have different values.

    Lists in which a metric is undefined may count in only one of the two.

    Args:
        comparison: The comparison of run b with run a.
        metric: The name of the metric, with its cutoff.
        a: The baseline; None if it is not in the table.
        b: The other run.
        means: The means of each run.
    """
    sides = [means[run][metric] for run in (a, b) if run is not None]
    undefined = sum(mean.undefined for mean in sides)
    # A list that has a weight in only one of two ratios is not a win, tie or loss.
    paired = comparison.ties + (comparison.wins or 0) + (comparison.losses or 0)
    is_other = any(
        paired > mean.lists + mean.undefined
        or (a is not None and comparison.lists + undefined < mean.lists)
        for mean in sides
    )
    if is_other:
        numbers = " and ".join(str(mean.lists) for mean in sides)
        raise ValueError(
            f"compare holds a comparison of {b!r} in {metric!r} over {comparison.lists} "
            f"lists, but the results are of {numbers}; {_SAME_VALUES}"
        )
    # The difference of means may differ from the compared difference: for a geometric
    # mean, `compare` takes differences of values, and with a judge, differences have
    # their own λ.
    has_judge = comparison.judge is not None
    if a is None or undefined or has_judge or kind_of_mean(metric) is not Mean:
        return
    difference = sides[1].mean - sides[0].mean
    # Means may have been summed in float32, but the difference in float64.
    tolerance = 1e-4 * max(abs(sides[0].mean), abs(sides[1].mean))
    if abs(difference - comparison.difference) > tolerance:
        raise ValueError(
            f"compare holds a difference of {comparison.difference:+.3g} between {b!r} and "
            f"its baseline in {metric!r}, but the means of {b!r} and {a!r} differ by "
            f"{difference:+.3g}; {_SAME_VALUES}, including the baseline"
        )


def is_of_names(compare: object) -> TypeGuard[Sequence[Hashable]]:
    """True for a list or tuple, which holds the names of several baselines."""
    return isinstance(compare, list | tuple)


@messages.short_errors()
def _with_baselines(
    records: Sequence[reading.Record], baselines: Sequence[Hashable]
) -> Comparisons:
    """Compares all runs with each of the baselines."""
    runs = dict.fromkeys(map(estimates.run_of, records))
    unknown = [name for name in baselines if name not in runs or len(runs) < 2]
    if unknown or not baselines:
        known = "which are " + listing(list(runs))
        if "" in runs:
            known = "and results of the form {run: {metric: values}}"
        raise ValueError(
            f"compare is {listing(unknown) or '[]'}; pass the name of one of several runs, "
            f"{known}"
        )
    for record in records:
        if isinstance(record.source, state.State | judges.PredictionPowered):
            raise TypeError(
                f"compare={baselines[0]!r} needs the values of every list, but "
                f"{record.name} is a {type(record.source).__name__}; pass what `measure` "
                "returns as results, or pass the result of jrm.compare as compare"
            )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "lower is better")  # the table warns itself
        return compare_runs(reading.Systems.of(records), pairs=baselines)


def _marks_of_pairs(
    runs: Sequence[Hashable], comparisons: Mapping[tuple[Any, str], Comparison]
) -> Marks:
    """Marks each cell with the letters of the `runs` that it differs from."""
    letters = dict(zip(runs, map(_letter, range(len(runs))), strict=True))
    marks: dict[tuple[Hashable, str], str] = {}
    for (pair, metric), comparison in comparisons.items():
        if is_significant(comparison):
            # A one-sided comparison says nothing about the pair in the other order.
            is_mutual = comparison.alternative == "two-sided"
            for opponent, run in (pair, pair[::-1])[: 1 + is_mutual]:
                cell = run, metric
                letter = letters.get(opponent, "")
                marks[cell] = "".join(sorted(marks.get(cell, "") + letter))
    kind = "capital" if all(map(str.isupper, letters.values())) else "letter"
    legend = f"a {kind}: {_relation(comparisons, 'the run that has it')}"
    return Marks(marks, letters, f"{legend} {_how(comparisons)}")


def _letter(index: int) -> str:
    """Returns A to Z, then a to z, and further characters of Unicode.

    A leaderboard uses small letters for the opposite: systems that cannot be told
    apart.
    """
    return chr(ord("A") + index) if index < 26 else chr(ord("a") + index - 26)


def _relation(comparisons: Mapping[Any, Comparison], baseline: Hashable) -> str:
    """Returns what a mark means, such as `differs from bm25`."""
    comparison, *_ = comparisons.values()
    margin = "" if comparison.margin is None else f"{comparison.margin:g}"
    relation = {
        "two-sided": f"is within ±{margin} of" if margin else "differs from",
        "greater": f"is less than {margin} below" if margin else "is above",
        "less": f"is less than {margin} above" if margin else "is below",
    }[comparison.alternative]
    return f"{relation} {baseline}"


def _how(comparisons: Mapping[Any, Comparison], levels: str = "") -> str:
    """Returns the test and the levels: `(t test, Holm-corrected, p ≤ 0.05)`."""
    settings = dict.fromkeys(
        f"{method_of(comparison)}, p ≤ {levels or f'{1 - comparison.level:.3g}'}"
        for comparison in comparisons.values()
    )
    counts = (comparison.clusters for comparison in comparisons.values())
    clusters = dict.fromkeys(filter(None, counts))
    if clusters:
        numbers = " or ".join(map(str, clusters))
        settings = {
            f"{' or '.join(settings)}; of {numbers} clusters, while intervals of means "
            "take lists as independent": None
        }
    return f"({' or '.join(settings)})"
