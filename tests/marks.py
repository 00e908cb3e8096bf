"""Parameters of tests, most of which are long."""

import pytest


def long(*values):
    """Returns each value as the parameter of a long test."""
    return [pytest.param(x, marks=pytest.mark.long) for x in values]


def long_but(short, values):
    """Returns the values as parameters, of which all but a few are those of long tests."""
    return [
        pytest.param(x, marks=() if x in short else pytest.mark.long) for x in values
    ]
