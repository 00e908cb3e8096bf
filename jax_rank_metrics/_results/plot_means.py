"""Plots of means: at cutoffs, and of groups of lists."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._results import drawing
from jax_rank_metrics._results.estimates import Results
from jax_rank_metrics._results.export import count_text
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

    The axis of cutoffs is logarithmic.

    Args:
        results: As for `table`.
        metric: Its name before the @, such as "recall". The cutoffs are read from the
            names in the results: "recall@1,5" and "recall@10" make a single line.
        ks: The cutoffs in order, where the name has none: (1, 5) for the metric "mine"
            whose values in the table are "mine[0]" and "mine[1]".
        level: The probability with which the bands should cover the mean, in (0, 1).
        method: How intervals are made, see `Mean.confidence_interval`.
        ax: The `Axes` to draw on.

    Raises:
        ValueError: if the results do not hold the metric at a cutoff.
    """
    ax = drawing.axes(ax)
    runs = drawing.lines(results, metric, level, method, ks)
    for index, (run, by_cutoff) in enumerate(runs.items()):
        cutoffs = list(by_cutoff)
        look = drawing.look(index)
        means, low, high = zip(*(x[:3] for x in by_cutoff.values()), strict=True)
        ax.plot(
            cutoffs,
            means,
            color=look.colour,
            marker=look.marker,
            markersize=4,
            label=run or None,
        )
        # A single list has no interval, and an infinite band would hide the plot.
        is_finite = np.isfinite(low) & np.isfinite(high)
        ax.fill_between(
            cutoffs, low, high, where=is_finite, color=look.colour, alpha=0.2, lw=0
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
        recall: The same for recall.
        ax: The `Axes` to draw on.

    Raises:
        ValueError: if a run has no cutoff at which it holds both.
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


def by_group(
    states: Mean | Mapping[str, Mean],
    names: Sequence[str] | None = None,
    *,
    level: Number = 0.95,
    method: IntervalMethod = "auto",
    ax: "Axes | None" = None,
) -> "Axes":
    """Means of groups of lists with their intervals, the runs side by side.

    A group without an interval, such as a single list, has a hollow marker.

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
                f"by_group: run {run!r} has {len(counts)} groups, and the "
                f"{'names' if names else 'first run'} {len(names or sizes[0])}; pass the "
                "same groups for all"
            )
        offset = (index - (len(runs) - 1) / 2) * 0.6 / len(runs)
        x = np.arange(len(counts)) + offset
        margins, is_finite = drawing.finite_margins(mean, low, high)
        look = drawing.look(index)
        style = {"fmt": look.marker, "color": look.colour, "capsize": 3}
        has_interval = (counts > 0) & is_finite
        ax.errorbar(
            x[has_interval],
            mean[has_interval],
            yerr=margins[:, has_interval],
            label=run or None,
            **style,
        )
        is_hollow = (counts > 0) & ~is_finite
        if is_hollow.any():
            ax.plot(
                x[is_hollow],
                mean[is_hollow],
                look.marker,
                color=look.colour,
                mfc="none",
            )
    ticks = list(names or map(str, range(len(sizes[0]))))
    if all((counts == sizes[0]).all() for counts in sizes):
        separator = "\n" if len(ticks) <= 6 else ", "
        ticks = [
            f"{name}{separator}{count_text(size, 'list')}"
            for name, size in zip(ticks, sizes[0], strict=True)
        ]
    ax.set_xticks(range(len(ticks)), ticks)
    if len(ticks) > 6:
        ax.tick_params(axis="x", labelrotation=90)
    ax.set_xlim(-0.5, len(ticks) - 0.5)
    ax.set_ylabel(f"mean and {100 * level:g} % interval")
    drawing.legend(ax)
    return ax
