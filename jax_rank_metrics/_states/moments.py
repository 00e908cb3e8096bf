"""What a state holds, of the values of a batch."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics._states.pairs import Pair, sums


class ValuesOfLists(NamedTuple):
    """What `Mean.of` takes."""

    values: jax.Array
    weights: jax.Array
    defined: jax.Array
    counts: jax.Array | None


class Moments(NamedTuple):
    """Σ w, Σ w², Σ w·v, Σ w²·v and Σ w²·v² of weights and values."""

    w: Pair
    w2: Pair
    wv: Pair
    w2v: Pair
    w2v2: Pair


def entering(one: ValuesOfLists, dtype: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """What each list brings to a mean.

    Returns:
        values: `[*lists, cutoffs]`, one column where there are no cutoffs; 0 for lists
            that stay out.
        weights: `[*lists, 1]`, 0 for these.
        counts: `[2, *lists]` bool, whether a list enters, and whether it has a weight but
            no value of its own.
    """
    lists, shape = one.weights.shape, one.values.shape[one.weights.ndim :]
    entered = has_weight = one.weights > 0
    if one.counts is not None:
        entered = entered & one.counts
    weight = jnp.where(entered, one.weights, 0).astype(dtype)[..., None]
    weight = jnp.minimum(weight, jnp.finfo(dtype).max)
    value = one.values.astype(dtype).reshape((*lists, math.prod(shape)))
    value = jnp.where(weight > 0, value, 0)
    return value, weight, jnp.stack([entered, has_weight & ~one.defined])


def of_metrics(metrics: Sequence[ValuesOfLists]) -> list[tuple[Pair, jax.Array]]:
    """What a `Mean` holds, for each of several metrics of the same lists."""
    lists = metrics[0].weights.shape
    shapes = [one.values.shape[len(lists) :] for one in metrics]
    terms, counted = terms_of_metrics(metrics)
    added = sums(terms, tuple(range(len(lists))))
    counts = jnp.stack(counted).reshape(len(metrics), 2, -1)
    counts = jnp.sum(counts, axis=-1, dtype=jnp.int32)
    found, start = [], 0
    for shape, count in zip(shapes, counts, strict=True):
        end = start + math.prod(shape)
        high, low = (
            x[:, start:end].reshape(-1, *shape) for x in (added.high, added.low)
        )
        found.append((Pair(high, low), count))
        start = end
    return found


def terms_of_metrics(
    metrics: Sequence[ValuesOfLists],
) -> tuple[Moments, list[jax.Array]]:
    """What is summed over lists.

    Products are pairs as sums are, since most of Σ w²·v² may cancel in an error.

    Returns:
        The terms, `[*lists, columns]`: a column for each cutoff, metric after metric. And
        for each metric what is counted, as `entering` gives it.
    """
    dtype = jax.dtypes.canonicalize_dtype(float)
    values, weights, counted = [], [], []
    for one in metrics:
        value, weight, entered = entering(one, dtype)
        values.append(value)
        weights.append(jnp.broadcast_to(weight, value.shape))
        counted.append(entered)
    w, v = (jnp.concatenate(x, -1) for x in (weights, values))
    wv, product = w * v, Pair.product
    terms = Moments(
        Pair.of(w), product(w, w), Pair.of(wv), product(w, wv), product(wv, wv)
    )
    return terms, counted
