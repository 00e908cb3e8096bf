"""Places as formulas see them, and sums of a function over the ranks of a place."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.places import few_ranks_cpu
from jax_rank_metrics._engine.while_tracing import constant
from jax_rank_metrics._ground import arithmetic, gains, meshes
from jax_rank_metrics._ground.types import Cut, PositionFn

# Sums over the ranks of a place are read from a table of at most this many ranks.
_TABLE = 2**20

# Shorter tables have one of these lengths.
_LENGTHS = (2**12, 2**16)

# Beyond the table, this many ranks are added up at a time.
_STEP = 64

# Up to this many items, all pairs are compared, and up to this many ranks are compared with
# places: accelerators would otherwise start a kernel for each step, or gather from tables.
# On CPU, the functions of few_ranks_cpu.py do this work.
FEW_RANKS = 32

# Floats in two parts; the second part holds the rounding error of the first.
_Pair = tuple[jax.Array | np.ndarray, ...]

# Sums a function of ranks over the ranks of a place that are at most k.
PlaceSum = Callable[[PositionFn, Cut], jax.Array]


@dataclasses.dataclass(frozen=True)
class Place:
    """The ranks that an item may have: above + 1 … above + tied, each equally likely.

    All arrays are floats that broadcast with the items.

    Attributes:
        above: How many items rank strictly before the item's tie group.
        tied: How many items are in the group, this item included.
        counted_above: For each function of `counting`, the sum of its values over the items
            above; bools are counted.
        counted_tied: For each function of `counting`, the sum of its values over the items
            of the tie group, this item included.
        worth: The values of the items. The place of an item with the value 0 is not read.
            None if no items can tie.
    """

    above: jax.Array
    tied: jax.Array
    counted_above: tuple[jax.Array, ...]
    counted_tied: tuple[jax.Array, ...]
    _sum: PlaceSum
    worth: jax.Array | None = None

    @classmethod
    def of_counts(
        cls, counts: tuple[Any, ...], place_sum: PlaceSum, dtype: DTypeLike
    ) -> "Place":
        """Returns places in floats of `dtype`.

        Args:
            counts: The first four attributes, as int32 or sums in floats.
            place_sum: Sums a function over the ranks of places.
            dtype: The dtype.
        """
        floats = jax.tree.map(lambda count: count.astype(dtype), counts)
        above, tied, counted_above, counted_tied = floats
        # Slots without an item have no group; 1 keeps formulas from dividing by 0.
        return cls(above, jnp.maximum(tied, 1), counted_above, counted_tied, place_sum)

    def sum(self, position_fn: PositionFn, k: Cut) -> jax.Array:
        """Sums `position_fn` over the ranks of the place that are at most k."""
        return self._sum(position_fn, k)

    def within(self, k: Cut) -> jax.Array:
        """Counts the ranks of the place that are at most k.

        The ranks 3, 4 and 5 (`above` 2, `tied` 3) give 2 for k = 4; None gives `tied`.
        """
        if k is None:
            return self.tied
        if not isinstance(k, int):
            k = k.astype(self.above.dtype)
        return jnp.clip(k - self.above, 0, self.tied)

    def among(self, above: jax.Array, tied: jax.Array, max_rank: int) -> "Place":
        """Returns the item's place among some other items, such as items of one kind.

        Args:
            above: How many of the other items rank strictly before the item's tie group, a
                float.
            tied: One more than the number of the other items in the item's tie group.
            max_rank: The largest rank there can be, static.
        """
        ranks = above.astype(jnp.int32), tied.astype(jnp.int32)
        place_sum = sum_of_many(*ranks, max_rank, above.dtype)
        return dataclasses.replace(self, above=above, tied=tied, _sum=place_sum)


def positions(position_fn: PositionFn | None = None) -> Callable[..., jax.Array]:
    """Makes a `place_fn` for `expected_sum` out of a function of ranks.

    The value of a place is then the mean of `position_fn` over its ranks, with 0 for ranks
    beyond k. If `position_fn` is None, every rank up to k has the value 1, so the value of
    a place is the probability of a rank up to k.
    """
    return _chance if position_fn is None else _mean_of(position_fn)


def _chance(place: Place, k: Cut) -> jax.Array:
    return place.within(k) / place.tied


@by_options
def _mean_of(place: Place, k: Cut, *, position_fn: PositionFn) -> jax.Array:
    return place.sum(position_fn, k) / place.tied


def at_ranks(position_fn: PositionFn, ranks: jax.Array, k: Cut) -> jax.Array:
    """Returns `position_fn(ranks)`, and 0 at ranks beyond k.

    A `position_fn` that returns a scalar gives this value to every rank.
    """
    values = jnp.broadcast_to(
        arithmetic.as_real(position_fn(ranks), ranks.dtype), ranks.shape
    )
    if k is None:
        return values
    return jnp.where(is_within(ranks, k), values, jnp.zeros_like(values))


def at_first_ranks(
    position_fn: PositionFn, ranks: int, k: Cut, dtype: DTypeLike, axes: int
) -> jax.Array:
    """Returns `at_ranks` for the ranks 1, 2, …, up to `FEW_RANKS`, along the last axis.

    Args:
        position_fn: A function of ranks.
        ranks: The number of ranks.
        k: The cutoff, which broadcasts with `axes` axes.
        dtype: The dtype of the values.
        axes: The number of axes of the result.
    """
    shape = (1,) * (axes - 1) + (ranks,)
    values = _values(position_fn, ranks, jnp.dtype(dtype)).reshape(shape)
    rank = np.arange(1, ranks + 1, dtype=dtype).reshape(shape)
    if isinstance(k, int):
        values = np.where(rank <= k, values, np.zeros_like(values))
    if not isinstance(k, jax.Array):
        return jnp.asarray(values)
    return jnp.where(is_within(jnp.asarray(rank), k), values, 0)


def is_within(ranks: jax.Array, k: Cut) -> jax.Array | bool:
    """True for each rank that is at most k, bool; the Python bool True if k is None."""
    if k is None:
        return True
    return ranks <= (k if isinstance(k, int) else k.astype(ranks.dtype))


def sum_of_one(above: jax.Array) -> PlaceSum:
    """Returns a `PlaceSum` for places of one rank each, above + 1; `above` is float."""
    return lambda position_fn, k: at_ranks(position_fn, above + 1, k)


def sum_of_first(ranks: int, dtype: DTypeLike, axes: int) -> PlaceSum:
    """Returns a `PlaceSum` for places of the single ranks 1, 2, …; see `at_first_ranks`."""
    return lambda position_fn, k: at_first_ranks(position_fn, ranks, k, dtype, axes)


def sum_of_many(
    above: jax.Array, tied: jax.Array, ranks: int, dtype: DTypeLike
) -> PlaceSum:
    """Returns a `PlaceSum` for places of any number of ranks, from prefix sums.

    Args:
        above: int32, as in `Place`.
        tied: int32, as in `Place`.
        ranks: The largest rank there can be, static.
        dtype: The dtype of the sums.
    """
    end = above + tied

    def end_within(k: Cut) -> jax.Array:
        if k is None:
            return end
        return jnp.minimum(end, k if isinstance(k, int) else k.astype(end.dtype))

    @functools.cache
    def read(position_fn: PositionFn, table: int) -> tuple[_Pair, _Pair, _Pair]:
        prefix = _prefix(position_fn, table, jnp.dtype(dtype))
        return prefix, _read(prefix, above), _read(prefix, end)

    def place_sum(position_fn: PositionFn, k: Cut) -> jax.Array:
        max_rank = min(ranks, k) if isinstance(k, int) else ranks
        if max_rank <= FEW_RANKS:
            return _sum_of_few(position_fn, above, end_within(k), max_rank, dtype)
        if position_fn is gains.reciprocal_discount:
            return _sum_of_reciprocals(above, end_within(k), dtype)
        # The sum over the ranks above + 1 … end is W(end) − W(above), where each prefix sum
        # W is a pair of floats. All cutoffs share both terms; W(end) is replaced only for
        # places that a cutoff splits.
        table = min(ranks, _table_length(max_rank), _TABLE)
        prefix, to_above, to_end = read(position_fn, table)
        sums, stop = _difference(to_end, to_above), end
        if k is not None:
            cutoff = k.astype(jnp.int32) if isinstance(k, jax.Array) else max_rank
            to_cutoff = _difference(_read(prefix, cutoff), to_above)
            parted = jnp.where(above < cutoff, to_cutoff, 0)
            sums = jnp.where(end <= cutoff, sums, parted)
            stop = end_within(k)
        if max_rank > table:
            start = jnp.maximum(above, table)
            sums = sums + _sum_beyond_table(position_fn, start, stop, dtype)
        return sums

    return place_sum


def _sum_of_few(
    position_fn: PositionFn,
    above: jax.Array,
    end: jax.Array,
    max_rank: int,
    dtype: DTypeLike,
) -> jax.Array:
    """Sums over the ranks above + 1 … end that are at most `max_rank`."""
    values = _values(position_fn, max_rank, jnp.dtype(dtype))
    by_comparisons = functools.partial(_sum_by_comparisons, values)
    if arithmetic.is_small(above, max_rank):
        return by_comparisons(above, end)
    on_cpu = functools.partial(few_ranks_cpu.sum_of_few, values)
    return lax.platform_dependent(above, end, cpu=on_cpu, default=by_comparisons)


def _sum_by_comparisons(
    values: np.ndarray, above: jax.Array, end: jax.Array
) -> jax.Array:
    """Compares each rank with both bounds.

    Compilers fuse this with the code that reads the sum. From a table, an accelerator would
    gather the sums one by one.
    """
    # The axis of ranks comes first, so that compilers vectorise over items.
    values = values.reshape(-1, *(1,) * above.ndim)
    rank = np.arange(1, len(values) + 1, dtype=np.int32).reshape(values.shape)
    is_inside = (above[None] < rank) & (rank <= end[None])
    return jnp.sum(jnp.where(is_inside, values, np.zeros_like(values)), axis=0)


# Up to this rank, reciprocals are added up one by one: in single and in double precision.
_FIRST_RECIPROCALS = (8, 32)


def _sum_of_reciprocals(
    above: jax.Array, end: jax.Array, dtype: DTypeLike
) -> jax.Array:
    """Sums 1 / rank over the ranks above + 1 … end to float precision, without a table.

    Beyond the first ranks, the sum over a + 1 … b is the integral of 1/x from a + ½ to
    b + ½, with four terms of the Euler–Maclaurin series for midpoints.
    """
    first = _FIRST_RECIPROCALS[jnp.dtype(dtype).itemsize > 4]
    near = _sum_of_few(gains.reciprocal_discount, above, end, first, dtype)
    above = jnp.maximum(above, first)
    number = jnp.maximum(end - above, 0).astype(dtype)
    return near + sum_of_far_reciprocals(above.astype(dtype) + 0.5, number)


def sum_of_far_reciprocals(start: jax.Array, number: jax.Array) -> jax.Array:
    """Sums 1 / rank over `number` ranks, the first of them start + ½; both are floats.

    The sum is exact to float32 from rank 9 on, and to float64 from rank 33 on.
    """
    stop = start + number

    def correction(x: jax.Array) -> jax.Array:
        u = 1 / (x * x)
        return u * (1 / 24 - u * (7 / 960 - u * (31 / 8064 - u * (127 / 30720))))

    return jnp.log1p(number / start) + (correction(stop) - correction(start))


def _read(prefix: _Pair, ranks: jax.Array | int) -> _Pair:
    """Reads a table at ranks; ranks beyond its end read the last entry."""
    last = len(prefix[0]) - 1
    if isinstance(ranks, int):
        return tuple(part[min(ranks, last)] for part in prefix)
    ranks = jnp.minimum(ranks, last)
    mode = "promise_in_bounds"
    return tuple(jnp.asarray(part).at[ranks].get(mode=mode) for part in prefix)


def _difference(upper: _Pair, lower: _Pair) -> jax.Array:
    """Subtracts floats in two parts; the difference is rounded once."""
    high, low = (above - below for above, below in zip(upper, lower, strict=True))
    return jnp.asarray(high) + low


@functools.lru_cache(maxsize=64)
def _prefix(position_fn: PositionFn, ranks: int, dtype: jnp.dtype) -> _Pair:
    """Sums `position_fn` over the first 0, 1, 2, … ranks, `[ranks + 1]`.

    Values are computed in `dtype`, as in any other program, and added up in float64 by
    NumPy while tracing.
    """
    values = _values(position_fn, ranks, dtype).astype(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    high = sums.astype(dtype)
    return high, (sums - high.astype(np.float64)).astype(dtype)


def _values(position_fn: PositionFn, ranks: int, dtype: jnp.dtype) -> np.ndarray:
    """Returns `position_fn` of the ranks 1, 2, …, `ranks`, computed while tracing."""
    return _table(position_fn, _table_length(ranks), dtype)[:ranks]


def _table_length(ranks: int) -> int:
    """Rounds up to one of a few lengths, so that few tables are computed."""
    return min([length for length in _LENGTHS if length >= ranks] or [_TABLE])


@functools.lru_cache(maxsize=64)
def _table(position_fn: PositionFn, length: int, dtype: jnp.dtype) -> np.ndarray:
    rank = np.arange(1, length + 1, dtype=dtype)
    values = constant(lambda rank: at_ranks(position_fn, rank, None), rank)
    if values is None:
        raise TypeError(
            "a function of ranks reads traced values, but it must return constants, which "
            "are computed while tracing; let it read Python numbers or NumPy arrays only"
        )
    return values


def _sum_beyond_table(
    position_fn: PositionFn, start: jax.Array, end: jax.Array, dtype: DTypeLike
) -> jax.Array:
    """Sums over the ranks start + 1 … end, `_STEP` ranks at a time."""
    steps = jnp.arange(_STEP, dtype=jnp.int32).reshape((1,) * start.ndim + (_STEP,))
    max_length = jnp.max(end - start, initial=0)

    def add_step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        offset, sums = state
        rank = start[..., None] + offset + steps + 1
        values = at_ranks(position_fn, rank.astype(dtype), None)
        values = jnp.where(rank <= end[..., None], values, jnp.zeros_like(values))
        return offset + _STEP, sums + jnp.sum(values, axis=-1)

    # The carry must vary over the same mesh axes as the sums (inside shard_map).
    zeros = meshes.match_varying(jnp.zeros(end.shape, dtype), (start, end))
    return lax.while_loop(
        lambda state: state[0] < max_length,
        add_step,
        (jnp.zeros_like(max_length), zeros),
    )[1]
