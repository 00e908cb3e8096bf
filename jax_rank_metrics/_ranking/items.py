"""The items that a formula is given."""

import dataclasses
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp

from jax_rank_metrics._arithmetic import widen
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._types import Number


@dataclasses.dataclass(frozen=True)
class Items:
    """Items of lists, as a formula's `item_fn` reads them.

    Which items these are (those that hold a rank, or a whole pool) and how they lie is
    not told: an `item_fn` is a function of each item for itself.

    Attributes:
        labels: Floats, 0 where no item exists.
        exists: Bool.
        weights: Item weights, 0 where no item exists; None if items weigh the same.
        columns: By name, what was passed as `columns=`; 0 or False where none exists.
    """

    labels: jax.Array
    exists: jax.Array
    weights: jax.Array | None
    columns: Mapping[str, jax.Array]

    @classmethod
    def of(cls, arrays: ItemArrays) -> "Items":
        """The same as arrays."""
        return cls(*arrays)

    def relevant(self, threshold: Number) -> jax.Array:
        """Which items exist and have at least this label, bool.

        Labels and threshold are compared in the dtype of the values: labels of less
        precision are widened first.
        """
        return (self.labels >= threshold) & self.exists


# What a weighed item is worth at most, so that a sum of many stays finite.
MOST = 2.0**107

# Gains that are to be multiplied by item weights are scaled by this power of two first,
# so that the products stay below `MOST` where both are large.
WEIGHED_SCALE = 2.0**-64

# What an item is worth, or whether it holds: a function of each item for itself.
ItemFn = Callable[[Items], jax.Array]


def item_values(
    item_fn: ItemFn, arrays: ItemArrays, dtype: jnp.dtype, keep_bools: bool = False
) -> jax.Array:
    """`item_fn` as floats, 0 where no item exists, whatever it gives there."""
    values = jnp.asarray(item_fn(Items.of(arrays)))
    if values.dtype != dtype and not (keep_bools and values.dtype == jnp.bool_):
        values = values.astype(dtype)
    if values.ndim < arrays.exists.ndim:  # a constant
        values = jnp.broadcast_to(values, arrays.exists.shape)
    return jnp.where(widen(arrays.exists, values), values, jnp.zeros_like(values))


def item_predicate(item_fn: ItemFn, arrays: ItemArrays) -> jax.Array:
    """`item_fn` as bools, False where no item exists."""
    found = jnp.asarray(item_fn(Items.of(arrays))).astype(bool)
    return found & widen(arrays.exists, found)
