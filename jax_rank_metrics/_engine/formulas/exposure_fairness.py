"""Fairness of exposure: how close the exposure of groups of items is to a target.

The column `groups`, `[*lists, items, groups]` numbers or bools, says how much of each item
belongs to each group; see `attention_weighted_rank_fairness`. The exposure of a group is a
sum over ranks 1..k: the attention of each rank times the membership of the item at this
rank. Tied scores are a stochastic ranking: exposures are means over all orders of tied
items, and each metric except `ndkl` is computed from these means. The result is not the
mean of the metric over orders, but the fairness of showing every order equally often.
"""

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import groups
from jax_rank_metrics._engine.formulas.groups import memberships
from jax_rank_metrics._engine.formulas.label_fns import item_exists, per_list_where
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places.place import Place, positions
from jax_rank_metrics._engine.ranking import Ranking
from jax_rank_metrics._ground import gains, inputs, types
from jax_rank_metrics._ground.arithmetic import ratio, total
from jax_rank_metrics._ground.group_amounts import jensen_shannon, shares
from jax_rank_metrics._values import per_list


@metric(
    names=("awrf",),
    item_columns=("groups",),
    ties="own",
    is_share=True,
)
def attention_weighted_rank_fairness(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    target: types.GroupTarget = None,
    discount_fn: types.Discount = gains.log2_rank_discount,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Attention-weighted rank fairness: how close shares of attention are to a target.

    .. math:: AWRF@k = 1 − (KL(p ‖ m) + KL(t ‖ m)) / 2

    p is the groups' shares of the exposure at ranks 1..k, t the target shares of the
    groups, and m is (p + t) / 2. The subtracted term is the Jensen–Shannon divergence in
    nats (natural logarithm), not its root, so values reach from 1 − ln 2 = 0.307 to 1.

    Undefined (no item of the pool belongs to a group, or the target is 0): 0. The value is
    also 0 if no item at ranks 1..k belongs to a group. Tied items count with their expected
    exposure under every tie policy. Also accepts the arguments of `rank`. Reads the
    column `groups`, `[*lists, items, groups]`: how much of each item belongs to each group,
    0 or more, perhaps a fraction. NaN is unknown and counts as 0; numbers above 2^32 count
    as 2^32. If items are known by id, pass the column in `item_columns`.

    Args:
        k: Cutoff or cutoffs.
        target: A tuple with a share for each group. None is the groups' shares of the
            pool; "relevant" is their shares of the relevant items of the pool.
        discount_fn: Maps ranks 1, 2, … to the attention that they get.
        relevance_threshold: Least label of a relevant item, for the target "relevant".

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"groups": jnp.array([[1, 0], [0, 1], [1, 0]])}
        >>> state = attention_weighted_rank_fairness(
        ...     labels, scores, columns=columns, k=2, target=(0.5, 0.5))
        >>> f"{state.compute():.5f}"  # ranks 1 and 2 get the same attention
        '1.00000'

    References:
        Sapiezynski et al., Quantifying the impact of user attention on fair group
        representation in ranked lists, WWW 2019; Raj and Ekstrand, Measuring fairness in
        ranked results, SIGIR 2022. Agrees with the evaluation of the Fair Ranking tracks
        of TREC 2021 and 2022, which gives items of unknown groups no attention either.
    """
    groups.check_target(target)
    exposed = groups.exposures(ranking, discount_fn, ranking.cutoffs(k), memberships)
    targets = groups.target_amounts(ranking, target, relevance_threshold)
    values = 1 - jensen_shannon(exposed, targets[..., None, :])
    values = jnp.where(total(exposed) > 0, values, 0)
    sizes = ranking.pool_sum(memberships)
    return per_list_where(ranking, values, (total(sizes) > 0) & (total(targets) > 0), k)


@metric(
    names={
        "ee": {},
        "ee_l": {},
        "ee_d": {"part": "disparity"},
        "ee_r": {"part": "relevance"},
    },
    item_columns=("groups",),
    ties="own",
    lower_is_better=lambda options: options["part"] != "relevance",
)
def expected_exposure(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    part: types.ExposurePart = "loss",
    target: types.GroupTarget = None,
    discount_fn: types.Discount = gains.log2_rank_discount,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Expected exposure: the squared distance of the groups' exposures from a target.

    .. math:: EE_L = |e − t|^2 = |e|^2 − 2 · e · t + |t|^2

    e is the exposures of the groups at ranks 1..k, and t their target exposures. The names
    `ee` and `ee_l` are the loss, `ee_d` is the disparity e · e, and `ee_r` the relevance
    e · t. Lower is better, except for the relevance.

    Undefined (no item of the pool belongs to a group): 0. Tied items count with their
    expected exposure under every tie policy. Also accepts the arguments of
    `rank`. Reads the column `groups`; see `attention_weighted_rank_fairness`.

    Args:
        k: Cutoff or cutoffs.
        part: "loss", "disparity" or "relevance".
        target: The target exposures. A tuple gives each group its share of the attention
            of ranks 1..k. None gives a group its mean membership in the pool as its share,
            as a random order does. "relevant" gives it the exposure that it has if all
            relevant items come first, in random order, and then all other items, in random
            order.
        discount_fn: Maps ranks 1, 2, … to the attention that they get.
        relevance_threshold: Least label of a relevant item, for the target "relevant".

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.8])
        >>> columns = {"groups": jnp.array([[1, 0], [0, 1], [0, 1]])}
        >>> state = expected_exposure(
        ...     labels, scores, columns=columns, k=2, target=(0.5, 0.5))
        >>> f"{state.compute():.5f}"  # each group has one of two ranks
        '0.00000'

    References:
        Diaz, Mitra, Ekstrand, Biega and Carterette, Evaluating stochastic rankings with
        expected exposure, CIKM 2020 ("relevant"). Agrees with the evaluation of TREC 2021's
        Fair Ranking track (task 2) for lists of k items; the evaluation of 2022 counts
        only relevant items in e.
    """
    inputs.option("part", part, types.ExposurePart)
    groups.check_target(target)
    ks = ranking.cutoffs(k)
    exposed = groups.exposures(ranking, discount_fn, ks, memberships)
    targets = groups.target_exposures(
        ranking, target, discount_fn, ks, relevance_threshold
    )
    sizes = ranking.pool_sum(memberships)
    factors = {
        "loss": (exposed - targets, exposed - targets),
        "disparity": (exposed, exposed),
        "relevance": (exposed, targets),
    }
    first, second = factors[part]
    return per_list_where(ranking, total(first * second), total(sizes) > 0, k)


@metric(item_columns=("groups",), ties="order", lower_is_better=True)
def ndkl(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    target: tuple[types.Number, ...] | None = None,
    discount_fn: types.Discount = gains.log2_discount,
) -> per_list.PerList:
    """Normalized discounted KL divergence: how far the top ranks are from target shares.

    .. math:: NDKL@k = Σ_{r ≤ k} d(r) · KL(p_r ‖ t) / Σ_{r ≤ k} d(r)

    p_r is the groups' shares of the memberships at ranks 1..r, and t the target shares of
    the groups; d(r) is the discount, and KL is in nats. Lower is better.

    Undefined (no item of the pool belongs to a group): 0. The divergence at rank r is 0
    if no item at ranks 1..r belongs to a group. Has no closed form over ties: reads one
    order of tied items, which a `key` draws for each list. Also accepts the arguments
    of `rank`. Reads the column `groups`; see `attention_weighted_rank_fairness`.

    Args:
        k: Cutoff or cutoffs.
        target: A tuple with a share above 0 for each group; None is the groups' shares of
            the pool.
        discount_fn: Maps ranks 1, 2, … to multipliers.

    Example:
        >>> labels, scores = jnp.array([1, 0]), jnp.array([0.9, 0.8])
        >>> columns = {"groups": jnp.array([[1, 0], [0, 1]])}
        >>> state = ndkl(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # ln 2 / (1 + 1 / log2(3))
        '0.42500'

    References:
        Geyik, Ambler and Kenthapadi, Fairness-aware ranking in search and recommendation
        systems with application to LinkedIn talent search, KDD 2019. Agrees with
        FairRankTune `NDKL`, except for the 1e-7 that FairRankTune adds to every share.
    """
    if target is not None and (not isinstance(target, tuple) or 0 in target):
        raise ValueError(
            f"target is {target!r}; pass a tuple of shares above 0, one for each group, or "
            "None"
        )
    groups.check_target(target)
    ks, counting = ranking.cutoffs(k), (memberships, groups.membership_total)
    targets = shares(groups.target_amounts(ranking, target, 1))[..., None, :]
    at_ranks = [
        ranking.expected_sum(item_exists, share_fn(discount_fn), ks, counting=counting)
        for share_fn in (_negative_entropy_at, _share_at)
    ]  # [*lists, len(ks), groups] each
    cross_entropy = at_ranks[1] * jnp.log(jnp.where(targets > 0, targets, 1))
    weight = ranking.expected_sum(item_exists, positions(discount_fn), ks)
    values = ratio(total(at_ranks[0] - cross_entropy), weight)
    has_groups = total(ranking.pool_sum(memberships)) > 0
    return per_list_where(ranking, jnp.maximum(values, 0), has_groups, k)


@by_options
def _share_at(place: Place, k: types.Cut, *, position_fn: types.Discount) -> jax.Array:
    """Returns the discount of a rank times the share of one group down to this rank."""
    return positions(position_fn)(place, k) * _share_through(place)


@by_options
def _negative_entropy_at(
    place: Place, k: types.Cut, *, position_fn: types.Discount
) -> jax.Array:
    """Returns the discount of a rank times p·ln p, with the share p as in `_share_at`."""
    share, worth = _share_through(place), positions(position_fn)(place, k)
    return worth * share * jnp.log(jnp.where(share > 0, share, 1))


def _share_through(place: Place) -> jax.Array:
    """Returns the share of one group in all memberships, from rank 1 down to a place."""
    group_memberships, all_memberships = (
        above + tied
        for above, tied in zip(place.counted_above, place.counted_tied, strict=True)
    )
    return ratio(group_memberships, all_memberships)
