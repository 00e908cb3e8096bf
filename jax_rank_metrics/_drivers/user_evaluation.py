"""The result of `evaluate_users`."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from jax_rank_metrics._drivers.evaluation import Evaluation
from jax_rank_metrics._drivers.interactions import SparseRows
from jax_rank_metrics._states.exposure import Exposure


@dataclasses.dataclass(frozen=True, repr=False)
class UserEvaluation(Evaluation):
    """The result of `evaluate_users`: means, values of every user, and recommendations.

    It is an `Evaluation`, whose queries are users, with two attributes more.

    Attributes:
        states: The state of each metric by its name, as from `evaluate`.
        lists: A `PerList` of all users for each of these names, of NumPy arrays on the
            host, for `compare` and `plots`. Its `undefined` is that of the call.
        items: `[users, k]` int32, the items recommended to each user, best first; −1
            where there are no more.
        undefined: What a user counts for where a metric is undefined.
        exposure: How often each item was recommended; see `Exposure`.
        users: `[users]` int32, the users evaluated: rows of the model.
    """

    _unit: ClassVar[str] = "users"

    exposure: Exposure
    users: np.ndarray

    def _means(self) -> list[str]:
        return [*super()._means(), f"coverage {self.exposure.coverage():.3f}"]


def remark_on_undefined(
    undefined_names: Sequence[str], relevant_rows: SparseRows
) -> str | None:
    """Returns a warning about metrics that are undefined for every user, or None."""
    if not undefined_names:
        return None
    max_label = relevant_rows.data.max(initial=0)
    return (
        f"metrics are undefined for every one of {relevant_rows.shape[0]} users: "
        f"{', '.join(undefined_names)}; nobody has a relevant item that may be recommended "
        f"(relevant holds {relevant_rows.nnz} entries, and the largest label is "
        f"{max_label:g}); jrm.check(scores=…, relevant_ids=…) looks for the cause"
    )


def remark_on_seen(
    relevant_rows: SparseRows, seen_rows: SparseRows, user_ids: np.ndarray
) -> str | None:
    """Returns a warning about users who have seen all of their relevant items, or None."""
    num_columns = max(relevant_rows.shape[1], seen_rows.shape[1])
    is_relevant = _resized(relevant_rows, num_columns) > 0
    is_seen = _resized(seen_rows, num_columns) > 0
    relevant_counts = np.diff(is_relevant.indptr)
    unseen_counts = relevant_counts - np.diff((is_relevant * is_seen).tocsr().indptr)
    has_seen_all = (relevant_counts > 0) & (unseen_counts == 0)
    if not has_seen_all.any():
        return None
    return (
        f"every relevant item was seen by {np.count_nonzero(has_seen_all)} of "
        f"{user_ids.size} users, such as user {user_ids[np.argmax(has_seen_all)]}, for "
        "whom metrics are undefined; leave the items to be found out of seen"
    )


def _resized(rows: SparseRows, num_columns: int) -> SparseRows:
    rows = rows.copy()
    rows.resize((rows.shape[0], num_columns))
    return rows
