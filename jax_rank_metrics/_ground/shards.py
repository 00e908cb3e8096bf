"""Functions run shard by shard, if the types of arrays say how they are sharded.

On explicit mesh axes the type of an array says how the array is sharded, so a plain call
can enter `jax.shard_map` by itself. Functions then see device-local arrays, which
`lax.top_k` and scatters need.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
from jax.core import Tracer
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec
from jax.typing import ArrayLike

from jax_rank_metrics._ground import meshes

T = TypeVar("T")
R = TypeVar("R")


class Cut(NamedTuple):
    """The mesh axes over which all arrays of a call are sharded, by lists and by items."""

    mesh: Mesh | AbstractMesh
    over_lists: tuple[tuple[str, ...], ...]
    over_items: tuple[str, ...]

    @property
    def per_list(self) -> PartitionSpec:
        """The spec of arrays `[*lists, …]`."""
        return PartitionSpec(*[axes or None for axes in self.over_lists])

    @property
    def per_item(self) -> PartitionSpec:
        """The spec of arrays `[*lists, items, …]`."""
        return PartitionSpec(*self.per_list, *self.items)

    @property
    def items(self) -> PartitionSpec:
        """The spec of arrays `[items, …]`."""
        return PartitionSpec(self.over_items or None)


def cut_of(
    num_list_axes: int, *, items: Any = (), per_item: Any = (), per_list: Any = ()
) -> Cut | None:
    """Returns one way to shard all arrays of a call; None if no array is sharded.

    Each axis is sharded as in the first array that shards it, except over mesh axes that
    already shard another axis. Arrays may come in different ways, because arrays that are
    replicated, or sharded in another way, can be resharded to this one.

    Args:
        num_list_axes: The number of axes of lists.
        items: Pytree of arrays `[items, …]`.
        per_item: Pytree of arrays `[*lists, items, …]`.
        per_list: Pytree of arrays `[*lists, …]`.
    """
    mesh, used = None, set[str]()
    axes = [()] * (num_list_axes + 1)
    kinds = ((items, num_list_axes), (per_item, 0), (per_list, 0))
    for tree, first_axis in kinds:
        num_axes = num_list_axes + (tree is not per_list) - first_axis
        for array in filter(meshes.is_sharded, jax.tree.leaves(tree)):
            mesh = mesh or _sharding_of(array).mesh
            for axis, names in enumerate(meshes.spec_of(array)[:num_axes], first_axis):
                if not axes[axis]:
                    axes[axis] = tuple([name for name in names if name not in used])
                    used |= {*axes[axis]}
    return None if mesh is None else Cut(mesh, tuple(axes[:-1]), axes[-1])


def put_items(tree: T, cut: Cut | None) -> T:
    """Returns arrays `[*lists, items, …]`, sharded as in `cut`, also outside `jax.jit`."""
    if cut is None:
        return tree
    is_traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))
    put = jax.sharding.reshard if is_traced else jax.device_put
    sharding = NamedSharding(cut.mesh, cut.per_item)
    return jax.tree.map(lambda array: put(array, sharding), tree)


def map_list_shards(
    fn: Callable[..., R],
    num_list_axes: int,
    *per_list: Any,
    replicated: tuple[Any, ...] = (),
) -> R:
    """Computes `fn(*per_list, *replicated)`, shard by shard if types say lists are sharded.

    Args:
        fn: Returns a pytree of arrays `[*lists, …]`.
        num_list_axes: The number of axes of lists.
        *per_list: Pytrees of arrays `[*lists, …]`, which may be sharded in different ways.
            `fn` gets whole arrays along all axes but the axes of lists.
        replicated: Pytrees of arrays that are the same on every device.
    """
    cut = cut_of(num_list_axes, per_list=per_list)
    if cut is None:
        return fn(*per_list, *replicated)
    in_specs = jax.tree.map(lambda _: cut.per_list, per_list)
    in_specs += jax.tree.map(lambda _: PartitionSpec(), replicated)
    return shard_map(fn, cut.mesh, in_specs, cut.per_list, *per_list, *replicated)


def map_shards(fn: Callable[[T], R], tree: T, like: jax.Array) -> R:
    """Computes `fn(tree)`, shard by shard if the type of any array says it is sharded.

    Args:
        fn: Returns a pytree of arrays `[*lists, …]`.
        tree: Pytree of arrays, each sharded as its own type says.
        like: `[*lists]`, an array of `tree`. The result of `fn` is sharded like `like`.
    """
    if not any(map(meshes.is_sharded, jax.tree.leaves(tree))):
        return fn(tree)
    specs = jax.tree.map(lambda array: jax.typeof(array).sharding.spec, tree)
    sharding = jax.typeof(like).sharding
    return shard_map(fn, sharding.mesh, (specs,), sharding.spec, tree)


def reshard_like(tree: T, like: jax.Array) -> T:
    """Returns arrays whose leading axes are sharded like the axes of `like`."""
    if not meshes.is_sharded(like):
        return tree
    # Outside of `jax.jit`, an array on a single device has no mesh for `reshard`.
    put = jax.sharding.reshard if isinstance(like, Tracer) else jax.device_put
    return jax.tree.map(lambda array: put(array, _sharding_of(like)), tree)


def gathered(tree: T) -> T:
    """Copies arrays whole to every device, for operations that need all of an array."""

    def gather(array: ArrayLike) -> ArrayLike:
        if not isinstance(array, jax.Array) or not meshes.is_sharded(array):
            return array
        mesh = jax.typeof(array).sharding.mesh
        return jax.sharding.reshard(array, NamedSharding(mesh, PartitionSpec()))

    return jax.tree.map(gather, tree)


def rows_at(array: Any, indices: Any) -> Any:
    """Returns rows of an array on every device, even if the array is sharded."""
    if not isinstance(array, jax.Array) or not meshes.is_sharded(array):
        return array[indices]
    sharding = NamedSharding(jax.typeof(array).sharding.mesh, PartitionSpec())
    return array.at[indices].get(out_sharding=sharding)


def align_lists(tree: T, like: jax.Array) -> T:
    """Returns arrays `[*lists, …]` whose lists are sharded as in `like`, `[*lists]`.

    All other axes keep their sharding.
    """
    if not any(map(meshes.is_sharded, jax.tree.leaves(tree))):
        return tree
    sharding = jax.typeof(like).sharding

    def align(array: jax.Array) -> jax.Array:
        trailing = jax.typeof(array).sharding.spec[like.ndim :]
        spec = PartitionSpec(*sharding.spec, *trailing)
        return jax.sharding.reshard(array, NamedSharding(sharding.mesh, spec))

    return jax.tree.map(align, tree)


def align_with_sharded(tree: T, num_list_axes: int) -> T:
    """Returns arrays `[*lists, …]` whose lists are sharded in one way; see `cut_of`.

    All other axes become unsharded. If no array is sharded, `tree` is returned unchanged.

    Args:
        tree: Pytree of arrays, traced.
        num_list_axes: The number of axes of lists.
    """
    cut = cut_of(num_list_axes, per_list=tree)
    if cut is None:
        return tree
    sharding = NamedSharding(cut.mesh, cut.per_list)
    return jax.tree.map(lambda array: jax.sharding.reshard(array, sharding), tree)


def shard_map(
    fn: Callable[..., R],
    mesh: Mesh | AbstractMesh,
    in_specs: Any,
    out_specs: Any,
    *trees: Any,
) -> R:
    """Reshards arrays, and calls `fn` in a shard_map over the mesh axes of `in_specs`.

    Args:
        fn: A function of the `trees`.
        mesh: The mesh in the types of the arrays.
        in_specs: A tuple of the specs of the leaves of each tree.
        out_specs: The specs of the result, or one spec for all its leaves.
        *trees: Pytrees of arrays.
    """
    trees = jax.tree.map(
        lambda array, spec: jax.sharding.reshard(array, NamedSharding(mesh, spec)),
        trees,
        in_specs,
    )
    manual: set[str] = set()
    for spec in jax.tree.leaves(in_specs, is_leaf=_is_spec):
        for entry in spec:
            manual |= set(entry if isinstance(entry, tuple) else (entry,)) - {None}
    return jax.shard_map(
        fn, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=manual
    )(*trees)


def _sharding_of(array: jax.Array) -> NamedSharding:
    # The type of a concrete array has only an abstract mesh, without its devices.
    sharding = (jax.typeof(array) if isinstance(array, Tracer) else array).sharding
    assert isinstance(sharding, NamedSharding)
    return sharding


def _is_spec(node: Any) -> bool:
    return isinstance(node, PartitionSpec)
