"""Popularity and novelty: how well known the items of a list are."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine import ranking
from jax_rank_metrics._engine.formulas import id_lists
from jax_rank_metrics._ground import arithmetic, inputs, types
from jax_rank_metrics._values import per_list


def popularity(
    ids: types.RankedIds | ranking.Ranking,
    counts: types.PerItem,
    k: types.RankCutoffs = None,
    *,
    log: bool = True,
) -> per_list.PerList:
    """Mean popularity of the first k items of each list.

    The popularity of an item is ln(count), or the count itself. Logarithms keep the few
    items that everybody knows from dominating the mean. Lower values mean that less
    popular items are recommended; neither direction is better in itself.

    Undefined (a list without items): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`, whose tied items
            count by their chance of a rank up to k; see `rank_biased_overlap`. Ids without
            a count are padding, which leaves the list, so that later ids move up. A
            repeated id counts again.
        counts: `[num_items]`, how often each item was seen in training: an array, or a
            Series or a dict by id, such as `value_counts()`. With `log`, an item that was
            never seen counts as if it had been seen once.
        k: Cutoff or cutoffs; None is all items.
        log: Whether to take natural logarithms.

    Raises:
        ValueError: as `rank_biased_overlap`; if counts have another shape, or hold NaN or
            numbers below 0; if a ranking was cut above k.
        TypeError: if ids are not integers.

    References:
        Abdollahpouri, Burke and Mobasher, Managing popularity bias in recommender systems
        with personalized re-ranking, FLAIRS 2019 (counts). With `log=False` it agrees
        with RecBole's `averagepopularity` and RecTools' `AvgRecPopularity`.

    >>> ids, counts = jnp.array([2, 0, 1]), jnp.array([4, 1, 16])
    >>> popularity(ids, counts, k=(1, 2), log=False).values.tolist()
    [16.0, 10.0]
    >>> f"{popularity(ids, counts, k=2).values:.4f}"  # (ln 16 + ln 4) / 2 = ln 8
    '2.0794'
    """
    counts = inputs.item_counts(counts)
    return id_lists.measure(_mean_log_count if log else _mean_count, ids, counts, k)


def novelty(
    ids: types.RankedIds | ranking.Ranking,
    counts: types.PerItem,
    k: types.RankCutoffs = None,
    by: types.NoveltyCount = "interactions",
    num_users: int | None = None,
) -> per_list.PerList:
    """Novelty: the mean self-information of the first k items, in bits.

    .. math:: novelty@k = (1 / n) · Σ_i −log_2 p_i

    The sum is over the n items up to rank k. It says how surprising items are to somebody
    who knows what was seen in training, in one of two ways:

    - by interactions: p_i = count_i / Σ_j count_j, summed over the catalogue, is the chance
      that a random interaction is with the item;
    - by users: p_i = count_i / num_users is the chance that a random user knows the item.
      This is the mean inverse user frequency, which is smaller by the logarithm of the
      number of interactions per user.

    Undefined (a list without items): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `popularity`.
        counts: `[num_items]`, how often each item was seen in training; by users, how many
            users have seen it. An item that was never seen counts as if it had been seen
            once, and the sum stays as it is: it is as novel as the rarest items, and no
            list is infinitely novel.
        k: Cutoff or cutoffs; None is all items.
        by: What is counted, "interactions" or "users".
        num_users: How many users there are in training, by users only. Another number
            does not compile again.

    Raises:
        ValueError: as `popularity`; if `by` is neither of the two; if `num_users` is given
            by interactions, or not given by users; if a count is above it. Inside
            `jax.jit`, counts are not compared with it.
        TypeError: if ids are not integers, or `num_users` is not a Python int.

    References:
        Zhou et al., Solving the apparent diversity-accuracy dilemma of recommender
        systems, PNAS 107(10), 2010 (by users); Vargas and Castells, Rank and relevance in
        novelty and diversity metrics for recommender systems, RecSys 2011. By
        interactions it agrees with recommenders' `novelty` for lists of one length of
        items seen in training; by users with RecTools' `MeanInvUserFreq`.

    >>> ids, counts = jnp.array([2, 0, 1]), jnp.array([4, 0, 12])
    >>> [f"{value:.4f}" for value in novelty(ids, counts, k=(2, 3)).values]
    ['1.2075', '2.1383']

    The first is the mean of 0.415 bits, for 3/4, and 2 bits, for 1/4; the second adds
    4 bits, for 1/16. Of 16 users, three quarters know the one item and a quarter the
    other, and of 48 users a quarter and a twelfth:

    >>> [f"{novelty(ids, counts, 2, 'users', n).values:.4f}" for n in (16, 48)]
    ['1.2075', '2.7925']
    """
    counts = inputs.item_counts(counts)
    inputs.option("by", by, types.NoveltyCount)
    if (by == "users") != (num_users is not None):
        raise ValueError(
            f"novelty by {by!r} got num_users={num_users}; pass the number of users with "
            "by='users', and only there"
        )
    if num_users is None:
        return id_lists.measure(_mean_information, ids, counts, k)
    num_users = inputs.positive_integer("num_users", num_users)
    if (
        inputs.is_readable(counts)
        and (largest := np.max(np.asarray(counts))) > num_users
    ):
        raise ValueError(
            f"counts holds {largest:g}, but num_users is {num_users}; pass how many users "
            "have seen each item, or by='interactions'"
        )
    return id_lists.measure(_mean_information_of_users, ids, counts, k, (num_users,))


def _mean_count(
    counts: jax.Array, is_within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    del table
    return id_lists.mean_within(counts, is_within), 1


def _mean_log_count(
    counts: jax.Array, is_within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    del table
    return id_lists.mean_within(jnp.log(_positive_or_one(counts)), is_within), 1


def _mean_information(
    counts: jax.Array, is_within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    num_interactions = arithmetic.total(jnp.maximum(table.astype(counts.dtype), 0))
    return _mean_information_of_users(counts, is_within, table, num_interactions)


def _mean_information_of_users(
    counts: jax.Array, is_within: jax.Array, table: jax.Array, total: jax.Array
) -> tuple[jax.Array, int]:
    del table
    bits = jnp.log2(_positive_or_one(total)) - jnp.log2(_positive_or_one(counts))
    return id_lists.mean_within(bits, is_within), 1


def _positive_or_one(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0, x, 1)
