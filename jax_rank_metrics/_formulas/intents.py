"""Means over the intents of a query, each of which is one of its subtopics."""

import functools

import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import power, ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.positions import precision_at
from jax_rank_metrics._formulas.shared import plain
from jax_rank_metrics._formulas.subtopics import novelty, number_of_topics, topics
from jax_rank_metrics._gains import reciprocal_discount
from jax_rank_metrics._places.place import positions, sum_of_many
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import (
    Cutoffs,
    Number,
    PositionFn,
    PrecisionDenominator,
)

# Ranks of a sum that are added up one by one.
_SUMMED = 4096


@metric(columns=("subtopics",))
def precision_ia(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: PrecisionDenominator = "retrieved",
) -> PerList:
    """Intent-aware precision: its mean over the subtopics of the pool.

    For each of these, the share of ranks 1..k that has it.

    Undefined (no item of the pool has a subtopic): 0.

    Takes the arguments of `rank` too, but for its k, and reads the column `subtopics`;
    see `alpha_dcg`.

    Args:
        k: Cutoff, or a tuple of them.
        denominator: "retrieved", how many items ranks 1..k hold; "k", k itself.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = precision_ia(labels, scores, columns=columns, k=2)
        >>> f"{state.compute():.5f}"  # (2/2 + 0/2) / 2
        '0.50000'

    References:
        Agrawal et al., Diversifying search results, WSDM 2009. "retrieved" is that of
        TF-Ranking `PrecisionIAMetric`, "k" that of pyndeval and ir_measures `P_IA`.
    """
    _inputs.option("denominator", denominator, PrecisionDenominator)
    ks, number = ranking.cutoffs(k), number_of_topics(ranking)
    found = ranking.expected_sum(topics, positions(), ks).sum(-1)
    below = ranking.depth(ks, nominal=denominator == "k") * number[..., None]
    return plain(ranking, ratio(found, below), number > 0, k)


@metric(columns=("subtopics",))
def average_precision_ia(ranking: Ranking, *, k: Cutoffs = None) -> PerList:
    """Intent-aware average precision: its mean over the subtopics of the pool.

    For each of these, `Σ precision@rank` over the ranks up to k that have it, divided by
    how many items of the pool do.

    Undefined (no item of the pool has a subtopic): 0.

    Takes the arguments of `rank` too, but for its k, and reads the column `subtopics`;
    see `alpha_dcg`.

    Args:
        k: Cutoff, or a tuple of them.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = average_precision_ia(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # ((1/1 + 2/2) / 2 + 1/3) / 2
        '0.66667'

    References:
        Agrawal et al. (see `precision_ia`). The same as pyndeval `MAP-IA`.
    """
    ks, number = ranking.cutoffs(k), number_of_topics(ranking)
    found = ranking.expected_sum(topics, precision_at, ks, counting=(topics,))
    of_topic = jnp.expand_dims(ranking.pool_sum(topics), -2)
    values = ratio(ratio(found, of_topic).sum(-1), number[..., None])
    return plain(ranking, values, number > 0, k)


@metric(columns=("subtopics",), ties="order")
def err_ia(ranking: Ranking, *, k: Cutoffs = None, alpha: Number = 0.5) -> PerList:
    """Intent-aware ERR: `Σ 1/rank·Σ (1 − α)^(earlier items with the subtopic)`, as a share.

    Over ranks 1..k and the subtopics of the item at each; divided by
    `T·Σ (1 − α)^(rank − 1)/rank`, what k items with all T subtopics of the pool would
    give. Without a k, as many as have a rank.

    Undefined (no item of the pool has a subtopic): 0. Has no closed form over ties.

    Takes the arguments of `rank` too, but for its k, and reads the column `subtopics`;
    see `alpha_dcg`.

    Args:
        k: Cutoff, or a tuple of them.
        alpha: The chance of a user to stop at an item of the subtopic sought, from 0 to 1.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = err_ia(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # (1 + 1/4 + 1/3) / (2·(1 + 1/4 + 1/12))
        '0.59375'

    References:
        Chapelle et al., Intent-based diversification of web search results: metrics and
        algorithms, Information Retrieval 14(6), 2011. The same as pyndeval and ir_measures
        `ERR_IA@k`.
    """
    ks, number = ranking.cutoffs(k), number_of_topics(ranking)
    values = ratio(novelty(ranking, reciprocal_discount, alpha, ks), number[..., None])
    kept = 1 - _inputs.fraction("alpha", alpha)
    length = ranking.depth((None,))[..., 0].astype(jnp.int32)
    sum_to_length = sum_of_many(
        jnp.zeros_like(length), length, ranking._max_items or 0, values.dtype
    )
    shares = [
        ratio(values[..., i], sum_to_length(_full_coverage(kept), None))
        if cutoff is None
        else values[..., i] / _full_coverage_to(kept, cutoff)
        for i, cutoff in enumerate(ks)
    ]
    return plain(ranking, jnp.stack(shares, axis=-1), number > 0, k)


@functools.lru_cache(maxsize=256)
def _full_coverage(kept: float) -> PositionFn:
    """The value of a rank for one subtopic that all items so far have."""
    return lambda ranks: power(kept, ranks - 1) / ranks


def _full_coverage_to(kept: float, k: int) -> float:
    """`Σ kept^(rank − 1) / rank` over ranks 1..k, in float64.

    A cutoff may be far longer than any list, so that beyond some thousand ranks the sum
    is an integral over the logarithm of the rank, with an error below 1e-8.
    """
    ranks = np.arange(1, min(k, _SUMMED) + 1)
    value = np.sum(np.float64(kept) ** (ranks - 1) / ranks)
    if k > _SUMMED:
        logs = np.linspace(np.log(_SUMMED + 0.5), np.log(k + 0.5), 10_001)
        value += np.trapezoid(np.float64(kept) ** (np.exp(logs) - 1), logs)
    return float(value)
