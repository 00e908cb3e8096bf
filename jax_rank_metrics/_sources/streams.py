"""The two ways through the blocks of a catalogue: the best few, or counting."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.pools import Weighted
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._ordering.candidates import Candidates, ItemOrder, RawCandidates
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._ordering.streaming import BestSoFar
from jax_rank_metrics._ranking import CountedPlaces, Straddle, TieRuns
from jax_rank_metrics._sources.blocks import Block, Catalog, put


class Seen(NamedTuple):
    """What some blocks held of the relevant items, and how many items in all."""

    keys: jax.Array  # [*lists, relevant], the least where not found
    exists: jax.Array  # [*lists, relevant] bool, which were found
    length: jax.Array  # [*lists] int32


class Stream(NamedTuple):
    """A catalogue and what to look for."""

    catalog: Catalog
    judged: ItemArrays  # [*lists, relevant], as passed
    seeds: jax.Array | None
    order: ItemOrder

    @property
    def ids(self) -> jax.Array:
        """Of the relevant items."""
        return self.catalog.relevant.ids

    def top(self) -> tuple[TieRuns, Seen]:
        """The first ranks, in one pass."""
        catalog = self.catalog
        depth = min(catalog.depth, catalog.total)
        lists = self.ids.shape[:-1]

        def step(state: Any, block: Block, given: RawCandidates) -> Any:
            running, seen = state
            seen = self._look(seen, block, given)
            return running.extended(given, self.order), seen

        running = BestSoFar(self._nothing((*lists, depth)), jnp.zeros(lists, jnp.int32))
        running, seen = self._through(step, (running, self._nothing_seen()))
        if catalog.items_axis is not None:
            running = running.over_devices(self.order, catalog.items_axis, self.seeds)
        seen = self._agreed(seen)
        best, straddle = running.best, None
        exists, last = best.items.exists, best.keys[..., -1:]
        ids = jnp.where(exists, best.ids, -1)
        items, _ = catalog.relevant.among(ids, self.judged.only(seen.exists))
        if depth < catalog.total:
            some, axis = with_others((seen.keys == last) & seen.exists, running.tied)
            more = running.tied > _arithmetic.count((best.keys == last) & exists)
            straddle = Straddle(more, some, axis)
        items = items._replace(exists=exists)
        held = TieRuns(items, Rows(), ids, best.keys, straddle, catalog.total)
        return held, seen

    def counted(self) -> tuple[CountedPlaces, Seen]:
        """The places of relevant items, in two passes: their scores, then what beats them.

        Both passes score a block in the same way, so that an item equals itself.
        """
        seen = self._agreed(self._through(self._look, self._nothing_seen()))
        of_all = ItemArrays(self.judged.labels, seen.exists)
        relevant = Candidates(seen.keys, self.ids.astype(jnp.int32), of_all, self.seeds)

        def count(counts: Any, block: Block, given: RawCandidates) -> Any:
            more = self._outranked(relevant, block, given.read())
            return tuple(map(jnp.add, counts, more))

        none = jnp.zeros(self.ids.shape, jnp.int32)
        counts = self._through(count, (none, none, none))
        if self.catalog.items_axis is not None:
            counts = lax.psum(counts, self.catalog.items_axis)
        above, tied, earlier = counts
        tied = jnp.where(seen.exists, tied, 0)
        rank = jnp.where(seen.exists, above + earlier, jnp.iinfo(jnp.int32).max)
        _, places = sort_by([~rank])
        items = self.judged.only(seen.exists).at(places)
        above, tied, rank = (_arithmetic.take(x, places) for x in (above, tied, rank))
        rank = jnp.where(items.exists, rank, 0)
        held = CountedPlaces(items, Rows(), rank, above, tied, self.catalog.total)
        return held, seen

    def _through(
        self, step: Callable[[Any, Block, RawCandidates], Any], first: Any
    ) -> Any:
        """Folds `step(state, block, its items)` over all blocks."""

        def body(state: Any, number: jax.Array) -> tuple[Any, None]:
            block = self.catalog.block(number)
            labels = jnp.zeros(block.scores.shape, self.judged.labels.dtype)
            if self.order.policy.reads_labels:
                labels = put(labels, block.place(self.ids), self.judged.labels)
            items = ItemArrays(labels, block.exists)
            given = RawCandidates(block.scores, items, block.first, self.seeds)
            return step(state, block, given), None

        if self.catalog.number == 1:
            return body(first, jnp.zeros((), jnp.int32))[0]
        numbers = jnp.arange(self.catalog.number, dtype=jnp.int32)
        return lax.scan(
            body, _mesh.match_varying(first, (self.catalog, self.seeds)), numbers
        )[0]

    def _nothing(self, shape: tuple[int, ...]) -> Candidates:
        labels = jnp.zeros(shape, self.judged.labels.dtype)
        items = ItemArrays(labels, jnp.zeros(shape, bool))
        return RawCandidates(jnp.zeros(shape, self.order.dtype), items).read()

    def _nothing_seen(self) -> Seen:
        none, length = self._nothing(self.ids.shape), self.ids.shape[:-1]
        return Seen(none.keys, none.items.exists, jnp.zeros(length, jnp.int32))

    def _look(self, seen: Seen, block: Block, given: RawCandidates) -> Seen:
        """What was seen, with the relevant items that a block holds."""
        place = block.place(self.ids)
        here = place < self.catalog.size
        here = here & (self.ids >= block.fresh.astype(self.ids.dtype))
        found = given.at(jnp.minimum(place, self.catalog.size - 1)).read()
        here = here & found.items.exists & self.judged.exists
        keys = jnp.where(here, found.keys, seen.keys)
        return Seen(keys, seen.exists | here, seen.length + block.length)

    def _agreed(self, seen: Seen) -> Seen:
        """What the devices of the axis know together."""
        axis = self.catalog.items_axis
        if axis is None:
            return seen
        exists = lax.pmax(seen.exists.astype(jnp.int32), axis) > 0
        return Seen(lax.pmax(seen.keys, axis), exists, lax.psum(seen.length, axis))

    def _outranked(
        self, relevant: Candidates, block: Block, every: Candidates
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """What a block holds around each relevant item, `[*lists, relevant]` int32.

        The items with better scores, those with equal ones, and of these the ones that
        rank before by whatever breaks ties. One relevant item after the other: scores
        are read once for each, and never compared all with all.
        """
        exists = every.items.exists

        def each(fn: Callable[[Candidates], Any]) -> Any:
            def of(place: jax.Array) -> Any:
                return fn(
                    relevant.map(lambda x: lax.dynamic_slice_in_dim(x, place, 1, -1))
                )

            found = lax.map(of, jnp.arange(self.ids.shape[-1]))
            return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), found)

        def around(one: Candidates) -> tuple[jax.Array, jax.Array]:
            above = exists & (every.keys > one.keys)
            equal = exists & (every.keys == one.keys)
            return _arithmetic.count(above), _arithmetic.count(equal)

        above, equal = each(around)
        if self.order.policy.forbids_order:
            return above, equal, jnp.zeros_like(above)

        def before(one: Candidates) -> jax.Array:
            open_ = exists & (every.keys == one.keys)
            ahead = jnp.zeros_like(open_)
            levels = [*every.tie_breaks(self.order.policy), -every.ids]
            own_levels = [*one.tie_breaks(self.order.policy), -one.ids]
            for level, own in zip(levels, own_levels, strict=True):
                ahead = ahead | (open_ & (level > own))
                open_ = open_ & (level == own)
            return _arithmetic.count(ahead)

        own = block.place(self.ids) < self.catalog.size
        earlier = lax.cond(
            _mesh.unvmap_any(equal > own.astype(jnp.int32)),
            lambda: each(before),
            lambda: jnp.zeros_like(above),
        )
        return above, equal, earlier


def with_others(
    those: jax.Array, number: jax.Array, ranks: int | None = None
) -> tuple[jax.Array, Weighted]:
    """Which of a pool there are, and how many: `those` judged, of `number` in all."""
    others = (number - Rows().sum(those))[..., None]
    counts = jnp.concatenate([those.astype(jnp.int32), others], axis=-1)
    return counts > 0, Weighted(counts, ranks)
