"""The mean of a state, its standard error and its intervals, from the sums it holds.

In shapes, `*k` is `len(k)` for a tuple of cutoffs and nothing for one cutoff; stacked axes
come before it. Weights are the same for all cutoffs, and their sums repeat.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from jax_rank_metrics._arithmetic import ratio, widen
from jax_rank_metrics._states import intervals
from jax_rank_metrics._states.double_floats import FloatPair
from jax_rank_metrics._states.moments import Moments
from jax_rank_metrics._types import IntervalMethod, Number

# A sample of this much more than one list has no spread that float pairs could tell.
_LEAST_FREEDOM = 1e-6


def mean(sums: Moments) -> jax.Array:
    """Weighted mean, `[*k]`; 0 where nothing counted, inf where Σ w is too large."""
    weight = sums.w.round()
    quotient = ratio(sums.wv.round(), weight)
    return jnp.where(jnp.isfinite(weight), quotient, jnp.inf)


def sample_size(sums: Moments, lists: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Effective sample size n = (Σ w)²/Σ w² and its degrees of freedom n − 1, `[*k]`.

    Both are 0 where nothing counted, or where the sums are beyond the range of floats.
    The difference n − 1 is taken in pairs, since it may be far smaller than n.
    """
    weight, squares = sums.w.round(), sums.w2.round()
    known = (squares > _least_square(lists, weight)) & jnp.isfinite(weight + squares)
    w, w2 = jax.tree.map(lambda x: jnp.where(known, x, 0), (sums.w, sums.w2))
    # The quotient Σ w/Σ w² as a float, and the error of its rounding, for which the
    # precision of a float will do.
    quotient = ratio(w.high, w2.high)
    residual = ratio((w + w2.times(-quotient)).round(), w2.high)
    size = w.times(quotient) + FloatPair.of(w.high * residual)
    freedom = (size + FloatPair.of(-jnp.ones_like(quotient))).round()
    return size.round(), jnp.maximum(freedom, 0)


def std_error(sums: Moments, lists: jax.Array) -> jax.Array:
    """Standard error of the mean, `[*k]`; see `Mean.std_error`."""
    centre = mean(sums)
    weight, w2 = sums.w.round(), sums.w2.round()
    # Σ w²·(v − mean)² in pairs, since nearly all of it may cancel. Then a correction for
    # the rounding of the mean, which was off by Σ w·(v − mean)/Σ w.
    first = sums.w2v + sums.w2.times(-centre)
    squares = (sums.w2v2 + (sums.w2v + first).times(-centre)).round()
    off = ratio((sums.wv + sums.w.times(-centre)).round(), weight)
    squares = squares - off * (2 * first.round() - off * w2)
    _, freedom = sample_size(sums, lists)
    bessel = 1 + ratio(jnp.ones_like(freedom), freedom)  # n/(n − 1)
    error = ratio(jnp.sqrt(jnp.maximum(bessel * squares, 0)), weight)
    known = (sums.w2v2.high > _least_square(lists, centre)) | (sums.wv.high == 0)
    known = known & (_lists_like(lists, centre) > 1) & jnp.isfinite(squares)
    return jnp.where(known & (freedom > _LEAST_FREEDOM), error, jnp.inf)


def interval(
    sums: Moments,
    lists: jax.Array,
    method: IntervalMethod,
    z: Number,
    coefficients: ArrayLike | None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Bounds of an interval for the mean, and whether the method suits the values.

    Args:
        sums: The sums of a mean.
        lists: Number of lists.
        method: See `Mean.confidence_interval`.
        z: The `normal_quantile` of the level.
        coefficients: The `t_coefficients` of the level; None for the methods that do not
            read them.

    Returns:
        low, high and valid, each `[*k]`.
    """
    centre, (size, freedom) = mean(sums), sample_size(sums, lists)
    normal = jnp.asarray(z, centre.dtype)
    all_hits = sums.fractional.round() == 0
    score = intervals.wilson(centre, size, normal)
    if method == "wilson":
        return *score, all_hits
    if coefficients is None:
        quantile = jnp.broadcast_to(normal, centre.shape)
    else:
        coefficients = jnp.asarray(coefficients, centre.dtype)
        quantile = intervals.t_quantile(freedom, normal, coefficients)
    low, high = intervals.symmetric(centre, std_error(sums, lists), quantile)
    if method == "auto":
        # Without lists nothing is known, not even that values are between 0 and 1.
        all_hits = all_hits & (size > 0)
        low = jnp.where(all_hits, score[0], low)
        high = jnp.where(all_hits, score[1], high)
    return low, high, jnp.ones_like(all_hits)


def _lists_like(lists: jax.Array, like: jax.Array) -> jax.Array:
    """The number of lists as floats, repeated for each cutoff of `like`."""
    return jnp.broadcast_to(widen(lists.astype(like.dtype), like), like.shape)


def _least_square(lists: jax.Array, like: jax.Array) -> Any:
    """The least sum of squares of which none can have been flushed to 0."""
    return _lists_like(lists, like) * (jnp.finfo(like.dtype).tiny * 2.0**20)
