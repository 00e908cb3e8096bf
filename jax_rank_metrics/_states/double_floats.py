"""Float pairs (double-double numbers): sums of any length that do not drift."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import Tracer

from jax_rank_metrics._pytree import pytree

T = TypeVar("T")


def _two_sum(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    # Knuth's two-sum: high + low is exactly a + b, and the order of a and b is no matter.
    high = a + b
    b_seen = high - a
    return high, (a - (high - b_seen)) + (b - b_seen)


def _unless_infinite(high: jax.Array, low: jax.Array) -> jax.Array:
    # An infinite sum leaves nothing over.
    return jnp.where(jnp.isfinite(high), low, jnp.zeros_like(low))


def _halves(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    # A Veltkamp/Dekker split, by masking bits: the upper half of the significand, and
    # what that leaves. A product of two halves is exact, whether or not the compiler
    # fuses it into the addition that follows.
    uint, mask = {4: (jnp.uint32, 0xFFFFF000), 8: (jnp.uint64, 0xFFFFFFFFF8000000)}[
        x.dtype.itemsize
    ]
    bits = lax.bitcast_convert_type(x, uint) & jnp.asarray(mask, uint)
    upper = lax.bitcast_convert_type(bits, x.dtype)
    return upper, x - upper


@jax.custom_jvp
def _product(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    middle, rest = _two_sum(a1 * b2, a2 * b1)
    high, low = _two_sum(a1 * b1, middle)
    # Of what is infinite there are no halves.
    high = jnp.where(jnp.isfinite(a * b), high, a * b)
    return high, _unless_infinite(high, low + (rest + a2 * b2))


@_product.defjvp
def _product_jvp(primals: Any, tangents: Any) -> Any:
    # Of bits autodiff knows nothing.
    (a, b), (da, db) = primals, tangents
    slope = a * db + da * b
    return _product(a, b), (slope, jnp.zeros_like(slope))


@pytree()
class FloatPair:
    """`high + low`: a number of any shape in twice the precision of its dtype.

    An unevaluated sum of two floats, known as double-double arithmetic.

    References:
        Dekker, A floating-point technique for extending the available precision, 1971.
    """

    high: jax.Array
    low: jax.Array

    @classmethod
    def of(cls, x: jax.Array) -> "FloatPair":
        """A pair with the value of `x`."""
        return cls(x, jnp.zeros_like(x))

    @classmethod
    def product(cls, a: jax.Array, b: jax.Array) -> "FloatPair":
        """`a·b` of two floats, to the precision of a pair (underflow apart)."""
        return cls(*_product(a, b))

    def times(self, x: jax.Array) -> "FloatPair":
        """`self·x`, x being a float."""
        product = FloatPair.product(self.high, x)
        return product + FloatPair.of(_unless_infinite(product.high, self.low * x))

    def __add__(self, other: "FloatPair") -> "FloatPair":
        high, low = _two_sum(self.high, other.high)
        return _normal(high, low + (self.low + other.low))

    def round(self) -> jax.Array:
        """The nearest single float."""
        return self.high + self.low


def _normal(high: jax.Array, low: jax.Array) -> FloatPair:
    """The pair in which the lower float is below the precision of the upper one."""
    high, low = _two_sum(high, _unless_infinite(high, low))
    return FloatPair(high, _unless_infinite(high, low))


def sums(pairs: Sequence[FloatPair], axes: tuple[int, ...]) -> FloatPair:
    """Adds each of some pairs along `axes`; one after the other on a new first axis.

    All in one reduction: compilers make one loop of it, and meshes partition it.
    """
    found = _added(axes, tuple(jax.tree.leaves(list(pairs))))
    return _normal(jnp.stack(found[::2]), jnp.stack(found[1::2]))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _added(
    axes: tuple[int, ...], operands: tuple[jax.Array, ...]
) -> tuple[jax.Array, ...]:
    zeros = [jnp.zeros((), x.dtype) for x in operands]

    def add(x: tuple[jax.Array, ...], y: tuple[jax.Array, ...]):
        found = []
        for high, low, more, less in zip(x[::2], x[1::2], y[::2], y[1::2], strict=True):
            high, rest = _two_sum(high, more)
            found += [high, low + less + rest]
        return tuple(found)

    return lax.reduce(operands, tuple(zeros), add, axes)


@_added.defjvp
def _added_jvp(axes: tuple[int, ...], primals: Any, tangents: Any) -> Any:
    # A plain sum: gradients need no pairs.
    slopes = tuple(jnp.sum(x, axis=axes) for x in tangents[0])
    return _added(axes, *primals), slopes


def is_count(leaf: jax.Array) -> bool:
    """Whether a leaf of a state is integers, which add; other floats are the largest."""
    return jnp.issubdtype(leaf.dtype, jnp.integer)


@jax.jit
def merge_two(a: Any, b: Any) -> Any:
    """Merges two pytrees, each leaf as its kind does; see `State`."""

    def add(x: Any, y: Any) -> Any:
        if isinstance(x, FloatPair):
            return x + y
        if not is_count(x):
            return jnp.maximum(x, y)
        count = x + y  # negative where int32 is too narrow for it
        return jnp.where(count < 0, jnp.iinfo(count.dtype).max, count)

    return jax.tree.map(add, a, b, is_leaf=lambda x: isinstance(x, FloatPair))


@jax.jit
def reduce_axis(tree: Any) -> Any:
    """Merges what a pytree holds along its leading axis."""

    def total(x: FloatPair | jax.Array) -> FloatPair | jax.Array:
        if isinstance(x, FloatPair):
            return jax.tree.map(lambda x: x[0], sums([x], (0,)))
        if not is_count(x):
            return jnp.max(x, axis=0, initial=-jnp.inf)
        count, most = jnp.sum(x, axis=0, dtype=x.dtype), jnp.iinfo(x.dtype).max
        # Barely too large for int32, it is negative; else floats see that it is.
        about = jnp.sum(x.astype(jnp.float32), axis=0)
        return jnp.where((count < 0) | (about > most), most, count)

    return jax.tree.map(total, tree, is_leaf=lambda x: isinstance(x, FloatPair))


def canonical(tree: T) -> T:
    """States without 64-bit floats where JAX is set to 32 bits.

    A state may outlive the `jax.enable_x64` under which it was made.
    """
    if jax.config.jax_enable_x64:  # pyright: ignore
        return tree
    return jax.tree.map(_narrow, tree, is_leaf=lambda x: isinstance(x, FloatPair))


def _narrow(x: Any) -> Any:
    leaf = x.high if isinstance(x, FloatPair) else x
    if isinstance(leaf, Tracer) or getattr(leaf, "dtype", None) != "float64":
        return x
    with jax.enable_x64(True):
        if not isinstance(x, FloatPair):
            return jnp.asarray(x).astype(jnp.float32)
        wide = jnp.asarray(x.high)
        high = wide.astype(jnp.float32)
        # What the upper float has lost, the lower one keeps.
        low = (wide - high.astype(wide.dtype) + x.low).astype(jnp.float32)
        return FloatPair(high, jnp.where(jnp.isfinite(high), low, jnp.zeros_like(low)))
