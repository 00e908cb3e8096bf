"""The mergeable state of a distribution: how many lists have values in each bin."""

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import widen
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._states import moments
from jax_rank_metrics._states.double_floats import canonical
from jax_rank_metrics._states.moments import ValuesOfLists
from jax_rank_metrics._states.state import State
from jax_rank_metrics._types import Number


@pytree("edges")
class Histogram(State):
    """How the values of lists are distributed: counts by bin, the smallest, the largest.

    Every list of a weight above 0 counts once, whatever its weight. Counts are integers,
    so that a state is the same however its lists were cut into batches and devices. Made
    by `PerList.quantiles`; merge states of the same edges.

    In shapes, `*k` is `len(k)` for a tuple of cutoffs and nothing for one; states that
    vmap, scan or pmap has stacked have its axes before these.

    Shapes:
        edges: The edges of the bins, a static tuple of n + 1 floats.
        counts: `[n + 2, *k]` int32. `counts[i]` lists have a value v of
            edges[i − 1] ≤ v < edges[i]. `counts[0]` have one of at most the first edge,
            and `counts[n + 1]` of at least the last: what lies beyond the edges, or on
            the outermost two, as values of 0 and 1 do by default. So `counts[1]` is of
            values above the first edge.
        extremes: `[2, *k]`, −1 times the smallest value, and the largest.
        tally: `[2]` int32, `lists` and `undefined`.

    A value that is NaN makes the smallest, the largest and all quantiles NaN.

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
        edges: Sequence[Number] | np.ndarray | None = None,
        bins: int = 100,
    ) -> "Histogram":
        """The state of no lists, the identity of merge.

        Args:
            shape: That of `compute`: `()`, or `(len(k),)` for a tuple of cutoffs.
            edges: See `PerList.quantiles`.
            bins: The same.
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
        """The smallest value, exactly, `[*k]`; 0 where nothing counted."""
        return _extremes(canonical(self))[0]

    @property
    def max(self) -> jax.Array:
        """The largest value, exactly, `[*k]`; 0 where nothing counted."""
        return _extremes(canonical(self))[1]

    def quantile(self, q: Any) -> jax.Array:
        """The value below which a share q of the lists lies, `[*k]`; 0 of no lists.

        As `numpy.quantile` of the values, between the two nearest in order, where the
        values of a bin are taken to lie evenly in it. The result is never farther from
        that than the width of the wider of the two bins they are in; beyond the edges, a
        bin reaches to the smallest or the largest value. It is exact for values on the
        two outermost edges, such as 0 and 1 by default, for q = 0 and for q = 1.
        Beyond 2²⁴ lists, q is read to 1e-7.

        Args:
            q: A number in [0, 1]; many by `jax.vmap(state.quantile)`.

        Raises:
            TypeError: if q is not one number.
            ValueError: if it is not in [0, 1]. Inside `jax.jit` that gives NaN.
        """
        fix = "pass a number between 0 and 1"
        if isinstance(q, str) or not hasattr(q, "__float__") or jnp.ndim(q):
            raise TypeError(f"q is {q!r}; {fix}, and many by jax.vmap(state.quantile)")
        if not isinstance(q, Tracer) and not 0 <= q <= 1:
            raise ValueError(f"q is {q!r}; {fix}")
        dtype = jax.dtypes.canonicalize_dtype(float)
        return _quantile(canonical(self), jnp.asarray(q, dtype))

    def compute(self) -> jax.Array:
        """The median, `[*k]`: `quantile(0.5)`; 0 where nothing counted."""
        return self.quantile(0.5)


def edges_of(edges: Any, bins: Any) -> tuple[float, ...]:
    """Edges that rise; those of some bins of one width on [0, 1] if there are none."""
    if edges is None:
        number = _inputs.positive_integer("bins", bins)
        return tuple((np.arange(number + 1) / number).tolist())
    fix = "pass rising numbers, such as (0, 0.25, 0.5, 1)"
    if isinstance(edges, Tracer):
        raise TypeError(f"edges are traced; {fix}, which are static")
    numbers = np.asarray(edges)
    if numbers.dtype.kind not in "biuf" or numbers.ndim != 1:
        raise TypeError(f"edges are {numbers.tolist()}; {fix}")
    found = tuple(numbers.astype(np.float64).tolist())
    if len(found) < 2 or not all(a < b for a, b in itertools.pairwise(found)):
        raise ValueError(f"edges are {numbers.tolist()}; {fix}")
    return found


def histogram_of(lists: ValuesOfLists, edges: tuple[float, ...]) -> Histogram:
    """The state of the values of a batch."""
    dtype = jax.dtypes.canonicalize_dtype(float)
    axes = tuple(range(lists.weights.ndim))
    shape = lists.values.shape[len(axes) :]
    values, _, tally = moments.columns_of(lists, dtype)
    values, entered = lax.stop_gradient(values), tally[0][..., None]
    # Lists that reach each edge: comparing with all of them is one reduction, which
    # meshes partition as they do that of a mean.
    # Edges as values of their dtype are: 0.7 is on the edge 0.7 also in few bits.
    own = lists.values.dtype
    own = own if jnp.issubdtype(own, jnp.floating) else dtype
    each = np.asarray(edges, own).astype(dtype).reshape((*(1,) * values.ndim, -1))
    beyond = (np.arange(len(edges)) > 0).reshape(each.shape)
    x = values[..., None]
    reached = ((x > each) | ((x == each) & beyond)) & entered[..., None]
    reached = jnp.sum(reached, axis=axes, dtype=jnp.int32).T  # [edges, cutoffs]
    tally = jnp.sum(tally.reshape(2, -1), axis=-1, dtype=jnp.int32)
    above = jnp.concatenate([jnp.broadcast_to(tally[:1], reached[:1].shape), reached])
    counts = above - jnp.concatenate([reached, jnp.zeros_like(reached[:1])])
    signed = jnp.stack([-values, values])
    signed = jnp.where(entered[None], signed, -jnp.inf)
    extremes = jnp.max(signed, axis=[axis + 1 for axis in axes], initial=-jnp.inf)
    return Histogram(
        edges,
        counts.reshape(-1, *shape),
        # One zero, so that which of two is the larger is no matter.
        jnp.where(extremes == 0, 0, extremes).reshape(2, *shape),
        tally,
    )


def _along(state: Histogram) -> int:
    return len(state._stacked)


@jax.jit
def _extremes(state: Histogram) -> tuple[jax.Array, jax.Array]:
    negated, largest = jnp.moveaxis(state.extremes, _along(state), 0)
    entered = widen(state.lists > 0, largest)
    # A zero is not negated, since its sign would show.
    smallest = jnp.where(negated != 0, -negated, 0)
    return jnp.where(entered, smallest, 0), jnp.where(entered, largest, 0)


def _between(low: jax.Array, high: jax.Array, share: jax.Array) -> jax.Array:
    """Interpolates linearly; exact where `low` is `high`, also of infinite values."""
    equal = (low == high) | (share <= 0)
    share = jnp.where(equal, 0.5, share)  # 0·inf is NaN
    value = jnp.clip(low * (1 - share) + high * share, low, high)
    return jnp.where(equal, low, value)


@jax.jit
def _quantile(state: Histogram, q: jax.Array) -> jax.Array:
    least, most = (x[..., None] for x in _extremes(state))
    dtype = least.dtype
    through = jnp.cumsum(jnp.moveaxis(state.counts, _along(state), -1), axis=-1)
    number = through[..., -1:]
    edges = jnp.asarray(state.edges, dtype).reshape((*(1,) * (least.ndim - 1), -1))
    edges = jnp.clip(
        jnp.broadcast_to(edges, (*least.shape[:-1], len(state.edges))), least, most
    )
    starts = jnp.concatenate([least, edges], axis=-1)
    ends = jnp.concatenate([edges, most], axis=-1)

    def in_order(place: jax.Array) -> jax.Array:
        """The value at a place 0, 1, … among all values in order."""
        before = through <= place  # bins, all of whose values come earlier
        bin = jnp.sum(before, axis=-1, keepdims=True, dtype=jnp.int32)
        bin = jnp.minimum(bin, len(state.edges))
        earlier = jnp.max(jnp.where(before, through, 0), axis=-1, keepdims=True)
        held, start, end = (
            jnp.take_along_axis(x, bin, axis=-1) for x in (through, starts, ends)
        )
        held = jnp.maximum(held - earlier, 1).astype(dtype)
        share = ((place - earlier).astype(dtype) + 0.5) / held
        value = _between(start, end, share)
        value = jnp.where(place == 0, least, value)
        return jnp.where(place == number - 1, most, value)

    place = q * jnp.maximum(number - 1, 0).astype(dtype)
    lower = jnp.floor(place)
    rest = place - lower
    lower = jnp.minimum(lower.astype(jnp.int32), number)
    one, two = in_order(lower), in_order(jnp.minimum(lower + 1, number - 1))
    value = _between(one, two, rest)
    value = jnp.where(number > 0, value, 0)
    value = jnp.where((q >= 0) & (q <= 1), value, jnp.nan)
    return jnp.squeeze(value, axis=-1)
