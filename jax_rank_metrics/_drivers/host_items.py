"""The batches of `evaluate_embeddings` over items that the host reads in parts."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.batches import Batch
from jax_rank_metrics._drivers.engine import Progress, reporting
from jax_rank_metrics._drivers.interactions import QUERY, refuse_unknown_items
from jax_rank_metrics._drivers.nan_causes import Vectors
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._drivers.query_batches import Batches, Inputs, divided
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._ordering.outranking import Outranking
from jax_rank_metrics._sources.host_blocks import HostBlocks, Part
from jax_rank_metrics._sources.streams import FirstPass, Seen, Stream

# More items than there can be, while their number is not known.
MAX_ITEMS = 2**31 - 1


def read_blocks(
    items: Any, per_item: Iterable[Any], num_items: int | None
) -> HostBlocks:
    """Returns items that come in blocks, and checks how many there are while they are read.

    Args:
        items: What `HostBlocks` takes.
        per_item: Arrays `[items, …]`, or None.
        num_items: How many there have to be, if that is known otherwise.
    """
    for array in per_item:
        if num_items is None and array is not None:
            num_items = len(array)
    return HostBlocks(items, num_items)


def over_host_blocks(
    plan: Plan, inputs: Inputs, blocks: HostBlocks, progress: bool | Progress
) -> Batches:
    """Returns the batches in which each query ranks items that the host reads in parts.

    All batches advance through a part before the next one is read. So the items are read
    once; twice where a metric reads whole lists. `inputs.items` is an example of them.
    The share of items that have been read is reported as that share of queries, where the
    number of items is known; and all queries at the end. Nothing is left to report then.
    """
    if inputs.devices.mesh is not None:
        raise ValueError(
            "mesh is given, and items come in blocks; pass a memory-mapped array, of which "
            "each process reads what its own devices need"
        )
    if inputs.judgements.candidates is not None:
        raise ValueError(
            "candidates is given, and items come in blocks; pass items as one array in "
            "memory, of which candidates are gathered"
        )
    if plan.whole_list_metrics:
        if plan.label_fn is not None:
            raise ValueError(
                "relevant is by attributes, items come in blocks, and a metric has no "
                "cutoff; pass one, such as map@100, or items as one array in memory"
            )
        if not blocks.is_repeatable:
            raise ValueError(
                "items is an iterator, which can be read once, but metrics without a "
                "cutoff count places in a second round; pass a sequence of blocks, a "
                "memory-mapped array, or a function that returns a fresh iterator"
            )
    judgements, mask = inputs.judgements, inputs.item_mask
    num_items = blocks.num_items or MAX_ITEMS
    parts, batches, arrays = divided(plan, inputs, num_items)

    def catalog_of(part: Part) -> step.CatalogArrays:
        items = _inputs.real("items", part.items)
        exists = jnp.asarray(part.exists if mask is None else part.cut(mask))
        attributes = jax.tree.map(part.cut, judgements.item_attributes)
        return step.CatalogArrays(
            items,
            exists,
            attributes=attributes,
            similarity=inputs.similarity,
            groups=inputs.groups,
        )

    num_rounds = 2 if plan.whole_list_metrics else 1

    def advance(
        program: Any, states: list[Any], rounds_done: int, report: Progress
    ) -> tuple[list[Any], step.CatalogArrays]:
        """Passes the states of all batches through all parts."""
        previous, catalog = states, None
        num_queries, known_items = len(inputs.queries), blocks.num_items
        for part in blocks.parts(plan.block_size):
            catalog = catalog_of(part)
            advanced = [
                program(plan, catalog, part.first_id, queries, state)
                for queries, state in zip(all_queries, states, strict=True)
            ]
            # The device works on a part while the host reads the next one, and no more.
            jax.block_until_ready(previous)
            previous = states = advanced
            if known_items is not None:
                num_read = min(part.first_id + len(part.exists), known_items)
                share = (rounds_done + num_read / known_items) / num_rounds
                report(int(share * num_queries), num_queries)
        assert catalog is not None
        return states, catalog

    all_queries = [arrays(number, batch) for number, batch in enumerate(batches)]
    example = step.CatalogArrays(
        _inputs.real("items", blocks.example),
        jnp.ones(1, bool),
        attributes=jax.tree.map(lambda x: x[:1], judgements.item_attributes),
        similarity=inputs.similarity,
        groups=inputs.groups,
    )
    first_passes = [
        _start()(plan, example, queries, blocks.num_items) for queries in all_queries
    ]
    with reporting(progress, QUERY[1]) as report:
        first_passes, catalog = advance(_extend(), first_passes, 0, report)
        _check_ids(inputs, blocks)
        counts = None
        if plan.whole_list_metrics:
            states = [_start_counts()(state.seen) for state in first_passes]
            states, catalog = advance(_count(), states, 1, report)
            counts = [state[1] for state in states]
        report(len(inputs.queries), len(inputs.queries))

    def arrays_of(number: int, batch: Batch) -> Any:
        del batch
        return (
            all_queries[number],
            first_passes[number],
            counts and counts[number],
        )

    def program(slots: np.ndarray, state: Any) -> step.Measured:
        return _finish()(plan, catalog, slots, *state, blocks.num_items)

    assert blocks.num_items is not None  # they have been read
    vectors = Vectors("items", blocks, blocks.num_items, mask)
    return Batches(parts, batches, arrays_of, program, vectors)


def _check_ids(inputs: Inputs, blocks: HostBlocks) -> None:
    """Raises if an id is of no item, which is known once all items have been read."""
    assert blocks.num_items is not None
    judgements, query_ids = inputs.judgements, np.arange(len(inputs.queries))
    for name, rows in (
        ("relevant", judgements.relevant),
        ("exclude", judgements.excluded),
    ):
        if rows is not None:
            refuse_unknown_items(name, rows, query_ids, blocks.num_items, QUERY)


def _stream(
    plan: Plan,
    catalog: step.CatalogArrays,
    queries: step.QueryBatch,
    first_id: Any = 0,
) -> Stream:
    source = step.catalog_of(plan, catalog, queries)
    return Stream.of(dataclasses.replace(source, first_id=first_id))


def _first_state(
    plan: Plan,
    catalog: step.CatalogArrays,
    queries: step.QueryBatch,
    num_items: int | None,
) -> FirstPass:
    return _stream(plan, catalog, queries).start(num_items)


def _extended(
    plan: Plan,
    catalog: step.CatalogArrays,
    first_id: jax.Array,
    queries: step.QueryBatch,
    state: FirstPass,
) -> FirstPass:
    return _stream(plan, catalog, queries, first_id).extended(state)


def _no_counts(seen: Seen) -> tuple[Seen, Outranking]:
    zeros = jnp.zeros(seen.keys.shape, jnp.int32)
    return seen, Outranking(zeros, zeros, zeros)


def _counted(
    plan: Plan,
    catalog: step.CatalogArrays,
    first_id: jax.Array,
    queries: step.QueryBatch,
    state: tuple[Seen, Outranking],
) -> tuple[Seen, Outranking]:
    seen, counts = state
    stream = _stream(plan, catalog, queries, first_id).under(plan.ties_of_places)
    return seen, stream.counted(counts, seen)


def _measured(
    plan: Plan,
    catalog: step.CatalogArrays,
    slots: jax.Array,
    queries: step.QueryBatch,
    first_pass: FirstPass,
    counts: Outranking | None,
    num_items: int,
) -> step.Measured:
    stream = _stream(plan, catalog, queries)
    outcome, places = stream.over_devices(first_pass), None
    if counts is not None:
        counting = stream.under(plan.ties_of_places)
        places = counting.places(counts, outcome.seen, num_items)
    top_k = stream.first_ranks(outcome, num_items)
    lost = None if outcome.census is None else outcome.census.loses_items
    lists, ids, faults = step.measure_rankings(plan, catalog, top_k, places, lost)
    return step.Measured(lists, ids, slots, step.first_fault(faults, slots))


_start = one_off_jit(_first_state, ("plan", "num_items"))
_extend = one_off_jit(_extended, ("plan",), level=1)
_start_counts = one_off_jit(_no_counts, ())
_count = one_off_jit(_counted, ("plan",), level=1)
_finish = one_off_jit(_measured, ("plan", "num_items"))
