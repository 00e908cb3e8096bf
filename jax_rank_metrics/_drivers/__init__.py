"""Whole evaluations, in batches: users of a recommender, queries with embeddings, links.

Read these in order to follow a call:

    evaluate_users.py   `jrm.evaluate_users`: a recommender for all of its users
    evaluate_embeddings.py  `jrm.evaluate_embeddings`: queries and items with embeddings
    evaluate_links.py   `jrm.evaluate_links`: link prediction in a knowledge graph

Arguments, read once, on the host:

    plan.py             the options that all batches share, static
    devices.py          one device, or those of a mesh: how they hold queries and items
    model.py            vectors of queries and items, a matrix of scores, or a function
    token_scores.py     such a function, which scores tokens that the host groups
    sparse_vectors.py   vectors of scipy, multiplied on the host: a function of queries
    interactions.py     ids of any form, checked, as sparse rows `[queries, items]`
    vocabulary.py       ids of any kind as the numbers of rows
    long_frames.py      ids as a frame of pandas or polars, a row for each pair
    judgements.py       the items relevant, excluded or candidates, by ids or attributes
    triples.py          the questions that triples pose, and their known answers

Batches, and what measures them:

    batches.py          which queries share a batch, and their ids padded to few widths
    query_batches.py    the queries of a call; batches over all items, or candidates
    host_items.py       batches over items that the host reads in parts
    candidates.py       one batch of queries that rank candidates of their own
    step.py             one batch on the device: its rankings, and what metrics read

The loop, and what comes of it:

    engine.py           batches started ahead of those waited for, and all states
    collected.py        the values of all queries, on the host or the devices of a mesh
    checkpoints.py      what is done after a batch, to be saved and taken up again
    progress.py         reports of how many queries are done
    nan_causes.py       what made a score that is not a number, for messages
    evaluation.py       the result: states, values of every query, and the items found

How the values of all queries come about, for 10,000 queries in batches of 1,024:

    Plan          the metrics, and which of them read the top-k or counted places; k, ties
    Model         `table [10,000, …]` and `items [items, …]`; or scores, or a function
    Judgements    sparse rows `[10,000, items]`: labels, and what leaves each list
    Queries       these two, the row of each query in the table, and the devices
    QueryParts    the slot of each query: its own index on one device; on a mesh, the part
                  of the devices that holds its row, and a place there
    Batch         1,024 indices of queries and their slots, −1 for padding, and two widths:
                  of their excluded ids and of their relevant ids. Queries with many ids
                  share batches, so that others are not padded to their width; batches do
                  not follow the order of queries
    QueryBatch    the arrays of a batch: `rows [1024, …]`, `relevant_ids [1024, relevant]`;
                  or a CandidateBatch, with the vectors of the candidates of each query
    CatalogArrays `items [items, …]`, masks and groups, put on the devices once
    Batches       all of these: the batches, what makes their arrays, and the program
    program       ranks, lets every metric read a ranking, and returns `Measured`: a
                  `PerList [1024]` for each metric, `items [1024, k]`, the slots, and the
                  first fault, such as NaN. It is jitted; on a mesh, each device runs it
                  on the queries of its part, and with `items_axis` on its part of the items
    Collector     waits two batches behind, and writes values to their slots: to arrays of
                  NumPy, or to arrays that stay on the devices of a mesh
    Job, run      the loop around these; its checkpoints are what a Collector holds
    Evaluation    states from the values of all slots that have a query

Where a metric reads whole lists and the first k items are returned too, `measure_queries`
makes two rankings, by `rank_both`: the first ranks, and the places of relevant items. Each
metric reads the one that `Plan` names. Otherwise one ranking serves all of them. Candidates
are few, and have one ranking, to the end where a metric reads it.

Two drivers make their own `Batches`. Items in host blocks are read once or twice in all, so
that every batch advances through a part before the next part is read, and its state waits
on the device; the program of the loop only finishes it. Links have `Questions` instead of
`Queries`, a function that scores each batch, and counted places for every metric.

A batch leaves these values and ids alone, never a score: on the host, or on the devices of
a mesh. Whether a score is NaN is looked for where scores are read; whatever is measured
beside the metrics, such as popularity, is a function of the ids found
(`step.measures_of_ids`). What a driver decides by itself is how it reads its arguments and
how messages name a query.
"""
