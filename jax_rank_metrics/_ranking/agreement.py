"""How the order by scores agrees with the order by a value of the items."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._places import pairs as _pairs
from jax_rank_metrics._ranking.items import ItemFn, item_values
from jax_rank_metrics._ranking.parts import Held, Parts
from jax_rank_metrics._ranking.sums import check_unlisted


class Pairs(NamedTuple):
    """Pairs of items of which one has the larger value, `[*lists]` floats each.

    In how many the larger value has the better score, in how many scores tie, how many
    there are in all, and in how many the larger value has the worse score.
    """

    in_order: jax.Array
    tied: jax.Array
    total: jax.Array
    opposed: jax.Array


def pairs(ranking: Parts, length: jax.Array, value_fn: ItemFn) -> Pairs:
    """See `Ranking.pairs`."""
    held, values, by_value = _valued(ranking, value_fn)
    axis = held.axis
    start, end = _ends(ranking, held)
    first = _arithmetic.iota(start) - axis.offset_in_list(start)
    first = jnp.broadcast_to(first, start.shape)
    above, until = _pairs.smaller(by_value.level, first, start, end + 1)
    tied = until - above
    if ranking._holds_only_relevant:
        # All items beside those held are worth nothing.
        over, beside = _places(ranking, held)
        above = above + over - (start - first)
        tied = tied + beside - (end - start + 1)
    total = axis.broadcast_to_items(length) - by_value.above - by_value.tied

    def add(x: jax.Array) -> jax.Array:
        return axis.sum(jnp.where(values > 0, x, 0).astype(ranking._dtype))

    return Pairs(add(total - above - tied), add(tied), add(total), add(above))


class Products(NamedTuple):
    """Of the mean ranks of items by score and by value: sums, `[*lists]` floats each.

    Of the products of both, each less its mean, and of the squares of either.
    """

    both: jax.Array
    by_score: jax.Array
    by_value: jax.Array


def products(ranking: Parts, length: jax.Array, value_fn: ItemFn) -> Products:
    """See `Ranking.rank_products`."""
    check_unlisted(ranking, lambda items: jnp.ones_like(items.labels))
    held, _, by_value = _valued(ranking, value_fn)
    axis, dtype, exists = held.axis, ranking._dtype, held.items.exists
    middle = axis.broadcast_to_items((length.astype(dtype) + 1) / 2)

    def centred(above: jax.Array, tied: jax.Array) -> jax.Array:
        rank = above.astype(dtype) + (tied.astype(dtype) + 1) / 2
        return jnp.where(exists, rank - middle, 0)

    one = centred(*_places(ranking, held))
    two = centred(by_value.above, by_value.tied)
    return Products(axis.sum(one * two), axis.sum(one * one), axis.sum(two * two))


def _valued(ranking: Parts, value_fn: ItemFn) -> tuple[Held, jax.Array, _pairs.ByValue]:
    """The items held, what each is worth, and their places by that."""
    if ranking._is_soft:
        raise ValueError(
            "this metric compares pairs of items, which soft places do not tell; leave "
            "relax out"
        )
    held = ranking._held_to((None,))
    check_unlisted(ranking, value_fn)
    values = item_values(value_fn, held.items, ranking._dtype)
    make = lambda: _pairs.by_value(held.axis, values, held.items.exists)  # noqa: E731
    return held, values, ranking._once(("by value", value_fn), make)


def _ends(ranking: Parts, held: Held) -> tuple[jax.Array, jax.Array]:
    """Where the tie group of each item starts and ends among those held, int32."""
    exists = held.items.exists
    if ranking._grouped and (held.keys is not None or held.group is not None):
        runs = ranking._tie_runs(held)
        return runs.start, runs.end
    place = jnp.broadcast_to(_arithmetic.iota(exists), exists.shape)
    return place, place


def _places(ranking: Parts, held: Held) -> tuple[jax.Array, jax.Array]:
    """Above and tied of each item, int32."""
    if ranking._grouped and held.group is not None:
        return held.group
    start, end = _ends(ranking, held)
    here = held.axis.offset_in_list(start) if held.above is None else held.above
    return here - (_arithmetic.iota(start) - start), end - start + 1
