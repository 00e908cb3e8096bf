"""Text, Markdown and HTML of a sheet."""

import html
import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from jax_rank_metrics._results.sheets.sheet import (
    Cell,
    Sheet,
    names_without_repetition,
    note_of,
)


class _Style(NamedTuple):
    """The marks of a format."""

    best: tuple[str, str]  # before and after the best number
    marks: str  # a template for the marks of significance
    padding: str  # before a number that is shorter than its neighbours
    escape: Callable[[str], str]


def as_text(sheet: Sheet) -> str:
    """Returns a table of plain text, in which the best has a `*`."""
    rows, are_right = _texts(sheet, _TEXT)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(row).rstrip() for row in _padded(rows, widths, are_right)]
    rule = "  ".join("-" * width for width in widths)
    note = note_of(sheet, "*")
    return "\n".join([lines[0], rule, *lines[1:], *(["", note] if note else [])])


def as_markdown(sheet: Sheet) -> str:
    """Returns a table of GitHub's Markdown, in which the best is bold."""
    rows, are_right = _texts(sheet, _MARKDOWN)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"| {' | '.join(row)} |" for row in _padded(rows, widths, are_right)]
    rules = [
        # A colon at the end of a rule makes the column flush right.
        "-" * (width + 1) + "-:"[is_right]
        for width, is_right in zip(widths, are_right, strict=True)
    ]
    note = _MARKDOWN.escape(note_of(sheet, "bold"))
    return "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:], "", note])


def as_html(sheet: Sheet) -> str:
    """Returns a table of HTML, in which the best is bold and the note is the caption."""
    # The header is made below, of two rows where columns share headings.
    (_, *rows), are_right = _texts(sheet, _HTML)
    groups = itertools.groupby(group for group, _ in sheet.headings)
    spans = [(group, len(list(members))) for group, members in groups]
    are_grouped = any(group for group, _ in spans)
    span = ' rowspan="2"' * are_grouped
    names = [f"<th{span}>{html.escape(x)}</th>" for x in sheet.name_headings]
    headings = [f"<th>{html.escape(x)}</th>" for _, x in sheet.headings]
    header = [names + headings]
    if are_grouped:
        above = [f'<th colspan="{n}">{html.escape(group)}</th>' for group, n in spans]
        header = [names + above, headings]
    styles = [' style="text-align: right"' * is_right for is_right in are_right]
    body = [
        [f"<td{style}>{x}</td>" for style, x in zip(styles, row, strict=True)]
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
    """Returns the header and the rows as texts, and which columns are flush right."""
    columns = sheet.columns()
    headings = [" ".join(filter(None, heading)) for heading in sheet.headings]
    header = [style.escape(x) for x in (*sheet.name_headings, *headings)]
    names = [[*map(style.escape, row)] for row in names_without_repetition(sheet)]
    texts = [_column(column, style) for column in columns]
    rows = [[*row, *(text[i] for text in texts)] for i, row in enumerate(names)]
    # Cells with intervals are padded to one width, and need no alignment.
    are_right = [all(not cell or not cell.interval for cell in x) for x in columns]
    return [header, *rows], [False] * len(sheet.name_headings) + are_right


def _column(column: Sequence[Cell | None], style: _Style) -> list[str]:
    """The cells of a column as texts; numbers and intervals stand below each other."""
    cells = [cell for cell in column if cell]
    width = max((len(cell.number) for cell in cells), default=0)
    tails = [_tail(cell, style) for cell in cells]
    # Only plain text has columns of letters; elsewhere marks may be of any width.
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
    """Returns what follows a number."""
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
# A figure space is as wide as a digit.
_HTML = _Style(("<b>", "</b>"), "<sup>{}</sup>", "\N{FIGURE SPACE}", html.escape)
