"""Whole evaluations, in batches: users of a recommender, queries with embeddings, links.

The input, for 10,000 queries: the names of metrics, a model that scores items, and the
items that each query is judged on. The output: an `Evaluation`, with the state of each
metric, a `PerList [10,000]`, and `retrieved_ids [10,000, k]`; for links, one evaluation for
each side. In the order of a call:

    evaluate_users.py, evaluate_embeddings.py, evaluate_links.py
                     the public functions read arguments on the host, make an
                     `EvaluationJob` and `run` it
    devices.py       one device, or the devices of a mesh: how they hold queries and items
    interactions.py  ids in any form, checked, as sparse rows `[queries, items]`
    judgements.py    relevant items, excluded items and candidates, by ids or attributes
    scorers.py       `ScoreSource`: `Embeddings`, `Scores`, `Sparse` or `LateInteraction`,
                     which give the rows of a batch
    jobs.py          all of these in one `EvaluationJob`, which divides queries into batches
                     and makes the arrays of each; its `Options` are static and shared by
                     all programs: metrics, k, ties, the size of blocks
    batching.py      which queries share a batch, and their ids padded to few widths
    engine.py        `run`: a loop over batches, or over parts of the items that the host
                     reads, and sums of all values
    programs.py      what runs on devices: functions `(options, catalog, queries, state)`
                     that rank a batch and let metrics read it; `run_batch` starts one
    remarks.py       remarks on probable mistakes in the judgements, and in the scores of
                     the first queries
    nan_causes.py    messages that tell why a score is not a number
    evaluation.py    the result
    evaluate_scored.py  one table of scored items, which needs no batches: the host counts
                     places, list by list (scored_lists.py)

A `Batch` is 1,024 indices of queries, −1 for padding, and two widths: the padded number of
their excluded ids and of their listed ids. Queries with many ids share batches, so that
other queries are not padded to their width. On a mesh, each part of the devices contributes
the same number of queries, from the rows that it holds. `EvaluationJob.arrays` makes a
`QueryBatch` of it.

A program returns a `BatchResult`: values and ids, never a score, gathered from all devices;
or a `StreamState`, with which the next part of the items continues. If a metric reads whole
lists and first items are returned too, a batch has two rankings: the first ranks, and the
places of relevant items. `Options` says which of the two a metric reads.
"""
