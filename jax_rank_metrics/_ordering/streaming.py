"""The best items of all that were seen so far, block after block."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering.candidates import Candidates, Given, Policy
from jax_rank_metrics._ordering.order import best as best_of
from jax_rank_metrics._ordering.order import joined
from jax_rank_metrics._ordering.top_k import pays


class Running(NamedTuple):
    """The best so far.

    Shapes:
        best: `[*lists, depth]`, in rank order.
        tied: `[*lists]` int32, how many items seen so far tie with the last of them.
    """

    best: Candidates
    tied: jax.Array

    def extended(self, block: Given, policy: Policy) -> "Running":
        """With the items of a further block."""
        depth, items = self.best.keys.shape[-1], block.items.retrieved_items()
        # What scores less than the last of the best will not be among them.
        competes = block.read().keys >= self.best.keys[..., -1:]
        block = block._replace(items=items._replace(exists=items.exists & competes))
        use_top_k = pays(block.scores, depth)
        chosen, straddles = best_of(block, policy, depth, use_top_k)
        every = jax.tree.map(
            lambda x, y: jnp.concatenate([x, y], axis=-1),
            self.best._replace(seeds=None),
            chosen._replace(seeds=None),
        )
        every = every._replace(seeds=chosen.seeds)
        best = best_of(every, policy, depth, use_top_k).best
        if straddles is None:
            tied = _tied(chosen, best)
        else:
            tied = lax.cond(
                _mesh.unvmap_any(straddles),
                lambda: _tied(block.read(), best),
                lambda: _tied(chosen, best),
            )
        return Running(best, self._tied_with(best) + tied)

    def over_devices(self, policy: Policy, items_axis: Any) -> "Running":
        """The best of what all devices saw."""
        best = joined(self.best, items_axis)
        best = best_of(best, policy, self.best.keys.shape[-1]).best
        return Running(best, lax.psum(self._tied_with(best), items_axis))

    def _tied_with(self, best: Candidates) -> jax.Array:
        # Dropped items had the key that was last at the time. Their count carries over
        # only while that key is still last; no item above it was dropped.
        same = (self.best.keys[..., -1] == best.keys[..., -1]) & (
            best.items.exists[..., -1] & self.best.items.exists[..., -1]
        )
        return jnp.where(same, self.tied, _tied(self.best, best))


def _tied(items: Candidates, best: Candidates) -> jax.Array:
    last = best.items.exists[..., -1:]
    tied = (items.keys == best.keys[..., -1:]) & items.items.exists & last
    return _arithmetic.count(tied)
