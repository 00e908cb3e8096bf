"""The queries of a call, and their batches: over all items, or over candidates."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.batches import (
    Batch,
    QueryParts,
    Work,
    batch_size_for,
    batches_by_width,
    make_batches,
    pad_rows,
)
from jax_rank_metrics._drivers.candidates import Listed, measure_candidates
from jax_rank_metrics._drivers.devices import Array, Devices
from jax_rank_metrics._drivers.interactions import Unit
from jax_rank_metrics._drivers.judgements import Judgements
from jax_rank_metrics._drivers.model import Model
from jax_rank_metrics._drivers.nan_causes import Vectors, nan_message
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._sources.token_items import TokenItems

# How many scores a batch has at once where all items are in one block: 128 MiB. It also
# bounds how many numbers a batch gathers from the embeddings of its candidates.
MAX_AT_ONCE = 2**25

# How long a CPU takes to gather a number of an embedding, and to multiply it.
NANOSECONDS_A_NUMBER = 2.0

# With batches of this size at least, whatever is at once.
MIN_SIZE = 32

# How many items are scored at a time where nothing needs all of them in one block.
BLOCK_SIZE = 4096


class Queries(NamedTuple):
    """The queries of a call: users of a recommender, or queries with embeddings.

    Attributes:
        devices: The devices that share the work.
        model: What scores them.
        unit: What they are called in messages.
        rows: `[queries]`, the row of each in the model: all rows, or chosen users.
        judgements: The items that each is judged on; row i is of query i.
        batch_size: How many share a batch at most.
        key: The key of all random ties, or None.
    """

    devices: Devices
    model: Model
    unit: Unit
    rows: np.ndarray
    judgements: Judgements
    batch_size: int
    key: jax.Array | None

    @property
    def parts(self) -> QueryParts:
        """Which part of the devices has which query."""
        return QueryParts.over(self.devices, self.rows, self.model.table)

    def batches(self, plan: Plan, num_items: int) -> list[Batch]:
        """Divides the queries into batches of similar numbers of ids.

        Args:
            plan: The plan.
            num_items: How many items there are, at least.
        """
        # [queries, 2]: the numbers of excluded and of relevant ids. By attributes there
        # are none.
        lengths = np.zeros((self.rows.size, 2), np.int64)
        for column, rows in enumerate(
            (self.judgements.exclude, self.judgements.relevant)
        ):
            if rows is not None:
                lengths[:, column] = np.diff(rows.indptr)
        table, makes_scores = self.model.table, self.model.score_fn is None
        if self.model.items is not None and table is not None and makes_scores:
            num_blocks = -(-num_items // plan.block_size)
            # A block holds the scores of a whole batch at once, of each token of queries.
            num_rows = math.prod(table.shape[1:-1])
            row_size = num_rows * min(plan.block_size, num_items)
            size = batch_size_for(self.rows.size, self.batch_size, row_size)
            size = bounded(size, row_size)
        else:
            num_blocks = 1
            size = batch_size_for(self.rows.size, self.batch_size, num_items)
        work = Work(num_items, num_blocks, bool(plan.whole_list_metrics))
        size = self.devices.batch_size(size)
        return list(make_batches(lengths, size, work, self.parts))

    def name(self, index: int) -> str:
        """Returns what messages call a query, such as "user 7"."""
        return f"{self.unit[0]} {self.rows[index]}"

    def scored_rows(self, batch: Batch) -> Array:
        """Returns what the model knows of the queries of a batch, `[size, …]`.

        Its padding holds the last of all queries.
        """
        return self.model.rows(self.devices, self.rows[batch.indices])

    def arrays(self, number: int, batch: Batch, rows: Array) -> step.QueryBatch:
        """Returns the arrays of a batch that ranks all items.

        Args:
            number: The number of the batch, which makes its random ties its own.
            batch: The queries of the batch.
            rows: What `scored_rows` returns for it.
        """
        judged, devices = self.judgements, self.devices
        # Arrays of NumPy, which the program puts on devices together when it starts.
        arrays = step.QueryBatch(
            batch.slots,
            rows,
            step.key_of_batch(self.key, number),
            attributes=jax.tree.map(
                lambda x: devices.rows(
                    "query_attributes", x, batch.indices, devices.of_queries
                ),
                judged.query_attributes,
            ),
        )
        if judged.relevant is not None:
            ids, labels = pad_rows(judged.relevant, batch.indices, batch.widths[1])
            arrays = arrays._replace(relevant_ids=ids, relevant_labels=labels)
        if judged.exclude is not None:
            ids, _ = pad_rows(judged.exclude, batch.indices, batch.widths[0])
            arrays = arrays._replace(excluded_ids=ids)
        return arrays

    def nan_message(self, index: int, items: Vectors | None) -> str:
        """Returns the message for a query of which a score is NaN.

        Args:
            index: The index of the query.
            items: The items of whose vectors scores are made; None if of none.
        """
        model, name, vectors = self.model, self.name(index), []
        if items is not None:
            row = int(self.rows[index])
            query = Vectors.of_query(model.names[0], model.table, row, name)
            vectors = [query, items]
        return nan_message(f"{model.scores_of} {name}", vectors, model.nan_cause)


def block_size_for(plan: Plan, num_items: int, reads_blocks: bool) -> int:
    """Chooses how many items are scored at a time.

    Args:
        plan: The plan.
        num_items: How many items there are.
        reads_blocks: Whether the host reads them in blocks.
    """
    # Only of a whole block, labels of any kind and places of all items are known.
    needs_one_block = plan.label_fn is not None and bool(plan.whole_list_metrics)
    if needs_one_block and not reads_blocks and num_items * MIN_SIZE <= MAX_AT_ONCE:
        return num_items
    return BLOCK_SIZE


def rows_of_batches(
    queries: Queries, first_rows: Array | None
) -> Callable[[int, Batch], Array]:
    """Returns a function of the number of a batch and the batch, which returns its rows.

    Args:
        queries: The queries.
        first_rows: The rows of the first batch, if they are known. They take memory, and
            are kept until it is started.
    """
    known_rows = [] if first_rows is None else [first_rows]

    def rows_of(number: int, batch: Batch) -> Array:
        if number > 0:  # also of an evaluation that resumes
            known_rows.clear()
        return known_rows.pop() if known_rows else queries.scored_rows(batch)

    return rows_of


def over_all_items(
    plan: Plan,
    queries: Queries,
    catalog: step.CatalogArrays,
    num_items: int,
    batches: list[Batch],
    first_rows: Array | None = None,
) -> step.Batches:
    """Returns the batches in which each query ranks all items.

    Args:
        plan: The plan.
        queries: The queries.
        catalog: Arrays over the items, but for the vectors of the model.
        num_items: How many items there are.
        batches: The division of the queries.
        first_rows: The rows of the first batch, if they are known.
    """
    devices, rows_of = queries.devices, rows_of_batches(queries, first_rows)
    (_, name), items = queries.model.names, queries.model.items
    # The scores of tokens are known, batch by batch.
    if items is not None and not isinstance(items, TokenItems):
        catalog = catalog._replace(items=devices.items(name, items))
    # Once for all batches; from here on, items may be longer by padding that is masked.
    catalog = step.put_catalog(devices, catalog, num_items)
    vectors = None
    if catalog.items is not None:
        items = catalog.items
    if items is not None:
        vectors = Vectors(name, items, num_items, catalog.item_mask)

    def arrays(number: int, batch: Batch) -> step.QueryBatch:
        return queries.arrays(number, batch, rows_of(number, batch))

    program = step.program_of(devices, plan, catalog)
    added_names = [*step.measures_of_ids(plan, catalog)]
    return step.Batches(queries.parts, batches, arrays, program, vectors, added_names)


def batches_of_candidates(queries: Queries) -> tuple[Listed, list[Batch]]:
    """Returns the lists of candidates, and the division of the queries by their lengths."""
    judgements, items = queries.judgements, queries.model.items
    listed = Listed.of(judgements.candidates, judgements.relevant, judgements.exclude)
    row_size = 1 if items is None else int(np.prod(items.shape[1:]))
    max_size = batch_size_for(queries.rows.size, queries.batch_size)

    def size_for(width: int) -> int:
        size = bounded(max_size, width * row_size, min_size=1)
        return queries.devices.batch_size(size)

    # Lists of similar lengths share a batch, since vectors of padding are gathered too.
    cost = NANOSECONDS_A_NUMBER * row_size
    return listed, list(batches_by_width(listed.widths, size_for, cost, queries.parts))


def over_candidates(
    plan: Plan,
    queries: Queries,
    catalog: step.CatalogArrays,
    listed: Listed,
    batches: list[Batch],
    first_rows: Array | None = None,
) -> step.Batches:
    """Returns the batches in which each query ranks its candidates.

    Args:
        plan: The plan.
        queries: The queries.
        catalog: Arrays over the items, but for the vectors of the model.
        listed: What `batches_of_candidates` returns, as the next.
        batches: The division of the queries.
        first_rows: The rows of the first batch, if they are known.
    """
    devices, model = queries.devices, queries.model
    mask = None if catalog.item_mask is None else np.asarray(catalog.item_mask)
    # Each batch brings the embeddings of its own candidates; the program has no items.
    catalog = step.put_catalog(devices, catalog._replace(item_mask=None), 0)
    rows_of = rows_of_batches(queries, first_rows)

    def arrays(number: int, batch: Batch) -> step.CandidateBatch:
        width = batch.widths[1]
        ids, labels = pad_rows(listed.labels, batch.indices, width)
        _, kinds = pad_rows(listed.kinds, batch.indices, width)
        if mask is not None:
            is_listed = mask[ids]
            ids = np.where(is_listed, ids, -1)
            labels, kinds = labels * is_listed, kinds * is_listed
        indices = queries.rows[batch.indices]
        rows, listed_items = model.listed(
            indices, ids, functools.partial(rows_of, number, batch)
        )
        return step.CandidateBatch(
            batch.slots,
            rows,
            step.key_of_batch(queries.key, number),
            listed_items,
            ids,
            labels,
            kinds,
        )

    program = step.program_of(devices, plan, catalog, measure_candidates)
    items, vectors = model.items, None
    if items is not None:
        vectors = Vectors(model.names[1], items, len(items), mask)
    added_names = [*step.measures_of_ids(plan, catalog)]
    return step.Batches(queries.parts, batches, arrays, program, vectors, added_names)


def bounded(size: int, numbers_per_query: int, min_size: int = MIN_SIZE) -> int:
    """Returns the size of a batch that holds no more numbers at once than it may."""
    return max(min(size, MAX_AT_ONCE // max(numbers_per_query, 1)), min(size, min_size))
