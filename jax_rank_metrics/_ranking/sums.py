"""How `Ranking.expected_sum` is worked out."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._layouts.pools import Weighted
from jax_rank_metrics._places import groups
from jax_rank_metrics._places.place import Place
from jax_rank_metrics._ranking.items import ItemFn, holds, worth
from jax_rank_metrics._ranking.parts import Held, Parts
from jax_rank_metrics._types import Cut


def expected(
    ranking: Parts,
    item_fn: ItemFn,
    place_fn: Callable[..., jax.Array],
    ks: Sequence[Cut],
    counting: Sequence[ItemFn],
    per_list: Sequence[jax.Array],
    most: bool = False,
) -> jax.Array:
    """See `Ranking.expected_sum`, and with `most` `Ranking.expected_max`."""
    held, dtype = ranking.reaching(ks), ranking.dtype
    check_unlisted(ranking, item_fn)
    unlisted = [bool(_of_unlisted(ranking, fn)) for fn in counting]
    axis = held.axis
    value = worth(item_fn, held.items, dtype)
    trailing = value.ndim - held.items.exists.ndim
    cuts = [axis.spread(k) if isinstance(k, jax.Array) else k for k in ks]
    spread = [axis.spread(x) for x in per_list]

    def total(place: Place, value: jax.Array = value) -> jax.Array:
        place = _with_unlisted(place, unlisted)
        sums = []
        for k in cuts:
            at = _arithmetic.widen(place_fn(place, k, *spread), value)
            terms = value * at.astype(value.dtype)
            sums.append(axis.max(terms) if most else axis.sum(terms, trailing))
        return jnp.stack(sums, axis=ranking.counts.ndim)

    exists = held.items.exists
    counted = [holds(fn, held.items) for fn in counting]
    for i, other in enumerate(unlisted):
        counted[i] = exists & ~counted[i] if other else counted[i]

    def running() -> list[groups.Counted]:
        return [
            ranking.once(("running", fn), partial(groups.counted, axis, x))
            for fn, x in zip(counting, counted, strict=True)
        ]

    line = groups.Line(axis, exists, tuple(counted), running, dtype)
    if held.soft is not None:
        soft = held.soft
        return total(ranking.once(("soft", counting), lambda: soft.place(line)))
    if not ranking.grouped or (held.keys is None and held.group is None):
        return total(groups.definite(line, held.above))
    if held.group is not None:
        group = groups.of_counted(line, *held.group)
        return total(group.place_of_many(dtype, held.ranks))
    assert held.keys is not None
    is_few = groups.is_few(held.keys.shape[-1]) and not isinstance(axis, Packed)
    if ranking.straddle is not None:
        if is_few:
            group = groups.of_few(line, held.keys)
        else:
            group = groups.of_many(line, ranking.runs(held))
        group, value = _with_straddling(ranking, held, group, value, item_fn, counting)
        return total(group.place_of_many(dtype, held.ranks), value)
    if is_few:
        return total(groups.of_few(line, held.keys).place_of_many(dtype, held.ranks))
    return groups.of_runs(line, ranking.runs(held), held.ranks, total)


def _with_straddling(
    ranking: Parts,
    held: Held,
    group: groups.Group,
    value: jax.Array,
    item_fn: ItemFn,
    counting: Sequence[ItemFn],
) -> tuple[groups.Group, jax.Array]:
    """Groups and worth where the last rank's group may hold items without a rank.

    The last item then stands for all of its group.
    """
    straddle = ranking.straddle
    assert straddle is not None and held.keys is not None
    last_key = held.keys[..., -1]
    tied, totals = ranking.tied_with_last((item_fn, *counting))
    of_group = totals[item_fn].astype(value.dtype)
    counted = [totals[fn] for fn in counting]
    here = straddle.lists[..., None]
    across = here & held.items.exists & (held.keys == last_key[..., None])
    last = here & (_arithmetic.iota(held.keys) == held.keys.shape[-1] - 1)
    value = jnp.where(_arithmetic.widen(across, value), 0, value)
    of_group = jnp.expand_dims(of_group, ranking.counts.ndim)
    value = jnp.where(_arithmetic.widen(last, value), of_group, value)
    return groups.with_last(group, last, tied, counted), value


def _with_unlisted(place: Place, unlisted: Sequence[bool]) -> Place:
    """A place that counts items not held too, where a predicate holds for these.

    Of the items held, those were counted for which it does not.
    """

    def put(of_all: jax.Array, counted: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        pairs = zip(counted, unlisted, strict=True)
        return tuple(of_all - x if other else x for x, other in pairs)

    return dataclasses.replace(
        place,
        counted_above=put(place.above, place.counted_above),
        counted_tied=put(place.tied, place.counted_tied),
    )


def check_unlisted(ranking: Parts, item_fn: ItemFn) -> None:
    """Raises if items of the label 0 are worth something and have no place here."""
    value = _of_unlisted(ranking, item_fn)
    if value != 0:
        raise ValueError(
            f"an item of the label 0 is worth {value}, but this ranking holds the "
            "relevant items alone; pass a k to the call that made it, or make items of "
            "the label 0 worth 0, as by another gain_fn"
        )


def _of_unlisted(ranking: Parts, item_fn: ItemFn) -> float:
    """What `item_fn` gives for items that have no place here; 0 where all have one."""
    axis = None if ranking.pool is None else ranking.pool.axis
    if not isinstance(axis, Weighted) or axis.ranks is not None:
        return 0.0
    assert ranking.held is not None
    columns: dict[str, Any] = {
        name: jnp.zeros((1, *x.shape[ranking.counts.ndim + 1 :]), x.dtype)
        for name, x in ranking.held.items.columns.items()
    }
    with jax.ensure_compile_time_eval():
        labels, exists = jnp.zeros((1,), ranking.dtype), jnp.ones((1,), bool)
        value = worth(item_fn, ItemArrays(labels, exists, None, columns), ranking.dtype)
        return 0.0 if isinstance(value, Tracer) else float(jnp.max(jnp.abs(value)))
