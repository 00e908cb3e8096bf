"""Ids of lists, of any kind: `jrm.hash_ids`, `jrm.pack`, and weights by id."""

import hashlib
import itertools
import numbers
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jax_rank_metrics._ground import messages, types
from jax_rank_metrics._ground.inputs import arrays
from jax_rank_metrics._ground.inputs.arrays import numpy_array
from jax_rank_metrics._ground.inputs.libraries import (
    by_ids,
    is_missing,
    is_of_jax,
    keys_of,
    refuse_masked,
    refuse_missing,
)

_INT32 = np.iinfo(np.int32)

# The code that makes each item's list from the sizes of lists, which gradient boosting
# libraries take.
IDS_OF_SIZES = "np.repeat(np.arange(len(sizes)), sizes)"


def hash_ids(ids: types.ListIds) -> np.ndarray:
    """Hashes ids of lists to pairs of int32, the same in every process and on every host.

    `bootstrap` hashes ids by itself. Inside `jax.jit`, where arrays cannot hold strings,
    pass it these pairs. Strings and bytes are hashed by BLAKE2b; among a billion of them,
    there is a collision with a probability of 3 %. Integers of up to 64 bits keep all of
    their bits, and `bootstrap` draws the same for their pairs as for the integers.

    Args:
        ids: `[*lists]` strings, bytes or integers of up to 64 bits.

    Returns:
        `[*lists, 2]` int32.

    Raises:
        TypeError: if ids are of another kind, or are traced.
        ValueError: if an integer has more than 64 bits.

    >>> hash_ids([7, -1, 2**40 + 7]).tolist(), hash_ids(["q7"]).shape
    ([[7, 0], [-1, -1], [7, 256]], (1, 2))
    """
    if isinstance(ids, Tracer):
        raise TypeError("ids is traced; call hash_ids outside jax.jit")
    return _hashed(ids)


def list_ids(ids: Any) -> jax.Array:
    """Returns ids as int32 `[*lists]` if all ids fit, and else as pairs `[*lists, 2]`.

    For a JAX array the dtype decides: uint32, and 64-bit ids with x64 on, become pairs.
    Pairs that were hashed before are int32, so they are returned unchanged.
    """
    if not is_of_jax(ids) or arrays.is_wide(ids):
        array = _on_host(ids)
        if array.dtype.kind not in "iu" or not _fits(array):
            return jnp.asarray(_hashed(array))
        return jnp.asarray(array.astype(np.int32))
    ids = arrays.integers("ids", ids)
    if ids.dtype.itemsize < 4 or ids.dtype == jnp.int32:
        return ids.astype(jnp.int32)
    low = ids.astype(jnp.uint32).astype(jnp.int32)
    high = ids >> 32 if ids.dtype.itemsize == 8 else jnp.zeros_like(ids)
    return jnp.stack([low, high.astype(jnp.uint32).astype(jnp.int32)], axis=-1)


def _fits(ids: np.ndarray) -> bool:
    return not ids.size or (ids.min() >= _INT32.min and ids.max() <= _INT32.max)


def _on_host(ids: Any) -> np.ndarray:
    """Returns ids as an array of integers, strings or objects."""
    refuse_masked("ids", ids, "ids.compressed(), or an id for every list")
    try:
        array = np.asarray(ids)
    except (TypeError, ValueError, RuntimeError):
        return arrays.numpy_array("ids", ids)  # raises, with the reason
    if array.dtype.kind not in "iu" and isinstance(ids, Sequence):
        # NumPy would turn numbers beside strings into strings, large numbers into floats.
        return np.asarray(ids, object)
    if array.dtype.kind in "UST" or array.dtype == object:
        return array
    array = arrays.numpy_array("ids", ids)
    if array.dtype.kind not in "iu":
        refuse_missing("ids", array)
        raise TypeError(
            f"ids: dtype is {array.dtype}; pass an array of integers or of strings"
        )
    return array


def _hashed(ids: Any) -> np.ndarray:
    array = _on_host(ids)
    if array.dtype.kind not in "iu":
        words = [*map(_word, array.ravel().tolist(), itertools.count())]
        array = np.array(words, np.int64).reshape(array.shape)
    bits = array.astype(np.int64).astype(np.uint64)  # as two's complement
    pairs = [bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(32)]
    return np.stack(pairs, axis=-1).astype(np.uint32).view(np.int32)


def _word(list_id: Any, place: int) -> int:
    """Returns 64 bits of an id, as a signed integer."""
    if isinstance(list_id, numbers.Integral) and not isinstance(list_id, bool):
        number = int(list_id)
        if not -(2**63) <= number < 2**64:
            raise ValueError(
                f"ids: {number} has more than 64 bits; pass it as a string"
            )
        return number if number < 2**63 else number - 2**64
    if isinstance(list_id, str):
        list_id = list_id.encode("utf-8", "surrogatepass")
    if not isinstance(list_id, bytes):
        raise TypeError(
            f"ids: got {list_id!r} at {place}; pass integers or strings, as "
            "[str(x) for x in ids]"
        )
    digest = hashlib.blake2b(list_id, digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


class Packing(NamedTuple):
    """The result of `pack`.

    Attributes:
        segment_ids: `[items]` int32, the list of every item, counted from 0.
        num_segments: The number of lists, or of known ids.
        ids: `[num_segments]`, the id of every list, in order of first appearance, or the
            known ids. `list_ids` is the same array, under the name that results of drivers
            use.
    """

    segment_ids: np.ndarray
    num_segments: int
    ids: np.ndarray

    @property
    def list_ids(self) -> np.ndarray:
        """The `ids`, under the name that results of drivers use."""
        return self.ids

    def __repr__(self) -> str:
        """Shows the numbers of items and of lists, and the first ids."""
        first = ", ".join(map(repr, self.ids[:3].tolist()))
        dots = ", …" if len(self.ids) > 3 else ""
        return (
            f"Packing({len(self.segment_ids)} items, {self.num_segments} lists: "
            f"{first}{dots})"
        )


@messages.short_errors()
def pack(
    query_ids: Iterable[Hashable], known: Iterable[Hashable] | None = None
) -> Packing:
    """Numbers lists by their ids, for flat arrays as in LETOR and MSLR files.

    If you have the sizes of lists, as LightGBM and XGBoost take them, the ids are
    `np.repeat(np.arange(len(sizes)), sizes)`.

    The items of a list need not be neighbours. This runs on the host, so call it outside
    `jax.jit`. `num_segments` is static: each number of lists compiles its own program. A
    loop over parts of a file may pass the same larger number every time, since lists
    without items do not count.

    A number means its list only within one call. Ids are numbered as they appear, so the
    same id may have different numbers in train and in test, or in two parts of a file. If
    numbers must mean the same everywhere, such as the numbers of users with an embedding,
    or of groups whose states are merged, pass all possible ids as `known`.

    Args:
        query_ids: `[items]`, the id of each item's list, as a list or an array of NumPy,
            pandas or JAX. Ids are integers of any size, strings, or any keys of dicts;
            floats must be whole numbers.
        known: The vocabulary: all possible ids, once each, or the `ids` of an earlier
            packing. An id's number is its index in `known`, and `num_segments` is the
            length of `known`, even if some of its ids do not appear.

    Returns:
        `segment_ids` and `num_segments`, for all calls that accept them; and `ids`, the id
        of each list, in the order of the lists' values. Calls also take the whole result,
        as `segment_ids=packed`. If two systems were packed in different orders, compare
        their values by `compare(a, b, ids=(packed_a.ids, packed_b.ids))`.

    Raises:
        ValueError: if there is more than one axis; if an id is missing (None or NaN), or is
            a float that is not whole, or so large that its dtype cannot tell it from its
            neighbours; if an id is not in `known`, or is in `known` twice; if there is no
            list, since `num_segments` is at least 1 everywhere.
        TypeError: if ids are traced, or cannot be the keys of a dict.

    >>> train = pack(["q7", "q30", "q7"])
    >>> pack(["q30", "q30"], known=train.ids).segment_ids.tolist()
    [1, 1]
    >>> from jax_rank_metrics import evaluate, pack
    >>> packed = pack(["q7", "q7", "q30", "q7", "q30"])
    >>> packed
    Packing(5 items, 2 lists: 'q7', 'q30')
    >>> packed.segment_ids.tolist(), packed.num_segments, packed.ids.tolist()
    ([0, 0, 1, 0, 1], 2, ['q7', 'q30'])
    >>> labels, scores = np.array([0, 1, 1, 0, 0]), np.array([0.9, 0.5, 0.7, 0.1, 0.2])
    >>> states = evaluate("mrr", labels, scores, segment_ids=packed)
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


def numbered(name: str, values: Iterable[Hashable], places: Any = None) -> Packing:
    """Numbers ids as `pack` does.

    Args:
        name: The name of the argument, for errors.
        values: The ids.
        places: The position of each id, for errors; None for the indices of ids.
    """
    if isinstance(values, Tracer):
        raise TypeError(f"{name} is traced; pass ids outside of jax.jit")
    refuse_masked(name, values, f"{name}.filled(…), with an id for what is masked")
    ids, listed = keys_of(values), isinstance(values, (list, tuple))
    if ids.ndim != 1:
        raise ValueError(f"{name} has shape {ids.shape}; pass ids along one axis")
    if places is None or len(places) != len(ids):
        places = range(len(ids))
    if ids.dtype.kind not in "iufUS":
        return _pack_objects(name, ids.astype(object), listed, places)
    if ids.dtype.kind == "f":
        _check_whole(name, ids, places)
    _, first_indices, inverse = np.unique(ids, return_index=True, return_inverse=True)
    is_first = np.zeros(ids.shape, bool)
    is_first[first_indices] = True
    # NumPy sorts ids by value, but lists are numbered in order of first appearance.
    numbers = np.cumsum(is_first, dtype=np.int32) - 1
    return Packing(numbers[first_indices][inverse], first_indices.size, ids[is_first])


def repeated_id(packed: Packing) -> Hashable | None:
    """Returns the id that occurs most often, or None if each occurs once."""
    counts = np.bincount(packed.segment_ids)
    if counts.max(initial=0) <= 1:
        return None
    return packed.ids.tolist()[counts.argmax()]


def _pack_known(packed: Packing, vocabulary: Packing) -> Packing:
    """Renumbers lists by the indices of their ids in a vocabulary."""
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
            f"query_ids is {unknown[0]!r} at {index}, which is not in known; known lacks "
            f"{len(unknown)} of {len(ids)} ids; pass the ids of all data as known, or "
            "leave these items out"
        )
    new_numbers = np.array([numbers[list_id] for list_id in ids], np.int32)
    return Packing(new_numbers[packed.segment_ids], len(known), vocabulary.ids)


def _pack_objects(name: str, ids: np.ndarray, listed: bool, places: Any) -> Packing:
    """Numbers ids with a dict, since NumPy cannot sort them."""
    numbers: dict[Hashable, int] = {}
    segment_ids = np.empty(ids.shape, np.int32)
    for i, query_id in enumerate(ids):
        try:
            segment_ids[i] = numbers.setdefault(query_id, len(numbers))
        except TypeError as error:
            raise TypeError(
                f"{name} holds {query_id!r} at {places[i]}, which cannot be the key of a "
                "dict; pass integers or strings"
            ) from error
    if any(map(is_missing, numbers)):
        refuse_missing(name, ids, "an id there", places)
    query_ids = np.empty(len(numbers), object)
    query_ids[:] = list(numbers)
    if listed and len({type(query_id) for query_id in numbers}) == 1:
        # A list of strings or ints becomes an array of them, unless that changes an id.
        typed = np.array(list(numbers))
        became_floats = typed.dtype.kind == "f" and not isinstance(query_ids[0], float)
        if typed.ndim == 1 and typed.tolist() == list(numbers) and not became_floats:
            query_ids = typed
    return Packing(segment_ids, len(numbers), query_ids)


def _check_whole(name: str, ids: np.ndarray, places: Any) -> None:
    """Raises for floats that are fractions, NaN, or too large to tell integers apart."""
    limit = 2.0 ** (np.finfo(ids.dtype).nmant + 1)
    bad = ~(np.floor(ids) == ids) | ~(np.abs(ids) < limit)
    if bad.any():
        index = int(np.argmax(bad))
        raise ValueError(
            f"{name} is {ids[index]} at {places[index]}; pass integers or strings, or "
            f"floats that are whole and below {limit:.0f}, where {ids.dtype} tells them "
            "apart"
        )


def refuse_sizes(name: str, ids: Any, items_name: str, shape: Sequence[int]) -> None:
    """Raises if there are fewer ids than items: sizes of lists were probably passed.

    Only shapes are read, so ids may be traced, and may be sizes that `pack` numbered.

    Args:
        name: The argument that holds the list of each item.
        ids: The value of that argument.
        items_name: An argument with an entry for each item.
        shape: The shape of `items_name`.
    """
    if np.ndim(ids) == len(shape) == 1 and np.shape(ids)[0] < shape[0]:
        raise ValueError(
            f"{name} has shape {np.shape(ids)}, but {items_name} has shape {tuple(shape)}; "
            f"pass the list of each item; if these are sizes of lists, pass {IDS_OF_SIZES}"
        )


@messages.short_errors()
def weights_of_lists(value: Any, ids: Any, units: str) -> np.ndarray | None:
    """Returns the weight of each list, `[lists]` float32, in the order of the ids.

    Args:
        value: The argument `list_weights`: numbers in the order of lists, or a Series, a
            dict or a frame keyed by id; if None, None is returned.
        ids: The id of each list.
        units: A plural for the lists, such as "users".

    Raises:
        ValueError: unless there is one weight for each list, at least 0 and finite; or
            from `check_weights`.
    """
    if value is None:
        return None
    weights = numpy_array("list_weights", by_ids("list_weights", value, ids, units))
    if weights.shape != (len(ids),) or weights.dtype.kind not in "biuf":
        raise ValueError(
            f"list_weights holds {weights.dtype} of shape {weights.shape}; pass one number "
            f"for each of {len(ids)} {units}"
        )
    is_wrong = ~(weights >= 0) | ~np.isfinite(weights)
    if is_wrong.any():
        raise ValueError(
            f"list_weights is {weights[is_wrong][0]} at {ids[int(np.argmax(is_wrong))]}; "
            "pass finite numbers of at least 0"
        )
    check_weights("list_weights", weights)
    return weights.astype(np.float32)


_LARGEST_WEIGHT = 1e12


def check_weights(name: str, value: object) -> None:
    """Raises if sums of positive weights of lists might overflow or vanish in float32.

    Weights in JAX arrays are not checked, because a read would have to wait for the device.
    """
    if (weights := arrays.on_host(name, value)) is None:
        return
    positive = weights[weights > 0].astype(np.float64)
    is_wrong = (positive < 1 / _LARGEST_WEIGHT) | (positive > _LARGEST_WEIGHT)
    if not is_wrong.any():
        return
    cure = "divide them by their mean"
    if not np.isfinite(positive).all():
        cure = "pass finite numbers"
    elif (positive / positive.max()).min() * _LARGEST_WEIGHT < 1:
        cure = (
            f"pass 0 for weights far below the largest, {positive.max():g}, and {cure}"
        )
    raise ValueError(
        f"{name} holds {positive[is_wrong][0]:g}, but sums in float32 are exact enough "
        f"only for weights from {1 / _LARGEST_WEIGHT:g} to {_LARGEST_WEIGHT:g}; {cure}"
    )
