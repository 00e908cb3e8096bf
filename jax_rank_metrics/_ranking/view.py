"""A view of the data of a ranking: what one metric reads, for as long as it is traced."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics._layouts.base import PoolLayout
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._ranking.items import ItemFn
from jax_rank_metrics._ranking.memo import Memo
from jax_rank_metrics._ranking.pool import PoolScores
from jax_rank_metrics._ranking.ranked import NO_ORDER, Ranked, UnknownPlaceError
from jax_rank_metrics._types import Cut, Gain, TieReading

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


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """The data of a ranking, and how one metric reads it.

    A view is no pytree. Its memo may hold arrays of the current trace, and so it must
    never leave the trace.

    Attributes:
        data: What the source made.
        memo: The results that metrics traced together share.
        tie_reading: The `ties` of the metric; see `metric`. "expected" reads tie groups
            where the policy of the ranking has them, "order" its definite order, and
            "own" tie groups under every policy.
        relabel: Makes a function of items read other labels, as `residual` lets a metric
            do; None for the labels as passed.
        linear_in: The columns in which the metric declares that it is linear.
        dependencies: What the metric has read so far.
    """

    data: RankingData
    memo: Memo = dataclasses.field(default_factory=Memo)
    tie_reading: TieReading = "expected"
    relabel: Callable[[ItemFn], ItemFn] | None = None
    linear_in: tuple[str, ...] = ()
    dependencies: Dependencies = dataclasses.field(default_factory=Dependencies)

    @property
    def in_groups(self) -> bool:
        """Whether tie groups are read, rather than one definite order."""
        if self.tie_reading == "expected":
            return Policy(self.data.ties).is_grouped
        return self.tie_reading == "own"

    @property
    def reading(self) -> tuple[bool, tuple[str, ...]]:
        """Tells results apart in the memo that metrics read or may read differently."""
        return self.in_groups, self.linear_in

    def under(self, tie_reading: TieReading, linear_in: tuple[str, ...] = ()) -> "View":
        """Returns the view of a metric with these `ties`, which shares the memo.

        Raises:
            ValueError: if the metric needs an order, but the caller passed
                ties="expected"; or if it reads an order or ties, and places are soft.
        """
        if tie_reading != "expected" and self.data.is_soft:
            raise ValueError(NO_ORDER)
        policy = Policy(self.data.ties)
        if tie_reading == "order" and policy.forbids_order:
            raise UnknownPlaceError(policy.order_error)
        return View(self.data, self.memo, tie_reading, self.relabel, linear_in)

    def of_places(self) -> "View":
        """Returns itself, and notes that the metric reads places."""
        self.dependencies.on_places = True
        return self

    def labelled(self, item_fn: ItemFn) -> ItemFn:
        """Returns a function of items that reads the labels of this view.

        The verbs call it before all else, so that the function also gets these labels
        where it is asked for the value of items that are not listed, or of those that tie
        across the cut. Results in the memo are kept apart by the function returned.
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
        if self.data.has_item_weights and self.relabel is not None:
            raise ValueError(
                "weights weighs items, and their mean weight, by which this metric "
                "divides, depends on the labels of all, so that it is not linear in gains; "
                "pass weights of lists, or a metric that does not read those of items, "
                "such as rbp"
            )
        return self.data.has_item_weights

    def reaches(self, ks: Sequence[Cut]) -> bool:
        """Whether enough ranks are held for every cutoff.

        A cut ranking reaches only integers: None needs all ranks, and so may arrays.
        """
        cut = self.data.cut
        return cut is None or all(isinstance(k, int) and k <= cut for k in ks)

    def held_through(self, ks: Sequence[Cut]) -> Ranked:
        """Returns the items that have places, in tie groups or in one definite order.

        Raises:
            ValueError: if nothing was ordered, or a cutoff is beyond the cut.
        """
        held, cut = self.of_places().data.held, self.data.cut
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
        if held is None:
            assert self.data.pool_scores is not None
            raise UnknownPlaceError(self.data.pool_scores.order_error)
        return held if self.in_groups else held.in_one_order()

    def group_across_cut(
        self, held: Ranked, item_fns: Sequence[ItemFn]
    ) -> tuple[jax.Array | None, list[jax.Array | None]]:
        """Returns the size of the tie group across the cut, and totals over its items.

        The pool is read once for all metrics of a call that ask for the same functions.
        All results are None where every group is complete.

        Args:
            held: From `held_through`.
            item_fns: Functions of items, to be summed; bools are counted.
        """
        if held.straddle is None or held.keys is None:
            return None, [None] * len(item_fns)
        # What items are worth is often what places count, and is then summed once.
        distinct = tuple(dict.fromkeys(item_fns))
        scores = self.data.pool_scores
        # A stream of blocks cannot look up a key; its straddle knows what ties.
        scores = scores if isinstance(scores, PoolScores) else None
        pool, dtype = self.data.judged_pool(), self.data.dtype
        # In a list with fewer items than ranks, the last key is that of no item; nothing
        # straddles there, and `straddle.lists` is false.
        last_key = held.keys[..., -1]
        find = partial(held.straddle.group, last_key, pool, scores, distinct, dtype)
        # Without cutoffs: every metric reads the one rank at which the ranking was cut.
        tied, totals = self.memo.once(("straddling", distinct), find)
        totals = dict(zip(distinct, totals, strict=True))
        # As they were asked for, with the repeats.
        return tied, [totals[item_fn] for item_fn in item_fns]

    def sums_to_cutoffs(
        self, layout: PoolLayout, terms: Sequence[jax.Array], trailing: int = 0
    ) -> jax.Array:
        """Sums the terms of each cutoff, `[*lists, items, …]`, over the items of a list.

        Returns `[*lists, len(terms), …]`.
        """
        axis = self.data.list_exists.ndim
        if self.data.omits_unlisted and terms[0].shape[axis] <= _FEW_LISTED:
            # Reductions fuse with what they add up, so that they compile faster than
            # products with ones. Over many items they would drift.
            sums = [jnp.sum(x, axis=axis) for x in terms]
        else:
            sums = [layout.sum(x, trailing) for x in terms]
        return jnp.stack(sums, axis=axis)

    def refuse(self, lists: jax.Array, reason: str) -> None:
        """Makes the call of a metric raise ValueError where it cannot read a list.

        Where values are known only inside `jax.jit`, nothing is raised, so that the
        metric has to document what it returns.

        Args:
            lists: `[*lists]` bool, those that the metric refuses.
            reason: The message, in which `{}` stands for the first of these lists.
        """
        refused = self.memo.refused
        refused[reason] = refused.get(reason, False) | lists
