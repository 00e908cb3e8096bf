"""The first few ranks of every list."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering import keys as _keys
from jax_rank_metrics._ordering import top_k_cpu
from jax_rank_metrics._ordering.candidates import Candidates, ItemOrder, RawCandidates
from jax_rank_metrics._ordering.sort import sort_by

# `lax.top_k` slows with depth; from this share of the list on, a sort is as fast.
TOP_K_SHARE = 0.25

# Long lists are searched by the maxima of blocks of this many items.
_BLOCK = 32

# The shortest list, and the largest depth, for which XLA:GPU has a top-k kernel.
_GPU_KERNEL_ITEMS = 1024
_GPU_KERNEL_DEPTH = 16

# Takes values that stand before the others, and these.
_TopK = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]


def is_faster(x: jax.Array, depth: int) -> bool:
    """Whether a top-k of `x` takes less time than a sort."""
    return 0 < depth <= TOP_K_SHARE * x.shape[-1] and _mesh.auto_shards(x) == 1


def is_long(size: int, depth: int) -> bool:
    """Whether a list has so many items that the maxima of blocks are searched first."""
    return size > top_k_cpu.SHORT and depth * _BLOCK * 8 <= size


def top_ranks(
    raw: RawCandidates | Candidates, order: ItemOrder, depth: int
) -> tuple[Candidates, jax.Array]:
    """Gathers the items of the first `depth` ranks, for scores that have a digit.

    A top-k leaves ties in index order. Where they stand in another order, a branch puts
    them into it.

    Returns:
        The items `[*lists, depth]`, and whether a tie may reach beyond the last of them,
        `[*lists]` bool.
    """
    # One rank more than asked for shows whether the last rank ties with it.
    keys, indices = top_keys(raw, order, depth + 1)

    is_tied = (keys[..., 1:] == keys[..., :-1]) & _keys.exists(keys)[..., 1:]
    straddles = is_tied[..., -1]
    keys, indices = keys[..., :depth], indices[..., :depth]
    if order.policy.keeps_index_order:
        return raw.ranked(keys, indices), straddles

    def settle() -> jax.Array:
        # Reads the items anew, so that nothing is computed where no tie asks for it.
        candidates = raw.read()
        if order.policy.is_hashed:
            return _settled(candidates, order, keys, indices)
        return sort_by(candidates.sort_keys(order))[1][..., :depth]

    # Items that tie have the same key, so that only their indices change.
    indices = lax.cond(_mesh.unvmap_any(is_tied), settle, lambda: indices)
    return raw.ranked(keys, indices), straddles


def top_keys(
    raw: RawCandidates | Candidates, order: ItemOrder, depth: int
) -> tuple[jax.Array, jax.Array]:
    """Finds the largest keys of each list, and their indices, `[*lists, depth]` each.

    Missing items come last; equal keys stand in index order.
    """

    def by_digits(raw: RawCandidates | Candidates) -> tuple[jax.Array, jax.Array]:
        digits, indices = top_k(_keys.digit(raw.read().keys, order.dtype), depth)
        keys = _keys.key_of_digit(digits, order.dtype)
        if not _keys.shares_digits(order.dtype):
            return keys, indices

        def separate() -> tuple[jax.Array, jax.Array]:
            # Here NaN and inf share a digit, and so do −inf and missing items.
            digits = _keys.digit_near_zero(raw.read().keys)
            # Blocks would enlarge the program for what hardly ever runs.
            find = _plain_top_k if is_long(digits.shape[-1], depth) else top_k
            digits, indices_near_zero = find(digits, depth)
            keys_near_zero = _keys.float_key(digits)
            return (
                jnp.where(is_shared, keys_near_zero, keys),
                jnp.where(is_shared, indices_near_zero, indices),
            )

        # Hardly ever is a score one of the floats that share a digit.
        is_shared = _keys.is_shared(keys)
        any_shared = _mesh.unvmap_any(is_shared)
        return lax.cond(any_shared, separate, lambda: (keys, indices))

    def by_keys(raw: RawCandidates | Candidates) -> tuple[jax.Array, jax.Array]:
        x = top_k_cpu.floats_of(raw.read().keys)
        x, indices = _top_k_on_cpu(x[..., :0], x, depth)
        return top_k_cpu.integers_of(x), indices

    return lax.platform_dependent(raw, cpu=by_keys, default=by_digits)


def _settled(
    candidates: Candidates, order: ItemOrder, keys: jax.Array, indices: jax.Array
) -> jax.Array:
    """Returns the indices of the first ranks, from those of the largest keys.

    Items above the last key all have a rank. Which of the items that share the last key
    have one is decided by a top-k of their hashes; then the few chosen items are sorted
    by all keys.
    """
    depth, last = indices.shape[-1], keys[..., -1:]
    digits = _keys.second_digit(candidates.keys, candidates.tie_breaks(order))
    _, tied = top_k(jnp.where(candidates.keys == last, digits, -1), depth)
    rank = jnp.broadcast_to(_arithmetic.iota(indices), indices.shape)
    above = _arithmetic.count(keys != last)[..., None]
    from_tied = _arithmetic.take(tied, jnp.maximum(rank - above, 0))
    chosen = jnp.where(rank < above, indices, from_tied)
    sort_keys = [~key for key in candidates.at(chosen).sort_keys(order)]
    return lax.sort((*sort_keys, chosen), num_keys=len(sort_keys) + 1)[-1]


def first_true(x: jax.Array, number: int) -> jax.Array:
    """Returns the indices of the first true entries of each list, and −1 after them.

    Args:
        x: `[*lists, items]` bool.
        number: How many to look for; `[*lists, number]` int32 are returned.
    """
    flags, indices = top_k(x.astype(jnp.float32), number)
    return jnp.where(flags > 0, indices, -1)


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

    def padded(before: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = _arithmetic.pad_items(x, after=missing, value=-jnp.inf)
        return at_once(before, x)

    def by_blocks(before: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return _top_k_by_blocks(before, x, depth, functools.partial(jnp.max, axis=-1))

    def if_blocks_pay(pay: bool) -> _TopK:
        return by_blocks if pay else at_once

    at_once = functools.partial(_top_k_at_once, depth=depth)
    on_cpu = functools.partial(_top_k_on_cpu, depth=depth)
    size = before.shape[-1] + x.shape[-1]
    if size <= top_k_cpu.SHORT:
        return lax.platform_dependent(before, x, cpu=on_cpu, default=at_once)
    missing = max(0, _GPU_KERNEL_ITEMS - size)
    has_kernel = depth <= _GPU_KERNEL_DEPTH and missing < size
    return lax.platform_dependent(
        before,
        x,
        cpu=on_cpu,
        # A TPU gathers the items of blocks slowly, one by one.
        tpu=if_blocks_pay(depth * _BLOCK * 64 <= size),
        cuda=padded if has_kernel else if_blocks_pay(is_long(size, depth)),
        default=if_blocks_pay(is_long(size, depth)),
    )


def _plain_top_k(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    # XLA recognises its top-k as a sort whose result is sliced. A further slice of the
    # result would be merged into that slice and hide it, and the whole list would be
    # sorted. There are two barriers because XLA's partitioner aborts where one barrier
    # takes both results of a top-k.
    values, indices = lax.top_k(x, depth)
    return lax.optimization_barrier(values), lax.optimization_barrier(indices)


def _top_k_at_once(
    before: jax.Array, x: jax.Array, depth: int
) -> tuple[jax.Array, jax.Array]:
    x = jnp.concatenate([before, x], axis=-1)
    return _plain_top_k(lax.optimization_barrier(x), depth)


def _top_k_on_cpu(
    before: jax.Array, x: jax.Array, depth: int
) -> tuple[jax.Array, jax.Array]:
    size = before.shape[-1] + x.shape[-1]
    if is_long(size, depth):
        return _top_k_by_blocks(before, x, depth, top_k_cpu.maxima)
    if size > top_k_cpu.SHORT or _arithmetic.is_small(x):
        return _top_k_at_once(before, x, depth)
    x = jnp.concatenate([before, x], axis=-1)
    indices = top_k_cpu.indices_by_maxima(x, depth)
    return _arithmetic.take(x, indices), indices


def _top_k_by_blocks(
    before: jax.Array,
    x: jax.Array,
    depth: int,
    maxima: Callable[[jax.Array], jax.Array],
) -> tuple[jax.Array, jax.Array]:
    # The top items lie in the `depth` blocks with the largest maxima, or in the ends that
    # are too short for a block: any other block has `depth` maxima before its items. These
    # blocks are searched in index order, so that the lowest index wins ties here too.
    blocked = x.shape[-1] // _BLOCK * _BLOCK
    blocks = x[..., :blocked].reshape((*x.shape[:-1], blocked // _BLOCK, _BLOCK))
    _, block_ids = _plain_top_k(maxima(blocks), depth)
    block_ids = lax.sort(block_ids, dimension=-1)  # [*lists, depth]
    offsets = lax.broadcasted_iota(jnp.int32, (*block_ids.shape, _BLOCK), x.ndim)
    in_blocks = _arithmetic.merge_last_axes(block_ids[..., None] * _BLOCK + offsets)
    tail = x[..., blocked:]
    in_tail = lax.broadcasted_iota(jnp.int32, tail.shape, x.ndim - 1) + blocked
    indices = jnp.concatenate([in_blocks, in_tail], axis=-1)
    x = jnp.concatenate([before, _arithmetic.take(x, indices)], axis=-1)
    values, chosen = _plain_top_k(x, depth)
    num_before = before.shape[-1]
    from_x = num_before + _arithmetic.take(indices, jnp.maximum(chosen - num_before, 0))
    return values, jnp.where(chosen < num_before, chosen, from_x)
