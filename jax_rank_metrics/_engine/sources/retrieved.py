"""`jrm.rank_retrieved` and `jrm.rank_ids`: lists that a system returned in rank order."""

import dataclasses
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.items import ItemArrays, RawItems, label_dtype
from jax_rank_metrics._engine.layouts.rows import Rows
from jax_rank_metrics._engine.ordering.order_on_host import ascending
from jax_rank_metrics._engine.ranking import pools, ranking_data
from jax_rank_metrics._engine.ranking.ranked_items import Ranked
from jax_rank_metrics._engine.ranking.ranking import Ranking
from jax_rank_metrics._engine.sources import item_columns as item_columns_
from jax_rank_metrics._engine.sources.lists import (
    Relevant,
    check_whole_lists,
    clean_weights,
    without_repeats,
)
from jax_rank_metrics._ground import arithmetic, choices, inputs, shards, types
from jax_rank_metrics._ground.messages import short_errors


def rank_retrieved(
    labels: types.Labels,
    mask: types.Mask | None = None,
    weights: types.Weights | None = None,
    *,
    pool_labels: types.Pool | None = None,
    pool_mask: types.PoolMask | None = None,
    pool_weights: types.Pool | None = None,
    num_relevant: types.PerListInput | None = None,
    list_weights: types.PerListInput | None = None,
    columns: types.Columns | None = None,
    pool_columns: types.Columns | None = None,
) -> Ranking:
    """Makes a ranking of lists that are already in rank order; nothing is sorted.

    Judged items that were not retrieved still count: the pool is every judged item,
    retrieved or not. A list with a pool but no retrieved item counts, with the value 0.
    The ranking is never cut, and there are no ties.

    Args:
        labels: `[*lists, retrieved]`, relevance in rank order. Padding (masked items, and
            labels that are negative or NaN) leaves the ranking, and later items move up.
        mask: `[*lists, retrieved]` bool, or None.
        weights: As for `rank`; item weights need `pool_weights` if a pool is given.
        pool_labels: `[*lists, pool]`, the labels of all judged items, retrieved or not, in
            any order; None if only retrieved items were judged. Inside `jax.jit`, a pool
            that lacks retrieved items cannot raise, so recall may exceed 1.
        pool_mask: `[*lists, pool]` bool, or None.
        pool_weights: `[*lists, pool]`, or None.
        num_relevant: `[*lists]` integers, how many relevant items each list has, retrieved
            or not. Pass it if only this number is known of the pool. If it is below the
            number of retrieved relevant items, the latter counts. With `num_relevant` ndcg
            raises, because it needs the labels of the pool.
        list_weights: As for `rank`.
        columns: A dict from column names to arrays `[*lists, retrieved, …]`; see `rank`.
            Without the column `judged`, all retrieved items count as judged, but metrics
            that read `judged` raise if more items with the label 0 were retrieved than the
            pool holds.
        pool_columns: The same columns of the pool, `[*lists, pool, …]`, if there is one.

    Returns:
        A `Ranking`.

    Raises:
        ValueError: if shapes differ, if both `pool_labels` and `num_relevant` are given,
            or if item weights come without the weights of the pool; outside `jax.jit`,
            also if a `num_relevant` is negative; if all labels are 0 or 1 and a list has
            more ones than its `num_relevant`, unless that number is 0; or if, for some
            label above 0, more items of at least this label were retrieved than the pool
            holds.
        TypeError: if an argument is not an array of numbers or a mask is not bool.

    >>> from jax_rank_metrics import recall
    >>> ranking = rank_retrieved(jnp.array([1, 0, 1, 0, 1]), num_relevant=4)
    >>> [f"{value:.2f}" for value in recall.of(ranking, k=(3, 4, 5)).values]
    ['0.50', '0.50', '0.75']
    """
    list_values = {"list_weights": list_weights, "num_relevant": num_relevant}
    item_values = {"labels": labels, "mask": mask, **inputs.named(columns)}
    (list_values if getattr(labels, "ndim", 1) > 1 else item_values)["weights"] = (
        weights
    )
    inputs.same_index(item_values, list_values)
    pool_values = {"pool_labels": pool_labels, "pool_mask": pool_mask}
    pool_values |= {"pool_weights": pool_weights}
    pool_values |= inputs.named(pool_columns, "pool_columns")
    inputs.same_index(pool_values)
    labels, mask = inputs.item_arrays("labels", labels, mask)
    weights, list_weights = inputs.weights_for(labels, weights, list_weights)
    num_relevant = inputs.whole_numbers("num_relevant", num_relevant, labels.shape[:-1])
    columns = inputs.columns(columns, "labels", labels.shape)
    weighs_items, raw_pool = weights is not None, None
    if weighs_items and num_relevant is not None:
        raise ValueError(
            "weights is per item, but num_relevant does not tell the weights of items in "
            "the pool; pass pool_labels and pool_weights instead"
        )
    if pool_labels is None:
        pool_arguments = {
            "pool_mask": pool_mask,
            "pool_weights": pool_weights,
            "pool_columns": pool_columns,
        }
        for name, value in pool_arguments.items():
            if value is not None:
                raise ValueError(f"{name} is given but pool_labels is None; pass both")
        dtype = inputs.float_dtype(labels, weights, list_weights).name
    else:
        if num_relevant is not None:
            raise ValueError("pool_labels and num_relevant are both given; pass one")
        pool_labels, pool_mask = inputs.item_arrays(
            "pool_labels", pool_labels, pool_mask
        )
        shaped_as = ("pool_labels", pool_labels.shape)
        inputs.same_lists("pool_labels", pool_labels, "labels", labels)
        if pool_weights is not None:
            pool_weights = inputs.real("pool_weights", pool_weights)
            inputs.same_shape("pool_weights", pool_weights, *shaped_as)
        if weighs_items != (pool_weights is not None):
            raise ValueError(
                f"the argument weights {'weighs' if weighs_items else 'does not weigh'} "
                f"items, but pool_weights is {'None' if weighs_items else 'given'}; pass "
                "both weights and pool_weights per item, or neither"
            )
        pool_columns = inputs.columns(pool_columns, *shaped_as, "pool_columns")
        if set(columns) != set(pool_columns):
            raise ValueError(
                f"columns are {sorted(columns)}, but pool_columns are "
                f"{sorted(pool_columns)}; pass the same names to both"
            )
        # One dtype for both, so that equal labels stay equal in the pool and the ranking.
        arrays = (labels, weights, list_weights, pool_labels, pool_weights)
        dtype = inputs.float_dtype(*arrays).name
        raw_pool = RawItems(
            pool_labels, dtype, pool_mask, pool_weights, None, pool_columns
        )
    check_whole_lists(
        labels=labels,
        mask=mask,
        pool_labels=None if raw_pool is None else raw_pool.labels,
        pool_mask=None if raw_pool is None else raw_pool.mask,
    )
    retrieved = RawItems(labels, dtype, mask, weights, None, columns)
    if num_relevant is not None:
        _check_num_relevant(retrieved, num_relevant)
    if raw_pool is not None:
        _check_pool(retrieved, raw_pool)
    return Ranking(_rank_retrieved(retrieved, raw_pool, num_relevant, list_weights))


def _check_num_relevant(retrieved: RawItems, num_relevant: jax.Array) -> None:
    """Raises if known labels contradict `num_relevant`, or a number is negative.

    Metrics choose which graded labels are relevant, so labels can only contradict the
    number if all of them are 0 or 1. Lists that are padding may have the number 0.
    """
    if not _are_known(retrieved, num_relevant):
        return
    number = np.asarray(num_relevant)
    if (number < 0).any():
        index = inputs.first_index(number < 0)
        raise ValueError(
            f"num_relevant is {number[index]}{_of_list(index)}; pass the number of all "
            "relevant items of a list, or 0 for a list that is padding"
        )
    labels = _positive_labels(retrieved)
    if (labels > 1).any():
        return
    counts = (labels == 1).sum(-1)
    exceeds = (counts > number) & (number > 0)
    if exceeds.any():
        index = inputs.first_index(exceeds)
        raise ValueError(
            f"num_relevant is {number[index]}{_of_list(index)}, but {counts[index]} "
            "retrieved items have the label 1; pass the number of all relevant items of a "
            "list, retrieved or not, or pass pool_labels"
        )


def _check_pool(retrieved: RawItems, pool: RawItems) -> None:
    """Raises if more items of at least some label were retrieved than the pool contains.

    Only labels above 0 are compared: retrieved items with the label 0 may be unjudged, and
    then the pool does not contain them.
    """
    if not _are_known(retrieved, pool):
        return
    # Compare labels in ascending order, aligned at their ends. With the labels 0 2 2 and a
    # pool of 1 1 2, the pool lacks a 2, because its second largest label is 1.
    labels, in_pool = (ascending(_positive_labels(side)) for side in (retrieved, pool))
    missing = labels.shape[-1] - in_pool.shape[-1]
    if missing > 0:
        # Fill up a shorter pool with 0. A longer pool is read from its largest labels on.
        in_pool = np.pad(in_pool, [(0, 0)] * (in_pool.ndim - 1) + [(missing, 0)])
    at_least = in_pool[..., max(0, -missing) :]
    exceeds = labels > at_least
    if exceeds.any():  # unless bfloat16 rounded a label
        exceeds &= labels > at_least * (1 + 2**-7)
    if exceeds.any():
        *lists, slot = inputs.first_index(exceeds)
        label = labels[(*lists, slot)]
        counts = [np.sum(side[tuple(lists)] >= label) for side in (labels, in_pool)]
        raise ValueError(
            f"labels: {counts[0]} retrieved items{_of_list(tuple(lists))} have a label of "
            f"at least {label:g}, but pool_labels holds {counts[1]} such labels; pass the "
            "labels of every judged item in pool_labels, retrieved or not"
        )


def _are_known(*arrays: RawItems | jax.Array) -> bool:
    """True unless an array is traced or partly on other hosts."""
    return all(map(inputs.is_readable, jax.tree.leaves(arrays)))


def _positive_labels(items: RawItems) -> np.ndarray:
    """Returns the labels on the host; 0 for padding and for labels that are not above 0."""
    labels, mask, weights = jax.device_get((items.labels, items.mask, items.weights))
    if labels.dtype.kind not in "iuf":  # NumPy sorts neither bools nor bfloat16 quickly
        labels = labels.astype(np.int8 if labels.dtype == bool else np.float32)
    # Unlike `maximum`, `fmax` turns NaN into the other number, 0.
    labels = np.fmax(labels, labels.dtype.type(0))
    for exists in (mask, None if weights is None else weights > 0):
        if exists is not None:
            labels = np.where(exists, labels, labels.dtype.type(0))
    return labels


def _of_list(index: tuple[int, ...]) -> str:
    return f" for list {index}" if index else ""


@jax.jit
def _rank_retrieved(
    retrieved: RawItems,
    raw_pool: RawItems | None,
    num_relevant: jax.Array | None,
    list_weights: jax.Array | None,
) -> ranking_data.RankingData:
    def rank_shard(
        retrieved: RawItems,
        raw_pool: RawItems | None,
        num_relevant: jax.Array | None,
        list_weights: jax.Array | None,
    ) -> ranking_data.RankingData:
        pool = None if raw_pool is None else raw_pool.read()
        data = rank_in_order(retrieved.read(), pool, num_relevant, list_weights)
        return dataclasses.replace(data, label_dtype=retrieved.label_dtype)

    arrays = (retrieved, raw_pool, num_relevant, list_weights)
    return shards.map_list_shards(rank_shard, retrieved.labels.ndim - 1, *arrays)


@short_errors()
def rank_ids(
    retrieved_ids: types.RetrievedIds | types.RaggedIds,
    relevant_ids: types.RelevantIds | types.RaggedIds | None = None,
    relevant_labels: types.RelevantIds | types.RaggedIds | None = None,
    *,
    list_weights: types.PerListInput | None = None,
    relevant_columns: types.Columns | None = None,
    item_columns: types.ItemColumns | None = None,
    profile_ids: types.ProfileIds | types.RaggedIds | None = None,
    profile_weights: types.ProfileWeights | types.RaggedIds | None = None,
    repeats: choices.Repeats = "keep",
) -> Ranking:
    """Makes a ranking from the ids that a system returned and the ids of relevant items.

    Ids are integers in padded arrays. Outside `jax.jit` they may also be integers or
    strings in lists of any lengths: a list of lists, or a dict or Series `{query: ids}`
    with the same queries on both sides; the ranking has the order of `retrieved_ids`. In
    lists only −1 is padding, and any other integer is an id, such as a hash of 64 bits. If
    an id is a string, below −1 or at least 2⁶³, all ids are compared as strings, and
    `items` of the ranking holds numbers, counted in the order in which ids first appear.
    `join` reads these forms too, and remarks on queries and ids that never match.

    Args:
        retrieved_ids: `[*lists, retrieved]` integers in rank order. In arrays, ids below 0
            are padding and leave the ranking, so that later ids move up. A repeated id is
            relevant at its first rank only.
        relevant_ids: `[*lists, relevant]` integers, distinct within a list; ids below 0
            are padding. Inside `jax.jit`, a repeated id counts where it occurs first.
            May also be sets instead of lists, or a dict `{query: {id: label}}`. Pass None
            for metrics that read no labels.
        relevant_labels: The same shape, the labels of the relevant ids; None is 1 for
            all. Retrieved ids that are not among the relevant ones have the label 0.
        list_weights: `[*lists]`, or None.
        relevant_columns: A dict from column names to arrays `[*lists, relevant, …]`; see
            `rank`. All other items have 0 or False in every column. Without the columns
            `judged` and `pooled`, only the relevant ids count as judged, so list judged
            non-relevant ids with the label 0.
        item_columns: A dict from column names to `[num_items, …]`; see `rank_catalog`. In
            an array, the number of a row is its id; a Series, a frame or a dict
            `{id: …}` names the ids. An id without a row raises; inside `jax.jit`, the
            values of its list are NaN.
        profile_ids: `[*lists, profile]`; see `rank_catalog`.
        profile_weights: `[*lists, profile]`; see `rank_catalog`.
        repeats: "keep" the rank of an id that was already retrieved, or "remove" it, so
            that later ids move up.

    Returns:
        A `Ranking` in one definite order, never cut, as from `rank_retrieved`. Its pool
        is every relevant and every retrieved item, and its `items` are ids.

    Raises:
        ValueError: if axes or shapes differ, if ids do not fit the integers of JAX, if a
            list repeats a relevant id, if the queries of the two sides differ, or if
            `repeats` is neither option.
        TypeError: if ids are not integers, or an entry that should be a list is not one.

    >>> from jax_rank_metrics import recall
    >>> ranking = rank_ids(jnp.array([7, 3, 9, 5, 8]), jnp.array([7, 9, 8, 4]))
    >>> [f"{value:.2f}" for value in recall.of(ranking, k=(3, 4, 5)).values]
    ['0.50', '0.50', '0.75']
    >>> ranking = rank_ids({"q1": ["b", "a"], "q2": []}, {"q1": ["a"], "q2": ["c", "d"]})
    >>> recall.of(ranking).values.tolist()
    [1.0, 0.0]
    """
    inputs.option("repeats", repeats, choices.Repeats)
    relevant_values = {"relevant_labels": relevant_labels}
    relevant_values |= {"relevant_columns": relevant_columns}
    for name, argument in relevant_values.items() if relevant_ids is None else ():
        if argument is not None:
            raise ValueError(f"{name} is given but relevant_ids is None; pass both")
    padded = inputs.padded_ids(
        retrieved_ids,
        relevant_ids,
        relevant_labels,
        profile_ids=profile_ids,
        profile_weights=profile_weights,
    )
    numbers = None
    if padded is not None:
        retrieved_ids, relevant_ids, profile_ids = padded[:3]
        relevant_labels, profile_weights, query_ids, numbers = padded[3:]
        if query_ids is not None:
            list_weights = inputs.weights_of_lists(list_weights, query_ids, "queries")
    ids_of_items = inputs.ids_of_columns(item_columns, numbers is None)
    if item_columns is not None and numbers is not None and ids_of_items is None:
        raise ValueError(
            "item_columns has rows 0, 1, …, but ids are hashes or names; pass its "
            "columns as dicts or Series keyed by id; or number all ids with jrm.pack, "
            "pass these numbers as ids, and order the rows by these numbers"
        )
    frames = inputs.frames_among(
        retrieved_ids=retrieved_ids, relevant_ids=relevant_ids, profile_ids=profile_ids
    )
    inputs.same_index(of_lists={**frames, "list_weights": list_weights})
    retrieved_ids = inputs.ids("retrieved_ids", retrieved_ids)
    lists_of = "retrieved_ids", retrieved_ids
    relevant, has_labels = Relevant.empty(retrieved_ids.shape[:-1]), False
    if relevant_ids is not None:
        listed = relevant_ids, relevant_labels, relevant_columns
        relevant = Relevant(*inputs.relevant_items(*listed, *lists_of))
        has_labels = True
    profiles = inputs.profiles(profile_ids, profile_weights, *lists_of)
    known = inputs.item_columns(item_columns, relevant_columns, (), ids_of_items)
    ids = {"retrieved_ids": retrieved_ids, "relevant_ids": relevant.ids}
    if profiles[0] is not None:
        ids["profile_ids"] = profiles[0]
    if ids_of_items is not None:
        columns = item_columns_.by_id(known, ids_of_items, numbers, ids)
    else:
        for name, column in known.items():
            inputs.ids_below(len(column), f"item_columns[{name!r}]", ids)
        columns = item_columns_.read(known)
    relevant = Relevant(*relevant[:3], columns, *profiles)
    weights = inputs.per_list("list_weights", list_weights, retrieved_ids.shape[:-1])
    check_whole_lists(retrieved_ids=retrieved_ids, relevant_ids=relevant.ids)
    if repeats == "remove":
        retrieved_ids = without_repeats(retrieved_ids)
    data = _rank_ids(retrieved_ids, relevant.distinct(), weights)
    data = dataclasses.replace(data, has_labels=has_labels, columns_by_id=(*columns,))
    return Ranking(data)


@jax.jit
def _rank_ids(
    retrieved_ids: jax.Array, relevant: Relevant, list_weights: jax.Array | None
) -> ranking_data.RankingData:
    # Item columns have no axis of lists, and are whole on every device.
    arrays = (retrieved_ids, relevant._replace(item_columns={}), list_weights)
    return shards.map_list_shards(
        _rank_ids_of_shard,
        retrieved_ids.ndim - 1,
        *arrays,
        replicated=(relevant.item_columns,),
    )


def _rank_ids_of_shard(
    retrieved_ids: jax.Array,
    relevant: Relevant,
    list_weights: jax.Array | None,
    columns: item_columns_.ItemColumns,
) -> ranking_data.RankingData:
    relevant = relevant.as_judged()._replace(item_columns=columns)
    relevant_items = relevant.items(list_weights)
    items, is_relevant = relevant.find(retrieved_ids, relevant_items)
    exists = retrieved_ids >= 0
    # Relevant items come first in the pool, then retrieved items that are not relevant.
    in_pool = jnp.concatenate([relevant_items.exists, exists & ~is_relevant], axis=-1)
    # Slots after the relevant items hold other retrieved items, with the label 0.
    pool = relevant_items.padded(exists.shape[-1])._replace(exists=in_pool)
    # Item columns are known for every id, so appended slots must not be left at 0.
    known = {
        name: jnp.concatenate(
            (relevant_items.columns[name], items.columns[name]), axis=exists.ndim - 1
        )
        for name in columns
    }
    pool = pool._replace(columns={**pool.columns, **known}).only(in_pool)
    ids = jnp.where(exists, retrieved_ids, -1).astype(jnp.int32)
    # An id that is not relevant has a rank too, with the label 0.
    retrieved = items._replace(exists=exists)
    data = rank_in_order(retrieved, pool, None, list_weights, ids, relevant.columns)
    dtype = label_dtype(relevant.labels, data.dtype)
    profile = relevant.profile(data.dtype)
    return dataclasses.replace(data, label_dtype=dtype, profile=profile)


def rank_in_order(
    retrieved: ItemArrays,
    pool: ItemArrays | None,
    num_relevant: jax.Array | None,
    list_weights: jax.Array | None,
    ids: jax.Array | None = None,
    partial_columns: Iterable[str] = (),
) -> ranking_data.RankingData:
    """Makes the data of a ranking from items that are already in rank order.

    Args:
        retrieved: The items in rank order, with gaps where no item exists.
        pool: Every judged item; None if all judged items were retrieved, or if
            `num_relevant` is given.
        num_relevant: `[*lists]` of any dtype, how many relevant items each list has, if
            only this number is known of the pool; else None.
        list_weights: `[*lists]` as passed, or None.
        ids: `[*lists, retrieved]` int32, the ids of the items; None for their indices.
        partial_columns: The names of columns that are known only for relevant items.
    """
    exists = retrieved.exists
    length = Rows().sum(exists)
    # Padding takes no rank: if the items 1, 3 and 4 of four exist, `above` is 0 1 1 2.
    above = Rows().cumulative_count(exists) - exists.astype(jnp.int32)
    if num_relevant is None:
        pool = retrieved if pool is None else pool
        pool_size = Rows().sum(pool.exists)
    else:
        num_relevant = jnp.maximum(num_relevant.astype(jnp.int32), 0)
        # This counts retrieved relevant items twice, but is only compared with 0.
        pool_size = length + num_relevant
    index = shards.map_shards(_items_at_ranks, (ids, exists, above), pool_size)
    return ranking_data.RankingData(
        items_held=Ranked(retrieved, Rows(), exists.shape[-1], index, rank_above=above),
        pool=None if pool is None else pools.Pool(pool, Rows()),
        length=length,
        known_relevant=num_relevant,
        list_exists=pool_size > 0,
        list_weights=clean_weights(list_weights, length.shape, retrieved.labels.dtype),
        ties="none",
        partial_columns=tuple(sorted(partial_columns)),
    )


def _items_at_ranks(arrays: tuple[jax.Array | None, jax.Array, jax.Array]) -> jax.Array:
    """Returns the id of the item at each rank; −1 for ranks without an item.

    Items move up into gaps: if the second of the ids [7, 8, 9] does not exist, the result
    is [7, 9, −1].

    Args:
        arrays: Three arrays `[*lists, retrieved]`: the ids of items, or None for their
            indices; bools, true for items that exist; and how many items are above each.

    Returns:
        `[*lists, retrieved]` int32.
    """
    ids, exists, above = arrays
    if ids is None:
        ids = jnp.broadcast_to(Rows().offset_in_list(exists), exists.shape)
    empty = jnp.full(exists.shape, -1, jnp.int32)
    slot = jnp.where(exists, above, exists.shape[-1])  # beyond the end, so dropped
    return arithmetic.put(empty, slot, ids)
