"""Reads the values of one metric: of one system, or of many, over lists or over tasks."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from jax_rank_metrics._results.inference.bootstrap import Bootstrap
from jax_rank_metrics._results.systems.values import (
    ListValues,
    is_by_list,
    is_metric_name,
    listing,
    read_values,
)
from jax_rank_metrics._states.state import stacked_shape


class Systems(NamedTuple):
    """The values of one metric of many systems."""

    metric: str | None
    tasks: dict[Hashable, list[Any]]  # of each system, in order; one task None without
    are_states: bool  # whether values are `Bootstrap` states, or `ListValues`


class _Source(NamedTuple):
    """The values of a system in a task, with the name of the metric."""

    metric: str | None
    values: ListValues | Bootstrap


def read_systems(systems: Mapping[Hashable, Any], metric: str | None) -> Systems:
    """Reads the values of one metric of all systems, by task.

    Args:
        systems: See `leaderboard`.
        metric: The name of the metric to read, where there are several.

    Raises:
        ValueError: if systems hold different tasks or metrics, or if only some of the
            values are states.
        TypeError: if values are no values of lists.
    """
    by_system = {
        system: _by_task(f"systems[{system!r}]", values, metric)
        for system, values in systems.items()
    }
    first, *following = by_system.items()
    for system, by_task in following:
        if by_task.keys() != first[1].keys():
            raise ValueError(
                f"systems hold different tasks: {first[0]!r} has {_tasks(first[1])}, and "
                f"{system!r} has {_tasks(by_task)}; pass the same tasks for all"
            )
    sources = [source for tasks in by_system.values() for source in tasks.values()]
    metrics = list(dict.fromkeys(source.metric for source in sources))
    if len(metrics) > 1:
        raise ValueError(f"systems hold different metrics: {listing(metrics)}")
    state_count = sum(isinstance(source.values, Bootstrap) for source in sources)
    if 0 < state_count < len(sources):
        raise ValueError(
            "only some values are Bootstrap states; pass states for all systems and "
            "tasks, or values of lists for all"
        )
    tasks = {
        task: [by_task[task].values for by_task in by_system.values()]
        for task in first[1]
    }
    return Systems(metrics[0], tasks, state_count > 0)


def _by_task(name: str, values: Any, metric: str | None) -> dict[Hashable, _Source]:
    """Reads the values of a system by task; without tasks, those of the task None."""
    is_dict = isinstance(values, Mapping) and not is_by_list(values)
    if not is_dict or _holds_metrics(values, metric):
        return {None: _source(name, values, metric)}
    if not values:
        raise ValueError(f"{name} is empty; pass values of lists")
    return {
        task: _source(f"{name}[{task!r}]", of_task, metric)
        for task, of_task in values.items()
    }


def _holds_metrics(values: Mapping[Hashable, Any], metric: str | None) -> bool:
    """Whether a dict holds metrics, not tasks."""
    return metric in values or (bool(values) and all(map(is_metric_name, values)))


def _source(name: str, values: Any, metric: str | None) -> _Source:
    """Reads the values of one metric at one cutoff."""
    if isinstance(values, Mapping) and not is_by_list(values):
        metric = only_metric(name, list(values), metric)
        values, name = values[metric], f"{name}[{metric!r}]"
    if isinstance(values, Bootstrap):
        if stacked_shape(values):
            raise ValueError(f"{name} is stacked; pass reduce of it")
        if values.sums.high.ndim > 2:
            raise ValueError(f"{name} has several cutoffs; measure one")
        return _Source(metric, values)
    return _Source(*values_of_metric(values, name, metric))


def values_of_metric(
    tree: Any, name: str, metric: str | None = None
) -> tuple[Any, ListValues]:
    """Reads the values of one metric at one cutoff, and the name of the metric.

    Args:
        tree: As for `read_values`.
        name: The name of the argument, for messages.
        metric: The name of the metric to read, where there are several.

    Raises:
        TypeError: if it holds no per-list values.
        ValueError: if it holds no such metric, or several; if the metric has several
            cutoffs.
    """
    by_path = read_values(tree, name)
    if () not in by_path:
        metric = only_metric(name, [path[-1] for path in by_path], metric)
    values = {path[-1] if path else metric: x for path, x in by_path.items()}[metric]
    if values.has_cutoffs:
        raise ValueError(
            f"{values.name} has several cutoffs; measure one, such as 'recall@5'"
        )
    return metric, values


def only_metric(name: str, metrics: list[Any], metric: str | None) -> Any:
    """Returns `metric`, or the only one that there is; ValueError unless it is one."""
    matches = [x for x in metrics if metric is None or x == metric]
    if len(matches) != 1:
        raise ValueError(
            f"{name} holds {listing(metrics) or 'no metric'}; pass metric=, the name of one"
        )
    return matches[0]


def _tasks(by_task: Mapping[Hashable, Any]) -> str:
    return "none" if None in by_task else listing(list(by_task))
