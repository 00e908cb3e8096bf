"""`jrm.rank`: its arguments, and where they lead."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import jax
from jax import lax

from jax_rank_metrics import _inputs, _mesh
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.lists import (
    Depth,
    Found,
    Options,
    ScoredLists,
    given_items,
    read_weights,
    seeds,
)
from jax_rank_metrics._sources.packed import rank_packed
from jax_rank_metrics._sources.rows import order_rows, ranking_of_rows
from jax_rank_metrics._types import (
    AxisNames,
    Columns,
    Cutoffs,
    Key,
    Labels,
    ListWeights,
    Mask,
    Scores,
    Ties,
    Weights,
)

R = TypeVar("R")


def checked(
    labels: Any,
    scores: Any,
    mask: Any,
    weights: Any,
    key: Any,
    *,
    ties: Any,
    list_weights: Any,
    segment_ids: Any,
    num_segments: Any,
    items_axis: Any,
    retrieved: Any,
    columns: Any,
) -> tuple[ScoredLists, Options]:
    """Checks the arguments of `rank`."""
    labels, mask = _inputs.item_arrays("labels", labels, mask)
    scores = _inputs.real("scores", scores)
    _inputs.same_shape("scores", scores, "labels", labels.shape)
    segment_ids, num_segments = _inputs.segments(labels, segment_ids, num_segments)
    packed = segment_ids is not None
    weights = _inputs.weights_for(labels, weights, packed=packed)
    lists = labels.shape[:-1] + ((num_segments,) if packed else ())
    list_weights = _inputs.per_list("list_weights", list_weights, lists)
    if retrieved is not None:
        retrieved = _inputs.boolean("retrieved", retrieved)
        _inputs.same_shape("retrieved", retrieved, "labels", labels.shape)
    columns = _inputs.columns(columns, "labels", labels.shape)
    ties, key = _inputs.tie_policy(ties, key)
    items_axis = _inputs.axis_names("items_axis", items_axis)
    if items_axis is not None:
        if packed:
            raise ValueError(
                "segment_ids and items_axis are both given; pass one, packed lists stay "
                "whole on a device"
            )
        if _mesh.is_cut(scores):
            raise ValueError(
                f"items_axis is {items_axis!r}, but the type of scores says already how "
                "they are sharded; leave items_axis out, or call inside jax.shard_map "
                "over it"
            )
    arrays = (labels, scores, mask, weights, key, list_weights, retrieved, columns)
    lists = ScoredLists(*arrays, segment_ids)
    return lists, Options(ties, num_segments, items_axis)


def read_lists(
    lists: ScoredLists, options: Options, depth: Depth, then: Callable[[Ranking], R]
) -> R:
    """`then(ranking)`, device by device where the lists are sharded by their type.

    `then` gives a pytree of arrays `[*lists, …]`.
    """
    if lists.segment_ids is not None:
        return then(rank_packed(lists, options, depth))

    def local(items_axis: Any, per_item: Any, per_list: Any) -> R:
        (given, scores), (list_weights, seed) = per_item, per_list
        items_axis = options.items_axis if items_axis is None else items_axis
        found = order_rows(
            given, scores, list_weights, seed, options.ties, depth, items_axis
        )
        size = _size(scores, items_axis)
        return then(
            ranking_of_rows(found, given, scores, options.ties, depth, items_axis, size)
        )

    return _mesh.on_each_device(local, lists.scores, *_rows_of(lists, options))


def _rows_of(lists: ScoredLists, options: Options) -> tuple[int, Any, Any]:
    """Axes of lists, what is per item, and what is per list."""
    shape = lists.labels.shape[:-1]
    _, list_weights, _ = read_weights(
        lists.labels, lists.weights, lists.list_weights, shape, lists.scores
    )
    seed = seeds(options.ties, lists.key, shape)
    return len(shape), (given_items(lists), lists.scores), (list_weights, seed)


def _size(scores: jax.Array, items_axis: Any) -> int:
    size = scores.shape[-1]
    return size if items_axis is None else size * lax.axis_size(items_axis)


@partial(jax.jit, static_argnums=(1, 2))
def _found(lists: ScoredLists, options: Options, depth: Depth) -> Found:
    def local(items_axis: Any, per_item: Any, per_list: Any) -> Found:
        (given, scores), (list_weights, seed) = per_item, per_list
        items_axis = options.items_axis if items_axis is None else items_axis
        return order_rows(
            given, scores, list_weights, seed, options.ties, depth, items_axis
        )

    return _mesh.on_each_device(local, lists.scores, *_rows_of(lists, options))


_rank_packed = jax.jit(rank_packed, static_argnums=(1, 2))


def rank_lists(lists: ScoredLists, options: Options, depth: Depth) -> Ranking:
    """`rank` without its checks."""
    if lists.segment_ids is not None:
        return _rank_packed(lists, options, depth)
    # What was passed is not handed through a compiled function: it may hold NaN.
    found = _found(lists, options, depth)
    over_items = _mesh.spec_of(lists.scores)[-1] or None
    return ranking_of_rows(
        found,
        _mesh.lying_like(given_items(lists), lists.scores),
        lists.scores,
        options.ties,
        depth,
        options.items_axis or over_items,
        _size(lists.scores, options.items_axis),
    )


def rank(
    labels: Labels,
    scores: Scores,
    mask: Mask | None = None,
    weights: Weights | None = None,
    key: Key | None = None,
    *,
    k: Cutoffs = None,
    ties: Ties | None = None,
    list_weights: ListWeights | None = None,
    segment_ids: Scores | None = None,
    num_segments: int | None = None,
    items_axis: AxisNames | None = None,
    retrieved: Mask | None = None,
    columns: Columns | None = None,
) -> Ranking:
    """Ranks every list once; any number of metrics can then read the ranking.

    The arguments here are those of every metric. Shapes match exactly, nothing is
    broadcast; `*lists` is any number of leading axes, none included.

    Order: finite and infinite scores, highest first (−0.0 equals 0.0), then NaN, all
    tied, then what does not exist.

    Args:
        labels: `[*lists, items]` bool, integer or float, the relevance of each item. A
            label that is negative or NaN marks padding, as the mask does.
        scores: `[*lists, items]` of any real dtype, higher is better. Integers are
            compared as integers, low-precision floats exactly.
        mask: `[*lists, items]` bool, items that exist; None is all. What is masked is
            never read: NaN there changes nothing.
        weights: Read by its number of axes: a scalar or `[*lists]` weighs lists,
            `[*lists, items]` weighs items. An item whose weight is not above 0 is
            masked. Item weights w weigh gains by w/w̄ with w̄ = Σw·r / Σr over the
            relevance r of the pool (the gain for cg, dcg and ndcg, else 1 where
            relevant; the plain mean of w where nothing is), and w̄ is the weight of the
            list. Only cg, dcg, ndcg and average_precision read item weights in their
            values. None weighs every list 1.
        key: One PRNG key, typed or legacy; breaks ties at random. Under `jax.vmap`, pass
            one key per list.
        k: How deep to rank: the largest cutoff that a metric will ask for, or None for
            whole lists. A shallow cut is much faster than a full sort.
        ties: What tied scores mean:
            None: random with a key. Without one, "expected" for metrics with a closed
                form, which is all of them but average_precision(denominator="hits");
                for others a fixed pseudo-random order, a hash of the item's position in
                its list, blind to labels.
            "expected": the mean over all orders of tied items.
            "random": in the order of `key`, uniform, and independent across lists.
            "stable": in index order.
            "best", "worst": tied items by label, then by weight, descending or
                ascending. Without item weights these bound every metric but
                average_precision(denominator="hits").
        list_weights: `[*lists]`, replaces the list weight that `weights` gives or
            implies, and never changes a value.
        segment_ids: `[*lists, items]` integers: lists are packed along the last axis,
            and this says which of `num_segments` lists an item is of, in any order;
            `pack` makes both of any ids. An item whose id is below 0 is masked; so is,
            inside `jax.jit`, one whose id is not below `num_segments`, which raises
            elsewhere. What is `[*lists]` elsewhere is then `[*lists, num_segments]`:
            list weights (as `list_weights`), and values. A list without items does not
            count.
        num_segments: How many lists are packed, a Python int.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which the items of
            every list are cut: every argument `[*lists, items]` is the device's part,
            and equal parts are in the order of the devices. Needs `k`. Candidates and
            sums travel, never scores; the result is equal on all devices of the axis.
            Random ties of different lists on other axes need a key each: fold in their
            `jax.lax.axis_index`.
        retrieved: `[*lists, items]` bool, items that have a rank; None is all. The
            others are judged, but were not returned: they count among the relevant and
            in the ideal order, hold no rank, tie with nothing, and their scores are
            never read.
        columns: By name, arrays `[*lists, items, …]` that some metrics read beside
            labels, such as whether an item was judged. What is masked is never read.

    Returns:
        A `Ranking`, a pytree for `metric.of` and `measure`. Its `items` are the indices
        of the items at each rank.

    Raises:
        ValueError: if shapes differ, k is not at least 1, `ties` is unknown, or random
            without a key; if a segment id is known, and not below `num_segments`; or if
            items of one list are sharded over devices and k is None.
        TypeError: if an argument is not an array of numbers, the mask is not bool, or
            the key is not a key.

    >>> import jax.numpy as jnp
    >>> ranking = rank(jnp.array([0, 2, 1]), jnp.array([0.3, 0.2, 0.9]), k=2)
    >>> ranking.items.tolist()
    [2, 0]

    References:
        McSherry and Najork, Computing information retrieval performance measures
        efficiently in the presence of tied scores, ECIR 2008.
    """
    depth = Depth(_inputs.deepest(_inputs.cutoffs(k)))
    lists, options = checked(
        labels,
        scores,
        mask,
        weights,
        key,
        ties=ties,
        list_weights=list_weights,
        segment_ids=segment_ids,
        num_segments=num_segments,
        items_axis=items_axis,
        retrieved=retrieved,
        columns=columns,
    )
    return rank_lists(lists, options, depth)
