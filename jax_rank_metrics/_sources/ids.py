"""`jrm.rank_ids`: the ids that a system returned, and those of relevant items."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs, _types
from jax_rank_metrics._items import GivenItems, ItemArrays
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.retrieved import whole


class Relevant(NamedTuple):
    """Relevant items that are known by id, checked."""

    ids: jax.Array  # [*lists, relevant]
    labels: jax.Array | None
    columns: dict[str, jax.Array]

    def read(self, *others: Any) -> ItemArrays:
        """The items, in the dtype of values that the dtypes of all arrays ask for."""
        dtype = _inputs.float_dtype(self.labels, *others).name
        labels = jnp.ones_like(self.ids) if self.labels is None else self.labels
        given = GivenItems(labels, dtype, self.ids >= 0, columns=self.columns)
        return given.read()

    def among(self, ids: jax.Array, items: ItemArrays) -> tuple[ItemArrays, jax.Array]:
        """Items `[*lists, ids]` known by id: label 0 where not relevant, or repeated.

        Also says which are found among the relevant ones, which are `items` as read. An
        id below 0 is none.
        """
        relevant_ids, number = self.ids, self.ids.shape[-1]
        if ids.dtype != relevant_ids.dtype:
            ids, relevant_ids = ids.astype(jnp.int64), relevant_ids.astype(jnp.int64)
        same = ids[..., :, None] == relevant_ids[..., None, :]
        same = same & items.exists[..., None, :] & (ids >= 0)[..., :, None]
        place = jax.lax.broadcasted_iota(jnp.int32, same.shape, same.ndim - 2)
        first = jnp.where(same, place, ids.shape[-1]).min(
            axis=-2, keepdims=True, initial=ids.shape[-1]
        )
        counted = same & (place == first)
        which = jnp.where(counted, _arithmetic.iota(same), number)
        which = jnp.min(which, axis=-1, initial=number)
        return items.padded(1).at(which), which < number


def rank_ids(
    retrieved_ids: _types.RetrievedIds,
    relevant_ids: _types.RelevantIds,
    relevant_labels: _types.RelevantIds | None = None,
    *,
    list_weights: _types.PerListInput | None = None,
    columns: _types.Columns | None = None,
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
    relevant = Relevant(
        *_inputs.relevant_items(
            relevant_ids, relevant_labels, columns, "retrieved_ids", retrieved_ids
        )
    )
    lists = retrieved_ids.shape[:-1]
    list_weights = _inputs.per_list("list_weights", list_weights, lists)
    return _rank_ids(retrieved_ids, relevant, list_weights)


@jax.jit
def _rank_ids(
    retrieved_ids: jax.Array, relevant: Relevant, list_weights: jax.Array | None
) -> Ranking:
    items = relevant.read(list_weights)
    found, hit = relevant.among(retrieved_ids, items)
    exists = retrieved_ids >= 0
    unlisted = jnp.concatenate([items.exists, exists & ~hit], axis=-1)
    pool = items.padded(exists.shape[-1])._replace(exists=unlisted)
    ids = jnp.where(exists, retrieved_ids, -1).astype(jnp.int32)
    return whole(found._replace(exists=exists), pool, None, list_weights, ids)
