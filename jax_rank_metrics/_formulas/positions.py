"""Where the relevant items stand."""

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._metric import metric
from jax_rank_metrics._per_list import PerList
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._sums import ratio
from jax_rank_metrics._tie_groups import Group
from jax_rank_metrics._types import Cutoffs, Number


@metric(closed_form=lambda own: own["denominator"] != "hits")
def average_precision(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: str = "relevant",
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Average precision: `Σ precision@rank` over relevant ranks up to k, / denominator.

    Undefined (nothing relevant in the pool): 0.

    Args:
        k: Cutoff, or a tuple of them.
        denominator: "relevant", R, all relevant items of the pool; "attainable",
            min(k, R); "hits", relevant items of ranks 1..k, with 0 where there are none;
            "k", k itself. "hits" has no closed form over ties.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{average_precision(labels, scores).compute():.5f}"  # (1/1 + 2/3) / 2
        '0.83333'

    References:
        Manning et al. (see `precision`), section 8.4. "relevant" is that of trec_eval
        `map` and `map_cut`, ranx, rax, keras_rs and metrax; "attainable" that of RecBole
        and recommenders' `map_at_k`; "hits" that of torchmetrics; "k" an option of
        RecTools.
    """
    _inputs.option("denominator", denominator, ("relevant", "attainable", "hits", "k"))
    threshold = _inputs.positive("relevance_threshold", relevance_threshold)
    ks = ranking.cutoffs(k)
    ranking = ranking.definite() if denominator == "hits" else ranking
    weight = ranking.item_weight(lambda items: items.relevant(threshold))

    def weighed(items: Items):
        assert items.weights is not None
        return jnp.where(items.relevant(threshold), items.weights, 0)

    def precision(rank: jax.Array, group: Group) -> jax.Array:
        # A relevant item in its group's place j has j·(r−1)/(n−1) of the group's other
        # relevant items before it, on average.
        tied = group.place * (group.relevant - 1) / jnp.maximum(group.size - 1, 1)
        return (1 + group.before + tied) / rank

    def precisions(ranking: Ranking) -> jax.Array:
        if ranking.weighs_items:
            relevant = ranking.mean_at_rank(weighed)
        else:
            relevant = ranking.relevant_at_rank(threshold)
        return ranking.sum_at(relevant, precision, ks, ranking.group(threshold))

    values = ranking.over_ties(precisions)
    total = ranking.num_relevant(threshold)[..., None]
    if denominator == "attainable":
        total = jnp.minimum(total, ranking.nominal_depth(ks))
    elif denominator == "hits":
        total = ranking.sum_to(ranking.relevant_at_rank(threshold), ks)
    elif denominator == "k":
        total = ranking.nominal_depth(ks)
    values = ratio(values, total)
    if weight is not None:
        values = ratio(values, weight[..., None])
    return ranking.per_list(values, ranking.num_relevant(threshold) > 0, weight, k)


@metric()
def reciprocal_rank(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """Reciprocal rank: `1 / rank` of the first relevant item, 0 beyond k.

    Undefined (nothing relevant in the pool): 0.

    Args:
        k: Cutoff, or a tuple of them.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{reciprocal_rank(labels, scores).compute():.5f}"  # 1/3
        '0.33333'

    References:
        Voorhees, The TREC-8 question answering track report, 1999. The same as
        trec_eval `recip_rank`, ranx, rax and keras_rs without ties.
    """
    threshold = _inputs.positive("relevance_threshold", relevance_threshold)
    ks = ranking.cutoffs(k)
    values = ranking.over_ties(
        lambda one: one.first_at(threshold, lambda rank: 1 / rank, ks)
    )
    weight = ranking.item_weight(lambda items: items.relevant(threshold))
    return ranking.per_list(values, ranking.num_relevant(threshold) > 0, weight, k)
