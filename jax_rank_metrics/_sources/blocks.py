"""A catalogue of items, and its scores, a block of items at a time."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering.keys import score_key
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._sources.item_groups import memberships_of
from jax_rank_metrics._sources.labels import Labeller
from jax_rank_metrics._sources.lists import Relevant
from jax_rank_metrics._types import AxisNames


class Block(NamedTuple):
    """Items of the catalogue with consecutive ids, scored for every list."""

    scores: jax.Array  # [*lists, block]
    exists: jax.Array  # [block] or [*lists, block]
    is_masked: bool  # whether items may be missing that no earlier block had
    length: jax.Array  # [*lists], or () for all lists: how many items exist
    first_id: jax.Array
    first_new_id: jax.Array  # the items before it were in an earlier block
    labels: jax.Array | None  # [*lists, block], of a labeller; None beside relevant ids
    # [*lists], whether `label_fn` removes an item by a label below 0 or NaN; None if never.
    loses_items: jax.Array | None
    memberships: jax.Array | None  # [*lists, groups], or [groups] for all lists: totals

    def offsets(self, ids: jax.Array) -> jax.Array:
        """Returns the offsets of ids in the block, its size where they are not in it.

        In a block of the items 40, 41 and 42, the ids [41, 7] have the offsets [1, 3].
        """
        return _offsets(ids, self.first_id, self.scores.shape[-1])

    def introduces(self, ids: jax.Array) -> jax.Array:
        """Whether each id is in this block and in none before it, bool."""
        is_new = ids >= self.first_new_id.astype(ids.dtype)
        return is_new & (self.offsets(ids) < self.scores.shape[-1])

    def look_up(self, ids: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns which ids are of items that the block introduces, and their keys.

        The keys are those of their scores, and the least one for all other ids.
        """
        indices = jnp.minimum(self.offsets(ids), self.scores.shape[-1] - 1)
        exists = self.introduces(ids)
        if self.is_masked:
            all_exists = jnp.broadcast_to(self.exists, self.scores.shape)
            exists = exists & _arithmetic.take(all_exists, indices)
        scores = _arithmetic.take(self.scores, indices)
        return exists, score_key(scores, exists)


@pytree("score_fn", "block_size", "depth", "policy", "items_axis", "looks_for_nan")
class Catalog:
    """The arguments of `rank_catalog` and `rank_scores`, checked.

    The items are those that this device holds, or a part of them that the host has read.
    They are scored in blocks.
    """

    queries: jax.Array
    items: jax.Array
    relevant: Relevant
    exclude_ids: jax.Array | None
    item_mask: jax.Array | None
    list_weights: jax.Array | None
    key: jax.Array | None
    score_fn: Callable[[jax.Array, jax.Array], jax.Array]
    block_size: int
    depth: int | None  # how many ranks; None counts places instead
    policy: Policy
    items_axis: AxisNames | None
    first_id: jax.Array | int = 0  # the id of the first item, without `items_axis`
    labeller: Labeller | None = None  # labels all items, so that no ids are listed
    # Whether rankings say which lists read scores that are no numbers.
    looks_for_nan: bool = False
    # `[*lists, 2]`, where lists are cut over devices; see `seeds`.
    drawn_seeds: jax.Array | None = None

    def with_distinct_ids(self) -> "Catalog":
        """Returns the catalogue with relevant ids that do not repeat in a list."""
        return dataclasses.replace(self, relevant=self.relevant.distinct())

    @property
    def lists(self) -> tuple[int, ...]:
        """The shape of the axes of lists."""
        return self.relevant.ids.shape[:-1]

    @property
    def seeds(self) -> jax.Array | None:
        """Numbers that make the hashes of tied items random; see `Policy.seeds`."""
        if self.drawn_seeds is not None:
            return self.drawn_seeds
        return self.policy.seeds(self.key, self.lists)

    @property
    def local_items(self) -> int:
        """The number of items that this device holds."""
        return self.items.shape[0]

    @property
    def total_items(self) -> int:
        """The number of items that all devices hold."""
        axis = self.items_axis
        return self.local_items * (1 if axis is None else lax.axis_size(axis))

    @property
    def block_length(self) -> int:
        """The number of items in every block."""
        return min(self.block_size, self.local_items)

    @property
    def num_blocks(self) -> int:
        """The number of blocks that cover the items of this device."""
        return -(-self.local_items // self.block_length)

    def scores(self, start: jax.Array | int) -> jax.Array:
        """Scores the block of items that begins at an index, `[*lists, block]`."""
        items = self._slice(self.items, start, 0)
        return lax.stop_gradient(self.score_fn(self.queries, items))

    def block(self, number: jax.Array) -> Block:
        """Scores the block of this number, from 0.

        All blocks have the same size. So the last one begins with items that were in the
        block before, which do not exist in it: 5 items in blocks of 2 are [0, 1], [2, 3]
        and [3, 4], and in the last of them only item 4 exists.
        """
        first_new = number * self.block_length
        start = jnp.minimum(first_new, self.local_items - self.block_length)
        scores = self.scores(start)
        exists = start + lax.iota(jnp.int32, self.block_length) >= first_new
        if self.item_mask is not None:
            mask = self._slice(self.item_mask, start, self.item_mask.ndim - 1)
            exists = jnp.broadcast_to(exists, mask.shape) & mask
        length = _arithmetic.count(exists)
        id_of_first = jnp.asarray(self.first_id, jnp.int32)
        if self.items_axis is not None:
            id_of_first = lax.axis_index(self.items_axis) * self.local_items
        first_id = start + id_of_first
        if self.exclude_ids is not None:
            offsets = _offsets(self.exclude_ids, first_id, self.block_length)
            exists = jnp.broadcast_to(exists, scores.shape)
            exists = put(exists, offsets, jnp.zeros(offsets.shape, bool))
            length = _arithmetic.count(exists)
        labels = loses_items = None
        if self.labeller is not None:
            lists, size = scores.shape[:-1], self.block_length
            labels, has_rank, is_lost = self.labeller.labels(lists, start, size)
            exists = jnp.broadcast_to(exists, scores.shape)
            if is_lost is not None:
                loses_items = jnp.any(exists & is_lost, axis=-1)
            exists = exists & has_rank
            length = _arithmetic.count(exists)
        masks = (self.item_mask, self.exclude_ids, labels)
        is_masked = any(x is not None for x in masks)
        memberships = None
        if self.relevant.item_groups is not None:
            ids = first_id + lax.iota(jnp.int32, self.block_length)
            memberships = memberships_of(self.relevant.item_groups, ids)
            memberships = _arithmetic.dot(exists.astype(memberships.dtype), memberships)
        return Block(
            scores=scores,
            exists=exists,
            is_masked=is_masked,
            length=length,
            first_id=first_id,
            first_new_id=first_new + id_of_first,
            labels=labels,
            loses_items=loses_items,
            memberships=memberships,
        )

    def loses_items(self) -> jax.Array:
        """Whether `label_fn` removes items by labels below 0 or NaN, `[*lists]` bool.

        Only rankings that a caller makes may have such labels.
        """
        start = jnp.zeros(self.lists, bool)
        if jax.eval_shape(lambda: self.block(jnp.int32(0)).loses_items) is None:
            return start

        def step(lost: jax.Array, number: jax.Array) -> tuple[jax.Array, None]:
            in_block = self.block(number).loses_items
            assert in_block is not None
            return lost | in_block, None

        arrays = (self.queries, self.items, self.item_mask, self.exclude_ids)
        start = _mesh.match_varying(start, (arrays, self.labeller))
        numbers = jnp.arange(self.num_blocks, dtype=jnp.int32)
        lost = lax.scan(step, start, numbers)[0]
        if self.items_axis is None:
            return lost
        return _mesh.any_over(lost, self.items_axis)

    def _slice(self, x: jax.Array, start: jax.Array | int, axis: int) -> jax.Array:
        if self.num_blocks == 1:
            return x
        return lax.dynamic_slice_in_dim(x, start, self.block_length, axis)


def has_nan(scores: jax.Array, exists: jax.Array) -> jax.Array:
    """Whether a score of an item that exists is no number, `[*lists]` bool.

    Args:
        scores: `[*lists, items]`.
        exists: Bool, `[*lists, items]` or `[items]`.
    """
    nowhere = jnp.zeros(scores.shape[:-1], bool)
    if not jnp.issubdtype(scores.dtype, jnp.floating):
        return nowhere
    # A sum, which is quick, is NaN wherever a score is. Where infinite scores or those of
    # missing items make it so, the scores are looked at.
    may_be = _mesh.unvmap_any(jnp.isnan(jnp.sum(scores, axis=-1)))
    return lax.cond(
        may_be,
        lambda: jnp.any(
            jnp.isnan(scores) & jnp.broadcast_to(exists, scores.shape), axis=-1
        ),
        lambda: _mesh.match_varying(nowhere, (scores, exists)),
    )


def known_scores(scores: jax.Array, items: jax.Array) -> jax.Array:
    """Returns the scores of a catalogue of one block, which were passed as queries."""
    del items
    return scores


def put(x: jax.Array, offsets: jax.Array, values: jax.Array) -> jax.Array:
    """Puts values at offsets of the last axis; offsets beyond its end are dropped."""
    return jnp.put_along_axis(x, offsets, values, axis=-1, inplace=False, mode="drop")


def _offsets(ids: jax.Array, first_id: jax.Array, length: int) -> jax.Array:
    """Returns `ids - first_id`, or `length` where that is not from 0 to `length - 1`."""
    offsets = ids - first_id.astype(ids.dtype)
    is_inside = (offsets >= 0) & (offsets < length)
    return jnp.where(is_inside, offsets, length).astype(jnp.int32)
