"""Results as pandas frames, a row for each list or record."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.comparisons.comparison import record_of
from jax_rank_metrics._results.comparisons.comparisons import comparisons_in
from jax_rank_metrics._results.leaderboards.standings import Leaderboard
from jax_rank_metrics._results.sheets.export import flat_record
from jax_rank_metrics._results.systems.values import checked_ids
from jax_rank_metrics._states.by_name import StatesByName
from jax_rank_metrics._states.cutoff_names import cutoff_names
from jax_rank_metrics._states.list_arrays import columns_of
from jax_rank_metrics._states.per_list import PerList

if TYPE_CHECKING:
    import pandas as pd


def to_frame(results: Any, ids: Iterable[Hashable] | None = None) -> "pd.DataFrame":
    """Returns results as a pandas DataFrame, a row for each list or record.

    Values of lists have a column for each metric and cutoff, under the names that
    `compute(…, flat=True)` gives them, and NaN where a metric is undefined, whatever such
    lists count for in means. Lists that do not count, such as those without items, stay.
    A leaderboard has a row for each system, and comparisons one for each of them, with the
    fields that `table(…, format="csv")` has.

    Args:
        results: A dict of metrics to `PerList`, as `measure` and `Joined.measure` give it;
            the result of `evaluate_users` or another driver; a `Leaderboard`; or whatever
            `compare` returns.
        ids: The id of every list, for the index, such as `Joined.query_ids`; lists of
            several axes are in C order. None is the users of an evaluation, and otherwise
            counts from 0.

    Returns:
        The frame. `compare`, `table` and `leaderboard` read one of lists as the values of a
        system, paired by their ids; but NaN is no number, so fill it in first.

    Raises:
        TypeError: if results are none of these, such as states, which hold no values of
            lists; if ids are passed where rows are no lists, or are no sequence.
        ValueError: if metrics have different numbers of lists, if two cutoffs have one
            name, or if ids repeat or there is not one for each list; if values lie on
            several devices, before `gather`.
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
    pandas = import_optional("pandas", "to_frame", "frames")
    records = _records(results)
    if records is None:
        columns, index, unit = _columns(results, ids)
        return pandas.DataFrame(columns, pandas.Index(index, name=unit))
    if ids is not None:
        raise TypeError(
            "ids are those of lists, and these results have none; leave ids out"
        )
    return pandas.DataFrame([flat_record(record) for record in records])


def _records(results: Any) -> Sequence[Mapping[str, Any]] | None:
    """The records of a leaderboard or of comparisons; None for anything else."""
    if isinstance(results, Leaderboard):
        return results._sheet(3).records
    comparisons = comparisons_in(results)
    return None if comparisons is None else [*map(record_of, comparisons)]


def _columns(
    results: Any, ids: Iterable[Hashable] | None
) -> tuple[dict[str, np.ndarray], list[Hashable], str]:
    """The column of each metric and cutoff, the ids of its rows, and what these are."""
    metrics, unit = results, "list"
    if isinstance(results, StatesByName):
        metrics = results.lists
        if (users := results.list_ids) is not None:
            if ids is not None:
                raise ValueError("results have the ids of users; leave ids out")
            ids, unit = users, "user"
    unfit = {"results": results}
    if isinstance(metrics, Mapping):
        unfit = {
            f"results[{name!r}]": x
            for name, x in metrics.items()
            if not isinstance(x, PerList)
        }
    for name, x in unfit.items():
        raise TypeError(
            f"{name}: got {_inputs.kind_of(x)}; pass a dict of metrics to PerList, as "
            "measure gives it, the result of a driver, of compare or of leaderboard"
        )
    columns: dict[str, np.ndarray] = {}
    for name, lists in metrics.items():
        if any(map(_is_spread, jax.tree.leaves(lists))):
            raise ValueError(
                f"results[{name!r}] lies on several devices; pass what gather() of the "
                "evaluation returns, or jax.device_get of values that have no padding"
            )
        values, _, defined = columns_of(lists)
        labels = [str(name)]
        if lists.has_cutoffs:
            labels = cutoff_names(str(name), values.shape[1])
        for label, column in zip(
            labels, np.where(defined, values, np.nan).T, strict=True
        ):
            if label in columns:
                raise ValueError(
                    f"two cutoffs are called {label!r}; name one differently"
                )
            columns[label] = column
    counts = {len(column) for column in columns.values()}
    if len(counts) != 1:
        raise ValueError(
            f"results have {' and '.join(map(str, sorted(counts))) or 'no'} lists; pass "
            "metrics of the same lists"
        )
    (count,) = counts
    index = None if ids is None else checked_ids("results", ids, count)
    return columns, list(range(count)) if index is None else index, unit


def _is_spread(x: Any) -> bool:
    """Whether parts of an array lie on several devices."""
    return isinstance(x, jax.Array) and not x.is_fully_replicated
