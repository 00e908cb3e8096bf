"""Short messages, and warnings that point at the line that called the package."""

import contextlib
import sys
import warnings
from collections.abc import Iterator

PACKAGE = "jax_rank_metrics."
MAX_LETTERS, MAX_LINES = 590, 5


def short(message: str) -> str:
    """Shortens a message to few lines and letters, by leaving out its middle.

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
    """Warns, pointing at the line that called the package, from any depth inside it."""
    level, frame = 1, sys._getframe()
    within = PACKAGE, "functools.", "contextlib."  # decorators of the package
    while frame and f"{frame.f_globals.get('__name__')}.".startswith(within):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


@contextlib.contextmanager
def short_errors() -> Iterator[None]:
    """Shortens the message of a `TypeError` or `ValueError` that the block raises.

    As a decorator, it shortens the errors of a function.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        message = str(error)
        if type(error) not in (TypeError, ValueError) or short(message) == message:
            raise
        raise type(error)(short(message)) from None
