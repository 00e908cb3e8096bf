"""What every mergeable state is: leaves that merge one by one."""

import abc
import os
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from jax_rank_metrics import _mesh
from jax_rank_metrics._states import show
from jax_rank_metrics._states.double_floats import canonical, merge_two, reduce_axis

S = TypeVar("S", bound="State")


class State(abc.ABC):
    """What is kept of the lists seen so far, whose leaves merge one by one.

    How a leaf merges, with that of another state, along a stacked axis and over devices,
    is told by what it is:
        a `FloatPair`: sums of floats, which add without drift.
        int32: counts, at least 0, which add and stay at 2³¹ − 1 once they are there.
        other floats: the largest of each; −inf where there is none yet.

    A kind of state is a class under `pytree` of such leaves. It has `compute`, and a leaf
    `counts` of shape `[2]`: how many lists entered, and how many were undefined. One that
    names it differently overrides `_tally`. What must be equal for two states to merge
    (the edges of bins) is a static field. States that vmap, scan or pmap has stacked have
    its axes before those of every leaf.
    """

    counts: jax.Array
    _must_share = "the same cutoffs"  # what lets two states merge
    _text = "{}"  # how the numbers of `_shown` are told

    @property
    def _tally(self) -> jax.Array:
        return self.counts

    @property
    def lists(self) -> jax.Array:
        """How many lists entered, `[]` int32."""
        return self._tally[..., 0]

    @property
    def undefined(self) -> jax.Array:
        """How many lists of weight > 0 had no value of their own, `[]` int32."""
        return self._tally[..., 1]

    @property
    def _stacked(self) -> tuple[int, ...]:
        return jnp.shape(self._tally)[:-1]

    def merge(self: S, other: S) -> S:
        """The state of the lists of both.

        Raises:
            TypeError: if `other` is no state of this kind.
            ValueError: if the states differ in shape, as with different cutoffs.
        """
        if type(other) is not type(self):
            raise TypeError(
                f"merge got a {type(other).__name__}; pass a {type(self).__name__}, or "
                "states in dicts and other pytrees to jax_rank_metrics.merge"
            )
        same_shapes(self, other)
        return merge_two(canonical(self), canonical(other))

    def reduce(self: S) -> S:
        """Merges along a leading axis that vmap, scan or pmap has added to every leaf.

        Raises:
            ValueError: if there is no such axis.
        """
        stacked_axis(self)
        return reduce_axis(canonical(self))

    @abc.abstractmethod
    def compute(self) -> jax.Array:
        """The number of all lists, a scalar or `[*k]`; 0 where nothing counted."""

    def _shown(self) -> tuple[jax.Array, ...]:
        """What the state is shown as: numbers, each of the shape of `compute`."""
        return (self.compute(),)

    @property
    def _sample_size(self) -> jax.Array | None:
        """The effective number of lists, `[]`, for kinds of states that read weights."""
        return None

    __repr__ = show.state_repr
    __float__ = show.state_float
    __format__ = show.state_format
    _repr_html_ = show.state_html


def shape_of(state: State) -> Any:
    """The shape and dtype of what `compute` gives."""
    return jax.eval_shape(lambda one: one.compute(), canonical(state))


def same_shapes(one: State, two: State) -> None:
    """Raises where states have different cutoffs, or are stacked differently."""
    if jax.tree.structure(one) != jax.tree.structure(two):
        raise ValueError(
            f"states differ in how they were made; pass states of {one._must_share}"
        )
    if one._stacked != two._stacked:
        raise ValueError(
            f"states are stacked along axes of shape {one._stacked} and "
            f"{two._stacked}; reduce them first"
        )
    leaves = zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True)
    for shapes in [(jnp.shape(x), jnp.shape(y)) for x, y in leaves]:
        if shapes[0] != shapes[1]:
            # Less the axes that they share, these are the cutoffs.
            shared = os.path.commonprefix(shapes)
            a, b = (shape[len(shared) :] for shape in shapes)
            raise ValueError(
                f"states differ in shape: {a} and {b}; pass states of {one._must_share}"
            )
    _same_axes(one, two)


def _same_axes(one: State, two: State) -> None:
    """Raises where one state is equal on all devices and the other is not.

    Their sum would vary over the devices, and hold the lists of the first on each.
    """
    for name in _mesh.varying_axes(one) ^ _mesh.varying_axes(two):
        raise ValueError(
            f"merge: one state is equal on all devices of the mesh axis {name!r}, and the "
            "other holds the lists of each device, so that the lists of the first would "
            "count once for each device; all_reduce the other state before the merge, or "
            f"begin with empty(metrics, {name!r})"
        )


def stacked_axis(state: State) -> None:
    """Raises where a state has no leading axis to reduce."""
    if not state._stacked:
        raise ValueError(
            "stacked holds a state without a leading axis; pass states stacked by "
            "vmap, scan or pmap"
        )
