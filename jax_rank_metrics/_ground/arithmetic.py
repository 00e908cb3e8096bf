"""Arithmetic along the items of lists: sums, counts, ratios.

Sums inside a list are plain floats. The states keep the sums that must not drift over many
merges.
"""

import functools
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike, DTypeLike

from jax_rank_metrics._ground import meshes

A = TypeVar("A", bound=jax.Array | np.ndarray)

# Integers along axes of at most this length are added up term by term.
_SHORT = 2

# If there are at most this many slots, `at_slot` reads one by a reduction over all slots.
_FEW_SLOTS = 32

# Arrays of up to this many entries are small. For them, programs do without branches and
# without algorithms that save microseconds, since both take tenths of a second to compile.
# A training step of 256 lists of 128 items is small.
_SMALL = 2**16


def total(x: jax.Array) -> jax.Array:
    """Sums floats along the last axis, from `[…, items]` to `[…]`.

    The sum is written as a product with ones. XLA:CPU may fuse the computation of the
    summands into a reduction, which it then does not vectorise; it never fuses them into a
    product. A product also gives equal summands equal sums in every program: a reduction
    may fuse the last multiplication of a summand with the addition, and then rounds
    differently.

    An axis of more than 4096 items is first summed in chunks, if chunks of equal length
    divide it.
    """
    size = x.shape[-1]
    if size == 1:
        return jnp.squeeze(x, -1)
    if isinstance(size, int) and size > 4096:  # not symbolic, as in an export
        chunk = _chunk_length(size)
        if size % chunk == 0:
            return total(total(x.reshape((*x.shape[:-1], size // chunk, chunk))))
    return dot(x, jnp.ones(x.shape[-1:], x.dtype))


def _is_short(size: int) -> bool:
    return isinstance(size, int) and 0 < size <= _SHORT


def _sum_of_short(x: jax.Array) -> jax.Array:
    """Sums the last axis term by term.

    XLA fuses the additions with the code that makes the terms and the code that reads the
    sum. For a reduction, an accelerator would start a kernel.
    """
    terms = [lax.index_in_dim(x, i, -1, keepdims=False) for i in range(x.shape[-1])]
    return functools.reduce(jnp.add, terms)


def dot(x: jax.Array, y: jax.Array) -> jax.Array:
    """Multiplies matrices in full precision; accelerators would round the factors."""
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _chunk_length(size: int) -> int:
    """Returns the chunk length for `size` items: the largest divisor in 16 to 64, or 32."""
    return next((length for length in range(64, 15, -1) if size % length == 0), 32)


def total_of_integers(x: jax.Array) -> jax.Array:
    """Sums integers along the last axis, in their own dtype."""
    if _is_short(x.shape[-1]):
        return _sum_of_short(x)
    return jnp.sum(x, axis=-1, dtype=x.dtype)


def two_sum(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Adds exactly: returns the sum and its rounding error, whichever of a and b is larger.

    References:
        Knuth, The Art of Computer Programming 2, 4.2.2.
    """
    high = a + b
    b_rounded = high - a
    return high, (a - (high - b_rounded)) + (b - b_rounded)


Pair = tuple[jax.Array, jax.Array]  # floats, and their rounding errors


def plus(pair: Pair, x: jax.Array) -> Pair:
    """Adds a float to a pair; no carry goes from the rounding error to the sum."""
    high, error = two_sum(pair[0], x)
    return high, pair[1] + error


# A number is negligible if its weight is at most this share of the weight of the likeliest
# number. A hundred thousand such numbers change no digit of a mean.
_NEGLIGIBLE = 1e-14


def means_from_likeliest(
    likeliest: jax.Array,
    bounds: tuple[jax.Array, jax.Array],
    ratios: Callable[[jax.Array], tuple[jax.Array, jax.Array]],
    functions: Sequence[Callable[[jax.Array], jax.Array]],
) -> list[jax.Array]:
    """Returns the means of functions of a random whole number.

    The distribution is given by the ratios between the chances of neighbouring numbers.
    The sum starts at the likeliest number and goes in both directions, so that no weight
    overflows, and no weight that matters underflows.

    Args:
        likeliest: The likeliest number, `[1, …]` floats. In all arrays the first axis is
            for the two directions, upwards and downwards.
        bounds: The least and the largest number.
        ratios: Takes numbers n, `[2, …]`, and returns the chance of n + 1 divided by the
            chance of n, and the chance of n − 1 divided by the chance of n; 0 beyond the
            bounds.
        functions: Functions of numbers. The mean of each is returned, `[…]`.
    """
    sign = np.array([1, -1], likeliest.dtype).reshape(2, *(1,) * (likeliest.ndim - 1))

    def add(state: tuple[Any, ...]) -> tuple[Any, ...]:
        distance, weights, sums = state
        n = jnp.clip(likeliest + sign * distance, *bounds)
        # The likeliest number itself counts once.
        counted = jnp.where((sign > 0) | (distance > 0), weights, 0)
        terms = (counted, *(counted * function(n) for function in functions))
        weights = weights * jnp.where(sign > 0, *ratios(n))
        return distance + 1, weights, [*map(plus, sums, terms)]

    inputs = ratios(likeliest), [function(likeliest) for function in functions]
    zeros = meshes.match_varying(jnp.zeros_like(sign * likeliest), inputs)
    pairs = [(zeros, zeros)] * (1 + len(functions))
    start = jnp.zeros((), likeliest.dtype), zeros + 1, pairs
    *_, sums = lax.while_loop(
        lambda state: meshes.unvmap_any(state[1] > _NEGLIGIBLE), add, start
    )
    weight, *totals = (jnp.sum(sum(pair), axis=0) for pair in sums)
    return [total / weight for total in totals]


def count(x: jax.Array, dtype: DTypeLike = jnp.int32) -> jax.Array:
    """Counts the true entries along the last axis, from `[…, items]` to `[…]`.

    Bools are summed as floats if that is exact, since XLA:CPU vectorises sums of floats but
    not sums of integers, and accelerators would start a kernel to convert them to integers.
    """
    if _is_short(x.shape[-1]):
        return _sum_of_short(x.astype(dtype))
    if x.shape[-1] >= 2**24:
        return jnp.sum(x, axis=-1, dtype=jnp.int32).astype(dtype)
    is_float = jnp.issubdtype(dtype, jnp.floating)
    floats = x.astype(dtype if is_float else jnp.float32)
    return jnp.sum(floats, axis=-1).astype(dtype)


def cumulative_count(x: jax.Array) -> jax.Array:
    """Counts the true entries up to and including each item, `[…, items]` int32.

    [True, False, True, True] gives [1, 1, 2, 3]. If `x` holds integers, they are added
    up; their sums must stay within ±2^24, where float32 is exact. Products with a triangle
    of ones take a fifth of the time of a scan.
    """
    if x.shape[-1] >= 2**24:  # float32 would not be exact
        return jnp.cumsum(x, axis=-1, dtype=jnp.int32)
    return cumulative_sum(x.astype(jnp.float32)).astype(jnp.int32)


def cumulative_sum(x: jax.Array) -> jax.Array:
    """Sums floats up to and including each item of the last axis.

    [1, 2, 3] gives [1, 3, 6]. Axes of more than 64 items are split into chunks: the sum up
    to an item is the cumulative sum inside its chunk, plus the totals of all chunks before
    it.
    """
    size = x.shape[-1]
    if size == 1:
        return x
    if size <= 64:
        triangle = jnp.triu(jnp.ones((size, size), x.dtype))
        return dot(x, triangle)
    length = _chunk_length(size)
    chunks = -(-size // length)
    x = pad_items(x, after=chunks * length - size)
    within_chunk = cumulative_sum(x.reshape((*x.shape[:-1], chunks, length)))
    chunk_totals = within_chunk[..., -1]  # [*lists, chunks]
    # Do not subtract each total from the sum through its chunk to get the sum before it:
    # that would cancel digits of smaller sums.
    before_chunk = cumulative_sum(shifted(chunk_totals, 1))
    return merge_last_axes(within_chunk + before_chunk[..., None])[..., :size]


def is_small(x: jax.Array, times: int = 1) -> bool:
    """True if reading `x` so many times is faster than compiling code that avoids this."""
    return isinstance(x.size, int) and x.size * times <= _SMALL


# Combines the entry of an item with the entry of the items before it; associative.
Combine = Callable[[jax.Array, jax.Array], jax.Array]


def along_runs(
    continues: jax.Array,
    arrays: Sequence[jax.Array] = (),
    combines: Sequence[Combine] = (),
) -> tuple[jax.Array, list[jax.Array]]:
    """Combines each item with the earlier items of its run of neighbours.

    If `continues` is F T F T, the sums of 1 2 3 4 are 1 3 3 7. Every step doubles the
    number of items that an entry covers. There are log2(longest run) steps, and sums of
    floats lose as little as pairwise sums do. Nothing is gathered.

    Args:
        continues: `[*lists, items]` bool, True for items that continue the run of the item
            before them.
        arrays: Arrays `[*lists, items, …]`, or of shapes that broadcast to this one.
        combines: For each array, the function that combines its entries.

    Returns:
        The number of items that precede each item in its run, int32, and the combined
        arrays.
    """
    axis = continues.ndim - 1
    offset = continues.astype(jnp.int32)

    def absorb(
        grows: jax.Array, by: jax.Array | int, arrays: Sequence[jax.Array]
    ) -> list[jax.Array]:
        return [
            jnp.where(widen(grows, x), combine(x, delayed(x, by, axis)), x)
            for x, combine in zip(arrays, combines, strict=True)
        ]

    def double(
        step: jax.Array, offset: jax.Array, arrays: Sequence[jax.Array]
    ) -> tuple[jax.Array, jax.Array, list[jax.Array]]:
        # So far, no offset is larger than `step`; offsets equal to it may still grow.
        grows = offset == step
        before = jnp.where(grows, delayed(offset, step, axis), 0)
        return 2 * step, offset + before, absorb(grows, step, arrays)

    # The loop needs each array in the shape and, inside shard_map, the type that it has
    # after a step.
    shape = continues.shape
    arrays = [jnp.broadcast_to(x, (*shape, *x.shape[axis + 1 :])) for x in arrays]
    arrays = meshes.match_varying(arrays, continues)

    @jax.custom_jvp
    def combined(offset: jax.Array, *arrays: jax.Array) -> tuple[jax.Array, list]:
        return lax.while_loop(
            lambda state: meshes.unvmap_any(state[1] == state[0]),
            lambda state: double(*state),
            (jnp.ones((), jnp.int32), offset, list(arrays)),
        )[1:]

    @combined.defjvp
    def _(primals: Sequence[jax.Array], tangents: Sequence[jax.Array]) -> tuple:
        # JAX has no reverse mode for a while loop, but has one for a fixed number of steps.
        def in_all_steps(*arrays: jax.Array) -> tuple[jax.Array, list]:
            start = jnp.ones((), jnp.int32), primals[0], list(arrays)
            num_steps = continues.shape[axis].bit_length()
            return lax.fori_loop(0, num_steps, lambda _, x: double(*x), start)[1:]

        return jax.jvp(in_all_steps, primals[1:], tangents[1:])

    return combined(offset, *arrays)


def delayed(x: jax.Array, by: jax.Array | int, axis: int) -> jax.Array:
    """Shifts an axis towards its end, and fills its start with 0."""
    size = x.shape[axis]
    static_by = by if isinstance(by, int) else None
    widths = [(0, 0, 0)] * x.ndim
    widths[axis] = (size, 0, 0) if static_by is None else (static_by, -static_by, 0)
    padded = lax.pad(x, jnp.zeros((), x.dtype), widths)
    if static_by is not None:
        return padded
    return lax.dynamic_slice_in_dim(padded, size - by, size, axis)


def take(x: jax.Array, indices: jax.Array) -> jax.Array:
    """Gathers items of the last axis by indices, which must be in bounds.

    `x` is `[*lists, items]`; `indices` and the result are `[*lists, slots]`, because each
    list is read at its own indices. [[7, 8], [5, 6]] at [[1], [0]] gives [[8], [5]].
    """
    if x.shape[-1] == 1:  # all indices are 0
        return jnp.broadcast_to(x, indices.shape)
    return jnp.take_along_axis(x, indices, axis=-1, mode="promise_in_bounds")


def take_items(x: jax.Array, indices: jax.Array) -> jax.Array:
    """Gathers items as `take` does, from arrays `[*lists, items, …]`."""
    axis = indices.ndim - 1
    if x.shape[axis] == 1:
        return jnp.broadcast_to(x, (*indices.shape, *x.shape[axis + 1 :]))
    indices = widen(indices, x)
    return jnp.take_along_axis(x, indices, axis=axis, mode="promise_in_bounds")


def at_slot(x: jax.Array, slot: int) -> jax.Array:
    """Returns one slot of the last axis of integers, bools or finite floats.

    If there are few slots, a reduction reads it, because XLA fuses the reduction with the
    code around it; for a slice, accelerators start a kernel.
    """
    size = x.shape[-1]
    if not 1 < size <= _FEW_SLOTS:
        return lax.index_in_dim(x, slot, -1, keepdims=False)
    is_chosen = np.arange(size).reshape((1,) * (x.ndim - 1) + (size,)) == slot % size
    chosen = jnp.where(is_chosen, x, jnp.zeros_like(x))
    return jnp.any(chosen, -1) if x.dtype == jnp.bool_ else jnp.sum(chosen, -1, x.dtype)


def put(
    x: jax.Array, slots: jax.Array, values: jax.Array, add: bool = False
) -> jax.Array:
    """Puts or adds values at slots of the last axis; slots beyond its end are dropped.

    Unlike in `jnp.put_along_axis`, the number of lists may be symbolic, as in an export.
    """
    shape = (*slots.shape[:-1], 1)
    lists = [lax.broadcasted_iota(jnp.int32, shape, i) for i in range(slots.ndim - 1)]
    at_slots = x.at[(*lists, slots)]
    return (at_slots.add if add else at_slots.set)(values, mode="drop")


def shifted(x: jax.Array, by: int, edge: int = 0) -> jax.Array:
    """Shifts the last axis, towards its end or, by a negative number, towards its start.

    Slots that become free hold `edge`: [7, 8, 9] shifted by 1 is [edge, 7, 8], and shifted
    by −1 it is [8, 9, edge].
    """
    return pad_items(x, by, -by, edge)


def pad_items(
    x: jax.Array, before: int = 0, after: int = 0, value: int | float = 0
) -> jax.Array:
    """Pads the last axis with `value`; negative widths cut items off."""
    if not before and not after:
        return x
    widths = [(0, 0, 0)] * (x.ndim - 1) + [(before, after, 0)]
    return lax.pad(x, jnp.asarray(value, x.dtype), widths)


def merge_last_axes(x: jax.Array) -> jax.Array:
    """Reshapes the last two axes into one."""
    return x.reshape((*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def iota(like: jax.Array, dtype: DTypeLike = jnp.int32) -> jax.Array:
    """Returns 0, 1, … along the last axis, in a shape that broadcasts with `like`."""
    shape = (1,) * (like.ndim - 1) + like.shape[-1:]
    return lax.broadcasted_iota(dtype, shape, like.ndim - 1)


def widen(x: A, like: jax.Array | np.ndarray) -> A:
    """Appends axes of length 1 to `x`, up to the number of axes of `like`.

    A mask `[*lists, items]` then broadcasts with columns `[*lists, items, …]`. If `x` has
    at least as many axes as `like`, it is returned unchanged.
    """
    return x.reshape((*x.shape, *(1,) * (like.ndim - x.ndim)))  # type: ignore[return-value]


def where_kept(is_kept: jax.Array | np.ndarray, x: A, filler: int) -> A:
    """Returns `x` where `is_kept` is true, and the filler elsewhere.

    `is_kept` may have fewer axes than `x`. NumPy computes this for arrays of NumPy, because
    JAX would compile a program for every number of lists.
    """
    where: Any = jnp.where if isinstance(x, jax.Array) else np.where
    return where(widen(is_kept, x), x, np.asarray(filler, x.dtype))


def as_real(values: ArrayLike, dtype: DTypeLike) -> jax.Array:
    """Casts values that a user's function returned; complex numbers raise `TypeError`."""
    array = jnp.asarray(values)
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise TypeError(f"a function returned {array.dtype}; return real numbers")
    return array.astype(dtype)


def ratio(x: A, y: A, xp: ModuleType = jnp) -> A:
    """Returns `x / y`, and 0 where `y` is not above 0; `y` broadcasts to `x`.

    `xp` is the library of the arrays: `jax.numpy`, or `numpy` on the host.

    The divisor is guarded before the division, because with a `where` around the quotient
    alone, autodiff and `jax_debug_nans` would meet the NaN of the branch that is not taken.
    """
    is_defined = y > 0
    quotient = x / xp.where(is_defined, y, xp.ones_like(y))
    return xp.where(is_defined, quotient, xp.zeros_like(quotient))


def power(base: float, exponents: jax.Array) -> jax.Array:
    """Returns `base**exponents`, for a static base in [0, 1] and floats of at least 0.

    `0**0` is 1. The logarithm of the base is computed in double precision. Large powers of
    a base near 1 depend on its distance from 1, and rounding the base to float32 would
    leave few digits of this distance.
    """
    if base == 0:
        return (exponents == 0).astype(exponents.dtype)
    return jnp.exp(exponents * math.log(base))


def max_identity(dtype: DTypeLike) -> int:
    """Returns the identity element of `max`, for integers or for floats of at least 0.

    It is the minimum of an integer dtype, and 0 for floats.
    """
    return jnp.iinfo(dtype).min if jnp.issubdtype(dtype, jnp.integer) else 0


def power_of_two_below(x: jax.Array) -> jax.Array:
    """Returns the largest power of two that is at most x ≥ 0: 4 for 5, and 0 for 0."""
    integer = integer_like(x.dtype)
    infinity = lax.bitcast_convert_type(jnp.asarray(jnp.inf, x.dtype), integer)
    bits = lax.bitcast_convert_type(x, integer) & infinity  # without the mantissa
    return lax.bitcast_convert_type(bits, x.dtype)


def mix(x: jax.Array) -> jax.Array:
    """Hashes uint32 bijectively, so different values have different hashes."""
    for _ in range(2):  # xor-shift-multiply, by an odd number
        x = (x ^ (x >> 16)) * jnp.uint32(0x45D9F3B)
    return x ^ (x >> 16)


def integer_like(dtype: DTypeLike) -> jnp.dtype:
    """Returns the signed integer dtype as wide as a float dtype."""
    return jnp.dtype({4: jnp.int32, 8: jnp.int64}[jnp.dtype(dtype).itemsize])
