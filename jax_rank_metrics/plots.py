"""Plots of results, by matplotlib (the extra "plots").

Each function draws on an `Axes`, the current one unless `ax` is given, and returns it: so
that titles, limits and styles are the caller's. Colours are those of Okabe and Ito, which
people of all colour visions tell apart.

>>> import jax.numpy as jnp
>>> import jax_rank_metrics as jrm
>>> labels, scores = jnp.array([[1, 0, 1], [0, 1, 0]]), jnp.array([[3, 2, 1], [3, 2, 1]])
>>> lists = jrm.measure(("recall@1,2,3", "mrr"), jrm.rank(labels, scores))
>>> import matplotlib
>>> matplotlib.use("agg")
>>> [[float(y) for y in line.get_ydata()] for line in at_cutoffs(lists, "recall").lines]
[[0.25, 0.75, 1.0]]
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from jax_rank_metrics import _inputs
from jax_rank_metrics._results import drawing, pairing
from jax_rank_metrics._results.compare import compared
from jax_rank_metrics._results.comparison import p_text
from jax_rank_metrics._results.direction import is_lower_better
from jax_rank_metrics._results.estimates import Results
from jax_rank_metrics._results.export import fixed_point
from jax_rank_metrics._results.values import is_by_list
from jax_rank_metrics._states.intervals import checked_level
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._types import IntervalMethod, Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def at_cutoffs(
    results: Results,
    metric: str,
    *,
    ks: Sequence[int] | None = None,
    level: Number = 0.95,
    method: IntervalMethod = "auto",
    ax: "Axes | None" = None,
) -> "Axes":
    """A metric at its cutoffs: for each run, a line and the band of its interval.

    Cutoffs stand on a logarithmic axis.

    Args:
        results: As for `table`.
        metric: Its name before the @, such as "recall". The cutoffs are read off the
            names: those of "recall@1,5" and of "recall@10" are on one line.
        ks: The cutoffs of a metric under a name without them.
        level: The probability with which the bands should cover the mean, in (0, 1).
        method: How intervals are made, see `Mean.confidence_interval`.
        ax: The `Axes` to draw on.

    Raises:
        ValueError: if no name of results is that metric at a cutoff.
    """
    ax = drawing.axes(ax)
    runs = drawing.lines(results, metric, level, method, ks)
    for index, (run, by_cutoff) in enumerate(runs.items()):
        at, numbers = list(by_cutoff), list(by_cutoff.values())
        look = drawing.look(index)
        means, low, high = zip(*(x[:3] for x in numbers), strict=True)
        ax.plot(
            at,
            means,
            color=look.colour,
            marker=look.marker,
            markersize=4,
            label=run or None,
        )
        # One list has no interval, and a band of infinite height would hide everything.
        is_finite = np.isfinite(low) & np.isfinite(high)
        ax.fill_between(
            at, low, high, where=is_finite, color=look.colour, alpha=0.2, lw=0
        )
    ticks = drawing.cutoff_ticks({k for by_cutoff in runs.values() for k in by_cutoff})
    ax.set_xscale("log")
    ax.set_xticks(sorted(ticks))
    ax.set_xticks([], minor=True)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel(f"k (bands: {100 * level:g} % intervals)")
    ax.set_ylabel(f"{metric}@k")
    drawing.legend(ax)
    return ax


def precision_recall(
    results: Results,
    precision: str = "precision",
    recall: str = "recall",
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """Mean precision against mean recall at the same cutoffs, a line for each run.

    Points are the means over lists at each cutoff, which is written beside them. They are
    not interpolated.

    Args:
        results: As for `table`.
        precision: The name of precision in results, before the @: "precision" or "p".
        recall: The same of recall.
        ax: The `Axes` to draw on.

    Raises:
        ValueError: if a run has no cutoff of both.
    """
    ax = drawing.axes(ax)
    by_run = drawing.lines(results, precision)
    recalls = drawing.lines(results, recall)
    for index, (run, precisions) in enumerate(by_run.items()):
        ks = [k for k in precisions if k in recalls.get(run, {})]
        if not ks:
            raise ValueError(
                f"run {run!r} has no cutoff of both {precision!r} and {recall!r}; pass "
                "both at the same cutoffs"
            )
        look = drawing.look(index)
        points = [(recalls[run][k].mean, precisions[k].mean) for k in ks]
        ax.plot(
            *zip(*points, strict=True),
            color=look.colour,
            marker=look.marker,
            markersize=4,
            label=run or None,
        )
        for k, point in zip(ks, points, strict=True):
            ax.annotate(
                f"{k}",
                point,
                # The labels of two runs at one point are on different sides of it.
                xytext=(4, 4) if index % 2 == 0 else (-4, -4),
                ha="left" if index % 2 == 0 else "right",
                va="bottom" if index % 2 == 0 else "top",
                textcoords="offset points",
                fontsize="x-small",
                color=look.colour,
            )
    ax.margins(0.08)  # room for the cutoffs
    ax.set_xlabel(f"{recall}@k")
    ax.set_ylabel(f"{precision}@k")
    drawing.legend(ax)
    return ax


def differences(
    a: Any,
    b: Any,
    *,
    names: tuple[str, str] = ("a", "b"),
    metric: str | None = None,
    lower: bool = False,
    ids: tuple[Any, Any] | None = None,
    level: Number = 0.95,
    ax: "Axes | None" = None,
) -> "Axes":
    """The difference b − a of every list, the largest first, and their mean.

    The mean has the interval and the p of `compare` by its permutation test. Undefined
    values count as `PerList.undefined` says, 0 by default.

    Args:
        a: The values of a metric at one cutoff, as for `compare`; or of several metrics,
            of which `metric` names one.
        b: Those of another system for the same lists.
        names: The names of the two systems.
        metric: The name of the metric, such as "arp@10". It says which direction is
            better; without a name, the legend says only which system is higher.
        lower: Whether lower values are better, of a metric of your own.
        ids: How lists are paired, as for `compare`.
        level: The probability with which the band should cover the mean difference.
        ax: The `Axes` to draw on.

    Raises:
        TypeError: if either holds no per-list values.
        ValueError: if lists cannot be paired or differ in weight, if values have several
            cutoffs, or if no list counts.
    """
    sides = [drawing.values_of_metric(*x, metric) for x in (("a", a), ("b", b))]
    (pair,) = pairing.with_ids({(): (sides[0], sides[1])}, ids).values()
    of_lists = pairing.differences(*pair, undefined=None)
    counts = of_lists.weights > 0
    if not counts.any():
        raise ValueError("a and b have no list that counts")
    direction = is_lower_better(metric or "", lower)
    (comparison,) = compared(
        [of_lists],
        [direction],
        "permutation",
        100_000,
        checked_level(level),
        random.key(0),
    )
    ax = drawing.axes(ax)
    falling = np.array(sorted(of_lists.values[counts, 0], reverse=True))
    edges = np.arange(falling.size + 1)
    word = "better" if direction is not None and (metric or lower) else "higher"
    first_wins = falling > 0 if direction and word == "better" else falling < 0
    bars = ((first_wins, names[0]), (~first_wins & (falling != 0), names[1]))
    for (side, name), colour in zip(bars, drawing.COLOURS[:2], strict=True):
        ax.stairs(
            np.where(side, falling, 0),
            edges,
            fill=True,
            color=colour,
            label=f"{name} {word}: {drawing.counted(side.sum())}",
        )
    ax.plot([], [], " ", label=f"equal: {drawing.counted((falling == 0).sum())}")
    ax.axhline(0, color=drawing.foreground(ax), lw=0.8)
    mean, low, high = comparison.difference, comparison.low, comparison.high
    label = f"mean {fixed_point(mean, 3, sign='+')}"
    ax.axhline(mean, color=drawing.foreground(ax), lw=1.2, ls="--", label=label)
    summary = p_text(comparison)
    if np.isfinite(low):
        ax.axhspan(low, high, color=drawing.foreground(ax), alpha=0.12, lw=0)
        low, high = (fixed_point(x, 3, sign="+") for x in (low, high))
        summary = f"mean in [{low}, {high}], {summary}"
    ax.set_xlim(0, max(falling.size, 1))
    ax.set_xlabel(f"lists, by difference\n{summary}")
    ax.set_ylabel(f"{names[1]} − {names[0]}" + (f", {metric}" if metric else ""))
    drawing.legend(ax)
    return ax


def distribution(
    lists: Any, *, metric: str | None = None, ax: "Axes | None" = None
) -> "Axes":
    """The share of lists up to each value, a step line for each run.

    Lists where the metric is undefined are left out, and the plot says how many. Lists
    that do not count are left out too; all others count the same, whatever their weight.

    Args:
        lists: The values of a metric at one cutoff, as for `compare`; or a dict of runs
            to them. Where they hold several metrics, `metric` names one.
        metric: The name of the metric to show.
        ax: The `Axes` to draw on.

    Raises:
        TypeError: if it holds anything else: states do not know the values of lists.
        ValueError: if there are several cutoffs, or a run has no value to show.
    """
    ax = drawing.axes(ax)
    holds_runs = isinstance(lists, Mapping) and not is_by_list(lists)
    holds_runs = holds_runs and not (metric is not None and metric in lists)
    runs = lists if holds_runs else {"": lists}
    values_of_run, counts_of_run = {}, {}
    for run, source in runs.items():
        name = repr(run) if run else "lists"
        values = drawing.values_of_metric(name, source, metric).lists
        has_weight, defined = np.asarray(values.weights) > 0, np.asarray(values.defined)
        values_of_run[run] = np.asarray(values.values)[has_weight & defined, 0]
        if not values_of_run[run].size:
            raise ValueError(f"run {run!r} has no list with a value to show")
        undefined = int((has_weight & ~defined).sum())
        counts_of_run[run] = drawing.counted(values_of_run[run].size)
        counts_of_run[run] += f", {undefined} undefined left out" * bool(undefined)
    # What holds for all runs need not be said of each.
    all_equal = len(set(counts_of_run.values())) == 1
    for index, run in enumerate(runs):
        label = run if all_equal else f"{run}: {counts_of_run[run]}"
        look = drawing.look(index)
        ax.ecdf(
            values_of_run[run], color=look.colour, ls=look.dashes, label=label or None
        )
    ax.set_yticks(np.linspace(0, 1, 5))
    counts = f" ({next(iter(counts_of_run.values()))})" if all_equal else ""
    ax.set_xlabel(f"{metric or 'value'} of a list{counts}")
    ax.set_ylabel("share of lists up to it")
    drawing.legend(ax)
    return ax


def by_group(
    states: Mean | Mapping[str, Mean],
    names: Sequence[str] | None = None,
    *,
    level: Number = 0.95,
    method: IntervalMethod = "auto",
    ax: "Axes | None" = None,
) -> "Axes":
    """Means of groups of lists with their intervals, the runs side by side.

    A group without an interval, as that of a single list, has a hollow marker.

    Args:
        states: The result of `PerList.by`; or a dict of runs to such states.
        names: The names of the groups; None counts them from 0.
        level: The probability with which the intervals should cover the mean, in (0, 1).
        method: How intervals are made, see `Mean.confidence_interval`.
        ax: The `Axes` to draw on.

    Raises:
        TypeError: if it holds anything but states.
        ValueError: if states are not stacked along one axis, have several cutoffs, or
            differ in the number of groups.
    """
    ax = drawing.axes(ax)
    runs = states if isinstance(states, Mapping) else {"": states}
    sizes = []
    for index, (run, state) in enumerate(runs.items()):
        if not isinstance(state, Mean):
            raise TypeError(
                f"by_group: got {_inputs.kind_of(state)}; pass the result of PerList.by"
            )
        if jnp.ndim(state.counts) != 2 or jnp.ndim(state.sums.high) != 2:
            raise ValueError(
                "by_group needs states of one cutoff, stacked along one axis of groups; "
                "pass the result of PerList.by"
            )
        mean, low, high, counts = jax.device_get(
            (state.compute(), *state.confidence_interval(level, method), state.lists)
        )
        sizes.append(counts)
        if len(counts) != len(sizes[0]) or len(counts) != len(names or counts):
            raise ValueError(
                f"by_group: {run!r} has {len(counts)} groups, others or names have "
                f"{len(names or sizes[0])}; pass the same groups for all"
            )
        offset = (index - (len(runs) - 1) / 2) * 0.6 / len(runs)
        at = np.arange(len(counts)) + offset
        margins, is_finite = drawing.finite_margins(mean, low, high)
        look = drawing.look(index)
        style = {"fmt": look.marker, "color": look.colour, "capsize": 3}
        known = (counts > 0) & is_finite
        ax.errorbar(
            at[known],
            mean[known],
            yerr=margins[:, known],
            label=run or None,
            **style,
        )
        hollow = (counts > 0) & ~is_finite
        if hollow.any():
            ax.plot(
                at[hollow], mean[hollow], look.marker, color=look.colour, mfc="none"
            )
    ticks = list(names or map(str, range(len(sizes[0]))))
    if all((counts == sizes[0]).all() for counts in sizes):
        separator = "\n" if len(ticks) <= 6 else ", "
        ticks = [
            f"{name}{separator}{drawing.counted(size)}"
            for name, size in zip(ticks, sizes[0], strict=True)
        ]
    ax.set_xticks(range(len(ticks)), ticks)
    if len(ticks) > 6:
        ax.tick_params(axis="x", labelrotation=90)
    ax.set_xlim(-0.5, len(ticks) - 0.5)
    ax.set_ylabel(f"mean and {100 * level:g} % interval")
    drawing.legend(ax)
    return ax
