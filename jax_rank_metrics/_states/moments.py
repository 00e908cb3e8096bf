"""What a state holds, of the values of a batch."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics._states.double_floats import FloatPair, sums


class ValuesOfLists(NamedTuple):
    """What `Mean.of` takes."""

    values: jax.Array
    weights: jax.Array
    defined: jax.Array
    counts: jax.Array | None


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


# How far from 0 or 1 a value may lie, as a rounded quotient does, to be a hit or a miss.
HIT_SLACK = 1e-6


def columns_of(
    one: ValuesOfLists, dtype: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """What each list brings to a mean.

    Returns:
        values: `[*lists, cutoffs]`, one column where there are no cutoffs; 0 for lists
            that stay out.
        weights: `[*lists, cutoffs]`, 0 for these.
        counts: `[2, *lists]` bool, whether a list enters, and whether it has a weight but
            no value of its own.
    """
    value, weight, counts = _columns_of_metrics([one], dtype)
    return value, weight, counts[..., 0]


def _columns_of_metrics(
    metrics: Sequence[ValuesOfLists], dtype: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """`columns_of` of several, `[…, columns]`: each metric's columns after the other's.

    Put side by side first, and then looked at together: each step is one loop.
    """
    lists = metrics[0].weights.ndim
    shapes = [
        (*one.weights.shape, math.prod(one.values.shape[lists:])) for one in metrics
    ]

    def columns(arrays: Sequence[jax.Array]) -> jax.Array:
        wide = [
            x.reshape(shape)
            if x.ndim > lists
            else jnp.broadcast_to(x[..., None], shape)
            for x, shape in zip(arrays, shapes, strict=True)
        ]
        return jnp.concatenate(wide, -1)

    weight = columns([one.weights.astype(dtype) for one in metrics])
    has_weight = entered = weight > 0
    if any(one.counts is not None for one in metrics):
        every = jnp.ones(metrics[0].weights.shape, bool)
        counts = [every if one.counts is None else one.counts for one in metrics]
        entered = entered & columns(counts)
    weight = jnp.where(entered, jnp.minimum(weight, jnp.finfo(dtype).max), 0)
    value = columns([one.values.astype(dtype) for one in metrics])
    defined = columns([one.defined for one in metrics])
    counts = jnp.stack([entered, has_weight & ~defined])
    return jnp.where(entered, value, 0), weight, counts


def of_metrics(metrics: Sequence[ValuesOfLists]) -> list[tuple[FloatPair, jax.Array]]:
    """What a `Mean` holds, for each of several metrics of the same lists."""
    lists = metrics[0].weights.ndim
    shapes = [one.values.shape[lists:] for one in metrics]
    terms, counted = terms_of_metrics(metrics)
    added = sums(terms, tuple(range(lists)))
    counts = jnp.sum(counted, axis=tuple(range(1, lists + 1)), dtype=jnp.int32)
    found, start = [], 0
    for shape in shapes:
        end = start + math.prod(shape)
        high, low = (
            x[:, start:end].reshape(-1, *shape) for x in (added.high, added.low)
        )
        found.append((FloatPair(high, low), counts[:, start]))
        start = end
    return found


def terms_of_metrics(metrics: Sequence[ValuesOfLists]) -> tuple[Moments, jax.Array]:
    """What is summed over lists.

    Products are pairs as sums are, since most of Σ w²·v² may cancel in an error.

    Returns:
        The terms, `[*lists, columns]`: a column for each cutoff, metric after metric. And
        `[2, *lists, columns]` bool, as `columns_of` gives it.
    """
    v, w, counted = _columns_of_metrics(metrics, jax.dtypes.canonicalize_dtype(float))
    wv, product = w * v, FloatPair.product
    # A NaN is near to neither.
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
