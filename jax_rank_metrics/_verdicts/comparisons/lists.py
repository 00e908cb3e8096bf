"""The lists of a comparison, worst first, and the documents that moved in each of them."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class ListPairs(NamedTuple):
    """The values that a comparison is of."""

    ids: Sequence[Hashable] | None
    a: np.ndarray  # [lists], means over seeds
    b: np.ndarray
    weights: np.ndarray  # [lists], 0 where a list does not count
    largest: float  # the largest difference that there can be

    def rows(
        self, names: Any, documents: Mapping[Any, Any] | None, threshold: float | None
    ) -> Iterator[dict[str, Any]]:
        """Yields a row for each list that counts, worst first; see `Comparisons.lists`.

        Args:
            names: The comparison: its systems, its cutoff and its direction.
            documents: As for `Comparisons.lists`.
            threshold: The lowest relevance of documents; None is any above 0.
        """
        systems = names.baseline, names.system
        pair = [documents[system] for system in systems] if documents else []
        numbers = pair[0].query_ids if pair else range(len(self.a))
        ids = numbers if self.ids is None else self.ids
        if len(ids) != len(self.a):
            raise ValueError(
                f"documents have {len(ids)} queries, and there are {len(self.a)} lists "
                "without ids; pass documents of these lists, or values with ids"
            )
        cutoff = names.cutoff if isinstance(names.cutoff, int) else np.inf
        sign = -1 if names.lower_is_better else 1
        effects = sign * self.weights * (self.b - self.a)
        for i in sorted(np.flatnonzero(self.weights > 0).tolist(), key=effects.item):
            a, b, weight = (side.item(i) for side in (self.a, self.b, self.weights))
            row = dict(list=ids[i], a=a, b=b, difference=b - a, weight=weight)
            ranks = [run.relevant_ranks(ids[i], threshold) for run in pair]
            yield row | (_moves(ranks[0], ranks[1], cutoff) if ranks else {})


def _moves(
    ranks_a: Mapping[Any, float], ranks_b: Mapping[Any, float], cutoff: float
) -> dict[str, list[tuple[Any, float | None, float | None]]]:
    """Returns the documents that b ranks lower than a, and higher; the best first."""
    moves: dict[str, list[Any]] = {"missed": [], "gained": []}
    pairs = [(name, ranks_a[name], rank) for name, rank in ranks_b.items()]
    for name, a, b in sorted(pairs, key=lambda pair: min(pair[1:])):
        if min(a, b) <= cutoff and a != b:
            ranks = (rank if rank < np.inf else None for rank in (a, b))
            moves["missed" if a < b else "gained"].append((name, *ranks))
    return moves
