"""The order of rows, wherever their items are."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._ordering import keys as _keys
from jax_rank_metrics._ordering import top_k
from jax_rank_metrics._ordering.candidates import Candidates, Given, Policy
from jax_rank_metrics._ordering.sort import sort_by


class Ordered(NamedTuple):
    """Items in rank order; what does not exist comes last.

    Shapes:
        best: `[*lists, depth]`.
        straddles: `[*lists]` bool, whether an item without a rank may tie with the last
            one that has; None where every item has one.
    """

    best: Candidates
    straddles: jax.Array | None


def order(
    given: Given, policy: Policy, depth: int | None, items_axis: Any = None
) -> Ordered:
    """The first `depth` ranks of every list; None is all.

    Args:
        given: Items of every list; those of this device where devices have parts.
        policy: How to compare them.
        depth: How many ranks.
        items_axis: Mesh axes over whose devices the items of every list are cut.
    """
    size = given.scores.shape[-1]
    if items_axis is not None:
        assert depth is not None
        part = best(given, policy, min(depth + 1, size)).best
        return best(joined(part, items_axis), policy, depth)
    shards = _shards(given.scores, depth)
    if shards == 1:
        return best(given, policy, depth)
    assert depth is not None
    parts = best(_split(given.read(), shards), policy, depth + 1).best
    return best(_merged(parts), policy, depth)


def best(
    given: Given | Candidates,
    policy: Policy,
    depth: int | None,
    use_top_k: bool | None = None,
) -> Ordered:
    """`order` of items that are whole here; by top-k where that pays, or as asked."""
    scores = given.scores if isinstance(given, Given) else given.keys
    size = scores.shape[-1]
    cut = depth is not None and depth < size
    if use_top_k is None:
        use_top_k = depth is not None and top_k.pays(scores, depth)
    if use_top_k and depth is not None and cut and _keys.has_digit(policy.dtype):
        found = top_k.top(given, policy, depth)
        return Ordered(given.at(found.places).read(), found.straddles)
    every = given.read()
    items = every.items
    payload = [x for x in (_marked(items), items.weights) if x is not None]
    keys, places, labels, *weights = sort_by(
        every.levels(policy), payload, policy.hashes
    )
    some, straddles = slice(None, depth), None
    if depth is not None and cut:
        straddles = (labels[..., depth - 1] >= 0) & (
            keys[..., depth - 1] == keys[..., depth]
        )
    keys, places, labels, *weights = (
        x[..., some] for x in (keys, places, labels, *weights)
    )
    exists = labels >= 0
    columns = {
        name: _arithmetic.take_items(x, places) for name, x in items.columns.items()
    }
    ranked = ItemArrays(
        jnp.where(exists, labels, jnp.zeros_like(labels)),
        exists,
        weights[0] if weights else None,
        columns,
    )
    index = _arithmetic.take(every.ids, places)
    return Ordered(Candidates(keys, index, ranked, every.seeds), straddles)


def _marked(items: ItemArrays) -> jax.Array:
    """Labels, -1 where no item exists."""
    return jnp.where(items.exists, items.labels, jnp.full_like(items.labels, -1))


def joined(items: Candidates, items_axis: Any) -> Candidates:
    """The candidates of all devices."""
    axis = items.keys.ndim - 1
    return items.map(lambda x: _mesh.concatenate_over(x, items_axis, axis))


# XLA gathers every score of an axis that it sorts. Where items may be cut over devices
# without their type saying so, only candidates need to meet.


def _shards(x: jax.Array, depth: int | None) -> int:
    """Into how many parts to cut lists, so that each can be sorted where it is."""
    shards = _mesh.auto_shards(x)
    if depth is None or shards == 1 or x.shape[-1] % shards:
        return 1
    return shards if (depth + 1) * shards <= top_k.TOP_K_SHARE * x.shape[-1] else 1


def _split(items: Candidates, shards: int) -> Candidates:
    axis = items.keys.ndim - 1

    def cut(x: jax.Array) -> jax.Array:
        size = x.shape[axis] // shards
        return x.reshape((*x.shape[:axis], shards, size, *x.shape[axis + 1 :]))

    seeds = items.seeds
    seeds = None if seeds is None else seeds[..., None, :]
    return items.map(cut)._replace(seeds=seeds)


def _merged(items: Candidates) -> Candidates:
    axis = items.keys.ndim - 2

    def merge(x: jax.Array) -> jax.Array:
        return x.reshape((*x.shape[:axis], -1, *x.shape[axis + 2 :]))

    seeds = items.seeds
    seeds = None if seeds is None else seeds[..., 0, :]
    return items.map(merge)._replace(seeds=seeds)
