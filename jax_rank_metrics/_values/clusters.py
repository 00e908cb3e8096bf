"""Joins the lists of each cluster to a single list, on the host."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._ground.inputs.list_ids import numbered
from jax_rank_metrics._values import list_arrays


def joined(
    lists: list_arrays.ListArrays, ids: Any, undefined: types.Undefined
) -> tuple[Any, Any, Any]:
    """Computes the values, weights and `defined` of `PerList.cluster`."""
    arrays = lists.values, lists.weights, lists.defined
    if any(isinstance(array, Tracer) for array in arrays):
        raise TypeError(
            "lists are traced, but cluster joins them on the host; call cluster outside of "
            "jax.jit, or inside it call bootstrap(lists, ids), which resamples clusters"
        )
    if not all(map(inputs.is_readable, arrays)):
        raise ValueError(
            "lists lie on several hosts, but clusters are joined on one; pass the ids of "
            "clusters to bootstrap"
        )
    numbers, num_clusters = cluster_numbers(
        "ids", ids, list_arrays.list_shape_of(lists)
    )
    values, weights, defined = list_arrays.columns_of(lists)
    values = list_arrays.filled(values, defined, undefined)
    weights = list_arrays.counted_weights(weights, defined, undefined)
    dtype = inputs.float_dtype(lists.values, lists.weights)
    by_cluster = join_clusters(values, weights, numbers, num_clusters)
    values, weights = (array.astype(dtype) for array in by_cluster)
    if not lists.has_cutoffs:
        values = values[:, 0]
    if not lists.cutoff_weights:
        weights = weights[:, 0]
    results = values, weights, weights > 0
    return jax.device_put(results) if isinstance(lists.values, jax.Array) else results


def cluster_numbers(
    name: str, ids: Any, list_shape: tuple[int, ...], places: Any = None
) -> tuple[np.ndarray, int]:
    """Numbers the clusters of lists in the order in which their ids first appear.

    Args:
        name: The name of the ids, for errors.
        ids: An id for each list, as for `PerList.cluster`.
        list_shape: The lengths of the axes of lists.
        places: The names of the lists, for errors; None names lists by their indices.

    Returns:
        The number of each list's cluster, `[lists]`, and the number of clusters.

    Raises:
        TypeError: if ids are traced, or cannot be the keys of a dict.
        ValueError: if the number of ids is not the number of lists, or if an id is
            missing.
    """
    if isinstance(ids, Tracer):
        raise TypeError(f"{name} are traced; pass them outside of jax.jit")
    if len(list_shape) == 1:
        ids = inputs.by_ids(name, ids, range(*list_shape), "lists", inputs.keys_of)
    inputs.refuse_masked(name, ids, "the cluster of every list")
    is_listed = len(list_shape) == 1 and isinstance(ids, (list, tuple))
    ids = ids if is_listed else np.asarray(ids)  # in a list, an id may be a tuple
    shape = (len(ids),) if is_listed else ids.shape
    if shape != list_shape:
        raise ValueError(
            f"{name} have shape {shape}, but the lists have shape {list_shape}; pass one "
            "id for each list"
        )
    packed = numbered(name, ids if is_listed else ids.ravel(), places)
    return packed.segment_ids, packed.num_segments


def join_clusters(
    values: np.ndarray, weights: np.ndarray, clusters: np.ndarray, num_clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Computes the weighted mean and the total weight of each cluster, in float64.

    Args:
        values: `[lists, cutoffs]`.
        weights: `[lists, cutoffs]`; lists whose weight is not above 0 are left out.
        clusters: `[lists]`, the number of the cluster of each list.
        num_clusters: Number of clusters.

    Returns:
        Means and weights, `[clusters, cutoffs]` each; 0 for clusters without weight.
    """
    entered = weights > 0
    weights = np.where(entered, weights, 0).astype(np.float64)
    products = weights * np.where(entered, values, 0)
    weight, total = (
        sums_by_number(array, clusters, num_clusters) for array in (weights, products)
    )
    return total / np.where(weight > 0, weight, 1), weight


def sums_by_number(x: np.ndarray, numbers: np.ndarray, count: int) -> np.ndarray:
    """Sums `[lists, columns]` over lists with the same number, `[count, columns]`."""
    columns = [np.bincount(numbers, column, count) for column in x.T]
    return np.stack(columns, -1) if columns else np.zeros((count, 0))
