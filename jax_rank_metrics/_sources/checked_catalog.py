"""The checks of the arguments of `rank_catalog` and `rank_scores`."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.lax import axis_size
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _inputs, _mesh, _types
from jax_rank_metrics._ordering.policy import resolve
from jax_rank_metrics._sources.blocks import Catalog, known_scores
from jax_rank_metrics._sources.labels import LabelFn, checked_labeller
from jax_rank_metrics._sources.lists import Relevant
from jax_rank_metrics._sources.products import products

# An array that says which lists there are, and the name of the argument.
Reference = tuple[str, jax.Array | jax.ShapeDtypeStruct]


def checked_embeddings(
    queries: Shaped[ArrayLike, "..."],
    items: Shaped[ArrayLike, "items ..."],
    relevant_ids: _types.RelevantIds | None = None,
    *,
    item_mask: _types.ItemMask | None = None,
    score_fn: Callable[[jax.Array, jax.Array], jax.Array] | None = None,
    block_size: int = 4096,
    **shared: Any,
) -> Catalog:
    """Checks the arguments of `rank_catalog`; `shared` are those of `rank_scores` too."""
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
    block_size = _inputs.positive_integer("block_size", block_size)
    lists_of: Reference = "queries", queries
    if score_fn is not None:
        lists = None
        if relevant_ids is not None:
            relevant_ids = _inputs.ids("relevant_ids", relevant_ids)
            lists = relevant_ids.shape[:-1]
        length = min(block_size, items.shape[0])
        lists_of = "scores", _scored_block(score_fn, queries, items, length, lists)
    return _checked_catalog(
        queries,
        items,
        lists_of,
        relevant_ids=relevant_ids,
        item_mask=_inputs.boolean("item_mask", item_mask, "items", items.shape[:1]),
        score_fn=products if score_fn is None else score_fn,
        block_size=block_size,
        **shared,
    )


def checked_scores(
    scores: _types.Scores,
    relevant_ids: _types.RelevantIds | None = None,
    *,
    item_mask: _types.ListsItemMask | None = None,
    **shared: Any,
) -> Catalog:
    """Checks the arguments of `rank_scores`; its catalogue is one block of items."""
    scores = _inputs.real("scores", scores)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores has shape {scores.shape}; pass at least one item")
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
        ("scores", scores),
        relevant_ids=relevant_ids,
        item_mask=item_mask,
        score_fn=known_scores,
        block_size=size,
        **shared,
    )


def _checked_catalog(
    queries: jax.Array,
    items: jax.Array,
    lists_of: Reference,
    *,
    relevant_ids: _types.RelevantIds | None,
    item_mask: jax.Array | None,
    score_fn: Callable[[jax.Array, jax.Array], jax.Array],
    block_size: int,
    k: _types.RankCutoffs,
    relevant_labels: _types.RelevantIds | None = None,
    exclude_ids: _types.ExcludedIds | None = None,
    list_weights: _types.PerListInput | None = None,
    items_axis: _types.AxisNames | None = None,
    key: _types.Key | None = None,
    ties: _types.Ties | None = None,
    columns: _types.Columns | None = None,
    item_groups: _types.ItemGroups | None = None,
    label_fn: LabelFn | None = None,
    query_attributes: Any = None,
    item_attributes: Any = None,
) -> Catalog:
    """Checks the arguments that `rank_catalog` and `rank_scores` share.

    `lists_of` is an array that says which lists there are, `[*lists, …]` with one further
    axis, and its name.
    """
    lists = lists_of[1].shape[:-1]
    items_axis = _inputs.axis_names("items_axis", items_axis)
    num_parts = (
        1 if item_groups is None or items_axis is None else axis_size(items_axis)
    )
    attributes = {
        "query_attributes": query_attributes,
        "item_attributes": item_attributes,
    }
    if label_fn is None:
        _check_absent("without label_fn", "pass both", **attributes)
        if relevant_ids is None:
            raise ValueError(
                "relevant_ids and label_fn are both None; pass the ids of relevant items, "
                "or a function that labels items by attributes of theirs and of queries"
            )
        relevant = Relevant(
            *_inputs.relevant_items(relevant_ids, relevant_labels, columns, *lists_of),
            item_groups=_inputs.item_groups(
                item_groups, columns, len(items) * num_parts
            ),
        )
    else:
        _check_absent(
            "beside label_fn",
            "pass one of them",
            relevant_ids=relevant_ids,
            relevant_labels=relevant_labels,
            columns=columns,
            item_groups=item_groups,
        )
        # No ids, in one slot: arrays of size 0 have no type that varies over a mesh.
        relevant = Relevant(jnp.full((*lists, 1), -1, jnp.int32), None, {})
    depth, excluded = _inputs.deepest(_inputs.rank_cutoffs(k)), None
    if exclude_ids is not None:
        excluded = _inputs.ids("exclude_ids", exclude_ids)
        _inputs.same_lists("exclude_ids", excluded, *lists_of)
    policy, key = resolve(ties, key)
    weights = _inputs.per_list("list_weights", list_weights, lists)
    catalog = Catalog(
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
        items_axis=items_axis,
    )
    if label_fn is not None:
        labeller = checked_labeller(
            label_fn,
            **attributes,
            shape=(*lists, items.shape[0]),
            block_length=catalog.block_length,
        )
        catalog = dataclasses.replace(catalog, labeller=labeller)
    _check_cut(catalog)
    return catalog


def _check_cut(catalog: Catalog) -> None:
    """Raises where arrays that are sharded by their types cannot be ranked."""
    for x in jax.tree.leaves(catalog):
        if not _mesh.is_sharded(x):
            continue
        spec = jax.typeof(x).sharding.spec
        if catalog.items_axis is not None:
            raise ValueError(
                f"items_axis is {catalog.items_axis!r}, but the type of an array already "
                f"says that it is sharded, as {spec}; leave items_axis out, or call inside "
                "jax.shard_map over it"
            )
        if catalog.labeller is not None and catalog.num_blocks > 1:
            raise ValueError(
                f"label_fn labels the items in {catalog.num_blocks} blocks, but an array "
                f"is sharded over devices, as {spec}; pass a block_size of at least the "
                f"number of items, {catalog.local_items}, or call inside jax.shard_map, "
                "with items_axis if items are cut"
            )


def _check_absent(where: str, cure: str, **arguments: object) -> None:
    """Raises if an argument was passed where it has no meaning."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(f"{name} is given {where}; {cure}")


def _scored_block(
    score_fn: object,
    queries: jax.Array,
    items: jax.Array,
    block_length: int,
    lists: tuple[int, ...] | None,
) -> jax.ShapeDtypeStruct:
    """Returns the type of the scores of a block, `[*lists, block]`.

    Any lists will do where `lists` is None.
    """
    if not callable(score_fn):
        raise TypeError(
            f"score_fn is {score_fn!r}; pass a function of queries and items"
        )
    block = jax.ShapeDtypeStruct((block_length, *items.shape[1:]), items.dtype)
    example = queries
    if _mesh.is_sharded(queries):  # the function will be given the part of a device
        example = jax.ShapeDtypeStruct(queries.shape, queries.dtype)
    scores = jax.eval_shape(score_fn, example, block)
    shape = getattr(scores, "shape", None) or ()
    expected = (*(shape[:-1] if lists is None else lists), block_length)
    if shape != expected:
        expected = expected if lists is not None else f"[*lists, {block_length}]"
        raise ValueError(
            f"score_fn gives {_inputs.kind_of(scores)} for {block_length} items; return "
            f"scores of shape {expected}"
        )
    return scores
