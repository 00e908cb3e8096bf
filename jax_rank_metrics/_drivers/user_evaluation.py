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
        f"{max_label:g})"
    )
