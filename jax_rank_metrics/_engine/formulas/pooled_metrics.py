"""Metrics of all items at once, as if they were one list."""

from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from jax_rank_metrics._engine import ranking
from jax_rank_metrics._engine.items import RawItems
from jax_rank_metrics._engine.ordering import keys
from jax_rank_metrics._engine.sources import list_arguments
from jax_rank_metrics._engine.states import pooled
from jax_rank_metrics._ground import arithmetic, inputs, shards, types
from jax_rank_metrics._values import merging
from jax_rank_metrics._values.double_floats import FloatPair

P = TypeVar("P", bound=pooled.Pooled)


def pooled_roc_auc(
    labels: types.Labels,
    scores: types.Scores,
    mask: types.Mask | None = None,
    weights: types.Weights | None = None,
    *,
    bits: int = 16,
    relevance_threshold: types.Number = 1,
) -> pooled.PooledRocAuc:
    """Area under one ROC curve of all items of all lists, as a mergeable state.

    It is the share of all pairs of a positive and a negative item in which the positive
    item has the higher score, even if the two are in different lists; ties count ½. Click
    models report this value beside `gauc`, the mean over lists. A model can raise it by
    knowing which users click often, although this changes the order of no list.

    Items are counted by the leading `bits` of their scores, as float32, so the memory and
    the time of a merge do not depend on the number of items. `compute` counts pairs within
    a bin as ties, and `bounds` is an interval that contains the value of the exact scores.
    For ten million sigmoids of normal logits, 16 bits give this value within 7e-6, with
    bounds of ±1.8e-3; 20 bits give it within 3e-8, with bounds of ±1.2e-4. Crowded scores,
    such as sigmoids near 1, share few bins, so that 16 bits may err by 1e-4: pass logits,
    or more bits.

    All arguments may be sharded over Auto or Explicit mesh axes. Inside `jax.shard_map`,
    pass the states to `all_reduce`. A call takes up to 2³¹ − 1 items.

    Args:
        labels: `[*lists, items]`; negative or NaN is padding, as for all metrics.
        scores: `[*lists, items]` of any real dtype, higher is better. −0.0 equals 0.0.
            If the score of an item that exists is NaN, the value is NaN.
        mask: `[*lists, items]` bool, True for items that exist; None is all.
        weights: A scalar, `[*lists]` or `[*lists, items]`: a pair counts the product of
            the weights of its items. An item whose weight is not above 0, or is
            subnormal, is masked. Weights below 2⁻⁶⁴ or above 2⁶⁴ count as these limits, so
            scale them.
        bits: From 8 to 20; a state holds 2^(bits + 2) floats.
        relevance_threshold: Least label of a positive item.

    Returns:
        A `PooledRocAuc`, which is 0 and counted as undefined if a class is missing.

    Raises:
        ValueError: if shapes do not fit; if `bits` is not from 8 to 20.
        TypeError: if dtypes do not fit; if `bits` is not a Python int.

    References:
        Hanley and McNeil (see `roc_auc`). Agrees with scikit-learn's `roc_auc_score`, with
        `sample_weight` for the weights. Keras, metrax and TensorFlow count by 200
        thresholds between 0 and 1, with an unknown error.

    >>> labels, scores = jnp.array([[1, 0], [0, 1]]), jnp.array([[0.9, 0.8], [0.3, 0.7]])
    >>> state = pooled_roc_auc(labels, scores)  # 0.9 > 0.8, 0.9 > 0.3, 0.7 > 0.3
    >>> state, [f"{x:.4f}" for x in state.bounds()]
    (PooledRocAuc(0.750, 0.750 to 0.750, 1 list, 0 undefined), ['0.7500', '0.7500'])
    """
    arguments = (labels, scores, mask, weights, bits, relevance_threshold)
    return _pooled(pooled.PooledRocAuc, *arguments)


def pooled_average_precision(
    labels: types.Labels,
    scores: types.Scores,
    mask: types.Mask | None = None,
    *,
    bits: int = 16,
    relevance_threshold: types.Number = 1,
) -> pooled.PooledAveragePrecision:
    """Average precision of one list of all items of all lists, as a mergeable state.

    It is also known as the area under the curve of precision and recall. If few items are
    positive, as with clicks, it says more about the items with the best scores than the
    area under the ROC curve does.

    Counts, memory and bounds are as in `pooled_roc_auc`. `compute` is the mean over all
    orders of the items of a bin, and `bounds` is an interval that contains the
    `average_precision` of the exact scores, which is a mean over the orders of ties, too.

    Args:
        labels: See `pooled_roc_auc`.
        scores: See `pooled_roc_auc`.
        mask: See `pooled_roc_auc`.
        bits: See `pooled_roc_auc`.
        relevance_threshold: See `pooled_roc_auc`.

    Returns:
        A `PooledAveragePrecision`, which is 0 and counted as undefined if no item is
        positive.

    Raises:
        ValueError: as `pooled_roc_auc`.
        TypeError: as `pooled_roc_auc`.

    References:
        Davis and Goadrich, The relationship between precision-recall and ROC curves, ICML
        2006. Agrees with scikit-learn's `average_precision_score` if no scores tie; for
        tied items, scikit-learn takes the precision at the last of them.

    >>> labels, scores = jnp.array([[1, 0], [0, 1]]), jnp.array([[0.9, 0.8], [0.3, 0.7]])
    >>> f"{pooled_average_precision(labels, scores):.4f}"  # (1/1 + 2/3) / 2
    '0.8333'
    """
    arguments = (labels, scores, mask, None, bits, relevance_threshold)
    return _pooled(pooled.PooledAveragePrecision, *arguments)


def _pooled(
    kind: type[P],
    labels: object,
    scores: object,
    mask: object,
    weights: object,
    bits: int,
    relevance_threshold: types.Number,
) -> P:
    """Checks the arguments of a pooled metric, and returns its state."""
    bits = pooled.checked_bits(bits)
    list_arguments.check_index(labels, scores, mask, weights)
    threshold = inputs.positive("relevance_threshold", relevance_threshold)
    label_array, mask_array = inputs.item_arrays("labels", labels, mask)
    score_array = inputs.real("scores", scores)
    inputs.same_shape("scores", score_array, "labels", label_array.shape)
    item_weights, list_weights = inputs.weights_for(label_array, weights)
    if list_weights is not None:
        wide = arithmetic.widen(list_weights, label_array)
        item_weights = jnp.broadcast_to(wide, label_array.shape)
    dtype = inputs.float_dtype(label_array, item_weights).name
    items = RawItems(label_array, dtype, mask_array, item_weights)
    return kind(_sums((items, score_array), bits, threshold))


@partial(jax.jit, static_argnums=(1, 2))
def _sums(arrays: tuple[RawItems, jax.Array], bits: int, threshold: float) -> FloatPair:
    """Sums both classes per bin; every device sums its own items."""
    cut = shards.cut_of(arrays[1].ndim - 1, per_item=arrays)
    if cut is None:
        return _sums_of_part(*arrays, bits, threshold)
    axes = tuple(name for names in (*cut.over_lists, cut.over_items) for name in names)

    def local(arrays: tuple[RawItems, jax.Array]) -> FloatPair:
        return merging.fold_over(_sums_of_part(*arrays, bits, threshold), axes)

    in_specs = (jax.tree.map(lambda _: cut.per_item, arrays),)
    return shards.shard_map(local, cut.mesh, in_specs, PartitionSpec(), arrays)


def _sums_of_part(
    raw_items: RawItems, scores: jax.Array, bits: int, threshold: float
) -> FloatPair:
    items, num_bins = raw_items.read(), 2**bits
    threshold = inputs.rounded_threshold(threshold, raw_items.label_dtype)
    is_positive = ranking.Items.of(items).relevant(threshold).reshape(-1)
    # The bins of negative items follow the bins of positive items.
    bins = keys.score_bin(scores, bits).reshape(-1)
    bins = jnp.where(is_positive, bins, bins + num_bins)
    bins = jnp.where(items.exists.reshape(-1), bins, 2 * num_bins)
    if items.weights is None:
        sums = pooled.counts_by_bin(bins, 2 * num_bins)
    else:
        dtype = jax.dtypes.canonicalize_dtype(float)
        weights = items.weights.reshape(-1).astype(dtype)
        sums = pooled.weights_by_bin(bins, weights, ~is_positive, 2 * num_bins)
    if jnp.issubdtype(scores.dtype, jnp.floating):
        nan_found = jnp.any(jnp.isnan(scores) & items.exists)
        sums = FloatPair(jnp.where(nan_found, jnp.nan, sums.high), sums.low)
    return jax.tree.map(lambda part: part.reshape(2, num_bins), sums)
