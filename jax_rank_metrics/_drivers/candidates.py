"""A batch of queries with candidates of their own, which alone have a rank."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._calls.run import measure_ranking
from jax_rank_metrics._drivers.batches import Batch, pad_rows
from jax_rank_metrics._drivers.engine import Measured
from jax_rank_metrics._drivers.interactions import SparseRows
from jax_rank_metrics._drivers.step import Array, Plan, score_pairs
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._sources.rank import rank

# How many numbers a batch may gather from the embeddings of its candidates.
MAX_GATHERED = 2**24


class CandidateBatch(NamedTuple):
    """The queries of a batch, and the items that each of them is judged on.

    Attributes:
        rows: `[queries, …]`, such as embeddings.
        items: `[queries, listed, …]`, the rows of the listed items.
        ids: `[queries, listed]`, candidates and relevant items, by id; −1 is padding.
        labels: `[queries, listed]`, the relevance of each.
        retrieved: `[queries, listed]` bool, which are candidates: only they have a rank.
        weights: `[queries]`, 1, or 0 for queries that only fill up the batch.
        key: The key of this batch for random ties, or None.
    """

    rows: Array
    items: Array
    ids: Array
    labels: Array
    retrieved: Array
    weights: Array
    key: jax.Array | None


class Listed(NamedTuple):
    """The candidates of all queries and their relevant items, as sparse rows.

    Both have the same entries, sorted by id.

    Attributes:
        labels: `[queries, items]`, the relevance of each listed item; 0 is stored.
        retrieved: `[queries, items]`, 1 for candidates, and 0 for relevant items that
            are none.
    """

    labels: SparseRows
    retrieved: SparseRows

    @classmethod
    def of(
        cls,
        candidates: SparseRows,
        relevant: SparseRows,
        excluded: SparseRows | None,
        item_mask: np.ndarray | None,
    ) -> "Listed":
        """Joins candidates and relevant items, without those that leave the lists.

        Args:
            candidates: `[queries, items]`, 1 where an item is a candidate.
            relevant: `[queries, items]`, labels.
            excluded: `[queries, items]`, what leaves the lists; or None.
            item_mask: `[items]` bool, the items that exist; or None.
        """
        import scipy.sparse

        shape = candidates.shape
        union = scipy.sparse.coo_array((candidates > 0) + (relevant > 0))
        keys = _keys(union, shape)
        keep = np.ones(keys.shape, bool)
        if excluded is not None:
            keep &= ~np.isin(keys, _keys(scipy.sparse.coo_array(excluded), shape))
        if item_mask is not None:
            keep &= item_mask[union.col]
        keys = np.sort(keys[keep])
        rows, columns = keys // shape[1], keys % shape[1]

        def values_of(matrix: SparseRows) -> SparseRows:
            matrix = scipy.sparse.coo_array(matrix)
            matrix_keys = _keys(matrix, shape)
            order = np.argsort(matrix_keys)
            values = np.zeros(keys.size, np.float32)
            found = np.isin(keys, matrix_keys)
            indices = np.searchsorted(matrix_keys[order], keys[found])
            values[found] = matrix.data[order][indices]
            ends = np.searchsorted(rows, np.arange(shape[0] + 1))
            return scipy.sparse.csr_array((values, columns, ends), shape)

        return cls(values_of(relevant), values_of(candidates))

    @property
    def width(self) -> int:
        """How many items the longest list has, at least 1."""
        return max(1, int(np.diff(self.labels.indptr).max()))


def _keys(matrix: Any, shape: tuple[int, int]) -> np.ndarray:
    """Numbers the entries of a sparse matrix through all rows, int64."""
    return matrix.row.astype(np.int64) * shape[1] + matrix.col


def candidate_batch(
    number: int,
    batch: Batch,
    rows: Array,
    items: np.ndarray | jax.Array,
    listed: Listed,
    key: jax.Array | None,
) -> CandidateBatch:
    """Returns the arrays of a batch, with the embeddings of its candidates.

    Args:
        number: The number of the batch, which makes the key of its random ties its own.
        batch: The queries of the batch.
        rows: `[size, …]`, the embeddings of these queries, and of any that only fill up
            the batch.
        items: `[items, …]`, where embeddings are taken from.
        listed: The candidates of all queries.
        key: The key of all batches, or None.
    """
    size, width = len(rows), batch.widths[1]
    ids, labels = pad_rows(listed.labels, batch.indices, size, width)
    _, retrieved = pad_rows(listed.retrieved, batch.indices, size, width)
    return CandidateBatch(
        rows,
        items[np.maximum(ids, 0)],
        ids,
        labels,
        retrieved > 0,
        weights=(np.arange(size) < batch.indices.size).astype(np.float32),
        key=key if key is None else jax.random.fold_in(key, number),
    )


def measure_candidates(
    plan: Plan, origin: jax.Array | None, queries: CandidateBatch
) -> Measured:
    """Ranks the candidates of each query of a batch, and measures these rankings.

    Returns:
        As `measure_queries`.
    """
    scores = score_pairs(plan, origin, queries.rows, queries.items)
    exists = queries.ids >= 0
    ranking = rank(
        queries.labels,
        scores,
        exists,
        queries.weights,
        queries.key,
        k=None if plan.whole_list_metrics else plan.depth,
        ties=plan.ties,
        retrieved=queries.retrieved,
    )
    values = measure_ranking(plan.bounds, ranking)
    slots = ranking.items[..., : plan.k]
    ids = jnp.take_along_axis(queries.ids, jnp.maximum(slots, 0), axis=-1)
    ids = jnp.where(slots >= 0, ids, -1)
    is_nan = jnp.isnan(scores.astype(jnp.float32)) & exists & queries.retrieved
    return (
        [values[bound.name] for bound in plan.bounds],
        ids,
        jnp.any(is_nan, axis=-1),
    )


program = one_off_jit(measure_candidates, ("plan",), level=1)
