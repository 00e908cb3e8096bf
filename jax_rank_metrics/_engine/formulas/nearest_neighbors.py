"""Approximate nearest neighbours: how many true neighbours a search returned."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.formulas.id_lists import equally_weighted
from jax_rank_metrics._engine.ordering import matching
from jax_rank_metrics._ground import arithmetic, inputs, meshes, shards, types
from jax_rank_metrics._values import per_list


def neighbor_recall(
    distances: types.PerListInput,
    true_distances: types.PerListInput,
    k: types.RankCutoffs = None,
    epsilon: types.Number = 0.0,
    ids: types.PerListInput | None = None,
) -> per_list.PerList:
    """Recall of nearest neighbours: the share of the k nearest that a search returned.

    .. math:: (1 / k) · Σ_{i ∈ A} [d_i ≤ d_k + ε · |d_k|]

    A is the first k items that a search returned, and d_k is the distance of the true k-th
    neighbour: an item is near enough within (1 + ε) · d_k. An item exactly as far away as
    the k-th neighbour therefore counts, too, because an exact search may return this item
    or the k-th neighbour. A query with only n < k neighbours, such as a query with a
    filter, is measured at n.

    Pass distances between the original vectors, not the approximations of a compressed
    index, and round both arguments in the same way, because the comparison is exact. If
    distances were computed in two ways, pass an `epsilon` of some 1e-6.

    Undefined (no true neighbour): 0. Every query has the weight 1.

    Args:
        distances: `[*lists, returned]`, the distances of the items that were returned,
            nearest first; inf or NaN is padding. For similarities, pass their negatives.
        true_distances: `[*lists, neighbours]`, the distances of at least the k nearest
            neighbours, ascending; inf or NaN after the last.
        k: Number of neighbours, or a tuple of numbers; None is all of `true_distances`.
        epsilon: The share by which an item may be farther than the k-th neighbour. A new
            number does not compile again.
        ids: `[*lists, returned]` integers, the items that were returned; negative ids are
            padding. A repeated id counts once, and later items move up. None means
            that no item was returned twice, which distances alone do not tell.

    Raises:
        ValueError: if `true_distances` has fewer than k distances, if true distances do not
            ascend, if `epsilon` is negative, or if shapes do not agree. Inside `jax.jit`,
            the order is not checked.
        TypeError: if distances are not numbers, or ids are not integers.

    References:
        Aumüller, Bernhardsson and Faithfull, ANN-Benchmarks: a benchmarking tool for
        approximate nearest neighbor algorithms, Information Systems 87, 2020. Its `epsilon`
        and `largeepsilon` are this recall with an `epsilon` of 0.01 and 0.1; its `k-nn`
        allows 0.001 beyond d_k: pass `true_distances + 1e-3`. Big ANN Benchmarks add all
        items that tie with the last true neighbour; without repeated ids, this is ε = 0.

    >>> returned, exact = jnp.array([0.1, 0.3, 0.42]), jnp.array([0.1, 0.2, 0.4])
    >>> [f"{neighbor_recall(returned, exact, 3, eps).values:.2f}" for eps in (0, 0.1)]
    ['0.67', '1.00']
    >>> repeated = neighbor_recall(jnp.array([0.1] * 3), exact, 3, ids=jnp.array([7, 7, 7]))
    >>> f"{repeated.values:.2f}"
    '0.33'
    """
    ks = inputs.rank_cutoffs(k)
    epsilon = inputs.not_negative("epsilon", epsilon)
    frames = inputs.frames_among(true_distances=true_distances)
    inputs.same_index({"distances": distances, "ids": ids}, frames)
    returned = _distances("distances", distances)
    nearest = _distances("true_distances", true_distances)
    inputs.same_lists("distances", returned, "true_distances", nearest)
    for cutoff in ks:
        if cutoff is not None and cutoff > nearest.shape[-1]:
            raise ValueError(
                f"k is {cutoff}, but true_distances has shape {nearest.shape}; pass at "
                "least k distances per list, with inf after the last neighbour"
            )
    _check_ascending(nearest)
    if ids is not None:
        ids = inputs.ids("ids", ids)
        inputs.same_shape("ids", ids, "distances", returned.shape)
    keep_cutoffs = isinstance(k, (tuple, list))
    return _recall(ks, keep_cutoffs, returned, nearest, ids, epsilon)


def _distances(name: str, value: types.PerListInput) -> jax.Array:
    distances = inputs.real(name, value)
    if distances.ndim == 0:
        raise ValueError(f"{name} has shape (); pass at least one axis, the neighbours")
    if meshes.spec_of(distances)[-1]:
        raise ValueError(
            f"{name} has its neighbours sharded over devices, as {jax.typeof(distances)}; "
            "pass lists that are each whole on one device"
        )
    return distances


def _check_ascending(nearest: jax.Array) -> None:
    """Raises ValueError if known distances fall along the last axis."""
    if not inputs.is_readable(nearest):
        return
    distances = np.asarray(nearest)
    falls = distances[..., 1:] < distances[..., :-1]  # False beside NaN
    if falls.any():
        *lists, rank = inputs.first_index(falls)
        first, second = distances[(*lists, slice(rank, rank + 2))].tolist()
        raise ValueError(
            f"true_distances falls from {first:g} to {second:g} in list {tuple(lists)}; "
            "pass distances, the smallest first, such as the negatives of similarities"
        )


@partial(jax.jit, static_argnums=(0, 1))
def _recall(
    ks: tuple[int | None, ...],
    keep_cutoffs: bool,
    returned: jax.Array,
    nearest: jax.Array,
    ids: jax.Array | None,
    epsilon: jax.Array,
) -> per_list.PerList:
    dtype = inputs.float_dtype(returned, nearest)
    returned = shards.reshard_like(returned, nearest)
    nearest = shards.reshard_like(nearest, returned)
    if ids is not None:
        ids = shards.reshard_like(ids, returned)

    def recall_of_shard(
        tree: tuple[jax.Array, jax.Array, jax.Array | None, jax.Array, jax.Array],
    ) -> per_list.PerList:
        returned, nearest, ids, epsilon, has_neighbors = tree
        returned, nearest = returned.astype(dtype), nearest.astype(dtype)
        ranks = _ranks_of(returned, ids)
        is_neighbor = jnp.isfinite(nearest)
        values = []
        for k in ks:
            depth = nearest.shape[-1] if k is None else k
            is_true = is_neighbor & (arithmetic.iota(nearest) < depth)
            number = arithmetic.count(is_true)
            bound = jnp.max(jnp.where(is_true, nearest, -jnp.inf), -1, initial=-jnp.inf)
            bound = bound + epsilon.astype(dtype) * jnp.abs(bound)
            is_near = (ranks > 0) & (ranks <= number[..., None])
            is_near = is_near & (returned <= bound[..., None])
            num_near = arithmetic.count(is_near).astype(dtype)
            values.append(arithmetic.ratio(num_near, number.astype(dtype)))
        stacked = jnp.stack(values, -1)
        return equally_weighted(stacked, has_neighbors, keep_cutoffs, is_share=True)

    has_neighbors = jnp.any(jnp.isfinite(nearest), axis=-1)  # [*lists]
    tree = (returned, nearest, ids, jnp.asarray(epsilon), has_neighbors)
    return shards.map_shards(recall_of_shard, tree, has_neighbors)


def _ranks_of(returned: jax.Array, ids: jax.Array | None) -> jax.Array:
    """Returns the rank of each item among distinct items, from 1; 0 if it is repeated."""
    if ids is None or not ids.shape[-1]:
        return jnp.broadcast_to(arithmetic.iota(returned) + 1, returned.shape)
    no_ids = jnp.full_like(ids[..., :1], -1)
    return matching.match(ids, no_ids).first_ranks
