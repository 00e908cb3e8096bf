"""A catalogue of items, scored in blocks, and computations per shard of a catalogue."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec

from jax_rank_metrics._engine.ordering import keys, policies
from jax_rank_metrics._engine.sources import item_columns, similarities
from jax_rank_metrics._engine.sources.attributes import by_attributes, labels_of_block
from jax_rank_metrics._engine.sources.lists import Relevant
from jax_rank_metrics._ground import arithmetic, meshes, pytrees, shards, types


class Block(NamedTuple):
    """Items of the catalogue with consecutive ids, scored for every list."""

    scores: jax.Array  # [*lists, block]
    exists: jax.Array  # [block] or [*lists, block], true for items in the pool
    # [*lists, block], true for items with a rank; None if every item that exists has one.
    retrieved: jax.Array | None
    is_masked: bool  # true if a mask, excluded ids or labels may remove items
    length: jax.Array  # how many items exist: [*lists], or a scalar for all lists
    first_id: jax.Array
    first_new_id: jax.Array  # items before it were in an earlier block
    labels: jax.Array | None  # [*lists, block], from `label_fn`; None with relevant ids
    # [*lists], true if `label_fn` removes an item by a label below 0 or NaN; None if labels
    # are bools, or relevance is by ids.
    loses_items: jax.Array | None
    # A dict from item columns to their totals, [*lists, …], or […] for all lists.
    totals: dict[str, jax.Array]

    @property
    def has_rank(self) -> jax.Array:
        """True for items that have a rank, `[block]` or `[*lists, block]` bool."""
        return self.exists if self.retrieved is None else self.retrieved

    def offsets(self, ids: jax.Array) -> jax.Array:
        """Returns the offset of each id in the block; the block's size for other ids.

        In a block of the items 40, 41 and 42, the ids [41, 7] have the offsets [1, 3].
        """
        return _offsets(ids, self.first_id, self.scores.shape[-1])

    def introduces(self, ids: jax.Array) -> jax.Array:
        """Returns bools, true for ids that are in this block and in no earlier one."""
        # The last block repeats items that the block before it has introduced.
        is_new = ids >= self.first_new_id.astype(ids.dtype)
        return is_new & (self.offsets(ids) < self.scores.shape[-1])

    def look_up(self, ids: jax.Array) -> tuple[jax.Array, jax.Array | None, jax.Array]:
        """Looks up ids among the items that the block introduces.

        Returns:
            exists: Bool, true for ids of items that the block introduces.
            retrieved: Bool, true if such an item has a rank; None if all have a rank.
            keys: The sort keys of the items' scores; the least key for ids without a rank.
        """
        # Ids that are not in the block read its last item, but `exists` is false for them.
        indices = jnp.minimum(self.offsets(ids), self.scores.shape[-1] - 1)
        exists = self.introduces(ids)
        # Without masks, every item that a block introduces exists, so save a gather.
        if self.is_masked:
            all_exists = jnp.broadcast_to(self.exists, self.scores.shape)
            exists = exists & arithmetic.take(all_exists, indices)
        scores, retrieved = arithmetic.take(self.scores, indices), None
        if self.retrieved is not None:
            retrieved = exists & arithmetic.take(self.retrieved, indices)
        has_rank = exists if retrieved is None else retrieved
        return exists, retrieved, keys.score_key(scores, has_rank)


@pytrees.pytree("block_size", "depth", "items_axis", "judges_unlisted", "skips_inf")
class Catalog:
    """The checked arguments of `rank_catalog` and `rank_scores`.

    A catalogue holds the items of this device, or the part of them that the host has read.

    Attributes:
        queries: `[*lists, …]`; or `[*lists, items]`, known scores.
        items: `[items, …]`.
        similarity: The function that scores queries and items.
        block_size: How many items are scored at a time.
        relevant: The relevant items; no items if relevance is by attributes.
        attributes: The attributes, if relevance is by attributes; else None.
        exclude_ids: `[*lists, excluded]`, the ids of items that leave the list.
        item_mask: `[items]` or `[*lists, items]` bool, true for items that exist.
        list_weights: `[*lists]`.
        depth: How many ranks to find; None to count places instead.
        policy: The tie policy. Before lists are sharded, its seeds are drawn.
        key: The key of random ties.
        items_axis: The mesh axes over which items are sharded; None if they are whole.
        first_id: The id of the first item; not read if `items_axis` is given.
        retrieved: `[*lists, items]` bool, true for items of the pool that have a rank; None
            if all have one.
        skips_inf: True if items with the score −∞ have no rank.
        judges_unlisted: True if items that `relevant` does not list count as judged.
    """

    queries: jax.Array
    items: jax.Array
    similarity: similarities.Similarity
    block_size: int
    relevant: Relevant = dataclasses.field(default_factory=lambda: Relevant.empty(()))
    attributes: by_attributes | None = None
    exclude_ids: jax.Array | None = None
    item_mask: jax.Array | None = None
    list_weights: jax.Array | None = None
    depth: int | None = None
    policy: policies.Policy = policies.Policy(None)
    key: jax.Array | None = None
    items_axis: types.AxisNames | None = None
    first_id: jax.Array | int = 0
    retrieved: jax.Array | None = None
    skips_inf: bool = False
    judges_unlisted: bool = False

    @classmethod
    def of_scores(cls, scores: jax.Array) -> "Catalog":
        """Returns a catalogue of one block, whose scores are known."""
        # Items need no embeddings if their scores are known.
        items = jnp.zeros((scores.shape[-1], 0))
        return cls(scores, items, similarities.Similarity(_known_scores), len(items))

    @property
    def has_scores(self) -> bool:
        """True if `queries` holds known scores."""
        return self.similarity.function is _known_scores

    @property
    def lists_of(self) -> tuple[str, jax.Array | jax.ShapeDtypeStruct]:
        """The name of an array `[*lists, x]`, for messages; and the array, or its type."""
        if self.has_scores:
            return "scores", self.queries
        # Queries of a user's function may have any trailing axes; its scores have one.
        if self.similarity.is_custom:
            return "scores", jax.eval_shape(lambda: self.scores(0))
        if self.similarity.query_axes > 1:
            return "queries", jax.ShapeDtypeStruct(self.queries.shape[:-1], bool)
        return "queries", self.queries

    @property
    def num_items(self) -> int:
        """The number of items that this device holds."""
        return self.items.shape[0]

    @property
    def block_length(self) -> int:
        """The number of items in every block."""
        return min(self.block_size, self.num_items)

    @property
    def num_blocks(self) -> int:
        """The number of blocks that cover the items of this device."""
        return -(-self.num_items // self.block_length)

    def scores(self, start: jax.Array | int) -> jax.Array:
        """Returns the scores of the block of items from `start` on, `[*lists, block]`."""
        items = self.cut(self.items, start, 0)
        # Ranks have no gradient, so stop it here: for a gradient, a scan would keep arrays
        # of all blocks.
        return lax.stop_gradient(self.similarity.scores(self.queries, items))

    def cut(self, x: jax.Array, start: jax.Array | int, axis: int) -> jax.Array:
        """Returns the slice of an array for the block of items from `start` on."""
        if self.num_blocks == 1:
            return x
        return lax.dynamic_slice_in_dim(x, start, self.block_length, axis)

    @property
    def lists(self) -> tuple[int, ...]:
        """The shape of the axes of lists."""
        return self.relevant.ids.shape[:-1]

    @property
    def total_items(self) -> int:
        """The number of items that all devices hold."""
        axis = self.items_axis
        return self.num_items * (1 if axis is None else lax.axis_size(axis))

    def block(self, number: jax.Array) -> Block:
        """Scores block `number`, counted from 0.

        All blocks have the same size, so the last block may begin with items of the block
        before it; `exists` is false for them. Five items in blocks of 2 are [0, 1], [2, 3]
        and [3, 4], and in the last block only item 4 exists.
        """
        size = self.block_length
        first_new = number * size
        start = jnp.minimum(first_new, self.num_items - size)
        scores = self.scores(start)
        exists = start + lax.iota(jnp.int32, size) >= first_new
        if self.item_mask is not None:
            mask = self.cut(self.item_mask, start, self.item_mask.ndim - 1)
            exists = jnp.broadcast_to(exists, mask.shape) & mask
        # A scalar if all lists share the same items, `[*lists]` if they differ.
        length = arithmetic.count(exists)
        id_of_first = jnp.asarray(self.first_id, jnp.int32)
        if self.items_axis is not None:
            # Shards are of equal size, and ids run through the shards of all devices.
            id_of_first = lax.axis_index(self.items_axis) * self.num_items
        first_id = start + id_of_first
        if self.exclude_ids is not None:
            offsets = _offsets(self.exclude_ids, first_id, size)
            exists = jnp.broadcast_to(exists, scores.shape)
            # Excluded ids of other blocks have an offset beyond the end: `put` drops them.
            exists = arithmetic.put(exists, offsets, jnp.zeros(offsets.shape, bool))
            length = arithmetic.count(exists)
        labels = loses_items = None
        if self.attributes is not None:
            labels, has_rank, is_lost = labels_of_block(
                self.attributes, scores.shape[:-1], start, size
            )
            exists = jnp.broadcast_to(exists, scores.shape)
            if is_lost is not None:
                # Test this before labels remove items: masked items do not count as lost.
                loses_items = jnp.any(exists & is_lost, axis=-1)
            exists = exists & has_rank
            length = arithmetic.count(exists)
        retrieved = None
        if self.retrieved is not None or self.skips_inf:
            retrieved = jnp.broadcast_to(exists, scores.shape)
            if self.retrieved is not None:
                axis = self.retrieved.ndim - 1
                retrieved = retrieved & self.cut(self.retrieved, start, axis)
            if self.skips_inf and jnp.issubdtype(scores.dtype, jnp.floating):
                retrieved = retrieved & (scores != -jnp.inf)
        masks = (self.item_mask, self.exclude_ids, labels)
        is_masked = any(array is not None for array in masks)
        return Block(
            scores=scores,
            exists=exists,
            retrieved=retrieved,
            is_masked=is_masked,
            length=length,
            first_id=first_id,
            first_new_id=first_new + id_of_first,
            labels=labels,
            loses_items=loses_items,
            totals=item_columns.totals_of_block(
                self.relevant.item_columns, exists, first_id
            ),
        )

    def loses_items(self) -> jax.Array:
        """Returns `[*lists]` bool, true if negative labels or NaN remove an item.

        Drivers refuse such labels, but a caller may rank with them.
        """
        # One block is enough: labels of several blocks are bools, which are never below 0.
        lost = self.block(jnp.zeros((), jnp.int32)).loses_items
        if lost is None:
            return jnp.zeros(self.lists, bool)
        return (
            lost if self.items_axis is None else meshes.any_over(lost, self.items_axis)
        )

    def has_inf(self) -> jax.Array:
        """Returns `[*lists]` bool, true if a ranked item of the first block scores −∞."""
        block = self.block(jnp.zeros((), jnp.int32))
        return jnp.any(block.has_rank & jnp.isneginf(block.scores), axis=-1)


def _known_scores(scores: jax.Array, items: jax.Array) -> jax.Array:
    """Returns the scores, which a catalogue of one block holds as its queries."""
    del items
    return scores


def _offsets(ids: jax.Array, first_id: jax.Array, length: int) -> jax.Array:
    """Returns `ids - first_id`; `length` if the difference is not in 0 … `length - 1`."""
    # Subtract in the dtype of the ids, because an int64 id wrapped to int32 could seem to
    # be in the block.
    offsets = ids - first_id.astype(ids.dtype)
    is_inside = (offsets >= 0) & (offsets < length)
    return jnp.where(is_inside, offsets, length).astype(jnp.int32)


R = TypeVar("R")


def map_catalog_shards(
    fn: Callable[[Catalog], R], catalog: Catalog, *, has_items: bool = False
) -> R:
    """Computes `fn(catalog)`, shard by shard if arrays are sharded by their types.

    Items stay where they are, because they are most of the data. If both items and queries
    are sharded over one mesh axis, the queries are gathered.

    Args:
        fn: Returns a pytree of arrays `[*lists, …]`. They must be equal on all devices over
            which items are sharded.
        catalog: The catalogue, traced.
        has_items: True if `fn` returns arrays `[*lists, items]` instead.
    """
    leaves, structure = jax.tree.flatten(catalog)
    axes = structure.flatten_up_to(_axes_of(catalog))
    # Leave out "whole" arrays, because they do not tell how to shard the ranking.
    arrays = {
        kind: [
            leaf
            for leaf, leaf_kind in zip(leaves, axes, strict=True)
            if leaf_kind == kind
        ]
        for kind in ("items", "per_item", "per_list")
    }
    cut = shards.cut_of(len(catalog.lists), **arrays)
    if cut is None:
        return fn(catalog)
    # Draw seeds before sharding, so that every list has the same seeds as on one device.
    policy = catalog.policy.drawn(catalog.key, catalog.lists)
    catalog = dataclasses.replace(catalog, policy=policy)
    in_specs = jax.tree.map(
        lambda kind: getattr(cut, kind, PartitionSpec()), _axes_of(catalog)
    )
    return shards.shard_map(
        # If only lists are sharded, every device has all items, so items_axis is None.
        lambda part: fn(dataclasses.replace(part, items_axis=cut.over_items or None)),
        cut.mesh,
        (in_specs,),
        cut.per_item if has_items else cut.per_list,
        catalog,
    )


def _axes_of(catalog: Catalog) -> Catalog:
    """Returns the catalogue, with each array replaced by the name of its spec in `Cut`.

    Arrays that are equal on every device get the name "whole", which is no spec of `Cut`.
    """
    mask = catalog.item_mask
    is_shared = mask is not None and mask.ndim == 1
    kinds = {
        # Known scores, `[*lists, items]`, are stored as `queries`.
        "queries": "per_item" if catalog.has_scores else "per_list",
        "items": "items",
        "similarity": "whole",
        "item_columns": "whole",
        "item_mask": "items" if is_shared else "per_item",
        "retrieved": "per_item",
        "key": "whole",
        "first_id": "whole",
        "item_attributes": "items",
    }

    def kind(path: tuple[Any, ...], _: object) -> str:
        # The name of the catalogue's field, then the name of the field inside that field.
        names = [getattr(key, "name", None) for key in path[:2]]
        return next((kinds[name] for name in names if name in kinds), "per_list")

    return jax.tree_util.tree_map_with_path(kind, catalog)
