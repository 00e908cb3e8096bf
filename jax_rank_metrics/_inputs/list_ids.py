"""`jrm.hash_ids`: the ids of lists, of any kind, as numbers of 32 bits.

A 64-bit number is two words of int32, the lower one first, so that no x64 is needed. An
integer that fits int32 has the same draws in a bootstrap as one word and as two.
"""

import hashlib
import numbers
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jax_rank_metrics._inputs import arrays
from jax_rank_metrics._inputs.labelled import refuse_masked
from jax_rank_metrics._inputs.libraries import is_of_jax
from jax_rank_metrics._types import ListIds

_INT32 = np.iinfo(np.int32)


def hash_ids(ids: ListIds) -> np.ndarray:
    """Hashes ids of lists to pairs of int32, the same in every process and on every host.

    `bootstrap` does so by itself; inside `jax.jit`, where there are no strings, pass it
    these pairs. Strings and bytes are hashed by BLAKE2b; that two of a billion share their
    hash has a probability of 3 %. Integers of up to 64 bits keep all of their bits, and
    have the same draws as the integers themselves.

    Args:
        ids: `[*lists]` strings, bytes or integers of up to 64 bits.

    Returns:
        `[*lists, 2]` int32.

    Raises:
        TypeError: if ids are neither, or are traced.
        ValueError: if an integer has more than 64 bits.

    >>> hash_ids([7, -1, 2**40 + 7]).tolist(), hash_ids(["q7"]).shape
    ([[7, 0], [-1, -1], [7, 256]], (1, 2))
    """
    if isinstance(ids, Tracer):
        raise TypeError("ids is traced; call hash_ids outside jax.jit")
    return _hashed(ids)


def list_ids(ids: Any) -> jax.Array:
    """Returns ids as int32 `[*lists]` where all fit, and else as pairs `[*lists, 2]`.

    Pairs that were hashed before are int32 already, and stay.
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
        return arrays.numpy_array("ids", ids)  # raises, and says why
    if array.dtype.kind not in "iu" and isinstance(ids, Sequence):
        # Of a list of numbers and strings NumPy makes strings, of large numbers floats.
        return np.asarray(ids, object)
    if array.dtype.kind in "UST" or array.dtype == object:
        return array
    array = arrays.numpy_array("ids", ids)
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"ids: dtype is {array.dtype}; pass an array of integers or of strings"
        )
    return array


def _hashed(ids: Any) -> np.ndarray:
    array = _on_host(ids)
    if array.dtype.kind not in "iu":
        words = [_word(x) for x in array.ravel().tolist()]
        array = np.array(words, np.int64).reshape(array.shape)
    bits = array.astype(np.int64).astype(np.uint64)  # as two's complement
    pairs = [bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(32)]
    return np.stack(pairs, axis=-1).astype(np.uint32).view(np.int32)


def _word(list_id: Any) -> int:
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
            f"ids: got {list_id!r}; pass integers or strings, as [str(x) for x in ids]"
        )
    digest = hashlib.blake2b(list_id, digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
