"""Cumulated gain: how much relevance the first ranks hold, discounted or not."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jax_rank_metrics._gains import (
    RISING,
    exponential_gain,
    linear_gain,
    log2_discount,
)
from jax_rank_metrics._metric import metric
from jax_rank_metrics._per_list import PerList
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._sums import exponent, ratio, scale
from jax_rank_metrics._types import Cutoffs, Discount, Gain

PerItem = Callable[[Items], jax.Array]


@metric()
def cg(ranking: Ranking, *, k: Cutoffs = None, gain_fn: Gain = linear_gain) -> PerList:
    """Cumulated gain: `Σ gain` over ranks 1..k.

    Undefined (never): every list that exists has a value.

    Args:
        k: Cutoff, or a tuple of them.
        gain_fn: Maps labels to gains that are not negative.

    Example:
        >>> state = cg(jnp.array([3, 2, 3]), jnp.array([0.9, 0.8, 0.7]), k=2)
        >>> f"{state.compute():.5f}"  # 3 + 2
        '5.00000'

    References:
        Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM
        TOIS 20(4), 2002, section 2.1.
    """
    return _gained(ranking, k, gain_fn, jnp.ones_like)


@metric()
def dcg(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    gain_fn: Gain = exponential_gain,
    discount_fn: Discount = log2_discount,
) -> PerList:
    """Discounted cumulated gain: `Σ gain·discount` over ranks 1..k.

    Undefined (never): every list that exists has a value.

    Args:
        k: Cutoff, or a tuple of them.
        gain_fn: Maps labels to gains that are not negative; a gain that overflows
            makes the value inf.
        discount_fn: Maps ranks 1, 2, … to multipliers, each for itself.

    Example:
        >>> state = dcg(jnp.array([3, 2, 3]), jnp.array([0.9, 0.8, 0.7]), k=2)
        >>> f"{state.compute():.5f}"  # 7 + 3 / log2(3)
        '8.89279'

    References:
        Järvelin and Kekäläinen (see `cg`); Burges et al., ICML 2005, for the gain
        2^label − 1. With `linear_gain`, the same as scikit-learn's `dcg_score`; both
        average over ties.
    """
    return _gained(ranking, k, gain_fn, discount_fn)


@metric(reads_ideal=True)
def ndcg(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    gain_fn: Gain = exponential_gain,
    discount_fn: Discount = log2_discount,
) -> PerList:
    """Normalised DCG: `DCG / ideal DCG`, the ideal from the whole pool, cut at k.

    Undefined (no gain above 0 in the pool): 0. Finite whenever every gain is; a gain
    that overflows counts as the only one. Never clipped.

    Args:
        k: Cutoff, or a tuple of them.
        gain_fn: Maps labels to gains that are not negative.
        discount_fn: Maps ranks 1, 2, … to multipliers, each for itself.

    Example:
        >>> state = ndcg(jnp.array([2, 3, 0]), jnp.array([0.9, 0.8, 0.7]))
        >>> f"{state.compute():.5f}"  # (3 + 7 / log2(3)) / (7 + 3 / log2(3))
        '0.83399'

    References:
        Järvelin and Kekäläinen (see `cg`). Without ties the same as rax `ndcg_metric`
        and keras_rs `NDCG`; with `linear_gain`, scikit-learn's `ndcg_score` and
        trec_eval `ndcg_cut`.
    """
    ks = ranking.cutoffs(k)
    ranking.check_gain(gain_fn)
    own = _gains(gain_fn)
    if ranking.weighs_items:
        # Scaled first: gains times weights might overflow.
        largest = ranking.pool_max(own)
        gains = _scaled(own, largest)
        best = ranking.best(_weighed(gains), ks)
    else:
        best = ranking.best(own, ks, gain_fn in RISING)
        largest = best.first()
        gains = _scaled(own, largest)
        best = best._replace(values=_scale(best.values, best.axis.spread(largest)))
    found = _discounted(ranking, gains, discount_fn, ks)
    values = ratio(found, best.sum_to(discount_fn, ks))
    # The mean item weight divides both, so it cancels.
    return ranking.per_list(values, largest > 0, ranking.item_weight(gains), k)


def _gained(
    ranking: Ranking, k: Cutoffs, gain_fn: Gain, discount_fn: Discount
) -> PerList:
    ks = ranking.cutoffs(k)
    ranking.check_gain(gain_fn)
    gains = _gains(gain_fn)
    values = _discounted(ranking, gains, discount_fn, ks)
    item_weight = ranking.item_weight(_scaled(gains, ranking.pool_max(gains)))
    if item_weight is not None:
        values = ratio(values, item_weight[..., None])
    return ranking.per_list(values, ranking.counts, item_weight, k)


def _discounted(
    ranking: Ranking, gains: PerItem, discount_fn: Discount, ks: tuple[int | None, ...]
) -> jax.Array:
    def read(one: Ranking) -> jax.Array:
        return one.discounted_sum(one.mean_at_rank(_weighed(gains)), discount_fn, ks)

    return ranking.over_ties(read)


def _gains(gain_fn: Gain) -> PerItem:
    return lambda items: items.where_exist(
        gain_fn(items.labels).astype(items.labels.dtype)
    )


def _weighed(gains: PerItem) -> PerItem:
    def weighed(items: Items) -> jax.Array:
        if items.weights is None:
            return gains(items)
        return items.where_exist(gains(items) * items.weights)

    return weighed


def _scaled(gains: PerItem, largest: jax.Array) -> PerItem:
    return lambda items: _scale(gains(items), items.axis.spread(largest))


def _scale(gains: jax.Array, largest: jax.Array) -> jax.Array:
    """Gains times a power of two that makes the largest of the pool about 1.

    That rounds nothing, and no sum of them overflows, whatever the labels.
    """
    finite = scale(gains, -exponent(largest))
    return jnp.where(jnp.isinf(largest), (gains == largest).astype(gains.dtype), finite)
