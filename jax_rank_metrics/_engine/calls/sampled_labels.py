"""A metric of uncertain labels: only the probability that an item is relevant is known."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._engine.items import ItemArrays
from jax_rank_metrics._engine.metrics import run, spec
from jax_rank_metrics._engine.ranking import Cache, Ranked, RankingData, expected_worth
from jax_rank_metrics._engine.sources import list_arguments, rank
from jax_rank_metrics._ground import arithmetic, inputs, meshes, shards, types
from jax_rank_metrics._values import list_arrays
from jax_rank_metrics._values.mean import Mean
from jax_rank_metrics._values.per_list import PerList


class SampledLabels(NamedTuple):
    """A metric of lists whose labels are uncertain, as `sampled_labels` returns it.

    Attributes:
        lists: The expected value of each list, over draws of its labels.
        label_variance: `[*lists]` or `[*lists, len(k)]`, the variance of the value of
            each list, over draws of its labels; inf if only a single draw counts.
    """

    lists: PerList
    label_variance: jax.Array


def sampled_labels(
    metric: str | Callable[..., Mean],
    probabilities: types.Labels,
    scores: types.Scores,
    key: types.Key,
    draws: int = 100,
    *,
    mask: types.Mask | None = None,
    list_weights: types.ListWeights | None = None,
    undefined: types.Undefined = "zero",
) -> SampledLabels:
    """Computes the expected value of a metric if relevance is a probability.

    Click models and automatic judges say how likely an item is relevant. Passed as a label,
    0.6 would be a grade, and most metrics would read the item as not relevant. Here the
    label of each item is 1 with its probability and otherwise 0, independently of other
    labels.

    Lists are ranked once, and then labels are drawn `draws` times. The error that the draws
    leave in an expected value has the variance `label_variance / draws`. For metrics that
    are linear in gains, which `jrm.metric(linear=True)` declares (precision, dcg, rbp, …),
    both results are exact, and nothing is drawn: an item adds p · worth(1) +
    (1 − p) · worth(0), and worth(y) is what the item adds with the label y. Such a metric
    is assumed to be undefined at most for labels that are all 0.

    `label_variance` is the variance of each list's value that uncertain labels cause. In
    the mean of the n given lists, uncertain labels cause the variance
    Σ label_variance / n². This variance is larger if labels err together, such as the
    labels of a judge who misreads a query, because such labels are not independent. The
    standard error of `lists.mean()` is another number: the error of sampling lists.

    Autodiff sees the result as a constant, also with respect to the probabilities: a loss
    that trains the model behind the probabilities needs another estimate.

    Arguments may be sharded over Auto or Explicit mesh axes; each list is then gathered on
    one device. Inside `jax.shard_map`, fold `jax.lax.axis_index` into the key.

    Args:
        metric: A name such as "ndcg@10" or "recall@1,5", a metric, or a
            `functools.partial` of a metric with its options. It must read no columns.
        probabilities: `[*lists, items]`, from 0 to 1; negative or NaN is padding, as for
            labels. Inside `jax.jit`, which cannot check them, numbers above 1 count as 1.
        scores: See `rank`. Ties are read as without a key.
        key: One PRNG key, typed or legacy. Metrics with the same key read the same labels.
        draws: The number of draws, at least 2; memory holds a value for each list and draw.
            A metric that is linear in gains does not read `draws`.
        mask: See `rank`.
        list_weights: See `rank`.
        undefined: The value of a draw in which the metric is undefined: "zero", "one", or
            "skip", which leaves the draw out. `lists` keeps it as the default of its means;
            there, a list is undefined if it was undefined in every draw.

    Returns:
        `lists` and `label_variance`.

    Raises:
        ValueError: if a probability is above 1; if `draws` is below 2; if shapes do not
            fit; if the metric is unknown, reads a column or refuses a list.
        TypeError: if dtypes do not fit, if `metric` is no metric, or if `key` is no key.

    References:
        Aslam and Yilmaz, Inferring document relevance via average precision, SIGIR 2006
        (expected average precision if relevance is a probability); Chuklin, Markov and
        de Rijke, Click models for web search, 2015, chapter 7.

    >>> probabilities, scores = jnp.array([0.5, 1.0]), jnp.array([0.9, 0.8])
    >>> lists, variance = sampled_labels("p@1", probabilities, scores, jax.random.key(0))
    >>> float(lists.values), float(variance)
    (0.5, 0.25)
    >>> lists, _ = sampled_labels("mrr", probabilities, scores, jax.random.key(0))
    >>> 0.65 < lists.values < 0.85  # 0.5 · 1 + 0.5 · 1/2 is 0.75
    Array(True, dtype=bool)
    """
    inputs.option("undefined", undefined, types.Undefined)
    named: Any = metric if isinstance(metric, str) else {"metric": metric}
    bound, *further = binding.bind_all(named)
    if further:
        raise ValueError(
            f"metric {metric!r} is a set of metrics; pass the name of one metric"
        )
    draws = inputs.positive_integer("draws", draws)
    if draws < 2:
        raise ValueError("draws is 1, but a variance needs two draws; pass at least 2")
    key = inputs.prng_key(key)
    item_values = {"probabilities": probabilities, "scores": scores, "mask": mask}
    inputs.same_index(item_values, {"list_weights": list_weights})
    labels, _ = inputs.item_arrays("probabilities", probabilities, mask)
    lists = list_arguments.checked(labels, scores, mask, list_weights=list_weights)
    # Convert to floats, because integer labels would be compared as integers.
    labels = labels.astype(lists.raw_items.dtype)
    raw_items = dataclasses.replace(lists.raw_items, labels=labels)
    lists = dataclasses.replace(lists, raw_items=raw_items)
    exists = True if raw_items.mask is None else raw_items.mask
    is_above = (labels > 1) & exists
    if inputs.is_readable(is_above) and np.any(is_above):
        index = inputs.first_index(np.asarray(is_above))
        raise ValueError(
            f"probabilities holds {float(labels[index]):g} at {index}; pass numbers from "
            "0 to 1, such as label / max_label"
        )
    for column in bound.spec.columns:
        raise ValueError(
            f"{bound.name} reads the column {column!r}, but only labels are drawn; pass a "
            "metric that reads labels alone, such as 'ndcg@10'"
        )
    lists = dataclasses.replace(run.lists_as_read((bound,), lists), few_relevant=False)
    if bound.spec.linear:
        lists = dataclasses.replace(lists, ranks=None)
    result, refused = _sampled(bound, lists, key, draws, undefined)
    run.raise_refused(refused)
    return result


@partial(jax.jit, static_argnums=(0, 3, 4))
def _sampled(
    bound: spec.Bound,
    lists: list_arguments.ScoredLists,
    key: jax.Array,
    draws: int,
    undefined: types.Undefined,
) -> tuple[SampledLabels, dict[str, jax.Array]]:
    """Ranks once, then reads the metric for drawn labels; a linear metric is exact."""
    # Gather each list on one device, because every draw labels items that were ranked.
    arrays = (lists.raw_items, lists.scores)
    raw_items, scores = shards.align_with_sharded(arrays, lists.scores.ndim - 1)
    lists = dataclasses.replace(lists, raw_items=raw_items, scores=scores)
    data = rank.read_lists(lists, lambda data: data)
    data = shards.align_lists(data, data.list_exists)
    if bound.spec.linear:
        read_all = partial(_exact, bound, undefined)
        return shards.map_shards(read_all, data, data.list_exists), {}
    probabilities = raw_items.labels

    def draw(number: jax.Array) -> tuple[PerList, dict[str, jax.Array]]:
        chances = jax.random.uniform(
            jax.random.fold_in(key, number), probabilities.shape, probabilities.dtype
        )
        is_relevant = shards.reshard_like(chances, probabilities) < probabilities
        labels = jnp.where(probabilities >= 0, is_relevant.astype(chances.dtype), -1)

        def read(tree: tuple[RankingData, jax.Array]) -> run.Reading:
            return run.read((bound,), _relabelled(*tree))

        reading = shards.map_shards(read, (data, labels), data.list_exists)
        return reading.values[0], reading.refused

    drawn, refused = jax.lax.map(draw, jnp.arange(draws))
    refused = jax.tree.map(lambda leaf: jnp.any(leaf, axis=0), refused)
    return _of_draws(drawn, undefined), refused


def _of_draws(drawn: PerList, undefined: types.Undefined) -> SampledLabels:
    """Returns the mean and the variance of the draws, which are along the first axis.

    Each draw of a list counts by the list's weight in this draw. Some metrics, such as
    gauc, take the weight from the labels; for other metrics all draws have one weight.
    """
    values, weights, defined = drawn.values, drawn.weights, drawn.defined
    values = list_arrays.filled(values, defined, undefined)
    counts = list_arrays.counted_weights(weights, defined, undefined)
    shares = arithmetic.ratio(counts, jnp.sum(counts, axis=0, keepdims=True))
    shares = arithmetic.widen(shares, values)
    mean = jnp.sum(shares * values, axis=0)
    number = jnp.sum(shares > 0, axis=0).astype(mean.dtype)
    variance = jnp.sum(shares * (values - mean[None]) ** 2, axis=0)
    variance = variance * arithmetic.ratio(number, number - 1)
    variance = jnp.where(number == 1, jnp.inf, variance)
    is_defined = jnp.any(defined, axis=0)
    has_value = arithmetic.widen(is_defined, mean)
    mean, variance = (jnp.where(has_value, part, 0) for part in (mean, variance))
    lists = PerList(mean, jnp.mean(weights, axis=0), is_defined, undefined)
    return SampledLabels(lists, variance)


def _relabelled(data: RankingData, labels: jax.Array) -> RankingData:
    """Returns the data with new labels `[*lists, items]`, in the caller's item order."""
    assert data.pool is not None
    items = dataclasses.replace(data.pool.items, labels=labels)  # type: ignore
    pool, ranked = dataclasses.replace(data.pool, items=items), data.items_held
    if ranked is not None:
        items = _held_items(ranked.items, ranked.item_indices, labels)
        ranked = dataclasses.replace(ranked, items=items)  # type: ignore
    return dataclasses.replace(data, pool=pool, items_held=ranked)


def _held_items(items: ItemArrays, index: jax.Array, labels: jax.Array) -> ItemArrays:
    """Gives items in rank order their labels; `labels` are in the caller's item order."""
    held_labels = arithmetic.take(labels, jnp.maximum(index, 0))
    return items._replace(labels=jnp.where(items.exists, held_labels, 0))


def _exact(
    bound: spec.Bound, undefined: types.Undefined, data: RankingData
) -> SampledLabels:
    """Computes the expected value of a metric that is linear in gains, and its variance.

    The value is a sum over items with independent labels, so the variances of the terms,
    p · (1 − p) · (worth(1) − worth(0))², add up. The difference worth(1) − worth(0) is the
    slope of the expected value in p.
    """
    assert data.pool is not None and data.items_held is not None
    pool, items_held, items = data.pool, data.items_held, data.pool.items.read()
    probabilities, index = jnp.minimum(items.labels, 1), items_held.item_indices
    layout, ranks = items_held.layout, items_held.ranks
    above, tied = items_held.above_and_tied(Cache())
    slots = jnp.broadcast_to(arithmetic.iota(index), index.shape)

    def expected(probabilities: jax.Array) -> tuple[jax.Array, PerList]:
        # Give each item a rank of its own, because sums over tie groups are loops, which
        # have no slopes.
        ranked = _held_items(items_held.items, index, probabilities)
        places = Ranked(ranked, layout, ranks, rank_above=slots, above=above, tied=tied)
        labelled = items._replace(labels=probabilities)
        new_pool = dataclasses.replace(pool, items=labelled)
        relabelled = dataclasses.replace(
            data, items_held=places, pool=new_pool, relabel=expected_worth
        )
        lists = bound.of(relabelled, Cache())
        return lists.values, lists

    values, slopes, lists = jax.vjp(expected, probabilities, has_aux=True)
    variances = []
    for cutoff in range(bound.num_values or 1):
        is_asked = jnp.ones(values.shape, bool)
        if bound.num_values is not None:
            is_asked = is_asked & (arithmetic.iota(values) == cutoff)
        (slope,) = slopes(meshes.match_varying(is_asked.astype(values.dtype), values))
        terms = probabilities * (1 - probabilities) * slope * slope
        variances.append(arithmetic.total(terms))
    variance = jnp.stack(variances, axis=-1).reshape(values.shape)
    # The chance that all labels are 0, if the metric is then undefined. So far this case
    # counts as 0 in the values.
    is_undefined = lists.defined & ~expected(jnp.zeros_like(probabilities))[1].defined
    chance = jnp.where(is_undefined, jnp.prod(1 - probabilities, axis=-1), 0)
    defined, chance = lists.defined & (chance < 1), arithmetic.widen(chance, values)
    if undefined != "zero":
        squares = variance + values * values
        values, squares = (
            part + chance if undefined == "one" else arithmetic.ratio(part, 1 - chance)
            for part in (values, squares)
        )
        variance = jnp.maximum(squares - values * values, 0)
    variance = jnp.where(jnp.isnan(values), jnp.nan, variance)
    has_value = arithmetic.widen(defined, values)
    values, variance = (jnp.where(has_value, part, 0) for part in (values, variance))
    return SampledLabels(PerList(values, lists.weights, defined, undefined), variance)
