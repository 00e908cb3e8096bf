"""Which users share a batch, and their ids as padded arrays of few widths."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jax_rank_metrics._inputs.pad import next_size
from jax_rank_metrics._recommender.interactions import SparseRows

# Widths of seen and of relevant ids in the narrowest batches. Padding up to them costs
# next to nothing beside the scores, so that data for training and for testing share
# programs. Users with more ids belong to the next level, whose limits are `FACTOR` times
# as wide, and so on.
NARROW = (128, 16)
FACTOR = 8

# Padded ids, each counted once per block of items, that take about as long to process as
# one more program takes to compile.
IDS_WORTH_A_PROGRAM = 2**30


class Batch(NamedTuple):
    """Users that go through together.

    Attributes:
        rows: `[users]`, positions in the array of users to evaluate.
        widths: The padded number of seen ids and of relevant ids.
    """

    rows: np.ndarray
    widths: tuple[int, int]


def make_batches(lengths: np.ndarray, size: int, num_blocks: int) -> Iterator[Batch]:
    """Divides all users into batches, users with few ids first.

    A single user with ten thousand ids would make every batch as wide as their list. So
    users with similar numbers of ids share batches, in as many widths as are worth
    compiling a program for each.

    Args:
        lengths: `[users, 2]`, the numbers of seen and of relevant ids of each user.
        size: The number of users in each batch but the last.
        num_blocks: How many times the ids of a batch are read: once per block of items.
    """
    levels, limits = np.zeros(len(lengths), int), np.array(NARROW)
    while (exceeds := np.any(lengths > limits, axis=1)).any():
        levels += exceeds
        limits = limits * FACTOR
    # From the widest level down: a level keeps a width of its own only if that saves
    # enough padding for its users and those of all lower levels.
    widths_of: dict[int, tuple[int, int]] = {}
    for level in np.unique(levels)[::-1].tolist():
        up_to_level = levels <= level
        longest = lengths[up_to_level].max(axis=0).tolist()
        widths = (next_size(max(longest[0], NARROW[0])), next_size(longest[1]))
        wider_level = min(widths_of, default=None)
        if wider_level is not None:
            saved = sum(widths_of[wider_level]) - sum(widths)
            if np.count_nonzero(up_to_level) * saved * num_blocks < IDS_WORTH_A_PROGRAM:
                levels[levels == level] = wider_level
                continue
        widths_of[level] = widths
    order = np.concatenate([np.flatnonzero(levels == x) for x in sorted(widths_of)])
    for start in range(0, order.size, size):
        rows = order[start : start + size]
        # The last user of a batch belongs to its highest level.
        yield Batch(rows, widths_of[int(levels[rows[-1]])])


def pad_rows(
    matrix: SparseRows, rows: np.ndarray, size: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows of a matrix as ids `[size, width]`, padded with −1, and their values.

    Row 3 of a matrix with the values 2 and 1 in the columns 5 and 7 is
    [5, 7, −1, …] and [2, 1, 0, …].
    """
    part = matrix[rows]
    is_id = np.zeros((size, width), bool)
    is_id[: rows.size] = np.arange(width) < np.diff(part.indptr)[:, None]
    ids = np.full(is_id.shape, -1, np.int32)
    values = np.zeros(is_id.shape, np.float32)
    ids[is_id], values[is_id] = part.indices, part.data
    return ids, values
