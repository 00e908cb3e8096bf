"""The tie groups of a few items, by comparing all pairs.

Throughout, five items with the keys 9 7 7 7 4 serve as the example, as in `tie_groups`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._places.place import Place, at_first_ranks
from jax_rank_metrics._places.tie_groups import TieGroups
from jax_rank_metrics._types import Cut, PositionFn


class Pairs(NamedTuple):
    """Which items tie, and which stand above which; true for pairs of items alone.

    Items stand in front, `[items, items, *lists]`, so that compilers vectorise over lists.
    Axis 0 is the item whose group is sought, axis 1 the one compared with it.
    """

    tied: jax.Array  # bool, both items have the same key
    above: jax.Array  # bool, the compared item has a better key

    @classmethod
    def of(cls, keys: jax.Array, exists: jax.Array) -> "Pairs":
        """Compares items in rank order, `[*lists, items]`."""
        both_exist = _compared(exists) & _sought(exists)
        tied = (_compared(keys) == _sought(keys)) & both_exist
        slots = jnp.broadcast_to(_arithmetic.iota(keys), keys.shape)
        return cls(tied, (_compared(slots) < _sought(slots)) & both_exist & ~tied)

    def groups(self, amounts: Sequence[jax.Array]) -> TieGroups:
        """Returns the groups of the items, with `amounts` added up; see `TieGroups`."""
        return TieGroups(
            _add_up(self.above),
            _add_up(self.tied),
            tuple(_add_up(self.above, x) for x in amounts),
            tuple(_add_up(self.tied, x) for x in amounts),
        )

    def place(self, groups: TieGroups, dtype: DTypeLike) -> Place:
        """Returns places of items that hold the first ranks, one rank after the other.

        The ranks of a place are then those of the items tied with it, so that a function
        of ranks is summed over its place by the same comparisons: in the example, items
        2 to 4 have the place 2 + 3 + 4 each.
        """

        def place_sum(position_fn: PositionFn, k: Cut) -> jax.Array:
            items = self.tied.shape[0]
            values = at_first_ranks(position_fn, items, k, dtype, self.tied.ndim - 1)
            return _add_up(self.tied, values)

        return groups.place(dtype, place_sum)


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
