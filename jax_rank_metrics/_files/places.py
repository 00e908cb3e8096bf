"""The places of judged documents in a run, counted on the host."""

from typing import NamedTuple

import numpy as np

from jax_rank_metrics._files.frames import polars
from jax_rank_metrics._files.lists import Sides
from jax_rank_metrics._ordering.on_host import count_places, in_rank_order

_UNRANKED = 2**31 - 1  # the key of documents without a rank, which come last


class Places(NamedTuple):
    """All judged documents, list after list, each list in rank order.

    Documents that were not retrieved come last in their list.
    """

    starts: np.ndarray  # [lists + 1], where the documents of each list begin and end
    relevance: np.ndarray  # [documents]
    retrieved: np.ndarray  # [documents] bool, whether it has a rank
    above: np.ndarray  # [documents] int32, how many rank strictly above its tie group
    tied: np.ndarray  # [documents] int32, how many tie with it, itself included
    num_retrieved: np.ndarray  # [lists] int32


def places_of(sides: Sides, ties: str, depth: int | None) -> Places:
    """Counts the places of the judged documents.

    Args:
        sides: Judgements and a run.
        ties: See `join`.
        depth: See `join`.
    """
    above, tied, is_ranked = count_places_of_judged(sides, ties, depth)
    counts = sides.retrieved.counts
    if depth is not None:
        counts = np.minimum(counts, depth)
    judged, lists = sides.judged, sides.judged.list_ids()
    order = in_rank_order(lists, np.where(is_ranked, above, _UNRANKED))
    return Places(
        starts=_starts(judged.counts),
        relevance=judged.values[order],
        retrieved=is_ranked[order],
        above=above[order],
        tied=tied[order],
        num_retrieved=counts.astype(np.int32),
    )


def count_places_of_judged(
    sides: Sides, ties: str, depth: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts the documents above each judged one, those that tie, and finds the ranked.

    Returns:
        `[judged]` each, in the order of the judgements: `above`, `tied` and `retrieved`
        of `Places`.
    """
    counts = sides.retrieved.counts
    is_ranked = ~np.isnan(sides.scores)
    lists = sides.judged.list_ids()
    above, tied = np.zeros((2, len(lists)), np.int32)
    above[is_ranked], tied[is_ranked] = count_places(
        [sides.retrieved.values[rows] for rows in sides.retrieved.ranges()],
        sides.scores[is_ranked],
        _starts(np.bincount(lists[is_ranked], minlength=len(counts))),
    )
    if ties == "trec":
        documents = np.flatnonzero(tied > 1)
        above[documents] += _count_later(sides, documents, lists)
        tied = np.minimum(tied, 1)
    if depth is not None:
        # Of the group across the cut, only the documents with the last ids are kept.
        is_kept = above < depth
        documents = np.flatnonzero(is_kept & (above + tied > depth))
        later = _count_later(sides, documents, lists)
        is_kept[documents] = above[documents] + later < depth
        tied[documents] = depth - above[documents]
        is_ranked &= is_kept
    return above, tied, is_ranked


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def _count_later(sides: Sides, documents: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Counts the documents of the same score whose ids are later, as UTF-8 bytes.

    Args:
        sides: Judgements and a run.
        documents: Indices of judged documents, each of which was retrieved.
        lists: `[judged]`, the list of every judged document.

    Returns:
        `[len(documents)]` integers.
    """
    if not len(documents):
        return np.zeros(0, np.int32)
    ranges, values = sides.retrieved.ranges(), sides.retrieved.values
    first_documents = np.flatnonzero(np.diff(lists[documents], prepend=-1))
    rows, groups, groups_of_rows, num_groups = [], [], [], 0
    for group in np.split(documents, first_documents[1:]):
        # The scores of tied documents number groups of rows, from list to list.
        scores, indices = np.unique(sides.scores[group], return_inverse=True)
        of_list = ranges[lists[group[0]]]
        nearest = scores.searchsorted(values[of_list])
        is_tied = scores[np.minimum(nearest, len(scores) - 1)] == values[of_list]
        rows.append(of_list.start + np.flatnonzero(is_tied))
        groups.append(num_groups + indices)
        groups_of_rows.append(num_groups + nearest[is_tied])
        num_groups += len(scores)
    rows, groups, groups_of_rows = map(np.concatenate, (rows, groups, groups_of_rows))
    judged_ids, run_ids = sides.doc_ids()
    pl = polars("jrm.join")
    ids = pl.concat([judged_ids[documents], run_ids[rows]]).cast(pl.String)
    ranks = ids.rank("dense").to_numpy().astype(np.int64)
    # Keys are in the order of the groups, and within a group in that of the ids.
    ranks += np.concatenate([groups, groups_of_rows]) * (len(ids) + 1)
    size = len(documents)
    above, _ = count_places([ranks[size:]], ranks[:size], np.array([0, size]))
    in_later_groups = len(rows) - np.cumsum(np.bincount(groups_of_rows))
    return above - in_later_groups[groups]
