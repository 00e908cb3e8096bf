"""`Joined`: metrics of every query, and all documents as packed lists."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._calls.names import Metrics, bind_all
from jax_rank_metrics._check.remarks import remark_on_grades
from jax_rank_metrics._files.measure import (
    Places,
    measure_places,
    places_of,
    raise_overflowing,
    without_ties,
)
from jax_rank_metrics._files.sides import TOPICS, PackedItems, Sides, pack
from jax_rank_metrics._metrics.run import raise_refused, read_ranking
from jax_rank_metrics._metrics.spec import Bound
from jax_rank_metrics._ranking import data_of
from jax_rank_metrics._sources.rank import rank
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.on_host import HostSums
from jax_rank_metrics._states.per_list import PerList, weighed_by
from jax_rank_metrics._types import ListWeights, Number, Undefined

if TYPE_CHECKING:
    import polars as pl


class Joined:
    """Judgements and a run; made by `join`.

    There is a list for every query of the judgements, in the order of their first
    appearance. `evaluate` and `measure` read most metrics from the places of the judged
    documents alone, which are counted on the host. The arrays of all documents are made on
    first use: they have an item for each document of a query, judged or retrieved, list
    after list but not sorted. The last items are padding, with the mask False.

    Attributes:
        num_segments: The number of queries that have judgements.
        list_weights: `[num_segments]` float32, 0 for queries that do not count, else 1.
        query_ids: `[num_segments]`, a polars series, the id of every list.
    """

    num_segments: int
    list_weights: np.ndarray
    query_ids: "pl.Series"

    def __init__(
        self,
        sides: Sides,
        list_weights: np.ndarray,
        ties: str,
        remarks: Sequence[str] = (),
    ) -> None:
        """Holds what `join` has checked."""
        self.num_segments = len(list_weights)
        self.list_weights = list_weights
        self.query_ids = sides.query_ids
        self._sides = sides
        self._ties = ties
        self._remarks = (*remarks,)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks on what was probably not intended, of which `join` has warned."""
        return self.remarks_at(1)

    def remarks_at(self, relevance_threshold: Number) -> tuple[str, ...]:
        """Returns the remarks for metrics of this `relevance_threshold`."""
        relevance = self._sides.judged.values
        counted = relevance[np.repeat(self.list_weights > 0, self._sides.judged.counts)]
        largest = float(counted.max(initial=0))
        num_judged = int((relevance >= 0).sum())
        of_grades = remark_on_grades(num_judged, largest, relevance_threshold)
        return (*self._remarks, *of_grades)

    @property
    def labels(self) -> np.ndarray:
        """`[items]` int32, or float32 if a relevance is not an integer: the relevance.

        0 where it is below 0 or unknown.
        """
        return self._packed.labels

    @property
    def scores(self) -> np.ndarray:
        """`[items]` int32, larger for documents that rank higher, equal where they tie."""
        return self._packed.scores

    @property
    def mask(self) -> np.ndarray:
        """`[items]` bool, False for padding."""
        return self._packed.mask

    @property
    def retrieved(self) -> np.ndarray:
        """`[items]` bool, False for documents that were judged but not retrieved."""
        return self._packed.retrieved

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns "judged" and "pooled", each `[items]` bool, and perhaps "subtopics".

        A document of the judgements is pooled; it is judged if its relevance is not below
        0. Judgements of subtopics make `[items, topics]` bool, where the topics of a list
        are those to which anything is relevant, in the order of their first appearance.
        """
        return self._packed.columns

    @property
    def segment_ids(self) -> np.ndarray:
        """`[items]` int32, the index of the item's query in `query_ids`; −1 for padding."""
        return self._packed.segment_ids

    @property
    def doc_ids(self) -> "pl.Series":
        """`[items]`, a polars series, the id of every item; null for padding."""
        return self._packed.doc_ids

    def arguments(self, metrics: Metrics | None = None) -> dict[str, Any]:
        """Returns the arguments of `rank`, `evaluate` or a metric, by name.

        Args:
            metrics: The metrics to evaluate: `columns` then holds only what these read, as
                `evaluate` demands. None returns all columns, for `rank`.
        """
        columns = self.columns
        if metrics is not None:
            read_columns = {
                name
                for bound in bind_all(metrics)
                for name in (*bound.spec.columns, *bound.spec.optional_columns)
            }
            columns = {name: x for name, x in columns.items() if name in read_columns}
        names = ("labels", "scores", "mask", "retrieved", "list_weights")
        arrays = {name: getattr(self, name) for name in names}
        return arrays | {
            "segment_ids": self.segment_ids,
            "num_segments": self.num_segments,
            "columns": columns,
        }

    def measure(
        self, metrics: Metrics, list_weights: ListWeights | None = None
    ) -> dict[str, PerList]:
        """Computes several metrics of every query.

        Most metrics ask for no more than the places of the judged documents, so that few
        programs are compiled and little is computed. The others, such as `tau`, or `err`
        if documents tie, rank all documents, as `jax_rank_metrics.evaluate` does.

        Args:
            metrics: As for `jax_rank_metrics.evaluate`.
            list_weights: `[num_segments]`, what each query weighs in means, at least 0; or
                a Series, a dict or a frame by query. Queries that do not count weigh 0.

        Returns:
            A dict from each name, as typed, to its values `[num_segments]`, or
            `[num_segments, k]` for several cutoffs, as NumPy arrays.

        Raises:
            ValueError: if a name is unknown or cannot be parsed.
            TypeError: if a metric has no such option.
        """
        weights = _inputs.weights_of_lists(list_weights, self.query_ids, "queries")
        lists = self._measure(bind_all(metrics))
        if weights is None:
            return lists
        return {name: weighed_by(x, weights) for name, x in lists.items()}

    def evaluate(
        self,
        metrics: Metrics,
        undefined: Undefined = "zero",
        list_weights: ListWeights | None = None,
    ) -> dict[str, Mean]:
        """Computes the means of several metrics over the queries that count.

        Args:
            metrics: As for `jax_rank_metrics.evaluate`.
            undefined: See `PerList.mean`.
            list_weights: See `measure`.

        Returns:
            A dict from each name to its state, in the order of `metrics`.

        Raises:
            ValueError: as `measure`; or if `undefined` is none of the options.
            TypeError: as `measure`.
        """
        _inputs.option("undefined", undefined, Undefined)
        bounds = bind_all(metrics)
        lists = self.measure(bounds, list_weights)
        states = {}
        for bound in bounds:
            values = dataclasses.replace(lists[bound.name], undefined=undefined)
            states[bound.name] = HostSums.of_lists(values, bound.state).state()
        return states

    def _measure(self, bounds: tuple[Bound, ...]) -> dict[str, PerList]:
        """Reads metrics from places if these suffice, and the others from all items."""
        readers = [x.name for x in bounds if TOPICS in x.spec.columns]
        if readers and self._sides.subtopics is None:
            raise ValueError(
                f"{readers[0]} reads subtopics, which the judgements do not have; pass "
                "those of format='subtopics'"
            )
        of_places = tuple(bound for bound in bounds if bound.name not in readers)
        lists = {}
        if of_places:
            places = self._places
            lists = measure_places(of_places, places, self.list_weights, self.query_ids)
        readers_of_all = tuple(bound for bound in bounds if bound.name not in lists)
        if readers_of_all:
            ranking = data_of(rank(**self.arguments()))
            reading = jax.device_get(read_ranking(readers_of_all, ranking))
            raise_refused(reading.refused)
            raise_overflowing(reading.overflowing, self.query_ids)
            names = [bound.name for bound in readers_of_all]
            lists |= dict(zip(names, reading.values, strict=True))
        return {bound.name: lists[bound.name] for bound in bounds}

    @functools.cached_property
    def _places(self) -> Places:
        return places_of(self._sides, self._ties)

    @functools.cached_property
    def _packed(self) -> PackedItems:
        is_trec = self._ties == "trec"
        return pack(without_ties(self._sides) if is_trec else self._sides)

    def __repr__(self) -> str:
        """Shows how many queries and documents there are."""
        num_skipped = int((self.list_weights == 0).sum())
        skipped = f", {num_skipped} skipped" if num_skipped else ""
        return (
            f"Joined({self.num_segments} queries{skipped}, "
            f"{int((self._sides.judged.values >= 0).sum())} judged, "
            f"{int(self._sides.retrieved.counts.sum())} retrieved)"
        )
