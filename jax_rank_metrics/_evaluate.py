"""Many metrics at once, and states in any pytree."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _devices, _inputs, _mean, _metric, _names, _sources
from jax_rank_metrics._mean import Mean
from jax_rank_metrics._per_list import PerList
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._types import (
    AxisNames,
    Key,
    Labels,
    ListWeights,
    Mask,
    Scores,
    Ties,
    Undefined,
    Weights,
)


def evaluate(
    metrics: _names.Metrics,
    labels: Labels,
    scores: Scores,
    mask: Mask | None = None,
    weights: Weights | None = None,
    key: Key | None = None,
    *,
    ties: Ties | None = None,
    list_weights: ListWeights | None = None,
    undefined: Undefined = "zero",
    segment_ids: Scores | None = None,
    num_segments: int | None = None,
    items_axis: AxisNames | None = None,
) -> dict[str, Mean]:
    """Several metrics from one ranking of every list.

    The same bit for bit as `mean(measure(metrics, rank(…)))`. One metric without a
    cutoff makes the ranking a full sort, which costs many times a top-k.

    Args:
        metrics: Names such as "ndcg@10", "map" or "recall(rel=2)@1,5", or a dict of
            names to metrics or to `functools.partial`s of them.
        labels: These and the rest are the arguments of `rank`.
        scores: See `rank`.
        mask: See `rank`.
        weights: See `rank`.
        key: See `rank`.
        ties: See `rank`.
        list_weights: See `rank`.
        undefined: See `PerList.mean`.
        segment_ids: See `rank`.
        num_segments: See `rank`.
        items_axis: See `rank`.

    Returns:
        A dict from each name to its state, in the order given. A `jax.jit` around the
        call returns the names sorted, as JAX does with any dict.

    Raises:
        ValueError: as `rank`; if a name is unknown or cannot be read.
        TypeError: as `rank`; if a metric has no such option.

    >>> labels, scores = jnp.array([[1, 0, 1]]), jnp.array([[0.9, 0.8, 0.7]])
    >>> states = evaluate(("recall@1,3", "map"), labels, scores)
    >>> {name: f"{value:.2f}" for name, value in compute(states, flat=True).items()}
    {'recall@1': '0.50', 'recall@3': '1.00', 'map': '0.83'}
    """
    _inputs.option("undefined", undefined, _inputs.UNDEFINED)
    bounds = _names.bind_all(metrics)
    lists, options = _sources.scored_lists(
        labels,
        scores,
        mask,
        weights,
        key,
        ties,
        list_weights,
        segment_ids,
        num_segments,
        items_axis,
    )
    states = _metric.evaluate_lists(bounds, lists, options, undefined)
    return {bound.name: states[bound.name] for bound in bounds}


def measure(metrics: _names.Metrics, ranking: Ranking) -> dict[str, PerList]:
    """Several metrics of every list of one ranking.

    Args:
        metrics: As for `evaluate`.
        ranking: From `rank` or `rank_retrieved`, cut no shallower than any metric asks.

    Returns:
        A dict from each name, as given, to its values.

    Raises:
        ValueError: if a name is unknown, or a cutoff lies beyond the ranking.

    >>> from jax_rank_metrics import rank_retrieved
    >>> ranking = rank_retrieved(jnp.array([0, 1]))
    >>> [f"{lists.values:.1f}" for lists in measure(("mrr", "p@1"), ranking).values()]
    ['0.5', '0.0']
    """
    bounds = _names.bind_all(metrics)
    values = _metric.measure_ranking(bounds, ranking)
    return {bound.name: values[bound.name] for bound in bounds}


def mean(lists: Any, undefined: Undefined = "zero") -> Any:
    """The state of every `PerList` in a pytree; see `PerList.mean`.

    >>> from jax_rank_metrics import rank_retrieved
    >>> states = mean(measure(("mrr",), rank_retrieved(jnp.array([[0, 1], [1, 0]]))))
    >>> f"{states['mrr'].compute():.2f}"
    '0.75'
    """
    _inputs.option("undefined", undefined, _inputs.UNDEFINED)
    _only(lists, PerList, "lists")
    means = jax.tree.map(
        lambda one: one.mean(undefined), lists, is_leaf=lambda x: isinstance(x, PerList)
    )
    return _in_order(lists, means)


def merge(*states: Any) -> Any:
    """The states of all lists: any pytrees of one structure, added leaf by leaf.

    Raises:
        ValueError: if there is no state, or structures or shapes differ.

    >>> from jax_rank_metrics import rank_retrieved
    >>> state = mean(measure(("mrr",), rank_retrieved(jnp.array([[0, 1], [1, 0]]))))
    >>> int(merge(state, state)["mrr"].lists)
    4
    """
    if not states:
        raise ValueError("merge got no states; pass at least one")
    first, *others = states
    _only(first, Mean, "states")
    for other in others:
        _same_states(first, other)
        first = _in_order(first, _mean.merge_two(first, other))
    return first


def reduce(stacked: Any) -> Any:
    """Merges states along a leading axis that vmap, scan or pmap has added.

    Raises:
        ValueError: if a state has no leading axis.

    >>> from jax_rank_metrics import rank_retrieved
    >>> labels = jnp.array([[0, 1], [1, 0]])
    >>> stacked = jax.vmap(lambda y: mean(measure(("mrr",), rank_retrieved(y))))(labels)
    >>> f"{reduce(stacked)['mrr'].compute():.2f}"
    '0.75'
    """
    _only(stacked, Mean, "stacked")
    for state in _leaves(stacked):
        if not state.lists.ndim:
            raise ValueError(
                "stacked holds a state without a leading axis; pass states stacked by "
                "vmap, scan or pmap"
            )
    return _in_order(stacked, _mean.reduce_axis(stacked))


def all_reduce(states: Any, axis_name: Any) -> Any:
    """Merges states over the devices of one or more mesh axes.

    Inside `jax.shard_map` or `jax.pmap`. The result is equal bit for bit on every device
    and typed so: `out_specs=P()` passes under the default `check_vma`. It moves a few
    floats per metric and device, however many lists there were.

    Args:
        states: Any pytree of states.
        axis_name: A mesh axis, or a tuple of them, over which lists are divided. Not one
            over which only their items are (`items_axis`): there every device has the
            state of the same lists.

    Raises:
        ValueError: if JAX types the states as equal on all devices of an axis, so that
            its lists would be counted once for each.
    """
    _only(states, Mean, "states")
    for name in _devices.equal_over(states, axis_name):
        raise ValueError(
            f"all_reduce over {name!r}: states are already equal on all devices of that "
            "axis; leave it out, or their lists count several times"
        )
    return _in_order(states, _mean.all_reduce_axis(states, axis_name))


def empty(metrics: _names.Metrics, axis_name: Any = None) -> dict[str, Mean]:
    """The states of no lists: the identity of `merge`, and a carry for `lax.scan`.

    Args:
        metrics: As for `evaluate`.
        axis_name: Inside `jax.shard_map`, the mesh axis or axes over which the carry
            will vary, as its type must say; None elsewhere.

    >>> {name: state.compute().shape for name, state in empty(("map", "p@1,5")).items()}
    {'map': (), 'p@1,5': (2,)}
    """
    states = {}
    for bound in _names.bind_all(metrics):
        several = isinstance(bound.k, tuple)
        states[bound.name] = Mean.empty((len(bound.k),) if several else ())
    if axis_name is None:
        return states
    zero = lax.axis_index(axis_name) * 0
    return jax.tree.map(lambda x: x + zero.astype(x.dtype), states)


def compute(states: Any, *, flat: bool = False) -> Any:
    """The mean of every state in a pytree.

    Args:
        states: Any pytree of states; with `flat`, a dict.
        flat: Give each cutoff a name of its own: "recall@1,5" becomes the scalars
            "recall@1" and "recall@5".

    Raises:
        TypeError: if `flat` is asked of anything but a dict of states.
    """
    _only(states, Mean, "states")
    values = jax.tree.map(
        lambda state: state.compute(), states, is_leaf=lambda x: isinstance(x, Mean)
    )
    values = _in_order(states, values)
    if not flat:
        return values
    if not isinstance(values, dict):
        raise TypeError(f"flat needs a dict of states; got {type(states).__name__}")
    scalars = {}
    for name, value in values.items():
        if not isinstance(value, jax.Array):
            raise TypeError(
                f"flat needs a dict of states; {name!r} holds another pytree"
            )
        if value.ndim == 0:
            scalars[name] = value
        else:
            names = _names.cutoff_names(name, value.shape[0])
            scalars |= dict(zip(names, value, strict=True))
    return scalars


def _leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree, is_leaf=lambda x: isinstance(x, (Mean, PerList)))


def _only(tree: Any, kind: type, name: str) -> None:
    for leaf in _leaves(tree):
        if not isinstance(leaf, kind):
            raise TypeError(
                f"{name} holds a {type(leaf).__name__}; pass a pytree of {kind.__name__}"
            )


def _in_order(like: Any, tree: Any) -> Any:
    # JAX sorts the keys of a dict; readers want their metrics in the order they gave.
    return {key: tree[key] for key in like} if isinstance(like, dict) else tree


def _same_states(first: Any, other: Any) -> None:
    structures = [jax.tree.structure(x) for x in (first, other)]
    if structures[0] != structures[1]:
        raise ValueError(
            f"states differ in structure: {structures[0]} and {structures[1]}; pass states "
            "of the same metrics"
        )
    for one, two in zip(_leaves(first), _leaves(other), strict=True):
        shapes = [jnp.shape(x.weighted.high) for x in (one, two)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"states differ in shape: {shapes[0]} and {shapes[1]}; pass states of the "
                "same cutoffs"
            )
