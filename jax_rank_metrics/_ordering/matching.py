"""The same ids in two lists."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering.sort import sort_by


class Matched(NamedTuple):
    """What is in the first list and in the second, rank for rank.

    Ids below 0 and those that their list has before have no rank; later ones move up.
    """

    ranks: jax.Array  # [*lists, firsts] int32, of ids in the first list; from 1, 0 none
    others: jax.Array  # [*lists, firsts] int32, of the same ids in the second; 0 none
    length: jax.Array  # [*lists] int32, how many ranks the first list has
    other_length: jax.Array  # [*lists] int32, how many the second has
    deepest: int  # no list has more ranks

    @property
    def common(self) -> jax.Array:
        """Which of the first ids are in both lists."""
        return self.others > 0


def match(first: jax.Array, second: jax.Array) -> Matched:
    """Finds every id of one list in another, by one sort of both together.

    Args:
        first: `[*lists, firsts]` integers, below 0 where there is none; `firsts` ≥ 1.
        second: `[*lists, seconds]` of the same dtype; `seconds` ≥ 1.
    """
    firsts = first.shape[-1]
    ids = jnp.maximum(jnp.concatenate([first, second], axis=-1), -1)
    ranked, places = sort_by([ids])
    # Equal ids stand together, those of the first list first, each list in rank order.
    begins = ranked != _arithmetic.shifted(ranked, 1, -2)
    second_here = places >= firsts
    second_before = _arithmetic.shifted(places, 1) >= firsts
    head = jnp.where(second_here, begins | ~second_before, begins) & (ranked >= 0)
    # A number for every id, under which the second list leaves where it has it.
    number = _arithmetic.cumulative_count(begins) - 1
    where = scattered(number, places - firsts, head & second_here, ids.shape[-1])
    found = jnp.where(head, _arithmetic.take(where, number), -2)
    found = scattered(places, found, jnp.ones_like(head), ids.shape[-1])
    head, found = found > -2, found[..., :firsts]
    first_ranks, second_ranks = (
        jnp.where(own, _arithmetic.cumulative_count(own), 0)
        for own in (head[..., :firsts], head[..., firsts:])
    )
    others = _arithmetic.take(second_ranks, jnp.maximum(found, 0))
    return Matched(
        first_ranks,
        jnp.where(found >= 0, others, 0),
        jnp.max(first_ranks, axis=-1),
        jnp.max(second_ranks, axis=-1),
        max(firsts, second.shape[-1]),
    )


def scattered(
    places: jax.Array, values: jax.Array, where: jax.Array, size: int
) -> jax.Array:
    """`values` at their places of new lists of a size, −1 where there is none.

    Args:
        places: `[*lists, items]`, distinct in each list where `where` holds.
        values: `[*lists, items]` int32.
        where: `[*lists, items]` bool.
        size: How long the new lists are.
    """
    none = jnp.full((*places.shape[:-1], size), -1, values.dtype)
    none = _mesh.match_varying(none, (places, values, where))
    places = jnp.where(where, places, size)
    return jnp.put_along_axis(none, places, values, axis=-1, inplace=False, mode="drop")
