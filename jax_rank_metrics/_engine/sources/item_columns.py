"""Columns of the items of a catalogue, looked up by id, and their totals over some items.

A ranking keeps relevant items one by one, but of all other items only their number and the
totals of their columns. Each of the other items then counts with the averages of the
columns, and sums of a function that is linear in the columns are exact.
"""

import collections
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._engine import by_options
from jax_rank_metrics._engine.items import ItemArrays, Renamed, columns_named
from jax_rank_metrics._engine.layouts.rows import CatalogSlots, Rows, with_unlisted
from jax_rank_metrics._engine.ordering import streaming
from jax_rank_metrics._engine.ordering.candidates import Candidates
from jax_rank_metrics._engine.ranking import pools
from jax_rank_metrics._engine.ranking.ranking_data import RankingData
from jax_rank_metrics._ground import arithmetic, inputs, meshes, pytrees, types

# Takes a column `[num_items, …]`, and returns the array that a metric reads instead, which
# also has a row for each item.
Prepare = Callable[[jax.Array], jax.Array]

# A dict from a column's name to a dict from a prepared column's key to its function.
_prepared: dict[str, dict[str, Prepare]] = {}
# Pairs of a column and a key that only metrics read which others have replaced.
_forgotten: set[tuple[str, str]] = set()


def register(name: str, prepare: Prepare, metric: str) -> str:
    """Registers a function that prepares the column `name`; returns the result's key.

    A key never changes its function, because rankings hold columns by their keys.
    """
    known = _prepared.setdefault(name, {})
    for key, function in known.items():
        if by_options.do_the_same(function, prepare):
            _forgotten.discard((name, key))
            return key
    key = f"{name} of {metric}"
    if key in known:
        key += f" {len(known)}"
    known[key] = prepare
    return key


def forget(pairs: Iterable[tuple[str, str]]) -> None:
    """Lets rankings that are made from now on be without these columns and keys."""
    _forgotten.update(pairs)


@pytrees.pytree("axis", "knows_all")
class ItemColumn:
    """A column of the items of a catalogue.

    Attributes:
        values: `[num_items, …]` floats; or this device's shard.
        axis: The mesh axes over which `values` are sharded; None if they are whole.
        knows_all: True if ids have been checked. An id without a row then belongs to an
            item that is missing from the catalogue on purpose, and counts 0.
        ids: `[num_items]` integers, ascending, the ids of the rows; None for 0, 1, ….
    """

    values: jax.Array
    axis: types.AxisNames | None = None
    knows_all: bool = False
    ids: jax.Array | None = None

    @property
    def trailing(self) -> tuple[int, ...]:
        """The shape of one item's row."""
        return self.values.shape[1:]

    def of(self, ids: jax.Array) -> jax.Array:
        """Returns the rows of items, `[*ids.shape, …]`.

        Rows are 0 for ids below 0. For ids without a row they are NaN, or 0 if the column
        knows all items.
        """
        if self.axis is not None:
            return meshes.rows_over(self.values, ids, self.axis)
        return self._rows(ids)

    def of_own(self, ids: jax.Array) -> jax.Array:
        """Returns the rows of items that this device holds itself."""
        return self._rows(ids - self._start)

    @property
    def _start(self) -> jax.Array | int:
        """The id of the first row on this device."""
        if self.axis is None:
            return 0
        return lax.axis_index(self.axis) * len(self.values)

    def _rows(self, ids: jax.Array) -> jax.Array:
        filler, index = 0 if self.knows_all else jnp.nan, jnp.maximum(ids, 0)
        if self.ids is not None:
            row = jnp.searchsorted(self.ids, ids)
            is_known = self.ids.at[row].get(mode="fill", fill_value=-1) == ids
            index = jnp.where(is_known, row, len(self.ids))
        rows = self.values.at[index].get(mode="fill", fill_value=filler)
        return jnp.where(arithmetic.widen(ids >= 0, rows), rows, 0)

    def total(self, is_counted: jax.Array, first_id: jax.Array) -> jax.Array:
        """Adds up the rows of items with consecutive ids, `[*lists, …]`.

        Args:
            is_counted: `[*lists, items]` bool; or `[items]` for all lists.
            first_id: The id of the first item. This device must hold all of the items.
        """
        size = is_counted.shape[-1]
        # Fill with 0, because the last block that the host reads may end in padding.
        ids = first_id - self._start + lax.iota(jnp.int32, size)
        rows = self.values.at[ids].get(mode="fill", fill_value=0)
        # Multiply, because a gather would write out the rows of every list.
        totals = arithmetic.dot(
            is_counted.astype(rows.dtype), rows.reshape(size, math.prod(self.trailing))
        )
        return totals.reshape(*is_counted.shape[:-1], *self.trailing)


ItemColumns = Mapping[str, ItemColumn]


def made_of(
    columns: Mapping[str, jax.Array],
    prepared_by: Iterable[tuple[str, str]] | None = None,
) -> dict[str, jax.Array]:
    """Returns arrays: each column under its name, each prepared column under its key.

    Args:
        columns: A dict from names to columns `[num_items, …]`.
        prepared_by: Pairs of the name of a column to prepare and the key of the result;
            None prepares for every registered metric.
    """
    if prepared_by is None:
        pairs = [(name, key) for name in columns for key in _prepared.get(name, ())]
        prepared_by = [pair for pair in pairs if pair not in _forgotten]
    prepared = {
        key: _made(_prepared[name][key], columns[name]) for name, key in prepared_by
    }
    return {**columns, **prepared}


def read(
    columns: Mapping[str, jax.Array],
    items_axis: types.AxisNames | None = None,
    num_items: int | None = None,
) -> dict[str, ItemColumn]:
    """Returns `ItemColumn`s: each column under its name, each prepared one under its key.

    Args:
        columns: A dict from names to columns `[num_items, …]`.
        items_axis: The mesh axes over which the items are sharded, or None.
        num_items: How many items this device has. If `items_axis` is given, a column of
            this length is this device's shard.
    """
    known = {}
    for name, column in columns.items():
        axis = items_axis if len(column) == num_items else None
        arrays = made_of({name: _over_devices(column, axis)})
        if axis is not None:
            start = lax.axis_index(axis) * len(column)
            for key, values in arrays.items():
                arrays[key] = lax.dynamic_slice_in_dim(values, start, len(column))
            arrays[name] = column
        known |= {key: ItemColumn(values, axis) for key, values in arrays.items()}
    return known


def _over_devices(column: jax.Array, axis: types.AxisNames | None) -> jax.Array:
    """Gathers the rows of all devices, because preparing may divide by a total."""
    return column if axis is None else lax.all_gather(column, axis, tiled=True)


def by_id(
    columns: Mapping[str, jax.Array],
    ids_of_rows: Sequence[Any],
    numbers: Mapping[str, int] | None,
    ids: Mapping[str, jax.Array],
) -> dict[str, ItemColumn]:
    """Returns the same dict as `read`, for columns whose ids are not row numbers.

    Args:
        columns: A dict from names to columns `[num_items, …]`.
        ids_of_rows: The ids of the rows; integers ascend.
        numbers: A dict from each id, as text, to its number, from 0 on; None if ids are
            integers that were not numbered.
        ids: A dict from the names of arguments to the ids to look up.

    Raises:
        ValueError: if an id has no row; or if `numbers` is None and the ids of the rows are
            not integers.
    """
    are_integers = all(map(inputs.is_integer, ids_of_rows))
    if numbers is None and not are_integers and not any(map(_holds_ids, ids.values())):
        numbers = {}  # lists without ids do not say of which kind their ids are
    if numbers is None:
        if not are_integers:
            raise ValueError(
                f"item_columns names items by ids such as {ids_of_rows[0]!r}, but lists "
                "hold integers; pass ids of one kind in both, or pass each column as an "
                "array, whose row numbers are the ids (.to_numpy() of a Series)"
            )
        in_order = np.asarray(ids_of_rows)
        inputs.ids_among(in_order, "item_columns", ids)
        in_order = inputs.ids("the ids of item_columns", in_order)
        return {
            name: dataclasses.replace(column, ids=in_order)
            for name, column in read(columns).items()
        }
    row_of = {str(key): row for row, key in enumerate(ids_of_rows)}
    if len(row_of) < len(ids_of_rows):
        ((name, _),) = collections.Counter(map(str, ids_of_rows)).most_common(1)
        raise ValueError(
            f"item_columns has the ids {name} and {name!r}, an integer and a string; pass "
            "ids of one kind"
        )
    if unknown := [text for text in numbers if text not in row_of]:
        raise ValueError(
            f"item_columns has no row for the id {unknown[0]!r}; pass a row for each item "
            "of the catalogue"
        )
    # Pad to one of few sizes, because each size compiles its own program.
    size = inputs.next_size(len(numbers))
    index = np.resize([row_of[text] for text in numbers] or [0], size)
    return {
        name: dataclasses.replace(column, values=column.values[index])
        for name, column in read(columns).items()
    }


def _holds_ids(ids: jax.Array) -> bool:
    """True unless all of these ids are known to be padding."""
    return not inputs.is_readable(ids) or bool(np.max(np.asarray(ids), initial=-1) >= 0)


def _made(prepare: Prepare, column: jax.Array) -> jax.Array:
    values = jax.jit(prepare)(column)
    if values.shape[:1] != column.shape[:1]:
        raise ValueError(
            f"item_columns: {getattr(prepare, '__name__', prepare)} returned an array of "
            f"shape {values.shape} for a column of shape {column.shape}; return a row for "
            "each item"
        )
    return values.astype(column.dtype)


class Totals(NamedTuple):
    """The number of some items, and the totals of their columns."""

    number: jax.Array  # [*lists] int32
    columns: dict[str, jax.Array]  # from names to totals, [*lists, …] floats


def with_columns(items: ItemArrays, columns: ItemColumns, ids: jax.Array) -> ItemArrays:
    """Adds the columns to items, looked up by the ids of the items."""
    dtype = items.labels.dtype
    by_name = {name: column.of(ids).astype(dtype) for name, column in columns.items()}
    return items._replace(columns={**items.columns, **by_name})


def totals_of_block(
    columns: ItemColumns, is_counted: jax.Array, first_id: jax.Array
) -> dict[str, jax.Array]:
    """Adds up the columns of items with consecutive ids; see `ItemColumn.total`."""
    return {
        name: column.total(is_counted, first_id) for name, column in columns.items()
    }


def no_totals(columns: ItemColumns, lists: tuple[int, ...]) -> dict[str, jax.Array]:
    """Returns the totals before the first block: zeros."""
    return {
        name: jnp.zeros((*lists, *column.trailing), column.values.dtype)
        for name, column in columns.items()
    }


def count_fn_of(columns: ItemColumns, *, are_own: bool) -> streaming.CountFn:
    """Returns the function that counts items and adds up their columns.

    Args:
        columns: The columns.
        are_own: True if this device holds all counted items; false if all devices count
            the same items.
    """

    def counts(
        candidates: Candidates, is_counted: jax.Array, first_id: jax.Array | None
    ) -> Totals:
        if first_id is not None:
            totals = totals_of_block(columns, is_counted, first_id)
        else:
            totals, ids = {}, candidates.ids
            for name, column in columns.items():
                rows = column.of_own(ids) if are_own else column.of(ids)
                rows = jnp.where(arithmetic.widen(is_counted, rows), rows, 0)
                totals[name] = _total(rows, is_counted)
        return Totals(arithmetic.count(is_counted), totals)

    return counts


def _total(rows: jax.Array, of_items: jax.Array) -> jax.Array:
    """Adds up `[*lists, items, …]` along the axis of items."""
    return Rows().sum(rows, rows.ndim - of_items.ndim)


def pool_of(
    listed: ItemArrays,
    is_member: jax.Array,
    number: jax.Array,
    totals: Mapping[str, jax.Array],
    ranks: int | None,
) -> pools.Pool:
    """Returns a pool of listed items, with one slot for all other items of a catalogue.

    Args:
        listed: `[*lists, listed]`, the items that are known one by one.
        is_member: `[*lists, listed]` bool, true for listed items in the pool.
        number: `[*lists]` int32, how many items are in the pool.
        totals: A dict from the names of columns to their totals over the pool,
            `[*lists, …]`.
        ranks: See `with_unlisted`.
    """
    exists, layout = with_unlisted(is_member, number, ranks, tuple(sorted(totals)))
    items = listed.padded(1)._replace(exists=exists)
    columns = {
        name: _averaged(items.columns[name], exists, layout, total)
        for name, total in totals.items()
    }
    items = items._replace(columns={**items.columns, **columns})
    return pools.Pool(items, layout)


@pytrees.pytree("items_axis")
class LookedUpPool(pools.ScoredPool):
    """A scored pool that looks up wide columns by id when a tie group is read.

    Shapes:
        ids: `[*lists, items]`, the ids of the items.
        known: A dict from names to columns, which are looked up.
    """

    ids: jax.Array
    known: dict[str, ItemColumn]

    def columns_named(self, renamed: Renamed) -> "LookedUpPool":
        """Returns the pool with columns under other names too."""
        known = columns_named(self.known, renamed)
        items = self.items.columns_named(renamed)
        return dataclasses.replace(self, items=items, known=known)

    def of_key(self, key: jax.Array) -> pools.Pool:
        """Returns the items of one key per list, with their columns."""
        columns = {
            name: column
            for name, column in self.items.columns.items()
            if name not in self.known
        }
        items = dataclasses.replace(self.items, columns=columns)
        group = pools.ScoredPool.of_key(dataclasses.replace(self, items=items), key)
        members = group.items.read()
        ids = jnp.where(members.exists, self.ids, -1)
        return pools.Pool(with_columns(members, self.known, ids), group.layout)


def looked_up(data: RankingData, columns: ItemColumns, ids: jax.Array) -> RankingData:
    """Adds wide columns to the data of rows, for metrics that read few of the items.

    Args:
        data: Rows, with their scores.
        columns: Columns that are whole on every device.
        ids: `[*lists, items]`, the ids of the items.
    """
    held, pool = data.items_held, data.pool
    assert held is not None and isinstance(pool, pools.ScoredPool)
    slots = held.item_indices
    held_ids = jnp.where(slots >= 0, arithmetic.take(ids, jnp.maximum(slots, 0)), -1)
    held = dataclasses.replace(held, items=with_columns(held.items, columns, held_ids))
    # Columns of all items are only compiled if a metric reads them from the pool.
    pool_columns = {name: column.of(ids) for name, column in columns.items()}
    items = dataclasses.replace(
        pool.items, columns={**pool.items.columns, **pool_columns}
    )
    pool = LookedUpPool(
        *(items, pool.layout, pool.scores, pool.policy, pool.items_axis),
        *(ids, dict(columns)),
    )
    return dataclasses.replace(data, items_held=held, pool=pool)


def _averaged(
    column: jax.Array, exists: jax.Array, layout: CatalogSlots, total: jax.Array
) -> jax.Array:
    """Returns the column, with its mean over the unlisted items in the last slot.

    Args:
        column: `[*lists, listed + 1, …]`; the last slot stands for the unlisted items.
        exists: `[*lists, listed + 1]` bool.
        layout: The layout of the items.
        total: `[*lists, …]`, the column's total over all items.
    """
    axis = exists.ndim - 1
    members = jnp.where(arithmetic.widen(exists, column), column, 0)
    unlisted = jnp.expand_dims(
        total.astype(column.dtype) - _total(members, exists), axis
    )
    number = layout.counts[..., -1:].astype(column.dtype)
    mean = arithmetic.ratio(unlisted, arithmetic.widen(number, unlisted))
    listed = lax.slice_in_dim(column, 0, -1, axis=axis)
    return jnp.concatenate([listed, mean], axis=axis)


def group_across_cut(
    listed: ItemArrays,
    is_tied: jax.Array,
    ranked: ItemArrays,
    is_last: jax.Array,
    dropped: Any,
) -> tuple[jax.Array, pools.Pool]:
    """Returns the tie group of the last rank.

    Args:
        listed: `[*lists, listed]`, the items that are known one by one.
        is_tied: `[*lists, listed]` bool, true for listed items in the group.
        ranked: `[*lists, ranks]`, the items of the first ranks.
        is_last: `[*lists, ranks]` bool, true for ranked items in the group.
        dropped: How many items of the group the first ranks dropped, `[*lists]` int32, or
            the `Totals` of these items.

    Returns:
        `[*lists]` bool, true if the group reaches beyond the last rank; and the group.
    """
    totals = {}
    if isinstance(dropped, Totals):
        # Add both halves of the group: the items in the first ranks and the dropped ones.
        held = ranked.only(is_last).columns
        totals = {
            name: _total(held[name], is_last) + total.astype(held[name].dtype)
            for name, total in dropped.columns.items()
        }
        dropped = dropped.number
    number = arithmetic.count(is_last) + dropped
    group = pool_of(listed, is_tied, number, totals, None)
    if not totals:
        return dropped > 0, group
    exists = (number > 0)[..., None]
    means = {}
    for name, total in totals.items():
        mean = arithmetic.ratio(
            total, arithmetic.widen(number, total).astype(total.dtype)
        )
        means[name] = jnp.expand_dims(mean, number.ndim)
    labels = jnp.zeros(exists.shape, listed.labels.dtype)
    average = ItemArrays(labels, exists, None, means)
    return dropped > 0, pools.AveragedGroup(group.items, group.layout, average, number)
