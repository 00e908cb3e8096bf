"""`jrm.pack`: ids of any kind as the numbers of packed lists."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.core import Tracer


class Packing(NamedTuple):
    """What `pack` gives.

    Attributes:
        segment_ids: `[items]` int32, the list of every item, counted from 0.
        num_segments: How many lists there are.
        ids: `[num_segments]`, the id of every list, in order of first appearance.
    """

    segment_ids: np.ndarray
    num_segments: int
    ids: np.ndarray


def pack(query_ids: Any) -> Packing:
    """Numbers lists by their ids, for flat arrays as LETOR and MSLR files hold them.

    Items of one list need not be neighbours. On the host, so outside `jax.jit` only.
    `num_segments` is static: another number of lists compiles anew. A loop over parts of
    a file may pass any larger number instead, for lists without items do not count.

    Args:
        query_ids: `[items]`, the id of the list of every item: integers of any size,
            strings, or anything else that can be the key of a dict, as a list or an
            array of NumPy, pandas or JAX. Whole numbers may be floats.

    Returns:
        `segment_ids` and `num_segments` for every call that takes them, and `ids`, which
        tells what list each value is of.

    Raises:
        ValueError: if there is more than one axis, an id is missing (None or NaN), or
            is a float that is not whole, or so large that its neighbours are the same.
        TypeError: if ids are traced, or cannot be the keys of a dict.

    >>> from jax_rank_metrics import evaluate
    >>> packed = pack(["q7", "q7", "q30", "q7", "q30"])
    >>> packed.segment_ids.tolist(), packed.num_segments, packed.ids.tolist()
    ([0, 0, 1, 0, 1], 2, ['q7', 'q30'])
    >>> labels, scores = np.array([0, 1, 1, 0, 0]), np.array([0.9, 0.5, 0.7, 0.1, 0.2])
    >>> states = evaluate(
    ...     "mrr",
    ...     labels,
    ...     scores,
    ...     segment_ids=packed.segment_ids,
    ...     num_segments=packed.num_segments,
    ... )
    >>> float(states["mrr"].compute())
    0.75
    """
    if isinstance(query_ids, Tracer):
        raise TypeError("query_ids is traced; call pack outside jax.jit")
    # NumPy would make strings of the numbers in a list that holds both.
    listed = isinstance(query_ids, (list, tuple))
    ids = _objects(query_ids) if listed else np.asarray(query_ids)
    if ids.ndim != 1:
        raise ValueError(
            f"query_ids has shape {ids.shape}; pass one axis, the list of every item"
        )
    if ids.dtype.kind not in "iufUS":
        return _pack_objects(ids.astype(object), listed)
    if ids.dtype.kind == "f":
        _whole(ids)
    _, first, which = np.unique(ids, return_index=True, return_inverse=True)
    starts = np.zeros(ids.shape, bool)
    starts[first] = True
    number = np.cumsum(starts, dtype=np.int32) - 1
    return Packing(number[first][which], first.size, ids[starts])


def _objects(values: Sequence[Any]) -> np.ndarray:
    ids = np.empty(len(values), object)
    for i, value in enumerate(values):
        ids[i] = value
    return ids


def _pack_objects(ids: np.ndarray, listed: bool) -> Packing:
    known: dict[Any, int] = {}
    segment_ids = np.empty(ids.shape, np.int32)
    for i, one in enumerate(ids):
        try:
            segment_ids[i] = known.setdefault(one, len(known))
        except TypeError as error:
            raise TypeError(
                f"query_ids holds {one!r} at {i}, which cannot be the key of a dict; pass "
                "integers or strings, one per item"
            ) from error
    for one, number in known.items():
        if one is None or not _is_itself(one):
            place = int(np.argmax(segment_ids == number))
            raise ValueError(
                f"query_ids is {one} at {place}; pass an id for every item, or leave the "
                "item out"
            )
    names = np.empty(len(known), object)
    names[:] = list(known)
    if listed and len({type(one) for one in known}) == 1:
        plain = np.array(list(known))
        names = plain if plain.ndim == 1 and plain.tolist() == list(known) else names
    return Packing(segment_ids, len(known), names)


def _is_itself(value: Any) -> bool:
    try:
        return bool(value == value)
    except (TypeError, ValueError):
        return False  # what is missing in pandas answers neither yes nor no


def _whole(ids: np.ndarray) -> None:
    """Raises where a float is no id."""
    most = 2.0 ** (np.finfo(ids.dtype).nmant + 1)
    bad = ~(np.floor(ids) == ids) | ~(np.abs(ids) < most)
    if bad.any():
        place = int(np.argmax(bad))
        raise ValueError(
            f"query_ids is {ids[place]} at {place}; pass integers or strings, or floats "
            f"that are whole and below {most:.0f}, where {ids.dtype} tells them apart"
        )
