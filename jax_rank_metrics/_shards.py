"""Lists whose items are cut over devices, each holding a part of every list."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _devices, _ordering
from jax_rank_metrics._rows import Rows
from jax_rank_metrics._sums import Pair, pair_total
from jax_rank_metrics._types import pytree


@pytree("axis_name")
class Shards:
    """The layout of a pool of which a device sees its part; only a few sums travel.

    Methods as for `Rows`, those that a pool needs.
    """

    axis_name: Any

    def sum(self, x: jax.Array) -> jax.Array:
        """Totals of the lists; bools are counted."""
        if not jnp.issubdtype(x.dtype, jnp.floating):
            return lax.psum(Rows().sum(x), self.axis_name)
        parts: Pair = jax.tree.map(
            lambda x: _devices.join(x[..., None], self.axis_name), pair_total(x)
        )
        return parts.sum((x.ndim - 1,)).round()

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list; 0 for non-negative items that are not there."""
        return lax.pmax(Rows().max(x), self.axis_name)

    def spread(self, per_list: jax.Array) -> jax.Array:
        """A number per list, of a shape that broadcasts with its items."""
        return per_list[..., None]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, Rows]:
        """The largest items of every list in descending order, and how these lie."""
        items = x.shape[-1] * lax.axis_size(self.axis_name)
        depth = items if depth is None else min(depth, items)
        return _ordering.largest(x, exists, depth, self.axis_name), Rows()
