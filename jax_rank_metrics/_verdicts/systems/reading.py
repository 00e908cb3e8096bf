"""Reads per-list values in any form into records of systems, tasks and metrics.

Values of one metric are a `PerList`, an array `[lists]` or `[lists, cutoffs]`, a pandas
Series, or a dict of list ids to numbers. A dict of metrics, a pandas DataFrame with a
column for each metric, and an `Evaluation` hold several metrics. A Series, a frame, a dict
of ids and an evaluation say which list each value belongs to. `Seeds` hold values of
several training seeds. If only means are needed, states and estimates can replace values.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, TypeGuard, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import random
from jax.core import Tracer

from jax_rank_metrics._ground import inputs, messages, types
from jax_rank_metrics._ground.inputs import kind_of
from jax_rank_metrics._names import facts
from jax_rank_metrics._names.cutoff_names import cutoff_names
from jax_rank_metrics._values import intervals, list_arrays, on_host
from jax_rank_metrics._values.mean import Mean
from jax_rank_metrics._values.merging import StatesByName
from jax_rank_metrics._values.per_list import PerList
from jax_rank_metrics._values.state import State
from jax_rank_metrics._verdicts.inference import resample
from jax_rank_metrics._verdicts.inference.judges import PredictionPowered
from jax_rank_metrics._verdicts.sheets import count_text
from jax_rank_metrics._verdicts.systems.list_values import (
    FIX,
    SUMMARIES,
    ListValues,
    checked_ids,
    common_undefined,
    in_one_order,
    is_by_list,
    is_missing,
    listing,
    weights_differ,
)
from jax_rank_metrics._verdicts.systems.seeds import Interval, iqm_interval

T = TypeVar("T")
# Any input that can be read; the docstring of `Systems` lists the forms.
Values: TypeAlias = object
# The keys that lead to values in nested dicts, such as ("web", "recall@1,5"), and the
# kinds of these keys, such as ("task", "metric").
Path = tuple[Hashable, ...]
Keys = tuple[Literal["task", "system", "metric"], ...]
# Results in nested dicts, under the same keys as the input.
Nested: TypeAlias = T | dict[Hashable, "Nested[T]"]
# The advice of errors about missing values.
FIX_MISSING = (
    "say what they count as: undefined='skip' leaves these lists out, and 'zero' and 'one' "
    "count them as 0 and 1 (for plots, pass jrm.Systems(values, undefined=…)); or pass "
    "only lists that have values"
)
FIX_RUNS = (
    "pass a dict from metrics to states, as evaluate returns it, or a dict from runs to "
    "such dicts"
)


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """The values of one metric of one system, at all of its cutoffs.

    Attributes:
        name: The name of the values for messages, such as `a['new']['recall@1,5']`.
        path: The keys of the task, then the key of the metric; () for values without a
            name.
        source: The values in the caller's form.
        system: The name of the system; None without one.
        ids: The ids of the lists, if the input holds them.
        undefined: The choice that a caller passed, or else the choice that the values
            were measured with, if an evaluation holds it.
        state: The metric's state, if an evaluation holds both the state and the values.
        is_of_metric: True if `path` ends in a metric, as in a frame, an evaluation or
            `Seeds`; False if it ends in a key of a dict.
        remarks: The remarks of an evaluation about probable mistakes.
        signature: The signature of the metric at all cutoffs; "" if the input has none.
        warned: The ids of rows of means about which a warning was given; records that
            are read together share this set.
        fix_missing: The advice of the error about missing values, if `undefined` is None;
            "" if a missing value means a list that people have not labelled.
    """

    name: str
    path: Path
    source: object
    system: Hashable = None
    ids: Any = None
    undefined: types.Undefined | None = None
    state: Mean | None = None
    is_of_metric: bool = False
    remarks: tuple[str, ...] = ()
    signature: str = ""
    warned: set[Hashable] = dataclasses.field(default_factory=set)
    fix_missing: str = FIX_MISSING

    @functools.cached_property
    def lists(self) -> ListValues:
        """The values in NumPy, which are read once.

        A missing value (NaN, None, NA, null) makes its list undefined.

        Raises:
            TypeError: if values are traced, are not numbers, or are a state.
            ValueError: if values have neither one axis nor two; if ids repeat, or if there
                are more or fewer ids than lists; if values are missing, and `undefined`
                is None.
        """
        name, source, undefined = self.name, self.source, self.undefined
        if isinstance(source, ListValues):
            # `Seeds` have read their values already, so only the name for messages and
            # `undefined` may change.
            return dataclasses.replace(
                source, name=name, undefined=undefined or source.undefined
            )
        # JAX would sort the keys of a dict, which fails if some ids are numbers and
        # some are strings.
        leaves = source.values() if is_by_list(source) else jax.tree.leaves(source)
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            raise TypeError(
                f"{name} is traced; call this outside of jax.jit (`paired` runs inside)"
            )
        if isinstance(source, PerList):
            array, weights, defined = list_arrays.columns_of(source)
            ids = self._checked_ids(len(array))
            has_cutoffs, is_ratio = source.has_cutoffs, source.is_ratio
            is_share = source.has_shares
            undefined = undefined or source.undefined
        else:
            array, has_cutoffs = _array(name, source)
            array = array if has_cutoffs else array[:, None]
            ids = self._checked_ids(len(array))
            if ids is not None:
                is_list = ~_are_means(name, ids, array, self.warned)
                array, ids = array[is_list], [*itertools.compress(ids, is_list)]
            weights = np.ones(array.shape)
            # NaN in values that a caller passes is a missing value.
            defined = ~np.isnan(array)
            array = np.where(defined, array, array.dtype.type(0))
            is_ratio, is_share = False, array.dtype == bool
        lists = ListValues(
            name,
            # [1, lists, cutoffs]: a single seed.
            array.astype(np.float64)[None],
            weights.astype(np.float64),
            defined[None],
            has_cutoffs,
            array.dtype,
            ids,
            undefined,
            is_ratio,
            is_share,
        )
        if undefined is None and not defined.all():
            if self.fix_missing:
                _refuse_missing(self, lists)
            return dataclasses.replace(lists, labelled=defined)
        return lists

    def _checked_ids(self, count: int) -> list[Any] | None:
        """Returns the ids of `count` lists, checked; None without ids."""
        return None if self.ids is None else checked_ids(self.name, self.ids, count)

    @property
    def is_on_this_host(self) -> bool:
        """True if `lists` can be read here: not a state, and no part is on other hosts."""
        source = self.source
        if isinstance(source, PerList):
            # Until an evaluation is gathered, it has padding without ids.
            is_whole = self.ids is None or not is_spread(source.weights)
            return is_whole and inputs.is_readable(source.weights)
        return not isinstance(source, State | on_host.Estimate | PredictionPowered)

    @property
    def keys(self) -> Path:
        """The name of the system, if it has one, and the keys within it."""
        return self.path if self.system is None else (self.system, *self.path)

    @property
    def task(self) -> Hashable:
        """The key of the task; None without tasks, a tuple if tasks have several keys."""
        tasks = self.path[:-1]
        return tasks[0] if len(tasks) == 1 else tasks or None

    @property
    def metric(self) -> str | None:
        """The name of the metric with all of its cutoffs; None without a name."""
        return str(self.path[-1]) if self.path and self.path[-1] is not None else None

    def named(self, keys: Keys) -> "Record":
        """Returns the record after assigning names to the keys of `path`, outermost first.

        If `path` has more keys than there are names, the extra keys before the last key
        are also tasks; if it has fewer keys, the last names are not used. So
        ("system", "metric") names the keys of {"new": {"mrr": values}},
        {"new": {"web": {"mrr": values}}} and {"new": values}.

        >>> record = Record("a['web']['new']['mrr']", ("web", "new", "mrr"), [0.5])
        >>> record.named(("task", "system", "metric")).keys
        ('new', 'web', 'mrr')
        """
        *outer, innermost = keys
        tasks = ["task"] * (len(self.path) - len(keys))
        by_level: dict[str, list[Hashable]] = {}
        for level, key in zip((*outer, *tasks, innermost), self.path, strict=False):
            by_level.setdefault(level, []).append(key)
        task_keys, (system,) = by_level.get("task", []), by_level.get("system", [None])
        # A path with tasks ends in a metric, which is None for values without a name.
        metric_keys = by_level.get("metric", [None] if task_keys else [])
        return dataclasses.replace(self, system=system, path=(*task_keys, *metric_keys))

    def labels(self) -> list[str | None]:
        """Returns the name of the metric at each cutoff: `["recall@1", "recall@5"]`."""
        if not self.lists.has_cutoffs:
            return [self.metric]
        return [*cutoff_names(self.metric or "", self.lists.weights.shape[1])]


@messages.short_errors()
def _refuse_missing(record: Record, lists: ListValues) -> None:
    """Raises an error that names the lists without a value."""
    if is_by_list(record.source):
        for key, value in record.source.items():
            if is_missing(value):
                raise TypeError(
                    f"{label_of(record.name, (key,))} is {value!r}; pass a number for a "
                    f"list, or {record.fix_missing}"
                )
    is_without = ~lists.defined.all((0, 2))
    ids = [lists.id_of(index) for index in np.flatnonzero(is_without).tolist()]
    kind, unit = (
        ("values that are", "lists") if ids[1:] else ("a value that is", "list")
    )
    raise ValueError(
        f"{record.name} holds {kind} missing or not finite, at {unit} {listing(ids)} "
        f"({len(ids)} of {lists.list_count}); {record.fix_missing}"
    )


@messages.short_errors()
def _array(name: str, values: object) -> tuple[np.ndarray, bool]:
    if is_by_list(values):  # its keys came along as ids
        values = [*values.values()]
    if isinstance(values, SUMMARIES):
        raise TypeError(
            f"{name} is a {type(values).__name__}, which no longer holds per-list values; "
            f"{FIX}"
        )
    cure = (
        "its values without those that are masked, or a PerList that is undefined there"
    )
    inputs.refuse_masked(name, values, cure)
    try:
        array = np.asarray(values)
        array = inputs.with_nan(array) if array.dtype == object else array
        if not array.size and array.dtype == object:  # of an empty Series
            array = array.astype(np.float64)
        has_cutoffs = {1: False, 2: True}.get(array.ndim)
        if array.dtype.kind == "V":  # the kind that NumPy sees in bfloat16
            array = array.astype(np.float32)
        elif array.dtype.kind not in "biuf":
            raise TypeError(f"got {array.dtype}")
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is not an array of numbers; {FIX}") from error
    if has_cutoffs is None or (has_cutoffs and not array.shape[1]):
        raise ValueError(
            f"{name} has shape {array.shape}; {FIX}, or [lists, cutoffs] of them"
        )
    return array, has_cutoffs


# Ids of the rows of means that tools write below a table; gdeval writes "amean".
_MEANS = ("all", "amean", "mean", "average")


def _are_means(
    name: str, ids: list[Any], array: np.ndarray, warned: set[Hashable]
) -> np.ndarray:
    """Returns True for rows that are means of the other lists, `[lists]`.

    The id and the value of a row have to show it. Warns about the first such row,
    unless its id is in `warned`, and adds its id to `warned`.

    Raises:
        ValueError: if a list has the id of a mean, but not its value.
    """
    names = (key.strip().lower() if isinstance(key, str) else None for key in ids)
    are_means = np.array([label in _MEANS for label in names], bool)
    if not are_means.any():
        return are_means
    values = array[~are_means]
    # Some tools leave undefined lists out of the mean, and others count them as 0, so
    # try both.
    count = np.maximum((~np.isnan(values)).sum(0), 1), max(len(values), 1)
    means = [np.nansum(values, 0) / number for number in count]
    for index in np.flatnonzero(are_means):
        is_close = [np.allclose(array[index], mean, 0, 5e-4) for mean in means]
        if not len(values) or not any(is_close):
            raise ValueError(
                f"{name} has the list {ids[index]!r} with {array[index].tolist()}, which "
                "is not the mean of the others; leave that row out, or rename it if it is "
                "a list"
            )
    first = ids[int(np.argmax(are_means))]
    if first not in warned:
        warned.add(first)
        messages.warn(f"the row {first!r} is the mean of the others, so it is left out")
    return are_means


Metrics = dict[Path, Record]  # of one system, keyed by the path of each metric


class Systems:
    """The per-list values of systems, read once from any form.

    `compare`, `leaderboard`, `table`, `to_frame` and the plots read values in this way.
    If you pass a `Systems` to several of them, ids are checked and values are converted
    only once.

    It is a collection of records, one for each system, task and metric. A record has
    the attributes `system`, `task`, `metric` and `lists` (the values in NumPy).

    Args:
        values: A dict from systems to values of one metric; or to dicts from metrics to
            such values; or to dicts from tasks to such dicts. Values of one metric are
            a `PerList`, an array `[lists]` or `[lists, cutoffs]`, a pandas Series, a
            dict from list ids to numbers, `Seeds` of these, or a state, which gives
            only means. Two forms can replace a dict of metrics: an `Evaluation`, as
            `evaluate_users` returns it; and a pandas or polars frame with a column for
            each metric, and the list ids in its index or in a column called list,
            query, qid, user or the like. If all keys of a dict are names of metrics,
            the dict holds a single system.
        tasks_first: True if tasks are the outer keys and systems the inner keys, as in
            tables of several collections: `{task: {system: {metric: values}}}`.
        undefined: How a list counts if its value is missing (NaN, None, NA, null) or
            its metric is undefined: "zero", "one", or "skip", which leaves it out. None is
            the choice that values were measured with, or else "zero"; missing values are
            then an error.

    Raises:
        TypeError: if values are traced, or are not numbers.
        ValueError: if values have neither one axis nor two; if ids repeat, or if there
            are more or fewer ids than lists; if values are missing and `undefined` is
            None; if a dict is empty, or maps names of metrics to single numbers, which
            are means.

    >>> values = {"old": {"mrr": [0.2, 0.5], "recall@1,5": [[0, 1], [0, 1]]},
    ...           "new": {"mrr": [0.4, 0.6], "recall@1,5": [[0, 1], [1, 1]]}}
    >>> systems = Systems(values)
    >>> systems
    Systems(2 systems × 2 metrics, 2 lists)
    >>> [(entry.system, entry.metric, entry.lists.values.shape) for entry in systems][:2]
    [('old', 'mrr', (1, 2, 1)), ('old', 'recall@1,5', (1, 2, 2))]
    """

    def __init__(
        self,
        values: Values,
        *,
        tasks_first: bool = False,
        undefined: types.Undefined | None = None,
    ) -> None:
        inputs.check_undefined(undefined)
        holds_systems = is_nested(values) and not all(map(facts.is_metric_name, values))
        keys: Keys = ("system", "metric") if holds_systems else ("metric",)
        keys_of_values = None if tasks_first else keys
        self.records = tuple(read(values, "values", keys_of_values, undefined))
        for record in self.records:
            if record.is_on_this_host:
                _ = record.lists  # read now, so that errors are raised here

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Systems":
        """Makes a `Systems` from records that have been read."""
        systems = cls.__new__(cls)
        systems.records = tuple(records)
        return systems

    def __iter__(self) -> Iterator[Record]:
        """Yields the records."""
        return iter(self.records)

    def __len__(self) -> int:
        """Returns the number of records."""
        return len(self.records)

    def __repr__(self) -> str:
        """The numbers of tasks, systems, metrics and lists."""
        counts = [
            count_text(len(set(names)), unit)
            for unit, names in (
                ("task", [record.task for record in self if record.task is not None]),
                ("system", [record.system for record in self]),
                ("metric", [record.metric for record in self]),
            )
            if names
        ]
        sizes = {record.lists.list_count for record in self if record.is_on_this_host}
        lists = " or ".join(map(str, sorted(sizes)))
        lists = f", {lists} list{'s' * (sizes != {1})}" if sizes else ""
        return f"Systems({' × '.join(counts)}{lists})"


class Seeds:
    """The values of one system, trained several times with different random seeds.

    `compare`, `table` and `leaderboard` take `Seeds` as the values of a system, alone
    or in dicts of systems. A model from one seed may be good by luck; only several
    seeds show how good a training procedure is. `compare` then resamples both lists and
    seeds, so that its verdict is about the procedures, on lists like these.

    Args:
        runs: The values of each seed, `[seeds]`, in any form that `compare` takes for a
            system: a `PerList`, an array `[lists]` or `[lists, cutoffs]`, a pandas Series
            or a dict from list ids to numbers; a dict from metrics to these, a
            DataFrame, or the result of `evaluate_users`. All seeds need the same
            metrics, and the same lists with the same weights. Lists with ids may come
            in any order; lists without ids are paired by position.
        undefined: As for `Systems`.

    Attributes:
        runs: The runs, as a tuple.

    Raises:
        TypeError: if `runs` is a single run, or if a run holds no per-list values.
        ValueError: if there is no run; if runs differ in metrics, cutoffs, ids,
            weights, the number of lists or `undefined`; if values are missing and
            `undefined` is None.

    References:
        Agarwal, Schwarzer, Castro, Courville & Bellemare, Deep reinforcement learning at
        the edge of the statistical precipice, NeurIPS 2021.
        Bouthillier et al., Accounting for variance in machine learning benchmarks, MLSys
        2021.

    >>> a = Seeds([[0.2, 0.5, 0.4], [0.3, 0.5, 0.4], [0.2, 0.6, 0.5], [0.1, 0.4, 0.4]])
    >>> a
    Seeds(mean 0.375, 4 seeds, 3 lists)
    >>> a.mean_lists()
    PerList(mean 0.375, 3 lists, 0 undefined)
    >>> a.iqm(samples=1000)
    Interval(value=0.383, low=0.3, high=0.433)
    """

    @messages.short_errors()
    def __init__(
        self, runs: Iterable[Values], undefined: types.Undefined | None = None
    ) -> None:
        inputs.check_undefined(undefined)
        if isinstance(runs, Mapping | str | PerList) or not isinstance(runs, Iterable):
            raise TypeError(
                f"runs is {inputs.kind_of(runs)}; pass a list with the values of each seed"
            )
        self.runs = tuple(runs)
        if not self.runs:
            raise ValueError("runs is empty; pass the values of each seed")
        # For every seed, a dict {("mrr",): record, …}.
        by_run = []
        for index, run in enumerate(self.runs):
            name = f"runs[{index}]"
            if isinstance(run, Seeds):
                raise TypeError(f"{name} is a Seeds; pass the values of one seed")
            records = [_with(record, undefined) for record in _flat(run, name)]
            by_run.append({record.path: record for record in records})
        first = by_run[0]
        for index, metrics in enumerate(by_run):
            if metrics.keys() != first.keys():
                raise ValueError(
                    f"runs[0] holds {paths_text(first)} and runs[{index}] holds "
                    f"{paths_text(metrics)}; pass the same metrics of every seed"
                )
        self.records = [
            dataclasses.replace(
                record,
                source=_joined_seeds([metrics[path].lists for metrics in by_run]),
                is_of_metric=bool(path),
                # An evaluation's state would be the state of the first seed only.
                state=None,
            )
            for path, record in first.items()
        ]

    def __len__(self) -> int:
        """Returns the number of seeds."""
        return len(self.runs)

    def __repr__(self) -> str:
        """The mean of each metric, and the numbers of seeds and lists."""
        texts = []
        for record in self.records:
            means = " ".join(f"{mean:.3f}" for mean in record.lists.scores().mean(1))
            texts.append(f"{'.'.join(map(str, record.path)) or 'mean'} {means}")
        lists = self.records[0].lists.list_count
        texts += [count_text(len(self), "seed"), count_text(lists, "list")]
        return f"Seeds({', '.join(texts)})"

    def mean_lists(self, undefined: types.Undefined | None = None) -> Nested[PerList]:
        """Returns the mean over seeds for every list, for example for plots of lists.

        Args:
            undefined: How a list counts if its metric is undefined: "zero", "one" or
                "skip", which leaves out lists that are undefined for any seed. None is the
                choice that the values were measured with, or else "zero".

        Returns:
            A `PerList` with values `[lists]` or `[lists, cutoffs]`, in the order of the
            first run; a dict from metrics to such values if runs are dicts.

        Raises:
            ValueError: if `undefined` is another choice.
        """
        inputs.check_undefined(undefined)
        results = {}
        dtype = jax.dtypes.canonicalize_dtype(float)
        for record in self.records:
            seed_values, weights = record.lists.filled(undefined)
            means, has_cutoffs = seed_values.mean(0), record.lists.has_cutoffs
            if not has_cutoffs:
                means, weights = means[:, 0], weights[:, 0]
            results[record.path] = PerList(
                jnp.asarray(means, dtype),
                jnp.asarray(weights, dtype),
                # Undefined values are filled in, or their lists have the weight 0.
                jnp.ones(weights.shape, bool),
                cutoff_weights=has_cutoffs,
            )
        return nested(results)

    def iqm(
        self,
        level: types.Number = 0.95,
        *,
        samples: int = 10_000,
        key: types.Key | None = None,
        undefined: types.Undefined | None = None,
    ) -> Nested[Interval | tuple[Interval, ...]]:
        """Returns the interquartile mean of the seeds' scores, with its interval.

        The score of a seed is its mean over lists. A quarter of the seeds, rounded
        down, is left out at each end, so that one failed run does not dominate; three
        seeds are all kept. The result agrees with rliable's `aggregate_iqm` of scores
        `[seeds, 1]`.

        Args:
            level: The probability with which the interval should cover the mean, in (0, 1).
            samples: Number of resamples of the seeds.
            key: A PRNG key; None is `jax.random.key(0)`.
            undefined: As for `mean_lists`.

        Returns:
            An `Interval`, the percentile interval of the bootstrap over seeds; a tuple
            of intervals if there are cutoffs; a dict from metrics to these if runs are
            dicts. The interval does not allow for other lists, and is too narrow for
            fewer than ten seeds or so. For a single seed, the interval is −inf to inf.

        Raises:
            ValueError: if an option is out of its range.
        """
        level = intervals.checked_level(level)
        samples = inputs.positive_integer("samples", samples)
        key = random.key(0) if key is None else inputs.prng_key(key)
        # Draw once for all metrics, so that resamples of all metrics have the same
        # seeds.
        counts = resample.draws_of_seeds(len(self), samples, key)
        inputs.check_undefined(undefined)
        results: dict[Path, Interval | tuple[Interval, ...]] = {}
        for record in self.records:
            scores = record.lists.scores(undefined)
            at_cutoffs = tuple(iqm_interval(runs, counts, level) for runs in scores)
            if len(self) == 1:  # a single seed does not show how far seeds vary
                at_cutoffs = tuple(
                    iqm._replace(low=-math.inf, high=math.inf) for iqm in at_cutoffs
                )
            has_cutoffs = record.lists.has_cutoffs
            results[record.path] = at_cutoffs if has_cutoffs else at_cutoffs[0]
        return nested(results)


def _joined_seeds(runs: list[ListValues]) -> ListValues:
    """Joins one metric's values of all seeds, with lists in the order of the first seed."""
    first = runs[0]
    for lists in runs:
        if (lists.ids is None) != (first.ids is None):
            raise ValueError(
                f"only one of {first.name} and {lists.name} has list ids; pass the runs of "
                "all seeds in one form"
            )
        shapes = {run.weights.shape[1:] for run in (first, lists)}
        if len(shapes) > 1 or first.has_cutoffs != lists.has_cutoffs:
            raise ValueError(
                f"{first.name} and {lists.name} have different cutoffs; pass values at the "
                "same cutoffs"
            )
    undefined = common_undefined((run.name, run.undefined) for run in runs)
    in_order = in_one_order(runs)
    for lists in in_order:
        # Seeds must share their weights even if they are ratios.
        weights_differ(dataclasses.replace(first, is_ratio=False), lists)
    return dataclasses.replace(
        first,
        # [seeds, lists, cutoffs], of [1, lists, cutoffs] each.
        values=np.concatenate([run.values for run in in_order]),
        defined=np.concatenate([run.defined for run in in_order]),
        # The coarsest dtype determines how large rounding errors are.
        dtype=min((run.dtype for run in runs), key=lambda dtype: dtype.itemsize),
        undefined=undefined,
        has_seeds=True,
    )


@messages.short_errors()
def read(
    tree: Values,
    name: str,
    keys: Keys | None = None,
    undefined: types.Undefined | None = None,
    fix_missing: str = FIX_MISSING,
) -> list[Record]:
    """Returns the records of all systems, tasks and metrics.

    Args:
        tree: `Systems`, whose records have been read already; or values in any form
            that this module's docstring lists, or dicts of such values.
        name: The name of the argument, for messages.
        keys: The kinds of the keys of nested dicts, level by level; see `Record.named`.
            None infers it from the depth of dicts: {"map": values} has neither systems nor
            tasks, {"new": {"map": values}} has systems, and
            {"web": {"new": {"map": values}}} has systems and tasks.
        undefined: The choice for undefined and missing values; None takes the choice
            that the values hold.
        fix_missing: See `Record`.

    Raises:
        ValueError: if a dict or a frame is empty, or if a dict maps names of metrics to
            single numbers, which are means.
        TypeError: if a dict holds None or text instead of values. If `keys` is None,
            also if values have no name, if dicts are nested deeper than described, or
            if the depths of one task's values differ.
    """
    if isinstance(tree, Systems):
        return [_with(record, undefined) for record in tree]
    warned = set[Hashable]()
    records = [
        dataclasses.replace(_with(record, undefined, fix_missing), warned=warned)
        for record in _flat(tree, name)
    ]
    if holds_levels(tree):
        keys = ("system", "metric")
    if keys is not None:
        return [record.named(keys) for record in records]
    # If any path has three keys, the first keys of all paths are tasks. Tasks may
    # differ in depth.
    num_tasks = int(max(len(record.path) for record in records) > 2)
    results = []
    by_task = itertools.groupby(records, lambda record: record.path[:num_tasks])
    for task, group in by_task:
        task_records = list(group)
        depth = max(len(record.path) for record in task_records) - num_tasks
        levels: Keys = ("system", "metric") if depth == 2 else ("metric",)
        for record in task_records:
            path, source = record.path[num_tasks:], record.source
            kind = "a Seeds" if isinstance(source, ListValues) else kind_of(source)
            if not path:
                raise TypeError(f"{label_of(name, task)}: got {kind}; {FIX_RUNS}")
            if len(path) < depth:
                raise TypeError(f"{name}: run {path[0]!r} is {kind}; {FIX_RUNS}")
            if depth > 2:
                raise TypeError(f"{name}: {path[1]!r} holds dicts; {FIX_RUNS}")
            results.append(record.named(("task", *levels) if task else levels))
    return results


def _with(
    record: Record, undefined: types.Undefined | None, fix_missing: str = FIX_MISSING
) -> Record:
    """Returns a record with the caller's choice for undefined and missing values."""
    if undefined is not None:
        # The state was made with another choice, so drop the state.
        return dataclasses.replace(record, undefined=undefined, state=None)
    if fix_missing == FIX_MISSING:
        return record
    return dataclasses.replace(record, fix_missing=fix_missing)


def _flat(tree: Any, name: str, path: Path = ()) -> Iterator[Record]:
    """Yields the records of any input except `Systems`, with all keys as their paths.

    Args:
        tree: As for `read`.
        name: The name of the argument, for messages.
        path: The keys that lead to the tree.
    """

    def record(keys: Path, source: object, **fields: Any) -> Record:
        return Record(label_of(name, keys), keys, source, **fields)

    label, ids, has_task_first = label_of(name, path), None, True
    tree = inputs.as_frame(tree, "a table of values")
    if is_frame := inputs.is_frame(tree):
        _refuse_metrics_first(label, columns := tree.columns)
        has_task_first = [*getattr(columns, "names", [])][:1] != ["system"]
        parts = inputs.parts_of_tasks(tree)
        for task, part in parts:
            for task_record in _flat(part, name, path):
                keys = (*task_record.path[:-1], task, task_record.path[-1])
                yield dataclasses.replace(
                    task_record, name=label_of(name, keys), path=keys
                )
        if parts:
            return
        ids, tree = inputs.list_columns(label, tree, facts.is_metric_name)
    if isinstance(tree, Seeds):
        for seeds_record in tree.records:
            keys = (*path, *seeds_record.path)
            yield dataclasses.replace(
                seeds_record, name=label_of(name, keys), path=keys
            )
    elif isinstance(tree, StatesByName):
        for metric in dict.fromkeys((*tree, *tree.lists)):
            # Read the lists of a metric if the evaluation has them, and otherwise its
            # state.
            state = tree.get(metric)
            yield record(
                (*path, metric),
                tree.lists.get(metric, state),
                ids=tree.list_ids,
                undefined=tree.undefined,
                state=state,
                is_of_metric=True,
                remarks=getattr(tree, "remarks", ()),
                signature=getattr(tree, "signature", {}).get(metric, ""),
            )
    elif isinstance(tree, Mapping) and not tree:
        raise ValueError(
            f"{name} holds no metric; pass at least one ({label} is empty)"
        )
    elif path and (tree is None or isinstance(tree, str)):
        raise TypeError(
            f"{label} is {tree!r}; pass a number for a list, or the values of a metric, "
            "and leave out keys that have none"
        )
    elif is_frame:
        # Columns with three levels are (task, system, metric) unless their names say
        # otherwise, but paths begin with systems.
        for key, column in tree.items():
            keys = key if isinstance(key, tuple) else (key,)
            if len(keys) == 3 and has_task_first:
                keys = (*keys[1::-1], *keys[2:])
            yield record((*path, *keys), column, ids=ids, is_of_metric=True)
    elif is_nested(tree):
        if (ids_key := inputs.key_of_ids(tree)) is not None:
            raise ValueError(
                f"{label} holds the ids of lists under {ids_key!r}; pass a frame of these "
                "columns, or dicts of list ids to values"
            )
        for key, subtree in tree.items():
            yield from _flat(subtree, name, (*path, key))
    else:
        if isinstance(tree, Mapping):
            _refuse_means(label, tree)
            ids = list(tree)
        elif inputs.is_series(tree):
            ids = tree.index
        yield record(path, tree, ids=ids)


def _refuse_metrics_first(label: str, columns: Any) -> None:
    """Raises ValueError if metrics are in another level of the columns than the last."""
    for outer in range(getattr(columns, "nlevels", 1) - 1):
        names = [*columns.get_level_values(outer).unique()]
        is_called_so = columns.names[outer] == "metric"
        innermost = columns.get_level_values(-1)
        hold_metrics = all(map(_is_metric, names)) and not all(
            map(_is_metric, innermost)
        )
        if is_called_so or hold_metrics:
            raise ValueError(
                f"{label} has metrics, {listing(names)}, in level {outer} of its columns; "
                f"pass systems before metrics, as {label}.swaplevel(axis=1) has them"
            )


def _is_metric(name: Hashable) -> bool:
    """True for names of metrics but single letters, which lists and systems may have."""
    return facts.is_metric_name(name) and len(str(name)) > 1


def _refuse_means(label: str, values: Mapping[Any, Any]) -> None:
    """Raises ValueError if a dict of numbers has names of metrics as keys.

    The keys must be list ids. A single letter may be a list id, even the "p" of
    precision.
    """
    metrics = [key for key in values if _is_metric(key)]
    if metrics:
        raise ValueError(
            f"{label} holds one number for {listing(metrics)}, the name of a metric: a "
            f"mean no longer holds per-list values; {FIX}, or a dict from list ids to "
            "values"
        )


def by_system(records: Iterable[Record]) -> dict[Hashable, Metrics]:
    """Returns a dict from systems to dicts from the paths of metrics to records."""
    systems: dict[Hashable, Metrics] = {}
    for record in records:
        systems.setdefault(record.system, {})[record.path] = record
    return systems


def only_metric(
    metrics: Iterable[str | None], name: str, metric: str | None
) -> str | None:
    """Returns the name of the metric to read from a system; None without a name.

    Args:
        metrics: The names of the system's metrics.
        name: The name of the argument, for messages.
        metric: The name that the caller passed, or None.

    Raises:
        ValueError: if there are several metrics and `metric` is None, or if no metric
            is called `metric`.
    """
    metrics = list(metrics)
    # Values without a name can be used for any metric.
    matches = [held for held in metrics if metric is None or held in (metric, None)]
    if len(matches) != 1:
        raise ValueError(
            f"{name} holds {listing(metrics)}; pass metric=, the name of one of them"
        )
    return matches[0]


def lists_at_cutoff(record: Record) -> ListValues:
    """Returns the values of a metric at its only cutoff; ValueError if it has several."""
    if record.lists.has_cutoffs:
        raise ValueError(
            f"{record.name} has several cutoffs, or an axis for one; measure one, such as "
            "'recall@5', or pass its column"
        )
    return record.lists


def is_nested(values: Values) -> TypeGuard[Mapping[Any, Any]]:
    """True for a dict of values; not for a dict from list ids or an evaluation."""
    is_dict = isinstance(values, Mapping) and not isinstance(values, StatesByName)
    return is_dict and not is_by_list(values)


def holds_levels(values: Values) -> TypeGuard[Any]:
    """True for a frame of several systems, whose columns have several levels."""
    return inputs.is_pandas_frame(values) and values.columns.nlevels > 1


def label_of(name: str, path: Path) -> str:
    """Returns the name of values for messages, with their keys: `a['new']['mrr']`."""
    return name + "".join(f"[{key!r}]" for key in path)


def is_spread(array: object) -> bool:
    """True if parts of an array lie on several devices."""
    return isinstance(array, jax.Array) and not array.is_fully_replicated


def nested(results: Mapping[Path, T]) -> Nested[T]:
    """Returns results as nested dicts, or the single result whose path is empty.

    >>> nested({("mine", "map"): 1, ("mine", "mrr"): 2}), nested({(): 3})
    ({'mine': {'map': 1, 'mrr': 2}}, 3)
    """
    if () in results:
        return results[()]
    parts: dict[Hashable, dict[Path, T]] = {}
    for (key, *following), result in results.items():
        parts.setdefault(key, {})[tuple(following)] = result
    return {key: nested(part) for key, part in parts.items()}


def paths_text(paths: Iterable[Path]) -> str:
    """Returns a text that lists the metrics of a system, for an error message."""
    if set(paths) == {()}:
        return "one array"
    return listing([path[0] if len(path) == 1 else path for path in paths])
