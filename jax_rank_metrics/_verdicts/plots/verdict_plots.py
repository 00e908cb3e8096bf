"""Plots of comparisons, as a forest plot, and of the ranks of a leaderboard."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jax_rank_metrics._ground import inputs
from jax_rank_metrics._names import cutoff_names
from jax_rank_metrics._names.facts import is_metric_name
from jax_rank_metrics._verdicts.comparisons import standings
from jax_rank_metrics._verdicts.comparisons.comparisons import (
    CORRECTION_NAMES,
    Comparison,
    Comparisons,
    comparisons_in,
    is_bound,
    is_significant,
)
from jax_rank_metrics._verdicts.plots import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ROW = 0.28  # inches that a row takes in a new figure


class _Row(NamedTuple):
    """A row of a forest plot: a comparison; or the title of a group, without one."""

    keys: tuple[str, ...]
    comparison: Comparison | None


def forest(
    comparisons: Comparisons | Comparison,
    *,
    names: tuple[str, str] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """A forest plot: differences with their intervals, in a row for each comparison.

    Significant differences have filled markers: their corrected p is at most
    1 − `level`. The corrected p of each row is written at the right. The vertical line is
    at a difference of 0; margins of equivalence or of non-inferiority are shaded. An
    interval without a bound, as with a one-sided alternative, ends in an arrow. Metrics
    such as `arp` may have differences above 1, beside which differences of metrics
    between 0 and 1 could not be seen. If both kinds are drawn, the differences of
    metrics such as `arp` are divided by a power of ten, which the label of the row
    states, as in "arp / 100".

    Args:
        comparisons: The result of `compare`, or some of its comparisons. The rows of a
            task or a system are drawn together, below its name.
        names: The names of the two systems, as for `differences`: ("BM25", "system").
            None is ("a", "b"); for pairs of systems, the rows have the names instead.
        ax: The `Axes` to draw on.

    Raises:
        TypeError: if `comparisons` holds anything else.
        ValueError: if `comparisons` is empty.
    """
    drawable = comparisons_in(comparisons)
    if drawable is None:
        raise TypeError(
            f"comparisons: got {inputs.kind_of(comparisons)}; pass the result of compare"
        )
    rows, metric = _without_shared_metric(_to_scale(_rows(drawable)))
    drawn = [row.comparison for row in rows if row.comparison is not None]
    if not drawn:
        raise ValueError("comparisons is empty; pass the result of compare")
    ax = drawing.axes(ax, height=1 + ROW * len(rows))
    _draw_intervals(ax, rows)
    are_pairs = drawable.are_of_pairs
    difference, better = ("difference", "first") if are_pairs else ("b − a", "b")
    if names is not None:
        difference, better = f"{names[1]} − {names[0]}", names[1]
    intervals = f"{difference}{metric}, {100 * drawn[0].level:g} % intervals"
    x_label = intervals + _direction_text(rows, better)
    drawing.label_axes(ax, x_label, "")
    texts = ["" if row.comparison is None else _p_text(row.comparison) for row in rows]
    title = f"p ({CORRECTION_NAMES[drawn[0].correction]})"
    _label_rows(ax, _labels(rows), title, texts)
    # If panels share the axis, only one of them has labels.
    for label, row in zip(ax.get_yticklabels(), rows, strict=False):
        label.set_fontweight("bold" if row.comparison is None else "normal")
    return ax


def ranks(leaderboard: standings.Leaderboard, *, ax: "Axes | None" = None) -> "Axes":
    """The ranks of systems with their intervals, the best system first.

    Bars at the right join groups of systems that cannot be told apart: no pair in a
    group differs significantly. The text beside the bars is the probability that a
    system is first.

    Args:
        leaderboard: The result of `leaderboard`.
        ax: The `Axes` to draw on.

    Raises:
        TypeError: if `leaderboard` is anything else.
    """
    if not isinstance(leaderboard, standings.Leaderboard):
        raise TypeError(
            f"ranks: got {inputs.kind_of(leaderboard)}; pass the result of leaderboard"
        )
    systems = list(map(str, leaderboard.systems))
    ax = drawing.axes(ax, height=1.2 + ROW * len(systems))
    board = leaderboard
    bars = [board.ranks - board.rank_lows, board.rank_highs - board.ranks]
    ax.errorbar(
        board.ranks,
        range(len(systems)),
        # A rank may lie outside the interval of its draws, so clip bars at 0.
        xerr=np.maximum(bars, 0),
        fmt="o",
        ms=drawing.SIZE,
        capsize=3,
        color=drawing.COLOURS[0],
        label=f"rank, {100 * board.level:g} % interval",
    )
    groups = [group for group in board.groups if group[1] - group[0] > 1]
    # Put each bar in the first column in which all earlier bars end above it.
    column_ends: list[int] = []
    for start, stop in groups:
        free = [i for i, end in enumerate(column_ends) if end <= start]
        column = free[0] if free else len(column_ends)
        column_ends[column : column + 1] = [stop]
        ax.plot(
            [len(systems) + 0.9 + 0.45 * column] * 2,
            # From 0.3 above the first row to 0.3 below the last row, stop − 1.
            [start - 0.3, stop - 0.7],
            color=drawing.foreground(ax),
            lw=3,
            solid_capstyle="butt",
            label="cannot be told apart" if (start, stop) == groups[0] else None,
        )
    # Leave room for the columns of bars beyond the last rank.
    ax.set_xlim(0.5, len(systems) + 0.5 + 0.45 * (len(column_ends) + bool(groups)))
    # Draw at most eight ticks.
    ax.set_xticks(range(1, len(systems) + 1, math.ceil(len(systems) / 8)))
    metric = f" by {board.metric}" if board.metric else ""
    drawing.label_axes(ax, f"rank{metric}", "")
    texts = [f"{p:.2f}" for p in board.p_first.tolist()]
    _label_rows(ax, systems, "P(first)", texts)
    return ax


def _rows(comparisons: Comparisons) -> list[_Row]:
    """Returns the rows of comparisons, below a title for each task or system.

    A group of a single row has its title in front, because a separate line would double
    the height.
    """
    fields = comparisons.name_fields()
    rows: list[_Row] = []
    # Comparisons come task by task and system by system, so the rows of a group are
    # neighbours.
    for keys, members in itertools.groupby(
        comparisons, lambda comparison: _keys(comparison, fields)[:-1]
    ):
        below = [_Row((_keys(member, fields)[-1],), member) for member in members]
        if keys and len(below) > 1:
            rows.append(_Row((", ".join(keys),), None))
        elif keys:
            below = [_Row((*keys, *below[0].keys), below[0].comparison)]
        rows += below
    return rows


def _keys(comparison: Comparison, fields: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of a row: `("web", "new", "recall@5")`, or `("b − a", "map")`."""
    names = [getattr(comparison, field) for field in fields if field != "baseline"]
    keys = ["" if name is None else str(name) for name in names]
    if "baseline" in fields:
        # The baseline comes before the system in `fields`, but has no key of its own.
        system = [*fields].index("system") - 1
        keys[system] = f"{comparison.system} − {comparison.baseline}"
    return tuple(keys) or ("",)


def _to_scale(rows: list[_Row]) -> list[_Row]:
    """Divides differences of metrics that are not between 0 and 1 by a power of ten."""
    sizes: dict[str, float] = {}
    for keys, comparison in rows:
        if comparison is not None and math.isfinite(comparison.difference):
            name = cutoff_names.without_cutoff(keys[-1])
            sizes[name] = max(sizes.get(name, 0), abs(comparison.difference))
    large = {name for name, size in sizes.items() if size > 1 and is_metric_name(name)}
    # The largest difference of the other metrics, which must remain visible.
    reference = max((sizes[name] for name in sizes.keys() - large), default=0)
    if not reference > 0:
        return rows
    scaled = []
    for keys, comparison in rows:
        name = cutoff_names.without_cutoff(keys[-1])
        if comparison is not None and name in large and sizes[name] > reference:
            # If the reference is 0.2, 30 is divided by 1000 and becomes 0.03.
            unit = 10 ** math.ceil(math.log10(sizes[name] / reference))
            keys = (*keys[:-1], f"{keys[-1]} / {unit}")
            fields = ("difference", "low", "high", "margin")
            numbers = {field: getattr(comparison, field) for field in fields}
            comparison = dataclasses.replace(
                comparison,
                **{
                    field: number if number is None else number / unit
                    for field, number in numbers.items()
                },
            )
        scaled.append(_Row(keys, comparison))
    return scaled


def _without_shared_metric(rows: list[_Row]) -> tuple[list[_Row], str]:
    """If all rows share a metric, removes it from their labels, and returns it, too."""
    metrics = {row.keys[1:] for row in rows}
    metric = ", ".join(metrics.pop()) if len(metrics) == 1 else ""
    if metric:
        rows = [_Row(row.keys[:1], row.comparison) for row in rows]
    return rows, f", {metric}" * bool(metric)


def _p_text(comparison: Comparison) -> str:
    """Returns the corrected p as text, after "≤" if samples cannot give a smaller p."""
    bound = "≤ " if is_bound(comparison.p, comparison.samples) else ""
    return f"{bound}{comparison.p_corrected:.2g}"


def _draw_intervals(ax: "Axes", rows: Sequence[_Row]) -> None:
    """Draws differences, their intervals and their margins, each in its row."""
    drawn = [(y, row.comparison) for y, row in enumerate(rows) if row.comparison]
    y = np.array([y for y, _ in drawn])  # [comparisons]: titles of groups are rows too
    comparisons = [comparison for _, comparison in drawn]
    difference, low, high = np.array(
        [(result.difference, result.low, result.high) for result in comparisons], float
    ).T
    colour, first = drawing.foreground(ax), comparisons[0]
    ax.axvline(0, color=colour, lw=0.8, zorder=0)
    # Intervals without a bound get no bar on that side here, but an arrow below.
    bars = np.nan_to_num([difference - low, high - difference], posinf=0)
    is_full = np.array([is_significant(comparison) for comparison in comparisons])
    for is_shown, sign, face in (
        (is_full, "≤", colour),
        (~is_full, ">", ax.get_facecolor()),
    ):
        if is_shown.any():  # or the legend would explain markers that are not drawn
            alpha, kind = 1 - first.level, CORRECTION_NAMES[first.correction]
            ax.errorbar(
                difference[is_shown],
                y[is_shown],
                xerr=np.maximum(bars, 0)[:, is_shown],
                fmt="o",
                ms=drawing.SIZE,
                color=colour,
                mfc=face,
                zorder=3,
                label=f"p {sign} {alpha:.2g} ({kind})",
            )
    _shade_margins(ax, drawn)
    ax.margins(x=0.08)
    # Read the limits before drawing arrows, because arrows end there and would move the
    # limits.
    edges = ax.get_xlim()
    is_unknown = np.isinf(low) & np.isinf(high)
    # Where a bound is missing, draw a line to the edge of the axes, with an arrow
    # there.
    for ends, edge, marker in zip((low, high), edges, "<>", strict=True):
        for row in np.flatnonzero(np.isinf(ends)):
            ax.plot(
                [difference[row], edge],
                [y[row], y[row]],
                color=colour,
                ls=":" if is_unknown[row] else "-",
                marker=marker,
                ms=drawing.SIZE,
                markevery=[1],
                clip_on=False,  # half of the arrow lies outside the frame
            )
    ax.set_xlim(edges)


def _shade_margins(ax: "Axes", drawn: Sequence[tuple[int, Comparison]]) -> None:
    """Shades the differences that the margin of each comparison allows."""
    shaded = [
        (
            y,
            0 if comparison.alternative == "less" else -comparison.margin,
            0 if comparison.alternative == "greater" else comparison.margin,
        )
        for y, comparison in drawn
        if comparison.margin is not None
    ]
    if shaded:
        y, low, high = np.array(shaded).T
        style = {"fc": (drawing.COLOURS[5], 0.25), "ec": drawing.COLOURS[0], "ls": "--"}
        ax.barh(y, high - low, 1, low, zorder=0, label="margin", **style)


def _label_rows(
    ax: "Axes", labels: Sequence[str], title: str, texts: Sequence[str]
) -> None:
    """Labels horizontal rows, the first row on top, and adds the legend below them.

    Args:
        ax: The `Axes`; everything else must be drawn, and the x axis labelled.
        labels: The label of each row, at the left.
        title: The title above the texts.
        texts: The text of each row, at the right.
    """
    # Reverse the y axis, so that row 0 is on top.
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_yticks(
        range(len(labels)), list(map(drawing.wrapped, labels)), fontsize="small"
    )
    ax.tick_params(axis="y", length=0)
    style: dict[str, Any] = {
        "xycoords": ax.get_yaxis_transform(),
        "textcoords": "offset points",
        "fontsize": "small",
    }
    right = [
        ax.annotate(text, (1, y), (6, 0), va="center_baseline", **style)
        for y, text in enumerate(texts)
    ]
    right.append(ax.annotate(title, (1, -0.5), (6, 2), va="bottom", **style))
    drawing.legend(ax, is_below=True)
    # Shrink the texts of all rows if any text is higher than a row.
    drawing.root_figure(ax).draw_without_rendering()
    texts_of_rows = (*ax.get_yticklabels(), *right)
    height = max(text.get_window_extent().height for text in texts_of_rows)
    scale = min(ax.bbox.height / len(labels) / height, 1)
    size = scale * float(right[0].get_fontsize())
    for text in texts_of_rows:
        text.set_fontsize(size)


def _directions(rows: list[_Row]) -> set[bool | None]:
    return {row.comparison.lower_is_better for row in rows if row.comparison}


def _labels(rows: list[_Row]) -> list[str]:
    """Returns the labels of rows, with an arrow if lower is better in only some rows."""
    is_mixed = len(_directions(rows)) > 1
    labels = []
    for row in rows:
        is_lower = row.comparison is not None and row.comparison.lower_is_better
        labels.append(", ".join(row.keys) + " ↓" * bool(is_mixed and is_lower))
    return labels


def _direction_text(rows: list[_Row], name: str) -> str:
    """Returns a text for the axis label that says on which side b is better."""
    directions = _directions(rows)
    if directions == {False}:
        return f"\n{name} better →"
    if directions == {True}:
        return f"\n← {name} better"
    return "\n↓: lower is better" if True in directions else ""
