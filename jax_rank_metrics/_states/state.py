"""What every mergeable state is: sums and counts, to which merging adds others."""

import abc
from typing import TypeVar

import jax
import jax.numpy as jnp

from jax_rank_metrics._states.pairs import Pair, canonical, merge_two, reduce_axis

S = TypeVar("S", bound="State")


class State(abc.ABC):
    """Sums over lists, and how many there were: merging two states adds them.

    A kind of state is a class under `pytree` that has these two leaves, and `compute`.
    States that vmap, scan or pmap has stacked have its axes before these:
        sums: whatever is summed of each list, of any shape.
        counts: `[2]` int32, `lists` and `undefined`.
    """

    sums: Pair
    counts: jax.Array
    _alike = "the same cutoffs"  # what makes the shapes of two states equal

    @property
    def lists(self) -> jax.Array:
        """How many lists entered the mean, `[]` int32."""
        return self.counts[..., 0]

    @property
    def undefined(self) -> jax.Array:
        """How many lists of weight > 0 had no value of their own, `[]` int32."""
        return self.counts[..., 1]

    @property
    def _stacked(self) -> tuple[int, ...]:
        return jnp.shape(self.counts)[:-1]

    def merge(self: S, other: S) -> S:
        """The state of the lists of both.

        Raises:
            TypeError: if `other` is no state of this kind.
            ValueError: if the states differ in shape, as with different cutoffs.
        """
        if not isinstance(other, type(self)):
            raise TypeError(
                f"merge got a {type(other).__name__}; pass a {type(self).__name__}, or "
                "states in dicts and other pytrees to jax_rank_metrics.merge"
            )
        same_shapes(self, other)
        return merge_two(canonical(self), canonical(other))

    def reduce(self: S) -> S:
        """Merges along a leading axis that vmap, scan or pmap has added to every leaf.

        Raises:
            ValueError: if there is no such axis.
        """
        stacked_axis(self)
        return reduce_axis(canonical(self))

    @abc.abstractmethod
    def compute(self) -> jax.Array:
        """The mean over all lists; 0 where nothing counted."""


def same_shapes(one: State, two: State) -> None:
    """Raises where states have different cutoffs, or are stacked differently."""
    if one._stacked != two._stacked:
        raise ValueError(
            f"states are stacked along axes of shape {one._stacked} and "
            f"{two._stacked}; reduce them first"
        )
    shapes = [jnp.shape(x.sums.high)[len(x._stacked) + 1 :] for x in (one, two)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"states differ in shape: {shapes[0]} and {shapes[1]}; pass states of "
            f"{one._alike}"
        )


def stacked_axis(state: State) -> None:
    """Raises where a state has no leading axis to reduce."""
    if not state._stacked:
        raise ValueError(
            "stacked holds a state without a leading axis; pass states stacked by "
            "vmap, scan or pmap"
        )
