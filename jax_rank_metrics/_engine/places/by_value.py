"""The places of items ranked by a value, and counts of smaller values in slot ranges."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.ordering.keys import score_key
from jax_rank_metrics._engine.places import tie_groups
from jax_rank_metrics._ground import arithmetic, meshes


class PlacesByValue(NamedTuple):
    """The places of items that are ranked by a value, `[*lists, items]` int32 each.

    Five items with the values 3 8 3 5 1 have `above` 2 0 2 1 4, `tied` 2 1 2 1 1 and
    `level` 3 1 3 2 4.
    """

    above: jax.Array
    tied: jax.Array
    level: jax.Array  # the largest value is level 1, the next 2, …; 0 for empty slots


def places_by_value(
    layout: base.RankedLayout, values: jax.Array, exists: jax.Array
) -> PlacesByValue:
    """Computes the places of items, which may stand in any order within their list.

    Args:
        layout: The layout of the items.
        values: `[*lists, items]` floats or integers, not negative.
        exists: `[*lists, items]` bool.
    """
    keys = [score_key(values, exists)]
    if jnp.issubdtype(values.dtype, jnp.unsignedinteger):
        keys.append(exists.astype(jnp.int32))  # 0 may have the key of missing items
    ordered_keys, slots = layout.order(keys)
    exists = arithmetic.take(exists, slots)
    continues = tie_groups.continues_run(layout, exists, ordered_keys)
    start, end = tie_groups.bounds_of_runs(continues)
    starts_level = exists & ~continues
    in_order = PlacesByValue(
        tie_groups.above_first_of_run(layout, exists, start),
        end - start + 1,
        jnp.where(exists, layout.cumulative_count(starts_level), 0),
    )

    def to_slots(x: jax.Array) -> jax.Array:
        return arithmetic.put(x, slots, x)

    return PlacesByValue(*map(to_slots, in_order))


def count_smaller(
    level: jax.Array, start: jax.Array, *stops: jax.Array
) -> tuple[jax.Array, ...]:
    """Counts, for each item, the items of smaller value in a range of slots, int32.

    This is a wavelet matrix. The bits of the levels are read one by one, the highest
    first. For each bit, all items move, stably, so that items without the bit come
    first; the ranges move with them. If an item lacks the bit, the items of its range
    that have the bit have a larger level, and so a smaller value: they are counted, and
    the range shrinks to the items without the bit. If the item has the bit, the range
    shrinks to the items that have it too. The time is proportional to
    items·log(distinct values), and the memory is a few arrays.

    For the levels 3 1 3 2 4 and the range of all slots, from 0 up to 5, the counts are
    1 4 1 3 0. Slots without an item have level 0 and are never counted.

    Args:
        level: `[…, items]`, as in `PlacesByValue`.
        start: `[…, items]` int32, the first slot of each item's range.
        stops: `[…, items]` int32 each, the slot after the range; not below `start`.

    Returns:
        For each of `stops`, the counts `[…, items]`.
    """
    if not level.shape[-1]:
        return tuple(jnp.zeros_like(level) for _ in stops)

    def step(state):
        bit, permuted_level, counts, bounds = state
        lacks_bit = ((permuted_level >> bit) & 1) == 0
        lacking_so_far = arithmetic.cumulative_count(lacks_bit)
        num_lacking = lacking_so_far[..., -1:]
        # For each bound, count the items before the bound that lack the bit, and then the
        # items before the bound that have it.
        num_lacking_before = [
            jnp.where(
                bound > 0, arithmetic.take(lacking_so_far, jnp.maximum(bound - 1, 0)), 0
            )
            for bound in bounds
        ]
        num_having_before = [
            bound - lack for bound, lack in zip(bounds, num_lacking_before, strict=True)
        ]
        item_lacks_bit = ((level >> bit) & 1) == 0
        counts = [
            count + jnp.where(item_lacks_bit, having - num_having_before[0], 0)
            for count, having in zip(counts, num_having_before[1:], strict=True)
        ]
        bounds = [
            jnp.where(item_lacks_bit, lack, num_lacking + having)
            for lack, having in zip(num_lacking_before, num_having_before, strict=True)
        ]
        slots = arithmetic.iota(permuted_level)
        target = jnp.where(
            lacks_bit,
            lacking_so_far - 1,
            num_lacking + slots - lacking_so_far,
        )
        permuted_level = arithmetic.put(permuted_level, target, permuted_level)
        return bit - 1, permuted_level, counts, bounds

    highest_bit = 31 - lax.clz(jnp.max(level, initial=1))
    zeros = [jnp.zeros_like(level) for _ in stops]
    state = (highest_bit, level, zeros, [start, *stops])
    state = meshes.match_varying(state, (level, start, *stops))
    return tuple(lax.while_loop(lambda state: state[0] >= 0, step, state)[2])
