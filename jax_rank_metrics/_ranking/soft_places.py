"""Items with soft places, for training."""

from collections.abc import Hashable

import jax

from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._places.first_stop import FirstStop
from jax_rank_metrics._places.soft import SoftScores
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking.held import (
    DefiniteRanks,
    FindGroup,
    PlaceReader,
    Summands,
    SumOverPlaces,
    line_of,
)
from jax_rank_metrics._ranking.memo import Memo
from jax_rank_metrics._ranking.straddle import StraddlingGroup

NO_FIRST_STOP = (
    "this metric looks for the first item that stops a user, but soft places have no "
    "first item; leave relax out"
)
NO_ORDER = (
    "this metric needs an order or the ties of items, and soft places have neither; leave "
    "relax out"
)


@pytree("ranks")
class SoftPlaces:
    """Items whose places are real numbers, differentiable in the scores.

    Shapes:
        items: `[*lists, held]`, in any order.
        layout: The layout of `items`.
        soft_scores: The scores that places are computed from.
        ranks: The number of ranks there can be, static.
    """

    items: ItemArrays
    layout: RankedLayout
    soft_scores: SoftScores
    ranks: int

    @property
    def reads_prefix_sums(self) -> bool:
        """False: all pairs of items are compared."""
        return False

    def item_indices(self) -> jax.Array:
        """Raises ValueError: soft places have no order."""
        raise ValueError("items: soft places have no order; rank without relax")

    def in_one_order(self) -> DefiniteRanks:
        """Raises ValueError: soft places have no order."""
        raise ValueError(NO_ORDER)

    def straddling_group(self, find: FindGroup) -> None:
        """Returns None: every item is held."""
        del find

    def place_reader(self, memo: Memo, counting: Hashable) -> PlaceReader:
        """Prepares places that are sums over all other items."""

        def read(summands: Summands, sum_over: SumOverPlaces) -> jax.Array:
            line = line_of(self, summands)
            # The functions identify the amounts, so that metrics share one comparison of
            # all pairs.
            place = memo.once(("soft", counting), lambda: self.soft_scores.place(line))
            return sum_over(place, summands.values)

        return read

    def first_stop(
        self, stop: jax.Array, straddling: StraddlingGroup | None
    ) -> FirstStop:
        """Raises ValueError: soft places have no first item."""
        raise ValueError(NO_FIRST_STOP)

    def tie_bounds(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Raises ValueError: soft places do not tie."""
        raise ValueError(
            "this metric compares pairs of items, but soft places have no order to "
            "compare; leave relax out"
        )

    def above_and_tied(self, memo: Memo) -> tuple[jax.Array, jax.Array]:
        """Raises ValueError: soft places do not tie."""
        return self.tie_bounds(memo)
