"""The checked arguments of `rank` and its kin, and what they share."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _inputs, _mesh
from jax_rank_metrics._items import ItemArrays, RawItems
from jax_rank_metrics._ordering.candidates import ItemOrder
from jax_rank_metrics._ordering.policy import Policy, resolve
from jax_rank_metrics._places.soft import sigmoid_ranks
from jax_rank_metrics._pytree import pytree


@pytree("policy", "num_segments", "items_axis", "relax")
class ScoredLists:
    """Arguments of `rank`, checked; those that hold no arrays are static."""

    given: RawItems
    scores: jax.Array
    list_weights: jax.Array | None  # a scalar is for every list
    key: jax.Array | None
    segment_ids: jax.Array | None
    policy: Policy
    num_segments: int | None
    items_axis: Any
    relax: sigmoid_ranks | None


class Depth(NamedTuple):
    """How much of an order is needed, static."""

    ranks: int | None  # how many; None is all
    ordered: bool = True  # whether any at all
    in_groups: bool = False  # whether nothing reads the order within tie groups

    def item_order(self, policy: Policy, dtype: jnp.dtype) -> ItemOrder:
        """Returns how items of such scores compare under a policy."""
        return ItemOrder(policy.where_unread() if self.in_groups else policy, dtype)


def checked(
    labels: Any,
    scores: Any,
    mask: Any,
    weights: Any,
    key: Any,
    *,
    ties: Any,
    list_weights: Any,
    segment_ids: Any,
    num_segments: Any,
    items_axis: Any,
    retrieved: Any,
    columns: Any,
    relax: Any,
) -> ScoredLists:
    """Checks the arguments of `rank`."""
    labels, mask = _inputs.item_arrays("labels", labels, mask)
    scores = _inputs.real("scores", scores)
    _inputs.same_shape("scores", scores, "labels", labels.shape)
    segment_ids, num_segments = _inputs.segments(labels, segment_ids, num_segments)
    weights, list_weights = _inputs.weights_for(
        labels, weights, list_weights, num_segments
    )
    retrieved = _inputs.boolean("retrieved", retrieved, "labels", labels.shape)
    columns = _inputs.columns(columns, "labels", labels.shape)
    items_axis = _inputs.axis_names("items_axis", items_axis)
    _check_relax(relax, ties=ties, segment_ids=segment_ids, items_axis=items_axis)
    policy, key = resolve(ties, key)
    if items_axis is not None:
        if segment_ids is not None:
            raise ValueError(
                "segment_ids and items_axis are both given; pass one, packed lists stay "
                "whole on a device"
            )
        if _mesh.is_sharded(scores):
            raise ValueError(
                f"items_axis is {items_axis!r}, but the type of scores says already how "
                "they are sharded; leave items_axis out, or call inside jax.shard_map "
                "over it"
            )
    dtype = _inputs.float_dtype(labels, weights, list_weights, scores).name
    given = RawItems(labels, dtype, mask, weights, retrieved, columns)
    arrays = (given, scores, list_weights, key, segment_ids)
    return ScoredLists(*arrays, policy, num_segments, items_axis, relax)


def _check_relax(relax: Any, **others: Any) -> None:
    """Raises unless it is None, or a way to relax that stands alone."""
    if relax is None:
        return
    if not isinstance(relax, sigmoid_ranks):
        raise TypeError(
            f"relax is {relax!r}; pass None, or one made of a temperature, such as "
            "jrm.sigmoid_ranks(0.1)"
        )
    for name, value in others.items():
        if value is not None:
            raise ValueError(
                f"relax and {name} are both given; pass one: soft places are of whole "
                "lists in rows, and have no tie policy"
            )


class Relevant(NamedTuple):
    """Relevant items that are known by id, checked."""

    ids: jax.Array  # [*lists, relevant]
    labels: jax.Array | None
    columns: dict[str, jax.Array]

    def read(self, *others: Any) -> ItemArrays:
        """The items, in the dtype of values that the dtypes of all arrays ask for."""
        dtype = _inputs.float_dtype(self.labels, *others).name
        labels = jnp.ones_like(self.ids) if self.labels is None else self.labels
        given = RawItems(labels, dtype, self.ids >= 0, columns=self.columns)
        return given.read()

    def among(self, ids: jax.Array, items: ItemArrays) -> tuple[ItemArrays, jax.Array]:
        """Items `[*lists, ids]` known by id: label 0 where not relevant, or repeated.

        Also says which are found among the relevant ones, which are `items` as read. An
        id below 0 is none.
        """
        relevant_ids, number = self.ids, self.ids.shape[-1]
        if ids.dtype != relevant_ids.dtype:
            ids, relevant_ids = ids.astype(jnp.int64), relevant_ids.astype(jnp.int64)
        same = ids[..., :, None] == relevant_ids[..., None, :]
        same = same & items.exists[..., None, :] & (ids >= 0)[..., :, None]
        place = lax.broadcasted_iota(jnp.int32, same.shape, same.ndim - 2)
        none = ids.shape[-1]
        first = jnp.where(same, place, none).min(-2, keepdims=True, initial=none)
        which = jnp.where(place == first, _arithmetic.iota(same), number)
        which = jnp.min(which, axis=-1, initial=number)
        return items.padded(1).at(which), which < number


def clean_weights(
    list_weights: jax.Array | None, lists: tuple[int, ...], dtype: jnp.dtype | str
) -> jax.Array | None:
    """One weight of the dtype of values for every list, 0 where it is not above 0."""
    if list_weights is None:
        return None
    list_weights = lax.stop_gradient(list_weights).astype(dtype)
    return jnp.broadcast_to(jnp.where(list_weights > 0, list_weights, 0), lists)
