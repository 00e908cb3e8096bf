"""Attributes of queries and items, from which a function derives labels."""

from typing import Any

import jax
import numpy as np

from jax_rank_metrics._inputs.arrays import real


def attributes(name: str, tree: Any, axes: tuple[int, ...], axes_of: str) -> Any:
    """Converts the leaves of a pytree to arrays that begin with the same axes.

    Args:
        name: The argument, which messages complete with the path of a leaf.
        tree: A pytree of arrays, such as a dict, with at least one leaf. Lists of
            numbers are arrays.
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
        if _holds_strings(leaf):
            raise TypeError(
                f"{leaf_name} holds strings; pass numbers, such as jrm.hash_ids makes of "
                "them, or numpy.unique(…, return_inverse=True)"
            )
        array = real(leaf_name, leaf)
        if array.shape[: len(axes)] != axes:
            raise ValueError(
                f"{leaf_name} has shape {array.shape}; pass an array that begins with the "
                f"axes of {axes_of}, {axes}"
            )
        return array

    return jax.tree_util.tree_map_with_path(converted, tree, is_leaf=_is_array_like)


def _is_array_like(value: object) -> bool:
    """Whether this is a list of numbers or strings, however deep, and no pytree."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (bool, int, float, str, bytes, np.generic))


def _holds_strings(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "SUT"
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (str, bytes))
