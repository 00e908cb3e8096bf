"""`jrm.rank_catalog` and `jrm.rank_scores`: many items, few of them relevant."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._ordering.candidates import ItemOrder
from jax_rank_metrics._ordering.policy import resolve
from jax_rank_metrics._ranking import Pool, Ranking
from jax_rank_metrics._sources.blocks import Catalog, products
from jax_rank_metrics._sources.lists import Relevant, clean_weights
from jax_rank_metrics._sources.streams import Stream, with_others


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

    A query that is padding needs `list_weights` 0: without, its list counts as one in
    which nothing was found.

    Items are scored a block at a time, and only the best and what is needed of the rest
    is kept: the memory is that of `queries × (block_size + k)`, never of queries × items.

    The pool of a list is every item that is neither masked nor excluded. Those not among
    the relevant ids have the label 0.

    Args:
        queries: `[*lists, dims]`, an embedding per list, of any real dtype.
        items: `[items, dims]`, an embedding per item; its row is its id.
        relevant_ids: `[*lists, relevant]` integers, distinct within a list. Ids that are
            not in the catalogue, masked or excluded are not in the pool; below 0 is
            padding.
        k: As for `rank`. None ranks every relevant item exactly, in two passes that
            count what scores above it: for any cutoff and for metrics without one. The
            gain of the label 0 must then be 0.
        relevant_labels: The same shape, or None for 1.
        exclude_ids: `[*lists, excluded]` integers, items that leave the list, such as
            those a user has already seen; below 0 is padding.
        item_mask: `[items]` bool, items that exist, for every list.
        list_weights: `[*lists]`, or None for 1. 0 for queries that are padding.
        score_fn: `score_fn(queries, items)` gives the scores `[*lists, block]` of a
            block of items, for models that are no product; then `queries`
            `[*lists, …]` and `items` `[items, …]` may have any axes at the end. Static
            under `jax.jit`: pass a named function, not a fresh lambda.
        block_size: How many items to score at a time.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are
            cut, in equal parts: `items` and `item_mask` are the device's part, ids count
            through all parts.
        key: As for `rank`.
        ties: As for `rank`.
        columns: By name, arrays `[*lists, relevant, …]`; see `rank_ids`.

    Returns:
        A `Ranking`. Its `items` are the ids found, in rank order; with k=None places
        were counted, and there is no order.

    Raises:
        ValueError: if shapes differ, an option has no such value, or embeddings are
            sharded by their type outside `jax.shard_map`.
        TypeError: if ids are not integers, or the mask is not bool.

    >>> from jax_rank_metrics import recall
    >>> queries, items = jnp.eye(2), jnp.array([[1.0, 0], [0, 2], [3, 0], [0, 4]])
    >>> ranking = rank_catalog(queries, items, jnp.array([[0], [3]]), k=2)
    >>> ranking.items.tolist()
    [[2, 0], [3, 1]]
    >>> recall.of(ranking, k=(1, 2)).values.tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    queries = _inputs.real("queries", queries)
    items = _inputs.real("items", items)
    if score_fn is None and (
        items.ndim != 2 or queries.ndim < 1 or queries.shape[-1] != items.shape[-1]
    ):
        raise ValueError(
            f"queries has shape {queries.shape} and items has shape {items.shape}; pass "
            "embeddings [*lists, dims] and [items, dims], or a score_fn"
        )
    if items.ndim == 0 or items.shape[0] == 0:
        raise ValueError(f"items has shape {items.shape}; pass at least one item")
    for name, value in (("queries", queries), ("items", items)):
        _inputs.unsharded(name, value, "with items_axis if items are cut")
    lists = queries if score_fn is None else None
    relevant = _inputs.relevant_items(
        relevant_ids, relevant_labels, columns, "queries", lists
    )
    block_size = _inputs.positive_integer("block_size", block_size)
    item_mask = _inputs.boolean("item_mask", item_mask, "items", items.shape[:1])
    catalog = Catalog(
        queries=queries,
        items=items,
        relevant=Relevant(*relevant),
        exclude_ids=exclude_ids,
        item_mask=item_mask,
        list_weights=list_weights,
        key=key,
        score_fn=products if score_fn is None else score_fn,
        block_size=block_size,
        depth=k,
        ties=ties,
        items_axis=items_axis,
    )
    if score_fn is not None:
        _check_score_fn(catalog)
    return _rank(catalog)


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
    """Ranks few relevant items of each list among all scores, without a sort.

    With k=None each relevant item's place is counted: how many items score higher, and
    how many the same. That reads the scores once for each, and is exact for every
    metric at every cutoff and without one. With in-batch negatives, where query i is to
    find item i, `rank_scores(scores, jnp.arange(n)[:, None])` is all there is to it.

    Args:
        scores: `[*lists, items]`, as for `rank`; an item's index is its id.
        relevant_ids: As for `rank_catalog`, as are the rest.
        relevant_labels: The same shape, or None for 1.
        item_mask: `[items]` or `[*lists, items]` bool, items that exist.
        exclude_ids: `[*lists, excluded]` integers, items that leave the list.
        k: None to count; or how deep to rank by a top-k, which is quicker where many
            items are relevant.
        list_weights: `[*lists]`, or None for 1. 0 for queries that are padding: without,
            their lists count as such in which nothing was found.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are
            cut, in equal parts; ids count through all parts.
        ties: As for `rank`.
        key: As for `rank`.
        columns: By name, arrays `[*lists, relevant, …]`; see `rank_ids`.

    Returns:
        A `Ranking`. With k=None it has no order, so no `items`.

    Raises:
        ValueError: if shapes differ, an option has no such value, or scores are sharded
            by their type outside `jax.shard_map`.
        TypeError: if ids are not integers, or the mask is not bool.

    >>> from jax_rank_metrics import reciprocal_rank
    >>> scores = jnp.array([[0.9, 0.2, 0.1], [0.8, 0.3, 0.5]])
    >>> ranking = rank_scores(scores, jnp.arange(2)[:, None])
    >>> [f"{value:.2f}" for value in reciprocal_rank.of(ranking).values]
    ['1.00', '0.33']
    """
    scores = _inputs.real("scores", scores)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores has shape {scores.shape}; pass at least one item")
    _inputs.unsharded("scores", scores, "with items_axis if items are cut")
    relevant = _inputs.relevant_items(
        relevant_ids, relevant_labels, columns, "scores", scores
    )
    item_mask, per_item = _inputs.boolean("item_mask", item_mask), scores.shape[-1:]
    if item_mask is not None and item_mask.shape not in (scores.shape, per_item):
        raise ValueError(
            f"item_mask has shape {item_mask.shape}, but scores has shape "
            f"{scores.shape}; pass one per item, {per_item} or {scores.shape}"
        )
    # A catalogue of one block, whose items have no embeddings.
    size = scores.shape[-1]
    return _rank(
        Catalog(
            queries=scores,
            items=jnp.zeros((size, 0)),
            relevant=Relevant(*relevant),
            exclude_ids=exclude_ids,
            item_mask=item_mask,
            list_weights=list_weights,
            key=key,
            score_fn=_known,
            block_size=size,
            depth=k,
            ties=ties,
            items_axis=items_axis,
        )
    )


def _known(scores: jax.Array, items: jax.Array) -> jax.Array:
    del items
    return scores


def _check_score_fn(catalog: Catalog) -> None:
    if not callable(catalog.score_fn):
        raise TypeError(
            f"score_fn is {catalog.score_fn!r}; pass a function of queries and items"
        )
    shape = (catalog.size, *catalog.items.shape[1:])
    block = jax.ShapeDtypeStruct(shape, catalog.items.dtype)
    found = jax.eval_shape(catalog.score_fn, catalog.queries, block)
    expected = (*catalog.relevant.ids.shape[:-1], catalog.size)
    if getattr(found, "shape", None) != expected:
        raise ValueError(
            f"score_fn gives {found} for {catalog.size} items; give scores of shape "
            f"{expected}"
        )


def _rank(catalog: Catalog) -> Ranking:
    """Checks what catalogues and scores share, and ranks."""
    depth = _inputs.deepest(_inputs.cutoffs(catalog.depth))
    exclude_ids, relevant_ids = catalog.exclude_ids, catalog.relevant.ids
    if exclude_ids is not None:
        exclude_ids = _inputs.ids("exclude_ids", exclude_ids)
        _inputs.same_lists("exclude_ids", exclude_ids, "relevant_ids", relevant_ids)
    policy, key = resolve(catalog.ties, catalog.key)
    catalog = dataclasses.replace(
        catalog,
        exclude_ids=exclude_ids,
        list_weights=_inputs.per_list(
            "list_weights", catalog.list_weights, relevant_ids.shape[:-1]
        ),
        key=key,
        depth=depth,
        ties=policy,
        items_axis=_inputs.axis_names("items_axis", catalog.items_axis),
    )
    return _rank_blocks(catalog)


@jax.jit
def _rank_blocks(catalog: Catalog) -> Ranking:
    lists, total = catalog.relevant.ids.shape[:-1], catalog.total
    scores = jax.eval_shape(lambda: catalog.scores(0))
    judged = catalog.relevant.read(catalog.list_weights, scores)
    seed = catalog.ties.seeds(catalog.key, lists)
    stream = Stream(catalog, judged, seed, ItemOrder(catalog.ties, scores.dtype))
    counts = catalog.depth is None
    held, seen = stream.counted() if counts else stream.top()
    exists = judged.exists & seen.exists
    exists, axis = with_others(exists, seen.length, None if counts else total)
    pool = judged.only(seen.exists).padded(1)._replace(exists=exists)
    return Ranking._of(
        held=held,
        pool=Pool(pool, axis),
        length=seen.length,
        list_exists=seen.length > 0,
        list_weights=clean_weights(catalog.list_weights, lists, judged.labels.dtype),
        cut=None if counts or catalog.depth >= total else catalog.depth,
        ties=catalog.ties.name,
    )
