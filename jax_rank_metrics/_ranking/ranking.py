"""The `Ranking` that sources make and formulas read."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking import concordance, stops, sums
from jax_rank_metrics._ranking.functions import check_place_fn, check_position_fn
from jax_rank_metrics._ranking.held import Held, UnknownPlaceError
from jax_rank_metrics._ranking.items import ItemFn
from jax_rank_metrics._ranking.memo import Memo
from jax_rank_metrics._ranking.pool import Pool, StopFinder
from jax_rank_metrics._ranking.soft_places import NO_ORDER
from jax_rank_metrics._ranking.totals import Totals
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cut, Cutoffs, PositionFn, TieReading


@pytree("_cut", "_ties", "_in_groups", "_partial_columns")
class Ranking(Totals):
    """Lists in rank order. Made by `rank` and its kin, read by every metric.

    A metric reads it through `expected_sum` and `expected_first`, and totals over the
    pool; see `jax_rank_metrics.metric`. Names that begin with an underscore are
    private:

    Attributes:
        _held: The items that have places; None where nothing was ordered.
        _pool: All judged items; None where only the number of relevant ones is known.
        _pool_scores: The scores of the pool, or what reads them again; None where they
            are unknown or of no use.
        _length: `[*lists]` int32, how many items have a rank.
        _known_relevant: `[*lists]` int32, the number of relevant items that the caller
            stated; None where they are counted in the pool.
        _list_exists: `[*lists]` bool, whether any item of the list was judged.
        _list_weights: `[*lists]`; None where the weights of items, if any, imply it.
        _cut: The number of ranks held of every list; None if all.
        _ties: The name of the tie policy; "none" or "tied" where there were no scores.
        _in_groups: Whether formulas read tie groups rather than one definite order.
        _partial_columns: The names of the columns that are known of listed items alone,
            and 0 for all others.
        _has_nan: `[*lists]` bool, whether a score that was read is no number; None where
            nobody asks.
    """

    _held: Held | None
    _pool: Pool | None
    _pool_scores: StopFinder | None
    _length: jax.Array
    _known_relevant: jax.Array | None
    _list_exists: jax.Array
    _list_weights: jax.Array | None
    _cut: int | None
    _ties: str | None
    _in_groups: bool
    _partial_columns: tuple[str, ...]
    _has_nan: jax.Array | None

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
        pool_scores: StopFinder | None = None,
        known_relevant: jax.Array | None = None,
        cut: int | None = None,
        partial_columns: Iterable[str] = (),
        has_nan: jax.Array | None = None,
    ) -> "Ranking":
        """Makes a ranking of what a source hands over; the class describes each part."""
        return cls(
            held,
            pool,
            pool_scores,
            length,
            known_relevant,
            list_exists,
            list_weights,
            cut,
            ties,
            Policy(ties).is_grouped,
            tuple(sorted(partial_columns)),
            has_nan,
        )

    def expected_sum(
        self,
        item_fn: ItemFn,
        place_fn: Callable[..., jax.Array],
        ks: Sequence[Cut],
        *,
        counting: Sequence[ItemFn] = (),
        per_list: Sequence[jax.Array] = (),
    ) -> jax.Array:
        """Returns `Σ item_fn(items)·place_fn(place, k)` over the items that have a place.

        Multiplies what each item is worth by what its place is worth within the ranks up
        to k: the expected value over all orders of tied items, or the value of the one
        order there is.

        Args:
            item_fn: From `Items`, what each is worth, `[*lists, items]`, which may have
                trailing axes; 0 for the label 0 where only relevant items are held.
            place_fn: `place_fn(place, k, *per_list)`, what a `Place` is worth within the
                ranks up to k (None is every rank), so 0 where it has none of these;
                `positions(discount_fn)` makes one of a function of ranks.
            ks: Cutoffs: ints, None, or arrays `[*lists]`.
            counting: Functions of `Items` to be added up for `place_fn`: the sum of the
                i-th over all items above a tie group is `place.counted_above[i]`, that
                over the group itself `place.counted_tied[i]`. Bools are counted, numbers
                are summed; an infinite number makes the sums of other items of its list
                NaN. The functions may have trailing axes as well; `place_fn` then sees
                one entry of these at a time.
            per_list: Arrays `[*lists]` that `place_fn` is given, in shapes that
                broadcast with places.

        Returns:
            `[*lists, len(ks), …]`.

        Raises:
            ValueError: if the ranking was cut above a cutoff, or holds only relevant
                items and `item_fn` of the label 0 is not 0.
        """
        check_place_fn("expected_sum", place_fn, len(per_list))
        ks = _inputs.cuts(ks)
        args = (item_fn, place_fn, ks, tuple(counting), tuple(per_list))
        key = ("sum", *args, self._in_groups)
        return self._once(key, lambda: sums.expected(self, *args))

    def expected_max(
        self,
        item_fn: ItemFn,
        place_fn: Callable[..., jax.Array],
        ks: Sequence[Cut],
        *,
        counting: Sequence[ItemFn] = (),
        per_list: Sequence[jax.Array] = (),
    ) -> jax.Array:
        """Returns the largest `item_fn(items)·place_fn(place, k)` of items with a place.

        The arguments are those of `expected_sum`; values have no trailing axes, and no
        product may be negative. Tied items share a place, and the maximum is not a mean
        over their orders. So this is for metrics that read one definite order
        (`ties="order"`), or define what ties mean (`ties="own"`).

        Items worth 0 1 1 in this order, at places worth 1 / rank, have the maximum 1/2.

        Returns:
            `[*lists, len(ks)]`, 0 for lists without items.

        Raises:
            ValueError: as `expected_sum`; or if tie groups are read and the ranking was
                cut, so that items that tie with the last one may be missing.
        """
        check_place_fn("expected_max", place_fn, len(per_list))
        ks = _inputs.cuts(ks)
        args = (item_fn, place_fn, ks, tuple(counting), tuple(per_list))
        return sums.expected(self, *args, take_max=True)

    def expected_first(
        self, stop_fn: ItemFn, position_fn: PositionFn, ks: Sequence[Cut]
    ) -> tuple[jax.Array, jax.Array]:
        """Follows a user from the top of the list to the first item that stops them.

        Args:
            stop_fn: From `Items`, bools: which items stop the user, so that the first
                stop is found by counting, at any cutoff where scores are at hand. Or
                floats, the probability that each item stops a user who reaches it, for
                metrics that read one definite order.
            position_fn: What a stop at rank 1, 2, … is worth.
            ks: Cutoffs: ints, None, or arrays `[*lists]`.

        Returns:
            The mean of `position_fn` at the first stop, 0 beyond k, and the probability
            that there is no stop by k, each `[*lists, len(ks)]`.

        Raises:
            ValueError: if the ranking was cut above a cutoff and its scores are not at
                hand, if `stop_fn` gives floats and items tie, or if places are soft.
        """
        check_position_fn("expected_first", position_fn)
        ks = _inputs.cuts(ks)
        key = ("first", stop_fn, position_fn, ks, self._in_groups)
        return self._once(key, lambda: stops.expected(self, stop_fn, position_fn, ks))

    def pairs(self, value_fn: ItemFn) -> concordance.Pairs:
        """Counts the pairs of items of different values, by the order of their scores.

        Takes time of items·log(distinct values), and the memory of a few arrays. Reads
        whole lists; items without a rank are in no pair.

        Args:
            value_fn: From `Items`, the value of each, not negative. Integer labels
                reach it as integers, and integer values compare as integers.

        Returns:
            `[*lists]` floats each: `in_order`, the pairs in which the larger value has
            the better score; `tied`, those whose scores tie; `total`, all of them; and
            `opposed`, those in which the larger value has the worse score.

        Raises:
            ValueError: if the ranking was cut, or holds only relevant items and
                `value_fn` of the label 0 is not 0.
        """
        return self._once(
            ("pairs", value_fn, self._in_groups),
            lambda: concordance.pairs(self, value_fn),
        )

    def per_list(
        self,
        values: jax.Array,
        defined: jax.Array | bool,
        k: Cutoffs,
        item_fn: ItemFn,
    ) -> PerList:
        """Returns the values of a metric, with the weights of their lists.

        Args:
            values: `[*lists, len(ks)]`.
            defined: `[*lists]` bool, whether the metric is defined; True if it is defined
                for every list that exists.
            k: The argument of the metric; unless it is a tuple, the last axis is removed.
            item_fn: The relevance of items. Where items have weights and lists have none,
                the weight of a list is the mean weight of its items, each counted
                `item_fn` times.
        """
        weights = self._list_weights
        if weights is None:
            weights = self._mean_item_weight(item_fn)
        if weights is None:
            weights = jnp.ones(self._list_exists.shape, self._dtype)
        is_counted = self._list_exists & (weights > 0)
        defined = defined & is_counted
        values = jnp.where(_arithmetic.widen(defined, values), values, 0)
        if not isinstance(k, (tuple, list)):
            values = jnp.squeeze(values, axis=self._list_exists.ndim)
        weights = jnp.where(is_counted, weights, 0).astype(self._dtype)
        return PerList(values, weights, defined)

    # Read by the package alone

    def _first_at_mean_rank(
        self, stop_fn: ItemFn, position_fn: PositionFn, ks: Sequence[Cut]
    ) -> tuple[jax.Array, jax.Array]:
        """Reads `position_fn` at the mean rank of the first stop's tie group.

        The arguments and errors are those of `expected_first` of bools, which this equals
        where nothing ties. A rank that is not whole is beyond k if it is above k.
        """
        return stops.at_mean_rank(self, stop_fn, position_fn, _inputs.cuts(ks))

    def _rank_products(self, value_fn: ItemFn) -> concordance.Products:
        """Sums products of the mean ranks of items by score and by value.

        Args:
            value_fn: From `Items`, the value of each, not negative.

        Raises:
            ValueError: if the ranking was cut, or holds only relevant items.
        """
        return concordance.products(self, value_fn)

    def _with_memo(self) -> "Ranking":
        """Returns a copy in which metrics that are traced together share results."""
        return self._copy(self._in_groups, Memo())

    def _with_tie_reading(self, tie_reading: TieReading) -> "Ranking":
        """Returns the ranking as a metric with these `ties` (see `metric`) reads it.

        For "expected" that is this ranking as it is: in tie groups if its policy has
        them. "order" selects the definite order of the policy, and "own" tie groups under
        every policy.

        Raises:
            ValueError: if the metric needs an order, but the caller passed
                ties="expected"; or if it reads an order or ties, and places are soft.
        """
        if tie_reading == "expected":
            return self
        if self._is_soft:
            raise ValueError(NO_ORDER)
        policy = Policy(self._ties)
        if tie_reading == "order" and self._in_groups and policy.forbids_order:
            raise UnknownPlaceError(policy.order_error)
        return self._copy(tie_reading == "own", self._memo)

    def _copy(self, in_groups: bool, memo: Memo) -> "Ranking":
        copy = dataclasses.replace(self, _in_groups=in_groups)
        # An attribute and not a field, since it must not outlive the trace.
        object.__setattr__(copy, "_shared_memo", memo)
        return copy
