"""The best items so far, block after block."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.items import ItemArrays
from jax_rank_metrics._engine.ordering import keys as _keys
from jax_rank_metrics._engine.ordering import order, top_k
from jax_rank_metrics._engine.ordering.candidates import Candidates, RawCandidates
from jax_rank_metrics._engine.ordering.policies import Policy
from jax_rank_metrics._engine.ordering.sort import sort_by
from jax_rank_metrics._ground import arithmetic, meshes, types

# Adds up items. Takes candidates `[*lists, items]`; bools, true for the candidates to add
# up; and the id of the first candidate if ids are consecutive, else None. Returns a pytree
# of totals `[*lists, …]`, such as the number of items with each label.
CountFn = Callable[[Candidates, jax.Array, jax.Array | None], Any]


class BestSoFar(NamedTuple):
    """The items of the first ranks among all blocks so far.

    Shapes:
        best: `[*lists, depth]`, in any order, except that items that exist come first, and
            items that tie in all but their ids are in the order of ids. Labels are 0 if
            nothing reads them.
        dropped: `[*lists]` int32, how many items so far are not in `best` but tie with its
            last item; or the totals of these items that a `CountFn` returns.
    """

    best: Candidates
    dropped: Any

    def extended(
        self,
        block: RawCandidates,
        policy: Policy,
        length: jax.Array,
        count_fn: CountFn | None = None,
    ) -> "BestSoFar":
        """Returns the best items after one more block, whose ids must all be larger.

        Args:
            block: The items of the block.
            policy: How ties are broken.
            length: `[*lists]`, the number of items so far, including the block.
            count_fn: Adds up `dropped` items; labels are then kept for it. If None, these
                items are counted.
        """
        depth = self.best.keys.shape[-1]
        if top_k.is_faster(block.scores, depth) and _keys.has_digit(block.scores.dtype):
            indices, drops_ties = self._top_indices(block, policy)
        else:
            indices, drops_ties = self._sorted_indices(block, policy), True
        keeps_labels = count_fn is not None or policy.reads_labels
        best = self._at(indices, block, length, keeps_labels)
        last_key = _last_key(best)
        still_dropped = self._dropped_if_last(last_key)

        # Count over the whole block only if items that tie with the last item were dropped.
        def count_dropped() -> jax.Array:
            so_far, kept = (
                _count(candidates, last_key, count_fn)
                for candidates in (self.best, best)
            )
            first_id = jnp.asarray(block.first_id)
            added = _count(block.read(), last_key, count_fn, first_id)
            return jax.tree.map(lambda x, y, z: x + y - z, so_far, added, kept)

        # x − x is zeros that vary over the mesh axes of x.
        zeros = jax.tree.map(lambda x: x - x, still_dropped)
        dropped = lax.cond(drops_ties, count_dropped, lambda: zeros)
        return BestSoFar(best, jax.tree.map(jnp.add, still_dropped, dropped))

    def in_order(
        self,
        policy: Policy,
        items_axis: types.AxisNames | None,
        count_fn: CountFn | None = None,
    ) -> "BestSoFar":
        """Returns the best items of all devices, in rank order.

        Ids are −1 at ranks beyond the end of a list.
        """
        depth, candidates, dropped = self.best.keys.shape[-1], self.best, self.dropped
        if items_axis is not None:
            candidates = order.gather_candidates(candidates, items_axis)
        ids = jnp.where(candidates.items.exists, candidates.ids, -1)
        sort_keys = candidates.sort_keys(policy)
        keys, slots, ids = sort_by(sort_keys, [ids], policy.is_hashed)
        keys, ids = keys[..., :depth], ids[..., :depth]
        labels = arithmetic.take(candidates.items.labels, slots[..., :depth])
        exists = ids >= 0
        items = ItemArrays(jnp.where(exists, labels, 0), exists)
        best = Candidates(keys, ids, items, candidates.dtype)
        if items_axis is not None:
            last_key = keys[..., -1:]
            dropped = lax.psum(self._dropped_if_last(last_key), items_axis)
            parts = (_count(part, last_key, count_fn) for part in (candidates, best))
            dropped = jax.tree.map(lambda x, y, z: x + y - z, dropped, *parts)
        return BestSoFar(best, dropped)

    def _dropped_if_last(self, key: jax.Array) -> Any:
        """Returns `dropped` for lists whose last item has the key `[*lists, 1]`, else 0."""
        tied = (key == _last_key(self.best))[..., 0]
        return jax.tree.map(
            lambda leaf: jnp.where(arithmetic.widen(tied, leaf), leaf, 0), self.dropped
        )

    def _top_indices(
        self, block: RawCandidates, policy: Policy
    ) -> tuple[jax.Array, jax.Array]:
        """Finds the first ranks of scores that have a digit.

        Returns:
            Indices `[*lists, depth]` into the best items so far, followed by the block; and
            a bool scalar, true if an item that ties with the last chosen item may be
            dropped.
        """
        depth, candidates = self.best.keys.shape[-1], block.read()

        def digit(candidates: Candidates) -> jax.Array:
            return _keys.digit(candidates.keys, candidates.dtype)

        # Items below the last of the best items cannot be chosen. They all get −inf,
        # because a CPU is quick to skip equal numbers.
        competes = candidates.keys >= _last_key(self.best)
        digits = jnp.where(competes, digit(candidates), -jnp.inf)
        # Find one rank more than asked for, to see if it ties with the last rank.
        digits, indices = top_k.top_k(digits, depth + 1, digit(self.best))
        last, following = digits[..., depth - 1 : depth], digits[..., depth:]
        # Compare integers, because comparisons of floats may flush subnormals.
        ties = _keys.float_key(last) == _keys.float_key(following)
        drops_ties = meshes.unvmap_any(ties & (last > -jnp.inf))

        if policy.keeps_index_order:
            return indices[..., :depth], drops_ties

        # Hashes decide between the items that share the last digit.
        def second_digit(candidates: Candidates) -> jax.Array:
            (hashes,) = candidates.tie_breaks(policy)
            first, bound = _keys.float_key(digit(candidates)), _keys.float_key(last)
            second = jnp.where(first == bound, hashes.astype(jnp.float32), -1)
            return jnp.where(first > bound, jnp.inf, second)

        def settle() -> jax.Array:
            if policy.reads_labels:
                return self._sorted_indices(block, policy)
            digits = second_digit(block.read())
            return top_k.top_k(digits, depth, second_digit(self.best))[1]

        indices = lax.cond(drops_ties, settle, lambda: indices[..., :depth])
        return indices, drops_ties

    def _sorted_indices(self, block: RawCandidates, policy: Policy) -> jax.Array:
        """Finds the first ranks by a sort; returns indices as `_top_indices` does."""
        candidates = jax.tree.map(
            lambda best, new: jnp.concatenate([best, new], axis=-1),
            self.best,
            block.read(),
        )
        exists = candidates.items.exists
        # Items below the last of the best items cannot be chosen. They all get the least
        # keys, because a CPU is quick to sort equal keys. The second key tells them from
        # items whose score is the least integer.
        competes = exists & (candidates.keys >= _last_key(self.best))
        tie_breaks = candidates.tie_breaks(policy) or (exists.astype(jnp.int32),)
        keys = [
            jnp.where(competes, key, jnp.iinfo(key.dtype).min)
            for key in (candidates.keys, *tie_breaks)
        ]
        is_hash = policy.is_hashed and not _keys.shares_least_key(candidates.dtype)
        return sort_by(keys, last_is_hash=is_hash)[1][..., : self.best.keys.shape[-1]]

    def _at(
        self,
        indices: jax.Array,
        block: RawCandidates,
        length: jax.Array,
        keeps_labels: bool,
    ) -> Candidates:
        """Gathers items by indices into the best items so far, followed by the block."""
        depth = indices.shape[-1]
        is_new, exists = indices >= depth, arithmetic.iota(indices) < length[..., None]
        in_best = jnp.minimum(indices, depth - 1)
        in_block = jnp.maximum(indices - depth, 0)

        def merged(best: jax.Array, new: jax.Array) -> jax.Array:
            return jnp.where(is_new, new, arithmetic.take(best, in_best))

        scores = arithmetic.take(block.scores, in_block)
        keys = merged(self.best.keys, _keys.score_key(scores, exists))
        ids = merged(self.best.ids, block.first_id + in_block)
        labels = self.best.items.labels
        if keeps_labels:
            new_labels = block.read().items.labels
            labels = merged(labels, arithmetic.take(new_labels, in_block))
        return Candidates(keys, ids, ItemArrays(labels, exists), self.best.dtype)


def _last_key(candidates: Candidates) -> jax.Array:
    """Returns the key of the last item in rank order, `[*lists, 1]`."""
    return jnp.min(candidates.keys, axis=-1, keepdims=True)


def _count(
    candidates: Candidates,
    key: jax.Array,
    count_fn: CountFn | None,
    first_id: jax.Array | None = None,
) -> Any:
    """Counts the items that have their list's `key`, `[*lists, 1]`, or adds them up."""
    has_key = (candidates.keys == key) & candidates.items.exists
    if count_fn is None:
        return arithmetic.count(has_key)
    return count_fn(candidates, has_key, first_id)
