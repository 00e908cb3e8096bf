"""The chance that the first ranks hold at least a given number of relevant items."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.places.place import Place
from jax_rank_metrics._ground import arithmetic, types


def reaches_hits(place: Place, k: types.Cut, needed: jax.Array) -> jax.Array:
    """Returns the chance that ranks 1..k hold at least `needed` relevant items.

    Use it in
    `expected_sum(item_fn, reaches_hits, ks, counting=(item_fn,), per_list=(needed,))`, with
    an `item_fn` that tells which items are relevant. The relevant items of one tie group
    share the chance: the group in which the needed number is reached. All other places have
    the value 0. With the labels 1 0 1 0 and the scores 9 7 7 7, the chance of two hits at
    k = 3 is 2/3.
    """
    (hits_above,), (hits_tied,) = place.counted_above, place.counted_tied
    missing = needed.astype(place.above.dtype) - hits_above
    is_last = (missing > 0) & (missing <= hits_tied)
    # For all other places, compute with one item that is drawn for certain.
    counts = (missing, hits_tied, place.within(k), place.tied)
    missing, hits, drawn, size = [jnp.where(is_last, part, 1)[None] for part in counts]
    # The ranks up to k draw `drawn` of the `size` tied items, with a hypergeometric number
    # n of hits. Start at the likeliest n, because a sum from one end, or logarithms of
    # factorials, would lose all digits.
    spare = size - hits - drawn  # below 0 if some hits must be drawn
    bounds = jnp.maximum(-spare, 0), jnp.minimum(hits, drawn)
    likeliest = jnp.clip(jnp.floor((drawn + 1) * (hits + 1) / (size + 2)), *bounds)

    def ratios(n: jax.Array) -> tuple[jax.Array, jax.Array]:
        up = (hits - n) * (drawn - n) / ((n + 1) * (spare + n + 1))
        return up, n * (spare + n) / ((hits - n + 1) * (drawn - n + 1))

    functions = [lambda n: (n >= missing).astype(n.dtype)]
    (chance,) = arithmetic.means_from_likeliest(likeliest, bounds, ratios, functions)
    return jnp.where(is_last, chance / hits[0], 0)
