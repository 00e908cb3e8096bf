"""Items of lists: labels, weights and columns, and which items exist."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import export, lax
from jax.typing import DTypeLike

from jax_rank_metrics._ground import arithmetic, pytrees

T = TypeVar("T")

# The column of memberships in groups. Unlike other columns, it has entries for every item,
# judged or not.
GROUPS = "groups"

# The column that counts how often each item was seen; a driver may add it.
COUNTS = "counts"

# Pairs: the name under which a metric reads a column, and the key of this column.
Renamed = Sequence[tuple[str, str]]


def columns_named(columns: Mapping[str, T], renamed: Renamed) -> dict[str, T]:
    """Returns a dict of the columns, with each renamed column under both names."""
    return {
        **columns,
        **{name: columns[key] for name, key in renamed if key in columns},
    }


class ItemArrays(NamedTuple):
    """Items of lists, in arrays that are 0 wherever no item exists.

    Shapes, with one slot per item along the axis after the axes of lists:
        labels: `[*lists, items]` in the float dtype of the computation.
        exists: `[*lists, items]` bool, false at padding.
        weights: `[*lists, items]`; None if all items weigh the same.
        columns: `[*lists, items, …]` each.
        integer_labels: `[*lists, items]`, the labels as passed; None if they compare
            correctly as floats.
    """

    labels: jax.Array
    exists: jax.Array
    weights: jax.Array | None = None
    columns: Mapping[str, jax.Array] = {}
    integer_labels: jax.Array | None = None

    def columns_named(self, renamed: Renamed) -> "ItemArrays":
        """Returns the items with some columns also under other names."""
        return self._replace(columns=columns_named(self.columns, renamed))

    def read(self) -> "ItemArrays":
        """Returns `self`: `RawItems.read` has already made these arrays."""
        return self

    def retrieved_items(self) -> "ItemArrays":
        """Returns `self`; `RawItems.retrieved_items` removes items without a rank."""
        return self

    def at(self, slots: jax.Array) -> "ItemArrays":
        """Gathers items by their slots along the axis of items."""
        return jax.tree.map(lambda array: arithmetic.take_items(array, slots), self)

    def broadcast_to(self, shape: tuple[int, ...]) -> "ItemArrays":
        """Broadcasts `labels` and `exists` to `[*lists, items]`."""
        labels = jnp.broadcast_to(self.labels, shape)
        return self._replace(labels=labels, exists=jnp.broadcast_to(self.exists, shape))

    def only(self, exists: jax.Array) -> "ItemArrays":
        """Returns the items for which `exists` is also true; others become 0.

        Slots stay where they are: with `exists` T F T, the labels 3 1 2 become 3 0 2.
        """
        exists = self.exists & exists

        def zero_missing(x: jax.Array) -> jax.Array:
            return jnp.where(arithmetic.widen(exists, x), x, jnp.zeros_like(x))

        return jax.tree.map(zero_missing, self)._replace(exists=exists)

    def padded(self, num_slots: int) -> "ItemArrays":
        """Appends `num_slots` slots in which no item exists to every list."""
        axis = self.exists.ndim - 1

        def pad(x: jax.Array) -> jax.Array:
            widths = [(0, num_slots if i == axis else 0, 0) for i in range(x.ndim)]
            return lax.pad(x, jnp.zeros((), x.dtype), widths)

        return jax.tree.map(pad, self)


export.register_namedtuple_serialization(
    ItemArrays, serialized_name="jax_rank_metrics.ItemArrays"
)


@pytrees.pytree("dtype")
class RawItems:
    """Items of lists as the caller passed them, `[*lists, items]`.

    Call `read` only where items are used: on items that `at` gathered, or in a branch that
    needs all items. For long lists, materialising the arrays of `read` would cost more than
    the top-k itself.
    """

    labels: jax.Array
    dtype: str  # the float dtype of the computation
    mask: jax.Array | None = None
    weights: jax.Array | None = None
    retrieved: jax.Array | None = None
    columns: Mapping[str, jax.Array] = dataclasses.field(default_factory=dict)

    @property
    def label_dtype(self) -> str | None:
        """The dtype of labels as passed, if they are floats that `dtype` widens."""
        return label_dtype(self.labels, self.dtype)

    def columns_named(self, renamed: Renamed) -> "RawItems":
        """Returns the items with some columns also under other names."""
        columns = columns_named(self.columns, renamed)
        return dataclasses.replace(self, columns=columns)

    def read(self, exists: jax.Array | None = None) -> ItemArrays:
        """Returns the items that exist: unmasked, label ≥ 0, weight > 0.

        Slots without an item are 0, in gradients too, so padding cannot leak NaN.

        Args:
            exists: `[*lists, items]` bool, true for items that exist; None to compute it.
        """
        dtype = jnp.dtype(self.dtype)
        labels, weights = self.labels.astype(dtype), self.weights
        weights = None if weights is None else weights.astype(dtype)
        if exists is None:
            exists = labels >= 0
            if self.mask is not None:
                exists = exists & self.mask
            if weights is not None:
                exists = exists & (weights > 0)
        integer_labels = _inexact_integers(self.labels, dtype)
        items = ItemArrays(labels, exists, weights, self.columns, integer_labels)
        return items.only(exists)

    def retrieved_items(self) -> ItemArrays:
        """Returns `read()` without the items whose `retrieved` is false.

        Their slots stay, with 0 in every array. If `retrieved` is None, all items have a
        rank.
        """
        items = self.read()
        return items if self.retrieved is None else items.only(self.retrieved)

    def at(self, slots: jax.Array) -> "RawItems":
        """Gathers items by their slots along the axis of items."""
        return jax.tree.map(lambda array: arithmetic.take_items(array, slots), self)


def label_dtype(labels: jax.Array | None, dtype: DTypeLike) -> str | None:
    """Returns the labels' dtype by name if it is a float other than `dtype`, else None."""
    if labels is None or not jnp.issubdtype(labels.dtype, jnp.floating):
        return None
    return None if labels.dtype == dtype else labels.dtype.name


def _inexact_integers(labels: jax.Array, dtype: DTypeLike) -> jax.Array | None:
    """Returns integer labels if floats of `dtype` may round them, else None."""
    if not jnp.issubdtype(labels.dtype, jnp.integer):
        return None
    is_exact = jnp.iinfo(labels.dtype).max <= 2 ** (jnp.finfo(dtype).nmant + 1)
    return None if is_exact else labels
