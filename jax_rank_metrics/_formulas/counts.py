"""How many items there are of a kind, and what share of the first ranks is judged."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.shared import (
    is_judged,
    plain,
    relevant,
)
from jax_rank_metrics._places.place import positions
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cutoffs, Number


def _exists(items: Items) -> jax.Array:
    return items.exists


@metric(names=("fallout",), lower_is_better=True)
def fall_out(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """Fall-out: the share of the non-relevant items of the pool that ranks 1..k hold.

    Undefined (nothing non-relevant in the pool): 0. Less is better.

    Takes the arguments of `rank` too, but for its k.

    Args:
        k: Cutoff, or a tuple of them.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 0]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{fall_out(labels, scores, k=2).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        van Rijsbergen, Information retrieval, 1979, chapter 7. The same as torchmetrics
        `RetrievalFallOut`, but for lists where it is undefined.
    """
    ks, hit = ranking.cutoffs(k), relevant(relevance_threshold)
    hits = ranking.expected_sum(hit, positions(), ks)
    others = ranking.pool_sum(_exists) - ranking.num_relevant(relevance_threshold)
    values = ratio(ranking.depth(ks) - hits, others[..., None])
    return ranking.per_list(values, others > 0, k, hit)


@metric(optional_columns=("judged",), lower_is_better=None)
def judged(ranking: Ranking, *, k: Cutoffs = None) -> PerList:
    """The share of ranks 1..k that is judged.

    Undefined (never): 0 where nothing was retrieved.

    Takes the arguments of `rank` too, but for its k. The column `judged`, bool, says
    which items are; without it all are.

    Args:
        k: Cutoff, or a tuple of them.

    Example:
        >>> labels, scores = jnp.array([1, 0, 0]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"judged": jnp.array([True, False, True])}
        >>> f"{judged(labels, scores, k=2, columns=columns).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        ir_measures `Judged@k`.
    """
    ks = ranking.cutoffs(k)
    depth = found = ranking.depth(ks)
    if "judged" in ranking._column_names:
        found = ranking.expected_sum(is_judged, positions(), ks)
    return plain(ranking, ratio(found, depth), True, k)


@metric(names=("num_rel_ret",), lower_is_better=None)
def num_relevant_retrieved(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """How many relevant items ranks 1..k hold.

    Undefined (never): every list that exists has a value.

    Takes the arguments of `rank` too, but for its k.

    Args:
        k: Cutoff, or a tuple of them.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> num_relevant_retrieved(labels, scores, k=(2, 3)).compute().tolist()
        [1.0, 2.0]

    References:
        trec_eval `num_rel_ret`.
    """
    hit = relevant(relevance_threshold)
    values = ranking.expected_sum(hit, positions(), ranking.cutoffs(k))
    return ranking.per_list(values, True, k, hit)


@metric(names=("num_ret",), lower_is_better=None)
def num_retrieved(ranking: Ranking, *, k: Cutoffs = None) -> PerList:
    """How many items ranks 1..k hold.

    Undefined (never): every list that exists has a value.

    Takes the arguments of `rank` too, but for its k.

    Args:
        k: Cutoff, or a tuple of them.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> num_retrieved(labels, scores, k=(2, 5)).compute().tolist()
        [2.0, 3.0]

    References:
        trec_eval `num_ret`.
    """
    return plain(ranking, ranking.depth(ranking.cutoffs(k)), True, k)


@metric(names=("num_rel",), order_free=True, lower_is_better=None)
def num_relevant(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """How many relevant items the pool holds.

    Undefined (never): every list that exists has a value.

    Takes the arguments of `rank` too, but for its k.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{num_relevant(labels, scores).compute():.1f}"
        '2.0'

    References:
        trec_eval `num_rel`.
    """
    hit = relevant(relevance_threshold)
    values = jnp.expand_dims(ranking.num_relevant(relevance_threshold), -1)
    return ranking.per_list(values, True, None, hit)
