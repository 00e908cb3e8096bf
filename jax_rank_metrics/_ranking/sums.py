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
from jax_rank_metrics._places import groups
from jax_rank_metrics._places.place import Place
from jax_rank_metrics._ranking.items import ItemFn, item_predicate, item_values
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
    held, dtype = ranking._held_to(ks), ranking._dtype
    check_unlisted(ranking, item_fn)
    unlisted = [bool(_of_unlisted(ranking, fn)) for fn in counting]
    axis, exists = held.axis, held.items.exists
    cuts = [axis.broadcast_to_items(k) if isinstance(k, jax.Array) else k for k in ks]
    spread = [axis.broadcast_to_items(x) for x in per_list]
    value = item_values(item_fn, held.items, dtype)
    counted = [item_predicate(fn, held.items) for fn in counting]
    for i, other in enumerate(unlisted):
        if other:
            counted[i] = _arithmetic.widen(exists, counted[i]) & ~counted[i]

    alone = not ranking._grouped or (held.keys is None and held.group is None)
    is_few = held.group is not None or (
        held.keys is not None
        and groups.is_few(held.keys.shape[-1])
        and not isinstance(axis, Packed)
    )
    runs = None if alone or is_few else ranking._tie_runs(held)
    running, tied = [], None
    if held.soft is None and (alone or not is_few):
        running = [
            ranking._once(("running", fn), partial(_running, held, x))
            for fn, x in zip(counting, counted, strict=True)
        ]
    if not alone and ranking._straddle is not None:
        if most:
            raise ValueError(
                "expected_max of tied items needs them all, but this ranking is cut and "
                "may lack some of those that tie at its end; pass k=None to the call that "
                "made it"
            )
        number, totals = ranking._straddling_group((item_fn, *counting))
        tied = number, totals[item_fn], [totals[fn] for fn in counting]

    def core(value: jax.Array, counted: Any, running: Any, tied: Any) -> jax.Array:
        trailing = value.ndim - exists.ndim

        def total(place: Place, value: jax.Array = value) -> jax.Array:
            place = _with_unlisted(place, unlisted)
            sums = []
            for k in cuts:
                at = _arithmetic.widen(place_fn(place, k, *spread), value)
                terms = value * at.astype(value.dtype)
                sums.append(axis.max(terms) if most else axis.sum(terms, trailing))
            return jnp.stack(sums, axis=ranking._list_exists.ndim)

        line = groups.Line(axis, exists, tuple(counted), running, dtype)
        if held.soft is not None:
            soft = held.soft
            return total(ranking._once(("soft", counting), lambda: soft.place(line)))
        if alone:
            return total(groups.definite(line, held.above))
        if held.group is not None:
            group = groups.of_counted(line, *held.group)
            return total(group.place_of_many(dtype, held.ranks))
        if runs is not None and tied is None:
            return groups.of_runs(line, runs, held.ranks, total)
        assert held.keys is not None
        if runs is None:
            group = groups.of_few(line, held.keys)
        else:
            group = groups.of_many(line, runs)
        if tied is not None:
            group, value = _with_straddling(ranking, held, group, value, *tied)
        return total(group.place_of_many(dtype, held.ranks), value)

    # Whatever has axes of its own at the end is seen one by one; keys and runs are shared.
    run, items, lists = core, exists.ndim, ranking._list_exists.ndim
    for own in range(max((x.ndim - items for x in counted), default=0), 0, -1):
        axes = (*_axes((value, counted, running), items, own), _axes(tied, lists, own))
        run = jax.vmap(run, in_axes=axes, out_axes=lists + 1)
    return run(value, counted, running, tied)


def _axes(arrays: Any, first: int, own: int) -> Any:
    """For `vmap`: the place `first` where an array has so many axes from there on."""
    return jax.tree.map(lambda x: first if x.ndim - first >= own else None, arrays)


def _running(held: Held, holds: jax.Array) -> groups.Counted:
    """What holds along the items held, for each of the axes that it has at the end."""
    count, items = partial(groups.counted, held.axis), held.items.exists.ndim
    for _ in range(holds.ndim - items):
        count = jax.vmap(count, in_axes=items, out_axes=items)
    return count(holds)


def _with_straddling(
    ranking: Parts,
    held: Held,
    group: groups.Group,
    value: jax.Array,
    tied: jax.Array,
    of_group: jax.Array,
    counted: Sequence[jax.Array],
) -> tuple[groups.Group, jax.Array]:
    """Groups and worth where the last rank's group may hold items without a rank.

    The last item then stands for all of its group: how many they are, what they are
    worth, and how many of them hold each predicate.
    """
    assert ranking._straddle is not None and held.keys is not None
    here = ranking._straddle.lists[..., None]
    across = here & held.items.exists & (held.keys == held.keys[..., -1:])
    last = here & (_arithmetic.iota(held.keys) == held.keys.shape[-1] - 1)
    value = jnp.where(_arithmetic.widen(across, value), 0, value)
    of_group = jnp.expand_dims(of_group.astype(value.dtype), ranking._list_exists.ndim)
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
    if not ranking._holds_only_relevant:
        return 0.0
    assert ranking._held is not None
    columns: dict[str, Any] = {
        name: jnp.zeros((1, *x.shape[ranking._list_exists.ndim + 1 :]), x.dtype)
        for name, x in ranking._held.items.columns.items()
    }
    with jax.ensure_compile_time_eval():
        labels, exists = jnp.zeros((1,), ranking._dtype), jnp.ones((1,), bool)
        value = item_values(
            item_fn, ItemArrays(labels, exists, None, columns), ranking._dtype
        )
        return 0.0 if isinstance(value, Tracer) else float(jnp.max(jnp.abs(value)))
