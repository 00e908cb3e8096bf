"""Orders of systems: `Leaderboard`, orders of drawn means, and the agreement of orders.

Means are drawn and ranked in NumPy, in float64.
"""

import dataclasses
import math
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._values.list_arrays import ROUNDING
from jax_rank_metrics._verdicts import sheets
from jax_rank_metrics._verdicts.systems import list_values

SPLITS = 1000  # random splits of the lists in halves
BLOCK = 2**21  # most lists in memory at once, over all splits: 16 MiB


class Stability(NamedTuple):
    """How well two experiments agree if each has half of the lists.

    The lists are split into random halves without a common list, and each half orders
    the systems by their means; ties are broken at random. `tau` and `tau_ap` are means
    over 1,000 splits: 1 if the halves always agree, and 0 on average for systems that
    are equal. They fall below 0 if observed means are nearly equal, because a system
    that is better in one half is then worse in the other half. They are NaN for a
    single list, and for `Bootstrap` states, which no longer hold the values of lists.

    Attributes:
        tau: Kendall's tau of the orders of the two halves.
        tau_ap: The AP rank correlation of the two orders, in which errors at the top
            weigh more; see the function `tau_ap`. It is the mean of the two directions,
            each order being the reference once.
    """

    tau: float
    tau_ap: float


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Leaderboard:
    """Systems in the order of their means, and how sure that order is.

    Arrays are NumPy arrays with an entry for every system, the best system first.

    Attributes:
        systems: The names of the systems.
        means: The mean of each system, `[systems]`.
        lows: The lower limits of intervals of the means, at `level`.
        highs: The upper limits of these intervals.
        ranks: The rank of each mean, 1 for the best. Equal means share the mean of
            their ranks.
        rank_lows: The best rank in an interval of the ranks that were drawn for each
            system.
        rank_highs: The worst rank in this interval.
        p_first: The share of draws in which each system is first; systems that tie for
            the first rank share a draw, so the shares sum to 1.
        p_beats: `[systems, systems]`: the share of draws in which the row's system has a
            better mean than the column's system, a tie counting ½.
        p_corrected: `[systems, systems]`: p of the difference between two systems,
            corrected for the number of pairs by Holm's procedure; 1 on the diagonal.
        groups: `(start, stop)` of every group of systems that cannot be told apart,
            `systems[start:stop]`: the longest runs of neighbours without a pair whose
            corrected p is at most 1 − `level`. Groups may overlap, and a system that
            differs from both its neighbours is a group by itself.
        stability: How well two experiments agree if each has half of the lists; see
            `Stability`.
        metric: The name of the metric, or None for values without a name.
        tasks: The names of the tasks over which means are taken; empty without tasks.
        lists: Number of lists that counted, in all tasks.
        samples: Number of draws of the means.
        level: The probability with which an interval should cover its number.
        lower_is_better: True if lower means are better.
        undefined: The number of lists in which the metric is undefined or a value is
            missing, whatever value these lists count as: the largest number of all
            systems and tasks. Not part of `to_dict`.
    """

    systems: tuple[Hashable, ...]
    means: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    ranks: np.ndarray
    rank_lows: np.ndarray
    rank_highs: np.ndarray
    p_first: np.ndarray
    p_beats: np.ndarray
    p_corrected: np.ndarray
    groups: tuple[tuple[int, int], ...]
    stability: Stability
    metric: str | None
    tasks: tuple[Hashable, ...]
    lists: int
    samples: int
    level: float
    lower_is_better: bool
    undefined: int = 0

    @property
    def letters(self) -> tuple[str, ...]:
        """The groups of each system as letters; systems that share a letter share a group.

        With more than 26 groups, their names continue with aa, ab, …, separated by
        commas.
        """
        # With up to 26 groups, "ab" means the groups a and b; with more, it names one
        # group.
        comma = "," if len(self.groups) > 26 else ""
        return tuple(
            comma.join(
                _letters_of(group)
                for group, (start, stop) in enumerate(self.groups)
                if start <= index < stop
            )
            for index in range(len(self.systems))
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes and the letters for JSON, with None for NaN and infinity.

        Arrays become lists, the names of systems and tasks stay as they are, and
        `stability` becomes a dict.
        """
        attributes = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }
        del attributes["undefined"]
        attributes["letters"] = self.letters
        return {name: sheets.plain(value) for name, value in attributes.items()}

    def _sheet(self, digits: int) -> sheets.Sheet:
        """Returns the contents of a table with a row for each system.

        Args:
            digits: Number of digits of the means after the point.
        """
        columns = {
            "rank": self.ranks,
            "rank_low": self.rank_lows,
            "rank_high": self.rank_highs,
            "system": self.systems,
            "mean": self.means,
            "low": self.lows,
            "high": self.highs,
            "p_first": self.p_first,
            "group": self.letters,
        }
        for index, opponent in enumerate(self.systems):
            columns[f"p_beats {opponent}"] = self.p_beats[:, index]
            columns[f"p_corrected {opponent}"] = self.p_corrected[:, index]
        # Make a record for each system: `{"rank": 1, …, "p_beats new": 0.5}`.
        rows = zip(*columns.values(), strict=True)
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        # Ranks may be halves: two systems that are first together have the rank 1.5.
        cells = []
        for row in records:
            ends = f"{row['rank_low']:g}", f"{row['rank_high']:g}"
            rank = sheets.Cell(f"{row['rank']:g}", ends)
            mean = row["mean"], row["low"], row["high"]
            first = sheets.Cell(sheets.fixed_point(row["p_first"], 2))
            cells.append([rank, sheets.number_with_interval(*mean, digits), first])
        return sheets.Sheet(
            ["system", "group"],
            [("", heading) for heading in ("rank", self.metric or "mean", "first")],
            [[str(row["system"]), row["group"]] for row in records],
            cells,
            self._note(),
            "",
            records,
            self.to_dict(),
        )

    def _note(self) -> str:
        """Returns the note that explains the numbers of the table."""
        tasks = (
            f" of {sheets.count_text(len(self.tasks), 'task')}" if self.tasks else ""
        )
        better = "; lower is better" if self.lower_is_better else ""
        # A single list cannot be split into halves, and neither can states.
        halves = ""
        if not math.isnan(self.stability.tau):
            halves = (
                f"; halves of the lists agree by a tau of {self.stability.tau:.2f} and a "
                f"tau_ap of {self.stability.tau_ap:.2f}"
            )
        return (
            f"{100 * self.level:g} % intervals of means and ranks; "
            f"{sheets.count_text(self.lists, 'list')}{tasks}, "
            f"{f'up to {self.undefined} undefined, ' * bool(self.undefined)}"
            f"{sheets.count_text(self.samples, 'draw')} of the means; systems that share a "
            f"letter cannot be told apart{better}{halves}"
        )

    def __repr__(self) -> str:
        """Returns the table of the systems as text."""
        return sheets.as_text(self._sheet(3))


def _letters_of(group: int) -> str:
    """Returns the name of a group: a, b, …, z, aa, ab, …"""
    name = ""
    group += 1
    while group:
        # A name is a number with the digits 1 (a) to 26 (z), without a digit 0.
        group, letter = divmod(group - 1, 26)
        name = chr(ord("a") + letter) + name
    return name


def drawn_errors(
    deviations: np.ndarray, freedom: float, samples: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws the errors of means from a multivariate t distribution, `[samples, systems]`.

    The spread of the lists is uncertain, and more so if `freedom` is small. Each sample
    draws one spread for all systems, because the systems share the lists.

    Args:
        deviations: `[rows, systems]`, as the function `deviations` returns them: the
            sum of their products over the rows is the covariance of the means.
        freedom: Degrees of freedom, above 0.
        samples: Number of draws.
        rng: The source of the draws.
    """
    # RᵀR is the covariance of the means. Computing the covariance first would lose half
    # the digits.
    root = np.linalg.qr(deviations, mode="r")
    spread = np.maximum(rng.chisquare(freedom, samples), np.finfo(np.float64).tiny)
    normal = rng.standard_normal((samples, len(root)))
    return normal @ root * np.sqrt(freedom / spread)[:, None]


def means_of_halves(
    values: np.ndarray, weights: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Returns weighted means of two random halves of the lists, which share no list.

    If the number of lists is odd, each split leaves one out.

    Args:
        values: `[lists, systems]`.
        weights: `[lists, systems]`, or `[lists, 1]` for all systems.
        rng: The source of the splits.

    Returns:
        `[splits, 2, systems]`; NaN if a half has no weight.
    """
    lists, weight_columns = weights.shape
    columns = np.concatenate([weights, weights * values], axis=1)
    sums = np.zeros((SPLITS, 2, columns.shape[1]))
    rows = max(BLOCK // lists, 1)
    for start in range(0, SPLITS, rows):
        count = min(rows, SPLITS - start)
        # The first and the last half of a random order have no list in common.
        order = rng.permuted(np.tile(np.arange(lists), (count, 1)), axis=1)
        for side, is_in in enumerate((order < lists // 2, order >= -(-lists // 2))):
            sums[start : start + count, side] = is_in.astype(np.float64) @ columns
    totals, sums = np.split(sums, [weight_columns], axis=2)
    return np.where(totals > 0, sums / np.where(totals > 0, totals, 1), np.nan)


def ranks_and_wins(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns ranks of systems in every draw, and how often each system beats each other.

    Args:
        means: `[samples, systems]`; higher means are better.

    Returns:
        Two arrays. Ranks `[samples, systems]`, from 1; equal means share the mean of
        their ranks. Wins `[systems, systems]`: the share of the samples in which the
        row's system has a better mean than the column's system, a tie counting ½.
    """
    ranks = np.empty_like(means)
    wins = np.empty((means.shape[1],) * 2)
    for system in range(means.shape[1]):
        difference = means[:, [system]] - means
        size = np.maximum(np.abs(means[:, [system]]), np.abs(means))
        points = np.where(np.abs(difference) <= ROUNDING * size, 0.5, difference > 0)
        wins[system] = points.mean(0)
        # A system ties with itself, which adds ½ to its points, so remove this ½ again.
        ranks[:, system] = means.shape[1] + 0.5 - points.sum(1)
    return ranks, wins


def first_shares(ranks: np.ndarray) -> np.ndarray:
    """Returns the share of samples in which each system is first, `[systems]`.

    Systems that tie for the first rank share a sample, so the shares sum to 1.
    """
    is_first = ranks == ranks.min(1, keepdims=True)
    return (is_first / is_first.sum(1, keepdims=True)).mean(0)


def stability_of(halves: np.ndarray, rng: np.random.Generator) -> Stability:
    """Returns the mean agreement of the orders that two halves of the lists give.

    Args:
        halves: `[splits, 2, systems]` means; higher means are better. Splits that hold NaN
            are left out.
        rng: Puts systems that tie in a half in random order.
    """
    halves = halves[np.isfinite(halves).all((1, 2))]
    if not len(halves):
        return Stability(np.nan, np.nan)
    unit = ROUNDING * max(np.abs(halves).max(), np.finfo(np.float64).tiny)
    points, noise = np.round(halves / unit), rng.random(halves.shape)
    splits, _, systems = halves.shape
    disagreements, shares = np.zeros(splits), np.zeros(splits)
    for system in range(systems):
        score, tie_break = points[..., [system]], noise[..., [system]]
        above = (points > score) | ((points == score) & (noise > tie_break))
        counts, both_counts = above.sum(2), above.all(1).sum(1)
        disagreements += counts[:, 0] - both_counts
        # The share of the systems above this system that are above it in the other
        # order, too.
        share = np.where(counts > 0, both_counts[:, None] / np.maximum(counts, 1), 0)
        shares += share.mean(1)
    tau = 1 - 4 * disagreements / (systems * (systems - 1))
    tau_ap = 2 * shares / (systems - 1) - 1
    return Stability(float(tau.mean()), float(tau_ap.mean()))


def tau_ap(order: Iterable[Hashable], reference: Iterable[Hashable]) -> float:
    """The AP rank correlation of an order of systems with a reference order.

    .. math:: τ_{ap} = 2 / (n − 1) · Σ_{i=2}^n C_i / (i − 1) − 1

    C_i counts the systems above rank i of `order` that are also above the system of
    rank i in the reference. The correlation is 1 for the same order and −1 for the
    reversed one, as Kendall's tau is, and 0 on average for a random order. Unlike tau,
    it punishes an error at the top more than an error at the bottom: a single pair
    decides the term of rank 2.

    Like average precision it is asymmetric: it reads ranks from `order`, and takes
    `reference` to be right. It has no ties: decide which of two equal systems comes
    first.

    Args:
        order: Names or ids of systems, best first.
        reference: The same systems, in the order that is taken to be right.

    Raises:
        ValueError: if an order repeats a system, if the two orders hold different
            systems, or if they hold fewer than two.

    References:
        Yilmaz, Aslam & Robertson, A new rank correlation coefficient for information
        retrieval, SIGIR 2008.

    >>> f"{tau_ap('bacd', 'abcd'):.3f}", f"{tau_ap('abdc', 'abcd'):.3f}"
    ('0.333', '0.778')
    """
    systems, reference = list(order), list(reference)
    rank_of = {system: rank for rank, system in enumerate(reference)}
    for name, ids in (("order", systems), ("reference", reference)):
        if len(set(ids)) < len(ids):
            repeated = [entry for entry in dict.fromkeys(ids) if ids.count(entry) > 1]
            raise ValueError(
                f"{name} holds {list_values.listing(repeated)} more than once; pass each "
                "system once"
            )
    known = set(systems)
    unmatched = [system for system in systems if system not in rank_of]
    unmatched += [system for system in reference if system not in known]
    if unmatched:
        raise ValueError(
            "order and reference differ: only one of them holds "
            f"{list_values.listing(unmatched)}; pass two orders of the same systems"
        )
    if len(systems) < 2:
        raise ValueError("order holds fewer than two systems; pass at least two")
    ranks = [rank_of[system] for system in systems]
    # No system is above the first one, so it has no term.
    shares = [
        sum(above < rank for above in ranks[:index]) / index
        for index, rank in enumerate(ranks)
        if index
    ]
    return 2 * sum(shares) / len(shares) - 1
