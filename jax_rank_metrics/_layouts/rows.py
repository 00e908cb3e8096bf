"""Lists as rows."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._ordering import ideal
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._pytree import pytree


@pytree()
class Rows(RankedLayout):
    """The layout of arrays `[*lists, items]`."""

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Returns the total of each list; bools are counted."""
        if trailing:
            x = jnp.moveaxis(x, -1 - trailing, -1)
        if x.dtype == jnp.bool_:
            return _arithmetic.count(x)
        if jnp.issubdtype(x.dtype, jnp.floating):
            return _arithmetic.total(x)
        return _arithmetic.total_of_integers(x)

    def max(self, x: jax.Array) -> jax.Array:
        """Returns the largest entry of each list."""
        return jnp.max(x, axis=-1, initial=_arithmetic.max_identity(x.dtype))

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """Reshapes `[*lists]` to `[*lists, 1]`."""
        return per_list[..., None]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, "Rows"]:
        """Returns the `depth` largest values of each list, largest first."""
        depth = x.shape[-1] if depth is None else min(depth, x.shape[-1])
        return ideal.largest(x, exists, depth), self

    def first(self, x: jax.Array) -> jax.Array:
        """Returns the integer in the first slot of each row."""
        return _arithmetic.total_of_integers(x[..., :1])

    def offset_in_list(self, x: jax.Array) -> jax.Array:
        """Numbers the slots 0, 1, …, `[1, …, items]`."""
        return _arithmetic.iota(x)

    def cumulative_count(self, x: jax.Array) -> jax.Array:
        """Counts from the list's start up to and including each item, int32."""
        return _arithmetic.cumulative_count(x)

    def cumulative_sum(self, x: jax.Array) -> jax.Array:
        """Sums floats from the list's start up to and including each item."""
        return _arithmetic.cumulative_sum(x)

    def continues_list(self, x: jax.Array) -> jax.Array:
        """Returns F T T …: all slots of a row but the first."""
        return _arithmetic.iota(x) > 0

    def at_ranks(
        self, x: jax.Array, ranks: jax.Array, items: RankedLayout
    ) -> jax.Array:
        """Gathers the slots rank − 1, or the last one for ranks beyond it."""
        del items
        if not x.shape[-1]:
            return jnp.zeros(ranks.shape, x.dtype)
        return _arithmetic.take(x, jnp.clip(ranks - 1, 0, x.shape[-1] - 1))

    def order(self, keys: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
        """Sorts by integers within each list; returns the first key and the slots."""
        first, slots = sort_by(keys)
        return first, slots
