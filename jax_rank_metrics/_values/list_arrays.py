"""The arrays of a `PerList`: shapes, undefined lists, indexing, and equal weights."""

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jax_rank_metrics._ground import inputs, shards, types
from jax_rank_metrics._ground.arithmetic import where_kept

A = TypeVar("A", bound="ListArrays")
B = TypeVar("B", bound=jax.Array | np.ndarray)
if TYPE_CHECKING:
    Array: TypeAlias = jax.Array  # NumPy arrays have the methods that are called here
else:
    Array = jax.Array | np.ndarray | np.generic

# Numbers count as equal up to this relative error, because two programs may add the
# same single floats in different orders.
ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True, repr=False)
class ListArrays:
    """The base of `PerList`; its fields are documented there."""

    values: Array
    weights: Array
    defined: Array
    undefined: types.Undefined = "zero"
    cutoff_weights: bool = False
    is_ratio: bool = False
    is_share: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError if weights or `defined` do not fit, or there is no cutoff."""
        check_fit(self.values, self.weights, self.defined, self.cutoff_weights)

    @property
    def has_cutoffs(self) -> bool:
        """True if the last axis of values is the axis of cutoffs."""
        return self.cutoff_weights or jnp.ndim(self.values) > jnp.ndim(self.weights)

    @property
    def has_shares(self) -> bool:
        """True if all values must lie in [0, 1]."""
        return self.is_share or self.values.dtype == np.bool_

    @property
    def _list_shape(self) -> tuple[int, ...]:
        shape = jnp.shape(self.values)
        return shape[:-1] if self.has_cutoffs else shape

    def __len__(self) -> int:
        """Returns the length of the first axis of lists."""
        if not self._list_shape:
            raise TypeError("a PerList of a single list has no length")
        return self._list_shape[0]

    def __getitem__(self: A, index: Any) -> A:
        """Selects lists."""
        index = index if isinstance(index, tuple) else (index,)
        # Use the count 0 for indices beyond the axes of lists, such as after an
        # ellipsis, because a Boolean Series there has no labels of lists.
        counts = (*self._list_shape, *(0 for _ in index))
        index = tuple(map(_read_index, index, counts))
        if not any(isinstance(i, Tracer) for i in index):
            # Check bounds in NumPy, which raises; JAX would return the last list
            # instead.
            np.broadcast_to(False, self._list_shape)[index]
        value_index = (*index, slice(None)) if self.has_cutoffs else index
        weight_index = value_index if self.cutoff_weights else index
        values, weights, defined = self._whole_arrays()
        return dataclasses.replace(
            self,
            values=values[value_index],
            weights=weights[weight_index],
            defined=defined[weight_index],
        )

    def __iter__(self: A) -> Iterator[A]:
        """Iterates over the first axis of lists."""
        # Iterate over the arrays, because `__getitem__` would compile for each index.
        parts = zip(*self._whole_arrays(), strict=True)
        static = self.undefined, self.cutoff_weights, self.is_ratio, self.is_share
        return (type(self)(*part, *static) for part in parts)

    def _whole_arrays(self) -> tuple[Array, Array, Array]:
        # JAX cannot index an axis that is sharded over explicit mesh axes, so gather
        # first.
        return shards.gathered((self.values, self.weights, self.defined))


def _read_index(index: Any, count: int) -> Any:
    """Converts lists, Series and the like to arrays, a Boolean Series by labels."""
    # pandas stores bools as objects if some are missing.
    if inputs.is_series(index) and index.dtype.kind in "bO" and len(index) == count:
        index = inputs.by_ids("index", index, range(count), "lists").tolist()
    is_array = isinstance(index, jax.Array | np.ndarray | np.generic)
    if is_array or not (isinstance(index, list) or hasattr(index, "__array__")):
        return index
    array = np.asarray(index) if len(index) else np.arange(0)
    if array.dtype.kind not in "biu":
        raise TypeError(
            f"index holds {array.dtype}, or lacks a value; pass a bool for each list, or "
            "integer positions of lists"
        )
    return array


def check_fit(values: Any, weights: Any, defined: Any, cutoff_weights: bool) -> None:
    """Raises ValueError unless weights and `defined` fit the shape of values.

    Both must have the shape of values. If `cutoff_weights` is False, they may also have
    this shape without its last axis. An axis of cutoffs must not be empty. Objects
    without a shape, such as the specs of `jax.shard_map`, are not checked.
    """
    inputs.same_index(
        of_lists={"values": values, "weights": weights, "defined": defined}
    )
    shapes = [getattr(array, "shape", None) for array in (values, weights, defined)]
    if None in shapes:
        return
    values_shape, weights_shape, defined_shape = map(tuple, shapes)  # type: ignore[arg-type]
    fits = weights_shape == values_shape
    if not cutoff_weights and len(values_shape) == len(weights_shape) + 1:
        fits = weights_shape == values_shape[:-1]
    if not fits:
        expected = "the shape of values" if cutoff_weights else "[*lists]"
        raise ValueError(
            f"weights have shape {weights_shape} and values {values_shape}; pass weights "
            f"of {expected} (only PerList.over makes weights that differ between cutoffs)"
        )
    if (cutoff_weights or values_shape != weights_shape) and not values_shape[-1]:
        raise ValueError(
            f"values have shape {values_shape}, without a cutoff; pass at least one"
        )
    if defined_shape != weights_shape:
        raise ValueError(
            f"defined has shape {defined_shape} and weights {weights_shape}; pass arrays "
            "of the same shape"
        )


def list_shape_of(lists: ListArrays) -> tuple[int, ...]:
    """Returns the lengths of the axes of lists, without the axis of cutoffs."""
    return lists._list_shape


def filled(values: B, defined: jax.Array | np.ndarray, undefined: types.Undefined) -> B:
    """Returns values (NumPy or JAX), with 1 for undefined lists if they count as 1.

    If undefined lists count as 0 or are left out, nothing changes: their values are 0
    already.
    """
    return where_kept(defined, values, 1) if undefined == "one" else values


def counted_weights(
    weights: B, defined: jax.Array | np.ndarray, undefined: types.Undefined
) -> B:
    """Returns weights, with 0 for undefined lists if these are left out."""
    return where_kept(defined, weights, 0) if undefined == "skip" else weights


def columns_of(lists: ListArrays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns values, weights and `defined` on the host, `[lists, cutoffs]` each."""
    arrays = lists.values, lists.weights, lists.defined
    for name, array in zip(("values", "weights", "defined"), arrays, strict=True):
        inputs.refuse_masked(
            name, array, "numbers, and False in defined where they are masked"
        )
    values, weights, defined = jax.device_get(arrays)
    if not lists.has_cutoffs:
        values = values[..., None]
    if not lists.cutoff_weights:
        weights, defined = weights[..., None], defined[..., None]
    shape = (math.prod(list_shape_of(lists)), values.shape[-1])
    weights, defined = (
        np.broadcast_to(field, values.shape) for field in (weights, defined)
    )
    values, weights, defined = (
        field.reshape(shape) for field in (values, weights, defined)
    )
    return values, weights, defined


def check_same_weights(a: ListArrays, b: ListArrays, names: tuple[str, str]) -> None:
    """Raises ValueError if the lists of a and b differ in shape or in weights.

    Weights that are traced, or lie on other hosts, are not compared. If only a or only
    b has weights per cutoff, all of them are compared with the weight of the other.
    """
    if list_shape_of(a) != list_shape_of(b):
        raise ValueError(
            f"{names[0]} has lists of shape {list_shape_of(a)} and {names[1]} of "
            f"{list_shape_of(b)}; pass values of the same lists"
        )
    if not (inputs.is_readable(a.weights) and inputs.is_readable(b.weights)):
        return
    weights_a, weights_b = np.asarray(a.weights), np.asarray(b.weights)
    if a.cutoff_weights != b.cutoff_weights:
        weights_a, weights_b = (
            weights if lists.cutoff_weights else weights[..., None]
            for lists, weights in ((a, weights_a), (b, weights_b))
        )
    weights_a, weights_b = np.broadcast_arrays(weights_a, weights_b)
    are_different = differ(weights_a, weights_b)
    if are_different.any():
        index = inputs.first_index(are_different)
        list_index = index[: len(list_shape_of(a))]
        list_name = list_index[0] if len(list_index) == 1 else list_index
        raise ValueError(
            f"list {list_name} has weight {weights_a[index]:g} in {names[0]} and "
            f"{weights_b[index]:g} in {names[1]}; "
            "pass the same lists with the same weights (errors of jrm.compare name the "
            "lists of evaluations, and of Series)"
        )


def differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """True if weights differ beyond rounding; all weights not above 0 are equal."""
    a, b = (np.where(weights > 0, weights, 0) for weights in (a, b))
    return np.minimum(a, b) < np.maximum(a, b) * (1 - ROUNDING)
