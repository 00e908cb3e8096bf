"""A catalogue: items too many to hold a score of each, ranked block by block."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _devices, _inputs, _ordering
from jax_rank_metrics._counted import Counted
from jax_rank_metrics._ordering import Candidates, Scored
from jax_rank_metrics._ranking import Items, RankedLayout, Ranking
from jax_rank_metrics._retrieved import labels_of
from jax_rank_metrics._rows import Rows
from jax_rank_metrics._sources import read_weights
from jax_rank_metrics._tie_groups import Beyond, JudgedGroups, TieGroups
from jax_rank_metrics._types import (
    AxisNames,
    Cutoffs,
    Key,
    PerListInput,
    RelevantIds,
    Ties,
    pytree,
)


@pytree()
class Catalog:
    """Arguments of `rank_catalog` that hold arrays, checked."""

    queries: jax.Array
    items: jax.Array
    relevant_ids: jax.Array
    relevant_labels: jax.Array | None
    exclude_ids: jax.Array | None
    item_mask: jax.Array | None
    list_weights: jax.Array | None
    key: jax.Array | None


class Block(NamedTuple):
    """Some items of the catalogue, scored for every list."""

    scores: jax.Array  # [*lists, block]
    exists: jax.Array  # [*lists, block]
    length: jax.Array  # [*lists] or one for all, how many exist
    first: jax.Array  # the id of the first
    fresh: jax.Array  # the first id that no earlier block held


class Blocks(NamedTuple):
    """The items that this device holds, cut into blocks."""

    catalog: Catalog
    size: int
    axis_name: Any

    @property
    def here(self) -> int:
        """How many items this device holds."""
        return self.catalog.items.shape[0]

    @property
    def total(self) -> int:
        """How many items all devices hold."""
        devices = 1 if self.axis_name is None else lax.axis_size(self.axis_name)
        return self.here * devices

    @property
    def number(self) -> int:
        """How many blocks cover them."""
        return -(-self.here // self.size)

    def block(self, number: jax.Array) -> Block:
        """Scores one block. The last one reaches back over items seen before."""
        catalog = self.catalog
        fresh = number * self.size
        start = jnp.minimum(fresh, self.here - self.size)

        def part(x: jax.Array) -> jax.Array:
            return lax.dynamic_slice_in_dim(x, start, self.size)

        scores = _products(catalog.queries, part(catalog.items))
        exists = start + lax.iota(jnp.int32, self.size) >= fresh
        if catalog.item_mask is not None:
            exists = exists & part(catalog.item_mask)
        length, exists = _ordering.count(exists), jnp.broadcast_to(exists, scores.shape)
        before = 0
        if self.axis_name is not None:
            before = lax.axis_index(self.axis_name) * self.here
        first = start + before
        if catalog.exclude_ids is not None:
            place = _place(catalog.exclude_ids, first, self.size)
            exists = _put(exists, place, jnp.zeros(place.shape, bool))
            length = _ordering.count(exists)
        return Block(scores, exists, length, first, fresh + before)


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
        lax.stop_gradient(queries),
        lax.stop_gradient(items),
        (((queries.ndim - 1,), (1,)), ((), ())),
        preferred_element_type=dtype,
    )


def _put(x: jax.Array, place: jax.Array, values: jax.Array) -> jax.Array:
    """`x` with values at places of its last axis; those beyond its end are dropped."""
    return jnp.put_along_axis(x, place, values, axis=-1, inplace=False, mode="drop")


def _place(ids: jax.Array, first: jax.Array, size: int) -> jax.Array:
    """Where in a block ids are; `size`, beyond its end, for those that are not."""
    place = ids - first.astype(ids.dtype)
    return jnp.where((place >= 0) & (place < size), place, size).astype(jnp.int32)


def rank_blocks(
    catalog: Catalog, ties: str | None, depth: int | None, size: int, axis_name: Any
) -> Ranking:
    """`rank_catalog` without its checks and its own compilation."""
    blocks = Blocks(catalog, min(size, catalog.items.shape[0]), axis_name)
    labels = catalog.relevant_labels
    if labels is None:
        labels = jnp.ones_like(catalog.relevant_ids)
    scores = jax.eval_shape(_products, catalog.queries, catalog.items)
    lists = catalog.relevant_ids.shape[:-1]
    _, list_weights, dtype = read_weights(
        labels, None, catalog.list_weights, lists, scores
    )
    judged = _inputs.resolve(labels, catalog.relevant_ids >= 0, None, dtype)
    source = _Source(blocks, judged, _ordering.Policy(ties, scores.dtype))
    found = source.top(depth) if depth is not None else source.judged_only()
    judged = judged._replace(exists=found.relevant.exists)
    ranks = None if depth is None else blocks.total
    exists, axis = _with_others(judged.exists, found.length, ranks)
    zero = jnp.zeros((*lists, 1), dtype)
    labels = jnp.concatenate([jnp.where(judged.exists, judged.labels, 0), zero], -1)
    return Ranking(
        ranked=found.ranked,
        pool=Items(_inputs.ItemArrays(labels, exists, None), axis),
        groups=found.groups if ties in (None, "expected") else None,
        length=found.length,
        known_relevant=None,
        counts=found.length > 0,
        list_weights=list_weights,
        cut=None if depth is None or depth >= blocks.total else depth,
        in_order=ties != "expected",
        ids=found.ids,
    )


# The relevant items found so far, and how many items of each list were looked at.
_Seen = tuple[Candidates, jax.Array]


class _Found(NamedTuple):
    ranked: Items[RankedLayout]
    ids: jax.Array
    groups: TieGroups | JudgedGroups
    relevant: Candidates
    length: jax.Array


class _Source(NamedTuple):
    """The two ways through the blocks of a catalogue."""

    blocks: Blocks
    judged: _inputs.ItemArrays
    policy: _ordering.Policy

    @property
    def ids(self) -> jax.Array:
        """Of the relevant items."""
        return self.blocks.catalog.relevant_ids

    def top(self, depth: int) -> _Found:
        """The first `depth` ranks, in one pass."""
        blocks, depth = self.blocks, min(depth, self.blocks.total)
        shape = (*self.ids.shape[:-1], depth)

        def step(state: Any, block: Block, scored: Scored) -> Any:
            running, seen = state
            seen = self._look(seen, block, scored)
            return running.extended(scored, self.policy), seen

        running = _ordering.Running(self._none(shape), jnp.zeros(shape[:-1], jnp.int32))
        running, seen = self._through(step, (running, self._nothing_seen()))
        if blocks.axis_name is not None:
            running = running.over_devices(self.policy, blocks.axis_name)
        relevant, length = self._agreed(*seen)
        judged = self.judged._replace(exists=relevant.exists)

        def beyond(last: jax.Array) -> Beyond:
            tied = (relevant.keys == last) & judged.exists
            return Beyond(*_with_others(tied, running.tied))

        best = running.best
        ids = jnp.where(best.exists, best.ids, -1)
        ranked = best.ordered().items._replace(
            labels=labels_of(ids, self.ids, judged)[0]
        )
        groups = TieGroups.of(
            best.keys,
            ranked.exists,
            Rows(),
            blocks.total,
            None if depth == blocks.total else beyond,
        )
        items = Items(ranked._replace(weights=None), Rows())
        return _Found(items, ids, groups, relevant, length)

    def judged_only(self) -> _Found:
        """The ranks of relevant items, in two passes: their scores, then what beats them.

        Both passes score a block by the same product, so that an item equals itself.
        """
        seen = self._through(self._look, self._nothing_seen())
        relevant, length = self._agreed(*seen)

        def count(counts: Any, block: Block, scored: Scored) -> Any:
            more = _ordering.outranked(relevant, scored.read(), self.policy)
            return tuple(map(jnp.add, counts, more))

        none = jnp.zeros(self.ids.shape, jnp.int32)
        counts = self._through(count, (none, none, none))
        if self.blocks.axis_name is not None:
            counts = lax.psum(counts, self.blocks.axis_name)
        above, equal, earlier = counts
        last = jnp.iinfo(jnp.int32).max
        exists = relevant.exists
        rank = jnp.where(exists, above + earlier + 1, last)
        rank, (labels, above, equal, ids, exists) = _ordering.in_order(
            rank, (self.judged.labels, above, equal, self.ids, exists)
        )
        near = TieGroups.of(above, exists, Rows(), above.shape[-1], None)
        groups = JudgedGroups(near, above, jnp.where(exists, equal, 0))
        labels = jnp.where(exists, labels, 0)
        ranked = Items(_inputs.ItemArrays(labels, exists, None), Rows(rank))
        return _Found(ranked, jnp.where(exists, ids, -1), groups, relevant, length)

    def _none(self, shape: tuple[int, ...]) -> Candidates:
        scores, exists = jnp.zeros(shape, self.policy.dtype), jnp.zeros(shape, bool)
        keys = _ordering.score_key(scores, exists)
        bits = self.policy.bits(keys, self.blocks.catalog.key)
        ids = jnp.full(shape, -1, jnp.int32)
        return Candidates(
            keys, jnp.full(shape, -1, self.judged.labels.dtype), bits=bits, ids=ids
        )

    def _through(self, step: Callable[[Any, Block, Scored], Any], first: Any) -> Any:
        """Folds `step(state, block, its items)` over all blocks."""
        catalog, axis_name = self.blocks.catalog, self.blocks.axis_name
        key = catalog.key
        if key is not None and axis_name is not None:
            key = jax.random.fold_in(key, lax.axis_index(axis_name))

        def body(state: Any, number: jax.Array) -> tuple[Any, None]:
            return step(state, *self._scored(number, key)), None

        numbers = jnp.arange(self.blocks.number, dtype=jnp.int32)
        return lax.scan(body, _devices.varying_as(first, catalog), numbers)[0]

    def _nothing_seen(self) -> _Seen:
        return self._none(self.ids.shape), jnp.zeros(self.ids.shape[:-1], jnp.int32)

    def _look(self, seen: _Seen, block: Block, scored: Scored) -> _Seen:
        """What was seen, with what a block holds."""
        relevant, length = seen
        relevant = self._with_those_of(relevant, block, scored)
        return relevant, length + block.length

    def _scored(self, number: jax.Array, key: jax.Array | None) -> tuple[Block, Scored]:
        block, labels = self.blocks.block(number), None
        if self.policy.ties in ("best", "worst"):
            labels = jnp.zeros(block.scores.shape, self.judged.labels.dtype)
            place = _place(self.ids, block.first, self.blocks.size)
            labels = _put(labels, place, self.judged.labels)
        if key is not None:
            key = jax.random.fold_in(key, number)
        hashed = self.policy.ties is None
        bits = None if hashed else self.policy.bits(block.scores, key)
        scores, exists, first = block.scores, block.exists, block.first
        return block, Scored(scores, exists, labels, bits, first, None, hashed)

    def _with_those_of(
        self, relevant: Candidates, block: Block, scored: Scored
    ) -> Candidates:
        """The relevant items, with those that a block holds."""
        size = self.blocks.size
        place = _place(self.ids, block.first, size)
        place = jnp.where(self.ids >= block.fresh.astype(self.ids.dtype), place, size)
        here, place = place < size, jnp.minimum(place, size - 1)

        found = scored.at(place).read()
        here = here & found.exists & self.judged.exists
        found = found._replace(labels=self.judged.labels)
        return jax.tree.map(lambda x, y: jnp.where(here, x, y), found, relevant)

    def _agreed(
        self, relevant: Candidates, length: jax.Array
    ) -> tuple[Candidates, jax.Array]:
        """What the devices of the axis know together."""
        axis_name = self.blocks.axis_name
        if axis_name is None:
            return relevant, length

        def only(x: jax.Array, none: Any) -> jax.Array:
            mine = jnp.where(relevant.exists, x - jnp.asarray(none, x.dtype), 0)
            return lax.psum(mine, axis_name) + jnp.asarray(none, x.dtype)

        least = jnp.iinfo(relevant.keys.dtype).min
        assert relevant.ids is not None
        agreed = Candidates(
            only(relevant.keys, least),
            only(relevant.labels, -1),
            bits=None if relevant.bits is None else only(relevant.bits, 0),
            ids=only(relevant.ids, -1),
        )
        return agreed, lax.psum(length, axis_name)


def _with_others(
    those: jax.Array, number: jax.Array, ranks: int | None = None
) -> tuple[jax.Array, Counted]:
    """Which of the pool there are, and how many: `those` judged, of `number` in all."""
    others = (number - Rows().sum(those))[..., None]
    counts = jnp.concatenate([those.astype(jnp.int32), others], axis=-1)
    return counts > 0, Counted(counts, ranks)


_rank_blocks = jax.jit(rank_blocks, static_argnums=(1, 2, 3, 4))


def rank_catalog(
    queries: Shaped[ArrayLike, "*lists dims"],
    items: Shaped[ArrayLike, "items dims"],
    relevant_ids: RelevantIds,
    *,
    k: Cutoffs,
    relevant_labels: RelevantIds | None = None,
    exclude_ids: Shaped[ArrayLike, "*lists excluded"] | None = None,
    item_mask: Shaped[ArrayLike, " items"] | None = None,
    list_weights: PerListInput | None = None,
    block_size: int = 4096,
    items_axis: AxisNames | None = None,
    key: Key | None = None,
    ties: Ties | None = None,
) -> Ranking:
    """Ranks a whole catalogue for every query, by the product of their embeddings.

    Items are scored a block at a time, and only the best and what is needed of the rest
    is kept: the memory is that of `queries × (block_size + k)`, never of queries × items.

    The pool of a list is every item that is neither masked nor excluded. Those not among
    the relevant ids have the label 0.

    Args:
        queries: `[*lists, dims]`, an embedding per list, of any real dtype.
        items: `[items, dims]`, an embedding per item; its row is its id.
        relevant_ids: `[*lists, relevant]` integers, distinct within a list. Ids that are
            not in the catalogue, masked or excluded are not in the pool; below 0 is
            padding.
        k: As for `rank`. None ranks every relevant item exactly, in two passes that
            count what scores above it: for any cutoff and for metrics without one. The
            gain of the label 0 must then be 0.
        relevant_labels: The same shape, or None for 1.
        exclude_ids: `[*lists, excluded]` integers, items that leave the list, such as
            those a user has already seen; below 0 is padding.
        item_mask: `[items]` bool, items that exist, for every list.
        list_weights: `[*lists]`, or None. 0 for queries that are padding.
        block_size: How many items to score at a time.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are
            cut, in equal parts: `items` and `item_mask` are the device's part, ids count
            through all parts.
        key: As for `rank`.
        ties: As for `rank`.

    Returns:
        A `Ranking`, whose `ids` are the items found, in rank order; with k=None the
        relevant ones alone.

    Raises:
        ValueError: if shapes differ, an option has no such value, or embeddings are
            sharded by their type outside `jax.shard_map`.
        TypeError: if ids are not integers, or the mask is not bool.

    >>> from jax_rank_metrics import recall
    >>> queries, items = jnp.eye(2), jnp.array([[1.0, 0], [0, 2], [3, 0], [0, 4]])
    >>> ranking = rank_catalog(queries, items, jnp.array([[0], [3]]), k=2)
    >>> ranking.ids.tolist()
    [[2, 0], [3, 1]]
    >>> recall.of(ranking, k=(1, 2)).values.tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    depth = _inputs.deepest(_inputs.cutoffs(k))
    queries = _inputs.real("queries", queries)
    items = _inputs.real("items", items)
    if items.ndim != 2 or queries.ndim < 1 or queries.shape[-1] != items.shape[-1]:
        raise ValueError(
            f"queries has shape {queries.shape} and items has shape {items.shape}; pass "
            "embeddings [*lists, dims] and [items, dims]"
        )
    if items.shape[0] == 0:
        raise ValueError(f"items has shape {items.shape}; pass at least one item")
    relevant_ids = _inputs.ids("relevant_ids", relevant_ids)
    _inputs.same_lists("relevant_ids", relevant_ids, "queries", queries)
    if relevant_labels is not None:
        relevant_labels = _inputs.real("relevant_labels", relevant_labels)
        _inputs.same_shape(
            "relevant_labels", relevant_labels, "relevant_ids", relevant_ids.shape
        )
    if exclude_ids is not None:
        exclude_ids = _inputs.ids("exclude_ids", exclude_ids)
        _inputs.same_lists("exclude_ids", exclude_ids, "queries", queries)
    if item_mask is not None:
        item_mask = _inputs.boolean("item_mask", item_mask)
        _inputs.same_shape("item_mask", item_mask, "items", items.shape[:1])
    list_weights = _inputs.per_list("list_weights", list_weights, queries.shape[:-1])
    policy, key = _inputs.tie_policy(ties, key)
    catalog = Catalog(
        queries,
        items,
        relevant_ids,
        relevant_labels,
        exclude_ids,
        item_mask,
        list_weights,
        key,
    )
    for name, value in (("queries", queries), ("items", items)):
        _inputs.unsharded(name, value, "with items_axis if items are cut")
    size = _inputs.count("block_size", block_size)
    return _rank_blocks(
        catalog, policy, depth, size, _inputs.axis_names("items_axis", items_axis)
    )
