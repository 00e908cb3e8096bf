"""Which part of the devices has which query."""

from typing import NamedTuple

import numpy as np


class Parts(NamedTuple):
    """Queries cut into parts of equally many slots: slot s of part p has one query.

    On one device there is one part, in which each query has its own index as its slot.

    Attributes:
        indices: `[parts, slots]`, the index of the query in each slot; −1 for padding.
    """

    indices: np.ndarray

    @classmethod
    def of(cls, part_of: np.ndarray, num_parts: int) -> "Parts":
        """Keeps the queries of each part in order, in its first slots.

        Args:
            part_of: `[queries]`, the part of each query.
            num_parts: How many parts there are.
        """
        members = [np.flatnonzero(part_of == part) for part in range(num_parts)]
        indices = np.full((num_parts, max(x.size for x in members)), -1)
        for row, queries in zip(indices, members, strict=True):
            row[: queries.size] = queries
        return cls(indices)

    @classmethod
    def equal(cls, num_queries: int, num_parts: int) -> "Parts":
        """Keeps all queries in order; only the last slots are padding."""
        size = -(-num_queries // num_parts)
        return cls.of(np.arange(num_queries) // size, num_parts)

    @property
    def num_slots(self) -> int:
        """The number of slots of all parts."""
        return self.indices.size

    @property
    def num_queries(self) -> int:
        """The number of queries."""
        return int(np.count_nonzero(self.indices >= 0))

    @property
    def slots(self) -> np.ndarray:
        """The slot of each query, counted through all parts, `[queries]`."""
        indices = self.indices.ravel()
        slots = np.empty(self.num_queries, int)
        slots[indices[indices >= 0]] = np.flatnonzero(indices >= 0)
        return slots

    def in_order_of(self, levels: np.ndarray) -> np.ndarray:
        """Returns the queries of each part by level, `[parts, slots]`; −1 for padding.

        Args:
            levels: `[queries]`, of which those of the lowest level come first.
        """
        ordered = np.full(self.indices.shape, -1)
        for row, members in zip(ordered, self.indices, strict=True):
            members = members[members >= 0]
            of_level = [members[levels[members] == x] for x in np.unique(levels)]
            row[: members.size] = np.concatenate(of_level)
        return ordered
