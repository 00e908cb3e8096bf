"""The programs that drivers run for a batch, the interface between drivers and engine.

A program is a function `(options, catalog, queries, state) → state | result`. `run_batch`
compiles it, and each device runs it on the queries of its own part. Two programs measure a
batch at once, and need no state:

    measure_catalog     ranks all items
    measure_candidates  ranks the candidates of each query

Four programs pass a batch through parts of the items, one part after the other:

    start ──► extend, with each part ──┬────────────────────────────► finish
                                       └──► count, with each part ──┘
                                            if a metric reads whole lists

`measure_catalog`, `measure_candidates` and `finish` return a `BatchResult`; `start`,
`extend` and `count` return the next `StreamState`. Options are static, so each new value of
an option compiles a program. Only `start` and `finish` therefore get `num_items`: `extend`
and `count` serve catalogues of every size.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.metrics import run, spec
from jax_rank_metrics._engine.ordering import policies
from jax_rank_metrics._engine.ordering.keys import seeds_of
from jax_rank_metrics._engine.ranking import RankingData, data_of
from jax_rank_metrics._engine.sources import (
    blocks,
    item_columns,
    labelled_catalog,
    rank,
)
from jax_rank_metrics._engine.sources.attributes import by_attributes, label_dtype
from jax_rank_metrics._engine.sources.list_arguments import checked
from jax_rank_metrics._engine.sources.lists import Relevant
from jax_rank_metrics._engine.sources.similarities import Similarity, products
from jax_rank_metrics._engine.sources.streams import Stream, StreamState
from jax_rank_metrics._ground import arithmetic, meshes, one_off, types
from jax_rank_metrics._runs.drivers import judgements
from jax_rank_metrics._runs.drivers.batching import QueryBatch
from jax_rank_metrics._runs.drivers.devices import EVERYWHERE, Array, Devices, Specs
from jax_rank_metrics._runs.drivers.jobs import Options
from jax_rank_metrics._values import per_list

R = TypeVar("R")


class Fault(enum.IntEnum):
    """Reasons to stop an evaluation at a query."""

    REFUSED = 1  # a metric cannot read the query, as `BatchResult.refused` says
    NAN = 2  # the score of an item that may have a rank is NaN
    NEGATIVE = 3  # `label_fn` removes items, by labels below 0 or NaN
    GAINS = 4  # a gain of the query is not finite


class CatalogArrays(NamedTuple):
    """Arrays over the items, for all batches; None if a call has no such array.

    Attributes:
        items: `[items, …]`, such as embeddings; None if batches bring scores.
        item_mask: `[items]` bool, the items that may be found.
        attributes: A pytree of arrays `[items, …]`, which `label_fn` reads.
        similarity: The function that scores queries and items.
        columns: A dict from names to columns of all items, `[items, …]`, which every device
            holds whole.
        wide_columns: A dict from names to the other columns, which are cut like the items.
        first_id: `[]` int32, the id of the first item, if the arrays are over a part of the
            items.
    """

    items: Array | None = None
    item_mask: jax.Array | None = None
    attributes: types.Arrays = None
    similarity: Similarity = Similarity(products)
    columns: dict[str, jax.Array] = {}
    wide_columns: dict[str, jax.Array] = {}
    first_id: Array | None = None


# A ranking of the first items, and a ranking that holds the ranks of relevant items. Either
# is None if no metric reads it. If both are needed, the scores of a block are computed
# twice, because they are never kept.
Rankings = tuple[RankingData | None, RankingData | None]

# Takes options, the catalogue, the queries and a state; returns a state or a result.
Program = Callable[[Options, CatalogArrays, QueryBatch, Any], R]


def list_weights(queries: QueryBatch) -> jax.Array:
    """Returns the weight of each query of a batch, `[queries]`: 0 for padding, else 1."""
    return (jnp.asarray(queries.indices) >= 0).astype(jnp.float32)


def _tie_seeds(queries: QueryBatch) -> jax.Array | None:
    """Returns the seeds that order tied items, `[queries, 2]`; None without `tie_ids`."""
    return None if queries.tie_ids is None else seeds_of(jnp.asarray(queries.tie_ids))


def item_columns_of(
    options: Options, catalog: CatalogArrays
) -> dict[str, item_columns.ItemColumn]:
    """Returns a dict from names to columns of items; a device may hold part of a column."""
    parts = (catalog.columns, None), (catalog.wide_columns, options.items_axis)
    return {
        name: item_columns.ItemColumn(values, axis, knows_all=True)
        for columns, axis in parts
        for name, values in columns.items()
    }


def catalog_of(
    options: Options, catalog: CatalogArrays, queries: QueryBatch
) -> blocks.Catalog:
    """Returns the items, or a part of them, together with the queries of a batch."""

    def as_array(values: Array | None) -> jax.Array | None:
        return None if values is None else jnp.asarray(values)

    rows, weights = jnp.asarray(queries.rows), list_weights(queries)
    if catalog.items is None:
        source = blocks.Catalog.of_scores(rows)
    else:
        items = jnp.asarray(catalog.items)
        source = blocks.Catalog(rows, items, catalog.similarity, options.block_size)
    # With attributes no relevant items are listed, because each block makes its labels.
    relevant, attributes = Relevant.empty(weights.shape), None
    if options.label_fn is not None:
        attributes = by_attributes(
            options.label_fn, queries.attributes, catalog.attributes
        )
        label_dtype(attributes, weights.shape, source.block_length)
    else:
        ids, labels = map(as_array, (queries.listed_ids, queries.labels))
        assert ids is not None
        columns, profile_ids = item_columns_of(options, catalog), queries.profile_ids
        relevant = Relevant(ids, labels, {}, columns, as_array(profile_ids))
    item_mask, candidates = catalog.item_mask, as_array(queries.candidates)
    if candidates is not None:
        # A relevant item that is no candidate stays in the pool, but has no rank.
        slots = jnp.where(relevant.ids < 0, candidates.shape[-1], relevant.ids)
        item_mask = arithmetic.put(candidates, slots, jnp.ones(slots.shape, bool))
    return dataclasses.replace(
        source,
        relevant=relevant,
        attributes=attributes,
        exclude_ids=as_array(queries.excluded_ids),
        item_mask=item_mask,
        retrieved=candidates,
        list_weights=weights,
        depth=options.depth or None,
        policy=policies.Policy(options.ties, _tie_seeds(queries)),
        key=queries.key,
        items_axis=options.items_axis,
        first_id=0 if catalog.first_id is None else jnp.asarray(catalog.first_id),
        skips_inf=options.skips_inf,
    )


class BatchResult(NamedTuple):
    """The values of a batch, the same on every process.

    Attributes:
        lists: For each metric, its values of all queries, `[queries]`.
        items: `[queries, k]`, the ids of the first items.
        faults: `[queries]` int32, the `Fault` of each query, or 0.
        refused: A dict from the reasons of metrics to `[queries]` bool, the queries that
            they cannot read; see `Reading`.
        has_inf: `[queries]` bool, True if an item of the first block has a rank and a
            score of −∞; None unless `options.finds_inf`.
        has_ties: `[queries]` bool, True if the query has tied items that a metric reads in
            the order of a hash, so that the metric's value may depend on the hash. None if
            no metric reads such an order.
    """

    lists: list[per_list.PerList]
    items: jax.Array
    faults: jax.Array
    refused: dict[str, jax.Array]
    has_inf: jax.Array | None = None
    has_ties: jax.Array | None = None


def read_by_metrics(
    options: Options,
    readings: Iterable[tuple[tuple[spec.Bound, ...], RankingData]],
    ids: jax.Array,
) -> BatchResult:
    """Lets metrics read the rankings of a batch.

    Args:
        options: The options.
        readings: Pairs of metrics and the ranking that they read.
        ids: `[queries, k]`, the ids of the first items.
    """
    values, faults, has_ties = {}, jnp.zeros(ids.shape[:1], jnp.int32), None
    refused: dict[str, jax.Array] = {}
    for bounds, data in readings:
        readers = [bound for bound in bounds if options.reads_hash(bound)]
        if data.items_held is not None and readers:
            by_label = not any(bound.spec.columns for bound in readers)
            ties = data.items_held.has_ties(by_label)
            has_ties = ties if has_ties is None else has_ties | ties
        reading, data_faults = run.read_ranking(bounds, data), jnp.zeros_like(faults)
        for reason, is_refused in reading.refused.items():
            refused[reason] = refused.get(reason, False) | is_refused
            data_faults = jnp.where(is_refused, Fault.REFUSED, data_faults)
        if reading.overflowing is not None:
            data_faults = jnp.where(reading.overflowing, Fault.GAINS, data_faults)
        if (has_nan := data.has_nan) is not None:
            data_faults = jnp.where(has_nan, Fault.NAN, data_faults)
        names = [bound.name for bound in bounds]
        values |= dict(zip(names, reading.values, strict=True))
        faults = jnp.maximum(faults, data_faults)
    lists = [values[bound.name] for bound in options.bounds]
    return BatchResult(lists, ids, faults, refused, None, has_ties)


def measure_catalog(
    options: Options, catalog: CatalogArrays, queries: QueryBatch, state: None = None
) -> BatchResult:
    """Returns the values of metrics on rankings of all items."""
    source = catalog_of(options, catalog, queries)
    if options.label_fn is None:
        stream, num_items = Stream.of(source), source.total_items
        stream_state = stream.merged(stream.extended(stream.start(num_items)))
        if options.whole_list_metrics:
            # The keys of scores do not depend on the tie policy, so one first pass serves
            # the top-k and the counted ranks.
            stream_state = stream.under(options.ties_of_places).counted(stream_state)
        rankings = _rankings_of(options, stream, stream_state, num_items)
    elif options.whole_list_metrics:
        rankings = labelled_catalog.rank_labelled_twice(source, options.ties_of_places)
    else:
        rankings = labelled_catalog.rank_labelled(source), None
    result = _read_rankings(options, queries, rankings)
    if options.finds_inf:
        result = result._replace(has_inf=source.has_inf())
    if options.label_fn is not None:
        faults = jnp.where(source.loses_items(), Fault.NEGATIVE, result.faults)
        result = result._replace(faults=faults)
    return result


def start(
    options: Options, catalog: CatalogArrays, queries: QueryBatch, state: None
) -> StreamState:
    """Returns the state of a batch before its first part of the items."""
    return Stream.of(catalog_of(options, catalog, queries)).start(options.num_items)


def extend(
    options: Options, catalog: CatalogArrays, queries: QueryBatch, state: StreamState
) -> StreamState:
    """Returns the state after one more part, whose items may enter the first ranks."""
    return Stream.of(catalog_of(options, catalog, queries)).extended(state)


def count(
    options: Options, catalog: CatalogArrays, queries: QueryBatch, state: StreamState
) -> StreamState:
    """Returns the state after counting the items of a part above each relevant item."""
    stream = Stream.of(catalog_of(options, catalog, queries))
    return stream.under(options.ties_of_places).counted(state)


def finish(
    options: Options, catalog: CatalogArrays, queries: QueryBatch, state: StreamState
) -> BatchResult:
    """Returns the values of metrics, from a state after all parts.

    Any part of the items may be passed, because its scores are not read again.
    """
    stream = Stream.of(catalog_of(options, catalog, queries))
    assert options.num_items is not None
    rankings = _rankings_of(options, stream, state, options.num_items)
    return _read_rankings(options, queries, rankings)


def _rankings_of(
    options: Options, stream: Stream, state: StreamState, num_items: int
) -> Rankings:
    """Returns the rankings of a stream that has passed all items."""
    top_k = places = None
    if options.missed_from is not None:
        # Relevant items outside the catalogue exist, so they count, but they have no rank.
        is_missed = stream.relevant_ids >= options.missed_from
        is_missed &= stream.judged.exists
        retrieved = state.retrieved or (state.exists, state.length)
        length = state.length + arithmetic.count(is_missed)
        exists = state.exists | is_missed
        state = state._replace(exists=exists, length=length, retrieved=retrieved)
    if state.best is not None:
        top_k = stream.first_ranks(state, num_items)
    if state.counts is not None:
        places = stream.under(options.ties_of_places).places(state, num_items)
    return top_k, places


def _read_rankings(
    options: Options, queries: QueryBatch, rankings: Rankings
) -> BatchResult:
    """Returns the values of each metric on the ranking that it reads, and the first ids."""
    ids = jnp.zeros((len(queries.indices), 0), jnp.int32)
    if (top_k := rankings[0]) is not None:
        # [queries, k]; the top-k may have more ranks, because a metric needs them.
        ids = top_k.items[..., : options.k]
    readers = options.top_k_metrics, options.whole_list_metrics
    readings = zip(readers, rankings, strict=True)
    readings = [(bounds, data) for bounds, data in readings if data is not None]
    return read_by_metrics(options, readings, ids)


def measure_candidates(
    options: Options, catalog: CatalogArrays, queries: QueryBatch, state: None = None
) -> BatchResult:
    """Returns the values of metrics on rankings of each query's candidates."""
    listed_ids = jnp.asarray(queries.listed_ids)
    # [queries, listed]; scores of padding are computed too, and never read.
    scores = catalog.similarity.of_pairs(
        jnp.asarray(queries.rows), jnp.asarray(queries.items)
    )
    exists = listed_ids >= 0
    # If a query lists no item, put an item without a rank into its pool. It represents the
    # unlisted items, so the query counts like any other query without a relevant item.
    is_empty = ~jnp.any(exists, axis=-1, keepdims=True)
    in_pool = exists | (is_empty & (jnp.arange(exists.shape[-1]) == 0)[None])
    # As for a catalogue, items for which no label was passed were not judged.
    membership = jnp.asarray(queries.membership)
    is_judged = membership & judgements.Membership.JUDGED > 0
    retrieved = membership & judgements.Membership.CANDIDATE > 0
    if options.skips_inf:
        retrieved &= ~jnp.isneginf(scores)  # integers are never infinite
    columns = {"judged": is_judged, "pooled": is_judged}
    known = item_columns_of(options, catalog)
    wide = {name: known[name] for name in catalog.wide_columns}
    if options.items_axis is not None:  # all devices would have to take the same branch
        wide = {}
    columns |= {
        n: column.of(listed_ids) for n, column in known.items() if n not in wide
    }
    lists = checked(
        jnp.asarray(queries.labels),
        scores,
        in_pool,
        list_weights(queries),
        queries.key,
        ties=options.ties,
        retrieved=retrieved,
        columns=columns,
    )
    ranks = None if options.whole_list_metrics else options.depth
    policy = dataclasses.replace(lists.policy, seeds=_tie_seeds(queries))
    lists = dataclasses.replace(lists, ranks=ranks, policy=policy)
    ranking = rank.rank_checked(lists)
    # The ranking's items are slots in the lists, [queries, k], so look up their ids.
    slots = ranking.items[..., : options.k]
    ids = jnp.take_along_axis(listed_ids, jnp.maximum(slots, 0), axis=-1)
    ids = jnp.where(slots >= 0, ids, -1)
    data = data_of(ranking)
    if wide:
        data = item_columns.looked_up(data, wide, listed_ids)
    if queries.profile_ids is not None:
        profile_ids = jnp.asarray(queries.profile_ids)
        of_users = Relevant.empty(ids.shape[:1])._replace(
            item_columns=known, profile_ids=profile_ids
        )
        data = dataclasses.replace(data, profile=of_users.profile(data.dtype))
    return read_by_metrics(options, [(options.bounds, data)], ids)


def put_catalog(
    devices: Devices, catalog: CatalogArrays, num_items: int
) -> CatalogArrays:
    """Puts arrays over items on the devices, cut over the items axis or whole.

    Items that are added to make parts equal are masked: 7 items on two devices become 8,
    and the last item does not exist.
    """
    if catalog.item_mask is None and num_items % devices.num_item_parts:
        catalog = catalog._replace(item_mask=jnp.ones(num_items, bool))
    return devices.put_tree(catalog, _catalog_specs(devices))


def _catalog_specs(devices: Devices) -> Specs:
    """Returns the specs of arrays over items; `columns` are whole, to look up any item."""
    items = devices.of_items
    specs: Any = CatalogArrays._make(EVERYWHERE for _ in CatalogArrays._fields)
    return specs._replace(
        items=items, item_mask=items, wide_columns=items, attributes=items
    )


def _query_specs(
    devices: Devices, catalog: CatalogArrays, queries: QueryBatch
) -> Specs:
    """Returns the specs of the arrays of a batch; scores are also cut over items."""
    specs = jax.tree.map(lambda _: devices.of_queries, queries)
    if queries.membership is None and catalog.items is None:
        specs = specs._replace(rows=devices.of_scores)
    return specs._replace(key=EVERYWHERE)


def run_batch(
    devices: Devices,
    program: Program[R],
    options: Options,
    catalog: CatalogArrays,
    queries: QueryBatch,
    state: StreamState | None = None,
) -> R:
    """Starts a program for a batch, and returns its result without waiting for it.

    Args:
        devices: The devices; each runs the program on the queries of its own part.
        program: The program, a function of this module.
        options: The options of the program.
        catalog: The items, or a part of them, as `put_catalog` returns them.
        queries: The batch.
        state: The result of the previous program; None for the first one.
    """
    # Set the axis here, because its name has a meaning only inside the program.
    options = options._replace(items_axis=devices.items_axis)
    queries = devices.put_tree(queries, _query_specs(devices, catalog, queries))
    jitted = quickly_compiled if program in (start, finish) else compiled
    return jitted()(devices, program, options, catalog, queries, state)


def _run(
    devices: Devices,
    program: Program[R],
    options: Options,
    catalog: CatalogArrays,
    queries: QueryBatch,
    state: StreamState | None,
) -> R:
    def local(catalog: CatalogArrays, queries: QueryBatch, state: Any) -> R:
        axis = devices.queries_axis
        if queries.key is not None and axis is not None:
            # Devices that share a query must break its ties in the same way. Devices with
            # other queries must not.
            key = jax.random.fold_in(queries.key, lax.axis_index(axis))
            queries = queries._replace(key=key)
        result = program(options, catalog, queries, state)
        if axis is None or not isinstance(result, BatchResult):
            return result
        # Gather the few values of a query from the devices, but no scores.
        return jax.tree.map(lambda part: meshes.concatenate_over(part, axis, 0), result)

    specs, of_queries = _query_specs(devices, catalog, queries), devices.of_queries
    in_specs = _catalog_specs(devices), specs, of_queries
    out_specs = of_queries if program in (start, extend, count) else EVERYWHERE
    return devices.map(local, in_specs, out_specs)(catalog, queries, state)


_STATIC = "devices", "program", "options"
# Programs that measure a batch or a part of the items are worth some optimisation, because
# they run longer than `start` and `finish`.
compiled = one_off.one_off_jit(_run, _STATIC, level=1)
quickly_compiled = one_off.one_off_jit(_run, _STATIC)
