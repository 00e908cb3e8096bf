"""The verbs of a `Ranking`, and its totals over the pool."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking import agreement, stops, sums
from jax_rank_metrics._ranking.items import ItemFn
from jax_rank_metrics._ranking.memo import Memo
from jax_rank_metrics._ranking.parts import Held, Pool, Scored, Straddle
from jax_rank_metrics._ranking.totals import Totals
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cut, Cutoffs, PositionFn

T = TypeVar("T")


@pytree("_cut", "_ties", "_grouped")
class Ranking(Totals):
    """Lists in rank order. Made by `rank` and its kin, read by every metric.

    A metric reads it through `expected_sum` and `expected_first`, and totals over the
    pool; see `jax_rank_metrics.metric`. Everything else is private.

    Attributes:
        _held: The items that hold ranks; None where nothing was ordered.
        _pool: Every judged item; None where only the number of relevant ones is known.
        _scored: The scores of the pool; None where they are not at hand, or no use.
        _straddle: The tie across the cut; None where no rank is missing.
        _length: `[*lists]` int32, how many items have a rank.
        _known_relevant: `[*lists]` int32, replaces the count over the pool; or None.
        _list_exists: `[*lists]` bool, lists in which any item was judged.
        _list_weights: `[*lists]`, or None where items weigh the list.
        _cut: How many ranks were asked for; None if all.
        _ties: The policy by name; "none" where there were no scores.
        _grouped: Whether formulas are given tie groups instead of one definite order.
    """

    _held: Held | None
    _pool: Pool | None
    _scored: Scored | None
    _straddle: Straddle | None
    _length: jax.Array
    _known_relevant: jax.Array | None
    _list_exists: jax.Array
    _list_weights: jax.Array | None
    _cut: int | None
    _ties: str | None
    _grouped: bool

    @classmethod
    def _of(
        cls,
        *,
        held: Held | None,
        pool: Pool | None,
        length: jax.Array,
        list_exists: jax.Array,
        list_weights: jax.Array | None,
        ties: str | None,
        scored: Scored | None = None,
        straddle: Straddle | None = None,
        known_relevant: jax.Array | None = None,
        cut: int | None = None,
    ) -> "Ranking":
        """Makes a ranking of what a source found out; see the attributes."""
        return cls(
            held,
            pool,
            scored,
            straddle,
            length,
            known_relevant,
            list_exists,
            list_weights,
            cut,
            ties,
            Policy(ties).is_grouped,
        )

    # What a formula sees

    @property
    def items(self) -> jax.Array:
        """Which item is at each rank, `[*lists, ranks]` int32; −1 where none is.

        Its index in the row; over devices, counted through all of them; in the list that
        was retrieved; or its id. Packed lists are flat `[items]`, list after list, beside
        `segment_ids`. Tied items stand in the order of the policy.

        Raises:
            ValueError: if items were counted instead of ordered, or have soft places.
        """
        if self._is_soft:
            raise ValueError("items: soft places have no order; rank without relax")
        if self._held is None or self._held.index is None:
            raise ValueError(
                "items: this ranking counted places and has no order; rank with a k"
            )
        return self._held.index

    @property
    def segment_ids(self) -> jax.Array:
        """The list of each of `items` of packed lists, `[items]` int32.

        Counted along all axes of lists; the number of lists where an item is of none.

        Raises:
            ValueError: if lists are not packed.
        """
        if self._held is None or not isinstance(self._held.axis, Packed):
            raise ValueError("segment_ids: these lists are not packed")
        return self._held.axis.ids

    def cutoffs(self, k: Cutoffs) -> tuple[int | None, ...]:
        """The cutoffs of `k`, checked, as `ks` for the verbs."""
        return _inputs.cutoffs(k)

    def expected_sum(
        self,
        item_fn: ItemFn,
        place_fn: Callable[..., jax.Array],
        ks: Sequence[Cut],
        *,
        counting: Sequence[ItemFn] = (),
        per_list: Sequence[jax.Array] = (),
    ) -> jax.Array:
        """`Σ item_fn(items)·place_fn(place, k)` over the items that have a place.

        What an item is worth, times what its place is worth within the ranks up to k:
        the expected value over all orders of tied items, or of the one order there is.

        Args:
            item_fn: From `Items`, what each is worth, `[*lists, items]`, also with axes
                of its own at the end; 0 for the label 0 where only relevant items are
                held.
            place_fn: `place_fn(place, k, *per_list)`, what a `Place` is worth within
                the ranks up to k (None is every rank), so 0 where it has none of these;
                `positions(discount_fn)` makes one of a function of ranks.
            ks: Cutoffs: ints, None, or arrays `[*lists]`.
            counting: Functions of `Items` that give bools, to be counted above and
                within the tie group of a place. They may have axes of their own at the
                end as well; `place_fn` then sees one entry of these at a time.
            per_list: Arrays `[*lists]` that `place_fn` is given, to broadcast with
                places.

        Returns:
            `[*lists, len(ks), …]`.

        Raises:
            ValueError: if the ranking was cut above a cutoff, or holds relevant items
                alone and `item_fn` of the label 0 is not 0.
        """
        ks = _inputs.cuts(ks)
        asked = (item_fn, place_fn, tuple(ks), tuple(counting), tuple(per_list))
        return self._once(
            ("sum", *asked, self._grouped), lambda: sums.expected(self, *asked)
        )

    def expected_max(
        self,
        item_fn: ItemFn,
        place_fn: Callable[..., jax.Array],
        ks: Sequence[Cut],
        *,
        counting: Sequence[ItemFn] = (),
        per_list: Sequence[jax.Array] = (),
    ) -> jax.Array:
        """The largest `item_fn(items)·place_fn(place, k)` of the items that have a place.

        The arguments are those of `expected_sum`, without axes of their own at the end.
        Nothing may be negative; 0 where there is no item. For metrics of one definite
        order, and those that say themselves what ties mean: of tied items, each is given
        the place that all share.

        Returns:
            `[*lists, len(ks)]`.

        Raises:
            ValueError: as `expected_sum`; if tied items share a place and the ranking was
                cut, which may have left some of them out.
        """
        ks = _inputs.cuts(ks)
        asked = (item_fn, place_fn, tuple(ks), tuple(counting), tuple(per_list))
        return sums.expected(self, *asked, most=True)

    def expected_first(
        self, stop_fn: ItemFn, position_fn: PositionFn, ks: Sequence[Cut]
    ) -> tuple[jax.Array, jax.Array]:
        """Follows a user from the top of the list to the first stop.

        Args:
            stop_fn: From `Items`, bools: which items stop the user, so that the first
                stop is found by counting, at any cutoff where scores are at hand. Or
                floats, the chance of each to do so, for metrics of one definite order.
            position_fn: What a stop at rank 1, 2, … is worth.
            ks: Cutoffs: ints, None, or arrays `[*lists]`.

        Returns:
            The mean of `position_fn` at the first stop, 0 beyond k, and the chance that
            there is no stop by k, each `[*lists, len(ks)]`.

        Raises:
            ValueError: if the ranking was cut above a cutoff and its scores are not at
                hand, chances are asked of tied items, or places are soft.
        """
        ks = _inputs.cuts(ks)
        return self._once(
            ("first", stop_fn, position_fn, tuple(ks), self._grouped),
            lambda: stops.expected(self, stop_fn, position_fn, ks),
        )

    def pairs(self, value_fn: ItemFn) -> agreement.Pairs:
        """Of all pairs of items of different values: how many are in order, how many tie.

        Args:
            value_fn: From `Items`, what each is worth; not negative.

        Returns:
            `in_order`, `tied`, `total` and `opposed`, `[*lists]` floats each: pairs in
            which the larger value has the better score, pairs whose scores tie, all, and
            those in which the larger value has the worse score. In time of
            items·log(distinct values), and memory of a few arrays. Reads whole lists;
            items without a rank are in no pair.

        Raises:
            ValueError: if the ranking was cut, or holds relevant items alone and
                `value_fn` of the label 0 is not 0.
        """
        make = lambda: agreement.pairs(self, self._length, value_fn)  # noqa: E731
        return self._once(("pairs", value_fn, self._grouped), make)

    def _rank_products(self, value_fn: ItemFn) -> agreement.Products:
        """How mean ranks by score and by value go together, summed over the items.

        Args:
            value_fn: From `Items`, what each is worth; not negative.

        Returns:
            `both`, `by_score` and `by_value`, `[*lists]` floats each: sums of the
            products of both ranks, each less its mean, and of the squares of either.

        Raises:
            ValueError: if the ranking was cut, or holds relevant items alone.
        """
        return agreement.products(self, self._length, value_fn)

    def depth(self, ks: Sequence[int | None], *, nominal: bool = False) -> jax.Array:
        """How many items the ranks up to k hold, `[*lists, len(ks)]` floats.

        With `nominal`, the cutoff itself, and all items where it is None.
        """
        length = self._length.astype(self._dtype)
        depths = [
            length
            if k is None
            else jnp.full_like(length, k)
            if nominal
            else jnp.minimum(length, k)
            for k in ks
        ]
        return jnp.stack(depths, axis=-1)

    def per_list(
        self,
        values: jax.Array,
        defined: jax.Array | bool,
        k: Cutoffs,
        item_fn: ItemFn,
    ) -> PerList:
        """Values with the weights of their lists.

        Args:
            values: `[*lists, len(ks)]`.
            defined: `[*lists]` bool, where the metric has a value; True where it has one
                for every list that exists.
            k: As the metric was given it: the last axis stays where it is a tuple.
            item_fn: The relevance by which items' weights imply that of their list.
        """
        weights = self._list_weights
        if weights is None:
            weights = self._mean_item_weight(item_fn)
        if weights is None:
            weights = jnp.ones(self._list_exists.shape, self._dtype)
        counts = self._list_exists & (weights > 0)
        defined = defined & counts
        values = jnp.where(_arithmetic.widen(defined, values), values, 0)
        if not isinstance(k, (tuple, list)):
            values = jnp.squeeze(values, axis=self._list_exists.ndim)
        weights = jnp.where(counts, weights, 0).astype(self._dtype)
        return PerList(values, weights, defined)

    # Inside

    def _with_memo(self) -> "Ranking":
        """The same for several metrics that are traced together."""
        return self._with(self._grouped, Memo())

    def _with_tie_reading(self, ties: str) -> "Ranking":
        """The same for a metric that reads ties as `metric` says of `ties`."""
        if self._is_soft and ties != "expected":
            raise ValueError(
                "this metric needs an order or the ties of items, and soft places have "
                "neither; leave relax out"
            )
        if ties == "own":
            return self._with(True, self._memo)
        if ties == "expected" or not self._grouped:
            return self
        if Policy(self._ties).forbids_order:
            raise ValueError(
                "ties is 'expected', but this metric has no closed form over the orders "
                "of tied items; pass ties=None or another policy"
            )
        return self._with(False, self._memo)

    def _with(self, grouped: bool, memo: Memo | None) -> "Ranking":
        # No field, since it must not outlive the trace.
        copy = dataclasses.replace(self, _grouped=grouped)
        object.__setattr__(copy, "_shared_memo", memo)
        return copy
