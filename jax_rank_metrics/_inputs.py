"""What callers pass: checks shapes and dtypes, resolves masks and weights.

Everything that is known before values are is checked here, and only here.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

from jax_rank_metrics._types import Cutoffs, pytree

TIES = ("expected", "random", "stable", "best", "worst")
UNDEFINED = ("zero", "one", "skip")


class ItemArrays(NamedTuple):
    """Items of lists, with what does not exist made harmless.

    Shapes, with `items` the number of places of a list:
        labels: `[*lists, items]` in the float dtype of the computation, 0 where no item
            exists.
        exists: `[*lists, items]` bool, false at padding.
        weights: `[*lists, items]`, 0 where no item exists; None where items weigh the
            same.
    """

    labels: jax.Array
    exists: jax.Array
    weights: jax.Array | None

    def read(self) -> "ItemArrays":
        """Itself; see `GivenItems`."""
        return self


export.register_namedtuple_serialization(
    ItemArrays, serialized_name="jax_rank_metrics.ItemArrays"
)


@pytree("dtype")
class GivenItems:
    """Items of lists as they were passed, `[*lists, items]`.

    What they stand for is worked out where it is read: for the few items that are
    chosen, or in the one branch that looks at all. Writing it down for every item of
    long lists takes longer than finding the best of them.
    """

    labels: jax.Array
    mask: jax.Array | None
    weights: jax.Array | None
    dtype: str  # of the computation, a float

    def read(self) -> ItemArrays:
        """Items that exist: unmasked, label ≥ 0, weight > 0."""
        return resolve(self.labels, self.mask, self.weights, jnp.dtype(self.dtype))


def array(name: str, value: Any) -> jax.Array:
    """Makes an array of one argument, without a silent change of its integers."""
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    wide = isinstance(value, np.ndarray) and value.dtype in (np.int64, np.uint64)
    if wide and value.size and not jax.config.jax_enable_x64:  # pyright: ignore
        info = np.iinfo(np.int32)
        if value.min() < info.min or value.max() > info.max:
            raise ValueError(
                f"{name}: {value.dtype} values up to {value.max()} do not fit int32, "
                "which JAX uses by default; pass smaller integers or floats, or enable "
                "jax_enable_x64"
            )
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name}: got {type(value).__name__}; pass an array of numbers"
        ) from error


def real(name: str, value: Any) -> jax.Array:
    """An array of bools, integers or floats."""
    value = array(name, value)
    if not (value.dtype == jnp.bool_ or jnp.issubdtype(value.dtype, jnp.number)) or (
        jnp.issubdtype(value.dtype, jnp.complexfloating)
    ):
        raise TypeError(
            f"{name}: dtype is {value.dtype}; pass a bool, integer or float array"
        )
    return value


def boolean(name: str, value: Any) -> jax.Array:
    """An array of bools; others are refused, since 0.1 and -inf would both be true."""
    value = array(name, value)
    if value.dtype != jnp.bool_:
        raise TypeError(f"{name}: dtype is {value.dtype}; pass {name} != 0")
    return value


def same_shape(name: str, value: jax.Array, other: str, shape: Sequence[int]) -> None:
    """Raises unless `value` has exactly this shape."""
    if value.shape != tuple(shape):
        raise ValueError(
            f"{name} has shape {value.shape}, but {other} has shape {tuple(shape)}; pass "
            "arrays of equal shape, nothing is broadcast"
        )


def item_arrays(
    name: str, labels: Any, mask: Any
) -> tuple[jax.Array, jax.Array | None]:
    """Labels and their mask, with at least an item axis."""
    labels = real(name, labels)
    if labels.ndim == 0:
        raise ValueError(f"{name} has shape (); pass at least one axis, the items")
    if mask is not None:
        mask = boolean(name.replace("labels", "mask"), mask)
        same_shape(name.replace("labels", "mask"), mask, name, labels.shape)
    return labels, mask


def weights_for(
    labels: jax.Array, weights: Any, packed: bool = False
) -> jax.Array | None:
    """Weights whose number of axes says whom they weigh: all, lists, or items.

    Where lists are packed, lists have their weights elsewhere.
    """
    if weights is None:
        return None
    weights = real("weights", weights)
    lists = () if packed else labels.shape[:-1]
    allowed = {(): "a scalar", lists: "one per list", labels.shape: "one per item"}
    if packed:
        allowed[()] = "a scalar; weights per list go into list_weights"
    if weights.shape not in allowed:
        shapes = ", ".join(f"{shape} ({what})" for shape, what in allowed.items())
        raise ValueError(
            f"weights has shape {weights.shape}, but labels has shape {labels.shape}; "
            f"pass weights of shape {shapes}"
        )
    return weights


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
    segment_ids = integers("segment_ids", segment_ids)
    same_shape("segment_ids", segment_ids, "labels", labels.shape)
    if num_segments is None:
        raise ValueError(
            "segment_ids is given but num_segments is None; pass how many lists there "
            "are, a Python int"
        )
    return segment_ids, count("num_segments", num_segments)


def integers(name: str, value: Any) -> jax.Array:
    """An array of signed or unsigned integers."""
    value = array(name, value)
    if not jnp.issubdtype(value.dtype, jnp.integer):
        raise TypeError(f"{name}: dtype is {value.dtype}; pass an array of integers")
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


def count(name: str, value: Any) -> int:
    """A static integer of at least 1."""
    if isinstance(value, jax.Array):
        raise TypeError(f"{name} is a JAX array; pass a Python int, it is static")
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} is {value!r}; pass a Python int")
    if value < 1:
        raise ValueError(f"{name} is {value!r}; pass an int of at least 1")
    return int(value)


def axis_names(name: str, value: Any) -> Any:
    """One mesh axis or a tuple of them, all of which are manual here."""
    if value is None:
        return None
    names = value if isinstance(value, tuple) else (value,)
    if not names or not all(isinstance(one, str) for one in names):
        raise TypeError(f"{name} is {value!r}; pass the name of a mesh axis or a tuple")
    try:
        lax.axis_index(names)
    except NameError as error:
        raise ValueError(
            f"{name} is {value!r}, which is no mesh axis here; call inside "
            "jax.shard_map over it"
        ) from error
    return value


def tie_policy(ties: Any, key: Any) -> tuple[str | None, jax.Array | None]:
    """The policy by name, and the key where the policy reads it."""
    if ties is not None and ties not in TIES:
        raise ValueError(f"ties is {ties!r}; pass None or one of {', '.join(TIES)}")
    if ties == "random" and key is None:
        raise ValueError("ties is 'random' but key is None; pass key=jax.random.key(…)")
    if key is not None:
        key = prng_key(key)
        if ties is None:
            ties = "random"
    return ties, key if ties == "random" else None


def prng_key(key: Any) -> jax.Array:
    """One typed key, from a typed key or from the raw data of one."""
    fix = "pass one key, as made by jax.random.key(0)"
    if not isinstance(key, (jax.Array, np.ndarray)):
        raise TypeError(f"key: got {type(key).__name__}; {fix}")
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        shape = ()
    elif key.dtype == jnp.uint32:
        shape = jax.eval_shape(jax.random.PRNGKey, 0).shape
    else:
        raise TypeError(f"key: dtype is {key.dtype}; {fix}")
    if key.shape != shape:
        raise ValueError(
            f"key has shape {key.shape}, one key has shape {shape}; {fix}, and under "
            "jax.vmap one key per list"
        )
    typed = jnp.asarray(key)
    return jax.random.wrap_key_data(typed) if shape else typed


def cutoffs(k: Cutoffs) -> tuple[int | None, ...]:
    """Every cutoff of `k`, in the order given."""
    ks: Any = k if isinstance(k, (tuple, list)) else (k,)
    if not ks:
        raise ValueError("k is empty; pass an int, None, or a tuple of them")
    for one in ks:
        if one is None:
            continue
        if isinstance(one, bool) or not isinstance(one, (int, np.integer)):
            if isinstance(one, jax.Array):
                raise TypeError(
                    "k is a JAX array; pass a Python int, k is static and cannot be "
                    "traced"
                )
            raise TypeError(
                f"k is {k!r}; pass an int, None, or a tuple of them, not "
                f"{type(one).__name__}"
            )
        if one < 1:
            raise ValueError(f"k is {k!r}; ranks start at 1, pass k >= 1")
    return tuple([None if one is None else int(one) for one in ks])


def deepest(ks: Sequence[int | None]) -> int | None:
    """The depth that reaches every cutoff; None is the whole list."""
    return None if None in ks else max(k for k in ks if k is not None)


def option(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raises unless `value` is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; pass one of {', '.join(choices)}")


def positive(name: str, value: Any) -> float:
    """A static positive number."""
    if isinstance(value, bool) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise TypeError(f"{name} is {value!r}; pass a positive Python number")
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} is {value!r}; pass a positive number")
    return float(value)


def float_dtype(*arrays: jax.Array | None) -> jnp.dtype:
    """What values are computed in: float64 where an input is, else float32."""
    double = any(x is not None and x.dtype == jnp.float64 for x in arrays)
    return jnp.dtype(jnp.float64 if double else jnp.float32)


def resolve(
    labels: jax.Array,
    mask: jax.Array | None,
    weights: jax.Array | None,
    dtype: jnp.dtype,
) -> ItemArrays:
    """Items that exist: unmasked, label ≥ 0, weight > 0. `weights` is per item or None.

    Nothing has a gradient from here on: a metric is a constant to autodiff, so that
    padding cannot leak a NaN into one.
    """
    labels = lax.stop_gradient(labels).astype(dtype)
    exists = labels >= 0
    if mask is not None:
        exists = exists & mask
    if weights is not None:
        weights = lax.stop_gradient(weights).astype(dtype)
        exists = exists & (weights > 0)
        weights = jnp.where(exists, weights, jnp.zeros_like(weights))
    return ItemArrays(
        jnp.where(exists, labels, jnp.zeros_like(labels)), exists, weights
    )
