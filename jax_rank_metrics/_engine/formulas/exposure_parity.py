"""Parity of exposure: the exposure of groups per item or per merit, compared.

The column `groups`, `[*lists, items, groups]` numbers or bools, says how much of each item
belongs to each group. Exposures are means over all orders of tied items, and each metric is
computed from these means.
"""

from jax_rank_metrics._engine.formulas.groups import exposures, memberships, merit_of
from jax_rank_metrics._engine.formulas.label_fns import per_list_where, scaled
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.ranking import Ranking
from jax_rank_metrics._engine.ranking.item_fns import ItemFn
from jax_rank_metrics._ground import gains, inputs
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._ground.group_amounts import compared, has_several
from jax_rank_metrics._ground.types import Comparison, Cutoffs, Discount, Gain
from jax_rank_metrics._values import per_list


@metric(
    item_columns=("groups",),
    ties="own",
    lower_is_better=lambda options: options["comparison"] == "difference",
    is_share=lambda options: options["comparison"] == "ratio",
)
def exposure_parity(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    comparison: Comparison = "difference",
    discount_fn: Discount = gains.log2_discount,
) -> per_list.PerList:
    """Parity of exposure: the largest mean exposure of a group less the smallest.

    The mean exposure of a group is its exposure at ranks 1..k divided by its size, which is
    the sum of its memberships in the pool. Groups without items in the pool are left out.

    Undefined (fewer than two groups have items): 0. Tied items count with their expected
    exposure under every tie policy. Also accepts the arguments of `rank`. Reads
    the column `groups`; see `attention_weighted_rank_fairness`.

    Args:
        k: Cutoff or cutoffs.
        comparison: "difference" is the largest less the smallest, and 0 is fair; "ratio" is
            the smallest divided by the largest, and 1 is fair. The ratio is 0 if no group
            has any exposure.
        discount_fn: Maps ranks 1, 2, … to the attention that they get.

    Example:
        >>> import jax.numpy as jnp
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"groups": jnp.array([[1, 0], [0, 1], [1, 0]])}
        >>> state = exposure_parity(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # (1 + 1 / log2(4)) / 2 − 1 / log2(3)
        '0.11907'

    References:
        Singh and Joachims, Fairness of exposure in rankings, KDD 2018 (demographic
        parity). Agrees with FairRankTune `EXP` of one ranking of all items.
    """
    inputs.option("comparison", comparison, Comparison)
    sizes = ranking.pool_sum(memberships)[..., None, :]
    exposed = exposures(ranking, discount_fn, ranking.cutoffs(k), memberships)
    values = compared(ratio(exposed, sizes), sizes > 0, comparison)
    return per_list_where(ranking, values, has_several(sizes[..., 0, :] > 0), k)


@metric(
    names=("dtr",),
    item_columns=("groups",),
    ties="own",
    is_share=True,
)
def disparate_treatment_ratio(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    gain_fn: Gain = gains.linear_gain,
    discount_fn: Discount = gains.log2_discount,
) -> per_list.PerList:
    """Disparate treatment ratio: the worst group's exposure per merit over the best's.

    The merit of a group is the sum of the gains of its items in the pool. A group is
    treated fairly if its share of the exposure equals its share of the merit; groups
    without merit are left out.

    Undefined (fewer than two groups have merit): 0. It is 0 if a group with merit has no
    exposure. Tied items count with their expected exposure under every tie policy.
    Also accepts the arguments of `rank`. Reads the column `groups`; see
    `attention_weighted_rank_fairness`.

    Args:
        k: Cutoff or cutoffs.
        gain_fn: Maps labels to gains, which must not be negative.
        discount_fn: Maps ranks 1, 2, … to the attention that they get.

    Example:
        >>> import jax.numpy as jnp
        >>> labels, scores = jnp.array([1, 2, 0]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"groups": jnp.array([[1, 0], [0, 1], [0, 1]])}
        >>> state = disparate_treatment_ratio(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # ((1 / log2(3) + 1 / log2(4)) / 2) / (1 / 1)
        '0.56546'

    References:
        Singh and Joachims (see `exposure_parity`); of the two groups there, the smaller
        value is divided by the larger. Agrees with FairRankTune `EXPU` of one ranking of
        all items.
    """
    return _worst_by_merit(ranking, memberships, gain_fn, discount_fn, k)


@metric(
    names=("dir",),
    item_columns=("groups",),
    ties="own",
    is_share=True,
)
def disparate_impact_ratio(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    gain_fn: Gain = gains.linear_gain,
    discount_fn: Discount = gains.log2_discount,
) -> per_list.PerList:
    """Disparate impact ratio: the worst group's clicks per merit over the best group's.

    The clicks of an item are its attention times its gain, so the clicks of a group are its
    part of the DCG. The merit of a group is the sum of the gains of its items in the pool.
    Groups without merit are left out.

    Undefined (fewer than two groups have merit): 0. It is 0 if a group with merit has no
    clicks. Tied items count with their expected exposure under every tie policy.
    Also accepts the arguments of `rank`. Reads the column `groups`; see
    `attention_weighted_rank_fairness`.

    Args:
        k: Cutoff or cutoffs.
        gain_fn: Maps labels to gains, which must not be negative.
        discount_fn: Maps ranks 1, 2, … to the attention that they get.

    Example:
        >>> import jax.numpy as jnp
        >>> labels, scores = jnp.array([1, 2, 0]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"groups": jnp.array([[1, 0], [0, 1], [0, 1]])}
        >>> state = disparate_impact_ratio(labels, scores, columns=columns)
        >>> f"{state.compute():.5f}"  # (2 / log2(3) / 2) / (1 / 1)
        '0.63093'

    References:
        Singh and Joachims (see `exposure_parity`); of the two groups there, the smaller
        value is divided by the larger. Agrees with FairRankTune `EXPRU` of one ranking of
        all items.
    """
    clicks_fn = scaled(merit_of(ranking, gain_fn))
    return _worst_by_merit(ranking, clicks_fn, gain_fn, discount_fn, k)


def _worst_by_merit(
    ranking: Ranking, item_fn: ItemFn, gain_fn: Gain, discount_fn: Discount, k: Cutoffs
) -> per_list.PerList:
    merits = ranking.pool_sum(scaled(merit_of(ranking, gain_fn)))
    exposed = exposures(ranking, discount_fn, ranking.cutoffs(k), item_fn)
    has_merit = merits > 0
    by_merit = ratio(exposed, merits[..., None, :])
    values = compared(by_merit, has_merit[..., None, :], "ratio")
    return per_list_where(ranking, values, has_several(has_merit), k)
