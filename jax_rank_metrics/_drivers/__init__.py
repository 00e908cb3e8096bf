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

Batches do not follow the order of queries: those with many ids share batches, so that the
others need not be padded to their width. Of each batch only the value of each metric per
query and the ids of the first items come back to the host, or stay on the devices of a
mesh.
"""
