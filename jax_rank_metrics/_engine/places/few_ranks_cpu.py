"""Tie groups of a few items, and sums over a few ranks, on CPU.

XLA:CPU does not vectorise a comparison of all pairs, which would take many times longer.
Here the items of a list are the bits of one integer; the first item is the lowest bit.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._ground import arithmetic

# The number of bits of an integer, and the integer with all bits set.
_BITS, _ALL = 32, np.uint32(0xFFFFFFFF)


def groups_of(
    keys: jax.Array, exists: jax.Array, amounts: Sequence[jax.Array]
) -> tuple[jax.Array, jax.Array, tuple[jax.Array, ...], tuple[jax.Array, ...]]:
    """Returns the four counts of `Place`, for at most 32 items in rank order.

    Args:
        keys: `[*lists, items]`; items with equal keys tie.
        exists: `[*lists, items]` bool, all true entries before all false entries.
        amounts: `[*lists, items]` each, the amounts that places sum.
    """
    ties = exists & (keys == arithmetic.shifted(keys, 1))
    above, behind = _run_of(ties)
    before_group = (jnp.uint32(1) << above) - 1
    in_group = before_group ^ ((behind & -behind) - 1)
    return (
        above.astype(jnp.int32),
        _count(in_group),
        tuple(_sum_at(before_group, amount) for amount in amounts),
        tuple(_sum_at(in_group, amount) for amount in amounts),
    )


def bounds_of_runs(continues: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the first and the last slot of each item's run, for at most 32 items.

    Like `tie_groups.bounds_of_runs`, but without a loop. It runs on any device.
    """
    start, behind = _run_of(continues)
    return start.astype(jnp.int32), _count((behind & -behind) - 1) - 1


def _run_of(continues: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the start of each item's run; and, as bits, the starts of later runs."""
    bit = _bits_of_slots(continues)
    # The first item starts a run, and the bits beyond the list end the last run.
    edges = np.where(bit == 1, ~(_ALL >> (_BITS - continues.shape[-1])) | 1, 0)
    starts = _added(jnp.where(continues, edges.astype(np.uint32), edges | bit))
    # With the keys 9 7 7 7 4, runs start at the bits 11001, the first item first. For the
    # second 7, the last start up to it is the second bit, and the next start is the fifth.
    up_to_item = 2 * bit - 1
    return _BITS - 1 - lax.clz(starts & up_to_item), starts & ~up_to_item


def _bits_of_slots(like: jax.Array) -> np.ndarray:
    """Returns 1, 2, 4, … along the last axis, in a shape that broadcasts with `like`."""
    bits = 2 ** np.arange(like.shape[-1], dtype=np.uint32)
    return bits.reshape((1,) * (like.ndim - 1) + bits.shape)


def _added(bits: jax.Array) -> jax.Array:
    """Adds up the bits of each list to one integer, `[*lists, 1]`."""
    return jnp.sum(bits, axis=-1, keepdims=True, dtype=jnp.uint32)


def _count(bits: jax.Array) -> jax.Array:
    return lax.population_count(bits).astype(jnp.int32)


def _sum_at(bits: jax.Array, amounts: jax.Array) -> jax.Array:
    """Sums, for each item, the amounts of the items whose bits are set in its `bits`."""
    bit = _bits_of_slots(amounts)
    if amounts.dtype == jnp.bool_:
        return _count(bits & _added(jnp.where(amounts, bit, np.uint32(0))))
    is_set = bits[..., None] & bit[..., None, :] > 0
    terms = jnp.where(is_set, amounts[..., None, :], 0)
    if jnp.issubdtype(terms.dtype, jnp.floating):
        return arithmetic.total(terms)
    return arithmetic.total(terms.astype(jnp.float32)).astype(jnp.int32)


def sum_of_few(values: np.ndarray, above: jax.Array, end: jax.Array) -> jax.Array:
    """Sums over the ranks above + 1 … end, from a table of all such sums.

    Args:
        values: The values of ranks 1, 2, …; ranks beyond these add nothing.
        above: int32.
        end: int32; if it is below `above`, the sum is 0.
    """
    last = len(values)
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    table = np.triu(sums - sums[:, None]).astype(values.dtype).reshape(-1)
    index = jnp.minimum(above, last) * (last + 1) + jnp.minimum(end, last)
    # If indices were signed, JAX would also handle negative ones, which count from the end.
    index = index.astype(jnp.uint32)
    return jnp.asarray(table).at[index].get(mode="promise_in_bounds")
