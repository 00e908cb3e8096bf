"""A cache of the results that several metrics of a call read from the same ranking."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import jax
import jax.core
import jax.extend.core

T = TypeVar("T")

# Identifies the current trace, because an array that was made inside a branch of `cond`
# must not be used outside this branch.
_NAME = "get_opaque_trace_state"
_trace_state: Callable[[], object] = (
    getattr(jax.extend.core, _NAME)
    if hasattr(jax.extend.core, _NAME)
    else getattr(jax.core, _NAME)  # its home before JAX 0.10
)


SORTED_LABELS = ("sorted", None)  # the key of the labels of the pool, largest first
UNIT_WEIGHTS = "unit weights"  # the key of the weights of lists that are 0 or 1


class Cache:
    """A dict of results, kept while the metrics of a call are traced together.

    Compilers merge equal computations too, but only after each of them has been traced.

    Attributes:
        refused: A dict from each reason to the lists that a metric cannot read, `[*lists]`
            bool.
        overflowing: `[*lists]` bool, the lists that count and have a gain that is not
            finite; None if no metric reads gains.
    """

    def __init__(self) -> None:
        """Makes an empty cache."""
        self.refused: dict[str, jax.Array] = {}
        self.overflowing: jax.Array | None = None
        self._results: dict[Hashable, tuple[object, Any]] = {}

    def get_or_compute(
        self,
        key: object,
        compute: Callable[[], T],
        serves: Callable[[T], bool] | None = None,
    ) -> T:
        """Returns the earlier result of a key in this trace, or `compute()`.

        Keys are hashable, or tuples that hold arrays, such as the cutoffs of lists. An
        earlier result that `serves` does not accept is replaced.
        """
        result = self.get(key)
        if result is None or not (serves is None or serves(result)):
            result = compute()
            self._results[_hashable(key)] = _trace_state(), result
        return result

    def get(self, key: object) -> Any | None:
        """Returns the earlier result of a key in this trace; None if there is none."""
        trace, result = self._results.get(_hashable(key), (None, None))
        return result if trace == _trace_state() else None

    def functions(self) -> set[Callable[..., Any]]:
        """Returns the functions that are in keys, such as functions of items."""

        def functions_in(key: object) -> set[Callable[..., Any]]:
            if type(key) is tuple:
                return set[Callable[..., Any]]().union(*map(functions_in, key))
            return {key} if callable(key) else set()

        return functions_in(tuple(self._results))


class _Identity:
    """A part of a key that has no hash, such as an array: equal only to itself."""

    def __init__(self, part: object) -> None:
        self._part = part  # kept alive, so that no other object gets its id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._part is other._part

    def __hash__(self) -> int:
        return id(self._part)


def _hashable(key: object) -> Hashable:
    """Returns a key with a hash: parts without one compare by identity, also in tuples."""
    if type(key) is tuple:
        return tuple(map(_hashable, key))
    try:
        hash(key)
    except TypeError:
        return _Identity(key)
    return key  # type: ignore[return-value]
