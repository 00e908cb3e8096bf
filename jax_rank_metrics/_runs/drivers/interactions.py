"""Reads the items of users or queries: any form of ids becomes sparse rows."""

import dataclasses
import functools
import itertools
import numbers
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import jax
import numpy as np

from jax_rank_metrics._ground import inputs, messages, types
from jax_rank_metrics._ground.inputs.list_ids import numbered, repeated_id


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """The ids of all users, queries or items; the id at index i names row i of a model.

    Attributes:
        name: The argument, such as "item_ids".
        ids: `[rows]`, distinct; None if rows are known by their numbers.
        unknown: How to treat items whose ids are not in `ids`.
    """

    name: str
    ids: np.ndarray | None = None
    unknown: types.UnknownItems = "error"

    @classmethod
    @messages.short_errors()
    def of(
        cls, name: str, ids: Any, unknown: types.UnknownItems = "error"
    ) -> "Vocabulary":
        """Reads an argument; None means that rows are known by their numbers.

        Raises:
            ValueError: if an id is missing or repeated, or the argument is empty; if
                `unknown` is not "error" and there are no ids.
            TypeError: if an id cannot be the key of a dict.
        """
        inputs.option("unknown_items", unknown, types.UnknownItems)
        if ids is None:
            if unknown != "error":
                raise ValueError(
                    f"unknown_items is {unknown!r}, but without {name} no item is unknown; "
                    "pass the ids of all items"
                )
            return cls(name)
        inputs.refuse_other_order(name, ids)
        packed, problem = numbered(name, ids), None
        if not packed.ids.size:
            problem = "is empty"
        elif (repeated := repeated_id(packed)) is not None:
            problem = f"holds {repeated!r} twice"
        if problem is not None:
            raise ValueError(f"{name} {problem}; pass the id of each row once")
        return cls(name, packed.ids, unknown)

    @functools.cached_property
    def numbers_by_id(self) -> dict[Hashable, int]:
        """A dict from ids to rows; unknown ids that count as missed get further numbers."""
        return {key: row for row, key in enumerate(inputs.lookup_keys(self.ids))}

    def numbers(self, name: str, values: Any, has_padding: bool = False) -> np.ndarray:
        """Returns the rows that ids name, `[ids]` int64; −1 for padding.

        Unknown items that count as missed get numbers after all rows.

        Args:
            name: The name of the ids in messages.
            values: The ids.
            has_padding: True if the number −1 is padding, unless it is an id itself.

        Raises:
            ValueError: if an unknown id is not allowed.
        """
        inputs.refuse_masked(name, values, f"{name}.compressed(), the ids that exist")
        listed = inputs.lookup_keys(values)
        try:
            rows = [self.numbers_by_id.get(key, -1) for key in listed]
        except TypeError as error:
            raise TypeError(
                f"{name} holds a value that cannot be an id ({error}); pass lists of ids"
            ) from error
        rows = np.asarray(rows, np.int64)
        slots = [int(slot) for slot in np.flatnonzero(rows < 0)]
        if has_padding:
            slots = [slot for slot in slots if not _is_padding(listed[slot])]
        unknown = [listed[slot] for slot in slots]
        if self.unknown != "error":
            unknown = [key for key in unknown if self._cannot_hold(key)]
        if self.unknown == "miss" and not unknown:
            known = self.numbers_by_id
            rows[slots] = [known.setdefault(listed[slot], len(known)) for slot in slots]
        if unknown:
            index = next(slot for slot in slots if listed[slot] is unknown[0])
            place = f" at {index}" if inputs.is_missing(unknown[0]) else ""
            how = ", as unknown_items='drop' does" if has_padding else ""
            cure = f"the ids of all rows there, or leave the unknown ids out{how}"
            if self.unknown != "error":
                cure = (
                    f"exact ids of the same kind as {next(iter(self.numbers_by_id))!r}"
                )
            raise ValueError(
                f"{name} holds {unknown[0]!r}{place}, which is not in {self.name} "
                f"({len(unknown)} such entries); pass {cure}"
            )
        return rows

    @functools.cached_property
    def _kinds(self) -> set[type]:
        return {*map(_kind_of, self.numbers_by_id)}

    def _cannot_hold(self, key: Hashable) -> bool:
        """True if an unknown id is missing, or of another kind than all known ids.

        Also True for a float beyond 2⁵³: it may be a rounded integer, which names another
        item.
        """
        is_rounded = isinstance(key, float | np.floating) and abs(float(key)) > 2**53
        return is_rounded or inputs.is_missing(key) or _kind_of(key) not in self._kinds

    @property
    def num_unknown(self) -> int:
        """The number of unknown items that count as missed."""
        return 0 if self.ids is None else len(self.numbers_by_id) - len(self.ids)

    @property
    def first_unknown(self) -> int | None:
        """The number given to the first unknown item that counts as missed; or None."""
        return len(self.numbers_by_id) - self.num_unknown if self.num_unknown else None

    def named(self, numbers: np.ndarray) -> np.ndarray:
        """Returns the ids of rows, in the shape of `numbers`; or `numbers` without ids.

        A number below 0 becomes −1 if ids are integers. It becomes None if ids are not
        integers, if −1 is an id, or if an id does not fit int64.
        """
        if self.ids is None:
            return numbers
        ids = self.ids
        if ids.dtype.kind == "u" and ids.max() < 2**63:
            ids = ids.astype(np.int64)
        padding = -1 if ids.dtype.kind == "i" and -1 not in ids else None
        named: Any = (ids if padding else ids.astype(object))[numbers]
        named[numbers < 0] = padding
        return named

    def name_of(self, row: int) -> Any:
        """Returns the id of a row for messages, or the row's number if it has no id."""
        has_id = self.ids is not None and row < len(self.ids)
        return self.ids[row] if has_id else row  # type: ignore[index]

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Returns the ids of existing rows, or their numbers if there are no ids."""
        return rows if self.ids is None else self.ids[rows]

    def ordered(self, **per_row: Any) -> list[Any]:
        """Returns arguments with an entry for each row, put in the order of the ids."""
        if self.ids is None:
            return [*per_row.values()]
        unit = _UNITS[self.name]
        return [inputs.by_ids(*named, self.ids, unit) for named in per_row.items()]

    def ordered_columns(self, columns: Any) -> dict[str, Any]:
        """Returns the columns of `item_columns`, in the order of the ids."""
        if columns is None:
            return {}
        inputs.check_names("item_columns", columns)
        named = inputs.named(columns, "item_columns")
        return dict(zip(columns, self.ordered(**named), strict=True))

    def check_size(self, num_rows: int) -> None:
        """Raises if there are ids, but not one for each row."""
        if self.ids is not None and len(self.ids) != num_rows:
            raise ValueError(
                f"{self.name} has {len(self.ids)} ids, but there are {num_rows} "
                f"{_UNITS[self.name]}; pass one id for each"
            )


# The ids of users, or queries, and of items.
Vocabularies = tuple[Vocabulary, Vocabulary]
NO_IDS = Vocabulary("user_ids"), Vocabulary("item_ids")
_UNITS = {"user_ids": "users", "query_ids": "queries", "item_ids": "items"}

# A list of ids for each user: lists, sets or arrays, or one padded array for all users. For
# relevant items, also a dict from ids to labels for each user. Or a dict or pandas Series
# from users to such lists; a frame of users and items; or a sparse matrix of scipy
# `[users, items]`.
RawInteractions = Any

# The nouns for a row in messages, singular and plural: "user", "users".
Unit = tuple[str, str]
USER, QUERY = ("user", "users"), ("query", "queries")

# A `scipy.sparse.csr_array`, `[users, items]`; Any, because scipy is imported only in the
# functions that need it.
SparseRows = Any

_CURE = (
    "pass a list of item ids for each {0}, a dict of lists, a frame with the columns {0} "
    "and item, or a scipy sparse matrix"
)
_FILLED = "the result of its method filled(-1), which turns masked ids into padding"


@dataclasses.dataclass(frozen=True)
class Interactions:
    """The items of all users, or queries; every form of the argument becomes this form.

    The lists of ids [[2, 0], [2, −1]] become the sparse rows {0: 1, 2: 1} and {2: 1}.

    Attributes:
        name: The argument, for messages.
        unit: The nouns for a row in messages.
        user_ids: The ids of users, for messages.
        table: `[rows, items]`, canonical and without stored zeros: labels, or ones. If
            users are named, there is a last, empty row for all other users.
        users: The user of each row, if a dict or a frame names users; None if row i belongs
            to user i.
        has_pairs: For a sparse matrix, whose columns are all items, `[rows]` bool, True if
            a row stores an entry. None for other forms, in which a user may have an empty
            list.
        is_array: True if an array `[users, ids]` was passed.
        row_length: The number of ids in each row that is not empty, if all these rows have
            the same number, without padding, sets and labels; else None. Only such rows
            may have been meant as labels of all items.
        repeats: True if a row of ids holds an id twice, or there is padding.
        missing: The users with a missing value, such as None, instead of a list.
    """

    name: str
    unit: Unit
    user_ids: Vocabulary
    table: SparseRows
    users: np.ndarray | None = None
    has_pairs: np.ndarray | None = None
    is_array: bool = False
    row_length: int | None = None
    repeats: bool = False
    missing: tuple[Any, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        raw: RawInteractions,
        unit: Unit = USER,
        vocabularies: Vocabularies = NO_IDS,
    ) -> "Interactions":
        """Reads an argument; the index of a pandas Series holds users, not positions.

        Args:
            name: The argument, for messages.
            raw: Its value.
            unit: The nouns for a row in messages.
            vocabularies: The ids of users and of items.

        Raises:
            ValueError: if the index of a Series repeats a user; if a value of a matrix is
                negative; or as `read_frame`.
            TypeError: as `read_frame`; if an array is masked; if there is no list of ids
                for each user.
        """
        # Unknown candidates have no scores, so they have no rank, and are left out.
        if name == "candidates":
            known = vocabularies[1]
            if known.unknown == "miss":
                known = dataclasses.replace(known, unknown="drop")
            vocabularies = vocabularies[0], known
        if inputs.is_frame(raw):
            raw = inputs.as_frame(raw, name)
            users, table = read_frame(name, raw, vocabularies)
            return cls(name, unit, vocabularies[0], table, users)
        if inputs.is_sparse(raw):
            rows, has_pairs = _checked_matrix(name, raw)
            return cls(name, unit, vocabularies[0], rows, has_pairs=has_pairs)
        if inputs.is_series(raw):
            if not raw.index.is_unique:
                user = raw.index[raw.index.duplicated()][0]
                raise ValueError(
                    f"{name} is a Series whose index holds {unit[0]} {user} more than "
                    f"once; join the lists of a {unit[0]}, or pass a frame with the "
                    f"columns {unit[0]} and item"
                )
            raw = raw.to_dict()
        if isinstance(raw, Mapping):
            users = _users_of(name, unit, raw, vocabularies[0])
            return cls._of_lists(name, unit, [*raw.values(), ()], users, vocabularies)
        inputs.refuse_rows(name, raw, unit[0])
        try:
            len(raw)
        except TypeError as error:
            kind = inputs.kind_of(raw)
            raise TypeError(f"{name}: got {kind}; {_CURE.format(unit[0])}") from error
        return cls._of_lists(name, unit, raw, None, vocabularies)

    @classmethod
    def _of_lists(
        cls,
        name: str,
        unit: Unit,
        raw: Any,
        users: np.ndarray | None,
        vocabularies: Vocabularies,
    ) -> "Interactions":
        """Reads a list of ids for each row."""
        import scipy.sparse

        (user_ids, item_ids), missing, labels = vocabularies, [], None
        is_array = isinstance(raw, (np.ndarray, jax.Array))
        if is_array:  # lists are checked row by row, to name the user
            inputs.refuse_masked(name, raw, _FILLED)
            raw = np.asarray(raw)
            if raw.dtype.kind == "f" and raw.ndim > 1 and item_ids.ids is None:
                inputs.refuse_missing(name, raw)
        if item_ids.ids is None and _is_table_of_ids(raw):
            # Read all rows as one array, because a million separate rows would take 200 MB.
            raw_rows, ids = (), raw.ravel()
            sizes = np.full(len(raw), raw.shape[1])
        else:
            raw_rows = [*raw]
            # A dict has a last, empty row that belongs to no user.
            row_numbers = (
                range(len(raw_rows)) if users is None else [*users.tolist(), -1]
            )
            names = [user_ids.name_of(row) for row in row_numbers]
            if name != "candidates":
                are_missing = [inputs.is_missing(row) for row in raw_rows]
                missing = [*itertools.compress(names, are_missing)]
                for slot in itertools.compress(range(len(raw_rows)), are_missing):
                    raw_rows[slot] = ()
            read = [
                _graded_ids(f"{name} of {unit[0]} {user}", unit, row, item_ids)
                for user, row in zip(names, raw_rows, strict=True)
            ]
            rows = [row for row, _ in read]
            if any(grades is not None for _, grades in read):
                parts = (
                    [1] * len(row) if row_grades is None else row_grades
                    for row, row_grades in read
                )
                try:
                    labels = _labels(name, [*itertools.chain(*parts)])
                except (TypeError, ValueError):  # check each row, to name the wrong one
                    for user, (_, grades) in zip(names, read, strict=True):
                        if grades is not None:
                            _labels(f"{name} of {unit[0]} {user}: labels", grades)
                    raise
            ids = np.concatenate([*rows, np.zeros(0, np.int64)])
            sizes = np.array([row.size for row in rows], np.int64)
        ids = ids.astype(np.int64)
        is_id = ids >= 0
        if (lowest := ids.min(initial=0)) < -1:
            row = np.searchsorted(np.cumsum(sizes), np.argmin(ids), side="right")
            user = user_ids.name_of(int(row) if users is None else int(users[row]))
            raise ValueError(_negative(f"{name} of {unit[0]} {user}", lowest))
        # The index at which each row starts, among the ids without padding.
        ends = np.concatenate([[0], np.cumsum(sizes)])
        starts = np.concatenate([[0], np.cumsum(is_id)])[ends]
        shape = (len(sizes), int(ids.max(initial=0)) + 1)
        values = np.ones(starts[-1], np.float32) if labels is None else labels[is_id]
        table = scipy.sparse.csr_array((values, ids[is_id], starts), shape)
        table.sum_duplicates()
        if labels is None:
            table.data[:] = 1  # an id that is repeated counts once
        elif table.nnz < len(values):
            row = int(np.argmax(np.diff(table.indptr) < np.diff(starts)))
            user = user_ids.name_of(row if users is None else int(users[row]))
            raise ValueError(
                f"{name} has two labels for an item of {unit[0]} {user}; pass one label"
            )
        # A set cannot be a row of labels, because sets repeat no number; and a row of
        # labels has no padding.
        lengths, row_length = np.unique(sizes[sizes > 0]).tolist(), None
        has_sets = any(isinstance(row, (set, frozenset)) for row in raw_rows)
        if len(lengths) == 1 and is_id.all() and not has_sets and labels is None:
            [row_length] = lengths
        return cls(
            name,
            unit,
            user_ids,
            table,
            users,
            is_array=is_array,
            row_length=row_length,
            repeats=table.nnz < ids.size,
            missing=tuple(missing),
        )

    @property
    def num_rows(self) -> int:
        """The number of rows, which is the number of users if users are not named."""
        return self.table.shape[0]

    def all_users(self) -> np.ndarray:
        """Returns the users with a row, `[users]`."""
        return np.arange(self.num_rows) if self.users is None else self.users

    def users_with_rows(self) -> np.ndarray:
        """Returns the users that are evaluated by default, `[users]`.

        All keys of a dict and all rows of a list are users. A frame and a matrix hold
        pairs, so only users with a pair count.
        """
        users = self.all_users()
        return users if self.has_pairs is None else users[self.has_pairs]

    def rows(self, user_ids: np.ndarray) -> SparseRows:
        """Returns the rows of users as a canonical `csr_array` without stored zeros.

        If a sparse matrix was passed, the rows have its number of columns; otherwise the
        largest id is the last column. `check_items` compares them with the catalogue.
        """
        if self.users is not None:
            # Users [7, 2] of a dict are looked up as [2, 7], whose rows are [1, 0].
            known, rows_of = np.unique(self.users, return_index=True)
            slots = np.searchsorted(known, user_ids)  # any slot for unknown users
            is_known = np.append(known, -1)[slots] == user_ids
            rows = np.append(rows_of, len(known))[slots]
            return self.table[np.where(is_known, rows, len(known))]
        if user_ids.max() >= self.num_rows:
            (unit, units), user = self.unit, self.user_ids.name_of(user_ids.max())
            raise ValueError(
                f"{self.name} has {self.num_rows} {units}, but not {unit} {user}; pass one "
                "row for each"
            )
        return self.table[user_ids]

    def item_counts(self, num_items: int) -> np.ndarray:
        """Counts the rows with each item, `[items]`."""
        return np.bincount(self.table.indices, minlength=num_items)[:num_items]

    def check_named(self, user_ids: np.ndarray, must_match: bool) -> None:
        """Raises `ValueError` if a user is named by a number below 0.

        With `must_match`, also if users are named, but no evaluated user is among them.
        """
        if self.users is None or not self.users.size:
            return
        name, (unit, units) = self.name, self.unit
        named, evaluated = map(self.user_ids.name_of, (self.users[0], user_ids[0]))
        if self.users.min() < 0:
            raise ValueError(
                f"{name} has the {unit} {self.users.min()}; pass row numbers of {units}, "
                "which start at 0"
            )
        if must_match and not np.isin(self.users, user_ids).any():
            raise ValueError(
                f"{name} names none of the {units} that are evaluated (it has {unit} "
                f"{named}, and {unit} {evaluated} is evaluated); pass the same {units} in "
                f"both, or a dict in which a {unit} without items has an empty list"
            )

    def check_users(self, num_users: int, is_selection: bool) -> None:
        """Raises if a user is not in the model, or if a user has no row.

        If a dict or a frame names the users, some users may be missing from it.

        Args:
            num_users: How many users the model has.
            is_selection: True if the caller selected the users to evaluate. Then rows of
                the last users may be missing.
        """
        name, units, users = self.name, self.unit[1], self.users
        if users is not None:
            if users.size and not (0 <= users.min() and users.max() < num_users):
                raise ValueError(
                    f"{name} has {units} from {users.min()} to {users.max()}, but there "
                    f"are {num_users}; pass row numbers of {units} below that number"
                )
        elif self.num_rows > num_users or (
            self.num_rows < num_users and not is_selection
        ):
            raise ValueError(
                f"{name} has {self.num_rows} rows, but there are {num_users} {units}; "
                f"pass one row for each, or a dict from {units} to lists of ids"
            )

    def check_items(
        self, num_items: int, may_name_all: bool = False, num_unknown: int = 0
    ) -> None:
        """Raises if an item is not in the catalogue, except for items counted as missed.

        Args:
            num_items: How many items the model has.
            may_name_all: True if an array may name every item in each of its rows.
            num_unknown: How many unknown items have numbers after the items of the model.
        """
        name = self.name
        if self.has_pairs is not None:
            # Refuse additional columns, because a first one, such as an id 0 for padding,
            # would shift all ids.
            if self.table.shape[1] > num_items:
                raise ValueError(
                    f"{name} has {self.table.shape[1]} columns, but there are {num_items} "
                    "items; pass one column for each item"
                )
        elif self._looks_dense(num_items, may_name_all):
            cure = f"scipy.sparse.csr_array({name})"
            if self.users is not None:  # scipy cannot read a dict
                cure = "its rows as scipy.sparse.csr_array(rows)"
            raise TypeError(
                f"{name} looks like a matrix [{self.unit[1]}, items] of labels, but dense "
                f"rows are read as lists of ids; pass {cure} if it is a matrix, or lists "
                "of distinct ids without padding"
            )

        def name_of(row: int) -> Any:
            return self.user_ids.name_of(self.all_users()[row])

        limit = num_items + num_unknown
        check_known_items(name, self.table, name_of, limit, self.unit)

    def remarks(self) -> list[str]:
        """Returns a remark if there are missing values instead of lists."""
        if not self.missing:
            return []
        (unit, units), outcome = self.unit, "which exclude nothing"
        if self.name == "relevant":
            outcome = f"so undefined= decides how these {units} count"
        return [
            f"{self.name} holds None or nan instead of a list for {len(self.missing)} "
            f"{units}, such as {unit} {self.missing[0]}; they are read as empty lists, "
            f"{outcome}; pass [] if a {unit} has no items"
        ]

    def _looks_dense(self, num_items: int, may_name_all: bool) -> bool:
        """True if the rows look like labels of all items, not like lists of ids.

        There are two kinds of dense rows. First, rows with an entry for every item of the
        catalogue, in an array, or in lists with a repeated id. Second, rows with more than
        two entries, all of them 0 or 1. As lists of ids, the first kind would name every
        item or repeat ids, and the second kind would only repeat the ids 0 and 1, so
        neither kind is meant as ids. For instance, [[0, 1, 0, 2]] looks dense for a
        catalogue of 4 items, but not for a catalogue of 9.
        """
        if self.row_length is None:
            return False
        names_all = self.is_array and not may_name_all
        if self.row_length == num_items and (names_all or self.repeats):
            return True
        return self.row_length > 2 and self.table.indices.max() <= 1


def _users_of(
    name: str, unit: Unit, raw: Mapping[Any, Any], user_ids: Vocabulary
) -> np.ndarray:
    """Returns the keys of a dict as numbers of rows."""
    if user_ids.ids is not None:
        return user_ids.numbers(name, raw)
    for user in raw:
        if not inputs.is_integer(user):
            raise TypeError(
                f"{name} has the key {user!r}; pass integer row numbers of the model, or "
                f"the ids of all rows as {unit[0]}_ids="
            )
    return np.fromiter(raw, np.int64, len(raw))


def _checked_matrix(name: str, raw: SparseRows) -> tuple[SparseRows, np.ndarray]:
    """Returns a canonical copy of a sparse matrix, without stored zeros.

    Also returns, for each row, True if it stores an entry. A stored label of 0 counts as
    an entry, as it does in a frame.
    """
    import scipy.sparse

    if raw.dtype.kind not in "biuf":
        raise TypeError(f"{name} holds {raw.dtype}; pass numbers")
    # Repeated entries are added up, and small integers would wrap.
    is_small = raw.dtype.kind in "iu" and raw.dtype.itemsize < 8
    # Copy the caller's arrays, because the next steps change them in place.
    rows = scipy.sparse.csr_array(raw.astype(np.int64 if is_small else raw.dtype))
    rows.sum_duplicates()
    if not (rows.data >= 0).all():  # or NaN
        raise ValueError(
            f"{name} holds {rows.data[~(rows.data >= 0)][0]}; pass values of at least 0"
        )
    has_pairs = np.diff(rows.indptr) > 0
    rows.eliminate_zeros()
    return rows, has_pairs


def _is_table_of_ids(raw: object) -> bool:
    """True if this is an array `[users, ids]` of integers that fit int32."""
    if not isinstance(raw, np.ndarray) or raw.ndim != 2 or not raw.size:
        return False
    return raw.dtype.kind in "iu" and bool(raw.max() < inputs.MAX_INT32)


def _kind_of(key: Hashable) -> type:
    """Returns the type of an id; all real numbers count as one type."""
    return numbers.Real if isinstance(key, numbers.Real) else type(key)


def _is_padding(key: object) -> bool:
    return isinstance(key, numbers.Real) and key == -1


def _negative(name: str, number: int) -> str:
    """Returns the error message for a number of an item that is below −1."""
    return (
        f"{name} holds {number}, which is no item, and only -1 is padding; pass row "
        "numbers of items, from 0, or the ids of all items as item_ids="
    )


def _graded_ids(
    name: str, unit: Unit, row: Any, item_ids: Vocabulary
) -> tuple[np.ndarray, list[Any] | None]:
    """Returns the ids of one user, with −1 for padding, and their labels or None.

    Tuples of an id and a number are pairs of an id and a label, unless ids are tuples.
    """
    pairs, labels = [], None
    if isinstance(row, Mapping):
        pairs, row = [*row.items()], [*row]
    elif isinstance(row, (list, tuple, set)) and not isinstance(
        item_ids.name_of(0), tuple
    ):
        if any(issubclass(kind, tuple) for kind in {*map(type, row)}):
            pairs = [
                entry for entry in row if isinstance(entry, tuple) and len(entry) == 2
            ]
            pairs = [entry for entry in pairs if inputs.is_scalar_number(entry[1])]
    if pairs and (len(pairs) < len(row) or not name.startswith("relevant")):
        raise TypeError(
            f"{name} holds {pairs[0]!r}, an item and a number, but labels are not read "
            "here; pass a list of ids"
        )
    if pairs:
        row, labels = map(list, zip(*pairs, strict=True))
    return _ids(name, unit, row, item_ids), labels


def _ids(name: str, unit: Unit, row: Any, item_ids: Vocabulary) -> np.ndarray:
    """Returns the ids of one user, with −1 for padding."""
    inputs.refuse_masked(name, row, _FILLED)
    is_list = np.iterable(row) and not isinstance(row, (str, bytes))
    is_list = is_list and getattr(row, "ndim", 1) == 1
    if item_ids.ids is not None and is_list:
        row = item_ids.numbers(name, row, has_padding=True)
    if inputs.is_missing(row):
        raise ValueError(
            f"{name} is {row}, not a list; pass the candidates of each {unit[0]}, or [] "
            "if there are none"
        )
    ids = np.asarray(list(row) if isinstance(row, (set, frozenset)) else row)
    if not ids.size:
        return np.zeros(0, np.int64)
    if ids.ndim == 0 and ids.dtype.kind in "iu":
        raise TypeError(
            f"{name} is {ids}; pass a list of ids for each {unit[0]}, or, if each has only "
            f"one, an array [{unit[1]}, 1], such as ids[:, None]"
        )
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        inputs.refuse_missing(name, np.atleast_1d(ids))
        kind = inputs.kind_of(ids if ids.ndim else row)
        cure = _CURE.format(unit[0])
        if ids.ndim == 1 and ids.dtype.kind in "UO":
            cure = "pass integers, or the ids of all items as item_ids="
        raise TypeError(f"{name}: got {kind}; {cure}")
    if ids.max() >= inputs.MAX_INT32:
        raise ValueError(
            f"{name} holds the id {ids.max()}, which is too large for a row number; pass "
            "row numbers of items, or the ids of all items as item_ids="
        )
    return ids


def check_known_items(
    name: str,
    rows: SparseRows,
    name_of: Callable[[int], Any],
    num_items: int,
    unit: Unit,
) -> None:
    """Raises `ValueError` if an id in sparse rows is not below `num_items`."""
    if rows.indices.max(initial=-1) < num_items:
        return
    index = int(np.argmax(rows.indices))
    user = name_of(int(np.searchsorted(rows.indptr, index, side="right")) - 1)
    raise ValueError(
        f"{name} of {unit[0]} {user} holds the item {rows.indices[index]}, but there are "
        f"{num_items} items; pass ids below that number"
    )


@messages.short_errors()
def read_interactions(
    unit: Unit, vocabularies: Vocabularies, **arguments: RawInteractions
) -> dict[str, Interactions]:
    """Reads the arguments that are not None, as a dict from names to `Interactions`."""
    return {
        name: Interactions.of(name, pairs, unit, vocabularies)
        for name, pairs in arguments.items()
        if pairs is not None
    }


@messages.short_errors()
def read_users(
    users: Any,
    interactions: Mapping[str, Interactions],
    num_users: int | None,
    vocabulary: Vocabulary = NO_IDS[0],
) -> np.ndarray:
    """Returns the users to evaluate, `[users]` int32; by default all of `relevant`.

    Args:
        users: The argument, or None.
        interactions: A dict from names to arguments that name users; it has "relevant".
        num_users: How many users the model has; None if it is a function.
        vocabulary: The ids of all users.

    Raises:
        ValueError: if there are no users; if a user is repeated, below 0 or not in the
            model; if the model is a function, and an argument other than `relevant` names
            only users that are not evaluated; or, without `users`, if arguments whose rows
            are not named have different numbers of rows.
        TypeError: if users are not integers.
    """
    is_selection = users is not None
    if is_selection and vocabulary.ids is not None:
        users = vocabulary.numbers("users", users)
    user_ids = (
        inputs.numpy_array("users", users)
        if is_selection
        else interactions["relevant"].users_with_rows()
    )
    if user_ids.ndim != 1 or user_ids.size and user_ids.dtype.kind not in "iu":
        inputs.refuse_missing("users", user_ids)
        raise TypeError(
            f"users: got {inputs.kind_of(user_ids)}; pass the row numbers of the model as "
            "an array of integers with one axis"
        )
    if not user_ids.size:
        empty = "users is empty" if is_selection else "relevant has no users"
        raise ValueError(f"{empty}; pass at least one user")
    if user_ids.min() < 0 or user_ids.max() > inputs.MAX_INT32:
        raise ValueError(
            f"users go from {user_ids.min()} to {user_ids.max()}; pass row numbers of the "
            "model, which start at 0"
        )
    distinct, counts = np.unique(user_ids, return_counts=True)
    if counts.max() > 1:
        user = vocabulary.name_of(int(distinct[counts.argmax()]))
        raise ValueError(
            f"users holds {user} {counts.max()} times; pass each user once, as "
            "in [*dict.fromkeys(users)]"
        )
    # A function scores any user, so only the numbers of unnamed rows can be compared.
    if num_users is None:
        for name, pairs in interactions.items():
            pairs.check_named(user_ids, must_match=name != "relevant")
        by_row = [pairs for pairs in interactions.values() if pairs.users is None]
        numbers = {pairs.num_rows: pairs.name for pairs in by_row}
        if len(numbers) > 1 and not is_selection:
            rows = " and ".join(f"{name} has {n} rows" for n, name in numbers.items())
            raise ValueError(
                f"{rows}; pass one row for each user of the model in all of them"
            )
        return user_ids.astype(np.int32)
    if is_selection and user_ids.max() >= num_users:
        raise ValueError(
            f"users go up to {user_ids.max()}, but model has {num_users} users; pass "
            "row numbers of the model, which start at 0"
        )
    for pairs in interactions.values():
        pairs.check_users(num_users, is_selection)
    return user_ids.astype(np.int32)


def read_frame(
    name: str, frame: Any, vocabularies: Vocabularies
) -> tuple[np.ndarray, Any]:
    """Reads the columns `user` or `query`, `item`, and perhaps `label` of a frame.

    Pairs may repeat with the same label, and items of −1 are padding. The users
    [7, 2, 7] with the items [5, 1, −1] make the users [2, 7] and the rows {1}, {5} and {}.

    Args:
        name: The argument, for messages. Only `relevant` has labels.
        frame: A frame of pandas or polars.
        vocabularies: The ids of users and of items.

    Returns:
        The users, ascending, including users whose only items are padding; and a
        `scipy.sparse.csr_array` `[users + 1, items]` of labels, or of ones if the frame
        has no labels. The last row is empty, and serves all other users.

    Raises:
        ValueError: if the frame has other columns; if an item does not fit int32, or a pair
            has two labels.
        TypeError: if users or items are not integers, or labels are not numbers.
    """
    import scipy.sparse

    names = [*frame.columns]
    unit = "query" if "query" in names else "user"
    known = {unit, "item"}
    if name == "relevant" and "label" in names:
        known.add("label")
    if set(names) != known or len(names) != len(known):
        label = ", and perhaps label" if name == "relevant" else ""
        raise ValueError(
            f"{name} is a frame with the columns {', '.join(map(repr, names))}; pass a "
            f"frame with the columns user (or query) and item{label}, and no others"
        )
    users, items = (
        _integers(name, column, frame[column])
        if vocabulary.ids is None
        else vocabulary.numbers(name, frame[column], has_padding=column == "item")
        for column, vocabulary in zip((unit, "item"), vocabularies, strict=True)
    )
    if (lowest := items.min(initial=0)) < -1:
        raise ValueError(_negative(name, lowest))
    # `slots` is the row of each pair; users whose pairs are all padding keep their row.
    user_ids, slots = np.unique(users, return_inverse=True)
    is_item = items >= 0
    slots, items = slots[is_item], items[is_item]
    shape = (len(user_ids) + 1, int(items.max(initial=0)) + 1)
    ones = np.ones(len(items), np.float32)
    rows = scipy.sparse.csr_array(scipy.sparse.coo_array((ones, (slots, items)), shape))
    rows.sum_duplicates()
    rows.data = np.ones(rows.nnz, np.float32)
    if "label" in names and items.size:
        column = frame["label"].to_numpy()
        labels = _labels(f"{name}: the column 'label'", column)[is_item]
        # The index of each pair among the distinct pairs.
        entries = (np.arange(rows.nnz), rows.indices, rows.indptr)
        offsets = scipy.sparse.csr_array(entries, shape)[slots, items]
        # Write the last label of each repeated pair; all other labels must be equal to it.
        rows.data = np.zeros(rows.nnz, labels.dtype)
        rows.data[offsets] = labels
        differ = rows.data[offsets] != labels
        if differ.any():
            row = int(np.argmax(differ))
            raise ValueError(
                f"{name} has two labels for the item {vocabularies[1].name_of(items[row])} "
                f"of {unit} {vocabularies[0].name_of(int(user_ids[slots[row]]))}; pass one "
                "label"
            )
    return user_ids, rows


def _integers(name: str, column: str, values: Any) -> np.ndarray:
    """Returns a column of integers as int64."""
    array = np.asarray(values.to_numpy())
    if array.dtype.kind not in "iu" and array.size:
        inputs.refuse_missing(f"{name}: the column {column!r}", array)
        raise TypeError(
            f"{name}: the column {column!r} holds {values.dtype}, or lacks a value; pass "
            f"integer row numbers of the model, or the ids of all rows as {column}_ids="
        )
    if array.max(initial=0) > inputs.MAX_INT32:  # including numbers beyond int64
        raise ValueError(
            f"{name}: the column {column!r} holds {array.max()}, which is too large for a "
            "row number; pass row numbers of the model, or the ids of all rows as "
            f"{column}_ids="
        )
    return array.astype(np.int64)


def _labels(name: str, values: Any) -> np.ndarray:
    """Returns labels as an array, or raises if a label is missing or negative."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.dtype == np.float16:  # unknown to scipy
        inputs.refuse_missing(name, array)
        raise TypeError(
            f"{name} holds {array.dtype}; pass numbers, and floats of fewer than 32 bits "
            "as float32"
        )
    if not (array >= 0).all():
        row = int(np.argmin(array >= 0))
        raise ValueError(
            f"{name} holds {array[row]} at {row}; pass values of at least 0"
        )
    return array
