"""The order of the items of each row; items may be sharded over devices."""

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.items import ItemArrays
from jax_rank_metrics._engine.ordering import keys as _keys
from jax_rank_metrics._engine.ordering import sort, top_k
from jax_rank_metrics._engine.ordering.candidates import Candidates, RawCandidates
from jax_rank_metrics._engine.ordering.policies import Policy
from jax_rank_metrics._ground import arithmetic, meshes, shards
from jax_rank_metrics._ground.types import AxisNames


def order_rows(
    raw: RawCandidates,
    policy: Policy,
    depth: int | None,
    items_axis: AxisNames | None = None,
) -> tuple[Candidates, jax.Array | None]:
    """Orders the first `depth` ranks of every list.

    Args:
        raw: Items of every list; if items are sharded, the items of this device.
        policy: How ties are broken.
        depth: How many ranks to order, or None for all.
        items_axis: Mesh axes over which the items of every list are sharded.

    Returns:
        The items `[*lists, depth]` in rank order, missing items last; and `[*lists]` bool,
        true if an item beyond `depth` may tie with the last item within it, or None if
        every item has a rank.
    """
    size = raw.scores.shape[-1]
    if items_axis is not None:
        assert depth is not None
        part = order_rows(raw, policy, min(depth + 1, size))[0]
        return _sorted(gather_candidates(part, items_axis), policy, depth)
    num_parts = 1 if depth is None else top_k.num_parts(raw.scores, depth + 1)
    if num_parts > 1:
        assert depth is not None
        return _order_by_parts(raw, policy, depth, num_parts)
    if depth is not None and _keys.has_digit(raw.scores.dtype):
        if top_k.is_faster(raw.scores, depth):
            return _top_ranks(raw, policy, depth)
    return _sorted(raw.read(), policy, depth)


@jax.jit
def order_all(raw: RawCandidates, lists: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the indices and the keys of all items in rank order.

    Both are `[*lists, items]`; missing items have the index −1, and tied items are in index
    order.

    Args:
        raw: All items of every list.
        lists: `[*lists]`, sharded over devices in the same way as the lists.
    """

    def order_shard(raw: RawCandidates) -> tuple[jax.Array, jax.Array]:
        best, _ = order_rows(raw, Policy("stable"), None)
        return jnp.where(best.items.exists, best.ids, -1), best.keys

    return shards.map_shards(order_shard, raw, lists)


def _order_by_parts(
    raw: RawCandidates, policy: Policy, depth: int, num_parts: int
) -> tuple[Candidates, jax.Array | None]:
    """Computes `order_rows`: orders parts of lists, then the first items of all parts."""
    axis = raw.scores.ndim - 1

    def split(x: jax.Array) -> jax.Array:
        size = x.shape[axis] // num_parts
        return x.reshape((*x.shape[:axis], num_parts, size, *x.shape[axis + 1 :]))

    # From [*lists, items] to [*lists, parts, items / parts], and back.
    candidates = jax.tree.map(split, raw.read())
    part_policy = jax.tree.map(lambda seeds: seeds[..., None, :], policy)
    parts = _sorted(candidates, part_policy, depth + 1)[0]
    merged = jax.tree.map(lambda array: lax.collapse(array, axis, axis + 2), parts)
    return _sorted(merged, policy, depth)


def _sorted(
    candidates: Candidates, policy: Policy, depth: int | None
) -> tuple[Candidates, jax.Array | None]:
    """Computes `order_rows` by a sort of all items."""
    items = candidates.items
    # Labels are never negative, so a label of −1 marks missing items, and the sort carries
    # one array instead of two.
    marked_labels = jnp.where(items.exists, items.labels, -1)
    payload = [array for array in (marked_labels, items.weights) if array is not None]
    keys, indices, labels, *weights = sort.sort_by(
        candidates.sort_keys(policy), payload, policy.is_hashed
    )
    straddles = None
    if depth is not None and depth < items.exists.shape[-1]:
        straddles = (labels[..., depth - 1] >= 0) & (
            keys[..., depth - 1] == keys[..., depth]
        )
    keys, indices, labels, *weights = (
        array[..., :depth] for array in (keys, indices, labels, *weights)
    )
    exists = labels >= 0
    columns, integer_labels = jax.tree.map(
        lambda array: arithmetic.take_items(array, indices),
        (items.columns, items.integer_labels),
    )
    ranked = ItemArrays(
        jnp.where(exists, labels, 0),
        exists,
        weights[0] if weights else None,
        columns,
        integer_labels,
    )
    ids = arithmetic.take(candidates.ids, indices)
    return Candidates(keys, ids, ranked, candidates.dtype), straddles


def _top_ranks(
    raw: RawCandidates, policy: Policy, depth: int
) -> tuple[Candidates, jax.Array]:
    """Gathers the items of the first `depth` ranks, for scores that have a digit.

    A top-k leaves ties in index order. If the policy wants another order, a branch reorders
    tied items.

    Returns:
        The items `[*lists, depth]`; and `[*lists]` bool, true if items beyond these may tie
        with the last of them.
    """
    # Find one rank more than asked for, to see if it ties with the last rank.
    keys, indices = lax.platform_dependent(
        raw,
        cpu=lambda raw: top_k.top_integers_on_cpu(raw.read().keys, depth + 1),
        default=lambda raw: _top_keys_by_digits(raw, depth + 1),
    )
    is_tied = (keys[..., 1:] == keys[..., :-1]) & _keys.exists(keys)[..., 1:]
    straddles = arithmetic.at_slot(is_tied, -1)
    keys, indices = keys[..., :depth], indices[..., :depth]
    if policy.keeps_index_order:
        return raw.ranked(keys, indices), straddles

    def settle() -> jax.Array:
        # Read the items again in the branch, so that nothing is computed without a tie.
        candidates = raw.read()
        if policy.is_hashed:
            return _settled(candidates, policy, keys)
        return sort.sort_by(candidates.sort_keys(policy))[1][..., :depth]

    # Items that tie have the same key, so only the indices change.
    indices = lax.cond(meshes.unvmap_any(is_tied), settle, lambda: indices)
    return raw.ranked(keys, indices), straddles


def _top_keys_by_digits(raw: RawCandidates, depth: int) -> tuple[jax.Array, jax.Array]:
    """Finds the largest keys of each list, and their indices, `[*lists, depth]` each.

    Missing items come last; equal keys stand in index order.
    """
    dtype = raw.scores.dtype
    digits, indices = top_k.top_k(_keys.digit(raw.read().keys, dtype), depth)
    return _keys.key_of_digit(digits, dtype), indices


def _settled(candidates: Candidates, policy: Policy, keys: jax.Array) -> jax.Array:
    """Returns the indices of the first ranks, whose keys are known.

    All items above the last key are among the first ranks. Hashes choose between the items
    that share the last key. Then the few chosen items are sorted by all keys.
    """
    last = keys[..., -1:]
    (hashes,) = candidates.tie_breaks(policy)
    digits = jnp.where(candidates.keys == last, hashes.astype(jnp.float32), -1)
    digits = jnp.where(candidates.keys > last, jnp.inf, digits)
    _, chosen = top_k.top_k(digits, keys.shape[-1])
    sort_keys = [~key for key in candidates.at(chosen).sort_keys(policy)]
    return lax.sort((*sort_keys, chosen), num_keys=len(sort_keys) + 1)[-1]


def gather_candidates(candidates: Candidates, items_axis: AxisNames) -> Candidates:
    """Concatenates the candidates of all devices."""
    axis = candidates.keys.ndim - 1
    return jax.tree.map(
        lambda array: meshes.concatenate_over(array, items_axis, axis), candidates
    )
