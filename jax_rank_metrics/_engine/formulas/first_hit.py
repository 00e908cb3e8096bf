"""Where the first relevant item ranks."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.formulas.hits import chance_of_hits
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import place
from jax_rank_metrics._engine.ranking import Ranking, data_of, stops, traced_data
from jax_rank_metrics._ground import gains, inputs, types
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._values import per_list

_NAMES = ("hr", "hit", "hits", "success", "cmc", "cumulative_match_characteristic")


@metric(
    names=_NAMES, order_free=lambda options: options["at_least"] == 1, is_share=True
)
def hit_rate(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    relevance_threshold: types.Number = 1.0,
    rank: types.RankReading | None = None,
    at_least: int = 1,
) -> per_list.PerList:
    """Hit rate, or success: 1 if any item at ranks 1..k is relevant, else 0.

    It reads only the rank of the first relevant item, so it needs no sort at any cutoff,
    unless `at_least` is above 1.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.
        rank: The value if the relevant item ties. None is the item's chance of a rank up to
            k. "realistic" is 1 if the mean of the item's ranks is at most k, else 0; see
            `reciprocal_rank`.
        at_least: How many relevant items must be at ranks 1..k. A list with fewer relevant
            items has the value 0. To ask for all relevant items, see `full_recall`.

    Raises:
        ValueError: if `at_least` is below 1, or if it is above 1 and `rank` is passed.

    Example:
        >>> labels, scores = jnp.array([0, 1, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> [f"{value:.1f}" for value in hit_rate(labels, scores, k=(1, 2)).compute()]
        ['0.0', '1.0']
        >>> hit_rate(labels, scores, k=(2, 3), at_least=2).compute().tolist()
        [0.0, 1.0]

    References:
        Agrees with trec_eval `success` and the hit rates of RecBole and torchmetrics. In
        metric learning and in image–text retrieval it is called `recall@k`. In
        re-identification, the values at the cutoffs 1, 2, 3, … are the cumulative match
        characteristic (CMC), which leaves out queries without a match, as torchreid does:
        pass `undefined="skip"`. "realistic" agrees with PyKEEN, and with OGB's lists of
        hits.
    """
    if rank is not None:
        inputs.option("rank", rank, types.RankReading, "None or ")
    at_least = inputs.positive_integer("at_least", at_least, inputs.MAX_INT32)
    if at_least > 1:
        if rank is not None:
            raise ValueError(
                f"at_least is {at_least}, but rank={rank!r} reads the only relevant item; "
                "pass one of the two"
            )
        needed = jnp.full_like(ranking.num_relevant(relevance_threshold), at_least)
        return chance_of_hits(ranking, needed, relevance_threshold, k)
    ks = ranking.cutoffs(k)
    # Pass the arguments of reciprocal rank, so that both share one pass over the items.
    _, chance_of_none = first_relevant(ranking, relevance_threshold, ks, rank)
    return label_fns.per_list_if_relevant(
        ranking, 1 - chance_of_none, relevance_threshold, k
    )


@metric(names=("rr", "mrr", "recip_rank"), order_free=True, is_share=True)
def reciprocal_rank(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    relevance_threshold: types.Number = 1.0,
    rank: types.RankReading | None = None,
) -> per_list.PerList:
    """Reciprocal rank: 1 / rank of the first relevant item, 0 beyond k.

    It reads only the rank of the first relevant item, so it needs no sort at any cutoff.
    Under `relax`, ranks are real numbers and no item is the first, so the value is the
    mean of 1 / rank over the relevant items of the pool.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.
        rank: How ties are read. None is the mean of 1 / rank over the orders of tied items.
            "realistic" is 1 divided by the mean rank of the relevant item, a smaller value:
            the convention of link prediction, for lists with one relevant item. Lists with
            several relevant items raise; inside `jax.jit`, which cannot check this, their
            first relevant item is read. Under `ties="best"` and `"worst"`, None and
            "realistic" agree, and give the optimistic and the pessimistic rank.

    Raises:
        ValueError: if `rank` is "realistic" and a list has several relevant items.

    Example:
        >>> import jax.numpy as jnp
        >>> labels, scores = jnp.array([0, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{reciprocal_rank(labels, scores).compute():.5f}"  # 1/3
        '0.33333'
        >>> tied = jnp.zeros(3)  # ranks 1 to 3: the mean of 1, 1/2, 1/3, or 1 over 2
        >>> [f"{reciprocal_rank(labels, tied, rank=rank).compute():.5f}"
        ...  for rank in (None, "realistic")]
        ['0.61111', '0.50000']

    References:
        Voorhees, The TREC-8 question answering track report, 1999. Agrees with trec_eval
        `recip_rank`, ranx, rax and keras_rs without ties. Under `relax` it is
        TF-Ranking's ApproxMRR: Bruch, Zoghi, Bendersky and Najork, Revisiting approximate
        metric optimization in the age of deep neural networks, SIGIR 2019. "realistic"
        agrees with PyKEEN and with OGB's `mrr`: Berrendorf, Faerman, Vermue and Tresp, On
        the ambiguity of rank-based evaluation of entity alignment or link prediction
        methods, 2020.
    """
    if rank is not None:
        inputs.option("rank", rank, types.RankReading, "None or ")
    ks = ranking.cutoffs(k)
    if data_of(ranking).is_soft:
        hit = label_fns.is_relevant(relevance_threshold)
        sums = ranking.expected_sum(hit, place.positions(gains.reciprocal_discount), ks)
        values = ratio(sums, ranking.num_relevant(relevance_threshold)[..., None])
    else:
        values, _ = first_relevant(ranking, relevance_threshold, ks, rank)
    return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, k)


def first_relevant(
    ranking: Ranking,
    threshold: types.Number,
    ks: Sequence[types.Cut],
    rank: types.RankReading | None,
    position_fn: types.PositionFn = gains.reciprocal_discount,
    reader: str = "rank='realistic'",
) -> tuple[jax.Array, jax.Array]:
    """Reads the rank of the first relevant item; see `ranking.expected_first` for results.

    With `rank="realistic"`, the mean rank of the item's tie group is read; lists with
    several relevant items then raise, except inside `jax.jit`, where labels are not known.

    Args:
        ranking: The lists.
        threshold: The least label of a relevant item.
        ks: Cutoffs.
        rank: How ties are read.
        position_fn: Maps ranks to the values that are averaged.
        reader: The subject of the message: the option or metric that reads the mean rank.
    """
    hit = label_fns.is_relevant(threshold)
    if rank is None:
        return ranking.expected_first(hit, position_fn, ks)
    reason = (
        f"{reader} reads the rank of the only relevant item, but several are relevant"
        "{}; pass lists of one relevant item"
    )
    data = traced_data(ranking)
    data.refuse(ranking.num_relevant(threshold) > 1, reason)
    return stops.at_mean_rank(data, hit, position_fn, ks)
