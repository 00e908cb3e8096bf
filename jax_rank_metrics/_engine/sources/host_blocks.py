"""Items that do not fit in memory, which the host reads in parts, one after the other."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._ground import inputs

# A part holds at most this many bytes, unless one block alone is larger.
PART_BYTES = 2**26


BlockSource = Iterable[Any] | Callable[[], Iterable[Any]]


class Part(NamedTuple):
    """Consecutive items, filled up with padding.

    Attributes:
        items: `[size, …]`, 0 in padding.
        exists: `[size]` bool, False for padding.
        first_id: The id of the first item.
    """

    items: np.ndarray
    exists: np.ndarray
    first_id: int

    def cut(self, per_item: Any) -> np.ndarray:
        """Returns the values of the items of this part, `[size, …]`; 0 in padding.

        `per_item`, `[items, …]`, has the values of all items. Nothing raises if it has more
        rows than there are items.
        """
        values = np.asarray(per_item[self.first_id : self.first_id + len(self.exists)])
        missing = len(self.exists) - len(values)
        return np.pad(values, [(0, missing)] + [(0, 0)] * (values.ndim - 1))


class HostBlocks:
    """Blocks of items, `[block, …]` each, which may differ in size.

    Attributes:
        example: One item as an array, `[1, …]`.
        num_items: How many items there are; None while an iterator has not been read.
        is_repeatable: True if the items can be read more than once.
    """

    def __init__(self, source: BlockSource, expected_items: int | None = None) -> None:
        """Opens the blocks and reads the first one, which sets the items' shape and dtype.

        Args:
            source: A memory-mapped array; a sequence of arrays; an iterator of arrays; or
                a function that returns an iterator whenever it is called.
            expected_items: How many items the blocks must hold; None if unknown.

        Raises:
            ValueError: if there is no item.
            TypeError: if a function returns no blocks.
        """
        blocks: BlockSource = [source] if isinstance(source, np.ndarray) else source
        self.is_repeatable = not isinstance(blocks, Iterator)
        self.num_items = expected_items
        if isinstance(blocks, Sequence):
            self.num_items = sum(map(len, blocks))
        self._source, self._previous = blocks, None
        opened = self._opened()
        # Empty blocks may come first, but hold no item to take the example from.
        first = next((block for block in opened if len(block)), None)
        if first is None:
            raise ValueError("items has no item; pass blocks that hold at least one")
        self.example = np.asarray(first[:1])
        # An iterator can be read only once, so the first round continues from here.
        self._first_round: Iterator[Any] | None = itertools.chain([first], opened)

    def parts(self, block_size: int) -> Iterator[Part]:
        """Reads all items, in parts of one size; only the last one may be smaller.

        Blocks are copied into parts, so that programs have few shapes: a part holds
        `block_size` times a power of two items. Afterwards, `num_items` is known.

        Raises:
            ValueError: if blocks have items of different shapes, or of different dtypes;
                if the number of items is not the expected one, or changes between rounds;
                or if a function returns an iterator that it has returned before.
        """
        example, num_read = self.example, 0
        item_bytes = max(1, math.prod(example.shape[1:]) * example.itemsize)
        # As many blocks as fit, rounded down to a power of two: 8 if 13 would fit.
        size = block_size * 2 ** max(
            0, (PART_BYTES // (item_bytes * block_size)).bit_length() - 1
        )
        part = self._empty(size)
        blocks, self._first_round = self._first_round or self._opened(), None
        for number, block in enumerate(map(np.asarray, blocks)):
            if block.shape[1:] != example.shape[1:] or block.dtype != example.dtype:
                raise ValueError(
                    f"items[{number}] is {block.dtype} of shape {tuple(block.shape)}, "
                    f"but earlier blocks are {example.dtype} [block, "
                    f"{', '.join(map(str, example.shape[1:]))}]; pass blocks of one kind"
                )
            start = 0
            # A block may complete one part and begin the next, or several.
            while start < len(block):
                filled = num_read % size
                stop = min(len(block), start + size - filled)
                part[filled : filled + stop - start] = block[start:stop]
                num_read, start = num_read + stop - start, stop
                if num_read % size == 0:
                    yield Part(part, np.ones(size, bool), num_read - size)
                    part = self._empty(size)  # the device may still read the old array
        if filled := num_read % size:
            # Halve the size if the rest fits: with few sizes, catalogues share programs.
            while size > block_size and size // 2 >= filled:
                size //= 2
            # Padding is scored too, and memory that was not written may hold NaN.
            part[filled:] = 0
            exists = np.arange(size) < filled
            yield Part(part[:size], exists, num_read - filled)
        if self.num_items not in (None, num_read):
            raise ValueError(
                f"items has {num_read} items, but {self.num_items} were expected; pass "
                "the same blocks each time, and the same number of items in item_mask, in "
                "attributes of items and, with exclude_self, in queries"
            )
        self.num_items = num_read

    def _opened(self) -> Iterator[Any]:
        """Begins to read the blocks; a function must return a fresh iterator each time."""
        blocks = self._source() if callable(self._source) else self._source
        if not isinstance(blocks, Iterable):
            raise TypeError(
                f"items is a function that returned {blocks!r}; return an iterator of "
                "arrays [block, dims]"
            )
        if isinstance(blocks, Iterator) and blocks is self._previous:
            raise ValueError(
                "items is a function that returned the same iterator twice, but an "
                "iterator can be read only once; return a fresh one, such as "
                "(np.load(path) for path in paths)"
            )
        self._previous = blocks
        return (_block(block) for block in blocks)

    def _empty(self, size: int) -> np.ndarray:
        return np.empty((size, *self.example.shape[1:]), self.example.dtype)


def _block(block: Any) -> Any:
    """Returns the block; raises if it has no axis of items, is a frame, or is masked."""
    inputs.refuse_masked("items", block, "blocks without items that do not exist")
    if inputs.is_frame(block):
        raise TypeError(
            "items holds a frame, but the index of a frame does not tell at which item its "
            "block begins; pass block.to_numpy()"
        )
    if not np.ndim(block):
        raise TypeError(
            f"items holds the block {block!r}, which has no axis of items; pass arrays "
            "[block, dims]"
        )
    return block


def is_in_blocks(items: object) -> bool:
    """True if items come in blocks, in one of the forms that `HostBlocks` takes."""
    if isinstance(items, (list, tuple)):
        # A list of numbers or vectors is one array of items, not blocks of items.
        return bool(items) and all(getattr(block, "ndim", 0) >= 2 for block in items)
    return isinstance(items, (np.memmap, Iterator)) or callable(items)
