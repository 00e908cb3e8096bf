"""The first few ranks of every list."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering import keys as _keys
from jax_rank_metrics._ordering.candidates import Candidates, ItemOrder, RawCandidates
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._ordering.top_k_cpu import SHORT, top_k_by_maxima

# `lax.top_k` slows with depth; from this share of the list on, a sort is as fast.
TOP_K_SHARE = 0.25

# Long lists are searched by the maxima of blocks of this many items.
_BLOCK = 32

# XLA:GPU has a kernel for a few of at least this many items, and sorts otherwise.
_GPU_KERNEL_DEPTH, _GPU_KERNEL_ITEMS = 16, 1024

_TopK = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]


def is_faster(x: jax.Array, depth: int) -> bool:
    """Whether a top-k of `x` takes less time than a sort."""
    return 0 < depth <= TOP_K_SHARE * x.shape[-1] and _mesh.auto_shards(x) == 1


class TopRanks(NamedTuple):
    """Which items hold the first ranks of every list."""

    indices: jax.Array  # [*lists, depth], along the axis of items
    straddles: jax.Array  # [*lists] bool, whether a tie may reach beyond the last rank


def top_ranks(
    raw: RawCandidates | Candidates, order: ItemOrder, depth: int
) -> TopRanks:
    """Finds the items of the first `depth` ranks, for scores that have a digit.

    A top-k of digits leaves ties in index order, and cannot tell −inf, NaN and missing
    items apart. Where one of the two matters, a branch settles it.
    """
    candidates, policy = raw.read(), order.policy
    digit = _keys.digit(candidates.keys, order.dtype)
    # One rank more than asked for shows whether the last rank ties with it.
    digits, indices = top_k(digit, min(depth + 1, digit.shape[-1]))
    next_digit = digits[..., depth:]  # [*lists, 1], or empty at the end of the list
    digits, indices = digits[..., :depth], indices[..., :depth]

    last = digits[..., -1:]
    straddles = jnp.any(_equal_bits(last, next_digit) & (last > -jnp.inf), axis=-1)
    unsettled = jnp.any(digits == _keys.LOWEST_DIGIT, axis=-1)
    if not policy.keeps_index_order:
        ties = _equal_bits(digits[..., 1:], digits[..., :-1])
        ties = ties & (digits[..., 1:] > -jnp.inf)
        unsettled = unsettled | straddles | jnp.any(ties, axis=-1)

    def settle() -> jax.Array:
        # Reads the items anew, so that nothing is computed where no tie asks for it.
        candidates = raw.read()
        if policy.keeps_index_order or policy.is_hashed:
            return _settled(candidates, order, digits, indices)
        return sort_by(candidates.sort_keys(order))[1][..., :depth]

    settled = lax.cond(_mesh.unvmap_any(unsettled), settle, lambda: indices)
    return TopRanks(settled, straddles)


def _settled(
    candidates: Candidates, order: ItemOrder, digits: jax.Array, indices: jax.Array
) -> jax.Array:
    """Returns the indices of the first ranks, from those of the largest digits.

    Items above the last digit all have a rank. Which of the items that share the last
    digit have one is decided by a top-k of their second digits; then the few chosen
    items are sorted by all keys.
    """
    depth, last = indices.shape[-1], digits[..., -1:]
    digit = _keys.digit(candidates.keys, order.dtype)
    second_digit = _keys.second_digit(
        candidates.keys, candidates.tie_breaks(order.policy)
    )
    _, tied = top_k(jnp.where(_equal_bits(digit, last), second_digit, -1), depth)
    rank = jnp.broadcast_to(_arithmetic.iota(indices), indices.shape)
    above = _arithmetic.count(~_equal_bits(digits, last))[..., None]
    from_tied = _arithmetic.take(tied, jnp.maximum(rank - above, 0))
    chosen = jnp.where(rank < above, indices, from_tied)
    keys = [~key for key in candidates.at(chosen).sort_keys(order)]
    return lax.sort((*keys, chosen), num_keys=len(keys) + 1)[-1]


def _equal_bits(x: jax.Array, y: jax.Array) -> jax.Array:
    """Whether floats are equal, as bits: processors may flush subnormals in comparisons."""
    x, y = (lax.bitcast_convert_type(value, jnp.int32) for value in (x, y))
    return x == y


def top_k(
    x: jax.Array, depth: int, before: jax.Array | None = None
) -> tuple[jax.Array, jax.Array]:
    """Finds the largest values of each list, as `lax.top_k` does, lower indices first.

    Args:
        x: `[*lists, items]` float32 without NaN.
        depth: How many to find, at most the number of items.
        before: `[*lists, few]`, values that stand before those of `x` in each list, if
            there are any.

    Returns:
        The values in descending order, and their indices: `[*lists, depth]` each. The
        top 2 of [1, 3, 3] are the values [3, 3] at the indices [1, 2].
    """
    if before is None:
        before = x[..., :0]

    def plain(before: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return _plain_top_k(jnp.concatenate([before, x], axis=-1), depth)

    def if_blocks_pay(pay: bool) -> _TopK:
        return functools.partial(_top_k_by_blocks, depth=depth) if pay else plain

    size = before.shape[-1] + x.shape[-1]
    if size <= SHORT:
        return lax.platform_dependent(
            jnp.concatenate([before, x], axis=-1),
            cpu=lambda x: top_k_by_maxima(x, depth),
            default=lambda x: _plain_top_k(x, depth),
        )
    has_kernel = depth <= _GPU_KERNEL_DEPTH and size >= _GPU_KERNEL_ITEMS
    return lax.platform_dependent(
        before,
        x,
        # A TPU gathers the items of blocks slowly, one by one.
        tpu=if_blocks_pay(depth * _BLOCK * 64 <= size),
        cuda=if_blocks_pay(depth * _BLOCK * 8 <= size and not has_kernel),
        default=if_blocks_pay(depth * _BLOCK * 8 <= size),
    )


def _top_k_by_blocks(
    before: jax.Array, x: jax.Array, depth: int
) -> tuple[jax.Array, jax.Array]:
    # The top items lie in the `depth` blocks with the largest maxima, or in the ends that
    # are too short for a block: any other block has `depth` maxima before its items. These
    # blocks are searched in index order, so that the lowest index wins ties here too.
    blocked = x.shape[-1] // _BLOCK * _BLOCK
    blocks = x[..., :blocked].reshape((*x.shape[:-1], blocked // _BLOCK, _BLOCK))
    _, block_ids = _plain_top_k(jnp.max(blocks, axis=-1), depth)
    block_ids = lax.sort(block_ids, dimension=-1)  # [*lists, depth]
    offsets = lax.broadcasted_iota(jnp.int32, (*block_ids.shape, _BLOCK), x.ndim)
    in_blocks = _arithmetic.merge_last_axes(block_ids[..., None] * _BLOCK + offsets)
    tail = x[..., blocked:]
    in_tail = lax.broadcasted_iota(jnp.int32, tail.shape, x.ndim - 1) + blocked
    indices = jnp.concatenate([in_blocks, in_tail], axis=-1)
    x = jnp.concatenate([before, _arithmetic.take(x, indices)], axis=-1)
    values, chosen = _plain_top_k(x, depth)
    few = before.shape[-1]
    from_x = few + _arithmetic.take(indices, jnp.maximum(chosen - few, 0))
    return values, jnp.where(chosen < few, chosen, from_x)


def _plain_top_k(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    # XLA recognises its top-k as a sort whose result is sliced. A further slice of the
    # result would be merged into that slice and hide it, and the whole list would be
    # sorted. There are two barriers because XLA's partitioner aborts where one barrier
    # takes both results of a top-k.
    values, indices = lax.top_k(x, depth)
    return lax.optimization_barrier(values), lax.optimization_barrier(indices)
