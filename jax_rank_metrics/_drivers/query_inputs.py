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
from jax_rank_metrics._sources.attributes import (
    LabelFn,
    by_attributes,
    read_attributes,
)


class Judgements(NamedTuple):
    """The items that each query is judged on, by ids or by attributes.

    Attributes:
        relevant: `[queries, items]`, the labels of relevant items; None with attributes.
        excluded: `[queries, items]`, what leaves the list of a query; None if nothing.
        candidates: `[queries, items]`, what has a rank; None if everything has.
        attributes: Those by which items are relevant, as arrays; None if ids are known.
    """

    relevant: SparseRows | None
    excluded: SparseRows | None
    candidates: SparseRows | None
    attributes: by_attributes | None = None

    @property
    def label_fn(self) -> LabelFn | None:
        """The function that labels items by attributes; None where ids are known."""
        return None if self.attributes is None else self.attributes.label_fn

    @property
    def query_attributes(self) -> Any:
        """A pytree of arrays `[queries, …]`, or None."""
        return None if self.attributes is None else self.attributes.query_attributes

    @property
    def item_attributes(self) -> Any:
        """A pytree of arrays `[items, …]`, or None."""
        return None if self.attributes is None else self.attributes.item_attributes


def global_arguments(queries: Any, items: Any, relevant: object) -> list[Argument]:
    """Returns the arrays that may be global, under the names of messages.

    Args:
        queries: The argument.
        items: The argument; None if items come in blocks.
        relevant: The argument, of which attributes may be global.
    """
    arrays = {"queries": queries, "items": items}
    if isinstance(relevant, by_attributes):
        arrays["query_attributes"] = relevant.query_attributes
        if items is not None:
            arrays["item_attributes"] = relevant.item_attributes
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
    relevant: RawInteractions | by_attributes,
    *,
    candidates: RawInteractions | None,
    exclude: RawInteractions | None,
    exclude_self: bool,
    num_queries: int,
    num_items: int,
) -> Judgements:
    """Checks what is relevant, excluded and a candidate, by ids or by attributes."""

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
    if not isinstance(relevant, by_attributes):
        judged = _rows("relevant", relevant, num_queries, num_items)
        return Judgements(judged, excluded, rows("candidates", candidates))
    if candidates is not None:
        raise ValueError(
            "candidates is given, and relevant is by attributes; pass the ids of relevant "
            "items, since those that are no candidates count too"
        )
    attributes = read_attributes(relevant, (num_queries,), num_items)
    return Judgements(None, excluded, None, attributes)


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
