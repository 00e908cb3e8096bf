"""How the items of a list lie in an array: here, each list is a row of the last axis.

The reductions a ranking needs, and nothing about metrics. A layout of another shape is
another class with these methods.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _ordering
from jax_rank_metrics._sums import total
from jax_rank_metrics._types import Number, pytree


@pytree()
class Rows:
    """Lists as rows. Places are ranks, unless `given` says which rank is where.

    Shapes:
        given: `[*lists, items]` int32 ranks that rise along the row; None for 1, 2, …
    """

    given: jax.Array | None = None

    def ranks(self, like: jax.Array) -> jax.Array:
        """Ranks in the dtype of `like`, of a shape that broadcasts with it."""
        if self.given is not None:
            return self.given.astype(like.dtype)
        shape = (1,) * (like.ndim - 1) + like.shape[-1:]
        return lax.broadcasted_iota(like.dtype, shape, like.ndim - 1) + 1

    def sum(self, x: jax.Array) -> jax.Array:
        """Totals of the lists; bools are counted."""
        if jnp.issubdtype(x.dtype, jnp.floating):
            return total(x)
        return jnp.sum(x, axis=-1, dtype=jnp.int32)

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list; 0 for non-negative items that are not there."""
        return jnp.max(x, axis=-1, initial=0)

    def spread(self, per_list: jax.Array) -> jax.Array:
        """A number per list, of a shape that broadcasts with its items."""
        return per_list[..., None]

    def running_sum(self, x: jax.Array) -> jax.Array:
        """Sums of each item and those before it."""
        return jnp.cumsum(x, axis=-1, dtype=x.dtype)

    def running_product(self, x: jax.Array) -> jax.Array:
        """Products of each item and those before it."""
        return lax.associative_scan(jnp.multiply, x, axis=-1)

    def previous(self, x: jax.Array, first: Number) -> jax.Array:
        """What stood one place earlier; `first` at the first place."""
        padding = [*[(0, 0, 0)] * (x.ndim - 1), (1, -1, 0)]
        return lax.pad(x, jnp.asarray(first, x.dtype), padding)

    def sum_to(self, x: jax.Array, ks: Sequence[int | None]) -> jax.Array:
        """Totals over the ranks 1..k, `[*lists, len(ks)]`; None is every rank.

        The total to k is the same bit for bit whatever lies beyond k.
        """
        cuts = [k for k in ks if k is not None]
        sums: dict[int | None, jax.Array] = {None: total(x)} if None in ks else {}
        if cuts:
            # One reduction for all cuts, over no more places than the deepest needs.
            x = x if self.given is not None else x[..., : max(cuts)]
            reached = self.ranks(x)[..., None, :] <= self._column(cuts, x)
            several = total(jnp.where(reached, x[..., None, :], 0))
            sums |= {k: several[..., place] for place, k in enumerate(cuts)}
        return jnp.stack([sums[k] for k in ks], axis=-1)

    def least_to(self, x: jax.Array, ks: Sequence[int | None]) -> jax.Array:
        """The value at rank k, or at the last rank, of what never rises; 1 if no rank."""
        least = [jnp.min(self._to(x, k, 1), axis=-1, initial=1) for k in ks]
        return jnp.stack(least, axis=-1)

    def largest(self, x: jax.Array, exists: jax.Array, depth: int | None):
        """The largest items of every list in descending order, and how these lie."""
        depth = x.shape[-1] if depth is None else min(depth, x.shape[-1])
        return _ordering.largest(x, exists, depth), Rows()

    def _column(self, cuts: list[int], like: jax.Array) -> jax.Array:
        return jnp.asarray(cuts, like.dtype).reshape((1,) * (like.ndim - 1) + (-1, 1))

    def _to(self, x: jax.Array, k: int | None, beyond: Number) -> jax.Array:
        if k is None:
            return x
        if self.given is None:
            return x[..., :k]
        return jnp.where(self.given <= k, x, beyond)
