"""Plots of means: at cutoffs, over training steps, and of groups of lists."""

import itertools
import math
import numbers
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._names.cutoff_names import cutoff_names, cutoff_of
from jax_rank_metrics._values import on_host
from jax_rank_metrics._values.mean import Mean
from jax_rank_metrics._verdicts import sheets
from jax_rank_metrics._verdicts.plots import drawing
from jax_rank_metrics._verdicts.systems import list_values, reading
from jax_rank_metrics._verdicts.tables.estimates import (
    Estimates,
    estimates,
    estimates_of,
    read_collections,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MARKERS = 25  # at most, on a line with a marker at every point


def at_cutoffs(
    results: reading.Values,
    metric: str | None = None,
    *,
    ks: Sequence[int] | None = None,
    level: types.Number = 0.95,
    method: types.IntervalMethod = "auto",
    ax: "Axes | None" = None,
) -> "Axes":
    """A metric at its cutoffs, as a line with the band of its interval for each run.

    The axis of cutoffs is logarithmic.

    Args:
        results: As for `table`.
        metric: The metric's name before the @, such as "recall". The cutoffs are read from
            the names in the results: "recall@1,5" and "recall@10" become a single line.
            Names of trec_eval also have cutoffs: pass "ndcg_cut" for "ndcg_cut_10".
            None takes the only metric that has cutoffs.
        ks: The cutoffs in order, if the name has none: for example (1, 5) for a metric
            "mine" whose columns in a table are "mine[0]" and "mine[1]".
        level: The probability with which the bands should cover the mean, in (0, 1).
        method: The method of the intervals, see `Mean.confidence_interval`.
        ax: The `Axes` to draw on.

    Raises:
        ValueError: if the results do not hold the metric at a cutoff, or hold several
            metrics with cutoffs and `metric` is None.
    """
    ax = drawing.axes(ax)
    means = estimates(results, level, method)
    metric = _only_metric_of(means) if metric is None else metric
    runs = _lines(means, metric, ks or ())
    _draw_lines(ax, runs)
    cutoffs = {k for by_cutoff in runs.values() for k in by_cutoff}
    ax.set_xscale("log")
    # Put the largest cutoff first, because `fits` below prefers the labels that come
    # first.
    ax.set_xticks(sorted(cutoffs, reverse=True))
    ax.set_xticks([], minor=True)  # minor ticks would be ranks that are no cutoffs
    ax.xaxis.set_major_formatter("{x:g}")
    drawing.label_axes(ax, f"k (bands: {100 * level:g} % intervals)", f"{metric}@k")
    drawing.legend(ax)
    # If panels share the axis, only one of them has labels.
    if labels := ax.get_xticklabels():
        # If cutoffs lie close together, the largest of them keeps its tick.
        are_apart = drawing.fits(ax, labels, 1.6)
        ax.set_xticks(sorted(itertools.compress(ax.get_xticks(), are_apart)))
    return ax


def _lines(
    means: Estimates, metric: str, ks: Sequence[int] = ()
) -> dict[str, dict[int, on_host.Estimate]]:
    """Returns a dict from runs to dicts from ascending cutoffs to means of a metric.

    Runs without the metric at a cutoff are left out.

    Raises:
        ValueError: if no run has the metric at a cutoff.
    """
    # Names such as "mine[0]", "mine[1]", … contain no cutoffs, so take them from `ks`.
    k_of = dict(zip(cutoff_names(metric, len(ks)), ks, strict=True))
    by_run = {}
    for run, by_name in means.items():
        by_cutoff = {}
        for name, estimate in by_name.items():
            head, k = cutoff_of(name) or (metric, k_of.get(name))
            if head == metric and k is not None:
                by_cutoff[k] = estimate
        if by_cutoff:
            # Sort, because results may name 10 before 5, but a line goes from left to
            # right.
            by_run[str(run)] = dict(sorted(by_cutoff.items()))
    if not by_run:
        raise ValueError(
            f"results hold no {metric!r} at a cutoff; pass the name before the @, such as "
            "'recall' for 'recall@1,5,10', or ks for a name of your own"
        )
    return by_run


def _only_metric_of(means: Estimates) -> str:
    """Returns the name before the @ of the only metric that has cutoffs.

    Raises:
        ValueError: if no metric has cutoffs, or if several metrics do.
    """
    names = [name for by_name in means.values() for name in by_name]
    heads = list(dict.fromkeys(pair[0] for name in names if (pair := cutoff_of(name))))
    if len(heads) != 1:
        raise ValueError(
            f"results hold {', '.join(heads) or 'no metric'} at cutoffs; pass metric=, the "
            "name of one metric before the @"
        )
    return heads[0]


def curve(
    runs: reading.Values,
    metric: str,
    *,
    level: types.Number = 0.95,
    ax: "Axes | None" = None,
) -> "Axes":
    """A metric over training steps, as a line with its band for each run.

    The band is the interval of the mean over lists; another training may move the line
    by more. If a step has `Seeds`, that is, several trainings, its band allows for
    lists and trainings. Steps without lists, such as states of `empty`, and steps and
    runs without the metric are left out.

    Args:
        runs: A dict from steps to results, in the forms that `table` takes for a run,
            such as the states of `evaluate`; or a dict from runs to such dicts. Steps
            are numbers of any unit, in any order: batches, epochs or hours.
        metric: The metric's name, with one cutoff if it has cutoffs: "recall@5" for
            "recall@1,5".
        level: The probability with which the bands should cover the mean, in (0, 1).
        ax: The `Axes` to draw on.

    Raises:
        TypeError: if `runs` holds anything else, or steps that are not numbers.
        ValueError: if `runs` is empty, or no step has lists and the metric.
    """
    by_run: dict[str, dict[float, on_host.Estimate]] = {}
    metrics: dict[str, None] = {}  # of all steps, in order
    for run, records in read_collections(runs, "runs").items():
        title = "" if run is None else str(run)
        for step, by_metric in _by_step(title, estimates_of(records, level)):
            metrics |= dict.fromkeys(by_metric)
            if metric in by_metric and by_metric[metric].lists > 0:
                by_run.setdefault(title, {})[step] = by_metric[metric]
    if metric not in metrics:
        raise ValueError(
            f"runs hold no {metric!r}, but {', '.join(metrics)}; pass one of these names"
        )
    if not by_run:
        raise ValueError(
            f"runs hold no list for {metric!r}; pass results of at least one list"
        )
    ax = drawing.axes(ax)
    _draw_lines(ax, by_run)
    drawing.label_axes(ax, f"step (bands: {100 * level:g} % intervals)", metric)
    if all(step == int(step) for by_step in by_run.values() for step in by_step):
        from matplotlib.ticker import MaxNLocator

        # Put ticks at whole numbers, because there is nothing between two epochs.
        # Logarithmic axes have no such option.
        locator = ax.xaxis.get_major_locator()
        if isinstance(locator, MaxNLocator):
            locator.set_params(integer=True)
    drawing.legend(ax)
    return ax


def _by_step(
    run: str, estimates: Mapping[Hashable, dict[str, on_host.Estimate]]
) -> list[tuple[float, dict[str, on_host.Estimate]]]:
    """Returns pairs of a step and the estimates of its metrics, in ascending order.

    Raises:
        TypeError: if a step is not a finite number, or has no dict of metrics.
    """
    name = f"runs[{run!r}]" if run else "runs"
    by_step = []
    for step, by_metric in estimates.items():
        if step == "":  # the results lack steps, or the names of metrics
            step = next(iter(by_metric))
        is_number = isinstance(step, numbers.Real) and not isinstance(step, bool)
        number = float(step) if isinstance(step, numbers.Real) else math.nan
        if not is_number or not math.isfinite(number):
            raise TypeError(
                f"{name}: step {step!r} is not a finite number; pass a dict from steps to "
                "dicts from metrics to states, or a dict from runs to such dicts"
            )
        by_step.append((number, by_metric))
    return sorted(by_step, key=lambda pair: pair[0])


def _draw_lines(ax: "Axes", runs: Mapping[str, Mapping[Any, on_host.Estimate]]) -> None:
    """Draws the means of each run as a line, and their intervals as a band.

    Args:
        ax: The `Axes`.
        runs: A dict from runs to dicts from x, in ascending order, to estimates.
    """
    for index, (run, by_x) in enumerate(runs.items()):
        x, look = np.array(list(by_x)), drawing.look(index)
        means, low, high = np.array([point[:3] for point in by_x.values()], float).T
        # A single list has no interval, and an infinite band would hide the plot.
        is_finite = np.isfinite(low) & np.isfinite(high)
        label = run if is_finite.any() else f"{run} (no interval)".lstrip()
        if len(x) > MARKERS:
            # Draw about ten markers, at different points for each run. Space markers by
            # index, because a jagged line would have many more of them at equal
            # distances along the line.
            stride = math.ceil(len(x) / 10)
            look["markevery"] = (index * stride // len(runs), stride)
        ax.plot(x, means, label=drawing.label(label), **look)
        # The band of an isolated point has no width, so draw a vertical line there; for
        # [T, F, T, T, F, T], at the first and the last point.
        padded = np.pad(is_finite, 1)
        is_alone = is_finite & ~padded[:-2] & ~padded[2:]
        if is_alone.any():
            ends = low[is_alone], high[is_alone]
            ax.vlines(x[is_alone], *ends, color=look["color"], lw=1.3)
        has_width = is_finite & ~is_alone
        if has_width.any():
            # Bands of many runs overlap, so make them more transparent.
            alpha = min(0.2, 0.6 / len(runs))
            band: dict[str, Any] = {"where": has_width, "alpha": alpha, "lw": 0}
            ax.fill_between(x, low, high, color=look["color"], **band)


def precision_recall(
    results: reading.Values,
    precision: str = "precision",
    recall: str = "recall",
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """Mean precision against mean recall at the same cutoffs, as a line for each run.

    Points are the means over lists at each cutoff, without interpolation. Cutoffs are
    written beside the points if they fit, from the first run to the last.

    Args:
        results: As for `table`.
        precision: The name of precision in the results, before the @, such as
            "precision" or "p".
        recall: The name of recall in the results, before the @.
        ax: The `Axes` to draw on.

    Raises:
        ValueError: if a run has no cutoff with both metrics.
    """
    ax = drawing.axes(ax)
    means = estimates(results, 0.95)
    by_run, recalls = _lines(means, precision), _lines(means, recall)
    labels = []
    for index, (run, precisions) in enumerate(by_run.items()):
        ks = [k for k in precisions if k in recalls.get(run, {})]
        if not ks:
            raise ValueError(
                f"run {run!r} has no cutoff of both {precision!r} and {recall!r}; pass "
                "both at the same cutoffs"
            )
        points = [(recalls[run][k].mean, precisions[k].mean) for k in ks]
        ax.plot(
            *zip(*points, strict=True), label=drawing.label(run), **drawing.look(index)
        )
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": "x-small"}
        labels += [
            ax.annotate(f"{k}", point, (4, 4), **style)
            for k, point in zip(ks, points, strict=True)
        ]
    ax.margins(0.1)  # room for the cutoffs
    drawing.label_axes(ax, f"{recall}@k", f"{precision}@k")
    drawing.legend(ax)
    # Do this last, because the legend takes room from the axes, so that points move
    # together.
    for label, is_apart in zip(labels, drawing.fits(ax, labels, 1.2), strict=True):
        if not is_apart:
            label.remove()
    return ax


def by_group(
    states: Any,
    names: Sequence[str] | None = None,
    *,
    metric: str | None = None,
    level: types.Number = 0.95,
    method: types.IntervalMethod = "auto",
    ax: "Axes | None" = None,
) -> "Axes":
    """Means of groups of lists with their intervals, with runs side by side.

    A group without an interval, such as a single list, has a hollow marker on a dotted
    line, because its mean may be anywhere.

    Args:
        states: The result of `PerList.by`, or of `Evaluation.by`; or a dict from runs
            to such results.
        names: For `Evaluation.by`, all of its keys, in the order to draw them; for
            `PerList.by`, the names of its groups, from group 0 on. None takes the order
            of the first run.
        metric: The metric to show, such as "ndcg@10", if groups hold several.
        level: The probability with which the intervals should cover the mean, in (0, 1).
        method: The method of the intervals, see `Mean.confidence_interval`.
        ax: The `Axes` to draw on.

    Raises:
        TypeError: if `states` holds anything but states.
        ValueError: if states are not stacked along one axis, or have several cutoffs; if
            runs differ in their groups, or if `names` differ from the groups; if groups
            lack the metric, or hold several metrics and `metric` is None.
    """
    runs = states if _holds_runs(states) else {"": states}
    if not runs:
        raise ValueError("by_group: states holds no group; pass at least one")
    groups_of = {
        run: _groups(source, metric, level, method) for run, source in runs.items()
    }
    # Match named groups by name, and draw them in the order of `names`.
    order = list(next(iter(groups_of.values())))
    inputs.refuse_missing("names", list([] if names is None else names))
    labels = order if names is None else list(map(str, names))
    is_named = any(map(reading.is_nested, runs.values()))
    order = labels if is_named else order
    for run, groups in groups_of.items():
        if len(labels) != len(order) or sorted(groups) != sorted(order):
            raise ValueError(
                f"by_group: {f'run {run!r}' if run else 'states'} has the groups "
                f"{list_values.listing(list(groups))}, and the "
                f"{'first run has' if names is None else 'names are'} "
                f"{list_values.listing(labels)}; pass the same groups"
                f"{' for all' if names is None else ', in any order'}"
            )
        groups_of[run] = {name: groups[name] for name in order}
    first = next(iter(groups_of.values()))
    ax = drawing.axes(ax)
    width = 0.6 / len(runs)
    has_unknown = False
    for index, (run, groups) in enumerate(groups_of.items()):
        # For example, three runs stand 0.2 left of a group, in its middle and 0.2 right.
        x = np.arange(len(groups)) + (index - (len(runs) - 1) / 2) * width
        mean, low, high = np.array([point[:3] for point in groups.values()], float).T
        has_lists = np.array([estimate.lists > 0 for estimate in groups.values()])
        margins = np.stack([mean - low, high - mean])  # [2, groups]
        is_known = has_lists & np.isfinite(margins).all(axis=0)
        is_unknown = has_lists & ~is_known
        look = drawing.look(index)
        style = {"color": look["color"], "marker": look["marker"], "ms": drawing.SIZE}
        ax.errorbar(
            x[is_known],
            mean[is_known],
            yerr=margins[:, is_known],
            ls="",
            capsize=3 if len(runs) * len(groups) <= 20 else 0,
            label=drawing.label(run),
            **style,
        )
        for center in x[is_unknown]:
            ax.axvline(center, color=look["color"], ls=":", lw=1, alpha=0.6)
        hollow = {"ls": "", "mfc": ax.get_facecolor()}
        ax.plot(x[is_unknown], mean[is_unknown], **style, **hollow)
        has_unknown |= bool(is_unknown.any())
    if has_unknown:
        # Use an error bar, because a legend lists lines first, before the error bars of
        # the runs.
        style = {"color": drawing.foreground(ax), "mfc": "none", "ms": drawing.SIZE}
        ax.errorbar([], [], fmt="o", label="no interval", **style)
    sizes = [[cell.lists for cell in groups.values()] for groups in groups_of.values()]
    # A group has a single label, so show the number of lists only if it is the same in
    # all runs.
    are_equal = all(counts == sizes[0] for counts in sizes)
    counts = [sheets.count_text(size, "list") if are_equal else "" for size in sizes[0]]
    ax.set_xlim(-0.5, len(first) - 0.5)
    drawing.label_axes(ax, "", f"mean and {100 * level:g} % interval")
    drawing.legend(ax)
    _label_groups(ax, labels, counts)
    return ax


def _label_groups(ax: "Axes", names: Sequence[str], counts: Sequence[str]) -> None:
    """Labels the groups on the x axis, upright if there is room for all names, else turned.

    Args:
        ax: The `Axes`, with everything else drawn.
        names: The names of the groups.
        counts: Texts with the numbers of lists of the groups; "" shows none.
    """
    pairs = list(zip(names, counts, strict=True))
    upright = [f"{drawing.wrapped(name, 12)}\n{count}".strip() for name, count in pairs]
    ax.set_xticks(range(len(names)), upright, fontsize="small")
    if not all(drawing.fits(ax, ax.get_xticklabels(), 1.5)):
        # Keep each count on one line.
        pairs = [(name, count.replace(" ", "\u00a0")) for name, count in pairs]
        turned = [drawing.wrapped(", ".join(filter(None, pair)), 20) for pair in pairs]
        ax.set_xticks(range(len(names)), turned, rotation=90)


def _holds_runs(states: Any) -> bool:
    """True if `states` is a dict of runs, rather than the groups of a single run."""
    if not reading.is_nested(states):
        return False
    # {run: stacked state}, {group: {metric: state}} or {run: {group: {metric: state}}}.
    first = next(iter(states.values()), None)
    if not isinstance(first, Mapping):
        return True
    return isinstance(next(iter(first.values()), None), Mapping)


def _groups(
    source: Any, metric: str | None, level: types.Number, method: types.IntervalMethod
) -> dict[str, on_host.Estimate]:
    """Returns a dict from the names of groups, or else their numbers, to estimates."""
    if not reading.is_nested(source):
        return _stacked_groups(source, level, method)
    groups = {}
    by_group = estimates({str(key): run for key, run in source.items()}, level, method)
    for name, by_metric in by_group.items():
        if len(by_metric) > 1 and metric not in by_metric or not by_metric:
            raise ValueError(
                f"by_group: group {name!r} holds {', '.join(by_metric)}; pass metric=, "
                "the name of one of them"
            )
        groups[name] = by_metric[metric or next(iter(by_metric))]
    return groups


def _stacked_groups(
    state: Any, level: types.Number, method: types.IntervalMethod
) -> dict[str, on_host.Estimate]:
    """Reads the estimates from states that `PerList.by` stacked."""
    if not isinstance(state, Mean):
        raise TypeError(
            f"by_group: got {inputs.kind_of(state)}; pass the result of PerList.by"
        )
    if jnp.ndim(state.counts) != 2 or jnp.ndim(state.sums.high) != 2:
        raise ValueError(
            "by_group needs states of one cutoff, stacked along one axis of groups; "
            "pass the result of PerList.by"
        )
    state = jax.device_get(state)
    # Read each group as a run whose only metric is "mean".
    groups = {
        str(group): {"mean": jax.tree.map(lambda leaf, group=group: leaf[group], state)}
        for group in range(len(state.counts))
    }
    by_group = estimates(groups, level, method)
    return {str(group): by_metric["mean"] for group, by_metric in by_group.items()}
