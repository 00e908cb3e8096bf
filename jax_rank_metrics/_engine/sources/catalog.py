"""`jrm.rank_catalog` and `jrm.rank_scores`: many items, few of them relevant."""

import dataclasses
import functools
import math

import jax
from jax.core import Tracer
from jax.lax import axis_size
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics._engine.ordering import outranking
from jax_rank_metrics._engine.ranking import ranking, ranking_data
from jax_rank_metrics._engine.sources import blocks, similarities
from jax_rank_metrics._engine.sources import item_columns as item_columns_
from jax_rank_metrics._engine.sources.attributes import (
    by_attributes,
    label_dtype,
    read_attributes,
)
from jax_rank_metrics._engine.sources.labelled_catalog import rank_labelled
from jax_rank_metrics._engine.sources.lists import Relevant, resolve
from jax_rank_metrics._engine.sources.streams import rank_listed
from jax_rank_metrics._engine.sources.tokens import Tokens, packed
from jax_rank_metrics._ground import inputs, meshes, types


def checked_embeddings(
    queries: Shaped[ArrayLike, "..."] | Tokens,
    items: Shaped[ArrayLike, "items ..."] | Tokens,
    similarity: similarities.SimilarityName | similarities.SimilarityFn,
    block_size: int,
    relevant_ids: types.RelevantIds | by_attributes,
) -> blocks.Catalog:
    """Checks queries, items and similarity; a similarity function must return scores."""
    if similarity == "maxsim":
        queries, items = packed("queries", queries), packed("items", items)
    queries = inputs.real("queries", queries)
    items = inputs.real("items", inputs.by_items("items", items))
    if items.ndim == 0 or items.shape[0] == 0:
        raise ValueError(f"items has shape {items.shape}; pass at least one item")
    block_size = inputs.positive_integer("block_size", block_size)
    scoring = similarities.read_similarity(similarity, queries, items)
    catalog = blocks.Catalog(queries, items, scoring, block_size)
    # Relevance by attributes has no ids, so only the scores tell how many lists there are.
    lists = None
    if not isinstance(relevant_ids, by_attributes):
        lists = inputs.ids("relevant_ids", relevant_ids).shape[:-1]
    scoring.check(queries, items, catalog.block_length, lists)
    return catalog


def checked_scores(scores: types.Scores) -> blocks.Catalog:
    """Checks the scores of `rank_scores`."""
    if inputs.is_frame(scores):
        scores = inputs.by_items_of_rows("scores", scores, None)
    scores = inputs.real("scores", inputs.by_items("scores", scores))
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores has shape {scores.shape}; pass at least one item")
    return blocks.Catalog.of_scores(scores)


def checked_mask(
    item_mask: types.ListsItemMask | None, scores: jax.Array
) -> jax.Array | None:
    """Checks the mask of items that exist, one for all lists or one for each list."""
    per_item = scores.shape[-1:]
    if inputs.is_frame(item_mask) and not inputs.has_item_ids(item_mask):
        item_mask = inputs.by_items_of_rows("item_mask", item_mask, None)
    item_mask = inputs.by_items("item_mask", item_mask, *per_item)
    mask = inputs.boolean("item_mask", item_mask)
    if mask is not None and mask.shape not in (scores.shape, per_item):
        raise ValueError(
            f"item_mask has shape {mask.shape}, but scores has shape {scores.shape}; "
            f"pass shape {per_item} for all lists, or {scores.shape}"
        )
    return mask


# The arguments relevant_ids, relevant_labels and relevant_columns.
_Judged = tuple[
    types.RelevantIds | by_attributes, types.RelevantIds | None, types.Columns | None
]
# The arguments item_columns, profile_ids and profile_weights.
_Known = tuple[
    types.ItemColumns | None, types.ProfileIds | None, types.ProfileWeights | None
]


def checked_relevance(
    judged: _Judged,
    known: _Known,
    catalog: blocks.Catalog,
    items_axis: types.AxisNames | None,
) -> tuple[Relevant, by_attributes | None]:
    """Checks the relevant items, by ids or by attributes, and item columns and profiles.

    Returns:
        The relevant items, with no item if relevance is by attributes; and the attributes,
        or None if relevance is by ids.
    """
    relevant_ids, relevant_labels, relevant_columns = judged
    item_columns, profile_ids, profile_weights = known
    num_items, lists_of = catalog.num_items, catalog.lists_of
    if isinstance(relevant_ids, by_attributes):
        arguments = {
            "relevant_labels": relevant_labels,
            "relevant_columns": relevant_columns,
            "item_columns": item_columns,
            "profile_ids": profile_ids,
        }
        for name, value in arguments.items():
            if value is not None:
                raise ValueError(
                    f"{name} is given, but relevant_ids are by attributes; leave that "
                    "argument out, or pass ids as relevant_ids"
                )
        lists = lists_of[1].shape[:-1]
        attributes = read_attributes(relevant_ids, lists, num_items)
        # Called only for its checks.
        label_dtype(attributes, lists, catalog.block_length)
        return Relevant.empty(lists), attributes
    listed = inputs.relevant_items(*judged, *lists_of)
    numbers = {num_items}
    if items_axis is not None:
        # A column may have the rows of the whole catalogue, or of this device's shard.
        numbers.add(num_items * axis_size(items_axis))
    arrays = inputs.item_columns(item_columns, relevant_columns, numbers)
    profiles = inputs.profiles(profile_ids, profile_weights, *lists_of)
    if profiles[0] is not None:
        named_ids = {"profile_ids": profiles[0]}
        inputs.ids_below(max(numbers), "the catalogue", named_ids)
    columns = item_columns_.read(arrays, items_axis, num_items)
    return Relevant(*listed, columns, *profiles), None


def check_cut(catalog: blocks.Catalog) -> None:
    """Raises if an array is sharded by its type, but the arguments do not allow that."""
    for array in jax.tree.leaves(catalog):
        if not meshes.is_sharded(array):
            continue
        spec = jax.typeof(array).sharding.spec
        if catalog.items_axis is not None:
            raise ValueError(
                f"items_axis is {catalog.items_axis!r}, but the type of an array already "
                f"says that it is sharded, as {spec}; leave items_axis out, or call inside "
                "jax.shard_map over that axis"
            )
        if catalog.attributes is not None and catalog.num_blocks > 1:
            raise ValueError(
                f"label_fn labels the items in {catalog.num_blocks} blocks, but an array "
                f"is sharded over devices, as {spec}; pass a block_size of at least the "
                f"number of items, {catalog.num_items}, or call inside jax.shard_map, "
                "and pass items_axis there if items are sharded"
            )


def rank_catalog(
    queries: Shaped[ArrayLike, "..."] | Tokens,
    items: Shaped[ArrayLike, "items ..."] | Tokens,
    relevant_ids: types.RelevantIds | by_attributes,
    *,
    k: types.RankCutoffs,
    relevant_labels: types.RelevantIds | None = None,
    exclude_ids: types.ExcludedIds | None = None,
    item_mask: types.ItemMask | None = None,
    list_weights: types.PerListInput | None = None,
    similarity: similarities.SimilarityName | similarities.SimilarityFn = "dot",
    block_size: int = 4096,
    items_axis: types.AxisNames | None = None,
    key: types.Key | None = None,
    ties: types.Ties | None = None,
    relevant_columns: types.Columns | None = None,
    item_columns: types.ItemColumns | None = None,
    profile_ids: types.ProfileIds | None = None,
    profile_weights: types.ProfileWeights | None = None,
) -> ranking.Ranking:
    """Ranks a whole catalogue for every query, by the similarity of their embeddings.

    Items are scored a block at a time, and only the first ranks are kept: memory grows
    with queries × (block_size + k), not with queries × items.

    The pool of a list is every item that is neither masked nor excluded. Items that are
    not among the relevant ids have the label 0.

    Pass the ids of relevant items; or derive relevance from attributes, such as the person
    on a picture: see `by_attributes`.

    A query that is padding needs `list_weights` 0. Otherwise its list counts as a list
    for which nothing relevant was found.

    Args:
        queries: `[*lists, dims]`, an embedding per list, of any real dtype.
        items: `[items, dims]`, an embedding per item; its row is its id.
        relevant_ids: `[*lists, relevant]` integers, distinct within a list; inside
            `jax.jit`, a repeated id counts where it occurs first. Ids that are masked,
            excluded or not in the catalogue are not in the pool; ids below 0 are padding.
            Or `by_attributes(label_fn, query_attributes, item_attributes)`.
        k: As for `rank`. With None, two passes count the items that score above each
            relevant item; values are then exact at every cutoff and without a cutoff,
            but the gain of the label 0 must be 0. If relevance is by attributes and
            items are in several blocks or on several devices, most metrics raise beyond
            k. Only metrics of the first relevant item, such as `hit_rate` and
            `reciprocal_rank`, work at every cutoff and without a cutoff, because they
            count items in two further passes.
        relevant_labels: The same shape as `relevant_ids`, or None for 1.
        exclude_ids: `[*lists, excluded]` integers, items that leave the list, such as
            items a user has already seen; ids below 0 are padding.
        item_mask: `[items]` bool, items that exist, for every list.
        list_weights: `[*lists]`, or None for 1; 0 for queries that are padding.
        similarity: How a query and an item are scored: "dot", "cosine", "l2",
            "hamming" or "maxsim", as for `evaluate_embeddings`; "l2" measures from the
            mean of the `queries`, and "maxsim" takes `Tokens` as queries and items. Or a
            function that takes queries and a block of items, and returns their scores
            `[*lists, block]`; `queries` `[*lists, …]` and `items` `[items, …]` may then
            have any trailing axes. The function is static under `jax.jit`: pass a named
            function rather than a fresh lambda. If types of arrays are sharded, it may
            close over NumPy arrays, but not over arrays on the mesh.
        block_size: How many items to score at a time.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are
            split into equal shards: `items`, `item_mask` and attributes of items are this
            device's shard, and ids run through all shards.
        key: As for `rank`.
        ties: As for `rank`.
        relevant_columns: A dict from column names to arrays `[*lists, relevant, …]`; see
            `rank_ids`.
        item_columns: A dict from column names to numbers `[num_items, …]` for every item
            of the whole catalogue, such as its price: an array; or a Series, a frame or a
            dict, keyed by id. The column `groups`, `[num_items, groups]`, says how much of
            each item belongs to each group, with NaN for unknown; in other columns a
            missing number raises. Pass the same columns on every device; or, with
            `items_axis`, this device's shard. With k=None metrics may read only the columns
            of relevant items. Relevance by attributes takes no `item_columns`.
        profile_ids: `[*lists, profile]` integers, the items that each user interacted with
            before, for metrics that compare a list with them; ids below 0 are padding.
        profile_weights: The same shape, the weight of each item of a profile, such as how
            recently it was played; only weights above 0 count. None is 1 for all.

    Returns:
        A `Ranking`. Its `items` are the ids found, in rank order. With k=None the ranking
        has no order, because places are counted, unless relevance is by attributes and the
        items are in one block.

    Raises:
        ValueError: if shapes differ, if an option is unknown, if a list repeats a
            relevant id, if JAX would round different attributes to equal numbers, or if
            items are in several blocks, relevance is by attributes, and an array is
            sharded by its type.
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
    frames = inputs.frames_among(
        queries=queries, relevant_ids=relevant_ids, exclude_ids=exclude_ids
    )
    inputs.same_index(of_lists={**frames, "list_weights": list_weights})
    catalog = checked_embeddings(queries, items, similarity, block_size, relevant_ids)
    mask = inputs.item_mask(item_mask, catalog.num_items)
    return _rank_checked(
        dataclasses.replace(catalog, item_mask=mask),
        (relevant_ids, relevant_labels, relevant_columns),
        (item_columns, profile_ids, profile_weights),
        exclude_ids,
        list_weights,
        items_axis,
        k,
        ties,
        key,
    )


def rank_scores(
    scores: types.Scores,
    relevant_ids: types.RelevantIds | by_attributes,
    relevant_labels: types.RelevantIds | None = None,
    *,
    item_mask: types.ListsItemMask | None = None,
    exclude_ids: types.ExcludedIds | None = None,
    retrieved: types.Mask | None = None,
    k: types.RankCutoffs = None,
    list_weights: types.PerListInput | None = None,
    items_axis: types.AxisNames | None = None,
    ties: types.Ties | None = None,
    key: types.Key | None = None,
    relevant_columns: types.Columns | None = None,
    item_columns: types.ItemColumns | None = None,
    profile_ids: types.ProfileIds | None = None,
    profile_weights: types.ProfileWeights | None = None,
) -> ranking.Ranking:
    """Ranks few relevant items of each list among all scores, without sorting all items.

    With k=None the place of each relevant item is counted: how many items score higher,
    and how many the same. This reads the scores once for each relevant item, and is exact
    for every metric at every cutoff and without a cutoff. If `relevant_ids` has more than
    forty ids per list, padding included, a CPU sorts the scores once instead, and looks up
    the relevant items. For in-batch negatives, if query i should find item i, call
    `rank_scores(scores, jnp.arange(n)[:, None])`.

    Args:
        scores: `[*lists, items]`, as for `rank`; the index of an item is its id.
        relevant_ids: As for `rank_catalog`. If relevance is by attributes, labels are
            computed for all items at once and ranked as by `rank`. If `items_axis` cuts
            the items, k=None works only for metrics of the first relevant item.
        relevant_labels: The same shape as `relevant_ids`, or None for 1.
        item_mask: `[items]` or `[*lists, items]` bool, items that exist.
        exclude_ids: `[*lists, excluded]` integers, items that leave the list.
        retrieved: `[*lists, items]` bool, or None for all. False marks an item that may be
            relevant but has no rank; its score is never read, see `rank`. If you pass
            `scores > -jnp.inf`, items with the score −∞ have no rank, as in
            `evaluate_users`.
        k: None to count places; or the depth of a top-k, which is quicker if many items
            are relevant and only the first ranks are read.
        list_weights: `[*lists]`, or None for 1. Pass 0 for queries that are padding;
            otherwise their lists count as lists for which nothing relevant was found.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are
            split into equal shards; ids run through all shards.
        ties: As for `rank`.
        key: As for `rank`.
        relevant_columns: A dict from column names to arrays `[*lists, relevant, …]`; see
            `rank_ids`.
        item_columns: A dict from column names to `[num_items, …]`; see `rank_catalog`.
        profile_ids: `[*lists, profile]`; see `rank_catalog`.
        profile_weights: `[*lists, profile]`; see `rank_catalog`.

    Returns:
        A `Ranking`. With k=None and relevance by ids, it has no order, and so no `items`.

    Raises:
        ValueError: if shapes differ, if an option is unknown, if a list repeats a
            relevant id, or if JAX would round different attributes to equal numbers.
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
    >>> ranking = rank_scores(scores, by_attributes(same_class, [5, 6], [6, 5, 5]))
    >>> reciprocal_rank.of(ranking).values.tolist()
    [0.5, 1.0]
    """
    frames = inputs.frames_among(
        scores=scores,
        relevant_ids=relevant_ids,
        exclude_ids=exclude_ids,
        item_mask=item_mask,
    )
    inputs.same_index(of_lists={**frames, "list_weights": list_weights})
    catalog = checked_scores(scores)
    shape = catalog.queries.shape
    retrieved = inputs.boolean("retrieved", retrieved, "scores", shape)
    mask = checked_mask(item_mask, catalog.queries)
    return _rank_checked(
        dataclasses.replace(catalog, item_mask=mask, retrieved=retrieved),
        (relevant_ids, relevant_labels, relevant_columns),
        (item_columns, profile_ids, profile_weights),
        exclude_ids,
        list_weights,
        items_axis,
        k,
        ties,
        key,
    )


def _rank_checked(
    catalog: blocks.Catalog,
    judged: _Judged,
    known: _Known,
    exclude_ids: types.ExcludedIds | None,
    list_weights: types.PerListInput | None,
    items_axis: types.AxisNames | None,
    k: types.RankCutoffs,
    ties: types.Ties | None,
    key: types.Key | None,
) -> ranking.Ranking:
    """Checks the other arguments, and ranks; scores and masks are already checked."""
    items_axis = inputs.axis_names("items_axis", items_axis)
    relevant, attributes = checked_relevance(judged, known, catalog, items_axis)
    if exclude_ids is not None:
        exclude_ids = inputs.ids("exclude_ids", exclude_ids)
        inputs.same_lists("exclude_ids", exclude_ids, *catalog.lists_of)
    lists = relevant.ids.shape[:-1]
    policy, key = resolve(ties, key)
    catalog = dataclasses.replace(
        catalog,
        relevant=relevant,
        attributes=attributes,
        exclude_ids=exclude_ids,
        list_weights=inputs.per_list("list_weights", list_weights, lists),
        depth=inputs.deepest(inputs.rank_cutoffs(k)),
        policy=policy,
        key=key,
        items_axis=items_axis,
    )
    check_cut(catalog)
    # Check ids before anything is compiled: repeats can raise only if ids are known.
    catalog = dataclasses.replace(catalog, relevant=catalog.relevant.distinct())
    count_places = None
    if _is_counting_faster(catalog):
        count_places = functools.partial(_counted, catalog)
    # `rank_labelled` compiles its parts itself, so that rows share the programs of `rank`.
    rank = _rank_blocks if catalog.attributes is None else rank_labelled
    return ranking.Ranking(rank(catalog), count_places=count_places)


def _is_counting_faster(catalog: blocks.Catalog) -> bool:
    """True if counting places in a program may be faster than finding the first ranks.

    Otherwise counting does not help or must not happen: outside a program, the ranks are
    already computed when a metric asks; items in several blocks would be scored twice; and
    devices with shards of the items must exchange counts when the caller ranks, because the
    metric that reads the counts may be in a branch.
    """
    num_relevant = catalog.relevant.ids.shape[-1]
    num_scores = math.prod(catalog.lists) * catalog.num_items
    return (
        catalog.depth is not None
        and catalog.attributes is None
        and catalog.items_axis is None
        and catalog.num_blocks == 1
        and outranking.is_loop_free(num_relevant, num_scores)
        and any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(catalog))
    )


def _counted(catalog: blocks.Catalog) -> ranking_data.RankingData:
    """Counts the places of the relevant items; metrics read them up to the depth."""
    assert catalog.depth is not None
    is_whole = catalog.depth >= catalog.num_items
    places = _rank_blocks(dataclasses.replace(catalog, depth=None))
    return dataclasses.replace(places, cut=None if is_whole else catalog.depth)


_rank_blocks = jax.jit(functools.partial(blocks.map_catalog_shards, rank_listed))
