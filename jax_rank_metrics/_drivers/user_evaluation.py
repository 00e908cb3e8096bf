"""The result of `evaluate_users`, and how it is collected on the host."""

import dataclasses
from collections.abc import Hashable, Iterable

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _types
from jax_rank_metrics._drivers.interactions import SparseRows
from jax_rank_metrics._inputs.pack import pack
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.on_host import HostSums
from jax_rank_metrics._states.per_list import PerList


@dataclasses.dataclass(frozen=True, repr=False)
class UserEvaluation:
    """The result of `evaluate_users`: means, values of every user, and recommendations.

    Attributes:
        states: The state of each metric by its name, as from `evaluate`.
        lists: A `PerList` of all users for each of these names, of NumPy arrays on the
            host, for `compare` and `plots`. Its `undefined` is that of the call.
        items: `[users, k]` int32, the items recommended to each user, best first; −1
            where there are no more.
        exposure: How often each item was recommended; see `Exposure`.
        users: `[users]` int32, the users evaluated: rows of the model.
        undefined: What a user counts for where a metric is undefined.
    """

    states: dict[str, Mean]
    lists: dict[str, PerList]
    items: np.ndarray
    exposure: Exposure
    users: np.ndarray
    undefined: _types.Undefined

    def by(self, groups: Iterable[Hashable]) -> dict[Hashable, dict[str, Mean]]:
        """Returns the states of each group of users, such as cold and warm ones.

        Args:
            groups: The group of each of `users`: names, numbers or bools, as for `pack`.

        Returns:
            A dict from each group, in order of first appearance, to states like
            `states`; `table` takes it if groups are names.

        Raises:
            ValueError: if there are more or fewer groups than users, or one is missing.
        """
        try:
            packed = pack(groups)
        except (TypeError, ValueError) as error:
            raise type(error)(f"groups: {error}") from error
        if packed.segment_ids.shape != self.users.shape:
            raise ValueError(
                f"groups has {packed.segment_ids.size} entries; pass one for each of "
                f"{self.users.size} users"
            )
        states_of = {}
        for index, group in enumerate(packed.ids.tolist()):
            in_group = packed.segment_ids == index
            states_of[group] = {
                name: HostSums.of_lists(self.lists[name][in_group], type(state)).state()
                for name, state in self.states.items()
            }
        return states_of

    def __repr__(self) -> str:
        """Shows the mean of each metric, the coverage, and the number of users."""
        parts = [
            f"{name} {', '.join(f'{x:.3f}' for x in np.ravel(state.compute()))}"
            for name, state in self.states.items()
        ]
        parts.append(f"coverage {self.exposure.coverage():.3f}")
        return f"UserEvaluation({', '.join(parts)}, {self.users.size} users)"


class Collector:
    """Collects the results of batches on the host, in the order of users.

    Attributes:
        num_done: How many users are done.
        lists: The values of each metric, for all users; zeros where they are not done.
        items: `[users, k]`, the recommended items.
    """

    def __init__(self, user_ids: np.ndarray, k: int) -> None:
        self.num_done = 0
        self.lists: list[PerList] = []
        self.items = np.full((user_ids.size, k), -1, np.int32)
        self._user_ids = user_ids

    def add(
        self, indices: np.ndarray, results: tuple[list[PerList], jax.Array, jax.Array]
    ) -> None:
        """Waits for a batch, and stores the values of its users.

        The users [4, 2] of a batch of three write its first two values to the indices 4
        and 2 of each array of `lists` and of `items`; the third only fills up the batch.

        Args:
            indices: `[users]`, the indices of these users among all.
            results: The result of `measure_users`, for these users and any that fill up
                the batch after them.

        Raises:
            ValueError: if the scores of a user hold NaN.
        """
        lists, ids, has_nan = jax.device_get(results)
        size = indices.size
        if has_nan[:size].any():
            user = self._user_ids[indices[np.argmax(has_nan[:size])]]
            raise ValueError(
                f"the scores of model for user {user} hold nan; pass numbers, and -inf "
                "for items that are not to be recommended"
            )
        if not self.num_done:
            num_users = len(self.items)
            self.lists = jax.tree.map(
                lambda x: np.zeros((num_users, *x.shape[1:]), x.dtype), lists
            )
        arrays = jax.tree.leaves(self.lists)
        for array, values in zip(arrays, jax.tree.leaves(lists), strict=True):
            array[indices] = values[:size]
        self.items[indices, : ids.shape[-1]] = ids[:size]
        self.num_done += size

    def exposure(self, num_items: int) -> Exposure:
        """Counts how often each item was recommended, as `jrm.exposure` does."""
        counts = np.bincount(self.items[self.items >= 0], minlength=num_items)
        num_empty = np.count_nonzero((self.items < 0).all(axis=1))
        tally = jnp.asarray([len(self.items), num_empty], jnp.int32)
        return Exposure(self.items.shape[1], jnp.asarray(counts, jnp.int32), tally)


def remark_on_undefined(
    metric_names: list[str], lists: list[PerList], relevant_rows: SparseRows
) -> str | None:
    """Returns a warning about metrics that are undefined for every user, or None."""
    undefined_names = [
        name
        for name, values in zip(metric_names, lists, strict=False)
        if not values.defined.any()
    ]
    if not undefined_names:
        return None
    max_label = relevant_rows.data.max(initial=0)
    return (
        f"metrics are undefined for every one of {relevant_rows.shape[0]} users: "
        f"{', '.join(undefined_names)}; nobody has a relevant item that may be recommended "
        f"(relevant holds {relevant_rows.nnz} entries, and the largest label is "
        f"{max_label:g})"
    )
