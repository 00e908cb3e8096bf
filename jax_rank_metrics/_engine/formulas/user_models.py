"""Models of a user who goes down the list and may stop anywhere."""

import math

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Items, Ranking
from jax_rank_metrics._ground import arithmetic, gains, inputs, types
from jax_rank_metrics._values import per_list


@metric(names=("rbp",), linear=True, is_share=True)
def rank_biased_precision(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    p: float = 0.8,
    max_label: types.Number | None = None,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Rank-biased precision: the relevance per item seen by a user who continues at random.

    .. math:: RBP@k = (1 − p) · Σ_{r ≤ k} p^{r − 1} · rel_r

    The user continues from each rank to the next with the probability p, and rel_r is the
    relevance of the item at rank r. Even a perfect list has a value below 1.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        p: Probability of continuing to the next rank, above 0 and below 1.
        max_label: If None, relevance is binary. Otherwise it is label / max_label,
            clipped at 1.
        relevance_threshold: Least label of a relevant item; not read with `max_label`.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{rank_biased_precision(labels, scores, p=0.5).compute():.5f}"  # 1/2 + 1/8
        '0.62500'

    References:
        Moffat and Zobel, Rank-biased precision for measurement of retrieval
        effectiveness, ACM TOIS 27(1), 2008. Agrees with cwl_eval `RBP` for binary labels.
    """
    p = inputs.open_fraction("p", p)
    place_fn = place.positions(label_fns.persistence(p))
    if max_label is None:
        hit = label_fns.is_relevant(relevance_threshold)
        values = (1 - p) * ranking.expected_sum(hit, place_fn, ranking.cutoffs(k))
        return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, k)
    relevance = label_fns.graded_relevance(inputs.positive("max_label", max_label))
    values = (1 - p) * ranking.expected_sum(relevance, place_fn, ranking.cutoffs(k))
    return label_fns.per_list_where(ranking, values, ranking.pool_max(relevance) > 0, k)


@metric(names={"err": {}, "nerr": {"normalized": True}}, is_share=True)
def expected_reciprocal_rank(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    max_label: types.Number = 4.0,
    normalized: bool = False,
) -> per_list.PerList:
    """Expected reciprocal rank: the mean of 1 / rank at which a user stops.

    .. math:: ERR@k = Σ_{r ≤ k} (1 / r) · s_r · Π_{i < r} (1 − s_i)

    A user who reaches the item at rank r stops there with the probability s_r, which is
    (2^y − 1) / 2^max_label for the label y.

    Undefined (no label above 0 in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        max_label: The largest possible label; larger labels count as this label.
        normalized: If True, the value is divided by the value of the best order of the
            pool.

    Example:
        >>> labels, scores = jnp.array([1, 2]), jnp.array([0.9, 0.8])
        >>> state = expected_reciprocal_rank(labels, scores, max_label=2)
        >>> f"{state.compute():.5f}"  # 1/4 + 3/4·3/4 / 2
        '0.53125'

    References:
        Chapelle, Metlzer, Zhang and Grinspan, Expected reciprocal rank for graded
        relevance, CIKM 2009. Agrees with gdeval and ir_measures `ERR@k`, whose largest
        label is 4. Normalised it is called nERR, and agrees with pyNTCIREVAL `nERR` for
        grades 2^y − 1.
    """
    stop_fn = _stop_chance(inputs.positive("max_label", max_label))
    inputs.flag("normalized", normalized)
    ks = ranking.cutoffs(k)
    values, _ = ranking.expected_first(stop_fn, gains.reciprocal_discount, ks)
    if normalized:
        ideal = ranking.ideal_first(stop_fn, gains.reciprocal_discount, ks)
        values = arithmetic.ratio(values, ideal)
    return label_fns.per_list_where(
        ranking, values, ranking.pool_max(label_fns.label_of) > 0, k
    )


@by_options
def _stop_chance(items: Items, *, max_label: float) -> jax.Array:
    # Compute (2^y − 1) / 2^m as (1 − 2^−y)·2^(y − m), because both factors stay within
    # the range of a float, which 2^−m itself leaves from m = 127 on.
    labels = jnp.minimum(items.labels, max_label)
    share = -jnp.expm1(-math.log(2) * labels)
    return share * jnp.exp(math.log(2) * (labels - max_label))
