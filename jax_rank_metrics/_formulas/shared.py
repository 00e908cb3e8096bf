"""What several formulas say."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs, _mesh
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._gains import gains_of
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._ranking import Items, Ranking
from jax_rank_metrics._ranking.items import MOST, WEIGHED_SCALE, ItemFn
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cut, Cutoffs, Gain, Number

# A sum of many gains that are each as large as a float can be stays finite when they are
# scaled by this, and gains down to 1e-28 stay above 0. A power of two rounds nothing.
SCALE = 2.0**-32


@functools.lru_cache(maxsize=256)
def scaled(item_fn: ItemFn, scale: float = SCALE) -> ItemFn:
    """Scales `item_fn`, so that sums stay finite; inf counts as the largest float."""

    def scaled_values(items: Items) -> jax.Array:
        values = jnp.asarray(item_fn(items)).astype(items.labels.dtype)
        return jnp.minimum(values, jnp.finfo(values.dtype).max) * scale

    return scaled_values


@functools.lru_cache(maxsize=256)
def weighed(item_fn: ItemFn) -> ItemFn:
    """Multiplies `item_fn` by the item weights, scaled by `WEIGHED_SCALE`."""
    small = scaled(item_fn, WEIGHED_SCALE)

    def weighed_values(items: Items) -> jax.Array:
        if items.weights is None:
            return small(items)
        values = small(items).astype(items.weights.dtype)
        return jnp.minimum(values * items.weights, MOST)

    return weighed_values


def relevant(threshold: Number) -> ItemFn:
    """Whether an item is relevant."""
    return _at_least(_inputs.positive("relevance_threshold", threshold))


@functools.lru_cache(maxsize=256)
def _at_least(threshold: float) -> ItemFn:
    # One function for all metrics of a call, which then share what it gives.
    return lambda items: items.relevant(threshold)


@functools.lru_cache(maxsize=256)
def gains(gain_fn: Gain) -> ItemFn:
    """The gain of an item, by its label."""
    return lambda items: gains_of(gain_fn, items.labels)


def is_judged(items: Items) -> jax.Array:
    """Whether an item was judged, by its column; without one all were."""
    return _flag(items, "judged")


def is_pooled(items: Items) -> jax.Array:
    """Whether an item was drawn to be judged, by its column; without one all were."""
    return _flag(items, "pooled")


def _flag(items: Items, name: str) -> jax.Array:
    if name not in items.columns:
        return items.exists
    column = items.columns[name]
    if column.dtype != jnp.bool_ or column.shape != items.exists.shape:
        raise TypeError(
            f"columns: {name!r} is {column.dtype} of shape {column.shape}; pass one bool "
            "per item, such as column != 0"
        )
    return column & items.exists


def binary(
    ranking: Ranking, values: jax.Array, threshold: Number, k: Cutoffs
) -> PerList:
    """Values of a metric that is defined where something is relevant."""
    some = ranking.num_relevant(threshold) > 0
    return ranking.per_list(values, some, k, relevant(threshold))


def plain(
    ranking: Ranking, values: jax.Array, defined: jax.Array | bool, k: Cutoffs = None
) -> PerList:
    """Values of a metric without a threshold of its own, `[*lists, len(ks)]`.

    Items' weights imply that of their list by what is relevant, which is a label of 1.
    """
    return ranking.per_list(values, defined, k, relevant(1.0))


def weighed_sum(
    ranking: Ranking,
    item_fn: ItemFn,
    place_fn: Callable[..., jax.Array],
    ks: Sequence[Cut],
    **counting: Any,
) -> jax.Array:
    """`expected_sum` of `item_fn·w/w̄`, where w̄ is the mean item weight of the list."""
    if not ranking._has_item_weights:
        return ranking.expected_sum(item_fn, place_fn, ks, **counting)
    sums = ranking.expected_sum(weighed(item_fn), place_fn, ks, **counting)
    weight = ranking._mean_item_weight(item_fn)
    assert weight is not None
    return ratio(sums, weight[..., None]) / WEIGHED_SCALE


def ranked_ids(
    name: str, given: Any, ks: Sequence[int | None] = ()
) -> tuple[jax.Array, jnp.dtype]:
    """Ids in rank order, of an array or of a ranking, and the dtype of values.

    Returns:
        `[*lists, ranks]` integers, at least one in each list, below 0 where there is none.

    Raises:
        ValueError: if a ranking does not reach the cutoffs, has no order or is of packed
            lists; if the ids of a list are not all on one device.
        TypeError: if ids are not integers.
    """
    dtype = _inputs.float_dtype()
    if isinstance(given, Ranking):
        if given._held is not None and isinstance(given._held.layout, Packed):
            raise ValueError(
                f"{name} is a ranking of packed lists; pass one of lists in rows, or their "
                "ids padded with -1"
            )
        if given._held is not None:
            given._held_through(ks)
        dtype, given = given._dtype, given.items
    ids = _inputs.ids(name, given)
    if _mesh.spec_of(ids)[-1]:
        raise ValueError(
            f"{name} has ranks that lie on several devices, as {jax.typeof(ids)}; pass "
            "lists that are whole on a device"
        )
    if not ids.shape[-1]:
        ids = jnp.full((*ids.shape[:-1], 1), -1, ids.dtype)
    return ids, dtype


def per_list(values: jax.Array, defined: jax.Array, several: bool) -> PerList:
    """Values at each cutoff, of lists that all weigh the same.

    Args:
        values: `[*lists, len(ks)]`.
        defined: `[*lists]` bool.
        several: Whether cutoffs were asked for as a tuple, and are an axis.
    """
    values = jnp.where(defined[..., None], values, 0)
    values = values if several else values[..., 0]
    return PerList(values, jnp.ones(defined.shape, values.dtype), defined)
