"""Looks up targets in a sort, on CPU, where gathers are as quick as arithmetic."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering.sort_cpu import sort_in_chunks


def descending(keys: jax.Array) -> jax.Array:
    """Sorts integers along the last axis, the largest first."""
    return ~sort_in_chunks(~keys, [keys])


def count_sorted(
    target_levels: Sequence[jax.Array],
    levels: Sequence[jax.Array],
    *comparisons: Callable[[Sequence[jax.Array], Sequence[jax.Array]], jax.Array],
) -> list[jax.Array]:
    """Counts the items for which comparisons with each target hold, by binary search.

    Of the scores 9 7 7 4, one precedes a 7, and three precede or equal it.

    Args:
        target_levels: `[*lists, targets]` each.
        levels: `[*lists, items]` each, in an order in which all items for which a
            comparison holds come before those for which it does not.
        comparisons: Each compares levels of items with levels of targets.
    """
    size = levels[0].shape[-1]
    num_steps = size.bit_length()

    def step(number: jax.Array, counts: list[jax.Array]) -> list[jax.Array]:
        # From the largest power of two down: a count grows by it where the last item
        # that it would then include is one to count.
        power = 1 << (num_steps - 1 - number)
        return [
            jnp.where(is_counted(compare, count + power), count + power, count)
            for compare, count in zip(comparisons, counts, strict=True)
        ]

    def is_counted(compare: Callable[..., jax.Array], count: jax.Array) -> jax.Array:
        last = jnp.minimum(count, size) - 1
        item = [_arithmetic.take(x, last) for x in levels]
        return (count <= size) & compare(item, target_levels)

    zeros = jnp.zeros(target_levels[0].shape, jnp.int32)
    zeros = _mesh.match_varying(zeros, (target_levels, levels))
    return lax.fori_loop(0, num_steps, step, [zeros for _ in comparisons])
