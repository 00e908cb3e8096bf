"""Extreme classification: labels that are seldom observed count for more.

The column `propensities`, `[*lists, items]`, says how likely it is that a label (an item
of a list) is observed if it is relevant. `label_propensities` computes the column from
training data. A relevant item adds 1 / propensity, so that the observed occurrences of a
rare label make up for the occurrences that were not observed.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Items, Ranking, item_fns, traced_data
from jax_rank_metrics._ground import arithmetic, gains, inputs, types
from jax_rank_metrics._values import per_list

# The constants a and b that Jain et al. fitted to data sets.
_SETTINGS = {"default": (0.55, 1.5), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}

# With fewer points, ln N is below 1, and propensities would be above 1.
_MIN_POINTS = 3

# Propensities are probabilities, but rounding may push them a little above 1.
_MAX_PROPENSITY = 1 + 1e-5


def label_propensities(
    counts: types.PerItem,
    num_points: int,
    *,
    setting: types.PropensitySetting = "default",
    a: types.Number | None = None,
    b: types.Number | None = None,
) -> jax.Array | np.ndarray:
    """Computes the propensity of every label from how often it occurs in training data.

    .. math:: 1 / p_l = 1 + C · (n_l + b)^{−a}, C = (ln N − 1) · (b + 1)^a

    n_l is the number of training points with the label l, and N the number of all training
    points. The result holds propensities, not their inverses: gather it by the ids of items
    and pass it as the column `propensities`.

    Args:
        counts: `[num_items]`, n_l; or an array of any other shape.
        num_points: N, the number of training points, at least 3; static.
        setting: The published constants: "wikipedia" is a = 0.5, b = 0.4; "amazon" is
            a = 0.6, b = 2.6; "default" is a = 0.55, b = 1.5, for all other data.
        a: Replaces the a of the setting.
        b: Replaces the b of the setting.

    Returns:
        Numbers between 0 and 1 in the shape of `counts`: float64 arrays of NumPy, or
        JAX's default floats for a JAX array, also inside `jax.jit`.

    Raises:
        TypeError: if an argument is not a number of the kind described.
        ValueError: if there are fewer than 3 points, if the setting is unknown, if a or b
            is not above 0, or if a count is negative, NaN or above `num_points`. Counts in
            a JAX array are not checked.

    Example:
        >>> rare, frequent = label_propensities([1, 10_000], num_points=100_000)
        >>> f"{1 / rare:.3f}, {1 / frequent:.3f}"  # 1 + (ln 100,000 − 1) = 11.513
        '11.513, 1.110'

    References:
        Jain, Prabhu and Varma, Extreme multi-label loss functions for recommendation,
        tagging, ranking and other missing label applications, KDD 2016. The inverses
        agree with pyxclib's `compute_inv_propesity` and napkinXC's
        `Jain_et_al_inverse_propensity`.
    """
    num_points = inputs.positive_integer("num_points", num_points)
    if num_points < _MIN_POINTS:
        raise ValueError(
            f"num_points is {num_points}; pass the number of training points, at least "
            f"{_MIN_POINTS}"
        )
    inputs.option("setting", setting, types.PropensitySetting)
    default_a, default_b = _SETTINGS[setting]
    a = inputs.positive("a", default_a if a is None else a)
    b = inputs.positive("b", default_b if b is None else b)
    scale = (math.log(num_points) - 1) * (b + 1) ** a
    counts = inputs.by_items("counts", counts)
    if isinstance(counts, jax.Array):
        numbers = inputs.real("counts", counts)
        numbers = numbers.astype(jax.dtypes.canonicalize_dtype(float))
        return 1 / (1 + scale * (numbers + b) ** -a)
    numbers = inputs.numpy_array("counts", counts)
    if numbers.dtype.kind not in "biuf":
        raise TypeError(f"counts: got {numbers.dtype} values; pass numbers")
    numbers = numbers.astype(np.float64)
    is_legal = (numbers >= 0) & (numbers <= num_points)
    if not is_legal.all():
        index = inputs.first_index(~is_legal)
        raise ValueError(
            f"counts: {numbers[index]} at {index}; pass how many of the {num_points} "
            "training points have each label, from 0 to num_points"
        )
    return 1 / (1 + scale * (numbers + b) ** -a)


@metric(names=("psp",), columns=("propensities",))
def propensity_scored_precision(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Propensity-scored precision: precision in which rare labels count for more.

    .. math:: PSP@k = Σ_q P_q@k / Σ_q P^*_q@k, P_q@k = (1 / k) · Σ_{r ≤ k} rel_r / p_r

    The sums are over the lists q; rel_r is 1 if the item at rank r is relevant, and p_r
    is its propensity; without a cutoff, k is the number of items of the pool. P* is the
    value of the best order of the pool, so that 1 can be reached. The value of a list is
    its own ratio P / P*, with the weight P*: see `PerList.over`.

    Undefined (nothing relevant in the pool): 0; such a list weighs 0. Also accepts the
    arguments of `rank`. Reads the column `propensities`, `[*lists, items]`: see
    `label_propensities`. Items whose propensity is not above 0 add nothing, so rankings
    from ids need only the propensities of relevant items. A relevant item with a
    propensity above 1 raises, because this is no probability; inside `jax.jit`, which
    cannot check this, the propensity counts as 1.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"propensities": jnp.array([0.5, 0.5, 0.1])}
        >>> state = propensity_scored_precision(labels, scores, columns=columns, k=2)
        >>> f"{state.compute():.5f}"  # (2 + 0) / (10 + 2)
        '0.16667'

    References:
        Jain, Prabhu and Varma (see `label_propensities`), normalised as there and in the
        extreme classification repository. Agrees with pyxclib `psprecision` and napkinXC
        `psprecision_at_k`.
    """
    ks, size = ranking.cutoffs(k), ranking.pool_sum(label_fns.item_exists)
    cuts = [size if k is None else jnp.full_like(size, k) for k in ks]
    divisor = jnp.stack(cuts, axis=-1)
    return _over_best(ranking, None, divisor, k, relevance_threshold)


@metric(names=("psndcg",), columns=("propensities",))
def propensity_scored_ndcg(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    discount_fn: types.Discount = gains.log2_discount,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Propensity-scored nDCG: binary nDCG in which rare labels count for more.

    .. math:: PSnDCG@k = Σ_q N_q@k / Σ_q N^*_q@k,
        N_q@k = Σ_{r ≤ k} d(r) · rel_r / p_r / Σ_{r ≤ min(k, R)} d(r)

    The sums over q are over the lists; R is the number of relevant items of the pool, d(r)
    is the discount, and rel and p are as in `propensity_scored_precision`. N* is the value
    of the best order of the pool. The value of a list is its own ratio N / N*, with the
    weight N*: see `PerList.over`.

    Undefined (nothing relevant in the pool): 0; such a list weighs 0. Also accepts the
    arguments of `rank`. Reads the column `propensities`; see `propensity_scored_precision`.

    Args:
        k: Cutoff or cutoffs.
        discount_fn: Maps ranks 1, 2, … to multipliers, rank by rank.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"propensities": jnp.array([0.5, 0.5, 0.1])}
        >>> state = propensity_scored_ndcg(labels, scores, columns=columns, k=3)
        >>> f"{state.compute():.5f}"  # (2 + 10 / log2(4)) / (10 + 2 / log2(3))
        '0.62157'

    References:
        Jain, Prabhu and Varma (see `label_propensities`). Agrees with pyxclib `psndcg` and
        napkinXC `psndcg_at_k`.
    """
    hit = label_fns.is_relevant(relevance_threshold)
    ks = ranking.cutoffs(k)
    divisor = ranking.ideal_sum(hit, discount_fn, ks, monotone=True)
    return _over_best(ranking, discount_fn, divisor, k, relevance_threshold)


@metric(names=("psr",), columns=("propensities",))
def propensity_scored_recall(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Propensity-scored recall: recall in which rare labels count for more.

    .. math:: PSR@k = Σ_q R_q@k / Σ_q R^*_q@k, R_q@k = (1 / R) · Σ_{r ≤ k} rel_r / p_r

    The sums are over the lists q; R is the number of relevant items of the pool, and rel
    and p are as in `propensity_scored_precision`. R* is the value of the best order of the
    pool. The value of a list is its own ratio, with the weight R*: see `PerList.over`.

    Undefined (nothing relevant in the pool): 0; such a list weighs 0. Also accepts the
    arguments of `rank`. Reads the column `propensities`; see `propensity_scored_precision`.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"propensities": jnp.array([0.5, 0.5, 0.1])}
        >>> state = propensity_scored_recall(labels, scores, columns=columns, k=(2, 3))
        >>> [f"{value:.5f}" for value in state.compute()]  # 2 / 12, 12 / 12
        ['0.16667', '1.00000']

    References:
        Jain, Prabhu and Varma (see `label_propensities`). Agrees with pyxclib `psrecall`
        and napkinXC `psrecall_at_k`.
    """
    divisor = ranking.num_relevant(relevance_threshold)[..., None]
    return _over_best(ranking, None, divisor, k, relevance_threshold)


def _over_best(
    ranking: Ranking,
    position_fn: types.PositionFn | None,
    divisor: jax.Array,
    k: types.Cutoffs,
    threshold: types.Number,
) -> per_list.PerList:
    """Sums relevance / propensity over ranks, relative to the best order of the pool.

    Args:
        ranking: The lists.
        position_fn: Maps ranks 1, 2, … to multipliers; None is 1 at every rank.
        divisor: `[*lists, len(ks)]`, the divisor of both sums of a list. It cancels from
            the list's value, but sets the weight of the list.
        k: The argument of the metric.
        threshold: The least label of a relevant item.
    """
    ks, hit = ranking.cutoffs(k), label_fns.is_relevant(threshold)
    largest = ranking.pool_max(_propensity_if(hit))
    traced_data(ranking).refuse(
        largest > _MAX_PROPENSITY,
        "the column 'propensities' is above 1 for a relevant item{}; pass the probability "
        "that a label is observed, as jrm.label_propensities returns it, and not its "
        "inverse",
    )
    worth = _inverse_propensity(hit)
    sums = (
        ranking.expected_sum(worth, place.positions(position_fn), ks),
        ranking.ideal_sum(worth, position_fn or jnp.ones_like, ks),
    )
    gained, possible = (
        ranking.per_list(arithmetic.ratio(values, divisor), True, k, hit)
        for values in sums
    )
    return gained.over(possible)


@by_options
def _inverse_propensity(items: Items, *, hit: item_fns.ItemFn) -> jax.Array:
    """Returns 1 / propensity for the items for which `hit` is true, else 0.

    It is also 0 if the propensity is not above 0, and it is 1 if the propensity is above 1.
    """
    propensities = jnp.minimum(_propensity_if(hit)(items), 1)
    return arithmetic.ratio(jnp.ones_like(propensities), propensities)


@by_options
def _propensity_if(items: Items, *, hit: item_fns.ItemFn) -> jax.Array:
    """Returns the propensity of each item for which `hit` is true, else 0.

    It is also 0 if the propensity is not above 0.
    """
    propensities = items.columns["propensities"]
    if propensities.shape != items.exists.shape:
        raise ValueError(
            f"columns: 'propensities' has shape {propensities.shape} for items of "
            f"shape {items.exists.shape}; pass one number for each item"
        )
    propensities = propensities.astype(items.labels.dtype)
    return jnp.where(hit(items) & (propensities > 0), propensities, 0)
