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
    """Names what the values of one metric depend on that may leave a list without one.

    Attributes:
        on_places: Whether they depend on places, which scores that are NaN do not give.
        gain_fns: The gains that they depend on, which may overflow.
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
        items_held: The items that have places; None where nothing was ordered.
        pool: All judged items; None where only the number of relevant ones is known.
        length: `[*lists]` int32, how many items have a rank.
        list_exists: `[*lists]` bool, whether any item of the list was judged.
        list_weights: `[*lists]`; None where the weights of items, if any, imply it.
        ties: The name of the tie policy; "none" or "tied" where there were no scores.
        known_relevant: `[*lists]` int32, the number of relevant items that the caller
            stated; None where they are counted in the pool.
        cut: The number of ranks held of every list; None if all.
        partial_columns: The names of the columns that are known of listed items alone,
            and 0 for all others.
        columns_by_id: The names of the columns that were passed by the id of an item, and
            of what metrics make of them.
        label_dtype: The dtype in which labels were passed, if these are widened floats.
        has_nan: `[*lists]` bool, whether the score of an item that may have a rank is no
            number; None where scores are integers, or where there were none.
        profile: `[*lists, profile]`, the items that each user had to do with before; None
            where they were not passed.
        has_labels: Whether it is known which items are relevant; if not, all have the
            label 0.

    While a metric is traced, how it reads the data:
        tie_reading: The `ties` of the metric; see `metric`. "expected" reads tie groups
            where the policy of the ranking has them, "order" its definite order, and
            "own" tie groups under every policy.
        relabel: Makes a function of items read other labels, as `residual` lets a metric
            do; None for the labels as passed.
        renamed: The columns that the metric reads under other names: pairs of the name
            that it reads, and the name that they have here.
        call_cache: The results that metrics traced together share.
        depends_on: What the metric has read so far.
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
        """Which item is at each rank; see `Ranking.items`."""
        if self.items_held is None:
            raise ValueError(
                "items: this ranking counted places and has no order; rank with a k"
            )
        return self.items_held.item_indices

    @property
    def packed_layout(self) -> packed.Packed | None:
        """The layout of the items held, if lists are packed; else None."""
        layout = None if self.items_held is None else self.items_held.layout
        return layout if isinstance(layout, packed.Packed) else None

    @property
    def dtype(self) -> jnp.dtype:
        """The float dtype of values."""
        if self.items_held is not None:
            return self.items_held.items.labels.dtype
        items = self.judged_pool().items
        # Raw labels are as passed, perhaps integers; `dtype` is what they are read in.
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
        """Whether items have weights."""
        return self.pool is not None and self.pool.items.weights is not None

    @property
    def omits_unlisted(self) -> bool:
        """Whether unlisted items (label 0) rank, but their places are not held."""
        return self.pool is not None and self.pool.layout.omits_unlisted

    @property
    def averaged_columns(self) -> tuple[str, ...]:
        """The columns of which a slot of the pool holds a mean of many items."""
        return () if self.pool is None else self.pool.layout.averaged_columns

    @property
    def max_items(self) -> int | None:
        """The largest number of items a list can have, static; None if unknown."""
        if self.pool is None:
            return None
        # The pool of a catalogue has few slots for many ranks; a cut holds few ranks.
        ranks = 0 if self.items_held is None else self.items_held.ranks
        return max(ranks, self.pool.items.labels.shape[-1])

    @property
    def is_soft(self) -> bool:
        """Whether places are soft, as `relax` makes them."""
        return self.items_held is not None and self.items_held.soft is not None

    def judged_pool(self) -> pools.Pool:
        """Returns the pool; raises where the labels of judged items are not known."""
        if self.pool is None:
            raise ValueError(
                "pool_labels is None, but this metric reads the labels of every judged "
                "item; pass pool_labels to rank_retrieved, in place of num_relevant"
            )
        return self.pool

    def check_complete(self, column: str) -> None:
        """Raises unless a column is known of every item, and every item has a place.

        For formulas that read the column of all items, relevant or not.
        """
        if self.omits_unlisted:
            raise ranked_items.UnknownPlaceError(
                f"the column {column!r} is read at every rank, but this ranking holds only "
                f"the places of listed items; {ranked_items.RANK_MORE}"
            )
        if column in self.partial_columns:
            raise ranked_items.UnknownPlaceError(
                f"the column {column!r} is known of the listed items alone, and would be 0 "
                "for all others; rank all items"
            )

    @property
    def in_groups(self) -> bool:
        """Whether tie groups are read, rather than one definite order."""
        if self.tie_reading == "expected":
            return policies.Policy(self.ties).is_grouped
        return self.tie_reading == "own"

    @property
    def reading(self) -> tuple[bool, tuple[tuple[str, str], ...]]:
        """Tells results apart in the cache that metrics read or may read differently."""
        return self.in_groups, self.renamed

    @property
    def cache(self) -> Cache:
        """The results that metrics traced together share."""
        assert self.call_cache is not None
        return self.call_cache

    @property
    def dependencies(self) -> "Dependencies":
        """The facts that the metric has read so far."""
        assert self.depends_on is not None
        return self.depends_on

    def under(
        self,
        tie_reading: TieReading,
        cache: Cache,
        prepared: Mapping[str, str] | None = None,
    ) -> "RankingData":
        """Returns the data as a metric with these `ties` reads it while it is traced.

        Args:
            tie_reading: The `ties` of the metric.
            cache: What metrics traced together share. It may hold arrays of the trace,
                which the data must therefore not leave.
            prepared: By the name of a column that the metric reads, that of the column
                to be read in its place, if the items have it.

        Raises:
            ValueError: if the metric needs an order, but the caller passed
                ties="expected"; if it reads an order or ties, and places are soft; or if
                it was defined after the ranking was made, which has not prepared a column.
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
                    f"this ranking has the column {name!r} as it was passed, since it was "
                    "made before the metric that prepares the column; rank again"
                )
        return dataclasses.replace(
            self.with_names(renamed) if renamed else self,
            tie_reading=tie_reading,
            renamed=renamed,
            call_cache=cache,
            depends_on=Dependencies(),
        )

    def with_names(self, renamed: Sequence[tuple[str, str]]) -> "RankingData":
        """Returns the data with columns of items under other names too."""

        def has_columns(part: Any) -> bool:
            return hasattr(part, "columns_named")

        def named(part: Any) -> Any:
            return part.columns_named(renamed) if has_columns(part) else part

        return jax.tree.map(named, self, is_leaf=has_columns)

    def of_places(self) -> "RankingData":
        """Returns itself, and notes that the metric reads places."""
        self.dependencies.on_places = True
        return self

    def labelled(self, item_fn: ItemFn) -> ItemFn:
        """Returns a function of items that reads the labels of this metric.

        The verbs call it before all else, so that the function also gets these labels
        where it is asked for the value of items that are not listed, or of those that tie
        across the cut. Results in the cache are kept apart by the function returned.
        """
        return item_fn if self.relabel is None else self.relabel(item_fn)

    def check_labels_as_passed(self, name: str) -> None:
        """Raises where a linear metric reads what is not linear in other labels."""
        if self.relabel is not None:
            raise ValueError(
                f"a metric with linear=True does not read {name} of a ranking; register "
                "the metric without it"
            )

    @property
    def weighs_items(self) -> bool:
        """Whether the value of a metric depends on the weights of items.

        Raises:
            ValueError: if it does, but the metric reads other labels, in which it would
                not be linear.
        """
        if self.has_item_weights and self.relabel is not None:
            raise ValueError(
                "weights weighs items, and their mean weight, by which this metric "
                "divides, depends on the labels of all, so that it is not linear in gains; "
                "pass weights of lists, or a metric that does not read those of items, "
                "such as rbp"
            )
        return self.has_item_weights

    def reaches(self, ks: Sequence[Cut]) -> bool:
        """Whether enough ranks are held for every cutoff.

        A cut ranking reaches only integers: None needs all ranks, and so may arrays.
        """
        cut = self.cut
        return cut is None or all(isinstance(k, int) and k <= cut for k in ks)

    def held_through(self, ks: Sequence[Cut]) -> ranked_items.Ranked:
        """Returns the items that have places, in tie groups or in one definite order.

        Raises:
            ValueError: if nothing was ordered, or a cutoff is beyond the cut.
        """
        items_held, cut = self.of_places().items_held, self.cut
        for k in ks:
            if not self.reaches((k,)):
                problem = f"k is {k}"
                if isinstance(k, jax.Array):
                    # No single number would do: the advice is to rank whole lists.
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
        All results are None where every group is complete.

        Args:
            ranked: From `held_through`.
            item_fns: Functions of items, to be summed; bools are counted.
        """
        if ranked.straddles is None or ranked.keys is None:
            return None, [None] * len(item_fns)
        # What items are worth is often what places count, and is then summed once.
        distinct = tuple(dict.fromkeys(item_fns))
        find = partial(ranked.group_totals, self.judged_pool(), distinct, self.dtype)
        # Without cutoffs: every metric reads the one rank at which the ranking was cut.
        tied, totals = self.cache.get_or_compute(
            ("straddling", distinct, self.renamed), find
        )
        totals = dict(zip(distinct, totals, strict=True))
        # As they were asked for, with the repeats.
        return tied, [totals[item_fn] for item_fn in item_fns]

    def sums_to_cutoffs(
        self, layout: base.PoolLayout, terms: Sequence[jax.Array], trailing: int = 0
    ) -> jax.Array:
        """Sums the terms of each cutoff, `[*lists, items, …]`, over the items of a list.

        Returns `[*lists, len(terms), …]`.
        """
        axis = self.list_exists.ndim
        if self.omits_unlisted and terms[0].shape[axis] <= _FEW_LISTED:
            # Reductions fuse with what they add up, so that they compile faster than
            # products with ones. Over many items they would drift.
            sums = [jnp.sum(term, axis=axis) for term in terms]
        else:
            sums = [layout.sum(term, trailing) for term in terms]
        return jnp.stack(sums, axis=axis)

    def refuse(self, lists: jax.Array, reason: str) -> None:
        """Makes the call of a metric raise ValueError where it cannot read a list.

        Where values are known only inside `jax.jit`, nothing is raised, so that the
        metric has to document what it returns.

        Args:
            lists: `[*lists]` bool, those that the metric refuses.
            reason: The message, in which `{}` stands for the first of these lists.
        """
        refused = self.cache.refused
        refused[reason] = refused.get(reason, False) | lists
