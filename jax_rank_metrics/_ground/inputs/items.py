"""The items of lists, checked: labels, masks, weights, ids, columns and attributes."""

import datetime
import math
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._ground import messages
from jax_rank_metrics._ground.inputs import libraries, options
from jax_rank_metrics._ground.inputs.arrays import (
    boolean,
    first_index,
    float_dtype,
    ids,
    integers,
    is_readable,
    kind_of,
    numpy_array,
    real,
    same_lists,
    same_shape,
)
from jax_rank_metrics._ground.inputs.list_ids import (
    Packing,
    check_weights,
    refuse_sizes,
)
from jax_rank_metrics._ground.types import Arrays


def item_arrays(
    name: str, labels: object, mask: object
) -> tuple[jax.Array, jax.Array | None]:
    """Converts labels `[*lists, items]` and their mask of the same shape, if any."""
    label_array = real(name, labels)
    if label_array.ndim == 0:
        raise ValueError(f"{name} has shape (); pass an array with an axis of items")
    mask_name = name.replace("labels", "mask")
    if options.is_integer(mask):
        raise TypeError(
            f"{mask_name} is {mask}, but a mask is an array of bools; if this number is a "
            f"cutoff, pass k={mask} by name"
        )
    return label_array, boolean(mask_name, mask, name, label_array.shape)


def weights_for(
    labels: jax.Array,
    weights: object,
    list_weights: object = None,
    num_segments: int | None = None,
) -> tuple[jax.Array | None, jax.Array | None]:
    """Returns item weights and list weights; either may be None.

    The number of axes of `weights` says what it weighs: a scalar weighs all lists equally,
    `[*lists]` weighs lists, and `[*lists, items]` weighs items. If lists are packed, only
    `list_weights` can give lists different weights. `list_weights` overrides list weights
    that `weights` gives.
    """
    lists, allowed = labels.shape[:-1], dict[tuple[int, ...], str]()
    if num_segments is None:
        allowed = {(): "a scalar", lists: "one per list"}
    else:
        lists = (*lists, num_segments)
        allowed[()] = "a scalar; weights per list go into list_weights"
    per_list_weights = per_list("list_weights", list_weights, lists)
    if weights is None:
        return None, per_list_weights
    array, allowed[labels.shape] = real("weights", weights), "one per item"
    if array.shape not in allowed:
        shapes = ", ".join(f"{shape} ({kind})" for shape, kind in allowed.items())
        raise ValueError(
            f"weights has shape {array.shape}, but labels has shape {labels.shape}; "
            f"pass weights of shape {shapes}"
        )
    if array.ndim == labels.ndim:
        return array, per_list_weights
    check_weights("weights", weights)
    return None, array if per_list_weights is None else per_list_weights


def per_list(name: str, value: object, lists: tuple[int, ...]) -> jax.Array | None:
    """Converts to one number per list, and checks list weights; returns None for None."""
    if value is None:
        return None
    array = real(name, value)
    if array.shape != lists:
        raise ValueError(
            f"{name} has shape {array.shape}; pass one number per list, shape {lists}"
        )
    if name == "list_weights":
        check_weights(name, value)
    return array


def whole_numbers(name: str, value: object, lists: tuple[int, ...]) -> jax.Array | None:
    """Converts to one whole number per list, of any dtype; None stays None.

    Fractions raise. Arrays that are traced, or partly on other hosts, are not checked.
    """
    array = per_list(name, value, lists)
    if array is None or not jnp.issubdtype(array.dtype, jnp.floating):
        return array
    if not is_readable(array):
        return array
    values = np.asarray(array, np.float64)
    fractional = values[values != np.floor(values)]  # NaN is one too
    if fractional.size:
        raise ValueError(
            f"{name} holds {fractional[0]}; pass whole numbers, one per list"
        )
    return array


def read_segments(
    labels: jax.Array, segment_ids: object, num_segments: object
) -> tuple[jax.Array | None, int | None]:
    """Returns the segment ids of packed items and the number of lists.

    Both are None if lists are not packed. Ids have the shape of the labels, and a dtype
    of at least 4 bytes.
    """
    if isinstance(segment_ids, Packing):
        if num_segments is None:
            num_segments = segment_ids.num_segments
        segment_ids = segment_ids.segment_ids
    if segment_ids is None:
        if num_segments is not None:
            raise ValueError(
                "num_segments is given but segment_ids is None; pass both or neither"
            )
        return None, None
    if num_segments is None:
        raise ValueError(
            "segment_ids is given but num_segments is None; pass the number of lists as "
            "num_segments, a Python int"
        )
    if libraries.hold_text(segment_ids):
        raise TypeError(
            "segment_ids holds strings; pass segment_ids=jrm.pack(ids), which numbers them"
        )
    num_lists = options.positive_integer("num_segments", num_segments)
    limit = options.MAX_INT32 // max(math.prod(labels.shape[:-1]), 1)
    if num_lists > limit:
        raise ValueError(
            f"num_segments is {num_lists}; pass at most {limit}, so that int32 numbers all "
            "lists"
        )
    # Check ids outside JAX arrays before their conversion to one: the conversion refuses
    # integers beyond int32, and inside `jax.jit` its result could not be read.
    convert = integers if libraries.is_of_jax(segment_ids) else numpy_array
    raw_ids = convert("segment_ids", segment_ids)
    refuse_sizes("segment_ids", raw_ids, "labels", labels.shape)
    _check_segment_ids(raw_ids, num_lists)
    array = integers("segment_ids", raw_ids)
    same_shape("segment_ids", array, "labels", labels.shape)
    if array.dtype.itemsize < 4:
        # `ids < num_segments` in the dtype of the ids would wrap the number: 128 becomes
        # −128 in int8, which would mask every item.
        array = array.astype(jnp.int32)
    return array, num_lists


def _check_segment_ids(segment_ids: jax.Array | np.ndarray, num_lists: int) -> None:
    """Raises if an id is not below the number of lists; it is most likely a query id.

    Ids that are traced, or partly on other hosts, cannot be read here. Then items with a
    too large id are masked.
    """
    if not is_readable(segment_ids):
        return
    values: np.ndarray = jax.device_get(segment_ids)
    if not values.size or values.dtype.kind not in "iu" or values.max() < num_lists:
        return
    index = first_index(values)
    raise ValueError(
        f"segment_ids is {values[index]} at {index}, but num_segments is {num_lists}; "
        "pass the segment_ids and num_segments of jrm.pack(query_ids), or a larger "
        "num_segments, and -1 for padding"
    )


def relevant_items(
    relevant_ids: object,
    relevant_labels: object,
    relevant_columns: object,
    reference_name: str = "",
    reference: jax.Array | jax.ShapeDtypeStruct | None = None,
) -> tuple[jax.Array, jax.Array | None, dict[str, jax.Array]]:
    """Converts ids of relevant items, their labels or None, and their columns.

    The ids must have the same leading axes as `reference`, the argument
    `reference_name`. If `reference` is None, they are not compared.
    """
    arguments = {"relevant_ids": relevant_ids, "relevant_labels": relevant_labels}
    libraries.same_index(
        {**arguments, **libraries.named(relevant_columns, "relevant_columns")}
    )
    id_array = ids("relevant_ids", relevant_ids)
    if reference is not None:
        same_lists("relevant_ids", id_array, reference_name, reference)
    labels = None
    if relevant_labels is not None:
        labels = real("relevant_labels", relevant_labels)
        same_shape("relevant_labels", labels, "relevant_ids", id_array.shape)
    by_name = columns(
        relevant_columns, "relevant_ids", id_array.shape, "relevant_columns"
    )
    return id_array, labels, by_name


def check_distinct(name: str, ids: np.ndarray) -> None:
    """Raises if an id occurs twice in its list; ids below 0 are padding."""
    is_repeat = repeated(ids)
    if is_repeat.any():
        index = first_index(is_repeat)
        lists = index[:-1] if index[1:-1] else index[0]
        raise ValueError(
            f"{name} holds {ids[index]} more than once"
            f"{f' in list {lists}' if index[1:] else ''}; pass each id of a list once, and "
            "-1 for padding"
        )


def repeated(ids: np.ndarray) -> np.ndarray:
    """Marks ids `[*lists, ids]` that occur earlier in their list; never marks padding.

    >>> repeated(np.array([[7, 3, 7, -1, -1]])).tolist()
    [[False, False, True, False, False]]
    """
    distinct, dense = np.unique(ids, return_inverse=True)
    dense = dense.reshape(-1, ids.shape[-1]) if ids.size else ids
    lists = np.arange(len(dense), dtype=np.int64)[:, None]
    is_repeat = np.ones(ids.size, bool)
    _, first_indices = np.unique(lists * len(distinct) + dense, return_index=True)
    is_repeat[first_indices] = False
    return is_repeat.reshape(ids.shape) & (ids >= 0)


def ids_among(
    ids_of_rows: np.ndarray, table: str, ids_by_name: Mapping[str, jax.Array]
) -> None:
    """Raises if a readable id is not among the ids of the rows of the argument `table`."""
    for name, values in ids_by_name.items():
        if not is_readable(values):
            continue
        array = np.asarray(values)
        unknown = array[(array >= 0) & ~np.isin(array, ids_of_rows)]
        if unknown.size:
            raise ValueError(
                f"{name} holds {unknown[0]}, for which {table} has no row; pass a row for "
                "each item of the catalogue"
            )


def ids_below(num_rows: int, table: str, ids_by_name: Mapping[str, jax.Array]) -> None:
    """Raises if a readable id has no row in the argument `table`."""
    for name, values in ids_by_name.items():
        if not is_readable(values):
            continue
        highest = int(np.max(np.asarray(values), initial=-1))
        if highest >= num_rows:
            raise ValueError(
                f"{name} goes up to {highest}, but {table} has {num_rows} rows; pass a row "
                "for each item of the catalogue"
            )


def ids_of_columns(item_columns: object, by_row: bool = True) -> list[Any] | None:
    """Returns the ids of items in columns `{name: {id: …}}`; None if columns go by row.

    Integers are returned in ascending order.

    Args:
        item_columns: The argument of this name.
        by_row: True if ids 0, 1, …, in any order, are the numbers of rows.
    """
    for key, column in dict(libraries.named(item_columns, "item_columns")).items():
        ids_of_items = libraries.ids_of_items(key, column)
        if ids_of_items is None:
            continue
        if by_row and {*ids_of_items} == {*range(len(ids_of_items))}:
            continue
        libraries.refuse_missing(f"the id of items in {key}", ids_of_items)
        are_integers = all(map(options.is_integer, ids_of_items))
        return sorted(ids_of_items) if are_integers else ids_of_items
    return None


def check_names(name: str, columns: Any) -> None:
    """Raises TypeError unless the argument `name` is a dict from names to columns."""
    is_dict = isinstance(columns, Mapping)
    if not is_dict or not all(isinstance(key, str) for key in columns):
        raise TypeError(
            f"{name}: got {kind_of(columns)}; pass a dict of names to arrays"
        )


@messages.short_errors()
def item_columns(
    value: Any,
    relevant_columns: object = None,
    num_items: Collection[int] = (),
    ids_of_items: Sequence[Any] | None = None,
) -> dict[str, jax.Array]:
    """Converts a dict of columns `[num_items, …]` to floats; None becomes an empty dict.

    Args:
        value: The argument. Only the column `groups` may hold NaN, for unknown groups.
        relevant_columns: The argument of this name; it must not have the same columns.
        num_items: The numbers of rows that a column may have; if empty, any number.
        ids_of_items: The ids that give the order of the rows, from `ids_of_columns`.
    """
    if value is None:
        return {}
    check_names("item_columns", value)
    columns = {}
    for key, column in value.items():
        name = f"item_columns[{key!r}]"
        if isinstance(relevant_columns, Mapping) and key in relevant_columns:
            raise ValueError(
                f"item_columns and relevant_columns both hold {key!r}; pass item_columns "
                "alone, which has every item"
            )
        if ids_of_items is not None and libraries.ids_of_items(name, column) is None:
            raise ValueError(
                f"{name} has rows, but another of the item_columns has ids, such as "
                f"{ids_of_items[0]!r}; pass {name} as a dict or a Series by id too"
            )
        libraries.refuse_masked(
            name, column, f"a number for every item, as in {name}.filled(0)"
        )
        array = real(name, libraries.by_ids(name, column, ids_of_items, "items"))
        is_missing = 0 in array.shape or (key == "groups" and array.ndim != 2)
        if not array.ndim or is_missing or (num_items and len(array) not in num_items):
            rows = " or ".join(map(str, num_items)) or "num_items"
            axes = "groups" if key == "groups" else "…"
            raise ValueError(
                f"{name} has shape {array.shape}; pass a row for each item, "
                f"[{rows}, {axes}]"
            )
        array = array.astype(float_dtype(array))
        if key == "groups":
            array = group_memberships(array)
        elif is_readable(array):
            cells = np.asarray(array)
            if (is_wrong := ~np.isfinite(cells)).any():
                index = first_index(is_wrong)
                raise ValueError(
                    f"{name} holds {cells[index]} for item {index[0]}; pass a finite "
                    "number for every item"
                )
            if key == "counts" and (cells < 0).any():
                index = first_index(cells < 0)
                raise ValueError(
                    f"{name} holds {cells[index]} for item {index[0]}; pass how often each "
                    "item was seen, 0 if it never was"
                )
        columns[key] = array
    return columns


def columns_by_id(name: str, value: Any) -> dict[str, tuple[list[Any], np.ndarray]]:
    """Returns, for each column of a dict, the ids of items and their values.

    `name` is the name of the argument. Raises TypeError for a column without ids.
    """
    check_names(name, value)
    columns = {}
    for key, column in value.items():
        labels, values = libraries.labelled_items(f"{name}[{key!r}]", column)
        if labels is None:
            raise TypeError(
                f"{name}[{key!r}]: got {kind_of(column)}, which has no ids; pass a dict, "
                "a Series or a frame with a row for each id"
            )
        columns[key] = labels, values
    return columns


def profiles(
    profile_ids: object,
    profile_weights: object,
    reference_name: str,
    reference: jax.Array | jax.ShapeDtypeStruct,
) -> tuple[jax.Array | None, jax.Array | None]:
    """Converts the ids and the weights of the items of profiles; None stays None.

    Ids and weights must have the same leading axes as `reference`, the argument
    `reference_name`.
    """
    if profile_ids is None:
        if profile_weights is not None:
            raise ValueError(
                "profile_weights is given but profile_ids is None; pass both"
            )
        return None, None
    arguments = {"profile_ids": profile_ids, "profile_weights": profile_weights}
    libraries.same_index(arguments)
    id_array = ids("profile_ids", profile_ids)
    same_lists("profile_ids", id_array, reference_name, reference)
    if profile_weights is None:
        return id_array, None
    weights = real("profile_weights", profile_weights)
    same_shape("profile_weights", weights, "profile_ids", id_array.shape)
    return id_array, weights


def item_mask(value: object, num_items: int) -> jax.Array | None:
    """Converts the mask of a catalogue, `[items]` bool; None stays None."""
    value = libraries.by_items("item_mask", value, num_items)
    return boolean("item_mask", value, "items", (num_items,))


def group_memberships(array: jax.Array) -> jax.Array:
    """Returns memberships from 0 to 2^32; unknown (NaN) and negative values become 0.

    Sums of memberships over a list, and the squares of the sums, are then finite, even if
    a membership such as 1/count is infinite.
    """
    return jnp.where(array > 0, jnp.minimum(array, 2.0**32), 0)


@messages.short_errors()
def columns(
    value: Any, shape_name: str, shape: Sequence[int], name: str = "columns"
) -> dict[str, jax.Array]:
    """Converts a dict of arrays `[*shape, …]`; None becomes an empty dict.

    `shape` is the shape of the argument `shape_name`.
    """
    if value is None:
        return {}
    check_names(name, value)
    arrays = {}
    for key, column in value.items():
        array = real(f"{name}[{key!r}]", column)
        cells = np.zeros(0) if libraries.is_of_jax(column) else np.asarray(column)
        if cells.dtype == object:  # bools or numbers with missing cells
            libraries.refuse_missing(f"{name}[{key!r}]", cells)
        if array.shape[: len(shape)] != tuple(shape):
            raise ValueError(
                f"{name}[{key!r}] has shape {array.shape}, but {shape_name} has shape "
                f"{tuple(shape)}; pass one entry per item, with any axes after them"
            )
        arrays[key] = array
    return arrays


def attributes(name: str, tree: Arrays, axes: tuple[int, ...], axes_of: str) -> Arrays:
    """Converts the leaves of a pytree to arrays that begin with the same axes.

    Args:
        name: The argument, to which messages append the path of a leaf.
        tree: A pytree of arrays, such as a dict, with at least one leaf.
        axes: The axes with which every leaf begins.
        axes_of: A plural for the entries of these axes, for messages, such as "items".

    Raises:
        ValueError: if a leaf has other axes, or if JAX would round numbers in it that are
            likely to be ids; see `_check_kept`.
        TypeError: if a leaf is not an array of numbers.
    """
    if tree is None or not jax.tree.leaves(tree):
        raise ValueError(
            f"{name} is {'None' if tree is None else 'empty'}; pass an array that begins "
            f"with the axes of {axes_of}, {axes}, or a dict of such arrays"
        )

    def converted(path: tuple[Any, ...], leaf: object) -> jax.Array:
        leaf_name = name + jax.tree_util.keystr(path)
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
    """Returns a pytree whose lists of numbers or names are converted to NumPy arrays."""

    def array_of(leaf: Any) -> Any:
        array = np.asarray(leaf)
        # NumPy would turn a missing name in a list into the string "nan".
        return np.asarray(leaf, object) if array.dtype.kind in "US" else array

    return jax.tree.map(
        lambda leaf: array_of(leaf) if _is_array_like(leaf) else leaf,
        tree,
        is_leaf=_is_array_like,
    )


def _check_kept(name: str, leaf: object, array: jax.Array, is_one_each: bool) -> None:
    """Raises if rounding to the dtype of JAX makes different attributes equal.

    Attributes are compared with each other, and pandas turns ids into floats if one is
    missing. Whole numbers must therefore keep their values. If each query or item has a
    single number (`is_one_each`), different numbers must stay different; the features of a
    vector are not ids.
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
            "equal; pass integers if these are ids, or strings, as "
            f"{name}.astype(str) makes them, numpy.{rounded.dtype}({name}) if label_fn "
            "does not ask which are equal, or enable jax_enable_x64"
        )


def _is_array_like(value: object) -> bool:
    """True for numbers, names, and nested lists of them, which count as single leaves."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    kinds = bool, int, float, str, bytes, np.generic, datetime.date, uuid.UUID
    return isinstance(value, kinds)
