"""The first stop of a user whom each item stops with some probability.

In a random order of t tied items, let S_j be the probability that one of the first j stops
the user. Add one more item, which stops the user with the chance s. The new item is among
the first j of the t + 1 items with the probability j / (t + 1), so

    S_j ← S_j + j / (t + 1) · (s + (1 − s)·S_{j−1} − S_j).

Items that never stop the user have S_j = 0, so start from them, and add the other items one
by one. The user stops at the j-th item with the probability S_j − S_{j−1}.

If items have values, let V_j be the mean value of the j-th item, counted as 0 unless the
user reaches it. One more item, with the value v, is as likely to be the j-th as any other:

    j·V_j ← j·V_j + j / (t + 1) · (v·(1 − S_{j−1}) + (1 − s)·(j − 1)·V_{j−1} − j·V_j).

For items that never stop the user, V_j is their mean value. V_j is linear in values, so
items with equal chances may all get their mean value.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.places import few_ranks_cpu, place, tie_groups
from jax_rank_metrics._ground import arithmetic, loops, meshes, types

# S_j; and j·V_j, if items have values.
_Sums = list[jax.Array]


def _with_item(
    sums: _Sums, sums_before: _Sums, share: jax.Array, item: Sequence[jax.Array]
) -> _Sums:
    """Returns the sums after one more item is added.

    Args:
        sums: The sums.
        sums_before: The sums at j − 1.
        share: The probability that the item is among the first j. If j exceeds the number
            of items, this is more than 1 and read as 1; it is 0 if no item is added.
        item: The chance of the item to stop the user; and its value, if items have values.
    """
    share, (chance, *value) = jnp.minimum(share, 1), item
    gains = chance, *(v * (1 - sums_before[0]) for v in value)
    return [
        old + share * (gain + (1 - chance) * before - old)
        for old, gain, before in zip(sums, gains, sums_before, strict=True)
    ]


def of_group(
    layout: base.PoolLayout, ranks: int, exists: jax.Array, *items: jax.Array
) -> jax.Array:
    """Returns the chance to stop at the first, second, … item of a tie group, or V_j.

    Returns `[*lists, ranks]`, for one group in each list; numbers beyond the size of the
    group mean nothing. If items have values, the numbers are V_j. Items may lie anywhere in
    their lists, also on several devices: in each step, the items with the largest remaining
    chance to stop are counted, and added together.

    Args:
        layout: The layout of the items.
        ranks: How many of the first items to return numbers for.
        exists: `[*lists, items]` bool, true for items of the group.
        items: `[*lists, items]`, the probability that an item of the group stops the
            user; and its value, if items have values. Both are 0 for other items.
    """
    stop, *values = items

    def means(is_meant: jax.Array, number: jax.Array) -> list[jax.Array]:
        sums = (layout.sum(jnp.where(is_meant, value, 0)) for value in values)
        return [(total / jnp.maximum(number, 1))[..., None] for total in sums]

    blanks = (layout.sum(exists) - layout.sum(stop > 0)).astype(stop.dtype)
    zeros = jnp.zeros((*blanks.shape, ranks), stop.dtype)
    index = 1 + arithmetic.iota(zeros).astype(stop.dtype)
    before = partial(arithmetic.shifted, by=1)

    def add_next(state: tuple[Any, ...]) -> tuple[Any, ...]:
        left, chance, number, sums = state
        is_next = (left > 0) & (left == layout.broadcast_to_items(chance))
        count = layout.sum(is_next).astype(stop.dtype)
        item = [chance[..., None], *means(is_next, count)]

        def add(state: tuple[jax.Array, _Sums]) -> tuple[jax.Array, _Sums]:
            copies, sums = state
            share = index / (number + (copies + 1))[..., None]
            share = jnp.where((copies < count)[..., None], share, 0)
            return copies + 1, _with_item(sums, [*map(before, sums)], share, item)

        last = jnp.max(count, initial=0)
        start = jnp.zeros_like(last), sums
        sums = lax.while_loop(
            lambda state: meshes.unvmap_any(state[0] < last), add, start
        )[1]
        left = jnp.where(is_next, jnp.zeros_like(left), left)
        return left, layout.max(left), number + count, sums

    sums = [zeros, *(index * mean for mean in means(stop == 0, blanks))]
    start = stop, layout.max(stop), blanks, meshes.match_varying(sums, blanks)
    sums = lax.while_loop(
        lambda state: meshes.unvmap_any(state[1] > 0), add_next, start
    )[3]
    stopped, *worth = loops.forward_only(sums)
    return worth[0] / index if worth else stopped - before(stopped)


def stop_chances(
    layout: base.RankedLayout,
    stop: jax.Array,
    continues: jax.Array | None,
    group: tuple[jax.Array, jax.Array] | None = None,
    *values: jax.Array,
) -> jax.Array:
    """Returns the probability that the user stops at each kept rank, `[*lists, held]`.

    With values, returns the mean value of the item at each kept rank, counted as 0 unless
    the user reaches the item.

    Args:
        layout: The layout of the items.
        stop: `[*lists, held]`, the probability that a user who reads an item stops.
        continues: `[*lists, held]` bool, true for items that tie with the item before; None
            if no items tie.
        group: The result of `of_group` for the tie group across the cut, and bools, true
            for the kept items that are in this group; None if every group is complete.
        values: `[*lists, held]`, the value of each item; or nothing.
    """
    # The log-probability of passing each item. It is −200, not −∞, at a certain stop:
    # e^−200 is 0 in float32, and about 1e−87 in float64.
    log_pass = jnp.log1p(-jnp.minimum(stop, 1 - jnp.finfo(stop.dtype).epsneg))
    log_pass = jnp.where(stop < 1, log_pass, -200)
    reached = jnp.exp(tie_groups.sum_before(layout, log_pass))
    if continues is None:
        return reached * (stop, *values)[-1]
    arrays = reached, continues, stop, *values
    if stop.shape[-1] <= place.FEW_RANKS:  # a branch would cost more
        chances = _in_groups(*arrays)
    else:  # mostly, no more than two items tie
        has_larger = meshes.unvmap_any(continues & arithmetic.shifted(continues, -1))
        chances = lax.cond(has_larger, _in_groups, _in_pairs, *arrays)
    if group is None:
        return chances
    group_chances, in_group = group
    offset = layout.cumulative_count(in_group) - in_group.astype(jnp.int32)
    # The chance to reach an item falls along the list, so the largest chance of the group
    # is the chance to reach its first item.
    first = layout.broadcast_to_items(layout.max(jnp.where(in_group, reached, 0)))
    return jnp.where(in_group, first * arithmetic.take(group_chances, offset), chances)


def _in_pairs(reached: jax.Array, continues: jax.Array, *items: jax.Array) -> jax.Array:
    """Computes `stop_chances` if at most two items tie."""
    stop, worth = items[0], items[-1]
    before, after = (arithmetic.shifted(worth, by) for by in (1, -1))
    has_second = arithmetic.shifted(continues, -1)
    first = reached * jnp.where(has_second, (worth + after) / 2, worth)
    lost = stop * before
    if len(items) > 1:
        lost = (lost + worth * arithmetic.shifted(stop, 1)) / 2
    second = arithmetic.shifted(reached, 1) * ((worth + before) / 2 - lost)
    return jnp.where(continues, second, first)


def _in_groups(
    reached: jax.Array, continues: jax.Array, *items: jax.Array
) -> jax.Array:
    """Computes `stop_chances`, with S_j in the j-th slot of each group."""
    stop, *values = items
    is_few = stop.shape[-1] <= place.FEW_RANKS
    start, end = (few_ranks_cpu if is_few else tie_groups).bounds_of_runs(continues)
    offset, sizes = arithmetic.iota(stop) - start, end - start + 1
    # If there are few items, add every item. If there are many, rounding errors would add
    # up, so add only the items that can stop a user, after moving them to the first slots
    # of their group.
    stops, blank_totals = sizes, [jnp.zeros_like(value) for value in values]
    if not is_few:
        is_stop = (stop > 0).astype(jnp.int32)
        through = arithmetic.cumulative_count(is_stop)
        through = through - arithmetic.take(through - is_stop, start)
        stops = arithmetic.take(through, end)
        target = jnp.where(is_stop > 0, start + through - 1, stop.shape[-1])
        for i, value in enumerate(values):
            value = jnp.where(stop > 0, 0, value)
            _, (through,) = arithmetic.along_runs(continues, [value], [jnp.add])
            blank_totals[i] = arithmetic.take(through, end)
        items = tuple(arithmetic.put(jnp.zeros_like(x), target, x) for x in items)
    index, blanks = (array.astype(stop.dtype) for array in (offset + 1, sizes - stops))
    last = jnp.max(stops, initial=0)

    def before(stopped: jax.Array) -> jax.Array:
        return jnp.where(continues, arithmetic.shifted(stopped, 1), 0)

    def add(state: tuple[jax.Array, _Sums]) -> tuple[jax.Array, _Sums]:
        number, sums = state
        slot = jnp.minimum(start + number, end)
        item = [arithmetic.take(x, slot) for x in items]
        share = index / (blanks + (number + 1).astype(stop.dtype))
        share = jnp.where(number < stops, share, 0)
        return number + 1, _with_item(sums, [*map(before, sums)], share, item)

    worth = [index * x / jnp.maximum(blanks, 1) for x in blank_totals]
    sums = meshes.match_varying([jnp.zeros_like(stop), *worth], (items, continues))
    state = jnp.zeros_like(last), sums
    sums = lax.while_loop(lambda state: state[0] < last, add, state)[1]
    stopped, *worth = loops.forward_only(sums)
    at_each = worth[0] / index if worth else stopped - before(stopped)
    return arithmetic.take(reached, start) * at_each


# Averages functions of ranks, each up to a cutoff, over the ranks that a slot may have.
RankMeans = Callable[[Sequence[tie_groups.RankSum]], list[jax.Array]]


def expected(
    worth: jax.Array,
    chances: jax.Array,
    rank_means: RankMeans,
    position_fn: types.PositionFn,
    ks: Sequence[types.Cut],
    layout: base.RankedLayout,
) -> tuple[jax.Array, jax.Array]:
    """Returns the mean of `position_fn` at the stop, and the chance of no stop by each k.

    If items have values, the first result is the sum of `worth` times `position_fn`.

    Args:
        worth: From `stop_chances` with values; or `chances`, if items have no values.
        chances: From `stop_chances`.
        rank_means: From `at_rank` or `in_turn`.
        position_fn: The value of a stop at rank 1, 2, …
        ks: Cutoffs.
        layout: The layout of the items.
    """
    cuts = [layout.cut_of_items(k) for k in ks]
    means = rank_means([(fn, k) for fn in (position_fn, jnp.ones_like) for k in cuts])
    factors = [worth] * len(ks) + [chances] * len(ks)
    sums = [
        layout.sum(factor * mean) for factor, mean in zip(factors, means, strict=True)
    ]
    sums = jnp.stack(sums, axis=-1)
    return sums[..., : len(ks)], 1 - sums[..., len(ks) :]


def at_rank(rank: jax.Array) -> RankMeans:
    """Returns the `RankMeans` of slots that have one rank each; `rank` holds floats."""
    return lambda rank_sums: [
        place.at_ranks(position_fn, rank, k) for position_fn, k in rank_sums
    ]


def in_turn(
    above: jax.Array, tied: jax.Array, bounds: tuple[jax.Array, jax.Array]
) -> RankMeans:
    """Returns the `RankMeans` of items in tie groups from which items may be missing.

    If r of t tied items are kept, the i-th kept item is the j-th item of the group with a
    probability proportional to C(j, i)·C(t − 1 − j, r − 1 − i); i and j count from 0.

    Args:
        above: `[*lists, items]` floats, as in `Place`.
        tied: As in `Place`.
        bounds: The first and last slot of each item's tie group.
    """
    start, end = (slots.astype(above.dtype) for slots in bounds)
    index = arithmetic.iota(above).astype(above.dtype) - start
    last = jnp.maximum(tied - (end - start + 1), 0) + index
    first, above, tied, last = (array[None] for array in (index, above, tied, last))
    slope = (tied - 1) / jnp.maximum(end - start, 1)[None]
    likeliest = jnp.clip(jnp.floor(first * slope), first, last)

    def ratios(j: jax.Array) -> tuple[jax.Array, jax.Array]:
        up = (j + 1) / (j + 1 - first) * (last - j) / jnp.maximum(tied - 1 - j, 1)
        return up, (j - first) / jnp.maximum(j, 1) * (tied - j) / (last - j + 1)

    def value(position_fn: types.PositionFn, k: types.Cut, j: jax.Array) -> jax.Array:
        k = k[None] if isinstance(k, jax.Array) else k
        return place.at_ranks(position_fn, above + (j + 1), k)

    def means(rank_sums: Sequence[tie_groups.RankSum]) -> list[jax.Array]:
        values = [partial(value, *rank_sum) for rank_sum in rank_sums]
        return arithmetic.means_from_likeliest(likeliest, (first, last), ratios, values)

    return means
