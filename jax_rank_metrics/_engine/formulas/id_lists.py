"""Lists of ids in rank order, for functions that read no labels."""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jax_rank_metrics._engine import ranking
from jax_rank_metrics._engine.layouts.rows import Rows
from jax_rank_metrics._engine.ordering import order, policies
from jax_rank_metrics._engine.places import tie_groups
from jax_rank_metrics._engine.ranking.pools import ScoredPool
from jax_rank_metrics._ground import arithmetic, inputs, meshes, pytrees, shards, types
from jax_rank_metrics._values import per_list

# How tied items are read: by whole tie groups, by tie groups as far as a ranking contains
# their items, or in one order.
Ties = Literal["groups", "held groups", "order"]


@pytrees.pytree("limit")
class RankedItems:
    """Items of lists in rank order, and their ties.

    Attributes:
        ids: `[*lists, ranks]` integers, at least one rank per list; negative at padding.
        limit: The number of ranks that count, static. Later ranks contain only items that
            tie with the item at rank `limit`.
        keys: `[*lists, ranks]` integers, equal for tied items; None if items are read in
            one order.
        is_unknown: `[*lists]` bool, True for lists with a score that is NaN, or whose last
            tie group has further items that are not known; None if there is no such list.
    """

    ids: jax.Array
    limit: int
    keys: jax.Array | None = None
    is_unknown: jax.Array | None = None

    def places(self, exists: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns how many items are above each item, and the last rank it may have.

        Both are `[*lists, ranks]` int32.

        Args:
            exists: `[*lists, ranks]` bool, True for items that are counted.
        """
        ranks = arithmetic.cumulative_count(exists)
        above = ranks - exists.astype(jnp.int32)
        if self.keys is None:
            return above, ranks
        continues = tie_groups.continues_run(Rows(), self.ids >= 0, self.keys)
        first, last = tie_groups.bounds_of_runs(continues)
        return arithmetic.take(above, first), arithmetic.take(ranks, last)


def ranked_items(
    name: str,
    ids: types.RankedIds | ranking.Ranking,
    ks: Sequence[int | None] = (),
    ties: Ties = "groups",
) -> tuple[RankedItems, jnp.dtype]:
    """Returns items in rank order, from an array or a ranking, and the dtype of values.

    Args:
        name: The argument, for error messages.
        ids: `[*lists, ranks]`, or a ranking of lists in rows.
        ks: Cutoffs that a ranking must reach.
        ties: How tied items are read. With "groups", a ranking that was cut within a tie
            group is ordered again, if it has its scores.

    Raises:
        ValueError: if a ranking does not reach the cutoffs, has no order or is of packed
            lists; if the ids of a list are not all on one device; with "order", if the
            ranking was made with `ties="expected"`; with the two other `ties`, if items tie
            across its cut and the items beyond are not known, outside `jax.jit`.
        TypeError: if ids are not integers.
    """
    dtype, data = inputs.float_dtype(), None
    if isinstance(ids, ranking.Ranking):
        data = ranking.data_of(ids)
        if data.packed_layout is not None:
            raise ValueError(
                f"{name} is a ranking of packed lists; pass a ranking of lists in rows, or "
                "the ids padded with -1"
            )
        if data.items_held is not None:
            ranking.traced_data(ids).held_through(ks)
        dtype, ids = data.dtype, data.items
    array = inputs.ids(name, ids)
    if meshes.spec_of(array)[-1]:
        raise ValueError(
            f"{name} has its ranks sharded over devices, as {jax.typeof(array)}; pass "
            "lists that are each whole on one device"
        )
    if not array.shape[-1]:
        array = jnp.full((*array.shape[:-1], 1), -1, array.dtype)
    items = RankedItems(array, array.shape[-1])
    return items if data is None else _with_ties(name, items, data, ties), dtype


_TIED = (
    "{}: items of the ranking tie, and this metric reads them in one order, by a hash that "
    "is the same in every list; pass a key to rank, which then draws an order for each "
    "list"
)
_any_ties = jax.jit(lambda ranked: jnp.any(ranked.has_ties()))


def _with_ties(
    name: str, items: RankedItems, data: ranking.RankingData, ties: Ties
) -> RankedItems:
    """Returns items of a ranking with their ties, as far as known; see `ranked_items`."""
    items = dataclasses.replace(items, is_unknown=data.has_nan)
    policy, ranked, pool = policies.Policy(data.ties), data.items_held, data.pool
    if ties == "order" and policy.forbids_order:
        raise ValueError(f"{name}: {policy.order_error}")
    keys = None if ranked is None else ranked.keys
    if ranked is None or keys is None or not policy.is_grouped or not keys.shape[-1]:
        return items
    if ties == "order":
        if inputs.is_readable(keys) and bool(_any_ties(ranked)):
            warnings.warn(_TIED.format(name), stacklevel=4)
        return items
    items, is_parted = dataclasses.replace(items, keys=keys), ranked.straddles
    is_known = inputs.is_readable(is_parted)
    if is_parted is None or (is_known and not np.any(is_parted)):
        return items
    if ties == "groups" and isinstance(pool, ScoredPool) and pool.items_axis is None:
        lists, keys = order.order_all(pool.candidates, data.list_exists)
        return dataclasses.replace(items, ids=lists, keys=keys)
    if is_known:
        raise ValueError(
            f"{name}: items tie across the last rank of the ranking, {data.cut}, but the "
            "items beyond this rank are not known; rank deeper, or with ties='stable'"
        )
    if items.is_unknown is not None:
        is_parted = is_parted | items.is_unknown
    return dataclasses.replace(items, is_unknown=is_parted)


def if_known(lists: per_list.PerList, *items: RankedItems) -> per_list.PerList:
    """Returns values of lists, with NaN for lists that are unknown in any of `items`."""
    for ranked in items:
        if ranked.is_unknown is not None:
            lists = _nan_where(lists, ranked.is_unknown)
    return lists


@jax.jit
def _nan_where(lists: per_list.PerList, is_unknown: jax.Array) -> per_list.PerList:
    lists, is_unknown = shards.align_with_sharded((lists, is_unknown), is_unknown.ndim)
    values = jnp.where(
        arithmetic.widen(is_unknown, lists.values), jnp.nan, lists.values
    )
    return dataclasses.replace(lists, values=values, defined=lists.defined | is_unknown)


def equally_weighted(
    values: jax.Array, defined: jax.Array, keep_cutoffs: bool, is_share: bool = False
) -> per_list.PerList:
    """Returns the values of lists, each list with the weight 1.

    Args:
        values: `[*lists, len(ks)]`.
        defined: `[*lists]` bool.
        keep_cutoffs: True if k was a tuple, so that cutoffs stay as the last axis.
        is_share: True if values must lie in [0, 1].
    """
    values = jnp.where(defined[..., None], values, 0)
    values = values if keep_cutoffs else values[..., 0]
    weights = jnp.ones(defined.shape, values.dtype)
    return per_list.PerList(values, weights, defined, is_share=is_share)


def chance(
    place: Sequence[jax.Array], exists: jax.Array, k: types.Cut, dtype: DTypeLike
) -> jax.Array:
    """Returns the chance that an item with a place of `RankedItems.places` is within k."""
    above, last = place
    k = last if k is None else k
    within = jnp.clip(k - above, 0, last - above).astype(dtype)
    return arithmetic.ratio(jnp.where(exists, within, 0), (last - above).astype(dtype))


def wider(*dtypes: jnp.dtype) -> jnp.dtype:
    """Returns the float dtype with the most bits."""
    return max(dtypes, key=lambda dtype: dtype.itemsize)
