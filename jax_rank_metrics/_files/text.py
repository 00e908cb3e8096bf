"""Lines of fields with blanks between: TREC, svmlight, and plain scores."""

import gzip
import io
import re
import zlib
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from jax_rank_metrics._files.frames import first, polars

if TYPE_CHECKING:
    import polars as pl

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"

# How files begin that other programs have compressed.
_COMPRESSED = {
    "zstd": rb"\x28\xb5\x2f\xfd",
    "xz": rb"\xfd7zXZ\x00",
    "bzip2": rb"BZh\d1AY&SY",
    "zip": rb"PK\x03\x04",
}
SHOWN = 80  # characters of a bad line that a message shows

# What separates fields, for the C library and so for trec_eval; others are part of an id.
_BLANKS = " \t\r\v\f"
_BLANK, _FIELD = f"[{_BLANKS}]", f"[^{_BLANKS}]+"
_NUMBER = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?"


class Source(NamedTuple):
    """A file: its name for messages, and a function that opens it."""

    name: str
    open: Callable[[], BinaryIO]

    @classmethod
    def of(cls, path: str | PathLike[str]) -> "Source":
        """The file at a path."""
        return cls(str(path), lambda: open(path, "rb"))

    def __str__(self) -> str:
        """The name."""
        return self.name


class Found(NamedTuple):
    """The rows of a file, and functions that show where a row comes from."""

    frame: "pl.DataFrame"
    where: Callable[[int], str]  # the place of a row, as messages name it
    line: Callable[[int], str] | None = None  # the text of a row, where rows are lines


class Form(NamedTuple):
    """How a line reads: a pattern, the columns of its groups, and how messages say it.

    `doubled` matches two lines that have become one since the newline between them was
    lost, where `pattern` would read the first and take the second for a comment.
    """

    pattern: str
    columns: tuple[str, ...]
    told: str
    doubled: str | None = None

    @classmethod
    def of(cls, told: str, **columns: str) -> "Form":
        """A form of fields, by their names; those without a column are left out."""
        names = told.split()
        fields = [f"({_FIELD})" if name in columns else _FIELD for name in names]
        # After its tag, a run may say more.
        end = f"(?:{_BLANK}.*)?" if names[-1] == "tag" else f"{_BLANK}*"
        pattern = f"^{_BLANK}*{f'{_BLANK}+'.join(fields)}{end}$"
        return cls(pattern, tuple(columns[x] for x in names if x in columns), told)

    def matches_numbers(self, line: str) -> bool:
        """Whether a line has this form, with a number in its last column."""
        match = re.match(self.pattern, line)
        return (
            match is not None
            and re.fullmatch(_NUMBER, match[len(self.columns)]) is not None
        )


QRELS = Form.of(
    "query iteration document relevance",
    query="query_id", document="doc_id", relevance="relevance",
)  # fmt: skip
RUN = Form.of(
    "query Q0 document rank score tag",
    query="query_id", document="doc_id", score="score",
)  # fmt: skip
# The query of the second line may be a field of its own, or be glued to the tag before.
RUN = RUN._replace(
    doubled=rf"^{_BLANK}*(?:{_FIELD}{_BLANK}+){{6,7}}"
    rf"{_FIELD}{_BLANK}+{_FIELD}{_BLANK}+\d+{_BLANK}+{_NUMBER}(?:{_BLANK}|$)"
)
SCORES = Form.of("score", score="score")
# What follows the id of the query, the features, is of no interest here.
SVMLIGHT = Form(
    rf"^{_BLANK}*({_FIELD}){_BLANK}+qid:(\d+)(?:[{_BLANKS}#].*)?$",
    ("relevance", "query_id"),
    "relevance qid:query",
    rf"^[^#]*{_BLANK}qid:[^#]*{_BLANK}qid:",
)


def content(path: Source) -> bytes:
    """The bytes of a file, unpacked where it is gzip, without a byte order mark."""
    with path.open() as file:
        data = file.read()
    for kind, magic in _COMPRESSED.items():
        if re.match(magic, data):
            raise ValueError(
                f"{path}: is compressed by {kind}, which is not read; decompress it, or "
                "compress it by gzip"
            )
    if data.startswith(GZIP) or str(path).lower().endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path}: no whole gzip file ({error})") from error
    return data.removeprefix(BOM)


def check_utf8(path: Source, data: bytes) -> None:
    """Raises where a byte is not UTF-8, with its line."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, {told(line, data)}: bytes are not UTF-8; save the file as UTF-8"
        ) from error


def check_line_ends(path: Source, data: bytes) -> None:
    """Raises where a carriage return stands inside of a line."""
    bare = re.search(rb"\r(?![\r\n]|\Z)", data) if b"\r" in data else None
    if bare is not None:
        line = data.count(b"\n", 0, bare.start()) + 1
        raise ValueError(
            f"{path}, {told(line, data)}: a carriage return inside of the line; end lines "
            "with a newline, or with both"
        )


def told(line: int, data: bytes) -> str:
    """A line, counted from 1, as a message names it: its number and its beginning."""
    text = data.split(b"\n", line)[line - 1].decode(errors="replace").strip("\r")
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return f"line {line} ({cut!r})"


def lines_of(path: Source, data: bytes) -> "pl.DataFrame":
    """All lines that are not blank, as `text`, with their `number` from 1."""
    pl = polars("reading files")
    try:
        lines = pl.scan_lines(
            io.BytesIO(data), name="text", row_index_name="number", row_index_offset=1
        ).collect()
    except pl.exceptions.PolarsError:
        check_utf8(path, data)
        raise
    return lines.filter(pl.col("text").str.strip_chars(_BLANKS) != "")


def fields(path: Source, data: bytes, form: Form) -> Found:
    """The fields of all lines that are no comments, as strings."""
    pl = polars("reading files")
    check_line_ends(path, data)
    lines = lines_of(path, data)
    lines = lines.filter(~pl.col("text").str.starts_with("#"))

    def where(row: int) -> str:
        return told(lines["number"][row], data)

    groups = lines["text"].str.extract_groups(form.pattern)
    frame = groups.struct.rename_fields(form.columns).struct.unnest()
    row = first(frame[form.columns[0]].is_null())
    if row is not None:
        raise ValueError(f"{path}, {where(row)}: not of the form `{form.told}`")
    if form.doubled is not None:
        row = first(lines["text"].str.contains(form.doubled))
        if row is not None:
            raise ValueError(
                f"{path}, {where(row)}: two lines in one; put a newline between them"
            )
    return Found(frame, where, lambda row: lines["text"][row])


def numbered(found: Found) -> Found:
    """With the number of each item, from 0, as the id of its document."""
    frame = found.frame.with_row_index("doc_id")
    if "query_id" in frame.columns:
        pl = polars("reading files")
        # An id beyond 64 bits stays a string.
        ids = frame["query_id"].cast(pl.Int64, strict=False)
        frame = frame if ids.has_nulls() else frame.with_columns(ids)
    return found._replace(frame=frame)
