"""Serendipity: relevant items that nobody would have expected."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.ordering import matching, sort
from jax_rank_metrics._engine.ordering.keys import score_key
from jax_rank_metrics._engine.places import place as places
from jax_rank_metrics._engine.ranking import Items, Ranking, item_fns
from jax_rank_metrics._ground import arithmetic, types
from jax_rank_metrics._values import per_list


def _popularity_ranks(counts: jax.Array) -> jax.Array:
    """Ranks items by their counts, from 1; equal counts share a rank.

    Items that were never seen have the rank after the last, N + 1.

    Returns:
        `[num_items, 2]`, the rank and N: [9, 4, 4, 0] gives the ranks [1, 2, 2, 5].
    """
    if counts.ndim != 1:
        raise ValueError(
            f"'counts' has shape {counts.shape}; pass an array [num_items]"
        )
    was_seen = counts > 0
    keys, items = sort.sort_by([score_key(counts, was_seen)])
    starts = (keys != arithmetic.shifted(keys, 1)) | (arithmetic.iota(keys) == 0)
    ranks = arithmetic.cumulative_count(starts)
    ranks = matching.scattered(items, ranks, jnp.ones_like(starts), len(counts))
    ranks = jnp.where(was_seen, ranks, len(counts) + 1)
    ranks = ranks.astype(counts.dtype)
    return jnp.stack([ranks, jnp.full_like(ranks, len(counts))], axis=-1)


@metric(item_columns={"counts": _popularity_ranks}, ties="order", is_share=True)
def serendipity(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    relevance_threshold: types.Number = 1.0,
) -> per_list.PerList:
    """Serendipity: how many of the first k items are relevant, and less popular than that.

    .. math:: (1 / n) · Σ_{r ≤ k} rel_r · max(0, (N + 1 − r)/N − π_r)

    The sum is over the n items up to rank k, and N is the number of items of the catalogue.
    The first fraction falls from 1 at the first rank, as the list recommends its items less
    and less; π_r = (N + 1 − s_r)/N does so with the rank s_r that the item has by
    popularity, where equal counts share a rank. It stands for what would be recommended to
    anybody, and is 0 for an item that was never seen. A relevant item so counts by how
    much further up it is than its popularity would put it.

    Reads items that tie in one order. Undefined (nothing is listed or nothing is relevant):
    0. Also accepts the arguments of `rank`. Reads the column `counts` of `item_columns`,
    `[num_items]`: how often each item was seen in training. Rows of `columns`,
    `[*lists, items, 2]`, hold s and N.

    Others mean other numbers by the name: Ge, Delgado-Battenfeld and Jannach (RecSys 2010)
    count the relevant items that a simple recommender does not list, and recommenders'
    `serendipity` weighs them by 1 − their mean similarity to the profile.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.

    Raises:
        ValueError: if `counts` has more than one number for an item.

    Example:
        >>> import jax_rank_metrics as jrm
        >>> counts = [9, 4, 4, 0]  # by popularity 1, 2, 2 and, never seen, 5
        >>> lists = jrm.rank_ids([3, 0, 2], [2, 3], item_columns={"counts": counts})
        >>> serendipity.of(lists, k=(1, 2, 3)).values.tolist()
        [1.0, 0.5, 0.33...]

    References:
        Murakami, Mori and Orihara, Metrics for evaluating the serendipity of
        recommendation lists, JSAI 2007. Agrees with RecTools' `Serendipity`.
    """
    ks, hit = ranking.cutoffs(k), label_fns.is_relevant(relevance_threshold)
    # Of items that are not relevant these are 0, so that any ranking knows them.
    counting = _number_if(hit, 0), _number_if(hit, 1)
    sums = ranking.expected_sum(hit, _lead, ks, counting=counting)
    length = ranking.depth((None,))
    # NaN if an item is none of the catalogue, so that no column is known of it.
    unknown = ranking.pool_sum(_rank_by_popularity) * 0
    values = arithmetic.ratio(sums, ranking.depth(ks)) + unknown[..., None]
    defined = (ranking.num_relevant(relevance_threshold) > 0) & (length[..., 0] > 0)
    return ranking.per_list(values, defined, k, hit)


def _lead(place: places.Place, k: types.Cut) -> jax.Array:
    """Returns by how much an item is further up than its popularity would put it."""
    by_popularity, num_items = place.counted_tied  # of the item alone, in one order
    lead = jnp.maximum(by_popularity - (place.above + 1), 0)
    return place.within(k) * arithmetic.ratio(lead, num_items)


@by_options
def _number_if(items: Items, *, hit: item_fns.ItemFn, entry: int) -> jax.Array:
    """Returns the rank by popularity or the number of items of those that are relevant."""
    return jnp.where(hit(items), _popularity(items)[..., entry], 0)


def _rank_by_popularity(items: Items) -> jax.Array:
    return jnp.where(items.exists, _popularity(items)[..., 0], 0)


def _popularity(items: Items) -> jax.Array:
    """Returns the rank of items by popularity and their number, `[*lists, items, 2]`."""
    column, lists = items.columns["counts"], items.exists.shape
    if column.shape != (*lists, 2):
        raise ValueError(
            f"'counts' has shape {column.shape} where items are known, {lists}; pass one "
            "number for each item, item_columns={'counts': [num_items]}"
        )
    return column
