"""A user who reads down the list, and whose chance to go on depends on the gain so far.

This is the C/W/L framework: C is the chance to go on from a rank to the next, W the share
of all reading that a rank gets, and L the chance that a rank is the last one read. Here
callers pass C; W and L follow from C.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import item_fns, ranked_items, ranking_data
from jax_rank_metrics._engine.ranking.ranking import Ranking, traced_data
from jax_rank_metrics._ground import arithmetic, loops, meshes, types

# This many ranks without an item are read in one step.
_STEP = 64

# Replaces the logarithm of 0: e^−200 is 0 in float32, and about 1e−87 in float64.
_NEVER = -200


class Step(NamedTuple):
    """The state of a user who has just read a rank; floats that broadcast together.

    Attributes:
        rank: The rank.
        gain: The gain of the item, 0 if the rank has none.
        cost: The cost of the item, 1 if the rank has none.
        gained: The total gain of ranks 1 to `rank`.
        spent: The total cost of ranks 1 to `rank`.
    """

    rank: jax.Array
    gain: jax.Array
    cost: jax.Array
    gained: jax.Array
    spent: jax.Array


class Browsing(NamedTuple):
    """Means over the users who read a list, `[*lists, len(ks)]` each.

    Attributes:
        items: The number of ranks that a user reads.
        gain: The total gain of the ranks read.
        cost: The total cost of the ranks read.
        gain_at_stop: The total gain of a user at the stop, 0 for a user who never stops.
        cost_at_stop: The total cost of a user at the stop, 0 for a user who never stops.
    """

    items: jax.Array
    gain: jax.Array
    cost: jax.Array
    gain_at_stop: jax.Array
    cost_at_stop: jax.Array


# The logarithm of the chance to go on after a step; −inf if the user certainly stops.
LogContinuation = Callable[[Step], jax.Array]


class _Head(NamedTuple):
    """The ranks that have items, as a user reads them; `[*lists, items]` each."""

    rank: jax.Array
    view: jax.Array  # the chance that the user reads the item
    gain: jax.Array
    cost: jax.Array
    log_continuation: jax.Array


def browsing(
    ranking: Ranking,
    gain_fn: item_fns.ItemFn,
    log_continuation: LogContinuation,
    ks: Sequence[types.Cut],
    *,
    cost_fn: item_fns.ItemFn | None = None,
    max_rank: int = 1000,
) -> Browsing:
    """Follows a user whose chance to go on depends on the gain so far.

    The user reads the items of a list in one definite order, and then ranks without an
    item, which have the gain 0 and the cost 1, up to `max_rank`. A cutoff k replaces all
    items below rank k by such ranks.

    Args:
        ranking: The lists.
        gain_fn: Maps `Items` to the gain of each item, which must be 0 for the label 0.
        log_continuation: Maps a `Step` to the logarithm of the chance to go on. Logarithms
            keep the digits of chances near 1, which matter because many such chances are
            multiplied.
        ks: Cutoffs: ints, None, or arrays `[*lists]`.
        cost_fn: Maps `Items` to the cost of each item; None if each costs 1.
        max_rank: The last rank that a user can read.

    Raises:
        ValueError: if a cutoff is deeper than the ranks that the ranking keeps, or if the
            ranking keeps only listed items, such as relevant items.
    """
    args = (gain_fn, log_continuation, tuple(ks), cost_fn, max_rank)
    cache = traced_data(ranking).of_places().cache
    return cache.get_or_compute(("browsing", *args), lambda: _browse(ranking, *args))


def browsing_by_rank(
    ranking: Ranking,
    gain_fn: item_fns.ItemFn,
    view_fn: types.PositionFn,
    ks: Sequence[types.Cut],
    *,
    cost_fn: item_fns.ItemFn | None = None,
    max_rank: int = 1000,
) -> Browsing:
    """Follows a user whose chance to read a rank depends on that rank alone.

    The results are then linear in gains and costs, so they are the exact means over all
    orders of tied items.

    Args:
        ranking: The lists.
        gain_fn: As for `browsing`.
        view_fn: Maps ranks 1, 2, … to the chance that each is read; takes NumPy arrays too.
        ks: Cutoffs: ints, None, or arrays `[*lists]`.
        cost_fn: As for `browsing`.
        max_rank: The last rank that a user can read.

    Raises:
        ValueError: as for `browsing`, except that listed items are enough if `cost_fn` is
            None.
    """
    cuts = [
        min(max_rank if k is None else k, max_rank)
        if k is None or isinstance(k, int)
        else jnp.minimum(k, max_rank)
        for k in ks
    ]
    # Add one rank beyond the last that can be read: the chance to reach this rank is the
    # chance never to stop. Use float64, because all chances are summed; this runs once,
    # while tracing.
    ranks = np.arange(1, max_rank + 2, dtype=np.float64)
    *views, never_stops = np.asarray(view_fn(ranks), np.float64)  # type: ignore
    gain = ranking.expected_sum(gain_fn, place.positions(view_fn), cuts)
    gained = ranking.expected_sum(gain_fn, place.positions(), cuts)
    items = jnp.full_like(gain, math.fsum(views))
    # Every rank costs 1, with or without an item. An item then adds its cost less 1.
    cost, spent = items, jnp.full_like(gain, max_rank)
    if cost_fn is not None:
        surplus = _surplus(cost_fn)
        cost = cost + ranking.expected_sum(surplus, place.positions(view_fn), cuts)
        spent = spent + ranking.expected_sum(surplus, place.positions(), cuts)
    # With G(r) the gains through r, summation by parts gives
    # Σ P(stop at r)·G(r) = Σ P(read r)·gain(r) − P(never stop)·G(end).
    return Browsing(
        items=items,
        gain=gain,
        cost=cost,
        gain_at_stop=gain - float(never_stops) * gained,
        cost_at_stop=cost - float(never_stops) * spent,
    )


@by_options
def _surplus(items: item_fns.Items, *, cost_fn: item_fns.ItemFn) -> jax.Array:
    """Returns the cost of each item less 1, because a rank without an item costs 1."""
    return cost_fn(items) - 1


def _browse(
    ranking: Ranking,
    gain_fn: item_fns.ItemFn,
    log_continuation: LogContinuation,
    ks: Sequence[types.Cut],
    cost_fn: item_fns.ItemFn | None,
    max_rank: int,
) -> Browsing:
    """Reads the items once for all cutoffs, and the empty ranks below each cutoff."""
    data = traced_data(ranking)
    layout = data.held_through(ks).layout
    head = _read_items(data, gain_fn, log_continuation, ks, cost_fn)
    reached = [
        place.is_within(head.rank, k) & place.is_within(head.rank, max_rank)
        for k in map(layout.cut_of_items, ks)
    ]

    def total(x: jax.Array) -> jax.Array:
        terms = [jnp.where(is_read, x, jnp.zeros_like(x)) for is_read in reached]
        return data.sums_to_cutoffs(layout, terms)

    # The last rank up to each cutoff that has an item; empty ranks begin below it.
    depth = jnp.minimum(ranking.depth(ks), max_rank)
    gained, spent = total(head.gain), total(head.cost)
    end = Step(depth, jnp.zeros_like(depth), jnp.ones_like(depth), gained, spent)
    log_view, empty_ranks = _read_empty_ranks(
        end, total(head.log_continuation), log_continuation, max_rank
    )
    gain = total(head.view * head.gain)
    cost = total(head.view * head.cost) + empty_ranks
    # The two values at the stop come from a summation by parts, as in `browsing_by_rank`.
    never_stops = jnp.exp(log_view)
    return Browsing(
        items=total(head.view) + empty_ranks,
        gain=gain,
        cost=cost,
        gain_at_stop=gain - never_stops * gained,
        cost_at_stop=cost - never_stops * (spent + (max_rank - depth)),
    )


def _read_items(
    data: ranking_data.RankingData,
    gain_fn: item_fns.ItemFn,
    log_continuation: LogContinuation,
    ks: Sequence[types.Cut],
    cost_fn: item_fns.ItemFn | None,
) -> _Head:
    """Reads the kept items, once for all cutoffs: a cutoff changes no rank above it."""
    if data.omits_unlisted:
        raise ranked_items.UnknownPlaceError(
            "this metric reads every item of a list, but this ranking holds only listed "
            f"items, such as relevant items; {ranked_items.RANK_MORE}"
        )
    ranks, dtype = data.held_through(ks).in_one_order(), data.dtype
    items, layout = ranks.items, ranks.layout
    above, _ = ranks.above_and_tied(data.cache)
    rank = above.astype(dtype) + 1
    gain = item_fns.item_values(gain_fn, items, dtype)
    # If each item costs 1, the cost through a rank is the rank itself: no sum is needed.
    cost = items.exists.astype(dtype)
    spent = rank
    if cost_fn is not None:
        cost = item_fns.item_values(cost_fn, items, dtype)
        spent = layout.cumulative_sum(cost)
    step = Step(rank, gain, cost, layout.cumulative_sum(gain), spent)
    log_chance = _bounded(log_continuation(step), items.exists)
    # Shift, and then sum over the items before each item: subtracting the item's own term
    # from a sum that includes the term would lose digits.
    before = arithmetic.shifted(log_chance, 1)
    before = jnp.where(layout.continues_list(before), before, jnp.zeros_like(before))
    reached = jnp.exp(layout.cumulative_sum(before))
    reached = jnp.where(items.exists, reached, jnp.zeros_like(reached))
    return _Head(rank, reached, gain, cost, log_chance)


def _read_empty_ranks(
    end: Step, log_view: jax.Array, log_continuation: LogContinuation, max_rank: int
) -> tuple[jax.Array, jax.Array]:
    """Reads the ranks below the last item, which have the gain 0 and the cost 1.

    Args:
        end: The step at the last item, `[*lists, len(ks)]` each.
        log_view: The logarithm of the chance that the user reads the next rank.
        log_continuation: As for `browsing`.
        max_rank: The last rank to read.

    Returns:
        The logarithm of the chance that the user goes on after the last rank, and the
        mean number of empty ranks that the user reads.
    """
    # [*lists, len(ks), _STEP]: the empty ranks of one step.
    end = Step(*(field[..., None] for field in end))
    offset = jnp.arange(1, _STEP + 1, dtype=end.rank.dtype)
    offset = offset.reshape((1,) * (end.rank.ndim - 1) + (_STEP,))

    def read(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        start, log_view, read_ranks = state
        further = start.astype(end.rank.dtype) + offset
        rank = end.rank + further
        is_rank = rank <= max_rank
        step = end._replace(rank=rank, spent=end.spent + further)
        log_chance = _bounded(log_continuation(step), is_rank)
        # To read a rank, the user must go on from every rank before it; the chance to go on
        # from the rank itself does not count.
        before = arithmetic.cumulative_sum(arithmetic.shifted(log_chance, 1))
        view = jnp.where(is_rank, jnp.exp(log_view[..., None] + before), 0)
        log_view = log_view + jnp.sum(log_chance, axis=-1)
        return start + _STEP, log_view, read_ranks + jnp.sum(view, axis=-1)

    # Loop as long as the shortest list, which has the most empty ranks, needs; `is_rank`
    # leaves out the ranks beyond `max_rank` of longer lists.
    num_ranks = jnp.max(max_rank - end.rank, initial=0).astype(jnp.int32)
    # The carry must vary over the same mesh axes as the sums (inside shard_map).
    start = (log_view, jnp.zeros_like(log_view))
    start = meshes.match_varying(start, (end, log_view))
    _, log_view, read_ranks = lax.while_loop(
        lambda state: state[0] < num_ranks, read, (jnp.zeros_like(num_ranks), *start)
    )
    return loops.forward_only((log_view, read_ranks))


def _bounded(log_chance: jax.Array, exists: jax.Array) -> jax.Array:
    """Replaces −inf by a finite number, and logarithms of slots without a rank by 0.

    The sums are products with a matrix of ones and zeros, in which 0·−inf would be NaN.
    """
    log_chance = jnp.maximum(log_chance, _NEVER)
    return jnp.where(exists, log_chance, jnp.zeros_like(log_chance))
