"""Judgements and runs as rows grouped by query, from frames and dicts, and packed."""

import functools
import itertools
import numbers
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from jax_rank_metrics._choices import Repeats
from jax_rank_metrics._files.frames import IDS, SUBTOPIC, pl, remarks_on_lists
from jax_rank_metrics._inputs.padding import next_size
from jax_rank_metrics._states.remarks import collides

T = TypeVar("T")
Ids = tuple["pl.Series", "pl.Series"]  # of the documents of judgements and of a run

TOPICS = "subtopics"  # a column of `Joined`, and of frames of documents: lists of bools

# Spreads the hashes of documents that several lists have: 2⁶⁴ by the golden ratio.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class GroupedRows(NamedTuple):
    """The rows of judgements or of a run; those of a list lie together.

    Rows of a query that has no list are in no range.
    """

    values: np.ndarray  # [rows], the relevance, or the score as float64
    starts: np.ndarray  # [lists] int64, the first row of each list
    counts: np.ndarray  # [lists] int64, the number of rows of each list

    def ranges(self) -> list[slice]:
        """Returns the rows of each list."""
        ends = (self.starts + self.counts).tolist()
        return list(map(slice, self.starts.tolist(), ends))

    def list_ids(self) -> np.ndarray:
        """Returns the list of each row, `[rows]` int64; −1 where it has none."""
        list_ids = np.full(len(self.values), -1)
        for index, rows in enumerate(self.ranges()):
            list_ids[rows] = index
        return list_ids


class Sides(NamedTuple):
    """Judgements and a run, with a list for each query that is judged.

    Values of the run are compared within a list only.
    """

    query_ids: "pl.Series"  # [lists]
    unjudged: "pl.Series"  # the ids of queries that only the run has
    judged: GroupedRows  # list after list
    retrieved: GroupedRows
    scores: np.ndarray  # [judged rows], the value of each in the run; NaN for none
    run_rows: Callable[[], np.ndarray]  # [judged rows], the row of each; −1 for none
    doc_ids: Callable[[], Ids]  # of the rows of both
    is_answered: np.ndarray  # [lists] bool, whether the run has a list, even if empty
    subtopics: np.ndarray | None = None  # [judged rows, topics] bool
    collides: np.ndarray | None = None  # [lists] bool; see `collides` of remarks
    remarks: tuple[str, ...] = ()  # see `remarks_on_lists`
    is_ascii: bool = True  # whether no id of a document can be written in two ways
    choices: Mapping[str, str] = {"duplicates": "error"}  # of a signature

    @property
    def is_retrieved(self) -> np.ndarray:
        """`[judged rows]` bool, whether the run has the document."""
        return ~np.isnan(self.scores)

    def keep(self, is_kept: np.ndarray) -> "Sides":
        """Returns the same judgements, and only some rows of the run.

        Args:
            is_kept: `[run rows]` bool. Rows of queries without a list always go.
        """
        list_ids = self.retrieved.list_ids()
        is_kept = is_kept & (list_ids >= 0)
        rows = np.flatnonzero(is_kept)
        counts = np.bincount(list_ids[rows], minlength=len(self.query_ids))
        # Rows before each row that is kept are its index among them.
        num_before = np.cumsum(is_kept) - is_kept
        starts = np.append(num_before, len(rows))[self.retrieved.starts]
        before = self.run_rows()
        is_there = before >= 0
        is_there[is_there] = is_kept[before[is_there]]
        run_rows = np.full_like(before, -1)
        run_rows[is_there] = num_before[before[is_there]]
        return self._replace(
            retrieved=GroupedRows(self.retrieved.values[rows], starts, counts),
            scores=np.where(is_there, self.scores, np.nan),
            run_rows=functools.partial(_known, run_rows),
            doc_ids=functools.partial(_ids_of_rows, self.doc_ids, rows),
        )

    def with_float32_scores(self) -> "Sides":
        """Returns the same with every score rounded to float32, infinite beyond it."""
        values = self.retrieved.values
        return self._replace(
            retrieved=self.retrieved._replace(values=_rounded(values)),
            scores=_rounded(self.scores),
            choices={**self.choices, "scores": "float32"},
        )


def _known(value: T) -> T:
    """Returns what was found already: a partial of it can be pickled, unlike a lambda."""
    return value


def _rounded(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _ids_of_rows(doc_ids: Callable[[], Ids], rows: np.ndarray) -> Ids:
    judged_ids, run_ids = doc_ids()
    return judged_ids, run_ids[rows]


def sides_of_frames(
    judged: "pl.DataFrame", run: "pl.DataFrame", ties: str, repeats: Repeats
) -> Sides:
    """Finds the judged documents in the run.

    Args:
        judged: The judgements, as `frame_of` or `read` returns them, but not in lists. A
            document that is null is that of an empty list.
        run: The run, as these return it.
        ties: See `join`. Integers that float64 cannot distinguish tie under "trec" alone.
        repeats: Whether documents that occur earlier in a ranked list stay.
    """
    duplicates = "error"  # in tables
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
    # Ids are strings on both sides where their dtypes differ.
    mixed = [name for name in IDS if judged[name].dtype != run[name].dtype]
    judged, run = (x.with_columns(pl.col(mixed).cast(pl.String)) for x in (judged, run))
    remarks = remarks_on_lists(judged, run)
    queries = judged["query_id"].unique(maintain_order=True)
    empty = run["query_id"].filter(run["doc_id"].is_null())
    run = run.drop_nulls("doc_id")
    if judged["doc_id"].has_nulls():
        # Where nothing is known of a query, an item that nobody judged stands for it: the
        # query then counts like others that have nothing relevant.
        has_documents = pl.col("query_id").is_in(run["query_id"].implode())
        judged = judged.filter(
            pl.col("doc_id").is_not_null() | ~has_documents
        ).with_columns(pl.col("relevance").fill_null(-1))
    if "repeated" in judged.columns:
        judged = judged.filter(~pl.col("repeated"))
    judged, judged_rows, _ = _grouped(judged, queries, "relevance")
    run, retrieved, unjudged = _grouped(run, queries, "score")
    is_answered = (retrieved.counts > 0) | queries.is_in(empty.implode()).to_numpy()
    unjudged = pl.concat([unjudged, empty.filter(~empty.is_in(queries.implode()))])
    keys, list_ids = [], []
    for frame, rows in ((judged, judged_rows), (run, retrieved)):
        list_ids.append(rows.list_ids())
        spread = list_ids[-1].astype(np.uint64) * _SPREAD
        key = frame["doc_id"].hash().to_numpy() + spread
        key_rows = pl.DataFrame({"key": key}).with_row_index("row")
        if "repeated" in frame.columns:  # A document has the first of its ranks.
            key_rows = key_rows.filter(~frame["repeated"])
        keys.append(key_rows)
    # Pairs of equal hashes; different documents may have the same hash.
    pairs = keys[0].join(keys[1], "key", "inner")
    judged_row, run_row = pairs["row"].to_numpy(), pairs["row_right"].to_numpy()
    is_same = list_ids[0][judged_row] == list_ids[1][run_row]
    is_same &= (judged["doc_id"][judged_row] == run["doc_id"][run_row]).to_numpy()
    scores, run_rows = np.full(judged.height, np.nan), np.full(judged.height, -1)
    run_rows[judged_row[is_same]] = run_row[is_same]
    scores[judged_row[is_same]] = retrieved.values[run_row[is_same]]
    doc_ids = judged["doc_id"], run["doc_id"]
    collided = None
    if "exact" in run.columns and ties == "trec":
        labels = np.zeros(run.height)
        labels[run_row[is_same]] = judged_rows.values[judged_row[is_same]]
        exact, labels = run["exact"].to_numpy(), np.maximum(labels, 0)
        arrays = list_ids[1], retrieved.values, exact, labels
        at = list_ids[1] >= 0
        collided = collides(*(x[at] for x in arrays), num_lists=len(queries))
    return Sides(
        queries,
        unjudged,
        judged_rows,
        retrieved,
        scores,
        functools.partial(_known, run_rows),
        functools.partial(_known, doc_ids),
        is_answered,
        judged[TOPICS].to_numpy() if TOPICS in judged.columns else None,
        collided,
        (*remarks,),
        all(map(_is_ascii, doc_ids)),
        {"duplicates": duplicates},
    )


def _is_ascii(ids: "pl.Series") -> bool:
    """Returns whether ids are integers, or strings of ASCII."""
    if ids.dtype != pl.String:
        return True
    return bool((ids.str.len_bytes() == ids.str.len_chars()).all())


def _grouped(
    frame: "pl.DataFrame", queries: "pl.Series", value: str
) -> tuple["pl.DataFrame", GroupedRows, "pl.Series"]:
    """Returns a frame in which the rows of each query lie together.

    Also returns its rows by list, and the ids of queries that have no list. A frame whose
    rows lie together is returned as it is, which is cheap to see: only the first row of
    each run of equal ids is looked at.
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
    return frame, GroupedRows(frame[value].to_numpy(), starts, counts), unjudged


def _with_query_ids(judged: "pl.DataFrame", run: "pl.DataFrame") -> "pl.DataFrame":
    """Returns plain scores with the query ids of the judgements, row by row."""
    if not run["doc_id"].equals(judged["doc_id"]):
        raise ValueError(
            f"run has {run.height} scores without query_id, and qrels {judged.height} "
            "items with it; pass a score for each item of an svmlight file, or a column "
            "query_id"
        )
    return run.with_columns(judged["query_id"])


def _by_document(judged: "pl.DataFrame") -> "pl.DataFrame":
    """Returns a row for each document of each query, in the order of first appearance.

    The relevance is 1 where a document is relevant to a subtopic, else the highest of any.
    The column `subtopics` says which of those the document has that are relevant to
    something: the subtopics of a query are numbered by their first appearance.

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


Dicts = Mapping[str, Mapping[str, float]]  # {query: {document: number}}


def sides_of_dicts(qrels: Mapping[Any, Any], run: Mapping[Any, Any]) -> Sides | None:
    """Finds the judged documents in the run without making frames of all documents.

    Either may be empty.

    Returns:
        None unless all ids are strings and all numbers are real and legal, and float64
        distinguishes the scores. On None the caller builds frames, whose checks report the
        error if there is one.
    """
    judged_dicts, run_dicts = _strings_only(qrels), _strings_only(run)
    if judged_dicts is None or run_dicts is None:
        return None
    (judged, is_judged_ascii), (retrieved, is_run_ascii) = judged_dicts, run_dicts
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
        is_ascii=is_judged_ascii and is_run_ascii,
    )


def _strings_only(data: Mapping[Any, Any]) -> tuple[Dicts, bool] | None:
    """Returns a copy without empty queries, and whether all ids of documents are ASCII.

    Returns None unless all ids are strings of UTF-8.
    """
    kinds, copies = set(map(type, data)), {}
    for query, docs in data.items():
        if not isinstance(docs, Mapping) or "" in docs:
            return None
        kinds.update(map(type, docs))
        if docs:
            copies[query] = dict(docs)
    if not kinds <= {str} or "" in copies:
        return None
    texts = map("".join, copies.values())
    try:
        "".join(copies).encode()
        is_ascii = all([len(text) == len(text.encode()) for text in texts])
    except UnicodeEncodeError:
        return None
    return copies, is_ascii


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
        array = np.fromiter(values, np.int64 if is_integer else np.float64)
    except OverflowError:
        return None
    has_both = not is_integer and any(issubclass(x, numbers.Integral) for x in kinds)
    return None if has_both and _exceed_float64(array) else array


def _exceed_float64(values: np.ndarray) -> bool:
    """Returns whether float64 might not distinguish integers of these values."""
    return bool(((values <= -(2**53)) | (values >= 2**53)).any())


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
    ids = ([*itertools.chain.from_iterable(dicts.values())] for dicts in (judged, run))
    judged_ids, run_ids = (pl.Series("doc_id", x, pl.String) for x in ids)
    return judged_ids, run_ids


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


def pack(sides: Sides) -> PackedItems:
    """Returns every document of every judged query, padded to one of a few sizes.

    The documents of the run come first, then those that it lacks.
    """
    judged, is_retrieved = sides.judged, sides.is_retrieved
    sides = sides.keep(np.ones(len(sides.retrieved.values), bool))  # with a list
    retrieved, (judged_ids, run_ids) = sides.retrieved, sides.doc_ids()
    num_retrieved, unretrieved = len(retrieved.values), np.flatnonzero(~is_retrieved)
    size = num_retrieved + len(unretrieved)
    padded_size = next_size(size)
    item_of_judged = sides.run_rows().copy()
    item_of_judged[unretrieved] = np.arange(num_retrieved, size)
    list_ids = np.concatenate([retrieved.list_ids(), judged.list_ids()[unretrieved]])
    doc_ids = pl.concat([run_ids, judged_ids[unretrieved]])
    # Values tie where they are equal, as −0.0 and 0.0 are.
    keys = pl.Series(retrieved.values + 0.0).rank("dense").to_numpy()
    items = np.arange(size)
    if sides.subtopics is not None:
        # Of documents that add as many subtopics, the ideal order of α-nDCG takes the
        # first item. This is the one with the last id, as in ndeval.
        frame = pl.DataFrame({"list": list_ids, "id": doc_ids.cast(pl.String)})
        order = frame.select(pl.arg_sort_by("list", "id", descending=[False, True]))
        items = order.to_series().to_numpy()

    def padded(values: np.ndarray, filler: int = 0) -> np.ndarray:
        """Returns values of items in their order, `[padded_size, …]`."""
        array = np.full((padded_size, *values.shape[1:]), filler, values.dtype)
        array[:size] = values[items]
        return array

    def of_judged(values: np.ndarray) -> np.ndarray:
        """Returns values of judged documents for all items, 0 for those not judged."""
        array = np.zeros((size, *values.shape[1:]), values.dtype)
        array[item_of_judged] = values
        return padded(array)

    columns = {
        "judged": of_judged(judged.values >= 0),
        "pooled": of_judged(np.ones(len(judged.values), bool)),
    }
    if sides.subtopics is not None:
        columns[TOPICS] = of_judged(sides.subtopics)
    scores = np.zeros(size, np.int32)
    scores[:num_retrieved] = keys
    return PackedItems(
        labels=of_judged(labels_of(judged.values)),
        scores=padded(scores),
        mask=np.arange(padded_size) < size,
        retrieved=padded(np.arange(size) < num_retrieved),
        columns=columns,
        segment_ids=padded(list_ids.astype(np.int32), -1),
        doc_ids=doc_ids[items].extend_constant(None, padded_size - size),
    )
