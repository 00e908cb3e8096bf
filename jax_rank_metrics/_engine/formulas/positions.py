"""Where the relevant items rank."""

from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places.place import Place, positions
from jax_rank_metrics._engine.ranking import Ranking
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._ground.gains import linear_gain, reciprocal_discount
from jax_rank_metrics._values.per_list import PerList


def _tie_reading(options: dict[str, Any]) -> types.TieReading:
    return "order" if options["denominator"] == "hits" else "expected"


@metric(names=("ap", "map", "gm_map"), ties=_tie_reading, is_share=True)
def average_precision(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    denominator: types.AveragePrecisionDenominator = "relevant",
    relevance_threshold: types.Number = 1.0,
) -> PerList:
    """Average precision: the mean precision at the ranks of the relevant items.

    .. math:: AP@k = (1 / R) · Σ_{r ≤ k} rel_r · P@r

    rel_r is 1 if the item at rank r is relevant, else 0. R is the number of relevant items
    of the pool; a relevant item without a rank up to k adds 0. Weights of items multiply
    the terms of the sum, relative to the mean weight of relevant items.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        denominator: The divisor of the sum. "relevant" is R; "attainable" is min(k, R);
            "hits" is the number of relevant items at ranks 1..k (the value is 0 if there
            is no such item); "k" is the cutoff itself. Without a cutoff, k is the number of
            items retrieved. "hits" has no closed form over ties.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{average_precision(labels, scores).compute():.5f}"  # (1/1 + 2/3) / 2
        '0.83333'

    References:
        Manning et al. (see `precision`), section 8.4. "relevant" agrees with trec_eval
        `map` and `map_cut`, ranx, rax, keras_rs and metrax; "attainable" with RecBole and
        recommenders' `map_at_k`; "hits" with torchmetrics; "k" with an option of RecTools.
    """
    inputs.option("denominator", denominator, types.AveragePrecisionDenominator)
    threshold = inputs.positive("relevance_threshold", relevance_threshold)
    ks, hit = ranking.cutoffs(k), label_fns.is_relevant(threshold)

    sums = label_fns.weighted_sum(ranking, hit, precision_at, ks, counted_fns=(hit,))
    divisor = ranking.num_relevant(threshold)[..., None]
    if denominator == "attainable":
        divisor = jnp.minimum(divisor, ranking.depth(ks, nominal=True))
    elif denominator == "hits":
        divisor = ranking.expected_sum(hit, positions(), ks)
    elif denominator == "k":
        divisor = ranking.depth(ks, nominal=True)
    return label_fns.per_list_if_relevant(ranking, ratio(sums, divisor), threshold, k)


@by_options
def _precision_at(
    place: Place, k: types.Cut, *, position_fn: types.Discount
) -> jax.Array:
    """Returns the expected precision at the rank of a relevant item, 0 beyond k.

    Use it as `expected_sum(item_fn, precision_at, ks, counting=(item_fn,))` with a function
    `item_fn` that is True for relevant items. Without ties, a relevant item at rank 3 has
    the precision 2/3 if one item above it is relevant; for an item in a tie group, the
    result is the mean over the orders of the group.
    """
    # Let q be the share of relevant items among the rest of the tie group. If j items of
    # the group stand before this item, j·q of them are relevant on average. At its rank,
    # r = above + j + 1, the precision is therefore (hits_above + 1 + j·q) / r, which is
    # (hits_above + 1 − q·(above + 1)) / r + q. The sum over the ranks of the group up to k
    # therefore needs only the sum of 1 / r, `position_fn`, and the number of these ranks.
    (hits_above,), (hits_tied,) = place.counted_above, place.counted_tied
    q = (hits_tied - 1) / jnp.maximum(place.tied - 1, 1)
    reciprocals = place.sum(position_fn, k)
    sums = (hits_above + 1 - q * (place.above + 1)) * reciprocals + q * place.within(k)
    return sums / place.tied


precision_at = _precision_at(reciprocal_discount)


@metric(names=("mean_average_precision_at_r",), is_share=True)
def map_at_r(ranking: Ranking, *, relevance_threshold: types.Number = 1.0) -> PerList:
    """MAP@R: average precision at rank R, the number of relevant items of the pool.

    .. math:: MAP@R = (1 / R) · Σ_{r ≤ R} rel_r · P@r

    It is 1 only if all relevant items are at the first R ranks. R-precision counts the hits
    at these ranks; MAP@R counts each hit by the precision at its rank, so that early hits
    count more. Weights of items multiply the terms, as in `average_precision`.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Also accepts the
    arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{map_at_r(labels, scores).compute():.5f}"  # (0 + 1/2) / 2
        '0.25000'

    References:
        Musgrave, Belongie and Lim, A metric learning reality check, ECCV 2020. Agrees with
        `mean_average_precision_at_r` of pytorch-metric-learning, which leaves out
        undefined lists (`undefined="skip"`).
    """
    hit = label_fns.is_relevant(relevance_threshold)
    num_relevant = ranking.num_relevant(relevance_threshold)
    sums = label_fns.weighted_sum(
        ranking, hit, precision_at, (num_relevant,), counted_fns=(hit,)
    )
    values = ratio(sums, num_relevant[..., None])
    return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, None)


@metric(names=("inp", "minp"), ties="own", is_share=True)
def inverse_negative_penalty(
    ranking: Ranking, *, relevance_threshold: types.Number = 1.0
) -> PerList:
    """Inverse negative penalty: R over the rank of the last relevant item.

    .. math:: INP = R / r_{last}

    R is the number of relevant items of the pool. A user who wants all of them reads down
    to rank r_last, and INP is the share of relevant items among the items read. If the
    last relevant item ties with other items, r_last is the last rank of the tie group,
    under every tie policy. The mean over queries is called mINP.

    Undefined (nothing relevant in the pool, or a relevant item has no rank): 0. Reads
    whole lists. Also accepts the arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{inverse_negative_penalty(labels, scores).compute():.5f}"  # 2/3
        '0.66667'

    References:
        Ye, Shen, Lin, Xiang, Shao and Hoi, Deep learning for person re-identification: a
        survey and outlook, IEEE TPAMI 44(6), 2022. Agrees with the mINP of fast-reid,
        which leaves out queries without a match (`undefined="skip"`).
    """
    hit = label_fns.is_relevant(relevance_threshold)
    num_relevant = ranking.num_relevant(relevance_threshold)
    num_ranked = ranking.expected_sum(hit, positions(), (None,))[..., 0]
    last_ranks = ranking.expected_max(hit, label_fns.last_rank, (None,))
    values = ratio(num_relevant[..., None], last_ranks)
    has_all_ranks = (num_relevant > 0) & (num_ranked >= num_relevant)
    return ranking.per_list(values, has_all_ranks, None, hit)


def _mean_rank(place: Place, k: types.Cut) -> jax.Array:
    del k
    return place.above + (place.tied + 1) / 2


@metric(names=("arp", "mean_rank"), lower_is_better=True)
def average_relevance_position(
    ranking: Ranking, *, gain_fn: types.Gain = linear_gain
) -> PerList:
    """Average relevance position: the mean rank of the items, weighted by gain.

    .. math:: ARP = Σ_i g_i · r_i / Σ_i g_i

    The sums are over the items i that have a rank r_i. Lower is better; 1 is the best.

    Undefined (no ranked item has a gain above 0): 0. Reads whole lists. Also accepts
    the arguments of `rank`.

    Args:
        gain_fn: Maps labels to gains, which must not be negative.

    Example:
        >>> labels, scores = jnp.array([1, 0, 2]), jnp.array([0.9, 0.8, 0.7])
        >>> state = average_relevance_position(labels, scores)
        >>> f"{state.compute():.5f}"  # (1·1 + 2·3) / 3
        '2.33333'

    References:
        Zhu, Recall, precision and average precision, 2004. Agrees per list with
        TF-Ranking `ARPMetric`, whose mean weights each list by Σ gain·weight; pass this
        sum as `list_weights`.
    """
    gain = label_fns.scaled(label_fns.gain_of(ranking, gain_fn))
    weighted_ranks = ranking.expected_sum(gain, _mean_rank, (None,))
    gains = ranking.expected_sum(gain, positions(), (None,))
    return label_fns.per_list_where(
        ranking, ratio(weighted_ranks, gains), gains[..., 0] > 0
    )
