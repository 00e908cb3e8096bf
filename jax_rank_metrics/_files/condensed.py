"""Condensed lists: runs without the documents that were not judged."""

import functools
from collections.abc import Callable

import numpy as np

from jax_rank_metrics._files.frames import polars
from jax_rank_metrics._files.lists import Frames, Ids, Rows, Sides
from jax_rank_metrics._files.places import count_places_of_judged


def condensed(sides: Sides, depth: int | None) -> Sides:
    """Returns judgements and a run without the documents that were not judged.

    Args:
        sides: Judgements and a run.
        depth: How many documents of each query to keep before; see `join`.
    """
    judged, is_kept = sides.judged, ~np.isnan(sides.scores)
    if depth is not None:
        _, _, is_kept = count_places_of_judged(sides, "expected", depth)
    is_kept = is_kept & (judged.values >= 0)
    rows, lists = np.flatnonzero(is_kept), judged.list_ids()[is_kept]
    counts = np.bincount(lists, minlength=len(judged.counts))
    retrieved = Rows(sides.scores[rows], np.cumsum(counts) - counts, counts)
    return sides._replace(
        retrieved=retrieved,
        scores=np.where(is_kept, sides.scores, np.nan),
        doc_ids=functools.partial(_doc_ids, sides.doc_ids, rows),
        frames=functools.partial(_frames, sides, rows, lists),
    )


def _doc_ids(doc_ids: Callable[[], Ids], rows: np.ndarray) -> Ids:
    judged_ids, _ = doc_ids()
    return judged_ids, judged_ids[rows]


def _frames(sides: Sides, rows: np.ndarray, lists: np.ndarray) -> Frames:
    (judged, _), (judged_ids, _) = sides.frames(), sides.doc_ids()
    columns = [
        sides.query_ids[lists].alias("query_id"),
        judged_ids[rows].alias("doc_id"),
        polars("jrm.join").Series("score", sides.scores[rows]),
    ]
    return judged, polars("jrm.join").DataFrame(columns)
