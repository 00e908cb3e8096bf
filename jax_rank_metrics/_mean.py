"""The mergeable state: a weighted mean kept as sums that do not drift."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import ndtri

from jax_rank_metrics import _devices
from jax_rank_metrics._sums import Pair
from jax_rank_metrics._types import Number, pytree


@pytree()
class Mean:
    """A weighted mean over lists, as sums only: merging two states adds them.

    Sums are pairs of floats in JAX's default float dtype and counts are int32, whatever
    the inputs were, so that every state of a metric has one structure. Merging is
    commutative bit for bit, and associative to the precision of a pair.

    Shapes, `*k` being `len(k)` for a tuple of cutoffs and nothing for one:
        weighted: `[*k]`, Σ weight·value.
        weight: `[]`, Σ weight.
        weight2: `[]`, Σ weight².
        weighted1, weighted2: `[*k]`, Σ weight²·value and Σ weight²·value².
        lists: `[]` int32, how many lists entered the mean.
        undefined: `[]` int32, how many lists of weight > 0 had no value of their own.

    >>> state = Mean.of(jnp.array([0.0, 1.0, 1.0]), jnp.ones(3), jnp.ones(3, bool))
    >>> low, high = state.confidence_interval(0.95)
    >>> f"{state.compute():.3f} ± {state.std_error():.3f}, {low:.2f} to {high:.2f}"
    '0.667 ± 0.333, 0.01 to 1.32'
    >>> f"{state.merge(state).compute():.3f} of {state.merge(state).lists} lists"
    '0.667 of 6 lists'
    """

    weighted: Pair
    weight: Pair
    weight2: Pair
    weighted1: Pair
    weighted2: Pair
    lists: jax.Array
    undefined: jax.Array

    @classmethod
    def of(
        cls,
        values: jax.Array,
        weights: jax.Array,
        defined: jax.Array,
        counts: jax.Array | None = None,
    ) -> "Mean":
        """The mean of per-list values.

        Args:
            values: `[*lists]` or `[*lists, len(k)]`.
            weights: `[*lists]`; lists of a weight not above 0 stay out.
            defined: `[*lists]` bool, whether each value is the list's own.
            counts: `[*lists]` bool, lists to let in; None is all.
        """
        return means_of([ValuesOfLists(values, weights, defined, counts)])[0]

    @classmethod
    def empty(cls, shape: tuple[int, ...] = ()) -> "Mean":
        """The state of no lists, the identity of merge; `shape` is that of `compute`."""
        dtype = jax.dtypes.canonicalize_dtype(float)

        # One buffer per leaf, since a donated state must not hold a buffer twice.
        def zero(shape: tuple[int, ...] = ()) -> Pair:
            return Pair(jnp.zeros(shape, dtype), jnp.zeros(shape, dtype))

        return cls(
            weighted=zero(shape),
            weight=zero(),
            weight2=zero(),
            weighted1=zero(shape),
            weighted2=zero(shape),
            lists=jnp.zeros((), jnp.int32),
            undefined=jnp.zeros((), jnp.int32),
        )

    def merge(self, other: "Mean") -> "Mean":
        """The state of the lists of both."""
        return merge_two(self, other)

    def reduce(self) -> "Mean":
        """Merges along a leading axis that vmap, scan or pmap has added to every leaf."""
        return reduce_axis(self)

    def compute(self) -> jax.Array:
        """The weighted mean, `[*k]`; 0 where nothing counted."""
        return _compute(self)

    def std_error(self) -> jax.Array:
        """Standard error of the mean, `[*k]`; inf for fewer than two lists.

        √(n/(n−1) · Σ weight²·(value − mean)²) / Σ weight, with n = `lists`.

        References:
            Cochran, Sampling Techniques, 1977, section 6 (the ratio estimator).
        """
        return _std_error(self)

    def confidence_interval(self, level: Number = 0.95) -> tuple[jax.Array, jax.Array]:
        """Lower and upper bound of a normal interval, each `[*k]`; not clipped to [0, 1].

        Args:
            level: The probability that the interval should cover, in (0, 1).

        Raises:
            ValueError: if the level is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise ValueError(f"level is {level!r}; pass a number between 0 and 1")
        return _confidence_interval(self, level)


class ValuesOfLists(NamedTuple):
    """What `Mean.of` takes."""

    values: jax.Array
    weights: jax.Array
    defined: jax.Array
    counts: jax.Array | None


def means_of(metrics: Sequence[ValuesOfLists]) -> list[Mean]:
    """`Mean.of` each of several metrics of the same lists, in one reduction for all.

    The arithmetic of pairs is long; one copy for all metrics compiles several times
    faster than a copy for each.
    """
    dtype = jax.dtypes.canonicalize_dtype(float)
    axes = tuple(range(metrics[0].weights.ndim))
    values, weights, enters, undefined = [], [], [], []
    for one in metrics:
        has_weight = one.weights > 0
        enter = has_weight if one.counts is None else has_weight & one.counts
        weight = jnp.where(enter, one.weights, 0).astype(dtype)[..., None]
        per_k = one.values.shape[len(axes) :]
        value = one.values.reshape((*one.weights.shape, math.prod(per_k)))
        value = value.astype(dtype)
        values.append(jnp.where(weight > 0, value, jnp.zeros((), dtype)))
        weights.append(jnp.broadcast_to(weight, value.shape))
        enters.append(enter)
        undefined.append(has_weight & ~one.defined)
    value, weight = (jnp.concatenate(x, axis=-1) for x in (values, weights))
    weighted = Pair.product(weight, value)
    terms = (
        weighted,
        weighted.times(weight),
        weighted * weighted,
        Pair.of(weight),
        Pair.product(weight, weight),
    )
    stacked: Pair = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *terms)
    sums = stacked.sum(axes)
    counts = jnp.sum(jnp.stack([*enters, *undefined], -1), axes, dtype=jnp.int32)

    def column(own: slice | int, term: int, shape: tuple[int, ...] = ()) -> Pair:
        high, low = (x[own, term].reshape(shape) for x in (sums.high, sums.low))
        return Pair(high, low)

    states, start = [], 0
    for place, one in enumerate(metrics):
        per_k = one.values.shape[len(axes) :]
        own = slice(start, start + math.prod(per_k))
        states.append(
            Mean(
                weighted=column(own, 0, per_k),
                weight=column(start, 3),
                weight2=column(start, 4),
                weighted1=column(own, 1, per_k),
                weighted2=column(own, 2, per_k),
                lists=counts[place],
                undefined=counts[len(metrics) + place],
            )
        )
        start = own.stop
    return states


@jax.jit
def merge_two(a: Any, b: Any) -> Any:
    """Adds the sums and the counts of two pytrees of states."""
    return jax.tree.map(lambda x, y: x + y, a, b, is_leaf=lambda x: isinstance(x, Pair))


@jax.jit
def reduce_axis(stacked: Any) -> Any:
    """Merges states along the leading axis of every leaf."""

    def total(x: Pair | jax.Array) -> Pair | jax.Array:
        if isinstance(x, Pair):
            return x.sum((0,))
        return jnp.sum(x, axis=0, dtype=x.dtype)

    return jax.tree.map(total, stacked, is_leaf=lambda x: isinstance(x, Pair))


def all_reduce_axis(states: Any, axis_name: Any) -> Any:
    """Merges states over devices, with a result typed as equal on all of them."""
    # Folding the slots in one order gives every device the same bits.
    return reduce_axis(jax.tree.map(lambda x: _devices.stack(x, axis_name), states))


def _ratio(state: Mean) -> Pair:
    shape = state.weighted.high.shape
    weight = jax.tree.map(lambda x: jnp.broadcast_to(x, shape), state.weight)
    return state.weighted.over(weight)


@jax.jit
def _compute(state: Mean) -> jax.Array:
    return _ratio(state).round()


@jax.jit
def _std_error(state: Mean) -> jax.Array:
    mean = _ratio(state)
    dtype, shape = mean.high.dtype, mean.high.shape
    weight2 = jax.tree.map(lambda x: jnp.broadcast_to(x, shape), state.weight2)
    # Σ w²(v−μ)² = Σ w²v² − 2μ·Σ w²v + μ²·Σ w², in pairs since the terms nearly cancel.
    # Compilers may take minutes over the whole of it in one piece: the barrier parts it.
    cross, square = lax.optimization_barrier((mean * state.weighted1, mean * mean))
    squares = state.weighted2 + -(cross + cross) + square * weight2
    n = state.lists.astype(dtype)
    several = n > 1
    correction = n / jnp.where(several, n - 1, 1)
    spread = jnp.sqrt(jnp.maximum(correction * squares.round(), 0))
    weight = jnp.where(several, state.weight.round(), 1)
    return jnp.where(several, spread / weight, jnp.inf)


@jax.jit
def _confidence_interval(state: Mean, level: Number) -> tuple[jax.Array, jax.Array]:
    mean = _compute(state)
    upper = (1 + jnp.asarray(level, mean.dtype)) / 2
    margin = ndtri(upper) * _std_error(state)
    return mean - margin, mean + margin
