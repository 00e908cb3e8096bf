"""Lines of fields separated by white space: TREC, svmlight, plain scores, and weights."""

import io
import math
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from jax_rank_metrics._runs.files import sources
from jax_rank_metrics._runs.files.frames import (
    ValueColumn,
    are_wide,
    finite_numbers,
    first_true,
    pl,
    scores_of_ranks,
)

CHUNK = 2**24  # bytes of text that are parsed at once, which bounds the memory

# The white space of C, as in trec_eval. Other spaces of Unicode are part of an id.
_BLANKS = " \t\r\v\f"
_BLANK, _FIELD = f"[{_BLANKS}]", f"[^{_BLANKS}]+"
_NUMBER = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
_NUMERIC = "rank", "score"  # columns of numbers


class ParsedRows(NamedTuple):
    """The rows of a file, with functions that take the index of a row, from 0."""

    source: sources.Source
    frame: "pl.DataFrame"
    location: Callable[[int], str]  # the line or row in the file, for messages
    line: Callable[[int], str] | None = None  # the text of the row, if rows are lines

    def fail(self, row: int, reason: str) -> NoReturn:
        """Raises ValueError with the file, the row in it, and the reason."""
        raise ValueError(f"{self.source}, {self.location(row)}: {reason}")


class Form(NamedTuple):
    """The fields of a line of text, and the columns into which they are read."""

    pattern: str  # a regular expression with a group for each column
    columns: tuple[str, ...]
    description: str  # the names of all fields, for messages
    # The column of each field, or None if it is not read; empty if the number of fields
    # varies.
    fields: tuple[str | None, ...] = ()
    # Pairs of a pattern and a reason. Lines that match `pattern` and also this pattern are
    # refused for this reason: their fields are shifted or merged.
    refused: tuple[tuple[str, str], ...] = ()
    # Turns the columns into ids and a relevance or score, if they are something else.
    finish: Callable[[ParsedRows], ParsedRows] | None = None

    @classmethod
    def of(cls, description: str, **columns: str) -> "Form":
        """Returns the form of a line of fields that are separated by white space.

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
        """True if a line has this form and its last column is a number.

        This column is the relevance or the score. It need not be the last field, because
        lines of a run end with a tag. A header has the right number of fields, but its last
        column is not a number.

        >>> QRELS.is_form_of("q1 0 d7 2"), QRELS.is_form_of("query 0 document relevance")
        (True, False)
        """
        match = re.match(self.pattern, line)
        if match is None:
            return False
        return re.fullmatch(_NUMBER, match[len(self.columns)]) is not None


def ranks_as_scores(parsed: ParsedRows, first_rank: int = 1) -> ParsedRows:
    """Replaces ranks in the column score by scores, which fall as ranks grow.

    Raises:
        ValueError: if a rank is not an integer of at least `first_rank`.
    """
    scores = scores_of_ranks(parsed.frame["score"], parsed.fail, first_rank)
    return parsed._replace(frame=parsed.frame.with_columns(score=scores))


def _with_item_ids(parsed: ParsedRows) -> ParsedRows:
    """Adds a column doc_id with the index of each row, from 0.

    Ids of queries become int64, but stay strings if one of them exceeds int64.
    """
    frame = parsed.frame.with_row_index("doc_id")
    if "query_id" in frame.columns:
        ids = frame["query_id"].cast(pl.Int64, strict=False)
        frame = frame if ids.has_nulls() else frame.with_columns(ids)
    return parsed._replace(frame=frame)


QRELS = Form.of(
    "query iteration document relevance",
    query="query_id", document="doc_id", relevance="relevance",
)  # fmt: skip
RUN = Form.of(
    "query Q0 document rank score tag",
    query="query_id", document="doc_id", rank="rank", score="score",
)  # fmt: skip
_MERGED_LINES = "seems to be two lines in one; put a newline between them"
RUN = RUN._replace(
    refused=(
        # If a newline is lost, `pattern` reads the first of two lines, and takes the second
        # for text after the tag. The query of the second line is then the seventh field, or
        # is glued to the tag, the sixth. Require `Q0 document rank score` after it, so that
        # other text after a tag does not match.
        (
            rf"^{_BLANK}*(?:{_FIELD}{_BLANK}+){{6,7}}"
            rf"{_FIELD}{_BLANK}+{_FIELD}{_BLANK}+\d+{_BLANK}+{_NUMBER}(?:{_BLANK}|$)",
            _MERGED_LINES,
        ),
        # If an id ends with a blank and a number, all fields after it are shifted by one,
        # and the field of the rank still holds a number.
        (
            rf"^{_BLANK}*(?:{_FIELD}{_BLANK}+){{3}}{_NUMBER}{_BLANK}+\d+"
            rf"{_BLANK}+{_NUMBER}{_BLANK}+[^{_BLANKS}]",
            "fields 4 and 5 may be the rank and the score, but so may fields 5 and 6 if an "
            "id holds a blank; write ids without blanks, and a tag that is not a number",
        ),
    ),
)
SUBTOPICS = Form.of(
    "query subtopic document relevance",
    query="query_id", subtopic="subtopic", document="doc_id", relevance="relevance",
)  # fmt: skip
MSMARCO = Form.of(
    "query document rank", query="query_id", document="doc_id", rank="score"
)._replace(finish=ranks_as_scores)
SCORES = Form.of("score", score="score")._replace(finish=_with_item_ids)
# The features that follow the id of the query are not read.
SVMLIGHT = Form(
    rf"^{_BLANK}*({_FIELD}){_BLANK}+qid:(\d+)(?:[{_BLANKS}#].*)?$",
    ("relevance", "query_id"),
    "relevance qid:query",
    refused=((rf"^[^#]*{_BLANK}qid:[^#]*{_BLANK}qid:", _MERGED_LINES),),
    finish=_with_item_ids,
)


def format_without_names(line: str, value: ValueColumn) -> str | None:
    """Returns the format without column names whose form a line has, or None."""
    if (QRELS if value == "relevance" else RUN).is_form_of(line):
        return "trec"
    return "msmarco" if value == "score" and MSMARCO.is_form_of(line) else None


def tag_of(line: str) -> str:
    """Returns the tag of a line of a run, without the text after it."""
    return re.split(f"{_BLANK}+", line.strip(_BLANKS))[5]


def lines_of(source: sources.Source, data: bytes) -> "pl.DataFrame":
    """Returns the columns `number`, from 1, and `text` of all lines that are not blank."""
    try:
        # Put a newline first, because polars might take the content for a compressed file:
        # text that begins with "x^", or a file that was compressed twice.
        lines = pl.scan_lines(
            io.BytesIO(b"\n" + data), name="text", row_index_name="number"
        ).collect()
    except pl.exceptions.PolarsError:
        sources.check_utf8(source, data)
        raise
    return lines.filter(pl.col("text").str.strip_chars(_BLANKS) != "")


def fields(source: sources.Source, data: bytes, form: Form) -> ParsedRows:
    """Returns ids and numbers of lines, without blank lines and comments; see `_comments`.

    Columns are strings, except that ranks and scores may be float64 if all are numbers.

    Raises:
        ValueError: if a line does not have the form, or seems to have it only because a
            newline was lost, or because an id holds a blank; if a rank is not a number.
    """
    sources.check_line_ends(source, data)
    frames, start = [], 0
    while start < len(data):
        end = data.find(b"\n", start + CHUNK) + 1 or len(data)
        frame = _plain_fields(data[start:end], form)
        if frame is None:
            parsed = _matched_fields(source, data, form)
            break
        frames.append(frame)
        start = end
    else:
        parsed = ParsedRows(
            source,
            pl.concat(frames),
            location=lambda row: sources.quote_line(row + 1, data),
            line=lambda row: data.split(b"\n", row + 1)[row].decode(),
        )
    return parsed if form.finish is None else form.finish(parsed)


def _plain_fields(data: bytes, form: Form) -> "pl.DataFrame | None":
    """Returns the columns of lines that a fast reader of tables can split, or None.

    Most files can be read in this way: they have one space or tab between fields and none
    around them, no blank lines and no comments. If a line is different, or has a rank or
    score that is not a number, None is returned.
    """
    separators = [blank for blank in _BLANKS if blank.encode() in data]
    if not form.fields or separators not in ([], [" "], ["\t"]):
        return None
    dtypes = {
        name or f"skipped {index}": pl.Float64 if name in _NUMERIC else pl.String
        for index, name in enumerate(form.fields)
    }
    try:
        frame = pl.read_csv(
            sources.BOM + data,  # the mark serves as the newline in `lines_of`
            has_header=False,
            separator=separators[0] if separators else " ",
            quote_char=None,
            schema=dtypes,
        )
    except pl.exceptions.PolarsError:
        return None
    # A field is null between two separators in a row, or if a line has too few fields.
    if any(column.has_nulls() for column in frame):
        return None
    frame = frame.select(form.columns)
    if "rank" in frame.columns and not frame["rank"].is_finite().all():
        return None
    # Scores that may be integers with more digits than a double holds are read as text.
    if frame.columns[-1] == "score" and are_wide(frame["score"]):
        return None
    return None if _comments(frame.to_series(), frame, form).any() else frame


def _comments(starts: "pl.Series", frame: "pl.DataFrame", form: Form) -> "pl.Series":
    """Returns True for each comment: a line that begins with "#" and cannot be data.

    Ids may begin with "#", too. A line that has all fields of the form, with a number as
    the relevance or the score, is data, because other programs read it as data.

    Args:
        starts: The lines, or their first fields.
        frame: The columns of the form, with null for lines that do not match it.
        form: The form.
    """
    if starts.dtype != pl.String:
        return pl.repeat(False, len(starts), eager=True)
    is_comment = starts.str.starts_with("#")
    if is_comment.any():
        value = "relevance" if "relevance" in form.columns else "score"
        is_data = frame[value].cast(pl.Float64, strict=False).is_not_null()
        if "rank" in frame.columns:  # after a lone "#", the rank must be a number, too
            is_rank = frame["rank"].cast(pl.Float64, strict=False).is_not_null()
            is_data &= is_rank | (frame["query_id"] != "#").fill_null(False)
        is_comment &= ~is_data
    return is_comment


def _matched_fields(source: sources.Source, data: bytes, form: Form) -> ParsedRows:
    """Returns ids and numbers as `fields` does, by the pattern of the form."""
    lines = lines_of(source, data)
    groups = lines["text"].str.extract_groups(form.pattern)
    frame = groups.struct.rename_fields(form.columns).struct.unnest()
    is_kept = ~_comments(lines["text"], frame, form)
    lines, frame = lines.filter(is_kept), frame.filter(is_kept)
    parsed = ParsedRows(
        source,
        frame,
        location=lambda row: sources.quote_line(lines["number"][row], data),
        line=lambda row: lines["text"][row],
    )
    row = first_true(frame[form.columns[0]].is_null())
    if row is not None:
        cure = ""
        if form is RUN and MSMARCO.is_form_of(lines["text"][row]):
            cure = "; pass format='msmarco' if its third field is a rank"
        parsed.fail(row, f"is not of the form `{form.description}`{cure}")
    for pattern, reason in form.refused:
        row = first_true(lines["text"].str.contains(pattern))
        if row is not None:
            parsed.fail(row, reason)
    if "rank" in form.columns:
        # If an id holds a blank, fields are shifted, and the rank was read as the score.
        row = first_true(finite_numbers(frame["rank"]).is_null())
        if row is not None:
            parsed.fail(
                row,
                f"the rank is {frame['rank'][row]!r}, which is not a number; pass lines of "
                f"`{form.description}`, with ids without blanks",
            )
    return parsed


def read_weights(source: sources.Source) -> dict[str, float]:
    """Returns a dict from the id of each query to its weight.

    Lines hold a query and its weight, separated by white space or a comma. Blank lines are
    skipped. A first line whose second field is not a number is skipped as a header.

    Raises:
        ValueError: with the file and the line, if a line has another form, a weight is
            below 0 or not finite, or a query repeats; or if the file holds no weight.
        OSError: if the file cannot be opened.
    """
    with source.open() as file:
        data = sources.content(source, file.read())
    sources.check_utf8(source, data)
    weights: dict[str, float] = {}
    for number, line in enumerate(data.decode().split("\n"), 1):
        query, *texts = re.split(r"\s*,\s*|\s+", line.strip())
        if not query and not texts:
            continue
        weight = _number(texts)
        if weight is None and number == 1 and len(texts) == 1:
            continue
        if weight is None:
            problem = "pass a query and its weight"
        elif not 0 <= weight < math.inf:
            problem = "pass finite weights of at least 0"
        elif query in weights:
            problem = f"query {query!r} has a weight already; keep one of its lines"
        else:
            weights[query] = weight
            continue
        raise ValueError(f"{source}, {sources.quote_line(number, data)}: {problem}")
    if not weights:
        raise ValueError(f"{source} is empty; pass lines of a query and its weight")
    return weights


def _number(texts: list[str]) -> float | None:
    """Returns the number in the only text, or None for other texts or another count."""
    try:
        [text] = texts
        return float(text)
    except ValueError:
        return None
