"""Sums of pairs for each of many groups of lists."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _mesh
from jax_rank_metrics._states.double_floats import FloatPair, sums

_LANES = 1024


def grouped(
    terms: Sequence[FloatPair],
    counted: Sequence[jax.Array],
    groups: jax.Array,
    number: int,
) -> tuple[FloatPair, jax.Array]:
    """Adds pairs and counts over the lists of each group.

    There is no scatter that adds pairs. So lists are dealt out to lanes, each of which
    has sums of its own for every group: then no two lists of one step meet in one sum.
    Time is of lists, and so is memory unless there are more groups than lists.

    Args:
        terms: Each `[*lists, columns]`.
        counted: Bools, each `[*lists]`.
        groups: `[*lists]` integers or bools; others than 0 … number − 1 are no group.
        number: How many groups there are.

    Returns:
        `[number, len(terms), columns]` and `[number, len(counted)]` int32.
    """
    size = groups.size
    lanes = min(max(size // number, 8), _LANES)
    steps = -(-size // lanes)
    if groups.dtype.itemsize < 4:
        groups = groups.astype(jnp.int32)
    groups = jnp.where((groups >= 0) & (groups < number), groups, number)
    groups = groups.astype(jnp.int32).reshape(-1)
    counts = jnp.zeros((number, len(counted)), jnp.int32)
    counts = _mesh.match_varying(counts, (groups, counted))
    each = jnp.stack([x.reshape(-1) for x in counted], -1).astype(jnp.int32)
    counts = counts.at[groups].add(each, mode="drop")

    def dealt(x: jax.Array, fill: int) -> jax.Array:
        rest = jnp.full((lanes * steps - size, *x.shape[1:]), fill, x.dtype)
        return jnp.concatenate([x, rest]).reshape(steps, lanes, *x.shape[1:])

    columns = terms[0].high.shape[-1]
    every = jax.tree.map(lambda *x: jnp.stack(x, -2), *terms)
    every = jax.tree.map(lambda x: x.reshape(size, len(terms), columns), every)
    every = jax.tree.map(lambda x: dealt(x, 0), every)
    zero = jnp.zeros((lanes, number + 1, len(terms), columns), terms[0].high.dtype)
    begin = _mesh.match_varying(FloatPair.of(zero), (groups, terms))

    def add(
        held: FloatPair, step: tuple[jax.Array, FloatPair]
    ) -> tuple[FloatPair, None]:
        group, more = step
        at = (jnp.arange(lanes), group)
        found = jax.tree.map(lambda x: x[at], held) + more
        put = lambda x, new: x.at[at].set(new, unique_indices=True)  # noqa: E731
        return jax.tree.map(put, held, found), None

    held, _ = lax.scan(add, begin, (dealt(groups, number), every))
    added = sums([held], (0,))
    return jax.tree.map(lambda x: x[0, :number], added), counts
