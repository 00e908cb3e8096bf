"""Numbers of items, and the share of judged items among the first ranks."""

import jax.numpy as jnp

from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Ranking, data_of
from jax_rank_metrics._ground import arithmetic
from jax_rank_metrics._ground.types import Cutoffs, Number
from jax_rank_metrics._values.per_list import PerList


@metric(optional_columns=("judged",), lower_is_better=None, is_share=True)
def judged(ranking: Ranking, *, k: Cutoffs = None) -> PerList:
    """Judged share: the share of the items at ranks 1..k that were judged.

    It tells how far the other metrics of a system can be trusted. Neither direction is
    better.

    Undefined (no list): the value is 0 if nothing was retrieved. Also accepts the
    arguments of `rank`. Reads the bool column `judged`. Without it, every item counts
    as judged; in rankings from places or relevant ids, only the listed items do.

    Args:
        k: Cutoff or cutoffs.

    Example:
        >>> labels, scores = jnp.array([1, 0, 0]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"judged": jnp.array([True, False, True])}
        >>> f"{judged(labels, scores, k=2, columns=columns).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        Agrees with ir_measures `Judged@k`.
    """
    label_fns.check_judged(ranking)
    ks = ranking.cutoffs(k)
    num_judged = ranking.depth(ks)
    if "judged" in data_of(ranking).column_names:
        num_judged = ranking.expected_sum(label_fns.is_judged, place.positions(), ks)
    return label_fns.per_list_where(
        ranking, arithmetic.ratio(num_judged, ranking.depth(ks)), True, k
    )


@metric(names=("num_rel_ret",), lower_is_better=None, linear=True)
def num_relevant_retrieved(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """Number of relevant items at ranks 1..k. Neither direction is better.

    Undefined (no list): every list that exists has a value. Also accepts the
    arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> num_relevant_retrieved(labels, scores, k=(2, 3)).compute().tolist()
        [1.0, 2.0]

    References:
        Agrees with trec_eval `num_rel_ret`, query by query.
    """
    hit = label_fns.is_relevant(relevance_threshold)
    values = ranking.expected_sum(hit, place.positions(), ranking.cutoffs(k))
    return ranking.per_list(values, True, k, hit)


@metric(
    names=("num_nonrel_judged_ret",), optional_columns=("judged",), lower_is_better=None
)
def num_nonrelevant_retrieved(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """Number of items at ranks 1..k that were judged and are not relevant.

    Neither direction is better.

    Undefined (no list): every list that exists has a value. Also accepts the
    arguments of `rank`. Reads the bool column `judged`. Without it, every item counts
    as judged; in rankings from places or relevant ids, only the listed items do.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 0]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"judged": jnp.array([True, False, True])}
        >>> state = num_nonrelevant_retrieved(labels, scores, k=(2, 3), columns=columns)
        >>> state.compute().tolist()
        [0.0, 1.0]

    References:
        Agrees with trec_eval `num_nonrel_judged_ret`, query by query.
    """
    label_fns.check_judged(ranking)
    hit, ks = label_fns.is_relevant(relevance_threshold), ranking.cutoffs(k)
    if "judged" in data_of(ranking).column_names:
        values = ranking.expected_sum(
            label_fns.and_not(label_fns.is_judged, hit), place.positions(), ks
        )
    else:
        values = ranking.depth(ks) - ranking.expected_sum(hit, place.positions(), ks)
    return ranking.per_list(values, True, k, hit)


@metric(names=("num_ret", "numret"), lower_is_better=None)
def num_retrieved(ranking: Ranking, *, k: Cutoffs = None) -> PerList:
    """Number of items at ranks 1..k. Neither direction is better.

    Undefined (no list): every list that exists has a value. Also accepts the
    arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> num_retrieved(labels, scores, k=(2, 5)).compute().tolist()
        [2.0, 3.0]

    References:
        Agrees with trec_eval `num_ret`, query by query.
    """
    return label_fns.per_list_where(ranking, ranking.depth(ranking.cutoffs(k)), True, k)


@metric(names=("num_rel", "numrel"), order_free=True, lower_is_better=None)
def num_relevant(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """Number of relevant items of the pool. Neither direction is better.

    Undefined (no list): every list that exists has a value. Also accepts the
    arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{num_relevant(labels, scores).compute():.1f}"
        '2.0'

    References:
        Agrees with trec_eval `num_rel`, query by query.
    """
    hit = label_fns.is_relevant(relevance_threshold)
    values = jnp.expand_dims(ranking.num_relevant(relevance_threshold), -1)
    return ranking.per_list(values, True, None, hit)
