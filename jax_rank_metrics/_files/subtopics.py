"""Judgements of subtopics, as judgements of documents with a column of subtopics."""

from typing import TYPE_CHECKING

import numpy as np

from jax_rank_metrics._files.frames import IDS, SUBTOPIC, polars

if TYPE_CHECKING:
    import polars as pl

COLUMN = "subtopics"  # of `Joined`, and of frames of documents: lists of bools


def by_document(judged: "pl.DataFrame") -> "pl.DataFrame":
    """Returns a row for each document of each query, in the order of first appearance.

    The relevance is 1 where a document is relevant to a subtopic, else the highest of any.
    The column `subtopics` says which of those the document has that are relevant to
    something: the subtopics of a query are numbered by their first appearance.

    >>> rows = [("q", "a", 0, "1"), ("q", "a", 2, "2"), ("q", "b", 1, "3")]
    >>> names = ("query_id", "doc_id", "relevance", "subtopic")
    >>> frame = polars("an example").DataFrame(rows, names, orient="row")
    >>> for row in by_document(frame).rows():
    ...     print(row)
    ('q', 'a', 1, [True, False])
    ('q', 'b', 1, [False, True])
    """
    pl = polars("jrm.join")
    is_relevant = pl.col("relevance") > 0
    documents = judged.group_by(IDS, maintain_order=True).agg(
        pl.when(is_relevant.any()).then(1).otherwise(pl.col("relevance").max())
        .alias("relevance")
    ).with_row_index("row")  # fmt: skip
    relevant = judged.filter(is_relevant)
    topics = relevant.select("query_id", SUBTOPIC).unique(maintain_order=True)
    topics = topics.with_columns(topic=pl.int_range(pl.len()).over("query_id"))
    pairs = relevant.join(topics, ["query_id", SUBTOPIC]).join(documents, IDS)
    indices = pairs["topic"].to_numpy()
    matrix = np.zeros((documents.height, indices.max(initial=0) + 1), bool)
    matrix[pairs["row"].to_numpy(), indices] = True
    return documents.drop("row").with_columns(pl.Series(COLUMN, matrix))
