"""The ranks of the same ids in two lists."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.ordering.sort import sort_by
from jax_rank_metrics._ground import arithmetic, meshes


class RanksInBoth(NamedTuple):
    """The ranks that the ids of a first list have there and in a second list.

    Ids below 0 and repetitions of an id have no rank; the ids after them move up.
    """

    first_ranks: jax.Array  # [*lists, firsts] int32, from 1; 0 for ids without a rank
    second_ranks: jax.Array  # [*lists, firsts] int32, for the same ids; 0 if absent
    first_length: jax.Array  # [*lists] int32, how many ranks the first list has
    second_length: jax.Array  # [*lists] int32, how many ranks the second list has
    max_length: int  # an upper bound of both lengths, static

    @property
    def in_both(self) -> jax.Array:
        """True for ids of the first list that are in both, `[*lists, firsts]` bool."""
        return self.second_ranks > 0


def match(first: jax.Array, second: jax.Array) -> RanksInBoth:
    """Finds every id of one list in another list, by one sort of the ids of both.

    Args:
        first: `[*lists, firsts]` integers, below 0 in empty slots; `firsts` ≥ 1.
        second: `[*lists, seconds]` of the same dtype; `seconds` ≥ 1.
    """
    # A worked example on the right: first = [5, 2, 3], second = [2, 5].
    firsts = first.shape[-1]
    ids = jnp.maximum(jnp.concatenate([first, second], axis=-1), -1)  #   [5 2 3 2 5]
    size = ids.shape[-1]
    # Equal ids become neighbours, ids of the first list before ids of the second.
    sorted_ids, indices = sort_by([ids])  #                [5 5 3 2 2] and [0 4 2 1 3]
    starts_id = sorted_ids != arithmetic.shifted(sorted_ids, 1, -2)  #   [T F T T F]
    is_from_second = indices >= firsts  #                                 [F T F F T]
    previous_is_from_second = arithmetic.shifted(indices, 1) >= firsts
    is_first_occurrence = starts_id | (is_from_second & ~previous_is_from_second)
    is_first_occurrence = is_first_occurrence & (sorted_ids >= 0)  #      [T T T T T]
    # Number distinct ids in sorted order. At the number of an id, store its index in the
    # second list, or -1 if that list lacks it.
    id_number = arithmetic.cumulative_count(starts_id) - 1  #            [0 0 1 2 2]
    index_in_second = scattered(  #                                       [1 - 0 - -]
        id_number, indices - firsts, is_first_occurrence & is_from_second, size
    )
    # Back to the order of the input; -2 if an id has no rank in its own list.
    matches = arithmetic.take(index_in_second, id_number)
    matches = jnp.where(is_first_occurrence, matches, -2)
    put_all = jnp.ones_like(is_first_occurrence)
    matches = scattered(indices, matches, put_all, size)  #               [1 0 - 0 1]
    has_rank = matches > -2
    ranks_in_first, ranks_in_second = (  #                      [1 2 3] and [1 2]
        jnp.where(exists, arithmetic.cumulative_count(exists), 0)
        for exists in (has_rank[..., :firsts], has_rank[..., firsts:])
    )
    matches = matches[..., :firsts]
    matched_ranks = arithmetic.take(ranks_in_second, jnp.maximum(matches, 0))
    return RanksInBoth(
        ranks_in_first,
        jnp.where(matches >= 0, matched_ranks, 0),  #                        [2 1 0]
        jnp.max(ranks_in_first, axis=-1),
        jnp.max(ranks_in_second, axis=-1),
        max(firsts, second.shape[-1]),
    )


def scattered(
    indices: jax.Array, values: jax.Array, where: jax.Array, size: int
) -> jax.Array:
    """Scatters `values` into new lists `[*lists, size]`, -1 in all other slots.

    Args:
        indices: `[*lists, items]`, distinct in each list among values to put.
        values: `[*lists, items]` int32.
        where: `[*lists, items]` bool, true for values to put.
        size: The length of the new lists.
    """
    empty = jnp.full((*indices.shape[:-1], size), -1, values.dtype)
    empty = meshes.match_varying(empty, (indices, values, where))
    indices = jnp.where(where, indices, size)  # beyond the end, and so dropped
    return arithmetic.put(empty, indices, values)
