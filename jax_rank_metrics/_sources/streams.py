"""The two ways through the blocks of a catalogue: the first ranks, or counting places."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _inputs, _mesh
from jax_rank_metrics._items import ItemArrays, SharedItems
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._ordering.candidates import Candidates, ItemOrder, RawCandidates
from jax_rank_metrics._ordering.keys import is_nan
from jax_rank_metrics._ordering.outranking import Outranking, outranking
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._ordering.streaming import BestSoFar, FirstRanks, Tally
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._ranking.ranked import Ranked
from jax_rank_metrics._sources.blocks import Block, Catalog
from jax_rank_metrics._sources.census import Census
from jax_rank_metrics._sources.item_groups import (
    GroupTally,
    pool_of,
    straddle_of,
    tally_of,
)
from jax_rank_metrics._sources.lists import clean_weights
from jax_rank_metrics._sources.seen import Seen

State = TypeVar("State")


class FirstPass(NamedTuple):
    """The state of the first pass: what it found in the blocks so far."""

    best: BestSoFar | None  # None where places are counted, and nothing else
    seen: Seen
    census: Census | None  # where a function labels the items


class FirstPassResult(NamedTuple):
    """The outcome of the first pass, on all devices."""

    first: FirstRanks | None
    seen: Seen
    census: Census | None
    has_nan: jax.Array | None  # [*lists] bool; see `RankingData`


class Stream(NamedTuple):
    """A catalogue and what to look for in it.

    The first pass through the blocks finds the first ranks and the scores of the relevant
    items. It begins with `start`, and is `extended` by catalogues that hold the items one
    part after the other; `over_devices` ends it. To count places, a second pass then
    `count`s the items that rank above the relevant ones, from `no_counts` on. Both passes
    score a block in the same way, so that an item equals itself.
    """

    catalog: Catalog
    judged: ItemArrays  # [*lists, relevant], as passed
    seeds: jax.Array | None  # [*lists, 2], for random ties
    order: ItemOrder

    @classmethod
    def of(cls, catalog: Catalog) -> "Stream":
        """Reads the relevant items of a catalogue, and how its items compare."""
        # Nothing is scored here: the dtype of scores decides that of values and of keys.
        scores = jax.eval_shape(lambda: catalog.scorer.scores(0))
        if catalog.attributes is None and not catalog.judges_unlisted:
            relevant = catalog.relevant.as_judged()
            catalog = dataclasses.replace(catalog, relevant=relevant)
        judged = catalog.relevant.items(catalog.list_weights, scores)
        order = ItemOrder(catalog.policy, scores.dtype)
        return cls(catalog, judged, catalog.seeds, order)

    def under(self, ties: str | None) -> "Stream":
        """Returns the same stream under another tie policy, with the same seeds."""
        return self._replace(order=self.order._replace(policy=Policy(ties)))

    @property
    def relevant_ids(self) -> jax.Array:
        """The ids of the relevant items, `[*lists, relevant]`."""
        return self.catalog.relevant.ids

    def start(self, total_items: int | None = None) -> FirstPass:
        """Returns the state of the first pass before the first block.

        No more ranks are found than there are items in all, if their number is known.
        """
        shape, depth = self.relevant_ids.shape, self.catalog.depth
        if depth is not None and total_items is not None:
            depth = min(depth, total_items)
        empty, best, census = self.no_candidates(shape), None, None
        catalog = self.catalog
        is_float = jnp.issubdtype(self.order.dtype, jnp.floating)
        # Where there are first ranks, or places are counted, these say whether one is NaN.
        looks_for_nan = depth is None and is_float and catalog.attributes is not None
        some_lack_ranks = catalog.retrieved is not None or catalog.skips_inf
        seen = Seen.empty(catalog.relevant, empty, looks_for_nan, some_lack_ranks)
        # Zeros of the shape that a tally returns: a count per list; with groups also totals
        # of memberships; with a census a count for each of its slots.
        dropped = seen.length
        if seen.memberships is not None:
            dropped = GroupTally(seen.length, seen.memberships)
        if self.catalog.attributes is not None:
            # A census has two slots for bools, and many for numbers.
            labels = jax.eval_shape(lambda: self.catalog.block(jnp.int32(0)).labels)
            assert labels is not None
            census = Census.empty(shape[:-1], labels.dtype, self.judged.labels.dtype)
            dropped = jnp.zeros_like(census.counts)
        if depth is not None:
            best = BestSoFar(self.no_candidates((*shape[:-1], depth)), dropped)
        return FirstPass(best, seen, census)

    def extended(self, first_pass: FirstPass) -> FirstPass:
        """Returns the state of the first pass after the items of this catalogue."""

        def step(
            state: FirstPass, block: Block, candidates: RawCandidates
        ) -> FirstPass:
            is_judged = self.judged.exists
            seen = state.seen.extended(block, self.relevant_ids, is_judged)
            best, census = state.best, state.census
            # The census first: what is dropped below is counted in the slots of its labels.
            # Slots keep their labels, so that counts of earlier blocks stay valid.
            if census is not None:
                assert block.labels is not None
                exists = jnp.broadcast_to(block.exists, block.scores.shape)
                census = census.extended(block.labels, exists)
                if block.loses_items is not None:
                    lost = census.loses_items | block.loses_items
                    census = census._replace(loses_items=lost)
            if best is not None:
                tally = self._tally(census)
                best = best.extended(candidates, self.order, seen.num_ranked, tally)
            return FirstPass(best, seen, census)

        return self.fold(step, first_pass)

    def over_devices(self, first_pass: FirstPass) -> FirstPassResult:
        """Puts the first ranks in order, and merges what devices with parts found."""
        (best, seen, census), axis = first_pass, self.catalog.items_axis
        if axis is not None:
            seen = seen.over_devices(axis)
            if census is not None:
                of_device, census = census, census.over_devices(axis)
                if best is not None:  # its slots are those of the device
                    dropped = census.tally(of_device.labels, best.dropped)
                    best = best._replace(dropped=dropped)
        first, nan_found = None, seen.has_nan
        if best is not None:
            # By the merged census, so that all devices drop into the same slots.
            first = best.in_order(self.order, self.seeds, axis, self._tally(census))
            nan_found = is_nan(Rows().first(first.keys), self.order.dtype)
        return FirstPassResult(first, seen, census, nan_found)

    def _tally(self, census: Census | None) -> Tally | None:
        """Returns what adds up items that tie with the last of the first ranks."""
        item_groups = self.catalog.relevant.item_groups
        if item_groups is not None:
            return tally_of(item_groups)
        return None if census is None else census.tally_of

    def no_counts(self) -> Outranking:
        """Returns the state of the second pass before the first block."""
        return Outranking.zeros(self.relevant_ids.shape)

    def counted(self, counts: Outranking, seen: Seen) -> Outranking:
        """Returns the state of the second pass after the items of this catalogue."""
        items = ItemArrays(self.judged.labels, seen.has_rank)
        # As the ids of candidates. One that is cut off by int32 is in no catalogue, so that
        # its counts are not read.
        ids = self.relevant_ids.astype(jnp.int32)
        relevant = Candidates(seen.keys, ids, items, self.seeds)
        return self.outranked(counts, relevant)

    def outranked(self, counts: Outranking, targets: Candidates) -> Outranking:
        """Adds the items of this catalogue that rank above each target."""

        def add(
            counts: Outranking, block: Block, candidates: RawCandidates
        ) -> Outranking:
            # A target that the block holds is level with itself, which is no tie.
            is_member = block.introduces(targets.ids)
            in_block = outranking(targets, candidates.read(), is_member, self.order)
            return jax.tree.map(jnp.add, counts, in_block)

        return self.fold(add, counts)

    def first_ranks(self, outcome: FirstPassResult, total_items: int) -> RankingData:
        """Makes the ranking of the first ranks.

        Args:
            outcome: What the first pass found.
            total_items: How many items all devices hold.
        """
        first, seen, census, _ = outcome
        assert first is not None
        depth, straddle = first.ids.shape[-1], None
        # With the scores 9 7 7 7 4 and three ranks, `last_key` is that of 7, two items held
        # have it, and `dropped` is 1.
        exists, last_key = first.ids >= 0, first.keys[..., -1:]
        judged = self.judged.only(seen.exists)
        if census is None:
            # Items that are not relevant are not found, but have a rank, with the label 0.
            items, _ = self.catalog.relevant.find(first.ids, judged)
            items = items._replace(exists=exists)
        else:
            items = ItemArrays(first.labels, jnp.ones_like(exists)).only(exists)
        # Otherwise every item is held, and no tie group is cut.
        if depth < total_items:
            is_last = exists & (first.keys == last_key)
            if census is None:
                is_tied = (seen.keys == last_key) & seen.has_rank
                straddle = straddle_of(judged, is_tied, items, is_last, first.dropped)
            else:
                straddle = census.straddle(items.labels, is_last, first.dropped)
        held = Ranked(items, Rows(), total_items, first.ids, first.keys, straddle)
        return self._ranking(held, outcome, total_items, depth)

    def unranked(self, outcome: FirstPassResult, total_items: int) -> RankingData:
        """Makes the ranking of items that a function labels, none of which has a place.

        Any number of them may be relevant: their places are not counted.
        """
        return self._ranking(None, outcome, total_items, None)

    def places(self, counts: Outranking, seen: Seen, total_items: int) -> RankingData:
        """Makes the ranking of the relevant items from the counts on each device."""
        if self.catalog.items_axis is not None:
            counts = lax.psum(counts, self.catalog.items_axis)
        has_rank = seen.has_rank
        tied = jnp.where(has_rank, counts.equal, 0)
        # Relevant items without a rank come last; they leave no gap.
        rank = jnp.where(has_rank, counts.before, jnp.iinfo(jnp.int32).max)
        _, indices = sort_by([~rank])  # ascending
        items = self.judged.only(has_rank).at(indices)
        above, tied, rank = (
            _arithmetic.take(x, indices) for x in (counts.above, tied, rank)
        )
        # No longer needed to sort, the largest integer would overflow where 1 is added.
        rank = jnp.where(items.exists, rank, 0)
        held = Ranked(
            items, Rows(), total_items, rank_above=rank, above=above, tied=tied
        )
        is_float = jnp.issubdtype(self.order.dtype, jnp.floating)
        nan_found = counts.nans[..., 0] > 0 if is_float else None
        outcome = FirstPassResult(None, seen, None, nan_found)
        return self._ranking(held, outcome, total_items, None)

    def _ranking(
        self,
        held: Ranked | None,
        outcome: FirstPassResult,
        total_items: int,
        depth: int | None,
    ) -> RankingData:
        """Adds to the items that have places the pool, lengths and weights of lists."""
        _, seen, census, nan_found = outcome
        lists, list_exists = seen.length.shape, seen.length > 0
        if census is not None:
            pool = census.pool(total_items)
            # A census without room misses items. Outside of `jax.jit` that raises; inside,
            # the list does not count, rather than count with a wrong value.
            list_exists = list_exists & ~census.overflows
        else:
            is_listed = self.judged.exists & seen.exists
            # None says that places were counted, so that unlisted items have none.
            ranks = None if depth is None else total_items
            # Outside of the pool, relevant items must not be worth anything.
            judged = self.judged.only(seen.exists)
            pool = pool_of(judged, is_listed, seen.length, seen.memberships, ranks)
        weights = self.catalog.list_weights
        return RankingData(
            held=held,
            pool=pool,
            length=seen.num_ranked,
            list_exists=list_exists,
            list_weights=clean_weights(weights, lists, self.judged.labels.dtype),
            cut=None if depth is None or depth >= total_items else depth,
            ties=self.order.policy.name,
            partial_columns=tuple(sorted(self.catalog.relevant.columns)),
            has_nan=nan_found,
            label_dtype=_inputs.label_dtype(
                self.catalog.relevant.labels, self.judged.labels.dtype
            ),
        )

    def fold(
        self, step: Callable[[State, Block, RawCandidates], State], start: State
    ) -> State:
        """Passes a state through all blocks of this device, and returns the last one.

        Args:
            step: `step(state, block, candidates)` returns the state after a block. The
                candidates are the items of the block; all have the label 0 unless a
                function labels them, or the tie policy reads labels.
            start: The state before the first block; `step` keeps its shapes.
        """

        def body(state: State, number: jax.Array) -> tuple[State, None]:
            block = self.catalog.block(number)
            shape, dtype = block.scores.shape, self.judged.labels.dtype
            # A scalar for items that are all alike, in place of zeros `[*lists, block]`.
            labels = jnp.zeros((), dtype)
            if block.labels is not None:
                labels = block.labels.astype(dtype)
            elif self.order.policy.reads_labels:
                # The policies "best" and "worst" order ties by label, so that relevant
                # items need theirs.
                offsets = block.offsets(self.relevant_ids)
                labels = _arithmetic.put(
                    jnp.zeros(shape, dtype), offsets, self.judged.labels
                )
            items = SharedItems(labels, block.has_rank, shape)
            candidates = RawCandidates(block.scores, items, block.first_id, self.seeds)
            return step(state, block, candidates), None

        if self.catalog.scorer.num_blocks == 1:
            return body(start, jnp.zeros((), jnp.int32))[0]
        numbers = jnp.arange(self.catalog.scorer.num_blocks, dtype=jnp.int32)
        # In shard_map, a carry must vary from the start over all mesh axes of a step.
        start = _mesh.match_varying(start, (self.catalog, self.seeds))
        return lax.scan(body, start, numbers)[0]

    def no_candidates(self, shape: tuple[int, ...]) -> Candidates:
        """Returns candidates `shape`, `[*lists, slots]`, none of which exists."""
        labels = jnp.zeros(shape, self.judged.labels.dtype)
        items = ItemArrays(labels, jnp.zeros(shape, bool))
        return RawCandidates(jnp.zeros(shape, self.order.dtype), items).read()


def rank_listed(catalog: Catalog) -> RankingData:
    """Ranks a catalogue by a top-k, or by counted places where it has no depth."""
    stream, total = Stream.of(catalog), catalog.total_items
    outcome = stream.over_devices(stream.extended(stream.start(total)))
    if outcome.first is not None:
        return stream.first_ranks(outcome, total)
    counts = stream.counted(stream.no_counts(), outcome.seen)
    return stream.places(counts, outcome.seen, total)
