"""Two rankings: whether the ids that are in both are in the same order."""

import jax.numpy as jnp

from jax_rank_metrics._formulas.matched_ids import Cuts, Ids, Values, compare_ids
from jax_rank_metrics._formulas.order_agreement import rho, tau
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._metrics.metric import Metric
from jax_rank_metrics._ordering.matching import Matched
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.retrieved import rank_in_order
from jax_rank_metrics._states.per_list import PerList


def kendall_tau(first: Ids, second: Ids) -> PerList:
    """Kendall's tau of the order of the ids that are in both lists.

    .. math:: τ = 1 − 2 · D / P

    D of the P pairs of common ids are in opposite orders: 1 where the order is the same,
    −1 where it is reversed. There are no ties, so that tau-a and tau-b agree.

    Undefined (fewer than two common ids): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.

    Raises:
        ValueError: as `rank_biased_overlap`.
        TypeError: if ids are not integers.

    References:
        Kendall, A new measure of rank correlation, Biometrika 30, 1938; The treatment of
        ties in ranking problems, Biometrika 33, 1945. Agrees with
        `scipy.stats.kendalltau` of the ranks of the common ids.

    >>> a, b = jnp.array([1, 2, 3, 4]), jnp.array([2, 1, 7, 3])
    >>> f"{kendall_tau(a, b).values:.3f}"  # of 3 pairs, that of 1 and 2 is reversed
    '0.333'
    """
    return compare_ids(_kendall, first, second)


def spearman_rho(first: Ids, second: Ids) -> PerList:
    """Spearman's rho: the correlation of the ranks of the ids that are in both lists.

    .. math:: ρ = 1 − 6 · Σ_i d_i^2 / (n · (n^2 − 1))

    d_i is the number of ranks by which id i moves, where ranks are counted among the n
    common ids.

    Undefined (fewer than two common ids): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.

    Raises:
        ValueError: as `rank_biased_overlap`.
        TypeError: if ids are not integers.

    References:
        Spearman, The proof and measurement of association between two things, American
        Journal of Psychology 15, 1904. Agrees with `scipy.stats.spearmanr` of the ranks
        of the common ids.

    >>> a, b = jnp.array([1, 2, 3, 4]), jnp.array([2, 1, 7, 3])
    >>> f"{spearman_rho(a, b).values:.3f}"  # d is 1, 1 and 0: 1 - 6·2/(3·8)
    '0.500'
    """
    return compare_ids(_spearman, first, second)


def _kendall(matched: Matched, ks: Cuts, dtype: jnp.dtype) -> Values:
    del ks
    return _correlation(tau, matched, dtype)


def _spearman(matched: Matched, ks: Cuts, dtype: jnp.dtype) -> Values:
    del ks
    return _correlation(rho, matched, dtype)


def _correlation(metric: Metric[[]], matched: Matched, dtype: jnp.dtype) -> Values:
    """Applies a correlation of ranks and labels to the ids that are in both lists.

    The first list is the ranking; labels fall with the rank in the second list.
    """
    labels = matched.max_length - matched.second_ranks
    labels = jnp.where(matched.in_both, labels, 0).astype(dtype)
    data = rank_in_order(ItemArrays(labels, matched.in_both), None, None, None)
    lists = metric.of(Ranking(data))
    return [lists.values], lists.defined
