"""The loop that all drivers share: batches, their programs, and values of all queries."""

import collections
import dataclasses
import functools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from jax_rank_metrics._arithmetic import where_kept
from jax_rank_metrics._calls.names import lower_is_better
from jax_rank_metrics._check.remarks import remark_on_grades
from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.checkpoints import (
    Call,
    Checkpoint,
    checksum,
    read_checkpoint,
)
from jax_rank_metrics._drivers.collected import Collected, Collector, MeshCollector
from jax_rank_metrics._drivers.devices import Array, Devices
from jax_rank_metrics._drivers.evaluation import Evaluation
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._drivers.progress import Progress, reporting
from jax_rank_metrics._drivers.query_batches import Queries
from jax_rank_metrics._drivers.triples import Questions
from jax_rank_metrics._gains import overflow_message
from jax_rank_metrics._metrics.spec import Bound
from jax_rank_metrics._results.systems.direction import remark_on_zeros
from jax_rank_metrics._sources.census import negative_labels, too_many_labels
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList, undefined_unless, weighed_by
from jax_rank_metrics._types import Undefined

T = TypeVar("T")

# Batches that the device works on while the host prepares the next one.
BATCHES_AHEAD = 2


class Job(NamedTuple):
    """An evaluation as the loop sees it.

    Attributes:
        plan: The options that all batches share, the metrics among them.
        devices: The devices that share the work.
        queries: The queries, for messages.
        work: The batches, and what measures them.
        undefined: What undefined values count for.
        inputs: The arguments that a call must have in common with one that it resumes,
            by name; see `checksum`.
        why_undefined: Why a metric may be undefined for all of them, for a warning.
        labels: The labels of relevant items, `[entries]`, which may be another reason.
        remarks: Returns what else was probably not intended, when all batches are done.
        num_items: How many items there are, or None if nobody asks for the exposure.
        list_weights: `[queries]`, what each weighs in means; None if all weigh the same.
    """

    plan: Plan
    devices: Devices
    queries: Queries | Questions
    work: step.Batches
    undefined: Undefined
    inputs: Mapping[str, Any]
    why_undefined: str = ""
    labels: np.ndarray | None = None
    remarks: Callable[[], Iterable[str]] = tuple
    num_items: int | None = None
    list_weights: np.ndarray | None = None

    @property
    def names(self) -> list[str]:
        """The names of what is measured, such as "mrr", "recall@1,5" or "novelty@5"."""
        return [*(bound.name for bound in self.plan.bounds), *self.work.added_names]


def run(
    job: Job,
    progress: bool | Progress,
    on_batch: Callable[[Checkpoint], object] | None = None,
    resume_from: Checkpoint | None = None,
) -> tuple[Evaluation, Exposure | None]:
    """Runs all batches of a job, each started ahead of those that are waited for.

    Args:
        job: The job.
        progress: See `reporting`.
        on_batch: Is called with a checkpoint after each batch, or None.
        resume_from: The checkpoint from which to go on, or None. Of the batches that it
            has done, the last is run again, and must have the values that are saved.

    Returns:
        The evaluation, and how often each item was found, if the job asks for it.

    Raises:
        TypeError: if `resume_from` is no checkpoint, or `on_batch` no function.
        ValueError: if the scores of a query hold NaN, or if its gains overflow; if a metric
            cannot read its relevant items; if the checkpoint is not of this job; if a
            metric has the name of a mean that is measured beside it.
    """
    names, bounds = job.names, job.plan.bounds
    if shared := [name for name in job.work.added_names if names.count(name) > 1]:
        raise ValueError(
            f"{shared[0]!r} is among metrics, and also names a metric that is added; give "
            "yours another name"
        )
    # Without a mesh, values are fetched to the host. With one, a process may hold only a
    # part of them, and they stay where they are until `gather`.
    parts, on_mesh = job.work.parts, job.devices.mesh is not None
    _, unit = job.queries.unit
    kind = MeshCollector if on_mesh else Collector
    collector = kind(job.devices, parts, job.plan.k)
    values = _collect(job, collector, progress, on_batch, resume_from)
    # The values keep `undefined`, so that `compare` counts such queries as the means do.
    lists = [dataclasses.replace(x, undefined=job.undefined) for x in values.lists]
    if job.list_weights is not None:
        weights = np.zeros(parts.num_slots, np.float32)
        weights[parts.slots] = job.list_weights
        if on_mesh:
            weights = job.devices.put(weights, job.devices.of_queries)
        lists = [weighed_by(x, weights) for x in lists]
    # All items are returned, also those of queries that count in no mean.
    items, values = values.items, values._replace(lists=lists)
    if job.undefined == "skip":
        values = counted_values(values, len(bounds))
    # A geometric mean has another state than a mean; what is added are means.
    kinds = [bound.state for bound in bounds] + [Mean] * len(job.work.added_names)
    all_states, is_defined, exposure = collector.totals(values, kinds, job.num_items)
    states = dict(zip(names, all_states, strict=True))
    # Metrics come first in all lists, and added measures after them.
    known = [x.name for x, y in zip(bounds, is_defined, strict=False) if y]
    unknown = [x for x in bounds if x.name not in known]
    remarks = [*job.remarks()]
    if job.why_undefined and unknown:
        remarks.append(
            f"metrics are undefined for every one of {parts.num_queries} {unit}: "
            f"{', '.join(x.name for x in unknown)}; {_why_undefined(job, unknown)}; "
            "jrm.check(scores=…, relevant_ids=…) looks for the cause"
        )
    # Where lower is better, users who count 0 look like the best ones.
    if job.undefined == "zero":
        counts = [
            ((name,), (int(states[name].undefined), int(states[name].lists)))
            for name in known
            if lower_is_better(name)
        ]
        remarks += remark_on_zeros(counts)
    for remark in remarks:
        warnings.warn(remark, stacklevel=3)
    lists = dict(zip(names, values.lists, strict=True))
    in_parts = parts if on_mesh else None
    evaluation = Evaluation(
        states,  # type: ignore[arg-type]
        lists,
        items,  # type: ignore[arg-type]
        job.undefined,
        remarks=(*remarks,),
        _parts=in_parts,
    )
    return evaluation, exposure


def _why_undefined(job: Job, bounds: Iterable[Bound]) -> str:
    """Returns why metrics are undefined for all queries: their thresholds, or the job's."""
    if job.labels is not None:
        thresholds = [dict(x.options).get("relevance_threshold") or 0 for x in bounds]
        labels, threshold = job.labels, max(thresholds)
        if remarks := remark_on_grades(labels.size, labels.max(initial=0), threshold):
            return remarks[0]
    return job.why_undefined


def counted_values(values: Collected, num_metrics: int) -> Collected:
    """Leaves out queries that do not count from what is measured beside the metrics.

    A query counts if any of the metrics is defined for it: a user without a relevant item
    that may be found does not. Ratios of sums say so for each cutoff; one of them is
    enough.

    Args:
        values: The values of all queries, where undefined values are skipped.
        num_metrics: How many of the lists are those of metrics.

    Returns:
        The same values, undefined for such queries, and the id −1 for their items.
    """
    defined = [x.defined for x in values.lists[:num_metrics]]
    # Of ratios [queries, cutoffs] become [queries], as all others are.
    defined = [x.any(tuple(range(1, x.ndim))) for x in defined]
    is_counted = functools.reduce(operator.or_, defined)

    added = [undefined_unless(x, is_counted) for x in values.lists[num_metrics:]]
    items = where_kept(is_counted, values.items, -1)
    return Collected([*values.lists[:num_metrics], *added], items)


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
    # Only where somebody may resume: checksums read all arguments.
    num_saved, names, batches = 0, job.names, job.work.batches
    call = None if on_batch is None and resume_from is None else _call(job)
    if call is not None and resume_from is not None:
        sizes = len(batches), job.work.parts.num_slots
        saved = read_checkpoint(resume_from, call, names, *sizes)
        collector.restore(saved)
        num_saved = saved.num_batches
    # The last batch of the checkpoint is run again, and must have the values it saved.
    started = (
        (number, job.work.program(job.work.arrays(number, batch)))
        for number, batch in enumerate(batches)
        if number >= num_saved - 1
    )
    # Batches are padded at their ends, so that sizes do not tell how many queries are done.
    num_done = np.cumsum([np.count_nonzero(x.indices >= 0) for x in batches])
    with reporting(progress, job.queries.unit[1]) as report:
        for number, measured in _started_ahead(started, BATCHES_AHEAD):
            fault = collector.add(measured)
            if fault is not None:
                raise ValueError(_message(job, *fault))
            report(int(num_done[number]), job.work.parts.num_queries)
            if on_batch is not None and call is not None and number >= num_saved:
                # Under no name, which would keep it until the next batch.
                on_batch(_checkpoint(number + 1, call, names, *collector.snapshot()))
    return collector.collected


def _checkpoint(
    num_batches: int, call: Call, names: list[str], lists: list[PerList], items: Array
) -> Checkpoint:
    """Returns what is done after a number of batches."""
    return {
        "batches": np.asarray(num_batches, np.int32),
        "call": jax.tree.map(np.copy, call),
        "lists": dict(zip(names, lists, strict=True)),
        "items": items,
    }


def _message(job: Job, index: int, fault: step.Fault) -> str:
    """Returns the message for a query with a fault."""
    if fault == step.Fault.NAN:
        return job.queries.nan_message(index, job.work.items)
    name = job.queries.name(index)
    if fault == step.Fault.LABELS:
        return too_many_labels(name)
    if fault == step.Fault.NEGATIVE:
        return negative_labels(name)
    if fault == step.Fault.GAINS:
        return overflow_message(name)
    return (
        f"{name} has several relevant items, but rank='realistic' and metrics adjusted "
        "for chance read the rank of the only one; leave these metrics out, or pass one "
        "relevant item for each"
    )


def _call(job: Job) -> Call:
    """Returns what a call must have in common with one that resumes it."""
    arguments = {"metrics": job.plan.bounds, **job.inputs}
    # Which query is in which batch also depends on what may change between versions.
    arguments["batches"] = np.concatenate([x.indices for x in job.work.batches])
    numbers = {
        "queries": job.work.parts.num_queries,
        "k": job.plan.k,
        "batch_size": job.work.batches[0].indices.size,
        "parts": len(job.work.parts.indices),
    }
    # Not by `jax.tree.map`, which would sort the arguments that messages list.
    call: Call = {name: np.asarray(x, np.int32) for name, x in numbers.items()}
    checksums = {name: checksum(value) for name, value in arguments.items()}
    call["arguments"] = {name: np.int32(x) for name, x in checksums.items()}
    return call


def _started_ahead(results: Iterator[T], num_ahead: int) -> Iterator[T]:
    """Yields the same results, each only when the next `num_ahead` have been started."""
    # While a batch is waited for, the device has work, and the host prepares arrays.
    started: collections.deque[T] = collections.deque()
    for result in results:
        started.append(result)
        if len(started) > num_ahead:
            yield started.popleft()
    yield from started
