"""Functions with options, equal by value.

Metrics of one call share work if they pass equal functions to a ranking. So two functions
that are made with the same options must be equal.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from jax_rank_metrics._ground import types

T = TypeVar("T")


def do_the_same(old: Any, new: Any) -> bool:
    """True if functions are equal, or made anew from the same code and the same values."""
    try:
        if old is new or bool(old == new):
            return True
        if old.__globals__ is not new.__globals__:
            return False
        cells = zip(old.__closure__ or (), new.__closure__ or (), strict=False)
        pairs = [(cell.cell_contents, renewed.cell_contents) for cell, renewed in cells]
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            pairs.append((getattr(old, name), getattr(new, name)))
        return all(held is renewed or bool(held == renewed) for held, renewed in pairs)
    except (AttributeError, TypeError, ValueError):
        return False  # no code; values that cannot be compared, or names without one


class EqualPartial(functools.partial[T]):
    """A function with its options; equal to another if function and options are equal.

    An option named `position_fn` is a function of ranks, which a `place_fn` sums over the
    ranks of a place up to the cutoff k. Such sums are computed together with the places,
    because each would otherwise take a loop of its own.
    """

    @property
    def position_fn(self) -> types.PositionFn | None:
        """The function of ranks that is summed over places; None without this option."""
        return self.keywords.get("position_fn")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EqualPartial):
            return NotImplemented
        return self.func == other.func and self.keywords == other.keywords

    def __hash__(self) -> int:
        return hash((self.func, frozenset(self.keywords.items())))


def by_options(function: Callable[..., T]) -> Callable[..., EqualPartial[T]]:
    """Turns a function of arguments and keyword-only options into a function of options.

    The new function returns the old function with these options set, and caches its last
    results.

    >>> @by_options
    ... def multiple(x, *, factor):
    ...     return factor * x
    >>> multiple(3)(5), multiple(3) == multiple(3)
    (15, True)
    """
    # `signature` sees through the wrappers of run-time type checkers.
    parameters = inspect.signature(function).parameters.values()
    names = [option.name for option in parameters if option.kind is option.KEYWORD_ONLY]

    @functools.lru_cache(maxsize=256)
    def with_options(*options: object) -> EqualPartial[T]:
        return EqualPartial(function, **dict(zip(names, options, strict=False)))

    return functools.wraps(function)(with_options)
