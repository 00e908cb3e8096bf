"""`jrm.join`: judgements and a run, of any form, as one set of lists."""

import contextlib
import itertools
import numbers
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np

from jax_rank_metrics._ground import inputs, messages, types
from jax_rank_metrics._ground.choices import (
    DuplicatesOfQrels,
    Missing,
    Repeats,
    TiesOfFiles,
    Unjudged,
)
from jax_rank_metrics._ground.inputs import kind_of
from jax_rank_metrics._runs.files import frames, text
from jax_rank_metrics._runs.files.frames import listed, pl
from jax_rank_metrics._runs.files.joined import Joined, keep_first
from jax_rank_metrics._runs.files.judged_run import JudgedRun, find_judged
from jax_rank_metrics._values.remarks import colliding_scores, remark_on_one_list


@runtime_checkable
class _Frame(Protocol):
    """A data frame of any library."""

    @property
    def columns(self) -> Iterable[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...


def frame_of(
    name: str,
    data: Any,
    value: frames.ValueColumn,
    duplicates: DuplicatesOfQrels = "error",
) -> "pl.DataFrame":
    """Returns an argument of `join` as a frame with checked columns.

    Args:
        name: The argument, "qrels" or "run", for messages.
        data: A frame of polars or pandas, a table of Arrow, a dict
            `{query: {document: number}}`, or lists of documents, by query or by position.
            Columns have names that `known_columns` finds.
        value: The column of numbers: "relevance" or "score".
        duplicates: Which row is kept if a query has several rows of a document.

    Raises:
        TypeError: if `data` is anything else.
        ValueError: if `data` lacks a column or has a column twice; with the row, or the
            query and the document of a dict, if an id or number is missing or wrong, or a
            document repeats.
    """

    def fail(row: int, reason: str) -> NoReturn:
        location = f"row {row}"
        if isinstance(data, Mapping):
            query, doc = raw.select(frames.IDS).row(row)
            document = "" if frames.is_listed(raw) else f", document {doc!r}"
            location = f"query {query!r}{document}"
        raise ValueError(f"{name}, {location}: {reason}")

    raw, has_ranks = _raw_frame(name, data, value)
    has_lists = frames.is_listed(raw)
    frame = frames.rows_of_lists(raw, value, fail) if has_lists else raw
    if has_ranks:
        frame = frame.with_columns(score=frames.scores_of_ranks(frame["score"], fail))
    if not has_lists:
        ranks = raw.select(name for name in raw.columns if name == "rank")
        frame = frames.cleaned(frame, value, fail).with_columns(ranks)
    # A frame from `read_run` has no repeats, but the caller may have joined two frames.
    are_keys = isinstance(data, Mapping) and not has_lists
    is_distinct = are_keys or "repeated" in frame.columns
    row = None if is_distinct else frames.first_repeat(frame)
    if row is not None and duplicates != "error":
        return frames.distinct(frame, value, duplicates)
    if row is not None:
        query, doc = frame.select(frames.IDS).row(row)
        cure = "pass it once"
        if value == "relevance":
            cure += ", or add a column subtopic, which tells what it is relevant to"
        cure += ", or pass duplicates='first' or 'last'"
        location = "" if has_lists else f", row {row}"
        raise ValueError(
            f"{name}{location}: document {doc!r} of query {query!r} appears twice; {cure}"
        )
    return frame


def _raw_frame(
    name: str, data: Any, value: frames.ValueColumn
) -> tuple["pl.DataFrame", bool]:
    """Returns the unchecked columns of `data`, and True if the scores are ranks."""
    columns: dict[str, object]
    names: Sequence[object] = ()
    has_ranks = False
    if (column_names := getattr(data, "column_names", None)) is not None:
        _check_names(name, column_names)  # before polars renames a name that repeats
    data = inputs.as_frame(data, "jrm.join")
    if isinstance(data, pl.Series):
        data = data.to_list()
    is_mapping = isinstance(data, Mapping)
    if is_mapping and (
        not data or any(isinstance(held, Mapping) for held in data.values())
    ):
        columns = _columns(name, data, value)
    elif is_mapping or isinstance(data, (list, tuple)) or inputs.is_series(data):
        if isinstance(data, (list, tuple)) and is_table(data):
            raise TypeError(
                f"{name} holds rows of a table, such as {data[0]}; pass a frame with the "
                f"columns query_id, doc_id and {value}, or read the file by jrm.read_{name}"
            )
        queries, docs = inputs.ragged_lists(name, data, value == "score", may_miss=True)
        columns = {"query_id": range(len(docs)) if queries is None else queries}
        pairs = []
        # Look at types first, because there may be millions of ids without numbers.
        kinds = {*map(type, itertools.chain.from_iterable(docs))}
        if not any(issubclass(kind, (str, int, np.generic)) for kind in kinds):
            pairs = [_scored(entry, value) for row in docs for entry in row]
        if pairs and None not in pairs:
            ids, values = zip(*pairs, strict=True)
            # Cut the flat ids and numbers into the lists they came from.
            parts = iter(ids), iter([*_one_dtype(name, [*values])])
            docs, columns[value] = (
                [[*itertools.islice(part, len(row))] for row in docs] for part in parts
            )
        columns["doc_id"] = docs or pl.Series(docs, dtype=pl.List(pl.Null))
    elif isinstance(data, _Frame):
        names = [*data.columns]
        _check_names(name, names)
        try:
            known = frames.known_columns(names, value)
        except ValueError as error:
            raise ValueError(
                f"{name}: {error}; keep only the columns to read"
            ) from error
        has_ranks = frames.is_rank(known[:3][-1])
        is_plain = name == "run" and known[0] not in names  # plain scores
        missing = [column for column in known[is_plain:] if column not in names]
        if missing:
            raise ValueError(
                f"{name} has no column {missing[0]!r}, only {listed(names)}; rename the "
                "column that holds it"
            )
        standard = frames.standard_names(value, len(known))
        present = dict(zip(standard, known, strict=True))
        if is_plain:
            del present["query_id"]
        is_polars = isinstance(data, pl.DataFrame)
        columns = {
            column: data[source] if is_polars else numeric(data[source])
            for column, source in present.items()
        }
    else:
        raise TypeError(
            f"{name}: got {kind_of(data)}; pass a frame with the columns query_id, "
            f"doc_id and {value}, a dict {{query: {{doc: {value}}}}}, or "
            f"{{query: [doc, …]}}"
        )
    frame = pl.DataFrame([frames.series(name, *column) for column in columns.items()])
    if value not in frame.columns and not frames.is_listed(frame):
        raise ValueError(
            f"{name} has no column {value!r}, only {listed(names)}; rename the column "
            "that holds it"
        )
    return frame, has_ranks


def is_table(rows: Sequence[Any]) -> bool:
    """True if rows are lines of TREC, as lists of strings that `csv.reader` returns."""
    return bool(rows) and all(
        isinstance(row, list)
        and {*map(type, row)} == {str}
        and row[1:2] in (["0"], ["Q0"])
        and any(form.is_form_of("\t".join(row)) for form in (text.QRELS, text.RUN))
        for row in rows
    )


def _scored(entry: Any, value: frames.ValueColumn) -> tuple[Any, Any] | None:
    """Returns the id and the number of an entry of a list, or None if one is missing.

    >>> _scored(("d7", np.float32(0.5)), "score"), _scored("d7", "score")
    (('d7', 0.5), None)
    """
    number: Any
    if isinstance(entry, tuple) and len(entry) == 2:
        doc, number = entry
    else:
        ids = (getattr(entry, name, None) for name in ("id", "doc_id", "docid"))
        doc = next((key for key in ids if key is not None), None)
        number = getattr(entry, value, None)
    number = number.item() if hasattr(number, "item") else number
    is_pair = doc is not None and isinstance(number, numbers.Real)
    return (doc, number) if is_pair else None


def _check_names(name: str, columns: Sequence[object]) -> None:
    """Raises ValueError if a frame has no columns, or several columns of the same name."""
    if not columns:
        raise ValueError(
            f"{name} has no columns; pass a frame of queries and documents"
        )
    repeated = [column for column in columns if list(columns).count(column) > 1]
    if repeated:
        raise ValueError(
            f"{name} has several columns {repeated[0]!r}; drop or rename all but one"
        )


def _columns(
    name: str, data: Mapping[object, object], value: frames.ValueColumn
) -> dict[str, object]:
    """Returns the columns of a dict of dicts.

    >>> columns = _columns("run", {"q1": {"a": 0.5, "b": 0.1}, "q2": {}}, "score")
    >>> for column in columns.values():
    ...     print([*column])
    ['q1', 'q1']
    ['a', 'b']
    [0.5, 0.1]
    """
    queries, counts, doc_ids, values = [], [], [], []
    for query, documents in data.items():
        if not isinstance(documents, Mapping):
            raise TypeError(
                f"{name}: query {query!r} holds {kind_of(documents)}; pass a dict of "
                "documents to numbers"
            )
        if documents:
            queries.append(query)
            counts.append(len(documents))
            doc_ids += documents.keys()
            values += documents.values()
    values = _one_dtype(name, values)
    rows = np.repeat(np.arange(len(queries)), np.array(counts, int))
    query_ids = frames.series(name, "query_id", queries)[rows]
    return dict(zip((*frames.IDS, value), (query_ids, doc_ids, values), strict=True))


def numeric(column: object) -> np.ndarray | list[object]:
    """Returns a column as an array if it holds numbers, else as a list.

    NumPy makes an array of objects from the strings of pandas. Polars reads such strings
    only from a list.
    """
    values = np.asarray(column)
    if values.dtype.kind == "f" and getattr(column, "dtype", values.dtype).kind in "iu":
        values = np.asarray(column, object)  # pandas would round integers beside NA
    if values.dtype.kind in "biuf":
        return values
    return [
        cell.tolist() if isinstance(cell, np.ndarray) else cell
        for cell in values.tolist()
    ]


def _one_dtype(name: str, values: list[Any]) -> np.ndarray | list[Any]:
    """Returns numbers of several kinds in one dtype.

    Raises ValueError if they would become float64 and two integers would become equal.
    """
    kinds = {*map(type, values)}
    if kinds in ({int}, {float}):
        return values
    are_integers = {issubclass(kind, numbers.Integral) for kind in kinds}
    if all(issubclass(kind, numbers.Real) for kind in kinds):
        dtype = np.float64 if False in are_integers else np.int64
        with contextlib.suppress(OverflowError):
            array = np.fromiter(values, dtype)
            if len(are_integers) < 2 or not (np.abs(array) >= 2.0**53).any():
                return array
    array = numeric(values)
    if isinstance(array, np.ndarray) and (np.abs(array) >= 2.0**53).any():
        integer = frames.same_in_float64(n for n in values if isinstance(n, int))
        if integer is not None:
            raise ValueError(f"{name} holds {integer}, {frames.NOT_HELD}")
    return array


_SHOWN = 2  # documents of each side that a remark names
# If a smaller share of the retrieved documents is judged, ids probably never match.
_LEAST_JUDGED = 0.01


def remarks_on_join(run: JudgedRun) -> list[str]:
    """Returns remarks on lists, on ids that never match, and on scores that collide.

    Args:
        run: Judgements and the whole run, of any depth and with unjudged documents.
    """
    remarks = [*run.remarks, *_unmatched_ids(run)]
    if run.collides is not None and run.collides.any():
        first = run.query_ids[int(np.argmax(run.collides))]
        remarks.append(
            colliding_scores(
                f"{np.count_nonzero(run.collides)} of {len(run.query_ids)} queries, "
                f"such as {first!r}",
                "float64",
                "write smaller integers, or leave the rules of trec_eval",
            )
        )
    if len(run.query_ids) == 1:
        num_items = int(run.retrieved.counts[0]) + np.count_nonzero(~run.is_retrieved)
        num_relevant = np.count_nonzero(run.judged.values > 0)
        cure = "pass the query_id of each"
        remarks += remark_on_one_list(num_items, num_relevant, cure)
    return remarks + _ids_that_print_alike(run)


def _ids_that_print_alike(run: JudgedRun) -> list[str]:
    """Returns a remark on two documents whose ids print alike but differ, if there are any.

    An "é", for example, is one character of Unicode, or an "e" and an accent.
    """
    known: dict[str, str] = {}
    for ids in (run.judged.doc_ids, run.retrieved.doc_ids):
        if ids.dtype != pl.String:
            return []
        has_accents = ids.str.len_bytes() != ids.str.len_chars()
        for doc_id in ids.filter(has_accents).unique(maintain_order=True):
            written = known.setdefault(unicodedata.normalize("NFC", doc_id), doc_id)
            if written != doc_id:
                return [
                    f"the documents {ascii(written)[:80]} and {ascii(doc_id)[:80]} print "
                    "alike but differ; pass ids through unicodedata.normalize('NFC', …) if "
                    "the two are the same document"
                ]
    return []


def _unmatched_ids(run: JudgedRun) -> list[str]:
    """Returns a remark if hardly any retrieved document is judged, and none is relevant."""
    counts, is_hit = run.retrieved.counts, run.is_retrieved
    num_retrieved, num_judged = int(counts.sum()), np.count_nonzero(is_hit)
    is_found = is_hit & (run.judged.values > 0)
    if num_judged >= _LEAST_JUDGED * num_retrieved or is_found.any():
        return []
    first = int(np.argmax((counts > 0) & (run.judged.counts > 0)))
    examples = [
        ", ".join(
            repr(doc_id)[:80] for doc_id in rows.doc_ids[rows.ranges()[first]][:_SHOWN]
        )
        for rows in (run.judged, run.retrieved)
    ]
    return [
        f"{num_judged} of {num_retrieved} retrieved documents are judged, and none is "
        f"relevant: for query {run.query_ids[first]!r}, the judgements hold "
        f"{examples[0]}, and the run holds {examples[1]}; if these are the same documents, "
        "write their ids in the same way on both sides; if the run holds chunks, pass "
        "document="
    ]


MAX_SHOWN = 5  # ids that a message names


def join(
    qrels: object,
    run: object,
    *,
    missing: Missing = "error",
    unjudged: Unjudged = "error",
    depth: int | None = None,
    ties: TiesOfFiles = "expected",
    condensed: bool = False,
    repeats: Repeats = "keep",
    duplicates: DuplicatesOfQrels = "error",
    document: frames.DocumentOf | None = None,
    exclude_self: bool = False,
    item_columns: types.ItemColumns | None = None,
) -> Joined:
    """Joins judgements and a run into lists, one for each judged query.

    A list holds the documents that the run retrieved, with their scores, and with the label
    0 if they were not judged. It also holds the documents that were judged but not
    retrieved. Such documents have no rank, but metrics count the relevant ones.

    Scores are compared as float64, so doubles that are equal only in float32 do not tie.
    Integer scores of any size are compared as integers.

    If ids are integers on one side and strings on the other, integers become strings: 1 is
    then equal to "1", but not to "01".

    Args:
        qrels: The judgements: a frame of polars or pandas or a table of pyarrow with the
            columns query_id, doc_id and relevance, as `read_qrels` returns, or with the
            column names of another program that `read_qrels` knows; or a dict
            `{query: {document: relevance}}`. A query with an empty dict is ignored. If a
            column names the subtopics to which documents are relevant, a document has the
            label 1 if it is relevant to any subtopic, and metrics of subtopics can be
            measured.

            Or lists of the relevant documents, `{query: [document, …]}`, as a dict or
            Series, in a column doc_id or doc_ids of a frame, or a list of lists, whose
            queries are 0, 1, …. A query with an empty list has nothing relevant.
        run: The run in the same forms, with score instead of relevance. If a frame has no
            scores, its column rank or position is read, in which lower is better. A frame
            of plain scores, without query_id, has one row for each row of the judgements,
            in the same order. Lists of documents are in rank order, unless they hold pairs
            `(document, score)`, or objects with an id and a score. A query with an empty
            list retrieved nothing; a query with an empty dict counts as missing.
        missing: What to do with queries that the run lacks: "error"; "zero" to keep them as
            lists in which nothing was retrieved, like `trec_eval -c`; or "skip" to give
            them the weight 0, like trec_eval without `-c`.
        unjudged: What to do with queries that have no judgements: "error", or "skip" to
            leave them out.
        depth: How many documents of each query to keep: the documents with the best scores
            and, among equal scores, with the last ids, as under `trec_eval -M`. None keeps
            all documents.
        ties: The meaning of equal scores: "expected", the documents tie, as `rank`
            explains; or "trec", the document with the last id, by its UTF-8 bytes, ranks
            first, as in trec_eval. Version 10 of trec_eval compares doubles, as this
            function does. Version 9, which pytrec_eval contains, first rounds scores to
            float32; to get the order of version 9, round the run's scores to float32.
        condensed: If True, documents that were not judged leave the run, so that later
            documents move up, as under `trec_eval -J` (condensed lists). Documents with a
            relevance below 0 count as not judged. Missing queries are determined, and
            `depth` is applied, before documents leave.
        repeats: What happens to the rank of a document that occurs earlier in a ranked
            list: "keep" leaves the rank occupied, as `rank_ids` does; "remove" lets later
            documents move up.
        duplicates: What to do if a query has a document in several rows of a frame:
            "error", or keep the "first" or the "last" row or, in judgements, the "max"
            relevance.
        document: For runs of chunks, a function or a dict from the id of a chunk to the id
            of its document. Only the best chunk of a document is kept, and chunks may
            repeat.
        exclude_self: If True, a document is removed from the list of the query with the
            same id, for example if queries are documents of the corpus. It then counts as
            neither retrieved nor judged, and is removed before `depth` and `condensed` are
            applied.
        item_columns: A dict from names to properties of all documents, such as prices, for
            metrics that read them. Each property is a dict, a Series or a frame keyed by
            document. If a document of qrels or run is missing from a column, metrics that
            read the column raise ValueError.

    It warns of probable mistakes, which `Joined.remarks` also holds: ids that never match,
    judgements that all lie below the `relevance_threshold` 1, and lists that are empty or
    name a document twice.

    Returns:
        A `Joined`, whose `evaluate` and `measure` compute metrics. Its `arguments()` can be
        passed to `rank`, and its `arguments(metrics)` to `jax_rank_metrics.evaluate`.

    Raises:
        ValueError: if queries are missing or unjudged, unless the options say otherwise; if
            a document repeats in a table, an id is missing, a score is NaN or a relevance
            exceeds float32; if an option is unknown; if no query is in both qrels and run,
            so that there is nothing to measure, unless missing="zero".
        TypeError: if qrels or run has none of these forms.
        ModuleNotFoundError: if polars is not installed.

    >>> import jax_rank_metrics as jrm
    >>> qrels = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}}
    >>> run = {"q1": {"a": 0.5, "b": 0.9}, "q2": {"x": 0.2, "a": 0.1}}
    >>> joined = join(qrels, run)
    >>> joined
    Joined(2 queries, 4 judged, 4 retrieved)
    >>> metrics = ("recall@2", "mrr")
    >>> states = joined.evaluate(metrics)
    >>> {name: float(state) for name, state in states.items()}
    {'recall@2': 0.75, 'mrr': 0.5}
    >>> lists = joined.measure(metrics)
    >>> dict(zip(joined.query_ids, lists["recall@2"].values.tolist()))
    {'q1': 0.5, 'q2': 1.0}

    The documents of the first query, in rank order:

    >>> ranking = jrm.rank(**joined.arguments())
    >>> is_first = ranking.segment_ids == 0
    >>> joined.doc_ids[[int(i) for i in ranking.items[is_first] if i >= 0]].to_list()
    ['b', 'a']
    """
    inputs.option("missing", missing, Missing)
    inputs.option("unjudged", unjudged, Unjudged)
    inputs.option("ties", ties, TiesOfFiles)
    inputs.option("repeats", repeats, Repeats)
    inputs.option("duplicates", duplicates, DuplicatesOfQrels)
    if depth is not None:
        inputs.positive_integer("depth", depth)
    with messages.short_errors():
        judged_run = _judged_run_of(
            qrels, run, ties, repeats, duplicates, document, exclude_self
        )
        joined = joined_of(
            judged_run,
            missing=missing,
            unjudged=unjudged,
            depth=depth,
            ties=ties,
            condensed=condensed,
            item_columns=item_columns,
        )
    for remark in joined.remarks:
        warnings.warn(remark, stacklevel=2)
    return joined


def _judged_run_of(
    qrels: object,
    run: object,
    ties: TiesOfFiles,
    repeats: Repeats = "keep",
    duplicates: DuplicatesOfQrels = "error",
    document: frames.DocumentOf | None = None,
    exclude_self: bool = False,
) -> JudgedRun:
    """Checks the arguments of `join`, and finds the judged documents in the run.

    Raises:
        ValueError: if judgements or run are empty; see `frame_of`.
        TypeError: see `frame_of`.
    """
    judged = frame_of("qrels", qrels, "relevance", duplicates)
    run_duplicates = "error" if duplicates == "max" else duplicates
    if document is not None and run_duplicates == "error":
        run_duplicates = "max"  # Only the best chunk of a document is kept in any case.
    retrieved = frame_of("run", run, "score", run_duplicates)
    # A dict of queries without documents is a run that has found nothing.
    is_run = retrieved.height or (isinstance(run, Mapping) and run)
    for name, is_there in (("qrels", judged["doc_id"].count()), ("run", is_run)):
        if not is_there:
            raise ValueError(
                f"{name} is empty; pass at least one document of one query"
            )
    if document is not None:
        retrieved = frames.by_documents(retrieved, document)
    joined = find_judged(judged, retrieved, ties, repeats, exclude_self)
    choices = {**joined.choices, "rows": duplicates}
    choices |= {"document": "custom"} if document else {}
    return joined._replace(choices=choices)


def join_dicts(
    qrels: Mapping[str, Mapping[str, int]] | Any,
    run: Mapping[str, Mapping[str, float]],
    *,
    condensed: bool,
    ties: TiesOfFiles,
) -> Joined:
    """Joins dicts in the way that programs based on pytrec_eval expect.

    A query that the run lacks, or for which it holds no document, has a list in which
    nothing was retrieved. Queries without judgements are left out. With ties="trec", scores
    are compared as float32.

    Args:
        qrels: The judgements, at least one; or a frame of judgements of subtopics.
        run: The run.
        condensed: See `join`.
        ties: See `join`.
    """
    judged_run = _judged_run_of(qrels, run, ties)
    if ties == "trec":
        judged_run = judged_run.with_float32_scores()
    return joined_of(
        judged_run,
        missing="zero",
        unjudged="skip",
        depth=None,
        ties=ties,
        condensed=condensed,
    )


def joined_of(
    run: JudgedRun,
    *,
    missing: Missing,
    unjudged: Unjudged,
    depth: int | None,
    ties: TiesOfFiles,
    condensed: bool,
    item_columns: types.ItemColumns | None = None,
) -> Joined:
    """Returns the result of `join` from judgements and a run that are already matched."""
    if len(run.unjudged) and unjudged == "error":
        raise ValueError(
            f"run: {_subject(run.unjudged)} no documents in qrels; pass "
            "unjudged='skip' to leave such queries out"
        )
    is_answered, queries = run.is_answered, run.query_ids
    if missing == "error" and not is_answered.all():
        raise ValueError(
            f"qrels: {_subject(queries.filter(~is_answered))} no documents in run; pass "
            "missing='zero' to count such queries as 0, or missing='skip' to leave them out"
        )
    if missing == "skip" and not is_answered.any():
        raise ValueError(
            "qrels and run have no query in common, or run has no documents for the common "
            "queries; compare their ids"
        )
    relevance, max_float32 = run.judged.values, np.finfo(np.float32).max
    is_large = relevance > max_float32
    if is_large.any():
        row = int(np.argmax(is_large))
        raise ValueError(
            f"qrels: document {run.judged.doc_ids[row]!r} has the relevance "
            f"{relevance[row]}, beyond float32; pass at most {max_float32:.3g}"
        )
    is_counted = is_answered if missing == "skip" else np.ones_like(is_answered)
    remarks = remarks_on_join(run)
    if depth is not None:
        run = keep_first(run, depth)
    if condensed:  # Only documents that were judged stay in the run.
        is_judged = np.zeros(len(run.retrieved.values), bool)
        is_judged[run.retrieved_rows[run.is_retrieved & (relevance >= 0)]] = True
        run = run.keep(is_judged)
    choices = {
        **run.choices,
        "negative": "unjudged",
        "nan": "error",
        "cut": depth,
    }
    choices |= {"ties": ties, "unjudged": "removed" if condensed else "zero"}
    if missing == "skip":  # queries whose ranked list is empty still count
        choices["queries"] = "both" if choices["duplicates"] == "error" else "listed"
    weights = is_counted.astype(np.float32)
    return Joined(run, weights, ties, remarks, choices, item_columns)


def _subject(ids: "pl.Series") -> str:
    """Returns queries as the subject of a message, as in "2 queries ('q1', 'q3') have"."""
    ids = ids.unique(maintain_order=True)
    names = ", ".join(map(repr, ids.head(MAX_SHOWN)))
    if len(ids) == 1:
        return f"query {names} has"
    ellipsis = ", …" if len(ids) > MAX_SHOWN else ""
    return f"{len(ids)} queries ({names}{ellipsis}) have"
