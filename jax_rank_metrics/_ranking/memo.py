"""What several metrics ask of one ranking is worked out once."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import jax.core
import jax.extend.core

T = TypeVar("T")

# Which trace is under way: what was made in the branch of a `cond` is of no use outside.
_NAME = "get_opaque_trace_state"
_trace_state: Callable[[], Any] = (
    getattr(jax.extend.core, _NAME)
    if hasattr(jax.extend.core, _NAME)
    else getattr(jax.core, _NAME)  # where it was before JAX 0.10
)


class Memo:
    """Results by what was asked, for as long as metrics are traced together.

    Compilers merge what is written twice, but not before it was traced twice.
    """

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self._known: dict[Hashable, tuple[Any, Any]] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """`make()`, or what it gave when the same was asked."""
        now = _trace_state()
        known = self._known.get(key)
        if known is not None and known[0] == now:
            return known[1]
        made = make()
        self._known[key] = now, made
        return made

    def better(
        self, key: Hashable, serves: Callable[[T], bool], make: Callable[[], T]
    ) -> T:
        """The same for results of which a former one may or may not serve."""
        known = self._known.get(key)
        if known is not None and not serves(known[1]):
            del self._known[key]
        return self.once(key, make)
