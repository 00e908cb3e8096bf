"""How many relevant items the first ranks hold, and out of how many."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._metric import metric
from jax_rank_metrics._per_list import PerList
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sums import ratio
from jax_rank_metrics._types import Cut, Cutoffs, Number


@metric()
def precision(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: str = "retrieved",
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Precision: the share of ranks 1..k that is relevant.

    Undefined (nothing relevant in the pool): 0.

    Args:
        k: Cutoff, or a tuple of them.
        denominator: "retrieved", how many items ranks 1..k hold; "k", k itself.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{precision(labels, scores, k=5).compute():.5f}"  # 2 of 3 items
        '0.66667'
        >>> f"{precision(labels, scores, k=5, denominator='k').compute():.5f}"  # 2 of 5
        '0.40000'

    References:
        Manning, Raghavan and Schütze, Introduction to information retrieval, 2008,
        section 8.4. "retrieved" is that of keras_rs, TF-Ranking, rax and metrax; "k"
        that of trec_eval `P`, ranx, torchmetrics and RecBole.
    """
    _inputs.option("denominator", denominator, ("retrieved", "k"))
    ks = ranking.cutoffs(k)
    depth = ranking.depth_of if denominator == "retrieved" else ranking.nominal_depth
    hits = _hits(ranking, ks, relevance_threshold)
    return _binary(ranking, ratio(hits, depth(ks)), relevance_threshold, k)


@metric()
def recall(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: str = "relevant",
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Recall: the share of the relevant items of the pool that ranks 1..k hold.

    Undefined (nothing relevant in the pool): 0.

    Args:
        k: Cutoff, or a tuple of them.
        denominator: "relevant", R, all relevant items of the pool; "attainable",
            min(k, R), so that 1 can be reached at every k.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{recall(labels, scores, k=1).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        Manning et al. (see `precision`), section 8.3. "relevant" is that of every peer;
        "attainable" is the recall of Liang et al., Variational autoencoders for
        collaborative filtering, WWW 2018.
    """
    _inputs.option("denominator", denominator, ("relevant", "attainable"))
    ks = ranking.cutoffs(k)
    relevant = ranking.num_relevant(relevance_threshold)[..., None]
    if denominator == "attainable":
        relevant = jnp.minimum(relevant, ranking.nominal_depth(ks))
    hits = _hits(ranking, ks, relevance_threshold)
    return _binary(ranking, ratio(hits, relevant), relevance_threshold, k)


@metric()
def f_score(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    beta: Number = 1.0,
    relevance_threshold: Number = 1.0,
) -> PerList:
    """F_β: `(1 + β²)·P·R / (β²·P + R)` of precision and recall at k, as by default.

    Undefined (nothing relevant in the pool): 0.

    Args:
        k: Cutoff, or a tuple of them.
        beta: How many times as much recall matters as precision.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{f_score(labels, scores, k=1).compute():.5f}"  # P = 1, R = 1/2
        '0.66667'

    References:
        van Rijsbergen, Information retrieval, 1979, chapter 7. ranx `f1` where k items
        were retrieved.
    """
    ks = ranking.cutoffs(k)
    square = _inputs.positive("beta", beta) ** 2
    # With h hits among d items and R relevant ones it is (1 + β²)·h / (β²·R + d):
    # linear in h, so that it is exact over the orders of ties.
    relevant = ranking.num_relevant(relevance_threshold)[..., None]
    hits = _hits(ranking, ks, relevance_threshold)
    values = ratio((1 + square) * hits, square * relevant + ranking.depth_of(ks))
    return _binary(ranking, values, relevance_threshold, k)


@metric()
def hit_rate(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """Hit rate, or success: 1 if any of ranks 1..k is relevant.

    Undefined (nothing relevant in the pool): 0.

    Args:
        k: Cutoff, or a tuple of them.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 1]), jnp.array([0.9, 0.8])
        >>> [f"{value:.1f}" for value in hit_rate(labels, scores, k=(1, 2)).compute()]
        ['0.0', '1.0']

    References:
        trec_eval `success`; RecBole and torchmetrics hit rate. What metric learning
        calls recall@k.
    """
    ks = ranking.cutoffs(k)
    threshold = _threshold(relevance_threshold)
    missed = ranking.over_ties(lambda one: one.none_to(threshold, ks))
    return _binary(ranking, 1 - missed, relevance_threshold, k)


@metric()
def r_precision(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """R-precision: precision at rank R, R being the relevant items of the pool.

    Undefined (nothing relevant in the pool): 0. Reads whole lists.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{r_precision(labels, scores).compute():.5f}"  # 1 of the first 2
        '0.50000'

    References:
        Manning et al. (see `precision`), section 8.4; trec_eval `Rprec`.
    """
    ranking.cutoffs(None)
    relevant = ranking.num_relevant(_threshold(relevance_threshold))
    hits = _hits(ranking, (relevant,), relevance_threshold)
    values = ratio(hits, relevant[..., None])
    return _binary(ranking, values, relevance_threshold, None)


def _threshold(value: Number) -> float:
    return _inputs.positive("relevance_threshold", value)


def _hits(ranking: Ranking, ks: Sequence[Cut], threshold: Number) -> jax.Array:
    threshold = _threshold(threshold)
    return ranking.over_ties(
        lambda one: one.sum_to(one.relevant_at_rank(threshold), ks)
    )


def _binary(
    ranking: Ranking, values: jax.Array, threshold: Number, k: Cutoffs
) -> PerList:
    defined = ranking.num_relevant(threshold) > 0
    weight = ranking.item_weight(lambda items: items.relevant(threshold))
    return ranking.per_list(values, defined, weight, k)
