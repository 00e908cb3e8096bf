"""One argument as an array: its kind, its dtype, and its shape beside another's."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import DTypeLike


def array(name: str, value: object) -> jax.Array:
    """Converts an argument to an array; raises rather than wrap its integers."""
    if not isinstance(value, jax.Array) and hasattr(value, "__jax_array__"):
        value = jnp.asarray(value)  # a variable of a model
    if isinstance(value, jax.Array):
        return _narrowed(name, value)
    value = numpy_array(name, value)
    _check_fits_int32(name, value)
    try:
        with jax.debug_nans(False):  # masked items may be NaN
            return jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name}: got {value.dtype} values; pass an array of numbers"
        ) from error


_IDS = ("retrieved_ids", "relevant_ids", "exclude_ids", "first", "second", "ids")


def numpy_array(name: str, value: object) -> np.ndarray:
    """Converts anything but a JAX array with NumPy: lists, tensors, columns of frames."""
    kind = type(value).__name__
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name}: got a masked NumPy array, whose mask would be lost; pass "
            f"{name}.filled(0), and mask=~numpy.ma.getmaskarray({name})"
        )
    try:
        values = np.asarray(value)
    except jax.errors.TracerArrayConversionError as error:
        raise TypeError(
            f"{name}: got a {kind} of traced values; pass one array, as jnp.stack({name}) "
            "makes it"
        ) from error
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, ValueError) and isinstance(value, (list, tuple)):
            cure = "pad and mask, as jrm.pad_lists does, or pack with segment_ids"
            cure = "pad with -1" if name in _IDS else cure
            raise ValueError(f"{name}: lists differ in length; {cure}") from error
        if hasattr(value, "detach"):
            raise TypeError(
                f"{name}: NumPy cannot read this {kind} ({error}); pass "
                f"{name}.detach().float().cpu()"
            ) from error
        raise TypeError(f"{name}: got {kind}; pass an array of numbers") from error
    if values.dtype == object:
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


def _check_fits_int32(name: str, values: np.ndarray) -> None:
    """Raises if JAX would wrap these integers to 32 bits."""
    limits = np.iinfo(np.int32)
    if values.dtype.kind not in "iu" or not _is_wide(values) or not values.size:
        return
    if values.min() < limits.min or values.max() > limits.max:
        raise ValueError(
            f"{name}: {values.dtype} values from {values.min()} to {values.max()} do not "
            "fit int32, which JAX uses by default; pass smaller integers or floats, or "
            "enable jax_enable_x64"
        )


def _is_wide(value: object) -> bool:
    """Whether this is a concrete array of 8-byte numbers while JAX has x64 off."""
    kinds = (jax.Array, np.ndarray, np.generic)
    if isinstance(value, Tracer) or not isinstance(value, kinds):
        return False
    if value.dtype.itemsize < 8 or jnp.issubdtype(value.dtype, jax.dtypes.extended):
        return False
    return jax.dtypes.canonicalize_dtype(value.dtype) != value.dtype


def is_wide(tree: object) -> bool:
    """Whether a concrete pytree holds 8-byte numbers, though JAX has x64 off by now.

    JAX itself does not notice: it gives the constants beside them half as many bits, and
    results are nonsense. A tree with any traced leaf is left alone.
    """
    leaves = jax.tree.leaves(tree)
    wide = any([_is_wide(leaf) for leaf in leaves])
    return wide and not any(isinstance(leaf, Tracer) for leaf in leaves)


def _narrowed(name: str, value: jax.Array) -> jax.Array:
    """Returns the array in a dtype that JAX has enabled; raises if integers do not fit."""
    if not _is_wide(value):
        return value
    dtype = jax.dtypes.canonicalize_dtype(value.dtype)
    if value.is_fully_addressable:
        _check_fits_int32(name, np.asarray(value))
    # Outside of any trace, which would stage a cast between dtypes that it cannot have.
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
    """The index of the first maximum; of bools, of the first True."""
    return tuple(int(i) for i in np.unravel_index(np.argmax(x), x.shape))


def _of_kind(
    name: str, value: object, kinds: Sequence[DTypeLike], cure: str
) -> jax.Array:
    converted = array(name, value)
    if not any(jnp.issubdtype(converted.dtype, kind) for kind in kinds):
        raise TypeError(f"{name}: dtype is {converted.dtype}; pass {cure}")
    return converted


def real(name: str, value: object) -> jax.Array:
    """Converts to an array of bools, integers or floats."""
    kinds = (jnp.bool_, jnp.integer, jnp.floating)
    return _of_kind(name, value, kinds, "a bool, integer or float array")


def integers(name: str, value: object) -> jax.Array:
    """Converts to an array of signed or unsigned integers."""
    return _of_kind(name, value, (jnp.integer,), "an array of integers")


def boolean(
    name: str, value: object, other_name: str = "", shape: Sequence[int] | None = None
) -> jax.Array | None:
    """Converts to an array of bools, of the shape of another argument; passes None on.

    Other dtypes raise: as bools, a probability of 0.1 and a logit of -inf are both True.
    """
    if value is None:
        return None
    converted = _of_kind(name, value, (jnp.bool_,), f"{name} != 0")
    if shape is not None:
        same_shape(name, converted, other_name, shape)
    return converted


def ids(name: str, value: object) -> jax.Array:
    """Converts to signed integers with at least one axis: int64, or else int32."""
    converted = integers(name, value)
    if converted.ndim == 0:
        raise ValueError(f"{name} has shape (); pass at least one axis, the ids")
    dtype = converted.dtype
    if jnp.issubdtype(dtype, jnp.unsignedinteger) and dtype.itemsize > 2:
        raise TypeError(
            f"{name}: dtype is {dtype}; pass signed integers, less than 0 is padding"
        )
    return converted if dtype == jnp.int64 else converted.astype(jnp.int32)


def same_shape(
    name: str, value: jax.Array, other_name: str, shape: Sequence[int]
) -> None:
    """Raises unless `value` has exactly this shape, that of another argument."""
    if value.shape != tuple(shape):
        raise ValueError(
            f"{name} has shape {value.shape}, but {other_name} has shape "
            f"{tuple(shape)}; pass arrays of equal shape, nothing is broadcast"
        )


def same_lists(name: str, value: jax.Array, other_name: str, like: jax.Array) -> None:
    """Raises unless both arrays have the same leading axes."""
    if value.shape[:-1] != like.shape[:-1]:
        raise ValueError(
            f"{name} has shape {value.shape}, but {other_name} has shape "
            f"{like.shape}; pass arrays that agree in all axes but the last axis"
        )


def unsharded(name: str, value: jax.Array, cure: str) -> None:
    """Raises if the type of an array says that it is sharded over devices."""
    spec = jax.typeof(value).sharding.spec
    if any(entry is not None for entry in spec):
        raise ValueError(
            f"{name} is sharded over devices, as {spec}; call inside jax.shard_map, {cure}"
        )


def float_dtype(*arrays: jax.Array | jax.ShapeDtypeStruct | None) -> jnp.dtype:
    """The dtype that values are computed in: float64 if an input is, else float32."""
    double = any(x is not None and x.dtype == jnp.float64 for x in arrays)
    return jnp.dtype(jnp.float64 if double else jnp.float32)
