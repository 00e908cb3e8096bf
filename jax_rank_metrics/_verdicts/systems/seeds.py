"""Scores of training seeds: interquartile means, and how often a system wins.

The score of a seed is its mean over lists.
"""

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jax import random

from jax_rank_metrics._ground import types
from jax_rank_metrics._values import list_arrays
from jax_rank_metrics._verdicts.inference import resample, weighted_means
from jax_rank_metrics._verdicts.sheets import count_text
from jax_rank_metrics._verdicts.systems.list_values import ListValues

_FEW_SEEDS = (
    "{} seeds hardly show how far training varies: differences are found less often than "
    "with five, and if some runs failed, three seeds seemed to differ from an equal fixed "
    "system in 15 % of simulations; train five or more"
)


class Interval(NamedTuple):
    """A number and the bounds of its interval.

    Attributes:
        value: The number.
        low: The lower bound of the interval.
        high: The upper bound of the interval.
    """

    value: float
    low: float
    high: float

    def __repr__(self) -> str:
        """The numbers, to three digits."""
        value, low, high = (f"{number + 0.0:.3g}" for number in self)
        return f"Interval(value={value}, low={low}, high={high})"


@dataclasses.dataclass(frozen=True)
class SeedSummary:
    """The scores of training seeds; the score of a seed is its mean over lists.

    The intervals are percentile intervals of the bootstrap over seeds, at the level of the
    comparison. They do not allow for other lists, and are too narrow for fewer than ten
    seeds or so; the interval of the difference allows for both.

    Attributes:
        seeds_a: Number of seeds of a; None for a fixed system.
        seeds_b: Number of seeds of b; None for a fixed system.
        iqm_a: The interquartile mean of a's scores; see `Seeds.iqm`.
        iqm_b: The interquartile mean of b's scores.
        b_beats_a: The probability that a run of b is better than a run of a, ties counting
            ½ (the Mann–Whitney statistic divided by the number of pairs); None if
            neither high nor low values of the metric are better.

    References:
        Agarwal et al., Deep reinforcement learning at the edge of the statistical
        precipice, NeurIPS 2021.
    """

    seeds_a: int | None
    seeds_b: int | None
    iqm_a: Interval
    iqm_b: Interval
    b_beats_a: Interval | None


def check_seed_counts(sides: Iterable[ListValues], stacklevel: int = 3) -> None:
    """Checks that there are enough seeds to compare training procedures.

    Args:
        sides: The values of systems.
        stacklevel: The stack level of the warning about few seeds, counted from this
            function.

    Raises:
        ValueError: if a side has one seed or two.
    """
    # Start at five, because five seeds cause no warning.
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
                "each system: pass the values of a single seed, without Seeds"
            )
    if fewest < 5:
        warnings.warn(_FEW_SEEDS.format(fewest), stacklevel=stacklevel)


def summary_of(
    sides: tuple[np.ndarray, ...],
    weights: np.ndarray,
    lower: bool | None,
    key: types.Key,
    samples: int,
    level: float,
) -> SeedSummary | None:
    """Returns the summary of the seeds' scores of a and b; None without seeds.

    Args:
        sides: The values of a and of b, `[seeds, lists]`; () without seeds.
        weights: `[lists]`.
        lower: True if lower values are better; None for neither direction.
        key: A typed PRNG key.
        samples: Number of resamples of a comparison.
        level: Coverage of the intervals.
    """
    if not sides:
        return None
    scores = [values @ weighted_means.shares_of(weights) for values in sides]
    # There are few seeds, so 10,000 draws suffice for any interval.
    samples = min(samples, 10_000)
    draws = [
        resample.draws_of_seeds(len(side), samples, key)
        for side, key in zip(scores, random.split(key), strict=True)
    ]
    pairs = zip(scores, draws, strict=True)
    iqm_a, iqm_b = (iqm_interval(*pair, level) for pair in pairs)
    better = None
    if lower is not None:
        signed = [-side if lower else side for side in scores]
        better = _interval(share_of_wins, signed, draws, level)
    # A single seed is not a sample, so the system counts as fixed.
    seeds_a, seeds_b = (len(side) if len(side) > 1 else None for side in scores)
    return SeedSummary(seeds_a, seeds_b, iqm_a, iqm_b, better)


def iqm_interval(scores: np.ndarray, draws: np.ndarray, level: float) -> Interval:
    """Returns the interquartile mean of scores, with its percentile interval.

    Args:
        scores: `[seeds]`.
        draws: `[samples, seeds]`, as `draws_of_seeds` returns them.
        level: Coverage of the interval.
    """
    return _interval(interquartile_mean, [scores], [draws], level)


def interquartile_mean(scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the interquartile mean of resampled scores, `[samples]`.

    Args:
        scores: `[seeds]`.
        counts: `[samples, seeds]`, how often each score is drawn; rows sum to the number
            of seeds.
    """
    # Sorted scores, each repeated as often as it is drawn, have the positions 0 …
    # n − 1; `ends` holds the position after the last copy of each score.
    order = np.array(sorted(range(len(scores)), key=scores.__getitem__))
    ends = np.cumsum(counts[:, order], axis=1)
    cut = len(scores) // 4
    start, end = cut, len(scores) - cut
    kept = np.diff(np.clip(ends, start, end), axis=1, prepend=start)
    return (kept * scores[order]).sum(1) / (end - start)


def share_of_wins(
    a: np.ndarray, b: np.ndarray, draws_a: np.ndarray, draws_b: np.ndarray
) -> np.ndarray:
    """Returns the share of pairs in which b's score is higher, ties ½, `[samples]`.

    Args:
        a: `[seeds_a]`, the scores of a.
        b: `[seeds_b]`, the scores of b.
        draws_a: `[samples, seeds_a]`, how often each score of a is drawn.
        draws_b: `[samples, seeds_b]`, how often each score of b is drawn.
    """
    # [seeds of a, seeds of b]: every run of b minus every run of a.
    gain = b[None, :] - a[:, None]
    slack = list_arrays.ROUNDING * np.maximum(np.abs(a)[:, None], np.abs(b)[None, :])
    wins = np.where(np.abs(gain) <= slack, 0.5, gain > 0)
    return ((draws_a @ wins) * draws_b).sum(1) / (len(a) * len(b))


def _interval(
    statistic: Callable[..., np.ndarray],
    scores: Sequence[np.ndarray],
    draws: Sequence[np.ndarray],
    level: float,
) -> Interval:
    """Returns the percentile interval of a statistic of scores and their draws."""
    (value,) = statistic(*scores, *(np.ones((1, len(side))) for side in scores))
    ends = np.quantile(statistic(*scores, *draws), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(value), *ends.tolist())
