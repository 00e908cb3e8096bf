"""Checkpoints: what is done after each batch, to be saved and taken up again."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._states.per_list import PerList

# A pytree of arrays, so that orbax, pickle or NumPy save it as it is:
#     batches  how many batches are done
#     call     what the call must have in common with one that resumes; see `Call`
#     lists    a `PerList` for each metric, by its name; queries not done have the weight 0
#     items    the ids of the first items
Checkpoint = dict[str, Any]

_CURE = "pass what on_batch was called with, in a call with the same arguments"


class Call(NamedTuple):
    """Says what a call must have in common with the one that it resumes."""

    queries: int
    k: int
    batch_size: int
    parts: int  # into how many parts devices cut the queries
    checksum: int  # of all else

    def checkpoint(
        self,
        num_batches: int,
        metric_names: Sequence[str],
        lists: Sequence[PerList],
        items: Any,
    ) -> Checkpoint:
        """Returns what is done after a number of batches."""
        return {
            "batches": np.asarray(num_batches, np.int32),
            "call": {
                name: np.asarray(value, np.int32)
                for name, value in self._asdict().items()
            },
            "lists": dict(zip(metric_names, lists, strict=True)),
            "items": items,
        }


class Saved(NamedTuple):
    """A checkpoint, checked.

    Attributes:
        num_batches: How many batches are done.
        leaves: The arrays of all metrics: values, weights and `defined` of each.
        items: The ids of the first items.
    """

    num_batches: int
    leaves: list[Any]
    items: Any

    def lists(self, like: list[PerList], put: Callable[[Any], Any]) -> list[PerList]:
        """Returns the values of all metrics.

        Args:
            like: The values of a batch.
            put: Makes an array of the collector of a saved one.

        Raises:
            ValueError: if arrays of the checkpoint are not of these metrics.
        """
        leaves, structure = jax.tree.flatten(like)
        for saved, leaf in zip(self.leaves, leaves, strict=True):
            if (saved.shape[1:], saved.dtype) != (leaf.shape[1:], leaf.dtype):
                raise ValueError(
                    f"resume_from holds {saved.dtype} values of shape {saved.shape}, and "
                    f"this call has {leaf.dtype} values of shape {leaf.shape} in a batch; "
                    f"{_CURE}"
                )
        return jax.tree.unflatten(structure, map(put, self.leaves))


def read_checkpoint(checkpoint: Any, call: Call, metric_names: Sequence[str]) -> Saved:
    """Checks that a checkpoint is of this call.

    Raises:
        TypeError: if it is no checkpoint.
        ValueError: if it is of a call with other arguments.
    """
    keys = {"batches", "call", "lists", "items"}
    if not isinstance(checkpoint, Mapping) or set(checkpoint) != keys:
        raise TypeError(f"resume_from is a {type(checkpoint).__name__}; {_CURE}")
    actual = Call(**{name: int(x) for name, x in checkpoint["call"].items()})
    for name, value in call._asdict().items():
        saved_value = getattr(actual, name)
        if saved_value == value:
            continue
        if name == "checksum":
            raise ValueError(
                "resume_from is of a call with other metrics, ids, item_mask, ties or "
                "key; " + _CURE
            )
        raise ValueError(
            f"resume_from is of a call with {name} {saved_value}, and this one has "
            f"{value}; {_CURE}"
        )
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
            leaves += jax.tree.leaves(values)
        else:  # a pytree that was restored without its classes
            leaves += [values[key] for key in ("values", "weights", "defined")]
    return Saved(int(checkpoint["batches"]), leaves, checkpoint["items"])


def checksum(inputs: Iterable[Any]) -> int:
    """Returns an int32 that almost always differs between different inputs.

    Args:
        inputs: Text, arrays, sparse rows, keys and None. Of arrays of which other
            processes hold parts, none is read.
    """
    number = 0
    for value in inputs:
        for part in _parts_of(value):
            number = zlib.crc32(part, number)
        number = zlib.crc32(b"next", number)  # None is an input too
    return number & _inputs.MAX_INT32


def _parts_of(value: Any) -> list[Any]:
    """Returns the bytes of an input, in one or more parts."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value.encode()]
    if not isinstance(value, (jax.Array, np.ndarray)):
        arrays = [value.indptr, value.indices, value.data]
    elif isinstance(value, jax.Array) and not value.is_fully_addressable:
        arrays = []
    elif jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        arrays = [np.asarray(jax.random.key_data(value))]
    else:
        arrays = [np.asarray(value)]
    return [np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in arrays]
