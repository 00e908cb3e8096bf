"""Memberships of the items of a catalogue in groups, and their totals over some items.

Of the items that no list of relevant ones names, a ranking holds only their number. With
the total of their memberships it also knows those of their average item, which stands for
all of them: sums of a linear function of memberships are then exact.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.items import GROUPS, ItemArrays
from jax_rank_metrics._engine.layouts.rows import CatalogSlots, Rows, with_unlisted
from jax_rank_metrics._engine.ordering import streaming
from jax_rank_metrics._engine.ordering.candidates import Candidates
from jax_rank_metrics._engine.ranking import pools
from jax_rank_metrics._ground import arithmetic
from jax_rank_metrics._ground.arithmetic import ratio


class GroupCounts(NamedTuple):
    """The number of some items, and the totals of their memberships."""

    number: jax.Array  # [*lists] int32
    memberships: jax.Array  # [*lists, groups] floats


def memberships_of(item_groups: jax.Array, ids: jax.Array) -> jax.Array:
    """Returns the memberships of items, `[*ids.shape, groups]`; 0 where ids are of none."""
    # An index below 0 would count from the end; one beyond the end is filled with 0.
    rows = jnp.where(ids >= 0, ids, item_groups.shape[0])
    return item_groups.at[rows].get(mode="fill", fill_value=0)


def with_groups(
    items: ItemArrays, item_groups: jax.Array, ids: jax.Array
) -> ItemArrays:
    """Adds the memberships of items that have these ids, as the column of groups."""
    memberships = memberships_of(item_groups, ids).astype(items.labels.dtype)
    return items._replace(columns={**items.columns, GROUPS: memberships})


def count_fn_of(item_groups: jax.Array) -> streaming.CountFn:
    """Returns the function that counts items and adds up their memberships."""

    def counts(candidates: Candidates, is_counted: jax.Array) -> GroupCounts:
        memberships = memberships_of(item_groups, candidates.ids)
        # Not as a product, before which every membership would be written out.
        totals = jnp.where(is_counted[..., None], memberships, 0).sum(-2)
        return GroupCounts(arithmetic.count(is_counted), totals)

    return counts


def pool_of(
    listed: ItemArrays,
    is_member: jax.Array,
    number: jax.Array,
    memberships: jax.Array | None,
    ranks: int | None,
) -> pools.Pool:
    """Returns items of a catalogue as a pool: some that are listed, and all others as one.

    Args:
        listed: `[*lists, listed]`, the items that are known one by one.
        is_member: `[*lists, listed]` bool, which of them are in the pool.
        number: `[*lists]` int32, how many items are in the pool.
        memberships: `[*lists, groups]`, the total of these items; None without groups.
        ranks: See `with_unlisted`.
    """
    averaged = () if memberships is None else (GROUPS,)
    exists, layout = with_unlisted(is_member, number, ranks, averaged)
    items = listed.padded(1)._replace(exists=exists)
    if memberships is not None:
        items = _averaged_over(items, layout, memberships)
    return pools.Pool(items, layout)


def _averaged_over(
    items: ItemArrays, layout: CatalogSlots, memberships: jax.Array
) -> ItemArrays:
    """Gives the last slot the mean memberships of the unlisted items.

    Args:
        items: `[*lists, listed + 1]`; the last slot stands for the unlisted items.
        layout: The layout of the items.
        memberships: `[*lists, groups]`, the total of all items.
    """
    exists = items.exists
    groups, axis = items.columns[GROUPS], exists.ndim - 1
    of_members = jnp.where(exists[..., None], groups, 0)
    unlisted = memberships.astype(groups.dtype) - Rows().sum(of_members, 1)
    unlisted = jnp.expand_dims(jnp.maximum(unlisted, 0), axis)  # rounding may go below
    mean = ratio(unlisted, layout.counts[..., -1:, None].astype(groups.dtype))
    groups = jnp.concatenate([groups[..., :-1, :], mean], axis=axis)
    return items._replace(columns={**items.columns, GROUPS: groups})


def group_across_cut(
    listed: ItemArrays,
    is_tied: jax.Array,
    ranked: ItemArrays,
    is_last: jax.Array,
    dropped: Any,
) -> tuple[jax.Array, pools.Pool]:
    """Returns whether the tie group of the last rank reaches beyond it, and the group.

    Args:
        listed: `[*lists, listed]`, the items that are known one by one.
        is_tied: `[*lists, listed]` bool, which of them are in the group.
        ranked: `[*lists, ranks]`, the items of the first ranks.
        is_last: `[*lists, ranks]` bool, which of these are in the group.
        dropped: How many further items are, `[*lists]` int32, or a `GroupCounts` of them.
    """
    memberships = None
    if isinstance(dropped, GroupCounts):
        # Both halves of the group: what the first ranks hold of it, and what they dropped.
        memberships = Rows().sum(ranked.only(is_last).columns[GROUPS], 1)
        memberships = memberships + dropped.memberships.astype(memberships.dtype)
        dropped = dropped.number
    number = arithmetic.count(is_last) + dropped
    return dropped > 0, pool_of(listed, is_tied, number, memberships, None)
