"""Rows for the tables of `tests/errors/` that differ in one argument."""

import functools


def rows_of(name, error, message, call, *arguments):
    """Makes a row for each argument that a call refuses with the same message."""
    return {
        f"{name}, case {i}": (error, message, functools.partial(call, argument))
        for i, argument in enumerate(arguments)
    }
