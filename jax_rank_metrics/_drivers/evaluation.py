"""The result of a driver: means, the values of every query, and the items found."""

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar

import numpy as np

from jax_rank_metrics import _types
from jax_rank_metrics._calls.run import Bound
from jax_rank_metrics._inputs.pack import pack
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.on_host import HostSums
from jax_rank_metrics._states.per_list import PerList


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of a whole evaluation: means, values of every query, and items found.

    `compare` and `leaderboard` take its `lists`, `table` its `states`, and `plots` both.

    Attributes:
        states: The state of each metric by its name, as from `evaluate`.
        lists: A `PerList` of all queries for each of these names, of NumPy arrays on the
            host. Its `undefined` is that of the call.
        items: `[queries, k]` int32, the ids of the first items of each query, best first;
            −1 where there are no more.
        undefined: What a query counts for where a metric is undefined.
    """

    # What a query is called in messages, in the plural.
    _unit: ClassVar[str] = "queries"

    states: dict[str, Mean]
    lists: dict[str, PerList]
    items: np.ndarray
    undefined: _types.Undefined

    def by(self, groups: Iterable[Hashable]) -> dict[Hashable, dict[str, Mean]]:
        """Returns the states of each group of queries, such as short and long ones.

        Args:
            groups: The group of each query, or user, in the order of `items`: names,
                numbers or bools, as for `pack`.

        Returns:
            A dict from each group, in order of first appearance, to states like
            `states`; `table` takes it if groups are names.

        Raises:
            ValueError: if there are more or fewer groups than queries, or one is missing.
        """
        try:
            packed = pack(groups)
        except (TypeError, ValueError) as error:
            raise type(error)(f"groups: {error}") from error
        if packed.segment_ids.shape != self.items.shape[:1]:
            raise ValueError(
                f"groups has {packed.segment_ids.size} entries; pass one for each of "
                f"{len(self.items)} {self._unit}"
            )
        states_of = {}
        for index, group in enumerate(packed.ids.tolist()):
            in_group = packed.segment_ids == index
            states_of[group] = {
                name: HostSums.of_lists(self.lists[name][in_group], type(state)).state()
                for name, state in self.states.items()
            }
        return states_of

    def gather(self) -> "Evaluation":
        """Returns the same evaluation with the values of all queries on this process.

        That is this object, unless a mesh of several processes has shared the work.
        """
        return self

    def __repr__(self) -> str:
        """Shows the mean of each metric, and the number of queries."""
        parts = [*self._means(), f"{len(self.items)} {self._unit}"]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _means(self) -> list[str]:
        return [
            f"{name} {', '.join(f'{x:.3f}' for x in np.ravel(state.compute()))}"
            for name, state in self.states.items()
        ]


def distinct(metric_names: list[str]) -> list[str]:
    """Returns the names, or raises where a metric has the name of an added metric."""
    for name in metric_names:
        if metric_names.count(name) > 1:
            raise ValueError(
                f"{name!r} is among metrics, and also names a metric that is added; give "
                "yours another name"
            )
    return metric_names


def by_name(
    metric_names: Sequence[str],
    bounds: Sequence[Bound],
    lists: Sequence[PerList],
    undefined: _types.Undefined,
) -> tuple[dict[str, Mean], dict[str, PerList]]:
    """Returns the states and the values of all queries, by the names of metrics.

    Args:
        metric_names: The name of each metric.
        bounds: The first of these metrics; those after them are means.
        lists: The values of each metric.
        undefined: What undefined values count for. The values keep it, so that `compare`
            counts such queries as the means do.
    """
    kinds = [bound.state for bound in bounds]
    kinds += [Mean] * (len(metric_names) - len(kinds))
    lists = [dataclasses.replace(values, undefined=undefined) for values in lists]
    states = (
        HostSums.of_lists(values, kind).state()
        for values, kind in zip(lists, kinds, strict=True)
    )
    return (
        dict(zip(metric_names, states, strict=True)),
        dict(zip(metric_names, lists, strict=True)),
    )


def undefined_everywhere(
    metric_names: Sequence[str], lists: Sequence[PerList]
) -> list[str]:
    """Returns the names of the metrics that are undefined for every query."""
    return [
        name
        for name, values in zip(metric_names, lists, strict=False)
        if not values.defined.any()
    ]
