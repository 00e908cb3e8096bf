"""Some of the lists, looked at apart from all others."""

import math
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _devices, _ordering
from jax_rank_metrics._rows import Rows

T = TypeVar("T")
Lists = TypeVar("Lists")

# How many items are looked at in one step.
_ONE_LOOK = 65_536


def at_once(lists: tuple[int, ...], items: int) -> int | None:
    """How many lists to look at in one step; None if they are all few enough for one.

    Also where their number is not known yet, as in an export for any number.
    """
    if not all(isinstance(size, int) for size in (*lists, items)):
        return None
    several = max(_ONE_LOOK // max(items, 1), 1)
    return several if several < math.prod(lists) else None


def replaced(
    totals: T,
    where: jax.Array,
    read: Callable[[Lists], T],
    lists: Lists,
    several: int,
) -> T:
    """`totals`, with those of some lists as `read` finds them.

    Args:
        totals: Of all lists, a pytree of arrays `[*lists, …]`.
        where: `[*lists]` bool, which lists to read.
        read: Gives the totals of lists as rows.
        lists: A pytree of arrays `[*lists, …]` and of `Rows`.
        several: How many of them to read in one step.
    """
    number = where.size
    order = jnp.flatnonzero(where, size=number, fill_value=number).astype(jnp.int32)

    def step(state: tuple[jax.Array, T]) -> tuple[jax.Array, T]:
        begin, found = state
        # At the end it goes back a little, to lists that it has read already.
        chosen = lax.dynamic_slice_in_dim(order, begin, several)
        more = read(_taken(lists, chosen, where.ndim))
        return begin + several, jax.tree.map(
            lambda x, y: x.at[chosen].set(y, mode="drop"), found, more
        )

    flat = jax.tree.map(lambda x: x.reshape(number, *x.shape[where.ndim :]), totals)
    flat = _devices.varying_as(flat, (where, lists))
    end = _ordering.count(where.reshape(-1))
    state = (jnp.zeros_like(end), flat)  # typed like the end, as devices may differ
    flat = lax.while_loop(lambda state: state[0] < end, step, state)[1]
    return jax.tree.map(lambda x, y: x.reshape(y.shape), flat, totals)


def _taken(lists: Lists, chosen: jax.Array, axes: int) -> Lists:
    """Some of the lists, as rows. There may be none of that number."""

    def take(x: jax.Array) -> jax.Array:
        x = x.reshape(-1, *x.shape[axes:])
        return x.at[chosen].get(mode="clip")

    def rows(x: Rows | jax.Array) -> Rows | jax.Array:
        if isinstance(x, Rows):
            return Rows(jax.tree.map(take, x.given), chosen)
        return take(x)

    return jax.tree.map(rows, lists, is_leaf=lambda x: isinstance(x, Rows))
