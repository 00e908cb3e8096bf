"""Weights of lists on the host, by position or by the ids of lists."""

from typing import Any

import numpy as np

from jax_rank_metrics._inputs.arrays import numpy_array
from jax_rank_metrics._inputs.labelled import by_ids


def weights_of_lists(value: Any, ids: Any, units: str) -> np.ndarray | None:
    """Returns the weight of each list, `[lists]` float32, as the ids order them.

    Args:
        value: The argument `list_weights`: numbers in the order of lists, or a Series, a
            dict or a frame by id; None is passed on.
        ids: The id of each list.
        units: What the lists are, in the plural.

    Raises:
        ValueError: if there is not one weight for each list, at least 0 and finite.
    """
    if value is None:
        return None
    weights = numpy_array("list_weights", by_ids("list_weights", value, ids, units))
    if weights.shape != (len(ids),) or weights.dtype.kind not in "biuf":
        raise ValueError(
            f"list_weights holds {weights.dtype} of shape {weights.shape}; pass one number "
            f"for each of {len(ids)} {units}"
        )
    is_wrong = ~(weights.astype(np.float32) >= 0) | ~np.isfinite(weights)
    if is_wrong.any():
        raise ValueError(
            f"list_weights is {weights[is_wrong][0]} at {np.argmax(is_wrong)}; pass finite "
            "numbers of at least 0"
        )
    return weights.astype(np.float32)
