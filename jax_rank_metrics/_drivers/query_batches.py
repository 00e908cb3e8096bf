"""The batches of `evaluate_embeddings`: over all items, or over candidates."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.batches import (
    Batch,
    QueryParts,
    Work,
    batches_by_width,
    make_batches,
    query_batch,
)
from jax_rank_metrics._drivers.candidates import (
    Listed,
    candidate_batch,
    measure_candidates,
)
from jax_rank_metrics._drivers.devices import Array, Devices
from jax_rank_metrics._drivers.nan_causes import Vectors
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._drivers.query_inputs import Judgements
from jax_rank_metrics._sources.similarities import Similarity

# How many scores a batch has at once where all items are in one block: 128 MiB. It also
# bounds how many numbers a batch gathers from the embeddings of its candidates.
MAX_AT_ONCE = 2**25

# How long a CPU takes to gather a number of an embedding, and to multiply it.
NANOSECONDS_A_NUMBER = 2.0

# With batches of this size at least, whatever is at once.
MIN_SIZE = 32

# How many items are scored at a time where nothing needs all of them in one block.
BLOCK_SIZE = 4096


class Inputs(NamedTuple):
    """The arguments of `evaluate_embeddings`, checked.

    Attributes:
        queries: `[queries, …]`, on the host or on a device.
        items: `[items, …]`, on the host or on a device.
        similarity: What scores them.
        item_mask: `[items]` bool, the items that exist; or None.
        groups: `[items, groups]`, memberships of the items; or None.
        judgements: What each query is judged on.
        size: How many queries share a batch at most.
        key: The key of all random ties, or None.
        devices: The devices that share the work.
    """

    queries: Array
    items: Array
    similarity: Similarity
    item_mask: jax.Array | None
    groups: jax.Array | None
    judgements: Judgements
    size: int
    key: jax.Array | None
    devices: Devices

    @property
    def parts(self) -> QueryParts:
        """Returns which part of the devices has which query."""
        rows = np.arange(len(self.queries))
        return QueryParts.over(self.devices, rows, self.queries)

    def rows(self, batch: Batch) -> Array:
        """Returns the queries of a batch; its padding holds the last of all queries."""
        devices = self.devices
        return devices.rows("queries", self.queries, batch.indices, devices.of_queries)


class Batches(NamedTuple):
    """The division of the queries, and what makes values of a batch; see `Job`.

    `items` are those of which scores are made.
    """

    parts: QueryParts
    batches: list[Batch]
    arrays: Callable[[int, Batch], Any]
    program: step.Program
    items: Vectors


def block_size_for(num_items: int, needs_one_block: bool) -> int:
    """Returns how many items are scored at a time, where the caller has not said it."""
    fits = num_items * MIN_SIZE <= MAX_AT_ONCE
    return num_items if needs_one_block and fits else BLOCK_SIZE


def over_all_items(plan: Plan, inputs: Inputs) -> Batches:
    """Returns the batches in which each query ranks all items."""
    devices, judgements = inputs.devices, inputs.judgements
    num_items = len(inputs.items)
    catalog = step.CatalogArrays(
        devices.items("items", inputs.items),
        inputs.item_mask,
        attributes=judgements.item_attributes,
        similarity=inputs.similarity,
        groups=inputs.groups,
    )
    catalog = step.put_catalog(devices, catalog, num_items)
    parts, batches, arrays = divided(plan, inputs, num_items)
    program = step.program_of(devices, plan, catalog)
    items = Vectors("items", catalog.items, num_items, catalog.item_mask)
    return Batches(parts, batches, arrays, program, items)


def divided(
    plan: Plan, inputs: Inputs, num_items: int
) -> tuple[QueryParts, list[Batch], Callable[[int, Batch], step.QueryBatch]]:
    """Divides the queries into batches; see `Batches`."""
    devices, judgements = inputs.devices, inputs.judgements
    num_queries = len(inputs.queries)
    size = inputs.size
    # A large block holds the scores of a whole batch at once, so that batches are smaller.
    if plan.block_size > BLOCK_SIZE:
        size = _bounded(size, min(plan.block_size, num_items))
    spec = devices.of_queries
    query_attributes = jax.tree.map(
        lambda x: devices.table(x, spec), judgements.query_attributes
    )
    size, parts = devices.batch_size(size), inputs.parts
    # [queries, 2]: the numbers of excluded and of relevant ids, by which queries share
    # batches. By attributes there are none.
    lengths = np.zeros((num_queries, 2), np.int64)
    for column, rows in enumerate((judgements.excluded, judgements.relevant)):
        if rows is not None:
            lengths[:, column] = np.diff(rows.indptr)
    num_blocks = -(-num_items // plan.block_size)
    work = Work(num_items, num_blocks, bool(plan.whole_list_metrics))
    batches = list(make_batches(lengths, size, work, parts))

    def arrays(number: int, batch: Batch) -> step.QueryBatch:
        arrays_by_id = query_batch(
            number,
            batch,
            inputs.rows(batch),
            judgements.relevant,
            judgements.excluded,
            inputs.key,
        )
        attributes = jax.tree.map(
            lambda x: devices.rows("query_attributes", x, batch.indices, spec),
            query_attributes,
        )
        return arrays_by_id._replace(attributes=attributes)

    return parts, batches, arrays


def over_candidates(plan: Plan, inputs: Inputs) -> Batches:
    """Returns the batches in which each query ranks its candidates."""
    judgements, items = inputs.judgements, inputs.items
    assert judgements.candidates is not None and judgements.relevant is not None
    listed = Listed.of(
        judgements.candidates,
        judgements.relevant,
        judgements.excluded,
        None if inputs.item_mask is None else np.asarray(inputs.item_mask),
    )
    devices, parts = inputs.devices, inputs.parts
    # Each batch brings the embeddings of its own candidates; the program has no items.
    catalog = step.CatalogArrays(
        None, None, similarity=inputs.similarity, groups=inputs.groups
    )
    catalog = step.put_catalog(devices, catalog, 1)
    row_size = int(np.prod(items.shape[1:]))

    def size_for(width: int) -> int:
        size = _bounded(inputs.size, width * row_size, min_size=1)
        return devices.batch_size(size)

    cost = NANOSECONDS_A_NUMBER * row_size
    batches = list(batches_by_width(listed.widths, size_for, cost, parts))

    def arrays(number: int, batch: Batch) -> Any:
        rows = inputs.rows(batch)
        return candidate_batch(number, batch, rows, items, listed, inputs.key)

    program = step.program_of(devices, plan, catalog, measure_candidates)
    vectors = Vectors("items", items, len(items), inputs.item_mask)
    return Batches(parts, batches, arrays, program, vectors)


def _bounded(size: int, numbers_per_query: int, min_size: int = MIN_SIZE) -> int:
    """Returns the size of a batch that holds no more numbers at once than it may."""
    return max(min(size, MAX_AT_ONCE // max(numbers_per_query, 1)), min(size, min_size))
