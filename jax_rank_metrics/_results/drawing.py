"""Parts that the plots share: colours, legends, and the numbers behind lines."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.estimates import Results, estimates
from jax_rank_metrics._results.values import ListValues, listing, read_values
from jax_rank_metrics._states.on_host import Estimate
from jax_rank_metrics._types import IntervalMethod, Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito, Color universal design, 2008.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":")


class Look(NamedTuple):
    """The colour, marker and dashes of a run."""

    colour: str
    marker: str
    dashes: str


def look(index: int) -> Look:
    """The look of a run, by its index.

    After every six runs the colours repeat, with the markers and dashes shifted by one: no
    two of 36 runs share both colour and marker, and no two of 24 both colour and dashes.
    """
    shifted = index + index // len(COLOURS)
    return Look(
        COLOURS[index % len(COLOURS)],
        MARKERS[shifted % len(MARKERS)],
        DASHES[shifted % len(DASHES)],
    )


def axes(ax: "Axes | None") -> "Axes":
    """The `Axes` to draw on: the current one unless one is passed."""
    pyplot = import_optional("matplotlib.pyplot", "jrm.plots", "plots")
    return pyplot.gca() if ax is None else ax


def foreground(ax: "Axes") -> Any:
    """The colour of the frame: black, or white in a dark style."""
    return ax.spines["bottom"].get_edgecolor()


def legend(ax: "Axes") -> None:
    """Adds a legend above the data, if anything has a label.

    It stands inside the axes, in as few rows as fit, and the y axis is extended upwards
    until no data lies behind it. Draw everything else first.
    """
    labels = ax.get_legend_handles_labels()[1]
    if not labels:
        return
    width = height = math.inf
    for columns in range(len(labels), 0, -1):
        box = ax.legend(
            loc="upper left",
            ncols=columns,
            frameon=False,
            fontsize="small",
            columnspacing=1.2,
            handlelength=1.6,
        ).get_window_extent()
        ((x_start, y_start), (x_end, y_end)) = ax.transAxes.inverted().transform(
            box.get_points()
        )
        width, height = x_end - x_start, y_end - y_start
        if width <= 1:
            break
    # A taller legend would squeeze the data more than it explains.
    if ax.get_yscale() == "linear" and height < 0.7:
        bottom, top = ax.get_ylim()
        share = min(height + 0.04, 0.7)
        # With `auto`, later drawing still rescales the axis.
        ax.set_ylim(bottom, bottom + (top - bottom) / (1 - share), auto=True)


def cutoff_ticks(cutoffs: Iterable[int]) -> list[int]:
    """The cutoffs whose labels fit side by side on a logarithmic axis, largest first.

    >>> cutoff_ticks([1, 2, 90, 95, 100])
    [100, 2, 1]
    """
    largest_first = sorted(cutoffs, reverse=True)
    spacing = 0.07 * math.log(largest_first[0] / largest_first[-1])
    ticks = largest_first[:1]
    for k in largest_first[1:]:
        if math.log(ticks[-1] / k) >= spacing:
            ticks.append(k)
    return ticks


def lines(
    results: Results,
    metric: str,
    level: Number = 0.95,
    method: IntervalMethod = "auto",
    ks: Sequence[int] | None = None,
) -> dict[str, dict[int, Estimate]]:
    """The estimates of a metric for each run, by ascending cutoff.

    Runs without the metric at a cutoff are left out.

    Raises:
        ValueError: if no run has it.
    """
    by_run = {}
    for run, by_name in estimates(results, level, method).items():
        by_cutoff = {}
        for name, estimate in by_name.items():
            head, _, k = name.rpartition("@")
            if head == metric and k.isdecimal():
                by_cutoff[int(k)] = estimate
        for index, k in enumerate(ks or ()):
            if f"{metric}[{index}]" in by_name:
                by_cutoff[k] = by_name[f"{metric}[{index}]"]
        if by_cutoff:
            by_run[run] = dict(sorted(by_cutoff.items()))
    if not by_run:
        raise ValueError(
            f"results hold no {metric!r} at a cutoff; pass the name before the @, such as "
            "'recall' for 'recall@1,5,10', or ks for a name of your own"
        )
    return by_run


def values_of_metric(name: str, source: Any, metric: str | None = None) -> ListValues:
    """Reads the values of a single metric at a single cutoff.

    Args:
        name: The name of the argument, for messages.
        source: As for `compare`.
        metric: The name of the metric to read, where there are several.

    Raises:
        TypeError: if it holds no per-list values.
        ValueError: if it holds no such metric, or several; if the metric has several
            cutoffs.
    """
    by_path = read_values(source, name)
    matches = [
        values
        for path, values in by_path.items()
        if metric is None or not path or path[-1] == metric
    ]
    if len(matches) != 1:
        metrics = [path[-1] for path in by_path if path]
        raise ValueError(
            f"{name} holds {listing(metrics) or 'no metric'}; pass metric=, the name of one"
        )
    if matches[0].has_cutoffs:
        raise ValueError(
            f"{matches[0].name} has several cutoffs; measure one, such as 'recall@5'"
        )
    return matches[0]


def finite_margins(
    mean: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of error bars, `[2, groups]`, and whether an interval is finite, `[groups]`.

    The bars of an infinite interval have length 0.
    """
    margins = np.stack([mean - low, high - mean])
    is_finite = np.isfinite(margins[0]) & np.isfinite(margins[1])
    return np.where(is_finite, margins, 0), is_finite
