"""The values of all queries, collected batch by batch in arrays of one row for each slot.

One device has them on the host, in arrays of NumPy: no program is compiled, whose shapes
would depend on the number of queries. On a mesh, each device keeps the values that it
computed.
"""

import weakref
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.typing import DTypeLike

from jax_rank_metrics import _mesh
from jax_rank_metrics._drivers.batches import QueryParts
from jax_rank_metrics._drivers.checkpoints import Saved, are_equal, refuse_changed
from jax_rank_metrics._drivers.devices import EVERYWHERE, Array, Devices
from jax_rank_metrics._drivers.step import Fault, Measured
from jax_rank_metrics._formulas.catalog_exposure import exposure
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import all_reduce
from jax_rank_metrics._states.of_lists import means_of
from jax_rank_metrics._states.on_host import HostSums
from jax_rank_metrics._states.per_list import PerList

T = TypeVar("T")
# Of rows, and of columns: the ids of a batch may have fewer than k.
Index = tuple[Array | slice, ...]


class Collected(NamedTuple):
    """The values of all queries.

    Attributes:
        lists: The values of each metric; zeros where queries are not done.
        items: `[slots, k]`, the ids of the first items; −1 where there are no more.
    """

    lists: list[PerList]
    items: Array


# The state of each metric, whether each is defined for any query, and how often each item
# was found, if anybody asks.
Totals = tuple[list[Mean], list[bool], Exposure | None]


class Collector:
    """Collects values on the host; a subclass leaves them on the devices of a mesh.

    Attributes:
        collected: The values of the batches so far.
    """

    def __init__(self, devices: Devices, parts: QueryParts, k: int) -> None:
        self._devices = devices
        self._parts = parts
        self._saved: Saved | None = None
        self._lenders: list[weakref.ref[_Lender]] = []
        self.collected = Collected([], self._full(-1, (k,), np.int32))

    def restore(self, saved: Saved) -> None:
        """Begins with the values of a checkpoint; the next batch is among them."""
        self._saved = saved
        self.collected = Collected([], self._held(saved.items))

    def add(self, measured: Measured) -> tuple[int, Fault] | None:
        """Waits for a batch, and writes the values of its queries to their slots.

        Slots [4, 2, −1] take the first two of three values; the third is of padding.

        Returns:
            The index of a query with a fault, and this fault, or None.
        """
        # On the host, this waits for the batch, while the next ones are computed.
        measured = self._fetched(measured)
        # Every process sees the same fault, which a program has reduced over devices.
        slot, fault = np.asarray(measured.fault).tolist()
        if fault:
            return int(self._parts.indices.flat[slot]), Fault(fault)
        values = Collected(measured.lists, measured.items)
        # Only the first batch tells the shapes and dtypes of values.
        if not self.collected.lists:
            if self._saved:
                lists = jax.tree.map(self._held, self._saved.lists(values.lists))
            else:
                lists = jax.tree.map(
                    lambda x: self._full(0, x.shape[1:], x.dtype), values.lists
                )
            self.collected = self.collected._replace(lists=lists)
        differ = self._write(values, measured.slots)
        # The first batch after a checkpoint is measured again, and has to be the same.
        if self._saved and differ:
            refuse_changed()
        self._saved = None
        return None

    def snapshot(self) -> Collected:
        """Returns what is collected so far, in arrays that do not change later.

        They are views. While anything of them is alive, the next batch is written to a
        copy, so that a caller who keeps nothing pays for none.
        """
        lenders = []

        def view(x: np.ndarray) -> np.ndarray:
            lender = _Lender(x)
            lenders.append(weakref.ref(lender))
            return np.asarray(lender)

        views = jax.tree.map(view, self.collected)
        self._lenders = lenders
        return views

    def totals(
        self, values: Collected, kinds: Sequence[type[Mean]], num_items: int | None
    ) -> Totals:
        """Returns what is known of all queries together.

        Args:
            values: The values of all queries, once those that do not count are left out.
            kinds: The kind of state of each metric.
            num_items: How many items there are, or None if nobody asks for the exposure.
        """
        states = [
            HostSums.of_lists(lists, kind).state()
            for lists, kind in zip(values.lists, kinds, strict=True)
        ]
        is_defined = [bool(lists.defined.any()) for lists in values.lists]
        if num_items is None:
            return states, is_defined, None
        # By NumPy: the program of `exposure` would have the number of queries as its shape.
        ids = values.items
        counts = np.bincount(ids[ids >= 0], minlength=num_items)
        num_empty = np.count_nonzero((ids < 0).all(axis=1))
        tally = jnp.asarray([len(ids), num_empty, 0], jnp.int32)
        counts = jnp.asarray(counts, jnp.int32)
        return states, is_defined, Exposure(ids.shape[1], counts, tally)

    def _full(self, value: int, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """Returns one number for every slot, `[slots, *shape]`."""
        # A view: on a mesh, each process reads of it what its own devices need.
        number = np.asarray(value, dtype)
        return self._held(np.broadcast_to(number, (self._parts.num_slots, *shape)))

    def _held(self, x: Array) -> Array:
        """Returns an array `[slots, …]` where values are collected."""
        return np.array(x)  # a copy: batches are written into it

    def _fetched(self, measured: Measured) -> Measured:
        return jax.device_get(measured)

    def _write(self, values: Collected, slots: Array) -> Array | bool:
        """Writes values to slots; returns whether other values stood there."""
        if any(lender() is not None for lender in self._lenders):
            self.collected = jax.tree.map(np.copy, self.collected)
        is_query = slots >= 0  # [batch]; padding has no slot

        def write(array: np.ndarray, of_batch: np.ndarray) -> bool:
            rows, of_batch = _rows(slots[is_query], of_batch), of_batch[is_query]
            is_equal = self._saved is None or are_equal(array[rows], of_batch, np).all()
            array[rows] = of_batch
            return not is_equal

        return any(jax.tree.leaves(jax.tree.map(write, self.collected, values)))


class _Lender:
    """The owner of a read-only view: it lives as long as the view and slices of it do."""

    def __init__(self, x: np.ndarray) -> None:
        self._array = x  # kept alive, as the address below does not keep it
        address, _ = x.__array_interface__["data"]
        self.__array_interface__ = x.__array_interface__ | {"data": (address, True)}


class MeshCollector(Collector):
    """Collects values on the devices of a mesh, which are those that computed them."""

    def snapshot(self) -> Collected:
        """Returns what is collected so far; arrays of JAX do not change."""
        return self.collected

    def totals(
        self, values: Collected, kinds: Sequence[type[Mean]], num_items: int | None
    ) -> Totals:
        """Returns what is known of all queries, on the default device of each process."""
        on_devices = _totals(self._devices, tuple(kinds), num_items, values)
        states, is_defined, of_items = jax.device_get(on_devices)
        if of_items is not None:
            # Slots that are padding are no lists.
            number = self._parts.num_slots - self._parts.num_queries
            padding = np.array([number, number, 0], np.int32)
            of_items = Exposure(of_items.k, of_items.counts, of_items.tally - padding)
        states, of_items = jax.tree.map(jnp.asarray, (states, of_items))
        return states, is_defined.tolist(), of_items

    def _held(self, x: Array) -> Array:
        return self._devices.put(x, self._devices.of_queries)

    def _fetched(self, measured: Measured) -> Measured:
        return measured

    def _write(self, values: Collected, slots: Array) -> Array | bool:
        # Nothing waits for this program, which runs after those of later batches.
        self.collected, differ = _written(self._devices, self.collected, values, slots)
        return differ


def gathered(parts: QueryParts, tree: T) -> T:
    """Returns NumPy arrays of all queries, in their order, on every process.

    Args:
        parts: Which slot has which query.
        tree: Pytree of arrays `[slots, …]`.
    """
    # Slots are in the order of parts. Those of queries, in their order, leave padding out.
    arrays = multihost_utils.process_allgather(tree, tiled=True)
    return jax.tree.map(lambda x: np.asarray(x)[parts.slots], arrays)


def _rows(rows: Array, values: Array) -> Index:
    """Returns the index of rows, in the columns that the values of a batch have."""
    return rows, *(slice(size) for size in values.shape[1:])


@partial(jax.jit, static_argnums=0)
def _written(
    devices: Devices, collected: Collected, values: Collected, slots: Array
) -> tuple[Collected, jax.Array]:
    """Writes the values of a batch to their slots, each device to those of its part.

    Returns:
        What is collected then; and whether other values stood there on any device.
    """

    def local(
        collected: Collected, values: Collected, slots: jax.Array
    ) -> tuple[Collected, jax.Array]:
        def index(array: jax.Array, of_batch: jax.Array) -> Index:
            # Slots count through all parts, and a device has one part. Padding is beyond
            # its end, where nothing is written.
            rows = jnp.where(slots >= 0, slots % len(array), len(array))
            return _rows(rows, of_batch)

        def write(array: jax.Array, of_batch: jax.Array) -> jax.Array:
            return array.at[index(array, of_batch)].set(of_batch, mode="drop")

        def differs(array: jax.Array, of_batch: jax.Array) -> jax.Array:
            rows = array.at[index(array, of_batch)].get(mode="clip")
            is_equal = are_equal(rows, of_batch, jnp).reshape(len(slots), -1)
            return jnp.any((slots >= 0) & ~is_equal.all(axis=1))

        written = jax.tree.map(write, collected, values)
        of_arrays = jax.tree.leaves(jax.tree.map(differs, collected, values))
        differ = jnp.any(jnp.stack(of_arrays))
        axis = devices.queries_axis
        return written, differ if axis is None else _mesh.any_over(differ, axis)

    spec = devices.of_queries
    return devices.map(local, spec, (spec, EVERYWHERE))(collected, values, slots)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _totals(
    devices: Devices,
    kinds: tuple[type[Mean], ...],
    num_items: int | None,
    values: Collected,
) -> tuple[list[Mean], jax.Array, Exposure | None]:
    """Returns `Totals` equal on all devices; slots that are padding are empty lists."""

    def local(
        values: Collected,
    ) -> tuple[list[Mean], jax.Array, Exposure | None]:
        lists, items = values
        states = means_of(tuple(lists), None, kinds)
        of_items = None if num_items is None else exposure(items, num_items)
        is_defined = jnp.stack([jnp.any(x.defined) for x in lists])
        # Each device has the sums of its own queries; devices along the axis of items have
        # the same ones, and do not add theirs.
        if (axis := devices.queries_axis) is not None:
            states, of_items = all_reduce((states, of_items), axis)
            is_defined = _mesh.any_over(is_defined, axis)
        return states, is_defined, of_items

    return devices.map(local, devices.of_queries, EVERYWHERE)(values)
