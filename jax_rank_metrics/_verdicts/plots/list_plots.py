"""Plots of per-list values: distributions, and differences of two systems."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import random

from jax_rank_metrics._ground import types
from jax_rank_metrics._names import directions
from jax_rank_metrics._values import intervals
from jax_rank_metrics._verdicts.comparisons import comparisons
from jax_rank_metrics._verdicts.comparisons.outcomes import Question, Subject, compared
from jax_rank_metrics._verdicts.plots import drawing
from jax_rank_metrics._verdicts.sheets import count_text, fixed_point
from jax_rank_metrics._verdicts.systems import reading, seeds
from jax_rank_metrics._verdicts.systems.differences import Differences
from jax_rank_metrics._verdicts.systems.list_values import ListValues, in_one_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def differences(
    a: reading.Values,
    b: reading.Values | None = None,
    *,
    names: tuple[str, str] | None = None,
    metric: str | None = None,
    lower: bool = False,
    ids: tuple[Any, Any] | None = None,
    level: types.Number = 0.95,
    ax: "Axes | None" = None,
) -> "Axes":
    """The difference b − a of every list, the largest first, and the mean difference.

    The mean has the interval and the p that `compare` gives with the permutation test.
    Undefined values count as `PerList.undefined` says, by default as 0. For `Seeds`,
    the values are means over seeds, and the interval and p are about the training
    procedures, as in `compare`.

    Args:
        a: The values of a metric at one cutoff, as for `compare`; or the values of several
            metrics, if `metric` names one.
        b: The values of a second system for the same lists. None takes both systems
            from a, which is then a dict of two systems.
        names: The names of the two systems. None takes their names in the dict, or else
            ("a", "b").
        metric: The name of the metric, such as "arp@10". The name tells which direction
            is better; without it, the legend says only which system is higher.
        lower: True if lower values of your own metric are better.
        ids: How lists are paired, as for `compare`.
        level: The probability with which the band should cover the mean difference.
        ax: The `Axes` to draw on.

    Raises:
        TypeError: if a or b holds no per-list values. (`forest` draws a `Comparison`.)
        ValueError: if there is no b, and a is not a dict of two systems; if lists
            cannot be paired, or have different weights in a and b, as ratios may have;
            if values have several cutoffs; if no list counts; if `Seeds` have fewer
            than three seeds.
    """
    if isinstance(a, comparisons.Comparison):
        raise TypeError(
            "a is a Comparison, which no longer holds the values of lists; pass the values "
            "of both systems, or the comparison to plots.forest"
        )
    if b is None:
        holds_systems = isinstance(a, reading.Systems) or reading.is_nested(a)
        records_of_a = (
            reading.read(a, "a", ("system", "metric")) if holds_systems else []
        )
        by_name = reading.by_system(records_of_a)
        if len(by_name) != 2:
            raise ValueError("b is missing; pass b, or a dict of two systems as a")
        first, second = map(str, by_name)
        names = names or (first, second)
        records = [list(by_metric.values()) for by_metric in by_name.values()]
    else:
        records = [reading.read(a, "a", ("metric",)), reading.read(b, "b", ("metric",))]
    names = names or ("a", "b")
    lists_a, lists_b = (
        _lists_of_metric(side, name, metric)
        for side, name in zip(records, ("a", "b"), strict=True)
    )
    seeds.check_seed_counts((lists_a, lists_b))
    list_differences = Differences.of_pairs(in_one_order((lists_a, lists_b), ids), None)
    if list_differences.are_ratios.any():
        raise ValueError(
            "a and b are ratios whose weights differ, so their difference is not a mean "
            "over lists; pass compare(a, b) to plots.forest"
        )
    counts = list_differences.weights[:, 0] > 0
    if not counts.any():
        raise ValueError(
            "a and b have no list that counts; pass lists with a weight above 0"
        )
    direction = directions.is_lower_better((metric,), lower)
    question = Question(random.key(0), 100_000, intervals.checked_level(level))
    (comparison,) = compared(list_differences, [Subject(direction)], question)
    ax = drawing.axes(ax)
    heights = np.array(sorted(list_differences.values[counts, 0], reverse=True))
    edges = np.arange(heights.size + 1)  # between the bars, one for each list
    word = "better" if direction is not None and (metric or lower) else "higher"
    # If lower is better, a wins the lists in which b − a is above 0.
    first_wins = heights > 0 if direction and word == "better" else heights < 0
    bars = ((first_wins, names[0]), (~first_wins & (heights != 0), names[1]))
    for (side, name), colour in zip(bars, drawing.COLOURS[:2], strict=True):
        # Draw a single outline, because vector graphics would contain each of thousands
        # of bars.
        ax.stairs(
            np.where(side, heights, 0),
            edges,
            fill=True,
            color=colour,
            label=drawing.label(f"{name} {word}: {count_text(side.sum(), 'list')}"),
        )
    # Bars of height 0 cannot be seen, so the legend counts them.
    ax.plot([], [], " ", label=f"equal: {count_text((heights == 0).sum(), 'list')}")
    ax.axhline(0, color=drawing.foreground(ax), lw=0.8)
    mean, low, high = comparison.difference, comparison.low, comparison.high
    label = f"mean {fixed_point(mean, 3, sign='+')}, {comparisons.p_text(comparison)}"
    ax.axhline(mean, color=drawing.foreground(ax), lw=1.2, ls="--", label=label)
    if np.isfinite(low):  # a single list has no interval
        ends = ", ".join(fixed_point(end, 3, sign="+") for end in (low, high))
        label = f"{100 * level:g} % interval\n[{ends}]"
        shade = {"color": drawing.foreground(ax), "alpha": 0.15, "lw": 0}
        ax.axhspan(low, high, label=label, **shade)
    else:
        ax.plot([], [], " ", label="no interval")
    ax.set_xlim(0, max(heights.size, 1))
    difference = f"{names[1]} − {names[0]}"
    y_label = difference + (f", {metric}" if metric else "")
    drawing.label_axes(ax, "lists, by difference", y_label)
    drawing.legend(ax, is_below=True)
    return ax


def distribution(
    lists: reading.Values, *, metric: str | None = None, ax: "Axes | None" = None
) -> "Axes":
    """The share of lists up to each value, as a step line for each run.

    Lists in which the metric is undefined are left out, and the plot says how many. Lists
    that do not count are left out, too. The remaining lists count equally, whatever
    their weights.

    Args:
        lists: The values of a metric at one cutoff, as for `compare`; or a dict from
            runs to such values. If there are several metrics, `metric` names one of
            them.
        metric: The name of the metric to show.
        ax: The `Axes` to draw on.

    Raises:
        TypeError: if `lists` holds anything but per-list values, such as states.
        ValueError: if there are several cutoffs, or a run has no value to show.
    """
    ax = drawing.axes(ax)
    # {"mrr": values} is a run called "mrr", unless `metric` is "mrr".
    is_one = isinstance(lists, Mapping) and metric is not None and metric in lists
    holds_runs = reading.is_nested(lists) and not is_one
    keys: reading.Keys = ("system", "metric") if holds_runs else ("metric",)
    runs = reading.by_system(reading.read(lists, "lists", keys))
    values_of_run, counts_of_run = {}, {}
    for system, system_metrics in runs.items():
        run = "" if system is None else str(system)
        name = repr(run) if run else "lists"
        values = _lists_of_metric(system_metrics.values(), name, metric)
        # Leave out lists that are undefined for all seeds or, with "skip", for any seed.
        defined = (values.is_known() & values.defined.any(0))[:, 0]
        array = values.values.mean(0)[:, 0]
        weights = values.weights[:, 0]
        has_weight = weights > 0
        values_of_run[run] = array[has_weight & defined]
        if not values_of_run[run].size:
            raise ValueError(
                f"run {run!r} has no list with a value to show; leave the run out, or pass "
                "lists in which the metric is defined"
            )
        undefined = int((has_weight & ~defined).sum())
        counts_of_run[run] = count_text(values_of_run[run].size, "list")
        counts_of_run[run] += f", {undefined} undefined left out" * bool(undefined)
    # If all runs have the same count, write the count once, below the axis.
    all_equal = len(set(counts_of_run.values())) == 1
    for index, run in enumerate(values_of_run):
        label = run if all_equal else f"{run}: {counts_of_run[run]}"
        # Draw a marker every tenth of the width, shifted per run so that markers stay
        # apart.
        spacing = ((index + 0.5) / len(runs) * 0.1, 0.1)
        style = drawing.look(index)
        ax.ecdf(
            values_of_run[run], label=drawing.label(label), markevery=spacing, **style
        )
    ax.set_yticks(np.linspace(0, 1, 5))
    counts = f" ({next(iter(counts_of_run.values()))})" if all_equal else ""
    x_label = f"{metric or 'value'} of a list{counts}"
    drawing.label_axes(ax, x_label, "share of lists up to it")
    drawing.legend(ax)
    return ax


def _lists_of_metric(
    records: Iterable[reading.Record], name: str, metric: str | None
) -> ListValues:
    """Returns the values of one metric of a system, at its only cutoff.

    Args:
        records: The records of the system.
        name: The name of the system for errors.
        metric: The name of the metric, if there are several.

    Raises:
        ValueError: if there is no such metric, or several, or several cutoffs.
    """
    records = list(records)
    by_metric = {record.metric: record for record in records if record.is_on_this_host}
    # If there are only states, keep them, because the error about them says what to
    # pass.
    by_metric = by_metric or {record.metric: record for record in records}
    return reading.lists_at_cutoff(
        by_metric[reading.only_metric(by_metric, name, metric)]
    )
