"""Whether lists have the same weights, up to rounding."""

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._states.list_arrays import ListArrays, list_shape_of

# Relative error below which two numbers are equal: two programs may add the same single
# floats in another order.
ROUNDING = 1e-6


def check_same_weights(a: ListArrays, b: ListArrays, names: tuple[str, str]) -> None:
    """Raises ValueError where the lists of a and b differ in shape or in weights.

    Weights that are traced, or lie on other hosts, are not compared. Weights of lists are
    compared with those of each cutoff.
    """
    if list_shape_of(a) != list_shape_of(b):
        raise ValueError(
            f"{names[0]} has lists of shape {list_shape_of(a)} and {names[1]} of "
            f"{list_shape_of(b)}; pass values of the same lists"
        )
    if not (_inputs.is_readable(a.weights) and _inputs.is_readable(b.weights)):
        return
    weights_a, weights_b = np.asarray(a.weights), np.asarray(b.weights)
    if a.cutoff_weights != b.cutoff_weights:
        weights_a, weights_b = (
            weights if x.cutoff_weights else weights[..., None]
            for x, weights in ((a, weights_a), (b, weights_b))
        )
    weights_a, weights_b = np.broadcast_arrays(weights_a, weights_b)
    are_different = differ(weights_a, weights_b)
    if are_different.any():
        index = _inputs.first_index(are_different)
        list_index = index[: len(list_shape_of(a))]
        list_name = list_index[0] if len(list_index) == 1 else list_index
        raise ValueError(
            f"list {list_name} has weight {weights_a[index]:g} in {names[0]} and "
            f"{weights_b[index]:g} in {names[1]}; "
            "pass the same lists with the same weights"
        )


def differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether weights differ by more than rounding; all that are not above 0 are equal."""
    a, b = (np.where(x > 0, x, 0) for x in (a, b))
    return np.minimum(a, b) < np.maximum(a, b) * (1 - ROUNDING)
