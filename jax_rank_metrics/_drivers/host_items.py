"""The batches of `evaluate_embeddings` over items that the host reads in parts."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.batches import Batch
from jax_rank_metrics._drivers.interactions import QUERY
from jax_rank_metrics._drivers.nan_causes import Vectors
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._drivers.progress import Progress, reporting
from jax_rank_metrics._drivers.query_batches import Queries
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._ordering.outranking import Outranking
from jax_rank_metrics._sources.attributes import by_attributes
from jax_rank_metrics._sources.host_blocks import HostBlocks, Part
from jax_rank_metrics._sources.streams import FirstPass, Seen, Stream

# More items than there can be, while their number is not known.
MAX_ITEMS = 2**31 - 1

State = TypeVar("State")
# What a batch is measured from: its arrays, and what two rounds have found.
Rounds = tuple[step.QueryBatch, FirstPass, Outranking | None]


def read_blocks(
    items: Any, per_item: Sequence[Any], relevant: object, num_items: int | None
) -> HostBlocks:
    """Returns items that come in blocks, and checks how many there are while they are read.

    Args:
        items: What `HostBlocks` takes.
        per_item: Arrays `[items, …]`, or None.
        relevant: What is relevant; attributes of items say how many there are, too.
        num_items: How many there have to be, if that is known otherwise.
    """
    if isinstance(relevant, by_attributes):
        per_item = [*per_item, *jax.tree.leaves(relevant.item_attributes)]
    for array in per_item:
        if num_items is None and array is not None:
            num_items = len(array)
    return HostBlocks(items, num_items)


def over_host_blocks(
    plan: Plan,
    queries: Queries,
    catalog: step.CatalogArrays,
    blocks: HostBlocks,
    progress: bool | Progress,
) -> step.Batches:
    """Returns the batches in which each query ranks items that the host reads in parts.

    All batches advance through a part before the next one is read. So the items are read
    once; twice where a metric reads whole lists. The share of items that have been read is
    reported as that share of queries, where the number of items is known; and all queries
    at the end. Nothing is left to report then.

    Args:
        plan: The plan.
        queries: The queries.
        catalog: Arrays over all items, but for their vectors.
        blocks: The vectors of the items.
        progress: See `reporting`.
    """
    _refuse_unreadable(plan, queries, blocks)
    batches = queries.batches(plan, blocks.num_items or MAX_ITEMS)
    arrays = [
        queries.arrays(number, batch, queries.scored_rows(batch))
        for number, batch in enumerate(batches)
    ]
    num_queries, num_rounds = queries.rows.size, 2 if plan.whole_list_metrics else 1
    mask = None if catalog.item_mask is None else np.asarray(catalog.item_mask)
    # Programs begin and end with some part of the items, of which they read the shape.
    last_part = catalog._replace(
        items=_inputs.real("items", blocks.example),
        item_mask=jnp.ones(1, bool),
        attributes=jax.tree.map(lambda x: x[:1], catalog.attributes),
    )

    def catalog_of(part: Part) -> step.CatalogArrays:
        return catalog._replace(
            items=_inputs.real("items", part.items),
            item_mask=jnp.asarray(part.exists if mask is None else part.cut(mask)),
            attributes=jax.tree.map(part.cut, catalog.attributes),
        )

    def advanced(
        program: Callable[..., State], states: list[State], rounds_done: int
    ) -> list[State]:
        """Passes the states of all batches through all parts."""
        nonlocal last_part
        known_items = blocks.num_items
        for part in blocks.parts(plan.block_size):
            last_part, previous = catalog_of(part), states
            states = [
                program(plan, last_part, part.first_id, *of_batch)
                for of_batch in zip(arrays, states, strict=True)
            ]
            # The device works on a part while the host reads the next one, and no more.
            jax.block_until_ready(previous)
            if known_items is not None:
                num_read = min(part.first_id + len(part.exists), known_items)
                share = (rounds_done + num_read / known_items) / num_rounds
                report(int(share * num_queries), num_queries)
        return states

    # The first round finds the first ranks, and the scores of the relevant items.
    first_passes = [_start()(plan, last_part, x, blocks.num_items) for x in arrays]
    counts: list[Outranking | None] = [None] * len(batches)
    with reporting(progress, QUERY[1]) as report:
        first_passes = advanced(_extend(), first_passes, 0)
        assert blocks.num_items is not None  # they have been read
        # An iterator may have had fewer items than an id says.
        queries.judgements.check_known_items(blocks.num_items)
        if plan.whole_list_metrics:
            # The second round counts what scores above each relevant item: [batch,
            # relevant] numbers, from 0.
            states = [
                (x.seen, Outranking.zeros(x.seen.keys.shape)) for x in first_passes
            ]
            counts = [state[1] for state in advanced(_count(), states, 1)]
        report(num_queries, num_queries)

    def rounds_of(number: int, batch: Batch) -> Rounds:
        del batch  # all has been prepared
        return arrays[number], first_passes[number], counts[number]

    def program(rounds: Rounds) -> step.Measured:
        return _finish()(plan, last_part, *rounds, blocks.num_items)

    vectors = Vectors("items", blocks, blocks.num_items, mask)
    return step.Batches(queries.parts, batches, rounds_of, program, vectors)


def _refuse_unreadable(plan: Plan, queries: Queries, blocks: HostBlocks) -> None:
    """Raises `ValueError` where blocks cannot be read as a call needs them."""
    if queries.devices.mesh is not None:
        raise ValueError(
            "mesh is given, and items come in blocks; pass a memory-mapped array, of which "
            "each process reads what its own devices need"
        )
    if queries.judgements.candidates is not None:
        raise ValueError(
            "candidates is given, and items come in blocks; pass items as one array in "
            "memory, of which candidates are gathered"
        )
    if plan.whole_list_metrics and plan.label_fn is not None:
        raise ValueError(
            "relevant is by attributes, items come in blocks, and a metric has no "
            "cutoff; pass one, such as map@100, or items as one array in memory"
        )
    if plan.whole_list_metrics and not blocks.is_repeatable:
        raise ValueError(
            "items is an iterator, which can be read once, but metrics without a "
            "cutoff count places in a second round; pass a sequence of blocks, a "
            "memory-mapped array, or a function that returns a fresh iterator"
        )


def _stream(
    plan: Plan,
    catalog: step.CatalogArrays,
    queries: step.QueryBatch,
    first_id: jax.Array | int = 0,
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
    queries: step.QueryBatch,
    first_pass: FirstPass,
    counts: Outranking | None,
    num_items: int,
) -> step.Measured:
    # The catalogue of the last part stands for all: scores are not read again.
    stream = _stream(plan, catalog, queries)
    outcome, places = stream.over_devices(first_pass), None
    if counts is not None:
        counting = stream.under(plan.ties_of_places)
        places = counting.places(counts, outcome.seen, num_items)
    top_k = stream.first_ranks(outcome, num_items)
    lost = None if outcome.census is None else outcome.census.loses_items
    lists, ids, faults = step.measure_rankings(plan, catalog, top_k, places, lost)
    slots = jnp.asarray(queries.slots)
    return step.Measured(lists, ids, slots, step.first_fault(faults, slots))


# Programs that run once for each part of the items are worth some optimisation.
_start = one_off_jit(_first_state, ("plan", "num_items"))
_extend = one_off_jit(_extended, ("plan",), level=1)
_count = one_off_jit(_counted, ("plan",), level=1)
_finish = one_off_jit(_measured, ("plan", "num_items"))
