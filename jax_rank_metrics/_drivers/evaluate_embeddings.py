"""`jrm.evaluate_embeddings`: queries and items with embeddings, evaluated in batches."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._calls import names
from jax_rank_metrics._check.remarks import infinite_scores
from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.checkpoints import Checkpoint
from jax_rank_metrics._drivers.devices import Array, read_devices
from jax_rank_metrics._drivers.engine import Job, run
from jax_rank_metrics._drivers.evaluation import Evaluation
from jax_rank_metrics._drivers.host_items import (
    MAX_ITEMS,
    over_host_blocks,
    read_blocks,
)
from jax_rank_metrics._drivers.interactions import QUERY, RawInteractions
from jax_rank_metrics._drivers.judgements import (
    Judgements,
    global_arguments,
    read_judgements,
)
from jax_rank_metrics._drivers.model import embeddings_model, read_vectors
from jax_rank_metrics._drivers.plan import Plan, make_plan, read_groups
from jax_rank_metrics._drivers.progress import Progress
from jax_rank_metrics._drivers.query_batches import (
    Queries,
    batches_of_candidates,
    block_size_for,
    bounded,
    over_all_items,
    over_candidates,
)
from jax_rank_metrics._drivers.sparse_vectors import (
    KNOWN_SCORES,
    read_sparse,
    sparse_model,
)
from jax_rank_metrics._drivers.token_scores import read_tokens, token_model
from jax_rank_metrics._drivers.vocabulary import Vocabulary
from jax_rank_metrics._sources.attributes import by_attributes
from jax_rank_metrics._sources.host_blocks import HostBlocks, is_in_blocks
from jax_rank_metrics._sources.similarities import (
    Similarity,
    SimilarityFn,
    SimilarityName,
    read_similarity,
)
from jax_rank_metrics._sources.tokens import Tokens, maxsim

_TRIED = 32  # queries whose scores are looked at for a remark


def evaluate_embeddings(
    metrics: names.Metrics,
    queries: Any,
    items: Any,
    relevant: RawInteractions | by_attributes,
    *,
    similarity: SimilarityName | SimilarityFn = "dot",
    candidates: RawInteractions | None = None,
    exclude_self: bool = False,
    exclude: RawInteractions | None = None,
    query_ids: _types.RowIds | None = None,
    item_ids: _types.RowIds | None = None,
    k: int | None = None,
    batch_size: int = 1024,
    item_mask: _types.ItemMask | None = None,
    item_groups: _types.ItemGroups | None = None,
    ties: _types.Ties | None = None,
    key: _types.Key | None = None,
    list_weights: _types.ListWeights | None = None,
    undefined: _types.Undefined = "zero",
    block_size: int | None = None,
    mesh: Mesh | None = None,
    queries_axis: _types.AxisNames | None = None,
    items_axis: _types.AxisNames | None = None,
    progress: bool | Progress = False,
    on_batch: Callable[[Checkpoint], object] | None = None,
    resume_from: Checkpoint | None = None,
) -> Evaluation:
    """Evaluates embeddings: ranks all items for every query, in batches, and measures that.

    Items are scored a block at a time as by `rank_catalog`, and the scores of all queries
    and items never exist at once. Metrics with a cutoff read one top-k. Those without,
    such as "map", find the places of relevant items in another pass over the scores.

    What is relevant is known by ids, or by attributes: in metric learning, whatever shares
    the class of the query. By attributes, metrics without a cutoff other than the hit rate
    and the reciprocal rank need all items in one block, and batches get smaller so that up
    to a million items fit.

    **Candidates** are items that a first stage found for each query. They alone have a
    rank. Relevant items that the first stage missed count all the same: as relevant items
    without a rank, in recall, in average precision and in the ideal order. So does
    trec_eval, and with it MTEB and BEIR, where judgements list what was not retrieved.
    The rerankers' evaluator of sentence-transformers adds the missed items to the
    candidates, or leaves them out: pass the union as candidates, or only relevant items
    among the candidates.

    **Queries without a relevant item** count 0 in most metrics, as everywhere in this
    package, and the states say how many there are; most evaluators of embeddings leave
    them out, as `undefined="skip"` does here.

    Call it outside of `jax.jit`. One device does the work: that of `items`, or the
    default; or with `mesh` all devices of all processes. Functions are static: pass the
    same object again, and not a fresh lambda, to use its program again.

    Args:
        metrics: As for `evaluate`. Of columns, `groups` are supported, as `item_groups`.
        queries: `[queries, dims]`, an embedding per query, of NumPy or JAX. Float64 is
            read as float32 unless x64 is on. Any trailing axes, if `similarity` is a
            function. Under "maxsim" `Tokens`, or a list of arrays `[tokens, dims]`. With
            "dot", both queries and items may be sparse matrices or arrays of scipy: it
            multiplies them, on the host. A batch then holds the scores of all items at
            once, and is smaller where these would exceed 128 MiB.
        items: `[items, dims]`, an embedding per item; its row is its id. Or blocks of
            them, for items that do not fit in memory: a memory-mapped array of NumPy, a
            list or an iterator of arrays `[block, dims]`, or a function that returns
            such an iterator. All queries advance through a block before the next one is
            read, so that the items are read once. Metrics without a cutoff read them a
            second time, which an iterator does not allow. Under "maxsim" `Tokens` or a
            list of arrays `[tokens, dims]`, of which those of similar lengths are scored
            together; or an iterator of such, or a function that returns one, for which
            all scores of queries and items are held.
        relevant: The items to be found: a list of ids for each query; a dict or a pandas
            Series from rows of queries to such lists; a frame of pandas or polars with
            the columns `query` (or `user`), `item` and perhaps `label`, a row for each
            pair; or a scipy sparse matrix `[queries, items]` of labels. Lists and frames
            may repeat an id, and negative ids are padding. A query that a dict or a frame
            lacks has no items. Or `by_attributes(label_fn, query_attributes,
            item_attributes)`, with attributes `[queries, …]` and `[items, …]`. Labels
            below 0 and NaN, which remove items elsewhere, raise here.
        similarity: How a query and an item are scored. Items with equal vectors tie.

            - "dot": by their product. Accelerators round products to fewer bits than
              float32 has, unless `jax.default_matmul_precision("float32")` is set.
            - "cosine": by the product of the vectors divided by their lengths, in
              float32; 0 where one of them is 0.
            - "l2": by −|q − x|², nearest first. It is a product too, and loses to
              cancellation what is below 1e-7 of the squared distances between vectors
              and their mean: neighbours that are nearer to each other than that may
              change places. Whole numbers, such as bytes, stay exact, and so do their
              ties, up to squared distances of 2²³.
            - "hamming": by minus the number of bits that differ, exactly. Both are
              packed, uint8 `[…, bytes]`, as `numpy.packbits(bits, axis=-1)` makes them.
            - "maxsim": by the sum, over the tokens of the query, of the largest product
              with a token of the item. Items without tokens rank last. A batch holds its
              scores of all items.
            - A function of a batch of queries and a block of items, which returns their
              scores `[queries, items]`, higher is better. JAX traces it.
        candidates: The items that have a rank, for each query, in the forms of
            `relevant` (a frame has no labels), such as an array `[queries, n]` padded with
            −1. Their order does not matter: equal scores tie, and under "stable" the lower
            id comes first. None ranks every item. Not by attributes.
        exclude_self: Whether item i leaves the list of query i, for a gallery that is
            ranked against itself.
        exclude: The items that leave the list of each query, in the forms of `candidates`.
        query_ids: `[queries]`, ids of any kind: that at index i names row i of `queries`.
            Dicts and frames of queries then hold these, and so does the result.
        item_ids: `[items]`, the same of items, also in lists of ids. Ids that are not
            among them raise.
        k: How many items to return for each query. None is the deepest cutoff of the
            metrics.
        batch_size: How many queries are evaluated at a time; fewer where they would fill
            less than four batches, or need too much memory.
        item_mask: `[items]` bool, the items that exist.
        item_groups: `[items, groups]`, how much each item belongs to each group, for
            metrics that read groups; see `rank_catalog`. Not by attributes.
        ties: See `rank`. Where scores are few numbers, such as Hamming distances, the
            default counts every order of tied items.
        key: See `rank`.
        list_weights: `[queries]`, what each query weighs in means, at least 0; or a
            Series, a dict or a frame by query.
        undefined: See `PerList.mean`.
        block_size: How many items are scored at a time; of one length, under "maxsim".
            None chooses.
        mesh: The devices that share the work; see `evaluate_users`. Queries, items and
            their attributes may then be global arrays; with candidates, queries alone.
        queries_axis: The mesh axis or axes that divide queries; see there.
        items_axis: The mesh axis or axes that divide items; see there.
        progress: True shows a bar of rich. Or a function, which is called with the number
            of queries done and the number of all queries. Where items come in blocks, that
            is as large a share of queries as that of the items read, if their number is
            known.
        on_batch: A function of what is done after each batch; see `evaluate_users`. Where
            items come in blocks, the first batch is done after the last block.
        resume_from: What `on_batch` was called with, from which to go on; see there.

    Returns:
        An `Evaluation`: states, the values of every query, and the ids of the first k
        items. `compare`, `leaderboard`, `table` and `plots` take it as it is.

    Raises:
        ValueError: as `rank_catalog`; if an id is not of an item, or a query not of
            `queries`; if a score is NaN, unless its item is excluded, masked or no
            candidate; if a sparse entry is not finite, unless its item is masked; if only
            one of queries and items is sparse, or the similarity is not "dot"; if a mesh,
            its axes and shardings do not agree; if `resume_from` is of another call; if no
            metric has a cutoff and k is None.
        TypeError: if an argument has none of these forms; if lists of ids look like a
            dense matrix of labels.
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
    >>> found.items.tolist()  # items 0 and 2 tie
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
    _inputs.option("undefined", undefined, _types.Undefined)
    plan, key = make_plan(metrics, k, block_size, ties, key)
    ids = Vocabulary.of("query_ids", query_ids), Vocabulary.of("item_ids", item_ids)
    ids_of_queries, ids_of_items = (None if x is None else x.ids for x in ids)
    if _inputs.is_frame(items):
        items = _inputs.by_ids("items", items, ids_of_items, "items")
    raw_items, tokens, in_blocks = items, None, is_in_blocks(items)
    if similarity == "maxsim":
        in_blocks = False
        queries, items, tokens = read_tokens(queries, items)
    # What says how it is sharded decides on the devices, before anything is read.
    known_items = None if in_blocks else items
    arguments = global_arguments(queries, known_items, relevant)
    devices = read_devices(mesh, queries_axis, items_axis, arguments)
    if isinstance(items, np.memmap):
        # Devices cut a mapped array, and candidates are gathered from it, as from others.
        in_blocks = devices.mesh is None and candidates is None
    is_sparse = _inputs.is_sparse(queries) or _inputs.is_sparse(items)
    if is_sparse:
        vectors, items = read_sparse(queries, items, similarity)
    else:
        vectors = read_vectors("queries", queries, ids_of_queries)
    num_queries, blocks = vectors.shape[0], None
    # Blocks are known by one item, and by their number if anything says it.
    if in_blocks:
        expected = num_queries if exclude_self else None
        expected = expected if ids_of_items is None else len(ids_of_items)
        blocks = read_blocks(items, (item_mask, item_groups), relevant, expected)
        items = blocks.example
    # Of tokens and sparse vectors, the scores of a batch are known before it is ranked.
    if tokens is not None:
        model = token_model(vectors, tokens, devices, block_size, candidates is None)
        scoring, num_items = Similarity(maxsim), len(tokens)
    elif is_sparse:
        scoring, num_items = KNOWN_SCORES, items.shape[0]
        mask = _inputs.item_mask(item_mask, num_items)
        model = sparse_model(vectors, items, mask, candidates is not None)
    else:
        items = read_vectors("items", items)
        num_items = len(items) if blocks is None else blocks.num_items or MAX_ITEMS
        scoring = read_similarity(similarity, vectors, items)
        model = embeddings_model(vectors, items, scoring, devices)
    for vocabulary, size, unit in zip(
        ids, (num_queries, num_items), ("queries", "items"), strict=True
    ):
        if vocabulary is not None:
            vocabulary.check_size(size, unit)
    if ids_of_items is not None:
        item_mask = _inputs.by_ids("item_mask", item_mask, ids_of_items, "items")
        item_groups = _inputs.by_ids("item_groups", item_groups, ids_of_items, "items")
    knows_scores = tokens is not None or is_sparse
    if knows_scores and candidates is None:  # those of all items, for a whole batch
        batch_size = _inputs.positive_integer("batch_size", batch_size)
        batch_size = bounded(batch_size, num_items)
    judgements = read_judgements(
        relevant,
        candidates,
        exclude,
        exclude_self,
        (num_queries, num_items),
        devices,
        ids,
    )
    # Labels by attributes may need all items in one block, which ids never do.
    plan = plan._replace(label_fn=judgements.label_fn)
    size = block_size or block_size_for(plan, num_items, in_blocks)
    if not knows_scores:
        scoring.check(vectors, items, min(size, num_items), (num_queries,))
    plan = plan._replace(block_size=size)
    catalog = step.CatalogArrays(
        item_mask=_inputs.item_mask(item_mask, num_items),
        attributes=judgements.item_attributes,
        similarity=scoring,
        groups=read_groups(item_groups, plan.bounds, num_items, relevant),
    )
    rows = np.arange(num_queries)
    names_of_queries = rows if ids_of_queries is None else ids_of_queries
    list_weights = _inputs.weights_of_lists(list_weights, names_of_queries, "queries")
    all_queries = Queries(devices, model, QUERY, rows, judgements, batch_size, key)
    work = _batches(plan, all_queries, catalog, num_items, blocks, progress)
    source = items if blocks is None else (raw_items, blocks.num_items)
    if tokens is not None:
        is_padded = isinstance(raw_items, Tokens)
        source = (raw_items.vectors, raw_items.mask) if is_padded else raw_items
    # What a call that resumes must have in common with this one, by names of arguments.
    inputs = {
        "queries": vectors,
        "items": source,
        **judgements._asdict(),
        "similarity": similarity,
        "item_mask": catalog.item_mask,
        "item_groups": catalog.groups,
        "list_weights": list_weights,
        "ties": plan.ties,
        "key": key,
    }
    why = "no query has a relevant item in its list"
    labels = None if judgements.relevant is None else judgements.relevant.data
    remarks = tuple
    if (
        scoring.is_custom
        and not knows_scores
        and devices.mesh is None
        and not in_blocks
    ):
        block = vectors, items[:size]
        remarks = partial(_infinite_scores, scoring, *block, judgements, catalog)
    job = Job(
        plan,
        devices,
        all_queries,
        work,
        undefined,
        inputs,
        why,
        labels,
        remarks,
        list_weights=list_weights,
    )
    progress = progress if blocks is None else False  # all has been reported
    evaluation, _ = run(job, progress, on_batch, resume_from)
    return dataclasses.replace(evaluation, query_ids=ids_of_queries, _item_ids=ids[1])


def _infinite_scores(
    scoring: Similarity,
    queries: Array,
    items: Array,
    judgements: Judgements,
    catalog: step.CatalogArrays,
) -> list[str]:
    """Remarks on scores of −inf, by those of the first queries and a block of items."""
    queries = queries[:_TRIED]
    scores = np.asarray(jax.jit(scoring.scores)(queries, items))
    is_lowest = np.isneginf(scores.astype(np.float32))
    part = slice(len(queries)), slice(len(items))
    if judgements.exclude is not None:
        is_lowest &= judgements.exclude.tocsr()[part].toarray() == 0
    if judgements.candidates is not None:
        is_lowest &= judgements.candidates.tocsr()[part].toarray() != 0
    if catalog.item_mask is not None:
        is_lowest &= np.asarray(catalog.item_mask[: len(items)])
    lists = np.flatnonzero(is_lowest.any(axis=1))
    if not lists.size:
        return []
    example = f"{lists.size} of the first {len(queries)} queries"
    return [infinite_scores(f"{example}, such as query {lists[0]}")]


def _batches(
    plan: Plan,
    queries: Queries,
    catalog: step.CatalogArrays,
    num_items: int,
    blocks: HostBlocks | None,
    progress: bool | Progress,
) -> step.Batches:
    """Returns the batches over blocks that the host reads, candidates, or all items."""
    if blocks is not None:
        return over_host_blocks(plan, queries, catalog, blocks, progress)
    if queries.judgements.candidates is not None:
        return over_candidates(plan, queries, catalog, *batches_of_candidates(queries))
    batches = queries.batches(plan, num_items)
    return over_all_items(plan, queries, catalog, num_items, batches)
