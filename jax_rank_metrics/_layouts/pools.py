"""Pools that are not at hand: cut over devices, or counted instead of held."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._ordering import ideal
from jax_rank_metrics._pytree import pytree


@pytree("axis_name")
class Sharded:
    """The layout of a pool of which a device sees its part; only totals travel."""

    axis_name: Any

    @property
    def here(self) -> Rows:
        """The layout of the part that this device sees."""
        return Rows()

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Totals of the lists; bools are counted."""
        return lax.psum(Rows().sum(x, trailing), self.axis_name)

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list."""
        return lax.pmax(Rows().max(x), self.axis_name)

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """A number per list, of a shape that broadcasts with its items."""
        return per_list[..., None]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, Rows]:
        """The largest items of every list in falling order, and how these lie."""
        items = x.shape[-1] * lax.axis_size(self.axis_name)
        depth = items if depth is None else min(depth, items)
        return ideal.largest(x, exists, depth, self.axis_name), Rows()


@pytree("ranks")
class Weighted:
    """The layout of a pool in which the last item of a list stands for many.

    Shapes:
        counts: `[*lists, items]` int32, how many items each stands for; 0 or 1 for all
            but the last.
        ranks: How many items can have a rank, static; None where only those of a count
            of 0 or 1 have one.
    """

    counts: jax.Array
    ranks: int | None

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Totals of the lists; bools are counted."""
        dtype = jnp.int32 if x.dtype == jnp.bool_ else x.dtype
        times = _arithmetic.widen(self.counts, x).astype(dtype)
        return Rows().sum(x.astype(dtype) * times, trailing)

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list."""
        return Rows().max(jnp.where(self.counts > 0, x, 0))

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """A number per list, of a shape that broadcasts with its items."""
        return per_list[..., None]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, Rows]:
        """The largest items of every list in falling order, and how these lie."""
        if self.ranks is None:
            return Rows().largest(x[..., :-1], exists[..., :-1], None)
        depth = self.ranks if depth is None else min(depth, self.ranks)
        shape = (*x.shape[:-1], depth)
        place = lax.broadcasted_iota(jnp.int32, shape, x.ndim - 1)
        x = jnp.concatenate([x[..., :-1], jnp.broadcast_to(x[..., -1:], shape)], -1)
        some = place < self.counts[..., -1:]
        exists = jnp.concatenate([exists[..., :-1], some & exists[..., -1:]], -1)
        return Rows().largest(x, exists, depth)
