"""The loop that all drivers share: batches, their programs, and values of all queries."""

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

# Batches that the device works on while the host prepares the next one.
BATCHES_AHEAD = 2

# More items than there can be, while their number is not known.
MAX_ITEMS = 2**31 - 1

# Why metrics may be undefined for all queries, by what these are called.
_WHY_UNDEFINED = {
    USER: "nobody has a relevant item that may be recommended (relevant holds {} entries, "
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
        items: `[queries, k]`, the ids of the first items; −1 where there are no more.
    """

    lists: list[per_list.PerList]
    items: np.ndarray

    @classmethod
    def zeros(cls, num_queries: int, k: int, like: "Values") -> "Values":
        """Returns room for the values of all queries, of which a batch tells the kinds."""
        lists = jax.tree.map(
            lambda rows: np.zeros((num_queries, *rows.shape[1:]), rows.dtype),
            like.lists,
        )
        return cls(lists, np.full((num_queries, k), -1, np.int32))

    def write(self, indices: np.ndarray, values: "Values") -> None:
        """Writes the values of a batch, whose ids may be fewer than k, in place."""

        def write(array: np.ndarray, of_batch: np.ndarray) -> None:
            array[indices, *(slice(n) for n in of_batch.shape[1:])] = of_batch

        jax.tree.map(write, self, values)

    def counted(
        self,
        undefined: types.Undefined,
        weights: np.ndarray | None,
        reads_labels: Sequence[bool],
    ) -> "Values":
        """Returns values as they enter means: with weights, without those left out.

        Where undefined values are skipped, a query counts if any of the metrics that read
        labels is defined for it: a user without a relevant item that may be found does not.
        Ratios of sums say so for each cutoff; one of them is enough. Nothing else that is
        measured of such a query counts then.

        Args:
            undefined: What undefined values count for.
            weights: `[queries]`, what each weighs; None if all weigh the same.
            reads_labels: Which of the lists are of metrics that read labels.
        """
        # The values keep `undefined`, so that `compare` counts such queries as means do.
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
        # Of ratios [queries, cutoffs] become [queries], as all others are.
        defined = [array.any(tuple(range(1, array.ndim))) for array in defined]
        is_counted = functools.reduce(operator.or_, defined)
        lists = [
            values if is_judged else per_list.undefined_unless(values, is_counted)
            for values, is_judged in zip(lists, reads_labels, strict=True)
        ]
        return Values(lists, arithmetic.where_kept(is_counted, self.items, -1))


class Sums(NamedTuple):
    """Sums over queries, on the host: no program depends on their number.

    Attributes:
        of_means: The sums of each mean.
        is_defined: `[means]` bool, whether each is defined for any query.
        exposure: How often each item was found; None if nobody asks.
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
            values: Values as they enter means.
            kinds: The kind of state of each mean.
            num_items: The number of items; None if nobody asks for their counts.
        """
        of_means = [
            on_host.HostSums.of_lists(lists, kind)
            for lists, kind in zip(values.lists, kinds, strict=True)
        ]
        is_defined = np.array([lists.defined.any() for lists in values.lists], bool)
        exposure = None if num_items is None else exposure_of(values.items, num_items)
        return cls(of_means, is_defined, exposure)

    def plus(self, other: "Sums | None") -> "Sums":
        """Adds the sums of other queries."""
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
    """Counts how often each item was found, in NumPy: no program for any number of lists.

    Args:
        rows: `[lists, k]`, the rows of items; −1 where there are no more.
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
    """Runs all batches of a job, each started ahead of those that are waited for.

    Args:
        job: The job.
        catalog: Arrays over the items, but for the vectors of the scorer.
        batches: The division of its queries.
        undefined: What undefined values count for.
        progress: See `reporting`.
        list_weights: What each query weighs in means, as it was passed.
        keeps_lists: Whether the values of every query are returned, beside the states.
        remarks: What else was probably not intended.

    Returns:
        The evaluation; the fields of what users were shown, see `UserEvaluation`; and
        which queries have an item with a score of −∞, if the options ask.

    Raises:
        ValueError: if the scores of a query hold NaN, or if its gains overflow; if a metric
            cannot read its relevant items.
    """
    options = job.options
    bounds, names = options.bounds, [bound.name for bound in options.bounds]
    # A geometric mean has another state than a mean.
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
                at = faults > 0
                index, fault = min(zip(indices[at], faults[at], strict=True))
                raise ValueError(_message(job, int(index), programs.Fault(fault), mask))
            of_batch = jax.tree.map(
                lambda array, rows=is_query: array[rows],
                Values(result.lists, np.asarray(result.items)),
            )
            if result.has_ties is not None:
                num_tied += int(result.has_ties[is_query].sum())
            if result.has_inf is not None:
                has_inf[indices] = result.has_inf[is_query]
            if keeps_lists:
                if values is None:
                    values = Values.zeros(num_queries, options.k, of_batch)
                values.write(indices, of_batch)
            else:
                weights = None if all_weights is None else all_weights[indices]
                of_batch = of_batch.counted(undefined, weights, reads_labels)
                sums = Sums.of(of_batch, kinds, num_counted).plus(sums)
    lists, items, rows = {}, np.zeros((0, options.k), np.int32), None
    if values is not None:
        items = values.items  # also those of queries that count in no mean
        values = values.counted(undefined, all_weights, reads_labels)
        sums = Sums.of(values, kinds, None)
        lists = dict(zip(names, values.lists, strict=True))
        rows = values.items
    assert sums is not None  # there is a query
    states = [of_mean.state() for of_mean in sums.of_means]
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
    """Returns the signature of each metric of a job; NaN and labels below 0 have raised."""
    options, scores = job.options, jax.dtypes.canonicalize_dtype(float).name
    choices = {**job.choices, "undefined": undefined}
    choices |= {"negative": "error", "nan": "error"}
    choices |= {"infinite": "unretrieved" if options.skips_inf else "ranked"}
    results = {}
    for bound in options.bounds:
        # What users are shown is ordered by a hash that differs between them.
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
    """Returns what was probably not intended, as the states of all queries show."""
    bounds = job.options.bounds
    known = [bound.name for bound in itertools.compress(bounds, is_defined)]
    unknown, remarks = [bound for bound in bounds if bound.name not in known], []
    if job.rows.size == 1 and (relevant := job.judgements.relevant) is not None:
        counts = job.scorer.num_items or 0, np.count_nonzero(relevant.data > 0)
        cure = f"pass those of each of the {job.unit[1]}"
        remarks += remark_on_one_list(*counts, cure)
    if job.unit in _WHY_UNDEFINED and unknown:
        remarks.append(
            f"metrics are undefined for every one of {job.rows.size} {job.unit[1]}: "
            f"{', '.join(bound.name for bound in unknown)}; "
            f"{_why_undefined(job, unknown)}; "
            "jrm.check(scores=…, relevant_ids=…) looks for the cause"
        )
    # Where lower is better, users who count 0 look like the best ones.
    if undefined == "zero":
        counts = [
            ((name,), (int(states[name].undefined), int(states[name].lists)))
            for name in known
            if directions.is_lower_better((name,))
        ]
        remarks += directions.remark_on_zeros(counts)
    return remarks


def _why_undefined(job: EvaluationJob, bounds: Iterable[spec.Bound]) -> str:
    """Returns why metrics are undefined for all queries: their thresholds, or what is."""
    if job.judgements.relevant is None:
        return _WHY_UNDEFINED[job.unit]
    labels = job.judgements.relevant.data
    largest, threshold = labels.max(initial=0), spec.threshold_of(bounds)
    if remarks := remark_on_grades(labels.size, largest, threshold):
        return remarks[0]
    return _WHY_UNDEFINED[job.unit].format(labels.size, largest)


def _message(
    job: EvaluationJob, index: int, fault: programs.Fault, mask: np.ndarray | None
) -> str:
    """Returns the message for a query with a fault."""
    row = int(job.rows[index])
    name = job.scorer.query_name(job.unit, row, job.ids[0])
    if fault == programs.Fault.NAN:
        return job.scorer.nan_message(name, row, mask, job.ids[1])
    if fault == programs.Fault.NEGATIVE:
        return attributes.negative_labels(name)
    if fault == programs.Fault.GAINS:
        return gains.overflow_message(name)
    return (
        f"{name} has several relevant items, but rank='realistic' and metrics adjusted "
        "for chance read the rank of the only one; leave these metrics out, or pass one "
        "relevant item for each"
    )


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
        # Each batch brings the embeddings of its own candidates; the program has no items.
        program, num_items = programs.measure_candidates, 0
        catalog = catalog._replace(item_mask=None)
    elif isinstance(job.scorer, scorers.Embeddings):
        name, items = job.scorer.names[1], job.scorer.items
        catalog = catalog._replace(items=devices.items(name, items))
    # Once for all batches; from here on, items may be longer by padding that is masked.
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
    """Passes all batches through a part of the items before the next one is read.

    So the items are read once; twice where a metric reads whole lists. The share of items
    that have been read is reported as that share of queries, where the number of items is
    known; and all queries at the end.
    """
    options, devices, num_queries = job.options, job.devices, job.rows.size
    blocks, run_batch = job.scorer.items, functools.partial(programs.run_batch, devices)
    arrays = [job.arrays(number, batch, mask) for number, batch in enumerate(batches)]

    def put(part: host_blocks.Part) -> programs.CatalogArrays:
        of_part = catalog._replace(
            items=inputs.real("items", part.items),
            item_mask=jnp.asarray(part.exists if mask is None else part.cut(mask)),
            attributes=jax.tree.map(part.cut, catalog.attributes),
            first_id=np.asarray(part.first_id, np.int32),
        )
        return programs.put_catalog(devices, of_part, 0)

    # Programs begin and end with some part of the items, of which they read the shape.
    last_part = put(host_blocks.Part(blocks.example, np.ones(1, bool), 0))
    num_items = blocks.num_items
    known = options._replace(num_items=num_items)
    states = [
        run_batch(programs.start, known, last_part, queries) for queries in arrays
    ]
    rounds = (programs.extend, programs.count)[: 2 if options.whole_list_metrics else 1]
    for number, program in enumerate(rounds):
        if program is programs.count:
            # From 0 on, how many items score above each relevant one: [batch, relevant].
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
            # The device works on a part while the host reads the next one, and no more.
            jax.block_until_ready(previous)
            if num_items is not None:
                num_read = min(part.first_id + len(part.exists), num_items)
                share = (number + num_read / num_items) / len(rounds)
                report(int(share * num_queries), num_queries)
        # An iterator may have had fewer items than an id says.
        assert blocks.num_items is not None
        if options.missed_from is None:
            job.judgements.check_known_items(blocks.num_items, job.ids[0])
    report(num_queries, num_queries)
    known = options._replace(num_items=blocks.num_items)
    for batch, queries, state in zip(batches, arrays, states, strict=True):
        result = run_batch(programs.finish, known, last_part, queries, state)
        yield batch, jax.device_get(result)


def _started_ahead(results: Iterator[T], num_ahead: int) -> Iterator[T]:
    """Yields the same results, each only when the next `num_ahead` have been started."""
    # While a batch is waited for, the device has work, and the host prepares arrays.
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
