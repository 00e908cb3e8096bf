"""Groups of items: reads the column `groups`.

The column says how much of each item belongs to each group: 1 or True where it belongs
there, fractions where it is divided or where its group is known with some probability. An
item may belong to several groups, or to none.
"""

import jax
import jax.numpy as jnp

from jax_rank_metrics._ranking import Items


def memberships(items: Items) -> jax.Array:
    """Reads the column `groups` as floats, `[*lists, items, groups]`.

    An entry counts as 0 where it is NaN, since it is unknown whether the item belongs
    there, and where it is below 0. Padding belongs to no group.

    Raises:
        ValueError: if the column does not have one axis more than the items.
    """
    column, lists = items.columns["groups"], items.exists.shape
    if column.ndim != len(lists) + 1 or not column.shape[-1]:
        raise ValueError(
            f"columns: 'groups' has shape {column.shape} for items of shape {lists}; "
            "pass one membership for each item and group, [*lists, items, groups]"
        )
    shares = column.astype(items.labels.dtype)
    return jnp.where((shares > 0) & items.exists[..., None], shares, 0)
