"""`jrm.join`: judgements and a run as one set of packed lists."""

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._calls.names import Metrics, bind_all
from jax_rank_metrics._files.frames import IDS, first, frame_of, polars
from jax_rank_metrics._inputs.pad import next_size

if TYPE_CHECKING:
    import polars as pl

Missing = Literal["error", "zero", "skip"]
Unjudged = Literal["error", "skip"]
TiesOfFiles = Literal["expected", "trec"]

SHOWN = 5  # ids that a message names


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Joined:
    """Judgements and a run as packed lists; see `join`.

    There is a list for every query of the judgements, in the order of their first
    appearance, and an item for each of its documents, judged or retrieved. Items come in no
    order, and the last ones are padding, with the mask False.

    Attributes:
        labels: `[items]` int32, or float32 where a relevance is no integer: the
            relevance, 0 where it is below 0 or unknown.
        scores: `[items]` int32, larger for what ranks higher; equal where scores tie.
        mask: `[items]` bool, False for padding.
        retrieved: `[items]` bool, False for what was judged and not retrieved.
        columns: "judged" and "pooled", each `[items]` bool, for the metrics that read
            them. A document of the judgements is pooled, and judged if its relevance is
            not below 0.
        segment_ids: `[items]` int32, the place of the item's query in `query_ids`; −1 for
            padding.
        num_segments: How many queries the judgements have.
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
        """The arguments by name, for `rank`, `evaluate` or a metric.

        Args:
            metrics: What is to be evaluated: `columns` holds only what these read, as
                `evaluate` demands. None is all columns, for `rank`.
        """
        columns = self.columns
        if metrics is not None:
            bounds = bind_all(metrics)
            read = {
                name
                for bound in bounds
                for name in (*bound.spec.columns, *bound.spec.optional_columns)
            }
            columns = {name: one for name, one in columns.items() if name in read}
        names = ("labels", "scores", "mask", "retrieved", "list_weights")
        return {name: getattr(self, name) for name in names} | {
            "segment_ids": self.segment_ids,
            "num_segments": self.num_segments,
            "columns": columns,
        }

    def __repr__(self) -> str:
        """How many there are of each."""
        skipped = int((self.list_weights == 0).sum())
        told = f", {skipped} skipped" if skipped else ""
        return (
            f"Joined({self.num_segments} queries{told}, "
            f"{int(self.columns['judged'].sum())} judged, "
            f"{int((self.retrieved & self.mask).sum())} retrieved)"
        )


def join(
    qrels: Any,
    run: Any,
    *,
    missing: Missing = "error",
    unjudged: Unjudged = "error",
    depth: int | None = None,
    ties: TiesOfFiles = "expected",
) -> Joined:
    """Judgements and a run as packed lists, which every metric and `rank` take.

    A list is all that is known of a query: what the run retrieved, with its score and the
    label 0 where it was not judged, and what was judged and not retrieved, which counts
    among the relevant without having a rank.

    Scores become the ranks of their float64 values, so that doubles which float32 does not
    tell apart do not tie. All runs with the same judgements have as many lists, and items
    are padded to the sizes of `pad_lists`: runs of about the same length share what JAX
    compiles.

    Ids that are integers on one side and strings on the other are taken as strings on
    both: 1 and "1" are then the same, 1 and "01" are not.

    Args:
        qrels: Judgements: a frame of polars or pandas with the columns query_id, doc_id
            and relevance, as `read_qrels` gives it, or a dict `{query: {document:
            relevance}}`. A query that holds no document is as if it were not there.
        run: The same with score; a frame without query_id, as of plain scores, has an item
            for each of the judgements, in the same order.
        missing: What becomes of queries that the run lacks: "error"; "zero", they are lists
            in which nothing was retrieved, as with `trec_eval -c`; or "skip", they have the
            weight 0, as trec_eval does without.
        unjudged: What becomes of queries that the judgements lack: "error", or "skip", they
            are left out.
        depth: How many documents of each query to keep, the best by score, and of equal
            scores those with the last ids, as with `trec_eval -M`; None is all.
        ties: What equal scores mean: "expected", that they tie, and `rank` says what that
            means; or "trec", that the document with the last id, by its UTF-8 bytes, comes
            first, as in trec_eval. Its version 10 compares doubles, as here; version 9,
            which pytrec_eval has, rounds them to float32 before: do the same to the scores
            of the run to get its order.

    Returns:
        A `Joined`, whose `arguments(metrics)` go on to `evaluate`, and `arguments()` to
        `rank`.

    Raises:
        ValueError: for queries that are missing or unjudged, unless told otherwise; for a
            repeated document, a missing id, a score that is NaN, a relevance beyond
            float32, or an unknown option; if there is no query that both have, and so
            nothing to measure, but with missing="zero".
        TypeError: if qrels or run is no frame and no dict of dicts.
        ModuleNotFoundError: if polars is not installed.

    >>> import jax_rank_metrics as jrm
    >>> qrels = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}}
    >>> run = {"q1": {"a": 0.5, "b": 0.9}, "q2": {"x": 0.2, "a": 0.1}}
    >>> joined = join(qrels, run)
    >>> joined
    Joined(2 queries, 4 judged, 4 retrieved)
    >>> metrics = ("recall@2", "mrr")
    >>> states = jrm.evaluate(metrics, **joined.arguments(metrics))
    >>> {name: float(state) for name, state in states.items()}
    {'recall@2': 0.75, 'mrr': 0.5}
    >>> ranking = jrm.rank(**joined.arguments())
    >>> lists = jrm.measure(metrics, ranking)
    >>> dict(zip(joined.query_ids, lists["recall@2"].values.tolist()))
    {'q1': 0.5, 'q2': 1.0}

    What was found at each rank of the first query:

    >>> of_first = ranking.segment_ids == 0
    >>> joined.doc_ids[[int(i) for i in ranking.items[of_first] if i >= 0]].to_list()
    ['b', 'a']
    """
    _inputs.option("missing", missing, Missing)
    _inputs.option("unjudged", unjudged, Unjudged)
    _inputs.option("ties", ties, TiesOfFiles)
    if depth is not None:
        _inputs.count("depth", depth)
    pl = polars("jrm.join")
    judged, found = frame_of("qrels", qrels, "relevance"), frame_of("run", run, "score")
    if "query_id" not in found.columns:
        found = _by_position(judged, found)
    judged, found = _same_kind(judged, found)
    queries = judged["query_id"].unique(maintain_order=True)
    places = pl.DataFrame([queries]).with_row_index("list")
    judged, found = (
        x.join(places, "query_id", "left", maintain_order="left")
        for x in (judged, found)
    )
    extra = found.filter(pl.col("list").is_null())["query_id"]
    if len(extra) and unjudged == "error":
        raise ValueError(
            f"run: {_some(extra)} not in qrels; pass unjudged='skip' to leave them out"
        )
    found = found.filter(pl.col("list").is_not_null())
    answered = np.zeros(len(queries), bool)
    answered[found["list"].to_numpy()] = True
    if missing == "error" and not answered.all():
        raise ValueError(
            f"qrels: {_some(queries.filter(~answered))} not in run; pass missing='zero' "
            "to count them as 0, or 'skip' to leave them out"
        )
    if missing == "skip" and not answered.any():
        raise ValueError("qrels and run have no query in common; compare their ids")
    found = _keyed(found, ties, depth)
    items = found.join(
        judged.select("list", "doc_id", "relevance"),
        ["list", "doc_id"],
        "full",
        coalesce=True,
        # Where no formula for ties is known, they are broken by the places of items.
        maintain_order="left_right",
    )
    weights = answered if missing == "skip" else np.ones_like(answered)
    return _packed(items, queries, weights.astype(np.float32))


def _packed(items: "pl.DataFrame", queries: "pl.Series", weights: np.ndarray) -> Joined:
    """As arrays of one of few sizes."""
    pl = polars("jrm.join")
    number = items.height
    fill = next_size(number) - number
    relevance = items["relevance"]

    def padded(values: Any, dtype: Any, filler: Any = 0) -> np.ndarray:
        array = values.to_numpy().astype(dtype, copy=False)
        return np.concatenate([array, np.full(fill, filler, dtype)])

    # Labels of one kind for all runs: a judgement is never left out.
    labels = relevance.fill_null(0).clip(0, None)
    whole = labels.dtype == pl.Int64 and not (labels >= 2**31).any()
    most = float(np.finfo(np.float32).max)
    row = first(labels > most)
    if row is not None:
        raise ValueError(
            f"qrels: document {items['doc_id'][row]!r} has the relevance {labels[row]}, "
            f"beyond float32; pass at most {most:.3g}"
        )
    return Joined(
        labels=padded(labels, np.int32 if whole else np.float32),
        scores=padded(items["key"].fill_null(0), np.int32),
        mask=np.arange(number + fill) < number,
        retrieved=padded(items["key"].is_not_null(), bool, False),
        columns={
            "judged": padded((relevance >= 0).fill_null(False), bool, False),
            "pooled": padded(relevance.is_not_null(), bool, False),
        },
        segment_ids=padded(items["list"], np.int32, -1),
        num_segments=len(queries),
        list_weights=weights,
        query_ids=queries,
        doc_ids=items["doc_id"].extend_constant(None, fill),
    )


def _keyed(run: "pl.DataFrame", ties: str, depth: int | None) -> "pl.DataFrame":
    """The documents to keep, with their place in the order of scores as `key`."""
    pl = polars("jrm.join")
    score = pl.col("score") + 0.0  # so that −0.0 is 0.0
    run = run.with_columns(score)
    key = pl.col("score").rank("dense")
    if ties == "trec" or depth is not None:
        name = pl.col("doc_id").cast(pl.String)
        run = run[run.select(pl.arg_sort_by("list", "score", name)).to_series()]
        if depth is not None:
            below = pl.col("list").cum_count(reverse=True).over("list")
            run = run.filter(below <= depth)
        if ties == "trec":
            key = pl.int_range(pl.len())
    return run.select("list", "doc_id", key=key)


def _by_position(judged: "pl.DataFrame", run: "pl.DataFrame") -> "pl.DataFrame":
    """The run with the queries of the judgements, which have the same items."""
    if not run["doc_id"].equals(judged["doc_id"]):
        raise ValueError(
            f"run has {run.height} scores without query_id, and qrels {judged.height} "
            "items with it; pass a score for each item of an svmlight file, or a column "
            "query_id"
        )
    return run.with_columns(judged["query_id"])


def _same_kind(*frames: "pl.DataFrame") -> list["pl.DataFrame"]:
    """The frames, with ids of the same kind in each."""
    pl = polars("jrm.join")
    mixed = [name for name in IDS if len({frame[name].dtype for frame in frames}) > 1]
    return [frame.with_columns(pl.col(mixed).cast(pl.String)) for frame in frames]


def _some(ids: "pl.Series") -> str:
    """How many queries there are, and the first of them."""
    ids = ids.unique(maintain_order=True)
    more = ", …" if len(ids) > SHOWN else ""
    several = "query is" if len(ids) == 1 else "queries are"
    names = ", ".join(map(repr, ids.head(SHOWN)))
    return f"{len(ids)} {several} ({names}{more})"
