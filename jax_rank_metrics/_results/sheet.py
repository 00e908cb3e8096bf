"""A table before it has a format, and numbers as text: fixed point, CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import jax
import numpy as np

T = TypeVar("T")
Json: TypeAlias = "float | str | list[Json] | dict[str, Json] | None"


@runtime_checkable
class _NamedFields(Protocol):
    """A NamedTuple, such as `Estimate`."""

    def _asdict(self) -> dict[str, Any]: ...


def csv_of(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns the header and the rows as CSV, one line each, quoted where necessary."""
    lines = []
    for row in (header, *rows):
        text = io.StringIO(newline="")
        # Fields that hold a letter of the end of lines are quoted, such as a lone "\r".
        csv.writer(text, lineterminator="\r\n").writerow(row)
        lines.append(text.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def csv_of_records(records: Sequence[Mapping[str, Any]]) -> str:
    """Returns records as CSV; None is an empty field.

    A field that holds fields of its own becomes a column for each of them.
    """
    rows = [flat_record(record) for record in records]
    # Only runs of several seeds have the fields of seeds, so that records may differ.
    header = list(dict.fromkeys(name for row in rows for name in row))
    return csv_of(header, ([row.get(name) for name in header] for row in rows))


def flat_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a record with a field for each of those that its fields hold."""
    return dict(_columns(record))


def _columns(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, _NamedFields):
            fields = value._asdict()
            yield from ((f"{name}_{field}", x) for field, x in fields.items())
        elif isinstance(value, Mapping):
            yield from _columns(value)
        else:
            yield name, value


def json_of(document: Any) -> str:
    """Returns a document as JSON, with a line for each item of a list."""
    # A record takes a line, so that files of results can be compared line by line.
    items = document if isinstance(document, list) else [document]
    lines = [json.dumps(plain(item), ensure_ascii=False) for item in items]
    text = ",\n ".join(lines)
    return f"[\n {text}\n]\n" if items is document else f"{text}\n"


def plain(value: Any) -> Json:
    """Returns numbers of NumPy as Python's, arrays and tuples as lists, NaN as None."""
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        value = value.tolist()
    if isinstance(value, _NamedFields):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): plain(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    return json_number(value)


def json_number(value: T) -> T | None:
    """Returns the value, or None if it is a float that is not finite: JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def count_text(number: int, noun: str, plural_ending: str = "s") -> str:
    """Writes a count and its noun, which is plural unless the count is 1.

    >>> count_text(1, "list"), count_text(2, "loss", "es")
    ('1 list', '2 losses')
    """
    return f"{number} {noun}{'' if number == 1 else plural_ending}"


def fixed_point(number: float, digits: int, sign: str = "") -> str:
    """Formats a number with this many digits after the point; a zero has no sign.

    Numbers so large that no digit after the point is known have an exponent.

    >>> fixed_point(-0.0004, 3), fixed_point(0.0004, 3, sign="+"), fixed_point(-0.5, 1)
    ('0.000', '0.000', '-0.5')
    >>> fixed_point(2.7e20, 3)
    '2.700e+20'
    """
    text = f"{number:{sign}.{digits}{'f' if abs(number) < 1e12 else 'e'}}"
    return text.lstrip("+-") if not text.strip("+-0.") else text


class Cell(NamedTuple):
    """A number as it is printed, and what stands beside it."""

    number: str
    interval: tuple[str, str] | None = None
    is_best: bool = False
    marks: str = ""  # of significance, such as "†" or "ab"


class Sheet(NamedTuple):
    """The contents of a table.

    Attributes:
        name_headings: The headings of the columns with names, which come first.
        headings: The heading of each column with numbers, and the heading that it shares
            with its neighbours, or "".
        names: The names of each row.
        cells: The cells of each row; None where a run has no such metric.
        note: What stands below the table.
        legend: What the marks of significance mean, or "".
        records: All digits of all numbers, as CSV and JSON hold them; the keys of every
            record are the same.
        document: What JSON holds instead of records; None for the records.
    """

    name_headings: Sequence[str]
    headings: Sequence[tuple[str, str]]
    names: Sequence[Sequence[str]]
    cells: Sequence[Sequence[Cell | None]]
    note: str
    legend: str
    records: Sequence[dict[str, Any]]
    document: Any = None

    def columns(self) -> list[list[Cell | None]]:
        """Returns the cells column by column."""
        return [
            [row[index] for row in self.cells] for index in range(len(self.headings))
        ]

    def on_one_line(self) -> "Sheet":
        """Returns the sheet with all names, which callers choose, on one line each."""

        def line(text: str) -> str:
            return " ".join(text.split())

        return self._replace(
            headings=[(line(group), line(name)) for group, name in self.headings],
            names=[[*map(line, row)] for row in self.names],
            note=line(self.note),
            legend=line(self.legend),
        )


def number_with_interval(
    number: float, low: float, high: float, digits: int, sign: str = ""
) -> Cell:
    """Returns a cell with a number and its interval, with this many digits."""
    # Ends have no plus sign, also where the number has one.
    interval = fixed_point(low, digits), fixed_point(high, digits)
    return Cell(fixed_point(number, digits, sign), interval)


def names_without_repetition(sheet: Sheet) -> list[list[str]]:
    """Returns the names of each row, without those that repeat the names of the row above.

    The last name of a row always stays.
    """
    rows: list[list[str]] = []
    above: Sequence[str] = ()
    for names in sheet.names:  # ("web", "new") below ("web", "old") becomes ("", "new")
        shared = 0
        while shared < len(names) - 1 and names[: shared + 1] == above[: shared + 1]:
            shared += 1
        rows.append([""] * shared + list(names[shared:]))
        above = names
    return rows


def note_of(sheet: Sheet, best: str) -> str:
    """Returns the note and what marks mean; `best` says how the best is marked."""
    has_best = any(cell and cell.is_best for row in sheet.cells for cell in row)
    parts = [sheet.note, f"best is {best}" if has_best else "", sheet.legend]
    return "; ".join(filter(None, parts))
