"""A whole evaluation: its queries, their batches, and the arrays of each batch."""

from typing import NamedTuple

import jax
import numpy as np

from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.batches import (
    Batch,
    Work,
    batch_size_for,
    batches_by_width,
    make_batches,
    pad_rows,
    query_parts,
)
from jax_rank_metrics._drivers.devices import Devices
from jax_rank_metrics._drivers.interactions import Unit, Vocabularies
from jax_rank_metrics._drivers.judgements import Judgements
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._drivers.scorers import Embeddings, Scores, ScoreSource

# How many scores a batch has at once where all items are in one block: 128 MiB. It also
# bounds how many numbers a batch gathers from the embeddings of its candidates.
MAX_AT_ONCE = 2**25

# How long a CPU takes to gather a number of an embedding, and to multiply it.
NANOSECONDS_A_NUMBER = 2.0

# Batches are never made smaller than this to save memory.
MIN_SIZE = 32

# How many items are scored at a time where nothing needs all of them in one block.
BLOCK_SIZE = 4096


class Job(NamedTuple):
    """The queries of a call, what they are judged on, and what is to be measured.

    Attributes:
        plan: The options that all batches share, the metrics among them.
        scorer: What scores the items, on which devices.
        judgements: The items that each query is judged on; row i is of query i.
        rows: `[queries]`, the row of each in the scorer: all rows, or chosen users.
        ids: The ids of all rows and of all items.
        unit: What queries are called in messages.
        batch_size: How many share a batch at most.
        key: The key of all random ties, or None.
    """

    plan: Plan
    scorer: ScoreSource
    judgements: Judgements
    rows: np.ndarray
    ids: Vocabularies
    unit: Unit
    batch_size: int
    key: jax.Array | None

    @property
    def devices(self) -> Devices:
        """The devices that share the work."""
        return self.scorer.devices

    def name(self, index: int) -> str:
        """Returns what messages call a query, such as "user 7"."""
        return self.scorer.query_name(self.unit, int(self.rows[index]))

    @property
    def parts(self) -> np.ndarray:
        """Which part of the devices has which query; see `query_parts`."""
        return query_parts(self.devices, self.rows, self.scorer.queries)

    def batches(self, num_items: int) -> list[Batch]:
        """Divides the queries into batches of similar numbers of ids, or of candidates.

        Args:
            num_items: How many items there are, at least.
        """
        scorer, num_queries = self.scorer, self.rows.size
        if self.judgements.listed is not None:
            row_size = scorer.numbers_per_pair
            max_size = batch_size_for(num_queries, self.batch_size)

            def size_for(width: int) -> int:
                size = bounded(max_size, width * row_size, min_size=1)
                return self.devices.batch_size(size)

            # Lists of similar lengths share a batch: vectors of padding are gathered too.
            widths = self.judgements.listed.widths
            cost = NANOSECONDS_A_NUMBER * row_size
            return list(batches_by_width(widths, size_for, cost, self.parts))
        # [queries, 2]: the numbers of excluded and of relevant ids. By attributes there
        # are none.
        lengths = np.zeros((num_queries, 2), np.int64)
        for column, rows in enumerate(
            (self.judgements.exclude, self.judgements.relevant)
        ):
            if rows is not None:
                lengths[:, column] = np.diff(rows.indptr)
        block_size = self.plan.block_size
        row_size = scorer.numbers_per_query(block_size, num_items)
        size = batch_size_for(num_queries, self.batch_size, row_size)
        if not isinstance(scorer, Scores):  # of these, the caller chooses how many
            size = bounded(size, row_size)
        num_blocks = (
            -(-num_items // block_size) if isinstance(scorer, Embeddings) else 1
        )
        work = Work(num_items, num_blocks, bool(self.plan.whole_list_metrics))
        size = self.devices.batch_size(size)
        return list(make_batches(lengths, size, work, self.parts))

    def arrays(
        self, number: int, batch: Batch, mask: np.ndarray | None
    ) -> step.QueryBatch:
        """Returns the arrays of a batch, of NumPy where they are put on devices together.

        Args:
            number: The number of the batch, which makes its random ties its own.
            batch: Its queries.
            mask: `[items]` bool, the items that exist; None for all.
        """
        judged, devices, scorer = self.judgements, self.devices, self.scorer
        indices, rows = batch.indices.astype(np.int32), self.rows[batch.indices]
        key = None if self.key is None else jax.random.fold_in(self.key, number)
        if judged.listed is not None:
            width = batch.widths[1]
            ids, labels = pad_rows(judged.listed.labels, indices, width)
            _, kinds = pad_rows(judged.listed.kinds, indices, width)
            if mask is not None:
                is_listed = mask[ids]
                ids = np.where(is_listed, ids, -1)
                labels, kinds = labels * is_listed, kinds * is_listed
            vectors, items = scorer.pairs(rows, ids)
            return step.QueryBatch(
                indices, vectors, key, ids, labels, items=items, kinds=kinds
            )
        arrays = step.QueryBatch(
            indices,
            scorer.rows(rows),
            key,
            attributes=jax.tree.map(
                lambda x: devices.rows(
                    "query_attributes", x, indices, devices.of_queries
                ),
                judged.query_attributes,
            ),
        )
        if judged.relevant is not None:
            ids, labels = pad_rows(judged.relevant, indices, batch.widths[1])
            arrays = arrays._replace(listed_ids=ids, labels=labels)
        if judged.exclude is not None:
            ids, _ = pad_rows(judged.exclude, indices, batch.widths[0])
            arrays = arrays._replace(excluded_ids=ids)
        return arrays


def block_size_for(plan: Plan, judgements: Judgements, num_items: int) -> int:
    """Chooses how many items are scored at a time: all, if labels need it and it can be.

    Args:
        plan: The plan.
        judgements: What is relevant, perhaps by labels of a function.
        num_items: How many items there are.
    """
    # Only of a whole block, labels that are numbers and places of all items are known.
    dtype = judgements.label_dtype
    needs_one_block = dtype is not None and (
        bool(plan.whole_list_metrics) or dtype != np.bool_
    )
    if needs_one_block and num_items * MIN_SIZE <= MAX_AT_ONCE:
        return num_items
    return BLOCK_SIZE


def bounded(size: int, numbers_per_query: int, min_size: int = MIN_SIZE) -> int:
    """Returns the size of a batch that holds no more numbers at once than it may."""
    return max(min(size, MAX_AT_ONCE // max(numbers_per_query, 1)), min(size, min_size))
