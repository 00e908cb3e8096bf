"""`jrm.Tokens`: queries and items with tokens, in arrays or on the host."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._ground import inputs, pytrees


@pytrees.pytree()
class Tokens:
    """Vectors of the tokens of queries or items, for `similarity="maxsim"`.

    Late interaction keeps a vector for each token of a text or each patch of an image. The
    score of a query and an item is a sum over the query's tokens: the largest product of
    the token with a token of the item.

    Attributes:
        vectors: `[…, tokens, dims]`, of NumPy or JAX.
        mask: `[…, tokens]` bool, true for tokens that exist; None for all. Vectors of
            other tokens are not read.

    References:
        Khattab & Zaharia, ColBERT: efficient and effective passage search via
        contextualized late interaction over BERT, SIGIR 2020.

    >>> from jax_rank_metrics import rank_catalog
    >>> queries = Tokens(jnp.array([[[1.0, 0], [0, 1]]]))
    >>> items = Tokens(
    ...     jnp.array([[[1.0, 1], [9, 9]], [[2, 0], [0, 3]]]),
    ...     jnp.array([[True, False], [True, True]]),
    ... )
    >>> rank_catalog(queries, items, jnp.array([[1]]), k=2, similarity="maxsim").items
    Array([[1, 0]], dtype=int32)
    """

    vectors: jax.Array | np.ndarray
    mask: jax.Array | np.ndarray | None = None


def packed(name: str, tokens: object) -> jax.Array:
    """Returns tokens as one array, so that items are rows as for any other vectors.

    Args:
        name: The argument, for messages.
        tokens: The `Tokens`, not yet checked.

    Returns:
        `[…, tokens, dims + 1]`: each vector, followed by a flag that is 1 if the token
        exists and else 0. A row of zeros, such as padding, is thus an item without tokens.

    Raises:
        TypeError: if `tokens` are not `Tokens`, or their mask is not bool.
        ValueError: if vectors have fewer than two axes, or the mask another shape.
    """
    if not isinstance(tokens, Tokens):
        raise TypeError(
            f'{name}: got {inputs.kind_of(tokens)}, but similarity "maxsim" compares '
            "tokens; pass jrm.Tokens(vectors, mask)"
        )
    vectors = inputs.real(f"{name}.vectors", tokens.vectors)
    if vectors.ndim < 2:
        raise ValueError(
            f"{name}.vectors has shape {vectors.shape}; pass [..., tokens, dims]"
        )
    if not jnp.issubdtype(vectors.dtype, jnp.floating):
        vectors = vectors.astype(inputs.float_dtype(vectors))
    mask = inputs.boolean(f"{name}.mask", tokens.mask, name, vectors.shape[:-1])
    if mask is None:
        mask = jnp.ones(vectors.shape[:-1], bool)
    # Padding may hold NaN, and its products would be NaN too.
    vectors = jnp.where(mask[..., None], vectors, 0)
    # Derive the flags from the vectors, so that flags and vectors are sharded in the same
    # way. The mask may be sharded in another way.
    zeros = jnp.sum(jnp.zeros_like(vectors), axis=-1, keepdims=True)
    flags = jnp.where(mask[..., None], 1 + zeros, 0)
    return jnp.concatenate([vectors, flags], axis=-1)


def packed_on_host(items: Sequence[np.ndarray], width: int) -> np.ndarray:
    """Returns `packed` of arrays `[tokens, dims]`, filled up to `width` tokens."""
    result = np.zeros((len(items), width, items[0].shape[1] + 1), items[0].dtype)
    for row, item in zip(result, items, strict=True):
        row[: len(item), :-1] = item
        row[: len(item), -1] = 1
    return result


def padded_width(num_tokens: int) -> int:
    """Returns the number of tokens that an item of this length is padded to.

    There are four widths from a power of two to the next: 4, 5, 6, 7, 8, 10, 12, 14, 16,
    20. Less than a fifth of a width is padding.
    """
    step = 2 ** max(0, num_tokens.bit_length() - 3)
    return -(-num_tokens // step) * step


class TokenBlock(NamedTuple):
    """Items of one width.

    All blocks have the same size, so that equal items have equal scores and tie.

    Attributes:
        ids: `[size]`, the ids of the items; fewer in the last block of a width.
        vectors: `[width, size, dims]`, 0 after an item's last token.
        exists: `[width, size]` bool, true for tokens that exist.
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

    Indexed by ids, it returns the packed tokens of these items; see `packed`.

    Attributes:
        num_items: How many items there are; None while an iterator has not been read.
        is_repeatable: True if the items can be read more than once.
    """

    def __init__(self, name: str, source: Any, num_dims: int | None = None) -> None:
        """Opens the items.

        Args:
            name: The argument, for messages.
            source: `Tokens` of `[items, tokens, dims]`; a list of arrays `[tokens, dims]`;
                or an iterator of such `Tokens` or lists, or a function that returns one.
            num_dims: The number of dims of queries, which items must have too; None accepts
                any number.
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
        """Reads all items, and checks that dtypes and numbers of dims are equal."""
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
                    f"{self._name}[{index}] is {item.dtype} of shape {item.shape}, but "
                    f"earlier items are {kind[0]} [tokens, {kind[1][0]}]; pass arrays of "
                    "one kind"
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
        """Reads all items, and groups them by padded width; skips items without tokens."""
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
    """Returns the array `[tokens, dims]` of each item of `Tokens` or of a list."""
    inputs.refuse_masked(
        name, source, "the tokens that exist, or jrm.Tokens with a mask"
    )
    if isinstance(source, Tokens):
        inputs.refuse_masked(f"{name}.vectors", source.vectors)
        vectors = source.vectors
        if np.ndim(vectors) != 3:
            raise ValueError(
                f"{name}.vectors has shape {np.shape(vectors)}; pass [{name}, tokens, dims]"
            )
        vectors = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors)
        mask = inputs.boolean(f"{name}.mask", source.mask, name, vectors.shape[:-1])
        return _Rows(vectors, None if mask is None else np.asarray(mask))
    is_list = isinstance(source, list | tuple)
    if not is_list or any(getattr(item, "ndim", None) != 2 for item in source):
        raise TypeError(
            f'{name}: got {inputs.kind_of(source)}, but similarity "maxsim" compares '
            "tokens; pass jrm.Tokens, or a list of arrays [tokens, dims]"
        )
    return [np.asarray(item) for item in source]


@dataclasses.dataclass(frozen=True)
class _Rows(Sequence[np.ndarray]):
    """The tokens of each row of padded arrays, read from them row by row."""

    vectors: np.ndarray  # [items, tokens, dims], which may be mapped from a file
    mask: np.ndarray | None

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, index: Any) -> Any:
        row = self.vectors[index]
        return row if self.mask is None else row[self.mask[index]]
