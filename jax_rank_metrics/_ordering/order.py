"""The order of rows, wherever their items are."""

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._ordering import keys as _keys
from jax_rank_metrics._ordering import top_k
from jax_rank_metrics._ordering.candidates import Candidates, ItemOrder, RawCandidates
from jax_rank_metrics._ordering.sort import sort_by
from jax_rank_metrics._types import AxisNames


def order_rows(
    raw: RawCandidates,
    order: ItemOrder,
    depth: int | None,
    items_axis: AxisNames | None = None,
) -> tuple[Candidates, jax.Array | None]:
    """Orders the first `depth` ranks of every list.

    Args:
        raw: Items of every list; the part of this device where items are cut.
        order: How items compare.
        depth: How many ranks to order, or None for all.
        items_axis: Mesh axes over whose devices the items of every list are cut.

    Returns:
        The items `[*lists, depth]` in rank order, missing ones last; and whether an item
        without a rank may tie with the last that has one, `[*lists]` bool, or None where
        every item has one.
    """
    size = raw.scores.shape[-1]
    if items_axis is not None:
        assert depth is not None
        part = order_local(raw, order, min(depth + 1, size))[0]
        return order_local(gather_candidates(part, items_axis), order, depth)
    num_parts = _num_parts(raw.scores, depth)
    if num_parts == 1:
        return order_local(raw, order, depth)
    assert depth is not None
    seeds = None if order.seeds is None else order.seeds[..., None, :]
    of_parts = order._replace(seeds=seeds)
    parts = order_local(_split(raw.read(), num_parts), of_parts, depth + 1)[0]
    return order_local(_merge(parts), order, depth)


def order_local(
    raw: RawCandidates | Candidates, order: ItemOrder, depth: int | None
) -> tuple[Candidates, jax.Array | None]:
    """Orders device-local items as `order_rows` does."""
    scores = raw.scores if isinstance(raw, RawCandidates) else raw.keys
    is_cut = depth is not None and depth < scores.shape[-1]
    if depth is not None and is_cut and _keys.has_digit(order.dtype):
        if top_k.is_faster(scores, depth):
            return top_k.top_ranks(raw, order, depth)
    candidates = raw.read()
    items = candidates.items
    # Labels are never negative: the sort carries one array instead of two.
    marked_labels = jnp.where(items.exists, items.labels, -1)
    payload = [x for x in (marked_labels, items.weights) if x is not None]
    keys, indices, labels, *weights = sort_by(
        candidates.sort_keys(order), payload, order.policy.is_hashed
    )
    straddles = None
    if depth is not None and is_cut:
        straddles = (labels[..., depth - 1] >= 0) & (
            keys[..., depth - 1] == keys[..., depth]
        )
    keys, indices, labels, *weights = (
        x[..., :depth] for x in (keys, indices, labels, *weights)
    )
    exists = labels >= 0
    columns, integer_labels = jax.tree.map(
        lambda x: _arithmetic.take_items(x, indices),
        (items.columns, items.integer_labels),
    )
    ranked = ItemArrays(
        jnp.where(exists, labels, 0),
        exists,
        weights[0] if weights else None,
        columns,
        integer_labels,
    )
    ids = _arithmetic.take(candidates.ids, indices)
    return Candidates(keys, ids, ranked), straddles


def gather_candidates(candidates: Candidates, items_axis: AxisNames) -> Candidates:
    """Concatenates the candidates of all devices."""
    axis = candidates.keys.ndim - 1
    return jax.tree.map(
        lambda x: _mesh.concatenate_over(x, items_axis, axis), candidates
    )


def _num_parts(x: jax.Array, depth: int | None) -> int:
    """Returns the number of parts into which to split each list before it is ordered.

    XLA gathers every score of an axis that it sorts. Where it may have cut items over
    devices, in ways that types do not tell, there is one part per device: each is
    ordered where it is, and only candidates travel. It is 1 where that cannot happen,
    and where it would not pay: the parts must be equal, and `depth` a small share of
    them.
    """
    shards = _mesh.auto_shards(x)
    if depth is None or shards == 1 or x.shape[-1] % shards:
        return 1
    return shards if (depth + 1) * shards <= top_k.TOP_K_SHARE * x.shape[-1] else 1


def _split(candidates: Candidates, num_parts: int) -> Candidates:
    """Splits `[*lists, items]` into `[*lists, parts, items / parts]`."""
    axis = candidates.keys.ndim - 1

    def split(x: jax.Array) -> jax.Array:
        size = x.shape[axis] // num_parts
        return x.reshape((*x.shape[:axis], num_parts, size, *x.shape[axis + 1 :]))

    return jax.tree.map(split, candidates)


def _merge(candidates: Candidates) -> Candidates:
    """Merges `[*lists, parts, depth]` into `[*lists, parts · depth]`."""
    axis = candidates.keys.ndim - 2

    def merge(x: jax.Array) -> jax.Array:
        return x.reshape((*x.shape[:axis], -1, *x.shape[axis + 2 :]))

    return jax.tree.map(merge, candidates)
