"""One argument as an array: its kind, its dtype, and its shape beside another's."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


def array(name: str, value: Any) -> jax.Array:
    """Makes an array of one argument, without a silent change of its integers."""
    if not isinstance(value, jax.Array) and hasattr(value, "__jax_array__"):
        value = jnp.asarray(value)  # a variable of a model
    if isinstance(value, jax.Array):
        return _narrowed(name, value)
    value = numpy_array(name, value)
    _must_fit(name, value)
    try:
        with jax.debug_nans(False):  # masked items may be NaN
            return jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name}: got {value.dtype} values; pass an array of numbers"
        ) from error


_IDS = ("retrieved_ids", "relevant_ids", "exclude_ids", "first", "second", "ids")


def numpy_array(name: str, value: Any) -> np.ndarray:
    """What NumPy makes of anything that is no JAX array: lists, tensors, columns."""
    kind = type(value).__name__
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name}: got a masked NumPy array, whose mask would be lost; pass "
            f"{name}.filled(0), and mask=~numpy.ma.getmaskarray({name})"
        )
    try:
        value = np.asarray(value)
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
    if value.dtype == object:
        if value.ndim and isinstance(value.flat[0], (list, tuple, np.ndarray)):
            raise TypeError(
                f"{name}: got a {kind} of lists; pass arrays, as "
                f"jrm.pad_lists(list({name})) makes them"
            )
        raise TypeError(
            f"{name}: got {kind}, which NumPy reads as objects; pass an array of numbers"
        )
    return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder())


def _must_fit(name: str, value: np.ndarray) -> None:
    """Raises where JAX would cut integers down."""
    info = np.iinfo(np.int32)
    if value.dtype.kind not in "iu" or not _is_wide(value) or not value.size:
        return
    if value.min() < info.min or value.max() > info.max:
        raise ValueError(
            f"{name}: {value.dtype} values from {value.min()} to {value.max()} do not fit "
            "int32, which JAX uses by default; pass smaller integers or floats, or "
            "enable jax_enable_x64"
        )


def _is_wide(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype.itemsize < 8 or isinstance(value, Tracer):
        return False
    if jnp.issubdtype(dtype, jax.dtypes.extended):
        return False
    return jax.dtypes.canonicalize_dtype(dtype) != dtype


def is_wide(tree: Any) -> bool:
    """Whether it holds numbers of 8 bytes, made while JAX had them switched on.

    JAX itself does not ask: with x64 off again, constants beside them have half their
    bits and the results are nonsense. A tree of which any is traced is left alone.
    """
    leaves = jax.tree.leaves(tree)
    wide = any([_is_wide(leaf) for leaf in leaves])
    return wide and not any(isinstance(leaf, Tracer) for leaf in leaves)


def canonical(tree: Any) -> Any:
    """The same pytree with the dtypes that JAX has switched on; see `is_wide`.

    For values: floats are rounded. Integers of which more is kept than their value, such
    as the bits of floats, must be read before.
    """
    return jax.tree.map(lambda leaf: _narrowed("integers", leaf), tree)


def _narrowed(name: str, value: Any) -> Any:
    if not _is_wide(value):
        return value
    dtype = jax.dtypes.canonicalize_dtype(value.dtype)
    if getattr(value, "is_fully_addressable", True):
        _must_fit(name, np.asarray(value))
    # Outside of any trace: there it would be a cast that the trace does not know.
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        return jnp.asarray(value).astype(dtype)


def kind_of(value: Any) -> str:
    """What a value is, for messages: arrays by dtype and shape, others by type."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"an array of {value.dtype} {tuple(value.shape)}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return f"a {type(value).__name__}"


def first_place(x: np.ndarray) -> tuple[int, ...]:
    """Where the greatest stands, of bools the first that holds."""
    return tuple(int(i) for i in np.unravel_index(np.argmax(x), x.shape))


def _of_kind(name: str, value: Any, kinds: Sequence[Any], cure: str) -> jax.Array:
    value = array(name, value)
    if not any(jnp.issubdtype(value.dtype, kind) for kind in kinds):
        raise TypeError(f"{name}: dtype is {value.dtype}; pass {cure}")
    return value


def real(name: str, value: Any) -> jax.Array:
    """An array of bools, integers or floats."""
    kinds = (jnp.bool_, jnp.integer, jnp.floating)
    return _of_kind(name, value, kinds, "a bool, integer or float array")


def integers(name: str, value: Any) -> jax.Array:
    """An array of signed or unsigned integers."""
    return _of_kind(name, value, (jnp.integer,), "an array of integers")


def boolean(
    name: str, value: Any, other: str = "", shape: Sequence[int] | None = None
) -> jax.Array | None:
    """An array of bools, and of the shape that another has; or None.

    Other dtypes are refused, since 0.1 and -inf would both be true.
    """
    if value is None:
        return None
    value = _of_kind(name, value, (jnp.bool_,), f"{name} != 0")
    if shape is not None:
        same_shape(name, value, other, shape)
    return value


def ids(name: str, value: Any) -> jax.Array:
    """Signed integers with at least one axis, as int32 unless they are int64."""
    value = integers(name, value)
    if value.ndim == 0:
        raise ValueError(f"{name} has shape (); pass at least one axis, the ids")
    if jnp.issubdtype(value.dtype, jnp.unsignedinteger) and value.dtype.itemsize > 2:
        raise TypeError(
            f"{name}: dtype is {value.dtype}; pass signed integers, less than 0 is padding"
        )
    return value if value.dtype == jnp.int64 else value.astype(jnp.int32)


def same_shape(name: str, value: jax.Array, other: str, shape: Sequence[int]) -> None:
    """Raises unless `value` has exactly this shape."""
    if value.shape != tuple(shape):
        raise ValueError(
            f"{name} has shape {value.shape}, but {other} has shape {tuple(shape)}; pass "
            "arrays of equal shape, nothing is broadcast"
        )


def same_lists(name: str, value: jax.Array, other: str, like: jax.Array) -> None:
    """Raises unless both have the same leading axes."""
    if value.shape[:-1] != like.shape[:-1]:
        raise ValueError(
            f"{name} has shape {value.shape}, but {other} has shape {like.shape}; pass "
            "arrays that agree but for the last axis"
        )


def unsharded(name: str, value: jax.Array, cure: str) -> None:
    """Raises where the type of an array says that devices hold parts of it."""
    spec = jax.typeof(value).sharding.spec
    if any(entry is not None for entry in spec):
        raise ValueError(
            f"{name} is sharded over devices, as {spec}; call inside jax.shard_map, {cure}"
        )


def float_dtype(*arrays: jax.Array | None) -> jnp.dtype:
    """What values are computed in: float64 where an input is, else float32."""
    double = any(x is not None and x.dtype == jnp.float64 for x in arrays)
    return jnp.dtype(jnp.float64 if double else jnp.float32)
