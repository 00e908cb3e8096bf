"""The places of judged documents in a run, found on the host."""

from typing import NamedTuple

import numpy as np

from jax_rank_metrics._files.frames import polars
from jax_rank_metrics._files.lists import Sides
from jax_rank_metrics._ordering.on_host import (
    best_rows,
    count_places,
    in_rank_order,
    lists_with_ties,
)

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


def resolved(sides: Sides, ties: str, depth: int | None) -> Sides:
    """Returns the run as deep as asked, and without ties if these follow trec_eval.

    Whoever reads the result knows of neither: values tie where they are equal. With
    ties="trec", those of a list with ties are the negative numbers of documents above each.

    Args:
        sides: Judgements and a run.
        ties: See `join`.
        depth: See `join`.
    """
    retrieved, ranges = sides.retrieved, sides.retrieved.ranges()
    if depth is None:  # Lists without ties are in order already.
        ranges = lists_with_ties(retrieved.values, ranges) if ties == "trec" else []
    if not ranges:
        return sides
    rows = best_rows(retrieved.values, ranges)  # list after list
    values, counts = (
        retrieved.values[rows],
        np.array([x.stop - x.start for x in ranges]),
    )
    first_of_list = np.repeat(np.cumsum(counts) - counts, counts)
    # Scores 9 7 7 5 of a list make the groups 1 2 2 3, of which the middle one is tied.
    begins = np.ones(len(rows), bool)
    begins[1:] = values[1:] != values[:-1]
    begins[first_of_list] = True
    tied = np.flatnonzero(~begins | ~np.append(begins[1:], True))
    if len(tied):
        pl = polars("jrm.join")
        _, run_ids = sides.doc_ids()
        keys = {"group": np.cumsum(begins)[tied], "id": run_ids[rows[tied]]}
        # The document with the last id, by its bytes, is the first of its group.
        order = pl.DataFrame(keys).select(
            pl.arg_sort_by(
                "group", pl.col("id").cast(pl.String), descending=[False, True]
            )
        )
        rows[tied] = rows[tied][order.to_series().to_numpy()]
    above = np.arange(len(rows)) - first_of_list
    if ties == "trec":
        in_order = retrieved.values.copy()
        in_order[rows] = -above
        sides = sides.with_values(in_order)
    if depth is None:
        return sides
    is_kept = np.zeros(len(retrieved.values), bool)
    is_kept[rows[above < depth]] = True
    return sides.keep(is_kept)


def places_of(sides: Sides) -> Places:
    """Counts the documents above each judged one, and those that tie with it."""
    counts, values = sides.retrieved.counts, sides.retrieved.values
    is_ranked, lists = sides.is_retrieved, sides.judged.list_ids()
    above, tied = np.zeros((2, len(lists)), np.int32)
    above[is_ranked], tied[is_ranked] = count_places(
        [values[rows] for rows in sides.retrieved.ranges()],
        sides.scores[is_ranked],
        _starts(np.bincount(lists[is_ranked], minlength=len(counts))),
    )
    order = in_rank_order(lists, np.where(is_ranked, above, _UNRANKED))
    return Places(
        starts=_starts(sides.judged.counts),
        relevance=sides.judged.values[order],
        retrieved=is_ranked[order],
        above=above[order],
        tied=tied[order],
        num_retrieved=counts.astype(np.int32),
    )


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])
