"""`jrm.rank`: lists with a score for every item, as rows, packed, or with soft places."""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import TypeVar, Unpack

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.items import RawItems
from jax_rank_metrics._engine.layouts import base, packed
from jax_rank_metrics._engine.layouts.rows import Rows, Sharded
from jax_rank_metrics._engine.ordering import keys, order
from jax_rank_metrics._engine.ordering.packed_order import index_in_list, order_by
from jax_rank_metrics._engine.places.soft_places import SoftScores, sigmoid_ranks
from jax_rank_metrics._engine.ranking import pools, ranking, ranking_data
from jax_rank_metrics._engine.ranking.ranked_items import Ranked, UnknownPlaceError
from jax_rank_metrics._engine.sources import few_relevant, list_arguments
from jax_rank_metrics._engine.sources.lists import (
    check_unsharded,
    clean_weights,
    columns_by_name,
    has_nan,
)
from jax_rank_metrics._ground import arithmetic, inputs, shards, types

R = TypeVar("R")


def read_lists(
    lists: list_arguments.ScoredLists, read: Callable[[ranking_data.RankingData], R]
) -> R:
    """Returns `read(data)`, computed per shard if the lists are sharded by their type.

    Formulas therefore run where the data is, and only their results leave the device.

    Args:
        lists: The lists to rank.
        read: Returns a pytree of arrays `[*lists, …]`.
    """
    if lists.segment_ids is not None:
        # Packed lists are never sharded: `_rank_packed` raises if arrays are.
        return read(_rank_packed(lists))
    cut, shape = _cut_of(lists), lists.scores.shape[:-1]
    # Draw seeds before lists are sharded, so that no seed depends on a device.
    list_weights = clean_weights(lists.list_weights, shape, lists.raw_items.dtype)
    policy = lists.policy.drawn(lists.key, shape)
    lists = dataclasses.replace(
        lists, list_weights=list_weights, key=None, policy=policy
    )
    if cut is None:
        return _read_rows(lists, read)
    lists = dataclasses.replace(lists, items_axis=cut.over_items or lists.items_axis)
    per_list = list_weights, policy
    weight_spec, policy_spec = jax.tree.map(lambda _: cut.per_list, per_list)
    specs = jax.tree.map(lambda _: cut.per_item, lists)
    specs = dataclasses.replace(specs, list_weights=weight_spec, policy=policy_spec)
    read_shard = partial(_read_rows, read=read)
    return shards.shard_map(read_shard, cut.mesh, (specs,), cut.per_list, lists)


def _read_rows(
    lists: list_arguments.ScoredLists, read: Callable[[ranking_data.RankingData], R]
) -> R:
    """Reads rows as `read_lists` does; this device has whole rows, or a shard of each."""
    if lists.relax is not None:
        if lists.items_axis is not None:
            raise ValueError(
                "relax is given, but the items of a list are sharded over devices; gather "
                "labels, scores, mask and weights first, or shard the lists instead"
            )
        arrays = (lists.raw_items, lists.scores, Rows(), lists.list_weights)
        return read(_rank_softly(*arrays, lists.relax))
    if lists.few_relevant:
        try:
            return read(few_relevant.rank_few(lists))
        except UnknownPlaceError:
            pass  # a metric needs places of items that are not relevant
    return read(_rank_rows(lists))


def _rank_rows(lists: list_arguments.ScoredLists) -> ranking_data.RankingData:
    """Ranks rows; this device has whole rows, or a shard of each row."""
    raw_items, items_axis, ranks = lists.raw_items, lists.items_axis, lists.ranks
    layout = Rows() if items_axis is None else Sharded(items_axis)
    policy, size = lists.policy, lists.scores.shape[-1]
    pool = pools.ScoredPool(raw_items, layout, lists.scores, policy, items_axis)
    if items_axis is not None:
        # Depths are compared with the size of whole lists, not of this device's shard.
        size = size * lax.axis_size(items_axis)
    # A depth that reaches the end of the lists cuts nothing off.
    cut = ranks if ranks and ranks < size else None
    items_held = length = list_exists = None
    if ranks == 0:
        nan_found = has_nan(pool.scores, raw_items.retrieved_items().exists, layout)
    else:
        if ranks is None and items_axis is not None:
            raise ValueError(
                "k is None, but the items of a list are sharded over devices; pass k, the "
                "number of ranks to find; or, for a metric without k, gather labels, "
                "scores, mask and weights first"
            )
        # Devices must exchange candidates: if nothing is cut off, all candidates.
        depth = size if items_axis is not None and cut is None else cut
        # The scores tell which items tie across the cut, but only when a metric asks.
        best, straddles = order.order_rows(pool.candidates, policy, depth, items_axis)
        straddles = None if cut is None else straddles
        index = jnp.where(best.items.exists, best.ids, -1)
        items_held = Ranked(best.items, Rows(), size, index, best.keys, straddles)
        length = arithmetic.count(items_held.items.exists)
        # XLA:CPU reads the first slot only at the end of a program, and keeps the whole
        # array until then. So take the maximum, which it computes at once.
        first_key = lax.platform_dependent(
            best.keys, cpu=Rows().max, default=Rows().first
        )
        nan_found = keys.is_nan(first_key, best.dtype)
        if nan_found is None:  # the least integer may be the key of missing items too
            list_exists = Rows().first(best.items.exists)
        else:
            list_exists = keys.exists(first_key)
    # Count the pool only if the ranks do not already tell how large it is.
    if items_held is None or raw_items.retrieved is not None:
        pool_size = layout.sum(raw_items.read().exists)
        list_exists, length = pool_size > 0, pool_size if length is None else length
    assert length is not None and list_exists is not None
    return ranking_data.RankingData(
        items_held=items_held,
        pool=pool,
        length=length,
        list_exists=list_exists,
        list_weights=lists.list_weights,
        cut=cut,
        ties=policy.name,
        has_nan=nan_found,
        label_dtype=raw_items.label_dtype,
    )


def _rank_packed(lists: list_arguments.ScoredLists) -> ranking_data.RankingData:
    """Ranks packed lists, always to their end."""
    raw_items, segment_ids = lists.raw_items, lists.segment_ids
    num_segments = lists.num_segments
    assert segment_ids is not None and num_segments is not None
    check_unsharded(
        "with lists that are whole on a device",
        segment_ids=segment_ids,
        scores=lists.scores,
        labels=raw_items.labels,
        mask=raw_items.mask,
        weights=raw_items.weights,
        retrieved=raw_items.retrieved,
        **columns_by_name(raw_items.columns),
    )
    # Flatten `[*rows, items]` to `[items]`, and number the lists `[*rows, num_segments]`
    # along all axes. Items of no list get the number of lists as their id.
    rows = segment_ids.shape[:-1]
    shape = (*rows, num_segments)
    valid = (segment_ids >= 0) & (segment_ids < num_segments)
    # In two rows of three lists, the ids 0 2 and 1 −1 become 0 2 and 4 6.
    first_list = jnp.arange(math.prod(rows), dtype=jnp.int32) * num_segments
    list_ids = jnp.where(valid, segment_ids, 0).astype(jnp.int32)
    list_ids = jnp.where(
        valid, list_ids + first_list.reshape(*rows, 1), math.prod(shape)
    )
    mask = valid if raw_items.mask is None else valid & raw_items.mask
    flat_items, scores, list_ids = jax.tree.map(
        lambda array: array.reshape(-1, *array.shape[len(shape) :]),
        (dataclasses.replace(raw_items, mask=mask), lists.scores, list_ids),
    )
    # One pair of seeds suffices for all lists, because items have different indices along
    # the flat axis.
    policy = lists.policy.drawn(lists.key, ())
    layout = packed.Packed.of(list_ids, shape)
    list_weights = clean_weights(lists.list_weights, shape, raw_items.dtype)
    if lists.relax is not None:
        slots = order_by(list_ids, [], layout.starts)
        return _rank_softly(
            flat_items.at(slots),
            arithmetic.take(scores, slots),
            layout.sorted(arithmetic.take(list_ids, slots)),
            list_weights,
            lists.relax,
        )
    items_held = None
    pool = pools.ScoredPool(flat_items, layout, scores, policy, None)
    ranked = flat_items.retrieved_items()
    if lists.ranks == 0:
        nan_found = has_nan(scores, ranked.exists, layout)
    else:
        candidates = hashed = pool.candidates.read()
        if policy.hashes_own_index:
            hashed = dataclasses.replace(candidates, ids=index_in_list(list_ids))
        indices = order_by(list_ids, hashed.sort_keys(policy), layout.starts)
        best = candidates.at(indices)
        ranked = best.items
        layout = layout.sorted(arithmetic.take(list_ids, indices))
        nan_found = keys.is_nan(layout.first(best.keys), best.dtype)
        # Callers know an item by its index in its row. `max` avoids % 0 for empty rows.
        index_in_row = best.ids % max(lists.scores.shape[-1], 1)
        index = jnp.where(ranked.exists, index_in_row, -1)
        items_held = Ranked(ranked, layout, scores.shape[0], index, best.keys)
        pool_items = ranked
        if raw_items.retrieved is not None:
            # Judged items without a rank do not exist in `best`, but do in the pool.
            pool_items = flat_items.at(indices).read()
        pool = pools.SortedPool(pool_items, layout, best.ids)
    return ranking_data.RankingData(
        items_held=items_held,
        pool=pool,
        length=layout.sum(ranked.exists),
        list_exists=layout.sum(pool.items.read().exists) > 0,
        list_weights=list_weights,
        ties=policy.name,
        has_nan=nan_found,
        label_dtype=raw_items.label_dtype,
    )


def _rank_softly(
    raw_items: RawItems,
    scores: jax.Array,
    layout: base.RankedLayout,
    list_weights: jax.Array | None,
    relax: sigmoid_ranks,
) -> ranking_data.RankingData:
    """Gives soft places to the items of whole lists.

    Args:
        raw_items: `[*lists, items]`; `[items]` for packed lists, list after list.
        scores: The same shape.
        layout: The layout of the items.
        list_weights: `[*lists]`, or None if lists have no weights of their own.
        relax: The soft ranks, with their temperature.
    """
    pool_items, items = raw_items.read(), raw_items.retrieved_items()
    soft_scores = SoftScores.of(scores, items.exists, items.labels.dtype, relax)
    return ranking_data.RankingData(
        items_held=Ranked(items, layout, scores.shape[-1], soft=soft_scores),
        pool=pools.Pool(pool_items, layout),
        length=layout.sum(items.exists),
        list_exists=layout.sum(pool_items.exists) > 0,
        list_weights=list_weights,
        ties="expected",
        has_nan=has_nan(scores, items.exists, layout),
        label_dtype=raw_items.label_dtype,
    )


def _cut_of(lists: list_arguments.ScoredLists) -> shards.Cut | None:
    """Returns how the types of the arrays shard rows over devices; None if they do not."""
    return shards.cut_of(
        lists.scores.ndim - 1,
        per_item=(lists.scores, lists.raw_items),
        per_list=lists.list_weights,
    )


@jax.jit
def _rank_without_inputs(lists: list_arguments.ScoredLists) -> ranking_data.RankingData:
    """Returns the data without the arrays of its pool, except for the seeds.

    The pool of rows holds labels and scores as the caller passed them, and they may contain
    NaN. If a compiled program returned them, `jax_debug_nans` would raise, so
    `rank_checked` adds them afterwards. Packed lists and soft places have pools without
    such arrays, so their data is returned whole.
    """

    def without_inputs(data: ranking_data.RankingData) -> ranking_data.RankingData:
        pool = data.pool
        if not isinstance(pool, pools.ScoredPool):
            return data
        seeds = pool.policy.seeds
        # Static fields stay, such as a layout and the name of the tie policy.
        seeds_alone = jax.tree.map(lambda leaf: leaf if leaf is seeds else None, pool)
        return dataclasses.replace(data, pool=seeds_alone)

    return read_lists(lists, without_inputs)


@list_arguments.with_list_options
def rank(
    labels: types.Labels,
    scores: types.Scores,
    mask: types.Mask | None = None,
    weights: types.Weights | None = None,
    key: types.Key | None = None,
    *,
    k: types.RankCutoffs = None,
    **options: Unpack[list_arguments.ListOptions],
) -> ranking.Ranking:
    """Ranks every list once; any number of metrics can then read the ranking.

    These arguments are shared by every metric. Shapes must match exactly, and nothing is
    broadcast; `*lists` stands for any number of leading axes, also none.

    Items are ordered by score, highest first; scores may be infinite, and −0.0 equals
    0.0. Masked items have no rank. NaN cannot be ordered: if an item that may have a rank
    has the score NaN, of either sign, every metric that reads ranks has the value NaN for
    this list, whatever `undefined` says. A mean in which the list has weight is NaN too.
    Mark missing scores by `mask` or `retrieved`; or, to rank such items last, pass
    `jnp.where(jnp.isnan(scores), -jnp.inf, scores)`. `rank` does not look for values that
    are legal, but probably not intended; `check` does.

    Args:
        labels: `[*lists, items]` bool, integer or float, the relevance of each item. A
            label that is negative or NaN marks padding, as the mask does.
        scores: `[*lists, items]` of any real dtype, higher is better. Integers are
            compared as integers, low-precision floats exactly.
        mask: `[*lists, items]` bool, true for items that exist; None for all. Labels,
            scores and weights of masked items are never read: NaN there changes nothing.
        weights: Interpreted by the number of axes: a scalar or `[*lists]` is a weight per
            list, `[*lists, items]` a weight per item. An item whose weight is not above 0
            is masked. Item weights w multiply gains by w/w̄, with w̄ = Σw·r / Σr
            over the pool. Here r is the gain for cg, dcg and ndcg; for all other
            metrics, r is 1 for relevant items, else 0. If nothing is relevant, w̄ is the
            mean of w. The weight of the list is w̄. Only the values of cg, dcg, ndcg,
            average_precision, map_at_r, roc_auc and gauc depend on item weights; in
            roc_auc and gauc a pair counts the product of the weights of its items. None
            gives every list the weight 1.
        key: One PRNG key, typed or legacy, which breaks ties at random. Under
            `jax.vmap`, pass one key per list.
        k: How deep to rank: the largest cutoff that a metric will ask for, or None for
            whole lists. A shallow cut is much faster than a full sort.
        ties: How tied items are ordered or averaged.

            - None: "random" if a key is passed. Otherwise "expected" for metrics with a
              closed form, which most have. Other metrics, such as
              interpolated_precision, read a fixed pseudo-random order: tied items are
              ordered by a hash of the item's index in its list, which does not depend
              on labels. The hash is the same in every list. So if relevant items have
              the same index in all lists, as with one positive before sampled
              negatives, they all draw the same rank; a key draws the order of each list
              anew. A few metrics, such as tau, define ties themselves, under every
              policy. docs/metrics.md says how each metric reads ties.
            - "expected": the mean over all orders of tied items. `items` are in the
              order of the hash.
            - "random": an order drawn from `key`, uniformly and independently for each
              list.
            - "stable": index order.
            - "best", "worst": tied items are ordered by label, then by weight; "best" in
              descending order, "worst" in ascending order. Without item weights, the
              two values bound every metric that has a closed form and reads no columns:
              "best" from above and "worst" from below, if higher is better. They bound
              no metric that reads columns except bpref, because labels do not tell
              which of two items adds more to psp or group_recall.
        list_weights: `[*lists]`. It replaces the list weight that `weights` gives or
            implies, and never changes the value of a list.
        segment_ids: `[*lists, items]` integers. Lists are packed along the last axis,
            and each item belongs to the list of this number, below `num_segments`; items
            may stand in any order. `pack` makes both arguments from ids of any kind. An
            item whose id is below 0 is masked. An id that is not below `num_segments`
            raises; inside `jax.jit`, where ids are not known, its item is masked. With
            packed lists, list weights (passed as `list_weights`) and values have the
            shape `[*lists, num_segments]`. A list without items does not count.
        num_segments: How many lists are packed, a Python int; leave it out with
            `segment_ids=jrm.pack(ids)`, which contains the number.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which the items of
            every list are sharded: every argument `[*lists, items]` is this device's
            shard, and shards are of equal size and in the order of the devices. Needs
            `k`. Candidates and sums travel between devices, never scores; the result is
            equal on all devices of the axis. If lists are sharded over other axes, random
            ties need a key for each shard: fold in `jax.lax.axis_index` of these axes.
        retrieved: `[*lists, items]` bool, true for items that have a rank; None for all.
            The other items were judged, but not returned by the system: they count as
            relevant and in the ideal order, have no rank and no ties, and their scores
            are never read.
        columns: A dict from column names to arrays `[*lists, items, …]`, which some
            metrics read beside labels, such as whether an item was judged. Values of
            masked items are never read.
        relax: For training. `sigmoid_ranks(temperature)` gives every item one real rank
            that is smooth in the scores, so that metrics have gradients with respect to
            scores, by reverse and forward mode. ndcg is then ApproxNDCG, reciprocal_rank
            is ApproxMRR, and average_precision the analogous surrogate; denominators
            stay exact. Metrics that need an order, or the first relevant item, such as
            hit_rate, raise.
            All pairs of items of a list are compared, in blocks, and again for the
            gradient: time is O(lists × items²), memory O(lists × items × 64). In packed
            lists every item is compared with about twice the number of items of the
            longest list: time is O(all items × longest list), memory O(all items × 64).
            `k` does not shorten the ranking. In a metric, k keeps the items whose nearest
            whole rank is at most k (rank ≤ k + 1/2). This edge has no gradient, so k=None
            trains better, and metrics that only count items (precision, recall, cg) have
            zero gradient. Infinite scores count as the largest and the least float, and
            their gradient is 0; in a list with NaN all gradients are 0. `key` is ignored.
            Each list must be whole on a device, but rows may be sharded.

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
    ranks = inputs.deepest(inputs.rank_cutoffs(k))
    lists = list_arguments.checked(labels, scores, mask, weights, key, **options)
    return rank_checked(dataclasses.replace(lists, ranks=ranks))


def rank_checked(lists: list_arguments.ScoredLists) -> ranking.Ranking:
    """Ranks the lists that `checked` returned, to the depth of their `ranks`."""
    data = _rank_without_inputs(lists)
    if not isinstance(data.pool, pools.ScoredPool):
        return ranking.Ranking(data)
    raw_items, scores = shards.put_items(
        (lists.raw_items, lists.scores), _cut_of(lists)
    )
    pool = dataclasses.replace(data.pool, items=raw_items, scores=scores)
    return ranking.Ranking(dataclasses.replace(data, pool=pool))
