"""The state of a geometric mean."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._states import intervals
from jax_rank_metrics._states.double_floats import canonical
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._types import IntervalMethod, Number

FLOOR = 1e-5  # the floor of trec_eval


@pytree()
class GeometricMean(Mean):
    """A weighted geometric mean over lists: exp(Σ weight·log max(value, floor) / Σ weight).

    Lists with low values weigh more here than in a mean: a drop from 0.02 to 0.01 counts
    as much as one from 0.8 to 0.4. Every value below the floor is raised to it, also the 0
    of an undefined list that is not left out, so that a single 0 does not make the whole
    mean 0.

    This is the `Mean` of the logarithms: its sums (`sum_wv`, …) are those of logarithms,
    and it merges, reduces and all_reduces as a `Mean` does. Merge only states that have
    the same floor. `PerList.geometric_mean` makes it, and so does the name "gm_map" in
    `evaluate`; `of` uses the floor of trec_eval, 1e-5.

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
        """The weighted geometric mean, `[*k]`; 0 where nothing counted."""
        return _compute(canonical(self))

    def std_error(self) -> jax.Array:
        """Standard error to first order, `[*k]`; inf for fewer than two lists.

        It is the geometric mean times the standard error of the mean logarithm.
        """
        return _std_error(canonical(self))

    def confidence_interval(
        self, level: Number = 0.95, method: IntervalMethod = "auto"
    ) -> tuple[jax.Array, jax.Array]:
        """Lower and upper bound of an interval, each `[*k]`.

        It is exp of the interval for the mean logarithm, and so above 0 and longer
        upwards; from 0 to inf for fewer than two lists.

        Args:
            level: The probability that the interval should cover, in (0, 1).
            method: "auto" is "t"; or "normal". See `Mean.confidence_interval`.

        Raises:
            TypeError: if the level is not a number, or is known only inside `jax.jit`.
            ValueError: if the level is not in (0, 1), or if the method is none of these.
        """
        if method == "wilson":
            raise ValueError(intervals.NOT_FOR_GEOMETRIC_MEANS)
        method = "t" if method == "auto" else method
        low, high = super().confidence_interval(level, method)
        return jnp.exp(low), jnp.exp(high)


@jax.jit
def _compute(state: GeometricMean) -> jax.Array:
    has_lists = state._moments().w.round() > 0
    return jnp.where(has_lists, jnp.exp(Mean.compute(state)), 0)


@jax.jit
def _std_error(state: GeometricMean) -> jax.Array:
    error = Mean.std_error(state)
    known = ~jnp.isinf(error)  # the mean of no lists is 0, and 0·inf is NaN
    return jnp.where(known, _compute(state) * jnp.where(known, error, 0), jnp.inf)
