"""A table before it has a format: headings, cells, a note, and records of all numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jax_rank_metrics._results.sheets.export import fixed_point


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
