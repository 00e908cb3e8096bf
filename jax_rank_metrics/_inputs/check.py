"""Checks of values, which compiled functions cannot make."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._gains import exponential_gain, gains_of
from jax_rank_metrics._types import Gain, Labels, Mask, Scores, Weights


def check(
    labels: Labels,
    scores: Scores,
    mask: Mask | None = None,
    weights: Weights | None = None,
    *,
    gain_fn: Gain = exponential_gain,
) -> None:
    """Raises where values are legal but probably not meant; call it outside `jax.jit`.

    Args:
        labels: As for `rank`, as are the next three.
        scores: NaN among items that exist is reported.
        mask: As for `rank`.
        weights: Negative or NaN ones are reported, of lists and of items that exist.
        gain_fn: The gain whose values must be finite and not negative.

    Raises:
        ValueError: naming the argument, the first place, and the value there.
        TypeError: if an argument is traced, or as for `rank`.

    >>> check(jnp.array([1, 0]), jnp.array([0.5, jnp.nan]))
    Traceback (most recent call last):
        ...
    ValueError: scores is nan at (1,); pass numbers, or mask the item
    """
    labels, mask = _inputs.item_arrays("labels", labels, mask)
    scores = _inputs.real("scores", scores)
    _inputs.same_shape("scores", scores, "labels", labels.shape)
    per_item, per_list = _inputs.weights_for(labels, weights)
    weights = per_list if per_item is None else per_item
    for name, value in (("labels", labels), ("scores", scores), ("weights", weights)):
        try:
            np.asarray(value)
        except jax.errors.TracerArrayConversionError as error:
            raise TypeError(f"{name} is traced; call check outside jax.jit") from error
    exists = jnp.ones(labels.shape, bool) if mask is None else mask
    _report("labels", labels, exists & (labels != labels), _NUMBERS)
    exists = exists & (labels.astype(jnp.float32) >= 0)
    if weights is not None:
        read = jnp.ones(weights.shape, bool) if per_item is None else exists
        fix = "pass weights of at least 0"
        _report("weights", weights, read & ~(weights >= 0), fix)
    _report("scores", scores, exists & (scores != scores), _NUMBERS)
    known = jnp.where(exists, labels, jnp.zeros_like(labels))
    gains = gains_of(gain_fn, known.astype(_inputs.float_dtype(labels)))
    fix = "scale the labels down, or pass another gain_fn"
    _report("the gain of labels", gains, exists & ~jnp.isfinite(gains), fix)
    fix = "pass a gain_fn that is not negative"
    _report("the gain of labels", gains, exists & (gains < 0), fix)


_NUMBERS = "pass numbers, or mask the item"


def _report(name: str, values: jax.Array, bad: jax.Array, fix: str) -> None:
    if not jnp.any(bad):
        return
    place: Any = jnp.unravel_index(jnp.argmax(bad), bad.shape)
    place = tuple(int(i) for i in place)
    raise ValueError(f"{name} is {values[place]} at {place}; {fix}")
