"""How well the first ranks cover the subtopics of a query.

Which subtopics an item has is told by the column `subtopics`, `[*lists, items, topics]`
numbers or bools: not 0 where it has one. Labels tell which items exist, and how much the
weight of an item counts towards that of its list; where a label and the column disagree,
the column decides.
"""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import power, ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.shared import plain
from jax_rank_metrics._formulas.users import persistence
from jax_rank_metrics._gains import log2_discount
from jax_rank_metrics._places.place import Place, positions
from jax_rank_metrics._ranking import Items, Ranking, greedy
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import (
    Cut,
    Cutoffs,
    Discount,
    Number,
    PositionFn,
)


def topics(items: Items) -> jax.Array:
    """Which subtopics an item has, by its column."""
    column, lists = items.columns["subtopics"], items.exists.shape
    if column.ndim != len(lists) + 1 or not column.shape[-1]:
        raise ValueError(
            f"columns: 'subtopics' has shape {column.shape} for items of shape {lists}; "
            "pass one entry for each item and subtopic, [*lists, items, topics]"
        )
    # NaN says that it is not known whether the item has the subtopic.
    has_subtopic = column.astype(bool) & (column == column)
    return has_subtopic & items.exists[..., None]


@metric(columns=("subtopics",), ties="order")
def alpha_dcg(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    alpha: Number = 0.5,
    discount_fn: Discount = log2_discount,
) -> PerList:
    """α-DCG: `Σ discount·Σ (1 − α)^(earlier items with the subtopic)` over ranks 1..k.

    The inner sum is over the subtopics of the item at the rank.

    Undefined (no item of the pool has a subtopic): 0. Has no closed form over ties.

    Takes the arguments of `rank` too, but for its k, and reads the column `subtopics`,
    `[*lists, items, topics]`, which is not 0 where an item has one; see `rank`.

    Args:
        k: Cutoff, or a tuple of them.
        alpha: How much of a subtopic's worth every item with it takes, from 0 to 1.
        discount_fn: Maps ranks 1, 2, … to multipliers, each for itself.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = alpha_dcg(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # 1 + 1/2 / log2(3) + 1 / log2(4)
        '1.81546'

    References:
        Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR
        2008. The same per list as TF-Ranking `AlphaDCGMetric`; what ndeval calls
        alpha-DCG is divided by its value for lists that cannot be.
    """
    values = novelty(ranking, discount_fn, alpha, ranking.cutoffs(k))
    return plain(ranking, values, number_of_topics(ranking) > 0, k)


@metric(columns=("subtopics",), ties="order")
def alpha_ndcg(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    alpha: Number = 0.5,
    discount_fn: Discount = log2_discount,
) -> PerList:
    """α-nDCG: `α-DCG / α-DCG of the greedy order of the pool`, cut at k.

    At each of its ranks, the greedy order has the item that gains most there, of equal
    ones that of the lowest index. It may not be the best, so that values may be above 1.
    It takes time of k·items·topics.

    Undefined (no item of the pool has a subtopic): 0. Has no closed form over ties.

    Takes the arguments of `rank` too, but for its k, and reads the column `subtopics`;
    see `alpha_dcg`. Needs whole lists: raises a ValueError where items are cut over
    devices, and in the rankings of `rank_catalog` and `rank_scores`.

    Args:
        k: Cutoff, or a tuple of them.
        alpha: How much of a subtopic's worth every item with it takes, from 0 to 1.
        discount_fn: Maps ranks 1, 2, … to multipliers, each for itself.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = alpha_ndcg(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # 1.81546 / (1 + 1 / log2(3) + 1/2 / log2(4))
        '0.96520'

    References:
        Clarke et al. (see `alpha_dcg`). The same as pyndeval and ir_measures `alpha_nDCG`
        where no items gain the same.
    """
    ks, kept = ranking.cutoffs(k), 1 - _inputs.fraction("alpha", alpha)
    values = novelty(ranking, discount_fn, alpha, ks)
    ideal = greedy.ideal_sum(ranking, topics, kept, discount_fn, ks)
    return plain(ranking, ratio(values, ideal), number_of_topics(ranking) > 0, k)


@metric(columns=("subtopics",), ties="order")
def nrbp(ranking: Ranking, *, p: float = 0.5, alpha: Number = 0.5) -> PerList:
    """Novelty- and rank-biased precision, of a user with one of the subtopics in mind.

    `(1 − (1 − α)·p)/T·Σ p^(rank − 1)·Σ (1 − α)^(earlier items with the subtopic)`, over
    the subtopics of the item at each rank, of T in the pool.

    Undefined (no item of the pool has a subtopic): 0. Reads whole lists. Has no closed
    form over ties.

    Takes the arguments of `rank` too, but for its k, and reads the column `subtopics`;
    see `alpha_dcg`.

    Args:
        p: The chance to go on to the next item, above 0 and below 1.
        alpha: How much of a subtopic's worth every item with it takes, from 0 to 1.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = nrbp(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # 3/4 / 2·(1 + 1/2·1/2 + 1/4)
        '0.56250'

    References:
        Clarke, Kolla and Vechtomova, An effectiveness measure for ambiguous and
        underspecified queries, ICTIR 2009. The same as pyndeval and ir_measures `NRBP`.
    """
    number, p = number_of_topics(ranking), _inputs.open_fraction("p", p)
    values = novelty(ranking, persistence(p), alpha, (None,))
    share = (1 - (1 - float(alpha)) * p) * ratio(values, number[..., None])
    return plain(ranking, share, number > 0)


@metric(names=("strec",), columns=("subtopics",), ties="order")
def subtopic_recall(ranking: Ranking, *, k: Cutoffs = None) -> PerList:
    """Subtopic recall: the share of the pool's subtopics that ranks 1..k cover.

    Undefined (no item of the pool has a subtopic): 0. Has no closed form over ties.

    Takes the arguments of `rank` too, but for its k, and reads the column `subtopics`;
    see `alpha_dcg`.

    Args:
        k: Cutoff, or a tuple of them.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = subtopic_recall(labels, scores, columns=columns, k=(2, 3))
        >>> [f"{value:.1f}" for value in state.compute()]
        ['0.5', '1.0']

    References:
        Zhai, Cohen and Lafferty, Beyond independent relevance, SIGIR 2003. The same as
        pyndeval `strec` and ir_measures `StRecall`.
    """
    ks, number = ranking.cutoffs(k), number_of_topics(ranking)
    found = ranking.expected_sum(topics, _is_first, ks, counting=(topics,))
    return plain(ranking, ratio(found.sum(-1), number[..., None]), number > 0, k)


def number_of_topics(ranking: Ranking) -> jax.Array:
    """How many subtopics the items of the pool have, `[*lists]` floats."""
    return (ranking.pool_sum(topics) > 0).sum(-1).astype(ranking._dtype)


def novelty(
    ranking: Ranking, position_fn: PositionFn, alpha: Number, ks: Sequence[Cut]
) -> jax.Array:
    """What ranks are worth, times the worth that is left of their items' subtopics."""
    place_fn = _left(position_fn, _inputs.fraction("alpha", alpha))
    found = ranking.expected_sum(topics, place_fn, ks, counting=(topics,))
    return found.sum(-1)


@functools.lru_cache(maxsize=256)
def _left(position_fn: PositionFn, alpha: float) -> Callable[..., jax.Array]:
    at = positions(position_fn)

    def worth(place: Place, k: Cut) -> jax.Array:
        (before,) = place.counted_above
        return at(place, k) * power(1 - alpha, before)

    return worth


def _is_first(place: Place, k: Cut) -> jax.Array:
    (before,) = place.counted_above
    return jnp.where(before == 0, place.within(k) / place.tied, 0)
