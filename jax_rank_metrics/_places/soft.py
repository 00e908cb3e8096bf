"""Soft places: ranks that are real numbers, differentiable in the scores."""

import dataclasses

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._places.place import Place, at_ranks
from jax_rank_metrics._places.tie_groups import Line
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._types import Cut, Number, PositionFn

# At most this many items of every list are compared with all others at a time.
_MAX_BLOCK = 64


@dataclasses.dataclass(frozen=True)
class sigmoid_ranks:
    """Soft ranks for training, for the `relax` of `rank` and of every metric.

    The rank of item i is `1 + Σ sigmoid((score_j − score_i) / temperature)` over the
    other items j of its list. Without ties it nears the exact rank as the temperature
    falls; a high temperature has gradients that reach further. To change it during training
    without compiling again, divide the scores instead.

    Two instances of the same temperature are equal, so they share one compilation.

    >>> from jax_rank_metrics import reciprocal_rank
    >>> scores = jnp.array([2.0, 1.0])
    >>> value = reciprocal_rank(jnp.array([0, 1]), scores, relax=sigmoid_ranks(1.0))
    >>> f"{value.compute():.5f}"  # 1 / (1 + sigmoid(2 − 1)) = 1 / 1.73106
    '0.57768'

    Args:
        temperature: A positive number in the unit of the scores.

    Raises:
        ValueError: if the temperature is not positive, or infinite.
        TypeError: if it is not a Python number.

    References:
        Qin, Liu and Li, A general approximation framework for direct optimization of
        information retrieval measures, Information Retrieval 13(4), 2010.
    """

    temperature: Number

    def __post_init__(self) -> None:
        _inputs.positive("temperature", self.temperature)


@dataclasses.dataclass(frozen=True)
class _SoftPlace(Place):
    """A place of one rank, which is a real number."""

    def within(self, k: Cut) -> jax.Array:
        """Returns 1 where the nearest whole rank is at most k, else 0."""
        return self.sum(jnp.ones_like, k)


@pytree("temperature")
class SoftScores:
    """Scores from which soft places are computed.

    Shapes:
        scores: `[*lists, items]`, finite floats, 0 where no item exists.
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
        difference of two infinities is NaN. NaN counts as the lowest score.
        """
        scores = jnp.where(exists, scores, jnp.zeros_like(scores)).astype(dtype)
        limit = float(jnp.finfo(dtype).max)
        scores = jnp.nan_to_num(scores, nan=-limit, posinf=limit, neginf=-limit)
        # A temperature that rounds to 0 would divide 0 by 0.
        return cls(scores, max(float(relax.temperature), float(jnp.finfo(dtype).tiny)))

    def place(self, line: Line) -> Place:
        """Returns the place of every item, with the amounts summed above it.

        `counted_tied` is the amount of the item itself, since soft ranks do not tie.
        """
        amounts = [x.astype(line.dtype) for x in line.amounts]
        # [*lists, items, 1 + amounts]: what each item adds to the sums below it.
        addends = jnp.stack([line.exists.astype(line.dtype), *amounts], axis=-1)
        above, *counted_above = jnp.unstack(self._sums_above(addends), axis=-1)

        def place_sum(position_fn: PositionFn, k: Cut) -> jax.Array:
            # Soft ranks scatter around whole ones, so the cut is half-way after rank k.
            k = None if k is None else jnp.asarray(k).astype(line.dtype) + 0.5
            return at_ranks(position_fn, above + 1, k)

        ones = jnp.ones_like(above)
        return _SoftPlace(above, ones, tuple(counted_above), tuple(amounts), place_sum)

    def _sums_above(self, addends: jax.Array) -> jax.Array:
        """Sums the addends of all other items, weighted by how surely each is above.

        Addends and sums are `[*lists, items, amounts]`. The items are compared with all
        others one block at a time; the gradient repeats the comparisons, so that they need
        not be kept in memory.
        """
        scores, items = self.scores, self.scores.shape[-1]
        lists = scores.shape[:-1]
        num_blocks = max(1, -(-items // _MAX_BLOCK))
        size = -(-items // num_blocks)
        padded = _arithmetic.pad_items(scores, after=num_blocks * size - items)
        # [blocks, *lists, size]
        blocks = jnp.moveaxis(padded.reshape((*lists, num_blocks, size)), -2, 0)

        @jax.checkpoint
        def sums_of_block(block_scores: jax.Array, number: jax.Array) -> jax.Array:
            # [*lists, size, items]: how far the column's item leads the row's item.
            lead = scores[..., None, :] - block_scores[..., :, None]
            is_above = lax.logistic(lead / self.temperature)
            row_slots = number * size + jnp.arange(size, dtype=jnp.int32)
            column_slots = jnp.arange(items, dtype=jnp.int32)
            is_itself = row_slots[:, None] == column_slots[None]
            is_itself = is_itself.reshape((*[1] * len(lists), size, items))
            return _arithmetic.dot(jnp.where(is_itself, 0, is_above), addends)

        numbers = jnp.arange(num_blocks, dtype=jnp.int32)
        sums = lax.map(lambda x: sums_of_block(*x), (blocks, numbers))
        sums = jnp.moveaxis(sums, 0, -3).reshape(
            (*lists, num_blocks * size, addends.shape[-1])
        )
        return sums[..., :items, :]
