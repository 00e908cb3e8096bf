"""C/W/L metrics of a user whose chance to go on may depend on the gain so far.

C(r) is the chance that a user who has read the item at rank r goes on to the next. A user
therefore reads rank r with the chance V(r) = C(1) · … · C(r − 1), and Σ V(r) items on
average. The gain per item read is the expected utility of the list,

    EU@k = Σ_r V(r) · g(r) / Σ_r V(r).

As in cwl_eval, the sums are over the ranks up to `max_rank`, 1000 by default, whatever the
length of the list. A rank without an item, or beyond k, has the gain 0 and the cost 1,
because the user does not know that the list ends.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.ranking import Items, Ranking, data_of, item_fns
from jax_rank_metrics._engine.ranking.browsing import (
    Browsing,
    Step,
    browsing,
    browsing_by_rank,
)
from jax_rank_metrics._ground import arithmetic, inputs, types
from jax_rank_metrics._values import per_list


def is_utility(options: dict[str, object]) -> bool:
    """True if values are the utility of an item, which lies in [0, 1] as gains do."""
    return options["value"] == "utility"


def direction(options: dict[str, object]) -> bool | None:
    """Returns False for gains, which should be high, and None for costs and counts."""
    return False if options["value"] in ("utility", "total_utility") else None


@metric(
    ties="order",
    optional_columns=("costs",),
    lower_is_better=direction,
    is_share=is_utility,
)
def inst(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    target: types.Number = 1.0,
    value: types.UserValue = "utility",
    max_label: types.Number | None = None,
    max_rank: int = 1000,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """INST: the gain per item of a user who is likelier to stop near a target of gain.

    .. math:: C(r) = ((n − 1) / n)^2, n = r + 2 · T − cg(r)

    C(r) is the chance to go on after rank r, T the gain that the user hopes for, and cg(r)
    the gain of the first r items. The value is EU@k = Σ V(r) · g(r) / Σ V(r), summed over
    the ranks up to `max_rank`: g(r) is the gain at rank r, and V(r) = C(1) · … · C(r − 1)
    the chance that it is read. Ranks without an item, or beyond k, have the gain 0.

    Undefined (nothing relevant in the pool): 0. Has no closed form over ties: reads one
    order of tied items, which a `key` draws for each list. Also accepts the arguments
    of `rank`. Raises for rankings that contain only listed items.

    Args:
        k: Cutoff or cutoffs. Items below rank k count as not retrieved.
        target: T, at least 0.5.
        value: The quantity to return, here in the order of cwl_eval's columns: "utility"
            is EU, the gain per item read, as above; "total_utility" is ETU, the gain when
            the user stops; "cost" is EC, the cost per item read; "total_cost" is ETC, the
            cost when the user stops; "items" is ED, the number of items read. A user who
            reads beyond `max_rank` never stops and adds nothing to the totals. Costs are
            read from the column `costs`, `[*lists, items]`. An item costs 1 if there is no
            column or if its entry is not above 0; a rank without an item costs 1, too.
        max_label: If None, gains are binary. Otherwise they are label / max_label, clipped
            at 1.
        max_rank: The last rank that can be read.
        relevance_threshold: Least label of a relevant item; not read with `max_label`.

    Example:
        >>> labels, scores = jnp.array([1, 0]), jnp.array([0.9, 0.8])
        >>> state = inst(labels, scores, max_rank=2)  # C(1) = (1/2)², 1 / (1 + 1/4)
        >>> f"{state.compute():.5f}"
        '0.80000'

    References:
        Moffat, Bailey, Scholer and Thomas, INST: an adaptive metric for information
        retrieval evaluation, ADCS 2015, and Incorporating user expectations and behavior
        into the measurement of search effectiveness, ACM TOIS 35(3), 2017. Agrees with
        cwl_eval `INST`.
    """
    follow = functools.partial(browsing, log_continuation=_slowing(_target(target)))
    return measured(ranking, follow, k, value, max_label, max_rank, relevance_threshold)


@metric(
    optional_columns=("costs",),
    lower_is_better=direction,
    linear=True,
    is_share=is_utility,
)
def insq(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    target: types.Number = 1.0,
    value: types.UserValue = "utility",
    max_label: types.Number | None = None,
    max_rank: int = 1000,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """INSQ: the gain per item of a user who goes on more readily the deeper the rank.

    .. math:: C(r) = ((n − 1) / n)^2, n = r + 2 · T, V(r) = (2 · T / (r − 1 + 2 · T))^2

    T is the gain that the user hopes for. The user goes on as in `inst`, but regardless of
    the gain so far. The value is EU@k; see `inst`.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs. Items below rank k count as not retrieved.
        target: T, at least 0.5.
        value: The quantity to return; see `inst`.
        max_label: If None, gains are binary. Otherwise they are label / max_label, clipped
            at 1.
        max_rank: The last rank that can be read.
        relevance_threshold: Least label of a relevant item; not read with `max_label`.

    Example:
        >>> labels, scores = jnp.array([1, 0]), jnp.array([0.9, 0.8])
        >>> state = insq(labels, scores, max_rank=2)  # C(1) = (2/3)², 1 / (1 + 4/9)
        >>> f"{state.compute():.5f}"
        '0.69231'

    References:
        Moffat, Scholer and Thomas, Models and metrics: IR evaluation as a user process,
        ADCS 2012. Agrees with cwl_eval `INSQ`.
    """
    follow = functools.partial(browsing_by_rank, view_fn=_squared(_target(target)))
    return measured(ranking, follow, k, value, max_label, max_rank, relevance_threshold)


def _target(target: types.Number) -> float:
    """Checks the target of INST: below 0.5, chances to go on would exceed 1."""
    target = inputs.positive("target", target)
    if target < 0.5:
        raise ValueError(f"target is {target!r}; pass a gain of at least 0.5")
    return target


@by_options
def _slowing(step: Step, *, target: float) -> jax.Array:
    n = step.rank + 2 * target - step.gained
    return 2 * jnp.log1p(-1 / jnp.maximum(n, 1))  # sums may round below 1


@by_options
def _squared(ranks: jax.Array, *, target: float) -> jax.Array:
    """Returns C(1) · … · C(r − 1) of INSQ, in which all factors but two cancel."""
    return (2 * target / (ranks + (2 * target - 1))) ** 2


@metric(
    names=("tbg",),
    optional_columns=("costs",),
    order_columns=("costs",),
    lower_is_better=direction,
    is_share=is_utility,
)
def time_biased_gain(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    half_life: types.Number = 224.0,
    value: types.UserValue = "utility",
    max_label: types.Number | None = None,
    max_rank: int = 1000,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Time-biased gain: the gain per item if half of the users leave in each half-life.

    .. math:: V(r) = 2^{−time(r) / h}

    time(r) is the cost of the items above rank r: the seconds that a user takes to reach
    rank r. The value is the gain per item read, EU@k = Σ V(r) · g(r) / Σ V(r); see `inst`.
    The published measure is the sum Σ V(r) · g(r): pass `value="total_utility"`.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.
    Reads the column `costs`, `[*lists, items]`: the seconds that each item takes. Smucker
    and Clarke assume 4.4 seconds for the summary of a document, and 7.8 seconds plus 0.018
    per word if the document is opened, with a chance that depends on its relevance; this
    metric assumes none of these numbers. An item takes 1 if there is no column or if its
    entry is not above 0; a rank without an item takes 1, too. With the column, tied items
    are read in one order, which a `key` draws for each list, and rankings that contain only
    listed items raise.

    Args:
        k: Cutoff or cutoffs. Items below rank k count as not retrieved.
        half_life: h, in the unit of the costs.
        value: The quantity to return; see `inst`. Here every user has stopped by
            `max_rank`.
        max_label: If None, gains are binary. Otherwise they are label / max_label, clipped
            at 1.
        max_rank: The last rank that can be read.
        relevance_threshold: Least label of a relevant item; not read with `max_label`.

    Example:
        >>> labels, scores = jnp.array([1, 1]), jnp.array([0.9, 0.8])
        >>> columns = {"costs": jnp.array([224.0, 10.0])}
        >>> state = time_biased_gain(labels, scores, columns=columns, value="total_utility")
        >>> f"{state.compute():.5f}"  # 1 + 1/2
        '1.50000'

    References:
        Smucker and Clarke, Time-based calibration of effectiveness measures, SIGIR 2012.
        Agrees with cwl_eval `TBG`.
    """
    half_life = inputs.positive("half_life", half_life)
    max_rank = inputs.positive_integer("max_rank", max_rank, inputs.MAX_INT32)

    def follow(ranking: Ranking, gain: item_fns.ItemFn, **options: Any) -> Browsing:
        if options["cost_fn"] is None:
            decayed = _decayed(half_life, max_rank)
            return browsing_by_rank(ranking, gain, view_fn=decayed, **options)
        decay = _decay(half_life, max_rank)
        return browsing(ranking, gain, log_continuation=decay, **options)

    return measured(ranking, follow, k, value, max_label, max_rank, relevance_threshold)


@by_options
def _decay(step: Step, *, half_life: float, max_rank: int) -> jax.Array:
    log_chance = -math.log(2) / half_life * step.cost
    return jnp.where(step.rank < max_rank, log_chance, -jnp.inf)


@by_options
def _decayed(ranks: jax.Array, *, half_life: float, max_rank: int) -> jax.Array:
    """Returns V(r) if each item takes the time 1, for arrays of JAX or NumPy."""
    return 2.0 ** ((1 - ranks) / half_life) * (ranks <= max_rank).astype(ranks.dtype)


def measured(
    ranking: Ranking,
    follow: Callable[..., Browsing],
    k: types.Cutoffs,
    value: types.UserValue,
    max_label: types.Number | None,
    max_rank: int,
    relevance_threshold: types.Number,
) -> per_list.PerList:
    """Computes one value of the browsing model `follow`; see `inst` for other arguments."""
    inputs.option("value", value, types.UserValue)
    max_rank = inputs.positive_integer("max_rank", max_rank, inputs.MAX_INT32)
    gain = label_fns.is_relevant(relevance_threshold)
    if max_label is not None:
        gain = label_fns.graded_relevance(inputs.positive("max_label", max_label))
    ks, data = ranking.cutoffs(k), data_of(ranking)
    has_costs = "costs" in data.column_names
    if has_costs:
        data.check_complete("costs")
    cost_fn = _cost_of if has_costs else None
    user = follow(ranking, gain, ks=ks, cost_fn=cost_fn, max_rank=max_rank)
    values = {
        "utility": arithmetic.ratio(user.gain, user.items),
        "total_utility": user.gain_at_stop,
        "cost": arithmetic.ratio(user.cost, user.items),
        "total_cost": user.cost_at_stop,
        "items": user.items,
    }[value]
    if max_label is None:
        return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, k)
    return label_fns.per_list_where(ranking, values, ranking.pool_max(gain) > 0, k)


def _cost_of(items: Items) -> jax.Array:
    """Reads the column `costs`; an entry that is not above 0, or unknown, counts as 1."""
    column = items.columns["costs"]
    if column.shape != items.exists.shape:
        raise ValueError(
            f"columns: 'costs' has shape {column.shape} for items of shape "
            f"{items.exists.shape}; pass one number per item"
        )
    costs = column.astype(items.labels.dtype)
    return jnp.where(costs > 0, jnp.minimum(costs, _LARGEST_COST), 1)


# Sums of costs over a list must stay finite.
_LARGEST_COST = 2.0**64
