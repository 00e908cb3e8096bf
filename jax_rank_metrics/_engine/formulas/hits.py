"""Numbers and shares of relevant items among the first ranks."""

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.formulas.label_fns import (
    is_relevant,
    item_exists,
    per_list_if_relevant,
)
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places import hit_counts, place
from jax_rank_metrics._engine.ranking import Ranking, ranked_items, traced_data
from jax_rank_metrics._ground import inputs
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._ground.types import (
    Cutoffs,
    Number,
    PrecisionDenominator,
    RecallDenominator,
)
from jax_rank_metrics._values.per_list import PerList


@metric(names=("p", "prec", "set_p", "setp"), linear=True, is_share=True)
def precision(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: PrecisionDenominator = "retrieved",
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Precision: the share of the items at ranks 1..k that is relevant.

    .. math:: P@k = hits@k / min(k, n)

    `hits@k` is the number of relevant items at ranks 1..k, and n the number of items that
    have a rank.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        denominator: "retrieved" is min(k, n), as above; "k" is the cutoff itself, even if
            the list is shorter.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{precision(labels, scores, k=5).compute():.5f}"  # 2 of 3 items
        '0.66667'
        >>> f"{precision(labels, scores, k=5, denominator='k').compute():.5f}"  # 2 of 5
        '0.40000'

    References:
        Manning, Raghavan and Schütze, Introduction to information retrieval, 2008,
        section 8.4. "retrieved" agrees with keras_rs, TF-Ranking, rax and metrax; "k"
        with trec_eval `P`, ranx, torchmetrics and RecBole.
    """
    inputs.option("denominator", denominator, PrecisionDenominator)
    ks = ranking.cutoffs(k)
    hits = ranking.expected_sum(is_relevant(relevance_threshold), place.positions(), ks)
    depth = ranking.depth(ks, nominal=denominator == "k")
    return per_list_if_relevant(ranking, ratio(hits, depth), relevance_threshold, k)


@metric(
    names={
        **dict.fromkeys(("r", "set_recall", "setr"), {}),
        "set_relative_p": {"denominator": "attainable"},
    },
    is_share=True,
)
def recall(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    denominator: RecallDenominator = "relevant",
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Recall: the share of the pool's relevant items that are at ranks 1..k.

    .. math:: R@k = hits@k / R

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        denominator: "relevant" is R, the number of relevant items of the pool;
            "attainable" is min(k, R), so that 1 can be reached at every k. Without a
            cutoff, k is the number of items retrieved.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{recall(labels, scores, k=1).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        Manning et al. (see `precision`), section 8.3. "relevant" agrees with trec_eval
        `recall`, ranx, rax, keras_rs, TF-Ranking, metrax, torchmetrics and RecBole;
        "attainable" is the recall of Liang et al., Variational autoencoders for
        collaborative filtering, WWW 2018.
    """
    inputs.option("denominator", denominator, RecallDenominator)
    ks = ranking.cutoffs(k)
    hits = ranking.expected_sum(is_relevant(relevance_threshold), place.positions(), ks)
    divisor = ranking.num_relevant(relevance_threshold)[..., None]
    if denominator == "attainable":
        divisor = jnp.minimum(divisor, ranking.depth(ks, nominal=True))
    return per_list_if_relevant(ranking, ratio(hits, divisor), relevance_threshold, k)


@metric(names=("recall_all", "perfect_recall"), is_share=True)
def full_recall(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """Full recall: 1 if every relevant item of the pool is at ranks 1..k, else 0.

    It suits users who need all pieces of evidence at once, such as a model that answers a
    question from several passages. The mean is the share of lists whose `recall` is 1. If
    scores tie, the value of a list is the exact chance that its `recall` is 1.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs. A list of more than k relevant items has the value 0.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> full_recall(labels, scores, k=(2, 3)).compute().tolist()
        [0.0, 1.0]
        >>> tied = jnp.zeros(3)  # one of three pairs of items is the right one
        >>> f"{full_recall(labels, tied, k=2).compute():.5f}"
        '0.33333'

    References:
        Wu, Wang, Yu, Zhang, Chang and Yu, LongMemEval: benchmarking chat assistants on
        long-term interactive memory, ICLR 2025 (`recall_all`). If one relevant item, or a
        fixed number of them, is enough, see `hit_rate`.
    """
    needed = ranking.num_relevant(relevance_threshold)
    return chance_of_hits(ranking, needed, relevance_threshold, k)


def chance_of_hits(
    ranking: Ranking, needed: jax.Array, threshold: Number, k: Cutoffs
) -> PerList:
    """Returns the chance of at least `needed`, `[*lists]`, relevant items at ranks 1..k."""
    if traced_data(ranking).is_soft:
        raise ValueError(ranked_items.NO_ORDER)
    hit, ks = is_relevant(threshold), ranking.cutoffs(k)
    values = ranking.expected_sum(
        hit, hit_counts.reaches_hits, ks, counting=(hit,), per_list=(needed,)
    )
    return per_list_if_relevant(ranking, values, threshold, k)


@metric(names=("f", "f1", "set_f", "setf"), is_share=True)
def f_score(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    beta: Number = 1.0,
    relevance_threshold: Number = 1.0,
) -> PerList:
    """F score: the weighted harmonic mean of precision and recall at k.

    .. math:: F_β = (1 + β^2) · P · R / (β^2 · P + R)

    P and R have their default denominators.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        beta: β, how many times as much recall matters as precision.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{f_score(labels, scores, k=1).compute():.5f}"  # P = 1, R = 1/2
        '0.66667'

    References:
        van Rijsbergen, Information retrieval, 1979, chapter 7. Agrees with ranx `f1`
        if k items were retrieved.
    """
    beta = inputs.positive("beta", beta)
    ks = ranking.cutoffs(k)
    # With h hits among d items, and R relevant items, F is (1 + β²)·h / (β²·R + d). This is
    # linear in h, so the expected h gives the exact mean over the orders of tied items.
    # Divide numerator and denominator by 1 + β², so that a very small β gives precision,
    # and a very large β recall.
    precision_share = 1 / (1 + beta * beta)
    hits = ranking.expected_sum(is_relevant(relevance_threshold), place.positions(), ks)
    num_relevant = ranking.num_relevant(relevance_threshold)[..., None]
    depth = ranking.depth(ks)
    divisor = (1 - precision_share) * num_relevant + precision_share * depth
    return per_list_if_relevant(ranking, ratio(hits, divisor), relevance_threshold, k)


@metric(names=("set_map", "setap"), is_share=True)
def set_average_precision(
    ranking: Ranking, *, relevance_threshold: Number = 1.0
) -> PerList:
    """Set average precision: precision times recall of all items that have a rank.

    .. math:: hits^2 / (n · R)

    `hits` is the number of relevant items among the n items that have a rank, and R the
    number of relevant items of the pool.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{set_average_precision(labels, scores).compute():.5f}"  # 2/3 · 2/2
        '0.66667'

    References:
        Agrees with trec_eval `set_map` and ir_measures `SetAP`.
    """
    hit, ks = is_relevant(relevance_threshold), (None,)
    hits = ranking.expected_sum(hit, place.positions(), ks)
    num_relevant = ranking.num_relevant(relevance_threshold)[..., None]
    values = ratio(hits, ranking.depth(ks)) * ratio(hits, num_relevant)
    return per_list_if_relevant(ranking, values, relevance_threshold, None)


@metric()
def utility(
    ranking: Ranking,
    *,
    k: Cutoffs = None,
    worth: Number = 1.0,
    cost: Number = 1.0,
    relevance_threshold: Number = 1.0,
) -> PerList:
    """Utility: the worth of relevant items at ranks 1..k less the cost of other items.

    .. math:: worth · hits@k − cost · (min(k, n) − hits@k)

    n is the number of items that have a rank. The value may be negative.

    Undefined (no list): every list that exists has a value. Also accepts the
    arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        worth: The amount that each relevant item adds.
        cost: The amount that each other item subtracts.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{utility(labels, scores).compute():.1f}"  # 2 − 1
        '1.0'

    References:
        Lewis, The TREC-4 filtering track, TREC 1995. Agrees with trec_eval `utility`.
    """
    worth, cost = (
        inputs.not_negative("worth", worth),
        inputs.not_negative("cost", cost),
    )
    ks, hit = ranking.cutoffs(k), is_relevant(relevance_threshold)
    hits = ranking.expected_sum(hit, place.positions(), ks)
    values = (worth + cost) * hits - cost * ranking.depth(ks)
    return ranking.per_list(values, True, k, hit)


@metric(names=("rprec",), is_share=True)
def r_precision(ranking: Ranking, *, relevance_threshold: Number = 1.0) -> PerList:
    """R-precision: precision at rank R, the number of relevant items of the pool.

    .. math:: hits@R / R

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Also accepts the
    arguments of `rank`.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{r_precision(labels, scores).compute():.5f}"  # 1 of the first 2
        '0.50000'

    References:
        Manning et al. (see `precision`), section 8.4. Agrees with trec_eval `Rprec`.
    """
    hit = is_relevant(relevance_threshold)
    num_relevant = ranking.num_relevant(relevance_threshold)
    hits = ranking.expected_sum(hit, place.positions(), (num_relevant,))
    values = ratio(hits, num_relevant[..., None])
    return per_list_if_relevant(ranking, values, relevance_threshold, None)


@metric(names=("fallout",), lower_is_better=True, is_share=True)
def fall_out(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> PerList:
    """Fall-out: the share of the pool's non-relevant items that are at ranks 1..k.

    .. math:: (min(k, n) − hits@k) / N

    n is the number of items that have a rank, and N the number of items of the pool that
    are not relevant. Lower is better.

    Undefined (nothing non-relevant in the pool): 0. Also accepts the
    arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 0]), jnp.array([0.9, 0.8, 0.7])
        >>> f"{fall_out(labels, scores, k=2).compute():.5f}"  # 1 of 2
        '0.50000'

    References:
        van Rijsbergen, Information retrieval, 1979, chapter 7. Agrees with torchmetrics
        `RetrievalFallOut`, except for lists where it is undefined.
    """
    ks, hit = ranking.cutoffs(k), is_relevant(relevance_threshold)
    hits = ranking.expected_sum(hit, place.positions(), ks)
    pool_size = ranking.pool_sum(item_exists)
    num_nonrelevant = pool_size - ranking.num_relevant(relevance_threshold)
    values = ratio(ranking.depth(ks) - hits, num_nonrelevant[..., None])
    return ranking.per_list(values, num_nonrelevant > 0, k, hit)
