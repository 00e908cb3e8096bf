"""The scores of a catalogue, a block of items at a time."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._sources.lists import Relevant


class Block(NamedTuple):
    """Some items of the catalogue, scored for every list."""

    scores: jax.Array  # [*lists, block]
    exists: jax.Array  # [*lists, block]
    length: jax.Array  # [*lists] or one for all, how many exist
    first: jax.Array  # the id of the first
    fresh: jax.Array  # the first id that no earlier block held

    def place(self, ids: jax.Array) -> jax.Array:
        """Where in the block ids are; beyond its end for those that are not."""
        return _place(ids, self.first, self.scores.shape[-1])


@pytree("score_fn", "block_size", "depth", "ties", "items_axis")
class Catalog:
    """Arguments of `rank_catalog` and `rank_scores`.

    The items are those that this device holds, cut into blocks. What both take is first
    as it was passed, and then checked.
    """

    queries: jax.Array
    items: jax.Array
    relevant: Relevant
    exclude_ids: Any
    item_mask: jax.Array | None
    list_weights: Any
    key: Any
    score_fn: Callable[[jax.Array, jax.Array], jax.Array]
    block_size: int
    depth: Any  # how many ranks; None counts
    ties: Any
    items_axis: Any

    @property
    def here(self) -> int:
        """How many items this device holds."""
        return self.items.shape[0]

    @property
    def total(self) -> int:
        """How many items all devices hold."""
        axis = self.items_axis
        return self.here * (1 if axis is None else lax.axis_size(axis))

    @property
    def size(self) -> int:
        """How many items a block has."""
        return min(self.block_size, self.here)

    @property
    def number(self) -> int:
        """How many blocks cover them."""
        return -(-self.here // self.size)

    def scores(self, start: jax.Array | int) -> jax.Array:
        """Of the items of a block, by the first of these."""
        items = self._part(self.items, start, 0)
        return lax.stop_gradient(self.score_fn(self.queries, items))

    def block(self, number: jax.Array) -> Block:
        """Scores one block. The last one reaches back over items seen before."""
        fresh = number * self.size
        start = jnp.minimum(fresh, self.here - self.size)
        scores = self.scores(start)
        exists = start + lax.iota(jnp.int32, self.size) >= fresh
        if self.item_mask is not None:
            mask = self._part(self.item_mask, start, self.item_mask.ndim - 1)
            exists = jnp.broadcast_to(exists, mask.shape) & mask
        length = _arithmetic.count(exists)
        exists = jnp.broadcast_to(exists, scores.shape)
        before = 0
        if self.items_axis is not None:
            before = lax.axis_index(self.items_axis) * self.here
        first = start + before
        if self.exclude_ids is not None:
            place = _place(self.exclude_ids, first, self.size)
            exists = put(exists, place, jnp.zeros(place.shape, bool))
            length = _arithmetic.count(exists)
        return Block(scores, exists, length, first, fresh + before)

    def _part(self, x: jax.Array, start: jax.Array | int, axis: int) -> jax.Array:
        if self.number == 1:
            return x
        return lax.dynamic_slice_in_dim(x, start, self.size, axis)


def products(queries: jax.Array, items: jax.Array) -> jax.Array:
    """The product of each query with each item, in a dtype that holds it."""
    dtypes = (queries.dtype, items.dtype)
    floats = any(jnp.issubdtype(dtype, jnp.floating) for dtype in dtypes)
    wide = any(dtype.itemsize == 8 for dtype in dtypes)
    dtype = jnp.dtype(f"{'float' if floats else 'int'}{64 if wide else 32}")
    if queries.dtype != items.dtype or queries.dtype == jnp.bool_:
        queries, items = queries.astype(dtype), items.astype(dtype)
    return lax.dot_general(
        queries,
        items,
        (((queries.ndim - 1,), (1,)), ((), ())),
        preferred_element_type=dtype,
    )


def put(x: jax.Array, place: jax.Array, values: jax.Array) -> jax.Array:
    """`x` with values at places of its last axis; those beyond its end are dropped."""
    return jnp.put_along_axis(x, place, values, axis=-1, inplace=False, mode="drop")


def _place(ids: jax.Array, first: jax.Array, size: int) -> jax.Array:
    place = ids - first.astype(ids.dtype)
    return jnp.where((place >= 0) & (place < size), place, size).astype(jnp.int32)
