"""The scores of a catalogue, a block of items at a time."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._types import pytree


@pytree()
class Catalog:
    """Arguments of `rank_catalog` and `rank_scores` that hold arrays, checked.

    Either `scores` is given, or `queries` and `items` are.
    """

    scores: jax.Array | None
    queries: jax.Array | None
    items: jax.Array | None
    relevant_ids: jax.Array
    relevant_labels: jax.Array
    columns: Mapping[str, jax.Array]
    exclude_ids: jax.Array | None
    item_mask: jax.Array | None
    list_weights: jax.Array | None
    key: jax.Array | None


class Options(NamedTuple):
    """Their arguments that are static, checked."""

    ties: str | None
    depth: int | None
    block_size: int
    items_axis: Any
    score_fn: Callable[[jax.Array, jax.Array], jax.Array] | None


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


class Blocks(NamedTuple):
    """The items that this device holds, cut into blocks."""

    catalog: Catalog
    options: Options

    @property
    def here(self) -> int:
        """How many items this device holds."""
        if self.catalog.scores is not None:
            return self.catalog.scores.shape[-1]
        assert self.catalog.items is not None
        return self.catalog.items.shape[0]

    @property
    def total(self) -> int:
        """How many items all devices hold."""
        axis = self.options.items_axis
        return self.here * (1 if axis is None else lax.axis_size(axis))

    @property
    def size(self) -> int:
        """How many items a block has; scores that exist are one block."""
        if self.catalog.scores is not None:
            return self.here
        return min(self.options.block_size, self.here)

    @property
    def number(self) -> int:
        """How many blocks cover them."""
        return -(-self.here // self.size)

    @property
    def dtype(self) -> jnp.dtype:
        """Of the scores."""
        return jax.eval_shape(lambda: self._scores(jnp.zeros((), jnp.int32))).dtype

    def block(self, number: jax.Array) -> Block:
        """Scores one block. The last one reaches back over items seen before."""
        catalog, fresh = self.catalog, number * self.size
        start = jnp.minimum(fresh, self.here - self.size)
        scores = self._scores(start)
        exists = start + lax.iota(jnp.int32, self.size) >= fresh
        if catalog.item_mask is not None:
            mask = self._part(catalog.item_mask, start, catalog.item_mask.ndim - 1)
            exists = jnp.broadcast_to(exists, mask.shape) & mask
        length = _arithmetic.count(exists)
        exists = jnp.broadcast_to(exists, scores.shape)
        before = 0
        if self.options.items_axis is not None:
            before = lax.axis_index(self.options.items_axis) * self.here
        first = start + before
        if catalog.exclude_ids is not None:
            place = _place(catalog.exclude_ids, first, self.size)
            exists = put(exists, place, jnp.zeros(place.shape, bool))
            length = _arithmetic.count(exists)
        return Block(scores, exists, length, first, fresh + before)

    def _scores(self, start: jax.Array) -> jax.Array:
        catalog = self.catalog
        if catalog.scores is not None:
            return lax.stop_gradient(catalog.scores)
        assert catalog.queries is not None and catalog.items is not None
        score = self.options.score_fn or _products
        items = self._part(catalog.items, start, 0)
        return lax.stop_gradient(score(catalog.queries, items))

    def _part(self, x: jax.Array, start: jax.Array, axis: int) -> jax.Array:
        if self.number == 1:
            return x
        return lax.dynamic_slice_in_dim(x, start, self.size, axis)


def _products(queries: jax.Array, items: jax.Array) -> jax.Array:
    dtypes = (queries.dtype, items.dtype)
    wide = any(dtype.itemsize == 8 for dtype in dtypes)
    if any(jnp.issubdtype(dtype, jnp.floating) for dtype in dtypes):
        dtype = jnp.dtype(jnp.float64 if wide else jnp.float32)
    else:
        dtype = jnp.dtype(jnp.int64 if wide else jnp.int32)
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
