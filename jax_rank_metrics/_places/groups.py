"""The places of items in order, from runs of equal keys."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._places.place import Place, sum_of_many, sum_of_one, sum_of_two
from jax_rank_metrics._types import Cut, PositionFn

T = TypeVar("T")

# Up to so many ranks, all pairs of them are compared.
_PAIRS = 32


class Group(NamedTuple):
    """The tie group of each of some items, int32, broadcasting with them."""

    above: jax.Array
    tied: jax.Array
    counted_above: tuple[jax.Array, ...]
    counted_tied: tuple[jax.Array, ...]

    def place(self, dtype: Any, add: Callable[[PositionFn, Cut], jax.Array]) -> Place:
        """The same as a formula sees it; `add` is one of the sums over a place."""
        place = jax.tree.map(lambda x: x.astype(dtype), self)
        tied = jnp.maximum(place.tied, 1)
        return Place(place.above, tied, place.counted_above, place.counted_tied, add)

    def place_of_many(self, dtype: Any, ranks: int) -> Place:
        """The same, whatever the size of the groups."""
        return self.place(dtype, sum_of_many(self.above, self.tied, ranks, dtype))


class Counted(NamedTuple):
    """For each item, how many before it in its list hold a predicate, and up to it."""

    before: jax.Array
    until: jax.Array


class Line(NamedTuple):
    """Items in order, list after list, and what to count among them."""

    layout: Any  # a RankedLayout
    exists: jax.Array
    counting: tuple[jax.Array, ...]  # bools
    running: Sequence[Counted]  # the same along the line; not read of a few items
    dtype: Any


class Runs(NamedTuple):
    """Runs of items of equal keys, `[*lists, items]` each.

    Whether an item ties with the one before it, with the one after it, and at which
    places its run starts and ends.
    """

    same: jax.Array
    after: jax.Array
    start: jax.Array
    end: jax.Array

    @property
    def some_long(self) -> jax.Array:
        """Whether any is longer than two."""
        return _mesh.unvmap_any(self.same & self.after)


def counted(layout: Any, holds: jax.Array) -> Counted:
    """What holds along the items of a layout."""
    until = layout.cumulative_count(holds)
    return Counted(until - holds.astype(jnp.int32), until)


def runs(layout: Any, exists: jax.Array, keys: jax.Array) -> Runs:
    """The runs of items whose equal keys are neighbours.

    By pointers that jump until nothing moves; where no run is longer than two, which is
    what random floats give, nothing has to.
    """
    same = layout.continues_run((keys[..., 1:] == keys[..., :-1]) & exists[..., 1:])
    # One too many where there are no items.
    same = same[..., : keys.shape[-1]]
    after = _arithmetic.shifted(same, -1)
    place = jnp.broadcast_to(_arithmetic.iota(same), same.shape)
    ends = (place - same.astype(jnp.int32), place + after.astype(jnp.int32))

    def jump(state: Any) -> Any:
        _, (start, end) = state
        new = _arithmetic.take(start, start), _arithmetic.take(end, end)
        return _mesh.unvmap_any((new[0] != start) | (new[1] != end)), new

    state = (_mesh.unvmap_any(same & after), ends)
    return Runs(same, after, *lax.while_loop(lambda state: state[0], jump, state)[1])


def definite(line: Line, above: jax.Array | None) -> Place:
    """Every item alone; `above` int32, None where items follow each other."""
    place = line.layout.offset_in_list(line.exists) if above is None else above
    counted_above = tuple(before for before, _ in line.running)
    counted_tied = tuple(holds.astype(jnp.int32) for holds in line.counting)
    group = Group(place, jnp.ones_like(place), counted_above, counted_tied)
    return group.place(line.dtype, sum_of_one(place.astype(line.dtype)))


def of_runs(line: Line, runs: Runs, ranks: int, then: Callable[[Place], T]) -> T:
    """`then(place)` of items in runs.

    Where no run is longer than two, places come from the two neighbours.

    Args:
        line: The items.
        runs: Which of them tie.
        ranks: How many ranks there are at most, static.
        then: Gives what is small; it is compiled twice.
    """
    return lax.cond(
        runs.some_long,
        lambda: then(of_many(line, runs).place_of_many(line.dtype, ranks)),
        lambda: then(_short_runs(line, runs)),
    )


def of_few(line: Line, keys: jax.Array) -> Group:
    """The groups of a few items in order, by comparing all pairs."""

    # Lists come last, so that compilers count by vectors of them.
    def here(x: jax.Array) -> jax.Array:
        return jnp.moveaxis(x, -1, 0)[:, None]

    def there(x: jax.Array) -> jax.Array:
        return jnp.moveaxis(x, -1, 0)[None, :]

    def count(x: jax.Array) -> jax.Array:
        return jnp.moveaxis(jnp.sum(x, axis=1, dtype=jnp.int32), 0, -1)

    same = (here(keys) == there(keys)) & here(line.exists) & there(line.exists)
    place = jnp.broadcast_to(_arithmetic.iota(keys), keys.shape)
    above = there(line.exists) & (there(place) < here(place)) & ~same
    counted = [
        tuple(count(which & there(holds)) for holds in line.counting)
        for which in (above, same)
    ]
    return Group(count(above), count(same), *counted)


def of_many(line: Line, runs: Runs) -> Group:
    """The groups of many items in order, whatever their size."""
    start, end = runs.start, runs.end
    above = line.layout.offset_in_list(line.exists) - (_arithmetic.iota(start) - start)
    counted_above = [_arithmetic.take(before, start) for before, _ in line.running]
    counted_tied = [
        _arithmetic.take(until, end) - above
        for (_, until), above in zip(line.running, counted_above, strict=True)
    ]
    return Group(above, end - start + 1, tuple(counted_above), tuple(counted_tied))


def of_counted(line: Line, above: jax.Array, tied: jax.Array) -> Group:
    """The groups of a few items in order whose places were counted."""
    return of_few(line, above)._replace(above=above, tied=tied)


def is_few(items: int) -> bool:
    """Whether `of_few` pays."""
    return items <= _PAIRS


def _short_runs(line: Line, runs: Runs) -> Place:
    """Places where no group is larger than two."""
    second, first = runs.same.astype(jnp.int32), runs.after.astype(jnp.int32)
    here = line.layout.offset_in_list(line.exists)
    counted_above, counted_tied = [], []
    for holds, (before, _) in zip(line.counting, line.running, strict=True):
        holds = holds.astype(jnp.int32)
        left, right = _arithmetic.shifted(holds, 1), _arithmetic.shifted(holds, -1)
        counted_above.append(before - second * left)
        counted_tied.append(holds + second * left + first * right)
    group = Group(
        here - second, 1 + second + first, tuple(counted_above), tuple(counted_tied)
    )
    add = sum_of_two(here.astype(line.dtype) + 1, runs.same, runs.same | runs.after)
    return group.place(line.dtype, add)


def with_last(
    group: Group, last: jax.Array, tied: jax.Array, counted: Sequence[jax.Array]
) -> Group:
    """Groups in which the last item stands for all that tie with it.

    Args:
        group: `[*lists, items]`.
        last: The same shape, bool, which items do.
        tied: `[*lists]`, how many tie with it.
        counted: The same, how many of them hold each predicate.
    """

    def put(x: jax.Array, of_list: jax.Array) -> jax.Array:
        return jnp.where(last, of_list[..., None], x)

    return group._replace(
        tied=put(group.tied, tied),
        counted_tied=tuple(map(put, group.counted_tied, counted)),
    )
