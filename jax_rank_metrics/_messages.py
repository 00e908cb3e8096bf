"""Keeps messages short, whatever names, lines and libraries put into them."""

import contextlib
from collections.abc import Iterator

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
