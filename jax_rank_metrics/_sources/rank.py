"""`jrm.rank`: its arguments, and where they lead."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import jax

from jax_rank_metrics import _inputs, _shards, _types
from jax_rank_metrics._places.soft import sigmoid_ranks
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.lists import (
    Depth,
    ScoredLists,
    checked,
    clean_weights,
)
from jax_rank_metrics._sources.packed import rank_packed
from jax_rank_metrics._sources.rows import rank_rows, rank_softly

R = TypeVar("R")


def read_lists(lists: ScoredLists, depth: Depth, then: Callable[[Ranking], R]) -> R:
    """`then(ranking)`, device by device where the lists are sharded by their type.

    `then` gives a pytree of arrays `[*lists, …]`.
    """
    if lists.segment_ids is not None:
        return then(rank_packed(lists, depth))

    def local(items_axis: Any, per_item: Any, per_list: Any) -> R:
        (given, scores), (list_weights, seed) = per_item, per_list
        items_axis, policy = items_axis or lists.items_axis, lists.policy
        if lists.relax is not None:
            return then(
                rank_softly(given, scores, list_weights, lists.relax, items_axis)
            )
        return then(
            rank_rows(given, scores, list_weights, seed, policy, items_axis, depth)
        )

    shape, per_item = lists.scores.shape[:-1], (lists.given, lists.scores)
    per_list = (
        clean_weights(lists.list_weights, shape, lists.given.dtype),
        lists.policy.seeds(lists.key, shape),
    )
    return _shards.map_item_shards(local, lists.scores, per_item, per_list)


@partial(jax.jit, static_argnums=1)
def _ranked(lists: ScoredLists, depth: Depth) -> tuple[Ranking, jax.Array | None]:
    """The ranking but for what was passed, and its seeds.

    What was passed may hold NaN, and stays outside of what is compiled.
    """

    def without(ranking: Ranking) -> tuple[Ranking, jax.Array | None]:
        if (
            ranking._pool is None or ranking._pool_scores is None
        ):  # packed lists were sorted
            return ranking, None
        parts = {"_pool": ranking._pool, "_pool_scores": ranking._pool_scores}
        parts = jax.tree.map(lambda _: None, parts)
        return dataclasses.replace(ranking, **parts), ranking._pool_scores.seeds

    return read_lists(lists, depth, without)


def rank(
    labels: _types.Labels,
    scores: _types.Scores,
    mask: _types.Mask | None = None,
    weights: _types.Weights | None = None,
    key: _types.Key | None = None,
    *,
    k: _types.Cutoffs = None,
    ties: _types.Ties | None = None,
    list_weights: _types.ListWeights | None = None,
    segment_ids: _types.SegmentIds | None = None,
    num_segments: int | None = None,
    items_axis: _types.AxisNames | None = None,
    retrieved: _types.Mask | None = None,
    columns: _types.Columns | None = None,
    relax: sigmoid_ranks | None = None,
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
        ties: What tied scores mean.

            - None: random with a key. Without one, "expected" for metrics with a closed
              form, which most have; for others, such as expected_reciprocal_rank, a
              fixed pseudo-random order, a hash of the item's position in its list,
              blind to labels. A few, such as tau, say themselves what ties mean,
              under every policy. docs/metrics.md tells which is which.
            - "expected": the mean over all orders of tied items.
            - "random": in the order of `key`, uniform, and independent across lists.
            - "stable": in index order.
            - "best", "worst": tied items by label, then by weight, descending or
              ascending. Without item weights these bound every metric that has a
              closed form, from above and below where more is better.
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
        relax: For training: `sigmoid_ranks(temperature)` gives every item one real rank,
            smooth in the scores, so that metrics have gradients with respect to them,
            by reverse and forward mode. ndcg is then ApproxNDCG, average_precision its
            like, reciprocal_rank ApproxMRR; what divides them stays exact. Metrics that
            need an order, or the first stop as hit_rate does, raise.
            All pairs of a list are compared, in blocks and again for the gradient: time
            is O(lists × items²), memory O(lists × items × 64). So k does not cut the
            ranking. In a metric it keeps items whose nearest whole rank is at most k
            (rank ≤ k + 1/2), an edge without a gradient of its own: k=None trains
            better, and what only counts items (precision, recall, cg) has the gradient
            0. Infinite scores count as the largest and the least float, NaN as the
            least; these have the gradient 0. `key` is ignored. Lists may be sharded,
            and must be whole rows.

    Returns:
        A `Ranking`, a pytree for `metric.of` and `measure`. Its `items` are the indices
        of the items at each rank; under `relax` it has none.

    Raises:
        ValueError: if shapes differ, k is not at least 1, `ties` is unknown, or random
            without a key; if a segment id is known, and not below `num_segments`; or if
            items of one list are sharded over devices and k is None; or if `ties`,
            `segment_ids`, `items_axis` or lists of sharded items meet `relax`.
        TypeError: if an argument is not an array of numbers, the mask is not bool, or
            the key is not a key, or `relax` is none.

    >>> import jax.numpy as jnp
    >>> ranking = rank(jnp.array([0, 2, 1]), jnp.array([0.3, 0.2, 0.9]), k=2)
    >>> ranking.items.tolist()
    [2, 0]

    References:
        McSherry and Najork, Computing information retrieval performance measures
        efficiently in the presence of tied scores, ECIR 2008.
    """
    depth = Depth(_inputs.deepest(_inputs.cutoffs(k)))
    lists = checked(
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
        relax=relax,
    )
    ranking, seed = _ranked(lists, depth)
    if ranking._pool is None or ranking._pool_scores is None:
        return ranking
    given = _shards.reshard_like(lists.given, lists.scores)
    return dataclasses.replace(
        ranking,
        _pool=dataclasses.replace(ranking._pool, items=given),
        _pool_scores=dataclasses.replace(
            ranking._pool_scores, scores=lists.scores, seeds=seed
        ),
    )
