"""Sums of powers of the values of a batch, and the same about another centre."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._states.pairs import Pair


class ValuesOfLists(NamedTuple):
    """What `Mean.of` takes."""

    values: jax.Array
    weights: jax.Array
    defined: jax.Array
    counts: jax.Array | None


class Moments(NamedTuple):
    """Σ w, Σ w², Σ w·x, Σ w²·x and Σ w²·x², where x is a value less some centre."""

    w: Pair
    w2: Pair
    wx: Pair
    w2x: Pair
    w2x2: Pair


def of_batch(values: jax.Array, weights: jax.Array) -> Moments:
    """The moments about 0 of the columns of two arrays `[*lists, columns]`."""

    def total(*columns: jax.Array) -> list[jax.Array]:
        # Compilers add long sums as trees, so that their error hardly grows.
        axes = tuple(range(values.ndim - 1))
        return jnp.split(jnp.sum(jnp.concatenate(columns, -1), axes), len(columns))

    w, w2, wv = total(weights, weights * weights, weights * values)
    mean = ratio(wv, w)
    mean = jnp.where(jnp.isfinite(mean), mean, jnp.zeros_like(mean))
    # About the mean nothing large cancels, and plain floats do.
    off = values - mean.reshape((1,) * (values.ndim - 1) + mean.shape)
    wx, w2x, w2x2 = total(weights * off, weights**2 * off, weights**2 * off**2)
    raw = moved(Moments(*map(Pair.of, (w, w2, wx, w2x, w2x2))), mean)
    # Beyond the range of floats sums are infinite, not the difference of infinities.
    return raw._replace(
        wx=_infinite_unless(jnp.isfinite(w), raw.wx),
        w2x=_infinite_unless(jnp.isfinite(raw.w2x.high), raw.w2x),
        w2x2=_infinite_unless(jnp.isfinite(raw.w2x2.high), raw.w2x2),
    )


def _infinite_unless(known: jax.Array, x: Pair) -> Pair:
    return Pair(jnp.where(known, x.high, jnp.inf), jnp.where(known, x.low, 0))


def moved(moments: Moments, by: jax.Array) -> Moments:
    """The moments about a centre that lies lower by `by`, all of one shape.

    Σ w·(x+b) = Σ w·x + b·Σ w, and Σ w²·(x+b)² = Σ w²·x² + b·(2·Σ w²·x + b·Σ w²).
    """

    def stack(*pairs: Pair) -> Pair:
        return jax.tree.map(lambda *x: jnp.stack(x), *pairs)

    twice = jax.tree.map(lambda x: 2 * x, moments.w2x)
    sums = stack(moments.wx, moments.w2x, twice).plus_product(
        stack(moments.w, moments.w2, moments.w2), jnp.stack([by] * 3)
    )
    wx, w2x, both = (Pair(sums.high[i], sums.low[i]) for i in range(3))
    return Moments(moments.w, moments.w2, wx, w2x, moments.w2x2.plus_product(both, by))


def ratio(x: jax.Array, weight: jax.Array) -> jax.Array:
    """`x / weight`, and 0 where there is no weight."""
    some = weight != 0
    return jnp.where(some, x / jnp.where(some, weight, jnp.ones_like(weight)), 0)


def of_metrics(metrics: Sequence[ValuesOfLists]) -> list[tuple[Pair, jax.Array]]:
    """What a `Mean` holds, for each of several metrics of the same lists."""
    dtype = jax.dtypes.canonicalize_dtype(float)
    lists = metrics[0].weights.shape
    per_k = [one.values.shape[len(lists) :] for one in metrics]
    # What metrics share is written and counted once: they hold the same arrays.
    weights: dict[tuple[int, int], jax.Array] = {}
    counted: dict[tuple[int, int, bool], jax.Array] = {}
    keys = []
    for one in metrics:
        entered = id(one.weights), id(one.counts)
        keys.append(((*entered, True), (id(one.weights), id(one.defined), False)))
        if not counted.keys() >= set(keys[-1]):
            has_weight = one.weights > 0
            enter = has_weight if one.counts is None else has_weight & one.counts
            weights[entered] = jnp.where(enter, one.weights, 0).astype(dtype)
            counted[keys[-1][0]] = enter
            counted[keys[-1][1]] = has_weight & ~one.defined
    widths = [math.prod(shape) for shape in per_k]
    flat = zip(metrics, widths, strict=True)
    value = jnp.concatenate(
        [one.values.reshape((*lists, n)).astype(dtype) for one, n in flat], -1
    )
    if len(weights) == 1:
        (weight,) = weights.values()
        weight = jnp.broadcast_to(weight[..., None], value.shape)
    else:
        flat = zip(keys, widths, strict=True)
        weight = [
            jnp.broadcast_to(weights[key[:2]][..., None], (*lists, n))
            for (key, _), n in flat
        ]
        weight = jnp.concatenate(weight, -1)
    value = jnp.where(weight > 0, value, jnp.zeros((), dtype))
    sums: Pair = jax.tree.map(
        lambda *leaves: jnp.stack(leaves), *of_batch(value, weight)
    )
    axes = tuple(range(len(lists)))
    counts = jnp.sum(jnp.stack([*counted.values()], -1), axes, dtype=jnp.int32)
    counts = dict(zip(counted, counts, strict=True))
    found, start = [], 0
    for shape, width, own in zip(per_k, widths, keys, strict=True):
        high, low = (
            lax.slice_in_dim(x, start, start + width, axis=1).reshape(-1, *shape)
            for x in (sums.high, sums.low)
        )
        found.append((Pair(high, low), jnp.stack([counts[key] for key in own])))
        start += width
    return found
