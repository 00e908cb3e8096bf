"""Labels that a function derives from attributes of queries and of items."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _inputs
from jax_rank_metrics._pytree import pytree

# From attributes of queries and of items, labels `[queries, items]`, or these and which
# pairs leave the ranking, bool.
LabelFn = Callable[[Any, Any], jax.Array | tuple[jax.Array, jax.Array]]


@pytree("label_fn")
class Labeller:
    """The labels of all pairs of queries and items, computed a block of items at a time.

    Attributes:
        query_attributes: A pytree of arrays `[*lists, …]`.
        item_attributes: A pytree of arrays `[items, …]`, of the items of this device.
        label_fn: What computes labels from both.
    """

    query_attributes: Any
    item_attributes: Any
    label_fn: LabelFn

    def labels(
        self, lists: tuple[int, ...], start: jax.Array | int, length: int
    ) -> tuple[jax.Array, jax.Array, jax.Array | None]:
        """Labels the items from `start` on.

        Args:
            lists: The shape of the axes of lists.
            start: The index of the first item.
            length: The number of items.

        Returns:
            Arrays `[*lists, length]`: the labels as `label_fn` returns them; whether it
            leaves each item in the ranking, bool; and whether the label of an item that
            it leaves there is below 0 or NaN, which removes the item: None where no label
            of this dtype is.
        """

        def block(x: jax.Array) -> jax.Array:
            if length == x.shape[0]:
                return x
            return lax.dynamic_slice_in_dim(x, start, length)

        def one_axis(x: jax.Array) -> jax.Array:
            return x.reshape((math.prod(lists), *x.shape[len(lists) :]))

        result = self.label_fn(
            jax.tree.map(one_axis, self.query_attributes),
            jax.tree.map(block, self.item_attributes),
        )
        labels, excluded = result if isinstance(result, tuple) else (result, None)
        labels = lax.stop_gradient(jnp.asarray(labels)).reshape((*lists, length))
        kept = jnp.ones(labels.shape, bool)
        if excluded is not None:
            kept = ~jnp.asarray(excluded).reshape(labels.shape)
        if labels.dtype == jnp.bool_:
            return labels, kept, None
        # Labels below 0, and those that are NaN, are padding as they are everywhere.
        return labels, kept & (labels >= 0), kept & ~(labels >= 0)


def checked_labeller(
    label_fn: LabelFn,
    query_attributes: object,
    item_attributes: object,
    *,
    shape: tuple[int, ...],
    block_length: int,
) -> Labeller:
    """Checks a function of labels, and that it returns an array for a block of items.

    Args:
        label_fn: As `rank_catalog` takes it.
        query_attributes: As `rank_catalog` takes them.
        item_attributes: As `rank_catalog` takes them.
        shape: `[*lists, items]`, of all labels.
        block_length: The number of items in a block.
    """
    if not callable(label_fn):
        raise TypeError(
            f"label_fn is {_inputs.kind_of(label_fn)}; pass a function of the attributes "
            "of queries and of items"
        )
    *axes_of_lists, num_items = shape
    lists = tuple(axes_of_lists)
    trees = (
        _inputs.attributes("query_attributes", query_attributes, lists, "queries"),
        _inputs.attributes("item_attributes", item_attributes, (num_items,), "items"),
    )
    expected = (math.prod(lists), block_length)
    result = jax.eval_shape(
        label_fn,
        _with_first_axis(trees[0], expected[0], len(lists)),
        _with_first_axis(trees[1], expected[1], 1),
    )
    parts = [result]
    if isinstance(result, tuple) and len(result) == 2:
        parts = list(result)
    if any(getattr(part, "shape", None) != expected for part in parts):
        kinds = " and ".join(map(_inputs.kind_of, parts))
        raise ValueError(
            f"label_fn gives {kinds} for {expected[0]} queries and {expected[1]} items; "
            f"return labels of shape {expected}, or these and a bool array of the same "
            "shape that says what leaves the ranking. Attributes begin with one axis of "
            "queries, or of items: compare query[:, None] with item[None]"
        )
    if jnp.issubdtype(parts[0].dtype, jnp.complexfloating):
        raise TypeError(f"label_fn gives {parts[0].dtype} labels; return real numbers")
    if len(parts) == 2 and parts[1].dtype != jnp.bool_:
        raise TypeError(
            f"label_fn gives {parts[1].dtype} for what leaves the ranking; return bools"
        )
    return Labeller(*trees, label_fn)


def _with_first_axis(tree: Any, size: int, num_axes: int) -> Any:
    """Returns the types of arrays with one axis in place of the first `num_axes`."""

    def retyped(x: jax.Array) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((size, *x.shape[num_axes:]), x.dtype)

    return jax.tree.map(retyped, tree)
