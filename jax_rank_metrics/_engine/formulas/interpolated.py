"""Precision at recall levels, and at multiples of the number of relevant items."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.formulas.label_fns import (
    is_relevant,
    per_list_if_relevant,
)
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places.place import Place, positions
from jax_rank_metrics._engine.ranking import Ranking, data_of
from jax_rank_metrics._ground import arithmetic, inputs, types
from jax_rank_metrics._values import per_list

ELEVEN_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)

# The largest number of relevant items in the table of `_share_of` if the pool is not known.
_TABLE_END = 2**16


@metric(names=("iprec",), ties="order", at="recall_levels", is_share=True)
def interpolated_precision(
    ranking: Ranking,
    *,
    recall_levels: types.RecallLevels = ELEVEN_LEVELS,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Interpolated precision: the best precision at any rank that reaches a given recall.

    .. math:: iP(ℓ) = max_{r : hits@r ≥ [ℓ · R]} hits@r / r

    R is the number of relevant items of the pool and [·] rounds to the nearest integer.
    The value is 0 if no rank has that many hits.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Has no closed form
    over ties: reads one order of tied items, which a `key` draws for each list. Also
    accepts the arguments of `rank`.

    Args:
        recall_levels: A level ℓ from 0 to 1, or a tuple of levels, which adds a last axis
            to the values, as a tuple of cutoffs does. In a name: `iprec@0.1,0.5`.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> state = interpolated_precision(labels, scores, recall_levels=(0, 1))
        >>> [f"{value:.5f}" for value in state.compute()]  # 2/3 at rank 3, both times
        ['0.66667', '0.66667']

    References:
        Manning, Raghavan and Schütze, Introduction to information retrieval, 2008,
        section 8.4. Agrees with trec_eval 10 `iprec_at_recall`; version 9 rounds ℓ·R up
        if its fractional part is at least 0.1.
    """
    values = _precision_at_recall(ranking, recall_levels, relevance_threshold)
    # A tuple of levels keeps its axis as a tuple of cutoffs does.
    keep_levels = (1,) if isinstance(recall_levels, (tuple, list)) else None
    return per_list_if_relevant(ranking, values, relevance_threshold, keep_levels)


@metric(names=("11pt_avg",), ties="order", is_share=True)
def eleven_point_precision(
    ranking: Ranking, *, relevance_threshold: types.Number = 1.0
) -> per_list.PerList:
    """Eleven-point average: the mean interpolated precision at recalls 0, 0.1, …, 1.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Has no closed form
    over ties: reads one order of tied items, which a `key` draws for each list. Also
    accepts the arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> state = eleven_point_precision(labels, scores)
        >>> f"{state.compute():.5f}"  # (8·1 + 3·2/3) / 11, as 0.7·2 is 1 when rounded
        '0.90909'

    References:
        See `interpolated_precision`. Agrees with trec_eval 10 `11pt_avg`.
    """
    values = _precision_at_recall(ranking, ELEVEN_LEVELS, relevance_threshold)
    mean = values.mean(axis=-1, keepdims=True)
    return per_list_if_relevant(ranking, mean, relevance_threshold, None)


@metric(at="multiples", is_share=True)
def precision_at_multiples(
    ranking: Ranking,
    *,
    multiples: types.RecallLevels = MULTIPLES,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Precision at multiples of R, the number of relevant items of the pool.

    .. math:: hits@r / r, r = ⌊m · R + 0.9⌋

    At the multiple 1 the value is R-precision. If r is 0, the value is 0.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Also accepts the
    arguments of `rank`.

    Args:
        multiples: A positive number m, or a tuple of such numbers, which adds a last axis
            to the values, as a tuple of cutoffs does. In a name:
            `precision_at_multiples@0.5,2`.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> state = precision_at_multiples(labels, scores, multiples=(0.5, 2))
        >>> [f"{value:.5f}" for value in state.compute()]  # 1 of 1, and 2 of 4
        ['1.00000', '0.50000']

    References:
        Agrees with trec_eval `Rprec_mult`.
    """
    hit = is_relevant(relevance_threshold)
    is_tuple = isinstance(multiples, (tuple, list))
    factors = multiples if is_tuple else (multiples,)
    parsed = [inputs.positive("multiples", factor) for factor in factors]
    if not parsed:
        raise ValueError("multiples is empty; pass at least one number")
    num_relevant = ranking.num_relevant(relevance_threshold)
    ranks = [_share_of(ranking, factor, num_relevant, 0.9) for factor in parsed]
    hits = ranking.expected_sum(hit, positions(), ranks)
    values = arithmetic.ratio(hits, jnp.stack(ranks, axis=-1))
    keep_axis = (1,) if is_tuple else None
    return per_list_if_relevant(ranking, values, relevance_threshold, keep_axis)


def _precision_at_recall(
    ranking: Ranking, levels: types.RecallLevels, threshold: types.Number
) -> jax.Array:
    """Returns the interpolated precision at each level, `[*lists, len(levels)]`."""
    levels = levels if isinstance(levels, (tuple, list)) else (levels,)
    if not levels:
        raise ValueError("recall_levels is empty; pass at least one level")
    parsed = [inputs.fraction("recall_levels", level) for level in levels]
    hit = is_relevant(threshold)
    num_relevant = ranking.num_relevant(threshold)

    def precision(place: Place, hits_needed: jax.Array) -> jax.Array:
        # The maximum is at a relevant item: between relevant items, precision falls.
        hits = place.counted_above[0] + 1
        return jnp.where(hits >= hits_needed, hits / (place.above + 1), 0)

    # Cutoffs may be arrays `[*lists]`, so pass the needed numbers of hits as cutoffs.
    hits_needed = [_share_of(ranking, level, num_relevant, 0.5) for level in parsed]
    return ranking.expected_max(hit, precision, hits_needed, counting=(hit,))


def _share_of(
    ranking: Ranking, share: float, num_relevant: jax.Array, offset: float
) -> jax.Array:
    """Returns ⌊share·R + offset⌋ for the numbers R of relevant items, `[*lists]` floats.

    In float32, 0.7·5 + 0.5 may be below 4, so a table over R is computed in float64. For an
    R beyond the table, the result is computed in the dtype of R.
    """
    pool = data_of(ranking).pool
    # Every relevant item has a slot of the pool, so R is at most the number of slots.
    table_end = _TABLE_END if pool is None else pool.items.labels.shape[-1]
    rounded = np.floor(np.float64(share) * np.arange(table_end + 1) + offset)
    table = jnp.asarray(rounded.astype(num_relevant.dtype))
    from_table = table[jnp.minimum(num_relevant, table_end).astype(jnp.int32)]
    computed = jnp.floor(share * num_relevant + offset)
    return jnp.where(num_relevant <= table_end, from_table, computed)
