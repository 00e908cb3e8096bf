"""Relevant items that nobody would have expected."""

from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine import ranking
from jax_rank_metrics._engine.formulas import id_lists
from jax_rank_metrics._engine.ordering import matching, sort
from jax_rank_metrics._engine.ordering.keys import score_key
from jax_rank_metrics._ground import arithmetic, inputs, shards, types
from jax_rank_metrics._values import per_list


def serendipity(
    ids: types.RankedIds | ranking.Ranking,
    relevant_ids: types.RelevantIds,
    counts: types.PerItem,
    k: types.RankCutoffs = None,
) -> per_list.PerList:
    """Serendipity: how many of the first k items are relevant, and less popular than that.

    .. math:: (1 / n) · Σ_{r ≤ k} rel_r · max(0, (N + 1 − r)/N − π_r)

    The sum is over the n items up to rank k, and N is the number of items of the catalogue.
    The first fraction falls from 1 at the first rank, as the list recommends its items less
    and less; π_r = (N + 1 − s_r)/N does so with the rank s_r that the item has by
    popularity, where equal counts share a rank. It stands for what would be recommended to
    anybody, and is 0 for an item that was never seen. A relevant item so counts by how
    much further up it is than its popularity would put it.

    Undefined (nothing is listed or nothing is relevant): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `exposure`.
            Padding and repeated ids leave the list, and later ids move up.
        relevant_ids: `[*lists, relevant]` integers, the items that each user likes. Ids
            outside the catalogue are padding.
        counts: `[num_items]`, how often each item was seen in training.
        k: Cutoff or cutoffs; None is all items.

    Raises:
        ValueError: as `popularity`; if the leading axes of the ids differ.
        TypeError: if ids are not integers.

    References:
        Murakami, Mori and Orihara, Metrics for evaluating the serendipity of
        recommendation lists, JSAI 2007. Agrees with RecTools' `Serendipity`. Others mean
        other numbers by the name: Ge, Delgado-Battenfeld and Jannach (RecSys 2010) count
        the relevant items that a simple recommender does not list, and recommenders'
        `serendipity` weighs them by 1 − their mean similarity to the profile.

    >>> ids, relevant = jnp.array([3, 0, 2]), jnp.array([2, 3])
    >>> counts = jnp.array([9, 4, 4, 0])  # by popularity 1, 2, 2 and, never seen, 5
    >>> serendipity(ids, relevant, counts, k=(1, 2, 3)).values.tolist()
    [1.0, 0.5, 0.33...]
    """
    ks, keep_cutoffs = inputs.rank_cutoffs(k), isinstance(k, (tuple, list))
    of_lists = inputs.frames_among(ids=ids, relevant_ids=relevant_ids)
    inputs.same_index(of_lists=of_lists)
    counts = inputs.item_counts(counts)
    items, dtype = id_lists.ranked_items("ids", ids, ks, "order")
    relevant, _ = id_lists.ranked_items("relevant_ids", relevant_ids, ties="order")
    inputs.same_lists("relevant_ids", relevant.ids, "ids", items.ids)
    static = ks, keep_cutoffs, id_lists.wider(dtype, inputs.float_dtype(counts)).name
    lists = _serendipities(*static, items.ids, relevant.ids, counts)
    return id_lists.if_known(lists, items, relevant)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _serendipities(
    ks: tuple[int | None, ...],
    keep_cutoffs: bool,
    dtype: str,
    ids: jax.Array,
    relevant_ids: jax.Array,
    counts: jax.Array,
) -> per_list.PerList:
    ids = shards.reshard_like(ids, relevant_ids)
    relevant_ids = shards.reshard_like(relevant_ids, ids)

    def of_shard(tree: tuple[jax.Array, jax.Array, jax.Array]) -> per_list.PerList:
        *lists, counts = tree
        in_both_lists = [
            jnp.where(id_lists.in_catalog(listed, counts), listed, -1).astype(jnp.int32)
            for listed in lists
        ]
        matched = matching.match(*in_both_lists)
        ranks = matched.first_ranks
        lead = id_lists.rows_of(
            lists[0], _popularity_ranks(counts), dtype
        ) - ranks.astype(dtype)
        worth = jnp.where(matched.in_both, jnp.maximum(lead, 0) / len(counts), 0)
        is_within = [ranks > 0 if k is None else (ranks > 0) & (ranks <= k) for k in ks]
        values = id_lists.mean_within(worth, jnp.stack(is_within, -2).astype(dtype))
        defined = (matched.first_length > 0) & (matched.second_length > 0)
        return id_lists.equally_weighted(values, defined, keep_cutoffs, is_share=True)

    return shards.map_shards(of_shard, (ids, relevant_ids, counts), ids[..., 0])


def _popularity_ranks(counts: jax.Array) -> jax.Array:
    """Ranks items by their counts, from 1; equal counts share a rank.

    Items that were never seen have the rank after the last, N + 1. [9, 4, 4, 0] gives
    [1, 2, 2, 5].
    """
    was_seen = counts > 0
    keys, items = sort.sort_by([score_key(counts, was_seen)])
    starts = (keys != arithmetic.shifted(keys, 1)) | (arithmetic.iota(keys) == 0)
    ranks = arithmetic.cumulative_count(starts)
    ranks = matching.scattered(items, ranks, jnp.ones_like(starts), len(counts))
    return jnp.where(was_seen, ranks, len(counts) + 1)
