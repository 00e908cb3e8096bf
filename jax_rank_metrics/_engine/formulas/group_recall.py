"""Recall of groups of items, such as the long tail."""

import jax

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import groups
from jax_rank_metrics._engine.formulas.label_fns import is_relevant
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Items, Ranking
from jax_rank_metrics._ground import arithmetic, inputs
from jax_rank_metrics._ground.types import Cutoffs, Number
from jax_rank_metrics._values import per_list


@metric(item_columns=("groups",), is_share=True)
def group_recall(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    group: int = 0,
    relevance_threshold: Number = 1.0,
) -> per_list.PerList:
    """Recall of a group: the share of the group's relevant items that are at ranks 1..k.

    .. math:: R_g@k = Σ_{i ≤ k} g_i · rel_i / Σ_i g_i · rel_i

    g_i is how much item i belongs to the group, perhaps a fraction; the second sum is over
    the pool. The value shows what the recall of all relevant items hides: with rarely seen
    items as the group, it is the recall of the long tail.

    Undefined (nothing relevant in the pool belongs to the group): 0. Also accepts the
    arguments of `rank`. Reads the column `groups`, `[*lists, items, groups]`: how much
    each item belongs to each group. If items are known by id, pass the column in
    `item_columns`.

    Args:
        k: Cutoff or cutoffs.
        group: The index of the group, from 0. In a name: `group_recall(group=1)@10`.
        relevance_threshold: Least label of a relevant item.

    Raises:
        ValueError: if the column has no group with this index.

    Example:
        >>> import jax.numpy as jnp
        >>> scores, labels = jnp.array([0.9, 0.8, 0.7, 0.6]), jnp.array([1, 0, 1, 1])
        >>> counts = jnp.array([90, 70, 3, 60])  # how often each was seen in training
        >>> tail = {"groups": (counts < 20)[:, None]}
        >>> state = group_recall(labels, scores, columns=tail, k=(2, 3))
        >>> state.compute().tolist()  # the only relevant item of the tail is third
        [0.0, 1.0]
        >>> weights = {"groups": 1 / counts[:, None] ** 0.5}  # by popularity, in fractions
        >>> state = group_recall(labels, scores, columns=weights, k=2)
        >>> f"{state.compute():.3f}"  # 0.105 / (0.105 + 0.577 + 0.129)
        '0.130'

    References:
        Cremonesi, Koren and Turrin, Performance of recommender algorithms on top-N
        recommendation tasks, RecSys 2010 (recall of the long tail); Steck, Item
        popularity and recommendation accuracy, RecSys 2011, whose popularity-stratified
        recall has a power of the popularity as the only group.
    """
    in_group = _relevant_in_group(relevance_threshold, inputs.index("group", group))
    ks = ranking.cutoffs(k)
    hits = ranking.expected_sum(in_group, place.positions(), ks)
    total = ranking.pool_sum(in_group)
    values = arithmetic.ratio(hits, total[..., None])
    return ranking.per_list(values, total > 0, k, is_relevant(relevance_threshold))


@by_options
def _relevant_in_group(items: Items, *, threshold: Number, group: int) -> jax.Array:
    """Returns how much each relevant item belongs to a group, and 0 for other items."""
    shares = groups.memberships(items)
    if group >= shares.shape[-1]:
        raise ValueError(
            f"group is {group}, but the column 'groups' has {shares.shape[-1]} groups; "
            "pass the index of one of them, from 0"
        )
    return shares[..., group] * is_relevant(threshold)(items).astype(shares.dtype)
