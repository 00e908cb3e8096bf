"""Makes values of lists from the arrays that tests write down."""

import jax
import numpy as np

import jax_rank_metrics as jrm


def lists_of(values, weights=None, defined=None):
    """Makes a `PerList` from plain or traced arrays.

    Its arrays are of NumPy unless they are traced, so that nothing is compiled.
    """

    def cast(x, dtype):
        return x.astype(dtype) if isinstance(x, jax.Array) else np.asarray(x, dtype)

    values = cast(values, np.float32)
    size = values.shape[:1]
    weights = np.ones(size) if weights is None else weights
    defined = np.ones(size, bool) if defined is None else defined
    return jrm.PerList(values, cast(weights, np.float32), cast(defined, bool))
