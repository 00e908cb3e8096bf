"""Metrics of early recognition, for virtual screening.

Virtual screening ranks a library of molecules, a few of them active. Only the first percent
of the library will be tested, so these metrics ask how much denser active molecules are
there. Below, an *active* item is a relevant item, and a *decoy* is any other item. The pool
has A active items and N decoys, n = A + N items in all.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics.metric import metric
from jax_rank_metrics._engine.places.place import Place, positions
from jax_rank_metrics._engine.ranking import Ranking, data_of
from jax_rank_metrics._ground import inputs
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._ground.types import Cut, Cutoffs, Number
from jax_rank_metrics._values import per_list


@metric(names=("ef",))
def enrichment_factor(
    ranking: Ranking, *, k: Cutoffs = None, relevance_threshold: Number = 1.0
) -> per_list.PerList:
    """Enrichment factor: how much denser active items are at ranks 1..k than in the pool.

    .. math:: EF@k = (hits@k / min(k, n)) / (A / n)

    hits@k is the number of active items at ranks 1..k. The pool has n items, A of them
    active. A random order has the value 1 on average, also without a cutoff.
    With k=share(0.01), or `ef@1%` by name, k is ceil(0.01·n): see `share`.

    Undefined (nothing relevant in the pool): 0. Also accepts the arguments of `rank`.

    Args:
        k: Cutoff or cutoffs.
        relevance_threshold: Least label of an active item.

    Example:
        >>> from jax_rank_metrics import share
        >>> labels, scores = jnp.array([1, 0, 1, 0, 0]), -jnp.arange(5.0)
        >>> state = enrichment_factor(labels, scores, k=(1, share(0.4)))
        >>> [f"{value:.5f}" for value in state.compute()]  # 1 / (2/5), 1/2 / (2/5)
        ['2.50000', '1.25000']

    References:
        Pearlman and Charifson, Improved scoring of ligand–protein interactions using OWFEG
        free energy grids, Journal of Medicinal Chemistry 44, 2001. Agrees with RDKit
        `CalcEnrichment`, which divides by the number of items tested, ceil(share·n).
    """
    ks, length = ranking.cutoffs(k), ranking.pool_sum(label_fns.item_exists)
    hits = ranking.expected_sum(
        label_fns.is_relevant(relevance_threshold), positions(), ks
    )
    num_active = ranking.num_relevant(relevance_threshold)
    values = ratio(hits * length[..., None], label_fns.pool_depth(ranking, ks))
    values = ratio(values, num_active[..., None])
    return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, k)


@metric()
def rie(
    ranking: Ranking, *, alpha: Number = 20.0, relevance_threshold: Number = 1.0
) -> per_list.PerList:
    """Robust initial enhancement: the exponential weight of active items over chance.

    .. math:: RIE = (1/A · Σ_{active} e^{−α·r/n}) / (1/n · Σ_{r = 1}^n e^{−α·r/n})

    r is the rank of an active item. The pool has n items, A of them active. A random order
    has the value 1 on average. The first 2/α of the list has 1 − e^−2 = 86 % of the
    weight: with α = 20, the first tenth. Active items without a rank add nothing.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Also accepts the
    arguments of `rank`.

    Args:
        alpha: α, above 0: the larger it is, the earlier an item must rank to count.
        relevance_threshold: Least label of an active item.

    Example:
        >>> labels, scores = jnp.array([1, 0]), jnp.array([0.9, 0.8])
        >>> state = rie(labels, scores, alpha=2)  # e^−1 / ((e^−1 + e^−2) / 2)
        >>> f"{state.compute():.5f}"
        '1.46212'

    References:
        Sheridan, Singh, Fluder and Kearsley, Protocols for bridging the peptide to
        nonpeptide gap in topological similarity searches, Journal of Chemical Information
        and Computer Sciences 41, 2001. Agrees with RDKit `CalcRIE`.
    """
    worth, worth_of_ranks = _early_worth(ranking, alpha, relevance_threshold)
    num_active = ranking.num_relevant(relevance_threshold)
    length = ranking.pool_sum(label_fns.item_exists)
    mean = ratio(worth_of_ranks(jnp.zeros_like(length), length), length)
    values = ratio(worth, (num_active * mean)[..., None])
    return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, None)


@metric()
def bedroc(
    ranking: Ranking, *, alpha: Number = 20.0, relevance_threshold: Number = 1.0
) -> per_list.PerList:
    """BEDROC: robust initial enhancement, from 0 for the worst order to 1 for the best.

    .. math:: BEDROC = (RIE − RIE_{min}) / (RIE_{max} − RIE_{min})

    RIE is the value of `rie`, RIE_max its value with all active items first, and RIE_min
    with all of them last. If active items are few (α·A ≪ n), BEDROC is the probability that
    an active item ranks before an item drawn from an exponential distribution of ranks.
    Active items without a rank add nothing, so the value of a list that returned no active
    item is a little below 0.

    Undefined (nothing relevant in the pool): 0. If every item is active, the value is
    1. Reads whole lists. Also accepts the arguments of `rank`.

    Args:
        alpha: α, above 0; see `rie`. Compare only values of the same α.
        relevance_threshold: Least label of an active item.

    Example:
        >>> labels, scores = jnp.array([0, 1, 0]), -jnp.arange(3.0)
        >>> state = bedroc(labels, scores, alpha=3)  # (e^−2 − e^−3) / (e^−1 − e^−3)
        >>> f"{state.compute():.5f}"
        '0.26894'

    References:
        Truchon and Bayly, Evaluating virtual screening methods: good and bad metrics for
        the "early recognition" problem, Journal of Chemical Information and Modeling
        47(2), 2007. Agrees with RDKit `CalcBEDROC`.
    """
    worth, worth_of_ranks = _early_worth(ranking, alpha, relevance_threshold)
    num_active = ranking.num_relevant(relevance_threshold)
    length = ranking.pool_sum(label_fns.item_exists)
    best_worth = worth_of_ranks(jnp.zeros_like(length), num_active)[..., None]
    worst_worth = worth_of_ranks(length - num_active, num_active)[..., None]
    values = 1 - ratio(best_worth - worth, best_worth - worst_worth)
    return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, None)


@metric(
    names={"logauc": {}, "adjusted_log_auc": {"adjusted": True}},
    is_share=lambda options: not options["adjusted"],
)
def log_auc(
    ranking: Ranking,
    *,
    min_fpr: float = 0.001,
    adjusted: bool = False,
    relevance_threshold: Number = 1.0,
) -> per_list.PerList:
    """LogAUC: the area under the ROC curve over the logarithm of the false positive rate.

    .. math:: LogAUC = (1/A) · Σ_{active} ln(1 / max(d/N, λ)) / ln(1/λ)

    d is the number of decoys before an active item, λ is `min_fpr`, and the pool has A
    active items and N decoys. On the logarithmic axis, false positive rates from 0.1 % to
    1 % count as much as rates from 1 % to 10 %. The value is the exact integral of the
    stepped curve from λ to 1. (Rules that join the points of the curve, by lines or by
    trapezoids on the logarithmic axis, have the same value unless items tie. These rules
    join the first and last point of a tie group; this value is the mean over the orders of
    the group.) Active items without a rank add nothing. Under `relax`, d is a real number
    in this formula.

    Undefined (no active item in the pool, or no decoy): 0. Reads whole lists. Also
    accepts the arguments of `rank`.

    Args:
        min_fpr: λ, the false positive rate at which the area starts, above 0 and below 1.
        adjusted: If True, the area of a random order is subtracted,
            (1 − λ) / ln(1/λ): 14.5 % for λ = 0.001.
        relevance_threshold: Least label of an active item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 1, 0, 0, 0]), -jnp.arange(6.0)
        >>> state = log_auc(labels, scores, min_fpr=0.1)  # (1 + ln(4) / ln(10)) / 2
        >>> f"{state.compute():.5f}"
        '0.80103'

    References:
        Mysinger and Shoichet, Rapid context-dependent ligand desolvation in molecular
        docking, Journal of Chemical Information and Modeling 50(9), 2010, whose adjusted
        LogAUC is `adjusted=True`. If nothing ties, agrees with torchmetrics
        `BinaryLogAUC` with `fpr_range=(0.001, 1)`.
    """
    hit = label_fns.is_relevant(relevance_threshold)
    min_fpr = inputs.open_fraction("min_fpr", min_fpr)
    inputs.flag("adjusted", adjusted)
    num_active = ranking.num_relevant(relevance_threshold)
    num_decoys = ranking.pool_sum(label_fns.item_exists) - num_active
    place_fn = _log_share_left(min_fpr, data_of(ranking).max_items or 0)
    if data_of(ranking).is_soft:
        place_fn = _soft_log_share_left(min_fpr)
    sums = ranking.expected_sum(
        hit, place_fn, (None,), counting=(hit,), per_list=(num_decoys,)
    )
    values = ratio(sums, num_active[..., None])
    if adjusted:
        values = values + (1 - min_fpr) / math.log(min_fpr)
    return ranking.per_list(values, (num_active > 0) & (num_decoys > 0), None, hit)


def _early_worth(
    ranking: Ranking, alpha: Number, threshold: Number
) -> tuple[jax.Array, Callable[[jax.Array, jax.Array], jax.Array]]:
    """Returns Σ e^(−α·(r − 1)/n) over active items, and a function for the sum over ranks.

    The first result is `[*lists, 1]`. The function takes `above` and `number`, `[*lists]`
    each, and sums over the ranks r = above + 1 … above + number. With r − 1 instead of r,
    the first rank counts 1 even if e^(−α/n) is too small for a float; this factor cancels
    from ratios of the sums.
    """
    alpha, length = (
        inputs.positive("alpha", alpha),
        ranking.pool_sum(label_fns.item_exists),
    )
    place_fn = _mean_exponential(alpha)
    worth = ranking.expected_sum(
        label_fns.is_relevant(threshold), place_fn, (None,), per_list=(length,)
    )
    return worth, lambda above, number: _exponentials(alpha, above, number, length)


@by_options
def _mean_exponential(
    place: Place, k: Cut, length: jax.Array, *, alpha: float
) -> jax.Array:
    del k
    return _exponentials(alpha, place.above, place.tied, length) / place.tied


def _exponentials(
    alpha: float, above: jax.Array, number: jax.Array, length: jax.Array
) -> jax.Array:
    """Sums e^(−α·(r − 1)/n) over r = above + 1 … above + number: a geometric series."""
    step = alpha / jnp.maximum(length, 1)
    return jnp.exp(-step * above) * jnp.expm1(-step * number) / jnp.expm1(-step)


@by_options
def _log_share_left(
    place: Place, k: Cut, num_decoys: jax.Array, *, min_fpr: float, max_rank: int
) -> jax.Array:
    """Returns ln(1 / max(d/N, λ)) / ln(1/λ), the mean over the orders of a tie group.

    If m decoys tie with an active item, 0, 1, … or m of these decoys are before the item,
    with equal probability. So the item's rank among the decoys, d + 1, is one of m + 1
    ranks.
    """
    del k
    (hits_above,), (hits_tied,) = place.counted_above, place.counted_tied
    tied = place.tied - hits_tied + 1
    decoys = place.among(place.above - hits_above, tied, max_rank + 1)
    # Ranks up to `full` have a d/N of at most λ; sum the logarithms of d at later ranks.
    full = jnp.floor(min_fpr * num_decoys) + 1
    log_sum = decoys.sum(_log_before, None) - decoys.sum(_log_before, full)
    num_beyond = tied - decoys.within(full)
    logs = num_beyond * jnp.log(jnp.maximum(num_decoys, 1)) - log_sum
    return (tied - num_beyond - logs / math.log(min_fpr)) / tied


@by_options
def _soft_log_share_left(
    place: Place, k: Cut, num_decoys: jax.Array, *, min_fpr: float
) -> jax.Array:
    """Returns ln(1 / max(d/N, λ)) / ln(1/λ) for a real number d of decoys."""
    del k
    decoys = place.above - place.counted_above[0]
    share_before = decoys / jnp.maximum(num_decoys, 1)
    return jnp.log(jnp.maximum(share_before, min_fpr)) / math.log(min_fpr)


def _log_before(ranks: jax.Array) -> jax.Array:
    """Returns the logarithm of the number of ranks before each rank; 0 for the first."""
    return jnp.log(jnp.maximum(ranks - 1, 1))
