"""Results that several metrics of one call need of the same ranking."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import jax
import jax.core
import jax.extend.core

T = TypeVar("T")

# Identifies the current trace: an array made inside the branch of a `cond` must not be
# used outside of it.
_NAME = "get_opaque_trace_state"
_trace_state: Callable[[], object] = (
    getattr(jax.extend.core, _NAME)
    if hasattr(jax.extend.core, _NAME)
    else getattr(jax.core, _NAME)  # its home before JAX 0.10
)


class Memo:
    """Results by key, for as long as metrics are traced together.

    Compilers merge equal computations, but only after each of them has been traced.

    Attributes:
        refused: By reason, the lists `[*lists]` that a metric cannot read.
    """

    def __init__(self) -> None:
        """Makes an empty memo."""
        self.refused: dict[str, jax.Array] = {}
        self._results: dict[Hashable, tuple[object, Any]] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Returns `make()`, or the earlier result of the same key in this trace."""
        try:
            result = self._results.get(key)
        except TypeError:  # a cutoff may be an array, which has no hash
            return make()
        trace = _trace_state()
        if result is not None and result[0] == trace:
            return result[1]
        value = make()
        self._results[key] = trace, value
        return value

    def best(
        self, key: Hashable, serves: Callable[[T], bool], make: Callable[[], T]
    ) -> T:
        """Returns the earlier result if `serves` accepts it; else `make()` replaces it."""
        result = self._results.get(key)
        if result is not None and not serves(result[1]):
            del self._results[key]
        return self.once(key, make)
