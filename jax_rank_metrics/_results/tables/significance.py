"""Marks of the means that differ from those of a baseline, beyond chance."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from jax_rank_metrics._calls.names import STATES
from jax_rank_metrics._inputs import kind_of
from jax_rank_metrics._results.comparisons.compare import compare as compare_runs
from jax_rank_metrics._results.comparisons.comparison import (
    Comparison,
    is_significant,
    method_of,
)
from jax_rank_metrics._results.comparisons.comparisons import Comparisons
from jax_rank_metrics._results.inference.prediction_powered import PredictionPowered
from jax_rank_metrics._results.systems.systems import Record, Systems
from jax_rank_metrics._results.systems.values import listing
from jax_rank_metrics._results.tables.estimates import Estimates, run_of
from jax_rank_metrics._states.state import State
from jax_rank_metrics._trec import metric_part

DAGGER = "†"
_SAME_VALUES = "pass the result of compare for the values in this table"


class Marks(NamedTuple):
    """The marks of cells, and what they mean.

    Attributes:
        of_cells: The marks of each run and metric that has any.
        letters: The letter that stands for each run, where all runs are compared.
        legend: What the marks mean; "" where nothing is compared.
    """

    of_cells: Mapping[tuple[Any, str], str]
    letters: Mapping[Hashable, str]
    legend: str


NO_MARKS = Marks({}, {}, "")


def marks_of(
    records: Sequence[Record],
    means: Estimates,
    comparisons: object,
    names: Sequence[Hashable],
    of_pairs: bool,
) -> Marks:
    """Returns the marks of the runs of a collection.

    Args:
        records: The values of all runs.
        means: The means of each run, by the names of metrics and cutoffs.
        comparisons: The name of the baseline, the names of several, or what `compare`
            returns; None for no marks.
        names: The names of the runs of all collections, each of which has a letter unless
            `comparisons` names those that have one.
        of_pairs: Whether runs are compared with several others, in any collection.

    Raises:
        ValueError: if there is no such baseline, or if the comparisons are of other runs
            or metrics.
        TypeError: if they are neither, or if runs that have to be compared hold states.
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
            "several, or the result of jrm.compare with a dict of runs"
        )
    # (("old", "new"), "mrr") of pairs, ("new", "mrr") of systems beside a baseline.
    in_table: dict[tuple[Any, str], Comparison] = {}
    for x in comparisons:
        sides: list[Any] = [x.baseline, x.system] if of_pairs else [x.system]
        metric = x.metric or ""
        if all(metric in means.get(run, ()) for run in sides):
            in_table[tuple(sides) if of_pairs else x.system, metric] = x
    if not in_table:
        cells = listing([(x.system, x.metric) for x in comparisons])
        raise ValueError(
            f"compare holds comparisons of {cells}, and none of them is a run and a metric "
            "of the results"
        )
    if of_pairs:
        for ((a, b), metric), comparison in in_table.items():
            _check_values(comparison, metric, a, b, means)
        pairs = {pair for pair, _ in in_table}
        count = len({run for pair in pairs for run in pair})
        if len(pairs) < count * (count - 1) // 2:  # of some baselines alone
            names = list(dict.fromkeys(a for (a, _), _ in in_table))
        return _marks_of_pairs(names, in_table)
    if baseline is None:
        baseline = _baseline_of(means, in_table)
        for (run, metric), comparison in in_table.items():
            _check_values(comparison, metric, baseline, run, means)
    # Comparisons may be with a run that the table leaves out.
    baseline = baseline or "the baseline"
    differing = {cell: DAGGER for cell, x in in_table.items() if is_significant(x)}
    legend = f"{DAGGER} {_relation(in_table, baseline)}"
    return Marks(differing, {}, f"{legend} {_how(in_table)}")


def _baseline_of(
    means: Estimates, comparisons: Mapping[tuple[Any, str], Comparison]
) -> Hashable:
    """Returns the run that all others are compared with: the only one without comparison.

    None if it is not in the table.
    """
    # Two runs without a comparison leave it open which of them is the baseline.
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
    means: Estimates,
) -> None:
    """Raises ValueError if a comparison is of other values than those of the table.

    Lists in which a metric is undefined may count in one and not in the other.

    Args:
        comparison: The comparison of run b with run a.
        metric: The name of the metric, with its cutoff.
        a: The baseline; None if it is not in the table.
        b: The other run.
        means: The means of each run.
    """
    sides = [means[run][metric] for run in (a, b) if run is not None]
    undefined = sum(mean.undefined for mean in sides)
    # Ratios may weigh other lists than the baseline; these are no win, tie or loss.
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
            f"lists, and the results are of {numbers}; {_SAME_VALUES}"
        )
    # The table shows geometric means of values whose differences are compared. With a
    # judge, differences have a λ of their own, and are not those of means.
    has_judge = comparison.judge is not None
    if a is None or undefined or has_judge or metric_part(metric) in STATES:
        return
    difference = sides[1].mean - sides[0].mean
    # Means may have been summed in float32, the difference is one of float64.
    tolerance = 1e-4 * max(abs(sides[0].mean), abs(sides[1].mean))
    if abs(difference - comparison.difference) > tolerance:
        raise ValueError(
            f"compare holds a difference of {comparison.difference:+.3g} between {b!r} and "
            f"its baseline in {metric!r}, and the means of {b!r} and {a!r} differ by "
            f"{difference:+.3g}; {_SAME_VALUES}, and the baseline among them"
        )


def is_of_names(compare: object) -> TypeGuard[Sequence[Hashable]]:
    """Whether these are the names of several baselines."""
    return isinstance(compare, list | tuple)


def _with_baselines(
    records: Sequence[Record], baselines: Sequence[Hashable]
) -> Comparisons:
    """Compares all runs with some of them."""
    runs = dict.fromkeys(map(run_of, records))
    unknown = [x for x in baselines if x not in runs or len(runs) < 2]
    if unknown or not baselines:
        known = "which are " + listing(list(runs))
        if "" in runs:
            known = "and results of the form {run: {metric: values}}"
        raise ValueError(
            f"compare is {listing(unknown) or '[]'}; pass the name of one of several runs, "
            f"{known}"
        )
    for record in records:
        if isinstance(record.source, State | PredictionPowered):
            raise TypeError(
                f"compare={baselines[0]!r} needs the values of every list, but "
                f"{record.name} is a {type(record.source).__name__}; pass what `measure` "
                "returns, or the result of jrm.compare"
            )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "lower is better")  # of which the table warns
        return compare_runs(Systems.of(records), pairs=baselines)


def _marks_of_pairs(
    runs: Sequence[Hashable], comparisons: Mapping[tuple[Any, str], Comparison]
) -> Marks:
    """Marks each cell with the letters of those `runs` that it differs from."""
    letters = dict(zip(runs, map(_letter, range(len(runs))), strict=True))
    marks: dict[tuple[Hashable, str], str] = {}
    for (pair, metric), comparison in comparisons.items():
        if is_significant(comparison):
            # Of a one-sided question, the pair the other way round was not asked.
            is_mutual = comparison.alternative == "two-sided"
            for opponent, run in (pair, pair[::-1])[: 1 + is_mutual]:
                cell = run, metric
                letter = letters.get(opponent, "")
                marks[cell] = "".join(sorted(marks.get(cell, "") + letter))
    kind = "capital" if all(map(str.isupper, letters.values())) else "letter"
    legend = f"a {kind}: {_relation(comparisons, 'the run that has it')}"
    return Marks(marks, letters, f"{legend} {_how(comparisons)}")


def _letter(index: int) -> str:
    """The capitals from A to Z, then the letters from a to z, and so on through Unicode.

    The small letters of a leaderboard say the opposite: who cannot be told apart.
    """
    return chr(ord("A") + index) if index < 26 else chr(ord("a") + index - 26)


def _relation(comparisons: Mapping[Any, Comparison], baseline: Hashable) -> str:
    """Returns what a mark says of its cell: `differs from bm25`."""
    comparison, *_ = comparisons.values()
    margin = "" if comparison.margin is None else f"{comparison.margin:g}"
    relation = {
        "two-sided": f"is within ±{margin} of" if margin else "differs from",
        "greater": f"is less than {margin} below" if margin else "is above",
        "less": f"is less than {margin} above" if margin else "is below",
    }[comparison.alternative]
    return f"{relation} {baseline}"


def _how(comparisons: Mapping[Any, Comparison]) -> str:
    """The test, its correction and the level: `(t test, Holm-corrected, p ≤ 0.05)`."""
    settings = dict.fromkeys(
        f"{method_of(comparison)}, p ≤ {1 - comparison.level:.3g}"
        for comparison in comparisons.values()
    )
    clusters = dict.fromkeys(x.clusters for x in comparisons.values() if x.clusters)
    if clusters:
        numbers = " or ".join(map(str, clusters))
        settings = {
            f"{' or '.join(settings)}; of {numbers} clusters, while intervals of means "
            "take lists as independent": None
        }
    return f"({' or '.join(settings)})"
