"""The `Ranking` that users get and formulas read."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import export

from jax_rank_metrics._engine.ranking import (
    best_order,
    concordance,
    item_fns,
    ranking_data,
    stops,
    sums,
    totals,
)
from jax_rank_metrics._engine.ranking.cache import UNIT_WEIGHTS, Cache
from jax_rank_metrics._ground import arithmetic, inputs
from jax_rank_metrics._ground.types import Cut, Cutoffs, Number, PositionFn
from jax_rank_metrics._values.per_list import PerList


class Ranking:
    """Lists in rank order, made by `rank` and similar functions, and read by every metric.

    A metric reads it through `expected_sum`, `expected_first`, and totals over the pool of
    all judged items; see `jax_rank_metrics.metric`. A ranking is a pytree, whose only child
    is private.
    """

    # Only the data crosses `jax.jit`, `jax.vmap` and pickle. While it is traced, a ranking
    # that a source makes inside a program may also have a function that counts places
    # without ranking.
    __slots__ = ("__weakref__", "_count_places", "_data")

    def __init__(
        self,
        data: ranking_data.RankingData,
        count_places: Callable[[], ranking_data.RankingData] | None = None,
    ) -> None:
        """Takes the data to read."""
        self._data, self._count_places = data, count_places

    @property
    def _traced(self) -> ranking_data.RankingData:
        # Outside of a metric, each call gets a fresh cache that dies with the call.
        data = self._data
        return data if data.call_cache is not None else data.under("expected", Cache())

    def _traced_for(self, name: str) -> ranking_data.RankingData:
        """Returns the data for the method `name`, which no linear metric may call."""
        self._data.check_labels_as_passed(name)
        return self._traced

    def expected_sum(
        self,
        item_fn: item_fns.ItemFn,
        place_fn: Callable[..., jax.Array],
        ks: Sequence[Cut],
        *,
        counting: Sequence[item_fns.ItemFn] = (),
        per_list: Sequence[jax.Array] = (),
    ) -> jax.Array:
        """Returns `Σ item_fn(items)·place_fn(place, k)` over the items that have a place.

        An item's place is its rank, or, if the item is tied, the ranks of its tie group.
        The result is the mean over all orders of tied items, or the value in the one
        definite order.

        Args:
            item_fn: Maps `Items` to the value of each item, `[*lists, items]`, perhaps with
                trailing axes. It must be 0 for the label 0 if the ranking holds only
                relevant items.
            place_fn: `place_fn(place, k, *per_list)` returns the value of a `Place`,
                counting only ranks up to k (all ranks if k is None), so 0 if the place has
                no such rank; `positions(discount_fn)` makes a `place_fn` from a function of
                ranks.
            ks: Cutoffs: ints, None, or arrays `[*lists]`.
            counting: Functions of `Items` to sum for `place_fn`: `place.counted_above[i]`
                is the sum of the i-th function over all items above a tie group, and
                `place.counted_tied[i]` its sum over the group itself. Bools are counted,
                numbers are summed; an infinite number makes the sums of other items of its
                list NaN. The functions may return trailing axes as well; `place_fn` then
                sees one entry of these axes at a time.
            per_list: Arrays `[*lists]` to pass on to `place_fn`, in shapes that broadcast
                with places.

        Returns:
            `[*lists, len(ks), …]`.

        Raises:
            ValueError: if a cutoff is deeper than the ranks that the ranking holds; or if
                the ranking holds only relevant items, and `item_fn` of the label 0 is not
                0.
        """
        _check_place_fn("expected_sum", place_fn, len(per_list))
        data, ks = self._traced.of_places(), inputs.cuts(ks)
        item_fn, *counting = map(data.labelled, (item_fn, *counting))
        # Functions are part of the key, so metrics that pass equal functions share sums.
        args = (item_fn, place_fn, ks, tuple(counting), tuple(per_list))
        key = ("sum", *args, data.reading)
        return data.cache.get_or_compute(key, lambda: sums.expected(data, *args))

    def expected_max(
        self,
        item_fn: item_fns.ItemFn,
        place_fn: Callable[..., jax.Array],
        ks: Sequence[Cut],
        *,
        counting: Sequence[item_fns.ItemFn] = (),
        per_list: Sequence[jax.Array] = (),
    ) -> jax.Array:
        """Returns the largest `item_fn(items)·place_fn(place, k)` of items with a place.

        Takes the arguments of `expected_sum`, but values have no trailing axes, and no
        product may be negative. Tied items share a place, so the maximum is not a mean over
        their orders. Use it only in metrics that read one definite order (`ties="order"`),
        or that define ties themselves (`ties="own"`).

        If items have the values 0 1 1 in this order, and places have the values 1 / rank,
        the maximum is 1/2.

        Returns:
            `[*lists, len(ks)]`, 0 for lists without items.

        Raises:
            ValueError: as for `expected_sum`; or if tie groups are read and the ranking was
                cut, because items that tie with the last item may then be missing.
        """
        _check_place_fn("expected_max", place_fn, len(per_list))
        data, ks = self._traced_for("expected_max"), inputs.cuts(ks)
        args = (item_fn, place_fn, ks, tuple(counting), tuple(per_list))
        return sums.expected(data, *args, take_max=True)

    def expected_first(
        self,
        stop_fn: item_fns.ItemFn,
        position_fn: PositionFn,
        ks: Sequence[Cut],
        *,
        value_fn: item_fns.ItemFn | None = None,
    ) -> tuple[jax.Array, jax.Array]:
        """Follows a user from the top of the list to the first item that stops them.

        With `value_fn`, sums `value_fn(items)·position_fn(rank)` over the items that the
        user reaches, including the item that stops them. The cost of reading is such a
        sum; so is revenue, if the value of an item is its price times the chance that it
        stops the user.

        Args:
            stop_fn: Maps `Items` to bools, true for items that stop the user; the first
                stop is then found by counting, at any cutoff if the ranking has its scores.
                Or maps `Items` to floats, the probability that each item stops a user who
                reaches it; the mean over the orders of tied items then takes one step for
                each item that can stop the user.
            position_fn: The value of a stop at rank 1, 2, …
            ks: Cutoffs: ints, None, or arrays `[*lists]`.
            value_fn: Maps `Items` to the value of each item to a user who reaches it,
                `[*lists, items]`; it must be 0 for the label 0 if the ranking holds only
                relevant items. With `value_fn`, bools of `stop_fn` are read as the
                probabilities 0 and 1.

        Returns:
            Two arrays `[*lists, len(ks)]`: the mean of `position_fn` at the first stop, or
            with `value_fn` the mean of the sum (ranks beyond k add 0); and the probability
            of no stop at the ranks up to k.

        Raises:
            ValueError: if a cutoff is deeper than the ranks that the ranking holds, unless
                the stop can be found by counting scores; if places are soft; or if the
                ranking holds only relevant items, and `value_fn` or the stop probability of
                the label 0 is not 0.
        """
        _check_position_fn("expected_first", position_fn)
        data = self._traced_for("expected_first").of_places()
        item_fns = (stop_fn,) if value_fn is None else (stop_fn, value_fn)
        args = (position_fn, inputs.cuts(ks), *item_fns)
        key = ("first", *args, data.reading)
        return data.cache.get_or_compute(key, lambda: stops.expected(data, *args))

    def pairs(self, value_fn: item_fns.ItemFn) -> concordance.PairCounts:
        """Counts the pairs of items of different values, by the order of their scores.

        Takes time proportional to items·log(distinct values), and the memory of a few
        arrays. Reads whole lists; items without a rank are in no pair.

        Args:
            value_fn: Maps `Items` to the value of each item, not negative. Integer labels
                reach it as integers, and integer values compare as integers.

        Returns:
            `[*lists]` floats each: `in_order`, the pairs in which the larger value has
            the better score; `tied`, the pairs whose scores tie; `opposed`, the pairs in
            which the larger value has the worse score; and `total`, all of these pairs.

        Raises:
            ValueError: if the ranking was cut, or holds only relevant items and
                `value_fn` of the label 0 is not 0.
        """
        data = self._traced_for("pairs").of_places()
        key = ("pairs", value_fn, data.reading)
        return data.cache.get_or_compute(key, lambda: concordance.pairs(data, value_fn))

    def per_list(
        self,
        values: jax.Array,
        defined: jax.Array | bool,
        k: Cutoffs,
        item_fn: item_fns.ItemFn,
    ) -> PerList:
        """Returns the values of a metric, with the weights of their lists.

        A list that counts has the value NaN if a gain is not finite; or if the metric has
        read places, and the score of an item that may have a rank is NaN.

        Args:
            values: `[*lists, len(ks)]`.
            defined: `[*lists]` bool, the lists for which the metric is defined; True if it
                is defined for every list that exists.
            k: The argument of the metric; unless it is a tuple or a list, the last axis of
                the values is removed.
            item_fn: The relevance of items. If items have weights and lists have none, the
                weight of a list is the mean weight of its items, each counted `item_fn`
                times.
        """
        data = self._traced
        weights, shape = data.list_weights, data.list_exists.shape
        if weights is None:
            weights = totals.mean_item_weight(data, data.labelled(item_fn))
        is_counted = data.list_exists
        if weights is None:
            one_or_zero = functools.partial(is_counted.astype, data.dtype)
            weights = data.cache.get_or_compute(UNIT_WEIGHTS, one_or_zero)
        else:
            is_counted = is_counted & (weights > 0)
            weights = jnp.where(is_counted, weights, 0).astype(data.dtype)
        defined = defined & is_counted
        # Outside of a metric nothing is recorded: assume that values depend on places.
        reads_places = data.dependencies.on_places or self._data.call_cache is None
        unknown = totals.unknown_lists(data, is_counted, reads_places)
        # Undefined values may be NaN, and NaN times a weight of 0 would still be NaN.
        values = jnp.where(arithmetic.widen(defined, values), values, 0)
        if unknown is not None:
            values = jnp.where(arithmetic.widen(unknown, values), jnp.nan, values)
            defined = defined | unknown
        if not isinstance(k, (tuple, list)):
            values = jnp.squeeze(values, axis=len(shape))
        return PerList(values, weights, defined)

    @property
    def items(self) -> jax.Array:
        """The item at each rank, `[*lists, ranks]` int32; −1 at ranks without an item.

        Depending on the source, an item is given by its index in the row (counted over all
        devices if items are sharded), its index in the retrieved list, or its id. For
        packed lists, the array is flat, `[items]`, list after list; `segment_ids` tells the
        list of each entry. Tied items are in the order of the tie policy. Under None and
        "expected", this is the order of a hash of their indices, which does not read labels
        and is the same in every list.

        Raises:
            ValueError: if items were counted instead of ordered, or have soft places.
        """
        return self._traced_for("items").of_places().items

    @property
    def segment_ids(self) -> jax.Array:
        """The list of each entry of `items`, `[items]` int32, for packed lists.

        Lists are numbered along all of their axes; an item of no list has the number of
        lists as its entry.

        Raises:
            ValueError: if lists are not packed.
        """
        layout = self._traced_for("segment_ids").packed_layout
        if layout is None:
            raise ValueError("segment_ids: these lists are not packed")
        return layout.ids

    def depth(self, ks: Sequence[Cut], *, nominal: bool = False) -> jax.Array:
        """Counts the items at the ranks up to each k, `[*lists, len(ks)]` floats.

        A list of 3 items has the depths 2 3 3 at k = 2, 5 and None. With `nominal`, the
        depth is k itself, even beyond the end of the list: 2 5 3.
        """
        return totals.depth(self._traced, ks, nominal)

    def pool_sum(self, item_fn: item_fns.ItemFn) -> jax.Array:
        """Sums `item_fn(items)` over the pool, `[*lists, …]` floats; bools are counted."""
        return totals.pool_sum(self._traced, self._traced.labelled(item_fn))

    def profile_sum(self, item_fn: item_fns.ItemFn) -> jax.Array:
        """Sums `item_fn(items)` over the items of each profile, `[*lists, …]` floats.

        A profile holds the items that a user interacted with before, such as in training.
        It is passed as `profile_ids` of `rank_ids`, `rank_scores` and `rank_catalog`, or as
        `seen` of `evaluate_users` with a metric that reads `item_columns`. Each item counts
        by its `profile_weights`, if there are any, and a repeated item counts again. Labels
        are 0; `item_fn` reads columns that are known by id.

        Raises:
            ValueError: if the ranking was made without profiles.
        """
        return totals.profile_sum(self._traced, item_fn)

    def pool_max(self, item_fn: item_fns.ItemFn) -> jax.Array:
        """Returns the largest `item_fn(items)` of the pool, `[*lists]`.

        Values must not be negative.
        """
        return totals.pool_max(self._traced, self._traced.labelled(item_fn))

    def cutoffs(self, k: Cutoffs) -> tuple[Cut, ...]:
        """Checks the cutoffs `k` of a metric, and returns them as `ks` for other methods.

        A share of a list becomes an array `[*lists]` int32, the cutoff of each list.
        """
        return totals.cutoffs(self._traced, k)

    def num_relevant(self, relevance_threshold: Number) -> jax.Array:
        """Counts the relevant items of the pool, `[*lists]` floats."""
        return totals.num_relevant(self._traced, relevance_threshold)

    def ideal_sum(
        self,
        item_fn: item_fns.ItemFn,
        position_fn: PositionFn,
        ks: Sequence[Cut],
        *,
        monotone: bool = False,
    ) -> jax.Array:
        """Returns `Σ item_fn·position_fn(rank)` of the pool's best order, to each k.

        Args:
            item_fn: Maps `Items` to the value of each item, not negative.
            position_fn: The value of ranks 1, 2, …
            ks: Cutoffs.
            monotone: True if `item_fn` reads labels alone, never falls as labels rise and
                is 0 for the label 0, so that the order of labels is the order of values.

        Returns:
            `[*lists, len(ks)]`.
        """
        _check_position_fn("ideal_sum", position_fn)
        data = self._traced_for("ideal_sum")
        return best_order.ideal_sum(data, item_fn, position_fn, ks, monotone)

    def ideal_first(
        self, stop_fn: item_fns.ItemFn, position_fn: PositionFn, ks: Sequence[Cut]
    ) -> jax.Array:
        """Returns the mean of `position_fn` at the first stop in the pool's best order.

        Args:
            stop_fn: Maps `Items` to the probability that each item stops a user, as for
                `expected_first`. It must read labels alone and never fall as labels rise.
            position_fn: The value of a stop at rank 1, 2, …; it must never rise.
            ks: Cutoffs.

        Returns:
            `[*lists, len(ks)]`.
        """
        _check_position_fn("ideal_first", position_fn)
        data = self._traced_for("ideal_first")
        return best_order.ideal_first(data, stop_fn, position_fn, ks)

    def __reduce__(self) -> tuple[type["Ranking"], tuple[ranking_data.RankingData]]:
        """Pickles the data alone."""
        return type(self), (self._data,)

    def __repr__(self) -> str:
        """Shows the data."""
        return f"{type(self).__name__}({self._data!r})"


def data_of(ranking: Ranking) -> ranking_data.RankingData:
    """Returns the data that a ranking reads."""
    return ranking._data


def counted_data_of(ranking: Ranking) -> ranking_data.RankingData | None:
    """Counts the places of the relevant items of a ranking that holds the first ranks.

    In a program, metrics that need no other places read the counted places instead, and the
    first ranks are then not compiled at all. None if the source does not count places, for
    example because the ranks are known already.
    """
    count = ranking._count_places
    return None if count is None else count()


def traced_data(ranking: Ranking) -> ranking_data.RankingData:
    """Returns the data that a ranking reads, with the cache that metrics of a call share.

    Outside a metric, this cache is new.
    """
    return ranking._traced


def with_labels(ranking: Ranking, label_fn: item_fns.ItemFn) -> Ranking:
    """Returns a ranking of the same items at the same places, with other labels.

    The new ranking raises ValueError if a metric calls methods that no linear metric may
    call, such as `ideal_sum`.

    Args:
        ranking: The lists, as a metric gets them.
        label_fn: Maps `Items` to the label of each item.
    """
    data = traced_data(ranking)
    return Ranking(dataclasses.replace(data, relabel=item_fns.relabelling(label_fn)))


def of_totals(ranking: Ranking) -> Ranking:
    """Returns the ranking for values that depend on the pool alone, not on scores."""
    data = traced_data(ranking)
    return Ranking(dataclasses.replace(data, depends_on=ranking_data.Dependencies()))


# Leave out `count_places`, because it belongs to the trace that made it.
jax.tree_util.register_pytree_with_keys(
    Ranking,
    lambda ranking: (((jax.tree_util.GetAttrKey("_data"), data_of(ranking)),), None),
    lambda _, children: Ranking(*children),
    lambda ranking: ((data_of(ranking),), None),
)
export.register_pytree_node_serialization(
    Ranking,
    serialized_name="jax_rank_metrics.Ranking",
    serialize_auxdata=lambda _: b"",
    deserialize_auxdata=lambda _: None,
)


def _check_place_fn(
    verb: str, place_fn: Callable[..., object], num_arrays: int
) -> None:
    """Raises TypeError if a function cannot be called with a place, k and arrays."""
    arguments = ("place", "k", *[f"array_{i + 1}" for i in range(num_arrays)])
    cure = "pass jrm.positions(f), where f is a function of ranks"
    _check_call(verb, "place_fn", place_fn, arguments, cure)


def _check_position_fn(verb: str, position_fn: Callable[..., object]) -> None:
    """Raises TypeError if a function cannot be called with ranks alone."""
    cure = "pass a function of ranks as it is, without jrm.positions"
    _check_call(verb, "position_fn", position_fn, ("ranks",), cure)


def _check_call(
    verb: str,
    name: str,
    function: Callable[..., object],
    arguments: tuple[str, ...],
    cure: str,
) -> None:
    if not callable(function):
        raise TypeError(f"{verb}: {name} is {function!r}; {cure}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions in C have none
        return
    try:
        # Bind names in place of arrays, because only the number of arguments matters.
        signature.bind(*arguments)
    except TypeError as error:
        if isinstance(function, functools.partial):
            function = function.func
        kind = getattr(function, "__qualname__", type(function).__name__)
        raise TypeError(
            f"{verb}: {name} is {kind}{signature}, but is called as "
            f"{name}({', '.join(arguments)}); {cure}"
        ) from error
