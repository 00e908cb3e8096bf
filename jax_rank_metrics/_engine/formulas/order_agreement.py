"""Agreement of scores with labels: pairs in order, and rank correlation."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places.place import Place, positions
from jax_rank_metrics._engine.ranking import Ranking, concordance, traced_data
from jax_rank_metrics._ground import arithmetic, inputs
from jax_rank_metrics._ground.types import Cut, Number, PairWeighting
from jax_rank_metrics._values.per_list import PerList


def _items_above(place: Place, k: Cut) -> jax.Array:
    del k
    return place.above


@metric(names=("opa",), is_share=True)
def ordered_pair_accuracy(
    ranking: Ranking, *, weighting: PairWeighting = "list"
) -> PerList:
    """Ordered pair accuracy: the share of the pairs of different labels that is in order.

    A pair is in order if the item with the larger label has the better score; a pair of
    tied scores counts ½.

    Undefined (no two items of different labels): 0. Reads whole lists, of items that
    have a rank, in time items·log(distinct labels). Also accepts the
    arguments of `rank`.

    Args:
        weighting: If "pairs", the weight of a list in the mean is multiplied by its number
            of pairs; if "list", it is not.

    Example:
        >>> labels, scores = jnp.array([1, 0, 2]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{ordered_pair_accuracy(labels, scores).compute():.5f}"  # 1 of 3
        '0.33333'

    References:
        Joachims, Optimizing search engines using clickthrough data, KDD 2002. Without
        tied scores "list" agrees with rax `opa_metric`, and "pairs" with TF-Ranking
        `OPAMetric`; both count a tie as 0.
    """
    inputs.option("weighting", weighting, PairWeighting)
    pairs = ranking.pairs(label_fns.label_of)
    values = arithmetic.ratio(pairs.in_order + pairs.tied / 2, pairs.total)
    lists = label_fns.per_list_where(ranking, values[..., None], pairs.total > 0)
    if weighting == "list":
        return lists
    return PerList(lists.values, lists.weights * pairs.total, lists.defined)


def misplaced_share(
    ranking: Ranking, threshold: Number, tie_cost: float, weighs_pairs: bool
) -> tuple[jax.Array, jax.Array]:
    """Returns the share of pairs of a relevant and a non-relevant item out of order.

    Args:
        ranking: The lists, with their tie groups.
        threshold: Least label of a relevant item.
        tie_cost: How much a pair of tied items counts as out of order, from 0 to 1.
        weighs_pairs: If True, a pair counts the product of the weights of its items.

    Returns:
        Shares, `[*lists, 1]`, and True for each list that has such pairs, `[*lists]`.
    """
    hit = label_fns.is_relevant(threshold)
    num_hits = ranking.expected_sum(hit, positions(), (None,))
    num_nonrelevant = ranking.depth((None,)) - num_hits
    has_pairs = (num_hits > 0) & (num_nonrelevant > 0)

    if weighs_pairs and traced_data(ranking).weighs_items:
        nonrelevant = label_fns.weighted(label_fns.and_not(label_fns.item_exists, hit))
        hit_weight, nonrelevant_weight = (
            ranking.expected_sum(item_fn, positions(), (None,))
            for item_fn in (label_fns.weighted(hit), nonrelevant)
        )
        shares = ranking.expected_sum(
            label_fns.weighted(hit),
            _weight_share_before(tie_cost),
            (None,),
            counting=(nonrelevant,),
            per_list=(nonrelevant_weight[..., 0],),
        )
        return arithmetic.ratio(shares, hit_weight), has_pairs[..., 0]
    shares = ranking.expected_sum(
        hit,
        _share_before(tie_cost),
        (None,),
        counting=(hit,),
        per_list=(num_nonrelevant[..., 0],),
    )
    return arithmetic.ratio(shares, num_hits), has_pairs[..., 0]


@by_options
def _share_before(
    place: Place, k: Cut, num_nonrelevant: jax.Array, *, tie_cost: float
) -> jax.Array:
    """Returns the share of the non-relevant items that rank before a relevant item."""
    del k
    (hits_above,), (hits_tied,) = place.counted_above, place.counted_tied
    tied_nonrelevant = place.tied - hits_tied
    return arithmetic.ratio(
        place.above - hits_above + tie_cost * tied_nonrelevant, num_nonrelevant
    )


@by_options
def _weight_share_before(
    place: Place, k: Cut, nonrelevant_weight: jax.Array, *, tie_cost: float
) -> jax.Array:
    """Returns the share of the weight of non-relevant items before a relevant item."""
    del k
    (weight_above,), (weight_tied,) = place.counted_above, place.counted_tied
    return arithmetic.ratio(weight_above + tie_cost * weight_tied, nonrelevant_weight)


@metric(names=("auc",), is_share=True)
def roc_auc(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """Area under the ROC curve: how often a relevant item outranks a non-relevant one.

    It is the share of all pairs of a relevant and a non-relevant item that is in order;
    a pair of tied scores counts ½. Weights of items multiply pairs: each pair counts the
    product of its two weights. In recommendation, the plain mean over the users with items
    of both classes is called uAUC (`undefined="skip"`); for the weighted mean see `gauc`.

    Undefined (no relevant item, or no other item, has a rank): 0. Reads whole lists.
    Also accepts the arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{roc_auc(labels, scores).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        Hanley and McNeil, The meaning and use of the area under a ROC curve, Radiology
        143, 1982. Agrees with scikit-learn's `roc_auc_score` of each list, whose
        `sample_weight` are weights of items.
    """
    return _auc(ranking, relevance_threshold)[0]


@metric(names=("group_auc", "wuauc"), is_share=True)
def gauc(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """Group AUC: the mean `roc_auc` of lists with both classes, weighted by their lengths.

    .. math:: GAUC = Σ_u n_u · AUC_u / Σ_u n_u

    A list u usually holds the impressions of a user, and n_u is its number of items with a
    rank. Lists with items of only one class weigh 0, so they are left out whatever
    `undefined` is. `list_weights`, or the mean weight of the relevant items, multiply n_u.
    Weights of items multiply pairs, as in `roc_auc`.

    Undefined (no relevant item, or no other item, has a rank): 0, with the weight 0. Reads
    whole lists. Also accepts the arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels = jnp.array([[1, 0, 1, 0], [0, 1, -1, -1], [1, 1, 1, 1]])
        >>> scores = jnp.array([[0.9, 0.8, 0.7, 0.6]] * 3)
        >>> f"{gauc(labels, scores).compute():.5f}"  # (4·3/4 + 2·0) / (4 + 2)
        '0.50000'

    References:
        Zhu et al., Optimized cost per click in Taobao display advertising, KDD 2017; Zhou
        et al., Deep interest network for click-through rate prediction, KDD 2018. Some
        programs weigh lists by their numbers of relevant items, or equally. For these,
        call `roc_auc` with `undefined="skip"`, with `list_weights` or without.
    """
    lists, has_pairs = _auc(ranking, relevance_threshold)
    weights = lists.weights * ranking.depth((None,))[..., 0]
    return PerList(lists.values, jnp.where(has_pairs, weights, 0), lists.defined)


def _auc(ranking: Ranking, relevance_threshold: Number) -> tuple[PerList, jax.Array]:
    """Returns the values of lists, and True for each list with items of both classes."""
    shares, has_pairs = misplaced_share(
        ranking, relevance_threshold, tie_cost=0.5, weighs_pairs=True
    )
    hit = label_fns.is_relevant(relevance_threshold)
    return ranking.per_list(1 - shares, has_pairs, None, hit), has_pairs


def _geometric_mean(x: jax.Array, y: jax.Array) -> jax.Array:
    """√(x·y) of positive floats: exact where both are equal, and without overflow."""
    smaller, larger = jnp.minimum(x, y), jnp.maximum(x, y)
    return smaller * jnp.sqrt(arithmetic.ratio(larger, smaller))


@metric(ties="own")
def tau(ranking: Ranking) -> PerList:
    """Kendall's tau-b of scores and labels: the normalised surplus of pairs in order.

    .. math:: τ = (C − D) / √(P_s · P_l)

    C pairs are in order and D pairs in the opposite order; pairs that tie by score or by
    label count in neither number. P_s pairs have different scores, and P_l pairs different
    labels. Values are from −1 to 1.

    Undefined (fewer than two items, or all tied by score or by label): 0. Reads whole
    lists, of items that have a rank; raises for rankings that hold only relevant items.
    Also accepts the arguments of `rank`.

    Example:
        >>> labels, scores = jnp.array([2, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{tau(labels, scores).compute():.5f}"  # (2 − 1) / 3
        '0.33333'

    References:
        Kendall, The treatment of ties in ranking problems, Biometrika 33(3), 1945.
        Agrees with SciPy's `kendalltau`.
    """
    pairs = ranking.pairs(label_fns.label_of)
    # Each item forms a pair of different scores with every item above its tie group.
    untied_by_score = ranking.expected_sum(
        label_fns.item_exists, _items_above, (None,)
    )[..., 0]
    divisor = _geometric_mean(pairs.total, untied_by_score)
    values = arithmetic.ratio(pairs.in_order - pairs.opposed, divisor)
    return label_fns.per_list_where(ranking, values[..., None], divisor > 0)


@metric(ties="own")
def rho(ranking: Ranking) -> PerList:
    """Spearman's rho of scores and labels: the correlation of their ranks.

    Tied items share the mean of their ranks. Values are from −1 to 1.

    Undefined (fewer than two items, or all tied by score or by label): 0. Reads whole
    lists, of items that have a rank; raises for rankings that hold only relevant items.
    Also accepts the arguments of `rank`.

    Example:
        >>> labels, scores = jnp.array([2, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{rho(labels, scores).compute():.5f}"  # 1 − 6·(0 + 1 + 1) / 24
        '0.50000'

    References:
        Spearman, The proof and measurement of association between two things, American
        Journal of Psychology 15(1), 1904. Agrees with SciPy's `spearmanr`.
    """
    products = concordance.products(traced_data(ranking), label_fns.label_of)
    divisor = _geometric_mean(products.by_score, products.by_value)
    values = arithmetic.ratio(products.by_both, divisor)
    return label_fns.per_list_where(ranking, values[..., None], divisor > 0)
