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
    """Users whose items are ranked together.

    Attributes:
        indices: `[users]`, indices into the array of users to evaluate.
        widths: The padded number of seen ids and of relevant ids.
    """

    indices: np.ndarray
    widths: tuple[int, int]


def make_batches(lengths: np.ndarray, size: int, num_blocks: int) -> Iterator[Batch]:
    """Divides all users into batches, the users of narrow levels first.

    If users stayed in order, one with ten thousand ids would make the whole batch that
    wide. Each user therefore has a level by their numbers of ids (see `NARROW`). A level
    whose own width would not save enough padding to be worth another program joins the
    next wider level. Users of a level stay in order, and only the first batch of a
    level may also hold users of lower levels.

    With `size` 2, `lengths` of [[1, 1], [9, 2], [5, 1]] are all narrow, and make batches
    of the indices [0, 1] and [2], both of the widths (128, 2).

    Args:
        lengths: `[users, 2]`, the numbers of seen and of relevant ids of each user, of at
            least one user.
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
        num_seen, num_relevant = lengths[up_to_level].max(axis=0).tolist()
        widths = (next_size(max(num_seen, NARROW[0])), next_size(num_relevant))
        wider_level = min(widths_of, default=None)
        if wider_level is not None:
            saved_width = sum(widths_of[wider_level]) - sum(widths)
            saved_ids = np.count_nonzero(up_to_level) * saved_width * num_blocks
            if saved_ids < IDS_WORTH_A_PROGRAM:
                levels[levels == level] = wider_level
                continue
        widths_of[level] = widths
    order = np.concatenate([np.flatnonzero(levels == x) for x in sorted(widths_of)])
    for start in range(0, order.size, size):
        indices = order[start : start + size]
        # The last user of a batch belongs to its highest level.
        yield Batch(indices, widths_of[int(levels[indices[-1]])])


def pad_rows(
    matrix: SparseRows, indices: np.ndarray, size: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows of a matrix as padded ids and values, both `[size, width]`.

    A row with the values 2 and 1 in the columns 5 and 7 becomes the ids [5, 7, −1, …]
    and the values [2, 1, 0, …]. Rows beyond those of `indices` are padding.
    """
    part = matrix[indices]
    is_id = np.zeros((size, width), bool)
    is_id[: indices.size] = np.arange(width) < np.diff(part.indptr)[:, None]
    ids = np.full(is_id.shape, -1, np.int32)
    values = np.zeros(is_id.shape, np.float32)
    ids[is_id], values[is_id] = part.indices, part.data
    return ids, values
