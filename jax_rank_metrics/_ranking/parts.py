"""What a source hands over to a `Ranking`."""

import dataclasses
import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _mesh
from jax_rank_metrics._items import ItemArrays, RawItems
from jax_rank_metrics._layouts.pools import Sharded, Weighted
from jax_rank_metrics._ordering.candidates import Candidates, RawCandidates
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._places import first, groups
from jax_rank_metrics._places.soft import Soft
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking.items import ItemFn, Items, item_predicate, item_values
from jax_rank_metrics._ranking.memo import Memo
from jax_rank_metrics._types import Cut

T = TypeVar("T")


@pytree("ranks")
class Held:
    """Items that have a place and are held.

    Shapes for lists as rows:
        items: `[*lists, held]`, in rank order.
        axis: How they lie.
        index: `[*lists, held]` int32, which items they are, -1 where none; None where
            they have no order.
        keys: `[*lists, held]`, what ranked them; None where every item is alone.
        above: `[*lists, held]` int32, how many items precede each in the definite order;
            None where items follow each other.
        group: `[*lists, held]` int32 twice, above and tied, where they were counted
            instead of read off neighbours; else None.
        ranks: How many ranks there can be, static.
        soft: What soft places are worked out from, in place of all others; or None.
    """

    items: ItemArrays
    axis: Any
    index: jax.Array | None
    keys: jax.Array | None
    above: jax.Array | None
    group: tuple[jax.Array, jax.Array] | None
    ranks: int
    soft: Soft | None = None


@pytree()
class Pool:
    """Every item that is judged, in any order, and how they lie."""

    items: ItemArrays | RawItems
    axis: Any


@pytree("ties", "items_axis")
class Scored:
    """The scores of a pool, to count by.

    Shapes for lists as rows:
        scores: `[*lists, items]`, as they were passed.
        seeds: `[*lists, 2]` uint32, or None.
        ties: The policy, static.
        items_axis: Mesh axes over which items are cut, static.
    """

    scores: jax.Array
    seeds: jax.Array | None
    ties: str | None
    items_axis: Any

    @property
    def policy(self) -> Policy:
        """The tie policy."""
        return Policy(self.ties)

    def read(self, pool: Pool) -> Candidates:
        """Those items of the pool that have a rank, ready to be compared."""
        start = 0
        if self.items_axis is not None:
            start = lax.axis_index(self.items_axis) * self.scores.shape[-1]
        return RawCandidates(self.scores, pool.items, start, self.seeds).read()

    def first(self, pool: Pool, stop_fn: ItemFn, grouped: bool) -> first.First:
        """The first item that stops, by counting.

        Args:
            pool: The items of the scores.
            stop_fn: Which items stop.
            grouped: Whether tied items count as such, or stand in a definite order.
        """
        every, axis = self.read(pool), pool.axis
        stop = item_predicate(stop_fn, every.items)
        found = first.by_keys(every.keys, every.items.exists, stop, axis)
        if grouped:
            return found
        # Of the items that tie with it, those that its own break puts before it.
        exists = every.items.exists
        open_ = exists & (
            every.keys
            == axis.broadcast_to_items(first.best_key(every.keys, stop, axis))
        )
        earlier = jnp.zeros_like(found.above)
        for level in every.tie_breaks(self.policy):
            own = axis.broadcast_to_items(first.best_key(level, open_ & stop, axis))
            earlier = earlier + axis.sum(open_ & (level > own))
            open_ = open_ & (level == own)
        index = -every.ids
        own = axis.broadcast_to_items(first.best_key(index, open_ & stop, axis))
        earlier = earlier + axis.sum(open_ & (index > own))
        return first.alone(found.above + earlier, found.stops > 0)


@pytree()
class Straddle:
    """A tie group that may reach beyond the last rank held.

    Shapes:
        lists: `[*lists]` bool, where it may.
        tied: `[*lists, pool]` bool, the items of the pool that tie with the last one
            held; None where scores find them.
        axis: How these items lie.
    """

    lists: jax.Array
    tied: jax.Array | None
    axis: Any

    def look(
        self,
        last_key: jax.Array,
        pool: Pool,
        scored: Scored | None,
        item_fns: Sequence[ItemFn],
        dtype: Any,
    ) -> tuple[jax.Array, dict[ItemFn, jax.Array]]:
        """Of the items that tie with the last: how many, and totals of functions of them.

        Each `[*lists, …]`, and of use only in `lists`. Bools are counted.
        """
        # Each device looks at its own part; what travels does so outside the branch.
        sharded = isinstance(self.axis, Sharded)
        axis = self.axis.here if sharded else self.axis

        def here() -> Any:
            items = pool.items.retrieved_items()
            tied = self.tied
            if tied is None:
                assert scored is not None
                every = scored.read(pool)
                tied = every.items.exists & (every.keys == last_key[..., None])
            items = items.only(tied)
            totals = []
            for item_fn in item_fns:
                value = item_values(item_fn, items, dtype, keep_bools=True)
                totals.append(axis.sum(value, value.ndim - items.exists.ndim))
            return axis.sum(tied), totals

        def nowhere() -> Any:
            zeros = jax.tree.map(
                lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(here)
            )
            plain = pool.items
            if isinstance(plain, RawItems):
                plain = dataclasses.replace(plain, columns={})
            scores = None if scored is None else scored.scores
            return _mesh.match_varying(zeros, (last_key, plain, scores, self.tied))

        found = lax.cond(_mesh.unvmap_any(self.lists), here, nowhere)
        number, totals = lax.psum(found, self.axis.axis_name) if sharded else found
        return number, dict(zip(item_fns, totals, strict=True))


class Parts:
    """What every `Ranking` consists of, and how much of it there is."""

    _held: Held | None
    _pool: Pool | None
    _scored: Scored | None
    _straddle: Straddle | None
    _list_exists: jax.Array
    _cut: int | None
    _grouped: bool

    @property
    def _dtype(self) -> jnp.dtype:
        """The float dtype of values."""
        if self._held is not None:
            return self._held.items.labels.dtype
        items = self._judged_pool().items
        if isinstance(items, RawItems):
            return jnp.dtype(items.dtype)
        return items.labels.dtype

    @property
    def _column_names(self) -> list[str]:
        """The names of the columns that its items have."""
        part = self._held or self._pool
        return [] if part is None else list(part.items.columns)

    @property
    def _holds_only_relevant(self) -> bool:
        """Whether items that are not listed rank, and nobody holds their places."""
        axis = None if self._pool is None else self._pool.axis
        return isinstance(axis, Weighted) and axis.ranks is None

    @property
    def _max_items(self) -> int | None:
        """As many items as a list can have, static; None where that is not known."""
        if self._pool is None:
            return None
        held = 0 if self._held is None else self._held.ranks
        return max(held, self._pool.items.labels.shape[-1])

    def _judged_pool(self) -> Pool:
        """The pool, where labels of every judged item are known."""
        if self._pool is None:
            raise ValueError(
                "pool_labels is None, but this metric reads the labels of every judged "
                "item; pass pool_labels"
            )
        return self._pool

    def _sample_items(self) -> Items:
        """Items as formulas are given them, to see what they make of them."""
        held = (
            self._judged_pool().items.read() if self._held is None else self._held.items
        )
        return Items.of(held)

    @property
    def _is_soft(self) -> bool:
        """Whether places are soft, of `relax`: one real rank for each item."""
        return self._held is not None and self._held.soft is not None

    def _unreached(self, ks: Sequence[Cut]) -> list[Cut]:
        """The cutoffs that the ranks held do not reach."""
        if self._cut is None:
            return []
        return [k for k in ks if not isinstance(k, int) or k > self._cut]

    def _held_to(self, ks: Sequence[Cut]) -> Held:
        """The ranks held, if they reach every cutoff."""
        for k in self._unreached(ks):
            k = k if isinstance(k, int) else None
            raise ValueError(
                f"k is {k}, but the ranking was cut at k={self._cut}; rank with "
                f"k={k} or deeper"
            )
        if self._held is None:
            raise ValueError(
                "this metric reads ranks, but it was made with order_free=True, so that "
                "nothing was ordered; leave order_free out"
            )
        return self._held

    def _straddling_group(
        self, item_fns: Sequence[ItemFn]
    ) -> tuple[jax.Array, dict[ItemFn, jax.Array]]:
        """See `Straddle.look`; once for all metrics that ask the same."""
        item_fns = tuple(dict.fromkeys(item_fns))
        assert self._straddle is not None
        assert self._held is not None and self._held.keys is not None
        look = functools.partial(
            self._straddle.look,
            self._held.keys[..., -1],
            self._judged_pool(),
            self._scored,
            item_fns,
            self._dtype,
        )
        return self._once(("tied", item_fns), look)

    def _tie_runs(self, held: Held) -> groups.Runs:
        """Which items held tie; once for all metrics."""
        keys, axis = held.keys if held.group is None else held.group[0], held.axis
        assert keys is not None
        return self._once("runs", lambda: groups.runs(axis, held.items.exists, keys))

    @property
    def _memo(self) -> Memo | None:
        """What was worked out for other metrics that are traced together."""
        return getattr(self, "_shared_memo", None)

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        """`make()`, or what it gave for another metric."""
        if self._memo is None:
            return make()
        try:
            hash(key)
        except TypeError:  # a cutoff may be an array
            return make()
        return self._memo.once(key, make)
