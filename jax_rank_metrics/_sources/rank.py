"""`jrm.rank`, which ranks rows, and leaves packed lists and soft places to others."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TypeVar, Unpack

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _inputs, _shards, _types
from jax_rank_metrics._items import RawItems
from jax_rank_metrics._layouts.pools import Sharded
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._ordering.candidates import RawCandidates
from jax_rank_metrics._ordering.keys import is_nan
from jax_rank_metrics._ordering.order import order_rows
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._ranking import Ranking, UnknownPlaceError
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._ranking.pool import ScoredPool, Straddle
from jax_rank_metrics._ranking.ranked import Ranked
from jax_rank_metrics._sources.few_relevant import rank_few
from jax_rank_metrics._sources.list_arguments import (
    ListOptions,
    ScoredLists,
    checked,
    with_list_options,
)
from jax_rank_metrics._sources.lists import Depth, clean_weights, has_nan, rank_softly
from jax_rank_metrics._sources.packed_lists import rank_packed
from jax_rank_metrics._types import AxisNames

R = TypeVar("R")


def read_lists(lists: ScoredLists, depth: Depth, read: Callable[[RankingData], R]) -> R:
    """Returns `read(data)`, per shard where the lists are sharded by their type.

    Formulas so run where the data is, and only what they return leaves a device.

    Args:
        lists: The lists to rank.
        depth: How much of their order is needed.
        read: Returns a pytree of arrays `[*lists, …]`.
    """
    if lists.segment_ids is not None:
        # Packed lists are never cut: `rank_packed` raises where their arrays are sharded.
        return read(rank_packed(lists, depth))

    def read_shard(
        sharded_over: AxisNames | None,
        per_item: tuple[jax.Array, RawItems],
        per_list: tuple[jax.Array | None, jax.Array | None],
    ) -> R:
        (scores, raw_items), (list_weights, seeds) = per_item, per_list
        items_axis = sharded_over or lists.items_axis
        if lists.relax is not None:
            if items_axis is not None:
                raise ValueError(
                    "relax is given, but the items of a list are cut over devices; "
                    "gather labels, scores, mask and weights first, or cut the lists "
                    "instead"
                )
            return read(
                rank_softly(raw_items, scores, Rows(), list_weights, lists.relax)
            )
        if depth.few_relevant:
            try:
                return read(rank_few(raw_items, scores, list_weights))
            except UnknownPlaceError:
                pass  # a metric needs the places of other items too
        ranking = _rank_rows(
            raw_items, scores, list_weights, seeds, lists.policy, items_axis, depth
        )
        return read(ranking)

    shape = lists.scores.shape[:-1]
    # Before lists are cut over devices, so that no seed depends on where its list lies.
    per_list = (
        clean_weights(lists.list_weights, shape, lists.raw_items.dtype),
        lists.policy.seeds(lists.key, shape),
    )
    per_item = (lists.scores, lists.raw_items)
    return _shards.map_item_shards(read_shard, _cut_of(lists), per_item, per_list)


def _rank_rows(
    raw_items: RawItems,
    scores: jax.Array,
    list_weights: jax.Array | None,
    seeds: jax.Array | None,
    policy: Policy,
    items_axis: AxisNames | None,
    depth: Depth,
) -> RankingData:
    """Ranks rows, of which this device has all items or a part.

    Args:
        raw_items: `[*lists, items]`.
        scores: `[*lists, items]`.
        list_weights: `[*lists]`, or None where items weigh the list.
        seeds: `[*lists, 2]` for random ties, or None.
        policy: The tie policy.
        items_axis: Mesh axes over which the items of every list are cut, or None.
        depth: How much of the order is needed.
    """
    layout, size, start = Rows(), scores.shape[-1], 0
    if items_axis is not None:
        layout, start = Sharded(items_axis), lax.axis_index(items_axis) * size
        # From here on the size of whole lists, no longer of the part of this device.
        size = size * lax.axis_size(items_axis)
    # A depth that reaches the end of the lists cuts nothing off.
    cut = depth.ranks if depth.ranks is not None and depth.ranks < size else None
    held = length = None
    if not depth.ordered:
        exists = raw_items.retrieved_items().exists
        nan_found = has_nan(scores, exists, layout)
    else:
        if depth.ranks is None and items_axis is not None:
            raise ValueError(
                "k is None, but the items of a list are cut over devices; pass k to rank "
                "that deep, or gather labels, scores, mask and weights first"
            )
        candidates = RawCandidates(scores, raw_items, start, seeds)
        # Devices exchange candidates even where nothing is cut, and then all of them.
        ranks = size if items_axis is not None and cut is None else cut
        item_order = depth.item_order(policy, scores.dtype)
        best, straddles = order_rows(candidates, item_order, ranks, items_axis)
        straddle = None
        if cut is not None:
            assert straddles is not None
            # Which items tie across the cut, scores tell once a metric asks.
            straddle = Straddle(straddles, None, layout)
        index = jnp.where(best.items.exists, best.ids, -1)
        held = Ranked(best.items, Rows(), size, index, best.keys, straddle)
        length = _arithmetic.count(held.items.exists)
        nan_found = is_nan(Rows().first(best.keys), scores.dtype)
    # The pool is counted only where the ranks do not already say how large it is.
    pool_size = length
    if length is None or raw_items.retrieved is not None:
        pool_size = layout.sum(raw_items.read().exists)
        length = pool_size if length is None else length
    assert pool_size is not None
    return RankingData(
        held=held,
        pool=ScoredPool(raw_items, layout, scores, seeds, policy.name, items_axis),
        length=length,
        list_exists=pool_size > 0,
        list_weights=list_weights,
        cut=cut,
        ties=policy.name,
        has_nan=nan_found,
        label_dtype=raw_items.label_dtype,
    )


def _cut_of(lists: ScoredLists) -> _shards.Cut | None:
    """Returns how the ranking of rows is cut over devices by the types of their arrays."""
    return _shards.cut_of(
        lists.scores.ndim - 1,
        per_item=(lists.scores, lists.raw_items),
        per_list=lists.list_weights,
    )


@partial(jax.jit, static_argnums=1)
def _rank_without_inputs(
    lists: ScoredLists, depth: Depth
) -> tuple[RankingData, jax.Array | None]:
    """Returns the data without the arrays of its pool, and the seeds of that.

    These hold the arrays as they were passed, where NaN is allowed; as results of a
    compiled program they would stop `jax_debug_nans`. `rank` adds them afterwards. The
    rankings of packed lists and of soft places hold none of them: they are returned
    whole, with None for the seeds.
    """

    def without_inputs(data: RankingData) -> tuple[RankingData, jax.Array | None]:
        pool = data.pool
        if not isinstance(pool, ScoredPool):
            return data, None
        # Static fields stay: a layout, the name of the tie policy.
        without_arrays = jax.tree.map(lambda _: None, pool)
        return dataclasses.replace(data, pool=without_arrays), pool.seeds

    return read_lists(lists, depth, without_inputs)


@with_list_options
def rank(
    labels: _types.Labels,
    scores: _types.Scores,
    mask: _types.Mask | None = None,
    weights: _types.Weights | None = None,
    key: _types.Key | None = None,
    *,
    k: _types.RankCutoffs = None,
    **options: Unpack[ListOptions],
) -> Ranking:
    """Ranks every list once; any number of metrics can then read the ranking.

    These arguments are shared by every metric. Shapes must match exactly, and nothing is
    broadcast; `*lists` stands for any number of leading axes, also none.

    Items are ordered by score, highest first: finite and infinite scores (−0.0 equals
    0.0). Masked items have no rank. NaN is no order: where an item that may have a rank
    has the score NaN, of either sign, the list has the value NaN under every metric that
    reads places, whatever `undefined` says, and so has a mean in which the list has
    weight. Say that a score is missing by `mask` or `retrieved`; or, to rank such items
    last, pass `jnp.where(jnp.isnan(scores), -jnp.inf, scores)`. Values are not looked at:
    `check` finds those that are legal, but probably not intended.

    Args:
        labels: `[*lists, items]` bool, integer or float, the relevance of each item. A
            label that is negative or NaN marks padding, as the mask does.
        scores: `[*lists, items]` of any real dtype, higher is better. Integers are
            compared as integers, low-precision floats exactly.
        mask: `[*lists, items]` bool, items that exist; None is all. What is masked is
            never read: NaN there changes nothing.
        weights: Interpreted by the number of axes: a scalar or `[*lists]` weighs lists,
            `[*lists, items]` weighs items. An item whose weight is not above 0 is masked.
            Item weights w multiply gains by w/w̄, where w̄ = Σw·r / Σr
            over the relevance r of the pool (the gain for cg, dcg and ndcg; for all
            others 1 where relevant; and w̄ is the mean of w where nothing is relevant).
            The weight of the list is w̄. Only the values of cg, dcg, ndcg,
            average_precision, map_at_r, roc_auc and gauc depend on item weights; in the
            last two a pair counts the product of those of its items. None gives every
            list the weight 1.
        key: One PRNG key, typed or legacy, which breaks ties at random. Under
            `jax.vmap`, pass one key per list.
        k: How deep to rank: the largest cutoff that a metric will ask for, or None for
            whole lists. A shallow cut is much faster than a full sort.
        ties: What tied scores mean.

            - None: random with a key. Without one, "expected" for metrics with a closed
              form, which most have; for others, such as expected_reciprocal_rank, a
              fixed pseudo-random order: that of a hash of the item's index in its
              list, which does not depend on labels. A few, such as tau, define ties
              themselves, under every policy. docs/metrics.md lists which is which.
            - "expected": the mean over all orders of tied items.
            - "random": an order drawn from `key`, uniformly and independently for each
              list.
            - "stable": index order.
            - "best", "worst": tied items are ordered by label, then by weight,
              descending or ascending. Without item weights the two bound every metric
              that has a closed form and reads no columns: from above and below if
              higher is better. Of those that read columns they bound bpref alone, since
              labels do not say which of two items gives psp or group_recall more.
        list_weights: `[*lists]`, replaces the list weight that `weights` gives or
            implies, and never changes a value.
        segment_ids: `[*lists, items]` integers. Lists are packed along the last axis,
            and each item belongs to the list of this number, below `num_segments`; items
            may stand in any order. `pack` makes both arguments from ids of any kind. An
            item whose id is below 0 is masked. An id that is not below `num_segments`
            raises, and where it is not known, inside `jax.jit`, the item is masked.
            Everywhere else `[*lists]` then means `[*lists, num_segments]`: for list
            weights (passed as `list_weights`), and for values. A list without items does
            not count.
        num_segments: How many lists are packed, a Python int.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which the items of
            every list are cut: every argument `[*lists, items]` is the part of the
            device, parts are of equal size and in the order of the devices. Needs `k`.
            Candidates and sums travel between devices, never scores; the result is equal
            on all devices of the axis. Where lists are cut over other axes, random ties
            need a key for each part: fold in `jax.lax.axis_index` of these axes.
        retrieved: `[*lists, items]` bool, items that have a rank; None is all. The other
            items were judged, but not returned by the system: they count as relevant and
            in the ideal order, have no rank and no ties, and their scores are never
            read.
        columns: By name, arrays `[*lists, items, …]` that some metrics read beside
            labels, such as whether an item was judged. What is masked is never read.
        relax: For training. `sigmoid_ranks(temperature)` gives every item one real rank
            that is smooth in the scores, so that metrics have gradients with respect to
            scores, by reverse and forward mode. ndcg is then ApproxNDCG, reciprocal_rank
            is ApproxMRR, and average_precision the analogous surrogate; denominators
            stay exact. Metrics that need an order, or the first stop as hit_rate does,
            raise.
            All pairs of items of a list are compared, in blocks, and again for the
            gradient: time is O(lists × items²), memory O(lists × items × 64). In packed
            lists every item is compared with about twice as many as the longest list
            has: time is O(all items × longest list), memory O(all items × 64). `k` does
            not cut the ranking. In a metric it keeps the items whose nearest whole rank
            is at most k (rank ≤ k + 1/2), an edge that has no gradient of its own: k=None
            trains better, and metrics that only count items (precision, recall, cg) have
            zero gradient. Infinite scores count as the largest and the least float, and
            their gradient is 0, as is that of a list with NaN. `key` is ignored. Lists must
            be whole on a device; rows may be sharded.

    Returns:
        A `Ranking`, a pytree for `metric.of` and `measure`. Its `items` are the indices
        of the items at each rank; under `relax` it has none.

    Raises:
        ValueError: if shapes differ; if k is not at least 1; if `ties` is unknown, or
            "random" without a key; if a known segment id is not below `num_segments`; if
            the items of a list are sharded over devices and k is None; or if `relax` is
            combined with `ties`, `items_axis` or sharded items.
        TypeError: if an argument is not an array of numbers, the mask is not bool, the
            key is not a key, or `relax` is not made by `sigmoid_ranks`.

    >>> import jax.numpy as jnp
    >>> ranking = rank(jnp.array([0, 2, 1]), jnp.array([0.3, 0.2, 0.9]), k=2)
    >>> ranking.items.tolist()
    [2, 0]

    References:
        McSherry and Najork, Computing information retrieval performance measures
        efficiently in the presence of tied scores, ECIR 2008.
    """
    depth = Depth(_inputs.deepest(_inputs.rank_cutoffs(k)))
    lists = checked(labels, scores, mask, weights, key, **options)
    data, seeds = _rank_without_inputs(lists, depth)
    if not isinstance(data.pool, ScoredPool):
        return Ranking(data)
    raw_items, scores = _shards.put_items(
        (lists.raw_items, lists.scores), _cut_of(lists)
    )
    pool = dataclasses.replace(data.pool, items=raw_items, scores=scores, seeds=seeds)
    return Ranking(dataclasses.replace(data, pool=pool))
