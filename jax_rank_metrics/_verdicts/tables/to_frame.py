"""Results as pandas frames, with a row for each list or record."""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_rank_metrics._ground import optional
from jax_rank_metrics._ground.inputs import first_index, kind_of
from jax_rank_metrics._names.cutoff_names import cutoff_names
from jax_rank_metrics._values import state
from jax_rank_metrics._values.merging import StatesByName
from jax_rank_metrics._verdicts import sheets
from jax_rank_metrics._verdicts.comparisons import standings
from jax_rank_metrics._verdicts.comparisons.comparisons import comparisons_in, record_of
from jax_rank_metrics._verdicts.inference.judges import PredictionPowered
from jax_rank_metrics._verdicts.systems import list_values
from jax_rank_metrics._verdicts.systems.reading import Record, Values, is_spread, read
from jax_rank_metrics._verdicts.tables import table

if TYPE_CHECKING:
    import pandas as pd


def to_frame(results: Values, ids: Iterable[Hashable] | None = None) -> "pd.DataFrame":
    """Returns results as a pandas DataFrame, with a row for each list or record.

    Per-list values have a column for each metric and cutoff, with the names of
    `compute(…, flat=True)`. Values are NaN for lists in which the metric is undefined,
    however such lists count in means. For `Seeds`, values are means over seeds. Lists
    that do not count, such as lists without items, stay in the frame, because it holds
    neither weights nor `undefined`. Tasks become a level of the index, because each has
    its own lists. Systems that share no list, such as the groups of `Evaluation.by`,
    are treated as tasks; other systems become a level of the columns.

    A leaderboard has a row for each system, comparisons have a row each, and states
    have a row for each mean, with the fields of `table(…, format="csv")`. Results of
    `prediction_powered` have a row each, with the attributes of `PredictionPowered`.

    Args:
        results: A dict from metrics to `PerList`, as `measure` and `Joined.measure`
            return it; an `Evaluation`, as from `evaluate_users` or `Joined.evaluation`;
            `Seeds`; dicts from systems to any of these, or from tasks to such dicts, as
            for `table`; values without a name, which get the column "value"; `Systems`;
            states; a `Leaderboard`; or a result of `compare` or `prediction_powered`.
        ids: The id of every list, for the index, such as `Joined.query_ids`; lists with
            several axes are in C order. None takes the users or queries of an
            evaluation, and otherwise counts from 0.

    Returns:
        The frame. `compare`, `table`, `leaderboard` and others read a frame of lists as
        the values of a system, paired by ids. If the frame holds NaN, pass `undefined`
        to these functions, to say how such lists count.

    Raises:
        TypeError: if results are anything else, or mix states and per-list values; if
            ids are passed but rows are not lists, or if ids are not a sequence.
        ValueError: if metrics have different numbers of lists, if two cutoffs have the
            same name, if ids repeat, or if the number of ids is not the number of
            lists; if a value that counts is NaN; if values lie on several devices,
            before `gather`.
        ModuleNotFoundError: if pandas is not installed.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import measure, rank
    >>> labels, scores = jnp.array([[1, 0], [0, 0]]), jnp.array([[1, 2], [1, 2]])
    >>> lists = measure(("mrr", "recall@1,2"), rank(labels, scores))
    >>> print(to_frame(lists, ids=["q1", "q2"]).reset_index().to_string(index=False))
    list  mrr  recall@1  recall@2
      q1  0.5       0.0       1.0
      q2  NaN       NaN       NaN
    """
    pandas = optional.import_optional("pandas", "to_frame", "frames")
    comparisons = comparisons_in(results)
    if isinstance(results, standings.Leaderboard):
        rows: Sequence[Mapping[str, Any]] = results._sheet(3).records
    elif comparisons is not None:
        rows = [*map(record_of, comparisons)]
    else:
        # Frames show missing values as NaN, so the choice of `undefined` does not matter.
        records = read(results, "results", ("metric",), "zero")
        if any(record.path for record in records):  # else values have no names
            records = read(results, "results", undefined="zero")
        if all(isinstance(record.source, PredictionPowered) for record in records):
            rows = [row for record in records for row in _judged_rows(record)]
        elif all(isinstance(record.source, state.State) for record in records):
            rows = table.sheet_of_means(results).records
        else:
            # Name the index after the unit of its rows, such as "user", or "list"
            # without ids.
            unit = "list"
            if isinstance(results, StatesByName) and results.list_ids is not None:
                unit = results._unit
            parts = {
                task: pandas.DataFrame(columns, pandas.Index(index, name=unit))
                for task, (columns, index) in _of_tasks(records, ids, unit).items()
            }
            frame, *further = parts.values()
            return pandas.concat(parts, names=["task"]) if further else frame
    if ids is not None:
        raise TypeError(
            "ids are for lists, but the rows of these results are not lists; leave ids out"
        )
    return pandas.DataFrame([sheets.flat_record(row) for row in rows])


def _judged_rows(record: Record) -> list[dict[str, Any]]:
    """Returns a row for each cutoff of a `PredictionPowered`."""
    assert isinstance(record.source, PredictionPowered)
    at_cutoffs = record.source.at_cutoffs()
    labels: list[str | None] = [record.metric]
    if record.source.has_cutoffs:
        labels = [*cutoff_names(record.metric or "", len(at_cutoffs))]
    names = {"task": record.task, "system": record.system}
    names = {name: key for name, key in names.items() if key is not None}
    return [
        {**names, "metric": label, **dataclasses.asdict(means)}
        for label, means in zip(labels, at_cutoffs, strict=True)
    ]


def _of_tasks(
    records: Sequence[Record], ids: Iterable[Hashable] | None, unit: str
) -> dict[Hashable, tuple[dict[Any, np.ndarray], list[Hashable]]]:
    """Returns the columns of each task, and the ids of its rows; `unit` names a row."""
    for record in records:
        if isinstance(record.source, state.State):
            raise TypeError(
                f"{record.name}: got {kind_of(record.source)}; pass a dict from metrics to "
                "PerList, as measure returns it, or the result of a driver, of compare or "
                "of leaderboard"
            )
        if not isinstance(record.source, dict) and any(
            map(is_spread, jax.tree.leaves(record.source))
        ):
            raise ValueError(
                f"{record.name} lies on several devices; pass jax.device_get of the "
                "values, if they have no padding"
            )
    if ids is not None and any(record.ids is not None for record in records):
        raise ValueError(f"results have the ids of {unit}s; leave ids out")
    if _share_no_list(records):  # swap systems and tasks, so that systems are rows
        records = [
            dataclasses.replace(
                record, system=record.task, path=(record.system, record.metric)
            )
            for record in records
        ]
    tasks: dict[Hashable, list[Record]] = {}
    for record in records:
        # A task of several keys is a tuple, which pandas would split into levels.
        task = record.task
        task = ", ".join(map(str, task)) if isinstance(task, tuple) else task
        tasks.setdefault(task, []).append(record)
    # Several systems are a level of the columns. A single system with several tasks is,
    # too, because without this level its tasks would be read as systems.
    has_systems = len({record.system for record in records}) > 1
    has_systems |= len(tasks) > 1 and records[0].system is not None
    return {task: _columns(part, ids, has_systems) for task, part in tasks.items()}


def _share_no_list(records: Sequence[Record]) -> bool:
    """True if there are several systems without a common list id in any task."""
    ids = {(record.task, record.system): record.lists.ids for record in records}
    if None in ids.values() or len(ids) == len({task for task, _ in ids}):
        return False
    lists = [(task, name) for (task, _), names in ids.items() for name in names or ()]
    return len(set(lists)) == len(lists)


def _columns(
    records: Sequence[Record], ids: Iterable[Hashable] | None, has_systems: bool
) -> tuple[dict[Any, np.ndarray], list[Hashable]]:
    """Returns the column of each metric and cutoff in one task, and the ids of its rows."""
    counts = sorted({record.lists.list_count for record in records})
    if len(counts) != 1:
        raise ValueError(
            f"results have {' and '.join(map(str, counts))} lists; pass metrics of the "
            "same lists"
        )
    in_order = list_values.in_one_order([record.lists for record in records])
    index = in_order[0].ids or list(range(*counts))
    if ids is not None:
        index = list_values.checked_ids("results", ids, *counts)
    columns: dict[Any, np.ndarray] = {}
    for record, lists in zip(records, in_order, strict=True):
        is_nan = (np.isnan(lists.values) & lists.defined).any(0) & (lists.weights > 0)
        if is_nan.any():
            name = lists.id_of(first_index(is_nan)[0])
            raise ValueError(
                f"{record.name} is NaN at list {name!r}, and in a frame NaN says that a "
                "metric is undefined; pass finite values, or a PerList that is undefined "
                "there"
            )
        # [lists, cutoffs]: with several seeds, the mean over seeds.
        values = np.where(lists.defined, lists.values, np.nan).mean(0)
        values = values.astype(lists.dtype if lists.dtype.kind == "f" else np.float64)
        for label, column in zip(record.labels(), values.T, strict=True):
            name = label or "value"
            key = (record.system, name) if has_systems else name
            if key in columns:
                raise ValueError(
                    f"two cutoffs are called {label!r}; pass one of them under another name"
                )
            columns[key] = column
    return columns, index
