"""Counts of items by bin, and sums of their weights, which lose nothing over many calls."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._states.double_floats import FloatPair

# How many items are summed in floats at a time: so many numbers of 8 bits have an exact
# sum in float32.
CHUNK = 2**16

# What weights are brought between, so that neither they nor their sums leave float32.
_SMALLEST, _LARGEST = 2.0**-64, 2.0**64

_PIECES = 4  # of 8 bits each; what is left of a weight is below 2⁻³¹ of the largest one


def counts_by_bin(bins: jax.Array, num_bins: int) -> FloatPair:
    """Counts the items in each bin, `[num_bins]`, exactly for up to 2³¹ − 1 items.

    Args:
        bins: `[items]` int32; items of a bin outside 0 … num_bins − 1 do not count.
        num_bins: A power of two.
    """

    def by_scatter(bins: jax.Array) -> jax.Array:
        counts = _mesh.match_varying(jnp.zeros(num_bins, jnp.int32), bins)
        return counts.at[bins].add(1, mode="drop")

    def by_products(bins: jax.Array) -> jax.Array:
        def add(counts: jax.Array, chunk: jax.Array) -> tuple[jax.Array, None]:
            ones = jnp.ones((*chunk.shape, 1), jnp.float32)
            sums = _product_sums(chunk, ones, num_bins)[:, 0]
            return counts + sums.astype(jnp.int32), None

        counts = _mesh.match_varying(jnp.zeros(num_bins, jnp.int32), bins)
        return lax.scan(add, counts, _chunks(bins, num_bins))[0]

    counts = lax.platform_dependent(bins, tpu=by_products, default=by_scatter)
    # Two halves that float32 holds, since it has no room for 31 bits.
    dtype = jax.dtypes.canonicalize_dtype(float)
    upper, lower = ((counts >> 16) << 16).astype(dtype), counts & 0xFFFF
    return FloatPair.of(upper) + FloatPair.of(lower.astype(dtype))


def weights_by_bin(
    bins: jax.Array, weights: jax.Array, is_second: jax.Array, num_bins: int
) -> FloatPair:
    """Sums the weights of the items in each bin, `[num_bins]`.

    A sum of 65,536 floats may lose 16 of its 24 bits. So weights are cut into pieces of 8
    bits, whose sums are exact, and what is left of a weight, which is small. Of each of
    two classes of items, the errors of all bins together are below 2⁻²² of the sum of all
    weights.

    Args:
        bins: `[items]` int32; items of a bin outside 0 … num_bins − 1 do not count.
        weights: `[items]` floats, above 0 where items count.
        is_second: `[items]` bool, the class of each item; no bin has items of both.
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
            sums = _mesh.match_varying(sums, columns)
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
    zeros = _mesh.match_varying(zeros, (bins, weights, is_second))
    chunks = _chunks(bins, num_bins), _chunks(weights, 0), _chunks(is_second, False)
    return lax.scan(add, zeros, chunks)[0]


def _chunks(x: jax.Array, padding: int | bool) -> jax.Array:
    """Cuts `[items]` into `[chunks, items of a chunk]`, of which the last is padded."""
    size = min(x.size, CHUNK) or 1
    num_chunks = -(-x.size // size) or 1
    added = num_chunks * size - x.size
    x = lax.pad(x, jnp.asarray(padding, x.dtype), [(0, added, 0)])
    return x.reshape(num_chunks, size)


def _pieces(weights: jax.Array, is_second: jax.Array) -> jax.Array:
    """Returns floats that add up to the weights, `[items, pieces]`.

    All but the last are multiples of one number by 0 … 255, within each class: of the
    weights 1 and 0.7, in units of 1/128, the first are 128 and 89.
    """
    largest = [
        jnp.max(jnp.where(of_class, weights, 0)) for of_class in (~is_second, is_second)
    ]
    largest = jnp.where(is_second, largest[1], largest[0])
    # The power of two at or below it: its bits without those of the significand.
    info, integer = jnp.finfo(weights.dtype), _arithmetic.integer_like(weights.dtype)
    exponent = (info.maxexp * 2 - 1) << info.nmant
    bits = lax.bitcast_convert_type(jnp.maximum(largest, _SMALLEST), integer)
    unit = lax.bitcast_convert_type(bits & exponent, weights.dtype) / 128
    pieces, remainder = [], weights
    for _ in range(_PIECES):
        pieces.append(jnp.floor(remainder / unit) * unit)
        remainder, unit = remainder - pieces[-1], unit / 256
    return jnp.stack([*pieces, remainder], axis=-1)


def _product_sums(bins: jax.Array, columns: jax.Array, num_bins: int) -> jax.Array:
    """Sums columns of numbers of 8 bits by bin, `[num_bins, columns]` float32.

    TPUs scatter one number after the other, and multiply matrices. A bin is split into a
    row and a column of a square, so that its items are counted by the product of two
    matrices, in which each item has a single 1: of the four bins 0 … 3, an item in bin 2
    has the row [0, 1] and the column [1, 0].
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

    # One product for each, since compilers then never store the wide matrix of all.
    products = map(product, jnp.unstack(columns, axis=-1))
    return jnp.stack([x.reshape(-1) for x in products], axis=-1)
