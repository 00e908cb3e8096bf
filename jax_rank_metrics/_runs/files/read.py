"""`jrm.read_qrels` and `jrm.read_run`: judgements and runs from files."""

import re
import warnings
from collections.abc import Sequence
from os import PathLike
from typing import get_args

from jax_rank_metrics._ground import choices, inputs, optional
from jax_rank_metrics._ground.messages import short_errors
from jax_rank_metrics._runs.files import columnar, frames, sources, text
from jax_rank_metrics._runs.files.frames import pl

_EXTENSIONS = {
    **{name: name for name in ("csv", "tsv", "jsonl", "json", "parquet", "svmlight")},
    "ndjson": "jsonl",
    "svm": "svmlight",
    "libsvm": "svmlight",
}
_SEPARATORS = {"csv": ",", "tsv": "\t"}
_TABLES = (*_SEPARATORS, "jsonl", "parquet")  # formats with named columns
_OF_LISTS = ("jsonl", "parquet")  # formats in which a column may hold lists
_FORMS: dict[tuple[str, frames.ValueColumn], text.Form] = {
    ("trec", "relevance"): text.QRELS,
    ("trec", "score"): text.RUN,
    ("subtopics", "relevance"): text.SUBTOPICS,
    ("svmlight", "relevance"): text.SVMLIGHT,
    ("msmarco", "score"): text.MSMARCO,
    ("scores", "score"): text.SCORES,
}


def read_qrels(
    path: sources.File,
    *,
    format: choices.QrelsFormat | None = None,
    columns: Sequence[str] | None = None,
    duplicates: choices.DuplicatesOfQrels = "error",
) -> "pl.DataFrame":
    r"""Reads judgements from a file: which documents are relevant to which queries.

    The format follows from the extension (before `.gz` or `.zst`), unless it is passed:

    - "trec", for any other extension: lines of `query iteration document relevance`,
      separated by any blanks; the iteration is not read. MS MARCO has such lines in files
      called `.tsv`, so a `.tsv` file is read as "trec" if its first line has this form with
      a number as the relevance, which a header does not have.
    - "subtopics": lines of `query subtopic document relevance`, as in the diversity task of
      the TREC Web track.
    - "csv" and "tsv" (with a header, and quotes), "jsonl" or "ndjson" (an object in each
      line) and "parquet": three columns by name; other columns are not read, except for
      a column called subtopic or subtopic_id.
    - "json": one object `{query: {document: relevance}}`, as in pytrec_eval and ranx.

      JSON lines and Parquet may hold a query in each row, with the list of its documents
      in a column such as doc_id or doc_ids. Both formats of JSON may hold
      `{query: [document, …]}`, or only lists, which belong to the queries 0, 1, ….
    - "svmlight", "svm" or "libsvm", the format of LETOR and MSLR: `relevance qid:query`,
      followed by features and comments that are not read. The id of a document is the
      index of its item in the file, from 0.

    Text is UTF-8, plain or packed by gzip or zstd. A byte order mark and blank lines are
    skipped. Comments are also skipped, except in tables: they are lines that begin with "#"
    and do not fit the format. An id may begin with "#", as in trec_eval. Ids in text are
    strings exactly as written, so "007" differs from "7". Integers in JSON lines and
    Parquet and the ids of svmlight are int64. If a column of JSON lines holds ids of
    several kinds, all of them become strings.

    Args:
        path: The file: a path, a file that is open in binary mode, such as
            `sys.stdin.buffer` or the result of `gzip.open`, or a `StringIO`; an open file
            is read to its end.
        format: One of these formats; None takes it from the extension.
        columns: For tables, the names of the columns of query, document and relevance, and
            perhaps of the subtopic; for lists of documents, the columns of query and
            documents. By default, the file may have the names of one of these programs:
            query_id, doc_id and relevance as here and in ir_datasets; qid, docno or docid,
            and label or rel of PyTerrier; q_id, doc_id and score of ranx; query-id,
            corpus-id and score of BEIR and MTEB.
        duplicates: What to do if a query has a document more than once: "error", or keep
            the "first" or the "last" line or, in judgements, the "max" relevance.

    Returns:
        A polars frame with the columns query_id, doc_id and relevance, and subtopic if the
        file has it, in the order of the file; or query_id and lists in doc_id. The
        relevance is int64, or float64 if some relevance is not an integer. A relevance
        below 0 means that a document was pooled but not judged; see `join`.

    Raises:
        ValueError: with the file, the line and its text, if a line has another form, an id
            or number is missing, a relevance is not a finite number, bytes are not UTF-8,
            or a document repeats; or if the file is empty, truncated or corrupt, or holds
            the columns of two programs.
        OSError: if the file cannot be opened.
        TypeError: if `path` is not a file, or is open as text.
        ModuleNotFoundError: if polars is not installed; or if zstandard is not, which files
            packed by zstd need before Python 3.14.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "qrels.txt"
    >>> _ = path.write_text("q1 0 doc7 2\nq1 0 doc9 0\n")
    >>> read_qrels(path).rows()
    [('q1', 'doc7', 2), ('q1', 'doc9', 0)]
    >>> _ = path.write_text("q1 1 doc7 1\nq1 2 doc7 1\n")
    >>> read_qrels(path, format="subtopics").rows()
    [('q1', 'doc7', 1, '1'), ('q1', 'doc7', 1, '2')]
    >>> folder.cleanup()
    """
    inputs.option("duplicates", duplicates, choices.DuplicatesOfQrels)
    source = sources.Source.of(path)
    return read(source, format, columns, duplicates, "relevance", keeps_lists=True)[0]


def read_run(
    path: sources.File,
    *,
    format: choices.RunFormat | None = None,
    columns: Sequence[str] | None = None,
    duplicates: choices.Duplicates = "error",
) -> "pl.DataFrame":
    r"""Reads a run from a file: the documents that a system returned, with their scores.

    Tables and "json" are read as in `read_qrels`. Lines of "trec" are `query Q0 document
    rank score tag`. Only query, document and score are read: scores alone determine the
    order. The rank must be a number, and no id may hold a blank, which would shift the
    fields; any text may follow the tag.

    Two formats must be passed, because neither the extension nor the contents of a file
    identify them. "msmarco" has lines of `query document rank`, read as the score −rank;
    equal ranks tie. If `columns` are passed, too, the file is a table (of tabs, unless the
    extension says otherwise), and the third of the columns is the rank. "scores" has one
    number in each line, for the items of an svmlight file in their order.

    Args:
        path: As in `read_qrels`.
        format: "trec", "csv", "tsv", "jsonl", "parquet", "json", "msmarco" or "scores";
            None takes it from the extension.
        columns: As in `read_qrels`, but with scores: query_id, doc_id, score; qid, docno,
            score; q_id, doc_id, score; or query-id, corpus-id, score. A column called rank
            or position holds ranks, counted from 0 or 1, and lower ranks are better. It is
            read if there is no score, or if it is named here.
        duplicates: See `read_qrels`.

    Returns:
        A polars frame with the columns query_id, doc_id and score (float64, perhaps
        infinite), in the order of the file; or with query_id and lists in doc_id, in rank
        order. Numbers in text are read as doubles, as in trec_eval. If all scores are
        integers and some lie beyond 2⁵³, they stay integers. The format "scores" gives no
        query_id, because `join` takes it from the judgements.

    Raises:
        ValueError: as in `read_qrels`; or if a score is NaN, or a rank is not an integer
            of at least 1 in lines of "msmarco", or of at least 0 in tables.
        OSError: if the file cannot be opened.
        TypeError: as in `read_qrels`.
        ModuleNotFoundError: as in `read_qrels`.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "mine.csv"
    >>> _ = path.write_text("user,item,rating\n3,17,4.5\n")
    >>> read_run(path, columns=("user", "item", "rating")).rows()
    [('3', '17', 4.5)]
    >>> path = pathlib.Path(folder.name) / "top.tsv"
    >>> _ = path.write_text("3\t17\t1\n3\t12\t2\n")
    >>> read_run(path, format="msmarco").rows()
    [('3', '17', -1.0), ('3', '12', -2.0)]
    >>> folder.cleanup()
    """
    inputs.option("duplicates", duplicates, choices.Duplicates)
    source = sources.Source.of(path)
    return read(source, format, columns, duplicates, "score", keeps_lists=True)[0]


@short_errors()
def read(
    source: sources.Source,
    format: str | None,
    columns: Sequence[str] | None,
    duplicates: choices.DuplicatesOfQrels,
    value: frames.ValueColumn,
    keeps_lists: bool = False,
) -> "tuple[pl.DataFrame, str | None]":
    """Reads judgements if `value` is "relevance", or a run if it is "score".

    Returns:
        A row for each document, or a row for each query if the file holds lists and
        `keeps_lists` is True; and the tag in the first line of a TREC run, or None.
    """
    formats = choices.QrelsFormat if value == "relevance" else choices.RunFormat
    by_extension = format_of(source.name) or "trec"
    if format is None and by_extension not in get_args(formats):
        raise ValueError(
            f"{source}: {by_extension!r} is a format for judgements, not runs; pass "
            "format='scores' for plain scores"
        )
    if format is not None:
        inputs.option("format", format, formats, "None or ")
    may_lack_names = format is None and columns is None
    has_ranks = format == "msmarco"
    if has_ranks and columns is not None:  # a table, by default with tabs
        format = by_extension if by_extension in _TABLES else "tsv"
    format = format or by_extension
    _check_columns(columns, format, value)
    reader = "jrm.read_qrels" if value == "relevance" else "jrm.read_run"
    optional.import_optional("polars", reader, "trec")

    def choose(names: Sequence[str]) -> Sequence[str]:
        if columns is not None:
            return columns
        try:
            return frames.known_columns(names, value, format in _OF_LISTS)
        except ValueError as error:
            raise ValueError(
                f"{source}: {error}; name the columns by columns="
            ) from error

    if format == "parquet":
        parsed = columnar.parquet(source, choose)
    else:
        with source.open() as file:
            data = sources.content(source, file.read())
        if re.search(rb"\S", data) is None:
            raise _empty_error(source, value)
        if format == "tsv" and may_lack_names:
            # MS MARCO calls its judgements `.tsv`, although they have the form of TREC.
            first_line = data.partition(b"\n")[0].decode(errors="replace")
            if text.format_without_names(first_line, value) == "trec":
                format = "trec"
        if format in _SEPARATORS:
            separator = _SEPARATORS[format]
            parsed = columnar.delimited(source, data, separator, choose, value)
        elif format == "jsonl":
            parsed = columnar.json_lines(source, data, choose)
        elif format == "json":
            parsed = columnar.json_by_query(source, data, value)
        else:
            parsed = text.fields(source, data, _FORMS[format, value])
    if format in (*_TABLES, "json"):
        *_, number = parsed.frame.columns[:3]
        parsed.frame.columns = [*frames.standard_names(value, parsed.frame.width)]
        for column in parsed.frame:
            frames.refuse_breaks(column, parsed.fail)
        if value == "score" and (has_ranks or frames.is_rank(number)):
            parsed = text.ranks_as_scores(parsed, first_rank=0)
    if parsed.frame.height == 0:
        raise _empty_error(source, value)
    if frames.is_listed(parsed.frame):
        rows = frames.rows_of_lists(parsed.frame, value, parsed.fail)
        if value == "relevance" and not rows["doc_id"].count():
            raise _empty_error(source, value)
        return parsed.frame.drop("rank", strict=False) if keeps_lists else rows, None
    if value not in parsed.frame.columns:
        cure = f"name the columns of query, document and {value} by columns="
        parsed.fail(0, f"doc_id is not a list; {cure}")
    for remark in frames.remarks_on_ranks(parsed.frame):
        warnings.warn(f"{source}: {remark}", stacklevel=4)
    frame, tag = frames.cleaned(parsed.frame, value, parsed.fail), None
    if value == "score" and format == "trec" and parsed.line:
        tag = text.tag_of(parsed.line(0))
    row = frames.first_repeat(frame)
    if row is not None:
        frame = _without_repeats(parsed, frame, row, duplicates, value)
    return frame, tag


def _without_repeats(
    parsed: text.ParsedRows,
    frame: "pl.DataFrame",
    row: int,
    duplicates: choices.DuplicatesOfQrels,
    value: frames.ValueColumn,
) -> "pl.DataFrame":
    """Returns one row for each document of a query, chosen by `duplicates`.

    Args:
        parsed: The rows of the file, for messages.
        frame: The same rows, after `cleaned`.
        row: The first row that repeats an earlier row.
        duplicates: See `read_qrels`.
        value: "relevance" for judgements, "score" for a run.

    Raises:
        ValueError: if `duplicates` is "error".
    """
    if duplicates != "error":
        return frames.distinct(frame, value, duplicates)
    query, doc, *subtopics = frame.select(frames.id_columns(frame)).row(row)
    cure = "pass duplicates='first' or duplicates='last' to keep one"
    if not subtopics and value == "relevance" and parsed.line is not None:
        is_pair = (frame["query_id"] == query) & (frame["doc_id"] == doc)
        lines = [parsed.line(int(index)) for index in is_pair.arg_true()]
        if all(map(text.QRELS.is_form_of, lines)):
            if len({line.split()[1] for line in lines}) > 1:
                cure = (
                    "the second field differs, so these may be judgements of subtopics; "
                    "pass format='subtopics'"
                )
    subtopic_text = f" of subtopic {subtopics[0]!r}" if subtopics else ""
    parsed.fail(
        row,
        f"document {doc!r}{subtopic_text} of query {query!r} appears earlier; {cure}",
    )


def _empty_error(source: sources.Source, value: frames.ValueColumn) -> ValueError:
    """Returns the error for a file without rows."""
    return ValueError(f"{source}: is empty; pass a file with at least one {value}")


def format_of(path: str | PathLike[str]) -> str | None:
    """Returns the format of an extension, or None if the extension is unknown."""
    name = re.sub(sources.PACKED, "", str(path).lower())
    return _EXTENSIONS.get(name.rpartition(".")[2]) if "." in name else None


def _check_columns(
    columns: Sequence[str] | None, format: str, value: frames.ValueColumn
) -> None:
    """Raises ValueError unless these can be the names of columns in files of the format."""
    if columns is None:
        return
    if format not in _TABLES:
        raise ValueError(
            f"columns is {columns!r}, but files of the format {format!r} "
            "have no column names; leave it out"
        )
    counts = (3, 4) if value == "relevance" else (3,)
    counts = (2, *counts) if format in _OF_LISTS else counts
    count = 0 if isinstance(columns, str) else len(columns)
    if count not in counts or len({*columns}) != count:
        subtopic = ", and perhaps of the subtopic" if value == "relevance" else ""
        raise ValueError(
            f"columns is {columns!r}; pass three names: the columns of query, document "
            f"and {value}{subtopic}"
        )
