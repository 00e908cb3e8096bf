"""`jrm.rank_catalog` and `jrm.rank_scores`: many items, few of them relevant."""

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _types
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._sources.blocks import Catalog
from jax_rank_metrics._sources.checked_catalog import checked_embeddings, checked_scores
from jax_rank_metrics._sources.labelled import rank_labelled, rank_labelled_twice
from jax_rank_metrics._sources.labels import LabelFn
from jax_rank_metrics._sources.sharded_catalog import map_catalog_shards
from jax_rank_metrics._sources.streams import Stream, rank_listed


def rank_catalog(
    queries: Shaped[ArrayLike, "..."],
    items: Shaped[ArrayLike, "items ..."],
    relevant_ids: _types.RelevantIds | None = None,
    *,
    k: _types.RankCutoffs,
    relevant_labels: _types.RelevantIds | None = None,
    exclude_ids: _types.ExcludedIds | None = None,
    item_mask: _types.ItemMask | None = None,
    list_weights: _types.PerListInput | None = None,
    score_fn: Callable[[jax.Array, jax.Array], jax.Array] | None = None,
    block_size: int = 4096,
    items_axis: _types.AxisNames | None = None,
    key: _types.Key | None = None,
    ties: _types.Ties | None = None,
    columns: _types.Columns | None = None,
    item_groups: _types.ItemGroups | None = None,
    label_fn: LabelFn | None = None,
    query_attributes: Any = None,
    item_attributes: Any = None,
) -> Ranking:
    """Ranks a whole catalogue for every query, by the product of their embeddings.

    Items are scored a block at a time, and only the first ranks are kept: memory is that
    of `queries × (block_size + k)`, and never of queries × items.

    The pool of a list is every item that is neither masked nor excluded. Items that are
    not among the relevant ids have the label 0.

    Relevance is known by ids, or by attributes: labels may be a function of what is known
    of a query and of an item, such as the person on a picture. These labels are computed
    for a block of items as well, so that no matrix of queries and items exists.

    A query that is padding needs `list_weights` 0. Otherwise its list counts as one for
    which nothing relevant was found.

    Args:
        queries: `[*lists, dims]`, an embedding per list, of any real dtype.
        items: `[items, dims]`, an embedding per item; its row is its id.
        relevant_ids: `[*lists, relevant]` integers, distinct within a list; inside
            `jax.jit`, a repeated id counts where it occurs first. Ids that are not in the
            catalogue, masked or excluded are not in the pool; ids below 0 are padding. Or
            pass `label_fn`.
        k: As for `rank`. None ranks every relevant item exactly, in two passes that
            count the items scoring above it: for any cutoff, and for metrics without
            one. The gain of the label 0 must then be 0. With `label_fn` and items in
            several blocks or on several devices, only metrics of the first relevant item
            work at every cutoff and without one, such as `hit_rate` and
            `reciprocal_rank`: they count, in two further passes, and other metrics raise
            beyond k.
        relevant_labels: The same shape as `relevant_ids`, or None for 1.
        exclude_ids: `[*lists, excluded]` integers, items that leave the list, such as
            those a user has already seen; ids below 0 are padding.
        item_mask: `[items]` bool, items that exist, for every list.
        list_weights: `[*lists]`, or None for 1; 0 for queries that are padding.
        score_fn: `score_fn(queries, items)` returns the scores `[*lists, block]` of a
            block of items, for models whose scores are not products. `queries`
            `[*lists, …]` and `items` `[items, …]` may then have any trailing axes.
            Static under `jax.jit`: pass a named function rather than a fresh lambda. If
            types of arrays are sharded, it may hold NumPy arrays, but none on the mesh.
        block_size: How many items to score at a time.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are
            cut into equal parts: `items`, `item_mask` and `item_attributes` are the part
            of the device, and ids count through all parts.
        key: As for `rank`.
        ties: As for `rank`.
        columns: By name, arrays `[*lists, relevant, …]`; see `rank_ids`.
        item_groups: `[num_items, groups]` numbers or bools, how much each item of the
            whole catalogue belongs to each group, perhaps by fractions; the same on every
            device. They are the column `groups` of every item. With k=None metrics may
            read those of relevant items alone. Not with `label_fn`.
        label_fn: `label_fn(query_attributes, item_attributes)` returns the labels
            `[queries, block]` of a block of items, bools, integers or floats; or a pair
            of these and a bool array of the same shape, true for items that leave the
            list: they have no rank and are not in the pool. So do items whose label is
            negative or NaN. Attributes reach it with one axis of queries, whatever axes
            lists have, or of items: compare `query[:, None] == item[None]`. Static under
            `jax.jit`, as `score_fn` is.
            Items in several blocks may have 64 different labels for each list; a list
            with more of them raises, and inside `jax.jit` does not count.
        query_attributes: A pytree of arrays `[*lists, …]`, such as a dict.
        item_attributes: A pytree of arrays `[items, …]`.

    Returns:
        A `Ranking`. Its `items` are the ids found, in rank order; with k=None places
        were counted, and it has no order (but has one if `label_fn` is passed and the
        items are in one block).

    Raises:
        ValueError: if shapes differ, if an option does not have the value passed, if
            both or neither of `relevant_ids` and `label_fn` are passed, if a list repeats
            a relevant id, if attributes are numbers that JAX would round to equal ones,
            or if `label_fn` labels items in several blocks and an array is sharded by its
            type.
        TypeError: if ids are not integers, or the mask is not bool.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import recall
    >>> queries, items = jnp.eye(2), jnp.array([[1.0, 0], [0, 2], [3, 0], [0, 4]])
    >>> ranking = rank_catalog(queries, items, jnp.array([[0], [3]]), k=2)
    >>> ranking.items.tolist()
    [[2, 0], [3, 1]]
    >>> recall.of(ranking, k=(1, 2)).values.tolist()
    [[0.0, 1.0], [1.0, 1.0]]

    Pictures of the same person are relevant; those of the same camera as well leave the
    list:

    >>> def same_person(query, item):
    ...     same = {x: query[x][:, None] == item[x][None] for x in query}
    ...     return same["person"], same["person"] & same["camera"]
    >>> ranking = rank_catalog(
    ...     queries,
    ...     items,
    ...     k=2,
    ...     label_fn=same_person,
    ...     query_attributes={"person": [7, 8], "camera": [1, 1]},
    ...     item_attributes={"person": [7, 8, 7, 8], "camera": [2, 2, 1, 1]},
    ... )
    >>> ranking.items[:, 0].tolist()
    [0, 1]
    >>> recall.of(ranking, k=1).values.tolist()
    [1.0, 1.0]
    """
    catalog = checked_embeddings(
        queries,
        items,
        relevant_ids,
        k=k,
        relevant_labels=relevant_labels,
        exclude_ids=exclude_ids,
        item_mask=item_mask,
        list_weights=list_weights,
        score_fn=score_fn,
        block_size=block_size,
        items_axis=items_axis,
        key=key,
        ties=ties,
        columns=columns,
        item_groups=item_groups,
        label_fn=label_fn,
        query_attributes=query_attributes,
        item_attributes=item_attributes,
    )
    return Ranking(rank_blocks(catalog.with_distinct_ids()))


def rank_scores(
    scores: _types.Scores,
    relevant_ids: _types.RelevantIds | None = None,
    relevant_labels: _types.RelevantIds | None = None,
    *,
    item_mask: _types.ListsItemMask | None = None,
    exclude_ids: _types.ExcludedIds | None = None,
    k: _types.RankCutoffs = None,
    list_weights: _types.PerListInput | None = None,
    items_axis: _types.AxisNames | None = None,
    ties: _types.Ties | None = None,
    key: _types.Key | None = None,
    columns: _types.Columns | None = None,
    item_groups: _types.ItemGroups | None = None,
    label_fn: LabelFn | None = None,
    query_attributes: Any = None,
    item_attributes: Any = None,
) -> Ranking:
    """Ranks few relevant items of each list among all scores, without ordering all.

    With k=None the place of each relevant item is counted: how many items score higher,
    and how many the same. That reads the scores once for each, and is exact for every
    metric at every cutoff and without one. Where lists have room for more than forty
    relevant items, a CPU sorts the scores once instead, and looks the items up. With
    in-batch negatives, where query i should find item i, all it takes is
    `rank_scores(scores, jnp.arange(n)[:, None])`.

    Args:
        scores: `[*lists, items]`, as for `rank`; the index of an item is its id.
        relevant_ids: As for `rank_catalog`.
        relevant_labels: The same shape as `relevant_ids`, or None for 1.
        item_mask: `[items]` or `[*lists, items]` bool, items that exist.
        exclude_ids: `[*lists, excluded]` integers, items that leave the list.
        k: None to count; or how deep to rank by a top-k, which is quicker where many
            items are relevant and only the first ranks are read.
        list_weights: `[*lists]`, or None for 1; 0 for queries that are padding, whose
            lists otherwise count as ones for which nothing relevant was found.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are
            cut into equal parts; ids count through all parts.
        ties: As for `rank`.
        key: As for `rank`.
        columns: By name, arrays `[*lists, relevant, …]`; see `rank_ids`.
        item_groups: `[num_items, groups]`; see `rank_catalog`.
        label_fn: As for `rank_catalog`, in place of `relevant_ids`: labels are computed
            for all items at once and ranked as by `rank`. Only where `items_axis` cuts
            them, k=None leaves the metrics of the first relevant item.
        query_attributes: A pytree of arrays `[*lists, …]`, such as a dict.
        item_attributes: A pytree of arrays `[items, …]`.

    Returns:
        A `Ranking`. With k=None and `relevant_ids` it has no order, and so no `items`.

    Raises:
        ValueError: if shapes differ, if an option does not have the value passed, if
            both or neither of `relevant_ids` and `label_fn` are passed, if a list repeats
            a relevant id, or if attributes are numbers that JAX would round to equal ones.
        TypeError: if ids are not integers, or the mask is not bool.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import reciprocal_rank
    >>> scores = jnp.array([[0.9, 0.2, 0.1], [0.8, 0.3, 0.5]])
    >>> ranking = rank_scores(scores, jnp.arange(2)[:, None])
    >>> [f"{value:.2f}" for value in reciprocal_rank.of(ranking).values]
    ['1.00', '0.33']

    Or by attributes, here the class of each query and item:

    >>> def same_class(query, item):
    ...     return query[:, None] == item[None]
    >>> options = {"query_attributes": [5, 6], "item_attributes": [6, 5, 5]}
    >>> ranking = rank_scores(scores, label_fn=same_class, **options)
    >>> reciprocal_rank.of(ranking).values.tolist()
    [0.5, 1.0]
    """
    catalog = checked_scores(
        scores,
        relevant_ids,
        relevant_labels=relevant_labels,
        item_mask=item_mask,
        exclude_ids=exclude_ids,
        k=k,
        list_weights=list_weights,
        items_axis=items_axis,
        ties=ties,
        key=key,
        columns=columns,
        item_groups=item_groups,
        label_fn=label_fn,
        query_attributes=query_attributes,
        item_attributes=item_attributes,
    )
    return Ranking(rank_blocks(catalog.with_distinct_ids()))


def rank_blocks(catalog: Catalog) -> RankingData:
    """Ranks by a top-k, or by counted places where the catalogue has no depth."""
    return (_rank_blocks if catalog.labeller is None else rank_labelled)(catalog)


_rank_blocks = jax.jit(functools.partial(map_catalog_shards, rank_listed))


def rank_both(
    catalog: Catalog, ties_of_places: str | None
) -> tuple[RankingData, RankingData]:
    """Ranks by a top-k and by counted places, in two passes over the items.

    The pass that finds the first ranks also finds the scores of the relevant items, of
    which the other one counts the places.

    Args:
        catalog: A catalogue with a depth.
        ties_of_places: The tie policy of the second ranking.

    Returns:
        The data of `rank_catalog` with the depth of the catalogue, and with k=None.
    """
    rank = _rank_both if catalog.labeller is None else rank_labelled_twice
    return rank(catalog, ties_of_places)


@functools.partial(jax.jit, static_argnames="ties_of_places")
def _rank_both(
    catalog: Catalog, ties_of_places: str | None
) -> tuple[RankingData, RankingData]:
    stream, total = Stream.of(catalog), catalog.total_items
    outcome = stream.over_devices(stream.extended(stream.start(total)))
    counting = stream.under(ties_of_places)
    counts = counting.counted(counting.no_counts(), outcome.seen)
    places = counting.places(counts, outcome.seen, total)
    return stream.first_ranks(outcome, total), places
