"""How the items of lists lie in arrays, and how to reduce over a list.

What a ranking needs, and of metrics no more than their discounts: formulas and tie
groups reduce through these methods alone, so that they hold for every layout.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _devices, _ordering
from jax_rank_metrics._sums import total
from jax_rank_metrics._types import Cut, Discount, Number, pytree

# A whole number of the vectors of any processor, and enough of them for a loop.
_WHOLE = 64


def _multipliers(discount_fn: Discount, ranks: int, dtype: jnp.dtype) -> jax.Array:
    """The discounts of ranks 1, 2, …, `[ranks]`.

    Compilers work out a logarithm in one way where a loop goes by vectors, and in
    another where it is short, unrolled or at its end. So: whole vectors, and then a slice
    from a place that they do not know, or they would work out that slice alone.
    """
    whole = max(-(-ranks // _WHOLE), 1) * _WHOLE
    multipliers = jnp.asarray(discount_fn(lax.iota(dtype, whole) + 1), dtype)
    multipliers = lax.optimization_barrier(jnp.broadcast_to(multipliers, (whole,)))
    first = lax.optimization_barrier(jnp.zeros((), jnp.int32))
    return lax.dynamic_slice(multipliers, (first,), (ranks,))


@pytree()
class Rows:
    """Lists as rows. Places are ranks, unless `given` says which rank is where.

    Shapes:
        given: `[*lists, items]` int32 ranks that rise along the row; None for 1, 2, …
        chosen: `[rows]` int32, which of the lists these are, counted along all axes of
            lists; None where they are all.
    """

    given: jax.Array | None = None
    chosen: jax.Array | None = None

    def ranks(self, like: jax.Array) -> jax.Array:
        """Ranks in the dtype of `like`, of a shape that broadcasts with it."""
        if self.given is not None:
            return self.given.astype(like.dtype)
        shape = (1,) * (like.ndim - 1) + like.shape[-1:]
        return lax.broadcasted_iota(like.dtype, shape, like.ndim - 1) + 1

    def multipliers(self, discount_fn: Discount, like: jax.Array) -> jax.Array:
        """A discount at every rank, in the shape and dtype of `ranks`.

        At a rank it has the same bits however many ranks there are, and wherever they
        are in lists that hold as many items as the rank or more, and are not cut over
        devices with ranks of their own.
        """
        items = like.shape[-1]
        first = _multipliers(discount_fn, items, like.dtype)
        if self.given is None:
            return first.reshape((1,) * (like.ndim - 1) + (items,))
        ranks = self.ranks(like)
        beyond = jnp.asarray(discount_fn(ranks), like.dtype)
        if not _devices.has_whole(like):
            return beyond  # no place of a table by places that are cut over devices
        place = jnp.clip(self.given - 1, 0, max(items - 1, 0))
        return jnp.where(ranks <= items, first[place], beyond)

    def sum(self, x: jax.Array) -> jax.Array:
        """Totals of the lists; bools are counted."""
        if jnp.issubdtype(x.dtype, jnp.floating):
            return total(x)
        if x.dtype == jnp.bool_:
            return _ordering.count(x)
        return jnp.sum(x, axis=-1, dtype=x.dtype)

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list; 0 for non-negative items that are not there."""
        return jnp.max(x, axis=-1, initial=0)

    def spread(self, per_list: jax.Array) -> jax.Array:
        """A number for each of all lists, of a shape that broadcasts with these' items."""
        if self.chosen is not None:
            per_list = per_list.reshape(-1)[self.chosen]
        return per_list[..., None]

    def running_sum(self, x: jax.Array) -> jax.Array:
        """Sums of each item and those before it."""
        return jnp.cumsum(x, axis=-1, dtype=x.dtype)

    def joined(self, same: jax.Array) -> jax.Array:
        """Where neighbours that are the `same` are also in the same list."""
        return same

    def running_product(self, x: jax.Array) -> jax.Array:
        """Products of each item and those before it."""
        return lax.associative_scan(jnp.multiply, x, axis=-1)

    def group_sum(self, x: jax.Array, start: jax.Array, end: jax.Array) -> jax.Array:
        """The total of integers in the group that reaches from `start` to `end`.

        Args:
            x: Integers.
            start: The first place of the group of every place.
            end: The place after its last.
        """

        def scanned(x: jax.Array) -> jax.Array:
            # Integers, so that a difference of running totals is exact.
            running = self.running_sum(x)
            before = _ordering.take(running - x, start)
            return _ordering.take(running, end - 1) - before

        return _in_groups("add", x, start, scanned)

    def group_max(
        self, x: jax.Array, start: jax.Array, end: jax.Array, bound: int
    ) -> jax.Array:
        """The largest of integers in the group, as `group_sum`.

        Args:
            x: Not less than 0, and less than `bound`.
            start: The first place of the group of every place.
            end: The place after its last.
            bound: Static.
        """

        def scanned(x: jax.Array) -> jax.Array:
            # Raising each group above those before makes a running maximum start anew.
            floor = start.astype(x.dtype) * bound
            running = lax.cummax(x + floor, axis=x.ndim - 1)
            return _ordering.take(running, end - 1) - floor

        return _in_groups("max", x, start, scanned)

    def previous(self, x: jax.Array, first: Number) -> jax.Array:
        """What stood one place earlier; `first` at the first place."""
        padding = [*[(0, 0, 0)] * (x.ndim - 1), (1, -1, 0)]
        return lax.pad(x, jnp.asarray(first, x.dtype), padding)

    def sum_to(self, x: jax.Array, ks: Sequence[Cut]) -> jax.Array:
        """Totals over the ranks 1..k, `[*lists, len(ks)]`; None is every rank.

        The total to k is the same bit for bit whatever lies beyond k.
        """
        cuts = [k for k in ks if isinstance(k, int)]
        # One reduction for all cuts, over no more places than the deepest needs.
        first = x if self.given is not None else x[..., : max(cuts, default=0)]
        reached = self.ranks(first)[..., None, :] <= self._column(cuts, first)
        several = total(jnp.where(reached, first[..., None, :], 0)) if cuts else None
        sums = []
        for k in ks:
            if isinstance(k, int):
                assert several is not None
                sums.append(several[..., cuts.index(k)])
            else:
                sums.append(total(x if k is None else self._to(x, k, 0)))
        return jnp.stack(sums, axis=-1)

    def least_to(self, x: jax.Array, ks: Sequence[Cut]) -> jax.Array:
        """The value at rank k, or at the last rank, of what never rises; 1 if no rank."""
        least = [jnp.min(self._to(x, k, 1), axis=-1, initial=1) for k in ks]
        return jnp.stack(least, axis=-1)

    def largest(self, x: jax.Array, exists: jax.Array, depth: int | None):
        """The largest items of every list in descending order, and how these lie."""
        depth = x.shape[-1] if depth is None else min(depth, x.shape[-1])
        return _ordering.largest(x, exists, depth), Rows()

    def _column(self, cuts: list[int], like: jax.Array) -> jax.Array:
        return jnp.asarray(cuts, like.dtype).reshape((1,) * (like.ndim - 1) + (-1, 1))

    def _to(self, x: jax.Array, k: Cut, beyond: Number) -> jax.Array:
        if k is None:
            return x
        if self.given is None and isinstance(k, int):
            return x[..., :k]
        k = k if isinstance(k, int) else self.spread(k).astype(x.dtype)
        return jnp.where(self.ranks(x) <= k, x, beyond)


def _in_groups(
    how: str,
    x: jax.Array,
    start: jax.Array,
    otherwise: Callable[[jax.Array], jax.Array],
) -> jax.Array:
    """`otherwise(x)`, totals of integers ≥ 0 in groups; on CPU without its scans.

    There all is added up where a group begins, in one pass.
    """

    def scattered(x: jax.Array) -> jax.Array:
        def of_list(x: jax.Array, start: jax.Array) -> jax.Array:
            add = getattr(jnp.zeros_like(x).at[start], how)
            return add(x, indices_are_sorted=True, mode="promise_in_bounds")

        for _ in range(x.ndim - 1):
            of_list = jax.vmap(of_list)
        return _ordering.take(of_list(x, start), start)

    if not _devices.has_whole(x):
        return otherwise(x)
    return lax.platform_dependent(x, cpu=scattered, default=otherwise)
