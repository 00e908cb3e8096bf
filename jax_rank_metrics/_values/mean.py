"""The states of weighted means, as sums that do not drift."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.typing import ArrayLike

from jax_rank_metrics._ground import inputs, pytrees, shards
from jax_rank_metrics._ground.types import IntervalMethod, Number, Undefined
from jax_rank_metrics._names import facts
from jax_rank_metrics._values import intervals, moments
from jax_rank_metrics._values.double_floats import FloatPair, canonical, sums_by_group
from jax_rank_metrics._values.list_arrays import ListArrays, check_fit
from jax_rank_metrics._values.state import State

M = TypeVar("M", bound="Mean")

FLOOR = 1e-5  # of geometric means, as in trec_eval


@pytrees.pytree()
class Mean(State):
    """A weighted mean over lists, stored as sums; merging two states adds their sums.

    Sums are pairs of floats in JAX's default float dtype and counts are int32 for any
    inputs, so every state of a metric has the same structure. Merging is commutative
    bit for bit, and associative to the precision of a pair. A count that has reached
    2³¹ − 1 stays there.

    All sums share one pair of leaves and all counts one leaf, because each leaf of a
    result costs compile time; properties such as `sum_wv` and `lists` return them by
    name. In shapes, `*k` is `len(k)` for a tuple of cutoffs and nothing for one cutoff;
    states stacked by vmap, scan or pmap have the stacked axes before these.

    Shapes:
        sums: `[6, *k]`, in the order of `Moments`. Sums of weights are repeated for
            each cutoff, unless weights differ between cutoffs, as after `PerList.over`.
        counts: `[2]` int32, `lists` and `undefined`.

    Range, for 32-bit floats: weights from 1e-12 to 1e12, and values up to 1e18 as long as
    Σ weight²·value² stays below 3e38. Beyond this range, a square may be too small or a
    sum too large for a float; then `n_eff` is 0 and the standard error is inf. The mean
    is inf if Σ weight is inf. If one list has infinite weight, its value is the mean.
    Standard errors are accurate within 1 % if the spread of values is at least 1e-4 of
    their mean. A NaN comes only from values that are NaN, or from infinite values of
    both signs.

    >>> hits = jnp.array([False, True, True])
    >>> state = Mean.of(hits, jnp.ones(3), jnp.ones(3, bool))
    >>> low, high = state.confidence_interval(0.95)
    >>> f"{state.compute():.3f} ± {state.std_error():.3f}, {low:.2f} to {high:.2f}"
    '0.667 ± 0.333, 0.21 to 0.94'
    >>> state.merge(state)
    Mean(0.667 ± 0.211, 6 lists, 0 undefined)
    >>> float(state.merge(state)) > 0.66, f"{state:.2f}"
    (True, '0.67')
    """

    sums: FloatPair
    counts: jax.Array

    _text = "{} ± {}"

    def _shown(self) -> tuple[jax.Array, ...]:
        return self.compute(), self.std_error()

    @property
    def _sample_size(self) -> jax.Array:
        return self.n_eff

    @property
    def sum_wv(self) -> FloatPair:
        """Σ weight·value, `[*k]`."""
        return self._moments().wv

    @property
    def sum_w(self) -> FloatPair:
        """Σ weight, `[*k]`."""
        return self._moments().w

    @property
    def sum_w2(self) -> FloatPair:
        """Σ weight², `[*k]`."""
        return self._moments().w2

    @property
    def sum_w2v(self) -> FloatPair:
        """Σ weight²·value, `[*k]`."""
        return self._moments().w2v

    @property
    def sum_w2v2(self) -> FloatPair:
        """Σ weight²·value², `[*k]`."""
        return self._moments().w2v2

    @property
    def sum_w_fractional(self) -> FloatPair:
        """Σ weight of the values that are neither hits (1) nor misses (0), `[*k]`.

        It is 0 if and only if every value was a bool, or the 0 or 1 of a metric whose
        values lie in [0, 1]. Differences and ratios may lie outside [0, 1], so all of
        their weight counts here.
        """
        return self._moments().fractional

    @property
    def n_eff(self) -> jax.Array:
        """Effective number of lists, `[*k]`: (Σ weight)² / Σ weight².

        It is the number of lists if all weights are equal, and smaller the more weights
        differ: lists of the weights 8, 1 and 1 say as much about the mean as 1.5 lists
        of equal weight. It is 0 if no list counted.

        References:
            Kish, Survey Sampling, 1965.

        >>> weights = jnp.array([8.0, 1.0, 1.0])
        >>> state = Mean.of(jnp.array([0.2, 0.4, 0.6]), weights, jnp.ones(3, bool))
        >>> f"{state.n_eff:.2f}", state
        ('1.52', Mean(0.260 ± 0.104, 3 lists, n_eff 1.52, 0 undefined))
        """
        return _sample_size(canonical(self))

    def _moments(self) -> moments.Moments:
        stacked = (slice(None),) * len(self._stacked)

        def sums_at(index: int) -> FloatPair:
            return jax.tree.map(lambda leaf: leaf[(*stacked, index)], self.sums)

        return moments.Moments(*map(sums_at, range(len(moments.Moments._fields))))

    @classmethod
    def of(
        cls: type[M],
        values: jax.Array,
        weights: jax.Array,
        defined: jax.Array,
        counts: jax.Array | None = None,
    ) -> M:
        """Returns the state of a batch of values.

        Args:
            values: `[*lists]` or `[*lists, len(k)]`; bools are hits and misses.
            weights: `[*lists]`; lists whose weight is not above 0 are left out.
            defined: `[*lists]` bool, True if the metric is defined for a list. It
                affects only the count `undefined`, not the sums.
            counts: `[*lists]` bool, True if a list may enter the mean; None lets all
                lists enter.

        Raises:
            ValueError: if shapes do not fit.
            TypeError: if `defined` or `counts` holds other values than bools.
        """
        check_fit(values, weights, defined, cutoff_weights=False)
        arrays = (
            inputs.real("values", values),
            inputs.real("weights", weights),
            inputs.boolean("defined", defined),
        )
        check_fit(*arrays, cutoff_weights=False)  # Lists have a shape only now.
        counting = inputs.boolean("counts", counts, "weights", arrays[1].shape)
        return cast(M, _mean_of(canonical((*arrays, counting)), cls))

    _transform = staticmethod(moments.as_passed)  # of values, before they are summed

    @classmethod
    def empty(cls: type[M], shape: tuple[int, ...] = ()) -> M:
        """Returns the state of no lists: merging it changes nothing.

        Args:
            shape: The shape of `compute`: `()`, or `(len(k),)` for a tuple of cutoffs.
        """
        dtype = jax.dtypes.canonicalize_dtype(float)
        shape = (len(moments.Moments._fields), *shape)
        # Make a buffer for each leaf, because a donated state must not hold the same
        # buffer twice.
        sums = FloatPair(jnp.zeros(shape, dtype), jnp.zeros(shape, dtype))
        return cls(sums, jnp.zeros((2,), jnp.int32))

    def compute(self) -> jax.Array:
        """The weighted mean, `[*k]`; 0 if no list counted."""
        return _compute(canonical(self))

    def std_error(self) -> jax.Array:
        """Standard error of the mean, `[*k]`; inf for fewer than two lists.

        √(n/(n−1) · Σ weight²·(value − mean)²) / Σ weight, with n = `n_eff`. It is also
        inf if a single list has all of the weight except about a millionth, because the
        sums then cannot tell n from 1.

        References:
            Cochran, Sampling Techniques, 1977, section 6 (the ratio estimator).
            Kish, Survey Sampling, 1965 (the effective sample size).
        """
        return _std_error(canonical(self))

    def confidence_interval(
        self, level: Number = 0.95, method: IntervalMethod = "auto"
    ) -> tuple[jax.Array, jax.Array]:
        """Lower and upper bound of an interval for the mean, each `[*k]`.

        "t" and "normal" are mean ± quantile · `std_error`, not clipped to [0, 1]. For
        values that are all 0 or 1, "wilson" is better than these two: for 12 hits of 12
        it gives [0.76, 1], and they give [1, 1]. No method makes up for values that
        were not observed: an interval from ten lists whose values are mostly 0 covers
        the mean less often than its level says.

        Args:
            level: The probability with which the interval should cover the mean, in (0, 1).
            method: "auto" is "wilson" if all values were hits and misses
                (`sum_w_fractional` is 0): bools, or 0 and 1 of a metric whose values lie in
                [0, 1]. Otherwise it is "t". This is decided for each cutoff separately,
                also inside `jax.jit`. "t" is Student's t with `n_eff` − 1 degrees of
                freedom, which need not be an integer; below 1/32 degrees, the interval
                is −inf to inf. "normal" takes the normal quantile instead, and covers
                the mean too rarely if there are few lists. "wilson" is the score
                interval of a proportion in `n_eff` lists, for values that are all 0 or
                1: `hit_rate` without ties, `precision` at 1, `recall` of one relevant
                item per list.

        Raises:
            TypeError: if the level is not a number, or is known only inside `jax.jit`.
            ValueError: if the level is not in (0, 1); if there is no such method; if the
                method is "wilson" and a value is neither 0 nor 1, or may lie outside
                [0, 1]. Inside `jax.jit`, the last case gives NaN instead.

        References:
            Student, The probable error of a mean, Biometrika 1908.
            Wilson, Probable inference, the law of succession, and statistical inference,
            JASA 1927.
            Brown, Cai & DasGupta, Interval estimation for a binomial proportion, 2001.

        >>> hits = Mean.of(jnp.ones(12, bool), jnp.ones(12), jnp.ones(12, bool))
        >>> ["{:.2f} to {:.2f}".format(*hits.confidence_interval(method=method))
        ...  for method in ("auto", "wilson", "t")]
        ['0.76 to 1.00', '0.76 to 1.00', '1.00 to 1.00']
        """
        method = interval_method(type(self), method)
        level = intervals.checked_level(level)
        coefficients = None
        if method in ("auto", "t"):
            coefficients = intervals.t_coefficients(level)
        z = intervals.normal_quantile(level)
        low, high, valid = _interval(canonical(self), method, z, coefficients)
        if isinstance(valid, Tracer):
            return jnp.where(valid, low, jnp.nan), jnp.where(valid, high, jnp.nan)
        if not valid.all():
            raise ValueError(intervals.NOT_PROPORTIONS)
        return low, high


@pytrees.pytree()
class GeometricMean(Mean):
    """A weighted geometric mean over lists: exp(Σ weight·log max(value, floor) / Σ weight).

    Lists with low values matter more here than in an arithmetic mean: a drop from 0.02
    to 0.01 counts as much as a drop from 0.8 to 0.4. Every value below the floor is
    raised to the floor, so that a single 0 does not make the whole mean 0. This
    includes the 0 of an undefined list, unless that list is left out.

    This is the `Mean` of the logarithms: its sums (`sum_wv`, …) are sums of logarithms, and
    it merges, reduces and all_reduces like a `Mean`. Merge only states with the same
    floor. `PerList.geometric_mean` makes a `GeometricMean`, like the name "gm_map" in
    `evaluate`. `of` uses the floor of trec_eval, 1e-5.

    References:
        Robertson, On GMAP: and other transformations, CIKM 2006.

    >>> state = GeometricMean.of(jnp.array([0.1, 0.4]), jnp.ones(2), jnp.ones(2, bool))
    >>> f"{state:.3f}", f"{state.merge(state).compute():.3f}"  # √(0.1 · 0.4)
    ('0.200', '0.200')
    """

    @staticmethod
    def _transform(values: jax.Array, floor: float = FLOOR) -> jax.Array:
        values = values.astype(jax.dtypes.canonicalize_dtype(float))
        return jnp.log(jnp.maximum(values, floor))

    def compute(self) -> jax.Array:
        """The weighted geometric mean, `[*k]`; 0 if no list counted."""
        return _geometric(canonical(self))

    def std_error(self) -> jax.Array:
        """Standard error to first order, `[*k]`; inf for fewer than two lists.

        It is the geometric mean times the standard error of the mean logarithm.
        """
        return _geometric_error(canonical(self))

    def confidence_interval(
        self, level: Number = 0.95, method: IntervalMethod = "auto"
    ) -> tuple[jax.Array, jax.Array]:
        """Lower and upper bound of an interval, each `[*k]`.

        It is exp of the interval for the mean logarithm. It therefore lies above 0, and
        reaches further up than down. For fewer than two lists it is 0 to inf.

        Args:
            level: The probability with which the interval should cover the mean, in (0, 1).
            method: "auto", which is "t" here; "t"; or "normal". See
                `Mean.confidence_interval`.

        Raises:
            TypeError: if the level is not a number, or is known only inside `jax.jit`.
            ValueError: if the level is not in (0, 1), or if there is no such method
                here.
        """
        low, high = super().confidence_interval(level, method)
        return jnp.exp(low), jnp.exp(high)


def interval_method(kind: type[Mean], method: IntervalMethod) -> IntervalMethod:
    """Returns the method of the intervals of a kind of mean.

    Raises:
        ValueError: if there is no such method, or if it does not apply to this kind.
    """
    inputs.option("method", method, IntervalMethod)
    if issubclass(kind, GeometricMean):
        if method == "wilson":
            raise ValueError(intervals.NOT_FOR_GEOMETRIC_MEANS)
        return "t" if method == "auto" else method
    return method


def traced_means_of(
    lists: Sequence[ListArrays],
    undefined: Undefined,
    kinds: Sequence[type[Mean]],
    unit_weights: jax.Array | None = None,
    of_long_lists: bool = False,
) -> list[Mean]:
    """Computes the states of several metrics of the same lists in one reduction.

    Metrics whose weights are the same array share the sums of weights.

    Args:
        lists: The values of each metric.
        undefined: See `PerList.mean`; for all metrics.
        kinds: The kind of state for each metric.
        unit_weights: Weights that are known to be 0 or 1; None without such weights.
        of_long_lists: True if values are sums over whole lists.
    """
    transforms = [kind._transform for kind in kinds]
    options = unit_weights, of_long_lists
    leaves = moments.of_metrics(lists, undefined, transforms, *options)
    return [kind(*fields) for kind, fields in zip(kinds, leaves, strict=True)]


means_of = jax.jit(traced_means_of, static_argnums=(1, 2))


@partial(jax.jit, static_argnums=1)
def _mean_of(arrays: tuple[Any, ...], kind: type[M]) -> M:
    """Computes the state of `Mean.of`."""
    values, weights, defined, counts = arrays
    lists, undefined = ListArrays(values, weights, defined), "zero"
    if counts is not None:
        lists, undefined = ListArrays(values, weights, counts), "skip"
    sums, tally = moments.of_metrics([lists], undefined, [kind._transform])[0]
    num_undefined = jnp.sum((weights > 0) & ~defined, dtype=jnp.int32)
    return kind(sums, jnp.stack([tally[0], num_undefined]))


@partial(jax.jit, static_argnums=(1, 2))
def geometric_mean_of(
    lists: ListArrays, floor: float, undefined: Undefined
) -> GeometricMean:
    """Computes the state of `PerList.geometric_mean`."""
    log = partial(GeometricMean._transform, floor=floor)
    return GeometricMean(*moments.of_metrics([lists], undefined, [log])[0])


@partial(jax.jit, static_argnums=(2, 3))
def means_by_group(
    lists: ListArrays, groups: jax.Array, num_groups: int, undefined: Undefined
) -> Mean:
    """Computes the stacked states of `PerList.by`."""
    # JAX cannot scatter into sharded arrays, so gather. That is cheap, because there
    # are few values compared with items.
    lists, groups = shards.gathered((lists, groups))
    terms, flags = moments.terms_of(lists, undefined, moments.as_passed)
    flags = tuple(moments.flags_of_lists(lists, flags))
    sums, counts = sums_by_group(terms, flags, groups, num_groups)
    shape = moments.cutoff_shape_of(lists)
    sums = jax.tree.map(lambda leaf: leaf.reshape(*leaf.shape[:2], *shape), sums)
    return Mean(sums, counts)


@jax.jit
def _compute(state: Mean) -> jax.Array:
    return state._moments().mean()


@jax.jit
def _sample_size(state: Mean) -> jax.Array:
    return state._moments().sample_size(state.lists, state.sums.high.dtype)[0]


# A dict from the names of means in the facts about metrics to their kinds.
STATES: dict[str, type[Mean]] = {"lists": Mean, "geometric": GeometricMean}


def kind_of_mean(name: str) -> type[Mean]:
    """Returns the kind of state that aggregates a metric of this name.

    >>> kind_of_mean("gm_map(rel=2)").__name__, kind_of_mean("mine@5").__name__
    ('GeometricMean', 'Mean')
    """
    return STATES[facts.facts_of(name).mean]


@jax.jit
def _std_error(state: Mean) -> jax.Array:
    return state._moments().std_error(state.lists, state.sums.high.dtype)


@partial(jax.jit, static_argnums=1)
def _interval(
    state: Mean, method: IntervalMethod, z: Number, coefficients: ArrayLike | None
) -> tuple[jax.Array, jax.Array, jax.Array]:
    dtype = state.sums.high.dtype

    def t_quantile(freedom: jax.Array) -> jax.Array:
        arrays = (jnp.asarray(number, dtype) for number in (z, coefficients))
        return intervals.t_quantile(freedom, *arrays)

    return state._moments().interval(state.lists, dtype, method, z, t_quantile)


@jax.jit
def _geometric(state: GeometricMean) -> jax.Array:
    has_lists = state._moments().w.round() > 0
    return jnp.where(has_lists, jnp.exp(Mean.compute(state)), 0)


@jax.jit
def _geometric_error(state: GeometricMean) -> jax.Array:
    error = Mean.std_error(state)
    known = ~jnp.isinf(error)  # the mean of no lists is 0, and 0·inf is NaN
    return jnp.where(known, _geometric(state) * jnp.where(known, error, 0), jnp.inf)
