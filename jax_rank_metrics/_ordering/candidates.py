"""Items on their way to a rank."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._items import ItemArrays, RawItems
from jax_rank_metrics._ordering import keys as _keys


class Policy(NamedTuple):
    """How items are compared: by scores of a dtype, then by what breaks their ties."""

    ties: str | None
    dtype: jnp.dtype

    @property
    def by_index(self) -> bool:
        """Whether index order is the last word on ties."""
        return self.ties in _keys.INDEX_ORDER

    @property
    def hashes(self) -> bool:
        """Whether a hash of the index breaks ties."""
        return self.ties in (None, "random")


class Candidates(NamedTuple):
    """Items ready to be compared, each `[*lists, items]`.

    The best of some and the best of others hold the best of all, so that parts of a list
    can be ranked apart, and then their candidates together.
    """

    keys: jax.Array  # of the scores
    ids: jax.Array  # where an item stands in its list, or its id; int32
    items: ItemArrays
    seeds: jax.Array | None = None  # [*lists, 2] uint32, for random ties

    def read(self) -> "Candidates":
        """Itself; see `Given`."""
        return self

    def at(self, places: jax.Array) -> "Candidates":
        """Some of the items, by their places in the arrays."""
        return self.map(lambda x: _arithmetic.take_items(x, places))

    def map(self, fn: Callable[[jax.Array], jax.Array]) -> "Candidates":
        """`fn` of every array that has an axis of items; seeds are of lists."""
        mapped = jax.tree.map(fn, self._replace(seeds=None))
        return mapped._replace(seeds=self.seeds)

    def levels(self, policy: Policy) -> list[jax.Array]:
        """What compares them, the first first, larger first; then their index."""
        levels = [self.keys]
        if _keys.shares_least_key(policy.dtype):
            levels.append(self.items.exists.astype(jnp.int32))
        return [*levels, *self.breaks(policy)]

    def breaks(self, policy: Policy) -> tuple[jax.Array, ...]:
        """What parts items of equal keys."""
        return _keys.breaks(
            policy.ties, self.ids, self.items.labels, self.items.weights, self.seeds
        )


class Given(NamedTuple):
    """Items as they were passed, read where they are used; see `RawItems`."""

    scores: jax.Array
    items: RawItems | ItemArrays
    first: jax.Array | int = 0  # the index of the first item
    seeds: jax.Array | None = None
    ids: jax.Array | None = None  # of every item, where they do not count from first

    def read(self) -> Candidates:
        """The same items, ready to be compared; those without a rank do not exist."""
        items = self.items.retrieved_items()
        keys = _keys.score_key(lax.stop_gradient(self.scores), items.exists)
        index = self.ids
        if index is None:
            index = _arithmetic.iota(keys) + self.first
            index = jnp.broadcast_to(index, keys.shape).astype(jnp.int32)
        return Candidates(keys, index, items, self.seeds)

    def at(self, places: jax.Array) -> "Given":
        """Some of the items, by their places."""
        index = places + jnp.asarray(self.first, jnp.int32)
        scores = _arithmetic.take(self.scores, places)
        return Given(scores, self.items.at(places), self.first, self.seeds, index)
