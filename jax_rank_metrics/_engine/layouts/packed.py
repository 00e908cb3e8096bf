"""Lists packed one after the other along one flat axis."""

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.ordering import packed_order
from jax_rank_metrics._ground import arithmetic, pytrees

# Floats of a list are summed in chunks of this many items; then the chunk sums are summed.
_CHUNK = 32


@pytrees.pytree("lists", "in_order")
class Packed(base.RankedLayout):
    """The layout of flat arrays `[items]`; one number per list is `[*lists]`.

    The items of a list are neighbours if they are ranked; a pool may hold items in any
    order. Three lists of 2, 0 and 3 items in order have the ids 0 0 2 2 2 and the starts
    0 2 2 5.

    Shapes:
        ids: `[items]` int32, the list of every item, counted along all axes of `lists`.
            An item whose id is beyond the last list belongs to no list.
        starts: `[number of lists + 1]` int32, the first slot of every list once ids are
            in order, and the first slot of the items that belong to no list.
        lists: The shape of one number per list, static.
        in_order: True if ids are in order, static.
    """

    ids: jax.Array
    starts: jax.Array
    lists: tuple[int, ...]
    in_order: bool

    @classmethod
    def of(cls, ids: jax.Array, lists: tuple[int, ...]) -> "Packed":
        """Returns the layout of a pool whose items may stand in any order."""
        number = math.prod(lists)
        sizes = jax.ops.segment_sum(jnp.ones_like(ids), ids, number)
        zero = jnp.zeros((1,), jnp.int32)
        starts = jnp.concatenate([zero, jnp.cumsum(sizes, dtype=jnp.int32)])
        return cls(ids, starts, lists, False)

    def sorted(self, ids: jax.Array) -> "Packed":
        """Returns the layout of the same items once their ids are in order."""
        return dataclasses.replace(self, ids=ids, in_order=True)

    @property
    def is_rectangular(self) -> bool:
        """False: one axis holds the items of all lists."""
        return False

    @property
    def number(self) -> int:
        """The number of lists."""
        return self.starts.shape[0] - 1

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Returns the total of each list, `[*lists, …]`; bools are counted."""
        del trailing  # the items are the first axis
        if x.dtype == jnp.bool_:
            x = x.astype(jnp.int32)
        if not self.in_order or jnp.issubdtype(x.dtype, jnp.integer):
            return self._by_list(self._add(x, self.ids, self.number))
        # First sum the chunks of each list, then the chunk sums: one long sequence of
        # additions would add up rounding errors. Rounding up costs each list at most one
        # chunk, so the number of chunks has a static bound.
        sizes = self.starts[1:] - self.starts[:-1]
        chunk_ends = jnp.cumsum((sizes + _CHUNK - 1) // _CHUNK, dtype=jnp.int32)
        chunk_starts = jnp.concatenate([jnp.zeros((1,), jnp.int32), chunk_ends])
        chunks = self.ids.shape[0] // _CHUNK + self.number
        chunk = self.broadcast_to_items(chunk_starts[:-1])
        chunk = chunk + self.offset_in_list(x) // _CHUNK
        chunk = jnp.where(self.ids < self.number, chunk, chunks)
        chunk_sums = self._add(x, chunk, chunks)
        chunk_numbers = jnp.arange(chunks, dtype=jnp.int32)
        ids = jnp.searchsorted(chunk_ends, chunk_numbers, side="right")
        return self._by_list(self._add(chunk_sums, ids.astype(jnp.int32), self.number))

    def max(self, x: jax.Array) -> jax.Array:
        """Returns the largest entry of each list."""
        identity = arithmetic.max_identity(x.dtype)
        start = jnp.full((self.number, *x.shape[1:]), identity, x.dtype)
        largest = start.at[self.ids].max(
            x, indices_are_sorted=self.in_order, mode="drop"
        )
        return self._by_list(largest)

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """Gathers `[*lists]` to `[items]`."""
        # An item of no list gets the entry of the last list. As it does not exist,
        # nothing reads that entry.
        return jnp.take(per_list.reshape(-1), self.ids, axis=0, mode="clip")

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, "Packed"]:
        """Sorts all values of every list, largest first: `depth` would save nothing."""
        del depth
        values = packed_order.largest_packed(x, exists, self.ids)
        if self.in_order:
            return values, self
        ids = jnp.searchsorted(self.starts[1:], self._slots(), side="right")
        return values, self.sorted(ids.astype(jnp.int32))

    def first(self, x: jax.Array) -> jax.Array:
        """Gathers from the start of each list."""
        is_empty = self.starts[1:] == self.starts[:-1]
        # Add a slot, since there may be none, and an empty list may begin at the end.
        values = jnp.take(arithmetic.pad_items(x, after=1), self.starts[:-1])
        return self._by_list(jnp.where(is_empty, jnp.zeros_like(values), values))

    def offset_in_list(self, x: jax.Array) -> jax.Array:
        """Returns the number of slots before each slot in its list, `[items]` int32."""
        return self._slots() - self._start()

    def cumulative_count(self, x: jax.Array) -> jax.Array:
        """Counts from the list's start up to and including each item, `[items]` int32."""
        # Totals may wrap around, but their differences are still right.
        through = jnp.cumsum(x, dtype=jnp.int32)
        before = through - x.astype(jnp.int32)
        return through - jnp.take(before, self._start(), mode="clip")

    def cumulative_sum(self, x: jax.Array) -> jax.Array:
        """Sums floats from the list's start up to and including each item."""
        return arithmetic.along_runs(self.continues_list(x), [x], [jnp.add])[1][0]

    def continues_list(self, x: jax.Array) -> jax.Array:
        """True for each slot that is in the same list as the slot before it, `[items]`."""
        return self.ids == arithmetic.shifted(self.ids, 1, edge=-1)

    def at_ranks(
        self, x: jax.Array, ranks: jax.Array, items: base.RankedLayout
    ) -> jax.Array:
        """Gathers from the list of each item; both layouts give a list the same id."""
        assert isinstance(items, Packed)
        bounds = self.starts[:-1], self.starts[1:]
        start, end = (jnp.take(bound, items.ids, mode="clip") for bound in bounds)
        values = jnp.take(x, jnp.clip(start + ranks, start + 1, end) - 1, mode="clip")
        return jnp.where(end > start, values, jnp.zeros_like(values))

    def order(self, keys: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
        """Sorts by integers within each list; returns the first key and the slots."""
        slots = packed_order.order_by(self.ids, keys, self.starts)
        return arithmetic.take(keys[0], slots), slots

    def _add(self, x: jax.Array, ids: jax.Array, number: int) -> jax.Array:
        return jax.ops.segment_sum(
            x, ids, number, indices_are_sorted=self.in_order, mode="drop"
        )

    def _by_list(self, x: jax.Array) -> jax.Array:
        return x.reshape((*self.lists, *x.shape[1:]))

    def _slots(self) -> jax.Array:
        return lax.iota(jnp.int32, self.ids.shape[0])

    def _start(self) -> jax.Array:
        """The first slot of each item's list, `[items]`."""
        return jnp.take(self.starts, self.ids, mode="clip")
