"""Profiles: how a list differs from the history of its user.

A profile is the items of a user's history, such as the items seen in training.
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
    """Popularity lift: how much more popular a list is than the profile of its user.

    .. math:: (P(L) − P(H)) / P(H)

    P(L) is the mean count of the first k items of the list L, and P(H) the mean count of
    all items of the profile H. The lift is 0 if both are equally popular, 1 if the list is
    twice as popular, and at least −1. The closer to 0, the better a list follows the taste
    of its user.

    The published number of a group of users is a ratio of means, Σ (P(L) − P(H)) / Σ P(H).
    By default each user therefore has the weight P(H), so that `mean` gives this number
    for all users, and `by(groups, …)` for each group.

    Undefined (a list or a profile without items, or a profile with counts of 0): 0. With
    `ratio_of_means`, the weight of such a list is 0 too. Reads no labels. The items of
    profiles are `seen` of `evaluate_users`, or `profile_ids` of `rank_ids` and similar
    functions, in which a repeated id counts again. Reads the column `counts` of
    `item_columns`, `[num_items]`: how often each item was seen in training, or its share.

    Args:
        k: Cutoff or cutoffs.
        ratio_of_means: If True, the mean is a ratio of means. If False, it is the mean of
            the users' lifts, which users of rare items dominate.

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
        source.per_list(values, defined, cutoffs, label_fns.item_exists)
        for source, values, cutoffs in (
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
            f"'counts' has shape {column.shape} for items of shape {lists}; pass one "
            "number for each item, item_columns={'counts': [num_items]}"
        )
    return jnp.where(items.exists, column, 0)


def _shares_of_genres(genres: jax.Array) -> jax.Array:
    """Divides each item between its genres; all shares are 0 for an item without genres."""
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
    """Miscalibration: how far a list's genres are from the genres of its user's profile.

    .. math:: KL(p || (1 − α)·q + α·p) = Σ_g p_g · ln(p_g / ((1 − α)·q_g + α·p_g))

    p is the distribution of genres over the profile, and q the distribution over the first
    k items of the list. An item with several genres is divided between them. If a user
    watched seven romances and three action films, a calibrated list shows both genres in
    this proportion, and its value is 0. Lower values are better. The largest possible value
    is ln(1/α), 4.6 by default, if the list has no genre of the profile.

    Reads tied items in one order. Undefined (no item of the list or of the profile has a
    genre): 0. If only items after rank k have a genre, the value at k is ln(1/α); if the
    ranking was cut, every item of the pool counts as possibly after rank k. Reads no
    labels. The items of profiles are `seen` of `evaluate_users`, or `profile_ids` of
    `rank_ids` and similar functions, with `profile_weights` as the weights of their items,
    such as how recently each was played.

    Reads the column `genres` of `item_columns`, `[num_items, genres]`: how much of each
    item belongs to each genre, as bools, or as numbers that are divided by their sum.
    Numbers below 0 count as 0, and NaN is refused. An item without genres counts in neither
    distribution. Rows of `columns`, `[*lists, items, genres]`, must hold shares.

    Args:
        k: Cutoff or cutoffs.
        discount_fn: Maps ranks 1, 2, … to multipliers of at least 0, the weights of the
            items of the list, such as `reciprocal_discount`. None weighs all ranks equally.
        alpha: The share of p in the distribution that p is compared with, between 0 and 1,
            so that the logarithm stays finite. Each new number compiles again.

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
        Steck, Calibrated recommendations, RecSys 2018 (C_KL). Implementations that take
        logarithms to base 2 report it divided by ln 2. RADio does too, and also mixes q
        into p.
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
        all_genres = ranking.expected_sum(_genres, place_fn, (None,))[..., 0, :]
    else:
        all_genres = ranking.pool_sum(_genres)
    p, q = _distribution(known)[..., None, :], _distribution(listed)
    mixed = q + alpha * (p - q)
    quotients = jnp.where(p > 0, p / jnp.where(p > 0, mixed, 1), 1)
    values = jnp.maximum(arithmetic.total(p * jnp.log(quotients)), 0)
    # An item outside the catalogue makes its sum NaN, which is not 0: its list is defined.
    defined = (arithmetic.total(all_genres) != 0) & (arithmetic.total(known) != 0)
    return ranking.per_list(values, defined, k, label_fns.item_exists)


def _genres(items: Items) -> jax.Array:
    """Returns the share of each genre in each item, `[*lists, items, genres]`."""
    column, lists = items.columns["genres"], items.exists.shape
    if column.ndim != len(lists) + 1:
        raise ValueError(
            f"'genres' has shape {column.shape} for items of shape {lists}; pass how "
            "much of each item belongs to each genre, [num_items, genres]"
        )
    return jnp.where(items.exists[..., None], column, 0)


def _distribution(amounts: jax.Array) -> jax.Array:
    """Divides amounts `[…, genres]` by their sum; 0 if all amounts are 0."""
    total = arithmetic.total(amounts)[..., None]
    return amounts / jnp.where(total == 0, 1, total)
