"""`jrm.by_attributes`: relevance that a function derives from attributes."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._ground import inputs, pytrees

# Takes attributes of queries and of items. Returns labels `[queries, items]`, or a pair of
# labels and bools, true for items that leave the ranking.
LabelFn = Callable[[Any, Any], jax.Array | tuple[jax.Array, jax.Array]]


@pytrees.pytree("label_fn")
class by_attributes:
    """Relevance by attributes, instead of ids of relevant items.

    A function derives labels from attributes of a query and of an item, such as the person
    on a picture. Labels are computed for a block of items at a time, so no matrix of all
    queries and items is ever stored.

    It is a pytree with the attributes as leaves. The function is static: pass the same
    object again, rather than a fresh lambda, to reuse a compiled program.

    Args:
        label_fn: `label_fn(query_attributes, item_attributes)` returns the labels
            `[queries, block]` of a block of items. It may also return a pair: the labels,
            and a bool array of the same shape, true for items to remove from the list.
            Removed items have no rank and are not in the pool. Items with a negative
            label or NaN are removed too, but drivers refuse such labels. The function
            gets query attributes with one axis of queries, whatever axes lists have, and
            item attributes with one axis of items: compare `query[:, None] == item[None]`.
            It gets names as numbers in the order of the names. If it cannot take the
            pairs of numbers that `hash_ids` makes, it gets one number for each id. Labels
            are bools; if all items are in one block, they may also be real numbers.
        query_attributes: A pytree of arrays `[*lists, …]`, such as a dict. Attributes are
            numbers, or names: strings, dates, categories, and anything else that is not a
            number. Equal names of queries and items become equal numbers.
        item_attributes: A pytree of arrays `[items, …]`.

    Pictures of the same person are relevant, but are removed if the same camera took them:

    >>> from jax_rank_metrics import rank_catalog, recall
    >>> def same_person(query, item):
    ...     same = {x: query[x][:, None] == item[x][None] for x in query}
    ...     return same["person"], same["person"] & same["camera"]
    >>> relevant = by_attributes(
    ...     same_person,
    ...     {"person": [7, 8], "camera": [1, 1]},
    ...     {"person": [7, 8, 7, 8], "camera": [2, 2, 1, 1]},
    ... )
    >>> queries, items = jnp.eye(2), jnp.array([[1.0, 0], [0, 2], [3, 0], [0, 4]])
    >>> ranking = rank_catalog(queries, items, relevant, k=2)
    >>> ranking.items[:, 0].tolist()
    [0, 1]
    >>> recall.of(ranking, k=1).values.tolist()
    [1.0, 1.0]
    """

    label_fn: LabelFn
    query_attributes: Any
    item_attributes: Any

    def __post_init__(self) -> None:
        # Convert lists of numbers to arrays: a pytree would split a list into its entries.
        for name in ("query_attributes", "item_attributes"):
            tree = inputs.without_lists(getattr(self, name))
            object.__setattr__(self, name, tree)


def labels_of_block(
    relevant: by_attributes,
    lists: tuple[int, ...],
    start: jax.Array | int,
    length: int,
) -> tuple[jax.Array, jax.Array, jax.Array | None]:
    """Labels the items from `start` on.

    Args:
        relevant: The result of `read_attributes`.
        lists: The shape of the axes of lists.
        start: The index of the first item.
        length: The number of items.

    Returns:
        Three arrays `[*lists, length]`: the labels as `label_fn` returns them; a bool, true
        for items that stay in the ranking; and a bool, true for items that leave the
        ranking only because their label is below 0 or NaN. The last array is None if labels
        are bools.
    """

    def block(x: jax.Array) -> jax.Array:
        if length == x.shape[0]:
            return x
        return lax.dynamic_slice_in_dim(x, start, length)

    def one_axis(x: jax.Array) -> jax.Array:
        return x.reshape((math.prod(lists), *x.shape[len(lists) :]))

    result = relevant.label_fn(
        jax.tree.map(one_axis, relevant.query_attributes),
        jax.tree.map(block, relevant.item_attributes),
    )
    labels, excluded = result if isinstance(result, tuple) else (result, None)
    # The function sees one axis of queries, so restore the axes of lists.
    labels = jnp.asarray(labels).reshape((*lists, length))
    kept = jnp.ones(labels.shape, bool)
    if excluded is not None:
        kept = ~jnp.asarray(excluded).reshape(labels.shape)
    if labels.dtype == jnp.bool_:
        return labels, kept, None
    # Labels that are negative or NaN mark padding, as everywhere.
    return labels, kept & (labels >= 0), kept & ~(labels >= 0)


def read_attributes(
    relevant: by_attributes, lists: tuple[int, ...], num_items: int
) -> by_attributes:
    """Converts attributes to arrays, and checks that they begin with the right axes.

    Raises:
        ValueError: if a leaf does not begin with the axes `[*lists, …]` or `[items, …]`, if
            JAX would round its numbers and they are likely to be ids, or if a name is
            missing.
        TypeError: if `label_fn` is no function, or a leaf is not an array of numbers or
            of names.
    """
    label_fn = relevant.label_fn
    if not callable(label_fn):
        raise TypeError(
            f"label_fn is {inputs.kind_of(label_fn)}; pass a function of the attributes "
            "of queries and of items"
        )
    arguments = {
        "query_attributes": (relevant.query_attributes, lists, "queries"),
        "item_attributes": (relevant.item_attributes, (num_items,), "items"),
    }
    trees = [
        inputs.attributes(name, tree, *axes)
        for (name, (_, *axes)), tree in zip(
            arguments.items(), inputs.without_names(arguments), strict=True
        )
    ]
    read = by_attributes(label_fn, *trees)
    arrays = (trees[0], len(lists)), (trees[1], 1)
    if not inputs.has_pairs(*arrays):
        return read
    try:
        label_dtype(read, lists, num_items)
    except (TypeError, ValueError):
        # The function refuses the pairs of `hash_ids`: it may expect one number per id.
        return by_attributes(label_fn, *inputs.without_pairs(*arrays))
    return read


def label_dtype(
    relevant: by_attributes, lists: tuple[int, ...], block_length: int
) -> np.dtype:
    """Returns the dtype of labels, and checks what the function returns for a block.

    Args:
        relevant: The result of `read_attributes`.
        lists: The shape of the axes of lists.
        block_length: The number of items in a block.
    """
    expected = (math.prod(lists), block_length)
    # Trace types only, so that the check computes no labels.
    result = jax.eval_shape(
        relevant.label_fn,
        _with_first_axis(relevant.query_attributes, expected[0], len(lists)),
        _with_first_axis(relevant.item_attributes, expected[1], 1),
    )
    # Any other tuple stays one part, which the check below refuses: it has no shape.
    parts = [result]
    if isinstance(result, tuple) and len(result) == 2:
        parts = list(result)
    if any(getattr(part, "shape", None) != expected for part in parts):
        kinds = " and ".join(map(inputs.kind_of, parts))
        raise ValueError(
            f"label_fn gives {kinds} for {expected[0]} queries and {expected[1]} items; "
            f"return labels of shape {expected}, or labels and a bool array of the same "
            "shape, true for items that leave the ranking. Query attributes have one axis "
            "of queries, and item attributes one axis of items, so compare query[:, None] "
            "with item[None]"
        )
    if jnp.issubdtype(parts[0].dtype, jnp.complexfloating):
        raise TypeError(f"label_fn gives {parts[0].dtype} labels; return real numbers")
    if len(parts) == 2 and parts[1].dtype != jnp.bool_:
        raise TypeError(
            f"label_fn gives {parts[1].dtype} as its second result, which marks items that "
            "leave the ranking; return bools there"
        )
    return parts[0].dtype


def refuse_numbers(dtype: np.dtype, cure: str) -> None:
    """Raises `ValueError` unless labels of items in several blocks are bools.

    Args:
        dtype: The dtype of labels.
        cure: The advice for labels that must stay numbers.
    """
    if dtype != np.bool_:
        raise ValueError(
            f"label_fn gives {dtype} labels, but items in several blocks or on several "
            f"devices need bools; return bools, such as labels > 0, or pass {cure}"
        )


def negative_labels(subject: str) -> str:
    """Returns the message for a list whose items `label_fn` removes by their labels."""
    return (
        f"label_fn gives {subject} labels below 0 or NaN, which would remove items from "
        "the ranking; return 0 for items that are not relevant, or return a pair: the "
        "labels, and a bool array that is true for items that leave the ranking"
    )


def _with_first_axis(tree: Any, size: int, num_axes: int) -> Any:
    """Returns the types of arrays whose first `num_axes` axes become one of `size`."""

    def retyped(x: jax.Array) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((size, *x.shape[num_axes:]), x.dtype)

    return jax.tree.map(retyped, tree)
