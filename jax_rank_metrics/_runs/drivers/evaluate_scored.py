"""`jrm.evaluate_scored`: evaluates one table of scored items, of any size."""

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jax_rank_metrics._engine.calls import binding, signatures
from jax_rank_metrics._engine.metrics.run import check_columns
from jax_rank_metrics._ground import choices, inputs, messages, types
from jax_rank_metrics._runs.drivers import engine, scored_lists
from jax_rank_metrics._runs.evaluation import Evaluation
from jax_rank_metrics._runs.files import joined, tables


def evaluate_scored(
    metrics: binding.Metrics,
    source: Any,
    *,
    list: str | None = None,
    label: str | None = None,
    score: str | None = None,
    item: str | None = None,
    weight: str | None = None,
    list_weight: str | None = None,
    mask: str | None = None,
    retrieved: str | None = None,
    columns: Mapping[str, str] | None = None,
    list_columns: Sequence[str] | None = None,
    ties: choices.TiesOfTables | None = None,
    undefined: types.Undefined = "zero",
    sort: bool = False,
    keep_lists: bool = True,
    progress: bool | engine.Progress = False,
) -> Evaluation:
    """Evaluates one table of scored items, whose rows hold a list, a label and a score.

    LightGBM, XGBoost, a click model or a reranker produces such a table: the id of the
    query, session or user; a click, or the grade of the item; and the score. Most metrics
    need only the ranks of relevant items, which are counted on the host, so that tables of
    any size share a few programs. Metrics that read more, such as "tau", metrics that read
    `columns`, and all metrics with a `weight` rank all rows in blocks of few shapes. The
    value of a list does not depend on how the table is cut into files, batches or parts.

    **Memory.** Frames, and files of up to 20 million rows, are read at once, with rows in
    any order. In an iterator, and in larger files, the rows of a list must be adjacent.
    Memory then holds a million rows, or a longer list, at a time, and 8 bytes for each list
    that was read. With `keep_lists=False` the result is about a kilobyte.
    `Evaluation.merge` joins the results of parts that share no list.

    Args:
        metrics: As for `evaluate`.
        source: A frame of pandas or polars, a table of pyarrow, a relation of DuckDB, or a
            dict of arrays; the path, glob, folder or list of paths of files that end in
            .parquet, .arrow, .csv, .tsv or .jsonl; or an iterator of frames, of record
            batches or of dicts of arrays, such as Ray's `iter_batches`.
        list: The column of the ids of lists: strings or integers. None takes the only
            column named query, query_id, qid, session, session_id, user, user_id, group or
            list.
        label: The column of labels: bools or numbers. None takes the only column named
            label, relevance, rel, grade, click, clicked or target. An item whose label is
            missing or below 0 is left out, with a warning.
        score: The column of scores; higher scores rank first. None takes the only column
            named score, scores, prediction or pred. Scores are compared as float64, and
            integers as integers. A score that is NaN or missing raises, unless its item is
            left out or has no rank.
        item: The column of the ids of items, strings or integers. None if items have no
            ids. An item that is twice in a list raises. Metrics that need one order of tied
            items derive it from a hash of the ids, instead of from the items' rows in the
            list.
        weight: The column of the weights of items; see `rank`.
        list_weight: The column of the weights of lists in means. All rows of a list have
            the same weight.
        mask: The column of bools that are False for items to leave out.
        retrieved: The column of bools that are False for items without a rank; see `rank`.
        columns: A dict from the name that metrics use, such as "judged", to the column that
            metrics read.
        list_columns: Columns that the evaluation keeps for `by`, such as "segment". All
            rows of a list have the same value.
        ties: The meaning of equal scores: None, "expected", "stable", "best" or "worst", as
            for `rank`; or "trec": the item with the last id ranks first, as in `join`.
        undefined: See `PerList.mean`.
        sort: True to sort the rows by list first. Polars sorts large files outside of
            memory if it can, and iterators are read at once.
        keep_lists: True to keep the values and ids of lists. Otherwise only the states are
            returned.
        progress: True shows a bar of rich. Or a function, which is called with the number
            of lists done and the number of lists read so far.

    Returns:
        An `Evaluation`, with lists in the order of their first appearance, their ids in
        `query_ids`, and `list_columns`. Its `retrieved_ids` are `[lists, 0]`.

    Raises:
        ValueError: if the table is empty; if a column that is read is missing, or there
            twice; if an id is missing, a label is no number or a score is NaN (the message
            names the row and the list); if a list of a stream comes again after it has
            ended; if `list_weight` or one of `list_columns` varies within a list; or as
            `evaluate`.
        TypeError: if `source` has none of these forms.
        ModuleNotFoundError: if polars is not installed; see `progress`.

    >>> table = {
    ...     "qid": ["q7", "q7", "q7", "q8", "q8"],
    ...     "clicked": [0, 1, 0, 1, 0],
    ...     "pred": [0.9, 0.4, 0.2, 0.8, 0.1],
    ... }
    >>> evaluation = evaluate_scored(("mrr", "ndcg@10"), table)
    >>> evaluation
    Evaluation(mrr 0.750, ndcg@10 0.815, 2 queries)
    >>> dict(zip(evaluation.query_ids, evaluation.lists["mrr"].values.tolist()))
    {'q7': 0.5, 'q8': 1.0}
    """
    inputs.option("undefined", undefined, types.Undefined)
    if ties is not None:
        inputs.option("ties", ties, choices.TiesOfTables, "None or ")
    if ties == "trec" and item is None:
        raise ValueError(
            "ties='trec' orders items by id; pass the column of ids as item"
        )
    bounds, columns = binding.bind_all(metrics), columns or {}
    check_columns(bounds, columns, allow_unread=False)
    list_columns = () if list_columns is None else list_columns
    list_columns = (list_columns,) if isinstance(list_columns, str) else list_columns
    optional = {
        "item": item, "weight": weight, "list_weight": list_weight,
        "mask": mask, "retrieved": retrieved,
    }  # fmt: skip
    roles: dict[str, str | None] = {"list": list, "label": label, "score": score}
    roles |= {name: column for name, column in optional.items() if column is not None}
    roles |= {scored_lists.role("columns", name): columns[name] for name in columns}
    kept = {name: scored_lists.role("list_columns", name) for name in list_columns}
    roles |= {kept[name]: name for name in kept}
    choice = signatures.chosen(weights=list_weight, items=mask)
    choice |= {"ties": ties or "expected", "undefined": undefined, "nan": "error"}
    choice |= {} if item is None else {"duplicates": "error"}
    signature = {bound.name: signatures.signature(bound, **choice) for bound in bounds}
    notes, evaluations, num_done = scored_lists.Notes(), [], 0
    with messages.short_errors(), engine.reporting(progress, "lists") as report:
        for table in tables.parts(source, roles, sort):
            scored = scored_lists.ScoredLists.of(table)
            measured = scored.measure(bounds, ties, notes)
            states, lists = joined.means_of(measured, bounds, undefined)
            evaluation = Evaluation(
                states,
                lists,
                np.zeros((len(scored.ids), 0), np.int32),
                undefined,
                query_ids=scored.ids.to_numpy(),
                signature=signature,
                list_columns={
                    name: scored.of_lists[kept[name]].to_numpy() for name in kept
                },
            )
            if not keep_lists:
                evaluation = dataclasses.replace(
                    evaluation, lists={}, retrieved_ids=np.zeros((0, 0), np.int32),
                    query_ids=None, list_columns={},
                )  # fmt: skip
            evaluations.append(evaluation)
            num_done += len(scored.ids)
            report(num_done, num_done)
    texts = notes.remarks(bounds)
    for text in texts:
        warnings.warn(text, stacklevel=2)
    evaluation = Evaluation.merge(*evaluations)
    return dataclasses.replace(evaluation, remarks=(*texts,))
