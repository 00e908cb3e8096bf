"""The scores of users: from embeddings, from a matrix, or from a function."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._drivers.step import Catalog


class Recommender(NamedTuple):
    """A model, checked and in one form.

    Attributes:
        rows: Maps user ids `[batch]` to their embeddings `[batch, dims]`, or to their
            scores `[batch, items]`.
        item_embeddings: `[items, dims]`, where `rows` returns embeddings; None where it
            returns scores.
        num_users: How many users there are; None if the model is a function.
    """

    rows: Callable[[np.ndarray], jax.Array]
    item_embeddings: jax.Array | None
    num_users: int | None


def read_model(model: Any, user_ids: np.ndarray) -> Recommender:
    """Reads a pair of embeddings, a matrix of scores, or a function that scores users."""
    if callable(model):
        return Recommender(lambda users: _scores(model(users), users.size), None, None)
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
        items = _inputs.real("model[1]", items)
    else:
        table, items = _matrix("model", model), None
    if user_ids.max() >= len(table):
        raise ValueError(
            f"users go up to {user_ids.max()}, but model has {len(table)} users; pass "
            "rows of the model"
        )
    return Recommender(
        lambda users: _inputs.real("model", table[users]), items, len(table)
    )


def _matrix(name: str, value: Any) -> np.ndarray | jax.Array:
    """Returns a JAX array as it is, and anything else as a NumPy array on the host.

    Raises:
        ValueError: if it is not a matrix with at least one row, or is sharded.
    """
    is_jax = isinstance(value, jax.Array)
    matrix = value if is_jax else _inputs.numpy_array(name, value)
    if matrix.ndim != 2 or not matrix.shape[0]:
        raise ValueError(
            f"{name} has shape {matrix.shape}; pass (queries [users, dims], items "
            "[items, dims]), or scores [users, items], or a function that returns them"
        )
    _refuse_sharded(name, matrix)
    return matrix


def _scores(values: Any, num_users: int) -> jax.Array:
    """Checks the scores that a function returned for a batch, `[num_users, items]`."""
    scores = _inputs.real("the scores of model", values)
    if scores.ndim != 2 or scores.shape[0] != num_users or not scores.shape[1]:
        raise ValueError(
            f"model returned scores of shape {scores.shape} for {num_users} users; return "
            "one row for each, and one column for each item"
        )
    _refuse_sharded("the array that model returned", scores)
    return scores


def _refuse_sharded(name: str, values: np.ndarray | jax.Array) -> None:
    """Raises if the type of a JAX array divides one of its axes among devices.

    Only axes that are explicit in the mesh show in the type.
    """
    if not isinstance(values, jax.Array):
        return
    spec = jax.typeof(values).sharding.spec
    if any(entry is not None for entry in spec):
        raise ValueError(
            f"{name} is sharded over devices, as {spec}, and evaluate_users runs on one; "
            "pass jax.device_get of it"
        )


def read_catalog(
    num_items: int,
    item_embeddings: jax.Array | None,
    item_mask: _types.ItemMask | None,
    features: _types.Embeddings | None,
) -> Catalog:
    """Checks the arrays over the items.

    Args:
        num_items: How many items the model has.
        item_embeddings: `[items, dims]`, of which scores are products; or None.
        item_mask: `[items]`, the items that may be recommended; or None for all.
        features: `[items, features]`, in which diversity is measured; or None. Messages
            call it `embeddings`, the argument of the caller.
    """
    mask = _inputs.boolean("item_mask", item_mask, "items", (num_items,))
    if item_embeddings is not None:
        refuse_nan("model[1]", item_embeddings, mask)
    if features is not None:
        features = _inputs.catalog_array("embeddings", features, ("features",))
        if len(features) != num_items:
            raise ValueError(
                f"embeddings has shape {features.shape}, but the model has {num_items} "
                "items; pass one row for each"
            )
    return Catalog(item_embeddings, mask, features=features)


def refuse_nan(name: str, items: jax.Array, item_mask: jax.Array | None) -> None:
    """Raises `ValueError` if an item that may be found has NaN in its embedding.

    Args:
        name: The argument, for messages.
        items: `[items, …]`; integers hold no NaN.
        item_mask: `[items]`, the items that may be found; or None for all.
    """
    if not jnp.issubdtype(items.dtype, jnp.floating):
        return
    has_nan = jnp.any(jnp.isnan(items), axis=range(1, items.ndim))
    has_nan = np.asarray(has_nan if item_mask is None else has_nan & item_mask)
    if has_nan.any():
        raise ValueError(
            f"{name} holds nan for {np.count_nonzero(has_nan)} of {has_nan.size} items, "
            f"such as item {np.argmax(has_nan)}; pass numbers, or leave such items out "
            "by item_mask"
        )
