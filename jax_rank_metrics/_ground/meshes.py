"""Collectives over device meshes, and queries of how arrays vary and are sharded.

The type of an array (`jax.typeof`) says two things. Its *sharding* says over which mesh
axes each axis of the array is sharded. Inside `jax.shard_map`, it also says over which mesh
axes the array *varies*: its values may differ between the devices along these axes. JAX
calls this part of the type the VMA type ("varying manual axes").
"""

import functools
import math
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, PartitionSpec

T = TypeVar("T")
AxisNames = str | tuple[str, ...]  # one or more mesh axes

# Collectives


def stack_over(x: jax.Array, axis_name: AxisNames) -> jax.Array:
    """Stacks the `x` of each device of one or more mesh axes: `[devices, *x.shape]`.

    Each device fills one slot of an array of zeros, and a psum adds the arrays up. The
    sum is exact, and JAX types it as equal on all devices. The result of an all-gather
    would not have that type.
    """
    device, devices = lax.axis_index(axis_name), lax.axis_size(axis_name)
    slots = lax.broadcasted_iota(jnp.int32, (devices,) + (1,) * x.ndim, 0)
    return lax.psum(jnp.where(slots == device, x[None], jnp.zeros_like(x)), axis_name)


def concatenate_over(x: jax.Array, axis_name: AxisNames, axis: int) -> jax.Array:
    """Concatenates the `x` of each device along `axis`; bools travel as integers."""
    parts = stack_over(x.astype(jnp.int32) if x.dtype == jnp.bool_ else x, axis_name)
    joined = lax.collapse(jnp.moveaxis(parts, 0, axis), axis, axis + 2)
    return joined.astype(x.dtype)


def exchange_parts(parts: jax.Array, axis_name: AxisNames) -> jax.Array:
    """Sends row i of `[devices, …]` to device i, and stacks the rows each device gets."""
    parts = match_varying(parts, lax.axis_index(axis_name))
    return lax.all_to_all(parts, axis_name, split_axis=0, concat_axis=0)


def sum_counts_over(counts: jax.Array, axis_name: AxisNames) -> jax.Array:
    """Sums int32 counts over all devices by one psum, saturating at 2³¹ − 1.

    The upper and the lower 16 bits are summed separately, so that each sum fits int32 on up
    to 2¹⁵ devices.
    """
    # A psum takes only arrays that vary over its axis, and counts of constants do not vary.
    counts = match_varying(counts, lax.axis_index(axis_name))
    halves = jnp.stack([counts >> 16, counts & 0xFFFF])
    upper, lower = lax.psum(halves, axis_name)
    upper = upper + (lower >> 16)
    total = (upper << 16) | (lower & 0xFFFF)
    return jnp.where(upper > 0x7FFF, jnp.iinfo(jnp.int32).max, total)


def ids_in_part(ids: jax.Array, size: int, axis_name: AxisNames | None) -> jax.Array:
    """Returns ids as indices into this device's shard of the rows; −1 for other ids.

    On the second of two devices that hold 4 rows each, the ids [1, 5, −1] become
    [−1, 1, −1].

    Args:
        ids: Integers that number the rows of all devices in one sequence.
        size: The number of rows that each device holds.
        axis_name: The mesh axis or axes over which rows are sharded; None if rows are not
            sharded.
    """
    if axis_name is None:
        return ids
    indices = ids - lax.axis_index(axis_name).astype(ids.dtype) * size
    return jnp.where((indices >= 0) & (indices < size), indices, -1)


def rows_over(table: jax.Array, ids: jax.Array, axis_name: AxisNames) -> jax.Array:
    """Returns rows of a table that is sharded over devices, `[*ids.shape, …]`.

    The device with a row sends the row to all others; the rows of negative ids are zeros.
    """
    indices = ids_in_part(ids, len(table), axis_name)
    rows = table[jnp.maximum(indices, 0)]
    has_row = (indices >= 0).reshape(ids.shape + (1,) * (rows.ndim - ids.ndim))
    return lax.psum(jnp.where(has_row, rows, jnp.zeros_like(rows)), axis_name)


def any_over(x: jax.Array, axis_name: AxisNames) -> jax.Array:
    """Returns True where a bool is true on any device along one or more mesh axes."""
    return lax.pmax(x.astype(jnp.int32), axis_name) > 0


# The mesh axes over which values vary


def match_varying(tree: T, like: Any) -> T:
    """Returns `tree` typed as varying over every mesh axis over which `like` varies.

    Inside shard_map, a loop must start with a carry of the same type as its body returns,
    and the branches of a `lax.cond` must return the same type. Constants vary over no
    axis; pass everything that the loop reads as `like` (a pytree of arrays).
    The values of `tree` do not change. `lax.pcast` would do the same directly, but some
    supported versions of JAX lack it.
    """
    if all(varying_axes(like) <= varying_axes(leaf) for leaf in jax.tree.leaves(tree)):
        return tree
    false = jnp.zeros((), bool)
    for leaf in jax.tree.leaves(like):
        # Constants, such as numbers of Python, vary over no axis.
        if varying_axes(leaf) and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            corner = leaf[(slice(0, 1),) * leaf.ndim]
            false = false & (jnp.sum(corner != corner) < 0)
    return jax.tree.map(lambda leaf: jnp.where(false, leaf, leaf), tree)


def varying_axes(tree: Any) -> frozenset[str]:
    """Returns the mesh axes over which the types of the leaves of `tree` vary.

    The set is empty if types do not tell, as in `jax.pmap` or with `check_vma=False`.
    """

    def axes_of(leaf: jax.Array) -> frozenset[str]:
        aval = jax.typeof(leaf)
        # JAX 0.8 has `vma` instead of `manual_axis_type`.
        manual = getattr(aval, "manual_axis_type", None)
        return (
            manual.varying if manual is not None else getattr(aval, "vma", frozenset())
        )

    return frozenset().union(*map(axes_of, jax.tree.leaves(tree)))


def replicated_axes(tree: Any, axis_name: AxisNames) -> list[str]:
    """Lists the axes of `axis_name` over which `tree` is typed as equal on all devices."""
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    typed = [name for name in names if name in varying_axes(lax.axis_index(name))]
    varying = varying_axes(tree)
    return [name for name in typed if name not in varying]


# How arrays are sharded


def auto_shards(array: jax.Array) -> int:
    """Counts the devices over which XLA may have sharded `array`, unseen by its type."""
    mesh = jax.typeof(array).sharding.mesh
    axes = zip(mesh.axis_types, mesh.axis_sizes, strict=True)
    return math.prod(size for kind, size in axes if kind == AxisType.Auto)


def spec_of(array: jax.Array) -> tuple[tuple[str, ...], ...]:
    """Returns, for each axis of `array`, the mesh axes that shard it, as its type says.

    A matrix whose rows are sharded over "data" has the spec `(("data",), ())`.
    """
    names = []
    for entry in jax.typeof(array).sharding.spec:
        uncut = entry is None or entry is PartitionSpec.UNCONSTRAINED
        names.append(() if uncut else entry if isinstance(entry, tuple) else (entry,))
    return tuple(names)


def is_sharded(array: jax.Array) -> bool:
    """True if the type of `array` says that the array is sharded over devices."""
    return any(spec_of(array))


def is_device_local(array: jax.Array) -> bool:
    """True if the device that computes with `array` holds all of it."""
    return not is_sharded(array) and auto_shards(array) == 1


# Branches under vmap

# Up to this size, reductions of bools take no noticeable time.
_SMALL = 2**17


@jax.custom_batching.custom_vmap
def unvmap_any(*arrays: jax.Array) -> jax.Array:
    """True if any element of any array is true; under `jax.vmap`, of the whole batch.

    A `lax.cond` on the result stays a branch. A batched condition would turn it into a
    select, which computes both branches for every element.
    """
    # Reduce large arrays as floats, because XLA:CPU does not vectorise reductions of bools.
    is_true = [
        jnp.any(array)
        if isinstance(array.size, int) and array.size <= _SMALL
        else jnp.max(array.astype(jnp.float32), initial=0) > 0
        for array in arrays
    ]
    return functools.reduce(jnp.logical_or, is_true)


@unvmap_any.def_vmap
def _unvmap_any(
    size: int, batched: list[bool], *arrays: jax.Array
) -> tuple[jax.Array, bool]:
    del size, batched
    return unvmap_any(*arrays), False
