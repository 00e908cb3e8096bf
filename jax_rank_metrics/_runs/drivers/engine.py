"""The loop that drivers share: runs the programs of batches, and collects all values."""

import collections
import contextlib
import dataclasses
import functools
import itertools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.calls.signatures import Signature, signature
from jax_rank_metrics._engine.metrics import spec
from jax_rank_metrics._engine.ordering import outranking
from jax_rank_metrics._engine.sources import attributes, host_blocks
from jax_rank_metrics._engine.states.exposure import Exposure
from jax_rank_metrics._ground import arithmetic, gains, inputs, optional, types
from jax_rank_metrics._names import directions
from jax_rank_metrics._runs.drivers import batching, programs, scorers
from jax_rank_metrics._runs.drivers.interactions import QUERY, USER
from jax_rank_metrics._runs.drivers.jobs import EvaluationJob
from jax_rank_metrics._runs.evaluation import Evaluation
from jax_rank_metrics._values import on_host, per_list
from jax_rank_metrics._values.mean import Mean
from jax_rank_metrics._values.remarks import (
    read_in_one_order,
    remark_on_grades,
    remark_on_one_list,
)

T = TypeVar("T")

# The number of batches that the device works on while the host prepares the next batch.
BATCHES_AHEAD = 2

# An upper bound of the number of items, used while the number is unknown.
MAX_ITEMS = 2**31 - 1

# A dict from the nouns for a query to the reason why metrics are undefined for all queries.
_WHY_UNDEFINED = {
    USER: "no user has a relevant item that may be recommended (relevant holds {} entries, "
    "and the largest label is {:g})",
    QUERY: "no query has a relevant item in its list",
}

# Takes the number of queries done and the number of all queries.
Progress = Callable[[int, int], object]

# Batches and their results, fetched to the host.
Results = Iterator[tuple[batching.Batch, programs.BatchResult]]


class Values(NamedTuple):
    """The values of queries, in arrays of NumPy.

    Attributes:
        lists: The values of each metric.
        items: `[queries, k]`, the ids of the first items; −1 after the last item.
    """

    lists: list[per_list.PerList]
    items: np.ndarray

    @classmethod
    def zeros(cls, num_queries: int, k: int, like: "Values") -> "Values":
        """Returns empty values of all queries, with the dtypes and shapes of a batch."""
        lists = jax.tree.map(
            lambda rows: np.zeros((num_queries, *rows.shape[1:]), rows.dtype),
            like.lists,
        )
        return cls(lists, np.full((num_queries, k), -1, np.int32))

    def write(self, indices: np.ndarray, values: "Values") -> None:
        """Writes the values of a batch in place.

        The batch may have fewer than k ids a query.
        """

        def write(array: np.ndarray, of_batch: np.ndarray) -> None:
            array[indices, *(slice(n) for n in of_batch.shape[1:])] = of_batch

        jax.tree.map(write, self, values)

    def counted(
        self,
        undefined: types.Undefined,
        weights: np.ndarray | None,
        reads_labels: Sequence[bool],
    ) -> "Values":
        """Returns the values that enter means: with weights, and without skipped queries.

        If undefined values are skipped and some metrics read labels, a query counts only
        if one of these metrics is defined for it. A user without a relevant item that may
        be found therefore counts in no mean, and the user's items are not counted either.
        A ratio of sums may be defined for some cutoffs only; one defined cutoff is enough.

        Args:
            undefined: How undefined values count in means.
            weights: `[queries]`, the weight of each query; None if all weights are equal.
            reads_labels: For each metric, True if the metric reads labels.
        """
        # The values keep `undefined`, so `compare` counts undefined values as means do.
        lists = [
            dataclasses.replace(values, undefined=undefined) for values in self.lists
        ]
        if weights is not None:
            weights = weights.astype(np.float32)
            lists = [per_list.weighed_by(values, weights) for values in lists]
        if undefined != "skip" or not any(reads_labels):
            return Values(lists, self.items)
        judged = itertools.compress(lists, reads_labels)
        defined = [values.defined for values in judged]
        # Reduce ratios of sums, [queries, cutoffs], to [queries], the shape of the others.
        defined = [array.any(tuple(range(1, array.ndim))) for array in defined]
        is_counted = functools.reduce(operator.or_, defined)
        lists = [
            values if is_judged else per_list.undefined_unless(values, is_counted)
            for values, is_judged in zip(lists, reads_labels, strict=True)
        ]
        return Values(lists, arithmetic.where_kept(is_counted, self.items, -1))


class Sums(NamedTuple):
    """Sums over queries, on the host, so that no program depends on their number.

    Attributes:
        of_means: The sums of the mean of each metric.
        is_defined: `[metrics]` bool, True if the metric is defined for any query.
        exposure: How often each item was found; None if it is not needed.
    """

    of_means: list[on_host.HostSums]
    is_defined: np.ndarray
    exposure: Exposure | None

    @classmethod
    def of(
        cls, values: Values, kinds: Sequence[type[Mean]], num_items: int | None
    ) -> "Sums":
        """Adds up the values of queries.

        Args:
            values: Values as they enter means, from `counted`.
            kinds: The class of the state of each metric.
            num_items: The number of items; None if the exposure is not needed.
        """
        of_means = [
            on_host.HostSums.of_lists(lists, kind)
            for lists, kind in zip(values.lists, kinds, strict=True)
        ]
        is_defined = np.array([lists.defined.any() for lists in values.lists], bool)
        exposure = None if num_items is None else exposure_of(values.items, num_items)
        return cls(of_means, is_defined, exposure)

    def plus(self, other: "Sums | None") -> "Sums":
        """Returns the sums over these and other queries."""
        if other is None:
            return self
        of_means = [
            mean._replace(
                sums=mean.sums + added.sums,
                lists=mean.lists + added.lists,
                undefined=mean.undefined + added.undefined,
            )
            for mean, added in zip(self.of_means, other.of_means, strict=True)
        ]
        is_defined = self.is_defined | other.is_defined
        exposure = jax.tree.map(operator.add, self.exposure, other.exposure)
        return Sums(of_means, is_defined, exposure)


def exposure_of(rows: np.ndarray, num_items: int) -> Exposure:
    """Counts how often each item was found.

    It uses NumPy, so that no program is compiled.

    Args:
        rows: `[lists, k]`, the rows of items; −1 after the last item of a list.
        num_items: The number of items.
    """
    counts = np.bincount(rows[rows >= 0], minlength=num_items).astype(np.int32)
    num_empty = np.count_nonzero((rows < 0).all(axis=1))
    tally = np.array([len(rows), num_empty, 0], np.int32)
    return Exposure(rows.shape[1], counts, tally)  # type: ignore[arg-type]


def run(
    job: EvaluationJob,
    catalog: programs.CatalogArrays,
    batches: list[batching.Batch],
    undefined: types.Undefined,
    progress: bool | Progress,
    list_weights: Any = None,
    keeps_lists: bool = True,
    remarks: Iterable[str] = (),
) -> tuple[Evaluation, dict[str, Any], np.ndarray]:
    """Runs all batches of a job; batches are started before earlier ones are done.

    Args:
        job: The job.
        catalog: Arrays over the items, except for the vectors of the scorer.
        batches: The batches into which the job's queries are divided.
        undefined: How undefined values count in means.
        progress: See `reporting`.
        list_weights: The weight of each query in means, as it was passed.
        keeps_lists: True to return the values of every query, besides the states.
        remarks: Remarks of the driver on other probable mistakes.

    Returns:
        The evaluation; the fields `shown_rows` and `total_exposure` of `UserEvaluation`;
        and `[queries]` bool, True if an item of the query has a rank and a score of −∞
        (with `options.finds_inf`; otherwise all False).

    Raises:
        ValueError: if the scores of a query hold NaN, or if its gains overflow; if a metric
            cannot read the relevant items of a query.
    """
    options = job.options
    bounds, names = options.bounds, [bound.name for bound in options.bounds]
    # Metrics have states of different classes: a geometric mean has another than a mean.
    kinds = [bound.state for bound in bounds]
    reads_labels = [bound.spec.reads_labels for bound in bounds]
    names_of_queries, num_queries = job.ids[0].of_rows(job.rows), job.rows.size
    all_weights = inputs.weights_of_lists(list_weights, names_of_queries, job.unit[1])
    num_counted = job.scorer.num_items if job.unit == USER else None
    mask = None if catalog.item_mask is None else np.asarray(catalog.item_mask)
    values, sums, has_inf, num_tied = None, None, np.zeros(num_queries, bool), 0
    with reporting(progress, job.unit[1]) as report:
        in_parts = isinstance(job.scorer.items, host_blocks.HostBlocks)
        measured = _over_parts if in_parts else _over_batches
        for batch, result in measured(job, catalog, batches, mask, report):
            is_query = batch.indices >= 0
            indices, faults = batch.indices[is_query], result.faults[is_query]
            if faults.any():
                is_faulty = faults > 0
                index, fault = min(
                    zip(indices[is_faulty], faults[is_faulty], strict=True)
                )
                is_named = batch.indices == index
                reasons = [
                    why for why, is_so in result.refused.items() if is_so[is_named]
                ]
                raise ValueError(
                    _message(job, int(index), programs.Fault(fault), mask, reasons)
                )
            batch_values = jax.tree.map(
                lambda array, rows=is_query: array[rows],
                Values(result.lists, np.asarray(result.items)),
            )
            if result.has_ties is not None:
                num_tied += int(result.has_ties[is_query].sum())
            if result.has_inf is not None:
                has_inf[indices] = result.has_inf[is_query]
            if keeps_lists:
                if values is None:
                    values = Values.zeros(num_queries, options.k, batch_values)
                values.write(indices, batch_values)
            else:
                weights = None if all_weights is None else all_weights[indices]
                batch_values = batch_values.counted(undefined, weights, reads_labels)
                sums = Sums.of(batch_values, kinds, num_counted).plus(sums)
    lists, items, rows = {}, np.zeros((0, options.k), np.int32), None
    if values is not None:
        items = values.items  # includes the items of queries that count in no mean
        values = values.counted(undefined, all_weights, reads_labels)
        sums = Sums.of(values, kinds, None)
        lists = dict(zip(names, values.lists, strict=True))
        rows = values.items
    assert sums is not None  # there is a query
    states = [mean_sums.state() for mean_sums in sums.of_means]
    states = dict(zip(names, states, strict=True))
    texts = [*remarks, *_remarks(job, undefined, states, sums.is_defined)]
    if num_tied:
        where = f"{num_tied} of {num_queries} {job.unit[1]}"
        hashed = [bound.name for bound in bounds if options.reads_hash(bound)]
        texts.append(read_in_one_order(where, hashed))
    for text in texts:
        warnings.warn(text, stacklevel=3)
    evaluation = Evaluation(
        states,
        lists,
        job.ids[1].named(items),
        undefined,
        remarks=(*texts,),
        num_queries=num_queries,
        signature=signatures_of(job, undefined),
    )
    return evaluation, {"shown_rows": rows, "total_exposure": sums.exposure}, has_inf


def signatures_of(
    job: EvaluationJob, undefined: types.Undefined
) -> dict[str, Signature]:
    """Returns the signature of each metric of a job."""
    # NaN and labels below 0 are errors here, because drivers raise for them.
    options, scores = job.options, jax.dtypes.canonicalize_dtype(float).name
    choices = {**job.choices, "undefined": undefined}
    choices |= {"negative": "error", "nan": "error"}
    choices |= {"infinite": "unretrieved" if options.skips_inf else "ranked"}
    results = {}
    for bound in options.bounds:
        # The hash that orders a user's tied items differs between users.
        is_hashed = job.unit == USER and options.reads_hash(bound)
        ties = "user-hash" if is_hashed else options.ties
        results[bound.name] = signature(bound, ties=ties, scores=scores, **choices)
    return results


def _remarks(
    job: EvaluationJob,
    undefined: types.Undefined,
    states: dict[str, Mean],
    is_defined: np.ndarray,
) -> list[str]:
    """Returns remarks on probable mistakes that the states of all queries show."""
    bounds = job.options.bounds
    known = [bound.name for bound in itertools.compress(bounds, is_defined)]
    unknown, remarks = [bound for bound in bounds if bound.name not in known], []
    if job.rows.size == 1 and (relevant := job.judgements.relevant) is not None:
        counts = job.scorer.num_items or 0, np.count_nonzero(relevant.data > 0)
        cure = f"pass the relevant items of each of the {job.unit[1]}"
        remarks += remark_on_one_list(*counts, cure)
    if job.unit in _WHY_UNDEFINED and unknown:
        remarks.append(
            f"metrics are undefined for every one of {job.rows.size} {job.unit[1]}: "
            f"{', '.join(bound.name for bound in unknown)}; "
            f"{_why_undefined(job, unknown)}; "
            "jrm.check(scores=…, relevant_ids=…) looks for the cause"
        )
    # If lower is better, a user who counts 0 looks like the best one.
    if undefined == "zero":
        counts = [
            ((name,), (int(states[name].undefined), int(states[name].lists)))
            for name in known
            if directions.is_lower_better((name,))
        ]
        remarks += directions.remark_on_zeros(counts)
    return remarks


def _why_undefined(job: EvaluationJob, bounds: Iterable[spec.Bound]) -> str:
    """Returns the reason that metrics are undefined for all queries, for a remark."""
    if job.judgements.relevant is None:
        return _WHY_UNDEFINED[job.unit]
    labels = job.judgements.relevant.data
    largest, threshold = labels.max(initial=0), spec.threshold_of(bounds)
    if remarks := remark_on_grades(labels.size, largest, threshold):
        return remarks[0]
    return _WHY_UNDEFINED[job.unit].format(labels.size, largest)


def _message(
    job: EvaluationJob,
    index: int,
    fault: programs.Fault,
    mask: np.ndarray | None,
    reasons: list[str],
) -> str:
    """Returns the message for a query with a fault.

    `reasons` say why metrics cannot read the query; see `BatchResult.refused`.
    """
    row = int(job.rows[index])
    name = job.scorer.query_name(job.unit, row, job.ids[0])
    if fault == programs.Fault.NAN:
        return job.scorer.nan_message(name, row, mask, job.ids[1])
    if fault == programs.Fault.NEGATIVE:
        return attributes.negative_labels(name)
    if fault == programs.Fault.GAINS:
        return gains.overflow_message(name)
    return reasons[0].format(f" for {name}")


def _over_batches(
    job: EvaluationJob,
    catalog: programs.CatalogArrays,
    batches: list[batching.Batch],
    mask: np.ndarray | None,
    report: Progress,
) -> Results:
    """Measures each batch as a whole; see `run`."""
    devices, num_items, num_done = job.devices, job.scorer.num_items or 0, 0
    program = programs.measure_catalog
    if job.judgements.membership is not None:
        # Each batch brings the embeddings of its own candidates, so the program needs no
        # items.
        program, num_items = programs.measure_candidates, 0
        catalog = catalog._replace(item_mask=None)
    elif isinstance(job.scorer, scorers.Embeddings):
        name, items = job.scorer.names[1], job.scorer.items
        catalog = catalog._replace(items=devices.items(name, items))
    # Put the catalogue on the devices once; all batches share it. From here on, the items
    # may end with padding, which is masked.
    catalog = programs.put_catalog(devices, catalog, num_items)
    run_batch = functools.partial(programs.run_batch, devices, program, job.options)
    started = (
        (batch, run_batch(catalog, job.arrays(number, batch, mask)))
        for number, batch in enumerate(batches)
    )
    for batch, result in _started_ahead(started, BATCHES_AHEAD):
        yield batch, jax.device_get(result)
        num_done += int(np.count_nonzero(batch.indices >= 0))
        report(num_done, job.rows.size)


def _over_parts(
    job: EvaluationJob,
    catalog: programs.CatalogArrays,
    batches: list[batching.Batch],
    mask: np.ndarray | None,
    report: Progress,
) -> Results:
    """Measures all batches on a part of the items before the next part is read.

    The items are therefore read only once, or twice if a metric reads whole lists. If the
    number of items is known, progress is reported as the share of items that have been
    read, times the number of queries. At the end, all queries are reported as done.
    """
    options, devices, num_queries = job.options, job.devices, job.rows.size
    blocks, run_batch = job.scorer.items, functools.partial(programs.run_batch, devices)
    arrays = [job.arrays(number, batch, mask) for number, batch in enumerate(batches)]

    def put(part: host_blocks.Part) -> programs.CatalogArrays:
        part_catalog = catalog._replace(
            items=inputs.real("items", part.items),
            item_mask=jnp.asarray(part.exists if mask is None else part.cut(mask)),
            attributes=jax.tree.map(part.cut, catalog.attributes),
            first_id=np.asarray(part.first_id, np.int32),
        )
        return programs.put_catalog(devices, part_catalog, 0)

    # The first and the last program need a part only for its shape, so any part will do.
    last_part = put(host_blocks.Part(blocks.example, np.ones(1, bool), 0))
    num_items = blocks.num_items
    known = options._replace(num_items=num_items)
    states = [
        run_batch(programs.start, known, last_part, queries) for queries in arrays
    ]
    rounds = (programs.extend, programs.count)[: 2 if options.whole_list_metrics else 1]
    for number, program in enumerate(rounds):
        if program is programs.count:
            # Count from 0 how many items score above each relevant item: [batch, relevant].
            states = [
                state._replace(counts=outranking.Outranking.zeros(state.keys.shape))
                for state in states
            ]
        for part in blocks.parts(options.block_size):
            last_part, previous = put(part), states
            states = [
                run_batch(program, options, last_part, queries, state)
                for queries, state in zip(arrays, states, strict=True)
            ]
            # Let the device work on one part while the host reads the next, but do not read
            # further ahead, because waiting parts would fill the memory.
            jax.block_until_ready(previous)
            if num_items is not None:
                num_read = min(part.first_id + len(part.exists), num_items)
                share = (number + num_read / num_items) / len(rounds)
                report(int(share * num_queries), num_queries)
        # An iterator may have held fewer items than the largest id needs.
        assert blocks.num_items is not None
        if options.missed_from is None:
            job.judgements.check_known_items(blocks.num_items, job.ids[0])
    report(num_queries, num_queries)
    known = options._replace(num_items=blocks.num_items)
    for batch, queries, state in zip(batches, arrays, states, strict=True):
        result = run_batch(programs.finish, known, last_part, queries, state)
        yield batch, jax.device_get(result)


def _started_ahead(results: Iterator[T], num_ahead: int) -> Iterator[T]:
    """Yields the results in order, each after the next `num_ahead` have been started."""
    # The device then has work, and the host prepares arrays, while a result is fetched.
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
        progress: True to move a progress bar of rich, which is drawn until the block ends.
            False to do nothing. If it is a function, the block gets this function.
        unit: The plural noun for a query, such as "users".

    Raises:
        TypeError: if `progress` is anything else.
        ModuleNotFoundError: if it is True and rich is not installed.
    """
    if progress is True:
        bars = optional.import_optional("rich.progress", "progress=True", "demo")
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
