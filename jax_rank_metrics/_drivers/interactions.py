"""The items of each user or query, as checked sparse rows `[users, items]`."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers.long_frames import (
    LongFrame,
    is_frame,
    is_pandas_series,
    read_frame,
)

# A list of ids for each user (lists, sets, arrays, or one padded array), a dict or pandas
# Series from users to such lists, a frame of users and items, or a sparse matrix of scipy
# `[users, items]`.
RawInteractions = Any

# What a row is called in messages, as one and in the plural: "user", "users".
Unit = tuple[str, str]
USER, QUERY = ("user", "users"), ("query", "queries")

# A `scipy.sparse.csr_array`, `[users, items]`: scipy is imported where it is needed.
SparseRows = Any

_CURE = (
    "pass a list of item ids for each {0}, a dict of lists, a frame with the columns {0} "
    "and item, or a scipy sparse matrix"
)


@dataclasses.dataclass(frozen=True)
class Interactions:
    """The items of all users, or queries, as the caller passed them.

    Attributes:
        name: The argument, for messages.
        raw: Its value.
        unit: What a row is called in messages.
    """

    name: str
    raw: RawInteractions
    unit: Unit = USER

    @classmethod
    def of(cls, name: str, raw: RawInteractions, unit: Unit = USER) -> "Interactions":
        """Wraps an argument; a pandas Series of lists becomes a dict.

        The index of such a Series holds users, as after `groupby`, not positions.

        Raises:
            ValueError: if the index of a Series repeats a user, whose lists a dict would
                not hold; or as `read_frame`.
            TypeError: as `read_frame`; or if an array is masked.
        """
        if is_frame(raw):
            raw = read_frame(name, raw)
        elif is_pandas_series(raw):
            if not raw.index.is_unique:
                user = raw.index[raw.index.duplicated()][0]
                raise ValueError(
                    f"{name} is a Series whose index holds {unit[0]} {user} more than "
                    f"once; join the lists of a {unit[0]}, or pass a frame with the "
                    f"columns {unit[0]} and item"
                )
            raw = raw.to_dict()
        _refuse_masked(name, raw)
        return cls(name, raw, unit)

    @property
    def _cure(self) -> str:
        return _CURE.format(self.unit[0])

    @property
    def is_sparse(self) -> bool:
        """Whether this is a sparse matrix of scipy."""
        import scipy.sparse

        return scipy.sparse.issparse(self.raw)

    @property
    def names_users(self) -> bool:
        """Whether users are named, so that any may be missing; else rows are users."""
        return isinstance(self.raw, (Mapping, LongFrame))

    @property
    def num_rows(self) -> int:
        """The number of users with a row; a dict has no rows."""
        if self.is_sparse:
            return self.raw.shape[0]
        try:
            return len(self.raw)
        except TypeError as error:
            raise TypeError(
                f"{self.name}: got {_inputs.kind_of(self.raw)}; {self._cure}"
            ) from error

    def all_users(self) -> np.ndarray:
        """Returns the users with an entry, `[users]`."""
        if isinstance(self.raw, LongFrame):
            return self.raw.users
        if not isinstance(self.raw, Mapping):
            return np.arange(self.num_rows)
        for user in self.raw:
            if not _inputs.is_integer(user):
                raise TypeError(
                    f"{self.name} has the key {user!r}; pass integers, the rows of "
                    f"{self.unit[1]}, as jrm.pack makes them of ids of any kind"
                )
        return np.fromiter(self.raw, np.int64, len(self.raw))

    def rows(self, user_ids: np.ndarray) -> SparseRows:
        """Returns the rows of users as a canonical `csr_array` without stored zeros.

        Its number of columns is that of a sparse matrix, or as large as the ids need;
        `check_items` compares it with the catalogue.
        """
        import scipy.sparse

        if not self.names_users and user_ids.max() >= self.num_rows:
            raise ValueError(
                f"{self.name} has {self.num_rows} {self.unit[1]}, but {self.unit[1]} go up "
                f"to {user_ids.max()}; pass rows for all of them"
            )
        if self.is_sparse or isinstance(self.raw, LongFrame):
            rows = (
                self.raw.rows_of(user_ids)
                if isinstance(self.raw, LongFrame)
                else scipy.sparse.csr_array(self.raw)[user_ids]
            )
            if rows.dtype.kind not in "biuf":
                raise TypeError(f"{self.name} holds {rows.dtype}; pass numbers")
            rows.sum_duplicates()
            if not (rows.data >= 0).all():
                raise ValueError(
                    f"{self.name} holds {rows.data[~(rows.data >= 0)][0]}; pass values "
                    "of at least 0"
                )
            rows.eliminate_zeros()
            return rows
        lists = [
            self._ids(user, row)
            for user, row in zip(
                user_ids.tolist(), self._raw_rows(user_ids), strict=True
            )
        ]
        ids = np.concatenate([*lists, np.zeros(0, np.int64)]).astype(np.int64)
        ends = np.cumsum([0, *(row.size for row in lists)])
        is_id = ids >= 0
        starts = np.concatenate([[0], np.cumsum(is_id)])[ends]
        ids = ids[is_id]
        shape = (user_ids.size, int(ids.max(initial=0)) + 1)
        ones = np.ones(ids.shape, np.float32)
        rows = scipy.sparse.csr_array((ones, ids, starts), shape)
        rows.sum_duplicates()
        rows.data[:] = 1  # an id that is repeated counts once
        return rows

    def check_users(self, num_users: int, is_selection: bool) -> None:
        """Raises unless all users are those of the model, and rows are one for each.

        Args:
            num_users: How many users the model has.
            is_selection: Whether the caller selected the users to evaluate. Then rows
                may be missing for users after the last of them.
        """
        name, units = self.name, self.unit[1]
        if self.names_users:
            users = self.all_users()
            if users.size and not (0 <= users.min() and users.max() < num_users):
                raise ValueError(
                    f"{name} has {units} from {users.min()} to {users.max()}, but there "
                    f"are {num_users}; pass the rows of {units}"
                )
        elif self.num_rows > num_users or (
            self.num_rows < num_users and not is_selection
        ):
            raise ValueError(
                f"{name} has {self.num_rows} rows, but there are {num_users} {units}; "
                f"pass one row for each, or a dict from {units} to lists of ids"
            )

    def check_items(
        self,
        rows: SparseRows,
        user_ids: np.ndarray,
        num_items: int,
        may_name_all: bool = False,
    ) -> None:
        """Raises unless the items are those of a catalogue of `num_items`.

        Args:
            rows: The rows of `user_ids`, as `rows` returns them.
            user_ids: The users of these rows.
            num_items: How many items the model has.
            may_name_all: Whether an array may name every item in each of its rows.
        """
        name = self.name
        if self.is_sparse:
            # An additional first column, such as an id 0 for padding, shifts all ids.
            if self.raw.shape[1] > num_items:
                raise ValueError(
                    f"{name} has {self.raw.shape[1]} columns, but there are {num_items} "
                    "items; pass a column for each"
                )
        elif not isinstance(self.raw, LongFrame) and self._looks_dense(
            rows, user_ids, num_items, may_name_all
        ):
            raise TypeError(
                f"{name} looks like a matrix [{self.unit[1]}, items] of labels, but dense "
                f"rows are read as lists of ids; pass scipy.sparse.csr_array({name}) if "
                "it is a matrix, or lists of distinct ids without padding"
            )
        refuse_unknown_items(name, rows, user_ids, num_items, self.unit)

    def count_items(
        self, rows: SparseRows, user_ids: np.ndarray, num_items: int
    ) -> np.ndarray:
        """Counts how many of all users have each item, `[num_items]` int32.

        Args:
            rows: The rows of `user_ids`, which are not read again if these are all users.
            user_ids: The users of these rows.
            num_items: How many items the model has.
        """
        all_users = self.all_users()
        if not np.array_equal(all_users, user_ids):
            rows = self.rows(all_users)
        self.check_items(rows, all_users, num_items)
        return np.bincount(rows.indices, minlength=num_items).astype(np.int32)

    def _raw_rows(self, user_ids: np.ndarray) -> Any:
        """Returns the entries of users as passed: an array, or a list.

        The entry of a user whom a dict lacks is ().
        """
        if isinstance(self.raw, (np.ndarray, jax.Array)):
            return np.asarray(self.raw)[user_ids]
        if isinstance(self.raw, Mapping):
            return [self.raw.get(user, ()) for user in user_ids.tolist()]
        return [self.raw[user] for user in user_ids.tolist()]

    def _ids(self, user: int, row: Any) -> np.ndarray:
        """Returns the ids of one user, with those that are negative, the padding."""
        name = f"{self.name} of {self.unit[0]} {user}"
        _refuse_masked(name, row)
        ids = np.asarray(list(row) if isinstance(row, (set, frozenset)) else row)
        if not ids.size:
            return np.zeros(0, np.int64)
        if ids.ndim == 0 and ids.dtype.kind in "iu":
            raise TypeError(
                f"{name} is {ids}; pass a list of ids for each {self.unit[0]}, or, where "
                f"each has one, an array [{self.unit[1]}, 1], such as ids[:, None]"
            )
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise TypeError(f"{name}: got {_inputs.kind_of(ids)}; {self._cure}")
        if ids.max() >= _inputs.MAX_INT32:
            raise ValueError(
                f"{name} holds the id {ids.max()}; pass ids that fit int32"
            )
        return ids

    def _looks_dense(
        self,
        id_rows: SparseRows,
        user_ids: np.ndarray,
        num_items: int,
        may_name_all: bool,
    ) -> bool:
        """Whether the rows look like labels of all items, not like lists of ids.

        They do if there is an entry for every item of the catalogue, in an array, or in
        lists of which one repeats an id; or if there are more than two entries, all of
        them 0 or 1. Read as lists of ids, the former would name every item or repeat
        ids, and the latter would only repeat the ids 0 and 1, which nobody intends. For
        instance, [[0, 1, 0, 2]] looks dense for a catalogue of 4 items, but not of 9.
        Sets, non-empty lists of different lengths and rows with negative entries never
        do.

        Args:
            id_rows: The rows of `user_ids` read as ids, each id once.
            user_ids: The users of these rows.
            num_items: How many items the model has.
            may_name_all: Whether an array may name every item in each of its rows.
        """
        table = self._raw_rows(user_ids)
        is_array = isinstance(table, np.ndarray) and table.ndim == 2
        if not is_array:
            rows = [row for row in table if len(row)]
            if not rows or any(isinstance(row, (set, frozenset)) for row in rows):
                return False
            if any(len(row) != len(rows[0]) for row in rows):
                return False
            table = np.asarray(rows)
        width = table.shape[1]
        if not width or table.min() < 0:
            return False  # empty lists, or lists of ids that are padded with -1
        repeats = id_rows.nnz < table.size
        names_all = is_array and not may_name_all
        as_long_as_catalogue = width == num_items and (names_all or repeats)
        return as_long_as_catalogue or (width > 2 and table.max() <= 1)


def _refuse_masked(name: str, ids: Any) -> None:
    """Raises `TypeError` if this is an array whose mask would be lost."""
    if isinstance(ids, np.ma.MaskedArray):
        raise TypeError(
            f"{name}: got a masked NumPy array, whose mask would be lost; pass what its "
            "method filled(-1) returns, in which ids that are padding are negative"
        )


def refuse_unknown_items(
    name: str, rows: SparseRows, user_ids: np.ndarray, num_items: int, unit: Unit
) -> None:
    """Raises `ValueError` if an id in sparse rows is not below `num_items`."""
    if rows.indices.max(initial=-1) < num_items:
        return
    index = int(np.argmax(rows.indices))
    user = user_ids[np.searchsorted(rows.indptr, index, side="right") - 1]
    raise ValueError(
        f"{name} of {unit[0]} {user} holds the item {rows.indices[index]}, but there are "
        f"{num_items} items; pass ids from 0"
    )


def read_users(users: Any, relevant: Interactions) -> np.ndarray:
    """Returns the users to evaluate, `[users]` int32; by default all of `relevant`."""
    if users is None:
        user_ids = relevant.all_users()
    else:
        user_ids = _inputs.numpy_array("users", users)
        if user_ids.ndim != 1 or user_ids.size and user_ids.dtype.kind not in "iu":
            raise TypeError(
                f"users: got {_inputs.kind_of(user_ids)}; pass one axis of integers, rows "
                "of the model"
            )
    if not user_ids.size:
        empty = "relevant has no users" if users is None else "users is empty"
        raise ValueError(f"{empty}; pass at least one user")
    if user_ids.min() < 0 or user_ids.max() > _inputs.MAX_INT32:
        raise ValueError(
            f"users go from {user_ids.min()} to {user_ids.max()}; pass rows of the model, "
            "from 0"
        )
    return user_ids.astype(np.int32)


def check_users(
    user_ids: np.ndarray,
    is_selection: bool,
    relevant: Interactions,
    seen: Interactions | None,
    num_users: int | None,
) -> None:
    """Raises `ValueError` unless all users are those of the model.

    Args:
        user_ids: The users to evaluate.
        is_selection: Whether the caller selected them.
        relevant: The argument.
        seen: The argument, or None.
        num_users: How many users the model has; None if it is a function.
    """
    all_interactions = [x for x in (relevant, seen) if x is not None]
    if num_users is None:
        numbers = [x.num_rows for x in all_interactions if not x.names_users]
        if len(set(numbers)) > 1 and not is_selection:
            raise ValueError(
                f"relevant has {numbers[0]} rows, and seen has {numbers[1]}; pass one row "
                "for each user of the model in both"
            )
        return
    if is_selection and user_ids.max() >= num_users:
        raise ValueError(
            f"users go up to {user_ids.max()}, but model has {num_users} users; pass "
            "rows of the model"
        )
    for interactions in all_interactions:
        interactions.check_users(num_users, is_selection)
