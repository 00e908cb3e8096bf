"""Reads lines of fields that blanks separate: TREC, svmlight, and plain scores."""

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

# The first bytes of files in compressed formats that are refused.
_COMPRESSED = {
    "zstd": rb"\x28\xb5\x2f\xfd",
    "xz": rb"\xfd7zXZ\x00",
    "bzip2": rb"BZh\d1AY&SY",
    "zip": rb"PK\x03\x04",
}
MAX_SHOWN = 80  # characters of a bad line that a message quotes

# The blanks of the C library, and so of trec_eval. Other white space is part of an id.
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
    """The rows of a file, and functions that say where a row comes from."""

    frame: "pl.DataFrame"
    where: Callable[[int], str]  # the location of a row, for messages
    line: Callable[[int], str] | None = None  # the text of a row, if rows are lines


class Form(NamedTuple):
    """The form of a line."""

    pattern: str  # with a group for each column
    columns: tuple[str, ...]
    description: str  # for messages
    # Matches two lines that became one when the newline between them was lost. `pattern`
    # would read the first and skip the second as if it were a comment.
    merged_lines: str | None = None

    @classmethod
    def of(cls, description: str, **columns: str) -> "Form":
        """Returns a form of named fields; those without a column are not read."""
        names = description.split()
        fields = [f"({_FIELD})" if name in columns else _FIELD for name in names]
        # Any text may follow the tag of a run.
        end = f"(?:{_BLANK}.*)?" if names[-1] == "tag" else f"{_BLANK}*"
        pattern = f"^{_BLANK}*{f'{_BLANK}+'.join(fields)}{end}$"
        read = tuple(columns[name] for name in names if name in columns)
        return cls(pattern, read, description)

    def is_form_of(self, line: str) -> bool:
        """Returns whether a line has this form, with a number in the last column."""
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
    rf"^[^#]*{_BLANK}qid:[^#]*{_BLANK}qid:",
)


def content(source: Source) -> bytes:
    """Returns the bytes of a file, unpacked if it is gzip, without a byte order mark.

    Raises:
        ValueError: if it is truncated or corrupt gzip, or compressed in another way.
        OSError: if it cannot be opened.
    """
    with source.open() as file:
        data = file.read()
    for format, magic in _COMPRESSED.items():
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
    """Raises if a byte is not UTF-8, and names its line."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{source}, {quote_line(line, data)}: bytes are not UTF-8; save the file as "
            "UTF-8"
        ) from error


def check_line_ends(source: Source, data: bytes) -> None:
    """Raises if a carriage return stands inside a line.

    Old Macintosh programs end lines so: the file would be read as a single line.
    """
    match = re.search(rb"\r(?![\r\n]|\Z)", data) if b"\r" in data else None
    if match is not None:
        line = data.count(b"\n", 0, match.start()) + 1
        raise ValueError(
            f"{source}, {quote_line(line, data)}: a carriage return inside the line; end "
            "lines with \\n or \\r\\n"
        )


def quote_line(line: int, data: bytes) -> str:
    """Returns the number of a line, counted from 1, and its beginning, for messages."""
    text = data.split(b"\n", line)[line - 1].decode(errors="replace").strip("\r")
    excerpt = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
    return f"line {line} ({excerpt!r})"


def lines_of(source: Source, data: bytes) -> "pl.DataFrame":
    """Returns all lines that are not blank, as `text`, with their `number` from 1."""
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
    """Returns the fields of all lines but comments, as strings.

    Raises:
        ValueError: if a line does not have the form, or holds a second one.
    """
    pl = polars("reading files")
    check_line_ends(source, data)
    lines = lines_of(source, data)
    lines = lines.filter(~pl.col("text").str.starts_with("#"))

    def where(row: int) -> str:
        return quote_line(lines["number"][row], data)

    groups = lines["text"].str.extract_groups(form.pattern)
    frame = groups.struct.rename_fields(form.columns).struct.unnest()
    row = first_true(frame[form.columns[0]].is_null())
    if row is not None:
        raise ValueError(
            f"{source}, {where(row)}: not of the form `{form.description}`"
        )
    if form.merged_lines is not None:
        row = first_true(lines["text"].str.contains(form.merged_lines))
        if row is not None:
            raise ValueError(
                f"{source}, {where(row)}: two lines in one; put a newline between them"
            )
    return Parsed(frame, where, lambda row: lines["text"][row])


def numbered(parsed: Parsed) -> Parsed:
    """Returns the rows with the index of each as the id of its document."""
    frame = parsed.frame.with_row_index("doc_id")
    if "query_id" in frame.columns:
        pl = polars("reading files")
        # If an id exceeds 64 bits, all of them stay strings.
        ids = frame["query_id"].cast(pl.Int64, strict=False)
        frame = frame if ids.has_nulls() else frame.with_columns(ids)
    return parsed._replace(frame=frame)
