"""The checked arguments of `rank`, and what every way to rank them shares."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _inputs
from jax_rank_metrics._items import GivenItems
from jax_rank_metrics._ordering.candidates import Policy
from jax_rank_metrics._ranking import Held, Straddle
from jax_rank_metrics._types import pytree


@pytree()
class ScoredLists:
    """Arguments of `rank` that hold arrays, checked."""

    labels: jax.Array
    scores: jax.Array
    mask: jax.Array | None
    weights: jax.Array | None
    key: jax.Array | None
    list_weights: jax.Array | None
    retrieved: jax.Array | None
    columns: Mapping[str, jax.Array]
    segment_ids: jax.Array | None


class Options(NamedTuple):
    """Arguments of `rank` that are static, checked."""

    ties: str | None
    num_segments: int | None
    items_axis: Any


class Depth(NamedTuple):
    """How much of an order is needed, static."""

    ranks: int | None  # how many; None is all
    ordered: bool = True  # whether any at all
    in_groups: bool = False  # whether the order of tied items is of no interest

    def policy(self, ties: str | None, dtype: jnp.dtype) -> Policy:
        """How to compare items of such scores; ties stay where they are if they may."""
        return Policy("expected" if self.in_groups and ties is None else ties, dtype)


class Found(NamedTuple):
    """What was worked out of the arguments; the rest of a `Ranking` is these."""

    held: Held | None
    straddle: Straddle | None
    length: jax.Array
    counts: jax.Array
    list_weights: jax.Array | None
    seeds: jax.Array | None


def read_weights(
    labels: jax.Array,
    weights: jax.Array | None,
    list_weights: jax.Array | None,
    lists: tuple[int, ...],
    *others: Any,
) -> tuple[jax.Array | None, jax.Array | None, jnp.dtype]:
    """Item weights, list weights and the float dtype of the computation."""
    dtype = _inputs.float_dtype(labels, weights, list_weights, *others)
    per_item = weights is not None and weights.ndim == labels.ndim
    if list_weights is None and not per_item:
        list_weights = weights
    if list_weights is not None:
        list_weights = lax.stop_gradient(list_weights).astype(dtype)
        list_weights = jnp.broadcast_to(list_weights, lists)
        list_weights = jnp.where(list_weights > 0, list_weights, 0)
    return weights if per_item else None, list_weights, dtype


def given_items(lists: ScoredLists) -> GivenItems:
    """The items of the lists."""
    per_item = lists.weights is not None and lists.weights.ndim == lists.labels.ndim
    dtype = _inputs.float_dtype(
        lists.labels, lists.weights, lists.list_weights, lists.scores
    )
    return GivenItems(
        lists.labels,
        lists.mask,
        lists.weights if per_item else None,
        lists.retrieved,
        dict(lists.columns),
        dtype.name,
    )


def seeds(ties: str | None, key: jax.Array | None, lists: tuple[int, ...]) -> Any:
    """Two numbers for every list, from which random ties are broken."""
    if ties != "random":
        return None
    assert key is not None
    return jax.random.bits(key, (*lists, 2), jnp.uint32)
