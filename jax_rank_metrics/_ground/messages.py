"""Keeps messages short, and warns of the line that called the package."""

import contextlib
import sys
import warnings
from collections.abc import Iterator

PACKAGE = "jax_rank_metrics."
MAX_LETTERS, MAX_LINES = 590, 5


def short(message: str) -> str:
    """Returns a message of few lines and letters, with its middle left out if it is long.

    >>> len(short("x" * 10_000)), short("short")
    (590, 'short')
    """
    lines = message.splitlines()
    if len(lines) > MAX_LINES:
        message = "\n".join([*lines[: MAX_LINES - 2], "…", lines[-1]])
    if len(message) > MAX_LETTERS:
        start = 2 * MAX_LETTERS // 3
        message = f"{message[:start]} … {message[start + 3 - MAX_LETTERS :]}"
    return message


def warn(text: str) -> None:
    """Warns of the line that called the package, however deep within it this is called."""
    level, frame = 1, sys._getframe()
    within = PACKAGE, "functools.", "contextlib."  # whose decorators call the package
    while frame and f"{frame.f_globals.get('__name__')}.".startswith(within):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


@contextlib.contextmanager
def short_errors() -> Iterator[None]:
    """Shortens the message of an error that the block, or the function, raises."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message = str(error)
        if type(error) not in (TypeError, ValueError) or short(message) == message:
            raise
        raise type(error)(short(message)) from None
