"""The values of the one metric of a leaderboard, by task."""

import dataclasses
from collections.abc import Hashable

from jax_rank_metrics._results.systems.systems import (
    Path,
    Record,
    Values,
    by_system,
    is_metric_name,
    label_of,
    only_metric,
    read,
    task_of,
)
from jax_rank_metrics._results.systems.values import listing


def read_tasks(
    systems: Values, metric: str | None, tasks_first: bool
) -> tuple[str | None, dict[Hashable, dict[Hashable, Record]]]:
    """Reads the values of one metric of all systems, by task.

    Args:
        systems: See `leaderboard`.
        metric: The name of the metric to read, where there are several.
        tasks_first: Whether the keys of tasks come before those of systems.

    Returns:
        The name of the metric; and the records of all systems in each task, which is None
        without tasks.

    Raises:
        ValueError: if systems hold different tasks or metrics.
    """
    # A dict is a set that keeps the order in which names came.
    names: dict[str | None, None] = {}
    tasks: dict[Hashable, dict[Hashable, Record]] = {}
    of_all = read(systems, "systems", "metrics" if tasks_first else "systems")
    if tasks_first:
        # `Systems`, and frames whose columns have several levels, name their systems.
        of_all = [
            dataclasses.replace(x, system=x.path[1], path=x.path[:1] + x.path[2:])
            if x.system is None and x.path[1:]
            else x
            for x in of_all
        ]
    of_systems = by_system(of_all)
    if len(of_systems) < 2:
        raise ValueError("systems: pass a dict of at least two systems")
    tasks_of: dict[Hashable, list[Hashable]] = {}
    for system, records in of_systems.items():
        by_task = _by_task(records, metric, tasks_first)
        tasks_of[system] = [*by_task]
        for task, of_metrics in by_task.items():
            label = label_of("systems", (system,) if task is None else (system, task))
            name = only_metric(of_metrics, label, metric)
            tasks.setdefault(task, {})[system] = of_metrics[name]
            # Values without a name have the one that was asked for.
            names[name or metric] = None
    (first, expected), *following = tasks_of.items()
    for system, of_system in following:
        if {*of_system} != {*expected}:
            raise ValueError(
                f"systems hold different tasks: {first!r} has {_listed(expected)}, and "
                f"{system!r} has {_listed(of_system)}; pass the same tasks for all"
            )
    if len(names) > 1:
        raise ValueError(f"systems hold different metrics: {listing([*names])}")
    return next(iter(names)), tasks


def _by_task(
    records: dict[Path, Record], metric: str | None, tasks_first: bool
) -> dict[Hashable, dict[str | None, Record]]:
    """Sorts the records of a system by task, and those of each by metric.

    A single key may be that of a task or of a metric. Unless tasks come first, keys are of
    metrics if a frame says so, if one of them is `metric`, or if all are names of metrics.
    """
    # {"web": values} is a task, {"mrr": values} a metric, {"web": {"mrr": values}} both.
    keys = [path[0] for path, x in records.items() if len(path) == 1]
    are_of_metrics = not tasks_first and (
        metric in keys
        or any(x.is_of_metric for x in records.values())
        or all(map(is_metric_name, keys))
    )
    are_tasks = len(keys) == len(records) and not are_of_metrics
    by_task: dict[Hashable, dict[str | None, Record]] = {}
    for path, record in records.items():
        task = path[0] if are_tasks else task_of(path)
        name = None if are_tasks else record.metric
        by_task.setdefault(task, {})[name] = record
    return by_task


def _listed(tasks: list[Hashable]) -> str:
    return "none" if None in tasks else listing(tasks)
