"""Models of a user who goes down the list, and may stop anywhere."""

import functools
import math

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import power, ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.shared import binary, plain, relevant
from jax_rank_metrics._gains import reciprocal_discount
from jax_rank_metrics._places.place import positions
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._ranking.items import ItemFn
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cutoffs, Number, PositionFn


@metric(names=("rbp",))
def rank_biased_precision(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    p: float = 0.8,
    max_label: Number | None = None,
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Rank-biased precision: `(1 − p)·Σ p^(rank − 1)·rel` over ranks 1..k.

    A user goes on to the next item with the chance p.

    Undefined (nothing relevant in the pool): 0. Even a perfect list is worth less than 1.

    Takes the arguments of `rank` too, but for its k.

    Args:
        k: Cutoff, or a tuple of them.
        p: The chance to go on, above 0 and below 1.
        max_label: None, so that an item is relevant or not. With a number, the label as
            a share of it, 1 at most, is how relevant an item is.
        relevance_threshold: The least label of a relevant item; not read with
            `max_label`.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{rank_biased_precision(labels, scores, p=0.5).compute():.5f}"  # 1/2 + 1/8
        '0.62500'

    References:
        Moffat and Zobel, Rank-biased precision for measurement of retrieval
        effectiveness, ACM TOIS 27(1), 2008. The same as cwl_eval `RBP` of binary labels.
    """
    ks, p = ranking.cutoffs(k), _inputs.open_fraction("p", p)
    place_fn = positions(persistence(p))
    if max_label is None:
        hit = relevant(relevance_threshold)
        values = (1 - p) * ranking.expected_sum(hit, place_fn, ks)
        return binary(ranking, values, relevance_threshold, k)
    share = _share_of(_inputs.positive("max_label", max_label))
    values = (1 - p) * ranking.expected_sum(share, place_fn, ks)
    return plain(ranking, values, ranking.pool_max(share) > 0, k)


@functools.lru_cache(maxsize=256)
def persistence(p: float) -> PositionFn:
    """The chance of a user to come to a rank, who goes on with the chance p."""
    return lambda ranks: power(p, ranks - 1)


@functools.lru_cache(maxsize=256)
def _share_of(most: float) -> ItemFn:
    return lambda items: jnp.minimum(items.labels / most, 1)


@metric(names=("err",), ties="order")
def expected_reciprocal_rank(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    max_label: Number = 4.0,
    normalized: bool = False,
) -> PerList:
    """Expected reciprocal rank: `Σ P(stop at rank) / rank` over ranks 1..k.

    A user who comes to an item stops there with the chance `(2^y − 1) / 2^max_label`.

    Undefined (no label above 0 in the pool): 0. Has no closed form over ties.

    Takes the arguments of `rank` too, but for its k.

    Args:
        k: Cutoff, or a tuple of them.
        max_label: The largest label there can be; larger ones count as it.
        normalized: Whether to divide by the value of the best order of the pool.

    Example:
        >>> labels, scores = jnp.array([1, 2]), jnp.array([0.9, 0.8])
        >>> state = expected_reciprocal_rank(labels, scores, max_label=2)
        >>> f"{state.compute():.5f}"  # 1/4 + 3/4·3/4 / 2
        '0.53125'

    References:
        Chapelle, Metlzer, Zhang and Grinspan, Expected reciprocal rank for graded
        relevance, CIKM 2009. The same as gdeval and ir_measures `ERR@k`, whose largest
        label is 4.
    """
    ks = ranking.cutoffs(k)
    stop = _stop_chance(_inputs.positive("max_label", max_label))
    values, _ = ranking.expected_first(stop, reciprocal_discount, ks)
    if normalized:
        values = ratio(values, ranking.ideal_first(stop, reciprocal_discount, ks))
    return plain(ranking, values, ranking.pool_max(_label) > 0, k)


@functools.lru_cache(maxsize=256)
def _stop_chance(max_label: float) -> ItemFn:
    def stop_chance(items: Items) -> jax.Array:
        # (2^y − 1) / 2^m as (1 − 2^−y)·2^(y − m): neither factor leaves the range of a
        # float, as 2^−m itself does from m = 127 on.
        labels = jnp.minimum(items.labels, max_label)
        share = -jnp.expm1(-math.log(2) * labels)
        return share * jnp.exp(math.log(2) * (labels - max_label))

    return stop_chance


def _label(items: Items) -> jax.Array:
    return items.labels
