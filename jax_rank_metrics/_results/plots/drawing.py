"""Parts that the plots share: colours, legends, labels, and the numbers behind lines.

The constrained layout of matplotlib makes room for all that stands outside the axes. What
it cannot do is to break, turn or leave out text that is too long; this is decided from
the size of the axes' cell and the number of letters, before anything is drawn.
"""

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.systems.systems import Values
from jax_rank_metrics._results.tables.estimates import estimates
from jax_rank_metrics._states.cutoff_names import cutoff_of
from jax_rank_metrics._states.on_host import Estimate
from jax_rank_metrics._types import IntervalMethod, Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito, Color universal design, 2008.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "d", "p")
DASHES = ("-", "--", "-.", ":")
SIZE = 5  # of markers, in points
GAP = 6  # between the axes and what stands beside them, in points
LETTER, LINE = 0.55, 1.2  # mean width of a letter and height of a line, in font sizes
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


def root_figure(ax: "Axes") -> "Figure":
    """The whole figure, also of an `Axes` in a subfigure."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def foreground(ax: "Axes") -> Any:
    """The colour of the frame: black, or white in a dark style."""
    return ax.spines["bottom"].get_edgecolor()


def room(ax: "Axes", axis: int) -> float:
    """Points that the axes have, with their labels and legend, before any layout.

    That is their cell in the grid of the figure. What has to fit is measured against it
    by counting letters, so that nothing has to be drawn to be placed.

    Args:
        ax: The `Axes`.
        axis: 0 for the width, 1 for the height.
    """
    figure: Any = ax.figure  # which may be a subfigure
    spec = ax.get_subplotspec()
    slot = spec.get_position(figure) if spec else ax.get_position()
    return float(slot.size[axis] * figure.bbox.size[axis]) * 72 / root_figure(ax).dpi


def is_narrow(ax: "Axes") -> bool:
    """Whether the axes are as narrow as in a figure of a column's width."""
    return room(ax, 0) < 72 * NARROW


def points(size: str) -> float:
    """The size of a font in points, such as of "small"."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=size).get_size_in_points())


def font_size(ax: "Axes") -> str:
    """The size of text beside the data: smaller where axes are narrow."""
    return "x-small" if is_narrow(ax) else "small"


def letters_within(ax: "Axes", share: float, axis: int = 0) -> int:
    """Number of letters beside the data that fit in a share of the room of the axes.

    Args:
        ax: The `Axes`.
        share: The share of the width or height that axes, labels and legend have.
        axis: 0 for the width, 1 for the height.
    """
    return int(share * room(ax, axis) / (LETTER * points(font_size(ax))))


def wrapped(text: str, letters: int) -> str:
    """Breaks each line of a text that is longer than this many letters."""
    return "\n".join(
        part
        for line in text.split("\n")
        for part in textwrap.wrap(line, max(letters, 8)) or [""]
    )


def label_axes(ax: "Axes", x: str, y: str) -> None:
    """Labels both axes, in lines that are not longer than they are."""
    size = font_size(ax) if is_narrow(ax) else "medium"
    scale = points(font_size(ax)) / points(size)
    ax.set_xlabel(wrapped(x, int(scale * letters_within(ax, 0.75))), fontsize=size)
    if y:
        ax.set_ylabel(
            wrapped(y, int(scale * letters_within(ax, 0.45, 1))), fontsize=size
        )


def legend(ax: "Axes", *, is_below: bool = False) -> None:
    """Adds a legend outside the axes, if anything has a label.

    The constrained layout counts it as a part of the axes, and makes room for it. It stands
    at the right, or below the x axis where names are too long for that.

    Args:
        ax: The `Axes`, whose x axis is labelled already.
        is_below: Whether the room at the right is taken.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not labels:
        return
    from matplotlib.transforms import offset_copy

    # The handle takes about six letters.
    letters = letters_within(ax, 0.4) - 6
    is_below |= (
        max(len(line) for label in labels for line in label.split("\n")) > letters
    )
    anchor, offset = (1, 1), (GAP, 0.0)
    if is_below:
        letters = letters_within(ax, 0.9) - 6
        anchor, offset = (0, 0), (0.0, -_height_below(ax))
    start = offset_copy(ax.transAxes, root_figure(ax), *offset, units="points")
    ax.legend(
        handles,
        [wrapped(label, letters) for label in labels],
        loc="upper left",
        bbox_to_anchor=anchor,
        bbox_transform=start,
        borderaxespad=0,
        frameon=False,
        fontsize=font_size(ax),
        handlelength=2.2,
        handletextpad=0.5,
    )


def _height_below(ax: "Axes") -> float:
    """Points from the axes to the lower end of what labels the x axis, with gaps."""
    height = 3.0 * GAP
    if label := ax.get_xlabel():
        size = float(ax.xaxis.label.get_fontsize())
        height += LINE * size * (label.count("\n") + 1)
    ticks = ax.get_xticklabels()
    size = float(ticks[0].get_fontsize())
    if ticks[0].get_rotation() == 90:
        letters = max(len(x) for tick in ticks for x in tick.get_text().split("\n"))
        return height + LETTER * size * letters
    return height + LINE * size * max(tick.get_text().count("\n") + 1 for tick in ticks)


def hollow_entry(ax: "Axes", label: str) -> None:
    """Adds a hollow marker to the legend, after the runs."""
    # The legend takes lines before error bars.
    style = {"fmt": "o", "ms": SIZE, "mfc": "none", "color": foreground(ax)}
    ax.errorbar([], [], label=label, **style)


def cutoff_ticks(cutoffs: Iterable[int], width: float) -> list[int]:
    """The cutoffs whose labels fit side by side on a logarithmic axis, largest first.

    Args:
        cutoffs: The cutoffs, from the first to the last of the axis.
        width: The width of the axis, in widths of a digit.

    >>> cutoff_ticks([1, 2, 90, 95, 100], 50)
    [100, 2, 1]
    """
    largest_first = sorted(cutoffs, reverse=True)
    digit = math.log(largest_first[0] / largest_first[-1]) / width
    ticks = largest_first[:1]
    for k in largest_first[1:]:
        # Half of both labels, and a gap of a digit and a half.
        spacing = (len(str(ticks[-1])) + len(str(k))) / 2 + 1.5
        if math.log(ticks[-1] / k) >= spacing * digit:
            ticks.append(k)
    return ticks


def label_groups(ax: "Axes", names: Sequence[str], counts: Sequence[str]) -> None:
    """Labels the groups on the x axis: upright where each name has its room, else turned.

    Args:
        ax: The `Axes`.
        names: The names of the groups.
        counts: Their numbers of lists, "" where they are not shown.
    """
    letters = letters_within(ax, 0.5) // len(names) - 1
    stacked = [name.replace(" ", "\n") for name in names]
    # The lines of the new label of the first group: "new", "customers", "12 lists".
    lines = [x for text in (*stacked, *counts) for x in text.split("\n")]
    is_upright = max(map(len, lines)) <= letters
    is_upright &= max(text.count("\n") for text in stacked) <= 3
    if not is_upright:
        stacked = [wrapped(name, letters_within(ax, 0.35, axis=1)) for name in names]
    labels = [
        f"{name}\n{count}" if count else name
        for name, count in zip(stacked, counts, strict=True)
    ]
    # A turned label is as wide as its lines are high.
    height = LINE * max(label.count("\n") + 1 for label in labels)
    pitch = 0.5 * room(ax, 0) / len(names)
    size = points(font_size(ax))
    ax.set_xticks(
        range(len(labels)),
        labels,
        rotation=0 if is_upright else 90,
        fontsize=size if is_upright else max(min(size, pitch / height), 3),
    )


def label_rows(
    ax: "Axes", labels: Sequence[str], title: str, texts: Sequence[str]
) -> None:
    """Labels horizontal rows, the first on top, and adds the legend below them.

    Args:
        ax: The `Axes`, with everything else drawn, and the x axis labelled.
        labels: The label of each row, at the left.
        title: What the texts are.
        texts: The text of each row, at the right.
    """
    letters = letters_within(ax, 0.38)
    labels = [wrapped(label, letters) for label in labels]
    # A row of several lines needs them all within its height.
    most_lines = max(label.count("\n") + 1 for label in labels)
    height = 0.55 * room(ax, 1) / len(labels) / most_lines
    size = max(min(points(font_size(ax)), height), 3)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_yticks(range(len(labels)), labels, fontsize=size)
    ax.tick_params(axis="y", length=0)
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": size}
    for y, text in enumerate(texts):
        ax.annotate(
            text,
            (1, y),
            xycoords=ax.get_yaxis_transform(),
            xytext=(GAP, 0),
            va="center_baseline",
            **style,
        )
    ax.annotate(
        title, (1, 1), xycoords="axes fraction", xytext=(GAP, 2), va="bottom", **style
    )
    legend(ax, is_below=True)


def label_points(ax: "Axes", labels: Sequence[tuple[str, tuple[float, float]]]) -> None:
    """Writes labels beside points, but for those too close to a point that has its label.

    Args:
        ax: The `Axes`, with everything else drawn.
        labels: The text and the point of each.
    """
    root_figure(ax).draw_without_rendering()  # so that points have their pixels
    size = points("x-small")
    # Distances from which on two labels of three digits lie side by side, or in two lines.
    nearest = np.array([4 * LETTER, LINE]) * size * root_figure(ax).dpi / 72
    labelled = np.empty((0, 2))
    for text, point in labels:
        pixels = ax.transData.transform(point)
        if (np.abs(labelled - pixels) < nearest).all(axis=1).any():
            continue
        labelled = np.vstack([labelled, pixels])
        ax.annotate(
            text, point, xytext=(4, 4), textcoords="offset points", fontsize="x-small"
        )


def lines(
    results: Values,
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


def only_metric_of(results: Values) -> str:
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
