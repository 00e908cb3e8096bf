"""What is static, and what belongs to a call as a whole: cutoffs, choices, keys, axes."""

from collections.abc import Sequence
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._types import Cut, Cutoffs

MOST = 2**31 - 1  # of what is counted in int32: ranks, lists


def is_integer(value: Any) -> bool:
    """Whether it is an integer of Python or NumPy, and no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return is_integer(value) or isinstance(value, (float, np.floating))


def cutoffs(k: Cutoffs) -> tuple[int | None, ...]:
    """Every cutoff of `k`, in the order given; none is more than int32 holds.

    No list is that long, so that a larger one means the whole list.
    """
    ks: Any = k if isinstance(k, (tuple, list)) else (k,)
    if not ks:
        raise ValueError("k is empty; pass an int, None, or a tuple of them")
    for one in ks:
        if isinstance(one, jax.Array):
            raise TypeError(
                "k is a JAX array; pass a Python int, k is static and cannot be traced"
            )
        if one is not None and not is_integer(one):
            raise TypeError(
                f"k is {k!r}; pass an int, None, or a tuple of them, not "
                f"{type(one).__name__}"
            )
        if one is not None and one < 1:
            raise ValueError(f"k is {k!r}; ranks start at 1, pass k >= 1")
    return tuple([None if one is None else min(int(one), MOST) for one in ks])


def cuts(ks: Sequence[Any]) -> tuple[Cut, ...]:
    """Cutoffs as formulas may give them: ints, None, or arrays of one per list."""
    return tuple(
        int(k) if is_integer(k) else None if k is None else jnp.asarray(k) for k in ks
    )


def deepest(ks: Sequence[int | None]) -> int | None:
    """The depth that reaches every cutoff; None is the whole list."""
    return None if None in ks else max(k for k in ks if k is not None)


def count(name: str, value: Any) -> int:
    """A static integer of at least 1."""
    if isinstance(value, jax.Array):
        raise TypeError(f"{name} is a JAX array; pass a Python int, it is static")
    if not is_integer(value):
        raise TypeError(f"{name} is {value!r}; pass a Python int")
    if value < 1:
        raise ValueError(f"{name} is {value!r}; pass an int of at least 1")
    return int(value)


def option(name: str, value: Any, kind: Any, also: str = "") -> None:
    """Raises unless `value` is one of the choices of `kind`, a `Literal`."""
    if not isinstance(value, str) or value not in get_args(kind):
        choices = ", ".join(get_args(kind))
        raise ValueError(f"{name} is {value!r}; pass {also}one of {choices}")


def positive(name: str, value: Any) -> float:
    """A static positive number."""
    if not _is_number(value):
        raise TypeError(f"{name} is {value!r}; pass a positive Python number")
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} is {value!r}; pass a positive number")
    return float(value)


def share(name: str, value: Any) -> float:
    """A static number between 0 and 1, and neither of them."""
    if positive(name, value) >= 1:
        raise ValueError(f"{name} is {value!r}; pass a number above 0 and below 1")
    return float(value)


def fraction(name: str, value: Any) -> float:
    """A static number from 0 to 1."""
    if not _is_number(value):
        raise TypeError(f"{name} is {value!r}; pass a Python number from 0 to 1")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value!r}; pass a number from 0 to 1")
    return float(value)


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
            f"{name} is {value!r}, which is not a mesh axis in this context; call "
            "inside jax.shard_map over it"
        ) from error
    return value


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
