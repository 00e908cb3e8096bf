"""The two ways through the blocks of a catalogue: the first ranks, or counting places."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics._engine.items import ItemArrays, label_dtype
from jax_rank_metrics._engine.layouts import rows
from jax_rank_metrics._engine.ordering import policies, sort, streaming
from jax_rank_metrics._engine.ordering.candidates import Candidates, RawCandidates
from jax_rank_metrics._engine.ordering.keys import is_nan
from jax_rank_metrics._engine.ordering.outranking import Outranking, outranking
from jax_rank_metrics._engine.ranking import ranked_items
from jax_rank_metrics._engine.ranking.pools import Pool
from jax_rank_metrics._engine.ranking.ranking_data import RankingData
from jax_rank_metrics._engine.sources import item_columns
from jax_rank_metrics._engine.sources.blocks import Block, Catalog
from jax_rank_metrics._engine.sources.lists import clean_weights, has_nan
from jax_rank_metrics._ground import arithmetic, meshes, types

State = TypeVar("State")


class StreamState(NamedTuple):
    """State of a pass through blocks: in a scan, in a loop on the host, or per device.

    Attributes:
        best: The items of the first ranks; None if only places are counted.
        keys: `[*lists, relevant]`, the keys of the scores of relevant items; the least key
            for items without a rank.
        exists: `[*lists, relevant]` bool, true for relevant items that were in a block.
        length: `[*lists]` int32, how many items exist.
        retrieved: A pair: `[*lists, relevant]` bool, true for items of `exists` that have a
            rank; and `[*lists]`, how many of all items have a rank. None if all items have
            one.
        hits: `[*lists]` int32, how many items a function labels True; None if items are
            labelled by ids.
        totals: A dict from item columns to their totals over all items, `[*lists, …]`.
        has_nan: `[*lists]` bool, true if a score that was read is NaN; None if the first
            ranks or the counts tell this, or if scores are integers.
        counts: How many items rank above each relevant item or tie with it, from the
            second pass; None in the first.
    """

    best: streaming.BestSoFar | None
    keys: jax.Array
    exists: jax.Array
    length: jax.Array
    retrieved: tuple[jax.Array, jax.Array] | None
    hits: jax.Array | None
    totals: dict[str, jax.Array]
    has_nan: jax.Array | None
    counts: Outranking | None = None

    @property
    def has_rank(self) -> jax.Array:
        """True for relevant items that have a rank, `[*lists, relevant]` bool."""
        return self.exists if self.retrieved is None else self.retrieved[0]

    @property
    def num_ranked(self) -> jax.Array:
        """The number of items that have a rank, `[*lists]` int32."""
        return self.length if self.retrieved is None else self.retrieved[1]

    def extended(
        self, block: Block, ids: jax.Array, is_judged: jax.Array
    ) -> "StreamState":
        """Returns the state after a further block, with `best` unchanged.

        Args:
            block: The block.
            ids: `[*lists, relevant]`, the ids of the relevant items.
            is_judged: `[*lists, relevant]` bool, false for ids that are padding.
        """
        exists, has_rank, keys = block.look_up(ids)
        exists = exists & is_judged
        keys = jnp.where(exists, keys, self.keys)
        retrieved, hits = self.retrieved, self.hits
        if retrieved is not None and has_rank is not None:
            number = retrieved[1] + arithmetic.count(block.has_rank)
            retrieved = retrieved[0] | (has_rank & is_judged), number
        if hits is not None and block.labels is not None:
            hits = hits + arithmetic.count(block.labels & block.exists)
        nan_found = self.has_nan
        if nan_found is not None:
            in_block = has_nan(block.scores, block.has_rank, rows.Rows())
            assert in_block is not None
            nan_found = nan_found | in_block
        return self._replace(
            keys=keys,
            exists=self.exists | exists,
            length=self.length + block.length,
            retrieved=retrieved,
            hits=hits,
            totals=jax.tree.map(
                lambda so_far, added: so_far + jnp.broadcast_to(added, so_far.shape),
                self.totals,
                block.totals,
            ),
            has_nan=nan_found,
        )

    def over_devices(self, items_axis: types.AxisNames) -> "StreamState":
        """Merges the states of devices with shards of the items, except for `best`."""

        def total(x: jax.Array | None) -> jax.Array | None:
            return None if x is None else lax.psum(x, items_axis)

        retrieved, nan_found = self.retrieved, self.has_nan
        if retrieved is not None:
            has_rank = meshes.any_over(retrieved[0], items_axis)
            retrieved = has_rank, lax.psum(retrieved[1], items_axis)
        if nan_found is not None:
            nan_found = meshes.any_over(nan_found, items_axis)
        return self._replace(
            # At most one device has an item; on all other devices its key is the least.
            keys=lax.pmax(self.keys, items_axis),
            exists=meshes.any_over(self.exists, items_axis),
            length=lax.psum(self.length, items_axis),
            retrieved=retrieved,
            hits=total(self.hits),
            totals=lax.psum(self.totals, items_axis),
            has_nan=nan_found,
        )


class Stream(NamedTuple):
    """A catalogue with its relevant items and tie policy, read block by block.

    The first pass through the blocks finds the first ranks and the scores of the relevant
    items. `start` begins it; `extended` adds a catalogue, which holds all items or the next
    part of them; `merged` ends it. To count places, a second pass calls `counted`, which
    counts the items that rank above the relevant ones. Both passes score a block in the
    same way, so that an item has the same score in both.

    Items are labelled by ids, or by a function. Labels of a function are bools here, so
    two counts describe the pool: the numbers of items with the labels 0 and 1.
    """

    catalog: Catalog
    judged: ItemArrays  # [*lists, relevant], the items of `catalog.relevant`
    policy: policies.Policy  # with the seeds of all lists
    dtype: jnp.dtype  # of the scores

    @classmethod
    def of(cls, catalog: Catalog) -> "Stream":
        """Reads the relevant items and the tie policy of a catalogue."""
        # Nothing is scored here: only the dtype of the scores is needed.
        scores = jax.eval_shape(lambda: catalog.scores(0))
        if catalog.attributes is None and not catalog.judges_unlisted:
            relevant = catalog.relevant.as_judged()
            catalog = dataclasses.replace(catalog, relevant=relevant)
        judged = catalog.relevant.items(catalog.list_weights, scores)
        policy = catalog.policy.drawn(catalog.key, catalog.lists)
        return cls(catalog, judged, policy, scores.dtype)

    def under(self, ties: str | None) -> "Stream":
        """Returns the same stream under another tie policy, with the same seeds."""
        return self._replace(policy=dataclasses.replace(self.policy, name=ties))

    @property
    def relevant_ids(self) -> jax.Array:
        """The ids of the relevant items, `[*lists, relevant]`."""
        return self.catalog.relevant.ids

    def start(self, total_items: int | None = None) -> StreamState:
        """Returns the state of the first pass before the first block.

        If `total_items`, the number of all items, is known, it limits the ranks found.
        """
        shape, depth = self.relevant_ids.shape, self.catalog.depth
        if depth is not None and total_items is not None:
            depth = min(depth, total_items)
        catalog, lists = self.catalog, shape[:-1]
        length, padding = jnp.zeros(lists, jnp.int32), self.no_candidates(shape)
        exists = padding.items.exists
        is_float = jnp.issubdtype(self.dtype, jnp.floating)
        # First ranks and counted places tell if a score is NaN; look if neither exist.
        looks_for_nan = depth is None and is_float and catalog.attributes is not None
        some_lack_ranks = catalog.retrieved is not None or catalog.skips_inf
        totals = item_columns.no_totals(catalog.relevant.item_columns, lists)
        # Zeros of the shape that `_count_fn` returns.
        dropped: Any = length
        if totals:
            dropped = item_columns.Totals(length, totals)
        elif catalog.attributes is not None:
            dropped = jnp.zeros((*lists, 2), jnp.int32)
        best = None
        if depth is not None:
            best = streaming.BestSoFar(self.no_candidates((*lists, depth)), dropped)
        return StreamState(
            best,
            padding.keys,
            exists,
            length,
            (exists, length) if some_lack_ranks else None,
            None if catalog.attributes is None else length,
            totals,
            jnp.zeros(lists, bool) if looks_for_nan else None,
        )

    def extended(self, state: StreamState) -> StreamState:
        """Returns the state of the first pass after the items of this catalogue."""

        def step(
            state: StreamState, block: Block, candidates: RawCandidates
        ) -> StreamState:
            state = state.extended(block, self.relevant_ids, self.judged.exists)
            if state.best is None:
                return state
            best = state.best.extended(
                candidates, self.policy, state.num_ranked, self._count_fn(are_own=True)
            )
            return state._replace(best=best)

        return self.fold(step, state)

    def merged(self, state: StreamState) -> StreamState:
        """Ends the first pass: merges the states of devices with shards of the items."""
        axis = self.catalog.items_axis
        return state if axis is None else state.over_devices(axis)

    def _count_fn(self, *, are_own: bool) -> streaming.CountFn | None:
        """Returns the function that counts items that tie with the last rank kept.

        `are_own` is true if this device holds all of these items.
        """
        if columns := self.catalog.relevant.item_columns:
            return item_columns.count_fn_of(columns, are_own=are_own)
        return None if self.catalog.attributes is None else _by_label

    def counted(self, state: StreamState) -> StreamState:
        """Returns the state of the second pass after the items of this catalogue."""
        items = ItemArrays(self.judged.labels, state.has_rank)
        # Cast to int32, as candidate ids are. An id beyond int32 is in no catalogue, so the
        # counts of its wrapped value are never read.
        ids = self.relevant_ids.astype(jnp.int32)
        relevant = Candidates(state.keys, ids, items, self.dtype.name)
        counts = state.counts
        if counts is None:
            counts = Outranking.zeros(ids.shape)
        return state._replace(counts=self.outranked(counts, relevant))

    def outranked(self, counts: Outranking, targets: Candidates) -> Outranking:
        """Adds the items of this catalogue that rank above each target."""

        def add(
            counts: Outranking, block: Block, candidates: RawCandidates
        ) -> Outranking:
            # A target in this block has the same key as itself, which is not a tie.
            is_member = block.introduces(targets.ids)
            in_block = outranking(targets, candidates.read(), is_member, self.policy)
            return jax.tree.map(jnp.add, counts, in_block)

        return self.fold(add, counts)

    def first_ranks(self, state: StreamState, total_items: int) -> RankingData:
        """Makes the ranking of the first ranks.

        Args:
            state: The merged state of the first pass.
            total_items: How many items all devices hold.
        """
        assert state.best is not None
        axis, straddles, group = self.catalog.items_axis, None, None
        count_fn = self._count_fn(are_own=False)
        first, dropped = state.best.in_order(self.policy, axis, count_fn)
        # With the scores 9 7 7 7 4 and three ranks, `last_key` is the key of 7, two of the
        # held items have it, and `dropped` is 1.
        depth = first.ids.shape[-1]
        exists, last_key = first.ids >= 0, first.keys[..., -1:]
        judged = self.judged.only(state.exists)
        if state.hits is None:
            # `find` marks only relevant items as existing, but the first ranks also hold
            # other items, with the label 0.
            items, _ = self.catalog.relevant.find(first.ids, judged)
            items = items._replace(exists=exists)
        else:
            items = first.items
        # If the first ranks hold every item, no tie group is cut.
        if depth < total_items:
            is_last = exists & (first.keys == last_key)
            if state.hits is None:
                is_tied = (state.keys == last_key) & state.has_rank
                straddles, group = item_columns.group_across_cut(
                    judged, is_tied, items, is_last, dropped
                )
            else:
                # How many items of the whole group have each label, [*lists, 2].
                tied = _count_labels(items.labels, is_last) + dropped
                straddles = jnp.any(dropped > 0, axis=-1)
                group = _pool_by_label(tied, None, judged.labels.dtype)
        items_held = ranked_items.Ranked(
            items, rows.Rows(), total_items, first.ids, first.keys, straddles, group
        )
        nan_found = is_nan(rows.Rows().first(first.keys), first.dtype)
        return self._ranking(items_held, state, nan_found, total_items, depth)

    def unranked(self, state: StreamState, total_items: int) -> RankingData:
        """Makes the ranking of items that a function labels; it holds no items.

        Any number of items may be relevant, so their places are not counted.
        """
        return self._ranking(None, state, state.has_nan, total_items, None)

    def places(self, state: StreamState, total_items: int) -> RankingData:
        """Makes the ranking of the relevant items from the counts of all devices."""
        counts, has_rank = state.counts, state.has_rank
        assert counts is not None
        if self.catalog.items_axis is not None:
            counts = lax.psum(counts, self.catalog.items_axis)
        tied = jnp.where(has_rank, counts.equal, 0)
        # Relevant items without a rank sort to the end, so that they leave no gap.
        rank = jnp.where(has_rank, counts.before, jnp.iinfo(jnp.int32).max)
        _, indices = sort.sort_by([~rank])  # ascending
        items = self.judged.only(has_rank).at(indices)
        above, tied, rank = (
            arithmetic.take(amounts, indices) for amounts in (counts.above, tied, rank)
        )
        # The largest integer was only for the sort; adding 1 to it later would overflow.
        rank = jnp.where(items.exists, rank, 0)
        items_held = ranked_items.Ranked(
            items, rows.Rows(), total_items, rank_above=rank, above=above, tied=tied
        )
        is_float = jnp.issubdtype(self.dtype, jnp.floating)
        nan_found = counts.nans[..., 0] > 0 if is_float else None
        return self._ranking(items_held, state, nan_found, total_items, None)

    def _ranking(
        self,
        items_held: ranked_items.Ranked | None,
        state: StreamState,
        nan_found: jax.Array | None,
        total_items: int,
        depth: int | None,
    ) -> RankingData:
        """Makes the ranking: adds pool, lengths and list weights to `items_held`."""
        dtype = self.judged.labels.dtype
        if state.hits is not None:
            counts = jnp.stack([state.length - state.hits, state.hits], axis=-1)
            pool = _pool_by_label(counts, total_items, dtype)
        else:
            is_listed = self.judged.exists & state.exists
            # None means that places were counted, so unlisted items have no place.
            ranks = None if depth is None else total_items
            # Relevant items outside the pool must add nothing to a metric.
            judged = self.judged.only(state.exists)
            pool = item_columns.pool_of(
                judged, is_listed, state.length, state.totals, ranks
            )
        weights = self.catalog.list_weights
        return RankingData(
            items_held=items_held,
            pool=pool,
            length=state.num_ranked,
            list_exists=state.length > 0,
            list_weights=clean_weights(weights, state.length.shape, dtype),
            cut=None if depth is None or depth >= total_items else depth,
            ties=self.policy.name,
            partial_columns=tuple(sorted(self.catalog.relevant.columns)),
            has_nan=nan_found,
            columns_by_id=(*self.catalog.relevant.item_columns,),
            profile=self.catalog.relevant.profile(dtype),
            label_dtype=label_dtype(self.catalog.relevant.labels, dtype),
        )

    def fold(
        self, step: Callable[[State, Block, RawCandidates], State], start: State
    ) -> State:
        """Passes a state through all blocks of this device, and returns the last state.

        Args:
            step: `step(state, block, candidates)` returns the state after a block. The
                candidates are the items of the block. Their labels are 0 unless a function
                labels them or the tie policy reads labels.
            start: The state before the first block; `step` keeps its shapes.
        """

        def body(state: State, number: jax.Array) -> tuple[State, None]:
            block = self.catalog.block(number)
            shape, dtype = block.scores.shape, self.judged.labels.dtype
            # A scalar, to save an array of zeros `[*lists, block]`.
            labels = jnp.zeros((), dtype)
            if block.labels is not None:
                labels = block.labels.astype(dtype)
            elif self.policy.reads_labels:
                # The policies "best" and "worst" order ties by label, so relevant items
                # need their labels here.
                offsets = block.offsets(self.relevant_ids)
                labels = arithmetic.put(
                    jnp.zeros(shape, dtype), offsets, self.judged.labels
                )
            items = ItemArrays(labels, block.has_rank)
            candidates = RawCandidates(block.scores, items, block.first_id)
            return step(state, block, candidates), None

        if self.catalog.num_blocks == 1:
            return body(start, jnp.zeros((), jnp.int32))[0]
        numbers = jnp.arange(self.catalog.num_blocks, dtype=jnp.int32)
        # In shard_map, a carry must vary from the start over all mesh axes of a step.
        start = meshes.match_varying(start, (self.catalog, self.policy))
        return lax.scan(body, start, numbers)[0]

    def no_candidates(self, shape: tuple[int, ...]) -> Candidates:
        """Returns candidates of `shape`, `[*lists, slots]`, that are all padding."""
        labels = jnp.zeros(shape, self.judged.labels.dtype)
        items = ItemArrays(labels, jnp.zeros(shape, bool))
        return RawCandidates(jnp.zeros(shape, self.dtype), items).read()


def _pool_by_label(counts: jax.Array, ranks: int | None, dtype: DTypeLike) -> Pool:
    """Returns a pool of items with the labels 0 and 1; `counts` are their numbers."""
    labels = jnp.broadcast_to(jnp.arange(2, dtype=dtype), counts.shape)
    exists = counts > 0
    items = ItemArrays(jnp.where(exists, labels, 0), exists)
    return Pool(items, rows.CountedSlots(counts, ranks))


def _by_label(
    candidates: Candidates, is_counted: jax.Array, first_id: jax.Array | None
) -> jax.Array:
    """Counts the candidates of each label, `[*lists, 2]`; a `CountFn`."""
    del first_id
    return _count_labels(candidates.items.labels, is_counted)


def _count_labels(labels: jax.Array, is_counted: jax.Array) -> jax.Array:
    """Counts items with the label 0 and with the label 1, `[*lists, 2]` int32."""
    hits = arithmetic.count(is_counted & (labels > 0))
    return jnp.stack([arithmetic.count(is_counted) - hits, hits], axis=-1)


def rank_listed(catalog: Catalog) -> RankingData:
    """Ranks a catalogue by a top-k or, if it has no depth, by counted places.

    If a function labels the items, places are never counted, because any number of items
    may be relevant.
    """
    stream, total = Stream.of(catalog), catalog.total_items
    state = stream.merged(stream.extended(stream.start(total)))
    if state.best is not None:
        return stream.first_ranks(state, total)
    if state.hits is not None:
        return stream.unranked(state, total)
    return stream.places(stream.counted(state), total)
