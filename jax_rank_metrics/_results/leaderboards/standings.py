"""The result of a leaderboard, as numbers and as text."""

import dataclasses
import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._results.sheets.export import count_text, fixed_point, plain
from jax_rank_metrics._results.sheets.layouts import as_text
from jax_rank_metrics._results.sheets.sheet import Cell, Sheet, number_with_interval


class Stability(NamedTuple):
    """The agreement of two experiments, each with half of the lists.

    The lists are split in random halves, which have no list in common, and each half puts
    the systems in an order; systems that tie there are in random order. Both numbers are
    means over 1,000 splits: 1 if the halves always agree, and 0 on average for systems that
    are equal. They fall below 0 where observed means are nearly equal: what a system has
    more of in one half, it then has less of in the other one. They are NaN for a single
    list, and for `Bootstrap` states, which no longer hold values to split.

    Attributes:
        tau: Kendall's tau of the two orders.
        tau_ap: The AP rank correlation of the two orders, in which errors at the top weigh
            more; see `tau_ap`. Each order is the reference half of the time.
    """

    tau: float
    tau_ap: float


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Leaderboard:
    """Systems in the order of their means, and how sure that order is.

    Arrays are NumPy's, and have an entry for every system, best first.

    Attributes:
        systems: The names of the systems.
        means: The mean of each system, `[systems]`.
        lows: The lower ends of intervals of the means, at `level`.
        highs: The upper ends.
        ranks: The rank of each mean, 1 for the best; equal means share the middle of their
            ranks.
        rank_lows: The best rank of each system in an interval of its drawn ranks.
        rank_highs: The worst rank.
        p_first: The share of draws in which each system is first; systems that are first
            together share a draw, so that the shares sum to 1.
        p_beats: `[systems, systems]`: the share of draws in which the mean of the system
            of the row is better than that of the column, a tie counting ½.
        p_corrected: `[systems, systems]`: p of the difference of each two systems,
            corrected for the number of pairs by Holm's procedure; 1 on the diagonal.
        groups: `(start, stop)` of every group of systems that cannot be told apart,
            `systems[start:stop]`: the longest runs of neighbours without a pair whose
            corrected p is at most 1 − `level`. Groups may overlap, and a system that
            differs from both its neighbours is a group by itself.
        stability: How far two experiments with half of the lists agree; see `Stability`.
        metric: The name of the metric, or None for values without one.
        tasks: The names of the tasks over which means are taken; empty for one set of
            lists.
        lists: Number of lists that counted, in all tasks.
        samples: Number of draws of the means.
        level: The probability with which an interval should cover its number.
        lower_is_better: Whether lower means are better.
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

    @property
    def letters(self) -> tuple[str, ...]:
        """The groups of each system as letters: systems that share one do not differ.

        Further groups than 26 are named aa, ab, …, and then commas part their names.
        """
        # "ab" is two groups up to z, and one of them beyond.
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
        attributes["letters"] = self.letters
        return {name: plain(value) for name, value in attributes.items()}

    def _sheet(self, digits: int) -> Sheet:
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
        # One record for each system: `{"rank": 1, …, "p_beats new": 0.5}`.
        rows = zip(*columns.values(), strict=True)
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        # Ranks may be halves: two systems that are first together have the rank 1.5.
        cells = [
            [
                Cell(f"{x['rank']:g}", (f"{x['rank_low']:g}", f"{x['rank_high']:g}")),
                number_with_interval(x["mean"], x["low"], x["high"], digits),
                Cell(fixed_point(x["p_first"], 2)),
            ]
            for x in records
        ]
        return Sheet(
            ["system", "group"],
            [("", heading) for heading in ("rank", self.metric or "mean", "first")],
            [[str(x["system"]), x["group"]] for x in records],
            cells,
            self._note(),
            "",
            records,
            self.to_dict(),
        )

    def _note(self) -> str:
        """Returns what a table of the systems needs to be understood."""
        tasks = f" of {count_text(len(self.tasks), 'task')}" if self.tasks else ""
        better = "; lower is better" if self.lower_is_better else ""
        # A single list, and states, have no halves to compare.
        halves = ""
        if not math.isnan(self.stability.tau):
            halves = (
                f"; halves of the lists agree by a tau of {self.stability.tau:.2f} and a "
                f"tau_ap of {self.stability.tau_ap:.2f}"
            )
        return (
            f"{100 * self.level:g} % intervals of means and ranks; "
            f"{count_text(self.lists, 'list')}{tasks}, "
            f"{count_text(self.samples, 'draw')} of the means; systems that share a letter "
            f"cannot be told apart{better}{halves}"
        )

    def __repr__(self) -> str:
        """The table of the systems as text."""
        return as_text(self._sheet(3))


def _letters_of(group: int) -> str:
    """The name of a group: a, b, …, z, aa, ab, …"""
    name = ""
    group += 1
    while group:
        # Letters are digits from 1 to 26, without a zero.
        group, letter = divmod(group - 1, 26)
        name = chr(ord("a") + letter) + name
    return name
