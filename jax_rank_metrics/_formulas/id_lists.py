"""Lists of ids in rank order, for metrics that read no labels.

What is known of an item, such as how often it was seen in training or its embedding, is a
row of a table, looked up by its id.
"""

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic, _inputs, _mesh, _shards
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._ordering.order import order_rows
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._places.tie_groups import bounds_of_runs, continues_run
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking import Ranking, data_of, traced_data
from jax_rank_metrics._ranking.pool import ScoredPool
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import RankCutoffs, RankedIds


@pytree("limit")
class RankedItems:
    """Items of lists in rank order, and where they tie.

    Attributes:
        ids: `[*lists, ranks]` integers, at least one rank per list, negative where no item
            is.
        keys: `[*lists, ranks]` integers, equal where items tie; None in one order.
        limit: The number of ranks that count, static, beyond which stand items that tie
            with the last of them; None if all do.
        is_parted: `[*lists]` bool, the lists of which such items are not known; None if
            there is none.
    """

    ids: jax.Array
    keys: jax.Array | None = None
    limit: int | None = None
    is_parted: jax.Array | None = None

    def places(self, exists: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns how many items are above each, and the last rank that it may hold.

        Args:
            exists: `[*lists, ranks]` bool, the items that are counted, as both results
                are, int32.
        """
        ranks = _arithmetic.cumulative_count(exists)
        above = ranks - exists.astype(jnp.int32)
        if self.keys is None:
            return above, ranks
        continues = continues_run(Rows(), self.ids >= 0, self.keys)
        first, last = bounds_of_runs(continues)
        return _arithmetic.take(above, first), _arithmetic.take(ranks, last)


def ranked_items(
    name: str,
    ids: RankedIds | Ranking,
    ks: Sequence[int | None] = (),
    reorders: bool = True,
) -> tuple[RankedItems, jnp.dtype]:
    """Reads items with their ties, as `ranked_ids` reads ids in one order.

    Args:
        name: As of `ranked_ids`.
        ids: As of `ranked_ids`.
        ks: As of `ranked_ids`.
        reorders: Whether a ranking that was cut within a tie group is ordered anew, as far
            as it has its scores.

    Raises:
        ValueError: as `ranked_ids`; if items tie across the cut of a ranking that is not
            ordered anew, outside `jax.jit`.
    """
    array, dtype = _read_ids(name, ids, ks)
    data = data_of(ids) if isinstance(ids, Ranking) else None
    if data is None or data.held is None or not Policy(data.ties).is_grouped:
        return RankedItems(array), dtype
    keys, straddles, pool = data.held.keys, data.held.straddles, data.pool
    if keys is None or not keys.shape[-1]:
        return RankedItems(array), dtype
    is_known = _inputs.is_readable(straddles)
    if straddles is None or (is_known and not np.any(straddles)):
        return RankedItems(array, keys), dtype
    if reorders and isinstance(pool, ScoredPool) and pool.items_axis is None:
        array, keys = _order_whole(pool, data.list_exists)
        return RankedItems(array, keys, data.cut), dtype
    if is_known:
        raise ValueError(
            f"{name}: items tie across the cut of the ranking at {data.cut}, and those "
            "beyond are not known; rank deeper, or with ties='stable'"
        )
    return RankedItems(array, keys, None, straddles), dtype


@jax.jit
def _order_whole(pool: ScoredPool, lists: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the items of whole lists in rank order, −1 where none is, and their keys."""

    def of_shard(pool: ScoredPool) -> tuple[jax.Array, jax.Array]:
        best, _ = order_rows(pool.candidates, Policy("stable"), None)
        return jnp.where(best.items.exists, best.ids, -1), best.keys

    return _shards.map_shards(of_shard, pool, lists)


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
            lists, or was made with `ties="expected"`; if the ids of a list are not all on
            one device.
        TypeError: if ids are not integers.
    """
    array, dtype = _read_ids(name, ids, ks)
    if isinstance(ids, Ranking):
        data = data_of(ids)
        policy = Policy(data.ties)
        if policy.forbids_order:
            raise ValueError(f"{name}: {policy.order_error}")
        keys = None if data.held is None else data.held.keys
        if policy.hashes_own_index and keys is not None and _inputs.is_readable(keys):
            if bool(_any_ties(array, keys)):
                warnings.warn(_TIED.format(name), stacklevel=3)
    return array, dtype


_TIED = (
    "{}: items of the ranking tie, and this metric reads them in one order, which is that "
    "of a hash, the same in every list; pass a key to rank, under which the order of each "
    "list is drawn"
)


@jax.jit
def _any_ties(ids: jax.Array, keys: jax.Array) -> jax.Array:
    """Whether an item has the key of the one before it."""
    return jnp.any((ids[..., 1:] >= 0) & (keys[..., 1:] == keys[..., :-1]))


def _read_ids(
    name: str, ids: RankedIds | Ranking, ks: Sequence[int | None]
) -> tuple[jax.Array, jnp.dtype]:
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
        lists = if_known(lists, data_of(x).has_nan if isinstance(x, Ranking) else None)
    return lists


def if_known(lists: PerList, is_unknown: jax.Array | None) -> PerList:
    """Returns values of lists, NaN where a list is unknown, `[*lists]` bool or None."""
    return lists if is_unknown is None else _nan_where(lists, is_unknown)


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
# table for the items of each list, `[*lists, ranks, …]`, 0 for padding; `is_within` says
# which items are within a cutoff, `[*lists, len(ks), ranks]`: bools, or the chances of
# those that tie.
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
    items, dtype = ranked_items("ids", ids, ks)
    dtype = wider(dtype, _inputs.float_dtype(table))
    keep_cutoffs = isinstance(k, (tuple, list))
    arrays = items, table, tuple(map(jnp.asarray, numbers))
    lists = _apply(formula, ks, keep_cutoffs, dtype.name, *arrays)
    return if_ranked(if_known(lists, items.is_parted), ids)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _apply(
    formula: Formula,
    ks: tuple[int | None, ...],
    keep_cutoffs: bool,
    dtype: str,
    items: RankedItems,
    table: jax.Array,
    numbers: tuple[jax.Array, ...],
) -> PerList:
    def apply_to_shard(
        tree: tuple[RankedItems, jax.Array, tuple[jax.Array, ...]],
    ) -> PerList:
        items, table, numbers = tree
        exists = in_catalog(items.ids, table)
        above, last = items.places(exists)
        if items.keys is None:
            is_within = [exists if k is None else exists & (last <= k) for k in ks]
        else:
            is_within = [chance(above, last, exists, k, dtype) for k in ks]
        values, items_needed = formula(
            rows_of(items.ids, table, dtype),
            jnp.stack(is_within, -2),
            table,
            *(number.astype(dtype) for number in numbers),
        )
        defined = _arithmetic.count(exists) >= items_needed
        return equally_weighted(values, defined, keep_cutoffs)

    tree = items, table, numbers
    return _shards.map_shards(apply_to_shard, tree, items.ids[..., 0])


def chance(
    above: jax.Array,
    last: jax.Array,
    exists: jax.Array,
    k: int | jax.Array | None,
    dtype: DTypeLike,
) -> jax.Array:
    """Returns the chance of a rank up to k of items at the ranks above + 1 … last."""
    k = last if k is None else k
    within = jnp.clip(k - above, 0, last - above).astype(dtype)
    return ratio(jnp.where(exists, within, 0), (last - above).astype(dtype))


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
    """Means of `[*lists, ranks]` over the items within each cutoff; see `Formula`."""
    is_within = is_within.astype(values.dtype)
    sums = _arithmetic.dot(is_within, values[..., None])[..., 0]
    return ratio(sums, _arithmetic.total(is_within))
