"""Judgements and runs as rows grouped by query, joined and packed."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jax_rank_metrics._engine.ordering import order_on_host
from jax_rank_metrics._ground.choices import Repeats
from jax_rank_metrics._ground.inputs import padding
from jax_rank_metrics._runs.files.frames import (
    IDS,
    SUBTOPIC,
    pl,
    remarks_on_lists,
    remarks_on_own_documents,
    remarks_on_ranks,
)
from jax_rank_metrics._values.remarks import collides

TOPICS = "subtopics"  # a column of `Joined`, and of frames of documents: lists of bools


class GroupedRows(NamedTuple):
    """The rows of judgements or of a run; the rows of a list are neighbours.

    Rows of a query that has no list belong to no range.
    """

    values: np.ndarray  # [rows], the relevance, or the score as float64
    starts: np.ndarray  # [lists] int64, the first row of each list
    counts: np.ndarray  # [lists] int64, the number of rows of each list
    doc_ids: "pl.Series"  # [rows]

    def ranges(self) -> list[slice]:
        """Returns the rows of each list."""
        ends = (self.starts + self.counts).tolist()
        return list(map(slice, self.starts.tolist(), ends))

    def list_ids(self) -> np.ndarray:
        """Returns the list of each row, `[rows]` int64; −1 for rows without a list."""
        list_ids = np.full(len(self.values), -1)
        for index, rows in enumerate(self.ranges()):
            list_ids[rows] = index
        return list_ids


class JudgedRun(NamedTuple):
    """Judgements and a run, with a list for each judged query.

    Scores of the run can only be compared within a list.
    """

    query_ids: "pl.Series"  # [lists]
    unjudged: "pl.Series"  # the ids of queries that only the run has
    judged: GroupedRows  # list after list
    retrieved: GroupedRows
    retrieved_rows: np.ndarray  # [judged rows], the document's row in the run, or −1
    is_answered: np.ndarray  # [lists] bool, True if the run has a list, maybe empty
    subtopics: np.ndarray | None = None  # [judged rows, topics] bool
    collides: np.ndarray | None = None  # [lists] bool; see `collides` of remarks
    remarks: tuple[str, ...] = ()  # see `remarks_on_lists`
    choices: Mapping[str, str] = {"duplicates": "error"}  # for signatures

    @property
    def is_retrieved(self) -> np.ndarray:
        """`[judged rows]` bool, True if the run has the document."""
        return self.retrieved_rows >= 0

    def keep(self, is_kept: np.ndarray) -> "JudgedRun":
        """Returns the same judgements, and only some rows of the run.

        Args:
            is_kept: `[run rows]` bool. Rows of queries without a list are always removed.
        """
        list_ids = self.retrieved.list_ids()
        is_kept = is_kept & (list_ids >= 0)
        rows = np.flatnonzero(is_kept)
        counts = np.bincount(list_ids[rows], minlength=len(self.query_ids))
        # The index of a kept row is the number of kept rows before it.
        num_before = np.cumsum(is_kept) - is_kept
        starts = np.append(num_before, len(rows))[self.retrieved.starts]
        values, doc_ids = self.retrieved.values[rows], self.retrieved.doc_ids[rows]
        # The row −1 of documents that the run lacks reads the last entry, so it stays −1.
        new_rows = np.append(np.where(is_kept, num_before, -1), -1)
        return self._replace(
            retrieved=GroupedRows(values, starts, counts, doc_ids),
            retrieved_rows=new_rows[self.retrieved_rows],
        )

    def with_float32_scores(self) -> "JudgedRun":
        """Returns a copy with scores in float32; scores beyond its range are infinite."""
        with np.errstate(over="ignore"):
            values = self.retrieved.values.astype(np.float32).astype(np.float64)
        retrieved = self.retrieved._replace(values=order_on_host.comparable(values))
        return self._replace(
            retrieved=retrieved,
            choices={**self.choices, "scores": "float32"},
        )


def find_judged(
    judged: "pl.DataFrame",
    run: "pl.DataFrame",
    ties: str,
    repeats: Repeats,
    exclude_self: bool = False,
) -> JudgedRun:
    """Returns judgements and a run, joined by the ids of queries and of documents.

    Args:
        judged: The judgements, as `frame_of` or `read` returns them, but not with a list of
            documents in a row. A null document marks an empty list.
        run: The run, as `frame_of` or `read` returns it.
        ties: See `join`. Integers that float64 cannot distinguish tie only under "trec".
        repeats: Whether to keep documents that occur earlier in a ranked list.
        exclude_self: Whether to remove documents with the id of their query from judgements
            and run.

    Raises:
        ValueError: if plain scores come with `exclude_self`, or without a score for each
            judgement.
    """
    if exclude_self and "query_id" not in run.columns:
        raise ValueError(
            "exclude_self: plain scores have no ids of documents; leave it out"
        )
    rank_remarks = remarks_on_ranks(run)
    run = run.select(pl.exclude("rank"))
    duplicates = "error"  # for tables
    if "repeated" in run.columns:
        duplicates = "removed" if repeats == "remove" else "first"
    if duplicates == "removed":
        run = run.filter(~pl.col("repeated")).drop("repeated")
    if run["score"].dtype != pl.Float64:
        rank = pl.col("score").rank("dense")
        score = pl.col("score") if ties == "trec" else rank
        run = run.with_columns(score.cast(pl.Float64), rank.alias("exact"))
    if SUBTOPIC in judged.columns:
        judged = _by_document(judged)
    if "query_id" not in run.columns:
        run = _with_query_ids(judged, run)
    # If ids differ in dtype, compare them as strings.
    mixed = [name for name in IDS if judged[name].dtype != run[name].dtype]
    as_text = pl.col(mixed).cast(pl.String)
    judged, run = judged.with_columns(as_text), run.with_columns(as_text)
    remarks = rank_remarks + remarks_on_lists(judged, run)
    is_self = pl.col("query_id").cast(pl.String) == pl.col("doc_id").cast(pl.String)
    if not exclude_self:
        remarks += remarks_on_own_documents(run.filter(is_self), run)
    else:
        # Null marks an empty list, so a query stays even if its only document leaves.
        judged, run = (
            frame.with_columns(pl.when(~is_self).then(pl.col(names)))
            for frame, names in ((judged, ["doc_id", "relevance"]), (run, "doc_id"))
        )
        if not (judged["doc_id"].has_nulls() or run["doc_id"].has_nulls()):
            remarks.append(
                "no document has the id of its query, so exclude_self removed no document; "
                "leave it out, or write ids of queries and documents in the same way"
            )
    queries = judged["query_id"].unique(maintain_order=True)
    empty = run["query_id"].filter(run["doc_id"].is_null())
    run = run.drop_nulls("doc_id")
    if judged["doc_id"].has_nulls():
        # If the run has no document of a query either, keep the null document as an
        # unjudged item, so that the query counts like other queries with nothing relevant.
        has_documents = pl.col("query_id").is_in(run["query_id"].implode())
        judged = judged.filter(
            pl.col("doc_id").is_not_null() | ~has_documents
        ).with_columns(pl.col("relevance").fill_null(-1))
    if "repeated" in judged.columns:
        judged = judged.filter(~pl.col("repeated"))
    judged, judged_rows, _ = _grouped(judged, queries, "relevance")
    run, retrieved, unjudged = _grouped(run, queries, "score")
    values = order_on_host.comparable(retrieved.values)
    retrieved = retrieved._replace(values=values)
    is_answered = (retrieved.counts > 0) | queries.is_in(empty.implode()).to_numpy()
    unjudged = pl.concat([unjudged, empty.filter(~empty.is_in(queries.implode()))])
    documents = []
    for frame, rows in ((judged, judged_rows), (run, retrieved)):
        numbered = frame.select("doc_id", pl.Series("list", rows.list_ids()))
        numbered = numbered.with_row_index("row")
        if "repeated" in frame.columns:  # The first rank of a document counts.
            numbered = numbered.filter(~frame["repeated"])
        documents.append(numbered)
    pairs = documents[0].join(documents[1], ["list", "doc_id"])
    judged_row, run_row = pairs["row"].to_numpy(), pairs["row_right"].to_numpy()
    retrieved_rows = np.full(judged.height, -1)
    retrieved_rows[judged_row] = run_row
    collided = None
    if "exact" in run.columns and ties == "trec":
        labels = np.zeros(run.height)
        labels[run_row] = np.maximum(judged_rows.values[judged_row], 0)
        list_ids = retrieved.list_ids()
        arrays = list_ids, retrieved.values, run["exact"].to_numpy(), labels
        is_listed = list_ids >= 0
        collided = collides(
            *(array[is_listed] for array in arrays), num_lists=len(queries)
        )
    return JudgedRun(
        queries,
        unjudged,
        judged_rows,
        retrieved,
        retrieved_rows,
        is_answered,
        judged[TOPICS].to_numpy() if TOPICS in judged.columns else None,
        collided,
        (*remarks,),
        {"duplicates": duplicates, "exclude": "self" if exclude_self else "none"},
    )


def _grouped(
    frame: "pl.DataFrame", queries: "pl.Series", value: str
) -> tuple["pl.DataFrame", GroupedRows, "pl.Series"]:
    """Returns a frame in which the rows of each query are neighbours.

    Also returns its rows by list, and the ids of queries that have no list. If the rows are
    neighbours already, the frame is returned unchanged. This check is cheap, because it
    looks only at the first row of each run of equal ids.
    """
    runs = frame["query_id"].rle().struct.unnest()
    lists = pl.DataFrame([queries.alias("value")]).with_row_index("list")
    runs = runs.join(lists, "value", "left", maintain_order="left")
    lengths, list_of_run = runs["len"].to_numpy().astype(np.int64), runs["list"]
    has_list = list_of_run.is_not_null().to_numpy()
    lists_of_runs = list_of_run.drop_nulls()
    if lists_of_runs.n_unique() < len(lists_of_runs):
        rows = pl.DataFrame(
            {"list": np.repeat(list_of_run.fill_null(len(queries)), lengths)}
        )
        order = rows.select(pl.arg_sort_by("list", maintain_order=True)).to_series()
        return _grouped(frame[order], queries, value)
    starts, counts = np.zeros((2, len(queries)), np.int64)
    starts[lists_of_runs] = (np.cumsum(lengths) - lengths)[has_list]
    counts[lists_of_runs] = lengths[has_list]
    unjudged = runs["value"].filter(list_of_run.is_null())
    values = frame[value].to_numpy()
    return frame, GroupedRows(values, starts, counts, frame["doc_id"]), unjudged


def _with_query_ids(judged: "pl.DataFrame", run: "pl.DataFrame") -> "pl.DataFrame":
    """Returns plain scores with the query ids of the judgements, row by row."""
    if not run["doc_id"].equals(judged["doc_id"]):
        raise ValueError(
            f"run has {run.height} scores without query_id, which do not belong to the "
            f"{judged.height} items of qrels; pass a score for each item of an svmlight "
            "file, or a run with the column query_id"
        )
    return run.with_columns(judged["query_id"])


def _by_document(judged: "pl.DataFrame") -> "pl.DataFrame":
    """Returns a row for each document of each query, in the order of first appearance.

    The relevance is 1 if a document is relevant to a subtopic, else its highest relevance.
    The column `subtopics` has a bool for each subtopic of the query that has relevant
    documents, in the order of first appearance: True if the document is relevant to it.

    >>> rows = [("q", "a", 0, "1"), ("q", "a", 2, "2"), ("q", "b", 1, "3")]
    >>> names = ("query_id", "doc_id", "relevance", "subtopic")
    >>> frame = pl.DataFrame(rows, names, orient="row")
    >>> for row in _by_document(frame).rows():
    ...     print(row)
    ('q', 'a', 1, [True, False])
    ('q', 'b', 1, [False, True])
    """
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
    return documents.drop("row").with_columns(pl.Series(TOPICS, matrix))


class PackedItems(NamedTuple):
    """Arrays `[items]`, which are the attributes of `Joined` with the same names."""

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray
    retrieved: np.ndarray
    columns: dict[str, np.ndarray]
    segment_ids: np.ndarray
    doc_ids: "pl.Series"


def labels_of(relevance: np.ndarray) -> np.ndarray:
    """Returns labels: 0 for a relevance below 0; int32 if all labels fit, else float32."""
    labels = np.maximum(relevance, 0)
    fits = labels.dtype.kind == "i" and labels.max(initial=0) < 2**31
    return labels.astype(np.int32 if fits else np.float32)


def pack(run: JudgedRun) -> PackedItems:
    """Returns every document of every judged query, padded to one of a few sizes.

    The documents of the run come first, then the other judged documents.
    """
    judged, is_retrieved = run.judged, run.is_retrieved
    run = run.keep(np.ones(len(run.retrieved.values), bool))  # rows with a list
    retrieved, num_retrieved = run.retrieved, len(run.retrieved.values)
    unretrieved = np.flatnonzero(~is_retrieved)
    size = num_retrieved + len(unretrieved)
    padded_size = padding.next_size(size)
    item_of_judged = run.retrieved_rows.copy()
    item_of_judged[unretrieved] = np.arange(num_retrieved, size)
    list_ids = np.concatenate([retrieved.list_ids(), judged.list_ids()[unretrieved]])
    doc_ids = pl.concat([retrieved.doc_ids, judged.doc_ids[unretrieved]])
    # Adding 0.0 turns −0.0 into 0.0, so that the two tie.
    keys = pl.Series(retrieved.values + 0.0).rank("dense").to_numpy()
    items = np.arange(size)
    if run.subtopics is not None:
        # If documents add equally many subtopics, the ideal order of α-nDCG takes the first
        # item. Sort by falling id so that it takes the last id, as ndeval does.
        frame = pl.DataFrame({"list": list_ids, "id": doc_ids.cast(pl.String)})
        order = frame.select(pl.arg_sort_by("list", "id", descending=[False, True]))
        items = order.to_series().to_numpy()

    def padded(values: np.ndarray, filler: int = 0) -> np.ndarray:
        """Returns values of items in their order, `[padded_size, …]`."""
        array = np.full((padded_size, *values.shape[1:]), filler, values.dtype)
        array[:size] = values[items]
        return array

    def by_item(values: np.ndarray) -> np.ndarray:
        """Returns a value for each item: 0 for items that were not judged."""
        array = np.zeros((size, *values.shape[1:]), values.dtype)
        array[item_of_judged] = values
        return padded(array)

    columns = {
        "judged": by_item(judged.values >= 0),
        "pooled": by_item(np.ones(len(judged.values), bool)),
    }
    if run.subtopics is not None:
        columns[TOPICS] = by_item(run.subtopics)
    scores = np.zeros(size, np.int32)
    scores[:num_retrieved] = keys
    return PackedItems(
        labels=by_item(labels_of(judged.values)),
        scores=padded(scores),
        mask=np.arange(padded_size) < size,
        retrieved=padded(np.arange(size) < num_retrieved),
        columns=columns,
        segment_ids=padded(list_ids.astype(np.int32), -1),
        doc_ids=doc_ids[items].extend_constant(None, padded_size - size),
    )
