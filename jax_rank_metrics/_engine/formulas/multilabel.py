"""Measures of multi-label ranking, each with its own rule for ties."""

import jax

from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.formulas.order_agreement import misplaced_share
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places.place import Place
from jax_rank_metrics._engine.ranking import Ranking
from jax_rank_metrics._ground import arithmetic
from jax_rank_metrics._ground.types import Cut, Number
from jax_rank_metrics._values.per_list import PerList


@metric(ties="own", lower_is_better=True, is_share=True)
def label_ranking_loss(
    ranking: Ranking, *, relevance_threshold: Number = 1.0
) -> PerList:
    """Label ranking loss: the share of (relevant, other) pairs out of order.

    A pair of tied scores is out of order, under every tie policy. Lower is better.

    Undefined (no relevant item, or no other item, has a rank): 0. Reads whole lists.
    Also accepts the arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> import jax.numpy as jnp
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{label_ranking_loss(labels, scores).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        Tsoumakas, Katakis and Vlahavas, Mining multi-label data, 2010. Agrees with
        scikit-learn's `label_ranking_loss`.
    """
    shares, has_pairs = misplaced_share(
        ranking, relevance_threshold, tie_cost=1.0, weighs_pairs=False
    )
    hit = label_fns.is_relevant(relevance_threshold)
    return ranking.per_list(shares, has_pairs, None, hit)


@metric(names=("lrap",), ties="own", is_share=True)
def label_ranking_average_precision(
    ranking: Ranking, *, relevance_threshold: Number = 1.0
) -> PerList:
    """Label ranking average precision: the mean precision at the relevant items.

    .. math:: LRAP = (1 / R) · Σ_i h_i / n_i

    The sum is over the relevant items i that have a rank; R is the number of relevant
    items of the pool. n_i items score at least as high as i, and h_i of them are relevant.
    A tied item is thus read at the last rank of its tie group, under every tie policy.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Also accepts the
    arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> import jax.numpy as jnp
        >>> labels, scores = jnp.array([0, 1, 1]), jnp.array([0.9, 0.9, 0.7])
        >>> state = label_ranking_average_precision(labels, scores)
        >>> f"{state.compute():.5f}"  # (1/2 + 2/3) / 2
        '0.58333'

    References:
        Tsoumakas et al. (see `label_ranking_loss`). Agrees with scikit-learn's
        `label_ranking_average_precision_score`; with `undefined="one"`, also for lists
        without relevant items.
    """
    hit = label_fns.is_relevant(relevance_threshold)

    sums = ranking.expected_sum(hit, _precision, (None,), counting=(hit,))
    num_relevant = ranking.num_relevant(relevance_threshold)[..., None]
    values = arithmetic.ratio(sums, num_relevant)
    return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, None)


def _precision(place: Place, k: Cut) -> jax.Array:
    (hits_above,), (hits_tied,) = place.counted_above, place.counted_tied
    return (hits_above + hits_tied) / (place.above + place.tied)


@metric(ties="own", lower_is_better=True)
def coverage_error(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """Coverage error: the rank of the last relevant item.

    It is the number of items that score at least as high as the last relevant item that has
    a rank; items that tie with this item count, under every tie policy. Lower is better.

    Undefined (no relevant item has a rank): 0. Reads whole lists. Also accepts the
    arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> import jax.numpy as jnp
        >>> labels, scores = jnp.array([1, 0, 1, 0]), jnp.array([0.9, 0.8, 0.7, 0.6])
        >>> f"{coverage_error(labels, scores).compute():.1f}"
        '3.0'

    References:
        Tsoumakas et al. (see `label_ranking_loss`). Agrees with scikit-learn's
        `coverage_error`.
    """
    hit = label_fns.is_relevant(relevance_threshold)
    values = ranking.expected_max(hit, label_fns.last_rank, (None,))
    return ranking.per_list(values, values[..., 0] > 0, None, hit)
