"""The arguments of `evaluate_embeddings`, checked and in one form."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers.devices import Argument, Array
from jax_rank_metrics._drivers.interactions import (
    QUERY,
    Interactions,
    RawInteractions,
    SparseRows,
)


class Judgements(NamedTuple):
    """The items that each query is judged on, by ids or by attributes.

    Attributes:
        relevant: `[queries, items]`, the labels of relevant items; None with attributes.
        excluded: `[queries, items]`, what leaves the list of a query; None if nothing.
        candidates: `[queries, items]`, what has a rank; None if everything has.
        query_attributes: A pytree of arrays `[queries, …]`, or None.
        item_attributes: A pytree of arrays `[items, …]`, or None.
    """

    relevant: SparseRows | None
    excluded: SparseRows | None
    candidates: SparseRows | None
    query_attributes: Any
    item_attributes: Any


def global_arguments(
    queries: Any, query_attributes: Any, items: tuple[Any, Any] | None
) -> list[Argument]:
    """Returns the arrays that may be global, under the names of messages.

    Args:
        queries: The argument.
        query_attributes: The argument.
        items: The arguments `items` and `item_attributes`; None if items come in blocks.
    """
    arrays = {"queries": queries, "query_attributes": query_attributes}
    if items is not None:
        arrays["items"], arrays["item_attributes"] = items
    return [
        Argument(name, leaf, ("queries" if name.startswith("quer") else "items",))
        for name, value in arrays.items()
        for leaf in jax.tree.leaves(value)
    ]


def read_vectors(name: str, value: Any) -> Array:
    """Returns a JAX array as it is, and anything else as a NumPy array on the host."""
    vectors = (
        value if isinstance(value, jax.Array) else _inputs.numpy_array(name, value)
    )
    if not vectors.ndim or not vectors.shape[0]:
        raise ValueError(f"{name} has shape {vectors.shape}; pass at least one row")
    return vectors


def read_judgements(
    relevant: RawInteractions | None,
    *,
    label_fn: Any,
    query_attributes: Any,
    item_attributes: Any,
    candidates: RawInteractions | None,
    exclude: RawInteractions | None,
    exclude_self: bool,
    num_queries: int,
    num_items: int,
) -> Judgements:
    """Checks what is relevant, excluded and a candidate, by ids or by attributes."""
    if (relevant is None) == (label_fn is None):
        state = "neither is" if relevant is None else "both are"
        raise ValueError(
            f"relevant and label_fn: {state} given; pass the ids of relevant items, or a "
            "function of attributes that labels all items"
        )
    if label_fn is None:
        for name, tree in (
            ("query_attributes", query_attributes),
            ("item_attributes", item_attributes),
        ):
            if tree is not None:
                raise ValueError(f"{name} is given; pass a label_fn that reads it")
    elif candidates is not None:
        raise ValueError(
            "candidates and label_fn are both given; pass relevant, the ids of relevant "
            "items, since those that are no candidates count too"
        )
    else:
        query_attributes = _inputs.attributes(
            "query_attributes", query_attributes, (num_queries,), "queries"
        )
        item_attributes = _inputs.attributes(
            "item_attributes", item_attributes, (num_items,), "items"
        )

    def rows(name: str, raw: RawInteractions | None) -> SparseRows | None:
        return None if raw is None else _rows(name, raw, num_queries, num_items)

    excluded = rows("exclude", exclude)
    if exclude_self:
        if num_queries != num_items:
            raise ValueError(
                f"exclude_self is True, but there are {num_queries} queries and "
                f"{num_items} items; pass exclude, the ids that leave each list, where "
                "query i is not item i"
            )
        excluded = _with_diagonal(excluded, num_items)
    return Judgements(
        rows("relevant", relevant),
        excluded,
        rows("candidates", candidates),
        query_attributes,
        item_attributes,
    )


def _rows(
    name: str, raw: RawInteractions, num_queries: int, num_items: int
) -> SparseRows:
    """Returns ids by query as sparse rows `[queries, items]`."""
    interactions = Interactions.of(name, raw, QUERY)
    interactions.check_users(num_queries, is_selection=False)
    query_ids = np.arange(num_queries)
    rows = interactions.rows(query_ids)
    interactions.check_items(rows, query_ids, num_items, name == "candidates")
    rows.resize((num_queries, num_items))
    return rows


def _with_diagonal(rows: SparseRows | None, size: int) -> SparseRows:
    """Adds the entries (i, i) to sparse rows `[size, size]`."""
    import scipy.sparse

    diagonal = scipy.sparse.csr_array(scipy.sparse.eye_array(size))
    if rows is None:
        return diagonal
    return scipy.sparse.csr_array(rows + diagonal)
