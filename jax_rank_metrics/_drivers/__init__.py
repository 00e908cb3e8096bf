"""Whole evaluations, in batches: users of a recommender, queries with embeddings, links.

What comes in, for 10,000 queries: the names of metrics, what scores items, and the items
that each query is judged on. What goes out: an `Evaluation`, with the state of each metric,
a `PerList [10,000]`, and `items [10,000, k]`. In the order in which a call meets them:

    evaluate_users.py, evaluate_embeddings.py, evaluate_links.py
                     the public functions read arguments on the host, make a `Job` and `run`
                     it
    devices.py       one device, or those of a mesh: how they hold queries and items
    interactions.py  ids in any form, checked, as sparse rows `[queries, items]`
    judgements.py    those that are relevant, excluded or candidates, by ids or attributes
    scorers.py       `Embeddings`, `Scores`, `Sparse`, `LateInteraction`: rows for a batch
    nan_causes.py    what made a score that is not a number, for messages
    batches.py       which queries share a batch, and their ids padded to few widths
    job.py           all of these in one `Job`, which divides queries into batches and
                     makes the arrays of each; its `Plan` has the options that all batches
                     share, static: metrics, k, ties
    step.py          `run_batch`, the one program: ranks a batch and lets metrics read it
    engine.py        `run`: a loop over batches, or over parts of the items that the host
                     reads, and sums of all values
    evaluation.py    the result

A `Batch` is 1,024 indices of queries, −1 for padding, and two widths: of their excluded and
of their relevant ids. Queries with many ids share batches, so that others are not padded
to their width. On a mesh, each part of the devices adds equally many queries, those whose
rows it holds. `Job.arrays` makes a `QueryBatch` of it.

A program returns a `BatchResult`: values and ids, never a score, gathered from all devices.
Where a metric reads whole lists and first items are returned too, it makes two rankings:
the first ranks, and the places of relevant items; `Plan` says which one a metric reads.
"""
