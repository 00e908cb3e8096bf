"""All documents of all judged queries as packed arrays, the arguments of `rank`."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jax_rank_metrics._files.frames import polars
from jax_rank_metrics._files.subtopics import COLUMN, column_of
from jax_rank_metrics._inputs.pad import next_size

if TYPE_CHECKING:
    import polars as pl


class PackedItems(NamedTuple):
    """Arrays `[items]`; see `Joined`, which has all of them as attributes."""

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray
    retrieved: np.ndarray
    columns: dict[str, np.ndarray]
    segment_ids: np.ndarray
    doc_ids: "pl.Series"


def labels_of(relevance: np.ndarray) -> np.ndarray:
    """Returns labels, 0 where the relevance is below 0: int32 if they fit, else float32."""
    labels = np.maximum(relevance, 0)
    fits = labels.dtype.kind == "i" and labels.max(initial=0) < 2**31
    return labels.astype(np.int32 if fits else np.float32)


def pack(
    judged: "pl.DataFrame", run: "pl.DataFrame", ties: str, depth: int | None
) -> PackedItems:
    """Returns every document of every judged query, padded to one of a few sizes.

    Args:
        judged: The judgements, with ids of the same dtypes as those of the run.
        run: The run.
        ties: See `join`.
        depth: See `join`.
    """
    pl = polars("jrm.join")
    queries = judged["query_id"].unique(maintain_order=True)
    lists = pl.DataFrame([queries]).with_row_index("list")
    judged, run = (  # without the queries that only the run has
        frame.join(lists, "query_id", "inner", maintain_order="left")
        for frame in (judged, run)
    )
    items = _with_keys(run, ties, depth).join(
        judged.drop("query_id"),
        ["list", "doc_id"],
        "full",
        coalesce=True,
        # Metrics without a formula for ties break them by the order of items, which must
        # therefore not depend on the join.
        maintain_order="left_right",
    )
    has_subtopics = COLUMN in judged.columns
    if has_subtopics:
        # Of documents that add as many subtopics, the ideal order of α-nDCG takes the
        # first item. This is the one with the last id, as in ndeval.
        keys = "list", pl.col("doc_id").cast(pl.String)
        order = items.select(pl.arg_sort_by(*keys, descending=[False, True]))
        items = items[order.to_series()]
    size = items.height
    padding = next_size(size) - size
    relevance = items["relevance"]

    def padded(values: np.ndarray, filler: int = 0) -> np.ndarray:
        return np.concatenate([values, np.full(padding, filler, values.dtype)])

    return PackedItems(
        labels=padded(labels_of(relevance.fill_null(0).to_numpy())),
        scores=padded(items["key"].fill_null(0).to_numpy().astype(np.int32)),
        mask=np.arange(size + padding) < size,
        retrieved=padded(items["key"].is_not_null().to_numpy()),
        columns={
            "judged": padded((relevance >= 0).fill_null(False).to_numpy()),
            "pooled": padded(relevance.is_not_null().to_numpy()),
        }
        | ({COLUMN: column_of(items, padding)} if has_subtopics else {}),
        segment_ids=padded(items["list"].to_numpy().astype(np.int32), -1),
        doc_ids=items["doc_id"].extend_constant(None, padding),
    )


def _with_keys(run: "pl.DataFrame", ties: str, depth: int | None) -> "pl.DataFrame":
    """Returns the first `depth` documents of each list, their scores replaced by a `key`.

    The key is an integer, larger for larger scores. Equal scores share a key, except that
    with ties="trec" the larger document id has the larger key.
    """
    pl = polars("jrm.join")
    score = pl.col("score") + 0.0  # −0.0 becomes 0.0, which it must tie with
    run = run.with_columns(score)
    key = pl.col("score").rank("dense")
    if ties == "trec" or depth is not None:
        doc_id = pl.col("doc_id").cast(pl.String)
        run = run[run.select(pl.arg_sort_by("list", "score", doc_id)).to_series()]
        if depth is not None:
            # The sort is ascending: the document of rank 1 is the last row of its list.
            rank = pl.col("list").cum_count(reverse=True).over("list")
            run = run.filter(rank <= depth)
        if ties == "trec":
            key = pl.int_range(pl.len())
    return run.select("list", "doc_id", key=key)
