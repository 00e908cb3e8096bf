"""The state of a distribution: the number of lists whose values are in each bin."""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from jax_rank_metrics._ground import inputs, pytrees, types
from jax_rank_metrics._values import double_floats, moments
from jax_rank_metrics._values.list_arrays import ListArrays, list_shape_of
from jax_rank_metrics._values.state import State, stacked_shape


@pytrees.pytree("edges")
class Histogram(State):
    """The distribution of per-list values: counts per bin, smallest and largest value.

    Every list with a weight above 0 counts once, however large its weight is. Counts
    are integers, so a state does not depend on how its lists were split into batches
    and over devices. `PerList.quantiles` makes a `Histogram`. Merge only states with
    the same edges.

    In shapes, `*k` is `len(k)` for a tuple of cutoffs and nothing for one cutoff; states
    stacked by vmap, scan or pmap have the stacked axes before these.

    Shapes:
        edges: The edges of the bins, a static tuple of n + 1 floats.
        counts: `[n + 2, *k]` int32, the number of lists with a value v in each bin:
            v ≤ edges[0] in the first bin, v ≥ edges[n] in the last bin, and
            edges[i − 1] ≤ v < edges[i] in bin i between them, except that a value on the
            first edge counts only in the first bin. So by default, the values 0 and 1 each
            have their own bin.
        extremes: `[2, *k]`, −1 times the smallest value, and the largest value.
        tally: `[2]` int32, `lists` and `undefined`.

    If a value is NaN, the smallest value, the largest value and all quantiles are NaN.

    >>> state = Histogram.empty(edges=(0, 0.5, 1))
    >>> state.counts.tolist(), state
    ([0, 0, 0, 0], Histogram(median 0.000, 0.000 to 0.000, 0 lists, 0 undefined))
    """

    edges: tuple[float, ...]
    counts: jax.Array
    extremes: jax.Array
    tally: jax.Array
    _must_share = "the same cutoffs and edges"
    _text = "median {}, {} to {}"

    @property
    def _tally(self) -> jax.Array:
        return self.tally

    def _shown(self) -> tuple[jax.Array, ...]:
        return self.compute(), self.min, self.max

    @classmethod
    def empty(
        cls,
        shape: tuple[int, ...] = (),
        edges: Sequence[types.Number] | np.ndarray | None = None,
        bins: int = 100,
    ) -> "Histogram":
        """Returns the state of no lists: merging it changes nothing.

        Args:
            shape: The shape of `compute`: `()`, or `(len(k),)` for a tuple of cutoffs.
            edges: See `PerList.quantiles`.
            bins: See `PerList.quantiles`.
        """
        edges = edges_of(edges, bins)
        dtype = jax.dtypes.canonicalize_dtype(float)
        return cls(
            edges,
            jnp.zeros((len(edges) + 1, *shape), jnp.int32),
            jnp.full((2, *shape), -jnp.inf, dtype),
            jnp.zeros((2,), jnp.int32),
        )

    @property
    def min(self) -> jax.Array:
        """The exact smallest value, `[*k]`; 0 if no list counted."""
        return _extremes(double_floats.canonical(self))[0]

    @property
    def max(self) -> jax.Array:
        """The exact largest value, `[*k]`; 0 if no list counted."""
        return _extremes(double_floats.canonical(self))[1]

    def quantile(self, q: Any) -> jax.Array:
        """The value below which a share q of the lists lies, `[*k]`; 0 for no lists.

        Approximates `numpy.quantile` of the values, which interpolates between the two
        nearest values in order. Values are assumed to be spread evenly in their bin, so
        the error is at most the width of the wider of the bins of these two values. The
        outer bins end at the smallest and the largest value. The result is exact for
        values on the two outermost edges (0 and 1 by default), for q = 0 and for q = 1.
        Beyond 2²⁴ lists, q is accurate to 1e-7.

        Args:
            q: A number in [0, 1]; for many numbers, use `jax.vmap(state.quantile)`.

        Raises:
            TypeError: if q is not a single number.
            ValueError: if q is not in [0, 1]. Inside `jax.jit` the result is NaN
                instead.
        """
        fix = "pass a number between 0 and 1"
        if not inputs.is_scalar_number(q):
            raise TypeError(f"q is {q!r}; {fix}, or many to jax.vmap(state.quantile)")
        if not isinstance(q, Tracer) and not 0 <= q <= 1:
            raise ValueError(f"q is {q!r}; {fix}")
        dtype = jax.dtypes.canonicalize_dtype(float)
        return _quantile(double_floats.canonical(self), jnp.asarray(q, dtype))

    def compute(self) -> jax.Array:
        """The median, `[*k]`: `quantile(0.5)`; 0 if no list counted."""
        return self.quantile(0.5)


def edges_of(edges: Any, bins: Any) -> tuple[float, ...]:
    """Returns checked edges; None gives `bins` bins of equal width on [0, 1].

    `bins` is read only if `edges` is None: 2 bins have the edges `(0.0, 0.5, 1.0)`.

    Raises:
        TypeError: if edges are not concrete numbers, or `bins` is not a Python int.
        ValueError: if edges do not ascend, or are fewer than two; if `bins` is below 1.
    """
    if edges is None:
        num_bins = inputs.positive_integer("bins", bins)
        return tuple((np.arange(num_bins + 1) / num_bins).tolist())
    fix = "pass rising numbers, such as (0, 0.25, 0.5, 1)"
    if isinstance(edges, Tracer):
        raise TypeError(f"edges are traced; {fix}, which are static")
    numbers = np.asarray(edges)
    if numbers.dtype.kind not in "biuf" or numbers.ndim != 1:
        raise TypeError(f"edges are {numbers.tolist()}; {fix}")
    values = tuple(numbers.astype(np.float64).tolist())
    if len(values) < 2 or not all(a < b for a, b in itertools.pairwise(values)):
        raise ValueError(f"edges are {numbers.tolist()}; {fix}")
    return values


@partial(jax.jit, static_argnums=(1, 2))
def histogram_of(
    lists: ListArrays, edges: tuple[float, ...], undefined: types.Undefined
) -> Histogram:
    """Computes the state of `PerList.quantiles`."""
    dtype = jax.dtypes.canonicalize_dtype(float)
    axes, k_shape = range(len(list_shape_of(lists))), moments.cutoff_shape_of(lists)
    # [*lists, columns]
    values, _, flags = moments.columns_of(lists, undefined, moments.as_passed)
    values, entered = lax.stop_gradient(values), flags[0]
    # Round the edges to the dtype of the values, so that a bfloat16 value of 0.7 lies
    # on the edge 0.7.
    value_dtype = lists.values.dtype
    if not jnp.issubdtype(value_dtype, jnp.floating):
        value_dtype = dtype
    shape = (*(1,) * values.ndim, -1)
    thresholds = np.asarray(edges, value_dtype).astype(dtype).reshape(shape)
    includes_equal = (np.arange(len(edges)) > 0).reshape(shape)
    # Compare every value with every edge, because that is a single reduction, which
    # meshes partition like a mean.
    value = values[..., None]
    reached = (value > thresholds) | ((value == thresholds) & includes_equal)
    reached = jnp.sum(reached & entered[..., None], axis=tuple(axes), dtype=jnp.int32)
    reached = reached.T  # [edges, columns], the number of lists that reach each edge
    # A bin counts the lists that reach its lower edge but not its upper edge.
    num_entered = jnp.sum(entered, axis=tuple(axes), dtype=jnp.int32)
    lower = jnp.concatenate([num_entered[None], reached])
    counts = lower - jnp.concatenate([reached, jnp.zeros_like(reached[:1])])
    signed = jnp.stack([-values, values])
    signed = jnp.where(entered[None], signed, -jnp.inf)
    extremes = jnp.max(signed, axis=[axis + 1 for axis in axes], initial=-jnp.inf)
    return Histogram(
        edges,
        counts.reshape(-1, *k_shape),
        # Write 0.0 for −0.0, so that the result does not depend on which of the two
        # came first.
        jnp.where(extremes == 0, 0, extremes).reshape(2, *k_shape),
        moments.counts_of_lists(lists, flags),
    )


@jax.jit
def _extremes(state: Histogram) -> tuple[jax.Array, jax.Array]:
    negated, largest = jnp.moveaxis(state.extremes, len(stacked_shape(state)), 0)
    entered = (negated != -jnp.inf) | (largest != -jnp.inf)
    # Do not negate a zero, because −0.0 would be printed with its sign.
    smallest = jnp.where(negated != 0, -negated, 0)
    return jnp.where(entered, smallest, 0), jnp.where(entered, largest, 0)


def _interpolate(low: jax.Array, high: jax.Array, share: jax.Array) -> jax.Array:
    """Returns `low·(1 − share) + high·share`, for a share in [0, 1).

    The result is exactly `low` if the share is 0 or `low` equals `high`, even if these
    are infinite.
    """
    at_low = (low == high) | (share <= 0)
    share = jnp.where(at_low, 0.5, share)  # 0·inf would be NaN
    value = jnp.clip(low * (1 - share) + high * share, low, high)
    return jnp.where(at_low, low, value)


@jax.jit
def _quantile(state: Histogram, q: jax.Array) -> jax.Array:
    smallest, largest = (extreme[..., None] for extreme in _extremes(state))
    dtype = smallest.dtype
    counts = jnp.moveaxis(state.counts, len(stacked_shape(state)), -1)  # [*k, bins]
    cumulative = jnp.cumsum(counts, axis=-1)
    total = cumulative[..., -1:]
    # The bounds of the bins, clipped to the range of the values: [*k, bins]
    edges = jnp.asarray(state.edges, dtype).reshape((*(1,) * (smallest.ndim - 1), -1))
    shape = (*smallest.shape[:-1], len(state.edges))
    edges = jnp.clip(jnp.broadcast_to(edges, shape), smallest, largest)
    starts = jnp.concatenate([smallest, edges], axis=-1)
    ends = jnp.concatenate([edges, largest], axis=-1)

    def order_statistic(index: jax.Array) -> jax.Array:
        """Estimates the value at an index among the values in ascending order."""
        is_before = cumulative <= index  # bins with smaller indices only
        bin = jnp.sum(is_before, axis=-1, keepdims=True, dtype=jnp.int32)
        bin = jnp.minimum(bin, len(state.edges))
        num_before = jnp.max(
            jnp.where(is_before, cumulative, 0), axis=-1, keepdims=True
        )
        through, start, end = (
            jnp.take_along_axis(array, bin, axis=-1)
            for array in (cumulative, starts, ends)
        )
        num_inside = jnp.maximum(through - num_before, 1).astype(dtype)
        share = ((index - num_before).astype(dtype) + 0.5) / num_inside
        value = _interpolate(start, end, share)
        value = jnp.where(index == 0, smallest, value)
        return jnp.where(index == total - 1, largest, value)

    real_index = q * jnp.maximum(total - 1, 0).astype(dtype)
    index = jnp.floor(real_index)
    share = real_index - index
    index = jnp.minimum(index.astype(jnp.int32), total)
    low = order_statistic(index)
    high = order_statistic(jnp.minimum(index + 1, total - 1))
    value = jnp.where(total > 0, _interpolate(low, high, share), 0)
    value = jnp.where((q >= 0) & (q <= 1), value, jnp.nan)
    return jnp.squeeze(value, axis=-1)
