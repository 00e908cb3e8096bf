"""`jrm.evaluate_embeddings`: queries and items with embeddings, evaluated in batches."""

import dataclasses
from typing import Any

import numpy as np
from jax.sharding import Mesh

from jax_rank_metrics._engine.calls import binding, signatures
from jax_rank_metrics._engine.sources import attributes, similarities
from jax_rank_metrics._engine.sources.attributes import by_attributes
from jax_rank_metrics._engine.sources.host_blocks import HostBlocks
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._runs.drivers import engine, jobs, programs, remarks, scorers
from jax_rank_metrics._runs.drivers.devices import Devices, read_devices
from jax_rank_metrics._runs.drivers.interactions import (
    QUERY,
    RawInteractions,
    Vocabulary,
)
from jax_rank_metrics._runs.drivers.judgements import (
    Judgements,
    attributes_of_items,
    global_arguments,
    read_judgements,
)
from jax_rank_metrics._runs.evaluation import Evaluation


def evaluate_embeddings(
    metrics: binding.Metrics,
    queries: Any,
    items: Any,
    relevant: RawInteractions | by_attributes,
    *,
    similarity: similarities.SimilarityName | similarities.SimilarityFn = "dot",
    candidates: RawInteractions | None = None,
    exclude_self: bool = False,
    exclude: RawInteractions | None = None,
    query_ids: types.RowIds | None = None,
    item_ids: types.RowIds | None = None,
    unknown_items: types.UnknownItems = "error",
    k: int | None = None,
    batch_size: int = 1024,
    item_mask: types.ItemMask | None = None,
    item_columns: types.ItemColumns | None = None,
    ties: types.Ties | None = None,
    key: types.Key | None = None,
    list_weights: types.ListWeights | None = None,
    undefined: types.Undefined = "zero",
    block_size: int | None = None,
    mesh: Mesh | None = None,
    queries_axis: types.AxisNames | None = None,
    items_axis: types.AxisNames | None = None,
    keep_lists: bool = True,
    progress: bool | engine.Progress = False,
) -> Evaluation:
    """Evaluates embeddings by ranking all items for every query, in batches.

    Items are scored a block at a time, as `rank_catalog` does, so the scores of all queries
    and items never exist at once. Metrics with a cutoff share one top-k. Metrics without
    a cutoff, such as "map", find the ranks of relevant items in another pass over the
    scores.

    Relevant items are given by ids, or by attributes: in metric learning, all items of the
    query's class are relevant. With attributes, all items must be in one block if labels
    are numbers, or if a metric has no cutoff and is neither the hit rate nor the reciprocal
    rank. Batches then get smaller, so that up to a million items fit.

    **Candidates** are items that a first stage found for each query. Only they have a
    rank. Relevant items that the first stage missed still count, as relevant items without
    a rank, in recall, in average precision and in the ideal order. trec_eval, and with it
    MTEB and BEIR, counts them in the same way if judgements list items that were not
    retrieved. The rerankers' evaluator of sentence-transformers adds the missed items to
    the candidates, or leaves them out: to do the same, pass the union as candidates, or
    only relevant items among the candidates.

    **Queries without a relevant item** count 0 in most metrics, as everywhere in this
    package, and the states say how many there are; most evaluators of embeddings leave
    them out, as `undefined="skip"` does here. The call warns if `exclude` leaves a query
    no relevant item, and if `similarity` is a function that gives the first queries scores
    of −∞, or ranks their relevant items last.

    Call it outside of `jax.jit`. One device does the work, the device of `items` or the
    default one; with `mesh`, all devices of all processes do. Functions are static: pass
    the same object again, not a fresh lambda, to reuse its program.

    Args:
        metrics: As for `evaluate`.
        queries: `[queries, dims]`, an embedding per query, of NumPy or JAX. Float64 is
            read as float32 unless x64 is on. If `similarity` is a function, any trailing
            axes are allowed. With "maxsim", `Tokens` or a list of arrays `[tokens, dims]`.
            With "dot", both queries and items may be sparse matrices or arrays of scipy,
            which multiplies them on the host. A batch then holds the scores of all items at
            once, and is smaller if these would exceed 128 MiB.
        items: `[items, dims]`, an embedding per item; the row of an item is its id. Or
            blocks of embeddings, for items that do not fit in memory: a memory-mapped array
            of NumPy, a list or an iterator of arrays `[block, dims]`, or a function that
            returns such an iterator. All queries are scored on a block before the next
            block is read, so that the items are read once. Metrics without a cutoff read
            the items a second time, which an iterator does not allow. With "maxsim",
            `Tokens` or a list of arrays `[tokens, dims]`; items of similar lengths are
            scored together. Or an iterator of such `Tokens` or lists, or a function that
            returns such an iterator; then all scores of queries and items are in memory at
            once.
        relevant: The items to be found. For each query, a list of ids, a dict from ids to
            labels, or a list of pairs (id, label). A dict, such as `{query: {doc: 1}}`, or
            a pandas Series may map the row of a query to such a list or dict. Or a frame of
            pandas or polars with the columns `query` (or `user`), `item` and perhaps
            `label`, a row for each pair of query and item; or a scipy sparse matrix
            `[queries, items]` of labels. Lists and frames may repeat an id, and −1 is
            padding, unless it is an id. A query that is missing from a dict or a frame has
            no items. A query with None or NaN instead of a list has no items either, but
            the call warns. Or `by_attributes(label_fn, query_attributes, item_attributes)`,
            with attributes `[queries, …]` and `[items, …]`. Labels that are negative or NaN
            raise here, while other calls leave their items out.
        similarity: How a query and an item are scored. Items with equal vectors tie.

            - "dot": by their product. Accelerators round products to fewer bits than
              float32, unless `jax.default_matmul_precision("float32")` is set.
            - "cosine": by the product of the vectors divided by their lengths, in
              float32; 0 if either vector is 0.
            - "l2": by −|q − x|², nearest first. It is computed from products, whose
              cancellation loses differences below 1e-7 of the squared distances between
              vectors and their mean: neighbours that are nearer to each other than that
              may change places. Whole numbers, such as bytes, and their ties stay exact
              up to squared distances of 2²³.
            - "hamming": by minus the number of bits that differ, exactly. Queries and items
              are packed bits, uint8 `[…, bytes]`, as `numpy.packbits(bits, axis=-1)`
              returns them.
            - "maxsim": by the sum, over the tokens of the query, of the largest product
              with a token of the item. Items without tokens rank last. A batch holds the
              scores of all items.
            - A function of a batch of queries and a block of items, which returns their
              scores `[queries, items]`, higher is better. JAX traces it.
        candidates: The items that have a rank, for each query, in the forms of
            `relevant` (a frame has no labels), such as an array `[queries, n]` padded with
            −1. Their order does not matter: equal scores tie, and under "stable" the lower
            id comes first. None ranks every item. Not allowed with attributes.
        exclude_self: True removes each query's own item from its list, for a gallery that
            is ranked against itself. If all `query_ids` are also in `item_ids`, a query's
            own item is the item with the same id; otherwise it is item i for query i.
        exclude: The items to remove from the list of each query, in the forms of
            `candidates`.
        query_ids: `[queries]`, ids of any kind; the id at index i names row i of
            `queries`. Dicts and frames of queries, and the result, then hold these ids.
        item_ids: `[items]`, ids of any kind; the id at index i names item i. Lists of ids
            then hold these ids, too.
        unknown_items: How to treat ids that are not in `item_ids`, such as judged documents
            that are not in the corpus; see `evaluate_users`.
        k: How many items to return for each query. None takes the deepest cutoff of the
            metrics.
        batch_size: How many queries are evaluated at a time; fewer if the queries would
            fill less than four batches, or need too much memory.
        item_mask: `[items]` bool, the items that exist.
        item_columns: A dict from names, such as "groups", to columns of all items,
            `[items, …]`, for metrics that read them; see `evaluate_users`. Not allowed with
            attributes.
        ties: See `rank`. If scores have few distinct values, such as Hamming distances,
            the default counts every order of tied items.
        key: See `rank`.
        list_weights: `[queries]`, the weight of each query in means, at least 0; or a
            Series, a dict or a frame keyed by query.
        undefined: See `PerList.mean`.
        block_size: How many items are scored at a time; with "maxsim", how many items of
            similar lengths. None lets the call choose.
        mesh: The devices that share the work; see `evaluate_users`. Queries, items and
            their attributes may then be global arrays; with candidates, only queries.
        queries_axis: The mesh axis or axes that divide queries; see `evaluate_users`.
        items_axis: The mesh axis or axes that divide items; see `evaluate_users`.
        keep_lists: True to keep the values of every query and the ids of its first k items.
            Otherwise only the states are returned, whose memory does not grow with the
            number of queries.
        progress: True shows a bar of rich. Or a function, which is called with the number
            of queries done and the number of all queries. If items come in blocks and the
            number of items is known, the first number is the share of items that were read,
            times the number of all queries.

    Returns:
        An `Evaluation`: states, the values of every query, and the ids of the first k
        items. `compare`, `leaderboard`, `table` and `plots` accept it directly.

    Raises:
        ValueError: as `rank_catalog`; if an id belongs to no item, or a query is not in
            `queries`; if a score is NaN, unless its item is excluded, masked or no
            candidate; if a sparse entry is not finite, unless its item is masked; if only
            one of queries and items is sparse, or both are and the similarity is not
            "dot"; if a mesh, its axes and shardings do not agree; if no metric has a cutoff
            and k is None.
        TypeError: if an argument has another form; if lists of ids look like a dense
            matrix of labels.
        ModuleNotFoundError: if `progress` is True and rich is not installed.

    References:
        Musgrave et al., A metric learning reality check, ECCV 2020, on evaluating a gallery
        against itself; He et al., Hashing as tie-aware learning to rank, CVPR 2018, on why
        ties of Hamming distances must not be broken by the order of the gallery.

    >>> import numpy as np
    >>> queries = np.array([[1.0, 0], [0, 1]])
    >>> items = np.array([[3.0, 0], [2, 2], [1, 0], [0, 4]])
    >>> found = evaluate_embeddings(
    ...     ("recall@1,2", "mrr"), queries, items, [[2], [3]], similarity="cosine"
    ... )
    >>> found.retrieved_ids.tolist()  # items 0 and 2 tie
    [[2, 0], [3, 1]]
    >>> found.states["recall@1,2"].compute().tolist()
    [0.75, 1.0]
    >>> found.lists["mrr"].values.tolist()  # the mean of 1 and 1/2; and 1
    [0.75, 1.0]
    >>> classes = np.array([0, 0, 1, 1])
    >>> def same_class(query_classes, item_classes):
    ...     return query_classes[:, None] == item_classes[None]
    >>> evaluate_embeddings(
    ...     "precision@1",
    ...     items,
    ...     items,
    ...     by_attributes(same_class, classes, classes),
    ...     exclude_self=True,
    ... )
    Evaluation(precision@1 0.250, 4 queries)
    """
    inputs.option("undefined", undefined, types.Undefined)
    options, key = jobs.make_options(metrics, k, block_size, ties, key)
    item_vocabulary = Vocabulary.of("item_ids", item_ids, unknown_items)
    ids = Vocabulary.of("query_ids", query_ids), item_vocabulary
    (item_mask,) = ids[1].ordered(item_mask=item_mask)
    columns = ids[1].ordered_columns(item_columns)
    # Choose the devices by the shardings of arguments, before any argument is read.
    arguments = global_arguments(queries, items, relevant)
    devices = read_devices(mesh, queries_axis, items_axis, arguments)
    gallery, has_candidates = queries if exclude_self else None, candidates is not None
    per_item = gallery, item_mask, *columns.values(), *attributes_of_items(relevant)
    scorer = scorers.read_scorer(
        queries, items, similarity, devices, ids, per_item, has_candidates, block_size
    )
    shape = num_queries, num_items = (
        scorer.queries.shape[0],
        scorer.num_items or engine.MAX_ITEMS,
    )
    ids[0].check_size(num_queries)
    ids[1].check_size(num_items)
    judgements, texts = read_judgements(
        relevant, candidates, exclude, exclude_self, shape, devices, ids
    )
    if isinstance(scorer.items, HostBlocks):
        _refuse_unreadable(options, devices, judgements, scorer.items)
    # Labels by attributes may need all items in one block; labels by ids never do.
    block_size = block_size or jobs.block_size_for(options, judgements, num_items)
    options = options._replace(label_fn=judgements.label_fn, block_size=block_size)
    options = options._replace(missed_from=item_vocabulary.first_unknown)
    whole_columns, wide_columns = jobs.read_item_columns(
        columns, options, scorer.num_items
    )
    catalog = programs.CatalogArrays(
        item_mask=inputs.item_mask(item_mask, num_items),
        attributes=judgements.item_attributes,
        similarity=scorer.similarity,
        columns=whole_columns,
        wide_columns=wide_columns,
    )
    scorer.check(block_size, catalog.item_mask)
    rows = np.arange(num_queries)
    if not exclude_self:
        texts += remarks.on_excluded(judgements, QUERY, ids[0].of_rows(rows))
    if (scores := remarks.scores_of_function(scorer, block_size)) is not None:
        arguments = scores, judgements, catalog.item_mask, QUERY
        texts += remarks.on_infinite(*arguments, ids[0].of_rows(rows))
        texts += remarks.on_order(*arguments)
    choices = signatures.chosen(
        pool=candidates, exclude=exclude, items=item_mask, weights=list_weights
    )
    if exclude_self:
        choices["exclude"] = "both" if "exclude" in choices else "self"
    name = similarity if isinstance(similarity, str) else "custom"
    choices |= {"unknown": unknown_items, "similarity": name}
    job = jobs.EvaluationJob(
        options, scorer, judgements, rows, ids, QUERY, batch_size, key, choices
    )
    batches = job.batches(num_items)
    evaluation, *_ = engine.run(
        job, catalog, batches, undefined, progress, list_weights, keep_lists, texts
    )
    return dataclasses.replace(evaluation, query_ids=ids[0].ids)


def _refuse_unreadable(
    options: jobs.Options, devices: Devices, judgements: Judgements, blocks: HostBlocks
) -> None:
    """Raises `ValueError` if a call cannot read its items in blocks."""
    if devices.items_axis is not None:
        raise ValueError(
            "items_axis is given, but items come in blocks; pass a memory-mapped array, "
            "from which each process reads the part of its own devices, or only "
            "queries_axis"
        )
    if judgements.membership is not None:
        raise ValueError(
            "candidates is given, but items come in blocks; pass items as one array in "
            "memory, from which candidates can be gathered"
        )
    if (dtype := judgements.label_dtype) is not None:
        attributes.refuse_numbers(dtype, "items as one array in memory")
    if options.whole_list_metrics and judgements.label_fn is not None:
        raise ValueError(
            "relevance is by attributes, items come in blocks, and a metric has no "
            "cutoff; pass a cutoff, as in map@100, or items as one array in memory"
        )
    if options.whole_list_metrics and not blocks.is_repeatable:
        raise ValueError(
            "items is an iterator, which can be read once, but metrics without a "
            "cutoff read the items a second time; pass a sequence of blocks, a "
            "memory-mapped array, or a function that returns a fresh iterator"
        )
