"""Lists of ids, one for each query, as rows of documents; chunks as documents."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jax_rank_metrics._choices import Repeats
from jax_rank_metrics._files.frames import (
    IDS,
    Fail,
    Value,
    cleaned,
    first_true,
    polars,
    series,
)
from jax_rank_metrics._inputs import kind_of

if TYPE_CHECKING:
    import polars as pl

# Tells the document of a chunk, by whose id a run may have it.
DocumentOf = Callable[[Any], Any] | Mapping[Any, Any]


def is_listed(frame: "pl.DataFrame") -> bool:
    """Returns whether a frame has a list of documents in each row."""
    return frame["doc_id"].dtype == polars("jrm.join").List


def rows_of_lists(frame: "pl.DataFrame", value: Value, fail: Fail) -> "pl.DataFrame":
    """Returns a checked row for each document of a frame with a list in each row.

    A query whose list is empty has one row, in which the document is null. Without
    numbers, scores fall along a list, judged documents have the relevance 1, and a column
    `repeated` tells which documents occur earlier in their list.

    Args:
        frame: A query in each row, with a list of documents, and perhaps one of numbers.
        value: "relevance" for judgements, "score" for a run.
        fail: Is told the row of `frame` that is wrong, and why.

    >>> frame = polars("an example").DataFrame({"query_id": ["q"], "doc_id": [["b", "a"]]})
    >>> rows_of_lists(frame, "score", print).rows()
    [('q', 'b', -1.0, False), ('q', 'a', -2.0, False)]
    """
    pl = polars("jrm.join")
    is_ranked = value not in frame.columns
    sizes = frame["doc_id"].list.len()
    if is_ranked:
        ranks = pl.int_ranges(-1, -1 - sizes.cast(pl.Int64), -1, eager=True)
        numbers = ranks if value == "score" else ranks.list.eval(pl.element() * 0 + 1)
        frame = frame.with_columns(numbers.alias(value))
    queries = cleaned(frame.select("query_id"), value, fail)["query_id"]
    row = first_true(queries.is_duplicated())
    if row is not None:
        fail(
            row, f"query {queries[row]!r} is there twice; pass one list for each query"
        )
    for name in ("doc_id", value):
        if frame[name].dtype != pl.List:
            fail(0, f"{name} is {frame[name].dtype}; pass lists, as doc_id has them")
        row = first_true(frame[name].is_null() | (frame[name].list.len() != sizes))
        if row is not None:
            fail(row, f"{name} is missing, or of another length than the other list")
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


def by_documents(
    run: "pl.DataFrame", repeats: Repeats, document: DocumentOf | None
) -> "pl.DataFrame":
    """Returns a run with the documents of its chunks, if it holds chunks.

    Of those that belong to one document, that with the best score stays.

    Args:
        run: The run, checked.
        repeats: Whether documents that occur earlier in a ranked list stay.
        document: See `join`.

    Raises:
        ValueError: if `document` has none for a chunk, or one that is no id.
        TypeError: if `document` is neither a function nor a dict.
    """
    pl = polars("jrm.join")
    if document is not None:
        chunks = run["doc_id"].drop_nulls().unique(maintain_order=True)
        if isinstance(document, Mapping):
            unknown = [x for x in chunks if x not in document]
            if unknown:
                raise ValueError(
                    f"document has no entry for {unknown[0]!r}, a document of the run; "
                    "pass a dict of all of them, or a function"
                )
            document = document.__getitem__
        elif not callable(document):
            raise TypeError(
                f"document: got {kind_of(document)}; pass a function or a dict that tells "
                "the document of a chunk"
            )
        ids = series("document", "doc_id", [*map(document, chunks)])
        pairs = pl.DataFrame([chunks.alias("chunk"), ids])
        run = run.rename({"doc_id": "chunk"}).join(
            pairs, "chunk", "left", maintain_order="left"
        )
    if document is None and (repeats == "keep" or "repeated" not in run.columns):
        return run
    return run.group_by(IDS, maintain_order=True).agg(pl.col("score").max())


def remarks_on_lists(judged: "pl.DataFrame", run: "pl.DataFrame") -> list[str]:
    """Returns remarks on documents that repeat, and on lists without any.

    Args:
        judged: Judgements, with empty lists and repeated documents.
        run: A run of the same kind.
    """
    undefined = "nothing is relevant; `undefined=` says what such lists count"
    repeated = (
        "a document is there twice; its first rank counts, and `repeats` says whether the "
        "others stay taken"
    )
    problems = [
        (undefined, judged, judged["doc_id"].is_null()),
        ("nothing was retrieved", run, run["doc_id"].is_null()),
    ]
    for problem, rows in (
        ("a judged document is there twice; it counts once", judged),
        (repeated, run),
    ):
        if "repeated" in rows.columns:
            problems.append((problem, rows, rows["repeated"]))
    remarks = []
    for problem, rows, has_problem in problems:
        queries = rows["query_id"].filter(has_problem).unique(maintain_order=True)
        if len(queries):
            count = f"{len(queries)} of {rows['query_id'].n_unique()} lists"
            remarks.append(f"in {count}, such as that of {queries[0]!r}, {problem}")
    return remarks
