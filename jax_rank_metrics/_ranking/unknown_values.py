"""Lists that have no value: of NaN scores, or of gains that overflow."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._gains import MONOTONE_GAINS, gains_of
from jax_rank_metrics._ranking.best_order import largest_label
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._ranking.item_fns import Items, item_predicate
from jax_rank_metrics._types import Gain


def of_lists(
    data: RankingData, is_counted: jax.Array, reads_places: bool
) -> jax.Array | None:
    """Finds the lists for which a metric has no value.

    Args:
        data: What the metric has read.
        is_counted: `[*lists]` bool, the lists that count.
        reads_places: Whether its values depend on the places of items.

    Returns:
        `[*lists]` bool, lists that count; None where every list has a value.
    """
    unknown = data.has_nan if reads_places else None
    if data.dependencies.gain_fns:
        overflowing = jnp.zeros_like(is_counted)
        for gain_fn in data.dependencies.gain_fns:
            overflowing = overflowing | (_overflows(data, gain_fn) & is_counted)
        unknown = overflowing if unknown is None else unknown | overflowing
        of_others = data.memo.overflowing
        of_all = overflowing if of_others is None else overflowing | of_others
        data.memo.overflowing = of_all
    return None if unknown is None else unknown & is_counted


def _overflows(data: RankingData, gain_fn: Gain) -> jax.Array:
    """Whether a gain of the pool is not finite, `[*lists]` bool."""

    def is_infinite(items: Items) -> jax.Array:
        return ~jnp.isfinite(gains_of(gain_fn, items.labels))

    def find() -> jax.Array:
        if gain_fn in MONOTONE_GAINS and data.relabel is None:
            return ~jnp.isfinite(gains_of(gain_fn, largest_label(data)))
        part = data.pool or data.held
        assert part is not None
        holds = item_predicate(data.labelled(is_infinite), part.items.read())
        return part.layout.sum(holds) > 0

    return data.memo.once(("overflows", gain_fn, data.relabel), find)
