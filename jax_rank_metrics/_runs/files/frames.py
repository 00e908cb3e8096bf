"""Frames of judgements and runs: names of columns, checks of values, lists as rows."""

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from jax_rank_metrics._ground import choices, inputs, optional
from jax_rank_metrics._ground.inputs import kind_of
from jax_rank_metrics._runs.files import sources
from jax_rank_metrics._values import remarks

if TYPE_CHECKING:
    import polars as pl
else:
    pl = optional.LazyLibrary("polars", "jrm.join", "trec")

ValueColumn = Literal["relevance", "score"]


# Raises the error for a row, given its index and the reason.
Fail = Callable[[int, str], NoReturn]

IDS = ("query_id", "doc_id")
SUBTOPIC = "subtopic"

# The names of the columns of query, document and number in other programs.
_RANX, _BEIR = ("q_id", "doc_id", "score"), ("query-id", "corpus-id", "score")
_TERRIER = "docno", "docid"  # beside a docno, the docid is a number in an index
_KNOWN: dict[ValueColumn, tuple[tuple[str, str, str], ...]] = {
    "relevance": (
        ("query_id", "doc_id", "relevance"),  # here, ir_datasets and ir_measures
        *(("qid", doc, number) for doc in _TERRIER for number in ("label", "rel")),
        *(_RANX, _BEIR),  # MTEB has the latter, too
    ),
    "score": (
        ("query_id", "doc_id", "score"),
        *(("qid", doc, "score") for doc in _TERRIER),
        *(_RANX, _BEIR),
    ),
}
_SUBTOPICS = (SUBTOPIC, "subtopic_id")  # ir_datasets has the latter
# Columns in which lower is better.
_RANKS = ("rank", "position", "ranking", "pos", "doc_rank")

# Why an integer is refused if float64 rounds it to the same number as another integer.
NOT_HELD = (
    "which float64, the dtype of numbers that are not all integers, cannot distinguish "
    "from another number; pass smaller numbers"
)

# How many rows of a large frame are compared at once.
_ROWS_OF_PART = 2**20


def first_true(rows: "pl.Series") -> int | None:
    """Returns the index of the first row that is True, or None; null counts as False."""
    index = rows.fill_null(False).arg_max()
    return None if index is None or not rows[index] else int(index)


def listed(names: Iterable[object]) -> str:
    """Returns names separated by commas, for messages.

    A name is quoted if it is empty, contains a comma, or begins or ends with white space.

    >>> listed(["query_id", " doc_id"])
    "query_id, ' doc_id'"
    """
    return ", ".join(
        name if re.fullmatch(r"\S(?:[^,]*\S)?", name) else repr(name)
        for name in map(str, names)
    )


def known_columns(
    names: Sequence[str], value: ValueColumn, may_be_lists: bool = True
) -> tuple[str, ...]:
    """Returns the columns of query, document and number among names, perhaps with a fourth.

    The fourth is the subtopic of judgements, or the rank in a run that also has scores. If
    the names hold the columns of no known program, the names of this package are returned.
    In a run without scores, the number is the rank. Lists of documents need no numbers, and
    names of lists may be plural.

    Raises:
        ValueError: if the names hold the columns of two programs, or two subtopics.

    >>> known_columns(("qid", "docid", "docno", "label"), "relevance")
    ('qid', 'docno', 'label')
    >>> known_columns(("qid", "docno", "rank"), "score")
    ('qid', 'docno', 'rank')
    >>> known_columns(("query_id", "doc_ids", "scores"), "score")
    ('query_id', 'doc_ids', 'scores')
    """
    known, ranks = {*names}, [name for name in names if is_rank(name)]
    if "docno" in known:
        known.discard("docid")
    present: list[tuple[str, ...]]
    present = [triple for triple in _KNOWN[value] if {*triple} <= known]
    if not present and value == "score":
        pairs = dict.fromkeys(triple[:2] for triple in _KNOWN[value])
        present = [
            (*pair, name) for pair in pairs for name in ranks if {*pair} <= known
        ]
    if len(present) > 1:
        raise ValueError(
            "two sets of columns could be read: "
            f"{listed(present[0])}, and {listed(present[1])}"
        )
    if not present and may_be_lists:
        numbers = [f"{number}{s}" for *_, number in _KNOWN[value] for s in ("", "s")]
        present = [
            columns
            for query, doc, number in _KNOWN[value]
            for columns in (
                (query, doc, f"{number}s"),
                (query, doc),
                *((query, f"{doc}s", name) for name in numbers),
                (query, f"{doc}s"),
            )
            if {*columns} <= known
        ]
    triple = present[0] if present else _KNOWN[value][0]
    subtopics = [name for name in _SUBTOPICS if name in names and value == "relevance"]
    if len(subtopics) > 1:
        raise ValueError(f"two columns could be the subtopic, {' or '.join(subtopics)}")
    if value == "score" and not is_rank(triple[-1]):
        return (*triple, *ranks[: len(triple) == 3])
    return (*triple, *subtopics)


def is_rank(name: str) -> bool:
    """True if a column of this name holds ranks, which are better when lower."""
    return str(name).strip().lower() in _RANKS


def scores_of_ranks(ranks: "pl.Series", fail: Fail, first_rank: int = 0) -> "pl.Series":
    """Returns scores that fall as ranks grow; passes the first row that is wrong to `fail`.

    Ranks are integers of at least `first_rank`.
    """
    numbers = finite_numbers(ranks)
    row = first_true(numbers.is_null() | (numbers < first_rank) | (numbers % 1 != 0))
    if row is not None:
        start = "1" if first_rank else "0 or 1"
        fail(row, f"the rank is {ranks[row]}; pass integers, counted from {start}")
    return 0.0 - numbers  # never −0.0, unlike -numbers


def finite_numbers(texts: "pl.Series") -> "pl.Series":
    """Returns texts as float64, with null for anything but a finite number."""
    numbers = texts.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite(), None)


def standard_names(value: ValueColumn, count: int) -> tuple[str, ...]:
    """Returns this package's names for the first `count` columns of `known_columns`."""
    return (*IDS, value, "rank" if value == "score" else SUBTOPIC)[:count]


def cleaned(frame: "pl.DataFrame", value: ValueColumn, fail: Fail) -> "pl.DataFrame":
    """Returns the columns of ids and of `value`, checked and converted.

    Ids and subtopics become strings or int64, scores become float64 or stay integers, and
    relevance becomes int64 or float64. Plain scores have no column query_id. The first row
    with a wrong value is passed to `fail`.
    """
    names = (*IDS, value, SUBTOPIC)
    return frame.select(
        numbers_of(frame[name], value, fail)
        if name == value
        else ids_of(frame[name], fail)
        for name in names
        if name in frame.columns
    )


def refuse_breaks(column: "pl.Series", fail: Fail) -> None:
    """Passes the first row whose text, or list of texts, has a line break to `fail`.

    Two stray quotes in a table turn all lines between them into one field.
    """
    texts = column.list.join(" ") if column.dtype == pl.List(pl.String) else column
    if texts.dtype != pl.String:
        return
    if (row := first_true(texts.str.contains(r"[\r\n]"))) is not None:
        cure = (
            "close the quote that begins it, if there is one, or write it in one line"
        )
        fail(row, f"{column.name} is {texts[row][:80]!r}, with a line break; {cure}")


def ids_of(ids: "pl.Series", fail: Fail) -> "pl.Series":
    """Returns ids as strings or int64; passes a row with a missing or bad id to `fail`."""
    if isinstance(ids.dtype, (pl.Categorical, pl.Enum)):
        ids = ids.cast(pl.String)
    if ids.is_empty() and ids.dtype != pl.String:  # accept any dtype
        ids = pl.Series(ids.name, [], pl.Null)
    missing = ids.is_null()
    if ids.dtype == pl.String:
        missing |= ids == ""
    elif ids.dtype.is_float():  # pandas turns integers into floats if one is missing
        missing |= ids.is_nan()
    row = first_true(missing)
    if row is not None:
        fail(row, f"{ids.name} is missing; pass an id in every row")
    if ids.dtype == pl.String:
        return ids
    if not (ids.dtype.is_integer() or ids.dtype == pl.Null):
        row = first_true(ids != ids.round()) if ids.dtype.is_float() else None
        if isinstance(ids.dtype, pl.Struct):
            fail(0, f"{ids.name} is {str(ids[0])[:80]}, a dict; pass only the id in it")
        fail(
            row or 0,
            f"{ids.name} is {ids.dtype}; pass ids that are strings or integers",
        )
    integers = ids.cast(pl.Int64, strict=False)
    row = first_true(integers.is_null())
    if row is not None:
        fail(row, f"{ids.name} is {ids[row]}, beyond int64; pass it as a string")
    return integers


def numbers_of(column: "pl.Series", value: ValueColumn, fail: Fail) -> "pl.Series":
    """Returns numbers as float64, and relevance without fractions as int64.

    A relevance is finite. A score may be infinite, but not NaN. Integer scores stay
    integers if float64 might not distinguish them.
    """
    dtype = column.dtype
    if not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Null)):
        fail(0, f"{column.name} is {dtype}; pass numbers")
    row = first_true(column.is_null())
    if row is not None:
        fail(row, f"{column.name} is missing; pass a number in every row")
    if value == "relevance" and not dtype.is_float():
        integers = column.cast(pl.Int64, strict=False)
        # A cast of decimals would drop their fractions.
        if not integers.has_nulls() and not dtype.is_decimal():
            return integers
    if value == "score" and dtype.is_integer():
        if are_wide(column.cast(pl.Float64)):
            return column
    stripped = column.str.strip_chars(" \t") if dtype == pl.String else column
    numbers = stripped.cast(pl.Float64, strict=False)
    row = first_true(numbers.is_null())
    if row is not None:
        fail(
            row,
            f"{column.name} is {column[row]!r}, which is not a number; pass numbers",
        )
    is_bad = numbers.is_nan() if value == "score" else ~numbers.is_finite()
    row = first_true(is_bad)
    if row is not None:
        expected = "a number" if value == "score" else "a finite number"
        fail(row, f"{column.name} is {numbers[row]}; pass {expected}")
    if dtype == pl.String and value == "score" and are_wide(numbers):
        integers = stripped.cast(pl.Int64, strict=False)
        if not integers.has_nulls():
            return integers
        integer = same_in_float64(integers.drop_nulls())
        at = None if integer is None else first_true(integers == integer)
        if at is not None:
            fail(at, f"{column.name} is {integer}, {NOT_HELD}")
    return numbers


def are_wide(numbers: "pl.Series") -> bool:
    """True if some numbers may be integers that float64 does not distinguish."""
    return bool((numbers.is_finite() & (numbers.abs() >= 2.0**53)).any())


def same_in_float64(integers: Iterable[int]) -> int | None:
    """Returns the first integer that equals an earlier, other integer in float64."""
    known: dict[float, int] = {}
    for integer in integers:
        if known.setdefault(float(integer), integer) != integer:
            return integer
    return None


def first_repeat(frame: "pl.DataFrame") -> int | None:
    """Returns the index of the first row that repeats the ids of an earlier row, or None.

    Subtopics count as ids. Plain scores have no query ids, so they do not repeat.
    """
    if "query_id" not in frame.columns:
        return None
    # Equal ids have equal hashes, so no ids repeat if all hashes differ. This check takes a
    # fifth of the time of comparing the ids.
    ids = id_columns(frame)
    hashes = pl.sum_horizontal(
        pl.col(name).hash(seed) * seed for seed, name in enumerate(ids, 1)
    )
    if frame.select(hashes.n_unique()).item() == frame.height:
        return None
    return first_true(~frame.select(ids).to_struct().is_first_distinct())


def distinct(
    frame: "pl.DataFrame",
    value: ValueColumn,
    duplicates: choices.DuplicatesOfQrels,
) -> "pl.DataFrame":
    """Returns one row for each set of ids: the first, the last, or one with the maximum."""
    ids = id_columns(frame)
    if duplicates == "max":
        groups = frame.group_by(ids, maintain_order=True)
        return groups.agg(pl.col(value).max()).select(frame.columns)
    assert duplicates != "error"
    return frame.unique(ids, keep=duplicates, maintain_order=True)


def id_columns(frame: "pl.DataFrame") -> list[str]:
    """Returns the columns that identify a row: its ids, and its subtopic if it has one."""
    return [name for name in (*IDS, SUBTOPIC) if name in frame.columns]


def series(name: str, column: str, values: Any) -> "pl.Series":
    """Returns values as a column of polars; raises ValueError if they are of several kinds.

    Messages name the argument `name`.
    """
    try:
        return pl.Series(column, values)
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: {sources.half_character(error)}") from error
    except OverflowError as error:
        raise ValueError(
            f"{name}: {column} holds an integer beyond 128 bits; pass "
            + ("strings" if column in IDS else "floats")
        ) from error
    except (TypeError, pl.exceptions.PolarsError) as error:
        cells = [*map(_with_null, values)]
        with contextlib.suppress(TypeError, pl.exceptions.PolarsError):
            return pl.Series(column, cells)
        if column not in (*IDS, "list", "item") and all(map(_is_small, cells)):
            return pl.Series(column, cells, pl.Float64, strict=False)
        raise ValueError(
            f"{name}: {column} holds values of several kinds; pass strings only, or "
            "numbers only"
        ) from error


def _is_small(cell: Any) -> bool:
    """True for a number that float64 holds exactly, and for what is missing."""
    if isinstance(cell, Integral):
        return abs(int(cell)) <= 2**53
    return cell is None or isinstance(cell, Real)


def _with_null(cell: Any) -> Any:
    """Returns a cell, or the cells of a list, with None for cells that are missing."""
    if isinstance(cell, list):
        return [*map(_with_null, cell)]
    return None if inputs.is_missing(cell) else cell


# Maps the id of a chunk, which a run holds, to the id of its document.
DocumentOf = Callable[[Any], Any] | Mapping[Any, Any]


def is_listed(frame: "pl.DataFrame") -> bool:
    """True if a frame has a list of documents in each row."""
    return frame["doc_id"].dtype == pl.List


def rows_of_lists(
    frame: "pl.DataFrame", value: ValueColumn, fail: Fail
) -> "pl.DataFrame":
    """Returns a checked row for each document of a frame with a list in each row.

    A query whose list is empty has one row, in which the document is null. If the frame has
    no numbers, scores fall along a list, judged documents have the relevance 1, and a
    column `repeated` marks documents that occur earlier in their list.

    Args:
        frame: Rows of a query, a list of documents, and perhaps a list of numbers.
        value: "relevance" for judgements, "score" for a run.
        fail: Called with the index of a wrong row of `frame`, and the reason.

    >>> frame = pl.DataFrame({"query_id": ["q"], "doc_id": [["b", "a"]]})
    >>> rows_of_lists(frame, "score", print).rows()
    [('q', 'b', -1.0, False), ('q', 'a', -2.0, False)]
    """
    is_ranked = value not in frame.columns
    sizes = frame["doc_id"].list.len()
    if is_ranked:
        ranks = pl.int_ranges(-1, -1 - sizes.cast(pl.Int64), -1, eager=True)
        numbers = ranks if value == "score" else ranks.list.eval(pl.element() * 0 + 1)
        frame = frame.with_columns(numbers.alias(value))
    queries = cleaned(frame.select("query_id"), value, fail)["query_id"]
    row = first_true(queries.is_duplicated())
    if row is not None:
        fail(row, f"query {queries[row]!r} appears twice; pass one list for each query")
    for name in ("doc_id", value):
        if frame[name].dtype != pl.List:
            fail(0, f"{name} is {frame[name].dtype}; pass lists, as in doc_id")
        row = first_true(frame[name].is_null() | (frame[name].list.len() != sizes))
        if row is not None:
            fail(
                row,
                f"{name} is missing, or its length differs from the other list; pass two "
                "lists of the same length",
            )
    frame = frame.with_columns(queries).with_row_index("row")
    rows = frame.explode("doc_id", value, empty_as_null=False)
    documents = cleaned(
        rows, value, lambda row, reason: fail(int(rows["row"][row]), reason)
    )
    parts = [
        documents.with_columns(rows["row"]),
        frame.filter(sizes == 0).select("query_id", "row"),
    ]
    documents = pl.concat(parts, how="diagonal").sort("row", maintain_order=True)
    if is_ranked:
        repeated = ~documents.select(IDS).to_struct().is_first_distinct()
        documents = documents.with_columns(repeated.alias("repeated"))
    return documents.drop("row")


def by_documents(run: "pl.DataFrame", document: DocumentOf) -> "pl.DataFrame":
    """Returns a run of documents: each document has the score of its best chunk.

    Args:
        run: The run of chunks, checked.
        document: See `join`.

    Raises:
        ValueError: if `document` lacks a chunk, or maps one to a value that is not an id.
        TypeError: if `document` is neither a function nor a dict.
    """
    if "query_id" not in run.columns:
        raise ValueError(
            "document: plain scores have no ids of documents; leave it out"
        )
    chunks = run["doc_id"].drop_nulls().unique(maintain_order=True)
    if isinstance(document, Mapping):
        unknown = [chunk for chunk in chunks if chunk not in document]
        if unknown:
            raise ValueError(
                f"document has no entry for {unknown[0]!r}, a chunk in the run; "
                "pass a dict with all chunks of the run, or a function"
            )
        document = document.__getitem__
    elif not callable(document):
        raise TypeError(
            f"document: got {kind_of(document)}; pass a function or a dict from the id "
            "of a chunk to the id of its document"
        )

    def fail(row: int, reason: str) -> NoReturn:
        raise ValueError(f"document of {chunks[row]!r}: {reason}")

    ids = ids_of(series("document", "doc_id", [*map(document, chunks)]), fail)
    pairs = pl.DataFrame([chunks.alias("chunk"), ids])
    run = run.rename({"doc_id": "chunk"}).join(
        pairs, "chunk", "left", maintain_order="left"
    )
    return run.group_by(IDS, maintain_order=True).agg(pl.col("score").max())


def remarks_on_ranks(run: "pl.DataFrame") -> list[str]:
    """Returns a remark if scores mostly rise with the ranks in another column of a run."""
    if "rank" not in run.columns or "query_id" not in run.columns:
        return []
    # Compare neighbouring rows of a query. Either of the two rows may be the better one.
    steps = [pl.col(name).cast(pl.Float64, strict=False) for name in ("rank", "score")]
    sign = steps[0].diff().sign() * steps[1].diff().sign()
    is_pair = (pl.col("query_id") == pl.col("query_id").shift(1)) & sign.is_finite()
    sign = pl.when(is_pair).then(sign).cast(pl.Int8).alias("sign")
    # Entry i compares the rows i and i + 1. Rows are compared in parts, because the columns
    # that a comparison needs are several times as large as its signs.
    signs = pl.concat(
        run.slice(start, _ROWS_OF_PART + 1).select(sign)[1:]
        for start in range(0, run.height or 1, _ROWS_OF_PART)
    )["sign"]
    num_rising, num_falling = int((signs > 0).sum()), int((signs < 0).sum())
    if not remarks.is_reversed(num_rising, num_falling):
        return []
    row = first_true(signs > 0)
    assert row is not None
    return [
        f"scores rise with the ranks beside them in {num_rising} of "
        f"{num_rising + num_falling} pairs of neighbouring rows, as in query "
        f"{run['query_id'][row]!r}, but only scores determine the order, and higher "
        "scores rank first; negate scores that are distances, or leave them out of a "
        "frame, so that its ranks are read"
    ]


def remarks_on_own_documents(
    own_rows: "pl.DataFrame", run: "pl.DataFrame"
) -> list[str]:
    """Returns a remark if most queries find the document that has their own id first.

    Args:
        own_rows: The rows of a run in which both ids are the same.
        run: The whole run.
    """
    if own_rows.height < 2:
        return []
    best = run.group_by("query_id").agg(best=pl.max("score"))
    first = own_rows.join(best, "query_id").filter(pl.col("score") == pl.col("best"))
    if 2 * first.height <= best.height:
        return []
    return [
        f"{first.height} of {best.height} queries find the document with their own id "
        f"first, such as {first['query_id'][0]!r}; pass exclude_self=True if queries are "
        "documents of the corpus and do not count as their own answers"
    ]


def remarks_on_lists(judged: "pl.DataFrame", run: "pl.DataFrame") -> list[str]:
    """Returns remarks on documents that repeat in a list, and on empty lists.

    Args:
        judged: Judgements, with empty lists and repeated documents.
        run: A run, with empty lists and repeated documents.
    """
    undefined = (
        "nothing is relevant, which counts as 0 by default; `undefined=` sets what such "
        "lists count"
    )
    repeated = (
        "a document appears twice; its first rank counts, and `repeats=` sets whether "
        "its other ranks stay occupied"
    )
    problems = [
        (undefined, judged, judged["doc_id"].is_null()),
        ("nothing was retrieved", run, run["doc_id"].is_null()),
    ]
    for problem, rows in (
        ("a judged document appears twice; it counts once", judged),
        (repeated, run),
    ):
        if "repeated" in rows.columns:
            problems.append((problem, rows, rows["repeated"]))
    texts = []
    for problem, rows, has_problem in problems:
        queries = rows["query_id"].filter(has_problem).unique(maintain_order=True)
        if len(queries):
            count = f"{len(queries)} of {rows['query_id'].n_unique()} lists"
            texts.append(f"in {count}, such as the list of {queries[0]!r}, {problem}")
    return texts
