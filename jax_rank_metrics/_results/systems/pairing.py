"""Pairs the lists of two systems, by ids or by position."""

import itertools
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from jax_rank_metrics._choices import Pairs
from jax_rank_metrics._results.inference.question import Names
from jax_rank_metrics._results.systems.differences import in_order_of
from jax_rank_metrics._results.systems.values import (
    ListValues,
    Path,
    checked_ids,
    is_by_list,
    is_metric_name,
    listing,
    read_values,
)
from jax_rank_metrics._states.cutoff_names import cutoff_names, cutoff_text

Ids = tuple[Any, Any] | None
Values = dict[Path, ListValues]  # of one system, by the keys that lead to each metric


class Pair(NamedTuple):
    """The values of one metric of two systems, a before b."""

    a: ListValues
    b: ListValues
    metric: Path = ()  # the keys that lead to the metric within a system
    systems: tuple[int, int] = (0, 1)  # the numbers of the systems, the baseline's is 0
    names: tuple[Hashable, Hashable] = (None, None)  # of the systems, if they have any

    def record_names(self) -> list[Names]:
        """Names the comparison at each cutoff.

        The last key that leads to a metric is its name, and those before it are a task:
        ("web", "recall@1,5") has the task "web" and the metrics "recall@1" and "recall@5".
        """
        *tasks, metric = self.metric or (None,)
        task = tasks[0] if len(tasks) == 1 else tuple(tasks) or None
        name = None if metric is None else str(metric)
        labels: list[str | None] = [name]
        if self.a.has_cutoffs:
            labels = [*cutoff_names(name or "", self.a.lists.values.shape[1])]
        return [Names(task, *self.names, x, x and cutoff_text(x)) for x in labels]


def pairs_of(a: Any, b: Any, pairs: Pairs = "baseline") -> list[Pair]:
    """Pairs the metrics of systems.

    Args:
        a: The values of the baseline; or a dict of systems where b is None.
        b: The values of another system, a dict of such systems, or None.
        pairs: Whether each system is paired with the first alone, or with all.

    Raises:
        ValueError: if either holds no metric, if the metrics of systems differ, or if
            values differ in the number of lists where they must not.
    """
    systems = _systems_in(a) if b is None else _baseline_and(a, b)
    if b is not None and pairs == "all":
        raise ValueError(
            "pairs='all' takes all systems in one dict; leave b out, and pass "
            "compare({name: values, …}, pairs='all')"
        )
    couples = itertools.combinations(range(len(systems)), 2)
    return [
        Pair(
            systems[i][1][metric],
            systems[j][1][metric],
            metric,
            (i, j),
            (systems[i][0], systems[j][0]),
        )
        for i, j in couples
        if pairs == "all" or i == 0
        for metric in systems[0][1]
    ]


def _systems_in(tree: Any) -> list[tuple[Hashable, Values]]:
    """Reads a dict of systems, each under its name."""
    if not isinstance(tree, Mapping) or is_by_list(tree) or len(tree) < 2:
        number = "no" if isinstance(tree, Mapping) and not tree else "one"
        raise ValueError(
            f"a holds {number} system; pass b, or a dict of two or more systems"
        )
    if all(map(is_metric_name, tree)):
        raise ValueError(
            f"a holds the metrics {listing(list(tree))} of one system; pass b, or a dict "
            "of systems, each with its metrics"
        )
    values = read_values(tree, "a")
    systems = [
        (name, {path[1:]: x for path, x in values.items() if path[0] == name})
        for name in tree
    ]
    (baseline, metrics), *following = systems
    for system, system_metrics in following:
        if metrics.keys() != system_metrics.keys():
            raise ValueError(
                f"a[{baseline!r}] holds {keys_text(metrics)} and a[{system!r}] holds "
                f"{keys_text(system_metrics)}; pass values of the same metrics for all "
                "systems"
            )
    if not metrics:
        raise ValueError("a holds no metric; pass at least one")
    _check_list_counts(values)
    return systems


def _baseline_and(a: Any, b: Any) -> list[tuple[Hashable, Values]]:
    """Reads the baseline a, and the system or the systems in b."""
    baseline, compared = read_values(a, "a"), read_values(b, "b")
    for name, values in (("a", baseline), ("b", compared)):
        if not values:
            raise ValueError(f"{name} holds no metric; pass at least one")
    systems: list[Path] = [()]
    if baseline.keys() != compared.keys():
        # All keys of b must be a system's name followed by a metric of a.
        is_nested = isinstance(b, Mapping) and () not in compared
        systems = [(name,) for name in b] if is_nested else []
        expected = {(*system, *path) for system in systems for path in baseline}
        if compared.keys() != expected:
            raise ValueError(
                f"a holds {keys_text(baseline)} and b holds {keys_text(compared)}; pass "
                "values of the same metrics, or as b a dict of systems, each with the "
                "metrics of a"
            )
    for side in (baseline, compared):
        _check_list_counts(side)
    return [(None, baseline)] + [
        (
            name[0] if name else None,
            {path: compared[*name, *path] for path in baseline},
        )
        for name in systems
    ]


def _check_list_counts(values: Values) -> None:
    first, *following = values.values()
    for metric in following:
        if metric.list_count != first.list_count:
            if first.ids is not None and metric.ids is not None:
                in_order_of(first, metric)  # names the ids that are missing
            raise ValueError(
                f"{first.name} has {first.list_count} lists and {metric.name} has "
                f"{metric.list_count}; pass values of the same lists"
            )


def nested(results: dict[Path, Any]) -> Any:
    """Returns the results as nested dicts; a result with the empty path, as it is.

    >>> nested({("mine", "map"): 1, ("mine", "mrr"): 2}), nested({(): 3})
    ({'mine': {'map': 1, 'mrr': 2}}, 3)
    """
    if set(results) == {()}:
        return results[()]
    parts: dict[Any, dict[Path, Any]] = {}
    for (key, *following), result in results.items():
        parts.setdefault(key, {})[tuple(following)] = result
    return {key: nested(part) for key, part in parts.items()}


def with_ids(pairs: list[Pair], ids: Ids) -> list[Pair]:
    """Returns the pairs with an id for each list, in one order for a of all pairs.

    Values that came with ids keep them. The other values take `ids`, which is
    `(ids_a, ids_b)`; if that is None, lists are numbered 0, 1, … on both sides.

    Raises:
        ValueError: if only one side has ids; if there are no ids and the sides differ in
            the number of lists; if `ids` is passed for values that came with ids; if the
            values of a are of different lists.
        TypeError: if `ids` is not a tuple of two sequences.
    """
    first_a, first_b = pairs[0][:2]
    sides = [values for pair in pairs for values in pair[:2]]
    named = [values for values in sides if values.ids is not None]
    unnamed = [values for values in sides if values.ids is None]
    if ids is not None:
        if named:
            raise ValueError(f"{named[0].name} has list ids of its own; leave ids out")
        if not isinstance(ids, (tuple, list)) or len(ids) != 2:
            raise TypeError("ids: pass a tuple (ids_a, ids_b)")
        ids_a = checked_ids("a", ids[0], first_a.list_count)
        ids_b = checked_ids("b", ids[1], first_b.list_count)
    elif named and unnamed:
        raise ValueError(
            f"{named[0].name} has list ids and {unnamed[0].name} has none, so nothing says "
            "which lists belong together; pass both as a Series or a dict of ids to "
            "values, or both as arrays, with ids="
        )
    elif named:
        ids_a = ids_b = None
    else:
        if first_a.list_count != first_b.list_count:
            raise ValueError(
                f"{first_a.name} has {first_a.list_count} lists and {first_b.name} has "
                f"{first_b.list_count}; pass ids=, which say which of them belong together"
            )
        ids_a = ids_b = list(range(first_a.list_count))
    if not named:
        pairs = [
            pair._replace(a=pair.a._replace(ids=ids_a), b=pair.b._replace(ids=ids_b))
            for pair in pairs
        ]
    return [pair._replace(a=in_order_of(pairs[0].a, pair.a)) for pair in pairs]


def keys_text(values: Values) -> str:
    """Lists the metrics of a system for an error message."""
    if set(values) == {()}:
        return "one array"
    return listing([path[0] if len(path) == 1 else path for path in values])
