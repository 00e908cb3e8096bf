"""Numbers as text that people and other programs read: CSV, JSON and fixed point."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any


def csv_of(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns the header and the rows as CSV, one line each, quoted where necessary."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def json_number(value: Any) -> Any:
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

    >>> fixed_point(-0.0004, 3), fixed_point(0.0004, 3, sign="+"), fixed_point(-0.5, 1)
    ('0.000', '0.000', '-0.5')
    """
    text = f"{number:{sign}.{digits}f}"
    return text.lstrip("+-") if not text.strip("+-0.") else text
