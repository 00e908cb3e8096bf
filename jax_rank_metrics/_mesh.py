"""Meshes: what devices tell each other, and where arrays are cut over them."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

T = TypeVar("T")
R = TypeVar("R")


def stack(x: jax.Array, axis_name: Any) -> jax.Array:
    """The `x` of every device of one or more mesh axes, along a new first axis.

    Every device writes its own slot of zeros, and the slots are summed: exact, and what
    JAX types as equal on all devices, as an all-gather is not.
    """
    index, size = lax.axis_index(axis_name), lax.axis_size(axis_name)
    places = lax.broadcasted_iota(jnp.int32, (size,) + (1,) * x.ndim, 0)
    return lax.psum(jnp.where(places == index, x[None], jnp.zeros_like(x)), axis_name)


def join(x: jax.Array, axis_name: Any, axis: int) -> jax.Array:
    """The `x` of every device, concatenated along an axis; bools travel as integers."""
    parts = stack(x.astype(jnp.int32) if x.dtype == jnp.bool_ else x, axis_name)
    joined = lax.collapse(jnp.moveaxis(parts, 0, axis), axis, axis + 2)
    return joined.astype(x.dtype)


def total(counts: jax.Array, axis_name: Any) -> jax.Array:
    """The sum of int32 counts over all devices, at most 2³¹ − 1; one plain psum.

    By upper and lower halves, whose sums fit int32 on up to 2¹⁵ devices.
    """
    # Typed as varying, as a psum wants it, also where counts are of constants.
    counts = counts + lax.axis_index(axis_name) * 0
    halves = jnp.stack([counts >> 16, counts & 0xFFFF])
    upper, lower = lax.psum(halves, axis_name)
    upper = upper + (lower >> 16)
    whole = (upper << 16) | (lower & 0xFFFF)
    return jnp.where(upper > 0x7FFF, jnp.iinfo(jnp.int32).max, whole)


def flat(x: jax.Array) -> jax.Array:
    """The last two axes as one."""
    return x.reshape((*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def match_varying(x: T, inputs: Any) -> T:
    """`x`, typed as varying over every mesh axis over which any of `inputs` varies.

    What a loop inside shard_map begins with must have the type of what it ends with.
    `lax.pcast` says so directly, but not in every version of JAX.
    """
    never = jnp.zeros((), bool)
    for leaf in jax.tree.leaves(inputs):
        if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            few = leaf[(slice(0, 1),) * leaf.ndim]
            never = never & (jnp.sum(few != few) < 0)
    return jax.tree.map(lambda leaf: jnp.where(never, leaf, leaf), x)


def equal_over(x: Any, axis_name: Any) -> list[str]:
    """The mesh axes over whose devices `x` is typed as equal.

    None where types do not say, as in `jax.pmap` or with `check_vma=False`.
    """

    def varies(leaf: jax.Array) -> frozenset[str]:
        kind = jax.typeof(leaf)
        now = getattr(kind, "manual_axis_type", None)  # JAX 0.8 has `vma` in its place
        return now.varying if now is not None else getattr(kind, "vma", frozenset())

    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    told = [name for name in names if name in varies(lax.axis_index(name))]
    known = frozenset().union(*map(varies, jax.tree.leaves(x)))
    return [name for name in told if name not in known]


def auto_shards(x: jax.Array) -> int:
    """Over how many devices XLA may have cut `x` without its type saying so."""
    mesh = jax.typeof(x).sharding.mesh
    axes = zip(mesh.axis_types, mesh.axis_sizes, strict=True)
    return math.prod(size for kind, size in axes if kind == AxisType.Auto)


def spec_of(x: jax.Array) -> tuple[tuple[str, ...], ...]:
    """Over which mesh axes the type of `x` says that each of its axes is cut."""
    names = []
    for entry in jax.typeof(x).sharding.spec:
        whole = entry is None or entry is PartitionSpec.UNCONSTRAINED
        names.append(() if whole else entry if isinstance(entry, tuple) else (entry,))
    return tuple(names)


def is_cut(x: jax.Array) -> bool:
    """Whether the type of `x` says that devices hold parts of it."""
    return any(spec_of(x))


def is_device_local(x: jax.Array) -> bool:
    """Whether `x` is whole on the device that computes with it."""
    return not is_cut(x) and auto_shards(x) == 1


def on_each_device(
    fn: Callable[..., R], like: jax.Array, lists: int, per_item: Any, per_list: Any
) -> R:
    """`fn(items_axis, per_item, per_list)`, device by device where `like` is sharded.

    Args:
        fn: Gives a pytree of arrays `[*lists, …]`, equal on the devices of `items_axis`:
            the mesh axes over which items are cut, None where they are whole.
        like: `[*lists, items]`, the array whose type says how all others are cut.
        lists: How many axes of lists it has.
        per_item: Pytree of arrays `[*lists, items, …]`.
        per_list: Pytree of arrays `[*lists, …]`.
    """
    names = spec_of(like)
    if not any(names):
        return fn(None, per_item, per_list)
    over_lists = tuple(entry or None for entry in names[:lists])
    over_items = names[lists] or None

    def local(per_item: Any, per_list: Any) -> R:
        return fn(over_items, per_item, per_list)

    specs = (PartitionSpec(*over_lists, over_items), PartitionSpec(*over_lists))
    of_leaves = tuple(
        jax.tree.map(lambda _, spec=spec: spec, tree)
        for spec, tree in zip(specs, (per_item, per_list), strict=True)
    )
    return _shard_map(local, like, of_leaves, specs[1], per_item, per_list)


def where_it_lies(fn: Callable[[T], R], tree: T, like: jax.Array) -> R:
    """`fn(tree)`, device by device where the types of its arrays are sharded.

    Args:
        fn: Gives a pytree of arrays `[*lists, …]`.
        tree: Pytree of arrays, each cut as its own type says.
        like: `[*lists]`, one of them.
    """
    specs = jax.tree.map(lambda x: jax.typeof(x).sharding.spec, tree)
    if not any(map(is_cut, jax.tree.leaves(tree))):
        return fn(tree)
    return _shard_map(fn, like, (specs,), jax.typeof(like).sharding.spec, tree)


def lying_like(tree: T, like: jax.Array) -> T:
    """A pytree of arrays cut as `like` is, along the axes that it has."""
    if not is_cut(like):
        return tree
    sharding = jax.typeof(like).sharding
    return jax.tree.map(lambda x: jax.sharding.reshard(x, sharding), tree)


def _shard_map(
    fn: Callable[..., R], like: jax.Array, in_specs: Any, out_specs: Any, *trees: Any
) -> R:
    mesh = jax.typeof(like).sharding.mesh
    trees = jax.tree.map(
        lambda x, spec: jax.sharding.reshard(x, NamedSharding(mesh, spec)),
        trees,
        in_specs,
    )
    used: set[str] = set()
    for spec in jax.tree.leaves(in_specs, is_leaf=_is_spec):
        for entry in spec:
            used |= set(entry if isinstance(entry, tuple) else (entry,)) - {None}
    return jax.shard_map(
        fn, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=used
    )(*trees)


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


@jax.custom_batching.custom_vmap
def unvmap_any(*x: jax.Array) -> jax.Array:
    """Whether anything holds, over the whole batch also under `jax.vmap`.

    So that a `lax.cond` on it stays a branch: a choice for each element of a batch would
    take both ways for all.
    """
    # Floats, as for `count`.
    most = [jnp.max(one.astype(jnp.float32), initial=0) for one in x]
    return jnp.stack(most).max() > 0


@unvmap_any.def_vmap
def _unvmap_any(
    size: int, batched: list[bool], *x: jax.Array
) -> tuple[jax.Array, bool]:
    del size, batched
    return unvmap_any(*x), False
