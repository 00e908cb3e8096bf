"""Numbers of other libraries that no pure function of one list can give."""

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._gains import gains_of
from jax_rank_metrics._items import RawItems
from jax_rank_metrics._types import Gain, Labels, Mask, Weights


def keras_rs_list_weights(
    labels: Labels,
    weights: Weights,
    mask: Mask | None = None,
    *,
    gain_fn: Gain | None = None,
) -> jax.Array:
    """List weights as keras_rs and TF-Ranking derive them from item weights.

    A list weighs Σ weight·relevance / Σ relevance. A list with nothing relevant weighs
    the mean of the others *in the same batch*, or 1 where there is no other: with these,
    as in keras_rs, the result depends on how lists were put into batches. Pass them as
    `list_weights` to reproduce its numbers.

    Args:
        labels: `[lists, items]`; negative labels are padding.
        weights: `[lists, items]`; items of a weight not above 0 are masked.
        mask: `[lists, items]` bool, or None.
        gain_fn: The relevance of a label: the gain, for keras_rs `DCG` and `NDCG`. None
            is 1 for labels of at least 1, for its other metrics.

    Returns:
        `[lists]` floats.

    Raises:
        ValueError: if shapes differ or are not `[lists, items]`.
        TypeError: if an argument is not an array of numbers, or the mask is not bool.

    >>> labels, weights = jnp.array([[1, 0], [0, 0]]), jnp.array([[3.0, 1.0], [9.0, 9.0]])
    >>> keras_rs_list_weights(labels, weights).tolist()
    [3.0, 3.0]
    """
    labels, mask = _inputs.item_arrays("labels", labels, mask)
    weights = _inputs.real("weights", weights)
    _inputs.same_shape("weights", weights, "labels", labels.shape)
    if labels.ndim != 2:
        raise ValueError(
            f"labels has shape {labels.shape}; pass one batch, shape [lists, items]"
        )
    dtype = _inputs.float_dtype(labels, weights).name
    items = RawItems(labels, dtype, mask, weights).read()
    assert items.weights is not None
    if gain_fn is None:
        relevance = (items.labels >= 1).astype(items.labels.dtype)
    else:
        relevance = gains_of(gain_fn, items.labels)
    relevance = jnp.where(items.exists, relevance, 0)
    total = jnp.sum(relevance, axis=-1)
    some = total > 0
    weighed = jnp.sum(jnp.where(items.exists, items.weights * relevance, 0), axis=-1)
    own = weighed / jnp.where(some, total, 1)
    lists = jnp.sum(some, dtype=jnp.int32).astype(own.dtype)
    average = jnp.where(
        lists > 0, jnp.sum(jnp.where(some, own, 0)) / jnp.maximum(lists, 1), 1
    )
    exists = jnp.any(items.exists, axis=-1)
    return jnp.where(exists, jnp.where(some, own, average), 0)
