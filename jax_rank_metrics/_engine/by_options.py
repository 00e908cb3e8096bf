"""Functions with options, equal by value.

Metrics of one call share what they compute by the functions that they pass to a ranking, so
that two functions made with the same options must be equal.
"""

import functools
import inspect
from collections.abc import Callable
from typing import TypeVar

from jax_rank_metrics._ground import types

T = TypeVar("T")


class EqualPartial(functools.partial[T]):
    """A function with its options, equal to another one of the same function and options.

    An option named `position_fn` is a function of ranks that a `place_fn` sums over the
    ranks of a place, up to the cutoff that it is given: such sums are found together with
    the place, where each of them would otherwise take a loop.
    """

    @property
    def position_fn(self) -> types.PositionFn | None:
        """The function of ranks that is summed over places; None where there is none."""
        return self.keywords.get("position_fn")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EqualPartial):
            return NotImplemented
        return self.func == other.func and self.keywords == other.keywords

    def __hash__(self) -> int:
        return hash((self.func, frozenset(self.keywords.items())))


def by_options(function: Callable[..., T]) -> Callable[..., EqualPartial[T]]:
    """Makes a function of arguments and keyword-only options one of its options alone.

    That returns the function of the arguments that is left. The last ones are kept, as
    long as which results are kept that depend on them.

    >>> @by_options
    ... def multiple(x, *, factor):
    ...     return factor * x
    >>> multiple(3)(5), multiple(3) == multiple(3)
    (15, True)
    """
    # Run-time type checkers wrap functions, and `signature` sees through wrappers.
    parameters = inspect.signature(function).parameters.values()
    names = [option.name for option in parameters if option.kind is option.KEYWORD_ONLY]

    @functools.lru_cache(maxsize=256)
    def with_options(*options: object) -> EqualPartial[T]:
        return EqualPartial(function, **dict(zip(names, options, strict=False)))

    return functools.wraps(function)(with_options)
