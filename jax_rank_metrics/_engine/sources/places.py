"""`jrm.rank_places`: judged items whose places were counted elsewhere."""

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.items import ItemArrays, RawItems
from jax_rank_metrics._engine.layouts.rows import Rows, with_unlisted
from jax_rank_metrics._engine.ordering import sort
from jax_rank_metrics._engine.ranking import pools, ranking, ranking_data
from jax_rank_metrics._engine.ranking.ranked_items import Ranked
from jax_rank_metrics._engine.sources.lists import check_whole_lists, clean_weights
from jax_rank_metrics._ground import arithmetic, inputs, shards, types

# Programs depend on the largest possible rank, so round it up to one of few numbers.
MAX_RANKS = (2**12, 2**16, 2**20, 2**24, inputs.MAX_INT32)


def rank_places(
    labels: types.Labels,
    above: types.Places,
    tied: types.Places,
    mask: types.Mask | None = None,
    *,
    num_retrieved: types.PerListInput,
    retrieved: types.Mask | None = None,
    columns: types.Columns | None = None,
    list_weights: types.PerListInput | None = None,
) -> ranking.Ranking:
    """Makes a ranking of judged items whose places are known; there are no scores.

    The place of an item is two numbers: how many items rank above its tie group, and how
    many items that group holds. Count both numbers where the run is sorted, and only for
    judged items: all other items have the label 0, and only take up ranks. The work grows
    with the number of judged items, not with the depth of the run. Outside `jax.jit`,
    nothing is sorted if items come in rank order.

    Metrics read tie groups, as they do under `ties=None`. Metrics that need one definite
    order raise unless every `tied` is 1; inside `jax.jit`, where `tied` is not known, these
    metrics read each item at the first rank of its group.

    Args:
        labels: `[*lists, judged]`, the relevance of judged items in any order. Masked
            items, and labels that are negative or NaN, are padding.
        above: `[*lists, judged]` integers, how many items of the list, judged or not,
            rank strictly above the tie group of each item.
        tied: `[*lists, judged]` integers, how many items that tie group holds, the item
            itself included; 1 if nothing ties with it.
        mask: `[*lists, judged]` bool, or None.
        num_retrieved: `[*lists]` integers, how many items have a rank, judged or not.
            If it is below the number of listed items with a rank, this raises; inside
            `jax.jit`, which cannot raise, the number of these items counts instead.
        retrieved: `[*lists, judged]` bool, or None for all. False is an item that was
            judged but has no rank; its `above` and `tied` are not read.
        columns: A dict from column names to arrays `[*lists, judged, …]`; see `rank`. All
            other items have 0 or False in every column; without the columns `judged` and
            `pooled`, they count as not judged.
        list_weights: `[*lists]`, or None.

    Returns:
        A `Ranking`, whose ranks go to the end of the lists. It has no `items`, because
        only the places of judged items are known. Metrics that give a value to items with
        the label 0, such as `ndcg` with a gain above 0 for this label, raise.

    Raises:
        ValueError: if shapes differ; outside `jax.jit`, also if places are impossible:
            `above` is negative, `tied` is below 1, a tie group reaches beyond
            `num_retrieved` or overlaps another group, or more items are listed in it
            than `tied` says.
        TypeError: if places are not integers, or a mask is not bool.

    >>> from jax_rank_metrics import average_precision, reciprocal_rank
    >>> labels, above, tied = jnp.array([[1, 0, 1], [1, 3, 3], [1, 2, 2]])
    >>> ranking = rank_places(labels, above, tied, num_retrieved=6)
    >>> f"{reciprocal_rank.of(ranking).values:.2f}"  # the first is at rank 2
    '0.50'
    >>> f"{average_precision.of(ranking).values:.3f}"  # (1/2 + (2/4 + 2/5)/2) / 2
    '0.475'
    """
    item_values = {"labels": labels, "above": above, "tied": tied, "mask": mask}
    item_values |= {"retrieved": retrieved, **inputs.named(columns)}
    list_values = {"num_retrieved": num_retrieved, "list_weights": list_weights}
    inputs.same_index(item_values, list_values)
    labels, mask = inputs.item_arrays("labels", labels, mask)
    like, lists = ("labels", labels.shape), labels.shape[:-1]
    above, tied = inputs.integers("above", above), inputs.integers("tied", tied)
    inputs.same_shape("above", above, *like)
    inputs.same_shape("tied", tied, *like)
    number = inputs.integers("num_retrieved", num_retrieved)
    inputs.per_list("num_retrieved", number, lists)
    retrieved = inputs.boolean("retrieved", retrieved, *like)
    columns = inputs.columns(columns, *like)
    list_weights = inputs.per_list("list_weights", list_weights, lists)
    check_whole_lists(labels=labels, above=above, tied=tied)
    dtype = inputs.float_dtype(labels, list_weights).name
    raw_items = RawItems(labels, dtype, mask, None, retrieved, columns)
    # Known places make a smaller program: without ties, for few ranks, without a sort.
    ties, max_ranks, in_order = _known_of(raw_items, above, tied, number)
    data = _rank_places(
        raw_items,
        *(array.astype(jnp.int32) for array in (above, tied, number)),
        list_weights,
        ties=ties,
        max_ranks=max_ranks,
        in_order=in_order,
    )
    return ranking.Ranking(data)


def rank_at_places(
    raw_items: RawItems,
    above: jax.Array,
    tied: jax.Array,
    num_retrieved: jax.Array,
    list_weights: jax.Array | None,
    *,
    ties: str | None,
    max_ranks: int,
    in_order: bool,
) -> ranking_data.RankingData:
    """Makes the data of `rank_places` from its checked arguments.

    Args:
        raw_items: `[*lists, judged]`, every judged item.
        above: `[*lists, judged]` int32.
        tied: `[*lists, judged]` int32.
        num_retrieved: `[*lists]` int32.
        list_weights: `[*lists]` as passed, or None.
        ties: "none" if every `tied` is 1, "tied" if some are above 1, None if unknown.
        max_ranks: The largest number of ranks that a list can have.
        in_order: True if items are sorted by `above`, with items without a rank last.
    """
    arrays = (raw_items, above, tied, num_retrieved, list_weights)
    raw_items, above, tied, num_retrieved, list_weights = shards.align_with_sharded(
        arrays, num_retrieved.ndim
    )
    listed = jnp.ones_like(raw_items.labels, bool)
    columns = {"judged": listed, "pooled": listed, **raw_items.columns}
    raw_items = dataclasses.replace(raw_items, columns=columns)
    judged, items = raw_items.read(), raw_items.retrieved_items()
    num_ranked = Rows().sum(items.exists)
    length = jnp.maximum(num_retrieved, num_ranked)
    # Judged items without a rank are in the pool, but take up no rank.
    num_unranked = Rows().sum(judged.exists) - num_ranked
    exists, layout = with_unlisted(judged.exists, length + num_unranked)
    # The places passed for items without a rank must not reach a formula.
    above, tied = (jnp.where(items.exists, count, 0) for count in (above, tied))
    if not in_order:
        items, above, tied = shards.map_shards(_by_rank, (items, above, tied), length)
    # No order is known within a tie group, so all its items get its first rank.
    ranked = Ranked(items, Rows(), max_ranks, rank_above=above, above=above, tied=tied)
    return ranking_data.RankingData(
        items_held=ranked,
        # The last slot stands for all items that were not judged.
        pool=pools.Pool(judged.padded(1)._replace(exists=exists), layout),
        length=length,
        list_exists=length + num_unranked > 0,
        list_weights=clean_weights(list_weights, length.shape, judged.labels.dtype),
        ties=ties,
        partial_columns=tuple(sorted(judged.columns)),
        label_dtype=raw_items.label_dtype,
    )


_rank_places = jax.jit(
    rank_at_places, static_argnames=("ties", "max_ranks", "in_order")
)


def _by_rank(
    arrays: tuple[ItemArrays, jax.Array, jax.Array],
) -> tuple[ItemArrays, jax.Array, jax.Array]:
    """Sorts items and their `above` and `tied` by rank; items without a rank come last."""
    items, above, tied = arrays
    key = jnp.where(items.exists, above, inputs.MAX_INT32)
    _, slots = sort.sort_by([~key])  # ascending
    return (
        items.at(slots),
        arithmetic.take(above, slots),
        arithmetic.take(tied, slots),
    )


def _known_of(
    raw_items: RawItems, above: jax.Array, tied: jax.Array, num_retrieved: jax.Array
) -> tuple[str | None, int, bool]:
    """Returns the static arguments of `rank_at_places`; raises for impossible places.

    If a value is traced or partly on other hosts, nothing is checked or known.
    """
    arrays = (raw_items.labels, raw_items.mask, raw_items.retrieved)
    arrays = (*arrays, above, tied, num_retrieved)
    for array in arrays:
        if not inputs.is_readable(array):
            return None, MAX_RANKS[-1], False
    host_arrays: Sequence[np.ndarray | None] = jax.device_get(arrays)
    labels, mask, retrieved, *ints = host_arrays
    # Use int64, because the sum of two int32 could overflow.
    start, size, length = (part.astype(np.int64) for part in ints if part is not None)
    assert labels is not None
    has_rank = labels >= 0
    for flags in (mask, retrieved):
        has_rank = has_rank if flags is None else has_rank & flags
    # Put items without a rank after all ranks, in an empty tie group.
    start = np.where(has_rank, start, length[..., None])
    size = np.where(has_rank, size, 0)
    _check_items(has_rank, start, size, length)
    _check_groups(has_rank, start, size)
    return (
        "tied" if (size > 1).any() else "none",
        next(ranks for ranks in MAX_RANKS if (length <= ranks).all()),
        bool((np.diff(start) >= 0).all()),
    )


def _check_items(
    has_rank: np.ndarray, above: np.ndarray, tied: np.ndarray, number: np.ndarray
) -> None:
    """Raises if a number of retrieved items is impossible, or a place by itself is."""
    is_wrong = (number < 0) | (number > inputs.MAX_INT32)
    if is_wrong.any():
        index = inputs.first_index(is_wrong)
        raise ValueError(
            f"num_retrieved is {number[index]}{_at(index)}; pass how many items have a "
            f"rank, from 0 to {inputs.MAX_INT32}"
        )
    is_wrong = (above < 0) | (tied < 1) | (above + tied > number[..., None])
    if (is_wrong & has_rank).any():
        index = inputs.first_index(is_wrong & has_rank)
        raise ValueError(
            f"above is {above[index]} and tied is {tied[index]}{_at(index)}, but "
            f"num_retrieved is {number[index[:-1]]}; pass as above how many items rank "
            "above the item's tie group, at least 0, as tied how many items the group "
            "holds, at least 1, and as num_retrieved at least the sum of both, because it "
            "counts unjudged items too"
        )


def _check_groups(has_rank: np.ndarray, above: np.ndarray, tied: np.ndarray) -> None:
    """Raises if tie groups overlap, or list more items than they hold."""
    # Number the ranks through all lists, so that one sort orders the groups of all lists.
    lists = np.arange(math.prod(above.shape[:-1])).reshape((*above.shape[:-1], 1))
    starts = (lists * (inputs.MAX_INT32 + 1) + above)[has_rank]
    tied = tied[has_rank]
    # Items with the places 1+3, 1+3 and 5+1 (above + tied) are in groups that start at 1
    # and 5. The first group has 3 ranks, and 2 of its items are listed.
    starts, first_items, groups, sizes = np.unique(
        starts, return_index=True, return_inverse=True, return_counts=True
    )
    group_tied = tied[first_items]
    # No group follows the last one; `_check_items` bounds it by `num_retrieved`.
    next_starts = np.append(starts[1:], np.iinfo(starts.dtype).max)
    is_wrong = (starts + group_tied > next_starts) | (sizes > group_tied)
    # Back from groups to items: items of one group must state the same size.
    is_wrong = is_wrong[groups] | (group_tied[groups] != tied)
    if is_wrong.any():
        index = tuple(int(i) for i in np.argwhere(has_rank)[np.argmax(is_wrong)])
        raise ValueError(
            f"above is {above[index]} and tied is {tied[np.argmax(is_wrong)]}{_at(index)}, "
            "but that tie group shares a rank with another one, or lists more items than "
            "it holds; pass the same above and the same tied for all items of a tie group, "
            "and count all items of the group in tied, judged or not"
        )


def _at(index: tuple[int, ...]) -> str:
    return f" at {index}" if index else ""
