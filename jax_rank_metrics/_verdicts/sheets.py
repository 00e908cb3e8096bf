"""The contents of a table, and the table as text, Markdown, HTML, LaTeX, CSV and JSON."""

import csv
import html
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """Returns the header and the rows as CSV, one line each, quoted if necessary."""
    lines = []
    for row in (header, *rows):
        text = io.StringIO(newline="")
        # Because of this line end, fields that contain a lone "\r" or "\n" are quoted.
        csv.writer(text, lineterminator="\r\n").writerow(row)
        lines.append(text.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def csv_of_records(records: Sequence[Mapping[str, Any]]) -> str:
    """Returns records as CSV; None is an empty field.

    A field that holds a record becomes a column for each field of this record.
    """
    rows = [flat_record(record) for record in records]
    # Records may have different fields: only runs with several seeds have fields of
    # seeds.
    header = list(dict.fromkeys(name for row in rows for name in row))
    return csv_of(header, ([row.get(name) for name in header] for row in rows))


def flat_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a flat record, with the fields of nested records as its own fields."""
    return dict(_columns(record))


def _columns(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, _NamedFields):
            fields = value._asdict()
            yield from ((f"{name}_{field}", item) for field, item in fields.items())
        elif isinstance(value, Mapping):
            yield from _columns(value)
        else:
            yield name, value


def json_of(document: Any) -> str:
    """Returns a document as JSON, with a line for each item of a list."""
    # Write each record on one line, so that a diff of two files compares records.
    items = document if isinstance(document, list) else [document]
    lines = [json.dumps(plain(item), ensure_ascii=False) for item in items]
    text = ",\n ".join(lines)
    return f"[\n {text}\n]\n" if items is document else f"{text}\n"


def plain(value: Any) -> Json:
    """Converts NumPy numbers to Python's, arrays and tuples to lists, NaN to None."""
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        value = value.tolist()
    if isinstance(value, _NamedFields):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return json_number(value)


def json_number(value: T) -> T | None:
    """Returns the value, but None for a float that is not finite: JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def count_text(number: int, noun: str, plural_ending: str = "s") -> str:
    """Returns a count with its noun, which is plural unless the count is 1.

    >>> count_text(1, "list"), count_text(2, "loss", "es")
    ('1 list', '2 losses')
    """
    return f"{number} {noun}{'' if number == 1 else plural_ending}"


def fixed_point(number: float, digits: int, sign: str = "") -> str:
    """Formats a number with this many digits after the point; a zero has no sign.

    Numbers from 10¹² on are written with an exponent.

    >>> fixed_point(-0.0004, 3), fixed_point(0.0004, 3, sign="+"), fixed_point(-0.5, 1)
    ('0.000', '0.000', '-0.5')
    >>> fixed_point(2.7e20, 3)
    '2.700e+20'
    """
    text = f"{number:{sign}.{digits}{'f' if abs(number) < 1e12 else 'e'}}"
    return text.lstrip("+-") if not text.strip("+-0.") else text


class Cell(NamedTuple):
    """A number as printed, with its interval and its marks."""

    number: str
    interval: tuple[str, str] | None = None
    is_best: bool = False
    marks: str = ""  # marks of significance, such as "†" or "ab"


class Sheet(NamedTuple):
    """The contents of a table.

    Attributes:
        name_headings: The headings of the columns with names, which come first.
        headings: For each column with numbers, the heading that it shares with its
            neighbours, or "", and its own heading.
        names: The names of each row.
        cells: The cells of each row; None if a run lacks the metric.
        note: The text below the table.
        legend: The meaning of the marks of significance, or "".
        records: The numbers with all digits, for CSV and JSON; all records have the
            same keys.
        document: The contents of JSON, if JSON does not hold the records; else None.
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
        """Returns a list of cells for each column."""
        return [
            [row[index] for row in self.cells] for index in range(len(self.headings))
        ]

    def on_one_line(self) -> "Sheet":
        """Returns the sheet with each heading, name and note on one line.

        Names come from callers, so they may contain line breaks.
        """

        def line(text: str) -> str:
            return " ".join(text.split())

        return self._replace(
            headings=[(line(group), line(name)) for group, name in self.headings],
            names=[[*map(line, row)] for row in self.names],
            note=line(self.note),
            legend=line(self.legend),
        )

    def with_names(self, names: Mapping[str, str]) -> "Sheet":
        """Returns the sheet with new names for metrics; records keep the old names.

        Raises:
            ValueError: if a key of `names` is not a metric of the table.
        """
        known = [name for _, name in self.headings]
        if "metric" in self.name_headings[-1:]:
            known = [row[-1] for row in self.names]
            rows = [[*row[:-1], names.get(row[-1], row[-1])] for row in self.names]
            sheet = self._replace(names=rows)
        else:
            headings = [(group, names.get(name, name)) for group, name in self.headings]
            sheet = self._replace(headings=headings)
        if unknown := sorted(names.keys() - {*known}):
            raise ValueError(
                f"names holds {unknown[0]!r}, which is not in the table; pass some of "
                f"{known}"
            )
        return sheet

    def with_signatures(self, texts: Mapping[str, str]) -> "Sheet":
        """Returns the sheet with the signatures of its metrics in the note and records.

        Raises:
            ValueError: if no metric of the table has a signature.
        """
        metrics = ((record, record.get("metric", "")) for record in self.records)
        rows = [record | {"signature": texts.get(metric)} for record, metric in metrics]
        parts = dict.fromkeys(row["signature"] for row in rows if row["signature"])
        if not parts:
            raise ValueError(
                "signatures has none of the metrics in the table; pass the signatures of "
                "these metrics"
            )
        return self._replace(note="; ".join([self.note, *parts]), records=rows)


def number_with_interval(
    number: float, low: float, high: float, digits: int, sign: str = ""
) -> Cell:
    """Returns a cell with a number and its interval, with this many digits."""
    # The bounds have no plus sign, even if the number has one.
    interval = fixed_point(low, digits), fixed_point(high, digits)
    return Cell(fixed_point(number, digits, sign), interval)


def names_without_repetition(sheet: Sheet) -> list[list[str]]:
    """Returns the names of each row, with "" for names that repeat the row above.

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
    """Returns the note and the legend; `best` describes how the best number is marked."""
    has_best = any(cell and cell.is_best for row in sheet.cells for cell in row)
    parts = [sheet.note, f"best is {best}" if has_best else "", sheet.legend]
    return "; ".join(filter(None, parts))


_ESCAPES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After the \\ of the row above, LaTeX would read these as arguments of \\.
    "[": "{[}",
    "*": "{*}",
    "†": r"\dag{}",
    "≤": r"$\leq$",
    "±": r"$\pm$",
    "–": "--",
}


class _Style(NamedTuple):
    """The marks, the padding and the escapes of a format."""

    best: tuple[str, str]  # before and after the best number
    marks: str  # a template for the marks of significance
    padding: str  # before a number that is shorter than its neighbours
    escape: Callable[[str], str]


def as_text(sheet: Sheet) -> str:
    """Returns a table of plain text, in which the best number has a `*`."""
    rows, are_right = _texts(sheet, _TEXT)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(row).rstrip() for row in _padded(rows, widths, are_right)]
    rule = "  ".join("-" * width for width in widths)
    note = note_of(sheet, "*")
    return "\n".join([lines[0], rule, *lines[1:], *(["", note] if note else [])])


def as_markdown(sheet: Sheet) -> str:
    """Returns a table of GitHub's Markdown, in which the best number is bold."""
    rows, are_right = _texts(sheet, _MARKDOWN)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"| {' | '.join(row)} |" for row in _padded(rows, widths, are_right)]
    rules = [
        # A colon at the end of a rule aligns the column to the right.
        "-" * (width + 1) + "-:"[is_right]
        for width, is_right in zip(widths, are_right, strict=True)
    ]
    note = _MARKDOWN.escape(note_of(sheet, "bold"))
    return "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:], "", note])


def as_html(sheet: Sheet) -> str:
    """Returns an HTML table, with the best number bold and the note as the caption."""
    # Skip the header of `_texts`, because this header has two rows if columns share
    # headings.
    (_, *rows), are_right = _texts(sheet, _HTML)
    groups = itertools.groupby(group for group, _ in sheet.headings)
    spans = [(group, len(list(members))) for group, members in groups]
    are_grouped = any(group for group, _ in spans)
    span = ' rowspan="2"' * are_grouped
    names = [f"<th{span}>{html.escape(name)}</th>" for name in sheet.name_headings]
    headings = [f"<th>{html.escape(heading)}</th>" for _, heading in sheet.headings]
    header = [names + headings]
    if are_grouped:
        above = [
            f'<th colspan="{count}">{html.escape(group)}</th>' for group, count in spans
        ]
        header = [names + above, headings]
    styles = [' style="text-align: right"' * is_right for is_right in are_right]
    body = [
        [f"<td{style}>{text}</td>" for style, text in zip(styles, row, strict=True)]
        for row in rows
    ]

    def lines(rows: list[list[str]]) -> list[str]:
        return [f"<tr>{''.join(row)}</tr>" for row in rows]

    return "\n".join(
        [
            "<table>",
            f"<caption>{html.escape(note_of(sheet, 'bold'))}</caption>",
            *("<thead>", *lines(header), "</thead>"),
            *("<tbody>", *lines(body), "</tbody>"),
            "</table>",
        ]
    )


def _texts(sheet: Sheet, style: _Style) -> tuple[list[list[str]], list[bool]]:
    """Returns the header and rows as texts, and True for right-aligned columns."""
    columns = sheet.columns()
    headings = [" ".join(filter(None, heading)) for heading in sheet.headings]
    header = [style.escape(heading) for heading in (*sheet.name_headings, *headings)]
    names = [[*map(style.escape, row)] for row in names_without_repetition(sheet)]
    texts = [_column(column, style) for column in columns]
    rows = [[*row, *(text[i] for text in texts)] for i, row in enumerate(names)]
    # Cells with intervals are already padded to the same width, so they need no
    # alignment.
    are_right = [not any(cell and cell.interval for cell in cells) for cells in columns]
    return [header, *rows], [False] * len(sheet.name_headings) + are_right


def _column(column: Sequence[Cell | None], style: _Style) -> list[str]:
    """Returns the cells of a column as texts, with numbers and intervals aligned."""
    cells = [cell for cell in column if cell]
    width = max((len(cell.number) for cell in cells), default=0)
    tails = [_tail(cell, style) for cell in cells]
    # Pad after marks only in plain text, because letters differ in width in other
    # formats.
    tail_width = max(map(len, tails), default=0) if style.padding == " " else 0

    def text(cell: Cell | None) -> str:
        if cell is None:
            return "–"
        before = (
            style.padding * (width - len(cell.number)) + style.best[0] * cell.is_best
        )
        number = f"{before}{cell.number}{_tail(cell, style).ljust(tail_width)}"
        return f"{number} [{', '.join(cell.interval)}]" if cell.interval else number

    return [text(cell) for cell in column]


def _tail(cell: Cell, style: _Style) -> str:
    """Returns the text after a number: the end tag of bold type or a `*`, and marks."""
    marks = style.marks.format(cell.marks) if cell.marks else ""
    return style.best[1] * cell.is_best + marks


def _padded(
    rows: Sequence[Sequence[str]], widths: Sequence[int], are_right: Sequence[bool]
) -> list[list[str]]:
    return [
        [
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(row, widths, are_right, strict=True)
        ]
        for row in rows
    ]


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", text)


_TEXT = _Style(("", "*"), "{}", " ", str)
_MARKDOWN = _Style(("**", "**"), "<sup>{}</sup>", "", _markdown)
# A figure space is as wide as a digit, so padded numbers stay aligned.
_HTML = _Style(("<b>", "</b>"), "<sup>{}</sup>", "\N{FIGURE SPACE}", html.escape)


class _LatexColumn:
    """A column of numbers, which takes several columns of a `tabular`.

    Digits before the point have one column, and digits after it another. The two
    columns meet at the point, so numbers stay aligned even if bold digits are wider or
    marks follow. The bounds of intervals all have the same number of digits after the
    point and are never bold, so they are just aligned to the right.

    Attributes:
        format: The letters of the columns, as `tabular` takes them.
        width: Number of columns.
    """

    def __init__(self, cells: Sequence[Cell | None]) -> None:
        self._is_split = any(
            cell and (cell.marks or "." in cell.number) for cell in cells
        )
        self._has_interval = any(cell and cell.interval for cell in cells)
        self._number_format = "r@{}l" if self._is_split else "r"
        # Each bound of an interval has its own column, aligned to the right.
        self.format = self._number_format + "@{~}r@{~}r" * self._has_interval
        self.width = 1 + self._is_split + 2 * self._has_interval

    def text(self, cell: Cell | None) -> str:
        """Returns the LaTeX of a cell, with `&` between its columns."""
        if cell is None:
            return self.heading("--")
        number = self._number(cell)
        if not cell.interval:
            return number
        low, high = map(_number, cell.interval)
        return f"{number} & [{low}, & {high}]"

    def heading(self, text: str) -> str:
        """Returns a text over the whole column, centred if numbers are split in two parts.

        Otherwise the text is aligned to the right, like the numbers.
        """
        alignment = "c" if self._is_split else "r"
        return rf"\multicolumn{{{self.width}}}{{{alignment}}}{{{text}}}"

    def _number(self, cell: Cell) -> str:
        bold = r"\textbf{%s}" if cell.is_best else "%s"
        if not self._is_split:
            return bold % _number(cell.number)
        integer, point, fraction = cell.number.partition(".")
        if not re.fullmatch(r"\d*", fraction):  # 2.7e+20 has no digits to align
            return rf"\multicolumn{{2}}{{r}}{{{_number(cell.number)}}}"
        digits = bold % f"{point}{fraction}" if point else ""
        marks = rf"\textsuperscript{{{_escape(cell.marks)}}}" if cell.marks else ""
        return f"{bold % _number(integer)}&{digits}{marks}"


def as_latex(sheet: Sheet, caption: str | None = None, label: str | None = None) -> str:
    """Returns a `tabular` with its note, in a `table` if there is a caption or label.

    Args:
        sheet: The contents.
        caption: LaTeX of the caption.
        label: The label by which a text refers to the table.
    """
    columns = [_LatexColumn(cells) for cells in sheet.columns()]
    names = [_escape(name) for name in sheet.name_headings]
    formats = "l" * len(names) + "".join(column.format for column in columns)
    headings = [
        column.heading(_escape(name))
        for column, (_, name) in zip(columns, sheet.headings, strict=True)
    ]
    labels_of_rows = names_without_repetition(sheet)
    has_groups = any(labels and not labels[0] for labels in labels_of_rows)
    rows: list[str] = []
    for labels, cells in zip(labels_of_rows, sheet.cells, strict=True):
        # Leave space before the rows that belong to the next name.
        if rows and has_groups and labels[0]:
            rows.append(r"\addlinespace")
        texts = map(_LatexColumn.text, columns, cells)
        rows.append(_row([*map(_escape, labels), *texts]))
    note = _escape(note_of(sheet, "bold"))
    body = [
        r"\sbox0{% the note is as wide as the table",
        rf"\begin{{tabular}}{{@{{}}{formats}@{{}}}} % needs \usepackage{{booktabs}}",
        r"\toprule",
        *_group_headings(sheet, columns),
        _row([*names, *headings]),
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}}%",
        r"\begin{minipage}{\wd0}",
        r"\usebox0\par\smallskip",
        r"\footnotesize\raggedright",
        note.replace("; ", ";\n"),
        r"\end{minipage}",
    ]
    if caption is None and label is None:
        return "\n".join(body)
    top = [r"\begin{table}", r"\centering"]
    top += [rf"\caption{{{caption}}}\smallskip"] if caption is not None else []
    top += [rf"\label{{{label}}}"] if label is not None else []
    return "\n".join([*top, *body, r"\end{table}"])


def _group_headings(sheet: Sheet, columns: Sequence[_LatexColumn]) -> Iterator[str]:
    """Yields a row of the headings that columns share, and then the rules below it."""
    if not any(group for group, _ in sheet.headings):
        return
    # LaTeX counts columns from 1. A column of numbers takes several LaTeX columns.
    first = len(sheet.name_headings) + 1
    cells, rules = [""] * len(sheet.name_headings), []
    pairs = zip(sheet.headings, columns, strict=True)
    for group, members in itertools.groupby(pairs, lambda pair: pair[0][0]):
        width = sum(column.width for _, column in members)
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_escape(group)}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    yield _row(cells)
    yield "".join(rules)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _number(text: str) -> str:
    """Returns a number in LaTeX, with a minus sign, and powers of ten instead of `e`."""
    text = text.replace("inf", r"$\infty$")
    text = re.sub(r"([\d.]+)e-0*(\d+)", r"$\1\\cdot 10^{-\2}$", text)
    # Write 1e-05 as 10⁻⁵, without the factor 1.
    text = text.replace(r"$1\cdot ", "$").replace("≤", r"$\leq$")
    # Replace all hyphens except the minus of an exponent, which follows a brace.
    return re.sub(r"(?<!{)-", "$-$", text)


def _escape(text: str) -> str:
    text = "".join(_ESCAPES.get(character, character) for character in text)
    # Keep ≤ and a dagger on one line with the text that belongs to them.
    return text.replace(r" $\leq$ ", r"~$\leq$~").replace(r"\dag{} ", r"\dag{}~")
