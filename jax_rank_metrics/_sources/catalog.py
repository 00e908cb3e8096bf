"""`jrm.rank_catalog` and `jrm.rank_scores`: many items, few of them relevant."""

import functools
from collections.abc import Callable

import jax
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _types
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.blocks import Catalog
from jax_rank_metrics._sources.checked_catalog import checked_embeddings, checked_scores
from jax_rank_metrics._sources.streams import Stream


def rank_catalog(
    queries: Shaped[ArrayLike, "..."],
    items: Shaped[ArrayLike, "items ..."],
    relevant_ids: _types.RelevantIds,
    *,
    k: _types.Cutoffs,
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
) -> Ranking:
    """Ranks a whole catalogue for every query, by the product of their embeddings.

    Items are scored a block at a time, and only the first ranks are kept: memory is that
    of `queries × (block_size + k)`, and never of queries × items.

    The pool of a list is every item that is neither masked nor excluded. Items that are
    not among the relevant ids have the label 0.

    A query that is padding needs `list_weights` 0. Otherwise its list counts as one for
    which nothing relevant was found.

    Args:
        queries: `[*lists, dims]`, an embedding per list, of any real dtype.
        items: `[items, dims]`, an embedding per item; its row is its id.
        relevant_ids: `[*lists, relevant]` integers, distinct within a list. Ids that are
            not in the catalogue, masked or excluded are not in the pool; ids below 0 are
            padding.
        k: As for `rank`. None ranks every relevant item exactly, in two passes that
            count the items scoring above it: for any cutoff, and for metrics without
            one. The gain of the label 0 must then be 0.
        relevant_labels: The same shape as `relevant_ids`, or None for 1.
        exclude_ids: `[*lists, excluded]` integers, items that leave the list, such as
            those a user has already seen; ids below 0 are padding.
        item_mask: `[items]` bool, items that exist, for every list.
        list_weights: `[*lists]`, or None for 1; 0 for queries that are padding.
        score_fn: `score_fn(queries, items)` returns the scores `[*lists, block]` of a
            block of items, for models whose scores are not products. `queries`
            `[*lists, …]` and `items` `[items, …]` may then have any trailing axes.
            Static under `jax.jit`: pass a named function rather than a fresh lambda.
        block_size: How many items to score at a time.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are
            cut into equal parts: `items` and `item_mask` are the part of the device, and
            ids count through all parts.
        key: As for `rank`.
        ties: As for `rank`.
        columns: By name, arrays `[*lists, relevant, …]`; see `rank_ids`.

    Returns:
        A `Ranking`. Its `items` are the ids found, in rank order; with k=None places
        were counted, and it has no order.

    Raises:
        ValueError: if shapes differ, if an option does not have the value passed, or if
            an array is sharded by its type outside `jax.shard_map`.
        TypeError: if ids are not integers, or the mask is not bool.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import recall
    >>> queries, items = jnp.eye(2), jnp.array([[1.0, 0], [0, 2], [3, 0], [0, 4]])
    >>> ranking = rank_catalog(queries, items, jnp.array([[0], [3]]), k=2)
    >>> ranking.items.tolist()
    [[2, 0], [3, 1]]
    >>> recall.of(ranking, k=(1, 2)).values.tolist()
    [[0.0, 1.0], [1.0, 1.0]]
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
    )
    return rank_blocks(catalog)


def rank_scores(
    scores: _types.Scores,
    relevant_ids: _types.RelevantIds,
    relevant_labels: _types.RelevantIds | None = None,
    *,
    item_mask: _types.ListsItemMask | None = None,
    exclude_ids: _types.ExcludedIds | None = None,
    k: _types.Cutoffs = None,
    list_weights: _types.PerListInput | None = None,
    items_axis: _types.AxisNames | None = None,
    ties: _types.Ties | None = None,
    key: _types.Key | None = None,
    columns: _types.Columns | None = None,
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

    Returns:
        A `Ranking`. With k=None it has no order, and so no `items`.

    Raises:
        ValueError: if shapes differ, if an option does not have the value passed, or if
            an array is sharded by its type outside `jax.shard_map`.
        TypeError: if ids are not integers, or the mask is not bool.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import reciprocal_rank
    >>> scores = jnp.array([[0.9, 0.2, 0.1], [0.8, 0.3, 0.5]])
    >>> ranking = rank_scores(scores, jnp.arange(2)[:, None])
    >>> [f"{value:.2f}" for value in reciprocal_rank.of(ranking).values]
    ['1.00', '0.33']
    """
    catalog = checked_scores(
        scores,
        relevant_ids,
        relevant_labels,
        item_mask=item_mask,
        exclude_ids=exclude_ids,
        k=k,
        list_weights=list_weights,
        items_axis=items_axis,
        ties=ties,
        key=key,
        columns=columns,
    )
    return rank_blocks(catalog)


@jax.jit
def rank_blocks(catalog: Catalog) -> Ranking:
    """Ranks by a top-k, or by counted places where the catalogue has no depth."""
    stream, total = Stream.of(catalog), catalog.total_items
    outcome = stream.over_devices(stream.extended(stream.start(total)))
    if outcome.first is not None:
        return stream.first_ranks(outcome, total)
    counts = stream.counted(stream.no_counts(), outcome.seen)
    return stream.places(counts, outcome.seen, total)


@functools.partial(jax.jit, static_argnames="ties_of_places")
def rank_both(
    catalog: Catalog, ties_of_places: _types.Ties | None
) -> tuple[Ranking, Ranking]:
    """Ranks by a top-k and by counted places, in two passes over the items.

    The pass that finds the first ranks also finds the scores of the relevant items, of
    which the other one counts the places.

    Args:
        catalog: A catalogue with a depth.
        ties_of_places: The tie policy of the second ranking.

    Returns:
        What `rank_catalog` returns with the depth of the catalogue, and with k=None.
    """
    stream, total = Stream.of(catalog), catalog.total_items
    outcome = stream.over_devices(stream.extended(stream.start(total)))
    counting = stream.under(ties_of_places)
    counts = counting.counted(counting.no_counts(), outcome.seen)
    places = counting.places(counts, outcome.seen, total)
    return stream.first_ranks(outcome, total), places
