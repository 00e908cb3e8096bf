"""Batches on the devices of a mesh, and values that stay where they were computed.

Queries are cut into as many parts as there are devices along their mesh axis. A device
takes the queries of its own part, batch by batch, and keeps their values: no embedding
of a query moves, nor does any score. Along the axis of items, devices share a query, and
exchange its candidates and counts (see `rank_catalog`).
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers import device_programs, step
from jax_rank_metrics._drivers.checkpoints import Saved, refuse_changed
from jax_rank_metrics._drivers.devices import Argument, Devices, is_global, read_devices
from jax_rank_metrics._drivers.one_device import Collected, Measure, OneDevice, Summary
from jax_rank_metrics._drivers.parts import Parts
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._types import AxisNames

T = TypeVar("T")


def read_executor(
    mesh: Mesh | None,
    queries_axis: AxisNames | None,
    items_axis: AxisNames | None,
    arguments: Sequence[Argument],
) -> "OneDevice | OverDevices":
    """Returns what is to measure the batches of a call; see `read_devices`."""
    devices = read_devices(mesh, queries_axis, items_axis, arguments)
    return OneDevice() if devices is None else OverDevices(devices)


class OverDevices:
    """The devices of a mesh do the work, those of other processes among them.

    Whatever is on the host is the same on every process, which reads what its own devices
    need of it. The methods are those of `OneDevice`.
    """

    def __init__(self, devices: Devices) -> None:
        self._devices = devices

    def batch_size(self, size: int) -> int:
        """Returns how many queries are in a batch, a multiple of the number of parts."""
        return size + -size % self._devices.num_query_parts

    def parts(self, rows: np.ndarray, table: Any) -> Parts:
        """Returns which part takes which query: that which holds its row of the table."""
        num_parts = self._devices.num_query_parts
        if not isinstance(table, jax.Array):
            return Parts.equal(rows.size, num_parts)
        return Parts.of(rows // (len(table) // num_parts), num_parts)

    def table(self, table: Any, *, of_scores: bool = False) -> Any:
        """Returns an array over queries as it is held between batches.

        A global array is cut over the axis of queries. Any other stays on the host, and
        each batch is read from it.
        """
        if not is_global(table):
            return np.asarray(table)
        devices = self._devices
        spec = devices.of_scores if of_scores else devices.of_queries
        return devices.put(table, spec)

    def rows(
        self, name: str, table: Any, indices: np.ndarray, *, of_scores: bool = False
    ) -> Any:
        """Returns the rows of a batch; of a global array, each device takes its own."""
        if not isinstance(table, jax.Array):
            return _on_host(name, table[indices])
        devices = self._devices
        spec = devices.of_scores if of_scores else devices.of_queries
        in_parts = indices % (len(table) // devices.num_query_parts)
        put_indices = devices.put(in_parts, devices.of_queries)
        return device_programs.take_rows(devices, spec, table, put_indices)

    def items(self, name: str, items: Any) -> jax.Array:
        """Returns an array over items, cut over their axis; added items are zeros."""
        items = _inputs.real(name, items) if is_global(items) else _on_host(name, items)
        return self._devices.put(items, self._devices.of_items)

    def catalog(self, catalog: step.Catalog, num_items: int) -> step.Catalog:
        """Returns the arrays over the items, cut over their axis.

        Items that are added to make parts equal are masked. The counts are whole.
        """
        devices, mask = self._devices, catalog.item_mask
        if mask is None and num_items % devices.num_item_parts:
            catalog = catalog._replace(item_mask=np.ones(num_items, bool))
        return _put(devices, catalog, device_programs.specs_of(devices, catalog))

    def program(
        self,
        plan: Plan,
        catalog: step.Catalog,
        measure_fn: step.MeasureFn = step.measure_queries,
    ) -> Measure:
        """Returns the program that measures a batch."""
        devices = self._devices
        plan = plan._replace(items_axis=devices.items_axis)
        of_scores = catalog.items is None and measure_fn is step.measure_queries
        static = measure_fn, plan, devices, of_scores

        def run(queries: Any) -> step.Measured:
            specs = device_programs.specs_of_batch(devices, queries, of_scores)
            put = _put(devices, queries._replace(key=None), specs)
            put = put._replace(key=queries.key)
            return device_programs.measure_program()(*static, catalog, put)

        return run

    def collector(self, parts: Parts, k: int) -> "ShardedCollector":
        """Returns what collects the results of batches."""
        return ShardedCollector(self._devices, parts, k)

    def summary(
        self,
        parts: Parts,
        collected: Collected,
        kinds: Sequence[type[Mean]],
        num_items: int | None,
    ) -> Summary:
        """Returns what is known of all queries, on the default device of each process."""
        on_devices = device_programs.summarize(
            self._devices, tuple(kinds), num_items, *collected
        )
        states, is_defined, exposure = jax.device_get(on_devices)
        if exposure is not None:
            # Slots that are padding are no lists.
            tally = exposure.tally - np.int32(parts.num_slots - parts.num_queries)
            exposure = Exposure(exposure.k, exposure.counts, tally)
        states, exposure = jax.tree.map(jnp.asarray, (states, exposure))
        return Summary(states, is_defined.tolist(), exposure)


def _put(devices: Devices, tree: T, specs: Any) -> T:
    """Puts a pytree of arrays; `specs` has the spec of each, or of several in one."""
    return jax.tree.map(
        lambda spec, part: jax.tree.map(lambda x: devices.put(x, spec), part),
        specs,
        tree,
    )


def _on_host(name: str, values: Any) -> np.ndarray:
    """Checks that values are real numbers, and leaves them on the host."""
    values = np.asarray(values)
    if values.dtype.kind in "iu":  # those of 64 bits may not fit 32
        return np.asarray(_inputs.real(name, values))
    _inputs.real(name, values[:0])
    return values


class ShardedCollector:
    """Collects the results of batches on the devices that computed them.

    Attributes:
        collected: The values of the batches waited for, `[slots, …]`.
    """

    def __init__(self, devices: Devices, parts: Parts, k: int) -> None:
        self.collected = Collected([], devices.full((parts.num_slots, k), -1, np.int32))
        self._started = self.collected  # with the batches that are not waited for
        self._saved: Saved | None = None
        self._devices = devices
        self._parts = parts
        self._slots = parts.slots

    def restore(self, saved: Saved) -> None:
        """Begins with the values of a checkpoint; the next batch is among them."""
        self._saved = saved
        self._started = Collected([], self._put(saved.items))

    def start(self, indices: np.ndarray, measured: step.Measured) -> Any:
        """Starts to store the values of a batch, after those of all batches before it.

        Args:
            indices: `[size]`, the index of each query of the batch; −1 for padding.
            measured: What was measured for these queries.
        """
        lists, ids, faults = measured
        if not self._started.lists:
            saved = self._saved
            all_lists = (
                jax.tree.map(self._zeros, lists)
                if saved is None
                else saved.lists(lists, self._put)
            )
            self._started = self._started._replace(lists=all_lists)
        size = self._parts.indices.shape[1]
        slots = np.where(indices >= 0, self._slots[indices] % size, size)
        slots = slots.astype(np.int32)
        batch = Collected(lists, ids), faults, self._put(slots)
        if self._saved is not None:
            if not device_programs.holds(self._devices, self._started, *batch):
                refuse_changed()
            self._saved = None
        pending = device_programs.store(self._devices, self._started, *batch)
        self._started, _ = pending
        return pending

    def wait(self, pending: Any) -> tuple[int, step.Fault] | None:
        """Waits for a batch that was started.

        Returns:
            The index of a query with a fault, and this fault, or None.
        """
        self.collected, slot_and_fault = pending
        slot, fault = np.asarray(slot_and_fault).tolist()
        if slot < 0:
            return None
        return int(self._parts.indices.flat[slot]), step.Fault(fault)

    def snapshot(self) -> Collected:
        """Returns what is collected so far, in arrays that do not change later."""
        return self.collected

    def _put(self, x: Any) -> jax.Array:
        return self._devices.put(x, self._devices.of_queries)

    def _zeros(self, x: jax.Array) -> jax.Array:
        shape = (self._parts.num_slots, *x.shape[1:])
        return self._devices.full(shape, 0, x.dtype)


def gathered(parts: Parts, tree: T) -> T:
    """Returns NumPy arrays of all queries, in their order, on every process.

    Args:
        parts: Which slot has which query.
        tree: Pytree of arrays `[slots, …]`.
    """
    arrays = multihost_utils.process_allgather(tree, tiled=True)
    return jax.tree.map(lambda x: np.asarray(x)[parts.slots], arrays)
