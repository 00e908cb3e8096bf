"""Models: vectors of queries and items, a matrix of scores, or a function of rows."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics import _inputs, _shards
from jax_rank_metrics._drivers.devices import Argument, Array, Devices, is_global
from jax_rank_metrics._drivers.nan_causes import INFINITIES
from jax_rank_metrics._sources.similarities import Similarity
from jax_rank_metrics._sources.token_items import TokenItems

RowIds = tuple[np.ndarray | None, np.ndarray | None]

# Causes of NaN where no vector holds it, and what to pass instead.
OVERFLOW = f"products overflow, and {INFINITIES}; pass smaller numbers"
CUSTOM_SCORES = f"similarity makes it of finite vectors; return numbers ({INFINITIES})"
UNKNOWN_SCORES = (
    f"pass numbers, and -inf for items that are not to be recommended ({INFINITIES})"
)


class Model(NamedTuple):
    """A model, checked and in one form: it scores the items for any query.

    Attributes:
        names: What messages call the next two.
        table: `[rows, …]`, vectors of queries, or scores `[rows, items]`, as devices hold
            them between batches; None where a user's function makes scores.
        items: `[items, …]`, vectors of items, as they were passed, or their tokens; None
            where scores are known.
        score_fn: Maps rows `[size]` to scores `[size, items]`; None where a table says
            them, or a program makes them.
        scores_of: How messages call the scores of a query, before its name.
        nan_cause: What makes NaN where no vector holds it, and what to pass instead.
        pair_score_fn: Maps rows `[size]` and ids `[size, listed]`, −1 for padding, to
            scores of the same shape; None where candidates are scored by their vectors.
    """

    names: tuple[str, str]
    table: Array | None
    items: Array | TokenItems | None
    score_fn: Callable[[np.ndarray], Any] | None = None
    scores_of: str = "the scores of model for"
    nan_cause: str = OVERFLOW
    pair_score_fn: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    @property
    def num_rows(self) -> int | None:
        """The number of rows; None where a function takes any."""
        return None if self.table is None else len(self.table)

    @property
    def num_items(self) -> int | None:
        """The number of items, which a function does not tell before it is called."""
        if self.items is not None:
            return len(self.items)
        return None if self.table is None else self.table.shape[1]

    def rows(self, devices: Devices, indices: np.ndarray) -> Array:
        """Returns the vectors or scores of some rows, of which −1 is the last."""
        if self.score_fn is not None:
            return _scores(self.score_fn(indices), indices, devices)
        assert self.table is not None
        # Scores are cut over queries and items, and vectors of queries over queries alone.
        spec = devices.of_scores if self.items is None else devices.of_queries
        return devices.rows(self.names[0], self.table, indices, spec)

    def listed(
        self, indices: np.ndarray, ids: np.ndarray, rows_of_batch: Callable[[], Array]
    ) -> tuple[Array, Array]:
        """Returns the rows of queries, and of the items `[size, listed, …]` of each.

        Items whose scores are known have these in their place, `[size, listed]`.

        Args:
            indices: `[size]`, the queries.
            ids: `[size, listed]`, the items of each; −1 for padding.
            rows_of_batch: Returns what `rows` does for these queries.
        """
        if self.pair_score_fn is not None:
            return indices, self.pair_score_fn(indices, ids)
        ids, rows = np.maximum(ids, 0), rows_of_batch()
        listed_rows = rows if self.items is None else self.items
        if isinstance(listed_rows, jax.Array) and not listed_rows.is_fully_addressable:
            raise ValueError(
                "candidates is given, and the scores or items of model lie on several "
                "processes; pass NumPy arrays, of which every process reads its part"
            )
        if self.items is None:
            return indices, np.take_along_axis(np.asarray(rows), ids, axis=1)
        return rows, _shards.rows_at(self.items, ids)


def embeddings_model(
    queries: Array, items: Array, similarity: Similarity, devices: Devices
) -> Model:
    """Returns the model of `evaluate_embeddings`, whose similarity may be a function."""
    # Items stay as they were passed: batches over candidates gather from them on the host.
    table = devices.table(queries, devices.of_queries)
    cause = CUSTOM_SCORES if similarity.is_custom else OVERFLOW
    return Model(("queries", "items"), table, items, None, "the scores of", cause)


def read_model(model: Any, devices: Devices, row_ids: RowIds = (None, None)) -> Model:
    """Reads a pair of embeddings, a matrix of scores, or a function that scores users.

    Args:
        model: See `evaluate_users`.
        devices: The devices that share the work.
        row_ids: The ids of users and of items, by which frames are read; None for 0, 1, …
    """
    if callable(model):
        return Model(("model", ""), None, None, model, nan_cause=UNKNOWN_SCORES)
    # A list of two matrices is a pair; a list of lists is a matrix of scores.
    if isinstance(model, list) and [np.ndim(part) for part in model] == [2, 2]:
        model = tuple(model)
    if not isinstance(model, tuple):
        table = devices.table(_matrix("model", model, row_ids), devices.of_scores)
        return Model(("model", ""), table, None, nan_cause=UNKNOWN_SCORES)
    if len(model) != 2:
        raise ValueError(f"model has {len(model)} parts; pass (queries, items)")
    names = ("model[0]", "model[1]")
    table, items = map(_matrix, names, model, ((x, None) for x in row_ids))
    if table.shape[1:] != items.shape[1:]:
        raise ValueError(
            f"model has queries of shape {table.shape} and items of shape "
            f"{items.shape}; pass [users, dims] and [items, dims]"
        )
    return Model(names, devices.table(table, devices.of_queries), items)


def model_arguments(model: Any) -> list[Argument]:
    """Returns the arrays of a model that may be global, under the names of messages."""
    if isinstance(model, (tuple, list)) and len(model) == 2:
        queries, items = model
        return [
            Argument("model[0]", queries, ("queries",)),
            Argument("model[1]", items, ("items",)),
        ]
    return [Argument("model", model, ("queries", "items"))]


def read_vectors(name: str, value: Any, row_ids: np.ndarray | None = None) -> Array:
    """Returns a JAX array as it is, and anything else as a NumPy array on the host."""
    if _inputs.is_frame(value):
        value = _inputs.by_ids(name, value, row_ids, name)
    vectors = _as_array(name, value)
    if not vectors.ndim or not vectors.shape[0]:
        raise ValueError(f"{name} has shape {vectors.shape}; pass at least one row")
    return vectors


def _matrix(name: str, value: Any, row_ids: RowIds) -> Array:
    """Returns what `read_vectors` returns, which has to be a matrix."""
    if name == "model":
        matrix = _inputs.by_items_of_rows(name, value, "users", row_ids)
    else:
        unit = "items" if name == "model[1]" else "users"
        matrix = (
            _inputs.by_ids(name, value, row_ids[0], unit)
            if _inputs.is_frame(value)
            else value
        )
    matrix = _as_array(name, matrix)
    if matrix.ndim != 2 or 0 in matrix.shape[: 2 if name == "model" else 1]:
        raise ValueError(
            f"{name} has shape {matrix.shape}; pass (queries [users, dims], items "
            "[items, dims]), or scores [users, items], or a function that returns them, of "
            "at least one user and one item"
        )
    return matrix


def _as_array(name: str, value: Any) -> Array:
    return value if isinstance(value, jax.Array) else _inputs.numpy_array(name, value)


def _scores(values: Any, indices: np.ndarray, devices: Devices) -> jax.Array:
    """Checks the scores that a function returned for a batch, `[users, items]`."""
    num_users = indices.size
    if _inputs.is_pandas_frame(values):
        index = values.index.tolist()
        if index != indices.tolist() and index != [*range(num_users)]:
            raise ValueError(
                "model returned a frame whose index is not that of the users it was called "
                "with; return its rows in their order, or what its to_numpy() returns"
            )
    # Functions are called as they are, outside of any trace.
    name = "the scores of model"
    scores = _inputs.real(name, _inputs.by_items_of_rows(name, values, None))
    if scores.ndim != 2 or scores.shape[0] != num_users or not scores.shape[1]:
        raise ValueError(
            f"model returned scores of shape {scores.shape} for {num_users} users; return "
            "one row for each, and one column for each item"
        )
    if is_global(scores) and devices.mesh is None:
        raise ValueError(
            f"model returned scores that lie on {len(scores.sharding.device_set)} "
            "devices; pass mesh, and queries_axis, items_axis or both"
        )
    return scores
