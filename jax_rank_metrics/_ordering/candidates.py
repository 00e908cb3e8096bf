"""Items on their way to a rank."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._items import ItemArrays, RawItems, SharedItems
from jax_rank_metrics._ordering import keys as _keys
from jax_rank_metrics._ordering.policy import Policy


class ItemOrder(NamedTuple):
    """The order in which items compare: by scores of a dtype, then under a tie policy."""

    policy: Policy
    dtype: jnp.dtype  # of the scores


class Candidates(NamedTuple):
    """Items ready to be compared, each array `[*lists, items]`.

    The first k items of every part of a list include the first k of the list. So parts
    can be ranked separately, and then their candidates together.
    """

    keys: jax.Array  # integers that compare as the scores rank
    ids: jax.Array  # int32, the index of each item in its list, or its id
    items: ItemArrays
    seeds: jax.Array | None = None  # [*lists, 2] uint32, for random ties

    def read(self) -> "Candidates":
        """Returns itself; see `RawCandidates`."""
        return self

    def at(self, indices: jax.Array) -> "Candidates":
        """Gathers items by their indices along the axis of items, in any order.

        Args:
            indices: `[*lists, chosen]`, each in bounds.
        """
        return self.map(lambda x: _arithmetic.take_items(x, indices))

    def ranked(self, keys: jax.Array, indices: jax.Array) -> "Candidates":
        """Gathers items whose keys are known; see `at`."""
        ids = _arithmetic.take(self.ids, indices)
        items = self.items.at(indices).only(_keys.exists(keys))
        return Candidates(keys, ids, items, self.seeds)

    def map(self, fn: Callable[[jax.Array], jax.Array]) -> "Candidates":
        """Applies `fn` to every array with an axis of items; seeds have none."""
        mapped = jax.tree.map(fn, self._replace(seeds=None))
        return mapped._replace(seeds=self.seeds)

    def sort_keys(self, order: ItemOrder) -> list[jax.Array]:
        """Returns the sort keys: most significant first, larger first, then index."""
        keys = [self.keys]
        if _keys.shares_least_key(order.dtype):
            keys.append(self.items.exists.astype(jnp.int32))
        return [*keys, *self.tie_breaks(order.policy)]

    def tie_breaks(self, policy: Policy) -> tuple[jax.Array, ...]:
        """Returns the sort keys that order items of equal scores."""
        return policy.tie_breaks(self.ids, self.items, self.seeds)


class RawCandidates(NamedTuple):
    """Scored items as they were passed, read where they are used; see `RawItems`."""

    scores: jax.Array  # [*lists, items]
    items: RawItems | ItemArrays | SharedItems
    first_id: jax.Array | int = 0  # the id of the first item
    seeds: jax.Array | None = None
    ids: jax.Array | None = None  # [*lists, items]; None: they count from `first_id`

    def read(self) -> Candidates:
        """Returns the items ready to be compared; those without a rank do not exist."""
        items = self.items.retrieved_items()
        keys = _keys.score_key(lax.stop_gradient(self.scores), items.exists)
        ids = self.ids
        if ids is None:
            ids = _arithmetic.iota(keys) + self.first_id
            ids = jnp.broadcast_to(ids, keys.shape).astype(jnp.int32)
        return Candidates(keys, ids, items, self.seeds)

    def at(self, indices: jax.Array) -> "RawCandidates":
        """Gathers items by their indices in the arrays; they keep their ids.

        The ids of these items must still count from `first_id`.
        """
        ids = indices + jnp.asarray(self.first_id, jnp.int32)
        scores = _arithmetic.take(self.scores, indices)
        return RawCandidates(
            scores, self.items.at(indices), self.first_id, self.seeds, ids
        )

    def ranked(self, keys: jax.Array, indices: jax.Array) -> Candidates:
        """Gathers items whose keys are known, and tell which of them exist.

        Args:
            keys: `[*lists, chosen]`, from `read`.
            indices: `[*lists, chosen]`, along the axis of items.
        """
        items = self.items.existing_at(indices, _keys.exists(keys))
        ids = indices + jnp.asarray(self.first_id, jnp.int32)
        return Candidates(keys, ids, items, self.seeds)
