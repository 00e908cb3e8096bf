"""Lists packed one after the other along one flat axis."""

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _ordering
from jax_rank_metrics._sums import Digits, exponent
from jax_rank_metrics._types import Cut, Discount, Number, pytree


@pytree("lists")
class Segments:
    """The layout of flat arrays in which the items of a list are neighbours.

    Methods as for `Rows`; what holds one number per list is `[*lists]`.

    Shapes:
        ids: `[items]` int32, rising; the list of every item, counted along all axes of
            `lists`. Items whose id is beyond the last list belong to none.
        starts: `[number of lists + 1]` int32, the first place of every list, and that
            of what belongs to none.
        lists: The shape of one number per list, static.
    """

    ids: jax.Array
    starts: jax.Array
    lists: tuple[int, ...]

    @classmethod
    def of(cls, ids: jax.Array, lists: tuple[int, ...]) -> "Segments":
        """The layout that ids will have once they are sorted."""
        number = math.prod(lists)
        sizes = jax.ops.segment_sum(jnp.ones_like(ids), ids, number)
        first = jnp.zeros((1,), jnp.int32)
        return cls(
            ids, jnp.concatenate([first, jnp.cumsum(sizes, dtype=jnp.int32)]), lists
        )

    def sorted(self, ids: jax.Array) -> "Segments":
        """The layout of the same ids in order."""
        return dataclasses.replace(self, ids=ids)

    @property
    def number(self) -> int:
        """How many lists there are."""
        return self.starts.shape[0] - 1

    def ranks(self, like: jax.Array) -> jax.Array:
        """Ranks in the dtype of `like`."""
        return self._rank().astype(like.dtype)

    def multipliers(self, discount_fn: Discount, like: jax.Array) -> jax.Array:
        """A discount at every rank, in the dtype of `like`."""
        return jnp.asarray(discount_fn(self.ranks(like)), like.dtype)

    def sum(self, x: jax.Array) -> jax.Array:
        """Totals of the lists; bools are counted. Exact, so that no order matters."""
        return self._by_list(self._sum(x))

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list; 0 for non-negative items that are not there."""
        return self._by_list(self._max(x))

    def spread(self, per_list: jax.Array) -> jax.Array:
        """The number of its list for every item."""
        return self._take(per_list.reshape(-1))

    def running_sum(self, x: jax.Array) -> jax.Array:
        """Sums of each item and those before it in its list, for integers."""
        # Totals may wrap around; their differences are right all the same.
        running = jnp.cumsum(x, dtype=x.dtype)
        return running - (running - x)[self._start()]

    def joined(self, same: jax.Array) -> jax.Array:
        """Where neighbours that are the `same` are also in the same list."""
        return same & (self.ids[1:] == self.ids[:-1])

    def running_product(self, x: jax.Array) -> jax.Array:
        """Products of each item and those before it in its list."""

        def multiply(left: tuple[jax.Array, ...], right: tuple[jax.Array, ...]):
            (begun, before), (begins, here) = left, right
            return begun | begins, jnp.where(begins, here, before * here)

        return lax.associative_scan(multiply, (self._first(), x))[1]

    def group_sum(self, x: jax.Array, start: jax.Array, end: jax.Array) -> jax.Array:
        """The total of integers in the group that begins at `start`."""
        return jnp.zeros_like(x).at[start].add(x)[start]

    def group_max(
        self, x: jax.Array, start: jax.Array, end: jax.Array, bound: int
    ) -> jax.Array:
        """The largest of integers ≥ 0 in the group that begins at `start`."""
        return jnp.zeros_like(x).at[start].max(x)[start]

    def previous(self, x: jax.Array, first: Number) -> jax.Array:
        """What stood one place earlier; `first` at the first place of a list."""
        beginning = jnp.asarray(first, x.dtype)
        return jnp.where(self._first(), beginning, jnp.roll(x, 1))

    def sum_to(self, x: jax.Array, ks: Sequence[Cut]) -> jax.Array:
        """Totals over the ranks 1..k, `[*lists, len(ks)]`; None is every rank."""
        return self._by_list(self._sum(self._to(x, ks, 0)))

    def least_to(self, x: jax.Array, ks: Sequence[Cut]) -> jax.Array:
        """The value at rank k, or at the last rank, of what never rises; 1 if no rank."""
        x = self._to(x, ks, 1)
        ones = jnp.ones((self.number, len(ks)), x.dtype)
        return self._by_list(ones.at[self.ids].min(x, mode="drop"))

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, "Segments"]:
        """The items of every list in descending order, and how these lie."""
        return _ordering.largest_of_segments(x, exists, self.ids), self

    def _by_list(self, x: jax.Array) -> jax.Array:
        return x.reshape((*self.lists, *x.shape[1:]))

    def _take(self, x: jax.Array) -> jax.Array:
        # An item of no list reads some list's number; it does not exist, so none is right.
        return jnp.take(x, self.ids, axis=0, mode="clip")

    def _place(self) -> jax.Array:
        return lax.iota(jnp.int32, self.ids.shape[0])

    def _start(self) -> jax.Array:
        return self._take(self.starts)

    def _rank(self) -> jax.Array:
        return self._place() - self._start() + 1

    def _first(self) -> jax.Array:
        return self._place() == self._start()

    def _to(self, x: jax.Array, ks: Sequence[Cut], beyond: Number) -> jax.Array:
        ranks, cut = self._rank(), []
        for k in ks:
            if isinstance(k, jax.Array):
                k = self.spread(k).astype(jnp.int32)
            cut.append(x if k is None else jnp.where(ranks <= k, x, beyond))
        return jnp.stack(cut, axis=-1)

    def _sum(self, x: jax.Array) -> jax.Array:
        def add(x: jax.Array) -> jax.Array:
            return jax.ops.segment_sum(
                x, self.ids, self.number, indices_are_sorted=True
            )

        if x.dtype == jnp.bool_:
            return add(x.astype(jnp.int32))
        if jnp.issubdtype(x.dtype, jnp.integer):
            return add(x)
        # Digits of their own for every total, so that what is left out changes nothing.
        scale = exponent(self._max(jnp.abs(x)))
        digits = Digits.for_items(x.shape[0], x.dtype)
        sums = [add(digit) for digit in digits.split(x, self._take(scale))]
        return digits.join(sums, jnp.ones(scale.shape, x.dtype), scale)

    def _max(self, x: jax.Array) -> jax.Array:
        start = jnp.zeros((self.number, *x.shape[1:]), x.dtype)
        return start.at[self.ids].max(x, indices_are_sorted=True, mode="drop")
