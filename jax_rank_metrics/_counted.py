"""Pools too large to hold: alike items are held once, with how many there are."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._rows import Rows
from jax_rank_metrics._sums import Pair
from jax_rank_metrics._types import pytree


@pytree("ranks")
class Counted:
    """The layout of a pool in which the last item of a list stands for many.

    Methods as for `Rows`, those that a pool needs.

    Shapes:
        counts: `[*lists, items]` int32, how many items each stands for; 0 or 1 for all
            but the last.
        ranks: How many items can have a rank, static; None where only those of a count
            of 0 or 1 have one.
    """

    counts: jax.Array
    ranks: int | None

    def sum(self, x: jax.Array) -> jax.Array:
        """Totals of the lists; bools are counted."""
        if not jnp.issubdtype(x.dtype, jnp.floating):
            dtype = jnp.int32 if x.dtype == jnp.bool_ else x.dtype
            return Rows().sum(x.astype(dtype) * self.counts.astype(dtype))
        return Pair.product(x, self.counts.astype(x.dtype)).sum((x.ndim - 1,)).round()

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list; 0 for non-negative items that are not there."""
        return Rows().max(jnp.where(self.counts > 0, x, 0))

    def spread(self, per_list: jax.Array) -> jax.Array:
        """A number per list, of a shape that broadcasts with its items."""
        return per_list[..., None]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, Rows]:
        """The largest items of every list in descending order, and how these lie."""
        depth = self.ranks if depth is None else depth
        if depth is None:
            return Rows().largest(x[..., :-1], exists[..., :-1], None)
        shape = (*x.shape[:-1], depth)
        place = lax.broadcasted_iota(jnp.int32, shape, x.ndim - 1)
        x = jnp.concatenate([x[..., :-1], jnp.broadcast_to(x[..., -1:], shape)], -1)
        some = place < self.counts[..., -1:]
        exists = jnp.concatenate([exists[..., :-1], some & exists[..., -1:]], -1)
        return Rows().largest(x, exists, depth)
