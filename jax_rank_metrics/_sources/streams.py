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
from jax_rank_metrics._ordering import keys as _keys
from jax_rank_metrics._ordering.candidates import Candidates, Given, Policy
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._ordering.streaming import Running
from jax_rank_metrics._ranking import Held, Straddle
from jax_rank_metrics._sources.blocks import Block, Blocks, put
from jax_rank_metrics._sources.ids import of_ids

# The relevant items found so far, and how many items of each list were looked at.
_Seen = tuple[Candidates, jax.Array]


class Streamed(NamedTuple):
    """What a way through the blocks found."""

    held: Held
    straddle: Straddle | None
    relevant: jax.Array  # [*lists, relevant] bool, which of them are in the catalogue
    length: jax.Array  # [*lists] int32


class Stream(NamedTuple):
    """A catalogue and what to look for."""

    blocks: Blocks
    judged: ItemArrays  # [*lists, relevant], as passed
    seeds: jax.Array | None
    policy: Policy

    @property
    def ids(self) -> jax.Array:
        """Of the relevant items."""
        return self.blocks.catalog.relevant_ids

    def top(self, depth: int) -> Streamed:
        """The first `depth` ranks, in one pass."""
        blocks, depth = self.blocks, min(depth, self.blocks.total)
        shape = (*self.ids.shape[:-1], depth)

        def step(state: Any, block: Block, given: Given) -> Any:
            running, seen = state
            seen = self._look(seen, block, given)
            return running.extended(given, self.policy), seen

        running = Running(self._none(shape), jnp.zeros(shape[:-1], jnp.int32))
        running, seen = self._through(step, (running, self._nothing_seen()))
        if blocks.options.items_axis is not None:
            running = running.over_devices(self.policy, blocks.options.items_axis)
        relevant, length = self._agreed(*seen)
        best, straddle = running.best, None
        exists = best.items.exists
        ids = jnp.where(exists, best.ids, -1)
        judged = self.judged.only(relevant.items.exists)
        items = of_ids(ids, self.ids, judged)[0]._replace(exists=exists)
        if depth < blocks.total:
            tied = (relevant.keys == best.keys[..., -1:]) & relevant.items.exists
            some, axis = with_others(tied, running.tied)
            more = running.tied > _arithmetic.count(
                (best.keys == best.keys[..., -1:]) & exists
            )
            straddle = Straddle(more, some, axis)
        held = Held(items, Rows(), ids, best.keys, None, None, blocks.total)
        return Streamed(held, straddle, relevant.items.exists, length)

    def counted(self) -> Streamed:
        """The places of relevant items, in two passes: their scores, then what beats them.

        Both passes score a block in the same way, so that an item equals itself.
        """
        seen = self._through(self._look, self._nothing_seen())
        relevant, length = self._agreed(*seen)

        def count(counts: Any, block: Block, given: Given) -> Any:
            more = self._outranked(relevant, block, given.read())
            return tuple(map(jnp.add, counts, more))

        none = jnp.zeros(self.ids.shape, jnp.int32)
        counts = self._through(count, (none, none, none))
        if self.blocks.options.items_axis is not None:
            counts = lax.psum(counts, self.blocks.options.items_axis)
        above, tied, earlier = counts
        exists = relevant.items.exists
        tied = jnp.where(exists, tied, 0)
        rank = jnp.where(exists, above + earlier, jnp.iinfo(jnp.int32).max)
        _, places = sort_by([~rank])
        items = self.judged.only(exists).at(places)
        above, tied, rank = (_arithmetic.take(x, places) for x in (above, tied, rank))
        rank = jnp.where(items.exists, rank, 0)
        held = Held(items, Rows(), None, None, rank, (above, tied), self.blocks.total)
        return Streamed(held, None, exists, length)

    def _through(self, step: Callable[[Any, Block, Given], Any], first: Any) -> Any:
        """Folds `step(state, block, its items)` over all blocks."""

        def body(state: Any, number: jax.Array) -> tuple[Any, None]:
            return step(state, *self._given(number)), None

        if self.blocks.number == 1:
            return body(first, jnp.zeros((), jnp.int32))[0]
        numbers = jnp.arange(self.blocks.number, dtype=jnp.int32)
        first = _mesh.match_varying(first, self.blocks.catalog)
        return lax.scan(body, first, numbers)[0]

    def _given(self, number: jax.Array) -> tuple[Block, Given]:
        block = self.blocks.block(number)
        labels = jnp.zeros(block.scores.shape, self.judged.labels.dtype)
        if self.policy.ties in ("best", "worst"):
            labels = put(labels, block.place(self.ids), self.judged.labels)
        items = ItemArrays(labels, block.exists)
        return block, Given(block.scores, items, block.first, self.seeds)

    def _none(self, shape: tuple[int, ...]) -> Candidates:
        exists = jnp.zeros(shape, bool)
        keys = _keys.score_key(jnp.zeros(shape, self.policy.dtype), exists)
        items = ItemArrays(jnp.zeros(shape, self.judged.labels.dtype), exists)
        return Candidates(keys, jnp.full(shape, -1, jnp.int32), items, self.seeds)

    def _nothing_seen(self) -> _Seen:
        return self._none(self.ids.shape), jnp.zeros(self.ids.shape[:-1], jnp.int32)

    def _look(self, seen: _Seen, block: Block, given: Given) -> _Seen:
        """What was seen, with the relevant items that a block holds."""
        relevant, length = seen
        size = self.blocks.size
        place = block.place(self.ids)
        place = jnp.where(self.ids >= block.fresh.astype(self.ids.dtype), place, size)
        here, place = place < size, jnp.minimum(place, size - 1)
        found = given.at(place).read()
        here = here & found.items.exists & self.judged.exists
        found = found._replace(items=found.items._replace(labels=self.judged.labels))

        def put_in(new: jax.Array, old: jax.Array) -> jax.Array:
            return jnp.where(here, new, old)

        mine = jax.tree.map(
            put_in, found._replace(seeds=None), relevant._replace(seeds=None)
        )
        return mine._replace(seeds=self.seeds), length + block.length

    def _agreed(
        self, relevant: Candidates, length: jax.Array
    ) -> tuple[Candidates, jax.Array]:
        """What the devices of the axis know together."""
        items_axis = self.blocks.options.items_axis
        if items_axis is None:
            return relevant, length
        mine = relevant.items.exists

        def only(x: jax.Array, none: int) -> jax.Array:
            base = jnp.asarray(none, x.dtype)
            return lax.psum(jnp.where(mine, x - base, 0), items_axis) + base

        exists = lax.psum(mine.astype(jnp.int32), items_axis) > 0
        labels = only(relevant.items.labels, 0)
        agreed = Candidates(
            only(relevant.keys, jnp.iinfo(relevant.keys.dtype).min),
            only(relevant.ids, -1),
            ItemArrays(labels, exists),
            self.seeds,
        )
        return agreed, lax.psum(length, items_axis)

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
            columns = relevant._replace(seeds=None)
            columns = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0)[..., None], columns)
            found = lax.map(lambda one: fn(one._replace(seeds=self.seeds)), columns)
            return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), found)

        def around(one: Candidates) -> tuple[jax.Array, jax.Array]:
            above = exists & (every.keys > one.keys)
            return _arithmetic.count(above), _arithmetic.count(
                exists & (every.keys == one.keys)
            )

        above, equal = each(around)
        if self.policy.ties == "expected":
            return above, equal, jnp.zeros_like(above)

        def before(one: Candidates) -> jax.Array:
            open_ = exists & (every.keys == one.keys)
            ahead = jnp.zeros_like(open_)
            levels = [*every.breaks(self.policy), -every.ids]
            own_levels = [*one.breaks(self.policy), -one.ids]
            for level, own in zip(levels, own_levels, strict=True):
                ahead = ahead | (open_ & (level > own))
                open_ = open_ & (level == own)
            return _arithmetic.count(ahead)

        own = block.place(self.ids) < self.blocks.size
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
