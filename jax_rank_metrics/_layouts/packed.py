"""Lists packed one after the other along one flat axis."""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._ordering import packed
from jax_rank_metrics._pytree import pytree

# Floats of a list are summed in parts of this many, and then the parts.
_PART = 32


@pytree("lists", "in_order")
class Packed:
    """The layout of flat arrays `[items]`; what holds one number per list is `[*lists]`.

    Ranked, the items of a list are neighbours; a pool may hold them in any order.

    Shapes:
        ids: `[items]` int32, the list of every item, counted along all axes of `lists`.
            Items whose id is beyond the last list belong to none.
        starts: `[number of lists + 1]` int32, the first place of every list once ids
            are in order, and that of what belongs to none.
        lists: The shape of one number per list, static.
        in_order: Whether ids are in order, static.
    """

    ids: jax.Array
    starts: jax.Array
    lists: tuple[int, ...]
    in_order: bool

    @classmethod
    def of(cls, ids: jax.Array, lists: tuple[int, ...]) -> "Packed":
        """The layout of a pool."""
        number = math.prod(lists)
        sizes = jax.ops.segment_sum(jnp.ones_like(ids), ids, number)
        first = jnp.zeros((1,), jnp.int32)
        starts = jnp.concatenate([first, jnp.cumsum(sizes, dtype=jnp.int32)])
        return cls(ids, starts, lists, False)

    def sorted(self, ids: jax.Array) -> "Packed":
        """The layout of the same ids in order."""
        return dataclasses.replace(self, ids=ids, in_order=True)

    @property
    def number(self) -> int:
        """How many lists there are."""
        return self.starts.shape[0] - 1

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Totals of the lists; bools are counted."""
        del trailing  # the items are the first axis
        if x.dtype == jnp.bool_:
            x = x.astype(jnp.int32)
        if not self.in_order or jnp.issubdtype(x.dtype, jnp.integer):
            return self._by_list(self._add(x, self.ids, self.number))
        # In two steps: one long sequence of additions would drift.
        sizes = self.starts[1:] - self.starts[:-1]
        parts = jnp.cumsum((sizes + _PART - 1) // _PART, dtype=jnp.int32)
        first = jnp.concatenate([jnp.zeros((1,), jnp.int32), parts])
        number = self.ids.shape[0] // _PART + self.number
        some = self.ids < self.number
        part = jnp.where(
            some,
            self.broadcast_to_items(first[:-1]) + self.offset_in_list(x) // _PART,
            number,
        )
        sums = self._add(x, part, number)
        ids = jnp.searchsorted(parts, jnp.arange(number, dtype=jnp.int32), side="right")
        return self._by_list(self._add(sums, ids.astype(jnp.int32), self.number))

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list."""
        least = _arithmetic.max_identity(x.dtype)
        start = jnp.full((self.number, *x.shape[1:]), least, x.dtype)
        most = start.at[self.ids].max(x, indices_are_sorted=self.in_order, mode="drop")
        return self._by_list(most)

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """The number of its list for every item."""
        # An item of no list reads some list's number; it does not exist, so none is right.
        return jnp.take(per_list.reshape(-1), self.ids, axis=0, mode="clip")

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, "Packed"]:
        """The items of every list in falling order, and how these lie."""
        del depth
        values = jnp.maximum(packed.largest_packed(x, exists, self.ids), 0)
        if self.in_order:
            return values, self
        ids = jnp.searchsorted(self.starts[1:], self._place(), side="right")
        return values, self.sorted(ids.astype(jnp.int32))

    def offset_in_list(self, x: jax.Array) -> jax.Array:
        """How many places of its list come before each."""
        return self._place() - self._start()

    def cumulative_count(self, x: jax.Array) -> jax.Array:
        """How many bools hold of each item and those before it in its list."""
        # Totals may wrap around; their differences are right all the same.
        running = jnp.cumsum(x, dtype=jnp.int32)
        before = running - x.astype(jnp.int32)
        return running - jnp.take(before, self._start(), mode="clip")

    def cumulative_sum(self, x: jax.Array) -> jax.Array:
        """The sum of floats of each item and those before it in its list."""

        def both(left: tuple[jax.Array, ...], right: tuple[jax.Array, ...]):
            (begun, before), (begins, here) = left, right
            return begun | begins, jnp.where(begins, here, before + here)

        return lax.associative_scan(both, (self.offset_in_list(x) == 0, x))[1]

    def continues_run(self, same: jax.Array) -> jax.Array:
        """Which items are the `same` as the one before them, and in the same list."""
        same = same & (self.ids[1:] == self.ids[:-1])
        return lax.pad(same, False, [(1, 0, 0)])

    def order(self, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The items of every list by falling integers, stable: the keys, and places."""
        places = packed.order_by(self.ids, [keys], self.starts)
        return _arithmetic.take(keys, places), places

    def _add(self, x: jax.Array, ids: jax.Array, number: int) -> jax.Array:
        return jax.ops.segment_sum(
            x, ids, number, indices_are_sorted=self.in_order, mode="drop"
        )

    def _by_list(self, x: jax.Array) -> jax.Array:
        return x.reshape((*self.lists, *x.shape[1:]))

    def _place(self) -> jax.Array:
        return lax.iota(jnp.int32, self.ids.shape[0])

    def _start(self) -> jax.Array:
        return jnp.take(self.starts, self.ids, mode="clip")
