"""Soft places: ranks that are real numbers, differentiable in the scores."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.places.place import Place, PlaceSum, at_ranks
from jax_rank_metrics._ground import arithmetic, inputs, meshes, pytrees, types

if TYPE_CHECKING:
    from jax_rank_metrics._engine.layouts.packed import Packed

# Adds the contributions of some pairs of items to sums; the second argument, the number of
# the turn, says which pairs.
Step = Callable[[jax.Array, jax.Array], jax.Array]

# At most this many items of every list are compared with all others at a time.
_MAX_BLOCK = 64


@dataclasses.dataclass(frozen=True)
class sigmoid_ranks:
    """Soft ranks for training, for the `relax` of `rank` and of every metric.

    The rank of item i is `1 + Σ sigmoid((score_j − score_i) / temperature)` over the
    other items j of its list. Without ties, this soft rank nears the exact rank as the
    temperature falls; at a high temperature, gradients reach further. To change the
    temperature during training without compiling again, divide the scores instead.

    Two instances of the same temperature are equal, so they share one compilation.

    >>> from jax_rank_metrics import reciprocal_rank
    >>> scores = jnp.array([2.0, 1.0])
    >>> value = reciprocal_rank(jnp.array([0, 1]), scores, relax=sigmoid_ranks(1.0))
    >>> f"{value.compute():.5f}"  # 1 / (1 + sigmoid(2 − 1)) = 1 / 1.73106
    '0.57768'

    Args:
        temperature: A positive number in the unit of the scores.

    Raises:
        ValueError: if the temperature is not positive, or if it is infinite.
        TypeError: if the temperature is not a Python number.

    References:
        Qin, Liu and Li, A general approximation framework for direct optimization of
        information retrieval measures, Information Retrieval 13(4), 2010.
    """

    temperature: types.Number

    def __post_init__(self) -> None:
        inputs.positive("temperature", self.temperature)


@dataclasses.dataclass(frozen=True)
class _SoftPlace(Place):
    """A place of one rank, which is a real number."""

    def within(self, k: types.Cut) -> jax.Array:
        """Returns 1 if the nearest whole rank is at most k, else 0."""
        return self.sum(jnp.ones_like, k)

    def among(self, above: jax.Array, tied: jax.Array, max_rank: int) -> Place:
        """Returns the soft place of the item among other items."""
        del max_rank
        return dataclasses.replace(
            self, above=above, tied=tied, _sum=_sum_of_one(above)
        )


def _sum_of_one(above: jax.Array) -> PlaceSum:
    def place_sum(position_fn: types.PositionFn, k: types.Cut) -> jax.Array:
        # Soft ranks scatter around whole ranks, so the cutoff lies at k + ½.
        k = None if k is None else jnp.asarray(k).astype(above.dtype) + 0.5
        return at_ranks(position_fn, above + 1, k)

    return place_sum


@pytrees.pytree("temperature")
class SoftScores:
    """Scores from which soft places are computed.

    Shapes:
        scores: `[*lists, items]`, finite floats, 0 where no item exists; `[items]` for
            packed lists.
        temperature: A positive number, static.
    """

    scores: jax.Array
    temperature: float

    @classmethod
    def of(
        cls,
        scores: jax.Array,
        exists: jax.Array,
        dtype: jnp.dtype,
        relax: sigmoid_ranks,
    ) -> "SoftScores":
        """Makes the scores finite; NaN and infinities then have zero gradients.

        Infinities become the largest and smallest finite numbers of the dtype, since the
        difference of two infinities is NaN. NaN becomes a number too, because in packed
        arrays it would make the gradients of other lists NaN.
        """
        scores = jnp.where(exists, scores, jnp.zeros_like(scores)).astype(dtype)
        limit = float(jnp.finfo(dtype).max)
        scores = jnp.nan_to_num(scores, nan=-limit, posinf=limit, neginf=-limit)
        # A temperature that rounds to 0 would divide 0 by 0.
        return cls(scores, max(float(relax.temperature), float(jnp.finfo(dtype).tiny)))

    def place(
        self, layout: base.RankedLayout, exists: jax.Array, amounts: Sequence[jax.Array]
    ) -> Place:
        """Returns the place of every item, with the amounts summed above it.

        `counted_tied` is the amount of the item itself, since soft ranks do not tie.

        Args:
            layout: The layout of the items.
            exists: `[*lists, items]` bool.
            amounts: `[*lists, items]` each.
        """
        amounts = [amount.astype(self.scores.dtype) for amount in amounts]
        # [*lists, items, 1 + amounts]: the numbers that each item adds to sums of items
        # below.
        addends = jnp.stack([exists.astype(self.scores.dtype), *amounts], axis=-1)
        sums = self._sums_above(addends, layout)
        above, *counted_above = jnp.unstack(sums, axis=-1)
        ones = jnp.ones_like(above)
        return _SoftPlace(
            above, ones, tuple(counted_above), tuple(amounts), _sum_of_one(above)
        )

    def _sums_above(self, addends: jax.Array, layout: base.RankedLayout) -> jax.Array:
        """Sums the addends of all other items, weighted by how surely each is above.

        Addends and sums are `[*lists, items, amounts]`. Items are compared one block at
        a time; the gradient repeats the comparisons, so that they need not be kept in
        memory.
        """
        if not layout.is_rectangular:
            return self._sums_above_in_packed(addends, cast("Packed", layout))
        scores, items = self.scores, self.scores.shape[-1]
        num_blocks, size = _blocks(items)

        def sums_of_block(rows: jax.Array, number: jax.Array) -> jax.Array:
            row_slots = number * size + jnp.arange(size, dtype=jnp.int32)
            column_slots = jnp.arange(items, dtype=jnp.int32)
            is_other = row_slots[:, None] != column_slots[None]
            return self._sums_of_pairs(rows, scores, is_other, addends)

        if num_blocks == 1:
            return sums_of_block(scores, jnp.zeros((), jnp.int32))
        padded = arithmetic.pad_items(scores, after=num_blocks * size - items)
        # [blocks, *lists, size]
        blocks = padded.reshape((*scores.shape[:-1], num_blocks, size))
        blocks = jnp.moveaxis(blocks, -2, 0)
        numbers = jnp.arange(num_blocks, dtype=jnp.int32)
        again = jax.checkpoint(sums_of_block)
        sums = lax.map(lambda block: again(*block), (blocks, numbers))
        # [*lists, blocks, size, amounts]
        sums = jnp.moveaxis(sums, 0, -3)
        return lax.collapse(sums, sums.ndim - 3, sums.ndim - 1)[..., :items, :]

    def _sums_above_in_packed(self, addends: jax.Array, layout: "Packed") -> jax.Array:
        """Returns `_sums_above` of lists that lie one after the other.

        In each turn, every block is compared with the block at one distance from it,
        wrapping around at the end. The distances are 0, 1, −1, 2, −2, … as far as the
        longest list reaches.
        """
        items = self.scores.shape[0]
        num_blocks, size = _blocks(items)
        missing = num_blocks * size - items

        def in_blocks(x: jax.Array) -> jax.Array:
            widths = [(0, missing, 0)] + [(0, 0, 0)] * (x.ndim - 1)
            padded = lax.pad(x, jnp.zeros((), x.dtype), widths)
            return padded.reshape((num_blocks, size, *x.shape[1:]))

        # [blocks, size] and [blocks, size, amounts]
        blocks = scores, ids, addends = jax.tree.map(
            in_blocks, (self.scores, layout.ids, addends)
        )
        slots = jnp.arange(size, dtype=jnp.int32)

        def add_pairs(sums: jax.Array, turn: jax.Array) -> jax.Array:
            shift = jnp.where(turn % 2 == 1, -(turn + 1) // 2, turn // 2)
            neighbours = [jnp.roll(array, shift, axis=0) for array in blocks]
            column_scores, column_ids, column_addends = neighbours
            is_other = (turn > 0) | (slots[:, None] != slots[None])
            in_same_list = ids[:, :, None] == column_ids[:, None, :]
            is_other = is_other[None] & in_same_list
            return sums + self._sums_of_pairs(
                scores, column_scores, is_other, column_addends
            )

        longest = jnp.max(layout.starts[1:] - layout.starts[:-1], initial=0)
        reach = (longest + size - 2) // size
        last_turn = jnp.minimum(2 * reach, num_blocks - 1)
        zeros = meshes.match_varying(jnp.zeros_like(addends), blocks)
        sums = _fold_through(last_turn, num_blocks, add_pairs, zeros)
        return lax.collapse(sums, 0, 2)[:items]

    def _sums_of_pairs(
        self,
        rows: jax.Array,
        columns: jax.Array,
        is_other: jax.Array,
        addends: jax.Array,
    ) -> jax.Array:
        """Sums addends of the columns' items, weighted by how surely each is above.

        Args:
            rows: `[…, rows]`, scores of the items for which sums are computed.
            columns: `[…, columns]`, scores of the items with which these items are
                compared.
            is_other: `[…, rows, columns]` bool, true for two different items of the same
                list.
            addends: `[…, columns, amounts]`.
        """
        lead = columns[..., None, :] - rows[..., :, None]
        is_above = lax.logistic(lead / self.temperature)
        is_other = jnp.broadcast_to(is_other, lead.shape)
        return arithmetic.dot(jnp.where(is_other, is_above, 0), addends)


def _blocks(items: int) -> tuple[int, int]:
    """Returns the number of blocks that items are split into, and the size of a block."""
    num_blocks = max(1, -(-items // _MAX_BLOCK))
    return num_blocks, -(-items // num_blocks)


def _fold_through(
    last: jax.Array, num_turns: int, step: Step, sums: jax.Array
) -> jax.Array:
    """Applies `sums = step(sums, turn)` for the turns 0 … `last`, below `num_turns`.

    A loop with a gradient cannot end early. It can skip turns, but its gradient then copies
    `sums` for each skipped turn, so whole groups of turns are skipped if possible.
    """
    group = math.isqrt(num_turns)

    def fold(step: Step, sums: jax.Array, turns: jax.Array) -> jax.Array:
        @jax.checkpoint
        def step_if_due(sums: jax.Array, turn: jax.Array) -> jax.Array:
            is_due = meshes.unvmap_any(turn <= last)
            return lax.cond(is_due, step, lambda sums, _: sums, sums, turn)

        return lax.scan(
            lambda sums, turn: (step_if_due(sums, turn), None), sums, turns
        )[0]

    def step_group(sums: jax.Array, first: jax.Array) -> jax.Array:
        return fold(step, sums, first + jnp.arange(group, dtype=jnp.int32))

    return fold(step_group, sums, jnp.arange(0, num_turns, group, dtype=jnp.int32))
