"""Functions that formulas of labels share.

A metric of labels is built in three steps:

1. *The worth of an item*, a function of `Items`: `is_relevant(threshold)`,
   `gain_of(ranking, gain_fn)`, `is_judged`, or a function of the metric's own. If metrics
   of one call pass equal functions to a method of the ranking, they share its result. So
   decorate a function that depends on options with `by_options`: equal options then give
   equal functions.
2. *A method of the ranking* that sums the worth over ranks, usually
   `ranking.expected_sum(…)`. `weighted_sum` is the same for metrics whose terms are
   weighted by item weights (cg, dcg, average precision). `scaled` keeps sums of gains
   finite, for ratios such as ndcg.
3. *The result per list*: `per_list_if_relevant(…)` if the metric is undefined for lists
   without relevant items; `per_list_where(…)` if the metric has no threshold and says
   itself for which lists it is defined; `ranking.per_list(…)` for everything else.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.places.place import Place
from jax_rank_metrics._engine.ranking import Items, Ranking, item_fns, traced_data
from jax_rank_metrics._engine.ranking.totals import mean_item_weight
from jax_rank_metrics._ground import arithmetic, gains, inputs
from jax_rank_metrics._ground.types import Cut, Cutoffs, Gain, Number
from jax_rank_metrics._values import per_list

# Gains are scaled by this number, so that a sum of many gains stays finite even if each is
# the largest float. Gains down to 1e-28 stay above 0, and a power of two rounds nothing.
SCALE = 2.0**-32


def is_relevant(threshold: Number) -> item_fns.ItemFn:
    """Returns a function of items that is True for relevant items.

    Raises:
        TypeError: if the threshold is not a Python number.
        ValueError: if it is not positive.
    """
    return _has_label(inputs.positive("relevance_threshold", threshold))


@by_options
def _has_label(items: Items, *, threshold: float) -> jax.Array:
    return items.relevant(threshold)


@by_options
def and_not(
    items: Items, *, item_fn: item_fns.ItemFn, excluded_fn: item_fns.ItemFn
) -> jax.Array:
    """True for each item for which `item_fn` is true and `excluded_fn` is false."""
    return item_fn(items) & ~excluded_fn(items)


def item_exists(items: Items) -> jax.Array:
    """True for items, False for padding."""
    return items.exists


def pool_depth(ranking: Ranking, ks: Sequence[Cut]) -> jax.Array:
    """Returns how many ranks up to each k the pool can fill, `[*lists, len(ks)]` floats.

    A pool of 3 items, whether or not they have a rank, gives 2, 3, 3 for k = 2, 5, None.
    """
    length = ranking.pool_sum(item_exists)
    depths = [
        length if k is None else jnp.minimum(length, jnp.asarray(k, length.dtype))
        for k in ks
    ]
    return jnp.stack(depths, axis=-1)


def label_of(items: Items) -> jax.Array:
    """Returns the labels of items."""
    return items.labels


def gain_of(ranking: Ranking, gain_fn: Gain) -> item_fns.ItemFn:
    """Returns a function of items that returns their gains.

    The value of the metric is NaN for lists with a gain that is not finite.
    """
    traced_data(ranking).dependencies.gain_fns.add(gain_fn)
    return _gain_of(gain_fn)


@by_options
def _gain_of(items: Items, *, gain_fn: Gain) -> jax.Array:
    return gains.gains_of(gain_fn, items.labels)


def is_judged(items: Items) -> jax.Array:
    """Reads the column `judged`; without it, every item counts as judged.

    Sources that read items by id add the column, so that unlisted items are unjudged.
    """
    return _read_flag(items, "judged")


def check_judged(ranking: Ranking) -> None:
    """Refuses lists that retrieved unjudged items, if the column `judged` is missing.

    Without the column `judged`, every item counts as judged. But if a list retrieved more
    items with the label 0 than its pool holds, some of them were not judged. This can only
    happen in `rank_retrieved`, to which the pool is passed separately.
    """
    data = traced_data(ranking)
    if data.ties != "none" or "judged" in data.column_names or data.pool is None:
        return
    assert data.items_held is not None
    num_retrieved = data.items_held.layout.sum(
        _is_zero(Items.of(data.items_held.items))
    )
    data.refuse(
        num_retrieved.astype(data.dtype) > ranking.pool_sum(_is_zero),
        "more items of the label 0 were retrieved than pool_labels holds{}, so that some "
        "were not judged; pass 'judged' in columns and pool_columns",
    )


def _is_zero(items: Items) -> jax.Array:
    return (items.labels == 0) & items.exists


def is_pooled(items: Items) -> jax.Array:
    """Reads the column `pooled`, the items drawn for judging; without it, all items."""
    return _read_flag(items, "pooled")


def _read_flag(items: Items, name: str) -> jax.Array:
    if name not in items.columns:
        return items.exists
    column = items.columns[name]
    if column.dtype != jnp.bool_ or column.shape != items.exists.shape:
        raise TypeError(
            f"columns: {name!r} is {column.dtype} of shape {column.shape}; pass one bool "
            "per item, such as column != 0, in columns or relevant_columns, since "
            "item_columns become floats"
        )
    return column & items.exists


@by_options
def scaled(
    items: Items, *, item_fn: item_fns.ItemFn, scale: float = SCALE
) -> jax.Array:
    """Scales `item_fn` so that sums stay finite; inf counts as the largest float.

    Use it in both the numerator and the denominator of a ratio, so that the scale cancels.
    """
    values = arithmetic.as_real(item_fn(items), items.labels.dtype)
    return jnp.minimum(values, jnp.finfo(values.dtype).max) * scale


@by_options
def weighted(items: Items, *, item_fn: item_fns.ItemFn) -> jax.Array:
    """Multiplies `item_fn` by the item weights, scaled by `WEIGHTED_SCALE`."""
    values = scaled(item_fn, item_fns.WEIGHTED_SCALE)(items)
    if items.weights is None:
        return values
    values = values.astype(items.weights.dtype)
    return jnp.minimum(values * items.weights, item_fns.MAX_WEIGHTED_GAIN)


def weighted_sum(
    ranking: Ranking,
    item_fn: item_fns.ItemFn,
    place_fn: Callable[..., jax.Array],
    ks: Sequence[Cut],
    counted_fns: Sequence[item_fns.ItemFn] = (),
) -> jax.Array:
    """Sums over ranks as `ranking.expected_sum` does, each term multiplied by w/w̄.

    w is the weight of the item, and w̄ the mean weight of the items of the pool, each
    counted `item_fn` times: for average precision, the mean weight of the relevant items.
    If all weights of a list are equal, its value is therefore the unweighted value. Without
    item weights this is `expected_sum` itself.

    Args:
        ranking: The lists.
        item_fn: Maps items to the amounts that are summed.
        place_fn: `place_fn(place, k)`, the multiplier of a place within the ranks up to k.
        ks: Cutoffs.
        counted_fns: Functions of items. `place_fn` reads their sums above and within each
            tie group.

    Returns:
        `[*lists, len(ks)]`.
    """
    data = traced_data(ranking)
    if not data.weighs_items:
        return ranking.expected_sum(item_fn, place_fn, ks, counting=counted_fns)
    sums = ranking.expected_sum(weighted(item_fn), place_fn, ks, counting=counted_fns)
    mean_weight = mean_item_weight(data, item_fn)
    assert mean_weight is not None
    return arithmetic.ratio(sums, mean_weight[..., None]) / item_fns.WEIGHTED_SCALE


def last_rank(place: Place, k: Cut) -> jax.Array:
    """Returns the last rank of the tie group of a place."""
    del k
    return jnp.add(place.above, place.tied)


def per_list_if_relevant(
    ranking: Ranking, values: jax.Array, threshold: Number, k: Cutoffs
) -> per_list.PerList:
    """Returns the result of a metric that is undefined if nothing in the pool is relevant.

    Args:
        ranking: The lists.
        values: `[*lists, len(ks)]`.
        threshold: The least label of a relevant item.
        k: The argument of the metric.
    """
    has_relevant = ranking.num_relevant(threshold) > 0
    return ranking.per_list(values, has_relevant, k, is_relevant(threshold))


def per_list_where(
    ranking: Ranking, values: jax.Array, defined: jax.Array | bool, k: Cutoffs = None
) -> per_list.PerList:
    """Returns the values of lists, for a metric that finds its undefined lists itself.

    If items have weights and lists do not, the weight of a list is the mean weight of its
    items with a label of at least 1.

    Args:
        ranking: The lists.
        values: `[*lists, len(ks)]`.
        defined: `[*lists]` bool, or True for every list that exists.
        k: The argument of the metric.
    """
    return ranking.per_list(values, defined, k, is_relevant(1.0))


@by_options
def persistence(ranks: jax.Array, *, p: float) -> jax.Array:
    """Returns the probability that a user reaches each rank."""
    return arithmetic.power(p, ranks - 1)


@by_options
def graded_relevance(items: Items, *, max_label: float) -> jax.Array:
    """Returns label / max_label, clipped at 1."""
    return jnp.minimum(items.labels / max_label, 1)
