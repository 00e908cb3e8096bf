"""The fields of a mutant."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A change of the package, and a test that must notice it."""

    name: str
    file: str  # in the package
    old: str  # is exactly once in the file
    new: str
    test: str
