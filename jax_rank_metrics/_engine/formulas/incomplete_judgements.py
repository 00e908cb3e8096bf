"""Metrics for pools in which not every item was judged."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.formulas import label_fns
from jax_rank_metrics._engine.metrics import spec
from jax_rank_metrics._engine.metrics.metric import NAMES, metric
from jax_rank_metrics._engine.places.place import Place
from jax_rank_metrics._engine.ranking import Items, Ranking, with_labels
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._names import facts
from jax_rank_metrics._values import mean
from jax_rank_metrics._values.per_list import PerList


@metric(names=("gm_bpref",), optional_columns=("judged",), is_share=True)
def bpref(ranking: Ranking, *, relevance_threshold: types.Number = 1.0) -> PerList:
    """Binary preference: how often relevant items outrank judged non-relevant ones.

    .. math:: bpref = (1 / R) · Σ_i (1 − min(n_i, R) / min(R, N))

    The sum is over the relevant items i that have a rank. The pool has R relevant items
    and N judged items that are not relevant; n_i of these N items rank above i. A term is
    1 if n_i is 0. Unjudged items change nothing.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Also accepts the
    arguments of `rank`. Reads the bool column `judged`. Without it, every item counts
    as judged; in rankings from places or relevant ids, only the listed items do.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([1, 0, 0, 1]), jnp.array([0.9, 0.8, 0.7, 0.6])
        >>> columns = {"judged": jnp.array([True, False, True, True])}
        >>> f"{bpref(labels, scores, columns=columns).compute():.5f}"  # (1 + 0) / 2
        '0.50000'

    References:
        Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR
        2004. Agrees with trec_eval `bpref`.
    """
    label_fns.check_judged(ranking)
    hit = label_fns.is_relevant(relevance_threshold)
    nonrelevant = label_fns.and_not(label_fns.is_judged, hit)
    num_relevant = ranking.num_relevant(relevance_threshold)
    num_nonrelevant = ranking.pool_sum(nonrelevant)

    sums = ranking.expected_sum(
        hit,
        _preference,
        (None,),
        counting=(nonrelevant,),
        per_list=(num_relevant, num_nonrelevant),
    )
    values = ratio(sums, num_relevant[..., None])
    return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, None)


def _preference(
    place: Place, k: types.Cut, num_relevant: jax.Array, num_nonrelevant: jax.Array
) -> jax.Array:
    # An item that ties with m non-relevant items ranks after 0, 1, … or m of them, with
    # equal probability. In the first `uncapped` of these m + 1 cases, n_i is below the cap
    # R: it is num_above, num_above + 1, …. The other cases count R.
    (num_above,), (num_tied,) = place.counted_above, place.counted_tied
    uncapped = jnp.clip(num_relevant - num_above, 0, num_tied + 1)
    capped_sum = (
        uncapped * num_above
        + uncapped * (uncapped - 1) / 2
        + (num_tied + 1 - uncapped) * num_relevant
    )
    bound = jnp.minimum(num_relevant, num_nonrelevant)
    return 1 - ratio(capped_sum, (num_tied + 1) * bound)


@metric(
    names=("infap",), ties="order", optional_columns=("judged", "pooled"), is_share=True
)
def inferred_average_precision(
    ranking: Ranking, *, relevance_threshold: types.Number = 1.0
) -> PerList:
    """Inferred average precision: average precision as estimated from a sampled pool.

    .. math::

        infAP = (1 / R) · Σ_i [1/r_i + ((r_i − 1)/r_i) · ((h + n + u)/(r_i − 1))
        · ((h + ε)/(h + n + 2ε))]

    The sum is over the relevant items i that have a rank r_i. Above i there are h
    relevant items, n judged items that are not relevant, and u pooled items that were not
    judged; ε = 1e-5. A term is 1 at rank 1.

    Undefined (nothing relevant in the pool): 0. Reads whole lists. Has no closed form
    over ties: reads one order of tied items, which a `key` draws for each list. Also
    accepts the arguments of `rank`. Reads the bool columns `judged` and `pooled`: a
    sample of the pooled items was judged. Without `judged`, every item counts as judged,
    and without `pooled`, as pooled; in rankings from places or relevant ids, only the items
    listed there do.

    Args:
        relevance_threshold: Least label of a relevant item.

    Example:
        >>> labels, scores = jnp.array([0, 0, 1]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"judged": jnp.array([True, False, True])}
        >>> state = inferred_average_precision(labels, scores, columns=columns)
        >>> f"{state.compute():.4f}"  # 1/3 + 2/3·2/2·0/1
        '0.3333'

    References:
        Yilmaz and Aslam, Estimating average precision with incomplete and imperfect
        judgments, CIKM 2006. Agrees with trec_eval `infAP`.
    """
    label_fns.check_judged(ranking)
    hit = label_fns.is_relevant(relevance_threshold)
    nonrelevant = label_fns.and_not(label_fns.is_judged, hit)
    unjudged = label_fns.and_not(
        label_fns.and_not(label_fns.is_pooled, label_fns.is_judged), hit
    )

    sums = ranking.expected_sum(
        hit, _inferred_precision, (None,), counting=(hit, nonrelevant, unjudged)
    )
    values = ratio(sums, ranking.num_relevant(relevance_threshold)[..., None])
    return label_fns.per_list_if_relevant(ranking, values, relevance_threshold, None)


def _inferred_precision(place: Place, k: types.Cut) -> jax.Array:
    hits, num_nonrelevant, num_unjudged = place.counted_above
    num_judged, epsilon = hits + num_nonrelevant, 1e-5
    pooled_share = ratio(num_judged + num_unjudged, place.above)
    relevant_share = (hits + epsilon) / (num_judged + 2 * epsilon)
    inferred_hits = place.above * pooled_share * relevant_share
    return (1 + inferred_hits) / (place.above + 1)


def _tie_reading(options: dict[str, Any]) -> types.TieReading:
    """Returns the tie reading of the metric whose residual this is."""
    return _linear_metric(options["of"]).tie_reading


@metric(ties=_tie_reading, columns=("judged",), lower_is_better=None)
def residual(
    ranking: Ranking,
    *,
    k: types.Cutoffs = None,
    of: str | Callable[..., mean.Mean] = "rbp",
    max_label: types.Number = 1.0,
) -> PerList:
    """Residual: how much a metric could still rise if all unjudged items were judged.

    .. math:: residual = M(y^+) − M(y^0)

    M is another metric. In y⁺ every unjudged item has the label `max_label`, in y⁰ the
    label 0; judged items keep their labels. Whatever the missing judgements are, M lies
    between M(y⁰) and M(y⁰) + residual. Neither direction is better.

    It exists for metrics that are linear in gains: `rbp`, `insq`, `dcg`, `cg`,
    `precision`, `num_relevant_retrieved`, and metrics of `jrm.metric(linear=True)`. In all
    other metrics, such as ndcg, judging an item changes what other items add, so the two
    values are no bounds. The same holds for `dcg` and `cg` if items have weights,
    because the mean weight depends on the labels. Ties are read as M reads them.

    Undefined (no list): every list that exists has a value. Also accepts the arguments of
    `rank`. Reads the bool column `judged`. Rankings from relevant ids may omit the column:
    items that are not listed count as not judged. Raises for rankings that contain only
    listed items, as from `rank_places`, because the ranks of unlisted items count too.

    Args:
        k: Cutoff or cutoffs of the metric.
        of: The metric: its bare name, the function, or a `functools.partial` of the
            function with options. In the name of a residual, write options of the metric
            in parentheses: "residual(of=rbp(p=0.5))@10".
        max_label: The largest possible label.

    Raises:
        ValueError: if the metric is unknown or not linear in gains, or has its own cutoff;
            or if items have weights that the metric reads.

    Example:
        >>> labels, scores = jnp.array([1, 0, 0]), jnp.array([0.9, 0.8, 0.7])
        >>> columns = {"judged": jnp.array([True, False, False])}
        >>> state = residual(labels, scores, columns=columns, of="precision", k=(2, 3))
        >>> [f"{value:.5f}" for value in state.compute()]  # 2/2 − 1/2, 3/3 − 1/3
        ['0.50000', '0.66667']

    References:
        Moffat and Zobel (see `rank_biased_precision`), section 4. There, in cwl_eval and
        in trec_eval `rbp_resid`, the ranks after the n items of the run count as unjudged
        too, which adds p^n to the residual of RBP; otherwise the numbers agree.
    """
    metric = _linear_metric(of)
    options = dict(metric.options)
    if options.get("k") is not None:
        raise ValueError(
            f"of: {metric.name} has a cutoff of its own; pass k to residual"
        )
    if "k" in options:
        options["k"] = k
    elif k is not None:
        raise ValueError(f"k is {k}, but {metric.name} has no cutoff; leave k out")
    lowest, highest = (
        metric.spec.formula(with_labels(ranking, _label_if(label)), **options)
        for label in (0.0, inputs.positive("max_label", max_label))
    )
    return dataclasses.replace(
        lowest, values=highest.values - lowest.values, defined=lowest.weights > 0
    )


def _linear_metric(of: object) -> spec.Bound:
    """Returns the metric that `residual` reads, with its options."""
    if isinstance(of, str) and of.lower() in NAMES:
        of = NAMES[of.lower()].spec.bind((), facts.facts_of(of).preset)
    if not isinstance(of, spec.Bound) or not of.spec.linear:
        known = {metric.spec.name for metric in NAMES.values() if metric.spec.linear}
        name = of.name if isinstance(of, spec.Bound) else repr(of)
        raise ValueError(
            f"of is {name}; pass a metric that is linear in gains, by its bare name or as "
            f"a functools.partial with options: {', '.join(sorted(known))}"
        )
    return of


@by_options
def _label_if(items: Items, *, label: float) -> jax.Array:
    """Returns the labels of items, with `label` for unjudged items."""
    return jnp.where(label_fns.is_judged(items), items.labels, label)
