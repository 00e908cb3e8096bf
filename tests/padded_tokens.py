"""Arrays of tokens as padded `Tokens`, for the tests of late interaction."""

import numpy as np

import jax_rank_metrics as jrm


def padded(arrays, width=None, wrap=np.asarray):
    """Fills arrays `[tokens, dims]` up to a width, with NaN where there is no token."""
    width = width or max(map(len, arrays))
    shape = len(arrays), width, arrays[0].shape[1]
    vectors, mask = np.full(shape, np.nan, arrays[0].dtype), np.zeros(shape[:2], bool)
    for index, array in enumerate(arrays):
        vectors[index, : len(array)] = array
        mask[index, : len(array)] = True
    return jrm.Tokens(wrap(vectors), wrap(mask))
