"""List weights as in libraries in which a list's weight depends on other lists."""

from collections.abc import Hashable, Iterable

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.items import RawItems
from jax_rank_metrics._ground import gains, inputs, types
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._ground.inputs.list_ids import numbered


def keras_rs_list_weights(
    labels: types.Labels,
    weights: types.Weights,
    mask: types.Mask | None = None,
    *,
    gain_fn: types.Gain | None = None,
) -> jax.Array:
    """Derives list weights from item weights as keras_rs and TF-Ranking do.

    The weight of a list is Σ weight·relevance / Σ relevance. A list without a relevant
    item gets the mean weight of the lists with a relevant item *in the same batch*, or 1
    if the batch has no such list. With these weights, as in keras_rs, a result
    therefore depends on how lists were batched. A list without items gets 0. Pass the
    weights as `list_weights` to reproduce the numbers of keras_rs.

    Args:
        labels: `[lists, items]`; negative labels are padding.
        weights: `[lists, items]`; items with a weight not above 0 are masked.
        mask: `[lists, items]` bool, or None.
        gain_fn: The relevance of a label. Pass the gain for `DCG` and `NDCG` of
            keras_rs. For its other metrics pass None: the relevance is then 1 for
            labels of at least 1, and 0 for other labels.

    Returns:
        `[lists]` floats.

    Raises:
        ValueError: if shapes differ or are not `[lists, items]`.
        TypeError: if an argument is not an array of numbers, or the mask is not bool.

    >>> labels, weights = jnp.array([[1, 0], [0, 0]]), jnp.array([[3.0, 1.0], [9.0, 9.0]])
    >>> keras_rs_list_weights(labels, weights).tolist()
    [3.0, 3.0]
    """
    inputs.same_index({"labels": labels, "mask": mask, "weights": weights})
    labels, mask = inputs.item_arrays("labels", labels, mask)
    weights = inputs.real("weights", weights)
    inputs.same_shape("weights", weights, "labels", labels.shape)
    if labels.ndim != 2:
        raise ValueError(
            f"labels has shape {labels.shape}; pass one batch, shape [lists, items]"
        )
    dtype = inputs.float_dtype(labels, weights).name
    items = RawItems(labels, dtype, mask, weights).read()
    assert items.weights is not None
    if gain_fn is None:
        relevance = (items.labels >= 1).astype(items.labels.dtype)
    else:
        relevance = gains.gains_of(gain_fn, items.labels)
    relevance = jnp.where(items.exists, relevance, 0)
    relevance_sums = jnp.sum(relevance, axis=-1)  # [lists]
    has_relevant = relevance_sums > 0
    weighted_relevance = jnp.where(items.exists, items.weights * relevance, 0)
    mean_item_weights = ratio(jnp.sum(weighted_relevance, axis=-1), relevance_sums)
    num_with_relevant = jnp.sum(has_relevant, dtype=jnp.int32).astype(
        mean_item_weights.dtype
    )
    # Lists without a relevant item get the mean over the other lists, or 1 if there are
    # none.
    default_weight = jnp.where(
        num_with_relevant > 0, ratio(jnp.sum(mean_item_weights), num_with_relevant), 1
    )
    list_weights = jnp.where(has_relevant, mean_item_weights, default_weight)
    return jnp.where(jnp.any(items.exists, axis=-1), list_weights, 0)


def accuracy_calculator_list_weights(query_labels: Iterable[Hashable]) -> jax.Array:
    """Derives list weights that average within classes first, and then over classes.

    The `AccuracyCalculator` of pytorch-metric-learning averages in this way with
    `avg_of_avgs=True`. The weight of a list is 1 / the number of queries of its class. Pass
    the weights as `list_weights`, with `undefined="skip"`, because `AccuracyCalculator`
    leaves out queries that no item matches. For the mean of each class, as with
    `return_per_class=True`, see `PerList.by`.

    Args:
        query_labels: `[lists]`, the class of each query; pass all queries in one call.
            Classes are integers, strings or any keys of dicts, as for `pack`.

    Returns:
        `[lists]` float32.

    Raises:
        ValueError: if there is more than one axis, or a class is missing.
        TypeError: if labels are traced, or cannot be the keys of a dict.

    >>> accuracy_calculator_list_weights(["cat", "dog", "cat", "cow", "dog"]).tolist()
    [0.5, 0.5, 0.5, 1.0, 0.5]
    """
    classes = numbered("query_labels", query_labels).segment_ids
    query_counts = np.bincount(classes)[classes]
    return jnp.asarray(1 / query_counts, jnp.float32)
