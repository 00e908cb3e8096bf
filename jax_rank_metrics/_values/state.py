"""The base class of all states, which are merged leaf by leaf."""

import abc
import dataclasses
import os
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jax_rank_metrics._ground import meshes
from jax_rank_metrics._values.double_floats import canonical, merge_two, reduce_axis

S = TypeVar("S", bound="State")
T = TypeVar("T")

_MAX_SHOWN = 10  # cutoffs; a state may have one for each rank


class State(abc.ABC):
    """A summary of lists, to which more lists can be added.

    States are merged leaf by leaf: with another state, along a stacked axis, or over
    devices. The type of a leaf determines how:
        `FloatPair`: a sum of floats; adds without drift.
        int32: a count, at least 0; adds, and stays at 2³¹ − 1 once it is there.
        any other float: a maximum; −inf if there is no value yet.

    A kind of state is a class of such leaves, decorated by `pytree`. It defines
    `compute`, and has a leaf `counts` of shape `[2]`: the number of lists that entered,
    and the number of undefined lists. A class that gives this leaf another name
    overrides `_tally`. Fields that must be equal in two states that are merged, such as
    the edges of bins, are static. If states are stacked by vmap, scan or pmap, every
    leaf begins with the stacked axes.

    Error messages and debuggers show the repr of a state, so it never raises: not
    inside `jax.jit`, not for the shapes that `jax.eval_shape` returns, and not for
    other objects that JAX uses instead of arrays.
    """

    counts: jax.Array
    _must_share = "the same cutoffs"  # required of merged states, for errors
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
        """Number of lists with weight > 0 in which the metric is undefined, `[]` int32."""
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
                inside `jax.shard_map`, only one of the two is equal on all devices.
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
        """Returns the number that summarises all lists, `[]` or `[*k]`; 0 for no lists."""

    def _shown(self) -> tuple[jax.Array, ...]:
        """Returns the numbers to print, each with the shape of `compute`."""
        return (self.compute(),)

    @property
    def _sample_size(self) -> jax.Array | None:
        """The effective number of lists, `[*k]`; None for kinds without weights."""
        return None

    def __repr__(self) -> str:
        """Shows the numbers and the counts: `Mean(0.5 ± 0.5, 2 lists, 0 undefined)`.

        If the numbers cannot be read, it shows their shape: `Mean(traced, float32[])`.
        """
        name = type(self).__name__
        try:
            stacked = list(self._stacked)
            local = local_copy(self)
            if local is None or stacked:
                value = jax.eval_shape(lambda state: state.compute(), self)
                axes = [f"stacked {stacked}"] if stacked else []
                kind = f"{value.dtype}{list(value.shape)}"
                return f"{name}({', '.join([*why_unreadable(self), *axes, kind])})"
            numbers, counts = shown_numbers(local)
            return f"{name}({self._text.format(*numbers)}, {counts})"
        except Exception as error:  # leaves may not be arrays, or not fit a state
            return f"{name}({fields_text(self, error)})"

    def _repr_html_(self) -> str | None:
        """Returns HTML for a notebook; None if the numbers cannot be read."""
        try:
            local = local_copy(self)
            if local is None or self._stacked:
                return None
            numbers, counts = shown_numbers(local)
            bold = self._text.replace("{}", "<b>{}</b>", 1)
            return f"{bold.format(*numbers)} <small>({counts})</small>"
        except Exception:  # as in `__repr__`
            return None

    def __float__(self) -> float:
        """Converts a state to a float, if it computes a single number.

        Raises:
            TypeError: if the state has several cutoffs, or is stacked.
        """
        if self._stacked:
            raise TypeError(
                f"a state stacked along axes of shape {self._stacked} is not a single "
                "number; pass state.reduce(), or read state.compute()"
            )
        value = self.compute()
        if value.ndim:
            raise TypeError(
                f"a state of {len(value)} cutoffs is not a single number; pass one of "
                "them, such as state.compute()[0]"
            )
        return float(value)

    def __format__(self, spec: str) -> str:
        """Formats `f"{state:.3f}"` as a float, and `f"{state}"` as the repr."""
        return format(float(self), spec) if spec else str(self)


def stacked_shape(state: "State") -> tuple[int, ...]:
    """Returns the lengths of the axes along which states are stacked; () for one state."""
    return state._stacked


def shape_of(state: State) -> jax.ShapeDtypeStruct:
    """Returns the shape and dtype of `state.compute()` without computing it."""
    return jax.eval_shape(lambda state: state.compute(), canonical(state))


def check_mergeable(first: State, second: State) -> None:
    """Raises ValueError if two states of one kind cannot be added.

    They may have different cutoffs or static fields, or be stacked differently; or,
    inside `jax.shard_map`, only one of them may be equal on all devices.
    """
    if jax.tree.structure(first) != jax.tree.structure(second):
        raise ValueError(
            f"states were made with different settings; pass states of {first._must_share}"
        )
    if first._stacked != second._stacked:
        raise ValueError(
            f"states are stacked along axes of shape {first._stacked} and "
            f"{second._stacked}; call reduce on the stacked states before you merge them"
        )
    leaves = jax.tree.leaves(first), jax.tree.leaves(second)
    for pair in zip(*leaves, strict=True):
        shapes = list(map(jnp.shape, pair))
        if shapes[0] != shapes[1]:
            # Leave out the leading axes that the shapes share, so that the message
            # shows the cutoffs.
            shared = os.path.commonprefix(shapes)
            shape_a, shape_b = (shape[len(shared) :] for shape in shapes)
            raise ValueError(
                f"states differ in shape: {shape_a} and {shape_b}; pass states of "
                f"{first._must_share}"
            )
    if not any(isinstance(leaf, Tracer) for leaf in (*leaves[0], *leaves[1])):
        return  # outside of `jax.shard_map`
    # A sum of both kinds would count the lists of the equal state once for each device.
    for name in meshes.varying_axes(first) ^ meshes.varying_axes(second):
        raise ValueError(
            f"merge: one state is equal on all devices of the mesh axis {name!r}, and the "
            "other holds the lists of each device, so that the lists of the first would "
            "count once for each device; all_reduce the other state before the merge, or "
            f"begin with empty(metrics, {name!r})"
        )


def check_stacked(state: State) -> None:
    """Raises ValueError if a state has no leading axis to reduce."""
    if not state._stacked:
        raise ValueError(
            "stacked holds a state without a leading axis; pass states stacked by "
            "vmap, scan or pmap"
        )


def is_state(tree: Any) -> bool:
    """True if a node of a pytree is a state, for `jax.tree.map(…, is_leaf=…)`."""
    return isinstance(tree, State)


def number(x: float | np.ndarray) -> str:
    """Formats a number as 0.500, or as 1.00e-04 outside [1e-3, 1e6); −0.0 as 0.000."""
    x = x + 0  # −0.0 becomes 0.0
    plain = x == 0 or 1e-3 <= abs(x) < 1e6
    return f"{x:.3f}" if plain else f"{x:.2e}"


def fields_text(tree: Any, error: Exception) -> str:
    """Returns the fields as text, and the error of computing if all leaves are arrays."""
    names = [field.name for field in dataclasses.fields(tree)]
    texts = [f"{name}={getattr(tree, name)!r}" for name in names]
    if all(isinstance(leaf, (jax.Array, np.ndarray)) for leaf in jax.tree.leaves(tree)):
        texts.append(f"{type(error).__name__}: {error}")
    return ", ".join(texts)


def shown_numbers(state: State) -> tuple[list[str], str]:
    """Formats the numbers of a state, and its counts as "3 lists, 0 undefined"."""
    # Without this, results that are computed from constants inside a trace would be
    # traced.
    with jax.ensure_compile_time_eval():
        values, (lists, undefined), size = jax.device_get(
            (state._shown(), state._tally, state._sample_size)
        )
    lists, undefined = int(lists), int(undefined)  # a caller may have cast them
    counts = f"{lists} list{'' if lists == 1 else 's'}"
    # For equal weights, the effective number is the number of lists, up to rounding.
    if size is not None and np.min(size, initial=np.inf) < 0.995 * lists:
        texts = [
            f"{n:.3g}" if n < 1000 else f"{n:.0f}" for n in (np.min(size), np.max(size))
        ]
        counts += f", n_eff {' to '.join(dict.fromkeys(texts))}"
    return [numbers_text(array) for array in values], f"{counts}, {undefined} undefined"


def numbers_text(values: np.ndarray) -> str:
    """Formats a number, or a number for each of the first cutoffs: `[0.500, 0.250]`."""
    if not np.ndim(values):
        return number(values)
    ellipsis = ["…"] * (len(values) > _MAX_SHOWN)
    return f"[{', '.join([*map(number, values[:_MAX_SHOWN]), *ellipsis])}]"


def local_copy(tree: T) -> T | None:
    """Returns the tree with NumPy arrays; None if this host cannot read all arrays.

    Results that are computed from the copy do not depend on a mesh, unlike results from
    the tree.
    """
    leaves, structure = jax.tree.flatten(tree)
    local_leaves = []
    for leaf in leaves:
        # A single list that is selected from NumPy arrays consists of NumPy scalars.
        kinds = (jax.Array, np.ndarray, np.generic)
        if isinstance(leaf, Tracer) or not isinstance(leaf, kinds):
            return None
        if isinstance(leaf, jax.Array):
            if leaf.is_deleted():
                return None
            if not leaf.is_fully_addressable:
                # Do not compute with it here, because all hosts would have to join in.
                if not leaf.is_fully_replicated:
                    return None
                leaf = leaf.addressable_data(0)
        local_leaves.append(leaf)
    return jax.tree.unflatten(structure, jax.device_get(local_leaves))


def why_unreadable(tree: object) -> list[str]:
    """Returns a list with the word for why a tree cannot be read; empty if unknown."""
    leaves = jax.tree.leaves(tree)
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        return ["traced"]
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
    return ["deleted"] if any(leaf.is_deleted() for leaf in arrays) else []
