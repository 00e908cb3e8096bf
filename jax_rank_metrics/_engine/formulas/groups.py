"""Groups of items: the memberships of items, and the exposure that each group gets.

The column `groups` says how much of each item belongs to each group: 1 or True if it
belongs to the group, a fraction if it is divided between groups or belongs to the group
with some probability. An item may belong to several groups, or to none.
"""

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.items import GROUPS
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Items, Ranking
from jax_rank_metrics._engine.ranking.item_fns import ItemFn
from jax_rank_metrics._ground import arithmetic, inputs
from jax_rank_metrics._ground.types import Cut, Discount, Gain, GroupTarget, Number


def memberships(items: Items) -> jax.Array:
    """Reads the column `groups` as floats, `[*lists, items, groups]`.

    An entry counts as 0 if it is NaN, because the membership is then unknown, or if it is
    below 0. An entry above 2^32 counts as 2^32. Padding belongs to no group.

    Raises:
        ValueError: if the column does not have one axis more than the items.
    """
    column, lists = items.columns[GROUPS], items.exists.shape
    if column.ndim != len(lists) + 1 or not column.shape[-1]:
        raise ValueError(
            f"columns: 'groups' has shape {column.shape} for items of shape {lists}; "
            "pass one membership for each item and group, [*lists, items, groups]"
        )
    return jnp.where(items.exists[..., None], column, 0)


def membership_total(items: Items) -> jax.Array:
    """Adds up the memberships of each item, `[*lists, items]`."""
    return memberships(items).sum(-1)


def merit_of(ranking: Ranking, gain_fn: Gain) -> ItemFn:
    """Returns a function of items: their gains times their memberships, by group."""
    return _merit_of(label_fns.gain_of(ranking, gain_fn))


@by_options
def _merit_of(items: Items, *, gain: ItemFn) -> jax.Array:
    return memberships(items) * gain(items)[..., None]


@by_options
def relevant_memberships(items: Items, *, threshold: Number) -> jax.Array:
    """Returns the memberships of relevant items, and 0 for other items."""
    is_hit = label_fns.is_relevant(threshold)(items)
    return jnp.where(is_hit[..., None], memberships(items), 0)


def exposures(
    ranking: Ranking, discount_fn: Discount, ks: tuple[Cut, ...], item_fn: ItemFn
) -> jax.Array:
    """Sums `item_fn`, such as `memberships`, times the attention of each item's rank.

    If items tie, this is the mean over all their orders.

    Returns:
        `[*lists, len(ks), groups]`.

    Raises:
        ValueError: if the groups or the places of some items are not known.
    """
    return ranking.expected_sum(item_fn, place.positions(discount_fn), ks)


def check_target(target: GroupTarget, num_groups: int | None = None) -> None:
    """Raises `ValueError` unless a target is None, "relevant", or a share of each group."""
    if target is not None and target != "relevant":
        alternative = "None" if isinstance(target, tuple) else "None, or 'relevant'"
        inputs.group_shares("target", target, num_groups, alternative)


def target_amounts(
    ranking: Ranking, target: GroupTarget, threshold: Number
) -> jax.Array:
    """Returns the amount that each group should get, up to a factor, `[*lists, groups]`.

    Args:
        ranking: The lists.
        target: Shares, or the items of the pool that set them; see `GroupTarget`.
        threshold: The least label of a relevant item.
    """
    sizes = ranking.pool_sum(memberships)
    if target is None:
        return sizes
    if target == "relevant":
        return ranking.pool_sum(relevant_memberships(threshold))
    check_target(target, sizes.shape[-1])
    return jnp.broadcast_to(jnp.asarray(target, sizes.dtype), sizes.shape)


def target_exposures(
    ranking: Ranking,
    target: GroupTarget,
    discount_fn: Discount,
    ks: tuple[Cut, ...],
    threshold: Number,
) -> jax.Array:
    """Returns the exposures that groups should have, `[*lists, len(ks), groups]`."""
    amounts = target_amounts(ranking, target, threshold)[..., None, :]
    size = ranking.pool_sum(label_fns.item_exists)[..., None]
    if target != "relevant":
        attention = ranking.expected_sum(
            label_fns.item_exists, place.positions(discount_fn), ks
        )
        means = amounts if target else arithmetic.ratio(amounts, size[..., None])
        return attention[..., None] * means
    num_relevant = ranking.num_relevant(threshold)[..., None]
    to_relevant = ranking.ideal_sum(
        label_fns.is_relevant(threshold), discount_fn, ks, monotone=True
    )
    to_rest = ranking.ideal_sum(label_fns.item_exists, discount_fn, ks) - to_relevant
    sizes = ranking.pool_sum(memberships)[..., None, :]
    per_relevant = arithmetic.ratio(to_relevant, num_relevant)[..., None]
    per_rest = arithmetic.ratio(to_rest, size - num_relevant)[..., None]
    return per_relevant * amounts + per_rest * (sizes - amounts)
