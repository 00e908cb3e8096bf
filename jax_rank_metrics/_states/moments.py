"""The sums of a batch of values and weights that a `Mean` holds."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jax_rank_metrics._states.double_floats import FloatPair, sums

# A value within this distance of 1 is a hit, since the quotient of a number and itself may
# be rounded; a miss is exactly 0.
HIT_SLACK = 1e-6


class ValuesOfLists(NamedTuple):
    """The arrays that enter a mean; `cutoffs` is 1 where all cutoffs have the same."""

    values: jax.Array  # [*lists] or [*lists, *k]
    weights: jax.Array  # [*lists, cutoffs]
    defined: jax.Array  # [*lists, cutoffs] bool
    # [*lists, cutoffs] bool, whether a list may enter; None lets all lists enter.
    counts: jax.Array | None
    is_share: bool  # see `PerList`

    @property
    def num_axes(self) -> int:
        """Number of axes of lists."""
        return self.weights.ndim - 1

    def flags_of_lists(self, flags: jax.Array) -> jax.Array:
        """Whether a flag holds at any cutoff: `[…, *lists, columns]` to `[…, *lists]`."""
        return flags[..., 0] if self.weights.shape[-1] == 1 else jnp.any(flags, -1)


class Moments(NamedTuple):
    """The sums that a `Mean` holds, of weights w and values v."""

    w: FloatPair  # Σ w
    w2: FloatPair  # Σ w²
    wv: FloatPair  # Σ w·v
    w2v: FloatPair  # Σ w²·v
    w2v2: FloatPair  # Σ w²·v²
    fractional: FloatPair  # Σ w of the values that are neither hits nor misses


def columns_of(
    metrics: Sequence[ValuesOfLists], dtype: DTypeLike
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Prepares several metrics of the same lists, with the columns of all side by side.

    They are concatenated first and prepared together, so that each step is one loop.

    Returns:
        values: `[*lists, columns]`, metric after metric, each with a column for each
            cutoff, or a single column without cutoffs; 0 for lists that stay out.
        weights: `[*lists, columns]`; 0 for lists that stay out.
        flags: `[2, *lists, columns]` bool, whether a list enters, and whether it has a
            weight although the metric is undefined for it.
    """
    num_axes = metrics[0].num_axes
    shapes = [
        (*metric.values.shape[:num_axes], columns)
        for metric, columns in zip(metrics, column_counts(metrics), strict=True)
    ]

    def concatenate(arrays: Sequence[jax.Array]) -> jax.Array:
        wide = [
            jnp.broadcast_to(x, shape) for x, shape in zip(arrays, shapes, strict=True)
        ]
        return jnp.concatenate(wide, -1)

    weights = concatenate([metric.weights.astype(dtype) for metric in metrics])
    has_weight = entered = weights > 0
    if any(metric.counts is not None for metric in metrics):
        counts = [
            jnp.ones(x.weights.shape, bool) if x.counts is None else x.counts
            for x in metrics
        ]
        entered = entered & concatenate(counts)
    weights = jnp.where(entered, jnp.minimum(weights, jnp.finfo(dtype).max), 0)
    values = jnp.concatenate(
        [
            x.values.astype(dtype).reshape(shape)
            for x, shape in zip(metrics, shapes, strict=True)
        ],
        -1,
    )
    defined = concatenate([metric.defined for metric in metrics])
    flags = jnp.stack([entered, has_weight & ~defined])
    return jnp.where(entered, values, 0), weights, flags


def column_counts(metrics: Sequence[ValuesOfLists]) -> list[int]:
    """Returns how many columns each metric has."""
    return [math.prod(metric.values.shape[metric.num_axes :]) for metric in metrics]


def of_metrics(metrics: Sequence[ValuesOfLists]) -> list[tuple[FloatPair, jax.Array]]:
    """Returns the fields of the `Mean` of each of several metrics of the same lists."""
    num_axes = metrics[0].num_axes
    terms, flags = terms_of_metrics(metrics)
    totals = sums(terms, tuple(range(num_axes)))  # [moments, columns]
    list_axes = tuple(range(1, num_axes + 1))
    counts = jnp.sum(flags, axis=list_axes, dtype=jnp.int32)
    leaves, start = [], 0
    for metric in metrics:
        shape = metric.values.shape[num_axes:]
        end = start + math.prod(shape)
        high, low = (
            x[:, start:end].reshape(-1, *shape) for x in (totals.high, totals.low)
        )
        count = counts[:, start]
        if metric.weights.shape[-1] > 1:
            of_lists = metric.flags_of_lists(flags[..., start:end])
            count = jnp.sum(of_lists, axis=list_axes, dtype=jnp.int32)
        leaves.append((FloatPair(high, low), count))
        start = end
    return leaves


def terms_of_metrics(metrics: Sequence[ValuesOfLists]) -> tuple[Moments, jax.Array]:
    """Computes the terms of each list, whose sums over lists are the moments.

    Products are pairs, as the sums are, since most of Σ w²·v² may cancel in a standard
    error.

    Returns:
        terms: Each `[*lists, columns]`, with a column for each cutoff, metric after metric.
        flags: `[2, *lists, columns]` bool, whether a list enters, and whether it has a
            weight although the metric is undefined for it.
    """
    v, w, flags = columns_of(metrics, jax.dtypes.canonicalize_dtype(float))
    wv, product = w * v, FloatPair.product
    # A NaN is neither. Where values are no shares, each counts as fractional.
    are_shares = np.repeat([x.is_share for x in metrics], column_counts(metrics))
    is_hit_or_miss = (v == 0) | (jnp.abs(v - 1) <= HIT_SLACK)
    is_hit_or_miss &= jnp.broadcast_to(are_shares, v.shape)
    terms = Moments(
        w=FloatPair.of(w),
        w2=product(w, w),
        wv=FloatPair.of(wv),
        w2v=product(w, wv),
        w2v2=product(wv, wv),
        fractional=FloatPair.of(jnp.where(is_hit_or_miss, 0, w)),
    )
    return terms, flags
