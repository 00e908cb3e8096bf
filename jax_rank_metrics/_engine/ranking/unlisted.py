"""The value of unlisted items, if a ranking knows only listed items one by one.

An unlisted item has the label 0, and 0 or False in every column. Its value is computed
while tracing, by one small program for each function of items.

Columns that are known by item id are different, because unlisted items have entries in
them too. If a column was passed for all items, a slot of the pool stands for the average
unlisted item; if groups were passed for listed items alone, the groups of unlisted items
are unknown. In both cases a function that reads such a column must be linear in it: the
value of an item that is one half in a group is the mean of a member's value and a
non-member's value. The value of an item with 0 in all entries, and the values of items with
1 in one entry, then determine the value of every item. Linearity is tested while tracing.
"""

import math
import weakref
from collections.abc import Hashable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine import while_tracing
from jax_rank_metrics._engine.items import GROUPS, ItemArrays
from jax_rank_metrics._engine.ranking.item_fns import ItemFn, item_amounts, reads_of
from jax_rank_metrics._engine.ranking.ranked_items import RANK_MORE, UnknownPlaceError
from jax_rank_metrics._engine.ranking.ranking_data import RankingData

# For each function, a dict from the shapes and dtypes of its columns to its values. The
# dict is kept for as long as the function itself.
_Values = dict[Hashable, np.ndarray]
_values: weakref.WeakKeyDictionary[ItemFn, _Values] = weakref.WeakKeyDictionary()


def check_unlisted(data: RankingData, item_fn: ItemFn) -> None:
    """Raises if items with the label 0 have values, but the ranking lacks their places."""
    check_known(data, item_fn)
    if not data.omits_unlisted:
        return
    values = _member_values(data, item_fn)
    if values is not None:
        # A linear function that is 0 without entries, and for each entry alone, is 0
        # everywhere.
        if values.any():
            raise UnknownPlaceError(
                "items with the label 0 have values that depend on their columns, but "
                "this ranking holds the places of listed items only; use a metric with "
                f"numbers as cutoffs, as in awrf@10, and {RANK_MORE}"
            )
        return
    value = unlisted_value(data, item_fn)
    if isinstance(value, np.ndarray) and value.any():
        raise UnknownPlaceError(
            "an item with the label 0 has the value "
            f"{float(np.max(np.abs(value)))}, but this ranking holds listed items only; "
            f"{RANK_MORE}; or give items with the label 0 the value 0, by another gain_fn "
            "if the metric has one"
        )


def unlisted_value(data: RankingData, item_fn: ItemFn) -> np.ndarray | jax.Array | None:
    """Returns the value of an unlisted item, `[…]`, if the ranking lacks its place.

    None if the ranking has every place, or if the value is 0. The value is traced only if
    `item_fn` closes over traced values.

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

    Also raises if the value depends on averaged columns but is not linear in them.
    """
    values = _member_values(data, item_fn)
    is_partial = GROUPS in data.partial_columns
    if is_partial and values is not None and values.any():
        raise UnknownPlaceError(
            "relevant_columns holds 'groups' of the listed items alone, but the values of "
            "items with the label 0 depend on their groups; rank all items, or pass "
            "item_columns={'groups': …}, with the groups of every item, to rank_ids, or to "
            "rank_scores(k=…) or rank_catalog(k=…) with the k of the metric"
        )


def check_alike(data: RankingData, item_fn: ItemFn) -> None:
    """Raises if unlisted items may have different values: callers use one for all."""
    values = _member_values(data, item_fn)
    if values is not None and (values != values[:1]).any():
        names = ", ".join(map(repr, _names_read(data, item_fn)))
        raise UnknownPlaceError(
            f"this metric reads the column {names} of every item with the label 0, but "
            f"this ranking holds listed items only; {RANK_MORE}"
        )


# If columns have at most this many entries, one value is computed for each entry: the value
# of an item with 1 in this entry alone.
_MANY_ENTRIES = 512

# The two column values between which a function must be a straight line.
_LOW, _HIGH = -1e-3, 1e6


def _names_read(data: RankingData, item_fn: ItemFn) -> list[str]:
    """Returns the columns that a function reads and in which unlisted items may differ."""
    names = [*data.averaged_columns]
    if GROUPS in data.partial_columns:
        names.append(GROUPS)
    if not names:
        return []
    columns = jax.tree.map(jnp.asarray, _columns(data, 1))
    was_read = reads_of(item_fn, columns, data.dtype)
    return [name for name in names if name in was_read]


def _member_values(data: RankingData, item_fn: ItemFn) -> np.ndarray | None:
    """Returns the values of some unlisted items; the first has 0 in every column.

    Each further item has 1 in one entry of the columns that the function reads. If these
    columns have many entries, there is one further item, with a different number in each
    entry.

    Returns:
        `[items, …]`; None if the function reads no column in which unlisted items may
        differ.

    Raises:
        ValueError: if the function is not linear in these columns; or if its values are
            traced.
    """
    names = _names_read(data, item_fn)
    if not names:
        return None
    columns = _columns(data, 1)
    shapes = {name: columns[name].shape[1:] for name in names}
    sizes = [math.prod(shapes[name]) for name in names]
    total = sum(sizes)
    rng = np.random.default_rng(0)
    low = np.full(total, _LOW)
    high = rng.uniform(0.5, 1, total) * _HIGH
    # The last three rows test linearity. If there are many entries, one row with a number
    # in every entry is enough: a value that depends on any entry differs in this row.
    units = np.eye(total) if total <= _MANY_ENTRIES else rng.uniform(0.5, 1, (1, total))
    rows = np.concatenate([np.zeros((1, total)), units, [low, high, (low + high) / 2]])
    parts = np.split(rows, np.cumsum(sizes)[:-1], axis=1)
    probes = {
        name: part.reshape(len(rows), *shapes[name]).astype(columns[name].dtype)
        for name, part in zip(names, parts, strict=True)
    }
    values = _values_of(data, item_fn, probes)
    if isinstance(values, jax.Array):
        raise ValueError(
            f"a function of items reads the column {names[0]!r} and also traced values, so "
            "the values of items with the label 0 are not known while tracing; pass the "
            "traced values as per_list, or pass all items, and this column, to jrm.rank"
        )
    members, (at_low, at_high, between) = values[:-3], values[-3:].astype(np.float64)
    scale = np.maximum(np.abs(at_low), np.abs(at_high)).max(initial=0)
    # False if a value is NaN, such as the logarithm of the low value.
    is_straight = np.abs(at_low + at_high - 2 * between) <= 1e-4 * scale
    # A function that is 0 in all three rows is 0 because of the label, so columns do not
    # matter.
    if not is_straight.all() or (
        scale > 0 and not _is_transposable(data, item_fn, probes)
    ):
        raise ValueError(
            f"a function of items is not linear in the column {names[0]!r}, but this "
            "ranking knows only the total of the column over unlisted items; prepare the "
            f"column by @jrm.metric(item_columns={{{names[0]!r}: function}}), or pass all "
            "items, and this column, to jrm.rank"
        )
    return members


def _is_transposable(
    data: RankingData, item_fn: ItemFn, probes: Mapping[str, np.ndarray]
) -> bool:
    """True if JAX finds the function to be linear in these columns, up to a constant."""
    dtype = data.dtype
    known = {name: jnp.asarray(zeros) for name, zeros in _columns(data, 1).items()}

    def value_of(columns: dict[str, jax.Array]) -> jax.Array:
        items = ItemArrays(
            jnp.zeros(1, dtype), jnp.ones(1, bool), None, {**known, **columns}
        )
        values = _amounts(item_fn, items, dtype)
        return values.astype(dtype)

    columns = {name: known[name] for name in probes}
    kinds = jax.eval_shape(value_of, columns)
    try:
        transposed = jax.linear_transpose(value_of, columns)
        jax.eval_shape(transposed, kinds)
    except (NotImplementedError, TypeError, AssertionError, ValueError):
        return False
    return True


def _amounts(item_fn: ItemFn, items: ItemArrays, dtype: jnp.dtype) -> jax.Array:
    """Evaluates a function as `item_amounts` does, for columns that are clean already."""
    return item_amounts(item_fn, items, dtype, is_clean=True)


def _columns(data: RankingData, num_items: int) -> dict[str, np.ndarray]:
    """Returns the columns of items for which every entry is 0, `[num_items, …]`."""
    assert data.items_held is not None
    # Entries come after the axes of lists and the axis of items.
    trailing = data.list_exists.ndim + 1
    return {
        # Memberships are read as floats, however they were passed.
        name: np.zeros(
            (num_items, *column.shape[trailing:]),
            data.dtype if name == GROUPS else column.dtype,
        )
        for name, column in data.items_held.items.columns.items()
    }


def _values_of(
    data: RankingData, item_fn: ItemFn, probes: Mapping[str, np.ndarray]
) -> np.ndarray | jax.Array:
    """Returns the values of items with the label 0 and the given entries in columns.

    Args:
        data: The lists.
        item_fn: A function of items.
        probes: A dict from names of columns to arrays `[items, …]`; all other columns are
            0. If the dict is empty, there is one item.

    Returns:
        `[items, …]`; traced only if `item_fn` closes over traced values.
    """
    num_items = max((len(probe) for probe in probes.values()), default=1)
    columns, dtype = _columns(data, num_items) | dict(probes), data.dtype
    names, arrays = list(columns), list(columns.values())
    kinds = {name: (column.shape, column.dtype) for name, column in columns.items()}
    # Shapes suffice as a key, because all probes of one shape hold the same numbers.
    key = (dtype, tuple(sorted(kinds.items())), tuple(probes))
    try:
        values = _values.setdefault(item_fn, {})
    except TypeError:  # a callable that cannot be a weak key
        values = _Values()

    def value_of(labels: jax.Array, exists: jax.Array, *arrays: jax.Array) -> jax.Array:
        columns = dict(zip(names, arrays, strict=True))
        items = ItemArrays(labels, exists, None, columns)
        return _amounts(item_fn, items, dtype)

    arguments = (np.zeros(num_items, dtype), np.ones(num_items, bool), *arrays)
    value = values.get(key)
    if value is None:
        value = while_tracing.constant(value_of, *arguments)
    if value is None:
        # The function holds arrays of this trace, so its value must not be kept.
        return value_of(*map(jnp.asarray, arguments))
    values[key] = value
    return value
