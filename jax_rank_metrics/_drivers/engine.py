"""The loop that all drivers share: batches, their programs, and values on the host."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics._drivers.batches import Batch
from jax_rank_metrics._drivers.progress import Progress, reporting, started_ahead
from jax_rank_metrics._states.per_list import PerList

# Batches that the device works on while the host prepares the next one.
BATCHES_AHEAD = 2

# What a program returns for a batch: the values of each metric; the ids of the first items,
# `[queries, k]`; and whether the scores of a query hold NaN, `[queries]` bool.
Measured = tuple[list[PerList], jax.Array, jax.Array]


class Job(NamedTuple):
    """An evaluation as the loop sees it.

    Attributes:
        batches: Which queries share a batch. Each query is in one of them.
        arrays: Makes the arrays of a batch, a pytree with leading axes `[size]`, from its
            number and the batch. It is called in order, and skips no batch that is run.
        program: Maps these arrays to what is measured: a device program that has been
            started, whose results are waited for later. Rows beyond the queries of a
            batch are padding, and not read.
        num_queries: How many queries there are.
        k: How many items are returned for each query.
        nan_message: Says of a query, by its index, that its scores hold NaN.
        unit: What a query is called in a bar of progress, in the plural.
    """

    batches: Sequence[Batch]
    arrays: Callable[[int, Batch], Any]
    program: Callable[[Any], Measured]
    num_queries: int
    k: int
    nan_message: Callable[[int], str]
    unit: str


def run(job: Job, progress: bool | Progress) -> tuple[list[PerList], np.ndarray]:
    """Runs all batches of a job, each started ahead of those that are waited for.

    Args:
        job: The job.
        progress: See `reporting`.

    Returns:
        The values of each metric for all queries, as NumPy arrays, and the ids of the
        first items, `[queries, k]`; −1 where there are no more.

    Raises:
        ValueError: if the scores of a query hold NaN.
    """
    started = (
        (batch.indices, job.program(job.arrays(number, batch)))
        for number, batch in enumerate(job.batches)
    )
    collector = Collector(job.num_queries, job.k)
    with reporting(progress, job.unit) as report:
        for indices, measured in started_ahead(started, BATCHES_AHEAD):
            has_nan = collector.add(indices, measured)
            if has_nan.any():
                raise ValueError(job.nan_message(int(indices[np.argmax(has_nan)])))
            report(collector.num_done, job.num_queries)
    return collector.lists, collector.items


class Collector:
    """Collects the results of batches on the host, in the order of queries.

    Attributes:
        num_done: How many queries are done.
        lists: The values of each metric, for all queries; zeros where they are not done.
        items: `[queries, k]`, the ids of the first items.
    """

    def __init__(self, num_queries: int, k: int) -> None:
        self.num_done = 0
        self.lists: list[PerList] = []
        self.items = np.full((num_queries, k), -1, np.int32)

    def add(self, indices: np.ndarray, measured: Measured) -> np.ndarray:
        """Waits for a batch, and stores the values of its queries.

        The queries [4, 2] of a batch of three write its first two values to the indices 4
        and 2 of each array of `lists` and of `items`; the third only fills up the batch.

        Args:
            indices: `[queries]`, the indices of these queries among all.
            measured: What was measured for these queries, and for any that fill up the
                batch after them.

        Returns:
            Whether the scores of each of these queries hold NaN, `[queries]` bool.
        """
        lists, ids, has_nan = jax.device_get(measured)
        size = indices.size
        if not self.num_done:
            num_queries = len(self.items)
            self.lists = jax.tree.map(
                lambda x: np.zeros((num_queries, *x.shape[1:]), x.dtype), lists
            )
        arrays = jax.tree.leaves(self.lists)
        for array, values in zip(arrays, jax.tree.leaves(lists), strict=True):
            array[indices] = values[:size]
        self.items[indices, : ids.shape[-1]] = ids[:size]
        self.num_done += size
        return has_nan[:size]
