"""The chance that the first ranks hold at least so many relevant items."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _mesh
from jax_rank_metrics._places.place import Place
from jax_rank_metrics._types import Cut


def reaches_hits(place: Place, k: Cut, needed: jax.Array) -> jax.Array:
    """Returns the chance that ranks 1..k hold `needed` relevant items.

    For `expected_sum(item_fn, reaches_hits, ks, counting=(item_fn,), per_list=(needed,))`,
    where `item_fn` says which items are relevant. The relevant items of the tie group
    that holds the one needed last share the chance, and all other items are worth 0. With
    the labels 1 0 1 0 and the scores 9 7 7 7, two hits at k = 3 have the chance 2/3.
    """
    (hits_above,), (hits_tied,) = place.counted_above, place.counted_tied
    missing = needed.astype(place.above.dtype) - hits_above
    is_last = (missing > 0) & (missing <= hits_tied)
    # Elsewhere, one item that is drawn for certain, which takes no step of a loop.
    counts = (missing, hits_tied, place.within(k), place.tied)
    missing, hits, drawn, size = (jnp.where(is_last, x, 1) for x in counts)
    return jnp.where(is_last, _chance(missing, hits, drawn, size) / hits, 0)


def _chance(
    needed: jax.Array, hits: jax.Array, drawn: jax.Array, size: jax.Array
) -> jax.Array:
    """Returns the chance that `drawn` of `size` items hold `needed` of its `hits`.

    The hypergeometric chances of the numbers on both sides of the most likely one are
    summed in proportion to it, so that all are at most 1 and none of weight underflows. A
    sum from one end, or logarithms of factorials, would lose all digits of large groups.

    Args:
        needed: Floats that are whole numbers, as all others.
        hits: How many of the items are relevant.
        drawn: How many hold the ranks that are looked at.
        size: The number of items.
    """
    spare = size - hits - drawn  # fewer than 0 where some hits must be drawn
    min_hits, max_hits = jnp.maximum(-spare, 0), jnp.minimum(hits, drawn)
    mode = jnp.clip(
        jnp.floor((drawn + 1) * (hits + 1) / (size + 2)), min_hits, max_hits
    )
    # Beyond eight standard deviations nothing is left.
    share = drawn / size
    deviation = jnp.sqrt(hits * share * (1 - share))
    steps = jnp.minimum(
        jnp.maximum(mode - min_hits, max_hits - mode), 10 + 8 * deviation
    )
    num_steps = jnp.max(steps, initial=0)

    def add(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        step, rising, falling, reached, total = state
        up, down = mode + step, mode - step
        rising *= jnp.maximum((hits - up + 1) * (drawn - up + 1), 0)
        rising /= up * (spare + up)
        falling *= jnp.maximum((down + 1) * (spare + down + 1), 0)
        falling /= (hits - down) * (drawn - down)
        total = total + (rising + falling)
        reached = reached + jnp.where(up >= needed, rising, 0)
        reached = reached + jnp.where(down >= needed, falling, 0)
        return step + 1, rising, falling, reached, total

    ones = _mesh.match_varying(jnp.ones_like(mode), (needed, mode))
    reached = jnp.where(mode >= needed, ones, 0)
    start = (jnp.ones_like(num_steps), ones, ones, reached, ones)
    *_, reached, total = lax.while_loop(lambda state: state[0] <= num_steps, add, start)
    return reached / total
