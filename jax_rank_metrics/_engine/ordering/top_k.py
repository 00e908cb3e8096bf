"""The largest few floats of every list.

On CPU, `lax.top_k` compares the bits of floats, even of NaN, as integers that are stored as
sign and magnitude. All other code must compare such floats as integers too, because a
comparison of floats would flush subnormals and cannot order NaN. In short lists,
`lax.top_k` takes several times as long per item as in long lists, so one maximum is found
after the other instead.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._ground import arithmetic, meshes

# `lax.top_k` slows with depth; from this share of the list on, a sort is as fast.
TOP_K_SHARE = 0.25

# Long lists are searched by the maxima of blocks of this many items. A TPU has 128 lanes:
# it would pad shorter blocks, and gathers such a block as fast as a single item.
_BLOCK, _LANES = 32, 128

# The longest list for which a CPU is faster to find one maximum after the other. Older
# versions of XLA compute maxima item by item, which takes longer than their top-k.
SHORT = 128 if jax.__version_info__ >= (0, 10) else 0

# The shortest list, and the largest depth, for which XLA:GPU has a top-k kernel.
_GPU_KERNEL_ITEMS = 1024
_GPU_KERNEL_DEPTH = 16


def is_faster(x: jax.Array, depth: int) -> bool:
    """True if a top-k of `x` takes less time than a sort."""
    return 0 < depth <= TOP_K_SHARE * x.shape[-1] and meshes.auto_shards(x) == 1


def is_long(size: int, depth: int) -> bool:
    """True if a list is so long that the maxima of its blocks are searched first."""
    return size > SHORT and depth * _BLOCK * 8 <= size


def num_parts(x: jax.Array, depth: int) -> int:
    """Returns the number of parts into which to split each list before it is ordered.

    XLA gathers every score of an axis that it sorts. If XLA may have sharded the items over
    devices, which types do not tell, there is one part per device: the first `depth` items
    of each part are found on its device, and only these items travel. There is one part in
    all if XLA cannot have sharded the items, if the parts would be unequal, or if `depth`
    is not a small share of a part.
    """
    shards, size = meshes.auto_shards(x), x.shape[-1]
    if shards == 1 or size % shards or depth * shards > TOP_K_SHARE * size:
        return 1
    return shards


def first_true(x: jax.Array, number: int) -> jax.Array:
    """Returns the indices of the first true entries of each list, and −1 after them.

    Args:
        x: `[*lists, items]` bool.
        number: How many true entries to look for; the result is `[*lists, number]` int32.
    """
    flags, indices = top_k(x.astype(jnp.float32), number)
    return jnp.where(flags > 0, indices, -1)


def top_k(
    x: jax.Array, depth: int, before: jax.Array | None = None
) -> tuple[jax.Array, jax.Array]:
    """Finds the largest values of each list, as `lax.top_k` does, lower indices first.

    Args:
        x: `[*lists, items]` float32 without NaN.
        depth: How many values to find, at most the number of items.
        before: `[*lists, few]`, values that precede the values of `x` in each list, if any.

    Returns:
        The values in descending order, and their indices: `[*lists, depth]` each. The
        top 2 of [1, 3, 3] are the values [3, 3] at the indices [1, 2].
    """
    if before is None:
        before = x[..., :0]

    def padded(before: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = arithmetic.pad_items(x, after=missing, value=-jnp.inf)
        return at_once(before, x)

    at_once = functools.partial(_top_k_at_once, depth=depth)
    on_cpu = functools.partial(_top_k_on_cpu, depth=depth)
    maxima = functools.partial(jnp.max, axis=-1)
    by_blocks = functools.partial(_top_k_by_blocks, depth=depth, maxima=maxima)

    def by_lanes(before: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = arithmetic.pad_items(x, after=-x.shape[-1] % _LANES, value=-jnp.inf)
        return by_blocks(before, x, block=_LANES, gathers_blocks=True)

    size = before.shape[-1] + x.shape[-1]
    if size <= SHORT:
        return lax.platform_dependent(before, x, cpu=on_cpu, default=at_once)
    missing = max(0, _GPU_KERNEL_ITEMS - size)
    has_kernel = depth <= _GPU_KERNEL_DEPTH and missing < size
    default = by_blocks if is_long(size, depth) else at_once
    return lax.platform_dependent(
        before,
        x,
        cpu=on_cpu,
        tpu=by_lanes if depth * _LANES * 16 <= size else at_once,
        cuda=padded if has_kernel else default,
        default=default,
    )


def top_integers_on_cpu(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """Finds the largest int32 of each list as `top_k` does, on a CPU."""
    x = _floats_of(x)
    x, indices = _top_k_on_cpu(x[..., :0], x, depth)
    return _integers_of(x), indices


def plain_top_k(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """Finds the largest values as `top_k` does, on every platform in the same way."""
    # XLA recognises a top-k as a sort whose result is sliced. A further slice of the result
    # would be merged into that slice, so XLA would not recognise the top-k, and would sort
    # the whole list. There are two barriers because XLA's partitioner aborts if one barrier
    # takes both results of a top-k.
    values, indices = lax.top_k(x, depth)
    return lax.optimization_barrier(values), lax.optimization_barrier(indices)


def _top_k_at_once(
    before: jax.Array, x: jax.Array, depth: int
) -> tuple[jax.Array, jax.Array]:
    x = jnp.concatenate([before, x], axis=-1)
    return plain_top_k(lax.optimization_barrier(x), depth)


def _top_k_on_cpu(
    before: jax.Array, x: jax.Array, depth: int
) -> tuple[jax.Array, jax.Array]:
    size = before.shape[-1] + x.shape[-1]
    if is_long(size, depth):
        return _top_k_by_blocks(before, x, depth, _maxima)
    if size > SHORT or arithmetic.is_small(x):
        return _top_k_at_once(before, x, depth)
    x = jnp.concatenate([before, x], axis=-1)
    indices = _indices_by_maxima(x, depth)
    return arithmetic.take(x, indices), indices


def _top_k_by_blocks(
    before: jax.Array,
    x: jax.Array,
    depth: int,
    maxima: Callable[[jax.Array], jax.Array],
    block: int = _BLOCK,
    gathers_blocks: bool = False,
) -> tuple[jax.Array, jax.Array]:
    # The top items lie in the `depth` blocks with the largest maxima, or in the ends that
    # are too short for a block: the items of any other block come after these `depth`
    # maxima. The blocks are searched in index order, so that the lowest index wins ties
    # here too.
    blocked = x.shape[-1] // block * block
    blocks = x[..., :blocked].reshape((*x.shape[:-1], blocked // block, block))
    _, block_ids = plain_top_k(maxima(blocks), depth)
    block_ids = lax.sort(block_ids, dimension=-1)  # [*lists, depth]
    offsets = lax.broadcasted_iota(jnp.int32, (*block_ids.shape, block), x.ndim)
    in_blocks = arithmetic.merge_last_axes(block_ids[..., None] * block + offsets)
    tail = x[..., blocked:]
    in_tail = lax.broadcasted_iota(jnp.int32, tail.shape, x.ndim - 1) + blocked
    indices = jnp.concatenate([in_blocks, in_tail], axis=-1)
    if gathers_blocks:
        block_items = arithmetic.merge_last_axes(
            arithmetic.take_items(blocks, block_ids)
        )
        x = jnp.concatenate([before, block_items, tail], axis=-1)
    else:
        x = jnp.concatenate([before, arithmetic.take(x, indices)], axis=-1)
    values, chosen = plain_top_k(x, depth)
    num_before = before.shape[-1]
    from_x = num_before + arithmetic.take(indices, jnp.maximum(chosen - num_before, 0))
    return values, jnp.where(chosen < num_before, chosen, from_x)


def _floats_of(key: jax.Array) -> jax.Array:
    """Returns float32 that a top-k on CPU orders as these int32."""
    return lax.bitcast_convert_type(_flipped(key), jnp.float32)


def _integers_of(x: jax.Array) -> jax.Array:
    """Inverts `_floats_of`."""
    return _flipped(lax.bitcast_convert_type(x, jnp.int32))


def _flipped(x: jax.Array) -> jax.Array:
    """Converts integers to and from sign and magnitude: −1, −2, … become −0, −1, …"""
    return jnp.where(x < 0, x ^ jnp.iinfo(x.dtype).max, x)


def _maxima(x: jax.Array) -> jax.Array:
    """Returns the first value of a top-k along the last axis of float32."""
    return _floats_of(jnp.max(_integers_of(x), axis=-1))


def _indices_by_maxima(x: jax.Array, depth: int) -> jax.Array:
    """Returns the indices of a top-k of float32, lower indices first among equal numbers.

    An integer and an index are packed into one whole number, integer · width − index, as
    a float64. Each step finds the largest number below the number of the step before.
    """
    # A power of two, so that nothing is rounded.
    width = 1 << x.shape[-1].bit_length()
    with jax.enable_x64(True):
        index = lax.broadcasted_iota(jnp.float64, x.shape, x.ndim - 1)
        packed = _integers_of(x).astype(jnp.float64) * width - index

        def step(previous: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            below = jnp.where(packed < previous[..., None], packed, -jnp.inf)
            largest = jnp.max(below, axis=-1)
            return largest, largest

        start = meshes.match_varying(jnp.full(x.shape[:-1], jnp.inf), x)
        largest = lax.scan(step, start, None, length=depth)[1]  # [depth, *lists]
        index = jnp.ceil(largest / width) * width - largest
        return jnp.moveaxis(index, 0, -1).astype(jnp.int32)
