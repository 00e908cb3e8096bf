"""Ids of any kind, by which callers name the rows of a model."""

import dataclasses
import functools
from collections.abc import Hashable
from typing import Any

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._inputs.pack import numbered


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """The ids of all users, queries or items: that at index i names row i of a model."""

    name: str  # of the argument
    ids: np.ndarray  # [rows], distinct

    @classmethod
    def of(cls, name: str, ids: Any) -> "Vocabulary | None":
        """Reads an argument, of which None says that rows are known by their numbers.

        Raises:
            ValueError: if an id is missing, or there twice, or there is none.
            TypeError: if an id cannot be the key of a dict.
        """
        if ids is None:
            return None
        packed = numbered(name, ids)
        counts = np.bincount(packed.segment_ids)
        if not counts.size or counts.max() > 1:
            problem = "is empty"
            if counts.size:
                problem = f"holds {packed.ids.tolist()[counts.argmax()]!r} twice"
            raise ValueError(f"{name} {problem}; pass the id of each row once")
        return cls(name, packed.ids)

    @functools.cached_property
    def numbers_by_id(self) -> dict[Hashable, int]:
        """The row that each id names."""
        return {x: row for row, x in enumerate(self.ids.tolist())}

    def numbers(self, name: str, values: Any) -> np.ndarray:
        """Returns the rows that ids name, `[ids]` int64; −1 for negative numbers.

        Negative numbers are padding unless they are ids themselves.

        Raises:
            ValueError: if an id is none of these.
        """
        _inputs.refuse_masked(name, values)
        if hasattr(values, "to_numpy"):
            values = values.to_numpy()
        listed = values.tolist() if isinstance(values, np.ndarray) else [*values]
        rows = np.asarray([self.numbers_by_id.get(x, -1) for x in listed], np.int64)
        unknown = [listed[i] for i in np.flatnonzero(rows < 0)]
        unknown = [x for x in unknown if not (isinstance(x, int) and x < 0)]
        if unknown:
            raise ValueError(
                f"{name} holds {unknown[0]!r}, which is not in {self.name} ({len(unknown)} "
                "such entries); pass the ids of all rows there, or leave these out"
            )
        return rows

    def named(self, numbers: np.ndarray) -> np.ndarray:
        """Returns the ids of rows, in the shape of the numbers.

        Where a number is below 0, that is −1 for ids that are integers, and else None.
        """
        ids = self.ids if self.ids.dtype.kind in "iu" else self.ids.astype(object)
        named = ids[numbers]
        named[numbers < 0] = -1 if ids.dtype.kind in "iu" else None
        return named

    def check_size(self, num_rows: int, unit: str) -> None:
        """Raises unless there is an id for each row."""
        if len(self.ids) != num_rows:
            raise ValueError(
                f"{self.name} has {len(self.ids)} ids, but there are {num_rows} {unit}; "
                "pass one for each"
            )


# The ids of users, or queries, and of items; None where rows are known by their numbers.
Vocabularies = tuple[Vocabulary | None, Vocabulary | None]
