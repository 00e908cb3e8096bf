"""Serendipity: relevant items that rank higher than their popularity suggests."""

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
    """Serendipity: how much higher relevant items rank than their popularity suggests.

    .. math:: (1 / n) · Σ_{r ≤ k} rel_r · max(0, (N + 1 − r)/N − π_r)

    The sum is over the n items up to rank k, and N is the number of items of the catalogue.
    The fraction (N + 1 − r)/N is 1 at the first rank and falls from rank to rank.
    π_r = (N + 1 − s_r)/N is the same fraction at the item's rank by popularity s_r; items
    with equal counts share a rank. π_r is thus the fraction in a list that shows everybody
    the popular items, and 0 for an item that was never seen. A relevant item counts by how
    much higher it ranks than its popularity would put it.

    Reads tied items in one order. Undefined (nothing is listed or nothing is relevant):
    0. Also accepts the arguments of `rank`. Reads the column `counts` of `item_columns`,
    `[num_items]`: how often each item was seen in training. Rows of `columns`,
    `[*lists, items, 2]`, must hold s and N.

    Other metrics have the same name: Ge, Delgado-Battenfeld and Jannach (RecSys 2010) count
    the relevant items that a simple recommender does not list, and recommenders'
    `serendipity` weighs relevant items by 1 − their mean similarity to the profile.

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
    # These are 0 for items that are not relevant, so any ranking can sum them.
    counting = _number_if(hit, 0), _number_if(hit, 1)
    sums = ranking.expected_sum(hit, _lead, ks, counting=counting)
    length = ranking.depth((None,))
    # NaN if an item is not in the catalogue, because its popularity is then unknown.
    unknown = ranking.pool_sum(_rank_by_popularity) * 0
    values = arithmetic.ratio(sums, ranking.depth(ks)) + unknown[..., None]
    defined = (ranking.num_relevant(relevance_threshold) > 0) & (length[..., 0] > 0)
    return ranking.per_list(values, defined, k, hit)


def _lead(place: places.Place, k: types.Cut) -> jax.Array:
    """Returns how much higher an item ranks than its popularity would put it, over N."""
    by_popularity, num_items = place.counted_tied  # nothing ties: of the item alone
    lead = jnp.maximum(by_popularity - (place.above + 1), 0)
    return place.within(k) * arithmetic.ratio(lead, num_items)


@by_options
def _number_if(items: Items, *, hit: item_fns.ItemFn, entry: int) -> jax.Array:
    """Returns an entry of the column, s or N, for relevant items, and 0 for other items."""
    return jnp.where(hit(items), _popularity(items)[..., entry], 0)


def _rank_by_popularity(items: Items) -> jax.Array:
    return jnp.where(items.exists, _popularity(items)[..., 0], 0)


def _popularity(items: Items) -> jax.Array:
    """Returns each item's rank by popularity and the number N, `[*lists, items, 2]`."""
    column, lists = items.columns["counts"], items.exists.shape
    if column.shape != (*lists, 2):
        raise ValueError(
            f"'counts' has shape {column.shape} for items of shape {lists}; pass one "
            "number for each item, item_columns={'counts': [num_items]}"
        )
    return column
