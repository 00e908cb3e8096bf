"""Checkpoints: what is done after each batch, to be saved and taken up again."""

import functools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers.devices import Array, is_global
from jax_rank_metrics._metrics.spec import Bound
from jax_rank_metrics._states.per_list import PerList

# A pytree of arrays, so that orbax, pickle or NumPy save it as it is:
#     batches  how many batches are done
#     call     what a call that resumes must have in common with it; see `Call`
#     lists    a `PerList` for each metric, by its name; queries not done have the weight 0
#     items    the ids of the first items
Checkpoint = dict[str, Any]

_CURE = "pass what on_batch was called with, in a call with the same arguments"
_DAMAGED = "resume_from is damaged, or of another function or version: "

# Arrays of more bytes are read at rows of equal distances. A disk reads a row as quickly as
# that many bytes of a file.
_MAX_BYTES, _ROW_BYTES = 2**28, 2**16


# Numbers that a call must have in common with the one that it resumes, int32: "queries" and
# "parts", how many there are; "k"; "batch_size"; and by their names, under "arguments", a
# `checksum` of all else.
Call = dict[str, Any]


class Saved(NamedTuple):
    """A checkpoint, checked.

    Attributes:
        num_batches: How many batches are done.
        leaves: The arrays of all metrics: values, weights and `defined` of each.
        items: The ids of the first items.
    """

    num_batches: int
    leaves: list[Array]
    items: Array

    def lists(self, like: list[PerList]) -> list[PerList]:
        """Returns the values of all metrics, in the structure of those of a batch.

        Raises:
            ValueError: if arrays of the checkpoint are not of these metrics.
        """
        leaves, structure = jax.tree.flatten(like)
        for saved, leaf in zip(self.leaves, leaves, strict=True):
            _check_kind("lists", saved, (len(self.items), *leaf.shape[1:]), leaf.dtype)
        return jax.tree.unflatten(structure, self.leaves)


def read_checkpoint(
    checkpoint: Any,
    call: Call,
    metric_names: Sequence[str],
    num_batches: int,
    num_slots: int,
) -> Saved:
    """Checks that a checkpoint is of this call.

    Args:
        checkpoint: The argument `resume_from`.
        call: This call.
        metric_names: The names of what is measured.
        num_batches: How many batches there are.
        num_slots: How many rows the values of all queries have.

    Raises:
        TypeError: if it is no checkpoint.
        ValueError: if it is of a call with other arguments, or damaged.
    """
    keys = {"batches", "call", "lists", "items"}
    if not isinstance(checkpoint, Mapping) or set(checkpoint) != keys:
        raise TypeError(f"resume_from is a {type(checkpoint).__name__}; {_CURE}")
    # What differs is named first; damage is what is left.
    _check_call(checkpoint["call"], call)
    lists = checkpoint["lists"]
    if set(lists) != set(metric_names):
        raise ValueError(
            f"resume_from holds {sorted(lists)}, and this call {sorted(metric_names)}; "
            + _CURE
        )
    leaves = []
    for name in metric_names:
        values = lists[name]
        if isinstance(values, PerList):
            values = dict(zip(_FIELDS, jax.tree.leaves(values), strict=True))
        # Else a pytree that was restored without its classes.
        if not isinstance(values, Mapping) or not {*_FIELDS} <= {*values}:
            raise ValueError(f"{_DAMAGED}its {name!r} is no PerList; {_CURE}")
        leaves += [_array(values[key]) for key in _FIELDS]
    number, items = int(checkpoint["batches"]), _array(checkpoint["items"])
    if not 1 <= number <= num_batches:
        raise ValueError(
            f"{_DAMAGED}it says that {number} batches are done, and there are "
            f"{num_batches}; {_CURE}"
        )
    _check_kind("items", items, (num_slots, int(call["k"])), np.dtype(np.int32))
    return Saved(number, leaves, items)


_FIELDS = ("values", "weights", "defined")


def _array(x: Any) -> Array:
    return x if isinstance(x, jax.Array) else np.asarray(x)


def _check_call(saved: Any, call: Call) -> None:
    """Raises ValueError unless a checkpoint is of this call."""
    if jax.tree.structure(saved) != jax.tree.structure(call):
        raise ValueError(
            f"{_DAMAGED}its 'call' holds {_names_in(saved)}, and not "
            f"{_names_in(call)}; {_CURE}"
        )
    for name in ("queries", "k", "batch_size", "parts"):
        if (number := int(saved[name])) != call[name]:
            raise ValueError(
                f"resume_from is of a call with {name} {number}, and this one has "
                f"{call[name]}; {_CURE}"
            )
    arguments = call["arguments"]
    # All that changed are named, since one change may cause another: ties and key.
    if changed := [x for x in arguments if saved["arguments"][x] != arguments[x]]:
        raise ValueError(
            f"resume_from is of a call with other {', '.join(changed)}; {_CURE}"
        )


def _names_in(tree: Any) -> list[str]:
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    return [str(getattr(path[-1], "key", path[-1])) for path in paths if path]


def _check_kind(name: str, saved: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Raises ValueError unless an array of a checkpoint has this shape and dtype."""
    if (saved.shape, saved.dtype) != (shape, dtype):
        raise ValueError(
            f"resume_from has {name} of {_inputs.kind_of(saved)}, and this call has "
            f"{dtype} {shape}; {_CURE}"
        )


def are_equal(a: Array, b: Array, xp: ModuleType) -> Array:
    """Whether entries of two arrays are equal, floats to 1e-6 and NaN to NaN; bools.

    Args:
        a: An array.
        b: One of the same shape.
        xp: `numpy` or `jax.numpy`.
    """
    if not jnp.issubdtype(a.dtype, jnp.floating):
        return a == b
    return xp.isclose(a, b, rtol=1e-6, atol=1e-6, equal_nan=True)


def refuse_changed() -> None:
    """Raises `ValueError`, since a batch that is measured again has other values."""
    raise ValueError(
        "resume_from holds other values of a batch than this call measures, as if the "
        "model, a function or data have changed since; pass what they were, or leave out "
        "resume_from to begin again"
    )


def checksum(value: Any) -> int:
    """Returns an int32 that almost always differs between different arguments.

    Args:
        value: Text, numbers, arrays, sparse rows, functions, metrics, None, or lists,
            tuples and dicts of such. Of functions the name is read, of iterators nothing,
            and of arrays of which other processes hold parts, dtype and shape.
    """
    # A checksum is the same in every process, other than `hash`.
    number = 0
    for part in _parts_of(value, _MAX_BYTES):
        number = zlib.crc32(part, number)
    return number & _inputs.MAX_INT32


def _parts_of(value: Any, max_bytes: int) -> Iterator[Any]:
    """Yields an argument as bytes, in several parts, about `max_bytes` in all."""
    import scipy.sparse

    kind: type = type(value)
    yield b","  # so that ["ab"] and ["a", "b"] differ
    if isinstance(value, Iterator):
        yield b"iterator"
    elif isinstance(value, (jax.Array, np.ndarray)):
        yield f"{value.dtype} {value.shape}".encode()
        yield from _bytes_of(value, max_bytes)
    elif isinstance(value, scipy.sparse.csr_array):
        yield from _parts_of((value.indptr, value.indices, value.data), max_bytes)
    elif isinstance(value, Bound):
        yield from _parts_of((value.name, value.options), max_bytes)
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield repr(key).encode()
            yield from _parts_of(entry, max_bytes // len(value))
    elif isinstance(value, (list, tuple)):
        yield str(len(value)).encode()
        for entry in value:
            yield from _parts_of(entry, max_bytes // len(value))
    # Before functions: the repr of their arguments may leave out most numbers.
    elif isinstance(value, jax.tree_util.Partial | functools.partial):
        yield from _parts_of((value.func, value.args, value.keywords), max_bytes)
    elif callable(value) and hasattr(value, "__qualname__"):
        yield value.__qualname__.encode()
    elif kind.__repr__ is object.__repr__:
        yield kind.__qualname__.encode()  # its repr is an address
    else:
        yield repr(value).encode()


def _bytes_of(x: jax.Array | np.ndarray, max_bytes: int) -> Iterator[Any]:
    """Yields the bytes of an array, or of some rows of one that is large."""
    if isinstance(x, jax.Array):
        if not x.is_fully_addressable:  # other processes would read other bytes
            return
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            x = jax.random.key_data(x)
    if x.nbytes > max_bytes:
        if is_global(x):
            # Each part once, where devices repeat it; a whole copy may not fit on one.
            shards = [s.data for s in x.addressable_shards if s.replica_id == 0]
            for shard in shards:
                yield from _bytes_of(shard, max_bytes // len(shards))
            return
        # Of 10 rows of which 4 may be read, these are rows 0, 3, 6 and 9.
        num_rows = max(1, max_bytes // max(x.nbytes // len(x), _ROW_BYTES))
        x = x[np.linspace(0, len(x) - 1, num_rows).astype(np.int64)]
    yield np.ascontiguousarray(x).reshape(-1).view(np.uint8)
