"""Keeps messages short, and spells arguments in them as the caller does."""

import contextlib
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextvars import ContextVar

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
    while frame and f"{frame.f_globals.get('__name__')}.".startswith(PACKAGE):
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


_OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("options")


@contextlib.contextmanager
def arguments_as(**options: str) -> Iterator[None]:
    """Spells arguments as options, such as `format="--run-format"`, within the block.

    The empty text is an argument that has no option.
    """
    token = _OPTIONS.set(options)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def argument(name: str, value: str | None = None) -> str:
    """Returns an argument as the caller passes it; "" stands for any value.

    >>> argument("missing", "zero"), argument("columns", ""), argument("columns")
    ("missing='zero'", 'columns=', 'columns')
    >>> with arguments_as(missing="--missing", columns="--run-columns"):
    ...     argument("missing", "zero"), argument("columns", ""), argument("columns")
    ('--missing zero', '--run-columns', '--run-columns')
    """
    option = _OPTIONS.get({}).get(name)
    if option is not None:
        return f"{option} {value}" if value else option
    return name if value is None else f"{name}={value and repr(value)}"
