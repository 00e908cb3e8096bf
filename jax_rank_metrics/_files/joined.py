"""Judgements and a run, joined: their packed arrays, and metrics of them."""

import dataclasses
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._calls.names import Metrics, bind_all
from jax_rank_metrics._calls.run import Bound, measure_ranking
from jax_rank_metrics._sources.rank import rank
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList, means_of
from jax_rank_metrics._types import Undefined

if TYPE_CHECKING:
    import polars as pl


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Joined:
    """Judgements and a run as packed lists; made by `join`.

    There is a list for every query of the judgements, in the order of their first
    appearance, with an item for each of its documents, judged or retrieved. The items of
    a list are not sorted. The last items are padding, with the mask False.

    Attributes:
        labels: `[items]` int32, or float32 if a relevance is not an integer: the
            relevance; 0 where it is below 0 or unknown.
        scores: `[items]` int32, larger for documents that rank higher; equal where scores
            tie.
        mask: `[items]` bool, False for padding.
        retrieved: `[items]` bool, False for documents that were judged but not retrieved.
        columns: "judged" and "pooled", each `[items]` bool, for the metrics that read
            them. A document of the judgements is pooled; it is judged if its relevance is
            not below 0.
        segment_ids: `[items]` int32, the index of the item's query in `query_ids`; −1 for
            padding.
        num_segments: The number of queries that have judgements.
        list_weights: `[num_segments]` float32, 0 for queries that do not count, else 1.
        query_ids: `[num_segments]`, a polars series, the id of every list.
        doc_ids: `[items]`, a polars series, the id of every item; null for padding.
    """

    labels: np.ndarray
    scores: np.ndarray
    mask: np.ndarray
    retrieved: np.ndarray
    columns: dict[str, np.ndarray]
    segment_ids: np.ndarray
    num_segments: int
    list_weights: np.ndarray
    query_ids: "pl.Series"
    doc_ids: "pl.Series"

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

    def measure(self, metrics: Metrics) -> dict[str, PerList]:
        """Computes several metrics of every query.

        Args:
            metrics: As for `jax_rank_metrics.evaluate`.

        Returns:
            A dict from each name, as typed, to its values `[num_segments]`, or
            `[num_segments, k]` for several cutoffs, as NumPy arrays.

        Raises:
            ValueError: if a name is unknown or cannot be parsed.
            TypeError: if a metric has no such option.
        """
        return self._measure(bind_all(metrics))

    def evaluate(
        self, metrics: Metrics, undefined: Undefined = "zero"
    ) -> dict[str, Mean]:
        """Computes the means of several metrics over the queries that count.

        Args:
            metrics: As for `jax_rank_metrics.evaluate`.
            undefined: See `PerList.mean`.

        Returns:
            A dict from each name to its state, in the order of `metrics`.

        Raises:
            ValueError: as `measure`; or if `undefined` is none of the options.
            TypeError: as `measure`.
        """
        _inputs.option("undefined", undefined, Undefined)
        bounds = bind_all(metrics)
        lists = self._measure(bounds)
        kinds = tuple(bound.state for bound in bounds)
        states = means_of(tuple(lists.values()), undefined, kinds)
        return dict(zip(lists, states, strict=True))

    def _measure(self, bounds: tuple[Bound, ...]) -> dict[str, PerList]:
        lists = measure_ranking(bounds, rank(**self.arguments()))
        return {name: jax.device_get(x) for name, x in lists.items()}

    def __repr__(self) -> str:
        """Shows how many queries and documents there are."""
        num_skipped = int((self.list_weights == 0).sum())
        skipped = f", {num_skipped} skipped" if num_skipped else ""
        return (
            f"Joined({self.num_segments} queries{skipped}, "
            f"{int(self.columns['judged'].sum())} judged, "
            f"{int((self.retrieved & self.mask).sum())} retrieved)"
        )
