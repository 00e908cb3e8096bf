"""Columns of ids and numbers: what they may hold, and frames made of other things."""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from jax_rank_metrics._inputs import kind_of
from jax_rank_metrics._optional import import_optional

if TYPE_CHECKING:
    import polars as pl

Value = Literal["relevance", "score"]

# Raises an error that names a row of a file, counted from 0, and says what is wrong.
Fail = Callable[[int, str], NoReturn]

IDS = ("query_id", "doc_id")


def polars(what: str) -> Any:
    """The library, or an error that names what asked for it."""
    return import_optional("polars", what, "trec")


def first(rows: "pl.Series") -> int | None:
    """The first row that is True."""
    place = rows.fill_null(False).arg_max()
    return None if place is None or not rows[place] else int(place)


def named(names: Iterable[Any]) -> str:
    """Names as messages list them, in quotes where blanks or commas would not show."""
    return ", ".join(
        name if re.fullmatch(r"\S(?:[^,]*\S)?", name) else repr(name)
        for name in map(str, names)
    )


def cleaned(frame: "pl.DataFrame", value: Value, fail: Fail) -> "pl.DataFrame":
    """The frame with ids as strings or int64, scores as float64, relevance as either.

    It may lack the column query_id, where items are known by their number.
    """
    pl = polars("a frame")
    ids = [name for name in IDS if name in frame.columns]
    return frame.select(
        *(_ids(pl, frame[name], fail) for name in ids),
        _numbers(pl, frame[value], value, fail),
    )


def _ids(pl: Any, ids: "pl.Series", fail: Fail) -> "pl.Series":
    if isinstance(ids.dtype, (pl.Categorical, pl.Enum)):
        ids = ids.cast(pl.String)
    if ids.dtype == pl.String:
        missing = ids.is_null() | (ids == "")
    elif ids.dtype.is_integer() or ids.dtype == pl.Null:
        missing = ids.is_null()
    else:
        row = first(ids != ids.round()) if ids.dtype.is_float() else None
        fail(
            row or 0,
            f"{ids.name} is {ids.dtype}; pass ids that are strings or integers",
        )
    row = first(missing)
    if row is not None:
        fail(row, f"{ids.name} is missing")
    if ids.dtype == pl.String:
        return ids
    whole = ids.cast(pl.Int64, strict=False)
    row = first(whole.is_null())
    if row is not None:
        fail(row, f"{ids.name} is {ids[row]}, beyond 64 bits; pass it as a string")
    return whole


def _numbers(pl: Any, given: "pl.Series", value: Value, fail: Fail) -> "pl.Series":
    kind = given.dtype
    if not (kind.is_numeric() or kind in (pl.String, pl.Boolean, pl.Null)):
        fail(0, f"{value} is {kind}; pass numbers")
    row = first(given.is_null())
    if row is not None:
        fail(row, f"{value} is missing")
    if value == "relevance" and not kind.is_float():
        whole = given.cast(pl.Int64, strict=False)
        # Decimals would lose what is after the point.
        if not whole.has_nulls() and not kind.is_decimal():
            return whole
    plain = given.str.strip_chars(" \t") if kind == pl.String else given
    numbers = plain.cast(pl.Float64, strict=False)
    row = first(numbers.is_null())
    if row is not None:
        fail(row, f"{value} is {given[row]!r}, which is no number")
    bad = numbers.is_nan() if value == "score" else ~numbers.is_finite()
    row = first(bad)
    if row is not None:
        what = "a number" if value == "score" else "a finite number"
        fail(row, f"{value} is {numbers[row]}; pass {what}")
    return numbers


def first_repeat(frame: "pl.DataFrame") -> int | None:
    """The first row whose pair of ids is in one before; None without query ids."""
    if "query_id" not in frame.columns:
        return None
    pl = polars("a frame")
    # Equal pairs have equal hashes, so that distinct ones settle it, in a fifth of the
    # time.
    hashes = pl.col("query_id").hash(1) * 3 + pl.col("doc_id").hash(2)
    if frame.select(hashes.n_unique()).item() == frame.height:
        return None
    return first(~frame.select(IDS).to_struct().is_first_distinct())


def frame_of(name: str, given: Any, value: Value) -> "pl.DataFrame":
    """A frame of polars or pandas, or a dict `{query: {doc: number}}`, as a clean frame."""
    pl = polars("jrm.join")

    def fail(row: int, why: str) -> NoReturn:
        raise ValueError(f"{name}, row {row}: {why}")

    frame = _made(pl, name, given, value)
    if frame.height == 0:
        raise ValueError(f"{name} is empty; pass at least one document of one query")
    frame = cleaned(frame, value, fail)
    # No frame that was read holds repeats, unless it was put together since.
    row = first_repeat(frame)
    if row is not None:
        query, doc = frame.select(IDS).row(row)
        fail(row, f"document {doc!r} of query {query!r} is there twice; pass it once")
    return frame


def _made(pl: Any, name: str, given: Any, value: Value) -> "pl.DataFrame":
    if isinstance(given, pl.LazyFrame):
        given = given.collect()
    if hasattr(given, "column_names") and hasattr(given, "__arrow_c_stream__"):
        given = pl.DataFrame(given)  # a table of pyarrow, whose `columns` are data
    if isinstance(given, Mapping):
        columns = dict(zip((*IDS, value), _columns(name, given), strict=True))
        columns[value] = _numbers_of(columns[value])  # of ints beside floats too
    elif hasattr(given, "columns") and hasattr(given, "__getitem__"):
        wanted = (*IDS, value) if name == "qrels" else ("doc_id", value)
        lacking = [one for one in wanted if one not in given.columns]
        if lacking:
            raise ValueError(
                f"{name} has no column {lacking[0]!r}, only "
                f"{named(given.columns)}; rename it"
            )
        both = [one for one in (*IDS, value) if one in given.columns]
        if isinstance(given, pl.DataFrame):
            return given.select(both)
        columns = {one: _numbers_of(given[one]) for one in both}
    else:
        raise TypeError(
            f"{name}: got {kind_of(given)}; pass a frame with the columns query_id, "
            f"doc_id and {value}, or a dict {{query: {{doc: {value}}}}}"
        )
    return pl.DataFrame(
        [_series(pl, name, one, values) for one, values in columns.items()]
    )


def _columns(name: str, given: Mapping[Any, Any]) -> tuple[Any, list[Any], list[Any]]:
    for query, docs in given.items():
        if not isinstance(docs, Mapping):
            raise TypeError(
                f"{name}: query {query!r} holds {kind_of(docs)}; pass a dict of documents "
                "to numbers"
            )
    numbers = [[*docs.values()] for docs in given.values()]
    queries = chain.from_iterable([query] * len(docs) for query, docs in given.items())
    return [*queries], [*chain.from_iterable(given.values())], [*chain(*numbers)]


def _numbers_of(column: Any) -> Any:
    values = np.asarray(column)
    # Strings of pandas are objects, which polars reads from a list.
    return values if values.dtype.kind in "biuf" else values.tolist()


def _series(pl: Any, name: str, column: str, values: Any) -> "pl.Series":
    try:
        return pl.Series(column, values)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ValueError(
            f"{name}: {column} holds values of several kinds, or a missing one; pass "
            "strings only, or numbers only"
        ) from error
