"""The ways to make a `Ranking`."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _inputs, _ordering
from jax_rank_metrics._ranking import Items, PoolLayout, RankedLayout, Ranking
from jax_rank_metrics._rows import Rows
from jax_rank_metrics._segments import Segments
from jax_rank_metrics._shards import Shards
from jax_rank_metrics._tie_groups import Beyond, TiedScores, TieGroups
from jax_rank_metrics._types import (
    AxisNames,
    Cutoffs,
    Key,
    Labels,
    ListWeights,
    Mask,
    Scores,
    Ties,
    Weights,
    pytree,
)


@pytree()
class ScoredLists:
    """Arguments of `rank` that hold arrays, checked."""

    labels: jax.Array
    scores: jax.Array
    mask: jax.Array | None
    weights: jax.Array | None
    key: jax.Array | None
    list_weights: jax.Array | None
    segment_ids: jax.Array | None


class Options(NamedTuple):
    """Arguments of `rank` that are static, checked."""

    ties: str | None
    num_segments: int | None
    items_axis: Any


def scored_lists(
    labels: Any,
    scores: Any,
    mask: Any,
    weights: Any,
    key: Any,
    ties: Any,
    list_weights: Any,
    segment_ids: Any,
    num_segments: Any,
    items_axis: Any,
) -> tuple[ScoredLists, Options]:
    """Checks the arguments of `rank`."""
    labels, mask = _inputs.item_arrays("labels", labels, mask)
    scores = _inputs.real("scores", scores)
    _inputs.same_shape("scores", scores, "labels", labels.shape)
    segment_ids, num_segments = _inputs.segments(labels, segment_ids, num_segments)
    weights = _inputs.weights_for(labels, weights, packed=segment_ids is not None)
    list_weights = _inputs.per_list(
        "list_weights", list_weights, _lists(labels, num_segments)
    )
    ties, key = _inputs.tie_policy(ties, key)
    items_axis = _inputs.axis_names("items_axis", items_axis)
    if items_axis is not None and segment_ids is not None:
        raise ValueError(
            "segment_ids and items_axis are both given; pass one, packed lists stay whole "
            "on a device"
        )
    lists = ScoredLists(labels, scores, mask, weights, key, list_weights, segment_ids)
    return lists, Options(ties, num_segments, items_axis)


def _lists(labels: jax.Array, num_segments: int | None) -> tuple[int, ...]:
    """The shape of one number per list."""
    return labels.shape[:-1] + (() if num_segments is None else (num_segments,))


def rank_lists(
    lists: ScoredLists, options: Options, depth: int | None, in_groups: bool = False
) -> Ranking:
    """`rank` without its checks and its own compilation.

    `in_groups` promises that only metrics with a closed form will read the ranking, so
    that the order of tied items is of no interest.
    """
    shape = _lists(lists.labels, options.num_segments)
    weights, list_weights, dtype = read_weights(
        lists.labels, lists.weights, lists.list_weights, shape, lists.scores
    )
    ties = options.ties
    ordering = "expected" if in_groups and ties is None else ties
    source = _rows_or_shards if lists.segment_ids is None else _segments
    items = _inputs.GivenItems(lists.labels, lists.mask, weights, dtype.name)
    ranked, pool, groups, cut = source(lists, items, options, ordering, depth)
    length = ranked.axis.sum(ranked.exists)
    return Ranking(
        ranked=ranked,
        pool=pool,
        groups=groups if ties in (None, "expected") else None,
        length=length,
        known_relevant=None,
        counts=length > 0,
        list_weights=list_weights,
        cut=cut,
        in_order=ties != "expected",
    )


_Source = tuple[Items[RankedLayout], Items[PoolLayout], TieGroups, int | None]


def _rows_or_shards(
    lists: ScoredLists,
    given: _inputs.GivenItems,
    options: Options,
    ties: str | None,
    depth: int | None,
) -> _Source:
    axis_name, items, axis = options.items_axis, lists.scores.shape[-1], Rows()
    if axis_name is not None:
        items, axis = items * lax.axis_size(axis_name), Shards(axis_name)
    if depth is None and (axis_name or jax.typeof(lists.scores).sharding.spec[-1]):
        raise ValueError(
            "k is None, but the items of a list are cut over devices; pass k to rank "
            "that deep, or gather labels, scores, mask and weights first"
        )
    cut = None if depth is None or depth >= items else depth
    every = _ordering.Given(lists.scores, given)
    ordered = _ordering.order(every, ties, lists.key, cut or items, axis_name)

    def beyond(last: jax.Array) -> Beyond:
        return Beyond(TiedScores(lists.scores, last), axis, ordered.crosses)

    groups = TieGroups.of(
        ordered.keys,
        ordered.items.exists,
        Rows(),
        items,
        None if cut is None else beyond,
    )
    return Items(ordered.items, Rows()), Items(given, axis), groups, cut


def _segments(
    lists: ScoredLists,
    given: _inputs.GivenItems,
    options: Options,
    ties: str | None,
    depth: int | None,
) -> _Source:
    assert lists.segment_ids is not None and options.num_segments is not None
    number, ids = options.num_segments, lists.segment_ids
    _inputs.unsharded("segment_ids", ids, "with lists that are whole on a device")
    _inputs.unsharded("scores", lists.scores, "with lists that are whole on a device")
    shape = (*ids.shape[:-1], number)
    valid = (ids >= 0) & (ids < number)
    ids = jnp.where(valid, ids, 0).astype(jnp.int32)
    first = jnp.arange(math.prod(ids.shape[:-1]), dtype=jnp.int32) * number
    ids = jnp.where(valid, ids + first.reshape(*ids.shape[:-1], 1), math.prod(shape))
    pool = given.read()
    pool = pool._replace(exists=pool.exists & valid)
    flat, scores, ids = jax.tree.map(lambda x: x.reshape(-1), (pool, lists.scores, ids))
    axis = Segments.of(ids, shape)
    ordered, ids = _ordering.order_segments(
        scores, flat, ids, axis.starts, ties, lists.key
    )
    ranked = Items(ordered.items, axis.sorted(ids))
    groups = TieGroups.of(
        ordered.keys, ranked.exists, ranked.axis, ids.shape[0], beyond=None
    )
    return ranked, ranked, groups, None


def read_weights(
    labels: jax.Array,
    weights: jax.Array | None,
    list_weights: jax.Array | None,
    lists: tuple[int, ...],
    *others: jax.Array | None,
) -> tuple[jax.Array | None, jax.Array | None, jnp.dtype]:
    """Item weights, list weights and the float dtype of the computation."""
    dtype = _inputs.float_dtype(labels, weights, list_weights, *others)
    per_item = weights is not None and weights.ndim == labels.ndim
    if list_weights is None and not per_item:
        list_weights = weights
    if list_weights is not None:
        list_weights = lax.stop_gradient(list_weights).astype(dtype)
        list_weights = jnp.broadcast_to(list_weights, lists)
    return weights if per_item else None, list_weights, dtype


_rank = jax.jit(rank_lists, static_argnums=(1, 2, 3))


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
            and this says which of `num_segments` lists an item is of. In any order; an
            item whose id is not in `[0, num_segments)` is masked. What is `[*lists]`
            elsewhere is then `[*lists, num_segments]`: list weights (as `list_weights`),
            and values. A list without items does not count.
        num_segments: How many lists are packed, a Python int.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which the items of
            every list are cut: every argument `[*lists, items]` is the device's part,
            and equal parts are in the order of the devices. Needs `k`. Candidates and
            sums travel, never scores; the result is equal on all devices of the axis.
            Random ties of different lists on other axes need a key each: fold in their
            `jax.lax.axis_index`.

    Returns:
        A `Ranking`, a pytree for `metric.of` and `measure`.

    Raises:
        ValueError: if shapes differ, k is not at least 1, `ties` is unknown, or random
            without a key; or if items of one list are sharded over devices and k is
            None.
        TypeError: if an argument is not an array of numbers, the mask is not bool, or
            the key is not a key.

    >>> ranking = rank(jnp.array([0, 2, 1]), jnp.array([0.3, 0.2, 0.9]), k=2)
    >>> ranking.ranked.labels.tolist()
    [1.0, 0.0]

    References:
        McSherry and Najork, Computing information retrieval performance measures
        efficiently in the presence of tied scores, ECIR 2008.
    """
    depth = _inputs.deepest(_inputs.cutoffs(k))
    lists, options = scored_lists(
        labels,
        scores,
        mask,
        weights,
        key,
        ties,
        list_weights,
        segment_ids,
        num_segments,
        items_axis,
    )
    return _rank(lists, options, depth)
