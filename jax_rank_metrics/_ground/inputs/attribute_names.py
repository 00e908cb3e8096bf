"""Numbers for names, such as strings and dates, among attributes of queries and items."""

import datetime
import numbers
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jax_rank_metrics._ground.inputs import arrays, libraries
from jax_rank_metrics._ground.inputs.list_ids import numbered
from jax_rank_metrics._ground.types import Arrays


def without_names(trees: Mapping[str, tuple[Arrays, Any, str]]) -> list[Arrays]:
    """Returns pytrees with a number instead of each name; numbers have the names' order.

    An attribute that is not a number is a name. A name has the same number in all leaves
    of all trees.

    Args:
        trees: A dict from the name of each argument to a pytree, the axes with which its
            leaves begin, and a plural for the entries of these axes, such as "items".

    Raises:
        ValueError: if a name is missing.
        TypeError: if trees have names and numbers at the same path, or if names have no
            common order.
    """
    leaves, packings, has_names = {}, {}, {}
    for name, (tree, axes, axes_of) in trees.items():
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            key = jax.tree_util.keystr(path)
            leaf_name = name + key
            is_labelled = libraries.is_series(leaf) or libraries.is_frame(leaf)
            if is_labelled and len(axes) == 1:
                leaf = libraries.by_ids(leaf_name, leaf, range(*axes), axes_of)
            leaves[leaf_name] = leaf
            values = _names_of(leaf_name, leaf)
            first_name, first_has_names = has_names.setdefault(
                key, (leaf_name, values is not None)
            )
            if first_has_names != (values is not None):
                raise TypeError(
                    f"{first_name} and {leaf_name}: one holds numbers and the other names, "
                    "which are never equal; pass numbers in both, or names in both"
                )
            if values is not None:
                packings[leaf_name] = numbered(leaf_name, values)
    known = {key for packing in packings.values() for key in packing.ids.tolist()}
    try:
        names = {key: number for number, key in enumerate(sorted(known, key=_by_kind))}
    except TypeError as error:
        raise TypeError(
            f"{', '.join(packings)}: names have no common order ({error}); pass names of "
            "one kind"
        ) from error
    for leaf_name, packing in packings.items():
        codes = np.array([names[key] for key in packing.ids.tolist()], np.int32)
        shape = np.shape(leaves[leaf_name])
        leaves[leaf_name] = codes[packing.segment_ids].reshape(shape)
    return [
        jax.tree_util.tree_map_with_path(
            lambda path, _, name=name: leaves[name + jax.tree_util.keystr(path)], tree
        )
        for name, (tree, _, _) in trees.items()
    ]


def _names_of(leaf_name: str, leaf: Any) -> list[Any] | None:
    """Returns the names in a leaf; None if it holds numbers."""
    library = type(leaf).__module__.partition(".")[0]
    array = np.asarray(leaf if library in ("numpy", "pandas", "polars") else 0)
    if array.dtype.kind not in "USTMmO":
        return None
    values = libraries.hashable_ids(array.ravel())
    if array.dtype == object and all(
        isinstance(value, numbers.Number) for value in values
    ):
        return None
    cure = "a name there too, such as 'unknown'"
    libraries.refuse_missing(leaf_name, values, cure)
    return values


def _by_kind(name: Any) -> tuple[str, Any]:
    is_date = isinstance(name, datetime.date)
    return "date" if is_date else type(name).__name__, name


def has_pairs(*trees: tuple[Arrays, int]) -> bool:
    """True if an array may hold pairs of int32; takes the arguments of `without_pairs`."""
    return any(
        _is_pair(leaf, num_axes)
        for tree, num_axes in trees
        for leaf in jax.tree.leaves(tree)
    )


def without_pairs(*trees: tuple[Arrays, int]) -> list[Arrays]:
    """Returns pytrees with one number instead of each pair of int32 from `hash_ids`.

    Args:
        *trees: Pytrees of JAX arrays, each with the number of axes before the pairs.
    """
    pairs = [
        np.asarray(leaf).reshape(-1, 2)
        for tree, num_axes in trees
        for leaf in jax.tree.leaves(tree)
        if _is_pair(leaf, num_axes)
    ]
    _, codes = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    parts = iter(np.split(codes.ravel(), np.cumsum([len(part) for part in pairs])))

    def joined(leaf: Any, num_axes: int) -> Any:
        if not _is_pair(leaf, num_axes):
            return leaf
        return jax.numpy.asarray(next(parts).astype(np.int32).reshape(leaf.shape[:-1]))

    return [
        jax.tree.map(lambda leaf, num_axes=num_axes: joined(leaf, num_axes), tree)
        for tree, num_axes in trees
    ]


def _is_pair(leaf: Any, num_axes: int) -> bool:
    is_known = leaf.dtype == np.int32 and arrays.is_readable(leaf)
    return is_known and leaf.ndim == num_axes + 1 and leaf.shape[-1] == 2
