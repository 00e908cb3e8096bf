"""The sums that a mean holds, of a batch of values and weights."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from jax_rank_metrics._states.double_floats import FloatPair, sums

# How far from 0 or 1 a value may lie, as a rounded quotient does, to be a hit or a miss.
HIT_SLACK = 1e-6


class ValuesOfLists(NamedTuple):
    """The arguments of `Mean.of`."""

    values: jax.Array  # [*lists] or [*lists, *k]
    weights: jax.Array  # [*lists]
    defined: jax.Array  # [*lists] bool
    counts: jax.Array | None  # [*lists] bool, lists to let in; None is all


class Moments(NamedTuple):
    """The sums that a `Mean` holds, of weights w and values v."""

    w: FloatPair  # Σ w
    w2: FloatPair  # Σ w²
    wv: FloatPair  # Σ w·v
    w2v: FloatPair  # Σ w²·v
    w2v2: FloatPair  # Σ w²·v²
    fractional: (
        FloatPair  # Σ w over the values further than `HIT_SLACK` from 0 and from 1
    )


def columns_of(
    lists: ValuesOfLists, dtype: DTypeLike
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Prepares the values of a metric for a mean.

    Returns:
        values: `[*lists, columns]`, a column for each cutoff, one where there are none; 0
            for lists that stay out.
        weights: `[*lists, columns]`; 0 for lists that stay out.
        counts: `[2, *lists]` bool, whether a list enters, and whether it has a weight but
            no value.
    """
    values, weights, counts = _columns_of_metrics([lists], dtype)
    return values, weights, counts[..., 0]


def _columns_of_metrics(
    metrics: Sequence[ValuesOfLists], dtype: DTypeLike
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Prepares several metrics of the same lists, with the columns of all side by side.

    They are concatenated first and prepared together, so that each step is one loop.
    """
    num_axes = metrics[0].weights.ndim
    shapes = [
        (*metric.weights.shape, math.prod(metric.values.shape[num_axes:]))
        for metric in metrics
    ]

    def concatenated(arrays: Sequence[jax.Array]) -> jax.Array:
        wide = [
            x.reshape(shape)
            if x.ndim > num_axes
            else jnp.broadcast_to(x[..., None], shape)
            for x, shape in zip(arrays, shapes, strict=True)
        ]
        return jnp.concatenate(wide, -1)

    weights = concatenated([metric.weights.astype(dtype) for metric in metrics])
    has_weight = entered = weights > 0
    if any(metric.counts is not None for metric in metrics):
        everywhere = jnp.ones(metrics[0].weights.shape, bool)
        counts = [everywhere if x.counts is None else x.counts for x in metrics]
        entered = entered & concatenated(counts)
    weights = jnp.where(entered, jnp.minimum(weights, jnp.finfo(dtype).max), 0)
    values = concatenated([metric.values.astype(dtype) for metric in metrics])
    defined = concatenated([metric.defined for metric in metrics])
    counts = jnp.stack([entered, has_weight & ~defined])
    return jnp.where(entered, values, 0), weights, counts


def of_metrics(metrics: Sequence[ValuesOfLists]) -> list[tuple[FloatPair, jax.Array]]:
    """Sums several metrics of the same lists: the two leaves of a `Mean` for each."""
    num_axes = metrics[0].weights.ndim
    terms, counted = terms_of_metrics(metrics)
    totals = sums(terms, tuple(range(num_axes)))  # [moments, columns]
    counts = jnp.sum(counted, axis=tuple(range(1, num_axes + 1)), dtype=jnp.int32)
    leaves, start = [], 0
    for metric in metrics:
        shape = metric.values.shape[num_axes:]
        end = start + math.prod(shape)
        high, low = (
            x[:, start:end].reshape(-1, *shape) for x in (totals.high, totals.low)
        )
        leaves.append((FloatPair(high, low), counts[:, start]))
        start = end
    return leaves


def terms_of_metrics(metrics: Sequence[ValuesOfLists]) -> tuple[Moments, jax.Array]:
    """Computes the terms whose sums over lists are the moments.

    Products are pairs as the sums are, since most of Σ w²·v² may cancel in an error.

    Returns:
        Terms `[*lists, columns]`, with a column for each cutoff, metric after metric; and
        counts `[2, *lists, columns]` bool, as `columns_of` gives them.
    """
    v, w, counted = _columns_of_metrics(metrics, jax.dtypes.canonicalize_dtype(float))
    wv, product = w * v, FloatPair.product
    # A NaN is near to neither 0 nor 1.
    is_hit_or_miss = jnp.minimum(jnp.abs(v), jnp.abs(v - 1)) <= HIT_SLACK
    terms = Moments(
        w=FloatPair.of(w),
        w2=product(w, w),
        wv=FloatPair.of(wv),
        w2v=product(w, wv),
        w2v2=product(wv, wv),
        fractional=FloatPair.of(jnp.where(is_hit_or_miss, 0, w)),
    )
    return terms, counted
