"""Reads arguments of drivers for `jrm.check`: as ids, and the scores of some queries."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._check.remarks import ALL_EXCLUDED
from jax_rank_metrics._check.values import check_ids
from jax_rank_metrics._drivers.evaluate_users import remark_on_seen
from jax_rank_metrics._drivers.interactions import (
    QUERY,
    USER,
    Interactions,
    RawInteractions,
    SparseRows,
    read_users,
)
from jax_rank_metrics._drivers.scorers import read_vectors
from jax_rank_metrics._sources.similarities import read_similarity
from jax_rank_metrics._types import Gain, Number

_SCORED = 64  # queries whose vectors are multiplied


def check_driver(
    raw_relevant: RawInteractions,
    arguments: Mapping[str, Any],
    gain_fn: Gain,
    threshold: Number,
) -> list[str]:
    """Checks the arguments of `evaluate_users` or `evaluate_embeddings`.

    Args:
        raw_relevant: The argument `relevant` of either.
        arguments: Others by name; those of `evaluate_embeddings` if queries are there.
        gain_fn: See `check`.
        threshold: The smallest relevant label.
    """
    of_users = "queries" not in arguments and "items" not in arguments
    unit, name = (USER, "seen") if of_users else (QUERY, "exclude")
    foreign = {"exclude", "similarity"} if of_users else {"seen", "model", "users"}
    for x in arguments:
        if x in foreign:
            raise ValueError(
                f"{x} is no argument of evaluate_{'users' if of_users else 'embeddings'}; "
                "pass the arguments of one driver"
            )
    relevant = Interactions.of("relevant", raw_relevant, unit)
    excluded = None
    if name in arguments:
        excluded = Interactions.of(name, arguments[name], unit)
    model = arguments.get("model")
    vectors = model if isinstance(model, tuple) else None
    scores = None
    if not of_users:
        vectors = arguments.get("queries"), arguments.get("items")
    elif vectors is None and model is not None and not callable(model):
        scores = _inputs.numpy_array("model", model)
    if vectors is not None:
        vectors = [*map(read_vectors, ("queries", "items"), vectors)]
        num_queries, num_items = map(len, vectors)
    else:
        num_queries, num_items = (None, None) if scores is None else scores.shape
    by_name = {"relevant": relevant, name: excluded}
    interactions = {x: y for x, y in by_name.items() if y is not None}
    query_ids = read_users(arguments.get("users"), interactions, num_queries)
    rows = relevant.rows(query_ids)
    excluded_rows = None if excluded is None else excluded.rows(query_ids)
    if num_items is not None:
        relevant.check_items(num_items)
    ids, labels = _padded(rows)
    excluded_ids = None if excluded_rows is None else _padded(excluded_rows)[0]
    options = gain_fn, threshold
    remarks = check_ids((None, ids, labels, excluded_ids), None, num_items, *options)
    if of_users:
        # The driver says the same of what was seen, in words that suit its arguments.
        remarks = [x for x in remarks if not x.startswith(ALL_EXCLUDED)]
        text = remark_on_seen(rows, excluded_rows, query_ids)
        remarks += [] if text is None else [text]
    else:
        remarks = [x.replace("exclude_ids", "exclude") for x in remarks]
    if vectors is not None:
        query_ids = query_ids[:_SCORED]
        pair = vectors[0][query_ids], vectors[1]
        similarity = read_similarity(arguments.get("similarity", "dot"), *pair)
        scores = np.asarray(jax.jit(similarity.scores)(*pair))
    elif scores is not None:
        scores = scores[query_ids]
    if scores is not None:
        part = slice(len(query_ids))
        excluded_ids = None if excluded_ids is None else excluded_ids[part]
        arrays = None, ids[part], labels[part], excluded_ids
        mask = arguments.get("item_mask")
        mask = _inputs.boolean("item_mask", mask, "items", scores.shape[-1:])
        remarks += [
            x
            for x in check_ids(
                arrays,
                scores,
                None,
                *options,
                skips_infinite=of_users,
                item_mask=None if mask is None else np.asarray(mask),
            )
            if x not in remarks and not x.startswith((ALL_EXCLUDED, "none of"))
        ]
    return remarks


def _padded(rows: SparseRows) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ids of sparse rows, padded with −1, and their values."""
    counts = np.diff(rows.indptr)
    exists = np.arange(counts.max(initial=0)) < counts[:, None]
    ids = np.full(exists.shape, -1, np.int32)
    values = np.zeros(exists.shape, np.float32)
    ids[exists], values[exists] = rows.indices, rows.data
    return ids, values
