"""Counts the items above and around a few target items, without ordering all items."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.ordering import keys as _keys
from jax_rank_metrics._engine.ordering import outranking_cpu, sort
from jax_rank_metrics._engine.ordering.candidates import Candidates
from jax_rank_metrics._engine.ordering.policies import Policy
from jax_rank_metrics._ground import arithmetic, meshes

# The integers by which items are ordered, the most significant first. Each array broadcasts
# with `[*lists, items]`.
Levels = Sequence[jax.Array]
Comparison = Callable[[Levels, Levels], jax.Array]

# For this many targets, a CPU counts the items above in the time of sorting all items.
MAX_COUNTED = 40

# Items are counted without a loop for up to this many targets. A CPU then writes the
# comparisons with each target to memory, so it does this only up to these numbers of items
# in all lists: the first for one target, the second for a few.
_FEW_TARGETS = 4
_FEW_ITEMS = 2**22, 2**18

# If a list has fewer items than this, a float32 counts them exactly.
_EXACT = 2**24


class Outranking(NamedTuple):
    """Counts of items around each target, `[*lists, targets]` int32, and of NaN scores.

    In the list of scores 9 7 7 4, the second 7 has the counts 1 above, 2 equal and, if ties
    are in index order, 2 before. For targets that do not exist, the numbers mean nothing.
    """

    above: jax.Array  # items with better scores
    equal: jax.Array  # items with equal scores, the target included
    before: jax.Array  # items that precede the target in the order of the tie policy
    nans: jax.Array  # [*lists, 1], above 0 if the score of an item is NaN

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> "Outranking":
        """Returns the counts for targets of this shape if there are no items."""
        zeros = jnp.zeros(shape, jnp.int32)
        return cls(zeros, zeros, zeros, jnp.zeros((*shape[:-1], 1), jnp.int32))


def is_loop_free(num_targets: int, num_items: int) -> bool:
    """True if targets are so few that a CPU counts items without a loop over targets.

    Args:
        num_targets: The number of targets in each list.
        num_items: The number of items in all lists; symbolic in some exports.
    """
    is_few = 0 < num_targets <= _FEW_TARGETS and isinstance(num_items, int)
    return is_few and num_items <= _FEW_ITEMS[num_targets > 1]


def outranking(
    targets: Candidates, items: Candidates, is_member: jax.Array, policy: Policy
) -> Outranking:
    """Counts the items above, level with, and before each target.

    Few targets are counted without a loop. For more targets, items are counted for one
    target after the other, so that scores are read once for each. A CPU counts a part of
    the items at a time, for the targets that exist in some list; if there are many targets,
    a CPU looks targets up in a sort of all scores. Accelerators always count: looking up a
    target takes a dozen gathers, and in the time of one gather they read thousands of
    scores.

    Args:
        targets: `[*lists, targets]`, from anywhere in the lists.
        items: `[*lists, items]`, all or a part of the lists.
        is_member: `[*lists, targets]` bool, true for targets that are among `items`.
        policy: How ties are broken.
    """
    num_targets, on_cpu = targets.keys.shape[-1], None
    is_few = 0 < num_targets <= _FEW_TARGETS
    count = partial(_outranking, policy, "at once" if is_few else "each")
    if num_targets > MAX_COUNTED:
        on_cpu = partial(_outranking, policy, "sorted")
    elif num_targets and not is_loop_free(num_targets, items.keys.size):
        if outranking_cpu.has_parts(items.keys):
            on_cpu = partial(_outranking, policy, "parts")
    if on_cpu is None:
        return count(targets, items, is_member)
    return lax.platform_dependent(targets, items, is_member, cpu=on_cpu, default=count)


def _outranking(
    policy: Policy,
    method: Literal["at once", "each", "parts", "sorted"],
    targets: Candidates,
    items: Candidates,
    is_member: jax.Array,
) -> Outranking:
    """Counts items by a method, and compares tie-breaks only if any items tie."""
    is_sorting, count = method == "sorted", _count_each
    if method == "at once":
        count = _count_at_once
    elif is_sorting:
        count = outranking_cpu.count_sorted
    elif method == "parts":
        index = arithmetic.iota(targets.items.exists)
        num_targets = jnp.max(jnp.where(targets.items.exists, index + 1, 0), initial=0)
        count = partial(outranking_cpu.count_in_parts, num_targets)
    keys = outranking_cpu.descending(items.keys) if is_sorting else items.keys
    above, through = count([targets.keys], [keys], _precedes, _precedes_or_equals)
    # Zeros that vary over the same mesh axes as `above`.
    nans, size = 0 * jnp.sum(above, axis=-1, keepdims=True), keys.shape[-1]
    is_nan = _keys.is_nan(keys[..., :1] if is_sorting else keys, items.dtype)
    if is_nan is not None:
        if method == "at once" and isinstance(size, int) and size < _EXACT:
            first = targets.keys[..., :1]
            *first_counts, nans = _count_unless_nan(
                [keys > first, keys >= first], is_nan
            )
            above, through = (
                jnp.concatenate([number, counts[..., 1:]], axis=-1)
                for number, counts in zip(first_counts, (above, through), strict=True)
            )
        else:
            nans = arithmetic.count(is_nan)[..., None]
    equal = through - above
    if _keys.shares_least_key(items.dtype):
        is_least = targets.keys == jnp.iinfo(keys.dtype).min
        num_missing = arithmetic.count(~items.items.exists)[..., None]
        equal = equal - jnp.where(is_least, num_missing, 0)
    if policy.forbids_order:
        return Outranking(above, equal, above, nans)

    def by_tie_breaks() -> jax.Array:
        ranked = items
        if is_sorting:
            sort_keys = items.sort_keys(policy)
            ranked = items.at(sort.sort_by(sort_keys, (), policy.is_hashed)[1])
        target_levels, levels = (
            [*candidates.sort_keys(policy), -candidates.ids]
            for candidates in (targets, ranked)
        )
        return count(target_levels, levels, _precedes)[0]

    if policy.keeps_index_order and method == "at once":
        # Comparing is as quick as a branch here.
        return Outranking(above, equal, by_tie_breaks(), nans)
    any_ties = meshes.unvmap_any(
        targets.items.exists & (equal > is_member.astype(jnp.int32))
    )
    before = lax.cond(any_ties, by_tie_breaks, lambda: above)
    return Outranking(above, equal, before, nans)


def _count_unless_nan(flags: Sequence[jax.Array], is_nan: jax.Array) -> list[jax.Array]:
    """Counts two flags of items, and finds NaN: items with NaN add NaN to the same sum.

    If lists are short enough, both counts are digits of one sum.

    Returns:
        The two counts, which are 0 if any item is NaN; and a third number, which is 1 if
        any item is NaN, else 0. Each is `[*lists, 1]` int32.
    """
    digit = is_nan.shape[-1].bit_length()
    is_short = 2 * digit <= _EXACT.bit_length() - 1
    amounts = [flag.astype(jnp.float32) for flag in flags]
    if is_short:
        amounts = [amounts[0] + amounts[1] * 2.0**digit]
    amounts[0] = jnp.where(is_nan, jnp.nan, amounts[0])
    totals = [jnp.sum(amount, axis=-1, keepdims=True) for amount in amounts]
    nan_found = jnp.isnan(totals[0])
    counts = [jnp.where(nan_found, 0, total).astype(jnp.int32) for total in totals]
    if is_short:
        counts = [counts[0] & ((1 << digit) - 1), counts[0] >> digit]
    return [*counts, nan_found.astype(jnp.int32)]


def _precedes(levels: Levels, target_levels: Levels) -> jax.Array:
    """True for each item that precedes a target; the first level that differs decides."""
    precedes, undecided = jnp.zeros((), bool), jnp.ones((), bool)
    for level, target_level in zip(levels, target_levels, strict=True):
        precedes = precedes | (undecided & (level > target_level))
        undecided = undecided & (level == target_level)
    return precedes


def _precedes_or_equals(levels: Levels, target_levels: Levels) -> jax.Array:
    return ~_precedes(target_levels, levels)


def _count_at_once(
    target_levels: Levels, levels: Levels, *comparisons: Comparison
) -> list[jax.Array]:
    """Counts as `_count_each` does, for all targets in one program without a loop."""
    counts = []
    for slot in range(target_levels[0].shape[-1]):
        target = [lax.index_in_dim(level, slot, axis=-1) for level in target_levels]
        counts.append(
            [arithmetic.count(compare(levels, target)) for compare in comparisons]
        )
    return [
        jnp.stack(slot_counts, axis=-1) for slot_counts in zip(*counts, strict=True)
    ]


def _count_each(
    target_levels: Levels, levels: Levels, *comparisons: Comparison
) -> list[jax.Array]:
    """Counts for one target after the other, so that no array holds all pairs.

    Returns:
        For each comparison, the number of items for which it holds, `[*lists, targets]`
        int32.
    """
    slots = arithmetic.iota(target_levels[0])

    def count(counts: list[jax.Array], slot: jax.Array) -> tuple[list[jax.Array], None]:
        target = [
            lax.dynamic_slice_in_dim(level, slot, 1, -1) for level in target_levels
        ]
        numbers = [arithmetic.count(compare(levels, target)) for compare in comparisons]
        updates, is_slot = zip(numbers, counts, strict=True), slots == slot
        return [jnp.where(is_slot, new[..., None], old) for new, old in updates], None

    if not target_levels[0].shape[-1]:  # a loop would still trace one step
        return [jnp.zeros_like(target_levels[0], jnp.int32) for _ in comparisons]
    # Carry counts, because TPU's compiler hangs if `lax.map` stacks them over blocks.
    start = [jnp.zeros(target_levels[0].shape, jnp.int32) for _ in comparisons]
    start = meshes.match_varying(start, (target_levels, levels))
    return lax.scan(count, start, jnp.arange(target_levels[0].shape[-1]))[0]
