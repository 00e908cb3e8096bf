"""Lines of fields with blanks between: TREC, svmlight, and plain scores."""

import gzip
import io
import zlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jax_rank_metrics._files.frames import first, polars

if TYPE_CHECKING:
    import polars as pl

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
SHOWN = 80  # characters of a bad line that a message shows

# What separates fields, for the C library and so for trec_eval; others are part of an id.
_BLANKS = " \t\r\v\f"
_BLANK, _FIELD = f"[{_BLANKS}]", f"[^{_BLANKS}]+"


class Found(NamedTuple):
    """What a file holds, and how a message names a row of it."""

    frame: "pl.DataFrame"
    where: Callable[[int], str]


class Form(NamedTuple):
    """How a line reads: a pattern, the columns of its groups, and how messages say it."""

    pattern: str
    columns: tuple[str, ...]
    told: str

    @classmethod
    def of(cls, told: str, **columns: str) -> "Form":
        """A form of fields, by their names; those without a column are left out."""
        names = told.split()
        fields = [f"({_FIELD})" if name in columns else _FIELD for name in names]
        # After its tag, a run may say more.
        end = f"(?:{_BLANK}.*)?" if names[-1] == "tag" else f"{_BLANK}*"
        pattern = f"^{_BLANK}*{f'{_BLANK}+'.join(fields)}{end}$"
        return cls(pattern, tuple(columns[x] for x in names if x in columns), told)


QRELS = Form.of(
    "query iteration document relevance",
    query="query_id", document="doc_id", relevance="relevance",
)  # fmt: skip
RUN = Form.of(
    "query Q0 document rank score tag",
    query="query_id", document="doc_id", score="score",
)  # fmt: skip
SCORES = Form.of("score", score="score")
# What follows the id of the query, the features, is of no interest here.
SVMLIGHT = Form(
    rf"^{_BLANK}*({_FIELD}){_BLANK}+qid:(\d+)(?:[{_BLANKS}#].*)?$",
    ("relevance", "query_id"),
    "relevance qid:query",
)


def content(path: str | PathLike[str]) -> bytes:
    """The bytes of a file, unpacked where it is gzip, without a byte order mark."""
    data = Path(path).read_bytes()
    if data.startswith(GZIP) or str(path).lower().endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path}: no whole gzip file ({error})") from error
    return data.removeprefix(BOM)


def check_utf8(path: str | PathLike[str], data: bytes) -> None:
    """Raises where a byte is not UTF-8, with its line."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, {told(line, data)}: bytes are not UTF-8; save the file as UTF-8"
        ) from error


def told(line: int, data: bytes) -> str:
    """A line, counted from 1, as a message names it: its number and its beginning."""
    text = data.split(b"\n", line)[line - 1].decode(errors="replace").strip("\r")
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return f"line {line} ({cut!r})"


def lines_of(path: str | PathLike[str], data: bytes) -> "pl.DataFrame":
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


def fields(path: str | PathLike[str], data: bytes, form: Form) -> Found:
    """The fields of all lines that are no comments, as strings."""
    pl = polars("reading files")
    lines = lines_of(path, data)
    lines = lines.filter(~pl.col("text").str.starts_with("#"))

    def where(row: int) -> str:
        return told(lines["number"][row], data)

    groups = lines["text"].str.extract_groups(form.pattern)
    frame = groups.struct.rename_fields(form.columns).struct.unnest()
    row = first(frame[form.columns[0]].is_null())
    if row is not None:
        raise ValueError(f"{path}, {where(row)}: not of the form `{form.told}`")
    return Found(frame, where)


def numbered(found: Found) -> Found:
    """With the number of each item, from 0, as the id of its document."""
    frame = found.frame.with_row_index("doc_id")
    if "query_id" in frame.columns:
        pl = polars("reading files")
        # An id beyond 64 bits stays a string.
        ids = frame["query_id"].cast(pl.Int64, strict=False)
        frame = frame if ids.has_nulls() else frame.with_columns(ids)
    return found._replace(frame=frame)
