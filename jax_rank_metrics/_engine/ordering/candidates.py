"""Items ready to be ranked."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.items import ItemArrays, RawItems
from jax_rank_metrics._engine.ordering import keys as _keys
from jax_rank_metrics._engine.ordering import policies
from jax_rank_metrics._ground import arithmetic, pytrees


@pytrees.pytree("dtype")
class Candidates:
    """Items ready to be compared, each array `[*lists, items]`.

    The first k items of a list are among the first k items of its parts. So parts can be
    ranked separately, and then the first k items of all parts together.
    """

    keys: jax.Array  # integers in the order of the scores, larger first
    ids: jax.Array  # int32, the index of each item in its list, or its id
    items: ItemArrays
    dtype: str  # of the scores

    def at(self, indices: jax.Array) -> "Candidates":
        """Gathers items by their indices along the axis of items, in any order.

        Args:
            indices: `[*lists, chosen]`, each in bounds.
        """
        return jax.tree.map(lambda array: arithmetic.take_items(array, indices), self)

    def sort_keys(self, policy: policies.Policy) -> list[jax.Array]:
        """Returns the sort keys, most significant first; larger keys rank first.

        Items that are equal in all keys rank in index order.
        """
        keys = [self.keys]
        if _keys.shares_least_key(self.dtype):
            keys.append(self.items.exists.astype(jnp.int32))
        return [*keys, *self.tie_breaks(policy)]

    def tie_breaks(self, policy: policies.Policy) -> tuple[jax.Array, ...]:
        """Returns integers that order items of equal keys, larger first.

        The most significant comes first, `[*lists, items]` each. If index order decides,
        there are none.
        """
        if policy.keeps_index_order:
            return ()
        if policy.reads_labels:
            values = (self.items.labels, self.items.weights)
            keys = [_keys.float_key(value) for value in values if value is not None]
            # The complement reverses the order of all integers, even of the least one.
            return tuple(~key if policy.is_worst else key for key in keys)
        bits = self.ids.astype(jnp.uint32)
        if policy.seeds is not None:
            bits = arithmetic.mix(bits ^ policy.seeds[..., :1]) + policy.seeds[..., 1:]
        hashes = arithmetic.mix(bits) >> (32 - policies.HASH_BITS)
        return (hashes.astype(jnp.int32),)


class RawCandidates(NamedTuple):
    """Scored items as passed, which are read when they are used; see `RawItems`."""

    scores: jax.Array  # [*lists, items]
    items: RawItems | ItemArrays  # arrays that lists share are broadcast
    first_id: jax.Array | int = 0  # the id of the first item

    def read(self) -> Candidates:
        """Returns the items ready to be compared; items without a rank do not exist."""
        items = self.items.retrieved_items().broadcast_to(self.scores.shape)
        keys = _keys.score_key(lax.stop_gradient(self.scores), items.exists)
        ids = arithmetic.iota(keys) + self.first_id
        ids = jnp.broadcast_to(ids, keys.shape).astype(jnp.int32)
        return Candidates(keys, ids, items, self.scores.dtype.name)

    def ranked(self, keys: jax.Array, indices: jax.Array) -> Candidates:
        """Gathers items with known keys; the keys also tell if an item exists.

        Args:
            keys: `[*lists, chosen]`, from `read`.
            indices: `[*lists, chosen]`, along the axis of items.
        """
        assert isinstance(self.items, RawItems)
        # Keys tell if items exist, so do not gather the arrays that tell the same.
        items = dataclasses.replace(self.items, mask=None, retrieved=None)
        items = items.at(indices).read(_keys.exists(keys))
        ids = indices + jnp.asarray(self.first_id, jnp.int32)
        return Candidates(keys, ids, items, self.scores.dtype.name)
