"""`jrm.pad_lists`: ragged lists as padded arrays of few different shapes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from jax.core import Tracer

from jax_rank_metrics._inputs.labelled import refuse_masked
from jax_rank_metrics._inputs.options import positive_integer
from jax_rank_metrics._types import Number

# What to pass instead of lists with masked items.
_COMPRESSED = "rows.compressed(), the items of each list that exist"


def pad_lists(
    *ragged: Iterable[Iterable[Any]],
    items: int | None = None,
    lists: int | None = None,
    fill: Number = 0,
) -> tuple[np.ndarray, ...]:
    """Pads ragged lists to arrays of few different shapes, and makes their mask.

    A jitted function is compiled once for every shape. Therefore both axes are padded to
    the next of the sizes 1, 2, 3, 4, 6, 8, 12, 16, …: powers of two, and one and a half
    times these. An axis that already has such a length keeps it. A loop that passes its
    batch size as `lists` compiles nothing new for a smaller last batch; one that also
    passes `items` compiles only once.

    Lists that are added are wholly masked, so they do not count in any metric; nor do
    lists that were empty. Arguments of one number per list, such as list weights, can
    be padded with any number.

    Args:
        *ragged: Sequences of lists of numbers, such as labels and scores: lists of lists
            or of arrays. The lists at the same index have the same length in all of them.
            Lists of feature vectors, as a ranker reads them, are arrays `[n, dims]`.
        items: The exact length of the last axis, instead of the next size.
        lists: The exact number of lists, instead of the next size.
        fill: The number in padded items. Calls that get the mask never read it; pass -1
            for ids, which have no mask.

    Returns:
        A NumPy array `[lists, items]` for each argument, and `[lists, items, dims]` of
        vectors, of the dtype of its numbers (bool, integers or floats, the widest if lists
        differ), then the mask: bool, `[lists, items]`, True where an item exists.

    Raises:
        ValueError: if arguments differ in their number of lists, or in the length of a
            list; if a list is longer than `items`, or there are more than `lists`; if
            vectors of an argument differ in shape; or if `fill` is not a number of the
            dtype.
        TypeError: if an argument is traced, or does not hold numbers.

    >>> labels, scores, mask = pad_lists(
    ...     [[1, 0, 2], [0, 1], [1]], [[0.9, 0.8, 0.1], [0.5, 0.6], [0.3]], lists=4
    ... )
    >>> labels.tolist()
    [[1, 0, 2], [0, 1, 0], [1, 0, 0], [0, 0, 0]]
    >>> mask.sum(axis=-1).tolist()
    [3, 2, 1, 0]
    >>> from jax_rank_metrics import reciprocal_rank
    >>> state = reciprocal_rank(labels, scores, mask)
    >>> int(state.lists), float(state.compute())
    (3, 1.0)
    """
    if not ragged:
        raise ValueError("pad_lists got no lists; pass labels, scores, …")
    arguments = [_arrays(index, argument) for index, argument in enumerate(ragged)]
    all_lengths = [np.array([len(row) for row in rows], int) for rows in arguments]
    lengths = all_lengths[0]
    for index, argument_lengths in enumerate(all_lengths):
        if argument_lengths.size != lengths.size:
            raise ValueError(
                f"argument {index} has {argument_lengths.size} lists, but argument 0 has "
                f"{lengths.size}; pass the same number of lists"
            )
        if (argument_lengths != lengths).any():
            row = int(np.argmax(argument_lengths != lengths))
            raise ValueError(
                f"list {row} has {argument_lengths[row]} items in argument {index}, but "
                f"{lengths[row]} in argument 0; pass lists of equal length"
            )
    longest = int(np.argmax(lengths)) if lengths.size else 0
    num_items = int(lengths.max(initial=0))
    shape = (
        _size("lists", lists, lengths.size, f"there are {lengths.size} lists"),
        _size("items", items, num_items, f"list {longest} has {num_items} items"),
    )
    mask = np.zeros(shape, bool)
    mask[: lengths.size] = np.arange(shape[1]) < lengths[:, None]
    padded = [_padded(i, rows, mask, fill) for i, rows in enumerate(arguments)]
    return (*padded, mask)


def _arrays(index: int, argument: Iterable[object]) -> list[np.ndarray]:
    """Converts the lists of argument number `index` to arrays."""
    if isinstance(argument, Tracer):
        raise TypeError(f"argument {index} is traced; call pad_lists outside jax.jit")
    refuse_masked(f"argument {index}", argument, _COMPRESSED)
    try:
        rows = list(argument)
    except TypeError as error:
        raise TypeError(
            f"argument {index}: got {type(argument).__name__}; pass a sequence of lists"
        ) from error
    return [_array(f"list {i} of argument {index}", row) for i, row in enumerate(rows)]


def _array(name: str, row: object) -> np.ndarray:
    """Converts one list to an array of items; messages call it `name`."""
    if isinstance(row, Tracer) or (
        isinstance(row, (list, tuple)) and any(isinstance(x, Tracer) for x in row)
    ):
        raise TypeError(f"{name} is traced; call pad_lists outside jax.jit")
    refuse_masked(name, row, _COMPRESSED)
    cure = "pass a list of numbers"
    try:
        array = np.asarray(row)
    except ValueError as error:
        raise ValueError(f"{name} holds lists that differ in length; {cure}") from error
    if array.ndim < 1:
        raise ValueError(f"{name} has shape {array.shape}; {cure}")
    if array.dtype.kind not in "biufV" or array.dtype.names:  # "V": bfloat16, float8
        raise TypeError(f"{name} is {array.dtype}; {cure}")
    return array


def _size(name: str, exact: int | None, min_size: int, reason: str) -> int:
    """Returns the length of an axis that must hold `min_size` entries."""
    if exact is None:
        return next_size(min_size)
    if positive_integer(name, exact) < min_size:
        raise ValueError(
            f"{name} is {exact}, but {reason}; pass {name}={min_size} or more, or None"
        )
    return int(exact)


def next_size(min_size: int) -> int:
    """Returns the smallest of 1, 2, 3, 4, 6, 8, 12, … that is at least `min_size`.

    These are the sizes that `pad_lists` pads to.

    >>> [next_size(size) for size in (0, 4, 5, 7)]
    [1, 4, 6, 8]
    """
    power = 1 << max(min_size - 1, 0).bit_length()
    return power * 3 // 4 if power >= 4 and min_size <= power * 3 // 4 else power


def _padded(
    index: int, rows: list[np.ndarray], mask: np.ndarray, fill: Number
) -> np.ndarray:
    """Returns the lists of argument number `index`, with `fill` where `mask` is False."""
    # An empty Python list has no vectors, and an empty array may say how long they are.
    shapes = {row.shape[1:]: i for i, row in enumerate(rows) if row.shape != (0,)}
    if len(shapes) > 1:
        (first, i), (second, j), *_ = shapes.items()
        raise ValueError(
            f"argument {index} has items of shape {first} in list {i}, and {second} in "
            f"list {j}; pass vectors of one length, or numbers alone"
        )
    dims = next(iter(shapes), ())
    # NumPy makes float64 of an empty Python list: its dtype counts only if all are empty.
    dtypes = [row.dtype for row in rows if row.size] or [row.dtype for row in rows]
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float32)
    try:
        padded = np.full((*mask.shape, *dims), fill, dtype)
        holds_nan = fill != fill and np.issubdtype(dtype, np.inexact)
        fits = bool((padded == fill).all()) or holds_nan
    except (OverflowError, TypeError, ValueError):
        padded, fits = np.zeros(mask.shape, dtype), False
    if not fits:
        raise ValueError(
            f"fill is {fill!r}, which {dtype} cannot hold; pass another fill"
        )
    # Before they are joined, or an empty Python list would make floats of large integers.
    items = [row.astype(dtype).reshape(len(row), *dims) for row in rows]
    padded[mask] = np.concatenate([*items, np.zeros((0, *dims), dtype)])
    return padded
