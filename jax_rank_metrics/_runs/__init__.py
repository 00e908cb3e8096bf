"""Whole evaluations, whose result is an `Evaluation`.

    evaluation.py  the result of an evaluation: the state of each metric, the values of
                   every list, the ids of lists, and the retrieved items
    files/         reads judgements and runs from files, dicts and frames, and joins them
    drivers/       evaluates users of a recommender, queries with embeddings, and links,
                   batch by batch

Everything here runs on the host, and passes batches or ranks to `_engine`.
"""
