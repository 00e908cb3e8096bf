"""Long frames of pandas and polars: a row for each pair of a user or query and an item."""

from typing import Any

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers.vocabulary import Vocabularies


def read_frame(
    name: str, frame: Any, vocabularies: Vocabularies
) -> tuple[np.ndarray, Any]:
    """Reads the columns `user` or `query`, `item`, and perhaps `label` of a frame.

    Pairs may repeat with the same label, and negative items are padding. The users
    [7, 2, 7] with the items [5, 1, −1] make the users [2, 7] and the rows {1}, {5} and {}.

    Args:
        name: The argument, for messages. Only `relevant` has labels.
        frame: A frame of pandas or polars.
        vocabularies: The ids of users and of items; None where they are numbers.

    Returns:
        The users, ascending, those whose only items are negative among them; and a
        `scipy.sparse.csr_array` `[users + 1, items]` of labels, or of ones where the frame
        has none. The last row is empty: that of all other users.

    Raises:
        ValueError: if it has other columns; if an item does not fit int32, or a pair has
            two labels.
        TypeError: if users or items are not integers, or labels no numbers.
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
            f"{name} is a frame with the columns {', '.join(map(repr, names))}; pass one "
            f"with the columns user (or query) and item{label}, and no others"
        )
    users, items = (
        _integers(name, x, frame[x]) if ids is None else ids.numbers(name, frame[x])
        for x, ids in zip((unit, "item"), vocabularies, strict=True)
    )
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
        labels = _labels(name, frame["label"])[is_item]
        # The offset of each pair among the distinct ones.
        entries = (np.arange(rows.nnz), rows.indices, rows.indptr)
        offsets = scipy.sparse.csr_array(entries, shape)[slots, items]
        # Of repeated pairs the last label stands, and all others have to be equal to it.
        rows.data = np.zeros(rows.nnz, labels.dtype)
        rows.data[offsets] = labels
        differ = rows.data[offsets] != labels
        if differ.any():
            row = int(np.argmax(differ))
            raise ValueError(
                f"{name} has two labels for the item {items[row]} of {unit} "
                f"{user_ids[slots[row]]}; pass one"
            )
    return user_ids, rows


def _integers(name: str, column: str, values: Any) -> np.ndarray:
    """Returns a column of integers as int64."""
    array = np.asarray(values.to_numpy())
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(
            f"{name}: the column {column!r} holds {values.dtype}, or lacks a value; pass "
            f"integers, the rows of the model, or the ids of all rows as {column}_ids="
        )
    if array.max(initial=0) > _inputs.MAX_INT32:  # also what does not fit int64
        raise ValueError(
            f"{name}: the column {column!r} holds {array.max()}; pass ids that fit int32"
        )
    return array.astype(np.int64)


def _labels(name: str, values: Any) -> np.ndarray:
    """Returns a column of labels, of which none is missing or negative."""
    array = np.asarray(values.to_numpy())
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{name}: the column 'label' holds {values.dtype}, or lacks a value; pass "
            "numbers"
        )
    if not (array >= 0).all():
        raise ValueError(
            f"{name}: the column 'label' holds {array[~(array >= 0)][0]}; pass values of "
            "at least 0"
        )
    return array
