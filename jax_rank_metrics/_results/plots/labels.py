"""Labels of ticks and of points that do not collide."""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_rank_metrics._results.plots.drawing import (
    GAP,
    font_size,
    legend,
    letters_within,
    root_figure,
    settle,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def digit_width(ax: "Axes") -> float:
    """The width in pixels of a digit of the labels on the x axis, roughly."""
    points = ax.xaxis.get_major_ticks()[0].label1.get_fontsize()
    return 0.64 * float(points) * root_figure(ax).dpi / 72


def overlap(boxes: Sequence[Any]) -> bool:
    """Whether any two neighbours of these boxes overlap."""
    return any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


def fit_group_labels(ax: "Axes", names: Sequence[str], counts: Sequence[str]) -> None:
    """Labels the groups on the x axis, upright, or turned where that would collide.

    Args:
        ax: The `Axes`, with a legend already.
        names: The names of the groups.
        counts: Their numbers of lists, "" where they are not shown.
    """
    full_size: dict[str, Any] = {}
    small: dict[str, Any] = {"fontsize": font_size(ax)}
    letters = letters_within(ax, 0.35, axis=1)
    turned = [wrapped(name, letters) for name in names]
    choices = [
        (names, "\n", 0, full_size),
        ([name.replace(" ", "\n") for name in names], "\n", 0, small),
        (turned, "\n", 90, small),
        (turned, ", ", 90, small),
    ]
    if any(name.count(" ") > 3 for name in names):
        del choices[1]  # Upright names of many lines would leave the axes no room.
    for parts, separator, rotation, options in choices:
        labels = [
            f"{name}{separator}{count}" if count else name
            for name, count in zip(parts, counts, strict=True)
        ]
        ax.set_xticks(range(len(labels)), labels, rotation=rotation, **options)
        settle(ax)
        boxes = [x.get_window_extent().padded(2) for x in ax.get_xticklabels()]
        if not overlap(boxes):
            return
    # Turned labels that still collide become as small as their distance.
    pitch = 72 / root_figure(ax).dpi * ax.get_window_extent().width / len(names)
    ax.tick_params(axis="x", labelsize=max(0.75 * pitch, 3))


def label_rows(
    ax: "Axes", labels: Sequence[str], title: str, texts: Sequence[str]
) -> None:
    """Labels horizontal rows, the first on top, and adds the legend below them.

    Args:
        ax: The `Axes`, with everything else drawn.
        labels: The label of each row, at the left.
        title: What the texts are.
        texts: The text of each row, at the right.
    """
    ax.set_ylim(len(labels) - 0.5, -0.5)
    size = font_size(ax)
    letters = letters_within(ax, 0.38)
    labels = [wrapped(label, letters) for label in labels]
    ax.set_yticks(range(len(labels)), labels, fontsize=size)
    ax.tick_params(axis="y", length=0)
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": size}
    written = [
        ax.annotate(
            text,
            (1, y),
            xycoords=ax.get_yaxis_transform(),
            xytext=(GAP, 0),
            va="center_baseline",
            **style,
        )
        for y, text in enumerate(texts)
    ]
    ax.annotate(
        title, (1, 1), xycoords="axes fraction", xytext=(GAP, 2), va="bottom", **style
    )
    legend(ax, "below")
    pitch = 72 / root_figure(ax).dpi * ax.get_window_extent().height / len(labels)
    for text in (*written, *ax.get_yticklabels()):
        height = 0.8 * pitch / (1 + text.get_text().count("\n"))
        text.set_fontsize(min(text.get_fontsize(), max(height, 3)))


def place_labels(ax: "Axes", labels: Sequence[tuple[str, tuple[float, float]]]) -> None:
    """Writes labels beside points, so that they cover neither each other nor a point.

    Labels for which no side of the point is free are left out.

    Args:
        ax: The `Axes`, with everything else drawn.
        labels: The text and the point of each.
    """
    from matplotlib.patheffects import withStroke

    settle(ax)
    points = ax.transData.transform([point for _, point in labels])
    frame = ax.get_window_extent()
    lines = np.concatenate([_points_along(line) for line in ax.lines])
    boxes = []
    halo = [withStroke(linewidth=2, foreground=ax.get_facecolor())]
    # Sides that are free of lines are the best; sides that are free of points will do.
    choices = [
        (obstacles, x, y)
        for obstacles in (lines, points)
        for x, y in ((1, 1), (-1, -1), (-1, 1), (1, -1))
    ]
    for text, point in labels:
        for obstacles, x, y in choices:
            label = ax.annotate(
                text,
                point,
                xytext=(4 * x, 4 * y),
                ha="left" if x > 0 else "right",
                va="bottom" if y > 0 else "top",
                textcoords="offset points",
                fontsize="x-small",
                path_effects=halo,
            )
            box = label.get_window_extent().padded(1)
            is_inside = frame.count_contains(box.corners()) == 4
            collides = box.count_contains(obstacles) or box.count_overlaps(boxes)
            if is_inside and not collides:
                boxes.append(box)
                break
            label.remove()


def _points_along(line: Any) -> np.ndarray:
    """Points in pixels along a line, 20 on each piece of it."""
    ends = line.axes.transData.transform(line.get_xydata())
    at = np.linspace(0, len(ends) - 1, 20 * (len(ends) - 1) + 1)
    index = np.arange(len(ends))
    return np.stack([np.interp(at, index, x) for x in ends.T], axis=1)
