"""Exposure of groups over all lists, for fairness that is amortised over queries."""

from typing import Any

import jax.numpy as jnp

from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.formulas.groups import exposures, memberships, merit_of
from jax_rank_metrics._engine.metrics import run, spec
from jax_rank_metrics._engine.ranking import Ranking
from jax_rank_metrics._engine.states.group_exposure import AMOUNTS, GroupExposure
from jax_rank_metrics._ground import gains
from jax_rank_metrics._ground.shares import share
from jax_rank_metrics._ground.types import Discount, Gain
from jax_rank_metrics._values import per_list


def group_exposure(
    ranking: Ranking,
    k: int | share | None = None,
    *,
    gain_fn: Gain = gains.linear_gain,
    discount_fn: Discount = gains.log2_discount,
) -> GroupExposure:
    """Sums the exposure and merit of groups of items over all lists, as a mergeable state.

    The state computes the groups' shares of all attention, and the parity, AWRF and
    exposure per merit of all lists together; see `GroupExposure`. Tied items count with
    the mean over all their orders, unless the ranking has another tie policy, which is then
    followed. Inside `jax.shard_map`, pass the states to `all_reduce`.

    Args:
        ranking: A ranking with the column `groups`, from `rank` or another source; see
            `attention_weighted_rank_fairness`.
        k: One cutoff; None reads whole lists.
        gain_fn: Maps labels to gains, whose sum is the merit; they must not be negative.
        discount_fn: Maps ranks 1, 2, … to the attention that they get.

    Raises:
        ValueError: if the ranking lacks the column, has it for only some of the items, or
            is less deep than k.
        TypeError: if `ranking` is not a ranking, or k is a tuple.

    >>> from jax_rank_metrics import rank
    >>> columns = {"groups": jnp.array([[1, 0], [0, 1], [1, 0]])}
    >>> labels, scores = jnp.array([1, 2, 0]), jnp.array([0.9, 0.8, 0.7])
    >>> state = group_exposure(rank(labels, scores, columns=columns))
    >>> [f"{share:.3f}" for share in state.shares()]  # 1 + 1 / log2(4) and 1 / log2(3)
    ['0.704', '0.296']
    >>> f"{state.treatment_ratio():.3f}"  # (0.631 / 2) / (1.5 / 1)
    '0.210'
    """
    if isinstance(k, (tuple, list)):
        raise TypeError(f"k is {k!r}; pass one cutoff")
    options = {"k": k, "gain_fn": gain_fn, "discount_fn": discount_fn}
    lists = run.measure_ranking((_AMOUNTS_OF_LISTS.bind((), options),), ranking)
    return GroupExposure.of(lists["group_exposure"])


def _amounts_of_lists(
    ranking: Ranking, *, k: int | share | None, gain_fn: Gain, discount_fn: Discount
) -> per_list.PerList:
    """Returns the amounts of all groups, `[*lists, 4·groups]`."""
    ks, merit = ranking.cutoffs(k), merit_of(ranking, gain_fn)
    sizes = ranking.pool_sum(memberships)
    amounts = {
        "exposure": exposures(ranking, discount_fn, ks, memberships)[..., 0, :],
        "size": sizes,
        "merit": ranking.pool_sum(merit),
        "impact": exposures(ranking, discount_fn, ks, merit)[..., 0, :],
    }
    values = jnp.concatenate([amounts[name] for name in AMOUNTS], -1)
    return label_fns.per_list_where(ranking, values, (sizes > 0).any(-1), (k,))


_OPTIONS: dict[str, Any] = {
    "k": None,
    "gain_fn": gains.linear_gain,
    "discount_fn": gains.log2_discount,
}

# A metric whose values are the four amounts of all groups. It is not registered by name.
_AMOUNTS_OF_LISTS = spec.Spec(
    name="group_exposure",
    formula=_amounts_of_lists,
    options=_OPTIONS,
    tie_reading="expected",
    columns=("groups",),
    optional_columns=(),
    order_free=False,
    at="k",
    item_columns=("groups",),
)
