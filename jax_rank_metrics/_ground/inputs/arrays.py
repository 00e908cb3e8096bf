"""One argument as an array: its kind, its dtype, and whether shapes agree."""

import numbers
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import DTypeLike

from jax_rank_metrics._ground.inputs import libraries

# Arguments that hold ids, whose padding is -1.
_ID_ARGUMENTS = (
    "retrieved_ids",
    "relevant_ids",
    "exclude_ids",
    "first",
    "second",
    "ids",
)


def array(name: str, value: object) -> jax.Array:
    """Converts an argument to a JAX array; raises if its numbers do not fit JAX's dtype."""
    if isinstance(value, jax.Array):
        return _narrowed(name, value)
    if libraries.is_of_jax(value):  # a variable of a model
        return _narrowed(name, jnp.asarray(value))
    value = numpy_array(name, value)
    _check_fits_int32(name, value)
    value = _as_float32(name, value)
    try:
        with jax.debug_nans(False):  # masked items may be NaN
            return jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name}: got {value.dtype} values; pass an array of numbers"
        ) from error


def numpy_array(name: str, value: object) -> np.ndarray:
    """Converts a list, tensor or column of a frame with NumPy, in its own dtype.

    If some numbers are missing, such as None or NA, the result is float64, with NaN in
    their places. Anything that NumPy would misread or cannot read raises: traced values,
    masked arrays, other objects, and lists that differ in length.
    """
    kind = type(value).__name__
    libraries.refuse_masked(name, value)
    if hasattr(value, "columns") and libraries.is_frame(value):
        libraries.refuse_ids(name, value.columns)
    try:
        values = np.asarray(value)
    except jax.errors.TracerArrayConversionError as error:
        raise TypeError(
            f"{name}: got a {kind} of traced values; pass one array, as jnp.stack({name}) "
            "makes it"
        ) from error
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, ValueError) and isinstance(value, (list, tuple)):
            libraries.refuse_missing(name, value)
            cure = "pad and mask, as jrm.pad_lists does, or pack with segment_ids"
            if name in _ID_ARGUMENTS:
                cure = "pad with -1"
            raise ValueError(f"{name}: lists differ in length; {cure}") from error
        if libraries.is_torch_tensor(value):
            raise TypeError(
                f"{name}: NumPy cannot read this {kind} ({error}); pass "
                f"{name}.detach().float().cpu()"
            ) from error
        raise TypeError(f"{name}: got {kind}; pass an array of numbers") from error
    if values.dtype == object:
        if libraries.is_sparse(value):
            raise TypeError(
                f"{name}: got {kind}, a sparse matrix; pass {name}.toarray(), in which "
                "entries that are not stored are 0"
            )
        floats = with_nan(values)
        if values.ndim and floats.dtype != object and np.isnan(floats).any():
            return floats
        if values.ndim:
            libraries.refuse_missing(name, values)
        if values.ndim and isinstance(values.flat[0], (list, tuple, np.ndarray)):
            raise TypeError(
                f"{name}: got a {kind} of lists; pass arrays, as "
                f"jrm.pad_lists(list({name})) makes them"
            )
        raise TypeError(
            f"{name}: got {kind}, which NumPy reads as objects; pass an array of numbers"
        )
    if not values.dtype.isnative:
        return values.astype(values.dtype.newbyteorder())
    return values


def with_nan(values: np.ndarray) -> np.ndarray:
    """Returns objects as floats, missing ones as NaN; unchanged if any is no number."""
    cells = [np.nan if libraries.is_missing(cell) else cell for cell in values.ravel()]
    if not all(isinstance(cell, numbers.Real) for cell in cells):
        return values
    return np.array(cells, np.float64).reshape(values.shape)


def _check_fits_int32(name: str, values: np.ndarray) -> None:
    """Raises if JAX would wrap any of these integers to 32 bits."""
    limits = np.iinfo(np.int32)
    if values.dtype.kind not in "iu" or not _is_wide(values) or not values.size:
        return
    if values.min() < limits.min or values.max() > limits.max:
        raise ValueError(
            f"{name}: {values.dtype} values from {values.min()} to {values.max()} do not "
            "fit int32, which JAX uses by default; pass smaller integers, or floats if "
            "these are not ids, or jrm.hash_ids(ids) if these are attributes, or enable "
            "jax_enable_x64"
        )


def _as_float32(name: str, values: np.ndarray) -> np.ndarray:
    """Returns float64 as float32 while JAX has x64 off; raises if a number overflows."""
    if values.dtype != np.float64 or not _is_wide(values):
        return values
    try:
        with np.errstate(over="raise"):
            return values.astype(np.float32)
    except FloatingPointError as error:
        raise ValueError(
            f"{name}: float64 values beyond ±3.4e38 would be infinite in float32, which "
            "JAX uses by default; pass smaller numbers, or enable jax_enable_x64"
        ) from error


def _is_wide(value: object) -> bool:
    """True if this is a concrete array of 8-byte numbers while JAX has x64 off."""
    kinds = (jax.Array, np.ndarray, np.generic)
    if isinstance(value, Tracer) or not isinstance(value, kinds):
        return False
    if value.dtype.itemsize < 8 or jnp.issubdtype(value.dtype, jax.dtypes.extended):
        return False
    return jax.dtypes.canonicalize_dtype(value.dtype) != value.dtype


def is_wide(tree: object) -> bool:
    """True if a concrete pytree holds 8-byte numbers, although JAX now has x64 off.

    JAX does not notice: it combines these numbers with 4-byte constants, and the results
    are nonsense. A tree with a traced leaf is never reported as wide.
    """
    leaves = jax.tree.leaves(tree)
    wide = any([_is_wide(leaf) for leaf in leaves])
    return wide and not any(isinstance(leaf, Tracer) for leaf in leaves)


def on_host(name: str, value: object) -> np.ndarray | None:
    """Returns a NumPy array; None for None and JAX arrays, which may not be ready yet."""
    if value is None or any(map(libraries.is_of_jax, jax.tree.leaves(value))):
        return None
    return numpy_array(name, value)


def is_readable(leaf: object) -> bool:
    """True if this host can read a leaf: not traced, and no part of it on another host."""
    return not isinstance(leaf, Tracer) and getattr(leaf, "is_fully_addressable", True)


def _narrowed(name: str, value: jax.Array) -> jax.Array:
    """Returns an array in a dtype that JAX has enabled; raises if integers do not fit."""
    if not _is_wide(value):
        return value
    dtype = jax.dtypes.canonicalize_dtype(value.dtype)
    if value.is_fully_addressable:
        _check_fits_int32(name, np.asarray(value))
    # Cast outside any trace, because with x64 off, a trace cannot hold a cast from 8 bytes.
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        return jnp.asarray(value).astype(dtype)


def kind_of(value: object) -> str:
    """Describes a value in a message: arrays by dtype and shape, others by type."""
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is not None and shape is not None:
        return f"an array of {dtype} {tuple(shape)}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return f"a {type(value).__name__}"


def first_index(x: np.ndarray | np.bool_) -> tuple[int, ...]:
    """Returns the index of the first maximum, which for bools is the first True."""
    return tuple(int(i) for i in np.unravel_index(np.argmax(x), x.shape))


def real(
    name: str,
    value: object,
    kinds: Sequence[DTypeLike] = (jnp.bool_, jnp.integer, jnp.floating),
    cure: str = "a bool, integer or float array",
) -> jax.Array:
    """Converts to an array of one of these kinds; by default bools, integers or floats."""
    converted = array(name, value)
    if not any(jnp.issubdtype(converted.dtype, kind) for kind in kinds):
        if not converted.size and not libraries.is_of_jax(value):
            # An empty list says nothing about its kind, although NumPy makes it float64.
            return jnp.zeros(converted.shape, bool if jnp.bool_ in kinds else jnp.int32)
        if is_readable(converted) and converted.dtype.kind == "f":
            libraries.refuse_missing(name, np.asarray(converted))
        raise TypeError(f"{name}: dtype is {converted.dtype}; pass {cure}")
    return converted


def integers(name: str, value: object) -> jax.Array:
    """Converts to an array of signed or unsigned integers; bools and floats raise."""
    return real(name, value, (jnp.integer,), "an array of integers")


def boolean(
    name: str, value: object, shape_name: str = "", shape: Sequence[int] | None = None
) -> jax.Array | None:
    """Converts to an array of bools with the shape of `shape_name`; None stays None.

    Numbers raise: as bools, a probability of 0.1 and a logit of -inf would both be True.
    """
    if value is None:
        return None
    converted = real(name, value, (jnp.bool_,), f"{name} != 0")
    if shape is not None:
        same_shape(name, converted, shape_name, shape)
    return converted


def ids(name: str, value: object) -> jax.Array:
    """Converts to ids with at least one axis: int64 stays, other integers become int32."""
    converted = integers(name, value)
    if converted.ndim == 0:
        raise ValueError(f"{name} has shape (); pass an array with an axis of ids")
    dtype = converted.dtype
    if jnp.issubdtype(dtype, jnp.unsignedinteger) and dtype.itemsize > 2:
        raise TypeError(
            f"{name}: dtype is {dtype}; pass signed integers, because ids below 0 are "
            "padding"
        )
    return converted if dtype == jnp.int64 else converted.astype(jnp.int32)


def same_shape(
    name: str, value: jax.Array, shape_name: str, shape: Sequence[int]
) -> None:
    """Raises unless `value` has exactly the shape of the argument `shape_name`."""
    if value.shape != tuple(shape):
        raise ValueError(
            f"{name} has shape {value.shape}, but {shape_name} has shape "
            f"{tuple(shape)}; pass arrays of equal shape, because nothing is broadcast"
        )


def same_lists(
    name: str,
    value: jax.Array,
    reference_name: str,
    reference: jax.Array | jax.ShapeDtypeStruct,
) -> None:
    """Raises unless both arrays have the same shape, apart from the last axis."""
    if value.shape[:-1] != reference.shape[:-1]:
        raise ValueError(
            f"{name} has shape {value.shape}, but {reference_name} has shape "
            f"{reference.shape}; pass arrays that agree in all axes but the last axis"
        )


def unsharded(name: str, value: jax.Array, cure: str) -> None:
    """Raises if the type of an array, traced or not, says that it is sharded."""
    spec = jax.typeof(value).sharding.spec
    if any(entry is not None for entry in spec):
        raise ValueError(
            f"{name} is sharded over devices, as {spec}; call inside jax.shard_map, {cure}"
        )


def float_dtype(*arrays: jax.Array | jax.ShapeDtypeStruct | None) -> jnp.dtype:
    """Returns the dtype to compute in: float64 if an array is float64, else float32."""
    double = any(value is not None and value.dtype == jnp.float64 for value in arrays)
    return jnp.dtype(jnp.float64 if double else jnp.float32)


def rounded_threshold(threshold: Any, dtype: str | None) -> Any:
    """Rounds a threshold to this dtype of labels; returns all but numbers unchanged.

    A label of 0.7 then reaches the threshold 0.7: in bfloat16 both are 0.699. A threshold
    that would round to 0 is returned unchanged, too.
    """
    if dtype is None or type(threshold) not in (int, float):
        return threshold
    rounded = float(jnp.dtype(dtype).type(threshold))
    return threshold if rounded in (threshold, 0) else rounded
