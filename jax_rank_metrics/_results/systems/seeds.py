"""Several training seeds of one system, in place of its values."""

import dataclasses
import math
import warnings
from collections.abc import Iterable, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from jax_rank_metrics import _inputs
from jax_rank_metrics._results.inference.draws import draws_of_seeds
from jax_rank_metrics._results.sheets.export import count_text
from jax_rank_metrics._results.systems.paired import common_undefined
from jax_rank_metrics._results.systems.seed_scores import Interval, iqm_interval
from jax_rank_metrics._results.systems.systems import (
    Nested,
    Path,
    SeedValues,
    Values,
    nested,
    paths_text,
    records_of,
)
from jax_rank_metrics._results.systems.values import ListValues, weights_differ
from jax_rank_metrics._states.intervals import checked_level
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Key, Number, Undefined

_FEW_SEEDS = (
    "{} seeds hardly show how far training varies: differences are found less often than "
    "with five, and where some runs fail, three seeds differed from an equal system that "
    "is fixed in 15 % of simulations; train five or more"
)


class Seeds(SeedValues):
    """The values of one system, trained several times with different random seeds.

    It goes wherever the values of a system go: into `compare`, `table` and `leaderboard`,
    by itself or in dicts of systems. A model of one seed may be good by luck; what a
    training procedure is worth shows over several. `compare` then draws both lists and
    seeds anew, so that its verdict is about the procedures, on lists like these.

    Args:
        runs: What each seed gave, `[seeds]` of anything that `compare` takes as the values
            of a system: a `PerList`, an array `[lists]` or `[lists, cutoffs]`, a pandas
            Series or a dict of list ids to numbers; a dict of metrics to these, a
            DataFrame, or the result of `evaluate_users`. All have the same metrics, and
            the same lists with the same weights: paired by ids where there are ids, in any
            order, and by their position otherwise.

    Attributes:
        runs: The runs, as a tuple.

    Raises:
        TypeError: if `runs` is a single run, or one of them holds no per-list values.
        ValueError: if there is no run; if runs hold other metrics or cutoffs, other ids or
            weights, or differ in the number of lists or in `undefined`.

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

    def __init__(self, runs: Iterable[Values]):
        if isinstance(runs, Mapping | str | PerList) or not isinstance(runs, Iterable):
            raise TypeError(
                f"runs is {_inputs.kind_of(runs)}; pass a list with the values of each seed"
            )
        self.runs = tuple(runs)
        if not self.runs:
            raise ValueError("runs is empty; pass the values of each seed")
        # {("mrr",): record, …} of every seed.
        by_run = []
        for index, run in enumerate(self.runs):
            name = f"runs[{index}]"
            if isinstance(run, SeedValues):
                raise TypeError(f"{name} is a Seeds; pass the values of one seed")
            by_run.append({x.path: x for x in records_of(run, name)})
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
                source=_joined([metrics[path].lists for metrics in by_run]),
                is_of_metric=bool(path),
                # It would be that of the first seed alone.
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

    def mean_lists(self, undefined: Undefined | None = None) -> Nested[PerList]:
        """Returns the mean over seeds of every list, as for plots of lists.

        Args:
            undefined: What a value counts as where the metric is undefined: "zero", "one"
                or "skip", which leaves out lists in which it is undefined for any seed.
                None is the choice that the values were measured with, or else "zero".

        Returns:
            A `PerList` with values `[lists]` or `[lists, cutoffs]`, in the order of the
            first run; in dicts of metrics where runs are such dicts.

        Raises:
            ValueError: if `undefined` is none of the options.
        """
        _check_undefined(undefined)
        results = {}
        dtype = jax.dtypes.canonicalize_dtype(float)
        for record in self.records:
            of_seeds, weights = record.lists.filled(undefined)
            means, has_cutoffs = of_seeds.mean(0), record.lists.has_cutoffs
            if not has_cutoffs:
                means, weights = means[:, 0], weights[:, 0]
            results[record.path] = PerList(
                jnp.asarray(means, dtype),
                jnp.asarray(weights, dtype),
                # What was undefined is filled in, or its list has no weight.
                jnp.ones(weights.shape, bool),
                cutoff_weights=has_cutoffs,
            )
        return nested(results)

    def iqm(
        self,
        level: Number = 0.95,
        *,
        samples: int = 10_000,
        key: Key | None = None,
        undefined: Undefined | None = None,
    ) -> Nested[Interval | tuple[Interval, ...]]:
        """Returns the interquartile mean of the scores of seeds, with its interval.

        The score of a seed is its mean over lists. A quarter of the seeds, rounded down,
        is left out on either side, so that a run which failed does not decide; with three
        seeds, none is. It is rliable's `aggregate_iqm` of scores `[seeds, 1]`.

        Args:
            level: The probability with which the interval should cover it, in (0, 1).
            samples: Number of resamples of the seeds.
            key: A PRNG key; None is `jax.random.key(0)`.
            undefined: As for `mean_lists`.

        Returns:
            An `Interval`, the percentile interval of the bootstrap over seeds; a tuple of
            them where there are cutoffs; in dicts of metrics where runs are such dicts.
            It is about these lists, and too narrow for fewer than ten seeds or so; of a
            single seed, it is −inf to inf.

        Raises:
            ValueError: if an option is out of its range.
        """
        level = checked_level(level)
        samples = _inputs.positive_integer("samples", samples)
        key = random.key(0) if key is None else _inputs.prng_key(key)
        # Once for all metrics, whose resamples then hold the same seeds.
        counts = draws_of_seeds(len(self), samples, key)
        _check_undefined(undefined)
        results: dict[Path, Interval | tuple[Interval, ...]] = {}
        for record in self.records:
            at_cutoffs = tuple(
                iqm_interval(x, counts, level) for x in record.lists.scores(undefined)
            )
            if len(self) == 1:  # it does not show how far others would vary
                at_cutoffs = tuple(
                    x._replace(low=-math.inf, high=math.inf) for x in at_cutoffs
                )
            has_cutoffs = record.lists.has_cutoffs
            results[record.path] = at_cutoffs if has_cutoffs else at_cutoffs[0]
        return nested(results)


def check_seed_counts(sides: Iterable[ListValues], stacklevel: int = 3) -> None:
    """Checks that training procedures can be compared by these values.

    Args:
        sides: The values of systems.
        stacklevel: That of the warning of few seeds, seen from this function.

    Raises:
        ValueError: if a side has one seed or two.
    """
    # Five are enough not to be warned of.
    fewest = 5
    for lists in sides:
        if not lists.has_seeds:
            continue
        seeds = len(lists.values)
        fewest = min(fewest, seeds)
        if seeds < 3:
            raise ValueError(
                f"{lists.name} has {count_text(seeds, 'seed')}, and procedures cannot be "
                "compared with fewer than three seeds; train more, or compare one model of "
                "each system: pass the values of a single seed, not in Seeds"
            )
    if fewest < 5:
        warnings.warn(_FEW_SEEDS.format(fewest), stacklevel=stacklevel)


def _check_undefined(undefined: Undefined | None) -> None:
    if undefined is not None:
        _inputs.option("undefined", undefined, Undefined)


def _joined(runs: list[ListValues]) -> ListValues:
    """Joins the values of one metric of all seeds, in the order of the first seed."""
    first = runs[0]
    undefined, in_order = first.undefined, []
    for lists in runs:
        if lists.list_count != first.list_count:
            raise ValueError(
                f"{first.name} has {first.list_count} lists and {lists.name} has "
                f"{lists.list_count}; pass values of the same lists"
            )
        if (lists.ids is None) != (first.ids is None):
            raise ValueError(
                f"only one of {first.name} and {lists.name} has list ids; pass the runs of "
                "all seeds in one form"
            )
        shapes = {x.weights.shape for x in (first, lists)}
        if len(shapes) > 1 or first.has_cutoffs != lists.has_cutoffs:
            raise ValueError(f"{first.name} and {lists.name} have different cutoffs")
        # Arrays define all values, and agree with any choice.
        if lists.undefined:
            undefined = common_undefined(
                first.name, undefined, lists.name, lists.undefined
            )
        ordered = lists.in_order_of(first)
        # Seeds of a ratio share their weights, too.
        weights_differ(dataclasses.replace(first, is_ratio=False), ordered)
        in_order.append(ordered)
    return dataclasses.replace(
        first,
        # [seeds, lists, cutoffs], of [1, lists, cutoffs] each.
        values=np.concatenate([x.values for x in in_order]),
        defined=np.concatenate([x.defined for x in in_order]),
        # The coarsest of them says which values are equal.
        dtype=min((x.dtype for x in runs), key=lambda x: x.itemsize),
        undefined=undefined,
        has_seeds=True,
    )
