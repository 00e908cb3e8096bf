"""Whole evaluations; the door is `Evaluation`.

    evaluation.py  the result of an evaluation: states by name, the values of every list,
                   the ids of lists, and the retrieved items
    files/         reads judgements and runs from files, dicts and frames, and joins them
    drivers/       users of a recommender, queries with embeddings, links, batch by batch

Everything here runs on the host and hands batches, or places, to `_engine`.
"""
