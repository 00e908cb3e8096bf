"""Metrics for pools of which not every item was judged."""

import functools

import jax
import jax.numpy as jnp

from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.building_blocks import (
    is_judged,
    is_pooled,
    is_relevant,
    per_list_if_relevant,
)
from jax_rank_metrics._places.place import Place
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._ranking.items import ItemFn
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cut, Number


@functools.lru_cache(maxsize=256)
def _and_not(item_fn: ItemFn, excluded_fn: ItemFn) -> ItemFn:
    """Returns the predicate `item_fn and not excluded_fn`."""

    def is_remaining(items: Items) -> jax.Array:
        return item_fn(items) & ~excluded_fn(items)

    return is_remaining


@metric(names=("gm_bpref",), optional_columns=("judged",))
def bpref(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """Binary preference: how often relevant items outrank judged non-relevant ones.

    .. math:: bpref = (1 / R) · Σ_i (1 − min(n_i, R) / min(R, N))

    The sum is over the relevant items i that have a rank. R items of the pool are
    relevant, N are judged and not relevant, and n_i of these rank above i. A term is 1
    where n_i is 0. Unjudged items change nothing.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Also accepts the
    arguments of `rank`. Reads the bool column `judged`; without it, every item counts
    as judged.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 0, 1]), jnp.array([0.9, 0.8, 0.7, 0.6])
        >>> columns = {"judged": jnp.array([True, False, True, True])}
        >>> f"{bpref(labels, scores, columns=columns).compute():.5f}"  # (1 + 0) / 2
        '0.50000'

    References:
        Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR
        2004. Agrees with trec_eval `bpref`.
    """
    hit = is_relevant(relevance_threshold)
    nonrelevant = _and_not(is_judged, hit)
    num_relevant = ranking.num_relevant(relevance_threshold)
    num_nonrelevant = ranking.pool_sum(nonrelevant)

    def preference(
        place: Place, k: Cut, num_relevant: jax.Array, num_nonrelevant: jax.Array
    ) -> jax.Array:
        # An item tied with m non-relevant items stands after 0, 1, …, m of them with equal
        # probability. In the first `uncapped` of these m + 1 cases n_i is below the cap R,
        # and is num_above, num_above + 1, …; the remaining cases count R.
        (num_above,), (num_tied,) = place.counted_above, place.counted_tied
        uncapped = jnp.clip(num_relevant - num_above, 0, num_tied + 1)
        capped_sum = (
            uncapped * num_above
            + uncapped * (uncapped - 1) / 2
            + (num_tied + 1 - uncapped) * num_relevant
        )
        bound = jnp.minimum(num_relevant, num_nonrelevant)
        return 1 - ratio(capped_sum, (num_tied + 1) * bound)

    sums = ranking.expected_sum(
        hit,
        preference,
        (None,),
        counting=(nonrelevant,),
        per_list=(num_relevant, num_nonrelevant),
    )
    values = ratio(sums, num_relevant[..., None])
    return per_list_if_relevant(ranking, values, relevance_threshold, None)


@metric(names=("infap",), ties="order", optional_columns=("judged", "pooled"))
def inferred_average_precision(
    ranking: Ranking, *, relevance_threshold: Number = 1.0
) -> PerList:
    """Inferred average precision: average precision as estimated from a sampled pool.

    .. math::

        infAP = (1 / R) · Σ_i [1/r_i + ((r_i − 1)/r_i) · ((h + n + u)/(r_i − 1))
        · ((h + ε)/(h + n + 2ε))]

    The sum is over the relevant items i that have a rank r_i. Above i there are h
    relevant items, n judged items that are not relevant, and u pooled items that were not
    judged; ε = 1e-5. A term is 1 at rank 1.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Has no closed form
    over ties. Also accepts the arguments of `rank`. Reads the bool columns `judged` and
    `pooled`: a sample of the pooled items was judged. Without a column, every item counts
    as judged, or as pooled.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"judged": jnp.array([True, False, True])}
        >>> state = inferred_average_precision(labels, scores, columns=columns)
        >>> f"{state.compute():.4f}"  # 1/3 + 2/3·2/2·0/1
        '0.3333'

    References:
        Yilmaz and Aslam, Estimating average precision with incomplete and imperfect
        judgments, CIKM 2006. Agrees with trec_eval `infAP`.
    """
    hit = is_relevant(relevance_threshold)
    nonrelevant = _and_not(is_judged, hit)
    unjudged = _and_not(_and_not(is_pooled, is_judged), hit)

    def inferred_precision(place: Place, k: Cut) -> jax.Array:
        hits, num_nonrelevant, num_unjudged = place.counted_above
        num_judged, epsilon = hits + num_nonrelevant, 1e-5
        pooled_share = ratio(num_judged + num_unjudged, place.above)
        relevant_share = (hits + epsilon) / (num_judged + 2 * epsilon)
        inferred_hits = place.above * pooled_share * relevant_share
        return (1 + inferred_hits) / (place.above + 1)

    sums = ranking.expected_sum(
        hit, inferred_precision, (None,), counting=(hit, nonrelevant, unjudged)
    )
    values = ratio(sums, ranking.num_relevant(relevance_threshold)[..., None])
    return per_list_if_relevant(ranking, values, relevance_threshold, None)
