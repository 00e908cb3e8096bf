"""The result of a whole evaluation: means, values of every query, and retrieved ids."""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import numpy as np

from jax_rank_metrics._engine.calls import signatures
from jax_rank_metrics._engine.ordering import order_on_host
from jax_rank_metrics._ground import inputs, messages, types
from jax_rank_metrics._ground.inputs.list_ids import numbered, repeated_id
from jax_rank_metrics._names import facts
from jax_rank_metrics._values import merging, on_host, per_list
from jax_rank_metrics._values.mean import Mean

E = TypeVar("E", bound="Evaluation")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Evaluation(merging.StatesByName):
    """The result of a whole evaluation: means, values of every query, and retrieved ids.

    It is a mapping from the names of metrics to their states: `evaluation["ndcg@10"]` is a
    state, and `dict(evaluation)` holds all of them. `compute`, `compare`, `leaderboard`,
    `table` and the plots of runs accept it directly.

    With a mesh, every process has the same result. `merge` joins evaluations of slices of
    the queries, so a long evaluation may be saved part by part.

    Attributes:
        states: A dict from the name of each metric to its state, as from `evaluate`; it
            has the entries of the mapping.
        lists: A dict from the same names to a `PerList` of all queries, of NumPy arrays on
            the host, with the `undefined` of the call. Empty with `keep_lists=False`.
        retrieved_ids: `[queries, k]`, the ids of the first items of each query, best
            first, int32 unless `item_ids` were passed. If a query has fewer items, the row
            ends with −1, or with None if ids are strings. With `keep_lists=False` there
            are no rows; for files, k is 0.
        undefined: How a query counts in means if a metric is undefined; see `PerList.mean`.
        remarks: The warnings of the call about probable mistakes; see `check`.
        query_ids: `[queries]`, the ids by which `compare` pairs queries; None if the ids
            are 0, 1, ….
        num_queries: How many queries were evaluated.
        signature: A dict from the name of each metric to its signature; see
            `jrm.signature`.
        list_columns: A dict from the names of the columns that `evaluate_scored` was told
            to keep to their values, one for each query.
    """

    # The nouns for one query and for several, in frames and messages.
    _unit, _units = "query", "queries"
    # The fields that have an entry for each query: arrays, or dicts of arrays or lists.
    _of_queries = ("lists", "retrieved_ids", "query_ids", "list_columns")

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
        """Counts the queries, unless their number was passed."""
        if self.num_queries < 0:
            object.__setattr__(self, "num_queries", len(self.retrieved_ids))

    @property
    def list_ids(self) -> np.ndarray | None:
        """The ids of queries, by which `compare` pairs the values of two models."""
        return self.query_ids

    @messages.short_errors()
    def by(
        self: E, groups: str | Iterable[Hashable] | Mapping[Any, Hashable]
    ) -> dict[Hashable, E]:
        """Returns the evaluation of each group of queries, such as short and long ones.

        Args:
            groups: The group of each query, or user, in the order of `lists`: names,
                numbers or bools, as for `pack`. Or a dict or a Series from ids to groups,
                or, if queries have no ids, from their numbers to groups; it may hold other
                ids, too. Or the name of one of the `list_columns`.

        Returns:
            A dict from each group to the evaluation of its queries, which `table`,
            `to_frame` and `plots.by_group` accept directly; `compare` pairs the queries of
            a group with the same group's queries of another model. Queries without ids
            get their numbers as `query_ids`. Groups are in order of first appearance; the
            groups of a categorical Series are in the order of its categories. Evaluations
            of groups have no `remarks`, because the counts in remarks are of all queries.

        Raises:
            ValueError: if there are more or fewer groups than queries, or a group is
                missing; if the call had `keep_lists=False`.
        """
        if len(self.retrieved_ids) != self.num_queries:
            raise ValueError(
                "the values of queries were not kept; leave keep_lists=False out of the "
                "call, or evaluate each group by itself"
            )
        if isinstance(groups, str):
            if groups not in self.list_columns:
                cure = f"list_columns=[{groups!r}] to evaluate_scored"
                if self.list_columns:
                    cure = "one of them"
                raise ValueError(
                    f"groups is {groups!r}, but list_columns are {[*self.list_columns]}; "
                    f"pass {cure}, or the groups of all {self._units}"
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
        # [queries] the number of each query's group, and the number of groups.
        groups_of = packed.segment_ids, len(packed.ids)
        states = {
            name: on_host.states_of_groups(self.lists[name], type(state), *groups_of)
            for name, state in self.items()
        }
        # Sort queries by group, in their order within it, so that each group is a slice.
        rows, named = np.arange(self.num_queries), self
        order = order_on_host.in_rank_order(packed.segment_ids, rows)
        if self.list_ids is None:
            named = dataclasses.replace(self, query_ids=rows)
        arrays, tree = named._arrays()
        arrays = [np.asarray(array)[order] for array in arrays]
        ends = np.cumsum(np.bincount(packed.segment_ids)).tolist()
        by_group, start = {}, 0
        for index, (group, stop) in enumerate(
            zip(packed.ids.tolist(), ends, strict=True)
        ):
            by_group[group] = named._with_arrays(
                [array[start:stop] for array in arrays],
                tree,
                states={
                    name: group_states[index] for name, group_states in states.items()
                },
                remarks=(),
                num_queries=stop - start,
            )
            start = stop
        in_order = dict.fromkeys((*categories, *by_group))
        return {group: by_group[group] for group in in_order if group in by_group}

    def merge(self: E, *evaluations: E) -> E:
        """Joins this evaluation and evaluations of other queries, in this order.

        `Evaluation.merge(*parts)` joins a list of parts. Lists and ids are
        concatenated, and counts are added. The result equals one call with all of these
        queries, except for random ties, because each part draws ties with its own key.
        Queries without ids are numbered anew, through all parts.

        Raises:
            TypeError: if evaluations differ in type.
            ValueError: if evaluations differ in their metrics, k, `undefined` or `ties`; if
                some have ids, or values of queries, and others have not; if a query is in
                two evaluations.
        """
        parts = [self, *evaluations]
        for part in parts:
            if type(part) is not type(self):
                raise TypeError(
                    f"merge: got {inputs.kind_of(part)} beside {type(self).__name__}; "
                    "pass evaluations of one kind"
                )
            for (text, first), value in zip(
                self._shared().items(), part._shared().values(), strict=True
            ):
                if value != first:
                    raise ValueError(
                        f"evaluations differ in their {text}: {first} and {value}; "
                        "pass parts of one call, which differ in their queries alone"
                    )
        return self._joined(parts)

    def _shared(self) -> dict[str, Any]:
        """Returns the properties that merged evaluations must share, named as in errors."""
        return {
            "metrics": list(self),
            "k": self.retrieved_ids.shape[1],
            "undefined": self.undefined,
            "signatures": list(self.signature.values()),
            "cutoffs": [signature.cutoffs for signature in self.signature.values()],
            "list_columns": [*self.list_columns],
            "keep_lists": bool(self.lists),
            f"ids of {self._units}": self.list_ids is not None,
        }

    def _joined(self, parts: Sequence[Any]) -> Any:
        """Returns the evaluation that joins parts of one kind."""
        _, tree = self._arrays()
        part_arrays = zip(*(part._arrays()[0] for part in parts), strict=True)
        joined = self._with_arrays([*map(np.concatenate, part_arrays)], tree)
        states = {
            name: on_host.HostSums.of_lists(joined.lists[name], type(state)).state()
            if joined.lists
            else merging.merge(*(part[name] for part in parts))
            for name, state in self.items()
        }
        if joined.list_ids is not None:  # an id must name one list
            name = repeated_id(numbered(f"ids of {self._units}", joined.list_ids))
            if name is not None:
                raise ValueError(
                    f"{name!r} is among the {self._units} of two evaluations; merge "
                    f"evaluations of different {self._units}"
                )
        remarks = (remark for part in parts for remark in part.remarks)
        return dataclasses.replace(
            joined,
            states=states,
            remarks=tuple(dict.fromkeys(remarks)),
            num_queries=sum(part.num_queries for part in parts),
        )

    def _arrays(self) -> tuple[list[Any], Any]:
        """Returns the arrays with an entry for each query, and their tree."""
        fields = [getattr(self, name) for name in self._of_queries]
        # Pass the values of dicts as lists, because JAX would sort them by key.
        return jax.tree.flatten(
            [
                [*field.values()] if isinstance(field, dict) else field
                for field in fields
            ]
        )

    def _with_arrays(self: E, arrays: list[Any], tree: Any, **changes: Any) -> E:
        """Returns the evaluation with new values of `_arrays`, and with other changes."""
        values = jax.tree.unflatten(tree, arrays)
        for name, value in zip(self._of_queries, values, strict=True):
            field = getattr(self, name)
            is_dict = isinstance(field, dict)
            changes[name] = dict(zip(field, value, strict=True)) if is_dict else value
        return dataclasses.replace(self, **changes)

    def __repr__(self) -> str:
        """Shows metrics' means, the number of queries, and how undefined values count."""
        parts = [*self._means(), f"{self.num_queries} {self._units}"]
        # Show the smallest count above 0, because metrics that need higher labels, such as
        # rel=2, are undefined for more queries.
        counts = [
            int(state.undefined)
            for name, state in self.items()
            if facts.facts_of(name).reads_labels
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
