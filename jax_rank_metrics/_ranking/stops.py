"""How `Ranking.expected_first` is worked out."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics._places import first
from jax_rank_metrics._ranking.items import ItemFn, item_predicate, item_values
from jax_rank_metrics._ranking.parts import Parts
from jax_rank_metrics._ranking.sums import check_unlisted
from jax_rank_metrics._types import Cut, PositionFn


def expected(
    ranking: Parts, stop_fn: ItemFn, position_fn: PositionFn, ks: Sequence[Cut]
) -> tuple[jax.Array, jax.Array]:
    """See `Ranking.expected_first`."""
    if ranking._is_soft:
        raise ValueError(
            "this metric asks for the first item that stops a user, and none of soft "
            "places is the first; leave relax out"
        )
    kind = jax.eval_shape(lambda: stop_fn(ranking._sample_items())).dtype
    if kind != jnp.bool_:
        return _cascade(ranking, stop_fn, position_fn, ks)
    read = first.expected if ranking._grouped else first.definite
    return read(_first(ranking, stop_fn, ks), position_fn, ks, ranking._dtype)


def _first(ranking: Parts, stop_fn: ItemFn, ks: Sequence[Cut]) -> first.First:
    """The best item that stops, among the ranks held or by counting over the pool."""
    held, scored = ranking._held, ranking._scored
    if held is None or (ranking._unreached(ks) and scored is not None):
        assert scored is not None
        return scored.first(ranking._judged_pool(), stop_fn, ranking._grouped)
    held = ranking._held_to(ks)
    stop, axis, exists = (
        item_predicate(stop_fn, held.items),
        held.axis,
        held.items.exists,
    )
    if ranking._grouped and held.group is not None:
        return first.by_places(*held.group, stop)
    if not ranking._grouped or held.keys is None:
        above = axis.offset_in_list(stop) if held.above is None else held.above
        above = -axis.max(jnp.where(stop, -above, -(2**31) + 1))
        return first.alone(above, axis.max(stop.astype(ranking._dtype)) > 0)
    if ranking._straddle is None:
        return first.by_keys(held.keys, exists, stop, axis)
    last_key = held.keys[..., -1]
    tied, totals = ranking._straddling_group((stop_fn,))
    # Where no item above the last group stops, one of that group may.
    key = jnp.maximum(first.best_key(held.keys, stop, axis), last_key)
    found = first.around(held.keys, exists, stop, key, axis)
    across = ranking._straddle.lists & (key == last_key)
    return found._replace(
        tied=jnp.where(across, tied, found.tied),
        stops=jnp.where(across, totals[stop_fn], found.stops),
    )


def _cascade(
    ranking: Parts, stop_fn: ItemFn, position_fn: PositionFn, ks: Sequence[Cut]
) -> tuple[jax.Array, jax.Array]:
    """Stops by chance, in one definite order."""
    if ranking._grouped:
        raise ValueError(
            "stop_fn gives chances, which need one definite order; make the metric with "
            "ties='order'"
        )
    held = ranking._held_to(ks)
    check_unlisted(ranking, stop_fn)
    stop = item_values(stop_fn, held.items, ranking._dtype)
    return first.by_chance(
        stop, held.items.exists, held.above, position_fn, ks, held.axis
    )
