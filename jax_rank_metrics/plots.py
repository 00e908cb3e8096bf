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
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._results import drawing
from jax_rank_metrics._results.estimates import Results
from jax_rank_metrics._results.paired import paired
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def at_cutoffs(
    results: Results,
    metric: str,
    *,
    ks: Sequence[int] | None = None,
    level: Number = 0.95,
    ax: "Axes | None" = None,
) -> "Axes":
    """A metric at its cutoffs, a line with a band of its interval for each run.

    Cutoffs stand on a logarithmic axis.

    Args:
        results: As for `table`.
        metric: Its name before the @, such as "recall". The cutoffs are read off the
            names: those of "recall@1,5" and of "recall@10" are on one line.
        ks: The cutoffs of a metric under a name without them.
        level: What the bands cover, in (0, 1).
        ax: What to draw on.

    Raises:
        ValueError: if no name of results is that metric at a cutoff.
    """
    ax, runs = drawing.axes(ax), drawing.lines(results, metric, level, ks)
    for place, (run, found) in enumerate(runs.items()):
        at, numbers = list(found), list(found.values())
        colour, marker = drawing.look(place)
        means, low, high = zip(*(x[:3] for x in numbers), strict=True)
        ax.plot(at, means, color=colour, marker=marker, markersize=4, label=run or None)
        # Of one list there is no interval, and a band of infinite height hides all.
        known = np.isfinite(low) & np.isfinite(high)
        ax.fill_between(at, low, high, where=known, color=colour, alpha=0.2, lw=0)
    ticks = sorted({k for found in runs.values() for k in found})
    ax.set_xscale("log")
    ax.set_xticks(ticks[:: -(-len(ticks) // 10)])
    ax.set_xticks([], minor=True)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("k")
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

    Points are the means over lists at each cutoff, and are not interpolated.

    Args:
        results: As for `table`.
        precision: The name of precision in results, before the @: "precision" or "p".
        recall: The same of recall.
        ax: What to draw on.

    Raises:
        ValueError: if a run has no cutoff of both.
    """
    ax = drawing.axes(ax)
    ys, xs = (drawing.lines(results, name, 0.95) for name in (precision, recall))
    for place, run in enumerate(ys):
        ks = [k for k in ys[run] if k in xs.get(run, {})]
        if not ks:
            raise ValueError(
                f"run {run!r} has no cutoff of both {precision!r} and {recall!r}; pass "
                "both at the same cutoffs"
            )
        colour, marker = drawing.look(place)
        points = [(xs[run][k].mean, ys[run][k].mean) for k in ks]
        ax.plot(
            *zip(*points, strict=True),
            color=colour,
            marker=marker,
            markersize=4,
            label=run or None,
        )
        for k, point in zip(ks, points, strict=True):
            ax.annotate(
                f"{k}",
                point,
                xytext=(4, 4),
                textcoords="offset points",
                fontsize="x-small",
                color=colour,
            )
    ax.margins(0.08)  # room for the cutoffs
    ax.set_xlabel(f"{recall}@k")
    ax.set_ylabel(f"{precision}@k")
    drawing.legend(ax)
    return ax


def differences(
    a: PerList,
    b: PerList,
    *,
    names: tuple[str, str] = ("a", "b"),
    ax: "Axes | None" = None,
) -> "Axes":
    """The difference b − a of every list, the largest first, and their mean.

    As in `paired`: above 0, b is better, and an undefined value is 0.

    Args:
        a: Values of one metric, at one cutoff.
        b: Those of the same lists in the same order.
        names: What the two are called.
        ax: What to draw on.

    Raises:
        TypeError: if either is no `PerList`.
        ValueError: if their shapes or weights differ, they have several cutoffs, or no
            list counts.
    """
    for name, lists in (("a", a), ("b", b)):
        drawing.values(name, lists)
    found, weights, _ = drawing.values("the difference", paired(a, b))
    found, weights = found[weights > 0], weights[weights > 0]
    if not found.size:
        raise ValueError("a and b have no list that counts")
    ax, mean = drawing.axes(ax), np.average(found, weights=weights)
    found = np.array(sorted(found, reverse=True))
    edges = np.arange(found.size + 1)
    sides = ((found < 0, names[0]), (found > 0, names[1]))
    for (side, name), colour in zip(sides, drawing.COLOURS[:2], strict=True):
        ax.stairs(
            np.where(side, found, 0),
            edges,
            fill=True,
            color=colour,
            label=f"{name} better: {drawing.counted(side.sum())}",
        )
    equal = drawing.counted((found == 0).sum())
    ax.plot([], [], " ", label=f"equal: {equal}")
    ax.axhline(0, color="black", lw=0.8)
    ax.axhline(mean, color="black", lw=1.2, ls="--", label=f"mean {mean:+.3f}")
    ax.set_xlim(0, max(found.size, 1))
    ax.set_xlabel("lists, by difference")
    ax.set_ylabel(f"{names[1]} − {names[0]}")
    drawing.legend(ax)
    return ax


def distribution(
    lists: PerList | Mapping[str, PerList], *, ax: "Axes | None" = None
) -> "Axes":
    """The share of lists up to each value, a step line for each run.

    Lists where the metric is undefined are left out, and the plot says how many. So are
    lists that do not count; all others count the same, whatever their weight.

    Args:
        lists: Values of one metric, at one cutoff; or a dict of runs to them.
        ax: What to draw on.

    Raises:
        TypeError: if it holds anything else: states do not know the values of lists.
        ValueError: if there are several cutoffs, or a run has no value to show.
    """
    ax = drawing.axes(ax)
    runs = lists if isinstance(lists, Mapping) else {"": lists}
    shown, told = {}, {}
    for run, one in runs.items():
        values, weights, defined = drawing.values(repr(run) if run else "lists", one)
        shown[run] = values[(weights > 0) & defined]
        if not shown[run].size:
            raise ValueError(f"run {run!r} has no list with a value to show")
        without = int(((weights > 0) & ~defined).sum())
        told[run] = drawing.counted(shown[run].size)
        told[run] += f", {without} undefined left out" * bool(without)
    # What holds for all runs need not be said of each.
    same = len(set(told.values())) == 1
    for place, run in enumerate(runs):
        label = run if same else f"{run}: {told[run]}"
        colour, dashes = drawing.look(place)[0], drawing.DASHES[place % 4]
        ax.ecdf(shown[run], color=colour, ls=dashes, label=label or None)
    ax.set_xlabel("value of a list" + f" ({told[next(iter(told))]})" * same)
    ax.set_ylabel("share of lists up to it")
    drawing.legend(ax)
    return ax


def by_group(
    states: Mean | Mapping[str, Mean],
    names: Sequence[str] | None = None,
    *,
    level: Number = 0.95,
    ax: "Axes | None" = None,
) -> "Axes":
    """Means of groups of lists with their intervals, the runs side by side.

    Args:
        states: What `PerList.by` gives; or a dict of runs to such states.
        names: What the groups are called; None counts them from 0.
        level: What the intervals cover, in (0, 1).
        ax: What to draw on.

    Raises:
        TypeError: if it holds anything but states.
        ValueError: if states are not stacked along one axis, have several cutoffs, or
            differ in the number of groups.
    """
    ax = drawing.axes(ax)
    runs = states if isinstance(states, Mapping) else {"": states}
    sizes = []
    for place, (run, state) in enumerate(runs.items()):
        if not isinstance(state, Mean):
            raise TypeError(
                f"by_group: got {_inputs.kind_of(state)}; pass what PerList.by gives"
            )
        if jnp.ndim(state.counts) != 2 or jnp.ndim(state.sums.high) != 2:
            raise ValueError(
                "by_group needs states of one cutoff, stacked along one axis of groups; "
                "pass what PerList.by gives"
            )
        mean, low, high, counts = jax.device_get(
            (state.compute(), *state.confidence_interval(level), state.lists)
        )
        sizes.append(counts)
        if len(counts) != len(sizes[0]) or len(counts) != len(names or counts):
            raise ValueError(
                f"by_group: {run!r} has {len(counts)} groups, others or names have "
                f"{len(names or sizes[0])}; pass the same groups for all"
            )
        some = counts > 0
        at = np.arange(len(counts)) + (place - (len(runs) - 1) / 2) * 0.6 / len(runs)
        margins = np.stack([mean - low, high - mean])
        margins = np.where(np.isfinite(margins), margins, 0)
        colour, marker = drawing.look(place)
        ax.errorbar(
            at[some],
            mean[some],
            yerr=margins[:, some],
            fmt=marker,
            color=colour,
            capsize=3,
            label=run or None,
        )
    called = names or [str(group) for group in range(len(sizes[0]))]
    same = all((counts == sizes[0]).all() for counts in sizes)
    told = [f"\n{drawing.counted(size)}" if same else "" for size in sizes[0]]
    ticks = [f"{name}{size}" for name, size in zip(called, told, strict=True)]
    ax.set_xticks(range(len(ticks)), ticks)
    ax.set_xlim(-0.5, len(ticks) - 0.5)
    ax.set_ylabel(f"mean and {100 * level:g} % interval")
    drawing.legend(ax)
    return ax
