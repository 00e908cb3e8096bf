"""The base of results that hold a state for each metric, by its name."""

from collections.abc import Iterator, KeysView
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Undefined


class StatesByName:
    """A result whose states are found by the names of metrics, as those of a dict are.

    It is no `Mapping`: what such results call `items` are those that were found.
    """

    states: dict[str, Mean]
    lists: dict[str, PerList]
    undefined: Undefined

    @property
    def list_ids(self) -> np.ndarray | None:
        """The id of every list; None where lists are known by their position alone."""
        return None

    def __getitem__(self, name: str) -> Mean:
        """Returns the state of a metric, such as `evaluation["ndcg@10"]`."""
        try:
            return self.states[name]
        except (KeyError, TypeError) as error:
            raise KeyError(
                f"{name!r} is none of the metrics {', '.join(map(repr, self.states))}; "
                "values of each list are in .lists[metric].values"
            ) from error

    def __contains__(self, name: object) -> bool:
        """Whether there is a metric of this name."""
        return name in self.states

    def __iter__(self) -> Iterator[str]:
        """Yields the names of metrics."""
        return iter(self.states)

    def __len__(self) -> int:
        """Returns the number of metrics."""
        return len(self.states)

    def keys(self) -> KeysView[str]:
        """Returns the names of metrics."""
        return self.states.keys()

    if not TYPE_CHECKING:  # which would then allow any attribute

        def __getattr__(self, name: str) -> NoReturn:
            text = f"{type(self).__name__} has no attribute {name!r}"
            if not name.startswith("_") and (states := vars(self).get("states")):
                text += (
                    f"; its metrics are {', '.join(map(repr, states))}: each has a state, "
                    f"such as .states[{next(iter(states))!r}], and values in .lists; "
                    "jrm.compute returns all means"
                )
            raise AttributeError(text, name=name, obj=self)
