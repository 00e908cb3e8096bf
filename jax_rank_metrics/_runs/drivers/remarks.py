"""Remarks on judgements, and on the scores of the first queries."""

import jax
import numpy as np

from jax_rank_metrics._engine.sources.host_blocks import HostBlocks
from jax_rank_metrics._runs.drivers.devices import is_global
from jax_rank_metrics._runs.drivers.interactions import USER, Unit
from jax_rank_metrics._runs.drivers.judgements import Judgements, first_rows, same_width
from jax_rank_metrics._runs.drivers.scorers import Embeddings, Scores, ScoreSource
from jax_rank_metrics._values import remarks

_MAX_QUERIES, _MAX_SCORES = 32, 2**20  # no more than these are inspected


def on_excluded(judgements: Judgements, unit: Unit, query_ids: np.ndarray) -> list[str]:
    """Returns a remark if all relevant items of a query are excluded.

    Args:
        judgements: The judgements.
        unit: The nouns for a query in messages.
        query_ids: `[queries]`, the ids of queries in messages.
    """
    relevant, excluded = judgements.relevant, judgements.exclude
    if relevant is None or excluded is None:
        return []
    same_width(relevant, excluded)
    # Products of sparse rows keep the entries in both: relevant items that are excluded.
    relevant_counts = np.diff(relevant.indptr)
    excluded_counts = np.diff((relevant * excluded).tocsr().indptr)
    is_unreachable = (relevant_counts > 0) & (excluded_counts == relevant_counts)
    if not is_unreachable.any():
        return []
    was_excluded, name, pronoun = "exclude holds all relevant items", "exclude", "which"
    if unit == USER:
        was_excluded, name, pronoun = "seen holds all relevant items", "seen", "whom"
    return [
        f"{was_excluded} of {np.count_nonzero(is_unreachable)} of "
        f"{query_ids.size} {unit[1]}, such as {unit[0]} "
        f"{query_ids[np.argmax(is_unreachable)]}, for {pronoun} metrics are undefined; "
        f"remove these items from {name} if they should be found"
    ]


def on_rows(
    scorer: ScoreSource,
    rows: np.ndarray,
    first_batch: np.ndarray,
    judgements: Judgements,
    item_mask: jax.Array | None,
    unit: Unit,
) -> list[str]:
    """Returns the remarks of `on_order`, if the scorer knows the scores of all items.

    Args:
        scorer: The scorer, which was started.
        rows: `[queries]`, the row of each query in the scorer.
        first_batch: The indices of the queries for which a function was called already.
        judgements: See `on_infinite`.
        item_mask: See `on_infinite`.
        unit: See `on_infinite`.
    """
    if not isinstance(scorer, Scores):
        return []
    queries, scores = np.arange(rows.size), scorer.queries
    if scores is None:
        queries, scores = first_batch[first_batch >= 0], scorer.first_scores
        rows = np.arange(queries.size)
    if scores is None or is_global(scores):
        return []
    if jax.default_backend() == "cpu":
        scores = np.asarray(scores)  # copies nothing, and compiles nothing
    queries, scores = queries[:_MAX_QUERIES], np.asarray(scores[rows[:_MAX_QUERIES]])
    return on_order(scores, judgements, item_mask, unit, queries)


def scores_of_function(scorer: ScoreSource, block_size: int) -> np.ndarray | None:
    """Returns the scores of the first queries and a block of items, by a user's function.

    None if the similarity is a function of the package, because its scores are finite. Also
    None on a mesh, if items come in blocks, and if the scorer is not `Embeddings`.
    """
    if not isinstance(scorer, Embeddings) or isinstance(scorer.items, HostBlocks):
        return None
    if scorer.devices.mesh is not None or not scorer.similarity.is_custom:
        return None
    queries, block = scorer.queries[:_MAX_QUERIES], scorer.items[:block_size]
    return np.asarray(jax.jit(scorer.similarity.scores)(queries, block))


def on_infinite(
    scores: np.ndarray,
    judgements: Judgements,
    item_mask: jax.Array | None,
    unit: Unit,
    query_ids: np.ndarray,
) -> list[str]:
    """Returns a remark if an item that has a rank has the score −∞.

    Args:
        scores: `[queries, items]`, the scores of the first queries and items.
        judgements: The judgements of all queries.
        item_mask: `[items]` bool, the items that exist; None if all do.
        unit: The nouns for a query in messages.
        query_ids: `[queries]`, the ids of queries in messages.
    """
    is_lowest = np.isneginf(scores.astype(np.float32))
    is_lowest &= judgements.ranked_items(scores.shape, item_mask)
    queries = np.flatnonzero(is_lowest.any(axis=1))
    if not queries.size:
        return []
    example = f"{queries.size} of the first {len(scores)} {unit[1]}"
    return [
        remarks.infinite_scores(f"{example}, such as {unit[0]} {query_ids[queries[0]]}")
    ]


def on_order(
    scores: np.ndarray,
    judgements: Judgements,
    item_mask: jax.Array | None,
    unit: Unit,
    queries: np.ndarray | None = None,
) -> list[str]:
    """Returns remarks on scores that rank relevant items last, or that float32 rounds.

    The first four arguments are as in `on_infinite`. `queries` holds the indices of the
    queries that have these scores; None means the first queries. If all scores are equal,
    there is no remark, because a constant model is a baseline.
    """
    if judgements.relevant is None:
        return []
    scores = scores[: max(_MAX_SCORES // scores.shape[1], 1)]
    num_queries, num_items = scores.shape
    queries = np.arange(num_queries) if queries is None else queries[:num_queries]
    judgements = judgements.of_queries(queries)
    with np.errstate(over="ignore"):
        compared = scores.astype(jax.dtypes.canonicalize_dtype(scores.dtype))
    exists = judgements.ranked_items(scores.shape, item_mask) & (compared > -np.inf)
    labels = first_rows(judgements.relevant, scores.shape)
    relevant = exists & (labels > 0)
    lists = remarks.FlatLists(
        labels=labels.reshape(-1),
        scores=None,
        exists=exists.reshape(-1),
        relevant=relevant.reshape(-1),
        list_numbers=np.repeat(queries, num_items),
        shape=(queries.max() + 1,),
        exact_scores=scores.reshape(-1),
    )
    values = compared.reshape(-1).astype(np.float64)
    texts = remarks.remark_on_reversal(lists, values)
    if compared.dtype != scores.dtype:
        # Rounding changes a metric only if an item then ties with a relevant item.
        pairs = zip(compared, relevant, strict=True)
        is_tied = exists & [np.isin(row, row[at]) for row, at in pairs]
        lists = lists._replace(exists=is_tied.reshape(-1))
        texts += remarks.remark_on_collisions(lists, values)
    return [f"among the first {num_queries} {unit[1]}, {text}" for text in texts]
