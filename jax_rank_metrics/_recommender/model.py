"""What gives the scores of users: embeddings, a matrix, or a function."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._recommender.step import Catalog


def read_model(model: Any, users: np.ndarray) -> tuple[Callable[..., Any], Any]:
    """What gives the rows of a batch of users, embeddings or scores; and the items."""
    if callable(model):
        return lambda users: _scores(model(users), users.size), None
    if isinstance(model, list) and [np.ndim(one) for one in model] == [2, 2]:
        model = tuple(model)
    if isinstance(model, tuple):
        if len(model) != 2:
            raise ValueError(f"model has {len(model)} parts; pass (queries, items)")
        given, items = (_array(f"model[{i}]", x) for i, x in enumerate(model))
        if given.shape[1:] != items.shape[1:]:
            raise ValueError(
                f"model has queries of shape {given.shape} and items of shape "
                f"{items.shape}; pass [users, dims] and [items, dims]"
            )
        items = _inputs.real("model[1]", items)
    else:
        given, items = _array("model", model), None
    if users.max() >= len(given):
        raise ValueError(
            f"users go up to {users.max()}, but model has {len(given)} of them; pass "
            "rows of the model"
        )
    return lambda users: _inputs.real("model", given[users]), items


def _array(name: str, given: Any) -> Any:
    """A matrix that stays where it is."""
    found = given if isinstance(given, jax.Array) else _inputs.numpy_array(name, given)
    if found.ndim != 2 or not found.shape[0]:
        raise ValueError(
            f"{name} has shape {found.shape}; pass (queries [users, dims], items "
            "[items, dims]), or scores [users, items], or a function that gives them"
        )
    return found


def _scores(given: Any, size: int) -> jax.Array:
    scores = _inputs.real("the scores of model", given)
    if scores.ndim != 2 or scores.shape[0] != size or not scores.shape[1]:
        raise ValueError(
            f"model gives scores of shape {scores.shape} for {size} users; give one row "
            "for each, and one column for each item"
        )
    return scores


def read_catalog(
    num_items: int, items: Any, item_mask: Any, embeddings: Any
) -> Catalog:
    """What is known of the items, checked."""
    item_mask = _inputs.boolean("item_mask", item_mask, "items", (num_items,))
    if embeddings is not None:
        embeddings = _inputs.of_catalog("embeddings", embeddings, ("features",))
        if len(embeddings) != num_items:
            raise ValueError(
                f"embeddings has shape {embeddings.shape}, but the model has {num_items} "
                "items; pass one row for each"
            )
    return Catalog(items, item_mask, None, embeddings)
