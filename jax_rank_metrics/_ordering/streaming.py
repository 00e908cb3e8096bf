"""The best items of all that were seen so far, block after block."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._ordering import top_k
from jax_rank_metrics._ordering.candidates import Candidates, ItemOrder, RawCandidates
from jax_rank_metrics._ordering.order import gather_candidates, order_local
from jax_rank_metrics._types import AxisNames


class BestSoFar(NamedTuple):
    """The first ranks among the items of all blocks so far.

    Shapes:
        best: `[*lists, depth]`, in rank order. Seeds are left out: they never change, and
            in a scan's carry would have to vary over the same mesh axes as the rest.
        tied: `[*lists]` int32, how many items seen so far tie with the last of them.
    """

    best: Candidates
    tied: jax.Array

    def extended(self, block: RawCandidates, order: ItemOrder) -> "BestSoFar":
        """Returns the best so far after a further block."""
        depth, items = self.best.keys.shape[-1], block.items.retrieved_items()
        # Items that score less than the last of the best cannot be among them.
        competes = block.read().keys >= self.best.keys[..., -1:]
        block = block._replace(items=items._replace(exists=items.exists & competes))
        use_top_k = top_k.is_faster(block.scores, depth)
        chosen, straddles = order_local(block, order, depth, use_top_k)
        candidates = jax.tree.map(
            lambda x, y: jnp.concatenate([x, y], axis=-1),
            self.best,
            chosen._replace(seeds=None),
        )
        candidates = candidates._replace(seeds=block.seeds)
        best = order_local(candidates, order, depth, use_top_k).candidates
        if straddles is None:
            tied = _count_tied(chosen, best)
        else:
            # Where a tie was cut off, its size is counted over the whole block.
            tied = lax.cond(
                _mesh.unvmap_any(straddles),
                lambda: _count_tied(block.read(), best),
                lambda: _count_tied(chosen, best),
            )
        tied = self._tied_with(best) + tied
        return BestSoFar(best._replace(seeds=None), tied)

    def over_devices(
        self, order: ItemOrder, items_axis: AxisNames, seeds: jax.Array | None
    ) -> "BestSoFar":
        """Returns the best of what all devices saw."""
        candidates = gather_candidates(self.best, items_axis)._replace(seeds=seeds)
        best = order_local(candidates, order, self.best.keys.shape[-1]).candidates
        tied = lax.psum(self._tied_with(best), items_axis)
        return BestSoFar(best._replace(seeds=None), tied)

    def _tied_with(self, best: Candidates) -> jax.Array:
        """Counts the items seen so far that tie with the last item of a new best.

        Items that were dropped had the key that was last at the time. Their count carries
        over only while that key is still last, and no item above it was dropped.
        """
        is_still_last = (self.best.keys[..., -1] == best.keys[..., -1]) & (
            best.items.exists[..., -1] & self.best.items.exists[..., -1]
        )
        return jnp.where(is_still_last, self.tied, _count_tied(self.best, best))


def _count_tied(candidates: Candidates, best: Candidates) -> jax.Array:
    """Counts the candidates of each list that tie with the last of the best."""
    last_exists = best.items.exists[..., -1:]
    is_tied = candidates.keys == best.keys[..., -1:]
    return _arithmetic.count(is_tied & candidates.items.exists & last_exists)
