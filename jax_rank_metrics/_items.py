"""Items of lists: labels, weights and columns, and which of them exist."""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import export, lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._pytree import pytree


class ItemArrays(NamedTuple):
    """Items of lists, with what does not exist made harmless.

    Shapes, with `items` the number of places of a list:
        labels: `[*lists, items]` in the float dtype of the computation, 0 where no item
            exists.
        exists: `[*lists, items]` bool, false at padding.
        weights: `[*lists, items]`, 0 where no item exists; None where items weigh the
            same.
        columns: `[*lists, items, …]` each, 0 or False where no item exists.
    """

    labels: jax.Array
    exists: jax.Array
    weights: jax.Array | None = None
    columns: Mapping[str, jax.Array] = {}

    def read(self) -> "ItemArrays":
        """Itself; see `RawItems`."""
        return self

    def retrieved_items(self) -> "ItemArrays":
        """Itself: every item has a rank."""
        return self

    def at(self, places: jax.Array) -> "ItemArrays":
        """Some of the items, by their places along the axis of items."""
        return jax.tree.map(lambda x: _arithmetic.take_items(x, places), self)

    def only(self, exists: jax.Array) -> "ItemArrays":
        """Those of the items that also exist here, all others made harmless."""
        exists = self.exists & exists

        def clean(x: jax.Array) -> jax.Array:
            return jnp.where(_arithmetic.widen(exists, x), x, jnp.zeros_like(x))

        labels, weights, columns = jax.tree.map(
            clean, (self.labels, self.weights, self.columns)
        )
        return ItemArrays(labels, exists, weights, columns)

    def padded(self, more: int) -> "ItemArrays":
        """With so many more items at the end, none of which exists."""
        axis = self.exists.ndim - 1

        def pad(x: jax.Array) -> jax.Array:
            widths = [(0, more if i == axis else 0, 0) for i in range(x.ndim)]
            return lax.pad(x, jnp.zeros((), x.dtype), widths)

        return jax.tree.map(pad, self)

    def relevant(self, threshold: float | int) -> jax.Array:
        """Which items exist and have at least this label, bool.

        Labels are compared in the dtype of the values, float32 or float64.
        """
        return (self.labels >= threshold) & self.exists


export.register_namedtuple_serialization(
    ItemArrays, serialized_name="jax_rank_metrics.ItemArrays"
)


@pytree("dtype")
class RawItems:
    """Items of lists as they were passed, `[*lists, items]`.

    What they stand for is worked out where it is read: for the few items that are
    chosen, or in the one branch that looks at all. Materialising these arrays for long
    lists costs more than the top-k itself.
    """

    labels: jax.Array
    dtype: str  # of the computation, a float
    mask: jax.Array | None = None
    weights: jax.Array | None = None
    retrieved: jax.Array | None = None
    columns: Mapping[str, jax.Array] = dataclasses.field(default_factory=dict)

    def read(self) -> ItemArrays:
        """Items that exist: unmasked, label ≥ 0, weight > 0.

        Nothing has a gradient from here on: a metric is a constant to autodiff, so that
        padding cannot leak a NaN into one.
        """
        dtype = jnp.dtype(self.dtype)
        labels = lax.stop_gradient(self.labels).astype(dtype)
        exists, weights = labels >= 0, self.weights
        if self.mask is not None:
            exists = exists & self.mask
        if weights is not None:
            weights = lax.stop_gradient(weights).astype(dtype)
            exists = exists & (weights > 0)
        columns = {name: lax.stop_gradient(x) for name, x in self.columns.items()}
        every = ItemArrays(labels, jnp.ones_like(exists), weights, columns)
        return every.only(exists)

    def retrieved_items(self) -> ItemArrays:
        """Those of them that have a rank."""
        items = self.read()
        return items if self.retrieved is None else items.only(self.retrieved)

    def at(self, places: jax.Array) -> "RawItems":
        """Some of the items, by their places along the axis of items."""
        return jax.tree.map(lambda x: _arithmetic.take_items(x, places), self)
