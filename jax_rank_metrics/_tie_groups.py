"""Groups of tied items, and what is known of a group whatever the order inside it."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _devices, _ordering
from jax_rank_metrics._shards import Shards
from jax_rank_metrics._sums import Digits, Pair, exponent, pair_total, ratio, total
from jax_rank_metrics._types import Cut, pytree

T = TypeVar("T")


class Group(NamedTuple):
    """Relevant items around every rank, `[*lists, ranks]`.

    Where the ranking is one definite order, every item is a group of its own.
    """

    size: jax.Array  # items in the tie group of this rank
    place: jax.Array  # items of the group before this rank: 0, 1, …, size − 1
    relevant: jax.Array  # relevant items in the group
    before: jax.Array  # relevant items ranked before the group


@pytree("items")
class TieGroups:
    """The tie group at every rank, for rankings that stand for all orders of tied items.

    Only one group of a list can reach beyond the last rank. What it holds there is
    counted over the pool.

    Shapes for lists as rows, with `depth` ranks and `pool` items:
        first: `[*lists, depth]` bool, ranks at which a group begins.
        axis: How the ranks lie.
        items: How many items are ranked at most, all in all.
        beyond: The group that holds the last rank; None where every item is ranked.
    """

    first: jax.Array
    axis: Any
    items: int
    beyond: "Beyond | None"

    @classmethod
    def of(
        cls,
        ranked: jax.Array,
        exist: jax.Array,
        axis: Any,
        items: int,
        beyond: "Callable[[jax.Array], Beyond] | None",
    ) -> "TieGroups":
        """Groups of equal keys; what does not exist ties with nothing.

        Args:
            ranked: `[*lists, depth]`, keys in rank order.
            exist: The same shape, ranks that hold an item.
            axis: How the ranks lie.
            items: How many items are ranked at most, all in all.
            beyond: From the last key of every list, `[*lists, 1]`, gives its group;
                None where every item is ranked.
        """
        same = axis.joined((ranked[..., 1:] == ranked[..., :-1]) & exist[..., 1:])
        no_pad = [(0, 0, 0)] * (ranked.ndim - 1)
        # Cut, as there is one rank too many where there are no items.
        first = lax.pad(~same, True, [*no_pad, (1, 0, 0)])[..., : ranked.shape[-1]]
        if beyond is None:
            return cls(first, axis, items, None)
        return cls(first, axis, items, beyond(ranked[..., -1:]))

    def tied(self, pool: Any) -> jax.Array | None:
        """Whether items of a list tie, `[*lists]`, or of any list in other layouts.

        None where it is no matter: only a choice that every device makes for itself is
        worth its while. `pool` as for `group`.
        """
        if self.beyond is not None and isinstance(self.beyond.axis, Shards):
            return None
        if not _devices.has_whole(self.first):
            return None
        tied = jnp.any(~self.first, axis=-1)
        return tied if self.beyond is None else tied | self.beyond.may_be(pool)

    @property
    def start(self) -> jax.Array:
        """The first place of the group of every rank, int32."""
        begins = jnp.where(self.first, self._places(), 0)
        return lax.cummax(begins, axis=begins.ndim - 1)

    @property
    def end(self) -> jax.Array:
        """The place after the last one that the group has here."""
        depth, along = self.first.shape[-1], self.first.ndim - 1
        last = lax.pad(self.first[..., 1:], True, [(0, 0, 0)] * along + [(0, 1, 0)])
        last = last[..., :depth]
        ends = jnp.where(last, self._places() + 1, depth)
        return lax.cummin(ends, axis=along, reverse=True)

    def group(
        self, ranked: jax.Array, of: Callable[[Any], jax.Array], pool: Any
    ) -> Group:
        """Tied items around every rank, and what they count, as integers.

        Args:
            ranked: `of` the ranked items.
            of: From `Items`, what each of them counts, 1 or 0 for "relevant".
            pool: `Items`, read where a group reaches beyond the last rank.
        """
        start, end = self.start, self.end
        running = self.axis.running_sum(ranked)
        # Integers, so that a difference of running totals is exact.
        before = _ordering.take(running - ranked, start)
        inside = self.axis.group_sum(ranked, start, end)
        size = end - start
        if self.beyond is not None:

            def count(items: Any, tied: jax.Array) -> tuple[jax.Array, jax.Array]:
                counted = jnp.where(tied, of(items), 0)
                return items.axis.sum(tied), items.axis.sum(counted)

            across = self.beyond.read(pool, count)
            size, inside = map(self._put, (size, inside), across)
        return Group(size, self._places() - start, inside, before)

    def mean(
        self, ranked: jax.Array, of: Callable[[Any], jax.Array], pool: Any
    ) -> jax.Array:
        """Means of non-negative floats over groups, the same however ranks are cut.

        Args as for `group`.
        """
        digits = Digits.for_items(self.items, ranked.dtype)
        info = jnp.finfo(ranked.dtype)
        least, bound = info.minexp - 1, info.maxexp - info.minexp + 2
        start, end = self.start, self.end
        scale = self.axis.group_max(exponent(ranked) - least, start, end, bound)
        parts = digits.split(ranked, scale + least)
        sums = [self.axis.group_sum(x, start, end) for x in parts]
        size = end - start
        if self.beyond is not None:

            def add(items: Any, tied: jax.Array) -> list[jax.Array]:
                x = jnp.where(tied, of(items), 0)
                scale = items.axis.max(exponent(x) - least)
                parts = digits.split(x, scale[..., None] + least)
                return [items.axis.sum(y) for y in (tied, *parts)] + [scale]

            *counted, across = self.beyond.read(pool, add)
            size, *sums = map(self._put, (size, *sums), counted)
            scale = self._put(scale, across)
        return digits.join(sums, size.astype(ranked.dtype), scale + least)

    def _places(self) -> jax.Array:
        return lax.broadcasted_iota(jnp.int32, self.first.shape, self.first.ndim - 1)

    def _put(self, at_rank: jax.Array, across: jax.Array) -> jax.Array:
        """`at_rank`, with what was counted over the pool at the ranks of its group."""
        assert self.beyond is not None
        crosses = self.end == self.first.shape[-1]
        if self.beyond.crosses is not None:
            crosses = crosses & self.beyond.crosses[..., None]
        return jnp.where(crosses, across[..., None], at_rank)


@pytree()
class Beyond:
    """A tie group that may reach beyond the last rank, counted over the pool.

    Shapes:
        tied: `[*lists, pool]` bool, its items; or the `TiedScores` that find them.
        axis: How the items of the pool lie.
        crosses: `[*lists]` bool, whether it may reach beyond; None if nobody looked.
    """

    tied: "jax.Array | TiedScores"
    axis: Any
    crosses: jax.Array | None = None

    def may_be(self, pool: Any) -> jax.Array:
        """Whether the group may reach beyond the last rank, or hold several, `[*lists]`."""
        if self.crosses is not None:
            return self.crosses
        return self.read(pool, lambda items, tied: items.axis.sum(tied)) > 1

    def read(self, pool: Any, of: Callable[[Any, jax.Array], T]) -> T:
        """`of(items, tied)` of the pool, a pytree of integers `[*lists]`.

        Only that of lists whose group reaches beyond the last rank is of use.
        """
        items, tied = dataclasses.replace(pool, axis=self.axis), self.tied
        return of(items, tied.find(items) if isinstance(tied, TiedScores) else tied)


@pytree()
class TiedScores:
    """The items of a pool that tie with a rank, found where they are asked for.

    Shapes:
        scores: `[*lists, pool]` as they were passed.
        key: `[*lists, 1]`, of the rank.
    """

    scores: jax.Array
    key: jax.Array

    def find(self, pool: Any) -> jax.Array:
        """`[*lists, pool]` bool."""
        every = _ordering.Given(self.scores, pool.arrays).read()
        return (every.keys == self.key) & every.exists


@pytree()
class JudgedGroups:
    """Tie groups where only judged items have a place, and all others are counted.

    What a formula reads at a rank is then read at a judged item, on average over the
    ranks that its ties let it have.

    Shapes, with `places` judged items in rank order:
        near: Groups of judged items alone.
        start: `[*lists, places]` int32, items ranked before the group.
        size: `[*lists, places]` int32, items of the group; 0 where no item exists.
    """

    near: TieGroups
    start: jax.Array
    size: jax.Array

    def group(
        self, ranked: jax.Array, of: Callable[[Any], jax.Array], pool: Any
    ) -> Group:
        """As `TieGroups.group`; what is not judged counts nothing.

        The place is the first of the group; the others follow in `sum_at`.
        """
        near = self.near.group(ranked, of, pool)
        return near._replace(size=self.size, place=jnp.zeros_like(near.place))

    def sum_at(
        self,
        x: jax.Array,
        at: Callable[[jax.Array, Group], jax.Array],
        ks: Sequence[Cut],
        group: Group,
    ) -> jax.Array:
        """Totals of `x·at(rank, group)` over ranks 1..k, `[*lists, len(ks)]`."""
        start, size = (y[..., None, None] for y in (self.start, self.size))
        group = Group(*(y[..., None, None] for y in group))

        def add(sums: Pair, place: jax.Array) -> Pair:
            rank = (start + place + 1).astype(x.dtype)
            value = at(rank, group._replace(place=place.astype(x.dtype)))
            within = _within(rank, ks, x.ndim - 1) & (place < size)
            return sums + pair_total(jnp.where(within, value, 0))

        zeros = jnp.zeros_like(x)[..., None]
        sums = Pair.of(jnp.broadcast_to(zeros, (*x.shape, len(ks))))
        sums = _over_places(jnp.max(self.size, initial=0), sums, add, x.ndim + 2)
        sizes = jnp.maximum(self.size, 1).astype(x.dtype)[..., None]
        mean = ratio(sums.round(), jnp.broadcast_to(sizes, sums.high.shape))
        return total(jnp.moveaxis(x[..., None] * mean, -1, -2))

    def first_at(
        self,
        at: Callable[[jax.Array], jax.Array],
        ks: Sequence[Cut],
        relevant: jax.Array,
        before: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        """Of the first relevant item, each `[*lists, len(ks)]`.

        The mean of `at(rank)` at its rank, 0 beyond k, and the chance that it is beyond.

        Args:
            at: A function of ranks.
            ks: Cutoffs.
            relevant: `[*lists, places]` floats, relevant items of the group.
            before: The same shape, relevant items before the group.
        """
        first = (relevant > 0) & (before == 0)

        def of_first(y: jax.Array) -> jax.Array:
            return jnp.max(jnp.where(first, y, 0), axis=-1, initial=0)[..., None]

        start, size, number = (of_first(y) for y in (self.start, self.size, relevant))

        def add(state: Any, place: jax.Array) -> Any:
            sums, missed, least = state
            left = jnp.maximum(size - place, 1).astype(number.dtype)
            here = jnp.where(place < size, jnp.minimum(number / left, 1), 0)
            passed = jnp.where(place < size, jnp.maximum(left - number, 0) / left, 1)
            passed = missed * lax.associative_scan(jnp.multiply, passed, axis=-1)
            earlier = jnp.concatenate([missed, passed[..., :-1]], axis=-1)
            rank = (start + place + 1).astype(number.dtype)
            within = _within(rank[..., None, :], ks, number.ndim - 1)
            terms = jnp.where(within, (earlier * here * at(rank))[..., None, :], 0)
            beyond = jnp.min(jnp.where(within, passed[..., None, :], 1), axis=-1)
            return (
                sums + pair_total(terms),
                passed[..., -1:],
                jnp.minimum(least, beyond),
            )

        ones = jnp.ones_like(number)
        several = jnp.broadcast_to(ones, (*number.shape[:-1], len(ks)))
        state = (Pair.of(jnp.zeros_like(several)), ones, several)
        sums, _, least = _over_places(jnp.max(size, initial=0), state, add, number.ndim)
        return sums.round(), least


# How many ranks of a group to look at in one step.
_STEP = 64


def _over_places(
    size: jax.Array, state: T, add: Callable[[T, jax.Array], T], ndim: int
) -> T:
    """Folds `add` over the places 0, 1, … of the largest group, along the last axis."""
    steps = lax.broadcasted_iota(jnp.int32, (1,) * (ndim - 1) + (_STEP,), ndim - 1)

    def body(loop: tuple[jax.Array, T]) -> tuple[jax.Array, T]:
        begin, state = loop
        return begin + _STEP, add(state, begin + steps)

    # Typed like the size, which may differ between devices.
    begin = jnp.zeros_like(size)
    return lax.while_loop(lambda loop: loop[0] < size, body, (begin, state))[1]


def _within(rank: jax.Array, ks: Sequence[Cut], lists: int) -> jax.Array:
    """Which ranks are at most k, with the cutoffs along the last axis but one."""
    within = []
    for k in ks:
        if isinstance(k, jax.Array):
            k = k.reshape(k.shape + (1,) * (rank.ndim - lists)).astype(rank.dtype)
        within.append(jnp.ones_like(rank, bool) if k is None else rank <= k)
    return jnp.concatenate(within, axis=-2)
