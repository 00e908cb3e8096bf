"""Parts that the plots share: colours, legends, and the numbers behind lines."""

import textwrap
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.tables.estimates import Results, estimates
from jax_rank_metrics._states.cutoff_names import cutoff_of
from jax_rank_metrics._states.on_host import Estimate
from jax_rank_metrics._types import IntervalMethod, Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito, Color universal design, 2008.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "d", "p")
DASHES = ("-", "--", "-.", ":")
SIZE = 5  # of markers, in points
GAP = 6  # between the axes and what stands beside them, in points
NARROW = 3.2  # inches below which axes have smaller text beside them


class Look(NamedTuple):
    """The colour, marker and dashes of a run, and whether its marker is filled."""

    colour: str
    marker: str
    dashes: str
    is_filled: bool

    def of_line(self) -> dict[str, Any]:
        """Options of a line with markers."""
        return {
            "color": self.colour,
            "ls": self.dashes,
            "lw": 1.3,
            "marker": self.marker,
            "markersize": SIZE,
            "markeredgewidth": 1,
            "markerfacecolor": self.colour if self.is_filled else "none",
        }


def look(index: int) -> Look:
    """The look of a run, by its index.

    Each of twelve runs has a marker of its own, which print and eyes without colours can
    tell apart. After every six runs the colours repeat, with other dashes, and markers are
    hollow in every other six: no two of 24 runs share both colour and dashes.
    """
    return Look(
        COLOURS[index % len(COLOURS)],
        MARKERS[index % len(MARKERS)],
        DASHES[(index + index // len(MARKERS)) % len(DASHES)],
        index // len(COLOURS) % 2 == 0,
    )


def axes(ax: "Axes | None", height: float | None = None) -> "Axes":
    """The `Axes` to draw on: the current one unless one is passed.

    A figure of subplots without a layout engine gets the constrained one, which makes room
    for what stands outside the axes.

    Args:
        ax: The `Axes`, or None.
        height: The height in inches of a figure that has no axes yet.
    """
    pyplot = import_optional("matplotlib.pyplot", "jrm.plots", "plots")
    if ax is None and height is not None and not pyplot.gcf().axes:
        pyplot.gcf().set_figheight(height)
    drawn: Axes = pyplot.gca() if ax is None else ax
    figure = root_figure(drawn)
    has_grid = all(x.get_subplotspec() is not None for x in figure.axes)
    if has_grid and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    return drawn


def root_figure(ax: "Axes") -> Any:
    """The whole figure, also of an `Axes` in a subfigure."""
    return ax.figure.figure


def settle(ax: "Axes") -> None:
    """Lays the figure out, so that what has been drawn so far can be measured."""
    figure = root_figure(ax)
    if figure.get_layout_engine() is None:
        return
    with warnings.catch_warnings():
        # Labels that leave the axes no room are rearranged before the figure is drawn.
        warnings.filterwarnings("ignore", "constrained_layout not applied")
        figure.get_layout_engine().execute(figure)


def foreground(ax: "Axes") -> Any:
    """The colour of the frame: black, or white in a dark style."""
    return ax.spines["bottom"].get_edgecolor()


def legend(ax: "Axes", side: str | None = None) -> str | None:
    """Adds a legend beside the data, outside the axes, if anything has a label.

    Draw everything else first; a second call puts the legend anew.

    Args:
        ax: The `Axes`.
        side: "right", or "below" the x axis; None takes the one that needs the smaller
            share of the axes.

    Returns:
        The side that was taken, None without a legend.
    """
    labels = ax.get_legend_handles_labels()[1]
    # The labels of the axes and the legend take room from each other.
    for _ in range(2):
        if (former := ax.get_legend()) is not None:
            former.remove()
        settle(ax)
        if labels:
            side = _put_legend(ax, len(labels), side)
            settle(ax)
        if not _fit_axis_labels(ax):
            break
    return side


def _fit_axis_labels(ax: "Axes") -> bool:
    """Wraps labels that are longer than their axis, or else makes them smaller.

    Returns:
        Whether any was too long.
    """
    frame, was_too_long = ax.get_window_extent().size, False
    for label, axis in ((ax.xaxis.label, 0), (ax.yaxis.label, 1)):
        while label.get_window_extent().size[axis] > frame[axis]:
            was_too_long = True
            start, comma, end = label.get_text().rpartition(", ")
            if not comma:
                longest = max(map(len, label.get_text().split("\n")))
                length = label.get_window_extent().size[axis]
                # Smaller letters, below, need fewer lines.
                letters = int(longest * frame[axis] / (0.6 * length))
                label.set_text(wrapped(label.get_text(), letters))
                break
            label.set_text(f"{start}\n{end}")
        share = frame[axis] / max(label.get_window_extent().size[axis], 1)
        label.set_fontsize(float(label.get_fontsize()) * max(min(share, 1), 0.6))
    return was_too_long


def _put_legend(ax: "Axes", count: int, side: str | None) -> str:
    figure = root_figure(ax)
    frame = ax.get_window_extent()
    outline = ax.get_tightbbox() or frame
    style = {
        "loc": "upper left",
        "borderaxespad": 0,
        "frameon": False,
        "fontsize": font_size(ax),
        "handlelength": 2.2,
        "handletextpad": 0.5,
        "columnspacing": 1,
    }

    # The handle and the gaps of an entry take about six widths of a letter.
    letters = letters_within(ax, 1) - 6
    handles, labels = ax.get_legend_handles_labels()
    labels = [wrapped(label, letters) for label in labels]

    def drawn_box(**options: Any) -> Any:
        return ax.legend(handles, labels, **style, **options).get_window_extent()

    # Below, as many columns as are as wide as the axes and their labels; at the right, one.
    width = outline.width
    columns = count
    while columns > 1 and drawn_box(ncols=columns).width > width:
        columns -= 1
    height_below = drawn_box(ncols=columns).height
    box = drawn_box(bbox_to_anchor=(1.02, 1))
    share = max(box.width / frame.width, box.height / frame.height - 1)
    if side is None:
        side = "right" if share <= height_below / frame.height else "below"
    if side == "right":
        return side
    from matplotlib.transforms import offset_copy

    points = 72 / figure.dpi
    start = offset_copy(
        ax.transAxes,
        figure,
        x=points * (outline.x0 - frame.x0),
        y=points * (outline.y0 - frame.y0) - GAP,
        units="points",
    )
    drawn_box(ncols=columns, bbox_to_anchor=(0, 0), bbox_transform=start)
    return side


def hollow_entry(ax: "Axes", label: str) -> None:
    """Adds a hollow marker to the legend, after the runs."""
    # The legend takes lines before error bars.
    style = {"fmt": "o", "ms": SIZE, "mfc": "none", "color": foreground(ax)}
    ax.errorbar([], [], label=label, **style)


def font_size(ax: "Axes") -> str:
    """The size of text beside the data: smaller where axes are narrow."""
    return "x-small" if is_narrow(ax) else "small"


def is_narrow(ax: "Axes") -> bool:
    """Whether the axes are as narrow as in a figure of a column's width."""
    figure: Any = ax.figure  # which may be a subfigure
    spec = ax.get_subplotspec()
    slot = spec.get_position(figure) if spec else ax.get_position()
    return slot.width * figure.bbox.width < NARROW * root_figure(ax).dpi


def letters_within(ax: "Axes", share: float, axis: int = 0) -> int:
    """Number of letters beside the data that fit in a share of the room of the axes.

    Args:
        ax: The `Axes`.
        share: The share of the width or height that axes, labels and legend have.
        axis: 0 for the width, 1 for the height.
    """
    from matplotlib.font_manager import FontProperties

    size = FontProperties(size=font_size(ax)).get_size_in_points()
    figure: Any = ax.figure  # which may be a subfigure
    length = figure.bbox.size[axis] * 72 / root_figure(ax).dpi
    if spec := ax.get_subplotspec():
        cells = (spec.colspan, spec.rowspan)[axis]
        length *= len(cells) / spec.get_gridspec().get_geometry()[1 - axis]
    return int(share * length / (0.6 * size))


def wrapped(text: str, letters: int) -> str:
    """Breaks each line of a text that is longer than this many letters."""
    return "\n".join(
        part
        for line in text.split("\n")
        for part in textwrap.wrap(line, max(letters, 8)) or [""]
    )


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
            head, k = cutoff_of(name) or ("", 0)
            if head == metric:
                by_cutoff[k] = estimate
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


def only_metric_of(results: Results) -> str:
    """The name before the @ of the only metric that has cutoffs.

    Raises:
        ValueError: if there is none, or if there are several.
    """
    names = {name: None for run in estimates(results, 0.95).values() for name in run}
    parts = [name.rpartition("@") for name in names]
    heads = list(dict.fromkeys(head for head, _, k in parts if k.isdecimal()))
    if len(heads) != 1:
        raise ValueError(
            f"results hold {', '.join(heads) or 'no metric'} at cutoffs; pass metric=, the "
            "name of one before the @"
        )
    return heads[0]


def finite_margins(
    mean: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of error bars, `[2, groups]`, and whether an interval is finite, `[groups]`.

    The bars of an infinite interval have length 0.
    """
    margins = np.stack([mean - low, high - mean])
    is_finite = np.isfinite(margins[0]) & np.isfinite(margins[1])
    return np.where(is_finite, margins, 0), is_finite
