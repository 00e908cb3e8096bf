"""Values of lists as records of systems, tasks and metrics: the one reader of input.

Values of one metric are a `PerList`, an array `[lists]` or `[lists, cutoffs]`, a pandas
Series, or a dict of list ids to numbers. A dict of metrics, a pandas DataFrame with a
column for each metric, and the result of a driver hold several. A Series, a frame, a dict
of ids and a `UserEvaluation` say which list each value belongs to. `Seeds` hold values of
several training seeds. States and estimates stand for values where only means are needed.

`pairs_of` pairs the records of systems for `compare`, and `read_tasks` sorts those of one
metric by task for `leaderboard`.
"""

import dataclasses
import functools
import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeGuard, TypeVar

import jax

from jax_rank_metrics import _inputs
from jax_rank_metrics._choices import Pairs
from jax_rank_metrics._inputs import kind_of
from jax_rank_metrics._metrics.metric import NAMES
from jax_rank_metrics._results.inference.judges import PredictionPowered
from jax_rank_metrics._results.sheet import count_text
from jax_rank_metrics._results.systems.list_values import (
    FIX,
    ListValues,
    is_by_list,
    listing,
    read_lists,
)
from jax_rank_metrics._states.by_name import StatesByName
from jax_rank_metrics._states.cutoff_names import cutoff_names, without_cutoff
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.on_host import Estimate
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._states.state import State
from jax_rank_metrics._trec import metric_part
from jax_rank_metrics._types import Undefined

T = TypeVar("T")
# Whatever can be read; `Systems` lists it.
Values: TypeAlias = object
# The keys that lead to values in nested dicts, such as ("web", "recall@1,5").
Path = tuple[Hashable, ...]
# Results under the keys that led to the input.
Nested: TypeAlias = T | dict[Hashable, "Nested[T]"]
FIX_RUNS = (
    "pass a dict of metrics to states, as evaluate gives it, or a dict of runs to such "
    "dicts"
)


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """The values of one metric of one system, at all of its cutoffs.

    Attributes:
        name: What errors call the values: `a['new']['recall@1,5']`.
        path: The keys of the task, then that of the metric; () for values without a name.
        source: The values as they were passed.
        system: The name of the system; None without one.
        ids: The ids of the lists, if what holds the values has them.
        undefined: The choice that the values were measured with, if their holder says so.
        state: The state of an evaluation that holds values, too.
        is_of_metric: Whether a frame, an evaluation or `Seeds` say that `path` ends in a
            metric; otherwise it ends in a key of a dict.
        was_asked_for: Whether a caller named the metric, unlike popularity beside it.
    """

    name: str
    path: Path
    source: object
    system: Hashable = None
    ids: Any = None
    undefined: Undefined | None = None
    state: Mean | None = None
    is_of_metric: bool = False
    was_asked_for: bool = True

    @functools.cached_property
    def lists(self) -> ListValues:
        """The values in NumPy, which are read once.

        Raises:
            TypeError: if values are traced, are not numbers, or are a state.
            ValueError: see `read_lists`.
        """
        if isinstance(self.source, ListValues):
            # Read before, as those of `Seeds` are; only errors call them differently here.
            return dataclasses.replace(self.source, name=self.name)
        return read_lists(self.name, self.source, self.ids, self.undefined)

    @property
    def is_on_this_host(self) -> bool:
        """Whether `lists` can be read here: no state, and no part of other hosts."""
        source = self.source
        if isinstance(source, PerList):
            # Before it is gathered, an evaluation has padding, which has no ids.
            is_whole = self.ids is None or not is_spread(source.weights)
            return is_whole and _inputs.is_readable(source.weights)
        return not isinstance(source, State | Estimate | PredictionPowered)

    @property
    def keys(self) -> Path:
        """The name of the system, if it has one, and the keys within it."""
        return self.path if self.system is None else (self.system, *self.path)

    @property
    def task(self) -> Hashable:
        """The key of the task; None without tasks, a tuple of several keys."""
        return task_of(self.path)

    @property
    def metric(self) -> str | None:
        """The name of the metric with all of its cutoffs; None without a name."""
        return str(self.path[-1]) if self.path else None

    def labels(self) -> list[str | None]:
        """Names the metric at each cutoff: `["recall@1", "recall@5"]`."""
        if not self.lists.has_cutoffs:
            return [self.metric]
        return [*cutoff_names(self.metric or "", self.lists.weights.shape[1])]


Metrics = dict[Path, Record]  # of one system, by the keys that lead to each metric
# The records of one metric of two systems, a before b, and the numbers of the systems,
# of which the baseline's is 0.
Pair = tuple[Record, Record, tuple[int, int]]


class SeedValues:
    """The base of `Seeds`, which hold a record of each metric over all seeds."""

    records: list[Record]


def task_of(path: Path) -> Hashable:
    """Returns the task of a path: all keys but the last, which names the metric."""
    tasks = path[:-1]
    return tasks[0] if len(tasks) == 1 else tasks or None


class Systems:
    """The values of lists of systems, read once from whatever holds them.

    `compare`, `leaderboard`, `table`, `to_frame` and the plots read what is passed to them
    in this way, and take a `Systems` in its place: then ids are checked and values are
    converted once for all of them.

    It is a collection of records, one for each system, task and metric, with the attributes
    `system`, `task` and `metric`, and `lists`, the values in NumPy.

    Args:
        values: A dict of systems to values of one metric; to dicts of metrics to these; or
            to dicts of tasks to such dicts. Values of one metric are a `PerList`, an array
            `[lists]` or `[lists, cutoffs]`, a pandas Series, a dict of list ids to
            numbers, `Seeds` of these, or a state, of which only means are known. A frame
            of pandas or polars with a column for each metric, and the ids of lists in its
            index or in a column called list, query, qid, user or the like, and the result
            of `evaluate_users` or of another driver stand for dicts of metrics. NaN in a
            Series or a frame is a list in which the metric is undefined. A dict whose keys
            are all names of metrics holds those of a single system.
        tasks_first: Whether the keys of tasks come before those of systems, as in tables
            of several collections: `{task: {system: {metric: values}}}`.

    Raises:
        TypeError: if values are traced, or are no numbers.
        ValueError: if values have neither one axis nor two; if ids repeat, or are more or
            fewer than lists; if a dict is empty, or maps names of metrics to numbers,
            which are means.

    >>> values = {"old": {"mrr": [0.2, 0.5], "recall@1,5": [[0, 1], [0, 1]]},
    ...           "new": {"mrr": [0.4, 0.6], "recall@1,5": [[0, 1], [1, 1]]}}
    >>> systems = Systems(values)
    >>> systems
    Systems(2 systems × 2 metrics, 2 lists)
    >>> [(x.system, x.metric, x.lists.values.shape) for x in systems][:2]
    [('old', 'mrr', (1, 2, 1)), ('old', 'recall@1,5', (1, 2, 2))]
    """

    def __init__(self, values: Values, *, tasks_first: bool = False) -> None:
        first = "systems" if _holds_systems(values) else "metrics"
        self.records = tuple(read(values, "values", "tasks" if tasks_first else first))
        for record in self.records:
            if record.is_on_this_host:
                _ = record.lists  # so that what cannot be read is told here

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Systems":
        """Makes an object of records that were read before."""
        systems = cls.__new__(cls)
        systems.records = tuple(records)
        return systems

    def __iter__(self) -> Iterator[Record]:
        """Yields the records."""
        return iter(self.records)

    def __len__(self) -> int:
        """Returns the number of records."""
        return len(self.records)

    def __repr__(self) -> str:
        """The numbers of tasks, systems, metrics and lists."""
        counts = [
            count_text(len(set(names)), unit)
            for unit, names in (
                ("task", [x.task for x in self if x.task is not None]),
                ("system", [x.system for x in self]),
                ("metric", [x.metric for x in self]),
            )
            if names
        ]
        sizes = {x.lists.list_count for x in self if x.is_on_this_host}
        lists = " or ".join(map(str, sorted(sizes)))
        lists = f", {lists} list{'s' * (sizes != {1})}" if sizes else ""
        return f"Systems({' × '.join(counts)}{lists})"


def read(
    tree: Values, name: str, first: Literal["metrics", "systems", "tasks"] = "metrics"
) -> list[Record]:
    """Reads records; those of `Systems` have all of their names.

    Args:
        tree: `Systems`, or whatever `records_of` reads.
        name: The name of the argument, for messages.
        first: What the first of several keys names. Before metrics there may be tasks. Of
            "tasks", only the depth of dicts tells whether {"map": values} has neither,
            {"new": {"map": values}} a system, or {"web": {"new": {"map": values}}} both.

    Raises:
        TypeError: of "tasks", if dicts are nested deeper, or some less deep.
    """
    if isinstance(tree, Systems):
        return list(tree)
    records = list(records_of(tree, name))
    if first == "systems" or holds_levels(tree):
        return named_by_first_key(records)
    if first == "metrics":
        return records
    # Of three keys, the first is a task, whose dict has a depth of its own.
    count = int(max(len(x.path) for x in records) > 2)
    depths: dict[Path, int] = {}
    for x in records:
        task = x.path[:count]
        depths[task] = max(depths.get(task, 0), len(x.path) - count)
    results = []
    for x in records:
        task, keys = x.path[:count], x.path[count:]
        depth = depths[task]
        if not keys:
            got = kind_of(x.source if task else tree)
            raise TypeError(f"{label_of(name, task)}: got {got}; {FIX_RUNS}")
        if len(keys) < depth:
            kind = "a Seeds" if isinstance(x.source, ListValues) else kind_of(x.source)
            raise TypeError(f"{name}: run {keys[0]!r} is {kind}; {FIX_RUNS}")
        if depth > 2:
            raise TypeError(f"{name}: {keys[1]!r} holds dicts; {FIX_RUNS}")
        system, path = keys[0] if depth == 2 else None, (*task, keys[-1])
        results.append(dataclasses.replace(x, system=system, path=path))
    return results


def named_by_first_key(records: Iterable[Record]) -> list[Record]:
    """Takes the first key that leads to values for the name of a system."""
    return [
        dataclasses.replace(x, system=x.path[0], path=x.path[1:]) if x.path else x
        for x in records
    ]


def records_of(tree: Values, name: str, path: Path = ()) -> Iterator[Record]:
    """Reads the records of what is no `Systems`, under all keys that lead to them.

    None has a name of a system yet, which only its caller can tell from a task.

    Args:
        tree: Values in any form that this module's docstring lists, or dicts of them.
        name: The name of the argument, for messages.
        path: The keys that lead to the tree.

    Raises:
        ValueError: if a dict or a frame is empty, or if a dict maps names of metrics to
            single numbers, which are means.
        TypeError: if a dict holds None or text in place of values.
    """

    def record(source: object, keys: Path = (), **fields: Any) -> Record:
        keys = (*path, *keys)
        return Record(label_of(name, keys), keys, source, **fields)

    label = label_of(name, path)
    ids: Any = None
    tree = _inputs.as_frame(tree, "a table of values")
    if _inputs.is_frame(tree) and (parts := _inputs.parts_of_tasks(tree)):
        for task, part in parts:
            for x in records_of(part, name, path):
                keys = (*x.path[:-1], task, x.path[-1])
                yield dataclasses.replace(x, name=label_of(name, keys), path=keys)
        return
    if is_of_lists := _inputs.is_frame(tree):
        ids, tree = _inputs.list_columns(label, tree, is_metric_name)
    if isinstance(tree, Mapping) and not tree:
        raise ValueError(
            f"{name} holds no metric; pass at least one ({label} is empty)"
        )
    if path and (tree is None or isinstance(tree, str)):
        raise TypeError(
            f"{label} is {tree!r}; pass a number for a list, or the values of a metric, "
            "and leave out what has none"
        )
    if isinstance(tree, SeedValues):
        for of_seeds in tree.records:
            keys = (*path, *of_seeds.path)
            yield dataclasses.replace(of_seeds, name=label_of(name, keys), path=keys)
    elif isinstance(tree, StatesByName):
        for key in dict.fromkeys((*tree.states, *tree.lists)):
            # Lists stand for a metric where there are any, and its state elsewhere.
            state = tree.states.get(key)
            yield record(
                tree.lists.get(key, state),
                (key,),
                ids=tree.list_ids,
                undefined=tree.undefined,
                state=state,
                is_of_metric=True,
                # No metric that a caller may name is called so.
                was_asked_for=without_cutoff(key) not in ("popularity", "novelty"),
            )
    elif is_of_lists and isinstance(tree, Mapping):
        for key, column in tree.items():
            # Of several levels: task, system, metric.
            keys = key if isinstance(key, tuple) else (key,)
            keys = (*keys[1::-1], *keys[2:]) if len(keys) == 3 else keys
            yield record(column, keys, ids=ids, is_of_metric=True)
    elif is_by_list(tree):
        _refuse_means(label, tree)
        yield record(tree, ids=list(tree))
    elif isinstance(tree, Mapping):
        if (ids_key := _inputs.key_of_ids(tree)) is not None:
            raise ValueError(
                f"{label} holds the ids of lists under {ids_key!r}; pass a frame of these "
                "columns, or dicts of list ids to values"
            )
        for key, subtree in tree.items():
            yield from records_of(subtree, name, (*path, key))
    else:
        yield record(tree, ids=tree.index if _inputs.is_series(tree) else None)


def _refuse_means(label: str, values: Mapping[Any, Any]) -> None:
    """Raises ValueError if a dict of numbers has names of metrics for keys.

    Its keys are ids of lists, whatever they are, and so is a single letter, such as the "p"
    of precision.
    """
    metrics = [key for key in values if is_metric_name(key) and len(key) > 1]
    if metrics:
        raise ValueError(
            f"{label} holds one number for {listing(metrics)}, the name of a metric: a "
            f"mean no longer holds per-list values; {FIX}, or a dict of list ids to values"
        )


def by_system(records: Iterable[Record]) -> dict[Hashable, Metrics]:
    """Sorts records by their systems, and those of each by the keys of its metrics."""
    systems: dict[Hashable, Metrics] = {}
    for record in records:
        systems.setdefault(record.system, {})[record.path] = record
    return systems


def lists_of_metric(
    records: Iterable[Record], name: str, metric: str | None
) -> ListValues:
    """Returns the values of one metric of a system, at its only cutoff.

    Args:
        records: The records of the system.
        name: What errors call the system.
        metric: The name of the metric, where there are several.

    Raises:
        ValueError: if there is no such metric, or several, or several cutoffs.
    """
    records = list(records)
    by_metric = {x.metric: x for x in records if x.is_on_this_host}
    # States alone are left to the error that says what to pass instead.
    by_metric = by_metric or {x.metric: x for x in records}
    return lists_at_cutoff(by_metric[only_metric(by_metric, name, metric)])


def only_metric(
    metrics: Iterable[str | None], name: str, metric: str | None
) -> str | None:
    """Returns the name of the metric to read, among those of a system, or None without.

    Raises:
        ValueError: if there are several, or none of the name `metric`.
    """
    metrics = list(metrics)
    # Values without a name are of whichever metric is asked for.
    matches = [x for x in metrics if metric is None or x in (metric, None)]
    if len(matches) != 1:
        raise ValueError(
            f"{name} holds {listing(metrics)}; pass metric=, the name of one"
        )
    return matches[0]


def lists_at_cutoff(record: Record) -> ListValues:
    """Returns the values of a metric at its only cutoff; ValueError if it has several."""
    if record.lists.has_cutoffs:
        raise ValueError(
            f"{record.name} has several cutoffs; measure one, such as 'recall@5'"
        )
    return record.lists


def _holds_systems(values: Values) -> bool:
    """Whether a dict has names of systems for keys, and not those of metrics or lists."""
    if holds_levels(values):
        return True
    if not isinstance(values, Mapping) or is_by_list(values):
        return False
    return not all(map(is_metric_name, values))


def holds_levels(values: Values) -> TypeGuard[Any]:
    """Whether this is a frame of several systems, whose columns have several levels."""
    return _inputs.is_pandas_frame(values) and values.columns.nlevels > 1


def is_metric_name(key: Any) -> bool:
    """Whether a key of a dict names a metric of this package, as typed or as in results.

    Options and cutoffs may follow, and the names of trec_eval count as well. Names that a
    caller has made up do not.

    >>> [is_metric_name(key) for key in ("P@5", "ndcg(gain=exp2)@10", "map_cut_10", "mine")]
    [True, True, True, False]
    """
    return isinstance(key, str) and metric_part(key) in NAMES


def label_of(name: str, path: Path) -> str:
    """Spells how values are reached, for messages: `a['new']['mrr']`."""
    return name + "".join(f"[{key!r}]" for key in path)


def is_spread(x: object) -> bool:
    """Whether parts of an array lie on several devices."""
    return isinstance(x, jax.Array) and not x.is_fully_replicated


def nested(results: Mapping[Path, T]) -> Nested[T]:
    """Returns the results as nested dicts; a result with the empty path, as it is.

    >>> nested({("mine", "map"): 1, ("mine", "mrr"): 2}), nested({(): 3})
    ({'mine': {'map': 1, 'mrr': 2}}, 3)
    """
    if () in results:
        return results[()]
    parts: dict[Hashable, dict[Path, T]] = {}
    for (key, *following), result in results.items():
        parts.setdefault(key, {})[tuple(following)] = result
    return {key: nested(part) for key, part in parts.items()}


def paths_text(paths: Iterable[Path]) -> str:
    """Lists the metrics of a system for an error message."""
    if set(paths) == {()}:
        return "one array"
    return listing([path[0] if len(path) == 1 else path for path in paths])


def pairs_of(
    a: Values, b: Values | None, pairs: Pairs | Sequence[Hashable] = "baseline"
) -> list[Pair]:
    """Pairs the metrics of systems.

    Args:
        a: The values of the baseline; or a dict of systems where b is None.
        b: The values of another system, a dict of such systems, or None.
        pairs: Whether each system is paired with the first alone, or with all; or the
            names of the systems with which all others are paired.

    Raises:
        ValueError: if either holds no metric, if the metrics of systems differ, or if there
            is no system of a name.
    """
    baselines = 1
    if b is not None:
        baseline, further = _baseline_and(a, b, ("a", "b"))
        systems = [baseline, *further.values()]
        if pairs != "baseline":
            raise ValueError(
                f"pairs={pairs!r} takes all systems in one dict; leave b out, and pass "
                f"compare({{name: values, …}}, pairs={pairs!r})"
            )
    else:
        named = _systems_in(a)
        systems = list(named.values())
        if not isinstance(pairs, str):
            if not pairs or any(name not in named for name in pairs):
                raise ValueError(
                    f"pairs names {listing(list(pairs)) or 'none'}; pass names of "
                    f"baselines among {listing(list(named))}"
                )
            baselines = len(set(pairs))
            systems = list({x: named[x] for x in (*pairs, *named)}.values())
    # (0, 1), (0, 2), …, (1, 2), …: those of the baselines come first.
    couples = itertools.combinations(range(len(systems)), 2)
    return [
        (record, systems[j][path], (i, j))
        for i, j in couples
        if pairs == "all" or i < baselines
        for path, record in systems[i].items()
    ]


def pairs_of_judge(
    judge: Values, pairs: Sequence[Pair], is_by_side: bool
) -> list[Pair]:
    """Finds the values of a judge for the same systems and metrics.

    Args:
        judge: A pair of the judge's values of a and of b; or a dict of those of systems.
        pairs: What people have labelled.
        is_by_side: Whether a and b were passed by themselves.

    Raises:
        TypeError: if the judge's values are not passed as those of people are.
        ValueError: if they lack a system or a metric.
    """
    first: Metrics = {}
    if is_by_side:
        if not isinstance(judge, tuple | list) or len(judge) != 2:
            raise TypeError("judge: pass a tuple (judge_a, judge_b), as a and b")
        first, systems = _baseline_and(judge[0], judge[1], ("judge[0]", "judge[1]"))
    else:
        if not isinstance(judge, Mapping | Systems) or is_by_list(judge):
            raise TypeError(
                f"judge: got {_inputs.kind_of(judge)}; pass a dict of systems, as a is"
            )
        systems = by_system(read(judge, "judge", "systems"))
    of_judge = []
    for a, b, numbers in pairs:
        baseline = first if is_by_side else systems.get(a.system, {})
        system = systems.get(b.system, {})
        sides = (a, baseline), (b, system)
        if missing := [x.keys for x, values in sides if x.path not in values]:
            raise ValueError(
                f"judge lacks {listing(missing)}; pass the values of the same systems and "
                "metrics"
            )
        of_judge.append((baseline[a.path], system[a.path], numbers))
    return of_judge


def _systems_in(tree: Values) -> dict[Hashable, Metrics]:
    """Reads several systems, which all have the metrics of the first one."""
    if not isinstance(tree, Systems) and not holds_levels(tree):
        if not isinstance(tree, Mapping) or is_by_list(tree) or len(tree) < 2:
            number = "no" if isinstance(tree, Mapping) and not tree else "one"
            raise ValueError(
                f"a holds {number} system; pass b, or a dict of two or more systems"
            )
        if all(map(is_metric_name, tree)):
            raise ValueError(
                f"a holds the metrics {listing(list(tree))} of one system; pass b, or a "
                "dict of systems, each with its metrics"
            )
    systems = by_system(read(tree, "a", "systems"))
    if len(systems) < 2:
        raise ValueError("a holds one system; pass b, or a dict of two or more systems")
    (baseline, metrics), *following = systems.items()
    for system, of_system in following:
        if metrics.keys() != of_system.keys():
            raise ValueError(
                f"a[{baseline!r}] holds {paths_text(metrics)} and a[{system!r}] holds "
                f"{paths_text(of_system)}; pass values of the same metrics for all systems"
            )
    return systems


def _baseline_and(
    a: Values, b: Values, names: tuple[str, str]
) -> tuple[Metrics, dict[Hashable, Metrics]]:
    """Reads the baseline a, and the systems in b: a single one, None, unless named.

    b holds systems, whose names are its first keys, if it has one key more than a.
    """
    of_a, of_b = read(a, names[0]), read(b, names[1])
    if len({x.system for x in of_a}) > 1:
        raise ValueError(
            f"{names[0]} holds several systems; pass the baseline alone, or leave b out"
        )
    baseline = {x.path: x for x in of_a}
    keys_of_a, keys_of_b = (max(len(x.path) for x in y) for y in (of_a, of_b))
    systems = by_system(
        named_by_first_key(of_b) if keys_of_b == keys_of_a + 1 else of_b
    )
    if any(x.keys() != baseline.keys() for x in systems.values()):
        raise ValueError(
            f"{names[0]} holds {paths_text(baseline)} and {names[1]} holds "
            f"{paths_text([x.path for x in of_b])}; pass values of the same metrics, or as "
            "b a dict of systems, each with the metrics of a"
        )
    return baseline, systems


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
    records: Metrics, metric: str | None, tasks_first: bool
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
