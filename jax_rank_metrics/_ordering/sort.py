"""Full order by several keys."""

from collections.abc import Sequence

import jax
from jax import lax

from jax_rank_metrics import _arithmetic
from jax_rank_metrics._ordering import sort_cpu


def sort_by(
    levels: Sequence[jax.Array],
    payload: Sequence[jax.Array] = (),
    hashed: bool = False,
) -> tuple[jax.Array, ...]:
    """Sorts lists by falling keys, stable.

    Args:
        levels: Integers `[*lists, items]`, the first key first.
        payload: Arrays of the same shape.
        hashed: Whether the last key is a hash that breaks ties.

    Returns:
        The first key in order, the place that every item came from, and the payload.
    """
    # Ascending in ~key is descending in key, for the least integer too.
    keys = [~level for level in levels]

    def by_each(*operands: jax.Array) -> tuple[jax.Array, ...]:
        keys, payload = operands[: len(levels)], operands[len(levels) :]
        first, places = sort_cpu.order(keys, hashed)
        return (first, places, *(_arithmetic.take(x, places) for x in payload))

    def together(*operands: jax.Array) -> tuple[jax.Array, ...]:
        keys, payload = operands[: len(levels)], operands[len(levels) :]
        places = lax.broadcasted_iota("int32", keys[0].shape, keys[0].ndim - 1)
        operands = (*keys, places, *payload)
        ranked = lax.sort(operands, num_keys=len(keys) + 1, is_stable=False)
        return (ranked[0], *ranked[len(keys) :])

    if all(key.dtype == "int32" for key in keys):
        ranked = lax.platform_dependent(*keys, *payload, cpu=by_each, default=together)
    else:
        ranked = together(*keys, *payload)
    return (~ranked[0], *ranked[1:])
