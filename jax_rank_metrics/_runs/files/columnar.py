"""Reads files with named columns: CSV, TSV, JSON lines, Parquet; and JSON by query."""

import bisect
import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from jax_rank_metrics._runs.files import frames, sources
from jax_rank_metrics._runs.files.frames import pl
from jax_rank_metrics._runs.files.text import ParsedRows, format_without_names, lines_of

# A table may have this many fields, or two for each byte of its file if that is more.
MAX_CELLS = 2**24

# Chooses which columns of a table to read: the columns of query, document and number, and
# perhaps the column of the subtopic.
Choose = Callable[[Sequence[str]], Sequence[str]]


def _indices(
    source: sources.Source,
    header: Sequence[str],
    choose: Choose,
    format: str | None = None,
) -> list[int]:
    """Returns the index of each column in the header.

    Args:
        source: The file.
        header: The names of all columns.
        choose: See `Choose`.
        format: The format without column names that the first line seems to have, if any.

    Raises:
        ValueError: if the header has a column more than once, or not at all. The message
            proposes `format`, if it is given.
    """
    columns = choose(header)
    for name in columns:
        if list(header).count(name) != 1:
            count = "twice" if name in header else "not"
            names = "the names that the first line has for query, document and number"
            cure = f"columns=, {names}"
            if format is not None:
                reason = "if the first line holds values instead of names"
                cure = f"format={format!r}, {reason}"
            raise ValueError(
                f"{source}: the column {name!r} is {count} among "
                f"{frames.listed(header)[:200]}; pass {cure}"
            )
    return [list(header).index(name) for name in columns]


def delimited(
    source: sources.Source,
    data: bytes,
    separator: str,
    choose: Choose,
    value: frames.ValueColumn,
) -> ParsedRows:
    """Returns the columns of CSV or TSV as strings, with null for empty fields."""
    try:
        text = io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="\n")
        header = next(csv.reader(text, delimiter=separator), [])
        # Each field but the last of a line takes at least one byte, its separator. A header
        # with far more fields might make a table that does not fit into memory.
        if len(header) * data.count(b"\n") > max(2 * len(data), MAX_CELLS):
            raise ValueError(
                f"{source}, {sources.quote_line(1, data)}: has {len(header)} fields, far "
                "more than other lines; pass a table whose lines have the same fields"
            )
        # Give polars a header of numbers with one column more than the file has names, so
        # that it reads the header of the file as the first row. If the extra column then
        # holds a field, its row is longer than the header.
        numbers = [str(index) for index in range(len(header) + 1)]
        rows = pl.read_csv(
            io.BytesIO(f"{separator.join(numbers)}\n".encode() + data),
            separator=separator,
            infer_schema=False,
            truncate_ragged_lines=True,
        )
    except (csv.Error, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        sources.check_utf8(source, data)
        raise _table_error(source, data, separator) from error
    first_line = data.partition(b"\n")[0].decode()
    format = format_without_names(first_line, value)
    indices = _indices(source, header, choose, format)
    is_blank = rows.select(
        pl.all_horizontal(pl.all().fill_null("").str.strip_chars() == "")
    ).to_series()
    if is_blank.any():
        # Keep lines of separators alone: they are not blank, but rows whose fields are all
        # missing, which is an error.
        text_lines = lines_of(source, data)["number"].implode()
        is_blank &= ~_line_numbers(rows).is_in(text_lines)
    indices_of_rows = (~is_blank).arg_true()[1:]  # without the header
    body = rows[indices_of_rows]

    def location(row: int) -> str:
        return sources.quote_line(_line_numbers(rows)[indices_of_rows[row]], data)

    columns = [pl.nth(index).alias(header[index]) for index in indices]
    parsed = ParsedRows(source, body.select(columns), location)
    row = frames.first_true(body[numbers[-1]].is_not_null())
    if row is not None:
        parsed.fail(
            row,
            "has more fields than the first line; quote fields that hold the separator",
        )
    return parsed


def _line_numbers(rows: "pl.DataFrame") -> "pl.Series":
    """Returns the number, from 1, of the line in which each row of a table begins.

    The rows include the header. A row takes several lines if a quoted field contains
    newlines.
    """
    newlines = pl.sum_horizontal(pl.all().str.count_matches("\n", literal=True))
    offset = newlines.cum_sum().shift(1, fill_value=0)
    return rows.select(offset + pl.int_range(1, pl.len() + 1)).to_series()


def _table_error(source: sources.Source, data: bytes, separator: str) -> ValueError:
    """Returns the error for a table that cannot be parsed, usually because of quotes."""
    text = io.StringIO(data.decode(), newline="\n")
    rows, first_line = csv.reader(text, delimiter=separator, strict=True), 1
    try:
        for _ in rows:
            first_line = rows.line_num + 1
    except csv.Error as error:
        if "new-line character" in str(error):
            sources.check_line_ends(source, data)
        # Quote the line in which the row begins: a stray quote there takes all lines up to
        # the next quote into the row.
        return ValueError(f"{source}, {sources.quote_line(first_line, data)}: {error}")
    unbalanced = [
        number
        for number, line in enumerate(data.split(b"\n"), 1)
        if line.count(b'"') % 2
    ]
    location = f", {sources.quote_line(unbalanced[0], data)}" if unbalanced else ""
    return ValueError(
        f"{source}{location}: is no table of fields separated by {separator!r}; check its "
        "quotes"
    )


def json_lines(source: sources.Source, data: bytes, choose: Choose) -> ParsedRows:
    """Returns the columns of a file with a JSON object in each line, in their own dtypes.

    If an object lacks a key, the value in its row is null. If all objects lack a key, that
    is an error.

    Raises:
        ValueError: with the line, if it is not a JSON object; if a key that is read
            repeats, or an id holds half of a surrogate pair.
    """
    if _holds_lists(data.lstrip().partition(b"\n")[0]):
        return _lists_by_line(source, data)

    def read(text: bytes) -> "pl.DataFrame":
        # The newline keeps polars from taking text for a compressed file; see `lines_of`.
        return pl.read_ndjson(io.BytesIO(b"\n" + text), infer_schema_length=None)

    def location(row: int) -> str:
        return sources.quote_line(lines_of(source, data)["number"][row], data)

    try:
        frame = read(data)
    except pl.exceptions.PolarsError as error:
        sources.check_utf8(source, data)
        sources.check_line_ends(source, data)
        texts = lines_of(source, data)["text"].to_list()

        def fails(count: int) -> bool:
            try:
                read("\n".join(texts[:count]).encode())
            except pl.exceptions.PolarsError:
                return True
            return False

        # The shortest prefix that cannot be read ends with the bad line.
        count = bisect.bisect_left(range(len(texts)), True, lo=1, key=fails)
        raise ValueError(
            f"{source}, {location(count - 1)}: is no JSON object, or unlike the objects "
            "before it; write one object in each line, with values of the same kinds"
        ) from error
    indices = _indices(source, frame.columns, choose)
    parsed = ParsedRows(source, frame.select(pl.nth(indices)), location)
    _check_objects(parsed, data)
    return parsed


def _check_objects(parsed: ParsedRows, data: bytes) -> None:
    """Raises ValueError if an object repeats a key, or holds half of a surrogate pair.

    Only keys and values of the frame's columns are checked. Polars would keep the first of
    two values, and replace half a pair by another character. Only lines that may have one
    of these problems are parsed again.

    Args:
        parsed: The rows, with the column names of the file.
        data: The content of the file.
    """
    names = parsed.frame.columns
    keys = [json.dumps(name, ensure_ascii=False) for name in names]
    if rb"\u" not in data and all(
        data.count(key.encode()) == parsed.frame.height for key in keys
    ):
        return
    lines = lines_of(parsed.source, data)
    texts = lines["text"]
    # Find escapes of surrogates, and escapes of ASCII characters, which may spell a key.
    is_suspect = texts.str.contains(r"\\u(?:00[0-7]|[dD][89a-fA-F])")
    for key in keys:
        is_suspect |= texts.str.count_matches(key, literal=True) != 1
    for row in is_suspect.arg_true():
        number, text = lines.row(row)
        pairs = _json_of_line(parsed.source, data, number, text, strict=False)
        for name in names:
            values = [value for pair_name, value in pairs if pair_name == name]
            if len(values) > 1:
                parsed.fail(row, f"the key {name!r} appears twice; keep one")
            try:
                "".join(value for value in values if isinstance(value, str)).encode()
            except UnicodeEncodeError as error:
                parsed.fail(row, sources.half_character(error))


def parquet(source: sources.Source, choose: Choose) -> ParsedRows:
    """Returns the chosen columns of a Parquet file; other columns are not loaded.

    A packed file is unpacked in memory, although Parquet packs its own columns.
    """
    with source.open() as file:
        if not file.seekable():  # a pipe
            file = io.BytesIO(file.read())
        start = file.read(len(sources.ZSTD))
        file.seek(0)
        if sources.is_packed(start):
            file = io.BytesIO(sources.decompressed(source, file.read()))
        try:
            names = [*pl.read_parquet_schema(file)]
            file.seek(0)
            columns = [names[index] for index in _indices(source, names, choose)]
            frame = pl.read_parquet(file, columns=columns)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise ValueError(
                f"{source}: is a truncated or corrupt Parquet file ({error}); write it anew"
            ) from error
    return ParsedRows(source, frame.select(columns), lambda row: f"row {row}")


def _json_of_line(
    source: sources.Source, data: bytes, number: int, text: str, strict: bool = True
) -> Any:
    """Returns the value of a line of JSON; `strict` is an argument of `json.loads`.

    An object becomes a tuple of pairs of name and value, in which a name may repeat.

    Raises:
        ValueError: with the number of the line, if it is not JSON.
    """
    try:
        return json.loads(text, object_pairs_hook=tuple, strict=strict)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{source}, {sources.quote_line(number, data)}: is not JSON that can be read "
            f"({error}); write one JSON value in each line"
        ) from error


def _holds_lists(line: bytes) -> bool:
    """True if a line of JSON is a list, or an object whose values are all lists.

    A row of a table of lists is no such object, because its query is not a list.
    """
    try:
        value = json.loads(line) if line.startswith((b"[", b"{")) else None
    except (ValueError, RecursionError):
        return line.startswith(b"[")
    lists = value.values() if isinstance(value, dict) else ()
    return type(value) is list or {*map(type, lists)} == {list}


def _lists_by_line(source: sources.Source, data: bytes) -> ParsedRows:
    """Returns the lists of documents in a file whose lines are lists, or lists by query.

    Lists without queries belong to the queries 0, 1, ….
    """
    sources.check_utf8(source, data)
    lines = lines_of(source, data)
    rows: list[tuple[object, object, int]] = []  # query, documents, line

    def location(row: int) -> str:
        return sources.quote_line(rows[row][2], data)

    for number, text in lines.iter_rows():
        value = _json_of_line(source, data, number, text)
        pairs = value if isinstance(value, tuple) else [(len(rows), value)]
        rows += [(query, ids, number) for query, ids in pairs]
    queries, lists, _ = zip(*rows, strict=True)
    return _listed(source, queries, lists, location)


def _listed(
    source: sources.Source,
    queries: Sequence[object],
    lists: Sequence[object],
    location: Callable[[int], str],
) -> ParsedRows:
    """Returns a frame of queries and the lists of their documents.

    Raises:
        ValueError: unless each value is a list, in which all ids are strings, or all are
            integers.
    """
    for row, ids in enumerate(lists):
        kinds = {*map(type, ids)} if isinstance(ids, (list, tuple)) else {object}
        if not kinds <= {str} and not kinds <= {int}:
            raise ValueError(
                f"{source}, {location(row)}: holds {json.dumps(ids)[:80]}; pass a list of "
                "ids, all strings or all integers"
            )
    columns = {"query_id": queries, "doc_id": lists}
    frame = pl.DataFrame(
        [frames.series(str(source), name, values) for name, values in columns.items()]
    )
    return ParsedRows(source, frame, location)


def json_by_query(
    source: sources.Source, data: bytes, value: frames.ValueColumn
) -> ParsedRows:
    """Returns the rows of `{query: {document: number}}`, or of lists of documents.

    Raises:
        ValueError: with the line, if the file is not JSON; with the query and the document,
            if it has another form.
    """
    try:
        queries = json.loads(data.decode(), object_pairs_hook=tuple)
    except UnicodeDecodeError:
        sources.check_utf8(source, data)
        raise
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{source}, {sources.quote_line(error.lineno, data)}: is not JSON "
            f"({error.msg}); pass a file of JSON"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{source}: is not JSON that can be read ({error}); pass a file of JSON"
        ) from error
    form = (
        f"pass an object {{query: {{document: {value}}}}}, or {{query: [document, …]}}"
    )
    if type(queries) is list and all(type(ids) is list for ids in queries):
        queries = tuple(enumerate(queries))
    if not isinstance(queries, tuple):
        raise ValueError(f"{source}: holds no JSON object; {form}")
    rows: list[tuple[Any, Any, object]] = []
    seen = set[Any]()
    if queries and all(type(ids) is list for _, ids in queries):
        names, lists = zip(*queries, strict=True)
        return _listed(source, names, lists, lambda row: f"query {names[row]!r}")
    for query, docs in queries:
        if not isinstance(docs, tuple):
            raise ValueError(f"{source}, query {query!r}: holds no object; {form}")
        if query in seen:
            raise ValueError(
                f"{source}: the key {query!r} appears twice; put all documents of a "
                "query into one object"
            )
        seen.add(query)
        rows += [(query, doc, number) for doc, number in docs]

    def location(row: int) -> str:
        query, doc, _ = rows[row]
        return f"query {query!r}, document {doc!r}"

    for row, (_, _, number) in enumerate(rows):
        if type(number) not in (int, float):
            raise ValueError(
                f"{source}, {location(row)}: {value} is {json.dumps(number)[:80]}, which "
                "is not a number"
            )
    numbers = pl.Series([str(number) for _, _, number in rows], dtype=pl.String)
    try:
        ids = [
            pl.Series([row[side] for row in rows], dtype=pl.String) for side in (0, 1)
        ]
    except UnicodeEncodeError as error:
        raise ValueError(f"{source}: {sources.half_character(error)}") from error
    return ParsedRows(source, pl.DataFrame([*ids, numbers.alias("number")]), location)
