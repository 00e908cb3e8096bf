"""What gives the scores of users: embeddings, a matrix, or a function."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._recommender.step import Catalog


class Model(NamedTuple):
    """A recommender, read and checked.

    Attributes:
        rows: Maps user ids `[batch]` to their embeddings `[batch, dims]`, or to their
            scores `[batch, items]`.
        items: `[items, dims]`, the embeddings of items, where those of users come in
            `rows`; None where these are scores.
        num_users: How many users there are; None where only a function knows.
    """

    rows: Callable[[np.ndarray], Any]
    items: jax.Array | None
    num_users: int | None


def read_model(model: Any, users: np.ndarray) -> Model:
    """Reads a pair of embeddings, a matrix of scores, or a function that scores users."""
    if callable(model):
        return Model(lambda users: _scores(model(users), users.size), None, None)
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
    return Model(lambda users: _inputs.real("model", given[users]), items, len(given))


def _array(name: str, given: Any) -> Any:
    """A matrix that stays where it is."""
    found = given if isinstance(given, jax.Array) else _inputs.numpy_array(name, given)
    if found.ndim != 2 or not found.shape[0]:
        raise ValueError(
            f"{name} has shape {found.shape}; pass (queries [users, dims], items "
            "[items, dims]), or scores [users, items], or a function that gives them"
        )
    _on_one_device(name, found)
    return found


def _scores(given: Any, size: int) -> jax.Array:
    scores = _inputs.real("the scores of model", given)
    if scores.ndim != 2 or scores.shape[0] != size or not scores.shape[1]:
        raise ValueError(
            f"model gives scores of shape {scores.shape} for {size} users; give one row "
            "for each, and one column for each item"
        )
    _on_one_device("the array that model gives", scores)
    return scores


def _on_one_device(name: str, values: Any) -> None:
    """Raises where the type of an array says that devices hold parts of it."""
    if not isinstance(values, jax.Array):
        return
    spec = jax.typeof(values).sharding.spec
    if any(entry is not None for entry in spec):
        raise ValueError(
            f"{name} is sharded over devices, as {spec}, and evaluate_users runs on one; "
            "pass jax.device_get of it"
        )


def read_catalog(
    num_items: int, items: Any, item_mask: Any, embeddings: Any
) -> Catalog:
    """What is known of the items, checked."""
    item_mask = _inputs.boolean("item_mask", item_mask, "items", (num_items,))
    if items is not None and jnp.issubdtype(items.dtype, jnp.floating):
        has_nan = jnp.any(jnp.isnan(items), axis=1)
        if item_mask is not None:
            has_nan = has_nan & item_mask
        has_nan = np.asarray(has_nan)
        if has_nan.any():
            raise ValueError(
                f"model[1] holds nan for {np.count_nonzero(has_nan)} of {num_items} items, "
                f"as for item {np.argmax(has_nan)}; pass numbers, or leave such items "
                "out by item_mask"
            )
    if embeddings is not None:
        embeddings = _inputs.of_catalog("embeddings", embeddings, ("features",))
        if len(embeddings) != num_items:
            raise ValueError(
                f"embeddings has shape {embeddings.shape}, but the model has {num_items} "
                "items; pass one row for each"
            )
    return Catalog(items, item_mask, None, embeddings)
