"""Many metrics in one call: as means, as values of every list, and as empty states."""

from typing import Unpack

import numpy as np
from jax import lax

from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._engine.metrics import run
from jax_rank_metrics._engine.ranking import Ranking
from jax_rank_metrics._engine.sources import list_arguments
from jax_rank_metrics._ground import inputs, meshes, messages, types
from jax_rank_metrics._values import mean, per_list, remarks


@list_arguments.with_list_options
def evaluate(
    metrics: binding.Metrics,
    labels: types.Labels,
    scores: types.Scores,
    mask: types.Mask | None = None,
    weights: types.Weights | None = None,
    key: types.Key | None = None,
    *,
    undefined: types.Undefined = "zero",
    **options: Unpack[list_arguments.ListOptions],
) -> dict[str, mean.Mean]:
    """Computes several metrics from one ranking of every list.

    The result equals `mean(measure(metrics, rank(…)))`, except for "gm_map", whose state is
    the `GeometricMean` of average precision.

    Lists are ranked to the deepest cutoff of the metrics that read ranks. If one of these
    metrics has no cutoff, all items are sorted, which takes many times as long as a top-k.
    Hit rate and reciprocal rank are computed by counting, with or without a cutoff: if
    there is no other metric, nothing is sorted.

    Args:
        metrics: Names such as "ndcg@10", "map" or "recall(rel=2)@1,5", including
            trec_eval's families and sets, such as "ndcg_cut.5,10" and "official". Or a
            dict of names to metrics, or to `functools.partial` of metrics.
        labels: See `rank`.
        scores: See `rank`.
        mask: See `rank`.
        weights: See `rank`.
        key: See `rank`.
        undefined: See `PerList.mean`.
        ties: See `rank`.
        list_weights: See `rank`.
        segment_ids: See `rank`.
        num_segments: See `rank`.
        items_axis: See `rank`. Metrics that only count need no cutoff.
        retrieved: See `rank`.
        columns: See `rank`. Each column must be read by a metric of the call.
        relax: See `rank`.

    Returns:
        A dict from each name to its state, in the order of `metrics`. Under `jax.jit` the
        names come back sorted, as JAX sorts the keys of any dict.

    Raises:
        ValueError: as `rank`; or if a name is unknown or cannot be parsed.
        TypeError: as `rank`; or if a metric has no such option.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import compute
    >>> labels, scores = jnp.array([[1, 0, 1]]), jnp.array([[0.9, 0.8, 0.7]])
    >>> states = evaluate(("recall@1,3", "map"), labels, scores)
    >>> {name: f"{value:.2f}" for name, value in compute(states, flat=True).items()}
    {'recall@1': '0.50', 'recall@3': '1.00', 'map': '0.83'}
    """
    inputs.option("undefined", undefined, types.Undefined)
    bounds = binding.bind_all(metrics)
    lists = list_arguments.checked(labels, scores, mask, weights, key, **options)
    _warn_of_one_list(lists, labels, mask)
    return run.mean_lists(bounds, lists, undefined)


def _warn_of_one_list(
    lists: list_arguments.ScoredLists, labels: object, mask: object
) -> None:
    """Warns if one long list may hold many queries; labels in JAX arrays are not read."""
    if lists.scores.size <= 1000 or lists.num_lists != 1:
        return
    known, exists = inputs.on_host("labels", labels), inputs.on_host("mask", mask)
    if known is None or (exists is None and mask is not None):
        return
    exists = (known >= 0) & (True if exists is None else exists)
    cure = "pass segment_ids and num_segments of jrm.pack(query_ids)"
    counts = np.count_nonzero(exists), np.count_nonzero(exists & (known > 0))
    for remark in remarks.remark_on_one_list(*counts, cure):
        messages.warn(remark)


def measure(metrics: binding.Metrics, ranking: Ranking) -> dict[str, per_list.PerList]:
    """Computes several metrics of every list of a ranking.

    Args:
        metrics: As for `evaluate`.
        ranking: A `Ranking` from `rank`, `rank_retrieved` or another source, at least as
            deep as the deepest cutoff of the metrics.

    Returns:
        A dict from each name, as typed, to its values `[*lists]`, or `[*lists, k]` for
        several cutoffs.

    Raises:
        ValueError: if a name is unknown, or a cutoff is deeper than the ranking.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import rank_retrieved
    >>> ranking = rank_retrieved(jnp.array([0, 1]))
    >>> [f"{lists.values:.1f}" for lists in measure(("mrr", "p@1"), ranking).values()]
    ['0.5', '0.0']
    """
    return run.measure_ranking(binding.bind_all(metrics), ranking)


def empty(
    metrics: binding.Metrics, axis_name: types.AxisNames | None = None
) -> dict[str, mean.Mean]:
    """Returns states of no lists: the identity of `merge`, and a carry for `lax.scan`.

    For a loop over a mesh, `jax.device_put(empty(…), NamedSharding(mesh, P()))` puts the
    states on the devices of later states, so that a jitted step is compiled once.

    Args:
        metrics: As for `evaluate`.
        axis_name: Inside `jax.shard_map`, the mesh axis or axes over which the carry
            will vary, because the type of a carry must say so; None elsewhere.

    Raises:
        ValueError: if a name is unknown, or `axis_name` is not a mesh axis in this
            context.
        TypeError: if `axis_name` is not a name or a tuple of names.

    >>> {name: state.compute().shape for name, state in empty(("map", "p@1,5")).items()}
    {'map': (), 'p@1,5': (2,)}
    """
    states = {}
    for bound in binding.bind_all(metrics):
        shape = () if bound.num_values is None else (bound.num_values,)
        states[bound.name] = bound.state.empty(shape)
    if axis_name is None:
        return states
    inputs.axis_names("axis_name", axis_name)
    return meshes.match_varying(states, lax.axis_index(axis_name))
