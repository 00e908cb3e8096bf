"""Which users go together, and their rows as padded arrays of few widths."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._inputs.pad import next_size

# Users with more ids than these, seen and relevant, may get batches of their own; and
# eight times as many, others. Padding of seen ids up to here costs next to nothing beside
# the scores, so that none is narrower: data for training and for the test share programs.
NARROW, STEP = (128, 16), 8

# Padding that takes about as long as to compile one more program: so many ids, once for
# each block of items.
WORTH = 2**30


class Batch(NamedTuple):
    """Some users, by their rows, and how wide their ids are padded: seen, relevant."""

    rows: np.ndarray
    widths: tuple[int, int]


def batches(lengths: np.ndarray, size: int, blocks: int) -> Iterator[Batch]:
    """All users in batches, the ones with few ids first.

    One user with ten thousand ids would make every batch as wide as theirs. So users of
    about as many ids share batches, in as many widths as are worth a program each.

    Args:
        lengths: `[users, 2]`, how many ids each has seen, and has relevant.
        size: How many users a batch has, but for the last.
        blocks: How often the ids of a batch are read.
    """
    level, limit = np.zeros(len(lengths), int), np.array(NARROW)
    while (wider := np.any(lengths > limit, axis=1)).any():
        level += wider
        limit = limit * STEP
    widths = {}
    for one in np.unique(level)[::-1].tolist():
        upto = level <= one
        most = lengths[upto].max(axis=0).tolist()
        width = (next_size(max(most[0], NARROW[0])), next_size(most[1]))
        wider = min(widths, default=None)
        if wider is not None:
            spared = sum(widths[wider]) - sum(width)
            if np.count_nonzero(upto) * spared * blocks < WORTH:
                level[level == one] = wider
                continue
        widths[one] = width
    order = np.concatenate([np.flatnonzero(level == one) for one in sorted(widths)])
    for start in range(0, order.size, size):
        rows = order[start : start + size]
        yield Batch(rows, widths[int(level[rows[-1]])])


def padded(
    matrix: Any, rows: np.ndarray, size: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a `csr_array` as ids `[size, width]`, padded with −1, and their values."""
    part = matrix[rows]
    there = np.zeros((size, width), bool)
    there[: rows.size] = np.arange(width) < np.diff(part.indptr)[:, None]
    ids, values = np.full(there.shape, -1, np.int32), np.zeros(there.shape, np.float32)
    ids[there], values[there] = part.indices, part.data
    return ids, values
