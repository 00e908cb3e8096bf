"""The tie group that straddles the cut of a ranking."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._items import ItemArrays, RawItems
from jax_rank_metrics._layouts.base import PoolLayout
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._ranking.items import ItemFn, item_amounts
from jax_rank_metrics._ranking.pool import Pool, PoolScores


@pytree()
class Straddle:
    """Which lists have a tie group that may reach beyond the last rank held.

    With the scores 9 7 7 7 and two ranks held, two of the three tied items are missing
    and must be looked up in the pool; with the scores 9 7 5 5, none is missing.

    Shapes:
        lists: `[*lists]` bool, where the group may reach beyond.
        tied: `[*lists, pool]` bool, the items of the pool that tie with the last one
            held; None where scores find them.
        layout: The layout of the pool.
        items: The items of the pool, where a slot holds a mean of those that tie and not
            of all; None where the pool has them.
    """

    lists: jax.Array
    tied: jax.Array | None
    layout: PoolLayout
    items: ItemArrays | None = None

    def group(
        self,
        last_key: jax.Array,
        pool: Pool,
        scores: PoolScores | None,
        item_fns: Sequence[ItemFn],
        dtype: DTypeLike,
    ) -> tuple[jax.Array, list[jax.Array]]:
        """Adds up the group by one pass over the pool, skipped if no list needs it.

        Args:
            last_key: `[*lists]`, the key of the last rank held.
            pool: The items.
            scores: Their scores, where `tied` is None.
            item_fns: Functions of items, to be summed over the group; bools are counted.
            dtype: The float dtype of sums; counts are int32.

        Returns:
            How many items the group holds, `[*lists]` int32, those without a held rank
            included, and the sums over them, `[*lists, …]` each. Only entries where
            `lists` is true are to be read.
        """
        # Each device adds up its own items; totals travel outside of the branch, since
        # devices may take different branches.
        layout = self.layout.on_device

        def look() -> tuple[jax.Array, list[jax.Array]]:
            source = pool.items if self.items is None else self.items
            items = source.retrieved_items()
            tied = self.tied
            if tied is None:
                assert scores is not None
                candidates = scores.candidates(pool)
                is_equal = candidates.keys == last_key[..., None]
                tied = candidates.items.exists & is_equal
            items = items.only(tied)
            totals = []
            for item_fn in item_fns:
                amounts = item_amounts(item_fn, items, dtype)
                totals.append(layout.sum(amounts, amounts.ndim - items.exists.ndim))
            return layout.sum(tied), totals

        def skip() -> tuple[jax.Array, list[jax.Array]]:
            zeros = jax.tree.map(
                lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(look)
            )
            # Both branches must vary over the same devices, whatever columns they read.
            items = pool.items
            if isinstance(items, RawItems):
                items = dataclasses.replace(items, columns={})
            raw_scores = None if scores is None else scores.scores
            return _mesh.match_varying(zeros, (last_key, items, raw_scores, self.tied))

        is_short = scores is None or _arithmetic.is_small(scores.scores)
        if self.tied is not None or is_short:  # a branch would cost more
            local = look()
        else:
            local = lax.cond(_mesh.unvmap_any(self.lists), look, skip)
        return self.layout.over_devices(local)
