"""Parts that the plots share: looks of runs, legends and labels.

The constrained layout of matplotlib makes room for everything outside the axes. Only two
things are decided here: long text is broken after a fixed number of letters, and labels
are left out or turned if matplotlib says that they overlap.
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
LETTERS = 28  # in a line beside the data, so that a name of fifty fits in two lines
LABEL_LETTERS = 40  # in a line of an axis label


def look(index: int) -> dict[str, Any]:
    """Returns the options of a run's line and markers, by the index of the run.

    Twelve runs have different markers, so they can be told apart without colours. After
    every six runs the colours repeat, with other dashes, and markers are hollow in every
    other six: no two of 24 runs share both colour and dashes.
    """
    colour = COLOURS[index % len(COLOURS)]
    return {
        "color": colour,
        # The same colour and dashes would meet again after twelve runs, so shift dashes.
        "ls": DASHES[(index + index // len(MARKERS)) % len(DASHES)],
        "lw": 1.3,
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": SIZE,
        "markerfacecolor": colour if index // len(COLOURS) % 2 == 0 else "none",
    }


def axes(ax: "Axes | None", height: float | None = None) -> "Axes":
    """Returns the `Axes` to draw on: the current one unless one is passed.

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
    # Axes outside of a grid were placed by the user, so no engine may move them.
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

    Dollar signs are escaped, because matplotlib reads text between two as mathematics.
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

    The constrained layout counts it as a part of the axes, and makes room for it.

    Args:
        ax: The `Axes`, whose x axis is labelled already.
        is_below: True to put the legend below the x axis, if rows are wide or have text at
            the right.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not labels:
        return
    corner = ax.transAxes
    if is_below:
        from matplotlib.transforms import offset_copy

        # The labels of the axis keep their height when the layout moves the axes.
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
    """Returns True for each text that keeps its distance from the texts chosen before it.

    Args:
        ax: The `Axes`, with everything drawn.
        texts: The texts, the most important first.
        width: The width to reserve, as a multiple of a text's width: 1 if texts may touch.
            Axes that are drawn later, beside these, may take a part of the width.
    """
    root_figure(ax).draw_without_rendering()  # so that texts have their places
    boxes: list[Bbox] = []
    are_apart = []
    for text in texts:
        box = text.get_window_extent().expanded(width, 1)
        are_apart.append(not box.count_overlaps(boxes))
        if are_apart[-1]:
            boxes.append(box)
    return are_apart
