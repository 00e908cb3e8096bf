"""Items with a vector for each token, which the host holds and groups by their lengths."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._sources.tokens import (
    Tokens,
    packed_on_host,
    padded_width,
)


class TokenBlock(NamedTuple):
    """Items of one width; every block holds as many, so that equal items tie.

    Attributes:
        ids: `[size]`, the ids of the items; fewer in the last block of a width.
        vectors: `[width, size, dims]`, 0 where an item has no further token.
        exists: `[width, size]` bool.
    """

    ids: np.ndarray
    vectors: np.ndarray
    exists: np.ndarray

    @classmethod
    def of(
        cls, items: list[tuple[int, np.ndarray]], width: int, size: int
    ) -> "TokenBlock":
        """Lays the tokens of up to `size` items side by side."""
        first = items[0][1]
        vectors = np.zeros((width, size, first.shape[1]), first.dtype)
        lengths = np.zeros(size, int)
        for column, (_, item) in enumerate(items):
            vectors[: len(item), column] = item
            lengths[column] = len(item)
        exists = np.arange(width)[:, None] < lengths
        return cls(np.array([index for index, _ in items]), vectors, exists)


class TokenItems:
    """Items with arrays of tokens `[tokens, dims]`, which the host holds or reads.

    As a sequence of rows it makes the packed tokens of some items; see `packed`.

    Attributes:
        num_items: How many items there are; None while an iterator has not been read.
        is_repeatable: Whether the items can be read more than once.
    """

    def __init__(self, name: str, source: Any, num_dims: int | None = None) -> None:
        """Opens the items.

        Args:
            name: The argument, for messages.
            source: `Tokens` of `[items, tokens, dims]`; a list of arrays `[tokens, dims]`;
                or an iterator of such `Tokens` or lists, or a function that returns one.
            num_dims: How many dims vectors must have, as those of queries; None for any.
        """
        self._name, self._source, self._num_dims = name, source, num_dims
        in_blocks = isinstance(source, Iterator) or callable(source)
        self.is_repeatable = not in_blocks
        self.num_items: int | None = None
        if not in_blocks:
            self._items = _arrays(name, source)
            self.num_items = len(self._items)
            if not self.num_items:
                raise ValueError(f"{name} is empty; pass at least one")

    def __len__(self) -> int:
        assert self.num_items is not None
        return self.num_items

    def __iter__(self) -> Iterator[np.ndarray]:
        """Reads all items, and checks that they are of one kind."""
        kind = None
        for index, item in enumerate(self._opened()):
            dims = item.dtype, item.shape[1:]
            kind = kind or dims
            if self._num_dims not in (None, item.shape[1]):
                raise ValueError(
                    f"{self._name}[{index}] has shape {item.shape}, but tokens of queries "
                    f"have {self._num_dims} dims; pass [tokens, {self._num_dims}]"
                )
            if dims != kind:
                raise ValueError(
                    f"{self._name}[{index}] is {item.dtype} of shape {item.shape}, after "
                    f"{kind[0]} [tokens, {kind[1][0]}]; pass arrays of one kind"
                )
            yield item

    def _opened(self) -> Iterable[np.ndarray]:
        if self.is_repeatable:
            return self._items
        blocks: Any = self._source() if callable(self._source) else self._source
        return (item for block in blocks for item in _arrays(self._name, block))

    @functools.cached_property
    def width(self) -> int:
        """The padded width of the longest item."""
        return padded_width(max(map(len, self), default=0))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all items as one packed array."""
        return len(self), self.width, self._items[0].shape[1] + 1

    def __getitem__(self, ids: np.ndarray) -> np.ndarray:
        """Returns the packed tokens of items, `[*ids, width, dims + 1]`."""
        rows = packed_on_host([self._items[i] for i in ids.ravel()], self.width)
        return rows.reshape(*ids.shape, *rows.shape[1:])

    def blocks(self, size: int) -> Iterator[TokenBlock]:
        """Reads all items with tokens, and groups those of one padded width."""
        groups: dict[int, list[tuple[int, np.ndarray]]] = {}
        num_items = 0
        for number, item in enumerate(self):
            num_items = number + 1
            width = padded_width(len(item))
            if width:
                group = groups.setdefault(width, [])
                group.append((number, item))
                if len(group) == size:
                    yield TokenBlock.of(groups.pop(width), width, size)
        for width, group in groups.items():
            yield TokenBlock.of(group, width, size)
        self.num_items = num_items


def _arrays(name: str, source: Any) -> Sequence[np.ndarray]:
    """Returns arrays `[tokens, dims]` of `Tokens`, or of a list."""
    _inputs.refuse_masked(
        name, source, "the tokens that exist, or jrm.Tokens with a mask"
    )
    if isinstance(source, Tokens):
        _inputs.refuse_masked(f"{name}.vectors", source.vectors)
        vectors = source.vectors
        if np.ndim(vectors) != 3:
            raise ValueError(
                f"{name}.vectors has shape {np.shape(vectors)}; pass [{name}, tokens, dims]"
            )
        vectors = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors)
        mask = _inputs.boolean(f"{name}.mask", source.mask, name, vectors.shape[:-1])
        return _Rows(vectors, None if mask is None else np.asarray(mask))
    is_list = isinstance(source, list | tuple)
    if not is_list or any(getattr(item, "ndim", None) != 2 for item in source):
        raise TypeError(
            f'{name}: got {_inputs.kind_of(source)}, and similarity is "maxsim"; pass '
            "jrm.Tokens, or a list of arrays [tokens, dims]"
        )
    return [np.asarray(item) for item in source]


@dataclasses.dataclass(frozen=True)
class _Rows(Sequence[np.ndarray]):
    """The tokens of each row of padded arrays, read when they are asked for."""

    vectors: np.ndarray  # [items, tokens, dims], which may be a file
    mask: np.ndarray | None

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, index: Any) -> Any:
        row = self.vectors[index]
        return row if self.mask is None else row[self.mask[index]]
