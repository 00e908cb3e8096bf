"""Many metrics at once: measured, as means, and as means of nothing yet."""

from typing import Any

from jax import lax

from jax_rank_metrics import _inputs, _mesh, _types
from jax_rank_metrics._calls import names, run
from jax_rank_metrics._places.soft import sigmoid_ranks
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.lists import checked
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList


def evaluate(
    metrics: names.Metrics,
    labels: _types.Labels,
    scores: _types.Scores,
    mask: _types.Mask | None = None,
    weights: _types.Weights | None = None,
    key: _types.Key | None = None,
    *,
    ties: _types.Ties | None = None,
    list_weights: _types.ListWeights | None = None,
    undefined: _types.Undefined = "zero",
    segment_ids: _types.SegmentIds | None = None,
    num_segments: int | None = None,
    items_axis: _types.AxisNames | None = None,
    retrieved: _types.Mask | None = None,
    columns: _types.Columns | None = None,
    relax: sigmoid_ranks | None = None,
) -> dict[str, Mean]:
    """Several metrics from one ranking of every list.

    The same as `mean(measure(metrics, rank(…)))`, but for "gm_map": there the state is
    the `GeometricMean` of the average precision of lists. Lists are ranked as deep as the
    deepest cutoff of the metrics that read ranks; one of them without a cutoff makes it
    a full sort, which costs many times a top-k. Hit rate and reciprocal rank count
    instead, at any cutoff and without: if all do, nothing is ordered.

    Args:
        metrics: Names such as "ndcg@10", "map" or "recall(rel=2)@1,5", or a dict of
            names to metrics, or to a `functools.partial` of one.
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
        items_axis: See `rank`; no cutoff is needed for metrics that only count.
        retrieved: See `rank`.
        columns: See `rank`. Each must be read by a metric.
        relax: See `rank`.

    Returns:
        A dict from each name to its state, in the order given. A `jax.jit` around the
        call returns the names sorted, as JAX does with any dict.

    Raises:
        ValueError: as `rank`; if a name is unknown or cannot be read.
        TypeError: as `rank`; if a metric has no such option.

    >>> from jax_rank_metrics import compute
    >>> labels, scores = jax.numpy.array([[1, 0, 1]]), jax.numpy.array([[0.9, 0.8, 0.7]])
    >>> states = evaluate(("recall@1,3", "map"), labels, scores)
    >>> {name: f"{value:.2f}" for name, value in compute(states, flat=True).items()}
    {'recall@1': '0.50', 'recall@3': '1.00', 'map': '0.83'}
    """
    _inputs.option("undefined", undefined, _types.Undefined)
    bounds = names.bind_all(metrics)
    lists = checked(
        labels,
        scores,
        mask,
        weights,
        key,
        ties=ties,
        list_weights=list_weights,
        segment_ids=segment_ids,
        num_segments=num_segments,
        items_axis=items_axis,
        retrieved=retrieved,
        columns=columns,
        relax=relax,
    )
    return run.measure_lists(bounds, lists, undefined)


def measure(metrics: names.Metrics, ranking: Ranking) -> dict[str, PerList]:
    """Several metrics of every list of one ranking.

    Args:
        metrics: As for `evaluate`.
        ranking: From `rank` or `rank_retrieved`, cut no shallower than any metric asks.

    Returns:
        A dict from each name, as given, to its values.

    Raises:
        ValueError: if a name is unknown, or a cutoff lies beyond the ranking.

    >>> from jax_rank_metrics import rank_retrieved
    >>> ranking = rank_retrieved(jax.numpy.array([0, 1]))
    >>> [f"{lists.values:.1f}" for lists in measure(("mrr", "p@1"), ranking).values()]
    ['0.5', '0.0']
    """
    return run.measure_ranking(names.bind_all(metrics), ranking)


def empty(metrics: names.Metrics, axis_name: Any = None) -> dict[str, Mean]:
    """The states of no lists: the identity of `merge`, and a carry for `lax.scan`.

    Args:
        metrics: As for `evaluate`.
        axis_name: Inside `jax.shard_map`, the mesh axis or axes over which the carry
            will vary, as its type must say; None elsewhere.

    Raises:
        ValueError: if a name is unknown, or `axis_name` names no axis here.
        TypeError: if `axis_name` is no name.

    >>> {name: state.compute().shape for name, state in empty(("map", "p@1,5")).items()}
    {'map': (), 'p@1,5': (2,)}
    """
    states = {}
    for bound in names.bind_all(metrics):
        shape = () if bound.several is None else (bound.several,)
        states[bound.name] = bound.state.empty(shape)
    if axis_name is None:
        return states
    _inputs.axis_names("axis_name", axis_name)
    return _mesh.match_varying(states, lax.axis_index(axis_name))
