"""The values of the one metric of a leaderboard, by task."""

from collections.abc import Hashable
from typing import NamedTuple

from jax_rank_metrics._results.inference.bootstrap import Bootstrap
from jax_rank_metrics._results.systems.systems import (
    Path,
    Record,
    Values,
    by_system,
    is_metric_name,
    label_of,
    lists_at_cutoff,
    only_metric,
    read,
    task_of,
)
from jax_rank_metrics._results.systems.values import ListValues, listing
from jax_rank_metrics._states.state import stacked_shape


class Tasks(NamedTuple):
    """The values of one metric of all systems: all of lists, or all `Bootstrap` states."""

    systems: list[Hashable]
    metric: str | None
    records: dict[Hashable, list[Record]]  # of each system; the task None without tasks
    are_states: bool

    def lists(self, task: Hashable) -> list[ListValues]:
        """Returns the values of all systems in a task."""
        return [lists_at_cutoff(x) for x in self.records[task]]

    def states(self, task: Hashable) -> list[Bootstrap]:
        """Returns the states of all systems in a task."""
        states = []
        for record in self.records[task]:
            state = record.source
            assert isinstance(state, Bootstrap)
            if stacked_shape(state):
                raise ValueError(f"{record.name} is stacked; pass reduce of it")
            if state.sums.high.ndim > 2:
                raise ValueError(f"{record.name} has several cutoffs; measure one")
            states.append(state)
        return states


def read_tasks(systems: Values, metric: str | None) -> Tasks:
    """Reads the values of one metric of all systems, by task.

    Args:
        systems: See `leaderboard`.
        metric: The name of the metric to read, where there are several.

    Raises:
        ValueError: if systems hold different tasks or metrics, or if only some of the
            values are states.
        TypeError: if values are no values of lists.
    """
    by_task: dict[Hashable, dict[Hashable, Record]] = {}
    metrics: dict[str | None, None] = {}
    of_systems = by_system(read(systems, "systems", "systems"))
    if len(of_systems) < 2:
        raise ValueError("systems: pass a dict of at least two systems")
    for system, records in of_systems.items():
        by_task[system] = {}
        for task, of_metrics in _by_task(records, metric).items():
            label = label_of("systems", (system,) if task is None else (system, task))
            name = only_metric(of_metrics, label, metric)
            by_task[system][task] = of_metrics[name]
            metrics[name or metric] = None
    first, *following = by_task.items()
    for system, records in following:
        if records.keys() != first[1].keys():
            raise ValueError(
                f"systems hold different tasks: {first[0]!r} has {_listed(first[1])}, and "
                f"{system!r} has {_listed(records)}; pass the same tasks for all"
            )
    if len(metrics) > 1:
        raise ValueError(f"systems hold different metrics: {listing([*metrics])}")
    rows = {task: [x[task] for x in by_task.values()] for task in first[1]}
    are_states = {isinstance(x.source, Bootstrap) for row in rows.values() for x in row}
    if len(are_states) > 1:
        raise ValueError(
            "only some values are Bootstrap states; pass states for all systems and "
            "tasks, or values of lists for all"
        )
    return Tasks([*of_systems], next(iter(metrics)), rows, are_states == {True})


def _by_task(
    records: dict[Path, Record], metric: str | None
) -> dict[Hashable, dict[str | None, Record]]:
    """Sorts the records of a system by task, and those of each by metric.

    A single key may be that of a task or of a metric. Keys are of metrics if a frame says
    so, if one of them is `metric`, or if all are names of metrics.
    """
    keys = [path[0] for path, x in records.items() if len(path) == 1]
    are_tasks = (
        len(keys) == len(records)
        and metric not in keys
        and not any(x.is_of_metric for x in records.values())
        and not all(map(is_metric_name, keys))
    )
    by_task: dict[Hashable, dict[str | None, Record]] = {}
    for path, record in records.items():
        task = path[0] if are_tasks else task_of(path)
        name = None if are_tasks else record.metric
        by_task.setdefault(task, {})[name] = record
    return by_task


def _listed(tasks: dict[Hashable, Record]) -> str:
    return "none" if None in tasks else listing(list(tasks))
