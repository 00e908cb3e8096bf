"""A list beside the profile of its user; nothing here reads labels.

A profile is the ids of the items that a user had to do with before, such as those of
training.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine import ranking
from jax_rank_metrics._engine.formulas import id_lists
from jax_rank_metrics._engine.formulas.popularity import popularity
from jax_rank_metrics._ground import arithmetic, gains, inputs, shards, types
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._values.per_list import PerList

Ids = types.RankedIds | ranking.Ranking


def popularity_lift(
    ids: Ids,
    counts: types.PerItem,
    profile_ids: types.ProfileIds,
    k: types.RankCutoffs = None,
    *,
    ratio_of_means: bool = True,
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
    `ratio_of_means` its weight is 0 too.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `popularity`.
        counts: `[num_items]`, how often each item was seen in training, or its share.
        profile_ids: `[*lists, profile]` integers, the items of each user's profile, in any
            order. Ids outside the catalogue are padding; a repeated id counts again.
        k: Cutoff or cutoffs of the list; None is all items.
        ratio_of_means: Whether a mean is a ratio of means. False weighs all users alike,
            so that it is the mean of their lifts: those of users of rare items then
            dominate.

    Raises:
        ValueError: as `popularity`; if the leading axes of the ids differ; if the mean
            count of a profile is below 0.
        TypeError: if ids are not integers.

    References:
        Abdollahpouri, Mansoury, Burke and Mobasher, The unfairness of popularity bias in
        recommendation, RMSE workshop at RecSys 2019 (ΔGAP), and The connection between
        popularity bias, calibration, and fairness in recommendation, RecSys 2020.

    >>> ids, counts = jnp.array([[2, 0], [1, 0]]), jnp.array([4, 2, 8])
    >>> lists = popularity_lift(ids, counts, jnp.array([[0, -1], [0, 2]]))
    >>> lists.values.tolist()  # 6 against 4, and 3 against 6
    [0.5, -0.5]
    >>> lists.mean().compute().item()  # 9 against 10
    -0.1...
    """
    of_lists = inputs.frames_among(ids=ids, profile_ids=profile_ids)
    inputs.same_index(of_lists=of_lists)
    listed = popularity(ids, counts, k, log=False)
    profile_array = id_lists.ranked_items("profile_ids", profile_ids, ties="order")[
        0
    ].ids
    if profile_array.shape[:-1] != listed.weights.shape:
        raise ValueError(
            f"profile_ids has shape {profile_array.shape} for lists of shape "
            f"{listed.weights.shape}; pass arrays that agree in all axes but the last axis"
        )
    profiles = popularity(profile_array, counts, log=False)
    difference, profiles = _differences(listed, profiles)
    lifts = difference.over(profiles)
    if ratio_of_means:
        return lifts
    return PerList(lifts.values, profiles.weights, lifts.defined)


@jax.jit
def _differences(listed: PerList, profiles: PerList) -> tuple[PerList, PerList]:
    """Subtracts the means of profiles, and leaves out users who lack list or profile."""
    listed, profiles = shards.align_with_sharded(
        (listed, profiles), profiles.weights.ndim
    )
    defined = listed.defined & profiles.defined
    means = arithmetic.widen(profiles.values, listed.values)
    difference = PerList(listed.values - means, listed.weights, defined)
    return difference, PerList(profiles.values, profiles.weights, defined)


def miscalibration(
    ids: Ids,
    genres: types.ItemGenres,
    profile_ids: types.ProfileIds,
    k: types.RankCutoffs = None,
    *,
    discount_fn: types.Discount | None = None,
    profile_weights: types.ProfileWeights | None = None,
    alpha: types.Number = 0.01,
) -> PerList:
    """Miscalibration: how far the genres of a list are from those of the user's profile.

    .. math:: KL(p || (1 − α)·q + α·p) = Σ_g p_g · ln(p_g / ((1 − α)·q_g + α·p_g))

    p is the distribution of genres over the profile, and q that over the first k items of
    the list. An item that has several genres is divided between them. A user who watched
    seven romances and three action films is shown them in this proportion by a calibrated
    list, whose value is 0. Lower values are better. The largest possible is ln(1/α), 4.6
    by default, where the list has none of the genres of the profile.

    Undefined (no item of the list or of the profile has a genre): 0. Every list has the
    weight 1. Where only later items have a genre, the value at k is ln(1/α).

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `popularity`.
        genres: `[num_items, genres]`, how much of each item belongs to each genre: bools,
            or numbers that are divided by their sum. NaN and numbers below 0 count as 0.
            An item without genres leaves both distributions.
        profile_ids: `[*lists, profile]` integers; see `popularity_lift`.
        k: Cutoff or cutoffs of the list; None is all items.
        discount_fn: Maps ranks 1, 2, … to multipliers of at least 0, which weigh the items
            of the list, such as `reciprocal_discount`. None weighs all ranks alike.
        profile_weights: `[*lists, profile]`, the weight of each item of a profile, such as
            how recently it was played; only those above 0 count. None weighs all alike.
        alpha: The share of p in the distribution that p is compared with, between 0 and 1,
            so that the logarithm stays finite. Another number does not compile again.

    Raises:
        ValueError: as `popularity_lift`; if `genres` is not `[num_items, genres]`; if
            weights and ids of profiles differ in shape; if alpha is not between 0 and 1;
            if `discount_fn` does not return a multiplier for each rank.
        TypeError: if ids are not integers, or alpha is not a number.

    References:
        Steck, Calibrated recommendations, RecSys 2018 (C_KL). Implementations to base 2
        report it divided by ln 2. RADio does too, and mixes q into p as well.

    >>> genres = jnp.array([[1, 0], [1, 0], [0, 1], [1, 1]])  # romance, action
    >>> ids, profile = jnp.array([3, 1, 2]), jnp.array([0, 2])
    >>> f"{miscalibration(ids, genres, profile).values:.4f}"  # q is p, ½ and ½
    '0.0000'
    >>> lists = miscalibration(jnp.array([0, 3]), genres, profile, k=(1, 2), alpha=0.5)
    >>> [f"{value:.4f}" for value in lists.values]
    ['0.1438', '0.0323']

    The first is ½·ln(½ / ¾) + ½·ln(½ / ¼); in the second q is ¾ and ¼.
    """
    ks, keep_cutoffs = inputs.rank_cutoffs(k), isinstance(k, (tuple, list))
    of_profiles = {"profile_ids": profile_ids, "profile_weights": profile_weights}
    inputs.same_index(of_profiles, inputs.frames_among(ids=ids))
    genres = inputs.catalog_array("genres", genres, ("genres",))
    alpha = inputs.open_fraction("alpha", alpha)
    items, dtype = id_lists.ranked_items("ids", ids, ks, "order")
    profile_array = id_lists.ranked_items("profile_ids", profile_ids, ties="order")[
        0
    ].ids
    inputs.same_lists("profile_ids", profile_array, "ids", items.ids)
    if profile_weights is not None:
        profile_weights = inputs.real("profile_weights", profile_weights)
        shape = inputs.ids("profile_ids", profile_ids).shape
        inputs.same_shape("profile_weights", profile_weights, "profile_ids", shape)
        # Where no profile has an item, one slot of padding stands for them.
        profile_weights = profile_weights if shape[-1] else None
    dtype = id_lists.wider(dtype, inputs.float_dtype(genres, profile_weights))
    static = ks, keep_cutoffs, dtype.name, discount_fn
    profile = profile_array, profile_weights
    return id_lists.if_known(
        _miscalibrations(*static, items.ids, profile, genres, alpha), items
    )


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _miscalibrations(
    ks: tuple[int | None, ...],
    keep_cutoffs: bool,
    dtype: str,
    discount_fn: types.Discount | None,
    ids: jax.Array,
    profile: tuple[jax.Array, jax.Array | None],
    genres: jax.Array,
    alpha: jax.Array,
) -> PerList:
    ids = shards.reshard_like(ids, profile[0])
    profile = shards.reshard_like(profile, ids)

    def of_shard(tree: Any) -> PerList:
        ids, (profile_ids, profile_weights), genres, alpha = tree
        exists = id_lists.in_catalog(ids, genres)
        ranks = arithmetic.cumulative_count(exists)
        weights = [exists if k is None else exists & (ranks <= k) for k in (*ks, None)]
        weights = jnp.stack(weights, -2).astype(dtype)
        if discount_fn is not None:
            positions = jnp.maximum(ranks, 1).astype(dtype)
            weights = weights * gains.discounts_of(discount_fn, positions)[..., None, :]
        listed = arithmetic.dot(weights, _genres_of(ids, genres, dtype))
        in_profile = jnp.ones(profile_ids.shape, dtype)
        if profile_weights is not None:
            in_profile = profile_weights.astype(dtype)
            in_profile = jnp.where(in_profile > 0, in_profile, 0)
        known = _genres_of(profile_ids, genres, dtype)
        known = arithmetic.dot(in_profile[..., None, :], known)
        totals = arithmetic.total(listed), arithmetic.total(known)
        p, q = ratio(known, totals[1][..., None]), ratio(listed, totals[0][..., None])
        mixed = q + alpha.astype(dtype) * (p - q)
        quotients = jnp.where(p > 0, p / jnp.where(p > 0, mixed, 1), 1)
        values = jnp.maximum(arithmetic.total(p * jnp.log(quotients)), 0)
        # The last cut is that of the whole list.
        defined = (totals[0][..., -1] > 0) & (totals[1][..., 0] > 0)
        return id_lists.equally_weighted(values[..., :-1], defined, keep_cutoffs)

    tree = ids, profile, genres, jnp.asarray(alpha)
    return shards.map_shards(of_shard, tree, ids[..., 0])


def _genres_of(ids: jax.Array, genres: jax.Array, dtype: str) -> jax.Array:
    """Returns the share of each genre in each item, `[*lists, ranks, genres]`."""
    rows = id_lists.rows_of(ids, genres, dtype)
    rows = jnp.where(rows > 0, rows, 0)  # also where NaN
    return ratio(rows, arithmetic.total(rows)[..., None])
