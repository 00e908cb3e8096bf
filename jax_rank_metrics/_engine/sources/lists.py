"""Steps that sources share: ties, relevant items by id, weights, and sharding checks."""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._engine.items import ItemArrays, RawItems
from jax_rank_metrics._engine.layouts import base, rows
from jax_rank_metrics._engine.ordering import matching, order_on_host
from jax_rank_metrics._engine.ordering.policies import Policy
from jax_rank_metrics._engine.sources.item_columns import ItemColumns, with_columns
from jax_rank_metrics._ground import arithmetic, inputs, meshes, shards
from jax_rank_metrics._ground.types import Key, Ties

# Up to this number, all pairs of a list's ids are compared; more ids are sorted.
_FEW_IDS = 128


def resolve(ties: Ties | None, key: Key | None) -> tuple[Policy, jax.Array | None]:
    """Checks `ties` and `key`; returns the policy, and the key if the policy reads it."""
    if ties is not None:
        inputs.option("ties", ties, Ties, alternative="None or ")
    if ties == "random" and key is None:
        raise ValueError("ties is 'random' but key is None; pass key=jax.random.key(…)")
    if key is not None:
        key = inputs.prng_key(key)
        if ties is None:
            ties = "random"
    return Policy(ties), key if ties == "random" else None


class Relevant(NamedTuple):
    """The ids of relevant items, with their labels and columns, checked."""

    ids: jax.Array  # [*lists, relevant]
    labels: jax.Array | None  # the shape of `ids`; None is 1 for all
    columns: dict[str, jax.Array]
    item_columns: ItemColumns = {}  # columns of all items of the catalogue
    profile_ids: jax.Array | None = None  # [*lists, profile]
    profile_weights: jax.Array | None = None  # the shape of `profile_ids`; None is 1

    @classmethod
    def empty(cls, lists: tuple[int, ...]) -> "Relevant":
        """Returns lists without relevant items: one slot of padding each.

        The slot is there because arrays of size 0 have no type that varies over a mesh.
        """
        return cls(jnp.full((*lists, 1), -1, jnp.int32), None, {})

    def as_judged(self) -> "Relevant":
        """Adds the columns `judged` and `pooled`, true for exactly these items.

        Columns that a caller passed under these names stay.
        """
        is_listed = self.ids >= 0
        flags = {"judged": is_listed, "pooled": is_listed}
        return self._replace(columns=flags | self.columns)

    def distinct(self) -> "Relevant":
        """Raises if a list repeats an id; if ids are not known, repeats become padding."""
        num_ids = self.ids.shape[-1]
        if num_ids < 2:
            return self
        if not inputs.is_readable(self.ids):
            return self._replace(ids=without_repeats(self.ids))
        ids = np.asarray(self.ids)
        in_order = order_on_host.ascending(ids)
        is_same = in_order[..., 1:] == in_order[..., :-1]
        if (is_same & (in_order[..., 1:] >= 0)).any():
            inputs.check_distinct("relevant_ids", ids)
        return self

    def items(self, *arrays: jax.Array | jax.ShapeDtypeStruct | None) -> ItemArrays:
        """Returns the items, in a float dtype that fits labels, columns and `arrays`."""
        values = [column.values for column in self.item_columns.values()]
        dtype = inputs.float_dtype(self.labels, *arrays, *values).name
        labels = jnp.ones_like(self.ids) if self.labels is None else self.labels
        items = RawItems(labels, dtype, self.ids >= 0, columns=self.columns).read()
        return with_columns(items, self.item_columns, self.ids)

    def profile(self, dtype: jnp.dtype) -> ItemArrays | None:
        """Returns the items of profiles, without labels; None if none were passed."""
        ids, weights = self.profile_ids, self.profile_weights
        if ids is None:
            return None
        items = ItemArrays(jnp.zeros(ids.shape, dtype), ids >= 0)
        items = with_columns(items, self.item_columns, ids)
        if weights is None:
            return items
        # Only weights above 0 count, and NaN is not above 0.
        weights = jnp.where(weights > 0, weights, 0).astype(dtype)
        return items._replace(weights=weights).only(weights > 0)

    def find(
        self, ids: jax.Array, relevant: ItemArrays
    ) -> tuple[ItemArrays, jax.Array]:
        """Looks up ids among the relevant items.

        With the relevant ids [7, 9], the ids [9, 3, 9] have the labels [label of 9, 0, 0],
        and only the first of them is found.

        Args:
            ids: `[*lists, ids]` integers; an id below 0 is no item.
            relevant: The result of `items`, perhaps with some items masked.

        Returns:
            The items `[*lists, ids]`, and a bool for each, true if it was found. Ids that
            are not relevant or repeat an earlier id are not found and have the label 0.
            All items have the item columns of their ids.
        """
        relevant_ids, num_relevant = self.ids, self.ids.shape[-1]
        num_ids, ranked_ids = ids.shape[-1], ids
        if ids.dtype != relevant_ids.dtype:
            ids, relevant_ids = ids.astype(jnp.int64), relevant_ids.astype(jnp.int64)
        # [*lists, ids, relevant]
        is_same = ids[..., :, None] == relevant_ids[..., None, :]
        is_same = is_same & relevant.exists[..., None, :] & (ids >= 0)[..., :, None]
        # Each relevant item belongs to the first id that equals its own. An index beyond
        # the end means that no id equals it.
        index = lax.broadcasted_iota(jnp.int32, is_same.shape, is_same.ndim - 2)
        first_index = jnp.where(is_same, index, num_ids)
        first_index = first_index.min(-2, keepdims=True, initial=num_ids)
        slot = jnp.where(index == first_index, arithmetic.iota(is_same), num_relevant)
        slot = jnp.min(slot, axis=-1, initial=num_relevant)  # [*lists, ids]
        # Columns of all items are looked up by id, relevant or not.
        columns = {name: relevant.columns[name] for name in self.columns}
        items = relevant._replace(columns=columns).padded(1).at(slot)
        items = with_columns(items, self.item_columns, ranked_ids)
        return items, slot < num_relevant


@jax.jit
def without_repeats(ids: jax.Array) -> jax.Array:
    """Replaces each id of `[*lists, ids]` that occurs earlier in its list by padding."""
    is_first = shards.map_list_shards(_is_first, ids.ndim - 1, ids)
    return jnp.where(is_first, ids, -1)


def _is_first(ids: jax.Array) -> jax.Array:
    if ids.shape[-1] > _FEW_IDS:
        return matching.match(ids, ids).first_ranks > 0
    is_same = ids[..., :, None] == ids[..., None, :]
    index = lax.broadcasted_iota(jnp.int32, is_same.shape, is_same.ndim - 2)
    return ~jnp.any(is_same & (index < arithmetic.iota(is_same)), axis=-2)


def clean_weights(
    list_weights: jax.Array | None, lists: tuple[int, ...], dtype: jnp.dtype | str
) -> jax.Array | None:
    """Returns the weights of lists as floats that are never negative or NaN.

    Args:
        list_weights: `[*lists]` or a scalar for all lists; None is returned unchanged.
        lists: The shape of the result.
        dtype: The dtype of the values of the lists, and of the result.

    Returns:
        `[*lists]`, 0 for weights that are not above 0: [2, −1, NaN] becomes [2, 0, 0].
    """
    if list_weights is None:
        return None
    list_weights = list_weights.astype(dtype)
    return jnp.broadcast_to(jnp.where(list_weights > 0, list_weights, 0), lists)


def has_nan(
    scores: jax.Array, exists: jax.Array, layout: base.PoolLayout
) -> jax.Array | None:
    """Returns `[*lists]` bool, true if an item that exists has the score NaN.

    Call it for unsorted lists; in sorted lists, the key of the first item tells.

    Args:
        scores: A score for each item; NaN of either sign counts.
        exists: Bool, in a shape that broadcasts with scores.
        layout: The layout of the items.

    Returns:
        The bools, or None for integer scores.
    """
    if not jnp.issubdtype(scores.dtype, jnp.floating):
        return None
    scores, exists = lax.stop_gradient(scores), jnp.broadcast_to(exists, scores.shape)
    read = jnp.where(jnp.isnan(scores) & exists, scores, jnp.zeros_like(scores))
    if not isinstance(layout.on_device, rows.Rows):
        return layout.sum(jnp.isnan(read)) > 0
    # Test the sum for NaN, because a CPU takes longer to count NaN.
    return layout.over_devices(jnp.isnan(jnp.sum(read, -1)).astype(jnp.int32)) > 0


def check_unsharded(cure: str, **arrays: jax.Array | None) -> None:
    """Raises if the type of an array says that it is sharded over devices.

    Sources that do not enter `jax.shard_map` themselves need this check. They may be
    called inside it, because types of arrays are not sharded there.

    Args:
        cure: Completes the advice "call inside jax.shard_map, …" of the message.
        **arrays: The arrays by the names of their arguments; None is skipped.
    """
    for name, array in arrays.items():
        if array is not None:
            inputs.unsharded(
                name,
                array,
                f"{cure}, or outside jax.jit pass jax.device_get({name}), and the same for "
                "every other array that is sharded",
            )


def columns_by_name(columns: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
    """Returns columns keyed by their names in messages, such as `columns['seen']`."""
    return {f"columns[{name!r}]": column for name, column in columns.items()}


def check_whole_lists(**arrays: jax.Array | None) -> None:
    """Raises if the last axis of an array is sharded by its type."""
    for name, array in arrays.items():
        if array is not None and (axes := meshes.spec_of(array)[-1]):
            raise ValueError(
                f"the last axis of {name} is sharded over {', '.join(map(repr, axes))}, "
                "but lists in rank order must be whole on a device; shard the lists "
                f"instead, or outside jax.jit pass jax.device_get({name})"
            )
