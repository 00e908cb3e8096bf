"""The mean of a state, its standard error and its intervals, from the sums it holds.

In shapes, `*k` is `len(k)` for a tuple of cutoffs and nothing for one cutoff; stacked axes
come before it.
"""

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from jax_rank_metrics._arithmetic import ratio, widen
from jax_rank_metrics._states import intervals
from jax_rank_metrics._states.double_floats import FloatPair
from jax_rank_metrics._states.moments import Moments
from jax_rank_metrics._types import IntervalMethod, Number

# With fewer degrees of freedom, float pairs cannot tell a sample from a single list.
MIN_FREEDOM = 1e-6


def mean(sums: Moments) -> jax.Array:
    """Returns the weighted mean, `[*k]`.

    It is 0 where nothing counted, and inf where Σ w is beyond the range of floats.
    """
    weight = sums.w.round()
    quotient = ratio(sums.wv.round(), weight)
    return jnp.where(jnp.isfinite(weight), quotient, jnp.inf)


def sample_size(sums: Moments, lists: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Effective sample size n = (Σ w)²/Σ w² and its degrees of freedom n − 1, `[*k]`.

    Both are 0 where nothing counted, or where the sums are beyond the range of floats.
    The difference n − 1 is taken in pairs, since it may be far smaller than n.
    """
    weight, squares = sums.w.round(), sums.w2.round()
    known = (squares > _underflow_bound(lists, weight)) & jnp.isfinite(weight + squares)
    w, w2 = jax.tree.map(lambda x: jnp.where(known, x, 0), (sums.w, sums.w2))
    # The quotient Σ w/Σ w² as a float, and the error of its rounding, for which the
    # precision of a float will do.
    quotient = ratio(w.high, w2.high)
    residual = ratio((w + w2.times(-quotient)).round(), w2.high)
    size = w.times(quotient) + FloatPair.of(w.high * residual)
    freedom = (size + FloatPair.of(-jnp.ones_like(quotient))).round()
    return size.round(), jnp.maximum(freedom, 0)


def std_error(sums: Moments, lists: jax.Array) -> jax.Array:
    """Standard error of the mean, `[*k]`, NaN where that is; see `Mean.std_error`."""
    centre = mean(sums)
    weight, w2 = sums.w.round(), sums.w2.round()
    # Σ w²·(v − mean)² in pairs, since nearly all of it may cancel. Then a correction for
    # the rounding of the mean, which lost Σ w·(v − mean)/Σ w.
    first = sums.w2v + sums.w2.times(-centre)
    squares = (sums.w2v2 + (sums.w2v + first).times(-centre)).round()
    rounding = ratio((sums.wv + sums.w.times(-centre)).round(), weight)
    squares = squares - rounding * (2 * first.round() - rounding * w2)
    _, freedom = sample_size(sums, lists)
    bessel = 1 + ratio(jnp.ones_like(freedom), freedom)  # n/(n − 1)
    error = ratio(jnp.sqrt(jnp.maximum(bessel * squares, 0)), weight)
    known = (sums.w2v2.high > _underflow_bound(lists, centre)) | (sums.wv.high == 0)
    known = known & (_broadcast_lists(lists, centre) > 1) & jnp.isfinite(squares)
    error = jnp.where(known & (freedom > MIN_FREEDOM), error, jnp.inf)
    return jnp.where(jnp.isnan(centre), jnp.nan, error)


def interval(
    sums: Moments,
    lists: jax.Array,
    method: IntervalMethod,
    z: Number,
    coefficients: ArrayLike | None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Computes an interval for the mean, and whether the method suits the values.

    Args:
        sums: The sums of a mean.
        lists: Number of lists.
        method: See `Mean.confidence_interval`.
        z: The `normal_quantile` of the level.
        coefficients: The `t_coefficients` of the level; None for methods that do not use
            Student's t.

    Returns:
        low, high: Its bounds, each `[*k]`.
        valid: `[*k]` bool, False where the method is "wilson" and a value is neither 0
            nor 1.
    """
    centre, (size, freedom) = mean(sums), sample_size(sums, lists)
    normal = jnp.asarray(z, centre.dtype)
    is_unknown = jnp.isnan(centre)
    is_proportion = sums.fractional.round() == 0
    score = intervals.wilson(centre, size, normal)
    if method == "wilson":
        return *score, is_proportion | is_unknown
    if coefficients is None:
        quantile = jnp.broadcast_to(normal, centre.shape)
    else:
        coefficients = jnp.asarray(coefficients, centre.dtype)
        quantile = intervals.t_quantile(freedom, normal, coefficients)
    low, high = intervals.symmetric(centre, std_error(sums, lists), quantile)
    if method == "auto":
        # Without lists nothing is known, not even that values are between 0 and 1.
        use_score = is_proportion & (size > 0)
        low = jnp.where(use_score, score[0], low)
        high = jnp.where(use_score, score[1], high)
    low, high = (jnp.where(is_unknown, jnp.nan, x) for x in (low, high))
    return low, high, jnp.ones_like(is_proportion)


def _broadcast_lists(lists: jax.Array, like: jax.Array) -> jax.Array:
    """Broadcasts the number of lists, `[]` int32, to the shape and dtype of `like`."""
    return jnp.broadcast_to(widen(lists.astype(like.dtype), like), like.shape)


def _underflow_bound(lists: jax.Array, like: jax.Array) -> jax.Array:
    """Returns the sum of squares above which underflow cannot matter, as floats `[*k]`.

    Squares below the smallest normal float `tiny` may be flushed to 0. Over n lists that
    loses at most n·tiny, which is a millionth (2⁻²⁰) of the bound n·tiny·2²⁰.
    """
    return _broadcast_lists(lists, like) * (jnp.finfo(like.dtype).tiny * 2.0**20)
