"""Lists of ids in rank order, for metrics that read no labels.

What is known of an item, such as how often it was seen in training or its embedding, is a
row of a table, looked up by its id.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs, _mesh, _shards
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._ranking import Ranking, data_of, traced_data
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import RankCutoffs, RankedIds


def ranked_ids(
    name: str, ids: RankedIds | Ranking, ks: Sequence[int | None] = ()
) -> tuple[jax.Array, jnp.dtype]:
    """Reads ids in rank order from an array or a ranking, and the dtype of values.

    Args:
        name: The argument, for error messages.
        ids: `[*lists, ranks]`, or a ranking of lists in rows.
        ks: Cutoffs that a ranking must reach.

    Returns:
        `[*lists, ranks]` integers, at least one rank per list, negative where no item is.

    Raises:
        ValueError: if a ranking does not reach the cutoffs, has no order or is of packed
            lists; if the ids of a list are not all on one device.
        TypeError: if ids are not integers.
    """
    dtype = _inputs.float_dtype()
    if isinstance(ids, Ranking):
        data = data_of(ids)
        if data.packed_layout is not None:
            raise ValueError(
                f"{name} is a ranking of packed lists; pass a ranking of lists in rows, or "
                "the ids padded with -1"
            )
        if data.held is not None:
            traced_data(ids).held_through(ks)
        dtype, ids = data.dtype, data.items
    array = _inputs.ids(name, ids)
    if _mesh.spec_of(array)[-1]:
        raise ValueError(
            f"{name} has its ranks sharded over devices, as {jax.typeof(array)}; pass "
            "lists that are each whole on one device"
        )
    if not array.shape[-1]:
        array = jnp.full((*array.shape[:-1], 1), -1, array.dtype)
    return array, dtype


def if_ranked(lists: PerList, *ids: RankedIds | Ranking) -> PerList:
    """Returns values of lists, NaN where the list of a ranking has a score that is NaN.

    Args:
        lists: The values.
        *ids: Arrays or rankings, as the caller passed them.
    """
    for x in ids:
        nan_found = data_of(x).has_nan if isinstance(x, Ranking) else None
        if nan_found is not None:
            lists = _nan_where(lists, nan_found)
    return lists


@jax.jit
def _nan_where(lists: PerList, nan_found: jax.Array) -> PerList:
    lists, nan_found = _shards.align_with_sharded((lists, nan_found), nan_found.ndim)
    values = jnp.where(
        _arithmetic.widen(nan_found, lists.values), jnp.nan, lists.values
    )
    return dataclasses.replace(lists, values=values, defined=lists.defined | nan_found)


def equally_weighted(
    values: jax.Array, defined: jax.Array, keep_cutoffs: bool, is_share: bool = False
) -> PerList:
    """Results per list, each list with the weight 1.

    Args:
        values: `[*lists, len(ks)]`.
        defined: `[*lists]` bool.
        keep_cutoffs: Whether k was a tuple, so that cutoffs stay as the last axis.
        is_share: Whether values must lie in [0, 1].
    """
    values = jnp.where(defined[..., None], values, 0)
    values = values if keep_cutoffs else values[..., 0]
    weights = jnp.ones(defined.shape, values.dtype)
    return PerList(values, weights, defined, is_share=is_share)


# formula(rows, is_within, table, *numbers) returns the values, `[*lists, len(ks)]`, and the
# number of items that a list needs for its value to be defined. `rows` are the rows of the
# table for the items of each list, `[*lists, ranks, …]`, 0 for padding; `is_within` is 1
# for items within a cutoff and 0 elsewhere, `[*lists, len(ks), ranks]`.
Formula = Callable[..., tuple[jax.Array, int]]


def measure(
    formula: Formula,
    ids: RankedIds | Ranking,
    table: jax.Array,
    k: RankCutoffs,
    numbers: tuple[float, ...] = (),
) -> PerList:
    """Looks up the rows of a table for lists of ids, and applies a formula to them.

    Args:
        formula: See `Formula`.
        ids: `[*lists, ranks]` integers or a `Ranking`; ids without a row are padding.
        table: `[num_items, …]`, a row per id.
        k: As the metric received it.
        numbers: Numbers that the formula reads; traced, so that changing them does not
            compile again.
    """
    ks = _inputs.rank_cutoffs(k)
    id_array, dtype = ranked_ids("ids", ids, ks)
    dtype = wider(dtype, _inputs.float_dtype(table))
    keep_cutoffs = isinstance(k, (tuple, list))
    arrays = id_array, table, tuple(map(jnp.asarray, numbers))
    return if_ranked(_apply(formula, ks, keep_cutoffs, dtype.name, *arrays), ids)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _apply(
    formula: Formula,
    ks: tuple[int | None, ...],
    keep_cutoffs: bool,
    dtype: str,
    ids: jax.Array,
    table: jax.Array,
    numbers: tuple[jax.Array, ...],
) -> PerList:
    def apply_to_shard(
        tree: tuple[jax.Array, jax.Array, tuple[jax.Array, ...]],
    ) -> PerList:
        ids, table, numbers = tree
        exists = in_catalog(ids, table)
        ranks = _arithmetic.cumulative_count(exists)
        is_within = [exists if k is None else exists & (ranks <= k) for k in ks]
        values, items_needed = formula(
            rows_of(ids, table, dtype),
            jnp.stack(is_within, -2).astype(dtype),
            table,
            *(number.astype(dtype) for number in numbers),
        )
        defined = _arithmetic.count(exists) >= items_needed
        return equally_weighted(values, defined, keep_cutoffs)

    return _shards.map_shards(apply_to_shard, (ids, table, numbers), ids[..., 0])


def wider(*dtypes: jnp.dtype) -> jnp.dtype:
    """Returns the float dtype of the most bits."""
    return max(dtypes, key=lambda dtype: dtype.itemsize)


def in_catalog(ids: jax.Array, table: jax.Array) -> jax.Array:
    """Whether each id has a row in a table, `[*lists, ranks]` bool."""
    return (ids >= 0) & (ids < table.shape[0])


def rows_of(ids: jax.Array, table: jax.Array, dtype: str) -> jax.Array:
    """Returns the rows of ids as floats, `[*lists, ranks, …]`; 0 where there is none."""
    exists = in_catalog(ids, table)
    rows = table[jnp.where(exists, ids, 0).astype(jnp.int32)].astype(dtype)
    return jnp.where(_arithmetic.widen(exists, rows), rows, 0)


def mean_within(values: jax.Array, is_within: jax.Array) -> jax.Array:
    """Means of `[*lists, ranks]` over the items within each cutoff."""
    sums = _arithmetic.dot(is_within, values[..., None])[..., 0]
    return ratio(sums, _arithmetic.total(is_within))
