"""Places whose value falls with each item of the same kind above them.

Let r of t tied items be of a kind, and take one of these r items. If j tied items are above
it in a random order, and H of these j are of its kind, the item keeps the mean share
G_j = E[q^H] of its value. H is hypergeometric: j items are drawn from the other t' = t − 1,
and r' = r − 1 of these are of the kind. With D_j = G_j − G_{j+1},

    (t' − j)·D_j + j·q·D_{j−1} = r'·(1 − q)·G_j.

Solved for D_j, the equation shrinks the error of D_{j−1} while j < t' / (1 + q). Solved for
D_{j−1}, it shrinks the error of D_j for larger j. So G is computed from both ends, G_0 = 1
and G_t' = q^r'.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.places.place import (
    FEW_RANKS,
    Place,
    at_ranks,
    positions,
)
from jax_rank_metrics._ground import arithmetic, inputs, meshes
from jax_rank_metrics._ground.types import Cut, Number, PositionFn

# Divide by at least this. If q is 0, no quotient is read: all of G is computed from the
# front.
_LEAST = 1e-30


def repeated(position_fn: PositionFn, q: Number) -> Callable[..., jax.Array]:
    """Makes a `place_fn` for items that lose value each time their kind recurs.

    The value of a place is `position_fn` at its rank (0 beyond k), times q for each item of
    the kind above it; for tied items, the mean over all their orders. `counting` must hold
    one function of items, which returns bools, true for items of the kind. The values of
    all other items must be 0.

    If `position_fn` is 1 at every rank and q = 1/2, places of items of the kind at the
    ranks 1, 3 and 4 have the values 1, 1/2 and 1/4.

    Args:
        position_fn: A function of ranks, as for `positions`.
        q: The share of its value that an item keeps for each item of its kind above it, 0
            to 1.

    Raises:
        TypeError: if q is not a Python number.
        ValueError: if q is not from 0 to 1.
    """
    return _repeated(position_fn, inputs.fraction("q", q))


@by_options
def _repeated(place: Place, k: Cut, *, position_fn: PositionFn, q: float) -> jax.Array:
    (num_above,), (num_tied,) = place.counted_above, place.counted_tied
    mean = positions(position_fn)(place, k)
    if place.worth is not None and q < 1:
        axes = range(place.tied.ndim, place.worth.ndim)
        is_read = jnp.any(place.worth != 0, axis=axes) & (place.within(k) > 0)
        is_read = is_read & (place.tied > 1) & (num_tied > 1)
        place_counts = place.above, place.tied, place.within(k), num_tied
        add_ranks = partial(_sums_by_rank, position_fn, q)
        sums = _where_read(add_ranks, is_read, *place_counts)
        mean = jnp.where(is_read, sums / place.tied, mean)
    return mean * arithmetic.power(q, num_above)


def _where_read(
    function: Callable[..., jax.Array], is_read: jax.Array, *arrays: jax.Array
) -> jax.Array:
    """Returns `function(is_read, *arrays)`, right only where `is_read` is true.

    Long lists mostly have few places that are read, one for each tie group. These places
    are gathered, a few of each list at a time.
    """
    arrays = tuple(jnp.broadcast_to(array, is_read.shape) for array in arrays)
    zeros = meshes.match_varying(jnp.zeros_like(arrays[0]), (is_read, *arrays))
    items = is_read.shape[-1]
    size = max(FEW_RANKS // 2, items // 64)
    find = jnp.vectorize(jnp.searchsorted, signature="(n),(m)->(m)")

    def by_parts(is_read: jax.Array, *arrays: jax.Array) -> jax.Array:
        number = arithmetic.cumulative_count(is_read)
        offset = 1 + arithmetic.iota(number[..., :size])

        def add(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            start, values = state
            slots = find(number, start + offset)
            in_bounds = jnp.minimum(slots, items - 1)
            gathered = [arithmetic.take(array, in_bounds) for array in arrays]
            values = arithmetic.put(values, slots, function(slots < items, *gathered))
            return start + size, values

        last = jnp.max(number[..., -1], initial=0)
        start = (jnp.zeros_like(last), zeros)
        return lax.while_loop(lambda state: state[0] < last, add, start)[1]

    # The branch saves work, and also compile time: the places of few items fuse with all
    # their readers, so they would be compiled again for every input of the loop.
    return lax.cond(
        meshes.unvmap_any(is_read),
        by_parts if items > 4 * size else function,
        lambda *_: zeros,
        is_read,
        *arrays,
    )


def _sums_by_rank(
    position_fn: PositionFn, q: float, is_read: jax.Array, *of_place: jax.Array
) -> jax.Array:
    """Sums position_fn(above + j + 1)·G_j over the ranks of places, from both ends.

    Args:
        position_fn: A function of ranks.
        q: The share of its value that an item keeps for each item of its kind above it.
        is_read: Bools, true for sums that are read.
        *of_place: Four numbers for each place: how many items are above it, how many items
            are tied, how many of its ranks are summed (from the first on), and how many
            tied items are of the kind.
    """
    # [1, *lists, items]; arrays that differ between the ends are [2, *lists, items].
    above, tied, within, tied_of_kind, is_read = (
        array[None] for array in (*of_place, is_read)
    )
    last_index, lost = tied - 1, (1 - q) * jnp.maximum(tied_of_kind - 1, 0)

    def join_ends(front: jax.Array | float, back: jax.Array | float) -> jax.Array:
        return jnp.concatenate(
            [jnp.broadcast_to(end, tied.shape) for end in (front, back)]
        )

    # The last index that is computed from the front; later indices are computed from the
    # back.
    middle = jnp.floor(last_index / (1 + q))
    steps_back = jnp.where(within > middle + 1, last_index - middle, 0)
    steps = join_ends(jnp.minimum(middle + 1, within), steps_back)
    steps = jnp.where(is_read, steps, 0)
    last = jnp.max(steps, initial=0)
    sign = np.array([-1, 1], tied.dtype).reshape(2, *(1,) * (tied.ndim - 1))
    before = np.where(sign < 0, q, 1).astype(tied.dtype)
    divisor = np.where(sign < 0, 1, max(q, _LEAST)).astype(tied.dtype)

    def add(state: tuple[Any, ...]) -> tuple[Any, ...]:
        i, sums, worths, change = state  # G of this index, and D before it
        worth, is_step, left = sum(worths), i < steps, jnp.maximum(last_index - i, 0)
        index = join_ends(i, left)
        terms = at_ranks(position_fn, above + (index + 1), None) * worth
        terms = jnp.where(is_step & (index < within), terms, 0)
        change = (lost * worth - i * before * change) / jnp.maximum(left, 1)
        change = jnp.clip(change, 0, (1 - q) * worth) / divisor
        change = jnp.where(is_step, change, 0)
        worths = arithmetic.plus(worths, jnp.asarray(sign) * change)
        return i + 1, arithmetic.plus(sums, terms), worths, change

    zeros = meshes.match_varying(jnp.zeros_like(steps), (above, steps, lost))
    worth = join_ends(1.0, arithmetic.power(q, lost / (1 - q))) + zeros
    start = jnp.zeros((), tied.dtype), (zeros, zeros), (worth, zeros), zeros
    _, sums, *_ = lax.while_loop(
        lambda state: meshes.unvmap_any(state[0] < last), add, start
    )
    return jnp.sum(sum(sums), axis=0)
