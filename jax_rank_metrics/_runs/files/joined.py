"""`Joined`: metrics of every query, most of them from the ranks of judged documents alone.

Metrics that need all documents read packed lists, which are made on first use.
"""

import dataclasses
import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics._engine.calls import signatures
from jax_rank_metrics._engine.calls.binding import Metrics, bind_all
from jax_rank_metrics._engine.items import RawItems
from jax_rank_metrics._engine.metrics.run import (
    Reading,
    check_columns,
    raise_refused,
    read,
    read_ranking,
)
from jax_rank_metrics._engine.metrics.spec import Bound, threshold_of
from jax_rank_metrics._engine.ordering import order_on_host
from jax_rank_metrics._engine.ranking import UnknownPlaceError, data_of
from jax_rank_metrics._engine.sources import item_columns
from jax_rank_metrics._engine.sources.places import MAX_RANKS, rank_at_places
from jax_rank_metrics._engine.sources.rank import rank
from jax_rank_metrics._ground import gains, inputs, one_off, types
from jax_rank_metrics._ground.inputs import padding
from jax_rank_metrics._runs.evaluation import Evaluation
from jax_rank_metrics._runs.files import judged_run
from jax_rank_metrics._runs.files.frames import pl
from jax_rank_metrics._values import mean, on_host, per_list, remarks
from jax_rank_metrics._values.remarks import FlatLists, remark_on_grades, remark_on_ties

_UNRANKED = 2**31 - 1  # the key of documents without a rank, which come last


class Places(NamedTuple):
    """All judged documents, list after list, each list in rank order.

    Documents that were not retrieved come last in their list.
    """

    starts: np.ndarray  # [lists + 1], where the documents of each list begin and end
    relevance: np.ndarray  # [documents]
    retrieved: np.ndarray  # [documents] bool, True if the document has a rank
    above: np.ndarray  # [documents] int32, how many rank strictly above the tie group
    tied: np.ndarray  # [documents] int32, the size of the document's tie group
    num_retrieved: np.ndarray  # [lists] int32
    rows: np.ndarray = np.zeros(0, int)  # [documents], rows of the judgements, if known
    middle: np.ndarray = np.zeros(0)  # [documents], mean ranks in tie groups, from 0


class Joined:
    """Judgements and a run; made by `join`.

    There is a list for every query of the judgements, in the order of first appearance.
    `evaluate` and `measure` compute most metrics from the ranks of the judged documents
    alone, which are counted on the host. The arrays of all documents are made on first use:
    they have an item for each judged or retrieved document of a query. Items are in the
    order of the lists, but not sorted within a list. The last items are padding, with mask
    False.

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
        run: judged_run.JudgedRun,
        list_weights: np.ndarray,
        ties: str,
        remarks: Sequence[str] = (),
        choices: Mapping[str, str | int | None] | None = None,
        item_columns: types.ItemColumns | None = None,
    ) -> None:
        """Keeps arguments that `join` has checked."""
        self.num_segments = len(list_weights)
        self.list_weights = list_weights
        self.query_ids = run.query_ids
        self._run = run
        self._ties = ties
        self._remarks = (*remarks,)
        self._choices = dict(choices or {})  # for signatures
        self._item_columns = inputs.columns_by_id("item_columns", item_columns or {})

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks on probable mistakes, about which `join` has warned."""
        return self.remarks_at(1)

    def remarks_at(self, relevance_threshold: types.Number) -> tuple[str, ...]:
        """Returns the remarks for metrics of this `relevance_threshold`."""
        relevance = self._run.judged.values
        counted = relevance[np.repeat(self.list_weights > 0, self._run.judged.counts)]
        largest = float(counted.max(initial=0))
        num_judged = int((relevance >= 0).sum())
        grade_remarks = remark_on_grades(num_judged, largest, relevance_threshold)
        return (*self._remarks, *grade_remarks, *self._of_order)

    @functools.cached_property
    def _of_order(self) -> list[str]:
        """A remark if relevant documents mostly rank below the middle of their lists."""
        amounts = from_middle(self._places)
        losses, wins = np.count_nonzero(amounts > 0), np.count_nonzero(amounts < 0)
        if not remarks.is_reversed(losses, wins):
            return []
        first = self.query_ids[int(np.argmax(amounts > 0))]
        where = f"{losses} of {losses + wins} queries, such as {first!r}"
        return [remarks.reversed_scores(where)]

    def reads_hash(self, bound: Bound) -> bool:
        """True if a metric reads tied documents in the order of a hash."""
        return self._ties != "trec" and bound.tie_reading == "order"

    @property
    def labels(self) -> np.ndarray:
        """`[items]`, the relevance; 0 if the relevance is below 0 or unknown.

        The dtype is int32, or float32 if a relevance is not an integer or exceeds int32.
        """
        return self._packed.labels

    @property
    def scores(self) -> np.ndarray:
        """`[items]` int32, larger for documents that rank higher, equal if they tie."""
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
        """The columns "judged" and "pooled", each `[items]` bool, and perhaps others.

        Every document of the judgements is pooled; it is judged if its relevance is not
        below 0. Judgements of subtopics add "subtopics", `[items, topics]` bool, with a
        topic for each subtopic of the list that has relevant documents, in the order of
        first appearance. The `item_columns` of `join` are columns, too.
        """
        return self._packed.columns | {
            name: self._columns_by_document[name] for name in self._item_columns
        }

    @functools.cached_property
    def _columns_by_document(self) -> dict[str, np.ndarray]:
        """The item columns and the columns that metrics prepare from them, as a dict.

        Each is `[items, …]` float32.
        """
        doc_ids, columns = self.doc_ids, {}
        exists = doc_ids.is_not_null()
        for name, (labels, values) in self._item_columns.items():
            array = inputs.item_columns({name: values})[name]
            title = f"item_columns[{name!r}]"
            inputs.refuse_missing(
                f"the id of items in {title}", labels, "an id, or leave that item out"
            )
            texts = pl.Series("id", [*map(_text_of, labels)], pl.String)
            ids = texts.cast(doc_ids.dtype, strict=False)
            if (others := texts.filter(ids.is_null())).len():
                raise ValueError(
                    f"{title} names document {others[0]!r}, but documents of qrels and run "
                    "are integers; pass ids of one kind"
                )
            if (is_repeated := ids.is_duplicated()).any():
                raise ValueError(
                    f"{title} names document {ids.filter(is_repeated)[0]!r} more than "
                    "once; pass one value for each document"
                )
            row_numbers = pl.DataFrame({"id": doc_ids}).join(
                pl.DataFrame({"id": ids}).with_row_index("row"),
                on="id",
                how="left",
                maintain_order="left",
            )["row"]
            if (absent := doc_ids.filter(row_numbers.is_null() & exists)).len():
                raise ValueError(
                    f"{title} lacks document {absent[0]!r} and {absent.n_unique() - 1} "
                    "others; pass a value for every document of qrels and run"
                )
            indices = row_numbers.fill_null(0).to_numpy()
            for key, values in item_columns.made_of({name: array}).items():
                columns[key] = np.asarray(values)[indices]
        return columns

    @property
    def segment_ids(self) -> np.ndarray:
        """`[items]` int32, the index of the item's query in `query_ids`; −1 for padding."""
        return self._packed.segment_ids

    @property
    def doc_ids(self) -> "pl.Series":
        """`[items]`, a polars series, the id of every item; null for padding."""
        return self._packed.doc_ids

    def arguments(self, metrics: Metrics | None = None) -> dict[str, Any]:
        """Returns a dict of the arguments of `rank`, `evaluate` or a metric.

        Args:
            metrics: The metrics to evaluate. `columns` then holds only the columns that
                these metrics read, because `evaluate` refuses other columns, and item
                columns in their prepared form. None returns all columns, for `rank`.

        Raises:
            ValueError: if two of the metrics prepare an item column in different ways.
        """
        columns = self.columns
        if self._item_columns:
            columns |= self._columns_by_document
        if metrics is not None:
            specs = [bound.spec for bound in bind_all(metrics)]
            read = {column for spec in specs for column in spec.all_columns}
            columns = {name: columns[name] for name in columns if name in read}
            for name, key in {pair for spec in specs for pair in spec.prepared}:
                if (
                    len({spec.key_of(name) for spec in specs if name in spec.columns})
                    > 1
                ):
                    raise ValueError(
                        f"these metrics prepare {name!r} in several ways; pass one of the "
                        "metrics at a time, or call .evaluate(metrics) of the Joined"
                    )
                columns[name] = self._columns_by_document[key]
        names = ("labels", "scores", "mask", "retrieved", "list_weights")
        names += ("segment_ids", "num_segments")
        return {name: getattr(self, name) for name in names} | {"columns": columns}

    def measure(
        self, metrics: Metrics, list_weights: types.ListWeights | None = None
    ) -> dict[str, per_list.PerList]:
        """Computes several metrics of every query.

        Most metrics need only the ranks of the judged documents, so few programs are
        compiled and little is computed. Other metrics, such as `tau`, or `inst` if
        documents tie, rank all documents, as `jax_rank_metrics.evaluate` does.

        Args:
            metrics: As for `jax_rank_metrics.evaluate`.
            list_weights: `[num_segments]`, the weight of each query in means, at least 0;
                or a Series, a dict or a frame keyed by query. Queries that do not count
                keep the weight 0.

        Returns:
            A dict from each name, as typed, to its values `[num_segments]`, or
            `[num_segments, k]` for several cutoffs, as NumPy arrays.

        Raises:
            ValueError: if a name is unknown or cannot be parsed.
            TypeError: if a metric has no such option.
        """
        weights = inputs.weights_of_lists(list_weights, self.query_ids, "queries")
        bounds = bind_all(metrics)
        topic_readers = [
            bound.name for bound in bounds if judged_run.TOPICS in bound.spec.columns
        ]
        if topic_readers and self._run.subtopics is None:
            raise ValueError(
                f"{topic_readers[0]} reads subtopics, which the judgements do not have; "
                "pass judgements of format='subtopics'"
            )
        # Item columns also describe documents without a judgement, so metrics that read
        # item columns need more than the ranks of judged documents.
        item_readers = [bound.name for bound in bounds if bound.spec.item_columns]
        readers = [*topic_readers, *item_readers]
        readers_of_places = tuple(
            bound for bound in bounds if bound.name not in readers
        )
        lists = {}
        if readers_of_places:
            places = self._places
            lists = measure_places(
                readers_of_places, places, self.list_weights, self.query_ids
            )
        readers_of_all = tuple(bound for bound in bounds if bound.name not in lists)
        if readers_of_all:
            ranking = data_of(rank(**self.arguments()))
            reading = jax.device_get(read_ranking(readers_of_all, ranking))
            lists |= values_of(reading, readers_of_all, self.query_ids)
        lists = {bound.name: lists[bound.name] for bound in bounds}
        if weights is None:
            return lists
        return {name: per_list.weighed_by(lists[name], weights) for name in lists}

    def evaluate(
        self,
        metrics: Metrics,
        undefined: types.Undefined = "zero",
        list_weights: types.ListWeights | None = None,
    ) -> dict[str, mean.Mean]:
        """Computes the means of several metrics over the queries that count.

        Args:
            metrics: As for `jax_rank_metrics.evaluate`.
            undefined: See `PerList.mean`.
            list_weights: See `measure`.

        Returns:
            A dict from each name to its state, in the order of `metrics`.

        Raises:
            ValueError: as `measure`; or if `undefined` is not one of the options.
            TypeError: as `measure`.
        """
        return self._evaluate(bind_all(metrics), undefined, list_weights)[0]

    def evaluation(
        self,
        metrics: Metrics,
        undefined: types.Undefined = "zero",
        list_weights: types.ListWeights | None = None,
    ) -> Evaluation:
        """Computes several metrics, and keeps means and values with the ids of queries.

        `compare`, `leaderboard`, `table`, `to_frame` and the plots of runs take the result
        as it is, and pair queries by their ids.

        Args:
            metrics: As for `jax_rank_metrics.evaluate`.
            undefined: See `PerList.mean`.
            list_weights: See `measure`.

        Returns:
            An `Evaluation` with the states of `evaluate`, the lists of `measure`,
            `query_ids`, `signature`, and `remarks`, which also name metrics that read tied
            documents in one order. Its `retrieved_ids` are empty, `[queries, 0]`, because
            `doc_ids` holds the documents of all queries.

        Raises:
            ValueError: as `evaluate`.
            TypeError: as `evaluate`.

        >>> from jax_rank_metrics import join, table
        >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
        >>> joined = join(qrels, {"q1": {"a": 0.5, "b": 0.9}, "q2": {"x": 0.2, "a": 0.1}})
        >>> evaluation = joined.evaluation(("recall@1,2", "mrr"))
        >>> evaluation
        Evaluation(recall@1,2 0.000, 1.000, mrr 0.500, 2 queries)
        >>> evaluation.query_ids.tolist(), evaluation.lists["mrr"].values.tolist()
        (['q1', 'q2'], [0.5, 0.5])
        """
        bounds = bind_all(metrics)
        states, lists = self._evaluate(bounds, undefined, list_weights)
        threshold = threshold_of(bounds)
        remarks = self.remarks_at(threshold)
        if any(map(self.reads_hash, bounds)):
            documents: Any = lists_of_joined(self, threshold, bounds)
            remarks += (*remark_on_ties(documents, documents.scores),)
        return Evaluation(
            states,
            lists,
            np.zeros((self.num_segments, 0), np.int32),
            undefined,
            remarks=remarks,
            query_ids=self.query_ids.to_numpy(),
            signature=self._signature(bounds, undefined, list_weights),
        )

    def _evaluate(
        self,
        bounds: tuple[Bound, ...],
        undefined: types.Undefined,
        list_weights: types.ListWeights | None,
    ) -> tuple[dict[str, mean.Mean], dict[str, per_list.PerList]]:
        """Returns the state of each metric, and its values."""
        inputs.option("undefined", undefined, types.Undefined)
        return means_of(self.measure(bounds, list_weights), bounds, undefined)

    def signature(
        self, metrics: Metrics, undefined: types.Undefined = "zero"
    ) -> dict[str, signatures.Signature]:
        """Returns the signature of each metric as it is measured here.

        Args:
            metrics: As for `measure`.
            undefined: As for `evaluate`.

        Returns:
            A dict from each name, as typed, to its `Signature`.

        Raises:
            ValueError: as `measure`; or if `undefined` is not one of the options.
            TypeError: as `measure`.

        >>> from jax_rank_metrics import join
        >>> joined = join({"q": {"a": 1}}, {"q": {"a": 2, "x": 1}}, ties="trec")
        >>> joined.signature("map")["map"]
        'ap|ties:id-desc|duplicates:error|negative:unjudged|nan:error|def:1'
        """
        return self._signature(bind_all(metrics), undefined, None)

    def _signature(
        self,
        bounds: tuple[Bound, ...],
        undefined: types.Undefined,
        list_weights: types.ListWeights | None,
    ) -> dict[str, signatures.Signature]:
        """Returns the signature of each metric, measured with these list weights."""
        choices = self._choices | signatures.chosen(weights=list_weights)
        choices["undefined"] = undefined
        return {bound.name: signatures.signature(bound, **choices) for bound in bounds}

    def relevant_ranks(
        self, query: str | int, relevance_threshold: types.Number | None = None
    ) -> dict[str | int, float]:
        """Returns a dict from the relevant documents of a query to ranks, best first.

        Ranks count from 1. A document that ties has the mean rank of its tie group. A
        document that was not retrieved has the rank inf.

        Args:
            query: The id of the query.
            relevance_threshold: The lowest relevance that counts as relevant. None means
                any relevance above 0.

        Raises:
            KeyError: if there are no judgements of the query.

        >>> from jax_rank_metrics import join
        >>> joined = join({"q": {"a": 1, "b": 2, "c": 1}}, {"q": {"c": 1, "x": 2, "a": 1}})
        >>> joined.relevant_ranks("q")
        {'a': 2.5, 'c': 2.5, 'b': inf}
        """
        ranges = self.relevant_ranges(query, relevance_threshold)
        return {name: (first + last) / 2 for name, (first, last) in ranges.items()}

    def relevant_ranges(
        self, query: str | int, relevance_threshold: types.Number | None = None
    ) -> dict[str | int, tuple[float, float]]:
        """Returns a dict from relevant documents to the first and last possible rank.

        The two ranks differ if the document ties; `relevant_ranks` returns their mean.
        """
        places, (indices, ids) = self._places, self._ids
        rows = slice(*places.starts[indices[query] :][:2])
        threshold = math.ulp(0) if relevance_threshold is None else relevance_threshold
        relevant = np.arange(len(ids))[rows][places.relevance[rows] >= threshold]
        above = np.where(places.retrieved[relevant], places.above[relevant], np.inf)
        ranges = zip(above + 1, above + places.tied[relevant], strict=True)
        pairs = [(float(first), float(last)) for first, last in ranges]
        return dict(zip(ids[places.rows[relevant]], pairs, strict=True))

    @functools.cached_property
    def _ids(self) -> "tuple[dict[str | int, int], pl.Series]":
        """A dict from queries' ids to indices, and the documents of judgements' rows."""
        indices = {query: index for index, query in enumerate(self.query_ids)}
        return indices, self._run.judged.doc_ids

    @functools.cached_property
    def _places(self) -> Places:
        return places_of(self._run, self._ties)

    @functools.cached_property
    def _digests(self) -> "Digests":
        run = self._run
        queries, judged = run.query_ids.cast(pl.String), run.judged
        columns = (
            queries[judged.list_ids()],
            judged.doc_ids.cast(pl.String),
            judged.values,
        )
        lines = ("\t".join(map(str, line)) for line in zip(*columns, strict=True))
        rows, _ = _in_definite_order(run)
        values, counts = run.retrieved.values[rows], run.retrieved.counts
        ends = np.cumsum(counts)
        begins = np.append(True, values[1:] != values[:-1])
        begins[np.append(0, ends)[:-1][counts > 0]] = True
        # Documents that tie share a line, so that the digest tells ties from an order.
        separators = np.where(begins, "\n", "\t").tolist()
        ids = run.retrieved.doc_ids[rows].cast(pl.String).to_list()
        texts = list(map("".join, zip(separators, ids, strict=True)))
        ranges = map(slice, ends - counts, ends)
        rankings = {
            query: _digest("".join(texts[query_range]))
            for query, query_range in zip(queries.to_list(), ranges, strict=True)
        }
        return Digests(_digest("\n".join(sorted(lines))), rankings)

    @functools.cached_property
    def _packed(self) -> judged_run.PackedItems:
        is_trec = self._ties == "trec"
        return judged_run.pack(without_ties(self._run) if is_trec else self._run)

    def __repr__(self) -> str:
        """Shows the number of queries and documents."""
        num_skipped = int((self.list_weights == 0).sum())
        skipped = f", {num_skipped} skipped" if num_skipped else ""
        return (
            f"Joined({self.num_segments} queries{skipped}, "
            f"{int((self._run.judged.values >= 0).sum())} judged, "
            f"{int(self._run.retrieved.counts.sum())} retrieved)"
        )


def _text_of(label: object) -> str:
    """Returns an id as text; pandas may have made a float of an integer."""
    is_whole = isinstance(label, (float, np.floating)) and label == label // 1
    return str(int(label)) if is_whole else str(label)  # type: ignore[call-overload]


def lists_of_joined(
    joined: Joined, threshold: types.Number, metrics: Sequence[Bound]
) -> FlatLists:
    """Returns the documents of the run as flat lists, for remarks."""
    labels, retrieved = joined.labels, joined.retrieved
    return FlatLists(
        labels=labels.astype(np.float64),
        scores=joined.scores.astype(np.float64),
        exists=retrieved,
        relevant=retrieved & (labels >= labels.dtype.type(threshold)),
        list_numbers=np.where(retrieved, joined.segment_ids, 0),
        shape=(joined.num_segments,),
        in_order=[bound.name for bound in metrics if joined.reads_hash(bound)],
    )


class Digests(NamedTuple):
    """Digests that tell whether judgements and rankings equal the ones of a saved file."""

    judgements: str
    rankings: dict[str, str]  # from queries to digests of documents in rank order


def digests_of(joined: Joined) -> Digests:
    """Returns the digests of judgements and rankings; the order of rows does not matter."""
    return joined._digests


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def keep_first(run: judged_run.JudgedRun, depth: int) -> judged_run.JudgedRun:
    """Returns the run with the first documents of each list; in a tie, last ids come first.

    Args:
        run: Judgements and a run.
        depth: How many documents of each list to keep.
    """
    rows, above = _in_definite_order(run)
    is_kept = np.zeros(len(run.retrieved.values), bool)
    is_kept[rows[above < depth]] = True
    return run.keep(is_kept)


def without_ties(run: judged_run.JudgedRun) -> judged_run.JudgedRun:
    """Returns a run in which no documents tie, because ids order equal scores.

    The new scores are minus the number of documents above each document.
    """
    rows, above = _in_definite_order(run)
    values = run.retrieved.values.copy()
    values[rows] = -above
    return run._replace(retrieved=run.retrieved._replace(values=values))


def _in_definite_order(run: judged_run.JudgedRun) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rows of the run, list after list in rank order, and ranks from 0.

    Documents with equal scores are in the order of trec_eval.
    """
    retrieved, ranges = run.retrieved, run.retrieved.ranges()
    rows = order_on_host.best_rows(retrieved.values, ranges)
    values, counts = retrieved.values[rows], retrieved.counts
    first_of_list = np.repeat(np.cumsum(counts) - counts, counts)
    # Scores 9 7 7 5 of a list make the groups 1 2 2 3, and group 2 is tied.
    begins = np.ones(len(rows), bool)
    begins[1:] = values[1:] != values[:-1]
    begins[first_of_list] = True
    tied = np.flatnonzero(~begins | ~np.append(begins[1:], True))
    if len(tied):
        ids = run.retrieved.doc_ids[rows[tied]].cast(pl.String)
        order = _by_last_id(np.cumsum(begins)[tied], ids)
        rows[tied] = rows[tied][order]
    return rows, np.arange(len(rows)) - first_of_list


def _by_last_id(groups: np.ndarray, ids: "pl.Series") -> np.ndarray:
    """Returns the indices that sort documents by group, and within a group by falling id.

    Ids are strings, compared by their bytes. Equal ids keep their order.
    """
    frame = pl.DataFrame({"group": groups, "id": ids})
    keys = pl.arg_sort_by("group", "id", descending=[False, True], maintain_order=True)
    return frame.select(keys).to_series().to_numpy()


def places_of(run: judged_run.JudgedRun, ties: str) -> Places:
    """Counts the documents above each judged document, and the documents tied with it.

    Args:
        run: Judgements and a run.
        ties: See `join`. With "trec", no documents tie.
    """
    counts, values = run.retrieved.counts, run.retrieved.values
    is_ranked, lists = run.is_retrieved, run.judged.list_ids()
    above, tied = np.zeros((2, len(lists)), np.int32)
    above[is_ranked], tied[is_ranked] = order_on_host.count_places(
        [values[rows] for rows in run.retrieved.ranges()],
        values[run.retrieved_rows[is_ranked]],
        _starts(np.bincount(lists[is_ranked], minlength=len(counts))),
    )
    middle = above + (tied - 1) / 2
    if ties == "trec":
        rows = np.flatnonzero(tied > 1)
        if len(rows):
            above[rows] += _count_later_ids(run, rows, above[rows], tied[rows])
        tied[rows] = 1
    order = order_on_host.in_rank_order(lists, np.where(is_ranked, above, _UNRANKED))
    return Places(
        starts=_starts(run.judged.counts),
        relevance=run.judged.values[order],
        retrieved=is_ranked[order],
        above=above[order],
        tied=tied[order],
        num_retrieved=counts.astype(np.int32),
        rows=order,
        middle=middle[order],
    )


def _count_later_ids(
    run: judged_run.JudgedRun,
    judged_rows: np.ndarray,
    above: np.ndarray,
    tied: np.ndarray,
) -> np.ndarray:
    """Counts, for each judged document, the run's documents with its score and a later id.

    Only the tie groups of the judged documents are sorted by id.

    Args:
        run: Judgements and a run.
        judged_rows: `[documents]`, at least one, rows of judgements whose documents the run
            holds.
        above: `[documents]`, as in `Places`.
        tied: `[documents]`, as in `Places`.
    """
    retrieved, lists = run.retrieved, run.judged.list_ids()[judged_rows]
    with_ties, list_of_judged = np.unique(lists, return_inverse=True)
    starts_of_lists = _starts(retrieved.counts[with_ties])
    # Identify tie groups by the index of their first document in all these lists together.
    first, index, group_of_judged = np.unique(
        starts_of_lists[list_of_judged] + above, return_index=True, return_inverse=True
    )
    sizes = tied[index]
    starts, groups = _starts(sizes), np.repeat(np.arange(len(first)), sizes)
    places = np.arange(starts[-1]) + (first - starts[:-1])[groups]
    ranges = retrieved.ranges()
    rows = order_on_host.best_rows(retrieved.values, [ranges[i] for i in with_ties])[
        places
    ]
    judged_ids, run_ids = run.judged.doc_ids, retrieved.doc_ids
    # Put judged documents first, so that each precedes the same document of the run.
    ids = [judged_ids[judged_rows].cast(pl.String), run_ids[rows].cast(pl.String)]
    order = _by_last_id(np.concatenate([group_of_judged, groups]), pl.concat(ids))
    is_judged = order < len(judged_rows)
    num_before, in_order = np.cumsum(~is_judged)[is_judged], order[is_judged]
    later = np.empty(len(judged_rows), np.int32)
    later[in_order] = num_before - starts[group_of_judged[in_order]]
    return later


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def means_of(
    lists: Mapping[str, per_list.PerList],
    bounds: Sequence[Bound],
    undefined: types.Undefined,
) -> tuple[dict[str, mean.Mean], dict[str, per_list.PerList]]:
    """Returns the state of each metric, and its values with the option `undefined`."""
    values, states = {}, {}
    for bound in bounds:
        metric_values = dataclasses.replace(lists[bound.name], undefined=undefined)
        values[bound.name] = metric_values
        states[bound.name] = on_host.HostSums.of_lists(
            metric_values, bound.state
        ).state()
    return states, values


def from_middle(places: Places) -> np.ndarray:
    """Returns how far relevant documents rank below the middle of each list, `[lists]`."""
    num_lists = len(places.num_retrieved)
    is_found = places.retrieved & (places.relevance > 0)
    lists = np.repeat(np.arange(num_lists), np.diff(places.starts))[is_found]
    amounts = 2 * places.middle[is_found] - (places.num_retrieved[lists] - 1)
    return np.bincount(lists, amounts, minlength=num_lists)


COLUMNS = ("judged", "pooled")  # of `Joined`


def measure_places(
    bounds: tuple[Bound, ...],
    places: Places,
    list_weights: np.ndarray,
    query_ids: "Sequence[object] | pl.Series",
) -> dict[str, per_list.PerList]:
    """Computes the metrics that need only the ranks of judged documents.

    Args:
        bounds: The metrics.
        places: The ranks of all judged documents.
        list_weights: `[lists]`.
        query_ids: The id of each list, for messages.

    Returns:
        A dict from names of metrics to values, as NumPy arrays. Metrics that read other
        documents are left out: metrics that give these documents a value, or that need an
        order of tied documents.

    Raises:
        ValueError: if a metric reads a column other than `COLUMNS`; if a gain overflows.
    """
    check_columns(bounds, COLUMNS, allow_unread=True)
    ties = "tied" if (places.tied[places.retrieved] > 1).any() else "none"
    max_ranks = next(n for n in MAX_RANKS if (places.num_retrieved <= n).all())
    document_columns = (
        judged_run.labels_of(places.relevance), places.above, places.tied,
        places.retrieved, places.relevance >= 0,
    )  # fmt: skip
    list_columns = places.num_retrieved, list_weights
    parts: list[Reading] = []
    indices: list[np.ndarray] = []
    for block in padding.padded_blocks(places.starts):
        arrays = (
            *map(block.items, document_columns),
            *map(block.per_list, list_columns),
        )
        documents = jax.device_put((block.exists, *arrays))
        if not parts:  # What metrics need does not depend on the shape of the block.
            shapes = tuple(
                jax.ShapeDtypeStruct(array.shape, array.dtype) for array in documents
            )
            bounds = _readable(bounds, ties, max_ranks, shapes)
            if not bounds:
                return {}
        reading = _program()(documents, bounds=bounds, ties=ties, max_ranks=max_ranks)
        parts.append(jax.device_get(reading))
        indices.append(block.indices)
    return values_of(in_lists(parts, indices), bounds, query_ids)


def in_lists(parts: Sequence[Reading], indices: Sequence[np.ndarray]) -> Reading:
    """Merges the readings of blocks into one reading of all lists.

    Args:
        parts: The reading of each block, whose last lists may be padding.
        indices: The indices of the lists of each block.
    """
    order = np.concatenate(indices)

    def combine(*arrays: np.ndarray) -> np.ndarray:
        blocks = zip(arrays, indices, strict=True)
        in_blocks = np.concatenate([array[: len(index)] for array, index in blocks])
        in_order = np.empty_like(in_blocks)
        in_order[order] = in_blocks
        return in_order

    return jax.tree.map(combine, *parts)


def values_of(
    reading: Reading,
    bounds: tuple[Bound, ...],
    query_ids: "Sequence[object] | pl.Series",
) -> dict[str, per_list.PerList]:
    """Returns a dict of metrics' values; raises if a query is refused or overflows."""
    raise_refused(reading.refused)
    if reading.overflowing is not None and np.any(reading.overflowing):
        first = query_ids[int(np.argmax(reading.overflowing))]
        raise ValueError(gains.overflow_message(f"query {first!r}"))
    names = [bound.name for bound in bounds]
    return dict(zip(names, reading.values, strict=True))


def _measure_block(
    documents: tuple[jax.Array, ...],
    *,
    bounds: tuple[Bound, ...],
    ties: str,
    max_ranks: int,
) -> Reading:
    """Reads metrics from the judged documents of a block of lists.

    Args:
        documents: Arrays `[lists, documents]`: which documents exist and are not padding;
            labels; `above`, `tied` and `retrieved`, as in `Places`; and which documents
            have a relevance of at least 0. Then `num_retrieved` and weights, `[lists]`.
        bounds: The metrics.
        ties: "tied" if any documents tie, else "none".
        max_ranks: The largest number of ranks that a list can have.
    """
    exists, labels, above, tied, retrieved, judged, num_retrieved, weights = documents
    dtype = inputs.float_dtype(labels, weights).name
    columns = {"judged": judged, "pooled": exists}
    items = RawItems(labels, dtype, exists, None, retrieved, columns)
    ranking = rank_at_places(
        items, above, tied, num_retrieved, weights,
        ties=ties, max_ranks=max_ranks, in_order=True,
    )  # fmt: skip
    return read(bounds, ranking)


_program = one_off.one_off_jit(_measure_block, ("bounds", "ties", "max_ranks"))


@functools.lru_cache(maxsize=256)
def _readable(
    bounds: tuple[Bound, ...],
    ties: str,
    max_ranks: int,
    documents: tuple[jax.ShapeDtypeStruct, ...],
) -> tuple[Bound, ...]:
    """Returns the metrics that need only ranks; traces the metrics to find out.

    Args:
        bounds: The metrics.
        ties: See `_measure_block`.
        max_ranks: See `_measure_block`.
        documents: The shapes and dtypes of the arrays of `_measure_block`.
    """
    try:
        # This costs little, because JAX keeps the trace for the call that follows.
        _program().trace(documents, bounds=bounds, ties=ties, max_ranks=max_ranks)
    except UnknownPlaceError:
        if len(bounds) == 1:
            return ()
        parts = [_readable((bound,), ties, max_ranks, documents) for bound in bounds]
        return tuple(bound for part in parts for bound in part)
    return bounds
