"""Float pairs (double-double numbers), for sums of any length that do not drift."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from jax_rank_metrics._ground import arithmetic, meshes, pytrees

T = TypeVar("T")
Floats = tuple[jax.Array, ...]
TwoFloats = tuple[jax.Array, jax.Array]

# The largest number of lanes in `sums_by_group`.
_MAX_LANES = 1024


def _unless_infinite(high: jax.Array, low: jax.Array) -> jax.Array:
    # The rounding error of an infinite sum would be inf − inf, so set the lower float to 0.
    return jnp.where(jnp.isfinite(high), low, jnp.zeros_like(low))


def _halves(x: jax.Array) -> TwoFloats:
    # Split as Veltkamp and Dekker do, but by masking bits, into the upper half of the
    # significand and the remainder. A product of two halves is exact, whether or not
    # the compiler fuses it into the addition that follows.
    uint, mask = {4: (jnp.uint32, 0xFFFFF000), 8: (jnp.uint64, 0xFFFFFFFFF8000000)}[
        x.dtype.itemsize
    ]
    bits = lax.bitcast_convert_type(x, uint) & jnp.asarray(mask, uint)
    upper = lax.bitcast_convert_type(bits, x.dtype)
    return upper, x - upper


@jax.custom_jvp
def _product(a: jax.Array, b: jax.Array) -> TwoFloats:
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    middle, error = arithmetic.two_sum(a1 * b2, a2 * b1)
    high, low = arithmetic.two_sum(a1 * b1, middle)
    # An infinity cannot be split into halves.
    high = jnp.where(jnp.isfinite(a * b), high, a * b)
    return high, _unless_infinite(high, low + (error + a2 * b2))


@_product.defjvp
def _product_jvp(
    primals: TwoFloats, tangents: TwoFloats
) -> tuple[TwoFloats, TwoFloats]:
    # JAX cannot differentiate the masking of bits, so define the derivative here.
    (a, b), (da, db) = primals, tangents
    slope = a * db + da * b
    return _product(a, b), (slope, jnp.zeros_like(slope))


@pytrees.pytree()
class FloatPair:
    """`high + low`: an array of numbers in twice the precision of its dtype.

    The sum is kept unevaluated: `low` holds the digits that do not fit in `high`. This
    is known as double-double arithmetic.

    References:
        Dekker, A floating-point technique for extending the available precision, 1971.
    """

    high: jax.Array
    low: jax.Array

    @classmethod
    def of(cls, x: jax.Array) -> "FloatPair":
        """Returns a pair with the value of `x`."""
        return cls(x, jnp.zeros_like(x))

    @classmethod
    def product(cls, a: jax.Array, b: jax.Array) -> "FloatPair":
        """Multiplies two floats to the precision of a pair, unless that underflows."""
        return cls(*_product(a, b))

    def __mul__(self, x: jax.Array) -> "FloatPair":
        product = FloatPair.product(self.high, x)
        return product + _unless_infinite(product.high, self.low * x)

    def __add__(self, addend: "FloatPair | jax.Array") -> "FloatPair":
        pair = addend if isinstance(addend, FloatPair) else FloatPair.of(addend)
        high, low = arithmetic.two_sum(self.high, pair.high)
        return _normalise(high, low + (self.low + pair.low))

    def round(self) -> jax.Array:
        """Rounds to the nearest single float."""
        return self.high + self.low


def rounded(x: FloatPair | np.ndarray) -> Any:
    """Returns a sum as single floats: the upper floats of a pair; float64 unchanged.

    After an addition, the lower float of a pair is below the precision of the upper float.
    """
    return x.high if isinstance(x, FloatPair) else x


def _normalise(high: jax.Array, low: jax.Array) -> FloatPair:
    """Moves digits into `high`, so that `low` is below the precision of `high`."""
    high, low = arithmetic.two_sum(high, _unless_infinite(high, low))
    return FloatPair(high, _unless_infinite(high, low))


def sums(pairs: Sequence[FloatPair], axes: tuple[int, ...]) -> FloatPair:
    """Sums every pair over `axes`, and stacks the sums along a new first axis.

    All pairs are summed in a single reduction, so compilers make a single loop of it,
    and meshes partition it like a plain sum.
    """
    totals, _ = sums_and_counts(pairs, [], axes)
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *totals)


def sums_and_counts(
    pairs: Sequence[FloatPair], flags: Sequence[jax.Array], axes: tuple[int, ...]
) -> tuple[list[FloatPair], list[jax.Array]]:
    """Sums every pair, and counts flags as int32, over `axes` in one reduction.

    A pair or flag that is passed twice, as the same object, is summed once.
    """
    distinct = {id(pair): pair for pair in pairs}
    distinct_flags = {id(flag): flag.astype(jnp.int32) for flag in flags}
    operands = tuple(jax.tree.leaves([*distinct.values()]))
    totals, counts = _sums(axes, operands, (*distinct_flags.values(),))
    total_by_id = dict(zip(distinct, totals, strict=True))
    count_by_id = dict(zip(distinct_flags, counts, strict=True))
    return [total_by_id[id(x)] for x in pairs], [count_by_id[id(x)] for x in flags]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _sums(
    axes: tuple[int, ...], operands: Floats, flags: Floats
) -> tuple[list[FloatPair], list[jax.Array]]:
    """Sums pairs, passed as high, low, high, low, …, and counts flags."""
    size, operands = len(operands), (*operands, *flags)
    zeros = [jnp.zeros((), operand.dtype) for operand in operands]

    def add(x: Floats, y: Floats) -> Floats:
        totals = []
        for i in range(0, size, 2):
            high, error = arithmetic.two_sum(x[i], y[i])
            totals += [high, x[i + 1] + y[i + 1] + error]
        counts = zip(x[size:], y[size:], strict=True)
        return (*totals, *(a + b for a, b in counts))

    totals = lax.reduce(operands, tuple(zeros), add, axes)
    # Normalise each sum separately, so that compilers can leave out sums that nothing
    # reads.
    pairs = zip(totals[:size:2], totals[1:size:2], strict=True)
    return [_normalise(*pair) for pair in pairs], list(totals[size:])


@_sums.defjvp
def _sums_jvp(
    axes: tuple[int, ...],
    primals: tuple[Floats, Floats],
    tangents: tuple[Floats, Floats],
) -> tuple[Any, Any]:
    # Use plain sums, because gradients do not need the precision of pairs.
    pairs = zip(tangents[0][::2], tangents[0][1::2], strict=True)
    slopes = [FloatPair.of(jnp.sum(high + low, axis=axes)) for high, low in pairs]
    totals, counts = _sums(axes, *primals)
    no_slopes = [np.zeros(count.shape, jax.dtypes.float0) for count in counts]
    return (totals, counts), (slopes, no_slopes)


def sums_by_group(
    terms: Sequence[FloatPair],
    flags: Sequence[jax.Array],
    groups: jax.Array,
    num_groups: int,
) -> tuple[FloatPair, jax.Array]:
    """Sums pairs, and counts flags, over the lists of each group.

    XLA has no scatter that adds pairs. A scatter that sets values would lose a list if
    two lists of the same group came at once. So lists are distributed over lanes, and
    each lane has a sum for every group. A scan then takes one list per lane in each
    step, so that no two lists of a step are added to the same sum. The sums of the
    lanes are added at the end. Five lists of the groups 0, 1, 1, 1, 0 in two lanes take
    three steps:

        step    lane 0    lane 1
        0       group 0   group 1
        1       group 1   group 1     (a sum in each lane)
        2       group 0   padding

    Time is linear in the number of lists. Memory is linear, too, unless there are more
    groups than lists.

    Args:
        terms: The pairs to sum, each `[*lists, columns]`.
        flags: Bools to count, each `[*lists]`.
        groups: `[*lists]` integers or bools, the group of each list. A list with a
            number outside 0 … num_groups − 1 belongs to no group.
        num_groups: Number of groups.

    Returns:
        Sums `[num_groups, len(terms), columns]` and counts `[num_groups, len(flags)]`
        int32.
    """
    num_lists = groups.size
    lanes = min(max(num_lists // num_groups, 8), _MAX_LANES)
    steps = -(-num_lists // lanes)
    if groups.dtype.itemsize < 4:
        groups = groups.astype(jnp.int32)
    groups = jnp.where((groups >= 0) & (groups < num_groups), groups, num_groups)
    groups = groups.astype(jnp.int32).reshape(-1)
    counts = jnp.zeros((num_groups, len(flags)), jnp.int32)
    counts = meshes.match_varying(counts, (groups, flags))
    stacked_flags = jnp.stack([flag.reshape(-1) for flag in flags], -1).astype(
        jnp.int32
    )
    counts = counts.at[groups].add(stacked_flags, mode="drop")

    def deal(x: jax.Array, fill: int) -> jax.Array:
        """Arranges `[lists, …]` as `[steps, lanes, …]`, padded with `fill`."""
        padding = jnp.full((lanes * steps - num_lists, *x.shape[1:]), fill, x.dtype)
        return jnp.concatenate([x, padding]).reshape(steps, lanes, *x.shape[1:])

    columns = terms[0].high.shape[-1]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves, -2), *terms)
    stacked = jax.tree.map(
        lambda leaf: leaf.reshape(num_lists, len(terms), columns), stacked
    )
    stacked = jax.tree.map(lambda leaf: deal(leaf, 0), stacked)
    # [lanes, num_groups + 1, terms, columns]; the last group is for lists without a
    # group.
    zeros = jnp.zeros((lanes, num_groups + 1, len(terms), columns), terms[0].high.dtype)
    start = meshes.match_varying(FloatPair.of(zeros), (groups, terms))

    def add(
        totals: FloatPair, step: tuple[jax.Array, FloatPair]
    ) -> tuple[FloatPair, None]:
        group, values = step  # [lanes] and [lanes, terms, columns]
        slot = (jnp.arange(lanes), group)
        updated = jax.tree.map(lambda leaf: leaf[slot], totals) + values
        put = lambda leaf, new: leaf.at[slot].set(new, unique_indices=True)  # noqa: E731
        return jax.tree.map(put, totals, updated), None

    totals, _ = lax.scan(add, start, (deal(groups, num_groups), stacked))
    over_lanes = sums([totals], (0,))
    return jax.tree.map(lambda leaf: leaf[0, :num_groups], over_lanes), counts


def is_pair(tree: object) -> bool:
    """True if a node of a pytree is a pair, for `jax.tree.map(…, is_leaf=…)`."""
    return isinstance(tree, FloatPair)


def is_count(leaf: jax.Array) -> bool:
    """True if a leaf of a state, or of a `FloatPair`, is a count; False for floats."""
    return jnp.issubdtype(leaf.dtype, jnp.integer)


@jax.jit
def merge_two(a: T, b: T) -> T:
    """Merges two states, or pytrees of states, leaf by leaf as `State` describes."""

    def merged(x: jax.Array, y: jax.Array) -> jax.Array:
        if not is_count(x):
            return jnp.maximum(x, y)
        count = x + y  # wraps to below 0 if int32 overflows
        return jnp.where(count < 0, jnp.iinfo(count.dtype).max, count)

    return jax.tree.map(
        lambda x, y: x + y if is_pair(x) else merged(x, y), a, b, is_leaf=is_pair
    )


@jax.jit
def reduce_axis(tree: T) -> T:
    """Merges states that are stacked along the leading axis of every leaf."""

    def total(x: FloatPair | jax.Array) -> FloatPair | jax.Array:
        if isinstance(x, FloatPair):
            return jax.tree.map(lambda leaf: leaf[0], sums([x], (0,)))
        if not is_count(x):
            return jnp.max(x, axis=0, initial=-jnp.inf)
        count, largest = jnp.sum(x, axis=0, dtype=x.dtype), jnp.iinfo(x.dtype).max
        # A sum barely above 2³¹ − 1 wraps to a negative number. A much larger sum may
        # wrap to any number, but then the sum in floats is also above 2³¹ − 1.
        approximate = jnp.sum(x.astype(jnp.float32), axis=0)
        return jnp.where((count < 0) | (approximate > largest), largest, count)

    return jax.tree.map(total, tree, is_leaf=is_pair)


def canonical(tree: T) -> T:
    """Converts narrow floats to 32 bits, and 64-bit floats if JAX is set to 32 bits.

    This is needed because a state may outlive the `jax.enable_x64` under which it was
    made, and because a caller may cast it to floats that are too narrow to compute
    with.
    """
    return jax.tree.map(_canonical, tree, is_leaf=is_pair)


def _canonical(node: object) -> object:
    leaf = node.high if isinstance(node, FloatPair) else node
    dtype = getattr(leaf, "dtype", np.dtype(bool))
    if jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize < 4:
        return jax.tree.map(lambda part: part.astype(jnp.float32), node)
    is_wide = dtype == "float64" and not jax.config.jax_enable_x64  # pyright: ignore
    if not is_wide or isinstance(leaf, Tracer):
        return node
    # Values of lists that do not count may be NaN, so debug_nans must not raise here.
    with jax.enable_x64(True), jax.debug_nans(False):
        if not isinstance(node, FloatPair):
            return jnp.asarray(node).astype(jnp.float32)
        wide = jnp.asarray(node.high)
        high = wide.astype(jnp.float32)
        # The lower float keeps the digits that the upper float loses by rounding.
        low = (wide - high.astype(wide.dtype) + node.low).astype(jnp.float32)
        return FloatPair(high, jnp.where(jnp.isfinite(high), low, jnp.zeros_like(low)))
