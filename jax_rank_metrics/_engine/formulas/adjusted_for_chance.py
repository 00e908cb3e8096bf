"""The rank of one relevant item compared with a random order, as in link prediction."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma

from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.formulas.first_hit import first_relevant
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.ranking import Ranking, of_totals
from jax_rank_metrics._ground import arithmetic
from jax_rank_metrics._ground.types import Cutoffs, Number
from jax_rank_metrics._values import per_list


@metric(names=("amri",), order_free=True)
def adjusted_mean_rank_index(
    ranking: Ranking, *, relevance_threshold: Number = 1.0
) -> per_list.PerList:
    """Adjusted mean rank index: the mean rank on a scale from −1 to 1, with 0 for chance.

    .. math:: AMRI = 1 − 2 · Σ_q (r_q − 1) / Σ_q (n_q − 1)

    The sums are over the lists q. n is the number of items of the pool, and r the rank of
    the only relevant item, or the mean of its ranks if it ties. 1 is the best, 0 is the
    mean over random orders, and −1 the worst, whatever the lengths of lists. The value of
    a list is its own index, with the weight (n − 1) / 2: see `PerList.over`.

    Undefined (the relevant item has no rank): 0. A list of one item weighs 0. Lists with
    several relevant items raise; inside `jax.jit`, the first of these items is read. Reads
    whole lists, but sorts nothing. Also accepts the arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Raises:
        ValueError: if a list has several relevant items.

    Example:
        >>> labels, scores = jnp.array([0, 1, 0, 0, 0]), -jnp.arange(5.0)
        >>> f"{adjusted_mean_rank_index(labels, scores).compute():.5f}"  # 1 − (2 − 1) / 2
        '0.50000'

    References:
        Berrendorf, Faerman, Vermue and Tresp, On the ambiguity of rank-based evaluation
        of entity alignment or link prediction methods, 2020. Agrees with PyKEEN's
        `adjusted_arithmetic_mean_rank_index`.
    """
    ranks, is_absent = first_relevant(
        ranking,
        relevance_threshold,
        (None,),
        "realistic",
        _rank,
        "adjusted_mean_rank_index",
    )
    possible = (ranking.pool_sum(label_fns.item_exists)[..., None] - 1) / 2
    gained = possible - (ranks - 1)
    is_ranked = is_absent[..., 0] < 1
    return _ratio(ranking, gained, possible, is_ranked, None, relevance_threshold)


@metric(names=("adjusted_hits",), order_free=True)
def adjusted_hit_rate(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> per_list.PerList:
    """Adjusted hit rate: the hit rate, rescaled to 1 for the best order and 0 for chance.

    .. math:: Σ_q (hit_q@k − E_q) / Σ_q (1 − E_q), E = min(k / n, 1)

    The sums are over the lists q, and n is the number of items of the pool. hit@k is
    `hit_rate` with `rank="realistic"`: 1 if the mean rank of the relevant item is at most
    k. 1 is the best, and 0 is the mean over random orders. A list weighs 1 − E: see
    `PerList.over`.

    Undefined (nothing relevant in the pool): 0. A list of at most k items weighs 0, as does
    every list if k is None. Lists with several relevant items raise; inside `jax.jit`, the
    first of these items is read. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.

    Raises:
        ValueError: if a list has several relevant items.

    Example:
        >>> labels, scores = jnp.array([[0, 1, 0, 0], [0, 0, 1, 0]]), -jnp.arange(4.0)
        >>> scores = jnp.stack([scores, scores])
        >>> state = adjusted_hit_rate(labels, scores, k=2)  # (1 + 0 − 1) / (2 − 1)
        >>> f"{state.compute():.5f}"
        '0.00000'

    References:
        Hoyt et al., A unified framework for rank-based evaluation metrics for link
        prediction in knowledge graphs, 2022. Agrees with PyKEEN's `adjusted_hits_at_k`.
    """
    ks = ranking.cutoffs(k)
    _, missed = first_relevant(
        ranking, relevance_threshold, ks, "realistic", reader="adjusted_hit_rate"
    )
    return _above_chance(ranking, 1 - missed, _hit_of_chance, k, relevance_threshold)


@metric(names=("adjusted_mrr", "adjusted_rr"), order_free=True)
def adjusted_reciprocal_rank(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> per_list.PerList:
    """Adjusted reciprocal rank: rescaled to 1 for the best order and 0 for chance.

    .. math:: Σ_q (RR_q − E_q) / Σ_q (1 − E_q), E = (1 + 1/2 + … + 1/n) / n

    The sums over q are over the lists, and n is the number of items of the pool; with a
    cutoff, the sum in E ends at 1 / k. RR is `reciprocal_rank` with `rank="realistic"`. 1
    is the best, and 0 is the mean over random orders. A list weighs 1 − E: see
    `PerList.over`.

    Undefined (nothing relevant in the pool): 0. A list of one item weighs 0. Lists with
    several relevant items raise; inside `jax.jit`, the first of these items is read. Also
    accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.

    Raises:
        ValueError: if a list has several relevant items.

    Example:
        >>> labels, scores = jnp.array([0, 1]), jnp.array([0.9, 0.8])
        >>> state = adjusted_reciprocal_rank(labels, scores)  # (1/2 − 3/4) / (1 − 3/4)
        >>> f"{state.compute():.5f}"
        '-1.00000'

    References:
        Hoyt et al. (see `adjusted_hit_rate`). Agrees with PyKEEN's
        `adjusted_inverse_harmonic_mean_rank`.
    """
    ks = ranking.cutoffs(k)
    values, _ = first_relevant(
        ranking, relevance_threshold, ks, "realistic", reader="adjusted_reciprocal_rank"
    )
    return _above_chance(ranking, values, _reciprocal_of_chance, k, relevance_threshold)


def _rank(ranks: jax.Array) -> jax.Array:
    return ranks


def _hit_of_chance(depth: jax.Array, length: jax.Array) -> jax.Array:
    # Return exactly 1 at the last rank: a compiler may round n · (1 / n) to less.
    return jnp.where(depth < length, depth / length, jnp.ones_like(depth))


def _reciprocal_of_chance(depth: jax.Array, length: jax.Array) -> jax.Array:
    """Returns the mean of 1 / rank over all ranks; ranks beyond `depth` count 0."""
    # 1 + 1/2 + … + 1/d = ψ(d + 1) + γ. For d = 1 return 1 itself, because rounding would
    # give a list of one item a weight.
    harmonic = digamma(depth + 1) + np.asarray(np.euler_gamma, depth.dtype)
    return jnp.where(depth > 1, harmonic, depth) / length


def _above_chance(
    ranking: Ranking,
    values: jax.Array,
    of_chance: Callable[[jax.Array, jax.Array], jax.Array],
    k: Cutoffs,
    threshold: Number,
) -> per_list.PerList:
    """Returns (value − E) / (1 − E) with the weights 1 − E.

    Args:
        ranking: The lists.
        values: `[*lists, len(ks)]`.
        of_chance: `of_chance(depth, length)`, the value E of a random order, from the
            number of ranks up to k and the number of all ranks.
        k: The argument of the metric.
        threshold: The least label of a relevant item.
    """
    # Read a list without items as a list of one item: its only order has the value E.
    length = jnp.maximum(ranking.pool_sum(label_fns.item_exists), 1)
    depth = jnp.maximum(label_fns.pool_depth(ranking, ranking.cutoffs(k)), 1)
    expected = of_chance(depth, length[..., None])
    has_relevant = ranking.num_relevant(threshold) > 0
    return _ratio(ranking, values - expected, 1 - expected, has_relevant, k, threshold)


def _ratio(
    ranking: Ranking,
    gained: jax.Array,
    possible: jax.Array,
    defined: jax.Array,
    k: Cutoffs,
    threshold: Number,
) -> per_list.PerList:
    hit = label_fns.is_relevant(threshold)
    possible = jnp.maximum(possible, 0)
    ratio = ranking.per_list(gained, defined, k, hit).over(
        of_totals(ranking).per_list(possible, True, k, hit)
    )
    # `over` counts an undefined numerator as a defined 0, so mark these lists as undefined.
    # Lists with the value NaN stay defined, whether or not they have relevant items.
    defined = arithmetic.widen(defined, ratio.defined) | jnp.isnan(ratio.values)
    return dataclasses.replace(ratio, defined=ratio.defined & defined)
