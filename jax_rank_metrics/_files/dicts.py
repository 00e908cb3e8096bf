"""Judgements and runs in dicts of dicts, without frames of all documents."""

import functools
import itertools
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from jax_rank_metrics._files.frames import polars
from jax_rank_metrics._files.lists import GroupedRows, Ids, Sides

Dicts = Mapping[str, Mapping[str, float]]  # {query: {document: number}}


def sides_of_dicts(qrels: Mapping[Any, Any], run: Mapping[Any, Any]) -> Sides | None:
    """Finds the judged documents in the run without making frames of all documents.

    Either may be empty.

    Returns:
        None unless all ids are strings and all numbers are real and legal, and float64
        distinguishes the scores. Whoever makes frames of the dicts then learns what is
        wrong, if anything is.
    """
    pl = polars("jrm.join")
    judged, retrieved = _strings_only(qrels), _strings_only(run)
    if judged is None or retrieved is None:
        return None
    relevance, run_scores = _numbers_of(judged), _numbers_of(retrieved)
    if relevance is None or run_scores is None:
        return None
    if run_scores.dtype.kind == "i" and _exceed_float64(run_scores):
        return None
    run_scores = run_scores.astype(np.float64, copy=False)
    if np.isnan(run_scores).any() or not np.isfinite(relevance).all():
        return None
    judged_rows, run_rows = _rows_of(judged, relevance), _rows_of(retrieved, run_scores)
    index_in_run = {query: index for index, query in enumerate(retrieved)}
    indices = [index_in_run.get(query, -1) for query in judged]
    starts = np.append(run_rows.starts, 0)[indices]
    counts = np.append(run_rows.counts, 0)[indices]
    empty: dict[str, float] = {}
    scores = itertools.chain.from_iterable(
        map(retrieved.get(query, empty).get, docs, itertools.repeat(np.nan))
        for query, docs in judged.items()
    )
    unjudged = [query for query in retrieved if query not in judged]
    return Sides(
        pl.Series("query_id", [*judged]),
        pl.Series("query_id", unjudged, pl.String),
        judged_rows,
        GroupedRows(run_scores, starts, counts),
        np.fromiter(scores, np.float64, len(relevance)),
        functools.partial(_rows_in_run, judged, retrieved),
        functools.partial(_doc_ids_of, judged, retrieved),
        counts > 0,
        is_ascii=all(
            "".join(x).isascii() for y in (judged, retrieved) for x in y.values()
        ),
    )


def _strings_only(data: Mapping[Any, Any]) -> Dicts | None:
    """Returns a copy without empty queries; None unless all ids are strings of UTF-8."""
    kinds, copies = set(map(type, data)), {}
    for query, docs in data.items():
        if not isinstance(docs, Mapping) or "" in docs:
            return None
        kinds.update(map(type, docs))
        if docs:
            copies[query] = dict(docs)
    if not kinds <= {str} or "" in copies:
        return None
    try:
        for ids in (copies, *copies.values()):
            "".join(ids).encode()
    except UnicodeEncodeError:
        return None
    return copies


def _numbers_of(dicts: Dicts) -> np.ndarray | None:
    """Returns all numbers as int64 or float64; None if there are other values."""
    kinds = set[type]()
    for docs in dicts.values():
        kinds.update(map(type, docs.values()))
    if not all(issubclass(kind, numbers.Real) for kind in kinds):
        return None
    is_integer = all(issubclass(kind, numbers.Integral) for kind in kinds)
    values = itertools.chain.from_iterable(docs.values() for docs in dicts.values())
    try:
        return np.fromiter(values, np.int64 if is_integer else np.float64)
    except OverflowError:
        return None


def _exceed_float64(integers: np.ndarray) -> bool:
    """Returns whether float64 might not distinguish some of the integers."""
    return bool(((integers < -(2**53)) | (integers > 2**53)).any())


def _rows_of(dicts: Dicts, values: np.ndarray) -> GroupedRows:
    counts = np.array([len(docs) for docs in dicts.values()], np.int64)
    return GroupedRows(values, np.cumsum(counts) - counts, counts)


def _rows_in_run(judged: Dicts, run: Dicts) -> np.ndarray:
    """Returns the row of each judged document in the run, −1 where it has none."""
    rows, empty = itertools.count(), dict[str, int]()
    row_of_doc = {}  # by query, for the judged documents alone, which are few
    for query, docs in run.items():
        is_judged = map(judged.get(query, empty).__contains__, docs)
        pairs = zip(docs, rows, strict=False)
        row_of_doc[query] = dict(itertools.compress(pairs, is_judged))
    of_judged = itertools.chain.from_iterable(
        map(row_of_doc.get(query, empty).get, docs, itertools.repeat(-1))
        for query, docs in judged.items()
    )
    return np.fromiter(of_judged, np.int64)


def _doc_ids_of(judged: Dicts, run: Dicts) -> Ids:
    pl = polars("jrm.join")
    ids = ([*itertools.chain.from_iterable(dicts.values())] for dicts in (judged, run))
    judged_ids, run_ids = (pl.Series("doc_id", x, pl.String) for x in ids)
    return judged_ids, run_ids
