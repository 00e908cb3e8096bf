"""Where the relevant items stand."""

from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.shared import (
    binary,
    gains,
    plain,
    relevant,
    scaled,
    weighed_sum,
)
from jax_rank_metrics._gains import linear_gain, reciprocal_discount
from jax_rank_metrics._places.place import Place, positions
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import (
    AveragePrecisionDenominator,
    Cut,
    Cutoffs,
    Gain,
    Number,
    TieReading,
)


def _tie_reading(options: dict[str, Any]) -> TieReading:
    return "order" if options["denominator"] == "hits" else "expected"


@metric(names=("ap", "map", "gm_map"), ties=_tie_reading)
def average_precision(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: AveragePrecisionDenominator = "relevant",
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Average precision: `Σ precision@rank` over relevant ranks up to k, / denominator.

    Undefined (nothing relevant in the pool): 0.

    Takes the arguments of `rank` too, but for its k.

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
    _inputs.option("denominator", denominator, AveragePrecisionDenominator)
    threshold = _inputs.positive("relevance_threshold", relevance_threshold)
    ks, hit = ranking.cutoffs(k), relevant(threshold)

    values = weighed_sum(ranking, hit, precision_at, ks, counting=(hit,))
    total = ranking.num_relevant(threshold)[..., None]
    if denominator == "attainable":
        total = jnp.minimum(total, ranking.depth(ks, nominal=True))
    elif denominator == "hits":
        total = ranking.expected_sum(hit, positions(), ks)
    elif denominator == "k":
        total = ranking.depth(ks, nominal=True)
    return binary(ranking, ratio(values, total), threshold, k)


def precision_at(place: Place, k: Cut) -> jax.Array:
    """The expected precision at the rank of an item that is counted, 0 beyond k."""
    # In its group's place j a relevant item has j·q of the group's other relevant
    # items before it, on average, and all relevant items above.
    (before,), (tied,) = place.counted_above, place.counted_tied
    q = (tied - 1) / jnp.maximum(place.tied - 1, 1)
    inverse = place.sum(reciprocal_discount, k)
    sums = (before + 1 - q * (place.above + 1)) * inverse + q * place.within(k)
    return sums / place.tied


@metric(names=("hr", "hit", "success"), order_free=True)
def hit_rate(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """Hit rate, or success: 1 if any of ranks 1..k is relevant.

    Undefined (nothing relevant in the pool): 0. Reads only the best relevant item, so
    it needs no sort, at any cutoff.

    Takes the arguments of `rank` too, but for its k.

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
    hit = relevant(relevance_threshold)
    # As reciprocal rank asks, so that both take one look.
    _, missed = ranking.expected_first(hit, reciprocal_discount, ks)
    return binary(ranking, 1 - missed, relevance_threshold, k)


@metric(names=("rr", "mrr"), order_free=True)
def reciprocal_rank(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """Reciprocal rank: `1 / rank` of the first relevant item, 0 beyond k.

    Undefined (nothing relevant in the pool): 0. Reads only the best relevant item, so
    it needs no sort, at any cutoff and without one.

    Under `relax`, where no item is the first: the mean of `1 / rank` over the relevant
    items of the pool.

    Takes the arguments of `rank` too, but for its k.

    Args:
        k: Cutoff, or a tuple of them.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{reciprocal_rank(labels, scores).compute():.5f}"  # 1/3
        '0.33333'

    References:
        Voorhees, The TREC-8 question answering track report, 1999. The same as
        trec_eval `recip_rank`, ranx, rax and keras_rs without ties. Bruch, Zoghi,
        Bendersky and Najork, Revisiting approximate metric optimization in the age of
        deep neural networks, SIGIR 2019, for `relax`: TF-Ranking's ApproxMRR.
    """
    hit = relevant(relevance_threshold)
    ks = ranking.cutoffs(k)
    if ranking._is_soft:
        sums = ranking.expected_sum(hit, positions(reciprocal_discount), ks)
        values = ratio(sums, ranking.num_relevant(relevance_threshold)[..., None])
    else:
        values, _ = ranking.expected_first(hit, reciprocal_discount, ks)
    return binary(ranking, values, relevance_threshold, k)


def _mean_rank(place: Place, k: Cut) -> jax.Array:
    del k
    return place.above + (place.tied + 1) / 2


@metric(names=("arp", "mean_rank"), lower_is_better=True)
def average_relevance_position(
    ranking: Ranking, *, gain_fn: Gain = linear_gain
) -> PerList:
    """Average relevance position: the mean rank of the items, weighed by gain.

    `Σ gain·rank / Σ gain` over the items that have a rank. Less is better, and 1 is best.

    Undefined (none of these gains anything): 0. Reads whole lists.

    Takes the arguments of `rank` too, but for its k.

    Args:
        gain_fn: Maps labels to gains that are not negative.

    Example:
        >>> labels, scores = jnp.array([1, 0, 2]), jnp.array([0.9, 0.8, 0.7])
        >>> state = average_relevance_position(labels, scores)
        >>> f"{state.compute():.5f}"  # (1·1 + 2·3) / 3
        '2.33333'

    References:
        Zhu, Recall, precision and average precision, 2004. The same per list as
        TF-Ranking `ARPMetric`, whose mean takes `Σ gain·w` as the weight of a list; pass
        that as `list_weights`.
    """
    gain = scaled(gains(gain_fn))
    ranks = ranking.expected_sum(gain, _mean_rank, (None,))
    total = ranking.expected_sum(gain, positions(), (None,))
    return plain(ranking, ratio(ranks, total), total[..., 0] > 0)
