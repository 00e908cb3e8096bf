"""Attributes of queries and items, from which a function derives labels."""

from typing import Any

import jax
import numpy as np

from jax_rank_metrics._inputs.arrays import is_readable, numpy_array, real
from jax_rank_metrics._inputs.labelled import by_ids
from jax_rank_metrics._inputs.libraries import is_frame, is_series
from jax_rank_metrics._types import Arrays


def attributes(name: str, tree: Arrays, axes: tuple[int, ...], axes_of: str) -> Arrays:
    """Converts the leaves of a pytree to arrays that begin with the same axes.

    Args:
        name: The argument, which messages complete with the path of a leaf.
        tree: A pytree of arrays, such as a dict, with at least one leaf.
        axes: The axes with which every leaf begins.
        axes_of: What these are the axes of, for messages, such as "items".

    Raises:
        ValueError: if a leaf has other axes, or if JAX would round numbers of it that
            are likely to be ids; see `_check_kept`.
        TypeError: if a leaf is not an array of numbers.
    """
    if tree is None or not jax.tree.leaves(tree):
        raise ValueError(
            f"{name} is {'None' if tree is None else 'empty'}; pass an array that begins "
            f"with the axes of {axes_of}, {axes}, or a dict of such arrays"
        )

    def converted(path: tuple[Any, ...], leaf: object) -> jax.Array:
        leaf_name = name + jax.tree_util.keystr(path)
        if _holds_strings(leaf):
            raise TypeError(
                f"{leaf_name} holds strings; pass numbers, such as jrm.hash_ids makes of "
                "them, or numpy.unique(…, return_inverse=True)"
            )
        if (is_series(leaf) or is_frame(leaf)) and len(axes) == 1:
            leaf = by_ids(leaf_name, leaf, range(*axes), axes_of)
        array = real(leaf_name, leaf)
        if array.shape[: len(axes)] != axes:
            raise ValueError(
                f"{leaf_name} has shape {array.shape}; pass an array that begins with the "
                f"axes of {axes_of}, {axes}"
            )
        _check_kept(leaf_name, leaf, array, array.shape == axes)
        return array

    return jax.tree_util.tree_map_with_path(converted, tree)


def without_lists(tree: Arrays) -> Arrays:
    """Returns a pytree with its lists of numbers or strings as arrays of NumPy."""
    return jax.tree.map(
        lambda x: np.asarray(x) if _is_array_like(x) else x,
        tree,
        is_leaf=_is_array_like,
    )


def _check_kept(name: str, leaf: object, array: jax.Array, is_one_each: bool) -> None:
    """Raises if rounding to the dtype of JAX makes different attributes equal.

    Attributes are compared with each other, and pandas makes floats of ids where one is
    missing. Whole numbers must therefore stay what they are, and different numbers must
    stay different where each query or item has one (`is_one_each`); the features of a
    vector are no ids.
    """
    if not is_readable(array):
        return
    values = (
        np.asarray(leaf) if isinstance(leaf, jax.Array) else numpy_array(name, leaf)
    )
    rounded = np.asarray(array)
    if values.dtype.kind != "f" or values.dtype.itemsize <= rounded.dtype.itemsize:
        return
    changed = values[(values != rounded) & (values == np.floor(values))]
    if is_one_each and not changed.size:
        distinct = np.unique(values)  # in ascending order
        rounded = distinct.astype(rounded.dtype)
        changed = distinct[1:][rounded[1:] == rounded[:-1]]
    if changed.size:
        value = float(changed.flat[0])
        raise ValueError(
            f"{name} holds {value!r}, which {rounded.dtype} of JAX rounds to "
            f"{float(rounded.dtype.type(value))!r}, so that different values become "
            "equal; pass integers if these are ids, as numpy.unique(…, "
            f"return_inverse=True) makes them, numpy.{rounded.dtype}({name}) if label_fn "
            "does not ask which are equal, or enable jax_enable_x64"
        )


def _is_array_like(value: object) -> bool:
    """Whether this is a list of numbers or strings, however deep, and no pytree."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (bool, int, float, str, bytes, np.generic))


def _holds_strings(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "SUT"
