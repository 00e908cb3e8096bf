"""The data of lists in rank order, as sources make it and every formula reads it."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._items import RawItems
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking.pool import Pool, StopFinder
from jax_rank_metrics._ranking.ranked import RANK_MORE, Ranked, UnknownPlaceError


@pytree("ties", "cut", "partial_columns", "label_dtype")
class RankingData:
    """Items with places, and the pool of judged items that they came from.

    Attributes:
        held: The items that have places; None where nothing was ordered.
        pool: All judged items; None where only the number of relevant ones is known.
        length: `[*lists]` int32, how many items have a rank.
        list_exists: `[*lists]` bool, whether any item of the list was judged.
        list_weights: `[*lists]`; None where the weights of items, if any, imply it.
        ties: The name of the tie policy; "none" or "tied" where there were no scores.
        pool_scores: The scores of the pool, or what reads them again; None where they
            are unknown or of no use.
        known_relevant: `[*lists]` int32, the number of relevant items that the caller
            stated; None where they are counted in the pool.
        cut: The number of ranks held of every list; None if all.
        partial_columns: The names of the columns that are known of listed items alone,
            and 0 for all others.
        label_dtype: The dtype in which labels were passed, if these are widened floats.
        has_nan: `[*lists]` bool, whether the score of an item that may have a rank is no
            number; None where scores are integers, or where there were none.
    """

    held: Ranked | None
    pool: Pool | None
    length: jax.Array
    list_exists: jax.Array
    list_weights: jax.Array | None
    ties: str | None
    pool_scores: StopFinder | None = None
    known_relevant: jax.Array | None = None
    cut: int | None = None
    partial_columns: tuple[str, ...] = ()
    has_nan: jax.Array | None = None
    label_dtype: str | None = None

    @property
    def items(self) -> jax.Array:
        """Which item is at each rank; see `Ranking.items`."""
        if self.held is None:
            raise ValueError(
                "items: this ranking counted places and has no order; rank with a k"
            )
        return self.held.item_indices

    @property
    def packed_layout(self) -> Packed | None:
        """The layout of the items held, if lists are packed; else None."""
        layout = None if self.held is None else self.held.layout
        return layout if isinstance(layout, Packed) else None

    @property
    def dtype(self) -> jnp.dtype:
        """The float dtype of values."""
        if self.held is not None:
            return self.held.items.labels.dtype
        items = self.judged_pool().items
        # Raw labels are as passed, perhaps integers; `dtype` is what they are read in.
        if isinstance(items, RawItems):
            return jnp.dtype(items.dtype)
        return items.labels.dtype

    @property
    def column_names(self) -> list[str]:
        """The names of the columns that items have."""
        part = self.held or self.pool
        return [] if part is None else list(part.items.columns)

    @property
    def has_item_weights(self) -> bool:
        """Whether items have weights."""
        return self.pool is not None and self.pool.items.weights is not None

    @property
    def omits_unlisted(self) -> bool:
        """Whether unlisted items (label 0) rank, but their places are not held."""
        return self.pool is not None and self.pool.layout.omits_unlisted

    @property
    def averaged_columns(self) -> tuple[str, ...]:
        """The columns of which a slot of the pool holds a mean of many items."""
        return () if self.pool is None else self.pool.layout.averaged_columns

    @property
    def max_items(self) -> int | None:
        """The largest number of items a list can have, static; None if unknown."""
        if self.pool is None:
            return None
        # The pool of a catalogue has few slots for many ranks; a cut holds few ranks.
        ranks = 0 if self.held is None else self.held.ranks
        return max(ranks, self.pool.items.labels.shape[-1])

    @property
    def is_soft(self) -> bool:
        """Whether places are soft, as `relax` makes them."""
        return self.held is not None and self.held.soft is not None

    def judged_pool(self) -> Pool:
        """Returns the pool; raises where the labels of judged items are not known."""
        if self.pool is None:
            raise ValueError(
                "pool_labels is None, but this metric reads the labels of every judged "
                "item; pass pool_labels"
            )
        return self.pool

    def check_complete(self, column: str) -> None:
        """Raises unless a column is known of every item, and every item has a place.

        For formulas that read the column of all items, relevant or not.
        """
        if self.omits_unlisted:
            raise UnknownPlaceError(
                f"the column {column!r} is read at every rank, but this ranking holds only "
                f"the places of listed items; {RANK_MORE}"
            )
        if column in self.partial_columns:
            raise UnknownPlaceError(
                f"the column {column!r} is known of the listed items alone, and would be 0 "
                "for all others; rank all items"
            )
