"""How far the order by scores agrees with the labels, item by item and pair by pair."""

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.shared import plain, relevant
from jax_rank_metrics._places.place import Place, positions
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cut, Number, PairWeighting


def _label(items: Items) -> jax.Array:
    return items.labels


def _one(items: Items) -> jax.Array:
    return jnp.ones_like(items.labels)


def _above(place: Place, k: Cut) -> jax.Array:
    del k
    return place.above


@metric(names=("opa",))
def ordered_pair_accuracy(
    ranking: Ranking, *, weighting: PairWeighting = "list"
) -> PerList:
    """Ordered pair accuracy: of the pairs of different labels, the share in order.

    A pair is in order where the larger label has the better score; tied scores count ½.

    Undefined (no two items of different labels): 0. Reads whole lists, of items that
    have a rank, in time of items·log(distinct labels).

    Takes the arguments of `rank` too, but for its k.

    Args:
        weighting: "list", every list counts alike; "pairs", as often as it has pairs.

    Example:
        >>> labels, scores = jnp.array([1, 0, 2]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{ordered_pair_accuracy(labels, scores).compute():.5f}"  # 1 of 3
        '0.33333'

    References:
        Joachims, Optimizing search engines using clickthrough data, KDD 2002. Without
        tied scores "list" is the same as rax `opa_metric`, and "pairs" as TF-Ranking
        `OPAMetric`; both count a tie as 0.
    """
    _inputs.option("weighting", weighting, PairWeighting)
    pairs = ranking.pairs(_label)
    values = ratio(pairs.in_order + pairs.tied / 2, pairs.total)
    lists = plain(ranking, values[..., None], pairs.total > 0)
    if weighting == "list":
        return lists
    return PerList(lists.values, lists.weights * pairs.total, lists.defined)


def misplaced(
    ranking: Ranking, threshold: Number, of_ties: float
) -> tuple[jax.Array, jax.Array]:
    """The share of relevant and non-relevant pairs not in order, and where there are any.

    Of pairs of tied items, `of_ties` count.
    """
    hit = relevant(threshold)
    number = ranking.expected_sum(hit, positions(), (None,))
    others = ranking.depth((None,)) - number
    defined = (number > 0) & (others > 0)

    def before(place: Place, k: Cut, others: jax.Array) -> jax.Array:
        (hits,), (tied,) = place.counted_above, place.counted_tied
        return ratio(place.above - hits + of_ties * (place.tied - tied), others)

    shares = ranking.expected_sum(
        hit, before, (None,), counting=(hit,), per_list=(others[..., 0],)
    )
    return ratio(shares, number), defined[..., 0]


@metric(names=("auc",))
def roc_auc(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """Area under the ROC curve: how often a relevant item outranks a non-relevant one.

    The share of all such pairs, tied ones counting ½.

    Undefined (nothing relevant, or nothing else, has a rank): 0. Reads whole lists.

    Takes the arguments of `rank` too, but for its k. The mean weighted by list is what
    recommenders call GAUC: pass `list_weights`, often the number of relevant items.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{roc_auc(labels, scores).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        Hanley and McNeil, The meaning and use of the area under a ROC curve, Radiology
        143, 1982. The same as scikit-learn's `roc_auc_score` of every list.
    """
    shares, defined = misplaced(ranking, relevance_threshold, 0.5)
    hit = relevant(relevance_threshold)
    return ranking.per_list(1 - shares, defined, None, hit)


@metric(ties="own")
def tau(ranking: Ranking) -> PerList:
    """Kendall's tau-b of scores and labels: pairs in order less pairs that are not.

    Divided by the mean (of the product, its root) of how many pairs differ in score and
    in label, so that ties of either lie between. From −1 to 1.

    Undefined (fewer than two items, or all tied by score or by label): 0. Reads whole
    lists, of items that have a rank; raises for rankings that hold relevant items alone.

    Takes the arguments of `rank` too, but for its k.

    Example:
        >>> labels, scores = jnp.array([2, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{tau(labels, scores).compute():.5f}"  # (2 − 1) / 3
        '0.33333'

    References:
        Kendall, The treatment of ties in ranking problems, Biometrika 33(3), 1945. The
        same as SciPy's `kendalltau`.
    """
    pairs = ranking.pairs(_label)
    differ = ranking.expected_sum(_one, _above, (None,))[..., 0]
    below = jnp.sqrt(pairs.total) * jnp.sqrt(differ)
    values = ratio(pairs.in_order - pairs.opposed, below)
    return plain(ranking, values[..., None], below > 0)


@metric(ties="own")
def rho(ranking: Ranking) -> PerList:
    """Spearman's rho of scores and labels: the correlation of their ranks.

    Tied items share the mean of their ranks. From −1 to 1.

    Undefined (fewer than two items, or all tied by score or by label): 0. Reads whole
    lists, of items that have a rank; raises for rankings that hold relevant items alone.

    Takes the arguments of `rank` too, but for its k.

    Example:
        >>> labels, scores = jnp.array([2, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{rho(labels, scores).compute():.5f}"  # 1 − 6·(0 + 1 + 1) / 24
        '0.50000'

    References:
        Spearman, The proof and measurement of association between two things, American
        Journal of Psychology 15(1), 1904. The same as SciPy's `spearmanr`.
    """
    products = ranking._rank_products(_label)
    below = jnp.sqrt(products.by_score) * jnp.sqrt(products.by_value)
    return plain(ranking, ratio(products.both, below)[..., None], below > 0)
