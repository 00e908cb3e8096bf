"""Lists as rows, whole or with their items cut over devices."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._items import RawItems
from jax_rank_metrics._layouts.pools import Sharded
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._ordering.candidates import RawCandidates
from jax_rank_metrics._ordering.keys import is_nan
from jax_rank_metrics._ordering.order import order_rows
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._ranking.pool import ScoredPool, Straddle
from jax_rank_metrics._ranking.ranked import Ranked
from jax_rank_metrics._sources.lists import Depth, has_nan
from jax_rank_metrics._types import AxisNames


def rank_rows(
    raw_items: RawItems,
    scores: jax.Array,
    list_weights: jax.Array | None,
    seeds: jax.Array | None,
    policy: Policy,
    items_axis: AxisNames | None,
    depth: Depth,
) -> RankingData:
    """Ranks rows, of which this device has all items or a part.

    Args:
        raw_items: `[*lists, items]`.
        scores: `[*lists, items]`.
        list_weights: `[*lists]`, or None where items weigh the list.
        seeds: `[*lists, 2]` for random ties, or None.
        policy: The tie policy.
        items_axis: Mesh axes over which the items of every list are cut, or None.
        depth: How much of the order is needed.
    """
    layout, size, start = Rows(), scores.shape[-1], 0
    if items_axis is not None:
        layout, start = Sharded(items_axis), lax.axis_index(items_axis) * size
        # From here on the size of whole lists, no longer of the part of this device.
        size = size * lax.axis_size(items_axis)
    # A depth that reaches the end of the lists cuts nothing off.
    cut = depth.ranks if depth.ranks is not None and depth.ranks < size else None
    held = length = None
    if not depth.ordered:
        exists = raw_items.retrieved_items().exists
        nan_found = has_nan(scores, exists, layout)
    else:
        if depth.ranks is None and items_axis is not None:
            raise ValueError(
                "k is None, but the items of a list are cut over devices; pass k to rank "
                "that deep, or gather labels, scores, mask and weights first"
            )
        candidates = RawCandidates(scores, raw_items, start, seeds)
        # Devices exchange candidates even where nothing is cut, and then all of them.
        ranks = size if items_axis is not None and cut is None else cut
        item_order = depth.item_order(policy, scores.dtype)
        best, straddles = order_rows(candidates, item_order, ranks, items_axis)
        straddle = None
        if cut is not None:
            assert straddles is not None
            # Which items tie across the cut, scores tell once a metric asks.
            straddle = Straddle(straddles, None, layout)
        index = jnp.where(best.items.exists, best.ids, -1)
        held = Ranked(best.items, Rows(), size, index, best.keys, straddle)
        length = _arithmetic.count(held.items.exists)
        nan_found = is_nan(Rows().first(best.keys), scores.dtype)
    # The pool is counted only where the ranks do not already say how large it is.
    pool_size = length
    if length is None or raw_items.retrieved is not None:
        pool_size = layout.sum(raw_items.read().exists)
        length = pool_size if length is None else length
    assert pool_size is not None
    return RankingData(
        held=held,
        pool=ScoredPool(raw_items, layout, scores, seeds, policy.name, items_axis),
        length=length,
        list_exists=pool_size > 0,
        list_weights=list_weights,
        cut=cut,
        ties=policy.name,
        has_nan=nan_found,
        label_dtype=raw_items.label_dtype,
    )
