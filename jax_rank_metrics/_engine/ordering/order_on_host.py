"""The places of a few items among the scores of long lists, counted on the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np

_LEAST = 2.0**-149  # the least float32 above 0


def comparable(scores: np.ndarray) -> np.ndarray:
    """Returns scores that tie on the host whenever they tie as float32 on devices.

    On devices, the two least floats above 0 share a key, and so do the two greatest floats
    below 0; see `keys.score_key`.
    """
    is_second = np.abs(scores) == 2 * _LEAST
    return np.where(is_second, scores / 2, scores) if is_second.any() else scores


def count_places(
    lists: Sequence[np.ndarray], scores: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Counts, for each item, the scores of its list that are above or equal to its score.

    NumPy sorts floats several times faster than it sorts indices by floats, so the scores
    of each list are sorted, and the items are looked up in them. With the list 4 7 9 7 7,
    items of the scores 7 and 4 have `above` 1 4 and `tied` 3 1.

    Args:
        lists: The scores of all items of each list, in any order, not NaN.
        scores: `[items]`, the scores of the items to place, list after list.
        starts: `[lists + 1]`, the index at which the items of each list begin, and the end.

    Returns:
        above: `[items]` int32.
        tied: `[items]` int32; 0 for a score that is not in the list.
    """
    above, tied = np.zeros((2, len(scores)), np.int32)
    bounds = starts.tolist()
    for scores_of_list, start, end in zip(lists, bounds, bounds[1:], strict=False):
        if start == end:
            continue
        ascending, items = np.sort(scores_of_list), scores[start:end]
        last = ascending.searchsorted(items, "right")
        above[start:end] = len(ascending) - last
        tied[start:end] = last - ascending.searchsorted(items, "left")
    return above, tied


def best_rows(values: np.ndarray, lists: Sequence[slice]) -> np.ndarray:
    """Returns the rows of all lists, list after list, and in each list by falling value.

    Args:
        values: `[rows]`, not NaN.
        lists: The rows of each list.
    """
    orders = [rows.start + np.argsort(-values[rows]) for rows in lists]
    return np.concatenate([np.zeros(0, np.int64), *orders])


def in_rank_order(lists: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Returns the indices that sort items by list, and in each list by `above`.

    Args:
        lists: `[items]` integers, the list of each item.
        above: `[items]` integers from 0 to 2³¹ − 1, how many items rank above each.
    """
    return np.argsort((lists.astype(np.int64) << 31) | above)


def best_first(scores: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Returns the indices that sort each row by falling score, and ties by rising id.

    Args:
        scores: `[lists, items]`.
        ids: `[lists, items]` integers.
    """
    return np.lexsort((ids, -scores), axis=-1)


def ascending(values: np.ndarray) -> np.ndarray:
    """Returns the values of each row, `[*lists, items]`, smallest first."""
    return np.sort(values)


def by_columns(
    frame: Any, keys: Sequence[Any], descending: Sequence[bool], is_stable: bool = True
) -> Any:
    """Returns the rows of a polars frame, sorted by columns.

    Nulls come last; the first column must have no nulls.

    A lazy frame stays lazy. If `is_stable`, rows that are equal in these columns keep their
    order, which takes twice as long.
    """
    # Polars takes twice as long if nulls must come last in the first column, too.
    nulls_last = [False, *(True for _ in keys[1:])]
    return frame.sort(
        *keys, descending=descending, nulls_last=nulls_last, maintain_order=is_stable
    )
