"""The checks of the arguments of `rank_catalog` and `rank_scores`."""

import jax
from jax.lax import axis_size
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _inputs, _mesh, _types
from jax_rank_metrics._sources.attributes import (
    by_attributes,
    label_dtype,
    read_attributes,
)
from jax_rank_metrics._sources.blocks import Catalog, Scorer
from jax_rank_metrics._sources.lists import Relevant
from jax_rank_metrics._sources.similarities import (
    SimilarityFn,
    SimilarityName,
    read_similarity,
)
from jax_rank_metrics._sources.tokens import Tokens, packed


def checked_embeddings(
    queries: Shaped[ArrayLike, "..."] | Tokens,
    items: Shaped[ArrayLike, "items ..."] | Tokens,
    similarity: SimilarityName | SimilarityFn,
    block_size: int,
    relevant_ids: _types.RelevantIds | by_attributes,
) -> Scorer:
    """Checks what `rank_catalog` scores, and that a function returns scores for it."""
    if similarity == "maxsim":
        queries, items = packed("queries", queries), packed("items", items)
    queries = _inputs.real("queries", queries)
    items = _inputs.real("items", _inputs.by_items("items", items))
    if items.ndim == 0 or items.shape[0] == 0:
        raise ValueError(f"items has shape {items.shape}; pass at least one item")
    block_size = _inputs.positive_integer("block_size", block_size)
    scoring = read_similarity(similarity, queries, items)
    scorer = Scorer(queries, items, scoring, block_size)
    # By attributes, nothing but the scores of the function says which lists there are.
    lists = None
    if not isinstance(relevant_ids, by_attributes):
        lists = _inputs.ids("relevant_ids", relevant_ids).shape[:-1]
    scoring.check(queries, items, scorer.block_length, lists)
    return scorer


def checked_scores(scores: _types.Scores) -> Scorer:
    """Checks the scores of `rank_scores`."""
    if _inputs.is_frame(scores):
        scores = _inputs.by_items_of_rows("scores", scores, None)
    scores = _inputs.real("scores", _inputs.by_items("scores", scores))
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores has shape {scores.shape}; pass at least one item")
    return Scorer.of_scores(scores)


def checked_mask(
    item_mask: _types.ListsItemMask | None, scores: jax.Array
) -> jax.Array | None:
    """Checks which items exist, of all lists or of each."""
    per_item = scores.shape[-1:]
    if _inputs.is_frame(item_mask) and not _inputs.has_item_ids(item_mask):
        item_mask = _inputs.by_items_of_rows("item_mask", item_mask, None)
    item_mask = _inputs.by_items("item_mask", item_mask, *per_item)
    mask = _inputs.boolean("item_mask", item_mask)
    if mask is not None and mask.shape not in (scores.shape, per_item):
        raise ValueError(
            f"item_mask has shape {mask.shape}, but scores has shape "
            f"{scores.shape}; pass one per item, {per_item} or {scores.shape}"
        )
    return mask


def checked_relevance(
    relevant_ids: _types.RelevantIds | by_attributes,
    relevant_labels: _types.RelevantIds | None,
    columns: _types.Columns | None,
    item_groups: _types.ItemGroups | None,
    scorer: Scorer,
    items_axis: _types.AxisNames | None,
) -> tuple[Relevant, by_attributes | None]:
    """Checks what is relevant: the items with some ids, or by attributes.

    Returns:
        The items that are known by their ids, of which there are none in the other case;
        and the attributes, or None.
    """
    num_items = scorer.num_items
    if isinstance(relevant_ids, by_attributes):
        arguments = {
            "relevant_labels": relevant_labels,
            "columns": columns,
            "item_groups": item_groups,
        }
        for name, value in arguments.items():
            if value is not None:
                raise ValueError(
                    f"{name} is given, and relevant_ids are by attributes; leave it out, "
                    "or pass ids"
                )
        attributes = read_attributes(relevant_ids, scorer.lists, num_items)
        # Called for its checks alone.
        label_dtype(attributes, scorer.lists, scorer.block_length)
        return Relevant.empty(scorer.lists), attributes
    if item_groups is not None and items_axis is not None:
        # Groups are those of the whole catalogue, of which the device has a part.
        num_items *= axis_size(items_axis)
    listed = _inputs.relevant_items(
        relevant_ids, relevant_labels, columns, *scorer.lists_of
    )
    groups = _inputs.item_groups(item_groups, columns, num_items)
    return Relevant(*listed, item_groups=groups), None


def checked_exclusions(
    exclude_ids: _types.ExcludedIds | None, scorer: Scorer
) -> jax.Array | None:
    """Checks the ids of the items that leave each list."""
    if exclude_ids is None:
        return None
    excluded = _inputs.ids("exclude_ids", exclude_ids)
    _inputs.same_lists("exclude_ids", excluded, *scorer.lists_of)
    return excluded


def check_cut(catalog: Catalog) -> None:
    """Raises where arrays that are sharded by their types cannot be ranked."""
    for x in jax.tree.leaves(catalog):
        if not _mesh.is_sharded(x):
            continue
        spec, scorer = jax.typeof(x).sharding.spec, catalog.scorer
        if catalog.items_axis is not None:
            raise ValueError(
                f"items_axis is {catalog.items_axis!r}, but the type of an array already "
                f"says that it is sharded, as {spec}; leave items_axis out, or call inside "
                "jax.shard_map over it"
            )
        if catalog.attributes is not None and scorer.num_blocks > 1:
            raise ValueError(
                f"label_fn labels the items in {scorer.num_blocks} blocks, but an array "
                f"is sharded over devices, as {spec}; pass a block_size of at least the "
                f"number of items, {scorer.num_items}, or call inside jax.shard_map, "
                "with items_axis if items are cut"
            )
