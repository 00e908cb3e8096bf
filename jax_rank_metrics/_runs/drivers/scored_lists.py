"""Measures whole lists of scored items, from ranks counted on the host or all rows."""

import collections
import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics._engine.metrics import run, spec
from jax_rank_metrics._engine.metrics.spec import Bound
from jax_rank_metrics._engine.ordering import order_on_host
from jax_rank_metrics._engine.ranking import data_of
from jax_rank_metrics._engine.sources.rank import rank
from jax_rank_metrics._ground import choices
from jax_rank_metrics._ground.inputs import padding
from jax_rank_metrics._runs.files import frames, joined, judged_run
from jax_rank_metrics._runs.files.frames import pl
from jax_rank_metrics._values import remarks
from jax_rank_metrics._values.per_list import PerList

OF_ROWS, OF_LISTS = "columns", "list_columns"  # arguments that name columns of a table


def role(argument: str, name: str) -> str:
    """Returns the name that an entry of `columns` or `list_columns` has in tables."""
    return f"{argument}[{name!r}]"


@dataclasses.dataclass
class Notes:
    """Counts of probable mistakes, over all parts of a table."""

    counts: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    examples: dict[str, object] = dataclasses.field(default_factory=dict)
    largest: float = 0.0  # the largest label

    def add(self, kind: str, flags: np.ndarray, ids: "pl.Series") -> None:
        """Counts the flagged lists as lists of a kind, and keeps the id of the first."""
        if flags.any():
            self.counts[kind] += int(flags.sum())
            self.examples.setdefault(kind, ids[int(np.argmax(flags))])

    def remarks(self, bounds: Sequence[Bound]) -> list[str]:
        """Returns the remarks on all lists."""
        counts, texts = self.counts, []
        items = counts["rows"] - counts["left_out"]

        def where(kind: str, number: int) -> str:
            return f"{counts[kind]} of {number} lists, such as {self.examples[kind]!r}"

        if counts["left_out"]:
            texts.append(
                f"{counts['left_out']} of {counts['rows']} items are left out, because "
                "their label is missing, below 0 or masked; write 0 for items that are not "
                "relevant"
            )
        if not counts["relevant"]:
            texts.append(
                f"none of {items} items of {counts['lists']} lists is relevant: no label "
                "is above 0; pass the column that tells which items are relevant as label"
            )
        threshold = spec.threshold_of(bounds)
        texts += remarks.remark_on_grades(items, self.largest, threshold)
        if counts["lists"] == 1:
            cure = "pass the name of the column of list ids as list"
            texts += remarks.remark_on_one_list(items, counts["relevant"], cure)
        if remarks.is_reversed(counts["below"], counts["above"]):
            number = counts["below"] + counts["above"]
            texts.append(remarks.reversed_scores(where("below", number)))
        if counts["tied"]:
            names = [bound.name for bound in bounds if bound.tie_reading == "order"]
            tied = where("tied", counts["lists"])
            texts.append(remarks.read_in_one_order(tied, names))
        return texts


class ScoredLists(NamedTuple):
    """Whole lists of a table; `number` counts the lists in order of first appearance."""

    rows: "pl.DataFrame"  # with `number`; the label of an item that is left out is null
    ids: "pl.Series"  # [lists]
    of_lists: "pl.DataFrame"  # [lists], the first row of each list

    @classmethod
    def of(cls, table: "pl.DataFrame") -> "ScoredLists":
        """Numbers the lists of a table.

        Raises:
            ValueError: if a list weight or a list column varies within a list, or if a list
                has an item twice.
        """
        runs = table["list"].rle().struct.unnest()
        ids, numbers = runs["value"].unique(maintain_order=True), np.arange(len(runs))
        if len(ids) < len(runs):  # some lists have rows that are not adjacent
            index = pl.DataFrame({"value": ids}).with_row_index("number")
            runs = runs.join(index, "value", "left", maintain_order="left")
            numbers = runs["number"].to_numpy()
        number = np.repeat(numbers, runs["len"].to_numpy()).astype(np.int32)
        first_rows = np.zeros(len(ids), np.int64)
        first_rows[number[::-1]] = np.arange(len(number))[::-1]
        of_lists = table[first_rows]
        for name in table.columns:
            if name != "list_weight" and not name.startswith(OF_LISTS):
                continue
            firsts = of_lists[name][number]
            row = frames.first_true(table[name].ne_missing(firsts))
            if row is not None:
                raise ValueError(
                    f"{name} is {firsts[row]!r} and {table[name][row]!r} in the list "
                    f"{table['list'][row]!r}; pass a column with one value in all rows of "
                    "a list"
                )
        rows = table.with_columns(number=number)
        if "item" in table.columns:
            row = frames.first_repeat(rows.select(query_id="number", doc_id="item"))
            if row is not None:
                raise ValueError(
                    f"item {table['item'][row]!r} is in two rows of the list "
                    f"{table['list'][row]!r}; pass one row for each item of a list"
                )
        return cls(rows, ids, of_lists)

    def measure(
        self, bounds: Sequence[Bound], ties: choices.TiesOfTables | None, notes: Notes
    ) -> dict[str, PerList]:
        """Returns the values of each metric, and adds counts of the lists to `notes`."""
        rows = self.rows.filter(pl.col("label").is_not_null())
        labels, num_rows = rows["label"].to_numpy(), len(self.rows)
        notes.largest = max(notes.largest, float(labels.max(initial=0)))
        notes.counts.update(
            lists=len(self.ids), rows=num_rows, left_out=num_rows - len(rows),
            relevant=int(np.count_nonzero(labels > 0)),
        )  # fmt: skip
        weights = None
        if "list_weight" in rows.columns:
            weights = self.of_lists["list_weight"].to_numpy().astype(np.float32)
        lists: dict[str, PerList] = {}
        readers_of_places = tuple(
            bound for bound in bounds if _reads_places(bound, rows, ties)
        )
        if readers_of_places:
            places = _places(rows, len(self.ids))
            from_middle = joined.from_middle(places)
            notes.add("below", from_middle > 0, self.ids)
            notes.add("above", from_middle < 0, self.ids)
            ones = np.ones(len(self.ids), np.float32)
            list_weights = ones if weights is None else weights
            lists = joined.measure_places(
                readers_of_places, places, list_weights, self.ids
            )
        readers_of_all = tuple(bound for bound in bounds if bound.name not in lists)
        if readers_of_all:
            lists |= self._measure_all(readers_of_all, rows, ties, weights, notes)
        return {bound.name: lists[bound.name] for bound in bounds}

    def _measure_all(
        self,
        bounds: tuple[Bound, ...],
        rows: "pl.DataFrame",
        ties: choices.TiesOfTables | None,
        list_weights: np.ndarray | None,
        notes: Notes,
    ) -> dict[str, PerList]:
        """Returns the values of metrics that need more than ranks, from all rows."""
        keys: list[Any] = [pl.col("number")]
        if ties == "trec":
            keys.append(pl.col("item").cast(pl.String))
        elif ties is None and "item" in rows.columns:
            keys.append(pl.col("item").hash())  # orders tied items
        descending = [False, ties == "trec"][: len(keys)]
        rows = order_on_host.by_columns(rows, keys, descending)
        number, scores = rows["number"].to_numpy(), rows["score"].rank("dense")

        def column(name: str) -> np.ndarray | None:
            return rows[name].to_numpy() if name in rows.columns else None

        read = sorted({name for bound in bounds for name in bound.spec.all_columns})
        columns = {name: column(role(OF_ROWS, name)) for name in read}
        items: dict[str, Any] = {
            "labels": judged_run.labels_of(rows["label"].to_numpy()),
            "scores": scores.fill_null(0).to_numpy().astype(np.int32),
            "weights": column("weight"),
            "retrieved": column("retrieved"),
            "columns": {
                name: columns[name] for name in read if columns[name] is not None
            },
        }
        if ties is None and any(bound.tie_reading == "order" for bound in bounds):
            values = items["scores"], items["labels"], items["labels"]
            tied = remarks.collides(number, *values, len(self.ids))
            notes.add("tied", tied, self.ids)
        readings, indices = [], []
        counts = np.bincount(number, minlength=len(self.ids))
        for block in padding.padded_blocks(np.append(0, np.cumsum(counts))):
            weights = None if list_weights is None else block.per_list(list_weights)
            ranking = rank(
                mask=block.exists,
                ties="stable" if ties == "trec" else ties,
                list_weights=weights,
                **jax.tree.map(block.items, items),
            )
            readings.append(jax.device_get(run.read_ranking(bounds, data_of(ranking))))
            indices.append(block.indices)
        return joined.values_of(joined.in_lists(readings, indices), bounds, self.ids)


def _reads_places(
    bound: Bound, rows: "pl.DataFrame", ties: choices.TiesOfTables | None
) -> bool:
    """True if a metric needs only the ranks of relevant items."""
    if ties not in (None, "expected") or "weight" in rows.columns:
        return False
    has_read = any(
        name in joined.COLUMNS or role(OF_ROWS, name) in rows.columns
        for name in bound.spec.all_columns
    )
    return not has_read and (ties is None or bound.tie_reading != "order")


def _places(rows: "pl.DataFrame", num_lists: int) -> joined.Places:
    """Returns the `Places` of items that are relevant or were not retrieved."""
    rows = rows.select("number", "score", "label")
    rows = order_on_host.by_columns(rows, ["number", "score"], [False, True], False)
    number, labels = rows["number"].to_numpy(), rows["label"].to_numpy()
    is_ranked = rows["score"].is_not_null().to_numpy()
    keys = pl.col("number", "score")
    begins = rows.select(pl.any_horizontal(keys.ne_missing(keys.shift(1)))).to_series()
    group_starts = np.flatnonzero(begins.to_numpy())
    sizes = np.diff(group_starts, append=len(rows))
    counts = np.bincount(number, minlength=num_lists)
    kept = np.flatnonzero((labels > 0) | ~is_ranked)
    groups = group_starts.searchsorted(kept, "right") - 1
    above = group_starts[groups] - (np.cumsum(counts) - counts)[number[kept]]
    tied, num_retrieved = (
        sizes[groups],
        np.bincount(number[is_ranked], minlength=num_lists),
    )
    return joined.Places(
        starts=np.append(0, np.cumsum(np.bincount(number[kept], minlength=num_lists))),
        relevance=labels[kept],
        retrieved=is_ranked[kept],
        above=above.astype(np.int32),
        tied=tied.astype(np.int32),
        num_retrieved=num_retrieved.astype(np.int32),
        middle=above + (tied - 1) / 2,
    )
