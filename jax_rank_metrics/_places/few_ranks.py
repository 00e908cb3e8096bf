"""The tie groups of a few items, by comparing all pairs.

Throughout, five items with the keys 9 7 7 7 4 serve as the example, as in `tie_groups`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._places import few_ranks_cpu
from jax_rank_metrics._places.place import Place, at_first_ranks, sum_of_many
from jax_rank_metrics._places.tie_groups import TieGroups
from jax_rank_metrics._types import Cut, PositionFn


class Pairs(NamedTuple):
    """Items in rank order of which all pairs are compared, or their bits on CPU.

    In pairs, items stand in front, `[items, items, *lists]`, so that compilers vectorise
    over lists. Axis 0 is the item whose group is sought, axis 1 the one compared with it.
    """

    keys: jax.Array  # [*lists, items]
    exists: jax.Array  # [*lists, items] bool

    def groups(self, amounts: Sequence[jax.Array]) -> TieGroups:
        """Returns the groups of the items, with `amounts` added up; see `TieGroups`."""
        find = _groups_of
        if not self._is_small:
            find = partial(
                lax.platform_dependent, cpu=few_ranks_cpu.groups_of, default=_groups_of
            )
        return TieGroups(*find(*self, tuple(amounts)))

    def place(self, groups: TieGroups, dtype: DTypeLike) -> Place:
        """Returns places of items that hold the first ranks, one rank after the other.

        The ranks of a place are then those of the items tied with it, so that a function
        of ranks is summed over its place by the same comparisons: in the example, items
        2 to 4 have the place 2 + 3 + 4 each.
        """
        size, axes = self.keys.shape[-1], self.keys.ndim
        sum_on_cpu = sum_of_many(groups.above, groups.tied, size, dtype)

        def place_sum(position_fn: PositionFn, k: Cut) -> jax.Array:
            def sum_of_tied() -> jax.Array:
                values = at_first_ranks(position_fn, size, k, dtype, axes)
                return _add_up(_tied(*self), values)

            if self._is_small:
                return sum_of_tied()
            return lax.platform_dependent(
                cpu=lambda: sum_on_cpu(position_fn, k), default=sum_of_tied
            )

        return groups.place(dtype, place_sum)

    @property
    def _is_small(self) -> bool:
        return _arithmetic.is_small(self.keys, self.keys.shape[-1])


def _groups_of(
    keys: jax.Array, exists: jax.Array, amounts: Sequence[jax.Array]
) -> tuple[Any, ...]:
    tied = _tied(keys, exists)
    slots = jnp.broadcast_to(_arithmetic.iota(keys), keys.shape)
    both_exist = _compared(exists) & _sought(exists)
    above = (_compared(slots) < _sought(slots)) & both_exist & ~tied
    return (
        _add_up(above),
        _add_up(tied),
        tuple(_add_up(above, x) for x in amounts),
        tuple(_add_up(tied, x) for x in amounts),
    )


def _tied(keys: jax.Array, exists: jax.Array) -> jax.Array:
    both_exist = _compared(exists) & _sought(exists)
    return (_compared(keys) == _sought(keys)) & both_exist


def _sought(x: jax.Array) -> jax.Array:
    return jnp.moveaxis(x, -1, 0)[:, None]


def _compared(x: jax.Array) -> jax.Array:
    return jnp.moveaxis(x, -1, 0)[None, :]


def _add_up(pairs: jax.Array, amounts: jax.Array | None = None) -> jax.Array:
    """Adds up the amounts of the compared items, or counts these, `[*lists, items]`."""
    if amounts is None:
        terms = pairs
    elif amounts.dtype == jnp.bool_:
        terms = pairs & _compared(amounts)
    else:
        terms = jnp.where(pairs, _compared(amounts), 0)
    is_counted = terms.dtype == jnp.bool_
    # Counted as floats, in one loop with sums of floats.
    sums = jnp.sum(terms.astype(jnp.float32) if is_counted else terms, axis=1)
    return jnp.moveaxis(sums.astype(jnp.int32) if is_counted else sums, 0, -1)
