"""Lists as rows, whole or with their items cut over devices."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._items import RawItems
from jax_rank_metrics._layouts.pools import Sharded
from jax_rank_metrics._layouts.rows import Rows
from jax_rank_metrics._ordering.candidates import RawCandidates
from jax_rank_metrics._ordering.order import order_rows
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._places.soft import SoftScores, sigmoid_ranks
from jax_rank_metrics._ranking import (
    Pool,
    PoolScores,
    Ranking,
    SoftPlaces,
    Straddle,
    TieRuns,
)
from jax_rank_metrics._sources.lists import Depth


def rank_rows(
    given: RawItems,
    scores: jax.Array,
    list_weights: jax.Array | None,
    seeds: jax.Array | None,
    policy: Policy,
    items_axis: Any,
    depth: Depth,
) -> Ranking:
    """Ranks rows, on the device that has them."""
    axis, size, start = Rows(), scores.shape[-1], 0
    if items_axis is not None:
        axis, start = Sharded(items_axis), lax.axis_index(items_axis) * size
        size = size * lax.axis_size(items_axis)
    cut = depth.ranks if depth.ranks is not None and depth.ranks < size else None
    held = length = None
    if depth.ordered:
        if depth.ranks is None and items_axis is not None:
            raise ValueError(
                "k is None, but the items of a list are cut over devices; pass k to rank "
                "that deep, or gather labels, scores, mask and weights first"
            )
        everything = RawCandidates(scores, given, start, seeds)
        ranks = size if items_axis is not None and cut is None else cut
        item_order = depth.item_order(policy, scores.dtype)
        best, straddles = order_rows(everything, item_order, ranks, items_axis)
        index = jnp.where(best.items.exists, best.ids, -1)
        straddle = None
        if cut is not None:
            assert straddles is not None
            straddle = Straddle(straddles, None, axis)
        held = TieRuns(best.items, Rows(), index, best.keys, straddle, size)
        length = _arithmetic.count(held.items.exists)
    # What the ranks tell is not counted over the pool again.
    number = length
    if length is None or given.retrieved is not None:
        number = axis.sum(given.read().exists)
        length = number if length is None else length
    assert number is not None
    return Ranking._of(
        held=held,
        pool=Pool(given, axis),
        pool_scores=PoolScores(scores, seeds, policy.name, items_axis),
        length=length,
        list_exists=number > 0,
        list_weights=list_weights,
        cut=cut,
        ties=policy.name,
    )


def rank_softly(
    given: RawItems,
    scores: jax.Array,
    list_weights: jax.Array | None,
    relax: sigmoid_ranks,
    items_axis: Any,
) -> Ranking:
    """Gives soft places to the items of whole rows."""
    if items_axis is not None:
        raise ValueError(
            "relax is given, but the items of a list are cut over devices; gather "
            "labels, scores, mask and weights first, or cut the lists instead"
        )
    axis, every, items = Rows(), given.read(), given.retrieved_items()
    soft_scores = SoftScores.of(scores, items.exists, items.labels.dtype, relax)
    return Ranking._of(
        held=SoftPlaces(items, axis, soft_scores, scores.shape[-1]),
        pool=Pool(every, axis),
        length=_arithmetic.count(items.exists),
        list_exists=_arithmetic.count(every.exists) > 0,
        list_weights=list_weights,
        ties="expected",
    )
