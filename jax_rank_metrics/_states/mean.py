"""The mergeable state: a weighted mean kept as sums that do not drift."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.scipy.special import ndtri

from jax_rank_metrics._states import moments, show
from jax_rank_metrics._states.moments import ValuesOfLists
from jax_rank_metrics._states.pairs import Pair, canonical, merge_two, reduce_axis
from jax_rank_metrics._types import Number, pytree


@pytree()
class Mean:
    """A weighted mean over lists, as sums only: merging two states adds them.

    Sums are pairs of floats in JAX's default float dtype and counts are int32, whatever
    the inputs were, so that every state of a metric has one structure. Merging is
    commutative bit for bit, and associative to the precision of a pair. A count stays at
    2³¹ − 1 once it is there.

    The sums are one leaf pair and the counts one leaf, since each leaf of a result costs
    compilers time; every one of them is read by its name. Shapes, `*k` being `len(k)` for
    a tuple of cutoffs and nothing for one; states that vmap, scan or pmap has stacked
    have its axes before these:
        sums: `[5, *k]`, in the order of `Moments`; weights repeat for each cutoff.
        counts: `[2]` int32, `lists` and `undefined`.

    Range, for 32-bit floats: weights from 1e-12 to 1e12, and values up to 1e18 as long as
    Σ weight²·value² stays below 3e38. Beyond it, where a square is too small or a sum too
    large for a float, the standard error is inf, and so is the mean where Σ weight is, as
    with lists of infinite weight. Errors hold within 1 % where the spread of values is at
    least 1e-4 of their mean. NaN comes of values that are NaN, or infinite of
    either sign, alone.

    >>> state = Mean.of(jnp.array([0.0, 1.0, 1.0]), jnp.ones(3), jnp.ones(3, bool))
    >>> low, high = state.confidence_interval(0.95)
    >>> f"{state.compute():.3f} ± {state.std_error():.3f}, {low:.2f} to {high:.2f}"
    '0.667 ± 0.333, 0.01 to 1.32'
    >>> state.merge(state)
    Mean(0.667 ± 0.211, 6 lists, 0 undefined)
    >>> float(state.merge(state)) > 0.66, f"{state:.2f}"
    (True, '0.67')
    """

    sums: Pair
    counts: jax.Array

    __repr__ = show.mean_repr
    __float__ = show.mean_float
    __format__ = show.mean_format
    _repr_html_ = show.mean_html

    @property
    def sum_wv(self) -> Pair:
        """Σ weight·value, `[*k]`."""
        return self._moments().wv

    @property
    def sum_w(self) -> Pair:
        """Σ weight, `[]`."""
        return self._of_any_cutoff(self._moments().w)

    @property
    def sum_w2(self) -> Pair:
        """Σ weight², `[]`."""
        return self._of_any_cutoff(self._moments().w2)

    @property
    def sum_w2v(self) -> Pair:
        """Σ weight²·value, `[*k]`."""
        return self._moments().w2v

    @property
    def sum_w2v2(self) -> Pair:
        """Σ weight²·value², `[*k]`."""
        return self._moments().w2v2

    @property
    def lists(self) -> jax.Array:
        """How many lists entered the mean, `[]` int32."""
        return self.counts[..., 0]

    @property
    def undefined(self) -> jax.Array:
        """How many lists of weight > 0 had no value of their own, `[]` int32."""
        return self.counts[..., 1]

    def _moments(self) -> moments.Moments:
        stacked = (slice(None),) * (jnp.ndim(self.counts) - 1)

        def at(place: int) -> Pair:
            return jax.tree.map(lambda x: x[(*stacked, place)], self.sums)

        return moments.Moments(*map(at, range(len(moments.Moments._fields))))

    def _of_any_cutoff(self, sums: Pair) -> Pair:
        several = jnp.ndim(sums.high) > jnp.ndim(self.counts) - 1
        return jax.tree.map(lambda x: x[..., 0], sums) if several else sums

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
        lists = ValuesOfLists(values, weights, defined, counts)
        return _mean_of(canonical(lists))

    @classmethod
    def empty(cls, shape: tuple[int, ...] = ()) -> "Mean":
        """The state of no lists, the identity of merge; `shape` is that of `compute`."""
        dtype = jax.dtypes.canonicalize_dtype(float)
        shape = (len(moments.Moments._fields), *shape)
        # One buffer per leaf, since a donated state must not hold a buffer twice.
        sums = Pair(jnp.zeros(shape, dtype), jnp.zeros(shape, dtype))
        return cls(sums, jnp.zeros((2,), jnp.int32))

    def merge(self, other: "Mean") -> "Mean":
        """The state of the lists of both.

        Raises:
            TypeError: if `other` is no state.
            ValueError: if the states have different cutoffs.
        """
        if not isinstance(other, Mean):
            raise TypeError(
                f"merge got a {type(other).__name__}; pass a Mean, or states in dicts and "
                "other pytrees to jax_rank_metrics.merge"
            )
        same_shapes(self, other)
        return merge_two(canonical(self), canonical(other))

    def reduce(self) -> "Mean":
        """Merges along a leading axis that vmap, scan or pmap has added to every leaf.

        Raises:
            ValueError: if there is no such axis.
        """
        stacked_axis(self)
        return reduce_axis(canonical(self))

    def compute(self) -> jax.Array:
        """The weighted mean, `[*k]`; 0 where nothing counted."""
        return _compute(canonical(self))

    def std_error(self) -> jax.Array:
        """Standard error of the mean, `[*k]`; inf for fewer than two lists.

        √(n/(n−1) · Σ weight²·(value − mean)²) / Σ weight, with n = `lists`.

        References:
            Cochran, Sampling Techniques, 1977, section 6 (the ratio estimator).
        """
        return _std_error(canonical(self))

    def confidence_interval(self, level: Number = 0.95) -> tuple[jax.Array, jax.Array]:
        """Lower and upper bound of a normal interval, each `[*k]`; not clipped to [0, 1].

        Args:
            level: The probability that the interval should cover, in (0, 1).

        Raises:
            TypeError: if the level is no number, or is known only inside `jax.jit`.
            ValueError: if the level is not between 0 and 1.
        """
        return _confidence_interval(canonical(self), _checked_level(level))


def _checked_level(level: Any) -> float:
    fix = "pass a number between 0 and 1, such as 0.95"
    if isinstance(level, Tracer):
        raise TypeError(f"level is traced; {fix}, that is no argument of jax.jit")
    if isinstance(level, str) or not hasattr(level, "__float__") or jnp.ndim(level):
        raise TypeError(f"level is {level!r}; {fix}")
    number = float(level)
    if not 0 < number < 1:
        raise ValueError(f"level is {level!r}; {fix}")
    return number


def same_shapes(one: Mean, two: Mean) -> None:
    """Raises where states have different cutoffs, or are stacked differently."""
    (*stacked1, _), (*stacked2, _) = (jnp.shape(x.counts) for x in (one, two))
    if stacked1 != stacked2:
        raise ValueError(
            f"states are stacked along axes of shape {tuple(stacked1)} and "
            f"{tuple(stacked2)}; reduce them first"
        )
    shapes = [jnp.shape(x.sums.high)[len(stacked1) + 1 :] for x in (one, two)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"states differ in shape: {shapes[0]} and {shapes[1]}; pass states of the "
            "same cutoffs"
        )


def stacked_axis(state: Mean) -> None:
    """Raises where a state has no leading axis to reduce."""
    if jnp.ndim(state.counts) < 2:
        raise ValueError(
            "stacked holds a state without a leading axis; pass states stacked by "
            "vmap, scan or pmap"
        )


@jax.jit
def _mean_of(lists: ValuesOfLists) -> Mean:
    return means_of([lists])[0]


def means_of(metrics: Sequence[ValuesOfLists]) -> list[Mean]:
    """`Mean.of` each of several metrics of the same lists, in one reduction for all."""
    return [Mean(sums, counts) for sums, counts in moments.of_metrics(metrics)]


@jax.jit
def _compute(state: Mean) -> jax.Array:
    sums = state._moments()
    weight = sums.w.round()
    mean = moments.ratio(sums.wv.round(), weight)
    return jnp.where(jnp.isfinite(weight), mean, jnp.inf)


@jax.jit
def _std_error(state: Mean) -> jax.Array:
    mean, sums = _compute(state), state._moments()
    weight, w2, dtype = sums.w.round(), sums.w2.round(), mean.dtype
    # Σ w²·(v − mean)² in pairs, since nearly all of it may cancel, and then what is
    # missing because the mean was rounded.
    of_one = sums.w2v + sums.w2.times(-mean)
    squares = (sums.w2v2 + (sums.w2v + of_one).times(-mean)).round()
    off = moments.ratio((sums.wv + sums.w.times(-mean)).round(), weight)
    squares = squares - off * (2 * of_one.round() - off * w2)
    n = state.lists.astype(dtype)
    n = jnp.broadcast_to(
        n.reshape((*n.shape, *(1,) * (mean.ndim - n.ndim))), mean.shape
    )
    correction = n / jnp.where(n > 1, n - 1, 1)
    error = moments.ratio(jnp.sqrt(jnp.maximum(correction * squares, 0)), weight)
    # Squares of which some may have been too small for a float tell nothing.
    least = n * (jnp.finfo(dtype).tiny * 2.0**20)
    seen = (sums.w2v2.high > least) | (sums.wv.high == 0)
    seen = seen & (w2 > least) & jnp.isfinite(squares) & jnp.isfinite(weight)
    return jnp.where((n > 1) & seen, error, jnp.inf)


@jax.jit
def _confidence_interval(state: Mean, level: Number) -> tuple[jax.Array, jax.Array]:
    mean = _compute(state)
    upper = (1 + jnp.asarray(level, mean.dtype)) / 2
    margin = ndtri(upper) * _std_error(state)
    some = jnp.isfinite(margin)  # an infinite mean less an infinite margin is NaN
    low, high = mean - margin, mean + margin
    return jnp.where(some, low, -jnp.inf), jnp.where(some, high, jnp.inf)
