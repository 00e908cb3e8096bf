"""The result of a whole evaluation: means, values of every query, and ids found."""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import numpy as np

from jax_rank_metrics._engine.calls import signatures
from jax_rank_metrics._ground import inputs, messages, types
from jax_rank_metrics._ground.inputs.list_ids import numbered, repeated_id
from jax_rank_metrics._values import merging, on_host, per_list
from jax_rank_metrics._values.mean import Mean

E = TypeVar("E", bound="Evaluation")
# What a driver measures beside the metrics of a call reads no labels.
_OF_ITEMS_ALONE = ("popularity", "novelty", "intra_list_diversity")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Evaluation(merging.StatesByName):
    """The result of a whole evaluation: means, values of every query, and ids found.

    It is a mapping from the names of metrics to their states: `evaluation["ndcg@10"]` is a
    state, and `dict(evaluation)` holds all of them. `compare`, `leaderboard`, `table` and
    the plots of runs take it as it is, and so does `compute`.

    With a mesh, all of it is the same on every process. Evaluations of slices of the
    queries are joined by `merge`, so that a long one may be saved part by part.

    Attributes:
        states: The state of each metric by its name, as from `evaluate`: a dict of what
            the mapping holds.
        lists: A `PerList` of all queries for each of these names, of NumPy arrays on the
            host. Its `undefined` is that of the call. Empty with `keep_lists=False`.
        retrieved_ids: `[queries, k]`, the ids of the first items of each query, best
            first, int32 unless `item_ids` were passed; −1 where there are no more, or None
            beside strings. Of no query with `keep_lists=False`; of files, k is 0.
        undefined: What a query counts for where a metric is undefined.
        remarks: What was probably not intended, as the call has warned; see `check`.
        query_ids: `[queries]`, the ids of queries, by which `compare` pairs them; None
            where these are 0, 1, ….
        num_queries: How many queries were evaluated.
        signature: The signature of each metric of the call, by name; see `jrm.signature`.
        list_columns: By name, what `evaluate_scored` was told to keep of each query.
    """

    # The noun for a query, which rows of frames and messages have.
    _unit, _units = "query", "queries"

    states: dict[str, Mean]
    lists: dict[str, per_list.PerList]
    retrieved_ids: np.ndarray
    undefined: types.Undefined
    remarks: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    query_ids: np.ndarray | None = dataclasses.field(default=None, kw_only=True)
    num_queries: int = dataclasses.field(default=-1, kw_only=True)
    signature: dict[str, signatures.Signature] = dataclasses.field(
        default_factory=dict, kw_only=True
    )
    list_columns: dict[str, np.ndarray] = dataclasses.field(
        default_factory=dict, kw_only=True
    )

    def __post_init__(self) -> None:
        """Counts the queries."""
        if self.num_queries < 0:
            object.__setattr__(self, "num_queries", len(self.retrieved_ids))

    @property
    def list_ids(self) -> np.ndarray | None:
        """The ids of queries, by which `compare` pairs the values of two models."""
        return self.query_ids

    @messages.short_errors()
    def by(
        self, groups: str | Iterable[Hashable] | Mapping[Any, Hashable]
    ) -> dict[Hashable, dict[str, Mean]]:
        """Returns the states of each group of queries, such as short and long ones.

        Args:
            groups: The group of each query, or user, in the order of `lists`: names,
                numbers or bools, as for `pack`. Or a dict or a Series of users to these,
                or of the numbers of queries; others may be in it, too. Or one of the
                `list_columns`, by its name.

        Returns:
            A dict from each group to states like `states`, which `table` and `to_frame`
            take. Groups are in order of first appearance, or in that of the categories of
            a categorical Series, which states one.

        Raises:
            ValueError: if there are more or fewer groups than queries, or one is missing;
                if the call had `keep_lists=False`.
        """
        if len(self.retrieved_ids) != self.num_queries:
            raise ValueError(
                "the values of queries were not kept; leave keep_lists=False out of the "
                "call, or evaluate each group by itself"
            )
        if isinstance(groups, str):
            if groups not in self.list_columns:
                raise ValueError(
                    f"groups is {groups!r}, and list_columns are {[*self.list_columns]}; "
                    f"pass one of them, or the group of each of {self._units}"
                )
            groups = self.list_columns[groups]
        categories = getattr(getattr(groups, "dtype", None), "categories", ())
        ids = self.list_ids
        ids = range(self.num_queries) if ids is None else ids
        groups = inputs.by_ids("groups", groups, ids, self._units, inputs.keys_of)
        packed = numbered("groups", groups, ids)
        if packed.segment_ids.shape != (self.num_queries,):
            raise ValueError(
                f"groups has {packed.segment_ids.size} entries; pass one for each of "
                f"{self.num_queries} {self._units}"
            )
        # [queries] numbers of groups, and how many groups there are.
        groups_of = packed.segment_ids, len(packed.ids)
        states = {
            name: on_host.states_of_groups(self.lists[name], type(state), *groups_of)
            for name, state in self.items()
        }
        by_group = {
            group: {name: of_groups[index] for name, of_groups in states.items()}
            for index, group in enumerate(packed.ids.tolist())
        }
        in_order = dict.fromkeys((*categories, *by_group))
        return {group: by_group[group] for group in in_order if group in by_group}

    def merge(self: E, *evaluations: E) -> E:
        """Joins this evaluation and those of other queries, in this order.

        `Evaluation.merge(*parts)` joins a list of parts. Lists and ids are
        concatenated, and counts are added. The result is that of one call with all of
        these queries, but for random ties, whose keys are those of each part. Queries
        without ids are numbered anew, through all parts.

        Raises:
            TypeError: if another is no such evaluation.
            ValueError: if evaluations have other metrics, another k, `undefined` or `ties`;
                if some have ids, or values of queries, and others have not; if a query is
                in two.
        """
        parts = [self, *evaluations]
        for part in parts:
            if type(part) is not type(self):
                raise TypeError(
                    f"merge: got {inputs.kind_of(part)} beside {type(self).__name__}; "
                    "pass evaluations of one kind"
                )
        for text, of_parts in (
            ("metrics", [list(part) for part in parts]),
            ("k", [part.retrieved_ids.shape[1] for part in parts]),
            ("undefined", [part.undefined for part in parts]),
            ("signatures", [list(part.signature.values()) for part in parts]),
            (
                "cutoffs",
                [[x.cutoffs for x in part.signature.values()] for part in parts],
            ),
            ("list_columns", [[*part.list_columns] for part in parts]),
            ("keep_lists", [bool(part.lists) for part in parts]),
            (f"ids of {self._units}", [part.list_ids is not None for part in parts]),
        ):
            for value in of_parts:
                if value != of_parts[0]:
                    raise ValueError(
                        f"evaluations differ in their {text}: {of_parts[0]} and {value}; "
                        "pass parts of one call, which differ in their queries alone"
                    )
        return dataclasses.replace(self, **self._joined(parts))

    def _joined(self, parts: Sequence[Any]) -> dict[str, Any]:
        """Returns the fields of the evaluation that joins parts of one kind."""
        # Dicts are joined by hand: as pytrees, their keys would be sorted.
        lists = {
            name: jax.tree.map(
                lambda *arrays: np.concatenate(arrays),
                *(part.lists[name] for part in parts),
            )
            for name in self.lists
        }
        states = {
            name: on_host.HostSums.of_lists(lists[name], type(state)).state()
            if lists
            else merging.merge(*(part[name] for part in parts))
            for name, state in self.items()
        }
        if self.list_ids is not None:  # which name each list once
            all_ids = np.concatenate(
                [part.list_ids for part in parts if part.list_ids is not None]
            )
            name = repeated_id(numbered(f"ids of {self._units}", all_ids))
            if name is not None:
                raise ValueError(
                    f"{name!r} is among the {self._units} of two evaluations; pass parts "
                    f"of which each has {self._units} of its own"
                )
        ids = [part.query_ids for part in parts if part.query_ids is not None]
        kept = {
            name: np.concatenate([part.list_columns[name] for part in parts])
            for name in self.list_columns
        }
        remarks = (remark for part in parts for remark in part.remarks)
        return {
            "states": states,
            "lists": lists,
            "retrieved_ids": np.concatenate([part.retrieved_ids for part in parts]),
            "remarks": tuple(dict.fromkeys(remarks)),
            "query_ids": np.concatenate(ids) if ids else None,
            "num_queries": sum(part.num_queries for part in parts),
            "list_columns": kept,
        }

    def __repr__(self) -> str:
        """Shows the mean of each metric, the number of queries, and what some count for."""
        parts = [*self._means(), f"{self.num_queries} {self._units}"]
        # Of several metrics, those of few labels, such as rel=2, are undefined more often.
        counts = [
            int(state.undefined)
            for name, state in self.items()
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
            f"{name} {', '.join(f'{mean:.3f}' for mean in np.ravel(state.compute()))}"
            for name, state in self.items()
        ]
