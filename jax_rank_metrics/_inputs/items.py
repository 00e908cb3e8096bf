"""The items of lists as callers pass them: labels, masks, weights, ids, columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jax_rank_metrics._inputs.arrays import (
    boolean,
    first_place,
    ids,
    integers,
    kind_of,
    numpy_array,
    real,
    same_lists,
    same_shape,
    unsharded,
)
from jax_rank_metrics._inputs.options import MOST, count, is_integer


def item_arrays(
    name: str, labels: Any, mask: Any
) -> tuple[jax.Array, jax.Array | None]:
    """Labels and their mask, with at least an item axis."""
    labels = real(name, labels)
    if labels.ndim == 0:
        raise ValueError(f"{name} has shape (); pass at least one axis, the items")
    mask_name = name.replace("labels", "mask")
    if is_integer(mask):
        raise TypeError(
            f"{mask_name} is {mask}; pass k={mask} by name if it is a cutoff, a mask is "
            "an array of bools"
        )
    return labels, boolean(mask_name, mask, name, labels.shape)


def weights_for(
    labels: jax.Array,
    weights: Any,
    list_weights: Any = None,
    num_segments: int | None = None,
) -> tuple[jax.Array | None, jax.Array | None]:
    """Weights of items, and of lists, which may be one for all; either may be None.

    The number of axes of `weights` says whom they weigh: all, lists, or items. Where
    lists are packed, lists have their weights in `list_weights` alone.
    """
    lists, allowed = labels.shape[:-1], dict[tuple[int, ...], str]()
    if num_segments is None:
        allowed = {(): "a scalar", lists: "one per list"}
    else:
        lists = (*lists, num_segments)
        allowed[()] = "a scalar; weights per list go into list_weights"
    list_weights = per_list("list_weights", list_weights, lists)
    if weights is None:
        return None, list_weights
    weights, allowed[labels.shape] = real("weights", weights), "one per item"
    if weights.shape not in allowed:
        shapes = ", ".join(f"{shape} ({what})" for shape, what in allowed.items())
        raise ValueError(
            f"weights has shape {weights.shape}, but labels has shape {labels.shape}; "
            f"pass weights of shape {shapes}"
        )
    if weights.ndim == labels.ndim:
        return weights, list_weights
    return None, weights if list_weights is None else list_weights


def per_list(name: str, value: Any, lists: tuple[int, ...]) -> jax.Array | None:
    """One number per list."""
    if value is None:
        return None
    value = real(name, value)
    if value.shape != lists:
        raise ValueError(
            f"{name} has shape {value.shape}; pass one number per list, shape {lists}"
        )
    return value


def whole_numbers(name: str, value: Any, lists: tuple[int, ...]) -> jax.Array | None:
    """One whole number per list, of any dtype; those that are traced are believed."""
    value = per_list(name, value, lists)
    if value is None or not jnp.issubdtype(value.dtype, jnp.floating):
        return value
    if isinstance(value, Tracer) or not value.is_fully_addressable:
        return value
    values = np.asarray(value, np.float64)
    broken = values[values != np.floor(values)]  # NaN is among them
    if broken.size:
        raise ValueError(f"{name} holds {broken[0]}; pass whole numbers, one per list")
    return value


def segments(
    labels: jax.Array, segment_ids: Any, num_segments: Any
) -> tuple[jax.Array | None, int | None]:
    """The list of every packed item, and how many lists there are."""
    if segment_ids is None:
        if num_segments is not None:
            raise ValueError(
                "num_segments is given but segment_ids is None; pass both or neither"
            )
        return None, None
    if num_segments is None:
        raise ValueError(
            "segment_ids is given but num_segments is None; pass how many lists there "
            "are, a Python int"
        )
    num_segments = count("num_segments", num_segments)
    if num_segments > MOST:
        raise ValueError(
            f"num_segments is {num_segments}; pass at most {MOST}, what int32 holds"
        )
    # What is no JAX array is read before integers beyond int32 are refused, and before
    # `jax.jit` around the call would trace it.
    on_device = isinstance(segment_ids, jax.Array)
    on_device = on_device or hasattr(segment_ids, "__jax_array__")
    read = integers if on_device else numpy_array
    segment_ids = read("segment_ids", segment_ids)
    _of_lists(segment_ids, num_segments)
    segment_ids = integers("segment_ids", segment_ids)
    same_shape("segment_ids", segment_ids, "labels", labels.shape)
    if segment_ids.dtype.itemsize < 4:
        # `ids < num_segments` in the dtype of the ids would wrap the number: 128 is −128
        # in int8, and every item is masked.
        segment_ids = segment_ids.astype(jnp.int32)
    return segment_ids, num_segments


def _of_lists(segment_ids: jax.Array | np.ndarray, num_segments: int) -> None:
    """Raises where ids are known, and one is of no list: the ids of queries, most likely.

    Those that are traced, or lie in part on other hosts, are masked instead.
    """
    if isinstance(segment_ids, Tracer) or not getattr(
        segment_ids, "is_fully_addressable", True
    ):
        return
    ids: np.ndarray = jax.device_get(segment_ids)
    if not ids.size or ids.dtype.kind not in "iu" or ids.max() < num_segments:
        return
    place = first_place(ids)
    raise ValueError(
        f"segment_ids is {ids[place]} at {place}, but num_segments is {num_segments}; "
        "pass the segment_ids and num_segments of jrm.pack(query_ids), or a larger "
        "num_segments, and -1 for padding"
    )


def relevant_items(
    relevant_ids: Any,
    relevant_labels: Any,
    of_columns: Any,
    other: str,
    lists: jax.Array | None,
) -> tuple[jax.Array, jax.Array | None, dict[str, jax.Array]]:
    """Ids of relevant items, the label of each or None, and their columns.

    `lists` is an array that has the same; None where nothing else tells them.
    """
    relevant_ids = ids("relevant_ids", relevant_ids)
    if lists is not None:
        same_lists("relevant_ids", relevant_ids, other, lists)
    of = ("relevant_ids", relevant_ids.shape)
    if relevant_labels is not None:
        relevant_labels = real("relevant_labels", relevant_labels)
        same_shape("relevant_labels", relevant_labels, *of)
    return relevant_ids, relevant_labels, columns(of_columns, *of)


def of_catalog(name: str, value: Any, entry: tuple[str, ...] = ()) -> jax.Array:
    """Numbers of each item of a catalogue: `[num_items, *entry]`, whole on a device."""
    value = real(name, value)
    if value.ndim != 1 + len(entry) or not value.shape[0]:
        shape = ", ".join(("num_items", *entry))
        raise ValueError(f"{name} has shape {value.shape}; pass an array [{shape}]")
    unsharded(name, value, "where all of it is on every device")
    return value


def columns(
    given: Any, other: str, shape: Sequence[int], name: str = "columns"
) -> dict[str, jax.Array]:
    """Arrays by name that lie where those of a shape do, with any axes at the end."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(x, str) for x in given):
        raise TypeError(f"{name}: got {kind_of(given)}; pass a dict of names to arrays")
    arrays = {}
    for key, value in given.items():
        value = real(f"{name}[{key!r}]", value)
        if value.shape[: len(shape)] != tuple(shape):
            raise ValueError(
                f"{name}[{key!r}] has shape {value.shape}, but {other} has shape "
                f"{tuple(shape)}; pass one entry per item, with any axes after them"
            )
        arrays[key] = value
    return arrays
