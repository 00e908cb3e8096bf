"""Arrays of tokens as padded `Tokens`, for the tests of late interaction."""

import numpy as np

import jax_rank_metrics as jrm


def padded(arrays, width=None, wrap=np.asarray, fill=np.nan):
    """Fills arrays `[tokens, dims]` up to a width, with a number that is not to be read."""
    width = width or max(map(len, arrays))
    shape = len(arrays), width, arrays[0].shape[1]
    vectors, mask = np.full(shape, fill, arrays[0].dtype), np.zeros(shape[:2], bool)
    for index, array in enumerate(arrays):
        vectors[index, : len(array)] = array
        mask[index, : len(array)] = True
    return jrm.Tokens(wrap(vectors), wrap(mask))


def by_loops(queries, items):
    """The scores of `maxsim` in float64, pair by pair; items without one are last."""
    scores = np.full((len(queries), len(items)), -np.inf)
    for row, query in zip(scores, queries, strict=True):
        for column, item in enumerate(items):
            if len(item):
                row[column] = (query.astype(float) @ item.T).max(1).sum()
    return scores
