"""Lists whose items have soft places, for training."""

import jax

from jax_rank_metrics._items import RawItems
from jax_rank_metrics._layouts.base import RankedLayout
from jax_rank_metrics._places.soft_places import SoftScores, sigmoid_ranks
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._ranking.pool import Pool
from jax_rank_metrics._ranking.ranked import Ranked
from jax_rank_metrics._sources.lists import has_nan


def rank_softly(
    raw_items: RawItems,
    scores: jax.Array,
    layout: RankedLayout,
    list_weights: jax.Array | None,
    relax: sigmoid_ranks,
) -> RankingData:
    """Gives soft places to the items of whole lists.

    Args:
        raw_items: `[*lists, items]`; `[items]` for packed lists, list after list.
        scores: The same shape.
        layout: The layout of the items.
        list_weights: `[*lists]`, or None where items weigh the list.
        relax: How soft ranks are.
    """
    pool_items, items = raw_items.read(), raw_items.retrieved_items()
    soft_scores = SoftScores.of(scores, items.exists, items.labels.dtype, relax)
    return RankingData(
        held=Ranked(items, layout, scores.shape[-1], soft=soft_scores),
        pool=Pool(pool_items, layout),
        length=layout.sum(items.exists),
        list_exists=layout.sum(pool_items.exists) > 0,
        list_weights=list_weights,
        ties="expected",
        has_nan=has_nan(scores, items.exists, layout),
        label_dtype=raw_items.label_dtype,
    )
