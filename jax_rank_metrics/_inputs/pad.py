"""`jrm.pad_lists`: lists of any length as arrays of few shapes."""

from typing import Any

import numpy as np
from jax.core import Tracer

from jax_rank_metrics._inputs.options import positive_integer


def pad_lists(
    *ragged: Any, items: int | None = None, lists: int | None = None, fill: Any = 0
) -> tuple[np.ndarray, ...]:
    """Pads lists of any length to arrays of few shapes, and makes their mask.

    Compiled functions are compiled once for every shape. So both axes go up to the next
    of 1, 2, 3, 4, 6, 8, 12, 16, …: the powers of two, and one and a half times these. A
    loop that passes `lists`, its batch size, compiles nothing new for a last, smaller
    batch; one that passes `items` too, nothing for any batch.

    Lists that are added are wholly masked, and as such do not count, in any metric; nor
    do lists that were empty. Pad arguments of one number per list with anything.

    Args:
        *ragged: Each a sequence of lists of numbers, as labels and scores: lists of lists
            or of arrays, all with the same number of items in the same place.
        items: The exact length of the last axis, instead of the next size.
        lists: The exact number of lists, instead of the next size.
        fill: What padding holds. It is never read where the mask goes along; pass -1
            for ids, which have no mask.

    Returns:
        A NumPy array `[lists, items]` for each argument, of the dtype of its numbers
        (bool, integers or floats, the widest if lists differ), then the mask, bool of
        the same shape: True where an item was given.

    Raises:
        ValueError: if arguments differ in their number of lists, or in the length of
            one; if a list is longer than `items`, or there are more than `lists`; or if
            `fill` is no number of the dtype.
        TypeError: if an argument is traced, or holds no numbers.

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
    given = [_arrays(place, one) for place, one in enumerate(ragged)]
    lengths = [np.array([one.size for one in arrays], int) for arrays in given]
    for place, other in enumerate(lengths):
        if other.size != lengths[0].size:
            raise ValueError(
                f"argument {place} has {other.size} lists, but argument 0 has "
                f"{lengths[0].size}; pass the same number of lists"
            )
        if (other != lengths[0]).any():
            row = int(np.argmax(other != lengths[0]))
            raise ValueError(
                f"list {row} has {other[row]} items in argument {place}, but "
                f"{lengths[0][row]} in argument 0; pass lists of equal length"
            )
    length = lengths[0]
    shape = (
        _size("lists", lists, length.size, f"there are {length.size} lists"),
        _size("items", items, int(length.max(initial=0)), _longest(length)),
    )
    mask = np.zeros(shape, bool)
    mask[: length.size] = np.arange(shape[1]) < length[:, None]
    return (*[_filled(arrays, mask, fill) for arrays in given], mask)


def _arrays(place: int, given: Any) -> list[np.ndarray]:
    """The lists of one argument."""
    if isinstance(given, Tracer):
        raise TypeError(f"argument {place} is traced; call pad_lists outside jax.jit")
    try:
        rows = list(given)
    except TypeError as error:
        raise TypeError(
            f"argument {place}: got {type(given).__name__}; pass a sequence of lists"
        ) from error
    return [_array(place, row, one) for row, one in enumerate(rows)]


def _array(place: int, row: int, given: Any) -> np.ndarray:
    if isinstance(given, Tracer) or (
        isinstance(given, (list, tuple)) and any(isinstance(x, Tracer) for x in given)
    ):
        raise TypeError(
            f"list {row} of argument {place} is traced; call pad_lists outside jax.jit"
        )
    cure = "pass a list of numbers"
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise ValueError(
            f"list {row} of argument {place} holds lists that differ in length; {cure}"
        ) from error
    if array.ndim != 1:
        raise ValueError(
            f"list {row} of argument {place} has shape {array.shape}; {cure}"
        )
    if array.dtype.kind not in "biufV" or array.dtype.names:  # "V": bfloat16 and kin
        raise TypeError(f"list {row} of argument {place} is {array.dtype}; {cure}")
    return array


def _longest(length: np.ndarray) -> str:
    row = int(np.argmax(length)) if length.size else 0
    return f"list {row} has {length.max(initial=0)} items"


def _size(name: str, exact: int | None, needed: int, why: str) -> int:
    if exact is None:
        return next_size(needed)
    if positive_integer(name, exact) < needed:
        raise ValueError(
            f"{name} is {exact}, but {why}; pass {name}={needed} or more, or None"
        )
    return int(exact)


def next_size(needed: int) -> int:
    """The next of 1, 2, 3, 4, 6, 8, 12, …, the sizes that `pad_lists` pads to."""
    power = 1 << max(needed - 1, 0).bit_length()
    return power * 3 // 4 if power >= 4 and needed <= power * 3 // 4 else power


def _filled(arrays: list[np.ndarray], mask: np.ndarray, fill: Any) -> np.ndarray:
    """One argument as an array, with the fill where nothing was given."""
    # An empty list of Python has no numbers, and so no dtype.
    told = [one.dtype for one in arrays if one.size] or [one.dtype for one in arrays]
    dtype = np.result_type(*told) if told else np.dtype(np.float32)
    try:
        padded = np.full(mask.shape, fill, dtype)
        fits = bool((padded == fill).all()) or fill != fill
    except (OverflowError, TypeError, ValueError):
        padded, fits = np.zeros(mask.shape, dtype), False
    if not fits:
        raise ValueError(f"fill is {fill!r}, which is no {dtype}; pass one that is")
    padded[mask] = np.concatenate([*arrays, np.zeros(0, dtype)]).astype(dtype)
    return padded
