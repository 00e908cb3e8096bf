"""The mesh of a call: over which of its axes queries and items are cut, and how."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jax_rank_metrics import _inputs
from jax_rank_metrics._types import AxisNames

# What a function of the package was passed: an array of JAX, NumPy, or a memory map.
Array = jax.Array | np.ndarray


@dataclasses.dataclass(frozen=True)
class Devices:
    """A mesh, and the axes over which queries and items are cut; hashable, static.

    Attributes:
        mesh: The devices, of this process and of all others.
        queries_axis: The mesh axis or axes over which queries are cut; None if every
            device has all of them.
        items_axis: The same for items.
    """

    mesh: Mesh
    queries_axis: AxisNames | None
    items_axis: AxisNames | None

    @property
    def num_query_parts(self) -> int:
        """Into how many parts queries are cut."""
        return self._size(self.queries_axis)

    @property
    def num_item_parts(self) -> int:
        """Into how many parts items are cut."""
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

    def put(self, x: Array, spec: PartitionSpec) -> jax.Array:
        """Returns a global array that is cut as `spec` says, with zeros added at its ends.

        Zeros are added where the devices do not divide an axis: 5 rows over 2 devices
        become 6. An array that is cut so already is returned as it is.

        Args:
            x: An array of NumPy or JAX that every process holds, of which each reads what
                its own devices need; or a global array, which is cut anew if need be.
            spec: For each axis, the mesh axes over which it is cut.
        """
        sharding = NamedSharding(self.mesh, spec)
        factors = [self._size(axes) for axes in spec] + [1] * (x.ndim - len(spec))
        shape = tuple(n + -n % m for n, m in zip(x.shape, factors, strict=True))
        if is_global(x):
            x = x if x.shape == shape else _padded(x, shape)
            return x if x.sharding == sharding else jax.device_put(x, sharding)
        values, dtype = np.asarray(x), jax.dtypes.canonicalize_dtype(x.dtype)

        def part(index: Any) -> np.ndarray:
            held = values[index]
            sizes = [
                len(range(*i.indices(n))) for i, n in zip(index, shape, strict=True)
            ]
            zeros = np.zeros(sizes, dtype)
            zeros[tuple(map(slice, held.shape))] = held
            return zeros

        return jax.make_array_from_callback(shape, sharding, part)

    def full(self, shape: tuple[int, ...], value: float, dtype: Any) -> jax.Array:
        """Returns an array filled with a value, cut over the axis of queries."""
        return self.put(
            np.broadcast_to(np.asarray(value, dtype), shape), self.of_queries
        )

    def _size(self, axes: Any) -> int:
        names = axes if isinstance(axes, tuple) else (axes,)
        return math.prod(self.mesh.shape[name] for name in names if name is not None)


@functools.partial(jax.jit, static_argnums=1)
def _padded(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    padding = [(0, n - m) for n, m in zip(shape, x.shape, strict=True)]
    return jnp.pad(x, padding)


class Argument(NamedTuple):
    """An argument that may be a global array.

    Attributes:
        name: What messages call it.
        value: What was passed.
        axes: What its first axes hold: "queries", "items", or the one and the other.
    """

    name: str
    value: Any
    axes: tuple[str, ...]


def read_devices(
    mesh: Mesh | None,
    queries_axis: AxisNames | None,
    items_axis: AxisNames | None,
    arguments: Sequence[Argument],
) -> Devices | None:
    """Returns the devices that a call is to use, or None if one device does the work.

    Without `mesh`, it is the one over which arguments are sharded; and where no axis is
    named, axes are those along which they are.

    Raises:
        TypeError: if `mesh` is no mesh, if an axis is not named by strings, or if an
            argument is traced.
        ValueError: if an axis is not of the mesh, or is to cut both queries and items; if
            there are axes and no mesh, or a mesh and no axes; if there is no mesh and
            arguments do not say in one way how they are sharded.
    """
    axes = {
        "queries": _names("queries_axis", queries_axis),
        "items": _names("items_axis", items_axis),
    }
    is_named = any(axes.values())
    if mesh is not None and not isinstance(mesh, Mesh):
        raise TypeError(
            f"mesh is {_inputs.kind_of(mesh)}; pass what jax.make_mesh makes"
        )
    for argument in arguments:
        if isinstance(argument.value, Tracer):
            raise TypeError(
                f"{argument.name} is traced; make this call outside of jax.jit"
            )
    if mesh is None or not is_named:
        for argument in filter(_is_cut, arguments):
            if mesh is None:
                mesh = _mesh_of(argument)
            if not is_named:
                _read_axes(argument, mesh, axes)
    if mesh is None:
        if is_named:
            raise ValueError(
                "queries_axis or items_axis came without a mesh; pass mesh"
            )
        return None
    for name in itertools.chain(*axes.values()):
        if name not in mesh.axis_names:
            raise ValueError(f"{name!r} is none of the mesh axes {mesh.axis_names}")
    if shared_axes := set(axes["queries"]) & set(axes["items"]):
        raise ValueError(
            f"the mesh axes {sorted(shared_axes)} would cut queries and items; pass "
            "mesh, and queries_axis and items_axis that have no axis in common"
        )
    if not any(axes.values()) and not any(map(_is_cut, arguments)):
        raise ValueError(
            "a mesh came without an axis; pass queries_axis, items_axis or both, of "
            f"{mesh.axis_names}"
        )
    return Devices(mesh, axes["queries"] or None, axes["items"] or None)


def _names(name: str, axes: object) -> tuple[str, ...]:
    """Returns the mesh axes of an argument as a tuple, empty for None."""
    if axes is None:
        return ()
    candidates = axes if isinstance(axes, tuple) else (axes,)
    names = tuple(axis for axis in candidates if isinstance(axis, str))
    if not names or len(names) < len(candidates):
        raise TypeError(f"{name} is {axes!r}; pass the name of a mesh axis or a tuple")
    return names


def is_global(x: Any) -> TypeGuard[jax.Array]:
    """Whether this is an array that lies on several devices."""
    return isinstance(x, jax.Array) and len(x.sharding.device_set) > 1


def _is_cut(argument: Argument) -> bool:
    """Whether several devices hold parts of an argument, or other processes copies."""
    x = argument.value
    return is_global(x) and not (x.is_fully_addressable and x.is_fully_replicated)


def _mesh_of(argument: Argument) -> Mesh:
    sharding = argument.value.sharding
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
        return sharding.mesh
    raise ValueError(
        f"{argument.name} is sharded over devices, and its {type(sharding).__name__} names "
        f"no axes; pass mesh, and {argument.axes[0]}_axis, over which it is to be cut"
    )


def _read_axes(
    argument: Argument, mesh: Mesh, axes: dict[str, tuple[str, ...]]
) -> None:
    """Adds to `axes` those over which an argument is cut, or raises."""
    sharding, cure = argument.value.sharding, "pass mesh, queries_axis and items_axis"
    if _mesh_of(argument).devices.tolist() != mesh.devices.tolist():
        raise ValueError(f"{argument.name} is sharded over another mesh; {cure}")
    for index, entry in enumerate(sharding.spec):
        names = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
        if not names:
            continue
        if index >= len(argument.axes):
            raise ValueError(
                f"{argument.name} is sharded along its axis {index}, as {sharding.spec}, "
                f"and only {' and '.join(argument.axes)} can be; {cure}, and it is "
                "sharded anew"
            )
        known = axes[argument.axes[index]]
        if known not in ((), names):
            raise ValueError(
                f"{argument.name} is sharded over {names}, and other "
                f"{argument.axes[index]} over {known}; {cure}"
            )
        axes[argument.axes[index]] = names
