"""Helpers of all plots: styles of runs, legends and labels.

The constrained layout of matplotlib makes room for everything outside the axes. This
module decides only two things: it breaks long text after a fixed number of letters, and
it leaves labels out or turns them if they overlap according to matplotlib.
"""

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jax_rank_metrics._ground import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox
    from matplotlib.typing import ColorType


# Okabe and Ito, Color universal design, 2008.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "d", "p")
DASHES = ("-", "--", "-.", ":")
SIZE = 5  # of markers, in points
LETTERS = 28  # in a line beside the data: fifty letters fit in two lines
LABEL_LETTERS = 40  # in a line of an axis label


def look(index: int) -> dict[str, Any]:
    """Returns the options of a run's line and markers, for the index of the run.

    Twelve runs have different markers, so they can be told apart without colours. After
    every six runs the colours repeat with other dashes, so no two of 24 runs share both
    colour and dashes. Markers are hollow in every second group of six runs.
    """
    colour = COLOURS[index % len(COLOURS)]
    return {
        "color": colour,
        # The same colour and dashes would be combined again after twelve runs, so shift
        # dashes.
        "ls": DASHES[(index + index // len(MARKERS)) % len(DASHES)],
        "lw": 1.3,
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": SIZE,
        "markerfacecolor": colour if index // len(COLOURS) % 2 == 0 else "none",
    }


def axes(ax: "Axes | None", height: float | None = None) -> "Axes":
    """Returns the `Axes` to draw on: `ax`, or the current one if `ax` is None.

    A figure of subplots without a layout engine gets the constrained layout, which makes
    room for text outside the axes.

    Args:
        ax: The `Axes`, or None.
        height: The height in inches, for a figure that has no axes yet.
    """
    pyplot = optional.import_optional("matplotlib.pyplot", "jrm.plots", "plots")
    if ax is None and height is not None and not pyplot.gcf().axes:
        pyplot.gcf().set_figheight(height)
    drawn: Axes = pyplot.gca() if ax is None else ax
    figure = root_figure(drawn)
    # The user has placed axes that are not in a grid, so no engine may move them.
    has_grid = all(panel.get_subplotspec() is not None for panel in figure.axes)
    if has_grid and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    return drawn


def root_figure(ax: "Axes") -> "Figure":
    """Returns the whole figure, even if the `Axes` is in a subfigure."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def foreground(ax: "Axes") -> "ColorType":
    """Returns the colour of the frame: black, or white in a dark style."""
    return ax.spines["bottom"].get_edgecolor()


def wrapped(text: str, letters: int = LETTERS) -> str:
    """Breaks each line of a text that is longer than this many letters.

    Dollar signs are escaped, because matplotlib reads text between two dollar signs as
    mathematics.
    """
    lines = "\n".join(textwrap.fill(line, letters) for line in text.split("\n"))
    return lines.replace("$", r"\$")


def label(name: str) -> str | None:
    """Returns the label of a line; None without a name.

    A name that begins with _ gets a space in front, because legends skip such labels.
    """
    return f" {name}" if name.startswith("_") else name or None


def legend(ax: "Axes", *, is_below: bool = False) -> None:
    """Adds a legend outside the axes, if anything has a label.

    The constrained layout counts the legend as a part of the axes, and makes room for
    it.

    Args:
        ax: The `Axes`; its x axis must already have a label.
        is_below: True if the legend goes below the x axis, for plots with wide rows or
            text at the right.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not labels:
        return
    corner = ax.transAxes
    if is_below:
        from matplotlib.transforms import offset_copy

        # Measure the labels of the axis now: they keep their height when the layout
        # moves the axes.
        box = ax.xaxis.get_tightbbox()
        height = 0.0 if box is None else ax.bbox.y0 - box.y0
        # From pixels to points, 72 in an inch; offsets below the axis are negative.
        points = -72 * height / root_figure(ax).dpi
        corner = offset_copy(corner, root_figure(ax), 0, points, units="points")
    ax.legend(
        handles,
        list(map(wrapped, labels)),
        loc="upper left",
        bbox_to_anchor=(0, 0) if is_below else (1, 1),
        bbox_transform=corner,
        frameon=False,
        fontsize="small",
        labelspacing=0.3,
    )


def label_axes(ax: "Axes", x_label: str, y_label: str) -> None:
    """Labels both axes, in lines that are no longer than the figure."""
    ax.set_xlabel(wrapped(x_label, LABEL_LETTERS), wrap=True)
    ax.set_ylabel(wrapped(y_label, LABEL_LETTERS), wrap=True)


def fits(ax: "Axes", texts: "Iterable[Text]", width: float) -> list[bool]:
    """Returns, for each text, True if it does not overlap the texts chosen before it.

    Args:
        ax: The `Axes`, with everything drawn.
        texts: The texts, the most important first.
        width: The width to reserve for a text, as a multiple of its width; 1 if texts
            may touch. Axes that are later drawn beside these may reduce the width.
    """
    root_figure(ax).draw_without_rendering()  # so that texts have their positions
    boxes: list[Bbox] = []
    are_apart = []
    for text in texts:
        box = text.get_window_extent().expanded(width, 1)
        are_apart.append(not box.count_overlaps(boxes))
        if are_apart[-1]:
            boxes.append(box)
    return are_apart
