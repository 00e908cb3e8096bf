"""Coverage of the subtopics of a query: novelty and diversity.

The column `subtopics`, `[*lists, items, topics]` numbers or bools, says which subtopics an
item has: every subtopic whose entry is neither 0 nor NaN. Labels say which items exist, and
how item weights imply the weight of a list. If a label and the column disagree about
relevance, the column decides.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import repeats
from jax_rank_metrics._engine.ranking import (
    Items,
    Ranking,
    best_order,
    data_of,
    traced_data,
)
from jax_rank_metrics._ground import gains, inputs
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._ground.types import Cut, Cutoffs, Discount, Number, PositionFn
from jax_rank_metrics._values import per_list


def has_subtopic(items: Items) -> jax.Array:
    """Reads the column `subtopics` as bools, `[*lists, items, topics]`.

    A bool is True if the entry is neither 0 nor NaN. Padding has no subtopics.

    Raises:
        ValueError: if the column does not have one axis more than the items.
    """
    column, lists = items.columns["subtopics"], items.exists.shape
    if column.ndim != len(lists) + 1 or not column.shape[-1]:
        raise ValueError(
            f"columns: 'subtopics' has shape {column.shape} for items of shape {lists}; "
            "pass one entry for each item and subtopic, [*lists, items, topics]"
        )
    is_known = column == column  # False for NaN, which means unknown
    return column.astype(bool) & is_known & items.exists[..., None]


@metric(columns=("subtopics",))
def alpha_dcg(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    alpha: Number = 0.5,
    discount_fn: Discount = gains.log2_discount,
) -> per_list.PerList:
    """α-DCG: DCG in which a subtopic is worth less each time it recurs.

    .. math:: αDCG@k = Σ_{r ≤ k} d(r) · Σ_t (1 − α)^{c_t(r)}

    The inner sum is over the subtopics t of the item at rank r. c_t(r) is the number of
    items above rank r that also have subtopic t, and d(r) is the discount.

    Undefined (no item of the pool has a subtopic): 0. Also accepts the arguments of
    `rank`. Reads the column `subtopics`, `[*lists, items, topics]`: an item has the
    subtopics whose entry is neither 0 nor NaN.

    Args:
        k: Cutoff or cutoffs.
        alpha: α, the share of its worth that a subtopic loses at each recurrence, 0 to 1.
        discount_fn: Maps ranks 1, 2, … to multipliers, rank by rank.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = alpha_dcg(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # 1 + 1/2 / log2(3) + 1 / log2(4)
        '1.81546'

    References:
        Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR
        2008. Agrees per list with TF-Ranking `AlphaDCGMetric`. The alpha-DCG of ndeval is
        divided by the value of an unattainable list.
    """
    inputs.fraction("alpha", alpha)
    values = novelty_sum(ranking, discount_fn, alpha, ranking.cutoffs(k))
    return label_fns.per_list_where(ranking, values, number_of_topics(ranking) > 0, k)


@metric(columns=("subtopics",))
def alpha_ndcg(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    alpha: Number = 0.5,
    discount_fn: Discount = gains.log2_discount,
) -> per_list.PerList:
    """α-nDCG: α-DCG@k divided by the α-DCG@k of the greedy order of the pool.

    Rank by rank, the greedy order takes the item that gains most at this rank; of items
    that gain the same, it takes the item with the lowest index. The greedy order may not be
    the best order, so values above 1 are possible. It takes time k·items·topics.

    Undefined (no item of the pool has a subtopic): 0. Also accepts the arguments of
    `rank`. Reads the column `subtopics`; see `alpha_dcg`.
    Raises a ValueError if items are sharded over devices, and for rankings of
    `rank_catalog` and `rank_scores`, because the greedy order needs whole lists.

    Args:
        k: Cutoff or cutoffs.
        alpha: α, the share of its worth that a subtopic loses at each recurrence, 0 to 1.
        discount_fn: Maps ranks 1, 2, … to multipliers, rank by rank.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = alpha_ndcg(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # 1.81546 / (1 + 1 / log2(3) + 1/2 / log2(4))
        '0.96520'

    References:
        Clarke et al. (see `alpha_dcg`). Agrees with pyndeval and ir_measures `alpha_nDCG`
        if the items of the pool are in descending order of their document ids, because
        these libraries break ties of gain in this order. Otherwise the greedy order may
        choose another item of equal gain: of 3,920 values, 52 differed, by up to 0.004.
    """
    kept_share, ks = 1 - inputs.fraction("alpha", alpha), ranking.cutoffs(k)
    values = novelty_sum(ranking, discount_fn, alpha, ks)
    ideal = best_order.greedy_sum(
        traced_data(ranking), has_subtopic, kept_share, discount_fn, ks
    )
    defined = number_of_topics(ranking) > 0
    return label_fns.per_list_where(ranking, ratio(values, ideal), defined, k)


@metric(columns=("subtopics",), is_share=True)
def nrbp(ranking: Ranking, *, p: float = 0.5, alpha: Number = 0.5) -> per_list.PerList:
    """Novelty- and rank-biased precision: RBP of a user with one of the subtopics in mind.

    .. math:: NRBP = ((1 − (1 − α) · p) / T) · Σ_r p^{r − 1} · Σ_t (1 − α)^{c_t(r)}

    The inner sum is over the subtopics t of the item at rank r. c_t(r) is the number of
    items above rank r that also have subtopic t, and T the number of subtopics in the pool.

    Undefined (no item of the pool has a subtopic): 0. Reads whole lists. Also accepts the
    arguments of `rank`. Reads the column `subtopics`; see `alpha_dcg`.

    Args:
        p: Probability of continuing to the next rank, above 0 and below 1.
        alpha: α, the share of its worth that a subtopic loses at each recurrence, 0 to 1.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = nrbp(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # 3/4 / 2·(1 + 1/2·1/2 + 1/4)
        '0.56250'

    References:
        Clarke, Kolla and Vechtomova, An effectiveness measure for ambiguous and
        underspecified queries, ICTIR 2009. Agrees with pyndeval and ir_measures `NRBP`.
    """
    p, kept_share = inputs.open_fraction("p", p), 1 - inputs.fraction("alpha", alpha)
    num_topics = number_of_topics(ranking)
    sums = novelty_sum(ranking, label_fns.persistence(p), alpha, (None,))
    values = (1 - kept_share * p) * ratio(sums, num_topics[..., None])
    return label_fns.per_list_where(ranking, values, num_topics > 0)


@metric(names=("strec", "strecall"), columns=("subtopics",), is_share=True)
def subtopic_recall(ranking: Ranking, *, k: Cutoffs = None) -> per_list.PerList:
    """Subtopic recall: the share of the pool's subtopics that ranks 1..k cover.

    Undefined (no item of the pool has a subtopic): 0. Also accepts the arguments of
    `rank`. Reads the column `subtopics`; see `alpha_dcg`.

    Args:
        k: Cutoff or cutoffs.

    Example:
        >>> labels, scores = jnp.array([1, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"subtopics": jnp.array([[1, 0], [1, 0], [0, 1]])}
        >>> state = subtopic_recall(labels, scores, columns=columns, k=(2, 3))
        >>> [f"{value:.1f}" for value in state.compute()]
        ['0.5', '1.0']

    References:
        Zhai, Cohen and Lafferty, Beyond independent relevance, SIGIR 2003. Agrees with
        pyndeval `strec` and ir_measures `StRecall`.
    """
    ks, num_topics = ranking.cutoffs(k), number_of_topics(ranking)
    # With α = 1 only the first item of a subtopic counts, so each subtopic counts once.
    covered = novelty_sum(ranking, jnp.ones_like, 1, ks)
    values = ratio(covered, num_topics[..., None])
    return label_fns.per_list_where(ranking, values, num_topics > 0, k)


def number_of_topics(ranking: Ranking) -> jax.Array:
    """Counts the distinct subtopics of the items of the pool, `[*lists]` floats."""
    return (ranking.pool_sum(has_subtopic) > 0).sum(-1).astype(data_of(ranking).dtype)


def novelty_sum(
    ranking: Ranking, position_fn: PositionFn, alpha: Number, ks: Sequence[Cut]
) -> jax.Array:
    """Sums position_fn(r)·(1 − α)^{c_t(r)} over ranks r and the subtopics t found there.

    c_t(r) is the number of items before rank r that have subtopic t.

    Returns:
        `[*lists, len(ks)]`.
    """
    place_fn = repeats.repeated(position_fn, 1 - inputs.fraction("alpha", alpha))
    sums = ranking.expected_sum(has_subtopic, place_fn, ks, counting=(has_subtopic,))
    return sums.sum(-1)
