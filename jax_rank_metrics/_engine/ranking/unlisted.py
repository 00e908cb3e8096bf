"""The value of items that are not listed, where only listed ones are known one by one.

Such an item has the label 0, and 0 or False in every column. Its value is computed while
tracing, by one small program for each function of items.

Only groups are a matter of fact for unlisted items too. Where they were passed for all
items, a slot of the pool stands for the average item; where they were not, they are
unknown. In both cases a metric that reads them declares that it is linear in them: an
item that is one half of a group is worth the mean of a member and of no member. So the
value without any group and those of a member of each group say all there is to know.
"""

import math
import weakref
from collections.abc import Hashable, Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine import while_tracing
from jax_rank_metrics._engine.items import GROUPS, ItemArrays
from jax_rank_metrics._engine.ranking.item_fns import ItemFn, item_amounts
from jax_rank_metrics._engine.ranking.ranked_items import RANK_MORE, UnknownPlaceError
from jax_rank_metrics._engine.ranking.ranking_data import RankingData

# Values that were found, by the shapes and dtypes of what a function reads.
# They are kept for as long as the function itself.
_Values = dict[Hashable, np.ndarray]
_values: weakref.WeakKeyDictionary[ItemFn, _Values] = weakref.WeakKeyDictionary()


def check_unlisted(data: RankingData, item_fn: ItemFn) -> None:
    """Raises if items with the label 0 have a value, but their places are not held."""
    check_known(data, item_fn)
    if not data.omits_unlisted:
        return
    values = _member_values(data, item_fn)
    if values is not None:
        # A linear function that is 0 for a member of each group and of none is always 0.
        if values.any():
            raise UnknownPlaceError(
                "items with the label 0 are worth something by their groups, but this "
                "ranking holds only the places of items that are listed; ask for cutoffs "
                f"that are numbers, as in awrf@10, and {RANK_MORE}"
            )
        return
    value = unlisted_value(data, item_fn)
    if isinstance(value, np.ndarray) and value.any():
        raise UnknownPlaceError(
            f"an item with the label 0 is worth {float(np.max(np.abs(value)))}, but this "
            f"ranking holds only the items that are listed; {RANK_MORE}; or make items "
            "with the label 0 worth 0, by another gain_fn if the metric has one"
        )


def unlisted_value(data: RankingData, item_fn: ItemFn) -> np.ndarray | jax.Array | None:
    """Returns the value of an unlisted item, `[…]`, where unlisted places are not held.

    None where every place is held, or where the value is 0. It is traced only if
    `item_fn` has taken traced values from elsewhere.

    Raises:
        ValueError: if unlisted items may have different values.
    """
    check_known(data, item_fn)
    if not data.omits_unlisted:
        return None
    check_alike(data, item_fn)
    values = _values_of(data, item_fn, {})
    if isinstance(values, np.ndarray):
        return np.asarray(values[0]) if values.any() else None
    return values[0]


def check_known(data: RankingData, item_fn: ItemFn) -> None:
    """Raises if the value of unlisted items depends on groups that were not passed.

    Also raises if it depends on groups at all, and no metric declares how.
    """
    values = _member_values(data, item_fn)
    is_partial = GROUPS in data.partial_columns
    if is_partial and values is not None and values.any():
        raise UnknownPlaceError(
            "columns holds 'groups' of the listed items alone, and items with the label 0 "
            "are worth something by their groups; rank all items, or pass item_groups, "
            "which has those of every item, to rank_ids, or to rank_scores(k=…) or "
            "rank_catalog(k=…) with the k of the metric"
        )


def check_alike(data: RankingData, item_fn: ItemFn) -> None:
    """Raises if unlisted items may have different values, where one stands for all."""
    values = _member_values(data, item_fn)
    if values is not None and (values != values[:1]).any():
        raise UnknownPlaceError(
            "the groups of items with the label 0 are read one by one, but this ranking "
            f"holds only the items that are listed; {RANK_MORE}"
        )


def _member_values(data: RankingData, item_fn: ItemFn) -> np.ndarray | None:
    """Returns the values of unlisted items: of a member of each group, and of none.

    Returns:
        `[groups + 1, …]`; None where the groups of every item are at hand, or where the
        function does not read them.

    Raises:
        ValueError: if the metric does not declare that it is linear in groups; or if the
            values are traced.
    """
    differing = (*data.averaged_columns, *data.partial_columns)
    if GROUPS not in differing or not _reads_groups(data, item_fn):
        return None
    if GROUPS not in data.linear_in:
        raise ValueError(
            "a function of items reads the groups of items that are not listed, of which "
            "this ranking knows only the total; where it is linear in them, declare so by "
            "@jrm.metric(linear_in=('groups',)), or pass all items to rank, with their "
            "groups as a column"
        )
    column = _columns(data, 1)[GROUPS]
    num_groups = math.prod(column.shape[1:])
    # For two groups 1 0, 0 1 and 0 0: a member of each, and of none.
    members = np.eye(num_groups + 1, num_groups, dtype=column.dtype)
    members = members.reshape(-1, *column.shape[1:])
    values = _values_of(data, item_fn, {GROUPS: members})
    if isinstance(values, jax.Array):
        raise ValueError(
            "a function of items reads groups and also traced values, so that it is not "
            "known what items with the label 0 are worth; pass these values as per_list, "
            "or pass all items to rank, with their groups as a column"
        )
    return values


class _ColumnReads(Mapping[str, jax.Array]):
    """Columns that remember which of them were read."""

    def __init__(self, columns: Mapping[str, jax.Array]) -> None:
        """Takes columns of which none was read."""
        self.read = set[str]()
        self._columns = columns

    def __getitem__(self, name: str) -> jax.Array:
        self.read.add(name)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def _reads_groups(data: RankingData, item_fn: ItemFn) -> bool:
    """Whether a function of items reads the column of groups."""
    columns = _ColumnReads(jax.tree.map(jnp.asarray, _columns(data, 1)))
    dtype = data.dtype

    def value_of() -> jax.Array:
        items = ItemArrays(jnp.zeros(1, dtype), jnp.ones(1, bool), None, columns)
        return item_amounts(item_fn, items, dtype)

    # Tracing reads every column that computing would, and compiles nothing.
    jax.eval_shape(value_of)
    return GROUPS in columns.read


def _columns(data: RankingData, num_items: int) -> dict[str, np.ndarray]:
    """Returns the columns of items for which every entry is 0, `[num_items, …]`."""
    assert data.items_held is not None
    # Beyond the axes of lists and that of items.
    trailing = data.list_exists.ndim + 1
    return {
        name: np.zeros((num_items, *column.shape[trailing:]), column.dtype)
        for name, column in data.items_held.items.columns.items()
    }


def _values_of(
    data: RankingData, item_fn: ItemFn, probes: Mapping[str, np.ndarray]
) -> np.ndarray | jax.Array:
    """Returns the values of items with the label 0 that have these entries in columns.

    Args:
        data: The lists.
        item_fn: A function of items.
        probes: By name, arrays `[items, …]`; all other columns are 0. Without any, there
            is one item.

    Returns:
        `[items, …]`; traced only if `item_fn` has taken traced values from elsewhere.
    """
    num_items = max((len(probe) for probe in probes.values()), default=1)
    columns, dtype = _columns(data, num_items) | dict(probes), data.dtype
    names, arrays = list(columns), list(columns.values())
    kinds = {name: (column.shape, column.dtype) for name, column in columns.items()}
    # The shapes say what the probes are: all of one shape hold the same members.
    key = (dtype, tuple(sorted(kinds.items())), tuple(probes))
    try:
        values = _values.setdefault(item_fn, {})
    except TypeError:  # a callable that cannot be a weak key
        values = _Values()

    def value_of(labels: jax.Array, exists: jax.Array, *arrays: jax.Array) -> jax.Array:
        columns = dict(zip(names, arrays, strict=True))
        items = ItemArrays(labels, exists, None, columns)
        return item_amounts(item_fn, items, dtype)

    arguments = (np.zeros(num_items, dtype), np.ones(num_items, bool), *arrays)
    value = values.get(key)
    if value is None:
        value = while_tracing.constant(value_of, *arguments)
    if value is None:
        # Of this trace alone, because the function holds arrays of it: never to be kept.
        return value_of(*map(jnp.asarray, arguments))
    values[key] = value
    return value
