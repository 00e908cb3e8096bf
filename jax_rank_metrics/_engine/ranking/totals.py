"""Totals over the pool of judged items, and the cutoffs and weights that depend on them.

A list has no value if one of its scores is NaN, or if a gain of its pool overflows.
"""

import functools
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._engine.items import ItemArrays
from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.layouts.rows import Rows
from jax_rank_metrics._engine.ranking import cache, item_fns, unlisted
from jax_rank_metrics._engine.ranking.ranking_data import RankingData
from jax_rank_metrics._ground import arithmetic, gains, inputs, types
from jax_rank_metrics._ground.shares import share

# A share is read as six digits of 16 bits, which hold all 53 bits of a float64 that is at
# least 2^−43. A smaller share gives every list the cutoff 1, because lists have at most
# 2^31 items.
_BITS, _DIGITS = 16, 6

# Accelerators find the maximum of this many sorted labels sooner than they slice off the
# first label.
_FEW_LABELS = 32


def pool_sum(data: RankingData, item_fn: item_fns.ItemFn) -> jax.Array:
    """Computes `Ranking.pool_sum`."""
    pool, dtype = data.judged_pool(), data.dtype
    unlisted.check_known(data, item_fn)

    def total(items: ItemArrays, layout: base.PoolLayout) -> jax.Array:
        amounts = item_fns.item_amounts(item_fn, items, dtype)
        return layout.amount(amounts, dtype, amounts.ndim - items.exists.ndim)

    totals = [total(*part) for part in pool.layout.parts(pool.items.read())]
    return functools.reduce(jnp.add, totals)


def profile_sum(data: RankingData, item_fn: item_fns.ItemFn) -> jax.Array:
    """Computes `Ranking.profile_sum`."""
    items = data.profile
    if items is None:
        raise ValueError(
            "this metric reads the items that a user interacted with before, but none were "
            "passed; pass profile_ids to rank_ids, rank_scores or rank_catalog, or seen to "
            "evaluate_users"
        )
    values = item_fns.item_values(item_fn, items, data.dtype)
    if items.weights is not None:
        values = values * arithmetic.widen(items.weights, values)
    return Rows().sum(values, values.ndim - items.exists.ndim)


def pool_max(data: RankingData, item_fn: item_fns.ItemFn) -> jax.Array:
    """Computes `Ranking.pool_max`."""
    pool = data.judged_pool()
    unlisted.check_known(data, item_fn)
    unlisted.check_alike(data, item_fn)
    return pool.layout.max(item_fns.item_values(item_fn, pool.items.read(), data.dtype))


def num_relevant(data: RankingData, threshold: types.Number) -> jax.Array:
    """Computes `Ranking.num_relevant`."""

    def is_relevant(items: item_fns.Items) -> jax.Array:
        return items.relevant(threshold)

    def count() -> jax.Array:
        # `known_relevant` was counted by the labels as passed, so it is wrong for other
        # labels.
        if data.known_relevant is None or data.relabel is not None:
            return pool_sum(data, data.labelled(is_relevant))
        # Count at least the relevant items retrieved, so that no recall exceeds 1.
        assert data.items_held is not None
        retrieved = arithmetic.count(
            is_relevant(item_fns.Items.of(data.items_held.items))
        )
        return jnp.maximum(data.known_relevant, retrieved).astype(data.dtype)

    return data.cache.get_or_compute(("relevant", threshold, data.relabel), count)


def cutoffs(data: RankingData, k: types.Cutoffs) -> tuple[types.Cut, ...]:
    """Computes `Ranking.cutoffs`."""

    def find(fraction: share) -> jax.Array:
        pool = data.judged_pool()
        return cutoff_of(fraction, pool.layout.sum(pool.items.read().exists))

    def resolved(cutoff: types.Cut | share) -> types.Cut:
        if not isinstance(cutoff, share):
            return cutoff
        return data.cache.get_or_compute(("share", cutoff), partial(find, cutoff))

    ks = inputs.cutoffs(k)
    _check_ranks(data, ks)
    return tuple(map(resolved, ks))


def _check_ranks(data: RankingData, ks: Sequence[object]) -> None:
    """Raises if a cutoff is among ranks that the dtype of places cannot tell apart."""
    dtype, limit = data.dtype, 2 ** (jnp.finfo(data.dtype).nmant + 1)
    max_ranks = data.items_held.ranks if data.items_held else data.max_items or 0
    numbers = [k for k in ks if isinstance(k, int) and k > limit]
    if numbers and max_ranks > limit:
        raise ValueError(
            f"k is {numbers[0]}, but {dtype} cannot tell ranks beyond {limit} apart; pass "
            f"k of at most {limit}, or None for whole lists"
        )


def depth(data: RankingData, ks: Sequence[types.Cut], nominal: bool) -> jax.Array:
    """Computes `Ranking.depth`."""
    length = data.length.astype(data.dtype)
    depth_at = jnp.full_like if nominal else jnp.minimum
    depths = [
        length if k is None else depth_at(length, jnp.asarray(k, length.dtype))
        for k in ks
    ]
    return jnp.stack(depths, axis=-1)


def mean_item_weight(data: RankingData, item_fn: item_fns.ItemFn) -> jax.Array | None:
    """Returns w̄: the mean item weight of every list, each item counted `item_fn` times.

    A list in which `item_fn` is 0 everywhere has the plain mean. None if items have no
    weights.
    """
    if not data.has_item_weights:
        return None
    pool, dtype = data.judged_pool(), data.dtype
    items, layout = pool.items.read(), pool.layout
    assert items.weights is not None
    times = item_fns.item_values(item_fn, items, dtype)
    # Scale by a power of two, which rounds nothing, so that sums stay finite.
    times = jnp.minimum(times, jnp.finfo(dtype).max) * item_fns.WEIGHTED_SCALE
    any_counts = layout.broadcast_to_items(layout.max(times) > 0)
    times = jnp.where(any_counts, times, items.exists.astype(dtype))
    weighted = jnp.minimum(items.weights * times, item_fns.MAX_WEIGHTED_GAIN)
    return arithmetic.ratio(layout.sum(weighted), layout.sum(times))


def unknown_lists(
    data: RankingData, is_counted: jax.Array, reads_places: bool
) -> jax.Array | None:
    """Finds the lists for which a metric has no value.

    Args:
        data: The lists, with the dependencies of the metric.
        is_counted: `[*lists]` bool, the lists that count.
        reads_places: True if the values of the metric depend on the places of items.

    Returns:
        `[*lists]` bool, the lists that count but have no value; None if all lists have a
        value.
    """
    unknown = data.has_nan if reads_places else None
    if data.dependencies.gain_fns:
        overflowing = jnp.zeros_like(is_counted)
        for gain_fn in data.dependencies.gain_fns:
            overflowing = overflowing | (_overflows(data, gain_fn) & is_counted)
        unknown = overflowing if unknown is None else unknown | overflowing
        earlier = data.cache.overflowing
        all_overflowing = overflowing if earlier is None else overflowing | earlier
        data.cache.overflowing = all_overflowing
    return None if unknown is None else unknown & is_counted


def _overflows(data: RankingData, gain_fn: types.Gain) -> jax.Array:
    """True for lists with a gain in the pool that is not finite, `[*lists]` bool."""

    def is_infinite(items: item_fns.Items) -> jax.Array:
        return ~jnp.isfinite(gains.gains_of(gain_fn, items.labels))

    def find() -> jax.Array:
        if gain_fn in gains.MONOTONE_GAINS and data.relabel is None:
            return ~jnp.isfinite(gains.gains_of(gain_fn, _largest_label(data)))
        part = data.pool or data.items_held
        assert part is not None
        holds = item_fns.item_predicate(data.labelled(is_infinite), part.items.read())
        return part.layout.sum(holds) > 0

    return data.cache.get_or_compute(("overflows", gain_fn, data.relabel), find)


def _largest_label(data: RankingData) -> jax.Array:
    """Returns the largest label of the pool, `[*lists]`; 0 for lists without items.

    It is the first label of the best order, if another metric has computed this order.
    """
    if (known := data.cache.get(cache.SORTED_LABELS)) is not None:
        _, labels, layout = known
        return layout.max(layout.first_ranks(labels, _FEW_LABELS))
    part = data.pool or data.items_held
    assert part is not None
    return part.layout.max(part.items.read().labels)


def cutoff_of(fraction: share, lengths: jax.Array) -> jax.Array:
    """Returns ceil(float64(fraction·length)) of each length, int32.

    The product is computed exactly, in integers of 32 bits, since not every device has
    float64. Let q be the integer part of the product. Float64 rounds the product to q if it
    exceeds q by no more than half of the distance to the next float64; this half is
    2^(b − 53) for 2^b ≤ q < 2^(b + 1). (A product half-way between the two is rounded to
    the even one, which is q.) So the cutoff is q if the fractional part is at most
    2^(b − 53), and else q + 1.

    Args:
        fraction: The share.
        lengths: `[*lists]` int32, not negative.
    """
    is_all = fraction.fraction == 1
    scaled = 0 if is_all else int(fraction.fraction * 2.0 ** (_BITS * _DIGITS))
    low, high = lengths.astype(jnp.uint32) & 0xFFFF, lengths.astype(jnp.uint32) >> _BITS
    carry, digits = jnp.zeros_like(low), []
    for index in range(_DIGITS):  # the least significant digit first
        digit = np.uint32(scaled >> (_BITS * index) & 0xFFFF)
        partial = digit * low + (carry & 0xFFFF)
        digits.append(partial & 0xFFFF)
        carry = digit * high + (carry >> _BITS) + (partial >> _BITS)
    quotient = lengths.astype(jnp.uint32) if is_all else carry
    # The bit of the fractional part whose value is 2^(b − 53).
    half = _BITS * _DIGITS - 53 + 31 - lax.clz(jnp.maximum(quotient, 1))
    exceeds = jnp.zeros(lengths.shape, bool)
    for index, digit in enumerate(digits):
        bit = jnp.where(half // _BITS == index, 1 << half % _BITS, 0)
        exceeds = (digit > bit) | ((digit == bit) & exceeds)
    cutoffs = (quotient + exceeds.astype(jnp.uint32)).astype(jnp.int32)
    return jnp.maximum(cutoffs, jnp.minimum(lengths, 1))
