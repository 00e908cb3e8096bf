"""`jrm.join`: judgements and a run as one set of packed lists."""

from typing import TYPE_CHECKING

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._choices import Missing, TiesOfFiles, Unjudged
from jax_rank_metrics._files.frames import IDS, first_true, frame_of, polars
from jax_rank_metrics._files.joined import Joined
from jax_rank_metrics._inputs.pad import next_size

if TYPE_CHECKING:
    import polars as pl

MAX_SHOWN = 5  # ids that a message names


def join(
    qrels: object,
    run: object,
    *,
    missing: Missing = "error",
    unjudged: Unjudged = "error",
    depth: int | None = None,
    ties: TiesOfFiles = "expected",
) -> Joined:
    """Joins judgements and a run to packed lists, which `rank` and every metric take.

    A list is everything known about a query: the documents that the run retrieved, with
    their scores, and the label 0 if they were not judged; and those that were judged but
    not retrieved, which count among the relevant ones without having a rank.

    Scores become the ranks of their float64 values, so that doubles which float32 cannot
    distinguish do not tie. All runs with the same judgements have the same number of
    lists, and items are padded to the sizes of `pad_lists`, so that runs of about the same
    length share compiled programs.

    If ids are integers on one side and strings on the other, they are strings on both: 1
    and "1" are then equal, 1 and "01" are not.

    Args:
        qrels: The judgements: a frame of polars or pandas or a table of pyarrow with the
            columns query_id, doc_id and relevance, such as `read_qrels` returns, or a dict
            `{query: {document: relevance}}`. A query without documents is ignored.
        run: The same with score. A frame without query_id, as of plain scores, has an item
            for each of the judgements, in the same order.
        missing: What to do with queries that the run lacks: "error"; "zero" to keep them as
            lists in which nothing was retrieved, like `trec_eval -c`; or "skip" to give
            them the weight 0, like trec_eval without `-c`.
        unjudged: What to do with queries that have no judgements: "error", or "skip" to
            leave them out.
        depth: How many documents of each query to keep: those with the best scores and,
            among equal scores, the last ids, as under `trec_eval -M`. None keeps all.
        ties: The meaning of equal scores: "expected", the documents tie, as `rank`
            explains; or "trec", the document with the last id, by its UTF-8 bytes, ranks
            first, as in trec_eval. Version 10 of trec_eval compares doubles, as this
            function does. Version 9, which pytrec_eval contains, first rounds them to
            float32; for its order, do the same to the scores of the run.

    Returns:
        A `Joined`. Pass its `arguments(metrics)` to `evaluate`, or its `arguments()` to
        `rank`.

    Raises:
        ValueError: if queries are missing or unjudged, unless these are skipped; if a
            document repeats, an id is missing, a score is NaN or a relevance exceeds
            float32; if an option is unknown; if no query is in both, so that there is
            nothing to measure, unless missing="zero".
        TypeError: if qrels or run is neither a frame nor a dict of dicts.
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

    The documents of the first query, in rank order:

    >>> is_first = ranking.segment_ids == 0
    >>> joined.doc_ids[[int(i) for i in ranking.items[is_first] if i >= 0]].to_list()
    ['b', 'a']
    """
    _inputs.option("missing", missing, Missing)
    _inputs.option("unjudged", unjudged, Unjudged)
    _inputs.option("ties", ties, TiesOfFiles)
    if depth is not None:
        _inputs.positive_integer("depth", depth)
    pl = polars("jrm.join")
    judged = frame_of("qrels", qrels, "relevance")
    retrieved = frame_of("run", run, "score")
    if "query_id" not in retrieved.columns:
        retrieved = _with_query_ids(judged, retrieved)
    judged, retrieved = _with_equal_dtypes(judged, retrieved)
    queries = judged["query_id"].unique(maintain_order=True)
    lists = pl.DataFrame([queries]).with_row_index("list")
    judged, retrieved = (
        frame.join(lists, "query_id", "left", maintain_order="left")
        for frame in (judged, retrieved)
    )
    without_qrels = retrieved.filter(pl.col("list").is_null())["query_id"]
    if len(without_qrels) and unjudged == "error":
        raise ValueError(
            f"run: {_subject(without_qrels)} not in qrels; pass unjudged='skip' to leave "
            "them out"
        )
    retrieved = retrieved.filter(pl.col("list").is_not_null())
    is_answered = np.zeros(len(queries), bool)
    is_answered[retrieved["list"].to_numpy()] = True
    if missing == "error" and not is_answered.all():
        raise ValueError(
            f"qrels: {_subject(queries.filter(~is_answered))} not in run; pass "
            "missing='zero' to count them as 0, or missing='skip' to leave them out"
        )
    if missing == "skip" and not is_answered.any():
        raise ValueError("qrels and run have no query in common; compare their ids")
    retrieved = _with_keys(retrieved, ties, depth)
    items = retrieved.join(
        judged.select("list", "doc_id", "relevance"),
        ["list", "doc_id"],
        "full",
        coalesce=True,
        # Metrics without a formula for ties break them by the order of items, which must
        # therefore not depend on the join.
        maintain_order="left_right",
    )
    is_counted = is_answered if missing == "skip" else np.ones_like(is_answered)
    return _packed(items, queries, is_counted.astype(np.float32))


def _packed(items: "pl.DataFrame", queries: "pl.Series", weights: np.ndarray) -> Joined:
    """Returns the items as arrays that are padded to the next of a few sizes."""
    pl = polars("jrm.join")
    size = items.height
    padding = next_size(size) - size
    relevance = items["relevance"]

    def padded(values: "pl.Series", dtype: type, filler: int = 0) -> np.ndarray:
        array = values.to_numpy().astype(dtype, copy=False)
        return np.concatenate([array, np.full(padding, filler, dtype)])

    # The dtype of labels is the same for all runs, since no judgement is left out.
    labels = relevance.fill_null(0).clip(0, None)
    is_int32 = labels.dtype == pl.Int64 and not (labels >= 2**31).any()
    max_float32 = float(np.finfo(np.float32).max)
    row = first_true(labels > max_float32)
    if row is not None:
        raise ValueError(
            f"qrels: document {items['doc_id'][row]!r} has the relevance {labels[row]}, "
            f"beyond float32; pass at most {max_float32:.3g}"
        )
    return Joined(
        labels=padded(labels, np.int32 if is_int32 else np.float32),
        scores=padded(items["key"].fill_null(0), np.int32),
        mask=np.arange(size + padding) < size,
        retrieved=padded(items["key"].is_not_null(), bool),
        columns={
            "judged": padded((relevance >= 0).fill_null(False), bool),
            "pooled": padded(relevance.is_not_null(), bool),
        },
        segment_ids=padded(items["list"], np.int32, -1),
        num_segments=len(queries),
        list_weights=weights,
        query_ids=queries,
        doc_ids=items["doc_id"].extend_constant(None, padding),
    )


def _with_keys(run: "pl.DataFrame", ties: str, depth: int | None) -> "pl.DataFrame":
    """Returns the first `depth` documents of each list, their scores replaced by a `key`.

    The key is an integer, larger for larger scores. Equal scores share a key, except that
    with ties="trec" the larger document id has the larger key.
    """
    pl = polars("jrm.join")
    score = pl.col("score") + 0.0  # −0.0 becomes 0.0, which it must tie with
    run = run.with_columns(score)
    key = pl.col("score").rank("dense")
    if ties == "trec" or depth is not None:
        doc_id = pl.col("doc_id").cast(pl.String)
        run = run[run.select(pl.arg_sort_by("list", "score", doc_id)).to_series()]
        if depth is not None:
            # The sort is ascending: the document of rank 1 is the last row of its list.
            rank = pl.col("list").cum_count(reverse=True).over("list")
            run = run.filter(rank <= depth)
        if ties == "trec":
            key = pl.int_range(pl.len())
    return run.select("list", "doc_id", key=key)


def _with_query_ids(judged: "pl.DataFrame", run: "pl.DataFrame") -> "pl.DataFrame":
    """Returns plain scores with the query ids of the judgements, row by row."""
    if not run["doc_id"].equals(judged["doc_id"]):
        raise ValueError(
            f"run has {run.height} scores without query_id, and qrels {judged.height} "
            "items with it; pass a score for each item of an svmlight file, or a column "
            "query_id"
        )
    return run.with_columns(judged["query_id"])


def _with_equal_dtypes(*frames: "pl.DataFrame") -> list["pl.DataFrame"]:
    """Returns the frames with ids cast to strings where their dtypes differ."""
    pl = polars("jrm.join")
    mixed = [name for name in IDS if len({frame[name].dtype for frame in frames}) > 1]
    return [frame.with_columns(pl.col(mixed).cast(pl.String)) for frame in frames]


def _subject(ids: "pl.Series") -> str:
    """Returns a message about distinct queries, such as "2 queries are ('q1', 'q3')"."""
    ids = ids.unique(maintain_order=True)
    ellipsis = ", …" if len(ids) > MAX_SHOWN else ""
    noun = "query is" if len(ids) == 1 else "queries are"
    names = ", ".join(map(repr, ids.head(MAX_SHOWN)))
    return f"{len(ids)} {noun} ({names}{ellipsis})"
