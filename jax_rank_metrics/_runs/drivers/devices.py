"""The devices of a call, one device or a mesh, and how they hold queries and items.

On a mesh, queries are cut into parts, one for each device along the mesh axis of queries. A
device takes the queries of its own part, batch by batch, and keeps their values, so no
embedding of a query and no score moves. Devices along the mesh axis of items work on the
same queries, and exchange candidates and counts (see `rank_catalog`).
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeGuard, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jax_rank_metrics._ground import inputs, types

T = TypeVar("T")
# Arrays of a batch come from the host, and are traced inside the program.
Array = jax.Array | np.ndarray
# A pytree of specs, in which one spec may apply to a whole subtree of arrays.
Specs = Any
# The spec of an array that every device holds whole.
EVERYWHERE = PartitionSpec()


@dataclasses.dataclass(frozen=True)
class Devices:
    """The devices that share the work, and how they hold arrays; hashable, static.

    A single device has no mesh. It runs the same code without `jax.shard_map` and
    collectives: specs are ignored, and arrays stay where they are.

    Attributes:
        mesh: The devices, of this process and of all others. None means one device: the
            device of the items, or the default one.
        queries_axis: The mesh axis or axes over which queries are cut; None if every
            device has all queries.
        items_axis: The mesh axis or axes over which items are cut; None if every device
            has all items.
    """

    mesh: Mesh | None = None
    queries_axis: types.AxisNames | None = None
    items_axis: types.AxisNames | None = None

    @property
    def num_query_parts(self) -> int:
        """The number of parts into which queries are cut."""
        return self._size(self.queries_axis)

    @property
    def num_item_parts(self) -> int:
        """The number of parts into which items are cut."""
        return self._size(self.items_axis)

    @property
    def of_queries(self) -> PartitionSpec:
        """The spec of arrays `[queries, …]`."""
        return PartitionSpec(self.queries_axis)

    @property
    def of_items(self) -> PartitionSpec:
        """The spec of arrays `[items, …]`."""
        return PartitionSpec(self.items_axis)

    @property
    def of_scores(self) -> PartitionSpec:
        """The spec of arrays `[queries, items]`."""
        return PartitionSpec(self.queries_axis, self.items_axis)

    def map(
        self, function: Callable[..., T], in_specs: Specs, out_specs: Specs
    ) -> Callable[..., T]:
        """Returns a function that runs `function` on each device, on the device's parts."""
        # Do not use a mesh of one device: it would slow every first call, and fail if
        # another mesh is set around the call.
        if self.mesh is None:
            return function
        return jax.shard_map(
            function, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs
        )

    def batch_size(self, size: int) -> int:
        """Returns the size, rounded up to a multiple of the number of parts of queries."""
        return size + -size % self.num_query_parts

    def put_tree(self, tree: T, specs: Specs) -> T:
        """Puts the arrays of a pytree on the devices, cut as `specs` says."""
        if self.mesh is None:
            return tree
        # One spec may belong to None or to several arrays of the tree.
        return jax.tree.map(
            lambda spec, part: jax.tree.map(lambda array: self.put(array, spec), part),
            specs,
            tree,
        )

    def items(self, name: str, items: Array) -> Array:
        """Returns an array over items, cut over the items axis and padded with zeros."""
        if self.mesh is None or is_global(items):
            return self.put(inputs.real(name, items), self.of_items)
        # All items may not fit on one device, so leave them on the host, from which every
        # process reads the parts of its own devices.
        return self.put(_on_host(name, items), self.of_items)

    def table(self, table: Array, spec: PartitionSpec) -> Array:
        """Returns an array over queries in the form in which it is kept between batches.

        On a mesh, a global array is cut as `spec` says, and any other array becomes an
        array of NumPy. Without a mesh, the array stays as it is.
        """
        if self.mesh is None:
            return table
        # Every process has all rows on the host, and cuts each batch from them.
        return self.put(table, spec) if is_global(table) else np.asarray(table)

    def rows(
        self, name: str, table: Array, indices: np.ndarray, spec: PartitionSpec
    ) -> Array:
        """Returns the rows of a batch; each device takes its own rows of a global array."""
        if self.mesh is None:
            return inputs.real(name, table[indices])
        if not isinstance(table, jax.Array):
            return _on_host(name, table[indices])
        # All parts have the same number of rows: with 6 rows in 2 parts, row 4 is row 1 of
        # the second part.
        in_parts = indices % (len(table) // self.num_query_parts)
        return _take_rows(self, spec, table, self.put(in_parts, self.of_queries))

    def put(self, x: Array, spec: PartitionSpec) -> Array:
        """Returns a global array that is cut as `spec` says, with zeros added at its ends.

        Zeros are added if the devices do not divide an axis: 5 rows over 2 devices
        become 6. Three kinds of arrays are returned unchanged: an array that is already
        cut in this way, any array if one device does the work, and a key, because every
        process has it.

        Args:
            x: An array of NumPy or JAX that every process holds, and from which each
                process reads the parts of its own devices; or a global array, which is cut
                anew if necessary.
            spec: For each axis, the mesh axes over which it is cut.
        """
        if self.mesh is None or jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            return x
        sharding = NamedSharding(self.mesh, spec)
        # For each axis, the number of its parts: [2, 1] for queries over two devices.
        factors = [self._size(axes) for axes in spec] + [1] * (x.ndim - len(spec))
        shape = tuple(n + -n % m for n, m in zip(x.shape, factors, strict=True))
        # A process cannot read the parts of a global array that other processes hold, so
        # the devices cut it anew.
        if is_global(x):
            x = x if x.shape == shape else _padded(x, shape)
            return x if x.sharding == sharding else jax.device_put(x, sharding)
        values, dtype = np.asarray(x), jax.dtypes.canonicalize_dtype(x.dtype)

        def part(index: Any) -> np.ndarray:
            # The last parts of an axis may be shorter than the others, or empty, so fill
            # them with zeros: with 5 rows on 2 devices, the second gets rows 3 and 4, and
            # a row of zeros.
            held = values[index]
            sizes = [
                len(range(*i.indices(n))) for i, n in zip(index, shape, strict=True)
            ]
            zeros = np.zeros(sizes, dtype)
            zeros[tuple(map(slice, held.shape))] = held
            return zeros

        return jax.make_array_from_callback(shape, sharding, part)

    def _size(self, axes: types.AxisNames | None) -> int:
        """Counts the devices along mesh axes."""
        if self.mesh is None:
            return 1
        return math.prod(self.mesh.shape[name] for name in names_of(axes))


def _on_host(name: str, values: Any) -> np.ndarray:
    """Checks that values are real numbers, and leaves them on the host."""
    values = np.asarray(values)
    # Check the values of integers, because 64-bit integers may not fit into 32 bits. Check
    # only the dtype of floats, because they may be a file that does not fit in memory.
    if values.dtype.kind in "iu":
        return np.asarray(inputs.real(name, values))
    inputs.real(name, values[:0])
    return values


@functools.partial(jax.jit, static_argnums=(0, 1))
def _take_rows(
    devices: Devices, spec: PartitionSpec, table: jax.Array, indices: jax.Array
) -> jax.Array:
    """Returns rows of a table cut as `spec` says; indices count rows in a device's part."""
    take: Callable[..., jax.Array] = devices.map(
        lambda table, indices: table[indices], (spec, devices.of_queries), spec
    )
    return take(table, indices)


@functools.partial(jax.jit, static_argnums=1)
def _padded(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    padding = [(0, n - m) for n, m in zip(shape, x.shape, strict=True)]
    return jnp.pad(x, padding)


class Argument(NamedTuple):
    """An argument that may be a global array.

    Attributes:
        name: The name of the argument in messages.
        value: The value of the argument.
        axes: What the first axes of the value hold: "queries", "items", or "queries" and
            then "items".
    """

    name: str
    value: Any
    axes: tuple[str, ...]


def read_devices(
    mesh: Mesh | None,
    queries_axis: types.AxisNames | None,
    items_axis: types.AxisNames | None,
    arguments: Sequence[Argument],
) -> Devices:
    """Returns the devices that a call uses; one device without a mesh.

    Without `mesh`, the mesh is read from the sharded arguments. If neither axis is named,
    the axes are also read from the sharded arguments.

    Raises:
        TypeError: if `mesh` is no mesh, if an axis is not named by strings, or if an
            argument is traced.
        ValueError: if an axis is not in the mesh, or would cut both queries and items; if
            there are axes and no mesh, or a mesh and no axes; if the mesh or the axes are
            not passed, and arguments are sharded in different ways, or a sharding names no
            axes.
    """
    axes = {
        "queries": _checked_names("queries_axis", queries_axis),
        "items": _checked_names("items_axis", items_axis),
    }
    is_named = any(axes.values())
    if mesh is not None and not isinstance(mesh, Mesh):
        raise TypeError(
            f"mesh is {inputs.kind_of(mesh)}; pass a mesh, as jax.make_mesh returns it"
        )
    for argument in arguments:
        if isinstance(argument.value, Tracer):
            raise TypeError(
                f"{argument.name} is traced; make this call outside of jax.jit"
            )
    # Use the mesh and the axes that the caller passed. Read a missing mesh, or missing
    # axes, from the arguments that are cut. An array on one device tells neither, and
    # copies on all devices of this process tell neither.
    if mesh is None or not is_named:
        for argument in filter(_is_cut, arguments):
            if mesh is None:
                mesh = _mesh_of(argument)
            if not is_named:
                _read_axes(argument, mesh, axes)
    if mesh is None:
        if is_named:
            raise ValueError(
                "queries_axis or items_axis is given, but there is no mesh; pass mesh"
            )
        return Devices()
    for name in itertools.chain(*axes.values()):
        if name not in mesh.axis_names:
            raise ValueError(
                f"{name!r} is not an axis of the mesh, whose axes are {mesh.axis_names}; "
                "pass axes of the mesh"
            )
    if shared_axes := set(axes["queries"]) & set(axes["items"]):
        raise ValueError(
            f"the mesh axes {sorted(shared_axes)} would cut both queries and items; pass "
            "mesh, and queries_axis and items_axis that have no axis in common"
        )
    if not any(axes.values()) and not any(map(_is_cut, arguments)):
        raise ValueError(
            "mesh is given without an axis; pass queries_axis, items_axis or both, from "
            f"{mesh.axis_names}"
        )
    return Devices(mesh, axes["queries"] or None, axes["items"] or None)


def names_of(axes: types.AxisNames | None) -> tuple[str, ...]:
    """Returns mesh axes as a tuple of names, empty for None."""
    if axes is None:
        return ()
    return axes if isinstance(axes, tuple) else (axes,)


def _checked_names(name: str, axes: types.AxisNames | None) -> tuple[str, ...]:
    """Returns the mesh axes of an argument as a tuple, empty for None."""
    names = names_of(axes)
    if not all(isinstance(axis, str) for axis in names) or axes == ():
        raise TypeError(f"{name} is {axes!r}; pass the name of a mesh axis or a tuple")
    return names


def is_global(value: object) -> TypeGuard[jax.Array]:
    """True if this is an array that lies on several devices."""
    return isinstance(value, jax.Array) and len(value.sharding.device_set) > 1


def _is_cut(argument: Argument) -> bool:
    """True if devices hold parts of an argument, or if other processes hold copies."""
    value = argument.value
    return is_global(value) and not (
        value.is_fully_addressable and value.is_fully_replicated
    )


def _mesh_of(argument: Argument) -> Mesh:
    sharding = argument.value.sharding
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
        return sharding.mesh
    raise ValueError(
        f"{argument.name} is sharded over devices, and its {type(sharding).__name__} names "
        f"no axes; pass mesh, and {argument.axes[0]}_axis, the mesh axis that cuts it"
    )


def _read_axes(
    argument: Argument, mesh: Mesh, axes: dict[str, tuple[str, ...]]
) -> None:
    """Adds the mesh axes over which an argument is cut to `axes`, or raises."""
    sharding, cure = argument.value.sharding, "pass mesh, queries_axis and items_axis"
    # Meshes of the same devices in the same shape may differ in the names of their axes.
    if _mesh_of(argument).devices.tolist() != mesh.devices.tolist():
        raise ValueError(f"{argument.name} is sharded over another mesh; {cure}")
    # The spec P("q", None) of queries says that their first axis is cut over "q".
    for index, entry in enumerate(sharding.spec):
        names = names_of(entry)
        if not names:
            continue
        if index >= len(argument.axes):
            raise ValueError(
                f"{argument.name} is sharded along its axis {index}, as {sharding.spec}, "
                f"but only the axes of {' and '.join(argument.axes)} can be sharded; "
                f"{cure}, and it will be sharded anew"
            )
        known = axes[argument.axes[index]]
        if known not in ((), names):
            raise ValueError(
                f"{argument.name} is sharded over {names}, and other "
                f"{argument.axes[index]} over {known}; {cure}"
            )
        axes[argument.axes[index]] = names
