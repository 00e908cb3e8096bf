"""The programs of many devices: a batch, the values of all batches, and their states.

Each is a `jax.shard_map` over the mesh. Queries are cut over one of its axes or tuples of
axes, and items over another; no device needs a query of others, nor their items.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec

from jax_rank_metrics import _mesh
from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.checkpoints import are_equal
from jax_rank_metrics._drivers.devices import Devices
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._formulas.exposure import exposure
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import all_reduce
from jax_rank_metrics._states.of_lists import means_of
from jax_rank_metrics._states.per_list import PerList

EVERYWHERE = PartitionSpec()


@partial(jax.jit, static_argnums=(0, 1))
def take_rows(
    devices: Devices, spec: PartitionSpec, table: jax.Array, indices: jax.Array
) -> jax.Array:
    """Returns the rows of a batch; each device takes them from its own part of a table.

    Args:
        devices: The devices.
        spec: How the table is cut.
        table: `[rows, …]`, cut over the axis of queries.
        indices: `[size]`, indices into the part of each device, cut over the same axis.
    """

    def local(table: jax.Array, indices: jax.Array) -> jax.Array:
        return table[indices]

    specs = (spec, devices.of_queries)
    return jax.shard_map(local, mesh=devices.mesh, in_specs=specs, out_specs=spec)(
        table, indices
    )


def specs_of(devices: Devices, catalog: step.Catalog) -> step.Catalog:
    """Returns how the arrays of a catalogue are cut: over the axis of items, or whole."""
    of_items = jax.tree.map(lambda _: devices.of_items, catalog)
    return of_items._replace(counts=EVERYWHERE, origin=EVERYWHERE, groups=EVERYWHERE)


def specs_of_batch(devices: Devices, queries: Any, of_scores: bool) -> Any:
    """Returns how the arrays of a batch are cut: over the axis of queries; keys are whole.

    Args:
        devices: The devices.
        queries: A `QueryBatch`, or one of candidates.
        of_scores: Whether its rows are scores, which are cut over the axis of items too.
    """
    of_queries = jax.tree.map(lambda _: devices.of_queries, queries)
    if of_scores:
        of_queries = of_queries._replace(rows=devices.of_scores)
    return of_queries._replace(key=EVERYWHERE)


def measure(
    measure_fn: step.MeasureFn,
    plan: Plan,
    devices: Devices,
    of_scores: bool,
    catalog: step.Catalog,
    queries: Any,
) -> step.Measured:
    """Measures a batch as `measure_fn` does, each device for its own queries.

    Args:
        measure_fn: Such as `step.measure_queries`.
        plan: The options of all batches, of which `items_axis` is that of the devices.
        devices: The devices.
        of_scores: See `specs_of_batch`.
        catalog: The arrays over the items; see `specs_of`.
        queries: The arrays of the batch; see `specs_of_batch`.

    Returns:
        The result of `measure_fn`, cut over the axis of queries.
    """

    def local(catalog: step.Catalog, queries: Any) -> step.Measured:
        if queries.key is not None and devices.queries_axis is not None:
            # Devices that share a query draw the same ties, and others do not.
            part = lax.axis_index(devices.queries_axis)
            queries = queries._replace(key=jax.random.fold_in(queries.key, part))
        return measure_fn(plan, catalog, queries)

    in_specs = (
        specs_of(devices, catalog),
        specs_of_batch(devices, queries, of_scores),
    )
    return jax.shard_map(
        local, mesh=devices.mesh, in_specs=in_specs, out_specs=devices.of_queries
    )(catalog, queries)


STATIC = ("measure_fn", "plan", "devices", "of_scores")
measure_program = one_off_jit(measure, STATIC, level=1)


@partial(jax.jit, static_argnums=0)
def store(
    devices: Devices,
    collected: Any,
    measured: Any,
    faults: jax.Array,
    slots: jax.Array,
) -> tuple[Any, jax.Array]:
    """Writes the values of a batch to their slots.

    Args:
        devices: The devices.
        collected: Pytree of arrays `[slots, …]`.
        measured: Pytree of arrays `[size, …]`; those of ids may have fewer columns.
        faults: `[size]` int32, the `Fault` of each query, or 0.
        slots: `[size]`, slots within the part of the device; its number of slots where a
            query is padding.

    Returns:
        What is collected now; and the last slot of a query with a fault, counted through
        all parts, or −1 if there is none, beside this fault: `[2]` int32.
    """

    def local(
        collected: Any, measured: Any, faults: jax.Array, slots: jax.Array
    ) -> tuple[Any, jax.Array]:
        def put(x: jax.Array, values: jax.Array) -> jax.Array:
            columns = tuple(slice(size) for size in values.shape[1:])
            return x.at[(slots, *columns)].set(values, mode="drop")

        collected = jax.tree.map(put, collected, measured)
        num_slots = jax.tree.leaves(collected)[0].shape[0]
        first_slot, axis = 0, devices.queries_axis
        if axis is not None:
            first_slot = lax.axis_index(axis) * num_slots
        is_found = (faults > 0) & (slots < num_slots)
        slots = jnp.where(is_found, slots + first_slot, -1)
        slot = jnp.max(slots)
        slot = slot if axis is None else lax.pmax(slot, axis)
        fault = jnp.max(jnp.where(slots == slot, faults, 0))
        fault = fault if axis is None else lax.pmax(fault, axis)
        return collected, jnp.stack([slot, fault])

    spec = devices.of_queries
    return jax.shard_map(
        local, mesh=devices.mesh, in_specs=spec, out_specs=(spec, EVERYWHERE)
    )(collected, measured, faults, slots)


@partial(jax.jit, static_argnums=0)
def holds(
    devices: Devices,
    collected: Any,
    measured: Any,
    faults: jax.Array,
    slots: jax.Array,
) -> jax.Array:
    """Whether the values of a batch are those in their slots, or it has a fault; `[]` bool.

    The arguments are those of `store`.
    """

    def local(
        collected: Any, measured: Any, faults: jax.Array, slots: jax.Array
    ) -> jax.Array:
        num_slots = jax.tree.leaves(collected)[0].shape[0]
        is_query = slots < num_slots
        rows = jnp.minimum(slots, num_slots - 1)

        def differs(x: jax.Array, values: jax.Array) -> jax.Array:
            columns = tuple(slice(size) for size in values.shape[1:])
            is_equal = are_equal(x[(rows, *columns)], values, jnp)
            is_equal = is_equal.reshape(len(rows), -1).all(axis=1)
            return jnp.any(is_query & ~is_equal)

        pairs = jax.tree.leaves(jax.tree.map(differs, collected, measured))
        outcome = jnp.stack(
            [jnp.any(jnp.stack(pairs)), jnp.any(is_query & (faults > 0))]
        )
        if (axis := devices.queries_axis) is not None:
            outcome = _mesh.any_over(outcome, axis)
        return ~outcome[0] | outcome[1]

    spec = devices.of_queries
    return jax.shard_map(local, mesh=devices.mesh, in_specs=spec, out_specs=EVERYWHERE)(
        collected, measured, faults, slots
    )


@partial(jax.jit, static_argnums=(0, 1, 2))
def summarize(
    devices: Devices,
    kinds: tuple[type[Mean], ...],
    num_items: int | None,
    lists: list[PerList],
    items: jax.Array,
) -> tuple[list[Mean], jax.Array, Exposure | None]:
    """Returns what is known of all queries, equal on all devices and processes.

    Args:
        devices: The devices.
        kinds: The kind of state of each metric.
        num_items: How many items there are, or None if `exposure` is not asked for.
        lists: The values of each metric, `[slots, …]`.
        items: `[slots, k]`, the ids of the first items.

    Returns:
        The state of each metric; whether each is defined for any query, `[metrics]` bool;
        and how often each item was found. Slots that are padding count as empty lists.
    """

    def local(lists: list[PerList], items: jax.Array) -> Any:
        states: Any = means_of(tuple(lists), None, kinds)
        counted = None if num_items is None else exposure(items, num_items)
        is_defined = jnp.stack([jnp.any(x.defined) for x in lists])
        if (axis := devices.queries_axis) is not None:
            states, counted = all_reduce((states, counted), axis)
            is_defined = _mesh.any_over(is_defined, axis)
        return states, is_defined, counted

    spec = devices.of_queries
    return jax.shard_map(local, mesh=devices.mesh, in_specs=spec, out_specs=EVERYWHERE)(
        lists, items
    )
