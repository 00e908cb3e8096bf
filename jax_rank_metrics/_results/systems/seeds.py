"""Several training seeds of one system, in place of its values."""

import dataclasses
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from jax_rank_metrics import _inputs
from jax_rank_metrics._results.inference.draws import draws_of_seeds
from jax_rank_metrics._results.sheets.export import count_text
from jax_rank_metrics._results.systems import pairing
from jax_rank_metrics._results.systems.differences import defined_lists, in_order_of
from jax_rank_metrics._results.systems.paired import common_undefined, filled
from jax_rank_metrics._results.systems.seed_scores import iqm_interval
from jax_rank_metrics._results.systems.values import (
    ListValues,
    SeedValues,
    read_values,
)
from jax_rank_metrics._states.intervals import checked_level
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._states.weights import differ
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

    def __init__(self, runs: Iterable[Any]):
        if isinstance(runs, Mapping | str | PerList) or not isinstance(runs, Iterable):
            raise TypeError(
                f"runs is {_inputs.kind_of(runs)}; pass a list with the values of each seed"
            )
        self.runs = tuple(runs)
        if not self.runs:
            raise ValueError("runs is empty; pass the values of each seed")
        by_run = []
        for index, run in enumerate(self.runs):
            if isinstance(run, SeedValues):
                raise TypeError(
                    f"runs[{index}] is a Seeds; pass the values of one seed"
                )
            by_run.append(read_values(run, f"runs[{index}]"))
        first = by_run[0]
        if not first:
            raise ValueError("runs[0] holds no metric; pass at least one")
        for index, metrics in enumerate(by_run):
            if metrics.keys() != first.keys():
                raise ValueError(
                    f"runs[0] holds {pairing.keys_text(first)} and runs[{index}] holds "
                    f"{pairing.keys_text(metrics)}; pass the same metrics of every seed"
                )
        self.values_of_seeds = {
            path: _joined([metrics[path] for metrics in by_run]) for path in first
        }

    def __len__(self) -> int:
        """Returns the number of seeds."""
        return len(self.runs)

    def __repr__(self) -> str:
        """The mean of each metric, and the numbers of seeds and lists."""
        texts = []
        for path, values in self.values_of_seeds.items():
            means = " ".join(f"{mean:.3f}" for mean in scores_of(values).mean(1))
            texts.append(f"{'.'.join(map(str, path)) or 'mean'} {means}")
        lists = next(iter(self.values_of_seeds.values())).list_count
        texts += [count_text(len(self), "seed"), count_text(lists, "list")]
        return f"Seeds({', '.join(texts)})"

    def mean_lists(self, undefined: Undefined | None = None) -> Any:
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
        results = {}
        for path, values in self.values_of_seeds.items():
            of_seeds, weights = filled_seeds(values, undefined)
            arrays = of_seeds.mean(0), weights, np.ones(weights.shape, bool)
            if not values.has_cutoffs:
                arrays = tuple(x[:, 0] for x in arrays)
            dtype = jax.dtypes.canonicalize_dtype(float)
            means, weights, defined = map(jnp.asarray, arrays)
            results[path] = PerList(
                means.astype(dtype),
                weights.astype(dtype),
                defined,
                cutoff_weights=values.has_cutoffs,
            )
        return pairing.nested(results)

    def iqm(
        self,
        level: Number = 0.95,
        *,
        samples: int = 10_000,
        key: Key | None = None,
        undefined: Undefined | None = None,
    ) -> Any:
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
        counts = draws_of_seeds(len(self), samples, key)
        results = {}
        for path, values in self.values_of_seeds.items():
            at_cutoffs = tuple(
                iqm_interval(x, counts, level) for x in scores_of(values, undefined)
            )
            if len(self) == 1:  # it does not show how far others would vary
                at_cutoffs = tuple(
                    x._replace(low=-math.inf, high=math.inf) for x in at_cutoffs
                )
            results[path] = at_cutoffs if values.has_cutoffs else at_cutoffs[0]
        return pairing.nested(results)


def check_seed_counts(sides: Sequence[ListValues]) -> None:
    """Checks that training procedures can be compared by these values.

    Raises:
        ValueError: if a side has one seed or two.
    """
    for values in sides:
        if 0 < len(values.runs) < 3:
            raise ValueError(
                f"{values.name} has {count_text(len(values.runs), 'seed')}, and procedures "
                "cannot be compared with fewer than three seeds; train more, or compare "
                "one model of each system: pass the values of a single seed, not in Seeds"
            )
    seed_counts = [len(values.runs) for values in sides if values.runs]
    if min(seed_counts, default=5) < 5:
        warnings.warn(_FEW_SEEDS.format(min(seed_counts)), stacklevel=3)


def scores_of(values: ListValues, undefined: Undefined | None = None) -> np.ndarray:
    """Returns the weighted mean over lists of each seed, `[cutoffs, seeds]`."""
    of_seeds, weights = filled_seeds(values, undefined)
    total = weights.sum(0)
    return np.einsum("slk,lk->ks", of_seeds, weights / np.where(total > 0, total, 1))


def filled_seeds(
    values: ListValues, undefined: Undefined | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Returns values `[seeds, lists, cutoffs]` and their weights `[lists, cutoffs]`.

    Values that do not count, and their weights, are 0.
    """
    if undefined is not None:
        _inputs.option("undefined", undefined, Undefined)
    choice = undefined or values.undefined or "zero"
    runs = values.runs or (values.lists,)
    of_seeds = np.stack([filled(run, choice, np) for run in runs])
    defined = defined_lists(values) | (choice != "skip")
    weights = np.asarray(values.lists.weights)
    weights = np.where(defined & (weights > 0), weights, 0)
    return np.where(weights > 0, of_seeds, 0), weights


def _joined(runs: list[ListValues]) -> ListValues:
    """Joins the values of one metric of all seeds, in the order of the first seed."""
    first = runs[0]
    undefined, in_order = first.undefined, []
    for values in runs:
        if values.list_count != first.list_count:
            raise ValueError(
                f"{first.name} has {first.list_count} lists and {values.name} has "
                f"{values.list_count}; pass values of the same lists"
            )
        if (values.ids is None) != (first.ids is None):
            raise ValueError(
                f"only one of {first.name} and {values.name} has list ids; pass the runs "
                "of all seeds in one form"
            )
        shapes = {x.lists.values.shape for x in (first, values)}
        if len(shapes) > 1 or first.has_cutoffs != values.has_cutoffs:
            raise ValueError(f"{first.name} and {values.name} have different cutoffs")
        if values.undefined:
            undefined = common_undefined(
                first.name, undefined, values.name, values.undefined
            )
        lists = in_order_of(first, values).lists
        weights_a, weights_b = (np.asarray(x.weights) for x in (first.lists, lists))
        for index, cutoff in np.argwhere(differ(weights_a, weights_b))[:1]:
            raise ValueError(
                f"list {index} has weight {weights_a[index, cutoff]:g} in {first.name} and "
                f"{weights_b[index, cutoff]:g} in {values.name}; pass the same weights"
            )
        in_order.append(lists)
    join = np.all if undefined == "skip" else np.any
    mean = np.mean([x.values for x in in_order], axis=0)
    defined = join([x.defined for x in in_order], axis=0)
    return first._replace(
        lists=dataclasses.replace(first.lists, values=mean, defined=defined),
        rounding=max(x.rounding for x in runs),
        undefined=undefined,
        runs=tuple(in_order),
    )
