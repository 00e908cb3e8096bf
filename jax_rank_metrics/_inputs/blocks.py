"""Lists of any number and length, as blocks of a few fixed shapes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

# The widths of blocks are 64, 256, 1024, …
_WIDTH, _FACTOR = 64, 4

# Blocks have so many lists, padding included: the first number if no more lists have their
# width. They have fewer where lists are so wide that there would be more items than this.
_LISTS, _ITEMS = (64, 1024), 2**20


class ListBlock(NamedTuple):
    """A few lists, padded to one of the fixed shapes `[lists, width]`.

    Lists that were added have no items. Pass the weight 0 for them.

    Attributes:
        indices: Which lists these are, ascending; at most `lists` many.
        slots: `[lists, width]` integers, where each item lies in flat arrays.
        exists: `[lists, width]` bool, False for padding.
    """

    indices: np.ndarray
    slots: np.ndarray
    exists: np.ndarray

    def items(self, values: np.ndarray) -> np.ndarray:
        """Returns flat `[items]` values of all lists as those of the block, 0 if padded."""
        return np.where(self.exists, values[self.slots], values.dtype.type(0))

    def per_list(self, values: np.ndarray) -> np.ndarray:
        """Returns the values `[all lists]` of these lists, and 0 for those added."""
        padded = np.zeros(len(self.exists), values.dtype)
        padded[: len(self.indices)] = values[self.indices]
        return padded


def make_blocks(starts: np.ndarray) -> Iterator[ListBlock]:
    """Divides lists into blocks of a few shapes, the narrow lists first.

    A jitted function is compiled for every shape that it meets. Blocks have the width 64,
    256, 1,024 or the next power of four, and 64 lists if there are no more of that width,
    such as the topics of most test collections, else 1,024. So data of any number of lists
    share a few programs. Each list is in a block of the smallest width that holds it: a few
    lists that are very long do not widen the others.

    Args:
        starts: `[all lists + 1]`, where the items of each list begin in flat arrays, one
            list after the other, and where the last list ends.

    >>> blocks = list(make_blocks(np.array([0, 3, 103, 103])))  # of 3, 100 and 0 items
    >>> [(block.indices.tolist(), block.exists.shape) for block in blocks]
    [([0, 2], (64, 64)), ([1], (64, 256))]
    >>> blocks[0].items(np.arange(7, 110))[0, :4].tolist()
    [7, 8, 9, 0]
    """
    lengths = np.diff(starts)
    width, shorter = _WIDTH, -1
    while shorter < lengths.max(initial=-1):
        indices = np.flatnonzero((lengths > shorter) & (lengths <= width))
        num_lists = next((size for size in _LISTS if len(indices) <= size), _LISTS[-1])
        num_lists = max(1, min(num_lists, _ITEMS // width))
        for start in range(0, len(indices), num_lists):
            part = indices[start : start + num_lists]
            padded = np.zeros((2, num_lists, 1), starts.dtype)
            padded[:, : len(part), 0] = starts[part], lengths[part]
            offsets = np.arange(width)
            exists = offsets < padded[1]
            yield ListBlock(part, np.where(exists, padded[0] + offsets, 0), exists)
        width, shorter = width * _FACTOR, width
