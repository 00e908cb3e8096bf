"""Arguments that are static or concern a whole call: cutoffs, choices, keys, mesh axes."""

import math
from collections.abc import Callable, Sequence
from typing import Any, SupportsFloat, TypeGuard, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._ground import messages, types
from jax_rank_metrics._ground.shares import share

MAX_INT32 = 2**31 - 1  # ranks and lists are counted in int32
MAX_FLOAT32 = 2.0**128  # numbers of at least this are infinite in float32


def is_integer(value: object) -> TypeGuard[int | np.integer]:
    """True for a Python or NumPy integer; False for bools and JAX arrays."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_scalar_number(value: object) -> TypeGuard[float | jax.Array]:
    """True for a single number: a Python number, or an array without axes."""
    return isinstance(value, SupportsFloat) and not getattr(value, "ndim", 0)


def _is_number(value: object) -> TypeGuard[float | np.integer | np.floating]:
    return is_integer(value) or isinstance(value, (float, np.floating))


@messages.short_errors()
def cutoffs(k: types.Cutoffs) -> tuple[int | share | None, ...]:
    """Returns the cutoffs of `k` as a tuple: shares, ints up to `MAX_INT32`, or None.

    No list is longer than `MAX_INT32`, so a larger cutoff also means the whole list.

    >>> cutoffs(10), cutoffs([1, None])
    ((10,), (1, None))
    """
    ks: Sequence[object] = k if isinstance(k, (tuple, list)) else (k,)
    if not ks:
        raise ValueError("k is empty; pass an int, None, or a tuple of them")
    return tuple([_cutoff(cutoff, k) for cutoff in ks])


@messages.short_errors()
def rank_cutoffs(k: types.RankCutoffs) -> tuple[int | None, ...]:
    """Returns the cutoffs of `k` as `cutoffs` does, but refuses shares of a list."""
    ks = cutoffs(k)
    for cutoff in ks:
        if isinstance(cutoff, share):
            raise TypeError(
                f"k is {k!r}, but only metrics take a share of a list as a cutoff; pass an "
                "int or None here"
            )
    return tuple(cutoff for cutoff in ks if not isinstance(cutoff, share))


def _cutoff(cutoff: object, k: object) -> int | share | None:
    if isinstance(cutoff, jax.Array):
        raise TypeError(
            "k is a JAX array, but k is static and cannot be traced; pass a Python int"
        )
    if cutoff is None or isinstance(cutoff, share):
        return cutoff
    if not is_integer(cutoff):
        kind = type(cutoff).__name__
        raise TypeError(
            f"k is {k!r}; pass an int, None, or a tuple of them, not {kind}; a share of "
            "the list is jrm.share(0.01)"
        )
    if cutoff < 1:
        raise ValueError(f"k is {k!r}, but ranks start at 1; pass k >= 1")
    return min(int(cutoff), MAX_INT32)


def cuts(ks: Sequence[object]) -> tuple[types.Cut, ...]:
    """Converts the cutoffs that a formula passes: ints, None, or arrays `[*lists]`."""
    return tuple(
        int(k)
        if is_integer(k)
        else k
        if k is None or isinstance(k, jax.Array)
        else jnp.asarray(k)
        for k in ks
    )


def deepest(ks: Sequence[types.Cut | share]) -> int | None:
    """Returns the largest cutoff, or None if a cutoff may reach the whole list.

    Such a cutoff is None, a share of the list, or an array of cutoffs.
    """
    numbers = [k for k in ks if isinstance(k, int)]
    return max(numbers) if len(numbers) == len(ks) else None


@messages.short_errors()
def positive_integer(name: str, value: object, limit: float = math.inf) -> int:
    """Returns a static integer of at least 1 and at most `limit`."""
    if isinstance(value, jax.Array):
        raise TypeError(f"{name} is a JAX array, but it is static; pass a Python int")
    if not is_integer(value):
        raise TypeError(f"{name} is {value!r}; pass a Python int")
    if not 1 <= value <= limit:
        limits = "of at least 1" if value < 1 else f"of at most {limit}"
        raise ValueError(f"{name} is {value!r}; pass an int {limits}")
    return int(value)


@messages.short_errors()
def index(name: str, value: object) -> int:
    """Returns a static integer from 0 to `MAX_INT32`."""
    if not is_integer(value):
        raise TypeError(f"{name} is {value!r}, but it is static; pass a Python int")
    if not 0 <= value <= MAX_INT32:
        raise ValueError(f"{name} is {value}; pass an int from 0 to {MAX_INT32}")
    return int(value)


@messages.short_errors()
def option(name: str, value: object, literal: Any, alternative: str = "") -> None:
    """Raises unless `value` is one of the choices of a `Literal`, or of a collection.

    `alternative` stands before the list of choices in the message, such as "None or ".
    """
    choices = get_args(literal) or literal
    if not isinstance(value, str) or value not in choices:
        text = f"{alternative}one of {', '.join(choices)}"
        raise ValueError(f"{name} is {value!r}; pass {text}")


@messages.short_errors()
def _number(
    name: str, value: object, is_legal: Callable[[Any], bool], expected: str
) -> float:
    """Returns a static number as a float; `expected` has a gap for the word "number"."""
    if not _is_number(value):
        raise TypeError(f"{name} is {value!r}; pass {expected.format('Python number')}")
    # A float32 cannot be compared with a number that float32 does not hold.
    number = value.item() if isinstance(value, np.generic) else value
    if not is_legal(number) or abs(number) >= MAX_FLOAT32:
        size = "number" if not is_legal(number) else "number below 2**128"
        raise ValueError(f"{name} is {value!r}; pass {expected.format(size)}")
    return float(value)


@messages.short_errors()
def flag(name: str, value: object) -> None:
    """Raises unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; pass True or False")


def check_undefined(undefined: object) -> None:
    """Raises unless `undefined` is one of its choices, or None for the values' default."""
    if undefined is not None:
        option("undefined", undefined, types.Undefined)


def positive(name: str, value: object) -> float:
    """Returns a static number above 0 as a float; infinity and traced values raise."""
    return _number(name, value, lambda x: 0 < x < math.inf, "a positive {}")


def not_negative(name: str, value: object) -> float:
    """Returns a finite Python number of at least 0 as a float; raises on anything else."""
    return _number(name, value, lambda x: 0 <= x < math.inf, "a {} of at least 0")


def open_fraction(name: str, value: object) -> float:
    """Returns a static number strictly between 0 and 1."""
    return _number(name, value, lambda x: 0 < x < 1, "a {} above 0 and below 1")


def fraction(name: str, value: object) -> float:
    """Returns a static number from 0 to 1, inclusive."""
    return _number(name, value, lambda x: 0 <= x <= 1, "a {} from 0 to 1")


@messages.short_errors()
def group_shares(
    name: str, value: object, num_groups: int | None, alternative: str = "None"
) -> tuple[float, ...]:
    """Returns static shares of groups, at least 0 and not all 0, as floats.

    If `num_groups` is None, there may be any number of groups. The message ends with
    `alternative`, the text that says which other value may be passed.
    """
    if not isinstance(value, tuple) or num_groups not in (None, len(value)):
        size = "" if num_groups is None else f"{num_groups} "
        raise ValueError(
            f"{name} is {value!r}; pass a tuple of {size}shares, one for each group, or "
            f"{alternative}"
        )
    shares = tuple(not_negative(name, share) for share in value)
    if not any(shares):
        raise ValueError(f"{name} is {value!r}; pass a share above 0 for some group")
    return shares


@messages.short_errors()
def axis_names(name: str, value: object) -> types.AxisNames | None:
    """Returns the name of one mesh axis, or a tuple of names; None stays None.

    Raises unless all axes are manual in this context. Inside `jax.shard_map`, an axis is
    manual if the function is mapped over it.
    """
    if value is None:
        return None
    axes = value if isinstance(value, tuple) else (value,)
    names = tuple(axis for axis in axes if isinstance(axis, str))
    if not names or len(names) < len(axes):
        raise TypeError(f"{name} is {value!r}; pass a mesh axis, or a tuple of axes")
    try:
        lax.axis_index(names)
    except NameError as error:
        raise ValueError(
            f"{name} is {value!r}, which is not a mesh axis in this context; call "
            "inside a jax.shard_map over this axis"
        ) from error
    return value if isinstance(value, str) else names


def prng_key(key: object) -> jax.Array:
    """Returns one typed key, from a typed key or the raw data of a key."""
    cure = "pass one key, as made by jax.random.key(0)"
    if not isinstance(key, (jax.Array, np.ndarray)):
        raise TypeError(f"key: got {type(key).__name__}; {cure}")
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        shape = ()
    elif key.dtype == jnp.uint32:
        shape = jax.eval_shape(jax.random.PRNGKey, 0).shape
    else:
        raise TypeError(f"key: dtype is {key.dtype}; {cure}")
    if key.shape != shape:
        raise ValueError(
            f"key has shape {key.shape}, but one key has shape {shape}; {cure}, or under "
            "jax.vmap one key per list"
        )
    array = jnp.asarray(key)
    return jax.random.wrap_key_data(array) if shape else array
