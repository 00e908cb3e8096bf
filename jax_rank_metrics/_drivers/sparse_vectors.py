"""Sparse queries and items, such as those of SPLADE, which scipy multiplies on the host."""

from typing import Any

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers.interactions import SparseRows
from jax_rank_metrics._drivers.model import Model
from jax_rank_metrics._sources.similarities import Similarity

# How many pairs of a query and a candidate are multiplied at a time: their entries are
# copied, 100 each in embeddings of usual models.
PAIRS_AT_ONCE = 2**16


def read_sparse(
    queries: Any, items: Any, similarity: object
) -> tuple[SparseRows, SparseRows]:
    """Returns sparse queries and items as rows, whose entries are sorted and distinct.

    So the products of a query with equal items are summed in the same order, and tie.

    Args:
        queries: `[queries, dims]`, of scipy.
        items: `[items, dims]`, of scipy.
        similarity: The argument of `evaluate_embeddings`.

    Raises:
        ValueError: if only one of them is sparse; if shapes do not fit; if the similarity
            is not "dot".
        TypeError: if an entry is no real number.
    """
    if not (_inputs.is_sparse(queries) and _inputs.is_sparse(items)):
        name = "queries" if _inputs.is_sparse(queries) else "items"
        raise ValueError(
            f"{name} is sparse, and the other is not; pass queries and items that are both "
            "sparse, or both dense"
        )
    if not isinstance(similarity, str) or similarity != "dot":
        raise ValueError(
            f"similarity is {similarity!r}, and queries are sparse; leave it out, or pass "
            "dense embeddings"
        )
    shapes = queries.shape, items.shape
    if [len(x) for x in shapes] != [2, 2] or shapes[0][1] != shapes[1][1]:
        raise ValueError(
            f"queries has shape {shapes[0]} and items has shape {shapes[1]}; pass "
            "embeddings [queries, dims] and [items, dims]"
        )
    # The floats in which dense vectors are multiplied; scipy adds up in the same dtype.
    dtype = jax.dtypes.canonicalize_dtype(_inputs.float_dtype(queries, items))
    return _rows("queries", queries, dtype), _rows("items", items, dtype)


def sparse_model(
    queries: SparseRows,
    items: SparseRows,
    item_mask: jax.Array | None,
    has_candidates: bool,
) -> Model:
    """Returns the model of sparse embeddings, which knows the scores of each batch.

    Args:
        queries: `[queries, dims]`, from `read_sparse`.
        items: `[items, dims]`.
        item_mask: `[items]` bool, or None for all; others are not looked at.
        has_candidates: Whether each query ranks candidates of its own.

    Raises:
        ValueError: if an entry is NaN or infinite.
    """
    _check_finite("queries", queries, None)
    _check_finite("items", items, item_mask)
    model = Model(("queries", "items"), None, None, scores_of="the scores of")

    def pair_scores(rows: np.ndarray, ids: np.ndarray) -> np.ndarray:
        scores = np.zeros(ids.shape, items.dtype)
        slots = np.argwhere(ids >= 0)
        for start in range(0, len(slots), PAIRS_AT_ONCE):
            i, j = slots[start : start + PAIRS_AT_ONCE].T
            scores[i, j] = queries[rows[i]].multiply(items[ids[i, j]]).sum(axis=1)
        return scores

    if has_candidates:
        return model._replace(pair_score_fn=pair_scores)
    # [dims, items]: scipy finds the items of each entry of a query in a row.
    by_dims = items.T.tocsr()

    def all_scores(rows: np.ndarray) -> np.ndarray:
        # Products that cancel, and those that no entry shares, are equal zeros.
        return (queries[rows] @ by_dims).toarray()

    return model._replace(score_fn=all_scores)


def _known_scores(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Returns the scores of a query, `[1, listed]`, which stand where items would be."""
    del queries
    return items[None]


# The similarity of batches of candidates.
KNOWN_SCORES = Similarity(_known_scores)


def _rows(name: str, matrix: Any, dtype: np.dtype) -> SparseRows:
    import scipy.sparse

    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"{name}: dtype is {matrix.dtype}; pass real numbers")
    if not matrix.shape[0]:
        raise ValueError(f"{name} has shape {matrix.shape}; pass at least one row")
    rows: Any = scipy.sparse.csr_array(matrix)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the arrays of the caller stay as they are
        rows.sum_duplicates()
    return rows.astype(dtype, copy=False)


def _check_finite(name: str, rows: SparseRows, mask: Any) -> None:
    """Raises if an entry is NaN or infinite: times the zeros of others, it is NaN."""
    entries = np.flatnonzero(~np.isfinite(rows.data))
    indices = np.searchsorted(rows.indptr, entries, side="right") - 1
    if mask is not None:
        is_read = np.asarray(mask)[indices]
        entries, indices = entries[is_read], indices[is_read]
    if entries.size:
        raise ValueError(
            f"{name} holds {rows.data[entries[0]]} in row {indices[0]}, of which scores "
            "would be nan; pass finite numbers"
            + (", or leave such items out by item_mask" if name == "items" else "")
        )
