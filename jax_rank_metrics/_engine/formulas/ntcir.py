"""Measures of NTCIR: precision and cumulated gain blended into one ratio.

All of them average the blended ratio of a rank r over some ranks of the list,

    BR(r) = (C(r) + β · cg(r)) / (r + β · cg*(r)),

where C(r) is the number of relevant items among the first r, cg(r) the sum of their gains,
and cg*(r) the sum of the first r gains of the ideal order of the whole pool.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places.place import Place
from jax_rank_metrics._engine.ranking import Items, Ranking, stops, traced_data
from jax_rank_metrics._engine.ranking.best_order import ideal_gained
from jax_rank_metrics._engine.ranking.item_fns import ItemFn
from jax_rank_metrics._ground import arithmetic, gains, inputs, types
from jax_rank_metrics._values.per_list import PerList


@metric(names=("q",), ties="order", is_share=True)
def q_measure(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    beta: types.Number = 1.0,
    denominator: types.RecallDenominator = "relevant",
    gain_fn: types.Gain = gains.linear_gain,
    relevance_threshold: types.Number = 1.0,
) -> PerList:
    """Q-measure: average precision for graded labels.

    .. math:: Q@k = (1 / R) · Σ_{r ≤ k} rel_r · (C(r) + β · cg(r)) / (r + β · cg^*(r))

    rel_r is 1 if the item at rank r is relevant, else 0. C(r) is the number of relevant
    items among the first r, cg(r) the sum of their gains, and cg*(r) the sum of the first
    r gains of the ideal order of the pool. R is the number of relevant items of the pool.
    With β = 0 it is average precision, except that weights of items change no value.

    Undefined (nothing relevant in the pool): 0. Has no closed form over ties here. Also
    accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        beta: β, how much cumulated gain counts beside precision, at least 0.
        denominator: The divisor of the sum: "relevant" is R; "attainable" is min(k, R), so
            that 1 can be reached at every k. Without a cutoff, k is the number of items
            retrieved.
        gain_fn: Maps labels of relevant items to gains, which must not be negative; other
            items gain nothing.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 2]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{q_measure(labels, scores).compute():.5f}"  # (2/3 + (2 + 3)/(3 + 3)) / 2
        '0.75000'

    References:
        Sakai, On the reliability of information retrieval metrics based on graded
        relevance, Information Processing and Management 43(2), 2007. Agrees with
        pyNTCIREVAL `QMeasure`, at a cutoff with `denominator="attainable"`.
    """
    inputs.option("denominator", denominator, types.RecallDenominator)
    beta = inputs.not_negative("beta", beta)
    ks, hit = ranking.cutoffs(k), label_fns.is_relevant(relevance_threshold)
    worth, ratio_at = _blended(ranking, ks, beta, hit, gain_fn)
    sums = ranking.expected_sum(hit, ratio_at, ks, counting=(worth,))
    divisor = ranking.num_relevant(relevance_threshold)[..., None]
    if denominator == "attainable":
        divisor = jnp.minimum(divisor, ranking.depth(ks, nominal=True))
    return label_fns.per_list_if_relevant(
        ranking, arithmetic.ratio(sums, divisor), relevance_threshold, k
    )


@metric(ties="order", is_share=True)
def p_plus(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    beta: types.Number = 1.0,
    gain_fn: types.Gain = gains.linear_gain,
    relevance_threshold: types.Number = 1.0,
) -> PerList:
    """P+: the mean blended ratio of the relevant items down to the best of them.

    .. math::

        P^+@k = (1 / C(r_p)) · Σ_{r ≤ r_p} rel_r · (C(r) + β · cg(r)) / (r + β · cg^*(r))

    r_p is the rank of the preferred item, the first relevant item with the largest gain
    at ranks 1..k. The user is assumed to read down to this item and stop. All else is as
    in `q_measure`. The value is 0 if no relevant item has a rank up to k.

    Undefined (nothing relevant in the pool): 0. Has no closed form over ties: reads one
    order of tied items, which a `key` draws for each list. Also accepts the arguments
    of `rank`.

    Args:
        k: Cutoff or cutoffs. Items below rank k count as not retrieved.
        beta: β, how much cumulated gain counts beside precision, at least 0.
        gain_fn: Maps labels of relevant items to gains, which must not be negative.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 2]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{p_plus(labels, scores).compute():.5f}"  # (2/3 + (2 + 3)/(3 + 3)) / 2
        '0.75000'
        >>> f"{p_plus(labels, scores, k=2).compute():.5f}"  # the first item is the best
        '0.66667'

    References:
        Sakai, On the properties of evaluation metrics for finding one highly relevant
        document, IPSJ Digital Courier 3, 2007. Agrees with pyNTCIREVAL `PPlusMeasure`,
        which has no cutoff.
    """
    beta = inputs.not_negative("beta", beta)
    ks, hit = ranking.cutoffs(k), label_fns.is_relevant(relevance_threshold)
    gain = _gain_if(label_fns.gain_of(ranking, gain_fn), hit)
    worth, ratio_at = _blended(ranking, ks, beta, hit, gain_fn)

    def ratio_if_read(place: Place, k: types.Cut, preferred: jax.Array) -> jax.Array:
        return _is_read(place, k, preferred) * ratio_at(place, k)

    preferred, values = stops.best_ranks(traced_data(ranking), hit, gain, ks), []
    for i, cut in enumerate(ks):
        per_list = (preferred[..., i],)
        num_read = ranking.expected_sum(hit, _is_read, (cut,), per_list=per_list)
        sums = ranking.expected_sum(
            hit, ratio_if_read, (cut,), counting=(worth,), per_list=per_list
        )
        values.append(arithmetic.ratio(sums, num_read))
    return label_fns.per_list_if_relevant(
        ranking, jnp.concatenate(values, axis=-1), relevance_threshold, k
    )


def _is_read(place: Place, k: types.Cut, preferred: jax.Array) -> jax.Array:
    del k
    return (place.above < preferred).astype(place.above.dtype)


@metric(ties="order", is_share=True)
def o_measure(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    beta: types.Number = 1.0,
    gain_fn: types.Gain = gains.linear_gain,
    relevance_threshold: types.Number = 1.0,
) -> PerList:
    """O-measure: the blended ratio of the first relevant item.

    .. math:: O@k = (1 + β · g(r_1)) / (r_1 + β · cg^*(r_1))

    The first relevant item has the rank r_1 and the gain g(r_1); all else is as in
    `q_measure`. The value is 0 if r_1 is beyond k. With β = 0 it is the reciprocal rank.

    Undefined (nothing relevant in the pool): 0. Has no closed form over ties. Also accepts
    the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        beta: β, how much gain counts beside precision, at least 0.
        gain_fn: Maps labels of relevant items to gains, which must not be negative.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 1, 2]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{o_measure(labels, scores).compute():.5f}"  # (1 + 1) / (2 + 3)
        '0.40000'

    References:
        Sakai (see `p_plus`). Agrees with pyNTCIREVAL `OMeasure`, which has no cutoff.
    """
    beta = inputs.not_negative("beta", beta)
    ks, hit = ranking.cutoffs(k), label_fns.is_relevant(relevance_threshold)
    worth, ratio_at = _blended(ranking, ks, beta, hit, gain_fn)

    def ratio_if_first(place: Place, k: types.Cut) -> jax.Array:
        (worth_above,) = place.counted_above
        ratios = ratio_at(place, k)
        return jnp.where(worth_above == 0, ratios, jnp.zeros_like(ratios))

    values = ranking.expected_sum(hit, ratio_if_first, ks, counting=(worth,))
    return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, k)


def _blended(
    ranking: Ranking,
    ks: Sequence[types.Cut],
    beta: types.Number,
    hit: ItemFn,
    gain_fn: types.Gain,
) -> tuple[ItemFn, Callable[[Place, types.Cut], jax.Array]]:
    """Returns a function of items for `counting`, and a function of places, the ratio.

    The function of items returns 1 + β · gain for relevant items; its sum down to a rank is
    the numerator of the ratio at this rank. The ratio is 0 beyond k. Numerators and
    denominators are scaled, so that large gains stay finite.

    Args:
        ranking: The lists, in one definite order.
        ks: Cutoffs.
        beta: β.
        hit: A function of items that is True for relevant items.
        gain_fn: Maps labels of relevant items to gains.
    """
    gain = _gain_if(label_fns.gain_of(ranking, gain_fn), hit)
    monotone = gain_fn in gains.MONOTONE_GAINS
    ideal = beta * ideal_gained(
        traced_data(ranking), label_fns.scaled(gain), ks, monotone=monotone
    )

    def ratio_at(place: Place, k: types.Cut) -> jax.Array:
        (worth_above,), (item_worth,) = place.counted_above, place.counted_tied
        blended = (worth_above + item_worth) / (
            label_fns.SCALE * (place.above + 1) + ideal
        )
        return place.within(k) * blended

    return _worth(hit, gain, beta), ratio_at


@by_options
def _worth(items: Items, *, hit: ItemFn, gain: ItemFn, beta: float) -> jax.Array:
    return label_fns.scaled(hit)(items) + beta * label_fns.scaled(gain)(items)


@by_options
def _gain_if(items: Items, *, gain: ItemFn, hit: ItemFn) -> jax.Array:
    return jnp.where(hit(items), gain(items), 0)
