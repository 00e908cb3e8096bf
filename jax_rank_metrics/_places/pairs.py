"""How the order of items by score agrees with their order by a value."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering.keys import score_key
from jax_rank_metrics._places import groups


class ByValue(NamedTuple):
    """Where items stand when a value ranks them, `[*lists, items]` int32 each.

    `level` counts the distinct values from the largest, which is 1, down to that of an
    item; 0 where no item exists.
    """

    above: jax.Array
    tied: jax.Array
    level: jax.Array


def by_value(layout: Any, values: jax.Array, exists: jax.Array) -> ByValue:
    """The places of items, in whatever order they are at hand, by falling values."""
    keys, places = layout.order(score_key(values, exists))
    exists = _arithmetic.take(exists, places)
    same, _, start, end = groups.runs(layout, exists, keys)
    found = ByValue(
        layout.offset_in_list(exists) - (_arithmetic.iota(start) - start),
        end - start + 1,
        jnp.where(exists, layout.cumulative_count(exists & ~same), 0),
    )

    def back(x: jax.Array) -> jax.Array:
        return jnp.put_along_axis(x, places, x, axis=-1, inplace=False)

    return ByValue(*map(back, found))


def smaller(level: jax.Array, *places: jax.Array) -> tuple[jax.Array, ...]:
    """For every item, how many of a smaller value stand at some places, int32.

    By a wavelet matrix: for one bit of the levels after the other, from the highest, all
    items move so that those without the bit come first, and the places to count among
    are followed along. Time is items·log(distinct values), memory a few arrays.

    Args:
        level: `[…, items]`, as in `ByValue`.
        places: `[…, items]` int32, ascending: to count from the first of them, up to
            each of the others.
    """
    if not level.shape[-1]:
        return tuple(jnp.zeros_like(level) for _ in places[1:])

    def step(state: Any) -> Any:
        bit, moved, counts, places = state
        without = ((moved >> bit) & 1) == 0
        running = _arithmetic.cumulative_count(without)
        number = running[..., -1:]
        # How many items before a place have not the bit.
        before = [
            jnp.where(p > 0, _arithmetic.take(running, jnp.maximum(p - 1, 0)), 0)
            for p in places
        ]
        own = ((level >> bit) & 1) == 0
        having = [p - x for p, x in zip(places, before, strict=True)]
        counts = [
            count + jnp.where(own, x - having[0], 0)
            for count, x in zip(counts, having[1:], strict=True)
        ]
        places = [
            jnp.where(own, x, number + y) for x, y in zip(before, having, strict=True)
        ]
        here = _arithmetic.iota(moved)
        to = jnp.where(without, running - 1, number + here - running)
        moved = jnp.put_along_axis(moved, to, moved, axis=-1, inplace=False)
        return bit - 1, moved, counts, places

    highest = jnp.max(level, initial=1)
    top = 31 - lax.clz(highest)
    zeros = [level - level for _ in places[1:]]
    state = _mesh.match_varying((top, level, zeros, list(places)), (level, *places))
    return tuple(lax.while_loop(lambda state: state[0] >= 0, step, state)[2])
