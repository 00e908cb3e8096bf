"""Rankings that a system returned already, from labels or from ids."""

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._rows import Rows
from jax_rank_metrics._sources import read_weights
from jax_rank_metrics._types import (
    Labels,
    Mask,
    PerListInput,
    Pool,
    RelevantIds,
    RetrievedIds,
    Weights,
)


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
    shape = labels.shape[:-1]
    list_weights = _inputs.per_list("list_weights", list_weights, shape)
    num_relevant = _inputs.per_list("num_relevant", num_relevant, shape)
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
        _inputs.same_lists("pool_labels", pool_labels, "labels", labels)
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
    weights, list_weights, dtype = read_weights(
        labels, weights, list_weights, labels.shape[:-1], pool_labels, pool_weights
    )
    ranked = _inputs.resolve(labels, mask, weights, dtype)
    pool, judged = None, None
    if pool_labels is not None:
        pool = _inputs.resolve(pool_labels, pool_mask, pool_weights, dtype)
    elif num_relevant is not None:
        num_relevant = jnp.maximum(num_relevant.astype(jnp.int32), 0)
        judged = Rows().sum(ranked.exists) + num_relevant
    else:
        pool = ranked
    return _whole(ranked, pool, num_relevant, judged, list_weights)


def _whole(
    ranked: _inputs.ItemArrays,
    pool: _inputs.ItemArrays | None,
    num_relevant: jax.Array | None,
    judged: jax.Array | None,
    list_weights: jax.Array | None,
) -> Ranking:
    """A ranking of all that was retrieved; `judged` items a list, None to count them."""
    ranks = Rows().running_sum(ranked.exists.astype(jnp.int32))
    if judged is None:
        assert pool is not None
        judged = Rows().sum(pool.exists)
    return Ranking(
        ranked=Items(ranked, Rows(ranks)),
        pool=None if pool is None else Items(pool, Rows()),
        groups=None,
        length=Rows().sum(ranked.exists),
        known_relevant=num_relevant,
        counts=judged > 0,
        list_weights=list_weights,
        cut=None,
        in_order=True,
    )


def rank_ids(
    retrieved_ids: RetrievedIds,
    relevant_ids: RelevantIds,
    relevant_labels: RelevantIds | None = None,
    *,
    list_weights: PerListInput | None = None,
) -> Ranking:
    """Takes the ids that a system returned in rank order, and those of relevant items.

    Args:
        retrieved_ids: `[*lists, retrieved]` integers. An id below 0 is padding and
            leaves the ranking, so that later ones move up. A repeated id counts at its
            first place; later it is not relevant, and keeps its rank.
        relevant_ids: `[*lists, relevant]` integers, distinct within a list; below 0 is
            padding.
        relevant_labels: The same shape, the labels of the relevant ids; None is 1 for
            all. What is retrieved and not among the relevant ids has the label 0.
        list_weights: `[*lists]`, or None.

    Returns:
        A `Ranking`, whole and of a definite order, as from `rank_retrieved`. Its pool is
        every relevant and every retrieved item.

    Raises:
        ValueError: if leading axes or shapes differ, or if ids do not fit the integers
            of JAX.
        TypeError: if ids are not integers.

    >>> from jax_rank_metrics import recall
    >>> found = rank_ids(jnp.array([7, 3, 9, 5, 8]), jnp.array([7, 9, 8, 4]))
    >>> [f"{value:.2f}" for value in recall.of(found, k=(3, 4, 5)).values]
    ['0.50', '0.50', '0.75']
    """
    retrieved_ids = _inputs.ids("retrieved_ids", retrieved_ids)
    relevant_ids = _inputs.ids("relevant_ids", relevant_ids)
    lists = retrieved_ids.shape[:-1]
    _inputs.same_lists("relevant_ids", relevant_ids, "retrieved_ids", retrieved_ids)
    if relevant_labels is not None:
        relevant_labels = _inputs.real("relevant_labels", relevant_labels)
        _inputs.same_shape(
            "relevant_labels", relevant_labels, "relevant_ids", relevant_ids.shape
        )
    list_weights = _inputs.per_list("list_weights", list_weights, lists)
    return _rank_ids(retrieved_ids, relevant_ids, relevant_labels, list_weights)


@jax.jit
def _rank_ids(
    retrieved_ids: jax.Array,
    relevant_ids: jax.Array,
    relevant_labels: jax.Array | None,
    list_weights: jax.Array | None,
) -> Ranking:
    if relevant_labels is None:
        relevant_labels = jnp.ones_like(relevant_ids)
    _, list_weights, dtype = read_weights(
        relevant_labels, None, list_weights, relevant_ids.shape[:-1]
    )
    relevant = _inputs.resolve(relevant_labels, relevant_ids >= 0, None, dtype)
    labels, hit = labels_of(retrieved_ids, relevant_ids, relevant)
    exists = retrieved_ids >= 0
    ranked = _inputs.ItemArrays(labels, exists, None)
    pool = _inputs.ItemArrays(
        jnp.concatenate([relevant.labels, jnp.zeros_like(labels)], axis=-1),
        jnp.concatenate([relevant.exists, exists & ~hit], axis=-1),
        None,
    )
    return _whole(ranked, pool, None, None, list_weights)


def labels_of(
    ids: jax.Array, relevant_ids: jax.Array, relevant: _inputs.ItemArrays
) -> tuple[jax.Array, jax.Array]:
    """Labels `[*lists, ids]` of items known by id, 0 where not relevant or repeated.

    Also says which are found among the relevant ones. An id below 0 is none.
    """
    if ids.dtype != relevant_ids.dtype:
        ids, relevant_ids = ids.astype(jnp.int64), relevant_ids.astype(jnp.int64)
    same = ids[..., :, None] == relevant_ids[..., None, :]
    same = same & relevant.exists[..., None, :] & (ids >= 0)[..., :, None]
    place = jax.lax.broadcasted_iota(jnp.int32, same.shape, same.ndim - 2)
    first = jnp.min(
        jnp.where(same, place, ids.shape[-1]),
        axis=-2,
        keepdims=True,
        initial=ids.shape[-1],
    )
    counted = same & (place == first)
    labels = jnp.where(counted, relevant.labels[..., None, :], 0)
    return jnp.max(labels, axis=-1, initial=0), jnp.any(counted, axis=-1)
