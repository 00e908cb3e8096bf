"""Parameters of tests; most of these tests are long."""

import pytest


def long(*values):
    """Returns each value as the parameter of a long test."""
    return [pytest.param(x, marks=pytest.mark.long) for x in values]


def long_rows(*rows):
    """Returns each tuple as the parameters of a long test."""
    return [pytest.param(*row, marks=pytest.mark.long) for row in rows]


def long_but(short, values):
    """Returns the values as parameters of long tests, except for a few short ones."""
    return [value if value in short else long(value)[0] for value in values]


def long_rows_but(short, rows):
    """Returns the tuples as parameters of long tests, except for a few short ones."""
    return [row if row in short else long_rows(row)[0] for row in rows]
