"""`jrm.rank_ids`: the ids that a system returned, and those of relevant items."""

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._items import GivenItems, ItemArrays
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.lists import read_weights
from jax_rank_metrics._sources.retrieved import whole
from jax_rank_metrics._types import Columns, PerListInput, RelevantIds, RetrievedIds


def rank_ids(
    retrieved_ids: RetrievedIds,
    relevant_ids: RelevantIds,
    relevant_labels: RelevantIds | None = None,
    *,
    list_weights: PerListInput | None = None,
    columns: Columns | None = None,
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
        columns: By name, arrays `[*lists, relevant, …]`; see `rank`. All other items
            have 0 or False there. List judged non-relevant ids with the label 0.

    Returns:
        A `Ranking`, whole and of a definite order, as from `rank_retrieved`. Its pool is
        every relevant and every retrieved item, and its `items` are ids.

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
    relevant_ids, relevant_labels = _inputs.relevant_items(
        relevant_ids, relevant_labels, "retrieved_ids", retrieved_ids
    )
    lists = retrieved_ids.shape[:-1]
    list_weights = _inputs.per_list("list_weights", list_weights, lists)
    columns = _inputs.columns(columns, "relevant_ids", relevant_ids.shape)
    return _rank_ids(
        retrieved_ids, relevant_ids, relevant_labels, list_weights, columns
    )


@jax.jit
def _rank_ids(
    retrieved_ids: jax.Array,
    relevant_ids: jax.Array,
    relevant_labels: jax.Array | None,
    list_weights: jax.Array | None,
    columns: dict[str, jax.Array],
) -> Ranking:
    if relevant_labels is None:
        relevant_labels = jnp.ones_like(relevant_ids)
    _, list_weights, dtype = read_weights(
        relevant_labels, None, list_weights, relevant_ids.shape[:-1]
    )
    relevant = GivenItems(
        relevant_labels, relevant_ids >= 0, None, None, columns, dtype.name
    ).read()
    found, hit = of_ids(retrieved_ids, relevant_ids, relevant)
    exists = retrieved_ids >= 0
    unlisted = jax.tree.map(jnp.zeros_like, found)._replace(exists=exists & ~hit)
    pool = jax.tree.map(
        lambda x, y: jnp.concatenate([x, y], axis=exists.ndim - 1), relevant, unlisted
    )
    ids = jnp.where(exists, retrieved_ids, -1).astype(jnp.int32)
    return whole(found._replace(exists=exists), pool, None, None, list_weights, ids)


def of_ids(
    ids: jax.Array, relevant_ids: jax.Array, relevant: ItemArrays
) -> tuple[ItemArrays, jax.Array]:
    """Items `[*lists, ids]` known by id: label 0 where not relevant, or repeated.

    Also says which are found among the relevant ones. An id below 0 is none.
    """
    if ids.dtype != relevant_ids.dtype:
        ids, relevant_ids = ids.astype(jnp.int64), relevant_ids.astype(jnp.int64)
    same = ids[..., :, None] == relevant_ids[..., None, :]
    same = same & relevant.exists[..., None, :] & (ids >= 0)[..., :, None]
    place = jax.lax.broadcasted_iota(jnp.int32, same.shape, same.ndim - 2)
    none = ids.shape[-1]
    first = jnp.min(jnp.where(same, place, none), axis=-2, keepdims=True, initial=none)
    counted = same & (place == first)
    which = jnp.max(jnp.where(counted, _arithmetic.iota(same), -1), axis=-1, initial=-1)
    hit = which >= 0
    if not relevant_ids.shape[-1]:
        zeros = jnp.zeros(ids.shape, relevant.labels.dtype)
        columns = {
            name: jnp.zeros((*ids.shape, *x.shape[ids.ndim :]), x.dtype)
            for name, x in relevant.columns.items()
        }
        return ItemArrays(zeros, hit, None, columns), hit
    return relevant.at(jnp.maximum(which, 0)).only(hit), hit
