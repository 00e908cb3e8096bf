"""The two ways through the blocks of a catalogue: the first ranks, or counting places."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._items import ItemArrays, SharedItems
from jax_rank_metrics._layouts.pools import Weighted
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._ordering.candidates import Candidates, ItemOrder, RawCandidates
from jax_rank_metrics._ordering.outranking import Outranking, outranking
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._ordering.streaming import BestSoFar
from jax_rank_metrics._ranking import CountedPlaces, Straddle, TieRuns
from jax_rank_metrics._sources.blocks import Block, Catalog, put

State = TypeVar("State")


class Seen(NamedTuple):
    """The relevant items in the blocks so far, and the number of all items in them."""

    keys: jax.Array  # [*lists, relevant], of their scores; the least where not found
    exists: jax.Array  # [*lists, relevant] bool, which were found
    length: jax.Array  # [*lists] int32, how many items exist


class Stream(NamedTuple):
    """A catalogue and what to look for in it."""

    catalog: Catalog
    judged: ItemArrays  # [*lists, relevant], as passed
    seeds: jax.Array | None  # [*lists, 2], for random ties
    order: ItemOrder

    @property
    def relevant_ids(self) -> jax.Array:
        """The ids of the relevant items, `[*lists, relevant]`."""
        return self.catalog.relevant.ids

    def first_ranks(self) -> tuple[TieRuns, Seen]:
        """Finds the items of the first ranks, in one pass."""
        catalog = self.catalog
        assert catalog.depth is not None
        depth = min(catalog.depth, catalog.total_items)
        lists = self.relevant_ids.shape[:-1]

        def step(
            state: tuple[BestSoFar, Seen], block: Block, candidates: RawCandidates
        ) -> tuple[BestSoFar, Seen]:
            so_far, seen = state
            seen = self._look_up(seen, block, candidates)
            return so_far.extended(candidates, self.order, seen.length), seen

        so_far = BestSoFar(
            self._no_candidates((*lists, depth)), jnp.zeros(lists, jnp.int32)
        )
        so_far, seen = self._fold(step, (so_far, self._nothing_seen()))
        first = so_far.in_order(self.order, self.seeds, catalog.items_axis)
        seen, straddle = self._over_devices(seen), None
        exists, last_key = first.ids >= 0, first.keys[..., -1:]
        items, _ = catalog.relevant.find(first.ids, self.judged.only(seen.exists))
        items = items._replace(exists=exists)
        if depth < catalog.total_items:
            num_tied = _arithmetic.count(exists & (first.keys == last_key))
            relevant_tied = (seen.keys == last_key) & seen.exists
            tied, layout = with_unlisted(relevant_tied, num_tied + first.dropped)
            straddle = Straddle(first.dropped > 0, tied, layout)
        held = TieRuns(
            items, Rows(), first.ids, first.keys, straddle, catalog.total_items
        )
        return held, seen

    def counted_places(self) -> tuple[CountedPlaces, Seen]:
        """Counts the places of relevant items, in two passes.

        The first pass finds their scores, the second counts the items that rank above
        them. Both score a block in the same way, so that an item equals itself.
        """
        seen = self._over_devices(self._fold(self._look_up, self._nothing_seen()))
        items = ItemArrays(self.judged.labels, seen.exists)
        ids = self.relevant_ids.astype(jnp.int32)
        relevant = Candidates(seen.keys, ids, items, self.seeds)

        def add(
            counts: Outranking, block: Block, candidates: RawCandidates
        ) -> Outranking:
            is_member = block.introduces(self.relevant_ids)
            in_block = outranking(relevant, candidates.read(), is_member, self.order)
            return jax.tree.map(jnp.add, counts, in_block)

        zeros = jnp.zeros(self.relevant_ids.shape, jnp.int32)
        counts = self._fold(add, Outranking(zeros, zeros, zeros))
        if self.catalog.items_axis is not None:
            counts = lax.psum(counts, self.catalog.items_axis)
        tied = jnp.where(seen.exists, counts.equal, 0)
        rank = jnp.where(seen.exists, counts.before, jnp.iinfo(jnp.int32).max)
        _, indices = sort_by([~rank])  # ascending
        items = self.judged.only(seen.exists).at(indices)
        above, tied, rank = (
            _arithmetic.take(x, indices) for x in (counts.above, tied, rank)
        )
        rank = jnp.where(items.exists, rank, 0)
        held = CountedPlaces(items, Rows(), rank, above, tied, self.catalog.total_items)
        return held, seen

    def _fold(
        self, step: Callable[[State, Block, RawCandidates], State], start: State
    ) -> State:
        """Passes a state through all blocks of this device, and returns the last one.

        Args:
            step: `step(state, block, candidates)` returns the state after a block. The
                candidates are the items of the block; all have the label 0 unless the
                tie policy reads labels.
            start: The state before the first block; `step` keeps its shapes.
        """

        def body(state: State, number: jax.Array) -> tuple[State, None]:
            block = self.catalog.block(number)
            shape, dtype = block.scores.shape, self.judged.labels.dtype
            labels = jnp.zeros((), dtype)
            if self.order.policy.reads_labels:
                offsets = block.offsets(self.relevant_ids)
                labels = put(jnp.zeros(shape, dtype), offsets, self.judged.labels)
            items = SharedItems(labels, block.exists, shape)
            candidates = RawCandidates(block.scores, items, block.first_id, self.seeds)
            return step(state, block, candidates), None

        if self.catalog.num_blocks == 1:
            return body(start, jnp.zeros((), jnp.int32))[0]
        numbers = jnp.arange(self.catalog.num_blocks, dtype=jnp.int32)
        start = _mesh.match_varying(start, (self.catalog, self.seeds))
        return lax.scan(body, start, numbers)[0]

    def _no_candidates(self, shape: tuple[int, ...]) -> Candidates:
        """Returns candidates `shape`, `[*lists, slots]`, none of which exists."""
        labels = jnp.zeros(shape, self.judged.labels.dtype)
        items = ItemArrays(labels, jnp.zeros(shape, bool))
        return RawCandidates(jnp.zeros(shape, self.order.dtype), items).read()

    def _nothing_seen(self) -> Seen:
        shape = self.relevant_ids.shape
        empty = self._no_candidates(shape)
        return Seen(empty.keys, empty.items.exists, jnp.zeros(shape[:-1], jnp.int32))

    def _look_up(self, seen: Seen, block: Block, candidates: RawCandidates) -> Seen:
        """Returns what was seen after a block, with the relevant items that it holds."""
        exists, keys = block.look_up(self.relevant_ids)
        exists = exists & self.judged.exists
        keys = jnp.where(exists, keys, seen.keys)
        return Seen(keys, seen.exists | exists, seen.length + block.length)

    def _over_devices(self, seen: Seen) -> Seen:
        """Returns what the devices with parts of the items saw together."""
        axis = self.catalog.items_axis
        if axis is None:
            return seen
        exists = lax.pmax(seen.exists.astype(jnp.int32), axis) > 0
        return Seen(lax.pmax(seen.keys, axis), exists, lax.psum(seen.length, axis))


def with_unlisted(
    is_listed: jax.Array, number: jax.Array, ranks: int | None = None
) -> tuple[jax.Array, Weighted]:
    """Adds a slot that stands for all unlisted items of a set.

    Args:
        is_listed: `[*lists, relevant]` bool, which relevant items are in the set.
        number: `[*lists]` int32, how many items the set has in all.
        ranks: See `Weighted`.

    Returns:
        Which slots hold items, `[*lists, relevant + 1]` bool, and their layout.
    """
    unlisted = (number - Rows().sum(is_listed))[..., None]
    counts = jnp.concatenate([is_listed.astype(jnp.int32), unlisted], axis=-1)
    return counts > 0, Weighted(counts, ranks)
