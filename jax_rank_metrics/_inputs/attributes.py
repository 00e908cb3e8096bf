"""Attributes of queries and items, from which a function derives labels."""

from typing import Any

import jax

from jax_rank_metrics._inputs.arrays import kind_of, real


def attributes(name: str, tree: Any, axes: tuple[int, ...], axes_of: str) -> Any:
    """Converts the leaves of a pytree to arrays that begin with the same axes.

    Args:
        name: The argument, which messages complete with the path of a leaf.
        tree: A pytree of arrays, such as a dict, with at least one leaf.
        axes: The axes with which every leaf begins.
        axes_of: What these are the axes of, for messages, such as "items".
    """
    if tree is None or not jax.tree.leaves(tree):
        raise ValueError(
            f"label_fn is given, but {name} is {'None' if tree is None else 'empty'}; "
            f"pass an array that begins with the axes of {axes_of}, {axes}, or a dict of "
            "such arrays"
        )

    def converted(path: tuple[Any, ...], leaf: object) -> jax.Array:
        leaf_name = name + jax.tree_util.keystr(path)
        if isinstance(leaf, str):
            raise TypeError(
                f"{leaf_name} is {kind_of(leaf)}; pass numbers, as jrm.hash_ids or "
                "numpy.unique(…, return_inverse=True) make them of strings"
            )
        array = real(leaf_name, leaf)
        if array.shape[: len(axes)] != axes:
            raise ValueError(
                f"{leaf_name} has shape {array.shape}; pass an array that begins with the "
                f"axes of {axes_of}, {axes}"
            )
        return array

    return jax.tree_util.tree_map_with_path(converted, tree)
