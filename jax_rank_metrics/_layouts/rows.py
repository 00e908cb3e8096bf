"""Lists as rows."""

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._ordering import ideal
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._pytree import pytree


@pytree()
class Rows:
    """The layout of arrays `[*lists, items]`."""

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Totals of the lists; bools are counted."""
        if trailing:
            x = jnp.moveaxis(x, -1 - trailing, -1)
        if x.dtype == jnp.bool_:
            return _arithmetic.count(x)
        if jnp.issubdtype(x.dtype, jnp.floating):
            return _arithmetic.total(x)
        return jnp.sum(x, axis=-1, dtype=x.dtype)

    def max(self, x: jax.Array) -> jax.Array:
        """The largest item of every list."""
        return jnp.max(x, axis=-1, initial=_arithmetic.max_identity(x.dtype))

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """A number per list, of a shape that broadcasts with its items."""
        return per_list[..., None]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, "Rows"]:
        """The largest items of every list in falling order, and how these lie."""
        depth = x.shape[-1] if depth is None else min(depth, x.shape[-1])
        return ideal.largest(x, exists, depth), self

    def offset_in_list(self, x: jax.Array) -> jax.Array:
        """How many places come before each."""
        return _arithmetic.iota(x)

    def cumulative_count(self, x: jax.Array) -> jax.Array:
        """How many bools hold of each item and those before it."""
        return _arithmetic.cumulative_count(x)

    def cumulative_sum(self, x: jax.Array) -> jax.Array:
        """The sum of floats of each item and those before it."""
        return _arithmetic.cumulative_sum(x)

    def continues_run(self, same: jax.Array) -> jax.Array:
        """Which items are the `same` as the one before them."""
        return _arithmetic.pad_items(same, before=1)

    def order(self, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The items of every list by falling integers, stable: the keys, and places."""
        ranked, places = sort_by([keys])
        return ranked, places
