"""The census of a catalogue: which labels its items have, and how many have each."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics import _arithmetic, _mesh
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._layouts.pools import Counted
from jax_rank_metrics._ordering.candidates import Candidates
from jax_rank_metrics._ranking.pool import Pool, Straddle
from jax_rank_metrics._types import AxisNames

# How many different labels a list may have; bools have two.
MAX_LABELS = 64


class Census(NamedTuple):
    """The different labels of the items so far, and how many items have each.

    Items without columns are exchangeable where their labels are equal. So these few
    numbers are all that totals over a pool, and its best order, depend on.

    Shapes:
        labels: `[*lists, slots]` floats in any order, those that no item has as well.
        counts: `[*lists, slots]` int32.
        overflows: `[*lists]` bool, whether items were left out, because the list has more
            different labels than there are slots.
        loses_items: `[*lists]` bool; see `Block`.
    """

    labels: jax.Array
    counts: jax.Array
    overflows: jax.Array
    loses_items: jax.Array

    @classmethod
    def empty(
        cls, lists: tuple[int, ...], kind: DTypeLike, dtype: DTypeLike
    ) -> "Census":
        """Returns the census of no items.

        Args:
            lists: The shape of the axes of lists.
            kind: The dtype of labels as they are passed to `extended`.
            dtype: The float dtype of values.
        """
        slots = 2 if kind == jnp.bool_ else MAX_LABELS
        labels = jnp.zeros((*lists, slots), dtype)
        if kind == jnp.bool_:
            # False and True have fixed slots, so that blocks of bools add to counts alone.
            labels = labels.at[..., 1].set(1)
        counts = jnp.zeros(labels.shape, jnp.int32)
        return cls(labels, counts, *(jnp.zeros(lists, bool) for _ in range(2)))

    def pool(self, ranks: int) -> Pool:
        """Returns the pool of all items, of which `ranks` can have a rank."""
        exists = self.counts > 0
        items = ItemArrays(jnp.where(exists, self.labels, 0), exists)
        return Pool(items, Counted(self.counts, ranks))

    def straddle(
        self, labels: jax.Array, is_last: jax.Array, dropped: jax.Array
    ) -> Straddle:
        """Returns the tie group of the last rank held.

        Args:
            labels: `[*lists, held]`, of the items held.
            is_last: `[*lists, held]` bool, which of them tie with the last one.
            dropped: `[*lists, slots]` int32, how many other items do so.
        """
        tied = self.tally(labels, is_last) + dropped
        reaches = jnp.any(dropped > 0, axis=-1)
        # A slot counts its items in the group alone here, and not those of the whole list.
        return Straddle(reaches, tied > 0, Counted(tied, None))

    def extended(self, labels: jax.Array, exists: jax.Array) -> "Census":
        """Returns the census after further items, `[*lists, items]`.

        Args:
            labels: Of the dtype that `empty` was told; not negative where items exist.
            exists: Bool.
        """
        if labels.dtype != jnp.bool_:
            # The search for the next larger label begins at −1, and finds no missing item.
            labels = jnp.where(exists, labels.astype(self.labels.dtype), -1)
            return self._with_amounts(labels, None)
        hits, number = _arithmetic.count(labels & exists), _arithmetic.count(exists)
        added = jnp.stack([number - hits, hits], axis=-1)
        return self._replace(counts=self.counts + added)

    def over_devices(self, items_axis: AxisNames) -> "Census":
        """Returns the census of the items of all devices, whose slots may differ."""
        # `[*lists, devices · slots]`: each slot is like an item that stands for many.
        labels, counts = (
            _mesh.concatenate_over(x, items_axis, x.ndim - 1) for x in self[:2]
        )
        flags = (
            _mesh.any_over(x, items_axis) for x in (self.overflows, self.loses_items)
        )
        shape = self.labels.shape
        empty = Census(
            jnp.zeros(shape, labels.dtype), jnp.zeros(shape, jnp.int32), *flags
        )
        return empty._with_amounts(jnp.where(counts > 0, labels, -1), counts)

    def tally_of(self, candidates: Candidates, is_counted: jax.Array) -> jax.Array:
        """Counts candidates by their labels, `[*lists, slots]`; a `Tally`."""
        return self.tally(candidates.items.labels, is_counted)

    def tally(self, labels: jax.Array, amounts: jax.Array) -> jax.Array:
        """Adds up amounts by label, `[*lists, slots]` int32.

        With labels 0 and 1 in the census, the amounts 5 2 1 of items with the labels
        1 0 1 give 2 and 6.

        Args:
            labels: `[*lists, items]` floats.
            amounts: `[*lists, items]`, bools to be counted or int32.
        """
        is_used = self.counts > 0

        # One slot after the other: all pairs of items and slots would be 64 times a block.
        def add(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            slot, totals = state
            label = lax.dynamic_slice_in_dim(self.labels, slot, 1, -1)
            total = _total(amounts, labels == label)[..., None]
            return slot + 1, lax.dynamic_update_slice_in_dim(totals, total, slot, -1)

        # The loop ends after the last slot that any list uses, mostly one of the first.
        past_used = jnp.where(is_used, _arithmetic.iota(is_used) + 1, 0)
        num_slots = jnp.max(past_used, initial=0)
        state = (jnp.zeros_like(num_slots), jnp.zeros_like(self.counts))
        state = _mesh.match_varying(state, (self, labels, amounts))
        totals = lax.while_loop(lambda state: state[0] < num_slots, add, state)[1]
        return jnp.where(is_used, totals, 0)

    def _with_amounts(self, labels: jax.Array, amounts: jax.Array | None) -> "Census":
        """Adds items `[*lists, items]`, one label after the next larger one.

        Args:
            labels: Floats of the dtype of `labels`; below 0 where no item exists.
            amounts: How many items each stands for; None is 1.
        """
        # Each round adds the items with the smallest label above `bound`: three rounds for
        # the labels 2 0 2 1, one for each different label.
        largest = jnp.max(labels, axis=-1, initial=-1)

        def is_left(census: Census, bound: jax.Array) -> jax.Array:
            # All lists go round together. One without room is a failure already: going on
            # would take a round for each of its labels, perhaps for each item.
            return _mesh.unvmap_any((largest > bound) & ~census.overflows)

        def add_label(
            state: tuple[Census, jax.Array, jax.Array],
        ) -> tuple[Census, jax.Array, jax.Array]:
            census, bound, _ = state
            is_larger = labels > bound[..., None]
            # Infinite where a list has no label left; its `number` is then 0.
            label = jnp.min(jnp.where(is_larger, labels, jnp.inf), axis=-1)
            number = _total(amounts, is_larger & (labels == label[..., None]))
            census = census._with_label(label, number)
            return census, label, is_left(census, label)

        bound = jnp.full(largest.shape, -1, largest.dtype)
        census, bound = _mesh.match_varying((self, bound), (self, labels, amounts))
        state = (census, bound, is_left(census, bound))
        return lax.while_loop(lambda state: state[2], add_label, state)[0]

    def _with_label(self, label: jax.Array, number: jax.Array) -> "Census":
        """Adds a number of items of one label per list, both `[*lists]`."""
        is_used = self.counts > 0
        is_equal = is_used & (self.labels == label[..., None])
        # Slots are taken from the front, so that their number is the first free one. Once
        # all are taken it is no slot, and nothing is free.
        first_free = _arithmetic.count(is_used)[..., None]
        is_free = _arithmetic.iota(self.counts) == first_free
        is_known = jnp.any(is_equal, axis=-1, keepdims=True)
        target = jnp.where(is_known, is_equal, is_free) & (number > 0)[..., None]
        has_no_slot = (number > 0) & ~jnp.any(target, axis=-1)
        return Census(
            jnp.where(target, label[..., None], self.labels),
            self.counts + jnp.where(target, number[..., None], 0),
            self.overflows | has_no_slot,
            self.loses_items,
        )


def too_many_labels(subject: str) -> str:
    """Returns the message for a list of more than `MAX_LABELS` labels, such as "a list"."""
    return (
        f"label_fn gives {subject} more than {MAX_LABELS} different labels, which is the "
        "most where items are ranked in several blocks; round the labels, or pass a "
        "block_size of at least the number of items"
    )


def negative_labels(subject: str) -> str:
    """Returns the message for a list that `label_fn` removes items from by their labels."""
    return (
        f"label_fn gives {subject} labels below 0 or NaN, by which items would leave the "
        "ranking; return 0 for items that are not relevant, or a pair of labels and a bool "
        "array of what leaves the ranking"
    )


def _total(amounts: jax.Array | None, chosen: jax.Array) -> jax.Array:
    """Adds up the amounts of chosen items, bools or integers; None is 1 for each."""
    if amounts is None or amounts.dtype == jnp.bool_:
        return _arithmetic.count(chosen if amounts is None else chosen & amounts)
    return jnp.sum(jnp.where(chosen, amounts, 0), axis=-1, dtype=jnp.int32)
