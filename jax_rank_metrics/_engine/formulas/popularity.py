"""Popularity and novelty: how well known the items of a list are."""

import math

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.formulas.label_fns import item_exists
from jax_rank_metrics._engine.items import COUNTS
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Items, Ranking, item_fns, traced_data
from jax_rank_metrics._ground import arithmetic, inputs
from jax_rank_metrics._ground.types import Cutoffs, NoveltyCount
from jax_rank_metrics._values import per_list

# Three numbers of each item: its count, ln of the count, and ln of the sum of all counts.
_COUNT, _LOG_COUNT, _LOG_TOTAL = range(3)


def _with_logs(counts: jax.Array) -> jax.Array:
    """Returns each count, its logarithm, and the logarithm of the sum, `[num_items, 3]`.

    The information of an item is linear in these. A count of 0 gets the logarithm of 1.
    """
    if counts.ndim != 1:
        raise ValueError(
            f"{COUNTS!r} has shape {counts.shape}; pass an array [num_items]"
        )
    logs = jnp.log(_positive_or_one(counts))
    log_total = jnp.log(_positive_or_one(jnp.sum(jnp.maximum(counts, 0))))
    return jnp.stack([counts, logs, jnp.full_like(counts, log_total)], axis=-1)


def _positive_or_one(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0, x, 1)


@metric(item_columns={COUNTS: _with_logs}, reads_labels=False, lower_is_better=None)
def popularity(
    ranking: Ranking, *, k: Cutoffs = None, log: bool = True
) -> per_list.PerList:
    """Mean popularity of the first k items of each list.

    The popularity of an item is ln(count), or the count itself. Logarithms keep the few
    items that everybody knows from dominating the mean. Lower values mean that less
    popular items are recommended; neither direction is better in itself.

    Undefined (a list without items): 0. Reads the item column `counts`, `[num_items]`: how
    often each item was seen in training; with `log`, an item that was never seen counts as
    if it had been seen once. `evaluate_users` counts items in `seen`. Rows in `columns=`
    hold three numbers of each item, `[*lists, items, 3]`: the count, its logarithm, and
    the logarithm of the sum over the catalogue.

    Args:
        k: Cutoff or cutoffs. A ranking of counted places needs a cutoff, at most its own k.
        log: If True, the mean is of natural logarithms of counts.

    Raises:
        ValueError: if counts have another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> from jax_rank_metrics import rank_ids
        >>> facts = {"counts": jnp.array([4, 1, 16])}
        >>> ranking = rank_ids(jnp.array([2, 0, 1]), item_columns=facts)
        >>> popularity.of(ranking, k=(1, 2), log=False).values.tolist()
        [16.0, 10.0]
        >>> f"{popularity.of(ranking, k=2).values:.4f}"  # (ln 16 + ln 4) / 2 = ln 8
        '2.0794'

    References:
        Abdollahpouri, Burke and Mobasher, Managing popularity bias in recommender systems
        with personalized re-ranking, FLAIRS 2019 (counts). With `log=False` it agrees
        with RecBole's `averagepopularity` and RecTools' `AvgRecPopularity`.
    """
    inputs.flag("log", log)
    means = _means_within(ranking, k)
    return _per_list(ranking, means[..., _LOG_COUNT if log else _COUNT], k)


@metric(item_columns={COUNTS: _with_logs}, reads_labels=False, lower_is_better=None)
def novelty(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    by: NoveltyCount = "interactions",
    num_users: int | None = None,
) -> per_list.PerList:
    """Novelty: the mean self-information of the first k items, in bits.

    .. math:: novelty@k = (1 / n) · Σ_i −log_2 p_i

    The sum is over the n items up to rank k. The value says how surprising the items are to
    a user who knows the training data, in one of two ways:

    - by interactions: p_i = count_i / Σ_j count_j, summed over the catalogue, is the chance
      that a random interaction is with the item;
    - by users: p_i = count_i / num_users is the chance that a random user knows the item.
      This is the mean inverse user frequency, which is smaller by the logarithm of the
      number of interactions per user.

    Undefined (a list without items): 0. Reads the item column `counts`, `[num_items]`, as
    `popularity` does: how often each item was seen in training; by users, how many users
    have seen it. An item that was never seen counts as if it had been seen once, but does
    not change the sum: it is as novel as the rarest items, so no list is infinitely novel.

    Args:
        k: Cutoff or cutoffs; see `popularity`.
        by: The unit of the counts, "interactions" or "users".
        num_users: The number of users in training; only with `by="users"`.

    Raises:
        ValueError: as `popularity`; if `by` is neither of the two; if `num_users` is passed
            by interactions, or not passed by users; if the count of a listed item is above
            `num_users`. Inside `jax.jit`, counts are not compared with `num_users`.
        TypeError: if `num_users` is not a Python int.

    Example:
        >>> import jax.numpy as jnp
        >>> from jax_rank_metrics import rank_ids
        >>> facts = {"counts": jnp.array([4, 0, 12])}
        >>> ranking = rank_ids(jnp.array([2, 0, 1]), item_columns=facts)
        >>> [f"{value:.4f}" for value in novelty.of(ranking, k=(2, 3)).values]
        ['1.2075', '2.1383']

        The first is the mean of 0.415 bits, for 3/4, and 2 bits, for 1/4; the second adds
        4 bits, for 1/16. The first two items are known to 3/4 and 1/4 of 16 users, but to
        1/4 and 1/12 of 48 users:

        >>> of_16 = novelty.of(ranking, k=2, by="users", num_users=16)
        >>> of_48 = novelty.of(ranking, k=2, by="users", num_users=48)
        >>> f"{of_16.values:.4f} {of_48.values:.4f}"
        '1.2075 2.7925'

    References:
        Zhou et al., Solving the apparent diversity-accuracy dilemma of recommender
        systems, PNAS 107(10), 2010 (by users); Vargas and Castells, Rank and relevance in
        novelty and diversity metrics for recommender systems, RecSys 2011. By
        interactions it agrees with recommenders' `novelty` if all lists have one length and
        hold only items seen in training; by users with RecTools' `MeanInvUserFreq`.
    """
    inputs.option("by", by, NoveltyCount)
    if (by == "users") != (num_users is not None):
        raise ValueError(
            f"by is {by!r}, but num_users is {num_users}; pass num_users with by='users', "
            "and leave it out otherwise"
        )
    if num_users is not None:
        num_users = inputs.positive_integer("num_users", num_users)
        _refuse_above(ranking, num_users, k)
    means = _means_within(ranking, k)
    log_total = means[..., _LOG_TOTAL] if num_users is None else math.log(num_users)
    bits = (log_total - means[..., _LOG_COUNT]) / math.log(2)
    has_items = ranking.depth(ranking.cutoffs(k)) > 0
    return _per_list(ranking, jnp.where(has_items, bits, 0), k)


def _refuse_above(ranking: Ranking, num_users: int, k: Cutoffs) -> None:
    """Refuses lists with an item whose count is above the number of users."""
    data = traced_data(ranking)
    held = data.held_through(ranking.cutoffs(k))
    counts = item_fns.item_values(_numbers, held.items, data.dtype)[..., _COUNT]
    data.refuse(
        held.layout.max(counts) > num_users,
        f"'counts' holds a number above {num_users}, which is num_users{{}}; pass how many "
        "users have seen each item, or by='interactions'",
    )


def _means_within(ranking: Ranking, k: Cutoffs) -> jax.Array:
    """Returns the means of the three numbers up to each cutoff, `[*lists, len(ks), 3]`.

    Both metrics, with all their options, share them.
    """
    ks = ranking.cutoffs(k)
    sums = ranking.expected_sum(_numbers, place.positions(), ks)
    return arithmetic.ratio(sums, ranking.depth(ks)[..., None])


def _per_list(ranking: Ranking, values: jax.Array, k: Cutoffs) -> per_list.PerList:
    """Returns the values, defined for lists with items."""
    has_items = ranking.depth((None,))[..., 0] > 0
    return ranking.per_list(values, has_items, k, item_exists)


def _numbers(items: Items) -> jax.Array:
    """Returns the three numbers of each item, `[*lists, items, 3]`."""
    column = items.columns[COUNTS]
    if column.shape != (*items.exists.shape, 3):
        raise ValueError(
            f"columns: {COUNTS!r} has shape {column.shape} for items of shape "
            f"{items.exists.shape}; pass the count of each item, its logarithm, and the "
            "logarithm of the sum of all counts, [*lists, items, 3]"
        )
    return column
