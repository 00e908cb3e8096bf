"""Soft places: ranks that are real numbers, differentiable in the scores."""

import dataclasses

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._places.groups import Line
from jax_rank_metrics._places.place import Place, at_ranks
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._types import Cut, Number, PositionFn

# How many items of every list are compared with all others at a time.
_BLOCK = 64


@dataclasses.dataclass(frozen=True)
class sigmoid_ranks:
    """Soft ranks for training, for the `relax` of `rank` and of every metric.

    The rank of item i is `1 + Σ sigmoid((score_j − score_i) / temperature)` over the
    other items j of its list. Without ties it nears the exact rank as the temperature
    falls; a high one has gradients that reach further. To change it during training
    without compiling again, divide the scores instead.

    Two of the same temperature are equal, so they share one compilation.

    >>> from jax_rank_metrics import reciprocal_rank
    >>> scores = jnp.array([2.0, 1.0])
    >>> value = reciprocal_rank(jnp.array([0, 1]), scores, relax=sigmoid_ranks(1.0))
    >>> f"{value.compute():.5f}"  # 1 / (1 + sigmoid(2 − 1)) = 1 / 1.73106
    '0.57768'

    Args:
        temperature: In the unit of the scores, positive.

    Raises:
        ValueError: if the temperature is not positive, or infinite.
        TypeError: if it is no Python number.

    References:
        Qin, Liu and Li, A general approximation framework for direct optimization of
        information retrieval measures, Information Retrieval 13(4), 2010.
    """

    temperature: Number

    def __post_init__(self) -> None:
        _inputs.positive("temperature", self.temperature)


@dataclasses.dataclass(frozen=True)
class _SoftPlace(Place):
    """One rank, which is real."""

    def within(self, k: Cut) -> jax.Array:
        """1 where the nearest whole rank is at most k."""
        return self.sum(jnp.ones_like, k)


@pytree("temperature")
class Soft:
    """What soft places are worked out from.

    Shapes:
        scores: `[*lists, items]`, finite floats, 0 where no item exists.
        temperature: Static.
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
    ) -> "Soft":
        """From scores as they were passed; what is not finite has no gradient.

        Infinities become the ends of the dtype: of two of them a difference would be
        NaN. NaN is as the least score.
        """
        scores = jnp.where(exists, scores, jnp.zeros_like(scores)).astype(dtype)
        most = float(jnp.finfo(dtype).max)
        scores = jnp.nan_to_num(scores, nan=-most, posinf=most, neginf=-most)
        # One that rounds to 0 would divide 0 by 0.
        return cls(scores, max(float(relax.temperature), float(jnp.finfo(dtype).tiny)))

    def place(self, line: Line) -> Place:
        """The place of every item, and what is counted above it."""
        own = [holds.astype(line.dtype) for holds in line.counting]
        counted = jnp.stack([line.exists.astype(line.dtype), *own], axis=-1)
        above, *counted_above = jnp.unstack(self._above(counted), axis=-1)

        def add(position_fn: PositionFn, k: Cut) -> jax.Array:
            # Soft ranks scatter around whole ones: the edge is half-way to the next.
            k = None if k is None else jnp.asarray(k).astype(line.dtype) + 0.5
            return at_ranks(position_fn, above + 1, k)

        ones = jnp.ones_like(above)
        return _SoftPlace(above, ones, tuple(counted_above), tuple(own), add)

    def _above(self, counted: jax.Array) -> jax.Array:
        """For each item, the sums of what others count, by how surely they are above.

        Both `[*lists, items, counts]`. Neither this nor its gradient ever holds more
        than one block of the comparisons of all pairs.
        """
        scores, items = self.scores, self.scores.shape[-1]
        lists = scores.shape[:-1]
        blocks = max(1, -(-items // _BLOCK))
        size = -(-items // blocks)
        more = blocks * size - items
        own = _arithmetic.pad_items(scores, after=more)
        own = jnp.moveaxis(own.reshape((*lists, blocks, size)), -2, 0)

        @jax.checkpoint  # compared again on the way back, not kept
        def block(own: jax.Array, index: jax.Array) -> jax.Array:
            apart = scores[..., None, :] - own[..., :, None]
            sure = lax.logistic(apart / self.temperature)
            place = index * size + jnp.arange(size, dtype=jnp.int32)
            itself = place[:, None] == jnp.arange(items, dtype=jnp.int32)[None]
            itself = itself.reshape((*[1] * len(lists), size, items))
            return _arithmetic.dot(jnp.where(itself, 0, sure), counted)

        index = jnp.arange(blocks, dtype=jnp.int32)
        sums = jnp.moveaxis(lax.map(lambda x: block(*x), (own, index)), 0, -3)
        return sums.reshape((*lists, blocks * size, counted.shape[-1]))[..., :items, :]
