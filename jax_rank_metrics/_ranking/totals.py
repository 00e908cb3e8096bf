"""Totals over the pool of judged items, and what follows from them for a list."""

import functools
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.base import PoolLayout
from jax_rank_metrics._ranking.data import RankingData
from jax_rank_metrics._ranking.items import (
    MAX_WEIGHTED_GAIN,
    WEIGHTED_SCALE,
    ItemFn,
    Items,
    item_amounts,
    item_values,
)
from jax_rank_metrics._ranking.shares import cutoff_of
from jax_rank_metrics._ranking.unlisted import check_alike, check_known
from jax_rank_metrics._share import share
from jax_rank_metrics._types import Cut, Cutoffs, Number


def pool_sum(data: RankingData, item_fn: ItemFn) -> jax.Array:
    """Computes `Ranking.pool_sum`."""
    pool, dtype = data.judged_pool(), data.dtype
    check_known(data, item_fn)

    def total(items: ItemArrays, layout: PoolLayout) -> jax.Array:
        amounts = item_amounts(item_fn, items, dtype)
        return layout.sum(amounts, amounts.ndim - items.exists.ndim).astype(dtype)

    totals = [total(*part) for part in pool.layout.parts(pool.items.read())]
    return functools.reduce(jnp.add, totals)


def pool_max(data: RankingData, item_fn: ItemFn) -> jax.Array:
    """Computes `Ranking.pool_max`."""
    pool = data.judged_pool()
    check_known(data, item_fn)
    check_alike(data, item_fn)
    return pool.layout.max(item_values(item_fn, pool.items.read(), data.dtype))


def num_relevant(data: RankingData, threshold: Number) -> jax.Array:
    """Computes `Ranking.num_relevant`."""

    def is_relevant(items: Items) -> jax.Array:
        return items.relevant(threshold)

    def count() -> jax.Array:
        # The caller has counted the labels as passed, and no others.
        if data.known_relevant is None or data.relabel is not None:
            return pool_sum(data, data.labelled(is_relevant))
        # Never fewer than were retrieved, so that no recall exceeds 1.
        assert data.held is not None
        retrieved = _arithmetic.count(is_relevant(Items.of(data.held.items)))
        return jnp.maximum(data.known_relevant, retrieved).astype(data.dtype)

    return data.memo.once(("relevant", threshold, data.relabel), count)


def cutoffs(data: RankingData, k: Cutoffs) -> tuple[Cut, ...]:
    """Computes `Ranking.cutoffs`."""

    def resolve(fraction: share) -> jax.Array:
        pool = data.judged_pool()
        return cutoff_of(fraction, pool.layout.sum(pool.items.read().exists))

    ks = _inputs.cutoffs(k)
    _check_ranks(data, ks)
    return tuple(
        data.memo.once(("share", x), partial(resolve, x)) if isinstance(x, share) else x
        for x in ks
    )


def _check_ranks(data: RankingData, ks: Sequence[object]) -> None:
    """Raises for a cutoff among ranks that the float dtype of places cannot tell apart."""
    dtype, limit = data.dtype, 2 ** (jnp.finfo(data.dtype).nmant + 1)
    max_ranks = (data.max_items or 0) if data.held is None else data.held.ranks
    numbers = [k for k in ks if isinstance(k, int) and k > limit]
    if numbers and max_ranks > limit:
        raise ValueError(
            f"k is {numbers[0]}, but ranks beyond {limit} are not told apart in {dtype}; "
            f"pass at most {limit}, or None for whole lists"
        )


def depth(data: RankingData, ks: Sequence[Cut], nominal: bool) -> jax.Array:
    """Computes `Ranking.depth`."""
    length = data.length.astype(data.dtype)
    depth_at = jnp.full_like if nominal else jnp.minimum
    depths = [
        length if k is None else depth_at(length, jnp.asarray(k, length.dtype))
        for k in ks
    ]
    return jnp.stack(depths, axis=-1)


def mean_item_weight(data: RankingData, item_fn: ItemFn) -> jax.Array | None:
    """Returns w̄: the mean item weight of every list, each item counted `item_fn` times.

    A list in which `item_fn` is 0 everywhere has the plain mean. None if items have no
    weights.
    """
    if not data.has_item_weights:
        return None
    pool, dtype = data.judged_pool(), data.dtype
    items, layout = pool.items.read(), pool.layout
    assert items.weights is not None
    times = item_values(item_fn, items, dtype)
    # Scaled by a power of two, which rounds nothing, so that sums stay finite.
    times = jnp.minimum(times, jnp.finfo(dtype).max) * WEIGHTED_SCALE
    any_counts = layout.broadcast_to_items(layout.max(times) > 0)
    times = jnp.where(any_counts, times, items.exists.astype(dtype))
    weighted = jnp.minimum(items.weights * times, MAX_WEIGHTED_GAIN)
    return _arithmetic.ratio(layout.sum(weighted), layout.sum(times))
