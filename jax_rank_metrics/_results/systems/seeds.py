"""Several training seeds of one system, in place of its values.

The score of a seed is its mean over lists.
"""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from jax_rank_metrics import _inputs
from jax_rank_metrics._results.inference.resample import draws_of_seeds
from jax_rank_metrics._results.inference.weighted_means import shares_of
from jax_rank_metrics._results.sheet import count_text
from jax_rank_metrics._results.systems.differences import common_undefined
from jax_rank_metrics._results.systems.list_values import (
    ListValues,
    in_one_order,
    weights_differ,
)
from jax_rank_metrics._results.systems.systems import (
    Nested,
    Path,
    SeedValues,
    Values,
    nested,
    paths_text,
    records_of,
)
from jax_rank_metrics._states.intervals import checked_level
from jax_rank_metrics._states.list_arrays import ROUNDING
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Key, Number, Undefined

_FEW_SEEDS = (
    "{} seeds hardly show how far training varies: differences are found less often than "
    "with five, and where some runs fail, three seeds differed from an equal system that "
    "is fixed in 15 % of simulations; train five or more"
)


class Interval(NamedTuple):
    """A number and the ends of its interval.

    Attributes:
        value: The number.
        low: The lower end of the interval.
        high: The upper end.
    """

    value: float
    low: float
    high: float

    def __repr__(self) -> str:
        """The numbers, to three digits."""
        value, low, high = (f"{x + 0.0:.3g}" for x in self)
        return f"Interval(value={value}, low={low}, high={high})"


@dataclasses.dataclass(frozen=True)
class SeedSummary:
    """The scores of training seeds; the score of a seed is its mean over lists.

    The intervals are percentile intervals of the bootstrap over seeds, at the level of the
    comparison. They are about the lists at hand, and too narrow for fewer than ten seeds
    or so; the interval of the difference allows for both.

    Attributes:
        seeds_a: Number of seeds of a; None for a fixed system.
        seeds_b: The same of b.
        iqm_a: The interquartile mean of the scores of a, see `Seeds.iqm`.
        iqm_b: The same of b.
        b_beats_a: The probability that a run of b is better than a run of a, ties counting
            ½ (the Mann–Whitney statistic over the number of pairs); None for a metric of
            which neither direction is better.

    References:
        Agarwal et al., Deep reinforcement learning at the edge of the statistical
        precipice, NeurIPS 2021.
    """

    seeds_a: int | None
    seeds_b: int | None
    iqm_a: Interval
    iqm_b: Interval
    b_beats_a: Interval | None


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
    for lists in runs:
        if (lists.ids is None) != (first.ids is None):
            raise ValueError(
                f"only one of {first.name} and {lists.name} has list ids; pass the runs of "
                "all seeds in one form"
            )
        shapes = {x.weights.shape[1:] for x in (first, lists)}
        if len(shapes) > 1 or first.has_cutoffs != lists.has_cutoffs:
            raise ValueError(f"{first.name} and {lists.name} have different cutoffs")
    undefined, in_order = first.undefined, in_one_order(runs)
    for lists in in_order:
        # Arrays define all values, and agree with any choice.
        if lists.undefined:
            undefined = common_undefined(
                first.name, undefined, lists.name, lists.undefined
            )
        # Seeds of a ratio share their weights, too.
        weights_differ(dataclasses.replace(first, is_ratio=False), lists)
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


def summary_of(
    sides: tuple[np.ndarray, ...],
    weights: np.ndarray,
    lower: bool | None,
    key: Key,
    samples: int,
    level: float,
) -> SeedSummary | None:
    """Returns what the scores of the seeds of a and b say; None without seeds.

    Args:
        sides: The values of a and of b, `[seeds, lists]`, or none.
        weights: `[lists]`.
        lower: Whether lower values are better; None for neither direction.
        key: A typed PRNG key.
        samples: Number of resamples of a comparison.
        level: Coverage of the intervals.
    """
    if not sides:
        return None
    scores = [values @ shares_of(weights) for values in sides]
    # Seeds are few, and this many draws of them suffice for any interval.
    samples = min(samples, 10_000)
    draws = [
        draws_of_seeds(len(x), samples, key)
        for x, key in zip(scores, random.split(key), strict=True)
    ]
    iqm_a, iqm_b = (
        iqm_interval(x, drawn, level) for x, drawn in zip(scores, draws, strict=True)
    )
    better = None
    if lower is not None:
        signed = [-x if lower else x for x in scores]
        better = _interval(share_of_wins, signed, draws, level)
    # One seed is a fixed system, which has no sample of seeds.
    seeds_a, seeds_b = (len(x) if len(x) > 1 else None for x in scores)
    return SeedSummary(seeds_a, seeds_b, iqm_a, iqm_b, better)


def iqm_interval(scores: np.ndarray, draws: np.ndarray, level: float) -> Interval:
    """Returns the interquartile mean of scores `[seeds]`, and its percentile interval.

    Args:
        scores: `[seeds]`.
        draws: `[samples, seeds]`, as of `draws_of_seeds`.
        level: Coverage of the interval.
    """
    return _interval(interquartile_mean, [scores], [draws], level)


def interquartile_mean(scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the interquartile mean of scores that are drawn several times, `[samples]`.

    Args:
        scores: `[seeds]`.
        counts: `[samples, seeds]`, how often each is drawn: as often as there are seeds.
    """
    # Sorted scores, each as often as drawn, fill the places 0 … n − 1; `ends` cuts them.
    order = np.array(sorted(range(len(scores)), key=scores.__getitem__))
    ends = np.cumsum(counts[:, order], axis=1)
    cut = len(scores) // 4
    start, end = cut, len(scores) - cut
    kept = np.diff(np.clip(ends, start, end), axis=1, prepend=start)
    return (kept * scores[order]).sum(1) / (end - start)


def share_of_wins(
    a: np.ndarray, b: np.ndarray, draws_a: np.ndarray, draws_b: np.ndarray
) -> np.ndarray:
    """Returns the share of pairs in which the score of b is higher, ties ½, `[samples]`.

    Args:
        a: `[seeds_a]`.
        b: `[seeds_b]`.
        draws_a: `[samples, seeds_a]`, how often each is drawn.
        draws_b: `[samples, seeds_b]`.
    """
    # [seeds of a, seeds of b]: every run of b against every run of a.
    gain = b[None, :] - a[:, None]
    slack = ROUNDING * np.maximum(np.abs(a)[:, None], np.abs(b)[None, :])
    wins = np.where(np.abs(gain) <= slack, 0.5, gain > 0)
    return ((draws_a @ wins) * draws_b).sum(1) / (len(a) * len(b))


def _interval(
    statistic: Callable[..., np.ndarray],
    scores: Sequence[np.ndarray],
    draws: Sequence[np.ndarray],
    level: float,
) -> Interval:
    """Returns the percentile interval of a statistic of scores and their draws."""
    (value,) = statistic(*scores, *(np.ones((1, len(x))) for x in scores))
    ends = np.quantile(statistic(*scores, *draws), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(value), *ends.tolist())
