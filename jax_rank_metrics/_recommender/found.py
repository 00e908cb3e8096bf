"""What `evaluate_users` gives, and how it comes together on the host."""

import dataclasses
from typing import Any

import jax
import numpy as np

from jax_rank_metrics import _types
from jax_rank_metrics._inputs.pack import pack
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList, means_of


@dataclasses.dataclass(frozen=True, repr=False)
class UserEvaluation:
    """What `evaluate_users` found: means, every user's values, and what was recommended.

    Attributes:
        states: By the name of each metric its state, as `evaluate` gives.
        lists: By the same names a `PerList` of all users, of NumPy arrays on the host:
            what `compare` and `plots` take.
        items: `[users, k]` int32, the items recommended to each, best first; −1 where
            there are no more.
        exposure: How often each item was recommended; see `Exposure`.
        users: `[users]` int32, whose these are: rows of the model.
        undefined: What a user counts for where a metric is undefined.
    """

    states: dict[str, Mean]
    lists: dict[str, PerList]
    items: np.ndarray
    exposure: Exposure
    users: np.ndarray
    undefined: _types.Undefined

    def by(self, groups: Any) -> dict[Any, dict[str, Mean]]:
        """The states of each group of users, such as cold and warm ones.

        Args:
            groups: One for each of `users`: names, numbers or bools, as for `pack`.

        Returns:
            A dict from each group, in order of first appearance, to states like
            `states`; `table` takes it where groups are names.

        Raises:
            ValueError: if there are more or fewer than users, or one is missing.
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
        found, kinds = {}, tuple(type(state) for state in self.states.values())
        for number, group in enumerate(packed.ids.tolist()):
            there = packed.segment_ids == number
            # Of one shape for all groups, and so one program: others weigh nothing.
            lists = tuple(
                dataclasses.replace(
                    one, weights=one.weights * there, defined=one.defined & there
                )
                for one in self.lists.values()
            )
            states = means_of(lists, self.undefined, kinds)
            found[group] = dict(zip(self.lists, states, strict=True))
        return found

    def __repr__(self) -> str:
        """How many users, and the mean of each metric."""
        shown = [
            f"{name} {', '.join(f'{x:.3f}' for x in np.ravel(state.compute()))}"
            for name, state in self.states.items()
        ]
        coverage = f"coverage {self.exposure.coverage():.3f}"
        return (
            f"UserEvaluation({', '.join([*shown, coverage])}, {self.users.size} users)"
        )


class Collected:
    """What comes back to the host, batch by batch, in the order of users."""

    def __init__(self, users: np.ndarray, k: int) -> None:
        self.done, self.lists, self.users = 0, [], users
        self.items = np.full((users.size, k), -1, np.int32)

    def put(self, rows: np.ndarray, found: Any) -> None:
        """Waits for a batch, and leaves out what it was filled up with.

        Raises:
            ValueError: if the scores of a user are nan.
        """
        lists, ids, has_nan = jax.device_get(found)
        if has_nan[: rows.size].any():
            user = self.users[rows[np.argmax(has_nan[: rows.size])]]
            raise ValueError(
                f"model gives user {user} the score nan; pass scores that are numbers, "
                "and -inf for items that are not to be recommended"
            )
        if not self.done:
            whole = len(self.items)
            self.lists = jax.tree.map(
                lambda x: np.zeros((whole, *x.shape[1:]), x.dtype), lists
            )
        for into, one in zip(*map(jax.tree.leaves, (self.lists, lists)), strict=True):
            into[rows] = one[: rows.size]
        self.items[rows, : ids.shape[-1]] = ids[: rows.size]
        self.done += rows.size
