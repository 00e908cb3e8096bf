"""The measures of TREC: at levels of recall, and where not every item was judged."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._calls.metric import metric
from jax_rank_metrics._formulas.shared import binary, is_judged, is_pooled, relevant
from jax_rank_metrics._places.place import Place
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._ranking.items import ItemFn
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cut, Number, RecallLevels

ELEVEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

# How many relevant items are looked up where there may be any number.
_MANY = 2**16


@metric(names=("iprec",), ties="order", at="recall_levels")
def interpolated_precision(
    ranking: Ranking,
    *,
    recall_levels: RecallLevels = ELEVEN,
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Interpolated precision: the largest at any rank of at least some recall.

    At a level ℓ of recall, the largest precision of a rank by which at least ℓ·R of the R
    relevant items of the pool are found, rounded; 0 where no rank has as many.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Has no closed form
    over ties.

    Takes the arguments of `rank` too, but for its k.

    Args:
        recall_levels: From 0 to 1; one, or a tuple, whose values are a last axis as
            those of several k. By name, `iprec@0.1,0.5`.
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> state = interpolated_precision(labels, scores, recall_levels=(0, 1))
        >>> [f"{value:.5f}" for value in state.compute()]  # 2/3 at rank 3, both times
        ['0.66667', '0.66667']

    References:
        Manning, Raghavan and Schütze, Introduction to information retrieval, 2008,
        section 8.4. The same as trec_eval 10 `iprec_at_recall`; version 9 rounds ℓ·R
        up from 0.1 on.
    """
    values = _at_recall(ranking, recall_levels, relevance_threshold)
    return binary(ranking, values, relevance_threshold, recall_levels)  # type: ignore


@metric(names=("11pt_avg",), ties="order")
def eleven_point_precision(
    ranking: Ranking, *, relevance_threshold: Number = 1.0
) -> PerList:
    """The mean of the interpolated precision at recalls of 0, 0.1, … 1.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Has no closed form
    over ties.

    Takes the arguments of `rank` too, but for its k.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> state = eleven_point_precision(labels, scores)
        >>> f"{state.compute():.5f}"  # (8·1 + 3·2/3) / 11, as 0.7·2 is 1 when rounded
        '0.90909'

    References:
        As `interpolated_precision`; trec_eval 10 `11pt_avg`.
    """
    values = _at_recall(ranking, ELEVEN, relevance_threshold)
    values = values.mean(axis=-1, keepdims=True)
    return binary(ranking, values, relevance_threshold, None)


def _at_recall(ranking: Ranking, levels: RecallLevels, threshold: Number) -> jax.Array:
    levels = levels if isinstance(levels, (tuple, list)) else (levels,)
    if not levels:
        raise ValueError("recall_levels is empty; pass at least one level")
    hit = relevant(threshold)
    number = ranking.num_relevant(threshold)

    def precision(place: Place, needed: jax.Array) -> jax.Array:
        found = place.counted_above[0] + 1
        return jnp.where(found >= needed, found / (place.above + 1), 0)

    needed = [_needed(ranking, _level(level), number) for level in levels]
    return ranking.expected_max(hit, precision, needed, counting=(hit,))


def _level(level: Number) -> float:
    """A level of recall as a Python float; a float32 means the decimal it is shown as."""
    _inputs.fraction("recall_levels", level)
    return float(str(level))


def _needed(ranking: Ranking, level: float, number: jax.Array) -> jax.Array:
    """How many relevant items are so much of all, as C rounds a double."""
    most = ranking._max_items or _MANY
    rounded = np.floor(np.float64(level) * np.arange(most + 1) + 0.5)
    table = jnp.asarray(rounded.astype(number.dtype))
    found = table[jnp.minimum(number, most).astype(jnp.int32)]
    return jnp.where(number <= most, found, jnp.floor(level * number + 0.5))


def _unless(item_fn: ItemFn, hit: ItemFn) -> ItemFn:
    def other(items: Items) -> jax.Array:
        return item_fn(items) & ~hit(items)

    return other


@metric(optional_columns=("judged",))
def bpref(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """Binary preference: how many judged non-relevant items relevant ones are above of.

    `Σ (1 − min(n, R) / min(R, N)) / R` over the relevant items that have a rank, of which
    n of the N judged non-relevant items of the pool are above each, and R are relevant.
    A term with none above it is 1. Items that were not judged change nothing.

    Undefined (nothing relevant in the pool): 0. Reads whole lists.

    Takes the arguments of `rank` too, but for its k. The column `judged`, bool, says
    which items are judged; without it all are.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 0, 1]), jnp.array([0.9, 0.8, 0.7, 0.6])
        >>> columns = {"judged": jnp.array([True, False, True, True])}
        >>> f"{bpref(labels, scores, columns=columns).compute():.5f}"  # (1 + 0) / 2
        '0.50000'

    References:
        Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR
        2004; the same as trec_eval `bpref`.
    """
    hit = relevant(relevance_threshold)
    other = _unless(is_judged, hit)
    number, others = ranking.num_relevant(relevance_threshold), ranking.pool_sum(other)

    def preferred(
        place: Place, k: Cut, number: jax.Array, others: jax.Array
    ) -> jax.Array:
        # Among the tied others, an item stands after each number of them alike.
        (above,), (tied,) = place.counted_above, place.counted_tied
        free = jnp.clip(number - above, 0, tied + 1)
        capped = free * above + free * (free - 1) / 2 + (tied + 1 - free) * number
        return 1 - ratio(capped, (tied + 1) * jnp.minimum(number, others))

    sums = ranking.expected_sum(
        hit, preferred, (None,), counting=(other,), per_list=(number, others)
    )
    values = ratio(sums, number[..., None])
    return binary(ranking, values, relevance_threshold, None)


@metric(names=("infap",), ties="order", optional_columns=("judged", "pooled"))
def inferred_average_precision(
    ranking: Ranking, *, relevance_threshold: Number = 1.0
) -> PerList:
    """Inferred average precision: what average precision would be if all were judged.

    `1/R·Σ` over relevant items that have a rank, of 1 at rank 1, and else
    `1/rank + (rank − 1)/rank·(rel + non + unj)/(rank − 1)·(rel + ε)/(rel + non + 2ε)`
    with ε = 1e-5, where above it are rel relevant items, non judged non-relevant ones,
    and unj pooled ones that were not judged.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Has no closed form
    over ties.

    Takes the arguments of `rank` too, but for its k. The columns `judged` and `pooled`,
    bool, say which items are judged, and which of the others were drawn for it; without
    them all are.

    Args:
        relevance_threshold: The least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"judged": jnp.array([True, False, True])}
        >>> state = inferred_average_precision(labels, scores, columns=columns)
        >>> f"{state.compute():.4f}"  # 1/3 + 2/3·2/2·0/1
        '0.3333'

    References:
        Yilmaz and Aslam, Estimating average precision with incomplete and imperfect
        judgments, CIKM 2006; the same as trec_eval `infAP`.
    """
    hit = relevant(relevance_threshold)
    other = _unless(is_judged, hit)
    unjudged = _unless(_unless(is_pooled, is_judged), hit)

    def inferred(place: Place, k: Cut) -> jax.Array:
        hits, others, unknown = place.counted_above
        above, tiny = place.above, 1e-5
        share = (hits + tiny) / (hits + others + 2 * tiny)
        found = ratio(hits + others + unknown, above) * share
        return (1 + above * found) / (above + 1)

    sums = ranking.expected_sum(hit, inferred, (None,), counting=(hit, other, unjudged))
    values = ratio(sums, ranking.num_relevant(relevance_threshold)[..., None])
    return binary(ranking, values, relevance_threshold, None)
