"""The best few of every list."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering import keys as _keys
from jax_rank_metrics._ordering.candidates import Candidates, Given, Policy
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._ordering.top_k_cpu import SHORT, by_maxima

# `lax.top_k` slows with depth; a sort is as good from this share of the list on.
TOP_K_SHARE = 0.25

# Long lists are searched by the maxima of blocks of this many items.
_BLOCK = 32


def pays(x: jax.Array, depth: int) -> bool:
    """Whether a top-k of `x` takes less time than a sort."""
    return 0 < depth <= TOP_K_SHARE * x.shape[-1] and _mesh.auto_shards(x) == 1


class Top(NamedTuple):
    """The first ranks of every list."""

    places: jax.Array  # [*lists, depth], where the items stand in the arrays
    straddles: jax.Array  # [*lists] bool; True where a tie may go beyond the last rank


def top(given: Given | Candidates, policy: Policy, depth: int) -> Top:
    """The first `depth` ranks; for scores that have a digit."""
    every = given.read()
    digit = _keys.digit(every.keys, policy.dtype)
    values, places = top_k(digit, min(depth + 1, digit.shape[-1]))
    beyond, values, places = (
        values[..., depth:],
        values[..., :depth],
        places[..., :depth],
    )

    last = values[..., -1:]
    straddles = jnp.any(_same(last, beyond) & (last > -jnp.inf), axis=-1)
    unsettled = jnp.any(values == _keys.LOWEST, axis=-1)
    if not policy.by_index:
        ties = _same(values[..., 1:], values[..., :-1]) & (values[..., 1:] > -jnp.inf)
        unsettled = unsettled | straddles | jnp.any(ties, axis=-1)

    def settle() -> jax.Array:
        # All of it in here, so that it costs nothing where no tie asks for it.
        every = given.read()
        if policy.by_index or policy.hashes:
            return _settled(every, policy, values, places)
        return sort_by(every.levels(policy), hashed=policy.hashes)[1][..., :depth]

    settled = lax.cond(_mesh.unvmap_any(unsettled), settle, lambda: places)
    return Top(settled, straddles)


def _settled(
    every: Candidates, policy: Policy, values: jax.Array, places: jax.Array
) -> jax.Array:
    """Places of the top items, from those of the top digits.

    What ties with the last of them is chosen by a top-k of the second digits.
    """
    depth, last = places.shape[-1], values[..., -1:]
    digit = _keys.digit(every.keys, policy.dtype)
    second = _keys.second_digit(every.keys, every.breaks(policy))
    _, tied = top_k(jnp.where(_same(digit, last), second, -1), depth)
    rank = jnp.broadcast_to(_arithmetic.iota(places), places.shape)
    above = _arithmetic.count(~_same(values, last))[..., None]
    moved = _arithmetic.take(tied, jnp.maximum(rank - above, 0))
    chosen = jnp.where(rank < above, places, moved)
    best = every.at(chosen)
    levels = [~level for level in best.levels(policy)]
    return lax.sort((*levels, chosen), num_keys=len(levels) + 1)[-1]


def _same(x: jax.Array, y: jax.Array) -> jax.Array:
    # As bits: processors may flush subnormal floats before they compare them.
    bits = [lax.bitcast_convert_type(value, jnp.int32) for value in (x, y)]
    return bits[0] == bits[1]


def top_k(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    """`lax.top_k` of what holds no NaN: the lowest of equal indices first."""
    if x.shape[-1] <= SHORT:
        return lax.platform_dependent(
            x,
            cpu=lambda x: by_maxima(x, depth),
            default=lambda x: _plain_top_k(x, depth),
        )
    if depth * _BLOCK * 8 > x.shape[-1]:
        return _plain_top_k(lax.optimization_barrier(x), depth)
    # The top items lie in the `depth` blocks of the largest maxima, or in what is too
    # short for a block: any other block has that many items before its own. With these
    # blocks in index order, and only they are looked into, the lowest index wins here too.
    head = x.shape[-1] // _BLOCK * _BLOCK
    cut = x[..., :head].reshape((*x.shape[:-1], head // _BLOCK, _BLOCK))
    _, blocks = _plain_top_k(jnp.max(cut, axis=-1), depth)
    blocks = lax.sort(blocks, dimension=-1)
    here = lax.broadcasted_iota(jnp.int32, (*blocks.shape, _BLOCK), x.ndim)
    inside = blocks[..., None] * _BLOCK + here
    rest = lax.broadcasted_iota(jnp.int32, x[..., head:].shape, x.ndim - 1) + head
    places = jnp.concatenate([_arithmetic.merge_last_axes(inside), rest], axis=-1)
    best, chosen = _plain_top_k(_arithmetic.take(x, places), depth)
    return best, _arithmetic.take(places, chosen)


def _plain_top_k(x: jax.Array, depth: int) -> tuple[jax.Array, jax.Array]:
    # XLA finds its top-k among sorts that are sliced. A slice of the result, moved into
    # that slice, would hide it, and the whole list would be sorted. One barrier each:
    # XLA's partitioner aborts where one takes both results of a top-k.
    best, indices = lax.top_k(x, depth)
    return lax.optimization_barrier(best), lax.optimization_barrier(indices)
