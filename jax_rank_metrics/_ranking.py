"""What every formula reads: items in rank order, and the pool they were ranked from."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _inputs, _ordering, _some_lists
from jax_rank_metrics._counted import Counted
from jax_rank_metrics._inputs import GivenItems, ItemArrays
from jax_rank_metrics._per_list import PerList
from jax_rank_metrics._rows import Rows
from jax_rank_metrics._segments import Segments
from jax_rank_metrics._shards import Shards
from jax_rank_metrics._sums import ratio
from jax_rank_metrics._tie_groups import Group, JudgedGroups, TieGroups
from jax_rank_metrics._types import Cut, Cutoffs, Discount, Gain, Number, pytree

# How ranked items may lie, and those of a pool.
RankedLayout = Rows | Segments
PoolLayout = Rows | Segments | Shards | Counted
T = TypeVar("T")
L = TypeVar("L", bound=PoolLayout, covariant=True)


@pytree()
class Items(Generic[L]):
    """Items of lists and how they lie; shapes as for `ItemArrays`."""

    arrays: ItemArrays | GivenItems
    axis: L

    @property
    def labels(self) -> jax.Array:
        """Labels as floats, 0 where no item exists."""
        return self.arrays.read().labels

    @property
    def exists(self) -> jax.Array:
        """Which items exist, bool."""
        return self.arrays.read().exists

    @property
    def weights(self) -> jax.Array | None:
        """Weights of the items, 0 where none exists; None if they weigh the same."""
        return self.arrays.read().weights

    def relevant(self, threshold: Number) -> jax.Array:
        """Which items exist and have at least this label, bool."""
        return (self.labels >= threshold) & self.exists

    def where_exist(self, x: jax.Array) -> jax.Array:
        """`x` where items exist, else 0, whatever `x` holds there."""
        return jnp.where(self.exists, x, jnp.zeros_like(x))


class Best(NamedTuple):
    """What the items of the pool are worth, in the best order there is.

    Shapes for lists as rows:
        values: `[*lists, ranks]`, not negative, falling.
        axis: How they lie.
    """

    values: jax.Array
    axis: RankedLayout

    def first(self) -> jax.Array:
        """The largest, `[*lists]`."""
        return self.axis.max(self.values)

    def sum_to(self, discount_fn: Discount, ks: Sequence[int | None]) -> jax.Array:
        """Discounted sums over ranks 1..k, `[*lists, len(ks)]`."""
        terms = self.values * self.axis.multipliers(discount_fn, self.values)
        return self.axis.sum_to(jnp.where(self.values > 0, terms, 0), ks)


@pytree("cut", "in_order", "shared_ks")
class Ranking:
    """Lists in rank order. Made by `rank` and its kin, read by every metric.

    Formulas reduce through its methods, so that they hold for every layout. Treat its
    fields as private, but for `ids`; they change with the layouts.

    Shapes for lists as rows, with `ranks` being how many ranks are held:
        ranked: `Items` `[*lists, ranks]`, in rank order.
        pool: `Items` `[*lists, items]`, every judged item in any order; None where only
            the number of relevant ones is known.
        groups: Of tied items; None where the order is definite.
        length: `[*lists]` int32, items that exist in the ranked list, to its end or as
            far as ranks are held.
        known_relevant: `[*lists]` int32, replaces the count over the pool; or None.
        counts: `[*lists]` bool, lists that exist.
        list_weights: `[*lists]`, or None where items weigh the list.
        cut: how many ranks were asked for; None if all.
        in_order: whether tied items stand in an order of their own, for metrics without
            a closed form over all orders.
        ids: `[*lists, ranks]` int32, the items of a catalogue, -1 at ranks that hold
            none; None from other sources.
        shared_ks: cutoffs of other metrics that read the ideal order in the same call.
    """

    ranked: Items[RankedLayout]
    pool: Items[PoolLayout] | None
    groups: TieGroups | JudgedGroups | None
    length: jax.Array
    known_relevant: jax.Array | None
    counts: jax.Array
    list_weights: jax.Array | None
    cut: int | None
    in_order: bool
    shared_ks: tuple[int | None, ...] = ()
    ids: jax.Array | None = None

    @property
    def dtype(self) -> jnp.dtype:
        """The float dtype of values."""
        return self.ranked.labels.dtype

    def cutoffs(self, k: Cutoffs) -> tuple[int | None, ...]:
        """The cutoffs of `k`, if this ranking reaches them."""
        ks = _inputs.cutoffs(k)
        for one in ks:
            if self.cut is not None and (one is None or one > self.cut):
                raise ValueError(
                    f"k is {one}, but the ranking was cut at k={self.cut}; rank with "
                    f"k={one} or deeper"
                )
        return ks

    def sharing(self, ks: tuple[int | None, ...]) -> "Ranking":
        """The same ranking for several metrics, whose ideal orders are cut at `ks`."""
        return dataclasses.replace(self, shared_ks=ks)

    def definite(self) -> "Ranking":
        """One order of the tied items, for metrics without a closed form over all."""
        if not self.in_order:
            raise ValueError(
                "ties is 'expected', but this metric has no closed form over the orders "
                "of tied items; pass ties=None or another policy"
            )
        return dataclasses.replace(self, groups=None)

    def check_gain(self, gain_fn: Gain) -> None:
        """Raises if items of the label 0 gain something and have no rank."""
        axis = None if self.pool is None else self.pool.axis
        if not isinstance(axis, Counted) or axis.ranks is not None:
            return
        with jax.ensure_compile_time_eval():
            gain = float(gain_fn(jnp.zeros((), self.dtype)))
        if gain != 0:
            raise ValueError(
                f"gain_fn gives the label 0 a gain of {gain}, but a catalogue ranked with "
                "k=None holds the relevant items alone; pass a k to rank_catalog, or a "
                "gain that is 0 for 0"
            )

    @property
    def weighs_items(self) -> bool:
        """Whether items have weights."""
        return self.ranked.weights is not None

    # Over ranks

    def ranks(self) -> jax.Array:
        """Ranks 1, 2, … as floats, of a shape that broadcasts with the ranked items."""
        return self.ranked.axis.ranks(self.ranked.labels)

    def over_ties(self, read: Callable[["Ranking"], T]) -> T:
        """`read` of this ranking; quicker than on its own where few lists tie.

        Where nothing ties, one order is all there is, and `read` is given that.

        Args:
            read: Reads off a ranking what is small, totals `[*lists, …]`: it is compiled
                twice, and all that it works with stays inside. Nothing that sorts. It may
                be given some of the lists alone, so it spreads what else it knows of a
                list by `Items.axis.spread`.
        """
        if not isinstance(self.groups, TieGroups):
            return read(self)
        one = dataclasses.replace(self, groups=None)
        tied = self.groups.tied(self.pool)
        if tied is None:
            return read(self)

        def as_one() -> T:
            return lax.cond(
                _ordering.anywhere(tied), lambda: read(self), lambda: read(one)
            )

        several = _some_lists.at_once(tied.shape, self.groups.items)
        axes = [items.axis for items in (self.ranked, self.pool) if items is not None]
        if several is None or not all(isinstance(axis, Rows) for axis in axes):
            return as_one()

        def apart() -> T:
            return _some_lists.replaced(read(one), tied, read, self, several)

        return lax.platform_dependent(cpu=apart, default=as_one)

    def mean_at_rank(self, of: Callable[[Items[Any]], jax.Array]) -> jax.Array:
        """Non-negative `of(items)` at every rank, on average over the orders of ties."""
        ranked = of(self.ranked)
        if not isinstance(self.groups, TieGroups):
            return ranked
        return self.groups.mean(ranked, of, self._pool())

    def group(self, relevance_threshold: Number) -> Group:
        """Tied and relevant items around every rank."""

        def relevant(items: Items[Any]) -> jax.Array:
            return items.relevant(relevance_threshold).astype(jnp.int32)

        ranked = relevant(self.ranked)
        if self.groups is None:
            before = self.ranked.axis.running_sum(ranked) - ranked
            one, none = jnp.ones_like(ranked), jnp.zeros_like(ranked)
            group = Group(one, none, ranked, before)
        else:
            group = self.groups.group(ranked, relevant, self._pool())
        return Group(*(x.astype(self.dtype) for x in group))

    def relevant_at_rank(self, relevance_threshold: Number) -> jax.Array:
        """The probability that the item at every rank is relevant."""
        if not isinstance(self.groups, TieGroups):
            return self.ranked.relevant(relevance_threshold).astype(self.dtype)
        group = self.group(relevance_threshold)
        return group.relevant / jnp.maximum(group.size, 1)

    def sum_to(self, x: jax.Array, ks: Sequence[Cut]) -> jax.Array:
        """Totals over ranks 1..k, `[*lists, len(ks)]`, of what was read at every rank.

        A cutoff may also be an array `[*lists]`, of another depth for every list.
        """
        return self.sum_at(x, lambda rank, group: jnp.ones_like(rank), ks)

    def sum_at(
        self,
        x: jax.Array,
        at: Callable[[jax.Array, Group], jax.Array],
        ks: Sequence[Cut],
        group: Group | None = None,
    ) -> jax.Array:
        """`sum_to` of `x·at(rank, group)`.

        Args:
            x: What was read at every rank.
            at: A function of ranks, and of `group` there.
            ks: Cutoffs.
            group: From `group`, where `at` reads it.
        """
        if group is None:
            none = jnp.zeros_like(x)
            group = Group(none, none, none, none)
        if isinstance(self.groups, JudgedGroups):
            x = self.ranked.where_exist(x)
            return self.groups.sum_at(x, at, ks, group)
        x = x * at(self.ranks(), group)
        return self.ranked.axis.sum_to(self.ranked.where_exist(x), ks)

    def discounted_sum(
        self, x: jax.Array, discount_fn: Discount, ks: Sequence[Cut]
    ) -> jax.Array:
        """`sum_to` of `x·discount_fn(rank)`."""
        if isinstance(self.groups, JudgedGroups):

            def at(rank: jax.Array, group: Group) -> jax.Array:
                return jnp.asarray(discount_fn(rank), rank.dtype)

            return self.sum_at(x, at, ks)
        return self.sum_to(x * self.ranked.axis.multipliers(discount_fn, x), ks)

    def first_at(
        self,
        relevance_threshold: Number,
        at: Callable[[jax.Array], jax.Array],
        ks: Sequence[Cut],
    ) -> jax.Array:
        """The mean of `at(rank)` at the first relevant item, 0 if that is beyond k.

        `[*lists, len(ks)]`.
        """
        if isinstance(self.groups, JudgedGroups):
            group = self.group(relevance_threshold)
            return self.groups.first_at(at, ks, group.relevant, group.before)[0]
        here, _ = self._first_relevant(relevance_threshold)
        return self.sum_to(here * at(self.ranks()), ks)

    def none_to(self, relevance_threshold: Number, ks: Sequence[Cut]) -> jax.Array:
        """The probability that no item of ranks 1..k is relevant, `[*lists, len(ks)]`."""
        if isinstance(self.groups, JudgedGroups):
            group = self.group(relevance_threshold)
            return self.groups.first_at(
                jnp.ones_like, ks, group.relevant, group.before
            )[1]
        _, missed = self._first_relevant(relevance_threshold)
        return self.ranked.axis.least_to(missed, ks)

    def _first_relevant(
        self, relevance_threshold: Number
    ) -> tuple[jax.Array, jax.Array]:
        """Probabilities, at every rank.

        That the first relevant item is here, and that it is neither here nor before.
        """
        if self.groups is None:
            relevant = self.ranked.relevant(relevance_threshold).astype(jnp.int32)
            until = self.ranked.axis.running_sum(relevant)
            here, missed = (relevant == 1) & (until == 1), until == 0
            return here.astype(self.dtype), missed.astype(self.dtype)
        group = self.group(relevance_threshold)
        # None of the group was relevant so far: all its relevant items are left.
        left = jnp.maximum(group.size - group.place, 1)
        here = self.ranked.where_exist(jnp.minimum(group.relevant / left, 1))
        missed = jnp.maximum(left - group.relevant, 0) / left
        missed = jnp.where(self.ranked.exists, missed, 1)
        missed = self.ranked.axis.running_product(missed)
        return self.ranked.axis.previous(missed, 1) * here, missed

    def depth_of(self, ks: Sequence[int | None]) -> jax.Array:
        """How many items ranks 1..k hold, `[*lists, len(ks)]` floats."""
        length = self.length
        depths = [length if k is None else jnp.minimum(length, k) for k in ks]
        return jnp.stack(depths, axis=-1).astype(self.dtype)

    def nominal_depth(self, ks: Sequence[int | None]) -> jax.Array:
        """The cutoff itself, or all items where it is None, as `depth_of`."""
        depths = [
            self.length if k is None else jnp.full_like(self.length, k) for k in ks
        ]
        return jnp.stack(depths, axis=-1).astype(self.dtype)

    # Over the pool

    def _pool(self) -> Items[PoolLayout]:
        if self.pool is None:
            raise ValueError(
                "pool_labels is None, but this metric reads the labels of every judged "
                "item; pass pool_labels"
            )
        return self.pool

    def num_relevant(self, relevance_threshold: Number) -> jax.Array:
        """Relevant items of the pool, `[*lists]` floats."""
        if self.known_relevant is not None:
            return self.known_relevant.astype(self.dtype)
        pool = self._pool()
        return pool.axis.sum(pool.relevant(relevance_threshold)).astype(self.dtype)

    def pool_max(self, of: Callable[[Items[Any]], jax.Array]) -> jax.Array:
        """The largest non-negative `of(items)`, `[*lists]`."""
        pool = self._pool()
        return pool.axis.max(of(pool))

    def best(
        self,
        of: Callable[[Items[Any]], jax.Array],
        ks: Sequence[int | None],
        rising: bool = False,
    ) -> "Best":
        """Non-negative `of(items)` of the pool in falling order.

        Args:
            of: What an item is worth.
            ks: Cutoffs that will be asked of it.
            rising: Whether `of` reads labels alone, never falls as they rise and is 0
                for 0: then the best labels are all it takes.
        """
        pool = self._pool()
        # As deep as any metric here asks for, so that one sort serves them all.
        depth = _inputs.deepest((*ks, *self.shared_ks))
        if not rising:
            return Best(*pool.axis.largest(of(pool), pool.exists, depth))
        labels, axis = pool.axis.largest(pool.labels, pool.exists, depth)
        return Best(of(Items(ItemArrays(labels, labels >= 0, None), axis)), axis)

    # Weights

    def item_weight(self, of: Callable[[Items[Any]], jax.Array]) -> jax.Array | None:
        """The mean item weight of every list, each item counted `of(items)` times.

        Where that is zero for every item, the plain mean. None without item weights.
        """
        if self.ranked.weights is None:
            return None
        pool = self._pool()
        assert pool.weights is not None  # sources give both or neither
        times = pool.where_exist(of(pool)).astype(self.dtype)
        some = pool.axis.max(times) > 0
        times = jnp.where(pool.axis.spread(some), times, pool.exists.astype(self.dtype))
        total = pool.axis.sum(times)
        weighed = pool.where_exist(pool.weights * times)
        return ratio(pool.axis.sum(weighed), total)

    def per_list(
        self,
        values: jax.Array,
        defined: jax.Array,
        item_weight: jax.Array | None,
        k: Cutoffs = None,
    ) -> PerList:
        """Values `[*lists, len(ks)]` with the weights of their lists.

        `item_weight` is what the items' weights imply for the list, from `item_weight`.
        """
        weights = self.list_weights if self.list_weights is not None else item_weight
        if weights is None:
            weights = jnp.ones(self.counts.shape, self.dtype)
        counts = self.counts & (weights > 0)
        defined = defined & counts
        values = jnp.where(defined[..., None], values, 0)
        if not isinstance(k, (tuple, list)):
            values = values[..., 0]
        return PerList(
            values, jnp.where(counts, weights, 0).astype(self.dtype), defined
        )
