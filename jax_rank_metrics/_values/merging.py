"""Operations on many states in a pytree: mean, merge, reduce, all_reduce, compute.

Also the base class of results that map names of metrics to states.
"""

from collections.abc import Iterator, Mapping
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, cast, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._ground import inputs, meshes, types
from jax_rank_metrics._names.cutoff_names import cutoff_names
from jax_rank_metrics._values import double_floats, per_list
from jax_rank_metrics._values.mean import Mean
from jax_rank_metrics._values.state import (
    State,
    check_mergeable,
    check_stacked,
    is_state,
    shape_of,
    stacked_shape,
)


class StatesByName(Mapping[str, Mean]):
    """A mapping from the names of metrics to their states, with the values of all lists.

    Two such results are equal only if they are the same object, because they hold
    arrays.
    """

    _unit = "list"  # the noun for a list, in frames
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # type: ignore[assignment]

    states: dict[str, Mean]
    lists: dict[str, per_list.PerList]
    undefined: types.Undefined

    @property
    def list_ids(self) -> np.ndarray | None:
        """The id of every list; None if lists are known by their position alone."""
        return None

    def __getitem__(self, name: str) -> Mean:
        """Returns the state of a metric, such as `evaluation["ndcg@10"]`."""
        try:
            return self.states[name]
        except (KeyError, TypeError) as error:
            raise KeyError(
                f"{name!r} is not one of the metrics {', '.join(map(repr, self.states))}; "
                "values of each list are in .lists[metric].values"
            ) from error

    def __iter__(self) -> Iterator[str]:
        """Yields the names of metrics."""
        return iter(self.states)

    def __len__(self) -> int:
        """Returns the number of metrics."""
        return len(self.states)

    if not TYPE_CHECKING:  # type checkers would then allow any attribute

        def __getattr__(self, name: str) -> NoReturn:
            text = f"{type(self).__name__} has no attribute {name!r}"
            if not name.startswith("_") and (states := vars(self).get("states")):
                text += (
                    f"; its metrics are {', '.join(map(repr, states))}: each has a state, "
                    f"such as .states[{next(iter(states))!r}], and values in .lists; "
                    "jrm.compute returns all means"
                )
            raise AttributeError(text, name=name, obj=self)


K = TypeVar("K")
S = TypeVar("S", bound=State)
T = TypeVar("T")

# Pairs with more floats, such as sums for many bins, are added part by part over
# devices.
_LONG = 2**12


@overload
def mean(lists: per_list.PerList, undefined: types.Undefined | None = None) -> Mean: ...
@overload
def mean(
    lists: dict[K, per_list.PerList], undefined: types.Undefined | None = None
) -> dict[K, Mean]: ...
@overload
def mean(lists: object, undefined: types.Undefined | None = None) -> Any: ...
def mean(lists: object, undefined: types.Undefined | None = None) -> object:
    """Returns the `Mean` of every `PerList` in a pytree, a state that can be merged.

    Args:
        lists: Any pytree of `PerList` objects.
        undefined: See `PerList.mean`.

    Raises:
        TypeError: if the pytree holds anything else.
        ValueError: if `undefined` is another choice.

    >>> from jax_rank_metrics import measure, rank_retrieved
    >>> labels = jax.numpy.array([[0, 1], [1, 0]])
    >>> states = mean(measure(("mrr",), rank_retrieved(labels)))
    >>> f"{states['mrr'].compute():.2f}"
    '0.75'
    """
    inputs.check_undefined(undefined)
    check_leaves(lists, per_list.PerList, "lists")
    means = jax.tree.map(lambda node: node.mean(undefined), lists, is_leaf=_is_per_list)
    return in_order(lists, means)


def merge(*states: T) -> T:
    """Merges states: each resulting state summarises the lists of all arguments.

    Inside `jax.shard_map`, states that differ between devices cannot be merged with
    states that are equal on all devices: `all_reduce` the states of a step first, and
    merge the result with the states carried from earlier steps.

    Args:
        *states: Any pytrees of states, all with the same structure.

    Raises:
        ValueError: if there is no argument; if structures or shapes differ; if, inside
            `jax.shard_map`, some states are equal on all devices and others are not.
        TypeError: if a pytree holds anything but states, or if all are passed in one
            list.

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
    check_leaves(states[0], State, "states")
    merged = double_floats.canonical(states[0])
    for tree in states[1:]:
        _check_same_states(states[0], tree)
        merged = double_floats.merge_two(merged, double_floats.canonical(tree))
    return in_order(states[0], merged)


def reduce(stacked: T) -> T:
    """Merges the states along a leading axis that vmap, scan or pmap has added.

    Args:
        stacked: Any pytree of states. Only the first of several stacked axes is merged.

    Raises:
        TypeError: if the pytree holds anything else.
        ValueError: if a state has no leading axis.

    >>> from jax_rank_metrics import measure, rank_retrieved
    >>> labels = jax.numpy.array([[0, 1], [1, 0]])
    >>> stacked = jax.vmap(lambda y: mean(measure(("mrr",), rank_retrieved(y))))(labels)
    >>> f"{reduce(stacked)['mrr'].compute():.2f}"
    '0.75'
    """
    check_leaves(stacked, State, "stacked")
    for state in leaves_of(stacked):
        check_stacked(state)
    return in_order(
        stacked, double_floats.reduce_axis(double_floats.canonical(stacked))
    )


def all_reduce(states: T, axis_name: types.AxisNames) -> T:
    """Merges states over the devices of one or more mesh axes.

    Works inside `jax.shard_map` and `jax.pmap`. The result is equal bit for bit on
    every device, and JAX types it so: `out_specs=P()` is accepted under the default
    `check_vma`. However many lists there are, devices exchange only a few floats per
    metric and device (a few for each resample of a `Bootstrap`), and one sum of all
    counts. For long sums, such as the sums per bin of `pooled_roc_auc`, each device
    adds a part, and devices exchange the parts.

    Call `all_reduce` on the states of a step before merging them with states carried
    from earlier steps, which are already equal on all devices:
    `merge(carried, all_reduce(new, axis_name))`.

    Args:
        states: Any pytree of states.
        axis_name: A mesh axis, or a tuple of mesh axes, over which lists are divided.
            Leave out axes over which only the items of a list are divided
            (`items_axis`), because all devices of such an axis have the state of the
            same lists.

    Raises:
        TypeError: if `axis_name` is not a name.
        ValueError: if it names no axis of the mesh in this context; if JAX types a
            state as equal on all devices of an axis, because the state's lists would be
            counted once for each device.
    """
    check_leaves(states, State, "states")
    if axis_name is None:
        raise TypeError("axis_name is None; pass the name of a mesh axis or a tuple")
    inputs.axis_names("axis_name", axis_name)
    for path, state in jax.tree_util.tree_leaves_with_path(states, is_leaf=is_state):
        for name in meshes.replicated_axes(state, axis_name):
            where = f" (at {jax.tree_util.keystr(path)})" if path else ""
            raise ValueError(
                f"all_reduce over {name!r}: states are already equal on all devices of "
                f"that axis{where}, and their lists would count once for each device; "
                "leave the axis out, or all_reduce only the states of this step and "
                "merge the result with the earlier ones"
            )

    return in_order(states, fold_over(states, axis_name))


def fold_over(states: T, axis_name: types.AxisNames) -> T:
    """Merges states or their leaves over devices, without the checks of `all_reduce`."""

    def slots(x: double_floats.FloatPair | jax.Array) -> Any:
        """Stacks floats as `[devices, …]`, and sums counts and long pairs as `[1, …]`."""
        if isinstance(x, double_floats.FloatPair):
            if x.high.size > _LONG:
                return jax.tree.map(lambda leaf: leaf[None], _fold_parts(x, axis_name))
            return jax.tree.map(lambda leaf: meshes.stack_over(leaf, axis_name), x)
        if double_floats.is_count(x):
            return meshes.sum_counts_over(x, axis_name)[None]
        return meshes.stack_over(x, axis_name)

    # Every device merges the stacked floats in the same order, so results are equal bit
    # for bit.
    return double_floats.reduce_axis(
        jax.tree.map(slots, states, is_leaf=double_floats.is_pair)
    )


def _fold_parts(
    pair: double_floats.FloatPair, axis_name: types.AxisNames
) -> double_floats.FloatPair:
    """Adds long pairs over devices: each device adds one part, and they exchange the sums.

    Each device then holds and adds no more floats than its own pair has. If pairs were
    stacked, it would hold the pairs of all devices.
    """
    size, parts = pair.high.size, lax.axis_size(axis_name)

    def cut(x: jax.Array) -> jax.Array:
        padded = lax.pad(x.reshape(-1), jnp.zeros((), x.dtype), [(0, -size % parts, 0)])
        return meshes.exchange_parts(padded.reshape(parts, -1), axis_name)

    def join(x: jax.Array) -> jax.Array:
        flat = meshes.concatenate_over(x, axis_name, 0)
        return flat[:size].reshape(pair.high.shape)

    return jax.tree.map(join, double_floats.reduce_axis(jax.tree.map(cut, pair)))


@overload
def compute(
    states: State, *, flat: Literal[False] = False, host: Literal[False] = False
) -> jax.Array: ...
@overload
def compute(
    states: dict[K, S], *, flat: bool = False, host: Literal[False] = False
) -> dict[K, jax.Array]: ...
@overload
def compute(
    states: StatesByName, *, flat: bool = False, host: Literal[False] = False
) -> dict[str, jax.Array]: ...
@overload
def compute(states: object, *, flat: bool = False, host: bool = False) -> Any: ...
def compute(states: object, *, flat: bool = False, host: bool = False) -> object:
    """Calls `compute` on every state in a pytree: for a `Mean`, this is the mean.

    Args:
        states: Any pytree of states; with `flat`, a dict. An `Evaluation` counts as the
            dict of its states.
        flat: If True, each cutoff gets its own name: "recall@1,5" becomes the scalars
            "recall@1" and "recall@5". The cutoffs are read from the names, because a
            state does not hold them. If the number of cutoffs in a name differs from
            the state's, as for "mine", cutoffs are numbered: "mine[0]", "mine[1]" and
            so on.
        host: If True, returns Python floats, and lists of floats for several cutoffs,
            for json and loggers. All numbers are fetched from the device at once.
            `json.dumps` writes NaN and infinities as `NaN` and `Infinity`, which strict
            JSON parsers refuse.

    Raises:
        TypeError: if the pytree holds anything but states; if with `flat` it is not a
            dict of states.
        ValueError: if `flat` is True and two cutoffs have the same name.

    >>> from jax_rank_metrics import empty
    >>> states = empty(("recall@1,5", "mrr"))
    >>> compute(states, host=True)
    {'recall@1,5': [0.0, 0.0], 'mrr': 0.0}
    >>> compute(states, flat=True, host=True)
    {'recall@1': 0.0, 'recall@5': 0.0, 'mrr': 0.0}
    """
    states = in_order(states, jax.tree.map(_held_states, states, is_leaf=is_state))
    check_leaves(states, State, "states")
    values: Any = jax.tree.map(lambda state: state.compute(), states, is_leaf=is_state)
    if host:
        values = jax.device_get(values)
    if flat:
        values = {label: values[name][index] for label, name, index in cutoffs(states)}
    order = values if flat else states
    if host:
        values = jax.tree.map(lambda leaf: leaf.tolist(), values)
    return in_order(order, values)


def cutoffs(
    states: object,
) -> Iterator[tuple[str, str, EllipsisType | tuple[EllipsisType, int]]]:
    """Yields, for every cutoff in a dict of states, its name, its state's name, its index.

    The index selects the cutoff from the values of the state, even if the state is
    stacked.

    Raises:
        TypeError: if `states` is not a dict of states.
        ValueError: if two cutoffs have one name.
    """
    if not isinstance(states, dict):
        raise TypeError(
            f"flat needs a dict of states, but got {type(states).__name__}; pass a dict "
            "from names to states, or leave flat out"
        )
    owners: dict[str, Any] = {}  # the name of a cutoff -> the name of its state
    for name, state in states.items():
        if not isinstance(state, State):
            raise TypeError(
                f"flat needs a dict of states, but {name!r} holds another pytree; pass a "
                "dict from names to states, or leave flat out"
            )
        shape = shape_of(state).shape
        has_cutoffs = len(shape) > len(stacked_shape(state))
        labels = cutoff_names(name, shape[-1]) if has_cutoffs else [name]
        for index, label in enumerate(labels):
            if label in owners:
                raise ValueError(
                    f"flat: {owners[label]!r} and {name!r} both hold {label!r}; name one "
                    "of them differently, or leave out flat"
                )
            owners[label] = name
            yield label, name, (..., index) if has_cutoffs else ...


def leaves_of(tree: object) -> list[Any]:
    """Returns the states, the `PerList`s and any other leaves of a pytree."""
    return jax.tree.leaves(tree, is_leaf=lambda x: is_state(x) or _is_per_list(x))


def check_leaves(tree: object, kind: type, name: str) -> None:
    """Raises TypeError if a pytree holds anything but objects of a kind."""
    for leaf in leaves_of(tree):
        if not isinstance(leaf, kind):
            held = f"a {type(leaf).__name__}"
            cure = f"pass a pytree of {'Mean' if kind is State else kind.__name__}"
            if hasattr(leaf, "dtype"):
                held = inputs.kind_of(leaf)
                if kind is State:  # as Orbax restores it
                    cure += ", and restore a checkpoint with the target empty(metrics)"
            elif isinstance(leaf, StatesByName):
                cure = f"pass its {'.states' if kind is State else '.lists'}"
            raise TypeError(f"{name} holds {held}; {cure}")


def in_order(like: object, tree: T) -> T:
    """Restores the order of the keys of `like`, also in nested dicts, as JAX sorts keys.

    `in_order({"b": 0, "a": 0}, {"a": 1, "b": 2})` is `{"b": 2, "a": 1}`.
    """
    if not isinstance(like, dict) or not isinstance(tree, dict):
        return tree
    return cast(T, {key: in_order(like[key], tree[key]) for key in like})


def _held_states(leaf: Any) -> Any:
    return leaf.states if isinstance(leaf, StatesByName) else leaf


def _is_per_list(tree: object) -> bool:
    return isinstance(tree, per_list.PerList)


def _check_same_states(first: object, second: object) -> None:
    check_leaves(second, State, "states")
    structures = [jax.tree.structure(tree) for tree in (first, second)]
    if structures[0] != structures[1]:
        kinds = [jax.tree.map(type, tree, is_leaf=is_state) for tree in (first, second)]
        # States of the same kind but with different settings raise below.
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"states differ in structure: {structures[0]} and {structures[1]}; pass "
                "states of the same metrics"
            )
    for a, b in zip(leaves_of(first), leaves_of(second), strict=True):
        check_mergeable(a, b)
