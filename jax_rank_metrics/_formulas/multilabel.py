"""The measures of multi-label ranking, which say themselves what ties mean."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.agreement import misplaced
from jax_rank_metrics._formulas.shared import binary, relevant
from jax_rank_metrics._places.place import Place
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cut, Number


@metric(ties="own", lower_is_better=True)
def label_ranking_loss(
    ranking: Ranking, *, relevance_threshold: Number = 1.0
) -> PerList:
    """Of the pairs of a relevant and a non-relevant item, the share not in order.

    Tied scores are not in order, under every policy of ties. Less is better.

    Undefined (nothing relevant, or nothing else, has a rank): 0. Reads whole lists.

    Takes the arguments of `rank` too, but for its k.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{label_ranking_loss(labels, scores).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        Tsoumakas, Katakis and Vlahavas, Mining multi-label data, 2010. The same as
        scikit-learn's `label_ranking_loss`.
    """
    shares, defined = misplaced(ranking, relevance_threshold, 1.0)
    hit = relevant(relevance_threshold)
    return ranking.per_list(shares, defined, None, hit)


@metric(names=("lrap",), ties="own")
def label_ranking_average_precision(
    ranking: Ranking, *, relevance_threshold: Number = 1.0
) -> PerList:
    """The mean over relevant items of the precision among all that score as high.

    `(relevant scoring ≥ it) / (items scoring ≥ it)`: an item that ties with others
    stands at the last of their ranks, under every policy of ties.

    Undefined (nothing relevant in the pool): 0. Reads whole lists.

    Takes the arguments of `rank` too, but for its k.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 1, 1]), jnp.array([0.9, 0.9, 0.7])
        >>> state = label_ranking_average_precision(labels, scores)
        >>> f"{state.compute():.5f}"  # (1/2 + 2/3) / 2
        '0.58333'

    References:
        Tsoumakas et al. (see `label_ranking_loss`). The same as scikit-learn's
        `label_ranking_average_precision_score`, with `undefined="one"` also where
        nothing is relevant.
    """
    hit = relevant(relevance_threshold)

    def precision(place: Place, k: Cut) -> jax.Array:
        (hits,), (tied,) = place.counted_above, place.counted_tied
        return (hits + tied) / (place.above + place.tied)

    sums = ranking.expected_sum(hit, precision, (None,), counting=(hit,))
    total = ranking.num_relevant(relevance_threshold)[..., None]
    return binary(ranking, ratio(sums, total), relevance_threshold, None)


@metric(ties="own", lower_is_better=True)
def coverage_error(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """How far down the list its last relevant item is: items that score as high.

    Those that tie with it count, under every policy of ties. Less is better.

    Undefined (no relevant item has a rank): 0. Reads whole lists.

    Takes the arguments of `rank` too, but for its k.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1, 0]), jnp.array([0.9, 0.8, 0.7, 0.6])
        >>> f"{coverage_error(labels, scores).compute():.1f}"
        '3.0'

    References:
        Tsoumakas et al. (see `label_ranking_loss`). The same as scikit-learn's
        `coverage_error`.
    """

    def last(place: Place, k: Cut) -> jax.Array:
        del k
        return jnp.add(place.above, place.tied)

    hit = relevant(relevance_threshold)
    values = ranking.expected_max(hit, last, (None,))
    return ranking.per_list(values, values[..., 0] > 0, None, hit)
