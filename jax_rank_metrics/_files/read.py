"""`jrm.read_qrels` and `jrm.read_run`: judgements and runs from files."""

import re
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, NoReturn, get_args

from jax_rank_metrics import _inputs
from jax_rank_metrics._choices import Duplicates, QrelsFormat, RunFormat
from jax_rank_metrics._files import columnar, text
from jax_rank_metrics._files.frames import (
    IDS,
    Value,
    cleaned,
    first_repeat,
    polars,
)

if TYPE_CHECKING:
    import polars as pl

_EXTENSIONS = {
    **{name: name for name in ("csv", "tsv", "jsonl", "parquet", "svmlight")},
    "ndjson": "jsonl",
    "svm": "svmlight",
    "libsvm": "svmlight",
}


def read_qrels(
    path: str | PathLike[str],
    *,
    format: QrelsFormat | None = None,
    columns: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
) -> "pl.DataFrame":
    r"""Reads judgements from a file: which documents are relevant to which queries.

    The format follows from the extension (text may have `.gz` after it), or is passed:

    - "trec", for any other extension: lines of `query iteration document relevance`,
      separated by any blanks; the iteration is not read.
    - "csv" and "tsv" (with a header, and quotes), "jsonl" or "ndjson" (an object in each
      line) and "parquet": three columns by name; other columns are not read.
    - "svmlight", "svm" or "libsvm", the format of LETOR and MSLR: `relevance qid:query`,
      followed by features and comments that are not read. The id of a document is the
      index of its item in the file, from 0.

    Text is UTF-8, plain or gzip. A byte order mark, blank lines and, except in tables,
    lines that begin with "#" are skipped. Ids of text are strings as they are written, so
    that "007" differs from "7". Integers in JSON and Parquet and the ids of svmlight are
    int64. If a column of JSON holds ids of several kinds, all of them become strings.

    Args:
        path: The file.
        format: One of the above; None takes it from the extension.
        columns: For tables, the names of the columns of query, document and relevance; by
            default `("query_id", "doc_id", "relevance")`.
        duplicates: What to do if a query has a document more than once: "error", or keep
            the "first" or the "last" line.

    Returns:
        A polars frame with the columns query_id, doc_id and relevance, in the order of the
        file. The relevance is int64, or float64 if one is not an integer. A relevance below
        0 means that a document was pooled but not judged; see `join`.

    Raises:
        ValueError: with the file, the line and its text, if a line has another form, an id
            or number is missing, a relevance is not a finite number, bytes are not UTF-8,
            or a document repeats; or if the file is empty, truncated or corrupt.
        OSError: if the file cannot be opened.
        ModuleNotFoundError: if polars is not installed.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "qrels.txt"
    >>> _ = path.write_text("q1 0 doc7 2\nq1 0 doc9 0\n")
    >>> read_qrels(path).rows()
    [('q1', 'doc7', 2), ('q1', 'doc9', 0)]
    >>> folder.cleanup()
    """
    return read(text.Source.of(path), format, columns, duplicates, "relevance")


def read_run(
    path: str | PathLike[str],
    *,
    format: RunFormat | None = None,
    columns: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
) -> "pl.DataFrame":
    r"""Reads a run from a file: the documents that a system returned, with their scores.

    The formats are those of `read_qrels`, with two differences. Lines of "trec" are `query
    Q0 document rank score tag`, of which query, document and score are read: scores alone
    determine the order. Instead of svmlight, runs have "scores": one number in each line,
    for the items of an svmlight file in their order. No extension means "scores".

    Args:
        path: The file.
        format: "trec", "csv", "tsv", "jsonl", "parquet" or "scores"; None takes it from
            the extension.
        columns: For tables, the names of the columns of query, document and score; by
            default `("query_id", "doc_id", "score")`.
        duplicates: See `read_qrels`.

    Returns:
        A polars frame with the columns query_id, doc_id and score (float64, perhaps
        infinite), in the order of the file. For "scores" it has no query_id, which `join`
        takes from the judgements.

    Raises:
        ValueError: as in `read_qrels`; if a score is NaN.
        OSError: if the file cannot be opened.
        ModuleNotFoundError: if polars is not installed.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "mine.csv"
    >>> _ = path.write_text("user,item,rating\n3,17,4.5\n")
    >>> read_run(path, columns=("user", "item", "rating")).rows()
    [('3', '17', 4.5)]
    >>> folder.cleanup()
    """
    return read(text.Source.of(path), format, columns, duplicates, "score")


def format_of(path: str | PathLike[str]) -> str | None:
    """Returns the format that an extension means, or None for any other extension."""
    name = str(path).lower().removesuffix(".gz")
    return _EXTENSIONS.get(name.rpartition(".")[2]) if "." in name else None


def read(
    source: text.Source,
    format: str | None,
    columns: Sequence[str] | None,
    duplicates: Duplicates,
    value: Value,
) -> "pl.DataFrame":
    """Reads judgements if `value` is "relevance", or a run if it is "score"."""
    formats = QrelsFormat if value == "relevance" else RunFormat
    if format is None:
        format = format_of(source.name) or "trec"
        if format not in get_args(formats):
            raise ValueError(
                f"{source}: {format!r} is a format for judgements, not runs; pass "
                "format='scores' for plain scores"
            )
    _inputs.option("format", format, formats, "None or ")
    _inputs.option("duplicates", duplicates, Duplicates)
    polars(f"jrm.read_{'qrels' if value == 'relevance' else 'run'}")
    parsed = _parsed(source, format, _names(columns, format, value), value)
    if parsed.frame.height == 0:
        raise _empty_error(source, value)

    def fail(row: int, reason: str) -> NoReturn:
        raise ValueError(f"{source}, {parsed.location(row)}: {reason}")

    frame = cleaned(parsed.frame, value, fail)
    row = first_repeat(frame)
    if row is None:
        return frame
    if duplicates != "error":
        return frame.unique(IDS, keep=duplicates, maintain_order=True)
    query, doc, _ = frame.row(row)
    cure = "pass duplicates='first' or duplicates='last' to keep one"
    if format == "trec" and value == "relevance" and parsed.line is not None:
        is_pair = (frame["query_id"] == query) & (frame["doc_id"] == doc)
        iterations = {parsed.line(int(i)).split()[1] for i in is_pair.arg_true()}
        if len(iterations) > 1:
            cure = (
                "as the second field differs, these may be judgements of subtopics, which "
                "are not read; pass them to jrm.rank as columns={'subtopics': …}"
            )
    fail(row, f"document {doc!r} of query {query!r} is there already; {cure}")


def _empty_error(source: text.Source, value: Value) -> ValueError:
    """Returns the error for a file without rows."""
    return ValueError(f"{source}: is empty, without a single {value}")


def _names(columns: Sequence[str] | None, format: str, value: Value) -> tuple[str, ...]:
    """Returns the names that the three columns have in the file, if it is a table."""
    if columns is None:
        return (*IDS, value)
    if format in ("trec", "svmlight", "scores"):
        raise ValueError(
            f"columns is {columns!r}, and files of the format {format!r} have no names; "
            "leave it out"
        )
    if isinstance(columns, str) or len(columns) != 3 or len({*columns}) != 3:
        raise ValueError(
            f"columns is {columns!r}; pass three names, of query, document and {value}"
        )
    return tuple(columns)


def _parsed(
    source: text.Source, format: str, names: tuple[str, ...], value: Value
) -> text.Parsed:
    """Returns the columns query_id, doc_id and `value` of a file, before `cleaned`.

    Args:
        source: The file.
        format: One of the formats of judgements or runs.
        names: The names that these columns have in the file, if it is a table.
        value: "relevance" for judgements, "score" for a run.
    """
    if format == "parquet":
        parsed = columnar.parquet(source, names)
    else:
        data = text.content(source)
        if re.search(rb"\S", data) is None:
            raise _empty_error(source, value)
        if format in ("csv", "tsv"):
            separator = "," if format == "csv" else "\t"
            parsed = columnar.delimited(source, data, separator, names)
        elif format == "jsonl":
            parsed = columnar.json_lines(source, data, names)
        elif format == "trec":
            form = text.QRELS if value == "relevance" else text.RUN
            return text.fields(source, data, form)
        else:
            form = text.SVMLIGHT if format == "svmlight" else text.SCORES
            return text.with_item_ids(text.fields(source, data, form))
    parsed.frame.columns = [*IDS, value]
    return parsed
