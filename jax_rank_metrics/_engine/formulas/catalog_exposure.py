"""Exposure: how often lists show each item."""

from functools import partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine import ranking
from jax_rank_metrics._engine.formulas import id_lists
from jax_rank_metrics._engine.states.exposure import Exposure
from jax_rank_metrics._ground import arithmetic, gains, inputs, meshes, shards, types
from jax_rank_metrics._values import double_floats


@runtime_checkable
class ShownItems(Protocol):
    """An evaluation that knows the rows of the items that users were shown."""

    shown_rows: Any
    num_items: int


def exposure(
    ids: types.RankedIds | ranking.Ranking | ShownItems,
    num_items: int | None = None,
    discount_fn: types.Discount | None = None,
) -> Exposure:
    """Counts how often each item of a catalogue is in the lists, as a mergeable state.

    The state computes the coverage, Gini index, entropy and personalization of all lists
    together; see `Exposure`. Inside `jax.shard_map`, pass the states to `all_reduce`.

    Args:
        ids: `[*lists, ranks]` integers; ids outside 0 … num_items − 1 are padding. All
            ranks count: pass `ids[..., :k]` for a cutoff. A repeated id counts again. Or
            pass a `Ranking`, whose `items` are read down to its depth. Without a key, tied
            items have the same order in every list, so they share the exposure less evenly
            than in random orders. If a score of the ranking is NaN, all numbers of the
            state are NaN. Or pass the result of `evaluate_users`, or a group of its users;
            the rows of items shown to these users are then read.
        num_items: Number of items of the catalogue, recommended or not; static. None
            takes the number from the evaluation.
        discount_fn: Maps ranks 1, 2, … to multipliers of at least 0, as `log2_discount`
            does: the exposure that each rank gives. Gini index and entropy are then
            computed from the items' sums of multipliers, so that the last of ten
            recommendations counts for less than the first. Padding leaves the list, and
            later ids move up. None counts all ranks equally.

    Raises:
        ValueError: if a ranking has no order, is of packed lists, or was made with
            `ties="expected"`; if an evaluation was made with `keep_lists=False`; if
            `discount_fn` does not return a multiplier for each rank.
        TypeError: if ids are not integers, or `num_items` is not a Python int.

    >>> ids = jnp.array([[0, 1], [0, 2], [-1, -1]])
    >>> state = exposure(ids, num_items=4)
    >>> state.counts.tolist(), int(state.lists), int(state.non_empty)
    ([2, 1, 1, 0], 3, 2)
    >>> state.coverage().item(), state.gini().item(), state.personalization().item()
    (0.75, 0.375, 0.5)

    With 1/rank, the items are exposed 2, 1/2, 1/2 and 0:

    >>> from jax_rank_metrics import reciprocal_discount
    >>> exposure(ids, 4, reciprocal_discount).gini().item()
    0.5
    """
    lists: Any = ids
    if isinstance(ids, ShownItems):
        num_items = ids.num_items if num_items is None else num_items
        if ids.shown_rows is None:
            raise ValueError(
                "ids is an evaluation without lists; leave keep_lists=False out of the "
                "call that made it, or read its .exposure, in which all ranks count equally"
            )
        lists = ids.shown_rows
    num_items = inputs.positive_integer("num_items", num_items)
    items, _ = id_lists.ranked_items("ids", lists, ties="order")
    return _count_exposure(items.ids, items.is_unknown, num_items, discount_fn)


@partial(jax.jit, static_argnums=(2, 3))
def _count_exposure(
    ids: jax.Array,
    nan_found: jax.Array | None,
    num_items: int,
    discount_fn: types.Discount | None,
) -> Exposure:
    # Gather first, because JAX does not scatter sharded arrays.
    ids, nan_found = shards.gathered((ids, nan_found))
    exists = (ids >= 0) & (ids < num_items)
    # Padding is counted at an index beyond the end, which the scatter drops.
    indices = jnp.where(exists, ids, num_items).astype(jnp.int32)
    counts = _counted(indices, num_items)
    is_empty = ~jnp.any(exists, axis=-1)
    if nan_found is None:
        nan_found = jnp.zeros_like(is_empty)
    flags = jnp.stack([jnp.ones_like(is_empty), is_empty, nan_found]).reshape(3, -1)
    num_lists = jnp.sum(flags, axis=-1, dtype=jnp.int32)
    sums = None
    if discount_fn is not None:
        sums = double_floats.FloatPair.of(_discounted(indices, num_items, discount_fn))
    return Exposure(ids.shape[-1], counts, num_lists, sums)


def _counted(indices: jax.Array, num_items: int) -> jax.Array:
    zeros = meshes.match_varying(jnp.zeros(num_items, jnp.int32), indices)
    return zeros.at[indices.reshape(-1)].add(1, mode="drop")


def _discounted(
    indices: jax.Array, num_items: int, discount_fn: types.Discount
) -> jax.Array:
    """Sums, for each item, the multipliers of the ranks that show it, `[num_items]`.

    The sum runs over ranks. Counts are exact for any number of lists, so an item has one
    rounding error per rank; a sum over lists would have one rounding error per list.
    """
    ranks = indices.shape[-1]
    indices = indices.reshape(-1, ranks)
    exists = indices < num_items
    slots = jnp.where(exists, arithmetic.cumulative_count(exists) - 1, ranks)
    # The items at each rank of lists without gaps, `[ranks, lists]`.
    columns = meshes.match_varying(jnp.full_like(indices.T, num_items), indices)
    lists = lax.broadcasted_iota(jnp.int32, indices.shape, 0)
    columns = columns.at[slots, lists].set(indices, mode="drop")
    dtype = jax.dtypes.canonicalize_dtype(float)
    discounts = gains.discounts_of(discount_fn, jnp.arange(1, ranks + 1, dtype=dtype))

    def add(
        sums: jax.Array, rank: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, None]:
        column, discount = rank
        return sums + _counted(column, num_items).astype(dtype) * discount, None

    zeros = meshes.match_varying(jnp.zeros(num_items, dtype), indices)
    return lax.scan(add, zeros, (columns, discounts))[0]
