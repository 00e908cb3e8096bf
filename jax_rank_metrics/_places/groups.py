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


class Line(NamedTuple):
    """Items in order, list after list, and what to count among them."""

    layout: Any  # a RankedLayout
    exists: jax.Array
    counting: tuple[jax.Array, ...]  # bools
    dtype: Any

    def running(self) -> list[tuple[jax.Array, jax.Array]]:
        """For each predicate, how many hold it before an item, and up to it."""
        counts = []
        for holds in self.counting:
            until = self.layout.running_count(holds)
            counts.append((until - holds.astype(jnp.int32), until))
        return counts


def definite(line: Line, above: jax.Array | None) -> Place:
    """Every item alone; `above` int32, None where items follow each other."""
    place = line.layout.above(line.exists) if above is None else above
    counted_above = tuple(before for before, _ in line.running())
    counted_tied = tuple(holds.astype(jnp.int32) for holds in line.counting)
    group = Group(place, jnp.ones_like(place), counted_above, counted_tied)
    return group.place(line.dtype, sum_of_one(place.astype(line.dtype)))


def of_runs(line: Line, keys: jax.Array, ranks: int, then: Callable[[Place], T]) -> T:
    """`then(place)` of items whose equal keys are neighbours.

    Where no run is longer than two, which is what random floats give, places come from
    the two neighbours.

    Args:
        line: The items.
        keys: What ranked them.
        ranks: How many ranks there are at most, static.
        then: Gives what is small; it is compiled twice.
    """
    same, after = _neighbours(line, keys)
    return lax.cond(
        _mesh.unvmap_any(same & after),
        lambda: then(_long_runs(line, same, after).place_of_many(line.dtype, ranks)),
        lambda: then(_short_runs(line, same, after)),
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


def of_many(line: Line, keys: jax.Array) -> Group:
    """The groups of items whose equal keys are neighbours, by one way for all."""
    return _long_runs(line, *_neighbours(line, keys))


def of_counted(line: Line, above: jax.Array, tied: jax.Array) -> Group:
    """The groups of a few items in order whose places were counted."""
    return of_few(line, above)._replace(above=above, tied=tied)


def is_few(items: int) -> bool:
    """Whether `of_few` pays."""
    return items <= _PAIRS


def runs(line: Line, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Where the run of equal keys that an item is in starts and ends, int32."""
    return _ends(*_neighbours(line, keys))


def _neighbours(line: Line, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Which items tie with the one before them, and which with the one after."""
    same = line.layout.joined((keys[..., 1:] == keys[..., :-1]) & line.exists[..., 1:])
    # One too many where there are no items.
    same = same[..., : keys.shape[-1]]
    return same, _shifted(same, -1)


def _shifted(x: jax.Array, by: int) -> jax.Array:
    """Every item's neighbour before it (1) or after it (-1); 0 beyond the ends."""
    return lax.pad(
        x, jnp.zeros((), x.dtype), [*[(0, 0, 0)] * (x.ndim - 1), (by, -by, 0)]
    )


def _short_runs(line: Line, same: jax.Array, after: jax.Array) -> Place:
    """Places where no group is larger than two."""
    second, first = same.astype(jnp.int32), after.astype(jnp.int32)
    here = line.layout.above(line.exists)
    counted_above, counted_tied = [], []
    for holds, (before, _) in zip(line.counting, line.running(), strict=True):
        holds = holds.astype(jnp.int32)
        left, right = _shifted(holds, 1), _shifted(holds, -1)
        counted_above.append(before - second * left)
        counted_tied.append(holds + second * left + first * right)
    group = Group(
        here - second, 1 + second + first, tuple(counted_above), tuple(counted_tied)
    )
    add = sum_of_two(here.astype(line.dtype) + 1, same, same | after)
    return group.place(line.dtype, add)


def _long_runs(line: Line, same: jax.Array, after: jax.Array) -> Group:
    """Groups of any size, by pointers that jump until nothing moves."""
    start, end = _ends(same, after)
    above = line.layout.above(line.exists) - (_arithmetic.iota(same) - start)
    counted_above, counted_tied = [], []
    for before, until in line.running():
        counted_above.append(_arithmetic.take(before, start))
        counted_tied.append(_arithmetic.take(until, end) - counted_above[-1])
    return Group(above, end - start + 1, tuple(counted_above), tuple(counted_tied))


def _ends(same: jax.Array, after: jax.Array) -> tuple[jax.Array, jax.Array]:
    place = jnp.broadcast_to(_arithmetic.iota(same), same.shape)
    start = _jump(place - same.astype(jnp.int32))
    return start, _jump(place + after.astype(jnp.int32))


def _jump(pointer: jax.Array) -> jax.Array:
    def moves(state: tuple[jax.Array, jax.Array]) -> jax.Array:
        pointer, before = state
        return _mesh.unvmap_any(pointer != before)

    def jump(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        pointer, _ = state
        return _arithmetic.take(pointer, pointer), pointer

    return lax.while_loop(moves, jump, (_arithmetic.take(pointer, pointer), pointer))[0]


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
