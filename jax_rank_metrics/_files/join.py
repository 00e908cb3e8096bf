"""`jrm.join`: judgements and a run as one set of lists."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._choices import Missing, Repeats, TiesOfFiles, Unjudged
from jax_rank_metrics._files.arguments import frame_of
from jax_rank_metrics._files.dicts import sides_of_dicts
from jax_rank_metrics._files.joined import Joined
from jax_rank_metrics._files.listed import DocumentOf, by_documents, is_listed
from jax_rank_metrics._files.lists import Sides, sides_of_frames
from jax_rank_metrics._files.places import keep_first
from jax_rank_metrics._files.remarks import remarks_on_join
from jax_rank_metrics._messages import short_errors

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
    condensed: bool = False,
    repeats: Repeats = "keep",
    document: DocumentOf | None = None,
) -> Joined:
    """Joins judgements and a run to lists, one for each query that is judged.

    A list is everything known about a query: the documents that the run retrieved, with
    their scores, and the label 0 if they were not judged; and those that were judged but
    not retrieved, which count among the relevant ones without having a rank.

    Scores are compared as float64, so that doubles which float32 cannot distinguish do
    not tie. Scores that are integers are compared as integers, of any size.

    If ids are integers on one side and strings on the other, they are strings on both: 1
    and "1" are then equal, 1 and "01" are not.

    Args:
        qrels: The judgements: a frame of polars or pandas or a table of pyarrow with the
            columns query_id, doc_id and relevance, such as `read_qrels` returns, or those
            of another program that it knows; or a dict `{query: {document: relevance}}`. A
            query without documents is ignored, and one without documents in the run is as
            if the run lacked it. If a column tells the subtopics to which
            documents are relevant, a document has the label 1 if it is to any, and
            metrics of subtopics can be measured.

            Or lists of the relevant documents, `{query: [document, …]}`, as a dict or
            Series, in a column doc_id or doc_ids of a frame, or a list of lists, whose
            queries are 0, 1, …. A query with an empty list has nothing relevant.
        run: The same with score; of a frame that has none, the column rank or position is
            read, of which lower is better. A frame without query_id, as of plain scores,
            has an item for each of the judgements, in the same order. Lists of documents
            are in rank order; for a query with an empty list nothing was retrieved.
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
        condensed: Whether documents that were not judged leave the run, so that later
            ones move up, as under `trec_eval -J` (condensed lists). Documents with a
            relevance below 0 were not judged. Whether the run lacks a query is decided
            before, and so is `depth`.
        repeats: What a document that occurs earlier in a ranked list leaves behind: "keep"
            its rank, as `rank_ids` does, or "remove" it, so that later ones move up.
        document: For runs of chunks, the document of each: a function of the id of a
            chunk, or a dict. Only the best chunk of a document stays.

    It warns of what was probably not intended, which `Joined.remarks` holds: ids that never
    match, judgements of which none reaches the `relevance_threshold` 1, and lists that are
    empty or name a document twice.

    Returns:
        A `Joined`, whose `evaluate` and `measure` compute metrics. Its `arguments()` are
        those of `rank`, and its `arguments(metrics)` those of `jax_rank_metrics.evaluate`.

    Raises:
        ValueError: if queries are missing or unjudged, unless these are skipped; if a
            document repeats in a table, an id is missing, a score is NaN or a relevance
            exceeds float32; if an option is unknown; if no query is in both, so that
            there is nothing to measure, unless missing="zero".
        TypeError: if qrels or run has none of these forms.
        ModuleNotFoundError: if polars is not installed.

    >>> import jax_rank_metrics as jrm
    >>> qrels = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}}
    >>> run = {"q1": {"a": 0.5, "b": 0.9}, "q2": {"x": 0.2, "a": 0.1}}
    >>> joined = join(qrels, run)
    >>> joined
    Joined(2 queries, 4 judged, 4 retrieved)
    >>> metrics = ("recall@2", "mrr")
    >>> states = joined.evaluate(metrics)
    >>> {name: float(state) for name, state in states.items()}
    {'recall@2': 0.75, 'mrr': 0.5}
    >>> lists = joined.measure(metrics)
    >>> dict(zip(joined.query_ids, lists["recall@2"].values.tolist()))
    {'q1': 0.5, 'q2': 1.0}

    The documents of the first query, in rank order:

    >>> ranking = jrm.rank(**joined.arguments())
    >>> is_first = ranking.segment_ids == 0
    >>> joined.doc_ids[[int(i) for i in ranking.items[is_first] if i >= 0]].to_list()
    ['b', 'a']
    """
    _inputs.option("missing", missing, Missing)
    _inputs.option("unjudged", unjudged, Unjudged)
    _inputs.option("ties", ties, TiesOfFiles)
    _inputs.option("repeats", repeats, Repeats)
    if depth is not None:
        _inputs.positive_integer("depth", depth)
    with short_errors():
        sides = _sides_of(qrels, run, ties, repeats, document)
        joined = _joined(sides, missing, unjudged, depth, ties, condensed)
    for remark in joined.remarks:
        warnings.warn(remark, stacklevel=2)
    return joined


def _sides_of(
    qrels: object,
    run: object,
    ties: TiesOfFiles,
    repeats: Repeats = "keep",
    document: DocumentOf | None = None,
) -> Sides:
    """Checks the arguments of `join`, and finds the judged documents in the run.

    Raises:
        ValueError: if either is empty; see `frame_of`.
        TypeError: see `frame_of`.
    """
    if isinstance(qrels, Mapping) and isinstance(run, Mapping) and document is None:
        sides = sides_of_dicts(qrels, run)
        if sides and len(sides.judged.values) and run:
            return sides
    judged = frame_of("qrels", qrels, "relevance")
    retrieved = frame_of("run", run, "score")
    # A dict of queries without documents is a run that has found nothing.
    is_run = retrieved.height or (isinstance(run, Mapping) and run)
    for name, is_there in (("qrels", judged["doc_id"].count()), ("run", is_run)):
        if not is_there:
            raise ValueError(
                f"{name} is empty; pass at least one document of one query"
            )
    return sides_of_frames(judged, by_documents(retrieved, repeats, document), ties)


def join_frames(
    judged: "pl.DataFrame",
    run: "pl.DataFrame",
    *,
    missing: Missing,
    unjudged: Unjudged,
    depth: int | None,
    ties: TiesOfFiles,
    condensed: bool,
    repeats: Repeats = "keep",
) -> Joined:
    """Returns `join` of frames that `read_qrels` and `read_run` returned.

    These are checked already, so that it takes less time, unless they hold lists.
    """
    judged = frame_of("qrels", judged, "relevance") if is_listed(judged) else judged
    run = frame_of("run", run, "score") if is_listed(run) else run
    sides = sides_of_frames(judged, by_documents(run, repeats, None), ties)
    return _joined(sides, missing, unjudged, depth, ties, condensed)


def join_dicts(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    *,
    condensed: bool,
    ties: TiesOfFiles,
) -> Joined:
    """Returns `join` of dicts as programs on top of pytrec_eval have them.

    Queries that the run lacks, or for which it holds no document, are lists in which
    nothing was retrieved, and those without judgements are left out. With ties="trec",
    scores are compared as float32.

    Args:
        qrels: The judgements, at least one.
        run: The run.
        condensed: See `join`.
        ties: See `join`.
    """
    sides = sides_of_dicts(qrels, run) or _sides_of(qrels, run, ties)
    if ties == "trec":
        sides = sides.with_float32_scores()
    return _joined(sides, "zero", "skip", None, ties, condensed)


def _joined(
    sides: Sides,
    missing: Missing,
    unjudged: Unjudged,
    depth: int | None,
    ties: TiesOfFiles,
    condensed: bool,
) -> Joined:
    if len(sides.unjudged) and unjudged == "error":
        raise ValueError(
            f"run: {_subject(sides.unjudged)} no documents in qrels; pass "
            "unjudged='skip' to leave such queries out"
        )
    is_answered, queries = sides.is_answered, sides.query_ids
    if missing == "error" and not is_answered.all():
        raise ValueError(
            f"qrels: {_subject(queries.filter(~is_answered))} no documents in run; pass "
            "missing='zero' to count such queries as 0, or missing='skip' to leave them out"
        )
    if missing == "skip" and not is_answered.any():
        raise ValueError(
            "qrels and run have no query in common, or run no document of any; compare "
            "their ids"
        )
    relevance, max_float32 = sides.judged.values, np.finfo(np.float32).max
    is_large = relevance > max_float32
    if is_large.any():
        row = int(np.argmax(is_large))
        raise ValueError(
            f"qrels: document {sides.doc_ids()[0][row]!r} has the relevance "
            f"{relevance[row]}, beyond float32; pass at most {max_float32:.3g}"
        )
    is_counted = is_answered if missing == "skip" else np.ones_like(is_answered)
    remarks = remarks_on_join(sides)
    if depth is not None:
        sides = keep_first(sides, depth)
    if condensed:  # Only documents that were judged stay in the run.
        is_judged = np.zeros(len(sides.retrieved.values), bool)
        is_judged[sides.run_rows()[sides.is_retrieved & (relevance >= 0)]] = True
        sides = sides.keep(is_judged)
    return Joined(sides, is_counted.astype(np.float32), ties, remarks)


def _subject(ids: "pl.Series") -> str:
    """Returns queries as the subject of a message, as in "2 queries ('q1', 'q3') have"."""
    ids = ids.unique(maintain_order=True)
    names = ", ".join(map(repr, ids.head(MAX_SHOWN)))
    if len(ids) == 1:
        return f"query {names} has"
    ellipsis = ", …" if len(ids) > MAX_SHOWN else ""
    return f"{len(ids)} queries ({names}{ellipsis}) have"
