"""What devices tell each other, typed as equal on all of them."""

import math
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType

T = TypeVar("T")


def stack(x: jax.Array, axis_name: Any) -> jax.Array:
    """The `x` of every device of one or more mesh axes, along a new first axis.

    Every device writes its own slot of zeros, and the slots are summed: exact, and what
    JAX types as equal on all devices, as an all-gather is not.
    """
    index, size = lax.axis_index(axis_name), lax.axis_size(axis_name)
    places = lax.broadcasted_iota(jnp.int32, (size,) + (1,) * x.ndim, 0)
    return lax.psum(jnp.where(places == index, x[None], jnp.zeros_like(x)), axis_name)


def join(x: jax.Array, axis_name: Any) -> jax.Array:
    """The `x` of every device, concatenated along the last axis."""
    return flat(jnp.moveaxis(stack(x, axis_name), 0, -2))


def flat(x: jax.Array) -> jax.Array:
    """The last two axes as one."""
    return x.reshape((*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def varying_as(x: T, inputs: Any) -> T:
    """`x`, typed as different on all devices on which any of `inputs` is.

    What a loop inside shard_map begins with must have the type of what it ends with.
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


def unseen(x: jax.Array) -> int:
    """Over how many devices XLA may have cut `x` without its type saying so."""
    mesh = jax.typeof(x).sharding.mesh
    axes = zip(mesh.axis_types, mesh.axis_sizes, strict=True)
    return math.prod(size for kind, size in axes if kind == AxisType.Auto)


def has_whole(x: jax.Array) -> bool:
    """Whether `x` is whole on the device that computes with it."""
    cut = any(entry is not None for entry in jax.typeof(x).sharding.spec)
    return not cut and unseen(x) == 1
