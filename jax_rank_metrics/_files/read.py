"""`jrm.read_qrels` and `jrm.read_run`."""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

from jax_rank_metrics import _inputs
from jax_rank_metrics._files import tables, text
from jax_rank_metrics._files.frames import (
    IDS,
    Value,
    cleaned,
    first_repeat,
    polars,
)

if TYPE_CHECKING:
    import polars as pl

QrelsFormat = Literal["trec", "csv", "tsv", "jsonl", "parquet", "svmlight"]
RunFormat = Literal["trec", "csv", "tsv", "jsonl", "parquet", "scores"]
Duplicates = Literal["error", "first", "last"]

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
    r"""Judgements from a file: which documents are relevant to which queries.

    Formats, told by the extension (before which text may have a `.gz`), or by name:

    - "trec", where the extension says nothing: lines of `query iteration document
      relevance` with any blanks between; the iteration is not read.
    - "csv", "tsv" (with a line of names first, and quotes), "jsonl" or "ndjson" (an object
      in each line) and "parquet": the named columns, others are not read.
    - "svmlight", "svm" or "libsvm", as LETOR and MSLR files are: `relevance qid:query`,
      then features and comments that are not read. The id of a document is the number of
      its item in the file, from 0.

    Text is UTF-8, plain or gzip. Lines that are wholly blank are skipped (but above the
    names of a table); so are, in other files than tables, those that begin with "#", and a
    byte order mark. Ids are strings as they are written, "007" is not "7"; JSON and Parquet
    have integers too, which stay int64, and so are those of svmlight. If a column of JSON
    holds ids of several kinds, all become strings.

    Args:
        path: The file.
        format: One of those above; None asks the extension.
        columns: The names of the columns of query, document and relevance, for tables; by
            default `("query_id", "doc_id", "relevance")`.
        duplicates: What becomes of a document that a query has more than once: "error",
            or the "first" or the "last" of them stays.

    Returns:
        A polars frame with the columns query_id, doc_id and relevance (int64, or float64
        where one is no integer), in the order of the file. A relevance below 0 says that
        a document was pooled, and not judged; see `join`.

    Raises:
        ValueError: with the file, the line and its text, for a line of another form, an
            id or number that is missing, a relevance that is no finite number, bytes that
            are not UTF-8 and repeated documents; and for files without a line, or not
            whole.
        OSError: if the file cannot be read.
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
    r"""What a system returned, with its scores, from a file.

    The formats are those of `read_qrels`, with `query Q0 document rank score tag` for
    "trec", of which query, document and score are read: the order is that of scores. Beside
    svmlight goes "scores", a number in each line for the items of that file in their
    order; no extension tells it.

    Args:
        path: The file.
        format: "trec", "csv", "tsv", "jsonl", "parquet" or "scores"; None asks the
            extension.
        columns: The names of the columns of query, document and score, for tables; by
            default `("query_id", "doc_id", "score")`.
        duplicates: See `read_qrels`.

    Returns:
        A polars frame with the columns query_id, doc_id and score, float64, in the order
        of the file; for "scores" without query_id, which `join` takes from the judgements.
        Scores may be infinite.

    Raises:
        ValueError: as `read_qrels`; if a score is NaN.
        OSError: if the file cannot be read.
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


def format_of(path: Any) -> str | None:
    """The format that the extension says; None where it says nothing."""
    name = str(path).lower().removesuffix(".gz")
    return _EXTENSIONS.get(name.rpartition(".")[2]) if "." in name else None


def read(
    path: text.Source,
    format: Any,
    columns: Sequence[str] | None,
    duplicates: Any,
    value: Value,
) -> "pl.DataFrame":
    """The frame of `read_qrels` or of `read_run`."""
    of = QrelsFormat if value == "relevance" else RunFormat
    kind = format_of(path) or "trec" if format is None else format
    if format is None and kind not in get_args(of):
        raise ValueError(
            f"{path}: no run is {kind!r}; pass format='scores' if it is that"
        )
    _inputs.option("format", kind, of, "None or ")
    _inputs.option("duplicates", duplicates, Duplicates)
    polars(f"jrm.read_{'qrels' if value == 'relevance' else 'run'}")
    found = _found(path, kind, _names(columns, kind, value), value)
    if found.frame.height == 0:
        raise ValueError(f"{path}: is empty, there is not one {value}")

    def fail(row: int, why: str) -> NoReturn:
        raise ValueError(f"{path}, {found.where(row)}: {why}")

    frame = cleaned(found.frame, value, fail)
    row = first_repeat(frame)
    if row is None:
        return frame
    if duplicates != "error":
        return frame.unique(IDS, keep=duplicates, maintain_order=True)
    query, doc, _ = frame.row(row)
    cure = "pass duplicates='first' or duplicates='last' to keep one"
    if kind == "trec" and value == "relevance" and found.line is not None:
        pairs = (frame["query_id"] == query) & (frame["doc_id"] == doc)
        iterations = {found.line(int(x)).split()[1] for x in pairs.arg_true()}
        if len(iterations) > 1:
            cure = (
                "as the second field differs, these may be judgements of subtopics, which "
                "are not read; pass them to jrm.rank as columns={'subtopics': …}"
            )
    fail(row, f"document {doc!r} of query {query!r} is there already; {cure}")


def _names(columns: Any, kind: str, value: Value) -> tuple[str, ...]:
    if columns is None:
        return (*IDS, value)
    if kind in ("trec", "svmlight", "scores"):
        raise ValueError(
            f"columns is {columns!r}, and files of the format {kind!r} have no names; "
            "leave it out"
        )
    if isinstance(columns, str) or len(columns) != 3 or len({*columns}) != 3:
        raise ValueError(
            f"columns is {columns!r}; pass three names, of query, document and {value}"
        )
    return tuple(columns)


def _found(
    path: text.Source, kind: str, names: tuple[str, ...], value: Value
) -> text.Found:
    if kind == "parquet":
        found = tables.parquet(path, names)
    else:
        data = text.content(path)
        if not data.strip():
            raise ValueError(f"{path}: is empty, there is not one {value}")
        if kind in ("csv", "tsv"):
            found = tables.separated(path, data, "," if kind == "csv" else "\t", names)
        elif kind == "jsonl":
            found = tables.json_lines(path, data, names)
        elif kind == "trec":
            form = text.QRELS if value == "relevance" else text.RUN
            return text.fields(path, data, form)
        else:
            form = text.SVMLIGHT if kind == "svmlight" else text.SCORES
            return text.numbered(text.fields(path, data, form))
    found.frame.columns = [*IDS, value]
    return found
