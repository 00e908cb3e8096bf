"""Cumulated gain: how much relevance the first ranks hold, discounted or not."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.shared import gains, scaled, weighed, weighed_sum
from jax_rank_metrics._gains import (
    MONOTONE_GAINS,
    exponential_gain,
    linear_gain,
    log2_discount,
)
from jax_rank_metrics._places.place import positions
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cutoffs, Discount, Gain


@metric()
def cg(ranking: Ranking, *, k: Cutoffs = None, gain_fn: Gain = linear_gain) -> PerList:
    """Cumulated gain: `Σ gain` over ranks 1..k.

    Undefined (never): every list that exists has a value.

    Takes the arguments of `rank` too, but for its k.

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
    return _gained(ranking, k, gain_fn, positions())


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

    Takes the arguments of `rank` too, but for its k.

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
    return _gained(ranking, k, gain_fn, positions(discount_fn))


@metric()
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

    Takes the arguments of `rank` too, but for its k.

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
    ks, gain = ranking.cutoffs(k), gains(gain_fn)
    gained = weighed(gain) if ranking._has_item_weights else scaled(gain)
    monotone = gain_fn in MONOTONE_GAINS and not ranking._has_item_weights
    found = ranking.expected_sum(gained, positions(discount_fn), ks)
    ideal = ranking.ideal_sum(gained, discount_fn, ks, monotone=monotone)
    # Whatever a rank is worth, something must be gained.
    most = ranking.ideal_sum(gained, jnp.ones_like, (1,), monotone=monotone)
    # The mean item weight divides both, so it cancels.
    return ranking.per_list(ratio(found, ideal), most[..., 0] > 0, k, gain)


def _gained(
    ranking: Ranking, k: Cutoffs, gain_fn: Gain, place_fn: Callable[..., jax.Array]
) -> PerList:
    gain = gains(gain_fn)
    values = weighed_sum(ranking, gain, place_fn, ranking.cutoffs(k))
    return ranking.per_list(values, True, k, gain)
