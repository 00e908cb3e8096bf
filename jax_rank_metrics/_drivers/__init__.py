"""Whole evaluations, in batches: users of a recommender, queries with embeddings, links.

    engine.py           the loop that all drivers share: batches started ahead of those
                        waited for, reports of progress, and the values of all queries
    plan.py             the options that all batches share
    batches.py          which queries share a batch, and their ids padded to few widths
    interactions.py     the items that are relevant or excluded, checked, as sparse rows
    long_frames.py      these items as a frame of pandas or polars, a row for each pair
    step.py             one batch on the device: ranked once, read by every metric
    nan_causes.py       what made a score that is not a number, for messages
    evaluation.py       the result: states, values of every query, and the items found
    checkpoints.py      what is done after a batch, to be saved and taken up again

    devices.py          one device, or those of a mesh: how they hold queries and items
    collected.py        the values of all queries, on the host or on the devices of a mesh

    evaluate_users.py   `jrm.evaluate_users`: a recommender for all of its users
    model.py            the scores of users: from embeddings, a matrix, or a function

    evaluate_embeddings.py  `jrm.evaluate_embeddings`: queries and items with embeddings
    query_inputs.py     what is relevant, excluded or a candidate, by ids or attributes
    query_batches.py    the batches over all items, or over candidates
    host_items.py       the batches over items that the host reads in parts
    candidates.py       one batch of queries that rank candidates of their own

    evaluate_links.py   `jrm.evaluate_links`: link prediction in a knowledge graph
    triples.py          the questions that triples pose, and their known answers

How the values of all queries come about, for 10,000 queries in batches of 1,024:

    arguments     read once, on the host: `Plan` (metrics, k, ties, sizes of blocks, all
                  static), `CatalogArrays` (`[items, …]`, put on the devices once), and the
                  rows, relevant ids and excluded ids of all queries
    QueryParts    the slot of each query: its own index on one device; on a mesh, the part
                  of the devices that holds its row, and a place there
    Batch         1,024 indices of queries, −1 for padding, and the width of their ids.
                  Queries with many ids share batches, so that others are not padded to
                  their width; batches therefore do not follow the order of queries
    QueryBatch    the arrays of a batch: `rows [1024, …]`, `relevant_ids [1024, relevant]`
    program       ranks once, lets every metric read that ranking, and returns `Measured`:
                  a `PerList [1024]` for each metric, `items [1024, k]`, their slots, and
                  the first fault, such as NaN. It is jitted; on a mesh, each device runs it
                  on the queries of its part, and with `items_axis` on its part of the items
    Collector     waits two batches behind, and writes values to their slots: to arrays of
                  NumPy, or to arrays that stay on the devices of a mesh
    Job, run      the loop around these; its checkpoints are what a Collector holds
    Evaluation    states from the values of all slots that have a query

Of each batch only these values and ids come back to the host, never a score. What a driver
decides by itself is how it reads its arguments, what the rows of a batch are, and what its
messages call a query; all else is shared.
"""
