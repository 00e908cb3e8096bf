"""The protocols of layouts: the operations of a pool, and of ranked items."""

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

import jax
from jax.typing import DTypeLike

from jax_rank_metrics._ground import types

T = TypeVar("T")


@runtime_checkable
class PoolLayout(Protocol):
    """The layout of a pool's items in arrays, and reductions over each list.

    Layouts inherit its methods that have a body, which are right for most layouts.
    """

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Returns the total of each list, `[*lists, …]`; bools are counted.

        The last `trailing` axes of `x` come after the items and are kept.
        """
        ...

    def amount(self, x: jax.Array, dtype: DTypeLike, trailing: int = 0) -> jax.Array:
        """Returns the total of each list as `sum` does, in floats of `dtype`."""
        return self.sum(x, trailing).astype(dtype)

    def max(self, x: jax.Array) -> jax.Array:
        """Returns the largest entry of each list, `[*lists]`.

        An empty list gives 0 for floats, which must not be negative, and the least value
        of the dtype for integers. Callers put the same value into slots without an item.
        """
        ...

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """Gives every item the entry of its list, in a shape that broadcasts with items.

        Rows reshape `[*lists]` to `[*lists, 1]`; packed lists gather `[items]`.
        """
        ...

    def cut_of_items(self, k: types.Cut) -> types.Cut:
        """Broadcasts an array of one cutoff per list to items; returns others unchanged."""
        return self.broadcast_to_items(k) if isinstance(k, jax.Array) else k

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, "RankedLayout"]:
        """Sorts non-negative floats within each list, largest first.

        Args:
            x: One float per item.
            exists: Bool, true for slots that hold an item.
            depth: The number of values wanted per list; None for all. A layout may
                return more.

        Returns:
            The sorted values, 0 where no item exists, and their layout.
        """
        ...

    def parts(self, items: T) -> list[tuple[T, "PoolLayout"]]:
        """Splits the items into parts with layouts; list totals are sums over the parts.

        Takes a pytree of arrays `[*lists, items, …]`.
        """
        return [(items, self)]

    @property
    def has_whole_lists(self) -> bool:
        """True if this device holds every item of each list."""
        return True

    @property
    def omits_unlisted(self) -> bool:
        """True if unlisted items (label 0) have ranks, but these ranks are not known."""
        return False

    @property
    def averaged_columns(self) -> tuple[str, ...]:
        """The columns in which a slot for many items holds the mean of these items."""
        return ()

    @property
    def on_device(self) -> "PoolLayout":
        """The layout of the items that this device holds."""
        return self

    def over_devices(self, totals: T) -> T:
        """Sums totals that each device computed from its own items with `on_device`.

        Takes a pytree of arrays `[*lists, …]`, and returns it unchanged if no list is
        sharded over devices.
        """
        return totals


@runtime_checkable
class RankedLayout(PoolLayout, Protocol):
    """The layout of items in rank order, in which the items of a list are neighbours."""

    def first(self, x: jax.Array) -> jax.Array:
        """Returns the first integer of each list, `[*lists]`; 0 or less in empty lists."""
        ...

    def offset_in_list(self, x: jax.Array) -> jax.Array:
        """Returns the number of slots before each slot in its list, int32.

        That is 0, 1, … from the start of every list, in a shape that broadcasts with
        `x`. Slots without an item are counted as well.
        """
        ...

    def cumulative_count(self, x: jax.Array) -> jax.Array:
        """Counts bools, or adds up small integers, up to and including each item, int32.

        Every list starts anew: T F T gives 1 1 2.
        """
        ...

    def cumulative_sum(self, x: jax.Array) -> jax.Array:
        """Sums floats from the list's start up to and including each item."""
        ...

    def continues_list(self, x: jax.Array) -> jax.Array:
        """True for each slot that is in the same list as the slot before it.

        Returns bools in a shape that broadcasts with `x`; false at the start of a list.
        """
        ...

    def at_ranks(
        self, x: jax.Array, ranks: jax.Array, items: "RankedLayout"
    ) -> jax.Array:
        """Reads numbers by rank, for the items of another layout of the same lists.

        A list with the numbers 5 7 gives 5 7 7 to items of the ranks 1, 2 and 4: beyond the
        end of a list, its last number is read, or 0 if the list is empty.

        Args:
            x: One number per slot of this layout.
            ranks: int32, the rank of each item of the other layout.
            items: The other layout.
        """
        ...

    def order(self, keys: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
        """Sorts by integers within each list, largest first and stably.

        Args:
            keys: `[*lists, items]` each, the most significant first.

        Returns:
            The first key in sorted order, and the slot that each item came from, along
            the last axis: the key 1 3 1 gives 3 1 1 and the slots 1 0 2.
        """
        ...

    @property
    def is_rectangular(self) -> bool:
        """True if the last axis holds the items of one list."""
        return True

    def first_ranks(self, x: jax.Array, depth: int | None) -> jax.Array:
        """Truncates `x` to the first `depth` slots of each list, if lists are rows."""
        return x[..., :depth] if self.is_rectangular else x
