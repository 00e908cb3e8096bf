"""The causes of scores that are NaN, for the error that stops an evaluation."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.sources import host_blocks
from jax_rank_metrics._engine.sources.tokens import TokenItems
from jax_rank_metrics._runs.drivers import devices

# The operations that make NaN from numbers other than NaN, for messages.
INFINITIES = "inf − inf and inf/inf are nan"

Kind = Literal["nan", "infinite"]


class Vectors(NamedTuple):
    """The vectors of all items, or the vector of the query with a score that is NaN.

    Attributes:
        name: The argument, such as "items".
        values: `[vectors, …]` of NumPy or JAX, or blocks that the host reads.
        number: How many vectors there are; arrays on a mesh may be longer than that.
        mask: `[vectors]` bool, the vectors that are read; None for all.
        query: The name of the query, such as "query 3", if only a query's vector is read;
            None for items.
        name_of: A function that returns the name of an item in messages.
    """

    name: str
    values: Any
    number: int
    mask: Any = None
    query: str | None = None
    name_of: Callable[[int], Any] = int

    def remark(self, kind: Kind) -> str | None:
        """Says which vectors hold numbers of a kind; None if no vector does."""
        # `first` is the index of the first such vector among the vectors of all parts.
        total, first = 0, 0
        for start, values, mask in self._parts():
            if jnp.issubdtype(values.dtype, jnp.floating):  # integers are always finite
                number, index = map(int, _find(kind, values, mask))
                first = first if total or not number else start + index
                total += number
        if not total:
            return None
        text = f"{self.name} {'holds nan' if kind == 'nan' else 'is infinite'} for "
        if self.query is not None:
            return text + self.query
        return (
            f"{text}{total} of {self.number} items, such as item {self.name_of(first)}"
        )

    @property
    def cure(self) -> str:
        """A second advice, for the end of a message: items can also be left out."""
        return ", or leave such items out by item_mask" if self.query is None else ""

    def _parts(self) -> Iterator[tuple[int, Any, Any]]:
        """Yields the index of the first vector of each part, its vectors and its mask."""
        blocks = self.values
        if isinstance(blocks, TokenItems):
            for index, tokens in enumerate(blocks):
                is_read = self.mask is None or bool(self.mask[index])
                yield index, tokens[None], np.array([is_read])
        elif not isinstance(blocks, host_blocks.HostBlocks):
            yield 0, blocks, self.mask
        elif blocks.is_repeatable:  # an iterator is used up, so it cannot be searched
            for part in blocks.parts(1):
                mask = part.exists if self.mask is None else part.cut(self.mask)
                yield part.first_id, part.items, mask


def nan_message(scores: str, sources: Sequence[Vectors], otherwise: str) -> str:
    """Returns the error message for scores that hold NaN.

    Args:
        scores: The name of the scores, such as "the scores of query 3".
        sources: The vectors that were scored.
        otherwise: The cause of NaN if all vectors are finite, and what to do.
    """
    # NaN in a vector is the most likely cause, and infinity the next.
    for source in sources:
        if text := source.remark("nan"):
            return f"{scores} hold nan: {text}; pass numbers{source.cure}"
    for source in sources:
        if text := source.remark("infinite"):
            return (
                f"{scores} hold nan: {text}, and {INFINITIES}; pass finite numbers"
                f"{source.cure}"
            )
    return f"{scores} hold nan: {otherwise}"


def _find(kind: Kind, values: Any, mask: Any) -> tuple[Any, Any]:
    """Counts the vectors with numbers of a kind, and finds the first of them."""
    # No process can read all parts of a global array, so the devices search it.
    if devices.is_global(values):
        return _find_on_mesh(kind, values, mask)
    mask = mask if mask is None else np.asarray(mask)
    return _count(np, kind, np.asarray(values), mask)


def _count(library: Any, kind: Kind, values: Any, mask: Any) -> tuple[Any, Any]:
    is_kind = library.isnan if kind == "nan" else library.isinf
    # [vectors] bool: reduce all other axes, however many there are.
    has_kind = library.any(is_kind(values), axis=tuple(range(1, values.ndim)))
    if mask is not None:
        has_kind = has_kind & mask
    return library.count_nonzero(has_kind), library.argmax(has_kind)


_find_on_mesh = jax.jit(partial(_count, jnp), static_argnums=0)
