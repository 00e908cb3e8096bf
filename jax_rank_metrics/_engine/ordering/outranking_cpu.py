"""Counts on CPU, in parts that fit the cache, or by looking targets up in a sort."""

import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.ordering import sort_cpu
from jax_rank_metrics._ground import arithmetic, meshes

# The largest number of items in a part, of all lists together and of each list, so that a
# core's cache holds the part. A float32 holds two counts of at most 2,048 items exactly.
_PART, _LIST_PART = 2**19, 2048

# If there are fewer lists, counting a part takes less time than a step of a loop.
_LEAST_LISTS = 32


def has_parts(keys: jax.Array) -> bool:
    """True if counting in parts takes less time than reading whole lists at once."""
    if not all(isinstance(size, int) for size in keys.shape):
        return False  # symbolic, as in an export
    num_lists = math.prod(keys.shape[:-1])
    return num_lists >= _LEAST_LISTS and meshes.is_device_local(keys)


def count_in_parts(
    num_targets: jax.Array,
    target_levels: Sequence[jax.Array],
    levels: Sequence[jax.Array],
    *comparisons: Callable[[Sequence[jax.Array], Sequence[jax.Array]], jax.Array],
) -> list[jax.Array]:
    """Counts the items for which comparisons with each target hold, a part at a time.

    A part is read once for each target, from the cache. All comparisons of a part with a
    target are counted in one sum, whose digits are the counts.

    Args:
        num_targets: How many targets to count for; the counts of further targets are 0.
        target_levels: `[*lists, targets]` each.
        levels: `[*lists, items]` each.
        comparisons: Each compares levels of items with levels of targets, and holds for all
            items for which the comparison before it holds.
    """
    shape, size = target_levels[0].shape, levels[0].shape[-1]
    part = min(size, _LIST_PART, max(_PART // math.prod(shape[:-1]), 1))
    digit, num_parts = part.bit_length(), size // part

    def add(
        counts: list[jax.Array], start: jax.Array | int, length: int
    ) -> list[jax.Array]:
        # Without the barrier, XLA would slice the part again for each target of the loop.
        in_part = lax.optimization_barrier(
            [lax.dynamic_slice_in_dim(level, start, length, -1) for level in levels]
        )

        def add_target(index: jax.Array, sums: jax.Array) -> jax.Array:
            item = [
                lax.dynamic_slice_in_dim(level, index, 1, -1) for level in target_levels
            ]
            amounts, amount = jnp.zeros((), jnp.float32), 0
            for number, compare in reversed(list(enumerate(comparisons))):
                amount += 1 << digit * number
                amounts = jnp.where(compare(in_part, item), float(amount), amounts)
            column = jnp.sum(amounts, axis=-1, keepdims=True).astype(jnp.int32)
            return lax.dynamic_update_slice_in_dim(sums, column, index, -1)

        sums = lax.fori_loop(0, num_targets, add_target, zeros)
        digits = [sums >> digit * number for number in range(len(counts))]
        mask = (1 << digit) - 1
        return [old + (digit & mask) for old, digit in zip(counts, digits, strict=True)]

    zeros = jnp.zeros(shape, jnp.int32)
    zeros = meshes.match_varying(zeros, (num_targets, target_levels, levels))
    counts = [zeros for _ in comparisons]
    counts = lax.fori_loop(
        0, num_parts, lambda number, counts: add(counts, number * part, part), counts
    )
    if size % part:
        counts = add(counts, num_parts * part, size % part)
    return counts


def descending(keys: jax.Array) -> jax.Array:
    """Sorts integers along the last axis, the largest first."""
    return ~sort_cpu.sort_in_chunks(~keys, [keys])


def count_sorted(
    target_levels: Sequence[jax.Array],
    levels: Sequence[jax.Array],
    *comparisons: Callable[[Sequence[jax.Array], Sequence[jax.Array]], jax.Array],
) -> list[jax.Array]:
    """Counts the items for which comparisons with each target hold, by binary search.

    In the list of scores 9 7 7 4, one score precedes a 7, and three scores precede or equal
    it.

    Args:
        target_levels: `[*lists, targets]` each.
        levels: `[*lists, items]` each, sorted so that the items for which a comparison
            holds come before all other items.
        comparisons: Each compares levels of items with levels of targets.
    """
    size = levels[0].shape[-1]
    num_steps = size.bit_length()

    def step(number: jax.Array, counts: list[jax.Array]) -> list[jax.Array]:
        # From the largest power of two down, add each power to a count if the comparison
        # holds for the last item that the count would then include.
        power = 1 << (num_steps - 1 - number)
        return [
            jnp.where(is_counted(compare, count + power), count + power, count)
            for compare, count in zip(comparisons, counts, strict=True)
        ]

    def is_counted(compare: Callable[..., jax.Array], count: jax.Array) -> jax.Array:
        last = jnp.minimum(count, size) - 1
        item = [arithmetic.take(level, last) for level in levels]
        return (count <= size) & compare(item, target_levels)

    zeros = jnp.zeros(target_levels[0].shape, jnp.int32)
    zeros = meshes.match_varying(zeros, (target_levels, levels))
    return lax.fori_loop(0, num_steps, step, [zeros for _ in comparisons])
