"""Sums that do not drift: float pairs for means, integer digits for tie groups.

A *pair* is an unevaluated sum `high + low` of two floats, about twice as precise as one
of them. Everything here must survive a compiler that fuses a product into the addition
that follows it, so every product is formed from halves whose product is exact: rounding
it or not is then the same.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _devices
from jax_rank_metrics._types import pytree


def _two_sum(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    # Knuth's two-sum: high + low is exactly a + b, and the order of a and b is no matter.
    high = a + b
    b_seen = high - a
    return high, (a - (high - b_seen)) + (b - b_seen)


def _unless_infinite(high: jax.Array, low: jax.Array) -> jax.Array:
    # An infinite sum leaves nothing over.
    return jnp.where(jnp.isfinite(high), low, jnp.zeros_like(low))


def _halves(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    # The upper half of the significand by masking its bits, and what that leaves.
    uint, mask = {4: (jnp.uint32, 0xFFFFF000), 8: (jnp.uint64, 0xFFFFFFFFF8000000)}[
        x.dtype.itemsize
    ]
    bits = lax.bitcast_convert_type(x, uint) & jnp.asarray(mask, uint)
    upper = lax.bitcast_convert_type(bits, x.dtype)
    return upper, x - upper


def _rounded(a: jax.Array, b: jax.Array) -> jax.Array:
    # a·b to about a float's precision, and the same whether products are fused or not.
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return a1 * b1 + (a1 * b2 + a2 * b1)


@pytree()
class Pair:
    """`high + low`: a number of any shape in twice the precision of its dtype."""

    high: jax.Array
    low: jax.Array

    @classmethod
    def of(cls, x: jax.Array) -> "Pair":
        """A pair with the value of `x`."""
        return cls(x, jnp.zeros_like(x))

    @classmethod
    def product(cls, a: jax.Array, b: jax.Array) -> "Pair":
        """`a·b` to the last bit of a pair (underflow apart)."""
        plain = a * b
        finite = jnp.isfinite(plain)
        (a1, a2), (b1, b2) = (_halves(jnp.where(finite, x, 0)) for x in (a, b))
        high, e1 = _two_sum(a1 * b1, a1 * b2)
        high, e2 = _two_sum(high, a2 * b1)
        high, e3 = _two_sum(high, a2 * b2)
        high, low = _two_sum(high, e1 + e2 + e3)
        return cls(jnp.where(finite, high, plain), low)

    def __add__(self, other: "Pair") -> "Pair":
        high, low = _two_sum(self.high, other.high)
        low = _unless_infinite(high, low + (self.low + other.low))
        high, low = _two_sum(high, low)
        return Pair(high, _unless_infinite(high, low))

    def __neg__(self) -> "Pair":
        return Pair(-self.high, -self.low)

    def __mul__(self, other: "Pair") -> "Pair":
        main = Pair.product(self.high, other.high)
        cross = _rounded(self.high, other.low) + _rounded(self.low, other.high)
        return main + Pair.of(jnp.where(jnp.isfinite(main.high), cross, 0))

    def times(self, x: jax.Array) -> "Pair":
        """`self·x` for a single float."""
        main = Pair.product(self.high, x)
        cross = jnp.where(jnp.isfinite(main.high), _rounded(self.low, x), 0)
        return main + Pair.of(cross)

    def over(self, other: "Pair") -> "Pair":
        """`self / other`, 0 where `other` is 0."""
        some = other.high != 0
        by = jnp.where(some, other.high, jnp.ones_like(other.high))
        first = self.high / by
        left = self + -(other.times(first))
        second = jnp.where(jnp.isfinite(first), left.high / by, jnp.zeros_like(first))
        ratio = Pair.of(first) + Pair.of(second)
        return jax.tree.map(lambda x: jnp.where(some, x, jnp.zeros_like(x)), ratio)

    def round(self) -> jax.Array:
        """The nearest single float."""
        return self.high + self.low

    def sum(self, axes: tuple[int, ...]) -> "Pair":
        """Adds along `axes`, in one reduction, which meshes partition."""
        if not axes:
            return self
        zero = jnp.zeros((), self.high.dtype)

        def add(x: tuple[jax.Array, ...], y: tuple[jax.Array, ...]):
            total = Pair(*x) + Pair(*y)
            return total.high, total.low

        return Pair(*lax.reduce((self.high, self.low), (zero, zero), add, axes))


class Digits(NamedTuple):
    """How non-negative floats become integers whose sums are exact in any order.

    A value below 2^(exponent+1) is written as `number` digits of `bits` bits after the
    point. Digits are added as integers, so the sum over a tie group is the same number
    wherever its items lie: before a cutoff, across it, or on another device. Their
    number keeps the float's own precision whatever the values, and the bits leave room
    for as many additions as there are items.
    """

    number: int
    bits: int

    @classmethod
    def for_items(cls, items: int, dtype: jnp.dtype) -> "Digits":
        """The digits that let `items` values of a float dtype be added."""
        info = jnp.finfo(dtype)
        carry = max(items - 1, 1).bit_length()
        bits = info.bits - 1 - carry
        return cls(math.ceil((info.nmant + 1 + carry) / bits), bits)

    def split(self, x: jax.Array, exponent: jax.Array) -> list[jax.Array]:
        """Digits of `x`, each an integer array, the most significant first."""
        step = 2.0**self.bits
        rest = scale(x, -(exponent + 1))
        digits = []
        for _ in range(self.number):
            rest = rest * step
            whole = jnp.floor(rest)
            rest = rest - whole
            digits.append(whole.astype(integer_like(x.dtype)))
        return digits

    def join(self, sums: list[jax.Array], count: jax.Array, exponent: jax.Array):
        """The mean of `count` values from the sums of their digits; inf if one is."""
        dtype = count.dtype
        total = jnp.zeros_like(count)
        for place, digit in reversed(list(enumerate(sums, 1))):
            total = total + digit.astype(dtype) * (2.0 ** (-place * self.bits))
        finite = exponent < jnp.finfo(dtype).maxexp
        mean = scale(total / count, exponent + 1)
        return jnp.where(finite, mean, jnp.asarray(jnp.inf, dtype))


def ratio(x: jax.Array, y: jax.Array) -> jax.Array:
    """`x / y`, and 0 where `y` is not above 0; `y` broadcasts to `x`.

    The divisor is guarded before it divides: of a `where` around a quotient, autodiff
    and debuggers would see the NaN of the branch not taken. The barrier keeps compilers
    from turning a division into something else for some shapes and not for others, so
    that one cutoff among several has the bits it has alone.
    """
    some = y > 0
    y = jnp.broadcast_to(jnp.where(some, y, jnp.ones_like(y)), x.shape)
    x, y = lax.optimization_barrier((x, y))
    return jnp.where(some, x / y, jnp.zeros_like(x))


def total(x: jax.Array) -> jax.Array:
    """The sum along the last axis, so precise that the order of the terms is no matter.

    Compilers add floats in an order of their choice, which changes with whatever else
    is compiled. The sum of a pair is right to the last bit of a float or nearly so, and
    a metric has the same bits alone as beside others.
    """
    return pair_total(x).round()


def pair_total(x: jax.Array) -> Pair:
    """`total` before it is rounded, to be added to others."""
    # The maximum changes nothing, but no compiler can fuse a product through it into
    # the sum, which would leave the product unrounded.
    x = jnp.maximum(x, jnp.finfo(x.dtype).min)
    if x.shape[-1] < _SEVERAL or not _devices.has_whole(x):
        return _plain_total(x)
    return lax.platform_dependent(x, cpu=_total_side_by_side, default=_plain_total)


# From this many terms on, a sum is taken side by side on CPU, where a reduction of pairs
# goes one by one: of all lists at once, and of long ones first of parts this long.
_SEVERAL = 32
_PART = 1_024


def _plain_total(x: jax.Array) -> Pair:
    return Pair.of(x).sum((x.ndim - 1,))


def _total_side_by_side(x: jax.Array) -> Pair:
    """The total of the last axis, one place of every list after the other."""
    terms = Pair.of(x) if x.shape[-1] <= _PART else _total_of_parts(x)
    terms = jax.tree.map(lambda y: jnp.moveaxis(y, -1, 0), terms)

    def at(place: jax.Array | int) -> Pair:
        return jax.tree.map(
            lambda y: lax.dynamic_index_in_dim(y, place, 0, False), terms
        )

    def add(place: jax.Array, total: Pair) -> Pair:
        return total + at(place)

    return lax.fori_loop(1, terms.high.shape[0], add, at(0))


def _total_of_parts(x: jax.Array) -> Pair:
    """Totals of the terms at the same place of every part, `[…, places]`."""
    # What is left over comes first, and the parts are read where they are.
    along = x.ndim - 1
    parts = -(-x.shape[along] // _PART)
    size, rest = divmod(x.shape[along], parts)
    first = lax.slice_in_dim(x, x.shape[along] - rest, None, axis=along)
    zero = jnp.zeros((), x.dtype)
    first = lax.pad(first, zero, [*[(0, 0, 0)] * along, (0, size - rest, 0)])

    def add(number: jax.Array, total: Pair) -> Pair:
        part = lax.dynamic_slice_in_dim(x, number * size, size, axis=along)
        return total + Pair.of(part)

    return lax.fori_loop(0, parts, add, Pair.of(first))


def integer_like(dtype: jnp.dtype) -> jnp.dtype:
    """The signed integer as wide as a float."""
    return jnp.dtype({4: jnp.int32, 8: jnp.int64}[jnp.dtype(dtype).itemsize])


def exponent(x: jax.Array) -> jax.Array:
    """⌊log2 x⌋ of positive normal floats; less than that of any other for zero."""
    info = jnp.finfo(x.dtype)
    bits = lax.bitcast_convert_type(x, integer_like(x.dtype))
    return (bits >> info.nmant) + (info.minexp - 1)


def scale(x: jax.Array, n: jax.Array) -> jax.Array:
    """`x·2^n` without rounding; in two steps, since 2^n alone may be beyond the dtype."""
    info = jnp.finfo(x.dtype)
    for step in (n >> 1, n - (n >> 1)):
        bits = (step - (info.minexp - 1)) << info.nmant
        x = x * lax.bitcast_convert_type(bits.astype(integer_like(x.dtype)), x.dtype)
    return x
