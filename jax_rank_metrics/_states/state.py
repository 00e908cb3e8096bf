"""The base class of every mergeable state: leaves that merge one by one."""

import abc
import os
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.core import Tracer

from jax_rank_metrics import _mesh
from jax_rank_metrics._states import show
from jax_rank_metrics._states.double_floats import canonical, merge_two, reduce_axis

S = TypeVar("S", bound="State")


class State(abc.ABC):
    """A summary of the lists seen so far, to which more lists can be added.

    A state merges leaf by leaf: with another state, along a stacked axis, and over
    devices. The type of a leaf says how:
        `FloatPair`: a sum of floats; adds without drift.
        int32: a count, at least 0; adds, and stays at 2³¹ − 1 once it is there.
        any other float: a maximum; −inf where there is no value yet.

    A kind of state is a class under `pytree` of such leaves. It defines `compute`, and has
    a leaf `counts` of shape `[2]`: the number of lists that entered, and of undefined
    lists. A class that names this leaf differently overrides `_tally`. What must be equal
    for two states to merge, such as the edges of bins, is a static field. States stacked by
    vmap, scan or pmap have the stacked axes before those of every leaf.
    """

    counts: jax.Array
    _must_share = "the same cutoffs"  # what two states must have in common to merge
    _text = "{}"  # the format of the numbers of `_shown`

    @property
    def _tally(self) -> jax.Array:
        return self.counts

    @property
    def lists(self) -> jax.Array:
        """Number of lists that entered, `[]` int32."""
        return self._tally[..., 0]

    @property
    def undefined(self) -> jax.Array:
        """Number of lists of weight > 0 where the metric was undefined, `[]` int32."""
        return self._tally[..., 1]

    @property
    def _stacked(self) -> tuple[int, ...]:
        """The lengths of the stacked axes."""
        return jnp.shape(self._tally)[:-1]

    def merge(self: S, other: S) -> S:
        """Returns the state of the lists of both states.

        Raises:
            TypeError: if `other` is not a state of this kind.
            ValueError: if the states differ in shape, as with different cutoffs; if,
                inside `jax.shard_map`, only one of them is equal on all devices.
        """
        if type(other) is not type(self):
            raise TypeError(
                f"merge got a {type(other).__name__}; pass a {type(self).__name__}, or "
                "states in dicts and other pytrees to jax_rank_metrics.merge"
            )
        check_mergeable(self, other)
        return merge_two(canonical(self), canonical(other))

    def reduce(self: S) -> S:
        """Merges the states along a leading axis that vmap, scan or pmap has added.

        Raises:
            ValueError: if there is no such axis.
        """
        check_stacked(self)
        return reduce_axis(canonical(self))

    @abc.abstractmethod
    def compute(self) -> jax.Array:
        """The number that summarises all lists, `[]` or `[*k]`; 0 where nothing counted."""

    def _shown(self) -> tuple[jax.Array, ...]:
        """Numbers to print, each of the shape of `compute`."""
        return (self.compute(),)

    @property
    def _sample_size(self) -> jax.Array | None:
        """The effective number of lists, `[*k]`, for kinds of states that read weights."""
        return None

    __repr__ = show.state_repr
    __float__ = show.state_float
    __format__ = show.state_format
    _repr_html_ = show.state_html


def stacked_shape(state: "State") -> tuple[int, ...]:
    """Returns the lengths of the axes along which states are stacked; () for one state."""
    return state._stacked


def shape_of(state: State) -> jax.ShapeDtypeStruct:
    """Returns the shape and dtype of `state.compute()` without computing it."""
    return jax.eval_shape(lambda state: state.compute(), canonical(state))


def check_mergeable(first: State, second: State) -> None:
    """Raises ValueError where two states of one kind cannot be added.

    They may have different cutoffs or static fields, be stacked differently, or, inside
    `jax.shard_map`, one may be equal on all devices and the other not.
    """
    if jax.tree.structure(first) != jax.tree.structure(second):
        raise ValueError(
            f"states differ in how they were made; pass states of {first._must_share}"
        )
    if first._stacked != second._stacked:
        raise ValueError(
            f"states are stacked along axes of shape {first._stacked} and "
            f"{second._stacked}; reduce them first"
        )
    leaves = jax.tree.leaves(first), jax.tree.leaves(second)
    for pair in zip(*leaves, strict=True):
        shapes = list(map(jnp.shape, pair))
        if shapes[0] != shapes[1]:
            # Without the leading axes that they share, the shapes are those of cutoffs.
            shared = os.path.commonprefix(shapes)
            a, b = (shape[len(shared) :] for shape in shapes)
            raise ValueError(
                f"states differ in shape: {a} and {b}; pass states of "
                f"{first._must_share}"
            )
    if not any(isinstance(leaf, Tracer) for leaf in (*leaves[0], *leaves[1])):
        return  # outside of `jax.shard_map`
    # The sum would vary over the devices, with the lists of the equal state on each.
    for name in _mesh.varying_axes(first) ^ _mesh.varying_axes(second):
        raise ValueError(
            f"merge: one state is equal on all devices of the mesh axis {name!r}, and the "
            "other holds the lists of each device, so that the lists of the first would "
            "count once for each device; all_reduce the other state before the merge, or "
            f"begin with empty(metrics, {name!r})"
        )


def check_stacked(state: State) -> None:
    """Raises ValueError where a state has no leading axis to reduce."""
    if not state._stacked:
        raise ValueError(
            "stacked holds a state without a leading axis; pass states stacked by "
            "vmap, scan or pmap"
        )


def is_state(tree: Any) -> bool:
    """Whether a node of a pytree is a state, for `jax.tree.map(…, is_leaf=…)`."""
    return isinstance(tree, State)
