"""The result of a driver: means, the values of every query, and the items found."""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._drivers.batches import QueryParts
from jax_rank_metrics._drivers.collected import gathered
from jax_rank_metrics._drivers.vocabulary import Vocabulary
from jax_rank_metrics._inputs.pack import numbered
from jax_rank_metrics._states.by_name import StatesByName
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import in_order
from jax_rank_metrics._states.on_host import HostSums, states_of_groups
from jax_rank_metrics._states.per_list import PerList

E = TypeVar("E", bound="Evaluation")
# What a driver measures beside the metrics of a call reads no labels.
_OF_ITEMS_ALONE = ("popularity", "novelty", "intra_list_diversity")


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation(StatesByName):
    """The result of a whole evaluation: means, values of every query, and items found.

    `compare`, `leaderboard`, `table` and the plots of runs take it as it is, and so does
    `compute`. By the name of a metric, as in `evaluation["ndcg@10"]`, it gives its state;
    `in`, `len`, iteration and `keys()` are of these names.

    With a mesh, `states` are the same on every process, while `lists` and `items` are
    global arrays, each part of which lies where it was computed: for queries that no mesh
    has cut evenly, with padding of weight 0 (and of ids −1), and by the devices that have
    their embeddings. `gather` makes NumPy arrays of them, in the order of queries.

    Attributes:
        states: The state of each metric by its name, as from `evaluate`.
        lists: A `PerList` of all queries for each of these names, of NumPy arrays on the
            host. Its `undefined` is that of the call.
        items: `[queries, k]`, the ids of the first items of each query, best first, int32
            unless `item_ids` were passed; −1 where there are no more, or None beside
            strings.
        undefined: What a query counts for where a metric is undefined.
        remarks: What was probably not intended, as the call has warned; see `check`.
        query_ids: `[queries]`, the ids of queries, by which `compare` pairs them; None
            where these are 0, 1, ….
    """

    # What a query is called in messages, in the plural.
    _unit: ClassVar[str] = "queries"

    states: dict[str, Mean]
    lists: dict[str, PerList]
    items: np.ndarray
    undefined: _types.Undefined
    remarks: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    query_ids: np.ndarray | None = dataclasses.field(default=None, kw_only=True)
    _parts: QueryParts | None = dataclasses.field(default=None, kw_only=True)
    _item_ids: Vocabulary | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Gives items the ids that were passed, if they are on this process."""
        if self._item_ids is not None and self._parts is None:
            object.__setattr__(self, "items", self._item_ids.named(self.items))
            object.__setattr__(self, "_item_ids", None)

    @property
    def list_ids(self) -> np.ndarray | None:
        """The ids of queries, by which `compare` pairs the values of two models."""
        return self.query_ids

    def by(
        self, groups: Iterable[Hashable] | Mapping[Any, Hashable]
    ) -> dict[Hashable, dict[str, Mean]]:
        """Returns the states of each group of queries, such as short and long ones.

        Args:
            groups: The group of each query, or user, in the order of `items`: names,
                numbers or bools, as for `pack`. Or a dict or a Series of users to these,
                or of the numbers of queries; others may be in it, too.

        Returns:
            A dict from each group to states like `states`, which `table` and `to_frame`
            take. Groups are in order of first appearance, or in that of the categories of
            a categorical Series, which states one.

        Raises:
            ValueError: if there are more or fewer groups than queries, or one is missing;
                if the values are on many devices, before `gather`.
        """
        if self._parts is not None:
            raise ValueError(
                "the values are on the devices that computed them; call by on the result "
                "of gather(), which every process must call"
            )
        categories = getattr(getattr(groups, "dtype", None), "categories", ())
        ids = self.list_ids
        ids = range(len(self.items)) if ids is None else ids
        groups = _inputs.by_ids("groups", groups, ids, self._unit)
        packed = numbered("groups", groups)
        if packed.segment_ids.shape != self.items.shape[:1]:
            raise ValueError(
                f"groups has {packed.segment_ids.size} entries; pass one for each of "
                f"{len(self.items)} {self._unit}"
            )
        # [queries] numbers of groups, and how many groups there are.
        groups_of = packed.segment_ids, len(packed.ids)
        states = {
            name: states_of_groups(self.lists[name], type(state), *groups_of)
            for name, state in self.states.items()
        }
        by_group = {
            group: {name: of_groups[index] for name, of_groups in states.items()}
            for index, group in enumerate(packed.ids.tolist())
        }
        return {x: by_group[x] for x in (*categories, *by_group) if x in by_group}

    def gather(self: E) -> E:
        """Returns the same evaluation with the values of all queries on every process.

        Without a mesh, that is this object. With one, every process must call it: arrays
        that lie on all devices become NumPy arrays, in the order of queries.
        """
        if self._parts is None:
            return self
        # Lists by name travel as a pytree, whose keys come back in alphabetical order.
        lists, items = gathered(self._parts, (self.lists, self.items))
        lists = in_order(self.lists, lists)
        return dataclasses.replace(self, lists=lists, items=items, _parts=None)

    def __repr__(self) -> str:
        """Shows the mean of each metric, the number of queries, and what some count for."""
        number = len(self.items) if self._parts is None else self._parts.num_queries
        parts = [*self._means(), f"{number} {self._unit}"]
        # Of several metrics, those of few labels, such as rel=2, are undefined more often.
        counts = [
            int(state.undefined)
            for name, state in self.states.items()
            if name.partition("@")[0] not in _OF_ITEMS_ALONE
        ]
        if any(counts):
            number = min(filter(None, counts))
            verb = {"skip": "are left out", "one": "count 1"}
            verb = verb.get(self.undefined, "count 0")
            parts.append(f"{number} with nothing relevant, which {verb}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _means(self) -> list[str]:
        return [
            f"{name} {', '.join(f'{x:.3f}' for x in np.ravel(state.compute()))}"
            for name, state in self.states.items()
        ]


def states_of(lists: dict[str, PerList], like: dict[str, Mean]) -> dict[str, Mean]:
    """Returns the states of lists by name, of the kinds of other states."""
    return {
        name: HostSums.of_lists(lists[name], type(state)).state()
        for name, state in like.items()
    }
