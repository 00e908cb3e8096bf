"""The lists of a comparison, worst first, and the documents that moved in each list."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class ListPairs(NamedTuple):
    """The values of a and b that a comparison compares, list by list."""

    ids: Sequence[Hashable] | None
    a: np.ndarray  # [lists], means over seeds
    b: np.ndarray
    weights: np.ndarray  # [lists], 0 for lists that do not count
    largest: float  # the largest difference that is possible in a list

    def rows(
        self, names: Any, documents: Mapping[Any, Any] | None, threshold: float | None
    ) -> Iterator[dict[str, Any]]:
        """Yields a row for each list that counts, worst first; see `Comparisons.lists`.

        Args:
            names: The comparison, with its systems, its cutoff and its direction.
            documents: As for `Comparisons.lists`.
            threshold: The lowest relevance of documents; None is any above 0.
        """
        systems = names.baseline, names.system
        pair = [documents[system] for system in systems] if documents else []
        numbers = pair[0].query_ids if pair else range(len(self.a))
        ids = numbers if self.ids is None else self.ids
        if len(ids) != len(self.a):
            raise ValueError(
                f"documents have {len(ids)} queries, but there are {len(self.a)} lists "
                "without ids; pass documents of exactly these lists, or values with ids"
            )
        cutoff = names.cutoff if isinstance(names.cutoff, int) else np.inf
        sign = -1 if names.lower_is_better else 1
        effects = sign * self.weights * (self.b - self.a)
        for index in sorted(
            np.flatnonzero(self.weights > 0).tolist(), key=effects.item
        ):
            a, b, weight = (side.item(index) for side in (self.a, self.b, self.weights))
            row = dict(list=ids[index], a=a, b=b, difference=b - a, weight=weight)
            ranges = [run.relevant_ranges(ids[index], threshold) for run in pair]
            yield row | (_moves(ranges[0], ranges[1], cutoff) if ranges else {})


class _Range(NamedTuple):
    """The first and last rank that a document may have; both inf if not retrieved."""

    first: float
    last: float

    @property
    def rank(self) -> float:
        return (self.first + self.last) / 2

    def standing(self, cutoff: float) -> tuple[float, float]:
        """Returns the share beyond the cutoff, then the rank; larger is worse."""
        if self.first > cutoff or self.first == np.inf:
            return 1.0, self.rank
        share = max(self.last - cutoff, 0.0) / (self.last - self.first + 1)
        return share, self.rank

    def entry(self, cutoff: float) -> float | tuple[float, float] | None:
        """Returns the rank, or the first and last rank if the cutoff lies between them.

        It is None for a document that was not retrieved.
        """
        if self.first <= cutoff < self.last:
            return self.first, self.last
        return self.rank if self.rank < np.inf else None


def _moves(
    ranges_a: Mapping[Any, tuple[float, float]],
    ranges_b: Mapping[Any, tuple[float, float]],
    cutoff: float,
) -> dict[str, list[tuple[Any, ...]]]:
    """Returns documents that b ranks lower ("missed") or higher ("gained"), best first."""
    moves: dict[str, list[Any]] = {"missed": [], "gained": []}
    pairs = [
        (document, _Range(*ranges_a[document]), _Range(*of_b))
        for document, of_b in ranges_b.items()
    ]
    for name, a, b in sorted(
        pairs, key=lambda pair: min(side.rank for side in pair[1:])
    ):
        of_a, of_b = a.standing(cutoff), b.standing(cutoff)
        if min(a.first, b.first) <= cutoff and of_a != of_b:
            ranks = a.entry(cutoff), b.entry(cutoff)
            moves["missed" if of_a < of_b else "gained"].append((name, *ranks))
    return moves
