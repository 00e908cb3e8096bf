"""How many relevant items the first ranks hold, and out of how many."""

import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.shared import binary, relevant
from jax_rank_metrics._places.place import positions
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import (
    Cutoffs,
    Number,
    PrecisionDenominator,
    RecallDenominator,
)


@metric(names=("p", "prec"))
def precision(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: PrecisionDenominator = "retrieved",
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Precision: the share of ranks 1..k that is relevant.

    Undefined (nothing relevant in the pool): 0.

    Takes the arguments of `rank` too, but for its k.

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
    _inputs.option("denominator", denominator, PrecisionDenominator)
    ks = ranking.cutoffs(k)
    hits = ranking.expected_sum(relevant(relevance_threshold), positions(), ks)
    depth = ranking.depth(ks, nominal=denominator == "k")
    return binary(ranking, ratio(hits, depth), relevance_threshold, k)


@metric(names=("r",))
def recall(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: RecallDenominator = "relevant",
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Recall: the share of the relevant items of the pool that ranks 1..k hold.

    Undefined (nothing relevant in the pool): 0.

    Takes the arguments of `rank` too, but for its k.

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
    _inputs.option("denominator", denominator, RecallDenominator)
    ks = ranking.cutoffs(k)
    hits = ranking.expected_sum(relevant(relevance_threshold), positions(), ks)
    below = ranking.num_relevant(relevance_threshold)[..., None]
    if denominator == "attainable":
        below = jnp.minimum(below, ranking.depth(ks, nominal=True))
    return binary(ranking, ratio(hits, below), relevance_threshold, k)


@metric(names=("f", "f1"))
def f_score(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    beta: Number = 1.0,
    relevance_threshold: Number = 1.0,
) -> PerList:
    """F_β: `(1 + β²)·P·R / (β²·P + R)` of precision and recall at k, as by default.

    Undefined (nothing relevant in the pool): 0.

    Takes the arguments of `rank` too, but for its k.

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
    beta = _inputs.positive("beta", beta)
    # With h hits among d items and R relevant ones it is (1 + β²)·h / (β²·R + d):
    # linear in h, so that it is exact over the orders of ties. Divided by 1 + β², it
    # has its limits: precision for a small β, recall for a large one.
    of_depth = 1 / (1 + beta * beta)
    hits = ranking.expected_sum(relevant(relevance_threshold), positions(), ks)
    number = ranking.num_relevant(relevance_threshold)[..., None]
    values = ratio(hits, (1 - of_depth) * number + of_depth * ranking.depth(ks))
    return binary(ranking, values, relevance_threshold, k)


@metric(names=("rprec",))
def r_precision(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """R-precision: precision at rank R, R being the relevant items of the pool.

    Undefined (nothing relevant in the pool): 0. Reads whole lists.

    Takes the arguments of `rank` too, but for its k.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{r_precision(labels, scores).compute():.5f}"  # 1 of the first 2
        '0.50000'

    References:
        Manning et al. (see `precision`), section 8.4; trec_eval `Rprec`.
    """
    hit = relevant(relevance_threshold)
    number = ranking.num_relevant(relevance_threshold)
    hits = ranking.expected_sum(hit, positions(), (number,))
    values = ratio(hits, number[..., None])
    return binary(ranking, values, relevance_threshold, None)
