"""The programs that compute states, and ratios, from the values of lists."""

from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs, _shards
from jax_rank_metrics._arithmetic import ratio, widen
from jax_rank_metrics._states import moments
from jax_rank_metrics._states.geometric import GeometricMean
from jax_rank_metrics._states.group_sums import sums_by_group
from jax_rank_metrics._states.histogram import Histogram, histogram_of
from jax_rank_metrics._states.list_arrays import ListArrays, columns_of, list_shape_of
from jax_rank_metrics._states.mean import Mean, states_of
from jax_rank_metrics._states.moments import ValuesOfLists
from jax_rank_metrics._states.weights import check_same_weights
from jax_rank_metrics._types import Undefined


def filled_values(
    lists: ListArrays, undefined: Undefined | None = None
) -> ValuesOfLists:
    """Returns the values and weights that enter a mean, with undefined values filled in."""
    undefined = lists.undefined if undefined is None else undefined
    values, weights, defined = lists.values, lists.weights, lists.defined
    if undefined == "one":
        values = jnp.where(widen(defined, values), values, jnp.ones_like(values))
    if not lists.cutoff_weights:
        weights, defined = weights[..., None], defined[..., None]
    return ValuesOfLists(
        values,
        weights,
        defined,
        defined if undefined == "skip" else None,
        lists.has_shares,
    )


@partial(jax.jit, static_argnums=(1, 2))
def means_of(
    lists: tuple[ListArrays, ...],
    undefined: Undefined | None,
    kinds: tuple[type[Mean], ...],
) -> list[Mean]:
    """Computes the states of several metrics of the same lists in one reduction.

    Args:
        lists: The values of each metric.
        undefined: See `PerList.mean`; for all metrics.
        kinds: The kind of state for each metric.
    """
    return states_of([filled_values(metric, undefined) for metric in lists], kinds)


@partial(jax.jit, static_argnums=(1, 2))
def geometric_mean_of(
    lists: ListArrays, floor: float, undefined: Undefined
) -> GeometricMean:
    """Computes the state of `PerList.geometric_mean`."""
    filled = filled_values(lists, undefined)
    logs = filled._replace(values=GeometricMean._transform(filled.values, floor))
    return GeometricMean(*moments.of_metrics([logs])[0])


@partial(jax.jit, static_argnums=(1, 2))
def distribution_of(
    lists: ListArrays, edges: tuple[float, ...], undefined: Undefined
) -> Histogram:
    """Computes the state of `PerList.quantiles`."""
    return histogram_of(filled_values(lists, undefined), edges)


@partial(jax.jit, static_argnums=(2, 3))
def means_by_group(
    lists: ListArrays, groups: jax.Array, num_groups: int, undefined: Undefined
) -> Mean:
    """Computes the stacked states of `PerList.by`."""
    # JAX does not scatter parts; values are few, beside the items that they come from.
    lists, groups = _shards.gathered((lists, groups))
    shape = lists.values.shape[groups.ndim :]
    filled = filled_values(lists, undefined)
    terms, flags = moments.terms_of_metrics([filled])
    flags = tuple(filled.flags_of_lists(flags))
    sums, counts = sums_by_group(terms, flags, groups, num_groups)
    return Mean(jax.tree.map(lambda x: x.reshape(*x.shape[:2], *shape), sums), counts)


def check_denominator(a: ListArrays, b: ListArrays) -> None:
    """Raises ValueError unless b may divide a; see `PerList.over`."""
    shapes = [jnp.shape(x.values) for x in (a, b)]
    if a.has_cutoffs and b.has_cutoffs and shapes[0][-1] != shapes[1][-1]:
        raise ValueError(
            f"the numerator has values of shape {shapes[0]} and the denominator of "
            f"{shapes[1]}; pass values of the same cutoffs"
        )
    check_same_weights(a, b, ("the numerator", "the denominator"))
    if not all(map(_inputs.is_readable, (b.values, b.weights, b.defined))):
        return
    values, _, defined = columns_of(b)
    is_wrong = ~(values >= 0) & defined  # not "< 0", which NaN is not
    if is_wrong.any():
        index, column = _inputs.first_index(is_wrong)
        raise ValueError(
            f"the denominator is {values[index, column]:g} in list {index}; pass values of "
            "at least 0"
        )


@jax.jit
def ratios(a: ListArrays, b: ListArrays) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Computes the values, weights and `defined` of `PerList.over`.

    Weights and `defined` have cutoffs where b or the weights of a have them.
    """
    num_axes = len(list_shape_of(a))
    a, b = _shards.align_with_sharded((a, b), num_axes)

    def with_cutoffs(x: jax.Array) -> jax.Array:
        return x[..., None] if x.ndim == num_axes else x

    dtype = _inputs.float_dtype(a.values, b.values, a.weights)
    numerator, denominator = (
        jnp.where(widen(x.defined, x.values), x.values, 0).astype(dtype) for x in (a, b)
    )
    weights, is_counted = a.weights.astype(dtype), b.defined & (b.weights > 0)
    if a.has_cutoffs or b.has_cutoffs:
        numerator = with_cutoffs(numerator)
        if b.has_cutoffs or a.cutoff_weights:
            denominator, weights, is_counted = map(
                with_cutoffs, (denominator, weights, is_counted)
            )
    values = ratio(numerator, widen(denominator, numerator))
    # Of a list whose divisor is unknown, so are the value and what it adds to the sums.
    is_unknown = is_counted & jnp.isnan(denominator)
    values = jnp.where(widen(is_unknown, values), jnp.nan, values)
    denominator = jnp.where(is_unknown, jnp.ones_like(denominator), denominator)
    defined = is_counted & (denominator > 0)
    weights = jnp.where(defined, weights * denominator, 0)
    if weights.ndim > num_axes:
        weights, defined = (
            jnp.broadcast_to(x, values.shape) for x in (weights, defined)
        )
    return jnp.where(widen(defined, values), values, 0), weights, defined
