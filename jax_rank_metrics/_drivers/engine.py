"""The loop that all drivers share: batches, their programs, and values of all queries."""

import collections
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from jax_rank_metrics._calls.names import lower_is_better
from jax_rank_metrics._calls.spec import Bound
from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.batches import Batch, QueryParts
from jax_rank_metrics._drivers.checkpoints import (
    Call,
    Checkpoint,
    checksum,
    read_checkpoint,
)
from jax_rank_metrics._drivers.collected import Collected, Collector, MeshCollector
from jax_rank_metrics._drivers.counted_queries import (
    counted_items,
    counted_values,
    is_counted,
)
from jax_rank_metrics._drivers.devices import Devices
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._results.systems.direction import warn_of_zeros
from jax_rank_metrics._sources.census import negative_labels, too_many_labels
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Undefined

T = TypeVar("T")
Progress = Callable[[int, int], object]

# Batches that the device works on while the host prepares the next one.
BATCHES_AHEAD = 2


class Job(NamedTuple):
    """An evaluation as the loop sees it.

    Attributes:
        devices: The devices that share the work.
        parts: Which part of its devices has which query.
        batches: Which queries share a batch. Each query is in one of them.
        arrays: Makes the arrays of a batch from its number and the batch. It is called in
            order, and skips no batch that is run.
        program: Starts to measure a batch, from the slots of its queries and these
            arrays; the results are waited for later.
        metric_names: The names of what is measured.
        bounds: The first of these metrics; those after them are means.
        undefined: What undefined values count for.
        k: How many items are returned for each query.
        num_items: How many items there are, or None if nobody asks for the exposure.
        inputs: The arguments that a call must have in common with one that it resumes,
            by name; see `checksum`.
        nan_message: Says of a query, by its index, that its scores hold NaN.
        query_name: Names a query, by its index, in other messages: "user 'ann'".
        unit: What a query is called in a bar of progress, in the plural.
    """

    devices: Devices
    parts: QueryParts
    batches: Sequence[Batch]
    arrays: Callable[[int, Batch], step.QueryBatch]
    program: step.Program
    metric_names: Sequence[str]
    bounds: Sequence[Bound]
    undefined: Undefined
    k: int
    num_items: int | None
    inputs: Mapping[str, Any]
    nan_message: Callable[[int], str]
    query_name: Callable[[int], str]
    unit: str


class JobResult(NamedTuple):
    """The outcome of a job.

    Attributes:
        states: The state of each metric by its name.
        lists: The values of all queries; see `Evaluation`.
        items: `[queries, k]`, the ids of the first items.
        exposure: How often each item was found; None if nobody asked.
        undefined_names: The metrics that are undefined for every query.
        parts: Which slot has which query, where values stay on devices; else None.
    """

    states: dict[str, Mean]
    lists: dict[str, PerList]
    items: Any
    exposure: Exposure | None
    undefined_names: list[str]
    parts: QueryParts | None


def run(
    job: Job,
    progress: bool | Progress,
    on_batch: Callable[[Checkpoint], object] | None = None,
    resume_from: Checkpoint | None = None,
) -> JobResult:
    """Runs all batches of a job, each started ahead of those that are waited for.

    Args:
        job: The job.
        progress: See `reporting`.
        on_batch: Is called with a checkpoint after each batch, or None.
        resume_from: The checkpoint from which to go on, or None. Of the batches that it
            has done, the last is run again, and must have the values that are saved.

    Raises:
        TypeError: if `resume_from` is no checkpoint, or `on_batch` no function.
        ValueError: if the scores of a query hold NaN; if a metric cannot read its relevant
            items; if the checkpoint is not of this job.
    """
    collector = _collector(job)
    collected = _collect(job, collector, progress, on_batch, resume_from)
    # The values keep `undefined`, so that `compare` counts such queries as the means do.
    lists = [dataclasses.replace(x, undefined=job.undefined) for x in collected.lists]
    counted_ids = collected.items
    if job.undefined == "skip":
        # Whatever is measured beside the metrics is of the queries that they are of.
        num_metrics = len(job.bounds)
        counted = is_counted(lists[:num_metrics])
        lists[num_metrics:] = [counted_values(x, counted) for x in lists[num_metrics:]]
        if job.num_items is not None:
            counted_ids = counted_items(counted_ids, counted)
    kinds = [bound.state for bound in job.bounds]
    kinds += [Mean] * (len(lists) - len(kinds))
    all_states, is_defined, exposure = collector.totals(
        Collected(lists, counted_ids), kinds, job.num_items
    )
    undefined_names = [
        bound.name
        for bound, has_value in zip(job.bounds, is_defined, strict=False)
        if not has_value
    ]
    states = dict(zip(job.metric_names, all_states, strict=True))
    if job.undefined == "zero":
        counts = [
            ((name,), (int(state.undefined), int(state.lists)))
            for name, state in states.items()
            if lower_is_better(name) and name not in undefined_names
        ]
        warn_of_zeros(counts, stacklevel=4)
    return JobResult(
        states,
        dict(zip(job.metric_names, lists, strict=True)),
        collected.items,
        exposure,
        undefined_names,
        None if job.devices.mesh is None else job.parts,
    )


def _collector(job: Job) -> Collector:
    if job.devices.mesh is None:
        return Collector(job.parts, job.k)
    return MeshCollector(job.devices, job.parts, job.k)


def _collect(
    job: Job,
    collector: Collector,
    progress: bool | Progress,
    on_batch: Callable[[Checkpoint], object] | None,
    resume_from: Checkpoint | None,
) -> Collected:
    """Runs all batches, and returns the values of all queries."""
    if on_batch is not None and not callable(on_batch):
        raise TypeError(f"on_batch is {on_batch!r}; pass a function of a checkpoint")
    num_saved, call = 0, None
    if on_batch is not None or resume_from is not None:
        call = _call(job)
    if call is not None and resume_from is not None:
        sizes = len(job.batches), job.parts.num_slots
        saved = read_checkpoint(resume_from, call, job.metric_names, *sizes)
        collector.restore(saved)
        num_saved = saved.num_batches
    slots = np.append(job.parts.slots, -1).astype(np.int32)  # of padding, the last
    started = (
        (number, job.program(slots[batch.indices], job.arrays(number, batch)))
        for number, batch in enumerate(job.batches)
        if number >= num_saved - 1
    )
    num_done = np.cumsum([np.count_nonzero(x.indices >= 0) for x in job.batches])
    with reporting(progress, job.unit) as report:
        for number, measured in _started_ahead(started, BATCHES_AHEAD):
            fault = collector.add(measured)
            if fault is not None:
                raise ValueError(_message(job, *fault))
            report(int(num_done[number]), job.parts.num_queries)
            if on_batch is not None and call is not None and number >= num_saved:
                # Under no name, which would keep it until the next batch.
                on_batch(
                    call.checkpoint(number + 1, job.metric_names, *collector.snapshot())
                )
    return collector.collected


def _message(job: Job, index: int, fault: step.Fault) -> str:
    """Returns the message for a query with a fault."""
    if fault == step.Fault.NAN:
        return job.nan_message(index)
    name = job.query_name(index)
    if fault == step.Fault.LABELS:
        return too_many_labels(name)
    if fault == step.Fault.NEGATIVE:
        return negative_labels(name)
    return (
        f"{name} has several relevant items, but rank='realistic' and metrics adjusted "
        "for chance read the rank of the only one; leave these metrics out, or pass one "
        "relevant item for each"
    )


def _call(job: Job) -> Call:
    """Returns what a call must have in common with one that resumes it."""
    arguments = {"metrics": job.bounds, **job.inputs}
    # Which query is in which batch also depends on what may change between versions.
    arguments["batches"] = np.concatenate([x.indices for x in job.batches])
    return Call(
        queries=job.parts.num_queries,
        k=job.k,
        batch_size=job.batches[0].indices.size,
        parts=len(job.parts.indices),
        arguments={name: checksum(value) for name, value in arguments.items()},
    )


def _started_ahead(results: Iterator[T], num_ahead: int) -> Iterator[T]:
    """Yields the same results, each only when the next `num_ahead` have been started."""
    started: collections.deque[T] = collections.deque()
    for result in results:
        started.append(result)
        if len(started) > num_ahead:
            yield started.popleft()
    yield from started


@contextlib.contextmanager
def reporting(progress: bool | Progress, unit: str) -> Iterator[Progress]:
    """Gives a `with` block the function to which it reports progress.

    That function takes the number of queries done and the number of all queries.

    Args:
        progress: True for one that moves a bar of rich, which is drawn until the block
            ends. False for one that does nothing. A function is given as it is.
        unit: What queries are called, such as "users".

    Raises:
        TypeError: if `progress` is anything else.
        ModuleNotFoundError: if it is True and rich is not installed.
    """
    if progress is True:
        bars = import_optional("rich.progress", "progress=True", "demo")
        with bars.Progress(*bars.Progress.get_default_columns()) as bar:
            task = bar.add_task(unit)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    elif callable(progress):
        yield progress
    elif progress is False:
        yield lambda done, total: None
    else:
        raise TypeError(
            f"progress is {progress!r}; pass True, False, or a function of the number of "
            f"{unit} done and the number of all {unit}"
        )
