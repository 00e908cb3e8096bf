"""Reads lines of fields between white space: TREC, svmlight, and plain scores."""

import gzip
import io
import re
import zlib
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from jax_rank_metrics._files.frames import first_true, polars

if TYPE_CHECKING:
    import polars as pl

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"

# Patterns of the first bytes of compressed files that are refused.
_REFUSED_COMPRESSION = {
    "zstd": rb"\x28\xb5\x2f\xfd",
    "xz": rb"\xfd7zXZ\x00",
    "bzip2": rb"BZh\d1AY&SY",
    "zip": rb"PK\x03\x04",
}
MAX_SHOWN = 80  # characters of a bad line that a message quotes
CHUNK = 2**24  # bytes of text that are parsed at once, which bounds the memory for it

# The white space of C, and so of trec_eval. Other spaces of Unicode are part of an id.
_BLANKS = " \t\r\v\f"
_BLANK, _FIELD = f"[{_BLANKS}]", f"[^{_BLANKS}]+"
_NUMBER = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?"


class Source(NamedTuple):
    """A file to read: its name for messages, and a function that opens it."""

    name: str
    open: Callable[[], BinaryIO]

    @classmethod
    def of(cls, path: str | PathLike[str]) -> "Source":
        """Returns the file at a path."""
        return cls(str(path), lambda: open(path, "rb"))

    def __str__(self) -> str:
        """Returns the name."""
        return self.name


class Parsed(NamedTuple):
    """The rows of a file, with functions that take the index of a row, from 0."""

    frame: "pl.DataFrame"
    location: Callable[[int], str]  # the line or row in the file, for messages
    line: Callable[[int], str] | None = None  # the text of the row, if rows are lines


class Form(NamedTuple):
    """The fields of a line of text, and the columns into which they are read."""

    pattern: str  # a regular expression with a group for each column
    columns: tuple[str, ...]
    description: str  # of all fields, for messages
    # The column of each field, or None; empty for lines of any number of fields.
    fields: tuple[str | None, ...] = ()
    # Matches a line that lost the newline before the next one. `pattern` alone would read
    # the first line and skip the second as if it were a comment.
    merged_lines: str | None = None

    @classmethod
    def of(cls, description: str, **columns: str) -> "Form":
        """Returns the form of a line of fields, which white space separates.

        Args:
            description: The names of all fields, in their order.
            columns: The column for each field that is read; the other fields are skipped.

        >>> form = Form.of("query iteration document", query="query_id", document="doc_id")
        >>> form.columns, re.match(form.pattern, "q1 0 d7").groups()
        (('query_id', 'doc_id'), ('q1', 'd7'))
        """
        names = description.split()
        patterns = [f"({_FIELD})" if name in columns else _FIELD for name in names]
        # Any text may follow the tag of a run.
        end = f"(?:{_BLANK}.*)?" if names[-1] == "tag" else f"{_BLANK}*"
        pattern = f"^{_BLANK}*{f'{_BLANK}+'.join(patterns)}{end}$"
        fields = tuple(columns.get(name) for name in names)
        return cls(pattern, (*filter(None, fields),), description, fields)

    def is_form_of(self, line: str) -> bool:
        """Returns whether a line has this form and its last column is a number.

        This column is the relevance or the score. It need not be the last field: a run has
        its tag there. A header has the right number of fields, but no number.

        >>> QRELS.is_form_of("q1 0 d7 2"), QRELS.is_form_of("query 0 document relevance")
        (True, False)
        """
        match = re.match(self.pattern, line)
        if match is None:
            return False
        return re.fullmatch(_NUMBER, match[len(self.columns)]) is not None


QRELS = Form.of(
    "query iteration document relevance",
    query="query_id", document="doc_id", relevance="relevance",
)  # fmt: skip
RUN = Form.of(
    "query Q0 document rank score tag",
    query="query_id", document="doc_id", score="score",
)  # fmt: skip
# The query of the second line is a field of its own (the seventh), or is glued to the tag
# (the sixth). `Q0 document rank score` must follow, so that a long tag does not match.
RUN = RUN._replace(
    merged_lines=rf"^{_BLANK}*(?:{_FIELD}{_BLANK}+){{6,7}}"
    rf"{_FIELD}{_BLANK}+{_FIELD}{_BLANK}+\d+{_BLANK}+{_NUMBER}(?:{_BLANK}|$)"
)
SCORES = Form.of("score", score="score")
# The features that follow the id of the query are not read.
SVMLIGHT = Form(
    rf"^{_BLANK}*({_FIELD}){_BLANK}+qid:(\d+)(?:[{_BLANKS}#].*)?$",
    ("relevance", "query_id"),
    "relevance qid:query",
    merged_lines=rf"^[^#]*{_BLANK}qid:[^#]*{_BLANK}qid:",
)


def content(source: Source) -> bytes:
    """Returns the bytes of a file, unpacked if it is gzip, without a byte order mark.

    Raises:
        ValueError: if it is truncated or corrupt gzip, or has the extension but is no gzip;
            if it is compressed in another way.
        OSError: if it cannot be opened.
    """
    with source.open() as file:
        data = file.read()
    for format, magic in _REFUSED_COMPRESSION.items():
        if re.match(magic, data):
            raise ValueError(
                f"{source}: is compressed by {format}, which is not read; decompress it, "
                "or compress it by gzip"
            )
    if data.startswith(GZIP) or source.name.lower().endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"{source}: truncated or corrupt gzip file ({error})"
            ) from error
    return data.removeprefix(BOM)


def check_utf8(source: Source, data: bytes) -> None:
    """Raises ValueError with the line of the first byte that is not UTF-8, if any."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{source}, {quote_line(line, data)}: bytes are not UTF-8; save the file as "
            "UTF-8"
        ) from error


def check_line_ends(source: Source, data: bytes) -> None:
    """Raises ValueError if a carriage return stands inside a line.

    Old Macintosh programs end every line with one and no newline, so that the whole file
    would be read as a single line.
    """
    match = re.search(rb"\r(?![\r\n]|\Z)", data) if b"\r" in data else None
    if match is not None:
        line = data.count(b"\n", 0, match.start()) + 1
        raise ValueError(
            f"{source}, {quote_line(line, data)}: a carriage return inside the line; end "
            "lines with \\n or \\r\\n"
        )


def quote_line(line: int, data: bytes) -> str:
    r"""Returns the number of a line of a file, counted from 1, and its first characters.

    >>> quote_line(2, b"q1 0 d7 2\nq1 0 d9\n")
    "line 2 ('q1 0 d9')"
    """
    text = data.split(b"\n", line)[line - 1].decode(errors="replace").strip("\r")
    excerpt = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
    return f"line {line} ({excerpt!r})"


def lines_of(source: Source, data: bytes) -> "pl.DataFrame":
    """Returns the columns `number`, from 1, and `text` of all lines that are not blank."""
    pl = polars("reading files")
    try:
        lines = pl.scan_lines(
            io.BytesIO(data), name="text", row_index_name="number", row_index_offset=1
        ).collect()
    except pl.exceptions.PolarsError:
        check_utf8(source, data)
        raise
    return lines.filter(pl.col("text").str.strip_chars(_BLANKS) != "")


def fields(source: Source, data: bytes, form: Form) -> Parsed:
    """Returns the columns of the form, without blank lines and comments.

    Columns are strings, except for scores where all of them are numbers.

    Raises:
        ValueError: if a line does not have the form, or lost the newline at its end.
    """
    pl = polars("reading files")
    check_line_ends(source, data)
    frames, start = [], 0
    while start < len(data):
        end = data.find(b"\n", start + CHUNK) + 1 or len(data)
        frame = _plain_fields(data[start:end], form)
        if frame is None:
            return _matched_fields(source, data, form)
        frames.append(frame)
        start = end
    return Parsed(
        pl.concat(frames),
        location=lambda row: quote_line(row + 1, data),
        line=lambda row: data.split(b"\n", row + 1)[row].decode(),
    )


def _plain_fields(data: bytes, form: Form) -> "pl.DataFrame | None":
    """Returns the columns of lines that a reader of tables can split into their fields.

    Most files are so: one space or tab between fields and none around them, no blank lines
    and no comments. None if a line is not, or has a score that is not a number.
    """
    pl = polars("reading files")
    separators = [blank for blank in _BLANKS if blank.encode() in data]
    if not form.fields or separators not in ([], [" "], ["\t"]):
        return None
    dtypes = {
        name or f"skipped {index}": pl.Float64 if name == "score" else pl.String
        for index, name in enumerate(form.fields)
    }
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=separators[0] if separators else " ",
            quote_char=None,
            schema=dtypes,
        )
    except pl.exceptions.PolarsError:
        return None
    # An empty field is null: two separators in a row, or a line with too few fields.
    if any(column.has_nulls() for column in frame):
        return None
    starts = frame.to_series()
    if starts.dtype == pl.String and starts.str.starts_with("#").any():
        return None
    return frame.select(form.columns)


def _matched_fields(source: Source, data: bytes, form: Form) -> Parsed:
    """Returns the same for lines that match the pattern of the form, with any blanks."""
    pl = polars("reading files")
    lines = lines_of(source, data)
    lines = lines.filter(~pl.col("text").str.starts_with("#"))

    def location(row: int) -> str:
        return quote_line(lines["number"][row], data)

    groups = lines["text"].str.extract_groups(form.pattern)
    frame = groups.struct.rename_fields(form.columns).struct.unnest()
    row = first_true(frame[form.columns[0]].is_null())
    if row is not None:
        raise ValueError(
            f"{source}, {location(row)}: not of the form `{form.description}`"
        )
    if form.merged_lines is not None:
        row = first_true(lines["text"].str.contains(form.merged_lines))
        if row is not None:
            raise ValueError(
                f"{source}, {location(row)}: two lines in one; put a newline between them"
            )
    return Parsed(frame, location, lambda row: lines["text"][row])


def with_item_ids(parsed: Parsed) -> Parsed:
    """Returns the rows with the index of each, from 0, in a new column doc_id.

    Ids of queries become int64, but remain strings if one of them exceeds 64 bits.
    """
    frame = parsed.frame.with_row_index("doc_id")
    if "query_id" in frame.columns:
        pl = polars("reading files")
        ids = frame["query_id"].cast(pl.Int64, strict=False)
        frame = frame if ids.has_nulls() else frame.with_columns(ids)
    return parsed._replace(frame=frame)
