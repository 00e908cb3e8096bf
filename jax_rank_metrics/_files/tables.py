"""Files with named columns: CSV, TSV, JSON lines, Parquet."""

import bisect
import collections
import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jax_rank_metrics._files import text as lines
from jax_rank_metrics._files.frames import first, named, polars
from jax_rank_metrics._files.text import (
    Found,
    Source,
    check_line_ends,
    check_utf8,
    lines_of,
    told,
)

if TYPE_CHECKING:
    import polars as pl


def _places(
    path: Source, given: Sequence[str], wanted: Sequence[str], line: str = ""
) -> list[int]:
    """The places of the columns that are wanted; `line` is what should name them."""
    for name in wanted:
        if list(given).count(name) != 1:
            found = "twice" if name in given else "not"
            cure = "columns=, the names of query, document and number"
            if lines.QRELS.matches_numbers(line) or lines.RUN.matches_numbers(line):
                cure = "format='trec', as the first line is one of that form, without names"
            raise ValueError(
                f"{path}: the column {name!r} is {found} among {named(given)[:200]}; "
                f"pass {cure}"
            )
    return [list(given).index(name) for name in wanted]


def separated(
    path: Source, data: bytes, separator: str, columns: Sequence[str]
) -> Found:
    """The columns of CSV or TSV, as strings."""
    pl = polars("reading files")
    try:
        text = io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="\n")
        head = next(csv.reader(text, delimiter=separator), [])
        # The header is read as a row below one made here, which has a column more: what
        # stands there is too many fields.
        names = [str(place) for place in range(len(head) + 1)]
        rows = pl.read_csv(
            io.BytesIO(f"{separator.join(names)}\n".encode() + data),
            separator=separator,
            infer_schema=False,
            truncate_ragged_lines=True,
        )
    except (csv.Error, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        check_utf8(path, data)
        raise _misquoted(path, data, separator) from error
    places = _places(path, head, columns, data.partition(b"\n")[0].decode())
    blank = rows.select(
        pl.all_horizontal(pl.all().fill_null("").str.strip_chars() == "")
    ).to_series()
    if blank.any():  # though a line of separators is not, as all is missing there
        blank &= ~_line_numbers(rows).is_in(lines_of(path, data)["number"].implode())
    kept = (~blank).arg_true()[1:]
    body = rows[kept]

    def where(row: int) -> str:
        return told(_line_numbers(rows)[kept[row]], data)

    row = first(body[names[-1]].is_not_null())
    if row is not None:
        raise ValueError(f"{path}, {where(row)}: more fields than the first line has")
    return Found(body.select(pl.nth(places)), where)


def _line_numbers(rows: "pl.DataFrame") -> "pl.Series":
    """The number of the line where each row begins: a quoted field may hold line ends."""
    pl = polars("reading files")
    breaks = pl.sum_horizontal(pl.all().str.count_matches("\n", literal=True))
    before = breaks.cum_sum().shift(1, fill_value=0)
    return rows.select(before + pl.int_range(1, pl.len() + 1)).to_series()


def _misquoted(path: Source, data: bytes, separator: str) -> ValueError:
    """What is wrong with the quotes, and where."""
    text = io.StringIO(data.decode(), newline="\n")
    rows = csv.reader(text, delimiter=separator, strict=True)
    try:
        collections.deque(rows, maxlen=0)
    except csv.Error as error:
        if "new-line character" in str(error):
            check_line_ends(path, data)
        return ValueError(f"{path}, {told(rows.line_num, data)}: {error}")
    odd = [n for n, one in enumerate(data.split(b"\n"), 1) if one.count(b'"') % 2]
    where = f", {told(odd[0], data)}" if odd else ""
    return ValueError(f"{path}{where}: not a table of fields between {separator!r}")


def json_lines(path: Source, data: bytes, columns: Sequence[str]) -> Found:
    """The columns of an object in each line."""
    pl = polars("reading files")

    def read(text: bytes) -> "pl.DataFrame":
        return pl.read_ndjson(io.BytesIO(text), infer_schema_length=None)

    def where(row: int) -> str:
        return told(lines_of(path, data)["number"][row], data)

    try:
        frame = read(data)
    except pl.exceptions.PolarsError as error:
        check_utf8(path, data)
        check_line_ends(path, data)
        texts = lines_of(path, data)["text"].to_list()

        def fails(lines: int) -> bool:
            try:
                read("\n".join(texts[:lines]).encode())
            except pl.exceptions.PolarsError:
                return True
            return False

        lines = bisect.bisect_left(range(len(texts)), True, lo=1, key=fails)
        raise ValueError(
            f"{path}, {where(lines - 1)}: no JSON object like those before it"
        ) from error
    return Found(frame.select(pl.nth(_places(path, frame.columns, columns))), where)


def parquet(path: Source, columns: Sequence[str]) -> Found:
    """The columns of a Parquet file."""
    pl = polars("reading files")
    with path.open() as file:
        try:
            given = pl.read_parquet_schema(file)
            file.seek(0)
            places = _places(path, [*given], columns)
            frame = pl.read_parquet(file, columns=[[*given][place] for place in places])
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise ValueError(f"{path}: no whole Parquet file ({error})") from error
    return Found(frame.select(columns), lambda row: f"row {row}")
