"""Means of values that are on the host already, computed by NumPy."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._states.double_floats import FloatPair
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.moments import HIT_SLACK
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Undefined


def mean_on_host(lists: PerList, undefined: Undefined, kind: type[Mean]) -> Mean:
    """Returns the state that `kind.of` would compute, and compiles nothing.

    A program for it would be compiled again for every number of lists.

    Args:
        lists: Values of lists `[lists]` or `[lists, k]`, as NumPy arrays.
        undefined: See `PerList.mean`.
        kind: `Mean`, or a class that is derived from it.
    """
    dtype = jax.dtypes.canonicalize_dtype(float)
    values, weights = (np.asarray(x, np.float64) for x in (lists.values, lists.weights))
    defined, transform = np.asarray(lists.defined), cast(Any, kind._transform)
    num_trailing = values.ndim - weights.ndim

    def wide(per_list: np.ndarray) -> np.ndarray:
        return per_list.reshape(per_list.shape + (1,) * num_trailing)

    if undefined == "one":
        values = np.where(wide(defined), values, 1)
    has_weight = entered = weights > 0
    if undefined == "skip":
        entered = entered & defined
    values = np.where(wide(entered), transform(values), 0)
    w = np.where(entered, np.minimum(weights, jnp.finfo(dtype).max), 0)
    w = np.broadcast_to(wide(w), values.shape)
    is_hit_or_miss = np.minimum(abs(values), abs(values - 1)) <= HIT_SLACK
    wv = w * values
    # In the order of `Moments`.
    terms = w, w * w, wv, w * wv, wv * wv, np.where(is_hit_or_miss, 0, w)
    sums = np.stack([np.sum(term, axis=0) for term in terms])
    with np.errstate(over="ignore", invalid="ignore"):
        high = sums.astype(dtype)
        low = np.where(np.isfinite(high), sums - high, 0).astype(dtype)
    counts = [np.sum(entered), np.sum(has_weight & ~defined)]
    return kind(
        FloatPair(jnp.asarray(high), jnp.asarray(low)), jnp.asarray(counts, np.int32)
    )
