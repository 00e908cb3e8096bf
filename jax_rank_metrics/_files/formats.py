"""The formats of judgements and runs: their extensions, forms and columns."""

import re
from collections.abc import Sequence
from os import PathLike

from jax_rank_metrics._files import columnar, text
from jax_rank_metrics._files.frames import Value, known_columns, standard_names
from jax_rank_metrics._files.source import PACKED, Source

_EXTENSIONS = {
    **{name: name for name in ("csv", "tsv", "jsonl", "json", "parquet", "svmlight")},
    "ndjson": "jsonl",
    "svm": "svmlight",
    "libsvm": "svmlight",
}
_FORMS: dict[tuple[str, Value], text.Form] = {
    ("trec", "relevance"): text.QRELS,
    ("trec", "score"): text.RUN,
    ("subtopics", "relevance"): text.SUBTOPICS,
    ("svmlight", "relevance"): text.SVMLIGHT,
    ("msmarco", "score"): text.MSMARCO,
    ("scores", "score"): text.SCORES,
}


def format_of(path: str | PathLike[str]) -> str | None:
    """Returns the format that an extension means, or None for any other extension."""
    name = re.sub(PACKED, "", str(path).lower())
    return _EXTENSIONS.get(name.rpartition(".")[2]) if "." in name else None


def format_of_tsv(data: bytes, value: Value) -> str:
    """Returns the format of a file with the extension of a table between tabs.

    It is "trec" if the first line is one of TREC, with a number where the relevance or the
    score stands: names of columns are no numbers. MS MARCO has such judgements.
    """
    form = text.QRELS if value == "relevance" else text.RUN
    first_line = data.partition(b"\n")[0].rstrip(b"\r").decode(errors="replace")
    return "trec" if form.is_form_of(first_line) else "tsv"


def check_columns(columns: Sequence[str] | None, format: str, value: Value) -> None:
    """Raises ValueError unless these can be the names of columns in files of the format."""
    if columns is None:
        return
    if format not in ("csv", "tsv", "jsonl", "parquet"):
        raise ValueError(
            f"columns is {columns!r}, and files of the format {format!r} have no names; "
            "leave it out"
        )
    counts = (3, 4) if value == "relevance" else (3,)
    count = 0 if isinstance(columns, str) else len(columns)
    if count not in counts or len({*columns}) != count:
        subtopic = ", and perhaps of the subtopic" if value == "relevance" else ""
        raise ValueError(
            f"columns is {columns!r}; pass three names, of query, document and "
            f"{value}{subtopic}"
        )


def columns_among(
    source: Source, columns: Sequence[str] | None, value: Value, names: Sequence[str]
) -> Sequence[str]:
    """Returns the columns to read from a table with columns of these names."""
    if columns is not None:
        return columns
    try:
        return known_columns(names, value)
    except ValueError as error:
        raise ValueError(f"{source}: {error}; pass columns=") from error


def parsed_text(
    source: Source, data: bytes, format: str, choose: columnar.Choose, value: Value
) -> text.Parsed:
    """Returns the columns of ids and of `value` of a file, before `cleaned`.

    Args:
        source: The file.
        data: Its content.
        format: One of the formats of judgements or runs, but not "parquet".
        choose: Chooses the columns of a table.
        value: "relevance" for judgements, "score" for a run.
    """
    if format in ("csv", "tsv"):
        separator = "," if format == "csv" else "\t"
        return named(columnar.delimited(source, data, separator, choose, value), value)
    if format == "jsonl":
        return named(columnar.json_lines(source, data, choose), value)
    if format == "json":
        return named(columnar.json_by_query(source, data, value), value)
    parsed = text.fields(source, data, _FORMS[format, value])
    if format == "trec" and value == "score":
        return text.without_ranks(source, parsed)
    if format == "msmarco":
        return text.ranks_as_scores(source, parsed)
    return text.with_item_ids(parsed) if format in ("svmlight", "scores") else parsed


def named(parsed: text.Parsed, value: Value) -> text.Parsed:
    """Returns a table with the names of columns that frames have here."""
    frame = parsed.frame
    frame.columns = [*standard_names(value, frame.width)]
    return parsed
