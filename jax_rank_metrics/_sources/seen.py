"""The items of a catalogue that its first pass has seen: relevant ones, and totals."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._ordering.candidates import Candidates
from jax_rank_metrics._sources.blocks import Block
from jax_rank_metrics._sources.lists import Relevant, has_nan
from jax_rank_metrics._types import AxisNames


class Seen(NamedTuple):
    """The relevant items in the blocks so far, and totals of all items in them."""

    keys: jax.Array  # [*lists, relevant], of their scores; the least without a rank
    exists: jax.Array  # [*lists, relevant] bool, which were found
    length: jax.Array  # [*lists] int32, how many items exist
    # Which of the relevant items that were found have a rank, and how many of all items
    # have one, in the same shapes; None where all of them have.
    retrieved: tuple[jax.Array, jax.Array] | None
    memberships: jax.Array | None  # [*lists, groups], their totals; None without groups
    # [*lists] bool, whether a score that was read is no number; None where the first ranks
    # say so, or scores are integers.
    has_nan: jax.Array | None

    @classmethod
    def empty(
        cls,
        relevant: Relevant,
        padding: Candidates,
        looks_for_nan: bool,
        some_lack_ranks: bool,
    ) -> "Seen":
        """Returns what was seen before the first block.

        Args:
            relevant: The relevant items.
            padding: `[*lists, relevant]`, candidates of which none exists.
            looks_for_nan: Whether to look for scores that are no numbers.
            some_lack_ranks: Whether items of the pool may have no rank.
        """
        exists, memberships = padding.items.exists, None
        lists = exists.shape[:-1]
        if relevant.item_groups is not None:
            groups = relevant.item_groups
            memberships = jnp.zeros((*lists, groups.shape[-1]), groups.dtype)
        length = jnp.zeros(lists, jnp.int32)
        nan_found = jnp.zeros(lists, bool) if looks_for_nan else None
        retrieved = (exists, length) if some_lack_ranks else None
        return cls(padding.keys, exists, length, retrieved, memberships, nan_found)

    @property
    def has_rank(self) -> jax.Array:
        """The relevant items that were found and have a rank, `[*lists, relevant]` bool."""
        return self.exists if self.retrieved is None else self.retrieved[0]

    @property
    def num_ranked(self) -> jax.Array:
        """The number of items that have a rank, `[*lists]` int32."""
        return self.length if self.retrieved is None else self.retrieved[1]

    def extended(self, block: Block, ids: jax.Array, is_judged: jax.Array) -> "Seen":
        """Returns what was seen after a further block.

        Args:
            block: The block.
            ids: `[*lists, relevant]`, of the relevant items.
            is_judged: `[*lists, relevant]` bool, which of these are no padding.
        """
        exists, has_rank, keys = block.look_up(ids)
        exists = exists & is_judged
        keys = jnp.where(exists, keys, self.keys)
        retrieved = self.retrieved
        if retrieved is not None and has_rank is not None:
            number = retrieved[1] + _arithmetic.count(block.has_rank)
            retrieved = retrieved[0] | (has_rank & is_judged), number
        memberships = self.memberships
        if memberships is not None and block.memberships is not None:
            of_block = jnp.broadcast_to(block.memberships, memberships.shape)
            memberships = memberships + of_block
        length, nan_found = self.length + block.length, self.has_nan
        if nan_found is not None:
            in_block = has_nan(block.scores, block.has_rank, Rows())
            assert in_block is not None
            nan_found = nan_found | in_block
        exists = self.exists | exists
        return Seen(keys, exists, length, retrieved, memberships, nan_found)

    def over_devices(self, items_axis: AxisNames) -> "Seen":
        """Returns what all devices saw, each of which has a part of the items."""
        exists, nan_found = _mesh.any_over(self.exists, items_axis), self.has_nan
        # One device at most holds an item; on all others its key is the least.
        keys = lax.pmax(self.keys, items_axis)
        length, retrieved = lax.psum(self.length, items_axis), self.retrieved
        if retrieved is not None:
            has_rank = _mesh.any_over(retrieved[0], items_axis)
            retrieved = has_rank, lax.psum(retrieved[1], items_axis)
        memberships = self.memberships
        if memberships is not None:
            memberships = lax.psum(memberships, items_axis)
        if nan_found is not None:
            nan_found = _mesh.any_over(nan_found, items_axis)
        return Seen(keys, exists, length, retrieved, memberships, nan_found)
