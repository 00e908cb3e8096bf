"""A batch of queries on the devices: ranked once, and read by every metric."""

import dataclasses
import enum
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics import _mesh
from jax_rank_metrics._drivers.batches import QueryBatch
from jax_rank_metrics._drivers.devices import EVERYWHERE, Array, Devices, Specs
from jax_rank_metrics._drivers.job import Plan
from jax_rank_metrics._formulas.diversity import intra_list_diversity
from jax_rank_metrics._formulas.popularity import novelty, popularity
from jax_rank_metrics._items import GROUPS
from jax_rank_metrics._metrics.run import read_ranking
from jax_rank_metrics._metrics.spec import Bound
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._ordering.keys import seeds_of
from jax_rank_metrics._ordering.policy import Policy
from jax_rank_metrics._ranking import RankingData, data_of
from jax_rank_metrics._sources.attributes import by_attributes, label_dtype
from jax_rank_metrics._sources.blocks import Catalog
from jax_rank_metrics._sources.item_groups import memberships_of
from jax_rank_metrics._sources.labelled_catalog import (
    rank_labelled,
    rank_labelled_twice,
)
from jax_rank_metrics._sources.list_arguments import checked
from jax_rank_metrics._sources.lists import Relevant
from jax_rank_metrics._sources.rank import rank_checked
from jax_rank_metrics._sources.similarities import Similarity, products
from jax_rank_metrics._sources.streams import Pass, Stream
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Arrays, AxisNames


class Fault(enum.IntEnum):
    """Reasons to stop an evaluation at a query."""

    REFUSED = 1  # a metric cannot read its relevant items
    NAN = 2  # one of its scores that are read is NaN
    NEGATIVE = 3  # it loses items, to which `label_fn` gives labels below 0 or NaN
    GAINS = 4  # one of its gains is not finite


class CatalogArrays(NamedTuple):
    """Arrays over the items, for all batches; None where there is none.

    Attributes:
        items: `[items, …]`, such as embeddings; None where batches bring scores.
        item_mask: `[items]` bool, the items that may be found.
        counts: `[items]` int32, how many users have seen each item.
        features: `[items, features]`, in which diversity is measured.
        attributes: A pytree of arrays `[items, …]`, which `label_fn` reads.
        similarity: What scores queries and items.
        groups: `[items, groups]`, memberships of all items, on every device.
    """

    items: Array | None = None
    item_mask: jax.Array | None = None
    counts: jax.Array | None = None
    features: jax.Array | None = None
    attributes: Arrays = None
    similarity: Similarity = Similarity(products)
    groups: jax.Array | None = None


def list_weights(queries: QueryBatch) -> jax.Array:
    """Returns the weight of each query of a batch, `[queries]`: 0 for padding, else 1."""
    return (jnp.asarray(queries.indices) >= 0).astype(jnp.float32)


def _tie_seeds(queries: QueryBatch) -> jax.Array | None:
    """Returns the seeds of tied items, `[queries, 2]`, where queries have some."""
    return None if queries.tie_ids is None else seeds_of(jnp.asarray(queries.tie_ids))


def measures_of_ids(
    plan: Plan, catalog: CatalogArrays
) -> dict[str, Callable[[jax.Array], PerList]]:
    """Returns what is measured beside the metrics, of the ids of the first items.

    "popularity@k" and "novelty@k" if the catalogue has counts, and
    "intra_list_diversity@k" if it has features, with the k of the plan.
    """
    counts, features = catalog.counts, catalog.features
    measures: dict[str, Callable[[jax.Array], PerList]] = {}
    if counts is not None:
        measures["popularity"] = lambda ids: popularity(ids, counts)
        measures["novelty"] = lambda ids: novelty(ids, counts)
    if features is not None:
        axis = plan.items_axis
        measures["intra_list_diversity"] = lambda ids: _diversity(ids, features, axis)
    return {f"{name}@{plan.k}": measure for name, measure in measures.items()}


def catalog_of(
    plan: Plan,
    catalog: CatalogArrays,
    queries: QueryBatch,
    first_id: jax.Array | int = 0,
) -> Catalog:
    """Returns the items, or the part of them from an id on, and what a batch looks for."""

    def as_array(x: Array | None) -> jax.Array | None:
        return None if x is None else jnp.asarray(x)

    rows, weights = jnp.asarray(queries.rows), list_weights(queries)
    if catalog.items is None:
        source = Catalog.of_scores(rows)
    else:
        items = jnp.asarray(catalog.items)
        source = Catalog(rows, items, catalog.similarity, plan.block_size)
    # By attributes no item is listed, and the blocks say what is relevant.
    relevant, attributes = Relevant.empty(weights.shape), None
    if plan.label_fn is not None:
        attributes = by_attributes(
            plan.label_fn, queries.attributes, catalog.attributes
        )
        label_dtype(attributes, weights.shape, source.block_length)
    else:
        ids, labels = map(as_array, (queries.listed_ids, queries.labels))
        assert ids is not None
        # The memberships of all items, of which a device may have only a part.
        relevant = Relevant(ids, labels, {}, item_groups=catalog.groups)
    return dataclasses.replace(
        source,
        relevant=relevant,
        attributes=attributes,
        exclude_ids=as_array(queries.excluded_ids),
        item_mask=catalog.item_mask,
        list_weights=weights,
        depth=plan.depth or None,
        policy=Policy(plan.ties, _tie_seeds(queries)),
        key=queries.key,
        items_axis=plan.items_axis,
        first_id=first_id,
        skips_inf=plan.skips_inf,
    )


# A batch is measured as a whole; or it passes through parts of the items: its state has a
# start, is extended by each part, then counts the items above relevant ones in each part of
# a second round if a metric reads whole lists, and is finished.
Task = Literal["whole", "start", "extend", "count", "finish"]


class BatchResult(NamedTuple):
    """The values of a batch, the same on every process.

    Attributes:
        lists: The values of each metric, then of `measures_of_ids`, `[queries]` each.
        items: `[queries, k]`, the ids of the first items.
        faults: `[queries]` int32, the `Fault` of each query, or 0.
        has_inf: `[queries]` bool, whether an item that has a rank has a score of −∞; None
            if the plan does not ask.
        has_ties: `[queries]` bool, whether items tie that a metric reads in an order by
            hash, which may change its value; None if no metric does.
    """

    lists: list[PerList]
    items: jax.Array
    faults: jax.Array
    has_inf: jax.Array | None = None
    has_ties: jax.Array | None = None


def read_by_metrics(
    plan: Plan,
    catalog: CatalogArrays,
    readings: Iterable[tuple[tuple[Bound, ...], RankingData]],
    ids: jax.Array,
) -> BatchResult:
    """Lets metrics read the rankings of a batch.

    Args:
        plan: The plan.
        catalog: The arrays over the items.
        readings: Rankings, each after the metrics that read it.
        ids: `[queries, k]`, the ids of the first items.
    """
    values, faults, has_ties = {}, jnp.zeros(ids.shape[:1], jnp.int32), None
    for bounds, data in readings:
        readers = [x for x in bounds if plan.reads_hash(x)]
        if data.held is not None and readers:
            ties = data.held.has_ties(by_label=not any(x.spec.columns for x in readers))
            has_ties = ties if has_ties is None else has_ties | ties
        reading, of_data = read_ranking(bounds, data), jnp.zeros_like(faults)
        for is_refused in reading.refused.values():
            of_data = jnp.where(is_refused, Fault.REFUSED, of_data)
        if reading.overflowing is not None:
            of_data = jnp.where(reading.overflowing, Fault.GAINS, of_data)
        if (has_nan := data.has_nan) is not None:
            of_data = jnp.where(has_nan, Fault.NAN, of_data)
        names = [bound.name for bound in bounds]
        values |= dict(zip(names, reading.values, strict=True))
        faults = jnp.maximum(faults, of_data)
    lists = [values[bound.name] for bound in plan.bounds]
    lists += [measure(ids) for measure in measures_of_ids(plan, catalog).values()]
    return BatchResult(lists, ids, faults, None, has_ties)


def measure_queries(
    plan: Plan,
    catalog: CatalogArrays,
    queries: QueryBatch,
    task: Task = "whole",
    first_id: jax.Array | int = 0,
    state: Pass | None = None,
    num_items: int | None = None,
) -> Pass | BatchResult:
    """Ranks all items, or goes on with a part of them, and measures complete rankings.

    Args:
        plan: The plan.
        catalog: The arrays over the items, or over a part of them.
        queries: The batch.
        task: What to do.
        first_id: The id of the first item.
        state: What the task before returned.
        num_items: How many items there are in all parts.
    """
    source = catalog_of(plan, catalog, queries, first_id)
    # Each metric reads one of two rankings: the first ranks, or places of relevant items.
    # With both, the scores of a block are computed twice, and never kept.
    top_k = places = lost = None
    if plan.label_fn is not None and task == "whole":
        lost = source.loses_items()
        if plan.whole_list_metrics:
            top_k, places = rank_labelled_twice(source, plan.ties_of_places)
        else:
            top_k = rank_labelled(source)
    else:
        stream = Stream.of(source)
        # Keys of scores do not depend on ties, so that one first pass serves two policies.
        counting = stream.under(plan.ties_of_places)
        if task == "whole":
            num_items = source.total_items
            state = stream.merged(stream.extended(stream.start(num_items)))
            if plan.whole_list_metrics:
                state = counting.counted(state)
        elif state is None:
            return stream.start(num_items)
        elif task == "extend":
            return stream.extended(state)
        elif task == "count":
            return counting.counted(state)
        # The catalogue of the last part stands for all: scores are not read again.
        assert num_items is not None
        if state.best is not None:
            top_k = stream.first_ranks(state, num_items)
        if state.counts is not None:
            places = counting.places(state, num_items)
    rankings = (plan.top_k_metrics, top_k), (plan.whole_list_metrics, places)
    ids = jnp.zeros((len(queries.indices), 0), jnp.int32)
    if top_k is not None:
        # [queries, k]: metrics may have needed a deeper top-k.
        ids = top_k.items[..., : plan.k]
    readings = [(bounds, x) for bounds, x in rankings if x is not None]
    result = read_by_metrics(plan, catalog, readings, ids)
    if plan.finds_inf:
        result = result._replace(has_inf=source.has_inf())
    if lost is not None:
        faults = jnp.where(lost, Fault.NEGATIVE, result.faults)
        result = result._replace(faults=faults)
    return result


def measure_candidates(
    plan: Plan, catalog: CatalogArrays, queries: QueryBatch
) -> BatchResult:
    """Ranks the candidates of each query of a batch, and measures these rankings."""
    listed_ids = jnp.asarray(queries.listed_ids)
    # [queries, listed]; scores of padding are computed too, and never read.
    scores = catalog.similarity.of_pairs(
        jnp.asarray(queries.rows), jnp.asarray(queries.items)
    )
    exists = listed_ids >= 0
    # Where nothing is listed, an item without a rank stands for all those not listed: such
    # a query counts like any other without a relevant item.
    is_empty = ~jnp.any(exists, axis=-1, keepdims=True)
    in_pool = exists | (is_empty & (jnp.arange(exists.shape[-1]) == 0)[None])
    # As for a catalogue, items that no label was passed of were not judged.
    kinds = jnp.asarray(queries.kinds)
    is_judged, retrieved = kinds >= 2, (kinds == 1) | (kinds == 3)
    if plan.skips_inf:
        retrieved &= ~jnp.isneginf(scores)  # integers have none
    columns = {"judged": is_judged, "pooled": is_judged}
    if catalog.groups is not None:
        columns |= {GROUPS: memberships_of(catalog.groups, listed_ids)}
    lists = checked(
        jnp.asarray(queries.labels),
        scores,
        in_pool,
        list_weights(queries),
        queries.key,
        ties=plan.ties,
        retrieved=retrieved,
        columns=columns,
    )
    ranks = None if plan.whole_list_metrics else plan.depth
    policy = dataclasses.replace(lists.policy, seeds=_tie_seeds(queries))
    lists = dataclasses.replace(lists, ranks=ranks, policy=policy)
    ranking = rank_checked(lists)
    # The ranking knows items by their slots in the lists, [queries, k].
    slots = ranking.items[..., : plan.k]
    ids = jnp.take_along_axis(listed_ids, jnp.maximum(slots, 0), axis=-1)
    ids = jnp.where(slots >= 0, ids, -1)
    return read_by_metrics(plan, catalog, [(plan.bounds, data_of(ranking))], ids)


def put_catalog(
    devices: Devices, catalog: CatalogArrays, num_items: int
) -> CatalogArrays:
    """Returns the arrays over items as devices hold them: cut over their axis, or whole.

    Items that are added to make parts equal are masked: 7 items on two devices become 8,
    of which the last does not exist.
    """
    if catalog.item_mask is None and num_items % devices.num_item_parts:
        catalog = catalog._replace(item_mask=jnp.ones(num_items, bool))
    return devices.put_tree(catalog, _catalog_specs(devices))


def _catalog_specs(devices: Devices) -> Specs:
    """Returns how arrays over items are cut; any item may be looked up in the others."""
    items = devices.of_items
    return CatalogArrays(items, items, EVERYWHERE, items, items, EVERYWHERE, EVERYWHERE)  # type: ignore[arg-type]


def _query_specs(
    devices: Devices, catalog: CatalogArrays, queries: QueryBatch
) -> Specs:
    """Returns how the arrays of a batch are cut: scores also over items."""
    specs = jax.tree.map(lambda _: devices.of_queries, queries)
    if queries.kinds is None and catalog.items is None:
        specs = specs._replace(rows=devices.of_scores)
    return specs._replace(key=EVERYWHERE)


def run_batch(
    plan: Plan,
    devices: Devices,
    task: Task,
    catalog: CatalogArrays,
    queries: QueryBatch,
    first_id: int = 0,
    state: Any = None,
    num_items: int | None = None,
) -> Any:
    """Starts a task of a batch; what comes of it is waited for later.

    Each device runs it on the queries of its own part.

    Args:
        plan: The options that batches share.
        devices: The devices.
        task: What to do.
        catalog: The arrays over the items, as `put_catalog` returns them; or over a
            part of the items.
        queries: The batch.
        first_id: The id of the first item of this part.
        state: What the task before returned.
        num_items: How many items there are, for "start", if known, and "finish".

    Returns:
        A `BatchResult` of "whole" and "finish", and else the next state.
    """
    # Only the program knows the axis, as a name to reduce over.
    plan = plan._replace(items_axis=devices.items_axis)
    queries = devices.put_tree(queries, _query_specs(devices, catalog, queries))
    is_short = task in ("start", "finish")
    return (quick_program if is_short else program)()(
        task, plan, devices, num_items, catalog, queries, first_id, state
    )


def _run(
    task: Task,
    plan: Plan,
    devices: Devices,
    num_items: int | None,
    catalog: CatalogArrays,
    queries: QueryBatch,
    first_id: jax.Array,
    state: Any,
) -> Any:
    def local(
        catalog: CatalogArrays, queries: QueryBatch, first_id: jax.Array, state: Any
    ) -> Any:
        axis = devices.queries_axis
        if queries.key is not None and axis is not None:
            # Devices that share a query draw the same ties, and others do not.
            key = jax.random.fold_in(queries.key, lax.axis_index(axis))
            queries = queries._replace(key=key)
        if queries.kinds is not None:
            result = measure_candidates(plan, catalog, queries)
        else:
            result = measure_queries(
                plan, catalog, queries, task, first_id, state, num_items
            )
        if axis is None or not isinstance(result, BatchResult):
            return result
        # The few values of a query leave the devices; none of its scores does.
        return jax.tree.map(lambda x: _mesh.concatenate_over(x, axis, 0), result)

    of_queries = devices.of_queries
    specs = _query_specs(devices, catalog, queries)
    in_specs = _catalog_specs(devices), specs, EVERYWHERE, of_queries
    out_specs = EVERYWHERE if task in ("whole", "finish") else of_queries
    run = devices.map(local, in_specs, out_specs)
    return run(catalog, queries, first_id, state)


_STATIC = "task", "plan", "devices", "num_items"
# Programs that run once for each batch, or part of the items, are worth some optimisation.
program = one_off_jit(_run, _STATIC, level=1)
quick_program = one_off_jit(_run, _STATIC)


def _diversity(
    ids: jax.Array, features: jax.Array, items_axis: AxisNames | None
) -> PerList:
    """Measures the diversity of items; of features that are cut, only theirs travel."""
    # Ids [[9, 4], [4, −1]] become rows [[0, 1], [2, −1]] of the features that travelled.
    if items_axis is not None:
        features = _mesh.rows_over(features, ids, items_axis)
        features = features.reshape(ids.size, -1)
        ids = jnp.where(ids >= 0, jnp.arange(ids.size).reshape(ids.shape), -1)
    return intra_list_diversity(ids, features)
