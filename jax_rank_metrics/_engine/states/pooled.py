"""The states of all items as one list: counts of positives and negatives per score bin.

Counts and sums of weights per bin lose no precision over many calls.
"""

import abc
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.places import place
from jax_rank_metrics._ground import arithmetic, inputs, meshes, pytrees
from jax_rank_metrics._values.double_floats import FloatPair, canonical, sums
from jax_rank_metrics._values.state import State

# Items are summed in floats this many at a time, because the sum of 2^16 numbers of 8 bits
# is exact in float32.
CHUNK = 2**16

# Weights are clipped to this range, so that neither they nor their sums leave float32.
_SMALLEST, _LARGEST = 2.0**-64, 2.0**64

_PIECES = 4  # of 8 bits each; the rest of a weight is below 2⁻³¹ of the largest one


def counts_by_bin(bins: jax.Array, num_bins: int) -> FloatPair:
    """Counts the items in each bin, `[num_bins]`, exactly for up to 2³¹ − 1 items.

    Args:
        bins: `[items]` int32; items of a bin outside 0 … num_bins − 1 do not count.
        num_bins: A power of two.
    """

    def by_scatter(bins: jax.Array) -> jax.Array:
        counts = meshes.match_varying(jnp.zeros(num_bins, jnp.int32), bins)
        return counts.at[bins].add(1, mode="drop")

    def by_products(bins: jax.Array) -> jax.Array:
        def add(counts: jax.Array, chunk: jax.Array) -> tuple[jax.Array, None]:
            ones = jnp.ones((*chunk.shape, 1), jnp.float32)
            sums = _product_sums(chunk, ones, num_bins)[:, 0]
            return counts + sums.astype(jnp.int32), None

        counts = meshes.match_varying(jnp.zeros(num_bins, jnp.int32), bins)
        return lax.scan(add, counts, _chunks(bins, num_bins))[0]

    counts = lax.platform_dependent(bins, tpu=by_products, default=by_scatter)
    # Split counts in two halves, because float32 has no room for 31 bits.
    dtype = jax.dtypes.canonicalize_dtype(float)
    upper, lower = ((counts >> 16) << 16).astype(dtype), counts & 0xFFFF
    return FloatPair.of(upper) + FloatPair.of(lower.astype(dtype))


def weights_by_bin(
    bins: jax.Array, weights: jax.Array, is_second: jax.Array, num_bins: int
) -> FloatPair:
    """Sums the weights of the items in each bin, `[num_bins]`.

    A sum of 65,536 floats may lose 16 of its 24 bits. So each weight is split into pieces
    of 8 bits, whose sums are exact, and a small rest. In each of the two classes of items,
    the errors of all bins together are below 2⁻²² of the sum of all weights.

    Args:
        bins: `[items]` int32; items of a bin outside 0 … num_bins − 1 do not count.
        weights: `[items]` floats, above 0 for items that count.
        is_second: `[items]` bool, the class of each item; no bin has items of both classes.
        num_bins: A power of two.
    """

    def add(
        sums: FloatPair, chunk: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[FloatPair, None]:
        bins, weights, is_second = chunk
        columns = _pieces(weights, is_second)

        def by_products(bins: jax.Array, columns: jax.Array) -> jax.Array:
            return _product_sums(bins, columns, num_bins).astype(columns.dtype)

        def by_scatter(bins: jax.Array, columns: jax.Array) -> jax.Array:
            sums = jnp.zeros((num_bins, columns.shape[-1]), columns.dtype)
            sums = meshes.match_varying(sums, columns)
            return sums.at[bins].add(columns, mode="drop")

        parts = lax.platform_dependent(
            bins, columns, tpu=by_products, default=by_scatter
        )
        for part in jnp.unstack(parts, axis=-1):
            sums = sums + FloatPair.of(part)
        return sums, None

    weights = jnp.clip(weights, _SMALLEST, _LARGEST)
    weights = jnp.where((bins >= 0) & (bins < num_bins), weights, 0)
    zeros = FloatPair.of(jnp.zeros(num_bins, weights.dtype))
    zeros = meshes.match_varying(zeros, (bins, weights, is_second))
    chunks = _chunks(bins, num_bins), _chunks(weights, 0), _chunks(is_second, False)
    return lax.scan(add, zeros, chunks)[0]


def _chunks(x: jax.Array, padding: int | bool) -> jax.Array:
    """Splits `[items]` into `[chunks, items of a chunk]`, and pads the last chunk."""
    size = min(x.size, CHUNK) or 1
    num_chunks = -(-x.size // size) or 1
    added = num_chunks * size - x.size
    x = lax.pad(x, jnp.asarray(padding, x.dtype), [(0, added, 0)])
    return x.reshape(num_chunks, size)


def _pieces(weights: jax.Array, is_second: jax.Array) -> jax.Array:
    """Returns floats that add up to the weights, `[items, pieces]`.

    Each piece but the last is 0 … 255 times a unit that all items of a class share: the
    first pieces of the weights 1 and 0.7 are 128 and 89 units of 1/128.
    """
    largest = [
        jnp.max(jnp.where(in_class, weights, 0)) for in_class in (~is_second, is_second)
    ]
    largest = jnp.where(is_second, largest[1], largest[0])
    unit = arithmetic.power_of_two_below(jnp.maximum(largest, _SMALLEST)) / 128
    pieces, remainder = [], weights
    for _ in range(_PIECES):
        pieces.append(jnp.floor(remainder / unit) * unit)
        remainder, unit = remainder - pieces[-1], unit / 256
    return jnp.stack([*pieces, remainder], axis=-1)


def _product_sums(bins: jax.Array, columns: jax.Array, num_bins: int) -> jax.Array:
    """Sums columns of numbers of 8 bits by bin, `[num_bins, columns]` float32.

    TPUs scatter one number after the other, but are fast at products of matrices. A bin is
    therefore split into a row and a column of a square, so that its items are counted by
    the product of two matrices, in which each item has a single 1: with four bins 0 … 3, an
    item in bin 2 has the row [0, 1] and the column [1, 0].
    """
    side = 1 << (num_bins.bit_length() // 2)
    rows = (bins // side)[:, None] == jnp.arange(num_bins // side, dtype=bins.dtype)[
        None
    ]
    is_column = (bins % side)[:, None] == jnp.arange(side, dtype=bins.dtype)[None]

    def product(x: jax.Array) -> jax.Array:
        values = jnp.where(is_column, x[:, None], 0).astype(jnp.bfloat16)
        over_items = (((0,), (0,)), ((), ()))
        # bfloat16 holds numbers of 8 bits, and float32 their sums.
        return lax.dot_general(
            rows.astype(jnp.bfloat16),
            values,
            over_items,
            preferred_element_type=jnp.float32,
        )

    # Form one product per column, so that compilers never store a matrix of all columns.
    products = map(product, jnp.unstack(columns, axis=-1))
    return jnp.stack([column.reshape(-1) for column in products], axis=-1)


P = TypeVar("P", bound="Pooled")

MIN_BITS, MAX_BITS = 8, 20

# Rounding changes a number by at most this much: each count is rounded to a float, as are
# shares and products of shares, and `weights_by_bin` sums within 2⁻²². For average
# precision, sums of reciprocals are rounded too.
_ROUNDING_OF_AUC, _ROUNDING_OF_PRECISION = 2.0**-19, 2.0**-18


class NumberBounds(NamedTuple):
    """A number from bins, and an interval that contains the number of the exact scores."""

    value: jax.Array
    low: jax.Array
    high: jax.Array
    defined: jax.Array


@pytrees.pytree()
class Pooled(State):
    """Counts of positive and negative items by the leading bits of their scores.

    Each subclass documents its sums, and computes its own number from them.
    """

    sums: FloatPair
    _must_share = "the same bits"
    _text = "{}, {} to {}"

    @property
    def _tally(self) -> jax.Array:
        return _tally(canonical(self))

    @property
    def _stacked(self) -> tuple[int, ...]:
        return jnp.shape(self.sums.high)[:-2]

    def _shown(self) -> tuple[jax.Array, ...]:
        return self.compute(), *self.bounds()

    @classmethod
    def empty(cls: type[P], bits: int = 16) -> P:
        """Returns the state of no items, the identity of merge.

        Raises:
            TypeError: if `bits` is not a Python int.
            ValueError: if it is not from 8 to 20.
        """
        zeros = jnp.zeros((2, 2 ** checked_bits(bits)), float)
        return cls(FloatPair.of(zeros))

    @property
    def positives(self) -> jax.Array:
        """The number of positive items, or the sum of their weights, `[]`."""
        return _totals(canonical(self).sums).round()[..., 0]

    @property
    def negatives(self) -> jax.Array:
        """The number of negative items, or the sum of their weights, `[]`."""
        return _totals(canonical(self).sums).round()[..., 1]

    @abc.abstractmethod
    def _bounded(self, totals: jax.Array) -> NumberBounds:
        """Computes the number and its bounds, from the sums of both classes, `[2]`."""

    def compute(self) -> jax.Array:
        """The number, `[]`, with the items of a bin as ties; 0 if it is undefined."""
        return _numbers(canonical(self)).value

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """Returns an interval, `[]` each, that contains the number of the exact scores.

        It allows for every order within bins and for the rounding of all sums, so it always
        contains the number, for weights clipped as they are counted. More bits make the
        interval narrower. It is 0 to 0 if the number is undefined.
        """
        numbers = _numbers(canonical(self))
        return numbers.low, numbers.high


@pytrees.pytree()
class PooledRocAuc(Pooled):
    """The area under the ROC curve of all items at once, in a state of fixed size.

    The function `pooled_roc_auc` makes it. All items of all lists are one list. Its value
    is undefined, and 0, if all items are positive or all are negative. A state has
    2^(bits + 2) floats, however many items it has seen, and merges, reduces and
    all_reduces as `Mean` does; merge only states of the same bits.

    Sums are pairs of floats, so that ten billion items are counted without loss. Without
    weights, a state is the same however the items were split into batches and over devices.

    Shapes:
        sums: `[2, 2**bits]` floats, as a pair of arrays: the sums of the weights of
            positive items, and of negative items, by bin, highest scores first; all are
            NaN if the score of an item was NaN.

    >>> from jax_rank_metrics import pooled_roc_auc
    >>> state = pooled_roc_auc(jnp.array([1, 0, 1, 0]), jnp.array([0.9, 0.8, 0.3, 0.1]))
    >>> state.merge(state)
    PooledRocAuc(0.750, 0.750 to 0.750, 1 list, 0 undefined)
    """

    def _bounded(self, totals: jax.Array) -> NumberBounds:
        shares = arithmetic.ratio(self.sums.round(), totals[..., None])
        above = arithmetic.ratio(_sums_above(self.sums).round(), totals[..., None])
        positive, negative = jnp.unstack(shares, axis=-2)
        # Pairs with the positive item in an earlier bin are in order. Pairs within a bin
        # are ties; by the exact scores, any number of them may be in order.
        in_order = _sum(negative * above[..., 0, :])
        tied = _sum(negative * positive)
        return NumberBounds(
            value=jnp.minimum(in_order + tied / 2, 1),
            low=in_order - _ROUNDING_OF_AUC,
            high=in_order + tied + _ROUNDING_OF_AUC,
            defined=jnp.all(totals > 0, axis=-1),
        )


@pytrees.pytree()
class PooledAveragePrecision(Pooled):
    """Average precision of all items at once, in a state of fixed size.

    The function `pooled_average_precision` makes it. It is undefined, and 0, if no item is
    positive. In all other respects the state behaves as `PooledRocAuc`.

    Shapes:
        sums: `[2, 2**bits]` floats, as a pair of arrays: the numbers of positive items,
            and of negative items, by bin, highest scores first; all are NaN if the score
            of an item was NaN.

    >>> from jax_rank_metrics import pooled_average_precision
    >>> state = pooled_average_precision(jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7]))
    >>> f"{state:.3f}"  # (1/1 + 2/3) / 2
    '0.833'
    """

    def _bounded(self, totals: jax.Array) -> NumberBounds:
        hits, misses = jnp.unstack(self.sums.round(), axis=-2)
        hits_above, misses_above = jnp.unstack(_sums_above(self.sums).round(), axis=-2)
        items, items_above = hits + misses, hits_above + misses_above
        shares = arithmetic.ratio(hits, totals[..., :1])

        def mean(above: jax.Array, tied: jax.Array, share: jax.Array) -> jax.Array:
            return _sum(shares * _mean_precision(hits_above, above, tied, share))

        # For each hit, the share of hits among the other items of its bin.
        share = arithmetic.ratio(hits - 1, items - 1)
        all_hits = jnp.ones_like(share)
        return NumberBounds(
            value=jnp.minimum(mean(items_above, items, share), 1),
            # In the worst case, the hits of each bin are its last items; in the best case,
            # its first.
            low=mean(items_above + misses, hits, all_hits) - _ROUNDING_OF_PRECISION,
            high=mean(items_above, hits, all_hits) + _ROUNDING_OF_PRECISION,
            defined=totals[..., 0] > 0,
        )


def checked_bits(bits: object) -> int:
    """Returns the number of leading bits of a bin; raises if it is not from 8 to 20."""
    number = inputs.positive_integer("bits", bits)
    if not MIN_BITS <= number <= MAX_BITS:
        raise ValueError(f"bits is {number}; pass {MIN_BITS} to {MAX_BITS}")
    return number


def _mean_precision(
    hits_above: jax.Array, above: jax.Array, tied: jax.Array, share: jax.Array
) -> jax.Array:
    """Returns the mean precision at the rank of a hit that ties with others.

    The hit has each of the ranks above + 1 … above + tied with equal chance, as in
    `precision_at`. With the `share` of hits among the other items of the group, its
    precision at rank r is (hits_above + 1 − share·(above + 1)) / r + share. The mean is
    written as a value between two shares, because differences of large counts lose digits.
    """
    # Σ 1/r over the group: the first eight terms, less the eight terms after the group,
    # plus the sum of as many terms as the group has, eight ranks further down.
    starts = [above + step for step in range(1, 9)]
    near = sum(tied / (start * (start + tied)) for start in starts)
    reciprocals = near + place.sum_of_far_reciprocals(above + 8.5, tied)
    weight = arithmetic.ratio((above + 1) * reciprocals, tied)
    share_above = (hits_above + 1) / (above + 1)
    return share + (share_above - share) * jnp.minimum(weight, 1)


def _sum(x: jax.Array) -> jax.Array:
    """Sums floats over the bins without drift."""
    return sums([FloatPair.of(x)], (x.ndim - 1,)).round()[0]


@jax.jit
def _totals(pair: FloatPair) -> FloatPair:
    """Sums both classes over the bins, `[2]`."""
    total = sums([pair], (pair.high.ndim - 1,))
    return jax.tree.map(lambda leaf: leaf[0], total)


def _sums_above(pair: FloatPair) -> FloatPair:
    """Sums both classes over the bins before each bin, `[2, bins]`."""
    axis = pair.high.ndim - 1

    def double(step: jax.Array, total: FloatPair) -> FloatPair:
        # Before this step, each sum covers 2^step bins.
        by = jnp.left_shift(1, step)
        return total + jax.tree.map(
            lambda leaf: arithmetic.delayed(leaf, by, axis), total
        )

    before = jax.tree.map(lambda leaf: arithmetic.shifted(leaf, 1), pair)
    return lax.fori_loop(0, (pair.high.shape[-1] - 1).bit_length(), double, before)


@jax.jit
def _numbers(state: Pooled) -> NumberBounds:
    totals = _totals(state.sums).round()
    value, low, high, defined = state._bounded(totals)

    def clipped(x: jax.Array) -> jax.Array:
        x = jnp.where(defined, jnp.clip(x, 0, 1), 0)
        return jnp.where(is_unknown, jnp.nan, x)

    is_unknown = jnp.any(jnp.isnan(totals), axis=-1)
    defined = defined | is_unknown
    return NumberBounds(clipped(value), clipped(low), clipped(high), defined)


@jax.jit
def _tally(state: Pooled) -> jax.Array:
    """Returns the numbers of lists and of undefined lists, `[2]` int32.

    All items are one list, so both are 0 or 1; without items, both are 0.
    """
    has_items = jnp.any(state.sums.high != 0, axis=(-2, -1))  # true for NaN, too
    is_undefined = has_items & ~_numbers(state).defined
    return jnp.stack([has_items, is_undefined], axis=-1).astype(jnp.int32)
