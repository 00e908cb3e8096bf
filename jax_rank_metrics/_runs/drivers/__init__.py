"""Whole evaluations, in batches: users of a recommender, queries with embeddings, links.

For 10,000 queries, a driver takes the names of metrics, a model that scores items, and the
items that each query is judged on. It returns an `Evaluation`, with the state of each
metric, a `PerList [10,000]` of each metric, and `retrieved_ids [10,000, k]`. For links, it
returns one evaluation for each side. In the order of a call:

    evaluate_users.py, evaluate_embeddings.py, evaluate_links.py
                     the public functions read arguments on the host, make an
                     `EvaluationJob` and `run` it
    devices.py       how one device, or the devices of a mesh, hold queries and items
    interactions.py  checks ids in any form, and makes them sparse rows `[queries, items]`
    judgements.py    relevant items, excluded items and candidates, by ids or attributes
    scorers.py       `ScoreSource`: `Embeddings`, `Scores`, `Sparse` or `LateInteraction`,
                     which return the rows of a batch
    jobs.py          an `EvaluationJob` joins all of these, divides queries into batches and
                     makes the arrays of each batch; its `Options` (metrics, k, ties, the
                     size of blocks) are static and shared by all programs
    batching.py      which queries share a batch, and their ids padded to few widths
    engine.py        `run`: loops over batches, or over parts of the items that the host
                     reads, and sums all values
    programs.py      what runs on devices: functions `(options, catalog, queries, state)`
                     that rank a batch and let metrics read it; `run_batch` starts one
    remarks.py       remarks on probable mistakes in the judgements, and in the scores of
                     the first queries
    nan_causes.py    messages that say why a score is NaN
    evaluation.py    the result
    evaluate_scored.py  one table of scored items, which needs no batches: the host finds
                     the ranks of relevant items, list by list (scored_lists.py)

A `Batch` is 1,024 indices of queries, −1 for padding, and two widths: the padded number of
excluded ids, and the padded number of listed ids. Queries with many ids share batches, so
that other queries are not padded to the same width. On a mesh, each part of the devices
contributes the same number of queries, from the rows that the part holds.
`EvaluationJob.arrays` makes a `QueryBatch` from a `Batch`.

A program returns a `BatchResult` (values and ids, never scores, gathered from all devices);
or a `StreamState`, from which the program of the next part of the items continues. If a
metric reads whole lists and the first items are returned too, a batch has two rankings: one
of the first k items, and one of the ranks of all relevant items. `Options` says which of
the two a metric reads.
"""
