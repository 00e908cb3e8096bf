"""A full sort by several keys."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.ordering import sort_cpu
from jax_rank_metrics._ground import arithmetic


def sort_by(
    keys: Sequence[jax.Array],
    payload: Sequence[jax.Array] = (),
    last_is_hash: bool = False,
) -> tuple[jax.Array, ...]:
    """Sorts the last axis by descending keys; the sort is stable.

    Args:
        keys: Integers `[*lists, items]`, the most significant key first.
        payload: Arrays of the same shape.
        last_is_hash: True if the last key is a hash that breaks ties.

    Returns:
        The first key in sorted order, the index from which every item came, and the payload
        in sorted order.
    """
    if keys[0].shape[-1] == 1:
        return (keys[0], jnp.zeros(keys[0].shape, jnp.int32), *payload)
    # The complement of a key ascends when the key descends. Unlike the negative of a key,
    # it does so for the least integer too.
    ascending = [~key for key in keys]

    def by_one_operand(*operands: jax.Array) -> tuple[jax.Array, ...]:
        keys, payload = operands[: len(ascending)], operands[len(ascending) :]
        first, indices = sort_cpu.order(keys, last_is_hash)
        return first, indices, *(arithmetic.take(array, indices) for array in payload)

    def by_all_operands(*operands: jax.Array) -> tuple[jax.Array, ...]:
        keys, payload = operands[: len(ascending)], operands[len(ascending) :]
        indices = lax.broadcasted_iota("int32", keys[0].shape, keys[0].ndim - 1)
        operands = (*keys, indices, *payload)
        # Indices are the last key, which makes an unstable sort stable.
        ranked = lax.sort(operands, num_keys=len(keys) + 1, is_stable=False)
        return (ranked[0], *ranked[len(keys) :])

    if all(key.dtype == "int32" for key in ascending):
        ranked = lax.platform_dependent(
            *ascending, *payload, cpu=by_one_operand, default=by_all_operands
        )
    else:
        ranked = by_all_operands(*ascending, *payload)
    return (~ranked[0], *ranked[1:])
