"""Interactions of users with items, as sparse rows `[users, items]`."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jax_rank_metrics import _inputs

_FIX = "pass a list of item ids for each user, a dict of such, or a scipy sparse matrix"


def is_sparse(given: Any) -> bool:
    """Whether it is a sparse matrix of scipy."""
    import scipy.sparse

    return scipy.sparse.issparse(given)


def plain(given: Any) -> Any:
    """The same interactions, with a pandas Series of lists as a dict.

    The index of such a Series holds users, as `groupby` makes it, rather than positions.
    """
    return given.to_dict() if hasattr(given, "to_dict") else given


def users_of(users: Any, relevant: Any) -> np.ndarray:
    """The users to evaluate, `[users]` int32: as asked, or all that have an entry."""
    if users is not None:
        given = _inputs.numpy_array("users", users)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise TypeError(
                f"users: got {_inputs.kind_of(given)}; pass one axis of integers, rows of "
                "the model"
            )
    else:
        given = everyone("relevant", relevant)
    if not given.size:
        raise ValueError("relevant has no users; pass at least one")
    if given.min() < 0 or given.max() > _inputs.MOST:
        raise ValueError(
            f"users go from {given.min()} to {given.max()}; pass rows of the model, from 0"
        )
    return given.astype(np.int32)


def everyone(name: str, given: Any) -> np.ndarray:
    """All users that have an entry, `[users]`."""
    if not isinstance(given, Mapping):
        return np.arange(_rows(name, given))
    for user in given:
        if not _inputs.is_integer(user):
            raise TypeError(
                f"{name} has the key {user!r}; pass integers, rows of the model, as "
                "jrm.pack makes them of ids of any kind"
            )
    return np.fromiter(given, np.int64, len(given))


def _rows(name: str, given: Any) -> int:
    if is_sparse(given):
        return given.shape[0]
    try:
        return len(given)
    except TypeError as error:
        raise TypeError(f"{name}: got {_inputs.kind_of(given)}; {_FIX}") from error


def rows_of(name: str, given: Any, users: np.ndarray) -> Any:
    """The rows of some users as a canonical `csr_array`, of which no entry is 0.

    It has as many columns as its ids need; `fits_items` checks them.
    """
    import scipy.sparse

    if not isinstance(given, Mapping) and users.max(initial=-1) >= _rows(name, given):
        raise ValueError(
            f"{name} has {_rows(name, given)} users, but users go up to {users.max()}; "
            "pass rows for all of them"
        )
    if is_sparse(given):
        rows = scipy.sparse.csr_array(given)[users]
        if rows.dtype.kind not in "biuf":
            raise TypeError(f"{name} holds {rows.dtype}; pass numbers")
        rows.sum_duplicates()
        if not (rows.data >= 0).all():
            raise ValueError(
                f"{name} holds {rows.data[~(rows.data >= 0)][0]}; pass values of at least 0"
            )
        rows.eliminate_zeros()
        return rows
    if isinstance(given, jax.Array):
        given = np.asarray(given)
    lists = [_ids(name, user, given) for user in users.tolist()]
    starts = np.cumsum([0, *(one.size for one in lists)])
    ids = np.concatenate([*lists, np.zeros(0, np.int64)]).astype(np.int64)
    shape = (users.size, int(ids.max(initial=0)) + 1)
    rows = scipy.sparse.csr_array((np.ones(ids.shape, np.float32), ids, starts), shape)
    rows.sum_duplicates()
    rows.data[:] = 1
    return rows


def _ids(name: str, user: int, given: Any) -> np.ndarray:
    """The ids of one user; those below 0 are padding."""
    row = given.get(user, ()) if isinstance(given, Mapping) else given[user]
    ids = np.asarray(list(row) if isinstance(row, (set, frozenset)) else row)
    if not ids.size:
        return np.zeros(0, np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(f"{name} of user {user}: got {_inputs.kind_of(ids)}; {_FIX}")
    if ids.max() >= _inputs.MOST:
        raise ValueError(
            f"{name} of user {user} holds the id {ids.max()}; pass ids that fit int32"
        )
    return ids[ids >= 0]


def fits_users(name: str, given: Any, num_users: int, chosen: bool) -> None:
    """Raises unless interactions have a row for each user of the model.

    Args:
        name: The argument, for messages.
        given: The interactions of all users. A dict names its users, and may lack some.
        num_users: How many users the model has.
        chosen: Whether the caller chose the users to evaluate. Then the rows of users
            after the last of them may be missing.
    """
    if isinstance(given, Mapping):
        return
    rows = _rows(name, given)
    if rows > num_users or (rows < num_users and not chosen):
        raise ValueError(
            f"{name} has {rows} rows, but model has {num_users} users; pass one row for "
            "each user of the model, or a dict from users to lists of ids"
        )


def fits_items(
    name: str, given: Any, rows: Any, users: np.ndarray, num_items: int
) -> None:
    """Raises where interactions are not those of a catalogue of `num_items` items.

    Args:
        name: The argument, for messages.
        given: The interactions of all users, as passed by the caller.
        rows: Those of `users`, as `rows_of` gives them.
        users: Whose rows these are.
        num_items: How many items the model has.
    """
    if is_sparse(given):
        # An additional first column, such as an id 0 for padding, would shift all ids.
        if given.shape[1] > num_items:
            raise ValueError(
                f"{name} has {given.shape[1]} columns, but the model has {num_items} "
                "items; pass a column for each item of the model"
            )
    elif _looks_dense(given, rows, users, num_items):
        raise TypeError(
            f"{name} looks like a matrix [users, items] of labels, but dense rows are "
            f"read as lists of ids; pass scipy.sparse.csr_array({name}) if it is a "
            "matrix, or lists of distinct ids without padding"
        )
    if rows.nnz and rows.indices.max() >= num_items:
        place = int(np.argmax(rows.indices))
        user = users[np.searchsorted(rows.indptr, place, side="right") - 1]
        raise ValueError(
            f"{name} of user {user} holds the item {rows.indices[place]}, but the model "
            f"has {num_items} items; pass ids from 0"
        )


def _looks_dense(given: Any, distinct: Any, users: np.ndarray, num_items: int) -> bool:
    """Whether rows of integers are labels of all items rather than lists of ids.

    `distinct` is the same rows, read as lists of ids and without repetitions.

    Rows of ids are seldom as long as the catalogue, or all zeros and ones: such a row
    names every item, or repeats one.
    """
    if isinstance(given, Mapping):
        rows = [given[user] for user in users.tolist() if user in given]
    else:
        is_array = isinstance(given, (np.ndarray, jax.Array))
        rows = (
            np.asarray(given)[users] if is_array else [given[i] for i in users.tolist()]
        )
    if not len(rows) or any(isinstance(row, (set, frozenset)) for row in rows):
        return False
    width = len(rows[0])
    if not width or any(len(row) != width for row in rows):
        return False
    table = np.asarray(rows)
    if table.min() < 0:
        return False  # padded with -1, which no matrix of labels is
    repeats = distinct.nnz < table.size
    is_array = isinstance(rows, np.ndarray)
    return (width == num_items and (is_array or repeats)) or (
        width > 2 and table.max() <= 1
    )


def remark(relevant: Any, seen: Any, users: np.ndarray) -> str | None:
    """What is to be said of users of whom nothing relevant is left, if there are any."""
    columns = max(relevant.shape[1], seen.shape[1])
    some, hidden = (_resized(x, columns) > 0 for x in (relevant, seen))
    left = np.diff(some.indptr) - np.diff((some * hidden).tocsr().indptr)
    empty = (np.diff(some.indptr) > 0) & (left == 0)
    if not empty.any():
        return None
    return (
        f"every relevant item was seen by {np.count_nonzero(empty)} of {users.size} "
        f"users, as by user {users[np.argmax(empty)]}, so that metrics are undefined "
        "there; leave what is to be found out of seen"
    )


def _resized(rows: Any, columns: int) -> Any:
    rows = rows.copy()
    rows.resize((rows.shape[0], columns))
    return rows


def item_counts(
    name: str, given: Any, rows: Any, users: np.ndarray, num_items: int
) -> np.ndarray:
    """How many of all users there are have each item.

    Args:
        name: What messages call it.
        given: What all users have.
        rows: Those of `users`, as `rows_of` gives them.
        users: Of whom the rows are.
        num_items: How many items the model has.
    """
    every = everyone(name, given)
    if not np.array_equal(every, users):
        rows = rows_of(name, given, every)
    fits_items(name, given, rows, every, num_items)
    return np.bincount(rows.indices, minlength=num_items).astype(np.int32)
