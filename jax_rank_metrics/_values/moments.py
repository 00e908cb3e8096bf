"""The sums of a `Mean`, and its mean, standard error and interval."""

import functools
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jax_rank_metrics._ground import arithmetic, types
from jax_rank_metrics._values import intervals, list_arrays
from jax_rank_metrics._values.double_floats import FloatPair, rounded, sums_and_counts

# A value within this distance of 1 is a hit, because a number divided by itself may be
# rounded; a miss is exactly 0.
HIT_SLACK = 1e-6

# With fewer degrees of freedom, float pairs cannot distinguish several lists from one.
MIN_FREEDOM = 1e-6

# A `FloatPair` on devices, or a float64 NumPy array on the host.
Sum: TypeAlias = Any

# The function that a kind of mean applies to the values of a metric before it sums them.
Transform = Callable[[jax.Array], jax.Array]


class Moments(NamedTuple):
    """The sums of weights w and values v in a `Mean`, and the results computed from them.

    On devices, sums are float pairs. On the host, they are float64 NumPy arrays, so
    that nothing is compiled; methods therefore take `dtype`, the dtype of the state's
    floats. The number of lists is `[]`, or has only stacked axes. Results have the axes
    `*k`: `len(k)` for a tuple of cutoffs and nothing for one cutoff; stacked axes come
    before it.
    """

    w: Sum  # Σ w
    w2: Sum  # Σ w²
    wv: Sum  # Σ w·v
    w2v: Sum  # Σ w²·v
    w2v2: Sum  # Σ w²·v²
    fractional: Sum  # Σ w of the values that are neither hits nor misses

    @classmethod
    def terms(
        cls,
        v: Any,
        w: Any,
        are_shares: Any,
        is_unit: bool = False,
        of_weights: "Moments | None" = None,
    ) -> "Moments":
        """Returns what values and weights add to the sums, in the shape of values.

        On devices, products are pairs, as the sums are, because most of Σ w²·v² may
        cancel in a standard error.

        Args:
            v: A JAX array, or a float64 NumPy array; 0 for lists that are left out.
            w: Weights, 0 for lists that are left out.
            are_shares: Bool, True if values must lie in [0, 1]. If False, all values
                count as fractional.
            is_unit: True if all weights are known to be 0 or 1.
            of_weights: The terms of other values with the same weights, if they have
                been computed.
        """
        xp: Any = jnp
        as_term: Any = FloatPair.of
        product: Any = FloatPair.product
        if isinstance(v, np.ndarray):
            xp, as_term, product = np, np.asarray, np.multiply
        # NaN counts as neither a hit nor a miss.
        is_hit_or_miss = ((v == 0) | (xp.abs(v - 1) <= HIT_SLACK)) & are_shares
        wv: Any = v if is_unit else w * v
        wv_term = as_term(wv)
        weight = as_term(w) if of_weights is None else of_weights.w
        if is_unit:
            w2, w2v = weight, wv_term
        else:
            w2 = product(w, w) if of_weights is None else of_weights.w2
            w2v = product(w, wv)
        return cls(
            w=weight,
            w2=w2,
            wv=wv_term,
            w2v=w2v,
            w2v2=product(wv, wv),
            fractional=as_term(xp.where(is_hit_or_miss, 0, w)),
        )

    @property
    def _xp(self) -> ModuleType:
        return np if isinstance(self.w, np.ndarray) else jnp

    def mean(self) -> Any:
        """Returns the weighted mean, `[*k]`.

        The mean is 0 if no list counted, and inf if Σ w is beyond the range of floats.
        """
        weight = rounded(self.w)
        quotient = arithmetic.ratio(rounded(self.wv), weight, self._xp)
        return self._xp.where(self._xp.isfinite(weight), quotient, np.inf)

    def sample_size(self, lists: Any, dtype: DTypeLike) -> tuple[Any, Any]:
        """Returns the effective sample size n = (Σ w)²/Σ w² and n − 1, `[*k]` each.

        n − 1 is the number of degrees of freedom. Both are 0 if no list counted, or if
        the sums are beyond the range of floats. n − 1 is computed in pairs, because it
        may be far smaller than n.
        """
        xp, weight, squares = self._xp, rounded(self.w), rounded(self.w2)
        known = squares > _underflow_bound(lists, weight, dtype)
        known = known & xp.isfinite(weight + squares)
        w, w2 = jax.tree.map(lambda leaf: xp.where(known, leaf, 0), (self.w, self.w2))
        # The quotient Σ w/Σ w² as a float, and its rounding error, for which a float
        # suffices.
        quotient = arithmetic.ratio(rounded(w), rounded(w2), xp)
        residual = arithmetic.ratio(rounded(w + w2 * -quotient), rounded(w2), xp)
        size = w * quotient + rounded(w) * residual
        return rounded(size), xp.maximum(rounded(size + -xp.ones_like(quotient)), 0)

    def std_error(self, lists: Any, dtype: DTypeLike) -> Any:
        """Returns the standard error of the mean, `[*k]`; NaN if the mean is NaN."""
        xp, centre = self._xp, self.mean()
        weight, w2, w2v2 = map(rounded, (self.w, self.w2, self.w2v2))
        # Compute Σ w²·(v − mean)² in pairs, because nearly all of it may cancel. Then
        # correct for the rounding of the mean, which lost Σ w·(v − mean)/Σ w.
        first = self.w2v + self.w2 * -centre
        squares = rounded(self.w2v2 + (self.w2v + first) * -centre)
        rounding = arithmetic.ratio(rounded(self.wv + self.w * -centre), weight, xp)
        squares = squares - rounding * (2 * rounded(first) - rounding * w2)
        is_exact = w2v2 > _underflow_bound(lists, centre, dtype)
        known = (is_exact | (rounded(self.wv) == 0)) & xp.isfinite(squares)
        known = known & (arithmetic.widen(lists, centre) > 1)
        # Make the error of equal values exactly 0, although their sums are rounded.
        squares = xp.where(squares > jnp.finfo(dtype).eps ** 2 * w2v2, squares, 0)
        _, freedom = self.sample_size(lists, dtype)
        bessel = 1 + arithmetic.ratio(xp.ones_like(freedom), freedom, xp)  # n/(n − 1)
        error = arithmetic.ratio(xp.sqrt(bessel * squares), weight, xp)
        error = xp.where(known & (freedom > MIN_FREEDOM), error, np.inf)
        return xp.where(xp.isnan(centre), np.nan, error)

    def interval(
        self,
        lists: Any,
        dtype: DTypeLike,
        method: types.IntervalMethod,
        z: types.Number,
        t_quantile: Callable[[Any], Any],
    ) -> tuple[Any, Any, Any]:
        """Returns an interval for the mean, and True if the method suits the values.

        Args:
            lists: Number of lists.
            dtype: The dtype of the floats of the state.
            method: See `Mean.confidence_interval`.
            z: The `normal_quantile` of the level.
            t_quantile: A function from degrees of freedom to quantiles of Student's t.

        Returns:
            low, high: The bounds of the interval, each `[*k]`.
            valid: `[*k]` bool, False if the method is "wilson", some value counted as
                fractional, and the mean is not NaN.
        """
        xp, centre = self._xp, self.mean()
        size, freedom = self.sample_size(lists, dtype)
        normal = xp.full_like(centre, z)
        is_unknown = xp.isnan(centre)
        is_proportion = rounded(self.fractional) == 0
        score = intervals.wilson(centre, size, normal, xp)
        if method == "wilson":
            return *score, is_proportion | is_unknown
        quantile = normal if method == "normal" else t_quantile(freedom)
        error = self.std_error(lists, dtype)
        bounds = intervals.symmetric(centre, error, quantile, xp)
        if method == "auto":
            # Without lists, we do not know that values are between 0 and 1.
            use_score = is_proportion & (size > 0)
            pairs = zip(score, bounds, strict=True)
            bounds = [xp.where(use_score, *pair) for pair in pairs]
        low, high = (xp.where(is_unknown, np.nan, bound) for bound in bounds)
        return low, high, xp.ones_like(is_proportion)


def _underflow_bound(lists: Any, like: Any, dtype: DTypeLike) -> Any:
    """Returns the sum of squares above which underflow cannot matter, `[*k]`.

    Squares below the smallest normal float `tiny` may be flushed to 0. The loss over n
    lists is at most n·tiny, which is a millionth (2⁻²⁰) of the bound n·tiny·2²⁰.
    """
    bound = jnp.finfo(dtype).tiny * 2.0**20
    return arithmetic.widen(lists.astype(like.dtype), like) * bound.astype(like.dtype)


class _Column(NamedTuple):
    """The values of a metric at one cutoff, `[*lists]` each."""

    values: jax.Array  # 0 for lists that stay out
    weights: jax.Array  # 0 for lists that stay out
    entered: jax.Array  # bool, True if a list enters
    is_undefined: jax.Array  # bool, True if a list has a weight, but is undefined


def _columns(
    metric: list_arrays.ListArrays,
    undefined: types.Undefined,
    transform: Transform,
    known: dict[Any, Any],
) -> list[_Column]:
    """Returns the columns of a metric: one for each cutoff, or one without cutoffs.

    Args:
        metric: The values.
        undefined: See `PerList.mean`.
        transform: The function to apply to the values.
        known: A dict with results for the weights of earlier columns; a column with the
            same weight arrays reuses them.
    """
    dtype = jax.dtypes.canonicalize_dtype(float)
    values = list_arrays.filled(metric.values, metric.defined, undefined)
    values = transform(values).astype(dtype)

    def counted(weights: jax.Array, defined: jax.Array) -> tuple[Any, ...]:
        weights = list_arrays.counted_weights(weights.astype(dtype), defined, undefined)
        entered = weights > 0
        weights = jnp.minimum(weights, jnp.finfo(dtype).max)
        return jnp.where(entered, weights, 0), entered

    columns = []
    for index in np.ndindex(cutoff_shape_of(metric)):
        at, arrays = (..., *index), (metric.weights, metric.defined)
        if metric.cutoff_weights:
            arrays = tuple(array[at] for array in arrays)
        # Keep the arrays beside the results, so that no later array can get their
        # Python ids.
        key = id(arrays[0]), id(arrays[1]) if undefined == "skip" else None
        if key not in known:
            known[key] = arrays, counted(*arrays)
        _, (weights, entered) = known[key]
        is_undefined = (arrays[0] > 0) & ~arrays[1]
        column_values = jnp.where(entered, values[at], 0)
        columns.append(_Column(column_values, weights, entered, is_undefined))
    return columns


def columns_of(
    metric: list_arrays.ListArrays, undefined: types.Undefined, transform: Transform
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Returns the values of a metric for summing, with its columns side by side.

    Args:
        metric: The values.
        undefined: See `PerList.mean`.
        transform: The function to apply to the values.

    Returns:
        values: `[*lists, columns]`, with a column for each cutoff, or a single column
            without cutoffs; 0 for lists that are left out.
        weights: `[*lists, columns]`; 0 for lists that are left out.
        flags: `[2, *lists, columns]` bool: True if a list enters; and True if a list has a
            weight, but the metric is undefined for it.
    """
    columns = _columns(metric, undefined, transform, {})
    values, weights, *flags = (
        jnp.stack(arrays, -1) for arrays in zip(*columns, strict=True)
    )
    return values, weights, jnp.stack(flags)


def as_passed(values: jax.Array) -> jax.Array:
    """Returns the values unchanged: the `Transform` of an arithmetic mean."""
    return values


def cutoff_shape_of(metric: list_arrays.ListArrays) -> tuple[int, ...]:
    """Returns `[*k]`, the axes of values after the axes of lists."""
    return metric.values.shape[len(list_arrays.list_shape_of(metric)) :]


def flags_of_lists(metric: list_arrays.ListArrays, flags: jax.Array) -> jax.Array:
    """Returns, for each list, True if a flag holds at any cutoff, `[…, *lists]`."""
    return jnp.any(flags, -1) if metric.cutoff_weights else flags[..., 0]


def counts_of_lists(metric: list_arrays.ListArrays, flags: jax.Array) -> jax.Array:
    """Counts the lists that enter, and the undefined lists, `[2]` int32."""
    list_flags = flags_of_lists(metric, flags)
    return jnp.sum(list_flags, axis=tuple(range(1, list_flags.ndim)), dtype=jnp.int32)


# With up to this many columns, each sum is an operand of its own.
_MAX_APART = 16


def of_metrics(
    metrics: Sequence[list_arrays.ListArrays],
    undefined: types.Undefined,
    transforms: Sequence[Transform],
    unit_weights: jax.Array | None = None,
    of_long_lists: bool = False,
) -> list[tuple[FloatPair, jax.Array]]:
    """Returns the fields of the `Mean` of each metric, for metrics of the same lists.

    A single reduction sums all metrics. Up to `_MAX_APART` columns are not stacked,
    because accelerators would start extra kernels to stack the columns, and to separate
    their sums. More columns are stacked. Columns that are sums over long lists are also
    stacked, because it takes longer to fuse them with a reduction of many operands.

    Args:
        metrics: The values of each metric.
        undefined: See `PerList.mean`; for all metrics.
        transforms: The function to apply to the values of each metric.
        unit_weights: Weights that are known to be 0 or 1; None without such weights.
        of_long_lists: True if values are sums over whole lists.
    """
    axes, known = tuple(range(len(list_arrays.list_shape_of(metrics[0])))), {}
    columns, flags, shares, are_unit = [], [], [], []
    for metric, transform in zip(metrics, transforms, strict=True):
        metric_columns = _columns(metric, undefined, transform, known)
        columns += metric_columns
        shares += [metric.has_shares] * len(metric_columns)
        is_unit = unit_weights is not None and metric.weights is unit_weights
        are_unit += [is_unit] * len(metric_columns)
        metric_flags = list(metric_columns[0][2:])
        if metric.cutoff_weights:  # at any cutoff
            at_cutoffs = zip(*(column[2:] for column in metric_columns), strict=True)
            metric_flags = [
                functools.reduce(jnp.logical_or, flag_at_cutoffs)
                for flag_at_cutoffs in at_cutoffs
            ]
        flags += metric_flags
    if len(columns) <= _MAX_APART and not of_long_lists:
        terms, weight_terms = [], {}
        for column, is_share, is_unit in zip(columns, shares, are_unit, strict=True):
            v, w = column.values, column.weights
            column_terms = Moments.terms(
                v, w, is_share, is_unit, weight_terms.get(id(w))
            )
            weight_terms[id(w)] = column_terms
            terms += column_terms
        totals, counts = sums_and_counts(terms, flags, axes)
        size = len(Moments._fields)
        totals = [totals[i : i + size] for i in range(0, len(totals), size)]
    else:
        values, weights = (
            jnp.stack(arrays, -1)
            for arrays in zip(*(column[:2] for column in columns), strict=True)
        )
        wide = Moments.terms(values, weights, np.broadcast_to(shares, values.shape))
        all_totals, _ = sums_and_counts(wide, [], axes)
        counts = jnp.sum(jnp.stack(flags, -1), axis=axes, dtype=jnp.int32)
        counts = list(counts)
        totals = [
            [jax.tree.map(lambda leaf, i=i: leaf[i], total) for total in all_totals]
            for i in range(len(columns))
        ]
    leaves, totals, counts = [], iter(totals), iter(counts)
    for metric in metrics:
        shape = cutoff_shape_of(metric)
        metric_columns = [next(totals) for _ in range(math.prod(shape))]
        in_order = [*zip(*metric_columns, strict=True)]  # moment after moment
        total = jax.tree.map(
            lambda *leaf: jnp.stack(leaf).reshape(-1, *shape),  # noqa: B023
            *(pair for pairs in in_order for pair in pairs),
        )
        leaves.append((total, jnp.stack([next(counts), next(counts)])))
    return leaves


def terms_of(
    metric: list_arrays.ListArrays, undefined: types.Undefined, transform: Transform
) -> tuple[Moments, jax.Array]:
    """Returns terms for each list; their sums over lists are the moments.

    Returns:
        terms: Each `[*lists, columns]`, with a column for each cutoff.
        flags: `[2, *lists, columns]` bool, as `columns_of` returns them.
    """
    values, weights, flags = columns_of(metric, undefined, transform)
    return Moments.terms(values, weights, metric.has_shares), flags
