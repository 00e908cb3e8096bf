"""What is done with states in any pytree: means, merging, and the numbers."""

from collections.abc import Iterator
from typing import Any

import jax

from jax_rank_metrics import _inputs, _mesh
from jax_rank_metrics._states.double_floats import (
    canonical,
    is_count,
    merge_two,
    reduce_axis,
)
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._states.state import (
    State,
    same_shapes,
    shape_of,
    stacked_axis,
)
from jax_rank_metrics._types import Undefined

# The values along a last axis of metrics whose names may leave them out.
DEFAULT_CUTOFFS: dict[str, tuple[Any, ...]] = {}


def mean(lists: Any, undefined: Undefined | None = None) -> Any:
    """The state of every `PerList` in a pytree; see `PerList.mean`.

    >>> from jax_rank_metrics import measure, rank_retrieved
    >>> labels = jax.numpy.array([[0, 1], [1, 0]])
    >>> states = mean(measure(("mrr",), rank_retrieved(labels)))
    >>> f"{states['mrr'].compute():.2f}"
    '0.75'
    """
    if undefined is not None:
        _inputs.option("undefined", undefined, Undefined)
    check_leaves(lists, PerList, "lists")
    means = jax.tree.map(
        lambda one: one.mean(undefined), lists, is_leaf=lambda x: isinstance(x, PerList)
    )
    return in_order(lists, means)


def merge(*states: Any) -> Any:
    """The states of all lists: any pytrees of one structure, added leaf by leaf.

    Raises:
        ValueError: if there is no state, or structures or shapes differ.
        TypeError: if states are given as one list; pass them one by one.

    >>> from jax_rank_metrics import measure, rank_retrieved
    >>> labels = jax.numpy.array([[0, 1], [1, 0]])
    >>> state = mean(measure(("mrr",), rank_retrieved(labels)))
    >>> int(merge(state, state)["mrr"].lists)
    4
    """
    if not states:
        raise ValueError("merge got no states; pass at least one")
    if len(states) == 1 and type(states[0]) in (list, tuple):
        raise TypeError(
            f"merge got one {type(states[0]).__name__}, which is a pytree with nothing to "
            "merge it with; pass merge(a, b) or merge(*states)"
        )
    first, *others = states
    check_leaves(first, State, "states")
    merged = canonical(first)
    for other in others:
        _same_states(first, other)
        merged = merge_two(merged, canonical(other))
    return in_order(first, merged)


def reduce(stacked: Any) -> Any:
    """Merges states along a leading axis that vmap, scan or pmap has added.

    Raises:
        ValueError: if a state has no leading axis.

    >>> from jax_rank_metrics import measure, rank_retrieved
    >>> labels = jax.numpy.array([[0, 1], [1, 0]])
    >>> stacked = jax.vmap(lambda y: mean(measure(("mrr",), rank_retrieved(y))))(labels)
    >>> f"{reduce(stacked)['mrr'].compute():.2f}"
    '0.75'
    """
    check_leaves(stacked, State, "stacked")
    for state in leaves_of(stacked):
        stacked_axis(state)
    return in_order(stacked, reduce_axis(canonical(stacked)))


def all_reduce(states: Any, axis_name: Any) -> Any:
    """Merges states over the devices of one or more mesh axes.

    Inside `jax.shard_map` or `jax.pmap`. The result is equal bit for bit on every device
    and typed so: `out_specs=P()` passes under the default `check_vma`. It moves a few
    floats per metric and device (a few for each resample of a `Bootstrap`), however many
    lists there were. Counts, however many a state has, are one sum over the devices.

    Args:
        states: Any pytree of states.
        axis_name: A mesh axis, or a tuple of them, over which lists are divided. Not one
            over which only their items are (`items_axis`): there every device has the
            state of the same lists.

    Raises:
        TypeError: if `axis_name` is no name.
        ValueError: if it names no axis here; if JAX types the states as equal on all
            devices of an axis, so that its lists would be counted once for each.
    """
    check_leaves(states, State, "states")
    if axis_name is None:
        raise TypeError("axis_name is None; pass the name of a mesh axis or a tuple")
    _inputs.axis_names("axis_name", axis_name)
    for path, state in jax.tree_util.tree_leaves_with_path(states, is_leaf=_is_state):
        for name in _mesh.replicated_axes(state, axis_name):
            where = f" (at {jax.tree_util.keystr(path)})" if path else ""
            raise ValueError(
                f"all_reduce over {name!r}: states are already equal on all devices of "
                f"that axis{where}, and their lists would count once for each device; "
                "leave the axis out, or all_reduce only the states of this step and "
                "merge the result with the earlier ones"
            )

    def slots(x: jax.Array) -> jax.Array:
        if is_count(x):
            return _mesh.sum_counts_over(x, axis_name)[None]
        return _mesh.stack_over(x, axis_name)

    # Folding the slots in one order gives every device the same bits.
    return in_order(states, reduce_axis(jax.tree.map(slots, states)))


def compute(states: Any, *, flat: bool = False, host: bool = False) -> Any:
    """The number of every state in a pytree: its mean, or what else its kind computes.

    Args:
        states: Any pytree of states; with `flat`, a dict.
        flat: Give each cutoff a name of its own: "recall@1,5" becomes the scalars
            "recall@1" and "recall@5". The cutoffs are read off the names, since a state
            does not know its own: under a key like "mine", or one with another number
            of cutoffs after the @, they are "mine[0]" and so on.
        host: Give Python floats, and lists of them for several cutoffs, as json and
            loggers take them. All are fetched from the device at once.

    Raises:
        TypeError: if `flat` is asked of anything but a dict of states.
        ValueError: if with `flat` two states have cutoffs of one name.

    >>> from jax_rank_metrics import empty
    >>> states = empty(("recall@1,5", "mrr"))
    >>> compute(states, host=True)
    {'recall@1,5': [0.0, 0.0], 'mrr': 0.0}
    >>> compute(states, flat=True, host=True)
    {'recall@1': 0.0, 'recall@5': 0.0, 'mrr': 0.0}
    """
    check_leaves(states, State, "states")
    order: Any = states
    values = jax.tree.map(lambda state: state.compute(), states, is_leaf=_is_state)
    if host:
        values = jax.device_get(values)
    if flat:
        values = {one: values[name][place] for one, name, place in cutoffs(states)}
        order = values
    if host:
        values = jax.tree.map(lambda x: x.tolist(), values)
    return in_order(order, values)


def cutoffs(states: Any) -> Iterator[tuple[str, str, Any]]:
    """Of every cutoff in a dict of states: its name, the state's, and its index.

    Raises:
        TypeError: if it is no dict of states.
        ValueError: if two cutoffs have one name.
    """
    if not isinstance(states, dict):
        raise TypeError(f"flat needs a dict of states; got {type(states).__name__}")
    whose: dict[str, Any] = {}
    for name, state in states.items():
        if not isinstance(state, State):
            raise TypeError(
                f"flat needs a dict of states; {name!r} holds another pytree"
            )
        shape = shape_of(state).shape
        several = len(shape) > len(state._stacked)
        names = cutoff_names(name, shape[-1]) if several else [name]
        for place, one in enumerate(names):
            if one in whose:
                raise ValueError(
                    f"flat: {whose[one]!r} and {name!r} both hold {one!r}; name one of "
                    "them differently, or leave out flat"
                )
            whose[one] = name
            yield one, name, (..., place) if several else ...


def _is_state(tree: Any) -> bool:
    return isinstance(tree, State)


def leaves_of(tree: Any) -> list[Any]:
    """The states and the `PerList`s of a pytree, and whatever else it holds."""
    return jax.tree.leaves(tree, is_leaf=lambda x: isinstance(x, (State, PerList)))


def check_leaves(tree: Any, kind: type, name: str) -> None:
    """Raises where a pytree holds anything else."""
    for leaf in leaves_of(tree):
        if not isinstance(leaf, kind):
            pass_this = "Mean" if kind is State else kind.__name__
            raise TypeError(
                f"{name} holds a {type(leaf).__name__}; pass a pytree of {pass_this}"
            )


def in_order(like: Any, tree: Any) -> Any:
    """A result whose names stand as in `like`, since JAX sorts the keys of a dict."""
    if not isinstance(like, dict):
        return tree
    return {key: in_order(like[key], tree[key]) for key in like}


def _same_states(first: Any, other: Any) -> None:
    structures = [jax.tree.structure(x) for x in (first, other)]
    if structures[0] != structures[1]:
        raise ValueError(
            f"states differ in structure: {structures[0]} and {structures[1]}; pass states "
            "of the same metrics"
        )
    for one, two in zip(leaves_of(first), leaves_of(other), strict=True):
        same_shapes(one, two)


def cutoff_names(name: str, count: int) -> list[str]:
    """A name for every cutoff of a result: 'recall@1,5' is 'recall@1' and 'recall@5'."""
    head, at, tail = name.rpartition("@")
    if not at and name.lower() in DEFAULT_CUTOFFS:
        head, at = name, "@"
        tail = ",".join(f"{k:g}" for k in DEFAULT_CUTOFFS[name.lower()])
    ks = [k.strip() for k in tail.split(",")]
    if at and len(ks) == count:
        return [f"{head}@{k}" for k in ks]
    return [f"{name}[{place}]" for place in range(count)]
