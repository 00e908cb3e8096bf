"""Means over the intents of a query, which are its subtopics."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas.label_fns import per_list_where
from jax_rank_metrics._engine.formulas.positions import precision_at
from jax_rank_metrics._engine.formulas.subtopics import (
    has_subtopic,
    novelty_sum,
    number_of_topics,
)
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Ranking, data_of
from jax_rank_metrics._ground import arithmetic, gains, inputs
from jax_rank_metrics._ground.types import Cut, Cutoffs, Number, PrecisionDenominator
from jax_rank_metrics._values.per_list import PerList

# Terms of a series are added up to this rank; an integral replaces the rest.
_LAST_ADDED_RANK = 4096


@metric(names={"p_ia": {"denominator": "k"}}, columns=("subtopics",), is_share=True)
def precision_ia(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: PrecisionDenominator = "retrieved",
) -> PerList:
    """Intent-aware precision: precision at k for each subtopic, averaged over subtopics.

    For each subtopic of the pool, the items with this subtopic count as relevant.

    Undefined (no item of the pool has a subtopic): 0. Also accepts the arguments of
    `rank`. Reads the column `subtopics`; see `alpha_dcg`.

    Args:
        k: Cutoff or cutoffs.
        denominator: "retrieved" is the number of items at ranks 1..k; "k" is k itself.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = precision_ia(labels, scores, columns=columns, k=2)
        >>> f"{state.compute():.5f}"  # (2/2 + 0/2) / 2
        '0.50000'

    References:
        Agrawal et al., Diversifying search results, WSDM 2009. "retrieved" agrees with
        TF-Ranking `PrecisionIAMetric`, "k" with pyndeval and ir_measures `P_IA`.
    """
    inputs.option("denominator", denominator, PrecisionDenominator)
    ks, num_topics = ranking.cutoffs(k), number_of_topics(ranking)
    hits = ranking.expected_sum(has_subtopic, place.positions(), ks).sum(-1)
    depth = ranking.depth(ks, nominal=denominator == "k")
    values = arithmetic.ratio(hits, depth * num_topics[..., None])
    return per_list_where(ranking, values, num_topics > 0, k)


@metric(names=("map_ia", "ap_ia"), columns=("subtopics",), is_share=True)
def average_precision_ia(ranking: Ranking, *, k: Cutoffs = None) -> PerList:
    """Intent-aware average precision: average precision for each subtopic, averaged.

    For each subtopic of the pool, the items with this subtopic count as relevant. Their
    number in the pool is the divisor of the subtopic's average precision at every k.

    Undefined (no item of the pool has a subtopic): 0. Also accepts the arguments of
    `rank`. Reads the column `subtopics`; see `alpha_dcg`.

    Args:
        k: Cutoff or cutoffs.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = average_precision_ia(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # ((1/1 + 2/2) / 2 + 1/3) / 2
        '0.66667'

    References:
        Agrawal et al. (see `precision_ia`). Agrees with pyndeval `MAP-IA`.
    """
    ks, num_topics = ranking.cutoffs(k), number_of_topics(ranking)
    sums = ranking.expected_sum(
        has_subtopic, precision_at, ks, counting=(has_subtopic,)
    )  # [*lists, len(ks), topics]
    items_per_topic = jnp.expand_dims(ranking.pool_sum(has_subtopic), -2)
    per_topic = arithmetic.ratio(sums, items_per_topic)
    values = arithmetic.ratio(per_topic.sum(-1), num_topics[..., None])
    return per_list_where(ranking, values, num_topics > 0, k)


@metric(columns=("subtopics",), is_share=True)
def err_ia(ranking: Ranking, *, k: Cutoffs = None, alpha: Number = 0.5) -> PerList:
    """Intent-aware ERR: reciprocal ranks over subtopics, less for each repeated subtopic.

    .. math::

        ERR_{IA}@k = (Σ_{r ≤ k} (1/r) · Σ_t (1 − α)^{c_t(r)})
        / (T · Σ_{r ≤ k} (1 − α)^{r − 1} / r)

    The sum over t is over the subtopics of the item at rank r; c_t(r) is the number of
    items above rank r that also have subtopic t. The divisor is the value of k items that
    each have all T subtopics of the pool. Without a cutoff, k is the number of items that
    have a rank.

    Undefined (no item of the pool has a subtopic): 0. Also accepts the arguments of
    `rank`. Reads the column `subtopics`; see `alpha_dcg`.

    Args:
        k: Cutoff or cutoffs.
        alpha: α, from 0 to 1, the chance that a user stops at an item of the subtopic
            sought.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = err_ia(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # (1 + 1/4 + 1/3) / (2·(1 + 1/4 + 1/12))
        '0.59375'

    References:
        Chapelle et al., Intent-based diversification of web search results: metrics and
        algorithms, Information Retrieval 14(6), 2011. Agrees with pyndeval and
        ir_measures `ERR_IA@k`.
    """
    kept_share = 1 - inputs.fraction("alpha", alpha)
    ks, num_topics = ranking.cutoffs(k), number_of_topics(ranking)
    sums = novelty_sum(ranking, gains.reciprocal_discount, alpha, ks)
    per_topic = arithmetic.ratio(sums, num_topics[..., None])

    def sum_to_depth(cutoff: Cut) -> jax.Array:
        depth = ranking.depth((cutoff,), nominal=True)[..., 0].astype(jnp.int32)
        max_rank, start = data_of(ranking).max_items or 0, jnp.zeros_like(depth)
        place_sum = place.sum_of_many(start, depth, max_rank, sums.dtype)
        return place_sum(_full_coverage(kept_share), None)

    values = [
        per_topic[..., i] / _full_coverage_sum(kept_share, cutoff)
        if isinstance(cutoff, int)
        else arithmetic.ratio(per_topic[..., i], sum_to_depth(cutoff))
        for i, cutoff in enumerate(ks)
    ]
    return per_list_where(ranking, jnp.stack(values, axis=-1), num_topics > 0, k)


@by_options
def _full_coverage(ranks: jax.Array, *, kept_share: float) -> jax.Array:
    """Returns what each rank adds for a subtopic that every item of the list has."""
    return arithmetic.power(kept_share, ranks - 1) / ranks


def _full_coverage_sum(kept_share: float, k: int) -> float:
    """Sums `kept_share^(rank − 1) / rank` over ranks 1..k, in float64.

    A cutoff may be far beyond the end of any list. So after `_LAST_ADDED_RANK`, an integral
    over the logarithm of the rank replaces the sum, with an error below 1e-8.
    """
    base = np.float64(kept_share)
    ranks = np.arange(1, min(k, _LAST_ADDED_RANK) + 1)
    value = np.sum(base ** (ranks - 1) / ranks)
    if k > _LAST_ADDED_RANK:
        # The integral over the interval from r − ½ to r + ½ replaces the term of rank r.
        log_ranks = np.linspace(np.log(_LAST_ADDED_RANK + 0.5), np.log(k + 0.5), 10_001)
        value += np.trapezoid(base ** (np.exp(log_ranks) - 1), log_ranks)
    return float(value)
