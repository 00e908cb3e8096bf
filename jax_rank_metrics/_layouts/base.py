"""What a layout can do. Knows nothing of metrics."""

from typing import Protocol, runtime_checkable

import jax


@runtime_checkable
class PoolLayout(Protocol):
    """How the items of a pool lie."""

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Totals of the lists, `[*lists, …]`; bools are counted.

        `trailing` axes of `x` come after the items.
        """
        ...

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list.

        Where there is none: 0 for floats, which are not negative, and for integers the
        least of their dtype.
        """
        ...

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """A number per list, of a shape that broadcasts with its items."""
        ...

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, "RankedLayout"]:
        """The largest of non-negative floats in falling order, and how these lie."""
        ...


@runtime_checkable
class RankedLayout(PoolLayout, Protocol):
    """How items in rank order lie: those of a list are neighbours."""

    def offset_in_list(self, x: jax.Array) -> jax.Array:
        """How many places of its list come before each, int32; broadcasts with `x`."""
        ...

    def cumulative_count(self, x: jax.Array) -> jax.Array:
        """How many bools hold of each item and those before it in its list, int32."""
        ...

    def cumulative_sum(self, x: jax.Array) -> jax.Array:
        """The sum of floats of each item and those before it in its list."""
        ...

    def continues_run(self, same: jax.Array) -> jax.Array:
        """Which items are the `same` as the one before them, and in the same list.

        `same` begins with the second place; the result with the first.
        """
        ...

    def order(self, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The items of every list by falling integers, stable: the keys, and places."""
        ...
