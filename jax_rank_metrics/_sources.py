"""The ways to make a `Ranking`."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _inputs, _ordering
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._rows import Rows
from jax_rank_metrics._tie_groups import TieGroups
from jax_rank_metrics._types import (
    Cutoffs,
    Key,
    Labels,
    Mask,
    PerListInput,
    Pool,
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


def scored_lists(
    labels: Any,
    scores: Any,
    mask: Any,
    weights: Any,
    key: Any,
    ties: Any,
    list_weights: Any,
) -> tuple[ScoredLists, str | None]:
    """Checks the arguments of `rank`; returns their arrays and the tie policy."""
    labels, mask = _inputs.item_arrays("labels", labels, mask)
    scores = _inputs.real("scores", scores)
    _inputs.same_shape("scores", scores, "labels", labels.shape)
    weights = _inputs.weights_for(labels, weights)
    list_weights = _inputs.per_list("list_weights", list_weights, labels)
    ties, key = _inputs.tie_policy(ties, key)
    return ScoredLists(labels, scores, mask, weights, key, list_weights), ties


def rank_lists(
    lists: ScoredLists, ties: str | None, depth: int | None, in_groups: bool = False
) -> Ranking:
    """`rank` without its checks and its own compilation.

    `in_groups` promises that only metrics with a closed form will read the ranking, so
    that the order of tied items is of no interest.
    """
    weights, list_weights, dtype = _read_weights(
        lists.labels, lists.weights, lists.list_weights, lists.scores
    )
    pool = _inputs.resolve(lists.labels, lists.mask, weights, dtype)
    items = pool.labels.shape[-1]
    cut = None if depth is None or depth >= items else depth
    policy = "expected" if in_groups and ties is None else ties
    ordered, keys = _ordering.order(lists.scores, pool, policy, lists.key, cut or items)
    groups = None
    if ties in (None, "expected"):
        groups = TieGroups.of(ordered.keys, ordered.items.exists, keys, pool.exists)
    length = jnp.sum(pool.exists, axis=-1, dtype=jnp.int32)
    return Ranking(
        ranked=Items(*ordered.items, Rows()),
        pool=Items(*pool, Rows()),
        groups=groups,
        length=length,
        known_relevant=None,
        counts=length > 0,
        list_weights=list_weights,
        cut=cut,
        ties=ties,
    )


def _read_weights(
    labels: jax.Array,
    weights: jax.Array | None,
    list_weights: jax.Array | None,
    *others: jax.Array | None,
) -> tuple[jax.Array | None, jax.Array | None, jnp.dtype]:
    """Item weights, list weights and the float dtype of the computation."""
    dtype = _inputs.float_dtype(labels, weights, list_weights, *others)
    per_item = weights is not None and weights.ndim == labels.ndim
    if list_weights is None and not per_item:
        list_weights = weights
    if list_weights is not None:
        list_weights = lax.stop_gradient(list_weights).astype(dtype)
        list_weights = jnp.broadcast_to(list_weights, labels.shape[:-1])
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
    list_weights: PerListInput | None = None,
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

    Returns:
        A `Ranking`, a pytree for `metric.of` and `measure`.

    Raises:
        ValueError: if shapes differ, k is not at least 1, `ties` is unknown, or random
            without a key; or if items of one list are sharded over devices.
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
    lists, policy = scored_lists(labels, scores, mask, weights, key, ties, list_weights)
    return _rank(lists, policy, depth)


def rank_retrieved(
    labels: Labels,
    mask: Mask | None = None,
    weights: Weights | None = None,
    *,
    pool_labels: Pool | None = None,
    pool_mask: Pool | None = None,
    pool_weights: Pool | None = None,
    num_relevant: PerListInput | None = None,
    list_weights: PerListInput | None = None,
) -> Ranking:
    """Takes lists that a system returned already in rank order; nothing is sorted.

    What was not retrieved still counts: the pool is every judged item, those retrieved
    among them. A list with a pool but nothing retrieved counts, with the value 0.
    The ranking is whole, and its order definite: there are no ties.

    Args:
        labels: `[*lists, retrieved]`, relevance in rank order. Padding (masked, or a
            label that is negative or NaN) leaves the ranking and later items move up.
        mask: `[*lists, retrieved]` bool, or None.
        weights: As for `rank`; item weights need `pool_weights` where a pool is given.
        pool_labels: `[*lists, pool]`, the labels of every judged item in any order; None
            if what was retrieved is all there is.
        pool_mask: `[*lists, pool]` bool, or None.
        pool_weights: `[*lists, pool]`, or None.
        num_relevant: `[*lists]` integers, how many relevant items there are, where only
            their number is known. Then ndcg, which needs their labels, raises.
        list_weights: As for `rank`.

    Returns:
        A `Ranking`.

    Raises:
        ValueError: if shapes differ, if both `pool_labels` and `num_relevant` are given,
            or if item weights come without the weights of the pool.
        TypeError: if an argument is not an array of numbers or a mask is not bool.

    >>> from jax_rank_metrics import recall
    >>> found = rank_retrieved(jnp.array([1, 0, 1, 0, 1]), num_relevant=4)
    >>> [f"{value:.2f}" for value in recall.of(found, k=(3, 4, 5)).values]
    ['0.50', '0.50', '0.75']
    """
    labels, mask = _inputs.item_arrays("labels", labels, mask)
    weights = _inputs.weights_for(labels, weights)
    list_weights = _inputs.per_list("list_weights", list_weights, labels)
    num_relevant = _inputs.per_list("num_relevant", num_relevant, labels)
    per_item = weights is not None and weights.ndim == labels.ndim
    if pool_labels is None:
        for name, value in (("pool_mask", pool_mask), ("pool_weights", pool_weights)):
            if value is not None:
                raise ValueError(f"{name} is given but pool_labels is None; pass both")
    else:
        if num_relevant is not None:
            raise ValueError("pool_labels and num_relevant are both given; pass one")
        pool_labels, pool_mask = _inputs.item_arrays(
            "pool_labels", pool_labels, pool_mask
        )
        if pool_labels.shape[:-1] != labels.shape[:-1]:
            raise ValueError(
                f"pool_labels has shape {pool_labels.shape}, but labels has shape "
                f"{labels.shape}; pass arrays that agree but for the last axis"
            )
        if pool_weights is not None:
            pool_weights = _inputs.real("pool_weights", pool_weights)
            _inputs.same_shape(
                "pool_weights", pool_weights, "pool_labels", pool_labels.shape
            )
        if per_item != (pool_weights is not None):
            raise ValueError(
                f"weights {'weighs' if per_item else 'does not weigh'} items, but "
                f"pool_weights is {'None' if per_item else 'given'}; pass both per item "
                "or neither"
            )
    if per_item and num_relevant is not None:
        raise ValueError(
            "weights weighs items, but num_relevant tells nothing of the weights in the "
            "pool; pass pool_labels and pool_weights"
        )
    return _rank_retrieved(
        labels,
        mask,
        weights,
        pool_labels,
        pool_mask,
        pool_weights,
        num_relevant,
        list_weights,
    )


@jax.jit
def _rank_retrieved(
    labels: jax.Array,
    mask: jax.Array | None,
    weights: jax.Array | None,
    pool_labels: jax.Array | None,
    pool_mask: jax.Array | None,
    pool_weights: jax.Array | None,
    num_relevant: jax.Array | None,
    list_weights: jax.Array | None,
) -> Ranking:
    weights, list_weights, dtype = _read_weights(
        labels, weights, list_weights, pool_labels, pool_weights
    )
    ranked = _inputs.resolve(labels, mask, weights, dtype)
    ranks = jnp.cumsum(ranked.exists, axis=-1, dtype=jnp.int32)
    length = jnp.sum(ranked.exists, axis=-1, dtype=jnp.int32)
    pool, judged = Items(*ranked, Rows()), length
    if pool_labels is not None:
        pool = Items(
            *_inputs.resolve(pool_labels, pool_mask, pool_weights, dtype), Rows()
        )
        judged = pool.axis.sum(pool.exists)
    elif num_relevant is not None:
        pool = None
        num_relevant = jnp.maximum(num_relevant.astype(jnp.int32), 0)
        judged = length + num_relevant
    return Ranking(
        ranked=Items(*ranked, Rows(ranks)),
        pool=pool,
        groups=None,
        length=length,
        known_relevant=num_relevant,
        counts=judged > 0,
        list_weights=list_weights,
        cut=None,
        ties="stable",
    )
