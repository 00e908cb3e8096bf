"""`jrm.pack`: numbers the lists of packed items by query ids of any kind."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jax.core import Tracer

from jax_rank_metrics._inputs.labelled import refuse_masked


class Packing(NamedTuple):
    """The result of `pack`.

    Attributes:
        segment_ids: `[items]` int32, the list of every item, counted from 0.
        num_segments: The number of lists, or of known ids.
        ids: `[num_segments]`, the id of every list, in order of first appearance, or the
            known ids. Results of drivers call these `list_ids`, and so may you.
    """

    segment_ids: np.ndarray
    num_segments: int
    ids: np.ndarray

    @property
    def list_ids(self) -> np.ndarray:
        """The `ids`, under the name that results of drivers have for them."""
        return self.ids


def pack(
    query_ids: Iterable[Hashable], known: Iterable[Hashable] | None = None
) -> Packing:
    """Numbers lists by their ids, for flat arrays such as those of LETOR and MSLR files.

    The items of a list need not be neighbours. This runs on the host, so call it outside
    `jax.jit`. `num_segments` is static: each number of lists compiles its own program. A
    loop over parts of a file may pass any larger number instead, since lists without
    items do not count.

    A number means its list only within one call: ids are numbered as they appear, so that
    the same id has other numbers in train and in test, or in two parts of a file. Where
    numbers must mean the same everywhere, as those of users with an embedding or of groups
    whose states are merged, pass all ids there are as `known`.

    Args:
        query_ids: `[items]`, the id of each item's list, as a list or an array of NumPy,
            pandas or JAX. Ids are integers of any size, strings, or any keys of dicts;
            floats must be whole numbers.
        known: The vocabulary: all ids there are, once each, or the `ids` of an earlier
            packing. An id has the number of its place there, and `num_segments` is their
            number, whichever of them appear.

    Returns:
        `segment_ids` and `num_segments`, for all calls that accept them, and `ids`, the
        id of the list that each value belongs to.

    Raises:
        ValueError: if there is more than one axis, an id is missing (None or NaN), or
            is a float that is not whole, or so large that its neighbours are the same; if
            an id is not known, or known twice; if there is no list, since `num_segments`
            is at least 1 everywhere.
        TypeError: if ids are traced, or cannot be the keys of a dict.

    >>> train = pack(["q7", "q30", "q7"])
    >>> pack(["q30", "q30"], known=train.ids).segment_ids.tolist()
    [1, 1]
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
    packed = numbered("query_ids", query_ids)
    if known is not None:
        packed = _pack_known(packed, numbered("known", known))
    if not packed.num_segments:
        name = "query_ids" if known is None else "known"
        raise ValueError(f"{name} is empty; pass at least one id, or ids as known")
    return packed


def numbered(name: str, values: Iterable[Hashable]) -> Packing:
    """Numbers ids as `pack` does; `name` is what errors call the argument."""
    if isinstance(values, Tracer):
        raise TypeError(f"{name} is traced; pass ids outside of jax.jit")
    refuse_masked(name, values, f"{name}.filled(…), or {name}.compressed()")
    # NumPy would make strings of the numbers in a list that holds both.
    listed = isinstance(values, (list, tuple))
    ids = _objects(values) if listed else np.asarray(values)
    if ids.ndim != 1:
        raise ValueError(f"{name} has shape {ids.shape}; pass ids along one axis")
    if ids.dtype.kind not in "iufUS":
        return _pack_objects(name, ids.astype(object), listed)
    if ids.dtype.kind == "f":
        _check_whole(name, ids)
    _, first_indices, inverse = np.unique(ids, return_index=True, return_inverse=True)
    is_first = np.zeros(ids.shape, bool)
    is_first[first_indices] = True
    # NumPy sorts ids by value; lists are numbered in order of first appearance.
    numbers = np.cumsum(is_first, dtype=np.int32) - 1
    return Packing(numbers[first_indices][inverse], first_indices.size, ids[is_first])


def _pack_known(packed: Packing, vocabulary: Packing) -> Packing:
    """Renumbers lists by the numbers that their ids have in a vocabulary."""
    known = vocabulary.ids.tolist()
    if len(vocabulary.segment_ids) > len(known):
        repeated = known[int(np.argmax(np.bincount(vocabulary.segment_ids) > 1))]
        raise ValueError(f"known holds {repeated!r} more than once; pass every id once")
    numbers = {list_id: i for i, list_id in enumerate(known)}
    ids = packed.ids.tolist()
    unknown = [list_id for list_id in ids if list_id not in numbers]
    if unknown:
        index = int(np.argmax(packed.segment_ids == ids.index(unknown[0])))
        raise ValueError(
            f"query_ids is {unknown[0]!r} at {index}, which is not in known, as are "
            f"{len(unknown)} of {len(ids)} ids; pass the ids of all data as known, or "
            "leave these items out"
        )
    new_numbers = np.array([numbers[list_id] for list_id in ids], np.int32)
    return Packing(new_numbers[packed.segment_ids], len(known), vocabulary.ids)


def _objects(values: Sequence[Hashable]) -> np.ndarray:
    """Returns the values as an array of objects, in which tuples stay whole."""
    ids = np.empty(len(values), object)
    for i, value in enumerate(values):
        ids[i] = value
    return ids


def _pack_objects(name: str, ids: np.ndarray, listed: bool) -> Packing:
    """Numbers ids with a dict, since NumPy cannot sort them."""
    numbers: dict[Hashable, int] = {}
    segment_ids = np.empty(ids.shape, np.int32)
    for i, query_id in enumerate(ids):
        try:
            segment_ids[i] = numbers.setdefault(query_id, len(numbers))
        except TypeError as error:
            raise TypeError(
                f"{name} holds {query_id!r} at {i}, which cannot be the key of a dict; "
                "pass integers or strings"
            ) from error
    for query_id, number in numbers.items():
        if query_id is None or not _equals_itself(query_id):
            index = int(np.argmax(segment_ids == number))
            raise ValueError(
                f"{name} is {query_id} at {index}; pass an id there, or leave the entry "
                "out"
            )
    query_ids = np.empty(len(numbers), object)
    query_ids[:] = list(numbers)
    if listed and len({type(query_id) for query_id in numbers}) == 1:
        # A list of strings or ints becomes an array of these, unless that changes any.
        typed = np.array(list(numbers))
        became_floats = typed.dtype.kind == "f" and not isinstance(query_ids[0], float)
        if typed.ndim == 1 and typed.tolist() == list(numbers) and not became_floats:
            query_ids = typed
    return Packing(segment_ids, len(numbers), query_ids)


def _equals_itself(value: object) -> bool:
    """Whether a value is not missing: NaN differs from itself, and pandas.NA raises."""
    try:
        return bool(value == value)
    except (TypeError, ValueError):
        return False


def _check_whole(name: str, ids: np.ndarray) -> None:
    """Raises on floats that are fractions, NaN, or too large to tell integers apart."""
    limit = 2.0 ** (np.finfo(ids.dtype).nmant + 1)
    bad = ~(np.floor(ids) == ids) | ~(np.abs(ids) < limit)
    if bad.any():
        index = int(np.argmax(bad))
        raise ValueError(
            f"{name} is {ids[index]} at {index}; pass integers or strings, or floats "
            f"that are whole and below {limit:.0f}, where {ids.dtype} tells them apart"
        )
