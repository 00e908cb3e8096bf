"""Converts the arguments of `join` to frames with checked columns."""

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._files.frames import (
    IDS,
    Value,
    cleaned,
    first_repeat,
    is_rank,
    known_columns,
    listed,
    polars,
    scores_of_ranks,
    series,
    standard_names,
)
from jax_rank_metrics._files.listed import is_listed, rows_of_lists
from jax_rank_metrics._inputs import kind_of

if TYPE_CHECKING:
    import polars as pl


@runtime_checkable
class _Frame(Protocol):
    """A data frame, of whichever library."""

    @property
    def columns(self) -> Iterable[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...


def frame_of(name: str, data: Any, value: Value) -> "pl.DataFrame":
    """Returns an argument of `join` as a frame with checked columns.

    Args:
        name: The argument, "qrels" or "run", for messages.
        data: A frame of polars or pandas, a table of Arrow, a dict
            `{query: {document: number}}`, or lists of documents, by query or by position.
            Columns have names of `known_columns`.
        value: The column of numbers: "relevance" or "score".

    Raises:
        TypeError: if `data` is anything else.
        ValueError: if it lacks a column or has one twice; with the row, or the query and
            the document of a dict, if an id or number is missing or wrong, or a document
            repeats.
    """
    pl = polars("jrm.join")

    def fail(row: int, reason: str) -> NoReturn:
        location = f"row {row}"
        if isinstance(data, Mapping):
            query, doc = raw.select(IDS).row(row)
            document = "" if is_listed(raw) else f", document {doc!r}"
            location = f"query {query!r}{document}"
        raise ValueError(f"{name}, {location}: {reason}")

    raw, has_ranks = _raw_frame(pl, name, data, value)
    has_lists = is_listed(raw)
    frame = rows_of_lists(raw, value, fail) if has_lists else raw
    if has_ranks:
        frame = frame.with_columns(score=scores_of_ranks(frame["score"], fail))
    if not has_lists:
        frame = cleaned(frame, value, fail)
    # A frame from `read_run` has no repeats, but the caller may have joined it to another.
    row = None if "repeated" in frame.columns else first_repeat(frame)
    if row is not None:
        query, doc = frame.select(IDS).row(row)
        fail(row, f"document {doc!r} of query {query!r} is there twice; pass it once")
    return frame


def _raw_frame(
    pl: ModuleType, name: str, data: Any, value: Value
) -> tuple["pl.DataFrame", bool]:
    """Returns the columns of `data` as they are, and whether the scores are ranks."""
    columns: dict[str, object]
    names: Sequence[object] = ()
    has_ranks = False
    if (column_names := getattr(data, "column_names", None)) is not None:
        _check_names(name, column_names)  # of which polars would rename one
    data = _inputs.as_frame(data, "jrm.join")
    if isinstance(data, pl.Series):
        data = data.to_list()
    is_mapping = isinstance(data, Mapping)
    if is_mapping and (not data or any(isinstance(x, Mapping) for x in data.values())):
        queries, docs, numbers = _columns(name, data)
        if not all(type(number) is int for number in numbers):
            numbers = _numeric(numbers)  # one dtype for ints beside floats
        columns = dict(zip((*IDS, value), (queries, docs, numbers), strict=True))
    elif is_mapping or isinstance(data, (list, tuple)) or _inputs.is_series(data):
        queries, docs = _inputs.ragged_lists(name, data, is_ordered=value == "score")
        columns = {"query_id": range(len(docs)) if queries is None else queries}
        columns["doc_id"] = (
            pl.Series(docs, dtype=pl.List(pl.Null)) if not docs else docs
        )
    elif isinstance(data, _Frame):
        names = [*data.columns]
        _check_names(name, names)
        try:
            known = known_columns(names, value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}; drop the others") from error
        has_ranks = is_rank(known[-1])
        is_plain = name == "run" and known[0] not in names  # plain scores
        missing = [column for column in known[is_plain:] if column not in names]
        if missing:
            raise ValueError(
                f"{name} has no column {missing[0]!r}, only {listed(names)}; rename it"
            )
        standard = standard_names(value, len(known))
        present = dict(zip(standard, known, strict=True))
        if is_plain:
            del present["query_id"]
        is_polars = isinstance(data, pl.DataFrame)
        columns = {
            x: data[y] if is_polars else _numeric(data[y]) for x, y in present.items()
        }
    else:
        raise TypeError(
            f"{name}: got {kind_of(data)}; pass a frame with the columns query_id, "
            f"doc_id and {value}, a dict {{query: {{doc: {value}}}}}, or "
            f"{{query: [doc, …]}}"
        )
    frame = pl.DataFrame([series(name, x, values) for x, values in columns.items()])
    if value not in frame.columns and not is_listed(frame):
        raise ValueError(
            f"{name} has no column {value!r}, only {listed(names)}; rename it"
        )
    return frame, has_ranks


def _check_names(name: str, columns: Sequence[object]) -> None:
    """Raises ValueError if a frame has no column, or one twice, which cannot be read."""
    if not columns:
        raise ValueError(
            f"{name} has no columns; pass a frame of queries and documents"
        )
    repeated = [column for column in columns if list(columns).count(column) > 1]
    if repeated:
        raise ValueError(
            f"{name} has several columns {repeated[0]!r}; drop or rename all but one"
        )


def _columns(name: str, data: Mapping[object, object]) -> tuple[list[object], ...]:
    """Returns the queries, documents and numbers of a dict of dicts, row by row.

    >>> _columns("run", {"q1": {"a": 0.5, "b": 0.1}, "q2": {"a": 0.2}})
    (['q1', 'q1', 'q2'], ['a', 'b', 'a'], [0.5, 0.1, 0.2])
    """
    queries, docs, numbers = [], [], []
    for query, documents in data.items():
        if not isinstance(documents, Mapping):
            raise TypeError(
                f"{name}: query {query!r} holds {kind_of(documents)}; pass a dict of "
                "documents to numbers"
            )
        queries += [query] * len(documents)
        docs += documents.keys()
        numbers += documents.values()
    return queries, docs, numbers


def _numeric(column: object) -> np.ndarray | list[object]:
    """Returns a column as an array if it holds numbers, else as a list.

    Strings of pandas are an array of objects, which polars reads only as a list.
    """
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values
    return [x.tolist() if isinstance(x, np.ndarray) else x for x in values.tolist()]
