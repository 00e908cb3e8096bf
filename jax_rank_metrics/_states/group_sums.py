"""Sums of float pairs over the lists of each of many groups."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _mesh
from jax_rank_metrics._states.double_floats import FloatPair, sums

_MAX_LANES = 1024


def sums_by_group(
    terms: Sequence[FloatPair],
    flags: Sequence[jax.Array],
    groups: jax.Array,
    num_groups: int,
) -> tuple[FloatPair, jax.Array]:
    """Sums pairs, and counts flags, over the lists of each group.

    XLA has no scatter that adds pairs, and a scatter that sets loses a list wherever two
    lists of a group are set at once. So lists are dealt out to lanes, each with a sum for
    every group. A scan then takes one list per lane at a time, so that no two lists of a
    step are added to the same sum. The sums of the lanes are added at the end. Five lists
    of the groups 0, 1, 1, 1, 0 in two lanes take three steps:

        step    lane 0    lane 1
        0       group 0   group 1
        1       group 1   group 1     (a sum in each lane)
        2       group 0   padding

    Time is linear in the number of lists, and so is memory unless there are more groups
    than lists.

    Args:
        terms: The pairs to sum, each `[*lists, columns]`.
        flags: Bools to count, each `[*lists]`.
        groups: `[*lists]` integers or bools, the group of each list; a number outside
            0 … num_groups − 1 stands for no group.
        num_groups: Number of groups.

    Returns:
        Sums `[num_groups, len(terms), columns]` and counts `[num_groups, len(flags)]`
        int32.
    """
    num_lists = groups.size
    lanes = min(max(num_lists // num_groups, 8), _MAX_LANES)
    steps = -(-num_lists // lanes)
    if groups.dtype.itemsize < 4:
        groups = groups.astype(jnp.int32)
    groups = jnp.where((groups >= 0) & (groups < num_groups), groups, num_groups)
    groups = groups.astype(jnp.int32).reshape(-1)
    counts = jnp.zeros((num_groups, len(flags)), jnp.int32)
    counts = _mesh.match_varying(counts, (groups, flags))
    stacked_flags = jnp.stack([x.reshape(-1) for x in flags], -1).astype(jnp.int32)
    counts = counts.at[groups].add(stacked_flags, mode="drop")

    def deal(x: jax.Array, fill: int) -> jax.Array:
        """Arranges `[lists, …]` as `[steps, lanes, …]`, padded with `fill`."""
        padding = jnp.full((lanes * steps - num_lists, *x.shape[1:]), fill, x.dtype)
        return jnp.concatenate([x, padding]).reshape(steps, lanes, *x.shape[1:])

    columns = terms[0].high.shape[-1]
    stacked = jax.tree.map(lambda *x: jnp.stack(x, -2), *terms)
    stacked = jax.tree.map(lambda x: x.reshape(num_lists, len(terms), columns), stacked)
    stacked = jax.tree.map(lambda x: deal(x, 0), stacked)
    # [lanes, num_groups + 1, terms, columns]; the last group takes the lists of no group.
    zeros = jnp.zeros((lanes, num_groups + 1, len(terms), columns), terms[0].high.dtype)
    start = _mesh.match_varying(FloatPair.of(zeros), (groups, terms))

    def add(
        totals: FloatPair, step: tuple[jax.Array, FloatPair]
    ) -> tuple[FloatPair, None]:
        group, values = step  # [lanes] and [lanes, terms, columns]
        slot = (jnp.arange(lanes), group)
        updated = jax.tree.map(lambda x: x[slot], totals) + values
        put = lambda x, new: x.at[slot].set(new, unique_indices=True)  # noqa: E731
        return jax.tree.map(put, totals, updated), None

    totals, _ = lax.scan(add, start, (deal(groups, num_groups), stacked))
    over_lanes = sums([totals], (0,))
    return jax.tree.map(lambda x: x[0, :num_groups], over_lanes), counts
