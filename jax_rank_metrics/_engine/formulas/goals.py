"""C/W/L metrics of a user who stops at a goal, or when reading on does not pay.

`cwl.py` explains the framework.
"""

import functools
import math

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas.cwl import direction, is_utility, measured
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.ranking import Ranking
from jax_rank_metrics._engine.ranking.browsing import Step, browsing
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._values import per_list


@metric(
    names=("bpm",),
    ties="order",
    optional_columns=("costs",),
    lower_is_better=direction,
    is_share=is_utility,
)
def bejeweled_player_model(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    target: types.Number = 1.0,
    budget: types.Number = 10.0,
    target_step: types.Number = 0.0,
    budget_step: types.Number = 0.0,
    median_gain: types.Number = 0.5,
    value: types.UserValue = "utility",
    max_label: types.Number | None = None,
    max_rank: int = 1000,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Bejeweled player model: gain per item until a target is met or a budget is spent.

    .. math:: C(r) = 1 if cg(r) < T(r) and cost(r) < K(r), else 0

    cg(r) is the gain of the first r items, and cost(r) their cost. In the static model, T
    and K are the target and the budget. In the dynamic model they move with the gains that
    the user finds: each item above rank r, of gain g, adds h_b · (g − m) to T and
    h_c · (g − m) to K. The value is EU@k, here the mean gain of the items read; see `inst`.

    Undefined (nothing relevant in the pool): 0. Has no closed form over ties: reads one
    order of tied items, which a `key` draws for each list. Also accepts the arguments
    of `rank`. Raises for rankings that contain only listed items. Reads the column
    `costs`, `[*lists, items]`. An item costs 1 if there is no column or if its entry is
    not above 0; a rank without an item costs 1, too.

    Args:
        k: Cutoff or cutoffs. Items below rank k count as not retrieved. The k of `BPM@k`
            in ir_measures is the budget instead.
        target: T, the gain that the user wants.
        budget: K, the cost that the user is ready to pay.
        target_step: h_b, at least 0; 0 in the static model.
        budget_step: h_c, at least 0; 0 in the static model.
        median_gain: m, the gain of an item that moves neither T nor K.
        value: The quantity to return; see `inst`.
        max_label: If None, gains are binary. Otherwise they are label / max_label, clipped
            at 1; a sum of gains within 1e-5 of the target meets the target.
        max_rank: The last rank that can be read.
        relevance_threshold: Least label of a relevant item; not read with `max_label`.

    Example:
        >>> labels, scores = jnp.array([0, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> state = bejeweled_player_model(labels, scores)  # stops at rank 2
        >>> f"{state.compute():.5f}"
        '0.50000'

    References:
        Zhang, Liu, Li, Zhang, Xu and Ma, Evaluating web search with a bejeweled player
        model, SIGIR 2017. Agrees with cwl_eval `BPM`, and with `BPMD` if `budget_step` is
        0, because cwl_eval never moves the budget. Gains are at most 1, as in cwl_eval.
    """
    continuation = _until(
        inputs.positive("target", target),
        inputs.positive("budget", budget),
        inputs.not_negative("target_step", target_step),
        inputs.not_negative("budget_step", budget_step),
        inputs.fraction("median_gain", median_gain),
    )
    follow = functools.partial(browsing, log_continuation=continuation)
    return measured(ranking, follow, k, value, max_label, max_rank, relevance_threshold)


# Gains are rounded. With this margin, three items with a gain of 1/3 meet the target 1.
_ROUNDING = 1e-5


@by_options
def _until(
    step: Step,
    *,
    target: float,
    budget: float,
    target_step: float,
    budget_step: float,
    median_gain: float,
) -> jax.Array:
    surplus = step.gained - step.gain - median_gain * (step.rank - 1)
    lacks_gain = step.gained < target + target_step * surplus - _ROUNDING
    has_budget = step.spent < budget + budget_step * surplus - _ROUNDING
    return jnp.where(lacks_gain & has_budget, 0.0, -jnp.inf)


@metric(
    names=("ift",),
    ties="order",
    optional_columns=("costs",),
    lower_is_better=direction,
    is_share=is_utility,
)
def information_foraging(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    target: types.Number | None = 2.0,
    target_intercept: types.Number = 0.9,
    target_rationality: types.Number = 10.0,
    rate: types.Number | None = 0.2,
    rate_intercept: types.Number = 0.9,
    rate_rationality: types.Number = 10.0,
    value: types.UserValue = "utility",
    max_label: types.Number | None = None,
    max_rank: int = 1000,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Information foraging: gain per item of a user with a target and an expected rate.

    .. math:: C(r) = C_1(r) · C_2(r),
        C_1(r) = 1 − 1 / (1 + b_1 · e^{R_1 · (T − cg(r))}),
        C_2(r) = 1 / (1 + b_2 · e^{R_2 · (A − cg(r) / cost(r))})

    cg(r) is the gain of the first r items, and cost(r) their cost. C_1 falls as the gain
    reaches the target T, and C_2 falls as the gain per cost drops below the rate A. The
    value is EU@k; see `inst`.

    Undefined (nothing relevant in the pool): 0. Has no closed form over ties: reads one
    order of tied items, which a `key` draws for each list. Also accepts the arguments
    of `rank`. Raises for rankings that contain only listed items. Reads the column
    `costs`, as `bejeweled_player_model` does.

    Args:
        k: Cutoff or cutoffs. Items below rank k count as not retrieved.
        target: T; None leaves C_1 out, so that only the rate matters.
        target_intercept: b_1, above 0.
        target_rationality: R_1, how sharply the user stops at the target, above 0.
        rate: A; None leaves C_2 out, so that only the target matters.
        rate_intercept: b_2, above 0.
        rate_rationality: R_2, how sharply the user stops below the rate, above 0.
        value: The quantity to return; see `inst`.
        max_label: If None, gains are binary. Otherwise they are label / max_label, clipped
            at 1.
        max_rank: The last rank that can be read.
        relevance_threshold: Least label of a relevant item; not read with `max_label`.

    Example:
        >>> labels, scores = jnp.array([1, 0]), jnp.array([0.9, 0.8])
        >>> state = information_foraging(labels, scores, target=1.0, target_intercept=1.0,
        ...     rate=None, max_rank=2)  # C(1) = 1/2, 1 / (1 + 1/2)
        >>> f"{state.compute():.5f}"
        '0.66667'

    References:
        Azzopardi, Thomas and Craswell, Measuring the utility of search engine result
        pages: an information foraging based measure, SIGIR 2018. Agrees with cwl_eval
        `IFTGoal`, `IFTRate` and `IFTGoalRate`.
    """
    if target is None and rate is None:
        raise ValueError("target and rate are None; pass at least one of them")
    by_target = by_rate = None
    if target is not None:
        by_target = (
            inputs.positive("target", target),
            math.log(inputs.positive("target_intercept", target_intercept)),
            inputs.positive("target_rationality", target_rationality),
        )
    if rate is not None:
        by_rate = (
            inputs.positive("rate", rate),
            math.log(inputs.positive("rate_intercept", rate_intercept)),
            inputs.positive("rate_rationality", rate_rationality),
        )
    continuation = _foraging(by_target, by_rate)
    follow = functools.partial(browsing, log_continuation=continuation)
    return measured(ranking, follow, k, value, max_label, max_rank, relevance_threshold)


@by_options
def _foraging(
    step: Step,
    *,
    by_target: tuple[float, float, float] | None,
    by_rate: tuple[float, float, float] | None,
) -> jax.Array:
    log_chance = jnp.zeros_like(step.gained)
    if by_target is not None:
        target, log_intercept, rationality = by_target
        lack = log_intercept + rationality * (target - step.gained)
        log_chance = log_chance + jax.nn.log_sigmoid(lack)
    if by_rate is not None:
        rate, log_intercept, rationality = by_rate
        lag = log_intercept + rationality * (rate - step.gained / step.spent)
        log_chance = log_chance + jax.nn.log_sigmoid(-lag)
    return log_chance
