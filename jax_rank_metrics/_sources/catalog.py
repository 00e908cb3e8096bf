"""`jrm.rank_catalog`: many items, few of them relevant."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _inputs
from jax_rank_metrics._items import GivenItems, ItemArrays
from jax_rank_metrics._ordering.candidates import Policy
from jax_rank_metrics._ranking import Pool, Ranking
from jax_rank_metrics._sources.blocks import Blocks, Catalog, Options
from jax_rank_metrics._sources.lists import read_weights, seeds
from jax_rank_metrics._sources.streams import Stream, with_others
from jax_rank_metrics._types import (
    AxisNames,
    Columns,
    Cutoffs,
    Key,
    PerListInput,
    RelevantIds,
    Ties,
)


@partial(jax.jit, static_argnums=1)
def _rank_blocks(catalog: Catalog, options: Options) -> Ranking:
    blocks, dtype = Blocks(catalog, options), None
    lists = catalog.relevant_ids.shape[:-1]
    scores = jax.ShapeDtypeStruct((), blocks.dtype)
    _, list_weights, dtype = read_weights(
        catalog.relevant_labels, None, catalog.list_weights, lists, scores
    )
    judged = GivenItems(
        catalog.relevant_labels,
        catalog.relevant_ids >= 0,
        None,
        None,
        dict(catalog.columns),
        dtype.name,
    ).read()
    seed = seeds(options.ties, catalog.key, lists)
    stream = Stream(blocks, judged, seed, Policy(options.ties, blocks.dtype))
    depth = options.depth
    found = stream.counted() if depth is None else stream.top(depth)
    judged = judged.only(found.relevant)
    ranks = None if depth is None else blocks.total
    exists, axis = with_others(judged.exists, found.length, ranks)
    one = jax.tree.map(lambda x: jnp.zeros_like(x, shape=_one(x, lists)), judged)
    pool: ItemArrays = jax.tree.map(
        lambda x, y: jnp.concatenate([x, y], axis=len(lists)), judged, one
    )
    return Ranking(
        held=found.held,
        pool=Pool(pool._replace(exists=exists), axis),
        scored=None,
        straddle=found.straddle,
        length=found.length,
        known_relevant=None,
        counts=found.length > 0,
        list_weights=list_weights,
        cut=None if depth is None or depth >= blocks.total else depth,
        ties=options.ties,
        grouped=options.ties in (None, "expected"),
    )


def _one(x: jax.Array, lists: tuple[int, ...]) -> tuple[int, ...]:
    return (*lists, 1, *x.shape[len(lists) + 1 :])


def rank_catalog(
    queries: Shaped[ArrayLike, "..."],
    items: Shaped[ArrayLike, "items ..."],
    relevant_ids: RelevantIds,
    *,
    k: Cutoffs,
    relevant_labels: RelevantIds | None = None,
    exclude_ids: Shaped[ArrayLike, "*lists excluded"] | None = None,
    item_mask: Shaped[ArrayLike, " items"] | None = None,
    list_weights: PerListInput | None = None,
    score_fn: Callable[[jax.Array, jax.Array], jax.Array] | None = None,
    block_size: int = 4096,
    items_axis: AxisNames | None = None,
    key: Key | None = None,
    ties: Ties | None = None,
    columns: Columns | None = None,
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
    relevant_ids, relevant_labels = _inputs.relevant_items(
        relevant_ids, relevant_labels, "queries", queries if score_fn is None else None
    )
    lists = relevant_ids.shape[:-1]
    size = _inputs.count("block_size", block_size)
    if score_fn is not None:
        _check_score_fn(score_fn, queries, items, lists, min(size, items.shape[0]))
    if item_mask is not None:
        item_mask = _inputs.boolean("item_mask", item_mask)
        _inputs.same_shape("item_mask", item_mask, "items", items.shape[:1])
    return rank_checked(
        (None, queries, items),
        relevant_ids,
        relevant_labels,
        columns,
        exclude_ids,
        item_mask,
        list_weights,
        key,
        ties,
        k,
        size,
        items_axis,
        score_fn,
    )


def rank_checked(
    scored: tuple[Any, Any, Any],
    relevant_ids: jax.Array,
    relevant_labels: jax.Array | None,
    columns: Any,
    exclude_ids: Any,
    item_mask: jax.Array | None,
    list_weights: Any,
    key: Any,
    ties: Any,
    k: Cutoffs,
    block_size: int,
    items_axis: Any,
    score_fn: Any,
) -> Ranking:
    """Checks what catalogues and scores share, and ranks."""
    depth = _inputs.deepest(_inputs.cutoffs(k))
    lists = relevant_ids.shape[:-1]
    if relevant_labels is None:
        relevant_labels = jnp.ones(relevant_ids.shape, jnp.float32)
    columns = _inputs.columns(columns, "relevant_ids", relevant_ids.shape)
    if exclude_ids is not None:
        exclude_ids = _inputs.ids("exclude_ids", exclude_ids)
        _inputs.same_lists("exclude_ids", exclude_ids, "relevant_ids", relevant_ids)
    list_weights = _inputs.per_list("list_weights", list_weights, lists)
    policy, key = _inputs.tie_policy(ties, key)
    items_axis = _inputs.axis_names("items_axis", items_axis)
    catalog = Catalog(
        *scored,
        relevant_ids,
        relevant_labels,
        columns,
        exclude_ids,
        item_mask,
        list_weights,
        key,
    )
    options = Options(policy, depth, block_size, items_axis, score_fn)
    return _rank_blocks(catalog, options)


def _check_score_fn(
    score_fn: Any, queries: jax.Array, items: jax.Array, lists: Any, size: int
) -> None:
    if not callable(score_fn):
        raise TypeError(
            f"score_fn is {score_fn!r}; pass a function of queries and items"
        )
    block = jax.ShapeDtypeStruct((size, *items.shape[1:]), items.dtype)
    found = jax.eval_shape(score_fn, queries, block)
    if getattr(found, "shape", None) != (*lists, size):
        raise ValueError(
            f"score_fn gives {found} for {size} items; give scores of shape "
            f"{(*lists, size)}"
        )
