"""The scores of users: from embeddings, from a matrix, or from a function."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._drivers.devices import Argument, Array, Devices, is_global
from jax_rank_metrics._drivers.nan_causes import INFINITIES, Vectors
from jax_rank_metrics._drivers.step import CatalogArrays


class Recommender(NamedTuple):
    """A model, checked and in one form.

    Attributes:
        rows: Maps user ids `[batch]` to their embeddings `[batch, dims]`, or to their
            scores `[batch, items]`.
        item_embeddings: `[items, dims]`, where `rows` returns embeddings; None where it
            returns scores.
        num_users: How many users there are; None if the model is a function.
        num_items: How many items there are; None if the model is a function.
        table: `[users, …]`, the embeddings or scores of all users, as the devices
            hold them; None if the model is a function.
    """

    rows: Callable[[np.ndarray], Array]
    item_embeddings: jax.Array | None
    num_users: int | None = None
    num_items: int | None = None
    table: Array | None = None

    def vectors(
        self, user: int, catalog: CatalogArrays, num_items: int
    ) -> list[Vectors]:
        """Returns the embeddings of which the scores of a user are made, if they are.

        Args:
            user: The user.
            catalog: The items, as the devices hold them.
            num_items: How many there are.
        """
        if self.item_embeddings is None:
            return []
        return [
            Vectors.of_query("model[0]", self.table, user, f"user {user}"),
            Vectors("model[1]", catalog.items, num_items, catalog.item_mask),
        ]

    @property
    def nan_cure(self) -> str:
        """The end of a message about NaN that is not due to any embedding."""
        if self.item_embeddings is not None:
            return f"products overflow, and {INFINITIES}; pass smaller numbers"
        return (
            "pass numbers, and -inf for items that are not to be recommended "
            f"({INFINITIES})"
        )


def read_model(model: Any, devices: Devices) -> Recommender:
    """Reads a pair of embeddings, a matrix of scores, or a function that scores users."""
    if callable(model):
        return Recommender(
            lambda users: _scores(model(users), users.size, devices), None
        )
    if isinstance(model, list) and [np.ndim(part) for part in model] == [2, 2]:
        model = tuple(model)
    if isinstance(model, tuple):
        if len(model) != 2:
            raise ValueError(f"model has {len(model)} parts; pass (queries, items)")
        table, items = (_matrix(f"model[{i}]", part) for i, part in enumerate(model))
        if table.shape[1:] != items.shape[1:]:
            raise ValueError(
                f"model has queries of shape {table.shape} and items of shape "
                f"{items.shape}; pass [users, dims] and [items, dims]"
            )
    else:
        table, items = _matrix("model", model), None
    num_users = len(table)
    num_items = table.shape[1] if items is None else len(items)
    spec = devices.of_scores if items is None else devices.of_queries
    table = devices.table(table, spec)
    return Recommender(
        lambda users: devices.rows("model", table, users, spec),
        None if items is None else devices.items("model[1]", items),
        num_users,
        num_items,
        table,
    )


def global_arguments(model: Any) -> list[Argument]:
    """Returns the arrays of a model that may be global, under the names of messages."""
    if isinstance(model, (tuple, list)) and len(model) == 2:
        queries, items = model
        return [
            Argument("model[0]", queries, ("queries",)),
            Argument("model[1]", items, ("items",)),
        ]
    return [Argument("model", model, ("queries", "items"))]


def _matrix(name: str, value: Any) -> np.ndarray | jax.Array:
    """Returns a JAX array as it is, and anything else as a NumPy array on the host.

    Raises:
        ValueError: if it is not a matrix with at least one row.
    """
    is_jax = isinstance(value, jax.Array)
    matrix = value if is_jax else _inputs.numpy_array(name, value)
    if matrix.ndim != 2 or not matrix.shape[0]:
        raise ValueError(
            f"{name} has shape {matrix.shape}; pass (queries [users, dims], items "
            "[items, dims]), or scores [users, items], or a function that returns them"
        )
    return matrix


def _scores(values: Any, num_users: int, devices: Devices) -> jax.Array:
    """Checks the scores that a function returned for a batch, `[num_users, items]`."""
    scores = _inputs.real("the scores of model", values)
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


def read_catalog(
    num_items: int,
    item_embeddings: jax.Array | None,
    item_mask: _types.ItemMask | None,
    features: _types.Embeddings | None,
) -> CatalogArrays:
    """Checks the arrays over the items.

    Args:
        num_items: How many items the model has.
        item_embeddings: `[items, dims]`, of which scores are products; or None.
        item_mask: `[items]`, the items that may be recommended; or None for all.
        features: `[items, features]`, in which diversity is measured; or None. Messages
            call it `embeddings`, the argument of the caller.
    """
    mask = _inputs.boolean("item_mask", item_mask, "items", (num_items,))
    if features is not None:
        features = _inputs.catalog_array("embeddings", features, ("features",))
        if len(features) != num_items:
            raise ValueError(
                f"embeddings has shape {features.shape}, but the model has {num_items} "
                "items; pass one row for each"
            )
    return CatalogArrays(item_embeddings, mask, features=features)
