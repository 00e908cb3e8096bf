"""The result of `evaluate_users`, and how it is collected on the host."""

import dataclasses
from collections.abc import Hashable, Iterable

import jax
import numpy as np

from jax_rank_metrics import _types
from jax_rank_metrics._inputs.pack import pack
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList, means_of


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
        kinds = tuple(type(state) for state in self.states.values())
        states_of = {}
        for index, group in enumerate(packed.ids.tolist()):
            in_group = packed.segment_ids == index
            # Users of other groups get the weight 0 instead of being taken out: so arrays
            # have one shape for all groups, which share a program.
            lists = tuple(
                dataclasses.replace(
                    values,
                    weights=values.weights * in_group,
                    defined=values.defined & in_group,
                )
                for values in self.lists.values()
            )
            states = means_of(lists, self.undefined, kinds)
            states_of[group] = dict(zip(self.lists, states, strict=True))
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
