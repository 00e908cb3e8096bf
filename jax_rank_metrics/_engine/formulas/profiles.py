"""Profiles: how a list differs from what its user had to do with before.

A profile holds the items that a user had to do with before, such as those of training.
"""

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Items, Ranking, of_totals, traced_data
from jax_rank_metrics._ground import arithmetic, inputs, types
from jax_rank_metrics._values.per_list import PerList


@metric(item_columns=("counts",), lower_is_better=None, reads_labels=False)
def popularity_lift(
    ranking: Ranking, *, k: types.Cutoffs = None, ratio_of_means: bool = True
) -> PerList:
    """Popularity lift: by how much a list is more popular than the profile of its user.

    .. math:: (P(L) − P(H)) / P(H)

    P is the mean count of the first k items of the list L, and of all items of the profile
    H. It is 0 where both are equally popular, 1 where the list is twice as popular, and at
    least −1. The closer to 0, the better a list follows the taste of its user.

    The published number of a group of users is a ratio of means, Σ (P(L) − P(H)) / Σ P(H).
    So each user has the weight P(H) by default, `mean` gives this number, and
    `by(groups, …)` those of groups.

    Undefined (a list or a profile without items, or a profile with counts of 0): 0. With
    `ratio_of_means` its weight is 0 too. Reads no labels, and the items of profiles: `seen`
    of `evaluate_users`, and `profile_ids` of `rank_ids` and its kin, where a repeated id
    counts again. Reads the column `counts` of `item_columns`, `[num_items]`: how often each
    item was seen in training, or its share.

    Args:
        k: Cutoff or cutoffs.
        ratio_of_means: Whether a mean is a ratio of means. False weighs all users alike,
            so that it is the mean of their lifts: those of users of rare items then
            dominate.

    Raises:
        ValueError: if there are no profiles; if `counts` has more than one number for an
            item.

    Example:
        >>> import jax_rank_metrics as jrm
        >>> facts, seen = {"counts": [4, 2, 8]}, [[0, -1], [0, 2]]
        >>> ranking = jrm.rank_ids([[2, 0], [1, 0]], item_columns=facts, profile_ids=seen)
        >>> lists = popularity_lift.of(ranking)
        >>> lists.values.tolist()  # 6 against 4, and 3 against 6
        [0.5, -0.5]
        >>> f"{lists.mean():.1f}"  # 9 against 10
        '-0.1'

    References:
        Abdollahpouri, Mansoury, Burke and Mobasher, The unfairness of popularity bias in
        recommendation, RMSE workshop at RecSys 2019 (ΔGAP), and The connection between
        popularity bias, calibration, and fairness in recommendation, RecSys 2020.
    """
    inputs.flag("ratio_of_means", ratio_of_means)
    ks = ranking.cutoffs(k)
    listed = ranking.expected_sum(_count, place.positions(), ks)
    listed = arithmetic.ratio(listed, ranking.depth(ks))
    size = ranking.profile_sum(label_fns.item_exists)
    known = arithmetic.ratio(ranking.profile_sum(_count), size)
    defined = (ranking.depth((None,))[..., 0] > 0) & (known != 0)
    difference, profiles = (
        of.per_list(values, defined, cutoffs, label_fns.item_exists)
        for of, values, cutoffs in (
            (ranking, listed - known[..., None], k),
            (of_totals(ranking), known[..., None], None),
        )
    )
    lifts = difference.over(profiles)
    if ratio_of_means:
        return lifts
    return PerList(lifts.values, profiles.weights, lifts.defined)


def _count(items: Items) -> jax.Array:
    """Returns how often each item was seen."""
    column, lists = items.columns["counts"], items.exists.shape
    if column.shape != lists:
        raise ValueError(
            f"'counts' has shape {column.shape} where items are known, {lists}; pass one "
            "number for each item, item_columns={'counts': [num_items]}"
        )
    return jnp.where(items.exists, column, 0)


def _shares_of_genres(genres: jax.Array) -> jax.Array:
    """Divides each item between its genres; an item without any belongs to none."""
    genres = jnp.where(genres > 0, genres, 0)
    axes = tuple(range(1, genres.ndim))
    return arithmetic.ratio(genres, jnp.sum(genres, axes, keepdims=True))


@metric(
    item_columns={"genres": _shares_of_genres},
    ties="order",
    lower_is_better=True,
    reads_labels=False,
)
def miscalibration(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    discount_fn: types.Discount | None = None,
    alpha: types.Number = 0.01,
) -> PerList:
    """Miscalibration: how far the genres of a list are from those of the user's profile.

    .. math:: KL(p || (1 − α)·q + α·p) = Σ_g p_g · ln(p_g / ((1 − α)·q_g + α·p_g))

    p is the distribution of genres over the profile, and q that over the first k items of
    the list. An item that has several genres is divided between them. A user who watched
    seven romances and three action films is shown them in this proportion by a calibrated
    list, whose value is 0. Lower values are better. The largest possible is ln(1/α), 4.6
    by default, where the list has none of the genres of the profile.

    Reads items that tie in one order. Undefined (no item of the list or of the profile has
    a genre): 0. Where only later items have a genre, the value at k is ln(1/α); of a
    ranking that was cut, any item may be a later one. Reads no labels, and the items of
    profiles: `seen` of `evaluate_users`, and `profile_ids` of `rank_ids` and its kin, whose
    `profile_weights` weigh each item, such as by how recently it was played.

    Reads the column `genres` of `item_columns`, `[num_items, genres]`: how much of each
    item belongs to each genre, bools, or numbers that are divided by their sum. Numbers
    below 0 count as 0, and NaN is refused. An item without genres leaves both
    distributions. Rows of `columns`, `[*lists, items, genres]`, hold shares.

    Args:
        k: Cutoff or cutoffs.
        discount_fn: Maps ranks 1, 2, … to multipliers of at least 0, which weigh the items
            of the list, such as `reciprocal_discount`. None weighs all ranks alike.
        alpha: The share of p in the distribution that p is compared with, between 0 and 1,
            so that the logarithm stays finite. Another number compiles again.

    Raises:
        ValueError: if there are no profiles; if `genres` is not `[num_items, genres]`; if
            alpha is not between 0 and 1.

    Example:
        >>> import jax_rank_metrics as jrm
        >>> genres = [[1, 0], [1, 0], [0, 1], [1, 1]]  # romance, action
        >>> known = {"item_columns": {"genres": genres}, "profile_ids": [0, 2]}
        >>> f"{miscalibration.of(jrm.rank_ids([3, 1, 2], **known)).values:.4f}"  # q is p
        '0.0000'
        >>> lists = miscalibration.of(jrm.rank_ids([0, 3], **known), k=(1, 2), alpha=0.5)
        >>> [f"{value:.4f}" for value in lists.values]
        ['0.1438', '0.0323']

        The first is ½·ln(½ / ¾) + ½·ln(½ / ¼); in the second q is ¾ and ¼.

    References:
        Steck, Calibrated recommendations, RecSys 2018 (C_KL). Implementations to base 2
        report it divided by ln 2. RADio does too, and mixes q into p as well.
    """
    alpha = inputs.open_fraction("alpha", alpha)
    if not (discount_fn is None or callable(discount_fn)):
        raise TypeError(
            f"discount_fn is {discount_fn!r}; pass a function of ranks, such as "
            "jrm.reciprocal_discount, or None"
        )
    ks, place_fn = ranking.cutoffs(k), place.positions(discount_fn)
    listed = ranking.expected_sum(_genres, place_fn, ks)
    known = ranking.profile_sum(_genres)
    if traced_data(ranking).cut is None:
        of_all = ranking.expected_sum(_genres, place_fn, (None,))[..., 0, :]
    else:
        of_all = ranking.pool_sum(_genres)
    p, q = _distribution(known)[..., None, :], _distribution(listed)
    mixed = q + alpha * (p - q)
    quotients = jnp.where(p > 0, p / jnp.where(p > 0, mixed, 1), 1)
    values = jnp.maximum(arithmetic.total(p * jnp.log(quotients)), 0)
    # NaN, of an item that is none of the catalogue, is not 0.
    defined = (arithmetic.total(of_all) != 0) & (arithmetic.total(known) != 0)
    return ranking.per_list(values, defined, k, label_fns.item_exists)


def _genres(items: Items) -> jax.Array:
    """Returns the share of each genre in each item, `[*lists, items, genres]`."""
    column, lists = items.columns["genres"], items.exists.shape
    if column.ndim != len(lists) + 1:
        raise ValueError(
            f"'genres' has shape {column.shape} where items are known, {lists}; pass how "
            "much of each item belongs to each genre, [num_items, genres]"
        )
    return jnp.where(items.exists[..., None], column, 0)


def _distribution(amounts: jax.Array) -> jax.Array:
    """Divides amounts `[…, genres]` by their sum; 0 where all are."""
    total = arithmetic.total(amounts)[..., None]
    return amounts / jnp.where(total == 0, 1, total)
