"""The checks of the arguments of `rank_catalog` and `rank_scores`."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._ordering.policy import resolve
from jax_rank_metrics._sources.blocks import Catalog, products
from jax_rank_metrics._sources.lists import Relevant, check_unsharded, columns_by_name

# What to do with arrays that are sharded; see `check_unsharded`.
CURE = "with items_axis if items are cut"


def checked_embeddings(
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
) -> Catalog:
    """Checks the arguments of `rank_catalog`."""
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
    check_unsharded(CURE, queries=queries, items=items)
    same_lists_as = queries if score_fn is None else None
    relevant = _inputs.relevant_items(
        relevant_ids, relevant_labels, columns, "queries", same_lists_as
    )
    catalog = _checked_catalog(
        queries,
        items,
        Relevant(*relevant),
        score_fn=products if score_fn is None else score_fn,
        block_size=_inputs.positive_integer("block_size", block_size),
        item_mask=_inputs.boolean("item_mask", item_mask, "items", items.shape[:1]),
        exclude_ids=exclude_ids,
        k=k,
        list_weights=list_weights,
        items_axis=items_axis,
        ties=ties,
        key=key,
    )
    if score_fn is not None:
        _check_score_fn(catalog)
    return catalog


def checked_scores(
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
) -> Catalog:
    """Checks the arguments of `rank_scores`; its catalogue is one block of items."""
    scores = _inputs.real("scores", scores)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores has shape {scores.shape}; pass at least one item")
    check_unsharded(CURE, scores=scores)
    relevant = _inputs.relevant_items(
        relevant_ids, relevant_labels, columns, "scores", scores
    )
    item_mask = _inputs.boolean("item_mask", item_mask)
    per_item = scores.shape[-1:]
    if item_mask is not None and item_mask.shape not in (scores.shape, per_item):
        raise ValueError(
            f"item_mask has shape {item_mask.shape}, but scores has shape "
            f"{scores.shape}; pass one per item, {per_item} or {scores.shape}"
        )
    # Items whose scores are known need no embeddings.
    size = scores.shape[-1]
    return _checked_catalog(
        scores,
        jnp.zeros((size, 0)),
        Relevant(*relevant),
        score_fn=_known_scores,
        block_size=size,
        item_mask=item_mask,
        exclude_ids=exclude_ids,
        k=k,
        list_weights=list_weights,
        items_axis=items_axis,
        ties=ties,
        key=key,
    )


def _checked_catalog(
    queries: jax.Array,
    items: jax.Array,
    relevant: Relevant,
    *,
    score_fn: Callable[[jax.Array, jax.Array], jax.Array],
    block_size: int,
    item_mask: jax.Array | None,
    exclude_ids: _types.ExcludedIds | None,
    k: _types.Cutoffs,
    list_weights: _types.PerListInput | None,
    items_axis: _types.AxisNames | None,
    ties: _types.Ties | None,
    key: _types.Key | None,
) -> Catalog:
    """Checks the arguments that `rank_catalog` and `rank_scores` share."""
    lists = relevant.ids.shape[:-1]
    depth = _inputs.deepest(_inputs.cutoffs(k))
    excluded = None
    if exclude_ids is not None:
        excluded = _inputs.ids("exclude_ids", exclude_ids)
        _inputs.same_lists("exclude_ids", excluded, "relevant_ids", relevant.ids)
    policy, key = resolve(ties, key)
    weights = _inputs.per_list("list_weights", list_weights, lists)
    check_unsharded(
        CURE,
        relevant_ids=relevant.ids,
        relevant_labels=relevant.labels,
        item_mask=item_mask,
        exclude_ids=excluded,
        list_weights=weights,
        **columns_by_name(relevant.columns),
    )
    return Catalog(
        queries=queries,
        items=items,
        relevant=relevant,
        exclude_ids=excluded,
        item_mask=item_mask,
        list_weights=weights,
        key=key,
        score_fn=score_fn,
        block_size=block_size,
        depth=depth,
        policy=policy,
        items_axis=_inputs.axis_names("items_axis", items_axis),
    )


def _known_scores(scores: jax.Array, items: jax.Array) -> jax.Array:
    del items
    return scores


def _check_score_fn(catalog: Catalog) -> None:
    if not callable(catalog.score_fn):
        raise TypeError(
            f"score_fn is {catalog.score_fn!r}; pass a function of queries and items"
        )
    shape = (catalog.block_length, *catalog.items.shape[1:])
    block = jax.ShapeDtypeStruct(shape, catalog.items.dtype)
    scores = jax.eval_shape(catalog.score_fn, catalog.queries, block)
    expected = (*catalog.relevant.ids.shape[:-1], catalog.block_length)
    if getattr(scores, "shape", None) != expected:
        raise ValueError(
            f"score_fn gives {scores} for {catalog.block_length} items; return scores of "
            f"shape {expected}"
        )
