"""Judgements and runs as rows grouped by query, and the documents that both have."""

import functools
import itertools
import numbers
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jax_rank_metrics._files.frames import IDS, SUBTOPIC, frame_of, polars
from jax_rank_metrics._files.subtopics import by_document

if TYPE_CHECKING:
    import polars as pl

Frames = tuple["pl.DataFrame", "pl.DataFrame"]  # of judgements and of a run
Ids = tuple["pl.Series", "pl.Series"]
Dicts = Mapping[str, Mapping[str, float]]  # {query: {document: number}}

# Spreads the hashes of documents that several lists have: 2⁶⁴ by the golden ratio.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Rows(NamedTuple):
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
    """Judgements and a run, with a list for each query that is judged."""

    query_ids: "pl.Series"  # [lists]
    unjudged: "pl.Series"  # the ids of queries that only the run has
    judged: Rows  # list after list
    retrieved: Rows
    scores: np.ndarray  # [judged rows], of each in the run; NaN if the run lacks it
    doc_ids: Callable[[], Ids]  # of the rows of both
    frames: Callable[[], Frames]  # both in the order in which they were passed
    has_subtopics: bool = False  # whether the frame of judgements has them

    def with_float32_scores(self) -> "Sides":
        """Returns the same with every score rounded to float32."""
        pl = polars("jrm.join")
        dtypes = pl.Float32, pl.Float64

        def frames() -> Frames:
            judged, run = self.frames()
            score = pl.col("score").cast(dtypes[0], strict=False).cast(dtypes[1])
            return judged, run.with_columns(score)

        return self._replace(
            retrieved=self.retrieved._replace(values=_rounded(self.retrieved.values)),
            scores=_rounded(self.scores),
            frames=frames,
        )

    def condensed(self, is_kept: np.ndarray) -> "Sides":
        """Returns the same with a run of judged documents alone.

        Args:
            is_kept: `[judged rows]` bool, which of them the run keeps; it has them all.
        """
        rows, lists = np.flatnonzero(is_kept), self.judged.list_ids()[is_kept]
        counts = np.bincount(lists, minlength=len(self.judged.counts))
        values = self.scores[rows]
        queries = self.query_ids[lists]
        return self._replace(
            retrieved=Rows(values, np.cumsum(counts) - counts, counts),
            scores=np.where(is_kept, self.scores, np.nan),
            doc_ids=functools.partial(_condensed_ids, self.doc_ids, rows),
            frames=functools.partial(_condensed_frames, self, rows, queries),
        )


def _condensed_ids(doc_ids: Callable[[], Ids], rows: np.ndarray) -> Ids:
    judged_ids, _ = doc_ids()
    return judged_ids, judged_ids[rows]


def _condensed_frames(sides: Sides, rows: np.ndarray, queries: "pl.Series") -> Frames:
    judged, _ = sides.frames()
    score = polars("jrm.join").lit(sides.scores[rows]).alias("score")
    doc_ids = sides.doc_ids()[0][rows]
    return judged, doc_ids.to_frame().select(queries, "doc_id", score)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Returns values rounded to float32, infinite where they are beyond it."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def sides_of(qrels: object, run: object) -> Sides:
    """Checks the arguments of `join`, and finds the judged documents in the run.

    Raises:
        ValueError: see `frame_of`.
        TypeError: see `frame_of`.
    """
    if isinstance(qrels, Mapping) and isinstance(run, Mapping):
        sides = sides_of_dicts(qrels, run)
        # Where either is empty, making a frame of it raises.
        if sides and len(sides.judged.values) and len(sides.retrieved.values):
            return sides
    judged = frame_of("qrels", qrels, "relevance")
    return sides_of_frames(judged, frame_of("run", run, "score"))


# From frames


def sides_of_frames(judged: "pl.DataFrame", run: "pl.DataFrame") -> Sides:
    """Finds the judged documents in the run, both as `frame_of` or `read` returns them."""
    pl = polars("jrm.join")
    has_subtopics = SUBTOPIC in judged.columns
    if has_subtopics:
        judged = by_document(judged)
    if "query_id" not in run.columns:
        run = _with_query_ids(judged, run)
    judged, run = frames = _with_equal_dtypes(judged, run)
    queries = judged["query_id"].unique(maintain_order=True)
    judged, judged_rows, _ = _grouped(judged, queries, "relevance")
    run, retrieved, unjudged = _grouped(run, queries, "score")
    keys, list_ids = [], []
    for frame, rows in ((judged, judged_rows), (run, retrieved)):
        list_ids.append(rows.list_ids())
        spread = list_ids[-1].astype(np.uint64) * _SPREAD
        key = frame["doc_id"].hash().to_numpy() + spread
        keys.append(pl.DataFrame({"key": key}).with_row_index("row"))
    # Pairs of equal hashes; different documents may have the same hash.
    pairs = keys[0].join(keys[1], "key", "inner")
    judged_row, run_row = pairs["row"].to_numpy(), pairs["row_right"].to_numpy()
    is_same = list_ids[0][judged_row] == list_ids[1][run_row]
    is_same &= (judged["doc_id"][judged_row] == run["doc_id"][run_row]).to_numpy()
    scores = np.full(judged.height, np.nan)
    scores[judged_row[is_same]] = retrieved.values[run_row[is_same]]
    doc_ids = judged["doc_id"], run["doc_id"]
    return Sides(
        queries,
        unjudged,
        judged_rows,
        retrieved,
        scores,
        functools.partial(tuple, doc_ids),
        functools.partial(tuple, frames),
        has_subtopics,
    )


def _grouped(
    frame: "pl.DataFrame", queries: "pl.Series", value: str
) -> tuple["pl.DataFrame", Rows, "pl.Series"]:
    """Returns a frame in which the rows of each query lie together.

    Also returns its rows by list, and the ids of queries that have no list. A frame whose
    rows lie together is returned as it is, which is cheap to see: only the first row of
    each run of equal ids is looked at.
    """
    pl = polars("jrm.join")
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
    return frame, Rows(frame[value].to_numpy(), starts, counts), unjudged


def _with_query_ids(judged: "pl.DataFrame", run: "pl.DataFrame") -> "pl.DataFrame":
    """Returns plain scores with the query ids of the judgements, row by row."""
    if not run["doc_id"].equals(judged["doc_id"]):
        raise ValueError(
            f"run has {run.height} scores without query_id, and qrels {judged.height} "
            "items with it; pass a score for each item of an svmlight file, or a column "
            "query_id"
        )
    return run.with_columns(judged["query_id"])


def _with_equal_dtypes(judged: "pl.DataFrame", run: "pl.DataFrame") -> Frames:
    """Returns both with ids cast to strings where their dtypes differ."""
    pl = polars("jrm.join")
    mixed = [name for name in IDS if judged[name].dtype != run[name].dtype]
    strings = pl.col(mixed).cast(pl.String)
    return judged.with_columns(strings), run.with_columns(strings)


# From dicts


def sides_of_dicts(qrels: Mapping[Any, Any], run: Mapping[Any, Any]) -> Sides | None:
    """Finds the judged documents in the run without making frames of all documents.

    Either may be empty.

    Returns:
        None unless all ids are strings and all numbers are real and legal. Whoever makes
        frames of the dicts then learns what is wrong, if anything is.
    """
    pl = polars("jrm.join")
    judged, retrieved = _strings_only(qrels), _strings_only(run)
    if judged is None or retrieved is None:
        return None
    relevance, run_scores = _numbers_of(judged), _numbers_of(retrieved)
    if relevance is None or run_scores is None:
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
        Rows(run_scores, starts, counts),
        np.fromiter(scores, np.float64, len(relevance)),
        functools.partial(_doc_ids_of, judged, retrieved),
        functools.partial(_frames_of, judged, retrieved),
    )


def _strings_only(data: Mapping[Any, Any]) -> Dicts | None:
    """Returns a copy without empty queries; None unless all ids are strings."""
    kinds, copies = set(map(type, data)), {}
    for query, docs in data.items():
        if not isinstance(docs, Mapping) or "" in docs:
            return None
        kinds.update(map(type, docs))
        if docs:
            copies[query] = dict(docs)
    return copies if kinds <= {str} and "" not in copies else None


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


def _rows_of(dicts: Dicts, values: np.ndarray) -> Rows:
    counts = np.array([len(docs) for docs in dicts.values()], np.int64)
    return Rows(values, np.cumsum(counts) - counts, counts)


def _doc_ids_of(judged: Dicts, run: Dicts) -> Ids:
    pl = polars("jrm.join")
    ids = ([*itertools.chain.from_iterable(dicts.values())] for dicts in (judged, run))
    judged_ids, run_ids = (pl.Series("doc_id", x) for x in ids)
    return judged_ids, run_ids


def _frames_of(judged: Dicts, run: Dicts) -> Frames:
    return frame_of("qrels", judged, "relevance"), frame_of("run", run, "score")
