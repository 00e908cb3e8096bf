"""The data of lists in rank order, as sources make it and every formula reads it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.items import ItemArrays, RawItems
from jax_rank_metrics._engine.layouts import base, packed
from jax_rank_metrics._engine.ordering import policies
from jax_rank_metrics._engine.ranking import pools, ranked_items
from jax_rank_metrics._engine.ranking.cache import Cache
from jax_rank_metrics._engine.ranking.item_fns import ItemFn
from jax_rank_metrics._ground import pytrees
from jax_rank_metrics._ground.types import Cut, Gain, TieReading

# Up to this many listed items, sums over a list are plain reductions.
_FEW_LISTED = 128


@dataclasses.dataclass(eq=False)
class Dependencies:
    """The dependencies of one metric that may leave a list without a value.

    Attributes:
        on_places: True if values depend on places, which are unknown if a score is NaN.
        gain_fns: The gain functions that values depend on, because gains may overflow.
    """

    on_places: bool = False
    gain_fns: set[Gain] = dataclasses.field(default_factory=set)


@pytrees.pytree(
    *("ties", "cut", "partial_columns", "columns_by_id", "label_dtype", "has_labels"),
    of_trace=("tie_reading", "relabel", "renamed", "call_cache", "depends_on"),
)
class RankingData:
    """Items with places, and the pool of judged items that they came from.

    Attributes:
        items_held: The items that have places; None if nothing was ordered.
        pool: All judged items; None if only the number of relevant items is known.
        length: `[*lists]` int32, the number of items that have a rank.
        list_exists: `[*lists]` bool, true if any item of the list was judged.
        list_weights: `[*lists]`; None if list weights follow from item weights, or if there
            are no weights.
        ties: The name of the tie policy; see `Policy`, also for "none" and "tied".
        known_relevant: `[*lists]` int32, the number of relevant items that the caller
            stated; None if they are counted in the pool.
        cut: The number of ranks that are kept of every list; None if all ranks are kept.
        partial_columns: The names of the columns that are known only for listed items,
            and are 0 for all other items.
        columns_by_id: The names of the columns that were passed by item id, and of the
            columns that metrics prepare from them.
        label_dtype: The dtype in which labels were passed, if they were floats and have
            been widened.
        has_nan: `[*lists]` bool, true if an item that may have a rank has a NaN score;
            None if scores are integers, or if no scores were passed.
        profile: `[*lists, profile]`, the items that each user interacted with before; None
            if no profiles were passed. has_labels: True if the relevant items are known; if
            not, all items have the label 0.

    While a metric is traced, how it reads the data:
        tie_reading: The `ties` of the metric; see `metric`. "expected" reads tie groups if
            the policy of the ranking has them, "order" reads its definite order, and "own"
            reads tie groups under every policy.
        relabel: Makes a function of items read other labels, such as the labels of
            `residual`; None for the labels as passed.
        renamed: For each column that the metric reads under another name, a pair: the name
            that the metric reads, and the name of the column in this data.
        call_cache: The results that metrics share if they are traced together.
        depends_on: The dependencies of the metric that were recorded so far.
    """

    items_held: ranked_items.Ranked | None
    pool: pools.Pool | None
    length: jax.Array
    list_exists: jax.Array
    list_weights: jax.Array | None
    ties: str | None
    known_relevant: jax.Array | None = None
    cut: int | None = None
    partial_columns: tuple[str, ...] = ()
    columns_by_id: tuple[str, ...] = ()
    has_nan: jax.Array | None = None
    label_dtype: str | None = None
    profile: ItemArrays | None = None
    has_labels: bool = True
    tie_reading: TieReading = "expected"
    relabel: Callable[[ItemFn], ItemFn] | None = None
    renamed: tuple[tuple[str, str], ...] = ()
    call_cache: Cache | None = dataclasses.field(default=None, repr=False)
    depends_on: Dependencies | None = dataclasses.field(default=None, repr=False)

    @property
    def items(self) -> jax.Array:
        """The item at each rank; see `Ranking.items`."""
        if self.items_held is None:
            raise ValueError(
                "items: this ranking counted places, so it has no order; rank with a k"
            )
        return self.items_held.item_indices

    @property
    def packed_layout(self) -> packed.Packed | None:
        """The layout of the kept items, if lists are packed; else None."""
        layout = None if self.items_held is None else self.items_held.layout
        return layout if isinstance(layout, packed.Packed) else None

    @property
    def dtype(self) -> jnp.dtype:
        """The float dtype of values."""
        if self.items_held is not None:
            return self.items_held.items.labels.dtype
        items = self.judged_pool().items
        # Raw labels are as passed, perhaps integers; they are read in `items.dtype`.
        if isinstance(items, RawItems):
            return jnp.dtype(items.dtype)
        return items.labels.dtype

    @property
    def column_names(self) -> list[str]:
        """The names of the columns that items have."""
        part = self.items_held or self.pool
        return [] if part is None else list(part.items.columns)

    @property
    def has_item_weights(self) -> bool:
        """True if items have weights."""
        return self.pool is not None and self.pool.items.weights is not None

    @property
    def omits_unlisted(self) -> bool:
        """True if unlisted items (label 0) have ranks, but their places are not known."""
        return self.pool is not None and self.pool.layout.omits_unlisted

    @property
    def averaged_columns(self) -> tuple[str, ...]:
        """The columns for which one slot of the pool holds the mean of many items."""
        return () if self.pool is None else self.pool.layout.averaged_columns

    @property
    def max_items(self) -> int | None:
        """The largest number of items a list can have, static; None if unknown."""
        if self.pool is None:
            return None
        # A catalogue's pool has few slots for many ranks, and a cut ranking may hold few
        # ranks of many slots, so the larger number is the bound.
        ranks = 0 if self.items_held is None else self.items_held.ranks
        return max(ranks, self.pool.items.labels.shape[-1])

    @property
    def is_soft(self) -> bool:
        """True if places are soft, as `relax` makes them."""
        return self.items_held is not None and self.items_held.soft is not None

    def judged_pool(self) -> pools.Pool:
        """Returns the pool; raises if the labels of judged items are not known."""
        if self.pool is None:
            raise ValueError(
                "pool_labels is None, but this metric reads the labels of every judged "
                "item; pass pool_labels to rank_retrieved, instead of num_relevant"
            )
        return self.pool

    def check_complete(self, column: str) -> None:
        """Raises unless both the column and the place of every item are known.

        For formulas that read the column of all items, relevant or not.
        """
        if self.omits_unlisted:
            raise ranked_items.UnknownPlaceError(
                f"this metric reads the column {column!r} at every rank, but this ranking "
                f"holds the places of listed items only; {ranked_items.RANK_MORE}"
            )
        if column in self.partial_columns:
            raise ranked_items.UnknownPlaceError(
                f"this metric reads the column {column!r} at every rank, but the column is "
                "known for listed items only; rank all items, with the column of each item"
            )

    @property
    def in_groups(self) -> bool:
        """True if the metric reads tie groups, rather than one definite order."""
        if self.tie_reading == "expected":
            return policies.Policy(self.ties).is_grouped
        return self.tie_reading == "own"

    @property
    def reading(self) -> tuple[bool, tuple[tuple[str, str], ...]]:
        """The part of a cache key that keeps results of different readings apart."""
        return self.in_groups, self.renamed

    @property
    def cache(self) -> Cache:
        """The results that metrics share if they are traced together."""
        assert self.call_cache is not None
        return self.call_cache

    @property
    def dependencies(self) -> "Dependencies":
        """The dependencies of the metric that were recorded so far."""
        assert self.depends_on is not None
        return self.depends_on

    def under(
        self,
        tie_reading: TieReading,
        cache: Cache,
        prepared: Mapping[str, str] | None = None,
    ) -> "RankingData":
        """Returns the data in the form that a metric with these `ties` reads when traced.

        Args:
            tie_reading: The `ties` of the metric.
            cache: The results that metrics share if they are traced together. The cache may
                hold arrays of the trace, so the data must not leave the trace.
            prepared: A dict from the name of a column that the metric reads to the name of
                the column to read instead, if the items have that column.

        Raises:
            ValueError: if the metric needs an order, but the caller passed
                ties="expected", or the order within tie groups is unknown; if places are
                soft, and the `ties` of the metric are not "expected"; or if the metric was
                defined after the ranking was made, so that no column was prepared for it.
        """
        if tie_reading != "expected" and self.is_soft:
            raise ValueError(ranked_items.NO_ORDER)
        policy = policies.Policy(self.ties)
        if tie_reading == "order" and policy.forbids_order:
            raise ranked_items.UnknownPlaceError(policy.order_error)
        names = self.column_names
        pairs = (prepared or {}).items()
        renamed = tuple((name, key) for name, key in pairs if key in names)
        for name, key in pairs:
            if key not in names and name in self.columns_by_id:
                raise ValueError(
                    f"this ranking has the column {name!r} as passed, because it was made "
                    "before the metric that prepares the column was defined; rank again"
                )
        return dataclasses.replace(
            self.with_names(renamed) if renamed else self,
            tie_reading=tie_reading,
            renamed=renamed,
            call_cache=cache,
            depends_on=Dependencies(),
        )

    def with_names(self, renamed: Sequence[tuple[str, str]]) -> "RankingData":
        """Returns the data with some item columns also under other names."""

        def has_columns(part: Any) -> bool:
            return hasattr(part, "columns_named")

        def named(part: Any) -> Any:
            return part.columns_named(renamed) if has_columns(part) else part

        return jax.tree.map(named, self, is_leaf=has_columns)

    def of_places(self) -> "RankingData":
        """Notes that the metric reads places, and returns the data."""
        self.dependencies.on_places = True
        return self

    def labelled(self, item_fn: ItemFn) -> ItemFn:
        """Returns a function of items that reads the labels of this metric.

        The methods of `Ranking` call this first, so that the function reads these labels
        for all items, including unlisted items and items that tie across the cut. Cache
        keys contain the returned function, so results with different labels stay apart.
        """
        return item_fn if self.relabel is None else self.relabel(item_fn)

    def check_labels_as_passed(self, name: str) -> None:
        """Raises if labels were replaced: metrics with linear=True must not read `name`."""
        if self.relabel is not None:
            raise ValueError(
                f"a metric with linear=True may not read {name} of a ranking; register the "
                "metric without linear=True"
            )

    @property
    def weighs_items(self) -> bool:
        """True if the value of a metric depends on the weights of items.

        Raises:
            ValueError: if it does, but labels were replaced: a mean with item weights is
                not linear in labels.
        """
        if self.has_item_weights and self.relabel is not None:
            raise ValueError(
                "weights is per item, and this metric divides by the mean item weight, "
                "which depends on all labels, so the metric is not linear in gains; pass "
                "weights per list, or a metric that reads no item weights, such as rbp"
            )
        return self.has_item_weights

    def reaches(self, ks: Sequence[Cut]) -> bool:
        """True if enough ranks are kept for every cutoff.

        A ranking that was cut reaches only integer cutoffs: None needs all ranks, and an
            array may need them.
        """
        cut = self.cut
        return cut is None or all(isinstance(k, int) and k <= cut for k in ks)

    def held_through(self, ks: Sequence[Cut]) -> ranked_items.Ranked:
        """Returns the items that have places, in tie groups or in one definite order.

        Raises:
            ValueError: if nothing was ordered, or if a cutoff is deeper than the cut.
        """
        items_held, cut = self.of_places().items_held, self.cut
        for k in ks:
            if not self.reaches((k,)):
                problem = f"k is {k}"
                if isinstance(k, jax.Array):
                    # No single number fits all lists, so the advice is to rank whole lists.
                    problem, k = "k differs from list to list", None
                raise ValueError(
                    f"{problem}, but the ranking was cut at k={cut}; rank with k={k}"
                    + ("" if k is None else " or deeper")
                )
        if items_held is None:
            raise ranked_items.UnknownPlaceError(self.judged_pool().order_error)
        return items_held if self.in_groups else items_held.in_one_order()

    def group_across_cut(
        self, ranked: ranked_items.Ranked, item_fns: Sequence[ItemFn]
    ) -> tuple[jax.Array | None, list[jax.Array | None]]:
        """Returns the size of the tie group across the cut, and totals over its items.

        The pool is read once for all metrics of a call that ask for the same functions.
        All results are None if every group is complete.

        Args:
            ranked: From `held_through`.
            item_fns: Functions of items, to be summed; bools are counted.
        """
        if ranked.straddles is None or ranked.keys is None:
            return None, [None] * len(item_fns)
        # Often one function gives both the values of items and the amounts that places sum,
        # so evaluate each function once.
        distinct = tuple(dict.fromkeys(item_fns))
        find = partial(ranked.group_totals, self.judged_pool(), distinct, self.dtype)
        # The key has no cutoffs, because the ranking was cut at one rank for all of them.
        tied, totals = self.cache.get_or_compute(
            ("straddling", distinct, self.renamed), find
        )
        totals = dict(zip(distinct, totals, strict=True))
        # One result for each function passed, repeats included.
        return tied, [totals[item_fn] for item_fn in item_fns]

    def sums_to_cutoffs(
        self, layout: base.PoolLayout, terms: Sequence[jax.Array], trailing: int = 0
    ) -> jax.Array:
        """Sums the terms of each cutoff, `[*lists, items, …]`, over the items of a list.

        Returns `[*lists, len(terms), …]`.
        """
        axis = self.list_exists.ndim
        if self.omits_unlisted and terms[0].shape[axis] <= _FEW_LISTED:
            # Plain reductions fuse with their terms, so they compile faster than products
            # with ones. Over many items, their rounding errors would add up.
            sums = [jnp.sum(term, axis=axis) for term in terms]
        else:
            sums = [layout.sum(term, trailing) for term in terms]
        return jnp.stack(sums, axis=axis)

    def refuse(self, lists: jax.Array, reason: str) -> None:
        """Makes the call of a metric raise ValueError if it cannot read a list.

        Inside `jax.jit`, values are traced and nothing is raised, so the metric has to
        document what it returns for such lists.

        Args:
            lists: `[*lists]` bool, the lists that the metric refuses.
            reason: The message, in which `{}` stands for the first of these lists.
        """
        refused = self.cache.refused
        refused[reason] = refused.get(reason, False) | lists
