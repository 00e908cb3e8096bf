"""Cumulated gain: the sum of the gains at the first ranks, discounted or not."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Ranking, data_of
from jax_rank_metrics._ground import arithmetic, gains
from jax_rank_metrics._ground.types import Cutoffs, Discount, Gain
from jax_rank_metrics._values import per_list


@metric(linear=True)
def cg(
    ranking: Ranking, *, k: Cutoffs = None, gain_fn: Gain = gains.linear_gain
) -> per_list.PerList:
    """Cumulated gain: the sum of the gains at ranks 1..k.

    .. math:: CG@k = Σ_{r ≤ k} g_r

    g_r is the gain of the item at rank r. Weights of items multiply gains, relative to
    the mean weight; see `rank`.

    Undefined (no list): every list that exists has a value. Also accepts the
    arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        gain_fn: Maps labels to gains, which must not be negative.

    Example:
        >>> state = cg(jnp.array([3, 2, 3]), jnp.array([0.9, 0.8, 0.7]), k=2)
        >>> f"{state.compute():.5f}"  # 3 + 2
        '5.00000'

    References:
        Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM
        TOIS 20(4), 2002, section 2.1.
    """
    return _cumulated(ranking, k, gain_fn, place.positions())


@metric(linear=True)
def dcg(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    gain_fn: Gain = gains.exponential_gain,
    discount_fn: Discount = gains.log2_discount,
) -> per_list.PerList:
    """Discounted cumulated gain: the sum of gain times discount at ranks 1..k.

    .. math:: DCG@k = Σ_{r ≤ k} g_r · d(r)

    By default the gain of a label y is 2^y − 1, and the discount 1 / log2(1 + r). Weights
    of items multiply gains, relative to the mean weight; see `rank`.

    Undefined (no list): every list that exists has a value. Also accepts the
    arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        gain_fn: Maps labels to gains, which must not be negative.
        discount_fn: Maps ranks 1, 2, … to multipliers, rank by rank.

    Example:
        >>> state = dcg(jnp.array([3, 2, 3]), jnp.array([0.9, 0.8, 0.7]), k=2)
        >>> f"{state.compute():.5f}"  # 7 + 3 / log2(3)
        '8.89279'

    References:
        Järvelin and Kekäläinen (see `cg`); Burges et al., ICML 2005, for the gain
        2^y − 1. With `linear_gain` it agrees with scikit-learn's `dcg_score`; both
        average over ties.
    """
    return _cumulated(ranking, k, gain_fn, place.positions(discount_fn))


@metric(is_share=True)
def ndcg(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    gain_fn: Gain = gains.exponential_gain,
    discount_fn: Discount = gains.log2_discount,
) -> per_list.PerList:
    """Normalised DCG: DCG@k divided by the DCG@k of the ideal order of the pool.

    .. math:: nDCG@k = DCG@k / IDCG@k

    The ideal order has the largest gains first, and includes judged items that were not
    retrieved. A perfect ranking without ties has the value 1 exactly. Weights of items
    multiply gains, in the ideal order too.

    Undefined (no gain above 0 in the pool): 0. The value is finite if every gain is finite,
    and NaN for a list with a gain that overflows. It is never clipped. Also accepts the
    arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        gain_fn: Maps labels to gains, which must not be negative.
        discount_fn: Maps ranks 1, 2, … to multipliers, rank by rank.

    Example:
        >>> state = ndcg(jnp.array([2, 3, 0]), jnp.array([0.9, 0.8, 0.7]))
        >>> f"{state.compute():.5f}"  # (3 + 7 / log2(3)) / (7 + 3 / log2(3))
        '0.83399'

    References:
        Järvelin and Kekäläinen (see `cg`). Without ties it agrees with rax `ndcg_metric`
        and keras_rs `NDCG`; with `linear_gain`, with scikit-learn's `ndcg_score` and
        trec_eval `ndcg_cut`.
    """
    ks, gain = ranking.cutoffs(k), label_fns.gain_of(ranking, gain_fn)
    # Skip the mean item weight: it would divide both DCG and ideal, and cancel.
    has_weights = data_of(ranking).has_item_weights
    item_fn = label_fns.weighted(gain) if has_weights else label_fns.scaled(gain)
    monotone = gain_fn in gains.MONOTONE_GAINS and not has_weights
    dcg_values = ranking.expected_sum(item_fn, place.positions(discount_fn), ks)
    ideal = ranking.ideal_sum(item_fn, discount_fn, ks, monotone=monotone)
    first = ideal
    if discount_fn not in gains.POSITIVE_DISCOUNTS:
        # IDCG cannot tell if the pool has a gain: a discount may be 0 at ranks 1..k.
        first = ranking.ideal_sum(item_fn, jnp.ones_like, (1,), monotone=monotone)
    values = arithmetic.ratio(dcg_values, ideal)
    return ranking.per_list(values, first[..., 0] > 0, k, gain)


def _cumulated(
    ranking: Ranking, k: Cutoffs, gain_fn: Gain, place_fn: Callable[..., jax.Array]
) -> per_list.PerList:
    """Sums gains over ranks 1..k, each multiplied by the value of `place_fn`."""
    gain = label_fns.gain_of(ranking, gain_fn)
    values = label_fns.weighted_sum(ranking, gain, place_fn, ranking.cutoffs(k))
    return ranking.per_list(values, True, k, gain)
