"""Runs functions shard by shard, where the types of arrays say how they are sharded.

On explicit mesh axes the type of an array says how it is cut, so that a plain call can
enter `jax.shard_map` by itself. Functions then see device-local arrays, which `lax.top_k`
and scatters need.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax.core import Tracer
from jax.sharding import NamedSharding, PartitionSpec

from jax_rank_metrics import _mesh
from jax_rank_metrics._types import AxisNames

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
R = TypeVar("R")


def map_item_shards(
    fn: Callable[[AxisNames | None, A, B], R],
    like: jax.Array,
    per_item: A,
    per_list: B,
) -> R:
    """Computes `fn(items_axis, per_item, per_list)`, shard by shard if `like` is sharded.

    Args:
        fn: Returns a pytree of arrays `[*lists, …]`. Its first argument is the mesh axes
            over which the items of a list are cut, or None where lists are whole. Its
            result must be equal on all devices of these axes.
        like: `[*lists, items]`, the array whose type says how all others are cut.
        per_item: Pytree of arrays `[*lists, items, …]`.
        per_list: Pytree of arrays `[*lists, …]`.

    Returns:
        The result of `fn`, with lists cut as those of `like` are.
    """
    *lists_axes, items_axes = _mesh.spec_of(like)
    if not _mesh.is_sharded(like):
        return fn(None, per_item, per_list)
    over_lists = tuple(axes or None for axes in lists_axes)
    over_items = items_axes or None

    def local(per_item: A, per_list: B) -> R:
        return fn(over_items, per_item, per_list)

    item_spec = PartitionSpec(*over_lists, over_items)
    list_spec = PartitionSpec(*over_lists)
    in_specs = (
        jax.tree.map(lambda _: item_spec, per_item),
        jax.tree.map(lambda _: list_spec, per_list),
    )
    return _shard_map(local, like, in_specs, list_spec, per_item, per_list)


def map_shards(fn: Callable[[T], R], tree: T, like: jax.Array) -> R:
    """Computes `fn(tree)`, shard by shard if the type of an array says it is sharded.

    Args:
        fn: Returns a pytree of arrays `[*lists, …]`.
        tree: Pytree of arrays, each cut as its own type says.
        like: `[*lists]`, an array of `tree`; the result of `fn` is cut as it is.
    """
    if not any(map(_mesh.is_sharded, jax.tree.leaves(tree))):
        return fn(tree)
    specs = jax.tree.map(lambda x: jax.typeof(x).sharding.spec, tree)
    return _shard_map(fn, like, (specs,), jax.typeof(like).sharding.spec, tree)


def reshard_like(tree: T, like: jax.Array) -> T:
    """Returns arrays whose leading axes are cut as the axes of `like` are."""
    if not _mesh.is_sharded(like):
        return tree
    if isinstance(like, Tracer):
        sharding = jax.typeof(like).sharding
        return jax.tree.map(lambda x: jax.sharding.reshard(x, sharding), tree)
    # Outside of `jax.jit`, an array on a single device has no mesh for `reshard`.
    return jax.tree.map(lambda x: jax.device_put(x, like.sharding), tree)


def align_lists(tree: T, like: jax.Array) -> T:
    """Returns arrays `[*lists, …]` with lists cut as `like`, `[*lists]`, has them cut.

    The axes after those of lists stay cut as they are.
    """
    if not any(map(_mesh.is_sharded, jax.tree.leaves(tree))):
        return tree
    return _with_lists_cut(tree, like, like.ndim)


def align_with_sharded(tree: T, num_list_axes: int) -> T:
    """Returns arrays `[*lists, …]` with lists cut as the first sharded array has them cut.

    Args:
        tree: Pytree of arrays; it is returned as it is where none is sharded.
        num_list_axes: The number of axes of lists.
    """
    sharded = filter(_mesh.is_sharded, jax.tree.leaves(tree))
    like = next(sharded, None)
    return tree if like is None else _with_lists_cut(tree, like, num_list_axes)


def _with_lists_cut(tree: T, like: jax.Array, num_list_axes: int) -> T:
    sharding = jax.typeof(like).sharding
    lists = sharding.spec[:num_list_axes]

    def align(x: jax.Array) -> jax.Array:
        trailing = jax.typeof(x).sharding.spec[num_list_axes:]
        spec = PartitionSpec(*lists, *trailing)
        return jax.sharding.reshard(x, NamedSharding(sharding.mesh, spec))

    return jax.tree.map(align, tree)


def _shard_map(
    fn: Callable[..., R], like: jax.Array, in_specs: Any, out_specs: Any, *trees: Any
) -> R:
    """Enters a shard_map over the mesh of `like`, manual over the axes in `in_specs`."""
    mesh = jax.typeof(like).sharding.mesh
    trees = jax.tree.map(
        lambda x, spec: jax.sharding.reshard(x, NamedSharding(mesh, spec)),
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


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)
